/* What libwse reports to a C program about its mistakes: each is an error with a code and a message
 * that says what is wrong and what to do, and the program can go on unless the tiles have
 * failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "emu/include/wse.h"
#include "tests/host_programs.h"

enum { WORDS = 64 };

static char image[64];

typedef struct { WseProgram *program; uint32_t a, scale, hang, crash; uint32_t words[WORDS]; } Run;

static Run open_run(const WseOptions *options)
{
  static const char *const names[] = {"a", "scale", "hang", "crash"};
  Run run = {0};
  uint32_t *ids[] = {&run.a, &run.scale, &run.hang, &run.crash};
  assert_int_equal(wse_open(image, options, &run.program), WSE_OK);
  for (unsigned i = 0; i < ARRAY_COUNT(names); i++) {
    WseSymbol symbol;
    assert_int_equal(wse_symbol(run.program, names[i], &symbol), WSE_OK);
    *ids[i] = symbol.id;
  }
  return run;
}

/* The message has the part; messages are shown for readers of the claim. */
static void expect(const Run *run, WseStatus status, WseStatus expected, const char *part)
{
  const WseError *error = wse_error(run->program);
  print_message("%d %s", (int)status, error->message);
  assert_int_equal(status, expected);
  assert_int_equal(error->status, expected);
  if (!strstr(error->message, part))
    fail_msg("the message does not say '%s'", part);
}

static WseTransfer all_of(uint32_t symbol)
{
  return (WseTransfer){.target = symbol, .width = HOST_WIDTH, .height = HOST_HEIGHT,
                       .elements = 6};
}

static void still_usable(Run *run)
{
  WseTransfer t = all_of(run->a);
  static const uint32_t args[2] = {0x40000000, 1};
  run->words[0] = 0x3f800000;
  assert_int_equal(wse_h2d(run->program, &t, run->words, NULL), WSE_OK);
  assert_int_equal(wse_launch(run->program, run->scale, args, 2, NULL), WSE_OK);
  assert_int_equal(wse_d2h(run->program, &t, run->words, NULL), WSE_OK);
  assert_int_equal(run->words[0], 0x40000000);
  assert_int_equal(wse_finish(run->program), WSE_OK);
  wse_close(run->program);
}

static void a_symbol_that_does_not_exist(void **state)
{
  (void)state;
  Run run = open_run(NULL);
  WseSymbol symbol;
  expect(&run, wse_symbol(run.program, "scael", &symbol), WSE_USAGE, "did you mean 'scale'?");
  WseTransfer t = all_of(77);
  expect(&run, wse_h2d(run.program, &t, run.words, NULL), WSE_USAGE, "has the number 77");
  still_usable(&run);
}

static void a_wrong_width_or_size(void **state)
{
  (void)state;
  Run run = open_run(NULL);
  WseTransfer t = all_of(run.a);
  t.elements = 7;
  expect(&run, wse_h2d(run.program, &t, run.words, NULL), WSE_USAGE, "28 bytes do not fit 'a'");
  t.elements = 20000;
  expect(&run, wse_d2h(run.program, &t, run.words, NULL), WSE_USAGE, "20000 elements");
  t.elements = 6;
  t.is_16bit = true;
  assert_null(wse_warnings(run.program));
  assert_int_equal(wse_h2d(run.program, &t, run.words, NULL), WSE_OK);
  const char *told = wse_warnings(run.program);
  assert_non_null(told);
  assert_non_null(strstr(told, "'a' ([*]f32) has elements of 32 bits"));
  assert_null(wse_warnings(run.program));
  still_usable(&run);
}

static void a_rectangle_outside_the_program(void **state)
{
  (void)state;
  Run run = open_run(NULL);
  WseTransfer t = all_of(run.a);
  t.x = 1;
  expect(&run, wse_h2d(run.program, &t, run.words, NULL), WSE_USAGE,
         "1,0,3,2 leaves the program's rectangle of 3 x 2");
  t.x = UINT32_MAX;
  expect(&run, wse_d2h(run.program, &t, run.words, NULL), WSE_USAGE, "leaves the program's");
  still_usable(&run);
}

