/* Selection of arithmetic, comparisons and conversions.
 *
 * i8 and bool live zero-extended in 16-bit registers; a mask follows an operation that can leave
 * the range, and a sign extension precedes an operation that uses the sign. An i64 is two pairs:
 * carry chains where they suffice, routines of legalise.c for the rest. */
#include "ir/codegen/codegen.h"

#include <stb_ds.h>

enum { WORD_BITS = 16, PAIR_BITS = 32, LONG_BITS = 64 };

static Reg new_word(Sel *s) { return sel_new_reg(s, CLASS_WORD); }
static Reg new_pair(Sel *s) { return sel_new_reg(s, CLASS_PAIR); }

/* ---- 16 bits and less ----------------------------------------------------------------------- */

typedef struct {
  Opcode reg, imm;         /* OP_COUNT: no such form */
  bool is_signed;          /* looks at the sign of its operands */
  bool overflows;          /* the result may have bits above the type's */
} WordOp;

static WordOp word_op(IrOp op)
{
  switch ((int)op) {
  case IR_add: return (WordOp){OP_add, OP_addi, false, true};
  case IR_sub: return (WordOp){OP_sub, OP_COUNT, false, true};
  case IR_mul: return (WordOp){OP_mul, OP_muli, false, true};
  case IR_sdiv: return (WordOp){OP_divs, OP_COUNT, true, true};
  case IR_udiv: return (WordOp){OP_divu, OP_COUNT, false, false};
  case IR_srem: return (WordOp){OP_rems, OP_COUNT, true, true};
  case IR_urem: return (WordOp){OP_remu, OP_COUNT, false, false};
  case IR_and: return (WordOp){OP_and, OP_andi, false, false};
  case IR_or: return (WordOp){OP_or, OP_ori, false, false};
  case IR_xor: return (WordOp){OP_xor, OP_xori, false, false};
  case IR_shl: return (WordOp){OP_sll, OP_slli, false, true};
  case IR_lshr: return (WordOp){OP_slr, OP_slri, false, false};
  case IR_ashr: return (WordOp){OP_sar, OP_sari, true, true};
  default: ICE("no word operation for %s", ir_ops[op].name);
  }
}

static Reg use_signed(Sel *s, IrValue v)
{
  Reg r = sel_use_word(s, v);
  if (sel_type(s, v) != IRT_I8)
    return r;
  Reg wide = new_word(s);
  sel_rr(s, OP_sext8, wide, r);
  return wide;
}

static void mask_to(Sel *s, IrType type, Reg to, Reg from)
{
  if (type == IRT_I8)
    sel_rr(s, OP_zext8, to, from);
  else if (type == IRT_BOOL)
    sel_rri(s, OP_andi, to, from, 1);
  else
    sel_copy(s, CLASS_WORD, to, from);
}

static bool is_shift(IrOp op) { return op == IR_shl || op == IR_lshr || op == IR_ashr; }

/* A shift by a constant: an immediate holds less than the register's width. */
static void shift_word(Sel *s, Reg to, IrOp op, Reg x, uint64_t amount)
{
  if (op == IR_ashr)
    sel_rri(s, OP_sari, to, x, amount < WORD_BITS ? (int32_t)amount : WORD_BITS - 1);
  else if (amount >= WORD_BITS)
    sel_li(s, CLASS_WORD, to, 0);
  else
    sel_rri(s, word_op(op).imm, to, x, (int32_t)amount);
}

static bool word_immediate(Sel *s, Reg to, const IrInsn *insn, const WordOp *w)
{
  uint64_t bits;
  if (insn->op == IR_sub && sel_is_const(s, insn->args[0], &bits) && insn->type == IRT_I16) {
    sel_rri(s, OP_rsubi, to, sel_use_word(s, insn->args[1]), (int32_t)bits);
    return true;
  }
  IrValue x = insn->args[0], y = insn->args[1];
  if (ir_op_is(insn->op, IRE_COMMUTES) && sel_is_const(s, x, &bits)) {
    IrValue t = x;
    x = y;
    y = t;
  }
  if (!sel_is_const(s, y, &bits))
    return false;
  if (is_shift(insn->op)) {
    shift_word(s, to, insn->op, w->is_signed ? use_signed(s, x) : sel_use_word(s, x), bits);
    return true;
  }
  if (insn->op == IR_sub) {
    sel_rri(s, OP_addi, to, sel_use_word(s, x), -(int32_t)bits);
    return true;
  }
  if (w->imm == OP_COUNT)
    return false;
  sel_rri(s, w->imm, to, sel_use_word(s, x), (int32_t)bits);
  return true;
}

