/* The text form of the IR: what is printed reads back and prints the same; bad text gets located
 * diagnostics and never a module; the verifier's refusals. */
#include "ir/ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
  Arena *arena;
  SourceMap *sources;
  Diags *diags;
  char *messages;
} Fixture;

static int set_up(void **state)
{
  Fixture *x = base_malloc(sizeof *x);
  x->arena = arena_create("test");
  x->sources = source_map_create();
  x->diags = diags_create(x->sources);
  x->messages = NULL;
  *state = x;
  return 0;
}

static int tear_down(void **state)
{
  Fixture *x = *state;
  free(x->messages);
  diags_destroy(x->diags);
  source_map_destroy(x->sources);
  arena_destroy(x->arena);
  free(x);
  return 0;
}

static IrModule *read_text(Fixture *x, const char *text)
{
  size_t size;
  FileId file = source_add(x->sources, "t.ir", text, strlen(text));
  IrModule *m = ir_read(x->arena, x->sources, file, x->diags);
  free(x->messages);
  FILE *out = open_memstream(&x->messages, &size);
  diags_flush(x->diags, out, DIAG_FORMAT_TEXT);
  fclose(out);
  return m;
}

static char *print_text(const IrModule *m, bool locs)
{
  char *text;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  ir_print_with(m, &(IrPrintOptions){.locs = locs}, out);
  fclose(out);
  return text;
}

static void check_round_trip(Fixture *x, const char *text, bool locs)
{
  IrModule *m = read_text(x, text);
  if (!m)
    fail_msg("%s", x->messages);
  char *once = print_text(m, locs);
  IrModule *again = read_text(x, once);
  if (!again)
    fail_msg("%s\n%s", x->messages, once);
  char *twice = print_text(again, locs);
  assert_string_equal(once, twice);
  free(once);
  free(twice);
}

static char *everything(void)
{
  size_t length;
  char *text = file_read_all(GOLDEN_DIR "/ir/everything.ir", &length);
  assert_non_null(text);
  return text;
}

static void everything_prints_as_it_was_read(void **state)
{
  Fixture *x = *state;
  char *text = everything();
  IrModule *m = read_text(x, text);
  if (!m)
    fail_msg("%s", x->messages);
  char *printed = print_text(m, false);
  assert_string_equal(printed, strchr(text, '\n') + 1);   /* all but the first, a comment */
  free(printed);
  free(text);
}

/* The file stands for the form only as long as it holds every operation. */
static void every_operation_is_in_the_file(void **state)
{
  (void)state;
  char *text = everything();
  for (int op = 0; op < IR_OP_COUNT; op++) {
    char word[64];
    snprintf(word, sizeof word, " %s", ir_ops[op].name);
    const char *at = text;
    bool found = false;
    while (!found && (at = strstr(at, word))) {
      at += strlen(word);
      found = strchr(". \n", *at) != NULL;
    }
    if (!found)
      fail_msg("operation %s is not in everything.ir", ir_ops[op].name);
  }
  free(text);
}

/* Does the page have a row that starts so? */
static bool page_has(const char *page, const char *row)
{
  const char *at = strstr(page, row);
  return at && (at == page || at[-1] == '\n');
}

static const char *effect_names(unsigned effects, char *text)
{
  static const struct { unsigned bit; const char *name; } names[] = {
    {IRE_READS, "READS"}, {IRE_WRITES, "WRITES"}, {IRE_TERM, "TERM"},
    {IRE_SIDE, "SIDE"},   {IRE_STALLS, "STALLS"}, {IRE_COMMUTES, "COMMUTES"}};
  strcpy(text, effects & ~(unsigned)IRE_COMMUTES ? "" : "PURE");
  for (size_t i = 0; i < ARRAY_COUNT(names); i++)
    if (effects & names[i].bit)
      strcat(strcat(text, *text ? " " : ""), names[i].name);
  return text;
}

static void the_page_lists_operations_and_passes(void **state)
{
  static const char *const rules[] = {
#define IR_OP(name, operands, result, effects) #operands,
#include "ir/ops.def"
  };
  static const char *const results[] = {"EXPLICIT", "VOID", "BOOL", "PTR", "DSD"};
  char row[128], effects[64];
  const char *text;
  size_t length;
  (void)state;
  char *page = file_read_all(GOLDEN_DIR "/../../docs/ir.md", &length);
  assert_non_null(page);
  for (int op = 0; op < IR_OP_COUNT; op++) {
    snprintf(row, sizeof row, "| `%s` | %s | %s | %s |", ir_ops[op].name, rules[op],
             results[ir_ops[op].result_rule], effect_names(ir_ops[op].effects, effects));
    if (!page_has(page, row))
      fail_msg("docs/ir.md has no row %s", row);
  }
  for (size_t i = 0; ir_pass_name(i, &text); i++) {
    snprintf(row, sizeof row, "| `%s` | %s |", ir_pass_name(i, &text), text);
    if (!page_has(page, row))
      fail_msg("docs/ir.md has no row %s", row);
  }
  free(page);
}

