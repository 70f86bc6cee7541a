/* Integers of more than 64 bits in code.  They live in memory like structs, as whole words with the
 * lowest first, and are computed in limbs of 32 bits, each held in 64 so that carries show. */
#include "frontend/sema/sema_internal.h"

#include <string.h>

enum { LIMB_BITS = 32, LIMBS_MAX = TYPE_WIDE_MAX_BITS / LIMB_BITS };
_Static_assert(LIMB_BITS * 2 == TYPE_SCALAR_MAX_BITS, "a product of limbs shows whole");

typedef struct { uint32_t n; IrValue at[LIMBS_MAX]; } Limbs;

static IrValue limb_const(Sema *s, uint64_t v) { return ir_const(&s->b, IRT_I64, v); }
static IrValue limb_mask(Sema *s) { return limb_const(s, UINT32_MAX); }

static IrValue limb_op(Sema *s, IrOp op, IrValue a, IrValue b)
{
  return ir_binary(&s->b, op, IRT_I64, a, b);
}

static IrValue limb_shift(Sema *s, IrOp op, IrValue a, uint32_t by)
{
  return by == 0 ? a : limb_op(s, op, a, ir_const(&s->b, IRT_I16, by));
}

static IrValue low_limb(Sema *s, IrValue v) { return limb_op(s, IR_and, v, limb_mask(s)); }

static bool is_signed(Sema *s, PoolId type)
{
  return pool_key(s->pool, type).u.int_type.is_signed;
}

static uint32_t limbs_of(Sema *s, PoolId type)
{
  return (type_bits(s->pool, type) + LIMB_BITS - 1) / LIMB_BITS;
}

/* ---- between memory and limbs --------------------------------------------------------------- */

/* 32 ones or zeros, as the sign of the limb says. */
static IrValue sign_of(Sema *s, IrValue limb)
{
  IrValue sign = limb_shift(s, IR_lshr, limb, LIMB_BITS - 1);
  return low_limb(s, limb_op(s, IR_sub, limb_const(s, 0), sign));
}

static void limbs_extend(Sema *s, Limbs *l, uint32_t n, bool with_sign)
{
  IrValue fill = with_sign ? sign_of(s, l->at[l->n - 1]) : limb_const(s, 0);
  while (l->n < n)
    l->at[l->n++] = fill;
}

static Limbs known_limbs(Sema *s, PoolId value, uint32_t n)
{
  Limbs l = {.n = n};
  mpz_t big, limb;
  mpz_init(big);
  mpz_init(limb);
  pool_mpz(s->pool, value, big);
  for (uint32_t i = 0; i < n; i++) {
    mpz_fdiv_r_2exp(limb, big, LIMB_BITS);
    mpz_fdiv_q_2exp(big, big, LIMB_BITS);
    l.at[i] = limb_const(s, wide_low_bits(limb));
  }
  mpz_clear(big);
  mpz_clear(limb);
  return l;
}

static Limbs place_limbs(Sema *s, Operand o)
{
  Limbs l = {.n = limbs_of(s, o.type)};
  uint32_t bytes = type_bytes(s->pool, o.type);
  IrValue address = sema_address(s, o);
  for (uint32_t i = 0; i < l.n; i++) {
    bool is_half = (i + 1) * (LIMB_BITS / 8) > bytes;
    IrType type = is_half ? IRT_I16 : IRT_I32;
    IrValue v = ir_load(&s->b, type, operand_offset(s, address, (int64_t)i * (LIMB_BITS / 8)));
    if (is_half && is_signed(s, o.type))
      v = low_limb(s, ir_unary(&s->b, IR_sext, IRT_I64, v));
    else
      v = ir_unary(&s->b, IR_zext, IRT_I64, v);
    l.at[i] = v;
  }
  return l;
}

/* Any integer as n limbs, fewer than it has or more. */
static Limbs limbs_as(Sema *s, Operand o, uint32_t n)
{
  if (o.kind == OPR_COMPTIME)
    return known_limbs(s, sema_force(s, o.value, o.span), n);
  Limbs l;
  if (type_is_wide(s->pool, o.type)) {
    l = place_limbs(s, o);
  } else {
    IrValue v = emit_convert(s, sema_ir(s, o), o.type,
                             pool_int_type(s->pool, is_signed(s, o.type), TYPE_SCALAR_MAX_BITS));
    l = (Limbs){.n = 2, .at = {low_limb(s, v), limb_shift(s, IR_lshr, v, LIMB_BITS)}};
  }
  if (l.n < n)
    limbs_extend(s, &l, n, is_signed(s, o.type));
  l.n = n;
  return l;
}

