/* The heap of timers that both engines share: first by cycle, then by tile, whatever came first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "emu/engine/engine.h"
#include "stb_ds.h"

static int timer_compare(const void *a, const void *b)
{
  const Timer *x = a, *y = b;
  if (x->cycle != y->cycle)
    return x->cycle < y->cycle ? -1 : 1;
  return (x->tile > y->tile) - (x->tile < y->tile);
}

static void come_in_order(void **state)
{
  (void)state;
  enum { COUNT = 300, CYCLES = 40 }; /* several of a cycle */
  Timer sorted[COUNT], *timers = NULL;
  uint32_t random = 4711;
  for (size_t n = 1; n <= COUNT; n++) {
    for (size_t i = 0; i < n; i++) {
      random = random * 1664525u + 1013904223u;
      sorted[i] = (Timer){(uint64_t)(random >> 16) % CYCLES << 32, (uint32_t)(n - i)};
      timers_push(&timers, sorted[i]);
    }
    qsort(sorted, n, sizeof *sorted, timer_compare);
    for (size_t i = 0; i < n; i++) {
      Timer first = timers_pop(timers);
      assert_int_equal(first.cycle, sorted[i].cycle);
      assert_int_equal(first.tile, sorted[i].tile);
    }
    assert_int_equal(arrlenu(timers), 0);
  }
  arrfree(timers);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(come_in_order)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