static void locations_survive(void **state)
{
  check_round_trip(*state,
                   "module wse2 bf16 \"a b\\x01\\\"\"\n"
                   "loc 1 100 5 \"f\"\nloc 2 7 1 at 1\n"
                   "global $g bytes 2 align 2 !2\n"
                   "func @f() void !1 {\nb0:\n  %0 = const.f32 !2 0x3f800000\n"
                   "  %1 = const.i16 4 !1\n  ret !2\n}\n",
                   true);
}

/* Names that clash get a suffix, values numbers in print order. */
static void printing_does_not_depend_on_numbers(void **state)
{
  Fixture *x = *state;
  IrModule *m = ir_module_create(x->arena, ARCH_WSE3, FP16_F16);
  ir_global_add(m, "s", 2, 2);
  IrGlobalId second = ir_global_add(m, "s", 2, 2);
  IrFuncId f = ir_func_add(m, "f", IRT_I16, NULL, 0);
  IrBuilder b = {.module = m, .func = f, .block = {0}};
  IrValue unused = ir_const(&b, IRT_I16, 3);
  ir_block_add(m, f);                            /* removed: has no instruction */
  IrBlockId last = ir_block_add(m, f);
  IrValue p = ir_block_param(m, f, last, IRT_I16);
  IrValue v = ir_load(&b, IRT_I16, ir_global_addr(&b, second, -2));
  ir_alloca(&b, 4, 2);
  ir_br(&b, last, &v, 1);
  b.block = last;
  ir_ret(&b, p);
  (void)unused;
  char *text = print_text(m, false);
  assert_null(ir_verify(m, x->arena));
  assert_string_equal(text, "module wse3 f16 \"\"\n"
                            "global $s bytes 2 align 2\n"
                            "global $\"s#2\" bytes 2 align 2\n"
                            "\nfunc @f() i16 {\n"
                            "b0:\n"
                            "  %0 = alloca 4 align 2\n"
                            "  %1 = const.i16 3\n"
                            "  %2 = global_addr $\"s#2\" - 2\n"
                            "  %3 = load.i16 %2\n"
                            "  br b1(%3)\n"
                            "b1(%4: i16):\n"
                            "  ret %4\n"
                            "}\n");
  check_round_trip(x, text, false);
  free(text);
}

/* ---- bad text ---------------------------------------------------------------------- */

#define HEAD "module wse3 f16 \"m\"\n"
#define BODY(text) HEAD "func @f(i16) i16 {\nb0(%0: i16):\n" text "\n}\n"

