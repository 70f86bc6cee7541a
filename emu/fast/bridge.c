/* Fast engine: bridges. If the results of one operation are the input of an operation on the
 * neighbour, and nothing else goes through their routers, nothing can hold a wavelet up on its way:
 * it arrives a fixed number of cycles after the sender made it. So the engine hands it over at
 * once, with the cycle in which the receiver will see it, and visits neither ramps nor routers.
 *
 * A broadcast goes over relays: a tile's operation reads a color, and its router also copies the
 * color's wavelets to the neighbour, for the operation there. A tile gets a bridge only if its
 * copies go over one, too. So the engine builds relays from the last tile to the first, at the end
 * of a block, when all tiles are at the same cycle.  A sender that has started before its receiver
 * gets its bridge there, too, and the wavelets that are on their way go on over the bridge.
 *
 * The wavelets on its bridges are a tile's inputs for some cycles to come.  So it issues these
 * elements ahead of their cycle, and roll_back can undo them, with what other tiles have made of
 * them.  In one row, all tiles are at the same cycle whenever that happens, so a stream that stays
 * in its row goes ahead as far as its rings allow.  Between rows it goes ahead only as long as a
 * neighbour that is ahead as well cannot have used what it sends.
 *
 * As soon as anything else could happen, the engine takes the bridge down at the end of that cycle
 * and puts its wavelets where they are by then. Taking one down too early only costs speed. Those
 * before it in a relay follow, one tile per cycle. That is soon enough: until a tile holds one up,
 * each has a place free in its router. */
#include "emu/fast/step.h"

#include "stb_ds.h"

enum { JOIN_TRIES = 32 };       /* ends of blocks; a stream that flows does so within some cycles */

static const FastPlain *plain_of(const FastTile *t)
{
  return thread_plain(&t->core.threads[MAIN_THREAD]);
}

/* ---- building --------------------------------------------------------------------------- */

/* The ring holds what a tile may take back and all that its neighbour has sent since; when the tile
 * catches up with the cycles that it was ahead, these are still among the arrivals. */
static uint32_t most_ahead(const FastEngine *e)
{
  uint32_t ring = BRIDGE_PLACES - (e->bridge_seen + 2 + 2 * BRIDGE_LATE);
  uint32_t arrivals = (MOVE_CYCLES - 1 - e->bridge_arrival - e->timing->hop - BRIDGE_LATE) / 2;
  return ring < arrivals ? ring : arrivals;
}

void fast_bridges_create(FastEngine *e)
{
  const Timing *timing = e->timing;
  e->bridge_arrival = e->output_cycles + 2 * timing->hop;
  e->bridge_seen = e->bridge_arrival + (timing->ramp_down ? timing->ramp_down : 1);
  e->bridges = !(e->base.options.checks & CHECKS_ORDER) && timing->hop == 1 &&
               e->router_slots >= FAST_SLOTS &&
               e->bridge_seen + 2 + 2 * BRIDGE_LATE <= BRIDGE_PLACES / 2;
  e->stream_far = e->bridges ? most_ahead(e) : 0;
  e->stream_ahead = e->bridge_seen - 1 < e->stream_far ? e->bridge_seen - 1 : e->stream_far;
}

/* All queues have room for what is on its way when every cycle brings a wavelet. */
static bool queues_suffice(const FastEngine *e, const FastPlain *from, const FastPlain *to)
{
  const Timing *timing = e->timing;
  return (from->output == NO_QUEUE ||
          e->output_capacity[from->output] > timing->element_to_queue + timing->ramp_up) &&
         e->input_capacity[to->input] > timing->ramp_down + 1;
}

/* The tile does nothing but a streaming operation. */
static bool only_streams(const FastTile *t)
{
  return t->set && t->core.running && t->core.vectors == 1u << MAIN_THREAD &&
         t->core.threads[MAIN_THREAD].plain && plain_of(t)->stream && plain_of(t)->remaining > 1 &&
         t->core.pending_due == NEVER && !t->attended && !t->put_off &&
         !(t->input_any & t->input_control);
}

