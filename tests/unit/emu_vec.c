/* Vector operations: what one element computes, and how operations walk: lengths, folds, strides,
 * dimensions, circular buffers, kept addresses, single steps, packing in wavelets, FIFOs. */
#include "emu_asm.h"

#include <math.h>

enum { A = 0x100, B = 0x300, D = 0x500, OUT = 0x700, STATE = 0x40, LOOP = 3, IN_QUEUE = 2,
       OUT_QUEUE = 3 };

static uint32_t bits_of(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
static double half_value(uint16_t h) { return fp16_to_double(FP16_F16, h); }
static uint16_t half_of(double d) { return fp16_from_double(FP16_F16, d); }

/* ---- one element, every operation ------------------------------------------------------------ */

static const uint16_t shorts[] = {0, 1, 2, 5, 15, 16, 0x7fff, 0x8000, 0xbeef, 0xffff};
static const float floats[] = {0.0f, 1.0f, -1.0f, 2.5f, -0.375f, 1000.0f, -3.0f};

static uint32_t element(VecOp op, uint32_t a, uint32_t b, uint32_t s)
{
  bool carry = false;
  return vec_element(op, FP16_F16, a, b, s, &carry);
}

static uint32_t plain16(VecOp op, uint16_t a, uint16_t b)
{
  switch ((int)op) {
  case VEC_add16: return (uint16_t)(a + b);
  case VEC_addc16: return (uint16_t)(a + b);
  case VEC_sub16: return (uint16_t)(a - b);
  case VEC_and16: return a & b;
  case VEC_or16: return a | b;
  case VEC_xor16: return a ^ b;
  case VEC_sll16: return b > 15 ? 0 : (uint16_t)(a << b);
  case VEC_slr16: return b > 15 ? 0 : a >> b;
  case VEC_sar16: return (uint16_t)((int16_t)a >> (b > 15 ? 15 : b));
  case VEC_clz: for (int n = 0; n < 16; n++) if (b >> (15 - n) & 1) return (uint32_t)n; return 16;
  case VEC_ctz: for (int n = 0; n < 16; n++) if (b >> n & 1) return (uint32_t)n; return 16;
  case VEC_popcnt: { uint32_t n = 0; for (; b; b &= (uint16_t)(b - 1)) n++; return n; }
  case VEC_mov16: return b;
  default: return UINT32_MAX;
  }
}

static double plain_float(VecKind kind, double a, double b, double s)
{
  switch ((int)kind) {
  case VK_FADD: return a + b;
  case VK_FSUB: return a - b;
  case VK_FMUL: return a * b;
  case VK_FMAX: return a > b ? a : b;
  case VK_FMAC: return a + b * s;
  case VK_FNEG: return -b;
  case VK_FABS: return b < 0 ? -b : b;
  case VK_MOV: return b;
  case VK_FNORM: { int e; double m = frexp(b, &e); return m * 2; }
  default: return 12345;
  }
}

static void integer_elements(void **state)
{
  (void)state;
  for (VecOp op = 0; op < VEC_COUNT; op++) {
    if (vecops[op].dst != VE_I16 && op != VEC_mov16)
      continue;
    if (vecops[op].kind == VK_F2I)
      continue;
    for (size_t i = 0; i < ARRAY_COUNT(shorts); i++)
      for (size_t j = 0; j < ARRAY_COUNT(shorts); j++)
        assert_int_equal(element(op, shorts[i], shorts[j], 0), plain16(op, shorts[i], shorts[j]));
  }
  assert_int_equal(element(VEC_mov32, 0, 0x12345678, 0), 0x12345678);
}

static void float_elements(void **state)
{
  (void)state;
  for (VecOp op = 0; op < VEC_COUNT; op++) {
    VecKind kind = vecops[op].kind;
    bool single = vecops[op].dst == VE_F32, same = vecops[op].dst == vecops[op].src;
    if ((!single && vecops[op].dst != VE_F16) || !same || kind == VK_FSCALE)
      continue;
    for (size_t i = 0; i < ARRAY_COUNT(floats) * ARRAY_COUNT(floats); i++) {
      float a = floats[i % ARRAY_COUNT(floats)], b = floats[i / ARRAY_COUNT(floats)];
      double want = plain_float(kind, a, b, 2.0);
      if (single)
        assert_int_equal(element(op, bits_of(a), bits_of(b), bits_of(2.0f)) & 0x7fffffff,
                         bits_of((float)want) & 0x7fffffff);
      else
        assert_int_equal(element(op, half_of(a), half_of(b), half_of(2.0)) & 0x7fff,
                         half_of(want) & 0x7fff);
    }
  }
}

static void mixed_and_converting_elements(void **state)
{
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(floats); i++) {
    float f = floats[i];
    uint16_t h = half_of(f);
    assert_int_equal(element(VEC_faddhs, bits_of(10.0f), h, 0),
                     bits_of(10.0f + (float)half_value(h)));
    assert_int_equal(element(VEC_fmachs, bits_of(10.0f), h, half_of(3)),
                     bits_of(10.0f + 3 * (float)half_value(h)));
    assert_int_equal(element(VEC_fs2h, 0, bits_of(f), 0), h);
    assert_int_equal(element(VEC_fh2s, 0, h, 0), bits_of((float)half_value(h)));
    assert_int_equal(element(VEC_fh2xp16, 0, h, 0), (uint16_t)(int16_t)half_value(h));
    assert_int_equal(element(VEC_fs2xp16, 0, bits_of(f), 0), (uint16_t)(int16_t)f);
    assert_int_equal(element(VEC_fscales, 0, bits_of(f), 3), bits_of(f * 8));
    assert_int_equal(element(VEC_fscaleh, 0, h, 0xffff), half_of(half_value(h) / 2));
  }
  for (size_t i = 0; i < ARRAY_COUNT(shorts); i++) {
    assert_int_equal(element(VEC_xp162fs, 0, shorts[i], 0), bits_of((int16_t)shorts[i]));
    assert_int_equal(element(VEC_xp162fh, 0, shorts[i], 0), half_of((int16_t)shorts[i]));
  }
}

