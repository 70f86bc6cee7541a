/* A session: one program on one engine, host operations in order.
 *
 * The session carries out commands (copies, launches) one after the other; a command without a
 * waiting caller stays queued behind those before it. Streams have colors of their own and go out
 * at once. The engine runs only while a call waits. */
#include "emu/host/session_internal.h"
#include "emu/ranks/ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <stb_ds.h>

/* ---- opening ---------------------------------------------------------------------------- */

static void index_bindings(HostSession *s)
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

/* Tiles may send on a color without a route: with memcpy, those are streams to the host.  A
 * tile may send before the host has asked, so they are known from the start. */
static uint32_t unrouted_colors(const Image *image)
{
  uint32_t routed = 0;
  for (uint32_t i = 0; i < image->n_color_sets; i++)
    for (uint32_t k = 0; k < image->color_sets[i].n; k++)
      routed |= 1u << image->color_sets[i].uses[k].color;
  return ~routed & ((1u << machine_get(image->arch)->colors) - 1);
}

/* Why the run cannot be one on several processes; NULL: it can. */
static const char *ranks_refusal(const SessionOptions *o)
{
  if (o->debugger)
    return "the debugger runs programs";
  if (o->member)                /* each wafer has one process */
    return NULL;
  if (o->engine && o->engine != &HOST_DEFAULT_ENGINE)
    return "the reference engine runs programs";
  return ranks_are_busy() ? "a second program beside an open one runs" : NULL;
}

/* Why the run cannot have a state; NULL: it can, or need not. */
static const char *state_refusal(const SessionOptions *o)
{
  if (!o->save_state && !o->load_state)
    return NULL;
  return o->debugger && o->save_state ? "the debugger keeps states of its own" : NULL;
}

/* NULL with the session's error: it cannot be used. */
static StateFile *open_state(HostSession *s, const char *path, ImageMark image)
{
  char *why = NULL;
  StatePart part = s->options.states ? cluster_states_next(s->options.states) : (StatePart){0};
  StateFile *from = state_file_open(path, part, s->program, image, &why);
  if (!from) {
    diag_state_unusable(s->diags, HOST_NOWHERE, path, why);
    session_usage(s);
  }
  free(why);
  return from;
}

/* The engine that has the state: below the debugger's, and below the recorder's. */
static Engine *state_engine(const HostSession *s)
{
  Timeline *timeline = timeline_of(s->engine);
  return timeline ? timeline_engine(timeline) : session_shown(s);
}

/* A debugger, which can go on from there, or a reader of cores opens a state to look at it. */
static WseStatus restore_core(HostSession *s, ImageMark image)
{
  char *why = NULL;
  StateFile *from = open_state(s, s->options.core, image);
  if (!from)
    return WSE_USAGE;
  Timeline *timeline = timeline_of(s->engine);
  bool done = timeline ? state_file_restore(from, state_engine(s), &why)
                       : state_file_show(from, state_engine(s), &why);
  if (!done) {
    diag_state_unusable(s->diags, HOST_NOWHERE, s->options.core, why);
    session_usage(s);
  } else if (timeline) {
    timeline_begin_here(timeline);
  }
  state_file_close(from);
  bool bad = why != NULL;
  free(why);
  return bad ? WSE_USAGE : WSE_OK;
}

static void take_up(void *context, Engine *inner) { observers_take_up(context, inner); }

/* What wse-emu and scripts run on: the state of a file, and states written to one. */
static WseStatus make_recorder(HostSession *s, ImageMark image, const EngineOptions *options)
{
  const SessionOptions *o = &s->options;
  RecorderOptions own = {o->save_state, o->save_every, image, o->member, o->states, take_up, s};
  StateFile *from = o->load_state ? open_state(s, o->load_state, image) : NULL;
  if (o->load_state && !from)
    return WSE_USAGE;
  if (from && (o->trace_kinds || o->profile || o->page || o->n_watches)) {
    diag_state_begins(s->diags, HOST_NOWHERE, state_file_cycle(from));
    session_warn(s);
  }
  s->engine = recorder_create(s->ops, s->program, options, &own, from);
  return WSE_OK;
}

/* The process that runs a wafer may be another one. */
static EngineHome home_of(const SessionOptions *o)
{
  return (EngineHome){.process = o->member ? cluster_process(*o->member) : 0,
                      .threads = o->process_threads,
                      .ops = o->engine ? o->engine : &HOST_DEFAULT_ENGINE};
}

