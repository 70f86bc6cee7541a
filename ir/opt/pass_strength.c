/* strength: a multiple of a loop's counter becomes a sum that is carried around the loop.
 *
 * The pass takes products of 64-bit counters, because they are expensive, and addresses
 * base + a * counter + what the loop does not change, if each turn then has fewer instructions:
 * those that compute the sum and nothing else go, and one comes for each base.  A constant that is
 * added and the base of a global are immediates of loads and stores already.  Carried addresses
 * take registers, so there must be some. */
#include "ir/opt/opt.h"

#include <limits.h>
#include <string.h>

/* Each new variable takes a register throughout the loop. */
enum { MOST_NEW = 4, LONGEST_CHAIN = 8 };
/* Addresses of a loop that are looked at; a loop with more of them is long anyway. */
enum { MOST_CANDIDATES = 64 };

/* What is done with a loop, one per run: values that were replaced are not looked through. */
enum { ROUND_MERGE, ROUND_REDUCE, ROUND_LAST, ROUND_COUNT };

/* An address that may be carried; those of one sum go together or not at all. */
typedef struct {
  IrValue value, base;
  Linear sum;
  bool is_decided, is_worth_it;
} Candidate;

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
  bool *is_copied;           /* by address: is it the place of a copy, which wants the alignment? */
  const uint32_t *uses;      /* by value, when the run began */
  unsigned round;            /* of the loop */
  Pointer pointers[MOST_NEW];
  uint32_t n_pointers;       /* of this run of the loop */
  uint32_t n_new;            /* variables that the loop carries for us */
  Candidate candidates[MOST_CANDIDATES];   /* likewise */
  uint32_t n_candidates;
  uint32_t *uses_within;     /* by value, of the sum that is looked at: uses by its parts */
  IrValue *parts;            /* of the same sum */
  uint32_t n_parts;
  bool *is_kept;             /* by value, of the same: something else needs it, too */
  uint32_t *counted_in;      /* by value: the last count of work that it was part of */
  uint32_t n_counts;
  Pressure *pressure;        /* of the function, with what earlier runs have added */
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
  opt_take_room(r->pressure, &r->cfg, r->loop.head, opt_register_words(IRT_I64));
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

static bool is_object(const IrFunc *f, IrValue base)
{
  return opt_insn(f, base)->op == IR_global_addr || opt_insn(f, base)->op == IR_alloca;
}

