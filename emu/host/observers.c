/* What a session does with the events of its run: the trace as text or for Perfetto, the profile,
 * the watched wavelet, and the place where the run is to stop. */
#include "emu/host/session_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TILES_DUMPED = 16 };

struct Observers {
  TraceSink text;               /* limits of the trace that is written */
  bool traced;
  StopSpec stop;
  bool has_stop, stopped, over;
  TraceEvent stopped_at;        /* not of a stop by cycle */
  Profile *profile;
  Perfetto *perfetto;
  SimLog *simlog;
  Journeys *journeys;           /* numbers of wavelets; NULL: no observer wants them */
  Watch *watches[MOST_OBSERVED];    /* as many as the options have */
  Page *page;
  bool has_switches_alone;      /* no observer wants other events than those of switches */
};

/* Whether the fill of queues has to be known that the trace does not show, or not yet. */
static bool counts_hidden_queues(const HostSession *s)
{
  return s->observers->perfetto && s->options.has_cycles &&
         s->options.trace_kinds >> TRACE_QUEUE & 1;
}

static void write_trace(HostSession *s, const TraceEvent *event, uint64_t number)
{
  enum { ROOM = 512, NUMBER_ROOM = 24 };
  const Observers *o = s->observers;
  char line[ROOM + NUMBER_ROOM];
  if (o->perfetto) {
    perfetto_event(o->perfetto, event, number);
    return;
  }
  size_t length = trace_format(s->program, event, line, ROOM);
  if (number)
    length += (size_t)snprintf(line + length, NUMBER_ROOM, " #%" PRIu64, number);
  line[length] = '\n';
  fwrite(line, 1, length + 1, s->options.trace_out);
}

/* What the engine has to deliver; the limits of the written trace hold only if it is alone. */
static uint32_t kinds_wanted(const HostSession *s)
{
  const Observers *o = s->observers;
  uint32_t kinds = o->profile ? (uint32_t)PROFILE_KINDS : 0;
  kinds |= o->page ? page_kinds(o->page) : 0;
  kinds |= o->simlog ? (uint32_t)SIMLOG_KINDS : 0;
  kinds |= o->journeys ? (uint32_t)JOURNEY_KINDS : 0;
  kinds |= s->options.n_watches ? (uint32_t)WATCH_KINDS : 0;
  kinds |= counts_hidden_queues(s) ? 1u << TRACE_QUEUE : 0;
  kinds |= o->has_stop && !o->stop.by_cycle ? 1u << TRACE_INST : 0;
  return kinds;
}

static void observe_event(TraceSink *sink, const TraceEvent *event)
{
  HostSession *s = sink->context;
  Observers *o = s->observers;
  if (o->over)
    return;
  bool is_wanted = o->traced && trace_wants(&o->text, event->kind, event->cycle) &&
                   trace_covers(&o->text, s->program, event->tile);
  uint64_t number = o->journeys ? journeys_event(o->journeys, event) : 0;
  if (o->simlog)
    simlog_event(o->simlog, event, number, is_wanted);
  else if (is_wanted)
    write_trace(s, event, number);
  else if (o->perfetto)
    perfetto_count(o->perfetto, event);
  if (o->profile)
    profile_event(o->profile, event);
  for (unsigned i = 0; i < s->options.n_watches; i++)
    watch_event(o->watches[i], event);
  if (o->page && page_event(o->page, event))
    sink->kinds = kinds_wanted(s) | s->options.trace_kinds;
  if (o->has_stop && !o->stopped && stop_matches(s->program, &o->stop, event)) {
    o->stopped_at = *event;
    o->stopped = sink->stop = true;
  }
}

/* ---- creation --------------------------------------------------------------------------- */

static bool make_text(HostSession *s)
{
  const SessionOptions *o = &s->options;
  TraceSink *text = &s->observers->text;
  *text = trace_sink(s->program, o->trace_kinds, NULL, NULL);
  if (o->has_cycles) {
    text->first_cycle = o->first_cycle;
    text->last_cycle = o->last_cycle;
  }
  if (!o->has_region)
    return true;
  WseTransfer region = {.x = o->region[0], .y = o->region[1], .width = o->region[2],
                        .height = o->region[3]};
  if (!host_region_ok(s, &region))
    return false;
  text->x = (uint16_t)o->region[0];
  text->y = (uint16_t)o->region[1];
  text->width = (uint16_t)o->region[2];
  text->height = (uint16_t)o->region[3];
  return true;
}

static bool tile_ok(HostSession *s, uint32_t x, uint32_t y)
{
  return host_region_ok(s, &(WseTransfer){.x = x, .y = y, .width = 1, .height = 1});
}

static bool make_watches(HostSession *s)
{
  const unsigned n = s->options.n_watches;
  for (unsigned i = 0; i < n; i++) {
    const uint32_t *w = s->options.watches[i];
    if (!tile_ok(s, w[0], w[1]))
      return false;
    WatchSpec spec = {program_tile(s->program, w[0], w[1]), (uint8_t)w[2], w[3], n > 1 ? i + 1 : 0};
    s->observers->watches[i] = watch_create(s->program, spec, s->options.observed_out);
  }
  return true;
}

