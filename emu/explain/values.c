/* Elements as text and back. */
#include "emu/explain/explain.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  TEXT_BYTES = 32, BITS_OF_BYTE = 8,
  /* Digits from which %g is tried: fewer would print 40 as 4e+01. */
  FIRST_DIGITS_32 = 6, FIRST_DIGITS_16 = 5, LAST_DIGITS = 17,
  LONGEST_VALUE = 64
};

static double bits_to_double(unsigned bytes, Fp16Format fp16, uint32_t bits)
{
  return bytes == 2 ? fp16_to_double(fp16, (uint16_t)bits) : fp32_to_double(bits);
}

static uint32_t double_to_bits(unsigned bytes, Fp16Format fp16, double value)
{
  return bytes == 2 ? fp16_from_double(fp16, value) : fp32_from_double(value);
}

static void format_float(unsigned bytes, Fp16Format fp16, uint32_t bits, char text[TEXT_BYTES])
{
  double value = bits_to_double(bytes, fp16, bits);
  if (isnan(value) || isinf(value)) {
    snprintf(text, TEXT_BYTES, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    return;
  }
  int digits = bytes == 2 ? FIRST_DIGITS_16 : FIRST_DIGITS_32;
  for (; digits <= LAST_DIGITS; digits++) {
    snprintf(text, TEXT_BYTES, "%.*g", digits, value);
    if (double_to_bits(bytes, fp16, strtod(text, NULL)) == bits)
      return;
  }
}

void element_format(char element_class, unsigned bytes, Fp16Format fp16, uint64_t bits,
                    char text[TEXT_BYTES])
{
  unsigned unused = (unsigned)(sizeof bits - bytes) * BITS_OF_BYTE;
  if (element_class == 'f')
    format_float(bytes, fp16, (uint32_t)bits, text);
  else if (element_class == 'i')
    snprintf(text, TEXT_BYTES, "%" PRId64, (int64_t)(bits << unused) >> unused);
  else
    snprintf(text, TEXT_BYTES, "%" PRIu64, bits << unused >> unused);
}

uint64_t element_most(ElementType type)
{
  unsigned bits = type.element_class == 'i' && type.bits ? type.bits - 1u : type.bits;
  return bits ? UINT64_MAX >> (sizeof(uint64_t) * BITS_OF_BYTE - bits) : 0;
}

int64_t element_least(ElementType type)
{
  return type.element_class == 'i' && type.bits ? -1 - (int64_t)element_most(type) : 0;
}

static bool parse_integer(const char *text, ElementType type, uint64_t *out)
{
  char *end;
  int base = strstr(text, "0x") || strstr(text, "0X") ? 16 : 10;
  bool negative = *text == '-';
  uint64_t most = negative ? 0 - (uint64_t)element_least(type) : element_most(type);
  errno = 0;
  const char *digits = text + (negative || *text == '+');
  uint64_t size = strtoull(digits, &end, base);      /* it would take blanks and a sign, too */
  if (*digits < '0' || *digits > '9' || *end || errno || size > most)
    return false;
  *out = (negative ? 0 - size : size) &
         (UINT64_MAX >> (sizeof *out - type.bytes) * BITS_OF_BYTE);
  return true;
}

/* A number of the format; one too large for it would become infinite in silence. */
static bool parse_float(const char *text, unsigned bytes, Fp16Format fp16, uint64_t *bits)
{
  char *end;
  double value = strtod(text, &end), size = fabs(value);
  bool names_infinity = strpbrk(text, "iI") != NULL;
  *bits = double_to_bits(bytes, fp16, value);
  bool infinite = double_to_bits(bytes, fp16, size) == double_to_bits(bytes, fp16, INFINITY);
  return end != text && *end == 0 && (!infinite || names_infinity);
}

bool element_parse(const char *text, size_t length, ElementType type, Fp16Format fp16,
                   uint64_t *bits)
{
  char copy[LONGEST_VALUE];
  while (length && *text == ' ')
    text++, length--;
  while (length && text[length - 1] == ' ')
    length--;
  if (length == 0 || length >= sizeof copy)
    return false;
  memcpy(copy, text, length);
  copy[length] = 0;
  if (type.element_class == 'f')
    return parse_float(copy, type.bytes, fp16, bits);
  if (type.element_class == 'b') {
    *bits = strcmp(copy, "true") == 0 || strcmp(copy, "1") == 0;
    return *bits || strcmp(copy, "false") == 0 || strcmp(copy, "0") == 0;
  }
  return parse_integer(copy, type, bits);
}

const char *element_type_name(char element_class, unsigned bytes, Fp16Format fp16)
{
  switch (element_class) {
  case 'f': return bytes == 2 ? fp16_name(fp16) : "f32";
  case 'i': return bytes == 1 ? "i8" : bytes == 2 ? "i16" : bytes == 4 ? "i32" : "i64";
  case 'u': return bytes == 1 ? "u8" : bytes == 2 ? "u16" : bytes == 4 ? "u32" : "u64";
  case 'b': return "bool";
  default: return "?";
  }
}
