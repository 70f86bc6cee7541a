/* Values of variables as text, by the types of the image's section `debug`. */
#include "emu/explain/explain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
  BITS_OF_BYTE = 8, BITS_OF_NUMBER = 64, VALUE_TEXT = 32, WORDS_OF_DESCRIPTOR = 12,
  LEAST_REPEATS = 4             /* that are shown as a number of times */
};

/* Where a value stands: some bits of memory, the low bits of a byte first. */
typedef struct { const uint8_t *bytes; uint32_t bit; } ValuePlace;

typedef struct {
  const ValueStyle *style;
  FILE *out;
  uint32_t left;                /* elements that may still be shown */
} VariablePrinter;

static void print_value(VariablePrinter *p, const DebugType *type, ValuePlace at);

static uint64_t read_bits(ValuePlace at, uint32_t n)
{
  uint64_t value = 0;
  for (uint32_t i = 0; i < n && i < BITS_OF_NUMBER; i++) {
    uint32_t bit = at.bit + i;
    value |= (uint64_t)(at.bytes[bit / BITS_OF_BYTE] >> bit % BITS_OF_BYTE & 1) << i;
  }
  return value;
}

static void print_wide(FILE *out, const DebugType *type, ValuePlace at)
{
  fputs("0x", out);
  for (uint32_t i = type->bytes; i-- > 0;)
    fprintf(out, "%02x", (unsigned)read_bits((ValuePlace){at.bytes, at.bit + i * BITS_OF_BYTE},
                                             BITS_OF_BYTE));
}

static void print_integer(FILE *out, const DebugType *type, ValuePlace at)
{
  uint64_t value = read_bits(at, type->bits);
  unsigned unused = BITS_OF_NUMBER - type->bits;
  if (type->bits > BITS_OF_NUMBER)
    print_wide(out, type, at);
  else if (type->kind == DT_SIGNED && type->bits)
    fprintf(out, "%" PRId64, (int64_t)(value << unused) >> unused);
  else
    fprintf(out, "%" PRIu64, value);
}

static void print_enum(VariablePrinter *p, const DebugType *type, ValuePlace at)
{
  const DebugType *of = image_debug_type(p->style->image, type->of);
  uint64_t mask = type->bits < BITS_OF_NUMBER ? (UINT64_C(1) << type->bits) - 1 : UINT64_MAX;
  uint64_t value = read_bits(at, type->bits);
  for (uint32_t i = 0; i < type->n_members; i++)
    if ((type->members[i].value & mask) == value) {
      fputs(type->members[i].name, p->out);
      return;
    }
  print_integer(p->out, of, at);
}

/* The variable or function that a pointer points into. */
static void print_target(const ValueStyle *style, uint32_t address, FILE *out)
{
  for (uint32_t i = 0; style->cls && i < style->cls->n_symbols; i++) {
    const ImageSymbol *s = &style->cls->symbols[i];
    if (address < s->address || address - s->address >= s->bytes)
      continue;
    fprintf(out, " (&%s", s->name);
    if (address > s->address)
      fprintf(out, " + %u bytes", address - s->address);
    fputc(')', out);
    return;
  }
}

static void print_pointer(VariablePrinter *p, const DebugType *type, ValuePlace at)
{
  uint32_t address = (uint32_t)read_bits(at, type->bits);
  fprintf(p->out, "0x%04x", address);
  print_target(p->style, address, p->out);
}

static void print_descriptor(VariablePrinter *p, const DebugType *type, ValuePlace at)
{
  uint16_t words[WORDS_OF_DESCRIPTOR];
  char text[256];
  Descriptor desc;
  size_t n = type->bytes / sizeof *words;
  for (size_t i = 0; i < ARRAY_COUNT(words) && i < n; i++)
    words[i] = (uint16_t)read_bits((ValuePlace){at.bytes, at.bit + (uint32_t)i * 16}, 16);
  if (n > ARRAY_COUNT(words) || !descriptor_decode(words, n, &desc)) {
    print_wide(p->out, type, at);
    return;
  }
  descriptor_print(&desc, NULL, text, sizeof text);
  fputs(text, p->out);
}

/* Has value number `n` of those that follow each other the bytes of the first? */
static bool is_repeated(const DebugType *type, ValuePlace at, uint32_t n)
{
  const uint8_t *first = at.bytes + at.bit / BITS_OF_BYTE;
  return memcmp(first, first + (size_t)n * type->bytes, type->bytes) == 0;
}

