/* Fast engine, one step: the router and the host port.  A template, see engine_fast_step.h. */

enum { INDEX_SHIFT = 16 };

/* Before the first change of a cycle: what others may still look at. */
static inline void color_save(const Visit *v, FastColor *c)
{
  if (c->stamp == (uint32_t)v->now)
    return;
  c->stamp = (uint32_t)v->now;
  c->count0 = c->count;
  c->rx0 = c->rx;
  c->arrivals = 0;
}

static inline unsigned count_at_start(const Visit *v, const FastColor *c)
{
  return c->stamp == (uint32_t)v->now ? c->count0 : c->count;
}

static inline bool color_accepts(const Visit *v, const FastColor *c, PortMask enters)
{
  bool saved = c->stamp == (uint32_t)v->now;
  return (saved ? c->count0 : c->count) < v->engine->router_slots &&
         ((saved ? c->rx0 : c->rx) & enters);
}

/* ---- slots ------------------------------------------------------------------------------ */

/* More than two wavelets in a color's slots: only after a hazard that the user ignores. */
static void spill_push(Visit *v, uint32_t tile, uint8_t color, FastColor *c, FastWavelet w)
{
  arrput(v->engine->spills, ((FastSpill){tile, color, w}));
  c->spilled++;
}

static FastWavelet spill_pop(Visit *v, uint32_t tile, uint8_t color, FastColor *c)
{
  FastSpill *spills = v->engine->spills;
  for (size_t i = 0; i < arrlenu(spills); i++) {
    if (spills[i].tile == tile && spills[i].color == color) {
      FastWavelet w = spills[i].wavelet;
      arrdel(v->engine->spills, i);
      c->spilled--;
      return w;
    }
  }
  ICE("a wavelet that was put aside is lost");
}

/* Puts a wavelet into the slots of a color, of this tile or of a neighbour. */
static inline void slot_push(Visit *v, FastTile *t, FastColor *c, uint8_t color, FastWavelet w,
                             unsigned enters)
{
  color_save(v, c);
  if (c->arrivals)
    arrput(v->engine->meetings,
           ((FastMeeting){t->index, (uint8_t)(c - t->colors), color}));
  c->arrivals |= (PortMask)(1u << enters);
  w.meta = wavelet_meta(v->now + v->engine->timing->hop, enters,
                        w.meta & (META_CONTROL | META_ADVANCE));
  if (c->count < FAST_SLOTS)
    c->w[(c->head + c->count) % FAST_SLOTS] = w;
  else
    spill_push(v, t->index, color, c, w);
  c->count++;
  t->occupied |= 1u << color;
}

static inline FastWavelet slot_pop(Visit *v, FastTile *t, uint8_t color, FastColor *c)
{
  color_save(v, c);
  FastWavelet w = c->w[c->head];
  c->head ^= 1;
  c->count--;
  if (c->spilled)
    c->w[(c->head + 1) % FAST_SLOTS] = spill_pop(v, t->index, color, c);
  if (c->count == 0)
    t->occupied &= ~(1u << color);
  return w;
}

/* ---- positions and filters -------------------------------------------------------------- */

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

/* New positions: the masks follow, and whoever waits at this router looks again. */
static void set_positions(Visit *v, FastColor *c, const ImageColorConfig *config, uint8_t rx,
                          uint8_t tx)
{
  color_save(v, c);
  c->rx_position = rx & (MAX_SWITCH_POSITIONS - 1);
  c->tx_position = tx & (MAX_SWITCH_POSITIONS - 1);
  c->flags &= COLOR_SUSPENDED | COLOR_FILTERED;      /* the new outputs are to be checked */
  c->rx = c->flags & COLOR_SUSPENDED ? 0 : config->positions[rx].rx;
  c->tx = config->positions[tx].tx;
  v->wake_all = true;
}

static bool filter_passes(const FastFilter *now, const ImageFilter *filter, const FastWavelet *w)
{
  bool control = w->meta & META_CONTROL;
  unsigned index = w->payload >> INDEX_SHIFT;
  switch (filter->kind) {
  case FILTER_COUNTER: case FILTER_SPARSE:
    if (now->off)
      return true;
    if (filter->filter_control)
      return control && now->counter == filter->max_counter;
    return now->counter <= filter->max_counter;
  case FILTER_RANGE:
    return control || (index >= filter->limit1 && index <= filter->max_counter);
  case FILTER_NONE: default:
    return true;
  }
}

static FastFilter *fast_filter(const FastTile *t, unsigned color)
{
  return &t->filters[t->set->slot_of[color]];
}

