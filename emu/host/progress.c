/* How far a long run has come, on a terminal: after a few seconds a line that changes, and is gone
 * when the run has ended.  The engine runs in parts, between which the clock is looked at. */
#include "emu/host/session_internal.h"
#include "emu/ranks/ranks.h"

#include <inttypes.h>
#include <string.h>

enum { FIRST_PART = 1 << 12, LINE_ROOM = 160 };
static const double silent_seconds = 3, part_seconds = 0.2, line_seconds = 0.5;

typedef struct {
  double begun, shown;          /* the last line; 0 none */
  uint64_t cycle, active;       /* at the last line, or at the begin */
} Progress;

static bool is_possible(const HostSession *s)
{
  return s->options.progress && !s->options.debugger && !session_is_recorded(s) &&
         ranks_count() == 1;
}

static void erase_line(HostSession *s)
{
  fprintf(s->options.progress, "\r\033[K");
  fflush(s->options.progress);
}

static void show_line(HostSession *s, Progress *p, double now)
{
  char line[LINE_ROOM];
  uint64_t cycle = session_cycle(s), active = s->ops->stats(s->engine)->active_tile_cycles;
  double seconds = now - (p->shown > 0 ? p->shown : p->begun);
  double cycles = (double)(cycle - p->cycle);
  snprintf(line, sizeof line, "cycle %" PRIu64 ", %.3g cycles/s, %.3g tiles awake, %s", cycle,
           seconds > 0 ? cycles / seconds : 0,
           cycles > 0 ? (double)(active - p->active) / cycles : 0, s->phases[s->phase].action);
  erase_line(s);
  fputs(line, s->options.progress);
  fflush(s->options.progress);
  *p = (Progress){p->begun, now, cycle, active};
}

RunStatus progress_run(HostSession *s, uint64_t limit)
{
  Engine *engine = s->engine;
  if (!is_possible(s))
    return s->ops->run(engine, limit);
  Progress p = {host_seconds(), 0, session_cycle(s), s->ops->stats(engine)->active_tile_cycles};
  uint64_t part = FIRST_PART;
  RunStatus status;
  engine->begun = engine->cycle;
  for (;;) {
    double start = host_seconds();
    bool is_last = limit <= engine->cycle || limit - engine->cycle <= part;
    uint64_t end = is_last ? limit : engine->cycle + part;
    status = s->ops->run(engine, end);
    engine->continues = true;   /* the next part of this run */
    double now = host_seconds();
    if (is_last || status != RUN_LIMIT || engine->cycle != end || s->trace.stop)
      break;
    part = now - start < part_seconds ? 2 * part : part > FIRST_PART ? part / 2 : part;
    if (now - p.begun >= silent_seconds && now - p.shown >= line_seconds)
      show_line(s, &p, now);
  }
  engine->continues = false;
  if (p.shown > 0)
    erase_line(s);
  return status;
}
