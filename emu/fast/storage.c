/* Fast engine: the storage of wavelets, queues, colors and operations. */
#include "emu/fast/step.h"

enum {
  META_SHIFT = STAMP_BITS, META_FIELD = 0x1f,   /* color in queues, port in slots */
  /* in `route`; the positions are equal but while a wavelet with `advance` is inside */
  ROUTE_RX_SHIFT = 8, ROUTE_TX_SHIFT = 10, ROUTE_POSITION = 3,
};

/* Cycles until it can be seen; at most 0: now. */
STEP inline int32_t wavelet_wait(uint32_t meta, uint64_t now)
{
  return (int32_t)((meta - (uint32_t)now) << (32 - STAMP_BITS)) >> (32 - STAMP_BITS);
}

STEP inline bool wavelet_seen(uint32_t meta, uint64_t now)
{
  return wavelet_wait(meta, now) <= 0;
}

STEP inline uint8_t wavelet_field(uint32_t meta) { return meta >> META_SHIFT & META_FIELD; }

STEP inline uint32_t wavelet_meta(uint64_t visible, unsigned field, uint32_t flags)
{
  return ((uint32_t)visible & STAMP_MASK) | (uint32_t)field << META_SHIFT | flags;
}

STEP inline QueueUse queue_use(const FastQueue *q)
{
  return (QueueUse){q->use_pc, q->use_elements, q->use_color, q->use_control, q->use_ended};
}

STEP inline void queue_note(FastQueue *q, QueueUse use)
{
  q->use_pc = use.pc;
  q->use_elements = use.elements;
  q->use_color = use.color & 0x3f;
  q->use_control = use.control;
  q->use_ended = use.ended;
}

STEP inline FastWavelet *queue_at(const FastQueues *both, bool output, unsigned index)
{
  return &both->at[index * QUEUE_STEP + output];
}

STEP inline FastWavelet *input_at(const FastQueues *both, unsigned index)
{
  return queue_at(both, false, index);
}

STEP inline FastWavelet *output_at(const FastQueues *both, unsigned index)
{
  return queue_at(both, true, index);
}

STEP inline FastWavelet queue_take(FastQueues *both, bool output)
{
  FastWavelet *at = queue_at(both, output, 0), first = *at;
  uint32_t count = --(output ? &both->output : &both->input)->count;
  for (uint32_t i = 0; i < QUEUE_FEW; i++)
    at[i * QUEUE_STEP] = at[(i + 1) * QUEUE_STEP];
  for (uint32_t i = QUEUE_FEW; i < count; i++)
    at[i * QUEUE_STEP] = at[(i + 1) * QUEUE_STEP];
  return first;
}

/* By slot, if a color of the tile's set has a switch. */
STEP inline SwitchMove *color_moves(const FastTile *t)
{
  return (SwitchMove *)(void *)(t->colors + t->set->n);
}

/* By slot, if a color of the tile's set has a filter. */
STEP inline FilterState *color_filters(const FastTile *t)
{
  return (FilterState *)(void *)(color_moves(t) + (t->set->switches ? t->set->n : 0));
}

STEP inline unsigned color_count(const FastColor *c) { return c->open & OPEN_COUNT; }

STEP inline unsigned color_rx_position(const FastColor *c)
{
  return c->route >> ROUTE_RX_SHIFT & ROUTE_POSITION;
}

STEP inline unsigned color_tx_position(const FastColor *c)
{
  return c->route >> ROUTE_TX_SHIFT & ROUTE_POSITION;
}

/* The masks follow the positions; the new outputs are to be checked.  A suspended color stays
 * suspended. */
STEP inline void color_set(FastColor *c, const ImageColorConfig *config, unsigned rx, unsigned tx)
{
  unsigned kept = c->route & (ROUTE_SUSPENDED | ROUTE_FILTERED);
  rx &= ROUTE_POSITION;
  tx &= ROUTE_POSITION;
  c->open = (uint16_t)(color_count(c) | (kept & ROUTE_SUSPENDED ? 0u : config->positions[rx].rx)
                                            << OPEN_RX_SHIFT);
  c->route = (uint16_t)((config->positions[tx].tx & ROUTE_TX) | rx << ROUTE_RX_SHIFT |
                        tx << ROUTE_TX_SHIFT | kept);
}

