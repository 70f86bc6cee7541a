/* What wse-emu and wse-dbg have in common: the way from a command line to a program, and back. */
#include "emu/host/host.h"

#include <stb_ds.h>

void host_print_error(const HostSession *session)
{
  fflush(stdout);
  fputs(session_error(session)->message, stderr);
}

bool host_command_open(HostCommand *c, int argc, char **argv, const HostCommandTexts *texts,
                       WseStatus *status)
{
  *c = (HostCommand){.session = session_create()};
  *status = WSE_OK;
  Diags *diags = session_diags(c->session);
  if (texts->broken)
    diag_ranks_broken(diags, HOST_NOWHERE, texts->broken);
  bool ok = !texts->broken && host_options_parse(texts->name, argc, argv, diags, &c->options);
  if (ok && c->options.cluster && !texts->clusters) {
    diag_cluster_refuses(diags, HOST_NOWHERE, texts->name);
    ok = false;
  }
  c->options.out = texts->out;
  FILE *out = host_options_out(&c->options);
  if (!ok)
    *status = session_usage(c->session);
  else if (c->options.help)
    texts->help(out);
  else if (c->options.version)
    fprintf(out, "%s %s\n%s", texts->name, host_version(), texts->after_version);
  else if (!c->options.cluster)
    *status = host_outputs_open(c->session, &c->options, &c->outputs);
  c->options.session.print_out = out;
  c->options.session.warnings = stderr;
  bool runs = c->outputs || (c->options.cluster && !c->options.help && !c->options.version);
  return *status == WSE_OK && runs;
}

void host_command_close(HostCommand *c)
{
  session_close(c->session);
  host_outputs_close(c->outputs);
  arrfree(c->options.actions);
}
