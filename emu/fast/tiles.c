/* Fast engine: tiles, and memory for what they need. */
#include "emu/fast/step.h"
#include "ir/base/platform.h"

#include "stb_ds.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { SLAB_BYTES = 1 << 21, LINE_BYTES = 64, COLOR_ALIGN = 32, WORD_ALIGN = 16 };

/* ---- sizes ------------------------------------------------------------------------------- */

/* Idle and active state of a tile, beyond its memory (docs/architecture.md). */
enum { FAST_IDLE_BYTES = 1024, FAST_ACTIVE_BYTES = 4096 };

_Static_assert(sizeof(FastColor) <= 32, "two colors share a cache line");
_Static_assert(sizeof(FastPlain) <= 64, "one cache line");
_Static_assert(offsetof(FastTile, core.pending_due) <= 64, "the first line is full, no more");
_Static_assert(offsetof(FastTile, core.threads) + sizeof(Thread) <= 128, "the second likewise");
_Static_assert(sizeof(FastTile) <= FAST_IDLE_BYTES, "an idle tile stays within its bound");
/* With a line more, a wafer at work would take more than 1.5 GB (tests/claims/speed_wafer.py). */
_Static_assert(sizeof(FastTile) <= 13 * LINE_BYTES, "a wafer stays within its bound");
/* A tile at work: every color configured, three operations that run or what the main thread has
 * done ahead in place of one of them, six numbers of queues, eight descriptors.  Bridges are for
 * tiles with one operation. */
_Static_assert(sizeof(FastTile) + MAX_COLORS * sizeof(FastColor) + 3 * sizeof(FastWork) +
                       8 * sizeof(DsrState) + 96 * sizeof(FastWavelet) <= FAST_ACTIVE_BYTES,
               "an active tile stays within its bound");

/* ---- memory ----------------------------------------------------------------------------- */

/* Zeroed memory whose pages are taken only when they are written. */
void *fast_reserve(size_t bytes)
{
  void *pages = platform_reserve(bytes);
  if (!pages)
    base_out_of_memory(bytes, "the tiles");
  return pages;
}

/* A piece that can be used again holds the address of the next one.  Its bytes have no type till
 * then. */
typedef struct FreePiece { struct FreePiece *next; } FreePiece;

/* Slabs for pieces that stay as long as the engine lives, and pieces to be used again. */
struct FastPool {
  char **slabs;                 /* stb_ds */
  size_t used;                  /* of the last slab */
  FreePiece *free[PIECE_KINDS];
};

static struct FastPool *pool_of(FastWorker *w)
{
  if (!w->pool) {
    w->pool = base_malloc(sizeof *w->pool);
    *w->pool = (struct FastPool){0};
  }
  return w->pool;
}

void *fast_alloc(FastWorker *w, size_t bytes, size_t align)
{
  struct FastPool *pool = pool_of(w);
  pool->used = (pool->used + align - 1) & -align;      /* a power of two */
  if (bytes > SLAB_BYTES)
    ICE("a piece of %zu bytes does not fit a slab", bytes);
  if (arrlenu(pool->slabs) == 0 || pool->used + bytes > SLAB_BYTES) {
    char *slab = fast_reserve(SLAB_BYTES);
    arrput(pool->slabs, slab);
    pool->used = 0;
  }
  void *piece = arrlast(pool->slabs) + pool->used;
  pool->used += bytes;
  return piece;
}

void *fast_piece_alloc(FastWorker *w, FastPiece kind)
{
  static const size_t bytes[PIECE_KINDS] = {
    [PIECE_WORK] = sizeof(FastWork), [PIECE_BRIDGE] = sizeof(FastBridge),
    [PIECE_RING] = sizeof(FastRing),
  };
  FreePiece **first = &pool_of(w)->free[kind], *piece = *first;
  if (!piece)
    return fast_alloc(w, bytes[kind], LINE_BYTES);
  *first = piece->next;
  return piece;
}

void fast_piece_free(FastWorker *w, FastPiece kind, void *bytes)
{
  FreePiece **first = &pool_of(w)->free[kind], *piece = bytes;
  piece->next = *first;
  *first = piece;
}

/* One more than the capacity: a router and the host may push in one cycle, both judging by the
 * count at its start. */
static unsigned places(unsigned capacity)
{
  return capacity < QUEUE_FEW ? QUEUE_FEW + 1 : capacity + 1;
}

/* Gives both queues of a number `most` places, or as many as each may ever need. */
static void give_places(FastWorker *w, FastQueues *queues, unsigned number, unsigned most)
{
  FastQueue *in = &queues->input, *out = &queues->output;
  unsigned before = in->places > out->places ? in->places : out->places;
  unsigned all_in = places(w->engine->input_capacity[number]);
  unsigned all_out = places(w->engine->output_capacity[number]);
  in->places = (uint8_t)(all_in < most ? all_in : most);
  out->places = (uint8_t)(all_out < most ? all_out : most);
  unsigned n = in->places > out->places ? in->places : out->places;
  if (n <= before)
    ICE("a queue holds more wavelets than it has places");
  queues->at = fast_alloc(w, n * QUEUE_STEP * sizeof *queues->at, LINE_BYTES);
}

