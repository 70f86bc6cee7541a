/* Fast engine, one step: the rows where this process' part of the fabric ends.
 *
 * With peers the engine runs the rows `own` only.  It keeps copies of the tiles in the row beside
 * each edge, ghosts: their routers are as the peer's are at the start of a cycle, so visits look at
 * them and send to them as to any neighbour.  After a cycle both peers pack what it has changed at
 * the edge and swap that: colors of the tiles that were visited, wavelets that were sent across,
 * tiles to wake.  A color is sent as it was without the wavelets from across; the receiver puts
 * those that it has sent itself on top, and so does the sender with those that it gets.  Visits do
 * not depend on their order, so the result is the same as with one process.
 *
 * Within a block the inner rows run first (HALF_INNER); then the rows at the edges run cycle by
 * cycle.  Tiles of the rows at an edge have no bridges. */
#include "emu/fast/step.h"

#include "stb_ds.h"

#include <stdlib.h>

typedef enum { EDGE_WAKE, EDGE_COLOR, EDGE_CONFIG, EDGE_WAVELET } EdgeKind;

/* What follows depends on the kind: nothing, an EdgeColor, a RouterConfig, a FastWavelet. */
typedef struct { uint32_t tile; uint8_t kind, slot; uint16_t bytes; } EdgeRecord;
typedef struct { FastWavelet w[FAST_SLOTS]; uint16_t open, route; } EdgeColor;

/* The ports by which wavelets leave at each edge. */
static const Port edge_port[2] = {PORT_NORTH, PORT_SOUTH};

struct FastEdges {
  unsigned char *to[2], *from[2];       /* stb_ds: what is swapped */
  uint64_t *visited[2];         /* tiles of the rows that the cycle has visited, a bit each */
};

/* ---- where they are ----------------------------------------------------------------------- */

/* Edge 0 is in the north, 1 in the south. */
static bool has_edge(const FastEngine *e, unsigned edge)
{
  return edge == 0 ? e->own.first > 0 && e->own.first < e->own.end
                   : e->own.end < e->height && e->own.first < e->own.end;
}

static uint32_t edge_row(const FastEngine *e, unsigned edge)
{
  return edge == 0 ? e->own.first : e->own.end - 1;
}

static uint32_t ghost_row(const FastEngine *e, unsigned edge)
{
  return edge == 0 ? e->own.first - 1 : e->own.end;
}

/* Ghosts are there from the start: a peer's tile may wait for one of ours before it has ever sent
 * anything. */
STEP void edges_create(FastEngine *e)
{
  if (!e->base.options.peers)
    return;
  e->edges = base_malloc(sizeof *e->edges);
  *e->edges = (struct FastEdges){0};
  for (unsigned edge = 0; edge < 2; edge++) {
    if (!has_edge(e, edge))
      continue;
    e->edges->visited[edge] = base_malloc(e->row_words * sizeof(uint64_t));
    arrsetcap(e->edges->to[edge], 1);
    for (uint32_t x = 0; x < e->width; x++)
      fast_touch(e->workers, ghost_row(e, edge) * e->width + x);
  }
}

STEP void edges_destroy(FastEngine *e)
{
  for (unsigned edge = 0; e->edges && edge < 2; edge++) {
    free(e->edges->visited[edge]);
    arrfree(e->edges->to[edge]);
    arrfree(e->edges->from[edge]);
  }
  free(e->edges);
}

/* ---- packing ------------------------------------------------------------------------------ */

static void pack(unsigned char **bytes, EdgeRecord record, const void *what, size_t n)
{
  record.bytes = (uint16_t)n;
  memcpy(arraddnptr(*bytes, sizeof record), &record, sizeof record);
  if (n)
    memcpy(arraddnptr(*bytes, n), what, n);
}

static bool color_changed(const FastColor *c, uint64_t cycle)
{
  return c->stamp == (uint32_t)cycle;
}

static void pack_color(const FastTile *t, unsigned slot, unsigned char **to)
{
  const FastColor *c = &t->colors[slot];
  EdgeColor color = {.open = c->open, .route = c->route};
  memcpy(color.w, c->w, sizeof color.w);
  if (t->own && t->own->config[slot])
    pack(to, (EdgeRecord){t->core.index, EDGE_CONFIG, (uint8_t)slot, 0}, t->own->config[slot],
         sizeof *t->own->config[slot]);
  pack(to, (EdgeRecord){t->core.index, EDGE_COLOR, (uint8_t)slot, 0}, &color, sizeof color);
}

