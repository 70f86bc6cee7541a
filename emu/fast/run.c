/* Fast engine: the clock, timers, and the run from block to block.
 *
 * A block is one cycle, or several if many tiles are awake: visit_slanted (visit.c) runs these
 * slantwise over the tiles, so that they are in the cache for several visits. Work that one thread
 * does for all tiles comes at the end of a block. A fault ends the run with its block: other tiles
 * have gone on for up to BLOCK_MOST - 1 cycles. */
#include "emu/fast/step.h"

#include "stb_ds.h"

#include <string.h>

/* ---- the clock -------------------------------------------------------------------------- */

/* Stamps that lie in the past are moved to now, so that they never look as if in the future. */
static void freshen_wavelet(FastWavelet *w, uint64_t old, uint64_t now)
{
  int64_t visible = (int64_t)old + wavelet_wait(w->meta, old);
  if (visible <= (int64_t)now)
    w->meta = (w->meta & ~(uint32_t)STAMP_MASK) | ((uint32_t)now & STAMP_MASK);
}

static void freshen_queues(FastQueues *q, uint64_t old, uint64_t now)
{
  for (unsigned k = 0; k < q->input.count; k++)
    freshen_wavelet(input_at(q, k), old, now);
  for (unsigned k = 0; k < q->output.count; k++)
    freshen_wavelet(output_at(q, k), old, now);
}

static void freshen_tile(FastTile *t, uint64_t old, uint64_t now)
{
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    freshen_queues(&t->queues[q], old, now);
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
      freshen_tile(&e->tiles[e->workers[k].touched[i]], e->base.cycle, now);
  for (size_t i = 0; i < arrlenu(e->spills); i++)
    freshen_wavelet(&e->spills[i].wavelet, e->base.cycle, now);
  e->freshened = now;
}

/* Between cycles: cycle `now` is the next to run. */
static void set_cycle(FastEngine *e, uint64_t now)
{
  if (now - e->freshened >= FRESHEN_CYCLES)
    freshen(e, now);
  e->base.cycle = now;
}

/* Cycle of the soonest timer or free channel; NEVER if there is none. */
static uint64_t soonest(const FastEngine *e)
{
  uint64_t due = fast_workers_due(e, 0), channel = fast_channel_due(e);
  due = channel < due ? channel : due;
  uint64_t link = links_due(e->base.options.links, &e->base, e->base.cycle, step_link_accepts);
  due = link < due ? link : due;
  return due > e->base.cycle || due == NEVER ? due : e->base.cycle;
}

/* The timers that are due in the block, and the tiles that a link lets go on. */
static void take_timers(FastEngine *e)
{
  for (unsigned k = 0; k < e->n_workers; k++) {
    FastWorker *w = &e->workers[k];
    while (arrlenu(w->timers) && w->timers[0].cycle < e->base.cycle + e->block) {
      Timer timer = timers_pop(w->timers);
      fast_wake(w, timer.tile, timer.cycle > e->base.cycle ? timer.cycle : e->base.cycle);
    }
  }
  size_t gate = 0;
  for (uint32_t tile; (tile = links_wake(e->base.options.links, &gate, e->base.cycle)) !=
                      (uint32_t)NO_TILE;) {
    retry_moves(&e->tiles[tile], e->base.cycle - 1);
    fast_wake(&e->workers[e->row_worker[tile / e->width]], tile, e->base.cycle);
  }
}

/* Whatever wakes in a cycle from `from` on and before `end`, out of the calendar. */
static uint32_t *take_awake(FastEngine *e, uint64_t from, uint64_t end)
{
  uint32_t *tiles = NULL;
  for (uint64_t cycle = from; cycle < end && cycle - from < CALENDAR; cycle++) {
    uint8_t *rows = fast_row_awake(e, cycle);
    for (uint32_t row = 0; row < e->height; row++) {
      for (uint32_t word = 0; rows[row] && word < e->row_words; word++) {
        for (uint64_t *bits = fast_awake(e, cycle, row, word); *bits; *bits &= *bits - 1)
          arrput(tiles, row * e->width + word * WORD_BITS + (unsigned)__builtin_ctzll(*bits));
      }
      rows[row] = 0;
    }
  }
  return tiles;
}

