/* The diagnostic engine: rendering, order, duplicates, the cap, rewinding, JSON, boxing. */
#include "ir/base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

/* A type of a layer's own, boxed by that layer with the help of its own data. */
typedef struct { uint32_t raw; } Kind;
static char prefix[] = "kind-";

#define DIAG_DEF "tests/unit/diag_test.def"
#include "ir/base/diag_rows.h"

static DiagArg box_kind(Diags *diags, Kind kind)
{
  const char *before = diags_context(diags);
  if (kind.raw == 0)
    return diag_arg_poison("what is in error");
  return diag_arg_text(arena_printf(diags_scratch(diags), "%s%u", before, kind.raw));
}

extern const DiagRow test_rows[];
extern const size_t test_rows_count;
#define DIAG_DEF "tests/unit/diag_test.def"
#define DIAG_DEFINE
#define DIAG_TABLE test_rows
#define DIAG_BOX_OWN Kind: box_kind,
#include "ir/base/diag_rows.h"

static const char text[] = "param n: i16;\n"
                           "\ty[i] = count;\n"
                           "const s = \"\303\251\303\251\" + bad;\r\n"
                           "last";

typedef struct {
  SourceMap *map;
  Diags *diags;
  uint32_t base;
  char *out;          /* of the last flush */
  size_t out_size;
} Fixture;

static int set_up(void **state)
{
  Fixture *f = base_malloc(sizeof *f);
  f->out = NULL;
  f->map = source_map_create();
  f->base = source_base(f->map, source_add(f->map, "pe.csl", text, strlen(text)));
  f->diags = diags_create(f->map);
  diags_set_context(f->diags, prefix);
  *state = f;
  return 0;
}

static int tear_down(void **state)
{
  Fixture *f = *state;
  diags_destroy(f->diags);
  source_map_destroy(f->map);
  free(f->out);
  free(f);
  return 0;
}

static Span span_of(const Fixture *f, const char *what)
{
  return (Span){f->base + (uint32_t)(strstr(text, what) - text), (uint32_t)strlen(what)};
}

static const char *flush(Fixture *f, DiagFormat format)
{
  free(f->out);
  f->out = NULL;
  FILE *stream = open_memstream(&f->out, &f->out_size);
  diags_flush(f->diags, stream, format);
  fclose(stream);
  return f->out;
}

static void assert_flushed(Fixture *f, const char *expected)
{
  assert_string_equal(flush(f, DIAG_FORMAT_TEXT), expected);
}

static void an_error_shows_its_line_and_notes(void **state)
{
  Fixture *f = *state;
  diag_t_name(f->diags, span_of(f, "count"), "count");
  diag_t_declared(f->diags, span_of(f, "n:"), "n");
  assert_flushed(f, "pe.csl:2:9: error: 'count' is not declared [t_name]\n"
                    "\ty[i] = count;\n"
                    "\t       ^~~~~\n"
                    "pe.csl:1:7: note: 'n' declared here\n");
  assert_flushed(f, "");
}

static void carets_count_characters_and_stop_at_the_line(void **state)
{
  Fixture *f = *state;
  Span bad = span_of(f, "bad");
  bad.len = 500;
  diag_t_plain(f->diags, bad);
  assert_flushed(f, "pe.csl:3:20: error: a plain error [t_plain]\n"
                    "const s = \"\303\251\303\251\" + bad;\n"
                    "                 ^~~~\n");
  diag_t_plain(f->diags, (Span){f->base + (uint32_t)strlen(text), 0});
  assert_flushed(f, "pe.csl:4:5: error: a plain error [t_plain]\n"
                    "last\n"
                    "    ^\n");
}

static void without_a_place_only_the_message(void **state)
{
  Fixture *f = *state;
  diag_t_plain(f->diags, (Span){0, 0});
  assert_flushed(f, "error: a plain error [t_plain]\n");
}

static void heads_are_sorted_and_keep_their_notes(void **state)
{
  Fixture *f = *state;
  diag_t_name(f->diags, span_of(f, "count"), "count");
  diag_t_declared(f->diags, span_of(f, "y["), "y");
  diag_t_two(f->diags, span_of(f, "param"), -3, 7);
  diag_t_declared(f->diags, span_of(f, "last"), "last");
  assert_flushed(f, "pe.csl:1:1: warning: -3 of 7 [t_two]\n"
                    "param n: i16;\n"
                    "^~~~~\n"
                    "pe.csl:4:1: note: 'last' declared here\n"
                    "pe.csl:2:9: error: 'count' is not declared [t_name]\n"
                    "\ty[i] = count;\n"
                    "\t       ^~~~~\n"
                    "pe.csl:2:2: note: 'y' declared here\n");
  assert_int_equal(diags_error_count(f->diags), 1);
  assert_int_equal(diags_warning_count(f->diags), 1);
}

