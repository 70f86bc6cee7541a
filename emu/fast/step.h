/* Fast engine: the visits to the awake tiles.  A template: plain.c and
 * traced.c include it with FAST_TRACED 0 and 1, so that a run without a trace has
 * no trace of events in its loop.  No include guard. */

#include "emu/fast/fast_internal.h"

#include "stb_ds.h"

#include <stdlib.h>
#include <string.h>

#define EVENT(visit, ...)                                                                        \
  do {                                                                                           \
    if (FAST_TRACED)                                                                             \
      record_event((visit), (TraceEvent){__VA_ARGS__});                                          \
  } while (0)

typedef struct {
  unsigned elements;
  bool by_control, by_fifo;
  uint8_t stream;               /* that it waits for: 1 src0, 2 src1, 0 dest */
} GroupPlan;

#define LIKELY(condition) __builtin_expect((condition) != 0, 1)
#define UNLIKELY(condition) __builtin_expect((condition) != 0, 0)
#define RARE static __attribute__((noinline))   /* kept out of the hot loop's code */
#define HOT static inline __attribute__((always_inline))

/* What the tile that is visited does in this cycle. */
typedef struct {
  /* the same for all tiles of a row in a cycle */
  FastEngine *engine;
  FastWorker *worker;
  uint64_t now;
  uint64_t hop_visible, ramp_visible;   /* of what moves now: in the next router, in a queue */
  uint64_t output_visible;      /* of what is put into an output queue now: for the router */
  uint64_t hop;
  uint32_t host_colors;
  uint32_t row;
  bool wse2;
  /* of the word of the map of awake tiles */
  uint32_t first;               /* tile of its lowest bit */
  uint32_t tiles;
  uint64_t stay;                /* tiles of it that are awake in the next cycle */
  /* of the tile */
  bool changed;                 /* anything: the tile stays awake, unless it */
  bool sleeps;                  /* until its next instruction */
  bool wake_all;                /* a switch moved: neighbours look again */
  PortMask wake_ports;          /* those that may send to a slot that became free */
  FastTile *tile;
  uint16_t router_register, router_value;   /* written in this cycle; 0: none */
  bool rebinds;                 /* a queue may have got another color */
  uint8_t drops;                /* input queues whose head control wavelet is dropped */
  uint16_t fifo_marks;
  bool launch;
  uint8_t pick_id, pick_queue;
  TaskKind pick;
  int thread;                   /* that issues; -1 none */
  bool is_group;
  GroupPlan group;
  uint8_t popped[MAX_QUEUES];   /* wavelets taken from input queues in this cycle */
  PortMask claimed;             /* outputs that wavelets of this cycle take */
  bool moved;
  uint8_t ramp_queue, ramp_slot;
  HostLane *host_in;            /* whose word enters; NULL none */
  bool host_head;
} Visit;

/* Awake in the next cycle; mostly it belongs to the word that is being visited. */
HOT void wake(Visit *v, uint32_t index)
{
  uint32_t bit_at = index - v->first;
  if (LIKELY(bit_at < v->tiles))
    v->stay |= UINT64_C(1) << bit_at;
  else
    fast_wake(v->worker, index, v->now + 1);
}

/* Something has changed in this cycle.  Rows are not always at the same cycle. */
HOT void note_change(const Visit *v)
{
  if (v->now >= v->worker->last_change)
    v->worker->last_change = v->now + 1;
}

HOT void note_active(const Visit *v)
{
  EngineStats *stats = &v->worker->stats;
  stats->active_tile_cycles++;
  if (UNLIKELY(v->now < stats->first_event))
    stats->first_event = v->now;
  if (v->now > stats->last_event)
    stats->last_event = v->now;
}

static void record_event(const Visit *v, TraceEvent event)
{
  FastEngine *e = v->engine;
  const TraceSink *sink = e->options.trace;
  if (!trace_wants(sink, event.kind, v->now) ||
      !trace_in_region(sink, program_x(e->program, v->tile->index),
                       program_y(e->program, v->tile->index)))
    return;
  event.cycle = v->now;
  event.tile = v->tile->index;
  arrput(v->worker->events, event);
}

#include "emu/fast/step_vec.h"
#include "emu/fast/step_tile.h"
#include "emu/fast/step_router.h"

/* ---- one tile --------------------------------------------------------------------------- */

