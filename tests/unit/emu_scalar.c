/* Scalar instructions against plain C: every opcode of isa.def is carried out here on values from
 * the corners of its range, or named as one that the engine carries out (emu_tasks.c and others
 * test those). */
#include "emu_asm.h"

#include <math.h>

static bool exercised[OP_COUNT];

static const uint16_t words[] = {
  0, 1, 2, 3, 7, 15, 16, 17, 0x7f, 0x80, 0xff, 0x100, 0x1234, 0x7fff, 0x8000, 0x8001, 0xabcd,
  0xfffe, 0xffff,
};
static const uint32_t longs[] = {
  0, 1, 2, 31, 32, 33, 0xffff, 0x10000, 0x12345678, 0x7fffffff, 0x80000000, 0x80000001,
  0xdeadbeef, 0xfffffffe, 0xffffffff,
};
static const float floats[] = {
  0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 1.5f, 3.25f, -7.75f, 1e-40f, 65504.0f, 70000.0f, -1e10f, 3e38f,
};

static uint32_t bits_of(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
static float float_of(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }

/* ---- running one instruction ----------------------------------------------------------------- */

static ClassCode empty_class(void)
{
  static ImageClass image = {.stack_top = 0x200, .stack_bytes = 0x100, .static_bytes = 0x80};
  return (ClassCode){.image = &image, .stack_low = 0x100, .floor = 0x80};
}

static ScalarResult run(Insn insn, Registers *regs)
{
  static uint8_t memory[0x200];
  ClassCode cls = empty_class();
  TileMem mem = {.cls = &cls, .bytes = memory};
  exercised[insn.op] = true;
  return scalar_exec(&insn, 0x4000, FP16_F16, regs, &mem);
}

static Registers sp_ready(void)
{
  Registers regs = {.r = {0}};
  regs.r[7] = 0x200;
  return regs;
}

/* ra = op(rb, rc) with ra = 5, rb = 1, rc = 2; 32-bit: d8, d10, d12. */
static Registers run16(Opcode op, uint16_t b, uint16_t c, bool carry)
{
  Registers regs = sp_ready();
  bool immediate = insn_info[op].format == FMT_RRI;
  regs.r[1] = b;
  regs.r[2] = c;
  regs.carry = carry;
  Insn insn = immediate ? in_rri(op, 5, 1, c) : in_rrr(op, 5, 1, 2);
  if (insn_info[op].format == FMT_RR)
    insn.c = 0;
  assert_int_equal(run(insn, &regs).outcome, SCALAR_NEXT);
  return regs;
}

/* Registers of operands follow insn_is_pair: pairs 8 (a), 10 (b), 12 (c); singles 5, 1, 2. */
static Registers run_any(Opcode op, uint32_t b, uint32_t c, bool carry)
{
  Registers regs = sp_ready();
  unsigned ra = insn_is_pair(op, 0) ? 8 : 5, rb = insn_is_pair(op, 1) ? 10 : 1;
  unsigned rc = insn_is_pair(op, 2) ? 12 : 2;
  bool immediate = insn_info[op].format == FMT_RRI;
  set_reg32(&regs, 10, b);
  set_reg32(&regs, 12, c);
  regs.r[1] = (uint16_t)b;
  regs.r[2] = (uint16_t)c;
  regs.carry = carry;
  Insn insn = immediate ? in_rri(op, ra, rb, c) : in_rrr(op, ra, rb, rc);
  if (insn_info[op].format == FMT_RR)
    insn.c = 0;
  assert_int_equal(run(insn, &regs).outcome, SCALAR_NEXT);
  return regs;
}

static uint32_t result_of(Opcode op, const Registers *regs)
{
  return insn_is_pair(op, 0) ? reg_pair32(regs, 8) : regs->r[5];
}

/* ---- integers -------------------------------------------------------------------------------- */

#define S16(v) ((int16_t)(v))
#define S32(v) ((int32_t)(v))
static int clz16(uint16_t v) { int n = 16; while (v) { v >>= 1; n--; } return n; }
static int ctz16(uint16_t v) { int n = 0; while (n < 16 && !(v & 1u << n)) n++; return n; }
static int pop16(uint16_t v) { int n = 0; for (int i = 0; i < 16; i++) n += v >> i & 1; return n; }

/*    opcode   value from b, c and carry-in k */
#define CASES16                                                                                  \
  CASE(add, b + c) CASE(addi, b + c) CASE(addc, b + c + k) CASE(sub, b - c)                        \
  CASE(subc, b - c - !k) CASE(rsubi, c - b) CASE(and, b & c) CASE(andi, b & c) CASE(or, b | c)     \
  CASE(ori, b | c) CASE(xor, b ^ c) CASE(xori, b ^ c)                                              \
  CASE(sll, c < 16 ? (uint32_t)b << c : 0u) CASE(slr, c < 16 ? b >> c : 0)                         \
  CASE(sar, S16(b) >> (c < 15 ? c : 15)) CASE(mul, (uint32_t)b * c) CASE(muli, (uint32_t)b * c)    \
  CASE(sext8, (int8_t)b) CASE(zext8, b & 255) CASE(clz, clz16(b)) CASE(ctz, ctz16(b))              \
  CASE(popcnt, pop16(b)) CASE(mov, b) CASE(seq, b == c) CASE(sne, b != c)                          \
  CASE(slts, S16(b) < S16(c)) CASE(sltu, b < c) CASE(sles, S16(b) <= S16(c)) CASE(sleu, b <= c)

static void sixteen_bit_integers(void **state)
{
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
    for (size_t j = 0; j < ARRAY_COUNT(words); j++) {
      for (int k = 0; k < 2; k++) {
        uint16_t b = words[i], c = words[j];
        Registers regs;
#define CASE(op, value)                                                                          \
  regs = run16(OP_##op, b, c, k);                                                                 \
  assert_int_equal(regs.r[5], (uint16_t)(value));
        CASES16
#undef CASE
      }
    }
  }
}

static void immediate_shifts(void **state)
{
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
    for (unsigned n = 0; n < 16; n++) {
      uint16_t v = words[i];
      assert_int_equal(run16(OP_slli, v, (uint16_t)n, 0).r[5], (uint16_t)(v << n));
      assert_int_equal(run16(OP_slri, v, (uint16_t)n, 0).r[5], v >> n);
      assert_int_equal(run16(OP_sari, v, (uint16_t)n, 0).r[5], (uint16_t)(S16(v) >> n));
    }
  }
}

