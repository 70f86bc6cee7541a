/* Expressions over the stopped state of a tile: CSL's, as far as they have no effect. */
#include "emu/debug/debug_internal.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_TEXT = 96, MOST_DEPTH = 64, BITS_OF_BYTE = 8, SHOWN_ELEMENTS = 64, PAIR_BYTES = 4 };

/* Reads the text from left to right. */
typedef struct {
  EvalContext *e;
  const char *at;
  unsigned depth;
} Reader;

/* ---- values -------------------------------------------------------------------------------- */

/* The bytes of a typed value: malloc, or NULL if they lie outside memory. */
static uint8_t *value_bytes(const EvalContext *e, const EvalValue *v)
{
  uint32_t n = (v->bit + v->type->bits + BITS_OF_BYTE - 1) / BITS_OF_BYTE;
  n = n < v->type->bytes ? v->type->bytes : n;
  uint8_t *bytes = base_zeroed(n + 1u, 1);
  if (!v->in_memory) {
    memcpy(bytes, v->bytes, n < EVAL_BYTES ? n : EVAL_BYTES);
    return bytes;
  }
  if (read_bytes(e, v->address, bytes, n))
    return bytes;
  free(bytes);
  return NULL;
}

static uint64_t bits_at(const uint8_t *bytes, uint32_t bit, uint32_t n)
{
  uint64_t value = 0;
  for (uint32_t i = 0; i < n && i < 64; i++)
    value |= (uint64_t)(bytes[(bit + i) / BITS_OF_BYTE] >> (bit + i) % BITS_OF_BYTE & 1) << i;
  return value;
}

static bool is_number(const DebugType *type)
{
  switch (type->kind) {
  case DT_BOOL: case DT_SIGNED: case DT_UNSIGNED: case DT_FLOAT16: case DT_FLOAT32: case DT_ENUM:
  case DT_POINTER:
    return type->bits <= 64;
  case DT_OPAQUE: case DT_ARRAY: case DT_STRUCT: case DT_UNION: case DT_PACKED:
  case DT_DESCRIPTOR: case DT_KIND_COUNT: default:
    return false;
  }
}

/* What a number of the type stands for whose bits these are. */
static EvalValue number_of_bits(const EvalContext *e, const DebugType *type, uint64_t bits)
{
  const Image *image = program_of(e)->image;
  const DebugType *of = type->kind == DT_ENUM ? image_debug_type(image, type->of) : type;
  unsigned unused = 64 - type->bits;
  EvalValue v = {.kind = EVAL_INTEGER, .integer = (int64_t)bits,
                 .is_unsigned = type->kind == DT_UNSIGNED && unused == 0};
  if (of->kind == DT_SIGNED && type->bits)
    v.integer = (int64_t)(bits << unused) >> unused;
  if (type->kind == DT_FLOAT16 || type->kind == DT_FLOAT32) {
    v.kind = EVAL_FLOAT;
    v.number = type->kind == DT_FLOAT32 ? fp32_to_double((uint32_t)bits)
                                        : fp16_to_double(image->fp16, (uint16_t)bits);
  }
  return v;
}

/* Makes a typed number a number of the debugger's. */
static bool load_number(EvalContext *e, EvalValue *v)
{
  if (v->kind != EVAL_TYPED)
    return true;
  const DebugType *type = v->type;
  if (!is_number(type))
    return set_why(e, "a value of type '%s' is no number", type->name);
  uint8_t *bytes = value_bytes(e, v);
  if (!bytes)
    return set_why(e, "the value lies outside the tile's memory");
  uint64_t bits = bits_at(bytes, v->bit, type->bits);
  free(bytes);
  bool is_held = v->is_held;
  *v = number_of_bits(e, type, bits);
  v->is_held = is_held;
  return true;
}

static double as_double(const EvalValue *v)
{
  if (v->kind == EVAL_FLOAT)
    return v->number;
  return v->is_unsigned ? (double)(uint64_t)v->integer : (double)v->integer;
}

int64_t evaluate_integer(const EvalContext *e, const EvalValue *value)
{
  EvalValue v = *value;
  EvalContext scratch = *e;
  if (!load_number(&scratch, &v))
    return 0;
  if (v.kind == EVAL_INTEGER)
    return v.integer;
  return v.number > -9e18 && v.number < 9e18 ? (int64_t)v.number : 0;
}

