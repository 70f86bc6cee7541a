/* Fast engine: the storage of wavelets, queues, colors and operations. */
#include "emu/fast/step.h"

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

STEP inline void queue_note(FastQueue *q, QueueUse use)
{
  q->use_pc = use.pc;
  q->use_elements = use.elements;
  q->use_color = use.color & 0x7f;
  q->use_control = use.control;
}

STEP inline QueueUse queue_use(const FastQueue *q)
{
  return (QueueUse){q->use_pc, q->use_elements, q->use_color, q->use_control};
}

STEP inline FastWavelet *queue_at(const FastQueue *q, unsigned index)
{
  return &q->at[index * QUEUE_STEP];
}

STEP inline FastWavelet queue_take(FastQueue *q)
{
  FastWavelet first = q->at[0];
  uint32_t count = --q->count;
  for (uint32_t i = 0; i < QUEUE_FEW; i++)
    q->at[i * QUEUE_STEP] = q->at[(i + 1) * QUEUE_STEP];
  for (uint32_t i = QUEUE_FEW; i < count; i++)
    q->at[i * QUEUE_STEP] = q->at[(i + 1) * QUEUE_STEP];
  return first;
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

/* The masks follow the positions; the new outputs are to be checked. */
STEP inline void color_set(FastColor *c, const ImageColorConfig *config, unsigned rx, unsigned tx,
                             bool suspended)
{
  rx &= ROUTE_POSITION;
  tx &= ROUTE_POSITION;
  c->open = (uint16_t)(color_count(c) | (suspended ? 0u : config->positions[rx].rx)
                                            << OPEN_RX_SHIFT);
  c->route = (uint16_t)((config->positions[tx].tx & ROUTE_TX) | rx << ROUTE_RX_SHIFT |
                        tx << ROUTE_TX_SHIFT | (suspended ? ROUTE_SUSPENDED : 0) |
                        (c->route & ROUTE_FILTERED));
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
  const FastPlain *p = thread_plain(thread);
  VecStream *streams[PLAIN_STREAMS] = {&run->src[0], &run->src[1], &run->dest};
  for (unsigned i = 0; i < PLAIN_STREAMS; i++)
    streams[i]->address = p->address[i];
  run->remaining = p->remaining;
}

/* The state of a color at a tile; NULL: not configured. */
STEP inline FastColor *fast_color(const FastTile *tile, unsigned color)
{
  unsigned slot = tile->set->slot_of[color];
  return slot == NO_SLOT ? NULL : &tile->colors[slot];
}

STEP inline const ImageColorConfig *fast_config(const FastTile *tile, unsigned color)
{
  unsigned slot = tile->set->slot_of[color];
  return tile->own && tile->own[slot] ? &tile->own[slot]->config : tile->set->config[slot];
}

STEP inline FastTile *fast_beside(const FastEngine *engine, FastTile *tile, unsigned port)
{
  return (FastTile *)((char *)tile + engine->stride[port]);
}

/* From an element's group to the cycle in which the router can see its wavelet: never the same. */
STEP inline unsigned fast_output_cycles(const Timing *timing)
{
  unsigned cycles = timing->element_to_queue + timing->ramp_up - (timing->ramp_up ? 1 : 0);
  return cycles ? cycles : 1;
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

/* Whether an instruction that was carried out ahead issues in this cycle. */
STEP inline bool fast_issues_ahead(const FastTile *tile, uint64_t now)
{
  return tile->is_ahead && now - tile->ahead->from < WORD_BITS &&
         (tile->ahead->issues >> (now - tile->ahead->from) & 1);
}

/* Whether one moves from the receiver's router to its queue in the cycle. */
STEP inline bool bridge_moves(const FastBridge *b, uint64_t cycle)
{
  uint32_t back = b->last - (uint32_t)cycle;
  return back < WORD_BITS && (b->arrivals >> back & 1);
}

/* Cycles from `now` to the newest of these moves; at most 0: it is over. */
STEP inline int32_t bridge_last(const FastBridge *b, uint64_t now)
{
  return (int32_t)(b->last - (uint32_t)now);
}

STEP RouterNow color_now(const FastTile *t, unsigned slot)
{
  const FastColor *c = &t->colors[slot];
  RouterNow now = {.position = (uint8_t)color_rx_position(c),
                   .suspended = (c->route & ROUTE_SUSPENDED) != 0};
  if (c->route & ROUTE_FILTERED) {
    now.counter = t->filters[slot].counter;
    now.limit = t->filters[slot].limit1;
  }
  return now;
}
