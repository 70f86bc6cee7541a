/* simplify: constant folding, algebraic identities, cheaper operations, decided branches.
 *
 * Each rule looks at one instruction and gives the value that replaces it (an operand or a new
 * constant), or rewrites it in place, or adds instructions before it. Rules are exact: they do not
 * include float identities that would keep a NaN's payload. */
#include "ir/opt/opt.h"

#include <string.h>

typedef struct {
  Opt *opt;
  IrModule *m;
  IrFunc *f;
  IrValue *map;             /* grows with the function */
  uint32_t cap_map;
  uint32_t block, at;       /* where new instructions go */
  bool changed;             /* an instruction was rewritten in place */
} Simplifier;

/* ---- building blocks --------------------------------------------------------------- */

static IrInsn *insn_of(const Simplifier *s, IrValue v)
{
  return &s->f->insns[v.raw];
}

static IrType type_of(const Simplifier *s, IrValue v)
{
  return insn_of(s, v)->type;
}

static void grow_map(Simplifier *s)
{
  if (s->f->n_insns <= s->cap_map)
    return;
  uint32_t cap = 2 * s->f->n_insns;
  IrValue *grown = arena_many(s->opt->arena, IrValue, cap);
  if (s->cap_map)
    memcpy(grown, s->map, sizeof *grown * s->cap_map);
  s->map = grown;
  s->cap_map = cap;
}

/* Adds an instruction before the one that is being looked at. */
static IrValue emit_insn(Simplifier *s, const IrInsn *insn)
{
  IrValue v = opt_add(s->m, s->f, insn);
  opt_insert(s->m, &s->f->blocks[s->block], s->at++, v);
  grow_map(s);
  return v;
}

static IrValue emit_const(Simplifier *s, IrType type, uint64_t bits, IrLocId loc)
{
  IrInsn insn = opt_make_const(type, bits, loc);
  return emit_insn(s, &insn);
}

static IrValue emit_op(Simplifier *s, IrOp op, IrType type, IrLocId loc, IrValue x, IrValue y)
{
  IrInsn insn = {.op = op, .type = type, .loc = loc, .n_args = y.raw ? 2 : 1,
                 .args = (IrValue[]){x, y}};
  return emit_insn(s, &insn);
}

static bool const_of(const Simplifier *s, IrValue v, uint64_t *bits)
{
  const IrInsn *insn = insn_of(s, v);
  *bits = insn->imm;
  return insn->op == IR_const;
}

static bool is_const(const Simplifier *s, IrValue v, uint64_t bits)
{
  const IrInsn *insn = insn_of(s, v);
  return insn->op == IR_const && insn->imm == bits;
}

/* Turns the instruction into another of one or two operands; its id and type stay. */
static void rewrite_as(Simplifier *s, IrValue v, IrOp op, IrValue x, IrValue y)
{
  IrInsn *insn = insn_of(s, v);
  IrValue *args = arena_many(s->m->arena, IrValue, 2);
  args[0] = x;
  args[1] = y;
  insn->op = op;
  insn->args = args;
  insn->n_args = y.raw ? 2 : 1;
  s->changed = true;
}

static int log2_of(uint64_t n)
{
  int k = 0;
  if (n == 0 || (n & (n - 1)) != 0)
    return -1;
  while (n >>= 1)
    k++;
  return k;
}

/* ---- constants --------------------------------------------------------------------- */

static IrValue fold_insn(Simplifier *s, IrValue v)
{
  const IrInsn *insn = insn_of(s, v);
  uint64_t args[3], result;
  if (!ir_op_is_pure(insn->op) || insn->n_args == 0 || insn->n_args > ARRAY_COUNT(args))
    return IR_NO_VALUE;
  for (uint32_t i = 0; i < insn->n_args; i++)
    if (!const_of(s, insn->args[i], &args[i]))
      return IR_NO_VALUE;
  IrType from = type_of(s, insn->args[0]);
  if (!ir_fold(s->m, insn->op, insn->type, from, args, insn->n_args, &result))
    return IR_NO_VALUE;
  return emit_const(s, insn->type, result, insn->loc);
}

