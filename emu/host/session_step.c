/* One step of a run: the engine runs up to a limit, its cycles are accounted for, and the cause of
 * the end becomes the session's error. */
#include "emu/host/session_internal.h"
#include "emu/ranks/ranks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

enum {
  MOST_PLACES_SHOWN = 8, MOST_LINES = 25,
  MOST_LOOPS_SHOWN = 4,
  BUSY_LINES = 2 * MOST_PLACES_SHOWN + 4,   /* likewise, and what the host waits for */
  LOOP_LINES = 2 * MOST_LOOPS_SHOWN + 3,    /* with the error, the number of others, and the help */
};

/* ---- ends of a run --------------------------------------------------------------------------- */

static WseStatus fault_error(HostSession *s)
{
  Fault *faults = session_faults(s, CHECK_ERROR, 0);
  size_t size;
  char *text = NULL;
  FILE *out = base_text_open(&text, &size);
  faults_print(s->program, session_shown(s), faults, arrlenu(faults), "", out);
  base_text_close(out, &text);
  session_fail(s, WSE_FAULT, text);
  if (arrlenu(faults)) {
    s->error.cycle = faults->cycle;
    s->error.x = (int32_t)program_x(s->program, faults->tile);
    s->error.y = (int32_t)program_y(s->program, faults->tile);
  }
  arrfree(faults);
  return session_end(s);
}

/* No other process or wafer may yet send something.  The debugger's engine cannot be copied. */
static bool is_alone(const HostSession *s)
{
  return !s->options.member && !s->options.n_ports && ranks_count() <= 1 && !timeline_of(s->engine);
}

/* What keeps the run alive, and what waits beside it. */
static void print_loops(HostSession *s, const IdleQuestion *question, FILE *out)
{
  busy_report(session_shown(s), s->program, question->loops, MOST_LOOPS_SHOWN, out);
  deadlock_report(session_shown(s), s->program, question, MOST_LINES - LOOP_LINES, out);
}

/* What tiles are at when the run is cut short. */
static void print_business(HostSession *s, FILE *out)
{
  bool is_still = false;
  IdleQuestion question;
  EndlessLoop *loops = is_alone(s) ? endless_find(session_shown(s), &is_still) : NULL;
  const char *why = session_ask(s, &question);
  question.loops = loops;
  if (loops)
    print_loops(s, &question, out);
  else
    busy_report(session_shown(s), s->program, NULL, MOST_PLACES_SHOWN, out);
  if (why)
    fprintf(out, "  the host waits: %s\n", why);
  if (why && is_still && !loops)
    deadlock_report(session_shown(s), s->program, &question, MOST_LINES - BUSY_LINES, out);
  session_asked(&question);
  endless_free(loops);
}

static WseStatus limit_error(HostSession *s, uint64_t limit)
{
  char *text = NULL;
  size_t size;
  FILE *out = base_text_open(&text, &size);
  diag_cycle_limit(s->diags, HOST_NOWHERE, limit);
  session_flush_diags(s, out);
  print_business(s, out);
  base_text_close(out, &text);
  session_fail(s, WSE_CYCLE_LIMIT, text);
  return session_end(s);
}

static WseStatus interrupted_error(HostSession *s)
{
  char *text = NULL;
  size_t size;
  FILE *out = base_text_open(&text, &size);
  fprintf(out, "error: the run was interrupted at cycle %" PRIu64 "\n", session_cycle(s));
  print_business(s, out);
  base_text_close(out, &text);
  session_fail(s, WSE_INTERRUPTED, text);
  return session_end(s);
}

static WseStatus elsewhere_error(HostSession *s)
{
  session_fail(s, WSE_FAULT, base_print("error: a finding in wafer %s has ended the run; its own "
                                        "report says why\n",
                                        cluster_stopped_wafer(s->options.member->cluster)));
  return session_end(s);
}

/* A stream gets too little: perhaps tiles send on other colors than the script reads.  `has_cause`:
 * the report so far has one. */
static void print_unasked(HostSession *s, bool has_cause, FILE *out)
{
  UnaskedWords unasked[MAX_COLORS];
  bool any = false;
  session_unasked(s, unasked);
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (unasked[c].words) {
      fprintf(out, "%s %" PRIu64 " on color %u, the first by P%u.%u",
              any ? "," : "tiles have sent the host words for which no transfer asks:",
              unasked[c].words, c, program_x(s->program, unasked[c].tile),
              program_y(s->program, unasked[c].tile));
      any = true;
    }
  if (any)
    fprintf(out, "\n  help: the transfer has to name the color and the tiles that send\n");
  else if (!has_cause)
    fprintf(out, "  help: no tile waits for anything, so none will send more: compare what the "
            "program sends, and what sets it off, with what the transfer asks for\n");
}

