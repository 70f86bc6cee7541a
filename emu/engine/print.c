/* Text of what tiles print: the machine has the numbers, the simulator their digits. */
#include "emu/engine/engine.h"

#include <stdio.h>
#include <string.h>

static size_t binary_text(uint32_t value, char *text)
{
  size_t length = value ? 32 - (size_t)__builtin_clz(value) : 1;
  for (size_t i = 0; i < length; i++)
    text[i] = (char)('0' + (value >> (length - 1 - i) & 1));
  return length;
}

/* Six decimals; with an exponent if the number is too large or too small for that. */
static size_t float_text(uint32_t bits, char *text)
{
  enum { SIGN_SHIFT = 31, INFINITE = 0x7f800000, LARGE = 10000000, BASE = 10 };
  static const double small = 1e-3, half_place = 0.5e-6;
  uint32_t size = bits & ~(UINT32_C(1) << SIGN_SHIFT);
  const char *sign = bits >> SIGN_SHIFT && size <= INFINITE ? "-" : "";
  float single;
  memcpy(&single, &size, sizeof single);
  double x = single;
  if (size >= INFINITE)
    return (size_t)snprintf(text, PRINT_TEXT_BYTES, "%s%s", sign, size > INFINITE ? "nan" : "inf");
  if (size == 0 || (x >= small && x < LARGE))
    return (size_t)snprintf(text, PRINT_TEXT_BYTES, "%s%.6f", sign, x);
  int exponent = 0;
  for (; x >= BASE - half_place; exponent++)
    x /= BASE;
  for (; x < 1 - half_place / BASE; exponent--)
    x *= BASE;
  return (size_t)snprintf(text, PRINT_TEXT_BYTES, "%s%.6fe%d", sign, x, exponent);
}

size_t print_text(const TilePrint *print, char text[PRINT_TEXT_BYTES])
{
  enum { SHORT_BITS = 16 };
  uint32_t value = print->value;
  switch ((PrintKind)print->kind) {
  case PRINT_UNSIGNED:
    return (size_t)snprintf(text, PRINT_TEXT_BYTES, "%u", value);
  case PRINT_SIGNED:
    return (size_t)snprintf(text, PRINT_TEXT_BYTES, "%d",
                            print->bits == SHORT_BITS ? (int16_t)value : (int32_t)value);
  case PRINT_HEX:
    return (size_t)snprintf(text, PRINT_TEXT_BYTES, "%X", value);
  case PRINT_BINARY:
    return binary_text(value, text);
  case PRINT_FLOAT:
    return float_text(value, text);
  case PRINT_BYTE:
  default:
    text[0] = (char)value;
    return 1;
  }
}