bool evaluate_address(EvalContext *e, const EvalValue *value, uint32_t *address)
{
  bool is_place = value->kind == EVAL_TYPED && value->in_memory &&
                  value->type->kind != DT_POINTER;
  int64_t at = is_place ? value->address : evaluate_integer(e, value);
  *address = (uint32_t)at;
  return (at >= 0 && at <= UINT16_MAX) ||
         set_why(e, "0x%" PRIx64 " lies outside the tile's memory", (uint64_t)at);
}

bool evaluate_bits(EvalContext *e, const EvalValue *value, uint64_t *bits)
{
  EvalValue v = *value;
  if (!load_number(e, &v))
    return false;
  if (value->kind == EVAL_FLOAT)
    return set_why(e, "a computed float has no bits of its own");
  *bits = (uint64_t)v.integer;
  if (value->kind == EVAL_TYPED) {
    uint8_t *bytes = value_bytes(e, value);
    *bits = bits_at(bytes, value->bit, value->type->bits);
    free(bytes);
  }
  return true;
}

bool evaluate_truth(const EvalContext *e, const EvalValue *value)
{
  EvalValue v = *value;
  EvalContext scratch = *e;
  return load_number(&scratch, &v) && as_double(&v) != 0;
}

/* ---- parts --------------------------------------------------------------------------------- */

static void move_to(EvalValue *v, const DebugType *type, uint32_t bit)
{
  uint32_t at = v->bit + bit;
  v->type = type;
  if (v->in_memory) {
    v->address += at / BITS_OF_BYTE;
    v->bit = at % BITS_OF_BYTE;
  } else {
    v->bit = at;
  }
}

static const DebugType *member_type(const EvalContext *e, const DebugMember *m)
{
  return image_debug_type(program_of(e)->image, m->type);
}

static bool has_fields(const EvalValue *v)
{
  return v->kind == EVAL_TYPED && (v->type->kind == DT_STRUCT || v->type->kind == DT_UNION ||
                                   v->type->kind == DT_PACKED);
}

static bool take_field(EvalContext *e, EvalValue *v, const char *name)
{
  for (uint32_t i = 0; has_fields(v) && i < v->type->n_members; i++) {
    const DebugMember *m = &v->type->members[i];
    if (strcmp(m->name, name) == 0) {
      move_to(v, member_type(e, m), m->bit);
      return true;
    }
  }
  return set_why(e, "%s%s%s has no field '%s'", v->kind == EVAL_TYPED ? "a '" : "a number",
              v->kind == EVAL_TYPED ? v->type->name : "", v->kind == EVAL_TYPED ? "'" : "", name);
}

static bool follow_pointer(EvalContext *e, EvalValue *v)
{
  if (v->kind != EVAL_TYPED || v->type->kind != DT_POINTER || !v->type->of)
    return set_why(e, "'.*' needs a pointer");
  const DebugType *to = image_debug_type(program_of(e)->image, v->type->of);
  int64_t address = evaluate_integer(e, v);
  *v = (EvalValue){.kind = EVAL_TYPED, .type = to, .in_memory = true,
                   .address = (uint32_t)address,
                   .is_held = v->is_held || names_is_held(e, (uint32_t)address)};
  return true;
}

static bool take_elements(EvalContext *e, EvalValue *v, const int64_t *index, uint32_t n)
{
  if (v->kind == EVAL_TYPED && v->type->kind == DT_POINTER && n == 1) {
    if (!follow_pointer(e, v))
      return false;
    if (v->type->kind != DT_ARRAY) {
      v->address = (uint32_t)((int64_t)v->address + index[0] * (int64_t)v->type->bytes);
      return true;
    }
  }
  if (v->kind != EVAL_TYPED || v->type->kind != DT_ARRAY)
    return set_why(e, "only arrays and pointers have elements");
  if (n != v->type->n_dims)
    return set_why(e, "'%s' has %u dimensions, not %u", v->type->name, v->type->n_dims, n);
  uint64_t at = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (index[i] < 0 || index[i] >= v->type->dims[i])
      return set_why(e, "index %" PRId64 " is outside '%s'", index[i], v->type->name);
    at = at * v->type->dims[i] + (uint64_t)index[i];
  }
  const DebugType *of = image_debug_type(program_of(e)->image, v->type->of);
  move_to(v, of, (uint32_t)at * of->bytes * BITS_OF_BYTE);
  return true;
}