/* A load from initial data that never changes and is the same on all tiles. */
static IrValue load_of_const(Simplifier *s, IrValue v)
{
  const IrInsn *insn = insn_of(s, v);
  Address a = opt_address(s->f, insn->args[0]);
  uint64_t bits;
  if (a.base != BASE_GLOBAL || !a.offset_known)
    return IR_NO_VALUE;
  if (ir_type_is_dsd(insn->type)) {
    IrInsn constant = {.op = IR_dsd_const, .type = insn->type, .loc = insn->loc};
    constant.u.desc = opt_constant_descriptor(s->m, a.object, a.offset);
    return constant.u.desc ? emit_insn(s, &constant) : IR_NO_VALUE;
  }
  if (!ir_type_bits(insn->type) ||
      !opt_constant_data(s->m, a.object, a.offset, ir_type_bytes(insn->type), &bits))
    return IR_NO_VALUE;
  return emit_const(s, insn->type, bits, insn->loc);
}

/* ---- integers ---------------------------------------------------------------------- */

/* (x op c) op d is x op (c op d) for operations that wrap and associate. */
static void reassociate_constants(Simplifier *s, IrValue v)
{
  const IrInsn *insn = insn_of(s, v), *inner = insn_of(s, insn->args[0]);
  uint64_t c, d, sum;
  bool associates = insn->op == IR_add || insn->op == IR_mul || insn->op == IR_and ||
                    insn->op == IR_or || insn->op == IR_xor;
  if (!associates || inner->op != insn->op || !const_of(s, insn->args[1], &d) ||
      !const_of(s, inner->args[1], &c))
    return;
  uint64_t args[2] = {c, d};
  IrOp op = insn->op;
  IrValue x = inner->args[0];
  if (ir_fold(s->m, op, insn->type, insn->type, args, 2, &sum))
    rewrite_as(s, v, op, x, emit_const(s, insn->type, sum, insn->loc));
}

/* Signed division by 2^k truncates: add 2^k - 1 to negative dividends before shifting. */
static IrValue bias_negative(Simplifier *s, IrValue x, int k, IrLocId loc)
{
  IrType t = type_of(s, x);
  unsigned width = ir_type_bits(t);
  IrValue all = emit_const(s, IRT_I16, width - 1, loc);
  IrValue sign = emit_op(s, IR_ashr, t, loc, x, all);
  IrValue rest = emit_const(s, IRT_I16, width - (unsigned)k, loc);
  return emit_op(s, IR_lshr, t, loc, sign, rest);
}

static IrValue signed_by_power(Simplifier *s, IrValue v, int k)
{
  IrInsn insn = *insn_of(s, v);
  IrValue x = insn.args[0];
  IrValue bias = bias_negative(s, x, k, insn.loc);
  IrValue sum = emit_op(s, IR_add, insn.type, insn.loc, x, bias);
  if (insn.op == IR_sdiv) {
    rewrite_as(s, v, IR_ashr, sum, emit_const(s, IRT_I16, (uint64_t)k, insn.loc));
    return IR_NO_VALUE;
  }
  IrValue mask = emit_const(s, insn.type, (UINT64_C(1) << k) - 1, insn.loc);
  IrValue low = emit_op(s, IR_and, insn.type, insn.loc, sum, mask);
  rewrite_as(s, v, IR_sub, low, bias);
  return IR_NO_VALUE;
}

/* x / c as the high half of x * m, shifted: m = 2^(16 + shift) / c rounded up, for the least shift
 * for which the error stays below one for all x.  False if m needs more than 16 bits. */
static bool reciprocal_of(uint64_t c, unsigned x_bits, uint64_t *m, unsigned *shift)
{
  for (*shift = 0; *shift < 16; ++*shift) {
    uint64_t power = UINT64_C(1) << (16 + *shift);
    *m = (power + c - 1) / c;
    if (*m > UINT16_MAX)
      return false;
    /* x * m / power exceeds x / c by less than 1 / c for x below 2^x_bits. */
    if ((*m * c - power) << x_bits <= power)
      return true;
  }
  return false;
}

