/* cse: does not compute a pure value again if every path to here has computed it. A branch goes the
 * way that its condition went before, on the way here. */
#include "ir/opt/opt.h"

#include <string.h>

/* What holds in a block and in those that it dominates: the truth of a condition. */
typedef struct {
  bool truth;
  uint32_t next;             /* another block where the same condition is decided; 0 ends */
} Decision;

typedef struct {
  IrModule *m;
  IrFunc *f;
  Cfg cfg;
  IrValue *map;
  uint32_t *block_of;        /* by value */
  uint32_t *next;            /* chain of values of one hash; 0 ends */
  uint32_t *heads;
  uint32_t n_heads;          /* a power of two */
  Decision *decisions;       /* by block */
  uint32_t *decided;         /* by condition: the last block with a decision, or 0 */
} Table;

static uint32_t hash_mix(uint32_t hash, uint64_t word)
{
  uint64_t h = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return (uint32_t)(h >> 32) ^ (uint32_t)h;
}

static uint32_t payload_hash(const IrInsn *insn)
{
  switch ((int)insn->op) {
  case IR_global_addr: return insn->u.global.raw;
  case IR_func_addr: return insn->u.func.raw;
  case IR_dsd_const: {
    const IrDesc *d = insn->u.desc;
    return d->global.raw ^ d->desc.base ^ (uint32_t)d->desc.length << 16;
  }
  default: return 0;
  }
}

static uint32_t hash_of(const IrInsn *insn)
{
  uint32_t hash = hash_mix((uint32_t)insn->op << 8 | (uint32_t)insn->type, insn->imm);
  hash = hash_mix(hash, (uint64_t)insn->field << 32 | insn->aux);
  hash = hash_mix(hash, payload_hash(insn));
  for (uint32_t i = 0; i < insn->n_args; i++)
    hash = hash_mix(hash, insn->args[i].raw);
  return hash;
}

static bool same_action(Action a, Action b)
{
  return a.kind == b.kind && a.id_kind == b.id_kind && a.id == b.id;
}

static bool same_desc(const IrDesc *x, const IrDesc *y)
{
  const Descriptor *a = &x->desc, *b = &y->desc;
  return ir_global_eq(x->global, y->global) && a->kind == b->kind && a->flags == b->flags &&
         a->base == b->base && a->length == b->length && a->stride == b->stride &&
         memcmp(a->lengths, b->lengths, sizeof a->lengths) == 0 &&
         memcmp(a->strides, b->strides, sizeof a->strides) == 0 &&
         a->wrap_base == b->wrap_base && a->wrap_length == b->wrap_length &&
         a->queue == b->queue && a->color == b->color && same_action(a->done, b->done) &&
         same_action(a->on_control, b->on_control) && a->priority == b->priority &&
         a->priority_given == b->priority_given && a->simd == b->simd &&
         a->ut_given == b->ut_given && a->ut == b->ut;
}

static bool same_payload(const IrInsn *a, const IrInsn *b)
{
  switch ((int)a->op) {
  case IR_global_addr: return ir_global_eq(a->u.global, b->u.global);
  case IR_func_addr: return ir_func_eq(a->u.func, b->u.func);
  case IR_dsd_const: return same_desc(a->u.desc, b->u.desc);
  default: return true;
  }
}

static bool same_computation(const IrInsn *a, const IrInsn *b)
{
  if (a->op != b->op || a->type != b->type || a->field != b->field || a->aux != b->aux ||
      a->imm != b->imm || a->n_args != b->n_args)
    return false;
  for (uint32_t i = 0; i < a->n_args; i++)
    if (!ir_value_eq(a->args[i], b->args[i]))
      return false;
  return same_payload(a, b);
}

/* Of operations that commute the order must not matter. */
static void order_args(const IrFunc *f, IrInsn *insn)
{
  if (!(ir_ops[insn->op].effects & IRE_COMMUTES) || opt_is_const(f, insn->args[1]) ||
      insn->args[0].raw <= insn->args[1].raw)
    return;
  IrValue x = insn->args[0];
  insn->args[0] = insn->args[1];
  insn->args[1] = x;
}

/* What does not dominate the block leaves the chain: the walk over the dominator tree never comes
 * back to where it did. */
static IrValue find_same(Table *t, uint32_t hash, const IrInsn *insn, uint32_t block)
{
  uint32_t *link = &t->heads[hash & (t->n_heads - 1)];
  while (*link) {
    uint32_t v = *link;
    if (!cfg_dominates(&t->cfg, t->block_of[v], block)) {
      *link = t->next[v];
      continue;
    }
    if (same_computation(&t->f->insns[v], insn))
      return (IrValue){v};
    link = &t->next[v];
  }
  return IR_NO_VALUE;
}