uint32_t evaluate_count(const EvalContext *e, const EvalValue *value)
{
  if (has_fields(value))
    return value->type->n_members;
  const DebugType *of = value->kind == EVAL_TYPED
                            ? image_debug_type(program_of(e)->image, value->type->of) : NULL;
  if (!of || !of->bytes || (value->type->kind != DT_ARRAY && value->type->kind != DT_POINTER))
    return 0;
  return value->type->kind == DT_POINTER ? 1 : value->type->bytes / of->bytes;
}

bool evaluate_part(EvalContext *e, const EvalValue *value, uint32_t index, EvalValue *part,
                   char name[64])
{
  *part = *value;
  if (value->kind != EVAL_TYPED)
    return false;
  const DebugType *type = value->type;
  if (has_fields(value) && index < type->n_members) {
    snprintf(name, 64, "%s", *type->members[index].name ? type->members[index].name : "_");
    move_to(part, member_type(e, &type->members[index]), type->members[index].bit);
    return true;
  }
  const DebugType *of = image_debug_type(program_of(e)->image, type->of);
  if (type->kind == DT_POINTER && of && of->bytes && index == 0) {
    snprintf(name, 64, "*");
    return follow_pointer(e, part);
  }
  if (type->kind != DT_ARRAY || !of->bytes || index >= type->bytes / of->bytes)
    return false;
  snprintf(name, 64, "%u", index);
  move_to(part, of, index * of->bytes * BITS_OF_BYTE);
  return true;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* How tightly a binary operator binds, the loosest first. */
typedef enum {
  PREC_OR, PREC_AND, PREC_COMPARISON, PREC_BITS, PREC_SHIFT, PREC_SUM, PREC_PRODUCT,
  PREC_COUNT
} Precedence;

static bool read_expression(Reader *r, Precedence level, EvalValue *v);

static void skip_blanks(Reader *r)
{
  while (isspace((unsigned char)*r->at))
    r->at++;
}

static bool take_text(Reader *r, const char *text)
{
  size_t n = strlen(text);
  skip_blanks(r);
  if (strncmp(r->at, text, n) != 0 ||
      (isalpha((unsigned char)*text) && (isalnum((unsigned char)r->at[n]) || r->at[n] == '_')))
    return false;
  r->at += n;
  return true;
}

static bool is_name_letter(char c) { return isalnum((unsigned char)c) || c == '_'; }

static bool read_name(Reader *r, char name[NAME_TEXT])
{
  size_t n = 0;
  skip_blanks(r);
  while (is_name_letter(r->at[n]))
    n++;
  if (n == 0 || n >= NAME_TEXT)
    return false;
  memcpy(name, r->at, n);
  name[n] = 0;
  r->at += n;
  return true;
}

/* The digits of an integer, and their base: as in CSL, a 0 alone in front of them means nothing. */
static const char *find_digits(const char *text, int *base)
{
  static const struct { char letter; int base; } prefixes[] = {{'x', 16}, {'o', 8}, {'b', 2}};
  for (size_t i = 0; i < ARRAY_COUNT(prefixes); i++)
    if (text[0] == '0' && text[1] == prefixes[i].letter && isalnum((unsigned char)text[2])) {
      *base = prefixes[i].base;
      return text + 2;
    }
  *base = 10;
  return text;
}

bool evaluate_number(const char *text, uint64_t most, uint64_t *number)
{
  char *end;
  int base;
  const char *digits = find_digits(text, &base);
  errno = 0;
  *number = strtoull(digits, &end, base);
  return isdigit((unsigned char)*text) && end > digits && !*end && errno == 0 && *number <= most;
}

static bool read_number(Reader *r, EvalValue *v)
{
  char *end, *float_end;
  int base;
  const char *digits = find_digits(r->at, &base);
  errno = 0;
  int64_t integer = (int64_t)strtoull(digits, &end, base);
  bool is_large = errno == ERANGE;
  double number = strtod(r->at, &float_end);
  bool is_range = end[0] == '.' && end[1] == '.';
  bool is_float = float_end > end && !is_range;
  *v = (EvalValue){.kind = is_float ? EVAL_FLOAT : EVAL_INTEGER, .integer = integer,
                   .is_unsigned = !is_float && integer < 0, .number = number};
  end = is_float ? float_end : end;
  if (is_name_letter(*end))
    return set_why(r->e, "this is no number: %.20s", r->at);
  if (is_large && !is_float)
    return set_why(r->e, "this number has more than 64 bits: %.20s", r->at);
  r->at = end;
  return true;
}

static bool is_whole_name(const ClassCode *cls, const char *name)
{
  const ImageSymbol *s = class_symbol(cls->image, name);
  return (s && strcmp(s->name, name) == 0) || names_constant(cls->image, name);
}

/* The part of a name behind a dot: a name, or the number of one of several of that name. */
static bool take_part(Reader *r, char part[NAME_TEXT])
{
  size_t digits = strspn(r->at, "0123456789");
  if (!digits || digits >= NAME_TEXT)
    return read_name(r, part);
  memcpy(part, r->at, digits);
  part[digits] = 0;
  r->at += digits;
  return true;
}

/* "module.name" is one name where the tile has such a symbol. */
static void extend_name(Reader *r, char name[NAME_TEXT])
{
  const ClassCode *cls = class_of(r->e);
  char longer[2 * NAME_TEXT], next[NAME_TEXT];
  Reader ahead = *r;
  EvalValue v;
  bool known;
  if (!cls || names_find_local(r->e, name, &v, &known) || known)
    return;
  while (take_text(&ahead, ".") && take_part(&ahead, next)) {
    snprintf(longer, sizeof longer, "%s.%s", name, next);
    size_t length = strlen(longer);
    bool is_number = isdigit((unsigned char)*next);
    if (length >= NAME_TEXT || !is_whole_name(cls, longer) ||
        (!is_number && is_whole_name(cls, name)))
      return;
    memcpy(name, longer, length + 1);
    *r = ahead;
  }
}

/* A program calls an import by its constant, symbols by their file: `why` says which ones
 * "name.member" may mean, if any. */
static void explain_import_name(const Reader *r, const char *name)
{
  const ClassCode *cls = class_of(r->e);
  char member[NAME_TEXT];
  Reader ahead = *r;
  EvalValue v;
  bool known;
  unsigned count = 0;
  if (!cls || names_find_local(r->e, name, &v, &known) || known ||
      class_symbol(cls->image, name) || !take_text(&ahead, ".") || !read_name(&ahead, member))
    return;
  char *names = class_variables_named(cls->image, member, &count);
  if (count)
    set_why(r->e, "there is no '%s' here; variables of imports go by the name of the file: %s",
            name, names);
  free(names);
}

/* "Enum.member", as CSL writes it. */
static bool read_member(Reader *r, const char *name, EvalValue *v)
{
  char member[NAME_TEXT];
  Reader ahead = *r;
  if (!take_text(&ahead, ".") || !read_name(&ahead, member) ||
      !names_find_member(r->e, name, member, v))
    return false;
  *r = ahead;
  return true;
}

static bool read_primary(Reader *r, EvalValue *v)
{
  char name[NAME_TEXT];
  skip_blanks(r);
  if (isdigit((unsigned char)*r->at))
    return read_number(r, v);
  if (take_text(r, "(")) {
    if (!read_expression(r, PREC_OR, v))
      return false;
    return take_text(r, ")") || set_why(r->e, "')' is missing");
  }
  if (*r->at == '*')
    return set_why(r->e, "what a pointer points to is '%.20s.*' in CSL", r->at + 1);
  bool is_register = take_text(r, "$");
  if (!read_name(r, name))
    return *r->at ? set_why(r->e, "cannot read '%.20s'", r->at)
                  : set_why(r->e, "a value is missing");
  if (is_register)
    return names_find_register(r->e, name, v);
  if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0) {
    *v = (EvalValue){.kind = EVAL_INTEGER, .integer = *name == 't'};
    return true;
  }
  extend_name(r, name);
  if (names_find(r->e, name, v) || read_member(r, name, v))
    return true;
  explain_import_name(r, name);
  return false;
}