/* Division of 16-bit numbers by a constant costs a product of 32 bits instead of a division. */
static IrValue divide_by_product(Simplifier *s, IrValue v, uint64_t c)
{
  const IrInsn insn = *insn_of(s, v);
  bool is_rem = insn.op == IR_srem || insn.op == IR_urem;
  bool is_signed = insn.op == IR_sdiv || insn.op == IR_srem;
  bool is_negative = is_signed && opt_signed16(c) < 0;
  uint64_t m, positive = is_negative ? 0x10000 - c : c;
  unsigned shift;
  IrLocId loc = insn.loc;
  IrValue x = insn.args[0];
  /* Rounded up, the product's excess makes negative quotients come out right after adding 1; an
   * exact reciprocal would have none. */
  if (log2_of(positive) >= 0 ||
      !reciprocal_of(positive, is_signed ? 15 : 16, &m, &shift))
    return IR_NO_VALUE;
  IrValue wide = emit_op(s, is_signed ? IR_sext : IR_zext, IRT_I32, loc, x, IR_NO_VALUE);
  IrValue product = emit_op(s, IR_mul, IRT_I32, loc, wide, emit_const(s, IRT_I32, m, loc));
  IrValue high = emit_op(s, is_signed ? IR_ashr : IR_lshr, IRT_I32, loc, product,
                         emit_const(s, IRT_I16, 16 + shift, loc));
  IrValue q = emit_op(s, IR_trunc, IRT_I16, loc, high, IR_NO_VALUE);
  if (is_signed) {
    IrValue sign = emit_op(s, IR_ashr, IRT_I16, loc, x, emit_const(s, IRT_I16, 15, loc));
    q = is_negative ? emit_op(s, IR_sub, IRT_I16, loc, sign, q)
                    : emit_op(s, IR_sub, IRT_I16, loc, q, sign);
  }
  if (!is_rem)
    return q;
  IrValue whole = emit_op(s, IR_mul, IRT_I16, loc, q, emit_const(s, IRT_I16, c, loc));
  rewrite_as(s, v, IR_sub, x, whole);
  return IR_NO_VALUE;
}

/* On wse2 the vendor's compiler divides unless the constant is a power of two (docs/codegen.md).
 * At the best level a division that a loop does not change leaves it first, whole: of the
 * operations in its place some would stay. */
static bool divides_by_product(const Simplifier *s)
{
  enum { BEST_LEVEL = 2 };
  return s->opt->level >= BEST_LEVEL ? s->opt->invariants_are_out : s->m->arch != ARCH_WSE2;
}

static IrValue divide_by_const(Simplifier *s, IrValue v, uint64_t c)
{
  const IrInsn insn = *insn_of(s, v);
  bool is_rem = insn.op == IR_srem || insn.op == IR_urem;
  bool is_signed = insn.op == IR_sdiv || insn.op == IR_srem;
  int k = log2_of(c);
  if (c == 0)
    return is_rem ? insn.args[0] : emit_const(s, insn.type, 0, insn.loc);
  if (c == 1)
    return is_rem ? emit_const(s, insn.type, 0, insn.loc) : insn.args[0];
  if (is_signed && c == opt_mask(insn.type)) {
    if (is_rem)
      return emit_const(s, insn.type, 0, insn.loc);
    rewrite_as(s, v, IR_sub, emit_const(s, insn.type, 0, insn.loc), insn.args[0]);
    return IR_NO_VALUE;
  }
  if (k < 0 && insn.type == IRT_I16 && divides_by_product(s))
    return divide_by_product(s, v, c);
  if (k < 0 || (is_signed && k == (int)ir_type_bits(insn.type) - 1))
    return IR_NO_VALUE;
  if (is_signed)
    return signed_by_power(s, v, k);
  if (is_rem)
    rewrite_as(s, v, IR_and, insn.args[0], emit_const(s, insn.type, c - 1, insn.loc));
  else
    rewrite_as(s, v, IR_lshr, insn.args[0], emit_const(s, IRT_I16, (uint64_t)k, insn.loc));
  return IR_NO_VALUE;
}

static IrValue with_const(Simplifier *s, IrValue v, uint64_t c)
{
  const IrInsn insn = *insn_of(s, v);
  uint64_t ones = opt_mask(insn.type);
  IrValue x = insn.args[0];
  switch ((int)insn.op) {
  case IR_add: return c == 0 ? x : IR_NO_VALUE;
  case IR_sub:
    if (c == 0)
      return x;
    rewrite_as(s, v, IR_add, x, emit_const(s, insn.type, 0 - c, insn.loc));
    return IR_NO_VALUE;
  case IR_mul:
    if (c <= 1)
      return c ? x : insn.args[1];
    if (log2_of(c) > 0)
      rewrite_as(s, v, IR_shl, x, emit_const(s, IRT_I16, (uint64_t)log2_of(c), insn.loc));
    return IR_NO_VALUE;
  case IR_sdiv:
  case IR_udiv:
  case IR_srem:
  case IR_urem: return divide_by_const(s, v, c);
  case IR_and:
    return c == 0 ? insn.args[1] : c == ones ? x : IR_NO_VALUE;
  case IR_or: return c == 0 ? x : c == ones ? insn.args[1] : IR_NO_VALUE;
  case IR_xor: return c == 0 ? x : IR_NO_VALUE;
  default: return IR_NO_VALUE;
  }
}