/* No wavelet of the color does more than move. */
static bool only_data(const FastTile *t, unsigned slot)
{
  for (unsigned i = 0; slot != NO_SLOT && i < color_count(&t->colors[slot]); i++)
    if (i >= FAST_SLOTS || (t->colors[slot].w[i].meta & (META_CONTROL | META_ADVANCE)))
      return false;
  return true;
}

/* An operation before may have left others in its queue. */
static bool only_results(const FastTile *t)
{
  const FastPlain *p = plain_of(t);
  const FastQueues *q = p->output == NO_QUEUE ? NULL : &t->queues[p->output];
  for (unsigned i = 0; q && i < q->output.count; i++)
    if ((output_at(q, i)->meta & ~(uint32_t)STAMP_MASK) != p->output_meta)
      return false;
  return true;
}

/* Nothing but the operation's own wavelets is in the router and in the output queues. */
static bool only_own(const FastTile *t)
{
  const FastPlain *p = plain_of(t);
  unsigned colors = (p->in_slot == NO_SLOT ? 0 : 1u << p->in_slot) |
                    (p->out_slot == NO_SLOT ? 0 : 1u << p->out_slot);
  unsigned outputs = p->output == NO_QUEUE ? 0 : 1u << p->output;
  return !(t->occupied & ~colors) && !(t->output_any & ~outputs) &&
         only_data(t, p->in_slot) && only_data(t, p->out_slot) && only_results(t);
}

static bool leads(const FastColor *c, unsigned to)
{
  return (c->route & (ROUTE_TX | ROUTE_SUSPENDED | ROUTE_FILTERED)) == to;
}

/* The operation's input color ends here: nothing goes on to a neighbour. */
static bool input_ends(const FastTile *t)
{
  const FastPlain *p = plain_of(t);
  return p->in_slot == NO_SLOT || leads(&t->colors[p->in_slot], port_bit(PORT_RAMP));
}

/* If an operation has no results, copies of its input may go on to a neighbour. */
static bool may_relay(const FastTile *t)
{
  return plain_of(t)->output == NO_QUEUE;
}

/* Slot of the color by which results or copies leave, or NO_SLOT. */
static unsigned leaving_slot(const FastTile *t)
{
  return may_relay(t) ? plain_of(t)->in_slot : plain_of(t)->out_slot;
}

/* The only link by which they do, or PORT_COUNT. */
static unsigned leaving_link(const FastTile *t)
{
  unsigned slot = leaving_slot(t), own = may_relay(t) ? port_bit(PORT_RAMP) : 0;
  for (unsigned port = 0; slot != NO_SLOT && port < PORT_RAMP; port++)
    if (leads(&t->colors[slot], own | 1u << port))
      return port;
  return PORT_COUNT;
}

/* What comes to the operation goes nowhere else, but over a bridge. */
static bool input_leads(const FastTile *t)
{
  return input_ends(t) || (t->out && t->out->relay);
}

/* No wavelet is there, and only this port can bring one. */
static bool is_free(const FastColor *c, unsigned port)
{
  return color_count(c) == 0 && c->open >> OPEN_RX_SHIFT == 1u << port;
}

/* Whether what leaves gets to a configured router; from now on the routes are known to be good,
 * although nothing may have gone along them yet. */
static bool routes_lead(const FastEngine *e, const FastTile *t)
{
  const FastPlain *p = plain_of(t);
  if (p->in_slot != NO_SLOT && input_ends(t))
    t->colors[p->in_slot].route |= ROUTE_CHECKED;
  unsigned port = leaving_link(t), slot = leaving_slot(t);
  if (port == PORT_COUNT)
    return may_relay(t);
  FastColor *c = &t->colors[slot];
  if (c->route & ROUTE_CHECKED)
    return true;
  uint32_t there = program_neighbour(e->base.program, t->core.index, (Port)port);
  if (there == (uint32_t)NO_TILE)
    return false;
  uint8_t color = program_color_inside(e->base.program, there, t->set->color_of[slot],
                                       port_opposite((Port)port));
  c->next[port] = e->sets[e->base.program->image->tile_colors[there]].slot_of[color];
  if (c->next[port] == NO_SLOT)
    return false;
  c->route |= ROUTE_CHECKED;
  return true;
}

