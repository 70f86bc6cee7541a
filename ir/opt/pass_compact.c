/* compact: the last pass. Orders blocks for fall-through and renumbers values, so that removed code
 * costs the code generator nothing. */
#include "ir/opt/opt.h"

#include <string.h>

typedef struct {
  IrValue *values;           /* new ids */
  uint32_t *blocks;
} Numbering;

static void renumber_operand(IrValue *operand, void *context)
{
  *operand = ((Numbering *)context)->values[operand->raw];
}

static void move_value(IrFunc *f, const IrFunc *old, IrValue *place, Numbering *n)
{
  f->insns[f->n_insns] = old->insns[place->raw];
  n->values[place->raw].raw = f->n_insns;
  place->raw = f->n_insns++;
}

static void move_block(IrFunc *f, const IrFunc *old, uint32_t block, Numbering *n)
{
  n->blocks[block] = f->n_blocks;
  IrBlock *b = &f->blocks[f->n_blocks++];
  *b = old->blocks[block];
  for (uint32_t i = 0; i < b->n_params; i++)
    move_value(f, old, &b->params[i], n);
  for (uint32_t i = 0; i < b->n_insns; i++)
    move_value(f, old, &b->insns[i], n);
}

static void renumber_references(IrFunc *f, Numbering *n)
{
  for (uint32_t v = 1; v < f->n_insns; v++) {
    IrInsn *insn = &f->insns[v];
    opt_each_operand(insn, renumber_operand, n);
    if (insn->op == IR_PARAM)
      insn->u.param.block.raw = n->blocks[insn->u.param.block.raw];
  }
  for (uint32_t i = 0; i < f->n_locals; i++)
    renumber_operand(&f->locals[i].value, n);
  for (uint32_t b = 0; b < f->n_blocks; b++) {
    uint32_t n_targets;
    IrTarget *targets = cfg_targets(f, b, &n_targets);
    for (uint32_t t = 0; t < n_targets; t++)
      targets[t].block.raw = n->blocks[targets[t].block.raw];
  }
}

bool pass_compact(Opt *opt, IrFunc *f)
{
  Cfg cfg;
  cfg_build(&cfg, f, opt->arena);
  opt_drop_unreachable(f, &cfg);
  IrFunc old = *f;
  Numbering n = {.values = arena_many(opt->arena, IrValue, f->n_insns),
                 .blocks = arena_many(opt->arena, uint32_t, f->n_blocks)};
  f->cap_insns = f->n_insns;
  f->insns = arena_many(opt->m->arena, IrInsn, f->n_insns);
  f->insns[0] = old.insns[0];
  f->n_insns = 1;
  f->cap_blocks = f->n_blocks;
  f->blocks = arena_many(opt->m->arena, IrBlock, f->n_blocks);
  f->n_blocks = 0;
  for (uint32_t i = 0; i < cfg.n_rpo; i++)
    move_block(f, &old, cfg.together[i], &n);
  renumber_references(f, &n);
  return true;
}
