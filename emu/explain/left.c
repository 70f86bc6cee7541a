/* What a run that ends well has left in its tiles, although the program has begun it or should have
 * ended it.  Wavelets in the fabric and waits are the deadlock report's. */
#include "emu/explain/explain.h"

#include "stb_ds.h"

/* A color that the layout tears down may wait for the program as long as it likes. */
static bool is_torn_down(const Program *program, uint32_t tile, const InspectTile *state,
                         unsigned color)
{
  const ImageColorConfig *config = program_color(program, tile, color);
  return state->colors[color].suspended && config && !config->teardown;
}

Fault *left_find(Engine *engine, const Program *program, bool untaken)
{
  Fault *found = NULL;
  InspectTile state;
  for (uint32_t tile = 0; tile < program->n_tiles; tile++) {
    if (engine_at_rest(engine, tile))
      continue;
    Fault fault = {.cycle = engine->ops->cycle(engine), .tile = tile, .color = NO_COLOR,
                   .pc = PC_RETURN};
    engine->ops->inspect(engine, tile, &state);
    const TileRecord *record = state.record;
    if (untaken && record->untaken)
      arrput(found, ((Fault){.kind = FAULT_CONTROL_UNTAKEN, .cycle = record->untaken_cycle,
                             .tile = tile, .color = record->untaken_color, .pc = PC_RETURN,
                             .value = record->untaken_payload}));
    for (unsigned c = 0; c < MAX_COLORS; c++) {
      fault.kind = FAULT_TORN_DOWN, fault.color = (uint8_t)c;
      if (is_torn_down(program, tile, &state, c))
        arrput(found, fault);
    }
    for (unsigned q = 0; q < 2 * MAX_QUEUES; q++) {
      bool output = q >= MAX_QUEUES;
      fault.kind = FAULT_FLUSHED, fault.color = NO_COLOR;
      fault.value = q % MAX_QUEUES + (output ? FAULT_OUTPUT_QUEUE : 0);
      if (state.flushed[output] >> q % MAX_QUEUES & 1)
        arrput(found, fault);
    }
  }
  return found;
}
