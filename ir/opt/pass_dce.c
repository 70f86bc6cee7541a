/* dce: drops values that nothing needs, parameters among them, and unreachable blocks.
 *
 * An instruction is needed if it has an effect or a needed instruction uses it. An argument of a
 * branch is needed only if the parameter is, so a variable that only feeds itself around a loop
 * goes. */
#include "ir/opt/opt.h"

typedef struct {
  IrFunc *f;
  Cfg cfg;
  bool *live;
  uint32_t *work;
  uint32_t n_work;
} Collector;

static void need_value(Collector *c, IrValue v)
{
  if (c->live[v.raw])
    return;
  c->live[v.raw] = true;
  c->work[c->n_work++] = v.raw;
}

/* Reading a DSR is ordered with writing it, but has no effect of its own; the same is true of
 * loads. */
static bool has_effect(const IrInsn *insn)
{
  if (insn->op == IR_alloca || insn->op == IR_dsr_get)
    return false;
  return ir_op_is(insn->op, IRE_WRITES | IRE_SIDE | IRE_STALLS | IRE_TERM);
}

static void need_incoming(Collector *c, const IrInsn *param)
{
  uint32_t block = param->u.param.block.raw, k = param->u.param.index;
  for (uint32_t i = c->cfg.pred_at[block]; i < c->cfg.pred_at[block + 1]; i++) {
    uint32_t n;
    const IrTarget *targets = cfg_targets(c->f, c->cfg.preds[i], &n);
    for (uint32_t t = 0; t < n; t++)
      if (targets[t].block.raw == block)
        need_value(c, targets[t].args[k]);
  }
}

static void mark_live(Collector *c)
{
  const IrFunc *f = c->f;
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++)
      if (has_effect(opt_insn(f, f->blocks[b].insns[i])))
        need_value(c, f->blocks[b].insns[i]);
  while (c->n_work) {
    const IrInsn *insn = &f->insns[c->work[--c->n_work]];
    if (insn->op == IR_PARAM)
      need_incoming(c, insn);
    for (uint32_t i = 0; i < insn->n_args; i++)
      need_value(c, insn->args[i]);
  }
}

static bool drop_dead_params(Collector *c)
{
  IrFunc *f = c->f;
  bool changed = false;
  for (uint32_t b = 0; b < f->n_blocks; b++) {
    uint32_t n;
    IrTarget *targets = cfg_targets(f, b, &n);
    for (uint32_t t = 0; t < n; t++) {
      const IrBlock *to = &f->blocks[targets[t].block.raw];
      for (uint32_t k = to->n_params; k-- > 0;)
        if (!c->live[to->params[k].raw])
          opt_remove_target_arg(&targets[t], k);
    }
  }
  for (uint32_t b = 1; b < f->n_blocks; b++)
    for (uint32_t k = f->blocks[b].n_params; k-- > 0;)
      if (!c->live[f->blocks[b].params[k].raw]) {
        opt_remove_param(f, b, k);
        changed = true;
      }
  return changed;
}

bool pass_dce(Opt *opt, IrFunc *f)
{
  Collector c = {.f = f,
                 .live = arena_many(opt->arena, bool, f->n_insns),
                 .work = arena_many(opt->arena, uint32_t, f->n_insns)};
  cfg_order(&c.cfg, f, opt->arena);
  bool changed = opt_drop_unreachable(f, &c.cfg);
  mark_live(&c);
  changed |= drop_dead_params(&c);
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++) {
      IrValue v = f->blocks[b].insns[i];
      if (!c.live[v.raw])
        changed = opt_insn(f, v)->dead = true;
    }
  if (changed)
    opt_sweep(f);
  return changed;
}
