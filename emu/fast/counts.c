/* Fast engine: what each tile has done, for observers that need no events.  A worker counts for all
 * of its tiles together.  So that the counts of each are known as well, it says for which tile it
 * works: what it counts meanwhile is that tile's.  Nothing else in the engine counts twice, and a
 * run without such an observer only asks whether there is one. */
#include "emu/fast/step.h"

#include "stb_ds.h"

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

/* ---- bridges, while a run pauses ------------------------------------------------------------- */

Port fast_bridge_port(const FastEngine *e, const FastBridge *b)
{
  int64_t ahead = (int64_t)b->to->core.index - (int64_t)b->from->core.index;
  int64_t row = e->width;       /* 1: no tile has one beside it */
  if (ahead == row || ahead == -row)
    return ahead == row ? PORT_SOUTH : PORT_NORTH;
  return ahead == 1 ? PORT_EAST : PORT_WEST;
}

static void lend_issues(TileCounts *counts, uint32_t issued)
{
  counts->of[COUNT_groups] += issued;
  counts->of[COUNT_elements] += issued;
}

/* Modulo 2^32: a loan that is returned is a negative one. */
static void lend(const FastEngine *e, const FastBridge *b, FastLoan loan)
{
  TileCounts *from = &e->base.options.counts[b->from->core.index];
  TileCounts *to = &e->base.options.counts[b->to->core.index];
  from->of[COUNT_north + fast_bridge_port(e, b)] += loan.made;
  from->of[COUNT_sent] += b->relay ? 0 : loan.made;
  to->of[COUNT_delivered] += loan.taken;
  lend_issues(from, loan.from_issued);
  lend_issues(to, loan.to_issued);
}

void fast_return_counts(const FastEngine *e, FastBridge *b)
{
  if (!e->base.options.counts || !b->ring)
    return;
  const FastLoan *l = &b->ring->loan;
  lend(e, b, (FastLoan){0u - l->made, 0u - l->taken, 0u - l->from_issued, 0u - l->to_issued});
  b->ring->loan = (FastLoan){0};
}

/* What the tile has issued since it has a bridge; the bridge that it sends to settles it, or else
 * the one that it takes from. */
static uint32_t issued_on_bridges(const FastTile *t)
{
  const FastPlain *p = thread_plain(&t->core.threads[MAIN_THREAD]);
  return p->settled - p->remaining;
}

static void renew_loan(const FastEngine *e, FastBridge *b)
{
  fast_return_counts(e, b);
  b->ring->loan = (FastLoan){.made = b->tail, .taken = b->head,
                             .from_issued = issued_on_bridges(b->from),
                             .to_issued = b->to->out ? 0 : issued_on_bridges(b->to)};
  lend(e, b, b->ring->loan);
}

void fast_lend_counts(FastEngine *e)
{
  for (unsigned k = 0; e->base.options.counts && k < e->n_workers; k++)
    for (size_t i = 0; i < arrlenu(e->workers[k].touched); i++) {
      const FastTile *t = &e->tiles[e->workers[k].touched[i]];
      if (t->out && t->out->ring)       /* without one, nothing has come */
        renew_loan(e, t->out);
    }
}
