/* The command line with --cluster: a session for each wafer, actions for one or all of them, and
 * what they write.  Each line that a wafer writes begins with its name. */
#include "emu/host/host.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

/* What a wafer writes: text in memory, as much as there is after fflush. */
typedef struct {
  FILE *stream;
  char *at;
  size_t size, printed;
} SeatText;

/* A wafer and the host's side of it. */
typedef struct {
  const char *name;
  const ClusterMember *member;
  HostSession *session;
  HostOptions options;
  HostOutputs *outputs;
  HostSteps *steps;
  SeatText out, warnings;
  WseStatus status;
} Seat;

typedef struct {
  HostSession *session;         /* of the command: for messages before there are seats */
  const HostOptions *options;
  HostCluster host;
  Seat *seats;
  size_t n;
  FILE *out;
} Seating;

/* ---- lines of wafers ------------------------------------------------------------------------- */

static void print_lines(const char *name, const char *text, FILE *out)
{
  while (*text) {
    size_t length = strcspn(text, "\n");
    fprintf(out, "%s: %.*s\n", name, (int)length, text);
    text += length + (text[length] == '\n');
  }
  fflush(out);
}

static void flush_text(const Seat *seat, SeatText *text, FILE *out)
{
  fflush(text->stream);
  print_lines(seat->name, text->at + text->printed, out);
  text->printed = text->size;
}