/* What leaves `from` by the link is what `to` reads. */
static bool same_color(const FastTile *from, const FastTile *to)
{
  unsigned slot = leaving_slot(from);
  return slot != NO_SLOT && plain_of(to)->input != NO_QUEUE &&
         from->set->color_of[slot] == to->set->color_of[plain_of(to)->in_slot];
}

/* Nothing is on its way, or leaves in this very cycle. */
static bool way_is_free(const FastTile *from, const FastTile *to, unsigned port)
{
  const FastPlain *x = plain_of(from), *y = plain_of(to);
  return is_free(&to->colors[y->in_slot], port_opposite((Port)port)) &&
         to->queues[y->input].input.count == 0 &&
         (may_relay(from) ? color_count(&from->colors[x->in_slot]) == 0
                          : is_free(&from->colors[x->out_slot], PORT_RAMP) &&
                                from->queues[x->output].output.count == 0);
}

static bool can_join(const FastEngine *e, const FastTile *from, const FastTile *to)
{
  return !from->out && !to->in && same_color(from, to) &&
         (may_relay(from) || input_ends(from)) && input_leads(to) &&
         only_own(from) && only_own(to) &&
         queues_suffice(e, plain_of(from), plain_of(to)) &&
         routes_lead(e, from) && routes_lead(e, to);
}

/* ---- wavelets that are on their way --------------------------------------------------------- */

/* The slots have room for the next wavelet, since what is in them can go on in the next cycle. */
static bool slot_flows(const FastColor *c)
{
  return color_count(c) <= 1;
}

/* There is room for the next result.  Those that wait do not get more, as the ramp takes one in
 * each cycle. */
static bool output_flows(const FastEngine *e, const FastTile *t)
{
  unsigned number = plain_of(t)->output, count = t->queues[number].output.count;
  return count < e->output_capacity[number] && count <= BRIDGE_LATE;
}

/* The operation need not wait for room for its next result. */
static bool has_room(const FastEngine *e, const FastTile *t)
{
  unsigned number = plain_of(t)->output;
  return number == NO_QUEUE || t->out ||
         t->queues[number].output.count < e->output_capacity[number];
}

/* Only the operation's wavelets are in its queue, and there is room for the next one.  Those that
 * wait do not get more, as the operation takes one in each cycle. */
static bool input_flows(const FastEngine *e, const FastTile *t, uint64_t now)
{
  const FastPlain *p = plain_of(t);
  const FastQueues *q = &t->queues[p->input];
  unsigned late = 0;
  for (unsigned i = 0; i < q->input.count; i++) {
    if (wavelet_field(input_at(q, i)->meta) != p->in_color)
      return false;
    late += wavelet_seen(input_at(q, i)->meta, now);
  }
  return t->core.threads[MAIN_THREAD].ready <= now + 1 && has_room(e, t) && late <= BRIDGE_LATE &&
         late + e->timing->ramp_down < e->input_capacity[p->input];
}

/* At the end of cycle `now`: nothing will hold up the results that are on their way, but those
 * before them in a queue. */
static bool way_flows(const FastEngine *e, const FastTile *from, const FastTile *to, unsigned port,
                      uint64_t now)
{
  const FastPlain *x = plain_of(from), *y = plain_of(to);
  const FastColor *leaves = &from->colors[x->out_slot], *enters = &to->colors[y->in_slot];
  return from->last_ramp_queue == x->output &&      /* what is in the routers is of this one */
         leaves->open >> OPEN_RX_SHIFT == 1u << PORT_RAMP &&
         enters->open >> OPEN_RX_SHIFT == 1u << port_opposite((Port)port) &&
         slot_flows(leaves) && slot_flows(enters) && output_flows(e, from) &&
         input_flows(e, to, now);
}

