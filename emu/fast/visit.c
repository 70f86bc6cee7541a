/* Fast engine, one step: the visits to the awake tiles, row by row. */
#include "emu/fast/step.h"

/* ---- one tile --------------------------------------------------------------------------- */

static HOT void start_tile(Visit *v, FastTile *t)
{
  v->tile = t;
  v->turn.tile = &t->core;
  v->turn.changed = v->turn.rebinds = v->inside = false;
  v->turn.router_register = 0;
  v->wake_ports = 0;
  memset(v->popped, 0, sizeof v->popped);
}

static HOT void visit(Visit *v, FastTile *t, uint32_t index)
{
  if (UNLIKELY(v->worker->account.counts))
    fast_count_as(v->worker, t);
  if (!FAST_TRACED && LIKELY(visit_stream(v, t, index)))
    return;
  start_tile(v, t);
  if (UNLIKELY(!t->set))
    fast_touch(v->worker, index);
  if (UNLIKELY(t->put_off)) {
    move_late(v, t);
    t->put_off &= PUT_OFF_WRITE;    /* its router looks for itself */
  }
  if (UNLIKELY(t->core.pending_due <= v->turn.cycle))
    tile_begin(&v->turn);
  bool issues = t->core.mem.cls && visit_tile(v);
  bool moved = visit_router(v);
  if (UNLIKELY(v->turn.router_register))
    commit_register(v);
  if (UNLIKELY(v->wake_ports == port_bit(PORT_RAMP) - 1u) && t->is_ahead)
    fast_read_again(v);
  if (UNLIKELY(v->turn.rebinds)) {
    fast_bind_queues(t);
    retry_moves(t, v->turn.cycle);
  }
  if (issues || (moved && !fast_issues_ahead(t, v->turn.cycle)))
    note_active(v);
  if (UNLIKELY(v->wake_ports))
    wake_neighbours(v);
  if (LIKELY(v->turn.changed | v->inside))
    note_change(v);
  if (t->occupied)
    put_off_slot(v, t);
  /* The cycle behind the last change is run, so that the run ends as the other engine's does. */
  if (v->turn.changed && !is_resting(t, v->turn.cycle))
    wake_next(v, index);
  else if (!sleep_until_due(v, t) && (v->turn.changed || v->inside))
    wake_next(v, index);
}

/* ---- rows ------------------------------------------------------------------------------- */

/* Order does not matter: tests run with `shuffle`, all of it backwards. */
static RARE void visit_backwards(Visit *v, uint64_t bits)
{
  v->worker->visits += bits_count(bits);
  for (unsigned bit_at = WORD_BITS; bit_at-- > 0;)
    if (bits >> bit_at & 1)
      visit(v, &v->engine->tiles[v->first + bit_at], v->first + bit_at);
}

/* With many tiles (`fetches`: run.c) most are in no cache when their turn comes, and what a visit
 * needs hangs together by pointers.  So each link is fetched a step before the next one: the tiles
 * while the row before is visited, bridges with their operations when the visits to their word
 * begin, and what the operation reads while the tile before is visited.  A visit to a tile without
 * bridges reads more, which is fetched one and two tiles before. */
static HOT void prefetch_tiles(const FastTile *first, uint64_t bits)
{
  for (; bits; bits &= bits - 1) {
    const FastTile *t = &first[__builtin_ctzll(bits)];
    __builtin_prefetch(t);
    __builtin_prefetch(&t->core.pending_due);     /* its second line */
  }
}

static HOT void prefetch_streams(const FastTile *first, uint64_t bits)
{
  for (; bits; bits &= bits - 1) {
    const FastTile *t = &first[__builtin_ctzll(bits)];
    if (!t->in && !t->out)
      continue;
    __builtin_prefetch(thread_plain(&t->core.threads[MAIN_THREAD]));
    __builtin_prefetch(t->in);
    __builtin_prefetch(t->out);
  }
}

