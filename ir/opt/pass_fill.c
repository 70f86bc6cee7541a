/* fill: a loop that does nothing but set an array to bytes of one value becomes a call.
 *
 * The function stores word by word on wse2 and byte by byte on wse3, as the vendor's compiler does
 * at its default: docs/codegen.md names two public programs, about 10 cycles per word and per byte.
 * Up to MOST_INLINE_BYTES the loop stays and becomes straight code.  -O2 leaves the loops to the
 * other passes. */
#include "ir/opt/opt.h"

enum { MOST_INLINE_BYTES = 8, MOST_FILLS = 8, MOST_TURNS = 32768, BYTE_BITS = 8, WORD_BYTES = 2 };

typedef struct {
  IrValue base;              /* of the address: from outside, or a global's address */
  Linear offset;
  uint64_t word;
  unsigned bytes;            /* per turn */
} Fill;

typedef struct {
  Opt *opt;
  IrFuncId helper;
  Loop loop;
  const bool *used_outside;  /* by value */
  bool *replaced;            /* by block: the head of a loop that this round has replaced */
  Counter counter;
  unsigned n_fills;
  Fill fills[MOST_FILLS];
} Filler;

/* ---- the function ------------------------------------------------------------------ */

/* The bytes that the function stores at once. */
static unsigned bytes_of_store(const IrModule *m)
{
  return m->arch == ARCH_WSE3 ? 1 : WORD_BYTES;
}

/* fn(address, word, n): stores the word or its lower byte n times, at least once. */
static IrFuncId add_helper(IrModule *m)
{
  static const IrType params[] = {IRT_PTR, IRT_I16, IRT_I16};
  unsigned bytes = bytes_of_store(m);
  IrFuncId id = ir_func_add(m, "<fill>", IRT_VOID, params, ARRAY_COUNT(params));
  m->funcs[id.raw].inlining = IR_INLINING_NEVER;
  IrBlockId turn = ir_block_add(m, id), end = ir_block_add(m, id);
  IrValue at = ir_block_param(m, id, turn, IRT_PTR), left = ir_block_param(m, id, turn, IRT_I16);
  const IrValue *given = m->funcs[id.raw].blocks[0].params;
  IrValue word = given[1];
  IrBuilder b = {.module = m, .func = id, .block = {0}};
  ir_br(&b, turn, (IrValue[]){given[0], given[2]}, 2);
  b.block = turn;
  ir_store(&b, at, bytes == 1 ? ir_unary(&b, IR_trunc, IRT_I8, word) : word);
  IrValue step = ir_const(&b, IRT_I16, bytes), one = ir_const(&b, IRT_I16, 1);
  IrValue next = ir_binary(&b, IR_ptr_add, IRT_PTR, at, step);
  IrValue rest = ir_binary(&b, IR_sub, IRT_I16, left, one);
  IrValue none = ir_const(&b, IRT_I16, 0);
  IrValue goes_on = ir_binary(&b, IR_ne, IRT_BOOL, rest, none);
  ir_cond_br(&b, goes_on, turn, (IrValue[]){next, rest}, 2, end, NULL, 0);
  b.block = end;
  ir_ret(&b, IR_NO_VALUE);
  return id;
}

/* ---- which loops ------------------------------------------------------------------- */

/* Are all bytes of the constant the same?  Gives the word of them. */
static bool splat_word(const IrFunc *f, IrValue v, unsigned bytes, uint64_t *word)
{
  const IrInsn *insn = opt_insn(f, v);
  uint64_t byte = insn->imm & 0xff;
  if (insn->op != IR_const || bytes < WORD_BYTES)
    return false;
  for (unsigned i = 1; i < bytes; i++)
    if ((insn->imm >> (BYTE_BITS * i) & 0xff) != byte)
      return false;
  *word = byte << BYTE_BITS | byte;
  return true;
}

/* The address is a base plus a sum that grows by the element's size. */
static bool split_address(const Loop *l, IrValue v, Fill *fill)
{
  const IrInsn *insn = opt_insn(l->f, v);
  for (; insn->op == IR_ptr_add && !opt_is_outside(l, v); insn = opt_insn(l->f, v)) {
    if (!opt_linear_add(l, &fill->offset, insn->args[1]))
      return false;
    v = insn->args[0];
  }
  fill->base = v;
  return (insn->op == IR_global_addr || opt_is_outside(l, v)) && fill->offset.has_counter;
}

/* May the fills follow each other, although the loop's stores take turns?  Those of the same bytes
 * may, and those of different globals. */
static bool may_follow(const Filler *x, const Fill *fill)
{
  const IrInsn *base = opt_insn(x->loop.f, fill->base);
  for (unsigned i = 0; i < x->n_fills; i++) {
    const IrInsn *other = opt_insn(x->loop.f, x->fills[i].base);
    bool are_apart = base->op == IR_global_addr && other->op == IR_global_addr &&
                     !ir_global_eq(base->u.global, other->u.global);
    if (fill->word != x->fills[i].word && !are_apart)
      return false;
  }
  return true;
}