static const struct { const char *text, *message; } bad[] = {
  {"", "t.ir:1:1: error: a module starts with"},
  {"module wse9 f16 \"m\"\n", "[ir_no_module]"},
  {HEAD "glbal $x bytes 2 align 2\n", "t.ir:2:1: error: no statement is named 'glbal'"},
  {HEAD "glbal $x bytes 2 align 2\n", "did you mean 'global'?"},
  {HEAD "global $x bytes two align 2\n", "t.ir:2:17: error: expected a size in bytes"},
  {HEAD "global $x bytes 2 align 2\nglobal $x bytes 2 align 2\n", "3:8: error: global x is"},
  {HEAD "global $x bytes 2 align 3\n", "[ir_invalid]"},
  {HEAD "global $x bytes 2 align 2 {\n  data 0 \"010203\"\n}\n", "is 3; the most is 2"},
  {HEAD "global $x bytes 2 align 2 {\n  data 0 \"01z\"\n}\n", "[ir_data_digits]"},
  {HEAD "global $x bytes 99999999999 align 2\n", "[ir_out_of_range]"},
  {HEAD "global $x bytes 99999999999999999999999 align 2\n", "[ir_big_number]"},
  {HEAD "task local 8 @f arguments 0\n", "2:14: error: function f is used but not defined"},
  {HEAD "color 24 \"x\"\n", "2:7: error: a color is 24; the most is 23"},
  {HEAD "color 2 \"x\n", "2:9: error: this text does not end"},
  {HEAD "color 2 \"\\q\"\n", "[ir_bad_escape]"},
  {HEAD "color 2 \"x\" ^\n", "[ir_bad_character]"},
  {HEAD "func @f() void {\nb0:\n  ret\n", "error: expected '}', found the end of the file"},
  {HEAD "func @f() void {\n  ret\n}\n", "[ir_no_block]"},
  {BODY("  ret %0, %0"), "ret returns 2 values"},
  {BODY("  %1 = addd.i16 %0, %0\n  ret %1"), "4:8: error: no operation is named 'addd'"},
  {BODY("  %1 = addd.i16 %0, %0\n  ret %1"), "did you mean 'add'?"},
  {BODY("  %1 = add.i61 %0, %0\n  ret %1"), "no type is named 'i61'"},
  {BODY("  %1 = add %0, %0\n  ret %1"), "[ir_no_suffix]"},
  {BODY("  %1 = eq.i16 %0, %0\n  ret %0"), "[ir_suffix]"},
  {BODY("  %1 = store %0, %0\n  ret %0"), "[ir_no_result]"},
  {BODY("  add.i16 %0, %0\n  ret %0"), "[ir_result_unnamed]"},
  {BODY("  %0 = const.i16 1\n  ret %0"), "value %0 is defined twice"},
  {BODY("  ret %7"), "4:7: error: value %7 is used but not defined"},
  {BODY("  br b7"), "4:6: error: block b7 is used but not defined"},
  {BODY("  %1 = const.i8 256\n  ret %0"), "256 does not fit i8"},
  {BODY("  %1 = const.i8 -129\n  ret %0"), "129 does not fit i8"},
  {BODY("  %1 = vec fmax, dest = dsr dest[0]\n  ret %0"), "no vector operation is named 'fmax'"},
  {BODY("  ret %0 %0"), "4:10: error: expected the end of the line"},
  {BODY("b0:\n  ret %0"), "block b0 is defined twice"},
  /* what only the verifier sees */
  {BODY("  %1 = const.i16 1"), "block 0 ends with const"},
  {BODY("  ret %0\n  ret %0"), "goes on after ret"},
  {BODY("  %1 = const.i8 1\n  ret %1"), "returns i8, not i16"},
  {BODY("  br b1\nb1:\n  %1 = alloca 2 align 2\n  ret %0"), "has an alloca"},
  {BODY("  %1 = add.i16 %0, %2\n  %2 = const.i16 1\n  ret %1"), "not defined on every path"},
  {BODY("  br b1\nb1:\n  br b0(%0)"), "branches to the entry"},
  {BODY("  br b1\nb1(%1: i16):\n  ret %1"), "passes 0 values to block 1"},
  {BODY("  %1 = const.i8 1\n  br b1(%1)\nb1(%2: i16):\n  ret %2"), "passes i8 for parameter 0"},
  {BODY("  %1 = eq %0, %0\n  cond_br %1, b1, b2\nb1:\n  %2 = const.i16 1\n  br b2\nb2:\n  ret %2"),
   "not defined on every path"},
  {BODY("  %1 = const.bool 1\n  %2 = add.bool %1, %1\n  ret %0"), "operand types bool bool"},
  {BODY("  %1 = call.i16 @f()\n  ret %1"), "passes 0 values to f"},
  {BODY("  %1 = load.i16 %0\n  ret %1"), "load has operand types i16"},
  {BODY("  %1 = tile_param.i16 0\n  ret %1"), "is no tile parameter"},
  {BODY("  %1 = vec mov16, dest = dsr src1[0], src1 = scalar %0\n  ret %0"), "is in file src1"},
  {BODY("  %1 = vec mov16, dest = dsr dest[0], src0 = scalar %0\n  ret %0"), "which is src1"},
  {BODY("  %1 = vec fmovs, dest = dsr dest[0], src1 = scalar %0\n  ret %0"), "scalar of type i16"},
  {BODY("  %1 = vec fmacs, dest = dsr dest[0], src0 = dsr src0[0], src1 = dsr src1[0]\n  ret %0"),
   "lacks a factor"},
};

static void bad_text_is_refused_with_a_place(void **state)
{
  Fixture *x = *state;
  for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
    diags_destroy(x->diags);
    x->diags = diags_create(x->sources);
    if (read_text(x, bad[i].text))
      fail_msg("accepted:\n%s", bad[i].text);
    if (!strstr(x->messages, bad[i].message))
      fail_msg("'%s' is not among the messages of\n%s\n%s", bad[i].message, bad[i].text,
               x->messages);
  }
}

static void several_errors_are_reported(void **state)
{
  Fixture *x = *state;
  assert_null(read_text(x, BODY("  %1 = addd.i16 %0\n  %2 = const.i8 300\n  ret %9")));
  assert_int_equal(diags_error_count(x->diags), 3);
}

