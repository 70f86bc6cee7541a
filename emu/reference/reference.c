/* Reference engine: the cycle, and the interface to the world. */
#include "emu/reference/reference_internal.h"

#include "stb_ds.h"

#include <stdlib.h>

Turn start_turn(RefEngine *engine, RefTile *tile)
{
  const EngineOptions *options = &engine->base.options;
  return (Turn){.port = &reference_port, .program = engine->base.program, .tile = &tile->core,
                .cycle = engine->base.cycle, .log = &engine->log, .trace = options->trace,
                .checks = options->checks, .prints = options->print != NULL};
}

static RefTile *touched_tile(const RefEngine *engine, size_t i)
{
  return engine->tiles[engine->touched[i]];
}

static void note_turn(RefEngine *engine, const Turn *turn)
{
  if (!turn->changed)
    return;
  engine->log.last_change = turn->cycle + 1;
  engine->changed = true;
}

/* ---- host channels --------------------------------------------------------------------------- */

unsigned channel_count(const RefEngine *engine)
{
  unsigned channels = engine->base.program->image->channels;
  return channels ? channels : 1;
}

static RefChannel *channel_of(const RefEngine *engine, const RefTile *tile)
{
  return &engine->channels[program_channel(engine->base.program, tile->core.index)];
}

/* Each free channel takes a word from the next of its tiles, in cyclic order, that has one. */
static void plan_channels(RefEngine *engine)
{
  const Timing *timing = &engine->base.program->timing;
  uint32_t n = engine->base.program->n_tiles;
  for (unsigned i = 0; i < channel_count(engine); i++)
    engine->channels[i].chosen = NO_TILE;
  for (size_t i = 0; i < arrlenu(engine->touched); i++) {
    const RefTile *tile = touched_tile(engine, i);
    RefChannel *channel = channel_of(engine, tile);
    uint32_t from = channel->out.last_tile + 1, index = tile->core.index;
    if (tile->plan.host_queue == NO_QUEUE ||
        !host_out_is_free(&channel->out, timing, engine->base.cycle))
      continue;
    if (channel->chosen == (uint32_t)NO_TILE ||
        (index + n - from) % n < (channel->chosen + n - from) % n)
      channel->chosen = index;
  }
  for (unsigned i = 0; i < channel_count(engine); i++) {
    RefChannel *channel = &engine->channels[i];
    if (channel->chosen == (uint32_t)NO_TILE)
      continue;
    engine->tiles[channel->chosen]->plan.host_out = true;
    host_out_serve(&channel->out, timing, engine->base.cycle, channel->chosen);
  }
}

static void plan_links(RefEngine *engine)
{
  const EngineLinks *links = engine->base.options.links;
  for (size_t i = 0; links && i < arrlenu(links->gates); i++)
    engine->entering[i] = links_entering(&links->gates[i], &engine->base, engine->base.cycle,
                                         router_accepts_link);
}

/* ---- the cycle ------------------------------------------------------------------------------- */

/* One of the first `places` wavelets will be seen in a later cycle. */
static bool ring_waits(const Ring *ring, unsigned places, uint64_t now)
{
  for (unsigned i = 0; i < places && i < ring->count; i++)
    if (ring_peek(ring, i)->visible > now)
      return true;
  return false;
}

/* Something of the tile becomes due by itself in a later cycle. */
static bool tile_waits(const RefTile *tile, uint64_t now)
{
  const Tile *t = &tile->core;
  bool waits = (t->ready != NEVER && t->ready > now) ||
               (t->pending_due != NEVER && t->pending_due > now) ||
               host_words_due(&tile->host.posted, now) != NEVER ||
               tile->plan.host_queue != NO_QUEUE;
  for (unsigned i = 0; i < TILE_THREADS; i++)
    waits |= t->threads[i].run && t->threads[i].ready > now;
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    waits |= ring_waits(&tile->input[q].ring, REF_RING, now) ||
             ring_waits(&tile->output[q].ring, 1, now);
  for (unsigned c = 0; c < MAX_COLORS; c++)
    waits |= tile->colors[c] && ring_waits(&tile->colors[c]->slots, 1, now);
  return waits;
}

/* Nothing has changed in this cycle, and nothing is going to. */
static bool is_over(const RefEngine *engine)
{
  uint64_t now = engine->base.cycle;
  if (engine->changed || links_due(engine->base.options.links, &engine->base, now + 1,
                                   router_accepts_link) != NEVER)
    return false;
  for (size_t i = 0; i < arrlenu(engine->touched); i++)
    if (tile_waits(touched_tile(engine, i), now))
      return false;
  return true;
}

