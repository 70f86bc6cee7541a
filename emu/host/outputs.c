/* The files that a run writes: the trace during the run, the others at its end. Each appears under
 * its name whole, or not at all. */
#include "emu/host/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

struct HostOutputs {
  FileOut trace;                /* not open: no trace, or to standard output */
  FILE *packed;                 /* into it; NULL: as it is */
  bool written;
};

static WseStatus report_unwritable(HostSession *session, const char *path, const char *why)
{
  diag_output_unwritable(session_diags(session), HOST_NOWHERE, path, why);
  return session_usage(session);
}

/* The run reads this file: an image, what belongs to it, or the file of a cluster. */
static bool is_read(const HostOptions *o, const char *path)
{
  static const char *const names[] = {"prog.bin", "out.json"};
  bool is_same = (o->cluster && file_is_same(path, o->cluster)) ||
                 (o->program && file_is_same(path, o->program));
  for (size_t i = 0; o->program && i < ARRAY_COUNT(names) && !is_same; i++) {
    char *name = base_print("%s/%s", o->program, names[i]);
    is_same = file_is_same(path, name);
    free(name);
  }
  return is_same;
}

typedef struct { const char *option, *path; } NamedOutput;

/* All files that the command line asks for: an stb_ds array. */
static NamedOutput *list_outputs(const HostOptions *o)
{
  const NamedOutput options[] = {
    {"--trace-file", o->trace_file}, {"--profile", o->profile_file}, {"--report", o->page_file},
    {"--stats", o->stats_file}, {"--save-state", o->session.save_state},
  };
  NamedOutput *all = NULL;
  for (size_t i = 0; i < ARRAY_COUNT(options); i++)
    if (options[i].path)
      arrput(all, options[i]);
  for (size_t i = 0; i < arrlenu(o->actions); i++) {
    const char *file = o->actions[i].kind == HOST_D2H ? strchr(o->actions[i].text, '=') : NULL;
    if (file)
      arrput(all, ((NamedOutput){"--d2h", file + 1}));
  }
  return all;
}

WseStatus host_outputs_check(HostSession *session, const HostOptions *o)
{
  NamedOutput *all = list_outputs(o);
  bool clashes = false;
  for (size_t i = 0; i < arrlenu(all) && !clashes; i++) {
    clashes = is_read(o, all[i].path);
    if (clashes)
      diag_output_over_program(session_diags(session), HOST_NOWHERE, all[i].option, all[i].path);
    for (size_t k = 0; k < i && !clashes; k++) {
      clashes = file_is_same(all[k].path, all[i].path);
      if (clashes)
        diag_output_twice(session_diags(session), HOST_NOWHERE, all[k].option, all[i].option,
                          all[i].path);
    }
  }
  arrfree(all);
  return clashes ? session_usage(session) : WSE_OK;
}

WseStatus host_outputs_open(HostSession *session, HostOptions *options, HostOutputs **outputs)
{
  HostOutputs *o = base_malloc(sizeof *o);
  SessionOptions *session_options = &options->session;
  *o = (HostOutputs){0};
  *outputs = o;
  session_options->observed_out = host_options_out(options);
  WseStatus status = host_outputs_check(session, options);
  if (status != WSE_OK)
    return status;
  if (!session_options->trace_kinds)
    return WSE_OK;
  session_options->trace_out = host_options_out(options);
  if (!options->trace_file)
    return WSE_OK;
  if (!file_out_open(&o->trace, options->trace_file))
    return report_unwritable(session, options->trace_file, strerror(errno));
  o->packed = compressed_open(o->trace.stream, options->trace_file);
  session_options->trace_out = o->packed ? o->packed : o->trace.stream;
  return WSE_OK;
}

/* One file that is written at the end; NULL stands for standard output, which other code checks. */
static WseStatus write_one(HostSession *session, const HostOptions *options, const char *path,
                           void (*print)(HostSession *, const HostOptions *, FILE *))
{
  FileOut out;
  const char *why;
  if (!path) {
    print(session, options, host_options_out(options));
    return WSE_OK;
  }
  if (!file_out_open(&out, path))
    return report_unwritable(session, path, strerror(errno));
  print(session, options, out.stream);
  return file_out_finish(&out, &why) ? WSE_OK : report_unwritable(session, path, why);
}

static void print_stats(HostSession *session, const HostOptions *options, FILE *out)
{
  (void)options;
  HostStats stats = session_stats(session);
  char *text = host_stats_json(&stats);
  fprintf(out, "%s\n", text);
  free(text);
}

static void print_profile(HostSession *session, const HostOptions *options, FILE *out)
{
  bool is_partial = session_is_partial(session);
  if (options->profile_file && file_has_ending(options->profile_file, ".json")) {
    profile_print_json(session_profile(session), is_partial, out);
    return;
  }
  if (is_partial)
    fprintf(out, "partial: the run has not come to its end\n");
  profile_print(session_profile(session), out);
}

static void print_page(HostSession *session, const HostOptions *options, FILE *out)
{
  session_write_page(session, options->program, file_has_ending(options->page_file, ".wseview"),
                     out);
}

/* Ends the trace; nothing more can be written to it. */
static bool close_packed(HostOutputs *o)
{
  bool whole = !o->packed || fclose(o->packed) == 0;
  o->packed = NULL;
  return whole;
}

static WseStatus keep_trace(HostSession *session, const HostOptions *options, HostOutputs *o)
{
  if (close_packed(o) && file_out_keep(&o->trace))
    return WSE_OK;
  return report_unwritable(session, options->trace_file, file_lost_reason(o->trace.stream));
}

/* Whatever of it fails, the rest is written. */
WseStatus host_outputs_write(HostSession *session, const HostOptions *options, HostOutputs *outputs)
{
  WseStatus status = WSE_OK, one;
  if (outputs->written)
    return WSE_OK;
  outputs->written = true;
  session_observed(session);
  session_end_trace(session);
  if (options->session.profile &&
      (one = write_one(session, options, options->profile_file, print_profile)) != WSE_OK)
    status = one;
  if (options->page_file &&
      (one = write_one(session, options, options->page_file, print_page)) != WSE_OK)
    status = one;
  if (options->stats &&
      (one = write_one(session, options, options->stats_file, print_stats)) != WSE_OK)
    status = one;
  if ((one = session_save_state(session)) != WSE_OK)
    status = one;
  if (outputs->trace.stream && (one = keep_trace(session, options, outputs)) != WSE_OK)
    status = one;
  return status;
}

void host_outputs_close(HostOutputs *outputs)
{
  if (!outputs)
    return;
  close_packed(outputs);
  file_out_close(&outputs->trace);
  free(outputs);
}