/* Every prefix of a good text, and every text with one byte changed, is a module or an error. */
static void damaged_text_never_crashes(void **state)
{
  Fixture *x = *state;
  char *text = everything();
  size_t length = strlen(text);
  for (size_t i = 0; i < length; i += 7) {
    diags_destroy(x->diags);
    source_map_destroy(x->sources);
    x->sources = source_map_create();
    x->diags = diags_create(x->sources);
    arena_reset(x->arena);
    char kept = text[i];
    text[i] = i % 2 ? '\0' : (char)(kept ^ 1 << i % 7);
    size_t errors = diags_error_count(x->diags);
    IrModule *m = read_text(x, text);
    assert_true((m != NULL) == (diags_error_count(x->diags) == errors));
    text[i] = kept;
  }
  free(text);
}

/* ---- digests ------------------------------------------------------------------------------- */

static bool has_digest(const IrModule *m, IrDigest digest)
{
  IrDigest now = ir_digest(m);
  return now.low == digest.low && now.high == digest.high;
}

/* Modules with the same text have one digest, and any other text another one. */
static void the_digest_tells_texts_apart(void **state)
{
  Fixture *x = *state;
  char *text = everything();
  IrModule *m = read_text(x, text);
  IrDigest digest = ir_digest(m);
  char *printed = print_text(m, false);
  unsigned n_other = 0;
  assert_true(has_digest(read_text(x, text), digest));
  for (size_t i = 0; text[i]; i++) {
    char kept = text[i];
    if (kept < '0' || kept > '9')
      continue;
    text[i] = kept == '9' ? '8' : (char)(kept + 1);
    IrModule *changed = read_text(x, text);
    if (changed) {
      char *now = print_text(changed, false);
      bool is_other = strcmp(now, printed) != 0;
      n_other += is_other;
      assert_int_equal(has_digest(changed, digest), !is_other);
      free(now);
    }
    text[i] = kept;
  }
  assert_true(n_other > 100);
  free(printed);
  free(text);
}

/* What the text leaves out: places in the source, variables, names. */
static void the_digest_knows_what_the_text_leaves_out(void **state)
{
  Fixture *x = *state;
  char *text = everything();
  IrModule *m = read_text(x, text);
  free(text);
  IrDigest digest = ir_digest(m);
#define SEES(field, other)                    \
  do {                                        \
    __typeof__(field) kept_ = (field);        \
    (field) = (other);                        \
    assert_false(has_digest(m, digest));      \
    (field) = kept_;                          \
    assert_true(has_digest(m, digest));       \
  } while (0)
  IrFunc *f = &m->funcs[0];
  SEES(f->loc.raw, f->loc.raw + 1);
  SEES(f->insns[1].loc.raw, f->insns[1].loc.raw + 1);
  SEES(m->globals[0].type, "another");
  SEES(m->globals[0].debug_type, m->globals[0].debug_type + 1);
  SEES(m->dsrs[0].span.off, m->dsrs[0].span.off + 1);
  ir_loc_add(m, (Span){1, 1}, IR_NO_LOC, "f");
  ir_local_add(m, (IrFuncId){0}, (IrLocal){.name = "a", .is_known = true, .bits = 1});
  ir_held_add(m, f, 0);
  assert_false(has_digest(m, digest));
  digest = ir_digest(m);
  IrLoc *loc = &m->locs[m->n_locs - 1];
  SEES(loc->span.off, 2);
  SEES(loc->inlined_at.raw, 1);
  SEES(loc->function, "g");
  IrLocal *local = &f->locals[f->n_locals - 1];
  SEES(local->name, "b");
  SEES(local->type, 1);
  SEES(local->loc.raw, 1);
  SEES(local->is_param, true);
  SEES(local->in_memory, true);
  SEES(local->is_known, false);
  SEES(local->value.raw, 1);
  SEES(local->bits, 2);
  SEES(f->held[0], 1);
#undef SEES
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(everything_prints_as_it_was_read, set_up, tear_down),
    cmocka_unit_test(every_operation_is_in_the_file),
    cmocka_unit_test(the_page_lists_operations_and_passes),
    cmocka_unit_test_setup_teardown(locations_survive, set_up, tear_down),
    cmocka_unit_test_setup_teardown(printing_does_not_depend_on_numbers, set_up, tear_down),
    cmocka_unit_test_setup_teardown(bad_text_is_refused_with_a_place, set_up, tear_down),
    cmocka_unit_test_setup_teardown(several_errors_are_reported, set_up, tear_down),
    cmocka_unit_test_setup_teardown(damaged_text_never_crashes, set_up, tear_down),
    cmocka_unit_test_setup_teardown(the_digest_tells_texts_apart, set_up, tear_down),
    cmocka_unit_test_setup_teardown(the_digest_knows_what_the_text_leaves_out, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