static void carry_runs_through_addc16(void **state)
{
  (void)state;
  bool carry = false;
  assert_int_equal(vec_element(VEC_addc16, FP16_F16, 0xffff, 1, 0, &carry), 0);
  assert_true(carry);
  assert_int_equal(vec_element(VEC_addc16, FP16_F16, 1, 1, 0, &carry), 3);
  assert_false(carry);
}

/* ---- programs of one tile -------------------------------------------------------------------- */

typedef struct { Asm *a; AsmClass *c; } One;

static One one_tile(Arch arch)
{
  One o = {asm_new(arch, 1, 1), NULL};
  o.c = asm_class(o.a, 0, 0, 0, 0);
  for (unsigned i = 0; i < 64; i++) {
    float fa = (float)(i + 1), fb = (float)(10 * i);
    asm_bytes(o.c, (uint16_t)(A + 4 * i), &fa, 4);
    asm_bytes(o.c, (uint16_t)(B + 4 * i), &fb, 4);
  }
  uint32_t nothing = 0;
  asm_bytes(o.c, OUT + 0x200, &nothing, 4);
  asm_input(o.c, IN_QUEUE, LOOP);
  asm_output(o.c, OUT_QUEUE, LOOP);
  asm_route(o.a, 0, 0, LOOP, M_R, M_R);
  o.c->image.start_entry = ASM_CODE;
  return o;
}

static void finish(One o, uint32_t kinds)
{
  asm_emit(o.c, in0(OP_endtask));
  asm_run_quiet(o.a, kinds);
}

static float out(One o, unsigned i) { return asm_float(o.a, 0, 0, (uint16_t)(OUT + 4 * i)); }

static void memory_to_memory(void **state)
{
  (void)state;
  One o = one_tile(ARCH_WSE2);
  VecOperand d = asm_dsr(o.c, DSR_DEST, 0, de_mem(OUT, 10, 1));
  VecOperand a = asm_dsr(o.c, DSR_SRC0, 0, de_mem(A, 10, 1));
  VecOperand b = asm_dsr(o.c, DSR_SRC1, 0, de_mem(B + 36, 10, -1));
  asm_emit(o.c, in_vec(VEC_fadds, d, a, b));
  finish(o, 0);
  for (unsigned i = 0; i < 10; i++)
    assert_true(out(o, i) == (float)(i + 1 + 10 * (9 - i)));
  assert_true(out(o, 10) == 0.0f);
  asm_free(o.a);
}

static void multiply_accumulate_with_a_register(void **state)
{
  (void)state;
  One o = one_tile(ARCH_WSE2);
  VecOperand d = asm_dsr(o.c, DSR_DEST, 0, de_mem(OUT, 5, 1));
  VecOperand a = asm_dsr(o.c, DSR_SRC0, 0, de_mem(A, 5, 1));
  VecOperand b = asm_dsr(o.c, DSR_SRC1, 0, de_mem(B, 5, 2));
  Insn vec = in_vec(VEC_fmacs, d, a, b);
  vec.vec.has_scalar = true;
  vec.vec.scalar = 4;
  asm_emit(o.c, in_ri(OP_li32, 4, bits_of(0.5f)));
  asm_emit(o.c, vec);
  finish(o, 0);
  for (unsigned i = 0; i < 5; i++)
    assert_true(out(o, i) == (float)(i + 1) + 0.5f * (float)(20 * i));
  asm_free(o.a);
}

