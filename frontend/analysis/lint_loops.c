/* Loops whose condition reads only what nothing in the loop writes: such a loop runs not at all, or
 * for ever.
 *
 * A loop counts if it only computes, loads, stores and calls functions that compute a value, and is
 * left by its condition alone.  Memory changes in it by its own stores: no other task runs
 * meanwhile, and the optimiser takes loads out of loops, so one that waits for an operation in the
 * background does not see what that writes. */
#include "frontend/analysis/analysis_internal.h"

#include <stb_ds.h>

static const IrInsn *insn_at(const IrFunc *f, uint32_t block, uint32_t i)
{
  return &f->insns[f->blocks[block].insns[i].raw];
}

/* The variable that an address leads to; another instruction where that is not known. */
static const IrInsn *variable_of(const IrFunc *f, IrValue address)
{
  while (f->insns[address.raw].op == IR_ptr_add)
    address = f->insns[address.raw].args[0];
  return &f->insns[address.raw];
}

static bool is_variable(const IrInsn *insn)
{
  return insn->op == IR_alloca || insn->op == IR_global_addr;
}

static bool may_be_one(const IrInsn *a, const IrInsn *b)
{
  if (!is_variable(a) || !is_variable(b))
    return true;
  if (a->op == IR_global_addr && b->op == IR_global_addr)
    return ir_global_eq(a->u.global, b->u.global);
  return a == b;
}

static bool is_write(const IrInsn *insn)
{
  return insn->op == IR_store || insn->op == IR_copy || insn->op == IR_zero;
}

/* Does a store of the loop perhaps write what an instruction of its condition reads?  That is any
 * variable, if it calls a function. */
static bool is_written(const IrFunc *f, const CodeLoop *loop, const IrInsn *reader)
{
  const IrInsn *variable = reader->op == IR_call ? reader : variable_of(f, reader->args[0]);
  for (uint32_t b = loop->head.raw; b < loop->end; b++)
    for (uint32_t i = 0; b != loop->done.raw && i < f->blocks[b].n_insns; i++) {
      const IrInsn *insn = insn_at(f, b, i);
      if (is_write(insn) && may_be_one(variable, variable_of(f, insn->args[0])))
        return true;
    }
  return false;
}

/* Does a branch of the loop's body lead out of the loop? */
static bool leaves_loop(const CodeLoop *loop, const IrInsn *insn)
{
  for (uint32_t t = 0; t < (insn->op == IR_cond_br ? 2 : 1); t++) {
    uint32_t to = insn->u.targets[t].block.raw;
    if (to < loop->head.raw || to >= loop->end || to == loop->done.raw)
      return true;
  }
  return false;
}

/* Calls count as what their functions do. */
static bool is_plain(const Sema *s, const IrInsn *insn, Effect *known)
{
  if (insn->op == IR_call)
    return !effect_of_func(s, insn->u.func.raw, known);
  return ir_op_is_pure(insn->op) || insn->op == IR_load || is_write(insn);
}

/* Does the loop only compute, load and store, and does its condition alone end it? */
static bool is_simple(const Sema *s, const IrFunc *f, const CodeLoop *loop, Effect *known)
{
  for (uint32_t b = loop->head.raw; b < loop->end; b++)
    for (uint32_t i = 0; b != loop->done.raw && i < f->blocks[b].n_insns; i++) {
      const IrInsn *insn = insn_at(f, b, i);
      bool is_branch = insn->op == IR_br || insn->op == IR_cond_br;
      bool is_of_body = b > loop->done.raw;
      if (is_branch && is_of_body && leaves_loop(loop, insn))
        return false;
      if (!is_branch && !is_plain(s, insn, known))
        return false;
    }
  return true;
}

static bool condition_changes(const IrFunc *f, const CodeLoop *loop)
{
  for (uint32_t b = loop->head.raw; b < loop->done.raw; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++) {
      const IrInsn *insn = insn_at(f, b, i);
      bool is_reader = insn->op == IR_load || insn->op == IR_call;
      if (is_write(insn) || (is_reader && is_written(f, loop, insn)))
        return true;
    }
  return false;
}

/* Does a condition known at compile time leave out code of the loop? */
static bool has_left_out(const Sema *s, const CodeLoop *loop)
{
  for (size_t i = 0; i < arrlenu(s->left_out); i++) {
    const LeftOut *at = &s->left_out[i];
    if (ir_func_eq(at->func, loop->func) && at->block.raw >= loop->head.raw &&
        at->block.raw < loop->end)
      return true;
  }
  return false;
}

void lint_loops(Sema *s)
{
  Effect *known = effects_begin(s);
  for (size_t i = 0; i < arrlenu(s->loops); i++) {
    const CodeLoop *loop = &s->loops[i];
    const IrFunc *f = &s->ir->funcs[loop->func.raw];
    if (fabric_is_in_library(s, loop->condition) || !is_simple(s, f, loop, known) ||
        condition_changes(f, loop) || has_left_out(s, loop))
      continue;
    diag_loop_unchanged(s->diags, loop->condition);
    diag_loop_unchanged_help(s->diags, loop->condition);
  }
}
