/* Reference engine: its state in the form that all engines share, between cycles. */
#include "emu/reference/reference_internal.h"

#include "stb_ds.h"

#include <string.h>

/* ---- out ------------------------------------------------------------------------------------- */

static unsigned ring_out(const Ring *ring, StateWavelet *to)
{
  for (unsigned i = 0; i < ring->count && i < STATE_WAVELETS; i++) {
    const Wavelet *w = ring_peek(ring, i);
    to[i] = (StateWavelet){.visible = w->visible, .payload = w->payload,
                           .color = w->color, .from = (uint8_t)w->from, .control = w->control,
                           .kept = w->kept, .advance = w->advance};
  }
  return ring->count;
}

static void show_queues(const RefQueue queues[MAX_QUEUES], StateQueue to[MAX_QUEUES])
{
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    to[q].use = queues[q].use;
    to[q].n = ring_out(&queues[q].ring, to[q].at);
  }
}

static void show_state(const ColorState *c, StateColor *to)
{
  to->configured = true;
  to->suspended = c->suspended;
  to->rx = c->rx_position;
  to->tx = c->tx_position;
  to->moved = c->moved;
  to->filter = c->filter;
  to->rewritten = c->own != NULL;
  if (c->own)
    to->own = *c->own;
  to->n = ring_out(&c->slots, to->at);
}

static void write_tile(Engine *base, uint32_t index, unsigned char **bytes)
{
  RefTile *tile = touch_tile((RefEngine *)base, index);
  StateFabric fabric = {.first_color = tile->first_color, .last_ramp_queue = tile->last_ramp_queue};
  show_queues(tile->input, fabric.queues[0]);
  show_queues(tile->output, fabric.queues[1]);
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (tile->colors[c])
      show_state(tile->colors[c], &fabric.colors[c]);
  tile_save(&tile->core, bytes);
  fabric_put(&fabric, bytes);
  host_words_put(&tile->host.posted, bytes);
}

static void write_totals(Engine *base, EngineTotals *totals)
{
  RefEngine *engine = (RefEngine *)base;
  totals->cycle = base->cycle;
  totals->last_change = engine->log.last_change;
  totals->stopped = base->stopped;
  totals->quiet = base->quiet;
  totals->stats = engine->log.stats;
  for (unsigned i = 0; i < channel_count(engine); i++)
    arrput(totals->channels, engine->channels[i].out);
  for (size_t i = 0; i < arrlenu(base->faults); i++)
    arrput(totals->faults, base->faults[i]);
}

/* ---- in -------------------------------------------------------------------------------------- */

static void ring_in(Ring *ring, unsigned n, const StateWavelet *from)
{
  *ring = (Ring){0};
  for (unsigned i = 0; i < n; i++)
    ring_push(ring, (Wavelet){.payload = from[i].payload, .color = from[i].color,
                              .from = (Port)from[i].from, .control = from[i].control,
                              .kept = from[i].kept, .advance = from[i].advance,
                              .visible = from[i].visible});
}

static void set_queues(RefQueue queues[MAX_QUEUES], const StateQueue from[MAX_QUEUES])
{
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    queues[q].use = from[q].use;
    ring_in(&queues[q].ring, from[q].n, from[q].at);
  }
}

static void set_state(ColorState *c, const StateColor *from)
{
  c->suspended = from->suspended;
  c->rx_position = from->rx;
  c->tx_position = from->tx;
  c->moved = from->moved;
  c->filter = from->filter;
  if (from->rewritten) {
    c->own = base_malloc(sizeof *c->own);
    *c->own = from->own;
    c->config = &c->own->config;
  }
  ring_in(&c->slots, from->n, from->at);
}

static bool read_tile(Engine *base, uint32_t index, StateReader *in)
{
  RefEngine *engine = (RefEngine *)base;
  RefTile *tile = touch_tile(engine, index);
  Turn turn = start_turn(engine, tile);
  StateFabric fabric;
  if (!tile_restore(&turn, in) || !fabric_get(&fabric, base->program, index, in))
    return false;
  set_queues(tile->input, fabric.queues[0]);
  set_queues(tile->output, fabric.queues[1]);
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (tile->colors[c])
      set_state(tile->colors[c], &fabric.colors[c]);
  tile->first_color = fabric.first_color;
  tile->last_ramp_queue = fabric.last_ramp_queue;
  return host_words_get(base, index, in);
}

static void read_totals(Engine *base, const EngineTotals *totals)
{
  RefEngine *engine = (RefEngine *)base;
  base->cycle = totals->cycle;
  base->stopped = totals->stopped;
  base->quiet = false;          /* the next cycle shows that */
  base->last_change = engine->log.last_change = totals->last_change;
  engine->log.stats = totals->stats;
  for (unsigned i = 0; i < channel_count(engine); i++)
    engine->channels[i].out = totals->channels[i];
  for (size_t i = 0; i < arrlenu(totals->faults); i++)
    arrput(base->faults, totals->faults[i]);
}

const EngineKeeper reference_keeper = {write_totals, read_totals, write_tile, read_tile};
