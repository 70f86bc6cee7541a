/* Lays the regions of a host script's layout out: the paths between ports, the tiles at the host's
 * end of streams, the colors of the nets.
 *
 * A net is a set of colors that connections join: a wavelet keeps its color on its way. Paths are
 * shortest paths by breadth-first search (Lee, "An Algorithm for Path Connections and Its
 * Applications", 1961), around the regions if they can; lanes.c lays those of a port that lock each
 * other in. Nets that meet in a tile need different colors: they are colored greedily, nets with a
 * given color first. */
#include "frontend/layout/layout_internal.h"
#include "frontend/layout/regions.h"

#include <stb_ds.h>
#include <string.h>

/* What a net does in a tile: nothing, its program knows the color, or 2 + a configuration. */
enum { USE_NONE, USE_KNOWN, USE_ROUTED };
/* Bound of colors times tiles, which bounds memory: 180 colors on a whole wafer. */
enum { LEAST_MARGIN = 1, MOST_USES = 1 << 27, MOST_COLORS = 1 << 12 };

/* Who has set the route of a net in a tile. */
typedef struct { const char *name; Span span; uint32_t color; bool is_port; } Painter;
typedef struct { uint64_t key; Painter value; } PaintedRoute;

/* The grid has a margin around the regions, where paths and the host's tiles find place; it is cut
 * to what is used. */
typedef struct {
  RegionLayout *l;
  LayoutResult *out;
  Arena *arena;
  uint32_t width, height, n_tiles, margin;
  uint32_t *region_of;         /* by tile: region + 1, or 0 */
  uint32_t n_nets;
  uint32_t *net_of;            /* by color of the layout */
  uint32_t **uses;             /* by net, then tile */
  PaintedRoute *painted;       /* stb_ds map: by net and tile, of regions and ports */
  uint32_t *uses_before;       /* of the net at hand, while ways are tried */
  int *color_of;               /* by net */
  bool *switched;              /* by net: some tile has several positions */
  bool *meet;                  /* by pairs of nets: some tile has both */
  bool *is_host;               /* by tile: the host's end of a stream */
  uint32_t *from;              /* breadth-first search: tile before + 1 */
  uint32_t *queue;
} Plan;

/* ---- the grid ---------------------------------------------------------------------------- */

static uint32_t tile_at(const Plan *p, uint32_t x, uint32_t y)
{
  return (y + p->margin) * p->width + x + p->margin;
}

/* The neighbour; UINT32_MAX beyond the grid. */
static uint32_t tile_beside(const Plan *p, uint32_t tile, Port port)
{
  uint32_t x = tile % p->width, y = tile / p->width;
  switch (port) {
  case PORT_NORTH: return y > 0 ? tile - p->width : UINT32_MAX;
  case PORT_SOUTH: return y + 1 < p->height ? tile + p->width : UINT32_MAX;
  case PORT_WEST: return x > 0 ? tile - 1 : UINT32_MAX;
  case PORT_EAST: return x + 1 < p->width ? tile + 1 : UINT32_MAX;
  case PORT_RAMP: case PORT_COUNT: default: return UINT32_MAX;
  }
}

static const char *tile_text(const Plan *p, uint32_t tile)
{
  return arena_printf(p->arena, "%d,%d", (int)(tile % p->width - p->margin),
                      (int)(tile / p->width - p->margin));
}

/* Where a host script says the other of two things, if that is somewhere else. */
static void note_first(const Plan *p, Span at, Span first)
{
  if (first.off != at.off)
    diag_first_here(p->l->session->diags, first);
}

/* Tiles of ports that face each other. */
static bool is_adjoining(const RegionLayout *l, const RegionPort *a, const RegionPort *b)
{
  const RegionRect *r = &l->regions[a->region].rect, *q = &l->regions[b->region].rect;
  bool is_row = r->y + a->first == q->y + b->first, is_column = r->x + a->first == q->x + b->first;
  switch (a->edge) {
  case PORT_NORTH: return is_column && b->edge == PORT_SOUTH && q->y + q->height == r->y;
  case PORT_SOUTH: return is_column && b->edge == PORT_NORTH && r->y + r->height == q->y;
  case PORT_WEST: return is_row && b->edge == PORT_EAST && q->x + q->width == r->x;
  case PORT_EAST: return is_row && b->edge == PORT_WEST && r->x + r->width == q->x;
  case PORT_RAMP: case PORT_COUNT: default: return false;
  }
}

/* So many paths of one color may have to go around the outermost region, and a cut beside them. */
static uint32_t margin_of(const Plan *p)
{
  uint32_t margin = LEAST_MARGIN;
  for (uint32_t i = 0; i < p->l->n_connections; i++) {
    const RegionPort *a = &p->l->ports[p->l->connections[i].from];
    const RegionPort *b = &p->l->ports[p->l->connections[i].to];
    if (a->count > 1 && a->count >= margin && !is_adjoining(p->l, a, b))
      margin = a->count + 1;
  }
  return margin;
}