/* The elements from `first` on and before `end`, of an array or behind a pointer. */
static bool take_slice(EvalContext *e, EvalValue *v, int64_t first, int64_t end)
{
  const Image *image = program_of(e)->image;
  bool is_pointer = v->kind == EVAL_TYPED && v->type->kind == DT_POINTER;
  const DebugType *to = is_pointer ? image_debug_type(image, v->type->of) : NULL;
  const DebugType *array = to && to->kind == DT_ARRAY ? to
                           : v->kind == EVAL_TYPED && v->type->kind == DT_ARRAY ? v->type : NULL;
  uint32_t of = array ? array->of : is_pointer ? v->type->of : DEBUG_NO_TYPE;
  const DebugType *element = image_debug_type(image, of);
  if (!element || !element->bytes || (array && array->n_dims != 1))
    return set_why(e, "only arrays of one dimension and pointers have '[%" PRId64 "..%" PRId64 "]'",
                   first, end);
  int64_t most = array ? array->dims[0] : PE_MEM_BYTES / element->bytes;
  bool is_there = first < end && first >= -most && end <= most;
  if (!is_there || (array && first < 0))
    return set_why(e, "there are no elements from %" PRId64 " on and before %" PRId64, first, end);
  if (!take_elements(e, v, &first, 1))
    return false;
  v->type = timeline_slice(e->timeline, of, (uint32_t)(end - first));
  return true;
}

