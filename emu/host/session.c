/* A session: one program on one engine, host operations in order.
 *
 * Commands (copies, launches) are carried out one after the other; a command that is not waited
 * for stays queued behind those before it, while streams, which have colors of their own, go out
 * at once.  The engine runs only while somebody waits. */
#include "emu/host/session_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <stb_ds.h>

enum {
  MOST_TILES_SHOWN = 16, MOST_LINES = 25, NAMES_IN_NOTE = 12,
  MOST_PHASES = 4096
};

/* ---- errors ----------------------------------------------------------------------------- */

Session *session_create(void)
{
  Session *s = base_malloc(sizeof *s);
  *s = (Session){.sources = source_map_create(), .first_id = 1};
  s->diags = diags_create(s->sources);
  s->arena = arena_create("emulated program");
  s->error = (WseError){.status = WSE_OK, .message = "", .x = -1, .y = -1};
  return s;
}

const WseError *session_error(const Session *s) { return &s->error; }
Diags *session_diags(Session *s) { return s->diags; }
const Image *session_image(const Session *s) { return s->image; }
Program *session_program(const Session *s) { return s->program; }
Arena *session_arena(const Session *s) { return s->arena; }
uint64_t session_cycle(const Session *s) { return s->engine ? s->ops->cycle(s->engine) : 0; }
bool session_has_run(const Session *s) { return s->started; }
void session_expect_launches(Session *s, bool more) { s->more_launches = more; }

static WseStatus set_error(Session *s, WseStatus status, char *text)
{
  free(s->error_text);
  s->error_text = text;
  s->error = (WseError){.status = status, .message = text, .cycle = session_cycle(s),
                        .x = -1, .y = -1};
  return status;
}

/* What was printed and traced so far is there to be read. */
static void flush_outputs(Session *s)
{
  if (s->printed)
    fflush(s->options.print_out);
  if (s->options.trace_out)
    fflush(s->options.trace_out);
  s->printed = false;
}

/* The error of now is the one that every later operation gets. */
static WseStatus end_run(Session *s)
{
  flush_outputs(s);
  s->ended = true;
  s->final_error = s->error;
  s->final_error.message = arena_copy_text(s->arena, s->error.message, strlen(s->error.message));
  return s->error.status;
}

static void flush_diags(Session *s, FILE *out)
{
  if (out)
    diags_flush(s->diags, out, DIAG_FORMAT_TEXT);
  /* The same mistake is worth the same message again: diags forget nothing, so start anew. */
  diags_destroy(s->diags);
  s->diags = diags_create(s->sources);
}

WseStatus session_usage(Session *s)
{
  char *text = NULL;
  size_t size;
  FILE *out = base_text_open(&text, &size);
  flush_diags(s, out);
  base_text_close(out, &text);
  return set_error(s, WSE_USAGE, text);
}

void session_warn(Session *s) { flush_diags(s, s->options.warnings); }

static void note_exports(Session *s)
{
  Diags *d = s->diags;
  Arena *scratch = diags_scratch(d);
  char *list = arena_printf(scratch, "nothing");
  for (uint32_t i = 0; i < s->image->n_exports && i < NAMES_IN_NOTE; i++)
    list = arena_printf(scratch, "%s%s%s", i ? list : "", i ? ", " : "",
                        s->image->exports[i].name);
  if (s->image->n_exports > NAMES_IN_NOTE)
    list = arena_printf(scratch, "%s, ...", list);
  diag_symbols_exported(d, HOST_NOWHERE, list);
}

int64_t session_export(Session *s, const char *name)
{
  const Image *image = s->image;
  const char **names = base_malloc(sizeof *names * (image->n_exports + 1));
  for (uint32_t i = 0; i < image->n_exports; i++) {
    names[i] = image->exports[i].name;
    if (strcmp(names[i], name) == 0) {
      free(names);
      return i;
    }
  }
  diag_symbol_unknown(s->diags, HOST_NOWHERE, name);
  const char *near = base_nearest(name, names, image->n_exports);
  if (near)
    diag_symbol_nearest(s->diags, HOST_NOWHERE, near);
  else
    note_exports(s);
  free(names);
  session_usage(s);
  return -1;
}

/* ---- opening ---------------------------------------------------------------------------- */