RARE void wake_neighbours(Visit *v)
{
  FastEngine *e = v->engine;
  unsigned ports = v->wake_all ? port_bit(PORT_RAMP) - 1u : v->wake_ports;
  for (unsigned bits = ports & (port_bit(PORT_RAMP) - 1u); bits; bits &= bits - 1) {
    uint32_t next = program_neighbour(e->program, v->tile->index, (Port)__builtin_ctz(bits));
    if (next != (uint32_t)NO_TILE && e->tiles[next].set)
      fast_wake(v->worker, next, v->now + 1);
  }
}

HOT void sleep_until_due(Visit *v, const FastTile *t)
{
  uint64_t due = fast_next_due(t, v->now);
  if (due != NEVER)
    fast_timer(v->worker, t->index, v->now, due);
}

#include "emu/fast/step_stream.h"

static void set_now(Visit *v, uint64_t now)
{
  const Timing *timing = v->engine->timing;
  v->now = now;
  v->hop_visible = now + timing->hop;
  v->ramp_visible = now + timing->ramp_down;
  v->output_visible = now + fast_output_cycles(timing);
}

static Visit start_visits(FastWorker *worker)
{
  FastEngine *e = worker->engine;
  Visit v = {
    .engine = e, .worker = worker, .hop = e->timing->hop,
    .host_colors = e->program->host_out_colors,
    .wse2 = e->program->image->arch == ARCH_WSE2,
  };
  set_now(&v, e->cycle);
  return v;
}

HOT void start_tile(Visit *v, FastTile *t)
{
  v->tile = t;
  v->changed = v->wake_all = v->launch = v->is_group = v->moved = v->sleeps = v->rebinds = false;
  v->host_in = NULL;
  v->host_head = false;
  v->wake_ports = v->claimed = 0;
  v->router_register = 0;
  v->drops = v->fifo_marks = 0;
  v->pick = TASK_NONE;
  v->thread = -1;
  v->ramp_queue = NO_QUEUE;
  memset(v->popped, 0, sizeof v->popped);
}

HOT void visit(Visit *v, uint32_t index)
{
  FastTile *t = &v->engine->tiles[index];
  if (!FAST_TRACED && LIKELY(visit_stream(v, t, index)))
    return;
  start_tile(v, t);
  if (UNLIKELY(!t->set))
    fast_touch(v->worker, index);
  if (UNLIKELY(t->pending_due <= v->now))
    begin_actions(v);
  if (UNLIKELY(t->flushing))
    begin_flush(v);
  if (t->has_code)
    visit_tile(v);
  visit_router(v);
  if (UNLIKELY(v->router_register))
    commit_register(v);
  if (UNLIKELY(v->rebinds))
    fast_bind_queues(t);
  if (v->thread >= 0 || (v->moved && !fast_issues_ahead(t, v->now)))
    note_active(v);
  if (UNLIKELY(v->wake_all || v->wake_ports))
    wake_neighbours(v);
  if (LIKELY(v->changed)) {
    note_change(v);
    if (!v->sleeps) {
      wake(v, index);
      return;
    }
  }
  sleep_until_due(v, t);
}

/* ---- the host's channels ---------------------------------------------------------------- */

/* A tile of [from, end) that waits for the host, or NO_TILE. */
static uint32_t next_waiting(const FastEngine *e, uint32_t from, uint32_t end)
{
  while (from < end) {
    uint64_t word = e->host_waiting[from / WORD_BITS] >> from % WORD_BITS;
    if (word) {
      uint32_t found = from + (uint32_t)__builtin_ctzll(word);
      return found < end ? found : (uint32_t)NO_TILE;
    }
    from = (from / WORD_BITS + 1) * WORD_BITS;
  }
  return NO_TILE;
}

