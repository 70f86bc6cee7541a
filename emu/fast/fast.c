/* Fast engine: tiles and their memory, and the interface to the world. */
#include "emu/fast/step.h"
#include "ir/base/platform.h"

#include "stb_ds.h"

#include <stdlib.h>
#include <string.h>

enum {
  STRIP_LEAST = 4,              /* rows; with fewer, two borders would touch */
  BLOCK_SHARED = BLOCK_MOST,    /* cycles of a block that the largest strips have room for */
  CHORE_REACH = 4,              /* rows of a strip that chores of both its borders may touch, beyond
                                   what visits do */
};

/* ---- creation --------------------------------------------------------------------------- */

static void make_sets(FastEngine *e)
{
  const Image *image = e->base.program->image;
  e->sets = base_zeroed(image->n_color_sets + 1, sizeof *e->sets);
  for (uint32_t i = 0; i < image->n_color_sets; i++) {
    FastSet *set = &e->sets[i];
    const ImageColorConfig *by_color[MAX_COLORS] = {NULL};
    memset(set->slot_of, NO_SLOT, sizeof set->slot_of);
    for (uint32_t k = 0; k < image->color_sets[i].n; k++) {
      const ImageColorUse *use = &image->color_sets[i].uses[k];
      by_color[use->color] = &image->color_configs[use->config];
    }
    for (uint8_t color = 0; color < MAX_COLORS; color++) {
      if (!by_color[color])
        continue;
      set->slot_of[color] = set->n;
      set->color_of[set->n] = color;
      set->config[set->n++] = by_color[color];
      set->filters |= by_color[color]->filter.kind != FILTER_NONE;
      set->switches |= switch_is_there(by_color[color]);
      set->swaps |= by_color[color]->swap_x || by_color[color]->swap_y;
    }
  }
}

static void make_channels(FastEngine *e)
{
  e->n_channels = e->base.program->image->channels ? e->base.program->image->channels : 1;
  e->channels = base_malloc(sizeof *e->channels * e->n_channels);
  for (unsigned i = 0; i < e->n_channels; i++)
    e->channels[i] = (FastChannel){.out.last_tile = e->n_tiles - 1, .first = e->n_tiles};
  for (uint32_t first = 0; first < e->n_tiles; first += e->width) {   /* bands of rows */
    FastChannel *channel = &e->channels[program_channel(e->base.program, first)];
    if (channel->first > first)
      channel->first = first;
    channel->end = first + e->width;
  }
}

/* From an element's group to the cycle in which the router can see its wavelet: never the same. */
static unsigned output_cycles(const Timing *timing)
{
  unsigned cycles = timing->element_to_queue + timing->ramp_up - (timing->ramp_up ? 1 : 0);
  return cycles ? cycles : 1;
}

static void make_geometry(FastEngine *e)
{
  const Machine *m = e->base.program->machine;
  e->n_tiles = e->base.program->n_tiles;
  e->width = e->base.program->image->width;
  e->height = e->base.program->image->height;
  const Peers *peers = e->base.options.peers;
  e->own = peers ? (FastRows){peers->first_row, peers->end_row} : (FastRows){0, e->height};
  e->stride[PORT_EAST] = (ptrdiff_t)sizeof(FastTile);
  e->stride[PORT_SOUTH] = (ptrdiff_t)sizeof(FastTile) * e->width;
  e->stride[PORT_WEST] = -e->stride[PORT_EAST];
  e->stride[PORT_NORTH] = -e->stride[PORT_SOUTH];
  e->router_slots = m->router_slots;
  e->puts_off = !(e->base.options.checks & CHECKS_ORDER) && !peers && !e->base.options.links &&
                !e->base.options.counts && e->router_slots >= FAST_SLOTS && e->timing->hop == 1;
  e->writes_ahead = e->puts_off && !e->base.options.switches;
  e->output_cycles = output_cycles(e->timing);
  e->bank_mask = m->bank_bytes * (m->read_banks - 1);
  if ((m->bank_bytes & (m->bank_bytes - 1)) || (m->read_banks & (m->read_banks - 1)))
    ICE("banks whose number or size is no power of two");
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    e->input_capacity[q] = (uint8_t)(m->input_queue_depth[q] + e->timing->ramp_down);
    e->output_capacity[q] = (uint8_t)(m->output_queue_depth[q] + e->timing->ramp_up);
  }
}