static void print_stuck(const HostSession *s, const char *why, FILE *out)
{
  const char *happen = s->loops ? "change" : "happen";
  if (!why)
    why = s->loops ? "the program goes on" : "the program waits";
  fprintf(out, "error: deadlock at cycle %" PRIu64 ": nothing can %s any more, but %s\n",
          session_cycle(s), happen, why);
}

WseStatus session_stuck(HostSession *s, const IdleQuestion *question, const char *why)
{
  IdleQuestion asked = *question;
  asked.loops = s->loops;
  asked.left_is_error = s->finishing && s->options.left_is_error;
  asked.unlaunched = s->image->memcpy && !s->unblocks_expected;
  IdleState state = idle_classify(s->engine, s->program, &asked);
  if (question->unblock_missing || question->stream_short)
    state = IDLE_STUCK;
  size_t size;
  char *text = NULL;
  if (state == IDLE_DONE || (state == IDLE_WARNINGS && s->more_launches))
    return WSE_OK;               /* what waits may be for the next launch; the end looks again */
  FILE *out = base_text_open(&text, &size);
  if (state == IDLE_STUCK)
    print_stuck(s, why, out);
  else
    fprintf(out, "%s: at cycle %" PRIu64 " the fabric is quiet with %s\n",
            state == IDLE_LEFT ? "error" : "warning", session_cycle(s),
            state == IDLE_LEFT ? "wavelets left behind" : "work left undone");
  long before = ftell(out);
  if (s->loops)
    print_loops(s, &asked, out);
  else
    deadlock_report(s->engine, s->program, &asked, MOST_LINES - 1, out);
  if (question->stream_short)
    print_unasked(s, ftell(out) > before, out);
  base_text_close(out, &text);
  observers_stuck(s, &asked);
  if (state == IDLE_WARNINGS) {
    if (s->options.warnings && s->warned_of != session_cycle(s) + 1)
      fputs(text, s->options.warnings);
    s->warned_of = session_cycle(s) + 1;
    free(text);
    return WSE_OK;
  }
  session_fail(s, state == IDLE_LEFT ? WSE_FAULT : WSE_DEADLOCK, text);
  return session_end(s);
}

/* The recorder could not write a state on the way: the one before it stays. */
static void warn_unwritten(HostSession *s)
{
  char *why = session_is_recorded(s) ? recorder_warning(s->engine) : NULL;
  if (!why)
    return;
  diag_state_unwritten(s->diags, HOST_NOWHERE, s->options.save_state, why);
  session_warn(s);
  free(why);
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Runs up to the limit, or until nothing can happen any more but loops without an end. */
static RunStatus run_watched(HostSession *s, uint64_t limit)
{
  RunStatus status;
  endless_free(s->loops);
  s->loops = NULL;
  if (!is_alone(s) || session_is_recorded(s))   /* a recorder keeps the limits of runs */
    return progress_run(s, limit);
  progress_begin(s);
  do {
    uint64_t due = endless_watch_due(&s->watch, s->engine);
    status = progress_run(s, due < limit ? due : limit);
    bool is_due = status == RUN_LIMIT && session_cycle(s) == due && !observers_stopped(s, status);
    s->loops = is_due ? endless_watch_look(&s->watch, s->engine, session_shown(s)) : NULL;
    if (!is_due || due >= limit)
      break;
  } while (!s->loops);
  progress_end(s);
  return status;
}

WseStatus session_step(HostSession *s, uint64_t limit, bool *quiet)
{
  if (limit > s->options.max_cycles)
    limit = s->options.max_cycles;
  double start = base_seconds();
  s->started = true;
  RunStatus status = run_watched(s, observers_limit(s, limit));
  s->wall_seconds += base_seconds() - start;
  warn_unwritten(s);
  if (session_is_recorded(s) && recorder_why(s->engine))
    return session_state_error(s);
  session_account(s);
  s->quiet = status == RUN_QUIET;
  *quiet = status == RUN_QUIET;
  if (status == RUN_FAULT)
    return fault_error(s);
  if (status == RUN_ELSEWHERE)
    return elsewhere_error(s);
  if (status == RUN_INTERRUPTED)
    return interrupted_error(s);
  if (observers_stopped(s, status)) {
    session_fail(s, WSE_CYCLE_LIMIT, observers_stop_text(s));
    return session_end(s);
  }
  if (status == RUN_LIMIT && !s->loops && limit == s->options.max_cycles)
    return limit_error(s, limit);
  return WSE_OK;
}
