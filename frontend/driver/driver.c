/* One run of the compiler, phase by phase; a phase starts only if the phase before it found no
 * error.
 *
 *   parse -> layout -> classes (each: analysis, optimisation, code generation) -> image -> files */
#include "frontend/driver/driver_internal.h"

#include <stb_ds.h>
#include <stdlib.h>
#include <string.h>

/* ---- phases ------------------------------------------------------------------------------ */

typedef struct { const char *name; double seconds; } PhaseTime;
/* A file of which a program could not be compiled, and others that were left out. */
typedef struct { const char *file; uint32_t left_out; } FailedProgram;
typedef struct CheckedProgram {
  Session session;
  Programs programs;
  PhaseTime times[8];
  unsigned n_times;
  double started, optimising, generating;       /* the last two: seconds, of all classes */
  FailedProgram *failed;        /* stb_ds */
} DriverRun;

static void add_time(DriverRun *run, const char *name, double seconds)
{
  run->times[run->n_times++] = (PhaseTime){name, seconds};
}

static void phase_begin(DriverRun *run, const char *name)
{
  run->session.phase = name;
  run->session.done = run->session.of = 0;
  run->started = base_seconds();
}

static void print_end(const DriverRun *run, const char *name, bool ok)
{
  if (run->session.options->verbose)
    fprintf(stderr, "cslc: %s %s\n", name, ok ? "done" : "ends with errors");
}

static void phase_done(DriverRun *run, bool ok)
{
  const char *name = run->session.phase;
  status_line_hide(&run->session.line);
  print_end(run, name, ok);
  add_time(run, name, base_seconds() - run->started);
}

static void report_times(const DriverRun *run)
{
  double total = 0;
  for (unsigned i = 0; i < run->n_times; i++)
    total += run->times[i].seconds;
  for (unsigned i = 0; i < run->n_times; i++)
    fprintf(stderr, "%-10s %8.3f s  %3.0f %%\n", run->times[i].name, run->times[i].seconds,
            total > 0 ? 100 * run->times[i].seconds / total : 0);
  fprintf(stderr, "%-10s %8.3f s\n", "total", total);
}

/* Runs `print` into memory, then to -o or stdout, which `-o -` names, too. */
typedef void RunPrinter(DriverRun *run, FILE *out);
static int emit_text(DriverRun *run, RunPrinter *print)
{
  char *text = NULL;
  size_t length = 0;
  FILE *memory = base_text_open(&text, &length);
  print(run, memory);
  base_text_close(memory, &text);
  const char *path = run->session.options->output;
  int result = EXIT_SUCCESS;
  if (path && strcmp(path, "-") != 0) {
    result = output_write_file(&run->session, path, text, length);
  } else {
    fwrite(text, 1, length, stdout);    /* command_line_end reports what is lost */
  }
  free(text);
  return result;
}

static void print_syntax(DriverRun *run, FILE *out)
{
  const Session *s = &run->session;
  const Ast *ast = s->layout->ast;
  if (s->options->emit == EMIT_TOKENS)
    tokens_print(s->sources, s->names, s->diags, ast->file, out);
  else if (s->options->emit == EMIT_TREE)
    ast_dump(ast, out);
  else
    ast_print(ast, out);
}

static void print_layout(DriverRun *run, FILE *out)
{
  layout_print(&run->session, out);
}

static void print_classes(DriverRun *run, FILE *out)
{
  const Programs *p = &run->programs;
  EmitKind kind = run->session.options->emit;
  for (size_t i = 0; i < arrlenu(p->classes); i++) {
    const ProgramClass *class = &p->classes[i];
    if (arrlenu(p->classes) > 1)
      fprintf(out, "%s// class %zu: %s\n", i ? "\n" : "", i, class->source);
    if (kind == EMIT_IR)
      ir_print(class->ir, out);
    else if (kind == EMIT_ASM)
      codegen_print_asm(&class->code, out);
    else
      codegen_print_map(&class->code, out);
  }
}

