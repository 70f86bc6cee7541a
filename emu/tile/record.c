/* What reports say of a tile's past: the tasks that have started, the activations and control
 * wavelets that were lost. */
#include "emu/tile/tile_internal.h"

uint16_t record_activator(const TileRecord *r, unsigned id)
{
  for (unsigned back = 1; back <= RECENT_ACTIVATIONS; back++) {
    unsigned i = (r->next + RECENT_ACTIVATIONS - back) % RECENT_ACTIVATIONS;
    /* An entry that is not used yet has id 0 and place 0. */
    if (r->recent_id[i] == id && (id || r->recent_pc[i]))
      return r->recent_pc[i];
  }
  return PC_RETURN;
}

void record_activation(TileRecord *r, unsigned id, uint16_t pc, bool merges)
{
  if (merges) {
    r->lost |= UINT64_C(1) << id;
    r->lost_id = (uint8_t)id;
    r->lost_pc = pc;
    r->before_pc = record_activator(r, id);
  }
  r->recent_pc[r->next] = pc;
  r->recent_id[r->next] = (uint8_t)id;
  r->next = (uint8_t)((r->next + 1) % RECENT_ACTIVATIONS);
}

void record_fifos(TileRecord *r, const VecRun *run)
{
  const VecStream *streams[] = {&run->src[0], &run->src[1], &run->dest};
  for (unsigned i = 0; i < ARRAY_COUNT(streams); i++) {
    bool push = streams[i] == &run->dest;
    if (streams[i]->kind != VS_FIFO)
      continue;
    r->fifo[push].state = streams[i]->address;
    r->fifo[push].pc = run->pc;
    r->fifo[push].elements = use_count(run->remaining);
    r->fifo_ended &= (uint8_t)~(1u << push);
  }
}

static bool is_given_nothing(const VecRun *run)
{
  return run->dest.kind != VS_FIFO && run->dest.kind != VS_FABOUT && run->remaining == run->length;
}

void record_fifo_end(TileRecord *r, const VecRun *run, bool may_be_asked)
{
  r->fifo_was_empty |= may_be_asked && !run->async && is_given_nothing(run);
  for (unsigned push = 0; push < ARRAY_COUNT(r->fifo); push++)
    if (r->fifo[push].pc == run->pc) {
      r->fifo_ended = (uint8_t)(1u << push);
      r->fifo_left = use_count(run->remaining);
      r->fifo_was_full |= push != 0;
    }
}

void record_untaken(TileRecord *r, uint64_t cycle, unsigned queue, unsigned color,
                    uint32_t payload)
{
  r->untaken += r->untaken < UINT16_MAX;
  r->untaken_queue = (uint8_t)queue;
  r->untaken_color = (uint8_t)color;
  r->untaken_payload = payload;
  r->untaken_cycle = cycle;
}
