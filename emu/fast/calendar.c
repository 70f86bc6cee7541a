/* Fast engine: when tiles are visited: the map of awake tiles, timers, chores. */
#include "emu/fast/step.h"

#include "stb_ds.h"

/* The words of a row in the map of a cycle; the bytes of all rows. */
static inline uint64_t *fast_awake(const FastEngine *engine, uint64_t cycle, uint32_t row)
{
  return &engine->awake[(cycle % CALENDAR * engine->height + row) * engine->row_words];
}

static inline uint8_t *fast_row_awake(const FastEngine *engine, uint64_t cycle)
{
  return &engine->row_awake[cycle % CALENDAR * engine->height];
}

/* Tiles of a word of the map are awake in a cycle of the calendar. */
static inline void fast_wake_word(FastWorker *worker, uint64_t cycle, uint32_t row, uint32_t word,
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

static inline void fast_wake(FastWorker *worker, uint32_t tile, uint64_t cycle)
{
  uint32_t row = tile / worker->engine->width, column = tile % worker->engine->width;
  fast_wake_word(worker, cycle, row, column / WORD_BITS, UINT64_C(1) << column % WORD_BITS);
}

/* The tile's wake in that cycle is void.  What it has to do by itself, a visit before it finds. */
static inline void fast_forget_wake(FastWorker *worker, uint32_t tile, uint64_t cycle)
{
  const FastEngine *engine = worker->engine;
  uint32_t row = tile / engine->width, column = tile % engine->width;
  fast_awake(engine, cycle, row)[column / WORD_BITS] &= ~(UINT64_C(1) << column % WORD_BITS);
  worker->voided[cycle % CALENDAR / WORD_BITS] |= UINT64_C(1) << cycle % WORD_BITS;
}

static void fast_timer(FastWorker *w, uint32_t tile, uint64_t now, uint64_t cycle)
{
  if (cycle <= now + 1)
    fast_wake(w, tile, now + 1);
  else if (cycle - now < CALENDAR - BLOCK_MOST)     /* cycles of the block that others still run */
    fast_wake(w, tile, cycle);
  else
    timers_push(&w->timers, (Timer){cycle, tile});
}

static void fast_chore(FastWorker *w, FastChore chore)
{
  uint32_t row = chore.tile / w->engine->width;
  arrput(w->chores, row);
  arrput(w->engine->chores[row], chore);
}
