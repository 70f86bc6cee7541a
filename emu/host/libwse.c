/* libwse: the C interface over a Session. */
#include "emu/host/host.h"
#include "emu/ranks/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <stb_ds.h>

struct WseProgram {
  HostSession *session;
  HostOptions options;
  HostOutputs *outputs;
  DapServer *debugger;          /* NULL: none */
  FILE *sim_log;
  char *statistics;
  FILE *warnings;               /* writes warning_text */
  char *warning_text, *warnings_told;
  size_t warning_bytes;
  WseCluster *cluster;          /* of which it is the lead, or a wafer with this number; or NULL */
  unsigned wafer;
  bool opened;
  bool lost;                    /* memory ran out in a call: nothing of it can be trusted */
};

struct WseCluster {
  WseProgram *lead;             /* has the session for messages, and the options; never opened */
  HostCluster host;
  WseProgram **programs;        /* stb_ds, by wafer */
  unsigned number;              /* of the run of this process, for names of files */
};

/* Calls that get memory: without any, they return WSE_NO_MEMORY and the handle is lost. */
#define ENTER(p)                              \
  BaseRecovery here BASE_LEAVES_RECOVERY;     \
  base_enter_recovery(&here);                 \
  if (setjmp(here.place) != 0)                \
    return lose_memory(p)

static const WseError no_memory = {
  WSE_NO_MEMORY, "out of memory: the program can only be closed", 0, -1, -1
};

static WseStatus lose_memory(WseProgram *p)
{
  p->lost = true;
  p->opened = false;
  return WSE_NO_MEMORY;
}

static WseStatus report_unwritable(WseProgram *p, const char *path, const char *why)
{
  diag_output_unwritable(session_diags(p->session), HOST_NOWHERE, path, why);
  return session_usage(p->session);
}

/* False: another process writes the file.  It stays ours until this one closes it or ends. */
static bool claim_file(int fd)
{
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return fcntl(fd, F_SETLK, &all) == 0 || (errno != EACCES && errno != EAGAIN);
}

static int open_standard_output(void)
{
  fflush(stdout);               /* what the program has written before stands before */
  return dup(STDOUT_FILENO);
}

/* Where tiles print: the file, or standard output if that is its name. */
static WseStatus open_sim_log(WseProgram *p, const char *path)
{
  bool is_stdout = strcmp(path, "/dev/stdout") == 0;
  int fd = is_stdout ? open_standard_output() : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd >= 0 && !is_stdout && !claim_file(fd)) {
    diag_sim_log_taken(session_diags(p->session), HOST_NOWHERE, path);
    diags_flush(session_diags(p->session), p->warnings, DIAG_FORMAT_TEXT);
    close(fd);
    fd = open_standard_output();
  } else if (fd >= 0 && !is_stdout) {
    (void)!ftruncate(fd, 0);    /* a pipe has no length */
  }
  p->sim_log = fd >= 0 ? fdopen(fd, "w") : NULL;
  return p->sim_log ? WSE_OK : report_unwritable(p, path, strerror(errno));
}

/* A full disk must not look like success.  There is one message about what is lost. */
static WseStatus check_output(WseProgram *p, FILE *file, const char *what)
{
  bool lost = file && (fflush(file) != 0 || ferror(file));
  if (!lost)
    return WSE_OK;
  const char *why = file_lost_reason(file);
  clearerr(file);
  return report_unwritable(p, what, why);
}

static WseStatus report_missing(WseProgram *p, const char *name)
{
  diag_pointer_missing(session_diags(p->session), HOST_NOWHERE, name);
  return session_usage(p->session);
}

static WseStatus bad_choice(WseProgram *p, const char *name, uint32_t value)
{
  diag_choice_unknown(session_diags(p->session), HOST_NOWHERE, name, value);
  return session_usage(p->session);
}

/* Wafers of a cluster have files of their own. */
static const char *own_name(const WseProgram *p, const char *path)
{
  return p->cluster ? host_file_tagged(path, session_arena(p->session),
                                       p->cluster->host.plan.wafers[p->wafer].name) : path;
}

