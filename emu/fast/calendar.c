/* Fast engine: when tiles are visited: the map of awake tiles, timers, chores. */
#include "emu/fast/step.h"

#include "stb_ds.h"

/* A word of a row in the map of a cycle.  Those of the next cycles share its cache line, since the
 * tiles that are awake in it wake up again in these. */
static inline uint64_t *fast_awake(const FastEngine *engine, uint64_t cycle, uint32_t row,
                                   uint32_t word)
{
  size_t line = (cycle % CALENDAR / AWAKE_CYCLES * engine->height + row) * engine->row_words + word;
  return &engine->awake[line * AWAKE_CYCLES + cycle % AWAKE_CYCLES];
}

/* The bytes of all rows: a bit for every eighth word of a row, if any of these has one. */
static inline uint8_t *fast_row_awake(const FastEngine *engine, uint64_t cycle)
{
  return &engine->row_awake[cycle % CALENDAR * engine->height];
}

enum { ROW_PARTS = 8, ALL_PARTS = (1 << ROW_PARTS) - 1 };
static inline unsigned row_part(uint32_t word) { return 1u << word % ROW_PARTS; }

/* The first word from `word` on that one of the bits stands for; one beyond all rows. */
static inline uint32_t next_word(unsigned parts, uint32_t word)
{
  unsigned from_here = (parts | parts << ROW_PARTS) >> word % ROW_PARTS;
  return from_here ? word + (unsigned)__builtin_ctz(from_here) : UINT32_MAX / WORD_BITS;
}

static HOT FastColumns all_columns(const FastEngine *e) { return (FastColumns){0, e->width}; }

/* A tile of the row is awake in a cycle of the calendar. */
static inline void note_due(FastWorker *worker, uint64_t cycle, uint32_t row)
{
  uint64_t *due = &worker->due[cycle % CALENDAR / WORD_BITS];
  uint64_t bit_of_cycle = UINT64_C(1) << cycle % WORD_BITS;
  FastRows *rows = &worker->due_rows[cycle % CALENDAR];
  if (!(*due & bit_of_cycle))
    *rows = (FastRows){row, row + 1};
  else if (row < rows->first)
    rows->first = row;
  else if (row >= rows->end)
    rows->end = row + 1;
  *due |= bit_of_cycle;
}

/* Tiles of a word of the map are awake in a cycle of the calendar. */
static inline void fast_wake_word(FastWorker *worker, uint64_t cycle, uint32_t row, uint32_t word,
                                  uint64_t tiles)
{
  FastEngine *engine = worker->engine;
  uint64_t *at = fast_awake(engine, cycle, row, word), before = *at;
  *at = before | tiles;
  if (before)
    return;
  fast_row_awake(engine, cycle)[row] |= (uint8_t)row_part(word);
  note_due(worker, cycle, row);
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
  *fast_awake(engine, cycle, row, column / WORD_BITS) &= ~(UINT64_C(1) << column % WORD_BITS);
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

/* The cycle is over. */
static inline void fast_forget_due(FastWorker *w, uint64_t cycle)
{
  w->due[cycle % CALENDAR / WORD_BITS] &= ~(UINT64_C(1) << cycle % WORD_BITS);
  w->voided[cycle % CALENDAR / WORD_BITS] &= ~(UINT64_C(1) << cycle % WORD_BITS);
}

/* ---- what comes next ----------------------------------------------------------------------- */

static bool is_tile_awake(const FastEngine *e, uint64_t cycle)
{
  const uint8_t *rows = fast_row_awake(e, cycle);
  for (uint32_t row = 0; row < e->height; row++)
    for (uint32_t word = 0; rows[row] && word < e->row_words; word++)
      if (*fast_awake(e, cycle, row, word))
        return true;
  return false;
}

/* Cycles with void wakes, a bit each from `first` on, in the word that has it. */
static inline uint64_t void_wakes(const FastEngine *e, uint64_t first)
{
  uint64_t cycles = 0;
  for (unsigned k = 0; k < e->n_workers; k++)
    cycles |= e->workers[k].voided[first % CALENDAR / WORD_BITS];
  return cycles >> first % WORD_BITS;
}

/* The first cycle of those whose bits are set, from `first` on, in which a tile is awake: one with
 * void wakes only would hide that the run is quiet. */
static inline uint64_t first_due(const FastEngine *e, uint64_t first, uint64_t due)
{
  if (!due)                     /* mostly */
    return NEVER;
  for (uint64_t voids = void_wakes(e, first); due; due &= due - 1) {
    unsigned at = (unsigned)__builtin_ctzll(due);
    if (!(voids >> at & 1) || is_tile_awake(e, first + at))
      return first + at;
  }
  return NEVER;
}

/* The first cycle of the calendar from `now` on in which a tile of the worker's is awake. */
static inline uint64_t fast_next_awake(const FastWorker *w, uint64_t now)
{
  uint64_t any = 0;
  for (unsigned i = 0; i < ARRAY_COUNT(w->due); i++)
    any |= w->due[i];
  if (!any)                     /* as with most workers while one visits all rows */
    return NEVER;
  for (unsigned ahead = 0; ahead < CALENDAR;) {
    uint64_t cycle = now + ahead;
    uint64_t due = w->due[cycle % CALENDAR / WORD_BITS] >> cycle % WORD_BITS;
    uint64_t found = first_due(w->engine, cycle, due);
    if (found != NEVER)
      return found;
    ahead += WORD_BITS - cycle % WORD_BITS;
  }
  /* The word of `now` once more, which starts before it. */
  uint64_t due = w->due[now % CALENDAR / WORD_BITS] & ((UINT64_C(1) << now % WORD_BITS) - 1);
  return first_due(w->engine, now - now % WORD_BITS + CALENDAR, due);
}

/* The cycle of the first timer; NEVER: there is none. */
static inline uint64_t fast_next_timer(const FastWorker *w)
{
  return arrlenu(w->timers) ? w->timers[0].cycle : NEVER;
}

/* The first cycle from `now` on in which a tile of the worker's is awake or has a timer. */
static inline uint64_t fast_next_work(const FastWorker *w, uint64_t now)
{
  uint64_t due = fast_next_awake(w, now), timer = fast_next_timer(w);
  return timer < due ? timer : due;
}

/* A worker from `first` on has something to do then; NEVER: none. */
static inline uint64_t fast_workers_due(const FastEngine *e, unsigned first)
{
  uint64_t due = NEVER;
  for (unsigned k = first; k < e->n_workers; k++) {
    uint64_t next = fast_next_work(&e->workers[k], e->base.cycle);
    due = next < due ? next : due;
  }
  return due;
}

/* A channel that a tile waits for is free then; NEVER. */
static inline uint64_t fast_channel_due(const FastEngine *e)
{
  uint64_t due = NEVER;
  for (unsigned i = 0; e->n_host_waiting && i < e->n_channels; i++) {
    uint64_t free_at = host_out_due(&e->channels[i].out, e->timing);
    if (e->channels[i].waiting && free_at < due)
      due = free_at;
  }
  return due;
}

/* Something that only the end of a block does. */
static inline bool fast_leaves_work(const FastWorker *w)
{
  return arrlenu(w->chores) || arrlenu(w->joins) || arrlenu(w->retries) ||
         arrlenu(w->log.faults) || arrlenu(w->log.prints);
}

/* ---- chores -------------------------------------------------------------------------------- */

static void fast_chore(FastWorker *w, FastChore chore)
{
  uint32_t row = chore.tile / w->engine->width;
  arrput(w->chores, row);
  arrput(w->engine->chores[row], chore);
}