static IrValue with_itself(Simplifier *s, const IrInsn *insn)
{
  switch ((int)insn->op) {
  case IR_sub:
  case IR_xor: return emit_const(s, insn->type, 0, insn->loc);
  case IR_and:
  case IR_or: return insn->args[0];
  default: return IR_NO_VALUE;
  }
}

/* A comparison whose negation is one too: what `op` becomes, and whether operands change place.
 * Floats have none, because of NaN. */
static bool negation_of(IrOp op, IrOp *opposite, bool *swap)
{
  static const struct { IrOp op, opposite; bool swap; } rows[] = {
    {IR_eq, IR_ne, false}, {IR_ne, IR_eq, false}, {IR_slt, IR_sle, true},
    {IR_sle, IR_slt, true}, {IR_ult, IR_ule, true}, {IR_ule, IR_ult, true}};
  for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
    if (rows[i].op == op) {
      *opposite = rows[i].opposite;
      *swap = rows[i].swap;
      return true;
    }
  return false;
}

/* x ^ true of a bool: the opposite comparison, or the x of another negation. */
static IrValue negate_bool(Simplifier *s, IrValue v)
{
  const IrInsn *insn = insn_of(s, v), *inner = insn_of(s, insn->args[0]);
  IrOp op;
  bool swap;
  if (insn->type != IRT_BOOL || !is_const(s, insn->args[1], 1))
    return IR_NO_VALUE;
  if (inner->op == IR_xor && is_const(s, inner->args[1], 1))
    return inner->args[0];
  if (negation_of(inner->op, &op, &swap))
    rewrite_as(s, v, op, inner->args[swap], inner->args[!swap]);
  return IR_NO_VALUE;
}

static IrValue simplify_integer(Simplifier *s, IrValue v)
{
  const IrInsn *insn = insn_of(s, v);
  uint64_t c;
  IrValue result = IR_NO_VALUE;
  if (ir_value_eq(insn->args[0], insn->args[1]))
    result = with_itself(s, insn);
  else if (const_of(s, insn->args[1], &c))
    result = with_const(s, v, c);
  if (result.raw || s->changed)
    return result;
  if (insn->op == IR_xor)
    result = negate_bool(s, v);
  if (!result.raw && !s->changed)
    reassociate_constants(s, v);
  return result;
}

/* (x << c) << d is x << (c + d), for each direction. */
static IrValue simplify_shift(Simplifier *s, IrValue v)
{
  const IrInsn insn = *insn_of(s, v);
  const IrInsn *inner = insn_of(s, insn.args[0]);
  unsigned width = ir_type_bits(insn.type);
  uint64_t c, d;
  if (is_const(s, insn.args[0], 0))
    return insn.args[0];
  if (!const_of(s, insn.args[1], &d))
    return IR_NO_VALUE;
  if (d == 0)
    return insn.args[0];
  bool is_empty = insn.op == IR_lshr && inner->op == IR_zext &&
                  d >= ir_type_bits(type_of(s, inner->args[0]));
  if ((d >= width && insn.op != IR_ashr) || is_empty)
    return emit_const(s, insn.type, 0, insn.loc);
  if (d >= width) {
    rewrite_as(s, v, IR_ashr, insn.args[0], emit_const(s, IRT_I16, width - 1, insn.loc));
    return IR_NO_VALUE;
  }
  if (inner->op == insn.op && const_of(s, inner->args[1], &c)) {
    IrValue x = inner->args[0];
    rewrite_as(s, v, insn.op, x, emit_const(s, IRT_I16, c >= width ? width : c + d, insn.loc));
  }
  return IR_NO_VALUE;
}

/* ---- comparisons ------------------------------------------------------------------- */

static IrValue compare_bool(Simplifier *s, IrValue v)
{
  const IrInsn *insn = insn_of(s, v);
  IrValue x = insn->args[0];
  uint64_t c;
  if (type_of(s, x) != IRT_BOOL || !const_of(s, insn->args[1], &c))
    return IR_NO_VALUE;
  if (c == (insn->op == IR_eq))
    return x;
  rewrite_as(s, v, IR_xor, x, emit_const(s, IRT_BOOL, 1, insn->loc));
  return IR_NO_VALUE;
}

/* zext(x) == c compares x, if c is a number that x can have. */
static void compare_narrow(Simplifier *s, IrValue v)
{
  const IrInsn *insn = insn_of(s, v), *inner = insn_of(s, insn->args[0]);
  uint64_t c;
  if (inner->op != IR_zext || !const_of(s, insn->args[1], &c))
    return;
  IrValue x = inner->args[0];
  IrType narrow = type_of(s, x);
  IrOp op = insn->op;
  if (c <= opt_mask(narrow))
    rewrite_as(s, v, op, x, emit_const(s, narrow, c, insn->loc));
}

