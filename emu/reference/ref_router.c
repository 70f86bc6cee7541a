/* Reference engine: the router of a tile. Two slots per color, filled only through inputs that the
 * color's current position enables; one wavelet per cycle through each output port; a wavelet
 * leaves through all its outputs at once or waits. */
#include "emu/reference/reference_internal.h"

#include "stb_ds.h"

#include <stdlib.h>
#include <string.h>

enum { INDEX_SHIFT = 16 };

void ring_push(Ring *ring, Wavelet wavelet)
{
  if (ring->count >= REF_RING)
    ICE("a queue or a router slot overflows");
  ring->at[(ring->head + ring->count++) % REF_RING] = wavelet;
}

Wavelet ring_pop(Ring *ring)
{
  if (ring->count == 0)
    ICE("a wavelet is taken from an empty queue or slot");
  Wavelet wavelet = ring->at[ring->head];
  ring->head = (uint8_t)((ring->head + 1) % REF_RING);
  ring->count--;
  return wavelet;
}

/* ---- colors and positions -------------------------------------------------------------------- */

ColorState *ref_color_create(const ImageColorConfig *config)
{
  ColorState *state = base_malloc(sizeof *state);
  memset(state, 0, sizeof *state);
  state->config = config;
  state->rx_position = state->tx_position = config->current;
  state->suspended = config->teardown;
  state->counter = config->filter.init_counter;
  state->limit1 = config->filter.limit1;
  return state;
}

void ref_color_destroy(ColorState *state)
{
  if (state)
    free(state->own);
  free(state);
}

static uint8_t advanced(const ImageColorConfig *config, uint8_t position)
{
  if (position + 1 < MAX_SWITCH_POSITIONS && config->positions[position + 1].valid)
    return (uint8_t)(position + 1);
  return config->ring ? 0 : position;
}

static uint8_t commanded(const ImageColorConfig *config, uint8_t position, SwitchCommand command)
{
  switch (command) {
  case CMD_SWITCH_ADV: return advanced(config, position);
  case CMD_SWITCH_RST: return 0;
  case CMD_NOP: case CMD_TEARDOWN: default: return position;
  }
}

/* Inputs that are open now and stay so when the control wavelets in the slots have been carried
 * out: what follows one must not slip in through an input that it is about to close. */
static PortMask open_inputs(const ColorState *state)
{
  uint8_t position = state->rx_position;
  PortMask open = state->suspended ? 0 : state->config->positions[position].rx;
  for (unsigned i = 0; i < state->slots.count; i++) {
    const Wavelet *w = ring_peek(&state->slots, i);
    SwitchCommand command = w->control ? control_command(w->payload, 0).command : CMD_NOP;
    position = commanded(state->config, position, command);
    open &= command == CMD_TEARDOWN ? 0 : state->config->positions[position].rx;
  }
  return open;
}

/* A router that was never touched is as loaded: its own view of a color. */
static bool color_accepts(RefEngine *engine, uint32_t tile, uint8_t color, Port port)
{
  const RefTile *t = engine->tiles[tile];
  if (!t) {
    const ImageColorConfig *config = program_color(engine->program, tile, color);
    return !config->teardown && (config->positions[config->current].rx & port_bit(port));
  }
  const ColorState *state = t->colors[color];
  return state->slots.count < engine->program->machine->router_slots &&
         (open_inputs(state) & port_bit(port));
}

/* ---- filters --------------------------------------------------------------------------------- */

/* Whether the filter lets the wavelet through to this tile's ramp. */
static bool filter_passes(const ColorState *state, const Wavelet *w)
{
  const ImageFilter *filter = &state->config->filter;
  unsigned index = w->payload >> INDEX_SHIFT;
  if (filter->off)
    return true;
  switch (filter->kind) {
  case FILTER_COUNTER: case FILTER_SPARSE:
    if (state->filter_off)
      return true;
    if (filter->filter_control)
      return w->control && state->counter == filter->max_counter;
    return state->counter <= filter->max_counter;
  case FILTER_RANGE:
    return w->control || (index >= filter->limit1 && index <= filter->max_counter);
  case FILTER_NONE: default:
    return true;
  }
}

static bool filter_counts(const ColorState *state, const Wavelet *w)
{
  const ImageFilter *filter = &state->config->filter;
  if (filter->off || (filter->kind != FILTER_COUNTER && filter->kind != FILTER_SPARSE))
    return false;
  return w->control ? filter->count_control : filter->count_data;
}