/* acc = s; for e in D: acc = op(acc, e). */
static void fold_in_a_register(void **state)
{
  (void)state;
  One o = one_tile(ARCH_WSE2);
  VecOperand b = asm_dsr(o.c, DSR_SRC1, 0, de_mem(A, 8, 1));
  asm_emit(o.c, in_ri(OP_li32, 4, bits_of(100.0f)));
  asm_emit(o.c, in_vec(VEC_fadds, op_reg(4), op_reg(4), b));
  asm_emit(o.c, in_vec(VEC_fmovs, op_reg(8), op_none(), b));   /* the last element remains */
  finish(o, 0);
  assert_int_equal(reg_pair32(o.a->ops->registers(o.a->engine, 0), 4), bits_of(136.0f));
  assert_int_equal(reg_pair32(o.a->ops->registers(o.a->engine, 0), 8), bits_of(8.0f));
  asm_free(o.a);
}

/* A memory descriptor with stride 0 as destination and first source folds too. */
static void fold_in_memory(void **state)
{
  (void)state;
  One o = one_tile(ARCH_WSE2);
  VecOperand acc = asm_dsr(o.c, DSR_SRC0, 0, de_mem(OUT, 6, 0));
  VecOperand b = asm_dsr(o.c, DSR_SRC1, 0, de_mem(A, 6, 1));
  asm_emit(o.c, in_vec(VEC_fadds, acc, acc, b));
  finish(o, 0);
  assert_true(out(o, 0) == 21.0f);
  asm_free(o.a);
}

static void mixed_fold_has_a_wide_accumulator(void **state)
{
  (void)state;
  One o = one_tile(ARCH_WSE2);
  for (unsigned i = 0; i < 4; i++) {
    uint16_t h = half_of(0.25 * (i + 1));
    asm_bytes(o.c, (uint16_t)(D + 2 * i), &h, 2);
  }
  VecOperand h = asm_dsr(o.c, DSR_SRC1, 0, de_mem(D, 4, 1));
  VecOperand d = asm_dsr(o.c, DSR_DEST, 1, de_mem(OUT, 4, 1));
  VecOperand a = asm_dsr(o.c, DSR_SRC0, 1, de_mem(D, 4, 1));
  asm_emit(o.c, in_ri(OP_li32, 4, bits_of(1.0f)));
  asm_emit(o.c, in_vec(VEC_faddhs, op_reg(4), op_reg(4), h));
  asm_emit(o.c, in_vec(VEC_faddhs, d, a, h));
  finish(o, 0);
  assert_int_equal(reg_pair32(o.a->ops->registers(o.a->engine, 0), 4), bits_of(3.5f));
  assert_true(out(o, 3) == 2.0f);
  asm_free(o.a);
}

/* Length of src0 if it has one, else of src1, else of dest; the others are not checked. */
static void length_comes_from_the_first_source(void **state)
{
  (void)state;
  One o = one_tile(ARCH_WSE2);
  VecOperand d = asm_dsr(o.c, DSR_DEST, 0, de_mem(OUT, 1, 1));
  VecOperand a = asm_dsr(o.c, DSR_SRC0, 0, de_mem(A, 3, 1));
  VecOperand b = asm_dsr(o.c, DSR_SRC1, 0, de_mem(B, 7, 1));
  VecOperand d2 = asm_dsr(o.c, DSR_DEST, 1, de_mem(OUT + 0x40, 1, 1));
  VecOperand d3 = asm_dsr(o.c, DSR_DEST, 2, de_mem(OUT + 0x80, 2, 1));
  asm_emit(o.c, in_vec(VEC_fadds, d, a, b));
  asm_emit(o.c, in_ri(OP_li32, 4, bits_of(3.0f)));
  asm_emit(o.c, in_vec(VEC_fadds, d2, op_reg(4), b));
  asm_emit(o.c, in_vec(VEC_fmovs, d3, op_none(), op_reg(4)));
  finish(o, 0);
  assert_true(out(o, 2) == 23.0f);
  assert_true(out(o, 3) == 0.0f);
  assert_true(out(o, 16 + 6) == 63.0f);
  assert_true(out(o, 16 + 7) == 0.0f);
  assert_true(out(o, 32 + 1) == 3.0f);
  assert_true(out(o, 32 + 2) == 0.0f);
  asm_free(o.a);
}

