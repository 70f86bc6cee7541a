/* The exceptions of IEEE 754 that an operation raises, computed after it from its operands and its
 * result, so that arithmetic pays nothing if no program asks.
 *
 * Every value of f32 and of the 16-bit formats is a double, and so is the product of two; the sum
 * of two doubles is a double and an error that is a double again (Knuth, TAOCP 2, 4.2.2, theorem
 * B).  So "inexact" is decided exactly.  Tininess is looked for before the rounding, which the
 * standard allows, and one quiet NaN per format leaves no signaling ones. */
#include "ir/base/base.h"

#include <float.h>
#include <string.h>

enum { F64_BIAS = 1023, F64_FRACTION_BITS = 52 };

static bool is_nan(double v) { return v != v; }
static bool is_infinite(double v) { return v > DBL_MAX || v < -DBL_MAX; }
static bool is_finite(double v) { return !is_nan(v) && !is_infinite(v); }
static double magnitude_of(double v) { return v < 0 ? -v : v; }

static double power_of_two(int exponent)
{
  uint64_t bits = (uint64_t)(exponent + F64_BIAS) << F64_FRACTION_BITS;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* What the rounding of `value` to a result raises.  `exact`: nothing was lost. */
static unsigned of_rounding(double value, bool exact, double result, double least_normal)
{
  if (is_infinite(result))
    return FP_RAISES_OVERFLOW | FP_RAISES_INEXACT;
  if (exact)
    return 0;
  bool tiny = magnitude_of(value) < least_normal;
  return FP_RAISES_INEXACT | (tiny ? FP_RAISES_UNDERFLOW : 0u);
}

/* x + y, one rounding; x may be a product. */
static unsigned of_sum(double x, double y, double result, double least_normal)
{
  double sum = x + y, part = sum - x;
  double lost = (x - (sum - part)) + (y - part);
  return of_rounding(sum, lost == 0 && sum == result, result, least_normal);
}

unsigned fp_raised_sum(double a, double b, double result, double least_normal)
{
  if (is_finite(a) && is_finite(b))
    return of_sum(a, b, result, least_normal);
  return is_nan(result) && !is_nan(a) && !is_nan(b) ? FP_RAISES_INVALID : 0;
}

unsigned fp_raised_product(double a, double b, double result, double least_normal)
{
  if (is_finite(a) && is_finite(b))
    return of_rounding(a * b, a * b == result, result, least_normal);
  return is_nan(result) && !is_nan(a) && !is_nan(b) ? FP_RAISES_INVALID : 0;
}

unsigned fp_raised_quotient(double a, double b, double result, double least_normal)
{
  if (is_nan(result))
    return is_nan(a) || is_nan(b) ? 0 : FP_RAISES_INVALID;
  if (!is_finite(a) || is_infinite(b))
    return 0;
  if (b == 0)
    return FP_RAISES_DIV_BY_0;
  return of_rounding(a / b, result * b == a, result, least_normal);
}

unsigned fp_raised_fma(double a, double b, double c, double result, double least_normal)
{
  if (is_finite(a) && is_finite(b) && is_finite(c))
    return of_sum(a * b, c, result, least_normal);
  return is_nan(result) && !is_nan(a) && !is_nan(b) && !is_nan(c) ? FP_RAISES_INVALID : 0;
}

unsigned fp_raised_rounding(double value, double result, double least_normal)
{
  return is_finite(value) ? of_rounding(value, value == result, result, least_normal) : 0;
}

unsigned fp_raised_scale(double value, int exponent, double result, double least_normal)
{
  if (!is_finite(value) || value == 0)
    return 0;
  if (is_infinite(result) || result == 0)
    return of_rounding(result, false, result, least_normal);
  double exact = value * power_of_two(exponent);     /* both are far from the ends of a double */
  return of_rounding(exact, exact == result, result, least_normal);
}

unsigned fp_raised_to_int(double value, unsigned bits, bool is_signed)
{
  double end = power_of_two((int)bits - is_signed);
  if (is_nan(value) || value >= end || value <= (is_signed ? -end - 1 : -1))
    return FP_RAISES_INVALID;
  return (double)(int64_t)value == value ? 0 : FP_RAISES_INEXACT;
}

unsigned fp_raised_compare(double a, double b)
{
  return is_nan(a) || is_nan(b) ? FP_RAISES_INVALID : 0;
}
