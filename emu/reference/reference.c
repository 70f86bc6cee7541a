/* Reference engine: the cycle, the sets of awake tiles, and the interface to the world. */
#include "emu/reference/reference_internal.h"

#include "stb_ds.h"

#include <stdlib.h>
#include <string.h>

/* ---- awake tiles ----------------------------------------------------------------------------- */

void ref_wake(RefEngine *engine, uint32_t tile, uint64_t cycle)
{
  if (cycle > engine->cycle + 1) {
    timers_push(&engine->timers, (Timer){cycle, tile});
    return;
  }
  if (engine->queued[tile] == cycle + 1)
    return;
  engine->queued[tile] = cycle + 1;
  if (cycle == engine->cycle)
    arrput(engine->awake, tile);
  else
    arrput(engine->awake_next, tile);
}

/* ---- tiles ----------------------------------------------------------------------------------- */

static void load_dsrs(RefTile *tile)
{
  tile->dsrs = base_malloc(sizeof *tile->dsrs * DSR_FILE_COUNT);
  memset(tile->dsrs, 0, sizeof *tile->dsrs * DSR_FILE_COUNT);
  for (uint32_t i = 0; i < tile->cls->image->n_dsrs; i++) {
    const ImageDsr *dsr = &tile->cls->image->dsrs[i];
    Descriptor desc;
    if (descriptor_decode(dsr->words, ARRAY_COUNT(dsr->words), &desc))
      dsr_set(&tile->dsrs[dsr->file][dsr->number], &desc);
  }
}

static void load_program(RefEngine *engine, RefTile *tile)
{
  const ImageClass *image = tile->cls->image;
  tile->mem.cls = tile->cls;
  mem_touch(engine->program, tile->index, &tile->mem);
  load_dsrs(tile);
  tile->active = image->active;
  tile->blocked = image->blocked;
  tile->paused = image->paused;
  tile->registers = registers_initial(&tile->cls->start);
  tile->regs.traps = registers_traps(&tile->registers);
  tile->task_id = MAX_TASK_IDS - 1;
  tile->tsc_running = tile->cls->start.tsc_running;
  tile->tsc_value = tile->cls->start.tsc_value;
  tile->high = tile->cls->start.high_tasks;
  tile->main_level = (uint8_t)(LEVEL_MAIN + tile->cls->start.main_priority % (LEVELS - LEVEL_MAIN));
  if (image->start_entry != PC_RETURN) {
    tile->running = true;
    tile->pc = image->start_entry;
    tile->regs.r[engine->program->machine->sp_register] = image->stack_top;
  }
}

RefTile *ref_tile(RefEngine *engine, uint32_t index)
{
  RefTile *tile = engine->tiles[index];
  if (tile)
    return tile;
  tile = base_malloc(sizeof *tile);
  memset(tile, 0, sizeof *tile);
  engine->tiles[index] = tile;
  memset(tile->blocked_at, 0xff, sizeof tile->blocked_at);
  tile->index = index;
  tile->cls = program_class(engine->program, index);
  for (unsigned c = 0; c < MAX_COLORS; c++) {
    const ImageColorConfig *config = program_color(engine->program, index, c);
    tile->colors[c] = config ? ref_color_create(config) : NULL;
  }
  tile->first_color = MAX_COLORS - 1;     /* so that color 0 is visited first */
  tile->last_ramp_queue = MAX_QUEUES - 1;
  for (unsigned level = 0; level < LEVELS; level++)
    tile->last_issued[level] = REF_THREADS - 1;
  if (tile->cls)
    load_program(engine, tile);
  return tile;
}

static void tile_destroy(RefTile *tile)
{
  if (!tile)
    return;
  mem_free(&tile->mem);
  free(tile->registers.queues);
  free(tile->dsrs);
  for (unsigned c = 0; c < MAX_COLORS; c++)
    ref_color_destroy(tile->colors[c]);
  arrfree(tile->pending);
  arrfree(tile->pending_config);
  host_words_free(&tile->posted);
  arrfree(tile->sent);
  free(tile);
}

/* ---- findings and events --------------------------------------------------------------------- */