static bool filter_counts(const ImageFilter *filter, const FastWavelet *w)
{
  if (filter->kind != FILTER_COUNTER && filter->kind != FILTER_SPARSE)
    return false;
  return w->meta & META_CONTROL ? filter->count_control : filter->count_data;
}

static void filter_step(FastFilter *now, const ImageFilter *filter)
{
  if (now->counter != now->limit1) {
    now->counter++;
    return;
  }
  now->counter = 0;
  if (filter->kind != FILTER_SPARSE)
    return;
  if (filter->has_limit2 && !now->limit2_used) {
    now->limit1 = filter->limit2;
    now->limit2_used = true;
  } else {
    now->off = true;
  }
}

/* ---- plan ------------------------------------------------------------------------------- */

/* Input queues are judged by their count at the start of the cycle. */
static bool ramp_accepts(const Visit *v, unsigned color)
{
  const FastTile *t = v->tile;
  unsigned queue = t->cls ? registers_data_queue(&t->registers, t->cls->image, color) : NO_QUEUE;
  return queue < MAX_QUEUES &&
         t->input[queue].count + v->popped[queue] < v->engine->input_capacity[queue];
}

/* Checks outputs that no wavelet of this color has taken yet.  False: a route into nowhere. */
static bool ports_exist(Visit *v, FastColor *c, uint8_t color, PortMask ports)
{
  for (unsigned p = 0; p < PORT_RAMP; p++) {
    if (!(ports >> p & 1) || c->next[p] != NO_SLOT)
      continue;
    uint32_t next = fast_neighbour(v->engine, v->tile->index, (Port)p);
    Port enters = (Port)fast_opposite(p);
    Fault fault = {.cycle = v->now, .tile = v->tile->index, .color = color, .pc = PC_RETURN,
                   .kind = FAULT_LEAVES_FABRIC, .value = p};
    if (next != (uint32_t)NO_TILE) {
      const FastSet *set = &v->engine->sets[v->engine->program->image->tile_colors[next]];
      uint8_t inside = fast_color_inside(v->engine, next, color, enters);
      c->next[p] = set->slot_of[inside];
      if (c->next[p] != NO_SLOT)
        continue;
      fault.kind = FAULT_NO_COLOR_CONFIG;
      fault.tile = next;
      fault.color = inside;
      fault.value = enters;
    }
    arrput(v->engine->new_faults, fault);
    return false;
  }
  return true;
}

/* A router that was never touched is as loaded. */
static bool untouched_accepts(const Visit *v, const FastTile *t, unsigned slot, PortMask enters)
{
  const Image *image = v->engine->program->image;
  const FastSet *set = &v->engine->sets[image->tile_colors[t - v->engine->tiles]];
  const ImageColorConfig *config = set->config[slot];
  return !config->teardown && (config->positions[config->current].rx & enters);
}

static inline bool ports_accept(const Visit *v, const FastColor *c, uint8_t color, PortMask to)
{
  for (unsigned bits = to & (port_bit(PORT_RAMP) - 1u); bits; bits &= bits - 1) {
    unsigned p = (unsigned)__builtin_ctz(bits);
    const FastTile *next = fast_beside(v->engine, v->tile, p);
    PortMask enters = (PortMask)(1u << fast_opposite(p));
    if (next->set ? !color_accepts(v, &next->colors[c->next[p]], enters)
                  : !untouched_accepts(v, next, c->next[p], enters))
      return false;
  }
  return !(to & port_bit(PORT_RAMP)) || ramp_accepts(v, color);
}

static inline PortMask outputs(const Visit *v, const FastColor *c, uint8_t color,
                               const FastWavelet *w, bool *counted)
{
  PortMask to = c->tx;
  *counted = false;
  if ((w->meta & META_CONTROL) && control_command(w->payload, 0).ce_ignore)
    to &= (PortMask)~port_bit(PORT_RAMP);
  if ((c->flags & COLOR_FILTERED) && (to & port_bit(PORT_RAMP))) {
    const ImageFilter *filter = &fast_config(v->tile, color)->filter;
    *counted = filter_counts(filter, w);
    if (!filter_passes(fast_filter(v->tile, color), filter, w))
      to &= (PortMask)~port_bit(PORT_RAMP);
  }
  return to;
}

