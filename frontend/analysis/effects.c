/* Functions without an effect: a call of one only computes a value from what it reads.  Where
 * conditions known at compile time leave out code of a function, it may do more on other tiles. */
#include "frontend/analysis/analysis_internal.h"

#include <stb_ds.h>

Effect *effects_begin(Sema *s)
{
  Effect *known = arena_many(s->arena, Effect, s->ir->n_funcs + 1);
  for (size_t i = 0; i < arrlenu(s->left_out); i++)
    known[s->left_out[i].func.raw] = EFFECT_SOME;
  return known;
}

static bool insn_has_effect(const Sema *s, const IrFunc *f, const IrInsn *insn, Effect *known)
{
  if (ir_op_is_pure(insn->op))
    return false;
  switch ((int)insn->op) {
  case IR_alloca: case IR_load: case IR_br: case IR_cond_br: case IR_ret:
    return false;
  case IR_store: case IR_copy: case IR_zero:
    return !ir_address_is_local(f, insn->args[0]);
  case IR_call:
    return effect_of_func(s, insn->u.func.raw, known);
  default:
    return true;
  }
}

bool effect_of_func(const Sema *s, uint32_t func, Effect *known)
{
  const IrFunc *f = &s->ir->funcs[func];
  if (known[func] != EFFECT_UNKNOWN)
    return known[func] != EFFECT_NONE;
  known[func] = EFFECT_RUNNING;
  bool has = false;
  for (uint32_t b = 0; b < f->n_blocks && !has; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns && !has; i++)
      has = insn_has_effect(s, f, &f->insns[f->blocks[b].insns[i].raw], known);
  known[func] = has ? EFFECT_SOME : EFFECT_NONE;
  return has;
}
