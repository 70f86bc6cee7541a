/* Fast engine: what is kept of a tile to take back what has been done ahead of its cycle (ahead.c):
 * values in memory, states of tasks, descriptors, an operation, counts.  And what is done so with
 * registers of the router. */
#include "emu/fast/step.h"

/* ---- values in memory ---------------------------------------------------------------------- */

/* The values of an operation are a block among the stores: they themselves, and behind them a store
 * of 0 bytes that says where they have been. */
typedef struct { uint8_t n, bytes; int16_t step; } KeptBlock;
enum { STORE_BYTES = sizeof(((ScalarStores *)0)->at[0]) };
_Static_assert(sizeof(KeptBlock) == sizeof(((ScalarStores *)0)->at[0].before), "it is kept there");

static inline unsigned block_stores(unsigned elements, unsigned bytes)
{
  return (elements * bytes + STORE_BYTES - 1) / STORE_BYTES;
}

/* Elements that a block has room for. */
static inline unsigned block_room(const ScalarStores *stores, unsigned bytes)
{
  unsigned left = stores->most - stores->n;
  return left ? (left - 1) * STORE_BYTES / bytes : 0;
}

static HOT void copy_values(uint8_t *to, int to_step, const uint8_t *from, int from_step,
                            unsigned n, size_t bytes)
{
  for (unsigned i = 0; i < n; i++)
    memcpy(to + (int)i * to_step, from + (int)i * from_step, bytes);
}

/* Keeps what the next elements overwrite: there is room for them. */
static inline void keep_values(const TileMem *mem, const FastPlain *p, unsigned elements,
                               ScalarStores *stores)
{
  int step = p->step[PLAIN_DEST];
  uint8_t *to = (uint8_t *)&stores->at[stores->n];
  const uint8_t *from = mem->bytes + p->address[PLAIN_DEST];
  if (p->bytes == sizeof(uint32_t))
    copy_values(to, sizeof(uint32_t), from, step, elements, sizeof(uint32_t));
  else
    copy_values(to, sizeof(uint16_t), from, step, elements, sizeof(uint16_t));
  unsigned end = stores->n + block_stores(elements, p->bytes);
  KeptBlock block = {(uint8_t)elements, p->bytes, (int16_t)step};
  memcpy(&stores->at[end].before, &block, sizeof block);
  stores->at[end].address = p->address[PLAIN_DEST];
  stores->at[end].bytes = 0;
  stores->n = (uint16_t)(end + 1);
}

/* Puts back the values of the block that ends with that store; returns its first one. */
static inline unsigned undo_values(const ScalarStores *stores, unsigned end, TileMem *mem)
{
  KeptBlock block;
  memcpy(&block, &stores->at[end].before, sizeof block);
  uint8_t *to = mem->bytes + stores->at[end].address;
  unsigned first = end - block_stores(block.n, block.bytes);
  copy_values(to, block.step, (const uint8_t *)&stores->at[first], block.bytes, block.n,
              block.bytes);
  return first;
}

/* What a step has changed of a task is a store of so many bytes, whose address is the task's id. */
enum { KEPT_ACTIVATION = 0x40, KEPT_BLOCK = 0x80, KEPT_BESIDE = 16 };

/* The step is going to activate the task.  False: no room, or it is more than a new activation. */
static bool keep_activation(const Tile *core, ScalarStores *stores, unsigned id)
{
  const TileRecord *r = &core->record;
  if (id >= MAX_TASK_IDS || !(core->mem.cls->local_ids & ~core->active & UINT64_C(1) << id) ||
      stores->n == stores->most)
    return false;
  uint32_t before = r->recent_pc[r->next] | (uint32_t)r->recent_id[r->next] << KEPT_BESIDE;
  scalar_keep_store(stores, id, KEPT_ACTIVATION, before);
  return true;
}

static void undo_activation(Tile *core, unsigned id, uint32_t before)
{
  TileRecord *r = &core->record;
  core->active &= ~(UINT64_C(1) << id);
  r->next = (uint8_t)((r->next + RECENT_ACTIVATIONS - 1) % RECENT_ACTIVATIONS);
  r->recent_pc[r->next] = (uint16_t)before;
  r->recent_id[r->next] = (uint8_t)(before >> KEPT_BESIDE);
}