STEP inline FastPlain *thread_plain(const Thread *thread)
{
  /* By integers: the thread may have no run yet, and then nothing reads through the result. */
  uintptr_t whole = (uintptr_t)thread->run - offsetof(FastRun, run);
  return (FastPlain *)(whole + offsetof(FastRun, plain));
}

/* Brings the VecRun of a plain operation up to date. */
STEP inline void plain_sync(Thread *thread)
{
  VecRun *run = thread->run;
  if (!thread->plain)
    return;
  FastPlain *p = thread_plain(thread);
  VecStream *streams[PLAIN_STREAMS] = {&run->src[0], &run->src[1], &run->dest};
  for (unsigned bits = p->memory; bits; bits &= bits - 1) {    /* the others stay where they are */
    unsigned i = (unsigned)__builtin_ctz(bits);
    vec_stream_place(streams[i], p->address[i]);
  }
  run->remaining = p->remaining;
  run->started += p->late;
  p->late = 0;
}

/* Cycles from `now` until the bridge's wavelet of a number can be taken; at most 0: now. */
STEP inline int32_t bridge_wait(const FastBridge *bridge, uint32_t number, uint64_t now)
{
  return (int8_t)(bridge->ring->seen[number % BRIDGE_PLACES] - (uint8_t)now);
}

/* When the next result gets to the receiver's router: the ramp takes one in a cycle. */
static inline uint64_t bridge_next(const FastBridge *bridge, uint64_t soonest)
{
  int32_t behind = (int32_t)(bridge->last + 1 - (uint32_t)soonest);
  return behind > 0 ? soonest + (uint32_t)behind : soonest;
}

STEP inline const ImageColorConfig *fast_config(const FastTile *tile, unsigned color)
{
  unsigned slot = tile->set->slot_of[color];
  const RouterConfig *own = tile->own ? tile->own->config[slot] : NULL;
  return own ? &own->config : tile->set->config[slot];
}

STEP inline FastTile *fast_beside(const FastEngine *engine, FastTile *tile, unsigned port)
{
  return (FastTile *)((char *)tile + engine->stride[port]);
}

STEP inline bool step_is_host_color(const Visit *v, unsigned color)
{
  return v->turn.program->host_out_colors >> color & 1;
}

/* Places after the color that was served first in the last cycle with a move. */
static inline unsigned places_after_first(const FastTile *tile, unsigned slot)
{
  unsigned first = tile->first_slot + 1u;
  return slot >= first ? slot - first : slot + MAX_COLORS - first;
}

/* The router of a stream has served its colors in a cycle, by turns: one of them at least. */
STEP inline void stream_served(FastTile *tile, const FastPlain *plain, bool enters, bool leaves)
{
  bool in_first = enters && (!leaves || places_after_first(tile, plain->in_slot) <
                                            places_after_first(tile, plain->out_slot));
  tile->first_slot = in_first ? plain->in_slot : plain->out_slot;
}

/* What has changed in this cycle may make room in the next one. */
STEP inline void retry_moves(FastTile *tile, uint64_t now) { tile->retry = (uint32_t)now + 1; }

STEP inline void forget_stuck(FastTile *tile)
{
  tile->stuck = tile->stuck_outputs = 0;
  tile->is_stuck = false;
}

STEP RouterNow color_now(const FastTile *t, unsigned slot)
{
  const FastColor *c = &t->colors[slot];
  RouterNow now = {.position = (uint8_t)color_rx_position(c),
                   .suspended = (c->route & ROUTE_SUSPENDED) != 0};
  if (c->route & ROUTE_FILTERED) {
    now.counter = color_filters(t)[slot].counter;
    now.limit = color_filters(t)[slot].limit1;
  }
  return now;
}
