/* cslc: the compiler's command. */
#include "frontend/frontend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  Options options;
  Arena *arena;
  StrTable *names;
  SourceMap *sources;
  Diags *diags;
} Run;

static int fail(const char *what, const char *path)
{
  fprintf(stderr, "cslc: error: cannot %s '%s': %s\n", what, path, strerror(errno));
  return 1;
}

/* Writes what `text` holds to -o, or to stdout. */
static int write_out(const Run *run, const char *text, size_t length)
{
  if (run->options.output) {
    if (!file_write_all(run->options.output, text, length))
      return fail("write", run->options.output);
    return 0;
  }
  if (fwrite(text, 1, length, stdout) != length || fflush(stdout) != 0)
    return fail("write", "standard output");
  return 0;
}

/* --emit=tokens, ast and tree: nothing is written unless the file is free of errors. */
static int emit_syntax(Run *run, FileId file)
{
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (out == NULL)
    ICE("out of memory");
  if (run->options.emit == EMIT_TOKENS) {
    tokens_print(run->sources, run->names, run->diags, file, out);
  } else {
    Ast *ast = ast_parse(run->sources, run->names, run->diags, file);
    if (!ast->has_errors && run->options.emit == EMIT_AST)
      ast_print(ast, out);
    else if (!ast->has_errors)
      ast_dump(ast, out);
    ast_destroy(ast);
  }
  fclose(out);
  bool ok = diags_error_count(run->diags) == 0;
  diags_flush(run->diags, stderr, run->options.diag_format);
  int result = ok ? write_out(run, text, length) : 1;
  free(text);
  return result;
}

static int compile(Run *run)
{
  size_t length = 0;
  char *text = file_read_all(run->options.input, &length);
  if (text == NULL)
    return fail("read", run->options.input);
  FileId file = source_add(run->sources, run->options.input, text, length);
  free(text);
  diags_warnings_are_errors(run->diags, run->options.werror);
  EmitKind emit = run->options.emit;
  if (emit == EMIT_TOKENS || emit == EMIT_AST || emit == EMIT_TREE)
    return emit_syntax(run, file);
  fprintf(stderr, "cslc: error: only --emit=tokens and --emit=ast are there yet\n");
  return 1;
}

int main(int argc, char **argv)
{
  Run run = {
    .arena = arena_create("command line"),
    .names = strtable_create(),
    .sources = source_map_create(),
  };
  run.diags = diags_create(run.sources);
  int result = options_parse(&run.options, run.arena, run.sources, argc, argv);
  if (result == OPTIONS_GO_ON)
    result = compile(&run);
  options_free(&run.options);
  diags_destroy(run.diags);
  source_map_destroy(run.sources);
  strtable_destroy(run.names);
  arena_destroy(run.arena);
  return result;
}