/* The members of WseOptions; what is written at the end belongs to `args` alone. */
static WseStatus set_members(WseProgram *p, const WseOptions *given)
{
  static const CheckLevel levels[] = {
    [WSE_CHECK_OFF] = CHECK_OFF, [WSE_CHECK_WARN] = CHECK_WARN, [WSE_CHECK_ERROR] = CHECK_ERROR,
  };
  SessionOptions *options = &p->options.session;
  if ((unsigned)given->engine > WSE_ENGINE_REFERENCE)
    return bad_choice(p, "engine", given->engine);
  if ((unsigned)given->check >= ARRAY_COUNT(levels))
    return bad_choice(p, "check", given->check);
  options->engine = engine_from_name(given->engine == WSE_ENGINE_REFERENCE ? "reference" : "fast");
  options->threads = given->threads ? given->threads : 1;
  options->max_cycles = given->max_cycles;
  options->check = levels[given->check];
  if (given->trace_kinds &&
      !host_parse_kinds(given->trace_kinds, session_diags(p->session), &options->trace_kinds))
    return session_usage(p->session);
  p->options.trace_file = given->trace_kinds ? given->trace_file : NULL;
  if (!given->ports && given->n_ports)
    return report_missing(p, "ports");
  size_t ports = given->n_ports * sizeof *given->ports;
  options->ports = memcpy(arena_alloc(session_arena(p->session), ports, _Alignof(WsePort)),
                          ports ? given->ports : (const void *)"", ports);
  options->n_ports = given->n_ports;
  return given->sim_log ? open_sim_log(p, own_name(p, given->sim_log)) : WSE_OK;
}

static bool writes_files(const HostOptions *o)
{
  return o->trace_file || o->profile_file || o->page_file || o->stats_file ||
         o->session.save_state || o->session.load_state;
}

/* Runs of this process that write files: their names must differ.  The wafers of a cluster are one
 * run. */
static unsigned run_number(WseProgram *p)
{
  static atomic_uint runs;
  unsigned *of_cluster = p->cluster ? &p->cluster->number : NULL;
  if (of_cluster && *of_cluster)
    return *of_cluster;
  unsigned number = atomic_fetch_add(&runs, 1) + 1;
  if (of_cluster)
    *of_cluster = number;
  return number;
}

/* Options in words replace those of the members. */
static WseStatus set_words(WseProgram *p, const char *words, const char *later)
{
  Arena *scratch = session_arena(p->session);
  Diags *diags = session_diags(p->session);
  const char *file = p->options.trace_file;
  p->options.trace_file = NULL;
  words = words ? arena_copy_text(scratch, words, strlen(words)) : "";
  later = later ? arena_copy_text(scratch, later, strlen(later)) : "";
  if (!host_options_words(words, later, scratch, diags, &p->options)) {
    diag_options_from(diags, HOST_NOWHERE,
                      arena_printf(scratch, "%s%s%s", words, *words && *later ? " " : "", later));
    return session_usage(p->session);
  }
  if (writes_files(&p->options))
    host_options_number(&p->options, scratch, run_number(p));
  if (!p->options.trace_file)
    p->options.trace_file = file;
  return WSE_OK;
}

static WseStatus read_options(WseProgram *p, const WseOptions *given)
{
  const char *words = given && given->args ? given->args : getenv("WSE_ARGS");
  const char *later = given ? given->later_args : NULL;
  WseStatus status = WSE_OK;
  p->options = (HostOptions){.session = {.check = CHECK_ERROR, .threads = 1}};
  if (given)
    status = set_members(p, given);
  if (status == WSE_OK && (words || later))
    status = set_words(p, words, later);
  return status;
}

static WseStatus set_options(WseProgram *p, const WseOptions *given)
{
  WseStatus status = read_options(p, given);
  if (status == WSE_OK && p->cluster)
    host_cluster_options(&p->cluster->host, p->wafer, session_arena(p->session), &p->options);
  if (status == WSE_OK)
    status = host_outputs_open(p->session, &p->options, &p->outputs);
  SessionOptions *session = &p->options.session;
  if (session->trace_kinds && session->trace_form == TRACE_AS_SIMLOG && !p->options.trace_file &&
      p->sim_log)
    session->trace_out = p->sim_log;
  p->options.session.progress = true;
  p->options.session.warnings = p->warnings;
  p->options.session.print_out = p->sim_log;
  p->options.session.print_bare = true;
  return status;
}

/* The others that mpirun has started serve: cs_python sees to that. */
static WseStatus join_ranks(WseProgram *p)
{
  const char *reason = NULL;
  RanksRole role = ranks_join(&reason);
  if (role == RANKS_ALONE || role == RANKS_FIRST)
    return WSE_OK;
  diag_ranks_broken(session_diags(p->session), HOST_NOWHERE,
                    role == RANKS_BROKEN ? reason : "cs_python has not started this one");
  return session_usage(p->session);
}