/* The status after a report if the options ask for what does not go together. */
static WseStatus check_options(HostSession *s)
{
  const SessionOptions *o = &s->options;
  if (state_refusal(o))
    diag_state_refuse(s->diags, HOST_NOWHERE, state_refusal(o));
  else if (ranks_count() > 1 && ranks_refusal(o))
    diag_ranks_refuse(s->diags, HOST_NOWHERE, ranks_refusal(o));
  else if (session_border_refusal(o))
    diag_ports_refuse(s->diags, HOST_NOWHERE, session_border_refusal(o));
  else
    return WSE_OK;
  return session_usage(s);
}

/* What leads out of the fabric: the links to other wafers, or the ports on its border. */
static WseStatus take_links(HostSession *s, EngineOptions *options)
{
  const char *why = NULL;
  options->links = s->options.n_ports ? &s->border : NULL;
  if (!s->options.member)
    return WSE_OK;
  options->links = cluster_gates(*s->options.member, s->program, s->arena, &why);
  if (options->links)
    return WSE_OK;
  diag_cluster_link(s->diags, HOST_NOWHERE, why);
  return session_usage(s);
}

static WseStatus create_engine(HostSession *s, ImageMark image, const EngineOptions *options)
{
  const SessionOptions *o = &s->options;
  WseStatus status = WSE_OK;
  if (o->debugger)
    s->engine = timeline_create(s->ops, s->program, options, *o->debugger);
  else if (o->save_state || o->load_state)
    status = make_recorder(s, image, options);
  else
    s->engine = s->ops->create(s->program, options);
  return status;
}

static WseStatus make_engine(HostSession *s, ImageMark image)
{
  const SessionOptions *o = &s->options;
  if (check_options(s) != WSE_OK || session_border_open(s) != WSE_OK)
    return WSE_USAGE;
  bool by_others = o->member ? home_of(o).process > 0 : ranks_count() > 1;
  s->ops = by_others ? &engine_ranks : home_of(o).ops;
  if (!observers_create(s))
    return session_usage(s);
  EngineOptions options = {.check = o->check, .checks = o->checks,
                           .threads = o->threads ? o->threads : 1,
                           .trace = observers_trace(s), .switches = observers_switches(s),
                           .interrupt = o->interrupt ? o->interrupt : &s->interrupt,
                           .print = o->print_out ? session_print : NULL, .print_context = s,
                           .home = home_of(o), .counts = observers_counts(s),
                           .pulse = progress_create(s, observers_pulse(s))};
  if (take_links(s, &options) != WSE_OK || create_engine(s, image, &options) != WSE_OK)
    return WSE_USAGE;
  s->ops = s->engine->ops;
  if (o->core && restore_core(s, image) != WSE_OK)
    return WSE_USAGE;
  if (o->member)
    cluster_join(*o->member, session_is_recorded(s) ? recorder_inner(s->engine) : s->engine);
  unsigned channels = s->image->channels ? s->image->channels : 1;
  for (unsigned i = 0; i < channels; i++)
    arrput(s->channels, (HostChannel){0});
  return WSE_OK;
}

/* `output`: an image, or the compiler's output directory.  *path: of the image. */
static char *read_image(HostSession *s, const char *output, const char **path, size_t *length)
{
  struct stat info;
  bool is_folder = stat(output, &info) == 0 && S_ISDIR(info.st_mode);
  *path = arena_printf(s->arena, "%s%s", output, is_folder ? "/prog.bin" : "");
  char *bytes = image_file_read(*path, length);
  if (bytes)
    return bytes;
  bool is_missing = errno == ENOENT;
  diag_image_unreadable(s->diags, HOST_NOWHERE, *path, strerror(errno));
  if (is_missing)
    diag_image_missing(s->diags, HOST_NOWHERE, output);
  return NULL;
}

static ImageMark image_mark(const char *bytes, size_t length)
{
  return (ImageMark){image_checksum((const uint8_t *)bytes), (uint32_t)length};
}