static void duplicates_vanish_with_their_notes(void **state)
{
  Fixture *f = *state;
  for (int i = 0; i < 3; i++) {
    diag_t_name(f->diags, span_of(f, "last"), "last");
    diag_t_declared(f->diags, span_of(f, "n:"), "n");
  }
  diag_t_name(f->diags, span_of(f, "last"), "another");
  assert_int_equal(diags_error_count(f->diags), 2);
  assert_int_equal(diags_errors_met(f->diags), 4);
  assert_flushed(f, "pe.csl:4:1: error: 'last' is not declared [t_name]\n"
                    "last\n"
                    "^~~~\n"
                    "pe.csl:1:7: note: 'n' declared here\n"
                    "pe.csl:4:1: error: 'another' is not declared [t_name]\n"
                    "last\n"
                    "^~~~\n");
  diag_t_name(f->diags, span_of(f, "last"), "last");      /* known from before the flush */
  assert_flushed(f, "");
}

static size_t count_of(const char *needle, const char *hay)
{
  size_t n = 0;
  for (; (hay = strstr(hay, needle)); hay++)
    n++;
  return n;
}

/* As tiles do that show one mistake with different values. */
static void three_of_one_place_and_id_are_one_with_a_note(void **state)
{
  Fixture *f = *state;
  char name[16];
  diag_t_plain(f->diags, span_of(f, "last"));
  for (int i = 0; i < 30; i++) {
    snprintf(name, sizeof name, "v%d", i);
    diag_t_name(f->diags, span_of(f, "last"), name);
    diag_t_declared(f->diags, span_of(f, "n:"), name);
  }
  diag_t_two(f->diags, span_of(f, "param"), 1, 2);
  assert_int_equal(diags_error_count(f->diags), 31);
  assert_flushed(f, "pe.csl:1:1: warning: 1 of 2 [t_two]\n"
                    "param n: i16;\n"
                    "^~~~~\n"
                    "pe.csl:4:1: error: a plain error [t_plain]\n"
                    "last\n"
                    "^~~~\n"
                    "pe.csl:4:1: error: 'v0' is not declared [t_name]\n"
                    "last\n"
                    "^~~~\n"
                    "pe.csl:1:7: note: 'v0' declared here\n"
                    "pe.csl:4:1: note: 29 more like it here; the last one: 'v29' is not declared\n");
}

static void three_of_one_place_and_id_are_one_in_json(void **state)
{
  Fixture *f = *state;
  char name[16];
  for (int i = 0; i < 3; i++) {
    snprintf(name, sizeof name, "v%d", i);
    diag_t_name(f->diags, span_of(f, "last"), name);
  }
  json_t *head = json_loads(flush(f, DIAG_FORMAT_JSON), 0, NULL);
  assert_non_null(head);
  const json_t *note = json_array_get(json_object_get(head, "notes"), 0);
  assert_string_equal(json_string_value(json_object_get(note, "id")), "like_this");
  assert_string_equal(json_string_value(json_object_get(note, "message")),
                      "2 more like it here; the last one: 'v2' is not declared");
  json_decref(head);
}

/* Errors at places of their own. */
static void report_in_a_row(Fixture *f, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++)
    diag_t_plain(f->diags, (Span){f->base + i, 1});
}

static void twenty_errors_are_enough(void **state)
{
  Fixture *f = *state;
  report_in_a_row(f, 30);
  assert_int_equal(diags_error_count(f->diags), 30);
  const char *out = flush(f, DIAG_FORMAT_TEXT);
  assert_int_equal(count_of("[t_plain]", out), 20);
  assert_int_equal(count_of("too many errors", out), 1);
  diag_t_plain(f->diags, span_of(f, "last"));
  assert_flushed(f, "");
}

static void exactly_twenty_errors_are_not_too_many(void **state)
{
  Fixture *f = *state;
  report_in_a_row(f, 20);
  const char *out = flush(f, DIAG_FORMAT_TEXT);
  assert_int_equal(count_of("[t_plain]", out), 20);
  assert_null(strstr(out, "too many"));
}