/* Colors that the cycle has changed in tiles of the row; `visited`: bits of those that were awake.
 * A tile whose neighbours have changed it is awake in the next cycle. */
static void pack_colors(const FastEngine *e, uint64_t cycle, uint32_t row, const uint64_t *visited,
                        unsigned char **to)
{
  for (uint32_t word = 0; word < e->row_words; word++) {
    uint64_t woken = *fast_awake(e, cycle + 1, row, word);
    for (uint64_t bits = visited[word] | woken; bits; bits &= bits - 1) {
      uint32_t column = word * WORD_BITS + (unsigned)__builtin_ctzll(bits);
      const FastTile *t = &e->tiles[row * e->width + column];
      for (unsigned slot = 0; t->set && slot < t->set->n; slot++)
        if (color_changed(&t->colors[slot], cycle))
          pack_color(t, slot, to);
    }
  }
}

/* The wavelet that came to the color in this cycle: the newest one, since only one link leads
 * there. */
static FastWavelet newest_wavelet(const FastEngine *e, const FastTile *t, unsigned slot)
{
  const FastColor *c = &t->colors[slot];
  unsigned count = color_count(c);
  if (count <= FAST_SLOTS)
    return c->w[count - 1];
  for (size_t i = arrlenu(e->spills); i-- > 0;)
    if (e->spills[i].tile == t->core.index && e->spills[i].slot == slot)
      return e->spills[i].wavelet;
  ICE("a wavelet for a peer is lost");
}

/* What the cycle has sent to a ghost: it wakes the tile, too. */
static void pack_ghost(const FastEngine *e, uint64_t cycle, const FastTile *t, unsigned char **to)
{
  pack(to, (EdgeRecord){t->core.index, EDGE_WAKE, 0, 0}, NULL, 0);
  for (unsigned slot = 0; slot < t->set->n; slot++) {
    const FastColor *c = &t->colors[slot];
    if (!color_changed(c, cycle) || !(c->saved >> ARRIVALS_SHIFT))
      continue;
    FastWavelet w = newest_wavelet(e, t, slot);
    pack(to, (EdgeRecord){t->core.index, EDGE_WAVELET, (uint8_t)slot, 0}, &w, sizeof w);
  }
}

/* Ghosts that are to be awake in the next cycle; here they never are. */
static void pack_ghosts(FastEngine *e, uint64_t cycle, uint32_t row, unsigned char **to)
{
  if (!fast_row_awake(e, cycle + 1)[row])
    return;
  fast_row_awake(e, cycle + 1)[row] = 0;
  for (uint32_t word = 0; word < e->row_words; word++) {
    for (uint64_t *woken = fast_awake(e, cycle + 1, row, word); *woken; *woken &= *woken - 1) {
      uint32_t column = word * WORD_BITS + (unsigned)__builtin_ctzll(*woken);
      pack_ghost(e, cycle, &e->tiles[row * e->width + column], to);
    }
  }
}

/* ---- unpacking ---------------------------------------------------------------------------- */

/* Visits every record; returns the next one, or NULL at the end. */
static const unsigned char *next_record(const unsigned char *bytes, const unsigned char *at,
                                        EdgeRecord *record)
{
  if (at == bytes + arrlenu(bytes))
    return NULL;
  memcpy(record, at, sizeof *record);
  return at + sizeof *record + record->bytes;
}

static void forget_spills(FastEngine *e, uint32_t tile, unsigned slot)
{
  for (size_t i = arrlenu(e->spills); i-- > 0;)
    if (e->spills[i].tile == tile && e->spills[i].slot == slot)
      arrdel(e->spills, i);
}

/* The peer's color, without what was sent to it in this cycle. */
static void update_ghost(Visit *v, FastTile *t, unsigned slot, const void *from)
{
  FastColor *c = &t->colors[slot];
  EdgeColor color;
  memcpy(&color, from, sizeof color);
  memcpy(c->w, color.w, sizeof c->w);
  c->open = color.open;
  c->route = color.route;
  c->stamp = (uint32_t)v->turn.cycle - 1;
  if (UNLIKELY(arrlenu(v->engine->spills)))
    forget_spills(v->engine, t->core.index, slot);
}

/* The wavelets that this process has sent in the cycle, on top of what the peer said of the
 * colors: those of colors that it did not mention are there. */
