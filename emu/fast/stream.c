/* Fast engine, one step: a tile that a stream goes through.
 *
 * While the main thread's plain operation is the only one, a tile mostly does four things: a
 * wavelet goes from the input color to the queue, an element is computed, the result goes by the
 * ramp to the output color, and from there to a neighbour. This file plans and carries out all four
 * without tests for anything else that a tile could do. If something is not as expected, it leaves
 * the work to the general code, which would do the same. A bridge (bridge.c) takes the place of
 * queue and router. */
#include "emu/fast/step.h"

/* Whether one moves from the receiver's router to its queue in the cycle. */
static inline bool bridge_moves(const FastBridge *b, uint64_t cycle)
{
  uint32_t back = b->last - (uint32_t)cycle;
  return back < MOVE_CYCLES && (b->arrivals >> back & 1);
}

/* Cycles from `now` to the newest of these moves; at most 0: it is over. */
static inline int32_t bridge_last(const FastBridge *b, uint64_t now)
{
  return (int32_t)(b->last - (uint32_t)now);
}

/* What can move or issue in this cycle. */
typedef struct {
  StallCause cause;
  bool issues, enters, leaves, ramps;   /* element; input color to queue; output color to neighbour;
                                           output queue to output color */
  unsigned enter_port, leave_port;      /* link, or PORT_COUNT */
} StreamPlan;

/* The only link among outputs, or PORT_COUNT; the ramp aside. */
static HOT unsigned only_link(unsigned to)
{
  unsigned links = to & (port_bit(PORT_RAMP) - 1u);
  return links ? (unsigned)__builtin_ctz(links) : PORT_COUNT;
}

static HOT bool at_most_one_link(unsigned to)
{
  unsigned links = to & (port_bit(PORT_RAMP) - 1u);
  return (links & (links - 1)) == 0;
}

/* Whether the neighbour behind the link takes a wavelet of the color. */
static HOT bool stream_link_accepts(Visit *v, FastTile *t, const FastColor *c, unsigned port)
{
  FastTile *next = fast_beside(v->engine, t, port);
  return link_accepts(v, next, c->next[port], port);
}

/* The oldest wavelet of the color was there before this cycle and can be seen. */
static HOT bool stream_has(const Visit *v, const FastColor *c)
{
  return (open_at_start(v, c) & OPEN_COUNT) && wavelet_seen(c->w[0].meta, v->turn.cycle);
}

static HOT bool is_odd_move(const FastColor *c)
{
  return (c->w[0].meta & (META_CONTROL | META_ADVANCE)) ||
         (c->route & ROUTE_ODD) != ROUTE_CHECKED || !at_most_one_link(c->route & ROUTE_TX);
}

/* False: left to the general way. */
static HOT bool plan_enters(Visit *v, FastTile *t, const FastPlain *p, StreamPlan *plan)
{
  if (p->in_slot == NO_SLOT || !(t->occupied >> p->in_slot & 1))
    return true;
  const FastColor *c = &t->colors[p->in_slot];
  if (!stream_has(v, c))
    return true;
  if (UNLIKELY(is_odd_move(c) || !(c->route & port_bit(PORT_RAMP))))
    return false;
  plan->enter_port = only_link(c->route & ROUTE_TX);
  plan->enters = t->queues[p->input].input.count < v->engine->input_capacity[p->input] &&
                 (plan->enter_port == PORT_COUNT || t->out ||
                  stream_link_accepts(v, t, c, plan->enter_port));
  return true;
}

static HOT bool plan_leaves(Visit *v, FastTile *t, const FastPlain *p, StreamPlan *plan)
{
  if (p->output == NO_QUEUE)
    return true;
  const FastColor *c = &t->colors[p->out_slot];
  if ((t->occupied >> p->out_slot & 1) && stream_has(v, c)) {
    if (UNLIKELY(is_odd_move(c) || (c->route & port_bit(PORT_RAMP)) || !(c->route & ROUTE_TX)))
      return false;
    plan->leave_port = only_link(c->route & ROUTE_TX);
    plan->leaves = stream_link_accepts(v, t, c, plan->leave_port);
  }
  const FastQueues *q = &t->queues[p->output];
  if (!q->output.count)
    return true;
  uint32_t meta = output_at(q, 0)->meta;
  if (UNLIKELY((meta & ~(uint32_t)STAMP_MASK) != p->output_meta))
    return false;
  plan->ramps = wavelet_seen(meta, v->turn.cycle) && step_color_accepts(v, c, port_bit(PORT_RAMP));
  return true;
}

