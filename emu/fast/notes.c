/* Fast engine, one step: the results of a visit: tiles to wake, changes, activity, events. */
#include "emu/fast/step.h"

#include "stb_ds.h"

/* Awake in the next cycle, and in no word that is being visited. */
static HOT void wake_elsewhere(Visit *v, uint32_t index)
{
  uint32_t above = index - (v->first - v->engine->width);
  uint32_t below = index - (v->first + v->engine->width);
  if (below < v->tiles)
    v->below |= UINT64_C(1) << below;
  else if (above < v->tiles)
    v->above |= UINT64_C(1) << above;
  else
    fast_wake(v->worker, index, v->turn.cycle + 1);
}

/* Awake in the next cycle; mostly it belongs to the word that is being visited, or lies above or
 * below it. */
static HOT void wake_next(Visit *v, uint32_t index)
{
  uint32_t bit_at = index - v->first;
  if (LIKELY(bit_at < v->tiles))
    v->stay |= UINT64_C(1) << bit_at;
  else
    wake_elsewhere(v, index);
}

/* Something has changed in this cycle.  Rows are not always at the same cycle. */
static HOT void note_change(const Visit *v)
{
  if (v->turn.cycle >= v->worker->log.last_change)
    v->worker->log.last_change = v->turn.cycle + 1;
}

static HOT void note_active(const Visit *v)
{
  EngineStats *stats = &v->worker->log.stats;
  stats->active_tile_cycles++;
  if (UNLIKELY(v->turn.cycle < stats->first_event))
    stats->first_event = v->turn.cycle;
  if (v->turn.cycle > stats->last_event)
    stats->last_event = v->turn.cycle;
}

/* A tile has something to send; that of another process may, which keeps its queues. */
static bool may_send(const FastEngine *e, const FastTile *t)
{
  return t->set && (e->edges || (t->occupied | t->output_any));
}

/* The sides by which the tile that is visited has a neighbour. */
static HOT PortMask sides_inside(const Visit *v)
{
  const FastEngine *e = v->engine;
  uint32_t column = v->tile->core.index - v->row * e->width;
  return (PortMask)((v->row > 0 ? port_bit(PORT_NORTH) : 0u) |
                    (v->row + 1 < e->height ? port_bit(PORT_SOUTH) : 0u) |
                    (column > 0 ? port_bit(PORT_WEST) : 0u) |
                    (column + 1 < e->width ? port_bit(PORT_EAST) : 0u));
}

static RARE void wake_neighbours(Visit *v)
{
  const FastEngine *e = v->engine;
  for (unsigned bits = v->wake_ports & sides_inside(v); bits; bits &= bits - 1) {
    FastTile *next = fast_beside(e, v->tile, (unsigned)__builtin_ctz(bits));
    if (!may_send(e, next))
      continue;
    retry_moves(next, v->turn.cycle);
    wake_next(v, next->core.index);
  }
}

/* ---- when a tile wakes by itself --------------------------------------------------------- */

/* What a tile's router does late (router.c): the head of an output queue enters it, or the wavelet
 * of a slot leaves it for the tile. */
enum { PUT_OFF_SLOT = 0x1f, PUT_OFF_RAMP = 0x20 };      /* the slot counts from 1 */
/* What a stretch has written to the router's registers ahead of its cycle.  Nothing else is put off
 * meanwhile. */
enum { PUT_OFF_WRITE = 0x40 };

/* What a stretch does with configuration registers, in this order (kept.c): what it has read or is
 * going to write; the cycle, counted from `from` on.  The router goes by a write from the first
 * time that a unit looks at it after the write's cycle. */
enum { ACCESSES = 16 };
typedef enum { ACCESS_READ, ACCESS_WRITE, ACCESS_UNBLOCK, ACCESS_TEARDOWN } FastAccessKind;
typedef struct { uint16_t address, value; uint8_t at, kind; } FastAccess;
typedef struct FastAccesses {
  uint64_t from, latch;         /* latch: of the time stamp, before the stretch, if `latched` */
  bool latched;
  /* accesses; of them with their effects, from the first on; those that a stretch that is repeated
     has made before */
  uint8_t n, done, known;
  FastAccess of[ACCESSES];
} FastAccesses;

/* NULL: none. */
static inline FastAccesses *accesses_there(const FastTile *t)
{
  return t->own ? t->own->accesses : NULL;
}

/* Input queues whose wavelets matter to the tile if it can see them then: data does not matter to a
 * tile without operations before it may choose a task. */
static inline unsigned queues_that_matter(const FastTile *t, uint64_t cycle)
{
  bool is_busy = !t->core.vectors && (t->core.running || t->core.ready > cycle);
  return is_busy ? t->input_any & t->input_control : t->input_any;
}

/* When a tile without operations has to look at the wavelet that leaves its router late. */
static inline uint64_t late_due(const FastEngine *e, const FastTile *t, unsigned slot, uint64_t now)
{
  int32_t wait = wavelet_wait(t->colors[slot].w[0].meta, now);
  uint64_t seen = now + (uint64_t)(int64_t)wait + e->timing->ramp_down;
  return t->core.ready > seen ? t->core.ready : seen;
}

/* The only output queue with wavelets has this head, for which the router has nothing to wait:
 * nothing else is in it, and only the tile can use the color. */