/* The next wavelet that goes on over the bridge, in the order of arrivals. */
static void lead_over(FastWorker *w, FastBridge *b, uint32_t payload, uint64_t arrival)
{
  const FastEngine *e = w->engine;
  uint32_t place = b->tail++ % BRIDGE_PLACES, later = (uint32_t)arrival - b->last;
  if (!b->ring)
    b->ring = fast_ring_alloc(w);
  b->ring->payload[place] = payload;
  b->ring->seen[place] = (uint8_t)(arrival + (e->bridge_seen - e->bridge_arrival));
  b->arrivals = later < MOVE_CYCLES ? b->arrivals << later | 1 : 1;
  b->last = (uint32_t)arrival;
}

static void lead_input(FastWorker *w, FastBridge *b, uint64_t now)
{
  FastTile *t = b->to;
  unsigned number = plain_of(t)->input;
  FastQueues *q = &t->queues[number];
  uint32_t to_arrival = w->engine->bridge_seen - w->engine->bridge_arrival;
  int32_t longest = -(int32_t)q->input.count;
  for (unsigned i = 0; i < q->input.count; i++) {
    int32_t wait = wavelet_wait(input_at(q, i)->meta, now);
    wait = wait < longest ? longest : wait;     /* how long does not matter */
    lead_over(w, b, input_at(q, i)->payload, now + (uint64_t)(int64_t)wait - to_arrival);
  }
  b->relays = b->relayed ? q->input.count : 0;    /* their copies have been made */
  t->core.wavelets_seen -= q->input.count;
  q->input.count = 0;
  t->input_any &= (uint16_t)~(1u << number);
}

static void lead_slot(FastWorker *w, FastBridge *b, FastTile *t, unsigned slot, uint64_t arrival)
{
  FastColor *c = &t->colors[slot];
  if (color_count(c) == 0)
    return;
  lead_over(w, b, c->w[0].payload, arrival);
  c->open--;
  t->occupied &= ~(1u << slot);
}

static void lead_output(FastWorker *w, FastBridge *b, uint64_t now)
{
  FastTile *t = b->from;
  unsigned number = plain_of(t)->output, hop = w->engine->timing->hop;
  FastQueues *q = &t->queues[number];
  for (unsigned i = 0; i < q->output.count; i++) {
    int32_t wait = wavelet_wait(output_at(q, i)->meta, now);
    uint64_t ramp = now + (wait > 0 ? (uint32_t)wait : 1);
    lead_over(w, b, output_at(q, i)->payload, bridge_next(b, ramp + 2 * hop));
  }
  q->output.count = 0;
  t->output_any &= (uint16_t)~(1u << number);
}

/* Takes them out of queues and routers; settle will count them once more. */
static void lead_wavelets(FastWorker *w, FastBridge *b, uint64_t now)
{
  unsigned hop = w->engine->timing->hop;
  EngineStats *stats = &w->log.stats;
  FastTile *before = fast_count_as(w, b->to);
  lead_input(w, b, now);
  lead_slot(w, b, b->to, plain_of(b->to)->in_slot, now + hop);
  fast_count_as(w, b->from);
  stats->hops[fast_bridge_port(w->engine, b)] -= b->tail;
  lead_slot(w, b, b->from, plain_of(b->from)->out_slot, now + 2 * hop);
  stats->wavelets -= b->tail;
  lead_output(w, b, now);
  fast_count_as(w, before);
  w->led += b->tail;
  forget_stuck(b->from);
  forget_stuck(b->to);
  fast_wake(w, b->from->core.index, now + 1);
  fast_wake(w, b->to->core.index, now + 1);
}

/* ---- joining -------------------------------------------------------------------------------- */

/* The tile has got or lost a bridge. */
static void note_relay(FastTile *t)
{
  FastPlain *p = thread_plain(&t->core.threads[MAIN_THREAD]);
  p->relays = t->in && t->in->relayed && t->out && t->out->relay && t->out->upright &&
              p->op == VK_MOV && p->input_stream == PLAIN_SRC1 &&
              p->memory == 1u << PLAIN_DEST;
}

