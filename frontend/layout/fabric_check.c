/* Follows colors over the grid of a finished layout and reports what cannot work.
 *
 * A layout has few different tiles: tiles that agree with their neighbours in class and color
 * configurations have the same mistakes, so the search visits one of them. From there it follows
 * the routes, tile by tile, while they are certain.
 *
 * Two readings of a route keep the reports honest. `always` is what every switch position lets
 * through: the search follows it to show that wavelets do arrive. `ever` is what some position lets
 * through: the search follows it to show that they do not. */
#include "frontend/layout/fabric_check.h"

#include <stb_ds.h>
#include <string.h>

enum { BUFFERED_WAVELETS = 8 };

/* ---- tiles and routes ------------------------------------------------------------------------ */

static const FabricUses no_uses;

const FabricUses *fabric_uses_at(const FabricCheck *c, uint32_t tile)
{
  uint32_t class = c->programs->tile_class[tile];
  return class == IMAGE_NO_CLASS ? &no_uses : c->programs->classes[class].fabric;
}

RouteState fabric_route_at(const FabricCheck *c, uint32_t tile, unsigned color, const Route **route)
{
  const ImageColorSet *set = &c->sets[c->l->tile_sets[tile]];
  if (fabric_uses_at(c, tile)->reroutes >> color & 1)
    return ROUTE_OPEN;
  for (uint32_t i = 0; i < set->n; i++)
    if (set->uses[i].color == color) {
      *route = &c->routes[set->uses[i].config];
      return (*route)->ever_rx || (*route)->ever_tx ? ROUTE_KNOWN : ROUTE_OPEN;
    }
  return ROUTE_NONE;
}

bool fabric_neighbour_at(const FabricCheck *c, uint32_t tile, Port port, uint32_t *other)
{
  uint32_t x = tile % c->l->width, y = tile / c->l->width;
  switch (port) {
  case PORT_NORTH: *other = tile - c->l->width; return y > 0;
  case PORT_SOUTH: *other = tile + c->l->width; return y + 1 < c->l->height;
  case PORT_EAST: *other = tile + 1; return x + 1 < c->l->width;
  case PORT_WEST: *other = tile - 1; return x > 0;
  case PORT_RAMP: case PORT_COUNT: break;
  }
  return false;
}

static Route read_route(const ImageColorConfig *config)
{
  Route r = {.always_rx = 0xff, .always_tx = 0xff,
             .has_filter = config->filter.kind != FILTER_NONE};
  unsigned n = 0;
  for (unsigned k = 0; k < MAX_SWITCH_POSITIONS; k++) {
    const ImagePosition *p = &config->positions[k];
    if (!p->valid)
      continue;
    r.always_rx &= p->rx;
    r.always_tx &= p->tx;
    r.ever_rx |= p->rx;
    r.ever_tx |= p->tx;
    n++;
  }
  r.is_fixed = n == 1;
  if (config->teardown)            /* it gets its routes later */
    r = (Route){0};
  return r;
}

/* The two colors that a swap changes into each other (SDK docs, advanced hardware features). */
static uint32_t swapped_pair(const ImageColorConfig *config, uint8_t color)
{
  return config->swap_x || config->swap_y ? 1u << color | 1u << (color ^ 1) : 0;
}

/* Colors that change into others on their way are left alone. */
static void read_routes(FabricCheck *c)
{
  uint32_t n, n_sets;
  const ImageColorConfig *configs = color_table_configs(c->l->colors, &n);
  c->sets = color_table_sets(c->l->colors, c->arena, &n_sets);
  c->routes = arena_many(c->arena, Route, n + 1);
  for (uint32_t i = 0; i < n; i++)
    c->routes[i] = read_route(&configs[i]);
  for (uint32_t i = 0; i < n_sets; i++)
    for (uint32_t k = 0; k < c->sets[i].n; k++) {
      uint8_t color = c->sets[i].uses[k].color;
      c->routed |= 1u << color;
      c->left_alone |= swapped_pair(&configs[c->sets[i].uses[k].config], color);
    }
}

