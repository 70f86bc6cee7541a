/* One run of the compiler, phase by phase; a phase starts only when the one before it found no
 * error.
 *
 *   parse -> layout -> classes (analysis, optimisation, code generation) -> image -> files */
#include "frontend/builtins.h"
#include "frontend/frontend.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stb_ds.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- files ------------------------------------------------------------------------------- */

typedef struct { uint32_t key; Ast *value; } FileMap;    /* by the real path's StrId */
typedef struct { uint64_t key; Ast *value; } ImportMap;  /* importer and path, as written */
typedef struct {
  FileMap *by_path;
  ImportMap *by_import;        /* a layout names its files once a tile */
  const char *main_dir;
  const char **library_dirs;   /* stb_ds: standard library, import paths */
} Files;

static bool is_file(const char *path)
{
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* The folder of a path, "" for the current one, else ending in a slash. */
static const char *dir_of(Arena *arena, const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? arena_copy_text(arena, path, (size_t)(slash - path) + 1) : "";
}

static const char *try_file(Arena *arena, const char *dir, const char *name, const char *suffix)
{
  const char *slash = dir[0] && dir[strlen(dir) - 1] != '/' ? "/" : "";
  while (strncmp(name, "./", 2) == 0)
    name += 2;
  const char *path = arena_printf(arena, "%s%s%s%s", dir, slash, name, suffix);
  return is_file(path) ? path : NULL;
}

static const char *try_both(Arena *arena, const char *dir, const char *name)
{
  const char *path = try_file(arena, dir, name, "");
  return path ? path : try_file(arena, dir, name, ".csl");
}

static const char *find_library(Session *session, const char *name)
{
  const Files *files = session->files;
  for (size_t i = 0; i < arrlenu(files->library_dirs); i++) {
    const char *path = try_file(session->arena, files->library_dirs[i], name, ".csl");
    if (!path)
      path = try_file(session->arena, files->library_dirs[i], name, "");
    if (path)
      return path;
  }
  return NULL;
}

bool session_has_library(Session *session, const char *name)
{
  return strchr(name, '/') == NULL && find_library(session, name) != NULL;
}

static const char *find_file(Session *session, const char *path, const Ast *importer)
{
  const Files *files = session->files;
  Arena *arena = session->arena;
  size_t length = strlen(path);
  if (length > 2 && path[0] == '<' && path[length - 1] == '>')
    return find_library(session, arena_copy_text(arena, path + 1, length - 2));
  if (path[0] == '/' || !importer)
    return is_file(path) ? path : NULL;
  const char *found =
    try_both(arena, dir_of(arena, source_path(session->sources, importer->file)), path);
  if (!found)
    found = try_both(arena, files->main_dir, path);
  return found ? found : find_library(session, path);
}

/* A file of the folder whose name is like `name`, without its ".csl" if `is_library`. */
static const char *nearest_file(Arena *arena, const char *folder, const char *name,
                                bool is_library)
{
  DIR *dir = opendir(folder);
  if (!dir)
    return NULL;
  const char **names = NULL;
  for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
    size_t length = strlen(entry->d_name);
    if (length > 4 && strcmp(entry->d_name + length - 4, ".csl") == 0)
      arrput(names, arena_copy_text(arena, entry->d_name, is_library ? length - 4 : length));
  }
  closedir(dir);
  const char *near = base_nearest(name, names, arrlenu(names));
  arrfree(names);
  return near;
}

static void suggest_file(Session *session, const char *path, const Ast *importer, Span at)
{
  const Files *files = session->files;
  Arena *arena = session->arena;
  size_t length = strlen(path);
  const char *near = NULL;
  if (length > 2 && path[0] == '<') {
    const char *name = arena_copy_text(arena, path + 1, length - 2);
    for (size_t i = 0; i < arrlenu(files->library_dirs) && !near; i++)
      near = nearest_file(arena, files->library_dirs[i], name, true);
    near = near ? arena_printf(arena, "<%s>", near) : NULL;
  } else if (importer && !strchr(path, '/')) {
    const char *folder = dir_of(arena, source_path(session->sources, importer->file));
    near = nearest_file(arena, folder[0] ? folder : ".", path, false);
  }
  if (near)
    diag_did_you_mean(session->diags, at, near);
}