/* `path` is the image's, of which `bytes` are the content. */
static WseStatus open_image(HostSession *s, const char *path, const char *bytes, size_t length,
                            const SessionOptions *options)
{
  const char *reason = NULL;
  s->image = image_read((const uint8_t *)bytes, length, s->arena, &reason);
  if (!s->image) {
    diag_image_unreadable(s->diags, HOST_NOWHERE, path, reason ? reason : "not an image");
    const char *ending = strrchr(path, '.');
    if (ending && strcmp(ending, ".csl") == 0)
      diag_image_is_source(s->diags, HOST_NOWHERE, path);
    return session_usage(s);
  }
  ImageMark mark = image_mark(bytes, length);
  Timing timing = *timing_get(s->image->arch);
  if (options->timing && timing_set_words(&timing, s->image->arch, options->timing, s->arena)) {
    diag_option_argument(s->diags, HOST_NOWHERE, "--timing", options->timing,
                         "rows only: the program is for wse3, and cs2 is a wafer of wse2");
    return session_usage(s);
  }
  bool check_reads = options->check_reads;
  if (options->core && !options->timing && !check_reads)        /* as its run had them */
    state_file_settings(options->core, mark, &timing, &check_reads);
  s->program = program_load(s->image, &timing, s->arena, &reason);
  if (!s->program) {
    diag_image_cannot_run(s->diags, HOST_NOWHERE, reason);
    return session_usage(s);
  }
  s->program->path = path;
  s->program->check_reads = check_reads;
  if (options->check != CHECK_OFF || options->checks & (CHECKS_MEMORY | CHECKS_ORDER))
    program_check_memory(s->program);
  if (s->image->memcpy)
    s->program->host_out_colors |= unrouted_colors(s->image);
  index_bindings(s);
  if (ranks_count() > 1)       /* alone, several threads may open programs at a time */
    ranks_offer_image(bytes, length);
  s->image_mark = mark;
  return make_engine(s, mark);
}

WseStatus session_open(HostSession *s, const char *path, const SessionOptions *options)
{
  double start = base_seconds();
  size_t length;
  s->options = *options;
  if (!s->options.max_cycles)
    s->options.max_cycles = HOST_DEFAULT_MAX_CYCLES;
  const char *file;
  char *bytes = read_image(s, path, &file, &length);
  if (!bytes)
    return session_usage(s);
  s->image_bytes = bytes;
  WseStatus status = open_image(s, file, bytes, length, options);
  s->load_seconds = base_seconds() - start;
  return status;
}

void session_close(HostSession *s)
{
  if (!s)
    return;
  session_leave_snapshots(s);
  if (s->engine)
    s->ops->destroy(s->engine);
  observers_destroy(s);
  progress_destroy(s);
  for (uint32_t i = 0; s->prints && i < s->program->n_tiles; i++)
    arrfree(s->prints[i]);
  free(s->prints);
  for (size_t i = 0; i < arrlenu(s->operations); i++)
    free(s->operations[i].received);
  arrfree(s->operations);
  arrfree(s->channels);
  links_free(&s->border);
  arrfree(s->phases);
  free(s->unblocks_expected);
  endless_free(s->loops);
  free(s->error_text);
  diags_destroy(s->diags);
  source_map_destroy(s->sources);
  arena_destroy(s->arena);
  free(s->image_bytes);
  free(s);
}

/* ---- running ---------------------------------------------------------------------------- */

WseStatus session_save_state(HostSession *s)
{
  bool is_in_others = s->options.member && s->options.member->wafer > 0;
  if (!session_is_recorded(s) || !s->options.save_state || is_in_others)
    return WSE_OK;
  recorder_save(s->engine);
  char *why = recorder_warning(s->engine);
  if (!why)
    return WSE_OK;
  diag_output_unwritable(s->diags, HOST_NOWHERE, s->options.save_state, why);
  free(why);
  return session_usage(s);
}

/* What the script does up to the state that it goes on from has been done: its cores, too. */
static bool is_before_state(HostSession *s)
{
  if (!session_is_recorded(s) || !recorder_replays(s->engine))
    return false;
  diag_core_is_past(s->diags, HOST_NOWHERE);
  session_warn(s);
  return true;
}

WseStatus session_dump_core(HostSession *s, const char *path)
{
  FileOut out;
  const char *why;
  if (is_before_state(s))
    return WSE_OK;
  if (file_out_open(&out, path)) {
    state_file_write(out.stream, state_engine(s), s->image_mark, NULL, 0);
    if (file_out_finish(&out, &why))
      return WSE_OK;
  } else {
    why = strerror(errno);
  }
  diag_output_unwritable(s->diags, HOST_NOWHERE, path, why);
  return session_usage(s);
}

