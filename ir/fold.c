/* Folding: the result of a pure operation on constant operands. The front end, the simplifier and
 * the tests' interpreter all call this file. Integers wrap, floats go through ir/base's device
 * arithmetic. */
#include "ir/ir.h"

static uint64_t mask_of(IrType type)
{
  unsigned bits = ir_type_bits(type);
  return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* Two's complement value of the low bits. */
static int64_t signed_of(IrType type, uint64_t bits)
{
  unsigned width = ir_type_bits(type);
  if (width >= 64)
    return (int64_t)bits;
  uint64_t sign = UINT64_C(1) << (width - 1);
  return (int64_t)((bits ^ sign) - sign);
}

/* ---- integers ------------------------------------------------------------------------------ */

/* INT64_MIN / -1 would trap on the host; dividing by -1 is negation, which wraps. */
static uint64_t divide_signed(int64_t x, int64_t y)
{
  if (y == 0)
    return 0;
  return y == -1 ? 0 - (uint64_t)x : (uint64_t)(x / y);
}

static uint64_t remainder_signed(int64_t x, int64_t y)
{
  if (y == 0)
    return (uint64_t)x;
  return y == -1 ? 0 : (uint64_t)(x % y);
}

static uint64_t fold_shift(IrOp op, IrType type, uint64_t x, uint64_t amount)
{
  unsigned width = ir_type_bits(type);
  if (op == IR_ashr) {
    unsigned by = amount < width ? (unsigned)amount : width - 1;
    int64_t value = signed_of(type, x);
    return value < 0 ? ~(~(uint64_t)value >> by) : (uint64_t)value >> by;
  }
  if (amount >= width)
    return 0;
  return op == IR_shl ? x << amount : x >> amount;
}

static uint64_t count_bits(IrOp op, IrType type, uint64_t x)
{
  unsigned width = ir_type_bits(type), n = 0;
  if (op == IR_popcnt) {
    for (; x; x &= x - 1)
      n++;
    return n;
  }
  for (unsigned i = 0; i < width; i++, n++)
    if (x >> (op == IR_ctz ? i : width - 1 - i) & 1)
      break;
  return n;
}

static bool fold_integer(IrOp op, IrType type, const uint64_t *a, uint64_t *result)
{
  uint64_t x = a[0], y = a[1];
  int64_t sx = signed_of(type, x), sy = signed_of(type, y);
  switch ((int)op) {
  case IR_add: *result = x + y; return true;
  case IR_sub: *result = x - y; return true;
  case IR_mul: *result = x * y; return true;
  case IR_sdiv: *result = divide_signed(sx, sy); return true;
  case IR_srem: *result = remainder_signed(sx, sy); return true;
  case IR_udiv: *result = y ? x / y : 0; return true;
  case IR_urem: *result = y ? x % y : x; return true;
  case IR_and: *result = x & y; return true;
  case IR_or: *result = x | y; return true;
  case IR_xor: *result = x ^ y; return true;
  default: return false;
  }
}

static bool fold_integer_compare(IrOp op, IrType type, const uint64_t *a, uint64_t *result)
{
  int64_t sx = signed_of(type, a[0]), sy = signed_of(type, a[1]);
  switch ((int)op) {
  case IR_eq: *result = a[0] == a[1]; return true;
  case IR_ne: *result = a[0] != a[1]; return true;
  case IR_slt: *result = sx < sy; return true;
  case IR_sle: *result = sx <= sy; return true;
  case IR_ult: *result = a[0] < a[1]; return true;
  case IR_ule: *result = a[0] <= a[1]; return true;
  default: return false;
  }
}

/* ---- floating point ------------------------------------------------------------------------- */

static bool fold_float(const IrModule *m, IrOp op, IrType type, const uint64_t *a,
                       uint64_t *result)
{
  static const struct { IrOp op; FpBinary fp; } rows[] = {
    {IR_fadd, FP_ADD}, {IR_fsub, FP_SUB}, {IR_fmul, FP_MUL}, {IR_fdiv, FP_DIV}};
  for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
    if (rows[i].op == op) {
      *result = type == IRT_F32
                  ? fp32_binary(rows[i].fp, (uint32_t)a[0], (uint32_t)a[1])
                  : fp16_binary(m->fp16, rows[i].fp, (uint16_t)a[0], (uint16_t)a[1]);
      return true;
    }
  return false;
}

static bool fold_float_compare(const IrModule *m, IrOp op, IrType type, const uint64_t *a,
                               uint64_t *result)
{
  static const struct { IrOp op; FpCompare fp; } rows[] = {
    {IR_feq, FP_EQ}, {IR_flt, FP_LT}, {IR_fle, FP_LE}};
  for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
    if (rows[i].op == op) {
      *result = type == IRT_F32
                  ? fp32_compare(rows[i].fp, (uint32_t)a[0], (uint32_t)a[1])
                  : fp16_compare(m->fp16, rows[i].fp, (uint16_t)a[0], (uint16_t)a[1]);
      return true;
    }
  return false;
}

static double double_of(const IrModule *m, IrType type, uint64_t bits)
{
  return type == IRT_F32 ? fp32_to_double((uint32_t)bits)
                         : fp16_to_double(m->fp16, (uint16_t)bits);
}

static uint64_t from_integer(const IrModule *m, IrOp op, IrType type, IrType from, uint64_t x)
{
  int64_t value = signed_of(from, x);
  if (op == IR_sitofp)
    return type == IRT_F32 ? fp32_from_i64(value) : fp16_from_i64(m->fp16, value);
  return type == IRT_F32 ? fp32_from_u64(x) : fp16_from_u64(m->fp16, x);
}

static uint64_t fold_scale(const IrModule *m, IrType type, uint64_t x, uint64_t exponent)
{
  int by = (int)signed_of(IRT_I16, exponent);
  return type == IRT_F32 ? fp32_scale((uint32_t)x, by)
                         : fp16_scale(m->fp16, (uint16_t)x, by);
}

/* ---- the entry ------------------------------------------------------------------------------ */

static bool fold_by_rule(const IrModule *m, IrOp op, IrType type, IrType from, const uint64_t *a,
                         uint64_t *result)
{
  switch ((int)ir_ops[op].operand_rule) {
  case IROPND_INT2: return fold_integer(op, type, a, result);
  case IROPND_SHIFT: *result = fold_shift(op, type, a[0], a[1]); return true;
  case IROPND_WORD1: *result = count_bits(op, type, a[0]); return true;
  case IROPND_FLOAT2: return fold_float(m, op, type, a, result);
  case IROPND_FLOAT1S: *result = a[0] ^ UINT64_C(1) << (ir_type_bits(type) - 1); return true;
  case IROPND_FSCALE: *result = fold_scale(m, type, a[0], a[1]); return true;
  case IROPND_EQUAL:
  case IROPND_ORDER: return fold_integer_compare(op, from, a, result);
  case IROPND_FCOMPARE: return fold_float_compare(m, op, from, a, result);
  case IROPND_SELECT: *result = a[0] ? a[1] : a[2]; return true;
  case IROPND_TRUNC:
  case IROPND_BITCAST: *result = a[0]; return true;
  case IROPND_EXTEND: *result = (uint64_t)signed_of(from, a[0]); return true;
  case IROPND_ZEXTEND: *result = a[0]; return true;
  case IROPND_TOINT:
    *result = fp_to_int(double_of(m, from, a[0]), ir_type_bits(type), op == IR_fptosi);
    return true;
  case IROPND_TOFLOAT: *result = from_integer(m, op, type, from, a[0]); return true;
  case IROPND_FWIDEN: *result = fp16_to_fp32(m->fp16, (uint16_t)a[0]); return true;
  case IROPND_FNARROW: *result = fp16_from_fp32(m->fp16, (uint32_t)a[0]); return true;
  case IROPND_PTR_I16: *result = a[0] + a[1]; return true;
  default: return false;
  }
}

bool ir_fold(const IrModule *m, IrOp op, IrType type, IrType operand_type, const uint64_t *args,
             unsigned n, uint64_t *result)
{
  uint64_t a[3] = {0};
  if (!ir_op_is_pure(op) || n == 0 || n > ARRAY_COUNT(a) || !ir_type_bits(type) ||
      !ir_type_bits(operand_type))
    return false;
  for (unsigned i = 0; i < n; i++)
    a[i] = args[i];
  if (!fold_by_rule(m, op, type, operand_type, a, result))
    return false;
  *result &= mask_of(type);
  return true;
}