/* v = base + sum; false if it is not, or does not move. */
static bool find_sum(const Reducer *r, IrValue v, IrValue *base, Linear *sum)
{
  *sum = (Linear){.constant = 0};
  *base = v;
  for (unsigned i = 0; i < LONGEST_CHAIN && opt_insn(r->f, *base)->op == IR_ptr_add; i++) {
    if (base->raw >= r->loop.n_values || opt_insn(r->f, *base)->dead ||
        opt_is_outside(&r->loop, *base))
      break;
    const IrInsn *insn = opt_insn(r->f, *base);
    if (!opt_linear_add(&r->loop, sum, insn->args[1]))
      return false;
    *base = insn->args[0];
  }
  return sum->has_counter && opt_low_word(sum->factor) &&
         (is_object(r->f, *base) || opt_is_outside(&r->loop, *base));
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

/* ---- what an address costs --------------------------------------------------------- */

/* Does the loop compute the value as part of a sum? */
static bool is_part(const Reducer *r, IrValue v)
{
  if (v.raw >= r->loop.n_values || opt_is_outside(&r->loop, v))
    return false;
  switch ((int)opt_insn(r->f, v)->op) {
  case IR_add:
  case IR_sub:
  case IR_shl:
  case IR_mul:
  case IR_trunc:
  case IR_zext:
  case IR_sext:
  case IR_ptr_add: return true;
  default: return false;
  }
}

/* Is the part an instruction of each turn?  A constant that is added becomes part of an address. */
static bool is_work(const Reducer *r, IrValue v)
{
  const IrInsn *insn = opt_insn(r->f, v);
  bool adds = insn->op == IR_add || insn->op == IR_sub || insn->op == IR_ptr_add;
  return insn->n_args == 2 && !(adds && opt_is_const(r->f, insn->args[1]));
}

static void count_uses_within(Reducer *r, IrValue user)
{
  const IrInsn *insn = opt_insn(r->f, user);
  for (uint32_t i = 0; i < insn->n_args; i++)
    if (is_part(r, insn->args[i]) && r->uses_within[insn->args[i].raw]++ == 0) {
      r->parts[r->n_parts++] = insn->args[i];
      count_uses_within(r, insn->args[i]);
    }
}

static void keep_parts(Reducer *r, IrValue v)
{
  const IrInsn *insn = opt_insn(r->f, v);
  if (r->is_kept[v.raw])
    return;
  r->is_kept[v.raw] = true;
  for (uint32_t i = 0; i < insn->n_args; i++)
    if (is_part(r, insn->args[i]))
      keep_parts(r, insn->args[i]);
}

/* Instructions of each turn that go if nothing needs the address any more. */
static unsigned count_parts(Reducer *r, IrValue user)
{
  const IrInsn *insn = opt_insn(r->f, user);
  unsigned n = 0;
  for (uint32_t i = 0; i < insn->n_args; i++) {
    IrValue v = insn->args[i];
    if (!is_part(r, v) || r->is_kept[v.raw] || r->counted_in[v.raw] == r->n_counts)
      continue;
    r->counted_in[v.raw] = r->n_counts;
    n += is_work(r, v) + count_parts(r, v);
  }
  return n;
}

static unsigned count_work(Reducer *r, IrValue address)
{
  r->n_counts++;
  return count_parts(r, address);
}

/* Finds the parts of the sum, and which of them are needed otherwise. */
static void mark_parts(Reducer *r, const Linear *sum)
{
  for (uint32_t i = 0; i < r->n_parts; i++)
    r->uses_within[r->parts[i].raw] = r->is_kept[r->parts[i].raw] = 0;
  r->n_parts = 0;
  for (uint32_t i = 0; i < r->n_candidates; i++)
    if (opt_linear_same(&r->candidates[i].sum, sum))
      count_uses_within(r, r->candidates[i].value);
  for (uint32_t i = 0; i < r->n_parts; i++)
    if (r->uses_within[r->parts[i].raw] != r->uses[r->parts[i].raw])
      keep_parts(r, r->parts[i]);
}

/* The object's address is added by the load or store itself, if nothing else wants the sum. */
static bool adds_base(const Reducer *r, const Candidate *c)
{
  return opt_insn(r->f, c->base)->op != IR_global_addr || r->is_value[c->value.raw];
}

static bool is_first_of_base(const Reducer *r, uint32_t which)
{
  const Candidate *c = &r->candidates[which];
  for (uint32_t i = 0; i < which; i++)
    if (opt_linear_same(&r->candidates[i].sum, &c->sum) &&
        same_base(r->f, r->candidates[i].base, c->base))
      return false;
  return true;
}

/* After the address is carried, only the test at the end of the loop needs the counter, and the
 * pass `ends` does without. */
static bool frees_counter(const Reducer *r, const Candidate *c)
{
  return r->uses[c->sum.counter.value.raw] == 2 &&
         r->uses[opt_insn(r->f, c->value)->args[1].raw] == 1 &&
         opt_count_turns(&r->loop, &c->sum.counter, MOST_END_TURNS) >= FEWEST_END_TURNS;
}

/* Fewer instructions per turn.  In the last round as many will do, if the counter goes. */
static bool is_worth_it(Reducer *r, uint32_t which)
{
  const Candidate *c = &r->candidates[which];
  unsigned gain = UINT_MAX, n_adds = 0, n_bases = 0;
  mark_parts(r, &c->sum);
  for (uint32_t i = which; i < r->n_candidates; i++) {
    const Candidate *other = &r->candidates[i];
    if (!opt_linear_same(&other->sum, &c->sum))
      continue;
    unsigned work = count_work(r, other->value);
    gain = work < gain ? work : gain;        /* later passes make the dearer of the cheapest */
    n_bases += is_first_of_base(r, i);
    n_adds += is_first_of_base(r, i) && adds_base(r, other);
  }
  gain += n_adds;
  unsigned words = n_bases * opt_register_words(IRT_PTR);
  bool is_even = r->round == ROUND_LAST && gain == 1 && n_bases == 1 && frees_counter(r, c);
  if (!(gain > n_bases || is_even) || r->n_new + n_bases > MOST_NEW ||
      !opt_has_room(r->opt, r->pressure, r->f, &r->cfg, r->loop.head, words))
    return false;
  opt_take_room(r->pressure, &r->cfg, r->loop.head, words);
  r->n_new += n_bases;
  return true;
}

static void decide_candidates(Reducer *r)
{
  for (uint32_t i = 0; i < r->n_candidates; i++) {
    if (r->candidates[i].is_decided)
      continue;
    bool worth = is_worth_it(r, i);
    for (uint32_t k = i; k < r->n_candidates; k++)
      if (opt_linear_same(&r->candidates[k].sum, &r->candidates[i].sum)) {
        r->candidates[k].is_decided = true;
        r->candidates[k].is_worth_it = worth;
      }
  }
}

static bool note_candidate(Reducer *r, uint32_t block, uint32_t at)
{
  Candidate c = {.value = r->f->blocks[block].insns[at]};
  if (r->n_candidates < MOST_CANDIDATES && opt_insn(r->f, c.value)->op == IR_ptr_add &&
      !r->is_copied[c.value.raw] && find_sum(r, c.value, &c.base, &c.sum))
    r->candidates[r->n_candidates++] = c;
  return false;
}

static IrValue base_in_front(const Reducer *r, IrValue base)
{
  const IrInsn *insn = opt_insn(r->f, base);
  if (insn->op != IR_global_addr || opt_is_outside(&r->loop, base))
    return base;
  IrInsn copy = *insn;
  return opt_put(&r->loop, r->loop.front, &copy);
}

static void carry_address(Reducer *r, const Candidate *c)
{
  const Loop *l = &r->loop;
  IrValue offset = opt_linear_start(l, &c->sum);      /* first: arguments have no order */
  IrValue start = opt_put_op(l, l->front, IR_ptr_add, IRT_PTR, base_in_front(r, c->base), offset);
  uint32_t step = opt_low_word(c->sum.factor * (uint32_t)c->sum.counter.step);
  IrInsn grow = {.op = IR_ptr_add, .type = IRT_PTR, .n_args = 2,
                 .args = (IrValue[]){start, opt_put_const(l, l->latch, IRT_I16, step)}};
  IrValue param = opt_carry(l, IRT_PTR, start, &grow);
  r->pointers[r->n_pointers++] = (Pointer){c->base, c->sum, param};
  replace_value(r, c->value, param);
}

static bool reduce_address(Reducer *r, uint32_t block, uint32_t at)
{
  IrValue v = r->f->blocks[block].insns[at];
  for (uint32_t i = 0; i < r->n_candidates; i++) {
    Candidate *c = &r->candidates[i];
    if (!ir_value_eq(c->value, v) || !c->is_worth_it)
      continue;
    c->is_worth_it = false;      /* done: what goes in front of it moves it on in its block */
    if (!share_pointer(r, block, at, c->base, &c->sum))
      carry_address(r, c);
    return true;
  }
  return false;
}

static void mark_values(Reducer *r)
{
  for (uint32_t b = 0; b < r->f->n_blocks; b++)
    for (uint32_t i = 0; i < r->f->blocks[b].n_insns; i++) {
      const IrInsn *insn = opt_insn(r->f, r->f->blocks[b].insns[i]);
      bool accesses = insn->op == IR_load || insn->op == IR_store;
      bool copies = insn->op == IR_copy || insn->op == IR_zero;
      for (uint32_t k = 0; k < insn->n_args; k++) {
        r->is_value[insn->args[k].raw] |= k > 0 || !accesses;
        r->is_copied[insn->args[k].raw] |= copies;
      }
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

static bool reduce_value(Reducer *r, uint32_t block, uint32_t at)
{
  if (r->n_new == MOST_NEW || !reduce_product(r, r->f->blocks[block].insns[at]))
    return reduce_address(r, block, at);
  r->n_new++;
  return true;
}

/* Visits the loop's instructions as they were when the run began. */
static bool visit_insns(Reducer *r, bool (*visit)(Reducer *r, uint32_t block, uint32_t at))
{
  bool changed = false;
  for (uint32_t i = r->cfg.together_index[r->loop.head]; i < r->cfg.loop_end[r->loop.head]; i++) {
    uint32_t b = r->cfg.together[i];
    for (uint32_t k = 0; k < r->f->blocks[b].n_insns; k++) {
      IrValue v = r->f->blocks[b].insns[k];
      if (v.raw < r->loop.n_values && !opt_insn(r->f, v)->dead)
        changed |= visit(r, b, k);
    }
  }
  return changed;
}

static bool reduce_loop(Reducer *r)
{
  r->n_new = count_carried(r);
  r->n_candidates = r->n_pointers = 0;
  visit_insns(r, note_candidate);
  decide_candidates(r);
  return visit_insns(r, reduce_value);
}

/* ---- the pass ---------------------------------------------------------------------- */

static bool visit_loop(Reducer *r)
{
  return r->round == ROUND_MERGE ? merge_counters(r) : reduce_loop(r);
}

/* The next round that has something to do, of each loop but those around one that has just changed;
 * false if there is none. */
static bool run_rounds(Opt *opt, IrFunc *f, unsigned *rounds, Pressure *pressure)
{
  Reducer r = {.opt = opt, .m = opt->m, .f = f, .uses = opt_count_uses(f, opt->arena),
               .pressure = pressure};
  cfg_build(&r.cfg, f, opt->arena);
  r.loop = (Loop){.m = opt->m, .f = f, .cfg = &r.cfg, .n_values = f->n_insns,
                  .block_of = opt_blocks_of_values(f, opt->arena)};
  r.map = arena_many(opt->arena, IrValue, f->n_insns);
  r.is_value = arena_many(opt->arena, bool, f->n_insns);
  r.is_copied = arena_many(opt->arena, bool, f->n_insns);
  r.parts = arena_many(opt->arena, IrValue, f->n_insns);
  r.uses_within = arena_many(opt->arena, uint32_t, f->n_insns);
  r.is_kept = arena_many(opt->arena, bool, f->n_insns);
  r.counted_in = arena_many(opt->arena, uint32_t, f->n_insns);
  mark_values(&r);
  bool any = false, *waits = arena_many(opt->arena, bool, f->n_blocks);
  for (uint32_t i = r.cfg.n_rpo; i-- > 0;) {
    uint32_t b = r.cfg.rpo[i];
    bool changed = false;
    if (r.cfg.loop_head[b] != b)
      continue;
    while (!waits[b] && !changed && rounds[b] < ROUND_COUNT && opt_loop_enter(&r.loop, b)) {
      r.round = rounds[b]++;
      changed = visit_loop(&r);
    }
    any |= changed;
    if ((changed || waits[b]) && r.cfg.loop_parent[b] != IR_NO_ID)
      waits[r.cfg.loop_parent[b]] = true;
  }
  if (!any)
    return false;
  IrValue *map = arena_many(opt->arena, IrValue, f->n_insns);
  memcpy(map, r.map, sizeof *map * r.loop.n_values);
  opt_replace_values(f, map);
  opt_sweep(f);
  return true;
}

/* Inner loops first: what starts their sums is reduced by the loops around them. */
bool pass_strength(Opt *opt, IrFunc *f)
{
  Cfg cfg;
  cfg_build(&cfg, f, opt->arena);
  bool changed = opt_drop_unreachable(f, &cfg);
  changed |= opt_make_fronts(opt, f, &cfg);
  unsigned *rounds = arena_many(opt->arena, unsigned, f->n_blocks);
  Pressure pressure = {.words = NULL};
  while (run_rounds(opt, f, rounds, &pressure))
    changed = true;
  return changed;
}
