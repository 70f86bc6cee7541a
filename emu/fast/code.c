/* Fast engine: the code of each class, made ready for rows of instructions (ahead.c). */
#include "emu/fast/step.h"

#include <stdlib.h>

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
    code[i] = (ScalarCode){.odd = SCALAR_STOPS, .insn = insn};
    if (goes_ahead(cost) &&
        timing_scalar(e->timing, cost, STEP_FORWARD) <= SCALAR_MOST_CYCLES &&
        timing_scalar(e->timing, cost, STEP_BACK) <= SCALAR_MOST_CYCLES)
      code[i] = scalar_code(insn, i, facts ? facts[cls->index].accesses[i] : (Bounds){0}, e->timing,
                            cls->image);
  }
  return code;
}

void fast_code_create(FastEngine *e)
{
  uint32_t n = e->base.program->image->n_classes;
  e->code = base_malloc((n + 1) * sizeof(ScalarCode *));
  for (uint32_t i = 0; i < n; i++)
    e->code[i] = class_code(e, &e->base.program->classes[i]);
}

void fast_code_destroy(FastEngine *e)
{
  for (uint32_t i = 0; i < e->base.program->image->n_classes; i++)
    free(e->code[i]);
  free(e->code);
}
