/* Golden assembly: tests/golden/asm/NAME.ir is compiled and its listing and map compared with
 * NAME.golden.  With WSE_UPDATE_GOLDEN=1 the golden files are rewritten instead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>

#include "tests/codegen_harness.h"

static char *listing(const char *path)
{
  Run r;
  size_t length, size;
  char *out_text = NULL, *text = file_read_all(path, &length);
  if (!text)
    fail_msg("cannot read %s", path);
  run_create(&r);
  IrModule *m = run_read(&r, text);
  free(text);
  if (!m)
    fail_msg("%s: %s", path, r.messages);
  const char *invalid = ir_verify(m, r.arena);
  if (invalid)
    fail_msg("%s: %s", path, invalid);
  if (!run_compile(&r, m, 1))
    fail_msg("%s: %s", path, r.messages);
  FILE *out = open_memstream(&out_text, &size);
  codegen_print_asm(&r.result, out);
  fprintf(out, "\n");
  codegen_print_map(&r.result, out);
  fclose(out);
  run_destroy(&r);
  return out_text;
}

static void check_file(const char *name)
{
  char path[512], golden[512];
  size_t length;
  snprintf(path, sizeof path, "%s/asm/%s", GOLDEN_DIR, name);
  snprintf(golden, sizeof golden, "%.*s.golden", (int)(strlen(path) - strlen(".ir")), path);
  char *found = listing(path);
  const char *update = getenv("WSE_UPDATE_GOLDEN");
  if (update && strcmp(update, "1") == 0)
    assert_true(file_write_all(golden, found, strlen(found)));
  char *wanted = file_read_all(golden, &length);
  if (!wanted)
    fail_msg("%s is missing", golden);
  if (strcmp(found, wanted) != 0) {
    size_t at = 0, line = 1;
    for (; found[at] == wanted[at]; at++)
      line += found[at] == '\n';
    fail_msg("%s differs in line %zu:\n%.300s", golden, line, found + at);
  }
  free(found);
  free(wanted);
}

static void test_golden(void **state)
{
  (void)state;
  DIR *folder = opendir(GOLDEN_DIR "/asm");
  unsigned n = 0;
  assert_non_null(folder);
  for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
    size_t length = strlen(entry->d_name);
    if (length > 3 && strcmp(entry->d_name + length - 3, ".ir") == 0) {
      check_file(entry->d_name);
      n++;
    }
  }
  closedir(folder);
  assert_true(n >= 3);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
