/* Statistics of a session, by phase, and their JSON form. */
#include "emu/host/session_internal.h"
#include "emu/ranks/ranks.h"
#include "ir/base/platform.h"

#include <string.h>

#include <jansson.h>
#include <stb_ds.h>

enum { PERCENT = 100, MOST_PHASES = 4096 };

/* ---- phases ---------------------------------------------------------------------------------- */

/* The phase of a new action: its own, or from the MOST_PHASES-th on the one of its name. */
static size_t phase_for(HostSession *s, const char *action, uint64_t start)
{
  size_t n = arrlenu(s->phases);
  for (size_t i = MOST_PHASES; i < n; i++)
    if (strcmp(s->phases[i].action, action) == 0)
      return i;
  arrput(s->phases, ((HostPhase){
    .action = arena_copy_text(s->arena, action, strlen(action)), .start = start, .end = start}));
  return n;
}

static void enter_phase(HostSession *s, const char *action, uint64_t start)
{
  s->phase = phase_for(s, action, start);
  HostPhase *phase = &s->phases[s->phase];
  phase->count++;
  s->phase_before = *phase;
  s->phase_before.end = start;
}

void session_account(HostSession *s)
{
  HostPhase *phase = &s->phases[s->phase];
  const HostPhase *before = &s->phase_before;
  const EngineStats *stats = s->ops->stats(s->engine);
  uint64_t first = stats->first_event > before->end ? stats->first_event : before->end;
  bool active = stats->first_event <= stats->last_event && first <= stats->last_event;
  phase->end = session_cycle(s);
  if (s->phase_is_program && active)
    phase->cycles = before->cycles + stats->last_event - first + 1;
  if (!s->phase_is_program)
    phase->host_cycles = before->host_cycles + phase->end - before->end;
  else if (s->phase_has_command && active)
    phase->host_cycles = before->host_cycles + first - before->end;
}

bool session_take_up(HostSession *s)
{
  uint64_t seen = arrlenu(s->phases) ? s->phases[s->phase].end : 0;
  if (!s->options.member || session_cycle(s) <= seen)
    return false;
  if (!arrlenu(s->phases) || !s->phase_is_program) {
    enter_phase(s, "run", seen);
    s->phase_is_program = true;
    s->phase_has_command = false;
  }
  session_account(s);
  return true;
}

void session_phase(HostSession *s, bool is_program, const char *verb, const char *what)
{
  session_take_up(s);
  const HostPhase *last = arrlenu(s->phases) ? &s->phases[s->phase] : NULL;
  char action[256];
  snprintf(action, sizeof action, "%s%s%s", verb, *what ? " " : "", what);
  uint64_t now = session_cycle(s);
  s->phase_is_program = is_program;
  s->phase_is_cut = false;
  if (last && strcmp(last->action, action) == 0 && s->phase_before.end == now && last->end == now)
    return;                          /* nothing has happened in it yet */
  enter_phase(s, action, now);
  s->ops->phase_begin(s->engine);
}

/* ---- all of a session ------------------------------------------------------------------------ */

HostStats session_stats(HostSession *s)
{
  session_take_up(s);
  HostStats stats = {
    .arch = s->program->machine->name, .engine = s->ops->name,
    .threads = s->options.threads ? s->options.threads : 1, .processes = ranks_count(),
    .tiles = s->program->n_tiles, .phases = s->phases, .n_phases = arrlenu(s->phases),
    .load_seconds = s->load_seconds,
    .wall_seconds = s->options.member ? cluster_seconds(*s->options.member) : s->wall_seconds,
    .engine_stats = s->ops->stats(s->engine), .partial = session_is_partial(s),
    .timing = s->options.timing,
  };
  for (size_t i = 0; i < stats.n_phases; i++) {
    stats.cycles += s->phases[i].cycles;
    stats.host_cycles += s->phases[i].host_cycles;
  }
  return stats;
}

static json_t *json_count(uint64_t value)
{
  return json_integer((json_int_t)value);
}

static json_t *phases_json(const HostStats *stats)
{
  json_t *list = json_array();
  for (size_t i = 0; i < stats->n_phases; i++) {
    const HostPhase *phase = &stats->phases[i];
    json_t *one = json_object();
    json_object_set_new(one, "action", json_string(phase->action));
    json_object_set_new(one, "start", json_count(phase->start));
    json_object_set_new(one, "end", json_count(phase->end));
    json_object_set_new(one, "cycles", json_count(phase->cycles));
    json_object_set_new(one, "host_cycles", json_count(phase->host_cycles));
    if (phase->count > 1)
      json_object_set_new(one, "count", json_count(phase->count));
    json_array_append_new(list, one);
  }
  return list;
}

