/* The short form of the fuzz target tests/fuzz/host.c: random calls of libwse in random order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/host_calls.h"
#include "tests/host_programs.h"

enum { RUNS = 150, BYTES = 1200 };

static void compile_to(const char *layout, const char *arch, bool memcpy, char path[64])
{
  strcpy(path, "/tmp/host_calls_XXXXXX.bin");
  int file = mkstemps(path, 4);
  assert_true(file >= 0);
  close(file);
  host_program_compile(layout, arch, memcpy, path);
}

static void random_calls(void **state)
{
  (void)state;
  char with[64], older[64], plain[64];
  uint8_t data[BYTES];
  uint64_t random = 1, succeeded = 0;
  compile_to("layout.csl", "wse3", true, with);
  compile_to("layout.csl", "wse2", true, older);
  compile_to("plain_layout.csl", "wse3", false, plain);
  const char *const images[CALL_IMAGES] = {with, older, plain, "/dev/null"};
  for (unsigned run = 0; run < RUNS; run++) {
    for (unsigned i = 0; i < BYTES; i++) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      data[i] = (uint8_t)(random >> 56);
    }
    succeeded += calls_run(data, BYTES, images);
  }
  assert_true(succeeded > 10 * RUNS);     /* or nothing has been tried */
  print_message("%u calls succeeded\n", (unsigned)succeeded);
  unlink(with);
  unlink(older);
  unlink(plain);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
