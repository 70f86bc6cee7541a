/* Fast engine, one step: the router and the host port. */
#include "emu/fast/step.h"

#include "stb_ds.h"

/* What the tile's router does in this cycle. */
typedef struct {
  PortMask claimed;             /* outputs that wavelets take */
  bool moved;                   /* a wavelet of a slot */
  uint32_t freed;               /* slots that one has left and the ramp may enter, a bit each */
  uint8_t ramp_queue, ramp_slot;    /* whose head enters; NO_QUEUE: none */
  bool host_head;               /* an output queue has a wavelet for the host */
} RouterTurn;

/* Before the first change of a cycle: what others may still look at. */
static HOT void color_save(const Visit *v, FastColor *c)
{
  if (c->stamp == (uint32_t)v->turn.cycle)
    return;
  c->stamp = (uint32_t)v->turn.cycle;
  c->saved = c->open;
}

/* Without a branch: no processor could guess whether the color has changed in this cycle. */
STEP HOT unsigned open_at_start(const Visit *v, const FastColor *c)
{
  unsigned changed = c->stamp == (uint32_t)v->turn.cycle, open = c->open;
  return open ^ ((open ^ c->saved) & -changed);
}

STEP HOT bool step_color_accepts(const Visit *v, const FastColor *c, PortMask enters)
{
  unsigned open = open_at_start(v, c);
  return (open & OPEN_COUNT) < v->engine->router_slots && (open >> OPEN_RX_SHIFT & enters);
}

/* Closes the inputs that the control wavelets in the slots are going to close. */
STEP RARE void close_inputs(FastColor *c, const ImageColorConfig *config)
{
  unsigned position = color_rx_position(c), count = color_count(c);
  for (unsigned i = 0; i < count && i < FAST_SLOTS; i++) {
    unsigned open = switch_leaves_open(config, &position, c->w[i].payload,
                                       c->w[i].meta & META_CONTROL);
    c->open &= (uint16_t)(OPEN_COUNT | open << OPEN_RX_SHIFT);
  }
}

/* ---- slots ------------------------------------------------------------------------------ */

/* More than two wavelets in a color's slots: only after a hazard that the user ignores. */
static RARE void spill_push(Visit *v, uint32_t tile, unsigned slot, FastWavelet w)
{
  FastEngine *e = v->engine;
  pthread_mutex_lock(&e->rare_lock);
  arrput(e->spills, ((FastSpill){tile, (uint8_t)slot, w}));
  pthread_mutex_unlock(&e->rare_lock);
}

static RARE FastWavelet spill_pop(Visit *v, uint32_t tile, unsigned slot)
{
  FastEngine *e = v->engine;
  pthread_mutex_lock(&e->rare_lock);
  for (size_t i = 0; i < arrlenu(e->spills); i++) {
    if (e->spills[i].tile == tile && e->spills[i].slot == slot) {
      FastWavelet w = e->spills[i].wavelet;
      arrdel(e->spills, i);
      pthread_mutex_unlock(&e->rare_lock);
      return w;
    }
  }
  ICE("a wavelet that was put aside is lost");
}

STEP RARE void add_chore(Visit *v, const FastTile *t, FastChoreKind kind, unsigned slot)
{
  fast_chore(v->worker, (FastChore){v->turn.cycle, t->core.index, (uint8_t)kind, (uint8_t)slot});
  wake_next(v, t->core.index);
}

/* A wavelet gets to a tile with bridges.  If it does not belong to the stream, they have to go. */
static RARE void disturb(Visit *v, const FastTile *t, unsigned slot, uint32_t meta)
{
  const FastPlain *p = thread_plain(&t->core.threads[MAIN_THREAD]);
  bool own = slot == p->in_slot || slot == p->out_slot;
  if (!own || (meta & (META_CONTROL | META_ADVANCE)))
    add_chore(v, t, CHORE_PART, slot);
}

/* Puts a wavelet into the slots of a color, of this tile or of a neighbour. */
STEP HOT void slot_push(Visit *v, FastTile *t, unsigned slot, FastWavelet w, unsigned enters)
{
  FastColor *c = &t->colors[slot];
  color_save(v, c);
  unsigned count = color_count(c);
  if (UNLIKELY(c->saved >> ARRIVALS_SHIFT))
    add_chore(v, t, CHORE_MEETING, slot);
  c->saved |= 1u << (ARRIVALS_SHIFT + enters);
  w.meta = wavelet_meta(v->hop_visible, enters, w.meta & (META_CONTROL | META_ADVANCE));
  if (LIKELY(count < FAST_SLOTS))
    c->w[count] = w;
  else
    spill_push(v, t->core.index, slot, w);
  c->open++;
  t->occupied |= 1u << slot;
  if (UNLIKELY(t->in || t->out))
    disturb(v, t, slot, w.meta);
  if (UNLIKELY(w.meta & META_CONTROL))
    close_inputs(c, fast_config(t, t->set->color_of[slot]));
}

