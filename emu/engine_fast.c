/* Fast engine: tiles and their memory, the clock, and the interface to the world. */
#include "emu/engine_fast.h"

#include "stb_ds.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>


enum { SLAB_BYTES = 1 << 21, LINE_BYTES = 64, WORD_ALIGN = 16 };

/* ---- memory ----------------------------------------------------------------------------- */

/* Zeroed memory whose pages are taken only when they are written. */
static void *reserve(size_t bytes)
{
  void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED)
    ICE("no memory for %zu bytes of tiles", bytes);
  madvise(pages, bytes, MADV_HUGEPAGE);     /* a wish: sweeps over tiles miss less */
  return pages;
}

void *fast_alloc(FastEngine *e, size_t bytes, size_t align)
{
  e->slab_used = (e->slab_used + align - 1) / align * align;
  if (bytes > SLAB_BYTES)
    ICE("a piece of %zu bytes does not fit a slab", bytes);
  if (arrlenu(e->slabs) == 0 || e->slab_used + bytes > SLAB_BYTES) {
    char *slab = reserve(SLAB_BYTES);
    arrput(e->slabs, slab);
    e->slab_used = 0;
  }
  void *piece = arrlast(e->slabs) + e->slab_used;
  e->slab_used += bytes;
  return piece;
}

FastRun *fast_run_alloc(FastEngine *e)
{
  return arrlenu(e->free_runs) ? arrpop(e->free_runs) : fast_alloc(e, sizeof(FastRun), LINE_BYTES);
}

void fast_run_free(FastEngine *e, FastRun *run)
{
  arrput(e->free_runs, run);
}

/* One more than the capacity: a router and the host may push in one cycle, both judging by the
 * count at its start. */
static unsigned places(unsigned capacity)
{
  return capacity < QUEUE_FEW ? QUEUE_FEW + 1 : capacity + 1;
}

void fast_queues_create(FastEngine *e, FastQueues *queues, unsigned number)
{
  FastQueue *in = &queues->input, *out = &queues->output;
  in->places = (uint8_t)places(e->input_capacity[number]);
  out->places = (uint8_t)places(e->output_capacity[number]);
  unsigned most = in->places > out->places ? in->places : out->places;
  in->at = fast_alloc(e, most * QUEUE_STEP * sizeof *in->at, LINE_BYTES);
  out->at = in->at + 1;
}

/* ---- geometry --------------------------------------------------------------------------- */

uint32_t fast_neighbour(const FastEngine *e, uint32_t tile, Port port)
{
  uint32_t x = tile % e->width;
  switch (port) {
  case PORT_NORTH: return tile >= e->width ? tile - e->width : (uint32_t)NO_TILE;
  case PORT_SOUTH: return tile + e->width < e->n_tiles ? tile + e->width : (uint32_t)NO_TILE;
  case PORT_EAST: return x + 1 < e->width ? tile + 1 : (uint32_t)NO_TILE;
  case PORT_WEST: return x > 0 ? tile - 1 : (uint32_t)NO_TILE;
  case PORT_RAMP: case PORT_COUNT: default: return NO_TILE;
  }
}

/* ---- tiles ------------------------------------------------------------------------------ */

static void load_colors(FastEngine *e, FastTile *t)
{
  const FastSet *set = t->set;
  t->colors = set->n ? fast_alloc(e, set->n * sizeof *t->colors, LINE_BYTES) : NULL;
  t->filters = set->filters ? fast_alloc(e, set->n * sizeof *t->filters, WORD_ALIGN) : NULL;
  for (unsigned slot = 0; slot < set->n; slot++) {
    const ImageColorConfig *config = set->config[slot];
    FastColor *c = &t->colors[slot];
    c->route = config->filter.kind != FILTER_NONE ? ROUTE_FILTERED : 0;
    color_set(c, config, config->current, config->current, config->teardown);
    c->stamp = (uint32_t)e->cycle - 1;      /* of no cycle to come */
    if (t->filters)
      t->filters[slot] = (FastFilter){.counter = config->filter.init_counter,
                                      .limit1 = config->filter.limit1};
    memset(c->next, NO_SLOT, sizeof c->next);
  }
}

