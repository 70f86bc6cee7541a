/* Prints the CSL files, among those given, whose trees hold errors, with the place of the first:
 * "FILE:LINE:COLUMN".  With --query=F it checks the query files as well.
 *
 * A program of its own because the library for Python is not in Debian 12. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tree_sitter/api.h>

const TSLanguage *tree_sitter_csl(void);

static char *read_file(const char *path, size_t *length)
{
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(2);
  }
  char *text = NULL;
  *length = 0;
  for (size_t n = 1; n > 0; *length += n) {
    text = realloc(text, *length + 65536);
    n = fread(text + *length, 1, 65536, file);
  }
  fclose(file);
  return text;
}

static bool is_error(TSNode node)
{
  return ts_node_is_missing(node) || strcmp(ts_node_type(node), "ERROR") == 0;
}

static TSNode first_error(TSNode node)
{
  if (is_error(node))
    return node;
  for (uint32_t i = 0; i < ts_node_child_count(node); i++) {
    TSNode child = ts_node_child(node, i);
    if (ts_node_has_error(child) || ts_node_is_missing(child))
      return first_error(child);
  }
  return node;
}

static void check_file(TSParser *parser, const char *path)
{
  size_t length;
  char *text = read_file(path, &length);
  TSTree *tree = ts_parser_parse_string(parser, NULL, text, (uint32_t)length);
  TSNode root = ts_tree_root_node(tree);
  if (ts_node_has_error(root)) {
    TSPoint at = ts_node_start_point(first_error(root));
    printf("%s:%u:%u\n", path, at.row + 1, at.column + 1);
  }
  ts_tree_delete(tree);
  free(text);
}

static void check_query(const char *path)
{
  size_t length;
  char *text = read_file(path, &length);
  uint32_t at;
  TSQueryError error;
  TSQuery *query = ts_query_new(tree_sitter_csl(), text, (uint32_t)length, &at, &error);
  if (!query)
    printf("%s: error %d at byte %u\n", path, (int)error, at);
  else
    ts_query_delete(query);
  free(text);
}

int main(int argc, char **argv)
{
  TSParser *parser = ts_parser_new();
  if (!ts_parser_set_language(parser, tree_sitter_csl()))
    return 2;
  for (int i = 1; i < argc; i++)
    if (strncmp(argv[i], "--query=", 8) == 0)
      check_query(argv[i] + 8);
    else
      check_file(parser, argv[i]);
  ts_parser_delete(parser);
  return 0;
}