STEP HOT void slot_pop(Visit *v, FastTile *t, unsigned slot)
{
  FastColor *c = &t->colors[slot];
  color_save(v, c);
  unsigned count = color_count(c);
  c->w[0] = c->w[1];
  c->open--;
  if (count == 1)
    t->occupied &= ~(1u << slot);
  else if (UNLIKELY(count > FAST_SLOTS))
    c->w[FAST_SLOTS - 1] = spill_pop(v, t->core.index, slot);
}

/* All wavelets of a color's slots, those that came in this cycle in the order of their ports;
 * a hazard for the user to see. */
STEP RARE void settle_meeting(FastWorker *worker, const FastChore *meeting)
{
  FastEngine *e = worker->engine;
  FastTile *t = &e->tiles[meeting->tile];
  FastColor *c = &t->colors[meeting->slot];
  Visit v = start_visits(worker);
  uint8_t color = t->set->color_of[meeting->slot];
  v.tile = t;
  v.turn.tile = &t->core;
  FastWavelet all[FAST_SLOTS + 2 * PORT_COUNT];
  unsigned n = color_count(c), arrivals = c->saved >> ARRIVALS_SHIFT;
  unsigned arrived = (unsigned)__builtin_popcount(arrivals);
  for (unsigned i = 0; i < n; i++)
    all[i] = i < FAST_SLOTS ? c->w[i] : spill_pop(&v, t->core.index, meeting->slot);
  for (unsigned i = n - arrived + 1; i < n; i++)
    for (unsigned k = i; k > n - arrived &&
                         wavelet_field(all[k].meta) < wavelet_field(all[k - 1].meta); k--) {
      FastWavelet swap = all[k];
      all[k] = all[k - 1];
      all[k - 1] = swap;
    }
  for (unsigned i = 0; i < n; i++) {
    if (i < FAST_SLOTS)
      c->w[i] = all[i];
    else
      spill_push(&v, t->core.index, meeting->slot, all[i]);
  }
  forget_stuck(t);
  arrput(v.worker->log.faults,
         ((Fault){.kind = FAULT_COLOR_MEETS, .cycle = meeting->cycle, .tile = t->core.index,
                  .color = color, .pc = PC_RETURN, .value = arrivals}));
}

/* ---- changes of positions, filters ------------------------------------------------------- */

/* New positions: the masks follow, and every unit that waits at this router looks again. */
static RARE void set_positions(Visit *v, FastColor *c, const ImageColorConfig *config, unsigned rx,
                        unsigned tx)
{
  color_save(v, c);
  color_set(c, config, rx, tx);
  retry_moves(v->tile, v->turn.cycle);
  if (color_count(c))
    close_inputs(c, config);
  v->wake_ports = port_bit(PORT_RAMP) - 1u;
}

static FilterState *fast_filter(const FastTile *t, unsigned color)
{
  return &color_filters(t)[t->set->slot_of[color]];
}

/* ---- registers that are written ------------------------------------------------------------ */

/* The router has the value from here on. */
static RARE void write_register(Visit *v, FastTile *t, uint16_t address, uint16_t value)
{
  uint16_t base = config_reg_at(address)->address;
  unsigned slot = t->set->slot_of[address - base];
  FastColor *c = &t->colors[slot];
  RouterConfig *own = fast_own_config(v->worker, t, slot);
  RouterNow now = color_now(t, slot);
  unsigned tx = color_tx_position(c);
  router_config_write(base, value, own, &now);
  if (base == CFG_COLOR_SWITCH)
    tx = now.position;
  if (c->route & ROUTE_FILTERED) {
    color_filters(t)[slot].counter = now.counter;
    color_filters(t)[slot].limit1 = now.limit;
  }
  c->route = (uint16_t)((c->route & ~(unsigned)ROUTE_SUSPENDED) |
                        (now.suspended ? ROUTE_SUSPENDED : 0));
  color_set(c, &own->config, now.position, tx);
  if (color_count(c))
    close_inputs(c, &own->config);
}

/* What the tile has written ahead in cycles before this one takes effect.  No unit has looked at
 * the router since then: so it leaves no stamp, and nothing to wake but what is stuck. */
static RARE void write_late(Visit *v, FastTile *t)
{
  FastAccesses *a = t->own->accesses;
  for (; a->done < a->n; a->done++) {
    const FastAccess *access = &a->of[a->done];
    if (access->kind != ACCESS_WRITE)
      continue;
    if (a->from + access->at >= v->turn.cycle)
      return;
    write_register(v, t, access->address, access->value);
    forget_stuck(t);
    v->worker->written_late++;
  }
  t->put_off &= (uint8_t)~PUT_OFF_WRITE;
}

/* There is no room in the neighbour's router, to which that is going to write: the tile looks again
 * behind that. */
