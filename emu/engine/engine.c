/* What both engines have in common: findings, events and bytes that leave them, the host's ways to
 * a tile. */
#include "emu/engine/engine_internal.h"

#include "stb_ds.h"

#include <stdlib.h>

/* ---- what leaves an engine ------------------------------------------------------------------- */

/* An engine goes over its tiles in order a few times per cycle, so events come in a few runs that
 * are in order; merging them is faster than sorting. */
typedef struct {
  const TraceEvent **from, **to;
  size_t *ends;              /* stb_ds: where each run ends */
} EventRuns;

static EventRuns find_runs(const TraceEvent *events)
{
  size_t n = arrlenu(events);
  EventRuns runs = {.from = base_malloc(n * sizeof *runs.from),
                    .to = base_malloc(n * sizeof *runs.to)};
  for (size_t i = 0; i < n; i++) {
    runs.from[i] = &events[i];
    if (i + 1 == n || events[i + 1].tile < events[i].tile)
      arrput(runs.ends, i + 1);
  }
  return runs;
}

/* Of events of one tile, those of the first run come first. */
static void merge_two(EventRuns *runs, size_t first, size_t middle, size_t end)
{
  const TraceEvent **from = runs->from;
  size_t a = first, b = middle;
  for (size_t i = first; i < end; i++) {
    bool take_first = b == end || (a < middle && from[a]->tile <= from[b]->tile);
    runs->to[i] = take_first ? from[a++] : from[b++];
  }
}

/* Makes one run of each two; the last may be without a partner. */
static void merge_pairs(EventRuns *runs)
{
  size_t n = arrlenu(runs->ends), first = 0, kept = 0;
  for (size_t i = 0; i < n; i += 2) {
    size_t end = runs->ends[i + 1 < n ? i + 1 : i];
    merge_two(runs, first, runs->ends[i], end);
    runs->ends[kept++] = first = end;
  }
  arrsetlen(runs->ends, kept);
  const TraceEvent **merged = runs->to;
  runs->to = runs->from;
  runs->from = merged;
}

/* As those of a cycle are in which a single tile works. */
static bool is_one_run(const TraceEvent *events)
{
  for (size_t i = 1; i < arrlenu(events); i++)
    if (events[i].tile < events[i - 1].tile)
      return false;
  return true;
}

static void deliver_merged(TraceSink *sink, const TraceEvent *events)
{
  EventRuns runs = find_runs(events);
  while (arrlenu(runs.ends) > 1)
    merge_pairs(&runs);
  for (size_t i = 0; i < arrlenu(events); i++)
    sink->event(sink, runs.from[i]);
  arrfree(runs.ends);
  free(runs.from);
  free(runs.to);
}

void engine_deliver_events(TraceSink *sink, const TraceEvent *events)
{
  if (!is_one_run(events)) {
    deliver_merged(sink, events);
    return;
  }
  for (size_t i = 0; i < arrlenu(events); i++)
    sink->event(sink, &events[i]);
}

/* A tile prints at most one byte or number per cycle. */
static int compare_prints(const void *a, const void *b)
{
  const TilePrint *x = a, *y = b;
  if (x->cycle != y->cycle)
    return x->cycle < y->cycle ? -1 : 1;
  return x->tile < y->tile ? -1 : x->tile > y->tile;
}

void engine_deliver_prints(const Engine *engine, TilePrint *prints)
{
  if (arrlenu(prints))
    qsort(prints, arrlenu(prints), sizeof *prints, compare_prints);
  for (size_t i = 0; i < arrlenu(prints); i++) {
    char text[PRINT_TEXT_BYTES];
    size_t length = print_text(&prints[i], text);
    for (size_t k = 0; k < length; k++)
      engine->options.print(engine->options.print_context, prints[i].cycle, prints[i].tile,
                            (uint8_t)text[k]);
  }
}

static int compare_by_cycle(const void *a, const void *b)
{
  const Fault *x = a, *y = b;
  if (x->cycle != y->cycle)
    return x->cycle < y->cycle ? -1 : 1;
  return fault_compare(a, b);
}

void engine_collect_faults(Engine *engine, Fault *found)
{
  size_t count = arrlenu(found);
  if (count == 0)
    return;
  qsort(found, count, sizeof *found, compare_by_cycle);
  engine->stopped |= faults_collect(&engine->faults, found, count, engine->options.check,
                                    engine->options.checks);
}

/* ---- operations that are the same in both ---------------------------------------------------- */

uint64_t engine_cycle(const Engine *engine) { return engine->cycle; }

const Fault *engine_faults(const Engine *engine, size_t *count)
{
  *count = arrlenu(engine->faults);
  return engine->faults;
}

static const Tile *touched_tile(const Engine *engine, uint32_t tile)
{
  return engine->ops->tile((Engine *)(uintptr_t)engine, tile, false);
}

bool engine_touched(const Engine *engine, uint32_t tile)
{
  return touched_tile(engine, tile) != NULL;
}

bool engine_at_rest(const Engine *engine, uint32_t tile)
{
  const EngineOps *ops = engine->ops;
  return !ops->touched(engine, tile) || (ops->at_rest && ops->at_rest(engine, tile));
}

const Registers *engine_registers(Engine *engine, uint32_t tile)
{
  const Tile *t = touched_tile(engine, tile);
  return t ? &t->regs : NULL;
}

uint32_t engine_unblock_count(Engine *engine, uint32_t tile)
{
  const Tile *t = touched_tile(engine, tile);
  return t ? t->unblocks : 0;
}

