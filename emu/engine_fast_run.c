/* Fast engine: the clock, timers, and the run from cycle to cycle. */
#include "emu/engine_fast.h"

#include "stb_ds.h"

#include <stdlib.h>

/* ---- the clock -------------------------------------------------------------------------- */

void fast_timer(FastWorker *w, uint32_t tile, uint64_t cycle)
{
  uint64_t now = w->engine->cycle;
  if (cycle <= now + 1) {
    fast_wake_next(w, tile);
  } else if (cycle - now < WHEEL) {
    arrput(w->wheel[cycle % WHEEL], tile);
    w->wheel_used |= UINT64_C(1) << cycle % WHEEL;
  } else {
    timers_push(&w->timers, (Timer){cycle, tile});
  }
}

/* The next cycle after this one in which something of the tile becomes due by itself. */
static uint64_t sooner(uint64_t a, uint64_t b, uint64_t now)
{
  return b > now && b < a ? b : a;
}

static uint64_t sooner_wavelet(uint64_t a, uint32_t meta, uint64_t now)
{
  int32_t wait = wavelet_wait(meta, now);
  return wait > 0 ? sooner(a, now + (uint64_t)wait, now) : a;
}

uint64_t fast_next_due(const FastEngine *e, const FastTile *t)
{
  uint64_t now = e->cycle, due = sooner(NEVER, t->ready, now);
  for (unsigned bits = t->vectors; bits; bits &= bits - 1)
    due = sooner(due, t->threads[__builtin_ctz(bits)].ready, now);
  due = sooner(due, t->pending_due, now);
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
  if (t->host && t->host->posted_at < arrlenu(t->host->posted))
    due = sooner(due, t->host->posted[t->host->posted_at].cycle, now);
  return due;
}

/* Stamps that lie in the past are moved to now, so that they never look as if in the future. */
static void freshen_wavelet(FastWavelet *w, uint64_t old, uint64_t now)
{
  int64_t visible = (int64_t)old + wavelet_wait(w->meta, old);
  if (visible <= (int64_t)now)
    w->meta = (w->meta & ~(uint32_t)STAMP_MASK) | ((uint32_t)now & STAMP_MASK);
}

static void freshen_queue(FastQueue *q, uint64_t old, uint64_t now)
{
  for (unsigned k = 0; k < q->count; k++)
    freshen_wavelet(queue_at(q, k), old, now);
}

static void freshen_tile(FastTile *t, uint64_t old, uint64_t now)
{
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    freshen_queue(&t->queues[q].input, old, now);
    freshen_queue(&t->queues[q].output, old, now);
  }
  for (unsigned slot = 0; slot < t->set->n; slot++) {
    FastColor *c = &t->colors[slot];
    for (unsigned k = 0; k < FAST_SLOTS; k++)
      freshen_wavelet(&c->w[k], old, now);
    c->stamp = (uint32_t)now - 1;
  }
}

static void freshen(FastEngine *e, uint64_t now)
{
  for (unsigned k = 0; k < e->n_workers; k++)
    for (size_t i = 0; i < arrlenu(e->workers[k].touched); i++)
      freshen_tile(&e->tiles[e->workers[k].touched[i]], e->cycle, now);
  for (size_t i = 0; i < arrlenu(e->spills); i++)
    freshen_wavelet(&e->spills[i].wavelet, e->cycle, now);
  e->freshened = now;
}

/* Between cycles: cycle `now` is the next to run. */
static void set_cycle(FastEngine *e, uint64_t now)
{
  if (now - e->freshened >= FRESHEN_CYCLES)
    freshen(e, now);
  e->cycle = now;
}

/* The tiles listed for the next cycle become those of this one. */
static void turn(FastEngine *e)
{
  uint64_t *awake = e->awake;
  uint8_t *row_awake = e->row_awake;
  e->awake = e->awake_next;
  e->row_awake = e->row_awake_next;
  e->awake_next = awake;
  e->row_awake_next = row_awake;
  for (unsigned k = 0; k < e->n_workers; k++)
    e->workers[k].any_next = false;
}

static bool any_next(const FastEngine *e)
{
  bool any = false;
  for (unsigned k = 0; k < e->n_workers; k++)
    any |= e->workers[k].any_next;
  return any;
}

static uint64_t soonest_timer(const FastWorker *w, uint64_t now)
{
  uint64_t due = NEVER;
  if (w->wheel_used) {
    unsigned turned = (unsigned)(now % WHEEL);
    uint64_t used = w->wheel_used >> turned | (turned ? w->wheel_used << (WHEEL - turned) : 0);
    due = now + (uint64_t)__builtin_ctzll(used);
  }
  return arrlenu(w->timers) && w->timers[0].cycle < due ? w->timers[0].cycle : due;
}

/* Cycle of the soonest timer or free channel; NEVER if there is none. */
static uint64_t soonest(const FastEngine *e)
{
  uint64_t due = NEVER;
  for (unsigned k = 0; k < e->n_workers; k++) {
    uint64_t timer = soonest_timer(&e->workers[k], e->cycle);
    due = timer < due ? timer : due;
  }
  uint64_t num = e->timing->host_wavelets_num ? e->timing->host_wavelets_num : 1;
  for (unsigned i = 0; e->n_host_waiting && i < e->n_channels; i++) {
    uint64_t free_at = (e->channels[i].free_at + num - 1) / num;
    if (e->channels[i].waiting && free_at < due)
      due = free_at;
  }
  return due > e->cycle || due == NEVER ? due : e->cycle;
}

