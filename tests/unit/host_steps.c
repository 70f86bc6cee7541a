/* Snapshots, steps, stop conditions, memory and registers by name, as a C program uses them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "emu/include/wse.h"
#include "tests/host_programs.h"

enum { MOST = 100000, SCALE_LINE = 11, COUNT_LINE = 13, SOME_STEPS = 7, SOME_LINES = 2,
       SOME_BYTES = 100 };

static char image[64];
static const WseEngine engines[] = {WSE_ENGINE_FAST, WSE_ENGINE_REFERENCE};

static WseProgram *open_program(WseEngine engine)
{
  WseProgram *p;
  WseOptions options = {.engine = engine, .check = WSE_CHECK_ERROR};
  assert_int_equal(wse_open(image, &options, &p), WSE_OK);
  return p;
}

static uint32_t id_of(WseProgram *p, const char *name)
{
  WseSymbol symbol;
  assert_int_equal(wse_symbol(p, name, &symbol), WSE_OK);
  return symbol.id;
}

static int32_t count_at(WseProgram *p, uint32_t x)
{
  int32_t n;
  size_t size;
  assert_int_equal(wse_read_symbol(p, x, 0, "n", &n, sizeof n, &size), WSE_OK);
  return n;
}

static void scale_later(WseProgram *p)
{
  static const uint32_t args[] = {0x40000000, 1};
  assert_int_equal(wse_launch_later(p, id_of(p, "scale"), args, 2), WSE_OK);
}

static void expect_refusal(WseProgram *p, WseStatus status, const char *part)
{
  assert_int_equal(status, WSE_USAGE);
  if (!strstr(wse_error(p)->message, part))
    fail_msg("'%s' does not say '%s'", wse_error(p)->message, part);
}

/* The cycle in which the tile has made so many steps of each unit. */
static uint64_t step_all_units(WseProgram *p)
{
  bool reached;
  uint64_t before = wse_cycle(p);
  for (unsigned unit = WSE_STEP_CYCLE; unit <= WSE_STEP_LINE; unit++) {
    unsigned steps = unit == WSE_STEP_LINE ? SOME_LINES : SOME_STEPS;
    assert_int_equal(wse_step(p, 1, 0, (WseStep)unit, steps, MOST, &reached), WSE_OK);
    assert_true(reached && wse_cycle(p) >= before + steps);
    before = wse_cycle(p);
  }
  return before;
}

static void test_a_snapshot_leads_to_the_same_again(void **state)
{
  (void)state;
  for (unsigned e = 0; e < ARRAY_COUNT(engines); e++) {
    WseProgram *p = open_program(engines[e]);
    WseSnapshot *first, *second;
    assert_int_equal(wse_snapshot_take(p, NULL, &first), WSE_OK);
    scale_later(p);
    uint64_t there = step_all_units(p);
    assert_int_equal(wse_snapshot_take(p, first, &second), WSE_OK);
    assert_int_equal(wse_snapshot_cycle(second), there);
    assert_int_equal(wse_run(p, 0), WSE_OK);
    uint64_t end = wse_cycle(p);
    assert_int_equal(count_at(p, 1), 1);
    assert_int_equal(wse_snapshot_restore(p, second), WSE_OK);
    assert_int_equal(wse_cycle(p), there);
    assert_int_equal(count_at(p, 1), 0);
    assert_int_equal(wse_run(p, 0), WSE_OK);
    assert_int_equal(wse_cycle(p), end);
    assert_int_equal(wse_snapshot_restore(p, first), WSE_OK);
    scale_later(p);
    assert_int_equal(step_all_units(p), there);
    wse_snapshot_free(first);
    wse_close(p);
    wse_snapshot_free(second);
  }
}

static void test_stop_conditions(void **state)
{
  (void)state;
  for (unsigned e = 0; e < ARRAY_COUNT(engines); e++) {
    WseProgram *p = open_program(engines[e]);
    WseStop stops[] = {
      {WSE_STOP_CHANGE, 2, 1, "n", 0}, {WSE_STOP_LINE, 1, 0, "plain_pe.csl", COUNT_LINE},
      {WSE_STOP_TASK, 0, 0, NULL, 0}, {WSE_STOP_LINE, 0, 0, "other.csl", SCALE_LINE},
    };
    size_t which;
    scale_later(p);
    assert_int_equal(wse_run_until(p, stops, ARRAY_COUNT(stops), MOST, &which), WSE_OK);
    assert_int_equal(which, 2);
    assert_int_equal(wse_run_until(p, stops, 2, MOST, &which), WSE_OK);
    assert_int_equal(which, 1);
    assert_int_equal(count_at(p, 1), 0);
    assert_int_equal(wse_run_until(p, stops, 1, MOST, &which), WSE_OK);
    assert_int_equal(which, 0);
    assert_int_equal(count_at(p, 2), 1);
    assert_int_equal(wse_run_until(p, &stops[3], 1, MOST, &which), WSE_OK);
    assert_int_equal(which, 1);         /* none: the program has ended */
    bool reached;
    assert_int_equal(wse_step(p, 1, 0, WSE_STEP_CYCLE, 1, MOST, &reached), WSE_OK);
    assert_false(reached);
    wse_close(p);
    p = open_program(engines[e]);       /* of two that are reached in one cycle, the first */
    stops[0] = stops[1] = stops[2];
    scale_later(p);
    assert_int_equal(wse_run_until(p, stops, 3, MOST, &which), WSE_OK);
    assert_int_equal(which, 0);
    wse_close(p);
  }
}

