/* A process that opens, runs and closes many programs, or launches very often, keeps its memory.
 *
 *     unit-host_soak                       the short form, as a unit test
 *     unit-host_soak PROGRAMS LAUNCHES     prints what claims/soak.py measures
 *     unit-host_soak leak                  leaks: a leak sanitizer must notice */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "emu/include/wse.h"
#include "tests/host_programs.h"

enum { SHORT_PROGRAMS = 30, SHORT_LAUNCHES = 3000, WARM_UP_SHARE = 10, WORDS = 6,
       THREADS = 3, THREAD_PROGRAMS = 8 };

static char image[64];

/* Bytes that are allocated now.  The sanitizer's count is exact; the C library's includes what it
 * keeps for later. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t live_bytes(void)
{
  if (__sanitizer_get_current_allocated_bytes)
    return __sanitizer_get_current_allocated_bytes();
  return mallinfo2().uordblks;
}

static long resident_kb(void)
{
  long pages = 0, ignored;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &ignored, &pages) != 2)
    ICE("cannot read /proc/self/statm");
  fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void must(WseProgram *p, WseStatus status)
{
  if (status != WSE_OK)
    ICE("%s", wse_error(p)->message);
}

static WseProgram *open_program(void)
{
  WseProgram *p = NULL;
  WseStatus status = wse_open(image, &(WseOptions){.check = WSE_CHECK_ERROR}, &p);
  must(p, status);
  return p;
}

/* A copy to one tile, a launch, a copy back, and now and then a mistake. */
static void use_program(WseProgram *p, unsigned turn)
{
  static const uint32_t args[2] = {0x3f800000, 1};
  uint32_t words[WORDS] = {0};
  WseSymbol a, scale, none;
  must(p, wse_symbol(p, "a", &a));
  must(p, wse_symbol(p, "scale", &scale));
  WseTransfer transfer = {.target = a.id, .width = 1, .height = 1, .elements = WORDS};
  WseTask task;
  words[0] = turn;
  must(p, wse_h2d(p, &transfer, words, NULL));
  must(p, wse_launch(p, scale.id, args, ARRAY_COUNT(args), &task));
  must(p, wse_d2h(p, &transfer, words, NULL));
  if (words[0] != turn)
    ICE("turn %u comes back as %u", turn, words[0]);
  if (turn % 7 == 0 && wse_symbol(p, "nothing", &none) != WSE_USAGE)
    ICE("a symbol that no program has");
}

static void one_program(unsigned turn)
{
  WseProgram *p = open_program();
  use_program(p, turn);
  must(p, wse_finish(p));
  wse_statistics(p);
  wse_close(p);
}

typedef struct { size_t live_before, live_after; long kb_before, kb_after; } Memory;

static Memory many_programs(unsigned n)
{
  Memory m = {0};
  for (unsigned i = 1; i <= n; i++) {
    one_program(i);
    if (i == n / WARM_UP_SHARE)
      m = (Memory){.live_before = live_bytes(), .kb_before = resident_kb()};
  }
  m.live_after = live_bytes();
  m.kb_after = resident_kb();
  return m;
}

/* The first half warms up: statistics keep a phase for each of the first few thousand actions. */
static Memory many_launches(unsigned n)
{
  Memory m = {0};
  WseProgram *p = open_program();
  for (unsigned i = 1; i <= n; i++) {
    use_program(p, i);
    if (i == n / 2)
      m = (Memory){.live_before = live_bytes(), .kb_before = resident_kb()};
  }
  m.live_after = live_bytes();
  m.kb_after = resident_kb();
  must(p, wse_finish(p));
  wse_close(p);
  return m;
}

static void print_memory(const char *what, unsigned n, Memory m)
{
  printf("%s %u: live bytes %zu then %zu, resident kB %ld then %ld\n", what, n, m.live_before,
         m.live_after, m.kb_before, m.kb_after);
}

/* Without a sanitizer the count is of the C library, which keeps some memory for itself. */
static void check_growth(Memory m)
{
  size_t kept = __sanitizer_get_current_allocated_bytes ? 0 : 1 << 16;
  assert_in_range(m.live_after, 0, m.live_before + kept);
}

static void programs_leave_nothing(void **state)
{
  (void)state;
  check_growth(many_programs(SHORT_PROGRAMS));
}

static void launches_leave_nothing(void **state)
{
  (void)state;
  check_growth(many_launches(SHORT_LAUNCHES));
}

static void *programs_of_a_thread(void *argument)
{
  (void)argument;
  for (unsigned i = 1; i <= THREAD_PROGRAMS; i++)
    one_program(i);
  return NULL;
}

/* A handle belongs to one thread at a time, and handles share nothing. */
static void threads_do_not_meet(void **state)
{
  (void)state;
  pthread_t threads[THREADS];
  for (unsigned i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, programs_of_a_thread, NULL), 0);
  for (unsigned i = 0; i < THREADS; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static int measure(int argc, char **argv)
{
  if (argc == 2 && strcmp(argv[1], "leak") == 0) {
    volatile const void *lost = open_program();
    lost = NULL;
    return lost ? 1 : 0;
  }
  unsigned programs = (unsigned)atoi(argv[1]), launches = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
  print_memory("programs", programs, many_programs(programs));
  print_memory("launches", launches, many_launches(launches));
  return 0;
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(programs_leave_nothing), cmocka_unit_test(launches_leave_nothing),
    cmocka_unit_test(threads_do_not_meet),
  };
  strcpy(image, "/tmp/host_soak_XXXXXX.bin");
  int file = mkstemps(image, 4);
  if (file < 0)
    ICE("cannot make a file in /tmp");
  close(file);
  host_program_compile("layout.csl", "wse3", true, image);
  int code = argc > 1 ? measure(argc, argv) : cmocka_run_group_tests(tests, NULL, NULL);
  unlink(image);
  return code;
}