static inline bool may_enter_late(const FastEngine *e, const FastTile *t, uint32_t meta)
{
  unsigned color = wavelet_field(meta);
  if (!e->puts_off || t->core.vectors || (t->put_off & PUT_OFF_WRITE) ||
      (t->occupied && !(t->put_off & PUT_OFF_SLOT)) ||
      (t->output_any & (t->output_any - 1)) ||
      (meta & (META_CONTROL | META_ADVANCE)) || t->attended || t->is_stuck || t->set->swaps ||
      (e->base.program->host_out_colors >> color & 1) || t->set->slot_of[color] == NO_SLOT)
    return false;
  return t->colors[t->set->slot_of[color]].open == port_bit(PORT_RAMP) << OPEN_RX_SHIFT;
}

/* The sooner one that is after `now`. */
static uint64_t sooner(uint64_t a, uint64_t b, uint64_t now)
{
  return b > now && b < a ? b : a;
}

static uint64_t sooner_wavelet(uint64_t a, uint32_t meta, uint64_t now)
{
  int32_t wait = wavelet_wait(meta, now);
  return wait > 0 ? sooner(a, now + (uint64_t)wait, now) : a;
}

/* When the tile has to look at its output queues, of which one has a wavelet at least: if it alone
 * can enter the router late, then when it leaves that. */
static uint64_t outputs_due(const FastEngine *e, FastTile *t, uint64_t now)
{
  uint32_t meta = output_at(&t->queues[__builtin_ctz(t->output_any)], 0)->meta;
  int32_t wait = wavelet_wait(meta, now);
  if (!FAST_TRACED && wait > 0 && may_enter_late(e, t, meta)) {
    uint64_t leaves = now + (uint64_t)wait + e->timing->hop;
    if (leaves < e->limit) {
      t->put_off |= PUT_OFF_RAMP;
      return leaves;
    }
  }
  uint64_t due = NEVER;
  for (unsigned bits = t->output_any; bits; bits &= bits - 1)
    due = sooner_wavelet(due, output_at(&t->queues[__builtin_ctz(bits)], 0)->meta, now);
  return due;
}

/* When the tile can see the first wavelet of the queue that it cannot see yet: those behind it come
 * later. */
static uint64_t sooner_input(uint64_t due, const FastQueues *q, uint64_t now)
{
  unsigned k = 0;
  if (wavelet_seen(input_at(q, q->input.count - 1u)->meta, now))
    return due;
  while (wavelet_seen(input_at(q, k)->meta, now))
    k++;
  return sooner_wavelet(due, input_at(q, k)->meta, now);
}

/* The first cycle that sees the router after the next write that is put off. */
static uint64_t late_write_due(const FastTile *t)
{
  const FastAccesses *a = t->own->accesses;
  unsigned i = a->done;
  while (a->of[i].kind != ACCESS_WRITE)
    i++;
  return a->from + a->of[i].at + 1;
}

/* The main thread does nothing before its operation is over. */
static HOT bool is_main_in_operation(const Tile *core)
{
  return core->running && (core->vectors & 1u << MAIN_THREAD) && (!core->overlaps || core->waits);
}

/* The cycle in which the tile has something to do, if nothing from outside comes before; NEVER. */
static uint64_t fast_next_due(const FastEngine *e, FastTile *t, uint64_t now)
{
  uint64_t due = is_main_in_operation(&t->core) ? NEVER : sooner(NEVER, t->core.ready, now);
  for (unsigned bits = t->core.vectors; bits; bits &= bits - 1) {
    const Thread *th = &t->core.threads[__builtin_ctz(bits)];
    uint64_t next = th->stall == STALL_ISSUE ? fast_next_free(t, now) : th->ready;
    due = sooner(due, next, now);
  }
  if (t->core.pending_due != NEVER)
    due = sooner(due, tile_next_action(&t->core, now), now);
  for (unsigned bits = queues_that_matter(t, now); bits; bits &= bits - 1)
    due = sooner_input(due, &t->queues[__builtin_ctz(bits)], now);
  if (t->output_any)
    due = sooner(due, outputs_due(e, t, now), now);
  if (UNLIKELY(t->put_off & PUT_OFF_WRITE) && (t->occupied | t->output_any))
    due = sooner(due, late_write_due(t), now);
  if (t->put_off & PUT_OFF_SLOT)
    return sooner(due, late_due(e, t, (t->put_off & PUT_OFF_SLOT) - 1u, now), now);
  for (uint32_t bits = t->occupied; bits; bits &= bits - 1)
    due = sooner_wavelet(due, t->colors[__builtin_ctz(bits)].w[0].meta, now);
  if (t->attended)
    due = sooner(due, host_words_due(&t->host->posted, now), now);
  return due;
}

/* Returns whether the tile wakes by itself. */
static HOT bool sleep_until_due(Visit *v, FastTile *t)
{
  uint64_t due = fast_next_due(v->engine, t, v->turn.cycle);
  if (due == NEVER)
    return false;
  fast_timer(v->worker, t->core.index, v->turn.cycle, due);
  return true;
}

/* For a step ahead, which is no matter of routers. */
static HOT void set_step(Visit *v, uint64_t cycle)
{
  v->turn.cycle = cycle;
  v->output_visible = cycle + v->engine->output_cycles;
}

static void set_now(Visit *v, uint64_t now)
{
  const Timing *timing = v->engine->timing;
  v->turn.cycle = now;
  v->hop_visible = now + timing->hop;
  v->ramp_visible = now + timing->ramp_down;
  v->output_visible = now + v->engine->output_cycles;
}