/* Behind "[FIRST..". */
static bool read_slice(Reader *r, EvalValue *v, int64_t first)
{
  EvalValue end;
  if (!read_expression(r, PREC_OR, &end) || !load_number(r->e, &end))
    return false;
  if (end.kind == EVAL_FLOAT)
    return set_why(r->e, "an index is a whole number, not %g", end.number);
  if (!take_text(r, "]"))
    return set_why(r->e, "']' is missing");
  return take_slice(r->e, v, first, evaluate_integer(r->e, &end));
}

static bool read_indices(Reader *r, EvalValue *v)
{
  int64_t index[DEBUG_MAX_DIMS];
  uint32_t n = 0;
  bool is_uncertain = v->is_held;
  do {
    EvalValue i;
    if (n == DEBUG_MAX_DIMS)
      return set_why(r->e, "too many indices");
    if (!read_expression(r, PREC_OR, &i) || !load_number(r->e, &i))
      return false;
    if (i.kind == EVAL_FLOAT)
      return set_why(r->e, "an index is a whole number, not %g", i.number);
    is_uncertain |= i.is_held;
    index[n++] = evaluate_integer(r->e, &i);
    if (n == 1 && take_text(r, ".."))
      return read_slice(r, v, index[0]);
  } while (take_text(r, ","));
  if (!take_text(r, "]"))
    return set_why(r->e, "']' is missing");
  bool done = take_elements(r->e, v, index, n);
  v->is_held |= is_uncertain;
  return done;
}

static bool read_postfix(Reader *r, EvalValue *v)
{
  char name[NAME_TEXT];
  if (!read_primary(r, v))
    return false;
  for (;;) {
    bool ok = true;
    if (take_text(r, ".*"))
      ok = follow_pointer(r->e, v);
    else if (take_text(r, "["))
      ok = read_indices(r, v);
    else if (strncmp(r->at, "..", 2) != 0 && take_text(r, "."))
      ok = read_name(r, name) ? take_field(r->e, v, name)
                              : set_why(r->e, "a field's name is missing");
    else
      return true;
    if (!ok)
      return false;
  }
}

/* Those that a number of the value's type may have. */
static uint64_t bits_without_sign(const EvalValue *v)
{
  bool is_narrow = v->kind == EVAL_TYPED && v->type->kind == DT_UNSIGNED && v->type->bits < 64;
  return is_narrow ? (UINT64_C(1) << v->type->bits) - 1 : UINT64_MAX;
}