static void forget_due(FastEngine *e, uint64_t from, uint64_t end)
{
  for (uint64_t cycle = from; cycle < end && cycle - from < CALENDAR; cycle++)
    for (unsigned k = 0; k < e->n_workers; k++)
      fast_forget_due(&e->workers[k], cycle);
}

/* Work that was due in the meantime is due then. */
void fast_skip_to(Engine *base, uint64_t cycle)
{
  FastEngine *e = (FastEngine *)base;
  if (cycle <= e->base.cycle)
    return;
  uint32_t *tiles = take_awake(e, e->base.cycle, cycle);
  forget_due(e, e->base.cycle, cycle);
  set_cycle(e, cycle);
  for (size_t i = 0; i < arrlenu(tiles); i++) {
    retry_moves(&e->tiles[tiles[i]], cycle - 1);
    fast_wake(e->workers, tiles[i], cycle);
  }
  arrfree(tiles);
}

/* ---- the run ---------------------------------------------------------------------------- */

static void deliver_prints(FastEngine *e, bool shared)
{
  TilePrint *all = e->workers[0].log.prints;
  for (unsigned k = 1; k < e->n_workers; k++) {
    for (size_t i = 0; i < arrlenu(e->workers[k].log.prints); i++)
      arrput(all, e->workers[k].log.prints[i]);
    arrsetlen(e->workers[k].log.prints, 0);
  }
  if (shared)
    fast_peers_gather(e, &all, sizeof *all, false);
  engine_deliver_prints(&e->base, all);
  arrsetlen(all, 0);
  e->workers[0].log.prints = all;
}

static void collect_faults(FastEngine *e, bool shared)
{
  Fault *found = e->workers[0].log.faults;
  for (unsigned k = 1; k < e->n_workers; k++) {
    for (size_t i = 0; i < arrlenu(e->workers[k].log.faults); i++)
      arrput(found, e->workers[k].log.faults[i]);
    arrsetlen(e->workers[k].log.faults, 0);
  }
  if (shared)
    fast_peers_gather(e, &found, sizeof *found, true);
  engine_collect_faults(&e->base, found);
  arrsetlen(found, 0);
  e->workers[0].log.faults = found;
}

/* Below this number of visits a cycle is not worth the meeting of threads; from this number on they
 * do not fit a cache, so that blocks are worth their while. */
enum { CREW_LEAST = 256, BLOCK_LEAST = 1536 };

/* A cycle of the block that has run, averaged with those before it: streams that go ahead are often
 * visited all in the same cycle and then none for some. */
static void count_visits(FastEngine *e)
{
  uint64_t sum = (uint64_t)e->own_visits * (BLOCK_MOST - e->block);
  for (unsigned k = 0; k < e->n_workers; k++)
    sum += e->workers[k].visits;
  e->own_visits = (uint32_t)(sum / BLOCK_MOST);
}

/* The trace, if any, has this cycle. */
static bool is_traced(const FastEngine *e)
{
  const TraceSink *trace = e->base.options.trace;
  return trace && e->base.cycle >= trace->first_cycle && e->base.cycle <= trace->last_cycle;
}

/* Cycles of the next block: one where the host or a trace wants to have cycles by themselves. */
static unsigned choose_block(const FastEngine *e)
{
  const EngineOptions *options = &e->base.options;
  if (is_traced(e) || options->links || e->hosted || e->base.program->host_out_colors)
    return 1;
  unsigned most = e->visits >= BLOCK_LEAST ? e->block_most : 1;
  unsigned asked = e->base.options.block;
  most = asked && asked <= e->block_most ? asked : most;
  return e->limit - e->base.cycle < most ? (unsigned)(e->limit - e->base.cycle) : most;
}

/* Fewer tiles than FETCH_LEAST fit a cache, with what they work on.  If fewer than FETCH_AWAKE are
 * awake at a time, these mostly stay so for many cycles, and in the cache: on a fabric of up to
 * FETCH_ALWAYS tiles. */
enum { FETCH_LEAST = 1024, FETCH_ALWAYS = 4 * FETCH_LEAST, FETCH_AWAKE = 256 };

/* Whether visits are worth a fetch of what the next ones need: see visit.c. */
static bool choose_fetch(const FastEngine *e)
{
  return e->n_tiles >= FETCH_ALWAYS ||
         (e->n_tiles >= FETCH_LEAST && e->own_visits >= FETCH_AWAKE);
}

