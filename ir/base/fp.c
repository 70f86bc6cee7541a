/* Device arithmetic on bit patterns: one home, no libm, independent of the rounding helpers a
 * host compiler may bring.
 *
 * Two ideas carry the file.  pack_rounded() turns an exact integer times a power of two (plus a
 * "something smaller is lost" flag) into any format with one rounding.  And a double holds the
 * exact product of any two values of f32 or a 16-bit format, so a fused multiply-add is one
 * product, one sum rounded to odd, and one rounding: a sum rounded to odd keeps the information
 * "not exact" in its last bit, and the final rounding is then right (Boldo and Melquiond,
 * "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd").
 * The other 16-bit operations run in f64 and round once too; results are those of f32 rounded
 * once, whose precision is also enough (Figueroa, "When is double rounding innocuous?").
 *
 * f32 operations are the host's, which IEEE 754 defines to the bit; the build does not contract
 * them and FLT_EVAL_METHOD is checked below. */
#include "ir/base/base.h"
#include "ir/base/platform.h"

#include <float.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "f32 arithmetic must be evaluated in f32 (on 32-bit x86 use -msse2 -mfpmath=sse)"
#endif

typedef struct {
  const char *name;
  int exponent_bits, fraction_bits, bias;
} Format;

/* cb16: the vendor documents 6 exponent bits, 9 fraction bits and that 6.0 is 0x5900, hence the
 * bias.  ASSUMED: its all-ones exponent means infinity and NaN, as in IEEE formats. */
static const Format formats[FP16_COUNT] = {
  [FP16_F16] = {"f16", 5, 10, 15},
  [FP16_BF16] = {"bf16", 8, 7, 127},
  [FP16_CB16] = {"cb16", 6, 9, 42},
};
static const Format f32_format = {"f32", 8, 23, 127};

#define F64_FRACTION_BITS 52
#define F64_BIAS 1023
#define F64_EXPONENT_MASK 0x7ffu
#define F64_SIGN (UINT64_C(1) << 63)
#define F64_INFINITY ((uint64_t)F64_EXPONENT_MASK << F64_FRACTION_BITS)

