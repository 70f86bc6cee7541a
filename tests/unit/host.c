/* The host's side of the emulator in small: values as text, array files, the words of commands,
 * the regions of transfers, and an image that can be read but not run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "emu/explain/explain.h"
#include "emu/host/host.h"
#include "tests/image_sample.h"

static void expect_text(char element_class, unsigned bytes, uint64_t bits, const char *expected)
{
  char text[32];
  element_format(element_class, bytes, FP16_F16, bits, text);
  assert_string_equal(text, expected);
}

static void values_print(void **state)
{
  (void)state;
  expect_text('i', 2, 0xffff, "-1");
  expect_text('i', 2, 0x12345678 & 0xffff, "22136");
  expect_text('u', 2, 0xffff, "65535");
  expect_text('i', 4, 0x80000000, "-2147483648");
  expect_text('u', 4, 0x80000000, "2147483648");
  expect_text('i', 8, UINT64_C(0x8000000000000000), "-9223372036854775808");
  expect_text('u', 8, UINT64_C(0x123456789abcdef0), "1311768467463790320");
  expect_text('b', 1, 1, "1");
  expect_text('f', 4, 0x42280000, "42");
  expect_text('f', 4, 0x3dcccccd, "0.1");
  expect_text('f', 4, 0x3eaaaaab, "0.33333334");
  expect_text('f', 4, 0x7f800000, "inf");
  expect_text('f', 4, 0xff800000, "-inf");
  expect_text('f', 4, 0x7fc00000, "nan");
  expect_text('f', 2, 0x7bff, "65504");
  expect_text('f', 2, 0x2e66, "0.099976");
}

static ElementType element_type(char element_class, unsigned bytes)
{
  return (ElementType){.element_class = element_class, .bytes = (uint8_t)bytes,
                       .bits = (uint8_t)(8 * bytes)};
}

/* Every f16 and a spread of f32 come back from their text. */
static void floats_survive_text(void **state)
{
  (void)state;
  char text[32];
  uint64_t bits;
  for (unsigned format = 0; format < FP16_COUNT; format++) {
    for (uint32_t i = 0; i < 0x10000; i++) {
      double value = fp16_to_double((Fp16Format)format, (uint16_t)i);
      if (value != value)
        continue;
      element_format('f', 2, (Fp16Format)format, i, text);
      assert_true(element_parse(text, strlen(text), element_type('f', 2), (Fp16Format)format,
                                &bits));
      assert_int_equal(bits, i);
    }
  }
  for (uint32_t i = 0; i < 0xff000000; i += 1000003) {
    if (fp32_to_double(i) != fp32_to_double(i))
      continue;
    element_format('f', 4, FP16_F16, i, text);
    assert_true(element_parse(text, strlen(text), element_type('f', 4), FP16_F16, &bits));
    assert_int_equal(bits, i);
  }
}

static bool parses(const char *text, char element_class, unsigned bytes)
{
  uint64_t bits;
  return element_parse(text, strlen(text), element_type(element_class, bytes), FP16_F16, &bits);
}

static void values_are_checked(void **state)
{
  (void)state;
  assert_true(parses("-32768", 'i', 2) && !parses("-32769", 'i', 2));
  assert_true(parses("65535", 'u', 2) && !parses("65536", 'u', 2) && !parses("-1", 'u', 2));
  assert_true(parses(" 0x7f ", 'i', 2) && parses("4294967295", 'u', 4));
  assert_true(parses("true", 'b', 1) && parses("0", 'b', 1) && !parses("2", 'b', 1));
  assert_true(parses("-1e-3", 'f', 4) && parses("inf", 'f', 2));
  assert_false(parses("", 'f', 4) || parses("1.5", 'i', 2) || parses("1x", 'f', 4));
  assert_true(parses("+5", 'i', 2) && parses("-0x10", 'i', 2) && parses("-0", 'u', 2));
  assert_false(parses("-+5", 'i', 2) || parses("- 5", 'i', 2) || parses("+-5", 'i', 2));
  assert_false(parses("\t5", 'i', 2) || parses("0x", 'i', 2) || parses("0x-5", 'i', 2));
  assert_false(parses("99999999999999999999", 'u', 4) || parses("12 3", 'i', 4));
}

static void commands(void **state)
{
  (void)state;
  uint32_t words[COMMAND_WORDS];
  host_command(COMMAND_READ_16, 0x1234, 7, COMMAND_FOLLOW_POINTER, words);
  assert_int_equal(words[0], 0x12340004);
  assert_int_equal(words[1], 0x00010007);
}

static void regions(void **state)
{
  (void)state;
  Image image = {.width = 10, .height = 10};
  Program program = {.image = &image};
  WseTransfer t = {.x = 1, .y = 2, .width = 5, .height = 4, .x_step = 2, .y_step = 3,
                   .elements = 7};
  static const uint32_t expected[] = {21, 23, 25, 51, 53, 55};
  HostTiles tiles = host_tiles(&t);
  uint32_t tile;
  for (unsigned i = 0; i < ARRAY_COUNT(expected); i++) {
    assert_true(host_tiles_next(&tiles, &program, &tile));
    assert_int_equal(tile, expected[i]);
  }
  assert_false(host_tiles_next(&tiles, &program, &tile));
  assert_int_equal(wse_transfer_words(&t), 6 * 7);
  t.height = 0;
  tiles = host_tiles(&t);
  assert_false(host_tiles_next(&tiles, &program, &tile));
}

static void scratch_path(char path[64])
{
  strcpy(path, "/tmp/host_test_XXXXXX");
  int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
}

static void arrays(void **state)
{
  (void)state;
  char path[64], why[128];
  uint8_t data[24];
  for (unsigned i = 0; i < sizeof data; i++)
    data[i] = (uint8_t)(i * 11);
  NpyArray array = {.kind = 'i', .bytes = 2, .n_dims = 3, .shape = {2, 3, 2}, .data = data}, back;
  scratch_path(path);
  assert_true(npy_write(path, &array));
  assert_true(npy_read(path, 1 << 20, &back, why, sizeof why));
  assert_int_equal(back.kind, 'i');
  assert_int_equal(back.bytes, 2);
  assert_int_equal(back.n_dims, 3);
  assert_int_equal(back.count, 12);
  assert_memory_equal(back.data, data, sizeof data);
  npy_free(&back);
  unlink(path);
  assert_false(npy_read(path, 1 << 20, &back, why, sizeof why));
}

/* An image that the reader accepts but whose stack lies below its code: image_cannot_run. */
static void unrunnable_image(void **state)
{
  (void)state;
  static Sample sample;
  char path[64];
  size_t length;
  (void)sample_seal;
  sample_make(&sample);
  for (unsigned i = 0; i < SAMPLE_CLASSES; i++) {
    sample.classes[i].stack_top = SAMPLE_CODE_AT;
    sample.classes[i].stack_bytes = (uint16_t)(SAMPLE_CODE_AT - sample.classes[i].static_bytes);
  }
  uint8_t *bytes = image_write(&sample.image, &length);
  scratch_path(path);
  assert_true(file_write_all(path, bytes, length));
  free(bytes);
  HostSession *session = session_create();
  assert_int_equal(session_open(session, path, &(SessionOptions){0}), WSE_USAGE);
  assert_non_null(strstr(session_error(session)->message, "[image_cannot_run]"));
  session_close(session);
  unlink(path);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(values_print),       cmocka_unit_test(floats_survive_text),
    cmocka_unit_test(values_are_checked), cmocka_unit_test(commands),
    cmocka_unit_test(regions),            cmocka_unit_test(arrays),
    cmocka_unit_test(unrunnable_image),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