/* The last cycle of the block with a visit: those after it have not been needed.  A cycle that is
 * due need not have one: its wakes may be void. */
static uint64_t last_visited(const FastEngine *e)
{
  uint32_t visited = 1;         /* the first cycle counts */
  for (unsigned k = 0; k < e->n_workers; k++)
    visited |= e->workers[k].visited;
  return e->base.cycle + (WORD_BITS - 1) - (unsigned)__builtin_clzll(visited);
}

static void visit_all(FastEngine *e)
{
  bool crew = e->n_workers > 1 && (e->visits >= CREW_LEAST || e->base.options.shuffle);
  if (crew) {
    fast_crew_block(e);
  } else if (!e->base.options.peers) {
    e->step->visit(&e->workers[0], HALF_ALL);
  } else {
    for (unsigned half = 0; half < (e->n_workers > 1 ? HALVES : 1); half++)
      for (unsigned k = 0; k < e->n_workers; k++)
        e->step->visit(&e->workers[k], (FastHalf)half);
  }
  if (e->base.options.peers)
    e->step->edges(&e->workers[0]);
}

/* ---- peers: processes that run other rows ------------------------------------------------- */

void fast_peers_gather(FastEngine *e, void *array, size_t record_bytes, bool spread)
{
  Peers *peers = e->base.options.peers;
  unsigned char **records = array, *all = NULL;
  if (!peers)
    return;
  size_t n = arrlenu(*records);
  peers->gather(peers, *records, n * record_bytes, spread, &all);
  n = arrlenu(all) / record_bytes;
  *records = stbds_arrgrowf(*records, record_bytes, 0, n ? n : 1);
  stbds_header(*records)->length = n;
  if (n)
    memcpy(*records, all, n * record_bytes);
  arrfree(all);
}

/* What this process says of itself. */
static PeerVote make_vote(const FastEngine *e, uint64_t last_awake)
{
  PeerVote vote = {.due = soonest(e), .block = e->block_most, .last_awake = last_awake,
                   .visits = e->own_visits};
  for (unsigned k = 0; k < e->n_workers; k++) {
    const TileLog *log = &e->workers[k].log;
    vote.last_change = log->last_change > vote.last_change ? log->last_change : vote.last_change;
    vote.flags |= arrlenu(log->faults) ? VOTE_FAULTS : 0;
    vote.flags |= arrlenu(log->prints) ? VOTE_PRINTS : 0;
  }
  const EngineOptions *options = &e->base.options;
  vote.flags |= options->trace && options->trace->stop ? VOTE_STOP : 0;
  vote.flags |= engine_interrupted(options->interrupt) ? VOTE_INTERRUPT : 0;
  vote.flags |= e->hosted ? VOTE_HOSTED : 0;
  return vote;
}

/* What all processes say of themselves. */
static PeerVote take_vote(FastEngine *e, uint64_t last_awake)
{
  Peers *peers = e->base.options.peers;
  PeerVote vote = make_vote(e, last_awake);
  if (peers)
    peers->vote(peers, &vote);
  e->block_most = (unsigned)vote.block;
  e->hosted |= (vote.flags & VOTE_HOSTED) != 0;
  e->visits = (uint32_t)vote.visits;
  e->base.last_change = vote.last_change;
  return vote;
}

/* Returns the vote after it: `last_awake` is the last cycle that was needed. */
static PeerVote run_block(FastEngine *e)
{
  e->block = choose_block(e);
  e->fetches = choose_fetch(e);
  take_timers(e);
  visit_all(e);
  e->step->end_block(e);
  count_visits(e);
  uint64_t last = last_visited(e);
  forget_due(e, e->base.cycle, e->base.cycle + e->block);
  PeerVote vote = take_vote(e, last);
  deliver_prints(e, vote.flags & VOTE_PRINTS);
  collect_faults(e, vote.flags & VOTE_FAULTS);
  return vote;
}

/* The run has ended before this cycle: does what routers have put off until then.  The rest is not
 * put off any more, since what is to leave may be undone, and the next run may begin later. */