/* NULL: there is no place for it, or no memory. */
static WseProgram *create_handle(WseProgram **program)
{
  return program ? *program = calloc(1, sizeof **program) : NULL;
}

/* After the options. */
static WseStatus open_session(WseProgram *p, const char *path)
{
  if (!path)
    return report_missing(p, "path");
  p->options.program = arena_copy_text(session_arena(p->session), path, strlen(path));
  WseStatus status = host_debugger_wait(p->session, &p->options, &p->debugger);
  if (status == WSE_OK)
    status = session_open(p->session, path, &p->options.session);
  return status;
}

static void begin_handle(WseProgram *p)
{
  file_reserve_streams();
  p->session = session_create();
  p->warnings = base_text_open(&p->warning_text, &p->warning_bytes);
}

WseStatus wse_open(const char *path, const WseOptions *options, WseProgram **program)
{
  WseProgram *p = create_handle(program);
  if (!p)
    return program ? WSE_NO_MEMORY : WSE_USAGE;
  ENTER(p);
  begin_handle(p);
  WseStatus status = join_ranks(p);
  if (status == WSE_OK)
    status = set_options(p, options);
  if (status == WSE_OK)
    status = open_session(p, path);
  host_debugger_opened(p->debugger, p->session, status);
  p->opened = status == WSE_OK;
  return status;
}

WseStatus wse_open_core(const char *path, const char *core, WseProgram **program)
{
  WseProgram *p = create_handle(program);
  if (!p)
    return program ? WSE_NO_MEMORY : WSE_USAGE;
  ENTER(p);
  begin_handle(p);
  WseStatus status = join_ranks(p);
  p->options = (HostOptions){.session = {.warnings = p->warnings, .core = core}};
  if (status == WSE_OK)
    status = host_outputs_open(p->session, &p->options, &p->outputs);
  if (status == WSE_OK)
    status = core ? open_session(p, path) : report_missing(p, "core");
  p->opened = status == WSE_OK;
  return status;
}

/* The status of a call that may have ended the run, for whose files it is time then.  The run's own
 * failure is the better message. */
static WseStatus end_call(WseProgram *p, WseStatus status, bool finished)
{
  bool over = finished ? status != WSE_USAGE : status > WSE_USAGE;
  if (!over)
    return status;
  host_debugger_finish(p->debugger, p->session, status);
  WseStatus written = host_outputs_write(p->session, &p->options, p->outputs);
  if (written == WSE_OK)
    written = check_output(p, stdout, "standard output");
  if (status == WSE_OK || written == WSE_OK)
    return status == WSE_OK ? written : status;
  fputs(session_error(p->session)->message, p->warnings);
  return session_ended(p->session);
}

static WseStatus write_rest(WseProgram *p)
{
  ENTER(p);
  return host_outputs_write(p->session, &p->options, p->outputs);
}

static void close_program(WseProgram *p)
{
  if (p->opened)
    write_rest(p);
  if (p->opened)
    host_debugger_finish(p->debugger, p->session, WSE_OK);
  if (p->lost) {                /* what was being changed is half changed: it stays where it is */
    free(p);
    return;
  }
  session_close(p->session);
  dap_close(p->debugger);
  host_outputs_close(p->outputs);
  arrfree(p->options.actions);
  if (p->sim_log)
    fclose(p->sim_log);
  if (p->warnings)
    fclose(p->warnings);
  free(p->warning_text);
  free(p->warnings_told);
  free(p->statistics);
  free(p);
}

void wse_close(WseProgram *p)
{
  if (p && !p->cluster)         /* else its cluster closes it */
    close_program(p);
}

const WseError *wse_error(const WseProgram *p)
{
  if (p && !p->lost)
    return session_error(p->session);
  static const WseError none = {WSE_USAGE, "no program, or out of memory", 0, -1, -1};
  return p ? &no_memory : &none;
}

/* The caller gets the findings as soon as it asks: it may never come to the end of the run, because
 * what it has read is wrong. */
