/* The code generator: programs in the IR's text form, compiled, run on the reference engine, and
 * their memory compared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/codegen_harness.h"

/* Runs a program whose first export is a function; returns the words of $out. */
static void run_words(const char *text, uint16_t *words, unsigned n)
{
  Run r;
  run_create(&r);
  IrModule *m = run_read(&r, text);
  if (!m)
    fail_msg("%s", r.messages);
  const char *invalid = ir_verify(m, r.arena);
  if (invalid)
    fail_msg("%s", invalid);
  if (!run_compile(&r, m, 1))
    fail_msg("%s", r.messages);
  const char *why = run_load(&r, m);
  if (!why)
    why = run_launch(&r, 1000000);
  if (why) {
    char *listing = run_asm(&r);
    print_message("%s", listing);
    free(listing);
    fail_msg("%s", why);
  }
  if (!run_memory(&r, "out", words, 2 * n))
    fail_msg("no $out");
  run_destroy(&r);
}

static void check_words(const char *text, const uint16_t *wanted, unsigned n)
{
  uint16_t words[64] = {0};
  run_words(text, words, n);
  for (unsigned i = 0; i < n; i++)
    if (words[i] != wanted[i])
      fail_msg("word %u is 0x%04x, not 0x%04x", i, words[i], wanted[i]);
}

#define HEAD                                                                                    \
  "module wse2 f16 \"t\"\n"                                                                     \
  "global $out bytes 64 align 4 type \"[32]u16\" keep\n"                                        \
  "binding 0 @main\n"
#define CHECK(text, ...)                                                                        \
  do {                                                                                          \
    static const uint16_t wanted_[] = {__VA_ARGS__};                                            \
    check_words((text), wanted_, ARRAY_COUNT(wanted_));                                         \
  } while (0)

static void test_store(void **state)
{
  (void)state;
  CHECK(HEAD "func @main() void address_taken {\nb0:\n"
             "  %0 = global_addr $out\n  %1 = const.i16 7\n  store %0, %1\n  ret\n}\n", 7);
}

static void test_loop(void **state)
{
  (void)state;
  CHECK(HEAD "func @main() void address_taken {\n"
             "b0:\n"
             "  %0 = const.i16 0\n  %1 = const.i16 10\n  %2 = const.i16 1\n"
             "  br b1(%0, %0)\n"
             "b1(%3: i16, %4: i16):\n"
             "  %5 = slt %3, %1\n"
             "  cond_br %5, b2, b3\n"
             "b2:\n"
             "  %6 = add.i16 %4, %3\n  %7 = add.i16 %3, %2\n"
             "  br b1(%7, %6)\n"
             "b3:\n"
             "  %8 = global_addr $out\n  store %8, %4\n  ret\n}\n", 45);
}

/* Three block arguments that go round: a cycle of copies. */
static void test_rotation(void **state)
{
  (void)state;
  CHECK(HEAD "func @main() void address_taken {\n"
             "b0:\n"
             "  %0 = const.i16 0\n  %1 = const.i16 1\n  %2 = const.i16 2\n  %3 = const.i16 3\n"
             "  %4 = const.i32 70000\n  %5 = const.i32 80000\n"
             "  br b1(%0, %1, %2, %3, %4, %5)\n"
             "b1(%10: i16, %11: i16, %12: i16, %13: i16, %14: i32, %15: i32):\n"
             "  %16 = add.i16 %10, %1\n  %17 = const.i16 7\n  %18 = ne %16, %17\n"
             "  cond_br %18, b1(%16, %12, %13, %11, %15, %14), b2\n"
             "b2:\n"
             "  %20 = global_addr $out\n  store %20, %11\n"
             "  %21 = global_addr $out + 2\n  store %21, %12\n"
             "  %22 = global_addr $out + 4\n  store %22, %13\n"
             "  %23 = global_addr $out + 8\n  store %23, %14\n"
             "  %24 = global_addr $out + 12\n  store %24, %15\n"
             "  ret\n}\n",
        1, 2, 3, 0, 70000 & 0xffff, 1, 80000 & 0xffff, 1);
}

