/* What the code generator refuses, with the text a user sees; the memory map, DSR numbers, stack
 * depth, line table and tile slots of what it accepts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/codegen_harness.h"

#define HEAD "module wse2 f16 \"t\"\n"
#define TASK(body)                                                                              \
  "task local 8 @main arguments 0\nfunc @main() void task {\nb0:\n" body "  ret\n}\n"

static IrModule *compile(Run *r, const char *text, bool wanted)
{
  run_create(r);
  r->format = DIAG_FORMAT_JSON;   /* with the ids of notes */
  IrModule *m = run_read(r, text);
  if (!m)
    fail_msg("%s", r->messages);
  if (run_compile(r, m, 1) != wanted)
    fail_msg("%s", wanted ? r->messages : "accepted");
  return m;
}

static void check_refused(const char *text, const char *first, const char *second)
{
  Run r;
  compile(&r, text, false);
  if (!strstr(r.messages, first) || !strstr(r.messages, second))
    fail_msg("wanted '%s' and '%s' in:\n%s", first, second, r.messages);
  run_destroy(&r);
}

static uint16_t address_of(const Run *r, const char *name)
{
  const ImageSymbol *s = run_symbol(r, name);
  if (!s)
    fail_msg("no symbol %s", name);
  return s->address;
}

/* ---- refusals ------------------------------------------------------------------------------- */

/* Code of 10 bytes (a store and the end), no stack but 4 bytes: the boundary is exact. */
static void test_memory_boundary(void **state)
{
  (void)state;
  static const char *const text =
    HEAD "global $big bytes %u align 2 type \"[]u16\" keep\n" TASK(
      "  %%0 = global_addr $big\n  %%1 = const.i16 7\n  store %%0, %%1\n");
  char program[600];
  Run r;
  snprintf(program, sizeof program, text, 49152 - 10 - 4);
  compile(&r, program, true);
  assert_int_equal(r.result.code_bytes, 10);
  assert_int_equal(r.result.stack_bytes, 4);
  run_destroy(&r);
  snprintf(program, sizeof program, text, 49152 - 10 - 4 + 2);
  check_refused(program, "\"ir_too_large\"", "that is 2 bytes too many");
  check_refused(program, "\"ir_too_large_by\"",
                "\"ir_large_symbol\",\"message\":\"'big' takes 49140 bytes\"");
}

/* Each function of a cycle counts once, with its return address. */
static void test_recursion(void **state)
{
  (void)state;
  Run r;
  compile(&r, HEAD "func @f() void {\nb0:\n  call @g()\n  ret\n}\n"
                   "func @g() void {\nb0:\n  call @f()\n  ret\n}\n" TASK("  call @f()\n"),
          true);
  assert_int_equal(r.result.stack_bytes, 8);
  run_destroy(&r);
}

static void test_fixed_addresses(void **state)
{
  (void)state;
  check_refused(HEAD "global $a bytes 8 align 2 type \"\" keep address 100\n"
                     "global $b bytes 8 align 2 type \"\" keep address 106\n" TASK(""),
                "'b' and 'a' are both placed at address 106", "\"ir_fixed_overlap\"");
  check_refused(HEAD "global $a bytes 8 align 2 type \"\" keep address 49150\n" TASK(""),
                "'a' is placed at address 49150", "\"ir_fixed_address\"");
}

static void test_too_many_dsrs(void **state)
{
  (void)state;
  char text[4000] = HEAD;
  size_t at = strlen(text);
  at += (size_t)snprintf(text + at, sizeof text - at,
                         "global $x bytes 8 align 2 type \"\" keep\n"
                         "task local 8 @main arguments 0\nfunc @main() void task {\nb0:\n"
                         "  %%0 = dsd_const.dsd mem1d(base $x, length 4, stride 1)\n");
  for (unsigned i = 0; i < 16; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, "  dsr_load src0[%u], %%0\n"
                           "  dsr_load src1[%u], %%0\n", i, i);
  snprintf(text + at, sizeof text - at,
           "  %%1 = vec mov16, dest = dsr src0[0], src1 = dsd %%0\n  ret\n}\n");
  check_refused(text, "DSR is left in 'main'", "\"ir_too_many_dsrs\"");
}

static void test_too_many_xdsrs(void **state)
{
  (void)state;
  char text[4000] = HEAD;
  size_t at = strlen(text);
  at += (size_t)snprintf(text + at, sizeof text - at,
                         "global $x bytes 8 align 2 type \"\" keep\n"
                         "task local 8 @main arguments 0\nfunc @main() void task {\nb0:\n"
                         "  %%0 = dsd_const.dsd4 mem4d(base $x, lengths 2 2 1 1, "
                         "strides 1 1 0 0)\n");
  for (unsigned i = 0; i < 6; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, "  dsr_load src0[%u], %%0\n", i);
  snprintf(text + at, sizeof text - at, "  ret\n}\n");
  check_refused(text, "an explicit DSR holds a DSD of several dimensions here, and all 5 registers",
                "\"ir_too_many_xdsrs\"");
}

