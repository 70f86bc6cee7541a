/* Fast engine: what the main thread does ahead of its cycle.
 *
 * A visit carries out a whole stretch of a task: instructions, loads of descriptors, short vector
 * operations, the end of the task.  Nothing can be observed of that in between, because the stretch
 * keeps to the following, here and in steps_ahead and starts_ahead:
 *
 * - The main thread is alone, or it ranks above all microthreads that run: no action is due, the
 *   host has no word for it, and no observer traces (is_main_free in tasks.c).  So registers,
 *   memory, descriptors and the running task are the thread's own.  A step that reads or writes
 *   anything else (counters, configuration, task states, FIFOs, input queues, microthreads) ends
 *   the stretch before it.
 * - Microthreads of lower rank never delay it.  They issue in the cycles in which it does not
 *   (fast_issues_ahead).  A step that touches what their operations write or writes what they read
 *   ends the stretch (finds_beside), and a result for a queue of theirs ends it, too.  The
 *   end of a task looks at their queues, so it is no step beside them.
 * - The next task is not chosen ahead, because a wavelet may still come that decides it.  Until
 *   then the scheduler only drops control wavelets.  For that it looks at blocked tasks and at the
 *   queues that operations read, and no step changes these.
 * - Results for an output queue carry the cycle in which the router can see them.  They find room
 *   now, so they find it then, since the router only takes from the queue.
 * - Every step is in a cycle before the end of the run and before the next action of the tile.
 *
 * Another tile may end the run in the middle of a stretch, or a step may turn out to be a mistake
 * of the program.  Then the tile goes back to the beginning of the stretch and repeats it up to
 * that cycle.  A long operation that runs already goes ahead by itself, and back group by group. */
#include "emu/fast/step.h"

#include "stb_ds.h"

#include <string.h>

/* What elements carried out before their cycle have overwritten, the oldest first. */
typedef struct { unsigned n; uint32_t before[AHEAD_ELEMENTS]; } FastElements;

/* What a stretch has overwritten: values from the front on, and descriptors from the back on, which
 * share the room. */
enum { AHEAD_DSRS = (sizeof(ScalarStores) - offsetof(ScalarStores, at)) / sizeof(DsrState) };
typedef union {
  ScalarStores stores;
  struct {
    uint8_t unused[sizeof(ScalarStores) - AHEAD_DSRS * sizeof(DsrState)];
    DsrState dsrs[AHEAD_DSRS];
  };
} FastOverwritten;

/* What the main thread has done before its cycle, from `from` on: a stretch, with what was before,
 * or groups of an operation.  In which cycles it issues, a bit each from `from` on. */
typedef struct FastAhead {
  Registers regs;
  uint16_t pc;
  uint8_t task;
  bool is_stretch : 1, overlaps : 1;
  uint64_t ready, from, issues[SCALAR_WORDS];
  union { FastOverwritten overwritten; FastElements elements; };
  uint8_t n_dsrs, place[AHEAD_DSRS];    /* descriptors that have changed, among the tile's own */
  /* what the stretch has counted; the output queue that it has sent to, or NO_QUEUE: how many
     wavelets, and its last use before */
  uint16_t groups, elements_done, bank, paid[TRUST_COUNT];
  QueueUse use;
  uint8_t queue;
  uint8_t sent;
} FastAhead;

_Static_assert(sizeof(FastAhead) == sizeof(((FastWork *)0)->ahead), "it takes a piece of its own");

/* ---- cycles in which something issues, a bit each ---------------------------------------- */

/* Those from `first` on. */
static unsigned issues_count(const uint64_t *issues, uint64_t first)
{
  unsigned count = 0;
  for (unsigned word = (unsigned)(first / WORD_BITS); word < SCALAR_WORDS; word++) {
    uint64_t bits = issues[word];
    if (word == first / WORD_BITS)
      bits &= ~UINT64_C(0) << first % WORD_BITS;
    count += bits ? (unsigned)__builtin_popcountll(bits) : 0;
  }
  return count;
}

