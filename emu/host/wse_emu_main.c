/* wse-emu: the command line. */
#include "emu/host/host.h"
#include "emu/ranks/ranks.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <stb_ds.h>

enum { SIGNALLED_CODE = 128 };  /* exit codes of programs that a signal has ended: more than that */

/* A run in which nothing happens is hardly what was meant. */
static void warn_idle(HostSession *session)
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

/* The session that a signal ends; the first does, so that what it has written so far is kept, and a
 * second one has its usual effect. */
static HostSession *volatile interruptible;
static volatile sig_atomic_t signalled;

static void note_signal(int number)
{
  signalled = number;
  session_interrupt(interruptible);
}

static void catch_signals(HostSession *session)
{
  static const int caught[] = {SIGINT, SIGTERM};
  struct sigaction action = {.sa_handler = note_signal,
                             .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
  interruptible = session;
  for (size_t i = 0; i < ARRAY_COUNT(caught); i++) {
    struct sigaction old;
    if (sigaction(caught[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
      sigaction(caught[i], &action, NULL);
  }
}

/* The actions, with a debugger if one is to come. */
static WseStatus carry_out(HostSession *session, HostOptions *options)
{
  DapServer *server;
  WseStatus status = host_debugger_wait(session, options, &server);
  if (status == WSE_OK)
    status = session_open(session, options->program, &options->session);
  host_debugger_opened(server, session, status);
  if (status == WSE_OK) {
    catch_signals(session);
    status = host_carry_out(session, options, stdout);
  }
  host_debugger_finish(server, session, status);
  bool is_left = server && dap_has_quit(server) && status == WSE_INTERRUPTED;
  dap_close(server);
  return is_left ? WSE_OK : status;
}

static WseStatus run_program(HostSession *session, HostOptions *options, HostOutputs *outputs)
{
  WseStatus status = carry_out(session, options);
  if (status != WSE_OK)
    host_print_error(session);
  if (status == WSE_USAGE)
    return status;
  WseStatus written = host_outputs_write(session, options, outputs);
  if (written != WSE_OK)
    host_print_error(session);
  if (status == WSE_OK && written == WSE_OK)
    warn_idle(session);
  return status != WSE_OK ? status : written;
}

static WseStatus run_cluster(HostCommand *command)
{
  catch_signals(command->session);
  return host_run_cluster(command->session, &command->options, stdout);
}

/* A full disk must not look like success. */
static WseStatus flush_stdout(HostSession *session)
{
  if (fflush(stdout) == 0 && !ferror(stdout))
    return WSE_OK;
  diag_output_unwritable(session_diags(session), HOST_NOWHERE, "standard output",
                         file_lost_reason(stdout));
  session_usage(session);
  host_print_error(session);
  return WSE_USAGE;
}

static int exit_code(WseStatus status)
{
  return status == WSE_INTERRUPTED ? SIGNALLED_CODE + signalled : (int)status;
}

int main(int argc, char **argv)
{
  json_set_alloc_funcs(base_malloc, free);    /* no memory: the process ends with a message */
  file_limit_fails();
  file_reserve_streams();
  const char *reason = NULL;
  RanksRole role = ranks_join(&reason);
  if (role == RANKS_SERVANT)
    return ranks_serve();
  char *honesty = base_print("%s\n", host_honesty());
  HostCommandTexts texts = {"wse-emu", host_options_help, honesty, NULL,
                            role == RANKS_BROKEN ? reason : NULL, true};
  HostCommand command;
  WseStatus status;
  if (host_command_open(&command, argc, argv, &texts, &status)) {
    command.options.session.progress = true;
    if (command.options.cluster)
      status = run_cluster(&command);
    else
      status = run_program(command.session, &command.options, command.outputs);
  }
  else if (status != WSE_OK)
    host_print_error(command.session);
  WseStatus flushed = flush_stdout(command.session);
  host_command_close(&command);
  free(honesty);
  return exit_code(status != WSE_OK ? status : flushed);
}
