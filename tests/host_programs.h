/* Compiles the programs of tests/host/ for tests in C that run them through libwse.
 * TESTS_DIR and WSE_SOURCE_STDLIB come from the build. */
#ifndef HOST_PROGRAMS_H
#define HOST_PROGRAMS_H

#include "frontend/driver/driver.h"

#include <stdlib.h>
#include <string.h>

enum { HOST_WIDTH = 3, HOST_HEIGHT = 2 };

/* layout: "layout.csl" (with memcpy) or "plain_layout.csl". */
static void host_program_compile(const char *layout, const char *arch, bool memcpy,
                                 const char *image_path)
{
  Arena *arena = arena_create("options");
  SourceMap *sources = source_map_create();
  Options options;
  char *argv[] = {
    arena_printf(arena, "cslc"), arena_printf(arena, TESTS_DIR "/host/%s", layout),
    arena_printf(arena, "--arch=%s", arch), arena_printf(arena, "--params=W:3,H:2"),
    arena_printf(arena, "--fabric-dims=%s", memcpy ? "10,4" : "3,2"),
    arena_printf(arena, "--fabric-offsets=%s", memcpy ? "4,1" : "0,0"),
    arena_printf(arena, "-o"), arena_copy_text(arena, image_path, strlen(image_path)),
    arena_printf(arena, "--memcpy"), NULL,
  };
  int argc = (int)ARRAY_COUNT(argv) - (memcpy ? 1 : 2);
  if (!memcpy)
    argv[argc] = NULL;
  if (options_parse(&options, arena, sources, argc, argv) != OPTIONS_GO_ON ||
      driver_run(&options, sources, WSE_SOURCE_STDLIB) != EXIT_SUCCESS)
    ICE("%s does not compile", layout);
  options_free(&options);
  source_map_destroy(sources);
  arena_destroy(arena);
}

#endif