/* The last one before `end`; -1: none. */
static int issues_last(const uint64_t *issues, uint64_t end)
{
  for (unsigned word = SCALAR_WORDS; word-- > 0;) {
    uint64_t bits = end <= word * WORD_BITS ? 0 : issues[word];
    if (end - word * WORD_BITS < WORD_BITS)
      bits &= (UINT64_C(1) << end % WORD_BITS) - 1;
    if (bits)
      return (int)(word * WORD_BITS + (WORD_BITS - 1) - (unsigned)__builtin_clzll(bits));
  }
  return -1;
}

/* The first one; there is one. */
static unsigned issues_first(const uint64_t *issues)
{
  unsigned word = 0;
  while (!issues[word])
    word++;
  return word * WORD_BITS + (unsigned)__builtin_ctzll(issues[word]);
}

bool fast_issues_ahead(const FastTile *t, uint64_t now)
{
  uint64_t at = t->is_ahead ? now - t->ahead->from : SCALAR_CYCLES;
  return at < SCALAR_CYCLES && (t->ahead->issues[at / WORD_BITS] >> at % WORD_BITS & 1);
}

static void note_last(FastWorker *w, const FastAhead *ahead, uint64_t end)
{
  int last = issues_last(ahead->issues, end);
  if (last >= 0 && ahead->from + (unsigned)last > w->ahead_last)
    w->ahead_last = ahead->from + (unsigned)last;
}

/* The end of what is done ahead in a visit. */
static uint64_t ahead_end(const FastEngine *e, uint64_t from)
{
  return e->limit - from < SCALAR_CYCLES ? e->limit : from + SCALAR_CYCLES;
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
  if (!t->ahead)
    t->ahead = (FastAhead *)fast_work_alloc(w)->ahead;
  return t->ahead;
}

/* The number-th descriptor that a stretch has changed, as it was before. */
static DsrState *dsr_before(FastAhead *ahead, unsigned number)
{
  return &ahead->overwritten.dsrs[AHEAD_DSRS - 1 - number];
}