static void set_size(Plan *p, uint32_t right, uint32_t bottom, uint32_t margin)
{
  p->margin = margin;
  p->width = right + 2 * margin;
  p->height = bottom + 2 * margin;
  p->n_tiles = p->width * p->height;
}

static bool is_too_large(const Plan *p)
{
  return p->l->n_colors > MOST_COLORS || (uint64_t)p->n_tiles * p->l->n_colors > MOST_USES;
}

static bool make_grid(Plan *p)
{
  RegionLayout *l = p->l;
  uint32_t right = 0, bottom = 0;
  for (uint32_t i = 0; i < l->n_regions; i++) {
    const RegionRect *r = &l->regions[i].rect;
    right = r->x + r->width > right ? r->x + r->width : right;
    bottom = r->y + r->height > bottom ? r->y + r->height : bottom;
  }
  for (uint32_t i = 0; i < l->n_streams; i++) {
    right = l->streams[i].has_place && l->streams[i].x >= right ? l->streams[i].x + 1 : right;
    bottom = l->streams[i].has_place && l->streams[i].y >= bottom ? l->streams[i].y + 1 : bottom;
  }
  set_size(p, right, bottom, margin_of(p));
  if (is_too_large(p))
    set_size(p, right, bottom, LEAST_MARGIN);
  if (is_too_large(p)) {
    diag_layout_too_large(l->session->diags, l->span, l->n_colors, p->n_tiles);
    return false;
  }
  p->region_of = arena_many(p->arena, uint32_t, p->n_tiles);
  p->is_host = arena_many(p->arena, bool, p->n_tiles);
  p->from = arena_many(p->arena, uint32_t, p->n_tiles);
  p->uses_before = arena_many(p->arena, uint32_t, p->n_tiles);
  p->queue = arena_many(p->arena, uint32_t, p->n_tiles);
  for (uint32_t i = 0; i < l->n_regions; i++) {
    const Region *region = &l->regions[i];
    for (uint32_t k = 0; k < region->rect.width * region->rect.height; k++) {
      uint32_t tile = tile_at(p, region->rect.x + k % region->rect.width,
                              region->rect.y + k / region->rect.width);
      if (p->region_of[tile]) {
        const Region *first = &l->regions[p->region_of[tile] - 1];
        diag_regions_overlap(l->session->diags, region->placed, region->name, first->name,
                             tile_text(p, tile));
        note_first(p, region->placed, first->placed);
        return false;
      }
      p->region_of[tile] = i + 1;
    }
  }
  return true;
}

/* ---- nets -------------------------------------------------------------------------------- */

static bool make_nets(Plan *p)
{
  RegionLayout *l = p->l;
  uint32_t *net = p->net_of = arena_many(p->arena, uint32_t, l->n_colors + 1);
  for (uint32_t i = 0; i < l->n_colors; i++)
    net[i] = i;
  for (uint32_t i = 0; i < l->n_connections; i++) {
    uint32_t a = net[l->ports[l->connections[i].from].color];
    uint32_t b = net[l->ports[l->connections[i].to].color];
    for (uint32_t k = 0; k < l->n_colors; k++)
      net[k] = net[k] == b ? a : net[k];
  }
  p->n_nets = l->n_colors;
  p->uses = arena_many(p->arena, uint32_t *, p->n_nets + 1);
  p->color_of = arena_many(p->arena, int, p->n_nets + 1);
  p->switched = arena_many(p->arena, bool, p->n_nets + 1);
  const char **named = arena_many(p->arena, const char *, p->n_nets + 1);
  for (uint32_t i = 0; i < p->n_nets; i++)
    p->color_of[i] = REGION_COLOR_OPEN;
  for (uint32_t i = 0; i < l->n_colors; i++) {
    const RegionColor *color = &l->colors[i];
    if (!p->uses[net[i]])
      p->uses[net[i]] = arena_many(p->arena, uint32_t, p->n_tiles);
    if (color->value == REGION_COLOR_OPEN)
      continue;
    if (named[net[i]] && p->color_of[net[i]] != color->value) {
      diag_connected_colors(l->session->diags, color->span, named[net[i]], color->name);
      return false;
    }
    named[net[i]] = color->name;
    p->color_of[net[i]] = (int)color->value;
  }
  return true;
}