/* Where the wavelet of a number lies. */
static HOT void prefetch_places(const FastRing *ring, uint32_t number)
{
  if (!ring)
    return;
  __builtin_prefetch(&ring->payload[number % BRIDGE_PLACES]);
  __builtin_prefetch(&ring->seen[number % BRIDGE_PLACES]);
}

static HOT void prefetch_elements(const FastTile *t)
{
  const FastPlain *p = thread_plain(&t->core.threads[MAIN_THREAD]);
  const FastBridge *in = t->in, *out = t->out;
  const uint8_t *first = mem_static(&t->core.mem) +
                         p->address[p->memory & 1u << PLAIN_DEST ? PLAIN_DEST : PLAIN_SRC0];
  __builtin_prefetch(first);
  __builtin_prefetch(first + CACHE_LINE);
  if (in)
    prefetch_places(in->ring, in->head);
  if (out)
    prefetch_places(out->ring, out->tail);
}

/* The lines of the tile with its bytes from `first` on and before `end`. */
static HOT void prefetch_part(const FastTile *t, size_t first, size_t end)
{
  for (size_t i = first / CACHE_LINE * CACHE_LINE; i < end; i += CACHE_LINE)
    __builtin_prefetch((const char *)t + i);
}

/* What a visit reads of the tile itself, beyond its first two lines: mostly neither the last
 * microthreads nor what is behind the descriptors, which tasks begin and end with. */
static HOT void prefetch_rest(const FastTile *t)
{
  enum { MANY_THREADS = 6 };
  prefetch_part(t, 2 * CACHE_LINE, offsetof(FastTile, core.threads[MANY_THREADS]));
  prefetch_part(t, offsetof(FastTile, core.issues), offsetof(FastTile, core.dsrs.map));
  prefetch_part(t, offsetof(FastTile, data_queue), sizeof *t);
}

/* Colors of a router: mostly it has no more. */
static HOT void prefetch_colors(const FastTile *t)
{
  __builtin_prefetch(t->colors);
  __builtin_prefetch((const char *)t->colors + CACHE_LINE);
}

/* What that leads to. */
static HOT void prefetch_links(const FastTile *t)
{
  prefetch_colors(t);
  for (unsigned bits = t->core.vectors; bits; bits &= bits - 1)
    __builtin_prefetch(thread_plain(&t->core.threads[__builtin_ctz(bits)]));
  for (unsigned bits = t->input_any | t->output_any; bits; bits &= bits - 1)
    __builtin_prefetch(t->queues[__builtin_ctz(bits)].at);
  if (t->is_ahead)
    fast_prefetch_ahead(t->ahead);
}

/* For the visits to these tiles, of which the first is the next one; `down`: bytes to the tile
 * below, whose router they may send to. */
static HOT void prefetch_next(const FastTile *first, uint64_t bits, ptrdiff_t down)
{
  const FastTile *next = &first[__builtin_ctzll(bits)];
  uint64_t left = bits & (bits - 1);
  if (next->in || next->out) {
    prefetch_elements(next);
    return;
  }
  prefetch_links(next);
  prefetch_colors((const FastTile *)(const void *)((const char *)next + down));
  if (!left)
    return;
  const FastTile *behind = &first[__builtin_ctzll(left)];
  prefetch_rest(behind);
  __builtin_prefetch((const char *)behind + down);
}

static HOT void visit_forwards(Visit *v, uint64_t bits)
{
  FastTile *first = &v->engine->tiles[v->first];
  bool fetches = v->engine->fetches && (bits & (bits - 1));
  ptrdiff_t down = v->row + 1 < v->engine->height ? v->engine->stride[PORT_SOUTH] : 0;
  if (fetches && v->worker->bridges)    /* those that other threads have built are not counted */
    prefetch_streams(first, bits);
  while (bits) {
    unsigned bit_at = (unsigned)__builtin_ctzll(bits);
    bits &= bits - 1;
    v->worker->visits++;
    if (bits && fetches)
      prefetch_next(first, bits, down);
    visit(v, &first[bit_at], v->first + bit_at);
  }
}