void ref_fault(RefEngine *engine, Fault fault)
{
  arrput(engine->new_faults, fault);
}

void ref_event(RefEngine *engine, const RefTile *tile, TraceEvent event)
{
  const Program *program = engine->program;
  const TraceSink *sink = engine->options.trace;
  if (!trace_wants(sink, event.kind, engine->cycle) ||
      !trace_in_region(sink, program_x(program, tile->index), program_y(program, tile->index)))
    return;
  event.cycle = engine->cycle;
  event.tile = tile->index;
  arrput(engine->events, ((RefEvent){event, (uint32_t)arrlenu(engine->events)}));
}

void ref_print(RefEngine *engine, const RefTile *tile, uint8_t byte)
{
  if (engine->options.print)
    arrput(engine->prints, ((RefPrint){tile->index, (uint32_t)arrlenu(engine->prints), byte}));
}

static int compare_events(const void *a, const void *b)
{
  const RefEvent *x = a, *y = b;
  if (x->event.tile != y->event.tile)
    return x->event.tile < y->event.tile ? -1 : 1;
  return x->order < y->order ? -1 : x->order > y->order;
}

static int compare_prints(const void *a, const void *b)
{
  const RefPrint *x = a, *y = b;
  if (x->tile != y->tile)
    return x->tile < y->tile ? -1 : 1;
  return x->order < y->order ? -1 : x->order > y->order;
}

/* Tiles are visited in any order; what leaves the engine is sorted. */
static void deliver_outputs(RefEngine *engine)
{
  if (arrlenu(engine->events))
    qsort(engine->events, arrlenu(engine->events), sizeof *engine->events, compare_events);
  for (size_t i = 0; i < arrlenu(engine->events); i++)
    engine->options.trace->event(engine->options.trace, &engine->events[i].event);
  arrsetlen(engine->events, 0);
  if (arrlenu(engine->prints))
    qsort(engine->prints, arrlenu(engine->prints), sizeof *engine->prints, compare_prints);
  for (size_t i = 0; i < arrlenu(engine->prints); i++)
    engine->options.print(engine->options.print_context, engine->cycle, engine->prints[i].tile,
                          engine->prints[i].byte);
  arrsetlen(engine->prints, 0);
}

static void collect_faults(RefEngine *engine)
{
  size_t count = arrlenu(engine->new_faults);
  if (count == 0)
    return;
  qsort(engine->new_faults, count, sizeof *engine->new_faults, fault_compare);
  engine->stopped |= faults_collect(&engine->faults, engine->new_faults, count,
                                    engine->options.check, engine->options.checks);
  arrsetlen(engine->new_faults, 0);
}

/* ---- host channels --------------------------------------------------------------------------- */

static uint64_t host_num(const RefEngine *engine)
{
  uint16_t num = engine->program->timing.host_wavelets_num;
  return num ? num : 1;
}

/* Each free channel takes a word from the next of its tiles, in cyclic order, that has one. */
static void plan_channels(RefEngine *engine)
{
  uint64_t now = engine->cycle * host_num(engine);
  unsigned channels = engine->program->image->channels ? engine->program->image->channels : 1;
  for (unsigned i = 0; i < channels; i++)
    engine->channels[i].chosen = NO_TILE;
  for (size_t i = 0; i < arrlenu(engine->awake); i++) {
    const RefTile *tile = engine->tiles[engine->awake[i]];
    RefChannel *channel = &engine->channels[program_channel(engine->program, tile->index)];
    if (tile->plan.host_queue == NO_QUEUE || channel->free_at > now)
      continue;
    uint32_t n = engine->program->n_tiles, from = channel->last_tile + 1;
    if (channel->chosen == (uint32_t)NO_TILE ||
        (tile->index + n - from) % n < (channel->chosen + n - from) % n)
      channel->chosen = tile->index;
  }
  for (unsigned i = 0; i < channels; i++) {
    RefChannel *channel = &engine->channels[i];
    if (channel->chosen == (uint32_t)NO_TILE)
      continue;
    engine->tiles[channel->chosen]->plan.host_out = true;
    channel->last_tile = channel->chosen;
    /* Free since less than a cycle: the fraction counts, or the rate would be rounded down. */
    bool busy = channel->free_at + host_num(engine) > now;
    channel->free_at = (busy ? channel->free_at : now) + engine->program->timing.host_wavelets_den;
  }
}