/* ---- the map -------------------------------------------------------------------------------- */

/* Double words first, then the others; module order, nothing unreferenced; around a fixed address;
 * code behind. */
static void test_map(void **state)
{
  (void)state;
  Run r;
  compile(&r,
          HEAD "global $a bytes 2 align 2 type \"\" keep\n"
               "global $b bytes 4 align 4 type \"\" keep\n"
               "global $unused bytes 100 align 2 type \"\"\n"
               "global $fixed bytes 8 align 2 type \"\" keep address 12\n"
               "global $c bytes 6 align 2 type \"\" keep\n"
               "global $pointed bytes 2 align 2 type \"\"\n"
               "global $pointer bytes 2 align 2 type \"\" keep {\n"
               "  reloc 0 $pointed + 6\n}\n" TASK(""),
          true);
  assert_int_equal(address_of(&r, "b"), 0);
  assert_int_equal(address_of(&r, "a"), 4);
  assert_int_equal(address_of(&r, "fixed"), 12);
  assert_int_equal(address_of(&r, "c"), 6);
  assert_int_equal(address_of(&r, "pointed"), 20);
  assert_int_equal(address_of(&r, "pointer"), 22);
  assert_null(run_symbol(&r, "unused"));
  assert_int_equal(r.result.image.code_address, 24);
  assert_int_equal(r.result.image.n_segments, 1);
  assert_int_equal(r.result.image.segments[0].address, 22);
  assert_int_equal(r.result.image.segments[0].data[0], 26);
  run_destroy(&r);
}

/* Slots keep their order and their place in the blob, those of unused globals too. */
static void test_tile_slots(void **state)
{
  (void)state;
  Run r;
  compile(&r,
          HEAD "tile_param i16\ntile_param f32\ntile_param i16\n"
               "tile_slot $a offset 2 bytes 4\ntile_slot param 1\n"
               "tile_slot $unused offset 0 bytes 10\n"
               "tile_slot param 2\ntile_slot param 0\n"
               "global $a bytes 8 align 2 type \"\" keep\n"
               "global $unused bytes 10 align 2 type \"\"\n" TASK(
                 "  %0 = tile_param.i16 0\n  %1 = tile_param.f32 1\n  %2 = global_addr $a\n"
                 "  store %2, %0\n  %3 = global_addr $a + 4\n  store %3, %1\n"),
          true);
  const ImageClass *c = &r.result.image;
  assert_int_equal(c->tile_blob_bytes, 4 + 4 + 10 + 2 + 2);
  assert_int_equal(c->n_tile_slots, 3);
  static const ImageTileSlot wanted[] = {{2, 4, 0}, {12, 4, 4}, {8, 2, 20}};
  for (unsigned i = 0; i < 3; i++) {
    assert_int_equal(c->tile_slots[i].address, wanted[i].address);
    assert_int_equal(c->tile_slots[i].bytes, wanted[i].bytes);
    assert_int_equal(c->tile_slots[i].offset, wanted[i].offset);
  }
  run_destroy(&r);
}

/* ---- stack ---------------------------------------------------------------------------------- */

static void test_stack_depth(void **state)
{
  (void)state;
  Run r;
  compile(&r,
          HEAD "func @leaf(ptr) void {\nb0(%0: ptr):\n  %1 = alloca 100 align 2\n"
               "  copy %1, %0, bytes 100\n  copy %0, %1, bytes 50\n  ret\n}\n"
               "func @other(ptr) void {\nb0(%0: ptr):\n  zero %0, bytes 2\n  ret\n}\n" TASK(
                 "  %0 = alloca 200 align 2\n  zero %0, bytes 200\n  call @leaf(%0)\n"
                 "  call @other(%0)\n"),
          true);
  /* 2 for the return address of each, the task's included: the host may call it */
  assert_int_equal(r.result.stack_bytes, (200 + 2 + 100 + 2 + 3) & ~3);
  run_destroy(&r);
}

/* A callback that might, by its signature, be the caller itself is no recursion. */
static void test_pointer_calls(void **state)
{
  (void)state;
  Run r;
  compile(&r,
          HEAD "global $hook bytes 2 align 2 type \"\" keep {\n  reloc 0 @f\n}\n"
               "func @f() void address_taken {\nb0:\n  %0 = global_addr $hook\n  %1 = load.ptr %0\n"
               "  call_ptr %1()\n  ret\n}\n" TASK("  call @f()\n"),
          true);
  assert_int_equal(r.result.stack_bytes, 4);
  run_destroy(&r);
}

/* ---- DSRs ----------------------------------------------------------------------------------- */

static unsigned count_text(const char *text, const char *part)
{
  unsigned n = 0;
  size_t length = strlen(part);
  for (size_t i = 0; text[i]; i++)
    n += strncmp(text + i, part, length) == 0;
  return n;
}

/* A virtual DSR keeps its number over a call: the callee's temporaries are others, and another
 * virtual DSR there is another one. */
