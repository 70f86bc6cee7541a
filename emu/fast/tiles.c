/* Fast engine: tiles, and memory for what they need. */
#include "emu/fast/step.h"

#include "stb_ds.h"

#include <string.h>
#include <sys/mman.h>

enum { SLAB_BYTES = 1 << 21, LINE_BYTES = 64, WORD_ALIGN = 16 };

/* ---- memory ----------------------------------------------------------------------------- */

/* Zeroed memory whose pages are taken only when they are written. */
void *fast_reserve(size_t bytes)
{
  void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED)
    base_out_of_memory(bytes, "the tiles");
  madvise(pages, bytes, MADV_HUGEPAGE);     /* a wish: sweeps over tiles miss less */
  return pages;
}

void *fast_alloc(FastWorker *w, size_t bytes, size_t align)
{
  w->slab_used = (w->slab_used + align - 1) / align * align;
  if (bytes > SLAB_BYTES)
    ICE("a piece of %zu bytes does not fit a slab", bytes);
  if (arrlenu(w->slabs) == 0 || w->slab_used + bytes > SLAB_BYTES) {
    char *slab = fast_reserve(SLAB_BYTES);
    arrput(w->slabs, slab);
    w->slab_used = 0;
  }
  void *piece = arrlast(w->slabs) + w->slab_used;
  w->slab_used += bytes;
  return piece;
}

FastWork *fast_work_alloc(FastWorker *w)
{
  return arrlenu(w->free_works) ? arrpop(w->free_works)
                                : fast_alloc(w, sizeof(FastWork), LINE_BYTES);
}

void fast_work_free(FastWorker *w, void *work)
{
  arrput(w->free_works, work);
}

/* One more than the capacity: a router and the host may push in one cycle, both judging by the
 * count at its start. */
static unsigned places(unsigned capacity)
{
  return capacity < QUEUE_FEW ? QUEUE_FEW + 1 : capacity + 1;
}

void fast_queues_create(FastWorker *w, FastQueues *queues, unsigned number)
{
  FastQueue *in = &queues->input, *out = &queues->output;
  in->places = (uint8_t)places(w->engine->input_capacity[number]);
  out->places = (uint8_t)places(w->engine->output_capacity[number]);
  unsigned most = in->places > out->places ? in->places : out->places;
  in->at = fast_alloc(w, most * QUEUE_STEP * sizeof *in->at, LINE_BYTES);
  out->at = in->at + 1;
}

/* ---- tiles ------------------------------------------------------------------------------ */

static void load_colors(FastWorker *w, FastTile *t)
{
  const FastSet *set = t->set;
  t->colors = set->n ? fast_alloc(w, set->n * sizeof *t->colors, LINE_BYTES) : NULL;
  t->filters = set->filters ? fast_alloc(w, set->n * sizeof *t->filters, WORD_ALIGN) : NULL;
  for (unsigned slot = 0; slot < set->n; slot++) {
    const ImageColorConfig *config = set->config[slot];
    FastColor *c = &t->colors[slot];
    c->route = config->filter.kind != FILTER_NONE ? ROUTE_FILTERED : 0;
    color_set(c, config, config->current, config->current, config->teardown);
    c->stamp = (uint32_t)w->engine->cycle - 1;      /* of no cycle to come */
    if (t->filters)
      t->filters[slot] = (FastFilter){.counter = config->filter.init_counter,
                                      .limit1 = config->filter.limit1};
    memset(c->next, NO_SLOT, sizeof c->next);
  }
}

static void load_program(FastWorker *w, FastTile *t)
{
  const FastEngine *e = w->engine;
  const ImageClass *image = t->cls->image;
  const FastDsrMap *map = &e->dsr_maps[t->cls->index];
  t->mem.cls = t->cls;
  mem_lend(e->program, t->index, &t->mem,
           fast_alloc(w, mem_compact_bytes(t->cls), LINE_BYTES));
  t->dsrs = fast_alloc(w, (map->n + 1u) * sizeof *t->dsrs, WORD_ALIGN);
  for (uint32_t i = 0; i < image->n_dsrs; i++) {
    const ImageDsr *dsr = &image->dsrs[i];
    Descriptor desc;
    if (map->place[dsr->file][dsr->number] < map->n &&
        descriptor_decode(dsr->words, ARRAY_COUNT(dsr->words), &desc))
      dsr_set(&t->dsrs[map->place[dsr->file][dsr->number]], &desc);
  }
  t->active = image->active;
  t->blocked = image->blocked;
  t->paused = image->paused;
  t->registers = registers_initial(&t->cls->start);
  t->regs.traps = registers_traps(&t->registers);
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
  registers_settle(&t->registers);
  static const uint8_t none[MAX_COLORS] = {[0 ... MAX_COLORS - 1] = NO_QUEUE};
  const QueueBindings *queues = t->registers.queues;
  t->data_queue = !t->cls ? none : queues ? queues->arrives : t->cls->image->data_queue;
}

FastTile *fast_touch(FastWorker *w, uint32_t index)
{
  FastEngine *e = w->engine;
  FastTile *t = &e->tiles[index];
  if (t->set)
    return t;
  arrput(w->touched, index);
  t->index = index;
  t->set = &e->sets[e->program->image->tile_colors[index]];
  t->cls = program_class(e->program, index);
  t->has_code = t->cls != NULL;
  t->pending_due = NEVER;
  t->first_slot = MAX_COLORS - 1;           /* so that slot 0 is visited first */
  t->last_ramp_queue = MAX_QUEUES - 1;
  for (unsigned level = 0; level < LEVELS; level++)
    t->last_issued[level] = FAST_THREADS - 1;
  load_colors(w, t);
  if (t->cls)
    load_program(w, t);
  fast_bind_queues(t);
  return t;
}

static void free_tile(FastTile *t)
{
  mem_free(&t->mem);
  free(t->registers.queues);
  arrfree(t->pending);
  if (t->host) {
    host_words_free(&t->host->posted);
    arrfree(t->host->sent);
  }
}

static void free_worker(FastWorker *w)
{
  for (size_t i = 0; i < arrlenu(w->slabs); i++)
    munmap(w->slabs[i], SLAB_BYTES);
  for (unsigned half = 0; half < HALVES; half++)
    arrfree(w->rows[half]);
  arrfree(w->touched);
  arrfree(w->slabs);
  arrfree(w->free_works);
  arrfree(w->free_bridges);
  arrfree(w->timers);
  arrfree(w->faults);
  arrfree(w->events);
  arrfree(w->prints);
  arrfree(w->host_calls);
  arrfree(w->chores);
  arrfree(w->relays);
  free(w->scratch);
}

void fast_tiles_destroy(FastEngine *e)
{
  for (unsigned k = 0; k < e->n_workers; k++)
    for (size_t i = 0; i < arrlenu(e->workers[k].touched); i++)
      free_tile(&e->tiles[e->workers[k].touched[i]]);
  for (unsigned k = 0; k < e->n_workers; k++)
    free_worker(&e->workers[k]);
  munmap(e->tiles, (size_t)e->n_tiles * sizeof *e->tiles);
}