static void set_routes(Plan *p, uint32_t net, uint32_t tile, const RegionRoutes *routes)
{
  ImageColorConfig config;
  memset(&config, 0, sizeof config);   /* configurations are compared as bytes */
  for (uint32_t i = 0; i < routes->n; i++) {
    config.positions[i].rx = routes->rx[i];
    config.positions[i].tx = routes->tx[i];
    config.positions[i].valid = true;
  }
  p->switched[net] |= routes->n > 1;
  p->uses[net][tile] = USE_ROUTED + color_config_intern(p->out->colors, &config);
}

static void set_route(Plan *p, uint32_t net, uint32_t tile, Port from, Port to)
{
  RegionRoutes routes = {.n = 1, .rx = {port_bit(from)}, .tx = {port_bit(to)}};
  set_routes(p, net, tile, &routes);
}

/* ---- regions ----------------------------------------------------------------------------- */

typedef void RegionTileAction(Plan *p, uint32_t tile, const void *what);

static void each_tile(Plan *p, const Region *region, RegionRect rect, RegionTileAction *action,
                      const void *what)
{
  for (uint32_t y = 0; y < rect.height; y++)
    for (uint32_t x = 0; x < rect.width; x++)
      action(p, tile_at(p, region->rect.x + rect.x + x, region->rect.y + rect.y + y), what);
}

/* A later route replaces an earlier one of the same color, but not the route of another port, and
 * not the route of a color that connections have joined. */
static void paint_routes(Plan *p, uint32_t tile, Painter painter, const RegionRoutes *routes)
{
  uint32_t net = p->net_of[painter.color], before = p->uses[net][tile];
  uint64_t key = (uint64_t)net << 32 | tile;
  ptrdiff_t at = hmgeti(p->painted, key);
  set_routes(p, net, tile, routes);
  if (at >= 0 && p->uses[net][tile] != before) {
    Painter first = p->painted[at].value;
    if (first.color != painter.color || (first.is_port && painter.is_port)) {
      diag_routes_of_one_color(p->l->session->diags, painter.span, tile_text(p, tile), first.name,
                               painter.name);
      note_first(p, painter.span, first.span);
      diag_color_of_region(p->l->session->diags, painter.span);
    }
  }
  hmput(p->painted, key, painter);
}

static void paint_tile(Plan *p, uint32_t tile, const void *what)
{
  const RegionPaint *paint = what;
  Painter painter = {.name = p->l->colors[paint->color].name, .span = paint->span,
                     .color = paint->color};
  paint_routes(p, tile, painter, &paint->routes);
}

static void know_color(Plan *p, uint32_t tile, const void *what)
{
  const RegionParam *param = what;
  uint32_t *use = &p->uses[p->net_of[param->color]][tile];
  *use = *use == USE_NONE ? USE_KNOWN : *use;
}

static void paint_regions(Plan *p)
{
  for (uint32_t i = 0; i < p->l->n_regions; i++) {
    const Region *region = &p->l->regions[i];
    for (uint32_t k = 0; k < region->n_paints; k++)
      each_tile(p, region, region->paints[k].rect, paint_tile, &region->paints[k]);
    for (uint32_t k = 0; k < region->n_params; k++)
      if (region->params[k].is_color)
        each_tile(p, region, region->params[k].rect, know_color, &region->params[k]);
  }
}

/* Tile number `i` of a port. */
static uint32_t port_tile(const Plan *p, const RegionPort *port, uint32_t i)
{
  const RegionRect *r = &p->l->regions[port->region].rect;
  i += port->first;
  switch (port->edge) {
  case PORT_NORTH: return tile_at(p, r->x + i, r->y);
  case PORT_SOUTH: return tile_at(p, r->x + i, r->y + r->height - 1);
  case PORT_WEST: return tile_at(p, r->x, r->y + i);
  case PORT_EAST: case PORT_RAMP: case PORT_COUNT:
  default: return tile_at(p, r->x + r->width - 1, r->y + i);
  }
}

static void paint_ports(Plan *p)
{
  for (uint32_t i = 0; i < p->l->n_ports; i++) {
    const RegionPort *port = &p->l->ports[i];
    RegionRoutes routes = port->routes;
    for (uint32_t k = 0; k < routes.n; k++) {
      PortMask *outer = port->is_output ? &routes.tx[k] : &routes.rx[k];
      *outer = port_bit(port->edge);
    }
    Painter painter = {.name = port->name, .span = port->span, .color = port->color,
                       .is_port = true};
    for (uint32_t k = 0; k < port->count; k++)
      paint_routes(p, port_tile(p, port, k), painter, &routes);
  }
}

/* False after reporting. */
static bool paint_all(Plan *p)
{
  size_t errors = diags_error_count(p->l->session->diags);
  paint_regions(p);
  paint_ports(p);
  return diags_error_count(p->l->session->diags) == errors;
}

/* ---- paths ------------------------------------------------------------------------------- */

