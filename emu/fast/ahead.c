/* Fast engine: what the main thread does ahead of its cycle. While it is alone, no other unit sees
 * its arithmetic, branches, accesses to memory, and operations on variables, nor that its task is
 * over before the next one can start. Others see a wavelet that it sends only when that is in the
 * router, which its stamp says. So a visit does many instructions and short operations. Another
 * tile may end the run before that. Then the tile goes back to its registers and memory at the
 * visit and repeats what it did up to the end; a long operation goes back group by group. */
#include "emu/fast/step.h"

#include "stb_ds.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static bool goes_ahead(CostClass cost)
{
  switch (cost) {
  case COST_ALU16: case COST_ALU32: case COST_CMP32: case COST_MOVE32: case COST_MUL32:
  case COST_IDIV: case COST_FP: case COST_FDIV: case COST_FCONV: case COST_COUNTER: case COST_LOAD:
  case COST_STORE: case COST_JUMP: case COST_BRANCH: case COST_CALL: case COST_RETURN:
    return true;
  case COST_ENDTASK: case COST_DSR_LOAD: case COST_DSR_UPDATE: case COST_VECTOR: case COST_CONFIG:
  case COST_RANDOM: case COST_COUNT: default:
    return false;
  }
}

static ScalarCode *class_code(const FastEngine *e, const ClassCode *cls)
{
  uint32_t words = cls->image->code_words;
  const MemoryFacts *facts = e->base.program->memory_facts;
  ScalarCode *code = base_malloc((words + 1) * sizeof *code);
  for (uint32_t i = 0; i <= words; i++) {
    bool none = i == words || cls->insn_at[i] == NO_INSN;
    const Insn *insn = none ? NULL : &cls->insns[cls->insn_at[i]];
    CostClass cost = insn ? insn_info[insn->op].cost : COST_COUNT;
    code[i] = (ScalarCode){.odd = SCALAR_STOPS};
    if (goes_ahead(cost) &&
        timing_scalar(e->timing, cost, STEP_FORWARD) <= SCALAR_MOST_CYCLES &&
        timing_scalar(e->timing, cost, STEP_BACK) <= SCALAR_MOST_CYCLES)
      code[i] = scalar_code(insn, i, facts ? facts[cls->index].accesses[i] : (Bounds){0}, e->timing,
                            cls->image);
  }
  return code;
}

void fast_ahead_create(FastEngine *e)
{
  uint32_t n = e->base.program->image->n_classes;
  e->code = base_malloc((n + 1) * sizeof(ScalarCode *));
  for (uint32_t i = 0; i < n; i++)
    e->code[i] = class_code(e, &e->base.program->classes[i]);
}

void fast_ahead_destroy(FastEngine *e)
{
  for (uint32_t i = 0; i < e->base.program->image->n_classes; i++)
    free(e->code[i]);
  free(e->code);
}

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