/* More arguments than registers, all kinds; an i64 result. */
static void test_arguments(void **state)
{
  (void)state;
  CHECK(HEAD "func @f(i16, i32, i16, i32, i64, i16, i16, i8, i32) i64 {\n"
             "b0(%0: i16, %1: i32, %2: i16, %3: i32, %4: i64, %5: i16, %6: i16, %7: i8, %8: i32):\n"
             "  %10 = zext.i32 %0\n  %11 = zext.i32 %2\n  %12 = zext.i32 %5\n"
             "  %13 = zext.i32 %6\n  %14 = zext.i32 %7\n"
             "  %20 = add.i32 %10, %1\n  %21 = add.i32 %11, %3\n  %22 = add.i32 %12, %13\n"
             "  %23 = add.i32 %14, %8\n  %24 = add.i32 %20, %21\n  %25 = add.i32 %22, %23\n"
             "  %26 = add.i32 %24, %25\n  %27 = zext.i64 %26\n  %28 = add.i64 %27, %4\n"
             "  ret %28\n}\n"
             "func @main() void address_taken {\n"
             "b0:\n"
             "  %0 = const.i16 1\n  %1 = const.i32 20\n  %2 = const.i16 300\n"
             "  %3 = const.i32 4000\n  %4 = const.i64 0x500000000\n  %5 = const.i16 6\n"
             "  %6 = const.i16 70\n  %7 = const.i8 -56\n  %8 = const.i32 100000\n"
             "  %9 = call.i64 @f(%0, %1, %2, %3, %4, %5, %6, %7, %8)\n"
             "  %10 = global_addr $out\n  store %10, %9\n  ret\n}\n",
        (1 + 20 + 300 + 4000 + 6 + 70 + 200 + 100000) & 0xffff,
        (1 + 20 + 300 + 4000 + 6 + 70 + 200 + 100000) >> 16, 5, 0);
}

/* Thirty words and ten pairs that all live at once. */
static void test_pressure(void **state)
{
  (void)state;
  char text[20000];
  size_t at = 0;
  unsigned n = 0;
#define PUT(...) at += (size_t)snprintf(text + at, sizeof text - at, __VA_ARGS__)
  PUT(HEAD "global $in bytes 4 align 4 type \"u16\" keep\n"
           "func @main() void address_taken {\nb0:\n  %%0 = global_addr $in\n"
           "  %%1 = load.i16 %%0\n  %%2 = load.i32 %%0\n");
  for (n = 0; n < 30; n++)
    PUT("  %%%u = const.i16 %u\n  %%%u = add.i16 %%1, %%%u\n", 100 + n, n * n, 200 + n, 100 + n);
  for (n = 0; n < 10; n++)
    PUT("  %%%u = const.i32 %u\n  %%%u = add.i32 %%2, %%%u\n", 300 + n, 100000 * n, 400 + n,
        300 + n);
  PUT("  %%500 = const.i16 0\n  %%700 = const.i32 0\n");
  for (n = 0; n < 30; n++)
    PUT("  %%%u = mul.i16 %%%u, %%%u\n  %%%u = add.i16 %%%u, %%%u\n", 600 + n, 200 + n, 229 - n,
        501 + n, 500 + n, 600 + n);
  for (n = 0; n < 10; n++)
    PUT("  %%%u = add.i32 %%%u, %%%u\n", 701 + n, 700 + n, 400 + n);
  PUT("  %%3 = global_addr $out\n  store %%3, %%530\n  %%4 = global_addr $out + 4\n"
      "  store %%4, %%710\n  ret\n}\n");
#undef PUT
  uint16_t sum = 0;
  for (n = 0; n < 30; n++)
    sum = (uint16_t)(sum + n * n * (29 - n) * (29 - n));
  uint16_t words[4];
  run_words(text, words, 4);
  assert_int_equal(words[0], sum);
  assert_int_equal(words[2] | (uint32_t)words[3] << 16, 4500000);
}