const char *wse_warnings(WseProgram *p)
{
  if (p && p->warnings && !p->lost && session_has_run(p->session))
    session_warn_hazards(p->session);
  if (!p || !p->warnings || fflush(p->warnings) || p->warning_bytes == 0)
    return NULL;
  free(p->warnings_told);
  p->warnings_told = strndup(p->warning_text, p->warning_bytes);   /* without memory: none */
  rewind(p->warnings);               /* the next text is written over this one */
  return p->warnings_told;
}

/* What a call returns whose handle is not usable. */
static WseStatus unusable_status(const WseProgram *p)
{
  return p && p->lost ? WSE_NO_MEMORY : WSE_USAGE;
}

static bool check_usable(WseProgram *p)
{
  if (p && p->opened)
    return true;
  if (p && !p->lost) {
    diag_handle_unusable(session_diags(p->session), HOST_NOWHERE);
    session_usage(p->session);
  }
  return false;
}

WseStatus wse_geometry(WseProgram *p, WseGeometry *geometry)
{
  if (!check_usable(p))
    return unusable_status(p);
  if (!geometry)
    return report_missing(p, "geometry");
  const Image *image = session_image(p->session);
  *geometry = (WseGeometry){
    .width = image->width, .height = image->height, .fabric_width = image->fabric_width,
    .fabric_height = image->fabric_height, .offset_x = image->offset_x,
    .offset_y = image->offset_y, .arch = machine_get(image->arch)->name,
    .has_memcpy = image->memcpy,
  };
  return WSE_OK;
}

uint32_t wse_symbol_count(const WseProgram *p)
{
  return p && p->opened ? session_image(p->session)->n_exports : 0;
}

static WseStatus report_symbol_number(WseProgram *p, uint32_t id)
{
  diag_symbol_number(session_diags(p->session), HOST_NOWHERE, id);
  return session_usage(p->session);
}

WseStatus wse_symbol_at(WseProgram *p, uint32_t id, WseSymbol *symbol)
{
  if (!check_usable(p))
    return unusable_status(p);
  ENTER(p);
  if (!symbol)
    return report_missing(p, "symbol");
  if (id >= session_image(p->session)->n_exports)
    return report_symbol_number(p, id);
  const ImageExport *export = &session_image(p->session)->exports[id];
  *symbol = (WseSymbol){
    .id = id, .name = export->name, .type = export->type,
    .is_function = export->kind == EXPORT_FUNCTION, .is_mutable = export->is_mutable,
    .element_bytes = export->element_bytes, .element_class = export->element_class,
    .extent = (uint16_t)session_extent(p->session, id), .n_params = export->n_params,
    .param_bytes = export->param_bytes, .param_class = export->param_class,
  };
  return WSE_OK;
}

WseStatus wse_symbol(WseProgram *p, const char *name, WseSymbol *symbol)
{
  if (!check_usable(p))
    return unusable_status(p);
  ENTER(p);
  if (!name)
    return report_missing(p, "name");
  int64_t id = session_export(p->session, name);
  return id < 0 ? WSE_USAGE : wse_symbol_at(p, (uint32_t)id, symbol);
}

WseStatus wse_param_range(WseProgram *p, uint32_t function, uint32_t param, int64_t *least,
                          uint64_t *most)
{
  if (!check_usable(p))
    return unusable_status(p);
  ENTER(p);
  if (!least || !most)
    return report_missing(p, !least ? "least" : "most");
  const Image *image = session_image(p->session);
  if (function >= image->n_exports)
    return report_symbol_number(p, function);
  const ImageExport *export = &image->exports[function];
  if (param >= export->n_params) {
    diag_param_number(session_diags(p->session), HOST_NOWHERE, export->name, export->type, param);
    return session_usage(p->session);
  }
  ElementType type = element_type_of_param(session_program(p->session)->machine, export, param);
  bool is_float = type.element_class == 'f';
  *least = is_float ? 0 : element_least(type);
  *most = is_float ? 0 : element_most(type);
  return WSE_OK;
}

size_t wse_transfer_words(const WseTransfer *transfer)
{
  if (!transfer)
    return 0;
  HostShape shape = host_shape(transfer);
  return (size_t)shape.rows * shape.columns * shape.elements;
}

/* What no later check looks at. */
static WseStatus check_form(WseProgram *p, const WseTransfer *t, const uint32_t *words)
{
  if (!t)
    return report_missing(p, "transfer");
  if (!words && t->elements)
    return report_missing(p, "words");
  if ((unsigned)t->order > WSE_COL_MAJOR)
    return bad_choice(p, "order", t->order);
  if ((unsigned)t->broadcast > WSE_SAME_IN_ROW)
    return bad_choice(p, "broadcast", t->broadcast);
  return WSE_OK;
}