static void note_first(FastWorker *w, const FastAhead *ahead)
{
  uint64_t *first = &w->log.stats.first_event;
  if (*first <= ahead->from)
    return;
  unsigned word = 0;
  while (word < SCALAR_WORDS && !ahead->issues[word])
    word++;
  if (word == SCALAR_WORDS)
    return;
  uint64_t found = ahead->from + word * WORD_BITS + (unsigned)__builtin_ctzll(ahead->issues[word]);
  *first = found < *first ? found : *first;
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

/* ---- what has been counted --------------------------------------------------------------- */

/* What the worker has counted by now; of what is ahead, when subtracted from that before it. */
static void count_ahead(const EngineStats *stats, FastAhead *ahead)
{
  for (unsigned i = 0; i < TRUST_COUNT; i++)
    ahead->paid[i] = (uint16_t)(stats->paid[i] - ahead->paid[i]);
  ahead->groups = (uint8_t)(stats->groups - ahead->groups);
  ahead->elements_done = (uint8_t)(stats->elements - ahead->elements_done);
  ahead->waits = (uint8_t)(stats->stalls[STALL_BANK] - ahead->waits);
}

static void begin_counts(const EngineStats *stats, FastAhead *ahead)
{
  memset(ahead->paid, 0, sizeof ahead->paid);
  ahead->groups = ahead->elements_done = ahead->waits = 0;
  count_ahead(stats, ahead);
}

static void uncount_ahead(EngineStats *stats, const FastAhead *ahead)
{
  for (unsigned i = 0; i < TRUST_COUNT; i++)
    stats->paid[i] -= ahead->paid[i];
  stats->groups -= ahead->groups;
  stats->elements -= ahead->elements_done;
  stats->stalls[STALL_BANK] -= ahead->waits;
}

/* All issues of `ahead`, of which the groups are no instructions. */
static void count_issues(FastWorker *w, FastTile *t, int sign)
{
  const uint64_t *issues = t->ahead->issues;
  int64_t count = 0;
  for (unsigned word = 0; word < SCALAR_WORDS; word++)
    count += issues[word] ? sign * __builtin_popcountll(issues[word]) : 0;
  t->core.issues += (uint64_t)count;
  w->log.stats.active_tile_cycles += (uint64_t)count;
  w->log.stats.instructions += (uint64_t)(count - sign * (int64_t)t->ahead->groups);
}

static void note_issue(FastAhead *ahead, uint64_t cycle)
{
  uint64_t at = cycle - ahead->from;
  ahead->issues[at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
}

/* ---- instructions ------------------------------------------------------------------------ */

/* Issues in cycles before `end`. */
static void rows_ahead(Visit *v, uint64_t end)
{
  const FastEngine *e = v->engine;
  FastTile *t = v->tile;
  FastAhead *ahead = t->ahead;
  EngineStats *stats = &v->worker->log.stats;
  uint64_t from = ahead->from, issues[SCALAR_WORDS];
  ScalarRun run = {.code = e->code[t->core.cls->index], .fp16 = e->base.program->image->fp16,
                   .regs = &t->core.regs, .mem = &t->core.mem, .pc = t->core.pc,
                   .stores = &ahead->stores, .issues = issues,
                   .first = (unsigned)(t->core.ready - from), .end = (unsigned)(end - from)};
  if (t->core.ready >= end)
    return;
  scalar_run(&run);
  t->core.pc = run.pc;
  t->core.ready = from + run.first;
  for (unsigned word = 0; word < SCALAR_WORDS; word++)
    ahead->issues[word] |= issues[word];
  for (unsigned i = 0; i < TRUST_COUNT; i++)
    stats->paid[i] += run.paid[i];
}

/* The next instruction belongs to no row. */
static bool is_row_empty(const FastEngine *e, const Tile *core)
{
  const ImageClass *image = core->cls->image;
  uint32_t offset = (uint32_t)core->pc - image->code_address;
  return offset >= image->code_words * 2u || offset % 2 ||
         (e->code[core->cls->index][offset / 2].odd & SCALAR_STOPS);
}

/* ---- whole operations -------------------------------------------------------------------- */

/* The results can be taken back, and there is room for them whenever they come; `again`: there was,
 * and what was sent may still be in the queue. */
static bool has_room_ahead(const Visit *v, const VecRun *run, bool again)
{
  const FastTile *t = v->tile;
  unsigned queue = run->dest.queue;
  if (run->dest.kind == VS_MEMORY)
    return run->remaining <= SCALAR_STORES - t->ahead->stores.n;
  return run->remaining == 1 && t->ahead->sends == NO_QUEUE &&
         (again || t->queues[queue].output.count < v->engine->output_capacity[queue]);
}

/* Its last group is before `end`, whatever it waits for. */
static bool ends_before(const Visit *v, const VecRun *run, uint64_t end)
{
  const Timing *timing = v->engine->timing;
  unsigned groups = (run->remaining + run->width - 1) / run->width;
  return v->turn.cycle + timing->vector_start + (uint64_t)groups * (2 + timing->bank_conflict) <
         end;
}

/* Notes what the operation will have overwritten. */
static void note_results(Visit *v, const VecRun *run)
{
  FastAhead *ahead = v->tile->ahead;
  ScalarStores *stores = &ahead->stores;
  const FastPlain *p = thread_plain(&v->tile->core.threads[MAIN_THREAD]);
  const uint8_t *bytes = v->tile->core.mem.bytes;
  for (unsigned i = 0; run->dest.kind == VS_MEMORY && i < run->remaining; i++) {
    unsigned address = (unsigned)(p->address[PLAIN_DEST] + (int)i * p->step[PLAIN_DEST]);
    memcpy(&stores->at[stores->n].before, bytes + address, sizeof(uint32_t));
    stores->at[stores->n].address = (uint16_t)address;
    stores->at[stores->n++].bytes = sizeof(uint32_t);
  }
}

/* The operation, which has started, up to `end`. */
static void groups_ahead(Visit *v, uint64_t end)
{
  Thread *th = &v->tile->core.threads[MAIN_THREAD];
  FastAhead *ahead = v->tile->ahead;
  while (v->tile->core.vectors && th->ready < end) {
    set_now(v, th->ready);
    note_issue(ahead, th->ready);
    if (thread_plain(th)->output != NO_QUEUE)
      ahead->sent = (uint8_t)(th->ready - ahead->from);
    plain_group(v, MAIN_THREAD);
  }
}

/* Longer operations are faster by plain_ahead, which does many groups at once. */
enum { SHORT_MOST = 16 };

/* The next instruction is an operation of few elements on variables, or sends one: does all of it,
 * or, with `partly`, up to `end`.  False: nothing follows. */
static bool operation_ahead(Visit *v, const Insn *insn, uint64_t end, bool partly)
{
  FastTile *t = v->tile;
  FastAhead *ahead = t->ahead;
  VecRun *run = &fast_work_alloc(v->worker)->run.run;
  unsigned room = SCALAR_STORES - ahead->stores.n, most = room < SHORT_MOST ? room : SHORT_MOST;
  set_now(v, t->core.ready);
  if (!vector_foresee(&v->turn, insn, most, run) || !is_plain(t, run) ||
      !has_room_ahead(v, run, partly) || (!partly && !ends_before(v, run, end))) {
    fast_work_free(v->worker, (char *)run - offsetof(FastRun, run));
    return false;
  }
  if (run->dest.kind == VS_FABOUT) {
    ahead->sends = run->dest.queue;
    ahead->use = queue_use(&t->queues[run->dest.queue].output);
    ahead->sent = SCALAR_CYCLES;
  }
  note_issue(ahead, v->turn.cycle);
  vector_begin(&v->turn, run);
  note_results(v, run);
  groups_ahead(v, end);
  return !t->core.vectors;
}

/* ---- the end of a task -------------------------------------------------------------------- */

static void end_ahead(Visit *v)
{
  FastTile *t = v->tile;
  set_now(v, t->core.ready);
  note_issue(t->ahead, v->turn.cycle);
  tile_end_main(&v->turn);
  note_change(v);
}

/* ---- all of it ---------------------------------------------------------------------------- */

/* From where the main thread is, before `end`; with `partly` the last operation may go on then. */
static void steps_ahead(Visit *v, uint64_t end, bool partly)
{
  Tile *core = &v->tile->core;
  for (;;) {
    if (!is_row_empty(v->engine, core))
      rows_ahead(v, end);
    const Insn *insn = core->ready < end ? class_insn(core->cls, core->pc) : NULL;
    if (insn && insn->op == OP_endtask)
      end_ahead(v);
    if (!insn || insn->op != OP_vec || !operation_ahead(v, insn, end, partly))
      break;
  }
}

/* Something can be done ahead. */
static bool has_steps(const Visit *v)
{
  const Tile *core = &v->tile->core;
  if (!is_row_empty(v->engine, core))
    return true;
  const Insn *insn = class_insn(core->cls, core->pc);
  return insn && (insn->op == OP_vec || insn->op == OP_endtask);
}

bool fast_ahead(Visit *v)
{
  FastWorker *w = v->worker;
  FastTile *t = v->tile;
  uint64_t from = v->turn.cycle;
  if (!has_steps(v))
    return false;               /* nothing of an earlier row issues from now on */
  if (!t->ahead)
    t->ahead = &fast_work_alloc(w)->ahead;
  FastAhead *ahead = t->ahead;
  if (t->core.ready < from)
    t->core.ready = from;
  ahead->regs = t->core.regs;
  ahead->pc = t->core.pc;
  ahead->task = t->core.task;
  ahead->sends = NO_QUEUE;
  ahead->ready = (uint32_t)(t->core.ready - from);
  ahead->from = from;
  ahead->stores.n = 0;
  memset(ahead->issues, 0, sizeof ahead->issues);
  begin_counts(&w->log.stats, ahead);
  steps_ahead(v, ahead_end(v->engine, from), false);
  set_now(v, from);
  count_ahead(&w->log.stats, ahead);
  count_issues(w, t, 1);
  t->is_ahead = (ahead->issues[0] | ahead->issues[1] | ahead->issues[2]) != 0;
  note_first(w, ahead);
  note_last(w, ahead, SCALAR_CYCLES);
  return ahead->issues[0] & 1;
}

/* ---- vector operations ------------------------------------------------------------------- */

/* All that the operation reads and writes lies in variables, no result on another one, and its next
 * group is not the last, which ends it. */
static bool is_between_variables(const FastPlain *p)
{
  return p->input == NO_QUEUE && p->output == NO_QUEUE && !p->unbounded &&
         p->remaining > p->width && (p->memory & 1u << PLAIN_DEST) && p->step[PLAIN_DEST];
}

/* The cycles of the groups from `*next` on, before `end` and but the last; a bit each from
 * `ahead->from` on.  Returns how many groups; *next: the cycle of the one after them; *waits: the
 * cycles that they wait for banks. */
static unsigned find_groups(const FastEngine *e, const FastPlain *p, FastAhead *ahead, uint64_t end,
                            uint64_t *next, uint64_t *waits)
{
  FastPlain at = *p;
  unsigned most = AHEAD_ELEMENTS / p->width, left = (p->remaining - 1) / p->width, n = 0;
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
      cycle += vec_rest(e->timing, true, at.remaining, p->width);
  }
  *next = ahead->from + cycle;
  return n;
}

/* What the next elements overwrite. */
static void save_elements(const FastTile *t, const FastPlain *p, FastElements *elements, unsigned n)
{
  const uint8_t *at = t->core.mem.bytes + p->address[PLAIN_DEST];
  elements->n = n;
  for (unsigned i = 0; i < n; i++)
    memcpy(&elements->before[i], at + (ptrdiff_t)i * p->step[PLAIN_DEST], sizeof(uint32_t));
}

void plain_ahead(Visit *v)
{
  FastWorker *w = v->worker;
  FastTile *t = v->tile;
  Thread *th = &t->core.threads[MAIN_THREAD];
  uint64_t from = v->turn.cycle, end = ahead_end(v->engine, from), next = th->ready;
  FastPlain *p = thread_plain(th);
  EngineStats *stats = &w->log.stats;
  if (next >= end || !is_between_variables(p))
    return;
  if (!t->ahead)
    t->ahead = &fast_work_alloc(w)->ahead;
  FastAhead *ahead = t->ahead;
  ahead->from = from;
  memset(ahead->issues, 0, sizeof ahead->issues);
  uint64_t waits;
  unsigned groups = find_groups(v->engine, p, ahead, end, &next, &waits);
  unsigned elements = groups * p->width;
  save_elements(t, p, &ahead->elements, elements);
  plain_elements_all(v, p, elements);
  p->remaining -= elements;
  th->ready = next;
  t->core.issues += groups;
  stats->active_tile_cycles += groups;
  stats->groups += groups;
  stats->elements += elements;
  stats->stalls[STALL_BANK] += waits;
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
    memcpy(t->core.mem.bytes + p->address[PLAIN_DEST], &elements->before[--elements->n],
           sizeof(uint32_t));
  }
  p->remaining += p->width;
  th->ready = cycle;
  w->log.stats.groups--;
  w->log.stats.elements -= p->width;
  w->log.stats.stalls[STALL_BANK] -= plain_conflict(w->engine, p);
}