static void warnings_can_be_errors(void **state)
{
  Fixture *f = *state;
  diags_warnings_are_errors(f->diags, true);
  diag_t_two(f->diags, (Span){0, 0}, 1, 2);
  assert_int_equal(diags_error_count(f->diags), 1);
  assert_int_equal(diags_warning_count(f->diags), 0);
  assert_flushed(f, "error: 1 of 2 [t_two]\n");
}

static void rewinding_forgets(void **state)
{
  Fixture *f = *state;
  diag_t_plain(f->diags, (Span){0, 0});
  size_t mark = diags_mark(f->diags);
  diag_t_name(f->diags, span_of(f, "last"), "x");
  diag_t_declared(f->diags, span_of(f, "last"), "x");
  diag_t_two(f->diags, (Span){0, 0}, 1, 2);
  diags_rewind(f->diags, mark);
  assert_int_equal(diags_error_count(f->diags), 1);
  assert_int_equal(diags_warning_count(f->diags), 0);
  assert_flushed(f, "error: a plain error [t_plain]\n");
  diags_rewind(f->diags, 0);                         /* what is printed stays */
  assert_int_equal(diags_error_count(f->diags), 1);
  diag_t_name(f->diags, (Span){0, 0}, "x");          /* no duplicate: it was forgotten */
  assert_flushed(f, "error: 'x' is not declared [t_name]\n");
}

static void rewinding_forgets_repeats_of_what_is_forgotten(void **state)
{
  Fixture *f = *state;
  diag_t_plain(f->diags, (Span){0, 0});
  diag_t_plain(f->diags, (Span){0, 0});
  assert_int_equal(diags_errors_met(f->diags), 2);
  diags_rewind(f->diags, 0);
  assert_int_equal(diags_errors_met(f->diags), 0);
}

static void arguments_are_boxed_by_type(void **state)
{
  Fixture *f = *state;
  char own[] = "own";
  diag_t_three(f->diags, (Span){0, 0}, (Kind){7}, INT64_MIN, UINT64_MAX);
  diag_t_four(f->diags, (Span){0, 0}, own, -5, 4000000000u, (Kind){9});
  assert_flushed(f, "error: kind-7, -9223372036854775808, 18446744073709551615 [t_three]\n"
                    "error: own -5 4000000000 kind-9 [t_four]\n");
  assert_int_equal(test_rows_count, 6);
  assert_string_equal(test_rows[1].id, "t_name");
  assert_int_equal(test_rows[2].severity, SEV_WARNING);
}

static void braces_in_arguments_stay(void **state)
{
  Fixture *f = *state;
  diag_t_name(f->diags, (Span){0, 0}, ".{} {}");
  assert_flushed(f, "error: '.{} {}' is not declared [t_name]\n");
}

static void json_is_one_object_a_line(void **state)
{
  Fixture *f = *state;
  diag_t_name(f->diags, span_of(f, "count"), "a \"quoted\" \xff name");
  diag_t_declared(f->diags, span_of(f, "n:"), "n");
  diag_t_plain(f->diags, (Span){0, 0});
  const char *out = flush(f, DIAG_FORMAT_JSON);
  assert_int_equal(count_of("\n", out), 2);
  json_error_t error;
  json_t *first = json_loads(out, JSON_DISABLE_EOF_CHECK, &error);
  assert_non_null(first);
  assert_int_equal(json_integer_value(json_object_get(first, "line")), 0);
  json_decref(first);
  json_t *second = json_loads(strchr(out, '\n') + 1, 0, &error);
  assert_non_null(second);
  assert_string_equal(json_string_value(json_object_get(second, "file")), "pe.csl");
  assert_int_equal(json_integer_value(json_object_get(second, "line")), 2);
  assert_int_equal(json_integer_value(json_object_get(second, "col")), 9);
  assert_int_equal(json_integer_value(json_object_get(second, "length")), 5);
  assert_string_equal(json_string_value(json_object_get(second, "severity")), "error");
  assert_string_equal(json_string_value(json_object_get(second, "id")), "t_name");
  assert_string_equal(json_string_value(json_object_get(second, "message")),
                      "'a \"quoted\" ? name' is not declared");
  const json_t *note = json_array_get(json_object_get(second, "notes"), 0);
  assert_string_equal(json_string_value(json_object_get(note, "severity")), "note");
  assert_int_equal(json_integer_value(json_object_get(note, "col")), 7);
  json_decref(second);
}

