/* Operators and conversions on known values: nothing here emits code. */
#include "frontend/sema/sema_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- known integers ------------------------------------------------------------------------- */

enum {
  KNOWN_INT_MAX_BITS = 1 << 20,       /* of a comptime_int; more is a loop that has gone wrong */
  TEXT_MAX_BITS = 256,                /* of a number that a message shows */
  BITS_PER_STEP = 8                   /* numbers become decimal text in the pool */
};

/* Counts the work that long numbers are; false if this one is too long. */
static bool take_number(Sema *s, BinaryOp op, PoolId type, const mpz_t x, Span span)
{
  sema_count_steps(s, mpz_sizeinbase(x, 2) / BITS_PER_STEP);
  if (!pool_eq(type, POOL(COMPTIME_INT)) || mpz_sizeinbase(x, 2) <= KNOWN_INT_MAX_BITS)
    return true;
  diag_comptime_int_too_large(s->diags, span, binary_op_spelling(op), (unsigned)KNOWN_INT_MAX_BITS);
  return false;
}

static PoolId report_overflow(Sema *s, BinaryOp op, PoolId type, const char *result, Span span)
{
  diag_comptime_overflow(s->diags, span, binary_op_spelling(op), result, type);
  return POOL(POISON);
}

static PoolId overflow_big(Sema *s, BinaryOp op, PoolId type, const mpz_t x, Span span)
{
  size_t bits = mpz_sizeinbase(x, 2);
  if (bits > TEXT_MAX_BITS)
    return report_overflow(s, op, type, arena_printf(s->arena, "a number of %zu bits", bits), span);
  char *text = mpz_get_str(NULL, 10, x);
  PoolId poison = report_overflow(s, op, type, text, span);
  free(text);
  return poison;
}

static PoolId fold_big(Sema *s, BinaryOp op, PoolId type, PoolId a, PoolId b, Span span)
{
  mpz_t x, y;
  PoolId out = POOL(POISON);
  bool is_bool = false, truth = false;
  mpz_init(x);
  mpz_init(y);
  pool_mpz(s->pool, a, x);
  pool_mpz(s->pool, b, y);
  int order = mpz_cmp(x, y);
  switch ((int)op) {
  case BINARY_ADD: mpz_add(x, x, y); break;
  case BINARY_SUB: mpz_sub(x, x, y); break;
  case BINARY_MUL: mpz_mul(x, x, y); break;
  case BINARY_DIV: mpz_tdiv_q(x, x, y); break;
  case BINARY_REM: mpz_tdiv_r(x, x, y); break;
  case BINARY_AND: mpz_and(x, x, y); break;
  case BINARY_OR:  mpz_ior(x, x, y); break;
  case BINARY_XOR: mpz_xor(x, x, y); break;
  case BINARY_EQ:  is_bool = true; truth = order == 0; break;
  case BINARY_NE:  is_bool = true; truth = order != 0; break;
  case BINARY_LT:  is_bool = true; truth = order < 0; break;
  case BINARY_LE:  is_bool = true; truth = order <= 0; break;
  case BINARY_GT:  is_bool = true; truth = order > 0; break;
  case BINARY_GE:  is_bool = true; truth = order >= 0; break;
  default: ICE("operator %s on integers", binary_op_spelling(op));
  }
  if (is_bool)
    out = pool_bool(truth);
  else if (!value_big_fits(s->pool, type, x))
    out = overflow_big(s, op, type, x, span);
  else if (take_number(s, op, type, x, span))
    out = pool_bigint(s->pool, type, x);
  mpz_clear(x);
  mpz_clear(y);
  return out;
}

bool operate_on_small(BinaryOp op, int64_t x, int64_t y, int64_t *out)
{
  bool divides = y != 0 && x != INT64_MIN;
  switch ((int)op) {
  case BINARY_ADD: return !__builtin_add_overflow(x, y, out);
  case BINARY_SUB: return !__builtin_sub_overflow(x, y, out);
  case BINARY_MUL: return !__builtin_mul_overflow(x, y, out);
  case BINARY_DIV: *out = divides ? x / y : 0; return divides;
  case BINARY_REM: *out = divides ? x % y : 0; return divides;
  case BINARY_AND: *out = x & y; return true;
  case BINARY_OR:  *out = x | y; return true;
  case BINARY_XOR: *out = x ^ y; return true;
  case BINARY_EQ:  *out = x == y; return true;
  case BINARY_NE:  *out = x != y; return true;
  case BINARY_LT:  *out = x < y; return true;
  case BINARY_LE:  *out = x <= y; return true;
  case BINARY_GT:  *out = x > y; return true;
  case BINARY_GE:  *out = x >= y; return true;
  default: ICE("operator %s on integers", binary_op_spelling(op));
  }
}

