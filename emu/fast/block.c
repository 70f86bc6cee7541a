/* Fast engine: the work after a block of cycles, for all tiles: the host, hazards, events; and what
 * a cycle leaves to do in a row. */
#include "emu/fast/step.h"

#include "stb_ds.h"

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

/* A word of the tile leaves for the host: by the process that runs the tile. */
static void give_to_host(FastWorker *worker, uint32_t index)
{
  FastEngine *e = worker->engine;
  FastTile *t = &e->tiles[index];
  Visit v = start_visits(worker);
  v.tile = t;
  v.turn.tile = &t->core;
  if (!t->host)
    t->host = fast_alloc(v.worker, sizeof *t->host, _Alignof(HostPort));
  for (unsigned bits = t->output_any; bits; bits &= bits - 1) {
    unsigned queue = (unsigned)__builtin_ctz(bits);
    FastWavelet w = *output_at(&t->queues[queue], 0);
    if (!wavelet_seen(w.meta, v.turn.cycle) || !step_is_host_color(&v, wavelet_field(w.meta)))
      continue;
    output_pop(&v, queue);
    EVENT(&v, .kind = EV_HOST_OUT, .color = wavelet_field(w.meta), .queue = (uint8_t)queue,
          .payload = w.payload);
    arrput(t->host->sent, ((HostWord){v.turn.cycle, w.payload, wavelet_field(w.meta)}));
    break;
  }
  if (e->base.options.peers)
    e->base.options.peers->sent(e->base.options.peers, index);
  note_change(&v);
  fast_wake(v.worker, index, v.turn.cycle + 1);
}

static void list_waiting(FastEngine *e, const uint32_t *tiles)
{
  for (size_t i = 0; i < arrlenu(tiles); i++) {
    uint32_t tile = tiles[i];
    uint64_t *word = &e->host_waiting[tile / WORD_BITS], mask = UINT64_C(1) << tile % WORD_BITS;
    if (*word & mask)
      continue;
    *word |= mask;
    e->n_host_waiting++;
    e->channels[program_channel(e->base.program, tile)].waiting++;
  }
}

/* Peers keep the same list: whose turn it is depends on all tiles. */
static void list_all_waiting(FastEngine *e)
{
  uint32_t *tiles = e->workers[0].host_calls;
  for (unsigned k = 1; k < e->n_workers; k++) {
    for (size_t i = 0; i < arrlenu(e->workers[k].host_calls); i++)
      arrput(tiles, e->workers[k].host_calls[i]);
    arrsetlen(e->workers[k].host_calls, 0);
  }
  if (e->hosted || e->base.program->host_out_colors)
    fast_peers_gather(e, &tiles, sizeof *tiles, true);
  list_waiting(e, tiles);
  arrsetlen(tiles, 0);
  e->workers[0].host_calls = tiles;
}

static bool is_own_tile(const FastEngine *e, uint32_t tile)
{
  uint32_t row = tile / e->width;
  return row >= e->own.first && row < e->own.end;
}

/* The worker of the tile's row: its events come first. */
static FastWorker *worker_of(FastEngine *e, uint32_t tile)
{
  return &e->workers[e->row_worker[tile / e->width]];
}

/* Each free channel takes a word from the next of its tiles, in cyclic order, that has one.
 * `worker`: visits all rows; NULL: none does. */
static void serve_channels(FastEngine *e, FastWorker *worker)
{
  for (unsigned i = 0; i < e->n_channels; i++) {
    FastChannel *channel = &e->channels[i];
    if (!channel->waiting ||
        !host_out_is_free(&channel->out, e->timing, e->base.cycle))
      continue;
    uint32_t from = channel->out.last_tile + 1;
    if (from < channel->first || from >= channel->end)
      from = channel->first;
    uint32_t tile = next_waiting(e, from, channel->end);
    if (tile == (uint32_t)NO_TILE)
      tile = next_waiting(e, channel->first, from);
    channel->waiting--;
    host_out_serve(&channel->out, e->timing, e->base.cycle, tile);
    e->host_waiting[tile / WORD_BITS] &= ~(UINT64_C(1) << tile % WORD_BITS);
    e->n_host_waiting--;
    e->hosted = true;
    if (is_own_tile(e, tile))
      give_to_host(worker ? worker : worker_of(e, tile), tile);
  }
}

/* What the end of a block does for the host, after a cycle in which the worker has visited all
 * rows, without peers. */
STEP void serve_host(FastWorker *worker)
{
  FastEngine *e = worker->engine;
  list_waiting(e, worker->host_calls);
  arrsetlen(worker->host_calls, 0);
  if (e->n_host_waiting)
    serve_channels(e, worker);
}

/* ---- links to other fabrics ---------------------------------------------------------------- */

