/* licm: computes what a loop does not change once, in front of it.
 *
 * Pure values may be computed even if the loop would not have: none of them faults.  A load may
 * only if it is certain to lie inside its object, or if the loop's first block does it anyway;
 * and nothing in the loop may write what it reads. */
#include "ir/opt/opt.h"

#include <string.h>

/* Values that a loop's front computes stay in registers throughout; more than this and they would
 * not. */
enum { MOST_HOISTED = 8 };

typedef struct {
  Opt *opt;
  IrModule *m;
  IrFunc *f;
  IrFuncId func;
  Cfg cfg;
  uint32_t *block_of;        /* by value */
  bool *escapes;
} Hoister;

/* ---- the block in front of a loop -------------------------------------------------- */

/* The block that enters the loop by its only jump, unconditionally, or IR_NO_ID. */
static uint32_t front_of(const IrFunc *f, const Cfg *cfg, uint32_t head)
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

static void redirect(Hoister *h, uint32_t head, uint32_t to)
{
  for (uint32_t i = h->cfg.pred_at[head]; i < h->cfg.pred_at[head + 1]; i++) {
    uint32_t n;
    if (cfg_dominates(&h->cfg, head, h->cfg.preds[i]))
      continue;
    IrTarget *targets = cfg_targets(h->f, h->cfg.preds[i], &n);
    for (uint32_t t = 0; t < n; t++)
      if (targets[t].block.raw == head)
        targets[t].block.raw = to;
  }
}

static void make_front(Hoister *h, uint32_t head)
{
  IrBlockId front = ir_block_add(h->m, h->func);
  uint32_t n = h->f->blocks[head].n_params;
  IrValue *args = arena_many(h->opt->arena, IrValue, n);
  for (uint32_t i = 0; i < n; i++) {
    IrType type = opt_insn(h->f, h->f->blocks[head].params[i])->type;
    args[i] = ir_block_param(h->m, h->func, front, type);
  }
  redirect(h, head, front.raw);
  IrBuilder b = {.module = h->m, .func = h->func, .block = front,
                 .loc = opt_terminator(h->f, head)->loc};
  ir_br(&b, (IrBlockId){head}, args, n);
}

static bool make_fronts(Hoister *h)
{
  bool changed = false;
  for (uint32_t i = 0; i < h->cfg.n_rpo; i++) {
    uint32_t b = h->cfg.rpo[i];
    if (h->cfg.loop_head[b] != b || front_of(h->f, &h->cfg, b) != IR_NO_ID)
      continue;
    make_front(h, b);
    changed = true;
  }
  return changed;
}

/* ---- what may go there ------------------------------------------------------------- */

static void check_outside(IrValue *operand, void *context)
{
  void **c = context;
  const Hoister *h = c[0];
  const uint32_t *head = c[1];
  bool *outside = c[2];
  if (cfg_loop_contains(&h->cfg, *head, h->block_of[operand->raw]))
    *outside = false;
}

static bool operands_are_outside(Hoister *h, uint32_t head, IrInsn *insn)
{
  bool outside = true;
  void *context[3] = {h, &head, &outside};
  opt_each_operand(insn, check_outside, context);
  return outside;
}

static bool loop_may_write(const Hoister *h, uint32_t head, Address a, uint64_t bytes)
{
  for (uint32_t i = 0; i < h->cfg.n_rpo; i++) {
    uint32_t b = h->cfg.rpo[i];
    if (!cfg_loop_contains(&h->cfg, head, b))
      continue;
    for (uint32_t k = 0; k < h->f->blocks[b].n_insns; k++)
      if (opt_may_write(h->m, h->f, opt_insn(h->f, h->f->blocks[b].insns[k]), a, bytes,
                        h->escapes))
        return true;
  }
  return false;
}