typedef bool IsGoal(const Plan *p, uint32_t tile, uint32_t goal);

static bool is_tile(const Plan *p, uint32_t tile, uint32_t goal)
{
  (void)p;
  return tile == goal;
}

static bool is_free(const Plan *p, uint32_t tile, uint32_t goal)
{
  (void)goal;
  return !p->region_of[tile] && !p->is_host[tile];
}

/* Shortest way over tiles that the net does not use; returns its end, p->from leads back to
 * `start`, whose entry is its own. */
static uint32_t search_way(Plan *p, uint32_t net, uint32_t start, IsGoal *is_goal, uint32_t goal,
                           bool through_regions)
{
  memset(p->from, 0, p->n_tiles * sizeof *p->from);
  uint32_t head = 0, tail = 0;
  bool free_start = start != UINT32_MAX && p->uses[net][start] == USE_NONE &&
                    (through_regions || !p->region_of[start]);
  if (free_start) {
    p->queue[tail++] = start;
    p->from[start] = start + 1;
  }
  while (head < tail) {
    uint32_t tile = p->queue[head++];
    if (is_goal(p, tile, goal))
      return tile;
    for (Port side = PORT_NORTH; side < PORT_RAMP; side++) {
      uint32_t next = tile_beside(p, tile, side);
      if (next == UINT32_MAX || p->from[next] || p->uses[net][next] != USE_NONE ||
          (!through_regions && p->region_of[next]))
        continue;
      p->from[next] = tile + 1;
      p->queue[tail++] = next;
    }
  }
  return UINT32_MAX;
}

static Port direction_to(const Plan *p, uint32_t from, uint32_t to)
{
  for (Port port = PORT_NORTH; port < PORT_RAMP; port++)
    if (tile_beside(p, from, port) == to)
      return port;
  ICE("tiles %u and %u are no neighbours", from, to);
}

/* Routes the way that the search found from the start to `end`.  `away` is the side by which
 * wavelets enter or leave the start, `last` the same at the end; wavelets run from the start to the
 * end, or the other way for `backward`. */
static void route_path(Plan *p, uint32_t net, uint32_t end, Port away, Port last, bool backward)
{
  Port side = last;
  for (uint32_t tile = end;;) {
    uint32_t before = p->from[tile] - 1;
    Port entry = before == tile ? away : direction_to(p, tile, before);
    if (backward)
      set_route(p, net, tile, side, entry);
    else
      set_route(p, net, tile, entry, side);
    if (before == tile)
      return;
    side = port_opposite(entry);
    tile = before;
  }
}

static bool connect_tiles(Plan *p, uint32_t net, uint32_t from, Port out, uint32_t to, Port in)
{
  if (tile_beside(p, from, out) == to && in == port_opposite(out))
    return true;
  uint32_t start = tile_beside(p, from, out), goal = tile_beside(p, to, in);
  uint32_t end = search_way(p, net, start, is_tile, goal, false);
  if (end == UINT32_MAX)
    end = search_way(p, net, start, is_tile, goal, true);
  if (end == UINT32_MAX)
    return false;
  route_path(p, net, end, port_opposite(out), port_opposite(in), false);
  return true;
}

/* Connects the tiles of two ports one after the other, or says which one finds no way. */
static bool connect_lanes(Plan *p, const RegionPort *a, const RegionPort *b, uint32_t *stuck)
{
  for (uint32_t lane = 0; lane < a->count; lane++)
    if (!connect_tiles(p, p->net_of[a->color], port_tile(p, a, lane), a->edge,
                       port_tile(p, b, lane), b->edge)) {
      *stuck = lane;
      return false;
    }
  return true;
}

/* The same for all tiles at once. */
static bool connect_together(Plan *p, const RegionPort *a, const RegionPort *b,
                             bool through_regions)
{
  uint32_t net = p->net_of[a->color];
  uint32_t *starts = arena_many(p->arena, uint32_t, a->count);
  uint32_t *goals = arena_many(p->arena, uint32_t, a->count);
  bool *is_closed = arena_many(p->arena, bool, p->n_tiles);
  for (uint32_t tile = 0; tile < p->n_tiles; tile++)
    is_closed[tile] = p->uses[net][tile] != USE_NONE || (!through_regions && p->region_of[tile]);
  for (uint32_t lane = 0; lane < a->count; lane++) {
    starts[lane] = tile_beside(p, port_tile(p, a, lane), a->edge);
    goals[lane] = tile_beside(p, port_tile(p, b, lane), b->edge);
  }
  LaneSearch search = {p->width, p->height, is_closed, a->count, starts, goals,
                       starts[1] - starts[0], goals[1] - goals[0],
                       starts[0] - port_tile(p, a, 0), goals[0] - port_tile(p, b, 0)};
  const uint32_t *before = lanes_find(p->arena, &search);
  if (!before)
    return false;
  memcpy(p->from, before, p->n_tiles * sizeof *p->from);
  for (uint32_t lane = 0; lane < a->count; lane++)
    route_path(p, net, goals[lane], port_opposite(a->edge), port_opposite(b->edge), false);
  return true;
}