/* An unsigned number of several words that is above 0 differs from 0, and one below 1 is 0: the
 * words together answer that.  Words have instructions for every order. */
static void compare_with_zero(Simplifier *s, IrValue v)
{
  const IrInsn *insn = insn_of(s, v);
  IrValue x = insn->args[0], y = insn->args[1];
  bool zero_left = is_const(s, x, 0), zero_right = is_const(s, y, 0);
  if (ir_type_bits(type_of(s, x)) <= ir_type_bits(IRT_I16))
    return;
  if ((insn->op == IR_ult && zero_left) || (insn->op == IR_ule && is_const(s, x, 1)))
    rewrite_as(s, v, IR_ne, y, zero_left ? x : emit_const(s, type_of(s, y), 0, insn->loc));
  else if ((insn->op == IR_ule && zero_right) || (insn->op == IR_ult && is_const(s, y, 1)))
    rewrite_as(s, v, IR_eq, x, zero_right ? y : emit_const(s, type_of(s, x), 0, insn->loc));
}

static IrValue simplify_compare(Simplifier *s, IrValue v)
{
  const IrInsn *insn = insn_of(s, v);
  bool equality = insn->op == IR_eq || insn->op == IR_ne;
  IrValue x = insn->args[0], y = insn->args[1];
  if (ir_value_eq(x, y)) {
    bool holds = insn->op == IR_eq || insn->op == IR_sle || insn->op == IR_ule;
    return emit_const(s, IRT_BOOL, holds, insn->loc);
  }
  if (insn->op == IR_ult && is_const(s, y, 0))
    return emit_const(s, IRT_BOOL, 0, insn->loc);
  if (insn->op == IR_ule && is_const(s, x, 0))
    return emit_const(s, IRT_BOOL, 1, insn->loc);
  if (!equality) {
    compare_with_zero(s, v);
    return IR_NO_VALUE;
  }
  IrValue result = compare_bool(s, v);
  if (!result.raw && !s->changed)
    compare_narrow(s, v);
  return result;
}

static IrValue simplify_select(Simplifier *s, IrValue v)
{
  const IrInsn *insn = insn_of(s, v);
  IrValue c = insn->args[0], x = insn->args[1], y = insn->args[2];
  uint64_t bit;
  if (const_of(s, c, &bit))
    return bit ? x : y;
  if (ir_value_eq(x, y))
    return x;
  if (insn->type == IRT_BOOL && is_const(s, x, 1) && is_const(s, y, 0))
    return c;
  if (insn->type == IRT_BOOL && is_const(s, x, 0) && is_const(s, y, 1))
    rewrite_as(s, v, IR_xor, c, y);
  return IR_NO_VALUE;
}

/* ---- conversions ------------------------------------------------------------------- */

static bool is_extension(IrOp op)
{
  return op == IR_sext || op == IR_zext;
}

/* trunc of an extension: the source, or one step from it. */
static IrValue trunc_of_extension(Simplifier *s, IrValue v, const IrInsn *inner)
{
  IrValue x = inner->args[0];
  unsigned want = ir_type_bits(type_of(s, v)), have = ir_type_bits(type_of(s, x));
  if (want == have)
    return x;
  rewrite_as(s, v, want < have ? IR_trunc : inner->op, x, IR_NO_VALUE);
  return IR_NO_VALUE;
}

/* Does narrowing this operand cost nothing? */
static bool is_free_to_narrow(const Simplifier *s, IrValue v, IrType to)
{
  const IrInsn *insn = insn_of(s, v);
  if (insn->op == IR_const)
    return true;
  return is_extension(insn->op) && type_of(s, insn->args[0]) != IRT_BOOL &&
         ir_type_bits(type_of(s, insn->args[0])) <= ir_type_bits(to);
}

/* A mask that keeps all of the low bits does nothing to them. */
static bool trunc_of_mask(Simplifier *s, IrValue v, const IrInsn *inner)
{
  uint64_t c, low = opt_mask(type_of(s, v));
  if (inner->op != IR_and || !const_of(s, inner->args[1], &c) ||
      (c & low) != low)
    return false;
  rewrite_as(s, v, IR_trunc, inner->args[0], IR_NO_VALUE);
  return true;
}