/* ---- the cycle ------------------------------------------------------------------------------- */

static uint64_t sooner(uint64_t a, uint64_t b, uint64_t now)
{
  return b > now && b < a ? b : a;
}

/* The next cycle after this one in which something of the tile becomes due by itself. */
static uint64_t next_due(const RefEngine *engine, const RefTile *tile)
{
  uint64_t now = engine->cycle, due = NEVER;
  due = sooner(due, tile->ready, now);
  for (unsigned i = 0; i < REF_THREADS; i++)
    if (tile->threads[i].running)
      due = sooner(due, tile->threads[i].ready, now);
  for (size_t i = 0; i < arrlenu(tile->pending); i++)
    due = sooner(due, tile->pending[i].cycle, now);
  for (size_t i = 0; i < arrlenu(tile->pending_config); i++)
    due = sooner(due, tile->pending_config[i].cycle, now);
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    for (unsigned k = 0; k < tile->input[q].count; k++)
      due = sooner(due, ring_peek(&tile->input[q], k)->visible, now);
    if (tile->output[q].count)
      due = sooner(due, ring_peek(&tile->output[q], 0)->visible, now);
  }
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (tile->colors[c] && tile->colors[c]->slots.count)
      due = sooner(due, ring_peek(&tile->colors[c]->slots, 0)->visible, now);
  due = sooner(due, host_words_due(&tile->posted, now), now);
  if (tile->plan.host_queue != NO_QUEUE) {
    const RefChannel *channel = &engine->channels[program_channel(engine->program, tile->index)];
    uint64_t free_at = (channel->free_at + host_num(engine) - 1) / host_num(engine);
    due = sooner(due, free_at > now ? free_at : now + 1, now);
  }
  return due;
}

static void shuffle_awake(RefEngine *engine)
{
  uint32_t state = engine->options.shuffle + (uint32_t)engine->cycle;
  for (size_t i = arrlenu(engine->awake); i > 1; i--) {
    uint32_t swap;
    state = state * 1664525u + 1013904223u;
    swap = (uint32_t)((state >> 8) % i);
    uint32_t tile = engine->awake[i - 1];
    engine->awake[i - 1] = engine->awake[swap];
    engine->awake[swap] = tile;
  }
}

static void count_activity(RefEngine *engine, const RefTile *tile)
{
  EngineStats *stats = &engine->stats;
  if (tile->plan.thread < 0 && tile->plan.n_moves == 0)
    return;
  stats->active_tile_cycles++;
  if (stats->first_event == NEVER)
    stats->first_event = engine->cycle;
  stats->last_event = engine->cycle;
}

static void wake_after(RefEngine *engine, RefTile *tile)
{
  if (tile->changed || tile->router_changed)
    ref_wake(engine, tile->index, engine->cycle + 1);
  else {
    uint64_t due = next_due(engine, tile);
    if (due != NEVER)
      ref_wake(engine, tile->index, due);
  }
  for (unsigned p = 0; tile->router_changed && p < PORT_RAMP; p++) {
    uint32_t next = program_neighbour(engine->program, tile->index, (Port)p);
    if (next != NO_TILE && engine->tiles[next])   /* an untouched one has nothing to send */
      ref_wake(engine, next, engine->cycle + 1);
  }
}

