/* Floating-point exceptions of instructions and of vector elements. Computed only if a program has
 * unmasked one. */
#include "emu/tile/tile_internal.h"

enum { BITS16 = 16, BITS32 = 32 };

typedef struct {
  const Insn *insn;
  Fp16Format fp16;
  const Registers *before, *after;
} Raise;

/* Operands and results, 16-bit and f32. */
static double half_value(const Raise *r, uint16_t bits) { return fp16_to_double(r->fp16, bits); }
static double half_b(const Raise *r) { return half_value(r, r->before->r[r->insn->b]); }
static double half_c(const Raise *r) { return half_value(r, r->before->r[r->insn->c]); }
static double half_a(const Raise *r) { return half_value(r, r->after->r[r->insn->a]); }
static double single_b(const Raise *r) { return fp32_to_double(reg_pair32(r->before, r->insn->b)); }
static double single_c(const Raise *r) { return fp32_to_double(reg_pair32(r->before, r->insn->c)); }
static double single_a(const Raise *r) { return fp32_to_double(reg_pair32(r->after, r->insn->a)); }
static int scale_exponent(const Raise *r) { return (int16_t)r->before->r[r->insn->c]; }
static double long_signed(const Raise *r) { return (int32_t)reg_pair32(r->before, r->insn->b); }
static double long_unsigned(const Raise *r) { return reg_pair32(r->before, r->insn->b); }

/* The other integers of 16 bits and all values of 16-bit formats are values of f32. */
static unsigned conversion_raised(const Raise *r)
{
  double least = fp16_least_normal(r->fp16);
  switch ((int)r->insn->op) {
  case OP_s2h: return fp_raised_rounding(single_b(r), half_a(r), least);
  case OP_i2h: return fp_raised_rounding((int16_t)r->before->r[r->insn->b], half_a(r), least);
  case OP_u2h: return fp_raised_rounding(r->before->r[r->insn->b], half_a(r), least);
  case OP_l2h: return fp_raised_rounding(long_signed(r), half_a(r), least);
  case OP_ul2h: return fp_raised_rounding(long_unsigned(r), half_a(r), least);
  case OP_l2s: return fp_raised_rounding(long_signed(r), single_a(r), fp32_least_normal());
  case OP_ul2s: return fp_raised_rounding(long_unsigned(r), single_a(r), fp32_least_normal());
  case OP_h2i: return fp_raised_to_int(half_b(r), BITS16, true);
  case OP_h2u: return fp_raised_to_int(half_b(r), BITS16, false);
  case OP_s2i: return fp_raised_to_int(single_b(r), BITS16, true);
  case OP_s2u: return fp_raised_to_int(single_b(r), BITS16, false);
  case OP_h2l: return fp_raised_to_int(half_b(r), BITS32, true);
  case OP_h2ul: return fp_raised_to_int(half_b(r), BITS32, false);
  case OP_s2l: return fp_raised_to_int(single_b(r), BITS32, true);
  case OP_s2ul: return fp_raised_to_int(single_b(r), BITS32, false);
  default: return 0;
  }
}

unsigned scalar_raised(const Insn *insn, Fp16Format fp16, const Registers *before,
                       const Registers *after)
{
  Raise raise = {insn, fp16, before, after}, *r = &raise;
  double least16 = fp16_least_normal(fp16), least32 = fp32_least_normal();
  switch ((int)insn->op) {
  case OP_faddh: return fp_raised_sum(half_b(r), half_c(r), half_a(r), least16);
  case OP_fsubh: return fp_raised_sum(half_b(r), -half_c(r), half_a(r), least16);
  case OP_fmulh: return fp_raised_product(half_b(r), half_c(r), half_a(r), least16);
  case OP_fdivh: return fp_raised_quotient(half_b(r), half_c(r), half_a(r), least16);
  case OP_fscaleh: return fp_raised_scale(half_b(r), scale_exponent(r), half_a(r), least16);
  case OP_fadds: return fp_raised_sum(single_b(r), single_c(r), single_a(r), least32);
  case OP_fsubs: return fp_raised_sum(single_b(r), -single_c(r), single_a(r), least32);
  case OP_fmuls: return fp_raised_product(single_b(r), single_c(r), single_a(r), least32);
  case OP_fdivs: return fp_raised_quotient(single_b(r), single_c(r), single_a(r), least32);
  case OP_fscales: return fp_raised_scale(single_b(r), scale_exponent(r), single_a(r), least32);
  case OP_flth: case OP_fleh: return fp_raised_compare(half_b(r), half_c(r));
  case OP_flts: case OP_fles: return fp_raised_compare(single_b(r), single_c(r));
  default: return conversion_raised(r);
  }
}

static double element_value(VecElem elem, Fp16Format fp16, uint32_t bits)
{
  return elem == VE_F32 ? fp32_to_double(bits) : fp16_to_double(fp16, (uint16_t)bits);
}

unsigned vec_raised(VecOp op, Fp16Format fp16, uint32_t a, uint32_t b, uint32_t s, uint32_t result)
{
  const VecOpInfo *info = &vecops[op];
  VecElem dst = info->dst, src = info->src;
  double least = dst == VE_F32 ? fp32_least_normal() : fp16_least_normal(fp16);
  double to = element_value(dst, fp16, result);
  switch ((int)info->kind) {
  case VK_FADD: case VK_FADDHS:
    return fp_raised_sum(element_value(dst, fp16, a), element_value(src, fp16, b), to, least);
  case VK_FSUB:
    return fp_raised_sum(element_value(dst, fp16, a), -element_value(src, fp16, b), to, least);
  case VK_FMUL:
    return fp_raised_product(element_value(dst, fp16, a), element_value(src, fp16, b), to, least);
  case VK_FMAC: case VK_FMACHS:
    return fp_raised_fma(element_value(src, fp16, b), element_value(src, fp16, s),
                         element_value(dst, fp16, a), to, least);
  case VK_FSCALE: return fp_raised_scale(element_value(src, fp16, b), (int16_t)s, to, least);
  case VK_S2H: return fp_raised_rounding(element_value(VE_F32, fp16, b), to, least);
  case VK_F2I: return fp_raised_to_int(element_value(src, fp16, b), BITS16, true);
  case VK_I2F: return fp_raised_rounding((int16_t)b, to, least);
  default: return 0;
  }
}
