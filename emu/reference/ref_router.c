/* Reference engine: the router of a tile.  Two slots per color, filled only through inputs that
 * the color's current position enables; one wavelet per cycle through each output port; a wavelet
 * leaves through all its outputs at once or waits. */
#include "emu/reference/reference_internal.h"

#include "stb_ds.h"

#include <stdlib.h>

/* ---- colors and positions -------------------------------------------------------------------- */

ColorState *color_create(const ImageColorConfig *config)
{
  ColorState *state = base_zeroed(1, sizeof *state);
  state->config = config;
  state->rx_position = state->tx_position = config->current;
  state->suspended = config->teardown;
  state->has_switch = switch_is_there(config);
  state->filter = filter_start(&config->filter);
  return state;
}

void color_destroy(ColorState *state)
{
  if (state)
    free(state->own);
  free(state);
}

/* Inputs that are open now and stay so when the control wavelets in the slots have been carried
 * out. */
static PortMask open_inputs(const ColorState *state)
{
  unsigned position = state->rx_position;
  PortMask open = state->suspended ? 0 : state->config->positions[position].rx;
  for (unsigned i = 0; i < state->slots.count; i++) {
    const Wavelet *w = ring_peek(&state->slots, i);
    open &= switch_leaves_open(state->config, &position, w->payload, w->control);
  }
  return open;
}

/* A router that was never touched is as loaded: its own view of a color. */
static bool slot_accepts(const RefEngine *engine, uint32_t tile, uint8_t color, Port port)
{
  const RefTile *t = engine->tiles[tile];
  if (!t) {
    const ImageColorConfig *config = program_color(engine->base.program, tile, color);
    return !config->teardown && (config->positions[config->current].rx & port_bit(port));
  }
  const ColorState *state = t->colors[color];
  return state->slots.count < engine->base.program->machine->router_slots &&
         (open_inputs(state) & port_bit(port));
}

/* ---- plan ------------------------------------------------------------------------------------ */

static unsigned data_queue(const RefTile *tile, unsigned color)
{
  return registers_data_queue(&tile->core.registers, tile->core.mem.cls->image, color);
}

static bool ramp_accepts(const Turn *turn, uint8_t color)
{
  const RefTile *tile = tile_of_turn(turn);
  unsigned queue = tile->core.mem.cls ? data_queue(tile, color) : NO_QUEUE;
  return queue < MAX_QUEUES &&
         tile->input[queue].ring.count < input_capacity(turn->program, queue);
}

/* The neighbour by an output port, the color there and the port it is entered by; false: none. */
typedef struct { uint32_t tile; uint8_t color; Port enters; } Link;
static bool find_link(const Turn *turn, uint8_t color, PortMask to, unsigned port, Link *link)
{
  link->tile = program_neighbour(turn->program, turn->tile->index, (Port)port);
  if (!(to >> port & 1) || link->tile == NO_TILE)
    return false;
  link->enters = port_opposite((Port)port);
  link->color = program_color_inside(turn->program, link->tile, color, link->enters);
  return true;
}

static void report_unknown(Turn *turn, uint32_t tile, uint8_t color, Port enters)
{
  arrput(turn->log->faults,
         ((Fault){.cycle = turn->cycle, .tile = tile, .color = color, .pc = PC_RETURN,
                  .kind = FAULT_NO_COLOR_CONFIG, .value = enters}));
}

/* Reports a route to a router that does not know the color: such a wavelet can never move. */
static bool route_fails(Turn *turn, uint8_t color, PortMask to)
{
  Link link;
  for (unsigned p = 0; p < PORT_RAMP; p++) {
    if (!find_link(turn, color, to, p, &link) ||
        program_color(turn->program, link.tile, link.color))
      continue;
    report_unknown(turn, link.tile, link.color, link.enters);
    return true;
  }
  return false;
}

/* A wavelet that leaves the rectangle always can, unless a link takes it. */
static bool outputs_accept(const RefEngine *engine, const Turn *turn, uint8_t color, PortMask to)
{
  Link link;
  for (unsigned p = 0; p < PORT_RAMP; p++) {
    if (find_link(turn, color, to, p, &link)) {
      if (!slot_accepts(engine, link.tile, link.color, link.enters))
        return false;
    } else if (to >> p & 1 && !links_have_room(engine->base.options.links, turn->tile->index,
                                               (Port)p, color, turn->cycle)) {
      return false;
    }
  }
  return !(to & port_bit(PORT_RAMP)) || ramp_accepts(turn, color);
}