/* Lanes of one color cannot cross, and where one goes decides whether the next finds a way: if they
 * get stuck they are laid anew, together. */
static bool connect_port(Plan *p, const RegionPort *a, const RegionPort *b, uint32_t *stuck)
{
  uint32_t *uses = p->uses[p->net_of[a->color]];
  memcpy(p->uses_before, uses, p->n_tiles * sizeof *uses);
  bool done = connect_lanes(p, a, b, stuck);
  for (unsigned through = 0; a->count > 1 && !done && through < 2; through++) {
    memcpy(uses, p->uses_before, p->n_tiles * sizeof *uses);
    done = connect_together(p, a, b, through);
  }
  return done;
}

/* Between these edges some paths would cross, unless they are two, which may go past a region on
 * both sides: seen from above, the tiles of the one run around their region as those of the other
 * do. */
static bool is_crossing(Port a, Port b)
{
  bool a_clockwise = a == PORT_EAST || a == PORT_NORTH;
  bool b_clockwise = b == PORT_EAST || b == PORT_NORTH;
  return a_clockwise == b_clockwise;
}

static const char *edge_name(Port edge)
{
  switch (edge) {
  case PORT_NORTH: return "TOP";
  case PORT_SOUTH: return "BOTTOM";
  case PORT_WEST: return "LEFT";
  case PORT_EAST: return "RIGHT";
  case PORT_RAMP: case PORT_COUNT: default: ICE("no edge");
  }
}

static void note_crossing(const RegionLayout *l, const RegionPort *a, const RegionPort *b)
{
  bool needs_left = a->edge == PORT_EAST || a->edge == PORT_NORTH;
  if (a->count > 2 && is_crossing(a->edge, b->edge))
    diag_lanes_cross(l->session->diags, b->span, edge_name(a->edge), edge_name(b->edge),
                     needs_left ? "LEFT or BOTTOM" : "RIGHT or TOP");
}

/* Ports of one region on the same side that are joined to others need colors of their own. */
static void note_ports_alike(const RegionLayout *l, const RegionPort *port)
{
  for (uint32_t i = 0; i < l->n_ports; i++) {
    const RegionPort *other = &l->ports[i];
    if (other != port && other->region == port->region && other->color == port->color &&
        other->edge == port->edge)
      diag_port_of_one_color(l->session->diags, other->span, other->name,
                             l->colors[other->color].name);
  }
}

static bool connect_ports(Plan *p)
{
  RegionLayout *l = p->l;
  for (uint32_t i = 0; i < l->n_connections; i++) {
    const RegionPort *a = &l->ports[l->connections[i].from];
    const RegionPort *b = &l->ports[l->connections[i].to];
    uint32_t stuck;
    if (!connect_port(p, a, b, &stuck)) {
      diag_no_path(l->session->diags, l->connections[i].span, l->colors[a->color].name,
                   tile_text(p, port_tile(p, a, stuck)), tile_text(p, port_tile(p, b, stuck)));
      note_crossing(l, a, b);
      note_ports_alike(l, a);
      note_ports_alike(l, b);
      return false;
    }
  }
  return true;
}

/* The host's end of a stream is the nearest tile without a program, or the one that is given. */
static bool connect_stream(Plan *p, const RegionStream *stream, LayoutStream *out)
{
  RegionLayout *l = p->l;
  const RegionPort *port = &l->ports[stream->port];
  uint32_t net = p->net_of[port->color], tile = port_tile(p, port, 0);
  uint32_t goal = stream->has_place ? tile_at(p, stream->x, stream->y) : 0;
  uint32_t start = tile_beside(p, tile, port->edge), end = UINT32_MAX;
  if (stream->has_place && !is_free(p, goal, 0)) {
    diag_stream_place(l->session->diags, stream->span, stream->name, tile_text(p, goal),
                      p->is_host[goal] ? "the host's end of another stream" : "another program");
    return false;
  }
  for (int through = 0; through < 2 && end == UINT32_MAX; through++)
    end = search_way(p, net, start, stream->has_place ? is_tile : is_free, goal, through);
  if (end == UINT32_MAX) {
    diag_no_path(l->session->diags, stream->span, l->colors[port->color].name,
                 tile_text(p, tile), "the host");
    return false;
  }
  route_path(p, net, end, port_opposite(port->edge), PORT_RAMP, !port->is_output);
  p->is_host[end] = true;
  *out = (LayoutStream){.name = stream->name, .x = end % p->width, .y = end / p->width,
                        .is_input = !port->is_output, .size = port->size};
  return true;
}