/* The step is going to block or unblock the task.  False: no room. */
static bool keep_block(const Tile *core, ScalarStores *stores, unsigned id)
{
  if (id >= MAX_TASK_IDS || !core->blocked_at || stores->n == stores->most)
    return false;
  uint32_t is_blocked = core->blocked >> id & 1;
  scalar_keep_store(stores, id, KEPT_BLOCK, core->blocked_at[id] | is_blocked << KEPT_BESIDE);
  return true;
}

static void undo_block(Tile *core, unsigned id, uint32_t before)
{
  uint64_t is_blocked = before >> KEPT_BESIDE;
  core->blocked = (core->blocked & ~(UINT64_C(1) << id)) | is_blocked << id;
  core->blocked_at[id] = (uint16_t)before;
}

/* Puts memory and tasks back. */
static inline void undo_stores(const ScalarStores *stores, Tile *core)
{
  for (unsigned i = stores->n; i-- > 0;) {
    uint32_t before = stores->at[i].before;
    unsigned bytes = stores->at[i].bytes, address = stores->at[i].address;
    if (bytes == KEPT_ACTIVATION)
      undo_activation(core, address, before);
    else if (bytes == KEPT_BLOCK)
      undo_block(core, address, before);
    else if (bytes)
      mem_store(&core->mem, address, bytes, before);
    else
      i = undo_values(stores, i, &core->mem);
  }
}

/* ---- the main thread ahead of its cycle ---------------------------------------------------- */

/* What elements carried out before their cycle have overwritten, the oldest first. */
typedef struct { uint32_t before[AHEAD_ELEMENTS]; unsigned n; } FastElements;

/* Where microthreads may take turns: the issues of groups; the cycles in which one of them has
 * issued in the main thread's place. */
enum { AHEAD_TURNS = 96 };      /* at most, while the main thread is ahead */
typedef struct { uint64_t groups[SCALAR_WORDS], taken[SCALAR_WORDS]; } FastTurns;

/* What a stretch has overwritten: values from the front on, and descriptors from the back on, which
 * share the room.  Or what the groups of an operation have.  Turns are at the end of it. */
enum {
  AHEAD_BYTES = AHEAD_ELEMENTS * sizeof(uint32_t),
  AHEAD_DSRS = AHEAD_BYTES / sizeof(DsrState),
};
typedef union {
  ScalarStores stores;
  FastElements elements;
  struct { uint8_t before_turns[AHEAD_BYTES - sizeof(FastTurns)]; FastTurns turns; };
  struct {
    uint8_t before_kept[sizeof(ScalarStores)];
    uint16_t kept_address;      /* of an operation whose results have been kept: the first one; */
    int16_t kept_step;
  };
} FastOverwritten;

typedef struct {
  bool stretch : 1;
  bool with_turns : 1;          /* microthreads may take some */
  bool in_operation : 1;        /* the stretch has begun in one */
  bool overlapping : 1, waiting : 1;    /* of the thread, then */
  bool kept : 1;                /* the results of the operation that runs */
} AheadFlags;

/* What the main thread has done before its cycle, from `from` on: a stretch, with what was before,
 * or groups of an operation.  In which cycles it issues, a bit each from `from` on. */
typedef struct FastAhead {
  FastOverwritten overwritten;  /* what visits beside microthreads need is its end and follows it */
  uint64_t from, issues[SCALAR_WORDS];
  /* From `from` on: the next instruction before the stretch, and the next group; no step is later
     than `end`; when the thread has begun its last operation, SCALAR_CYCLES: before. */
  uint8_t ready, group_ready, end, began;
  AheadFlags is;
  uint8_t task;
  uint16_t pc;
  Registers regs;
  uint8_t kept, kept_bytes;     /* how many; bytes of each */
  uint8_t n_dsrs, place[AHEAD_DSRS];    /* descriptors that have changed, among the tile's own */
  /* what the stretch has counted; `doubled`: instructions beside an operation, which have no bit */
  uint8_t groups, doubled;
  uint16_t elements_done, bank, paid[TRUST_COUNT];
  union {
    /* the output queue that the stretch has sent to, or NO_QUEUE: how many wavelets, and its last
       use before */
    struct { QueueUse use; uint8_t queue, sent; };
    FastRun *operation;         /* in_operation: as it was; such a stretch sends nothing */
  };
} FastAhead;