static void what_is_in_error_already_is_silent(void **state)
{
  Fixture *f = *state;
  diag_t_three(f->diags, (Span){0, 0}, (Kind){0}, 1, 2);   /* nothing to follow from: shown */
  assert_flushed(f, "error: what is in error, 1, 2 [t_three]\n");
  diag_t_three(f->diags, (Span){0, 0}, (Kind){0}, 3, 4);
  diag_t_declared(f->diags, (Span){0, 0}, "x");
  assert_int_equal(diags_error_count(f->diags), 1);
  assert_flushed(f, "");
}

static void add_place(Diags *diags, void *data)
{
  diag_t_declared(diags, (Span){0, 0}, data);
}

static void context_stands_below_the_other_notes(void **state)
{
  Fixture *f = *state;
  char place[] = "place";
  diags_set_hook(f->diags, add_place, place);
  assert_ptr_equal(diags_hook_data(f->diags), place);
  diag_t_plain(f->diags, (Span){0, 0});
  diag_t_declared(f->diags, (Span){0, 0}, "x");
  diag_t_plain(f->diags, (Span){0, 0});                    /* a duplicate has no context */
  diags_set_hook(f->diags, NULL, NULL);
  diag_t_name(f->diags, (Span){0, 0}, "z");
  assert_flushed(f, "error: a plain error [t_plain]\n"
                    "note: 'x' declared here\n"
                    "note: 'place' declared here\n"
                    "error: 'z' is not declared [t_name]\n");
}

static void a_fix_is_part_of_what_was_recorded_last(void **state)
{
  Fixture *f = *state;
  char place[] = "place";
  diags_set_hook(f->diags, add_place, place);
  diag_t_name(f->diags, span_of(f, "count"), "count");
  diags_fix(f->diags, span_of(f, "count"), "n");
  json_t *head = json_loads(flush(f, DIAG_FORMAT_JSON), 0, NULL);
  assert_non_null(head);
  const json_t *fix = json_object_get(head, "fix");
  assert_string_equal(json_string_value(json_object_get(fix, "text")), "n");
  assert_int_equal(json_integer_value(json_object_get(fix, "line")), 2);
  assert_int_equal(json_integer_value(json_object_get(fix, "col")), 9);
  assert_int_equal(json_integer_value(json_object_get(fix, "end_line")), 2);
  assert_int_equal(json_integer_value(json_object_get(fix, "end_col")), 14);
  assert_null(json_object_get(json_array_get(json_object_get(head, "notes"), 0), "fix"));
  json_decref(head);
}

static void long_lines_show_a_window(void **state)
{
  Fixture *f = *state;
  size_t length = 100000;
  char *line = base_malloc(length);
  memset(line, 'a', length);
  line[50000] = 'B';
  FileId file = source_add(f->map, "long.csl", line, length);
  free(line);
  diag_t_plain(f->diags, (Span){source_base(f->map, file) + 50000, 1});
  const char *out = flush(f, DIAG_FORMAT_TEXT);
  assert_true(strlen(out) < 600);
  const char *shown = strchr(out, '\n') + 1, *caret = strchr(shown, '\n') + 1;
  assert_int_equal(strchr(shown, 'B') - shown, strchr(caret, '^') - caret);
}

static void control_bytes_are_not_printed(void **state)
{
  Fixture *f = *state;
  FileId file = source_add(f->map, "esc.csl", "a\033[2Jb", 6);
  diag_t_plain(f->diags, (Span){source_base(f->map, file), 1});
  assert_flushed(f, "esc.csl:1:1: error: a plain error [t_plain]\n"
                    "a?[2Jb\n"
                    "^\n");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
    TEST(an_error_shows_its_line_and_notes),
    TEST(carets_count_characters_and_stop_at_the_line),
    TEST(without_a_place_only_the_message),
    TEST(heads_are_sorted_and_keep_their_notes),
    TEST(duplicates_vanish_with_their_notes),
    TEST(three_of_one_place_and_id_are_one_with_a_note),
    TEST(three_of_one_place_and_id_are_one_in_json),
    TEST(twenty_errors_are_enough),
    TEST(exactly_twenty_errors_are_not_too_many),
    TEST(warnings_can_be_errors),
    TEST(rewinding_forgets),
    TEST(rewinding_forgets_repeats_of_what_is_forgotten),
    TEST(arguments_are_boxed_by_type),
    TEST(braces_in_arguments_stay),
    TEST(json_is_one_object_a_line),
    TEST(what_is_in_error_already_is_silent),
    TEST(context_stands_below_the_other_notes),
    TEST(a_fix_is_part_of_what_was_recorded_last),
    TEST(long_lines_show_a_window),
    TEST(control_bytes_are_not_printed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
