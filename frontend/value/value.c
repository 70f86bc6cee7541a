/* Comptime values: their text, cells frozen to values and back, and the ranges of integers. */
#include "frontend/value/value_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- text ----------------------------------------------------------------------------------- */

enum { TEXT_MAX_ELEMENTS = 64 };

static void print_value(Pool *pool, Arena *arena, FILE *out, PoolId value);

static void print_enum(Pool *pool, FILE *out, const PoolKey *type, const PoolKey *k)
{
  for (uint32_t i = 0; i < type->u.enum_type.n; i++) {
    int64_t member;
    if (pool_int_value(pool, type->u.enum_type.values[i], &member) &&
        member == k->u.integer.small) {
      const char *name = str_is_none(type->u.enum_type.name)
                             ? "" : str_text(pool_names(pool), type->u.enum_type.name);
      fprintf(out, "%s.%s", name, str_text(pool_names(pool), type->u.enum_type.names[i]));
      return;
    }
  }
  fprintf(out, "%lld", (long long)k->u.integer.small);
}

static void print_int(Pool *pool, FILE *out, const PoolKey *k)
{
  if (k->u.integer.big != NULL) {
    fputs(k->u.integer.big, out);
    return;
  }
  PoolKey type = pool_key(pool, k->type);
  if (type.kind == PK_ENUM_TYPE) {
    print_enum(pool, out, &type, k);
  } else if (pool_eq(k->type, POOL(DIRECTION)) && k->u.integer.small >= 0 &&
             k->u.integer.small < PORT_COUNT) {
    fputs(port_name((Port)k->u.integer.small), out);
  } else {
    fprintf(out, "%lld", (long long)k->u.integer.small);
  }
}

enum { VALUE_TEXT_MAX = 20000 };

static void print_aggregate(Pool *pool, Arena *arena, FILE *out, const PoolKey *k)
{
  PoolKey type = pool_key(pool, k->type);
  bool has_names = type.kind == PK_STRUCT_TYPE && !type.u.fields.is_tuple;
  if (type.kind == PK_ARRAY_TYPE)
    fputs(type_text(pool, arena, k->type), out);
  else
    fputs(str_is_none(type.u.fields.name) ? "." : str_text(pool_names(pool), type.u.fields.name),
          out);
  fputs("{", out);
  for (uint32_t i = 0; i < k->u.aggregate.n; i++) {
    if (text_is_full(out, VALUE_TEXT_MAX))
      return;
    if (i == TEXT_MAX_ELEMENTS) {
      fputs(", ...", out);
      break;
    }
    fputs(i == 0 ? " " : ", ", out);
    if (has_names)
      fprintf(out, ".%s = ", str_text(pool_names(pool), type.u.fields.fields[i].name));
    print_value(pool, arena, out, k->u.aggregate.elems[i]);
  }
  fputs(k->u.aggregate.n == 0 ? "}" : " }", out);
}

/* The shortest decimal that reads back as the same double. */
static void print_float(Pool *pool, FILE *out, PoolId value)
{
  char text[40];
  double v = pool_float_value(pool, value);
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, v);
    double back = strtod(text, NULL);
    PoolId again = pool_float(pool, pool_type_of(pool, value), back);
    if (pool_eq(again, value) || v != v)
      break;
  }
  bool is_plain = strcspn(text, ".en") == strlen(text);
  fprintf(out, "%s%s", text, is_plain ? ".0" : "");
}

/* Where the variable lies is decided later. */
static void print_desc(Pool *pool, FILE *out, const PoolDsd *dsd)
{
  char text[400];
  const char *variable = ir_global_is_none(dsd->desc.global)
                           ? NULL : str_text(pool_names(pool), (StrId){dsd->variable});
  descriptor_print(&dsd->desc.desc, variable, text, sizeof text);
  fputs(text, out);
}