static RARE void look_behind_write(const Visit *v, const FastTile *next)
{
  uint64_t due = late_write_due(next);
  v->tile->retry = (uint32_t)due;
  fast_timer(v->worker, v->tile->core.index, v->turn.cycle, due);
}

/* ---- moves that are put off --------------------------------------------------------------- */

/* A wavelet that gets to an empty router, and leaves it for the tile, meets no other one there: so
 * the tile is visited when it can see the wavelet.  In the same way the entry of a result into the
 * router of an idle tile can wait (outputs_due in notes.c).  The move is done, as of its cycle,
 * before a later visit and before a neighbour looks at the router in a later cycle; a visit up to
 * that cycle finds everything as if nothing had been put off. */

/* As leaves_late says, of what may be otherwise in a router as quiet as that. */
static RARE bool leaves_late_now(const Visit *v, const FastTile *t, unsigned slot)
{
  const FastEngine *e = v->engine;
  const FastColor *c = &t->colors[slot];
  unsigned queue = t->data_queue[t->set->color_of[slot]];
  int32_t wait = wavelet_wait(c->w[0].meta, v->turn.cycle);
  return wait > 0 && !t->attended && !t->is_stuck && color_count(c) == 1 && queue < MAX_QUEUES &&
         !(c->w[0].meta & (META_CONTROL | META_ADVANCE)) &&
         late_due(e, t, slot, v->turn.cycle) < e->limit &&
         t->queues[queue].input.count < e->input_capacity[queue];
}

/* The only wavelet in the tile's router, in that slot, will leave it for the tile in a later
 * cycle, and nothing there has to be looked at before. */
static HOT bool leaves_late(const Visit *v, const FastTile *t, unsigned slot)
{
  return !FAST_TRACED && !t->core.vectors && t->occupied == 1u << slot &&
         !(t->put_off & (PUT_OFF_SLOT | PUT_OFF_WRITE)) && v->engine->puts_off &&
         (t->colors[slot].route & (ROUTE_TX | ROUTE_ODD)) ==
           (port_bit(PORT_RAMP) | ROUTE_CHECKED) &&
         leaves_late_now(v, t, slot);
}

/* At the end of a visit to a tile whose router has a wavelet. */
static HOT void put_off_slot(const Visit *v, FastTile *t)
{
  unsigned slot = (unsigned)__builtin_ctz(t->occupied);
  if (leaves_late(v, t, slot))
    t->put_off |= (uint8_t)(slot + 1);
}

/* No unit has looked at the color since the move in `cycle`, and none does in this cycle: so it
 * leaves no stamp; leave_late likewise. */
static HOT void enter_late(Visit *v, FastTile *t, unsigned queue, uint64_t cycle)
{
  FastWavelet w = queue_take(&t->queues[queue], true);
  unsigned slot = t->set->slot_of[wavelet_field(w.meta)];
  FastColor *c = &t->colors[slot];
  if (!t->queues[queue].output.count)
    t->output_any = 0;
  c->w[0] = (FastWavelet){w.payload,
                          wavelet_meta(cycle + v->engine->timing->hop, PORT_RAMP, 0)};
  c->open++;
  t->occupied |= 1u << slot;
  t->last_ramp_queue = (uint8_t)queue;
  v->worker->log.stats.wavelets++;
}

static HOT void leave_late(Visit *v, FastTile *t, unsigned slot, uint64_t cycle)
{
  EngineStats *stats = &v->worker->log.stats;
  FastColor *c = &t->colors[slot];
  uint8_t color = t->set->color_of[slot];
  FastWavelet w = {c->w[0].payload,
                   wavelet_meta(cycle + v->engine->timing->ramp_down, color, 0)};
  c->w[0] = c->w[1];
  c->open--;
  if (!color_count(c))
    t->occupied &= ~(1u << slot);
  t->first_slot = (uint8_t)slot;
  input_add(v->worker, t, t->data_queue[color], w);
  if (fast_issues_ahead(t, cycle))
    return;
  stats->active_tile_cycles++;
  stats->first_event = cycle < stats->first_event ? cycle : stats->first_event;
  stats->last_event = cycle > stats->last_event ? cycle : stats->last_event;
}

