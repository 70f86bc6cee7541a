/* Arenas: alignment, zeroing, reuse after a reset, and text helpers. */
#include "ir/base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void objects_are_aligned_zeroed_and_apart(void **state)
{
  (void)state;
  Arena *arena = arena_create("test");
  for (size_t align = 1; align <= 64; align *= 2)
    for (size_t size = 0; size < 100; size += 7) {
      char *at = arena_alloc(arena, size, align);
      assert_int_equal((uintptr_t)at % align, 0);
      for (size_t i = 0; i < size; i++)
        assert_int_equal(at[i], 0);
      memset(at, 0x5a, size);      /* the next object must still be zero */
    }
  arena_destroy(arena);
}

static void objects_larger_than_a_chunk_fit(void **state)
{
  (void)state;
  Arena *arena = arena_create("test");
  size_t large = (size_t)9 << 20;
  char *small = arena_copy_text(arena, "before", 6);
  char *at = arena_alloc(arena, large, 16);
  at[0] = at[large - 1] = 'x';
  assert_string_equal(small, "before");
  assert_true(arena_used_bytes(arena) >= large + 7);
  arena_destroy(arena);
}

static void objects_do_not_overlap(void **state)
{
  (void)state;
  enum { N = 4000 };
  static uint32_t *at[N];
  Arena *arena = arena_create("test");
  for (uint32_t i = 0; i < N; i++) {
    size_t words = i % 37 + 1;
    at[i] = arena_many(arena, uint32_t, words);
    for (size_t k = 0; k < words; k++)
      at[i][k] = i;
  }
  for (uint32_t i = 0; i < N; i++)
    for (size_t k = 0; k < i % 37 + 1; k++)
      assert_int_equal(at[i][k], i);
  arena_destroy(arena);
}

static void reset_reuses_zeroed_memory(void **state)
{
  (void)state;
  Arena *arena = arena_create("test");
  arena_reset(arena);      /* of an empty arena is allowed */
  for (int round = 0; round < 3; round++) {
    unsigned char *at = arena_alloc(arena, 5000, 8);
    for (size_t i = 0; i < 5000; i++)
      assert_int_equal(at[i], 0);
    memset(at, 0xff, 5000);
    assert_true(arena_used_bytes(arena) >= 5000);
    arena_reset(arena);
    assert_int_equal(arena_used_bytes(arena), 0);
  }
  arena_destroy(arena);
}

/* Large chunks come zeroed from the system: what was written to them since must be zeroed. */
static void reset_of_a_large_chunk_forgets_nothing_written(void **state)
{
  (void)state;
  static const size_t sizes[] = {3 << 20, 1 << 20, 4 << 20, 3 << 20};
  Arena *arena = arena_create("test");
  arena_alloc(arena, 6 << 20, 1);      /* the chunk that the others share */
  for (size_t round = 0; round < ARRAY_COUNT(sizes); round++) {
    arena_reset(arena);
    unsigned char *at = arena_alloc(arena, sizes[round], 8);
    for (size_t i = 0; i < sizes[round]; i++)
      if (at[i] != 0)
        fail_msg("round %zu: byte %zu is %u", round, i, at[i]);
    memset(at, 0xff, sizes[round]);
  }
  arena_destroy(arena);
}

static void printf_and_copy_make_terminated_text(void **state)
{
  (void)state;
  Arena *arena = arena_create("test");
  assert_string_equal(arena_printf(arena, "%s-%d", "color", 24), "color-24");
  assert_string_equal(arena_copy_text(arena, "abcdef", 3), "abc");
  assert_string_equal(arena_copy_text(arena, NULL, 0), "");
  arena_destroy(arena);
}

static void files_are_written_whole_and_read_back(void **state)
{
  (void)state;
  char path[] = "/tmp/base-file-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  size_t length = 300000, got = 0;
  char *data = base_malloc(length);
  for (size_t i = 0; i < length; i++)
    data[i] = (char)(i * 31 + i / 251);
  assert_true(file_write_all(path, data, length));
  char *back = file_read_all(path, &got);
  assert_non_null(back);
  assert_int_equal(got, length);
  assert_memory_equal(back, data, length);
  assert_int_equal(back[length], 0);
  free(back);
  free(data);
  remove(path);
  assert_null(file_read_all(path, &got));
  assert_false(file_write_all("/nonexistent-folder/x", "a", 1));
  assert_true(file_write_all("/dev/null", "a", 1));
}

static void a_folder_is_not_a_file(void **state)
{
  (void)state;
  size_t got;
  assert_null(file_read_all("/tmp", &got));
  assert_false(file_write_all("/tmp", "a", 1));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(objects_are_aligned_zeroed_and_apart),
    cmocka_unit_test(objects_larger_than_a_chunk_fit),
    cmocka_unit_test(objects_do_not_overlap),
    cmocka_unit_test(reset_reuses_zeroed_memory),
    cmocka_unit_test(reset_of_a_large_chunk_forgets_nothing_written),
    cmocka_unit_test(printf_and_copy_make_terminated_text),
    cmocka_unit_test(files_are_written_whole_and_read_back),
    cmocka_unit_test(a_folder_is_not_a_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