static void move_wavelets(const FastQueues *from, FastQueues *to)
{
  for (unsigned i = 0; i < from->input.count; i++)
    *input_at(to, i) = *input_at(from, i);
  for (unsigned i = 0; i < from->output.count; i++)
    *output_at(to, i) = *output_at(from, i);
}

/* Most queues never hold more than a few wavelets, for which one cache line is enough. */
void fast_queues_widen(FastWorker *w, FastQueues *queues, unsigned number)
{
  FastQueues before = *queues;
  bool is_first = !before.at;
  give_places(w, queues, number,
              is_first ? LINE_BYTES / (QUEUE_STEP * sizeof(FastWavelet)) : UINT8_MAX);
  move_wavelets(&before, queues);
}

/* ---- tiles ------------------------------------------------------------------------------ */

static void load_colors(FastWorker *w, FastTile *t)
{
  const FastSet *set = t->set;
  size_t each = sizeof *t->colors + (set->switches ? sizeof(SwitchMove) : 0) +
                (set->filters ? sizeof(FilterState) : 0);
  t->colors = set->n ? fast_alloc(w, set->n * each, COLOR_ALIGN) : NULL;
  for (unsigned slot = 0; slot < set->n; slot++) {
    const ImageColorConfig *config = set->config[slot];
    FastColor *c = &t->colors[slot];
    c->route = (config->filter.kind != FILTER_NONE ? ROUTE_FILTERED : 0) |
               (config->teardown ? ROUTE_SUSPENDED : 0);
    color_set(c, config, config->current, config->current);
    c->stamp = (uint32_t)w->engine->base.cycle - 1;      /* of no cycle to come */
    if (set->switches)
      color_moves(t)[slot] = (SwitchMove){0};
    if (set->filters)
      color_filters(t)[slot] = filter_start(&config->filter);
    memset(c->next, NO_SLOT, sizeof c->next);
  }
}

FastOwn *fast_own_registers(FastWorker *w, FastTile *t)
{
  size_t bytes = sizeof *t->own + t->set->n * sizeof *t->own->config;
  if (!t->own)
    t->own = fast_alloc(w, bytes, _Alignof(FastOwn));
  return t->own;
}

RouterConfig *fast_own_config(FastWorker *w, FastTile *t, unsigned slot)
{
  RouterConfig **config = &fast_own_registers(w, t)->config[slot];
  if (!*config) {
    *config = fast_alloc(w, sizeof **config, _Alignof(RouterConfig));
    router_config_copy(*config, t->set->config[slot]);
  }
  return *config;
}

static void load_program(FastWorker *w, FastTile *t)
{
  const Program *program = w->engine->base.program;
  const ClassCode *cls = program_class(program, t->core.index);
  t->core.mem.cls = cls;
  mem_lend(program, t->core.index, &t->core.mem,
           fast_alloc(w, mem_compact_bytes(cls), WORD_ALIGN));
  tile_load(&t->core, program, t->core.index);
}

void fast_bind_queues(FastTile *t)
{
  registers_settle(&t->core.registers);
  static const uint8_t none[MAX_COLORS] = {[0 ... MAX_COLORS - 1] = NO_QUEUE};
  const QueueBindings *queues = t->core.registers.queues;
  const ClassCode *cls = t->core.mem.cls;
  t->data_queue = !cls ? none : queues ? queues->arrives : cls->image->data_queue;
}

FastTile *fast_touch(FastWorker *w, uint32_t index)
{
  FastEngine *e = w->engine;
  FastTile *t = &e->tiles[index];
  if (t->set)
    return t;
  arrput(w->touched, index);
  t->core.index = index;
  t->set = &e->sets[e->base.program->image->tile_colors[index]];
  t->first_slot = MAX_COLORS - 1;           /* so that slot 0 is visited first */
  t->last_ramp_queue = MAX_QUEUES - 1;
  load_colors(w, t);
  if (program_class(e->base.program, index))
    load_program(w, t);
  else
    tile_load(&t->core, e->base.program, index);
  fast_bind_queues(t);
  return t;
}

static void free_tile(FastTile *t)
{
  tile_unload(&t->core);
  if (t->host)
    host_port_free(t->host);
}

static void free_pool(struct FastPool *pool)
{
  for (size_t i = 0; i < arrlenu(pool->slabs); i++)
    platform_release(pool->slabs[i], SLAB_BYTES);
  arrfree(pool->slabs);
  free(pool);
}

static void free_worker(FastWorker *w)
{
  if (w->pool)
    free_pool(w->pool);
  for (unsigned half = 0; half < HALVES; half++)
    arrfree(w->rows[half]);
  free(w->known);
  arrfree(w->touched);
  arrfree(w->timers);
  arrfree(w->log.faults);
  arrfree(w->log.events);
  arrfree(w->log.prints);
  arrfree(w->host_calls);
  arrfree(w->chores);
  arrfree(w->joins);
  arrfree(w->retries);
}

void fast_tiles_destroy(FastEngine *e)
{
  for (unsigned k = 0; k < e->n_workers; k++)
    for (size_t i = 0; i < arrlenu(e->workers[k].touched); i++)
      free_tile(&e->tiles[e->workers[k].touched[i]]);
  for (unsigned k = 0; k < e->n_workers; k++)
    free_worker(&e->workers[k]);
  platform_release(e->tiles, (size_t)e->n_tiles * sizeof *e->tiles);
}
