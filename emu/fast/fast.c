/* Fast engine: tiles and their memory, and the interface to the world. */
#include "emu/fast/step.h"

#include "stb_ds.h"

#include <stdlib.h>
#include <string.h>

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
  e->height = e->program->image->height;
  e->stride[PORT_EAST] = (ptrdiff_t)sizeof(FastTile);
  e->stride[PORT_SOUTH] = (ptrdiff_t)sizeof(FastTile) * e->width;
  e->stride[PORT_WEST] = -e->stride[PORT_EAST];
  e->stride[PORT_NORTH] = -e->stride[PORT_SOUTH];
  e->router_slots = m->router_slots;
  e->word_bytes = m->word_bytes;
  e->bank_groups = m->mem_banks / 2;
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    e->input_capacity[q] = (uint8_t)(m->input_queue_depth[q] + e->timing->ramp_down);
    e->output_capacity[q] = (uint8_t)(m->output_queue_depth[q] + e->timing->ramp_up);
  }
}

static void *zeroed(size_t bytes)
{
  void *memory = base_malloc(bytes ? bytes : 1);
  return memset(memory, 0, bytes);
}

static void make_maps(FastEngine *e)
{
  e->row_words = (e->width + WORD_BITS - 1) / WORD_BITS;
  size_t words = (size_t)e->row_words * e->height;
  e->awake = zeroed(CALENDAR * words * sizeof *e->awake);
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

/* Strips go round the workers, so that all have a part of where something happens. */
static void make_rows(FastEngine *e)
{
  unsigned n = e->n_workers;
  uint32_t strip = e->height / (4 * n), most = slanted_rows(BLOCK_SHARED), first = 0;
  strip = strip < STRIP_LEAST ? STRIP_LEAST : strip > most ? most : strip;
  if (strip < slanted_rows(e->options.block))
    strip = slanted_rows(e->options.block);
  for (e->block_most = BLOCK_MOST; n > 1 && e->block_most > 1; e->block_most--)
    if (slanted_rows(e->block_most) <= strip)
      break;
  e->row_worker = zeroed(e->height * sizeof *e->row_worker);
  for (unsigned worker = 0; first < e->height; worker = (worker + 1) % n) {
    uint32_t end = n == 1 || e->height - first < 2 * strip ? e->height : first + strip;
    bool last = end == e->height;
    give_rows(e, worker, HALF_INNER, first ? first + 1 : 0, last ? end : end - 1);
    if (!last)
      give_rows(e, worker, HALF_BORDERS, end - 1, end + 1);
    first = end;
  }
}

static void make_workers(FastEngine *e)
{
  unsigned most = e->height / STRIP_LEAST, n = e->options.threads;
  e->n_workers = n > most ? most : n;
  if (e->n_workers == 0)
    e->n_workers = 1;
  e->workers = zeroed(e->n_workers * sizeof *e->workers);
  for (unsigned i = 0; i < e->n_workers; i++) {
    FastWorker *worker = &e->workers[i];
    worker->engine = e;
    worker->scratch = zeroed(sizeof *worker->scratch * DSR_FILE_COUNT);
    worker->stats.first_event = NEVER;
  }
  make_rows(e);
}

/* Tiles that can do something of their own accord. */
static void wake_starters(FastEngine *e)
{
  for (uint32_t t = 0; t < e->n_tiles; t++) {
    const ClassCode *cls = program_class(e->program, t);
    if (cls && (cls->image->start_entry != PC_RETURN ||
                (cls->image->active & ~cls->image->blocked)))
      fast_wake(e->workers, t, 0);
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
  e->step = options->trace ? &fast_step_traced : &fast_step_plain;
  make_geometry(e);
  make_maps(e);
  make_workers(e);
  make_sets(e);
  make_dsr_maps(e);
  fast_ahead_create(e);
  fast_bridges_create(e);
  make_channels(e);
  e->tiles = fast_reserve((size_t)e->n_tiles * sizeof *e->tiles);
  pthread_mutex_init(&e->spills_lock, NULL);
  wake_starters(e);
  return &e->base;
}

static void fast_destroy(Engine *base)
{
  FastEngine *e = (FastEngine *)base;
  fast_crew_destroy(e);
  fast_ahead_destroy(e);
  fast_tiles_destroy(e);
  pthread_mutex_destroy(&e->spills_lock);
  arrfree(e->faults);
  arrfree(e->spills);
  for (uint32_t row = 0; row < e->height; row++)
    arrfree(e->chores[row]);
  void *pieces[] = {e->sets, e->dsr_maps, e->channels, e->workers, e->awake, e->row_awake,
                    e->chores, e->host_waiting, e->row_worker};
  for (size_t i = 0; i < ARRAY_COUNT(pieces); i++)
    free(pieces[i]);
  free(e);
}

/* ---- interface -------------------------------------------------------------------------- */

static uint64_t fast_cycle(const Engine *base)
{
  return ((const FastEngine *)base)->cycle;
}

static const EngineStats *fast_stats(const Engine *base)
{
  FastEngine *e = (FastEngine *)(uintptr_t)base;
  e->stats = (EngineStats){.first_event = NEVER};
  for (unsigned k = 0; k < e->n_workers; k++) {
    const EngineStats *add = &e->workers[k].stats;
    EngineStats *sum = &e->stats;
    sum->first_event = add->first_event < sum->first_event ? add->first_event : sum->first_event;
    uint64_t ahead = e->workers[k].ahead_last;
    sum->last_event = add->last_event > sum->last_event ? add->last_event : sum->last_event;
    sum->last_event = ahead > sum->last_event ? ahead : sum->last_event;
    sum->active_tile_cycles += add->active_tile_cycles;
    sum->instructions += add->instructions;
    sum->groups += add->groups;
    sum->elements += add->elements;
    sum->wavelets += add->wavelets;
    sum->wavelet_hops += add->wavelet_hops;
    sum->tasks += add->tasks;
    for (unsigned i = 0; i < STALL_COUNT; i++)
      sum->stalls[i] += add->stalls[i];
    for (unsigned i = 0; i < TRUST_COUNT; i++)
      sum->paid[i] += add->paid[i];
  }
  return &e->stats;
}

static void fast_phase_begin(Engine *base)
{
  FastEngine *e = (FastEngine *)base;
  for (unsigned k = 0; k < e->n_workers; k++) {
    e->workers[k].stats.first_event = NEVER;
    e->workers[k].stats.last_event = e->workers[k].ahead_last = 0;
  }
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
  FastTile *t = tile < e->n_tiles ? fast_touch(e->workers, tile) : NULL;
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
    fast_wake(e->workers, tile, e->cycle);
  else
    fast_timer(&e->workers[e->row_worker[tile / e->width]], tile, e->cycle, cycle);
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
    t->host = fast_alloc(e->workers, sizeof *t->host, _Alignof(FastHost));
  t->attended = e->hosted = true;
  if (host_words_post(&t->host->posted, color, word, cycle))
    host_wake(e, tile, cycle);
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