WseStatus session_run(HostSession *s, uint64_t cycles)
{
  WseStatus status = session_ended(s);
  bool quiet;
  if (status != WSE_OK)
    return status;
  uint64_t now = session_cycle(s);
  if (!session_take_up(s) && !s->phase_is_cut)
    session_phase(s, true, "run", "");
  s->phase_has_command = false;
  status = session_step(s, cycles && cycles < UINT64_MAX - now ? now + cycles : UINT64_MAX,
                        &quiet);
  if (status == WSE_OK)
    session_collect(s);
  s->phase_is_cut = status == WSE_OK && !quiet;
  if (status != WSE_OK || !(quiet || (s->loops && !cycles)))
    return status;
  return session_stuck(s, &(IdleQuestion){.host = s->image->memcpy || s->more_launches}, NULL);
}

/* A run that ends well, or whose host gives up before its end, may have lost some of its work.
 * --check=tasks finds lost control wavelets when they come. */
static void warn_left(HostSession *s, bool at_end)
{
  bool told = s->warned_of == session_cycle(s) + 1;       /* in the report of what is left undone */
  if (!s->options.warnings || s->options.check == CHECK_OFF || told)
    return;
  Fault *found = left_find(s->engine, s->program, !(s->options.checks & CHECKS_TASKS), at_end);
  faults_print(s->program, session_shown(s), found, arrlenu(found), "warning, not an ",
               s->options.warnings);
  arrfree(found);
}

static void warn_unasked_streams(HostSession *s)
{
  for (uint32_t i = 0; i < s->image->n_streams; i++) {
    const ImageStream *stream = &s->image->streams[i];
    uint64_t words = session_unasked_of(s, stream);
    if (words)
      diag_stream_unreceived(s->diags, HOST_NOWHERE, words, stream->name);
  }
  session_warn(s);
}

/* Words to the host that no transfer has asked for, one message per stream of a script's layout, or
 * else per color: the program sends more than the script takes. */
static void warn_unasked(HostSession *s)
{
  UnaskedWords unasked[MAX_COLORS];
  if (s->image->n_streams) {
    warn_unasked_streams(s);
    return;
  }
  session_unasked(s, unasked);
  for (unsigned c = 0; c < s->program->machine->colors; c++)
    if (unasked[c].words)
      diag_stream_untaken(s->diags, HOST_NOWHERE, unasked[c].words, c,
                          program_x(s->program, unasked[c].tile),
                          program_y(s->program, unasked[c].tile));
  session_warn(s);
}

/* The first tile that has unblocked the command stream more often than it was launched: after the
 * first call of two, the next command may have come too early. */
static void warn_unblocks(HostSession *s)
{
  for (uint32_t tile = 0; s->unblocks_expected && tile < s->program->n_tiles; tile++) {
    uint32_t calls = s->ops->unblock_count(s->engine, tile), launches = s->unblocks_expected[tile];
    if (launches == 0 || calls <= launches)
      continue;
    diag_unblocked_more(s->diags, HOST_NOWHERE, program_x(s->program, tile),
                        program_y(s->program, tile), calls, launches);
    session_warn(s);
    return;
  }
}

/* 0: no limit, since only the program decides when it is over. */
static uint64_t cycles_to_rest(const HostSession *s)
{
  uint64_t now = session_cycle(s);
  if (!s->image->memcpy)
    return 0;
  return SESSION_PATIENCE_CYCLES + (s->posted_until > now ? s->posted_until - now : 0);
}

WseStatus session_finish(HostSession *s)
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
    session_print_rest(s);
    session_warn_hazards(s);
    if (status == WSE_OK) {
      warn_left(s, true);
      warn_unasked(s);
      warn_unblocks(s);
    }
    session_flush(s);
  }
  return status;
}

WseStatus session_give_up(HostSession *s)
{
  bool all_done = s->first_open == arrlenu(s->operations);
  WseStatus status = session_ended(s);
  if (!s->started || status != WSE_OK)
    return status;
  if (s->quiet && all_done)
    return session_finish(s);
  session_print_rest(s);
  session_warn_hazards(s);
  warn_left(s, false);
  session_flush(s);
  return WSE_OK;
}
