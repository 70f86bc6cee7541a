/* Streams of our own where the C library has fopencookie: glibc and musl. */
#include "ir/base/platform.h"

FILE *platform_open_stream(void *cookie, PlatformWrite *write, PlatformClose *close)
{
  return fopencookie(cookie, "w", (cookie_io_functions_t){.write = write, .close = close});
}