/* One dimension of an array: `n` parts, each of `inner` elements. */
static void print_dimension(VariablePrinter *p, const DebugType *array, uint32_t dim,
                            ValuePlace at)
{
  const DebugType *of = image_debug_type(p->style->image, array->of);
  uint32_t inner = 1, n = array->dims[dim];
  bool is_last = dim + 1 == array->n_dims;
  for (uint32_t i = dim + 1; i < array->n_dims; i++)
    inner *= array->dims[i];
  fputs("{ ", p->out);
  for (uint32_t i = 0, repeats; i < n && p->left; i += repeats) {
    ValuePlace here = {at.bytes, at.bit + i * inner * of->bytes * BITS_OF_BYTE};
    repeats = 1;
    while (is_last && i + repeats < n && is_repeated(of, here, repeats))
      repeats++;
    repeats = repeats < LEAST_REPEATS ? 1 : repeats;
    fputs(i ? ", " : "", p->out);
    if (is_last) {
      p->left--;
      print_value(p, of, here);
    } else {
      print_dimension(p, array, dim + 1, here);
    }
    if (repeats > 1)
      fprintf(p->out, " <%u times>", repeats);
    if (!p->left && i + repeats < n)
      fputs(", ...", p->out);
  }
  fputs(" }", p->out);
}

static void print_fields(VariablePrinter *p, const DebugType *type, ValuePlace at)
{
  fputs("{ ", p->out);
  for (uint32_t i = 0; i < type->n_members; i++) {
    const DebugMember *m = &type->members[i];
    fputs(i ? ", " : "", p->out);
    if (*m->name)
      fprintf(p->out, ".%s = ", m->name);
    print_value(p, image_debug_type(p->style->image, m->type),
                (ValuePlace){at.bytes, at.bit + m->bit});
  }
  fputs(" }", p->out);
}

static void print_float(VariablePrinter *p, const DebugType *type, ValuePlace at)
{
  char text[VALUE_TEXT];
  element_format('f', type->bits / BITS_OF_BYTE, p->style->image->fp16, read_bits(at, type->bits),
                 text);
  fputs(text, p->out);
}

static void print_value(VariablePrinter *p, const DebugType *type, ValuePlace at)
{
  switch (type->kind) {
  case DT_BOOL: fputs(read_bits(at, type->bits) & 1 ? "true" : "false", p->out); return;
  case DT_SIGNED: case DT_UNSIGNED: print_integer(p->out, type, at); return;
  case DT_FLOAT16: case DT_FLOAT32: print_float(p, type, at); return;
  case DT_ENUM: print_enum(p, type, at); return;
  case DT_ARRAY: print_dimension(p, type, 0, at); return;
  case DT_POINTER: print_pointer(p, type, at); return;
  case DT_STRUCT: case DT_UNION: case DT_PACKED: print_fields(p, type, at); return;
  case DT_DESCRIPTOR: print_descriptor(p, type, at); return;
  case DT_OPAQUE: case DT_KIND_COUNT: default: print_wide(p->out, type, at); return;
  }
}

void variable_print(const ValueStyle *style, const DebugType *type, const uint8_t *bytes,
                    FILE *out)
{
  VariablePrinter p = {style, out, style->most_elements};
  print_value(&p, type, (ValuePlace){bytes, 0});
}

const DebugType *variable_type(const Image *image, const ImageClass *cls, uint32_t symbol)
{
  return symbol < cls->n_symbol_types ? image_debug_type(image, cls->symbol_types[symbol]) : NULL;
}

/* The part of a symbol's name that is its own. */
static const char *own_name(const char *full)
{
  const char *dot = strrchr(full, '.');
  return dot ? dot + 1 : full;
}

const ImageSymbol *class_symbol(const ImageClass *cls, const char *name)
{
  const ImageSymbol *found = NULL;
  for (uint32_t i = 0; i < cls->n_symbols; i++) {
    const char *full = cls->symbols[i].name;
    if (strcmp(full, name) == 0)
      return &cls->symbols[i];
    if (strcmp(own_name(full), name) == 0 && !found)
      found = &cls->symbols[i];
  }
  return found;
}

char *class_variables_named(const ImageClass *cls, const char *name, unsigned *count)
{
  char *text = NULL;
  size_t size;
  FILE *out = base_text_open(&text, &size);
  *count = 0;
  for (uint32_t i = 0; i < cls->n_symbols; i++) {
    const ImageSymbol *s = &cls->symbols[i];
    if (!s->is_code && *s->name != '<' && strcmp(own_name(s->name), name) == 0)
      fprintf(out, "%s%s", (*count)++ ? ", " : "", s->name);
  }
  base_text_close(out, &text);
  return text;
}

char *class_name_choices(const ImageClass *cls, const char *name)
{
  unsigned count = 0;
  const ImageSymbol *found = class_symbol(cls, name);
  if (!found || strcmp(found->name, name) == 0)
    return NULL;
  char *text = class_variables_named(cls, name, &count);
  if (count > 1)
    return text;
  free(text);
  return NULL;
}