static bool make_stop(HostSession *s)
{
  Observers *o = s->observers;
  if (!s->options.stop)
    return true;
  o->has_stop = stop_parse(s->options.stop, &o->stop);
  if (!o->has_stop)
    ICE("the options have let through a bad --stop");
  if (o->stop.by_tile && !tile_ok(s, o->stop.x, o->stop.y))
    return false;
  uint32_t near = o->stop.by_line ? stop_line_near(s->program, &o->stop) : 0;
  if (!o->stop.by_line || (near && near == o->stop.line))
    return true;
  diag_stop_line(s->diags, HOST_NOWHERE, o->stop.file, o->stop.line);
  if (near)
    diag_stop_line_near(s->diags, HOST_NOWHERE, near);
  else
    diag_stop_file_unknown(s->diags, HOST_NOWHERE);
  return false;
}

static bool dumps_ok(HostSession *s)
{
  bool ok = true;
  for (unsigned i = 0; i < s->options.n_dumps && ok; i++) {
    const uint32_t *d = s->options.dumps[i];
    ok = host_region_ok(s, &(WseTransfer){.x = d[0], .y = d[1], .width = d[2], .height = d[3]});
  }
  return ok;
}

/* Arrows of a trace for Perfetto lead from operation to operation by way of the queues. */
static bool needs_journeys(const Observers *o, const SessionOptions *options)
{
  const uint32_t arrows = 1u << TRACE_INST | 1u << TRACE_QUEUE;
  return o->traced && (options->trace_ids || o->simlog ||
                       (o->perfetto && (options->trace_kinds & arrows) == arrows));
}

/* A page of counts does without events that no other observer needs, if the engine can count. */
static PageDetail page_detail(const HostSession *s)
{
  const SessionOptions *o = &s->options;
  bool counts = o->page_source == PAGE_FROM_COUNTS ||
                (o->page_source == PAGE_BY_TILES &&
                 s->program->n_tiles > PAGE_MOST_TILES_OF_EVENTS);
  bool has_wavelets = o->trace_kinds || o->n_watches || o->debugger;
  if (!counts || has_wavelets || o->member || !s->ops->counts_tiles)
    return PAGE_OF_EVENTS;
  return o->profile || o->stop ? PAGE_OF_TASKS : PAGE_OF_COUNTS;
}

bool observers_create(HostSession *s)
{
  const SessionOptions *options = &s->options;
  Observers *o = base_malloc(sizeof *o);
  *o = (Observers){.traced = options->trace_kinds && options->trace_out};
  s->observers = o;
  if ((o->traced && !make_text(s)) || !make_watches(s) || !make_stop(s) || !dumps_ok(s))
    return false;
  PageDetail detail = page_detail(s);
  if (options->page)
    o->page = page_create(s->program, detail);
  if (options->profile || (o->page && detail != PAGE_OF_COUNTS))
    o->profile = profile_create(s->program);
  if (o->traced && options->trace_form == TRACE_AS_PERFETTO)
    o->perfetto = perfetto_create(s->program, &o->text, options->trace_out);
  if (o->traced && options->trace_form == TRACE_AS_SIMLOG)
    o->simlog = simlog_create(s->program, options->trace_kinds, options->trace_out);
  if (needs_journeys(o, options))
    o->journeys = journeys_create(s->program);
  uint32_t kinds = kinds_wanted(s);
  o->has_switches_alone = o->page && detail == PAGE_OF_COUNTS;
  s->trace = o->traced && !kinds ? o->text
                                 : trace_sink(s->program, kinds | options->trace_kinds, NULL, NULL);
  s->trace.event = observe_event;
  s->trace.context = s;
  return true;
}

void observers_destroy(HostSession *s)
{
  Observers *o = s->observers;
  if (!o)
    return;
  profile_destroy(o->profile);
  perfetto_destroy(o->perfetto);
  simlog_destroy(o->simlog);
  journeys_destroy(o->journeys);
  for (unsigned i = 0; i < s->options.n_watches; i++)
    watch_destroy(o->watches[i]);
  page_destroy(o->page);
  free(o);
}

TraceSink *observers_trace(HostSession *s)
{
  return s->trace.kinds && !s->observers->has_switches_alone ? &s->trace : NULL;
}

TraceSink *observers_switches(HostSession *s)
{
  return s->observers->has_switches_alone ? &s->trace : NULL;
}

TileCounts *observers_counts(const HostSession *s)
{
  return s->observers->page ? page_counts(s->observers->page) : NULL;
}

Pulse *observers_pulse(const HostSession *s)
{
  return s->observers->page ? page_pulse(s->observers->page) : NULL;
}

void observers_take_up(HostSession *s, Engine *engine)
{
  const Observers *o = s->observers;
  if (o->journeys)
    journeys_take_up(o->journeys, engine);
  if (o->perfetto)
    perfetto_take_up(o->perfetto, engine);
  if (o->profile)
    profile_take_up(o->profile, engine);
  for (unsigned i = 0; i < s->options.n_watches; i++)
    watch_take_up(o->watches[i], engine);
  if (o->page)
    page_take_up(o->page, engine);
}

