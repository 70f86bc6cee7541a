/* Fast engine: scalar instructions ahead of their cycle.  While a tile's main thread is alone, its
 * arithmetic, loads and branches are seen by nobody, so a visit does many of them.  What another
 * tile does may end the run before; then a tile goes back to its registers at the visit, which is
 * all that these instructions change, and comes again as far as the end. */
#include "emu/engine_fast.h"

#include "stb_ds.h"

#include <stdlib.h>

static bool goes_ahead(CostClass cost)
{
  switch (cost) {
  case COST_ALU16: case COST_ALU32: case COST_IDIV: case COST_FP: case COST_FDIV: case COST_LOAD:
  case COST_JUMP: case COST_BRANCH: case COST_RETURN:
    return true;
  case COST_STORE: case COST_CALL: case COST_ENDTASK: case COST_DSR_LOAD: case COST_DSR_UPDATE:
  case COST_VECTOR: case COST_CONFIG: case COST_RANDOM: case COST_COUNT: default:
    return false;
  }
}

static uint8_t cycles(const Timing *timing, CostClass cost, bool taken)
{
  unsigned n = timing_scalar(timing, cost, taken);
  return (uint8_t)(n == 0 ? 1 : n > UINT8_MAX ? UINT8_MAX : n);
}

static FastCode *class_code(const FastEngine *e, const ClassCode *cls)
{
  uint32_t words = cls->image->code_words;
  FastCode *code = base_malloc((words + 1) * sizeof *code);
  for (uint32_t i = 0; i < words; i++) {
    const Insn *insn = cls->insn_at[i] == NO_INSN ? NULL : &cls->insns[cls->insn_at[i]];
    CostClass cost = insn ? insn_info[insn->op].cost : COST_COUNT;
    code[i] = (FastCode){0};
    if (goes_ahead(cost) && timing_scalar(e->timing, cost, true) <= UINT8_MAX)
      code[i] = (FastCode){insn, (uint8_t)insn_words(insn->op),
                           {cycles(e->timing, cost, false), cycles(e->timing, cost, true)}};
  }
  return code;
}

void fast_ahead_create(FastEngine *e)
{
  uint32_t n = e->program->image->n_classes;
  e->code = base_malloc((n + 1) * sizeof(FastCode *));
  for (uint32_t i = 0; i < n; i++)
    e->code[i] = class_code(e, &e->program->classes[i]);
}

void fast_ahead_destroy(FastEngine *e)
{
  for (uint32_t i = 0; i < e->program->image->n_classes; i++)
    free(e->code[i]);
  free(e->code);
}

/* False: it has to wait for its cycle, and nothing has changed. */
static inline bool step(FastTile *t, const FastCode *code, Fp16Format fp16)
{
  Registers before = t->regs;
  ScalarResult result = scalar_exec(code->insn, t->pc, fp16, &t->regs, &t->mem);
  bool jump = result.outcome == SCALAR_JUMP;
  if ((!jump && result.outcome != SCALAR_NEXT) || (jump && result.pc == PC_RETURN)) {
    t->regs = before;
    return false;
  }
  t->ready += code->cycles[jump];
  t->pc = jump ? result.pc : (uint16_t)(t->pc + code->words * 2);
  return true;
}

/* Issues in cycles before `end`; at most as many as fit the mask. */
static uint64_t steps(const FastEngine *e, FastTile *t, uint64_t from, uint64_t end)
{
  const ImageClass *image = t->cls->image;
  const FastCode *code = e->code[t->cls->index];
  uint64_t issues = 0;
  while (t->ready < end) {
    uint64_t at = t->ready;
    uint32_t offset = (uint32_t)t->pc - image->code_address;
    if (offset >= image->code_words * 2u || offset % 2 || !code[offset / 2].insn ||
        !step(t, &code[offset / 2], e->program->image->fp16))
      break;
    issues |= UINT64_C(1) << (at - from);
  }
  return issues;
}

void fast_ahead(FastWorker *w, FastTile *t, uint64_t from)
{
  const FastEngine *e = w->engine;
  uint64_t end = from + WORD_BITS < e->limit ? from + WORD_BITS : e->limit;
  FastAhead before = {.regs = t->regs, .pc = t->pc, .ready = t->ready, .from = from};
  before.issues = steps(e, t, from, end);
  t->is_ahead = before.issues != 0;
  if (!before.issues)
    return;
  if (!t->ahead)
    t->ahead = fast_alloc(w, sizeof *t->ahead, _Alignof(FastAhead));
  *t->ahead = before;
  unsigned count = (unsigned)__builtin_popcountll(before.issues);
  uint64_t last = from + (WORD_BITS - 1) - (unsigned)__builtin_clzll(before.issues);
  t->issues += count;
  w->stats.instructions += count;
  w->stats.active_tile_cycles += count;
  w->ahead_last = last > w->ahead_last ? last : w->ahead_last;
}

static void undo(FastWorker *w, FastTile *t, uint64_t cycle)
{
  const FastAhead *ahead = t->ahead;
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
  t->issues -= count;
  w->stats.instructions -= count;
  w->stats.active_tile_cycles -= count;
  t->regs = ahead->regs;
  t->pc = ahead->pc;
  t->ready = ahead->ready;
  steps(w->engine, t, ahead->from, cycle);
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
