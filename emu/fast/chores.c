/* Fast engine, one step: chores of a row. */
#include "emu/fast/step.h"

#include "stb_ds.h"

/* All wavelets of a color's slots, those that came in this cycle in the order of their ports;
 * a hazard for the user to see. */
static void settle_meeting(FastWorker *worker, const FastChore *meeting)
{
  FastEngine *e = worker->engine;
  FastTile *t = &e->tiles[meeting->tile];
  FastColor *c = &t->colors[meeting->slot];
  Visit v = start_visits(worker);
  uint8_t color = t->set->color_of[meeting->slot];
  v.tile = t;
  v.turn.tile = &t->core;
  FastWavelet all[FAST_SLOTS + 2 * PORT_COUNT];
  unsigned n = color_count(c), arrivals = c->saved >> ARRIVALS_SHIFT;
  unsigned arrived = (unsigned)__builtin_popcount(arrivals);
  for (unsigned i = 0; i < n; i++)
    all[i] = i < FAST_SLOTS ? c->w[i] : spill_pop(&v, t->core.index, meeting->slot);
  for (unsigned i = n - arrived + 1; i < n; i++)
    for (unsigned k = i; k > n - arrived &&
                         wavelet_field(all[k].meta) < wavelet_field(all[k - 1].meta); k--) {
      FastWavelet swap = all[k];
      all[k] = all[k - 1];
      all[k - 1] = swap;
    }
  for (unsigned i = 0; i < n; i++) {
    if (i < FAST_SLOTS)
      c->w[i] = all[i];
    else
      spill_push(&v, t->core.index, meeting->slot, all[i]);
  }
  arrput(v.worker->log.faults,
         ((Fault){.kind = FAULT_COLOR_MEETS, .cycle = meeting->cycle, .tile = t->core.index,
                  .color = color, .pc = PC_RETURN, .value = arrivals}));
}

/* What the cycles before `now` have left to do.  More may come up meanwhile, for the next cycle. */
STEP RARE void do_chores(FastWorker *worker, uint32_t row, uint64_t now)
{
  FastEngine *e = worker->engine;
  size_t kept = 0;
  for (size_t i = 0; i < arrlenu(e->chores[row]); i++) {
    FastChore chore = e->chores[row][i];
    if (chore.cycle >= now)
      e->chores[row][kept++] = chore;
    else if (chore.kind == CHORE_MEETING)
      settle_meeting(worker, &chore);
    else
      fast_part(worker, &e->tiles[chore.tile], now - 1);
  }
  arrsetlen(e->chores[row], kept);
}

/* Those of the row below, too: bridges between the two go while both are at the same cycle. */
STEP HOT void row_chores(const Visit *v, uint32_t row)
{
  FastEngine *e = v->engine;
  for (uint32_t i = row; i < row + 2 && i < e->height; i++)
    if (UNLIKELY(arrlenu(e->chores[i])))
      do_chores(v->worker, i, v->turn.cycle);
}