static void print_value(Pool *pool, Arena *arena, FILE *out, PoolId value)
{
  PoolKey k = pool_key(pool, value);
  switch ((int)k.kind) {
  case PK_POISON:
    fputs("<error>", out);
    return;
  case PK_VOID_VALUE:
    fputs("{}", out);
    return;
  case PK_BOOL_VALUE:
    fputs(pool_eq(value, POOL(TRUE)) ? "true" : "false", out);
    return;
  case PK_INT:
    print_int(pool, out, &k);
    return;
  case PK_FLOAT:
    print_float(pool, out, value);
    return;
  case PK_STRING:
    fwrite(str_text(pool_names(pool), k.u.string), 1, str_length(pool_names(pool), k.u.string),
           out);
    return;
  case PK_AGGREGATE:
    print_aggregate(pool, arena, out, &k);
    return;
  case PK_RANGE:
    fputs("range(", out);
    print_value(pool, arena, out, k.u.range.start);
    fputs(", ", out);
    print_value(pool, arena, out, k.u.range.stop);
    fputs(", ", out);
    print_value(pool, arena, out, k.u.range.step);
    fputs(")", out);
    return;
  case PK_DSD:
    print_desc(pool, out, &k.u.dsd);
    return;
  case PK_FUNC:
  case PK_MODULE:
  case PK_POINTER:
  case PK_DSR:
  case PK_FIFO:
  case PK_SYMBOLIC:
    fprintf(out, "a value of type %s", type_text(pool, arena, k.type));
    return;
  default:
    fputs(type_text(pool, arena, value), out);
    return;
  }
}

const char *value_text(Pool *pool, Arena *arena, PoolId value)
{
  char *text = NULL;
  size_t length = 0;
  FILE *out = base_text_open(&text, &length);
  print_value(pool, arena, out, value);
  base_text_close(out, &text);
  const char *copy = text_cut(arena, text, length, VALUE_TEXT_MAX);
  free(text);
  return copy;
}

/* ---- leaves --------------------------------------------------------------------------------- */

PoolId value_from_leaves(Pool *pool, PoolId type, const PoolId *leaves)
{
  PoolKey k = pool_key(pool, type);
  if (k.kind == PK_ARRAY_TYPE) {
    uint32_t n = (uint32_t)type_element_count(pool, type);
    uint32_t each = type_leaf_count(pool, k.u.array.element);
    if (each == 1 && !type_is_aggregate(pool, k.u.array.element))
      return pool_aggregate(pool, type, leaves, n);
    PoolId *elems = base_malloc((n + 1) * sizeof *elems);
    for (uint32_t i = 0; i < n; i++)
      elems[i] = value_from_leaves(pool, k.u.array.element, leaves + (size_t)i * each);
    PoolId value = pool_aggregate(pool, type, elems, n);
    free(elems);
    return value;
  }
  if (k.kind != PK_STRUCT_TYPE)
    return leaves[0];
  PoolId *elems = base_malloc((k.u.fields.n + 1) * sizeof *elems);
  for (uint32_t i = 0; i < k.u.fields.n; i++) {
    elems[i] = value_from_leaves(pool, k.u.fields.fields[i].type, leaves);
    leaves += type_leaf_count(pool, k.u.fields.fields[i].type);
  }
  PoolId value = pool_aggregate(pool, type, elems, k.u.fields.n);
  free(elems);
  return value;
}

PoolId *value_to_leaves(const Pool *pool, PoolId type, PoolId value, PoolId *leaves)
{
  PoolKey t = pool_key(pool, type);
  PoolKey k = pool_key(pool, value);
  if (t.kind != PK_ARRAY_TYPE && t.kind != PK_STRUCT_TYPE) {
    *leaves = value;
    return leaves + 1;
  }
  if (k.kind != PK_AGGREGATE) {         /* poison: every part is */
    uint32_t n = type_leaf_count(pool, type);
    for (uint32_t i = 0; i < n; i++)
      leaves[i] = value;
    return leaves + n;
  }
  for (uint32_t i = 0; i < k.u.aggregate.n; i++) {
    PoolId part = t.kind == PK_ARRAY_TYPE ? t.u.array.element : t.u.fields.fields[i].type;
    leaves = value_to_leaves(pool, part, k.u.aggregate.elems[i], leaves);
  }
  return leaves;
}

/* ---- integers ------------------------------------------------------------------------------- */

PoolId value_int_type(const Pool *pool, PoolId type)
{
  PoolKey k = pool_key(pool, type);
  return k.kind == PK_ENUM_TYPE ? k.u.enum_type.tag : type;
}

/* The common types without a look at the pool: comptime loops live here. */
static bool machine_int_fits(PoolId type, int64_t value)
{
  unsigned bits = 8u << (type.raw - POOL_RAW_I8) % 4;
  if (type.raw >= POOL_RAW_U8)
    return value >= 0 && (bits == 64 || value >> bits == 0);
  int64_t rest = value >> (bits - 1);
  return rest == 0 || rest == -1;
}

