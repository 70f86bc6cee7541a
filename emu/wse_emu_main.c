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

static WseStatus unwritable(Session *session, const char *path, const char *why)
{
  diag_output_unwritable(session_diags(session), HOST_NOWHERE, path, why);
  return session_usage(session);
}

/* NULL stands for standard output. */
static FILE *open_output(const char *path)
{
  return path ? fopen(path, "w") : stdout;
}

/* Whether everything has been written; `end` flushes or closes. */
static WseStatus end_output(Session *session, FILE *out, const char *path, int (*end)(FILE *))
{
  bool failed = ferror(out) != 0;
  if (end(out) != 0)
    return unwritable(session, path, strerror(errno));
  return failed ? unwritable(session, path, "not all of it has arrived") : WSE_OK;
}

/* Standard output is looked at once, in close_streams. */
static WseStatus close_output(Session *session, FILE *out, const char *path)
{
  return out == stdout ? WSE_OK : end_output(session, out, path, fclose);
}

static WseStatus write_stats(Session *session, const HostOptions *options)
{
  HostStats stats = session_stats(session);
  FILE *out = open_output(options->stats_file);
  if (!out)
    return unwritable(session, options->stats_file, strerror(errno));
  char *text = host_stats_json(&stats);
  fprintf(out, "%s\n", text);
  free(text);
  return close_output(session, out, options->stats_file);
}

static WseStatus write_profile(Session *session, const HostOptions *options)
{
  if (!options->session.profile)
    return WSE_OK;
  FILE *out = open_output(options->profile_file);
  if (!out)
    return unwritable(session, options->profile_file, strerror(errno));
  profile_print(session_profile(session), out);
  return close_output(session, out, options->profile_file);
}

static WseStatus write_page(Session *session, const HostOptions *options)
{
  if (!options->page_file)
    return WSE_OK;
  FILE *out = open_output(options->page_file);
  if (!out)
    return unwritable(session, options->page_file, strerror(errno));
  session_write_page(session, options->program, out);
  return close_output(session, out, options->page_file);
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

/* A run in which nothing happens is hardly what was meant. */
static void warn_idle(Session *session)
{
  if (!session_has_run(session) || session_stats(session).engine_stats->instructions)
    return;
  const Image *image = session_image(session);
  diag_nothing_ran(session_diags(session), HOST_NOWHERE);
  for (uint32_t i = 0; i < image->n_exports; i++)
    if (image->exports[i].kind == EXPORT_FUNCTION)
      diag_launchable(session_diags(session), HOST_NOWHERE, image->exports[i].name);
  session_warn(session);
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
  if (status == WSE_OK && written == WSE_OK)
    warn_idle(session);
  return status != WSE_OK ? status : written;
}

static WseStatus open_streams(Session *session, HostOptions *options)
{
  SessionOptions *o = &options->session;
  o->print_out = stdout;
  o->warnings = stderr;
  o->observed_out = stdout;
  o->trace_out = open_output(o->trace_kinds ? options->trace_file : NULL);
  return o->trace_out ? WSE_OK : unwritable(session, options->trace_file, strerror(errno));
}

/* A full disk must not look like success. */
static WseStatus close_streams(Session *session, const HostOptions *options)
{
  WseStatus status = WSE_OK;
  if (options->session.trace_out)
    status = close_output(session, options->session.trace_out, options->trace_file);
  if (status == WSE_OK)
    status = end_output(session, stdout, "standard output", fflush);
  if (status != WSE_OK)
    tell(session);
  return status;
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
  WseStatus closed = close_streams(session, &options);
  session_close(session);
  arrfree(options.actions);
  return (int)(status != WSE_OK ? status : closed);
}
