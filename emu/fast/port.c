/* Fast engine, one step: what a tile finds in this engine: its queues, its operations, its router's
 * registers. */
#include "emu/fast/step.h"

#include "stb_ds.h"

#include <string.h>

/* The state of a color at a tile; NULL: not configured. */
static inline FastColor *fast_color(const FastTile *tile, unsigned color)
{
  unsigned slot = tile->set->slot_of[color];
  return slot == NO_SLOT ? NULL : &tile->colors[slot];
}

static Visit *visit_of(Turn *turn) { return (Visit *)turn; }

static FastTile *tile_of(const Turn *turn)
{
  return (FastTile *)((char *)turn->tile - offsetof(FastTile, core));
}

/* ---- queues ---------------------------------------------------------------------------------- */

static QueueHead port_head(const Turn *turn, unsigned queue, unsigned place)
{
  const FastQueues *q = &tile_of(turn)->queues[queue];
  if (place >= q->input.count)
    return (QueueHead){0};
  FastWavelet w = *input_at(q, place);
  return (QueueHead){.payload = w.payload, .color = wavelet_field(w.meta),
                     .control = (w.meta & META_CONTROL) != 0, .kept = (w.meta & META_KEPT) != 0,
                     .there = wavelet_seen(w.meta, turn->cycle)};
}

static void port_take(Turn *turn, unsigned queue)
{
  input_drop(visit_of(turn), queue);
}

static void port_keep(Turn *turn, unsigned queue)
{
  input_at(&tile_of(turn)->queues[queue], 0)->meta |= META_KEPT;
}

static void port_send(Turn *turn, unsigned queue, QueueHead w, bool advance)
{
  Visit *v = visit_of(turn);
  uint32_t flags = (w.control ? META_CONTROL : 0u) | (advance ? META_ADVANCE : 0u);
  uint32_t meta = wavelet_meta(v->output_visible, w.color, flags);
  output_put(v, queue, (FastWavelet){w.payload, meta});
}

static const FastQueue *port_queue(const Turn *turn, bool output, unsigned queue)
{
  const FastQueues *both = &tile_of(turn)->queues[queue];
  return output ? &both->output : &both->input;
}

static unsigned port_count(const Turn *turn, bool output, unsigned queue)
{
  return port_queue(turn, output, queue)->count;
}

static void port_use(Turn *turn, bool output, unsigned queue, QueueUse use)
{
  FastQueues *both = &tile_of(turn)->queues[queue];
  queue_note(output ? &both->output : &both->input, use);
}

static QueueUse port_used(const Turn *turn, bool output, unsigned queue)
{
  return queue_use(port_queue(turn, output, queue));
}

/* ---- DSRs ------------------------------------------------------------------------------------ */

static DsrState *port_dsrs_alloc(Turn *turn, unsigned n)
{
  return fast_alloc(visit_of(turn)->worker, n * sizeof(DsrState), _Alignof(DsrState));
}

/* ---- DSRs that tiles share ------------------------------------------------------------------- */

/* The tiles of a class begin with the same DSRs, and mostly load the same descriptors then, in the
 * same order.  So the engine keeps each set of DSRs that they come to in this way once: a tree, in
 * which a load leads from one set to the next.  A tile that changes a DSR in another way gets a set
 * of its own, and so does one that goes on loading, or loads what few other tiles do. */
enum { DSRS_NEXT_MOST = 8 };    /* sets to which loads lead from one set */

typedef struct FastDsrs {
  struct FastDsrs *next, *beside;       /* the first one to which a load leads from here; from where
                                           this one comes, too */
  uint8_t place, loads, n_next; /* of the load that leads here; loads up to here; sets next */
  DsrState dsrs[];
} FastDsrs;

static FastDsrs *make_dsrs(FastWorker *w, const DsrState *dsrs, unsigned n)
{
  size_t bytes = sizeof(FastDsrs) + n * sizeof *dsrs;
  FastDsrs *made = fast_alloc(w, bytes, _Alignof(FastDsrs));
  memcpy(made->dsrs, dsrs, n * sizeof *dsrs);
  return made;
}

/* What the tile shares with others now. */
static FastDsrs *dsrs_now(FastWorker *w, const Tile *core)
{
  const DsrMap *map = core->dsrs.map;
  if (core->dsrs.own)
    return (FastDsrs *)(void *)((char *)core->dsrs.own - offsetof(FastDsrs, dsrs));
  FastDsrs **first = &w->engine->dsrs[core->mem.cls->index];
  if (!*first)
    *first = make_dsrs(w, map->start, map->n);
  return *first;
}

static FastDsrs *find_next_dsrs(const FastDsrs *from, unsigned place, const Descriptor *desc)
{
  FastDsrs *next = from->next;
  while (next && !(next->place == place && descriptor_equal(&next->dsrs[place].desc, desc)))
    next = next->beside;
  return next;
}