/* Does what the tile's router has put off in cycles before this one. */
static RARE void move_late(Visit *v, FastTile *t)
{
  FastWorker *w = v->worker;
  uint64_t now = v->turn.cycle, last = 0;
  unsigned queue = (unsigned)__builtin_ctz(t->output_any | 1u << MAX_QUEUES);
  unsigned slot = (t->put_off & PUT_OFF_SLOT) - 1u;
  int32_t wait = 0;
  if (t->put_off & PUT_OFF_WRITE) {
    write_late(v, t);
    return;
  }
  if (t->put_off & PUT_OFF_RAMP)
    wait = wavelet_wait(output_at(&t->queues[queue], 0)->meta, now);
  if (wait < 0) {
    last = now + (uint64_t)(int64_t)wait;
    enter_late(v, t, queue, last);
    t->put_off &= (uint8_t)~PUT_OFF_RAMP;
    w->put_off++;
  }
  wait = 0;
  if (t->put_off & PUT_OFF_SLOT)
    wait = wavelet_wait(t->colors[slot].w[0].meta, now);
  if (wait < 0) {
    uint64_t cycle = now + (uint64_t)(int64_t)wait;
    leave_late(v, t, slot, cycle);
    last = cycle > last ? cycle : last;
    t->put_off &= (uint8_t)~PUT_OFF_SLOT;
    w->put_off++;
  }
  if (last >= w->log.last_change)
    w->log.last_change = last + 1;
}

/* ---- outputs ---------------------------------------------------------------------------- */

/* Input queues are judged by their count at the start of the cycle. */
static HOT bool queue_accepts(const Visit *v, unsigned queue)
{
  return queue < MAX_QUEUES &&
         v->tile->queues[queue].input.count + v->popped[queue] < v->engine->input_capacity[queue];
}

/* Checks outputs that no wavelet of this color has taken yet.  False: a route to a router that does
 * not know the color.  *inside: none of them leads out of the rectangle. */
static RARE bool ports_exist(Visit *v, FastColor *c, uint8_t color, PortMask ports, bool *inside)
{
  *inside = true;
  for (unsigned p = 0; p < PORT_RAMP; p++) {
    if (!(ports >> p & 1))
      continue;
    uint32_t next = program_neighbour(v->engine->base.program, v->tile->core.index, (Port)p);
    Port enters = port_opposite((Port)p);
    if (next == (uint32_t)NO_TILE) {
      *inside = false;
      continue;
    }
    const FastSet *set = &v->engine->sets[v->engine->base.program->image->tile_colors[next]];
    uint8_t there = program_color_inside(v->engine->base.program, next, color, enters);
    c->next[p] = set->slot_of[there];
    if (c->next[p] != NO_SLOT)
      continue;
    arrput(v->worker->log.faults,
           ((Fault){.cycle = v->turn.cycle, .tile = next, .color = there, .pc = PC_RETURN,
                    .kind = FAULT_NO_COLOR_CONFIG, .value = enters}));
    return false;
  }
  return true;
}

/* A router that was never touched is as loaded. */
static RARE bool untouched_accepts(const Visit *v, const FastTile *t, unsigned slot,
                                   PortMask enters)
{
  const Image *image = v->engine->base.program->image;
  const FastSet *set = &v->engine->sets[image->tile_colors[t - v->engine->tiles]];
  const ImageColorConfig *config = set->config[slot];
  return !config->teardown && (config->positions[config->current].rx & enters);
}

STEP HOT bool link_accepts(Visit *v, FastTile *next, unsigned slot, unsigned port)
{
  PortMask enters = port_bit(port_opposite(port));
  if (UNLIKELY(next->put_off))
    move_late(v, next);
  if (UNLIKELY(!next->set))
    return untouched_accepts(v, next, slot, enters);
  bool accepts = step_color_accepts(v, &next->colors[slot], enters);
  if (!accepts && UNLIKELY(next->put_off & PUT_OFF_WRITE))
    look_behind_write(v, next);
  return accepts;
}

/* A wavelet that leaves the rectangle always can, unless a link takes it. */
static RARE bool outside_accepts(const Visit *v, uint8_t color, Port port)
{
  return links_have_room(v->engine->base.options.links, v->tile->core.index, port, color,
                         v->turn.cycle);
}

static bool ports_accept(Visit *v, const FastColor *c, uint8_t color, PortMask to)
{
  for (unsigned bits = to & (port_bit(PORT_RAMP) - 1u); bits; bits &= bits - 1) {
    unsigned p = (unsigned)__builtin_ctz(bits);
    if (c->next[p] == NO_SLOT ? !outside_accepts(v, color, (Port)p)
                              : !link_accepts(v, fast_beside(v->engine, v->tile, p), c->next[p], p))
      return false;
  }
  return !(to & port_bit(PORT_RAMP)) || queue_accepts(v, v->tile->data_queue[color]);
}

/* The oldest wavelet of the color has no room to go to. */
static HOT void note_stuck(FastTile *t, unsigned slot)
{
  t->stuck |= 1u << slot;
  t->is_stuck = true;
}

/* Likewise the head of an output queue. */
static HOT void note_stuck_output(FastTile *t, unsigned queue)
{
  t->stuck_outputs |= (uint8_t)(1u << queue);
  t->is_stuck = true;
}