static void filter_step(ColorState *state)
{
  const ImageFilter *filter = &state->config->filter;
  if (state->counter != state->limit1) {
    state->counter++;
    return;
  }
  state->counter = 0;
  if (filter->kind != FILTER_SPARSE)
    return;
  if (filter->has_limit2 && !state->limit2_used) {
    state->limit1 = filter->limit2;
    state->limit2_used = true;
  } else {
    state->filter_off = true;
  }
}

/* ---- plan ------------------------------------------------------------------------------------ */

unsigned ref_input_capacity(const RefEngine *engine, unsigned queue)
{
  return engine->program->machine->input_queue_depth[queue] + engine->program->timing.ramp_down;
}

unsigned ref_output_capacity(const RefEngine *engine, unsigned queue)
{
  return engine->program->machine->output_queue_depth[queue] + engine->program->timing.ramp_up;
}

static unsigned data_queue(const RefTile *tile, unsigned color)
{
  return registers_data_queue(&tile->registers, tile->cls->image, color);
}

static bool ramp_accepts(const RefEngine *engine, const RefTile *tile, uint8_t color)
{
  unsigned queue = tile->cls ? data_queue(tile, color) : NO_QUEUE;
  return queue < MAX_QUEUES && tile->input[queue].count < ref_input_capacity(engine, queue);
}

/* Reports a route to a router that does not know the color: such a wavelet can never move. */
static bool route_faults(RefEngine *engine, const RefTile *tile, const Wavelet *w, PortMask to)
{
  for (unsigned p = 0; p < PORT_RAMP; p++) {
    uint32_t next = program_neighbour(engine->program, tile->index, (Port)p);
    if (!(to >> p & 1) || next == NO_TILE)
      continue;
    Port enters = port_opposite((Port)p);
    uint8_t inside = program_color_inside(engine->program, next, w->color, enters);
    if (program_color(engine->program, next, inside))
      continue;
    ref_fault(engine, (Fault){.cycle = engine->cycle, .tile = next, .color = inside,
                              .pc = PC_RETURN, .kind = FAULT_NO_COLOR_CONFIG, .value = enters});
    return true;
  }
  return false;
}

/* A wavelet that leaves the rectangle always can. */
static bool ports_accept(RefEngine *engine, const RefTile *tile, const Wavelet *w, PortMask to)
{
  for (unsigned p = 0; p < PORT_RAMP; p++) {
    uint32_t next = program_neighbour(engine->program, tile->index, (Port)p);
    if (!(to >> p & 1) || next == NO_TILE)
      continue;
    Port enters = port_opposite((Port)p);
    uint8_t inside = program_color_inside(engine->program, next, w->color, enters);
    if (!color_accepts(engine, next, inside, enters))
      return false;
  }
  return !(to & port_bit(PORT_RAMP)) || ramp_accepts(engine, tile, w->color);
}

/* Outputs of a wavelet: the current position's, without the ramp if the command or the filter
 * says so.  One without outputs is dropped. */
static void outputs(const ColorState *state, const Wavelet *w, PlannedMove *move)
{
  move->color = w->color;
  move->to = state->config->positions[state->tx_position].tx;
  move->counted = false;
  if (w->control && control_command(w->payload, 0).ce_ignore)
    move->to &= (PortMask)~port_bit(PORT_RAMP);
  if (move->to & port_bit(PORT_RAMP)) {
    move->counted = filter_counts(state, w);
    if (!filter_passes(state, w))
      move->to &= (PortMask)~port_bit(PORT_RAMP);
  }
}

/* Colors are visited cyclically from the one after the color served first in the last cycle
 * with a move; a color moves if all its ports are free and have room. */
static void plan_moves(RefEngine *engine, const RefTile *tile, RefPlan *plan)
{
  PortMask claimed = 0;
  for (unsigned k = 1; k <= MAX_COLORS; k++) {
    unsigned color = (tile->first_color + k) % MAX_COLORS;
    const ColorState *state = tile->colors[color];
    PlannedMove move;
    if (!state || state->suspended || state->slots.count == 0)
      continue;
    const Wavelet *w = ring_peek(&state->slots, 0);
    if (w->visible > engine->cycle)
      continue;
    outputs(state, w, &move);
    if (route_faults(engine, tile, w, move.to) || (move.to & claimed) ||
        !ports_accept(engine, tile, w, move.to))
      continue;
    claimed |= move.to;
    plan->moves[plan->n_moves++] = move;
  }
}

