/* jump: fewer and shorter jumps.
 *
 * merge    a block and the only one that goes to it, unconditionally, become one
 * skip     a jump to a block that only jumps on goes there directly
 * thread   a jump to a block whose condition its arguments decide goes where that leads
 *
 * Skipping and threading leave values alone because they pass only over blocks with values that no
 * other block uses. Loops whose head is passed over may get a second entry; nothing relies on there
 * being one. */
#include "ir/opt/opt.h"

#include <string.h>

/* A block passed over has at most this many instructions. */
enum { MOST_THREADED = 8 };

typedef struct {
  Opt *opt;
  IrModule *m;
  IrFunc *f;
  bool *used_outside;        /* by block: some value of it is used in another block */
  uint32_t n_values;         /* when the run began: later ones are constants of ours */
  uint32_t *block_of;        /* by value, below n_values */
} Threader;

/* ---- merge ------------------------------------------------------------------------- */

static void append_insns(IrModule *m, IrBlock *to, const IrBlock *from)
{
  for (uint32_t i = 0; i < from->n_insns; i++)
    opt_insert(m, to, to->n_insns, from->insns[i]);
}

/* Puts the block that `block` jumps to behind it, if nothing else goes there. */
static bool merge_next(IrModule *m, IrFunc *f, const uint32_t *n_preds, uint32_t block,
                       IrValue *map)
{
  IrInsn *jump = opt_terminator(f, block);
  if (jump->op != IR_br)
    return false;
  IrTarget target = jump->u.targets[0];
  uint32_t next = target.block.raw;
  if (next == block || n_preds[next] != 1)
    return false;
  IrBlock *from = &f->blocks[next];
  for (uint32_t i = 0; i < from->n_params; i++) {
    map[from->params[i].raw] = target.args[i];
    opt_insn(f, from->params[i])->dead = true;
  }
  jump->dead = true;
  f->blocks[block].n_insns--;
  append_insns(m, &f->blocks[block], from);
  from->n_insns = from->n_params = 0;
  return true;
}

static bool merge_blocks(Opt *opt, IrFunc *f)
{
  Cfg cfg;
  bool changed = false;
  cfg_order(&cfg, f, opt->arena);
  IrValue *map = arena_many(opt->arena, IrValue, f->n_insns);
  uint32_t *n_preds = arena_many(opt->arena, uint32_t, f->n_blocks);
  for (uint32_t b = 0; b < f->n_blocks; b++)
    n_preds[b] = cfg_pred_count(&cfg, b);
  for (uint32_t i = 0; i < cfg.n_rpo; i++)
    while (f->blocks[cfg.rpo[i]].n_insns && merge_next(opt->m, f, n_preds, cfg.rpo[i], map))
      changed = true;
  if (changed)
    opt_replace_values(f, map);
  return changed;
}

/* ---- passing over a block ---------------------------------------------------------- */

static void note_use(IrValue *operand, void *context)
{
  Threader *t = ((void **)context)[0];
  uint32_t *block = ((void **)context)[1];
  uint32_t home = t->block_of[operand->raw];
  if (home != *block)
    t->used_outside[home] = true;
}

static void find_uses(Threader *t)
{
  IrFunc *f = t->f;
  uint32_t block;
  void *context[2] = {t, &block};
  t->n_values = f->n_insns;
  t->block_of = arena_many(t->opt->arena, uint32_t, f->n_insns);
  t->used_outside = arena_many(t->opt->arena, bool, f->n_blocks);
  for (block = 0; block < f->n_blocks; block++) {
    const IrBlock *b = &f->blocks[block];
    for (uint32_t i = 0; i < b->n_params; i++)
      t->block_of[b->params[i].raw] = block;
    for (uint32_t i = 0; i < b->n_insns; i++)
      t->block_of[b->insns[i].raw] = block;
  }
  for (block = 0; block < f->n_blocks; block++)
    for (uint32_t i = 0; i < f->blocks[block].n_insns; i++)
      opt_each_operand(opt_insn(f, f->blocks[block].insns[i]), note_use, context);
}

/* Only pure instructions before the branch, and no other block uses them. */
static bool can_pass_over(const Threader *t, uint32_t block)
{
  const IrBlock *b = &t->f->blocks[block];
  if (!block || b->n_insns > MOST_THREADED || t->used_outside[block])
    return false;
  for (uint32_t i = 0; i + 1 < b->n_insns; i++)
    if (!ir_op_is_pure(opt_insn(t->f, b->insns[i])->op))
      return false;
  return true;
}

/* What the values of a block are when it is entered by one edge: a value that is known before
 * (param or outside value), or a constant. */
typedef struct {
  bool is_const;
  IrType type;
  uint64_t bits;
  IrValue value;             /* if not a constant; raw 0: not known without computing */
} Given;

typedef struct {
  uint32_t block;
  const IrTarget *edge;
  Given of[MOST_THREADED];   /* of its instructions, in order */
} Entry;

static Given given_value(const Threader *t, IrValue v)
{
  const IrInsn *insn = opt_insn(t->f, v);
  if (insn->op == IR_const)
    return (Given){.is_const = true, .type = insn->type, .bits = insn->imm};
  return (Given){.type = insn->type, .value = v};
}

static Given look_up(const Threader *t, const Entry *e, IrValue v)
{
  const IrInsn *insn = opt_insn(t->f, v);
  const IrBlock *b = &t->f->blocks[e->block];
  if (v.raw >= t->n_values || t->block_of[v.raw] != e->block)
    return given_value(t, v);
  if (insn->op == IR_PARAM)
    return given_value(t, e->edge->args[insn->u.param.index]);
  for (uint32_t i = 0; i < b->n_insns; i++)
    if (ir_value_eq(b->insns[i], v))
      return e->of[i];
  return (Given){.type = insn->type};
}