WseStatus wse_h2d(WseProgram *p, const WseTransfer *transfer, const uint32_t *words, WseTask *task)
{
  if (!check_usable(p))
    return unusable_status(p);
  ENTER(p);
  WseStatus status = check_form(p, transfer, words);
  return status == WSE_OK ? end_call(p, session_h2d(p->session, transfer, words, task), false)
                          : status;
}

WseStatus wse_d2h(WseProgram *p, const WseTransfer *transfer, uint32_t *words, WseTask *task)
{
  if (!check_usable(p))
    return unusable_status(p);
  ENTER(p);
  WseStatus status = check_form(p, transfer, words);
  return status == WSE_OK ? end_call(p, session_d2h(p->session, transfer, words, task), false)
                          : status;
}

WseStatus wse_launch(WseProgram *p, uint32_t function, const uint32_t *args, uint32_t n_args,
                     WseTask *task)
{
  if (!check_usable(p))
    return unusable_status(p);
  ENTER(p);
  if (!args && n_args)
    return report_missing(p, "args");
  return end_call(p, session_launch(p->session, function, args, n_args, task), false);
}

WseStatus wse_run(WseProgram *p, uint64_t cycles)
{
  if (!check_usable(p))
    return unusable_status(p);
  ENTER(p);
  return end_call(p, session_run(p->session, cycles), false);
}

WseStatus wse_wait(WseProgram *p, WseTask task)
{
  if (!check_usable(p))
    return unusable_status(p);
  ENTER(p);
  return end_call(p, session_wait(p->session, task), false);
}

static WseStatus ask_done(WseProgram *p, WseTask task, bool *done)
{
  ENTER(p);
  *done = session_is_done(p->session, task);
  return WSE_OK;
}

bool wse_is_done(WseProgram *p, WseTask task)
{
  bool done = true;
  return !p || !p->opened || ask_done(p, task, &done) != WSE_OK || done;
}

WseStatus wse_finish(WseProgram *p)
{
  if (!check_usable(p))
    return unusable_status(p);
  ENTER(p);
  WseStatus status = end_call(p, session_finish(p->session), true);
  return status == WSE_OK ? check_output(p, p->sim_log, "what tiles have printed") : status;
}

WseStatus wse_give_up(WseProgram *p)
{
  if (!check_usable(p))
    return unusable_status(p);
  ENTER(p);
  return end_call(p, session_give_up(p->session), false);
}

void wse_interrupt(WseProgram *p)
{
  if (p && !p->lost)
    session_interrupt(p->cluster ? p->cluster->lead->session : p->session);
}

uint64_t wse_cycle(const WseProgram *p)
{
  return p && p->opened ? session_cycle(p->session) : 0;
}

const char *wse_statistics(WseProgram *p)
{
  if (!check_usable(p))
    return "{}";
  free(p->statistics);
  p->statistics = NULL;
  HostStats stats = session_stats(p->session);
  p->statistics = host_stats_json(&stats);
  return p->statistics;
}

WseStatus wse_read_symbol(WseProgram *p, uint32_t x, uint32_t y, const char *name, void *bytes,
                          size_t capacity, size_t *size)
{
  if (!check_usable(p))
    return unusable_status(p);
  ENTER(p);
  if (!name || !size || (!bytes && capacity))
    return report_missing(p, !name ? "name" : !size ? "size" : "bytes");
  WseTransfer place = {.x = x, .y = y, .width = 1, .height = 1};
  if (!host_region_ok(p->session, &place))
    return session_usage(p->session);
  return session_read_symbol(p->session, program_tile(session_program(p->session), x, y), name,
                             bytes, capacity, size);
}

const char *wse_symbol_name(WseProgram *p, uint32_t x, uint32_t y, uint32_t index)
{
  WseTransfer place = {.x = x, .y = y, .width = 1, .height = 1};
  if (!check_usable(p))
    return NULL;
  if (!host_region_ok(p->session, &place)) {
    session_usage(p->session);
    return NULL;
  }
  const Program *program = session_program(p->session);
  const ClassCode *cls = program_class(program, program_tile(program, x, y));
  return cls && index < cls->image->n_symbols ? cls->image->symbols[index].name : NULL;
}

/* ---- cores ---------------------------------------------------------------------------------- */