static void arith_word(Sel *s, IrValue v, const IrInsn *insn)
{
  WordOp w = word_op(insn->op);
  bool masks = insn->type == IRT_I8 && w.overflows;
  Reg result = sel_result(s, v, 0), to = masks ? new_word(s) : result;
  if (!word_immediate(s, to, insn, &w)) {
    Reg x = w.is_signed ? use_signed(s, insn->args[0]) : sel_use_word(s, insn->args[0]);
    bool sign = w.is_signed && !is_shift(insn->op);
    Reg y = sign ? use_signed(s, insn->args[1]) : sel_use_word(s, insn->args[1]);
    sel_rrr(s, w.reg, to, x, y);
  }
  if (masks)
    sel_rr(s, OP_zext8, result, to);
}

/* ---- 32 bits -------------------------------------------------------------------------------- */

static Opcode pair_op(IrOp op)
{
  switch ((int)op) {
  case IR_add: return OP_add32;
  case IR_sub: return OP_sub32;
  case IR_mul: return OP_mul32;
  case IR_sdiv: return OP_divs32;
  case IR_udiv: return OP_divu32;
  case IR_srem: return OP_rems32;
  case IR_urem: return OP_remu32;
  case IR_and: return OP_and32;
  case IR_or: return OP_or32;
  case IR_xor: return OP_xor32;
  case IR_shl: return OP_sll32;
  case IR_lshr: return OP_slr32;
  case IR_ashr: return OP_sar32;
  default: ICE("no 32-bit operation for %s", ir_ops[op].name);
  }
}

static void shift_pair(Sel *s, Reg to, IrOp op, Reg x, uint64_t amount)
{
  if (amount == 0)
    sel_copy(s, CLASS_PAIR, to, x);
  else if (op == IR_ashr)
    sel_rri(s, OP_sari32, to, x, amount < PAIR_BITS ? (int32_t)amount : PAIR_BITS - 1);
  else if (amount >= PAIR_BITS)
    sel_li(s, CLASS_PAIR, to, 0);
  else
    sel_rri(s, op == IR_shl ? OP_slli32 : OP_slri32, to, x, (int32_t)amount);
}

static bool fits_word(uint64_t bits) { return (int32_t)bits == (int16_t)bits; }

/* x * y of two extended words: one instruction. */
static bool widening_multiply(Sel *s, Reg to, const IrInsn *insn)
{
  const IrInsn *x = sel_def(s, insn->args[0]), *y = sel_def(s, insn->args[1]);
  if (insn->op != IR_mul || x->op != y->op || (x->op != IR_zext && x->op != IR_sext) ||
      sel_type(s, x->args[0]) != IRT_I16 || sel_type(s, y->args[0]) != IRT_I16)
    return false;
  Reg a = sel_use_word(s, x->args[0]), b = sel_use_word(s, y->args[0]);
  sel_rrr(s, x->op == IR_zext ? OP_mulwu : OP_mulws, to, a, b);
  return true;
}

/* Each operand in a statement of its own, here and below: the arguments of a C call have no order,
 * and the code must not depend on the compiler of the compiler. */
static void apply_pair(Sel *s, Opcode op, Reg to, IrValue x, IrValue y)
{
  Reg right = sel_use(s, y), left = sel_use(s, x);
  sel_rrr(s, op, to, left, right);
}

static void apply_unary(Sel *s, Opcode op, IrValue v, Reg from)
{
  sel_rr(s, op, sel_result(s, v, 0), from);
}

static void arith_pair(Sel *s, IrValue v, const IrInsn *insn)
{
  Reg to = sel_result(s, v, 0);
  IrValue x = insn->args[0], y = insn->args[1];
  uint64_t bits;
  if (widening_multiply(s, to, insn))
    return;
  if (is_shift(insn->op)) {
    if (sel_is_const(s, y, &bits)) {
      shift_pair(s, to, insn->op, sel_use(s, x), bits);
    } else {
      Reg by = sel_use_word(s, y);
      sel_rrr(s, pair_op(insn->op), to, sel_use(s, x), by);
    }
    return;
  }
  if (insn->op == IR_add && sel_is_const(s, x, &bits)) {
    IrValue t = x;
    x = y;
    y = t;
  }
  bool has_const = sel_is_const(s, y, &bits);
  if (insn->op == IR_add && has_const && fits_word(bits))
    sel_rri(s, OP_addi32, to, sel_use(s, x), (int16_t)bits);
  else if (insn->op == IR_sub && has_const && fits_word(0 - bits))
    sel_rri(s, OP_addi32, to, sel_use(s, x), (int16_t)(0 - bits));
  else
    apply_pair(s, pair_op(insn->op), to, x, y);
}