bool value_small_fits(const Pool *pool, PoolId type, int64_t value)
{
  if (pool_is_machine_int(type))
    return machine_int_fits(type, value);
  PoolKey k = pool_key(pool, type);
  if (k.kind != PK_INT_TYPE)
    return true;
  unsigned bits = k.u.int_type.bits;
  if (!k.u.int_type.is_signed)
    return value >= 0 && (bits >= 63 || value < (int64_t)1 << bits);
  if (bits == 0)
    return value == 0;
  return bits >= 64 ||
         (value >= -((int64_t)1 << (bits - 1)) && value < (int64_t)1 << (bits - 1));
}

bool value_big_fits(const Pool *pool, PoolId type, const mpz_t value)
{
  PoolKey k = pool_key(pool, type);
  if (k.kind != PK_INT_TYPE)
    return true;
  unsigned bits = k.u.int_type.bits;
  if (!k.u.int_type.is_signed)
    return mpz_sgn(value) == 0 || (mpz_sgn(value) > 0 && mpz_sizeinbase(value, 2) <= bits);
  if (mpz_sgn(value) == 0)
    return true;
  if (bits == 0)
    return false;
  mpz_t limit;
  mpz_init_set_ui(limit, 1);
  mpz_mul_2exp(limit, limit, bits - 1);
  bool fits = mpz_cmp(value, limit) < 0;
  mpz_neg(limit, limit);
  fits = fits && mpz_cmp(value, limit) >= 0;
  mpz_clear(limit);
  return fits;
}

bool value_int_fits(const Pool *pool, PoolId type, PoolId value)
{
  int64_t small;
  if (pool_int_value(pool, value, &small))
    return value_small_fits(pool, type, small);
  mpz_t big;
  mpz_init(big);
  pool_mpz(pool, value, big);
  bool fits = value_big_fits(pool, type, big);
  mpz_clear(big);
  return fits;
}

PoolId value_int_as(Pool *pool, PoolId type, PoolId value)
{
  int64_t small;
  if (pool_int_value(pool, value, &small))
    return pool_int(pool, type, small);
  mpz_t big;
  mpz_init(big);
  pool_mpz(pool, value, big);
  PoolId out = pool_bigint(pool, type, big);
  mpz_clear(big);
  return out;
}

void value_wrap(mpz_t number, unsigned bits, bool is_signed)
{
  mpz_fdiv_r_2exp(number, number, bits);
  if (!is_signed || bits == 0 || !mpz_tstbit(number, bits - 1))
    return;
  mpz_t all;
  mpz_init_set_ui(all, 1);
  mpz_mul_2exp(all, all, bits);
  mpz_sub(number, number, all);
  mpz_clear(all);
}

PoolId value_int_wrapped(Pool *pool, PoolId type, PoolId value)
{
  PoolKey k = pool_key(pool, value_int_type(pool, type));
  mpz_t big;
  mpz_init(big);
  pool_mpz(pool, value, big);
  value_wrap(big, k.u.int_type.bits, k.u.int_type.is_signed);
  PoolId out = pool_bigint(pool, type, big);
  mpz_clear(big);
  return out;
}

uint64_t value_int_bits(const Pool *pool, PoolId value)
{
  int64_t small;
  if (pool_int_value(pool, value, &small))
    return (uint64_t)small;
  mpz_t big;
  mpz_init(big);
  pool_mpz(pool, value, big);
  uint64_t bits = wide_low_bits(big);
  mpz_clear(big);
  return bits;
}

/* The integer of `type` whose low bits these are. */
PoolId value_from_bits(Pool *pool, PoolId type, uint64_t bits)
{
  PoolKey k = pool_key(pool, value_int_type(pool, type));
  unsigned width = k.kind == PK_INT_TYPE ? k.u.int_type.bits : 64;
  bool is_signed = k.kind == PK_INT_TYPE ? k.u.int_type.is_signed : true;
  if (width < 64)
    bits &= ((uint64_t)1 << width) - 1;
  if (is_signed && width > 0 && width < 64 && bits >> (width - 1) != 0)
    bits |= ~(uint64_t)0 << width;
  if (is_signed || bits <= INT64_MAX)
    return pool_int(pool, type, (int64_t)bits);
  mpz_t big;
  mpz_init(big);
  wide_set_u64(big, bits);
  PoolId out = pool_bigint(pool, type, big);
  mpz_clear(big);
  return out;
}