static void index_bindings(Session *s)
{
  const Image *image = s->image;
  size_t n = (size_t)image->n_classes * image->n_exports;
  s->bindings = arena_many(s->arena, const ImageBinding *, n + 1);
  for (uint32_t c = 0; c < image->n_classes; c++) {
    const ImageClass *cls = &image->classes[c];
    for (uint32_t b = 0; b < cls->n_bindings; b++)
      if (cls->bindings[b].present)
        s->bindings[(size_t)c * image->n_exports + cls->bindings[b].export_index] =
            &cls->bindings[b];
  }
}

const ImageBinding *session_binding(const Session *s, uint32_t tile, uint32_t export_index)
{
  uint32_t cls = s->image->tile_class[tile];
  return cls == IMAGE_NO_CLASS ? NULL
                               : s->bindings[(size_t)cls * s->image->n_exports + export_index];
}

uint32_t session_extent(const Session *s, uint32_t export_index)
{
  for (uint32_t c = 0; c < s->image->n_classes; c++) {
    const ImageBinding *b = s->bindings[(size_t)c * s->image->n_exports + export_index];
    if (b && b->extent)
      return b->extent;
  }
  return 0;
}

uint32_t session_tile_extent(const Session *s, uint32_t tile, uint32_t export_index)
{
  const ImageBinding *b = session_binding(s, tile, export_index);
  return b ? b->extent : 0;
}

/* Tiles may send on a color that nobody routes: with memcpy, those are streams to the host.  A
 * tile may send before the host has asked, so they are known from the start. */
static uint32_t unrouted_colors(const Image *image)
{
  uint32_t routed = 0;
  for (uint32_t i = 0; i < image->n_color_sets; i++)
    for (uint32_t k = 0; k < image->color_sets[i].n; k++)
      routed |= 1u << image->color_sets[i].uses[k].color;
  return ~routed & ((1u << machine_get(image->arch)->colors) - 1);
}

static void print_byte(void *context, uint64_t cycle, uint32_t tile, uint8_t byte)
{
  Session *s = context;
  if (!s->prints) {
    s->prints = base_malloc(sizeof *s->prints * s->program->n_tiles);
    memset(s->prints, 0, sizeof *s->prints * s->program->n_tiles);
  }
  if (byte != '\n') {
    arrput(s->prints[tile], (char)byte);
    return;
  }
  FILE *out = s->options.print_out;
  fprintf(out, "@%" PRIu64 " ", cycle);
  if (!s->options.print_bare)
    fprintf(out, "P%u.%u: ", program_x(s->program, tile), program_y(s->program, tile));
  fwrite(s->prints[tile], 1, arrlenu(s->prints[tile]), out);
  putc('\n', out);
  s->printed = true;
  arrsetlen(s->prints[tile], 0);
}

static WseStatus make_engine(Session *s)
{
  const SessionOptions *o = &s->options;
  if (!observers_create(s))
    return session_usage(s);
  EngineOptions options = {.check = o->check, .checks = o->checks,
                           .threads = o->threads ? o->threads : 1,
                           .trace = s->trace.kinds ? &s->trace : NULL,
                           .interrupt = &s->interrupt,
                           .print = o->print_out ? print_byte : NULL, .print_context = s};
  s->ops = o->engine ? o->engine : &HOST_DEFAULT_ENGINE;
  s->engine = s->ops->create(s->program, &options);
  unsigned channels = s->image->channels ? s->image->channels : 1;
  for (unsigned i = 0; i < channels; i++)
    arrput(s->channels, (HostChannel){0});
  return WSE_OK;
}

static uint64_t image_bound(const void *context, const char *start, size_t length)
{
  (void)context;
  return image_announced_bytes(start, length);
}

static char *read_image(Session *s, const char *path, size_t *length)
{
  struct stat info;
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
    path = arena_printf(s->arena, "%s/prog.bin", path);
  char *bytes = file_read_bounded(path, image_bound, NULL, length);
  if (!bytes)
    diag_image_unreadable(s->diags, HOST_NOWHERE, path, strerror(errno));
  return bytes;
}