/* Both colors' moves take the link to the same neighbour: one has to wait. */
static HOT bool links_meet(const StreamPlan *plan)
{
  return plan->enter_port != PORT_COUNT && plan->enters && plan->leaves &&
         plan->enter_port == plan->leave_port;
}

static HOT bool bridge_has(const Visit *v, const FastBridge *b)
{
  return b->head != b->tail && bridge_wait(b, b->head, v->turn.cycle) <= 0;
}

static HOT StallCause stream_waits(const Visit *v, const FastTile *t, const FastPlain *p)
{
  if (t->in) {
    if (!bridge_has(v, t->in))
      return STALL_INPUT;
  } else if (p->input != NO_QUEUE) {
    const FastQueues *q = &t->queues[p->input];
    if (!q->input.count || !wavelet_seen(input_at(q, 0)->meta, v->turn.cycle))
      return STALL_INPUT;
  }
  if (!t->out && p->output != NO_QUEUE &&
      t->queues[p->output].output.count >= v->engine->output_capacity[p->output])
    return STALL_OUTPUT;
  return STALL_NONE;
}

/* False: left to the general way, which tiles with bridges never are. */
static HOT bool plan_sides(Visit *v, FastTile *t, const FastPlain *p, StreamPlan *plan)
{
  plan->enters = plan->leaves = plan->ramps = false;
  plan->enter_port = plan->leave_port = PORT_COUNT;
  if (t->in)
    plan->enters = bridge_moves(t->in, v->turn.cycle);
  else if (!plan_enters(v, t, p, plan))
    return false;
  if (t->out)
    plan->leaves = bridge_moves(t->out, v->turn.cycle + v->engine->timing->hop);    /* no copies */
  else if (!plan_leaves(v, t, p, plan))
    return false;
  return !links_meet(plan);
}

static HOT bool plan_stream(Visit *v, FastTile *t, const Thread *th, StreamPlan *plan)
{
  const FastPlain *p = thread_plain(th);
  plan->cause = STALL_NONE;
  plan->issues = th->ready <= v->turn.cycle;
  if (LIKELY(plan->issues)) {
    plan->cause = stream_waits(v, t, p);
    plan->issues = plan->cause == STALL_NONE;
  }
  return plan_sides(v, t, p, plan);
}

/* It gets to the receiver's router in cycle `arrival`.  The caller wakes the receiver. */
static HOT void bridge_put(Visit *v, FastBridge *b, uint32_t value, uint64_t arrival)
{
  const FastEngine *e = v->engine;
  unsigned place = b->tail++ % BRIDGE_PLACES;
  if (UNLIKELY(!b->ring))
    b->ring = fast_ring_alloc(v->worker);
  b->ring->payload[place] = value;
  b->ring->seen[place] = (uint8_t)(arrival + (e->bridge_seen - e->bridge_arrival));
  uint32_t later = (uint32_t)arrival - b->last;
  b->arrivals = later < MOVE_CYCLES ? b->arrivals << later | 1 : 1;
  b->last = (uint32_t)arrival;
}

/* The receiver is awake when the wavelet arrives.  A result cannot be undone any more: so the
 * receiver, for which nothing is on its way, need not wake before that. */
static HOT void bridge_push(Visit *v, FastBridge *b, uint32_t value, uint64_t arrival)
{
  if (UNLIKELY(bridge_last(b, v->turn.cycle) <= 0)) {
    uint32_t to = (uint32_t)(b->to - v->engine->tiles);     /* without a look at that tile */
    if (b->relay)
      wake_next(v, to);
    else
      fast_wake(v->worker, to, arrival);
  }
  bridge_put(v, b, value, arrival);
}

static HOT uint32_t bridge_take(FastBridge *b)
{
  return b->ring->payload[b->head++ % BRIDGE_PLACES];
}