/* ---- 64 bits -------------------------------------------------------------------------------- */

typedef struct { Reg lo, hi; } Long;

static Long use_long(Sel *s, IrValue v)
{
  return (Long){sel_use_part(s, v, 0), sel_use_part(s, v, 1)};
}

static Long long_result(Sel *s, IrValue v)
{
  return (Long){sel_result(s, v, 0), sel_result(s, v, 1)};
}

/* shl and lshr by a constant; they differ in the half next to the filled end. */
static void shift_long_const(Sel *s, Long to, IrOp op, Long x, unsigned n)
{
  bool left = op == IR_shl;
  Reg near = left ? to.lo : to.hi, far = left ? to.hi : to.lo;
  Reg x_near = left ? x.lo : x.hi, x_far = left ? x.hi : x.lo;
  IrOp back = left ? IR_lshr : IR_shl;
  if (n == 0) {
    sel_copy(s, CLASS_PAIR, to.lo, x.lo);
    sel_copy(s, CLASS_PAIR, to.hi, x.hi);
  } else if (n < PAIR_BITS) {
    Reg low = new_pair(s), carry = new_pair(s);
    shift_pair(s, low, left ? IR_shl : IR_lshr, x_far, n);
    shift_pair(s, carry, back, x_near, PAIR_BITS - n);
    sel_rrr(s, OP_or32, far, low, carry);
    shift_pair(s, near, op, x_near, n);
  } else {
    shift_pair(s, far, op, x_near, n - PAIR_BITS);
    if (op == IR_ashr)
      shift_pair(s, near, op, x_near, PAIR_BITS - 1);
    else
      sel_li(s, CLASS_PAIR, near, 0);
  }
}

/* Shifts of pairs by 32 or more give 0, so three of them make one of a long: the amounts n - 32
 * and 32 - n are, as unsigned words, too large whenever they do not matter. */
static void shift_long(Sel *s, Long to, IrOp op, Long x, Reg n)
{
  bool left = op == IR_shl;
  Reg near = left ? to.lo : to.hi, far = left ? to.hi : to.lo;
  Reg x_near = left ? x.lo : x.hi, x_far = left ? x.hi : x.lo;
  Opcode out = left ? OP_sll32 : OP_slr32, back = left ? OP_slr32 : OP_sll32;
  Reg over = new_word(s), under = new_word(s);
  Reg a = new_pair(s), b = new_pair(s), c = new_pair(s), ab = new_pair(s);
  uint32_t done = sel_new_label(s);
  sel_rri(s, OP_addi, over, n, -PAIR_BITS);
  sel_rri(s, OP_rsubi, under, n, PAIR_BITS);
  sel_rrr(s, out, a, x_far, n);
  sel_rrr(s, back, b, x_near, under);
  sel_rrr(s, OP_or32, ab, a, b);
  if (op != IR_ashr) {
    sel_rrr(s, out, c, x_near, over);
    sel_rrr(s, OP_or32, far, ab, c);
    sel_rrr(s, out, near, x_near, n);
    return;
  }
  /* the sign must come in only when the amount is 32 or more */
  sel_rrr(s, OP_sar32, near, x_near, n);
  sel_copy(s, CLASS_PAIR, far, ab);
  sel_jump(s, OP_bltui, n, REG_NONE, done);
  arrlast(s->scratch).imm = PAIR_BITS;
  sel_rrr(s, OP_sar32, far, x_near, over);
  sel_label(s, done);
}

static void add_long(Sel *s, Long to, const IrInsn *insn)
{
  Long x = use_long(s, insn->args[0]), y = use_long(s, insn->args[1]);
  bool is_add = insn->op == IR_add;
  sel_rrr(s, is_add ? OP_add32 : OP_sub32, to.lo, x.lo, y.lo);
  sel_rrr(s, is_add ? OP_addc32 : OP_subc32, to.hi, x.hi, y.hi);
}

static void bits_long(Sel *s, Long to, const IrInsn *insn)
{
  Long x = use_long(s, insn->args[0]), y = use_long(s, insn->args[1]);
  sel_rrr(s, pair_op(insn->op), to.lo, x.lo, y.lo);
  sel_rrr(s, pair_op(insn->op), to.hi, x.hi, y.hi);
}