static bool visit_insn(Table *t, uint32_t block, IrValue v)
{
  IrInsn *insn = opt_insn(t->f, v);
  opt_each_operand(insn, opt_resolve_operand, t->map);
  if (!ir_op_is_pure(insn->op))
    return false;
  if (insn->n_args == 2)
    order_args(t->f, insn);
  uint32_t hash = hash_of(insn);
  IrValue before = find_same(t, hash, insn, block);
  if (before.raw) {
    t->map[v.raw] = before;
    return insn->dead = true;
  }
  uint32_t *head = &t->heads[hash & (t->n_heads - 1)];
  t->block_of[v.raw] = block;
  t->next[v.raw] = *head;
  *head = v.raw;
  return false;
}

/* ---- branches ---------------------------------------------------------------------- */

/* The branch must be the only way into the block, but for the turns of a loop that begins there. */
static void note_decision(Table *t, uint32_t from, uint32_t block, IrValue condition, bool truth)
{
  for (uint32_t i = t->cfg.pred_at[block]; i < t->cfg.pred_at[block + 1]; i++)
    if (t->cfg.preds[i] != from && !cfg_dominates(&t->cfg, block, t->cfg.preds[i]))
      return;
  if (cfg_dominates(&t->cfg, block, from))
    return;
  t->decisions[block] = (Decision){truth, t->decided[condition.raw]};
  t->decided[condition.raw] = block;
}

/* The branch at the end of the block: takes its condition from one that decided before. */
static bool visit_branch(Table *t, uint32_t block)
{
  IrInsn *insn = opt_terminator(t->f, block);
  if (insn->op != IR_cond_br)
    return false;
  IrValue condition = insn->args[0];
  for (uint32_t d = t->decided[condition.raw]; d; d = t->decisions[d].next) {
    if (!cfg_dominates(&t->cfg, d, block))
      continue;
    IrInsn truth = opt_make_const(IRT_BOOL, t->decisions[d].truth, insn->loc);
    IrValue value = opt_add(t->m, t->f, &truth);
    opt_insert(t->m, &t->f->blocks[block], t->f->blocks[block].n_insns - 1, value);
    opt_terminator(t->f, block)->args[0] = value;
    return true;
  }
  uint32_t if_true = insn->u.targets[0].block.raw, if_false = insn->u.targets[1].block.raw;
  if (if_true != if_false && opt_insn(t->f, condition)->op != IR_const) {
    note_decision(t, block, if_true, condition, true);
    note_decision(t, block, if_false, condition, false);
  }
  return false;
}

static bool visit_branches(Table *t)
{
  bool changed = false;
  for (uint32_t i = 0; i < t->cfg.n_rpo; i++)
    changed |= visit_branch(t, t->cfg.rpo[i]);
  return changed;
}

/* The blocks as a walk over the dominator tree comes to them. */
static uint32_t *order_by_dominators(const Cfg *cfg, Arena *arena)
{
  uint32_t *order = arena_many(arena, uint32_t, cfg->n_rpo);
  for (uint32_t i = 0; i < cfg->n_rpo; i++)
    order[cfg->dom_enter[cfg->rpo[i]]] = cfg->rpo[i];
  return order;
}

bool pass_cse(Opt *opt, IrFunc *f)
{
  Table t = {.m = opt->m, .f = f, .n_heads = 16};
  bool changed = false;
  while (t.n_heads < f->n_insns)
    t.n_heads *= 2;
  t.map = arena_many(opt->arena, IrValue, f->n_insns);
  t.block_of = arena_many(opt->arena, uint32_t, f->n_insns);
  t.next = arena_many(opt->arena, uint32_t, f->n_insns);
  t.heads = arena_many(opt->arena, uint32_t, t.n_heads);
  cfg_build(&t.cfg, f, opt->arena);
  opt_drop_unreachable(f, &t.cfg);
  const uint32_t *order = order_by_dominators(&t.cfg, opt->arena);
  for (uint32_t i = 0; i < t.cfg.n_rpo; i++)
    for (uint32_t k = 0; k < f->blocks[order[i]].n_insns; k++)
      changed |= visit_insn(&t, order[i], f->blocks[order[i]].insns[k]);
  if (changed) {
    opt_replace_values(f, t.map);
    opt_sweep(f);
  }
  t.decisions = arena_many(opt->arena, Decision, f->n_blocks);
  t.decided = arena_many(opt->arena, uint32_t, f->n_insns);
  return visit_branches(&t) || changed;
}
