/* Fast engine: what the main thread does ahead of its cycle.
 *
 * A visit carries out a whole stretch of a task: instructions, loads of descriptors, short vector
 * operations, the end of the task.  Nothing can be observed of that in between, because the stretch
 * keeps to the following, here and in steps_ahead, starts_ahead and step_beside:
 *
 * - No action is due, the host has no word for the thread, and no observer traces (is_main_free in
 *   tasks.c).  So registers, memory, descriptors and the running task are the thread's own.  A step
 *   that reads or writes anything else (counters, configuration, task states, FIFOs, input queues,
 *   microthreads) ends the stretch before it.
 * - Microthreads share nothing with it (beside.c).  A step that touches what their operations write
 *   or writes what they read ends the stretch, as does a result for a queue of theirs, and a
 *   descriptor that they keep their place in.  The end of a task looks at their queues, so it is no
 *   step beside them.
 * - Microthreads of lower rank issue in the cycles in which the main thread does not
 *   (fast_issues_ahead).  One of higher rank may take a cycle in which the main thread has a step:
 *   then this step and all behind it are a cycle later (fast_delay_ahead), as the time of a step
 *   counts from the one before.
 * - Where operations overlap, instructions issue beside the groups of one.  Turns of microthreads
 *   delay the groups alone.  So where there may be any, a stretch goes on to the next operation
 *   only if that one waits for the groups of this one.
 * - The next task is not chosen ahead, because a wavelet may still come that decides it.  Until
 *   then the scheduler only drops control wavelets.  For that it looks at blocked tasks and at the
 *   queues that operations read, and no step changes these.
 * - Results for an output queue carry the cycle in which the router can see them.  They find room
 *   now, so they find it then, since the router only takes from the queue.
 * - Every step is in a cycle before the end of the run and before the next action of the tile.
 *
 * Another tile may end the run in the middle of a stretch, or a step may turn out to be a mistake
 * of the program.  Then the tile goes back to the beginning of the stretch and repeats it up to
 * that cycle, with the turns that microthreads have taken.  A long operation that runs already goes
 * ahead by itself, and back group by group. */
#include "emu/fast/step.h"

#include "stb_ds.h"

#include <string.h>

/* What elements carried out before their cycle have overwritten, the oldest first. */
typedef struct { uint32_t before[AHEAD_ELEMENTS]; unsigned n; } FastElements;

/* Where microthreads may take turns: the issues of groups; the cycles in which one of them has
 * issued in the main thread's place. */
enum { AHEAD_TURNS = 32 };      /* at most, while the main thread is ahead */
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
  Registers regs;
  uint16_t pc;
  uint8_t task;
  AheadFlags is;
  uint64_t from, issues[SCALAR_WORDS];
  FastOverwritten overwritten;
  uint8_t kept, kept_bytes;     /* how many; bytes of each */
  /* From `from` on: the next instruction before the stretch, and the next group; no step is later
     than `end`; when the thread has begun its last operation, SCALAR_CYCLES: before. */
  uint8_t ready, group_ready, end, began;
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

/* ---- issues ahead ------------------------------------------------------------------------- */

bool fast_issues_ahead(const FastTile *t, uint64_t now)
{
  uint64_t at = t->is_ahead ? now - t->ahead->from : SCALAR_CYCLES;
  return at < SCALAR_CYCLES && issues_has(t->ahead->issues, at);
}

static void note_last(FastWorker *w, const FastAhead *ahead, uint64_t end)
{
  int last = issues_last(ahead->issues, end);
  if (last >= 0 && ahead->from + (unsigned)last > w->ahead_last)
    w->ahead_last = ahead->from + (unsigned)last;
}

/* The end of what may be done ahead in a visit. */
static uint64_t ahead_end(const FastEngine *e, uint64_t from)
{
  return e->limit - from < SCALAR_CYCLES ? e->limit : from + SCALAR_CYCLES;
}

/* The end of what is done ahead: microthreads that take turns find room for as many cycles. */
static uint64_t ahead_aim(const Visit *v, uint64_t from, uint64_t end)
{
  uint64_t aim = from + SCALAR_CYCLES - AHEAD_TURNS;
  return v->beside && v->beside->preempts && aim < end ? aim : end;
}

/* ---- a stretch: what is kept to go back ------------------------------------------------- */

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
    t->ahead = (FastAhead *)fast_work_alloc(w)->ahead;
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
    fast_work_free(w, ahead->operation);
  ahead->is.in_operation = false;
}

