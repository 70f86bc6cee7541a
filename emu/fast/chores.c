/* Fast engine, one step: chores of a row. */
#include "emu/fast/step.h"

#include "stb_ds.h"

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