WseStatus session_open(Session *s, const char *path, const SessionOptions *options)
{
  double start = host_seconds();
  size_t length;
  const char *reason = NULL;
  s->options = *options;
  if (!s->options.max_cycles)
    s->options.max_cycles = HOST_DEFAULT_MAX_CYCLES;
  char *bytes = read_image(s, path, &length);
  if (!bytes)
    return session_usage(s);
  s->image = image_read((const uint8_t *)bytes, length, s->arena, &reason);
  free(bytes);
  if (!s->image) {
    diag_image_unreadable(s->diags, HOST_NOWHERE, path, reason ? reason : "not an image");
    return session_usage(s);
  }
  s->program = program_load(s->image, NULL, s->arena, &reason);
  if (!s->program) {
    diag_image_cannot_run(s->diags, HOST_NOWHERE, reason);
    return session_usage(s);
  }
  s->program->check_reads = options->check_reads;
  if (options->checks & CHECKS_MEMORY)
    program_check_memory(s->program);
  if (s->image->memcpy)
    s->program->host_out_colors |= unrouted_colors(s->image);
  index_bindings(s);
  WseStatus status = make_engine(s);
  s->load_seconds = host_seconds() - start;
  return status;
}

void session_close(Session *s)
{
  if (!s)
    return;
  if (s->engine)
    s->ops->destroy(s->engine);
  observers_destroy(s);
  for (uint32_t i = 0; s->prints && i < s->program->n_tiles; i++)
    arrfree(s->prints[i]);
  free(s->prints);
  for (size_t i = 0; i < arrlenu(s->operations); i++)
    free(s->operations[i].received);
  arrfree(s->operations);
  arrfree(s->channels);
  arrfree(s->phases);
  free(s->unblocks_expected);
  free(s->error_text);
  diags_destroy(s->diags);
  source_map_destroy(s->sources);
  arena_destroy(s->arena);
  free(s);
}

/* ---- running ---------------------------------------------------------------------------- */

/* The findings of a level: stb_ds. */
static Fault *faults_of(const Session *s, CheckLevel level, size_t from)
{
  size_t count;
  Fault *list = NULL;
  const Fault *faults = s->ops->faults(s->engine, &count);
  for (size_t i = from; i < count; i++)
    if (fault_level(faults[i].kind, s->options.check, s->options.checks) == level)
      arrput(list, faults[i]);
  return list;
}

static WseStatus fault_error(Session *s)
{
  Fault *faults = faults_of(s, CHECK_ERROR, 0);
  size_t size;
  char *text = NULL;
  FILE *out = base_text_open(&text, &size);
  faults_print(s->program, s->engine, faults, arrlenu(faults), "", out);
  base_text_close(out, &text);
  set_error(s, WSE_FAULT, text);
  if (arrlenu(faults)) {
    s->error.cycle = faults->cycle;
    s->error.x = (int32_t)program_x(s->program, faults->tile);
    s->error.y = (int32_t)program_y(s->program, faults->tile);
  }
  arrfree(faults);
  return end_run(s);
}

WseStatus session_ended(Session *s)
{
  if (s->ended) {
    s->error = s->final_error;
    return s->error.status;
  }
  if (s->engine)
    return WSE_OK;
  diag_handle_unusable(s->diags, HOST_NOWHERE);
  return session_usage(s);
}

/* The phase of a new action: its own, or from the MOST_PHASES-th on the one of its name. */
static size_t phase_for(Session *s, const char *action, uint64_t now)
{
  size_t n = arrlenu(s->phases);
  for (size_t i = MOST_PHASES; i < n; i++)
    if (strcmp(s->phases[i].action, action) == 0)
      return i;
  arrput(s->phases, ((HostPhase){
    .action = arena_copy_text(s->arena, action, strlen(action)), .start = now, .end = now}));
  return n;
}

void session_phase(Session *s, bool is_program, const char *verb, const char *what)
{
  const HostPhase *last = arrlenu(s->phases) ? &s->phases[s->phase] : NULL;
  char action[256];
  snprintf(action, sizeof action, "%s%s%s", verb, *what ? " " : "", what);
  uint64_t now = session_cycle(s);
  s->phase_is_program = is_program;
  if (last && strcmp(last->action, action) == 0 && s->phase_before.end == now && last->end == now)
    return;                          /* nothing has happened in it yet */
  s->phase = phase_for(s, action, now);
  HostPhase *phase = &s->phases[s->phase];
  phase->count++;
  s->phase_before = *phase;
  s->phase_before.end = now;
  s->ops->phase_begin(s->engine);
}

/* A phase's cycles: between its first and last event if it runs the program, none if it only
 * moves data of the host.  What remains of a phase with memcpy is the host's. */