static PoolId fold_small(Sema *s, BinaryOp op, PoolId type, PoolId a, PoolId b, int64_t x,
                         int64_t y, Span span)
{
  int64_t r;
  if (!operate_on_small(op, x, y, &r))
    return fold_big(s, op, type, a, b, span);
  if (binary_op_is_comparison(op))
    return pool_bool(r);
  if (!value_small_fits(s->pool, type, r))
    return report_overflow(s, op, type, arena_printf(s->arena, "%lld", (long long)r), span);
  return pool_int(s->pool, type, r);
}

static bool is_zero(Sema *s, PoolId v)
{
  int64_t small;
  return pool_int_value(s->pool, v, &small) && small == 0;
}

static PoolId fold_int(Sema *s, BinaryOp op, PoolId type, PoolId a, PoolId b, Span span)
{
  if ((op == BINARY_DIV || op == BINARY_REM) && is_zero(s, b)) {
    diag_division_by_zero(s->diags, span);
    return POOL(POISON);
  }
  int64_t x, y;
  if (pool_int_value(s->pool, a, &x) && pool_int_value(s->pool, b, &y))
    return fold_small(s, op, type, a, b, x, y, span);
  return fold_big(s, op, type, a, b, span);
}

/* Bits shifted out of a fixed-width type are lost, as at run time. */
static PoolId fold_shift(Sema *s, BinaryOp op, PoolId type, PoolId a, PoolId b, Span span)
{
  PoolKey t = pool_key(s->pool, type);
  bool is_fixed = t.kind == PK_INT_TYPE;
  int64_t by;
  if (!pool_int_value(s->pool, b, &by) || by < 0 ||
      by >= (is_fixed ? t.u.int_type.bits : KNOWN_INT_MAX_BITS)) {
    diag_bad_shift(s->diags, span, b, type);
    return POOL(POISON);
  }
  int64_t small;
  if (op == BINARY_SHR && pool_int_value(s->pool, a, &small))
    return pool_int(s->pool, type, by > 63 ? (small < 0 ? -1 : 0) : small >> by);
  mpz_t x;
  mpz_init(x);
  pool_mpz(s->pool, a, x);
  if (op == BINARY_SHR) {
    mpz_fdiv_q_2exp(x, x, (mp_bitcnt_t)by);
  } else {
    mpz_mul_2exp(x, x, (mp_bitcnt_t)by);
    if (is_fixed)
      value_wrap(x, t.u.int_type.bits, t.u.int_type.is_signed);
  }
  PoolId out = take_number(s, op, type, x, span) ? pool_bigint(s->pool, type, x) : POOL(POISON);
  mpz_clear(x);
  return out;
}

/* ---- known floats --------------------------------------------------------------------------- */

static Fp16Format format_of(PoolId type)
{
  return pool_eq(type, POOL(BF16)) ? FP16_BF16 : pool_eq(type, POOL(CB16)) ? FP16_CB16 : FP16_F16;
}

static bool compare_doubles(BinaryOp op, double x, double y)
{
  switch ((int)op) {
  case BINARY_EQ: return x == y;
  case BINARY_NE: return x != y;
  case BINARY_LT: return x < y;
  case BINARY_LE: return x <= y;
  case BINARY_GT: return x > y;
  default:        return x >= y;
  }
}

static PoolId fold_double(Sema *s, BinaryOp op, double x, double y, Span span)
{
  double r = op == BINARY_ADD ? x + y : op == BINARY_SUB ? x - y : op == BINARY_MUL ? x * y : 0;
  if (op == BINARY_DIV) {
    if (y == 0) {
      diag_division_by_zero(s->diags, span);
      return POOL(POISON);
    }
    r = x / y;
  }
  if (r != r) {
    diag_comptime_nan(s->diags, span);
    return POOL(POISON);
  }
  return pool_float(s->pool, POOL(COMPTIME_FLOAT), r);
}