void fast_ahead_over(FastWorker *w, FastTile *t)
{
  if (t->ahead) {
    settle_last(w, t);
    forget_operation(w, t->ahead);
    fast_work_free(w, t->ahead);
  }
  t->ahead = NULL;
  t->is_ahead = false;
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

/* Keeps what the descriptor is now, before its first change.  False: no room for that. */
static bool keep_dsr(FastTile *t, DsrFile file, unsigned number)
{
  FastAhead *ahead = t->ahead;
  const ScalarStores *stores = &ahead->overwritten.stores;
  unsigned place = t->core.dsrs.map->place[file][number];
  for (unsigned i = 0; i < ahead->n_dsrs; i++)
    if (ahead->place[i] == place)
      return true;
  unsigned n = ahead->n_dsrs;
  if (n == AHEAD_DSRS || (const char *)&stores->at[stores->n] > (const char *)dsr_before(ahead, n))
    return false;
  *dsr_before(ahead, n) = *dsr_at(t->core.dsrs, file, number);
  ahead->place[n] = (uint8_t)place;
  set_dsrs(ahead, n + 1);
  return true;
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
  ahead->operation = &fast_work_alloc(w)->run;
  *ahead->operation = *(const FastRun *)thread_plain(th);
  keep_places(t);
}

/* ---- beside microthreads ------------------------------------------------------------------- */

/* No memory that is used beside the operation gets in its way during the next `n` elements. */
static bool is_unfenced(const FastBeside *beside, const FastPlain *p, uint32_t n)
{
  for (unsigned k = 0; beside && n && k < PLAIN_STREAMS; k++) {
    Bounds at = plain_bounds(p, k, n);
    if ((p->memory & 1u << k) &&
        scalar_is_fenced(&beside->fences, at.start, at.end, k == PLAIN_DEST))
      return false;
  }
  return true;
}

/* What microthreads do beside the main thread, for the visit; no microthread: NULL.  False: they
 * may do more than take their turns. */
static bool looks_beside(Visit *v, FastBeside *beside)
{
  const FastTile *t = v->tile;
  v->beside = NULL;
  if (!(t->core.vectors & ~(1u << MAIN_THREAD)))
    return true;
  v->beside = beside;
  return finds_beside(t, beside);
}

uint64_t fast_next_free(const FastTile *t, uint64_t now)
{
  while (fast_issues_ahead(t, ++now))
    ;
  return now;
}

/* ---- a stretch: its steps ------------------------------------------------------------------ */

/* All that the operation overwrites has been kept, or is now: if the operation before has written
 * to the same place, by that one.  False: no room. */
static bool keep_results(FastTile *t, const FastPlain *p)
{
  FastAhead *ahead = t->ahead;
  FastOverwritten *whole = &ahead->overwritten;
  uint16_t address = p->address[PLAIN_DEST];
  int16_t step = p->step[PLAIN_DEST];
  if (ahead->is.kept)
    return true;
  ahead->is.kept = ahead->kept == p->remaining && ahead->kept_bytes == p->bytes &&
                 whole->kept_address == address && whole->kept_step == step;
  if (ahead->is.kept || p->remaining > AHEAD_ELEMENTS ||
      p->remaining > block_room(&whole->stores, p->bytes))
    return ahead->is.kept;
  keep_values(&t->core.mem, p, p->remaining, &whole->stores);
  ahead->kept = (uint8_t)p->remaining;
  ahead->kept_bytes = p->bytes;
  whole->kept_address = address;
  whole->kept_step = step;
  return ahead->is.kept = true;
}

static void mark_issue(FastAhead *ahead, uint64_t cycle)
{
  uint64_t at = cycle - ahead->from;
  ahead->issues[at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
}

static void mark_group(FastAhead *ahead, uint64_t cycle)
{
  uint64_t at = cycle - ahead->from;
  mark_issue(ahead, cycle);
  if (ahead->is.with_turns)
    ahead->overwritten.turns.groups[at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
}

/* The code at the next instruction, or NULL. */
static const ScalarCode *code_now(const FastEngine *e, const Tile *core)
{
  const ImageClass *image = core->cls->image;
  uint32_t offset = (uint32_t)core->pc - image->code_address;
  return offset < image->code_words * 2u && offset % 2 == 0
           ? &e->code[core->cls->index][offset / 2] : NULL;
}

/* The cycles from the start of an operation for a queue to its last group, at most. */
static uint64_t sending_cycles(const Timing *timing, uint64_t elements)
{
  return timing_cycles(timing, TIMING_vector_start) + elements * (1u + timing->bank_conflict);
}

/* The descriptor sends at once, from the queue that it has already, without any notice. */
static bool is_plain_sender(const Visit *v, const Descriptor *desc)
{
  const Tile *core = &v->tile->core;
  bool own = desc->color == COLOR_OF_QUEUE || v->turn.program->image->arch != ARCH_WSE3 ||
             desc->color == registers_queue_color(&core->registers, core->cls->image, true,
                                                  desc->queue);
  return own && desc->done.kind == ACT_NONE && desc->on_control.kind == ACT_NONE;
}

/* So many results in cycles before `end` have room in the output queue, and the stretch sends to no
 * other one; what it was before the first result has been kept then. */
static HOT bool keep_queue(Visit *v, unsigned queue, uint32_t elements, uint64_t end)
{
  const FastEngine *e = v->engine;
  FastTile *t = v->tile;
  const FastQueue *q = &t->queues[queue].output;
  bool is_shared = v->beside && v->beside->outputs >> queue & 1;
  bool is_other = t->ahead->is.in_operation ||
                  (t->ahead->queue != NO_QUEUE && t->ahead->queue != queue);
  if (is_shared || is_other || q->count + elements > e->output_capacity[queue] ||
      t->core.ready + sending_cycles(e->timing, elements) >= end)
    return false;
  if (t->ahead->queue == queue)
    return true;
  t->ahead->queue = (uint8_t)queue;
  t->ahead->sent = (uint8_t)q->count;       /* so far */
  t->ahead->use = queue_use(q);
  return true;
}

/* An operation beside the stretch keeps its place in the descriptor. */
static bool is_kept_beside(const Visit *v, DsrFile file, unsigned number)
{
  const FastBeside *beside = v->beside;
  unsigned place = v->tile->core.dsrs.map->place[file][number];
  for (unsigned i = 0; beside && i < beside->n_dsrs; i++)
    if (beside->dsrs[i] == place)
      return true;
  return false;
}

/* Whether the operation concerns memory and values only, but for results that have room. */
static HOT bool starts_ahead(Visit *v, const VecOperands *vec, uint64_t end)
{
  const VecOperand *operands[] = {&vec->src0, &vec->src1, &vec->dest};
  unsigned queue = NO_QUEUE;
  uint32_t longest = 1;
  for (unsigned i = 0; i < ARRAY_COUNT(operands); i++) {
    const VecOperand *operand = operands[i];
    if (operand->kind != VOPND_DSR)
      continue;
    const Descriptor *desc = &dsr_at(v->tile->core.dsrs, operand->file, operand->number)->desc;
    uint32_t length = dsr_length(desc);
    if (desc->flags & DESC_F_ASYNC || is_kept_beside(v, operand->file, operand->number))
      return false;
    if (desc->kind == DESC_FABOUT && operand == &vec->dest && is_plain_sender(v, desc))
      queue = desc->queue;
    else if (desc->kind != DESC_MEM1D && desc->kind != DESC_MEM4D && desc->kind != DESC_CIRC)
      return false;
    if ((desc->flags & (DESC_F_SAVE | DESC_F_STEP)) &&
        !keep_dsr(v->tile, operand->file, operand->number))
      return false;
    longest = length > longest ? length : longest;
  }
  return queue == NO_QUEUE || keep_queue(v, queue, longest, end);
}

/* The descriptor that the instruction loads is written beside it. */
static bool is_load_fenced(const Visit *v, const Insn *insn)
{
  uint32_t base = insn->absolute ? 0 : v->tile->core.regs.r[insn->b];
  uint32_t address = (base + insn->imm) & LOW16;
  return v->beside && scalar_is_fenced(&v->beside->fences, address,
                                       address + sizeof(((ImageDsr *)0)->words), false);
}

/* Whether the instruction, which is none for a row, may be a step in a cycle before `end`; what it
 * changes has been kept then. */
static bool steps_ahead(Visit *v, const Insn *insn, uint64_t end)
{
  switch (insn_info[insn->op].cost) {
  case COST_ENDTASK:
    return !v->beside;
  case COST_DSR_LOAD:
    return !is_load_fenced(v, insn) && !is_kept_beside(v, insn->file, insn->a) &&
           keep_dsr(v->tile, insn->file, insn->a);
  case COST_DSR_UPDATE:
    return !is_kept_beside(v, insn->file, insn->a) && keep_dsr(v->tile, insn->file, insn->a);
  case COST_VECTOR:
    return starts_ahead(v, &insn->vec, end);
  case COST_ALU16: case COST_ALU32: case COST_CMP32: case COST_ORDER32: case COST_MOVE32:
  case COST_MUL32: case COST_IDIV: case COST_FP: case COST_FDIV: case COST_FCONV: case COST_COUNTER:
  case COST_LOAD: case COST_STORE: case COST_JUMP: case COST_BRANCH: case COST_CALL:
  case COST_RETURN: case COST_CONFIG: case COST_RANDOM: case COST_COUNT: default:
    return false;
  }
}

/* Instructions in a row from `*at` on, in cycles before `end`.  False: none. */
static HOT bool step_row(Visit *v, const ScalarCode **at, uint64_t end)
{
  FastTile *t = v->tile;
  FastAhead *ahead = t->ahead;
  ScalarRun run = {.code = v->engine->code[t->core.cls->index],
                   .fp16 = v->turn.program->image->fp16, .regs = &t->core.regs,
                   .mem = &t->core.mem, .at = *at, .stores = &ahead->overwritten.stores,
                   .fences = v->beside ? &v->beside->fences : NULL,
                   .issues = ahead->issues, .first = (unsigned)(t->core.ready - ahead->from),
                   .end = (unsigned)(end - ahead->from)};
  unsigned first = run.first;
  scalar_run(&run);
  if (run.first == first)
    return false;
  *at = run.at;
  t->core.pc = (uint16_t)(t->core.cls->image->code_address + (run.at - run.code) * 2);
  t->core.ready = ahead->from + run.first;
  for (unsigned i = 0; i < TRUST_COUNT; i++)
    v->worker->log.stats.paid[i] += run.paid[i];
  return true;
}

/* What the thread does next is in a later cycle than the step in this one, which may be free of
 * charge. */
static void leave_cycle(const Visit *v)
{
  Tile *core = &v->tile->core;
  uint64_t next = v->turn.cycle + 1;
  Thread *th = &core->threads[MAIN_THREAD];
  if (core->ready < next)
    core->ready = next;
  if ((core->vectors & 1u << MAIN_THREAD) && th->ready < next)
    th->ready = next;
}

/* All that the operation reads and writes lies in variables, no result on another one, and its next
 * group is not the last, which ends it. */
static bool is_between_variables(const FastPlain *p)
{
  return p->input == NO_QUEUE && p->output == NO_QUEUE && !p->unbounded &&
         p->remaining > p->width && (p->memory & 1u << PLAIN_DEST) && p->step[PLAIN_DEST];
}

/* The cycles of the groups from `*next` on, before `end`, with `elements` at most and but the last;
 * a bit each from `ahead->from` on.  Returns how many groups; *next: the cycle of the one after
 * them; *waits: the cycles that they wait for banks. */
static unsigned find_groups(const FastEngine *e, const FastPlain *p, FastAhead *ahead, uint64_t end,
                            unsigned elements, uint64_t *next, uint64_t *waits)
{
  FastPlain at = *p;
  unsigned most = elements / p->width, left = (p->remaining - 1) / p->width, n = 0;
  unsigned rests = e->timing->groups_per_rest;
  uint64_t cycle = *next - ahead->from;
  end -= ahead->from;
  *waits = 0;
  for (most = most < left ? most : left; n < most && cycle < end; n++) {
    mark_group(ahead, ahead->from + cycle);
    unsigned extra = plain_conflict(e, &at);
    *waits += extra;
    cycle += 1 + extra;
    at.address[PLAIN_SRC0] = (uint16_t)(at.address[PLAIN_SRC0] + p->width * p->step[PLAIN_SRC0]);
    at.address[PLAIN_SRC1] = (uint16_t)(at.address[PLAIN_SRC1] + p->width * p->step[PLAIN_SRC1]);
    at.remaining -= p->width;
    if (UNLIKELY(rests))
      cycle += vec_rest(e->timing, true, at.remaining, p->width, extra);
  }
  *next = ahead->from + cycle;
  return n;
}

/* Computes so many groups, with so many elements, of the main thread's operation between
 * variables.  `next`: cycle of the group after them. */
static void do_groups(Visit *v, unsigned groups, unsigned elements, uint64_t next, uint64_t waits)
{
  EngineStats *stats = &v->worker->log.stats;
  Thread *th = &v->tile->core.threads[MAIN_THREAD];
  FastPlain *p = thread_plain(th);
  plain_elements_all(v, p, elements);
  p->remaining -= elements;
  th->ready = next;
  stats->groups += groups;
  stats->elements += elements;
  stats->stalls[STALL_BANK] += waits;
}

/* A step of the stretch is a finding. */
static bool is_mistaken(const Visit *v)
{
  return UNLIKELY(arrlenu(v->worker->log.faults) > v->findings);
}

/* The operation is over with the group of this cycle, and the next one may have begun: since then
 * so many instructions have been counted.  False: that one is a mistake. */
static bool step_behind(Visit *v, uint64_t instructions)
{
  FastAhead *ahead = v->tile->ahead;
  ahead->is.kept = false;
  ahead->doubled = (uint8_t)(ahead->doubled + v->worker->log.stats.instructions - instructions);
  ahead->began = (uint8_t)(v->turn.cycle - ahead->from);
  leave_cycle(v);
  return !is_mistaken(v);
}

/* A group of an operation beside which the thread goes on. */
static RARE bool step_overlapping(Visit *v)
{
  const FastPlain *p = thread_plain(&v->tile->core.threads[MAIN_THREAD]);
  bool ends = plain_elements(p) == p->remaining;
  uint64_t instructions = v->worker->log.stats.instructions;
  plain_group_any(v, MAIN_THREAD);
  return !ends || step_behind(v, instructions);
}

/* The next group.  False: it is a mistake. */
static HOT bool step_group(Visit *v)
{
  FastTile *t = v->tile;
  uint64_t cycle = t->core.threads[MAIN_THREAD].ready;
  set_now(v, cycle);
  mark_group(t->ahead, cycle);
  if (UNLIKELY(t->core.overlaps))
    return step_overlapping(v);
  plain_group(v, MAIN_THREAD);
  leave_cycle(v);
  return true;
}

/* So many groups up to the last one, in cycle `last`, of the operation between variables. */
static bool step_to_end(Visit *v, unsigned groups, uint64_t last, uint64_t waits)
{
  Thread *th = &v->tile->core.threads[MAIN_THREAD];
  FastPlain *p = thread_plain(th), at = *p;
  uint64_t instructions = v->worker->log.stats.instructions;
  unsigned before = (groups - 1) * p->width;
  for (unsigned k = 0; k < PLAIN_DEST; k++)
    at.address[k] = (uint16_t)(at.address[k] + (int)before * at.step[k]);
  unsigned extra = plain_conflict(v->engine, &at);
  set_now(v, last);
  mark_group(v->tile->ahead, last);
  do_groups(v, groups, p->remaining, last + 1 + extra, waits + extra);
  plain_finish(v, MAIN_THREAD, extra);
  return step_behind(v, instructions);
}

/* The groups of the operation between variables in cycles before `end`.  False: it is not over
 * then, or the next one is a mistake. */
static bool step_variables(Visit *v, uint64_t end)
{
  FastTile *t = v->tile;
  const Thread *th = &t->core.threads[MAIN_THREAD];
  const FastPlain *p = thread_plain(th);
  uint64_t next = th->ready, waits;
  unsigned groups = find_groups(v->engine, p, t->ahead, end, p->remaining, &next, &waits);
  if (next < end && p->remaining - groups * p->width <= p->width)
    return step_to_end(v, groups + 1, next, waits);
  if (groups)
    do_groups(v, groups, groups * p->width, next, waits);
  return false;
}

/* ---- a stretch: operations that overlap ---------------------------------------------------- */

/* The cycle of the operation's last group, or one that is not before `end`. */
static uint64_t find_last(const FastEngine *e, const FastPlain *p, uint64_t ready, uint64_t end)
{
  FastPlain at = *p;
  unsigned rests = e->timing->groups_per_rest;
  if (!p->both_memory && !rests)
    return ready + (p->remaining - 1) / p->width;
  while (at.remaining > at.width && ready < end) {
    unsigned extra = plain_conflict(e, &at);
    ready += 1 + extra;
    at.address[PLAIN_SRC0] = (uint16_t)(at.address[PLAIN_SRC0] + p->width * p->step[PLAIN_SRC0]);
    at.address[PLAIN_SRC1] = (uint16_t)(at.address[PLAIN_SRC1] + p->width * p->step[PLAIN_SRC1]);
    at.remaining -= p->width;
    ready += rests ? vec_rest(e->timing, true, at.remaining, p->width, extra) : 0;
  }
  return ready;
}

/* The load finds its value, which no operation beside it writes. */
static bool is_load_plain(const Visit *v, const ScalarCode *code)
{
  const Tile *core = &v->tile->core;
  MemoryAccess access;
  uint32_t value;
  scalar_access(code->insn, &core->regs, &access);
  uint32_t end = access.address + access.bytes;
  return !core->mem.tracked &&
         !(v->beside && scalar_is_fenced(&v->beside->fences, access.address, end, false)) &&
         !(code->bytes && is_outside(code->object, access.address, access.bytes)) &&
         mem_load(&core->mem, access.address, access.bytes, &value) == FAULT_COUNT;
}

/* What it changes has been kept then. */
static bool is_update_plain(Visit *v, const Insn *insn)
{
  DsrState changed = *dsr_at(v->tile->core.dsrs, insn->file, insn->a);
  return dsr_set_field(&changed, insn->field, 0) && !is_kept_beside(v, insn->file, insn->a) &&
         keep_dsr(v->tile, insn->file, insn->a);
}

/* The instruction can issue beside the main thread's operation and is no mistake. */
static bool steps_beside(Visit *v, const ScalarCode *code)
{
  const Tile *core = &v->tile->core;
  const Insn *insn = code->insn;
  CostClass cost = insn_info[insn->op].cost;
  return !(code->odd & SCALAR_MOVES_STACK) &&
         overlap_issues(core->threads[MAIN_THREAD].run, insn, &core->regs) &&
         (cost != COST_LOAD || is_load_plain(v, code)) &&
         (cost != COST_DSR_UPDATE || is_update_plain(v, insn));
}

static void issue_beside(Visit *v)
{
  Tile *core = &v->tile->core;
  uint64_t cycle = core->ready;
  set_now(v, cycle);
  v->tile->ahead->doubled++;
  v->last_beside = cycle;
  tile_issue(&v->turn);
  core->ready = core->ready > cycle ? core->ready : cycle + 1;
}

/* The instructions beside the main thread's operation, in cycles before `end`.  Returns the cycle
 * up to which its groups may be done.  Where microthreads run, the next operation waits for this
 * one: so their turns delay the groups alone. */
static RARE uint64_t step_beside(Visit *v, uint64_t end, uint64_t last)
{
  FastTile *t = v->tile;
  Tile *core = &t->core;
  Thread *th = &core->threads[MAIN_THREAD];
  const FastPlain *p = thread_plain(th);
  uint64_t last_group = find_last(v->engine, p, th->ready, end);
  plain_sync(th);
  while (core->ready <= last_group && core->ready < end) {
    const ScalarCode *code = code_now(v->engine, core);
    if (code && code->insn && code->insn->op == OP_vec) {
      core->waits = true;
      bool starts = last_group < end && overlap_follows(&code->insn->vec, core->dsrs);
      return starts && !starts_ahead(v, &code->insn->vec, last) ? last_group : end;
    }
    if (!code || !code->insn || !steps_beside(v, code))
      return core->ready;
    issue_beside(v);
  }
  return v->beside && last_group < end && core->ready > last_group ? last_group : end;
}

/* ---- a stretch: groups and instructions ---------------------------------------------------- */

/* The groups of the operation in cycles before `end`, with what goes on beside it and the
 * operations that follow without a gap.  False: one is not over then. */
static HOT bool step_groups(Visit *v, uint64_t end, uint64_t last)
{
  FastTile *t = v->tile;
  Thread *th = &t->core.threads[MAIN_THREAD];
  while (t->core.vectors & 1u << MAIN_THREAD) {
    const FastPlain *p = thread_plain(th);
    bool stores = p->memory & 1u << PLAIN_DEST;
    if (!th->plain || (v->beside && !is_unfenced(v->beside, p, p->remaining)) ||
        (stores && !keep_results(t, p)))
      return false;
    uint64_t until = UNLIKELY(t->core.overlaps) ? step_beside(v, end, last) : end;
    bool goes_on = is_between_variables(p) ? step_variables(v, until)
                   : th->ready < until && plain_waits(v, p) == STALL_NONE && step_group(v);
    if (!goes_on)
      return false;
  }
  return true;
}

/* For a stretch that has begun in an operation, or goes on in one when it is repeated. */
static RARE bool go_on_in_operation(Visit *v, uint64_t end, uint64_t last)
{
  return step_groups(v, end, last);
}

/* The operation that sends one wavelet, from its issue to its end in cycles before `end`.  False:
 * it is none, or nothing has been done. */
static RARE bool step_single(Visit *v, const Insn *insn, uint64_t end, uint64_t last)
{
  FastTile *t = v->tile;
  uint64_t issue = t->core.ready, start = v->engine->timing->vector_start;
  uint64_t group = issue + (start ? start : 1);
  SingleSend send;
  if (v->beside || group >= end || !finds_single(v, insn, &send) ||
      !keep_queue(v, send.queue, 1, last))
    return false;
  mark_issue(t->ahead, issue);
  mark_group(t->ahead, group);
  set_now(v, group);
  do_single(v, insn, &send);
  leave_cycle(v);
  return true;
}

/* Nothing can be wrong with the end of a task. */
static void step_end(Visit *v)
{
  uint64_t cycle = v->tile->core.ready;
  set_now(v, cycle);
  mark_issue(v->tile->ahead, cycle);
  tile_end_main(&v->turn);
  leave_cycle(v);
}

/* The instruction, which is none for a row, and the groups of its operation, in cycles before
 * `end`. False: not all of that. */
static bool step_instruction(Visit *v, const Insn *insn, uint64_t end, uint64_t last)
{
  FastTile *t = v->tile;
  uint64_t cycle = t->core.ready;
  if (insn->op == OP_vec && is_sender(&t->core, &insn->vec) && step_single(v, insn, end, last))
    return true;
  if (!steps_ahead(v, insn, last))
    return false;
  set_now(v, cycle);
  mark_issue(t->ahead, cycle);
  tile_issue(&v->turn);
  leave_cycle(v);
  if (is_mistaken(v))
    return false;
  if (!(t->core.vectors & 1u << MAIN_THREAD))
    return true;
  t->ahead->began = (uint8_t)(cycle - t->ahead->from);
  t->ahead->is.kept = false;
  return step_groups(v, end, last);
}

/* All steps in cycles before `end` of a stretch that may go on to `last`.  Returns the cycle of one
 * that is a mistake, or NEVER. */
static uint64_t take_steps(Visit *v, uint64_t end, uint64_t last)
{
  Tile *core = &v->tile->core;
  Fault **faults = &v->worker->log.faults;
  v->findings = arrlenu(*faults);
  bool goes_on = !(core->vectors & 1u << MAIN_THREAD) || go_on_in_operation(v, end, last);
  const ScalarCode *code = code_now(v->engine, core);
  while (goes_on && core->running && core->ready < end && code && code->insn) {
    if (!(code->odd & SCALAR_STOPS)) {
      goes_on = step_row(v, &code, end);
      continue;
    }
    if (code->insn->op == OP_endtask && !v->beside) {
      step_end(v);
      break;
    }
    goes_on = step_instruction(v, code->insn, end, last);
    code = code_now(v->engine, core);
  }
  if (LIKELY(!is_mistaken(v)))
    return NEVER;
  arrsetlen(*faults, v->findings);
  return v->turn.cycle;
}

/* A microthread issues in the cycle in which the thread had its next step. */
static void give_turn(FastTile *t, uint64_t cycle)
{
  Thread *th = &t->core.threads[MAIN_THREAD];
  uint64_t *ready = t->core.vectors & 1u << MAIN_THREAD ? &th->ready : &t->core.ready;
  if (*ready != cycle)
    ICE("a step that is repeated is not in its cycle");
  ++*ready;
}

/* The first cycle from `first` on, before `end`, in which a microthread has taken a turn; `end`:
 * there is none. */
static uint64_t next_taken(const FastAhead *ahead, uint64_t first, uint64_t end)
{
  if (LIKELY(!ahead->is.with_turns))
    return end;
  while (first < end && !is_taken(ahead, first - ahead->from))
    first++;
  return first;
}

/* The same where microthreads have taken turns. */
static uint64_t take_turns(Visit *v, uint64_t end, uint64_t last)
{
  const FastAhead *ahead = v->tile->ahead;
  for (uint64_t cycle = ahead->from;; cycle++) {
    cycle = next_taken(ahead, cycle, end);
    uint64_t mistake = take_steps(v, cycle, last);
    if (mistake != NEVER || cycle == end)
      return mistake;
    give_turn(v->tile, cycle);
  }
}

/* Carries out the stretch that has begun, up to `end`, and counts it.  What it may begin there
 * depends on `last`, which is the same or later when it is repeated. */
static uint64_t run_stretch(Visit *v, uint64_t end, uint64_t last)
{
  FastTile *t = v->tile;
  FastWorker *w = v->worker;
  FastAhead *ahead = t->ahead;
  EngineStats *stats = &w->log.stats;
  AheadCounts before = counts_now(w);
  uint64_t issues = t->core.issues;
  ahead->doubled = 0;
  memset(ahead->issues, 0, sizeof ahead->issues);
  if (ahead->is.with_turns)
    memset(ahead->overwritten.turns.groups, 0, sizeof ahead->overwritten.turns.groups);
  v->is_stretch = true;
  uint64_t mistake = take_turns(v, end, last);
  v->is_stretch = false;
  set_now(v, ahead->from);
  unsigned count = issues_count_all(ahead->issues);
  ahead->groups = (uint8_t)(stats->groups - before.groups);
  ahead->elements_done = (uint16_t)(stats->elements - before.elements);
  ahead->bank = (uint16_t)(stats->stalls[STALL_BANK] - before.bank);
  for (unsigned i = 0; i < TRUST_COUNT; i++)
    ahead->paid[i] = (uint16_t)(stats->paid[i] - before.paid[i]);
  if (queue_of(ahead) != NO_QUEUE)
    ahead->sent = (uint8_t)(t->queues[ahead->queue].output.count - ahead->sent);
  stats->instructions = before.instructions + count + ahead->doubled - ahead->groups;
  stats->active_tile_cycles += count;
  t->core.issues = issues + count + ahead->doubled;
  t->is_ahead = count != 0;
  return mistake;
}

/* ---- a stretch: back to its beginning ------------------------------------------------------ */

/* The operation that a stretch has begun is gone. */
static void drop_operation(Visit *v)
{
  FastTile *t = v->tile;
  Thread *th = &t->core.threads[MAIN_THREAD];
  if (!(t->core.vectors & 1u << MAIN_THREAD))
    return;
  v->turn.port->run_free(&v->turn, th->run);
  th->run = NULL;
  t->core.vectors &= (uint16_t)~(1u << MAIN_THREAD);
}

/* Takes the results of the stretch that are still in its output queue out of it.  Returns how many
 * the router has taken before. */
static unsigned take_back_results(FastTile *t)
{
  const FastAhead *ahead = t->ahead;
  if (queue_of(ahead) == NO_QUEUE)
    return 0;
  FastQueue *q = &t->queues[ahead->queue].output;
  unsigned left = q->count < ahead->sent ? q->count : ahead->sent;
  q->count = (uint16_t)(q->count - left);
  queue_note(q, ahead->use);
  return ahead->sent - left;
}

/* The router has taken so many of the results once already. */
static void drop_results(FastTile *t, unsigned queue, unsigned n)
{
  if (queue == NO_QUEUE)
    return;
  FastQueue *q = &t->queues[queue].output;
  for (; n; n--)
    queue_take(q);
  if (!q->count)
    t->output_any &= (uint16_t)~(1u << queue);
}

static void restore_dsrs(FastTile *t)
{
  FastAhead *ahead = t->ahead;
  for (unsigned i = 0; t->core.dsrs.own && i < ahead->n_dsrs; i++)
    t->core.dsrs.own[ahead->place[i]] = *dsr_before(ahead, i);
}

/* The counts are as if the stretch had not been. */
static void uncount_stretch(FastWorker *w, FastTile *t)
{
  const FastAhead *ahead = t->ahead;
  EngineStats *stats = &w->log.stats;
  unsigned count = issues_count_all(ahead->issues);
  stats->instructions -= count + ahead->doubled - ahead->groups;
  stats->groups -= ahead->groups;
  stats->elements -= ahead->elements_done;
  stats->stalls[STALL_BANK] -= ahead->bank;
  for (unsigned i = 0; i < TRUST_COUNT; i++)
    stats->paid[i] -= ahead->paid[i];
  stats->active_tile_cycles -= count;
  t->core.issues -= count + ahead->doubled;
}

/* The operation in which the stretch has begun is as it was. */
static void restore_operation(FastWorker *w, FastTile *t)
{
  const FastAhead *ahead = t->ahead;
  if (!ahead->is.in_operation)
    return;
  FastRun *whole = &fast_work_alloc(w)->run;
  *whole = *ahead->operation;
  t->core.threads[MAIN_THREAD] = (Thread){.run = &whole->run, .plain = 1,
                                          .ready = ahead->from + ahead->group_ready};
  t->core.vectors |= 1u << MAIN_THREAD;
  t->plain_threads |= 1u << MAIN_THREAD;
}

/* The thread is at the beginning of the stretch. */
static void restore_thread(Visit *v)
{
  FastTile *t = v->tile;
  FastAhead *ahead = t->ahead;
  drop_operation(v);
  restore_operation(v->worker, t);
  t->core.regs = ahead->regs;
  t->core.pc = ahead->pc;
  t->core.ready = ahead->from + ahead->ready;
  t->core.task = ahead->task;
  t->core.running = true;
  t->core.overlaps = ahead->is.overlapping;
  t->core.waits = ahead->is.waiting;
}

/* Undoes the steps of the stretch from `cycle` on: all of them, and then those before once more. */
static RARE void undo_stretch(Visit *v, uint64_t cycle)
{
  FastTile *t = v->tile;
  FastAhead *ahead = t->ahead;
  uncount_stretch(v->worker, t);
  restore_thread(v);
  undo_stores(&ahead->overwritten.stores, &t->core.mem);
  restore_dsrs(t);
  unsigned queue = queue_of(ahead), taken = take_back_results(t);
  begin_stretch(&t->core, ahead);
  ahead->began = SCALAR_CYCLES;
  if (ahead->is.in_operation)
    keep_places(t);
  else
    ahead->queue = NO_QUEUE;
  run_stretch(v, cycle, ahead->from + SCALAR_CYCLES);
  drop_results(t, queue, taken);
}

/* ---- a stretch ----------------------------------------------------------------------------- */

/* The thread's next instruction is none for a stretch. */
static bool is_stretch_empty(const FastEngine *e, const Tile *core)
{
  const ScalarCode *code = code_now(e, core);
  if (!code || !code->insn)
    return true;
  CostClass cost = insn_info[code->insn->op].cost;
  return (code->odd & SCALAR_STOPS) && cost != COST_ENDTASK && cost != COST_DSR_LOAD &&
         cost != COST_DSR_UPDATE && cost != COST_VECTOR;
}

/* Nothing else notes the last change of a task that is over. */
static void note_end(FastWorker *w, const FastAhead *ahead)
{
  uint64_t last = ahead->from + (uint64_t)issues_last(ahead->issues, SCALAR_CYCLES);
  if (last >= w->log.last_change)
    w->log.last_change = last + 1;
}

/* An instruction beside an operation may be later than all groups: what is ahead would end too
 * soon. Returns the cycle behind these then, else NEVER. */
static RARE uint64_t behind_groups(const Visit *v)
{
  const FastAhead *ahead = v->tile->ahead;
  uint64_t next = ahead->from + (uint64_t)(issues_last(ahead->issues, SCALAR_CYCLES) + 1);
  return v->last_beside >= next ? next : NEVER;
}

/* The main thread can begin a stretch. */
static bool may_begin(const Visit *v)
{
  const Tile *core = &v->tile->core;
  return core->vectors & 1u << MAIN_THREAD || !is_stretch_empty(v->engine, core);
}

/* The issues of the stretch that has been carried out are among the counts. */
static void note_stretch(FastWorker *w, const FastAhead *ahead)
{
  uint64_t first = ahead->from + issues_first(ahead->issues);
  uint64_t last = ahead->from + issues_last_of_all(ahead->issues);
  w->ahead_last = last > w->ahead_last ? last : w->ahead_last;
  if (first < w->log.stats.first_event)
    w->log.stats.first_event = first;
}

bool fast_ahead(Visit *v)
{
  FastTile *t = v->tile;
  FastWorker *w = v->worker;
  uint64_t from = v->turn.cycle;
  FastBeside beside;
  if (!may_begin(v) || !looks_beside(v, &beside))
    return false;               /* nothing of an earlier stretch issues from now on */
  if (t->core.ready < from)
    t->core.ready = from;
  if (w->log.stats.last_event + 1 < from)       /* else there has been a later event */
    settle_last(w, t);
  uint64_t end = ahead_end(v->engine, from);
  end = t->core.pending_due < end ? t->core.pending_due : end;
  begin_stretch(&t->core, begin_ahead(v, from, end));
  if (UNLIKELY(t->ahead->is.in_operation))
    keep_operation(w, t, t->ahead);
  else
    t->ahead->queue = NO_QUEUE;
  end = ahead_aim(v, from, end);
  v->last_beside = 0;
  uint64_t mistake = run_stretch(v, end, end);
  uint64_t behind = UNLIKELY(v->last_beside) ? behind_groups(v) : NEVER;
  if (UNLIKELY(mistake != NEVER || behind != NEVER))
    undo_stretch(v, mistake < behind ? mistake : behind);
  if (!t->is_ahead)
    return false;
  t->core.last_issued[t->core.main_level] = MAIN_THREAD;
  if (!t->core.running)
    note_end(w, t->ahead);
  note_stretch(w, t->ahead);
  return t->ahead->issues[0] & 1;
}

/* ---- vector operations ------------------------------------------------------------------- */

/* What the next elements overwrite. */
static void save_elements(const FastTile *t, const FastPlain *p, FastElements *elements, unsigned n)
{
  const uint8_t *at = t->core.mem.bytes + p->address[PLAIN_DEST];
  elements->n = n;
  for (unsigned i = 0; i < n; i++)
    memcpy(&elements->before[i], at + (ptrdiff_t)i * p->step[PLAIN_DEST], p->bytes);
}

void plain_ahead(Visit *v)
{
  FastWorker *w = v->worker;
  FastTile *t = v->tile;
  const Thread *th = &t->core.threads[MAIN_THREAD];
  uint64_t from = v->turn.cycle, end = ahead_end(v->engine, from), next = th->ready;
  const FastPlain *p = thread_plain(th);
  FastBeside beside;
  if (next >= end || !is_between_variables(p) || !looks_beside(v, &beside) ||
      !is_unfenced(v->beside, p, p->remaining))
    return;
  settle_last(w, t);
  FastAhead *ahead = begin_ahead(v, from, end);
  uint64_t waits;
  unsigned groups = find_groups(v->engine, p, ahead, ahead_aim(v, from, end),
                                (unsigned)(room_of(ahead) / sizeof(uint32_t)), &next, &waits);
  save_elements(t, p, &ahead->overwritten.elements, groups * p->width);
  do_groups(v, groups, groups * p->width, next, waits);
  t->core.issues += groups;
  w->log.stats.active_tile_cycles += groups;
  t->is_ahead = groups != 0;
  note_last(w, ahead, SCALAR_CYCLES);
}

/* Takes back the group that was issued last, in `cycle`. */
static void undo_group(FastWorker *w, FastTile *t, uint64_t cycle)
{
  Thread *th = &t->core.threads[MAIN_THREAD];
  FastPlain *p = thread_plain(th);
  FastElements *elements = &t->ahead->overwritten.elements;
  for (unsigned i = 0; i < p->width; i++) {
    for (unsigned k = 0; k < PLAIN_STREAMS; k++)
      if (p->memory & 1u << k)
        p->address[k] = (uint16_t)(p->address[k] - p->step[k]);
    memcpy(t->core.mem.bytes + p->address[PLAIN_DEST], &elements->before[--elements->n], p->bytes);
  }
  p->remaining += p->width;
  th->ready = cycle;
  w->log.stats.groups--;
  w->log.stats.elements -= p->width;
  w->log.stats.stalls[STALL_BANK] -= plain_conflict(w->engine, p);
}

static void undo_groups(FastWorker *w, FastTile *t, uint64_t cycle)
{
  const FastAhead *ahead = t->ahead;
  uint64_t end = SCALAR_CYCLES, first = cycle - ahead->from;
  for (int last; (last = issues_last(ahead->issues, end)) >= 0 && (uint64_t)last >= first;
       end = (uint64_t)last)
    undo_group(w, t, ahead->from + (uint64_t)last);
}

/* ---- back to a cycle ----------------------------------------------------------------------- */

/* The operation's group that is due in `cycle` has waited for its turn up to now: that is counted
 * when the wait is over. */
static void leave_waiting(FastWorker *w, FastTile *t, uint64_t cycle)
{
  Thread *th = &t->core.threads[MAIN_THREAD];
  const FastAhead *ahead = t->ahead;
  uint64_t at = cycle - ahead->from, n = 0;
  if (!(t->core.vectors & 1u << MAIN_THREAD) || th->ready != cycle || at > SCALAR_CYCLES)
    return;
  while (n < at && is_taken(ahead, at - n - 1))
    n++;
  if (!n)
    return;
  w->log.stats.stalls[STALL_ISSUE] -= n;
  th->stall = STALL_ISSUE;
  th->stall_since = cycle - n;
}

static void undo_ahead(Visit *v, uint64_t cycle)
{
  FastWorker *w = v->worker;
  FastTile *t = v->tile;
  const FastAhead *ahead = t->ahead;
  uint64_t end = cycle - ahead->from;
  end = end < SCALAR_CYCLES ? end : SCALAR_CYCLES;
  unsigned count = issues_count(ahead->issues, end);
  FastBeside beside;
  note_last(w, ahead, end);
  if (!count)
    return;
  if (!looks_beside(v, &beside))
    ICE("a microthread could have disturbed what was done ahead");
  FastTile *before = fast_count_as(w, t);
  if (ahead->is.stretch) {
    undo_stretch(v, cycle);
  } else {
    t->core.issues -= count;
    w->log.stats.active_tile_cycles -= count;
    undo_groups(w, t, cycle);
  }
  leave_waiting(w, t, cycle);
  settle_until(w, t, end);
  t->is_ahead = false;
  fast_count_as(w, before);
}

/* ---- turns of microthreads ----------------------------------------------------------------- */

/* What the stretch sends from this cycle on can be seen a cycle later. */
static void delay_results(const Visit *v, const FastAhead *ahead)
{
  if (!ahead->is.stretch || queue_of(ahead) == NO_QUEUE)
    return;
  const FastQueue *q = &v->tile->queues[ahead->queue].output;
  int32_t soonest = (int32_t)v->engine->output_cycles;
  for (unsigned i = 0; i < q->count; i++) {
    FastWavelet *w = queue_at(q, i);
    if (wavelet_wait(w->meta, v->turn.cycle) >= soonest)
      w->meta = (w->meta & ~(uint32_t)STAMP_MASK) | ((w->meta + 1) & STAMP_MASK);
  }
}

/* The operation that the thread is in has begun then or later. */
static bool has_begun_since(const FastAhead *ahead, uint64_t at)
{
  return ahead->began >= at && ahead->began < SCALAR_CYCLES;
}

/* The next instruction, or the next group of the operation that the thread is in, and when it has
 * begun that one. */
static void delay_next(const Visit *v, uint64_t at)
{
  FastTile *t = v->tile;
  Tile *core = &t->core;
  Thread *th = &core->threads[MAIN_THREAD];
  bool begins = has_begun_since(t->ahead, at);
  if (core->vectors & 1u << MAIN_THREAD) {
    th->ready++;
    th->run->started += begins && v->turn.program->memory_facts;
    t->ahead->began = (uint8_t)(t->ahead->began + begins);
    core->ready += begins;
  } else {
    core->ready++;
  }
}

/* There is no room to be so late. */
static void back_to_now(Visit *v)
{
  uint64_t now = v->turn.cycle;
  undo_ahead(v, now);
  v->worker->ahead_less = true;
  v->worker->turned_back++;
  set_now(v, now);
}

bool fast_has_turns(const FastTile *t) { return t->ahead->is.with_turns; }

/* The last group would come to be in a cycle in which the next instruction issues beside it, if it
 * does not wait for the group: the thread has to look at that in its cycle. */
static bool meets_beside(const FastTile *t, unsigned at, uint64_t last)
{
  const Tile *core = &t->core;
  return core->vectors & 1u << MAIN_THREAD && core->overlaps && !core->waits &&
         !has_begun_since(t->ahead, at) && core->ready <= last;
}

bool fast_delay_ahead(Visit *v)
{
  FastAhead *ahead = v->tile->ahead;
  FastTurns *turns = &ahead->overwritten.turns;
  unsigned at = (unsigned)(v->turn.cycle - ahead->from);
  int last = issues_last(ahead->issues, SCALAR_CYCLES) + 1;
  if (last >= ahead->end || meets_beside(v->tile, at, ahead->from + (unsigned)last)) {
    back_to_now(v);
    return false;
  }
  v->worker->turns_taken++;
  if (issues_has(turns->groups, at))
    v->worker->log.stats.stalls[STALL_ISSUE]++;
  issues_delay(ahead->issues, at);
  issues_delay(turns->groups, at);
  turns->taken[at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
  delay_next(v, at);
  delay_results(v, ahead);
  note_last(v->worker, ahead, SCALAR_CYCLES);
  return true;
}

/* ---- the end of the run ------------------------------------------------------------------ */

uint64_t fast_ahead_last(FastWorker *w)
{
  if (w->ahead_less)
    w->ahead_last = 0;
  for (size_t i = 0; w->ahead_less && i < arrlenu(w->touched); i++) {
    const FastTile *t = &w->engine->tiles[w->touched[i]];
    if (t->is_ahead)
      note_last(w, t->ahead, SCALAR_CYCLES);
  }
  w->ahead_less = false;
  return w->ahead_last >= w->engine->phase ? w->ahead_last : 0;
}

void fast_ahead_undo(FastEngine *e, uint64_t cycle)
{
  for (unsigned k = 0; k < e->n_workers; k++) {
    FastWorker *w = &e->workers[k];
    Visit v = start_visits(w);
    w->ahead_last = 0;
    if (w->log.stats.first_event >= cycle)
      w->log.stats.first_event = NEVER;
    for (size_t i = 0; i < arrlenu(w->touched); i++) {
      v.tile = &e->tiles[w->touched[i]];
      v.turn.tile = &v.tile->core;
      if (v.tile->is_ahead)
        undo_ahead(&v, cycle);
    }
  }
}