static inline void plan_color(Visit *v, uint8_t color)
{
  FastColor *c = fast_color(v->tile, color);
  const FastWavelet *w = &c->w[c->head];
  bool counted;
  if ((c->flags & COLOR_SUSPENDED) || count_at_start(v, c) == 0 ||
      !wavelet_seen(w->meta, v->now) || c->tx == 0)
    return;
  PortMask to = outputs(v, c, color, w, &counted);
  if (!(c->flags & COLOR_ROUTED)) {
    if (!ports_exist(v, c, color, to))
      return;
    if (to == c->tx)                /* else the ramp alone was missing, or this wavelet is odd */
      c->flags |= COLOR_ROUTED;
  }
  if ((to & v->claimed) || !ports_accept(v, c, color, to))
    return;
  v->claimed |= to;
  v->moves[v->n_moves++] = (Move){c, color, to, counted};
}

/* Colors are visited cyclically from the one after the color served first in the last cycle
 * with a move; a color moves if all its ports are free and have room. */
static inline void plan_moves(Visit *v)
{
  unsigned first = v->tile->first_color + 1u;      /* 1 to 24 */
  uint32_t occupied = v->tile->occupied;
  uint32_t turned = (occupied >> first | occupied << (MAX_COLORS - first)) &
                    ((1u << MAX_COLORS) - 1);
  for (; turned; turned &= turned - 1) {
    unsigned color = first + (unsigned)__builtin_ctz(turned);
    plan_color(v, (uint8_t)(color < MAX_COLORS ? color : color - MAX_COLORS));
  }
}

static bool is_host_color(const Visit *v, unsigned color)
{
  return v->engine->program->host_out_colors >> color & 1;
}

static inline void plan_ramp_queue(Visit *v, unsigned queue)
{
  const FastTile *t = v->tile;
  const FastWavelet *w = queue_at(&t->output[queue], 0);
  uint8_t inside = wavelet_field(w->meta);
  if (!wavelet_seen(w->meta, v->now))
    return;
  if (is_host_color(v, inside)) {
    v->host_head = true;
    return;
  }
  if (t->set->swaps)
    inside = fast_color_inside(v->engine, t->index, inside, PORT_RAMP);
  FastColor *c = fast_color(t, inside);
  if (!c) {
    arrput(v->engine->new_faults,
           ((Fault){.kind = FAULT_NO_COLOR_CONFIG, .cycle = v->now, .tile = t->index,
                    .color = inside, .pc = PC_RETURN, .value = PORT_RAMP}));
    return;
  }
  if (v->ramp_queue == NO_QUEUE && color_accepts(v, c, port_bit(PORT_RAMP))) {
    v->ramp_queue = (uint8_t)queue;
    v->ramp_color = inside;
    v->ramp_slots = c;
  }
}

/* The ramp is one port: round robin over the heads of the output queues. */
static inline void plan_ramp(Visit *v)
{
  unsigned first = v->tile->last_ramp_queue + 1u, any = v->tile->output_any;   /* 1 to 8 */
  unsigned turned = (any >> first | any << (MAX_QUEUES - first)) & ((1u << MAX_QUEUES) - 1);
  for (; turned; turned &= turned - 1)
    plan_ramp_queue(v, (first + (unsigned)__builtin_ctz(turned)) % MAX_QUEUES);
}

static void plan_host_in(Visit *v)
{
  const FastHost *host = v->tile->host;
  if (host->posted_at == arrlenu(host->posted))
    return;
  const FastHostWord *word = &host->posted[host->posted_at];
  v->host_in = word->cycle <= v->now && ramp_accepts(v, word->color);
}

/* ---- commit ----------------------------------------------------------------------------- */

static void switch_event(Visit *v, uint8_t color, uint8_t from, uint8_t to)
{
  if (from != to)
    EVENT(v, .kind = EV_SWITCH, .color = color, .old_position = from, .new_position = to);
}

static void tear_down(Visit *v, FastColor *c, uint8_t color)
{
  FastTile *t = v->tile;
  unsigned id = v->engine->program->machine->teardown_task;
  c->flags |= COLOR_SUSPENDED;
  t->torn_down |= 1u << color;
  if (!t->cls || !bit(t->cls->local_ids, id))
    return;
  t->active |= UINT64_C(1) << id;
  EVENT(v, .kind = EV_ACTIVATE, .id_kind = ID_TASK, .id = (uint8_t)id);
}

/* Carries out the wavelet's first command at this router and returns the payload that goes on:
 * outputs were chosen before, so the order is the one of the language reference, H.2. */
static uint32_t execute_command(Visit *v, FastColor *c, uint8_t color, uint32_t payload)
{
  const ImageColorConfig *config = fast_config(v->tile, color);
  SwitchCommand command = control_command(payload, 0).command;
  uint8_t before_tx = c->tx_position;
  uint8_t rx = commanded(config, c->rx_position, command);
  uint8_t tx = commanded(config, before_tx, command);
  bool changed = tx != before_tx;
  if (command == CMD_TEARDOWN)
    tear_down(v, c, color);
  if (command != CMD_NOP)
    set_positions(v, c, config, rx, tx);
  bool pop = config->pop == POP_ALWAYS || (config->pop == POP_ON_ADVANCE && changed) ||
             (config->pop == POP_ON_ADVANCE_NOP && (changed || command == CMD_NOP));
  return pop ? control_pop(payload) : payload;
}