static void load_program(FastEngine *e, FastTile *t)
{
  const ImageClass *image = t->cls->image;
  const FastDsrMap *map = &e->dsr_maps[t->cls->index];
  t->mem.cls = t->cls;
  mem_lend(e->program, t->index, &t->mem,
           fast_alloc(e, mem_compact_bytes(t->cls), LINE_BYTES));
  t->dsrs = fast_alloc(e, (map->n + 1u) * sizeof *t->dsrs, WORD_ALIGN);
  for (uint32_t i = 0; i < image->n_dsrs; i++) {
    const ImageDsr *dsr = &image->dsrs[i];
    Descriptor desc;
    if (map->place[dsr->file][dsr->number] < map->n &&
        descriptor_decode(dsr->words, ARRAY_COUNT(dsr->words), &desc))
      dsr_load(&t->dsrs[map->place[dsr->file][dsr->number]], &desc);
  }
  t->active = image->active;
  t->blocked = image->blocked;
  t->paused = image->paused;
  t->registers = t->cls->start.tile;
  t->task_id = MAX_TASK_IDS - 1;
  t->tsc_running = t->cls->start.tsc_running;
  t->tsc_value = t->cls->start.tsc_value;
  t->high = t->cls->start.high_tasks;
  t->main_level = (uint8_t)(LEVEL_MAIN + t->cls->start.main_priority % (LEVELS - LEVEL_MAIN));
  if (image->start_entry != PC_RETURN) {
    t->running = true;
    t->pc = image->start_entry;
    t->regs.r[e->program->machine->sp_register] = image->stack_top;
  }
}

void fast_bind_queues(FastTile *t)
{
  static const uint8_t none[MAX_COLORS] = {[0 ... MAX_COLORS - 1] = NO_QUEUE};
  const QueueBindings *queues = t->registers.queues;
  t->data_queue = !t->cls ? none : queues ? queues->data_queue : t->cls->image->data_queue;
}

FastTile *fast_touch(FastEngine *e, uint32_t index)
{
  FastTile *t = &e->tiles[index];
  if (t->set)
    return t;
  arrput(e->touched, index);
  t->index = index;
  t->set = &e->sets[e->program->image->tile_colors[index]];
  t->cls = program_class(e->program, index);
  t->has_code = t->cls != NULL;
  t->pending_due = NEVER;
  t->first_slot = MAX_COLORS - 1;           /* so that slot 0 is visited first */
  t->last_ramp_queue = MAX_QUEUES - 1;
  for (unsigned level = 0; level < LEVELS; level++)
    t->last_issued[level] = FAST_THREADS - 1;
  load_colors(e, t);
  if (t->cls)
    load_program(e, t);
  fast_bind_queues(t);
  return t;
}

/* ---- the clock -------------------------------------------------------------------------- */

static bool timer_before(FastTimer a, FastTimer b)
{
  return a.cycle < b.cycle;
}

static void timer_push(FastEngine *e, FastTimer timer)
{
  arrput(e->timers, timer);
  FastTimer *heap = e->timers;
  size_t i = arrlenu(heap) - 1;
  for (; i > 0 && timer_before(timer, heap[(i - 1) / 2]); i = (i - 1) / 2)
    heap[i] = heap[(i - 1) / 2];
  heap[i] = timer;
}

static FastTimer timer_pop(FastEngine *e)
{
  FastTimer *heap = e->timers, top = heap[0], last = arrpop(e->timers);
  size_t n = arrlenu(heap), i = 0;
  while (n) {
    size_t child = 2 * i + 1;
    if (child >= n)
      break;
    if (child + 1 < n && timer_before(heap[child + 1], heap[child]))
      child++;
    if (!timer_before(heap[child], last))
      break;
    heap[i] = heap[child];
    i = child;
  }
  if (n)
    heap[i] = last;
  return top;
}