static void wake_now(FastEngine *e, uint32_t tile)
{
  uint32_t row = tile / e->width, column = tile % e->width;
  e->awake[row * e->row_words + column / WORD_BITS] |= UINT64_C(1) << column % WORD_BITS;
  e->row_awake[row] = 1;
}

void fast_take_timers(FastWorker *w)
{
  FastEngine *e = w->engine;
  uint32_t **slot = &w->wheel[e->cycle % WHEEL];
  for (size_t i = 0; i < arrlenu(*slot); i++)
    wake_now(e, (*slot)[i]);
  arrsetlen(*slot, 0);
  w->wheel_used &= ~(UINT64_C(1) << e->cycle % WHEEL);
  while (arrlenu(w->timers) && w->timers[0].cycle <= e->cycle)
    wake_now(e, timers_pop(w->timers).tile);
}

static void skip_timers(FastWorker *w, uint64_t from, uint64_t cycle)
{
  for (unsigned k = 0; k < WHEEL && from + k <= cycle; k++) {
    uint32_t **slot = &w->wheel[(from + k) % WHEEL];
    for (size_t i = 0; i < arrlenu(*slot); i++)
      fast_wake_next(w, (*slot)[i]);
    arrsetlen(*slot, 0);
    w->wheel_used &= ~(UINT64_C(1) << (from + k) % WHEEL);
  }
}

/* What would have been due meanwhile is due then. */
void fast_skip_to(Engine *base, uint64_t cycle)
{
  FastEngine *e = (FastEngine *)base;
  if (cycle <= e->cycle)
    return;
  for (unsigned k = 0; k < e->n_workers; k++)
    skip_timers(&e->workers[k], e->cycle, cycle);
  set_cycle(e, cycle);
}

/* ---- the run ---------------------------------------------------------------------------- */

static void collect_faults(FastEngine *e)
{
  Fault *found = e->workers[0].faults;
  for (unsigned k = 1; k < e->n_workers; k++) {
    for (size_t i = 0; i < arrlenu(e->workers[k].faults); i++)
      arrput(found, e->workers[k].faults[i]);
    arrsetlen(e->workers[k].faults, 0);
  }
  size_t count = arrlenu(found);
  if (count)
    qsort(found, count, sizeof *found, fault_compare);
  for (size_t i = 0; i < count; i++) {
    const Fault *fault = &found[i];
    bool hazard = fault_is_hazard(fault->kind);
    if ((hazard && e->options.check == CHECK_OFF) || (i && fault_compare(fault, fault - 1) == 0))
      continue;
    arrput(e->faults, *fault);
    e->stopped |= !hazard || e->options.check == CHECK_ERROR;
  }
  arrsetlen(found, 0);
  e->workers[0].faults = found;
}

/* Below this number of visits a cycle is not worth the meeting of threads. */
enum { CREW_LEAST = 256 };

static uint32_t visits(const FastEngine *e)
{
  uint32_t sum = 0;
  for (unsigned k = 0; k < e->n_workers; k++)
    sum += e->workers[k].visits;
  return sum;
}

static void run_cycle(FastEngine *e)
{
  if (e->n_workers > 1 && (visits(e) >= CREW_LEAST || e->options.shuffle)) {
    fast_crew_cycle(e);
  } else {
    for (unsigned half = 0; half < (e->n_workers > 1 ? HALVES : 1); half++)
      for (unsigned k = 0; k < e->n_workers; k++)
        fast_visit(&e->workers[k], (FastHalf)half);
  }
  if (e->options.trace)
    fast_end_cycle_traced(e);
  else
    fast_end_cycle_plain(e);
  collect_faults(e);
}

static RunStatus run_on(FastEngine *e, uint64_t limit)
{
  uint64_t floor = e->cycle;
  e->limit = limit;
  for (;;) {
    if (e->stopped) {
      fast_ahead_undo(e, e->cycle);
      return RUN_FAULT;
    }
    if (e->cycle >= limit)
      return RUN_LIMIT;
    if (!any_next(e)) {
      uint64_t due = soonest(e);
      if (due == NEVER) {
        for (unsigned k = 0; k < e->n_workers; k++)
          floor = e->workers[k].last_change > floor ? e->workers[k].last_change : floor;
        e->cycle = floor;
        return RUN_QUIET;
      }
      set_cycle(e, due < limit ? due : limit);
      if (e->cycle >= limit)
        return RUN_LIMIT;
    }
    turn(e);
    run_cycle(e);
    set_cycle(e, e->cycle + 1);
    if (e->options.trace && e->options.trace->stop)
      return RUN_LIMIT;
  }
}

RunStatus fast_run(Engine *base, uint64_t limit)
{
  FastEngine *e = (FastEngine *)base;
  RunStatus status = run_on(e, limit);
  fast_part_all(e);
  return status;
}
