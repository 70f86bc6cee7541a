/* rotate: a loop that tests before each turn tests once before it and then after each turn.
 *
 * The head, which has the test, is copied for the ways back.  So the loop's body is a block of its
 * own where it has no branches, and the first test folds where the start is known.  The pass runs
 * before mem2reg: what a head computes, nothing else uses. */
#include "ir/opt/opt.h"

enum { MOST_HEAD_INSNS = 16 };

typedef struct {
  IrModule *m;
  IrFunc *f;
  Cfg cfg;
  const uint32_t *block_of;
  bool *is_used_outside;     /* by value: another block uses it */
  IrValue *copies;           /* by value of a head that was copied; only its own block names it */
} Rotator;

typedef struct { Rotator *x; uint32_t block; } UseNote;

static void note_use(IrValue *operand, void *context)
{
  UseNote *n = context;
  n->x->is_used_outside[operand->raw] |= n->x->block_of[operand->raw] != n->block;
}

static void find_uses(Rotator *x)
{
  for (uint32_t b = 0; b < x->f->n_blocks; b++) {
    UseNote note = {x, b};
    for (uint32_t i = 0; i < x->f->blocks[b].n_insns; i++)
      opt_each_operand(opt_insn(x->f, x->f->blocks[b].insns[i]), note_use, &note);
  }
}

/* Does the block test whether the loop goes on, and nothing that other blocks need? */
static bool is_test(const Rotator *x, uint32_t head)
{
  const IrBlock *b = &x->f->blocks[head];
  const IrInsn *last = opt_terminator(x->f, head);
  if (last->op != IR_cond_br || b->n_params || b->n_insns > MOST_HEAD_INSNS)
    return false;
  bool stays[2];
  for (unsigned t = 0; t < 2; t++) {
    stays[t] = cfg_loop_contains(&x->cfg, head, last->u.targets[t].block.raw);
    if (last->u.targets[t].block.raw == head || last->u.targets[t].n_args)
      return false;
  }
  for (uint32_t i = 0; i < b->n_insns; i++)
    if (x->is_used_outside[b->insns[i].raw])
      return false;
  return stays[0] != stays[1];
}

static void use_copy(IrValue *operand, void *context)
{
  const Rotator *x = context;
  if (x->copies[operand->raw].raw)
    *operand = x->copies[operand->raw];
}

static uint32_t copy_block(Rotator *x, uint32_t head)
{
  uint32_t copy = ir_block_add(x->m, (IrFuncId){(uint32_t)(x->f - x->m->funcs)}).raw;
  for (uint32_t i = 0; i < x->f->blocks[head].n_insns; i++) {
    IrValue from = x->f->blocks[head].insns[i];
    IrValue v = opt_add(x->m, x->f, opt_insn(x->f, from));
    IrInsn *insn = opt_insn(x->f, v);
    if (insn->op == IR_cond_br) {
      IrTarget *targets = arena_many(x->m->arena, IrTarget, 2);
      targets[0] = insn->u.targets[0];
      targets[1] = insn->u.targets[1];
      insn->u.targets = targets;
    } else if (insn->op == IR_vec) {
      IrVec *vec = arena_new(x->m->arena, IrVec);
      *vec = *insn->u.vec;
      insn->u.vec = vec;
    }
    opt_each_operand(insn, use_copy, x);
    opt_insert(x->m, &x->f->blocks[copy], i, v);
    x->copies[from.raw] = v;
  }
  return copy;
}

static void rotate_loop(Rotator *x, uint32_t head)
{
  uint32_t test = copy_block(x, head);
  for (uint32_t i = x->cfg.pred_at[head]; i < x->cfg.pred_at[head + 1]; i++) {
    uint32_t n, pred = x->cfg.preds[i];
    if (!cfg_dominates(&x->cfg, head, pred))
      continue;
    IrTarget *targets = cfg_targets(x->f, pred, &n);
    for (uint32_t t = 0; t < n; t++)
      if (targets[t].block.raw == head)
        targets[t].block.raw = test;
  }
}

bool pass_rotate(Opt *opt, IrFunc *f)
{
  Rotator x = {.m = opt->m, .f = f};
  cfg_build(&x.cfg, f, opt->arena);
  bool changed = opt_drop_unreachable(f, &x.cfg);
  x.block_of = opt_blocks_of_values(f, opt->arena);
  x.is_used_outside = arena_many(opt->arena, bool, f->n_insns);
  x.copies = arena_many(opt->arena, IrValue, f->n_insns);
  find_uses(&x);
  /* A copied head is no head, and the loops around keep theirs: one look at the shape will do. */
  for (uint32_t i = 0; i < x.cfg.n_rpo; i++) {
    uint32_t block = x.cfg.rpo[i];
    if (x.cfg.loop_head[block] != block || !is_test(&x, block))
      continue;
    rotate_loop(&x, block);
    changed = true;
  }
  return changed;
}
