/* wse-emu: the command line. */
#include "emu/host/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

static void tell(const Session *session)
{
  fflush(stdout);
  fputs(session_error(session)->message, stderr);
}

static WseStatus unwritable(Session *session, const char *path)
{
  diag_output_unwritable(session_diags(session), HOST_NOWHERE, path, strerror(errno));
  return session_usage(session);
}

static WseStatus write_stats(Session *session, const HostOptions *options)
{
  HostStats stats = session_stats(session);
  char *text = host_stats_json(&stats);
  WseStatus status = WSE_OK;
  FILE *out = options->stats_file ? fopen(options->stats_file, "w") : stdout;
  if (!out || fprintf(out, "%s\n", text) < 0 || (out != stdout && fclose(out) != 0))
    status = unwritable(session, options->stats_file ? options->stats_file : "standard output");
  free(text);
  return status;
}

static WseStatus write_profile(Session *session, const HostOptions *options)
{
  const Profile *profile = session_profile(session);
  if (!options->profile || !profile)
    return WSE_OK;
  FILE *out = options->profile_file ? fopen(options->profile_file, "w") : stdout;
  if (!out)
    return unwritable(session, options->profile_file);
  profile_print(profile, out);
  return out == stdout || fclose(out) == 0 ? WSE_OK : unwritable(session, options->profile_file);
}

static WseStatus write_page(Session *session, const HostOptions *options)
{
  if (!options->page_file)
    return WSE_OK;
  FILE *out = fopen(options->page_file, "w");
  if (!out)
    return unwritable(session, options->page_file);
  session_write_page(session, options->program, out);
  return fclose(out) == 0 ? WSE_OK : unwritable(session, options->page_file);
}

/* What is written at the end of every run, whether it went well or not. */
static WseStatus write_results(Session *session, const HostOptions *options)
{
  session_observed(session);
  WseStatus status = write_profile(session, options);
  if (status == WSE_OK)
    status = write_page(session, options);
  if (status == WSE_OK && options->stats)
    status = write_stats(session, options);
  if (status != WSE_OK)
    tell(session);
  return status;
}

static WseStatus run(Session *session, HostOptions *options)
{
  WseStatus status = session_open(session, options->program, &options->session);
  if (status == WSE_OK)
    status = host_carry_out(session, options, stdout);
  if (status != WSE_OK)
    tell(session);
  if (status == WSE_USAGE)
    return status;
  WseStatus written = write_results(session, options);
  return status != WSE_OK ? status : written;
}

static WseStatus open_streams(Session *session, HostOptions *options)
{
  SessionOptions *o = &options->session;
  o->print_out = stdout;
  o->warnings = stderr;
  o->observed_out = stdout;
  o->trace_out = stdout;
  if (o->trace_kinds && options->trace_file) {
    o->trace_out = fopen(options->trace_file, "w");
    if (!o->trace_out)
      return unwritable(session, options->trace_file);
  }
  return WSE_OK;
}

int main(int argc, char **argv)
{
  Session *session = session_create();
  HostOptions options;
  WseStatus status = WSE_OK;
  if (!host_options_parse(argc, argv, session_diags(session), &options))
    status = session_usage(session);
  else if (options.help)
    host_options_help(stdout);
  else if (options.version)
    printf("wse-emu %s\n%s\n", host_version(), host_honesty());
  else
    status = open_streams(session, &options);
  bool go = status == WSE_OK && !options.help && !options.version;
  if (status != WSE_OK)
    tell(session);
  else if (go)
    status = run(session, &options);
  session_close(session);
  FILE *trace = go ? options.session.trace_out : stdout;
  if (trace != stdout && fclose(trace) != 0)
    status = status == WSE_OK ? WSE_USAGE : status;
  arrfree(options.actions);
  return (int)status;
}