/* Outputs of a wavelet that is not plain data on checked routes.  False: it waits. */
static RARE bool odd_outputs(Visit *v, FastColor *c, uint8_t color, const FastWavelet *w,
                             PortMask *to, bool *counted)
{
  *to = c->route & ROUTE_TX;
  if (c->route & ROUTE_SUSPENDED)
    return false;
  static const ImageFilter none = {.kind = FILTER_NONE};
  bool filtered = c->route & ROUTE_FILTERED;
  *to = router_outputs(filtered ? &fast_config(v->tile, color)->filter : &none,
                       filtered ? fast_filter(v->tile, color) : NULL, *to, w->payload,
                       w->meta & META_CONTROL, counted);
  if (c->route & ROUTE_CHECKED)
    return true;
  bool inside;
  if (!ports_exist(v, c, color, *to, &inside)) {
    note_stuck(v->tile, v->tile->set->slot_of[color]);
    return false;
  }
  /* else the ramp was missing, it is odd, or it has nowhere to go */
  if (inside && *to && *to == (c->route & ROUTE_TX))
    c->route |= ROUTE_CHECKED;
  return true;
}

/* ---- effects of moves ------------------------------------------------------------------- */

/* Switch events are few, so a run without a trace can have them as well. */
static TraceSink *switch_sink(const Visit *v)
{
  const EngineOptions *options = &v->engine->base.options;
  return options->trace ? options->trace : options->switches;
}

static RARE void routes_event(Visit *v, uint8_t color, unsigned position)
{
  const ImagePosition *at = &fast_config(v->tile, color)->positions[position];
  TraceEvent event = {.kind = EV_ROUTE, .color = color, .inputs = at->rx, .to = at->tx};
  turn_record(&v->turn, switch_sink(v), event);
}

static void switch_event(Visit *v, uint8_t color, unsigned from, unsigned to, SwitchMove moved)
{
  unsigned slot = v->tile->set->slot_of[color];
  if (from == to)
    return;
  if (switch_is_there(v->tile->set->config[slot]))
    color_moves(v->tile)[slot] = moved;
  if (!switch_sink(v))
    return;
  TraceEvent event = {.kind = EV_SWITCH, .color = color, .old_position = (uint8_t)from,
                      .new_position = (uint8_t)to};
  turn_record(&v->turn, switch_sink(v), event);
  if (v->tile->own && v->tile->own->config[slot])
    routes_event(v, color, to);
}

/* Carries out the wavelet's first command at this router and returns the payload that goes on. */
static RARE uint32_t execute_command(Visit *v, FastColor *c, uint8_t color, uint32_t payload)
{
  const ImageColorConfig *config = fast_config(v->tile, color);
  SwitchStep step = switch_execute(config, color_rx_position(c), color_tx_position(c), payload);
  if (step.tears_down) {
    c->route |= ROUTE_SUSPENDED;
    tile_tear_down(&v->turn, color);
  }
  if (control_command(payload, 0).command != CMD_NOP)
    set_positions(v, c, config, step.rx, step.tx);
  return step.payload;
}

/* A slot of a full color becomes free: every unit that may send there looks again. */
STEP HOT void wake_senders(Visit *v, const FastColor *c)
{
  if (UNLIKELY((c->saved & OPEN_COUNT) >= v->engine->router_slots))
    v->wake_ports |= (PortMask)((c->saved | c->open) >> OPEN_RX_SHIFT) &
                     (PortMask)(port_bit(PORT_RAMP) - 1u);
}

static HOT void wavelet_event(Visit *v, unsigned slot, FastWavelet w, PortMask to)
{
  EVENT(v, .kind = EV_WAVELET, .color = v->tile->set->color_of[slot],
        .from = (Port)wavelet_field(w.meta), .to = to, .payload = w.payload,
        .control = (w.meta & META_CONTROL) != 0);
}

/* The wavelet that has come to the tile's slot is behind another one.  It does not matter before
 * that has left, and then the tile is awake.  Peers have to hear of it. */
static HOT bool is_behind(const Visit *v, const FastTile *t, unsigned slot)
{
  return color_count(&t->colors[slot]) > 1 && !(t->put_off | (t->in || t->out)) &&
         !v->engine->edges;
}

/* A wavelet has come to the tile's slot. */
static HOT void wake_receiver(Visit *v, FastTile *t, unsigned slot)
{
  if (is_behind(v, t, slot))
    return;
  if (!leaves_late(v, t, slot)) {
    wake_next(v, t->core.index);
    return;
  }
  t->put_off |= (uint8_t)(slot + 1);
  fast_timer(v->worker, t->core.index, v->turn.cycle,
             late_due(v->engine, t, slot, v->turn.cycle));
}

STEP HOT void link_push(Visit *v, FastTile *next, unsigned slot, FastWavelet w, unsigned port)
{
  if (UNLIKELY(!next->set))
    fast_touch(v->worker, (uint32_t)(next - v->engine->tiles));
  slot_push(v, next, slot, w, port_opposite(port));
  wake_receiver(v, next, slot);
  v->worker->log.stats.hops[port]++;
}

