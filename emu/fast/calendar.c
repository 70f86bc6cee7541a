/* Fast engine: when tiles are visited: the map of awake tiles, timers, chores. */
#include "emu/fast/step.h"

#include "stb_ds.h"

/* The words of a row in the map of a cycle; the bytes of all rows. */
STEP inline uint64_t *fast_awake(const FastEngine *engine, uint64_t cycle, uint32_t row)
{
  return &engine->awake[(cycle % CALENDAR * engine->height + row) * engine->row_words];
}

STEP inline uint8_t *fast_row_awake(const FastEngine *engine, uint64_t cycle)
{
  return &engine->row_awake[cycle % CALENDAR * engine->height];
}

/* Tiles of a word of the map are awake in a cycle of the calendar. */
STEP inline void fast_wake_word(FastWorker *worker, uint64_t cycle, uint32_t row, uint32_t word,
                                  uint64_t tiles)
{
  FastEngine *engine = worker->engine;
  uint64_t *at = &fast_awake(engine, cycle, row)[word], before = *at;
  *at = before | tiles;
  if (before)
    return;
  fast_row_awake(engine, cycle)[row] = 1;
  worker->due[cycle % CALENDAR / WORD_BITS] |= UINT64_C(1) << cycle % WORD_BITS;
}

STEP inline void fast_wake(FastWorker *worker, uint32_t tile, uint64_t cycle)
{
  uint32_t row = tile / worker->engine->width, column = tile % worker->engine->width;
  fast_wake_word(worker, cycle, row, column / WORD_BITS, UINT64_C(1) << column % WORD_BITS);
}

STEP void fast_timer(FastWorker *w, uint32_t tile, uint64_t now, uint64_t cycle)
{
  if (cycle <= now + 1)
    fast_wake(w, tile, now + 1);
  else if (cycle - now < CALENDAR - BLOCK_MOST)     /* cycles of the block that others still run */
    fast_wake(w, tile, cycle);
  else
    timers_push(&w->timers, (Timer){cycle, tile});
}

STEP void fast_chore(FastWorker *w, uint32_t tile, FastChoreKind kind, unsigned slot,
                     uint64_t cycle)
{
  FastEngine *e = w->engine;
  uint32_t row = tile / e->width;
  arrput(w->chores, row);
  arrput(e->chores[row], ((FastChore){cycle, tile, (uint8_t)kind, (uint8_t)slot}));
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

STEP uint64_t fast_next_due(const FastTile *t, uint64_t now)
{
  uint64_t due = sooner(NEVER, t->core.ready, now);
  for (unsigned bits = t->core.vectors; bits; bits &= bits - 1)
    due = sooner(due, t->core.threads[__builtin_ctz(bits)].ready, now);
  due = sooner(due, t->core.pending_due, now);
  for (unsigned bits = t->input_any; bits; bits &= bits - 1) {
    const FastQueue *q = &t->queues[__builtin_ctz(bits)].input;
    for (unsigned k = 0; k < q->count; k++)
      due = sooner_wavelet(due, queue_at(q, k)->meta, now);
  }
  for (unsigned bits = t->output_any; bits; bits &= bits - 1)
    due = sooner_wavelet(due, queue_at(&t->queues[__builtin_ctz(bits)].output, 0)->meta, now);
  for (uint32_t bits = t->occupied; bits; bits &= bits - 1) {
    const FastColor *c = &t->colors[__builtin_ctz(bits)];
    due = sooner_wavelet(due, c->w[0].meta, now);
  }
  if (t->host)
    due = sooner(due, host_words_due(&t->host->posted, now), now);
  return due;
}
