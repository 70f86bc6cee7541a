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

/* ---- types ----------------------------------------------------------------------------------- */

/* `text`: the type as CSL prints it, up to the length.  The name of an integer type gives the
 * bits. */
static ElementType type_of(const Machine *m, char element_class, unsigned bytes, const char *text,
                           size_t length)
{
  ElementType type = {element_class, (uint8_t)bytes, (uint8_t)(bytes * BITS_OF_BYTE), NULL, 0, 0};
  uint32_t least, most;
  type.id = machine_id_range(m, text, length, &least, &most);
  if (type.id) {
    type.id_least = (uint16_t)least;
    type.id_most = (uint16_t)most;
  }
  if (length < 2 || *text != element_class || !strchr("iu", element_class))
    return type;
  unsigned bits = 0;
  for (size_t i = 1; i < length; i++) {
    if (text[i] < '0' || text[i] > '9' || bits > type.bits)
      return type;
    bits = 10 * bits + (unsigned)(text[i] - '0');
  }
  type.bits = bits < type.bits ? (uint8_t)bits : type.bits;
  return type;
}

ElementType element_type_of_data(const Machine *m, const ImageExport *export)
{
  size_t from = strlen(export->type);
  while (from && !strchr("]* ", export->type[from - 1]))
    from--;
  return type_of(m, export->element_class, export->element_bytes, export->type + from,
                 strlen(export->type) - from);
}

/* The type of the function reads `fn(i24,bool)void`. */
ElementType element_type_of_param(const Machine *m, const ImageExport *export, unsigned number)
{
  const char *text = export->type + strcspn(export->type, "(");
  for (unsigned i = 0; i < number && *text; i++)
    text += 1 + strcspn(text + 1, ",)");
  text += *text != 0;
  text += strspn(text, " ");
  return type_of(m, export->param_class[number], export->param_bytes[number], text,
                 strcspn(text, ",)"));
}

uint64_t element_most(ElementType type)
{
  if (type.id)
    return type.id_most;
  if (type.element_class == 'b')
    return 1;
  unsigned bits = type.element_class == 'i' && type.bits ? type.bits - 1u : type.bits;
  return bits ? UINT64_MAX >> (sizeof(uint64_t) * BITS_OF_BYTE - bits) : 0;
}

int64_t element_least(ElementType type)
{
  if (type.id)
    return type.id_least;
  return type.element_class == 'i' && type.bits ? -1 - (int64_t)element_most(type) : 0;
}

bool element_type_is_narrow(ElementType type)
{
  return type.element_class == 'b' || type.id || type.bits < type.bytes * BITS_OF_BYTE;
}

bool element_is_of_type(ElementType type, uint64_t bits)
{
  unsigned unused = (unsigned)(sizeof bits - type.bytes) * BITS_OF_BYTE;
  if (type.element_class == 'f')
    return true;
  if (type.element_class != 'i')
    return bits >= (uint64_t)element_least(type) && bits <= element_most(type);
  int64_t value = (int64_t)(bits << unused) >> unused;
  return value >= element_least(type) && (value < 0 || (uint64_t)value <= element_most(type));
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool parse_integer(const char *text, ElementType type, uint64_t *out)
{
  char *end;
  int base = strstr(text, "0x") || strstr(text, "0X") ? 16 : 10;
  bool negative = *text == '-';
  int64_t least = element_least(type) < 0 ? element_least(type) : 0;
  uint64_t most = negative ? 0 - (uint64_t)least : element_most(type);
  errno = 0;
  const char *digits = text + (negative || *text == '+');
  uint64_t size = strtoull(digits, &end, base);      /* it would take blanks and a sign, too */
  if (*digits < '0' || *digits > '9' || *end || errno || size > most)
    return false;
  *out = (negative ? 0 - size : size) &
         (UINT64_MAX >> (sizeof *out - type.bytes) * BITS_OF_BYTE);
  return element_is_of_type(type, *out);
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

static const char *element_type_name(char element_class, unsigned bytes, Fp16Format fp16)
{
  switch (element_class) {
  case 'f': return bytes == 2 ? fp16_name(fp16) : "f32";
  case 'i': return bytes == 1 ? "i8" : bytes == 2 ? "i16" : bytes == 4 ? "i32" : "i64";
  case 'u': return bytes == 1 ? "u8" : bytes == 2 ? "u16" : bytes == 4 ? "u32" : "u64";
  case 'b': return "bool";
  default: return "?";
  }
}

const char *element_type_text(Arena *arena, ElementType type, Fp16Format fp16)
{
  if (type.id)
    return type.id;
  return strchr("iu", type.element_class)
             ? arena_printf(arena, "%c%u", type.element_class, type.bits)
             : element_type_name(type.element_class, type.bytes, fp16);
}
