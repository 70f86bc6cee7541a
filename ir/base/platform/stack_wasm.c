/* The stack of a WebAssembly module.
 *
 * Two stacks grow together: the module's, in its memory, and the engine's. The latter is the
 * shorter one, about a megabyte in browsers, and no program can ask for its size. */
#include "ir/base/platform.h"

#include <emscripten/stack.h>

uintptr_t platform_stack_end(void)
{
  enum { DEPTH_BYTES = 208 << 10 };      /* measured: playground/module/test/depth.test.mjs */
  uintptr_t here = emscripten_stack_get_current(), end = emscripten_stack_get_end();
  return here - end > DEPTH_BYTES ? here - DEPTH_BYTES : end;
}