static void arith_long(Sel *s, IrValue v, const IrInsn *insn)
{
  uint64_t n;
  switch ((int)insn->op) {
  case IR_add: case IR_sub:
    add_long(s, long_result(s, v), insn);
    break;
  case IR_and: case IR_or: case IR_xor:
    bits_long(s, long_result(s, v), insn);
    break;
  case IR_shl: case IR_lshr: case IR_ashr:
    if (!sel_is_const(s, insn->args[1], &n)) {
      Reg by = sel_use_word(s, insn->args[1]);
      Long x = use_long(s, insn->args[0]);
      shift_long(s, long_result(s, v), insn->op, x, by);
    } else {
      Long x = use_long(s, insn->args[0]);
      shift_long_const(s, long_result(s, v), insn->op, x,
                       n < LONG_BITS ? (unsigned)n : LONG_BITS);
    }
    break;
  case IR_mul:
    sel_runtime(s, v, RT_MUL64, insn->args, 2);
    break;
  case IR_udiv:
    sel_runtime(s, v, RT_UDIV64, insn->args, 2);
    break;
  case IR_urem:
    sel_runtime(s, v, RT_UREM64, insn->args, 2);
    break;
  case IR_sdiv:
    sel_runtime(s, v, RT_SDIV64, insn->args, 2);
    break;
  case IR_srem:
    sel_runtime(s, v, RT_SREM64, insn->args, 2);
    break;
  default:
    ICE("no 64-bit operation for %s", ir_ops[insn->op].name);
  }
}

/* ---- floating point ------------------------------------------------------------------------- */

static void arith_float(Sel *s, IrValue v, const IrInsn *insn)
{
  bool half = insn->type == IRT_F16;
  Reg to = sel_result(s, v, 0), x = sel_use(s, insn->args[0]);
  Opcode op;
  switch ((int)insn->op) {
  case IR_fadd: op = half ? OP_faddh : OP_fadds; break;
  case IR_fsub: op = half ? OP_fsubh : OP_fsubs; break;
  case IR_fmul: op = half ? OP_fmulh : OP_fmuls; break;
  case IR_fdiv: op = half ? OP_fdivh : OP_fdivs; break;
  case IR_fscale: op = half ? OP_fscaleh : OP_fscales; break;
  case IR_fneg:
    sel_rr(s, half ? OP_fnegh : OP_fnegs, to, x);
    return;
  default: ICE("no float operation for %s", ir_ops[insn->op].name);
  }
  IrValue y = insn->args[1];
  sel_rrr(s, op, to, x, insn->op == IR_fscale ? sel_use_word(s, y) : sel_use(s, y));
}

void sel_arith(Sel *s, IrValue v, const IrInsn *insn)
{
  switch ((int)insn->op) {
  case IR_clz: case IR_ctz: case IR_popcnt: {
    Opcode op = insn->op == IR_clz ? OP_clz : insn->op == IR_ctz ? OP_ctz : OP_popcnt;
    apply_unary(s, op, v, sel_use_word(s, insn->args[0]));
    break;
  }
  case IR_fadd: case IR_fsub: case IR_fmul: case IR_fdiv: case IR_fneg: case IR_fscale:
    arith_float(s, v, insn);
    break;
  default:
    if (insn->type == IRT_I64)
      arith_long(s, v, insn);
    else if (insn->type == IRT_I32)
      arith_pair(s, v, insn);
    else
      arith_word(s, v, insn);
  }
}

/* ---- comparisons ---------------------------------------------------------------------------- */

/* x - y leaves "no borrow" in the carry; with both high words' signs flipped that orders signed
 * numbers too. */
static void order_long(Sel *s, Reg to, IrOp op, Long x, Long y)
{
  bool swaps = op == IR_sle || op == IR_ule;
  if (swaps) {
    Long t = x;
    x = y;
    y = t;
  }
  Reg x_hi = x.hi, y_hi = y.hi;
  if (op == IR_slt || op == IR_sle) {
    Reg sign = new_pair(s);
    x_hi = new_pair(s);
    y_hi = new_pair(s);
    sel_li(s, CLASS_PAIR, sign, UINT32_C(1) << (PAIR_BITS - 1));
    sel_rrr(s, OP_xor32, x_hi, x.hi, sign);
    sel_rrr(s, OP_xor32, y_hi, y.hi, sign);
  }
  Reg zero = new_word(s), t = new_pair(s), t2 = new_pair(s), carry = new_word(s);
  sel_li(s, CLASS_WORD, zero, 0);
  sel_rrr(s, OP_sub32, t, x.lo, y.lo);
  sel_rrr(s, OP_subc32, t2, x_hi, y_hi);
  sel_rrr(s, OP_addc, carry, zero, zero);
  /* carry: x >= y; swapped, that is the answer */
  sel_rri(s, OP_xori, to, carry, swaps ? 0 : 1);
}