_Static_assert(sizeof(FastAhead) == sizeof(((FastWork *)0)->ahead), "it takes a piece of its own");

/* ---- a stretch: what is kept to go back ---------------------------------------------------- */

/* What a stretch adds to the counts of its worker. */
typedef struct { uint64_t instructions, groups, elements, bank, paid[TRUST_COUNT]; } AheadCounts;

static AheadCounts counts_now(const FastWorker *w)
{
  const EngineStats *stats = &w->log.stats;
  AheadCounts now = {.instructions = stats->instructions, .groups = stats->groups,
                     .elements = stats->elements, .bank = stats->stalls[STALL_BANK]};
  memcpy(now.paid, stats->paid, sizeof now.paid);
  return now;
}

static FastAhead *ahead_of(FastWorker *w, FastTile *t)
{
  if (!t->ahead) {
    t->ahead = fast_piece_alloc(w, PIECE_WORK);
    t->ahead->is.in_operation = false;
  }
  return t->ahead;
}

/* The bytes of what is overwritten. */
static size_t room_of(const FastAhead *ahead)
{
  return ahead->is.with_turns ? sizeof ahead->overwritten.before_turns : AHEAD_BYTES;
}

/* The number-th descriptor that a stretch has changed, as it was before. */
static DsrState *dsr_before(FastAhead *ahead, unsigned number)
{
  char *end = (char *)&ahead->overwritten + room_of(ahead);
  return (DsrState *)(void *)(end - (number + 1) * sizeof(DsrState));
}

/* The stretch has changed so many descriptors, which leave this room to stores. */
static void set_dsrs(FastAhead *ahead, unsigned n)
{
  ScalarStores *stores = &ahead->overwritten.stores;
  size_t bytes = room_of(ahead) - n * sizeof(DsrState);
  ahead->n_dsrs = (uint8_t)n;
  stores->most = (uint16_t)(bytes / sizeof stores->at[0]);
}

/* Nothing undoes what issues before `end`, which counts from the beginning: the last of it counts,
 * unless the phase is new. */
static void settle_until(FastWorker *w, const FastTile *t, uint64_t end)
{
  int last = t->is_ahead ? issues_last(t->ahead->issues, end) : -1;
  if (last < 0)
    return;
  uint64_t cycle = t->ahead->from + (unsigned)last;
  if (cycle > w->log.stats.last_event && cycle >= w->engine->phase)
    w->log.stats.last_event = cycle;
}

static RARE void settle_last(FastWorker *w, const FastTile *t)
{
  settle_until(w, t, SCALAR_CYCLES);
}

/* Nothing goes back any more. */
static void forget_operation(FastWorker *w, FastAhead *ahead)
{
  if (ahead->is.in_operation)
    fast_piece_free(w, PIECE_WORK, ahead->operation);
  ahead->is.in_operation = false;
}

void fast_ahead_over(FastWorker *w, FastTile *t)
{
  if (t->ahead) {
    settle_last(w, t);
    forget_operation(w, t->ahead);
    fast_piece_free(w, PIECE_WORK, t->ahead);
  }
  t->ahead = NULL;
  t->is_ahead = false;
}

/* For what is done ahead from that cycle on. */
static void begin_accesses(FastAccesses *a, uint64_t from)
{
  a->from = from;
  a->latched = false;
  a->n = a->done = a->known = 0;
}

/* Work ahead that may go on to `end` begins in cycle `from`. */
static HOT FastAhead *begin_ahead(Visit *v, uint64_t from, uint64_t end)
{
  FastAhead *ahead = ahead_of(v->worker, v->tile);
  forget_operation(v->worker, ahead);
  ahead->from = from;
  ahead->end = (uint8_t)(end - from);
  ahead->began = SCALAR_CYCLES;
  ahead->is = (AheadFlags){.with_turns = v->beside && v->beside->preempts};
  if (ahead->is.with_turns)
    ahead->overwritten.turns = (FastTurns){0};
  memset(ahead->issues, 0, sizeof ahead->issues);
  FastAccesses *accesses = accesses_there(v->tile);
  if (UNLIKELY(accesses))
    begin_accesses(accesses, from);
  return ahead;
}