static bool add_fill(Filler *x, const IrInsn *store)
{
  const Loop *l = &x->loop;
  Fill fill = {.bytes = ir_type_bytes(opt_insn(l->f, store->args[1])->type)};
  if (x->n_fills == MOST_FILLS || !splat_word(l->f, store->args[1], fill.bytes, &fill.word) ||
      !split_address(l, store->args[0], &fill) || !may_follow(x, &fill))
    return false;
  uint32_t step = opt_low_word(fill.offset.factor * (uint32_t)fill.offset.counter.step);
  if (x->n_fills && !ir_value_eq(fill.offset.counter.value, x->counter.value))
    return false;
  x->counter = fill.offset.counter;
  x->fills[x->n_fills++] = fill;
  return step == fill.bytes;
}

/* Is the loop one block of stores and of what they and its end need? */
static bool collect_fills(Filler *x)
{
  const Loop *l = &x->loop;
  const IrBlock *b = &l->f->blocks[l->head];
  x->n_fills = 0;
  for (uint32_t i = 0; i + 1 < b->n_insns; i++) {
    const IrInsn *insn = opt_insn(l->f, b->insns[i]);
    bool is_fine = insn->op == IR_store ? add_fill(x, insn) : ir_op_is_pure(insn->op);
    if (!is_fine)
      return false;
  }
  return x->n_fills && l->latch == l->head;
}

/* Constants of the loop move in front of it when it goes. */
static bool may_move(const IrInsn *insn)
{
  return insn->op == IR_const || insn->op == IR_global_addr;
}

typedef struct { const IrFunc *f; const uint32_t *block_of; uint32_t block; bool *used; } UseSearch;

static void note_use(IrValue *operand, void *context)
{
  UseSearch *s = context;
  if (s->block_of[operand->raw] != s->block && !may_move(opt_insn(s->f, *operand)))
    s->used[operand->raw] = true;
}

/* By value: does another block than its own use it?  What a block passes on to others counts. */
static bool *find_used_outside(const IrFunc *f, const uint32_t *block_of, Arena *arena)
{
  UseSearch s = {.f = f, .block_of = block_of, .used = arena_many(arena, bool, f->n_insns)};
  for (uint32_t b = 0; b < f->n_blocks; b++) {
    s.block = b;
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++)
      opt_each_operand(opt_insn(f, f->blocks[b].insns[i]), note_use, &s);
    uint32_t n;
    const IrTarget *targets = cfg_targets(f, b, &n);
    s.block = IR_NO_ID;
    for (uint32_t t = 0; t < n; t++)
      for (uint32_t i = 0; targets[t].block.raw != b && i < targets[t].n_args; i++)
        note_use(&targets[t].args[i], &s);
  }
  return s.used;
}

/* Does code behind the loop use what the loop computes? */
static bool is_used_outside(const Filler *x)
{
  const IrBlock *b = &x->loop.f->blocks[x->loop.head];
  for (uint32_t i = 0; i < b->n_params; i++)
    if (x->used_outside[b->params[i].raw])
      return true;
  for (uint32_t i = 0; i < b->n_insns; i++)
    if (x->used_outside[b->insns[i].raw])
      return true;
  return false;
}

/* Is the comparison `counter < bound`, with the bound from outside? */
static bool is_below(const Loop *l, const IrInsn *test, IrOp op, IrValue counter, IrValue bound)
{
  return test->op == op && ir_value_eq(test->args[0], counter) &&
         ir_value_eq(test->args[1], bound) && opt_is_outside(l, bound);
}

/* The end of the only block that goes to the loop's front, if it does so when its test is true. */
static const IrInsn *guard_of(const Filler *x)
{
  const Loop *l = &x->loop;
  if (cfg_pred_count(l->cfg, l->front) != 1)
    return NULL;
  uint32_t before = l->cfg->preds[l->cfg->pred_at[l->front]];
  if (x->replaced[before])
    return NULL;
  const IrInsn *last = opt_terminator(l->f, before);
  return last->op == IR_cond_br && last->u.targets[0].block.raw == l->front &&
         last->u.targets[1].block.raw != l->front ? last : NULL;
}

/* The bound of a loop `while (counter < bound) : (counter += 1)`, tested before it, too. */
static IrValue bound_of(const Filler *x)
{
  const Loop *l = &x->loop;
  const IrInsn *last = opt_terminator(l->f, l->head), *guard = guard_of(x);
  if (!guard || last->op != IR_cond_br || last->u.targets[0].block.raw != l->head ||
      x->counter.step != 1)
    return IR_NO_VALUE;
  const IrInsn *test = opt_insn(l->f, last->args[0]);
  if (test->op != IR_slt && test->op != IR_ult)
    return IR_NO_VALUE;
  IrValue bound = test->args[1];
  const IrInsn *first = opt_insn(l->f, guard->args[0]);
  bool same = is_below(l, test, test->op, x->counter.next, bound) &&
              is_below(l, first, test->op, x->counter.start, bound);
  return same ? bound : IR_NO_VALUE;
}