static bool is_host_color(const RefEngine *engine, unsigned color)
{
  return engine->program->host_out_colors >> color & 1;
}

/* The ramp is one port: round robin over the heads of the output queues. */
static void plan_ramp(RefEngine *engine, const RefTile *tile, RefPlan *plan)
{
  plan->ramp_queue = NO_QUEUE;
  for (unsigned k = 1; k <= MAX_QUEUES; k++) {
    unsigned queue = (tile->last_ramp_queue + k) % MAX_QUEUES;
    const Ring *ring = &tile->output[queue];
    const Wavelet *w = ring_peek(ring, 0);
    if (ring->count == 0 || w->visible > engine->cycle || is_host_color(engine, w->color))
      continue;
    uint8_t inside = program_color_inside(engine->program, tile->index, w->color, PORT_RAMP);
    if (!tile->colors[inside]) {
      ref_fault(engine, (Fault){.kind = FAULT_NO_COLOR_CONFIG, .cycle = engine->cycle,
                                .tile = tile->index, .color = inside, .pc = PC_RETURN,
                                .value = PORT_RAMP});
      continue;
    }
    if (plan->ramp_queue == NO_QUEUE && color_accepts(engine, tile->index, inside, PORT_RAMP))
      plan->ramp_queue = (uint8_t)queue;
  }
}

static void plan_host(RefEngine *engine, const RefTile *tile, RefPlan *plan)
{
  plan->host_queue = NO_QUEUE;
  for (unsigned queue = 0; queue < MAX_QUEUES && plan->host_queue == NO_QUEUE; queue++) {
    const Ring *ring = &tile->output[queue];
    const Wavelet *w = ring_peek(ring, 0);
    if (ring->count && w->visible <= engine->cycle && is_host_color(engine, w->color))
      plan->host_queue = (uint8_t)queue;
  }
  for (size_t i = 0; i < arrlenu(tile->posted.lanes); i++) {
    HostLane *lane = &tile->posted.lanes[i];
    const PostedWord *word = host_lane_head(lane);
    if (word && word->cycle <= engine->cycle && ramp_accepts(engine, tile, lane->color) &&
        (!plan->host_in || word->number < host_lane_head(plan->host_in)->number))
      plan->host_in = lane;
  }
}

void ref_router_plan(RefEngine *engine, const RefTile *tile, RefPlan *plan)
{
  plan->n_moves = 0;
  plan->host_out = false;
  plan->host_in = NULL;
  plan_moves(engine, tile, plan);
  plan_ramp(engine, tile, plan);
  plan_host(engine, tile, plan);
}

/* ---- commit ---------------------------------------------------------------------------------- */

static void switch_event(RefEngine *engine, const RefTile *tile, uint8_t color, uint8_t from,
                         uint8_t to)
{
  if (from != to)
    ref_event(engine, tile, (TraceEvent){.kind = EV_SWITCH, .color = color, .old_position = from,
                                         .new_position = to});
}

/* Carries out the wavelet's first command at this router and returns the payload that goes on:
 * the outputs were chosen before, so the order is route, command, pop (docs/cycle-model.md). */
static uint32_t execute_command(RefEngine *engine, RefTile *tile, ColorState *state,
                                const Wavelet *w)
{
  const ImageColorConfig *config = state->config;
  SwitchCommand command = control_command(w->payload, 0).command;
  uint8_t before = state->tx_position;
  state->rx_position = commanded(config, state->rx_position, command);
  state->tx_position = commanded(config, before, command);
  bool changed = state->tx_position != before;
  if (command == CMD_TEARDOWN) {
    unsigned id = engine->program->machine->teardown_task;
    state->suspended = true;
    tile->torn_down |= 1u << w->color;
    if (tile->cls && (tile->cls->local_ids >> id & 1)) {
      tile->active |= UINT64_C(1) << id;
      ref_event(engine, tile, (TraceEvent){.kind = EV_ACTIVATE, .id_kind = ID_TASK,
                                           .id = (uint8_t)id});
    }
  }
  bool pop = config->pop == POP_ALWAYS ||
             (config->pop == POP_ON_ADVANCE && changed) ||
             (config->pop == POP_ON_ADVANCE_NOP && (changed || command == CMD_NOP));
  return pop ? control_pop(w->payload) : w->payload;
}