/* ---- stopping --------------------------------------------------------------------------- */

uint64_t observers_limit(const HostSession *s, uint64_t limit)
{
  const Observers *o = s->observers;
  return o->has_stop && o->stop.by_cycle && o->stop.cycle < limit ? o->stop.cycle : limit;
}

bool observers_stopped(HostSession *s, RunStatus status)
{
  Observers *o = s->observers;
  if (o->has_stop && o->stop.by_cycle && status == RUN_LIMIT && session_cycle(s) == o->stop.cycle)
    o->stopped = true;
  return o->stopped;
}

char *observers_stop_text(const HostSession *s)
{
  const Observers *o = s->observers;
  char place[512], *text = NULL;
  size_t size;
  FILE *out = base_text_open(&text, &size);
  fprintf(out, "stopped before cycle %llu", (unsigned long long)session_cycle(s));
  if (!o->stop.by_cycle) {
    program_location(s->program, o->stopped_at.tile, o->stopped_at.pc, place, sizeof place);
    fprintf(out, ": P%u.%u has issued an instruction of %s",
            program_x(s->program, o->stopped_at.tile), program_y(s->program, o->stopped_at.tile),
            *place ? place : "its program");
    const char *line = strrchr(place, ':');
    if (o->stop.by_line && line && strtoul(line + 1, NULL, 10) != o->stop.line)
      fprintf(out, ", inlined at line %u", o->stop.line);
  }
  fprintf(out, "\n");
  base_text_close(out, &text);
  return text;
}

/* ---- the end ---------------------------------------------------------------------------- */

static void dump_region(HostSession *s, const uint32_t region[4], FILE *out)
{
  for (uint32_t y = region[1]; y < region[1] + region[3]; y++)
    for (uint32_t x = region[0]; x < region[0] + region[2]; x++)
      dump_tile(session_shown(s), s->program, program_tile(s->program, x, y), out);
}

static void dump_touched(HostSession *s, FILE *out)
{
  unsigned dumped = 0;
  for (uint32_t t = 0; t < s->program->n_tiles; t++) {
    if (!s->ops->touched(s->engine, t))
      continue;
    if (dumped++ == MOST_TILES_DUMPED) {
      fprintf(out, "and more tiles; --dump=X,Y,W,H chooses\n");
      return;
    }
    dump_tile(session_shown(s), s->program, t, out);
  }
}

void session_observed(HostSession *s)
{
  Observers *o = s->observers;
  FILE *out = s->options.observed_out;
  if (!o || !s->engine || o->over)
    return;
  o->over = true;
  if (o->perfetto)
    perfetto_finish(o->perfetto, session_cycle(s), session_is_partial(s));
  else if (o->simlog)
    simlog_finish(o->simlog);
  else if (o->traced && session_is_partial(s))
    fprintf(s->options.trace_out, "@%" PRIu64 " the run has not come to its end\n",
            session_cycle(s));
  for (unsigned i = 0; i < s->options.n_watches; i++)
    watch_finish(o->watches[i]);
  if (o->has_stop && !o->stopped)
    fprintf(out, "stop: the run has ended at cycle %llu without coming there\n",
            (unsigned long long)session_cycle(s));
  if (o->profile)
    profile_finish(o->profile, s->engine);
  for (unsigned i = 0; i < s->options.n_dumps; i++)
    dump_region(s, s->options.dumps[i], out);
  if (s->options.n_dumps)
    return;
  if (o->stopped && !o->stop.by_cycle)
    dump_tile(session_shown(s), s->program, o->stopped_at.tile, out);
  else if (o->stopped)
    dump_touched(s, out);
}

void observers_stuck(HostSession *s, const IdleQuestion *question)
{
  if (s->observers && s->observers->page)
    page_note_waits(s->observers->page, s->engine, question);
}

/* Why a run without an error of its own may have ended early, from malloc; NULL: it has not. */
static char *why_ended(const HostSession *s)
{
  ClusterWaferEnd end = {0};
  if (s->options.member)
    end = cluster_end_elsewhere(*s->options.member);
  if (end.why)
    return base_print("The run of wafer %s ended at cycle %" PRIu64 " by %s, and its own report "
                      "has the causes.\n", end.wafer, end.cycle, end.why);
  return session_is_partial(s) ? base_print("The run has not come to its end.\n") : NULL;
}

void session_write_page(HostSession *s, const char *title, bool data_only, FILE *out)
{
  HostStats stats = session_stats(s);
  char *text = host_stats_json(&stats);
  const ClusterMember *member = s->options.member;
  PageTexts texts = {.title = title, .wafer = member ? cluster_wafer_name(*member) : NULL,
                     .statistics = text, .honesty = host_honesty(), .findings = s->error.message,
                     .data_only = data_only};
  char *why = *texts.findings ? NULL : why_ended(s);
  if (why)
    texts.findings = why;
  page_write(s->observers->page, s->observers->profile, session_shown(s), &texts, out);
  free(text);
  free(why);
}

const Profile *session_profile(const HostSession *s)
{
  return s->observers ? s->observers->profile : NULL;
}