static void test_memory_and_registers_by_name(void **state)
{
  (void)state;
  WseProgram *p = open_program(WSE_ENGINE_FAST);
  uint16_t value = 0, pc = 0;
  int32_t n = 41;
  assert_int_equal(wse_write_symbol(p, 1, 1, "n", &n, sizeof n), WSE_OK);
  scale_later(p);
  step_all_units(p);
  assert_int_equal(wse_write_register(p, 2, 0, "r5", 0x1234), WSE_OK);
  assert_int_equal(wse_read_register(p, 2, 0, "r5", &value), WSE_OK);
  assert_int_equal(value, 0x1234);
  assert_int_equal(wse_read_register(p, 0, 0, "pc", &pc), WSE_OK);
  assert_int_equal(wse_read_register(p, 0, 0, "sp", &value), WSE_OK);
  assert_true(pc != 0 && value != 0);
  size_t size;
  WseSnapshot *snapshot;
  assert_int_equal(wse_snapshot_take(p, NULL, &snapshot), WSE_OK);
  assert_int_equal(wse_run(p, 0), WSE_OK);
  assert_int_equal(wse_read_symbol(p, 1, 1, "n", &n, sizeof n, &size), WSE_OK);
  assert_int_equal(n, 42);
  expect_refusal(p, wse_write_register(p, 0, 0, "pc", 0), "[register_unknown]");
  expect_refusal(p, wse_read_register(p, 0, 0, "r16", &value), "r0 to r15");
  expect_refusal(p, wse_read_register(p, 3, 0, "r1", &value), "leaves the program's rectangle");
  expect_refusal(p, wse_write_symbol(p, 0, 0, "m", &n, sizeof n), "has no symbol 'm'");
  wse_snapshot_free(snapshot);
  wse_close(p);
}

static void test_a_fault_is_no_end_for_who_has_a_snapshot(void **state)
{
  (void)state;
  for (unsigned e = 0; e < ARRAY_COUNT(engines); e++) {
    WseProgram *p = open_program(engines[e]);
    WseSnapshot *snapshot;
    assert_int_equal(wse_snapshot_take(p, NULL, &snapshot), WSE_OK);
    assert_int_equal(wse_launch(p, id_of(p, "crash"), NULL, 0, NULL), WSE_FAULT);
    assert_int_equal(wse_run(p, 0), WSE_FAULT);
    assert_int_equal(wse_snapshot_restore(p, snapshot), WSE_OK);
    scale_later(p);
    assert_int_equal(wse_run(p, 0), WSE_OK);
    assert_int_equal(count_at(p, 0), 1);
    wse_snapshot_free(snapshot);
    wse_close(p);
  }
}

static void expect_no_core(const char *core, const char *part)
{
  WseProgram *p;
  WseStatus status = wse_open_core(image, core, &p);
  expect_refusal(p, status, part);
  wse_close(p);
}

/* A core of one engine is read on the default one: memory, registers, the cycle; it does not run. */
static void test_a_core_is_read_and_does_not_run(void **state)
{
  (void)state;
  char core[sizeof image + 8];
  snprintf(core, sizeof core, "%s.core", image);
  for (unsigned e = 0; e < ARRAY_COUNT(engines); e++) {
    WseProgram *p = open_program(engines[e]), *read;
    bool reached;
    uint16_t value = 0, held = 0;
    scale_later(p);
    assert_int_equal(wse_step(p, 1, 0, WSE_STEP_INSTRUCTION, SOME_STEPS, MOST, &reached), WSE_OK);
    assert_int_equal(wse_write_register(p, 1, 0, "r5", 0x4321), WSE_OK);
    assert_int_equal(wse_dump_core(p, core), WSE_OK);
    uint64_t cycle = wse_cycle(p);
    int32_t n = count_at(p, 1);
    assert_int_equal(wse_run(p, 0), WSE_OK);
    wse_close(p);
    assert_int_equal(wse_open_core(image, core, &read), WSE_OK);
    assert_int_equal(wse_cycle(read), cycle);
    assert_int_equal(count_at(read, 1), n);
    assert_int_equal(wse_read_register(read, 1, 0, "r5", &held), WSE_OK);
    assert_int_equal(held, 0x4321);
    assert_int_equal(wse_read_register(read, 1, 0, "pc", &value), WSE_OK);
    assert_true(value != 0);
    expect_refusal(read, wse_run(read, 0), "[core_is_over]");
    expect_refusal(read, wse_launch(read, id_of(read, "crash"), NULL, 0, NULL), "[core_is_over]");
    expect_refusal(read, wse_finish(read), "[core_is_over]");
    expect_refusal(read, wse_step(read, 1, 0, WSE_STEP_CYCLE, 1, MOST, &reached), "[core_is_over]");
    wse_close(read);
  }
  assert_int_equal(truncate(core, SOME_BYTES), 0);
  expect_no_core(core, "[state_unusable]");
  unlink(core);
  expect_no_core(core, "[state_unusable]");
  expect_no_core(NULL, "'core' is NULL");
  WseProgram *p = open_program(WSE_ENGINE_FAST);
  expect_refusal(p, wse_dump_core(p, "/nowhere/core"), "[output_unwritable]");
  wse_close(p);
}

