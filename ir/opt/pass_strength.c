/* strength: a multiple of a loop's counter becomes a sum that is carried around the loop.
 *
 * Taken are products of 64-bit counters, which are the expensive ones, and addresses
 * base + a * counter + b whose base is in a register (addresses of globals are immediates of
 * loads and stores already). */
#include "ir/opt/opt.h"

/* Each new variable takes a register throughout the loop. */
enum { MOST_NEW = 4, LONGEST_CHAIN = 6 };

typedef struct {
  Opt *opt;
  IrModule *m;
  IrFunc *f;
  Cfg cfg;
  uint32_t *block_of;
  uint32_t n_values;         /* those that block_of knows */
  IrValue *map;
  /* of the loop */
  uint32_t head, front, latch;
  IrTarget *entering, *around;
} Reducer;

/* A counter: parameter k of the head, which starts with `start` and grows by the constant. */
typedef struct {
  IrValue value, start;
  IrType type;
  uint64_t step;
} Counter;

/* a * counter + b, in 16 bits. */
typedef struct {
  Counter counter;
  uint64_t a, b;
} Linear;

static bool is_outside(const Reducer *r, IrValue v)
{
  return v.raw < r->n_values && !cfg_loop_contains(&r->cfg, r->head, r->block_of[v.raw]);
}

static bool counter_of(const Reducer *r, IrValue v, Counter *c)
{
  const IrInsn *param = opt_insn(r->f, v);
  if (param->op != IR_PARAM || param->u.param.block.raw != r->head ||
      !ir_type_is_int(param->type) || param->type == IRT_BOOL)
    return false;
  const IrInsn *next = opt_insn(r->f, r->around->args[param->u.param.index]);
  if (next->op != IR_add || next->args[0].raw != v.raw || !opt_is_const(r->f, next->args[1]))
    return false;
  *c = (Counter){.value = v,
                 .start = r->entering->args[param->u.param.index],
                 .type = param->type,
                 .step = opt_insn(r->f, next->args[1])->imm};
  return true;
}

static bool linear_of(const Reducer *r, IrValue v, Linear *l)
{
  uint64_t a = 1, b = 0;
  for (unsigned i = 0; i < LONGEST_CHAIN; i++) {
    const IrInsn *insn = opt_insn(r->f, v);
    if (counter_of(r, v, &l->counter)) {
      l->a = a;
      l->b = b;
      return true;
    }
    bool by_const = insn->n_args == 2 && opt_is_const(r->f, insn->args[1]);
    uint64_t c = by_const ? opt_insn(r->f, insn->args[1])->imm : 0;
    if (insn->op == IR_shl && by_const && c < ir_type_bits(IRT_I16))
      a <<= c;
    else if (insn->op == IR_mul && by_const)
      a *= c;
    else if (insn->op == IR_add && by_const)
      b += a * c;
    else if (insn->op != IR_trunc)
      return false;
    v = insn->args[0];
  }
  return false;
}

/* Adds an instruction at the end of a block, before its jump. */
static IrValue put(Reducer *r, uint32_t block, IrOp op, IrType type, IrValue x, IrValue y)
{
  IrInsn insn = {.op = op, .type = type, .loc = opt_terminator(r->f, block)->loc,
                 .n_args = y.raw ? 2 : 1, .args = (IrValue[]){x, y}};
  IrValue v = opt_add(r->m, r->f, &insn);
  opt_insert(r->m, &r->f->blocks[block], r->f->blocks[block].n_insns - 1, v);
  return v;
}

static IrValue put_const(Reducer *r, uint32_t block, IrType type, uint64_t bits)
{
  IrInsn insn = opt_make_const(type, bits, opt_terminator(r->f, block)->loc);
  IrValue v = opt_add(r->m, r->f, &insn);
  opt_insert(r->m, &r->f->blocks[block], r->f->blocks[block].n_insns - 1, v);
  return v;
}

/* A new parameter of the head; what replaces v. */
static void carry(Reducer *r, IrValue v, IrValue start, IrOp grow, IrValue step)
{
  IrFuncId func = {(uint32_t)(r->f - r->m->funcs)};
  IrType type = opt_insn(r->f, v)->type;
  IrValue param = ir_block_param(r->m, func, (IrBlockId){r->head}, type);
  opt_append_target_arg(r->m, r->entering, start);
  opt_append_target_arg(r->m, r->around, put(r, r->latch, grow, type, param, step));
  r->map[v.raw] = param;
  opt_insn(r->f, v)->dead = true;
}

/* counter * k with any k from outside. */
static bool reduce_product(Reducer *r, IrValue v)
{
  IrInsn insn = *opt_insn(r->f, v);
  Counter c;
  if (insn.type != IRT_I64)
    return false;
  if (insn.op == IR_shl && opt_is_const(r->f, insn.args[1]) && counter_of(r, insn.args[0], &c)) {
    uint64_t by = opt_insn(r->f, insn.args[1])->imm;
    IrValue start = put(r, r->front, IR_shl, insn.type, c.start,
                        put_const(r, r->front, IRT_I16, by));
    carry(r, v, start, IR_add, put_const(r, r->latch, insn.type, by < 64 ? c.step << by : 0));
    return true;
  }
  if (insn.op != IR_mul)
    return false;
  for (unsigned side = 0; side < 2; side++) {
    IrValue k = insn.args[!side];
    if (!counter_of(r, insn.args[side], &c) || !(is_outside(r, k) || opt_is_const(r->f, k)))
      continue;
    if (opt_is_const(r->f, k))
      k = put_const(r, r->front, insn.type, opt_insn(r->f, k)->imm);
    IrValue start = put(r, r->front, IR_mul, insn.type, c.start, k);
    IrValue step = put(r, r->front, IR_mul, insn.type,
                       put_const(r, r->front, insn.type, c.step), k);
    carry(r, v, start, IR_add, step);
    return true;
  }
  return false;
}

