/* The block in front of a loop, for code that the loop does not change. */
#include "ir/opt/opt.h"

uint32_t opt_loop_front(const IrFunc *f, const Cfg *cfg, uint32_t head)
{
  uint32_t front = IR_NO_ID;
  for (uint32_t i = cfg->pred_at[head]; i < cfg->pred_at[head + 1]; i++) {
    uint32_t pred = cfg->preds[i];
    if (cfg_dominates(cfg, head, pred))
      continue;
    if (front != IR_NO_ID)
      return IR_NO_ID;
    front = pred;
  }
  return front != IR_NO_ID && opt_terminator(f, front)->op == IR_br ? front : IR_NO_ID;
}

/* Lets every jump into the loop from outside go to another block. */
static void redirect_entries(const IrFunc *f, const Cfg *cfg, uint32_t head, uint32_t to)
{
  for (uint32_t i = cfg->pred_at[head]; i < cfg->pred_at[head + 1]; i++) {
    uint32_t n;
    if (cfg_dominates(cfg, head, cfg->preds[i]))
      continue;
    IrTarget *targets = cfg_targets(f, cfg->preds[i], &n);
    for (uint32_t t = 0; t < n; t++)
      if (targets[t].block.raw == head)
        targets[t].block.raw = to;
  }
}

/* The target of the jump into the loop that pred is the block of, once it leads to the front; NULL
 * for the others. */
static IrTarget *entry_target(const IrFunc *f, uint32_t pred, uint32_t to, uint32_t which)
{
  uint32_t n;
  IrTarget *targets = cfg_targets(f, pred, &n);
  return which < n && targets[which].block.raw == to ? &targets[which] : NULL;
}

/* The value that all jumps to the front pass as its parameter k, or IR_NO_VALUE. */
static IrValue same_entry_value(const IrFunc *f, const Cfg *cfg, uint32_t head, uint32_t to,
                                uint32_t k)
{
  IrValue same = IR_NO_VALUE;
  for (uint32_t i = cfg->pred_at[head]; i < cfg->pred_at[head + 1]; i++)
    for (uint32_t which = 0; which < 2; which++) {
      const IrTarget *target = entry_target(f, cfg->preds[i], to, which);
      if (!target)
        continue;
      if (same.raw && !ir_value_eq(same, target->args[k]))
        return IR_NO_VALUE;
      same = target->args[k];
    }
  return same;
}

/* A block that jumps to the front in both ways stands twice among the predecessors, one behind the
 * other. */
static void drop_entry_value(const IrFunc *f, const Cfg *cfg, uint32_t head, uint32_t to,
                             uint32_t k)
{
  for (uint32_t i = cfg->pred_at[head]; i < cfg->pred_at[head + 1]; i++)
    for (uint32_t which = 0; which < 2; which++) {
      bool is_done = i > cfg->pred_at[head] && cfg->preds[i - 1] == cfg->preds[i];
      IrTarget *target = entry_target(f, cfg->preds[i], to, which);
      if (target && !is_done)
        opt_remove_target_arg(target, k);
    }
}

/* Where the way into the loop begins: the loop's own text is not in front of itself.  None if
 * several ways lead in: it is not known which one has come. */
static IrLocId entry_loc(const IrFunc *f, const Cfg *cfg, uint32_t head)
{
  IrLocId loc = IR_NO_LOC;
  uint32_t n = 0;
  for (uint32_t i = cfg->pred_at[head]; i < cfg->pred_at[head + 1]; i++)
    if (!cfg_dominates(cfg, head, cfg->preds[i]) && n++ == 0)
      loc = opt_terminator(f, cfg->preds[i])->loc;
  return n == 1 ? loc : IR_NO_LOC;
}

/* The front takes as parameters only what its ways in pass differently. */
static void make_front(Opt *opt, IrFunc *f, const Cfg *cfg, uint32_t head)
{
  IrModule *m = opt->m;
  IrFuncId func = {(uint32_t)(f - m->funcs)};
  IrBlockId front = ir_block_add(m, func);
  uint32_t n = f->blocks[head].n_params;
  IrValue *args = arena_many(opt->arena, IrValue, n);
  redirect_entries(f, cfg, head, front.raw);
  for (uint32_t i = 0, k = 0; i < n; i++) {
    args[i] = same_entry_value(f, cfg, head, front.raw, k);
    if (args[i].raw)
      drop_entry_value(f, cfg, head, front.raw, k);
    else
      args[i] = ir_block_param(m, func, front, opt_insn(f, f->blocks[head].params[i])->type), k++;
  }
  IrBuilder b = {.module = m, .func = func, .block = front, .loc = entry_loc(f, cfg, head)};
  ir_br(&b, (IrBlockId){head}, args, n);
}

bool opt_make_fronts(Opt *opt, IrFunc *f, Cfg *cfg)
{
  bool changed = false;
  for (uint32_t i = 0; i < cfg->n_rpo; i++) {
    uint32_t b = cfg->rpo[i];
    if (cfg->loop_head[b] != b || opt_loop_front(f, cfg, b) != IR_NO_ID)
      continue;
    make_front(opt, f, cfg, b);
    changed = true;
  }
  if (changed)
    cfg_build(cfg, f, opt->arena);
  return changed;
}

uint32_t *opt_blocks_of_values(const IrFunc *f, Arena *arena)
{
  uint32_t *block_of = arena_many(arena, uint32_t, f->n_insns);
  for (uint32_t b = 0; b < f->n_blocks; b++) {
    for (uint32_t i = 0; i < f->blocks[b].n_params; i++)
      block_of[f->blocks[b].params[i].raw] = b;
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++)
      block_of[f->blocks[b].insns[i].raw] = b;
  }
  return block_of;
}