static PoolId fold_float(Sema *s, BinaryOp op, PoolId type, PoolId a, PoolId b, Span span)
{
  if (binary_op_is_comparison(op))
    return pool_bool(
        compare_doubles(op, pool_float_value(s->pool, a), pool_float_value(s->pool, b)));
  if (pool_eq(type, POOL(COMPTIME_FLOAT)))
    return fold_double(s, op, pool_float_value(s->pool, a), pool_float_value(s->pool, b), span);
  FpBinary fp = op == BINARY_ADD ? FP_ADD : op == BINARY_SUB ? FP_SUB
              : op == BINARY_MUL ? FP_MUL : FP_DIV;
  uint64_t x = pool_key(s->pool, a).u.floating.bits, y = pool_key(s->pool, b).u.floating.bits;
  uint64_t r = pool_eq(type, POOL(F32))
                   ? fp32_binary(fp, (uint32_t)x, (uint32_t)y)
                   : fp16_binary(format_of(type), fp, (uint16_t)x, (uint16_t)y);
  return pool_float_bits(s->pool, type, r);
}

PoolId fold_binary(Sema *s, BinaryOp op, PoolId type, PoolId a, PoolId b, Span span)
{
  if (op == BINARY_SHL || op == BINARY_SHR)
    return fold_shift(s, op, type, a, b, span);
  PoolKind kind = pool_kind(s->pool, a);
  if (kind == PK_FLOAT)
    return fold_float(s, op, type, a, b, span);
  if (kind == PK_INT)
    return fold_int(s, op, type, a, b, span);
  bool x = value_is_true(a), y = value_is_true(b);
  if (kind == PK_BOOL_VALUE && (op == BINARY_AND || op == BINARY_OR || op == BINARY_XOR))
    return pool_bool(op == BINARY_AND ? x && y : op == BINARY_OR ? x || y : x != y);
  return pool_bool(pool_eq(a, b) == (op == BINARY_EQ));
}

static PoolId fold_complement(Sema *s, PoolId type, PoolId a)
{
  PoolKey k = pool_key(s->pool, type);
  mpz_t x;
  mpz_init(x);
  pool_mpz(s->pool, a, x);
  mpz_com(x, x);
  value_wrap(x, k.u.int_type.bits, k.u.int_type.is_signed);
  PoolId out = pool_bigint(s->pool, type, x);
  mpz_clear(x);
  return out;
}

PoolId fold_unary(Sema *s, UnaryOp op, PoolId type, PoolId a, Span span)
{
  if (op == UNARY_NOT)
    return pool_bool(!value_is_true(a));
  if (pool_kind(s->pool, a) == PK_FLOAT) {
    uint64_t sign = pool_eq(type, POOL(F32)) ? 1u << 31
                  : pool_eq(type, POOL(COMPTIME_FLOAT)) ? (uint64_t)1 << 63 : 1u << 15;
    return pool_float_bits(s->pool, type, pool_key(s->pool, a).u.floating.bits ^ sign);
  }
  if (op == UNARY_COMPLEMENT)
    return fold_complement(s, type, a);
  return fold_int(s, BINARY_SUB, type, pool_int(s->pool, type, 0), a, span);
}

/* ---- conversions --------------------------------------------------------------------------- */

PoolId sema_report_unfit(Sema *s, PoolId value, PoolId type, Span span)
{
  diag_value_out_of_range(s->diags, span, value, type);
  return POOL(POISON);
}

static PoolId int_to_int(Sema *s, PoolId value, PoolId type, Span span)
{
  if (!value_int_fits(s->pool, value_int_type(s->pool, type), value))
    return sema_report_unfit(s, value, type, span);
  return value_int_as(s->pool, type, value);
}

static PoolId int_to_float(Sema *s, PoolId value, PoolId type)
{
  int64_t small;
  if (pool_int_value(s->pool, value, &small)) {
    if (pool_eq(type, POOL(F32)))
      return pool_float_bits(s->pool, type, fp32_from_i64(small));
    if (type_is_float16(type)) {
      Fp16Format format = pool_eq(type, POOL(BF16)) ? FP16_BF16
                        : pool_eq(type, POOL(CB16)) ? FP16_CB16 : FP16_F16;
      return pool_float_bits(s->pool, type, fp16_from_i64(format, small));
    }
    return pool_float(s->pool, type, (double)small);
  }
  mpz_t big;
  mpz_init(big);
  pool_mpz(s->pool, value, big);
  double v = mpz_get_d(big);
  mpz_clear(big);
  return pool_float(s->pool, type, v);
}

