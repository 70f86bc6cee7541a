/* A tile's state as bytes: for snapshots, and for files of them.  The fields of Tile and of what it
 * points to are written as they lie in memory; tile_state_form says when that has changed.  What
 * comes back is checked as far as the emulator relies on it. */
#include "emu/tile/tile_internal.h"

#include "stb_ds.h"

#include <stdlib.h>
#include <string.h>

void state_put(unsigned char **bytes, const void *from, size_t n)
{
  if (n)
    memcpy(arraddnptr(*bytes, n), from, n);
}

void state_get(StateReader *in, void *to, size_t n)
{
  size_t left = (size_t)(in->end - in->at);
  if (n > left) {
    memset(to, 0, n);
    in->at = in->end;
    in->bad = true;
    return;
  }
  if (n)
    memcpy(to, in->at, n);
  in->at += n;
}

bool state_get_count(StateReader *in, uint32_t most, uint32_t *count)
{
  state_get(in, count, sizeof *count);
  in->bad |= *count > most;
  if (in->bad)
    *count = 0;
  return !in->bad;
}

/* What a tile has beside its struct. */
typedef struct {
  uint32_t memory_bytes, n_dsrs, n_pending;
  uint16_t runs;                /* threads with an operation, a bit each */
  bool is_full, is_tracked, has_blocked, has_bindings, has_counters, has_order;
} TileParts;

uint32_t tile_state_form(void)
{
  static const size_t sizes[] = {
    sizeof(Tile), sizeof(TileParts), sizeof(VecRun), sizeof(VecStream), sizeof(DsrState),
    sizeof(TileAction), sizeof(QueueBindings), sizeof(TileRecord), sizeof(TileRegisters),
    sizeof(Counters), sizeof(Registers), offsetof(Tile, threads), offsetof(Tile, regs),
    offsetof(Tile, record), offsetof(Tile, registers), offsetof(VecRun, dest),
    offsetof(VecRun, done), sizeof(Background), BLOCK_PLACES, VEC_COUNT, DESC_KIND_COUNT,
    PE_MEM_BYTES,
  };
  uint32_t form = 1;
  for (size_t i = 0; i < ARRAY_COUNT(sizes); i++)
    form = (form ^ (uint32_t)sizes[i]) * 0x01000193u;
  return form;
}

/* ---- writing --------------------------------------------------------------------------------- */

static TileParts parts_of(const Tile *t)
{
  TileParts parts;
  memset(&parts, 0, sizeof parts);
  parts.memory_bytes = mem_bytes(&t->mem).bytes;
  parts.n_dsrs = t->dsrs.own ? t->dsrs.map->n : 0u;
  parts.n_pending = (uint32_t)arrlenu(t->pending);
  for (unsigned i = 0; i < TILE_THREADS; i++)
    parts.runs |= (uint16_t)(t->threads[i].run ? 1u << i : 0);
  parts.is_full = t->mem.full;
  parts.is_tracked = t->mem.tracked;
  parts.has_blocked = t->blocked_at != NULL;
  parts.has_bindings = t->registers.queues != NULL;
  parts.has_counters = t->counters != NULL;
  parts.has_order = t->order != NULL;
  return parts;
}

/* The struct without its pointers and without what an engine keeps in it for itself. */
static Tile bare_tile(const Tile *t)
{
  Tile bare = *t;
  bare.mem = (TileMem){0};
  bare.pending = NULL;
  bare.blocked_at = NULL;
  bare.counters = NULL;
  bare.order = NULL;
  bare.dsrs = (Dsrs){0};
  bare.shares_dsrs = false;
  bare.medium = bare.above_medium = 0;    /* the runs have them */
  bare.registers.queues = NULL;
  for (unsigned i = 0; i < TILE_THREADS; i++) {
    bare.threads[i].run = NULL;
    bare.threads[i].plain = 0;
  }
  return bare;
}

static void state_put_memory(unsigned char **bytes, const TileMem *mem, uint32_t memory_bytes)
{
  uint32_t shared = mem->shared ? mem->cls->image->static_bytes : 0;
  state_put(bytes, mem_static(mem), shared);
  state_put(bytes, mem->bytes + shared, memory_bytes - shared);
}