/* Wakes the tile in a cycle after this one. */
void fast_timer(FastEngine *e, uint32_t tile, uint64_t cycle)
{
  if (cycle <= e->cycle + 1) {
    fast_wake_next(e, tile);
  } else if (cycle - e->cycle < WHEEL) {
    arrput(e->wheel[cycle % WHEEL], tile);
    e->wheel_used |= UINT64_C(1) << cycle % WHEEL;
  } else {
    timer_push(e, (FastTimer){cycle, tile});
  }
}

/* The next cycle after this one in which something of the tile becomes due by itself. */
static uint64_t sooner(uint64_t a, uint64_t b, uint64_t now)
{
  return b > now && b < a ? b : a;
}

static uint64_t sooner_wavelet(uint64_t a, uint32_t meta, uint64_t now)
{
  int32_t wait = wavelet_wait(meta, now);
  return wait > 0 ? sooner(a, now + (uint64_t)wait, now) : a;
}

uint64_t fast_next_due(const FastEngine *e, const FastTile *t)
{
  uint64_t now = e->cycle, due = sooner(NEVER, t->ready, now);
  for (unsigned bits = t->vectors; bits; bits &= bits - 1)
    due = sooner(due, t->threads[__builtin_ctz(bits)].ready, now);
  due = sooner(due, t->pending_due, now);
  for (unsigned bits = t->input_any; bits; bits &= bits - 1) {
    const FastQueue *q = &t->queues[__builtin_ctz(bits)].input;
    for (unsigned k = 0; k < q->count; k++)
      due = sooner_wavelet(due, queue_at(q, k)->meta, now);
  }
  for (unsigned bits = t->output_any; bits; bits &= bits - 1)
    due = sooner_wavelet(due, queue_at(&t->queues[__builtin_ctz(bits)].output, 0)->meta, now);
  for (uint32_t bits = t->occupied; bits; bits &= bits - 1) {
    const FastColor *c = &t->colors[__builtin_ctz(bits)];
    due = sooner_wavelet(due, c->w[0].meta, now);
  }
  if (t->host && t->host->posted_at < arrlenu(t->host->posted))
    due = sooner(due, t->host->posted[t->host->posted_at].cycle, now);
  return due;
}

/* Stamps that lie in the past are moved to now, so that they never look as if in the future. */
static void freshen_wavelet(FastWavelet *w, uint64_t old, uint64_t now)
{
  int64_t visible = (int64_t)old + wavelet_wait(w->meta, old);
  if (visible <= (int64_t)now)
    w->meta = (w->meta & ~(uint32_t)STAMP_MASK) | ((uint32_t)now & STAMP_MASK);
}

static void freshen(FastEngine *e, uint64_t now)
{
  for (size_t i = 0; i < arrlenu(e->touched); i++) {
    FastTile *t = &e->tiles[e->touched[i]];
    for (unsigned q = 0; q < MAX_QUEUES; q++) {
      for (unsigned k = 0; k < t->queues[q].input.count; k++)
        freshen_wavelet(queue_at(&t->queues[q].input, k), e->cycle, now);
      for (unsigned k = 0; k < t->queues[q].output.count; k++)
        freshen_wavelet(queue_at(&t->queues[q].output, k), e->cycle, now);
    }
    for (unsigned slot = 0; slot < t->set->n; slot++) {
      FastColor *c = &t->colors[slot];
      for (unsigned k = 0; k < FAST_SLOTS; k++)
        freshen_wavelet(&c->w[k], e->cycle, now);
      c->stamp = (uint32_t)now - 1;
    }
  }
  for (size_t i = 0; i < arrlenu(e->spills); i++)
    freshen_wavelet(&e->spills[i].wavelet, e->cycle, now);
  e->freshened = now;
}

