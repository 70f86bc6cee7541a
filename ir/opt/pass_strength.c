/* strength: a multiple of a loop's counter becomes a sum that is carried around the loop.
 *
 * The pass takes products of 64-bit counters, because they are expensive, and addresses
 * base + a * counter + what the loop does not change, if the loop spends more than one instruction
 * on them: a + imm of a global is an immediate of loads and stores already. */
#include "ir/opt/opt.h"

/* Each new variable takes a register throughout the loop. */
enum { MOST_NEW = 4, LONGEST_CHAIN = 8 };

/* What is done with a loop, one per run: values that were replaced are not looked through. */
enum { ROUND_MERGE, ROUND_REDUCE, ROUND_LAST, ROUND_COUNT };

/* An address that the loop carries. */
typedef struct {
  IrValue base;              /* of global_addr: one of its copies */
  Linear sum;
  IrValue param;
} Pointer;

typedef struct {
  Opt *opt;
  IrModule *m;
  IrFunc *f;
  Cfg cfg;
  Loop loop;
  IrValue *map;
  bool *is_value;            /* by address: does more than a load or store use it? */
  const uint32_t *uses;      /* by value, when the run began */
  unsigned round;            /* of the loop */
  Pointer pointers[MOST_NEW];
  uint32_t n_pointers;       /* of this run */
  uint32_t n_new;            /* variables that the loop carries for us */
} Reducer;

static void replace_value(Reducer *r, IrValue v, IrValue by)
{
  r->map[v.raw] = by;
  opt_insn(r->f, v)->dead = true;
}

/* ---- counters ---------------------------------------------------------------------- */

/* Two counters that start alike and step alike are one. */
static bool merge_counters(Reducer *r)
{
  const IrBlock *head = &r->f->blocks[r->loop.head];
  bool changed = false;
  for (uint32_t i = 0; i < head->n_params; i++)
    for (uint32_t k = 0; k < i; k++) {
      Counter a, b;
      if (!opt_counter(&r->loop, head->params[k], &a) ||
          !opt_counter(&r->loop, head->params[i], &b) || !ir_value_eq(a.start, b.start) ||
          a.step != b.step || a.type != b.type || r->map[a.value.raw].raw)
        continue;
      r->map[b.value.raw] = a.value;
      changed = true;
      break;
    }
  return changed;
}

/* ---- products ---------------------------------------------------------------------- */

static void carry_sum(Reducer *r, IrValue v, IrValue start, IrValue step)
{
  IrInsn grow = {.op = IR_add, .type = IRT_I64, .n_args = 2, .args = (IrValue[]){start, step}};
  replace_value(r, v, opt_carry(&r->loop, IRT_I64, start, &grow));
}

/* counter << k, or counter * k with any k from outside; of 64 bits. */
static bool reduce_product(Reducer *r, IrValue v)
{
  const Loop *l = &r->loop;
  IrInsn insn = *opt_insn(r->f, v);
  Counter c;
  if (insn.type != IRT_I64)
    return false;
  if (insn.op == IR_shl && opt_is_const(r->f, insn.args[1]) && opt_counter(l, insn.args[0], &c)) {
    uint64_t by = opt_insn(r->f, insn.args[1])->imm;
    IrValue start = opt_put_op(l, l->front, IR_shl, insn.type, c.start,
                               opt_put_const(l, l->front, IRT_I16, by));
    carry_sum(r, v, start, opt_put_const(l, l->latch, insn.type, by < 64 ? c.step << by : 0));
    return true;
  }
  for (unsigned side = 0; side < 2 && insn.op == IR_mul; side++) {
    IrValue k = insn.args[!side];
    if (!opt_counter(l, insn.args[side], &c) || !(opt_is_outside(l, k) || opt_is_const(r->f, k)))
      continue;
    if (opt_is_const(r->f, k))
      k = opt_put_const(l, l->front, insn.type, opt_insn(r->f, k)->imm);
    IrValue start = opt_put_op(l, l->front, IR_mul, insn.type, c.start, k);
    carry_sum(r, v, start, opt_put_op(l, l->front, IR_mul, insn.type,
                                      opt_put_const(l, l->front, insn.type, c.step), k));
    return true;
  }
  return false;
}

/* ---- addresses --------------------------------------------------------------------- */