static void account(Session *s)
{
  HostPhase *phase = &s->phases[s->phase];
  const HostPhase *before = &s->phase_before;
  const EngineStats *stats = s->ops->stats(s->engine);
  bool active = stats->first_event <= stats->last_event;
  phase->end = session_cycle(s);
  if (s->phase_is_program && active)
    phase->cycles = before->cycles + stats->last_event - stats->first_event + 1;
  if (!s->phase_is_program)
    phase->host_cycles = before->host_cycles + phase->end - before->end;
  else if (s->phase_has_command && active)
    phase->host_cycles = before->host_cycles + stats->first_event - before->end;
}

static WseStatus limit_error(Session *s, uint64_t limit)
{
  char *text = NULL;
  size_t size;
  FILE *out = base_text_open(&text, &size);
  diag_cycle_limit(s->diags, HOST_NOWHERE, limit);
  flush_diags(s, out);
  busy_report(s->engine, s->program, MOST_TILES_SHOWN, out);
  base_text_close(out, &text);
  set_error(s, WSE_CYCLE_LIMIT, text);
  return end_run(s);
}

void session_interrupt(Session *s) { atomic_store(&s->interrupt, 1); }

bool session_is_partial(const Session *s)
{
  return s->engine && (s->ended ? s->final_error.status == WSE_INTERRUPTED : !s->finishing);
}

static WseStatus interrupted_error(Session *s)
{
  char *text = base_print("error: the run was interrupted at cycle %" PRIu64 "\n",
                          session_cycle(s));
  set_error(s, WSE_INTERRUPTED, text);
  return end_run(s);
}

WseStatus session_step(Session *s, uint64_t limit, bool *quiet)
{
  if (limit > s->options.max_cycles)
    limit = s->options.max_cycles;
  double start = host_seconds();
  s->started = true;
  RunStatus status = s->ops->run(s->engine, observers_limit(s, limit));
  s->wall_seconds += host_seconds() - start;
  account(s);
  s->quiet = status == RUN_QUIET;
  *quiet = status == RUN_QUIET;
  if (status == RUN_FAULT)
    return fault_error(s);
  if (status == RUN_INTERRUPTED)
    return interrupted_error(s);
  if (observers_stopped(s, status)) {
    set_error(s, WSE_CYCLE_LIMIT, observers_stop_text(s));
    return end_run(s);
  }
  if (status == RUN_LIMIT && limit == s->options.max_cycles)
    return limit_error(s, limit);
  return WSE_OK;
}

WseStatus session_until_quiet(Session *s)
{
  bool quiet;
  WseStatus status = session_step(s, UINT64_MAX, &quiet);
  if (status == WSE_OK)
    session_collect(s);
  return status;
}

WseStatus session_stuck(Session *s, const IdleQuestion *question, const char *why)
{
  IdleQuestion asked = *question;
  asked.left_is_error = s->finishing && s->options.left_is_error;
  IdleState state = idle_classify(s->engine, s->program, &asked);
  if (question->unblock_missing || question->stream_short)
    state = IDLE_STUCK;
  size_t size;
  char *text = NULL;
  if (state == IDLE_DONE)
    return WSE_OK;
  FILE *out = base_text_open(&text, &size);
  if (state == IDLE_STUCK)
    fprintf(out, "error: deadlock at cycle %" PRIu64 ": nothing can happen any more, but %s\n",
            session_cycle(s), why ? why : "the program waits");
  else
    fprintf(out, "%s: at cycle %" PRIu64 " the fabric is quiet with %s\n",
            state == IDLE_LEFT ? "error" : "warning", session_cycle(s),
            state == IDLE_LEFT ? "wavelets left behind" : "work left undone");
  deadlock_report(s->engine, s->program, question, MOST_LINES - 1, out);
  base_text_close(out, &text);
  if (state == IDLE_WARNINGS) {
    if (s->options.warnings && s->warned_of != session_cycle(s) + 1)
      fputs(text, s->options.warnings);
    s->warned_of = session_cycle(s) + 1;
    free(text);
    return WSE_OK;
  }
  set_error(s, state == IDLE_LEFT ? WSE_FAULT : WSE_DEADLOCK, text);
  return end_run(s);
}

/* Before the first host action with memcpy: the tiles' own start is over and they wait for
 * commands, so that its cycles are not mixed with those of the action; unless they never rest. */
WseStatus session_start(Session *s)
{
  if (s->started || !s->image->memcpy)
    return WSE_OK;
  session_phase(s, true, "start", "");
  s->phase_has_command = false;
  bool quiet;
  WseStatus status = session_step(s, session_cycle(s) + SESSION_PATIENCE_CYCLES, &quiet);
  if (status == WSE_OK)
    session_collect(s);
  return status;
}