static PoolId float_to_int(Sema *s, PoolId value, PoolId type, Span span)
{
  double v = pool_float_value(s->pool, value);
  if (v != v || v - v != 0)
    return sema_report_unfit(s, value, type, span);
  mpz_t big;
  mpz_init(big);
  mpz_set_d(big, v);      /* toward zero */
  bool fits = value_big_fits(s->pool, value_int_type(s->pool, type), big);
  PoolId out = fits ? pool_bigint(s->pool, type, big) : POOL(POISON);
  mpz_clear(big);
  return fits ? out : sema_report_unfit(s, value, type, span);
}

bool sema_is_integral(Sema *s, PoolId type)
{
  return type_is_int(s->pool, type) || pool_kind(s->pool, type) == PK_ENUM_TYPE;
}

static PoolId to_bool(Sema *s, PoolId value)
{
  if (pool_kind(s->pool, value) == PK_FLOAT) {
    double v = pool_float_value(s->pool, value);
    return pool_bool(!(v == 0));
  }
  int64_t small;
  return pool_bool(!pool_int_value(s->pool, value, &small) || small != 0);
}

/* A number without a type means that number: no format has it as infinity. */
static PoolId to_float(Sema *s, PoolId value, PoolId from, PoolId type, Span span)
{
  PoolId result = sema_is_integral(s, from)
                      ? int_to_float(s, value, type)
                      : pool_float(s->pool, type, pool_float_value(s->pool, value));
  bool is_untyped = pool_eq(from, POOL(COMPTIME_INT)) || pool_eq(from, POOL(COMPTIME_FLOAT));
  if (is_untyped && isinf(pool_float_value(s->pool, result)) &&
      (sema_is_integral(s, from) || isfinite(pool_float_value(s->pool, value))))
    diag_becomes_infinity(s->diags, span, value, type);
  return result;
}

PoolId fold_convert(Sema *s, PoolId value, PoolId type, Span span)
{
  PoolId from = pool_type_of(s->pool, value);
  if (pool_eq(from, type))
    return value;
  if (pool_eq(from, POOL(BOOL))) {
    value = pool_int(s->pool, POOL(COMPTIME_INT), value_is_true(value));
    from = POOL(COMPTIME_INT);
  }
  bool from_int = sema_is_integral(s, from), from_float = type_is_float(s->pool, from);
  if (!from_int && !from_float)
    return POOL(NONE);
  if (pool_eq(type, POOL(BOOL)))
    return to_bool(s, value);
  if (sema_is_integral(s, type))
    return from_int ? int_to_int(s, value, type, span) : float_to_int(s, value, type, span);
  if (!type_is_float(s->pool, type))
    return POOL(NONE);
  return to_float(s, value, from, type, span);
}

unsigned sema_bit_width(Sema *s, PoolId type)
{
  PoolKey k = pool_key(s->pool, value_int_type(s->pool, type));
  if (k.kind == PK_INT_TYPE)
    return k.u.int_type.bits;
  return packed_is(s, type) ? type_bits(s->pool, type) : ir_type_bits(type_ir(s->pool, type));
}

PoolId sema_pointer_value(Sema *s, PoolId type, uint64_t address)
{
  PoolKey k = {.kind = PK_POINTER, .type = type};
  k.u.pointer.base_kind = PTR_INTEGER;
  k.u.pointer.offset = (uint16_t)address;
  return pool_get(s->pool, &k);
}

PoolId fold_bits(Sema *s, PoolId type, uint64_t bits)
{
  if (pool_eq(type, POOL(BOOL)))
    return pool_bool(bits & 1);
  if (type_is_float(s->pool, type))
    return pool_float_bits(s->pool, type, pool_eq(type, POOL(F32)) ? (uint32_t)bits
                                                                    : (uint16_t)bits);
  if (pool_kind(s->pool, type) == PK_POINTER_TYPE)
    return sema_pointer_value(s, type, bits);
  return value_from_bits(s->pool, type, bits);
}

PoolId fold_bitcast(Sema *s, PoolId value, PoolId type)
{
  if (pool_kind(s->pool, value) == PK_INT && sema_is_integral(s, type))
    return value_int_wrapped(s->pool, type, value);       /* of any width */
  return packed_known_bits(s, value, 0, type);
}