static void equal_long(Sel *s, Reg to, IrOp op, Long x, Long y)
{
  Reg a = new_pair(s), b = new_pair(s), ab = new_pair(s), word = new_word(s), zero = new_word(s);
  sel_rrr(s, OP_xor32, a, x.lo, y.lo);
  sel_rrr(s, OP_xor32, b, x.hi, y.hi);
  sel_rrr(s, OP_or32, ab, a, b);
  sel_rrr(s, OP_or, word, ab | REG_LO, ab | REG_HI);
  sel_li(s, CLASS_WORD, zero, 0);
  sel_rrr(s, op == IR_eq ? OP_seq : OP_sne, to, word, zero);
}

static Opcode compare_op(IrOp op, bool pair)
{
  switch ((int)op) {
  case IR_eq: return pair ? OP_seq32 : OP_seq;
  case IR_ne: return pair ? OP_sne32 : OP_sne;
  case IR_slt: return pair ? OP_slts32 : OP_slts;
  case IR_sle: return pair ? OP_sles32 : OP_sles;
  case IR_ult: return pair ? OP_sltu32 : OP_sltu;
  case IR_ule: return pair ? OP_sleu32 : OP_sleu;
  case IR_feq: return pair ? OP_feqs : OP_feqh;
  case IR_flt: return pair ? OP_flts : OP_flth;
  case IR_fle: return pair ? OP_fles : OP_fleh;
  default: ICE("no comparison: %s", ir_ops[op].name);
  }
}

void sel_compare(Sel *s, IrValue v, const IrInsn *insn)
{
  IrType type = sel_type(s, insn->args[0]);
  Reg to = sel_result(s, v, 0);
  if (type == IRT_I64) {
    Long x = use_long(s, insn->args[0]), y = use_long(s, insn->args[1]);
    if (insn->op == IR_eq || insn->op == IR_ne)
      equal_long(s, to, insn->op, x, y);
    else
      order_long(s, to, insn->op, x, y);
    return;
  }
  bool pair = type_class(type) == CLASS_PAIR;
  bool is_signed = insn->op == IR_slt || insn->op == IR_sle;
  Reg x, y;
  if (pair || ir_type_is_float(type)) {
    x = sel_use(s, insn->args[0]);
    y = sel_use(s, insn->args[1]);
  } else if (is_signed) {
    x = use_signed(s, insn->args[0]);
    y = use_signed(s, insn->args[1]);
  } else {
    x = sel_use_word(s, insn->args[0]);
    y = sel_use_word(s, insn->args[1]);
  }
  sel_rrr(s, compare_op(insn->op, pair), to, x, y);
}

/* ---- conversions ---------------------------------------------------------------------------- */

/* The upper half of an i64 is a register of its own. */
static bool is_upper_half(const Sel *s, const IrInsn *insn)
{
  const IrInsn *d = sel_def(s, insn->args[0]);
  uint64_t n;
  return insn->type == IRT_I32 && d->op == IR_lshr && d->type == IRT_I64 &&
         sel_is_const(s, d->args[1], &n) && n == PAIR_BITS;
}

static void convert_trunc(Sel *s, IrValue v, const IrInsn *insn)
{
  Reg to = sel_result(s, v, 0);
  IrType from = sel_type(s, insn->args[0]);
  if (is_upper_half(s, insn))
    sel_copy(s, CLASS_PAIR, to, sel_use_part(s, sel_def(s, insn->args[0])->args[0], 1));
  else if (insn->type == IRT_I32)
    sel_copy(s, CLASS_PAIR, to, sel_use(s, insn->args[0]));
  else if (type_class(from) == CLASS_PAIR)
    mask_to(s, insn->type, to, sel_use(s, insn->args[0]) | REG_LO);
  else
    mask_to(s, insn->type, to, sel_use_word(s, insn->args[0]));
}