static void step(RefEngine *engine)
{
  size_t count = arrlenu(engine->awake);
  if (engine->options.shuffle)
    shuffle_awake(engine);
  for (size_t i = 0; i < count; i++) {
    RefTile *tile = ref_tile(engine, engine->awake[i]);
    tile->changed = tile->router_changed = false;
    ref_tile_begin(engine, tile);
  }
  for (size_t i = 0; i < count; i++) {
    RefTile *tile = engine->tiles[engine->awake[i]];
    ref_tile_plan(engine, tile, &tile->plan);
  }
  plan_channels(engine);
  for (size_t i = 0; i < count; i++) {
    RefTile *tile = engine->tiles[engine->awake[i]];
    count_activity(engine, tile);
    ref_tile_commit(engine, tile);
  }
  ref_router_arrivals(engine);
  for (size_t i = 0; i < count; i++) {
    RefTile *tile = engine->tiles[engine->awake[i]];
    registers_settle(&tile->registers);
    if (tile->changed || tile->router_changed)
      engine->last_change = engine->cycle + 1;
    wake_after(engine, tile);
  }
  deliver_outputs(engine);
  collect_faults(engine);
}

/* Moves to the next cycle with awake tiles; false if there will never be one. */
static bool next_cycle(RefEngine *engine)
{
  if (arrlenu(engine->awake) == 0) {
    if (arrlenu(engine->timers) == 0)
      return false;
    if (engine->timers[0].cycle > engine->cycle)
      engine->cycle = engine->timers[0].cycle;
  }
  while (arrlenu(engine->timers) && engine->timers[0].cycle <= engine->cycle)
    ref_wake(engine, timers_pop(engine->timers).tile, engine->cycle);
  return true;
}

static RunStatus ref_run(Engine *base, uint64_t limit)
{
  RefEngine *engine = (RefEngine *)base;
  uint64_t floor = engine->cycle;
  for (;;) {
    if (engine->stopped)
      return RUN_FAULT;
    uint64_t before = engine->cycle;
    if (before >= limit)
      return RUN_LIMIT;
    if (!next_cycle(engine)) {   /* cycles in which tiles only looked do not count */
      engine->cycle = engine->last_change > floor ? engine->last_change : floor;
      memset(engine->queued, 0, sizeof *engine->queued * engine->program->n_tiles);
      return RUN_QUIET;
    }
    if (engine->cycle >= limit) {      /* its tiles stay listed for the next run */
      engine->cycle = limit;
      for (size_t i = 0; i < arrlenu(engine->awake); i++) {
        engine->queued[engine->awake[i]] = 0;
        timers_push(&engine->timers, (Timer){limit, engine->awake[i]});
      }
      arrsetlen(engine->awake, 0);
      return RUN_LIMIT;
    }
    step(engine);
    engine->cycle++;
    uint32_t *done = engine->awake;
    engine->awake = engine->awake_next;
    arrsetlen(done, 0);
    engine->awake_next = done;
    if (engine->options.trace && engine->options.trace->stop)
      return RUN_LIMIT;
    if (engine_interrupted(engine->options.interrupt) && !engine->stopped)
      return RUN_INTERRUPTED;
  }
}

/* ---- interface ------------------------------------------------------------------------------- */

/* Tiles that can do something of their own accord. */
static void wake_starters(RefEngine *engine)
{
  for (uint32_t t = 0; t < engine->program->n_tiles; t++) {
    const ClassCode *cls = program_class(engine->program, t);
    if (!cls)
      continue;
    const ImageClass *image = cls->image;
    if (image->start_entry != PC_RETURN || (image->active & ~image->blocked))
      ref_wake(engine, t, 0);
  }
}

static Engine *ref_create(Program *program, const EngineOptions *options)
{
  RefEngine *engine = base_malloc(sizeof *engine);
  unsigned channels = program->image->channels ? program->image->channels : 1;
  memset(engine, 0, sizeof *engine);
  engine->base.ops = &engine_reference;
  engine->program = program;
  engine->options = *options;
  engine->tiles = base_malloc(sizeof *engine->tiles * program->n_tiles);
  memset(engine->tiles, 0, sizeof *engine->tiles * program->n_tiles);
  engine->queued = base_malloc(sizeof *engine->queued * program->n_tiles);
  memset(engine->queued, 0, sizeof *engine->queued * program->n_tiles);
  engine->channels = base_malloc(sizeof *engine->channels * channels);
  for (unsigned i = 0; i < channels; i++)
    engine->channels[i] = (RefChannel){.last_tile = program->n_tiles - 1};
  engine->stats.first_event = NEVER;
  wake_starters(engine);
  return &engine->base;
}