/* Vector operations over memory, with fields replaced at run time. */
static void test_vector(void **state)
{
  (void)state;
  CHECK(HEAD "global $x bytes 8 align 2 type \"[4]u16\" keep {\n  data 0 \"0100020003000400\"\n}\n"
             "global $y bytes 8 align 2 type \"[4]u16\" keep {\n  data 0 \"0a0014001e002800\"\n}\n"
             "func @main() void address_taken {\nb0:\n"
             "  %0 = dsd_const.dsd mem1d(base $x, length 4, stride 1)\n"
             "  %1 = dsd_const.dsd mem1d(base $y, length 4, stride 1)\n"
             "  %2 = dsd_const.dsd mem1d(base $out, length 4, stride 1)\n"
             "  %3 = vec add16, dest = dsd %2, src0 = dsd %0, src1 = dsd %1\n"
             "  %4 = global_addr $x + 2\n  %5 = load.i16 %4\n"
             "  %6 = dsd_set length %2, %5\n  %7 = dsd_set base_add %6, %5\n"
             "  %8 = vec add16, dest = dsd %7, src0 = dsd %7, src1 = dsd %1\n"
             "  %9 = global_addr $out + 8\n  %10 = vec mov16, dest = pointer %9, src1 = dsd %0\n"
             "  %11 = zext.i16 %10\n  %12 = global_addr $out + 10\n  store %12, %11\n"
             "  ret\n}\n",
        11, 22 + 10, 33 + 20, 44, 4, 1);
}

/* Bytes at odd addresses, of which the copying function knows nothing; and at even ones. */
static void test_odd_copies(void **state)
{
  (void)state;
  CHECK(HEAD "global $x bytes 16 align 1 type \"[16]u8\" keep {\n"
             "  data 0 \"000102030405060708090a0b0c0d0e0f\"\n}\n"
             "func @move(ptr, ptr) void {\nb0(%0: ptr, %1: ptr):\n"
             "  copy %0, %1, bytes 6\n  ret\n}\n"
             "func @clear(ptr) void {\nb0(%0: ptr):\n  zero %0, bytes 2\n  ret\n}\n"
             "func @main() void address_taken {\nb0:\n"
             "  %0 = global_addr $out\n  %1 = global_addr $x + 2\n  call @move(%0, %1)\n"
             "  %2 = global_addr $out + 7\n  %3 = global_addr $x + 9\n  call @move(%2, %3)\n"
             "  call @clear(%2)\n"
             "  %4 = global_addr $out + 14\n  %5 = global_addr $x + 1\n  call @move(%4, %5)\n"
             "  ret\n}\n",
        0x0302, 0x0504, 0x0706, 0x0000, 0x0b00, 0x0d0c, 0x000e, 0x0201, 0x0403, 0x0605);
}

/* More descriptors in a block than there are DSRs. */
static void test_many_descriptors(void **state)
{
  (void)state;
  char text[8000] = HEAD;
  size_t at = strlen(text);
  enum { N = 24 };
  at += (size_t)snprintf(text + at, sizeof text - at,
                         "global $x bytes 48 align 2 type \"\" keep {\n  data 0 \"");
  for (unsigned i = 0; i < N; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, "%02x01", i);
  at += (size_t)snprintf(text + at, sizeof text - at,
                         "\"\n}\nfunc @main() void address_taken {\nb0:\n");
  for (unsigned i = 0; i < N; i++)
    at += (size_t)snprintf(text + at, sizeof text - at,
                           "  %%%u = dsd_const.dsd mem1d(base $x + %u, length 1, stride 1)\n"
                           "  %%%u = dsd_const.dsd mem1d(base $out + %u, length 1, stride 1)\n"
                           "  %%%u = vec mov16, dest = dsd %%%u, src1 = dsd %%%u\n",
                           3 * i, 2 * i, 3 * i + 1, 2 * (N - 1 - i), 3 * i + 2, 3 * i + 1, 3 * i);
  snprintf(text + at, sizeof text - at, "  ret\n}\n");
  uint16_t words[N];
  run_words(text, words, N);
  for (unsigned i = 0; i < N; i++)
    assert_int_equal(words[i], 0x100 + N - 1 - i);
}

