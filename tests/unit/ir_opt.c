/* The optimiser's rules where their arithmetic is delicate, and the folder against plain C. */
#include "tests/unit/ir_interp.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- the folder -------------------------------------------------------------------- */

static uint64_t fold(IrOp op, IrType type, IrType from, uint64_t x, uint64_t y)
{
  Arena *arena = arena_create("fold");
  IrModule *m = ir_module_create(arena, ARCH_WSE3, FP16_F16);
  uint64_t args[2] = {x, y}, result = 0;
  unsigned n = ir_ops[op].operand_rule == IROPND_INT2 || ir_ops[op].operand_rule == IROPND_SHIFT ||
                   ir_ops[op].operand_rule == IROPND_ORDER ||
                   ir_ops[op].operand_rule == IROPND_EQUAL ||
                   ir_ops[op].operand_rule == IROPND_FLOAT2 ||
                   ir_ops[op].operand_rule == IROPND_FSCALE ||
                   ir_ops[op].operand_rule == IROPND_FCOMPARE ||
                   ir_ops[op].operand_rule == IROPND_PTR_I16
                 ? 2 : 1;
  assert_true(ir_fold(m, op, type, from, args, n, &result));
  arena_destroy(arena);
  return result;
}

static const struct { IrOp op; IrType type, from; uint64_t x, y, result; } fold_rows[] = {
  {IR_add, IRT_I8, IRT_I8, 0xff, 2, 1},
  {IR_sub, IRT_I16, IRT_I16, 0, 1, 0xffff},
  {IR_mul, IRT_I32, IRT_I32, 0x10000, 0x10000, 0},
  {IR_mul, IRT_I64, IRT_I64, UINT64_MAX, 3, UINT64_MAX - 2},
  {IR_sdiv, IRT_I16, IRT_I16, 0xfff9, 2, 0xfffd},            /* -7 / 2 = -3 */
  {IR_srem, IRT_I16, IRT_I16, 0xfff9, 2, 0xffff},            /* -7 % 2 = -1 */
  {IR_sdiv, IRT_I16, IRT_I16, 0x8000, 0xffff, 0x8000},
  {IR_srem, IRT_I16, IRT_I16, 0x8000, 0xffff, 0},
  {IR_sdiv, IRT_I64, IRT_I64, UINT64_C(1) << 63, UINT64_MAX, UINT64_C(1) << 63},
  {IR_sdiv, IRT_I8, IRT_I8, 5, 0, 0},
  {IR_srem, IRT_I8, IRT_I8, 0xfb, 0, 0xfb},
  {IR_udiv, IRT_I16, IRT_I16, 0xfff9, 2, 0x7ffc},
  {IR_udiv, IRT_I32, IRT_I32, 9, 0, 0},
  {IR_urem, IRT_I32, IRT_I32, 9, 0, 9},
  {IR_shl, IRT_I16, IRT_I16, 1, 15, 0x8000},
  {IR_shl, IRT_I16, IRT_I16, 1, 16, 0},
  {IR_shl, IRT_I64, IRT_I64, 1, 64, 0},
  {IR_lshr, IRT_I32, IRT_I32, 0x80000000, 31, 1},
  {IR_lshr, IRT_I32, IRT_I32, 0x80000000, 0xffff, 0},
  {IR_ashr, IRT_I8, IRT_I8, 0x80, 3, 0xf0},
  {IR_ashr, IRT_I8, IRT_I8, 0x80, 200, 0xff},
  {IR_ashr, IRT_I64, IRT_I64, UINT64_C(1) << 63, 64, UINT64_MAX},
  {IR_and, IRT_I8, IRT_I8, 0xf3, 0x3c, 0x30},
  {IR_or, IRT_I64, IRT_I64, UINT64_C(1) << 40, 1, (UINT64_C(1) << 40) + 1},
  {IR_xor, IRT_BOOL, IRT_BOOL, 1, 1, 0},
  {IR_eq, IRT_BOOL, IRT_PTR, 5, 5, 1},
  {IR_ne, IRT_BOOL, IRT_I64, 5, 5, 0},
  {IR_clz, IRT_I16, IRT_I16, 0, 0, 16},
  {IR_clz, IRT_I16, IRT_I16, 0x0100, 0, 7},
  {IR_ctz, IRT_I16, IRT_I16, 0, 0, 16},
  {IR_ctz, IRT_I16, IRT_I16, 0x0100, 0, 8},
  {IR_popcnt, IRT_I16, IRT_I16, 0xf0f1, 0, 9},
  {IR_slt, IRT_BOOL, IRT_I16, 0x8000, 0, 1},
  {IR_ult, IRT_BOOL, IRT_I16, 0x8000, 0, 0},
  {IR_sle, IRT_BOOL, IRT_I64, UINT64_MAX, 0, 1},
  {IR_ule, IRT_BOOL, IRT_I8, 3, 3, 1},
  {IR_trunc, IRT_I8, IRT_I32, 0x1234, 0, 0x34},
  {IR_sext, IRT_I32, IRT_I8, 0x80, 0, 0xffffff80},
  {IR_zext, IRT_I32, IRT_BOOL, 1, 0, 1},
  {IR_bitcast, IRT_I16, IRT_F16, 0xfe01, 0, 0xfe01},
  {IR_ptr_add, IRT_PTR, IRT_PTR, 0x10, 0xfffe, 0x0e},
  {IR_fneg, IRT_F32, IRT_F32, 0x3f800000, 0, 0xbf800000},
  {IR_fadd, IRT_F16, IRT_F16, 0x3c00, 0x3c00, 0x4000},
  {IR_fsub, IRT_F32, IRT_F32, 0x40000000, 0x3f800000, 0x3f800000},
  {IR_fmul, IRT_F16, IRT_F16, 0x4000, 0x4200, 0x4600},
  {IR_fdiv, IRT_F32, IRT_F32, 0x3f800000, 0, 0x7f800000},
  {IR_flt, IRT_BOOL, IRT_F16, 0xbc00, 0x3c00, 1},
  {IR_fscale, IRT_F32, IRT_F32, 0x3f800000, 0xffff, 0x3f000000},
  {IR_feq, IRT_BOOL, IRT_F32, 0x7fc00000, 0x7fc00000, 0},
  {IR_fle, IRT_BOOL, IRT_F32, 0x80000000, 0, 1},
  {IR_fptosi, IRT_I16, IRT_F32, 0xc0200000, 0, 0xfffe},      /* -2.5 */
  {IR_fptoui, IRT_I8, IRT_F32, 0x43960000, 0, 44},           /* 300 keeps its low bits */
  {IR_sitofp, IRT_F32, IRT_I8, 0xff, 0, 0xbf800000},
  {IR_uitofp, IRT_F32, IRT_I8, 0xff, 0, 0x437f0000},
  {IR_fpext, IRT_F32, IRT_F16, 0x3c00, 0, 0x3f800000},
  {IR_fptrunc, IRT_F16, IRT_F32, 0x477fe000, 0, 0x7bff},
};