/* Between cycles: cycle `now` is the next to run. */
static void set_cycle(FastEngine *e, uint64_t now)
{
  if (now - e->freshened >= FRESHEN_CYCLES)
    freshen(e, now);
  e->cycle = now;
}

/* The tiles listed for the next cycle become those of this one. */
static void turn(FastEngine *e)
{
  uint64_t *awake = e->awake, *summary = e->summary;
  e->awake = e->awake_next;
  e->summary = e->summary_next;
  e->awake_next = awake;
  e->summary_next = summary;
  e->any_next = false;
}

/* Cycle of the soonest timer, wheel or free channel; NEVER if there is none. */
static uint64_t soonest(const FastEngine *e)
{
  uint64_t due = NEVER;
  if (e->wheel_used) {
    unsigned turned = (unsigned)(e->cycle % WHEEL);
    uint64_t used = e->wheel_used >> turned | (turned ? e->wheel_used << (WHEEL - turned) : 0);
    due = e->cycle + (uint64_t)__builtin_ctzll(used);
  }
  if (arrlenu(e->timers) && e->timers[0].cycle < due)
    due = e->timers[0].cycle;
  uint64_t num = e->timing->host_wavelets_num ? e->timing->host_wavelets_num : 1;
  for (unsigned i = 0; e->n_host_waiting && i < e->n_channels; i++) {
    uint64_t free_at = (e->channels[i].free_at + num - 1) / num;
    if (e->channels[i].waiting && free_at < due)
      due = free_at;
  }
  return due > e->cycle || due == NEVER ? due : e->cycle;
}

/* Lists what is due in the cycle about to run. */
static void take_timers(FastEngine *e)
{
  uint32_t **slot = &e->wheel[e->cycle % WHEEL];
  for (size_t i = 0; i < arrlenu(*slot); i++)
    fast_wake_next(e, (*slot)[i]);
  arrsetlen(*slot, 0);
  e->wheel_used &= ~(UINT64_C(1) << e->cycle % WHEEL);
  while (arrlenu(e->timers) && e->timers[0].cycle <= e->cycle)
    fast_wake_next(e, timer_pop(e).tile);
}

static void collect_faults(FastEngine *e)
{
  size_t count = arrlenu(e->new_faults);
  qsort(e->new_faults, count, sizeof *e->new_faults, fault_compare);
  for (size_t i = 0; i < count; i++) {
    const Fault *fault = &e->new_faults[i];
    bool hazard = fault_is_hazard(fault->kind);
    if ((hazard && e->options.check == CHECK_OFF) || (i && fault_compare(fault, fault - 1) == 0))
      continue;
    arrput(e->faults, *fault);
    e->stopped |= !hazard || e->options.check == CHECK_ERROR;
  }
  arrsetlen(e->new_faults, 0);
}

static RunStatus fast_run(Engine *base, uint64_t limit)
{
  FastEngine *e = (FastEngine *)base;
  uint64_t floor = e->cycle;
  for (;;) {
    if (e->stopped)
      return RUN_FAULT;
    if (e->cycle >= limit)
      return RUN_LIMIT;
    if (!e->any_next) {
      uint64_t due = soonest(e);
      if (due == NEVER) {
        e->cycle = e->last_change > floor ? e->last_change : floor;
        return RUN_QUIET;
      }
      set_cycle(e, due < limit ? due : limit);
      if (e->cycle >= limit)
        return RUN_LIMIT;
    }
    take_timers(e);
    turn(e);
    if (e->options.trace)
      fast_visit_all_traced(e);
    else
      fast_visit_all_plain(e);
    if (arrlenu(e->new_faults))
      collect_faults(e);
    set_cycle(e, e->cycle + 1);
    if (e->options.trace && e->options.trace->stop)
      return RUN_LIMIT;
  }
}

/* ---- creation --------------------------------------------------------------------------- */