static uint64_t bits_of_double(double value)
{
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static double double_of_bits(uint64_t bits)
{
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static float float_of_bits(uint32_t bits)
{
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t infinity_of(const Format *f)
{
  return ((UINT32_C(1) << f->exponent_bits) - 1) << f->fraction_bits;
}

static uint32_t nan_of(const Format *f)
{
  return infinity_of(f) | UINT32_C(1) << (f->fraction_bits - 1);
}

static uint32_t sign_of(const Format *f)
{
  return UINT32_C(1) << (f->exponent_bits + f->fraction_bits);
}

static uint32_t bits_of_float(float value)
{
  uint32_t bits;
  if (value != value)
    return nan_of(&f32_format);
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Position of the highest set bit; m is not 0. */
static int top_bit(uint64_t m)
{
  int n = 0;
  for (int step = 32; step; step /= 2)
    if (m >> step) {
      m >>= step;
      n += step;
    }
  return n;
}

/* m >> shift rounded to nearest, ties to even; `lost` says that the exact value lies a little
 * above m. */
static uint64_t shift_rounded(uint64_t m, int shift, bool lost)
{
  if (shift <= 0)
    return m << -shift;
  if (shift > 64)
    return 0;
  uint64_t kept = shift == 64 ? 0 : m >> shift;
  uint64_t half = UINT64_C(1) << (shift - 1);
  uint64_t rest = m & (half | (half - 1));
  bool up = rest > half || (rest == half && (lost || (kept & 1)));
  return kept + up;
}

/* (m + lost) * 2^exponent with the sign, rounded once to nearest even. */
static uint32_t pack_rounded(const Format *f, bool negative, uint64_t m, int exponent, bool lost)
{
  uint32_t sign = negative ? sign_of(f) : 0;
  if (m == 0)
    return sign;
  int top = top_bit(m) + exponent;
  int least_normal = 1 - f->bias;
  int largest = (1 << f->exponent_bits) - 2 - f->bias;
  if (top > largest)
    return sign | infinity_of(f);
  if (top < least_normal - f->fraction_bits - 1)
    return sign;
  int unit = (top < least_normal ? least_normal : top) - f->fraction_bits;
  uint64_t kept = shift_rounded(m, unit - exponent, lost);
  /* A normal number's leading bit is added onto the exponent field; so is the carry of a
   * fraction that rounded up to 2. */
  uint64_t field = (uint64_t)(unit + f->fraction_bits + f->bias - 1);
  uint64_t bits = (field << f->fraction_bits) + kept;
  return sign | (bits < infinity_of(f) ? (uint32_t)bits : infinity_of(f));
}

/* Packs a positive double in the range of the format's normal numbers.  It rounds the fraction to
 * nearest even; a carry goes on into the exponent, to infinity at most. */
static inline uint32_t pack_normal(const Format *f, uint64_t bits)
{
  int shift = F64_FRACTION_BITS - f->fraction_bits;
  uint64_t below_half = (UINT64_C(1) << (shift - 1)) - 1, is_odd = bits >> shift & 1;
  uint64_t fields = (bits + below_half + is_odd) >> shift;
  return (uint32_t)(fields - ((uint64_t)(F64_BIAS - f->bias) << f->fraction_bits));
}

static uint32_t pack_double(const Format *f, double value, int scale)
{
  uint64_t bits = bits_of_double(value);
  bool negative = bits & F64_SIGN;
  bits &= ~F64_SIGN;
  int exponent = (int)(bits >> F64_FRACTION_BITS) - F64_BIAS + f->bias;   /* field of the result */
  if (scale == 0 && exponent > 0 && exponent < (1 << f->exponent_bits) - 1)
    return (negative ? sign_of(f) : 0) | pack_normal(f, bits);
  if (bits > F64_INFINITY)
    return nan_of(f);
  if (bits == F64_INFINITY)
    return (negative ? sign_of(f) : 0) | infinity_of(f);
  int field = (int)(bits >> F64_FRACTION_BITS);
  uint64_t m = bits & ((UINT64_C(1) << F64_FRACTION_BITS) - 1);
  if (field)
    m |= UINT64_C(1) << F64_FRACTION_BITS;
  else
    field = 1;
  return pack_rounded(f, negative, m, field - F64_BIAS - F64_FRACTION_BITS + scale, false);
}

/* A double with the format's exponent field and fraction is the value but for a power of two, also
 * where it is subnormal; the product is exact. */
static inline double unpack_fp16(const Format *f, uint16_t bits)
{
  uint64_t sign = bits & sign_of(f) ? F64_SIGN : 0;
  uint32_t magnitude = bits & (sign_of(f) - 1);
  if (magnitude > infinity_of(f))
    return double_of_bits(F64_INFINITY | F64_INFINITY >> 1);
  if (magnitude == infinity_of(f))
    return double_of_bits(sign | F64_INFINITY);
  uint64_t fields = (uint64_t)magnitude << (F64_FRACTION_BITS - f->fraction_bits);
  double power = double_of_bits((uint64_t)(2 * F64_BIAS - f->bias) << F64_FRACTION_BITS);
  return double_of_bits(sign | bits_of_double(double_of_bits(fields) * power));
}

double fp32_least_normal(void)
{
  return FLT_MIN;
}

double fp16_least_normal(Fp16Format format)
{
  return unpack_fp16(&formats[format], (uint16_t)(1u << formats[format].fraction_bits));
}

/* ---- conversions --------------------------------------------------------------------- */

const char *fp16_name(Fp16Format format)
{
  return formats[format].name;
}

uint32_t fp32_from_double(double value)
{
  return bits_of_float((float)value);
}

double fp32_to_double(uint32_t bits)
{
  return (double)float_of_bits(bits);
}

uint16_t fp16_from_double(Fp16Format format, double value)
{
  return (uint16_t)pack_double(&formats[format], value, 0);
}

double fp16_to_double(Fp16Format format, uint16_t bits)
{
  return unpack_fp16(&formats[format], bits);
}

uint16_t fp16_from_fp32(Fp16Format format, uint32_t bits)
{
  return fp16_from_double(format, fp32_to_double(bits));
}

uint32_t fp16_to_fp32(Fp16Format format, uint16_t bits)
{
  return fp32_from_double(fp16_to_double(format, bits));
}

uint64_t fp_to_int(double value, unsigned bits, bool is_signed)
{
  const double two63 = 9223372036854775808.0;
  uint64_t result;
  if (value != value)
    return 0;
  if (is_signed)
    result = value >= two63    ? (uint64_t)INT64_MAX
             : value < -two63 ? (uint64_t)INT64_MIN
                              : (uint64_t)(int64_t)value;
  else
    result = value >= 2 * two63 ? UINT64_MAX : value <= -1.0 ? 0 : (uint64_t)value;
  return bits >= 64 ? result : result & ((UINT64_C(1) << bits) - 1);
}

static uint64_t magnitude_of(int64_t value)
{
  return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

uint32_t fp32_from_i64(int64_t value)
{
  return pack_rounded(&f32_format, value < 0, magnitude_of(value), 0, false);
}

uint32_t fp32_from_u64(uint64_t value)
{
  return pack_rounded(&f32_format, false, value, 0, false);
}

uint16_t fp16_from_i64(Fp16Format format, int64_t value)
{
  return (uint16_t)pack_rounded(&formats[format], value < 0, magnitude_of(value), 0, false);
}

uint16_t fp16_from_u64(Fp16Format format, uint64_t value)
{
  return (uint16_t)pack_rounded(&formats[format], false, value, 0, false);
}

/* Beyond this every scale is an underflow or an overflow; keeps sums of exponents in an int. */
static int clamp_scale(int exponent)
{
  const int limit = 4 * F64_BIAS;
  return exponent > limit ? limit : exponent < -limit ? -limit : exponent;
}

uint32_t fp32_scale(uint32_t bits, int exponent)
{
  return pack_double(&f32_format, fp32_to_double(bits), clamp_scale(exponent));
}

uint16_t fp16_scale(Fp16Format format, uint16_t bits, int exponent)
{
  double value = fp16_to_double(format, bits);
  return (uint16_t)pack_double(&formats[format], value, clamp_scale(exponent));
}

/* ---- arithmetic ---------------------------------------------------------------------- */

/* The larger or smaller operand; NaN if one is NaN, and +0 counts as larger than -0. */
static double pick_extreme(double a, double b, bool larger)
{
  if (a != a || b != b)
    return a + b;
  if (a == b)
    return ((bits_of_double(a) & F64_SIGN) != 0) == larger ? b : a;
  return (a > b) == larger ? a : b;
}

uint32_t fp32_binary(FpBinary op, uint32_t a, uint32_t b)
{
  float x = float_of_bits(a), y = float_of_bits(b);
  switch (op) {
  case FP_ADD: return bits_of_float(x + y);
  case FP_SUB: return bits_of_float(x - y);
  case FP_MUL: return bits_of_float(x * y);
  case FP_DIV: return bits_of_float(x / y);
  case FP_MAX: return bits_of_float((float)pick_extreme(x, y, true));
  case FP_MIN: return bits_of_float((float)pick_extreme(x, y, false));
  }
  ICE("bad operation %d on f32", (int)op);
}

uint16_t fp16_binary(Fp16Format format, FpBinary op, uint16_t a, uint16_t b)
{
  double x = fp16_to_double(format, a), y = fp16_to_double(format, b);
  switch (op) {
  case FP_ADD: return fp16_from_double(format, x + y);
  case FP_SUB: return fp16_from_double(format, x - y);
  case FP_MUL: return fp16_from_double(format, x * y);
  case FP_DIV: return fp16_from_double(format, x / y);
  case FP_MAX: return fp16_from_double(format, pick_extreme(x, y, true));
  case FP_MIN: return fp16_from_double(format, pick_extreme(x, y, false));
  }
  ICE("bad operation %d on %s", (int)op, fp16_name(format));
}

static bool compare_doubles(FpCompare op, double a, double b)
{
  switch (op) {
  case FP_LT: return a < b;
  case FP_LE: return a <= b;
  case FP_EQ: return a == b;
  }
  ICE("bad comparison %d", (int)op);
}

bool fp32_compare(FpCompare op, uint32_t a, uint32_t b)
{
  return compare_doubles(op, fp32_to_double(a), fp32_to_double(b));
}

bool fp16_compare(Fp16Format format, FpCompare op, uint16_t a, uint16_t b)
{
  return compare_doubles(op, fp16_to_double(format, a), fp16_to_double(format, b));
}

/* a + b rounded to odd: the exact sum if a double holds it, else the neighbour of the exact sum
 * whose last bit is set. */
static double add_to_odd(double a, double b)
{
  double sum = a + b;
  uint64_t bits = bits_of_double(sum);
  if ((bits & F64_INFINITY) == F64_INFINITY)
    return sum;
  double b_part = sum - a;
  double error = (a - (sum - b_part)) + (b - b_part);
  if (error != 0 && (bits & 1) == 0)
    bits += (error > 0) == (sum > 0) ? 1 : UINT64_MAX;
  return double_of_bits(bits);
}

uint32_t fp32_fma_odd(uint32_t a, uint32_t b, uint32_t c)
{
  double product = fp32_to_double(a) * fp32_to_double(b);
  return fp32_from_double(add_to_odd(product, fp32_to_double(c)));
}

uint16_t fp16_fma(Fp16Format format, uint16_t a, uint16_t b, uint16_t c)
{
  double product = fp16_to_double(format, a) * fp16_to_double(format, b);
  return fp16_from_double(format, add_to_odd(product, fp16_to_double(format, c)));
}

/* The nearest double to the sum says how it rounds, if it is a normal number of the format and not
 * in the middle of two of these; else the general way. */
static inline uint32_t fma_of_numbers(const Format *f, double a, double b, double c)
{
  double sum = a * b + c;
  uint64_t bits = bits_of_double(sum), magnitude = bits & ~F64_SIGN;
  uint64_t half = UINT64_C(1) << (F64_FRACTION_BITS - f->fraction_bits - 1);
  unsigned field = (unsigned)(magnitude >> F64_FRACTION_BITS) - (unsigned)(F64_BIAS - f->bias + 1);
  if (field < (1u << f->exponent_bits) - 2 && (magnitude & (2 * half - 1)) != half)
    return (bits & F64_SIGN ? sign_of(f) : 0) | pack_normal(f, magnitude);
  return pack_double(f, add_to_odd(a * b, c), 0);
}

static inline float sum_of_bits(uint32_t a, uint32_t b)
{
  float x, y;
  memcpy(&x, &a, sizeof x);
  memcpy(&y, &b, sizeof y);
  return x + y;
}

/* A NaN is rare: so a loop looks whether there is any, and another makes the sums without tests;
 * the compiler turns both into vector instructions. */
void fp32_add_all(uint32_t *restrict a, const uint32_t *restrict b, size_t n)
{
  uint32_t odd = 0;
  for (size_t i = 0; i < n; i++) {
    float sum = sum_of_bits(a[i], b[i]);
    odd |= sum != sum;
  }
  for (size_t i = 0; !odd && i < n; i++) {
    float sum = sum_of_bits(a[i], b[i]);
    memcpy(&a[i], &sum, sizeof sum);
  }
  for (size_t i = 0; odd && i < n; i++)
    a[i] = fp32_add(a[i], b[i]);
}

void fp32_fma_all(const uint32_t *a, uint32_t b, uint32_t *c, size_t n)
{
  if (lanes_fma_f32(a, b, c, n))
    return;
  for (size_t i = 0; i < n; i++)
    c[i] = fp32_fma(a[i], b, c[i]);
}

static inline void fma_all(const Format *f, const uint16_t *a, uint16_t b, uint16_t *c, size_t n)
{
  double factor = unpack_fp16(f, b);
  for (size_t i = 0; i < n; i++)
    c[i] = (uint16_t)fma_of_numbers(f, unpack_fp16(f, a[i]), factor, unpack_fp16(f, c[i]));
}

/* A loop for each format, so that its fields are constants there. */
void fp16_fma_all(Fp16Format format, const uint16_t *a, uint16_t b, uint16_t *c, size_t n)
{
  if (format == FP16_F16 && lanes_fma_f16(a, b, c, n))
    return;
  switch (format) {
  case FP16_F16: fma_all(&formats[FP16_F16], a, b, c, n); return;
  case FP16_BF16: fma_all(&formats[FP16_BF16], a, b, c, n); return;
  case FP16_CB16: fma_all(&formats[FP16_CB16], a, b, c, n); return;
  case FP16_COUNT: break;
  }
  ICE("bad format %d", (int)format);
}

void fp16_fma_rows(Fp16Format format, const uint16_t *a, size_t step, const uint16_t *b,
                   size_t rows, uint16_t *c, size_t n)
{
  if (format == FP16_F16 && lanes_fma_rows_f16(a, step, b, rows, c, n))
    return;
  for (size_t k = 0; k < rows; k++)
    fp16_fma_all(format, a + k * step, b[k], c, n);
}

uint32_t fp16_mixed_fma(Fp16Format format, uint16_t a, uint16_t b, uint32_t c)
{
  double product = fp16_to_double(format, a) * fp16_to_double(format, b);
  return fp32_from_double(add_to_odd(product, fp32_to_double(c)));
}
