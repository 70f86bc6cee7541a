/* Several elements at a time by AVX2 and F16C, on x86 processors that have them.
 *
 * An f32 holds the product of two f16 exactly.  The sum and its error are exact, too (Knuth, TAOCP
 * 2, 4.2.2, theorem B): where there is an error, the sum becomes the odd one of its two neighbours,
 * so that the conversion to f16 is the only rounding.  Mostly that is not necessary: if the nearest
 * f32 to the sum is not in the middle between two f16, both round to the same f16. */
#include "ir/base/platform.h"

#include <cpuid.h>
#include <immintrin.h>
#include <string.h>

#define LANES __attribute__((target("avx2,fma,f16c")))
enum { N = 8, NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };
static const int NAN_BITS = 0x7fc00000;
/* Bits of an f32: those that an f16 has no room for, and the middle of two f16; the least that is a
 * normal f16, and the last number. */
static const int BELOW_F16 = 0x1fff, MIDDLE = 0x1000, LEAST_F16 = 0x38800000, LAST = 0x7f7fffff;

static bool cpu_has_lanes(void)
{
  static atomic_int known;      /* 0: not yet */
  int has = atomic_load_explicit(&known, memory_order_relaxed);
  if (has)
    return has > 0;
  unsigned a, b, c = 0, d;
  bool converts = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
  has = converts && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 1 : -1;
  atomic_store_explicit(&known, has, memory_order_relaxed);
  return has > 0;
}

/* One NaN per format. */
static inline LANES __m256 one_nan(__m256 x)
{
  __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(NAN_BITS));
  return _mm256_blendv_ps(x, nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

/* x + y rounded to odd; as a + b with an infinity or a NaN. */
static inline LANES __m256 add_to_odd(__m256 x, __m256 y)
{
  __m256 sum = _mm256_add_ps(x, y), part = _mm256_sub_ps(sum, x);
  __m256 error = _mm256_add_ps(_mm256_sub_ps(x, _mm256_sub_ps(sum, part)),
                               _mm256_sub_ps(y, part));
  __m256i bits = _mm256_castps_si256(sum), one = _mm256_set1_epi32(1);
  /* A NaN, which an infinity gives, is not different from 0 in this sense. */
  __m256i is_inexact = _mm256_castps_si256(_mm256_cmp_ps(error, _mm256_setzero_ps(), _CMP_NEQ_OQ));
  __m256i is_even = _mm256_cmpeq_epi32(_mm256_and_si256(bits, one), _mm256_setzero_si256());
  /* 1 further from 0 if the signs are equal, else 1 nearer. */
  __m256i apart = _mm256_srai_epi32(_mm256_xor_si256(bits, _mm256_castps_si256(error)), 31);
  __m256i step = _mm256_or_si256(apart, one);
  step = _mm256_and_si256(step, _mm256_and_si256(is_inexact, is_even));
  return _mm256_castsi256_ps(_mm256_add_epi32(bits, step));
}

/* The sum, which is the nearest f32, may round to another f16 than the exact one: it is in the
 * middle of two, or no normal number.  By bits. */
static inline LANES __m256i may_round_twice(__m256 sum)
{
  __m256i bits = _mm256_castps_si256(sum), least = _mm256_set1_epi32(LEAST_F16);
  __m256i below = _mm256_and_si256(bits, _mm256_set1_epi32(BELOW_F16));
  __m256i size = _mm256_and_si256(bits, _mm256_set1_epi32(INT32_MAX));
  __m256i is_odd = _mm256_or_si256(_mm256_cmpgt_epi32(least, size),
                                   _mm256_cmpgt_epi32(size, _mm256_set1_epi32(LAST)));
  return _mm256_or_si256(is_odd, _mm256_cmpeq_epi32(below, _mm256_set1_epi32(MIDDLE)));
}

static inline LANES __m128i to_f16(__m256 x) { return _mm256_cvtps_ph(x, NEAREST); }
static inline LANES __m256 from_f16(const uint16_t *at)
{
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)at));
}

static inline LANES __m256 fma_in_any_case(__m256 a, __m256 b, __m256 c)
{
  return one_nan(add_to_odd(_mm256_mul_ps(a, b), c));
}