static void start_settling(FastTile *t)
{
  FastPlain *p = thread_plain(&t->core.threads[MAIN_THREAD]);
  if (!t->in && !t->out)
    p->settled = p->remaining;
}

FastRing *fast_ring_alloc(FastWorker *w)
{
  FastRing *ring = fast_piece_alloc(w, PIECE_RING);
  ring->loan = (FastLoan){0};
  return ring;
}

/* The receiver may have to take first what had come before its operation. */
static void try_again(FastWorker *w, const FastTile *from, const FastTile *to, bool late)
{
  if (!late)
    arrput(w->joins, from->core.index);
  else if (thread_plain(&to->core.threads[MAIN_THREAD])->tries++ < JOIN_TRIES)
    arrput(w->retries, from->core.index);
}

/* The tile is in a row at an edge to a peer, or the peer's beside it; or it has a link. */
static bool is_at_edge(const FastEngine *e, const FastTile *tile)
{
  uint32_t row = tile->core.index / e->width, first = e->own.first, end = e->own.end;
  return links_touch(e->base.options.links, tile->core.index) ||
         (first > 0 && (row == first || row + 1 == first)) ||
         (end < e->height && (row == end || row + 1 == end));
}

/* `late`: at the end of a block, when nothing is at the middle of a cycle. */
static void join(FastWorker *w, FastTile *from, unsigned port, bool late)
{
  FastEngine *e = w->engine;
  uint64_t now = e->base.cycle + e->block - 1;      /* at that time */
  uint32_t there = port == PORT_COUNT ? (uint32_t)NO_TILE
                                      : program_neighbour(e->base.program, from->core.index,
                                                          (Port)port);
  FastTile *to = there == (uint32_t)NO_TILE ? NULL : &e->tiles[there];
  if (!to || is_at_edge(e, from) || is_at_edge(e, to) || !only_streams(to) ||
      !can_join(e, from, to))
    return;
  bool leads = !way_is_free(from, to, port);
  if (leads && (may_relay(from) || !late || !way_flows(e, from, to, port, now))) {
    if (!may_relay(from))
      try_again(w, from, to, late);
    return;
  }
  FastBridge *bridge = fast_piece_alloc(w, PIECE_BRIDGE);
  *bridge = (FastBridge){.from = from, .to = to, .relay = may_relay(from),
                         .relayed = to->out && to->out->relay,
                         .upright = port == PORT_NORTH || port == PORT_SOUTH,
                         .last = (uint32_t)e->base.cycle - 1};
  start_settling(from);
  start_settling(to);
  from->out = to->in = bridge;
  note_relay(from);
  note_relay(to);
  w->bridges++;
  if (leads)
    lead_wavelets(w, bridge, now);
  if (bridge->relay)
    arrput(w->joins, from->core.index);
}

/* The neighbour that alone brings the operation's input, or NULL. */
static FastTile *feeder(const FastEngine *e, const FastTile *t, unsigned *port)
{
  const FastPlain *p = plain_of(t);
  for (*port = 0; p->in_slot != NO_SLOT && *port < PORT_RAMP; ++*port)
    if (t->colors[p->in_slot].open >> OPEN_RX_SHIFT == 1u << *port) {
      uint32_t there = program_neighbour(e->base.program, t->core.index, (Port)*port);
      return there == (uint32_t)NO_TILE ? NULL : &e->tiles[there];
    }
  return NULL;
}

static void join_both(FastWorker *w, FastTile *t, bool late)
{
  if (!w->engine->bridges || !only_streams(t))
    return;
  unsigned port;
  join(w, t, leaving_link(t), late);
  FastTile *from = feeder(w->engine, t, &port);
  if (from && only_streams(from) && leaving_link(from) == (unsigned)port_opposite((Port)port))
    join(w, from, leaving_link(from), late);
}

void fast_join(FastWorker *w, FastTile *t)
{
  join_both(w, t, false);
}