const char *fabric_tile_text(const FabricCheck *c, uint32_t tile)
{
  return arena_printf(c->arena, "(%d, %d)", (int)(tile % c->l->width) - (int)c->l->origin_x,
                      (int)(tile / c->l->width) - (int)c->l->origin_y);
}

Span fabric_route_span(const FabricCheck *c, uint32_t tile, unsigned color)
{
  Span span = color_set_span(c->l->colors, c->l->tile_sets[tile], (uint8_t)color);
  return span.off ? span : c->l->tiles[tile].span;
}

/* ---- searches -------------------------------------------------------------------------------- */

void search_start(FabricCheck *c, uint32_t tile)
{
  c->stamp++;
  arrsetlen(c->stack, 0);
  c->stamps[tile] = c->stamp;
  arrput(c->stack, tile);
}

bool search_visit(FabricCheck *c, uint32_t tile)
{
  if (c->stamps[tile] == c->stamp)
    return false;
  c->stamps[tile] = c->stamp;
  arrput(c->stack, tile);
  return true;
}

bool search_next(FabricCheck *c, uint32_t *tile)
{
  if (arrlenu(c->stack) == 0 || ++c->steps > MOST_STEPS)
    return false;
  *tile = arrpop(c->stack);
  return true;
}

const FabricUse *fabric_sending_use(const FabricUses *uses, unsigned color)
{
  const FabricUse *found = NULL;
  for (uint32_t i = 0; i < uses->n; i++) {
    const FabricUse *use = &uses->uses[i];
    if (use->is_send && use->color == color && use->least > 0 && (!found || use->is_certain))
      found = use;
  }
  return found;
}

/* An operation whose wavelets come to the tile through one of `ports` in every position of the
 * switches; use NULL: none is known. */
static Sender find_sender(FabricCheck *c, uint32_t tile, unsigned color, PortMask ports)
{
  Sender found = {NULL, 0};
  search_start(c, tile);
  for (bool is_first = true; search_next(c, &tile); is_first = false) {
    const Route *route;
    if (!is_first && fabric_route_at(c, tile, color, &route) != ROUTE_KNOWN)
      continue;
    PortMask rx = is_first ? ports : route->always_rx;
    const FabricUse *use = fabric_sending_use(fabric_uses_at(c, tile), color);
    bool is_better = use && (!found.use || (use->is_certain && !found.use->is_certain));
    if (rx & port_bit(PORT_RAMP) && is_better)
      found = (Sender){use, tile};
    for (Port p = PORT_NORTH; p < PORT_RAMP; p++) {
      uint32_t from;
      const Route *other;
      if (rx & port_bit(p) && fabric_neighbour_at(c, tile, p, &from) &&
          fabric_route_at(c, from, color, &other) == ROUTE_KNOWN &&
          other->always_tx & port_bit(port_opposite(p)))
        search_visit(c, from);
    }
  }
  return found;
}

/* ---- reports --------------------------------------------------------------------------------- */

bool fabric_may_tell(FabricCheck *c, Rule rule, unsigned color, Span at)
{
  bool is_new = !(c->told[rule] >> color & 1);
  c->told[rule] |= 1u << color;
  for (size_t i = 0; is_new && i < arrlenu(c->told_at); i++)
    is_new = c->told_at[i].rule != rule || c->told_at[i].at.off != at.off;
  Told told = {rule, at};
  if (is_new)
    arrput(c->told_at, told);
  return is_new;
}

void fabric_raise_if_certain(const FabricCheck *c, bool is_certain)
{
  if (is_certain && !c->session->options->fabric_warnings)
    diags_raise(c->session->diags);
}

void fabric_note_sender(const FabricCheck *c, const Sender *sender)
{
  diag_sent_here(c->session->diags, sender->use->span, fabric_tile_text(c, sender->tile));
}

/* ---- an operation and the route of its own tile ---------------------------------------------- */

bool fabric_is_of_script(const FabricCheck *c)
{
  return c->session->options->layout_json != NULL;
}