static bool read_unary(Reader *r, EvalValue *v)
{
  static const char *const operators[] = {"-", "!", "~", "&"};
  for (unsigned i = 0; i < ARRAY_COUNT(operators); i++) {
    if (!take_text(r, operators[i]))
      continue;
    if (++r->depth > MOST_DEPTH)
      return set_why(r->e, "the expression is too deep");
    if (!read_unary(r, v))
      return false;
    char what = operators[i][0];
    if (what == '&') {
      bool has_address = v->kind == EVAL_TYPED && v->in_memory;
      *v = (EvalValue){.kind = EVAL_INTEGER, .integer = v->address};
      return has_address || set_why(r->e, "'&' needs a variable in memory");
    }
    uint64_t bits = bits_without_sign(v);
    if (!load_number(r->e, v))
      return false;
    if (what == '!')
      *v = (EvalValue){.kind = EVAL_INTEGER, .integer = as_double(v) == 0, .is_held = v->is_held};
    else if (what == '~')
      v->integer = (int64_t)(~(uint64_t)evaluate_integer(r->e, v) & bits);
    v->is_unsigned = v->is_unsigned && what == '~';
    v->integer = what == '-' ? (int64_t)(0 - (uint64_t)v->integer) : v->integer;
    v->number = what == '-' ? -v->number : v->number;
    return true;
  }
  return read_postfix(r, v);
}

/* Longer spellings before shorter ones. */
static const struct { const char *text; Precedence level; } binaries[] = {
  {"or", PREC_OR}, {"and", PREC_AND},
  {"==", PREC_COMPARISON}, {"!=", PREC_COMPARISON}, {"<=", PREC_COMPARISON},
  {">=", PREC_COMPARISON}, {"<<", PREC_SHIFT}, {">>", PREC_SHIFT},
  {"<", PREC_COMPARISON}, {">", PREC_COMPARISON},
  {"&", PREC_BITS}, {"|", PREC_BITS}, {"^", PREC_BITS}, {"+", PREC_SUM}, {"-", PREC_SUM},
  {"*", PREC_PRODUCT}, {"/", PREC_PRODUCT}, {"%", PREC_PRODUCT},
};

/* Shifts by the width or more give 0 or the sign. */
static int64_t shift_right(int64_t a, uint64_t by, bool is_unsigned)
{
  if (is_unsigned)
    return by < 64 ? (int64_t)((uint64_t)a >> by) : 0;
  return a >> (by < 64 ? by : 63);
}

static bool combine_integers(EvalContext *e, const char *op, int64_t a, int64_t b,
                             bool is_unsigned, int64_t *out)
{
  uint64_t x = (uint64_t)a, y = (uint64_t)b;
  bool divides = *op == '/' || *op == '%';
  if (divides && b == 0)
    return set_why(e, "division by zero");
  if (divides && is_unsigned) {
    *out = (int64_t)(*op == '/' ? x / y : x % y);
    return true;
  }
  bool overflows = divides && b == -1;
  switch (*op) {
  case '+': *out = (int64_t)(x + y); break;
  case '-': *out = (int64_t)(x - y); break;
  case '*': *out = (int64_t)(x * y); break;
  case '/': *out = overflows ? (int64_t)(0 - x) : a / b; break;
  case '%': *out = overflows ? 0 : a % b; break;
  case '&': *out = a & b; break;
  case '|': *out = a | b; break;
  case '^': *out = a ^ b; break;
  case '<': *out = (int64_t)(y < 64 ? x << y : 0); break;
  case '>': default: *out = shift_right(a, y, is_unsigned); break;
  }
  return true;
}

/* -1, 0, 1: less, equal, greater; 2: neither, because one is no number. */
static int order_of(const EvalValue *v, const EvalValue *w)
{
  if (v->kind == EVAL_FLOAT || w->kind == EVAL_FLOAT) {
    double a = as_double(v), b = as_double(w);
    return a < b ? -1 : a > b ? 1 : a == b ? 0 : 2;
  }
  bool below = !v->is_unsigned && v->integer < 0, other_below = !w->is_unsigned && w->integer < 0;
  if (below != other_below)
    return below ? -1 : 1;
  uint64_t x = (uint64_t)v->integer, y = (uint64_t)w->integer;    /* in order also below 0 */
  return (x > y) - (x < y);
}

static bool compare_numbers(const char *op, int order)
{
  switch (*op) {
  case '=': return order == 0;
  case '!': return order != 0;
  case '<': return order == -1 || (op[1] == '=' && order == 0);
  default: return order == 1 || (op[1] == '=' && order == 0);
  }
}