static RARE void move_all_late(FastEngine *e)
{
  for (unsigned k = 0; k < e->n_workers; k++) {
    FastWorker *w = &e->workers[k];
    Visit v = start_visits(w);
    for (size_t i = 0; i < arrlenu(w->touched); i++) {
      FastTile *t = &e->tiles[w->touched[i]];
      if (!t->put_off)
        continue;
      move_late(&v, t);
      t->put_off &= PUT_OFF_WRITE;
      fast_wake(w, t->core.index, e->base.cycle);
    }
  }
}

/* The run is over: what has been written ahead to routers is in effect.  A worker may have visited
 * tiles that another one has touched first. */
static void write_all_late(FastEngine *e)
{
  bool any = false;
  for (unsigned k = 0; k < e->n_workers; k++) {
    any |= e->workers[k].writes_late;
    e->workers[k].writes_late = false;
  }
  for (unsigned k = 0; any && k < e->n_workers; k++) {
    FastWorker *w = &e->workers[k];
    Visit v = start_visits(w);
    for (size_t i = 0; i < arrlenu(w->touched); i++)
      if (e->tiles[w->touched[i]].put_off & PUT_OFF_WRITE)
        write_late(&v, &e->tiles[w->touched[i]]);
  }
}

/* Up to `limit`, in one form of the step; the run has begun in cycle `floor`. */
static RunStatus run_on(FastEngine *e, uint64_t floor, uint64_t limit)
{
  e->limit = limit;
  PeerVote vote = take_vote(e, 0);
  for (;;) {
    if (e->base.stopped) {
      move_all_late(e);
      fast_ahead_undo(e, e->base.cycle);
      return RUN_FAULT;
    }
    if (e->base.cycle >= limit)
      return RUN_LIMIT;
    if (vote.due == NEVER) {
      e->base.cycle = engine_quiet_cycle(&e->base, floor);
      return RUN_QUIET;
    }
    uint64_t due = vote.due > e->base.cycle ? vote.due : e->base.cycle;
    set_cycle(e, due < limit ? due : limit);
    if (e->base.cycle >= limit)
      return RUN_LIMIT;
    vote = run_block(e);
    set_cycle(e, vote.last_awake + 1);
    if (vote.flags & VOTE_STOP)
      return RUN_LIMIT;
    if (vote.flags & VOTE_INTERRUPT && !e->base.stopped) {
      move_all_late(e);
      return RUN_INTERRUPTED;
    }
  }
}

/* ---- the form of the step ----------------------------------------------------------------- */

/* The next cycle in which the trace begins, or has ended; NEVER: none. */
static uint64_t next_form(const FastEngine *e)
{
  const TraceSink *trace = e->base.options.trace;
  uint64_t now = e->base.cycle;
  if (!trace || now > trace->last_cycle)
    return NEVER;
  if (now < trace->first_cycle)
    return trace->first_cycle;
  return trace->last_cycle < NEVER ? trace->last_cycle + 1 : NEVER;
}

/* For a trace, and where each access is looked at, no work ahead: none is left when the form
 * changes. */
static void choose_form(FastEngine *e)
{
  const FastStep *before = e->step;
  bool looks = is_traced(e) || e->base.options.checks & CHECKS_ORDER;
  e->step = looks ? &fast_step_traced : &fast_step_plain;
  if (e->step == before)
    return;
  fast_part_all(e);
  fast_ahead_undo(e, e->base.cycle);
  if (e->step == &fast_step_plain)
    fast_join_all(e);
}

/* In parts, each in the form for its cycles. */
static RunStatus run_in_forms(FastEngine *e, uint64_t limit)
{
  const TraceSink *trace = e->base.options.trace;
  uint64_t floor = e->base.cycle;
  for (;;) {
    choose_form(e);
    uint64_t end = next_form(e);
    RunStatus status = run_on(e, floor, end < limit ? end : limit);
    write_all_late(e);
    if (status != RUN_LIMIT || e->base.cycle < end || end >= limit || trace->stop)
      return status;
  }
}

RunStatus fast_run(Engine *base, uint64_t limit)
{
  FastEngine *e = (FastEngine *)base;
  RunStatus status = run_in_forms(e, limit);
  bool goes_on = e->base.pauses && status == RUN_LIMIT && e->base.cycle == limit;
  if (goes_on && !(e->base.options.trace && e->base.options.trace->stop))
    fast_lend_counts(e);
  else
    fast_part_all(e);
  return status;
}
