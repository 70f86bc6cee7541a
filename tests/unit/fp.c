/* Device arithmetic against independent references: decoding by the definition, rounding by
 * search among neighbours in exact arithmetic, fused operations in 128-bit floating point. */
#include "ir/base/base.h"

#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random_share.h"

/* 113 bits of precision: holds the exact product of f32 values, and, rounded to odd, sums. */
typedef long double Wide;

/* `usual` random cases, or fewer where they are slow. */
#define EACH_CASE(i, usual) \
  for (uint32_t i = 0, cases = programs_to_run("FP_CASES", usual); i < cases; i++)

#define EACH_FORMAT(f) for (Fp16Format f = 0; f < FP16_COUNT; f++)

static const struct {
  int exponent_bits, fraction_bits, bias;
} shape[FP16_COUNT] = {{5, 10, 15}, {8, 7, 127}, {6, 9, 42}};

static const uint16_t nan16[FP16_COUNT] = {0x7e00, 0x7fc0, 0x7f00};
static const uint16_t inf16[FP16_COUNT] = {0x7c00, 0x7f80, 0x7e00};
static const uint32_t nan32 = 0x7fc00000, inf32 = 0x7f800000;

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t random_bits(void)
{
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

static uint32_t f32_bits(float value)
{
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static bool is_nan16(Fp16Format f, uint16_t bits)
{
  return (bits & 0x7fff) > inf16[f];
}

/* The value of a finite pattern, from the definition of the format. */
static double decode16(Fp16Format f, uint16_t bits)
{
  int fraction_bits = shape[f].fraction_bits;
  int field = (bits & 0x7fff) >> fraction_bits;
  double fraction = ldexp(bits & ((1 << fraction_bits) - 1), -fraction_bits);
  double value = field == 0 ? ldexp(fraction, 1 - shape[f].bias)
                            : ldexp(1 + fraction, field - shape[f].bias);
  return bits & 0x8000 ? -value : value;
}

static void every_pattern_decodes_and_round_trips(void **state)
{
  (void)state;
  EACH_FORMAT(f)
    for (uint32_t i = 0; i < 0x10000; i++) {
      uint16_t bits = (uint16_t)i;
      double value = fp16_to_double(f, bits);
      uint32_t wide = fp16_to_fp32(f, bits);
      if (is_nan16(f, bits)) {
        assert_true(isnan(value));
        assert_int_equal(wide, nan32);
        assert_int_equal(fp16_from_double(f, value), nan16[f]);
        assert_int_equal(fp16_from_fp32(f, wide), nan16[f]);
        continue;
      }
      if ((bits & 0x7fff) == inf16[f])
        assert_true(isinf(value) && signbit(value) == (bits >> 15));
      else if (value != decode16(f, bits) || signbit(value) != bits >> 15)
        fail_msg("%s 0x%04x decodes to %a", fp16_name(f), bits, value);
      assert_int_equal(fp16_from_double(f, value), bits);
      assert_int_equal(fp16_from_fp32(f, wide), bits);
      assert_true(fp32_to_double(wide) == value);
    }
}

static void known_patterns(void **state)
{
  (void)state;
  assert_int_equal(fp16_from_double(FP16_CB16, 6.0), 0x5900);   /* the vendor's example */
  assert_int_equal(fp16_from_double(FP16_F16, 1.0), 0x3c00);
  assert_int_equal(fp16_from_double(FP16_F16, 65504.0), 0x7bff);
  assert_int_equal(fp16_from_double(FP16_BF16, -1.0), 0xbf80);
  assert_int_equal(fp32_from_double(0.1), 0x3dcccccd);
  assert_string_equal(fp16_name(FP16_BF16), "bf16");
}

/* Every midpoint of neighbours, and the doubles just beside it: ties go to even, nothing else is
 * a tie.  (A conversion by way of f32 fails here.) */
static void rounding_is_to_nearest_even_and_once(void **state)
{
  (void)state;
  EACH_FORMAT(f)
    for (uint32_t i = 0; i < inf16[f]; i++) {
      uint16_t lower = (uint16_t)i, upper = (uint16_t)(i + 1);
      double lo = decode16(f, lower), hi = decode16(f, upper);  /* inf decodes as the next power */
      double middle = lo + (hi - lo) / 2;
      uint16_t even = lower & 1 ? upper : lower;
      assert_int_equal(fp16_from_double(f, middle), even);
      assert_int_equal(fp16_from_double(f, nextafter(middle, 0)), lower);
      assert_int_equal(fp16_from_double(f, nextafter(middle, INFINITY)), upper);
      assert_int_equal(fp16_from_double(f, -middle), even | 0x8000);
      assert_int_equal(fp16_from_double(f, -nextafter(middle, INFINITY)), upper | 0x8000);
    }
}

static void extremes_of_double_convert(void **state)
{
  (void)state;
  EACH_FORMAT(f) {
    assert_int_equal(fp16_from_double(f, 1e300), inf16[f]);
    assert_int_equal(fp16_from_double(f, -INFINITY), inf16[f] | 0x8000);
    assert_int_equal(fp16_from_double(f, 4.9e-324), 0);
    assert_int_equal(fp16_from_double(f, -4.9e-324), 0x8000);
    assert_int_equal(fp16_from_double(f, -0.0), 0x8000);
    assert_int_equal(fp16_from_double(f, NAN), nan16[f]);
  }
  assert_int_equal(fp32_from_double(NAN), nan32);
  assert_int_equal(fp32_from_double(-1e300), inf32 | 0x80000000u);
}

/* ---- 16-bit operations ------------------------------------------------------------------ */

/* By way of f32, as the contract says: its 24 bits are at least twice those of the format plus
 * two, so that rounding twice is rounding once. */
static uint16_t reference16(Fp16Format f, FpBinary op, uint16_t a, uint16_t b)
{
  double x = decode16(f, a), y = decode16(f, b);
  switch (op) {
  case FP_ADD: return fp16_from_fp32(f, f32_bits((float)x + (float)y));
  case FP_SUB: return fp16_from_fp32(f, f32_bits((float)x - (float)y));
  case FP_MUL: return fp16_from_fp32(f, f32_bits((float)x * (float)y));
  case FP_DIV: return fp16_from_fp32(f, f32_bits((float)x / (float)y));
  case FP_MAX: return x > y ? a : b;
  case FP_MIN: return x < y ? a : b;
  }
  return 0;
}

/* Random patterns, and for each format pairs whose product is near the smallest normal. */
static void operations_equal_f32_rounded_once(void **state)
{
  (void)state;
  EACH_FORMAT(f)
    EACH_CASE(i, 200000) {
      uint16_t a = (uint16_t)random_bits(), b = (uint16_t)random_bits();
      if (i & 1) {
        uint16_t near = (uint16_t)((shape[f].bias / 2) << shape[f].fraction_bits);
        a = (uint16_t)(near + a % 0x800);
        b = (uint16_t)(near - b % 0x400);
      }
      if ((a & 0x7fff) >= inf16[f] || (b & 0x7fff) >= inf16[f] || !(a & 0x7fff) || !(b & 0x7fff))
        continue;
      for (FpBinary op = FP_ADD; op <= FP_MIN; op++) {
        uint16_t got = fp16_binary(f, op, a, b), want = reference16(f, op, a, b);
        if (got != want)
          fail_msg("%s op %d of %04x %04x: %04x, not %04x", fp16_name(f), (int)op, a, b, got, want);
      }
    }
}

static void special_values_of_16_bits(void **state)
{
  (void)state;
  EACH_FORMAT(f) {
    uint16_t inf = inf16[f], nan = nan16[f], minus_inf = inf | 0x8000;
    uint16_t one = fp16_from_double(f, 1), zero = 0, minus_zero = 0x8000;
    assert_int_equal(fp16_binary(f, FP_SUB, inf, inf), nan);
    assert_int_equal(fp16_binary(f, FP_MUL, inf, zero), nan);
    assert_int_equal(fp16_binary(f, FP_DIV, zero, zero), nan);
    assert_int_equal(fp16_binary(f, FP_DIV, one, minus_zero), minus_inf);
    assert_int_equal(fp16_binary(f, FP_ADD, nan | 1, one), nan);
    assert_int_equal(fp16_binary(f, FP_MAX, nan, one), nan);
    assert_int_equal(fp16_binary(f, FP_MIN, one, nan), nan);
    assert_int_equal(fp16_binary(f, FP_MAX, minus_zero, zero), zero);
    assert_int_equal(fp16_binary(f, FP_MAX, zero, minus_zero), zero);
    assert_int_equal(fp16_binary(f, FP_MIN, zero, minus_zero), minus_zero);
    assert_int_equal(fp16_binary(f, FP_MIN, minus_zero, zero), minus_zero);
    assert_int_equal(fp16_binary(f, FP_ADD, minus_zero, minus_zero), minus_zero);
    assert_int_equal(fp16_binary(f, FP_SUB, one, one), zero);
    assert_int_equal(fp16_fma(f, inf, zero, one), nan);
    assert_int_equal(fp16_fma(f, inf, one, minus_inf), nan);
    assert_int_equal(fp16_fma(f, one, one, minus_inf), minus_inf);
    assert_true(fp16_compare(f, FP_EQ, zero, minus_zero));
    assert_false(fp16_compare(f, FP_LT, minus_zero, zero));
    for (FpCompare op = FP_LT; op <= FP_EQ; op++) {
      assert_false(fp16_compare(f, op, nan, one));
      assert_false(fp16_compare(f, op, nan, nan));
    }
    assert_true(fp16_compare(f, FP_LE, minus_inf, inf) && fp16_compare(f, FP_LT, one, inf));
  }
}

/* ---- fused ------------------------------------------------------------------------------ */

/* A fraction at random, an exponent near that of 1. */
static uint16_t random_near_one(Fp16Format f)
{
  unsigned exponent = (unsigned)shape[f].bias + (unsigned)(random_bits() % 16) - 8u;
  uint16_t fraction = (uint16_t)(random_bits() & ((1u << shape[f].fraction_bits) - 1u));
  return (uint16_t)((random_bits() & 0x8000) | exponent << shape[f].fraction_bits | fraction);
}

/* Any patterns, and numbers whose sums cancel and tie; rows longer than the processor takes at
 * once, and what is left of them. */
static void many_fused_operations_are_each_one(void **state)
{
  (void)state;
  enum { MOST = 21 };
  EACH_FORMAT(f)
    EACH_CASE(i, 100000) {
      uint16_t a[MOST], c[MOST], before[MOST];
      size_t n = random_bits() % (MOST + 1);
      uint16_t b = i & 1 ? random_near_one(f) : (uint16_t)random_bits();
      for (size_t k = 0; k < n; k++) {
        a[k] = i & 1 ? random_near_one(f) : (uint16_t)random_bits();
        before[k] = c[k] = i & 1 ? random_near_one(f) : (uint16_t)random_bits();
      }
      fp16_fma_all(f, a, b, c, n);
      for (size_t k = 0; k < n; k++) {
        uint16_t want = fp16_fma(f, a[k], b, before[k]);
        if (c[k] != want)
          fail_msg("%s fma(%04x, %04x, %04x) is %04x, not %04x", fp16_name(f), a[k], b, before[k],
                   c[k], want);
      }
    }
}

/* Rows of them, each of which adds to the results of the one before: any patterns, numbers near one,
 * and small integers, whose sums tie. */
static void rows_of_fused_operations_are_one_by_one(void **state)
{
  (void)state;
  enum { MOST = 37, ROWS = 7, KINDS = 3 };
  EACH_FORMAT(f)
    EACH_CASE(i, 20000) {
      uint16_t a[ROWS * MOST], b[ROWS], c[MOST], want[MOST];
      size_t n = random_bits() % (MOST + 1), rows = random_bits() % (ROWS + 1);
      size_t step = random_bits() & 1 ? n : 0;
      uint16_t *all[] = {a, b, c};
      size_t sizes[] = {ARRAY_COUNT(a), ARRAY_COUNT(b), ARRAY_COUNT(c)};
      for (size_t which = 0; which < ARRAY_COUNT(all); which++)
        for (size_t k = 0; k < sizes[which]; k++)
          all[which][k] = i % KINDS == 0   ? (uint16_t)random_bits()
                          : i % KINDS == 1 ? random_near_one(f)
                                           : fp16_from_i64(f, (int64_t)(random_bits() % 129) - 64);
      memcpy(want, c, sizeof want);
      fp16_fma_rows(f, a, step, b, rows, c, n);
      for (size_t k = 0; k < rows * n; k++)
        want[k % n] = fp16_fma(f, a[k / n * step + k % n], b[k / n], want[k % n]);
      for (size_t k = 0; k < ARRAY_COUNT(want); k++)
        if (c[k] != want[k])
          fail_msg("%s: element %zu of %zu behind %zu rows is %04x, not %04x", fp16_name(f), k, n,
                   rows, c[k], want[k]);
    }
}

/* Any f16 times values at all edges, added to any f16. */
static void fused_operations_at_edges_are_each_one(void **state)
{
  (void)state;
  enum { STEP = 37, N = (UINT16_MAX + STEP) / STEP };
  static const uint16_t edges[] = {
    0, 0x8000, 1, 0x8001, 0x3ff, 0x83ff, 0x400, 0x8400, 0x3bff, 0x3c00, 0xbc00, 0x3c01, 0x7bff,
    0xfbff, 0x7c00, 0xfc00, 0x7c01, 0x7e00, 0xfe00, 0xffff,
  };
  for (unsigned i = 0; i < ARRAY_COUNT(edges); i++)
    for (unsigned j = 0; j < ARRAY_COUNT(edges); j++) {
      uint16_t a[N], c[N];
      for (unsigned k = 0; k < N; k++) {
        a[k] = (uint16_t)(k * STEP);
        c[k] = edges[j];
      }
      fp16_fma_all(FP16_F16, a, edges[i], c, N);
      for (unsigned k = 0; k < N; k++)
        if (c[k] != fp16_fma(FP16_F16, a[k], edges[i], edges[j]))
          fail_msg("fma(%04x, %04x, %04x) is %04x", a[k], edges[i], edges[j], c[k]);
    }
}

/* Any patterns, few and many of them NaNs, in rows of all lengths. */
static void many_sums_are_each_one(void **state)
{
  (void)state;
  enum { MOST = 70 };
  for (int turn = 0; turn < 20000; turn++) {
    uint32_t a[MOST], b[MOST], before[MOST];
    size_t n = random_bits() % (MOST + 1);
    for (size_t i = 0; i < n; i++) {
      uint32_t mask = turn & 1 ? UINT32_MAX : 0xbfffffff;     /* no exponent of all ones */
      before[i] = a[i] = (uint32_t)random_bits() & mask;
      b[i] = (uint32_t)random_bits() & mask;
    }
    fp32_add_all(a, b, n);
    for (size_t i = 0; i < n; i++)
      if (a[i] != fp32_binary(FP_ADD, before[i], b[i]))
        fail_msg("%08x + %08x is %08x", before[i], b[i], a[i]);
  }
}

/* sum = a + b in the wide type, moved to the odd neighbour when inexact. */
static __float128 wide_sum_to_odd(__float128 a, __float128 b)
{
  __float128 sum = a + b;
  __float128 b_part = sum - a;
  __float128 error = (a - (sum - b_part)) + (b - b_part);
  unsigned __int128 bits;
  memcpy(&bits, &sum, sizeof bits);
  if (error != 0 && !(bits & 1))
    bits += (error > 0) == (sum > 0) ? 1 : -(unsigned __int128)1;
  memcpy(&sum, &bits, sizeof bits);
  return sum;
}

/* Half of the operands are chosen so that the sum nearly cancels or nearly ties. */
static uint32_t random_f32(void)
{
  uint64_t r = random_bits();
  uint32_t bits = (uint32_t)r;
  switch ((r >> 32) % 6) {
  case 0: return (bits & 0x80000fffu) | 0x3f800000u;     /* near 1, few low bits */
  case 1: return (bits & 0x807fffffu) | 0x3f000000u;
  case 2: return bits & 0x80ffffffu;                     /* subnormal or tiny */
  case 3: return (bits & 0xff800000u) | (0x400000u >> (bits % 23));
  default: return bits;
  }
}

static uint32_t reference_fma32(uint32_t a, uint32_t b, uint32_t c)
{
  __float128 product = (__float128)fp32_to_double(a) * (__float128)fp32_to_double(b);
  return f32_bits((float)wide_sum_to_odd(product, (__float128)fp32_to_double(c)));
}

static bool is_finite32(uint32_t bits)
{
  return (bits & 0x7fffffff) < inf32;
}

static void fused_f32_rounds_once(void **state)
{
  (void)state;
  int differs = 0;
  EACH_CASE(i, 3000000) {
    uint32_t a = random_f32(), b = random_f32(), c = random_f32();
    if (i % 3 == 0) {        /* c a tie's distance away from a*b */
      uint32_t p = f32_bits((float)(fp32_to_double(a) * fp32_to_double(b)));
      c = (p ^ 0x80000000u) + i % 5 - 2 - (i % 50 << 23);
    }
    if (!is_finite32(a) || !is_finite32(b) || !is_finite32(c))
      continue;
    uint32_t got = fp32_fma(a, b, c), want = reference_fma32(a, b, c);
    if (got != want)
      fail_msg("fma(%08x, %08x, %08x) is %08x, not %08x", a, b, c, got, want);
    double twice = fp32_to_double(a) * fp32_to_double(b) + fp32_to_double(c);
    differs += f32_bits((float)twice) != want;
  }
  assert_true(differs > 0);     /* plain f64 would have been caught */
}

/* In rows of all lengths. */
static void many_fused_f32_are_each_one(void **state)
{
  (void)state;
  enum { MOST = 21 };
  EACH_CASE(i, 100000) {
    uint32_t a[MOST], c[MOST], before[MOST], b = random_f32();
    size_t n = random_bits() % (MOST + 1);
    for (size_t k = 0; k < n; k++) {
      a[k] = random_f32();
      before[k] = c[k] = random_f32();
    }
    fp32_fma_all(a, b, c, n);
    for (size_t k = 0; k < n; k++)
      if (c[k] != fp32_fma(a[k], b, before[k]))
        fail_msg("fma(%08x, %08x, %08x) is %08x", a[k], b, before[k], c[k]);
  }
}

static void fused_f32_special_values(void **state)
{
  (void)state;
  uint32_t one = 0x3f800000, minus_zero = 0x80000000u;
  assert_int_equal(fp32_fma(inf32, 0, one), nan32);
  assert_int_equal(fp32_fma(inf32, one, inf32 | minus_zero), nan32);
  assert_int_equal(fp32_fma(0x7f7fffff, 0x7f7fffff, inf32 | minus_zero), inf32 | minus_zero);
  assert_int_equal(fp32_fma(0xffc12345u, one, one), nan32);
  assert_int_equal(fp32_fma(minus_zero, one, minus_zero), minus_zero);
  assert_int_equal(fp32_fma(minus_zero, one, 0), 0);
  assert_int_equal(fp32_fma(0x7f7fffff, 0x40000000, 0xff7fffffu), 0x7f7fffff);
  assert_int_equal(fp32_fma(1, 1, 0), 0);
  assert_int_equal(fp32_fma(1, 1, 1), 1);
}

static uint16_t random16(Fp16Format f)
{
  uint16_t bits;
  do
    bits = (uint16_t)random_bits();
  while ((bits & 0x7fff) >= inf16[f]);
  return bits;
}

/* Nearest and even, found by trying the neighbours of the result against the wide sum. */
static void fused_16_bits_round_once(void **state)
{
  (void)state;
  EACH_FORMAT(f)
    EACH_CASE(i, 300000) {
      uint16_t a = random16(f), b = random16(f), c = random16(f);
      __float128 product = (__float128)decode16(f, a) * (__float128)decode16(f, b);
      __float128 sum = wide_sum_to_odd(product, (__float128)decode16(f, c));
      uint16_t got = fp16_fma(f, a, b, c);
      if ((got & 0x7fff) == inf16[f] || (got & 0x7fff) == 0)
        continue;
      __float128 here = (__float128)decode16(f, got) - sum;
      __float128 above = (__float128)decode16(f, got + 1) - sum;
      __float128 below = (__float128)decode16(f, got - 1) - sum;
      here = here < 0 ? -here : here;
      above = above < 0 ? -above : above;
      below = below < 0 ? -below : below;
      bool right = here < above && here < below;
      right |= (here == above || here == below) && !(got & 1);
      if (!right)
        fail_msg("%s fma(%04x, %04x, %04x) is %04x", fp16_name(f), a, b, c, got);
    }
}

/* (1 + 2^-4)^2 lies halfway between two bf16 values; a term far below f64's reach decides. */
static void fused_bf16_sees_tiny_terms(void **state)
{
  (void)state;
  uint16_t a = fp16_from_double(FP16_BF16, 1.0 + 0x1p-4), tiny = 0x0001;
  uint16_t even = fp16_from_double(FP16_BF16, 1.0 + 0x1p-3);
  assert_true(fp16_to_double(FP16_BF16, even) == 1.0 + 0x1p-3);
  assert_int_equal(fp16_fma(FP16_BF16, a, a, 0), even);
  assert_int_equal(fp16_fma(FP16_BF16, a, a, tiny), even + 1);
  assert_int_equal(fp16_fma(FP16_BF16, a, a, tiny | 0x8000), even);
}

static void mixed_fused_accumulates_in_f32(void **state)
{
  (void)state;
  EACH_FORMAT(f)
    EACH_CASE(i, 200000) {
      uint16_t a = random16(f), b = random16(f);
      uint32_t c = random_f32();
      if (!is_finite32(c))
        continue;
      uint32_t want = reference_fma32(fp16_to_fp32(f, a), fp16_to_fp32(f, b), c);
      assert_int_equal(fp16_mixed_fma(f, a, b, c), want);
    }
}

/* ---- f32, integers, scaling ------------------------------------------------------------- */

static void f32_operations(void **state)
{
  (void)state;
  EACH_CASE(i, 300000) {
    uint32_t a = random_f32(), b = random_f32();
    if (!is_finite32(a) || !is_finite32(b))
      continue;
    Wide x = (Wide)fp32_to_double(a), y = (Wide)fp32_to_double(b);
    assert_int_equal(fp32_binary(FP_ADD, a, b), fp32_fma(a, 0x3f800000, b));
    assert_int_equal(fp32_binary(FP_SUB, a, b), fp32_fma(b, 0xbf800000u, a));
    assert_int_equal(fp32_binary(FP_MUL, a, b), fp32_from_double((double)(x * y)));
    if (y != 0)      /* 64 bits of quotient hold no false tie of 24 */
      assert_int_equal(fp32_binary(FP_DIV, a, b), f32_bits((float)(x / y)));
    assert_true(fp32_compare(FP_LT, a, b) == (x < y) && fp32_compare(FP_LE, a, b) == (x <= y));
  }
  assert_int_equal(fp32_binary(FP_SUB, inf32, inf32), nan32);
  assert_int_equal(fp32_binary(FP_ADD, 0xffc00001u, 0), nan32);
  assert_int_equal(fp32_binary(FP_MAX, nan32, 0), nan32);
  assert_int_equal(fp32_binary(FP_MAX, 0x80000000u, 0), 0);
  assert_int_equal(fp32_binary(FP_MIN, 0, 0x80000000u), 0x80000000u);
  assert_int_equal(fp32_binary(FP_DIV, 0x3f800000, 0x80000000u), inf32 | 0x80000000u);
  assert_false(fp32_compare(FP_EQ, nan32, nan32));
}

static void integers_round_once(void **state)
{
  (void)state;
  EACH_CASE(i, 1000000) {
    uint64_t u = random_bits() >> (random_bits() % 64);
    assert_int_equal(fp32_from_u64(u), f32_bits((float)u));
    assert_int_equal(fp32_from_i64((int64_t)u), f32_bits((float)(int64_t)u));
    assert_int_equal(fp32_from_i64(-(int64_t)(u >> 1)), f32_bits((float)-(int64_t)(u >> 1)));
  }
  EACH_FORMAT(f)
    for (int64_t i = -70000; i <= 70000; i++) {
      assert_int_equal(fp16_from_i64(f, i), fp16_from_double(f, (double)i));
      if (i >= 0)
        assert_int_equal(fp16_from_u64(f, (uint64_t)i), fp16_from_double(f, (double)i));
    }
  assert_int_equal(fp16_from_u64(FP16_F16, UINT64_MAX), inf16[FP16_F16]);
  assert_int_equal(fp32_from_i64(INT64_MIN), 0xdf000000u);
  /* 2^62 + 2^54 is a tie in bf16 (7 fraction bits); one more must not be lost on the way. */
  uint64_t tie = (UINT64_C(1) << 62) + (UINT64_C(1) << 54);
  assert_int_equal(fp16_from_u64(FP16_BF16, tie), 0x5e80);
  assert_int_equal(fp16_from_u64(FP16_BF16, tie + 1), 0x5e81);
}

static void to_int_truncates_and_saturates(void **state)
{
  (void)state;
  assert_int_equal(fp_to_int(3.99, 16, true), 3);
  assert_int_equal(fp_to_int(-3.99, 16, true), 0xfffd);
  assert_int_equal(fp_to_int(65537.0, 16, false), 1);
  assert_int_equal(fp_to_int(NAN, 32, true), 0);
  assert_true(fp_to_int(INFINITY, 64, true) == (uint64_t)INT64_MAX);
  assert_true(fp_to_int(-INFINITY, 64, true) == (uint64_t)INT64_MIN);
  assert_true(fp_to_int(1e30, 64, false) == UINT64_MAX);
  assert_true(fp_to_int(18446744073709549568.0, 64, false) == 18446744073709549568u);
  assert_int_equal(fp_to_int(-0.5, 16, false), 0);
  assert_int_equal(fp_to_int(-7.0, 16, false), 0);
  assert_int_equal(fp_to_int(INFINITY, 16, true), 0xffff);
}

static void scaling_rounds_once(void **state)
{
  (void)state;
  EACH_FORMAT(f)
    for (uint32_t i = 0; i < 0x10000; i++) {
      uint16_t bits = (uint16_t)i;
      if (is_nan16(f, bits)) {
        assert_int_equal(fp16_scale(f, bits, 3), nan16[f]);
        continue;
      }
      for (int k = -40; k <= 40; k += 5) {
        double want = ldexp(fp16_to_double(f, bits), k);      /* exact in f64 */
        assert_int_equal(fp16_scale(f, bits, k), fp16_from_double(f, want));
      }
    }
  assert_int_equal(fp32_scale(0x3f800000, -149), 1);
  assert_int_equal(fp32_scale(0x3fc00000, -149), 2);
  assert_int_equal(fp32_scale(0x3f800000, -150), 0);
  assert_int_equal(fp32_scale(0x3f800001, -150), 1);
  assert_int_equal(fp32_scale(1, 149), 0x3f800000);
  assert_int_equal(fp32_scale(1, 1000000000), inf32);
  assert_int_equal(fp32_scale(0xff7fffffu, -1000000000), 0x80000000u);
  assert_int_equal(fp32_scale(inf32, -2000000000), inf32);
  assert_int_equal(fp32_scale(0, 2000000000), 0);
}

/* ---- exceptions ---- */

/* What the host's f32 operation raises, in our bits. */
static unsigned host_raises(char op, float x, float y)
{
  static const struct { int host; unsigned ours; } pairs[] = {
    {FE_UNDERFLOW, FP_RAISES_UNDERFLOW}, {FE_OVERFLOW, FP_RAISES_OVERFLOW},
    {FE_INEXACT, FP_RAISES_INEXACT}, {FE_INVALID, FP_RAISES_INVALID},
    {FE_DIVBYZERO, FP_RAISES_DIV_BY_0},
  };
  volatile float a = x, b = y, result;
  unsigned ours = 0;
  feclearexcept(FE_ALL_EXCEPT);
  switch (op) {
  case '+': result = a + b; break;
  case '-': result = a - b; break;
  case '*': result = a * b; break;
  default: result = a / b; break;
  }
  int raised = fetestexcept(FE_ALL_EXCEPT);
  (void)result;
  for (unsigned i = 0; i < ARRAY_COUNT(pairs); i++)
    ours |= raised & pairs[i].host ? pairs[i].ours : 0;
  return ours;
}

/* The host looks for tininess behind the rounding, which differs where that gives the least
 * normal number. */
static void expect_same(unsigned ours, double result, unsigned host)
{
  unsigned differs = fabs(result) == fp32_least_normal() ? FP_RAISES_UNDERFLOW : 0;
  assert_int_equal(ours & ~differs, host & ~differs);
}

static void expect_raised(uint32_t a, uint32_t b)
{
  double x = fp32_to_double(a), y = fp32_to_double(b), least = fp32_least_normal();
  float fx = (float)x, fy = (float)y;
  double sum = fp32_to_double(fp32_binary(FP_ADD, a, b));
  double difference = fp32_to_double(fp32_binary(FP_SUB, a, b));
  double product = fp32_to_double(fp32_binary(FP_MUL, a, b));
  double quotient = fp32_to_double(fp32_binary(FP_DIV, a, b));
  expect_same(fp_raised_sum(x, y, sum, least), sum, host_raises('+', fx, fy));
  expect_same(fp_raised_sum(x, -y, difference, least), difference, host_raises('-', fx, fy));
  expect_same(fp_raised_product(x, y, product, least), product, host_raises('*', fx, fy));
  expect_same(fp_raised_quotient(x, y, quotient, least), quotient, host_raises('/', fx, fy));
}

static void f32_raises_what_the_host_raises(void **state)
{
  (void)state;
  static const uint32_t edges[] = {
    0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x80800000, 0x00800001, 0x3f800000,
    0xbf800000, 0x3f800001, 0x40400000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
    0x1fffffff, 0x20000000, 0x5f800000, 0x33800000, 0x34000000, 0x00000003,
  };
  for (unsigned i = 0; i < ARRAY_COUNT(edges); i++)
    for (unsigned j = 0; j < ARRAY_COUNT(edges); j++)
      expect_raised(edges[i], edges[j]);
  uint64_t seed = 1;
  EACH_CASE(i, 200000) {
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    uint32_t a = (uint32_t)(seed >> 32), b = (uint32_t)(seed >> 16);
    bool nan = (a & 0x7fffffff) > 0x7f800000 || (b & 0x7fffffff) > 0x7f800000;
    if (!nan)                       /* the host has signaling ones */
      expect_raised(a, b);
  }
}

static void other_exceptions(void **state)
{
  (void)state;
  double h = fp16_least_normal(FP16_F16), s = fp32_least_normal();
  assert_true(h == ldexp(1, -14) && fp16_least_normal(FP16_BF16) == ldexp(1, -126));
  /* f16: 60000 + 60000, 2048 + 1, the half of the smallest number, and its double */
  assert_int_equal(fp_raised_sum(60000, 60000, INFINITY, h), FP_RAISES_OVERFLOW | FP_RAISES_INEXACT);
  assert_int_equal(fp_raised_sum(2048, 1, 2048, h), FP_RAISES_INEXACT);
  assert_int_equal(fp_raised_product(ldexp(1, -24), 0.5, 0, h),
                   FP_RAISES_UNDERFLOW | FP_RAISES_INEXACT);
  assert_int_equal(fp_raised_product(ldexp(1, -24), 2, ldexp(1, -23), h), 0);
  /* fused: the product's last bits are lost, or cancelled */
  double odd = 1 + ldexp(1, -23);
  assert_int_equal(fp_raised_fma(odd, odd, 0, 1 + ldexp(1, -22), s), FP_RAISES_INEXACT);
  assert_int_equal(fp_raised_fma(odd, odd, -ldexp(1, -46), 1 + ldexp(1, -22), s), 0);
  assert_int_equal(fp_raised_fma(INFINITY, 0, 1, NAN, s), FP_RAISES_INVALID);
  assert_int_equal(fp_raised_fma(INFINITY, 1, -INFINITY, NAN, s), FP_RAISES_INVALID);
  assert_int_equal(fp_raised_fma(NAN, 0, 1, NAN, s), 0);
  assert_int_equal(fp_raised_rounding(1e9, INFINITY, h), FP_RAISES_OVERFLOW | FP_RAISES_INEXACT);
  assert_int_equal(fp_raised_rounding(INFINITY, INFINITY, h), 0);
  assert_int_equal(fp_raised_scale(1.5, -149, ldexp(1, -148), s),
                   FP_RAISES_UNDERFLOW | FP_RAISES_INEXACT);
  assert_int_equal(fp_raised_scale(1, -149, ldexp(1, -149), s), 0);
  assert_int_equal(fp_raised_scale(1, -30000, 0, s), FP_RAISES_UNDERFLOW | FP_RAISES_INEXACT);
  assert_int_equal(fp_raised_scale(1, 30000, INFINITY, s), FP_RAISES_OVERFLOW | FP_RAISES_INEXACT);
  assert_int_equal(fp_raised_to_int(-32768.5, 16, true), FP_RAISES_INEXACT);
  assert_int_equal(fp_raised_to_int(-32769, 16, true), FP_RAISES_INVALID);
  assert_int_equal(fp_raised_to_int(32768, 16, true), FP_RAISES_INVALID);
  assert_int_equal(fp_raised_to_int(65535, 16, false), 0);
  assert_int_equal(fp_raised_to_int(-1, 16, false), FP_RAISES_INVALID);
  assert_int_equal(fp_raised_to_int(NAN, 32, false), FP_RAISES_INVALID);
  assert_int_equal(fp_raised_compare(NAN, 1), FP_RAISES_INVALID);
  assert_int_equal(fp_raised_compare(INFINITY, 1), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_pattern_decodes_and_round_trips),
    cmocka_unit_test(known_patterns),
    cmocka_unit_test(rounding_is_to_nearest_even_and_once),
    cmocka_unit_test(extremes_of_double_convert),
    cmocka_unit_test(operations_equal_f32_rounded_once),
    cmocka_unit_test(special_values_of_16_bits),
    cmocka_unit_test(many_fused_operations_are_each_one),
    cmocka_unit_test(rows_of_fused_operations_are_one_by_one),
    cmocka_unit_test(fused_operations_at_edges_are_each_one),
    cmocka_unit_test(many_fused_f32_are_each_one),
    cmocka_unit_test(many_sums_are_each_one),
    cmocka_unit_test(fused_f32_rounds_once),
    cmocka_unit_test(fused_f32_special_values),
    cmocka_unit_test(fused_16_bits_round_once),
    cmocka_unit_test(fused_bf16_sees_tiny_terms),
    cmocka_unit_test(mixed_fused_accumulates_in_f32),
    cmocka_unit_test(f32_operations),
    cmocka_unit_test(integers_round_once),
    cmocka_unit_test(to_int_truncates_and_saturates),
    cmocka_unit_test(scaling_rounds_once),
    cmocka_unit_test(f32_raises_what_the_host_raises),
    cmocka_unit_test(other_exceptions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