static void carry_of_sixteen_bits(void **state)
{
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
    for (size_t j = 0; j < ARRAY_COUNT(words); j++) {
      for (unsigned k = 0; k < 2; k++) {
        uint32_t b = words[i], c = words[j];
        assert_int_equal(run16(OP_add, (uint16_t)b, (uint16_t)c, k).carry, b + c > 0xffff);
        assert_int_equal(run16(OP_addi, (uint16_t)b, (uint16_t)c, k).carry, b + c > 0xffff);
        assert_int_equal(run16(OP_addc, (uint16_t)b, (uint16_t)c, k).carry, b + c + k > 0xffff);
        assert_int_equal(run16(OP_sub, (uint16_t)b, (uint16_t)c, k).carry, b >= c);
        assert_int_equal(run16(OP_subc, (uint16_t)b, (uint16_t)c, k).carry, b >= c + !k);
      }
    }
  }
}

#define CASES32                                                                                  \
  CASE(add32, b + c) CASE(addi32, b + (uint32_t)S16(c)) CASE(addc32, b + c + k)                    \
  CASE(sub32, b - c) CASE(subc32, b - c - !k) CASE(and32, b & c) CASE(or32, b | c)                 \
  CASE(xor32, b ^ c) CASE(sll32, lo < 32 ? b << lo : 0) CASE(slr32, lo < 32 ? b >> lo : 0)         \
  CASE(sar32, S32(b) >> (lo < 31 ? lo : 31)) CASE(mul32, b * c)                                    \
  CASE(sext16, S16(b)) CASE(zext16, b & 0xffff) CASE(mov32, b)                                     \
  CASE(mulwu, (b & 0xffff) * (c & 0xffff)) CASE(mulws, S16(b) * S16(c))                            \
  CASE(seq32, b == c) CASE(sne32, b != c) CASE(slts32, S32(b) < S32(c)) CASE(sltu32, b < c)        \
  CASE(sles32, S32(b) <= S32(c)) CASE(sleu32, b <= c)