/* What the wafers have written since the last time, in their order. */
static void flush_seats(Seating *t)
{
  for (size_t i = 0; i < t->n; i++)
    flush_text(&t->seats[i], &t->seats[i].out, t->out);
  for (size_t i = 0; i < t->n; i++)
    flush_text(&t->seats[i], &t->seats[i].warnings, stderr);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Where a name of a wafer may end in an action.  SYM:N has a number behind the colon. */
static const char *end_of_wafer(const HostAction *action)
{
  const char *colon = action->text + strcspn(action->text, ":@=(");
  return action->kind != HOST_RUN && *colon == ':' ? colon : NULL;
}

static WseStatus check_wafers(const Seating *t)
{
  Arena *arena = session_arena(t->session);
  bool all_known = true;
  for (size_t i = 0; i < arrlenu(t->options->actions); i++) {
    const HostAction *action = &t->options->actions[i];
    const char *colon = end_of_wafer(action);
    size_t length = colon ? (size_t)(colon - action->text) : 0;
    if (!colon || isdigit((unsigned char)colon[1]) ||
        cluster_find(&t->host.plan, action->text, length) >= 0)
      continue;
    const char *name = arena_copy_text(arena, action->text, length);
    diag_wafer_unknown(session_diags(t->session), HOST_NOWHERE, action->text,
                       cluster_no_wafer(&t->host.plan, name, arena));
    all_known = false;
  }
  return all_known ? WSE_OK : session_usage(t->session);
}

/* The part of an action that is for the wafer: all of it, or what stands behind its name.  What all
 * wafers copy to the host goes to a file of each. */
static HostAction own_action(const Seating *t, const Seat *seat, const HostAction *action)
{
  const char *text = action->text, *colon = end_of_wafer(action);
  int wafer = colon ? cluster_find(&t->host.plan, text, (size_t)(colon - text)) : -1;
  if (wafer >= 0)
    return (HostAction){(unsigned)wafer == seat->member->wafer ? action->kind : HOST_NOTHING,
                        colon + 1};
  const char *file = action->kind == HOST_D2H ? strchr(text, '=') : NULL;
  if (!file)
    return *action;
  return (HostAction){action->kind,
                      arena_printf(session_arena(seat->session), "%.*s%s", (int)(file + 1 - text),
                                   text, host_file_tagged(file + 1, session_arena(seat->session),
                                                          seat->name))};
}

static void give_options(const Seating *t, Seat *seat)
{
  HostOptions *o = &seat->options;
  *o = *t->options;
  host_cluster_options(&t->host, seat->member->wafer, session_arena(seat->session), o);
  o->stats = false;             /* all wafers share one file; no other output may have it */
  o->stats_file = t->options->stats_file;
  o->out = seat->out.stream;
  o->session.print_out = seat->out.stream;
  o->session.warnings = seat->warnings.stream;
  o->actions = NULL;
  for (size_t i = 0; i < arrlenu(t->options->actions); i++)
    arrput(o->actions, own_action(t, seat, &t->options->actions[i]));
}

static WseStatus open_seat(Seating *t, Seat *seat, unsigned wafer)
{
  seat->name = t->host.plan.wafers[wafer].name;
  seat->member = &t->host.members[wafer];
  seat->session = session_create();
  seat->out.stream = base_text_open(&seat->out.at, &seat->out.size);
  seat->warnings.stream = base_text_open(&seat->warnings.at, &seat->warnings.size);
  give_options(t, seat);
  seat->status = host_outputs_open(seat->session, &seat->options, &seat->outputs);
  if (seat->status == WSE_OK)
    seat->status = session_open(seat->session, seat->options.program, &seat->options.session);
  if (seat->status == WSE_OK &&
      !(seat->steps = host_steps_create(seat->session, seat->options.actions)))
    seat->status = WSE_USAGE;
  return seat->status;
}

static WseStatus open_table(Seating *t)
{
  WseStatus status = host_outputs_check(t->session, t->options);
  if (status == WSE_OK)
    status = host_cluster_open(t->session, t->options, &t->host);
  if (status == WSE_OK)
    status = check_wafers(t);
  size_t n = arrlenu(t->host.members);
  t->seats = base_zeroed(n + 1, sizeof *t->seats);
  while (t->n < n && status == WSE_OK) {
    t->n++;
    status = open_seat(t, &t->seats[t->n - 1], (unsigned)(t->n - 1));
  }
  return status;
}

static void close_table(Seating *t)
{
  for (size_t i = 0; i < t->n; i++) {
    Seat *seat = &t->seats[i];
    host_steps_destroy(seat->steps);
    session_close(seat->session);
    host_outputs_close(seat->outputs);
    arrfree(seat->options.actions);
    base_text_close(seat->out.stream, &seat->out.at);
    base_text_close(seat->warnings.stream, &seat->warnings.at);
    free(seat->out.at);
    free(seat->warnings.at);
  }
  host_cluster_close(&t->host);
  free(t->seats);
}

/* ---- carrying out ---------------------------------------------------------------------------- */

typedef WseStatus SeatStep(Seat *seat, size_t at);

static WseStatus begin_step(Seat *seat, size_t at) { return host_step_begin(seat->steps, at); }
static WseStatus end_step(Seat *seat, size_t at)
{
  return host_step_end(seat->steps, at, seat->out.stream);
}
static WseStatus finish_seat(Seat *seat, size_t at)
{
  (void)at;
  return session_finish(seat->session);
}

/* All wafers do it; the first that cannot ends it. */
static WseStatus for_all(Seating *t, SeatStep *step, size_t at)
{
  WseStatus status = WSE_OK;
  for (size_t i = 0; i < t->n && status == WSE_OK; i++)
    status = t->seats[i].status = step(&t->seats[i], at);
  return status;
}

static WseStatus carry_out(Seating *t)
{
  WseStatus status = WSE_OK;
  for (size_t at = 0; at < arrlenu(t->options->actions) && status == WSE_OK; at++) {
    status = for_all(t, begin_step, at);
    if (status == WSE_OK)
      status = for_all(t, end_step, at);
    flush_seats(t);
  }
  return status == WSE_OK ? for_all(t, finish_seat, 0) : status;
}

/* ---- how it has ended ------------------------------------------------------------------------ */

/* A finding or a deadlock concerns all wafers: each says what it has seen. */
static void ask_others(Seating *t, WseStatus status)
{
  if (status != WSE_FAULT && status != WSE_DEADLOCK)
    return;
  for (size_t i = 0; i < t->n; i++)
    if (t->seats[i].status == WSE_OK)
      t->seats[i].status = session_finish(t->seats[i].session);
}

/* Not one that only says that another wafer has ended the run. */
static bool has_own_error(const Seating *t, const Seat *seat)
{
  bool any = false;
  for (size_t i = 0; i < t->n; i++)
    any |= cluster_has_stopped(*t->seats[i].member);
  return seat->status != WSE_OK && (!any || cluster_has_stopped(*seat->member));
}

/* Words that wait in links: part of a deadlock, else a warning or, with --check-left, an error.
 * Returns how the run has ended. */
static WseStatus report_links(const Seating *t, WseStatus status)
{
  const SessionOptions *o = &t->options->session;
  bool left = o->left_is_error;
  if (status == WSE_DEADLOCK)
    cluster_report_links(t->host.cluster, "", stderr);
  if (o->check == CHECK_OFF || !(status == WSE_OK || (status == WSE_FAULT && left)))
    return status;
  const char *before = left ? "error: at the end, " : "warning: at the end, ";
  return cluster_report_links(t->host.cluster, before, stderr) && left ? WSE_FAULT : status;
}

static WseStatus print_errors(Seating *t, WseStatus status)
{
  fflush(t->out);
  for (size_t i = 0; i < t->n; i++)
    if (has_own_error(t, &t->seats[i]))
      print_lines(t->seats[i].name, session_error(t->seats[i].session)->message, stderr);
  return report_links(t, status);
}

/* ---- statistics ------------------------------------------------------------------------------ */

static char *stats_text(Seating *t)
{
  json_t *top = json_object(), *wafers = json_object();
  uint64_t cycles = 0;
  for (size_t i = 0; i < t->n; i++) {
    HostStats stats = session_stats(t->seats[i].session);
    char *text = host_stats_json(&stats);
    json_object_set_new(wafers, t->seats[i].name, json_loads(text, 0, NULL));
    free(text);
    uint64_t now = session_cycle(t->seats[i].session);
    cycles = now > cycles ? now : cycles;
  }
  json_object_set_new(top, "cycle", json_integer((json_int_t)cycles));
  json_object_set_new(top, "wafers", wafers);
  json_object_set_new(top, "links", cluster_links_json(t->host.cluster));
  char *text = json_dumps(top, STATS_JSON);
  json_decref(top);
  char *line = base_print("%s\n", text);
  free(text);
  return line;
}

static WseStatus write_stats(Seating *t)
{
  const char *path = t->options->stats_file;
  if (!t->options->stats)
    return WSE_OK;
  char *text = stats_text(t);
  bool written = path ? file_write_all(path, text, strlen(text)) : fputs(text, t->out) != EOF;
  const char *why = strerror(errno);
  free(text);
  if (written)
    return WSE_OK;
  diag_output_unwritable(session_diags(t->session), HOST_NOWHERE, path ? path : "standard output",
                         why);
  session_usage(t->session);
  host_print_error(t->session);
  return WSE_USAGE;
}

static WseStatus write_all(Seating *t)
{
  WseStatus status = write_stats(t);
  for (size_t i = 0; i < t->n; i++) {
    Seat *seat = &t->seats[i];
    WseStatus one = host_outputs_write(seat->session, &seat->options, seat->outputs);
    if (one != WSE_OK)
      print_lines(seat->name, session_error(seat->session)->message, stderr);
    status = status == WSE_OK ? one : status;
  }
  return status;
}

WseStatus host_run_cluster(HostSession *session, const HostOptions *options, FILE *out)
{
  Seating t = {.session = session, .options = options, .out = out};
  WseStatus status = open_table(&t);
  bool opened = status == WSE_OK;
  if (!t.n && !opened)
    host_print_error(session);
  if (opened)
    status = carry_out(&t);
  ask_others(&t, status);
  flush_seats(&t);
  if (t.n)
    status = print_errors(&t, status);
  if (opened) {
    WseStatus written = write_all(&t);
    status = status == WSE_OK ? written : status;
  }
  flush_seats(&t);
  close_table(&t);
  return status;
}
