/* Fast engine: its state in the form that all engines share, between cycles. */
#include "emu/fast/step.h"

#include "stb_ds.h"

/* ---- out ------------------------------------------------------------------------------------- */

static StateWavelet wavelet_out(FastWavelet w, uint64_t now)
{
  int64_t visible = (int64_t)now + wavelet_wait(w.meta, now);
  return (StateWavelet){.payload = w.payload, .visible = visible > 0 ? (uint64_t)visible : 0,
                        .control = (w.meta & META_CONTROL) != 0};
}

static void queue_out(const FastQueues *both, bool output, uint64_t now, StateQueue *to)
{
  const FastQueue *q = output ? &both->output : &both->input;
  to->use = queue_use(q);
  to->n = q->count;
  for (unsigned i = 0; i < q->count && i < STATE_WAVELETS; i++) {
    FastWavelet w = *queue_at(both, output, i);
    to->at[i] = wavelet_out(w, now);
    to->at[i].color = wavelet_field(w.meta);
    to->at[i].advance = output && (w.meta & META_ADVANCE);
    to->at[i].kept = !output && (w.meta & META_KEPT);
  }
}

static StateWavelet slot_wavelet_out(FastWavelet w, uint8_t color, uint64_t now)
{
  StateWavelet out = wavelet_out(w, now);
  out.color = color;
  out.from = wavelet_field(w.meta);
  out.advance = (w.meta & META_ADVANCE) != 0;
  return out;
}

static void color_out(const FastEngine *e, const FastTile *t, unsigned slot, StateColor *to)
{
  const FastColor *c = &t->colors[slot];
  uint64_t now = e->base.cycle;
  uint8_t color = t->set->color_of[slot];
  unsigned count = color_count(c);
  to->configured = true;
  to->suspended = (c->route & ROUTE_SUSPENDED) != 0;
  to->rx = (uint8_t)color_rx_position(c);
  to->tx = (uint8_t)color_tx_position(c);
  to->rewritten = t->own && t->own->config[slot];
  if (to->rewritten)
    to->own = *t->own->config[slot];
  if (t->set->switches)
    to->moved = color_moves(t)[slot];
  if (t->set->filters)
    to->filter = color_filters(t)[slot];
  for (unsigned i = 0; i < count && i < FAST_SLOTS; i++)
    to->at[to->n++] = slot_wavelet_out(c->w[i], color, now);
  for (size_t i = 0; i < arrlenu(e->spills) && to->n < STATE_WAVELETS; i++)
    if (e->spills[i].tile == t->core.index && e->spills[i].slot == slot)
      to->at[to->n++] = slot_wavelet_out(e->spills[i].wavelet, color, now);
}

static void keep_tile(Engine *base, uint32_t index, unsigned char **bytes)
{
  FastEngine *e = (FastEngine *)base;
  FastTile *t = fast_touch(e->workers, index);
  StateFabric fabric = {.first_color = MAX_COLORS - 1, .last_ramp_queue = t->last_ramp_queue};
  if (t->first_slot < t->set->n)
    fabric.first_color = t->set->color_of[t->first_slot];
  for (unsigned threads = t->core.vectors; threads; threads &= threads - 1)
    plain_sync(&t->core.threads[__builtin_ctz(threads)]);
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    queue_out(&t->queues[q], false, e->base.cycle, &fabric.queues[0][q]);
    queue_out(&t->queues[q], true, e->base.cycle, &fabric.queues[1][q]);
  }
  for (unsigned slot = 0; slot < t->set->n; slot++)
    color_out(e, t, slot, &fabric.colors[t->set->color_of[slot]]);
  tile_save(&t->core, bytes);
  fabric_put(&fabric, bytes);
  host_words_put(t->host ? &t->host->posted : NULL, bytes);
}

static void keep_totals(Engine *base, EngineTotals *totals)
{
  FastEngine *e = (FastEngine *)base;
  fast_ahead_undo(e, base->cycle);
  totals->cycle = base->cycle;
  totals->stopped = base->stopped;
  totals->quiet = base->quiet;
  totals->stats = *base->ops->stats(base);
  for (unsigned k = 0; k < e->n_workers; k++)
    if (e->workers[k].log.last_change > totals->last_change)
      totals->last_change = e->workers[k].log.last_change;
  for (unsigned i = 0; i < e->n_channels; i++)
    arrput(totals->channels, e->channels[i].out);
  for (size_t i = 0; i < arrlenu(base->faults); i++)
    arrput(totals->faults, base->faults[i]);
}

/* ---- in -------------------------------------------------------------------------------------- */

/* The low bits say it only if it is not long ago. */
static uint64_t recent_cycle(uint64_t visible, uint64_t now)
{
  return visible + FRESHEN_CYCLES < now ? now : visible;
}