static int emit_syntax(DriverRun *run)
{
  Session *s = &run->session;
  LayoutResult *layout = arena_new(s->arena, LayoutResult);
  s->layout = layout;
  layout->ast = files_import(s->files, s->options->input, NULL, (Span){0});
  if (!layout->ast || diags_error_count(s->diags) > 0)
    return EXIT_FAILURE;
  return emit_text(run, print_syntax);
}

static int write_outputs(DriverRun *run)
{
  Image image;
  image_make(&run->session, &run->programs, &image);
  return image_files_write(&run->session, &image);
}

static void verify_class(const IrModule *m, const char *when)
{
#ifndef NDEBUG
  Arena *arena = arena_create("verifier");
  const char *fault = ir_verify(m, arena);
  if (fault)
    ICE("the module of %s is not valid %s: %s", m->source, when, fault);
  arena_destroy(arena);
#else
  (void)m, (void)when;
#endif
}

static void optimise_class(DriverRun *run, IrModule *ir)
{
  IrOptOptions options = {.level = run->session.options->opt_level};
  verify_class(ir, "after analysis");
  ir_optimise(ir, &options);
  verify_class(ir, "after optimisation");
}

/* Other params rarely help, and there may be a program for each tile: so if one made of a file does
 * not compile, the next ones of that file are left out. */
static bool generate_class(DriverRun *run, ProgramClass *class)
{
  Session *s = &run->session;
  CodegenOptions options = {.level = s->options->opt_level, .debug = s->options->debug};
  for (size_t i = 0; i < arrlenu(run->failed); i++)
    if (!strcmp(run->failed[i].file, class->source)) {
      run->failed[i].left_out++;
      return false;
    }
  if (codegen_module(class->ir, &options, s->sources, s->arena, s->diags, &class->code))
    return true;
  arrput(run->failed, ((FailedProgram){class->source, 0}));
  return false;
}

static bool compile_class(void *context, ProgramClass *class)
{
  DriverRun *run = context;
  double begin = base_seconds();
  optimise_class(run, class->ir);
  double optimised = base_seconds();
  run->optimising += optimised - begin;
  if (run->session.options->emit == EMIT_IR)
    return false;
  bool done = generate_class(run, class);
  run->generating += base_seconds() - optimised;
  return done;
}

static void report_left_out(const DriverRun *run)
{
  for (size_t i = 0; i < arrlenu(run->failed); i++)
    if (run->failed[i].left_out)
      diag_programs_left_out(run->session.diags, (Span){0}, run->failed[i].file,
                             run->failed[i].left_out);
}

/* What has been made of each file, when all programs are there. */
static void print_programs(const DriverRun *run)
{
  const ProgramClass *all = run->programs.classes;
  for (size_t i = 0; i < arrlenu(all); i++) {
    size_t n = 0;
    uint32_t code = 0, memory = 0;
    for (size_t k = 0; k < arrlenu(all); k++) {
      if (strcmp(all[k].source, all[i].source) != 0)
        continue;
      if (k < i)
        break;
      const CodegenResult *made = &all[k].code;
      uint32_t bytes = made->code_bytes + made->data_bytes + made->stack_bytes;
      n++;
      code = made->code_bytes > code ? made->code_bytes : code;
      memory = bytes > memory ? bytes : memory;
    }
    if (n)
      fprintf(stderr, "cslc:   %zu program%s of %s, of up to %u bytes with %u of code\n", n,
              n == 1 ? "" : "s", all[i].source, memory, code);
  }
}

