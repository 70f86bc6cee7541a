/* csl-fmt: lays out CSL files. */
#include "frontend/driver/driver.h"

#include <errno.h>
#include <getopt.h>
#include <stb_ds.h>
#include <stdlib.h>

enum { EXIT_USAGE = 2, OPT_CHECK = 256, OPT_VERSION };
typedef struct { bool check, in_place; } FmtOptions;

static void print_usage(FILE *out)
{
  fprintf(out, "usage: csl-fmt [-i | --check] [FILE ...]\n"
               "Prints CSL source in the project's layout. Without FILE, or for '-', it reads\n"
               "standard input. Tokens, comments and line breaks stay where they are.\n\n"
               "  -i, --in-place   rewrite the files that change\n"
               "  --check          print nothing but the names of files that would change; exit 1\n"
               "                   if there are any\n"
               "  --version        print the version and stop\n"
               "  -h, --help       print this and stop\n\n"
               "Exit: 0 done; 1 a file would change, has syntax errors or cannot be read; 2 wrong\n"
               "usage\n");
}

/* The text is in the layout already, or could be written. */
static bool put_result(const FmtOptions *o, const char *path, const char *old, size_t old_length,
                       const char *text, size_t length)
{
  bool is_same = old_length == length && memcmp(old, text, length) == 0;
  if (o->check) {
    if (!is_same)
      printf("%s\n", path);
    return is_same;
  }
  if (!o->in_place || strcmp(path, "-") == 0) {
    fwrite(text, 1, length, stdout);    /* command_line_end reports what is lost */
    return true;
  }
  if (is_same || file_write_all(path, text, length))
    return true;
  fprintf(stderr, "csl-fmt: error: cannot write '%s': %s\n", path, strerror(errno));
  return false;
}

static bool format_text(const FmtOptions *o, const char *path, const char *text, size_t length)
{
  SourceMap *sources = source_map_create();
  StrTable *names = strtable_create();
  Diags *diags = diags_create(sources);
  FileId file = source_add(sources, strcmp(path, "-") == 0 ? "<stdin>" : path, text, length);
  Ast *ast = ast_parse(sources, names, diags, file);
  bool ok = !ast->has_errors;
  if (ok) {
    size_t n;
    char *result = source_format(ast, sources, names, &n);
    ok = put_result(o, path, text, length, result, n);
    free(result);
  }
  diags_flush(diags, stderr, DIAG_FORMAT_TEXT);
  ast_destroy(ast);
  diags_destroy(diags);
  strtable_destroy(names);
  source_map_destroy(sources);
  return ok;
}

static bool format_file(const FmtOptions *o, const char *path)
{
  size_t length;
  const char *why;
  char *text = strcmp(path, "-") == 0 ? file_read_stream(stdin, FILE_TEXT_MAX_BYTES, &length, &why)
                                      : file_read_text(path, FILE_TEXT_MAX_BYTES, &length, &why);
  if (!text) {
    fprintf(stderr, "csl-fmt: error: cannot read '%s': %s\n", path, why);
    return false;
  }
  bool ok = format_text(o, path, text, length);
  free(text);
  return ok;
}

int main(int argc, char **argv)
{
  static const struct option long_options[] = {{"in-place", no_argument, NULL, 'i'},
                                               {"check", no_argument, NULL, OPT_CHECK},
                                               {"version", no_argument, NULL, OPT_VERSION},
                                               {"help", no_argument, NULL, 'h'},
                                               {NULL, 0, NULL, 0}};
  FmtOptions options = {false, false};
  file_limit_fails();
  file_reserve_streams();
  opterr = 0;
  for (int code; (code = getopt_long(argc, argv, ":ih", long_options, NULL)) != -1;) {
    switch (code) {
    case 'i': options.in_place = true; break;
    case OPT_CHECK: options.check = true; break;
    case OPT_VERSION:
      printf("csl-fmt %s\n", WSE_VERSION);
      return command_line_end("csl-fmt", EXIT_SUCCESS);
    case 'h': print_usage(stdout); return command_line_end("csl-fmt", EXIT_SUCCESS);
    default:
      command_line_report_rejected("csl-fmt", code, argv, long_options);
      return EXIT_USAGE;
    }
  }
  if (options.check && options.in_place) {
    fprintf(stderr, "csl-fmt: --check and --in-place exclude each other\n");
    return EXIT_USAGE;
  }
  bool ok = optind < argc || format_file(&options, "-");
  for (int i = optind; i < argc; i++)
    ok &= format_file(&options, argv[i]);
  return command_line_end("csl-fmt", ok ? EXIT_SUCCESS : EXIT_FAILURE);
}
