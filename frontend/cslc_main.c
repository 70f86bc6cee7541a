/* cslc: the compiler's command. */
#include "frontend/frontend.h"

int main(int argc, char **argv)
{
  Options options;
  Arena *arena = arena_create("command line");
  SourceMap *sources = source_map_create();
  int result = options_parse(&options, arena, sources, argc, argv);
  if (result == OPTIONS_GO_ON)
    result = driver_run(&options, sources, WSE_SOURCE_STDLIB);
  options_free(&options);
  source_map_destroy(sources);
  arena_destroy(arena);
  return result;
}