/* Each class is compiled as soon as it is found: the other phases end when the analysis does. */
static bool compile_classes(DriverRun *run)
{
  const Options *o = run->session.options;
  phase_begin(run, "analysis");
  bool ok = classes_find(&run->session, &run->programs, compile_class, run) &&
            release_allows(&run->session);
  report_left_out(run);
  run->started += run->optimising + run->generating;
  phase_done(run, ok);
  add_time(run, "optimise", run->optimising);
  add_time(run, "codegen", run->generating);
  if (ok)
    print_end(run, "optimise", true);
  ok = ok && arrlenu(run->failed) == 0;
  if (o->emit != EMIT_IR && (ok || arrlenu(run->failed)))
    print_end(run, "codegen", ok);
  if (o->verbose && ok && o->emit != EMIT_IR)
    print_programs(run);
  return ok;
}

/* The addresses of sections that no variable of a tile's program is in. */
static void report_unknown_sections(const Session *s)
{
  const OptionSection *all = s->options->sections;
  for (size_t i = 0; i < arrlenu(all); i++) {
    size_t first = 0;
    while (strcmp(all[first].name, all[i].name) != 0)
      first++;
    if (!s->sections_found[first])
      diag_option_unknown_section(s->diags, all[i].span, all[i].name);
  }
}

static int compile_program(DriverRun *run)
{
  const Options *o = run->session.options;
  if (o->emit == EMIT_TOKENS || o->emit == EMIT_AST || o->emit == EMIT_TREE)
    return emit_syntax(run);
  phase_begin(run, "layout");
  bool ok = layout_evaluate(&run->session);
  phase_done(run, ok);
  if (!ok)
    return EXIT_FAILURE;
  if (o->emit == EMIT_LAYOUT)
    return emit_text(run, print_layout);
  if (!compile_classes(run))
    return EXIT_FAILURE;
  report_unknown_sections(&run->session);
  phase_begin(run, "classes");
  ok = classes_settle(&run->session, &run->programs);
  phase_done(run, ok);
  if (!ok || diags_error_count(run->session.diags) > 0)
    return EXIT_FAILURE;
  if (o->verbose)
    release_print(&run->session, stderr);
  if (o->check)
    return EXIT_SUCCESS;
  if (o->emit != EMIT_NONE)
    return emit_text(run, print_classes);
  if (o->out_routes)
    layout_print_routes(&run->session, stdout);
  phase_begin(run, "image");
  int result = write_outputs(run);
  phase_done(run, result == EXIT_SUCCESS);
  return result;
}

/* ---- from the command line to the exit code ------------------------------------------------- */

static void session_open(Session *s, const Options *options, SourceMap *sources,
                         const char *source_stdlib)
{
  *s = (Session){.options = options, .sources = sources};
  s->arena = arena_create("session");
  s->sections_found = arena_many(s->arena, bool, arrlenu(options->sections) + 1);
  s->names = strtable_create();
  s->diags = diags_create(sources);
  s->pool = pool_create(s->arena, s->names);
  s->debug_types = debug_types_create(s->pool, s->arena);
  diags_set_context(s->diags, s->pool);
  diags_warnings_are_errors(s->diags, options->werror);
  s->builtins = builtin_table_create(s->arena, s->names);
  s->files = files_open(s->arena, sources, s->names, s->diags,
                        &(FilePlaces){.main_file = options->layout_json ? NULL : options->input,
                                      .source_stdlib = source_stdlib,
                                      .import_paths = options->import_paths,
                                      .n_import_paths = arrlenu(options->import_paths),
                                      .overlays = options->overlays,
                                      .n_overlays = arrlenu(options->overlays)});
}

static void session_close(Session *s)
{
  if (s->layout) {
    arrfree(s->layout->exports);
    if (s->layout->colors)
      color_table_destroy(s->layout->colors);
  }
  files_close(s->files);
  debug_types_destroy(s->debug_types);
  pool_destroy(s->pool);
  diags_destroy(s->diags);
  strtable_destroy(s->names);
  arena_destroy(s->arena);
}

static void run_close(DriverRun *run)
{
  programs_free(&run->programs);
  arrfree(run->failed);
  session_close(&run->session);
}