/* Low bits of a left shift too. */
static bool trunc_of_shift(Simplifier *s, IrValue v, const IrInsn *inner)
{
  IrType to = type_of(s, v);
  IrLocId loc = insn_of(s, v)->loc;
  if (inner->op != IR_shl || !opt_is_const(s->f, inner->args[1]))
    return false;
  IrValue amount = inner->args[1];
  IrValue x = emit_op(s, IR_trunc, to, loc, inner->args[0], IR_NO_VALUE);
  rewrite_as(s, v, IR_shl, x, amount);
  return true;
}

/* Low bits of sums and products need the operands' low bits only. */
static void trunc_of_arithmetic(Simplifier *s, IrValue v, const IrInsn *inner)
{
  bool low_bits = inner->op == IR_add || inner->op == IR_sub || inner->op == IR_mul ||
                  inner->op == IR_and || inner->op == IR_or || inner->op == IR_xor;
  IrType to = type_of(s, v);
  IrOp op = inner->op;
  IrLocId loc = insn_of(s, v)->loc;
  if (!low_bits || !is_free_to_narrow(s, inner->args[0], to) ||
      !is_free_to_narrow(s, inner->args[1], to))
    return;
  IrValue args[2] = {inner->args[0], inner->args[1]};
  IrValue x = emit_op(s, IR_trunc, to, loc, args[0], IR_NO_VALUE);
  IrValue y = emit_op(s, IR_trunc, to, loc, args[1], IR_NO_VALUE);
  rewrite_as(s, v, op, x, y);
}

static IrValue simplify_conversion(Simplifier *s, IrValue v)
{
  const IrInsn *insn = insn_of(s, v), *inner = insn_of(s, insn->args[0]);
  switch ((int)insn->op) {
  case IR_trunc:
    if (inner->op == IR_trunc)
      rewrite_as(s, v, IR_trunc, inner->args[0], IR_NO_VALUE);
    else if (is_extension(inner->op) && type_of(s, inner->args[0]) != IRT_BOOL)
      return trunc_of_extension(s, v, inner);
    else if (!trunc_of_mask(s, v, inner) && !trunc_of_shift(s, v, inner))
      trunc_of_arithmetic(s, v, inner);
    return IR_NO_VALUE;
  case IR_sext:
  case IR_zext:
    /* An unsigned number's sign bit is 0 in the wider type. */
    if (inner->op == IR_zext || (insn->op == IR_sext && inner->op == IR_sext))
      rewrite_as(s, v, inner->op, inner->args[0], IR_NO_VALUE);
    return IR_NO_VALUE;
  case IR_bitcast:
    if (insn->type == inner->type)
      return insn->args[0];
    if (inner->op == IR_bitcast)
      rewrite_as(s, v, IR_bitcast, inner->args[0], IR_NO_VALUE);
    return IR_NO_VALUE;
  default: return IR_NO_VALUE;
  }
}

/* ---- addresses, floats ------------------------------------------------------------- */

static IrValue simplify_ptr_add(Simplifier *s, IrValue v)
{
  const IrInsn *insn = insn_of(s, v);
  const IrInsn base = *insn_of(s, insn->args[0]);
  IrLocId loc = insn->loc;
  uint64_t c, inner;
  if (!const_of(s, insn->args[1], &c))
    return IR_NO_VALUE;
  if (c == 0)
    return insn->args[0];
  if (base.op == IR_global_addr) {
    IrInsn sum = base;
    sum.imm = (uint64_t)((int64_t)base.imm + opt_signed16(c));
    sum.loc = loc;
    return emit_insn(s, &sum);
  }
  if (base.op == IR_ptr_add && const_of(s, base.args[1], &inner))
    rewrite_as(s, v, IR_ptr_add, base.args[0], emit_const(s, IRT_I16, c + inner, loc));
  return IR_NO_VALUE;
}

/* x / c is x * (1 / c), bit for bit, if c is a power of two whose reciprocal has a float. */
static void divide_by_float(Simplifier *s, IrValue v)
{
  const IrInsn *insn = insn_of(s, v);
  IrType type = insn->type;
  IrValue x = insn->args[0];
  uint64_t c, r, one = type == IRT_F32 ? fp32_from_double(1) : fp16_from_double(s->m->fp16, 1);
  if (!const_of(s, insn->args[1], &c))
    return;
  if (!ir_fold(s->m, IR_fdiv, type, type, (uint64_t[]){one, c}, 2, &r))
    return;
  double d = type == IRT_F32 ? fp32_to_double((uint32_t)c)
                             : fp16_to_double(s->m->fp16, (uint16_t)c);
  double reciprocal = type == IRT_F32 ? fp32_to_double((uint32_t)r)
                                      : fp16_to_double(s->m->fp16, (uint16_t)r);
  bool is_exact = d * reciprocal == 1.0;   /* exact in a double */
  if (is_exact)
    rewrite_as(s, v, IR_fmul, x, emit_const(s, type, r, insn->loc));
}

