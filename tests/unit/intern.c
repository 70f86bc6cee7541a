/* Interned strings and the "did you mean" search. */
#include "ir/base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void equal_text_has_equal_id(void **state)
{
  (void)state;
  StrTable *table = strtable_create();
  StrId a = str_intern_z(table, "sum"), b = str_intern_z(table, "total");
  assert_false(str_eq(a, b));
  assert_true(str_eq(a, str_intern(table, "summary", 3)));
  assert_string_equal(str_text(table, b), "total");
  assert_int_equal(str_length(table, b), 5);
  strtable_destroy(table);
}

static void the_empty_string_is_zero(void **state)
{
  (void)state;
  StrTable *table = strtable_create();
  assert_int_equal(str_intern_z(table, "").raw, 0);
  assert_int_equal(str_intern(table, NULL, 0).raw, 0);
  assert_string_equal(str_text(table, (StrId){0}), "");
  assert_int_not_equal(str_intern(table, "\0", 1).raw, 0);
  strtable_destroy(table);
}

static void nul_bytes_take_part(void **state)
{
  (void)state;
  StrTable *table = strtable_create();
  StrId a = str_intern(table, "x\0y", 3), b = str_intern(table, "x\0z", 3);
  assert_false(str_eq(a, b));
  assert_int_equal(str_length(table, a), 3);
  assert_memory_equal(str_text(table, b), "x\0z", 4);
  strtable_destroy(table);
}

static void texts_stay_where_they_are(void **state)
{
  (void)state;
  enum { N = 20000 };
  StrTable *table = strtable_create();
  const char *first = str_text(table, str_intern_z(table, "first"));
  char name[32];
  for (int i = 0; i < N; i++) {
    snprintf(name, sizeof name, "name%d", i);
    str_intern_z(table, name);
  }
  assert_ptr_equal(first, str_text(table, str_intern_z(table, "first")));
  for (int i = 0; i < N; i++) {
    snprintf(name, sizeof name, "name%d", i);
    assert_int_equal(str_intern_z(table, name).raw, i + 2);
  }
  strtable_destroy(table);
}

static const char *const names[] = {"activate", "block", "unblock", "fmovs", "fmovh", "i", "",
                                    "print_f16", "print_u16_hex"};

static const char *near_to(const char *wanted)
{
  return base_nearest(wanted, names, ARRAY_COUNT(names));
}

static void misspellings_find_their_word(void **state)
{
  (void)state;
  assert_string_equal(near_to("activte"), "activate");     /* a letter missing */
  assert_string_equal(near_to("activaate"), "activate");   /* one too many */
  assert_string_equal(near_to("acitvate"), "activate");    /* two swapped */
  assert_string_equal(near_to("unblokc"), "unblock");
  assert_string_equal(near_to("fmovd"), "fmovs");          /* the first of equals */
  assert_string_equal(near_to("print_u16"), "print_u16_hex");    /* a word missing */
}

static void strangers_find_nothing(void **state)
{
  (void)state;
  assert_null(near_to("teardown"));
  assert_null(near_to("x"));
  assert_null(near_to(""));
  assert_null(near_to("zz"));
  char longest[200];
  memset(longest, 'a', sizeof longest);
  longest[sizeof longest - 1] = 0;
  assert_null(near_to(longest));
  assert_null(base_nearest("block", names, 0));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(equal_text_has_equal_id),
    cmocka_unit_test(the_empty_string_is_zero),
    cmocka_unit_test(nul_bytes_take_part),
    cmocka_unit_test(texts_stay_where_they_are),
    cmocka_unit_test(misspellings_find_their_word),
    cmocka_unit_test(strangers_find_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