static void *zeroed(size_t bytes) { return base_zeroed(bytes, 1); }

static size_t awake_bytes(const FastEngine *e)
{
  return (size_t)CALENDAR * e->row_words * e->height * sizeof *e->awake;
}

static void make_maps(FastEngine *e)
{
  e->row_words = (e->width + WORD_BITS - 1) / WORD_BITS;
  e->awake = fast_reserve(awake_bytes(e));
  e->row_awake = zeroed((size_t)CALENDAR * e->height);
  e->chores = zeroed(e->height * sizeof *e->chores);
  e->host_waiting = zeroed((e->n_tiles + WORD_BITS - 1) / WORD_BITS * sizeof *e->host_waiting);
}

static void give_rows(FastEngine *e, unsigned worker, FastHalf half, uint32_t first, uint32_t end)
{
  if (first < end)
    arrput(e->workers[worker].rows[half], ((FastRows){first, end}));
  for (uint32_t row = first; row < end; row++)
    e->row_worker[row] = (uint16_t)worker;
}

/* Rows of a strip in which the two borders of a block, with what their chores reach, do not touch:
 * see FastHalf. */
static uint32_t slanted_rows(unsigned block)
{
  return 2 * BLOCK_SLANT * block + CHORE_REACH;
}

/* Strips go round the workers, so that all have a part of where something happens.  The rows at
 * edges to peers are in no strip: edges.c. */
static void make_rows(FastEngine *e)
{
  unsigned n = e->n_workers;
  uint32_t rows = e->own.end - e->own.first;
  uint32_t strip = rows / (4 * n), most = slanted_rows(BLOCK_SHARED), first = e->own.first;
  strip = strip < STRIP_LEAST ? STRIP_LEAST : strip > most ? most : strip;
  if (strip < slanted_rows(e->base.options.block))
    strip = slanted_rows(e->base.options.block);
  uint32_t room = n > 1 ? strip : rows;
  bool borders = n > 1 || e->base.options.peers;
  for (e->block_most = BLOCK_MOST; borders && e->block_most > 1; e->block_most--)
    if (slanted_rows(e->block_most) <= room)
      break;
  e->row_worker = zeroed(e->height * sizeof *e->row_worker);
  for (unsigned worker = 0; first < e->own.end; worker = (worker + 1) % n) {
    uint32_t end = n == 1 || e->own.end - first < 2 * strip ? e->own.end : first + strip;
    give_rows(e, worker, HALF_INNER, first ? first + 1 : 0, end == e->height ? end : end - 1);
    if (end < e->own.end)
      give_rows(e, worker, HALF_BORDERS, end - 1, end + 1);
    first = end;
  }
}

static void make_workers(FastEngine *e)
{
  unsigned most = (e->own.end - e->own.first) / STRIP_LEAST, n = e->base.options.threads;
  most = most < platform_most_threads() ? most : platform_most_threads();
  e->n_workers = n > most ? most : n;
  if (e->n_workers == 0)
    e->n_workers = 1;
  e->workers = zeroed(e->n_workers * sizeof *e->workers);
  for (unsigned i = 0; i < e->n_workers; i++) {
    FastWorker *worker = &e->workers[i];
    worker->engine = e;
    worker->account.counts = e->base.options.counts;
    worker->log.stats.first_event = NEVER;
  }
  make_rows(e);
}

/* Their first cycle is the most work of all: so many visits are expected that all workers share
 * it. */
static void wake_starters(FastEngine *e)
{
  for (uint32_t t = e->own.first * e->width; t < e->own.end * e->width; t++) {
    if (!tile_starts(program_class(e->base.program, t)))
      continue;
    fast_wake(e->workers, t, 0);
    e->own_visits++;
  }
}

static Engine *fast_create(Program *program, const EngineOptions *options)
{
  FastEngine *e = base_zeroed(1, sizeof *e);
  e->base = (Engine){.ops = &engine_fast, .program = program, .options = *options};
  e->timing = &program->timing;
  make_geometry(e);
  make_maps(e);
  make_workers(e);
  make_sets(e);
  fast_code_create(e);
  e->dsrs = zeroed(program->image->n_classes * sizeof *e->dsrs);
  fast_bridges_create(e);
  make_channels(e);
  e->tiles = fast_reserve((size_t)e->n_tiles * sizeof *e->tiles);
  pthread_mutex_init(&e->rare_lock, NULL);
  edges_create(e);
  wake_starters(e);
  return &e->base;
}

