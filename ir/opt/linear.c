/* Sums over a loop's counter: values that grow by the same amount each turn.
 *
 * All is in 16 bits: addresses and descriptors have no more, and the low half of a sum, product or
 * left shift depends on the low halves of its operands alone. */
#include "ir/opt/opt.h"

enum { LONGEST_CHAIN = 8, WORD_BITS = 16, DEEPEST_TEST = 8 };

IrTarget *opt_only_target(const IrFunc *f, uint32_t block, uint32_t to)
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

bool opt_loop_enter(Loop *l, uint32_t head)
{
  l->head = head;
  l->front = opt_loop_front(l->f, l->cfg, head);
  l->latch = IR_NO_ID;
  if (l->front == IR_NO_ID || cfg_pred_count(l->cfg, head) != 2)
    return false;
  for (uint32_t i = l->cfg->pred_at[head]; i < l->cfg->pred_at[head + 1]; i++)
    if (l->cfg->preds[i] != l->front)
      l->latch = l->cfg->preds[i];
  if (l->latch == IR_NO_ID)
    return false;
  l->entering = opt_only_target(l->f, l->front, head);
  l->around = opt_only_target(l->f, l->latch, head);
  return l->entering && l->around;
}

bool opt_is_outside(const Loop *l, IrValue v)
{
  return v.raw < l->n_values && !cfg_loop_contains(l->cfg, l->head, l->block_of[v.raw]);
}

bool opt_counter(const Loop *l, IrValue v, Counter *c)
{
  const IrInsn *param = opt_insn(l->f, v);
  if (param->op != IR_PARAM || param->u.param.block.raw != l->head ||
      !ir_type_is_int(param->type) || param->type == IRT_BOOL)
    return false;
  IrValue next = l->around->args[param->u.param.index];
  const IrInsn *add = opt_insn(l->f, next);
  if (add->op != IR_add || !ir_value_eq(add->args[0], v) || !opt_is_const(l->f, add->args[1]))
    return false;
  *c = (Counter){.value = v,
                 .next = next,
                 .start = l->entering->args[param->u.param.index],
                 .type = param->type,
                 .step = opt_insn(l->f, add->args[1])->imm};
  return true;
}

/* ---- turns ----------------------------------------------------------------------- */

/* The value in the turn in which the counter is `now`; false if it depends on more. */
static bool value_in_turn(const Loop *l, IrValue v, const Counter *c, uint64_t now, unsigned depth,
                          uint64_t *bits)
{
  const IrInsn *insn = opt_insn(l->f, v);
  uint64_t args[2];
  if (ir_value_eq(v, c->value) || insn->op == IR_const) {
    *bits = ir_value_eq(v, c->value) ? now : insn->imm;
    return true;
  }
  if (!ir_op_is_pure(insn->op) || insn->n_args == 0 || insn->n_args > 2 || depth == DEEPEST_TEST)
    return false;
  for (uint32_t i = 0; i < insn->n_args; i++)
    if (!value_in_turn(l, insn->args[i], c, now, depth + 1, &args[i]))
      return false;
  return ir_fold(l->m, insn->op, insn->type, opt_insn(l->f, insn->args[0])->type, args,
                 insn->n_args, bits);
}

uint32_t opt_count_turns(const Loop *l, const Counter *c, uint32_t most)
{
  const IrInsn *last = opt_terminator(l->f, l->latch);
  if (last->op != IR_cond_br || !opt_is_const(l->f, c->start))
    return 0;
  bool stays_if = last->u.targets[0].block.raw == l->head;
  uint64_t now = opt_insn(l->f, c->start)->imm, goes_on;
  for (uint32_t turns = 1; turns <= most; turns++) {
    if (!value_in_turn(l, last->args[0], c, now, 0, &goes_on))
      return 0;
    if ((goes_on != 0) != stays_if)
      return turns;
    now = (now + c->step) & opt_mask(c->type);
  }
  return 0;
}

/* ---- analysis ---------------------------------------------------------------------- */

static bool add_term(Linear *sum, IrValue v, uint32_t factor)
{
  for (unsigned i = 0; i < sum->n_terms; i++)
    if (ir_value_eq(sum->terms[i].value, v)) {
      sum->terms[i].factor += factor;
      return true;
    }
  if (sum->n_terms == MOST_TERMS)
    return false;
  sum->terms[sum->n_terms].value = v;
  sum->terms[sum->n_terms++].factor = factor;
  return true;
}

static bool add_scaled(const Loop *l, Linear *sum, IrValue v, uint32_t factor, unsigned depth);

/* An operation of the loop whose operands are sums. */
static bool add_operation(const Loop *l, Linear *sum, const IrInsn *insn, uint32_t factor,
                          unsigned depth)
{
  bool by_const = insn->n_args == 2 && opt_is_const(l->f, insn->args[1]);
  uint32_t c = by_const ? (uint32_t)opt_insn(l->f, insn->args[1])->imm : 0;
  switch ((int)insn->op) {
  case IR_add:
    return add_scaled(l, sum, insn->args[0], factor, depth) &&
           add_scaled(l, sum, insn->args[1], factor, depth);
  case IR_sub:
    return add_scaled(l, sum, insn->args[0], factor, depth) &&
           add_scaled(l, sum, insn->args[1], 0 - factor, depth);
  case IR_shl:
    return by_const &&
           add_scaled(l, sum, insn->args[0], c < WORD_BITS ? factor << c : 0, depth);
  case IR_mul:
    return by_const && add_scaled(l, sum, insn->args[0], factor * c, depth);
  case IR_trunc:
  case IR_zext:
  case IR_sext: return add_scaled(l, sum, insn->args[0], factor, depth);
  default: return false;
  }
}

