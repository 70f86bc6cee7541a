/* Random programs on the reference engine: nothing is lost, nothing is reordered, and the order in
 * which tiles are visited changes neither trace nor statistics. */
#include "emu_random.h"

enum { SEEDS = 150 };

static void run(Rnd *r)
{
  RunStatus status = asm_run(r->a, ALL_EVENTS);
  if (status == RUN_FAULT) {
    size_t n;
    fault_print(r->a->program, r->a->engine, r->a->ops->faults(r->a->engine, &n), stderr);
  }
  assert_int_equal(status, RUN_QUIET);
}

static void words_arrive_in_order(void **state)
{
  (void)state;
  uint64_t elements = 0;
  for (uint32_t seed = 0; seed < SEEDS; seed++) {
    Rnd *r = rnd_program(seed, seed % 2 ? ARCH_WSE3 : ARCH_WSE2);
    run(r);
    elements += r->a->ops->stats(r->a->engine)->elements;
    rnd_check(r);
    rnd_free(r);
  }
  assert_true(elements > 10000);      /* the programs do something */
}

static void visiting_order_does_not_matter(void **state)
{
  (void)state;
  for (uint32_t seed = 0; seed < SEEDS / 3; seed++) {
    Rnd *r = rnd_program(seed, ARCH_WSE2), *q = rnd_program(seed, ARCH_WSE2);
    q->a->options.shuffle = seed + 1;
    run(r);
    run(q);
    asm_expect_same_events(r->a, q->a);
    assert_memory_equal(r->a->ops->stats(r->a->engine), q->a->ops->stats(q->a->engine),
                        sizeof(EngineStats));
    rnd_free(r);
    rnd_free(q);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(words_arrive_in_order),
    cmocka_unit_test(visiting_order_does_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