/* From `from` on; what is too far is not done ahead. */
static uint8_t cycles_until(uint64_t ready, uint64_t from)
{
  return ready <= from ? 0 : ready - from < SCALAR_CYCLES ? (uint8_t)(ready - from) : SCALAR_CYCLES;
}

/* The work is a stretch, and begins with what the tile is now. */
static HOT void begin_stretch(const Tile *core, FastAhead *ahead)
{
  ahead->regs = core->regs;
  ahead->pc = core->pc;
  ahead->task = core->task;
  ahead->is = (AheadFlags){.stretch = true, .with_turns = ahead->is.with_turns,
                           .in_operation = core->vectors & 1u << MAIN_THREAD,
                           .overlapping = core->overlaps, .waiting = core->waits};
  ahead->ready = cycles_until(core->ready, ahead->from);
  ahead->overwritten.stores.n = 0;
  ahead->kept = 0;
  set_dsrs(ahead, 0);
}

/* To which the stretch has sent, or NO_QUEUE. */
static unsigned queue_of(const FastAhead *ahead)
{
  return ahead->is.in_operation ? NO_QUEUE : ahead->queue;
}

/* A microthread has issued in the main thread's place. */
static bool is_taken(const FastAhead *ahead, uint64_t at)
{
  return ahead->is.with_turns && issues_has(ahead->overwritten.turns.taken, at);
}

/* Keeps what the descriptor at that place is now, before its first change.  False: no room for
 * that. */
static HOT bool keep_place(FastTile *t, unsigned place)
{
  FastAhead *ahead = t->ahead;
  const ScalarStores *stores = &ahead->overwritten.stores;
  for (unsigned i = 0; i < ahead->n_dsrs; i++)
    if (ahead->place[i] == place)
      return true;
  unsigned n = ahead->n_dsrs;
  if (n == AHEAD_DSRS || (const char *)&stores->at[stores->n] > (const char *)dsr_before(ahead, n))
    return false;
  const DsrState *dsrs = t->core.dsrs.own ? t->core.dsrs.own : t->core.dsrs.map->start;
  *dsr_before(ahead, n) = dsrs[place];
  ahead->place[n] = (uint8_t)place;
  set_dsrs(ahead, n + 1);
  return true;
}

static bool keep_dsr(FastTile *t, DsrFile file, unsigned number)
{
  return keep_place(t, t->core.dsrs.map->place[file][number]);
}

/* The descriptors that keep the places of the operation in which the stretch begins, at its end. */
static void keep_places(FastTile *t)
{
  const VecRun *run = t->core.threads[MAIN_THREAD].run;
  const VecStream *streams[] = {&run->dest, &run->src[0], &run->src[1]};
  for (unsigned i = 0; i < ARRAY_COUNT(streams); i++)
    if (keeps_place(streams[i]) && !keep_dsr(t, streams[i]->file, streams[i]->number))
      ICE("there is no room for three descriptors");
}

/* The operation in which the stretch begins. */
static RARE void keep_operation(FastWorker *w, FastTile *t, FastAhead *ahead)
{
  const Thread *th = &t->core.threads[MAIN_THREAD];
  ahead->group_ready = cycles_until(th->ready, ahead->from);
  ahead->operation = fast_piece_alloc(w, PIECE_WORK);
  *ahead->operation = *(const FastRun *)thread_plain(th);
  keep_places(t);
}

/* ---- registers ------------------------------------------------------------------------------ */

/* Writes to the router are put off, as moves are (router.c): in the cycles up to their own the
 * router goes by what it had before, and no unit sees more of them than that it has no room.  What
 * is read of the router is what it will be then if no wavelet changes it before; where one does,
 * the stretch goes back (fast_read_again).  A stretch that is repeated finds in the list what it
 * has read and written the first time.  No microthread may run, so that no step is delayed. */