void fast_join_all(FastEngine *e)
{
  for (unsigned k = 0; e->bridges && k < e->n_workers; k++)
    for (size_t i = 0; i < arrlenu(e->workers[k].touched); i++)
      if (only_streams(&e->tiles[e->workers[k].touched[i]]))
        arrput(e->workers[k].joins, e->workers[k].touched[i]);
}

void fast_join_late(FastWorker *w)
{
  while (arrlenu(w->joins))
    join_both(w, &w->engine->tiles[arrpop(w->joins)], true);
  uint32_t *none = w->joins;
  w->joins = w->retries;
  w->retries = none;
}

/* ---- taking down ------------------------------------------------------------------------ */

/* The moves of the `n` cycles up to `cycle`, which is bit 0.  NULL: none. */
static uint64_t moves_until(const FastBridge *b, uint64_t cycle, unsigned n)
{
  int32_t back = b ? (int32_t)(b->last - (uint32_t)cycle) : -WORD_BITS;
  uint64_t moves = back >= MOVE_CYCLES || back <= -WORD_BITS ? 0
                 : back >= 0 ? (uint64_t)(b->arrivals >> back) : (uint64_t)b->arrivals << -back;
  return moves & ((UINT64_C(1) << n) - 1);
}

void fast_catch_up(FastWorker *w, FastTile *t)
{
  Thread *th = &t->core.threads[MAIN_THREAD];
  FastPlain *p = thread_plain(th);
  unsigned n = p->ahead;
  if (!n)
    return;
  uint64_t last = th->ready - 1;
  uint64_t enters = moves_until(t->in, last, n);
  bool copies = t->out && t->out->relay;
  uint64_t leaves = copies ? 0 : moves_until(t->out, last + w->engine->timing->hop, n);
  if ((enters & leaves) == (UINT64_C(1) << n) - 1) {     /* mostly: two colors by turns */
    if (n % 2)
      stream_served(t, p, true, true);
  } else {
    for (uint64_t bit = UINT64_C(1) << (n - 1); bit; bit >>= 1)
      if ((enters | leaves) & bit)
        stream_served(t, p, enters & bit, leaves & bit);
  }
  if (w->log.stats.last_event < last)
    w->log.stats.last_event = last;
  p->ahead = 0;
}

/* The newest wavelet has not been put on the bridge; all that arrive up to cycle `known` have. */
static void take_newest(FastBridge *b, uint64_t known)
{
  b->tail--;
  do {
    b->arrivals >>= 1;
    b->last--;
  } while (b->arrivals && !(b->arrivals & 1));
  if (!b->arrivals)
    b->last = (uint32_t)known;
}

/* Copies that the router has made after cycle `now` have not been. */
static void undo_copies(const FastEngine *e, FastBridge *in, FastBridge *out, uint64_t now)
{
  int32_t to_arrival = (int32_t)(e->bridge_seen - e->bridge_arrival);
  for (; in->relays; in->relays--) {
    if (bridge_wait(in, in->relays - 1, now) <= to_arrival)
      return;
    take_newest(out, now + e->timing->hop);
  }
}

/* Memory is as before the last `undone` of the elements ahead. */
static void restore_elements(const FastTile *t, const FastPlain *p, unsigned undone)
{
  const uint32_t *before = ((const FastRun *)p)->before;
  uint16_t address = p->address[PLAIN_DEST];
  for (unsigned i = p->ahead; (p->memory & 1u << PLAIN_DEST) && i-- > p->ahead - undone;) {
    address = (uint16_t)(address - p->step[PLAIN_DEST]);
    memcpy(t->core.mem.bytes + address, &before[i], sizeof before[i]);
  }
}

/* The bridge's wavelets that come of cycles after `now` have their first effect on `to`, which
 * copies or takes them, after so many cycles more. */
static uint32_t cycles_to_effect(const FastEngine *e, const FastBridge *b)
{
  if (b->relay)
    return e->timing->hop;
  return b->relayed ? e->bridge_arrival : e->bridge_seen;
}