static bool plan_move(RefEngine *engine, Turn *turn, const ColorState *state, PortMask claimed,
                      PlannedMove *move)
{
  const Wavelet *w = ring_peek(&state->slots, 0);
  if (state->suspended || state->slots.count == 0 || w->visible > turn->cycle)
    return false;
  move->color = w->color;
  move->to = router_outputs(&state->config->filter, &state->filter,
                            state->config->positions[state->tx_position].tx, w->payload,
                            w->control, &move->counted);
  return !route_fails(turn, w->color, move->to) && !(move->to & claimed) &&
         outputs_accept(engine, turn, w->color, move->to);
}

/* Colors are visited cyclically from the one after the color served first in the last cycle
 * with a move; a color moves if all its ports are free and have room. */
static void plan_moves(RefEngine *engine, Turn *turn, RefPlan *plan)
{
  const RefTile *tile = tile_of_turn(turn);
  PortMask claimed = 0;
  for (unsigned k = 1; k <= MAX_COLORS; k++) {
    const ColorState *state = tile->colors[(tile->first_color + k) % MAX_COLORS];
    PlannedMove move;
    if (!state || !plan_move(engine, turn, state, claimed, &move))
      continue;
    claimed |= move.to;
    plan->moves[plan->n_moves++] = move;
  }
}

static bool goes_to_host(const Turn *turn, unsigned color)
{
  return turn->program->host_out_colors >> color & 1;
}

/* The ramp is one port: round robin over the heads of the output queues. */
static void plan_entry(RefEngine *engine, Turn *turn, RefPlan *plan)
{
  const RefTile *tile = tile_of_turn(turn);
  plan->ramp_queue = NO_QUEUE;
  for (unsigned k = 1; k <= MAX_QUEUES; k++) {
    unsigned queue = (tile->last_ramp_queue + k) % MAX_QUEUES;
    const Ring *ring = &tile->output[queue].ring;
    const Wavelet *w = ring_peek(ring, 0);
    if (ring->count == 0 || w->visible > turn->cycle || goes_to_host(turn, w->color))
      continue;
    uint8_t inside = program_color_inside(turn->program, turn->tile->index, w->color, PORT_RAMP);
    if (!tile->colors[inside])
      report_unknown(turn, turn->tile->index, inside, PORT_RAMP);
    else if (plan->ramp_queue == NO_QUEUE &&
             slot_accepts(engine, turn->tile->index, inside, PORT_RAMP))
      plan->ramp_queue = (uint8_t)queue;
  }
}

static void plan_host(Turn *turn, RefPlan *plan)
{
  RefTile *tile = tile_of_turn(turn);
  plan->host_queue = NO_QUEUE;
  for (unsigned queue = 0; queue < MAX_QUEUES && plan->host_queue == NO_QUEUE; queue++) {
    const Ring *ring = &tile->output[queue].ring;
    const Wavelet *w = ring_peek(ring, 0);
    if (ring->count && w->visible <= turn->cycle && goes_to_host(turn, w->color))
      plan->host_queue = (uint8_t)queue;
  }
  for (size_t i = 0; i < arrlenu(tile->host.posted.lanes); i++) {
    HostLane *lane = &tile->host.posted.lanes[i];
    const PostedWord *word = host_lane_head(lane);
    if (word && word->cycle <= turn->cycle && ramp_accepts(turn, lane->color) &&
        (!plan->host_in || word->number < host_lane_head(plan->host_in)->number))
      plan->host_in = lane;
  }
}

void router_plan(RefEngine *engine, Turn *turn, RefPlan *plan)
{
  plan->n_moves = 0;
  plan->host_out = false;
  plan->host_in = NULL;
  plan_moves(engine, turn, plan);
  plan_entry(engine, turn, plan);
  plan_host(turn, plan);
}

/* ---- commit ---------------------------------------------------------------------------------- */

static void record_routes(Turn *turn, uint8_t color, const ImageColorConfig *config,
                          uint8_t position)
{
  turn_event(turn, .kind = EV_ROUTE, .color = color, .inputs = config->positions[position].rx,
             .to = config->positions[position].tx);
}

static void record_switch(Turn *turn, uint8_t color, uint8_t from, uint8_t to, SwitchMove moved)
{
  ColorState *state = tile_of_turn(turn)->colors[color];
  if (from == to)
    return;
  if (state->has_switch)
    state->moved = moved;
  turn_event(turn, .kind = EV_SWITCH, .color = color, .old_position = from, .new_position = to);
  if (state->own)
    record_routes(turn, color, state->config, to);
}