static void folding_follows_the_rules(void **state)
{
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(fold_rows); i++) {
    uint64_t result = fold(fold_rows[i].op, fold_rows[i].type, fold_rows[i].from, fold_rows[i].x,
                           fold_rows[i].y);
    if (result != fold_rows[i].result)
      fail_msg("row %zu, %s: 0x%llx", i, ir_ops[fold_rows[i].op].name,
               (unsigned long long)result);
  }
}

static void every_scalar_operation_folds(void **state)
{
  (void)state;
  for (int op = 0; op < IR_OP_COUNT; op++) {
    IrOperandRule rule = ir_ops[op].operand_rule;
    bool scalar = ir_op_is_pure((IrOp)op) && rule != IROPND_NONE && rule != IROPND_DSD1 &&
                  rule != IROPND_DSD_SET;
    bool tested = op == IR_select;
    for (size_t i = 0; i < ARRAY_COUNT(fold_rows); i++)
      tested |= fold_rows[i].op == (IrOp)op;
    if (scalar && !tested)
      fail_msg("no row folds %s", ir_ops[op].name);
  }
}

/* ---- division by constants --------------------------------------------------------- */

static IrModule *division(Arena *arena, IrOp op, IrType type, uint64_t c)
{
  IrModule *m = ir_module_create(arena, ARCH_WSE3, FP16_F16);
  IrFuncId f = ir_func_add(m, "main", type, &type, 1);
  IrBuilder b = {.module = m, .func = f};
  m->funcs[0].address_taken = true;
  IrValue x = m->funcs[0].blocks[0].params[0];
  ir_ret(&b, ir_binary(&b, op, type, x, ir_const(&b, type, c)));
  return m;
}

static bool has_op(const IrModule *m, IrOp op)
{
  for (uint32_t i = 0; i < m->funcs[0].blocks[0].n_insns; i++)
    if (m->funcs[0].insns[m->funcs[0].blocks[0].insns[i].raw].op == op)
      return true;
  return false;
}

static uint64_t run_one(const IrModule *m, uint64_t x)
{
  static Interp in;
  interp_init(&in, m);
  return interp_call(&in, 0, &x);
}