static FastDsrs *add_next_dsrs(FastWorker *w, FastDsrs *from, const DsrMap *map, unsigned place,
                               const Descriptor *desc)
{
  if (from->n_next == DSRS_NEXT_MOST || from->loads >= map->n)
    return NULL;
  FastDsrs *next = make_dsrs(w, from->dsrs, map->n);
  dsr_set(&next->dsrs[place], desc);
  next->place = (uint8_t)place;
  next->loads = (uint8_t)(from->loads + 1);
  next->beside = from->next;
  from->next = next;
  from->n_next++;
  return next;
}

static DsrState *port_dsrs_load(Turn *turn, unsigned place, const Descriptor *desc)
{
  FastWorker *w = visit_of(turn)->worker;
  bool locks = w->engine->n_workers > 1;
  if (locks)
    pthread_mutex_lock(&w->engine->rare_lock);
  FastDsrs *now = dsrs_now(w, turn->tile), *next = find_next_dsrs(now, place, desc);
  if (!next)
    next = add_next_dsrs(w, now, turn->tile->dsrs.map, place, desc);
  if (locks)
    pthread_mutex_unlock(&w->engine->rare_lock);
  return next ? next->dsrs : NULL;
}

/* ---- operations ------------------------------------------------------------------------------ */

static VecRun *port_run_alloc(Turn *turn)
{
  Visit *v = visit_of(turn);
  if (!v->is_stretch)
    fast_ahead_over(v->worker, v->tile);
  FastRun *whole = fast_piece_alloc(v->worker, PIECE_WORK);
  return &whole->run;
}

/* Not of the tiles' slabs: it could take a slab of its own, and many processes have few tiles
 * each. */
static KnownRun *known_create(void)
{
  return base_zeroed(KNOWN_RUNS, sizeof(KnownRun));
}

static KnownRun *port_known(Turn *turn)
{
  FastWorker *w = visit_of(turn)->worker;
  if (UNLIKELY(!w->known))
    w->known = known_create();
  return w->known;
}

static void port_run_free(Turn *turn, VecRun *run)
{
  fast_piece_free(visit_of(turn)->worker, PIECE_WORK, (char *)run - offsetof(FastRun, run));
}

static void port_started(Turn *turn, unsigned thread)
{
  Visit *v = visit_of(turn);
  if (plain_start(v, thread) && !FAST_TRACED && !v->is_stretch && thread == MAIN_THREAD &&
      thread_plain(&turn->tile->threads[thread])->stream)
    fast_join(v->worker, v->tile);
}

static void port_sync(Turn *turn, unsigned thread)
{
  plain_sync(&turn->tile->threads[thread]);
}

static StallCause port_plan(Turn *turn, unsigned thread, GroupPlan *group)
{
  Visit *v = visit_of(turn);
  FastTile *t = v->tile;
  Thread *th = &t->core.threads[thread];
  if (th->plain && !t->core.paused && !(t->input_any & t->input_control))
    return plain_waits(v, thread_plain(th));
  plain_sync(th);
  return vector_plan(turn, thread, group);
}

/* Not inlined a second time. */
static RARE void plain_group_any(Visit *v, unsigned thread)
{
  plain_group(v, thread);
}

static void port_group(Turn *turn, unsigned thread, const GroupPlan *group)
{
  Visit *v = visit_of(turn);
  if (v->tile->core.threads[thread].plain && !group->by_control && !group->by_fifo)
    plain_group_any(v, thread);
  else
    vector_group(turn, thread, group);
}

/* ---- the router's registers ------------------------------------------------------------------ */

static bool port_router_read(const Turn *turn, uint16_t address, uint16_t *value)
{
  const FastTile *t = tile_of(turn);
  uint16_t base = config_reg_at(address)->address;
  unsigned color = address - base, slot = t->set->slot_of[color];
  if (!router_config_has(base, fast_color(t, color) ? fast_config(t, color) : NULL))
    return false;
  const RouterConfig *own = t->own ? t->own->config[slot] : NULL;
  *value = router_config_read(base, fast_config(t, color), own, color_now(t, slot));
  return true;
}

static const TilePort *fast_port(void)
{
  static const TilePort port = {
    .head = port_head, .take = port_take, .keep = port_keep, .send = port_send,
    .count = port_count, .use = port_use, .used = port_used, .dsrs_alloc = port_dsrs_alloc,
    .dsrs_load = port_dsrs_load,
    .run_alloc = port_run_alloc, .known = port_known, .run_free = port_run_free,
    .started = port_started, .sync = port_sync, .plan = port_plan, .group = port_group,
    .router_read = port_router_read,
  };
  return &port;
}

static Visit start_visits(FastWorker *worker)
{
  FastEngine *e = worker->engine;
  Visit v = {
    .engine = e, .worker = worker,
    .turn = {.port = fast_port(), .program = e->base.program, .log = &worker->log,
             .trace = e->base.options.trace, .checks = e->base.options.checks,
             .prints = e->base.options.print != NULL},
  };
  set_now(&v, e->base.cycle);
  return v;
}