static bool add_scaled(const Loop *l, Linear *sum, IrValue v, uint32_t factor, unsigned depth)
{
  const IrInsn *insn = opt_insn(l->f, v);
  Counter c;
  if (depth == LONGEST_CHAIN || v.raw >= l->n_values || ir_type_bits(insn->type) < WORD_BITS)
    return false;
  if (insn->op == IR_const) {
    sum->constant += factor * (uint32_t)insn->imm;
    return true;
  }
  if (opt_counter(l, v, &c) && (!sum->has_counter || ir_value_eq(sum->counter.value, v))) {
    sum->has_counter = true;
    sum->counter = c;
    sum->factor += factor;
    return true;
  }
  if (opt_is_outside(l, v))
    return ir_type_is_int(insn->type) && add_term(sum, v, factor);
  return add_operation(l, sum, insn, factor, depth + 1);
}

bool opt_linear_add(const Loop *l, Linear *sum, IrValue v)
{
  return add_scaled(l, sum, v, 1, 0);
}

bool opt_linear_same(const Linear *a, const Linear *b)
{
  if (!ir_value_eq(a->counter.value, b->counter.value) || opt_low_word(a->factor - b->factor) ||
      a->n_terms != b->n_terms)
    return false;
  for (unsigned i = 0; i < a->n_terms; i++)
    if (!ir_value_eq(a->terms[i].value, b->terms[i].value) ||
        opt_low_word(a->terms[i].factor - b->terms[i].factor))
      return false;
  return true;
}

/* ---- code -------------------------------------------------------------------------- */

IrValue opt_put(const Loop *l, uint32_t block, const IrInsn *insn)
{
  IrInsn with_loc = *insn;
  with_loc.loc = opt_terminator(l->f, block)->loc;
  IrValue v = opt_add(l->m, l->f, &with_loc);
  opt_insert(l->m, &l->f->blocks[block], l->f->blocks[block].n_insns - 1, v);
  return v;
}

IrValue opt_put_const(const Loop *l, uint32_t block, IrType type, uint64_t bits)
{
  IrInsn insn = opt_make_const(type, bits, IR_NO_LOC);
  return opt_put(l, block, &insn);
}

IrValue opt_put_op(const Loop *l, uint32_t block, IrOp op, IrType type, IrValue x, IrValue y)
{
  IrInsn insn = {.op = op, .type = type, .n_args = y.raw ? 2 : 1, .args = (IrValue[]){x, y}};
  return opt_put(l, block, &insn);
}

/* value * factor, in 16 bits, in front of the loop. */
static IrValue put_scaled(const Loop *l, IrValue value, uint32_t factor)
{
  if (opt_insn(l->f, value)->type != IRT_I16)
    value = opt_put_op(l, l->front, IR_trunc, IRT_I16, value, IR_NO_VALUE);
  if (opt_low_word(factor) == 1)
    return value;
  return opt_put_op(l, l->front, IR_mul, IRT_I16, value,
                    opt_put_const(l, l->front, IRT_I16, opt_low_word(factor)));
}

static unsigned count_terms(const Linear *sum)
{
  unsigned n = 0;
  for (unsigned i = 0; i < sum->n_terms; i++)
    n += opt_low_word(sum->terms[i].factor) != 0;
  return n;
}

static bool add_terms(Linear *to, const Linear *sum)
{
  to->constant += sum->constant;
  for (unsigned i = 0; i < sum->n_terms; i++)
    if (!add_term(to, sum->terms[i].value, sum->terms[i].factor))
      return false;
  return true;
}

/* The sum in the first turn.  The start of the counter is a term, or several, if those that made it
 * leave fewer in all: what lies d behind a counter that starts with d + 1 begins at a constant. */
static bool find_start(const Loop *l, const Linear *sum, Linear *start)
{
  IrValue v = sum->counter.start;
  Linear made_of = {.constant = 0};
  *start = (Linear){.constant = 0};
  if (!add_scaled(l, start, v, sum->factor, 0) || !add_terms(start, sum))
    return false;
  if (add_operation(l, &made_of, opt_insn(l->f, v), sum->factor, 0) && add_terms(&made_of, sum) &&
      count_terms(&made_of) < count_terms(start))
    *start = made_of;
  return true;
}

static IrValue put_sum(const Loop *l, IrValue x, IrValue y)
{
  return x.raw ? opt_put_op(l, l->front, IR_add, IRT_I16, x, y) : y;
}

IrValue opt_linear_start(const Loop *l, const Linear *sum)
{
  Linear start;
  IrValue at = IR_NO_VALUE;
  if (!find_start(l, sum, &start)) {           /* too many terms, or a number of 8 bits */
    at = put_scaled(l, sum->counter.start, sum->factor);
    start = *sum;
  }
  for (unsigned i = 0; i < start.n_terms; i++)
    if (opt_low_word(start.terms[i].factor))
      at = put_sum(l, at, put_scaled(l, start.terms[i].value, start.terms[i].factor));
  return put_sum(l, at, opt_put_const(l, l->front, IRT_I16, opt_low_word(start.constant)));
}

IrValue opt_carry(const Loop *l, IrType type, IrValue start, const IrInsn *grow)
{
  IrFuncId func = {(uint32_t)(l->f - l->m->funcs)};
  IrValue param = ir_block_param(l->m, func, (IrBlockId){l->head}, type);
  IrInsn next = *grow;
  next.args = (IrValue[]){param, grow->args[1]};
  opt_append_target_arg(l->m, l->entering, start);
  opt_append_target_arg(l->m, l->around, opt_put(l, l->latch, &next));
  return param;
}