/* Of N elements, or of 2 N. */
static inline LANES void fma_rows_of_eight(const uint16_t *a, size_t step, const uint16_t *b,
                                           size_t rows, uint16_t *c)
{
  __m256 x = from_f16(c);
  for (size_t k = 0; k < rows; k++, a += step) {
    __m256 factor = _mm256_cvtph_ps(_mm_set1_epi16((short)b[k])), u = from_f16(a);
    __m256 sum = _mm256_fmadd_ps(u, factor, x);
    __m256i odd = may_round_twice(sum);
    if (!_mm256_testz_si256(odd, odd))
      sum = fma_in_any_case(u, factor, x);
    x = _mm256_cvtph_ps(to_f16(sum));
  }
  _mm_storeu_si128((__m128i *)(void *)c, to_f16(x));
}

static inline LANES void fma_rows_of_sixteen(const uint16_t *a, size_t step, const uint16_t *b,
                                             size_t rows, uint16_t *c)
{
  __m256 x = from_f16(c), y = from_f16(c + N);
  for (size_t k = 0; k < rows; k++, a += step) {
    __m256 factor = _mm256_cvtph_ps(_mm_set1_epi16((short)b[k]));
    __m256 u = from_f16(a), v = from_f16(a + N);
    __m256 sum = _mm256_fmadd_ps(u, factor, x), other = _mm256_fmadd_ps(v, factor, y);
    __m256i odd = _mm256_or_si256(may_round_twice(sum), may_round_twice(other));
    if (!_mm256_testz_si256(odd, odd)) {
      sum = fma_in_any_case(u, factor, x);
      other = fma_in_any_case(v, factor, y);
    }
    x = _mm256_cvtph_ps(to_f16(sum));
    y = _mm256_cvtph_ps(to_f16(other));
  }
  _mm_storeu_si128((__m128i *)(void *)c, to_f16(x));
  _mm_storeu_si128((__m128i *)(void *)(c + N), to_f16(y));
}

static LANES void fma_rows_f16(const uint16_t *a, size_t step, const uint16_t *b, size_t rows,
                               uint16_t *c, size_t n)
{
  size_t i = 0;
  if (!rows)                    /* a conversion there and back would change a NaN */
    return;
  for (; i + 2 * N <= n; i += 2 * N)
    fma_rows_of_sixteen(a + i, step, b, rows, c + i);
  for (; i + N <= n; i += N)
    fma_rows_of_eight(a + i, step, b, rows, c + i);
  if (i == n)
    return;
  uint16_t x[N] = {0}, y[N] = {0};
  memcpy(y, c + i, (n - i) * sizeof *y);
  for (size_t k = 0; k < rows; k++) {
    memcpy(x, a + k * step + i, (n - i) * sizeof *x);
    fma_rows_of_eight(x, 0, b + k, 1, y);
  }
  memcpy(c + i, y, (n - i) * sizeof *y);
}

static LANES void fma_f32_all(const uint32_t *a, uint32_t b, uint32_t *c, size_t n)
{
  __m256 factor = _mm256_castsi256_ps(_mm256_set1_epi32((int)b));
  uint32_t x[N] = {0}, y[N] = {0};
  size_t i = 0;
  for (; i + N <= n; i += N) {
    __m256 from = _mm256_loadu_ps((const float *)(const void *)(a + i));
    __m256 to = _mm256_loadu_ps((const float *)(const void *)(c + i));
    _mm256_storeu_ps((float *)(void *)(c + i), one_nan(_mm256_fmadd_ps(from, factor, to)));
  }
  if (i == n)
    return;
  memcpy(x, a + i, (n - i) * sizeof *x);
  memcpy(y, c + i, (n - i) * sizeof *y);
  fma_f32_all(x, b, y, N);
  memcpy(c + i, y, (n - i) * sizeof *y);
}

bool lanes_fma_f16(const uint16_t *a, uint16_t b, uint16_t *c, size_t n)
{
  bool has = cpu_has_lanes();
  if (has)
    fma_rows_f16(a, 0, &b, 1, c, n);
  return has;
}

bool lanes_fma_rows_f16(const uint16_t *a, size_t step, const uint16_t *b, size_t rows,
                        uint16_t *c, size_t n)
{
  bool has = cpu_has_lanes();
  if (has)
    fma_rows_f16(a, step, b, rows, c, n);
  return has;
}

bool lanes_fma_f32(const uint32_t *a, uint32_t b, uint32_t *c, size_t n)
{
  bool has = cpu_has_lanes();
  if (has)
    fma_f32_all(a, b, c, n);
  return has;
}
