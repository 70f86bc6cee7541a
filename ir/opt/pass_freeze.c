/* freeze: a descriptor variable that nothing writes becomes constant, so that what reads it knows
 * it.  Host, loader and pointers must not reach it either. */
#include "ir/opt/opt.h"

/* The global that the instruction writes to itself, or IR_NO_ID. */
static uint32_t written_global(const IrFunc *f, const IrInsn *insn)
{
  bool writes = insn->op == IR_store || insn->op == IR_copy || insn->op == IR_zero ||
                insn->op == IR_counter;
  if (!writes)
    return IR_NO_ID;
  Address a = opt_address(f, insn->args[0]);
  return a.base == BASE_GLOBAL ? a.object : IR_NO_ID;
}

/* By global: written, or reached in a way that is not followed here. */
static bool *find_written(Opt *opt)
{
  const IrModule *m = opt->m;
  const bool *exposed = opt_exposed_globals(opt);
  bool *written = arena_many(opt->arena, bool, m->n_globals);
  for (uint32_t n = 0; n < m->n_funcs; n++) {
    const IrFunc *f = &m->funcs[n];
    for (uint32_t b = 0; b < f->n_blocks; b++)
      for (uint32_t i = 0; i < f->blocks[b].n_insns; i++) {
        uint32_t global = written_global(f, opt_insn(f, f->blocks[b].insns[i]));
        if (global != IR_NO_ID)
          written[global] = true;
      }
  }
  for (uint32_t i = 0; i < m->n_globals; i++)
    written[i] |= exposed[i] || m->globals[i].keep;
  for (uint32_t i = 0; i < m->n_bindings; i++)
    if (!m->bindings[i].is_func)
      written[m->bindings[i].target] = true;
  return written;
}

/* By global: read as a descriptor somewhere. */
static bool *find_descriptors(const Opt *opt)
{
  const IrModule *m = opt->m;
  bool *is_descriptor = arena_many(opt->arena, bool, m->n_globals);
  for (uint32_t n = 0; n < m->n_funcs; n++) {
    const IrFunc *f = &m->funcs[n];
    for (uint32_t b = 0; b < f->n_blocks; b++)
      for (uint32_t i = 0; i < f->blocks[b].n_insns; i++) {
        const IrInsn *insn = opt_insn(f, f->blocks[b].insns[i]);
        if (insn->op != IR_load || !ir_type_is_dsd(insn->type))
          continue;
        Address a = opt_address(f, insn->args[0]);
        if (a.base == BASE_GLOBAL)
          is_descriptor[a.object] = true;
      }
  }
  return is_descriptor;
}

bool pass_freeze(Opt *opt)
{
  IrModule *m = opt->m;
  const bool *written = find_written(opt), *is_descriptor = find_descriptors(opt);
  bool changed = false;
  for (uint32_t i = 0; i < m->n_globals; i++) {
    IrGlobal *g = &m->globals[i];
    if (g->is_const || g->has_address || !is_descriptor[i] || written[i] ||
        opt_differs_by_tile(m, i))
      continue;
    g->is_const = changed = true;
  }
  return changed;
}