static void report_missing(Session *session, const char *path, const Ast *importer, Span at)
{
  const Files *files = session->files;
  struct stat info;
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
    diag_file_unreadable(session->diags, at, path, strerror(EISDIR));
    return;
  }
  diag_import_not_found(session->diags, at, path);
  suggest_file(session, path, importer, at);
  if (path[0] != '<')
    return;
  const char *list = "";
  for (size_t i = 0; i < arrlenu(files->library_dirs); i++)
    list = arena_printf(session->arena, "%s%s%s", list, i ? ", " : "", files->library_dirs[i]);
  diag_looked_in(session->diags, at, list);
}

/* "<name>" means a file of a library folder, and nothing above or beside it. */
static bool leaves_library(const char *path)
{
  if (path[0] != '<')
    return false;
  for (const char *part = path + 1; *part;) {
    size_t n = strcspn(part, "/>");
    if ((n == 2 && part[0] == '.' && part[1] == '.') || (n == 0 && *part == '/'))
      return true;
    part += n + (part[n] != 0);
  }
  return false;
}

static Ast *import_file(Session *session, const char *path, const Ast *importer, Span at)
{
  Files *files = session->files;
  if (leaves_library(path)) {
    diag_import_leaves_library(session->diags, at, path);
    return NULL;
  }
  const char *found = find_file(session, path, importer);
  if (!found) {
    report_missing(session, path, importer, at);
    return NULL;
  }
  char real[PATH_MAX];
  const char *key_text = realpath(found, real) ? real : found;
  uint32_t key = str_intern_z(session->names, key_text).raw;
  ptrdiff_t known = hmgeti(files->by_path, key);
  if (known >= 0)
    return files->by_path[known].value;
  size_t length;
  const char *why;
  char *text = file_read_text(found, FILE_TEXT_MAX_BYTES, &length, &why);
  if (!text) {
    diag_file_unreadable(session->diags, at, found, why);
    return NULL;
  }
  FileId file = source_add(session->sources, found, text, length);
  free(text);
  Ast *ast = ast_parse(session->sources, session->names, session->diags, file);
  hmput(files->by_path, key, ast);
  const char *standard = files->library_dirs[0];
  if (!standard || strncmp(found, standard, strlen(standard)) != 0)
    release_words(session, ast);
  return ast;
}

const Ast *session_import(Session *session, const char *path, const Ast *importer, Span at)
{
  Files *files = session->files;
  uint64_t key = (uint64_t)(importer ? importer->file.raw : 0) << 32 |
                 str_intern_z(session->names, path).raw;
  ptrdiff_t known = hmgeti(files->by_import, key);
  if (known >= 0)
    return files->by_import[known].value;
  Ast *ast = import_file(session, path, importer, at);
  if (ast)
    hmput(files->by_import, key, ast);
  return ast;
}

uint32_t session_last_file(const Session *session)
{
  const Files *files = session->files;
  uint32_t last = 0;
  for (ptrdiff_t i = 0; i < hmlen(files->by_path); i++)
    if (files->by_path[i].value->file.raw > last)
      last = files->by_path[i].value->file.raw;
  return last;
}

const char *session_file_name(const Session *session, FileId file)
{
  const Files *files = session->files;
  const char *path = source_path(session->sources, file), *folder = files->library_dirs[0];
  size_t n = strlen(folder), length = strlen(path), ending = strlen(".csl");
  if (strncmp(path, folder, n) != 0 || path[n] != '/')
    return path;
  if (length > ending && strcmp(path + length - ending, ".csl") == 0)
    length -= ending;
  return arena_printf(session->arena, "<%.*s>", (int)(length - n - 1), path + n + 1);
}

static void add_path_list(Session *session, const char *list)
{
  Files *files = session->files;
  while (list && *list) {
    size_t n = strcspn(list, ":");
    if (n)
      arrput(files->library_dirs, arena_copy_text(session->arena, list, n));
    list += n + (list[n] == ':');
  }
}