/* For tests: another order of visits. */
static void shuffle_tiles(RefEngine *engine)
{
  uint32_t state = engine->base.options.shuffle + (uint32_t)engine->base.cycle;
  for (size_t i = arrlenu(engine->touched); i > 1; i--) {
    state = state * 1664525u + 1013904223u;
    uint32_t swap = (uint32_t)((state >> 8) % i), tile = engine->touched[i - 1];
    engine->touched[i - 1] = engine->touched[swap];
    engine->touched[swap] = tile;
  }
}

static void count_activity(RefEngine *engine, const RefPlan *plan)
{
  EngineStats *stats = &engine->log.stats;
  if (plan->tile.thread < 0 && plan->n_moves == 0)
    return;
  stats->active_tile_cycles++;
  if (stats->first_event == NEVER)
    stats->first_event = engine->base.cycle;
  stats->last_event = engine->base.cycle;
}

static void begin_tile(RefEngine *engine, RefTile *tile)
{
  Turn turn = start_turn(engine, tile);
  if (tile->core.pending_due <= turn.cycle)
    tile_begin(&turn);
  note_turn(engine, &turn);
}

static void plan_tile(RefEngine *engine, RefTile *tile)
{
  enum { ALL_QUEUES = (1 << MAX_QUEUES) - 1 };
  Turn turn = start_turn(engine, tile);
  tile->plan.tile = (TilePlan){.thread = -1};
  if (tile->core.mem.cls)
    tile_plan(&turn, &tile->plan.tile, ALL_QUEUES);
  router_plan(engine, &turn, &tile->plan);
}

static void commit_tile(RefEngine *engine, RefTile *tile)
{
  Turn turn = start_turn(engine, tile);
  count_activity(engine, &tile->plan);
  if (tile->core.mem.cls)
    tile_commit(&turn, &tile->plan.tile);
  router_commit(engine, &turn, &tile->plan);
  note_turn(engine, &turn);
}

static void end_tile(RefEngine *engine, RefTile *tile)
{
  Turn turn = start_turn(engine, tile);
  router_take_in(&turn);
  registers_settle(&tile->core.registers);
  note_turn(engine, &turn);
}

static void run_cycle(RefEngine *engine)
{
  Engine *base = &engine->base;
  if (base->options.shuffle)
    shuffle_tiles(engine);
  engine->changed = false;
  size_t count = arrlenu(engine->touched);      /* moves may reach more */
  for (size_t i = 0; i < count; i++)
    begin_tile(engine, touched_tile(engine, i));
  for (size_t i = 0; i < count; i++)
    plan_tile(engine, touched_tile(engine, i));
  plan_channels(engine);
  plan_links(engine);
  for (size_t i = 0; i < count; i++)
    commit_tile(engine, touched_tile(engine, i));
  router_take_links(engine);
  for (size_t i = 0; i < arrlenu(engine->touched); i++)
    end_tile(engine, touched_tile(engine, i));
  engine_deliver_events(base->options.trace, engine->log.events);
  engine_deliver_prints(base, engine->log.prints);
  engine_collect_faults(base, engine->log.faults);
  arrsetlen(engine->log.events, 0);
  arrsetlen(engine->log.prints, 0);
  arrsetlen(engine->log.faults, 0);
  base->quiet = is_over(engine);
  base->last_change = engine->log.last_change;
  base->cycle++;
}

static RunStatus run_cycles(Engine *base, uint64_t limit)
{
  RefEngine *engine = (RefEngine *)base;
  uint64_t floor = base->cycle;
  if (links_due(base->options.links, base, base->cycle, router_accepts_link) != NEVER)
    base->quiet = false;        /* something has come since the last run */
  while (!base->stopped) {
    if (base->cycle >= limit)
      return RUN_LIMIT;
    if (base->quiet) {          /* cycles in which tiles only looked do not count */
      base->cycle = engine_quiet_cycle(base, floor);
      return RUN_QUIET;
    }
    run_cycle(engine);
    if (base->options.trace && base->options.trace->stop)
      return RUN_LIMIT;
    if (engine_interrupted(base->options.interrupt) && !base->stopped)
      return RUN_INTERRUPTED;
  }
  return RUN_FAULT;
}

/* ---- interface ------------------------------------------------------------------------------- */

