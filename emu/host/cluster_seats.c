/* What the sessions of a cluster's wafers share, and the options of each: for the command line and
 * for scripts. */
#include "emu/host/host.h"
#include "emu/ranks/ranks.h"

#include <stdlib.h>

#include <stb_ds.h>

static WseStatus refuse_with(HostSession *session, const char *what)
{
  diag_cluster_refuses(session_diags(session), HOST_NOWHERE, what);
  return session_usage(session);
}

/* Options that speak of one wafer. */
static WseStatus check_options(HostSession *session, const HostOptions *o)
{
  const struct { bool given; const char *name; } one_wafer[] = {
    {o->session.n_watches > 0, "--watch"}, {o->session.stop != NULL, "--stop"},
    {o->session.n_dumps > 0, "--dump"}, {o->has_dap, "--dap"},
  };
  for (size_t i = 0; i < ARRAY_COUNT(one_wafer); i++)
    if (one_wafer[i].given)
      return refuse_with(session, one_wafer[i].name);
  return WSE_OK;
}

static WseStatus open_states(HostSession *session, const SessionOptions *o, HostCluster *c)
{
  char *why = NULL;
  if (!o->save_state && !o->load_state)
    return WSE_OK;
  c->states = cluster_states_create(&c->plan, o->load_state, &why);
  if (c->states)
    return WSE_OK;
  diag_state_unusable(session_diags(session), HOST_NOWHERE, o->load_state, why);
  free(why);
  return session_usage(session);
}

static unsigned threads_of(const SessionOptions *o) { return o->threads ? o->threads : 1; }

WseStatus host_cluster_open(HostSession *session, const HostOptions *options, HostCluster *c)
{
  const char *why;
  WseStatus status = check_options(session, options);
  if (status != WSE_OK)
    return status;
  if (!cluster_read(options->cluster, session_arena(session), &c->plan, &why)) {
    diag_cluster_unreadable(session_diags(session), HOST_NOWHERE, options->cluster, why);
    return session_usage(session);
  }
  status = open_states(session, &options->session, c);
  if (status != WSE_OK)
    return status;
  EngineHomes homes = ranks_homes();
  c->interrupt = session_interrupt_flag(session);
  c->cluster = cluster_create(&c->plan, threads_of(&options->session), &homes);
  for (unsigned i = 0; i < arrlenu(c->plan.wafers); i++)
    arrput(c->members, ((ClusterMember){c->cluster, i}));
  return WSE_OK;
}

void host_cluster_close(HostCluster *c)
{
  cluster_states_destroy(c->states);
  cluster_destroy(c->cluster);
  cluster_plan_free(&c->plan);
  arrfree(c->members);
}

void host_cluster_options(const HostCluster *c, unsigned wafer, Arena *scratch, HostOptions *o)
{
  const ClusterWafer *own = &c->plan.wafers[wafer];
  const char **files[] = {&o->trace_file, &o->profile_file, &o->page_file, &o->stats_file};
  for (size_t i = 0; i < ARRAY_COUNT(files); i++)
    if (*files[i])
      *files[i] = host_file_tagged(*files[i], scratch, own->name);
  o->program = own->image;
  o->session.member = &c->members[wafer];
  o->session.states = c->states;
  o->session.interrupt = c->interrupt;
  /* The wafers of a process share its threads; more of them than wafers help each wafer. */
  o->session.process_threads = threads_of(&o->session);
  o->session.threads = threads_of(&o->session) / cluster_sharers(c->members[wafer]);
}