static void give_to_host(FastEngine *e, uint32_t index)
{
  FastTile *t = &e->tiles[index];
  Visit v = start_visits(&e->workers[e->row_worker[index / e->width]]);  /* its events come first */
  v.tile = t;
  if (!t->host)
    t->host = fast_alloc(v.worker, sizeof *t->host, _Alignof(FastHost));
  t->attended = e->hosted = true;
  for (unsigned bits = t->output_any; bits; bits &= bits - 1) {
    unsigned queue = (unsigned)__builtin_ctz(bits);
    FastQueue *q = &t->queues[queue].output;
    FastWavelet w = *queue_at(q, 0);
    if (!wavelet_seen(w.meta, v.now) || !is_host_color(&v, wavelet_field(w.meta)))
      continue;
    output_pop(&v, queue);
    EVENT(&v, .kind = EV_HOST_OUT, .color = wavelet_field(w.meta), .queue = (uint8_t)queue,
          .payload = w.payload);
    arrput(t->host->sent, ((FastHostWord){v.now, w.payload, wavelet_field(w.meta)}));
    break;
  }
  e->host_waiting[index / WORD_BITS] &= ~(UINT64_C(1) << index % WORD_BITS);
  e->n_host_waiting--;
  note_change(&v);
  fast_wake(v.worker, index, v.now + 1);
}

static void list_waiting(FastEngine *e, FastWorker *worker)
{
  for (size_t i = 0; i < arrlenu(worker->host_calls); i++) {
    uint32_t tile = worker->host_calls[i];
    uint64_t *word = &e->host_waiting[tile / WORD_BITS], mask = UINT64_C(1) << tile % WORD_BITS;
    if (*word & mask)
      continue;
    *word |= mask;
    e->n_host_waiting++;
    e->channels[program_channel(e->program, tile)].waiting++;
  }
  arrsetlen(worker->host_calls, 0);
}

/* Each free channel takes a word from the next of its tiles, in cyclic order, that has one. */
static bool serve_channels(FastEngine *e)
{
  const Timing *timing = e->timing;
  uint64_t num = timing->host_wavelets_num ? timing->host_wavelets_num : 1;
  uint64_t now = e->cycle * num;
  bool served = false;
  for (unsigned i = 0; i < e->n_channels; i++) {
    FastChannel *channel = &e->channels[i];
    if (!channel->waiting || channel->free_at > now)
      continue;
    uint32_t from = channel->last_tile + 1;
    if (from < channel->first || from >= channel->end)
      from = channel->first;
    uint32_t tile = next_waiting(e, from, channel->end);
    if (tile == (uint32_t)NO_TILE)
      tile = next_waiting(e, channel->first, from);
    channel->waiting--;
    channel->last_tile = tile;
    /* Free since less than a cycle: the fraction counts, or the rate would be rounded down. */
    bool busy = channel->free_at + num > now;
    channel->free_at = (busy ? channel->free_at : now) + timing->host_wavelets_den;
    give_to_host(e, tile);
    served = true;
  }
  return served;
}

/* ---- chores of a row -------------------------------------------------------------------- */

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
  FastWavelet all[FAST_SLOTS + 2 * PORT_COUNT];
  unsigned n = color_count(c), arrivals = c->saved >> ARRIVALS_SHIFT;
  unsigned arrived = (unsigned)__builtin_popcount(arrivals);
  for (unsigned i = 0; i < n; i++)
    all[i] = i < FAST_SLOTS ? c->w[i] : spill_pop(&v, t->index, meeting->slot);
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
      spill_push(&v, t->index, meeting->slot, all[i]);
  }
  arrput(v.worker->faults,
         ((Fault){.kind = FAULT_COLOR_MEETS, .cycle = meeting->cycle, .tile = t->index,
                  .color = color, .pc = PC_RETURN, .value = arrivals}));
}

/* What the cycles before `now` have left to do.  More may come up meanwhile, for the next cycle. */
RARE void do_chores(FastWorker *worker, uint32_t row, uint64_t now)
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
HOT void row_chores(const Visit *v, uint32_t row)
{
  FastEngine *e = v->engine;
  for (uint32_t i = row; i < row + 2 && i < e->height; i++)
    if (UNLIKELY(arrlenu(e->chores[i])))
      do_chores(v->worker, i, v->now);
}

/* ---- rows ------------------------------------------------------------------------------- */

/* Order does not matter: tests run with `shuffle`, all of it backwards. */
RARE void visit_backwards(Visit *v, uint64_t bits)
{
  for (unsigned bit_at = WORD_BITS; bit_at-- > 0;)
    if (bits >> bit_at & 1)
      visit(v, v->first + bit_at);
}

/* On a large fabric most tiles are in no cache when their turn comes.  So while one is visited, the
 * next but one of `bits` is fetched, and what the next one, fetched before, points to. */