static IrValue simplify_fneg(Simplifier *s, IrValue v)
{
  const IrInsn *inner = insn_of(s, insn_of(s, v)->args[0]);
  return inner->op == IR_fneg ? inner->args[0] : IR_NO_VALUE;
}

/* ---- descriptors ------------------------------------------------------------------- */

static bool set_const_field(Simplifier *s, IrDesc *d, DsrField field, IrValue v)
{
  const IrInsn *value = insn_of(s, v);
  bool is_memory = d->desc.kind == DESC_MEM1D;
  bool has_length = is_memory || d->desc.kind == DESC_FABIN || d->desc.kind == DESC_FABOUT;
  if (field == DSRF_BASE && is_memory && value->op == IR_global_addr) {
    d->global = value->u.global;
    d->desc.base = (uint16_t)value->imm;
    return true;
  }
  if (value->op != IR_const)
    return false;
  if (field == DSRF_LENGTH && has_length) {
    d->desc.length = (uint16_t)value->imm;
    return true;
  }
  if (field == DSRF_STRIDE && is_memory) {
    d->desc.stride = (int16_t)opt_signed16(value->imm);
    return true;
  }
  if (field == DSRF_BASE_ADD && is_memory) {
    d->desc.base = (uint16_t)(d->desc.base + value->imm);
    return true;
  }
  return false;
}

/* A base that is set and then moved by a constant is set where it ends.  So the turns of a loop
 * that became straight code do not form a chain. */
static IrValue merge_base(Simplifier *s, const IrInsn *insn, const IrInsn *from)
{
  if (insn->field != DSRF_BASE_ADD || from->op != IR_dsd_set || from->field != DSRF_BASE ||
      insn_of(s, insn->args[1])->op != IR_const)
    return IR_NO_VALUE;
  IrValue operands[] = {from->args[1], insn->args[1]};
  IrInsn sum = {.op = IR_ptr_add, .type = IRT_PTR, .n_args = 2, .args = operands,
                .loc = insn->loc};
  IrInsn set = {.op = IR_dsd_set, .type = insn->type, .field = DSRF_BASE, .n_args = 2,
                .loc = insn->loc};
  set.args = (IrValue[]){from->args[0], emit_insn(s, &sum)};
  return emit_insn(s, &set);
}

/* A constant descriptor with a constant field set is another constant.  Both from -O2 on: before,
 * descriptor updates stay as the source has them (their cycles are part of the comparison with
 * the vendor's machine). */
static IrValue simplify_dsd_set(Simplifier *s, IrValue v)
{
  const IrInsn *insn = insn_of(s, v), *from = insn_of(s, insn->args[0]);
  if (s->opt->level < 2)
    return IR_NO_VALUE;
  if (from->op != IR_dsd_const)
    return merge_base(s, insn, from);
  IrDesc *desc = arena_new(s->m->arena, IrDesc);
  *desc = *from->u.desc;
  if (!set_const_field(s, desc, (DsrField)insn->field, insn->args[1]))
    return IR_NO_VALUE;
  IrInsn constant = {.op = IR_dsd_const, .type = insn->type, .loc = insn->loc};
  constant.u.desc = desc;
  return emit_insn(s, &constant);
}

static IrValue simplify_dsd_get(Simplifier *s, IrValue v)
{
  const IrInsn *insn = insn_of(s, v), *from = insn_of(s, insn->args[0]);
  bool is_plain = insn->field == DSRF_LENGTH || insn->field == DSRF_STRIDE;
  if (!is_plain)
    return IR_NO_VALUE;
  if (from->op == IR_dsd_set && from->field == insn->field)
    return from->args[1];
  if (from->op != IR_dsd_const || from->u.desc->desc.kind != DESC_MEM1D)
    return IR_NO_VALUE;
  const Descriptor *d = &from->u.desc->desc;
  return emit_const(s, IRT_I16, insn->field == DSRF_LENGTH ? d->length : (uint16_t)d->stride,
                    insn->loc);
}

/* ---- branches ---------------------------------------------------------------------- */

static bool same_target(const IrTarget *a, const IrTarget *b)
{
  if (!ir_block_eq(a->block, b->block))
    return false;
  for (uint32_t i = 0; i < a->n_args; i++)
    if (!ir_value_eq(a->args[i], b->args[i]))
      return false;
  return true;
}