static void ref_destroy(Engine *base)
{
  RefEngine *engine = (RefEngine *)base;
  for (uint32_t t = 0; t < engine->program->n_tiles; t++)
    tile_destroy(engine->tiles[t]);
  free(engine->tiles);
  free(engine->queued);
  free(engine->channels);
  arrfree(engine->awake);
  arrfree(engine->awake_next);
  arrfree(engine->timers);
  arrfree(engine->arrivals);
  arrfree(engine->faults);
  arrfree(engine->new_faults);
  arrfree(engine->events);
  arrfree(engine->prints);
  free(engine);
}

static uint64_t ref_cycle(const Engine *base)
{
  return ((const RefEngine *)base)->cycle;
}

static void ref_skip_to(Engine *base, uint64_t cycle)
{
  RefEngine *engine = (RefEngine *)base;
  if (cycle <= engine->cycle)
    return;
  for (size_t i = 0; i < arrlenu(engine->awake); i++) {
    engine->queued[engine->awake[i]] = 0;
    timers_push(&engine->timers, (Timer){cycle, engine->awake[i]});
  }
  arrsetlen(engine->awake, 0);
  engine->cycle = cycle;
}

static const EngineStats *ref_stats(const Engine *base)
{
  return &((const RefEngine *)base)->stats;
}

static void ref_phase_begin(Engine *base)
{
  EngineStats *stats = &((RefEngine *)base)->stats;
  stats->first_event = NEVER;
  stats->last_event = 0;
}

static const Fault *ref_faults(const Engine *base, size_t *count)
{
  const RefEngine *engine = (const RefEngine *)base;
  *count = arrlenu(engine->faults);
  return engine->faults;
}

static InspectWavelet inspect_wavelet(const Wavelet *w)
{
  return (InspectWavelet){w->payload, w->color, w->control, w->visible};
}

static void inspect_queue(const Ring *ring, unsigned capacity, QueueUse use, InspectQueue *out)
{
  out->count = ring->count;
  out->use = use;
  out->capacity = (uint8_t)capacity;
  if (ring->count)
    out->head = inspect_wavelet(ring_peek(ring, 0));
}

static void inspect_color(const ColorState *state, InspectColor *out)
{
  out->configured = true;
  out->suspended = state->suspended;
  out->count = state->slots.count;
  out->position = state->tx_position;
  out->rx = state->config->positions[state->rx_position].rx;
  out->tx = state->config->positions[state->tx_position].tx;
  if (out->count) {
    out->head = inspect_wavelet(ring_peek(&state->slots, 0));
    out->head_from = ring_peek(&state->slots, 0)->from;
  }
}

static void inspect_thread(const RefEngine *engine, const RefTile *tile, unsigned i,
                           InspectThread *out)
{
  const VecThread *t = &tile->threads[i];
  unsigned elements;
  bool by_control, by_fifo;
  if (i == MAIN_THREAD && tile->running) {
    out->state = THREAD_RUNNING;
    out->pc = tile->pc;
    out->task = tile->task;
    out->task_id = tile->task_id;
  }
  if (!t->running)
    return;
  out->state = THREAD_VECTOR;
  out->pc = t->run.pc;
  out->run = &t->run;
  out->stalled = t->stall;
  out->stalled_since = t->stall_since;
  out->waiting = ref_vec_plan(engine, tile, i, NULL, &elements, &by_control, &by_fifo,
                              &out->stream);
}

static void ref_inspect(Engine *base, uint32_t index, InspectTile *out)
{
  RefEngine *engine = (RefEngine *)base;
  const RefTile *tile = ref_tile(engine, index);
  *out = (InspectTile){.has_code = tile->cls != NULL, .active = tile->active,
                       .blocked = tile->blocked, .record = &tile->record, .paused = tile->paused,
                       .blocked_at = tile->blocked_at,
                       .wavelets_seen = tile->wavelets_seen};
  for (unsigned i = 0; i < REF_THREADS; i++)
    inspect_thread(engine, tile, i, &out->threads[i]);
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    inspect_queue(&tile->input[q], ref_input_capacity(engine, q), tile->input_use[q],
                  &out->input[q]);
    inspect_queue(&tile->output[q], ref_output_capacity(engine, q), tile->output_use[q],
                  &out->output[q]);
  }
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (tile->colors[c])
      inspect_color(tile->colors[c], &out->colors[c]);
  out->host_pending = host_words_pending(&tile->posted);
}

