/* The passes and the order they run in, by level.
 *
 * Requirements between lines: mem2reg makes parameters that copyprop thins out; simplify leaves
 * unused values to dce; inline wants callees small, so functions are cleaned before it; what it
 * brings together is cleaned after it; memory drops arrays that nothing reads before strength
 * carries pointers to them; sink and compact come last and undo nothing. */
#include "ir/opt/opt.h"

#include <string.h>

typedef struct {
  const char *name;
  bool (*on_func)(Opt *opt, IrFunc *f);
  bool (*on_module)(Opt *opt);
} Pass;

static const Pass passes[] = {
#define PASS_FUNC(name, text) {#name, pass_##name, NULL},
#define PASS_MODULE(name, text) {#name, NULL, pass_##name},
#include "ir/opt/passes.def"
};

/* Names of passes, and the lowest level at which the line runs. */
static const struct { const char *passes; int level; } pipeline[] = {
  {"unused", 0},
  {"rotate freeze", 1},
  {"mem2reg copyprop simplify cse dce jump", 1},
  {"evaluate inline", 1},
  {"mem2reg copyprop simplify evaluate", 1},
  {"unused freeze", 1},
  {"simplify memory cse simplify copyprop dce jump", 1},
  {"mem2reg copyprop simplify cse dce", 1},
  {"memory dce promote mem2reg copyprop simplify cse dce", 2},
  {"fill", 1},
  {"licm", 1},
  {"jump simplify strength copyprop simplify cse dce ends simplify dce", 2},
  {"strength simplify dce ends simplify cse dce", 2},
  {"dsd", 1},
  {"simplify strength simplify dce strength simplify cse dce ends simplify memory cse dce", 2},
  {"unroll copyprop simplify memory cse simplify copyprop dce jump", 1},
  {"offset simplify cse dce", 1},
  {"unused", 1},
  {"sink dce compact", 1},
};

static const Pass *pass_named(const char *name, size_t length)
{
  for (size_t i = 0; i < ARRAY_COUNT(passes); i++)
    if (strlen(passes[i].name) == length && memcmp(passes[i].name, name, length) == 0)
      return &passes[i];
  return NULL;
}

#ifndef NDEBUG
static void check_module(const IrModule *m, const char *pass)
{
  Arena *arena = arena_create("verify");
  const char *fault = ir_verify(m, arena);
  if (fault)
    ICE("after pass %s: %s", pass, fault);
  arena_destroy(arena);
}
#endif

static void run_pass(Opt *opt, const Pass *pass, const IrOptOptions *options)
{
  opt->exposed_globals = NULL;
  opt->sets_exception_mask = NULL;
  if (pass->on_module)
    pass->on_module(opt);
  for (uint32_t i = 0; pass->on_func && i < opt->m->n_funcs; i++) {
    pass->on_func(opt, &opt->m->funcs[i]);
    arena_reset(opt->arena);
  }
  arena_reset(opt->arena);
  arena_reset(opt->pass_arena);
#ifndef NDEBUG
  check_module(opt->m, pass->name);
#endif
  if (options->dump_after && strcmp(options->dump_after, pass->name) == 0) {
    fprintf(options->dump_to, "; after %s\n", pass->name);
    ir_print(opt->m, options->dump_to);
  }
}

/* Runs the passes named, separated by commas or blanks; false at an unknown name. */
static bool run_list(Opt *opt, const char *names, const IrOptOptions *options)
{
  static const char separators[] = ", ";
  while (*(names += strspn(names, separators))) {
    size_t length = strcspn(names, separators);
    const Pass *pass = pass_named(names, length);
    if (!pass)
      return false;
    run_pass(opt, pass, options);
    names += length;
  }
  return true;
}

static Opt open_optimiser(IrModule *m, const IrOptOptions *options)
{
  return (Opt){.m = m, .level = options->level, .arena = arena_create("optimiser"),
               .pass_arena = arena_create("optimiser, pass")};
}

static void close_optimiser(Opt *opt)
{
  arena_destroy(opt->pass_arena);
  arena_destroy(opt->arena);
}

bool ir_run_passes(IrModule *m, const char *names, const IrOptOptions *options)
{
  Opt opt = open_optimiser(m, options);
  bool known = run_list(&opt, names, options);
  close_optimiser(&opt);
  return known;
}

void ir_optimise(IrModule *m, const IrOptOptions *options)
{
  Opt opt = open_optimiser(m, options);
  for (size_t i = 0; i < ARRAY_COUNT(pipeline); i++)
    if (options->level >= pipeline[i].level && !run_list(&opt, pipeline[i].passes, options))
      ICE("the pipeline names an unknown pass: %s", pipeline[i].passes);
  close_optimiser(&opt);
}

const char *ir_pass_name(size_t i, const char **text)
{
  static const char *const texts[] = {
#define PASS_FUNC(name, what) what,
#define PASS_MODULE(name, what) what,
#include "ir/opt/passes.def"
  };
  if (i >= ARRAY_COUNT(passes))
    return NULL;
  *text = texts[i];
  return passes[i].name;
}
