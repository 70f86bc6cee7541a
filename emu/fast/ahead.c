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
  case COST_ALU16: case COST_ALU32: case COST_MUL32: case COST_IDIV: case COST_FP: case COST_FDIV:
  case COST_FCONV: case COST_LOAD:
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
  for (uint32_t i = 0; i < words; i++) {
    const Insn *insn = cls->insn_at[i] == NO_INSN ? NULL : &cls->insns[cls->insn_at[i]];
    CostClass cost = insn ? insn_info[insn->op].cost : COST_COUNT;
    code[i] = (ScalarCode){0};
    if (goes_ahead(cost) &&
        timing_scalar(e->timing, cost, true) <= SCALAR_MOST_CYCLES)
      code[i] = scalar_code(insn, facts ? facts[cls->index].accesses[i] : (Bounds){0}, e->timing);
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

/* Issues in cycles before `end`; at most as many as fit the mask. */
static uint64_t steps(FastWorker *w, FastTile *t, uint64_t from, uint64_t end)
{
  const FastEngine *e = w->engine;
  FastAhead *ahead = t->ahead;
  ScalarRun run = {.code = e->code[t->core.cls->index], .fp16 = e->base.program->image->fp16,
                   .regs = &t->core.regs, .mem = &t->core.mem, .pc = t->core.pc,
                   .stores = &ahead->stores,
                   .first = (unsigned)(t->core.ready - from), .end = (unsigned)(end - from)};
  uint64_t issues = t->core.ready < end ? scalar_run(&run) : 0;
  t->core.pc = run.pc;
  t->core.ready = from + run.first;
  memcpy(ahead->paid, run.paid, sizeof ahead->paid);
  count_paid(w, ahead, false);
  return issues;
}

void fast_ahead_over(FastWorker *w, FastTile *t)
{
  if (t->ahead)
    fast_work_free(w, t->ahead);
  t->ahead = NULL;
  t->is_ahead = false;
}

void fast_ahead(FastWorker *w, FastTile *t, uint64_t from)
{
  const FastEngine *e = w->engine;
  uint64_t end = from + WORD_BITS < e->limit ? from + WORD_BITS : e->limit;
  if (!t->ahead)
    t->ahead = &fast_work_alloc(w)->ahead;
  FastAhead *ahead = t->ahead;
  ahead->regs = t->core.regs;
  ahead->pc = t->core.pc;
  ahead->ready = t->core.ready;
  ahead->from = from;
  ahead->issues = steps(w, t, from, end);
  t->is_ahead = ahead->issues != 0;
  if (!ahead->issues)
    return;
  unsigned count = (unsigned)__builtin_popcountll(ahead->issues);
  uint64_t last = from + (WORD_BITS - 1) - (unsigned)__builtin_clzll(ahead->issues);
  t->core.issues += count;
  w->log.stats.instructions += count;
  w->log.stats.active_tile_cycles += count;
  w->ahead_last = last > w->ahead_last ? last : w->ahead_last;
}

/* ---- vector operations ------------------------------------------------------------------- */

/* All that the operation reads and writes lies in variables, and its next group is not the last,
 * which ends it. */
static bool is_between_variables(const FastPlain *p)
{
  return p->input == NO_QUEUE && p->output == NO_QUEUE && !p->unbounded &&
         p->remaining > p->width && (p->memory & 1u << PLAIN_DEST);
}

/* What the next group overwrites. */
static void save_group(FastTile *t, const FastPlain *p)
{
  ScalarStores *stores = &t->ahead->stores;
  for (unsigned i = 0; i < p->width; i++) {
    uint16_t address = (uint16_t)(p->address[PLAIN_DEST] + (int)i * p->step[PLAIN_DEST]);
    unsigned n = stores->n++;
    stores->at[n].address = address;
    stores->at[n].bytes = sizeof stores->at[n].before;
    memcpy(&stores->at[n].before, t->core.mem.bytes + address, sizeof stores->at[n].before);
  }
}

bool plain_ahead(Visit *v)
{
  FastWorker *w = v->worker;
  FastTile *t = v->tile;
  Thread *th = &t->core.threads[MAIN_THREAD];
  uint64_t from = v->turn.cycle, limit = v->engine->limit;
  uint64_t end = from + WORD_BITS < limit ? from + WORD_BITS : limit;
  const FastPlain *p = thread_plain(th);
  if (!t->core.vectors || th->ready >= end || !is_between_variables(p))
    return false;
  if (!t->ahead)
    t->ahead = &fast_work_alloc(w)->ahead;
  FastAhead *ahead = t->ahead;
  ahead->from = from;
  ahead->issues = 0;
  ahead->stores.n = 0;
  uint64_t last = from;
  for (; th->ready < end && p->remaining > p->width && ahead->stores.n + p->width <= SCALAR_STORES;
       t->core.issues++, w->log.stats.active_tile_cycles++) {
    last = th->ready;
    ahead->issues |= UINT64_C(1) << (last - from);
    save_group(t, p);
    plain_compute(v, th, p->width, last);
  }
  t->is_ahead = ahead->issues != 0;
  w->ahead_last = last > w->ahead_last ? last : w->ahead_last;
  return t->is_ahead;
}

/* Takes back the group that was issued last, in `cycle`. */
static void undo_group(FastWorker *w, FastTile *t, uint64_t cycle)
{
  Thread *th = &t->core.threads[MAIN_THREAD];
  FastPlain *p = thread_plain(th);
  ScalarStores *stores = &t->ahead->stores;
  for (unsigned i = 0; i < p->width; i++) {
    unsigned n = --stores->n;
    memcpy(t->core.mem.bytes + stores->at[n].address, &stores->at[n].before,
           sizeof stores->at[n].before);
    for (unsigned k = 0; k < PLAIN_STREAMS; k++)
      if (p->memory & 1u << k)
        p->address[k] = (uint16_t)(p->address[k] - p->step[k]);
  }
  p->remaining += p->width;
  th->ready = cycle;
  w->log.stats.groups--;
  w->log.stats.elements -= p->width;
  w->log.stats.stalls[STALL_BANK] -= plain_conflict(w->engine, p);
}

static void undo_groups(FastWorker *w, FastTile *t, uint64_t over, uint64_t cycle)
{
  for (; over; over &= ~(UINT64_C(1) << (WORD_BITS - 1) >> __builtin_clzll(over)))
    undo_group(w, t, cycle + (WORD_BITS - 1) - (unsigned)__builtin_clzll(over));
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
  steps(w, t, ahead->from, cycle);
}

static void undo(FastWorker *w, FastTile *t, uint64_t cycle)
{
  FastAhead *ahead = t->ahead;
  uint64_t end = cycle - ahead->from;       /* at least 1 */
  uint64_t over = end < WORD_BITS ? ahead->issues >> end : 0;
  uint64_t kept = end < WORD_BITS ? ahead->issues & ((UINT64_C(1) << end) - 1) : ahead->issues;
  unsigned count = (unsigned)__builtin_popcountll(over);
  if (kept) {
    uint64_t last = ahead->from + (WORD_BITS - 1) - (unsigned)__builtin_clzll(kept);
    w->ahead_last = last > w->ahead_last ? last : w->ahead_last;
  }
  if (!count)
    return;
  t->core.issues -= count;
  w->log.stats.active_tile_cycles -= count;
  if (t->core.vectors)
    undo_groups(w, t, over, cycle);
  else
    undo_instructions(w, t, cycle, count);
  t->is_ahead = false;
}

void fast_ahead_undo(FastEngine *e, uint64_t cycle)
{
  for (unsigned k = 0; k < e->n_workers; k++) {
    FastWorker *w = &e->workers[k];
    w->ahead_last = 0;
    for (size_t i = 0; i < arrlenu(w->touched); i++) {
      FastTile *t = &e->tiles[w->touched[i]];
      if (t->is_ahead)
        undo(w, t, cycle);
    }
  }
}
