/* The few values that a number may have: constants, what the branches to a block or the calls of a
 * function give it, what functions hand back, and what operations make of those. Ids of tasks are
 * such numbers, and so are the words that say what an operation does at its end. */
#include "frontend/analysis/analysis_internal.h"

enum { VALUE_BUDGET = 200 };

typedef struct {
  const Sema *s;
  unsigned steps;
} ValueSearch;

/* Values that are being looked for.  A loop gives one of them to itself.  As it is, it adds
 * nothing; after an operation, there may be any number of values. */
typedef struct Sought { const struct Sought *outer; const IrFunc *f; IrValue v; } Sought;

static bool is_sought(const Sought *sought, const IrFunc *f, IrValue v, bool *is_changed)
{
  *is_changed = false;
  for (; sought && (sought->f != f || !ir_value_eq(sought->v, v)); sought = sought->outer)
    *is_changed |= ir_op_is_pure(sought->f->insns[sought->v.raw].op) &&
                   sought->f->insns[sought->v.raw].op != IR_select;
  return sought != NULL;
}

static bool add_value(PossibleValues *values, uint64_t value)
{
  for (unsigned i = 0; i < values->n; i++)
    if (values->at[i] == value)
      return true;
  if (values->n == MOST_VALUES)
    return false;
  values->at[values->n++] = value;
  return true;
}

static bool add_values_of(ValueSearch *search, const Sought *outer, const IrFunc *f, IrValue v,
                          PossibleValues *values);

/* What all branches to a block give one of its parameters. */
static bool add_branches(ValueSearch *search, const Sought *sought, uint32_t block, uint32_t param,
                         PossibleValues *values)
{
  const IrFunc *f = sought->f;
  for (uint32_t b = 0; b < f->n_blocks; b++) {
    const IrInsn *end = ir_last_insn(f, b);
    for (uint32_t t = 0; end && t < ir_target_count(end); t++)
      if (end->u.targets[t].block.raw == block &&
          !add_values_of(search, sought, f, end->u.targets[t].args[param], values))
        return false;
  }
  return true;
}

/* What all calls of a function give one of its parameters. */
static bool add_calls(ValueSearch *search, const Sought *sought, uint32_t param,
                      PossibleValues *values)
{
  const IrModule *m = search->s->ir;
  if (sought->f->address_taken)
    return false;
  for (uint32_t n = 0; n < m->n_funcs; n++)
    for (uint32_t i = 1; i < m->funcs[n].n_insns; i++) {
      const IrInsn *insn = &m->funcs[n].insns[i];
      if (!insn->dead && insn->op == IR_call && &m->funcs[insn->u.func.raw] == sought->f &&
          !add_values_of(search, sought, &m->funcs[n], insn->args[param], values))
        return false;
    }
  return true;
}

/* What a function hands back on all its ways. */
static bool add_returns(ValueSearch *search, const Sought *sought, const IrFunc *called,
                        PossibleValues *values)
{
  for (uint32_t b = 0; b < called->n_blocks; b++) {
    const IrInsn *end = ir_last_insn(called, b);
    if (end && end->op == IR_ret &&
        (end->n_args != 1 || !add_values_of(search, sought, called, end->args[0], values)))
      return false;
  }
  return called->n_blocks > 0;
}

/* What an operation makes of each value of its operands with each of the other. */
static bool add_results(ValueSearch *search, const Sought *sought, PossibleValues *values)
{
  const IrInsn *insn = &sought->f->insns[sought->v.raw];
  IrType type = sought->f->insns[insn->args[0].raw].type;
  PossibleValues operands[2] = {{.n = 1}, {.n = 1}};
  for (uint32_t i = 0; i < insn->n_args; i++) {
    operands[i].n = 0;
    if (!add_values_of(search, sought, sought->f, insn->args[i], &operands[i]))
      return false;
  }
  for (unsigned i = 0; i < operands[0].n; i++)
    for (unsigned k = 0; k < operands[1].n; k++) {
      uint64_t result, args[] = {operands[0].at[i], operands[1].at[k]};
      if (!ir_fold(search->s->ir, insn->op, insn->type, type, args, insn->n_args, &result) ||
          !add_value(values, result))
        return false;
    }
  return true;
}

static bool add_values_of(ValueSearch *search, const Sought *outer, const IrFunc *f, IrValue v,
                          PossibleValues *values)
{
  const IrInsn *insn = &f->insns[v.raw];
  const Sought sought = {outer, f, v};
  bool is_changed;
  if (insn->op == IR_const)
    return add_value(values, insn->imm);
  if (is_sought(outer, f, v, &is_changed))
    return !is_changed;
  if (++search->steps > VALUE_BUDGET)
    return false;
  if (insn->op == IR_PARAM) {
    uint32_t block = insn->u.param.block.raw, param = insn->u.param.index;
    return block == 0 ? add_calls(search, &sought, param, values)
                      : add_branches(search, &sought, block, param, values);
  }
  if (insn->op == IR_call)
    return add_returns(search, &sought, &search->s->ir->funcs[insn->u.func.raw], values);
  if (insn->op == IR_select)
    return add_values_of(search, &sought, f, insn->args[1], values) &&
           add_values_of(search, &sought, f, insn->args[2], values);
  return ir_op_is_pure(insn->op) && insn->n_args >= 1 && insn->n_args <= 2 &&
         add_results(search, &sought, values);
}

bool lint_possible_values(const Sema *s, const IrFunc *f, IrValue v, PossibleValues *values)
{
  ValueSearch search = {.s = s};
  values->n = 0;
  return add_values_of(&search, NULL, f, v, values);
}

uint64_t lint_possible_ids(const Sema *s, const IrFunc *f, IrValue v, uint64_t unknown)
{
  PossibleValues values;
  uint64_t ids = 0;
  if (!lint_possible_values(s, f, v, &values))
    return unknown;
  for (unsigned i = 0; i < values.n; i++)
    ids |= UINT64_C(1) << values.at[i] % MAX_TASK_IDS;
  return ids;
}