static Given evaluate_insn(const Threader *t, const Entry *e, IrValue v)
{
  const IrInsn *insn = opt_insn(t->f, v);
  Given result = {.type = insn->type}, arg = {0};
  uint64_t bits[3];
  if (insn->op == IR_const)
    return given_value(t, v);
  if (insn->n_args == 0 || insn->n_args > ARRAY_COUNT(bits))
    return result;
  for (uint32_t i = 0; i < insn->n_args; i++) {
    Given g = look_up(t, e, insn->args[i]);
    if (!g.is_const)
      return result;
    bits[i] = g.bits;
    if (i == 0)
      arg = g;
  }
  result.is_const =
    ir_fold(t->m, insn->op, insn->type, arg.type, bits, insn->n_args, &result.bits);
  return result;
}

static void evaluate_block(const Threader *t, Entry *e)
{
  const IrBlock *b = &t->f->blocks[e->block];
  for (uint32_t i = 0; i + 1 < b->n_insns; i++)
    e->of[i] = evaluate_insn(t, e, b->insns[i]);
}

/* Where the block leads when entered so; NULL if that is not known. */
static const IrTarget *leads_to(const Threader *t, const Entry *e)
{
  const IrInsn *last = opt_terminator(t->f, e->block);
  if (last->op == IR_br)
    return &last->u.targets[0];
  if (last->op != IR_cond_br)
    return NULL;
  Given cond = look_up(t, e, last->args[0]);
  return cond.is_const ? &last->u.targets[cond.bits ? 0 : 1] : NULL;
}

/* Now `block` uses the value. */
static void note_new_use(Threader *t, IrValue v, uint32_t block)
{
  if (v.raw < t->n_values && t->block_of[v.raw] != block)
    t->used_outside[t->block_of[v.raw]] = true;
}

static IrValue put_value(Threader *t, uint32_t block, Given g, IrLocId loc)
{
  if (!g.is_const)
    return g.value;
  IrInsn insn = opt_make_const(g.type, g.bits, loc);
  IrValue v = opt_add(t->m, t->f, &insn);
  opt_insert(t->m, &t->f->blocks[block], t->f->blocks[block].n_insns - 1, v);
  return v;
}

/* A block that passes values on keeps them off the other way that a conditional branch may go;
 * without it the code generator would have to put one there again. */
static bool carries_for_branch(const Threader *t, uint32_t block, const Entry *e)
{
  const IrInsn *last = opt_terminator(t->f, e->block);
  return last->op == IR_br && last->u.targets[0].n_args > 0 &&
         opt_terminator(t->f, block)->op == IR_cond_br;
}

/* An empty block goes away when the jumps to it pass over it.  If it took values over from the
 * block behind it, conditional branches would keep it for these, each branch a block of its own. */
static bool carries_for_empty(const Threader *t, uint32_t block, const Entry *e)
{
  const IrBlock *b = &t->f->blocks[block];
  const IrInsn *last = opt_terminator(t->f, e->block);
  return block && b->n_insns == 1 && b->n_params == 0 && e->edge->n_args == 0 &&
         last->op == IR_br && last->u.targets[0].n_args > 0;
}

/* Lets target number `which` of `block` go past the block it leads to. */
static bool pass_over(Threader *t, uint32_t block, uint32_t which)
{
  uint32_t n;
  IrTarget *edge = &cfg_targets(t->f, block, &n)[which];
  Entry e = {.block = edge->block.raw, .edge = edge};
  if (e.block == block || !can_pass_over(t, e.block))
    return false;
  evaluate_block(t, &e);
  const IrTarget *to = leads_to(t, &e);
  if (!to || to->block.raw == e.block || carries_for_branch(t, block, &e) ||
      carries_for_empty(t, block, &e))
    return false;
  for (uint32_t i = 0; i < to->n_args; i++) {
    Given g = look_up(t, &e, to->args[i]);
    if (!g.is_const && !g.value.raw)
      return false;
  }
  IrTarget direct = {.block = to->block, .n_args = to->n_args};
  direct.args = arena_many(t->m->arena, IrValue, to->n_args);
  IrLocId loc = opt_terminator(t->f, block)->loc;
  for (uint32_t i = 0; i < to->n_args; i++) {
    direct.args[i] = put_value(t, block, look_up(t, &e, to->args[i]), loc);
    note_new_use(t, direct.args[i], block);
  }
  *edge = direct;
  return true;
}

/* Each edge passes over one block per run. */
static bool thread_jumps(Opt *opt, IrFunc *f)
{
  Threader t = {.opt = opt, .m = opt->m, .f = f};
  bool changed = false;
  uint32_t n;
  find_uses(&t);
  for (uint32_t b = 0; b < f->n_blocks; b++) {
    cfg_targets(f, b, &n);
    for (uint32_t which = 0; which < n; which++)
      changed |= pass_over(&t, b, which);
  }
  return changed;
}

bool pass_jump(Opt *opt, IrFunc *f)
{
  bool changed = opt_find_unreachable(f, opt->arena), again;
  uint32_t limit = 4 * f->n_blocks + 16;    /* cycles of empty blocks could turn for ever */
  do {
    again = merge_blocks(opt, f);
    again |= thread_jumps(opt, f);
    again |= opt_find_unreachable(f, opt->arena);
    changed |= again;
  } while (again && limit-- > 0);
  return changed;
}