static void run_time_length_zero_does_nothing(void **state)
{
  (void)state;
  One o = one_tile(ARCH_WSE2);
  VecOperand d = asm_dsr(o.c, DSR_DEST, 0, de_mem(OUT, 5, 1));
  VecOperand b = asm_dsr(o.c, DSR_SRC1, 0, de_mem(A, 5, 1));
  asm_emit(o.c, (Insn){.op = OP_dsrset, .a = 0, .file = DSR_SRC1, .field = DSRF_LENGTH,
                       .absolute = true, .imm = 0});
  uint16_t vec = asm_emit(o.c, in_vec(VEC_fmovs, d, op_none(), b));
  uint16_t next = asm_emit(o.c, in0(OP_nop));
  finish(o, ALL_EVENTS);
  assert_true(out(o, 0) == 0.0f);
  assert_int_equal(asm_cycle_at(o.a, EV_INST, 0, 0, next, 0) -
                   asm_cycle_at(o.a, EV_INST, 0, 0, vec, 0), 3);
  asm_free(o.a);
}

/* 3 x 2 x 2 elements: weights 1, 8, 16, written as deltas after the inner loops have wrapped. */
static void four_dimensions(void **state)
{
  (void)state;
  One o = one_tile(ARCH_WSE2);
  Descriptor desc = {.kind = DESC_MEM4D, .base = A, .lengths = {3, 2, 2, 1},
                     .strides = {1, 8 - 2, 16 - 8 - 2, 1}};
  VecOperand d = asm_dsr(o.c, DSR_DEST, 0, de_mem(OUT, 12, 1));
  VecOperand b = asm_dsr(o.c, DSR_SRC1, 0, desc);
  asm_emit(o.c, in_vec(VEC_fmovs, d, op_none(), b));
  finish(o, 0);
  for (unsigned i = 0; i < 12; i++)
    assert_true(out(o, i) == (float)(1 + i % 3 + i / 3 % 2 * 8 + i / 6 * 16));
  asm_free(o.a);
}

static void circular_buffer(void **state)
{
  (void)state;
  One o = one_tile(ARCH_WSE2);
  Descriptor ring = {.kind = DESC_CIRC, .base = A + 4 * 3, .length = 9, .stride = 1,
                     .wrap_base = A, .wrap_length = 5};
  VecOperand d = asm_dsr(o.c, DSR_DEST, 0, de_mem(OUT, 9, 1));
  VecOperand b = asm_dsr(o.c, DSR_SRC1, 0, ring);
  asm_emit(o.c, in_vec(VEC_fmovs, d, op_none(), b));
  finish(o, 0);
  for (unsigned i = 0; i < 9; i++)
    assert_true(out(o, i) == (float)(1 + (3 + i) % 5));
  asm_free(o.a);
}

static void saved_addresses_walk_on(void **state)
{
  (void)state;
  One o = one_tile(ARCH_WSE2);
  Descriptor rows = {.kind = DESC_MEM4D, .flags = DESC_F_SAVE, .base = A, .lengths = {2, 2, 1, 1},
                     .strides = {1, 4 - 1, 1, 1}};
  Descriptor line = de_mem(OUT, 4, 1);
  line.flags = DESC_F_SAVE;
  VecOperand d = asm_dsr(o.c, DSR_DEST, 0, line), b = asm_dsr(o.c, DSR_SRC1, 0, rows);
  for (unsigned i = 0; i < 3; i++)
    asm_emit(o.c, in_vec(VEC_fmovs, d, op_none(), b));
  finish(o, 0);
  static const float want[] = {1, 2, 5, 6, 9, 10, 13, 14, 17, 18, 21, 22};
  for (unsigned i = 0; i < 12; i++)
    assert_true(out(o, i) == want[i]);
  asm_free(o.a);
}