static bool same_base(const IrFunc *f, IrValue a, IrValue b)
{
  const IrInsn *x = opt_insn(f, a), *y = opt_insn(f, b);
  return ir_value_eq(a, b) || (x->op == IR_global_addr && y->op == IR_global_addr &&
                               ir_global_eq(x->u.global, y->u.global) && x->imm == y->imm);
}

/* v = base + sum; false if it is not, or does not move. */
static bool find_sum(const Reducer *r, IrValue v, IrValue *base, Linear *sum)
{
  *sum = (Linear){.cost = 0};
  *base = v;
  for (unsigned i = 0; i < LONGEST_CHAIN && opt_insn(r->f, *base)->op == IR_ptr_add; i++) {
    if (base->raw >= r->loop.n_values || opt_insn(r->f, *base)->dead ||
        opt_is_outside(&r->loop, *base))
      break;
    const IrInsn *insn = opt_insn(r->f, *base);
    if (!opt_linear_add(&r->loop, sum, insn->args[1]))
      return false;
    sum->cost += i > 0;
    *base = insn->args[0];
  }
  const IrInsn *found = opt_insn(r->f, *base);
  bool is_object = found->op == IR_global_addr || found->op == IR_alloca;
  /* The object's address is added by the load or store itself, if nothing else wants the sum. */
  sum->cost += !is_object || found->op == IR_alloca || r->is_value[v.raw];
  return sum->has_counter && opt_low_word(sum->factor) &&
         (is_object || opt_is_outside(&r->loop, *base));
}

/* The address is one that the loop carries, or lies a constant away from one. */
static bool share_pointer(Reducer *r, uint32_t block, uint32_t at, IrValue base, const Linear *sum)
{
  IrBlock *b = &r->f->blocks[block];
  IrValue v = b->insns[at];
  for (uint32_t i = 0; i < r->n_pointers; i++) {
    const Pointer *p = &r->pointers[i];
    if (!same_base(r->f, p->base, base) || !opt_linear_same(&p->sum, sum))
      continue;
    uint32_t apart = opt_low_word(sum->constant - p->sum.constant);
    if (!apart) {
      replace_value(r, v, p->param);
      return true;
    }
    IrInsn by = opt_make_const(IRT_I16, apart, opt_insn(r->f, v)->loc);
    IrValue constant = opt_add(r->m, r->f, &by);
    opt_insert(r->m, b, at, constant);
    opt_insn(r->f, v)->args[0] = p->param;
    opt_insn(r->f, v)->args[1] = constant;
    return true;
  }
  return false;
}

/* Two instructions per turn become one.  In the last round one becomes another, if after that only
 * the test at the end of the loop needs the counter: the pass `ends` may do without. */
static bool is_worth_it(const Reducer *r, const IrInsn *insn, const Linear *sum)
{
  bool frees_counter = r->round == ROUND_LAST && r->uses[sum->counter.value.raw] == 2 &&
                       r->uses[insn->args[1].raw] == 1 && opt_is_const(r->f, sum->counter.start);
  return r->n_new < MOST_NEW && (sum->cost > 1 || (sum->cost == 1 && frees_counter));
}

static IrValue base_in_front(const Reducer *r, IrValue base)
{
  const IrInsn *insn = opt_insn(r->f, base);
  if (insn->op != IR_global_addr || opt_is_outside(&r->loop, base))
    return base;
  IrInsn copy = *insn;
  return opt_put(&r->loop, r->loop.front, &copy);
}

static bool reduce_address(Reducer *r, uint32_t block, uint32_t at)
{
  const Loop *l = &r->loop;
  IrValue v = r->f->blocks[block].insns[at], base;
  Linear sum;
  if (opt_insn(r->f, v)->op != IR_ptr_add || !find_sum(r, v, &base, &sum))
    return false;
  if (share_pointer(r, block, at, base, &sum))
    return true;
  if (!is_worth_it(r, opt_insn(r->f, v), &sum))
    return false;
  IrValue offset = opt_linear_start(l, &sum);      /* first: arguments have no order */
  IrValue start = opt_put_op(l, l->front, IR_ptr_add, IRT_PTR, base_in_front(r, base), offset);
  uint32_t step = opt_low_word(sum.factor * (uint32_t)sum.counter.step);
  IrInsn grow = {.op = IR_ptr_add, .type = IRT_PTR, .n_args = 2,
                 .args = (IrValue[]){start, opt_put_const(l, l->latch, IRT_I16, step)}};
  IrValue param = opt_carry(l, IRT_PTR, start, &grow);
  r->pointers[r->n_pointers++] = (Pointer){base, sum, param};
  r->n_new++;
  replace_value(r, v, param);
  return true;
}