static bool connect_streams(Plan *p)
{
  p->out->n_streams = p->l->n_streams;
  p->out->streams = arena_many(p->arena, LayoutStream, p->l->n_streams + 1);
  for (uint32_t i = 0; i < p->l->n_streams; i++)
    if (!connect_stream(p, &p->l->streams[i], &p->out->streams[i]))
      return false;
  return true;
}

/* ---- colors ------------------------------------------------------------------------------ */

/* Notes which nets share a tile. */
static void find_meetings(Plan *p)
{
  uint32_t *here = arena_many(p->arena, uint32_t, p->n_nets + 1);
  p->meet = arena_many(p->arena, bool, (size_t)p->n_nets * p->n_nets + 1);
  for (uint32_t t = 0; t < p->n_tiles; t++) {
    uint32_t n = 0;
    for (uint32_t net = 0; net < p->n_nets; net++) {
      if (!p->uses[net] || p->uses[net][t] == USE_NONE)
        continue;
      for (uint32_t k = 0; k < n; k++)
        p->meet[net * p->n_nets + here[k]] = p->meet[here[k] * p->n_nets + net] = true;
      here[n++] = net;
    }
  }
}

static bool nets_meet(const Plan *p, uint32_t a, uint32_t b)
{
  return p->meet[a * p->n_nets + b];
}

/* The color that stands for a net in messages: the one that gives it its value, else the first. */
static const RegionColor *net_color(const Plan *p, uint32_t net)
{
  const RegionColor *found = NULL;
  for (uint32_t i = 0; i < p->l->n_colors; i++) {
    const RegionColor *color = &p->l->colors[i];
    if (p->net_of[i] == net && (!found || (found->value == REGION_COLOR_OPEN &&
                                           color->value != REGION_COLOR_OPEN)))
      found = color;
  }
  if (!found)
    ICE("net %u has no color", net);
  return found;
}

static bool check_given(Plan *p, uint32_t net)
{
  for (uint32_t other = 0; other < net; other++) {
    if (!p->uses[other] || p->color_of[other] != p->color_of[net] || !nets_meet(p, net, other))
      continue;
    const RegionColor *color = net_color(p, net), *first = net_color(p, other);
    diag_colors_meet(p->l->session->diags, color->span, first->name, color->name,
                     (unsigned)p->color_of[net]);
    note_first(p, color->span, first->span);
    return false;
  }
  return true;
}

static bool choose_color(Plan *p, uint32_t net, uint32_t usable)
{
  const Machine *m = machine_get(p->l->session->options->arch);
  if (p->switched[net])
    usable &= (uint32_t)m->switchable_colors;
  for (uint32_t other = 0; other < p->n_nets; other++)
    if (other != net && p->uses[other] && p->color_of[other] != REGION_COLOR_OPEN &&
        nets_meet(p, net, other))
      usable &= ~(1u << p->color_of[other]);
  if (!usable) {
    const RegionColor *color = net_color(p, net);
    diag_no_color_left(p->l->session->diags, color->span, color->name);
    return false;
  }
  p->color_of[net] = __builtin_ctz(usable);
  return true;
}

/* Wavelets from and to the host need a color that no router knows: the highest usable one. */
static bool choose_colors(Plan *p)
{
  const Machine *m = machine_get(p->l->session->options->arch);
  uint32_t usable = (1u << m->colors) - 1;
  find_meetings(p);
  if (p->l->n_streams > 0) {
    p->out->stream_color = (uint8_t)(m->memcpy_result_color - 1);
    usable &= ~(3u << p->out->stream_color);
  }
  for (uint32_t net = 0; net < p->n_nets; net++) {
    if (!p->uses[net] || p->color_of[net] == REGION_COLOR_OPEN)
      continue;
    if (!(usable >> p->color_of[net] & 1)) {
      const RegionColor *color = net_color(p, net);
      diag_color_of_streams(p->l->session->diags, color->span, color->name,
                            (unsigned)p->color_of[net]);
      return false;
    }
    if (!check_given(p, net))
      return false;
  }
  for (uint32_t net = 0; net < p->n_nets; net++)
    if (p->uses[net] && p->color_of[net] == REGION_COLOR_OPEN && !choose_color(p, net, usable))
      return false;
  return true;
}

/* ---- the result -------------------------------------------------------------------------- */

typedef struct { uint32_t x, y, width, height; } Used;   /* part of the grid */