static HOT void claim_outputs(Visit *v, RouterTurn *r, unsigned slot, PortMask to)
{
  unsigned open = v->tile->colors[slot].open >> OPEN_RX_SHIFT;
  r->claimed |= to;
  r->freed |= (open >> PORT_RAMP & 1) << slot;
  if (!r->moved)
    v->tile->first_slot = (uint8_t)slot;
  r->moved = true;
}

static RARE void leave_rectangle(Visit *v, uint8_t color, Port port, FastWavelet w)
{
  if (!links_send(v->engine->base.options.links, v->tile->core.index, port, color,
                  (LinkWord){v->turn.cycle, w.payload, (w.meta & META_CONTROL) != 0}))
    turn_fault(&v->turn, (Fault){.color = color, .pc = PC_RETURN, .kind = FAULT_LEAVES_FABRIC,
                                 .value = port, .value2 = wavelet_field(w.meta)});
}

/* To several outputs or none, or a wavelet that does more than move. */
static RARE void move_any(Visit *v, RouterTurn *r, FastColor *c, unsigned slot, FastWavelet w,
                          PortMask to, bool counted)
{
  FastTile *t = v->tile;
  uint8_t color = t->set->color_of[slot];
  unsigned before_tx = color_tx_position(c);
  if (!ports_accept(v, c, color, to)) {
    note_stuck(t, slot);
    return;
  }
  claim_outputs(v, r, slot, to);
  slot_pop(v, t, slot);
  wake_senders(v, c);
  if (counted)
    filter_step(fast_filter(t, color), &fast_config(t, color)->filter);
  if (w.meta & META_CONTROL)
    w.payload = execute_command(v, c, color, w.payload);
  wavelet_event(v, slot, w, to);
  switch_event(v, color, before_tx, color_tx_position(c),
               switch_move(v->turn.cycle, MOVED_BY_COMMAND, wavelet_field(w.meta)));
  if (w.meta & META_ADVANCE) {
    const ImageColorConfig *config = fast_config(t, color);
    set_positions(v, c, config, color_rx_position(c),
                  switch_advanced(config, color_tx_position(c)));
  }
  w.meta &= (uint32_t)~META_ADVANCE;
  for (unsigned bits = to & (port_bit(PORT_RAMP) - 1u); bits; bits &= bits - 1) {
    unsigned p = (unsigned)__builtin_ctz(bits);
    if (c->next[p] == NO_SLOT)
      leave_rectangle(v, color, (Port)p, w);
    else
      link_push(v, fast_beside(v->engine, t, p), c->next[p], w, p);
  }
  if (to & port_bit(PORT_RAMP))
    input_push(v, v->tile->data_queue[color], color, w);
}

/* Plain data to one neighbour. */
static HOT void move_on(Visit *v, RouterTurn *r, FastColor *c, unsigned slot, FastWavelet w,
                        PortMask to)
{
  unsigned port = (unsigned)__builtin_ctz(to), there = c->next[port];
  FastTile *next = fast_beside(v->engine, v->tile, port);
  if (!link_accepts(v, next, there, port)) {
    note_stuck(v->tile, slot);
    return;
  }
  claim_outputs(v, r, slot, to);
  slot_pop(v, v->tile, slot);
  wake_senders(v, c);
  wavelet_event(v, slot, w, to);
  link_push(v, next, there, w, port);
}

/* Plain data to the tile. */
static HOT void move_down(Visit *v, RouterTurn *r, FastColor *c, unsigned slot, FastWavelet w)
{
  unsigned color = v->tile->set->color_of[slot], queue = v->tile->data_queue[color];
  if (!queue_accepts(v, queue)) {
    note_stuck(v->tile, slot);
    return;
  }
  claim_outputs(v, r, slot, port_bit(PORT_RAMP));
  slot_pop(v, v->tile, slot);
  wake_senders(v, c);
  wavelet_event(v, slot, w, port_bit(PORT_RAMP));
  input_push(v, queue, color, w);
}

/* The neighbour among the outputs of a broadcast along a line, which are it and the tile; or
 * PORT_COUNT. */
static HOT unsigned copy_port(const FastColor *c, PortMask to)
{
  unsigned links = to & (port_bit(PORT_RAMP) - 1u);
  unsigned port = links ? (unsigned)__builtin_ctz(links) : PORT_COUNT;
  bool is_copy = links && !(links & (links - 1)) && (to & port_bit(PORT_RAMP));
  return is_copy && c->next[port] != NO_SLOT ? port : PORT_COUNT;
}