static void a_launch_of_what_is_no_function(void **state)
{
  (void)state;
  Run run = open_run(NULL);
  WseSymbol symbol;
  uint32_t args[3] = {0};
  expect(&run, wse_symbol(run.program, "receive", &symbol), WSE_USAGE, "exports no 'receive'");
  expect(&run, wse_launch(run.program, 500, NULL, 0, NULL), WSE_USAGE, "has the number 500");
  expect(&run, wse_launch(run.program, run.a, NULL, 0, NULL), WSE_USAGE, "exported as data");
  expect(&run, wse_launch(run.program, run.scale, args, 3, NULL), WSE_USAGE,
         "takes 2 argument(s), 3 given");
  int64_t least;
  uint64_t most;
  expect(&run, wse_param_range(run.program, run.scale, 2, &least, &most), WSE_USAGE,
         "has no parameter 2; they count from 0 [param_number]");
  expect(&run, wse_param_range(run.program, run.scale, 0, NULL, &most), WSE_USAGE, "'least' is NULL");
  expect(&run, wse_param_range(run.program, 500, 0, &least, &most), WSE_USAGE,
         "has the number 500");
  still_usable(&run);
}

static void a_program_that_never_unblocks(void **state)
{
  (void)state;
  Run run = open_run(NULL);
  WseTransfer t = all_of(run.a);
  assert_int_equal(wse_launch(run.program, run.hang, NULL, 0, NULL), WSE_OK);   /* delivered */
  WseStatus status = wse_d2h(run.program, &t, run.words, NULL);
  expect(&run, status, WSE_DEADLOCK, "6 of 6 tiles");
  expect(&run, status, WSE_DEADLOCK, "every tile must call unblock_cmd_stream() once per launch");
  expect(&run, wse_finish(run.program), WSE_DEADLOCK, "deadlock");              /* it stays so */
  wse_close(run.program);
}

static void a_read_of_what_was_not_opened(void **state)
{
  (void)state;
  Run run = {0};
  WseTransfer t = all_of(0);
  expect(&run, wse_open("nowhere", NULL, &run.program), WSE_USAGE,
         "cannot read program image 'nowhere'");
  expect(&run, wse_d2h(run.program, &t, run.words, NULL), WSE_USAGE, "was not opened");
  wse_close(run.program);
  assert_int_equal(wse_d2h(NULL, &t, run.words, NULL), WSE_USAGE);
}

static void a_failed_assertion(void **state)
{
  (void)state;
  Run run = open_run(NULL);
  expect(&run, wse_launch(run.program, run.crash, NULL, 0, NULL), WSE_FAULT, "pe.csl:");
  assert_int_equal(wse_error(run.program)->x, 1);
  assert_int_equal(wse_error(run.program)->y, 1);      /* the launch comes there first */
  wse_close(run.program);
}

static void missing_pointers_and_tasks_of_nobody(void **state)
{
  (void)state;
  Run run = open_run(NULL);
  WseTransfer t = all_of(run.a);
  expect(&run, wse_h2d(run.program, NULL, run.words, NULL), WSE_USAGE, "'transfer' is NULL");
  expect(&run, wse_d2h(run.program, &t, NULL, NULL), WSE_USAGE, "'words' is NULL");
  expect(&run, wse_wait(run.program, 1234), WSE_USAGE, "no operation has the number 1234");
  assert_int_equal(wse_transfer_words(NULL), 0);
  still_usable(&run);
}

static void a_trace_on_a_full_disk(void **state)
{
  (void)state;
  Run run = open_run(&(WseOptions){.trace_kinds = "all", .trace_file = "/dev/full"});
  WseTransfer t = all_of(run.a);
  assert_int_equal(wse_h2d(run.program, &t, run.words, NULL), WSE_OK);
  expect(&run, wse_finish(run.program), WSE_USAGE, "cannot write '/dev/full'");
  wse_close(run.program);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_symbol_that_does_not_exist),
    cmocka_unit_test(a_wrong_width_or_size),
    cmocka_unit_test(a_rectangle_outside_the_program),
    cmocka_unit_test(a_launch_of_what_is_no_function),
    cmocka_unit_test(a_program_that_never_unblocks),
    cmocka_unit_test(a_read_of_what_was_not_opened),
    cmocka_unit_test(a_failed_assertion),
    cmocka_unit_test(missing_pointers_and_tasks_of_nobody),
    cmocka_unit_test(a_trace_on_a_full_disk),
  };
  strcpy(image, "/tmp/host_mistakes_XXXXXX.bin");
  int file = mkstemps(image, 4);
  assert_true(file >= 0);
  close(file);
  host_program_compile("layout.csl", "wse3", true, image);
  int code = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(image);
  return code;
}
