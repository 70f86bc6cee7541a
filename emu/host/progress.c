/* How far a long run has come: a pulse of the engine whose looks change a line on a terminal; where
 * there is none, they add lines to standard error, each after twice the time of the one before. */
#include "emu/host/session_internal.h"
#include "emu/ranks/ranks.h"
#include "ir/base/platform.h"

#include <inttypes.h>
#include <stb_ds.h>

enum { FIRST_PART = 1 << 12, MOST_PART = 1 << 30 };
static const double part_seconds = 0.2;

struct Progress {
  Pulse pulse;                  /* the first member */
  const HostSession *session;
  FILE *terminal, *of_mpirun;   /* the second: NULL, or a stream of our own */
  StatusLine line;
  FILE *log;                    /* NULL: there is a terminal */
  double begun, due;            /* of the log: the run, and its age at the next line */
  uint64_t part;                /* cycles */
  double looked_at;
  bool has_rate;                /* of the last line: */
  double rated_at;
  uint64_t cycle, active;
};

static Progress *progress_of(Pulse *pulse) { return (Progress *)pulse; }

static void begin_line(Pulse *pulse)
{
  Progress *p = progress_of(pulse);
  double asked = p->session->options.progress_seconds;
  status_line_begin(&p->line, p->terminal, asked > 0 ? asked : STATUS_LINE_SECONDS);
  p->begun = base_seconds();
  p->due = asked > 0 ? asked : HOST_LOG_SECONDS;
  p->part = FIRST_PART;
  p->looked_at = 0;
  p->has_rate = false;
}

static void end_line(Pulse *pulse) { status_line_end(&progress_of(pulse)->line); }

/* Several wafers run as one, so the line is about all of them. */
static uint64_t cycle_of(const Progress *p, const Engine *engine)
{
  const ClusterMember *member = p->session->options.member;
  return member ? cluster_cycle(member->cluster) : engine->cycle;
}

static uint64_t active_of(const Progress *p, const Engine *engine)
{
  const ClusterMember *member = p->session->options.member;
  return member ? cluster_active_tile_cycles(member->cluster)
                : engine->ops->stats(engine)->active_tile_cycles;
}

static void note_rate(Progress *p, const Engine *engine, double now)
{
  p->has_rate = true;
  p->rated_at = now;
  p->cycle = cycle_of(p, engine);
  p->active = active_of(p, engine);
}

static bool is_due(const Progress *p, double now)
{
  return p->log ? now - p->begun >= p->due : status_line_is_due(&p->line);
}

static const char *action_of(const HostSession *s)
{
  return arrlenu(s->phases) > 0 ? s->phases[s->phase].action : NULL;
}

/* ", " and what the host waits for, which may be the host of another wafer; or nothing. */
static void make_action_text(const HostSession *s, char *text, size_t size)
{
  const char *wafer = NULL, *action = s->options.member
                                          ? cluster_action(s->options.member->cluster, &wafer)
                                          : action_of(s);
  snprintf(text, size, "%s%s%s%s", action ? ", " : "", wafer && action ? wafer : "",
           wafer && action ? ": " : "", action ? action : "");
}

/* Digits behind the point of a run's age in seconds. */
static int age_digits(double age) { return age < 10 ? 1 : 0; }

static void show_line(Progress *p, const Engine *engine, double now)
{
  const HostSession *s = p->session;
  char action[256];
  uint64_t cycle = cycle_of(p, engine);
  double seconds = now - p->rated_at, cycles = (double)(cycle - p->cycle);
  double active = (double)(active_of(p, engine) - p->active);
  double rate = seconds > 0 ? cycles / seconds : 0, awake = cycles > 0 ? active / cycles : 0;
  make_action_text(s, action, sizeof action);
  if (p->log)
    fprintf(p->log, "still running after %.*f s: cycle %" PRIu64 ", %.3g cycles/s, "
            "%.3g tiles awake%s; --max-cycles=%" PRIu64 " ends it\n", age_digits(now - p->begun),
            now - p->begun, cycle, rate, awake, action, s->options.max_cycles);
  else
    status_line_show(&p->line, "cycle %" PRIu64 ", %.3g cycles/s, %.3g tiles awake%s", cycle,
                     rate, awake, action);
  p->due *= 2;
  note_rate(p, engine, now);
}

/* Parts that last about part_seconds. */
static uint64_t part_after(uint64_t part, double seconds)
{
  if (seconds < part_seconds)
    return part < MOST_PART ? 2 * part : part;
  return part > FIRST_PART ? part / 2 : part;
}

static uint64_t look_at_run(Pulse *pulse, const Engine *engine)
{
  Progress *p = progress_of(pulse);
  double now = base_seconds();
  if (p->looked_at > 0)
    p->part = part_after(p->part, now - p->looked_at);
  p->looked_at = now;
  uint64_t cycle = cycle_of(p, engine);
  if (!p->has_rate || cycle < p->cycle)         /* a debugger goes back, too */
    note_rate(p, engine, now);
  else if (cycle > p->cycle && is_due(p, now))
    show_line(p, engine, now);
  return p->part;
}

/* What process 0 of several says goes to mpirun, and from there to a terminal, if there is one. */
static FILE *terminal_of_mpirun(void)
{
  return ranks_count() > 1 ? platform_parent_terminal() : NULL;
}

Pulse *progress_create(HostSession *s, Pulse *next)
{
  bool scrolls = s->options.trace_kinds && s->options.trace_out == stdout;
  bool is_another = s->options.member && s->options.member->wafer > 0;  /* the first shows it */
  if (!s->options.progress || scrolls || is_another)
    return next;
  FILE *terminal = status_line_terminal(), *of_mpirun = terminal ? NULL : terminal_of_mpirun();
  Progress *p = arena_new(s->arena, Progress);
  *p = (Progress){.pulse = {.next = next, .begin = begin_line, .end = end_line,
                            .look = look_at_run},
                  .session = s,
                  .terminal = terminal ? terminal : of_mpirun,
                  .of_mpirun = of_mpirun,
                  .log = terminal || of_mpirun ? NULL : stderr};
  s->progress = p;
  return &p->pulse;
}

void progress_destroy(HostSession *s)
{
  if (s->progress && s->progress->of_mpirun)
    fclose(s->progress->of_mpirun);
}

void progress_begin(HostSession *s) { pulse_begin(s->progress ? &s->progress->pulse : NULL); }

void progress_end(HostSession *s) { pulse_end(s->progress ? &s->progress->pulse : NULL); }

RunStatus progress_run(HostSession *s, uint64_t limit)
{
  const ClusterMember *member = session_is_recorded(s) ? NULL : s->options.member;
  if (s->options.member)
    cluster_note_action(*s->options.member, action_of(s));
  ClusterStretch whole = {session_cycle(s), limit, limit};
  progress_begin(s);
  /* a recorder runs its cluster itself */
  RunStatus status = member ? cluster_run(*member, whole) : engine_run(s->engine, limit);
  progress_end(s);
  return status;
}

void progress_hide(const HostSession *s)
{
  if (s->progress)
    status_line_hide(&s->progress->line);
}