static bool is_inside_object(const Hoister *h, Address a, uint64_t bytes)
{
  if (a.base == BASE_UNKNOWN || !a.offset_known || a.offset < 0)
    return false;
  uint64_t size = a.base == BASE_GLOBAL ? h->m->globals[a.object].bytes
                                        : h->f->insns[a.object].imm;
  return (uint64_t)a.offset + bytes <= size;
}

static bool load_is_fixed(Hoister *h, uint32_t head, uint32_t block, const IrInsn *insn)
{
  Address a = opt_address(h->m, h->f, insn->args[0]);
  unsigned bytes = ir_type_bytes(insn->type);
  return (block == head || is_inside_object(h, a, bytes)) && !loop_may_write(h, head, a, bytes);
}

/* What costs no register, because it can be made again: see sink. */
static bool is_free(const IrInsn *insn)
{
  return insn->op == IR_const || insn->op == IR_global_addr || insn->op == IR_func_addr;
}

static bool may_hoist(Hoister *h, uint32_t head, uint32_t block, IrInsn *insn)
{
  if (!ir_op_is_pure(insn->op) && insn->op != IR_load)
    return false;
  if (!operands_are_outside(h, head, insn))
    return false;
  return insn->op != IR_load || load_is_fixed(h, head, block, insn);
}

static bool hoist_from_block(Hoister *h, uint32_t head, uint32_t front, uint32_t block,
                             uint32_t *n_hoisted)
{
  IrBlock *b = &h->f->blocks[block], *to = &h->f->blocks[front];
  uint32_t n = 0, before = b->n_insns;
  for (uint32_t i = 0; i < before; i++) {
    IrValue v = b->insns[i];
    IrInsn *insn = opt_insn(h->f, v);
    bool costs = !is_free(insn);
    if ((costs && *n_hoisted == MOST_HOISTED) || !may_hoist(h, head, block, insn)) {
      b->insns[n++] = v;
      continue;
    }
    *n_hoisted += costs;
    h->block_of[v.raw] = front;
    opt_insert(h->m, to, to->n_insns - 1, v);
  }
  b->n_insns = n;
  return n != before;
}

static bool hoist_from_loop(Hoister *h, uint32_t head)
{
  bool changed = false;
  uint32_t front = front_of(h->f, &h->cfg, head), n_hoisted = 0;
  for (uint32_t i = h->cfg.rpo_index[head]; i < h->cfg.n_rpo && front != IR_NO_ID; i++) {
    uint32_t b = h->cfg.rpo[i];
    if (cfg_loop_contains(&h->cfg, head, b))
      changed |= hoist_from_block(h, head, front, b, &n_hoisted);
  }
  return changed;
}

static void place_values(Hoister *h)
{
  const IrFunc *f = h->f;
  h->block_of = arena_many(h->opt->arena, uint32_t, f->n_insns);
  for (uint32_t b = 0; b < f->n_blocks; b++) {
    for (uint32_t i = 0; i < f->blocks[b].n_params; i++)
      h->block_of[f->blocks[b].params[i].raw] = b;
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++)
      h->block_of[f->blocks[b].insns[i].raw] = b;
  }
}

/* Inner loops first: what leaves one may leave the next. */
bool pass_licm(Opt *opt, IrFunc *f)
{
  Hoister h = {.opt = opt, .m = opt->m, .f = f, .func = {(uint32_t)(f - opt->m->funcs)}};
  opt_drop_unreachable(f, opt->arena);
  cfg_build(&h.cfg, f, opt->arena);
  bool changed = make_fronts(&h);
  if (changed)
    cfg_build(&h.cfg, f, opt->arena);
  h.escapes = opt_escapes(f, opt->arena);
  place_values(&h);
  for (uint32_t i = h.cfg.n_rpo; i-- > 0;)
    if (h.cfg.loop_head[h.cfg.rpo[i]] == h.cfg.rpo[i])
      changed |= hoist_from_loop(&h, h.cfg.rpo[i]);
  return changed;
}