static Limbs limbs_load(Sema *s, Operand o) { return limbs_as(s, o, limbs_of(s, o.type)); }

/* A new object with the low bits of the limbs. */
static Operand limbs_store(Sema *s, PoolId type, Limbs l)
{
  uint32_t bits = type_bits(s->pool, type), bytes = type_bytes(s->pool, type);
  uint32_t spare = l.n * LIMB_BITS - bits;
  IrValue *top = &l.at[l.n - 1];
  if (spare > 0 && is_signed(s, type))
    *top =
        limb_shift(s, IR_ashr, limb_shift(s, IR_shl, *top, LIMB_BITS + spare), LIMB_BITS + spare);
  else if (spare > 0)
    *top = limb_op(s, IR_and, *top, limb_const(s, UINT32_MAX >> spare));
  Operand out = sema_temp(s, type);
  for (uint32_t i = 0; i < l.n; i++) {
    IrType part = (i + 1) * (LIMB_BITS / 8) > bytes ? IRT_I16 : IRT_I32;
    IrValue at = operand_offset(s, out.ir, (int64_t)i * (LIMB_BITS / 8));
    ir_store(&s->b, at, ir_unary(&s->b, IR_trunc, part, l.at[i]));
  }
  return out;
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

static Limbs limbs_add(Sema *s, Limbs a, Limbs b)
{
  IrValue carry = limb_const(s, 0);
  for (uint32_t i = 0; i < a.n; i++) {
    IrValue t = limb_op(s, IR_add, limb_op(s, IR_add, a.at[i], b.at[i]), carry);
    a.at[i] = low_limb(s, t);
    carry = limb_shift(s, IR_lshr, t, LIMB_BITS);
  }
  return a;
}

/* `borrow`: 1 if a is below b, both without sign. */
static Limbs limbs_subtract(Sema *s, Limbs a, Limbs b, IrValue *borrow)
{
  *borrow = limb_const(s, 0);
  for (uint32_t i = 0; i < a.n; i++) {
    IrValue t = limb_op(s, IR_sub, limb_op(s, IR_sub, a.at[i], b.at[i]), *borrow);
    a.at[i] = low_limb(s, t);
    *borrow = limb_shift(s, IR_lshr, t, TYPE_SCALAR_MAX_BITS - 1);
  }
  return a;
}

static Limbs limbs_zero(Sema *s, uint32_t n)
{
  Limbs l = {.n = n};
  for (uint32_t i = 0; i < n; i++)
    l.at[i] = limb_const(s, 0);
  return l;
}

static Limbs limbs_negate(Sema *s, Limbs a)
{
  IrValue borrow;
  return limbs_subtract(s, limbs_zero(s, a.n), a, &borrow);
}

static Limbs limbs_multiply(Sema *s, Limbs a, Limbs b)
{
  Limbs out = limbs_zero(s, a.n);
  for (uint32_t i = 0; i < a.n; i++) {
    IrValue carry = limb_const(s, 0);
    for (uint32_t k = 0; i + k < a.n; k++) {
      IrValue t = limb_op(s, IR_add, limb_op(s, IR_mul, a.at[i], b.at[k]), out.at[i + k]);
      t = limb_op(s, IR_add, t, carry);
      out.at[i + k] = low_limb(s, t);
      carry = limb_shift(s, IR_lshr, t, LIMB_BITS);
    }
  }
  return out;
}

static Limbs limbs_bitwise(Sema *s, IrOp op, Limbs a, Limbs b)
{
  for (uint32_t i = 0; i < a.n; i++)
    a.at[i] = limb_op(s, op, a.at[i], b.at[i]);
  return a;
}

static Limbs shifted_by(Sema *s, BinaryOp op, Limbs a, uint32_t by, IrValue fill)
{
  uint32_t far = by / LIMB_BITS, near = by % LIMB_BITS;
  Limbs out = {.n = a.n};
  for (uint32_t i = 0; i < a.n; i++) {
    bool left = op == BINARY_SHL;
    int64_t from = left ? (int64_t)i - far : (int64_t)i + far;
    int64_t beside = left ? from - 1 : from + 1;
    IrValue v = from >= 0 && from < a.n ? a.at[from] : fill;
    IrValue w = beside >= 0 && beside < a.n ? a.at[beside] : fill;
    if (near > 0) {
      v = limb_shift(s, left ? IR_shl : IR_lshr, v, near);
      w = limb_shift(s, left ? IR_lshr : IR_shl, w, LIMB_BITS - near);
      v = low_limb(s, limb_op(s, IR_or, v, w));
    }
    out.at[i] = v;
  }
  return out;
}

/* b where the mask has ones, else a. */
static Limbs limbs_choose(Sema *s, IrValue mask, Limbs a, Limbs b)
{
  for (uint32_t i = 0; i < a.n; i++) {
    IrValue different = limb_op(s, IR_and, limb_op(s, IR_xor, a.at[i], b.at[i]), mask);
    a.at[i] = limb_op(s, IR_xor, a.at[i], different);
  }
  return a;
}

/* All ones (of 64 bits) if v is not 0. */
static IrValue mask_if(Sema *s, IrValue v)
{
  IrValue is_set = ir_binary(&s->b, IR_ne, IRT_BOOL, v, limb_const(s, 0));
  return limb_op(s, IR_sub, limb_const(s, 0), ir_unary(&s->b, IR_zext, IRT_I64, is_set));
}

/* What enters from the end of a number that is shifted. */
static IrValue limb_entering(Sema *s, BinaryOp op, PoolId type, const Limbs *l)
{
  return op == BINARY_SHR && is_signed(s, type) ? sign_of(s, l->at[l->n - 1]) : limb_const(s, 0);
}

/* By less than a limb: each limb with its neighbour is one number of two limbs to be shifted. */
static Limbs shifted_near(Sema *s, BinaryOp op, Limbs a, IrValue by, IrValue fill)
{
  bool left = op == BINARY_SHL;
  Limbs out = {.n = a.n};
  for (uint32_t i = 0; i < a.n; i++) {
    IrValue low = left ? (i > 0 ? a.at[i - 1] : fill) : a.at[i];
    IrValue high = left ? a.at[i] : i + 1 < a.n ? a.at[i + 1] : fill;
    IrValue both = limb_op(s, IR_or, limb_shift(s, IR_shl, high, LIMB_BITS), low);
    both = limb_op(s, left ? IR_shl : IR_lshr, both, by);
    out.at[i] = left ? limb_shift(s, IR_lshr, both, LIMB_BITS) : low_limb(s, both);
  }
  return out;
}

/* First by the part of a limb, then one step for each higher bit of the amount below the width; an
 * amount with bits above those leaves nothing of the number. */
Operand wide_shift(Sema *s, BinaryOp op, Operand a, IrValue amount)
{
  Limbs l = limbs_load(s, a), gone = {.n = l.n};
  IrValue fill = limb_entering(s, op, a.type, &l);
  for (uint32_t i = 0; i < gone.n; i++)
    gone.at[i] = fill;
  IrValue near = ir_const(&s->b, IRT_I16, LIMB_BITS - 1);
  l = shifted_near(s, op, l, ir_binary(&s->b, IR_and, IRT_I16, amount, near), fill);
  IrValue by = ir_unary(&s->b, IR_zext, IRT_I64, amount);
  uint32_t bit = LIMB_BITS;
  for (; bit < type_bits(s->pool, a.type); bit *= 2) {
    IrValue mask = mask_if(s, limb_op(s, IR_and, by, limb_const(s, bit)));
    l = limbs_choose(s, mask, l, shifted_by(s, op, l, bit, fill));
  }
  IrValue above = limb_op(s, IR_and, by, limb_const(s, UINT16_MAX & ~(bit - 1)));
  return limbs_store(s, a.type, limbs_choose(s, mask_if(s, above), l, gone));
}

Operand wide_shift_known(Sema *s, BinaryOp op, Operand a, uint32_t amount)
{
  Limbs l = limbs_load(s, a);
  return limbs_store(s, a.type, shifted_by(s, op, l, amount, limb_entering(s, op, a.type, &l)));
}

/* ---- comparison ----------------------------------------------------------------------------- */

static IrValue any_bit(Sema *s, Limbs a)
{
  IrValue all = a.at[0];
  for (uint32_t i = 1; i < a.n; i++)
    all = limb_op(s, IR_or, all, a.at[i]);
  return all;
}

IrValue wide_above(Sema *s, Operand o, uint32_t bits)
{
  Limbs l = limbs_load(s, o);
  return any_bit(s, shifted_by(s, BINARY_SHR, l, bits, limb_const(s, 0)));
}

/* 1 if a < b. */
static IrValue limbs_below(Sema *s, Limbs a, Limbs b, bool with_sign)
{
  IrValue borrow, flip = limb_const(s, 1u << (LIMB_BITS - 1));
  if (with_sign) {
    a.at[a.n - 1] = limb_op(s, IR_xor, a.at[a.n - 1], flip);
    b.at[b.n - 1] = limb_op(s, IR_xor, b.at[b.n - 1], flip);
  }
  limbs_subtract(s, a, b, &borrow);
  return borrow;
}

static IrValue limbs_compare(Sema *s, BinaryOp op, PoolId type, Limbs a, Limbs b)
{
  bool is_equality = op == BINARY_EQ || op == BINARY_NE;
  bool turn = op == BINARY_GT || op == BINARY_LE;
  bool is_not = op == BINARY_EQ || op == BINARY_LE || op == BINARY_GE;
  IrValue v = is_equality ? any_bit(s, limbs_bitwise(s, IR_xor, a, b))
                          : limbs_below(s, turn ? b : a, turn ? a : b, is_signed(s, type));
  return ir_binary(&s->b, is_not ? IR_eq : IR_ne, IRT_BOOL, v, limb_const(s, 0));
}

/* ---- division ------------------------------------------------------------------------------- */

/* 32 ones if the value is negative. */
static IrValue minus_mask(Sema *s, Limbs a, PoolId type)
{
  if (!is_signed(s, type))
    return limb_const(s, 0);
  return sign_of(s, a.at[a.n - 1]);
}

/* Bit by bit: the remainder takes in the highest bit of the dividend, whose place the next bit of
 * the quotient takes.  The type has no sign. */
static void divide_by_bits(Sema *s, PoolId type, Operand quotient, Operand remainder, Limbs divisor)
{
  IrBlockId body = ir_block_add(s->ir, s->b.func), done = ir_block_add(s->ir, s->b.func);
  IrValue left = ir_block_param(s->ir, s->b.func, body, IRT_I16);
  IrValue first = ir_const(&s->b, IRT_I16, type_bits(s->pool, type));
  ir_br(&s->b, body, &first, 1);
  s->b.block = body;
  Limbs q = limbs_load(s, quotient), r = limbs_load(s, remainder);
  IrValue zero = limb_const(s, 0);
  r = shifted_by(s, BINARY_SHL, r, 1, zero);
  r.at[0] = limb_op(s, IR_or, r.at[0], limb_shift(s, IR_lshr, q.at[q.n - 1], LIMB_BITS - 1));
  q = shifted_by(s, BINARY_SHL, q, 1, zero);
  IrValue borrow;
  Limbs rest = limbs_subtract(s, r, divisor, &borrow);
  IrValue fits = limb_op(s, IR_xor, borrow, limb_const(s, 1));
  r = limbs_choose(s, limb_op(s, IR_sub, zero, fits), r, rest);
  q.at[0] = limb_op(s, IR_or, q.at[0], fits);
  place_init(s, quotient, limbs_store(s, type, q));
  place_init(s, remainder, limbs_store(s, type, r));
  IrValue next = ir_binary(&s->b, IR_sub, IRT_I16, left, ir_const(&s->b, IRT_I16, 1));
  IrValue more = ir_binary(&s->b, IR_ne, IRT_BOOL, next, ir_const(&s->b, IRT_I16, 0));
  ir_cond_br(&s->b, more, body, &next, 1, done, NULL, 0);
  s->b.block = done;
}

static Operand limbs_divide(Sema *s, BinaryOp op, PoolId type, Limbs a, Limbs b)
{
  IrValue minus_a = minus_mask(s, a, type), minus_b = minus_mask(s, b, type);
  PoolId plain = pool_int_type(s->pool, false, a.n * LIMB_BITS);
  Operand quotient = limbs_store(s, plain, limbs_choose(s, minus_a, a, limbs_negate(s, a)));
  Operand remainder = limbs_store(s, plain, limbs_zero(s, a.n));
  divide_by_bits(s, plain, quotient, remainder, limbs_choose(s, minus_b, b, limbs_negate(s, b)));
  Limbs out = limbs_load(s, op == BINARY_DIV ? quotient : remainder);
  if (op == BINARY_DIV) {            /* by zero every bit of the quotient is set: make it 0 */
    Limbs zero = limbs_zero(s, out.n);
    out = limbs_choose(s, mask_if(s, any_bit(s, b)), zero, out);
  }
  IrValue minus = op == BINARY_DIV ? limb_op(s, IR_xor, minus_a, minus_b) : minus_a;
  return limbs_store(s, type, limbs_choose(s, minus, out, limbs_negate(s, out)));
}

/* The function for all divisions of a type: its code is too large, about 2.5 KB for 128 bits, to
 * stand at each of them.  Its parameters are the addresses of result, dividend and divisor. */
static IrFuncId division_func(Sema *s, BinaryOp op, PoolId type)
{
  static const IrType params[] = {IRT_PTR, IRT_PTR, IRT_PTR};
  const char *name = arena_printf(s->arena, "<runtime>.%s%s%u", is_signed(s, type) ? "" : "u",
                                  op == BINARY_DIV ? "div" : "rem", type_bits(s->pool, type));
  for (uint32_t f = 0; f < s->ir->n_funcs; f++)
    if (strcmp(s->ir->funcs[f].name, name) == 0)
      return (IrFuncId){f};
  IrFuncId id = ir_func_add(s->ir, sema_keep_text(s, name), IRT_VOID, params,
                            ARRAY_COUNT(params));
  s->ir->funcs[id.raw].inlining = IR_INLINING_NEVER;
  s->ir->funcs[id.raw].loc = s->b.loc;
  IrBuilder caller = s->b;
  s->b = (IrBuilder){.module = s->ir, .func = id, .loc = caller.loc};
  Operand at[ARRAY_COUNT(params)];
  for (unsigned i = 0; i < ARRAY_COUNT(params); i++)
    at[i] = operand_place(s->ir->funcs[id.raw].blocks[0].params[i], type, false);
  place_init(s, at[0], limbs_divide(s, op, type, limbs_load(s, at[1]), limbs_load(s, at[2])));
  ir_ret(&s->b, IR_NO_VALUE);
  s->b = caller;
  return id;
}

static Operand call_division(Sema *s, BinaryOp op, PoolId type, Limbs a, Limbs b)
{
  Operand result = sema_temp(s, type), dividend = limbs_store(s, type, a);
  Operand divisor = limbs_store(s, type, b);
  const IrValue args[] = {sema_address(s, result), sema_address(s, dividend),
                          sema_address(s, divisor)};
  ir_call(&s->b, division_func(s, op, type), args, ARRAY_COUNT(args));
  return result;
}

/* ---- operators and conversions -------------------------------------------------------------- */

Operand wide_binary(Sema *s, BinaryOp op, PoolId type, Operand left, Operand right)
{
  Limbs a = limbs_load(s, left), b = limbs_load(s, right);
  IrValue borrow;
  switch ((int)op) {
  case BINARY_ADD: return limbs_store(s, type, limbs_add(s, a, b));
  case BINARY_SUB: return limbs_store(s, type, limbs_subtract(s, a, b, &borrow));
  case BINARY_MUL: return limbs_store(s, type, limbs_multiply(s, a, b));
  case BINARY_AND: return limbs_store(s, type, limbs_bitwise(s, IR_and, a, b));
  case BINARY_OR: return limbs_store(s, type, limbs_bitwise(s, IR_or, a, b));
  case BINARY_XOR: return limbs_store(s, type, limbs_bitwise(s, IR_xor, a, b));
  case BINARY_DIV:
  case BINARY_REM: return call_division(s, op, type, a, b);
  default: return operand_runtime(limbs_compare(s, op, type, a, b), POOL(BOOL));
  }
}

Operand wide_unary(Sema *s, UnaryOp op, Operand a)
{
  Limbs l = limbs_load(s, a), ones = {.n = l.n};
  if (op == UNARY_NEGATE)
    return limbs_store(s, a.type, limbs_negate(s, l));
  for (uint32_t i = 0; i < l.n; i++)
    ones.at[i] = limb_mask(s);
  return limbs_store(s, a.type, limbs_bitwise(s, IR_xor, l, ones));
}

Operand wide_convert(Sema *s, Operand o, PoolId type, Span span)
{
  if (type_is_wide(s->pool, type)) {
    if (pool_eq(o.type, POOL(BOOL)))
      o = operand_runtime(ir_unary(&s->b, IR_zext, IRT_I16, sema_ir(s, o)), POOL(U16));
    if (pool_kind(s->pool, o.type) == PK_INT_TYPE)
      return limbs_store(s, type, limbs_as(s, o, limbs_of(s, type)));
  } else if (pool_eq(type, POOL(BOOL))) {
    IrValue bits = any_bit(s, limbs_load(s, o));
    return operand_runtime(ir_binary(&s->b, IR_ne, IRT_BOOL, bits, limb_const(s, 0)), type);
  } else if (type_is_int(s->pool, type)) {
    Limbs l = limbs_as(s, o, 2);
    IrValue v = limb_op(s, IR_or, l.at[0], limb_shift(s, IR_shl, l.at[1], LIMB_BITS));
    return operand_runtime(emit_convert(s, v, POOL(U64), type), type);
  }
  diag_bad_as(s->diags, span, o.type, type);
  return operand_poison();
}