static uint32_t command_payload(Turn *turn, ColorState *state, const Wavelet *w)
{
  SwitchStep step = switch_execute(state->config, state->rx_position, state->tx_position,
                                   w->payload);
  state->rx_position = step.rx;
  state->tx_position = step.tx;
  if (step.tears_down) {
    state->suspended = true;
    tile_tear_down(turn, w->color);
  }
  return step.payload;
}

/* Put aside until all senders are through. */
static void arrive(RefEngine *engine, uint32_t tile, uint8_t color, Port enters, Wavelet w)
{
  ColorState *state = touch_tile(engine, tile)->colors[color];
  w.color = color;
  w.from = enters;
  w.visible = engine->base.cycle + engine->base.program->timing.hop;
  state->arrivals |= port_bit(enters);
  state->arriving[enters] = w;
}

static void deliver(RefEngine *engine, Turn *turn, Wavelet w, PortMask to)
{
  Link link;
  for (unsigned p = 0; p < PORT_RAMP; p++) {
    if (find_link(turn, w.color, to, p, &link)) {
      arrive(engine, link.tile, link.color, link.enters, w);
      turn->log->stats.hops[p]++;
    } else if (to >> p & 1 &&
               !links_send(engine->base.options.links, turn->tile->index, (Port)p, w.color,
                           (LinkWord){turn->cycle, w.payload, w.control})) {
      turn_fault(turn, (Fault){.color = w.color, .pc = PC_RETURN, .kind = FAULT_LEAVES_FABRIC,
                               .value = p, .value2 = w.from});
    }
  }
}

/* The wavelet becomes visible after the ramp. */
static void push_input(Turn *turn, unsigned queue, Wavelet w)
{
  w.visible = turn->cycle + turn->program->timing.ramp_down;
  w.from = PORT_RAMP;
  ring_push(&tile_of_turn(turn)->input[queue].ring, w);
  turn->tile->wavelets_seen++;
  turn_event(turn, .kind = EV_PUSH, .queue = (uint8_t)queue, .color = w.color,
             .payload = w.payload, .control = w.control);
}

static void commit_move(RefEngine *engine, Turn *turn, PlannedMove move)
{
  RefTile *tile = tile_of_turn(turn);
  ColorState *state = tile->colors[move.color];
  Wavelet w = ring_pop(&state->slots);
  uint8_t before = state->tx_position;
  if (move.counted)
    filter_step(&state->filter, &state->config->filter);
  if (w.control)
    w.payload = command_payload(turn, state, &w);
  turn_event(turn, .kind = EV_WAVELET, .color = w.color, .from = w.from, .to = move.to,
             .payload = w.payload, .control = w.control);
  record_switch(turn, w.color, before, state->tx_position,
                switch_move(turn->cycle, MOVED_BY_COMMAND, w.from));
  if (w.advance)
    state->tx_position = (uint8_t)switch_advanced(state->config, state->tx_position);
  w.advance = false;
  deliver(engine, turn, w, move.to);
  if (move.to & port_bit(PORT_RAMP))
    push_input(turn, data_queue(tile, w.color), w);
}

static Wavelet pop_output(Turn *turn, unsigned queue)
{
  Wavelet w = ring_pop(&tile_of_turn(turn)->output[queue].ring);
  turn_event(turn, .kind = EV_POP, .output = true, .queue = (uint8_t)queue, .color = w.color,
             .payload = w.payload, .control = w.control);
  return w;
}

/* The head of an output queue enters the router.  `advance` acts on the receive side now, so
 * that the next sender follows without a gap, and on the transmit side when the wavelet leaves. */
static void commit_entry(RefEngine *engine, Turn *turn, unsigned queue)
{
  RefTile *tile = tile_of_turn(turn);
  Wavelet w = pop_output(turn, queue);
  uint8_t inside = program_color_inside(turn->program, turn->tile->index, w.color, PORT_RAMP);
  ColorState *state = tile->colors[inside];
  if (w.advance) {
    uint8_t before = state->rx_position;
    state->rx_position = (uint8_t)switch_advanced(state->config, before);
    record_switch(turn, inside, before, state->rx_position,
                  switch_move(turn->cycle, MOVED_BY_ADVANCE, PORT_RAMP));
  }
  arrive(engine, turn->tile->index, inside, PORT_RAMP, w);
  tile->last_ramp_queue = (uint8_t)queue;
  turn->log->stats.wavelets++;
}