HOT void prefetch_next(const FastTile *first, uint64_t bits)
{
  uint64_t behind = bits & (bits - 1);
  if (!behind)
    return;
  const FastTile *next = &first[__builtin_ctzll(bits)], *second = &first[__builtin_ctzll(behind)];
  __builtin_prefetch(second);
  __builtin_prefetch(&second->pending_due);     /* its second line */
  __builtin_prefetch(next->threads[MAIN_THREAD].run);
  __builtin_prefetch(next->in);
}

HOT void visit_forwards(Visit *v, uint64_t bits)
{
  while (bits) {
    unsigned bit_at = (unsigned)__builtin_ctzll(bits);
    bits &= bits - 1;
    prefetch_next(&v->engine->tiles[v->first], bits);
    visit(v, v->first + bit_at);
  }
}

static void visit_word(Visit *v, uint32_t row, uint32_t word, uint64_t bits)
{
  FastEngine *e = v->engine;
  uint32_t column = word * WORD_BITS;
  v->first = row * e->width + column;
  v->tiles = e->width - column < WORD_BITS ? e->width - column : WORD_BITS;
  v->stay = 0;
  v->worker->visits += (uint32_t)__builtin_popcountll(bits);
  if (UNLIKELY(e->options.shuffle))
    visit_backwards(v, bits);
  else
    visit_forwards(v, bits);
  if (v->stay)
    fast_wake_word(v->worker, v->now + 1, row, word, v->stay);
}

static void visit_row(Visit *v, uint32_t row)
{
  FastEngine *e = v->engine;
  uint64_t *words = fast_awake(e, v->now, row);
  v->row = row;
  fast_row_awake(e, v->now)[row] = 0;
  if (e->block > 1)
    row_chores(v, row);
  for (uint32_t i = 0; i < e->row_words; i++) {
    uint32_t w = e->options.shuffle ? e->row_words - 1 - i : i;
    uint64_t bits = words[w];
    if (!bits)
      continue;
    words[w] = 0;
    visit_word(v, row, w, bits);
  }
}

/* The first row of [row, end) that has an awake tile, or `end`. */
static uint32_t next_row(const uint8_t *awake, uint32_t row, uint32_t end)
{
  uint64_t eight;
  for (; row + sizeof eight <= end; row += sizeof eight) {
    memcpy(&eight, awake + row, sizeof eight);
    if (eight)
      break;
  }
  while (row < end && !awake[row])
    row++;
  return row;
}

static void visit_rows(Visit *v, FastRows rows)
{
  const uint8_t *awake = fast_row_awake(v->engine, v->now);
  if (UNLIKELY(v->engine->options.shuffle)) {
    for (uint32_t row = rows.end; row-- > rows.first;)
      visit_row(v, row);
    return;
  }
  for (uint32_t row = rows.first; row < rows.end; row++) {
    row = next_row(awake, row, rows.end);
    if (row < rows.end)
      visit_row(v, row);
  }
}

/* The rows of a half in a cycle of the block: see FastHalf. */
static FastRows rows_in(const FastEngine *e, FastRows rows, FastHalf half, unsigned cycle)
{
  uint32_t moved = cycle * BLOCK_SLANT;
  if (half == HALF_BORDERS)
    return (FastRows){rows.first - moved, rows.end + moved};
  uint32_t first = rows.first ? rows.first + moved : 0;
  uint32_t end = rows.end < e->height ? rows.end - moved : e->height;
  return (FastRows){first, end > first ? end : first};
}

static void visit_cycles(Visit *v, FastRows rows, FastHalf half)
{
  for (unsigned i = 0; i < v->engine->block; i++) {
    set_now(v, v->engine->cycle + i);
    visit_rows(v, rows_in(v->engine, rows, half, i));
  }
}

/* The block from row to row: each row runs a cycle as soon as the two below have run the one
 * before, so that a row comes up again while it is still in the cache.  A visit looks at and
 * changes the row itself and those beside it, nothing else.  So visits that concern the same row
 * come in the order that they would have if all rows had run one cycle after the other. */