WseStatus wse_dump_core(WseProgram *p, const char *path)
{
  if (!check_usable(p))
    return unusable_status(p);
  ENTER(p);
  return path ? session_dump_core(p->session, path) : report_missing(p, "path");
}

/* ---- snapshots, steps, registers ------------------------------------------------------------ */

/* Whether a call about a tile can be made; else the status that it returns. */
static bool check_tile(WseProgram *p, uint32_t x, uint32_t y, const void *pointer,
                       const char *what, WseStatus *status)
{
  WseTransfer place = {.x = x, .y = y, .width = 1, .height = 1};
  *status = check_usable(p) ? WSE_OK : unusable_status(p);
  if (*status == WSE_OK && !pointer)
    *status = report_missing(p, what);
  if (*status == WSE_OK && !host_region_ok(p->session, &place))
    *status = session_usage(p->session);
  return *status == WSE_OK;
}

static uint32_t tile_at(const WseProgram *p, uint32_t x, uint32_t y)
{
  return program_tile(session_program(p->session), x, y);
}

WseStatus wse_port_send(WseProgram *p, uint32_t port, const uint32_t *words, size_t n, bool control)
{
  if (!check_usable(p))
    return unusable_status(p);
  ENTER(p);
  return words || !n ? session_port_send(p->session, port, words, n, control)
                     : report_missing(p, "words");
}

WseStatus wse_port_take(WseProgram *p, uint32_t port, uint32_t *words, size_t max, size_t *n)
{
  if (!check_usable(p))
    return unusable_status(p);
  ENTER(p);
  return n && (words || !max) ? session_port_take(p->session, port, words, max, n)
                              : report_missing(p, n ? "words" : "n");
}

WseStatus wse_port_left(WseProgram *p, uint32_t port, size_t *n)
{
  if (!check_usable(p))
    return unusable_status(p);
  ENTER(p);
  return n ? session_port_left(p->session, port, n) : report_missing(p, "n");
}

WseStatus wse_write_symbol(WseProgram *p, uint32_t x, uint32_t y, const char *name,
                           const void *bytes, size_t size)
{
  WseStatus status;
  if (!check_tile(p, x, y, name, "name", &status))
    return status;
  ENTER(p);
  return bytes || !size ? session_write_symbol(p->session, tile_at(p, x, y), name, bytes, size)
                        : report_missing(p, "bytes");
}

WseStatus wse_launch_later(WseProgram *p, uint32_t function, const uint32_t *args,
                           uint32_t n_args)
{
  WseTask task;
  if (!check_usable(p))
    return unusable_status(p);
  ENTER(p);
  if (!args && n_args)
    return report_missing(p, "args");
  return session_launch_begin(p->session, function, args, n_args, &task);
}

WseStatus wse_snapshot_take(WseProgram *p, const WseSnapshot *before, WseSnapshot **snapshot)
{
  if (!check_usable(p))
    return unusable_status(p);
  ENTER(p);
  if (!snapshot)
    return report_missing(p, "snapshot");
  return session_snapshot(p->session, (const SessionSnapshot *)before,
                          (SessionSnapshot **)snapshot);
}

WseStatus wse_snapshot_restore(WseProgram *p, const WseSnapshot *snapshot)
{
  if (!check_usable(p))
    return unusable_status(p);
  ENTER(p);
  return snapshot ? session_go_back(p->session, (const SessionSnapshot *)snapshot)
                  : report_missing(p, "snapshot");
}

uint64_t wse_snapshot_cycle(const WseSnapshot *snapshot)
{
  return snapshot ? session_snapshot_cycle((const SessionSnapshot *)snapshot) : 0;
}

void wse_snapshot_free(WseSnapshot *snapshot)
{
  session_snapshot_free((SessionSnapshot *)snapshot);
}

WseStatus wse_step(WseProgram *p, uint32_t x, uint32_t y, WseStep unit, uint64_t count,
                   uint64_t max_cycles, bool *reached)
{
  WseStatus status;
  if (!check_tile(p, x, y, reached, "reached", &status))
    return status;
  if ((unsigned)unit > WSE_STEP_TASK)
    return bad_choice(p, "unit", unit);
  ENTER(p);
  return end_call(p, session_step_tile(p->session, tile_at(p, x, y), unit, count, max_cycles,
                                       reached), false);
}