static void check_division(Arena *arena, IrOp op, IrType type, uint64_t c, unsigned *n_left)
{
  uint64_t mask = (UINT64_C(1) << ir_type_bits(type)) - 1, args[2] = {0, c & mask}, want;
  IrModule *m = division(arena, op, type, c);
  ir_optimise(m, &(IrOptOptions){.level = 2});
  *n_left += has_op(m, op);
  for (uint64_t i = 0; i < 700; i++) {
    args[0] = i < 100 ? i : i < 200 ? mask - (i - 100) : i < 300 ? mask / 2 - 50 + (i - 200)
              : i < 500 ? (args[1] * (i - 300) + mask - 1 + i % 3) & mask
                        : (i * UINT64_C(0x9e3779b97f4a7c15) >> 17) & mask;
    assert_true(ir_fold(m, op, type, type, args, 2, &want));
    uint64_t got = run_one(m, args[0]);
    if (got != want)
      fail_msg("%s.%s %llu by %llu gives %llu, not %llu", ir_ops[op].name, ir_type_name(type),
               (unsigned long long)args[0], (unsigned long long)args[1],
               (unsigned long long)got, (unsigned long long)want);
  }
}

static void division_by_constants_is_exact(void **state)
{
  static const IrOp ops[] = {IR_sdiv, IR_udiv, IR_srem, IR_urem};
  static const IrType types[] = {IRT_I8, IRT_I16, IRT_I32};
  Arena *arena = arena_create("division");
  unsigned n_left = 0;
  (void)state;
  for (size_t t = 0; t < ARRAY_COUNT(types); t++)
    for (size_t o = 0; o < ARRAY_COUNT(ops); o++)
      for (uint64_t c = 0; c < 66; c++) {
        uint64_t edge = c < 40 ? c : c < 50 ? 0 - (c - 40) : c < 58 ? UINT64_C(1) << (c - 46)
                        : c * 1009;
        check_division(arena, ops[o], types[t], edge, &n_left);
        arena_reset(arena);
      }
  assert_in_range(n_left, 1, 500);
  arena_destroy(arena);
}

/* Most 16-bit divisions by small constants need no divider (50 cycles). */
static void small_divisors_need_no_division(void **state)
{
  Arena *arena = arena_create("division");
  unsigned n_left = 0;
  (void)state;
  for (uint64_t c = 1; c <= 100; c++) {
    check_division(arena, IR_sdiv, IRT_I16, c, &n_left);
    arena_reset(arena);
  }
  assert_int_equal(n_left, 0);
  arena_destroy(arena);
}

/* The vendor's compiler divides on wse2, and -O1 does what it does. */
static void constants_divide_at_the_usual_level(void **state)
{
  static const struct { uint64_t c; Arch arch; bool divides; } rows[] = {
    {3, ARCH_WSE2, true}, {3, ARCH_WSE3, false}, {8, ARCH_WSE2, false}, {8, ARCH_WSE3, false},
  };
  Arena *arena = arena_create("division");
  (void)state;
  for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
    IrModule *m = division(arena, IR_sdiv, IRT_I16, rows[i].c);
    m->arch = rows[i].arch;
    ir_optimise(m, &(IrOptOptions){.level = 1});
    assert_int_equal(has_op(m, IR_sdiv), rows[i].divides);
  }
  arena_destroy(arena);
}

/* Dividing by a power of two may become a product only if its reciprocal is exact. */
static void float_division_keeps_every_bit(void **state)
{
  static const double divisors[] = {1, 2, 0.5, -4, 3, 10, 1024, 1.0 / 1024, 32768, 0x1p-14,
                                    0x1p-15, 0x1p-24, 0x1p120, 0x1p-126, 0x1p-140, 1.5, 0};
  Arena *arena = arena_create("division");
  unsigned n_products = 0;
  (void)state;
  for (unsigned k = 0; k < 2 * ARRAY_COUNT(divisors); k++) {
    IrType type = k % 2 ? IRT_F16 : IRT_F32;
    double d = divisors[k / 2];
    uint64_t c = k % 2 ? fp16_from_double(FP16_F16, d) : fp32_from_double(d);
    IrModule *m = division(arena, IR_fdiv, type, c);
    ir_optimise(m, &(IrOptOptions){.level = 1});
    n_products += has_op(m, IR_fmul);
    for (uint64_t i = 0; i < 4000; i++) {
      uint64_t args[2] = {i * UINT64_C(0x9e3779b97f4a7c15) >> (k % 2 ? 48 : 32), c}, want;
      assert_true(ir_fold(m, IR_fdiv, type, type, args, 2, &want));
      assert_int_equal(run_one(m, args[0]), want);
    }
    arena_reset(arena);
  }
  assert_in_range(n_products, 14, 26);
  arena_destroy(arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(folding_follows_the_rules),
    cmocka_unit_test(every_scalar_operation_folds),
    cmocka_unit_test(division_by_constants_is_exact),
    cmocka_unit_test(small_divisors_need_no_division),
    cmocka_unit_test(constants_divide_at_the_usual_level),
    cmocka_unit_test(float_division_keeps_every_bit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