static void note_missing_route(FabricCheck *c, uint32_t tile, bool is_send)
{
  Diags *diags = c->session->diags;
  if (fabric_is_of_script(c))
    diag_script_route_missing(diags, c->l->tiles[tile].span);
  else
    diag_route_missing_help(diags, c->l->tiles[tile].span, is_send ? "rx" : "tx");
}

static void check_own_route(FabricCheck *c, uint32_t tile, const FabricUse *use)
{
  const Route *route;
  RouteState state = fabric_route_at(c, tile, use->color, &route);
  Rule rule = use->is_send ? RULE_SEND : RULE_RECEIVE;
  if (use->least == 0 || state == ROUTE_OPEN || !(c->routed >> use->color & 1))
    return;
  PortMask mask = state == ROUTE_NONE ? 0 : use->is_send ? route->ever_rx : route->ever_tx;
  if (mask & port_bit(PORT_RAMP) || !fabric_may_tell(c, rule, use->color, use->span))
    return;
  Diags *diags = c->session->diags;
  const char *why = "has no route for it";
  if (state == ROUTE_KNOWN)
    why = arena_printf(c->arena, use->is_send ? "takes it from %s only" : "hands it to %s only",
                       ports_text(c->arena, mask));
  if (use->is_send)
    diag_sent_without_route(diags, use->span, (unsigned)use->color, fabric_tile_text(c, tile), why);
  else
    diag_received_without_route(diags, use->span, (unsigned)use->color,
                                fabric_tile_text(c, tile), why);
  fabric_raise_if_certain(c, use->is_certain);
  if (state == ROUTE_KNOWN)
    diag_route_is_here(diags, fabric_route_span(c, tile, use->color));
  else
    note_missing_route(c, tile, use->is_send);
}

/* ---- from one tile into the next ------------------------------------------------------------- */

static void report_link(FabricCheck *c, uint32_t tile, unsigned color, Port port, uint32_t next,
                        const Route *other, const Sender *sender)
{
  Diags *diags = c->session->diags;
  Span at = fabric_route_span(c, tile, color);
  const char *from = fabric_tile_text(c, tile), *to = fabric_tile_text(c, next);
  if (other)
    diag_route_not_taken(diags, at, color,
                         arena_printf(c->arena, "%s to the %s", from, port_name(port)), to,
                         ports_text(c->arena, other->ever_rx));
  else
    diag_route_into_nothing(diags, at, color,
                            arena_printf(c->arena, "%s to the %s", from, port_name(port)), to);
  fabric_raise_if_certain(c, sender->use->is_certain);
  if (other)
    diag_route_is_here(diags, fabric_route_span(c, next, color));
  fabric_note_sender(c, sender);
  if (fabric_is_of_script(c))
    diag_script_route_taken(diags, at, to);
  else
    diag_route_taken_help(diags, at, port_name(port_opposite(port)), to);
}

static void check_links(FabricCheck *c, uint32_t tile, unsigned color, const Route *route)
{
  for (Port p = PORT_NORTH; p < PORT_RAMP; p++) {
    uint32_t next;
    const Route *other = NULL;
    if (!(route->always_tx & port_bit(p)) || !fabric_neighbour_at(c, tile, p, &next))
      continue;
    RouteState state = fabric_route_at(c, next, color, &other);
    if (state == ROUTE_OPEN ||
        (state == ROUTE_KNOWN && other->ever_rx & port_bit(port_opposite(p))))
      continue;
    Sender sender = find_sender(c, tile, color, route->always_rx);
    Span at = sender.use ? fabric_route_span(c, tile, color) : (Span){0, 0};
    if (sender.use && fabric_may_tell(c, RULE_LINK, color, at))
      report_link(c, tile, color, p, next, state == ROUTE_KNOWN ? other : NULL, &sender);
  }
}

/* ---- colors that no code reads --------------------------------------------------------------- */

