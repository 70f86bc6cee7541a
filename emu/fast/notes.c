/* Fast engine, one step: the results of a visit: tiles to wake, changes, activity, events. */
#include "emu/fast/step.h"

#include "stb_ds.h"

/* Awake in the next cycle; mostly it belongs to the word that is being visited. */
static HOT void wake_next(Visit *v, uint32_t index)
{
  uint32_t bit_at = index - v->first;
  if (LIKELY(bit_at < v->tiles))
    v->stay |= UINT64_C(1) << bit_at;
  else
    fast_wake(v->worker, index, v->turn.cycle + 1);
}

/* Something has changed in this cycle.  Rows are not always at the same cycle. */
static HOT void note_change(const Visit *v)
{
  if (v->turn.cycle >= v->worker->log.last_change)
    v->worker->log.last_change = v->turn.cycle + 1;
}

static HOT void note_active(const Visit *v)
{
  EngineStats *stats = &v->worker->log.stats;
  stats->active_tile_cycles++;
  if (UNLIKELY(v->turn.cycle < stats->first_event))
    stats->first_event = v->turn.cycle;
  if (v->turn.cycle > stats->last_event)
    stats->last_event = v->turn.cycle;
}

static RARE void wake_neighbours(Visit *v)
{
  FastEngine *e = v->engine;
  for (unsigned bits = v->wake_ports; bits; bits &= bits - 1) {
    uint32_t next = program_neighbour(v->turn.program, v->tile->core.index,
                                      (Port)__builtin_ctz(bits));
    if (next == (uint32_t)NO_TILE || !e->tiles[next].set)
      continue;
    retry_moves(&e->tiles[next], v->turn.cycle);
    fast_wake(v->worker, next, v->turn.cycle + 1);
  }
}

/* The sooner one that is after `now`. */
static uint64_t sooner(uint64_t a, uint64_t b, uint64_t now)
{
  return b > now && b < a ? b : a;
}

static uint64_t sooner_wavelet(uint64_t a, uint32_t meta, uint64_t now)
{
  int32_t wait = wavelet_wait(meta, now);
  return wait > 0 ? sooner(a, now + (uint64_t)wait, now) : a;
}

/* The cycle in which the tile has something to do, if nothing from outside comes before; NEVER. */
static uint64_t fast_next_due(const FastTile *t, uint64_t now)
{
  uint64_t due = sooner(NEVER, t->core.ready, now);
  for (unsigned bits = t->core.vectors; bits; bits &= bits - 1) {
    const Thread *th = &t->core.threads[__builtin_ctz(bits)];
    uint64_t next = th->stall == STALL_ISSUE ? fast_next_free(t, now) : th->ready;
    due = sooner(due, next, now);
  }
  if (t->core.pending_due != NEVER)
    due = sooner(due, tile_next_action(&t->core, now), now);
  for (unsigned bits = t->input_any; bits; bits &= bits - 1) {
    const FastQueue *q = &t->queues[__builtin_ctz(bits)].input;
    unsigned k = 0;
    while (k < q->count && wavelet_seen(queue_at(q, k)->meta, now))
      k++;                      /* those behind the first one on its way come later */
    if (k < q->count)
      due = sooner_wavelet(due, queue_at(q, k)->meta, now);
  }
  for (unsigned bits = t->output_any; bits; bits &= bits - 1)
    due = sooner_wavelet(due, queue_at(&t->queues[__builtin_ctz(bits)].output, 0)->meta, now);
  for (uint32_t bits = t->occupied; bits; bits &= bits - 1) {
    const FastColor *c = &t->colors[__builtin_ctz(bits)];
    due = sooner_wavelet(due, c->w[0].meta, now);
  }
  if (t->attended)
    due = sooner(due, host_words_due(&t->host->posted, now), now);
  return due;
}

/* Returns whether the tile wakes by itself. */
static HOT bool sleep_until_due(Visit *v, const FastTile *t)
{
  uint64_t due = fast_next_due(t, v->turn.cycle);
  if (due == NEVER)
    return false;
  fast_timer(v->worker, t->core.index, v->turn.cycle, due);
  return true;
}

static void set_now(Visit *v, uint64_t now)
{
  const Timing *timing = v->engine->timing;
  v->turn.cycle = now;
  v->hop_visible = now + timing->hop;
  v->ramp_visible = now + timing->ramp_down;
  v->output_visible = now + v->engine->output_cycles;
}