static void queue_in(FastWorker *w, FastTile *t, unsigned number, bool output,
                     const StateQueue *from)
{
  FastQueues *both = &t->queues[number];
  FastQueue *q = output ? &both->output : &both->input;
  uint16_t bit = (uint16_t)(1u << number);
  queue_note(q, from->use);
  if (!from->n)
    return;
  while (q->places < from->n)
    fast_queues_widen(w, both, number);
  for (unsigned i = 0; i < from->n; i++) {
    const StateWavelet *at = &from->at[i];
    uint32_t flags = (at->control ? META_CONTROL : 0u) | (at->advance ? META_ADVANCE : 0u) |
                     (at->kept ? META_KEPT : 0u);
    uint64_t visible = recent_cycle(at->visible, w->engine->base.cycle);
    uint32_t meta = wavelet_meta(visible, at->color, flags);
    *queue_at(both, output, i) = (FastWavelet){at->payload, meta};
    t->input_control |= !output && at->control ? bit : 0;
  }
  q->count = (uint16_t)from->n;
  t->output_any |= output ? bit : 0;
  t->input_any |= output ? 0 : bit;
}

static void color_in(FastWorker *w, FastTile *t, unsigned slot, const StateColor *from)
{
  FastEngine *e = w->engine;
  FastColor *c = &t->colors[slot];
  if (from->rewritten)
    *fast_own_config(w, t, slot) = from->own;
  const ImageColorConfig *config = fast_config(t, t->set->color_of[slot]);
  c->route = (uint16_t)((c->route & ROUTE_FILTERED) | (from->suspended ? ROUTE_SUSPENDED : 0));
  c->open = (uint16_t)from->n;
  color_set(c, config, from->rx, from->tx);
  if (t->set->switches)
    color_moves(t)[slot] = from->moved;
  if (t->set->filters)
    color_filters(t)[slot] = from->filter;
  for (unsigned i = 0; i < from->n; i++) {
    const StateWavelet *at = &from->at[i];
    uint32_t flags = (at->control ? META_CONTROL : 0u) | (at->advance ? META_ADVANCE : 0u);
    uint64_t visible = recent_cycle(at->visible, e->base.cycle);
    FastWavelet wavelet = {at->payload, wavelet_meta(visible, at->from, flags)};
    if (i < FAST_SLOTS)
      c->w[i] = wavelet;
    else
      arrput(e->spills, ((FastSpill){t->core.index, (uint8_t)slot, wavelet}));
  }
  close_inputs(c, config);
  c->stamp = (uint32_t)e->base.cycle - 1;
  t->occupied |= from->n ? 1u << slot : 0;
}

static void fabric_in(FastWorker *w, FastTile *t, const StateFabric *fabric)
{
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    queue_in(w, t, q, false, &fabric->queues[0][q]);
    queue_in(w, t, q, true, &fabric->queues[1][q]);
  }
  for (unsigned slot = 0; slot < t->set->n; slot++)
    color_in(w, t, slot, &fabric->colors[t->set->color_of[slot]]);
  unsigned first = t->set->slot_of[fabric->first_color];
  t->first_slot = first == NO_SLOT ? t->first_slot : (uint8_t)first;
  t->last_ramp_queue = fabric->last_ramp_queue;
}

/* The rows of this process, and copies of those beside them. */
static bool restore_tile(Engine *base, uint32_t index, StateReader *in)
{
  FastEngine *e = (FastEngine *)base;
  uint32_t row = index / e->width;
  bool is_own = row >= e->own.first && row < e->own.end;
  FastWorker *w = &e->workers[e->row_worker[row]];
  FastTile *t = fast_touch(w, index);
  StateFabric fabric;
  Visit v = start_visits(w);
  v.tile = t;
  v.turn.tile = &t->core;
  if (!tile_restore(&v.turn, in) || !fabric_get(&fabric, base->program, index, in))
    return false;
  fabric_in(w, t, &fabric);
  fast_bind_queues(t);
  if (!is_own) {
    in->at = in->end;
    return true;
  }
  for (unsigned threads = t->core.vectors; threads; threads &= threads - 1)
    plain_start(&v, (unsigned)__builtin_ctz(threads));
  fast_wake(w, index, base->cycle);
  return host_words_get(base, index, in);
}

/* Tiles that start by themselves wait for the first cycle; it is another one now. */
static void restore_totals(Engine *base, const EngineTotals *totals)
{
  FastEngine *e = (FastEngine *)base;
  TileLog *log = &e->workers[0].log;
  fast_skip_to(base, totals->cycle);
  base->stopped = totals->stopped;
  log->stats = totals->stats;
  base->last_change = log->last_change = totals->last_change;
  for (unsigned i = 0; i < e->n_channels; i++)
    e->channels[i].out = totals->channels[i];
  for (size_t i = 0; i < arrlenu(totals->faults); i++)
    arrput(base->faults, totals->faults[i]);
}

const EngineKeeper fast_keeper = {keep_totals, restore_totals, keep_tile, restore_tile};