/* The installed library stands beside the binary; in the build tree it is the source's. */
static const char *standard_library(Session *session, const char *source_stdlib)
{
  const char *named = getenv("CSL_STDLIB");
  if (named && *named)
    return named;
  char self[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n > 0) {
    self[n] = 0;
    const char *dir = arena_printf(session->arena, "%s../share/wse/stdlib",
                                   dir_of(session->arena, self));
    struct stat info;
    if (stat(dir, &info) == 0 && S_ISDIR(info.st_mode))
      return dir;
  }
  return source_stdlib;
}

static void files_open(Session *session, const char *source_stdlib)
{
  Files *files = arena_new(session->arena, Files);
  session->files = files;
  const Options *o = session->options;
  files->main_dir = o->layout_json ? "" : dir_of(session->arena, o->input);
  arrput(files->library_dirs, standard_library(session, source_stdlib));
  for (size_t i = 0; i < arrlenu(session->options->import_paths); i++)
    arrput(files->library_dirs, session->options->import_paths[i]);
  add_path_list(session, getenv("CSL_IMPORT_PATH"));
}

static void files_close(Session *session)
{
  Files *files = session->files;
  for (ptrdiff_t i = 0; i < hmlen(files->by_path); i++)
    ast_destroy(files->by_path[i].value);
  hmfree(files->by_path);
  hmfree(files->by_import);
  arrfree(files->library_dirs);
}

/* ---- evaluations ------------------------------------------------------------------------- */

Sema *sema_create(Session *session, Arena *arena, Where where)
{
  Sema *s = arena_new(arena, Sema);
  s->session = session;
  s->pool = session->pool;
  s->arena = arena;
  s->diags = session->diags;
  s->where = where;
  context_enter(s);
  return s;
}

void sema_destroy(Sema *s)
{
  context_leave(s);
  for (size_t i = 0; i < arrlenu(s->modules); i++)
    arrfree(s->modules[i].decls);
  arrfree(s->modules);
  arrfree(s->funcs);
  arrfree(s->globals);
  arrfree(s->cells);
  arrfree(s->leaves);
  arrfree(s->ranges);
  sema_forget_computed(s);
  sema_own_destroy(s);
}

/* ---- phases ------------------------------------------------------------------------------ */

typedef struct { const char *name; double seconds; } PhaseTime;
typedef struct {
  Session session;
  Programs programs;
  PhaseTime times[8];
  unsigned n_times;
  double started;
} Run;

double driver_seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void add_time(Run *run, const char *name, double seconds)
{
  run->times[run->n_times++] = (PhaseTime){name, seconds};
}

static void phase_done(Run *run, const char *name)
{
  double t = driver_seconds();
  if (run->session.options->verbose)
    fprintf(stderr, "cslc: %s done\n", name);
  add_time(run, name, t - run->started);
  run->started = t;
}

static void report_times(const Run *run)
{
  double total = 0;
  for (unsigned i = 0; i < run->n_times; i++)
    total += run->times[i].seconds;
  for (unsigned i = 0; i < run->n_times; i++)
    fprintf(stderr, "%-10s %8.3f s  %3.0f %%\n", run->times[i].name, run->times[i].seconds,
            total > 0 ? 100 * run->times[i].seconds / total : 0);
  fprintf(stderr, "%-10s %8.3f s\n", "total", total);
}

static int file_error(const char *what, const char *path)
{
  fprintf(stderr, "cslc: error: cannot %s '%s': %s\n", what, path, strerror(errno));
  return EXIT_FAILURE;
}

/* Runs `print` into memory, then to -o or stdout. */
typedef void Printer(Run *run, FILE *out);
static int emit_text(Run *run, Printer *print)
{
  char *text = NULL;
  size_t length = 0;
  FILE *memory = base_text_open(&text, &length);
  print(run, memory);
  base_text_close(memory, &text);
  const char *path = run->session.options->output;
  int result = EXIT_SUCCESS;
  if (path) {
    if (!file_write_all(path, text, length))
      result = file_error("write", path);
  } else if (fwrite(text, 1, length, stdout) != length || fflush(stdout) != 0) {
    result = file_error("write", "standard output");
  }
  free(text);
  return result;
}

static void print_syntax(Run *run, FILE *out)
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

