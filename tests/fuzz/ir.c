/* Fuzz target: the parser of the IR's text form, and the optimiser on what it accepts.
 *
 * Whatever ir_read accepts must print, read back and print the same, and must stay valid through
 * all passes at -O2 (in debug builds the pipeline checks after each). */
#include "ir/ir.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *print_module(const IrModule *m, size_t *length)
{
  char *text;
  FILE *out = open_memstream(&text, length);
  ir_print(m, out);
  fclose(out);
  return text;
}

static IrModule *read_module(Arena *arena, SourceMap *sources, Diags *diags, const char *text,
                             size_t length)
{
  return ir_read(arena, sources, source_add(sources, "fuzz.ir", text, length), diags);
}

static void check_round_trip(Arena *arena, SourceMap *sources, Diags *diags, const IrModule *m)
{
  size_t length, length_again;
  char *text = print_module(m, &length);
  const IrModule *again = read_module(arena, sources, diags, text, length);
  if (!again) {
    diags_flush(diags, stderr, DIAG_FORMAT_TEXT);
    ICE("the printed module is refused:\n%s", text);
  }
  char *twice = print_module(again, &length_again);
  if (length != length_again || memcmp(text, twice, length) != 0)
    ICE("the text changes:\n%s\n%s", text, twice);
  free(text);
  free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  Arena *arena = arena_create("fuzz");
  SourceMap *sources = source_map_create();
  Diags *diags = diags_create(sources);
  IrModule *m = read_module(arena, sources, diags, (const char *)data, size);
  if (m) {
    check_round_trip(arena, sources, diags, m);
    ir_optimise(m, &(IrOptOptions){.level = 2});
    const char *fault = ir_verify(m, arena);
    if (fault)
      ICE("the optimised module is not valid: %s", fault);
    check_round_trip(arena, sources, diags, m);
  }
  diags_destroy(diags);
  source_map_destroy(sources);
  arena_destroy(arena);
  return 0;
}