static inline void deliver(Visit *v, const FastColor *c, uint8_t color, FastWavelet w, PortMask to)
{
  FastEngine *e = v->engine;
  for (unsigned bits = to & (port_bit(PORT_RAMP) - 1u); bits; bits &= bits - 1) {
    unsigned p = (unsigned)__builtin_ctz(bits), slot = c->next[p];
    FastTile *next = fast_beside(e, v->tile, p);
    if (!next->set)
      fast_touch(e, (uint32_t)(next - e->tiles));
    slot_push(v, next, &next->colors[slot], e->swaps ? next->set->color_of[slot] : color, w,
              fast_opposite(p));
    fast_wake_next(e, next->index);
    e->stats.wavelet_hops++;
  }
}

/* Pushes into an input queue; the wavelet becomes visible after the ramp. */
static void input_push(Visit *v, uint8_t color, FastWavelet w)
{
  FastTile *t = v->tile;
  unsigned queue = registers_data_queue(&t->registers, t->cls->image, color);
  FastQueue *q = &t->input[queue];
  if (!q->at)
    fast_queue_create(v->engine, q, v->engine->input_capacity[queue]);
  if (q->count > q->mask)
    ICE("an input queue overflows");
  q->count++;
  *queue_at(q, q->count - 1u) = (FastWavelet){
    w.payload, wavelet_meta(v->now + v->engine->timing->ramp_down, color, w.meta & META_CONTROL)};
  t->input_any |= (uint8_t)(1u << queue);
  if (w.meta & META_CONTROL)
    t->input_control |= (uint8_t)(1u << queue);
  t->wavelets_seen++;
  EVENT(v, .kind = EV_PUSH, .queue = (uint8_t)queue, .color = color, .payload = w.payload,
        .control = (w.meta & META_CONTROL) != 0);
}

/* A slot of a full color becomes free: whoever may send there looks again. */
static void wake_senders(Visit *v, const FastColor *c)
{
  unsigned ports = c->count0 >= v->engine->router_slots ? (unsigned)(c->rx0 | c->rx) : 0;
  v->wake_ports |= (PortMask)ports;
}

static void commit_move(Visit *v, Move move)
{
  FastTile *t = v->tile;
  FastColor *c = move.slots;
  FastWavelet w = slot_pop(v, t, move.color, c);
  uint8_t before_tx = c->tx_position;
  wake_senders(v, c);
  if (move.counted)
    filter_step(fast_filter(t, move.color), &fast_config(t, move.color)->filter);
  if (w.meta & META_CONTROL)
    w.payload = execute_command(v, c, move.color, w.payload);
  EVENT(v, .kind = EV_WAVELET, .color = move.color, .from = (Port)wavelet_field(w.meta),
        .to = move.to, .payload = w.payload, .control = (w.meta & META_CONTROL) != 0);
  switch_event(v, move.color, before_tx, c->tx_position);
  if (w.meta & META_ADVANCE) {
    const ImageColorConfig *config = fast_config(t, move.color);
    set_positions(v, c, config, c->rx_position, advanced(config, c->tx_position));
  }
  w.meta &= (uint32_t)~META_ADVANCE;
  deliver(v, c, move.color, w, move.to);
  if (move.to & port_bit(PORT_RAMP))
    input_push(v, move.color, w);
}

/* The head of an output queue enters the router.  `advance` acts on the receive side now, so
 * that the next sender follows without a gap, and on the transmit side when the wavelet leaves. */
static void commit_ramp(Visit *v)
{
  FastTile *t = v->tile;
  unsigned queue = v->ramp_queue;
  FastQueue *q = &t->output[queue];
  FastWavelet w = *queue_at(q, 0);
  q->head++;
  if (--q->count == 0)
    t->output_any &= (uint8_t)~(1u << queue);
  EVENT(v, .kind = EV_POP, .output = true, .queue = (uint8_t)queue,
        .color = wavelet_field(w.meta), .payload = w.payload,
        .control = (w.meta & META_CONTROL) != 0);
  FastColor *c = v->ramp_slots;
  if (w.meta & META_ADVANCE) {
    const ImageColorConfig *config = fast_config(t, v->ramp_color);
    uint8_t before_rx = c->rx_position;
    set_positions(v, c, config, advanced(config, before_rx), c->tx_position);
    switch_event(v, v->ramp_color, before_rx, c->rx_position);
  }
  slot_push(v, t, c, v->ramp_color, w, PORT_RAMP);
  t->last_ramp_queue = (uint8_t)queue;
  v->engine->stats.wavelets++;
}