enum { STREAM_UNBLOCKED = 1 };  /* written to CMD_STREAM */

/* What kind of access it is; false: none for a stretch. */
static bool find_access(const FastEngine *e, const FastTile *t, uint16_t address, bool store,
                        FastAccessKind *kind)
{
  const ConfigRegInfo *reg = config_reg_at(address);
  if (!e->writes_ahead || !reg)
    return false;
  unsigned part = (unsigned)(address - reg->address), slot;
  switch ((int)reg->address) {
  case CFG_COLOR_ROUTES: case CFG_COLOR_SWITCH: case CFG_COLOR_SWITCH_BOTH:
    slot = t->set->slot_of[part];
    *kind = store ? ACCESS_WRITE : ACCESS_READ;
    return slot != NO_SLOT && color_count(&t->colors[slot]) == 0;
  case CFG_CMD_STREAM:
    *kind = ACCESS_UNBLOCK;
    return store;
  case CFG_TEARDOWN_PENDING:
    *kind = ACCESS_TEARDOWN;
    return !store;
  default:
    return false;
  }
}

static bool is_config_store(const Insn *insn)
{
  return insn->op == OP_stcfg || insn->op == OP_stcfgi;
}

static uint16_t config_address(const FastTile *t, const Insn *insn)
{
  bool immediate = insn->op == OP_ldcfgi || insn->op == OP_stcfgi;
  return immediate ? (uint16_t)insn->imm : t->core.regs.r[insn->b];
}

/* The instruction accesses a register as a step. */
static bool is_known_access(const FastEngine *e, const FastTile *t, const Insn *insn)
{
  FastAccessKind kind;
  return find_access(e, t, config_address(t, insn), is_config_store(insn), &kind);
}

/* ---- the list ------------------------------------------------------------------------------- */

static FastAccesses *accesses_of(Visit *v)
{
  FastOwn *own = fast_own_registers(v->worker, v->tile);
  if (!own->accesses) {
    own->accesses = fast_alloc(v->worker, sizeof *own->accesses, _Alignof(FastAccesses));
    own->accesses->from = v->tile->ahead->from;
  }
  return own->accesses;
}

/* What the router will have in the register behind the writes so far. */
static uint16_t read_behind_writes(const FastTile *t, const FastAccesses *a, uint16_t address)
{
  uint16_t base = config_reg_at(address)->address;
  unsigned color = address - base, slot = t->set->slot_of[color];
  RouterNow now = color_now(t, slot);
  const RouterConfig *own = t->own ? t->own->config[slot] : NULL;
  RouterConfig copy;
  for (unsigned i = a->done; i < a->n; i++) {
    uint16_t written = config_reg_at(a->of[i].address)->address;
    if (a->of[i].kind != ACCESS_WRITE || (unsigned)(a->of[i].address - written) != color)
      continue;
    if (own != &copy && own)
      copy = *own;
    else if (own != &copy)
      router_config_copy(&copy, fast_config(t, color));
    own = &copy;
    router_config_write(written, a->of[i].value, &copy, &now);
  }
  return router_config_read(base, fast_config(t, color), own, now);
}

/* The tile may have found no room in a neighbour's router: a stream does not note that. */
static bool may_be_stuck(const FastTile *t)
{
  return t->is_stuck || ((t->in || t->out) && (t->occupied | t->output_any));
}

/* Neighbours that may be stuck here look again behind the write, which is in this cycle. */
static void wake_behind_write(Visit *v)
{
  FastEngine *e = v->engine;
  const FastTile *t = v->tile;
  uint64_t due = v->turn.cycle + 1;
  for (unsigned port = 0; port < PORT_RAMP; port++) {
    uint32_t next = program_neighbour(v->turn.program, t->core.index, (Port)port);
    if (next == (uint32_t)NO_TILE || !may_be_stuck(&e->tiles[next]))
      continue;
    e->tiles[next].retry = (uint32_t)due;
    fast_timer(v->worker, next, t->ahead->from, due);
  }
}

