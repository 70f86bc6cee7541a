/* Text for the client: what the program prints, and what the debugger has to say. */
#include "emu/dap/dap_internal.h"
#include "ir/base/platform.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  DapServer *server;
  const char *category;
} Output;

static ptrdiff_t write_output(void *cookie, const char *bytes, size_t size)
{
  const Output *o = cookie;
  char *text = base_print("%.*s", (int)size, bytes);
  send_event(o->server, "output",
             json_pack("{s:s,s:o}", "category", o->category, "output", base_json_text(text)));
  free(text);
  return (ptrdiff_t)size;
}

static int close_output(void *cookie)
{
  free(cookie);
  return 0;
}

FILE *output_open(DapServer *s, const char *category)
{
  Output *o = base_malloc(sizeof *o);
  *o = (Output){s, category};
  FILE *stream = platform_open_stream(o, write_output, close_output);
  if (!stream)
    base_out_of_memory(sizeof *o, "a stream");
  setvbuf(stream, NULL, _IOLBF, 0);
  return stream;
}
