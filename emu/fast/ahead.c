/* Fast engine: scalar instructions and vector operations between variables ahead of their cycle.
 * While a tile's main thread is alone, no other unit sees its arithmetic, branches and accesses to
 * memory, so a visit does many of them. Another tile may end the run before that. Then the tile
 * goes back to its registers and memory at the visit (these instructions change nothing else) and
 * repeats the instructions up to the end; an operation goes back group by group. */
#include "emu/fast/step.h"

#include "stb_ds.h"

#include <stdlib.h>
#include <string.h>

static bool goes_ahead(CostClass cost)
{
  switch (cost) {
  case COST_ALU16: case COST_ALU32: case COST_CMP32: case COST_ORDER32: case COST_MOVE32:
  case COST_MUL32: case COST_IDIV: case COST_FP: case COST_FDIV: case COST_FCONV: case COST_COUNTER:
  case COST_LOAD: case COST_STORE: case COST_JUMP: case COST_BRANCH: case COST_CALL:
  case COST_RETURN:
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

/* What the instructions ahead have paid, added to or taken from what the worker has counted. */
static void count_paid(FastWorker *w, const FastAhead *ahead, bool undone)
{
  for (unsigned i = 0; i < TRUST_COUNT; i++)
    w->log.stats.paid[i] += undone ? -(uint64_t)ahead->paid[i] : ahead->paid[i];
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

/* ---- instructions ------------------------------------------------------------------------ */

/* Issues in cycles before `end`. */
static void ahead_steps(FastWorker *w, FastTile *t, uint64_t from, uint64_t end)
{
  const FastEngine *e = w->engine;
  FastAhead *ahead = t->ahead;
  ScalarRun run = {.code = e->code[t->core.cls->index], .fp16 = e->base.program->image->fp16,
                   .regs = &t->core.regs, .mem = &t->core.mem, .pc = t->core.pc,
                   .stores = &ahead->stores,
                   .issues = ahead->issues,
                   .first = (unsigned)(t->core.ready - from), .end = (unsigned)(end - from)};
  if (t->core.ready < end)
    scalar_run(&run);
  else
    memset(ahead->issues, 0, sizeof ahead->issues);
  t->core.pc = run.pc;
  t->core.ready = from + run.first;
  memcpy(ahead->paid, run.paid, sizeof ahead->paid);
  count_paid(w, ahead, false);
}

void fast_ahead_over(FastWorker *w, FastTile *t)
{
  if (t->ahead)
    fast_work_free(w, t->ahead);
  t->ahead = NULL;
  t->is_ahead = false;
}

/* The next instruction belongs to no row. */
static bool is_row_empty(const FastEngine *e, const Tile *core)
{
  const ImageClass *image = core->cls->image;
  uint32_t offset = (uint32_t)core->pc - image->code_address;
  return offset >= image->code_words * 2u || offset % 2 ||
         (e->code[core->cls->index][offset / 2].odd & SCALAR_STOPS);
}

bool fast_ahead(FastWorker *w, FastTile *t, uint64_t from)
{
  if (is_row_empty(w->engine, &t->core))
    return false;               /* nothing of an earlier row issues from now on */
  if (!t->ahead)
    t->ahead = &fast_work_alloc(w)->ahead;
  FastAhead *ahead = t->ahead;
  if (t->core.ready < from)
    t->core.ready = from;
  ahead->regs = t->core.regs;
  ahead->pc = t->core.pc;
  ahead->ready = t->core.ready;
  ahead->from = from;
  ahead_steps(w, t, from, ahead_end(w->engine, from));
  unsigned count = issues_count(ahead->issues, 0);
  t->is_ahead = count != 0;
  t->core.issues += count;
  w->log.stats.instructions += count;
  w->log.stats.active_tile_cycles += count;
  note_last(w, ahead, SCALAR_CYCLES);
  bool now = ahead->issues[0] & 1;
  if (now && from < w->log.stats.first_event)
    w->log.stats.first_event = from;
  return now;
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
    memcpy(&elements->before[i], at + (ptrdiff_t)i * p->step[PLAIN_DEST], p->bytes);
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

/* ---- both -------------------------------------------------------------------------------- */

static void undo_instructions(FastWorker *w, FastTile *t, uint64_t cycle, unsigned count)
{
  FastAhead *ahead = t->ahead;
  w->log.stats.instructions -= count;
  t->core.regs = ahead->regs;
  t->core.pc = ahead->pc;
  t->core.ready = ahead->ready;
  scalar_undo_stores(&ahead->stores, &t->core.mem);
  count_paid(w, ahead, true);
  ahead_steps(w, t, ahead->from, cycle);
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
  FastTile *before = fast_count_as(w, t);
  t->core.issues -= count;
  w->log.stats.active_tile_cycles -= count;
  if (t->core.vectors)
    undo_groups(w, t, cycle);
  else
    undo_instructions(w, t, cycle, count);
  t->is_ahead = false;
  fast_count_as(w, before);
}

void fast_ahead_undo(FastEngine *e, uint64_t cycle)
{
  for (unsigned k = 0; k < e->n_workers; k++) {
    FastWorker *w = &e->workers[k];
    w->ahead_last = 0;
    for (size_t i = 0; i < arrlenu(w->touched); i++) {
      FastTile *t = &e->tiles[w->touched[i]];
      if (t->is_ahead)
        undo_ahead(w, t, cycle);
    }
  }
}