/* What @map needs: one element per operation, and an end that the program can see. */
static void single_steps(void **state)
{
  (void)state;
  One o = one_tile(ARCH_WSE2);
  Descriptor in = de_mem(A, 3, 1), to = de_mem(OUT, 3, 2);
  in.flags = to.flags = DESC_F_STEP;
  VecOperand d = asm_dsr(o.c, DSR_DEST, 0, to), b = asm_dsr(o.c, DSR_SRC1, 0, in);
  asm_emit(o.c, in_ri(OP_li, 2, 0));
  uint16_t loop = asm_emit(o.c, (Insn){.op = OP_dsrget, .a = 0, .b = 1, .file = DSR_SRC1,
                                       .field = DSRF_REMAINING});
  uint16_t leave = asm_emit(o.c, in_ri(OP_bz, 1, ASM_CODE));
  asm_emit(o.c, in_vec(VEC_fmovs, op_reg(4), op_none(), b));
  asm_emit(o.c, in_rrr(OP_fadds, 4, 4, 4));
  asm_emit(o.c, in_vec(VEC_fmovs, d, op_none(), op_reg(4)));
  asm_emit(o.c, in_rri(OP_addi, 2, 2, 1));
  asm_emit(o.c, in_i(OP_jmp, loop));
  asm_patch(o.c, leave, asm_here(o.c));
  asm_emit(o.c, in_vec(VEC_fmovs, op_reg(8), op_none(), b));    /* exhausted */
  asm_emit(o.c, (Insn){.op = OP_vstat, .a = 3});
  finish(o, 0);
  for (unsigned i = 0; i < 3; i++)
    assert_true(out(o, 2 * i) == 2.0f * (float)(i + 1));
  assert_int_equal(asm_reg(o.a, 0, 0, 2), 3);
  assert_int_equal(asm_reg(o.a, 0, 0, 3), 0);
  asm_free(o.a);
}

static void index_moves_the_base_in_words(void **state)
{
  (void)state;
  One o = one_tile(ARCH_WSE2);
  Descriptor in = de_mem(A, 2, 1);
  in.flags = DESC_F_INDEX;
  VecOperand d = asm_dsr(o.c, DSR_DEST, 0, de_mem(OUT, 2, 1));
  VecOperand b = asm_dsr(o.c, DSR_SRC1, 0, in);
  Insn vec = in_vec(VEC_fmovs, d, op_none(), b);
  vec.vec.has_index = true;
  vec.vec.index = 6;
  asm_emit(o.c, in_ri(OP_li, 6, 2 * 5));
  asm_emit(o.c, vec);
  finish(o, 0);
  assert_true(out(o, 0) == 6.0f && out(o, 1) == 7.0f);
  asm_free(o.a);
}

/* ---- through the fabric and back ------------------------------------------------------------- */

static One loop_back(VecOp send, SimdMode out_mode, SimdMode in_mode, unsigned n, Insn *vec_in)
{
  One o = one_tile(ARCH_WSE2);
  Descriptor to = de_async(de_out(OUT_QUEUE, LOOP, (uint16_t)n), ACT_NONE, 0);
  Descriptor from = de_in(IN_QUEUE, LOOP, (uint16_t)n);
  to.simd = out_mode;
  from.simd = in_mode;
  for (unsigned i = 0; i < n; i++) {
    uint16_t v = (uint16_t)(0x1000 + i);
    asm_bytes(o.c, (uint16_t)(D + 2 * i), &v, 2);
  }
  VecOperand d = asm_dsr(o.c, DSR_DEST, 0, to);
  VecOperand b = asm_dsr(o.c, DSR_SRC1, 0, de_mem(D, (uint16_t)n, 1));
  VecOperand d2 = asm_dsr(o.c, DSR_DEST, 1, de_mem(OUT, (uint16_t)n, 1));
  VecOperand b2 = asm_dsr(o.c, DSR_SRC1, 1, from);
  asm_emit(o.c, in_vec(send, d, op_none(), b));
  *vec_in = in_vec(send, d2, op_none(), b2);
  asm_emit(o.c, *vec_in);
  return o;
}

static void sixteen_bit_packing(void **state)
{
  (void)state;
  static const struct { SimdMode mode; unsigned n, wavelets; } rows[] = {
    {SIMD_OFF, 5, 5}, {SIMD_32, 5, 3}, {SIMD_32, 8, 4}, {SIMD_64, 8, 4}, {SIMD_64, 7, 4},
    {SIMD_32_OR_64, 9, 5}, {SIMD_OFF, 1, 1}, {SIMD_32, 1, 1}, {SIMD_64, 1, 1},
  };
  for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
    Insn vec;
    One o = loop_back(VEC_mov16, rows[i].mode, rows[i].mode, rows[i].n, &vec);
    finish(o, ALL_EVENTS);
    for (unsigned e = 0; e < rows[i].n; e++)
      assert_int_equal(asm_word(o.a, 0, 0, (uint16_t)(OUT + 2 * e)), 0x1000 + e);
    assert_int_equal(asm_word(o.a, 0, 0, (uint16_t)(OUT + 2 * rows[i].n)), 0);
    assert_int_equal(o.a->ops->stats(o.a->engine)->wavelets, rows[i].wavelets);
    if (rows[i].mode != SIMD_OFF && rows[i].n > 1)      /* the low half goes first */
      assert_int_equal(asm_find(o.a, EV_WAVELET, 0, 0, 0)->payload, 0x10011000);
    asm_free(o.a);
  }
}

