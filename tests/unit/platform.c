/* What differs between systems. This file is built twice: with the parts of this system, and as
 * unit-platform_posix with those that only need POSIX. */
#include "ir/base/base.h"
#include "ir/base/platform.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void test_reserved_memory_is_zero(void **state)
{
  enum { BYTES = 3 << 20 };
  (void)state;
  for (int i = 0; i < 3; i++) {
    unsigned char *pages = platform_reserve(BYTES);
    assert_non_null(pages);
    assert_int_equal((uintptr_t)pages % 64, 0);
    for (size_t k = 0; k < BYTES; k++)
      assert_int_equal(pages[k], 0);
    memset(pages, 0xff, BYTES);
    platform_release(pages, BYTES);
  }
  assert_null(platform_reserve(SIZE_MAX / 2));
}

/* Linux maps whole huge pages with one to spare and returns what lies around: only that. */
static void test_reserved_memory_does_not_touch_its_neighbours(void **state)
{
  enum { N = 12, UNIT = 1 << 20 };
  unsigned char *pages[N];
  (void)state;
  for (size_t i = 0; i < N; i++) {
    pages[i] = platform_reserve((i % 5 + 1) * UNIT);
    assert_non_null(pages[i]);
    memset(pages[i], (int)i + 1, (i % 5 + 1) * UNIT);
  }
  for (size_t i = 0; i < N; i += 2)
    platform_release(pages[i], (i % 5 + 1) * UNIT);
  for (size_t i = 1; i < N; i += 2) {
    for (size_t k = 0; k < (i % 5 + 1) * UNIT; k++)
      assert_int_equal(pages[i][k], i + 1);
    platform_release(pages[i], (i % 5 + 1) * UNIT);
  }
}

/* Sizes around those from which on a block begins and ends with huge pages, and odd ones. */
static void test_reserved_memory_of_any_size(void **state)
{
  static const size_t sizes[] = {1, 4097, (1 << 19) - 1, 1 << 19, (1 << 21) + 1, 16 << 20,
                                 (16 << 20) + 1, (17 << 20) + 5000};
  enum { N = sizeof sizes / sizeof *sizes };
  unsigned char *pages[N];
  (void)state;
  for (size_t i = 0; i < N; i++) {
    pages[i] = platform_reserve(sizes[i]);
    assert_non_null(pages[i]);
    memset(pages[i], (int)i + 1, sizes[i]);
  }
  for (size_t i = 0; i < N; i += 2)
    platform_release(pages[i], sizes[i]);
  for (size_t i = 1; i < N; i += 2) {
    assert_int_equal(pages[i][0], i + 1);
    assert_int_equal(pages[i][sizes[i] - 1], i + 1);
    assert_int_equal(pages[i][sizes[i] / 2], i + 1);
    platform_release(pages[i], sizes[i]);
  }
}

/* A wish about a block of malloc changes nothing of what is in it, nor whether it can grow and be
 * freed. */
static void test_large_pages_keep_what_is_there(void **state)
{
  enum { BYTES = 5 << 20, MORE = 11 << 20 };
  (void)state;
  platform_prefer_large_pages(NULL, 0);
  for (int i = 0; i < 3; i++) {
    unsigned char *small = base_malloc(1000), *large = base_malloc(BYTES);
    memset(small, 0x55, 1000);
    memset(large, i + 1, BYTES);
    platform_prefer_large_pages(large, BYTES);
    large = base_realloc(large, MORE);
    memset(large + BYTES, 0x77, MORE - BYTES);
    for (size_t k = 0; k < MORE; k++)
      assert_int_equal(large[k], k < BYTES ? i + 1 : 0x77);
    for (size_t k = 0; k < 1000; k++)
      assert_int_equal(small[k], 0x55);
    free(large);
    free(small);
    unsigned char *zeros = base_zeroed(BYTES, 1);
    for (size_t k = 0; k < BYTES; k++)
      assert_int_equal(zeros[k], 0);
    free(zeros);
  }
}

enum { ROUNDS = 2000 };
static atomic_uint turn;

/* The two threads take turns: one moves from even to odd numbers, the other one back. */
static void take_turns(unsigned parity)
{
  for (unsigned now; (now = atomic_load(&turn)) < 2 * ROUNDS;) {
    if (now % 2 == parity) {
      atomic_store(&turn, now + 1);
      platform_wake_all(&turn);
    } else {
      platform_relax();
      platform_sleep_while(&turn, now);
    }
  }
}

static void *run_odd(void *seen)
{
  take_turns(1);
  *(unsigned *)seen = atomic_load(&turn);
  return NULL;
}

static void test_threads_wait_for_each_other(void **state)
{
  unsigned seen = 0;
  (void)state;
  assert_true(platform_core_count() >= 1);
  assert_true(platform_most_threads() >= 2);
  PlatformThread *thread = platform_start_thread(run_odd, &seen);
  assert_non_null(thread);
  take_turns(0);
  platform_join_thread(thread);
  assert_true(seen >= 2 * ROUNDS);
}

static void test_a_word_that_differs_is_not_waited_for(void **state)
{
  atomic_uint word = 7;
  (void)state;
  platform_sleep_while(&word, 8);
}

static void test_the_stack_goes_on_below(void **state)
{
  char here;
  uintptr_t end = platform_stack_end();
  (void)state;
  assert_true(end < (uintptr_t)&here);
  assert_true((uintptr_t)&here - end >= 1 << 20);
}

static ptrdiff_t count_bytes(void *cookie, const char *bytes, size_t size)
{
  (void)bytes;
  *(size_t *)cookie += size;
  return (ptrdiff_t)size;
}

static int close_count(void *cookie)
{
  *(size_t *)cookie += 1000000;
  return 0;
}

static void test_streams_call_their_owner(void **state)
{
  size_t count = 0;
  (void)state;
  FILE *stream = platform_open_stream(&count, count_bytes, close_count);
  assert_non_null(stream);
  assert_int_equal(fprintf(stream, "twelve bytes"), 12);
  assert_int_equal(fclose(stream), 0);
  assert_int_equal(count, 1000012);
}

/* A system that has no files without names says so. */
static void test_files_get_their_names_late(void **state)
{
  char folder[] = "/tmp/wse-platform-XXXXXX";
  (void)state;
  assert_non_null(mkdtemp(folder));
  char *path = base_print("%s/file", folder);
  int fd = platform_open_nameless(folder);
  if (fd >= 0) {
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(write(fd, "abc", 3), 3);
    assert_true(platform_name_file(fd, path));
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 3);
    assert_false(platform_name_file(fd, path));
    close(fd);
    unlink(path);
  }
  free(path);
  rmdir(folder);
}

static void test_the_program_knows_its_path(void **state)
{
  char path[4096], one[1];
  (void)state;
  if (platform_program_path(path, sizeof path))
    assert_int_equal(access(path, X_OK), 0);
  assert_false(platform_program_path(one, sizeof one));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_reserved_memory_is_zero),
    cmocka_unit_test(test_reserved_memory_does_not_touch_its_neighbours),
    cmocka_unit_test(test_reserved_memory_of_any_size),
    cmocka_unit_test(test_large_pages_keep_what_is_there),
    cmocka_unit_test(test_threads_wait_for_each_other),
    cmocka_unit_test(test_a_word_that_differs_is_not_waited_for),
    cmocka_unit_test(test_the_stack_goes_on_below),
    cmocka_unit_test(test_streams_call_their_owner),
    cmocka_unit_test(test_files_get_their_names_late),
    cmocka_unit_test(test_the_program_knows_its_path),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