static bool reduce_address(Reducer *r, IrValue v)
{
  IrInsn insn = *opt_insn(r->f, v);
  Linear l;
  if (insn.op != IR_ptr_add || !is_outside(r, insn.args[0]) ||
      opt_insn(r->f, insn.args[0])->op == IR_global_addr ||
      opt_insn(r->f, insn.args[0])->op == IR_alloca || !linear_of(r, insn.args[1], &l))
    return false;
  IrValue at = l.counter.start;
  if (l.counter.type == IRT_I8)
    return false;
  if (l.counter.type != IRT_I16)
    at = put(r, r->front, IR_trunc, IRT_I16, at, IR_NO_VALUE);
  at = put(r, r->front, IR_mul, IRT_I16, at, put_const(r, r->front, IRT_I16, l.a));
  at = put(r, r->front, IR_add, IRT_I16, at, put_const(r, r->front, IRT_I16, l.b));
  IrValue start = put(r, r->front, IR_ptr_add, IRT_PTR, insn.args[0], at);
  carry(r, v, start, IR_ptr_add, put_const(r, r->latch, IRT_I16, l.a * l.counter.step));
  return true;
}

static IrTarget *only_target(const IrFunc *f, uint32_t block, uint32_t to)
{
  uint32_t n;
  IrTarget *targets = cfg_targets(f, block, &n), *found = NULL;
  for (uint32_t t = 0; t < n; t++)
    if (targets[t].block.raw == to) {
      if (found)
        return NULL;
      found = &targets[t];
    }
  return found;
}

/* A loop with one way in and one way around. */
static bool enter_loop(Reducer *r, uint32_t head)
{
  r->head = head;
  r->front = opt_loop_front(r->f, &r->cfg, head);
  r->latch = IR_NO_ID;
  if (r->front == IR_NO_ID || cfg_pred_count(&r->cfg, head) != 2)
    return false;
  for (uint32_t i = r->cfg.pred_at[head]; i < r->cfg.pred_at[head + 1]; i++)
    if (r->cfg.preds[i] != r->front)
      r->latch = r->cfg.preds[i];
  if (r->latch == IR_NO_ID)
    return false;
  r->entering = only_target(r->f, r->front, head);
  r->around = only_target(r->f, r->latch, head);
  return r->entering && r->around;
}

static bool reduce_loop(Reducer *r)
{
  uint32_t n_new = 0;
  for (uint32_t i = r->cfg.rpo_index[r->head]; i < r->cfg.n_rpo; i++) {
    uint32_t b = r->cfg.rpo[i];
    if (!cfg_loop_contains(&r->cfg, r->head, b))
      continue;
    for (uint32_t k = 0; k < r->f->blocks[b].n_insns && n_new < MOST_NEW; k++) {
      IrValue v = r->f->blocks[b].insns[k];
      if (v.raw >= r->n_values || opt_insn(r->f, v)->dead)
        continue;
      n_new += reduce_product(r, v) || reduce_address(r, v);
    }
  }
  return n_new > 0;
}

/* One loop a run: values that were replaced are not looked through. */
static bool run_once(Opt *opt, IrFunc *f, bool *done)
{
  Reducer r = {.opt = opt, .m = opt->m, .f = f};
  cfg_build(&r.cfg, f, opt->arena);
  opt_make_fronts(opt, f, &r.cfg);
  r.block_of = opt_blocks_of_values(f, opt->arena);
  r.n_values = f->n_insns;
  r.map = arena_many(opt->arena, IrValue, f->n_insns);
  for (uint32_t i = r.cfg.n_rpo; i-- > 0;) {
    uint32_t b = r.cfg.rpo[i];
    if (r.cfg.loop_head[b] != b || done[b] || !enter_loop(&r, b))
      continue;
    done[b] = true;
    if (!reduce_loop(&r))
      continue;
    IrValue *map = arena_many(opt->arena, IrValue, f->n_insns);
    for (uint32_t v = 0; v < r.n_values; v++)
      map[v] = r.map[v];
    opt_replace_values(f, map);
    opt_sweep(f);
    return true;
  }
  return false;
}

bool pass_strength(Opt *opt, IrFunc *f)
{
  bool changed = opt_drop_unreachable(f, opt->arena);
  Cfg cfg;
  cfg_build(&cfg, f, opt->arena);
  changed |= opt_make_fronts(opt, f, &cfg);
  bool *done = arena_many(opt->arena, bool, f->n_blocks);
  while (run_once(opt, f, done))
    changed = true;
  return changed;
}