/* Who checks the program of a tile by itself does not say what its parameters are: that they have
 * no value is no mistake, and what depends on them stays unknown. */
static void finish_check(Session *s)
{
  diags_show_all(s->diags);
  if (s->layout && s->layout->ast && !s->layout->has_block && !arrlenu(s->options->params))
    diags_drop(s->diags, "unbound_param");
}

int driver_run(const Options *options, SourceMap *sources, const char *source_stdlib)
{
  DriverRun run = {0};
  Session *s = &run.session;
  session_open(s, options, sources, source_stdlib);
  status_line_begin(&s->line, status_line_terminal(), STATUS_LINE_SECONDS);
  int result = compile_program(&run);
  status_line_end(&s->line);
  if (options->check)
    finish_check(s);
  if (options->check || diags_error_count(s->diags) > 0)
    result = diags_error_count(s->diags) > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
  diags_flush(s->diags, stderr, options->diag_format);
  if (options->time_report)
    report_times(&run);
  run_close(&run);
  return result;
}

CheckedProgram *driver_check(const Options *options, SourceMap *sources, const char *source_stdlib,
                             const SemaListener *listener)
{
  DriverRun *run = base_zeroed(1, sizeof *run);
  session_open(&run->session, options, sources, source_stdlib);
  run->session.listener = listener;
  compile_program(run);
  finish_check(&run->session);
  return run;
}

Session *checked_session(CheckedProgram *program)
{
  return &program->session;
}

void checked_close(CheckedProgram *program)
{
  run_close(program);
  free(program);
}

/* ---- one function of a library, for other drivers ------------------------------------------- */

static PoolId library_value(Sema *s, const LibraryValue *v)
{
  if (v->text)
    return pool_string(s->pool, sema_name(s, v->text));
  return pool_int(s->pool, POOL(COMPTIME_INT), v->number);
}

static bool library_result(Sema *s, PoolId value, LibraryCall *call)
{
  PoolKey key = pool_key(s->pool, value);
  int64_t number;
  if (key.kind == PK_STRING) {
    call->text = base_print("%s", sema_text(s, key.u.string));
    return true;
  }
  uint32_t n = key.kind == PK_AGGREGATE ? key.u.aggregate.n : 1;
  for (uint32_t i = 0; i < n; i++) {
    PoolId part = key.kind == PK_AGGREGATE ? key.u.aggregate.elems[i] : value;
    if (!pool_int_value(s->pool, part, &number))
      return false;
    arrput(call->numbers, number);
  }
  return true;
}

static bool library_run(Sema *s, LibraryCall *call)
{
  PoolId bound = library_value(s, &call->binding);
  PoolId params = sema_make_struct(s, &call->binding_name, &bound, call->binding_name ? 1 : 0);
  if (sema_import(s, call->library, params, NULL, (Span){0}) == IR_NO_ID)
    return false;
  Decl *d = sema_find_decl(s, 0, sema_name(s, call->function));
  if (!d)
    ICE("%s has no '%s'", call->library, call->function);
  Operand *args = arena_many(s->arena, Operand, call->n_args);
  for (uint32_t i = 0; i < call->n_args; i++)
    args[i] = operand_value(s, library_value(s, &call->args[i]));
  Operand callee = sema_decl_operand(s, d, d->name_span);
  Operand result = sema_call_values(s, callee, args, call->n_args, d->name_span, POOL(NONE));
  if (operand_is_poison(result) || diags_error_count(s->diags) > 0)
    return false;
  return library_result(s, result.value, call);
}

bool driver_call(const Options *options, SourceMap *sources, const char *source_stdlib,
                 LibraryCall *call)
{
  Session session;
  session_open(&session, options, sources, source_stdlib);
  Sema *s = sema_create(&session, session.arena, WHERE_COMPTIME);
  bool ok = library_run(s, call);
  sema_destroy(s);
  diags_flush(session.diags, stderr, options->diag_format);
  session_close(&session);
  return ok;
}