static Used used_part(const Plan *p)
{
  uint32_t left = p->width, top = p->height, right = 0, bottom = 0;
  for (uint32_t t = 0; t < p->n_tiles; t++) {
    bool used = p->region_of[t] || p->is_host[t];
    for (uint32_t net = 0; net < p->n_nets && !used; net++)
      used = p->uses[net] && p->uses[net][t] != USE_NONE;
    if (!used)
      continue;
    uint32_t x = t % p->width, y = t / p->width;
    left = x < left ? x : left;
    right = x > right ? x : right;
    top = y < top ? y : top;
    bottom = y > bottom ? y : bottom;
  }
  /* The layout's own (0, 0) stays where it is unless something lies before it. */
  left = left < p->margin ? left : p->margin;
  top = top < p->margin ? top : p->margin;
  return (Used){left, top, right + 1 - left, bottom + 1 - top};
}

static PoolId param_value(const Plan *p, const RegionParam *param)
{
  return param->is_color ? pool_int(p->l->session->pool, POOL(COLOR),
                                    p->color_of[p->net_of[param->color]])
                         : param->value;
}

/* What messages about the programs' parameters show. */
static void list_bindings(Plan *p)
{
  Session *session = p->l->session;
  size_t n = 0;
  for (uint32_t i = 0; i < p->l->n_regions; i++)
    n += p->l->regions[i].n_params;
  OutsideBinding *bindings = arena_many(p->arena, OutsideBinding, n + 1);
  session->outside = bindings;
  session->n_outside = n;
  for (uint32_t i = 0; i < p->l->n_regions; i++) {
    const Region *region = &p->l->regions[i];
    for (uint32_t k = 0; k < region->n_params; k++) {
      const RegionParam *param = &region->params[k];
      *bindings++ = (OutsideBinding){region->span, str_intern_z(session->names, param->name),
                                     param_value(p, param), param->span};
    }
  }
}

static PoolId tile_params(Plan *p, const Region *region, uint32_t x, uint32_t y, BoundParams *bound)
{
  bound->n = 0;
  for (uint32_t i = 0; i < region->n_params; i++) {
    const RegionParam *param = &region->params[i];
    if (x - param->rect.x >= param->rect.width || y - param->rect.y >= param->rect.height)
      continue;
    bound_params_set(p->l->session, bound, param->name, param_value(p, param));
  }
  return bound_params_value(p->l->session, bound);
}

/* The tile's block of each matrix. */
static void tile_symbols(Plan *p, const Region *region, uint32_t x, uint32_t y, LayoutTile *tile)
{
  if (region->n_symbols == 0)
    return;
  LayoutSymbol *symbols = arena_many(p->arena, LayoutSymbol, region->n_symbols);
  for (uint32_t i = 0; i < region->n_symbols; i++) {
    const RegionSymbol *s = &region->symbols[i];
    uint32_t columns = s->columns / region->rect.width, rows = s->rows / region->rect.height;
    size_t line = (size_t)columns * s->element_bytes;
    char *bytes = arena_many(p->arena, char, line * rows + 1);
    for (uint32_t row = 0; row < rows; row++)
      memcpy(bytes + row * line, s->bytes + ((size_t)(y * rows + row) * s->columns +
                                             (size_t)x * columns) * s->element_bytes, line);
    symbols[i] = (LayoutSymbol){str_intern_z(p->l->session->names, s->name),
                                (const uint8_t *)bytes, (uint32_t)(line * rows), s->elements,
                                s->element_bytes, s->span};
  }
  tile->symbols = symbols;
  tile->n_symbols = region->n_symbols;
}

/* As a float; 0 for true and false. */
static double number_of(const Pool *pool, PoolId value)
{
  int64_t integer;
  if (pool_kind(pool, value) == PK_FLOAT)
    return pool_float_value(pool, value);
  return pool_int_value(pool, value, &integer) ? (double)integer : 0;
}

/* False after reporting numbers of the script that would become infinite. */
static bool check_numbers(Session *session, const Ast *ast, const Region *region)
{
  size_t errors = diags_error_count(session->diags);
  for (uint32_t i = 0; i < region->n_params; i++) {
    const RegionParam *param = &region->params[i];
    const Node *decl = param->is_color ? NULL : param_find(session, ast, param->name);
    double number = decl ? number_of(session->pool, param->value) : 0;
    const char *type = decl ? param_type_too_narrow(session, decl, number) : NULL;
    if (type)
      diag_option_too_large(session->diags, param->span,
                            arena_printf(session->arena, "%g", number), type, param->name);
  }
  return diags_error_count(session->diags) == errors;
}