static void make_sets(FastEngine *e)
{
  const Image *image = e->program->image;
  e->sets = base_malloc(sizeof *e->sets * (image->n_color_sets + 1));
  memset(e->sets, 0, sizeof *e->sets * (image->n_color_sets + 1));
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
      set->swaps |= by_color[color]->swap_x || by_color[color]->swap_y;
    }
    e->swaps |= set->swaps;
  }
}

static void name_dsr(FastDsrMap *map, DsrFile file, unsigned number)
{
  if (map->place[file][number] == NO_SLOT)
    map->place[file][number] = map->n++;
}

static void name_operand(FastDsrMap *map, const VecOperand *operand)
{
  if (operand->kind == VOPND_DSR)
    name_dsr(map, operand->file, operand->number);
}

static void make_dsr_maps(FastEngine *e)
{
  uint32_t n = e->program->image->n_classes;
  e->dsr_maps = base_malloc(sizeof *e->dsr_maps * (n + 1));
  for (uint32_t i = 0; i < n; i++) {
    const ClassCode *cls = &e->program->classes[i];
    FastDsrMap *map = &e->dsr_maps[i];
    map->n = 0;
    memset(map->place, NO_SLOT, sizeof map->place);
    for (uint32_t k = 0; k < cls->n_insns; k++) {
      const Insn *insn = &cls->insns[k];
      if (insn->op == OP_ldsr || insn->op == OP_dsrset || insn->op == OP_dsrget)
        name_dsr(map, insn->file, insn->a);
      if (insn->op != OP_vec)
        continue;
      name_operand(map, &insn->vec.dest);
      name_operand(map, &insn->vec.src0);
      name_operand(map, &insn->vec.src1);
    }
  }
}

static void make_channels(FastEngine *e)
{
  e->n_channels = e->program->image->channels ? e->program->image->channels : 1;
  e->channels = base_malloc(sizeof *e->channels * e->n_channels);
  for (unsigned i = 0; i < e->n_channels; i++)
    e->channels[i] = (FastChannel){.last_tile = e->n_tiles - 1, .first = e->n_tiles};
  for (uint32_t first = 0; first < e->n_tiles; first += e->width) {   /* bands of rows */
    FastChannel *channel = &e->channels[program_channel(e->program, first)];
    if (channel->first > first)
      channel->first = first;
    channel->end = first + e->width;
  }
}

static void make_geometry(FastEngine *e)
{
  const Machine *m = e->program->machine;
  e->n_tiles = e->program->n_tiles;
  e->width = e->program->image->width;
  e->step[PORT_EAST] = (ptrdiff_t)sizeof(FastTile);
  e->step[PORT_SOUTH] = (ptrdiff_t)sizeof(FastTile) * e->width;
  e->step[PORT_WEST] = -e->step[PORT_EAST];
  e->step[PORT_NORTH] = -e->step[PORT_SOUTH];
  e->router_slots = m->router_slots;
  e->word_bytes = m->word_bytes;
  e->bank_groups = m->mem_banks / 2;
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    e->input_capacity[q] = (uint8_t)(m->input_queue_depth[q] + e->timing->ramp_down);
    e->output_capacity[q] = (uint8_t)(m->output_queue_depth[q] + e->timing->ramp_up);
  }
}

static void make_maps(FastEngine *e)
{
  e->n_words = (e->n_tiles + WORD_BITS - 1) / WORD_BITS;
  e->n_summary = (e->n_words + WORD_BITS - 1) / WORD_BITS;
  uint64_t **maps[] = {&e->awake, &e->awake_next, &e->host_waiting};
  for (size_t i = 0; i < ARRAY_COUNT(maps); i++) {
    *maps[i] = base_malloc(e->n_words * sizeof **maps[i]);
    memset(*maps[i], 0, e->n_words * sizeof **maps[i]);
  }
  uint64_t **summaries[] = {&e->summary, &e->summary_next};
  for (size_t i = 0; i < ARRAY_COUNT(summaries); i++) {
    *summaries[i] = base_malloc(e->n_summary * sizeof **summaries[i]);
    memset(*summaries[i], 0, e->n_summary * sizeof **summaries[i]);
  }
}

