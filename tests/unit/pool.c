/* The pool: equal keys have equal ids, different keys different ones, and a key comes back as it
 * went in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "frontend/driver/driver.h"

typedef struct { Arena *arena; StrTable *names; Pool *pool; } Fixture;

static int set_up(void **state)
{
  Fixture *f = malloc(sizeof *f);
  f->arena = arena_create("pool test");
  f->names = strtable_create();
  f->pool = pool_create(f->arena, f->names);
  *state = f;
  return 0;
}

static int tear_down(void **state)
{
  Fixture *f = *state;
  pool_destroy(f->pool);
  strtable_destroy(f->names);
  arena_destroy(f->arena);
  free(f);
  return 0;
}

static void assert_same(PoolId a, PoolId b) { assert_int_equal(a.raw, b.raw); }
static void assert_other(PoolId a, PoolId b) { assert_int_not_equal(a.raw, b.raw); }

static void test_predeclared_ids(void **state)
{
  Pool *pool = ((Fixture *)*state)->pool;
  assert_same(pool_int_type(pool, true, 16), POOL(I16));
  assert_same(pool_int_type(pool, false, 64), POOL(U64));
  assert_same(pool_type_of(pool, POOL(F32)), POOL(TYPE));
  assert_same(pool_type_of(pool, POOL(TRUE)), POOL(BOOL));
  assert_same(pool_bool(false), POOL(FALSE));
  assert_int_equal(pool_kind(pool, POOL(VOID_VALUE)), PK_VOID_VALUE);
}

/* Around the borders between immediate, 64-bit and big integers. */
static void test_integers(void **state)
{
  Pool *pool = ((Fixture *)*state)->pool;
  static const int64_t values[] = {
      0, 1, -1, 255, 32767, -32768, (1 << 25) - 1, 1 << 25, -(1 << 25), -(1 << 25) - 1, 1 << 26,
      INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
  static const PoolId types[] = {POOL(I16), POOL(U64), POOL(COMPTIME_INT), POOL(COLOR)};
  for (size_t t = 0; t < ARRAY_COUNT(types); t++)
    for (size_t i = 0; i < ARRAY_COUNT(values); i++) {
      PoolId id = pool_int(pool, types[t], values[i]);
      int64_t back;
      assert_true(pool_int_value(pool, id, &back));
      assert_int_equal(back, values[i]);
      assert_int_equal(pool_kind(pool, id), PK_INT);
      assert_same(pool_type_of(pool, id), types[t]);
      assert_same(pool_int(pool, types[t], values[i]), id);
      PoolKey key = pool_key(pool, id);
      assert_same(pool_get(pool, &key), id);
      for (size_t k = 0; k < i; k++)
        assert_other(pool_int(pool, types[t], values[k]), id);
      if (t > 0)
        assert_other(pool_int(pool, types[t - 1], values[i]), id);
    }
}

static void test_big_integers(void **state)
{
  Pool *pool = ((Fixture *)*state)->pool;
  mpz_t big, small, back;
  mpz_init_set_str(big, "123456789012345678901234567890", 10);
  mpz_init_set_si(small, 77);
  mpz_init(back);
  PoolId id = pool_bigint(pool, POOL(COMPTIME_INT), big);
  assert_same(pool_bigint(pool, POOL(COMPTIME_INT), big), id);
  pool_mpz(pool, id, back);
  assert_int_equal(mpz_cmp(back, big), 0);
  int64_t value;
  assert_false(pool_int_value(pool, id, &value));
  assert_same(pool_bigint(pool, POOL(I16), small), pool_int(pool, POOL(I16), 77));
  mpz_clears(big, small, back, NULL);
}

static void test_floats(void **state)
{
  Pool *pool = ((Fixture *)*state)->pool;
  assert_same(pool_float(pool, POOL(F32), 0.1), pool_float(pool, POOL(F32), 0.1f));
  assert_other(pool_float(pool, POOL(COMPTIME_FLOAT), 0.1),
               pool_float(pool, POOL(COMPTIME_FLOAT), 0.1f));
  assert_other(pool_float(pool, POOL(F32), 0.0), pool_float(pool, POOL(F32), -0.0));
  assert_other(pool_float(pool, POOL(F16), 1.0), pool_float(pool, POOL(BF16), 1.0));
  assert_true(pool_float_value(pool, pool_float(pool, POOL(F16), 2049.0)) == 2048.0);
  assert_true(pool_float_value(pool, pool_float(pool, POOL(CB16), 6.0)) == 6.0);
  assert_int_equal(pool_key(pool, pool_float(pool, POOL(CB16), 6.0)).u.floating.bits, 0x5900);
}

static PoolId struct_type(Fixture *f, const char *a, PoolId ta, const char *b, PoolId tb,
                          uint32_t origin)
{
  PoolField fields[2] = {{.name = str_intern_z(f->names, a), .type = ta},
                         {.name = str_intern_z(f->names, b), .type = tb}};
  PoolKey key = {.kind = PK_STRUCT_TYPE, .type = POOL(TYPE)};
  key.u.fields.n = 2;
  key.u.fields.fields = fields;
  key.u.fields.origin = origin;
  return pool_get(f->pool, &key);
}

static void test_struct_identity(void **state)
{
  Fixture *f = *state;
  PoolId t = struct_type(f, "x", POOL(I16), "y", POOL(F32), 0);
  assert_same(struct_type(f, "x", POOL(I16), "y", POOL(F32), 0), t);
  assert_other(struct_type(f, "y", POOL(I16), "x", POOL(F32), 0), t);
  assert_other(struct_type(f, "x", POOL(F32), "y", POOL(F32), 0), t);
  PoolId named = struct_type(f, "x", POOL(I16), "y", POOL(F32), 7);
  assert_other(named, t);
  assert_same(struct_type(f, "x", POOL(I16), "y", POOL(F32), 7), named);
  assert_other(struct_type(f, "x", POOL(I16), "y", POOL(F32), 8), named);
  PoolId parts[2] = {pool_int(f->pool, POOL(I16), 3), pool_float(f->pool, POOL(F32), 1.5)};
  PoolId value = pool_aggregate(f->pool, t, parts, 2);
  assert_same(pool_field(f->pool, value, str_intern_z(f->names, "y")), parts[1]);
  assert_true(pool_is_none(pool_field(f->pool, value, str_intern_z(f->names, "z"))));
  assert_string_equal(value_text(f->pool, f->arena, value), ".{ .x = 3, .y = 1.5 }");
  assert_string_equal(type_text(f->pool, f->arena, t), "struct { x: i16, y: f32 }");
}

static void test_array_and_pointer_types(void **state)
{
  Fixture *f = *state;
  uint32_t a[] = {2, 3}, b[] = {3, 2};
  PoolId grid = pool_array_type(f->pool, a, 2, POOL(F32));
  assert_same(pool_array_type(f->pool, a, 2, POOL(F32)), grid);
  assert_other(pool_array_type(f->pool, b, 2, POOL(F32)), grid);
  assert_other(pool_array_type(f->pool, a, 1, POOL(F32)), grid);
  assert_int_equal(type_element_count(f->pool, grid), 6);
  assert_int_equal(type_bytes(f->pool, grid), 24);
  assert_string_equal(type_text(f->pool, f->arena, grid), "[2, 3]f32");
  PoolId p = pool_pointer_type(f->pool, true, true, POOL(F32));
  assert_other(pool_pointer_type(f->pool, true, false, POOL(F32)), p);
  assert_other(pool_pointer_type(f->pool, false, true, POOL(F32)), p);
  assert_string_equal(type_text(f->pool, f->arena, p), "[*]const f32");
}

/* Two descriptors that differ in one field are two values. */
static void test_descriptors(void **state)
{
  Pool *pool = ((Fixture *)*state)->pool;
  PoolKey key = {.kind = PK_DSD, .type = POOL(MEM1D_DSD)};
  key.u.dsd.desc.desc = (Descriptor){.kind = DESC_MEM1D, .length = 4, .stride = 1};
  PoolId id = pool_get(pool, &key);
  assert_same(pool_get(pool, &key), id);
  PoolKey other = key;
  other.u.dsd.desc.desc.stride = -1;
  assert_other(pool_get(pool, &other), id);
  other = key;
  other.u.dsd.desc.desc.done.id = 3;
  assert_other(pool_get(pool, &other), id);
  other = key;
  other.u.dsd.desc.global.raw = 5;
  assert_other(pool_get(pool, &other), id);
  PoolKey back = pool_key(pool, id);
  assert_same(pool_get(pool, &back), id);
}

static void test_symbolic_is_seen_inside(void **state)
{
  Pool *pool = ((Fixture *)*state)->pool;
  PoolKey key = {.kind = PK_SYMBOLIC, .type = POOL(U16)};
  PoolId symbolic = pool_get(pool, &key);
  uint32_t two = 2;
  PoolId type = pool_array_type(pool, &two, 1, POOL(U16));
  PoolId known[2] = {pool_int(pool, POOL(U16), 1), pool_int(pool, POOL(U16), 2)};
  PoolId mixed[2] = {known[0], symbolic};
  assert_false(value_has_symbolic(pool, pool_aggregate(pool, type, known, 2)));
  assert_true(value_has_symbolic(pool, pool_aggregate(pool, type, mixed, 2)));
  assert_true(value_has_symbolic(pool, symbolic));
}

static void test_ranges_of_integer_types(void **state)
{
  Pool *pool = ((Fixture *)*state)->pool;
  PoolId i5 = pool_int_type(pool, true, 5);
  assert_true(value_small_fits(pool, i5, -16) && value_small_fits(pool, i5, 15));
  assert_false(value_small_fits(pool, i5, -17) || value_small_fits(pool, i5, 16));
  assert_true(value_small_fits(pool, POOL(U64), INT64_MAX));
  assert_false(value_small_fits(pool, POOL(U64), -1));
  assert_same(value_from_bits(pool, POOL(I8), 0x1ff), pool_int(pool, POOL(I8), -1));
  assert_same(value_from_bits(pool, POOL(U8), 0x1ff), pool_int(pool, POOL(U8), 255));
  PoolId top = value_from_bits(pool, POOL(U64), ~(uint64_t)0);
  assert_true(value_int_fits(pool, POOL(U64), top));
  assert_false(value_int_fits(pool, POOL(I64), top));
  assert_true(value_int_bits(pool, top) == ~(uint64_t)0);
}

/* Enough values to make the table grow many times; ids must not move. */
static void test_growth(void **state)
{
  Pool *pool = ((Fixture *)*state)->pool;
  enum { COUNT = 20000 };
  PoolId *ids = malloc(COUNT * sizeof *ids);
  for (int64_t i = 0; i < COUNT; i++)
    ids[i] = pool_int(pool, POOL(U32), (i + 1) << 30);
  for (int64_t i = 0; i < COUNT; i++)
    assert_same(pool_int(pool, POOL(U32), (i + 1) << 30), ids[i]);
  free(ids);
}

/* Words go in and out whole, whatever a long is. */
static void test_words_of_numbers(void **state)
{
  (void)state;
  static const int64_t words[] = {0, 1, -1, INT32_MAX, INT32_MIN, (int64_t)INT32_MAX + 1,
                                  (int64_t)INT32_MIN - 1, UINT32_MAX, -(int64_t)UINT32_MAX,
                                  INT64_MAX, INT64_MIN, INT64_MIN + 1, 0x123456789abcdef};
  mpz_t number, text;
  mpz_init(number);
  mpz_init(text);
  for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
    char digits[32];
    wide_set_i64(number, words[i]);
    snprintf(digits, sizeof digits, "%lld", (long long)words[i]);
    mpz_set_str(text, digits, 10);
    assert_int_equal(mpz_cmp(number, text), 0);
    assert_true(wide_is_small(number));
    assert_int_equal((int64_t)wide_low_bits(number), words[i]);
    wide_set_u64(number, (uint64_t)words[i]);
    assert_int_equal(wide_is_small(number), words[i] >= 0);
    assert_int_equal(wide_low_bits(number), (uint64_t)words[i]);
  }
  mpz_set_str(number, "-9223372036854775809", 10);      /* one below INT64_MIN */
  assert_false(wide_is_small(number));
  assert_int_equal((int64_t)wide_low_bits(number), INT64_MAX);
  mpz_clear(number);
  mpz_clear(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_predeclared_ids), TEST(test_integers), TEST(test_big_integers),
      TEST(test_floats), TEST(test_struct_identity), TEST(test_array_and_pointer_types),
      TEST(test_descriptors), TEST(test_symbolic_is_seen_inside),
      TEST(test_ranges_of_integer_types), TEST(test_growth),
      TEST(test_words_of_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