/* Plain data to the tile and to the neighbour. */
static RARE void move_copy(Visit *v, RouterTurn *r, FastColor *c, unsigned slot, unsigned port)
{
  FastTile *t = v->tile, *next = fast_beside(v->engine, t, port);
  FastWavelet w = c->w[0];
  unsigned color = t->set->color_of[slot], queue = t->data_queue[color], there = c->next[port];
  PortMask to = c->route & ROUTE_TX;
  if (!link_accepts(v, next, there, port) || !queue_accepts(v, queue)) {
    note_stuck(t, slot);
    return;
  }
  claim_outputs(v, r, slot, to);
  slot_pop(v, t, slot);
  wake_senders(v, c);
  wavelet_event(v, slot, w, to);
  link_push(v, next, there, w, port);
  input_push(v, queue, color, w);
}

/* Anything but plain data on checked routes. */
static RARE void move_odd(Visit *v, RouterTurn *r, FastColor *c, unsigned slot)
{
  FastWavelet w = c->w[0];
  PortMask to;
  bool counted = false;
  if (odd_outputs(v, c, v->tile->set->color_of[slot], &w, &to, &counted) && !(to & r->claimed))
    move_any(v, r, c, slot, w, to, counted);
}

static HOT void move_copies(Visit *v, RouterTurn *r, FastColor *c, unsigned slot, PortMask to)
{
  unsigned copy = copy_port(c, to);
  if (LIKELY(copy != PORT_COUNT))
    move_copy(v, r, c, slot, copy);
  else
    move_any(v, r, c, slot, c->w[0], to, false);
}

/* The oldest wavelet of the color can be seen.  Mostly it is plain data on checked routes, which
 * have outputs; and often another color has taken one of them in this cycle. */
static HOT void move_color(Visit *v, RouterTurn *r, unsigned slot)
{
  FastColor *c = &v->tile->colors[slot];
  PortMask to = c->route & ROUTE_TX;
  bool odd = (c->w[0].meta & (META_CONTROL | META_ADVANCE)) ||
             (c->route & ROUTE_ODD) != ROUTE_CHECKED;
  if (!UNLIKELY(odd) && (to & r->claimed))
    return;
  if (!(open_at_start(v, c) & OPEN_COUNT))
    return;
  if (UNLIKELY(odd))
    move_odd(v, r, c, slot);
  else if (to & (to - 1))
    move_copies(v, r, c, slot, to);
  else if (to == port_bit(PORT_RAMP))
    move_down(v, r, c, slot, c->w[0]);
  else
    move_on(v, r, c, slot, c->w[0], to);
}

/* Colors are visited cyclically from the one after the color served first in the last cycle
 * with a move; a color moves if all its ports are free and have room.  Slots are in the order of
 * colors.  What one color's move changes no other color's looks at, but stamped. */
static HOT void move_colors(Visit *v, RouterTurn *r)
{
  enum { TURN = 32 };           /* a second time so many bits higher: those before the first */
  unsigned first = v->tile->first_slot + 1u;      /* 1 to 24 */
  uint64_t occupied = v->tile->occupied & ~v->tile->stuck;
  uint64_t turned = (occupied | occupied << TURN) >> first << first &
                    ((UINT64_C(1) << (TURN + first)) - 1);
  const FastColor *colors = v->tile->colors;
  for (uint64_t now = v->turn.cycle; turned; turned &= turned - 1) {
    unsigned slot = (unsigned)__builtin_ctzll(turned) % TURN;
    if (wavelet_seen(colors[slot].w[0].meta, now))
      move_color(v, r, slot);
  }
}

/* ---- the ramp and the host -------------------------------------------------------------- */

static HOT void plan_ramp_queue(Visit *v, RouterTurn *r, unsigned queue)
{
  FastTile *t = v->tile;
  const FastWavelet *w = output_at(&t->queues[queue], 0);
  uint8_t inside = wavelet_field(w->meta);
  if (!wavelet_seen(w->meta, v->turn.cycle))
    return;
  if (UNLIKELY(step_is_host_color(v, inside))) {
    r->host_head = true;
    return;
  }
  if (UNLIKELY(t->set->swaps))
    inside = program_color_inside(v->engine->base.program, t->core.index, inside, PORT_RAMP);
  unsigned slot = t->set->slot_of[inside];
  if (UNLIKELY(slot == NO_SLOT)) {
    arrput(v->worker->log.faults,
           ((Fault){.kind = FAULT_NO_COLOR_CONFIG, .cycle = v->turn.cycle, .tile = t->core.index,
                    .color = inside, .pc = PC_RETURN, .value = PORT_RAMP}));
    note_stuck_output(t, queue);
    return;
  }
  if (!step_color_accepts(v, &t->colors[slot], port_bit(PORT_RAMP))) {
    note_stuck_output(t, queue);
  } else if (r->ramp_queue == NO_QUEUE) {
    r->ramp_queue = (uint8_t)queue;
    r->ramp_slot = (uint8_t)slot;
  }
}