static void deliver(RefEngine *engine, const RefTile *tile, Wavelet w, PortMask to)
{
  for (unsigned p = 0; p < PORT_RAMP; p++) {
    if (!(to >> p & 1))
      continue;
    Port enters = port_opposite((Port)p);
    uint32_t next = program_neighbour(engine->program, tile->index, (Port)p);
    if (next == NO_TILE) {
      ref_fault(engine, (Fault){.cycle = engine->cycle, .tile = tile->index, .color = w.color,
                                .pc = PC_RETURN, .kind = FAULT_LEAVES_FABRIC, .value = p,
                                .value2 = w.from});
      continue;
    }
    uint8_t inside = program_color_inside(engine->program, next, w.color, enters);
    ColorState *state = ref_tile(engine, next)->colors[inside];
    Wavelet arriving = w;
    arriving.color = inside;
    arriving.from = enters;
    arriving.visible = engine->cycle + engine->program->timing.hop;
    if (state->arrivals == 0)
      arrput(engine->arrivals, ((RefArrival){next, inside}));
    state->arrivals |= port_bit(enters);
    state->arriving[enters] = arriving;
    engine->stats.wavelet_hops++;
  }
}

void ref_input_push(RefEngine *engine, RefTile *tile, unsigned queue, Wavelet w)
{
  w.visible = engine->cycle + engine->program->timing.ramp_down;
  w.from = PORT_RAMP;
  ring_push(&tile->input[queue], w);
  tile->wavelets_seen++;
  ref_event(engine, tile, (TraceEvent){.kind = EV_PUSH, .queue = (uint8_t)queue,
                                       .color = w.color, .payload = w.payload,
                                       .control = w.control});
}

static void commit_move(RefEngine *engine, RefTile *tile, PlannedMove move)
{
  ColorState *state = tile->colors[move.color];
  Wavelet w = ring_pop(&state->slots);
  uint8_t before = state->tx_position;
  Port from = w.from;
  if (move.counted)
    filter_step(state);
  if (w.control)
    w.payload = execute_command(engine, tile, state, &w);
  ref_event(engine, tile, (TraceEvent){.kind = EV_WAVELET, .color = w.color, .from = from,
                                       .to = move.to, .payload = w.payload,
                                       .control = w.control});
  switch_event(engine, tile, w.color, before, state->tx_position);
  if (w.advance)
    state->tx_position = advanced(state->config, state->tx_position);
  w.advance = false;
  deliver(engine, tile, w, move.to);
  if (move.to & port_bit(PORT_RAMP))
    ref_input_push(engine, tile, data_queue(tile, w.color), w);
}

static Wavelet pop_output(RefEngine *engine, RefTile *tile, unsigned queue)
{
  Wavelet w = ring_pop(&tile->output[queue]);
  ref_event(engine, tile, (TraceEvent){.kind = EV_POP, .output = true, .queue = (uint8_t)queue,
                                       .color = w.color, .payload = w.payload,
                                       .control = w.control});
  return w;
}

/* The head of an output queue enters the router.  `advance` acts on the receive side now, so
 * that the next sender follows without a gap, and on the transmit side when the wavelet leaves. */
static void commit_ramp(RefEngine *engine, RefTile *tile, unsigned queue)
{
  Wavelet w = pop_output(engine, tile, queue);
  w.color = program_color_inside(engine->program, tile->index, w.color, PORT_RAMP);
  w.from = PORT_RAMP;
  w.visible = engine->cycle + engine->program->timing.hop;
  ColorState *state = tile->colors[w.color];
  if (w.advance) {
    uint8_t before = state->rx_position;
    state->rx_position = advanced(state->config, before);
    switch_event(engine, tile, w.color, before, state->rx_position);
  }
  if (state->arrivals == 0)
    arrput(engine->arrivals, ((RefArrival){tile->index, w.color}));
  state->arrivals |= port_bit(PORT_RAMP);
  state->arriving[PORT_RAMP] = w;
  tile->last_ramp_queue = (uint8_t)queue;
  engine->stats.wavelets++;
}

