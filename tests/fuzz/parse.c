/* Fuzz target of the syntactic front end: any bytes are scanned, parsed and printed.  What is
 * accepted must print, and be formatted, as text that is accepted again with the same tree. */
#include "frontend/syntax/syntax.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct { char *text; size_t length; } Text;

static Text print(const Ast *ast, void (*how)(const Ast *, FILE *))
{
  Text text = {NULL, 0};
  FILE *out = open_memstream(&text.text, &text.length);
  how(ast, out);
  fclose(out);
  return text;
}

static void fail(const char *why, Text text)
{
  fprintf(stderr, "%s:\n%.*s\n", why, (int)text.length, text.text);
  abort();
}

static void check_round_trip(SourceMap *sources, StrTable *names, Diags *diags, const Ast *ast)
{
  Text tree = print(ast, ast_dump), text = print(ast, ast_print);
  Ast *again = ast_parse(sources, names, diags,
                         source_add(sources, "printed", text.text, text.length));
  if (again->has_errors)
    fail("the printed tree is rejected", text);
  Text tree_again = print(again, ast_dump);
  if (tree.length != tree_again.length || memcmp(tree.text, tree_again.text, tree.length) != 0)
    fail("the printed tree is another tree", text);
  free(tree.text);
  free(text.text);
  free(tree_again.text);
  ast_destroy(again);
}

/* The formatter keeps the tree, and changes its own output no more. */
static void check_format(SourceMap *sources, StrTable *names, Diags *diags, const Ast *ast)
{
  Text text, tree = print(ast, ast_dump);
  text.text = source_format(ast, sources, names, &text.length);
  Ast *again = ast_parse(sources, names, diags,
                         source_add(sources, "formatted", text.text, text.length));
  if (again->has_errors)
    fail("the formatted text is rejected", text);
  Text tree_again = print(again, ast_dump), second;
  if (tree.length != tree_again.length || memcmp(tree.text, tree_again.text, tree.length) != 0)
    fail("the formatted text is another tree", text);
  second.text = source_format(again, sources, names, &second.length);
  if (second.length != text.length || memcmp(second.text, text.text, text.length) != 0)
    fail("the formatter changes its own output", text);
  free(tree.text);
  free(tree_again.text);
  free(text.text);
  free(second.text);
  ast_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  SourceMap *sources = source_map_create();
  StrTable *names = strtable_create();
  Diags *diags = diags_create(sources);
  FileId file = source_add(sources, "fuzz.csl", (const char *)data, size);
  Ast *ast = ast_parse(sources, names, diags, file);
  Text text = print(ast, ast_print);
  free(text.text);
  if (!ast->has_errors) {
    check_round_trip(sources, names, diags, ast);
    check_format(sources, names, diags, ast);
  }
  text = (Text){NULL, 0};
  FILE *out = open_memstream(&text.text, &text.length);
  tokens_print(sources, names, diags, file, out);
  diags_flush(diags, out, size % 2 ? DIAG_FORMAT_TEXT : DIAG_FORMAT_JSON);
  fclose(out);
  free(text.text);
  ast_destroy(ast);
  diags_destroy(diags);
  strtable_destroy(names);
  source_map_destroy(sources);
  return 0;
}
