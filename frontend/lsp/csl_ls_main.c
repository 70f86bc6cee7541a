/* csl-ls: the language server's command. */
#include "frontend/lsp/lsp.h"

#include <gmp.h>
#include <stdlib.h>
#include <unistd.h>

static void *gmp_realloc(void *old, size_t old_size, size_t size)
{
  (void)old_size;
  return base_realloc(old, size);
}

static void gmp_free(void *old, size_t size)
{
  (void)size;
  free(old);
}

int main(int argc, char **argv)
{
  enum { EXIT_USAGE = 2 };
  mp_set_memory_functions(base_malloc, gmp_realloc, gmp_free);
  json_set_alloc_funcs(base_malloc, free);
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    printf("csl-ls %s\n", WSE_VERSION);
    return EXIT_SUCCESS;
  }
  bool is_help = argc == 2 && strcmp(argv[1], "--help") == 0;
  if (is_help || (argc > 1 && strcmp(argv[1], "--stdio") != 0)) {
    fprintf(is_help ? stdout : stderr,
            "usage: csl-ls [--stdio]\n"
            "A language server for CSL: an editor starts it and speaks the Language Server\n"
            "Protocol over standard input and output. docs/editors.md shows how.\n");
    return is_help ? EXIT_SUCCESS : EXIT_USAGE;
  }
  return server_run(STDIN_FILENO, STDOUT_FILENO, WSE_SOURCE_STDLIB);
}