/* An operation with a width of one element per cycle takes packed wavelets apart. */
static void narrow_operation_on_packed_wavelets(void **state)
{
  (void)state;
  One o = one_tile(ARCH_WSE2);
  Descriptor to = de_async(de_out(OUT_QUEUE, LOOP, 5), ACT_NONE, 0),
             from = de_in(IN_QUEUE, LOOP, 5);
  to.simd = from.simd = SIMD_32;
  for (unsigned i = 0; i < 5; i++) {
    uint16_t v = (uint16_t)(1u << i);
    asm_bytes(o.c, (uint16_t)(D + 2 * i), &v, 2);
  }
  VecOperand d = asm_dsr(o.c, DSR_DEST, 0, to);
  VecOperand b = asm_dsr(o.c, DSR_SRC1, 0, de_mem(D, 5, 1));
  VecOperand d2 = asm_dsr(o.c, DSR_DEST, 1, de_mem(OUT, 5, 1));
  VecOperand b2 = asm_dsr(o.c, DSR_SRC1, 1, from);
  asm_emit(o.c, in_vec(VEC_mov16, d, op_none(), b));
  asm_emit(o.c, in_vec(VEC_ctz, d2, op_none(), b2));
  finish(o, 0);
  for (unsigned i = 0; i < 5; i++)
    assert_int_equal(asm_word(o.a, 0, 0, (uint16_t)(OUT + 2 * i)), i);
  asm_free(o.a);
}

static void fabout_index_fills_the_high_half(void **state)
{
  (void)state;
  One o = one_tile(ARCH_WSE2);
  Descriptor to = de_async(de_out(OUT_QUEUE, LOOP, 2), ACT_NONE, 0);
  to.flags |= DESC_F_INDEX;
  Insn vec = in_vec(VEC_mov16, asm_dsr(o.c, DSR_DEST, 0, to), op_none(),
                    asm_dsr(o.c, DSR_SRC1, 0, de_mem(A, 2, 1)));
  vec.vec.has_index = true;
  vec.vec.index = 6;
  asm_emit(o.c, in_ri(OP_li, 6, 0x77));
  asm_emit(o.c, vec);
  asm_emit(o.c, in_vec(VEC_mov32, asm_dsr(o.c, DSR_DEST, 1, de_mem(OUT, 2, 1)), op_none(),
                       asm_dsr(o.c, DSR_SRC1, 1, de_in(IN_QUEUE, LOOP, 2))));
  finish(o, 0);
  assert_int_equal(asm_word32(o.a, 0, 0, OUT) >> 16, 0x77);
  assert_int_equal(asm_word32(o.a, 0, 0, OUT + 4), 0x770000 | (bits_of(1.0f) >> 16));
  asm_free(o.a);
}

static void sources_are_zeroed(void **state)
{
  (void)state;
  One o = one_tile(ARCH_WSE2);
  Descriptor to = de_async(de_out(OUT_QUEUE, LOOP, 3), ACT_NONE, 0);
  to.flags |= DESC_F_ZERO1;
  asm_emit(o.c, in_vec(VEC_fmovs, asm_dsr(o.c, DSR_DEST, 0, to), op_none(),
                       asm_dsr(o.c, DSR_SRC1, 0, de_mem(A, 3, 1))));
  asm_emit(o.c, in_vec(VEC_fmovs, asm_dsr(o.c, DSR_DEST, 1, de_mem(OUT, 3, 1)), op_none(),
                       asm_dsr(o.c, DSR_SRC1, 1, de_in(IN_QUEUE, LOOP, 3))));
  finish(o, 0);
  for (unsigned i = 0; i < 3; i++) {
    assert_true(asm_float(o.a, 0, 0, (uint16_t)(A + 4 * i)) == 0.0f);
    assert_true(out(o, i) == (float)(i + 1));
  }
  assert_true(asm_float(o.a, 0, 0, A + 12) == 4.0f);
  asm_free(o.a);
}

/* ---- FIFOs ----------------------------------------------------------------------------------- */