static void check_unread(FabricCheck *c, uint32_t tile, unsigned color, const Route *route)
{
  const FabricUses *uses = fabric_uses_at(c, tile);
  if (!(route->always_tx & port_bit(PORT_RAMP)) || uses->receives >> color & 1 ||
      route->has_filter)
    return;
  Sender sender = find_sender(c, tile, color, route->always_rx);
  if (!sender.use || sender.use->is_control || sender.use->length <= BUFFERED_WAVELETS ||
      !fabric_may_tell(c, RULE_UNREAD, color, fabric_route_span(c, tile, color)))
    return;
  Diags *diags = c->session->diags;
  diag_color_not_read(diags, fabric_route_span(c, tile, color), color,
                      fabric_tile_text(c, tile));
  fabric_note_sender(c, &sender);
  diag_not_read_help(diags, c->l->tiles[tile].span);
}

/* ---- control wavelets ------------------------------------------------------------------------ */

typedef struct {
  bool is_open, has_taker;
  uint32_t n, last;        /* tiles that it is handed to */
} Delivery;

static bool takes_entry(const FabricUses *uses, unsigned color, unsigned entry)
{
  return uses->control_tasks >> entry & 1 || uses->operations >> color & 1;
}

static Delivery follow_color(FabricCheck *c, uint32_t tile, unsigned color, unsigned entry)
{
  Delivery d = {0};
  search_start(c, tile);
  while (search_next(c, &tile) && !d.is_open && !d.has_taker) {
    const Route *route;
    if (fabric_route_at(c, tile, color, &route) != ROUTE_KNOWN) {
      d.is_open = true;
      break;
    }
    d.is_open |= route->has_filter || route->ever_tx != route->always_tx;
    if (route->ever_tx & port_bit(PORT_RAMP)) {
      d.n++;
      d.last = tile;
      d.has_taker |= takes_entry(fabric_uses_at(c, tile), color, entry);
    }
    for (Port p = PORT_NORTH; p < PORT_RAMP; p++) {
      uint32_t next;
      if (route->ever_tx & port_bit(p) && fabric_neighbour_at(c, tile, p, &next))
        search_visit(c, next);
    }
  }
  d.is_open |= c->steps > MOST_STEPS;
  return d;
}

/* Is it for the processors of all routers? */
static bool ignores_nobody(uint32_t payload)
{
  for (unsigned slot = 0; slot < MAX_SWITCH_COMMANDS; slot++)
    if (control_command(payload, slot).ce_ignore)
      return false;
  return true;
}

static void check_control(FabricCheck *c, uint32_t tile, const FabricUse *use)
{
  const Machine *machine = machine_get(c->session->options->arch);
  unsigned entry = control_entry(use->payload);
  if (!use->has_payload || entry == machine->control_entry_none || !ignores_nobody(use->payload) ||
      c->told[RULE_CONTROL] >> use->color & 1)
    return;
  Delivery d = follow_color(c, tile, use->color, entry);
  if (d.is_open || d.has_taker || d.n == 0 ||
      !fabric_may_tell(c, RULE_CONTROL, use->color, use->span))
    return;
  Diags *diags = c->session->diags;
  diag_control_without_task(diags, use->span, (unsigned)use->color, entry,
                            fabric_tile_text(c, d.last));
  const FabricUses *uses = fabric_uses_at(c, d.last);
  for (unsigned id = 0; id < MAX_TASK_IDS; id++)
    if (uses->control_tasks >> id & 1)
      diag_control_task_is_here(diags, uses->control_span[id], fabric_tile_text(c, d.last), id);
  if (uses->control_tasks == 0)
    diag_control_task_help(diags, c->l->tiles[d.last].span);
}

/* ---- commands for switches ------------------------------------------------------------------- */

/* A payload of <control> for no task, as one that only switches is.  A float may look like it. */
static bool is_switch_command(const FabricCheck *c, const FabricUse *use)
{
  const Machine *machine = machine_get(c->session->options->arch);
  return use->has_payload && use->float_bits == 0 &&
         control_entry(use->payload) == machine->control_entry_none &&
         control_command(use->payload, 0).command != CMD_NOP;
}