/* What was to leave by the bridge after cycle `now` has not. */
static void undo_results(FastBridge *out, uint32_t undone)
{
  out->tail -= undone;
  out->arrivals >>= undone;
  out->last -= undone;
}

/* Elements that the tile has issued after cycle `now` have not been, nor what the tiles behind it
 * have made of them. */
static void undo_elements(FastWorker *w, FastTile *t, uint64_t now)
{
  Thread *th = &t->core.threads[MAIN_THREAD];
  FastPlain *p = thread_plain(th);
  if (!p->ahead || th->ready <= now + 1)
    return;
  uint32_t undone = (uint32_t)(th->ready - (now + 1));
  if (undone > p->ahead)
    ICE("a stream is rolled back by more than it was ahead");
  if (t->out)
    undo_elements(w, t->out->to, now + cycles_to_effect(w->engine, t->out));
  if (t->out && t->out->relay)
    undo_copies(w->engine, t->in, t->out, now);
  else if (t->out)
    undo_results(t->out, undone);
  restore_elements(t, p, undone);
  for (unsigned i = 0; i < PLAIN_STREAMS; i++)
    if (p->memory & 1u << i)
      p->address[i] = (uint16_t)(p->address[i] - (int)undone * p->step[i]);
  p->remaining += undone;
  p->ahead = (uint8_t)(p->ahead - undone);
  fast_forget_wake(w, t->core.index, th->ready);
  th->ready = now + 1;
  if (t->in)
    t->in->head -= undone;
  w->log.stats.active_tile_cycles -= undone;
  w->rolled_back += undone;
  fast_wake(w, t->core.index, now + 1);
}

static void roll_back(FastWorker *w, FastTile *t, uint64_t now)
{
  undo_elements(w, t, now);
  fast_catch_up(w, t);
}

static void queue_put(FastWorker *w, FastTile *t, unsigned number, bool output, FastWavelet wavelet)
{
  FastQueues *queues = &t->queues[number];
  FastQueue *q = output ? &queues->output : &queues->input;
  if (q->count >= q->places)
    fast_queues_widen(w, queues, number);
  *queue_at(queues, output, q->count++) = wavelet;
  if (output)
    t->output_any |= (uint16_t)(1u << number);
  else
    t->input_any |= (uint16_t)(1u << number);
}

static void slot_put(FastTile *t, unsigned slot, FastWavelet wavelet)
{
  FastColor *c = &t->colors[slot];
  if (color_count(c) >= FAST_SLOTS)
    ICE("a bridge held more wavelets than a router");
  c->w[color_count(c)] = wavelet;
  c->open++;
  t->occupied |= 1u << slot;
}

/* Where a wavelet is at the end of cycle `now` that gets to the receiver's router in cycle
 * `arrival`: the moves of that cycle are done. */
static void put_wavelet(FastWorker *w, const FastBridge *b, uint32_t payload, uint64_t arrival,
                        uint64_t now)
{
  const Timing *timing = w->engine->timing;
  const FastPlain *x = plain_of(b->from), *y = plain_of(b->to);
  uint64_t in_output = arrival - timing->hop, ramp = in_output - timing->hop;
  EngineStats *stats = &w->log.stats;
  if (ramp <= now && !b->relay)
    b->from->last_ramp_queue = (uint8_t)x->output;
  if (arrival <= now) {
    uint32_t meta = wavelet_meta(arrival + timing->ramp_down, y->in_color, 0);
    queue_put(w, b->to, y->input, false, (FastWavelet){payload, meta});
    FastTile *before = fast_count_as(w, b->to);
    b->to->core.wavelets_seen++;
    fast_count_as(w, before);
  } else if (in_output <= now) {
    unsigned port = (unsigned)__builtin_ctz(b->to->colors[y->in_slot].open >> OPEN_RX_SHIFT);
    slot_put(b->to, y->in_slot, (FastWavelet){payload, wavelet_meta(arrival, port, 0)});
  } else if (ramp <= now) {
    slot_put(b->from, x->out_slot,
             (FastWavelet){payload, wavelet_meta(in_output, PORT_RAMP, 0)});
    stats->hops[fast_bridge_port(w->engine, b)]--;
  } else {
    uint32_t meta = ((uint32_t)ramp & STAMP_MASK) | x->output_meta;
    queue_put(w, b->from, x->output, true, (FastWavelet){payload, meta});
    stats->hops[fast_bridge_port(w->engine, b)]--;
    stats->wavelets--;
  }
}