static bool fill_region(Plan *p, const Region *region, Used used)
{
  Session *session = p->l->session;
  const Ast *ast = files_import(session->files, region->source, NULL, region->span);
  if (!ast || !check_numbers(session, ast, region))
    return false;
  BoundParams bound = bound_params_create(p->arena, region->n_params);
  for (uint32_t k = 0; k < region->rect.width * region->rect.height; k++) {
    uint32_t x = k % region->rect.width, y = k / region->rect.width;
    uint32_t t = (region->rect.y + y + p->margin - used.y) * used.width + region->rect.x + x +
                 p->margin - used.x;
    LayoutTile *tile = &p->out->tiles[t];
    *tile = (LayoutTile){.ast = ast, .params = tile_params(p, region, x, y, &bound),
                         .span = region->span};
    tile_symbols(p, region, x, y, tile);
  }
  return true;
}

/* The program of the host's end moves words between the host's color and the net's. */
static bool fill_streams(Plan *p, Used used)
{
  Session *session = p->l->session;
  for (uint32_t i = 0; i < p->l->n_streams; i++) {
    LayoutStream *stream = &p->out->streams[i];
    const RegionPort *port = &p->l->ports[p->l->streams[i].port];
    BoundParams bound = bound_params_create(p->arena, 3);
    bound_params_set(session, &bound, "host",
                     pool_int(session->pool, POOL(COLOR), p->out->stream_color));
    bound_params_set(session, &bound, "fabric", pool_int(session->pool, POOL(COLOR),
                                             p->color_of[p->net_of[port->color]]));
    bound_params_set(session, &bound, "is_input", pool_bool(stream->is_input));
    stream->x -= used.x;
    stream->y -= used.y;
    LayoutTile *tile = &p->out->tiles[stream->y * used.width + stream->x];
    *tile = (LayoutTile){.ast = files_import(session->files, "<host_stream>", NULL, p->l->span),
                         .params = bound_params_value(session, &bound), .span = p->l->span};
    if (!tile->ast)
      return false;
  }
  return true;
}

/* Who has routed the net in the tile: a paint, a port, or the compiler for the whole layout. */
static Span route_span(const Plan *p, uint32_t net, uint32_t tile)
{
  PaintedRoute *painted = p->painted;        /* the map's functions move it */
  ptrdiff_t at = hmgeti(painted, (uint64_t)net << 32 | tile);
  return at >= 0 ? painted[at].value.span : p->l->span;
}

static void fill_colors(Plan *p, Used used)
{
  LayoutResult *out = p->out;
  Span first;
  for (uint32_t net = 0; net < p->n_nets; net++) {
    for (uint32_t t = 0; p->uses[net] && t < p->n_tiles; t++) {
      if (p->uses[net][t] < USE_ROUTED)
        continue;
      uint32_t *set = &out->tile_sets[(t / p->width - used.y) * used.width + t % p->width - used.x];
      if (!color_set_add(out->colors, *set, (uint8_t)p->color_of[net],
                         p->uses[net][t] - USE_ROUTED, route_span(p, net, t), set, &first))
        ICE("two nets of one color in a tile");
    }
  }
  bool shared[MAX_COLORS] = {false};       /* of several nets: no name is right in all tiles */
  uint32_t net_with[MAX_COLORS] = {0};     /* + 1 */
  out->named_colors = arena_many(p->arena, LayoutColor, p->l->n_colors + 1);
  for (uint32_t i = 0; i < p->l->n_colors; i++) {
    const char *name = p->l->colors[i].name;
    uint8_t color = (uint8_t)p->color_of[p->net_of[i]];
    out->named_colors[out->n_named_colors++] = (LayoutColor){name, color};
    shared[color] |= net_with[color] && net_with[color] != p->net_of[i] + 1;
    net_with[color] = p->net_of[i] + 1;
    if (str_is_none(out->color_names[color].name))
      out->color_names[color].name = str_intern_z(p->l->session->names, name);
  }
  for (unsigned color = 0; color < MAX_COLORS; color++)
    if (shared[color])
      out->color_names[color].name = STR_NONE;
}

static bool fill_result(Plan *p)
{
  Used used = used_part(p);
  p->out->origin_x = p->margin - used.x;
  p->out->origin_y = p->margin - used.y;
  layout_set_rectangle(p->l->session, p->out, used.width, used.height, p->l->span);
  list_bindings(p);
  for (uint32_t i = 0; i < p->l->n_regions; i++)
    if (!fill_region(p, &p->l->regions[i], used))
      return false;
  fill_colors(p, used);
  return fill_streams(p, used);
}

bool regions_route(RegionLayout *layout, LayoutResult *result)
{
  Plan plan = {.l = layout, .out = result, .arena = layout->session->arena};
  bool ok = make_grid(&plan) && make_nets(&plan) && paint_all(&plan) && connect_ports(&plan) &&
            connect_streams(&plan) && choose_colors(&plan) && fill_result(&plan);
  hmfree(plan.painted);
  return ok;
}