/* A number of the text, beside a variable: it has the variable's type. */
static void take_type(const EvalContext *e, const EvalValue *variable, EvalValue *number)
{
  if (variable->kind != EVAL_TYPED || number->kind == EVAL_TYPED)
    return;
  if (variable->type->kind == DT_FLOAT32)
    number->number = fp32_to_double(fp32_from_double(as_double(number)));
  else if (variable->type->kind == DT_FLOAT16)
    number->number = fp16_to_double(program_of(e)->image->fp16,
                                    fp16_from_double(program_of(e)->image->fp16,
                                                     as_double(number)));
  else
    return;
  number->kind = EVAL_FLOAT;
}

static bool combine_two(EvalContext *e, const char *op, Precedence level, EvalValue *v,
                        EvalValue *w)
{
  take_type(e, v, w);
  take_type(e, w, v);
  if (!load_number(e, v) || !load_number(e, w))
    return false;
  bool is_float = v->kind == EVAL_FLOAT || w->kind == EVAL_FLOAT;
  bool is_unsigned = v->is_unsigned || (w->is_unsigned && level != PREC_SHIFT);
  double a = as_double(v), b = as_double(w);
  int64_t x = v->integer, y = w->integer;
  int order = order_of(v, w);
  *v = (EvalValue){.kind = EVAL_INTEGER, .is_held = v->is_held || w->is_held};
  if (level == PREC_OR) {
    v->integer = a != 0 || b != 0;
  } else if (level == PREC_AND) {
    v->integer = a != 0 && b != 0;
  } else if (level == PREC_COMPARISON) {
    v->integer = compare_numbers(op, order);
  } else if (is_float && level >= PREC_SUM && *op != '%') {
    v->kind = EVAL_FLOAT;
    v->number = *op == '+' ? a + b : *op == '-' ? a - b : *op == '*' ? a * b : a / b;
  } else if (is_float) {
    return set_why(e, "'%s' needs integers", op);
  } else {
    v->is_unsigned = is_unsigned;
    return combine_integers(e, op, x, y, is_unsigned, &v->integer);
  }
  return true;
}

static const char *take_binary(Reader *r, Precedence level)
{
  for (unsigned i = 0; i < ARRAY_COUNT(binaries); i++)
    if (binaries[i].level == level && take_text(r, binaries[i].text))
      return binaries[i].text;
  return NULL;
}

static bool read_expression(Reader *r, Precedence level, EvalValue *v)
{
  const char *op;
  if (level == PREC_COUNT)
    return read_unary(r, v);
  if (level == PREC_OR && ++r->depth > MOST_DEPTH)
    return set_why(r->e, "the expression is too deep");
  if (!read_expression(r, level + 1, v))
    return false;
  while ((op = take_binary(r, level))) {
    EvalValue w;
    if (!read_expression(r, level + 1, &w) ||
        !combine_two(r->e, op, level, v, &w))
      return false;
  }
  return true;
}

EvalContext evaluate_context(Timeline *timeline, uint32_t tile, unsigned frame, Frames *frames)
{
  frames->n = frames_find(timeline, tile, frames->all);
  return (EvalContext){.timeline = timeline, .tile = tile,
                       .frame = frame < frames->n ? &frames->all[frame] : NULL};
}

bool evaluate_text(EvalContext *e, const char *text, EvalValue *value)
{
  Reader r = {.e = e, .at = text};
  if (!read_expression(&r, PREC_OR, value))
    return false;
  skip_blanks(&r);
  return *r.at == 0 || set_why(e, "cannot read '%.20s'", r.at);
}

/* ---- printing and writing ------------------------------------------------------------------ */

void evaluate_print_note(const EvalValue *v, FILE *out)
{
  if (v->is_held)
    fprintf(out, " in memory; the code may hold a newer value elsewhere");
}

static void print_number(const EvalValue *v, FILE *out)
{
  if (v->kind == EVAL_FLOAT)
    fprintf(out, "%.9g", v->number);
  else if (v->is_unsigned)
    fprintf(out, "%" PRIu64, (uint64_t)v->integer);
  else
    fprintf(out, "%" PRId64, v->integer);
  evaluate_print_note(v, out);
}