/* ---- rewriting --------------------------------------------------------------------- */

static IrValue put_turns(const Loop *l, const Counter *c, uint32_t turns, IrValue bound)
{
  if (turns)
    return opt_put_const(l, l->front, IRT_I16, turns);
  IrValue n = opt_put_op(l, l->front, IR_sub, c->type, bound, c->start);
  return c->type == IRT_I16 ? n : opt_put_op(l, l->front, IR_trunc, IRT_I16, n, IR_NO_VALUE);
}

static void put_call(const Filler *x, const Fill *fill, IrValue turns)
{
  const Loop *l = &x->loop;
  IrValue base = fill->base, n = turns;
  unsigned stores = fill->bytes / bytes_of_store(l->m);
  if (!opt_is_outside(l, base))
    base = opt_put(l, l->front, opt_insn(l->f, base));
  IrValue offset = opt_linear_start(l, &fill->offset);
  IrValue at = opt_put_op(l, l->front, IR_ptr_add, IRT_PTR, base, offset);
  if (stores != 1) {
    IrValue per_turn = opt_put_const(l, l->front, IRT_I16, stores);
    n = opt_put_op(l, l->front, IR_mul, IRT_I16, turns, per_turn);
  }
  IrInsn call = {.op = IR_call, .type = IRT_VOID, .n_args = 3, .u.func = x->helper};
  call.args = (IrValue[]){at, opt_put_const(l, l->front, IRT_I16, fill->word), n};
  opt_put(l, l->front, &call);
}

static void move_constants(const Loop *l)
{
  IrBlock *front = &l->f->blocks[l->front], *b = &l->f->blocks[l->head];
  uint32_t kept = 0;
  for (uint32_t i = 0; i < b->n_insns; i++)
    if (may_move(opt_insn(l->f, b->insns[i])))
      opt_insert(l->m, front, front->n_insns - 1, b->insns[i]);
    else
      b->insns[kept++] = b->insns[i];
  b->n_insns = kept;
}

static void replace_loop(const Filler *x, uint32_t turns, IrValue bound)
{
  const Loop *l = &x->loop;
  move_constants(l);
  IrValue n = put_turns(l, &x->counter, turns, bound);
  for (unsigned i = 0; i < x->n_fills; i++)
    put_call(x, &x->fills[i], n);
  const IrInsn *end = opt_terminator(l->f, l->head);
  *l->entering = end->u.targets[end->u.targets[0].block.raw == l->head];
}

static bool fill_loop(Filler *x, uint32_t head)
{
  const Loop *l = &x->loop;
  if (!opt_loop_enter(&x->loop, head) || !collect_fills(x) || is_used_outside(x))
    return false;
  uint32_t turns = opt_count_turns(l, &x->counter, MOST_TURNS);
  IrValue bound = turns ? IR_NO_VALUE : bound_of(x);
  if ((turns && turns * x->fills[0].bytes <= MOST_INLINE_BYTES) || (!turns && !bound.raw))
    return false;
  replace_loop(x, turns, bound);
  return true;
}

/* Replaces all loops that it can; what used their values may let others go in another round.  The
 * shape stays right for the other loops, but for the guards of those behind a replaced one. */
static bool fill_round(Filler *x, IrFunc *f)
{
  Cfg cfg;
  bool changed = false;
  cfg_build(&cfg, f, x->opt->arena);
  opt_drop_unreachable(f, &cfg);
  opt_make_fronts(x->opt, f, &cfg);
  x->loop = (Loop){.m = x->opt->m, .f = f, .cfg = &cfg, .n_values = f->n_insns,
                   .block_of = opt_blocks_of_values(f, x->opt->arena)};
  x->used_outside = find_used_outside(f, x->loop.block_of, x->opt->arena);
  x->replaced = arena_many(x->opt->arena, bool, f->n_blocks);
  for (uint32_t i = 0; i < cfg.n_rpo; i++)
    if (cfg.loop_head[cfg.rpo[i]] == cfg.rpo[i] && fill_loop(x, cfg.rpo[i]))
      changed = x->replaced[cfg.rpo[i]] = true;
  return changed;
}

bool pass_fill(Opt *opt)
{
  IrModule *m = opt->m;
  if (opt->level != 1)
    return false;
  uint32_t n = m->n_funcs;
  Filler x = {.opt = opt, .helper = add_helper(m)};
  bool changed = false;
  for (uint32_t i = 0; i < n; i++)
    while (fill_round(&x, &m->funcs[i]))
      changed = true;
  return changed;
}