static void commit_host_in(Turn *turn, HostLane *lane)
{
  uint8_t color = lane->color;
  uint32_t word = lane->words[lane->at++].word;
  turn_event(turn, .kind = EV_HOST_IN, .color = color, .payload = word);
  push_input(turn, data_queue(tile_of_turn(turn), color),
             (Wavelet){.payload = word, .color = color});
  turn->changed = true;
}

static void commit_host_out(Turn *turn, unsigned queue)
{
  Wavelet w = pop_output(turn, queue);
  turn_event(turn, .kind = EV_HOST_OUT, .color = w.color, .queue = (uint8_t)queue,
             .payload = w.payload);
  arrput(tile_of_turn(turn)->host.sent, ((HostWord){turn->cycle, w.payload, w.color}));
  turn->changed = true;
}

/* Behind everything else of the cycle, which still goes by the old configuration. */
static void commit_registers(Turn *turn)
{
  uint16_t base = config_reg_at(turn->router_register)->address;
  ColorState *state = tile_of_turn(turn)->colors[turn->router_register - base];
  RouterNow now = {state->rx_position, state->suspended, state->filter.counter,
                   state->filter.limit1};
  if (!state->own) {
    state->own = base_malloc(sizeof *state->own);
    router_config_copy(state->own, state->config);
    state->config = &state->own->config;
  }
  router_config_write(base, turn->router_value, state->own, &now);
  state->suspended = now.suspended;
  state->filter.counter = now.counter;
  state->filter.limit1 = now.limit;
  if (base == CFG_COLOR_SWITCH)
    state->rx_position = state->tx_position = now.position;
  record_routes(turn, (uint8_t)(turn->router_register - base), state->config, state->rx_position);
  turn->changed = true;
}

void router_commit(RefEngine *engine, Turn *turn, const RefPlan *plan)
{
  for (unsigned i = 0; i < plan->n_moves; i++)
    commit_move(engine, turn, plan->moves[i]);
  if (plan->n_moves)
    tile_of_turn(turn)->first_color = plan->moves[0].color;
  if (plan->ramp_queue != NO_QUEUE)
    commit_entry(engine, turn, plan->ramp_queue);
  if (plan->n_moves || plan->ramp_queue != NO_QUEUE)
    turn->changed = true;
  if (plan->host_in)
    commit_host_in(turn, plan->host_in);
  if (turn->router_register)
    commit_registers(turn);
  if (plan->host_out)           /* which is between the tiles' channels and the host */
    commit_host_out(turn, plan->host_queue);
}

/* ---- links to other fabrics ------------------------------------------------------------------ */

bool router_accepts_link(const Engine *base, uint32_t tile, uint8_t color, Port port)
{
  return slot_accepts((const RefEngine *)base, tile,
                      program_color_inside(base->program, tile, color, port), port);
}

void router_take_links(RefEngine *engine)
{
  EngineLinks *links = engine->base.options.links;
  uint64_t now = engine->base.cycle;
  for (size_t i = 0; links && i < arrlenu(links->gates); i++) {
    LinkGate *gate = &links->gates[i];
    LinkIn *in = engine->entering[i];
    if (!in)
      continue;
    LinkWord word = links_enter(gate, in, now);
    uint8_t color = program_color_inside(engine->base.program, gate->tile, in->color, gate->port);
    arrive(engine, gate->tile, color, gate->port,
           (Wavelet){.payload = word.payload, .control = word.control});
    engine->changed = true;
    engine->log.last_change = now + 1;
  }
}

/* Two wavelets of one color at once are a hazard: the machine's behaviour is undefined then.  With
 * --check=off both are kept, in port order. */
void router_take_in(Turn *turn)
{
  RefTile *tile = tile_of_turn(turn);
  for (unsigned color = 0; color < MAX_COLORS; color++) {
    ColorState *state = tile->colors[color];
    PortMask arrivals = state ? state->arrivals : 0;
    if (!arrivals)
      continue;
    for (unsigned p = 0; p < PORT_COUNT; p++)
      if (arrivals >> p & 1)
        ring_push(&state->slots, state->arriving[p]);
    if (arrivals & (arrivals - 1))
      turn_fault(turn, (Fault){.kind = FAULT_COLOR_MEETS, .color = (uint8_t)color,
                               .pc = PC_RETURN, .value = arrivals});
    state->arrivals = 0;
    turn->changed = true;
  }
}
