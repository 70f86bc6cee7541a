/* What a run has left in its tiles, although the program has begun it or should have ended it.
 * Wavelets in the fabric and waits are the deadlock report's. */
#include "emu/explain/explain_internal.h"

#include "stb_ds.h"

#include <stdlib.h>

/* A color that the layout tears down may wait for the program as long as it likes. */
static bool is_torn_down(const Program *program, uint32_t tile, const InspectTile *state,
                         unsigned color)
{
  const ImageColorConfig *config = program_color(program, tile, color);
  return state->colors[color].suspended && config && !config->teardown;
}

/* Operations without .async have filled FIFOs, and the program asks after none of them whether it
 * has moved all its elements. */
static bool ignores_full_fifos(const ClassCode *cls)
{
  unsigned fills = 0;
  for (uint32_t i = 0; i < cls->n_insns; i++) {
    if (!insn_fills_fifo(cls, &cls->insns[i], 0))
      continue;
    if (insn_is_asked(cls, &cls->insns[i]))
      return false;
    fills++;
  }
  return fills > 0;
}

/* The same by class; to be freed. */
static bool *find_ignored_fifos(const Program *program)
{
  bool *ignores = base_zeroed(program->image->n_classes + 1, sizeof *ignores);
  for (uint32_t i = 0; i < program->image->n_classes; i++)
    ignores[i] = ignores_full_fifos(&program->classes[i]);
  return ignores;
}

Fault *left_find(Engine *engine, const Program *program, bool untaken, bool at_end)
{
  Fault *found = NULL;
  InspectTile state;
  bool *ignores = find_ignored_fifos(program);
  for (uint32_t tile = 0; tile < program->n_tiles; tile++) {
    const ClassCode *cls = program_class(program, tile);
    bool may_lose = cls && ignores[cls->index];
    if (engine_at_rest(engine, tile) && !may_lose)
      continue;
    Fault fault = {.cycle = engine->ops->cycle(engine), .tile = tile, .color = NO_COLOR,
                   .pc = PC_RETURN};
    engine->ops->inspect(engine, tile, &state);
    const TileRecord *record = state.record;
    if (untaken && record->untaken)
      arrput(found, ((Fault){.kind = FAULT_CONTROL_UNTAKEN, .cycle = record->untaken_cycle,
                             .tile = tile, .color = record->untaken_color, .pc = PC_RETURN,
                             .value = record->untaken_payload}));
    if (may_lose && record->fifo_was_full)
      arrput(found, ((Fault){.kind = FAULT_FIFO_FULL, .cycle = fault.cycle, .tile = tile,
                             .color = NO_COLOR, .pc = record->fifo[1].pc}));
    for (unsigned c = 0; at_end && c < MAX_COLORS; c++) {
      fault.kind = FAULT_TORN_DOWN, fault.color = (uint8_t)c;
      if (is_torn_down(program, tile, &state, c))
        arrput(found, fault);
    }
    for (unsigned q = 0; at_end && q < 2 * MAX_QUEUES; q++) {
      bool output = q >= MAX_QUEUES;
      fault.kind = FAULT_FLUSHED, fault.color = NO_COLOR;
      fault.value = q % MAX_QUEUES + (output ? FAULT_OUTPUT_QUEUE : 0);
      if (state.flushed[output] >> q % MAX_QUEUES & 1)
        arrput(found, fault);
    }
  }
  free(ignores);
  return found;
}
