/* csl-ls: the language server's command. */
#include "frontend/lsp/lsp.h"

#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
  enum { EXIT_USAGE = 2 };
  pool_check_memory();
  json_set_alloc_funcs(base_malloc, free);
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    printf("csl-ls %s\n", WSE_VERSION);
    return command_line_end("csl-ls", EXIT_SUCCESS);
  }
  if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
    printf("usage: csl-ls [--stdio]\n"
           "A language server for CSL: an editor starts it and speaks the Language Server\n"
           "Protocol over standard input and output. docs/editors.md shows how.\n");
    return command_line_end("csl-ls", EXIT_SUCCESS);
  }
  for (int i = 1; i < argc; i++) {
    static const char *const names[] = {"stdio", "help", "version"};
    if (strcmp(argv[i], "--stdio") == 0)
      continue;
    if (argv[i][0] == '-')
      command_line_report_unknown("csl-ls", argv[i], names, ARRAY_COUNT(names));
    else
      fprintf(stderr, "csl-ls: it takes no file, but '%s'; the editor sends the texts\n", argv[i]);
    return EXIT_USAGE;
  }
  return server_run(STDIN_FILENO, STDOUT_FILENO, WSE_SOURCE_STDLIB);
}