static void commit_host(RefEngine *engine, RefTile *tile)
{
  const RefPlan *plan = &tile->plan;
  if (plan->host_in) {
    uint8_t color = plan->host_in->color;
    uint32_t word = plan->host_in->words[plan->host_in->at++].word;
    ref_event(engine, tile, (TraceEvent){.kind = EV_HOST_IN, .color = color, .payload = word});
    ref_input_push(engine, tile, data_queue(tile, color),
                   (Wavelet){.payload = word, .color = color});
    tile->changed = true;
  }
  if (plan->host_out) {
    Wavelet w = pop_output(engine, tile, plan->host_queue);
    ref_event(engine, tile, (TraceEvent){.kind = EV_HOST_OUT, .color = w.color,
                                         .queue = (uint8_t)plan->host_queue,
                                         .payload = w.payload});
    arrput(tile->sent, ((HostWord){engine->cycle, w.payload, w.color}));
    tile->changed = true;
  }
}

/* ---- registers ------------------------------------------------------------------------------ */

static RouterNow router_now(const ColorState *state)
{
  return (RouterNow){state->rx_position, state->suspended, state->counter, state->limit1};
}

static ColorState *register_owner(const RefTile *tile, uint16_t address)
{
  uint16_t base = config_reg_at(address)->address;
  ColorState *state = tile->colors[address - base];
  return router_config_has(base, state ? state->config : NULL) ? state : NULL;
}

bool ref_router_read(const RefTile *tile, uint16_t address, uint16_t *value)
{
  const ColorState *state = register_owner(tile, address);
  if (!state)
    return false;
  *value = router_config_read(config_reg_at(address)->address, state->config, state->own,
                              router_now(state));
  return true;
}

bool ref_router_write(RefTile *tile, uint16_t address, uint16_t value)
{
  if (!register_owner(tile, address))
    return false;
  tile->router_written = true;
  tile->router_address = address;
  tile->router_value = value;
  return true;
}

/* Behind everything else of the cycle, which still goes by the old configuration. */
static void commit_registers(RefTile *tile)
{
  uint16_t base = config_reg_at(tile->router_address)->address;
  ColorState *state = tile->colors[tile->router_address - base];
  RouterNow now = router_now(state);
  if (!state->own) {
    state->own = base_malloc(sizeof *state->own);
    router_config_copy(state->own, state->config);
    state->config = &state->own->config;
  }
  router_config_write(base, tile->router_value, state->own, &now);
  state->suspended = now.suspended;
  state->counter = now.counter;
  state->limit1 = now.limit;
  if (base == CFG_COLOR_SWITCH)
    state->rx_position = state->tx_position = now.position;
  tile->router_written = false;
  tile->router_changed = true;
}

void ref_router_commit(RefEngine *engine, RefTile *tile)
{
  const RefPlan *plan = &tile->plan;
  for (unsigned i = 0; i < plan->n_moves; i++)
    commit_move(engine, tile, plan->moves[i]);
  if (plan->n_moves)
    tile->first_color = plan->moves[0].color;
  if (plan->ramp_queue != NO_QUEUE)
    commit_ramp(engine, tile, plan->ramp_queue);
  if (plan->n_moves || plan->ramp_queue != NO_QUEUE)
    tile->router_changed = true;
  commit_host(engine, tile);
  if (tile->router_written)
    commit_registers(tile);
}

/* Takes in what all senders have put aside.  Two wavelets of one color at once are a hazard:
 * the machine's behaviour is undefined then.  With --check=off both are kept, in port order. */
void ref_router_arrivals(RefEngine *engine)
{
  for (size_t i = 0; i < arrlenu(engine->arrivals); i++) {
    RefTile *tile = ref_tile(engine, engine->arrivals[i].tile);
    ColorState *state = tile->colors[engine->arrivals[i].color];
    PortMask arrivals = state->arrivals;
    for (unsigned p = 0; p < PORT_COUNT; p++)
      if (arrivals >> p & 1)
        ring_push(&state->slots, state->arriving[p]);
    if (arrivals & (arrivals - 1))
      ref_fault(engine, (Fault){.kind = FAULT_COLOR_MEETS, .cycle = engine->cycle,
                                .tile = tile->index, .color = engine->arrivals[i].color,
                                .pc = PC_RETURN, .value = arrivals});
    state->arrivals = 0;
    tile->router_changed = true;
    ref_wake(engine, tile->index, engine->cycle + 1);
  }
  arrsetlen(engine->arrivals, 0);
}