/* A router on the way of the color from the tile has several switch positions. */
static bool passes_switch(FabricCheck *c, uint32_t tile, unsigned color)
{
  bool passes = false;
  search_start(c, tile);
  while (search_next(c, &tile) && !passes) {
    const Route *route;
    if (fabric_route_at(c, tile, color, &route) != ROUTE_KNOWN)
      return false;
    passes = !route->is_fixed;
    for (Port p = PORT_NORTH; p < PORT_RAMP; p++) {
      uint32_t next;
      if (route->ever_tx & port_bit(p) && fabric_neighbour_at(c, tile, p, &next))
        search_visit(c, next);
    }
  }
  return passes;
}

static void check_switch_command(FabricCheck *c, uint32_t tile, const FabricUse *use)
{
  Diags *diags = c->session->diags;
  if (use->is_told || !is_switch_command(c, use) || c->may_control_any ||
      (c->controlled >> use->color & 1) || !passes_switch(c, tile, use->color) ||
      !fabric_may_tell(c, RULE_SWITCH, use->color, use->span))
    return;
  diag_switch_as_data(diags, use->span, (unsigned)use->color);
  diag_switch_as_data_help(diags, use->span);
}

/* ---- control tasks that nothing starts ------------------------------------------------------- */

/* A payload with the entry that is sent as data; NULL: none. */
static const FabricUse *sent_as_data(const FabricCheck *c, unsigned entry)
{
  for (size_t k = 0; k < arrlenu(c->programs->classes); k++) {
    const FabricUses *uses = c->programs->classes[k].fabric;
    for (uint32_t i = 0; i < uses->n; i++) {
      const FabricUse *use = &uses->uses[i];
      if (use->is_send && !use->is_control && use->has_payload &&
          control_entry(use->payload) == entry)
        return use;
    }
  }
  return NULL;
}

static void check_control_tasks(FabricCheck *c)
{
  Diags *diags = c->session->diags;
  uint64_t told = 0;
  for (size_t k = 0; k < arrlenu(c->programs->classes); k++) {
    const FabricUses *uses = c->programs->classes[k].fabric;
    for (unsigned id = 0; id < MAX_TASK_IDS; id++) {
      uint64_t waiting = uses->control_tasks & ~uses->started_tasks & ~c->entries & ~told;
      if (!(waiting >> id & 1))
        continue;
      const FabricUse *data = sent_as_data(c, id);
      told |= UINT64_C(1) << id;
      if (data && data->is_told)
        continue;
      diag_control_task_never(diags, uses->control_span[id], id);
      if (data)
        diag_control_as_data(diags, data->span);
      else
        diag_control_send_help(diags, uses->control_span[id], id);
    }
  }
}

/* ---- senders that meet ----------------------------------------------------------------------- */

static bool has_one_port(PortMask mask) { return mask != 0 && (mask & (mask - 1)) == 0; }

/* The operation whose wavelets come through one port of the tile, if nothing else comes that way
 * and the sender does not wait, and its distance; use NULL: none is known. */
static Sender find_first_sender(FabricCheck *c, uint32_t tile, unsigned color, Port port,
                                uint32_t *distance)
{
  Sender none = {NULL, 0};
  for (*distance = 0; port != PORT_RAMP; ++*distance) {
    const Route *route;
    uint32_t from;
    if (++c->steps > MOST_STEPS || !fabric_neighbour_at(c, tile, port, &from) ||
        fabric_route_at(c, from, color, &route) != ROUTE_KNOWN || !route->is_fixed ||
        !(route->always_tx & port_bit(port_opposite(port))) || !has_one_port(route->always_rx))
      return none;
    tile = from;
    port = (Port)__builtin_ctz(route->always_rx);
  }
  const FabricUses *uses = fabric_uses_at(c, tile);
  const FabricUse *use = fabric_sending_use(uses, color);
  bool is_free = use && !(uses->vague_sends >> color & 1) && use->start != FABRIC_ANY_TIME &&
                 (uses->receives & ~c->left_alone) == 0;
  return is_free ? (Sender){use, tile} : none;
}