void tile_save(const Tile *t, unsigned char **bytes)
{
  TileParts parts = parts_of(t);
  Tile bare = bare_tile(t);
  state_put(bytes, &parts, sizeof parts);
  state_put_memory(bytes, &t->mem, parts.memory_bytes);
  state_put(bytes, &bare, sizeof bare);
  state_put(bytes, t->dsrs.own, parts.n_dsrs * sizeof *t->dsrs.own);
  for (unsigned i = 0; i < TILE_THREADS; i++)
    if (t->threads[i].run)
      state_put(bytes, t->threads[i].run, sizeof(VecRun));
  state_put(bytes, t->pending, parts.n_pending * sizeof *t->pending);
  if (parts.has_blocked)
    state_put(bytes, t->blocked_at, BLOCK_PLACES * sizeof *t->blocked_at);
  if (parts.has_bindings)
    state_put(bytes, t->registers.queues, sizeof *t->registers.queues);
  if (parts.has_counters)
    state_put(bytes, t->counters, sizeof *t->counters);
  if (parts.has_order) {
    state_put(bytes, &t->order->n, sizeof t->order->n);
    state_put(bytes, &t->order->sent, sizeof t->order->sent);
    state_put(bytes, t->order->of, t->order->n * sizeof *t->order->of);
  }
}

/* ---- what is relied on ----------------------------------------------------------------------- */

static bool is_sound_stream(const VecStream *s)
{
  return (unsigned)s->kind <= VS_FIFO && s->queue < MAX_QUEUES &&
         (s->color <= DESC_COLOR_MASK || s->color == NO_COLOR) &&
         s->dimensions <= ARRAY_COUNT(s->lengths) && s->reg < GPR_COUNT &&
         (unsigned)s->file < DSR_FILE_COUNT && s->number < MAX_DSRS &&
         (s->element_bytes == 0 || s->element_bytes == 2 || s->element_bytes == 4);
}

static bool is_sound_action(Action action)
{
  return (unsigned)action.kind <= ACT_TERMINATE && action.id < MAX_TASK_IDS;
}

static bool is_sound_run(const VecRun *run)
{
  return (unsigned)run->op < VEC_COUNT && is_sound_stream(&run->dest) &&
         is_sound_stream(&run->src[0]) && is_sound_stream(&run->src[1]) &&
         run->microthread < MAX_MICROTHREADS && (unsigned)run->priority < PRIO_COUNT &&
         is_sound_action(run->done) && is_sound_action(run->on_control);
}

static bool is_sound_dsr(const DsrState *dsr)
{
  return (unsigned)dsr->desc.kind < DESC_KIND_COUNT;
}

static bool is_sound_tile(const Tile *t)
{
  bool sound = t->main_level < LEVELS && t->task <= TASK_CONTROL && t->task_id < MAX_TASK_IDS &&
               t->registers.generator < MAX_GENERATORS && t->record.lost_id < MAX_TASK_IDS;
  for (unsigned i = 0; i < LEVELS; i++)
    sound &= t->last_issued[i] < TILE_THREADS;
  for (unsigned i = 0; i < TILE_THREADS; i++)
    sound &= t->threads[i].stall < STALL_COUNT;
  return sound;
}

static bool is_sound_color(uint8_t color, bool or_none)
{
  return color < MAX_COLORS || (or_none && color == NO_COLOR);
}

