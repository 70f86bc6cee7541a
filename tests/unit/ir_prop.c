/* Optimised programs do what plain ones do: random modules, interpreted at every level, after
 * random sequences of passes, and after a trip through text. */
#include "tests/unit/ir_interp.h"
#include "tests/unit/ir_random.h"
#include "tests/unit/random_share.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { CASES = 1500, INPUTS = 2 };

static uint64_t first_seed(void)
{
  const char *text = getenv("WSE_SEED");
  return text ? strtoull(text, NULL, 0) : 1;
}

static uint32_t func_named(const IrModule *m, const char *name)
{
  for (uint32_t i = 0; i < m->n_funcs; i++)
    if (strcmp(m->funcs[i].name, name) == 0)
      return i;
  fail_msg("function %s is gone", name);
  return 0;
}

static uint64_t run_main(Interp *in, const IrModule *m, uint64_t seed)
{
  Random r = {.state = seed, .m = (IrModule *)m};
  uint32_t f = func_named(m, "main");
  uint64_t args[3];
  interp_init(in, m);
  for (unsigned i = 0; i < 3; i++) {
    IrType type = m->funcs[f].params[i];
    uint64_t bits = ir_type_is_float(type) ? random_float(&r, type) : random_number(&r, type);
    args[i] = bits & (ir_type_bits(type) == 64 ? UINT64_MAX
                                               : (UINT64_C(1) << ir_type_bits(type)) - 1);
  }
  return interp_call(in, f, args);
}

static char *text_of(const IrModule *m)
{
  char *text;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  ir_print(m, out);
  fclose(out);
  return text;
}

static void show_failure(uint64_t seed, const char *what, const char *how, const IrModule *m)
{
  char *text = text_of(m);
  fail_msg("seed %llu, %s: %s\n%s", (unsigned long long)seed, how, what, text);
}

/* Globals that the optimised module still has hold the same; no code named what it dropped. */
static bool same_memory(const Interp *a, const Interp *b)
{
  for (uint32_t i = 0; i < b->m->n_globals; i++) {
    uint32_t at = interp_global_address(b->m, i);
    if (memcmp(a->memory + at, b->memory + at, b->m->globals[i].bytes) != 0)
      return false;
  }
  return true;
}

static void compare(const IrModule *plain, const IrModule *other, uint64_t seed, const char *how)
{
  static Interp a, b;
  for (uint64_t input = 0; input < INPUTS; input++) {
    uint64_t x = run_main(&a, plain, seed * INPUTS + input);
    if (a.gave_up)
      continue;
    if (a.fault)
      show_failure(seed, a.fault, "the plain program", plain);
    uint64_t y = run_main(&b, other, seed * INPUTS + input);
    if (b.fault || b.gave_up)
      show_failure(seed, b.fault ? b.fault : "it does not end", how, other);
    if (a.trapped != b.trapped || a.n_effects != b.n_effects || a.effects != b.effects)
      show_failure(seed, "other effects", how, other);
    if (!a.trapped && x != y)
      show_failure(seed, "another result", how, other);
    /* A number that stays in a register within a loop is not in memory when that traps. */
    if (!a.trapped && !same_memory(&a, &b))
      show_failure(seed, "other memory", how, other);
  }
}

static void check_valid(const IrModule *m, Arena *arena, uint64_t seed, const char *how)
{
  const char *fault = ir_verify(m, arena);
  if (fault)
    show_failure(seed, fault, how, m);
}

static void check_levels(Arena *arena, uint64_t seed)
{
  static const char *const names[] = {"-O0", "-O1", "-O2"};
  IrModule *plain = random_module(arena, seed);
  check_valid(plain, arena, seed, "as generated");
  for (int level = 0; level < 3; level++) {
    IrModule *m = random_module(arena, seed);
    ir_optimise(m, &(IrOptOptions){.level = level});
    check_valid(m, arena, seed, names[level]);
    compare(plain, m, seed, names[level]);
  }
}

/* Passes must not rely on the order that the pipeline gives them. */
static void check_any_order(Arena *arena, uint64_t seed)
{
  Random r = {.state = seed};
  const char *text;
  char *how = arena_printf(arena, "passes");
  size_t n_passes = 0;
  while (ir_pass_name(n_passes, &text))
    n_passes++;
  IrModule *plain = random_module(arena, seed), *m = random_module(arena, seed);
  for (unsigned i = 0; i < 12; i++) {
    const char *pass = ir_pass_name(random_below(&r, (unsigned)n_passes), &text);
    how = arena_printf(arena, "%s %s", how, pass);
    ir_run_passes(m, pass, &(IrOptOptions){.level = 2});
    check_valid(m, arena, seed, how);
  }
  compare(plain, m, seed, how);
}

static void check_text(Arena *arena, uint64_t seed)
{
  IrModule *m = random_module(arena, seed);
  char *text = text_of(m);
  SourceMap *sources = source_map_create();
  Diags *diags = diags_create(sources);
  IrModule *read = ir_read(arena, sources, source_add(sources, "m.ir", text, strlen(text)), diags);
  if (!read) {
    diags_flush(diags, stderr, DIAG_FORMAT_TEXT);
    fail_msg("seed %llu: the printed module does not read back", (unsigned long long)seed);
  }
  char *again = text_of(read);
  assert_string_equal(text, again);
  compare(m, read, seed, "through text");
  diags_destroy(diags);
  source_map_destroy(sources);
  free(text);
  free(again);
}

static void each_case(void (*check)(Arena *, uint64_t))
{
  Arena *arena = arena_create("case");
  print_message("seeds from %llu (WSE_SEED, WSE_CASES)\n", (unsigned long long)first_seed());
  uint32_t n = programs_to_run("WSE_CASES", CASES);
  for (uint32_t i = 0; i < n; i++) {
    check(arena, first_seed() + i);
    arena_reset(arena);
  }
  arena_destroy(arena);
}

static void levels_agree(void **state)
{
  (void)state;
  each_case(check_levels);
}

static void any_order_of_passes_agrees(void **state)
{
  (void)state;
  each_case(check_any_order);
}

static void text_keeps_the_meaning(void **state)
{
  (void)state;
  each_case(check_text);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(levels_agree),
    cmocka_unit_test(any_order_of_passes_agrees),
    cmocka_unit_test(text_keeps_the_meaning),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