static HOT void stream_issue(Visit *v, FastTile *t, Thread *th)
{
  FastPlain *p = thread_plain(th);
  if (t->in)
    p->value[p->input_stream] = bridge_take(t->in);
  else if (p->input != NO_QUEUE)
    p->value[p->input_stream] = input_take(v, p->input).payload;
  uint32_t a = plain_read(t, p, PLAIN_SRC0), b = plain_read(t, p, PLAIN_SRC1);
  uint32_t value = plain_operate(v, p, a, b);
  if (t->out && !t->out->relay)
    bridge_push(v, t->out, value,
                bridge_next(t->out, v->turn.cycle + v->engine->bridge_arrival));
  else
    plain_write(v, p, value, false);
  p->remaining--;
  th->ready = v->turn.cycle + 1;
}

static HOT void stream_enter(Visit *v, FastTile *t, const FastPlain *p, unsigned port)
{
  FastColor *c = &t->colors[p->in_slot];
  FastWavelet w = c->w[0];
  slot_pop(v, t, p->in_slot);
  wake_senders(v, c);
  if (port != PORT_COUNT && t->out)
    bridge_push(v, t->out, w.payload, v->turn.cycle + v->engine->timing->hop);
  else if (port != PORT_COUNT)
    link_push(v, fast_beside(v->engine, t, port), c->next[port], w, port);
  input_push(v, p->input, p->in_color, w);
}

static HOT void stream_leave(Visit *v, FastTile *t, const FastPlain *p, unsigned port)
{
  FastColor *c = &t->colors[p->out_slot];
  FastWavelet w = c->w[0];
  slot_pop(v, t, p->out_slot);
  wake_senders(v, c);
  link_push(v, fast_beside(v->engine, t, port), c->next[port], w, port);
}

static HOT void stream_ramp(Visit *v, FastTile *t, const FastPlain *p)
{
  FastQueues *q = &t->queues[p->output];
  FastWavelet w = queue_take(q, true);
  if (q->output.count == 0)
    t->output_any &= (uint16_t)~(1u << p->output);
  slot_push(v, t, p->out_slot, w, PORT_RAMP);
  t->last_ramp_queue = (uint8_t)p->output;
  v->worker->log.stats.wavelets++;
}

/* A tile with bridges has its counts settled when they are taken down. */
static HOT void stream_issued(Visit *v, FastTile *t)
{
  t->core.last_issued[t->core.main_level] = MAIN_THREAD;
  t->core.issues++;
  v->worker->log.stats.groups++;
  v->worker->log.stats.elements++;
}

/* The router copies to the next tile what comes over the bridge.  If that one's part of the relay
 * has been taken down, this tile's is in the next cycle, and until then there is room. */
static HOT void stream_relay(Visit *v, FastTile *t, const FastPlain *p)
{
  uint32_t payload = t->in->ring->payload[t->in->relays++ % BRIDGE_PLACES];
  if (LIKELY(t->out)) {
    bridge_push(v, t->out, payload, v->turn.cycle + v->engine->timing->hop);
    return;
  }
  const FastColor *c = &t->colors[p->in_slot];
  unsigned port = only_link(c->route & ROUTE_TX);
  if (!stream_link_accepts(v, t, c, port))
    ICE("a relay has no room");
  link_push(v, fast_beside(v->engine, t, port), c->next[port], (FastWavelet){payload, 0}, port);
}

/* What is not done by the bridges themselves. */
static HOT void stream_move(Visit *v, FastTile *t, const FastPlain *p, const StreamPlan *plan)
{
  if (plan->enters || plan->leaves)
    stream_served(t, p, plan->enters, plan->leaves);
  if (t->in) {
    if (plan->enters && t->in->relayed)
      stream_relay(v, t, p);
  } else if (plan->enters) {
    stream_enter(v, t, p, plan->enter_port);
  }
  if (!t->out && plan->leaves)
    stream_leave(v, t, p, plan->leave_port);
  if (!t->out && plan->ramps)
    stream_ramp(v, t, p);
}

/* Wavelets on a bridge will move: in cycles after this one, or at its other end. */
static HOT bool bridges_move(const Visit *v, const FastTile *t)
{
  if (t->in && (bridge_last(t->in, v->turn.cycle) > 0 || t->in->head != t->in->tail))
    return true;
  return t->out && bridge_last(t->out, v->turn.cycle) > (int32_t)v->engine->timing->hop;
}