void evaluate_print(const EvalContext *e, const EvalValue *v, FILE *out)
{
  if (v->kind != EVAL_TYPED) {
    print_number(v, out);
    return;
  }
  uint8_t *bytes = value_bytes(e, v);
  const ClassCode *cls = class_of(e);
  if (!bytes) {
    fprintf(out, "<outside the tile's memory>");
    return;
  }
  ValueStyle style = {program_of(e)->image, cls ? cls->image : NULL, SHOWN_ELEMENTS};
  for (uint32_t i = 0; v->bit && i * BITS_OF_BYTE < v->type->bits; i++)
    bytes[i] = (uint8_t)bits_at(bytes, v->bit + i * BITS_OF_BYTE,
                                v->type->bits - i * BITS_OF_BYTE < BITS_OF_BYTE
                                    ? v->type->bits - i * BITS_OF_BYTE : BITS_OF_BYTE);
  variable_print(&style, v->type, bytes, out);
  free(bytes);
  evaluate_print_note(v, out);
}

static uint64_t bits_of_number(const EvalContext *e, const DebugType *type, const EvalValue *v)
{
  if (type->kind == DT_FLOAT32)
    return fp32_from_double(as_double(v));
  if (type->kind == DT_FLOAT16)
    return fp16_from_double(program_of(e)->image->fp16, as_double(v));
  return (uint64_t)evaluate_integer(e, v);
}

/* Whether the type has the number: floats round, but stay finite; integers stay what they are. */
static bool type_holds(const EvalContext *e, const DebugType *type, const EvalValue *v,
                       uint64_t bits)
{
  uint64_t kept = type->kind == DT_BOOL ? bits & 1
                  : type->bits < 64     ? bits & ((UINT64_C(1) << type->bits) - 1) : bits;
  EvalValue back = number_of_bits(e, type, kept);
  if (back.kind == EVAL_FLOAT)
    return isfinite(back.number) || !isfinite(as_double(v));
  if (v->kind == EVAL_FLOAT)
    return as_double(&back) == v->number;
  bool is_other_sign = v->integer < 0 && v->is_unsigned != back.is_unsigned;
  return back.integer == v->integer && !is_other_sign;
}

static bool refuse_number(EvalContext *e, const DebugType *type, const EvalValue *v)
{
  if (v->kind == EVAL_FLOAT)
    return set_why(e, "%s does not hold %g", type->name, v->number);
  return v->is_unsigned ? set_why(e, "%s does not hold %" PRIu64, type->name, (uint64_t)v->integer)
                        : set_why(e, "%s does not hold %" PRId64, type->name, v->integer);
}

/* Writes bytes to where the value has them. */
static bool write_bytes(EvalContext *e, const EvalValue *place, const uint8_t *bytes, uint32_t n)
{
  bool ok = true;
  if (place->in_memory)
    return timeline_write(e->timeline, e->tile, place->address, bytes, n);
  for (uint32_t i = 0; ok && 2 * i < n && place->first_register + i < GPR_COUNT; i++)
    ok = timeline_write_register(e->timeline, e->tile, place->first_register + i,
                                 (uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << BITS_OF_BYTE));
  return ok;
}

bool evaluate_assign(EvalContext *e, const EvalValue *place, const EvalValue *value)
{
  EvalValue v = *value;
  if (place->kind != EVAL_TYPED || !(place->in_memory || place->in_register) ||
      !is_number(place->type) || (place->in_register && place->type->bytes > PAIR_BYTES))
    return set_why(e, "only numbers in memory, or in registers of the innermost frame, can be "
                   "written");
  if (!load_number(e, &v))
    return false;
  uint64_t bits = bits_of_number(e, place->type, &v);
  if (!type_holds(e, place->type, &v, bits))
    return refuse_number(e, place->type, &v);
  uint8_t *bytes = value_bytes(e, place);
  if (!bytes)
    return set_why(e, "the value lies outside the tile's memory");
  uint32_t width = place->type->bits;
  for (uint32_t i = 0; i < width; i++) {
    uint32_t bit = place->bit + i;
    uint8_t mask = (uint8_t)(1u << bit % BITS_OF_BYTE);
    bytes[bit / BITS_OF_BYTE] = (uint8_t)((bytes[bit / BITS_OF_BYTE] & ~mask) |
                                          (bits >> i & 1 ? mask : 0));
  }
  bool ok = write_bytes(e, place, bytes, (place->bit + width + BITS_OF_BYTE - 1) / BITS_OF_BYTE);
  free(bytes);
  return ok || set_why(e, "the past cannot change; 'goto %" PRIu64 "' leads to the present",
                    timeline_present(e->timeline));
}
