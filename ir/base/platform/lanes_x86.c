/* Several elements at a time by AVX2 and F16C, on x86 processors that have them.
 *
 * An f32 holds the product of two f16 exactly.  The sum and its error are exact, too (Knuth, TAOCP
 * 2, 4.2.2, theorem B): where there is an error, the sum becomes the odd one of its two neighbours,
 * so that the conversion to f16 is the only rounding. */
#include "ir/base/platform.h"

#include <cpuid.h>
#include <immintrin.h>
#include <string.h>

#define LANES __attribute__((target("avx2,fma,f16c")))
enum { N = 8, NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };
static const int NAN_BITS = 0x7fc00000;

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
LANES static inline __m256 one_nan(__m256 x)
{
  __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(NAN_BITS));
  return _mm256_blendv_ps(x, nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

/* x + y rounded to odd; as a + b with an infinity or a NaN. */
LANES static inline __m256 add_to_odd(__m256 x, __m256 y)
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

LANES static inline __m128i fma_f16(__m128i a, __m256 b, __m128i c)
{
  __m256 product = _mm256_mul_ps(_mm256_cvtph_ps(a), b);
  return _mm256_cvtps_ph(one_nan(add_to_odd(product, _mm256_cvtph_ps(c))), NEAREST);
}

LANES static void fma_f16_all(const uint16_t *a, uint16_t b, uint16_t *c, size_t n)
{
  __m256 factor = _mm256_cvtph_ps(_mm_set1_epi16((short)b));
  uint16_t x[N] = {0}, y[N] = {0};
  size_t i = 0;
  for (; i + N <= n; i += N) {
    __m128i from = _mm_loadu_si128((const __m128i *)(const void *)(a + i));
    __m128i to = _mm_loadu_si128((const __m128i *)(const void *)(c + i));
    _mm_storeu_si128((__m128i *)(void *)(c + i), fma_f16(from, factor, to));
  }
  if (i == n)
    return;
  memcpy(x, a + i, (n - i) * sizeof *x);
  memcpy(y, c + i, (n - i) * sizeof *y);
  fma_f16_all(x, b, y, N);
  memcpy(c + i, y, (n - i) * sizeof *y);
}

LANES static void fma_f32_all(const uint32_t *a, uint32_t b, uint32_t *c, size_t n)
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
    fma_f16_all(a, b, c, n);
  return has;
}

bool lanes_fma_f32(const uint32_t *a, uint32_t b, uint32_t *c, size_t n)
{
  bool has = cpu_has_lanes();
  if (has)
    fma_f32_all(a, b, c, n);
  return has;
}