static bool ref_touched(const Engine *base, uint32_t tile)
{
  return ((const RefEngine *)base)->tiles[tile] != NULL;
}

static const Registers *ref_registers(Engine *base, uint32_t tile)
{
  const RefTile *t = ((RefEngine *)base)->tiles[tile];
  return t ? &t->regs : NULL;
}

/* Between cycles: engine->cycle is the next to run. */
static void host_wake(RefEngine *engine, uint32_t tile, uint64_t cycle)
{
  if (cycle > engine->cycle)
    timers_push(&engine->timers, (Timer){cycle, tile});
  else
    ref_wake(engine, tile, engine->cycle);
}

static RefTile *host_tile(RefEngine *engine, uint32_t tile)
{
  return tile < engine->program->n_tiles ? ref_tile(engine, tile) : NULL;
}

static bool ref_mem_read(Engine *base, uint32_t tile, uint32_t address, void *to, uint32_t bytes)
{
  RefTile *t = host_tile((RefEngine *)base, tile);
  return t && t->cls && mem_host_read(&t->mem, address, to, bytes);
}

static bool ref_mem_write(Engine *base, uint32_t tile, uint32_t address, const void *from,
                          uint32_t bytes)
{
  RefTile *t = host_tile((RefEngine *)base, tile);
  return t && t->cls && mem_host_write(&t->mem, address, from, bytes);
}

static bool ref_launch(Engine *base, uint32_t tile, uint16_t entry)
{
  RefEngine *engine = (RefEngine *)base;
  RefTile *t = host_tile(engine, tile);
  if (!t || !t->cls || t->launch_pending)
    return false;
  t->launch_pending = true;
  t->launch_entry = entry;
  host_wake(engine, tile, engine->cycle);
  return true;
}

static bool ref_post(Engine *base, uint32_t tile, unsigned color, uint32_t word, uint64_t cycle)
{
  RefEngine *engine = (RefEngine *)base;
  RefTile *t = host_tile(engine, tile);
  if (!t || !t->cls || color >= MAX_COLORS)
    return false;
  host_words_post(&t->posted, color, word, cycle);
  host_wake(engine, tile, cycle);
  return true;
}

static size_t ref_take(Engine *base, uint32_t tile, unsigned color, uint32_t *words,
                       uint64_t *cycles, size_t max)
{
  RefTile *t = ((RefEngine *)base)->tiles[tile];
  size_t taken = 0, kept = 0;
  for (size_t i = 0; t && i < arrlenu(t->sent); i++) {
    if (t->sent[i].color != color || taken == max) {
      t->sent[kept++] = t->sent[i];
      continue;
    }
    words[taken] = t->sent[i].word;
    if (cycles)
      cycles[taken] = t->sent[i].cycle;
    taken++;
  }
  if (taken)
    arrsetlen(t->sent, kept);
  return taken;
}

static uint32_t ref_unblock_count(Engine *base, uint32_t tile)
{
  const RefTile *t = ((RefEngine *)base)->tiles[tile];
  return t ? t->unblocks : 0;
}

const EngineOps engine_reference = {
  .name = "reference",
  .create = ref_create,
  .destroy = ref_destroy,
  .run = ref_run,
  .cycle = ref_cycle,
  .skip_to = ref_skip_to,
  .stats = ref_stats,
  .phase_begin = ref_phase_begin,
  .faults = ref_faults,
  .inspect = ref_inspect,
  .touched = ref_touched,
  .registers = ref_registers,
  .mem_read = ref_mem_read,
  .mem_write = ref_mem_write,
  .launch = ref_launch,
  .post = ref_post,
  .take = ref_take,
  .unblock_count = ref_unblock_count,
};
