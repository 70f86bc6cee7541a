/* cslc: the compiler's command. */
#include "frontend/driver/driver.h"

#include <jansson.h>
#include <stb_ds.h>
#include <stdlib.h>

/* Libraries, too, end the process with a message when there is no memory. */
static void check_memory(void)
{
  pool_check_memory();
  json_set_alloc_funcs(base_malloc, free);
}

static int read_input(Options *options, Arena *arena)
{
  size_t length;
  const char *why;
  char *text = file_read_stream(stdin, FILE_TEXT_MAX_BYTES, &length, &why);
  if (!text) {
    fprintf(stderr, "cslc: error: cannot read standard input: %s\n", why);
    return EXIT_FAILURE;
  }
  SourceOverlay input = {.path = "<stdin>", .text = arena_copy_text(arena, text, length),
                         .length = length};
  arrput(options->overlays, input);
  options->input = input.path;
  free(text);
  return OPTIONS_GO_ON;
}

int main(int argc, char **argv)
{
  check_memory();
  file_limit_fails();
  file_reserve_streams();
  Options options;
  Arena *arena = arena_create("command line");
  SourceMap *sources = source_map_create();
  int result = options_parse(&options, arena, sources, argc, argv);
  if (result == OPTIONS_GO_ON && strcmp(options.input, "-") == 0)
    result = read_input(&options, arena);
  if (result == OPTIONS_GO_ON)
    result = driver_run(&options, sources, WSE_SOURCE_STDLIB);
  options_free(&options);
  source_map_destroy(sources);
  arena_destroy(arena);
  return command_line_end("cslc", result);
}