static void visit_slanted(Visit *v, FastRows rows, FastHalf half)
{
  FastEngine *e = v->engine;
  uint32_t fronts = rows.end + (e->block - 1) * BLOCK_SLANT;
  for (uint32_t front = rows.first; front < fronts; front++) {
    for (unsigned i = 0; i < e->block && i * BLOCK_SLANT <= front - rows.first; i++) {
      uint32_t row = front - i * BLOCK_SLANT;
      FastRows now = rows_in(e, rows, half, i);
      if (row < now.first || row >= now.end || !fast_row_awake(e, e->cycle + i)[row])
        continue;
      set_now(v, e->cycle + i);
      visit_row(v, row);
    }
  }
}

static void visit_half(FastWorker *worker, FastHalf half)
{
  const FastEngine *e = worker->engine;
  Visit v = start_visits(worker);
  if (half == HALF_INNER)
    worker->visits = 0;
  for (size_t i = 0; i < arrlenu(worker->rows[half]); i++) {
    if (e->block == 1 || half == HALF_BORDERS || e->options.shuffle)
      visit_cycles(&v, worker->rows[half][i], half);
    else
      visit_slanted(&v, worker->rows[half][i], half);
  }
}

/* ---- the end of a block ----------------------------------------------------------------- */

typedef struct { TraceEvent event; size_t order; } OrderedEvent;

static int compare_events(const void *a, const void *b)
{
  const OrderedEvent *x = a, *y = b;
  if (x->event.tile != y->event.tile)
    return x->event.tile < y->event.tile ? -1 : 1;
  return x->order < y->order ? -1 : x->order > y->order;
}

/* One worker visits tiles in order, so events are too, but for words that went to the host last. */
static void deliver_events(FastEngine *e, bool sort)
{
  OrderedEvent *ordered = NULL;
  TraceSink *sink = e->options.trace;
  for (unsigned k = 0; k < e->n_workers; k++) {
    TraceEvent *events = e->workers[k].events;
    for (size_t i = 0; i < arrlenu(events) && sort; i++)
      arrput(ordered, ((OrderedEvent){events[i], arrlenu(ordered)}));
    for (size_t i = 0; i < arrlenu(events) && !sort; i++)
      sink->event(sink, &events[i]);
    arrsetlen(e->workers[k].events, 0);
  }
  size_t n = arrlenu(ordered);
  if (n)
    qsort(ordered, n, sizeof *ordered, compare_events);
  for (size_t i = 0; i < n; i++)
    sink->event(sink, &ordered[i].event);
  arrfree(ordered);
}

static int compare_prints(const void *a, const void *b)
{
  const FastPrint *x = a, *y = b;
  if (x->cycle != y->cycle)
    return x->cycle < y->cycle ? -1 : 1;
  return x->tile < y->tile ? -1 : x->tile > y->tile;
}

/* A tile prints at most one byte per cycle. */
static void deliver_prints(FastEngine *e)
{
  FastPrint *all = e->workers[0].prints;
  for (unsigned k = 1; k < e->n_workers; k++) {
    for (size_t i = 0; i < arrlenu(e->workers[k].prints); i++)
      arrput(all, e->workers[k].prints[i]);
    arrsetlen(e->workers[k].prints, 0);
  }
  if (arrlenu(all))
    qsort(all, arrlenu(all), sizeof *all, compare_prints);
  for (size_t i = 0; i < arrlenu(all); i++)
    e->options.print(e->options.print_context, all[i].cycle, all[i].tile, all[i].byte);
  arrsetlen(all, 0);
  e->workers[0].prints = all;
}

static void do_all_chores(FastEngine *e)
{
  for (unsigned k = 0; k < e->n_workers; k++) {
    FastWorker *worker = &e->workers[k];
    size_t n = arrlenu(worker->chores);
    for (size_t i = 0; i < n; i++)
      if (arrlenu(e->chores[worker->chores[i]]))
        do_chores(worker, worker->chores[i], e->cycle + e->block);
    if (n)
      arrdeln(worker->chores, 0, n);    /* those that came up meanwhile stay */
  }
}

static void end_block(FastEngine *e)
{
  for (unsigned k = 0; k < e->n_workers; k++)
    list_waiting(e, &e->workers[k]);
  bool served = e->n_host_waiting && serve_channels(e);
  do_all_chores(e);
  for (unsigned k = 0; k < e->n_workers; k++)
    fast_join_relays(&e->workers[k]);
  deliver_prints(e);
  if (FAST_TRACED)
    deliver_events(e, served || e->n_workers > 1 || e->options.shuffle);
}