WseStatus wse_run_until(WseProgram *p, const WseStop *stops, size_t n, uint64_t max_cycles,
                        size_t *which)
{
  if (!check_usable(p))
    return unusable_status(p);
  if (!which || (!stops && n))
    return report_missing(p, which ? "stops" : "which");
  for (size_t i = 0; i < n; i++) {
    WseStatus status;
    if (!check_tile(p, stops[i].x, stops[i].y, stops, "stops", &status))
      return status;
    if ((unsigned)stops[i].kind > WSE_STOP_CHANGE)
      return bad_choice(p, "kind", stops[i].kind);
  }
  ENTER(p);
  return end_call(p, session_run_until(p->session, stops, n, max_cycles, which), false);
}

WseStatus wse_read_register(WseProgram *p, uint32_t x, uint32_t y, const char *name,
                            uint16_t *value)
{
  WseStatus status;
  if (!check_tile(p, x, y, name ? (const void *)value : NULL, name ? "value" : "name", &status))
    return status;
  ENTER(p);
  return session_register(p->session, tile_at(p, x, y), name, value, false);
}

WseStatus wse_write_register(WseProgram *p, uint32_t x, uint32_t y, const char *name,
                             uint16_t value)
{
  WseStatus status;
  if (!check_tile(p, x, y, name, "name", &status))
    return status;
  ENTER(p);
  return session_register(p->session, tile_at(p, x, y), name, &value, true);
}

const char *wse_version(void)
{
  return host_version();
}

/* ---- clusters -------------------------------------------------------------------------------- */

/* The message of the wafer's program becomes that of the cluster. */
static WseStatus open_wafer(WseCluster *c, unsigned wafer, const WseOptions *given)
{
  WseProgram *p = base_zeroed(1, sizeof *p);
  arrput(c->programs, p);
  p->cluster = c;
  p->wafer = wafer;
  begin_handle(p);
  WseStatus status = set_options(p, given);
  if (status == WSE_OK)
    status = session_open(p->session, p->options.program, &p->options.session);
  p->opened = status == WSE_OK;
  if (status != WSE_OK)
    session_fail_as(c->lead->session, session_error(p->session),
                    c->host.plan.wafers[wafer].name);
  return status;
}

/* The lead has no files: the wafers have them. */
static WseStatus open_lead(WseCluster *c, const char *path, const WseOptions *given)
{
  WseProgram *lead = c->lead;
  WseOptions own = given ? *given : (WseOptions){.check = WSE_CHECK_ERROR};
  own.sim_log = NULL;
  begin_handle(lead);
  lead->cluster = c;
  WseStatus status = join_ranks(lead);
  if (status == WSE_OK)
    status = path ? read_options(lead, &own) : report_missing(lead, "path");
  if (status != WSE_OK)
    return status;
  lead->options.cluster = arena_copy_text(session_arena(lead->session), path, strlen(path));
  return host_cluster_open(lead->session, &lead->options, &c->host);
}

WseStatus wse_cluster_open(const char *path, const WseOptions *options, WseCluster **cluster)
{
  WseCluster *c = cluster ? *cluster = calloc(1, sizeof *c) : NULL;
  if (!c || !(c->lead = calloc(1, sizeof *c->lead)))
    return cluster ? WSE_NO_MEMORY : WSE_USAGE;
  ENTER(c->lead);
  WseStatus status = open_lead(c, path, options);
  for (unsigned i = 0; status == WSE_OK && i < arrlenu(c->host.members); i++)
    status = open_wafer(c, i, options);
  return status;
}

const WseError *wse_cluster_error(const WseCluster *c) { return wse_error(c ? c->lead : NULL); }

const char *wse_cluster_wafer(const WseCluster *c, uint32_t index, const char **image)
{
  if (!c || index >= arrlenu(c->programs))
    return NULL;
  if (image)
    *image = c->host.plan.wafers[index].image;
  return c->host.plan.wafers[index].name;
}

WseProgram *wse_cluster_program(WseCluster *c, uint32_t index)
{
  return c && index < arrlenu(c->programs) ? c->programs[index] : NULL;
}

void wse_cluster_close(WseCluster *c)
{
  if (!c || !c->lead || c->lead->lost)    /* what was being changed stays where it is */
    return;
  for (size_t i = 0; i < arrlenu(c->programs); i++)
    close_program(c->programs[i]);
  arrfree(c->programs);
  host_cluster_close(&c->host);
  close_program(c->lead);
  free(c);
}