static void mark_values(Reducer *r)
{
  for (uint32_t b = 0; b < r->f->n_blocks; b++)
    for (uint32_t i = 0; i < r->f->blocks[b].n_insns; i++) {
      const IrInsn *insn = opt_insn(r->f, r->f->blocks[b].insns[i]);
      bool accesses = insn->op == IR_load || insn->op == IR_store;
      for (uint32_t k = accesses; k < insn->n_args; k++)
        r->is_value[insn->args[k].raw] = true;
    }
}

/* Addresses that the loop carries already count: a run may follow another. */
static uint32_t count_carried(const Reducer *r)
{
  const IrBlock *head = &r->f->blocks[r->loop.head];
  uint32_t n = 0;
  for (uint32_t i = 0; i < head->n_params; i++) {
    const IrInsn *next = opt_insn(r->f, r->loop.around->args[i]);
    n += next->op == IR_ptr_add && ir_value_eq(next->args[0], head->params[i]);
  }
  return n;
}

static bool reduce_loop(Reducer *r)
{
  bool changed = false;
  r->n_new = count_carried(r);
  for (uint32_t i = r->cfg.rpo_index[r->loop.head]; i < r->cfg.n_rpo; i++) {
    uint32_t b = r->cfg.rpo[i];
    if (!cfg_loop_contains(&r->cfg, r->loop.head, b))
      continue;
    for (uint32_t k = 0; k < r->f->blocks[b].n_insns; k++) {
      IrValue v = r->f->blocks[b].insns[k];
      if (v.raw >= r->loop.n_values || opt_insn(r->f, v)->dead)
        continue;
      if (r->n_new < MOST_NEW && reduce_product(r, v)) {
        r->n_new++;
        changed = true;
      } else {
        changed |= reduce_address(r, b, k);
      }
    }
  }
  return changed;
}

/* ---- the pass ---------------------------------------------------------------------- */

static bool visit_loop(Reducer *r)
{
  return r->round == ROUND_MERGE ? merge_counters(r) : reduce_loop(r);
}

/* The next round of some loop that has something to do; false if there is none. */
static bool run_once(Opt *opt, IrFunc *f, unsigned *rounds)
{
  Reducer r = {.opt = opt, .m = opt->m, .f = f, .uses = opt_count_uses(f, opt->arena)};
  cfg_build(&r.cfg, f, opt->arena);
  r.loop = (Loop){.m = opt->m, .f = f, .cfg = &r.cfg, .n_values = f->n_insns,
                  .block_of = opt_blocks_of_values(f, opt->arena)};
  r.map = arena_many(opt->arena, IrValue, f->n_insns);
  r.is_value = arena_many(opt->arena, bool, f->n_insns);
  mark_values(&r);
  for (uint32_t i = r.cfg.n_rpo; i-- > 0;) {
    uint32_t b = r.cfg.rpo[i];
    bool changed = false;
    if (r.cfg.loop_head[b] != b || !opt_loop_enter(&r.loop, b))
      continue;
    while (!changed && rounds[b] < ROUND_COUNT) {
      r.round = rounds[b]++;
      changed = visit_loop(&r);
    }
    if (!changed)
      continue;
    IrValue *map = arena_many(opt->arena, IrValue, f->n_insns);
    for (uint32_t v = 0; v < r.loop.n_values; v++)
      map[v] = r.map[v];
    opt_replace_values(f, map);
    opt_sweep(f);
    return true;
  }
  return false;
}

/* Inner loops first: what starts their sums is reduced by the loops around them. */
bool pass_strength(Opt *opt, IrFunc *f)
{
  Cfg cfg;
  cfg_build(&cfg, f, opt->arena);
  bool changed = opt_drop_unreachable(f, &cfg);
  changed |= opt_make_fronts(opt, f, &cfg);
  unsigned *rounds = arena_many(opt->arena, unsigned, f->n_blocks);
  while (run_once(opt, f, rounds))
    changed = true;
  return changed;
}