static bool is_sound_binding(const QueueBindings *b)
{
  bool sound = true;
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    sound &= is_sound_color(b->color[0][q], true) && is_sound_color(b->color[1][q], true);
  for (unsigned c = 0; c < MAX_COLORS; c++)
    sound &= (b->data_queue[c] < MAX_QUEUES || b->data_queue[c] == NO_QUEUE) &&
             (b->arrives[c] < MAX_QUEUES || b->arrives[c] == NO_QUEUE);
  return sound;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void restore_memory(TileMem *mem, const TileParts *parts, StateReader *in)
{
  mem_own(mem);
  if (parts->is_full && mem->bytes)
    mem_widen(mem);
  MemBytes own = mem_bytes(mem);
  in->bad |= own.bytes != parts->memory_bytes || mem->full != parts->is_full ||
             mem->tracked != parts->is_tracked;
  if (!in->bad)
    state_get(in, own.at, own.bytes);
}

/* The struct, with the pointers that the loaded tile has. */
static void restore_struct(Tile *t, StateReader *in)
{
  Tile loaded = *t, bare;
  state_get(in, &bare, sizeof bare);
  in->bad |= bare.index != t->index || !is_sound_tile(&bare);
  if (in->bad)
    return;
  *t = bare_tile(&bare);
  t->mem = loaded.mem;
  t->pending = loaded.pending;
  t->blocked_at = loaded.blocked_at;
  t->counters = loaded.counters;
  t->order = loaded.order;
  t->dsrs = loaded.dsrs;
  t->registers.queues = loaded.registers.queues;
}

static void restore_runs(Turn *turn, unsigned runs, StateReader *in)
{
  Tile *t = turn->tile;
  for (; runs && !in->bad; runs &= runs - 1) {
    unsigned i = (unsigned)__builtin_ctz(runs);
    VecRun run;
    state_get(in, &run, sizeof run);
    in->bad |= i >= TILE_THREADS || !is_sound_run(&run);
    if (in->bad)
      return;
    t->threads[i].run = turn->port->run_alloc(turn);
    *t->threads[i].run = run;
    thread_set_level(t, i);
  }
}

static void restore_pending(Tile *t, uint32_t n, StateReader *in)
{
  for (uint32_t i = 0; i < n && !in->bad; i++) {
    TileAction action;
    state_get(in, &action, sizeof action);
    in->bad |= !is_sound_action(action.action);
    if (!in->bad)
      arrput(t->pending, action);
  }
}

/* The run that goes on may not look for order. */
static void restore_order(Turn *turn, StateReader *in)
{
  TileOrder found = {0};
  if (!state_get_count(in, MOST_BACKGROUND, &found.n))
    return;
  state_get(in, &found.sent, sizeof found.sent);
  state_get(in, found.of, found.n * sizeof *found.of);
  for (uint32_t i = 0; i < found.n; i++)
    in->bad |= !is_sound_run(&found.of[i].run);
  if (in->bad || !(turn->checks & CHECKS_ORDER))
    return;
  if (!turn->tile->order)
    turn->tile->order = base_malloc(sizeof *turn->tile->order);
  *turn->tile->order = found;
}

static void restore_rest(Turn *turn, const TileParts *parts, StateReader *in)
{
  Tile *t = turn->tile;
  DsrState *own = parts->n_dsrs && !in->bad ? tile_own_dsrs(turn) : NULL;
  for (uint32_t i = 0; own && i < parts->n_dsrs; i++) {
    state_get(in, &own[i], sizeof own[i]);
    in->bad |= !is_sound_dsr(&own[i]);
  }
  restore_runs(turn, parts->runs, in);
  restore_pending(t, parts->n_pending, in);
  if (parts->has_blocked && !in->bad) {
    t->blocked_at = base_malloc(BLOCK_PLACES * sizeof *t->blocked_at);
    state_get(in, t->blocked_at, BLOCK_PLACES * sizeof *t->blocked_at);
  }
  if (parts->has_bindings && !in->bad) {
    t->registers.queues = base_malloc(sizeof *t->registers.queues);
    state_get(in, t->registers.queues, sizeof *t->registers.queues);
    in->bad |= !is_sound_binding(t->registers.queues);
  }
  if (parts->has_counters && !in->bad)
    state_get(in, tile_counters(t), sizeof *t->counters);
  if (parts->has_order && !in->bad)
    restore_order(turn, in);
}

bool tile_restore(Turn *turn, StateReader *in)
{
  Tile *t = turn->tile;
  TileParts parts;
  state_get(in, &parts, sizeof parts);
  in->bad |= (parts.n_dsrs && (!t->mem.cls || parts.n_dsrs != t->mem.cls->dsrs.n)) ||
             (!t->mem.cls && parts.runs);
  if (in->bad)
    return false;
  restore_memory(&t->mem, &parts, in);
  if (!in->bad)
    restore_struct(t, in);
  if (!in->bad)
    restore_rest(turn, &parts, in);
  in->bad |= !in->bad && t->vectors != parts.runs;
  return !in->bad;
}