static void undo_groups(FastWorker *w, FastTile *t, uint64_t cycle, unsigned count)
{
  const FastAhead *ahead = t->ahead;
  t->core.issues -= count;
  w->log.stats.active_tile_cycles -= count;
  uint64_t end = SCALAR_CYCLES, first = cycle - ahead->from;
  for (int last; (last = issues_last(ahead->issues, end)) >= 0 && (uint64_t)last >= first;
       end = (uint64_t)last)
    undo_group(w, t, ahead->from + (uint64_t)last);
}

/* ---- both -------------------------------------------------------------------------------- */

/* The wavelet that was sent last is taken back. */
static void undo_send(FastTile *t, unsigned queue)
{
  FastQueue *q = &t->queues[queue].output;
  if (--q->count == 0)
    t->output_any &= (uint16_t)~(1u << queue);
}

/* Back to where the main thread was, and on to `cycle`.  What it has sent before stays sent. */
static void undo_steps(FastWorker *w, FastTile *t, uint64_t cycle)
{
  FastAhead *ahead = t->ahead;
  unsigned queue = ahead->sends;
  bool sent = queue != NO_QUEUE && ahead->from + ahead->sent < cycle;
  Visit v = start_visits(w);
  v.tile = t;
  v.turn.tile = &t->core;
  count_issues(w, t, -1);
  uncount_ahead(&w->log.stats, ahead);
  t->core.running = true;
  t->core.task = ahead->task;
  t->core.regs = ahead->regs;
  t->core.pc = ahead->pc;
  t->core.ready = ahead->from + ahead->ready;
  scalar_undo_stores(&ahead->stores, &t->core.mem);
  if (queue != NO_QUEUE)
    queue_note(&t->queues[queue].output, ahead->use);
  if (queue != NO_QUEUE && !sent)
    undo_send(t, queue);
  ahead->stores.n = 0;
  ahead->sends = NO_QUEUE;
  memset(ahead->issues, 0, sizeof ahead->issues);
  begin_counts(&w->log.stats, ahead);
  steps_ahead(&v, cycle, true);
  if (sent)
    undo_send(t, queue);
  count_ahead(&w->log.stats, ahead);
  count_issues(w, t, 1);
}

static void undo_ahead(FastWorker *w, FastTile *t, uint64_t cycle)
{
  FastAhead *ahead = t->ahead;
  uint64_t end = cycle - ahead->from;       /* at least 1 */
  end = end < SCALAR_CYCLES ? end : SCALAR_CYCLES;
  unsigned count = issues_count(ahead->issues, end);
  note_last(w, ahead, end);
  if (!count)
    return;
  if (t->core.vectors)
    undo_groups(w, t, cycle, count);
  else
    undo_steps(w, t, cycle);
  t->is_ahead = false;
}

void fast_ahead_undo(FastEngine *e, uint64_t cycle)
{
  for (unsigned k = 0; k < e->n_workers; k++) {
    FastWorker *w = &e->workers[k];
    w->ahead_last = 0;
    if (w->log.stats.first_event >= cycle)
      w->log.stats.first_event = NEVER;
    for (size_t i = 0; i < arrlenu(w->touched); i++) {
      FastTile *t = &e->tiles[w->touched[i]];
      if (t->is_ahead)
        undo_ahead(w, t, cycle);
    }
  }
}
