/* The bits of known values of packed types, and the fields of known unions. */
#include "frontend/sema/sema_internal.h"

#include <string.h>

bool packed_is(const Sema *s, PoolId type)
{
  PoolKey k = pool_key(s->pool, type);
  return (k.kind == PK_STRUCT_TYPE || k.kind == PK_UNION_TYPE) &&
         k.u.fields.layout == LAYOUT_PACKED;
}

/* The bits of a known value, packed or not; false if it has an address in it. */
static bool known_bits(Sema *s, PoolId value, mpz_t bits)
{
  PoolKey k = pool_key(s->pool, value);
  switch ((int)k.kind) {
  case PK_FLOAT:
    wide_set_u64(bits, k.u.floating.bits);
    return true;
  case PK_BOOL_VALUE:
    mpz_set_ui(bits, value_is_true(value));
    return true;
  case PK_INT:
    pool_mpz(s->pool, value, bits);
    mpz_fdiv_r_2exp(bits, bits, type_bits(s->pool, k.type));
    return true;
  case PK_AGGREGATE:
    break;
  default:
    return false;
  }
  if (pool_kind(s->pool, k.type) == PK_UNION_TYPE)
    return known_bits(s, k.u.aggregate.elems[1], bits);
  bool is_known = true;
  mpz_t part;
  mpz_init(part);
  mpz_set_ui(bits, 0);
  for (uint32_t i = 0; is_known && i < k.u.aggregate.n; i++) {
    is_known = known_bits(s, k.u.aggregate.elems[i], part);
    mpz_mul_2exp(part, part, type_field_bit(s->pool, k.type, i));
    mpz_ior(bits, bits, part);
  }
  mpz_clear(part);
  return is_known;
}

/* The value of the type whose bits are those from `bit` on. */
static PoolId from_bits(Sema *s, PoolId type, const mpz_t bits, uint32_t bit)
{
  PoolKey t = pool_key(s->pool, type);
  PoolId out;
  if (packed_is(s, type) && t.kind == PK_UNION_TYPE)
    return union_of_field(s, type, 0, from_bits(s, t.u.fields.fields[0].type, bits, bit));
  if (packed_is(s, type)) {
    uint32_t n = t.u.fields.n;
    PoolId *parts = arena_many(s->arena, PoolId, n + 1u);
    for (uint32_t i = 0; i < n; i++)
      parts[i] = from_bits(s, t.u.fields.fields[i].type, bits,
                           bit + type_field_bit(s->pool, type, i));
    return pool_aggregate(s->pool, type, parts, n);
  }
  mpz_t own;
  mpz_init(own);
  mpz_fdiv_q_2exp(own, bits, bit);
  mpz_fdiv_r_2exp(own, own, type_bits(s->pool, type));
  if (type_bits(s->pool, type) <= TYPE_SCALAR_MAX_BITS) {
    out = fold_bits(s, type, wide_low_bits(own));
  } else {
    value_wrap(own, t.u.int_type.bits, t.u.int_type.is_signed);
    out = pool_bigint(s->pool, type, own);
  }
  mpz_clear(own);
  return out;
}

PoolId packed_known_bits(Sema *s, PoolId whole, uint32_t bit, PoolId type)
{
  mpz_t bits;
  mpz_init(bits);
  bool is_known = known_bits(s, whole, bits);
  PoolId out = is_known ? from_bits(s, type, bits, bit) : POOL(NONE);
  mpz_clear(bits);
  return out;
}

PoolId packed_with_bits(Sema *s, PoolId packed, PoolId old, uint32_t bit, PoolId value)
{
  uint32_t n = type_bits(s->pool, pool_type_of(s->pool, value));
  mpz_t bits, part, kept;
  PoolId out = {0};
  mpz_init(bits);
  mpz_init(part);
  mpz_init(kept);
  if (known_bits(s, value, part) && (pool_is_none(old) || known_bits(s, old, bits))) {
    mpz_fdiv_r_2exp(kept, bits, bit);               /* below, above, and the part between */
    mpz_fdiv_q_2exp(bits, bits, bit + n);
    mpz_mul_2exp(bits, bits, n);
    mpz_ior(bits, bits, part);
    mpz_mul_2exp(bits, bits, bit);
    mpz_ior(bits, bits, kept);
    out = from_bits(s, packed, bits, 0);
  }
  mpz_clear(bits);
  mpz_clear(part);
  mpz_clear(kept);
  return out;
}

/* ---- known values of unions that are not packed --------------------------------------------- */

PoolId union_of_field(Sema *s, PoolId type, uint32_t field, PoolId value)
{
  PoolId parts[2] = {pool_int(s->pool, POOL(COMPTIME_INT), field), value};
  return pool_aggregate(s->pool, type, parts, ARRAY_COUNT(parts));
}

PoolId union_field_known(Sema *s, PoolId value, uint32_t field)
{
  PoolKey k = pool_key(s->pool, value);
  int64_t active;
  bool is_set = pool_int_value(s->pool, k.u.aggregate.elems[0], &active) && active == field;
  return is_set ? k.u.aggregate.elems[1] : POOL(NONE);
}

PoolId packed_known(Sema *s, PoolId whole, uint32_t bit, PoolId type)
{
  while (!pool_is_none(whole) && !(bit == 0 && pool_eq(pool_type_of(s->pool, whole), type))) {
    PoolId packed = pool_type_of(s->pool, whole);
    PoolKey t = pool_key(s->pool, packed), k = pool_key(s->pool, whole);
    if (t.kind != PK_STRUCT_TYPE || k.kind != PK_AGGREGATE || t.u.fields.n == 0)
      return POOL(NONE);
    uint32_t i = t.u.fields.n - 1;
    while (type_field_bit(s->pool, packed, i) > bit)
      i--;
    bit -= type_field_bit(s->pool, packed, i);
    whole = k.u.aggregate.elems[i];
  }
  return whole;
}