static void test_virtual_dsrs(void **state)
{
  (void)state;
  Run r;
  compile(&r,
          HEAD "global $x bytes 8 align 2 type \"\" keep\n"
               "global $y bytes 8 align 2 type \"\" keep\n"
               "func @f() void {\nb0:\n"
               "  %0 = dsd_const.dsd mem1d(base $y, length 4, stride 1)\n"
               "  dsr_load src1[v1], %0\n"
               "  %1 = vec mov16, dest = dsd %0, src1 = dsr src1[v1]\n"
               "  ret\n}\n" TASK(
                 "  %0 = dsd_const.dsd mem1d(base $x, length 4, stride 1)\n"
                 "  dsr_load src1[v0], %0\n  call @f()\n"
                 "  %1 = vec mov16, dest = dsd %0, src1 = dsr src1[v0]\n"),
          true);
  char *text = run_asm(&r);
  assert_int_equal(count_text(text, "ldsr src1[15]"), 1);
  assert_int_equal(count_text(text, "ldsr src1[14]"), 1);
  assert_int_equal(count_text(text, "vec.mov16 src0[7], src1[15]"), 1);
  assert_int_equal(count_text(text, "vec.mov16 src0[6], src1[14]"), 1);
  free(text);
  run_destroy(&r);
}

/* A descriptor that an operation moves on (save_address) is loaded again. */
static void test_moving_descriptor(void **state)
{
  (void)state;
  Run r;
  compile(&r,
          HEAD "global $x bytes 8 align 2 type \"\" keep\n"
               "global $y bytes 8 align 2 type \"\" keep\n" TASK(
            "  %0 = dsd_const.dsd mem1d(base $x, length 4, stride 1, flags save)\n"
            "  %1 = dsd_const.dsd mem1d(base $y, length 4, stride 1)\n"
            "  %2 = vec mov16, dest = dsd %1, src1 = dsd %0\n"
            "  %3 = vec mov16, dest = dsd %1, src1 = dsd %0\n"),
          true);
  char *text = run_asm(&r);
  assert_int_equal(count_text(text, "ldsr"), 3);
  free(text);
  run_destroy(&r);
}

/* ---- lines ---------------------------------------------------------------------------------- */

static void test_lines(void **state)
{
  (void)state;
  static const char *const source = "one\ntwo\n  three\nfour\n";
  Run r;
  run_create(&r);
  FileId file = source_add(r.sources, "pe.csl", source, strlen(source));
  uint32_t base = source_base(r.sources, file);
  IrModule *m = ir_module_create(r.arena, ARCH_WSE2, FP16_F16);
  IrGlobalId x = ir_global_add(m, "x", 4, 2);
  IrLocId call = ir_loc_add(m, (Span){base + 4, 3}, IR_NO_LOC, "main");
  IrLocId inner = ir_loc_add(m, (Span){base + 10, 5}, call, "helper");
  IrFuncId f = ir_func_add(m, "main", IRT_VOID, NULL, 0);
  m->funcs[f.raw].is_task = true;
  IrBuilder b = {.module = m, .func = f, .loc = call};
  ir_store(&b, ir_global_addr(&b, x, 0), ir_const(&b, IRT_I16, 1));
  b.loc = inner;
  ir_store(&b, ir_global_addr(&b, x, 2), ir_const(&b, IRT_I16, 2));
  ir_ret(&b, IR_NO_VALUE);
  IrTask task = {.func = f, .kind = TASK_LOCAL, .id = 8};
  m->tasks = &task;
  m->n_tasks = 1;
  assert_true(run_compile(&r, m, 1));
  const ImageClass *c = &r.result.image;
  assert_int_equal(c->n_lines, 2);
  assert_int_equal(c->lines[0].line, 2);
  assert_int_equal(c->lines[0].column, 1);
  assert_int_equal(c->lines[0].inlined_at, IMAGE_NO_INLINE);
  assert_int_equal(c->lines[1].line, 3);
  assert_int_equal(c->lines[1].column, 3);
  assert_int_equal(c->lines[1].file, file.raw - 1);
  const ImageInline *in = &c->inlines[c->lines[1].inlined_at];
  assert_int_equal(in->line, 2);
  assert_int_equal(in->parent, IMAGE_NO_INLINE);
  assert_string_equal(in->function, "helper");
  char *text = run_asm(&r);
  assert_non_null(strstr(text, "; pe.csl:3:3 in helper, inlined at pe.csl:2"));
  free(text);
  run_destroy(&r);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_memory_boundary), cmocka_unit_test(test_recursion),
    cmocka_unit_test(test_fixed_addresses), cmocka_unit_test(test_too_many_dsrs),
    cmocka_unit_test(test_too_many_xdsrs),  cmocka_unit_test(test_map),
    cmocka_unit_test(test_tile_slots),      cmocka_unit_test(test_stack_depth),
    cmocka_unit_test(test_pointer_calls),   cmocka_unit_test(test_virtual_dsrs),
    cmocka_unit_test(test_moving_descriptor), cmocka_unit_test(test_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