static void print_layout(Run *run, FILE *out)
{
  layout_print(&run->session, out);
}

static void print_classes(Run *run, FILE *out)
{
  const Programs *p = &run->programs;
  EmitKind kind = run->session.options->emit;
  for (size_t i = 0; i < arrlenu(p->classes); i++) {
    const ProgramClass *class = &p->classes[i];
    if (arrlenu(p->classes) > 1)
      fprintf(out, "%s// class %zu: %s\n", i ? "\n" : "", i, class->ir->source);
    if (kind == EMIT_IR)
      ir_print(class->ir, out);
    else if (kind == EMIT_ASM)
      codegen_print_asm(&class->code, out);
    else
      codegen_print_map(&class->code, out);
  }
}

static int emit_syntax(Run *run)
{
  Session *s = &run->session;
  LayoutResult *layout = arena_new(s->arena, LayoutResult);
  s->layout = layout;
  layout->ast = session_import(s, s->options->input, NULL, (Span){0});
  if (!layout->ast || diags_error_count(s->diags) > 0)
    return EXIT_FAILURE;
  return emit_text(run, print_syntax);
}

static int write_outputs(Run *run)
{
  Image image;
  image_make(&run->session, &run->programs, &image);
  return image_files_write(&run->session, &image);
}

static int compile(Run *run)
{
  const Options *o = run->session.options;
  if (o->emit == EMIT_TOKENS || o->emit == EMIT_AST || o->emit == EMIT_TREE)
    return emit_syntax(run);
  bool ok = layout_evaluate(&run->session);
  phase_done(run, "layout");
  if (!ok)
    return EXIT_FAILURE;
  if (o->emit == EMIT_LAYOUT)
    return emit_text(run, print_layout);
  const Programs *p = &run->programs;
  ok = programs_compile(&run->session, &run->programs);
  add_time(run, "analysis", p->analysis_seconds);
  add_time(run, "optimise", p->optimise_seconds);
  add_time(run, "codegen", p->codegen_seconds);
  run->started += p->analysis_seconds + p->optimise_seconds + p->codegen_seconds;
  phase_done(run, "classes");
  if (!ok || diags_error_count(run->session.diags) > 0)
    return EXIT_FAILURE;
  if (o->verbose)
    release_print(&run->session, stderr);
  if (o->emit != EMIT_NONE)
    return emit_text(run, print_classes);
  if (o->out_routes)
    layout_print_routes(&run->session, stdout);
  int result = write_outputs(run);
  phase_done(run, "image");
  return result;
}

/* ---- from the command line to the exit code ------------------------------------------------- */

static void session_open(Session *s, const Options *options, SourceMap *sources,
                         const char *source_stdlib)
{
  *s = (Session){.options = options, .sources = sources};
  s->arena = arena_create("session");
  s->names = strtable_create();
  s->diags = diags_create(sources);
  diags_set_context(s->diags, s);
  s->pool = pool_create(s->arena, s->names);
  diags_warnings_are_errors(s->diags, options->werror);
  builtins_intern(s);
  files_open(s, source_stdlib);
}

static void session_close(Session *s)
{
  if (s->layout) {
    arrfree(s->layout->exports);
    if (s->layout->colors)
      color_table_destroy(s->layout->colors);
  }
  files_close(s);
  pool_destroy(s->pool);
  diags_destroy(s->diags);
  strtable_destroy(s->names);
  arena_destroy(s->arena);
}

int driver_run(const Options *options, SourceMap *sources, const char *source_stdlib)
{
  Run run = {0};
  Session *s = &run.session;
  session_open(s, options, sources, source_stdlib);
  run.started = driver_seconds();
  int result = compile(&run);
  if (result == EXIT_SUCCESS && diags_error_count(s->diags) > 0)
    result = EXIT_FAILURE;
  diags_flush(s->diags, stderr, options->diag_format);
  if (options->time_report)
    report_times(&run);
  arrfree(run.programs.classes);
  arrfree(run.programs.blobs);
  session_close(s);
  return result;
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
  s->comptime = true;
  bool ok = library_run(s, call);
  sema_destroy(s);
  diags_flush(session.diags, stderr, options->diag_format);
  session_close(&session);
  return ok;
}