static Engine *ref_create(Program *program, const EngineOptions *options)
{
  RefEngine *engine = base_zeroed(1, sizeof *engine);
  engine->base = (Engine){.ops = &engine_reference, .program = program, .options = *options};
  engine->tiles = base_zeroed(program->n_tiles, sizeof(RefTile *));
  engine->channels = base_malloc(sizeof *engine->channels * channel_count(engine));
  for (unsigned i = 0; i < channel_count(engine); i++)
    engine->channels[i] = (RefChannel){.out.last_tile = program->n_tiles - 1};
  engine->log.stats.first_event = NEVER;
  size_t gates = options->links ? arrlenu(options->links->gates) : 0;
  engine->entering = base_zeroed(gates + 1, sizeof(LinkIn *));
  for (uint32_t t = 0; t < program->n_tiles; t++)
    if (tile_starts(program_class(program, t)))
      touch_tile(engine, t);
  engine->base.quiet = arrlenu(engine->touched) == 0;
  return &engine->base;
}

static void ref_destroy(Engine *base)
{
  RefEngine *engine = (RefEngine *)base;
  destroy_tiles(engine);
  free(engine->channels);
  free(engine->entering);
  arrfree(engine->log.events);
  arrfree(engine->log.prints);
  arrfree(engine->log.faults);
  arrfree(base->faults);
  free(engine);
}

static void skip_cycles(Engine *base, uint64_t cycle)
{
  if (cycle > base->cycle)
    base->cycle = cycle;
}

static const EngineStats *log_stats(const Engine *base)
{
  return &((const RefEngine *)base)->log.stats;
}

static void forget_events(Engine *base)
{
  EngineStats *stats = &((RefEngine *)base)->log.stats;
  stats->first_event = NEVER;
  stats->last_event = 0;
}

static InspectWavelet show_wavelet(const Wavelet *w)
{
  return (InspectWavelet){w->payload, w->color, w->control, w->kept, w->visible};
}

static void show_queue(const RefQueue *queue, unsigned capacity, InspectQueue *out)
{
  const Ring *ring = &queue->ring;
  out->count = ring->count;
  out->use = queue->use;
  out->capacity = (uint8_t)capacity;
  if (ring->count)
    out->head = show_wavelet(ring_peek(ring, 0));
}

static void show_color(const ColorState *state, InspectColor *out)
{
  out->configured = true;
  out->suspended = state->suspended;
  out->count = state->slots.count;
  out->position = state->tx_position;
  out->moved = state->moved;
  out->rx = state->config->positions[state->rx_position].rx;
  out->tx = state->config->positions[state->tx_position].tx;
  if (!out->count)
    return;
  out->head = show_wavelet(ring_peek(&state->slots, 0));
  out->head_from = ring_peek(&state->slots, 0)->from;
}

static void show_tile(Engine *base, uint32_t index, InspectTile *out)
{
  RefEngine *engine = (RefEngine *)base;
  RefTile *tile = touch_tile(engine, index);
  Turn turn = start_turn(engine, tile);
  engine_inspect(&turn, out);
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    show_queue(&tile->input[q], input_capacity(base->program, q), &out->input[q]);
    show_queue(&tile->output[q], output_capacity(base->program, q), &out->output[q]);
  }
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (tile->colors[c])
      show_color(tile->colors[c], &out->colors[c]);
  out->host_pending = host_words_pending(&tile->host.posted);
}

static Tile *find_tile(Engine *base, uint32_t index, bool touch)
{
  RefEngine *engine = (RefEngine *)base;
  RefTile *tile = touch ? touch_tile(engine, index) : engine->tiles[index];
  return tile ? &tile->core : NULL;
}

static HostPort *find_host(Engine *base, uint32_t index, bool create)
{
  Tile *tile = find_tile(base, index, create);
  return tile ? &((RefTile *)tile)->host : NULL;
}

static void expect_change(Engine *base, uint32_t tile, uint64_t cycle)
{
  (void)tile, (void)cycle;
  base->quiet = false;
}

const EngineOps engine_reference = {
  .name = "reference",
  .create = ref_create,
  .destroy = ref_destroy,
  .run = run_cycles,
  .cycle = engine_cycle,
  .skip_to = skip_cycles,
  .stats = log_stats,
  .phase_begin = forget_events,
  .faults = engine_faults,
  .inspect = show_tile,
  .touched = engine_touched,
  .registers = engine_registers,
  .mem_read = engine_mem_read,
  .mem_write = engine_mem_write,
  .launch = engine_launch,
  .post = engine_post,
  .take = engine_take,
  .unblock_count = engine_unblock_count,
  .tile = find_tile,
  .host = find_host,
  .wake = expect_change,
  .keeper = &reference_keeper,
};