static void fifo_state(AsmClass *c, uint16_t capacity, Action push, Action pop)
{
  uint16_t words[FIFO_STATE_WORDS] = {D, capacity, 0, 0, 0, 0, 4, action_encode(push),
                                      action_encode(pop), 0};
  asm_bytes(c, STATE, words, sizeof words);
}

static Descriptor de_fifo(void) { return (Descriptor){.kind = DESC_FIFO, .base = STATE}; }

static void fifo_keeps_order_and_stops_when_full(void **state)
{
  (void)state;
  One o = one_tile(ARCH_WSE2);
  fifo_state(o.c, 4, (Action){0}, (Action){0});
  VecOperand push = asm_dsr(o.c, DSR_DEST, 0, de_fifo()),
             pop = asm_dsr(o.c, DSR_SRC1, 1, de_fifo());
  VecOperand six = asm_dsr(o.c, DSR_SRC1, 0, de_mem(A, 6, 1));
  VecOperand d = asm_dsr(o.c, DSR_DEST, 1, de_mem(OUT, 3, 1));
  asm_emit(o.c, in_vec(VEC_fmovs, push, op_none(), six));
  asm_emit(o.c, (Insn){.op = OP_vstat, .a = 1});
  asm_emit(o.c, in_vec(VEC_fmovs, d, op_none(), pop));
  asm_emit(o.c, (Insn){.op = OP_vstat, .a = 2});
  asm_emit(o.c, in_vec(VEC_fmovs, d, op_none(), pop));     /* one is left */
  asm_emit(o.c, (Insn){.op = OP_vstat, .a = 3});
  finish(o, 0);
  assert_int_equal(asm_reg(o.a, 0, 0, 1), 0);
  assert_int_equal(asm_reg(o.a, 0, 0, 2), 1);
  assert_int_equal(asm_reg(o.a, 0, 0, 3), 0);
  assert_true(out(o, 0) == 4.0f && out(o, 1) == 2.0f && out(o, 2) == 3.0f);
  asm_free(o.a);
}

/* fabric -> FIFO -> fabric -> memory, through two microthreads; the FIFO is smaller than the data,
 * and its actions fire only after it was found empty or full. */
static void fifo_between_microthreads(void **state)
{
  (void)state;
  enum { OTHER = 5, N = 20 };
  One o = one_tile(ARCH_WSE2);
  fifo_state(o.c, 3, (Action){ACT_ACTIVATE, ID_TASK, 10}, (Action){ACT_NONE, ID_TASK, 0});
  asm_input(o.c, 4, OTHER);
  asm_route(o.a, 0, 0, OTHER, M_R, M_R);
  VecOperand send = asm_dsr(o.c, DSR_DEST, 0, de_async(de_out(OUT_QUEUE, LOOP, N), ACT_NONE, 0));
  VecOperand data = asm_dsr(o.c, DSR_SRC1, 0, de_mem(A, N, 1));
  VecOperand push = asm_dsr(o.c, DSR_DEST, 1, de_fifo());
  VecOperand in = asm_dsr(o.c, DSR_SRC1, 1, de_async(de_in(IN_QUEUE, LOOP, N), ACT_NONE, 0));
  VecOperand out2 = asm_dsr(o.c, DSR_DEST, 2, de_async(de_out(4, OTHER, N), ACT_NONE, 0));
  VecOperand pop = asm_dsr(o.c, DSR_SRC1, 2, de_fifo());
  VecOperand back = asm_dsr(o.c, DSR_SRC1, 3, de_in(4, OTHER, N));
  VecOperand d = asm_dsr(o.c, DSR_DEST, 3, de_mem(OUT, N, 1));
  asm_emit(o.c, in_vec(VEC_fmovs, out2, op_none(), pop));
  asm_emit(o.c, in_vec(VEC_fmovs, push, op_none(), in));
  asm_emit(o.c, in_vec(VEC_fmovs, send, op_none(), data));
  asm_emit(o.c, in_vec(VEC_fmovs, d, op_none(), back));
  asm_emit(o.c, in0(OP_endtask));
  uint16_t task = asm_emit(o.c, in_rri(OP_addi, 1, 1, 1));
  asm_task(o.c, TASK_LOCAL, 10, task, 0, "pushed");
  finish(o, ALL_EVENTS);
  for (unsigned i = 0; i < N; i++)
    assert_true(out(o, i) == (float)(i + 1));
  assert_true(asm_count(o.a, EV_ACTIVATE, 0, 0) >= 1);
  assert_int_equal(asm_reg(o.a, 0, 0, 1), 1);     /* activated often before it ran: one run */
  asm_free(o.a);
}

