/* The joined offset space: files, lines and columns. */
#include "ir/base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char first_text[] = "var x: i16;\n\nfn f() void {}\n";
static const char second_text[] = "no newline at the end";

static SourceMap *two_files(FileId *a, FileId *b)
{
  SourceMap *map = source_map_create();
  *a = source_add(map, "dir/a.csl", first_text, strlen(first_text));
  *b = source_add(map, "b.csl", second_text, strlen(second_text));
  return map;
}

static void assert_place(const SourceMap *map, uint32_t off, const char *path, uint32_t line,
                         uint32_t column)
{
  SourceLoc loc = source_locate(map, off);
  assert_string_equal(loc.path, path);
  assert_int_equal(loc.line, line);
  assert_int_equal(loc.column, column);
}

static void every_offset_has_its_line_and_column(void **state)
{
  (void)state;
  FileId a, b;
  SourceMap *map = two_files(&a, &b);
  uint32_t line = 1, column = 1, base = source_base(map, a);
  for (uint32_t i = 0; i <= strlen(first_text); i++) {
    assert_place(map, base + i, "dir/a.csl", line, column);
    column++;
    if (first_text[i] == '\n') {
      line++;
      column = 1;
    }
  }
  source_map_destroy(map);
}

static void files_do_not_touch(void **state)
{
  (void)state;
  FileId a, b;
  SourceMap *map = two_files(&a, &b);
  assert_int_equal(source_base(map, a), 1);
  uint32_t end_of_first = source_base(map, a) + (uint32_t)strlen(first_text);
  assert_int_equal(source_file_of(map, end_of_first).raw, a.raw);
  assert_int_equal(source_base(map, b), end_of_first + 1);
  assert_place(map, end_of_first, "dir/a.csl", 4, 1);
  assert_place(map, end_of_first + 1, "b.csl", 1, 1);
  uint32_t end = source_base(map, b) + (uint32_t)strlen(second_text);
  assert_place(map, end, "b.csl", 1, (uint32_t)strlen(second_text) + 1);
  assert_int_equal(source_file_of(map, end + 1).raw, 0);
  source_map_destroy(map);
}

static void no_place_is_no_place(void **state)
{
  (void)state;
  FileId a, b;
  SourceMap *map = two_files(&a, &b);
  size_t length = 99;
  assert_int_equal(source_file_of(map, 0).raw, 0);
  assert_place(map, 0, "", 0, 0);
  source_line(map, 0, &length);
  assert_int_equal(length, 0);
  source_map_destroy(map);
}

static void lines_come_without_their_newline(void **state)
{
  (void)state;
  FileId a, b;
  SourceMap *map = two_files(&a, &b);
  size_t length;
  const char *line = source_line(map, source_base(map, a) + 14, &length);
  assert_int_equal(length, strlen("fn f() void {}"));
  assert_memory_equal(line, "fn f() void {}", length);
  source_line(map, source_base(map, a) + 12, &length);
  assert_int_equal(length, 0);
  line = source_line(map, source_base(map, b) + 3, &length);
  assert_memory_equal(line, second_text, strlen(second_text));
  assert_int_equal(length, strlen(second_text));
  source_map_destroy(map);
}

static void texts_are_copied(void **state)
{
  (void)state;
  char text[] = "abc";
  SourceMap *map = source_map_create();
  FileId empty = source_add(map, "empty", "", 0), file = source_add(map, "t", text, 3);
  text[0] = 'x';
  size_t length;
  assert_string_equal(source_text(map, file, &length), "abc");
  assert_int_equal(length, 3);
  assert_string_equal(source_path(map, empty), "empty");
  assert_place(map, source_base(map, empty), "empty", 1, 1);
  source_map_destroy(map);
}

static void spans_join(void **state)
{
  (void)state;
  Span joined = span_join((Span){10, 4}, (Span){20, 2});
  assert_int_equal(joined.off, 10);
  assert_int_equal(joined.len, 12);
  joined = span_join((Span){20, 2}, (Span){10, 30});
  assert_int_equal(joined.off, 10);
  assert_int_equal(joined.len, 30);
  joined = span_join((Span){0, 0}, (Span){7, 1});
  assert_int_equal(joined.off, 7);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_offset_has_its_line_and_column),
    cmocka_unit_test(files_do_not_touch),
    cmocka_unit_test(no_place_is_no_place),
    cmocka_unit_test(lines_come_without_their_newline),
    cmocka_unit_test(texts_are_copied),
    cmocka_unit_test(spans_join),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