/* Descriptors as values: through memory, block arguments, calls and select. */
static void test_descriptors(void **state)
{
  (void)state;
  CHECK(HEAD "global $x bytes 16 align 2 type \"[8]u16\" keep {\n"
             "  data 0 \"01000200030004000500060007000800\"\n}\n"
             "global $d bytes 16 align 2 type \"mem1d_dsd\" keep\n"
             "func @next(dsd, i16) dsd {\nb0(%0: dsd, %1: i16):\n"
             "  %2 = dsd_set base_add %0, %1\n  ret %2\n}\n"
             "func @main() void address_taken {\nb0:\n"
             "  %0 = dsd_const.dsd mem1d(base $x, length 2, stride 1)\n"
             "  %1 = global_addr $d\n  store %1, %0\n"
             "  %2 = load.dsd %1\n  %3 = const.i16 2\n  %4 = dsd_set base_add %2, %3\n"
             "  store %1, %4\n"                       /* in place: x[1..2] */
             "  %5 = call.dsd @next(%4, %3)\n"        /* x[2..3] */
             "  %6 = dsd_const.dsd mem1d(base $out, length 2, stride 1)\n"
             "  %7 = vec mov16, dest = dsd %6, src1 = dsd %5\n"
             "  %8 = const.i16 0\n"
             "  br b1(%8, %0, %5)\n"
             "b1(%10: i16, %11: dsd, %12: dsd):\n"    /* the two descriptors change places */
             "  %13 = const.i16 1\n  %14 = add.i16 %10, %13\n  %15 = const.i16 3\n"
             "  %16 = slt %14, %15\n  cond_br %16, b1(%14, %12, %11), b2\n"
             "b2:\n"                                   /* twice: as before */
             "  %20 = const.i16 4\n  %21 = dsd_set base_add %6, %20\n"
             "  %22 = vec mov16, dest = dsd %21, src1 = dsd %11\n"
             "  %23 = load.dsd %1\n  %24 = select.dsd %16, %23, %12\n"
             "  %25 = dsd_set base_add %21, %20\n"
             "  %26 = vec mov16, dest = dsd %25, src1 = dsd %24\n"
             "  %27 = dsd_get.i16 length %25\n  %28 = global_addr $out + 12\n  store %28, %27\n"
             "  ret\n}\n",
        3, 4, 1, 2, 3, 4, 2);
}

static void test_long_integers(void **state)
{
  (void)state;
  CHECK(HEAD "global $in bytes 16 align 4 type \"[2]i64\" keep {\n"
             "  data 0 \"efcdab89674523010700000000000000\"\n}\n"
             "func @main() void address_taken {\nb0:\n"
             "  %0 = global_addr $in\n  %1 = load.i64 %0\n"
             "  %2 = global_addr $in + 8\n  %3 = load.i64 %2\n"
             "  %4 = mul.i64 %1, %3\n  %5 = global_addr $out\n  store %5, %4\n"
             "  %6 = udiv.i64 %4, %3\n  %7 = global_addr $out + 8\n  store %7, %6\n"
             "  %8 = const.i64 -1000\n  %9 = sdiv.i64 %8, %3\n  %10 = global_addr $out + 16\n"
             "  store %10, %9\n"
             "  %11 = srem.i64 %8, %3\n  %12 = global_addr $out + 24\n  store %12, %11\n"
             "  ret\n}\n",
        0xa189, 0xc3b2, 0xe5d4, 0x07f6, 0xcdef, 0x89ab, 0x4567, 0x0123,
        (uint16_t)-142, 0xffff, 0xffff, 0xffff, (uint16_t)-6, 0xffff, 0xffff, 0xffff);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_store),     cmocka_unit_test(test_loop),
    cmocka_unit_test(test_rotation),  cmocka_unit_test(test_arguments),
    cmocka_unit_test(test_pressure),  cmocka_unit_test(test_vector),
    cmocka_unit_test(test_descriptors), cmocka_unit_test(test_many_descriptors),
    cmocka_unit_test(test_odd_copies),  cmocka_unit_test(test_long_integers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
