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

/* What a class leaves unasked; where it takes from FIFOs, if there is one place. */
typedef struct { bool full, empty; uint16_t empty_pc; } IgnoredFifos;

/* By class; to be freed. */
static IgnoredFifos *find_ignored_fifos(const Program *program)
{
  IgnoredFifos *ignored = base_zeroed(program->image->n_classes + 1, sizeof *ignored);
  for (uint32_t i = 0; i < program->image->n_classes; i++) {
    const ClassCode *cls = &program->classes[i];
    uint16_t pc = PC_RETURN;
    unsigned takes = code_ignored_takes(cls, &pc);
    ignored[i] = (IgnoredFifos){.full = ignores_full_fifos(cls), .empty = takes > 0,
                                .empty_pc = takes == 1 ? pc : PC_RETURN};
  }
  return ignored;
}

static Fault *find_unasked(Fault *found, const TileRecord *record, IgnoredFifos ignored,
                           Fault fault)
{
  if (ignored.full && record->fifo_was_full) {
    fault.kind = FAULT_FIFO_FULL, fault.pc = record->fifo[1].pc;
    arrput(found, fault);
  }
  if (ignored.empty && record->fifo_was_empty) {
    fault.kind = FAULT_FIFO_EMPTY;
    fault.pc = ignored.empty_pc != PC_RETURN ? ignored.empty_pc : record->fifo[0].pc;
    arrput(found, fault);
  }
  return found;
}

Fault *left_find(Engine *engine, const Program *program, bool untaken, bool at_end)
{
  Fault *found = NULL;
  InspectTile state;
  IgnoredFifos *ignored = find_ignored_fifos(program);
  for (uint32_t tile = 0; tile < program->n_tiles; tile++) {
    const ClassCode *cls = program_class(program, tile);
    IgnoredFifos unasked = cls ? ignored[cls->index] : (IgnoredFifos){0};
    if (engine_at_rest(engine, tile) && !unasked.full && !unasked.empty)
      continue;
    Fault fault = {.cycle = engine->ops->cycle(engine), .tile = tile, .color = NO_COLOR,
                   .pc = PC_RETURN};
    engine->ops->inspect(engine, tile, &state);
    const TileRecord *record = state.record;
    if (untaken && record->untaken)
      arrput(found, ((Fault){.kind = FAULT_CONTROL_UNTAKEN, .cycle = record->untaken_cycle,
                             .tile = tile, .color = record->untaken_color, .pc = PC_RETURN,
                             .value = record->untaken_payload}));
    found = find_unasked(found, record, unasked, fault);
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
  free(ignored);
  return found;
}