static HOT void visit_word(Visit *v, uint32_t row, uint32_t word, uint64_t bits)
{
  FastEngine *e = v->engine;
  uint32_t column = word * WORD_BITS;
  v->first = row * e->width + column;
  v->tiles = e->width - column < WORD_BITS ? e->width - column : WORD_BITS;
  v->stay = v->above = v->below = 0;
  if (UNLIKELY(e->base.options.shuffle))
    visit_backwards(v, bits);
  else
    visit_forwards(v, bits);
  if (v->stay)
    fast_wake_word(v->worker, v->turn.cycle + 1, row, word, v->stay);
  if (v->above)
    fast_wake_word(v->worker, v->turn.cycle + 1, row - 1, word, v->above);
  if (v->below)
    fast_wake_word(v->worker, v->turn.cycle + 1, row + 1, word, v->below);
}

/* The words of the map that columns lie in, and their bits of the first and of the last one. */
typedef struct { uint32_t first, last; uint64_t first_bits, last_bits; } FastWords;

static HOT FastWords words_of(FastColumns columns)
{
  uint32_t last = columns.end - 1;
  return (FastWords){columns.first / WORD_BITS, last / WORD_BITS,
                     ~UINT64_C(0) << columns.first % WORD_BITS,
                     ~UINT64_C(0) >> (WORD_BITS - 1 - last % WORD_BITS)};
}

static HOT uint64_t bits_inside(const FastWords *words, uint32_t word)
{
  uint64_t bits = word == words->first ? words->first_bits : ~UINT64_C(0);
  return word == words->last ? bits & words->last_bits : bits;
}

/* The columns of the row are visited after those that are visited next. */
static HOT void prefetch_row(const FastEngine *e, uint64_t cycle, uint32_t row,
                             const FastWords *words, unsigned parts)
{
  for (uint32_t i = next_word(parts, words->first); i <= words->last; i = next_word(parts, i + 1))
    prefetch_tiles(&e->tiles[(size_t)row * e->width + i * WORD_BITS],
                   *fast_awake(e, cycle, row, i) & bits_inside(words, i));
}