/* Two senders, one of which is `apart` tiles further away. */
static void report_meeting(FabricCheck *c, uint32_t tile, unsigned color, const Sender *a,
                           const Sender *b, uint32_t apart)
{
  Span at = fabric_route_span(c, tile, color);
  if (a->use->start != b->use->start || a->use->length <= apart || b->use->length <= apart ||
      !fabric_may_tell(c, RULE_MEET, color, at))
    return;
  Diags *diags = c->session->diags;
  diag_senders_meet(diags, at, color, fabric_tile_text(c, tile));
  fabric_note_sender(c, a);
  fabric_note_sender(c, b);
  diag_senders_meet_help(diags, c->l->tiles[tile].span);
}

static void check_meeting(FabricCheck *c, uint32_t tile, unsigned color, const Route *route)
{
  Sender first = {NULL, 0};
  uint32_t first_distance = 0, distance;
  if (!route->is_fixed || has_one_port(route->always_rx))
    return;
  for (Port p = PORT_NORTH; p < PORT_COUNT; p++) {
    Sender sender = {NULL, 0};
    if (route->always_rx & port_bit(p))
      sender = find_first_sender(c, tile, color, p, &distance);
    if (sender.use && first.use)
      report_meeting(c, tile, color, &first, &sender,
                     distance > first_distance ? distance - first_distance
                                               : first_distance - distance);
    if (sender.use && !first.use) {
      first = sender;
      first_distance = distance;
    }
  }
}

/* ---- routes in a circle ---------------------------------------------------------------------- */

static bool takes_always(const FabricCheck *c, uint32_t tile, unsigned color, Port port)
{
  const Route *route;
  return fabric_route_at(c, tile, color, &route) == ROUTE_KNOWN && route->is_fixed &&
         route->always_rx & port_bit(port);
}

/* What leaves the tile through the port comes back to it, whatever the tiles do. */
static bool comes_back(FabricCheck *c, uint32_t start, unsigned color, Port port)
{
  uint32_t tile, next;
  if (!fabric_neighbour_at(c, start, port, &tile) ||
      !takes_always(c, tile, color, port_opposite(port)))
    return false;
  search_start(c, tile);
  while (search_next(c, &tile)) {
    const Route *route;
    if (tile == start)
      return true;
    if (fabric_route_at(c, tile, color, &route) != ROUTE_KNOWN)
      continue;
    for (Port p = PORT_NORTH; p < PORT_RAMP; p++)
      if (route->always_tx & port_bit(p) && fabric_neighbour_at(c, tile, p, &next) &&
          takes_always(c, next, color, port_opposite(p)))
        search_visit(c, next);
  }
  return false;
}

/* A circle that something enters has a tile that takes the color from two sides. */
static void check_circle(FabricCheck *c, uint32_t tile, unsigned color, const Route *route)
{
  if (!route->is_fixed || has_one_port(route->always_rx))
    return;
  for (Port p = PORT_NORTH; p < PORT_RAMP; p++) {
    if (!(route->always_tx & port_bit(p)) || !comes_back(c, tile, color, p))
      continue;
    Sender sender = find_sender(c, tile, color, route->always_rx);
    Span at = fabric_route_span(c, tile, color);
    if (!sender.use || !fabric_may_tell(c, RULE_CIRCLE, color, at))
      return;
    diag_routes_in_circle(c->session->diags, at, color, fabric_tile_text(c, tile), port_name(p));
    fabric_note_sender(c, &sender);
    diag_routes_in_circle_help(c->session->diags, at);
    return;
  }
}

/* ---- which tiles to look at ------------------------------------------------------------------ */

typedef struct { uint32_t class, set; } KindKey;