/* NULL: the tile has no code. */
static Tile *host_tile(Engine *engine, uint32_t tile)
{
  if (tile >= engine->program->n_tiles)
    return NULL;
  Tile *t = engine->ops->tile(engine, tile, true);
  return t->mem.cls ? t : NULL;
}

bool engine_mem_read(Engine *engine, uint32_t tile, uint32_t address, void *to, uint32_t bytes)
{
  const Tile *t = host_tile(engine, tile);
  return t && mem_host_read(&t->mem, address, to, bytes);
}

bool engine_mem_write(Engine *engine, uint32_t tile, uint32_t address, const void *from,
                      uint32_t bytes)
{
  Tile *t = host_tile(engine, tile);
  return t && mem_host_write(&t->mem, address, from, bytes);
}

bool engine_launch(Engine *engine, uint32_t tile, uint16_t entry)
{
  Tile *t = host_tile(engine, tile);
  if (!t || t->launch_pending)
    return false;
  t->launch_pending = true;
  t->launch_entry = entry;
  engine->ops->wake(engine, tile, engine->cycle);
  return true;
}

bool engine_post(Engine *engine, uint32_t tile, unsigned color, uint32_t word, uint64_t cycle)
{
  if (!host_tile(engine, tile) || color >= MAX_COLORS)
    return false;
  if (host_words_post(&engine->ops->host(engine, tile, true)->posted, color, word, cycle))
    engine->ops->wake(engine, tile, cycle);
  return true;
}

size_t host_port_take(HostPort *host, unsigned color, uint32_t *words, uint64_t *cycles,
                      size_t max)
{
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

size_t engine_take(Engine *engine, uint32_t tile, unsigned color, uint32_t *words,
                   uint64_t *cycles, size_t max)
{
  return host_port_take(engine->ops->host(engine, tile, false), color, words, cycles, max);
}

uint64_t engine_stats_hops(const EngineStats *stats)
{
  uint64_t sum = 0;
  for (unsigned i = 0; i < PORT_RAMP; i++)
    sum += stats->hops[i];
  return sum;
}

void engine_stats_add(EngineStats *sum, const EngineStats *add)
{
  sum->first_event = add->first_event < sum->first_event ? add->first_event : sum->first_event;
  sum->last_event = add->last_event > sum->last_event ? add->last_event : sum->last_event;
  sum->active_tile_cycles += add->active_tile_cycles;
  sum->instructions += add->instructions;
  sum->groups += add->groups;
  sum->elements += add->elements;
  sum->wavelets += add->wavelets;
  for (unsigned i = 0; i < PORT_RAMP; i++)
    sum->hops[i] += add->hops[i];
  sum->tasks += add->tasks;
  for (unsigned i = 0; i < STALL_COUNT; i++)
    sum->stalls[i] += add->stalls[i];
  for (unsigned i = 0; i < TRUST_COUNT; i++)
    sum->paid[i] += add->paid[i];
}

/* ---- what reports see ------------------------------------------------------------------------ */

static void inspect_thread(Turn *turn, unsigned i, InspectThread *out)
{
  const Tile *t = turn->tile;
  const Thread *th = &t->threads[i];
  GroupPlan plan = {0};
  if (i == MAIN_THREAD)
    out->pc = t->pc;
  if (i == MAIN_THREAD && t->running) {
    out->state = THREAD_RUNNING;
    out->task = (TaskKind)t->task;
    out->task_id = t->task_id;
    out->awaited = t->ready == NEVER ? t->awaited : MAIN_THREAD;
  }
  if (!th->run)
    return;
  out->state = THREAD_VECTOR;
  out->pc = th->run->pc;
  out->run = th->run;
  out->stalled = (StallCause)th->stall;
  out->stalled_since = th->stall_since;
  out->waiting = vector_plan(turn, i, &plan);
  out->stream = plan.stream;
}

void engine_inspect(Turn *turn, InspectTile *out)
{
  const Tile *t = turn->tile;
  *out = (InspectTile){.has_code = t->mem.cls != NULL, .active = t->active, .blocked = t->blocked,
                       .record = &t->record, .paused = t->paused, .blocked_at = t->blocked_at,
                       .flushed = {t->registers.flushed[0], t->registers.flushed[1]},
                       .wavelets_seen = t->wavelets_seen};
  for (unsigned i = 0; i < TILE_THREADS; i++)
    inspect_thread(turn, i, &out->threads[i]);
}

/* ---- host channels --------------------------------------------------------------------------- */

static uint64_t host_rate(const Timing *timing)
{
  return timing->host_wavelets_num ? timing->host_wavelets_num : 1;
}

bool host_out_is_free(const HostOut *out, const Timing *timing, uint64_t cycle)
{
  return out->free_at <= cycle * host_rate(timing);
}

uint64_t host_out_due(const HostOut *out, const Timing *timing)
{
  return (out->free_at + host_rate(timing) - 1) / host_rate(timing);
}

void host_out_serve(HostOut *out, const Timing *timing, uint64_t cycle, uint32_t tile)
{
  uint64_t now = cycle * host_rate(timing);
  /* Free since less than a cycle: the fraction counts, or the rate would be rounded down. */
  bool busy = out->free_at + host_rate(timing) > now;
  out->free_at = (busy ? out->free_at : now) + timing->host_wavelets_den;
  out->last_tile = tile;
}

uint64_t host_channel_time(HostChannel *channel, const Timing *timing, uint64_t cycle)
{
  uint64_t num = host_rate(timing);
  uint64_t ready = cycle * num;
  if (channel->free_at < ready)
    channel->free_at = ready;
  uint64_t at = (channel->free_at + num - 1) / num;
  channel->free_at += timing->host_wavelets_den;
  return at;
}
