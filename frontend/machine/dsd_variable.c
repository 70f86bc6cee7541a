/* DSDs read from variables.  Most programs declare DSDs with `var` and never write them, so
 * the checks of operations look at what the declaration gives.  That nothing writes the variable is
 * known when all of the program is: until then the messages wait (lint_variables.c). */
#include "frontend/machine/dsd.h"

#include <stb_ds.h>
#include <string.h>

/* The initial value of the variable at an address; none if it is not known. */
static PoolId initial_value(const Sema *s, const IrFunc *f, IrValue address, DsdVariable *variable)
{
  const IrInsn *place = &f->insns[address.raw];
  for (size_t i = arrlenu(s->globals); place->op == IR_global_addr && i-- > 0;)
    if (ir_global_eq(s->globals[i].ir, place->u.global) && place->imm == 0) {
      *variable = (DsdVariable){.global = (uint32_t)i};
      return s->globals[i].init;
    }
  for (size_t i = arrlenu(s->local_dsds); place->op == IR_alloca && i-- > 0;) {
    const LocalDsd *local = &s->local_dsds[i];
    if (ir_func_eq(local->func, s->b.func) && ir_value_eq(local->place, address)) {
      *variable = (DsdVariable){.is_local = true, .func = local->func, .place = address};
      return local->value;
    }
  }
  return POOL(NONE);
}

/* The descriptor with a number that a mutator sets. */
static bool apply_number(IrDesc *desc, DsrField field, uint16_t number)
{
  switch ((int)field) {
  case DSRF_LENGTH: desc->desc.length = number; return desc->desc.kind != DESC_MEM4D;
  case DSRF_STRIDE: desc->desc.stride = (int16_t)number; return true;
  case DSRF_BASE_ADD: desc->desc.base = (uint16_t)(desc->desc.base + number); return true;
  default: return false;
  }
}

/* The DSD that a value is, as far as its variable and known numbers make it. */
static bool presumed_key(const Sema *s, const IrFunc *f, IrValue v, PoolKey *key,
                         DsdVariable *variable)
{
  const IrInsn *insn = &f->insns[v.raw];
  if (insn->op == IR_dsd_set) {
    const IrInsn *number = &f->insns[insn->args[1].raw];
    if (number->op != IR_const || !presumed_key(s, f, insn->args[0], key, variable))
      return false;
    key->u.dsd.is_changed = true;
    return apply_number(&key->u.dsd.desc, insn->field, (uint16_t)number->imm);
  }
  if (insn->op != IR_load || !ir_type_is_dsd(insn->type))
    return false;
  PoolId value = initial_value(s, f, insn->args[0], variable);
  if (pool_is_none(value) || pool_kind(s->pool, value) != PK_DSD)
    return false;
  *key = pool_key(s->pool, value);
  return true;
}

Operand dsd_presume(const Sema *s, Operand o, DsdVariables *from)
{
  PoolKey key = {0};
  DsdVariable variable;
  if (o.kind != OPR_RUNTIME || !s->ir || from->n == MOST_DSD_VARIABLES ||
      !presumed_key(s, &s->ir->funcs[s->b.func.raw], o.ir, &key, &variable))
    return o;
  from->at[from->n++] = variable;
  o.kind = OPR_COMPTIME;
  o.value = pool_get(s->pool, &key);
  return o;
}

void dsd_hold_messages(Sema *s, size_t mark, const DsdVariables *from, HeldFor held_for)
{
  if (from->n == 0 && (!s->ir || ir_func_is_none(s->b.func) || s->setup->held_are_told))
    return;
  const TakenDiags *taken = diags_take(s->diags, mark);
  if (!taken)
    return;
  DsdVariable *variables = arena_many(s->arena, DsdVariable, from->n + 1);
  memcpy(variables, from->at, from->n * sizeof *variables);
  arrput(s->setup->held, ((HeldMessages){s->b.func, s->b.block, held_for == REST_ON_ELEMENTS,
                                         from->n, variables, taken}));
}