/* Tiles that can do something of their own accord. */
static void wake_starters(FastEngine *e)
{
  for (uint32_t t = 0; t < e->n_tiles; t++) {
    const ClassCode *cls = program_class(e->program, t);
    if (cls && (cls->image->start_entry != PC_RETURN ||
                (cls->image->active & ~cls->image->blocked)))
      fast_wake_next(e, t);
  }
}

static Engine *fast_create(Program *program, const EngineOptions *options)
{
  FastEngine *e = base_malloc(sizeof *e);
  memset(e, 0, sizeof *e);
  e->base.ops = &engine_fast;
  e->program = program;
  e->options = *options;
  e->timing = &program->timing;
  make_geometry(e);
  make_maps(e);
  make_sets(e);
  make_dsr_maps(e);
  make_channels(e);
  e->tiles = reserve((size_t)e->n_tiles * sizeof *e->tiles);
  e->scratch = base_malloc(sizeof *e->scratch * DSR_FILE_COUNT);
  memset(e->scratch, 0, sizeof *e->scratch * DSR_FILE_COUNT);
  e->stats.first_event = NEVER;
  wake_starters(e);
  return &e->base;
}

static void tile_destroy(FastTile *t)
{
  mem_free(&t->mem);
  free(t->registers.queues);
  arrfree(t->pending);
  if (t->host) {
    arrfree(t->host->posted);
    arrfree(t->host->sent);
  }
}

static void fast_destroy(Engine *base)
{
  FastEngine *e = (FastEngine *)base;
  for (size_t i = 0; i < arrlenu(e->touched); i++)
    tile_destroy(&e->tiles[e->touched[i]]);
  for (size_t i = 0; i < arrlenu(e->slabs); i++)
    munmap(e->slabs[i], SLAB_BYTES);
  for (unsigned i = 0; i < WHEEL; i++)
    arrfree(e->wheel[i]);
  munmap(e->tiles, (size_t)e->n_tiles * sizeof *e->tiles);
  arrfree(e->touched);
  arrfree(e->slabs);
  arrfree(e->free_runs);
  arrfree(e->timers);
  arrfree(e->faults);
  arrfree(e->new_faults);
  arrfree(e->spills);
  arrfree(e->meetings);
  arrfree(e->events);
  void *pieces[] = {e->sets, e->dsr_maps, e->channels, e->scratch, e->awake, e->awake_next,
                    e->host_waiting, e->summary, e->summary_next};
  for (size_t i = 0; i < ARRAY_COUNT(pieces); i++)
    free(pieces[i]);
  free(e);
}

/* ---- interface -------------------------------------------------------------------------- */

static uint64_t fast_cycle(const Engine *base)
{
  return ((const FastEngine *)base)->cycle;
}

/* What would have been due meanwhile is due then. */
static void fast_skip_to(Engine *base, uint64_t cycle)
{
  FastEngine *e = (FastEngine *)base;
  if (cycle <= e->cycle)
    return;
  for (unsigned k = 0; k < WHEEL && e->cycle + k <= cycle; k++) {
    uint32_t **slot = &e->wheel[(e->cycle + k) % WHEEL];
    for (size_t i = 0; i < arrlenu(*slot); i++)
      fast_wake_next(e, (*slot)[i]);
    arrsetlen(*slot, 0);
    e->wheel_used &= ~(UINT64_C(1) << (e->cycle + k) % WHEEL);
  }
  set_cycle(e, cycle);
}

static const EngineStats *fast_stats(const Engine *base)
{
  return &((const FastEngine *)base)->stats;
}

static void fast_phase_begin(Engine *base)
{
  EngineStats *stats = &((FastEngine *)base)->stats;
  stats->first_event = NEVER;
  stats->last_event = 0;
}

static const Fault *fast_faults(const Engine *base, size_t *count)
{
  const FastEngine *e = (const FastEngine *)base;
  *count = arrlenu(e->faults);
  return e->faults;
}