static void test_a_snapshot_is_of_one_handle(void **state)
{
  (void)state;
  WseProgram *one = open_program(WSE_ENGINE_FAST), *other = open_program(WSE_ENGINE_FAST);
  WseSnapshot *early, *late, *none;
  assert_int_equal(wse_snapshot_take(one, NULL, &early), WSE_OK);
  scale_later(one);
  assert_int_equal(wse_snapshot_take(one, early, &late), WSE_OK);
  expect_refusal(other, wse_snapshot_restore(other, early), "[snapshot_of_other]");
  expect_refusal(other, wse_snapshot_take(other, early, &none), "[snapshot_of_other]");
  assert_null(none);
  wse_snapshot_free(early);
  assert_int_equal(wse_snapshot_restore(one, late), WSE_OK);
  wse_close(one);
  expect_refusal(other, wse_snapshot_restore(other, late), "[snapshot_of_other]");
  wse_snapshot_free(late);
  wse_close(other);
}

/* Each tile keeps one launch; what it makes of one after the other shows in "n". */
static void test_launches_wait_for_each_other(void **state)
{
  static const uint32_t args[] = {0x40000000, 1};
  (void)state;
  for (unsigned e = 0; e < ARRAY_COUNT(engines); e++) {
    WseProgram *p = open_program(engines[e]);
    int32_t n;
    size_t size;
    scale_later(p);
    expect_refusal(p, wse_launch_later(p, id_of(p, "scale"), args, 2), "[launch_waits]");
    expect_refusal(p, wse_launch(p, id_of(p, "spin"), NULL, 0, NULL), "[launch_waits]");
    assert_int_equal(wse_run(p, 0), WSE_OK);
    scale_later(p);
    assert_int_equal(wse_run(p, 0), WSE_OK);
    assert_int_equal(wse_read_symbol(p, 1, 0, "n", &n, sizeof n, &size), WSE_OK);
    assert_int_equal(n, 2);
    wse_close(p);
  }
}

/* Also for steps and conditions that would run nothing. */
static void test_a_run_that_has_ended_stays_so(void **state)
{
  (void)state;
  WseProgram *p = open_program(WSE_ENGINE_FAST);
  size_t which;
  bool reached;
  assert_int_equal(wse_launch(p, id_of(p, "crash"), NULL, 0, NULL), WSE_FAULT);
  assert_int_equal(wse_step(p, 0, 0, WSE_STEP_CYCLE, 0, MOST, &reached), WSE_FAULT);
  assert_int_equal(wse_step(p, 0, 0, WSE_STEP_CYCLE, 1, 0, &reached), WSE_FAULT);
  assert_int_equal(wse_run_until(p, NULL, 0, 0, &which), WSE_FAULT);
  wse_close(p);
}

static void test_mistakes(void **state)
{
  (void)state;
  WseOptions recorded = {.args = "--save-state=/dev/null"};
  WseProgram *p = open_program(WSE_ENGINE_FAST);
  WseSnapshot *snapshot;
  bool reached;
  expect_refusal(p, wse_snapshot_take(p, NULL, NULL), "'snapshot' is NULL");
  expect_refusal(p, wse_step(p, 0, 0, (WseStep)9, 1, 1, &reached), "'unit' has no value 9");
  expect_refusal(p, wse_step(p, 9, 0, WSE_STEP_CYCLE, 1, 1, &reached), "rectangle");
  wse_close(p);
  assert_int_equal(wse_open(image, &recorded, &p), WSE_OK);
  expect_refusal(p, wse_snapshot_take(p, NULL, &snapshot), "[step_refuse]");
  wse_close(p);
  wse_snapshot_free(NULL);
  assert_int_equal(wse_snapshot_cycle(NULL), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_snapshot_leads_to_the_same_again),
    cmocka_unit_test(test_stop_conditions),
    cmocka_unit_test(test_memory_and_registers_by_name),
    cmocka_unit_test(test_a_fault_is_no_end_for_who_has_a_snapshot),
    cmocka_unit_test(test_a_core_is_read_and_does_not_run),
    cmocka_unit_test(test_a_snapshot_is_of_one_handle),
    cmocka_unit_test(test_launches_wait_for_each_other),
    cmocka_unit_test(test_a_run_that_has_ended_stays_so),
    cmocka_unit_test(test_mistakes),
  };
  snprintf(image, sizeof image, "/tmp/host_steps.%ld.bin", (long)getpid());
  host_program_compile("plain_layout.csl", "wse3", false, image);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(image);
  return failed;
}