/* Makes the access, whose `value` is what is to be written, in this cycle. */
static void make_access(Visit *v, FastAccesses *a, FastAccess *access)
{
  FastTile *t = v->tile;
  unsigned shift = HALF_BITS * (access->address - CFG_TEARDOWN_PENDING);
  switch ((FastAccessKind)access->kind) {
  case ACCESS_READ:
    access->value = read_behind_writes(t, a, access->address);
    break;
  case ACCESS_WRITE:
    if (!(t->put_off & PUT_OFF_WRITE))
      a->done = a->n;
    t->put_off |= PUT_OFF_WRITE;
    v->worker->writes_late = true;
    wake_behind_write(v);
    break;
  case ACCESS_UNBLOCK:
    t->core.unblocks += access->value == STREAM_UNBLOCKED;
    break;
  case ACCESS_TEARDOWN: default:
    access->value = (uint16_t)(t->core.torn_down >> shift);
    t->core.torn_down &= ~((uint32_t)access->value << shift);
    break;
  }
}

/* As if it had not been made. */
static void undo_access(FastTile *t, const FastAccess *access)
{
  if (access->kind == ACCESS_UNBLOCK)
    t->core.unblocks -= access->value == STREAM_UNBLOCKED;
  if (access->kind == ACCESS_TEARDOWN)
    t->core.torn_down |= (uint32_t)access->value
                         << HALF_BITS * (access->address - CFG_TEARDOWN_PENDING);
}

/* The stretch has read of its router, in that cycle or later. */
static bool has_read_since(const FastTile *t, uint64_t cycle)
{
  const FastAccesses *a = accesses_there(t);
  for (unsigned i = a ? a->n : 0; i-- > 0 && a->from + a->of[i].at >= cycle;)
    if (a->of[i].kind == ACCESS_READ || a->of[i].kind == ACCESS_TEARDOWN)
      return true;
  return false;
}

/* ---- the time stamp ------------------------------------------------------------------------- */

enum { TIME_STAMP_WORDS = 3 };  /* the counters behind it count what a stretch has not yet */

/* The instruction stores a word of it. */
static bool is_time_stamp(const FastTile *t, const Insn *insn)
{
  return t->core.counters && insn->a < TIME_STAMP_WORDS;
}

/* What the instruction changes has been kept then.  False: no room, or it is none for a stretch. */
static bool keep_time_stamp(Visit *v, const Insn *insn)
{
  const Tile *core = &v->tile->core;
  const ClassCode *cls = core->mem.cls;
  ScalarStores *stores = &v->tile->ahead->overwritten.stores;
  uint32_t base = insn->op == OP_stctr ? core->regs.r[insn->b] : 0, before;
  uint32_t address = (base + insn->imm) & LOW16, end = address + sizeof(uint16_t);
  MemoryAccess access;
  if (v->beside || !is_time_stamp(v->tile, insn) || core->mem.tracked ||
      end > cls->image->static_bytes || stores->n == stores->most ||
      (check_finds_access(v->turn.program, cls, insn, core->pc, &core->regs, &access) &&
       is_outside(access.object, access.address, access.bytes)) ||
      mem_load(&core->mem, address, sizeof(uint16_t), &before) != FAULT_COUNT)
    return false;
  scalar_keep_store(stores, address, sizeof(uint16_t), before);
  FastAccesses *a = accesses_of(v);
  if (!a->latched)
    a->latch = core->counters->latch;
  a->latched = true;
  return true;
}

/* ---- back ----------------------------------------------------------------------------------- */

/* The stretch is going to be repeated from its beginning. */
static void repeat_accesses(FastTile *t)
{
  FastAccesses *a = accesses_there(t);
  if (!a)
    return;
  if (a->latched)
    t->core.counters->latch = a->latch;
  a->latched = false;
  a->known = a->n;
  a->n = 0;
}

/* It has been, not as far as before. */
static void drop_accesses(FastTile *t)
{
  FastAccesses *a = accesses_there(t);
  bool late = false;
  if (!a)
    return;
  for (unsigned i = a->n; i < a->known; i++)
    undo_access(t, &a->of[i]);
  a->known = 0;
  for (unsigned i = a->done; i < a->n; i++)
    late |= a->of[i].kind == ACCESS_WRITE;
  if (!late)
    t->put_off &= (uint8_t)~PUT_OFF_WRITE;
}