static void send_again(Visit *v, const unsigned char *sent, unsigned enters)
{
  EdgeRecord record;
  const unsigned char *next;
  for (const unsigned char *at = sent; (next = next_record(sent, at, &record)); at = next) {
    if (record.kind != EDGE_WAVELET)
      continue;
    FastTile *t = &v->engine->tiles[record.tile];
    FastWavelet w;
    memcpy(&w, at + sizeof record, sizeof w);
    if (!color_changed(&t->colors[record.slot], v->turn.cycle))
      slot_push(v, t, record.slot, w, enters);
  }
}

static void wake_own(Visit *v, uint32_t tile)
{
  if (!v->engine->tiles[tile].set)
    return;
  retry_moves(&v->engine->tiles[tile], v->turn.cycle);
  fast_wake(v->worker, tile, v->turn.cycle + 1);
}

static void take_wavelet(Visit *v, uint32_t tile, unsigned slot, const void *from, unsigned enters)
{
  FastTile *t = fast_touch(v->worker, tile);
  FastWavelet w;
  memcpy(&w, from, sizeof w);
  slot_push(v, t, slot, w, enters);
  fast_wake(v->worker, tile, v->turn.cycle + 1);
}

static void unpack(Visit *v, const unsigned char *bytes, unsigned enters)
{
  EdgeRecord record;
  const unsigned char *next;
  for (const unsigned char *at = bytes; (next = next_record(bytes, at, &record)); at = next) {
    const void *what = at + sizeof record;
    FastTile *t = &v->engine->tiles[record.tile];
    switch ((EdgeKind)record.kind) {
    case EDGE_WAKE: wake_own(v, record.tile); break;
    case EDGE_COLOR: update_ghost(v, t, record.slot, what); break;
    case EDGE_CONFIG:
      memcpy(fast_own_config(v->worker, t, record.slot), what, sizeof(RouterConfig));
      break;
    case EDGE_WAVELET: take_wavelet(v, record.tile, record.slot, what, enters); break;
    }
  }
}

/* ---- the cycles of a block ---------------------------------------------------------------- */

/* The rows that are still to run in the cycle of the block; the southern ones leave out what the
 * northern ones have, in a part of few rows. */
static FastRows edge_rows(const FastEngine *e, unsigned edge, unsigned cycle)
{
  uint32_t rows = 1 + cycle * BLOCK_SLANT, all = e->own.end - e->own.first;
  rows = rows < all ? rows : all;
  if (edge == 0)
    return (FastRows){e->own.first, e->own.first + rows};
  uint32_t first = e->own.end - rows;
  uint32_t taken = has_edge(e, 0) ? edge_rows(e, 0, cycle).end : e->own.first;
  return (FastRows){first < taken ? taken : first, e->own.end};
}

static void note_visited(FastEngine *e, uint64_t cycle)
{
  for (unsigned edge = 0; edge < 2; edge++)
    for (uint32_t word = 0; has_edge(e, edge) && word < e->row_words; word++)
      e->edges->visited[edge][word] = *fast_awake(e, cycle, edge_row(e, edge), word);
}

static void swap_edges(Visit *v)
{
  FastEngine *e = v->engine;
  struct FastEdges *edges = e->edges;
  uint64_t cycle = v->turn.cycle;
  v->tiles = 0;                 /* no word of the map is being visited */
  for (unsigned edge = 0; edge < 2; edge++) {
    arrsetlen(edges->to[edge], 0);
    if (!has_edge(e, edge))
      continue;
    pack_colors(e, cycle, edge_row(e, edge), edges->visited[edge], &edges->to[edge]);
    pack_ghosts(e, cycle, ghost_row(e, edge), &edges->to[edge]);
  }
  e->base.options.peers->swap(e->base.options.peers, edges->to, edges->from);
  for (unsigned edge = 0; edge < 2; edge++) {
    if (!has_edge(e, edge))
      continue;
    unpack(v, edges->from[edge], edge_port[edge]);
    send_again(v, edges->to[edge], port_opposite(edge_port[edge]));
  }
}

STEP void run_edges(FastWorker *worker, void (*run_rows)(Visit *v, FastRows rows))
{
  FastEngine *e = worker->engine;
  Visit v = start_visits(worker);
  for (unsigned i = 0; i < e->block; i++) {
    set_now(&v, e->base.cycle + i);
    note_visited(e, v.turn.cycle);
    for (unsigned edge = 0; edge < 2; edge++)
      if (has_edge(e, edge))
        run_rows(&v, edge_rows(e, edge, i));
    swap_edges(&v);
  }
}