static bool fast_touched(const Engine *base, uint32_t tile)
{
  return ((const FastEngine *)base)->tiles[tile].set != NULL;
}

static const Registers *fast_registers(Engine *base, uint32_t tile)
{
  const FastTile *t = &((FastEngine *)base)->tiles[tile];
  return t->set ? &t->regs : NULL;
}

static FastTile *host_tile(FastEngine *e, uint32_t tile)
{
  FastTile *t = tile < e->n_tiles ? fast_touch(e, tile) : NULL;
  return t && t->cls ? t : NULL;
}

static bool fast_mem_read(Engine *base, uint32_t tile, uint32_t address, void *to, uint32_t bytes)
{
  FastTile *t = host_tile((FastEngine *)base, tile);
  return t && mem_host_read(&t->mem, address, to, bytes);
}

static bool fast_mem_write(Engine *base, uint32_t tile, uint32_t address, const void *from,
                           uint32_t bytes)
{
  FastTile *t = host_tile((FastEngine *)base, tile);
  return t && mem_host_write(&t->mem, address, from, bytes);
}

/* Between cycles: e->cycle is the next to run. */
static void host_wake(FastEngine *e, uint32_t tile, uint64_t cycle)
{
  if (cycle <= e->cycle)
    fast_wake_next(e, tile);
  else
    fast_timer(e, tile, cycle);
}

static bool fast_launch(Engine *base, uint32_t tile, uint16_t entry)
{
  FastEngine *e = (FastEngine *)base;
  FastTile *t = host_tile(e, tile);
  if (!t || t->launch_pending)
    return false;
  t->launch_pending = true;
  t->launch_entry = entry;
  host_wake(e, tile, e->cycle);
  return true;
}

static bool fast_post(Engine *base, uint32_t tile, unsigned color, uint32_t word, uint64_t cycle)
{
  FastEngine *e = (FastEngine *)base;
  FastTile *t = host_tile(e, tile);
  if (!t || color >= MAX_COLORS)
    return false;
  if (!t->host)
    t->host = fast_alloc(e, sizeof *t->host, WORD_ALIGN);
  t->attended = true;
  if (t->host->posted_at == arrlenu(t->host->posted)) {
    arrsetlen(t->host->posted, 0);
    t->host->posted_at = 0;
    host_wake(e, tile, cycle);
  }
  arrput(t->host->posted, ((FastHostWord){cycle, word, (uint8_t)color}));
  return true;
}

static size_t fast_take(Engine *base, uint32_t tile, unsigned color, uint32_t *words,
                        uint64_t *cycles, size_t max)
{
  FastHost *host = ((FastEngine *)base)->tiles[tile].host;
  size_t taken = 0, kept = 0;
  for (size_t i = 0; host && i < arrlenu(host->sent); i++) {
    if (host->sent[i].color != color || taken == max) {
      host->sent[kept++] = host->sent[i];
      continue;
    }
    words[taken] = host->sent[i].word;
    if (cycles)
      cycles[taken] = host->sent[i].cycle;
    taken++;
  }
  if (taken)
    arrsetlen(host->sent, kept);
  return taken;
}

static uint32_t fast_unblock_count(Engine *base, uint32_t tile)
{
  return ((FastEngine *)base)->tiles[tile].unblocks;
}

const EngineOps engine_fast = {
  .name = "fast",
  .create = fast_create,
  .destroy = fast_destroy,
  .run = fast_run,
  .cycle = fast_cycle,
  .skip_to = fast_skip_to,
  .stats = fast_stats,
  .phase_begin = fast_phase_begin,
  .faults = fast_faults,
  .inspect = fast_inspect,
  .touched = fast_touched,
  .registers = fast_registers,
  .mem_read = fast_mem_read,
  .mem_write = fast_mem_write,
  .launch = fast_launch,
  .post = fast_post,
  .take = fast_take,
  .unblock_count = fast_unblock_count,
};