/* A length of 0x7fff has no end: the operation waits for more for ever, and that is no deadlock. */
static void endless_operation(void **state)
{
  (void)state;
  One o = one_tile(ARCH_WSE2);
  uint16_t endless = (uint16_t)machine_get(ARCH_WSE2)->unbounded_length;
  VecOperand d = asm_dsr(o.c, DSR_DEST, 0, de_mem(OUT, 1, 1));
  VecOperand b = asm_dsr(o.c, DSR_SRC1, 0, de_async(de_in(IN_QUEUE, LOOP, endless), ACT_NONE, 0));
  VecOperand s = asm_dsr(o.c, DSR_DEST, 1, de_out(OUT_QUEUE, LOOP, 5));
  VecOperand five = asm_dsr(o.c, DSR_SRC1, 1, de_mem(A, 5, 1));
  asm_emit(o.c, in_vec(VEC_fmovs, d, op_none(), b));
  asm_emit(o.c, in_vec(VEC_fmovs, s, op_none(), five));
  finish(o, 0);
  IdleQuestion question = {0};
  for (unsigned i = 0; i < 5; i++)
    assert_true(out(o, i) == (float)(i + 1));
  assert_int_equal(idle_classify(o.a->engine, o.a->program, &question), IDLE_DONE);
  asm_free(o.a);
}

static void faulting(VecOperand (*make)(AsmClass *), FaultKind kind)
{
  One o = one_tile(ARCH_WSE2);
  VecOperand d = asm_dsr(o.c, DSR_DEST, 0, de_mem(OUT, 2, 1));
  uint16_t vec = asm_emit(o.c, in_vec(VEC_fmovs, d, op_none(), make(o.c)));
  asm_emit(o.c, in0(OP_endtask));
  assert_int_equal(asm_run(o.a, 0), RUN_FAULT);
  assert_int_equal(asm_fault(o.a)->kind, kind);
  assert_int_equal(asm_fault(o.a)->pc, vec);
  asm_free(o.a);
}

static VecOperand never_loaded(AsmClass *c) { (void)c; return op_dsr(DSR_SRC1, 9); }
static VecOperand outside(AsmClass *c)
{
  return asm_dsr(c, DSR_SRC1, 0, de_mem(PE_MEM_BYTES - 4, 2, 1));
}
static VecOperand odd(AsmClass *c) { return asm_dsr(c, DSR_SRC1, 0, de_mem(A + 1, 2, 1)); }
static VecOperand no_queue(AsmClass *c) { return asm_dsr(c, DSR_SRC1, 0, de_in(7, 9, 2)); }
static VecOperand wrong_way(AsmClass *c)
{
  return asm_dsr(c, DSR_SRC1, 0, de_out(OUT_QUEUE, LOOP, 2));   /* a fabout is no source */
}

static void wrong_operands_are_faults(void **state)
{
  (void)state;
  faulting(never_loaded, FAULT_DSR_EMPTY);
  faulting(outside, FAULT_ADDRESS);
  faulting(odd, FAULT_ALIGNMENT);
  faulting(no_queue, FAULT_QUEUE);
  faulting(wrong_way, FAULT_DSR_EMPTY);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(integer_elements),
    cmocka_unit_test(float_elements),
    cmocka_unit_test(mixed_and_converting_elements),
    cmocka_unit_test(carry_runs_through_addc16),
    cmocka_unit_test(memory_to_memory),
    cmocka_unit_test(multiply_accumulate_with_a_register),
    cmocka_unit_test(fold_in_a_register),
    cmocka_unit_test(fold_in_memory),
    cmocka_unit_test(mixed_fold_has_a_wide_accumulator),
    cmocka_unit_test(length_comes_from_the_first_source),
    cmocka_unit_test(run_time_length_zero_does_nothing),
    cmocka_unit_test(four_dimensions),
    cmocka_unit_test(circular_buffer),
    cmocka_unit_test(saved_addresses_walk_on),
    cmocka_unit_test(single_steps),
    cmocka_unit_test(index_moves_the_base_in_words),
    cmocka_unit_test(sixteen_bit_packing),
    cmocka_unit_test(narrow_operation_on_packed_wavelets),
    cmocka_unit_test(fabout_index_fills_the_high_half),
    cmocka_unit_test(sources_are_zeroed),
    cmocka_unit_test(fifo_keeps_order_and_stops_when_full),
    cmocka_unit_test(fifo_between_microthreads),
    cmocka_unit_test(endless_operation),
    cmocka_unit_test(wrong_operands_are_faults),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