static HOT void visit_row(Visit *v, uint32_t row, const FastWords *words, unsigned awake)
{
  FastEngine *e = v->engine;
  bool backwards = e->base.options.shuffle;
  unsigned parts = backwards ? ALL_PARTS : awake;
  v->row = row;
  for (uint32_t i = next_word(parts, words->first); i <= words->last;
       i = next_word(parts, i + 1)) {
    uint32_t w = backwards ? words->last - (i - words->first) : i;
    uint64_t *word = fast_awake(e, v->turn.cycle, row, w);
    uint64_t bits = *word & bits_inside(words, w);
    if (!bits)
      continue;
    *word &= ~bits;
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

static void visit_front_rows(Visit *v, FastRows rows, FastColumns columns, bool chores)
{
  const FastEngine *e = v->engine;
  uint8_t *awake = fast_row_awake(e, v->turn.cycle);
  FastWords words = words_of(columns);
  for (uint32_t row = rows.first; row < rows.end; row++) {
    if (chores)
      row_chores(v, row, columns);
    else if ((row = next_row(awake, row, rows.end)) == rows.end)
      return;
    unsigned parts = awake[row];
    if (!parts)
      continue;
    if (e->fetches && row + 1 < rows.end)   /* not those on which another thread may be at work */
      prefetch_row(e, v->turn.cycle, row + 1, &words, awake[row + 1]);
    if (columns.end == e->width)
      awake[row] = 0;
    visit_row(v, row, &words, parts);
  }
}

/* These rows and columns, in one cycle.  With `chores`, those of each row come before its visits,
 * also those of a row at rest: they may wake it. */
static void visit_front(Visit *v, FastRows rows, FastColumns columns, bool chores)
{
  FastWorker *w = v->worker;
  uint32_t before = w->visits;
  visit_front_rows(v, rows, columns, chores);
  if (w->visits != before)
    w->visited |= 1u << (v->turn.cycle - v->engine->base.cycle);
}

/* In a block of cycles, chores wake tiles for this cycle, so they come before all visits. */
static void visit_rows(Visit *v, FastRows rows)
{
  FastColumns columns = all_columns(v->engine);
  for (uint32_t row = rows.first; v->engine->block > 1 && row < rows.end; row++)
    row_chores(v, row, columns);
  if (LIKELY(!v->engine->base.options.shuffle)) {
    visit_front(v, rows, columns, false);
    return;
  }
  for (uint32_t row = rows.end; row-- > rows.first;)
    visit_front(v, (FastRows){row, row + 1}, columns, false);
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
    set_now(v, v->engine->base.cycle + i);
    visit_rows(v, rows_in(v->engine, rows, half, i));
  }
}

/* ---- blocks of cycles ------------------------------------------------------------------- */

/* Tiles that run a cycle together, so that they are in the cache when they run the next one: as
 * many as a cache holds, since tiles of the same cycle mostly do the same, which the processor
 * learns.  Of rows with too many tiles that are awake the columns of a pane run together. */
enum { FRONT_TILES = 512, PANE_TILES = 32, PANE_LEAST = 64 };
typedef struct { uint32_t rows, columns; } FrontSize;

static FrontSize front_size(const FastEngine *e)
{
  uint32_t awake = e->own_visits / (e->own.end - e->own.first);     /* of a row, on average */
  awake = awake < e->width ? awake + !awake : e->width;
  bool is_whole = awake <= PANE_LEAST;
  FrontSize size = {FRONT_TILES / (is_whole ? awake : PANE_TILES),
                    is_whole ? e->width : PANE_TILES * e->width / awake};
  if (e->base.options.front_rows)
    size = (FrontSize){e->base.options.front_rows, e->base.options.front_columns};
  return size;
}

/* The columns that a pane has in a cycle of the block; the last panes go on beyond the row. */
static FastColumns columns_in(const FastEngine *e, FastColumns pane, unsigned cycle)
{
  uint32_t moved = cycle * BLOCK_SLANT, end = pane.end > moved ? pane.end - moved : 0;
  return (FastColumns){pane.first > moved ? pane.first - moved : 0,
                       end < e->width ? end : e->width};
}

/* The rows of a front that run in a cycle of the block. */
static FastRows front_in(const FastEngine *e, FastRows rows, FastHalf half, FastRows front,
                         unsigned cycle)
{
  FastRows now = rows_in(e, rows, half, cycle);
  uint32_t moved = cycle * BLOCK_SLANT;
  return (FastRows){front.first > now.first + moved ? front.first - moved : now.first,
                    front.end < now.end + moved ? front.end - moved : now.end};
}

/* The block of some columns, front by front: each runs a cycle as soon as the two rows below it
 * have run the one before. */
static void visit_pane(Visit *v, FastRows rows, FastHalf half, FastColumns pane, uint32_t step)
{
  const FastEngine *e = v->engine;
  uint32_t end = rows.end + (e->block - 1) * BLOCK_SLANT;
  for (FastRows front = {rows.first, rows.first + step}; front.first < end;
       front = (FastRows){front.end, front.end + step}) {
    for (unsigned i = 0; i < e->block && rows.first + i * BLOCK_SLANT < front.end; i++) {
      FastColumns columns = columns_in(e, pane, i);
      set_now(v, e->base.cycle + i);
      if (columns.first < columns.end)
        visit_front(v, front_in(e, rows, half, front, i), columns, true);
    }
  }
}

/* A visit looks at and changes the tile itself and those beside it, nothing else.  So visits that
 * concern the same tile come in the order that they would have if all tiles had run one cycle after
 * the other: fronts and panes are slanted, by two tiles in each cycle. */
static void visit_slanted(Visit *v, FastRows rows, FastHalf half)
{
  const FastEngine *e = v->engine;
  FrontSize size = front_size(e);
  uint32_t end = e->width + (e->block - 1) * BLOCK_SLANT;
  uint32_t step = size.columns < e->width ? size.columns : end;
  for (uint32_t first = 0; first < end; first += step)
    visit_pane(v, rows, half, (FastColumns){first, first + step}, size.rows);
}

static void visit_strip(Visit *v, FastRows rows, FastHalf half)
{
  const FastEngine *e = v->engine;
  if (e->block == 1 || half == HALF_BORDERS || e->base.options.shuffle)
    visit_cycles(v, rows, half);
  else
    visit_slanted(v, rows, half);
}

/* ---- cycles with few visits --------------------------------------------------------------- */

enum {
  FEW_VISITS = 32,              /* fewer in a cycle take less time than the end of a block */
  ON_MOST = 4096,               /* cycles until the run looks whether it is interrupted */
};

/* Cycles before this one need no end of a block, as far as can be known before they run. */
static uint64_t first_end(const FastEngine *e)
{
  const EngineOptions *options = &e->base.options;
  uint64_t now = e->base.cycle, end = e->limit - now < ON_MOST ? e->limit : now + ON_MOST;
  if (e->block > 1 || e->visits >= FEW_VISITS || options->peers || options->links ||
      (FAST_TRACED && options->trace) || options->switches)
    return now;
  for (unsigned k = 1; k < e->n_workers; k++)
    if (fast_leaves_work(&e->workers[k]) || arrlenu(e->workers[k].host_calls))
      return now;
  uint64_t others = fast_workers_due(e, 1);
  return others < end ? others : end;
}

/* The worker for all of them, without peers. */
static void visit_all_rows(Visit *v)
{
  FastEngine *e = v->engine;
  for (unsigned k = 0; k < e->n_workers; k++)
    e->workers[k].visits = e->workers[k].visited = 0;
  visit_strip(v, e->own, HALF_INNER);
}

/* A cycle in which only tiles that the worker has woken itself are awake, or none. */
static void visit_due_rows(Visit *v, uint64_t cycle, bool is_awake)
{
  v->engine->base.cycle = cycle;
  v->worker->visits = 0;
  set_now(v, cycle);
  if (is_awake)
    visit_rows(v, v->worker->due_rows[cycle % CALENDAR]);
}

/* The block; or cycle after cycle, as long as none has many visits or leaves work for the end of a
 * block, and before `end`: the last one is the block then, and its end serves the host. */
static void visit_on(Visit *v)
{
  FastEngine *e = v->engine;
  FastWorker *w = v->worker;
  uint64_t end = first_end(e);
  visit_all_rows(v);
  while (e->base.cycle + 1 < end && w->visits < FEW_VISITS && !fast_leaves_work(w)) {
    if (arrlenu(w->host_calls) | e->n_host_waiting)
      serve_host(w);
    fast_forget_due(w, e->base.cycle);
    /* A channel had its turn in this cycle, even if it could take a word more by its rate. */
    uint64_t later = e->base.cycle + 1, channel = fast_channel_due(e);
    uint64_t awake = fast_next_awake(w, later), soonest = channel < awake ? channel : awake;
    uint64_t next = soonest > later ? soonest : later;
    if (next >= end || fast_next_timer(w) <= next)
      break;
    visit_due_rows(v, next, next == awake);
  }
}

static void visit_half(FastWorker *worker, FastHalf half)
{
  Visit v = start_visits(worker);
  if (half == HALF_INNER)
    worker->visits = worker->visited = 0;
  if (half == HALF_ALL)
    visit_on(&v);
  for (size_t i = 0; half != HALF_ALL && i < arrlenu(worker->rows[half]); i++)
    visit_strip(&v, worker->rows[half][i], half);
  fast_count_as(worker, NULL);
}

/* After the other rows, if there are peers. */
static void visit_edges(FastWorker *worker) { run_edges(worker, visit_rows); }

const FastStep FAST_STEP = {visit_half, visit_edges, end_block};