static json_t *stalls_json(const EngineStats *engine)
{
  json_t *stalls = json_object();
  for (unsigned i = STALL_NONE + 1; i < STALL_COUNT; i++)
    json_object_set_new(stalls, stall_name((StallCause)i), json_count(engine->stalls[i]));
  return stalls;
}

enum { CLASS_vector, CLASS_scalar };

/* The range in which public counts of programs like this one lie around ours; NULL where there is
 * none, as with rows that the user has set. */
static json_t *estimate_json(const HostStats *stats)
{
  static const struct {
    const char *arch, *name;
    int kind, points, low, high;          /* percent */
  } rows[] = {
#define RESIDUAL(arch, kind, points, low, high) {#arch, #kind, CLASS_##kind, points, low, high},
#include "emu/machine/residuals.def"
  };
  const EngineStats *engine = stats->engine_stats;
  uint64_t groups = engine->groups + engine->stalls[STALL_BANK], threads = groups;
  for (unsigned i = 0; i < TRUST_COUNT; i++)
    threads += engine->paid[i];
  int kind = 2 * groups >= threads ? CLASS_vector : CLASS_scalar;
  for (size_t i = 0; i < ARRAY_COUNT(rows) && threads && !stats->timing; i++) {
    if (rows[i].kind != kind || strcmp(rows[i].arch, stats->arch) != 0)
      continue;
    json_t *estimate = json_object();
    double cycles = (double)stats->cycles / PERCENT;
    json_object_set_new(estimate, "class", json_string(rows[i].name));
    json_object_set_new(estimate, "low", json_real(cycles * (PERCENT + rows[i].low)));
    json_object_set_new(estimate, "high", json_real(cycles * (PERCENT + rows[i].high)));
    json_object_set_new(estimate, "points", json_integer(rows[i].points));
    return estimate;
  }
  return NULL;
}

/* Cycles of threads by what their times rest on.  Groups are documented, waits belong to none. */
static json_t *trust_json(const EngineStats *engine)
{
  uint64_t groups = engine->groups + engine->stalls[STALL_BANK], sum = groups;
  json_t *trust = json_object();
  for (unsigned i = 0; i < TRUST_COUNT; i++) {
    uint64_t cycles = engine->paid[i] + (i == TRUST_DOCUMENTED ? groups : 0);
    json_object_set_new(trust, timing_trust_name((TimingTrust)i), json_count(cycles));
    sum += engine->paid[i];
  }
  double share = sum ? (double)engine->paid[TRUST_ASSUMED] / (double)sum : 0;
  json_object_set_new(trust, "assumed_share", json_real(share));
  return trust;
}

char *host_stats_json(const HostStats *stats)
{
  const EngineStats *engine = stats->engine_stats;
  double active = (double)engine->active_tile_cycles;
  json_t *top = json_object();
  if (stats->partial)
    json_object_set_new(top, "partial", json_true());
  json_object_set_new(top, "cycles", json_count(stats->cycles));
  json_object_set_new(top, "host_cycles", json_count(stats->host_cycles));
  json_object_set_new(top, "phases", phases_json(stats));
  json_object_set_new(top, "arch", json_string(stats->arch));
  if (stats->timing)
    json_object_set_new(top, "timing", json_string(stats->timing));
  json_object_set_new(top, "engine", json_string(stats->engine));
  json_object_set_new(top, "tiles", json_count(stats->tiles));
  json_object_set_new(top, "threads", json_count(stats->threads));
  json_object_set_new(top, "processes", json_count(stats->processes));
  json_object_set_new(top, "load_seconds", json_real(stats->load_seconds));
  json_object_set_new(top, "wall_seconds", json_real(stats->wall_seconds));
  json_object_set_new(top, "program_tile_cycles", json_count(stats->tiles * stats->cycles));
  json_object_set_new(top, "active_tile_cycles", json_count(engine->active_tile_cycles));
  json_object_set_new(top, "active_tile_cycles_per_second",
                      json_real(stats->wall_seconds > 0 ? active / stats->wall_seconds : 0));
  json_object_set_new(top, "instructions", json_count(engine->instructions));
  json_object_set_new(top, "groups", json_count(engine->groups));
  json_object_set_new(top, "elements", json_count(engine->elements));
  json_object_set_new(top, "tasks", json_count(engine->tasks));
  json_object_set_new(top, "wavelets", json_count(engine->wavelets));
  json_object_set_new(top, "wavelet_hops", json_count(engine_stats_hops(engine)));
  json_object_set_new(top, "stalls", stalls_json(engine));
  json_object_set_new(top, "trust", trust_json(engine));
  json_t *estimate = estimate_json(stats);
  if (estimate)
    json_object_set_new(top, "estimate", estimate);
  json_object_set_new(top, "peak_rss_bytes",
                      json_count(platform_peak_memory_bytes()));
  char *text = json_dumps(top, STATS_JSON);
  json_decref(top);
  if (!text)
    base_out_of_memory(0, "the statistics");
  return text;
}