/* The stretch has changed so many descriptors, which leave this room to stores. */
static void set_dsrs(FastAhead *ahead, unsigned n)
{
  ScalarStores *stores = &ahead->overwritten.stores;
  size_t bytes = sizeof stores->at - n * sizeof(DsrState);
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

static void settle_last(FastWorker *w, const FastTile *t) { settle_until(w, t, SCALAR_CYCLES); }

void fast_ahead_over(FastWorker *w, FastTile *t)
{
  if (t->ahead) {
    settle_last(w, t);
    fast_work_free(w, t->ahead);
  }
  t->ahead = NULL;
  t->is_ahead = false;
}

/* A new stretch begins in cycle `from` of the tile's visit. */
static void begin_stretch(FastWorker *w, FastTile *t, uint64_t from)
{
  FastAhead *ahead = ahead_of(w, t);
  const Tile *core = &t->core;
  ahead->regs = core->regs;
  ahead->pc = core->pc;
  ahead->task = core->task;
  ahead->is_stretch = true;
  ahead->overlaps = core->overlaps;
  ahead->ready = core->ready;
  ahead->from = from;
  ahead->queue = NO_QUEUE;
  ahead->overwritten.stores.n = 0;
  set_dsrs(ahead, 0);
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

/* ---- beside microthreads ------------------------------------------------------------------- */

/* The next `n` elements of a stream in memory. */
static Bounds plain_bounds(const FastPlain *p, unsigned k, uint32_t n)
{
  int first = p->address[k], last = first + ((int)n - 1) * p->step[k];
  return (Bounds){(uint32_t)(first < last ? first : last),
                  (uint32_t)(first < last ? last : first) + p->bytes};
}

/* No memory that is used beside the operation gets in its way during the next `n` elements. */
static bool is_unfenced(const ScalarFences *fences, const FastPlain *p, uint32_t n)
{
  for (unsigned k = 0; fences && n && k < PLAIN_STREAMS; k++) {
    Bounds at = plain_bounds(p, k, n);
    if ((p->memory & 1u << k) && scalar_is_fenced(fences, at.start, at.end, k == PLAIN_DEST))
      return false;
  }
  return true;
}

static bool add_fences(ScalarFences *fences, const FastPlain *p)
{
  for (unsigned k = 0; k < PLAIN_STREAMS; k++) {
    if (!(p->memory & 1u << k) || !p->remaining)
      continue;
    if (fences->n == SCALAR_FENCES)
      return false;
    fences->of[fences->n].at = plain_bounds(p, k, p->remaining);
    fences->of[fences->n++].written = k == PLAIN_DEST;
  }
  return true;
}

/* At its end it changes descriptors. */
static bool keeps_places(const VecRun *run)
{
  return (run->dest.flags | run->src[0].flags | run->src[1].flags) & (DESC_F_SAVE | DESC_F_STEP);
}

/* The memory of the microthreads that run, for the visit; none: there are no microthreads.  False:
 * one of them may do more than take the cycles that are left. */
static bool finds_beside(Visit *v, ScalarFences *fences)
{
  const FastTile *t = v->tile;
  v->fences = NULL;
  unsigned beside = t->core.vectors & ~(1u << MAIN_THREAD);
  if (!beside)
    return true;
  fences->n = 0;
  for (; beside; beside &= beside - 1) {
    unsigned i = (unsigned)__builtin_ctz(beside);
    const Thread *th = &t->core.threads[i];
    if (!th->plain || thread_level(&t->core, i) >= t->core.main_level || keeps_places(th->run) ||
        !add_fences(fences, thread_plain(th)))
      return false;
  }
  v->fences = fences;
  return true;
}

/* A microthread sends to the queue. */
static bool is_shared_output(const FastTile *t, unsigned queue)
{
  for (unsigned bits = t->core.vectors & ~(1u << MAIN_THREAD); bits; bits &= bits - 1)
    if (thread_plain(&t->core.threads[__builtin_ctz(bits)])->output == queue)
      return true;
  return false;
}

uint64_t fast_next_free(const FastTile *t, uint64_t now)
{
  while (fast_issues_ahead(t, ++now))
    ;
  return now;
}

/* ---- a stretch: its steps ------------------------------------------------------------------ */

/* Keeps what the next elements of one size overwrite. */
static HOT void keep_before(ScalarStores *stores, const uint8_t *bytes, const FastPlain *p,
                            unsigned elements, uint8_t size)
{
  int address = p->address[PLAIN_DEST];
  for (unsigned i = stores->n; i < stores->n + elements; i++, address += p->step[PLAIN_DEST]) {
    stores->at[i].before = 0;
    memcpy(&stores->at[i].before, bytes + address, size);
    stores->at[i].address = (uint16_t)address;
    stores->at[i].bytes = size;
  }
  stores->n = (uint16_t)(stores->n + elements);
}

/* Keeps what the next elements in memory overwrite.  False: no room for that. */
static bool keep_elements(FastTile *t, const FastPlain *p, unsigned elements)
{
  ScalarStores *stores = &t->ahead->overwritten.stores;
  if (!(p->memory & 1u << PLAIN_DEST))
    return true;
  if (stores->n + elements > stores->most)
    return false;
  if (p->bytes == sizeof(uint32_t))
    keep_before(stores, t->core.mem.bytes, p, elements, sizeof(uint32_t));
  else
    keep_before(stores, t->core.mem.bytes, p, elements, sizeof(uint16_t));
  return true;
}

static void mark_issue(FastAhead *ahead, uint64_t cycle)
{
  uint64_t at = cycle - ahead->from;
  ahead->issues[at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
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

/* So many results in cycles before `end` have room in the output queue, which no operation of the
 * stretch has used yet; what it is now has been kept then. */
static bool keep_queue(Visit *v, unsigned queue, uint32_t elements, uint64_t end)
{
  const FastEngine *e = v->engine;
  FastTile *t = v->tile;
  const FastQueue *q = &t->queues[queue].output;
  if (t->ahead->queue != NO_QUEUE || is_shared_output(t, queue) ||
      q->count + elements > e->output_capacity[queue] ||
      t->core.ready + sending_cycles(e->timing, elements) >= end)
    return false;
  t->ahead->queue = (uint8_t)queue;
  t->ahead->sent = (uint8_t)q->count;       /* so far */
  t->ahead->use = queue_use(q);
  return true;
}

/* Whether the operation concerns memory and values only, but for results that have room. */
static bool starts_ahead(Visit *v, const VecOperands *vec, uint64_t end)
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
    if (desc->flags & DESC_F_ASYNC)
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
  return v->fences && scalar_is_fenced(v->fences, address,
                                       address + sizeof(((ImageDsr *)0)->words), false);
}

/* Whether the instruction, which is none for a row, may be a step in a cycle before `end`; what it
 * changes has been kept then. */
static bool steps_ahead(Visit *v, const Insn *insn, uint64_t end)
{
  switch (insn_info[insn->op].cost) {
  case COST_ENDTASK:
    return !v->fences;
  case COST_DSR_LOAD:
    return !is_load_fenced(v, insn) && keep_dsr(v->tile, insn->file, insn->a);
  case COST_DSR_UPDATE:
    return keep_dsr(v->tile, insn->file, insn->a);
  case COST_VECTOR:
    return starts_ahead(v, &insn->vec, end);
  case COST_ALU16: case COST_ALU32: case COST_CMP32: case COST_ORDER32: case COST_MOVE32:
  case COST_MUL32: case COST_IDIV: case COST_FP: case COST_FDIV: case COST_FCONV: case COST_COUNTER:
  case COST_LOAD: case COST_STORE: case COST_JUMP: case COST_BRANCH: case COST_CALL:
  case COST_RETURN: case COST_CONFIG: case COST_RANDOM: case COST_COUNT: default:
    return false;
  }
}

/* Instructions in a row, in cycles before `end`.  False: none. */
static bool step_row(Visit *v, uint64_t end)
{
  FastTile *t = v->tile;
  FastAhead *ahead = t->ahead;
  ScalarRun run = {.code = v->engine->code[t->core.cls->index],
                   .fp16 = v->turn.program->image->fp16, .regs = &t->core.regs,
                   .mem = &t->core.mem, .pc = t->core.pc, .stores = &ahead->overwritten.stores,
                   .fences = v->fences,
                   .issues = ahead->issues, .first = (unsigned)(t->core.ready - ahead->from),
                   .end = (unsigned)(end - ahead->from)};
  unsigned first = run.first;
  scalar_run(&run);
  if (run.first == first)
    return false;
  t->core.pc = run.pc;
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
    ahead->issues[cycle / WORD_BITS] |= UINT64_C(1) << cycle % WORD_BITS;
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

/* Computes so many groups of the main thread's operation between variables.  `next`: cycle of the
 * group after them. */
static void do_groups(Visit *v, unsigned groups, uint64_t next, uint64_t waits)
{
  EngineStats *stats = &v->worker->log.stats;
  Thread *th = &v->tile->core.threads[MAIN_THREAD];
  FastPlain *p = thread_plain(th);
  unsigned elements = groups * p->width;
  plain_elements_all(v, p, elements);
  p->remaining -= elements;
  th->ready = next;
  stats->groups += groups;
  stats->elements += elements;
  stats->stalls[STALL_BANK] += waits;
}

/* The groups in cycles before `end` but the last, if the operation is between variables and there
 * is room to keep what they overwrite. */
static void step_variables(Visit *v, uint64_t end)
{
  FastTile *t = v->tile;
  const Thread *th = &t->core.threads[MAIN_THREAD];
  const FastPlain *p = thread_plain(th);
  const ScalarStores *stores = &t->ahead->overwritten.stores;
  uint64_t next = th->ready, waits;
  if (!is_between_variables(p))
    return;
  unsigned groups = find_groups(v->engine, p, t->ahead, end,
                                (unsigned)(stores->most - stores->n), &next, &waits);
  keep_elements(t, p, groups * p->width);
  do_groups(v, groups, next, waits);
}

/* The groups of the operation in cycles before `end`.  False: it is not over then, or the thread
 * goes on beside it. */
static bool step_groups(Visit *v, uint64_t end)
{
  FastTile *t = v->tile;
  Thread *th = &t->core.threads[MAIN_THREAD];
  if (!(t->core.vectors & 1u << MAIN_THREAD))
    return true;
  const FastPlain *p = thread_plain(th);
  if (!th->plain || t->core.overlaps || !is_unfenced(v->fences, p, p->remaining))
    return false;
  step_variables(v, end);
  while (t->core.vectors & 1u << MAIN_THREAD) {
    if (th->ready >= end || plain_waits(v, p) != STALL_NONE ||
        !keep_elements(t, p, plain_elements(p)))
      return false;
    set_now(v, th->ready);
    mark_issue(t->ahead, th->ready);
    plain_group(v, MAIN_THREAD);
    leave_cycle(v);
  }
  return true;
}

/* All steps in cycles before `end` of a stretch that may go on to `last`.  Returns the cycle of one
 * that is a mistake, or NEVER. */
static uint64_t take_steps(Visit *v, uint64_t end, uint64_t last)
{
  FastTile *t = v->tile;
  Tile *core = &t->core;
  Fault **faults = &v->worker->log.faults;
  size_t before = arrlenu(*faults);
  while (core->running && core->ready < end) {
    const ScalarCode *code = code_now(v->engine, core);
    if (!code || !code->insn)
      break;
    if (!(code->odd & SCALAR_STOPS)) {
      if (!step_row(v, end))
        break;
      continue;
    }
    uint64_t cycle = core->ready;
    if (!steps_ahead(v, code->insn, last))
      break;
    set_now(v, cycle);
    mark_issue(t->ahead, cycle);
    tile_issue(&v->turn);
    leave_cycle(v);
    bool over = step_groups(v, end);
    if (UNLIKELY(arrlenu(*faults) > before)) {
      arrsetlen(*faults, before);
      return cycle;
    }
    if (!over)
      break;
  }
  return NEVER;
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
  memset(ahead->issues, 0, sizeof ahead->issues);
  v->is_stretch = true;
  uint64_t mistake = take_steps(v, end, last);
  v->is_stretch = false;
  set_now(v, ahead->from);
  unsigned count = issues_count(ahead->issues, 0);
  ahead->groups = (uint16_t)(stats->groups - before.groups);
  ahead->elements_done = (uint16_t)(stats->elements - before.elements);
  ahead->bank = (uint16_t)(stats->stalls[STALL_BANK] - before.bank);
  for (unsigned i = 0; i < TRUST_COUNT; i++)
    ahead->paid[i] = (uint16_t)(stats->paid[i] - before.paid[i]);
  if (ahead->queue != NO_QUEUE)
    ahead->sent = (uint8_t)(t->queues[ahead->queue].output.count - ahead->sent);
  stats->instructions = before.instructions + count - ahead->groups;
  stats->active_tile_cycles += count;
  t->core.issues += count;
  t->is_ahead = count != 0;
  note_last(w, ahead, SCALAR_CYCLES);
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
  if (ahead->queue == NO_QUEUE)
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
  unsigned count = issues_count(ahead->issues, 0);
  stats->instructions -= count - ahead->groups;
  stats->groups -= ahead->groups;
  stats->elements -= ahead->elements_done;
  stats->stalls[STALL_BANK] -= ahead->bank;
  for (unsigned i = 0; i < TRUST_COUNT; i++)
    stats->paid[i] -= ahead->paid[i];
  stats->active_tile_cycles -= count;
  t->core.issues -= count;
}

/* Undoes the steps of the stretch from `cycle` on: all of them, and then those before once more. */
static void undo_stretch(Visit *v, uint64_t cycle)
{
  FastTile *t = v->tile;
  FastAhead *ahead = t->ahead;
  uncount_stretch(v->worker, t);
  drop_operation(v);
  t->core.regs = ahead->regs;
  t->core.pc = ahead->pc;
  t->core.ready = ahead->ready;
  t->core.task = ahead->task;
  t->core.running = true;
  t->core.overlaps = ahead->overlaps;
  scalar_undo_stores(&ahead->overwritten.stores, &t->core.mem);
  restore_dsrs(t);
  unsigned queue = ahead->queue, taken = take_back_results(t);
  begin_stretch(v->worker, t, ahead->from);
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

bool fast_ahead(Visit *v)
{
  FastTile *t = v->tile;
  FastWorker *w = v->worker;
  uint64_t from = v->turn.cycle;
  ScalarFences fences;
  if (is_stretch_empty(v->engine, &t->core) || !finds_beside(v, &fences))
    return false;               /* nothing of an earlier stretch issues from now on */
  if (t->core.ready < from)
    t->core.ready = from;
  settle_last(w, t);
  begin_stretch(w, t, from);
  uint64_t end = ahead_end(v->engine, from);
  end = t->core.pending_due < end ? t->core.pending_due : end;
  uint64_t mistake = run_stretch(v, end, end);
  if (UNLIKELY(mistake != NEVER))
    undo_stretch(v, mistake);
  if (!t->is_ahead)
    return false;
  t->core.last_issued[t->core.main_level] = MAIN_THREAD;
  if (!t->core.running)
    note_end(w, t->ahead);
  uint64_t first = from + issues_first(t->ahead->issues);
  if (first < w->log.stats.first_event)
    w->log.stats.first_event = first;
  return first == from;
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
  ScalarFences fences;
  if (next >= end || !is_between_variables(p) || !finds_beside(v, &fences) ||
      !is_unfenced(v->fences, p, p->remaining))
    return;
  settle_last(w, t);
  FastAhead *ahead = ahead_of(w, t);
  ahead->is_stretch = false;
  ahead->from = from;
  memset(ahead->issues, 0, sizeof ahead->issues);
  uint64_t waits;
  unsigned groups = find_groups(v->engine, p, ahead, end, AHEAD_ELEMENTS, &next, &waits);
  save_elements(t, p, &ahead->elements, groups * p->width);
  do_groups(v, groups, next, waits);
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
  FastElements *elements = &t->ahead->elements;
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

/* ---- the end of the run ------------------------------------------------------------------ */

static void undo_ahead(Visit *v, uint64_t cycle)
{
  FastWorker *w = v->worker;
  FastTile *t = v->tile;
  const FastAhead *ahead = t->ahead;
  uint64_t end = cycle - ahead->from;       /* at least 1 */
  end = end < SCALAR_CYCLES ? end : SCALAR_CYCLES;
  unsigned count = issues_count(ahead->issues, end);
  ScalarFences fences;
  note_last(w, ahead, end);
  if (!count)
    return;
  if (!finds_beside(v, &fences))
    ICE("a microthread could have delayed what was done ahead");
  FastTile *before = fast_count_as(w, t);
  if (ahead->is_stretch) {
    undo_stretch(v, cycle);
  } else {
    t->core.issues -= count;
    w->log.stats.active_tile_cycles -= count;
    undo_groups(w, t, cycle);
  }
  settle_until(w, t, end);
  t->is_ahead = false;
  fast_count_as(w, before);
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