WseStatus session_run(Session *s, uint64_t cycles)
{
  WseStatus status = session_ended(s);
  bool quiet;
  if (status != WSE_OK)
    return status;
  uint64_t now = session_cycle(s);
  session_phase(s, true, "run", "");
  s->phase_has_command = false;
  status = session_step(s, cycles && cycles < UINT64_MAX - now ? now + cycles : UINT64_MAX,
                        &quiet);
  if (status == WSE_OK)
    session_collect(s);
  if (status != WSE_OK || !quiet)
    return status;
  return session_stuck(s, &(IdleQuestion){.host = s->image->memcpy || s->more_launches}, NULL);
}

static void warn_hazards(Session *s)
{
  Fault *faults = faults_of(s, CHECK_WARN, s->hazards_told);
  if (s->options.warnings)
    faults_print(s->program, s->engine, faults, arrlenu(faults), "warning, not an ",
                 s->options.warnings);
  s->ops->faults(s->engine, &s->hazards_told);
  arrfree(faults);
}

/* 0: no limit, since nobody but the program says when it is over. */
static uint64_t cycles_to_rest(const Session *s)
{
  uint64_t now = session_cycle(s);
  if (!s->image->memcpy)
    return 0;
  return SESSION_PATIENCE_CYCLES + (s->posted_until > now ? s->posted_until - now : 0);
}

WseStatus session_finish(Session *s)
{
  s->finishing = true;
  WseStatus status = session_ended(s);
  if (status == WSE_OK)
    status = session_drain(s);
  if (status == WSE_OK && !s->quiet)   /* not started, or words of streams are still on their way */
    status = session_run(s, cycles_to_rest(s));
  else if (status == WSE_OK)
    status = session_stuck(s, &(IdleQuestion){.host = s->image->memcpy}, NULL);
  if (s->engine) {
    warn_hazards(s);
    flush_outputs(s);
  }
  return status;
}

/* ---- memory without the device ---------------------------------------------------------- */

bool session_data_address(Session *s, uint32_t tile, const ImageBinding *binding,
                          uint32_t *address)
{
  uint8_t word[2];
  *address = binding->address;
  if (!binding->is_pointer)
    return true;
  if (!s->ops->mem_read(s->engine, tile, binding->address, word, sizeof word))
    return false;
  *address = (uint32_t)(word[0] | word[1] << 8);
  return true;
}

bool session_peek(Session *s, uint32_t tile, const ImageBinding *binding, uint32_t bytes, void *to)
{
  uint32_t address;
  return session_data_address(s, tile, binding, &address) &&
         s->ops->mem_read(s->engine, tile, address, to, bytes);
}

bool session_poke(Session *s, uint32_t tile, const ImageBinding *binding, uint32_t bytes,
                  const void *from)
{
  uint32_t address;
  return session_data_address(s, tile, binding, &address) &&
         s->ops->mem_write(s->engine, tile, address, from, bytes);
}

static const ImageSymbol *find_symbol(const ImageClass *cls, const char *name)
{
  const ImageSymbol *found = NULL;
  for (uint32_t i = 0; i < cls->n_symbols; i++) {
    const char *full = cls->symbols[i].name, *dot = strrchr(full, '.');
    if (strcmp(full, name) == 0)
      return &cls->symbols[i];
    if (dot && strcmp(dot + 1, name) == 0 && !found)
      found = &cls->symbols[i];
  }
  return found;
}

WseStatus session_read_symbol(Session *s, uint32_t tile, const char *name, void *bytes,
                              size_t capacity, size_t *size)
{
  const ClassCode *cls = program_class(s->program, tile);
  const ImageSymbol *symbol = cls ? find_symbol(cls->image, name) : NULL;
  if (!symbol) {
    diag_symbol_not_in_tile(s->diags, HOST_NOWHERE, program_x(s->program, tile),
                            program_y(s->program, tile), name);
    return session_usage(s);
  }
  *size = symbol->bytes;
  uint32_t wanted = capacity < symbol->bytes ? (uint32_t)capacity : symbol->bytes;
  if (wanted && !s->ops->mem_read(s->engine, tile, symbol->address, bytes, wanted)) {
    diag_memory_outside(s->diags, HOST_NOWHERE, name, program_x(s->program, tile),
                        program_y(s->program, tile));
    return session_usage(s);
  }
  return WSE_OK;
}