static unsigned link_slot(const FastEngine *e, uint32_t tile, uint8_t color, Port port)
{
  uint8_t inside = program_color_inside(e->base.program, tile, color, port);
  return e->sets[e->base.program->image->tile_colors[tile]].slot_of[inside];
}

/* As LinkAccepts: at the start of the cycle. */
STEP bool step_link_accepts(const Engine *base, uint32_t tile, uint8_t color, Port port)
{
  const FastEngine *e = (const FastEngine *)base;
  Visit v = {.turn.cycle = e->base.cycle, .engine = (FastEngine *)(uintptr_t)e};
  return link_accepts(&v, &e->tiles[tile], link_slot(e, tile, color, port), port_opposite(port));
}

/* Words that have arrived enter, as those of neighbours did in this cycle; blocks are of one. */
static void take_links(FastEngine *e)
{
  EngineLinks *links = e->base.options.links;
  for (size_t i = 0; i < arrlenu(links->gates); i++) {
    LinkGate *gate = &links->gates[i];
    LinkIn *in = links_entering(gate, &e->base, e->base.cycle, step_link_accepts);
    if (!in)
      continue;
    LinkWord word = links_enter(gate, in, e->base.cycle);
    Visit v = start_visits(worker_of(e, gate->tile));
    FastTile *t = fast_touch(v.worker, gate->tile);
    slot_push(&v, t, link_slot(e, gate->tile, in->color, gate->port),
              (FastWavelet){word.payload, word.control ? META_CONTROL : 0}, gate->port);
    note_change(&v);
    fast_wake(v.worker, gate->tile, v.turn.cycle + 1);
  }
}

/* ---- chores of a row ----------------------------------------------------------------------- */

/* With those of a pane come the chores of the tiles beside its last column, and not those of its
 * first one. */
static bool is_chore_in(FastColumns columns, uint32_t column)
{
  return (!columns.first || column > columns.first) && column <= columns.end;
}

/* What the cycles before `now` have left to do.  More may come up meanwhile, for the next cycle. */
static RARE void do_chores(FastWorker *worker, uint32_t row, uint64_t now, FastColumns columns)
{
  FastEngine *e = worker->engine;
  size_t kept = 0;
  for (size_t i = 0; i < arrlenu(e->chores[row]); i++) {
    FastChore chore = e->chores[row][i];
    if (chore.cycle >= now || !is_chore_in(columns, chore.tile % e->width))
      e->chores[row][kept++] = chore;
    else if (chore.kind == CHORE_MEETING)
      settle_meeting(worker, &chore);
    else
      fast_part(worker, &e->tiles[chore.tile], now - 1);
  }
  arrsetlen(e->chores[row], kept);
}

/* Those of the row below, too: bridges between the two go while both are at the same cycle. */
STEP HOT void row_chores(const Visit *v, uint32_t row, FastColumns columns)
{
  FastEngine *e = v->engine;
  for (uint32_t i = row; i < row + 2 && i < e->height; i++)
    if (UNLIKELY(arrlenu(e->chores[i])))
      do_chores(v->worker, i, v->turn.cycle, columns);
}

/* ---- the end of a block ----------------------------------------------------------------- */

static void deliver_events(FastEngine *e)
{
  TraceEvent *all = e->workers[0].log.events;
  for (unsigned k = 1; k < e->n_workers; k++) {
    for (size_t i = 0; i < arrlenu(e->workers[k].log.events); i++)
      arrput(all, e->workers[k].log.events[i]);
    arrsetlen(e->workers[k].log.events, 0);
  }
  fast_peers_gather(e, &all, sizeof *all, false);
  engine_deliver_events(e->base.options.trace ? e->base.options.trace : e->base.options.switches,
                        all);
  arrsetlen(all, 0);
  e->workers[0].log.events = all;
}

static void do_all_chores(FastEngine *e)
{
  for (unsigned k = 0; k < e->n_workers; k++) {
    FastWorker *worker = &e->workers[k];
    size_t n = arrlenu(worker->chores);
    for (size_t i = 0; i < n; i++)
      if (arrlenu(e->chores[worker->chores[i]]))
        do_chores(worker, worker->chores[i], e->base.cycle + e->block,
                  all_columns(e));
    if (n)
      arrdeln(worker->chores, 0, n);    /* those that came up meanwhile stay */
  }
}

STEP void end_block(FastEngine *e)
{
  list_all_waiting(e);
  if (e->n_host_waiting)
    serve_channels(e, NULL);
  if (e->base.options.links)
    take_links(e);
  do_all_chores(e);
  for (unsigned k = 0; !FAST_TRACED && k < e->n_workers; k++)
    fast_join_late(&e->workers[k]);
  if ((FAST_TRACED && e->base.options.trace) || e->base.options.switches)
    deliver_events(e);
}