/* ---- ahead of their cycle ----------------------------------------------------------------- */

/* Of `most` cycles from `cycle` on, those that find the next input on the bridge.  If the last one
 * does, so do the others, since no two come in one cycle. */
static HOT unsigned inputs_in_time(const FastBridge *b, uint64_t cycle, unsigned most)
{
  unsigned n = b->tail - b->head;
  n = most < n ? most : n;
  while (n && bridge_wait(b, b->head + n - 1, cycle - 1) > (int32_t)n)
    n--;
  return n;
}

/* Cycles after this one that find what an element needs; the last elements are left to others. */
static HOT unsigned known_elements(const Visit *v, const FastTile *t, const FastPlain *p,
                                   unsigned most)
{
  unsigned n = p->remaining - 2 < most ? p->remaining - 2 : most;
  return t->in ? inputs_in_time(t->in, v->turn.cycle + 1, n) : n;
}

/* A few dozen words, for which a call of memcpy would cost as much as the copy. */
static HOT void copy_few(uint32_t *to, const uint32_t *from, unsigned n)
{
  enum { AT_ONCE = 4 };
  for (; n >= AT_ONCE; n -= AT_ONCE, to += AT_ONCE, from += AT_ONCE)
    memcpy(to, from, AT_ONCE * sizeof *to);
  for (unsigned i = 0; i < AT_ONCE - 1; i++)
    if (i < n)
      to[i] = from[i];
}

/* The next `n` wavelets. */
static HOT void take_ahead(FastBridge *in, uint32_t *x, unsigned n)
{
  unsigned place = in->head % BRIDGE_PLACES, first = BRIDGE_PLACES - place;
  first = n < first ? n : first;
  copy_few(x, &in->ring->payload[place], first);
  if (n > first)
    copy_few(x + first, in->ring->payload, n - first);
  in->head += n;
}

/* The next `n` elements of a source. */
static HOT void read_ahead(FastTile *t, FastPlain *p, unsigned k, uint32_t *x, unsigned n)
{
  if (t->in && p->input_stream == k) {
    take_ahead(t->in, x, n);
    return;
  }
  plain_source(t, p, k, x, n, sizeof(uint32_t));
  if (p->memory & 1u << k)
    p->address[k] = (uint16_t)(p->address[k] + (int)n * p->step[k]);
}

/* So many wavelets, of one cycle each, behind the one of this cycle. */
static HOT void send_ahead(const Visit *v, FastBridge *out, const uint32_t *x, unsigned n)
{
  unsigned place = out->tail % BRIDGE_PLACES, first = BRIDGE_PLACES - place;
  uint32_t seen = out->last + 1 + v->engine->bridge_seen - v->engine->bridge_arrival;
  first = n < first ? n : first;
  copy_few(&out->ring->payload[place], x, first);
  if (n > first)
    copy_few(out->ring->payload, x + first, n - first);
  for (unsigned i = 0; i < first; i++)
    out->ring->seen[place + i] = (uint8_t)(seen + i);
  for (unsigned i = first; i < n; i++)
    out->ring->seen[i - first] = (uint8_t)(seen + i);
  out->tail += n;
  out->arrivals = out->arrivals << n | (((FastMoves)1 << n) - 1);
  out->last += n;
}

/* So many elements from bridge or memory to a bridge, in the cycles after this one. */
static HOT void issue_ahead(const Visit *v, FastTile *t, FastPlain *p, unsigned n)
{
  uint32_t a[BRIDGE_PLACES], b[BRIDGE_PLACES];
  read_ahead(t, p, PLAIN_SRC0, a, n);
  read_ahead(t, p, PLAIN_SRC1, b, n);
  plain_operate_words(v, p, a, b, n);
  send_ahead(v, t->out, a, n);
}

/* Cycles after this one for which the router knows what will come over the bridge, and the next
 * bridge has room for the copies. */
static HOT unsigned known_copies(const Visit *v, const FastBridge *in, const FastBridge *out,
                                 unsigned n)
{
  int32_t known = bridge_last(in, v->turn.cycle);
  unsigned room = BRIDGE_PLACES - 1 - (out->tail - out->head);
  if (known <= 0)
    return 0;
  n = (unsigned)known < n ? (unsigned)known : n;
  return n < room ? n : room;
}

