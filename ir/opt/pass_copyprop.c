/* copyprop: removes block parameters that have one value on every way into the block. */
#include "ir/opt/opt.h"

typedef struct {
  IrModule *m;
  IrFunc *f;
  Cfg cfg;
  IrValue *map;
  uint32_t cap_map;
} Propagator;

static bool same_const(const IrFunc *f, IrValue a, IrValue b)
{
  const IrInsn *x = opt_insn(f, a), *y = opt_insn(f, b);
  return x->op == IR_const && y->op == IR_const && x->type == y->type &&
         x->imm == y->imm;
}

/* The value that parameter k always has, or raw 0.  What comes around a loop as the parameter
 * itself does not count. */
static IrValue only_value(Propagator *p, uint32_t block, uint32_t k)
{
  IrValue self = p->f->blocks[block].params[k], only = IR_NO_VALUE;
  for (uint32_t i = p->cfg.pred_at[block]; i < p->cfg.pred_at[block + 1]; i++) {
    uint32_t n;
    const IrTarget *targets = cfg_targets(p->f, p->cfg.preds[i], &n);
    for (uint32_t t = 0; t < n; t++) {
      if (targets[t].block.raw != block)
        continue;
      IrValue v = opt_resolve(p->map, targets[t].args[k]);
      if (ir_value_eq(v, self) || ir_value_eq(v, only))
        continue;
      if (only.raw && !same_const(p->f, only, v))
        return IR_NO_VALUE;
      only = v;
    }
  }
  return only;
}

static void drop_param(Propagator *p, uint32_t block, uint32_t k)
{
  for (uint32_t i = p->cfg.pred_at[block]; i < p->cfg.pred_at[block + 1]; i++) {
    uint32_t pred = p->cfg.preds[i], n;
    IrTarget *targets = cfg_targets(p->f, pred, &n);
    if (i > p->cfg.pred_at[block] && p->cfg.preds[i - 1] == pred)
      continue;              /* both its targets are done */
    for (uint32_t t = 0; t < n; t++)
      if (targets[t].block.raw == block)
        opt_remove_target_arg(&targets[t], k);
  }
  opt_remove_param(p->f, block, k);
}

/* A constant may come from blocks that do not dominate this one: it gets a copy here. */
static IrValue value_here(Propagator *p, uint32_t block, IrValue v)
{
  IrInsn copy = *opt_insn(p->f, v);
  if (copy.op != IR_const)
    return v;
  IrValue here = opt_add(p->m, p->f, &copy);
  opt_insert(p->m, &p->f->blocks[block], 0, here);
  return here;
}

static bool visit_block(Propagator *p, uint32_t block)
{
  bool changed = false;
  for (uint32_t k = p->f->blocks[block].n_params; block && k-- > 0;) {
    IrValue only = only_value(p, block, k);
    if (!only.raw)
      continue;
    IrValue param = p->f->blocks[block].params[k];
    drop_param(p, block, k);
    p->map[param.raw] = value_here(p, block, only);
    changed = true;
  }
  return changed;
}

static uint32_t count_params(const IrFunc *f)
{
  uint32_t n = 0;
  for (uint32_t b = 0; b < f->n_blocks; b++)
    n += f->blocks[b].n_params;
  return n;
}

bool pass_copyprop(Opt *opt, IrFunc *f)
{
  Propagator p = {.m = opt->m, .f = f};
  cfg_order(&p.cfg, f, opt->arena);
  opt_drop_unreachable(f, &p.cfg);
  bool changed, any = false;
  p.map = arena_many(opt->arena, IrValue, f->n_insns + count_params(f));   /* one copy each */
  do {
    changed = false;
    for (uint32_t i = 0; i < p.cfg.n_rpo; i++)
      changed |= visit_block(&p, p.cfg.rpo[i]);
    any |= changed;
  } while (changed);
  if (any)
    opt_replace_values(f, p.map);
  return any;
}