static void thirty_two_bit_integers(void **state)
{
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(longs); i++) {
    for (size_t j = 0; j < ARRAY_COUNT(longs); j++) {
      for (int k = 0; k < 2; k++) {
        uint32_t b = longs[i], c = longs[j], lo = c & 0xffff;
        Registers regs;
#define CASE(op, value)                                                                          \
  regs = run_any(OP_##op, b, c, k);                                                               \
  assert_int_equal(result_of(OP_##op, &regs), (uint32_t)(value));
        CASES32
#undef CASE
        assert_int_equal(run_any(OP_add32, b, c, k).carry, (uint64_t)b + c > UINT32_MAX);
        assert_int_equal(run_any(OP_addc32, b, c, k).carry,
                         (uint64_t)b + c + (unsigned)k > UINT32_MAX);
        assert_int_equal(run_any(OP_sub32, b, c, k).carry, b >= c);
        assert_int_equal(run_any(OP_subc32, b, c, k).carry, (uint64_t)b >= (uint64_t)c + !k);
      }
    }
    for (unsigned n = 0; n < 32; n++) {
      uint32_t v = longs[i];
      Registers regs = run_any(OP_slli32, v, n, 0);
      assert_int_equal(reg_pair32(&regs, 8), v << n);
      regs = run_any(OP_slri32, v, n, 0);
      assert_int_equal(reg_pair32(&regs, 8), v >> n);
      regs = run_any(OP_sari32, v, n, 0);
      assert_int_equal(reg_pair32(&regs, 8), (uint32_t)(S32(v) >> n));
    }
  }
}

static void check_division(Opcode op, uint32_t b, uint32_t c, uint32_t value)
{
  Registers regs = run_any(op, b, c, false);
  assert_int_equal(result_of(op, &regs), value);
}

static void division(void **state)
{
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(longs); i++) {
    for (size_t j = 0; j < ARRAY_COUNT(longs); j++) {
      uint32_t b = longs[i], c = longs[j];
      uint16_t hb = (uint16_t)b, hc = (uint16_t)c;
      if (c) {
        check_division(OP_divu32, b, c, b / c);
        check_division(OP_remu32, b, c, b % c);
        check_division(OP_divs32, b, c, (uint32_t)((int64_t)S32(b) / S32(c)));
        check_division(OP_rems32, b, c, (uint32_t)((int64_t)S32(b) % S32(c)));
      }
      if (hc) {
        check_division(OP_divu, b, c, hb / hc);
        check_division(OP_remu, b, c, hb % hc);
        check_division(OP_divs, b, c, (uint16_t)(S16(hb) / S16(hc)));
        check_division(OP_rems, b, c, (uint16_t)(S16(hb) % S16(hc)));
      }
    }
  }
}

static void division_by_zero_gives_zero_and_leaves_the_dividend(void **state)
{
  (void)state;
  static const struct { Opcode op; bool remainder, wide; } ops[] = {
    {OP_divs, false, false}, {OP_divu, false, false}, {OP_rems, true, false},
    {OP_remu, true, false}, {OP_divs32, false, true}, {OP_divu32, false, true},
    {OP_rems32, true, true}, {OP_remu32, true, true},
  };
  const uint32_t dividend = 0x8765fedcu;
  for (size_t i = 0; i < ARRAY_COUNT(ops); i++) {
    Registers regs = sp_ready();
    set_reg32(&regs, 10, dividend);
    set_reg32(&regs, 12, 0);
    ScalarResult result = run(in_rrr(ops[i].op, 8, 10, 12), &regs);
    assert_int_equal(result.outcome, SCALAR_NEXT);
    uint32_t expected = ops[i].remainder ? dividend : 0;
    assert_int_equal(ops[i].wide ? reg_pair32(&regs, 8) : regs.r[8],
                     ops[i].wide ? expected : (uint16_t)expected);
  }
}

/* ---- floating point -------------------------------------------------------------------------- */

static uint32_t canonical(float f)
{
  return f != f ? 0x7fc00000u : bits_of(f);
}

static void single_precision(void **state)
{
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(floats); i++) {
    for (size_t j = 0; j < ARRAY_COUNT(floats); j++) {
      float b = floats[i], c = floats[j];
      uint32_t ub = bits_of(b), uc = bits_of(c);
      Registers regs;
#define CHECK(op, value)                                                                         \
  regs = run_any(OP_##op, ub, uc, false);                                                         \
  assert_int_equal(result_of(OP_##op, &regs), (value));
      CHECK(fadds, canonical(b + c))
      CHECK(fsubs, canonical(b - c))
      CHECK(fmuls, canonical(b * c))
      CHECK(fdivs, canonical(b / c))
      CHECK(feqs, b == c)
      CHECK(flts, b < c)
      CHECK(fles, b <= c)
      CHECK(fnegs, bits_of(-b))
#undef CHECK
    }
    for (int n = -30; n <= 30; n += 5) {
      Registers regs = run_any(OP_fscales, bits_of(floats[i]), (uint16_t)n, false);
      assert_int_equal(reg_pair32(&regs, 8), bits_of(ldexpf(floats[i], n)));
    }
  }
}

/* 16-bit values go through double, which is exact for them; fp.c's conversions have a test of
 * their own. */
static double half_value(uint16_t h) { return fp16_to_double(FP16_F16, h); }
static uint16_t half_of(double d) { return fp16_from_double(FP16_F16, d); }

static void half_precision(void **state)
{
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(floats); i++) {
    for (size_t j = 0; j < ARRAY_COUNT(floats); j++) {
      uint16_t b = half_of(floats[i]), c = half_of(floats[j]);
      double vb = half_value(b), vc = half_value(c);
      assert_int_equal(run16(OP_faddh, b, c, 0).r[5], half_of((float)vb + (float)vc));
      assert_int_equal(run16(OP_fsubh, b, c, 0).r[5], half_of((float)vb - (float)vc));
      assert_int_equal(run16(OP_fmulh, b, c, 0).r[5], half_of((float)vb * (float)vc));
      assert_int_equal(run16(OP_fdivh, b, c, 0).r[5], half_of((float)vb / (float)vc));
      assert_int_equal(run16(OP_feqh, b, c, 0).r[5], vb == vc);
      assert_int_equal(run16(OP_flth, b, c, 0).r[5], vb < vc);
      assert_int_equal(run16(OP_fleh, b, c, 0).r[5], vb <= vc);
      assert_int_equal(run16(OP_fnegh, b, c, 0).r[5], b ^ 0x8000);
    }
    uint16_t h = half_of(floats[i]);
    for (int n = -10; n <= 10; n++)
      assert_int_equal(run16(OP_fscaleh, h, (uint16_t)n, 0).r[5], half_of(ldexp(half_value(h), n)));
  }
}

static void conversions_from_integers(void **state)
{
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(longs); i++) {
    uint32_t v = longs[i];
    uint16_t h = (uint16_t)v;
    Registers regs;
#define CHECK(op, value)                                                                         \
  regs = run_any(OP_##op, v, 0, false);                                                           \
  assert_int_equal(result_of(OP_##op, &regs), (value));
    CHECK(i2s, bits_of((float)S16(h)))
    CHECK(u2s, bits_of((float)h))
    CHECK(l2s, bits_of((float)S32(v)))
    CHECK(ul2s, bits_of((float)v))
    CHECK(i2h, half_of(S16(h)))
    CHECK(u2h, half_of(h))
    CHECK(l2h, half_of(S32(v)))
    CHECK(ul2h, half_of(v))
#undef CHECK
  }
}

static void conversions_of_floats(void **state)
{
  (void)state;
  static const float small[] = {0.0f, 0.5f, -0.5f, 1.0f, -1.5f, 99.9f, -99.9f, 2047.0f, 30000.0f};
  for (size_t i = 0; i < ARRAY_COUNT(small); i++) {
    float f = small[i];
    uint16_t h = half_of(f);
    int64_t whole = (int64_t)f, half_whole = (int64_t)half_value(h);
    Registers regs;
#define CHECK(op, source, value)                                                                 \
  regs = run_any(OP_##op, source, 0, false);                                                      \
  assert_int_equal(result_of(OP_##op, &regs), (value));
    CHECK(s2i, bits_of(f), (uint16_t)whole)
    CHECK(s2l, bits_of(f), (uint32_t)whole)
    CHECK(h2i, h, (uint16_t)half_whole)
    CHECK(h2l, h, (uint32_t)half_whole)
    CHECK(h2s, h, bits_of((float)half_value(h)))
    CHECK(s2h, bits_of(f), h)
    if (f >= 0) {
      CHECK(s2u, bits_of(f), (uint16_t)whole)
      CHECK(s2ul, bits_of(f), (uint32_t)whole)
      CHECK(h2u, h, (uint16_t)half_whole)
      CHECK(h2ul, h, (uint32_t)half_whole)
    }
#undef CHECK
  }
  assert_true(float_of(bits_of(1.0f)) == 1.0f);
}

/* ---- constants, memory, control flow --------------------------------------------------------- */

static void constants(void **state)
{
  (void)state;
  Registers regs = sp_ready(), before = regs;
  assert_int_equal(run(in_ri(OP_li, 3, 0xbeef), &regs).outcome, SCALAR_NEXT);
  assert_int_equal(regs.r[3], 0xbeef);
  assert_int_equal(run(in_ri(OP_li32, 4, 0x12345678), &regs).outcome, SCALAR_NEXT);
  assert_int_equal(reg_pair32(&regs, 4), 0x12345678);
  regs = before;
  assert_int_equal(run(in0(OP_nop), &regs).outcome, SCALAR_NEXT);
  assert_memory_equal(&regs, &before, sizeof regs);
  regs.vstat = true;
  run((Insn){.op = OP_vstat, .a = 6}, &regs);
  assert_int_equal(regs.r[6], 1);
}

static void loads_and_stores(void **state)
{
  (void)state;
  Registers regs = sp_ready();
  regs.r[1] = 0x10;
  set_reg32(&regs, 8, 0x8899aabb);
  run(in_rri(OP_st32, 8, 1, 4), &regs);           /* at 0x14: bb aa 99 88 */
  run(in_rri(OP_ld16, 2, 1, 4), &regs);
  assert_int_equal(regs.r[2], 0xaabb);
  run(in_rri(OP_ld8u, 2, 1, 5), &regs);
  assert_int_equal(regs.r[2], 0xaa);
  run(in_rri(OP_ld8s, 2, 1, 5), &regs);
  assert_int_equal(regs.r[2], 0xffaa);
  run(in_rri(OP_ld32, 10, 1, 4), &regs);
  assert_int_equal(reg_pair32(&regs, 10), 0x8899aabb);
  run(in_ri(OP_ld16a, 2, 0x16), &regs);
  assert_int_equal(regs.r[2], 0x8899);
  run(in_ri(OP_ld8ua, 2, 0x17), &regs);
  assert_int_equal(regs.r[2], 0x88);
  run(in_ri(OP_ld8sa, 2, 0x17), &regs);
  assert_int_equal(regs.r[2], 0xff88);
  regs.r[2] = 0x1122;
  run(in_rri(OP_st8, 2, 1, 0xfff5), &regs);        /* 0x10 - 11 = 5 */
  run(in_ri(OP_ld32a, 12, 4), &regs);
  assert_int_equal(reg_pair32(&regs, 12), 0x2200);
  run(in_ri(OP_st16a, 2, 0x20), &regs);
  run(in_ri(OP_st8a, 2, 0x23), &regs);
  run(in_ri(OP_ld32a, 12, 0x20), &regs);
  assert_int_equal(reg_pair32(&regs, 12), 0x22001122);
  run(in_ri(OP_st32a, 12, 0x24), &regs);
  run(in_rri(OP_st16, 2, 1, 0x18), &regs);
  run(in_ri(OP_ld32a, 10, 0x28), &regs);
  assert_int_equal(reg_pair32(&regs, 10), 0x1122);
}

static void expect_fault(Insn insn, Registers regs, FaultKind kind, uint32_t value)
{
  ScalarResult result = run(insn, &regs);
  assert_int_equal(result.outcome, SCALAR_FAULT);
  assert_int_equal(result.fault, kind);
  assert_int_equal(result.value, value);
}

static void faults(void **state)
{
  (void)state;
  Registers regs = sp_ready();
  expect_fault(in_ri(OP_ld16a, 2, 0x11), regs, FAULT_ALIGNMENT, 0x11);
  expect_fault(in_ri(OP_st32a, 2, 0x13), regs, FAULT_ALIGNMENT, 0x13);
  expect_fault(in_ri(OP_ld16a, 2, PE_MEM_BYTES), regs, FAULT_ADDRESS, PE_MEM_BYTES);
  expect_fault(in_ri(OP_ld32a, 2, PE_MEM_BYTES - 2), regs, FAULT_ADDRESS, PE_MEM_BYTES - 2);
  expect_fault(in_ri(OP_st8a, 2, 0xffff), regs, FAULT_ADDRESS, 0xffff);
  expect_fault(in_i(OP_trap, 42), regs, FAULT_TRAP, 42);
  expect_fault((Insn){.op = OP_assert, .a = 3}, regs, FAULT_ASSERT, 0);
  regs.r[3] = 1;
  assert_int_equal(run((Insn){.op = OP_assert, .a = 3}, &regs).outcome, SCALAR_NEXT);
}

static void stack(void **state)
{
  (void)state;
  Registers regs = sp_ready();
  ScalarResult result = run(in_i(OP_call, 0x4100), &regs);
  assert_int_equal(result.outcome, SCALAR_JUMP);
  assert_int_equal(result.pc, 0x4100);
  assert_int_equal(regs.r[7], 0x1fe);
  result = run(in0(OP_ret), &regs);
  assert_int_equal(result.pc, 0x4004);
  assert_int_equal(regs.r[7], 0x200);
  regs.r[4] = 0x4200;
  result = run((Insn){.op = OP_callr, .a = 4}, &regs);
  assert_int_equal(result.pc, 0x4200);
  assert_int_equal(run(in0(OP_ret), &regs).pc, 0x4002);
  regs.r[7] = 0x80;
  expect_fault(in_i(OP_call, 0x4100), regs, FAULT_STACK, 0x7e);
  expect_fault(in_rri(OP_addi, 7, 7, 0xfff0), regs, FAULT_STACK, 0x70);
  regs.r[7] = 0x90;
  assert_int_equal(run(in_rri(OP_addi, 7, 7, 0xfff0), &regs).outcome, SCALAR_NEXT);
}

static void check_branch(Insn insn, uint16_t b, uint16_t c, bool taken)
{
  Registers regs = sp_ready();
  regs.r[1] = b;
  regs.r[2] = c;
  ScalarResult result = run(insn, &regs);
  assert_int_equal(result.outcome, taken ? SCALAR_JUMP : SCALAR_NEXT);
  if (taken)
    assert_int_equal(result.pc, 0x4242);
}

static void branches(void **state)
{
  (void)state;
  Registers regs = sp_ready();
  assert_int_equal(run(in_i(OP_jmp, 0x4242), &regs).pc, 0x4242);
  for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
    for (size_t j = 0; j < ARRAY_COUNT(words); j++) {
      uint16_t b = words[i], c = words[j];
      check_branch(in_ri(OP_bz, 1, 0x4242), b, c, b == 0);
      check_branch(in_ri(OP_bnz, 1, 0x4242), b, c, b != 0);
      check_branch(in_rri(OP_beq, 1, 2, 0x4242), b, c, b == c);
      check_branch(in_rri(OP_bne, 1, 2, 0x4242), b, c, b != c);
      check_branch(in_rri(OP_blts, 1, 2, 0x4242), b, c, S16(b) < S16(c));
      check_branch(in_rri(OP_bltu, 1, 2, 0x4242), b, c, b < c);
      check_branch(in_rri(OP_bges, 1, 2, 0x4242), b, c, S16(b) >= S16(c));
      check_branch(in_rri(OP_bgeu, 1, 2, 0x4242), b, c, b >= c);
      check_branch(in_rij(OP_beqi, 1, c, 0x4242), b, c, b == c);
      check_branch(in_rij(OP_bnei, 1, c, 0x4242), b, c, b != c);
      check_branch(in_rij(OP_bltsi, 1, c, 0x4242), b, c, S16(b) < S16(c));
      check_branch(in_rij(OP_bltui, 1, c, 0x4242), b, c, b < c);
      check_branch(in_rij(OP_bgesi, 1, c, 0x4242), b, c, S16(b) >= S16(c));
      check_branch(in_rij(OP_bgeui, 1, c, 0x4242), b, c, b >= c);
    }
  }
}

/* A second definition of the generator: the recurrence b[n + 23] = b[n] ^ b[n + 5] on a list of
 * bits; a use moves the window of 16 by 128 bits. */
static void random_numbers(void **state)
{
  (void)state;
  enum { BITS = 23, USES = 4, STEPS = 128 };
  uint32_t machine = 0xdeadbeef;
  bool bit[BITS + USES * STEPS];
  for (unsigned i = 0; i < BITS; i++)
    bit[i] = machine >> i & 1;
  for (unsigned i = BITS; i < ARRAY_COUNT(bit); i++)
    bit[i] = bit[i - BITS] != bit[i - BITS + 5];
  for (unsigned use = 1; use <= USES; use++) {
    uint16_t value = scalar_random(&machine);
    for (unsigned i = 0; i < 16; i++)
      assert_int_equal(value >> i & 1, bit[use * STEPS + i]);
  }
}

/* The rest belongs to the engine and must say so. */
static void every_opcode_is_covered(void **state)
{
  (void)state;
  static const Opcode engine[] = {
    OP_endtask, OP_ldsr, OP_dsrset, OP_dsrget, OP_vec, OP_act, OP_acti, OP_blk, OP_blki, OP_unblk,
    OP_unblki, OP_ldcfg, OP_ldcfgi, OP_stcfg, OP_stcfgi, OP_qflush, OP_rnd, OP_prng, OP_stctr, OP_stctra,
  };
  for (size_t i = 0; i < ARRAY_COUNT(engine); i++) {
    Registers regs = sp_ready();
    assert_false(exercised[engine[i]]);
    assert_int_equal(run((Insn){.op = engine[i]}, &regs).outcome, SCALAR_ENGINE);
  }
  for (unsigned op = 0; op < OP_COUNT; op++)
    if (!exercised[op])
      fail_msg("opcode %s is not tested", insn_info[op].name);
}

/* ---- memory that the host reads ---------------------------------------------------------- */

/* Data, bytes that do not exist, the stack, the code and what lies behind: every range of them has
 * the bytes that reads of one byte give. */
static void ranges_over_several_places_have_the_bytes_of_each(void **state)
{
  (void)state;
  enum { BYTES = 0x80 };
  static const uint16_t code[] = {0x1234, 0x5678, 0x9abc};
  static const ImageClass image = {.stack_top = 0x40, .stack_bytes = 0x20, .static_bytes = 0x10,
                                   .code_address = 0x48, .code = code};
  static uint8_t compact[0x10 + 0x20], full[PE_MEM_BYTES];
  for (uint32_t i = 0; i < sizeof full; i++)
    full[i] = (uint8_t)(i * 7 + 1);
  memcpy(compact, full, sizeof compact);
  ClassCode cls = {.image = &image, .stack_low = 0x20, .code_end = 0x48 + sizeof code};
  for (unsigned is_full = 0; is_full < 2; is_full++) {
    TileMem mem = {.cls = &cls, .bytes = is_full ? full : compact, .full = is_full};
    uint8_t one[BYTES], got[BYTES];
    for (uint32_t at = 0; at < BYTES; at++)
      assert_true(mem_host_read(&mem, at, &one[at], 1));
    assert_int_equal(one[0x4b], 0x56);
    assert_int_equal(one[0x20], is_full ? full[0x20] : compact[0x10]);
    for (uint32_t at = 0; at < BYTES; at++)
      for (uint32_t n = 1; at + n <= BYTES; n++) {
        assert_true(mem_host_read(&mem, at, got, n));
        assert_memory_equal(got, one + at, n);
      }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(sixteen_bit_integers),
    cmocka_unit_test(immediate_shifts),
    cmocka_unit_test(carry_of_sixteen_bits),
    cmocka_unit_test(thirty_two_bit_integers),
    cmocka_unit_test(division),
    cmocka_unit_test(division_by_zero_gives_zero_and_leaves_the_dividend),
    cmocka_unit_test(single_precision),
    cmocka_unit_test(half_precision),
    cmocka_unit_test(conversions_from_integers),
    cmocka_unit_test(conversions_of_floats),
    cmocka_unit_test(constants),
    cmocka_unit_test(loads_and_stores),
    cmocka_unit_test(faults),
    cmocka_unit_test(stack),
    cmocka_unit_test(branches),
    cmocka_unit_test(random_numbers),
    cmocka_unit_test(every_opcode_is_covered),
    cmocka_unit_test(ranges_over_several_places_have_the_bytes_of_each),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
