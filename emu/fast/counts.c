/* Fast engine: what each tile has done, for observers that need no events.  A worker counts for all
 * of its tiles together.  So that the counts of each are known as well, it says for which tile it
 * works: what it counts meanwhile is that tile's.  Nothing else in the engine counts twice, and a
 * run without such an observer only asks whether there is one. */
#include "emu/fast/fast_internal.h"

static void add_work(FastWorker *w)
{
  const FastAccount *a = &w->account;
  const EngineStats *now = &w->log.stats, *then = &a->then;
  uint32_t *of = a->counts[a->tile->core.index].of;
  of[COUNT_instructions] += (uint32_t)(now->instructions - then->instructions);
  of[COUNT_groups] += (uint32_t)(now->groups - then->groups);
  of[COUNT_elements] += (uint32_t)(now->elements - then->elements);
  of[COUNT_tasks] += (uint32_t)(now->tasks - then->tasks);
  of[COUNT_sent] += (uint32_t)(now->wavelets - then->wavelets);
  of[COUNT_delivered] += (uint32_t)(a->tile->core.wavelets_seen - a->seen);
  for (unsigned port = 0; port < PORT_RAMP; port++)
    of[COUNT_north + port] += (uint32_t)(now->hops[port] - then->hops[port]);
  for (unsigned cause = STALL_NONE + 1; cause < STALL_COUNT; cause++)
    of[COUNT_paused + cause - STALL_PAUSED] +=
        (uint32_t)(now->stalls[cause] - then->stalls[cause]);
}

FastTile *fast_count_as(FastWorker *w, FastTile *t)
{
  FastAccount *a = &w->account;
  FastTile *before = a->tile;
  if (!a->counts || t == before)
    return before;
  if (before)
    add_work(w);
  a->tile = t;
  if (t) {
    a->then = w->log.stats;
    a->seen = t->core.wavelets_seen;
  }
  return before;
}