static void simplify_branch(Simplifier *s, IrValue v)
{
  IrInsn *insn = insn_of(s, v), *cond = insn_of(s, insn->args[0]);
  uint64_t bit;
  if (const_of(s, insn->args[0], &bit)) {
    opt_make_br(s->m, insn, bit ? 0 : 1);
    s->changed = true;
  } else if (same_target(&insn->u.targets[0], &insn->u.targets[1])) {
    opt_make_br(s->m, insn, 0);
    s->changed = true;
  } else if (cond->op == IR_xor && is_const(s, cond->args[1], 1)) {
    IrTarget yes = insn->u.targets[0];
    insn->u.targets[0] = insn->u.targets[1];
    insn->u.targets[1] = yes;
    insn->args[0] = cond->args[0];
    s->changed = true;
  }
}

/* ---- the pass ---------------------------------------------------------------------- */

/* Constants stand on the right of operations that commute. */
static void order_operands(Simplifier *s, IrInsn *insn)
{
  if (!(ir_ops[insn->op].effects & IRE_COMMUTES) || !opt_is_const(s->f, insn->args[0]) ||
      opt_is_const(s->f, insn->args[1]))
    return;
  IrValue x = insn->args[0];
  insn->args[0] = insn->args[1];
  insn->args[1] = x;
}

static IrValue simplify_insn(Simplifier *s, IrValue v)
{
  IrInsn *insn = insn_of(s, v);
  if (insn->n_args == 2)
    order_operands(s, insn);
  IrValue folded = fold_insn(s, v);
  if (folded.raw)
    return folded;
  insn = insn_of(s, v);
  switch ((int)ir_ops[insn->op].operand_rule) {
  case IROPND_INT2: return simplify_integer(s, v);
  case IROPND_SHIFT: return simplify_shift(s, v);
  case IROPND_EQUAL:
  case IROPND_ORDER: return simplify_compare(s, v);
  case IROPND_SELECT: return simplify_select(s, v);
  case IROPND_TRUNC:
  case IROPND_EXTEND:
  case IROPND_ZEXTEND:
  case IROPND_BITCAST: return simplify_conversion(s, v);
  case IROPND_PTR_I16: return simplify_ptr_add(s, v);
  case IROPND_FLOAT2:
    if (insn->op == IR_fdiv)
      divide_by_float(s, v);
    return IR_NO_VALUE;
  case IROPND_FLOAT1S: return simplify_fneg(s, v);
  case IROPND_DSD_SET: return simplify_dsd_set(s, v);
  case IROPND_DSD1: return insn->op == IR_dsd_get ? simplify_dsd_get(s, v) : IR_NO_VALUE;
  case IROPND_PTR1: return insn->op == IR_load ? load_of_const(s, v) : IR_NO_VALUE;
  case IROPND_COND_BR: simplify_branch(s, v); return IR_NO_VALUE;
  default: return IR_NO_VALUE;
  }
}

static bool simplify_block(Simplifier *s, uint32_t block)
{
  bool changed = false;
  s->block = block;
  for (s->at = 0; s->at < s->f->blocks[block].n_insns; s->at++) {
    IrValue v = s->f->blocks[block].insns[s->at];
    if (insn_of(s, v)->dead)
      continue;
    opt_each_operand(insn_of(s, v), opt_resolve_operand, s->map);
    do {
      s->changed = false;
      IrValue with = simplify_insn(s, v);
      changed |= s->changed || with.raw;
      if (with.raw) {
        s->map[v.raw] = with;
        insn_of(s, v)->dead = true;
        break;
      }
    } while (s->changed);
  }
  return changed;
}

static bool simplify_function(Opt *opt, IrFunc *f)
{
  Simplifier s = {.opt = opt, .m = opt->m, .f = f};
  Cfg cfg;
  bool changed = false;
  cfg_reach(&cfg, f, opt->arena);
  grow_map(&s);
  for (uint32_t i = 0; i < cfg.n_rpo; i++)
    changed |= simplify_block(&s, cfg.rpo[i]);
  if (!changed)
    return opt_drop_unreachable(f, &cfg);
  opt_replace_values(f, s.map);
  opt_sweep(f);
  opt_find_unreachable(f, opt->arena);
  return true;
}

/* New instructions are looked at in the next round; few rules need more than two. */
bool pass_simplify(Opt *opt, IrFunc *f)
{
  enum { MOST_ROUNDS = 4 };
  bool changed = false, again = true;
  for (unsigned round = 0; again && round < MOST_ROUNDS; round++) {
    again = simplify_function(opt, f);
    changed |= again;
  }
  return changed;
}