/* The ramp is one port: round robin over the heads of the output queues. */
static HOT void plan_ramp(Visit *v, RouterTurn *r)
{
  unsigned first = v->tile->last_ramp_queue + 1u;      /* 1 to 8 */
  unsigned any = v->tile->output_any & ~(unsigned)v->tile->stuck_outputs;
  unsigned turned = (any >> first | any << (MAX_QUEUES - first)) & ((1u << MAX_QUEUES) - 1);
  for (; turned; turned &= turned - 1)
    plan_ramp_queue(v, r, (first + (unsigned)__builtin_ctz(turned)) % MAX_QUEUES);
}

/* The lane of the host whose word enters, or NULL. */
static RARE HostLane *plan_host_in(const Visit *v)
{
  HostLane *first = NULL;
  const HostWords *words = &v->tile->host->posted;
  for (size_t i = 0; i < arrlenu(words->lanes); i++) {
    HostLane *lane = &words->lanes[i];
    const PostedWord *word = host_lane_head(lane);
    if (word && word->cycle <= v->turn.cycle &&
        queue_accepts(v, v->tile->data_queue[lane->color]) &&
        (!first || word->number < host_lane_head(first)->number))
      first = lane;
  }
  return first;
}

/* The head of an output queue enters the router.  `advance` acts on the receive side now, so
 * that the next sender follows without a gap, and on the transmit side when the wavelet leaves. */
static HOT void commit_ramp(Visit *v, const RouterTurn *r)
{
  FastTile *t = v->tile;
  unsigned queue = r->ramp_queue;
  FastWavelet w = output_pop(v, queue);
  FastColor *c = &t->colors[r->ramp_slot];
  if (UNLIKELY(w.meta & META_ADVANCE)) {
    uint8_t color = t->set->color_of[r->ramp_slot];
    unsigned before_rx = color_rx_position(c);
    const ImageColorConfig *config = fast_config(t, color);
    set_positions(v, c, config, switch_advanced(config, before_rx), color_tx_position(c));
    switch_event(v, color, before_rx, color_rx_position(c),
                 switch_move(v->turn.cycle, MOVED_BY_ADVANCE, PORT_RAMP));
  }
  slot_push(v, t, r->ramp_slot, w, PORT_RAMP);
  t->last_ramp_queue = (uint8_t)queue;
  v->worker->log.stats.wavelets++;
}

/* The channel takes from waiting tiles when it is free: serve_channels. */
static RARE void wait_for_host(Visit *v)
{
  arrput(v->worker->host_calls, v->tile->core.index);
}

/* ---- registers --------------------------------------------------------------------------- */

/* Behind everything else of the cycle, which still goes by the old configuration. */
STEP RARE void commit_register(Visit *v)
{
  FastTile *t = v->tile;
  uint16_t base = config_reg_at(v->turn.router_register)->address;
  unsigned color = v->turn.router_register - base, slot = t->set->slot_of[color];
  color_save(v, &t->colors[slot]);
  write_register(v, t, v->turn.router_register, v->turn.router_value);
  retry_moves(t, v->turn.cycle);
  v->wake_ports = port_bit(PORT_RAMP) - 1u;
  if (switch_sink(v))
    routes_event(v, (uint8_t)color, color_rx_position(&t->colors[slot]));
}

/* Wavelets that had no room look again, if this may have changed. */
static HOT void look_again(const Visit *v, FastTile *t)
{
  if (t->is_stuck && (int32_t)(t->retry - (uint32_t)v->turn.cycle) >= 0)
    forget_stuck(t);
}

/* The ramp has room in these slots: heads of output queues that had none there look again. */
static HOT void free_outputs(FastTile *t, uint32_t freed)
{
  for (unsigned bits = t->stuck_outputs; bits; bits &= bits - 1) {
    unsigned queue = (unsigned)__builtin_ctz(bits);
    unsigned slot = t->set->slot_of[wavelet_field(output_at(&t->queues[queue], 0)->meta)];
    if (t->set->swaps || slot == NO_SLOT || freed >> slot & 1)
      t->stuck_outputs &= (uint8_t)~(1u << queue);
  }
}

/* Returns whether a wavelet left a slot. */
STEP HOT bool visit_router(Visit *v)
{
  FastTile *t = v->tile;
  look_again(v, t);
  if (!(t->occupied | t->output_any | t->attended))
    return false;
  RouterTurn r = {.ramp_queue = NO_QUEUE};
  HostLane *host_in = UNLIKELY(t->attended) ? plan_host_in(v) : NULL;
  if (t->occupied)
    move_colors(v, &r);
  if (t->output_any)
    plan_ramp(v, &r);
  if (r.ramp_queue != NO_QUEUE)
    commit_ramp(v, &r);
  if (r.freed)
    free_outputs(t, r.freed);
  if (r.moved || r.ramp_queue != NO_QUEUE)
    v->turn.changed = true;
  if (UNLIKELY(host_in))
    input_from_host(v, host_in);
  if (UNLIKELY(r.host_head))
    wait_for_host(v);
  return r.moved;
}