static void convert_extend(Sel *s, IrValue v, const IrInsn *insn)
{
  bool is_signed = insn->op == IR_sext;
  Reg to = sel_result(s, v, 0);
  if (sel_type(s, insn->args[0]) == IRT_I32) {   /* to i64 */
    sel_copy(s, CLASS_PAIR, to, sel_use(s, insn->args[0]));
  } else {
    Reg x = is_signed ? use_signed(s, insn->args[0]) : sel_use_word(s, insn->args[0]);
    if (type_class(insn->type) == CLASS_WORD)
      is_signed && insn->type == IRT_I8 ? mask_to(s, IRT_I8, to, x)
                                        : sel_copy(s, CLASS_WORD, to, x);
    else
      sel_rr(s, is_signed ? OP_sext16 : OP_zext16, to, x);
  }
  if (insn->type != IRT_I64)
    return;
  if (is_signed)
    sel_rri(s, OP_sari32, sel_result(s, v, 1), to, PAIR_BITS - 1);
  else
    sel_li(s, CLASS_PAIR, sel_result(s, v, 1), 0);
}

static void float_to_int(Sel *s, IrValue v, const IrInsn *insn)
{
  bool is_signed = insn->op == IR_fptosi, half = sel_type(s, insn->args[0]) == IRT_F16;
  if (insn->type == IRT_I64) {
    RtKind kind = half ? (is_signed ? RT_I64_FROM_F16 : RT_U64_FROM_F16)
                       : (is_signed ? RT_I64_FROM_F32 : RT_U64_FROM_F32);
    sel_runtime(s, v, kind, insn->args, 1);
    return;
  }
  Reg to = sel_result(s, v, 0), x = sel_use(s, insn->args[0]);
  if (insn->type == IRT_I32) {
    Opcode op = half ? (is_signed ? OP_h2l : OP_h2ul) : (is_signed ? OP_s2l : OP_s2ul);
    sel_rr(s, op, to, x);
    return;
  }
  Opcode op = half ? (is_signed ? OP_h2i : OP_h2u) : (is_signed ? OP_s2i : OP_s2u);
  if (insn->type == IRT_I16) {
    sel_rr(s, op, to, x);
    return;
  }
  Reg wide = new_word(s);
  sel_rr(s, op, wide, x);
  mask_to(s, insn->type, to, wide);
}

static void int_to_float(Sel *s, IrValue v, const IrInsn *insn)
{
  bool is_signed = insn->op == IR_sitofp, half = insn->type == IRT_F16;
  IrType from = sel_type(s, insn->args[0]);
  if (from == IRT_I64) {
    RtKind kind = half ? (is_signed ? RT_F16_FROM_I64 : RT_F16_FROM_U64)
                       : (is_signed ? RT_F32_FROM_I64 : RT_F32_FROM_U64);
    sel_runtime(s, v, kind, insn->args, 1);
    return;
  }
  Reg to = sel_result(s, v, 0);
  if (from == IRT_I32) {
    Opcode op = half ? (is_signed ? OP_l2h : OP_ul2h) : (is_signed ? OP_l2s : OP_ul2s);
    sel_rr(s, op, to, sel_use(s, insn->args[0]));
    return;
  }
  Opcode op = half ? (is_signed ? OP_i2h : OP_u2h) : (is_signed ? OP_i2s : OP_u2s);
  sel_rr(s, op, to, is_signed ? use_signed(s, insn->args[0]) : sel_use_word(s, insn->args[0]));
}

static void convert_bitcast(Sel *s, IrValue v, const IrInsn *insn)
{
  for (unsigned part = 0; part < (insn->type == IRT_I64 ? 2u : 1u); part++)
    sel_into_part(s, sel_result(s, v, part), insn->args[0], part);
}

void sel_convert(Sel *s, IrValue v, const IrInsn *insn)
{
  switch ((int)insn->op) {
  case IR_trunc:
    convert_trunc(s, v, insn);
    break;
  case IR_sext: case IR_zext:
    convert_extend(s, v, insn);
    break;
  case IR_fptosi: case IR_fptoui:
    float_to_int(s, v, insn);
    break;
  case IR_sitofp: case IR_uitofp:
    int_to_float(s, v, insn);
    break;
  case IR_fpext:
    apply_unary(s, OP_h2s, v, sel_use(s, insn->args[0]));
    break;
  case IR_fptrunc:
    apply_unary(s, OP_s2h, v, sel_use(s, insn->args[0]));
    break;
  default:
    convert_bitcast(s, v, insn);
    break;
  }
}