/* The router copies what comes over the bridge in the next `n` cycles. */
static void relay_ahead(Visit *v, FastBridge *in, FastBridge *out, unsigned n)
{
  const FastEngine *e = v->engine;
  int32_t to_arrival = (int32_t)(e->bridge_seen - e->bridge_arrival);
  for (; in->relays != in->tail; in->relays++) {
    int32_t wait = bridge_wait(in, in->relays, v->turn.cycle) - to_arrival;
    if (wait > (int32_t)n)
      break;
    bridge_push(v, out, in->ring->payload[in->relays % BRIDGE_PLACES],
                v->turn.cycle + (uint32_t)wait + e->timing->hop);
  }
}

/* The next `n` elements from the bridge to memory. */
static void store_ahead(const Visit *v, FastTile *t, FastPlain *p, unsigned n)
{
  uint32_t *before = ((FastRun *)p)->before;
  for (unsigned i = 0; i < n; i++) {
    p->value[p->input_stream] = bridge_take(t->in);
    uint32_t a = plain_read(t, p, PLAIN_SRC0), b = plain_read(t, p, PLAIN_SRC1);
    uint32_t value = plain_operate(v, p, a, b);
    if (!(p->memory & 1u << PLAIN_DEST))
      continue;
    uint8_t *at = t->core.mem.bytes + p->address[PLAIN_DEST];
    memcpy(&before[i], at, sizeof value);
    memcpy(at, &value, sizeof value);
    p->address[PLAIN_DEST] = (uint16_t)(p->address[PLAIN_DEST] + p->step[PLAIN_DEST]);
  }
}

/* Out of the way of streams with results. */
static RARE void keep_ahead(Visit *v, FastTile *t, FastPlain *p, unsigned n)
{
  if (t->out)
    relay_ahead(v, t->in, t->out, n);
  store_ahead(v, t, p, n);
}

/* All that the operation takes comes over a bridge, and all that it sends goes over one. */
static HOT bool is_between_bridges(const FastTile *t, const FastPlain *p)
{
  return t->out ? t->in || p->input == NO_QUEUE : p->output == NO_QUEUE && !t->in->relayed;
}

/* Cycles after this one of which it is known what happens in them. */
static HOT unsigned known_cycles(const Visit *v, const FastTile *t, const FastPlain *p,
                                 bool upright)
{
  const FastEngine *e = v->engine;
  unsigned most = upright ? e->stream_ahead : e->stream_far;
  if (t->out && !t->out->relay)
    return known_elements(v, t, p, most);
  if (upright && t->out)
    return 0;
  unsigned n = known_elements(v, t, p, most < STREAM_STORES ? most : STREAM_STORES);
  return t->out ? known_copies(v, t->in, t->out, n) : n;
}

/* What is on its bridges says what a tile with results does in the cycles after this one; if
 * something else happens, that is undone (roll_back in bridge.c).  So those elements
 * are issued at once.  How the router served its colors meanwhile is left to fast_catch_up. */
static HOT void stream_ahead(Visit *v, FastTile *t, Thread *th)
{
  FastPlain *p = thread_plain(th);
  if (!is_between_bridges(t, p))
    return;
  bool upright = (t->out && t->out->upright) || (t->in && t->in->upright);
  unsigned n = known_cycles(v, t, p, upright);
  if (!n)
    return;
  if (t->out && !t->out->relay)
    issue_ahead(v, t, p, n);
  else
    keep_ahead(v, t, p, n);
  p->remaining -= n;
  p->ahead = (uint8_t)n;
  th->ready += n;
  v->worker->log.stats.active_tile_cycles += n;
  v->worker->visits += n;
  /* Row by row, what is to be undone is found when the row or the one above is visited. */
  for (unsigned i = 1; i <= n && upright; i++)
    fast_row_awake(v->engine, v->turn.cycle + i)[v->row] |= (uint8_t)row_part(0);
}

