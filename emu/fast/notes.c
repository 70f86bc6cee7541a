/* Fast engine, one step: the results of a visit: tiles to wake, changes, activity, events. */
#include "emu/fast/step.h"

#include "stb_ds.h"

/* Awake in the next cycle; mostly it belongs to the word that is being visited. */
STEP HOT void wake(Visit *v, uint32_t index)
{
  uint32_t bit_at = index - v->first;
  if (LIKELY(bit_at < v->tiles))
    v->stay |= UINT64_C(1) << bit_at;
  else
    fast_wake(v->worker, index, v->now + 1);
}

/* Something has changed in this cycle.  Rows are not always at the same cycle. */
STEP HOT void note_change(const Visit *v)
{
  if (v->now >= v->worker->last_change)
    v->worker->last_change = v->now + 1;
}

STEP HOT void note_active(const Visit *v)
{
  EngineStats *stats = &v->worker->stats;
  stats->active_tile_cycles++;
  if (UNLIKELY(v->now < stats->first_event))
    stats->first_event = v->now;
  if (v->now > stats->last_event)
    stats->last_event = v->now;
}

/* The cycles of a row that a thread spends. */
STEP unsigned pay_row(Visit *v, TimingRowId row)
{
  unsigned cycles = timing_cycles(v->engine->timing, row);
  v->worker->stats.paid[timing_trust(row)] += cycles ? cycles : 1;
  return cycles;
}

STEP void record_event(const Visit *v, TraceEvent event)
{
  FastEngine *e = v->engine;
  const TraceSink *sink = e->options.trace;
  if (!trace_wants(sink, event.kind, v->now) ||
      !trace_in_region(sink, program_x(e->program, v->tile->index),
                       program_y(e->program, v->tile->index)))
    return;
  event.cycle = v->now;
  event.tile = v->tile->index;
  arrput(v->worker->events, event);
}

STEP RARE void wake_neighbours(Visit *v)
{
  FastEngine *e = v->engine;
  unsigned ports = v->wake_all ? port_bit(PORT_RAMP) - 1u : v->wake_ports;
  for (unsigned bits = ports & (port_bit(PORT_RAMP) - 1u); bits; bits &= bits - 1) {
    uint32_t next = program_neighbour(e->program, v->tile->index, (Port)__builtin_ctz(bits));
    if (next != (uint32_t)NO_TILE && e->tiles[next].set)
      fast_wake(v->worker, next, v->now + 1);
  }
}

STEP HOT void sleep_until_due(Visit *v, const FastTile *t)
{
  uint64_t due = fast_next_due(t, v->now);
  if (due != NEVER)
    fast_timer(v->worker, t->index, v->now, due);
}

STEP void set_now(Visit *v, uint64_t now)
{
  const Timing *timing = v->engine->timing;
  v->now = now;
  v->hop_visible = now + timing->hop;
  v->ramp_visible = now + timing->ramp_down;
  v->output_visible = now + fast_output_cycles(timing);
}

STEP Visit start_visits(FastWorker *worker)
{
  FastEngine *e = worker->engine;
  Visit v = {
    .engine = e, .worker = worker, .hop = e->timing->hop,
    .host_colors = e->program->host_out_colors,
    .wse2 = e->program->image->arch == ARCH_WSE2,
  };
  set_now(&v, e->cycle);
  return v;
}
