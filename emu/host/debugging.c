/* A debugger of an editor at a run: the way of dap.h into a session and out of it. */
#include "emu/host/host.h"

#include <errno.h>
#include <string.h>

WseStatus host_debugger_wait(HostSession *session, HostOptions *options, DapServer **server)
{
  DapLaunch launch;
  *server = NULL;
  if (!options->has_dap)
    return WSE_OK;
  fflush(stdout);
  *server = dap_listen(options->dap_port, stderr);
  if (!*server) {
    diag_port_unusable(session_diags(session), HOST_NOWHERE, options->dap_port, strerror(errno));
    return session_usage(session);
  }
  if (dap_wait_launch(*server, &launch))
    options->session.debugger = dap_front(*server);
  return WSE_OK;
}

void host_debugger_opened(DapServer *server, const HostSession *session, WseStatus status)
{
  if (server)
    dap_launched(server, status == WSE_OK ? NULL : session_error(session)->message);
}

void host_debugger_finish(DapServer *server, HostSession *session, WseStatus status)
{
  bool is_stuck = status == WSE_DEADLOCK || status == WSE_CYCLE_LIMIT;
  const char *text = session_error(session)->message;
  if (!server)
    return;
  if (status != WSE_OK && !dap_has_quit(server))
    fputs(text, dap_messages(server));
  dap_finish(server, session_timeline(session),
             status == WSE_FAULT        ? DAP_FAULT
             : is_stuck                 ? DAP_STUCK
             : session_is_core(session) ? DAP_CORE
                                        : DAP_DONE,
             text, (int)status);
}