/* A tile without bridges that is not as expected. */
static HOT bool is_other(const Visit *v, const FastTile *t)
{
  if (!is_lone(t) || t->core.pending_due <= v->turn.cycle || t->attended || t->put_off)
    return true;
  const FastPlain *p = thread_plain(&t->core.threads[MAIN_THREAD]);
  unsigned colors = (p->in_slot == NO_SLOT ? 0 : 1u << p->in_slot) |
                    (p->out_slot == NO_SLOT ? 0 : 1u << p->out_slot);
  unsigned output = p->output == NO_QUEUE ? 0 : 1u << p->output;
  return !p->stream || p->remaining <= 1 || (t->occupied & ~colors) || (t->output_any & ~output);
}

/* When the tile is visited next. */
static HOT void stream_wakes(Visit *v, FastTile *t, uint32_t index, bool works)
{
  const Thread *th = &t->core.threads[MAIN_THREAD];
  bool ahead = (t->in || t->out) && thread_plain(th)->ahead;
  if (!ahead && !works && !bridges_move(v, t)) {
    sleep_until_due(v, t);
    return;
  }
  note_change(v);
  if (ahead)
    fast_wake(v->worker, index, th->ready);
  else
    wake_next(v, index);
}

/* ---- relays from row to row ----------------------------------------------------------------- */

/* The operation puts words from its bridge into memory, the router copies them to the next row, and
 * neither is at an end or has to wait. */
static HOT bool is_relay_in_flow(const Visit *v, const FastTile *t, const Thread *th)
{
  const FastPlain *p = thread_plain(th);
  return p->relays && !p->ahead && p->remaining > 2 && th->ready <= v->turn.cycle &&
         th->stall == STALL_NONE && !t->is_stuck && bridge_has(v, t->in) &&
         bridge_moves(t->in, v->turn.cycle);
}

/* A cycle of such a tile: as visit_stream, of which each step is known. */
static HOT void visit_relay(Visit *v, FastTile *t, Thread *th, uint32_t index)
{
  FastPlain *p = thread_plain(th);
  const FastRing *ring = t->in->ring;
  uint32_t value = bridge_take(t->in), copy = ring->payload[t->in->relays++ % BRIDGE_PLACES];
  uint64_t here = UINT64_C(1) << (index - v->first);    /* of the words of three rows */
  p->value[PLAIN_SRC1] = value;
  plain_write(v, p, value, false);
  p->remaining--;
  th->ready = v->turn.cycle + 1;
  t->first_slot = p->in_slot;
  bridge_put(v, t->out, copy, v->turn.cycle + v->engine->timing->hop);
  note_active(v);
  note_change(v);
  v->stay |= here;
  *(t->out->to > t ? &v->below : &v->above) |= here;
}

/* False: nothing has been done, the tile is visited in the general way. */
STEP HOT bool visit_stream(Visit *v, FastTile *t, uint32_t index)
{
  StreamPlan plan;
  Thread *th = &t->core.threads[MAIN_THREAD];
  bool bridged = t->in || t->out;
  v->tile = t;
  v->turn.tile = &t->core;
  if (!bridged && is_other(v, t))
    return false;
  if (bridged && is_relay_in_flow(v, t, th)) {
    visit_relay(v, t, th, index);
    return true;
  }
  if (bridged && thread_plain(th)->ahead) {
    if (th->ready > v->turn.cycle)
      return true;
    fast_catch_up(v->worker, t);
  }
  if (!plan_stream(v, t, th, &plan)) {
    if (bridged)
      ICE("a tile with a bridge does something else");
    return false;
  }
  const FastPlain *p = thread_plain(th);
  bool active = plan.issues || plan.enters || plan.leaves;
  if (!bridged && !active && !plan.ramps)
    return false;
  if (UNLIKELY(t->is_stuck))
    forget_stuck(t);            /* this way does not keep it up to date */
  v->wake_ports = 0;
  note_stall(v, plan.cause);
  if (plan.issues)
    stream_issue(v, t, th);
  stream_move(v, t, p, &plan);
  if (active)
    note_active(v);
  if (UNLIKELY(v->wake_ports))
    wake_neighbours(v);
  if (bridged) {
    bool held_up = !plan.issues && t->in && bridge_has(v, t->in);
    if (UNLIKELY(p->remaining <= 1 || held_up))
      add_chore(v, t, CHORE_PART, NO_SLOT);
    else if (plan.issues)
      stream_ahead(v, t, th);
  } else if (plan.issues) {
    stream_issued(v, t);
  }
  stream_wakes(v, t, index, active || plan.ramps);
  return true;
}