static void commit_host_in(Visit *v)
{
  FastHost *host = v->tile->host;
  FastHostWord word = host->posted[host->posted_at++];
  EVENT(v, .kind = EV_HOST_IN, .color = word.color, .payload = word.word);
  input_push(v, word.color, (FastWavelet){word.word, 0});
  v->changed = true;
}

/* The channel takes from waiting tiles when it is free: fast_serve_channels. */
static void wait_for_host(Visit *v)
{
  FastEngine *e = v->engine;
  uint32_t tile = v->tile->index;
  uint64_t *word = &e->host_waiting[tile / WORD_BITS], mask = UINT64_C(1) << tile % WORD_BITS;
  if (*word & mask)
    return;
  *word |= mask;
  e->n_host_waiting++;
  e->channels[program_channel(e->program, tile)].waiting++;
}

/* ---- registers --------------------------------------------------------------------------- */

static RouterNow router_now(const FastTile *t, unsigned slot)
{
  const FastColor *c = &t->colors[slot];
  RouterNow now = {.position = c->rx_position, .suspended = (c->flags & COLOR_SUSPENDED) != 0};
  if (c->flags & COLOR_FILTERED) {
    now.counter = t->filters[slot].counter;
    now.limit = t->filters[slot].limit1;
  }
  return now;
}

static bool router_has(const FastTile *t, uint16_t base, unsigned color)
{
  return router_config_has(base, fast_color(t, color) ? fast_config(t, color) : NULL);
}

static bool router_read(const Visit *v, uint16_t address, uint16_t *value)
{
  const FastTile *t = v->tile;
  uint16_t base = config_reg_at(address)->address;
  unsigned color = address - base, slot = t->set->slot_of[color];
  if (!router_has(t, base, color))
    return false;
  const RouterConfig *own = t->own ? t->own[slot] : NULL;
  *value = router_config_read(base, fast_config(t, color), own, router_now(t, slot));
  return true;
}

static bool router_write(Visit *v, uint16_t address, uint16_t value)
{
  uint16_t base = config_reg_at(address)->address;
  if (!router_has(v->tile, base, address - base))
    return false;
  v->router_register = address;
  v->router_value = value;
  return true;
}

static RouterConfig *own_config(Visit *v, unsigned slot)
{
  FastTile *t = v->tile;
  if (!t->own)
    t->own = fast_alloc(v->engine, t->set->n * sizeof *t->own, sizeof *t->own);
  if (!t->own[slot]) {
    t->own[slot] = fast_alloc(v->engine, sizeof **t->own, _Alignof(RouterConfig));
    router_config_copy(t->own[slot], t->set->config[slot]);
  }
  return t->own[slot];
}

/* Behind everything else of the cycle, which still goes by the old configuration. */
static void commit_register(Visit *v)
{
  uint16_t base = config_reg_at(v->router_register)->address;
  unsigned slot = v->tile->set->slot_of[v->router_register - base];
  FastColor *c = &v->tile->colors[slot];
  RouterConfig *own = own_config(v, slot);
  RouterNow now = router_now(v->tile, slot);
  uint8_t tx = c->tx_position;
  router_config_write(base, v->router_value, own, &now);
  if (base == CFG_COLOR_SWITCH)
    tx = now.position;
  color_save(v, c);
  if (c->flags & COLOR_FILTERED) {
    v->tile->filters[slot].counter = now.counter;
    v->tile->filters[slot].limit1 = now.limit;
  }
  c->flags = (c->flags & COLOR_FILTERED) | (now.suspended ? COLOR_SUSPENDED : 0u);
  set_positions(v, c, &own->config, now.position, tx);
}

static void visit_router(Visit *v)
{
  FastTile *t = v->tile;
  if (t->occupied)
    plan_moves(v);
  if (t->output_any)
    plan_ramp(v);
  if (t->host)
    plan_host_in(v);
  for (unsigned i = 0; i < v->n_moves; i++)
    commit_move(v, v->moves[i]);
  if (v->n_moves)
    t->first_color = v->moves[0].color;
  if (v->ramp_queue != NO_QUEUE)
    commit_ramp(v);
  if (v->n_moves || v->ramp_queue != NO_QUEUE)
    v->changed = true;
  if (v->host_in)
    commit_host_in(v);
  if (v->host_head)
    wait_for_host(v);
}
