/* Editing a function in place: what every pass does to instructions and blocks. */
#include "ir/opt/opt.h"

#include <string.h>

uint64_t opt_mask(IrType type)
{
  unsigned bits = ir_type_bits(type);
  return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

void opt_replace_values(IrFunc *f, IrValue *map)
{
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++)
      opt_each_operand(opt_insn(f, f->blocks[b].insns[i]), opt_resolve_operand, map);
  for (uint32_t i = 0; i < f->n_locals; i++)
    opt_resolve_operand(&f->locals[i].value, map);
}

void opt_sweep(IrFunc *f)
{
  for (uint32_t b = 0; b < f->n_blocks; b++) {
    IrBlock *block = &f->blocks[b];
    uint32_t n = 0;
    for (uint32_t i = 0; i < block->n_insns; i++)
      if (!opt_insn(f, block->insns[i])->dead)
        block->insns[n++] = block->insns[i];
    block->n_insns = n;
  }
}

IrValue opt_add(IrModule *m, IrFunc *f, const IrInsn *insn)
{
  if (f->n_insns == f->cap_insns) {
    uint32_t cap = f->cap_insns ? 2 * f->cap_insns : 16;
    IrInsn *grown = arena_many(m->arena, IrInsn, cap);
    memcpy(grown, f->insns, sizeof *grown * f->n_insns);
    f->insns = grown;
    f->cap_insns = cap;
  }
  IrInsn copy = *insn;
  copy.args = arena_many(m->arena, IrValue, insn->n_args);
  if (insn->n_args)
    memcpy(copy.args, insn->args, sizeof *copy.args * insn->n_args);
  f->insns[f->n_insns] = copy;
  return (IrValue){f->n_insns++};
}

void opt_insert(IrModule *m, IrBlock *b, uint32_t at, IrValue v)
{
  if (b->n_insns == b->cap_insns) {
    uint32_t cap = b->cap_insns ? 2 * b->cap_insns : 8;
    IrValue *grown = arena_many(m->arena, IrValue, cap);
    if (b->n_insns)
      memcpy(grown, b->insns, sizeof *grown * b->n_insns);
    b->insns = grown;
    b->cap_insns = cap;
  }
  memmove(&b->insns[at + 1], &b->insns[at], sizeof *b->insns * (b->n_insns - at));
  b->insns[at] = v;
  b->n_insns++;
}

IrInsn opt_make_const(IrType type, uint64_t bits, IrLocId loc)
{
  return (IrInsn){.op = IR_const, .type = type, .imm = bits & opt_mask(type), .loc = loc};
}

void opt_remove_param(IrFunc *f, uint32_t block, uint32_t k)
{
  IrBlock *b = &f->blocks[block];
  opt_insn(f, b->params[k])->dead = true;
  for (uint32_t i = k + 1; i < b->n_params; i++) {
    b->params[i - 1] = b->params[i];
    opt_insn(f, b->params[i])->u.param.index = i - 1;
  }
  b->n_params--;
}

void opt_remove_target_arg(IrTarget *t, uint32_t k)
{
  for (uint32_t i = k + 1; i < t->n_args; i++)
    t->args[i - 1] = t->args[i];
  t->n_args--;
}

void opt_append_target_arg(IrModule *m, IrTarget *t, IrValue v)
{
  IrValue *args = arena_many(m->arena, IrValue, t->n_args + 1);
  if (t->n_args)
    memcpy(args, t->args, sizeof *args * t->n_args);
  args[t->n_args++] = v;
  t->args = args;
}

void opt_make_br(IrModule *m, IrInsn *insn, unsigned which)
{
  IrTarget *target = arena_new(m->arena, IrTarget);
  *target = insn->u.targets[which];
  insn->op = IR_br;
  insn->n_args = 0;
  insn->u.targets = target;
}

static void count_operand(IrValue *operand, void *context)
{
  ((uint32_t *)context)[operand->raw]++;
}

uint32_t *opt_count_uses(const IrFunc *f, Arena *arena)
{
  uint32_t *uses = arena_many(arena, uint32_t, f->n_insns);
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++) {
      IrInsn *insn = opt_insn(f, f->blocks[b].insns[i]);
      if (!insn->dead)
        opt_each_operand(insn, count_operand, uses);
    }
  return uses;
}

bool opt_drop_unreachable(IrFunc *f, const Cfg *cfg)
{
  bool changed = false;
  for (uint32_t b = 0; b < f->n_blocks; b++) {
    IrBlock *block = &f->blocks[b];
    if (cfg_is_reachable(cfg, b) || (!block->n_insns && !block->n_params))
      continue;
    changed = true;
    for (uint32_t i = 0; i < block->n_insns; i++)
      opt_insn(f, block->insns[i])->dead = true;
    for (uint32_t i = 0; i < block->n_params; i++)
      opt_insn(f, block->params[i])->dead = true;
    block->n_insns = block->n_params = 0;
  }
  return changed;
}

bool opt_find_unreachable(IrFunc *f, Arena *arena)
{
  Cfg cfg;
  cfg_reach(&cfg, f, arena);
  return opt_drop_unreachable(f, &cfg);
}