/* The work since then, by the bridge's counts. */
static void settle(FastWorker *w, FastBridge *b)
{
  uint32_t made = b->tail;
  FastTile *before = fast_count_as(w, b->to);
  b->to->core.wavelets_seen += b->head;
  fast_count_as(w, b->from);
  w->log.stats.hops[fast_bridge_port(w->engine, b)] += made;
  w->log.stats.wavelets += b->relay ? 0 : made;
  fast_count_as(w, before);
  if (b->head && !b->relay)
    b->from->last_ramp_queue = (uint8_t)plain_of(b->from)->output;
}

/* The tile's elements since it has had a bridge. */
static void settle_issues(FastWorker *w, FastTile *t)
{
  FastPlain *p = thread_plain(&t->core.threads[MAIN_THREAD]);
  uint32_t issued = p->settled - p->remaining;
  if (t->in || t->out || !issued)
    return;
  FastTile *before = fast_count_as(w, t);
  t->core.issues += issued;
  t->core.last_issued[t->core.main_level] = MAIN_THREAD;
  w->log.stats.groups += issued;
  w->log.stats.elements += issued;
  fast_count_as(w, before);
}

/* Those before it in a relay have to follow. */
static void take_down(FastWorker *w, FastBridge *b, uint64_t now)
{
  const FastEngine *e = w->engine;
  fast_return_counts(e, b);
  roll_back(w, b->from, now);
  roll_back(w, b->to, now);
  settle(w, b);
  FastTile *before = fast_count_as(w, b->from);
  for (uint32_t i = b->head; i != b->tail; i++) {
    uint64_t seen = now + (uint64_t)(int64_t)bridge_wait(b, i, now);
    uint64_t arrival = seen - (e->bridge_seen - e->bridge_arrival);
    put_wavelet(w, b, b->ring->payload[i % BRIDGE_PLACES], arrival, now);
  }
  fast_count_as(w, before);
  if (b->head != b->tail) {
    fast_wake(w, b->from->core.index, now + 1);
    fast_wake(w, b->to->core.index, now + 1);
  }
  w->parted++;
  w->parted_full += b->head != b->tail;
  w->parted_relays += b->relayed;
  if (b->relay && b->from->in)
    fast_chore(w, (FastChore){now + 1, b->from->core.index, CHORE_PART, NO_SLOT});
  b->from->out = b->to->in = NULL;
  note_relay(b->from);
  note_relay(b->to);
  settle_issues(w, b->from);
  settle_issues(w, b->to);
  if (b->ring)
    fast_piece_free(w, PIECE_RING, b->ring);
  fast_piece_free(w, PIECE_BRIDGE, b);
  w->bridges--;
}

void fast_part(FastWorker *w, FastTile *t, uint64_t now)
{
  if (t->in)
    take_down(w, t->in, now);
  if (t->out)
    take_down(w, t->out, now);
}

void fast_part_all(FastEngine *e)
{
  int32_t bridges = 0;
  for (unsigned k = 0; k < e->n_workers; k++)
    bridges += e->workers[k].bridges;
  for (unsigned k = 0; bridges && k < e->n_workers; k++)
    for (size_t i = 0; i < arrlenu(e->workers[k].touched); i++)
      fast_part(&e->workers[0], &e->tiles[e->workers[k].touched[i]], e->base.cycle - 1);
  for (unsigned k = 0; k < e->n_workers; k++) {     /* what had to follow has gone as well */
    FastWorker *w = &e->workers[k];
    for (size_t i = 0; i < arrlenu(w->chores); i++)
      arrsetlen(e->chores[w->chores[i]], 0);
    arrsetlen(w->chores, 0);
  }
}
