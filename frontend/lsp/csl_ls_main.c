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
  bool is_help = argc == 2 && strcmp(argv[1], "--help") == 0;
  if (is_help || (argc > 1 && strcmp(argv[1], "--stdio") != 0)) {
    fprintf(is_help ? stdout : stderr,
            "usage: csl-ls [--stdio]\n"
            "A language server for CSL: an editor starts it and speaks the Language Server\n"
            "Protocol over standard input and output. docs/editors.md shows how.\n");
    return command_line_end("csl-ls", is_help ? EXIT_SUCCESS : EXIT_USAGE);
  }
  return server_run(STDIN_FILENO, STDOUT_FILENO, WSE_SOURCE_STDLIB);
}