/* Equal numbers for tiles of equal class and configurations. */
static void number_kinds(FabricCheck *c)
{
  struct { KindKey key; uint32_t value; } *map = NULL;
  uint32_t n = c->l->width * c->l->height;
  c->kinds = arena_many(c->arena, uint32_t, n);
  KindKey last = {IMAGE_NO_CLASS, UINT32_MAX};
  for (uint32_t t = 0; t < n; t++) {
    KindKey key = {c->programs->tile_class[t], c->l->tile_sets[t]};
    if (t > 0 && key.class == last.class && key.set == last.set) {
      c->kinds[t] = c->kinds[t - 1];
      continue;
    }
    last = key;
    ptrdiff_t at = hmgeti(map, key);
    if (at < 0) {
      hmput(map, key, (uint32_t)hmlenu(map) + 1);
      at = hmgeti(map, key);
    }
    c->kinds[t] = map[at].value;
  }
  hmfree(map);
}

/* A tile and its neighbours; 0: outside. */
typedef struct { uint32_t kind[PORT_COUNT]; } Surroundings;

static Surroundings surroundings_of(const FabricCheck *c, uint32_t tile)
{
  Surroundings s = {{0}};
  for (Port p = PORT_NORTH; p < PORT_RAMP; p++) {
    uint32_t other;
    if (fabric_neighbour_at(c, tile, p, &other))
      s.kind[p] = c->kinds[other];
  }
  s.kind[PORT_RAMP] = c->kinds[tile];
  return s;
}

/* Is the tile `back` tiles before it known to have the same surroundings? */
static bool is_like(const FabricCheck *c, uint32_t tile, const Surroundings *s, uint32_t back)
{
  if (tile < back || c->kinds[tile - back] != s->kind[PORT_RAMP])
    return false;
  Surroundings other = surroundings_of(c, tile - back);
  return memcmp(&other, s, sizeof other) == 0;
}

/* One tile of each kind of surroundings; stb_ds array.  Layouts repeat every tile or every second
 * one, along a row or a column, so that most need no look-up. */