static void fast_destroy(Engine *base)
{
  FastEngine *e = (FastEngine *)base;
  fast_crew_destroy(e);
  fast_code_destroy(e);
  edges_destroy(e);
  fast_tiles_destroy(e);
  pthread_mutex_destroy(&e->rare_lock);
  arrfree(e->base.faults);
  arrfree(e->spills);
  for (uint32_t row = 0; row < e->height; row++)
    arrfree(e->chores[row]);
  void *pieces[] = {e->sets, e->dsrs, e->channels, e->workers, e->row_awake,
                    e->chores, e->host_waiting, e->row_worker};
  for (size_t i = 0; i < ARRAY_COUNT(pieces); i++)
    free(pieces[i]);
  platform_release(e->awake, awake_bytes(e));
  free(e);
}

/* ---- interface -------------------------------------------------------------------------- */

static const EngineStats *fast_stats(const Engine *base)
{
  FastEngine *e = (FastEngine *)(uintptr_t)base;
  e->stats = (EngineStats){.first_event = NEVER};
  for (unsigned k = 0; k < e->n_workers; k++) {
    uint64_t ahead = fast_ahead_last(&e->workers[k]);
    engine_stats_add(&e->stats, &e->workers[k].log.stats);
    e->stats.last_event = ahead > e->stats.last_event ? ahead : e->stats.last_event;
  }
  return &e->stats;
}

static void fast_phase_begin(Engine *base)
{
  FastEngine *e = (FastEngine *)base;
  e->phase = base->cycle;
  for (unsigned k = 0; k < e->n_workers; k++) {
    e->workers[k].log.stats.first_event = NEVER;
    e->workers[k].log.stats.last_event = e->workers[k].ahead_last = 0;
  }
}

static Tile *fast_tile(Engine *base, uint32_t tile, bool touch)
{
  FastEngine *e = (FastEngine *)base;
  FastTile *t = touch ? fast_touch(e->workers, tile) : &e->tiles[tile];
  return t->set ? &t->core : NULL;
}

/* Reads few lines of memory: there may be a million tiles. */
static bool is_at_rest(const Engine *base, uint32_t index)
{
  const FastTile *t = &((const FastEngine *)base)->tiles[index];
  const Tile *core = &t->core;
  bool runs = core->vectors || core->running || (core->active & core->blocked);
  return !runs && !(t->occupied | t->input_any | t->output_any) && !core->record.untaken &&
         !core->record.to_be_ended && !(t->host && host_words_pending(&t->host->posted));
}

static HostPort *fast_host(Engine *base, uint32_t tile, bool create)
{
  FastEngine *e = (FastEngine *)base;
  FastTile *t = &e->tiles[tile];
  if (!create)
    return t->host;
  if (!t->host)
    t->host = fast_alloc(e->workers, sizeof *t->host, _Alignof(HostPort));
  e->hosted = true;
  return t->host;
}

/* Between cycles: base->cycle is the next to run. */
static void wake_for_host(Engine *base, uint32_t tile, uint64_t cycle)
{
  FastEngine *e = (FastEngine *)base;
  FastTile *t = &e->tiles[tile];
  t->attended = t->host && host_words_pending(&t->host->posted);
  if (cycle <= base->cycle)
    fast_wake(e->workers, tile, base->cycle);
  else
    fast_timer(&e->workers[e->row_worker[tile / e->width]], tile, base->cycle, cycle);
}

const EngineOps engine_fast = {
  .name = "fast",
  .counts_tiles = true,
  .create = fast_create,
  .destroy = fast_destroy,
  .run = fast_run,
  .cycle = engine_cycle,
  .skip_to = fast_skip_to,
  .stats = fast_stats,
  .phase_begin = fast_phase_begin,
  .faults = engine_faults,
  .inspect = fast_inspect,
  .touched = engine_touched,
  .at_rest = is_at_rest,
  .registers = engine_registers,
  .mem_read = engine_mem_read,
  .mem_write = engine_mem_write,
  .launch = engine_launch,
  .post = engine_post,
  .take = engine_take,
  .unblock_count = engine_unblock_count,
  .tile = fast_tile,
  .host = fast_host,
  .wake = wake_for_host,
  .keeper = &fast_keeper,
};