static uint32_t *choose_tiles(const FabricCheck *c)
{
  struct { Surroundings key; uint32_t value; } *map = NULL;
  uint32_t *chosen = NULL, w = c->l->width, n = w * c->l->height;
  for (uint32_t t = 0; t < n; t++) {
    Surroundings s = surroundings_of(c, t);
    if (is_like(c, t, &s, 1) || is_like(c, t, &s, 2) || is_like(c, t, &s, w) ||
        is_like(c, t, &s, 2 * w))
      continue;
    if (hmgeti(map, s) >= 0)
      continue;
    hmput(map, s, t);
    arrput(chosen, t);
  }
  hmfree(map);
  return chosen;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void note_classes(FabricCheck *c)
{
  if (c->session->options->memcpy)
    c->left_alone |= (uint32_t)machine_get(c->session->options->arch)->memcpy_colors;
  for (size_t k = 0; k < arrlenu(c->programs->classes); k++) {
    const FabricUses *uses = c->programs->classes[k].fabric;
    c->left_alone |= uses->streamed;
    c->sent |= uses->sends;
    for (uint32_t i = 0; i < uses->n; i++) {
      const FabricUse *use = &uses->uses[i];
      if (use->is_send && use->is_control)
        c->controlled |= 1u << use->color;
      if (use->is_send && use->is_control && use->has_payload)
        c->entries |= UINT64_C(1) << control_entry(use->payload);
      else if (use->is_send && use->is_control)
        c->has_unknown_entries = true;
    }
    c->has_unknown_entries |= uses->vague_control;
    c->may_control_any |= uses->vague_control;
  }
}

typedef void RouteTest(FabricCheck *c, uint32_t tile, unsigned color, const Route *route);

static void check_next_tiles(FabricCheck *c, uint32_t tile, unsigned color, const Route *route)
{
  check_links(c, tile, color, route);
  check_meeting(c, tile, color, route);
}

/* Runs the test for each color of the tile that some tile sends. */
static void check_routes(FabricCheck *c, uint32_t tile, RouteTest *test)
{
  const ImageColorSet *set = &c->sets[c->l->tile_sets[tile]];
  for (uint32_t i = 0; i < set->n; i++) {
    unsigned color = set->uses[i].color;
    const Route *route;
    if (c->left_alone >> color & 1 || !(c->sent >> color & 1) ||
        fabric_route_at(c, tile, color, &route) != ROUTE_KNOWN)
      continue;
    test(c, tile, color, route);
  }
}

static void check_operations(FabricCheck *c, uint32_t tile)
{
  const FabricUses *uses = fabric_uses_at(c, tile);
  for (uint32_t i = 0; i < uses->n; i++)
    if (!(c->left_alone >> uses->uses[i].color & 1) &&
        !(c->told[RULE_LINK] >> uses->uses[i].color & 1))
      check_own_route(c, tile, &uses->uses[i]);
}

/* What follows from a wrong route is not reported. */
static bool has_wrong_route(const FabricCheck *c, unsigned color)
{
  return ((c->told[RULE_SEND] | c->told[RULE_RECEIVE] | c->told[RULE_LINK]) >> color & 1) != 0;
}

static void check_amounts(FabricCheck *c, uint32_t tile)
{
  const FabricUses *uses = fabric_uses_at(c, tile);
  for (unsigned color = 0; color < MAX_COLORS; color++) {
    const Route *route;
    if (c->left_alone >> color & 1 || has_wrong_route(c, color))
      continue;
    if (uses->receives >> color & 1)
      fabric_check_arrivals(c, tile, color);
    else if (fabric_route_at(c, tile, color, &route) == ROUTE_KNOWN)
      check_unread(c, tile, color, route);
  }
  for (uint32_t i = 0; i < uses->n; i++)
    if (uses->uses[i].is_control && uses->uses[i].is_send && uses->uses[i].least > 0 &&
        !(c->left_alone >> uses->uses[i].color & 1) && !has_wrong_route(c, uses->uses[i].color))
      check_control(c, tile, &uses->uses[i]);
  for (uint32_t i = 0; i < uses->n; i++)
    if (uses->uses[i].is_send && !uses->uses[i].is_control &&
        !(c->left_alone >> uses->uses[i].color & 1))
      check_switch_command(c, tile, &uses->uses[i]);
}

static void check_tiles(FabricCheck *c)
{
  number_kinds(c);
  uint32_t *tiles = choose_tiles(c);
  c->stamps = arena_many(c->arena, uint32_t, (size_t)c->l->width * c->l->height);
  for (size_t i = 0; i < arrlenu(tiles); i++)
    check_routes(c, tiles[i], check_next_tiles);
  for (size_t i = 0; i < arrlenu(tiles); i++)
    check_operations(c, tiles[i]);
  for (size_t i = 0; i < arrlenu(tiles); i++)
    check_amounts(c, tiles[i]);
  for (size_t i = 0; i < arrlenu(tiles); i++)       /* last: searches share their bound of steps */
    check_routes(c, tiles[i], check_circle);
  arrfree(tiles);
  arrfree(c->stack);
}

static bool has_uses(const FabricCheck *c)
{
  for (size_t k = 0; k < arrlenu(c->programs->classes); k++) {
    const FabricUses *uses = c->programs->classes[k].fabric;
    for (uint32_t i = 0; i < uses->n; i++)
      if (!(c->left_alone >> uses->uses[i].color & 1))
        return true;
  }
  return false;
}

bool fabric_check(Session *session, const Programs *programs)
{
  FabricCheck c = {.session = session, .programs = programs, .l = session->layout};
  size_t errors = diags_error_count(session->diags);
  if (!session->layout->has_block)
    return true;
  note_classes(&c);
  c.arena = arena_create("fabric check");
  fabric_check_streams(session, programs);
  if (has_uses(&c)) {
    read_routes(&c);
    check_tiles(&c);
  }
  if (!c.has_unknown_entries && c.told[RULE_CONTROL] == 0)
    check_control_tasks(&c);
  arena_destroy(c.arena);
  arrfree(c.told_at);
  return diags_error_count(session->diags) == errors;
}
