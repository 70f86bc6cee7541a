/* Reads the JSON form of a layout that a host script made. */
#include "frontend/layout/regions.h"

#include <errno.h>
#include <jansson.h>
#include <stb_ds.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT = 1, NEW_RELEASE = 2 };

/* A host script: `lines` are offsets of its lines among the sources, and of its end; none if it
 * cannot be read. */
typedef struct { const char *path; uint32_t *lines; } Script;

typedef struct {
  RegionLayout *layout;
  Arena *arena;
  Script *scripts;
  bool ok;
} JsonReader;
/* `path` says where in the file a value stands: regions[2].paint[0].color; `at` is what messages
 * about it show. */
typedef struct { const json_t *json; const char *path; Span at; } Value;

/* ---- places in the script ---------------------------------------------------------------- */

static Script open_script(JsonReader *r, const char *path)
{
  SourceMap *sources = r->layout->session->sources;
  Script script = {.path = path};
  size_t size;
  const char *why;
  char *text = file_read_text(path, FILE_TEXT_MAX_BYTES, &size, &why);
  FileId file = text ? source_add(sources, path, text, size) : (FileId){0};
  uint32_t base = file_is_none(file) ? 0 : source_base(sources, file);
  for (size_t i = 0; base && i < size; i++)
    if (i == 0 || text[i - 1] == '\n')
      arrput(script.lines, base + (uint32_t)i);
  if (base)
    arrput(script.lines, base + (uint32_t)size);
  free(text);
  return script;
}

static const Script *find_script(JsonReader *r, const char *path, size_t length)
{
  for (size_t i = 0; i < arrlenu(r->scripts); i++)
    if (strlen(r->scripts[i].path) == length && memcmp(r->scripts[i].path, path, length) == 0)
      return &r->scripts[i];
  Script script = open_script(r, arena_copy_text(r->arena, path, length));
  arrput(r->scripts, script);
  return &arrlast(r->scripts);
}

/* The line without the blanks around its text. */
static Span line_span(const SourceMap *sources, uint32_t line)
{
  size_t length;
  const char *text = source_line(sources, line, &length);
  size_t blanks = strspn(text, " \t");
  blanks = blanks < length ? blanks : 0;
  while (length > blanks + 1 && strchr(" \t\r", text[length - 1]))
    length--;
  return (Span){line + (uint32_t)blanks, (uint32_t)(length - blanks)};
}

/* The member `name` of an object says "FILE:LINE"; `otherwise` if it does not, or the file is not
 * there: then the place is no worse than without it. */
static Span place_of(JsonReader *r, const json_t *object, const char *name, Span otherwise)
{
  const char *text = json_string_value(json_object_get(object, name));
  const char *colon = text ? strrchr(text, ':') : NULL;
  if (!colon)
    return otherwise;
  const Script *script = find_script(r, text, (size_t)(colon - text));
  unsigned long line = strtoul(colon + 1, NULL, 10);
  if (line == 0 || line >= arrlenu(script->lines))
    return otherwise;
  return line_span(r->layout->session->sources, script->lines[line - 1]);
}

static void close_scripts(JsonReader *r)
{
  for (size_t i = 0; i < arrlenu(r->scripts); i++)
    arrfree(r->scripts[i].lines);
  arrfree(r->scripts);
}

/* ---- values ------------------------------------------------------------------------------ */

static void report_wrong(JsonReader *r, Value v, const char *expected)
{
  if (r->ok)     /* what follows from the first mistake is not worth saying */
    diag_layout_json_value(r->layout->session->diags, v.at, v.path, expected);
  r->ok = false;
}

static Value member_of(JsonReader *r, Value object, const char *name)
{
  const char *path = arena_printf(r->arena, "%s%s%s", object.path, *object.path ? "." : "", name);
  return (Value){json_object_get(object.json, name), path, object.at};
}

static Value element_of(JsonReader *r, Value list, size_t index)
{
  const json_t *element = json_array_get(list.json, index);
  return (Value){element, arena_printf(r->arena, "%s[%zu]", list.path, index),
                 place_of(r, element, "at", list.at)};
}

/* Number of elements; a list that is left away is empty. */
static uint32_t length_of(JsonReader *r, Value list)
{
  if (list.json && !json_is_array(list.json))
    report_wrong(r, list, "a list");
  return r->ok ? (uint32_t)json_array_size(list.json) : 0;
}

static const char *read_text(JsonReader *r, Value v)
{
  if (!json_is_string(v.json)) {
    report_wrong(r, v, "a text");
    return "";
  }
  return arena_copy_text(r->arena, json_string_value(v.json), json_string_length(v.json));
}

static int64_t read_integer(JsonReader *r, Value v, int64_t low, int64_t high)
{
  int64_t value = json_integer_value(v.json);
  if (json_is_integer(v.json) && value >= low && value <= high)
    return value;
  report_wrong(r, v, arena_printf(r->arena, "a whole number from %lld to %lld", (long long)low,
                                       (long long)high));
  return low;
}

static uint32_t fabric_number(JsonReader *r, Value v, uint32_t low)
{
  const Machine *m = machine_get(r->layout->session->options->arch);
  uint32_t most = m->max_fabric_width > m->max_fabric_height ? m->max_fabric_width
                                                             : m->max_fabric_height;
  return (uint32_t)read_integer(r, v, low, most);
}

/* The layout's lists of what has a name; that is the first member of each element. */
typedef struct { const char *list, *one; const void *elements; size_t bytes; uint32_t n; } Named;
_Static_assert(offsetof(RegionColor, name) == 0 && offsetof(Region, name) == 0 &&
                   offsetof(RegionPort, name) == 0 && offsetof(RegionStream, name) == 0,
               "the name is the first member");
#define NAMED(r, list, one) \
  (Named){#list, one, (r)->layout->list, sizeof *(r)->layout->list, (r)->layout->n_##list}

static const char *name_at(const Named *named, uint32_t i)
{
  return *(const char *const *)((const char *)named->elements + i * named->bytes);
}

/* Index of the element that the value names; 0 after reporting. */
static uint32_t index_named(JsonReader *r, Value v, Named named)
{
  const char *name = read_text(r, v);
  for (uint32_t i = 0; i < named.n; i++)
    if (strcmp(name_at(&named, i), name) == 0)
      return i;
  report_wrong(r, v, arena_printf(r->arena, "the name of one of the layout's %s", named.list));
  return 0;
}

static void check_names(JsonReader *r, Value root, Named named)
{
  Value list = member_of(r, root, named.list);
  for (uint32_t i = 0; i < named.n && r->ok; i++)
    for (uint32_t k = 0; k < i; k++)
      if (strcmp(name_at(&named, i), name_at(&named, k)) == 0)
        report_wrong(r, member_of(r, element_of(r, list, i), "name"),
                     arena_printf(r->arena, "a name that no other %s has", named.one));
}

static uint32_t color_named(JsonReader *r, Value v)
{
  return index_named(r, v, NAMED(r, colors, "color"));
}

/* [x, y, width, height] inside the region. */
static RegionRect read_rectangle(JsonReader *r, Value v, const Region *region)
{
  RegionRect rect = {0, 0, region->rect.width, region->rect.height};
  if (!v.json)
    return rect;
  uint32_t *const parts[] = {&rect.x, &rect.y, &rect.width, &rect.height};
  if (length_of(r, v) != ARRAY_COUNT(parts)) {
    report_wrong(r, v, "x, y, width and height");
    return rect;
  }
  for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
    *parts[i] = fabric_number(r, element_of(r, v, i), i < 2 ? 0 : 1);
  if (rect.x + rect.width > region->rect.width || rect.y + rect.height > region->rect.height)
    report_wrong(r, v, "a rectangle inside its region");
  return rect;
}

static bool port_of_name(const char *name, Port *port)
{
  for (int p = 0; p < PORT_COUNT; p++)
    if (strcmp(name, port_name((Port)p)) == 0) {
      *port = (Port)p;
      return true;
    }
  return false;
}

static PortMask read_directions(JsonReader *r, Value v)
{
  PortMask mask = 0;
  Port port = PORT_RAMP;
  for (uint32_t i = 0, n = length_of(r, v); i < n; i++) {
    Value one = element_of(r, v, i);
    if (port_of_name(read_text(r, one), &port))
      mask |= port_bit(port);
    else
      report_wrong(r, one, "RAMP, EAST, WEST, NORTH or SOUTH");
  }
  return mask;
}

static RegionRoutes read_routes(JsonReader *r, Value v)
{
  RegionRoutes out = {.n = length_of(r, v)};
  if (out.n < 1 || out.n > MAX_SWITCH_POSITIONS) {
    report_wrong(r, v,
                 arena_printf(r->arena, "1 to %d switch positions", MAX_SWITCH_POSITIONS));
    out.n = 0;
  }
  for (uint32_t i = 0; i < out.n; i++) {
    out.rx[i] = read_directions(r, member_of(r, element_of(r, v, i), "rx"));
    out.tx[i] = read_directions(r, member_of(r, element_of(r, v, i), "tx"));
  }
  return out;
}

/* ---- regions ----------------------------------------------------------------------------- */

static PoolId read_constant(JsonReader *r, Value v)
{
  Pool *pool = r->layout->session->pool;
  if (json_is_integer(v.json))
    return pool_int(pool, POOL(COMPTIME_INT), json_integer_value(v.json));
  if (json_is_real(v.json))
    return pool_float(pool, POOL(COMPTIME_FLOAT), json_real_value(v.json));
  if (json_is_boolean(v.json))
    return pool_bool(json_is_true(v.json));
  report_wrong(r, v, "a number, true or false");
  return POOL(POISON);
}

static void read_param(JsonReader *r, Value v, const Region *region, RegionParam *param)
{
  param->span = v.at;
  param->rect = read_rectangle(r, member_of(r, v, "rect"), region);
  param->name = read_text(r, member_of(r, v, "name"));
  Value color = member_of(r, v, "color");
  param->is_color = color.json != NULL;
  if (param->is_color)
    param->color = color_named(r, color);
  else
    param->value = read_constant(r, member_of(r, v, "value"));
}

/* wse2 has room for one side in a switch position. */
static void check_sides(JsonReader *r, Value v, const RegionRoutes *routes)
{
  const Machine *m = machine_get(r->layout->session->options->arch);
  for (uint32_t i = 1; i < routes->n; i++) {
    unsigned changed = (routes->rx[i] != routes->rx[i - 1]) + (routes->tx[i] != routes->tx[i - 1]);
    if (changed > m->switch_sides)
      report_wrong(r, v, arena_printf(r->arena, "positions of which each changes the inputs or "
                                      "the outputs of the one before, as %s has them; position "
                                      "%u changes both", m->name, i));
  }
}

static void read_paint(JsonReader *r, Value v, const Region *region, RegionPaint *paint)
{
  paint->span = v.at;
  paint->rect = read_rectangle(r, member_of(r, v, "rect"), region);
  paint->color = color_named(r, member_of(r, v, "color"));
  Value positions = member_of(r, v, "positions");
  paint->routes = read_routes(r, positions);
  for (uint32_t i = 0; i < paint->routes.n; i++)
    if (!paint->routes.rx[i] || !paint->routes.tx[i])
      report_wrong(r, positions, "inputs and outputs in every position");
  check_sides(r, positions, &paint->routes);
}

static HostElements read_elements(JsonReader *r, Value v)
{
  static const char *const names[] = {[ELEMENTS_INTEGERS] = "integers",
                                      [ELEMENTS_FLOATS] = "floats"};
  const char *text = v.json ? read_text(r, v) : NULL;
  for (size_t i = ELEMENTS_INTEGERS; text && i < ARRAY_COUNT(names); i++)
    if (strcmp(text, names[i]) == 0)
      return (HostElements)i;
  if (text)
    report_wrong(r, v, "integers or floats");
  return ELEMENTS_UNKNOWN;
}

static void read_symbol(JsonReader *r, Value v, const Region *region, RegionSymbol *symbol)
{
  symbol->name = read_text(r, member_of(r, v, "name"));
  symbol->span = v.at;
  Value columns = member_of(r, v, "columns"), rows = member_of(r, v, "rows");
  symbol->columns = (uint32_t)read_integer(r, columns, 1, INT32_MAX);
  symbol->rows = (uint32_t)read_integer(r, rows, 1, INT32_MAX);
  symbol->element_bytes = (uint32_t)read_integer(r, member_of(r, v, "element_bytes"), 1, 8);
  symbol->elements = read_elements(r, member_of(r, v, "elements"));
  if (symbol->columns % region->rect.width)
    report_wrong(r, columns, "a multiple of the region's width");
  if (symbol->rows % region->rect.height)
    report_wrong(r, rows, "a multiple of the region's height");
  Value file = member_of(r, v, "file");
  const char *path = read_text(r, file);
  if (!r->ok)
    return;
  size_t size = 0;
  const char *why;
  char *bytes = file_read_text(path, FILE_DATA_MAX_BYTES, &size, &why);
  if (!bytes)
    diag_file_unreadable(r->layout->session->diags, v.at, path, why);
  else if (size != (uint64_t)symbol->columns * symbol->rows * symbol->element_bytes)
    report_wrong(r, file, "a file of columns * rows elements");
  else
    symbol->bytes = arena_copy_text(r->arena, bytes, size);
  source_note_data(r->layout->session->sources, path);
  r->ok &= bytes != NULL;
  free(bytes);
}

static void read_region(JsonReader *r, Value v, Region *region)
{
  region->name = read_text(r, member_of(r, v, "name"));
  region->source = read_text(r, member_of(r, v, "source"));
  region->span = v.at;
  region->placed = place_of(r, v.json, "placed", v.at);
  Value x = member_of(r, v, "x"), y = member_of(r, v, "y");
  x.at = y.at = region->placed;
  region->rect = (RegionRect){
    fabric_number(r, x, 0), fabric_number(r, y, 0),
    fabric_number(r, member_of(r, v, "width"), 1), fabric_number(r, member_of(r, v, "height"), 1)};
  Value params = member_of(r, v, "params"), paints = member_of(r, v, "paint");
  Value symbols = member_of(r, v, "symbols");
  region->n_params = length_of(r, params);
  region->n_paints = length_of(r, paints);
  region->n_symbols = length_of(r, symbols);
  region->params = arena_many(r->arena, RegionParam, region->n_params + 1);
  region->paints = arena_many(r->arena, RegionPaint, region->n_paints + 1);
  region->symbols = arena_many(r->arena, RegionSymbol, region->n_symbols + 1);
  for (uint32_t i = 0; i < region->n_params && r->ok; i++)
    read_param(r, element_of(r, params, i), region, &region->params[i]);
  for (uint32_t i = 0; i < region->n_paints && r->ok; i++)
    read_paint(r, element_of(r, paints, i), region, &region->paints[i]);
  for (uint32_t i = 0; i < region->n_symbols && r->ok; i++)
    read_symbol(r, element_of(r, symbols, i), region, &region->symbols[i]);
}

/* ---- what joins them --------------------------------------------------------------------- */

static void read_color(JsonReader *r, Value v, RegionColor *color)
{
  color->name = read_text(r, member_of(r, v, "name"));
  color->span = v.at;
  color->value = REGION_COLOR_OPEN;
  Value value = member_of(r, v, "value");
  if (value.json && !json_is_null(value.json))
    color->value = read_integer(r, value, 0,
                                machine_get(r->layout->session->options->arch)->colors - 1);
}

/* The whole edge unless the port says which of its tiles. */
static void read_port_tiles(JsonReader *r, Value v, RegionPort *port)
{
  const RegionRect *rect = &r->layout->regions[port->region].rect;
  bool is_row = port->edge == PORT_NORTH || port->edge == PORT_SOUTH;
  uint32_t edge = is_row ? rect->width : rect->height;
  Value first = member_of(r, v, "first"), count = member_of(r, v, "count");
  port->first = first.json ? (uint32_t)read_integer(r, first, 0, edge - 1) : 0;
  port->count = edge - port->first;
  if (count.json)
    port->count = (uint32_t)read_integer(r, count, 1, port->count);
}

static void read_port(JsonReader *r, Value v, RegionPort *port)
{
  static const struct { const char *name; Port port; } edges[] = {
    {"TOP", PORT_NORTH}, {"BOTTOM", PORT_SOUTH}, {"LEFT", PORT_WEST}, {"RIGHT", PORT_EAST}};
  Value edge = member_of(r, v, "edge");
  const char *edge_name = read_text(r, edge);
  port->name = read_text(r, member_of(r, v, "name"));
  port->span = v.at;
  port->region = index_named(r, member_of(r, v, "region"), NAMED(r, regions, "region"));
  port->color = color_named(r, member_of(r, v, "color"));
  port->is_output = json_is_true(member_of(r, v, "output").json);
  port->size = read_integer(r, member_of(r, v, "size"), 0, INT64_MAX);
  port->edge = PORT_COUNT;
  for (size_t i = 0; i < ARRAY_COUNT(edges); i++)
    if (strcmp(edges[i].name, edge_name) == 0)
      port->edge = edges[i].port;
  if (port->edge == PORT_COUNT)
    report_wrong(r, edge, "TOP, BOTTOM, LEFT or RIGHT");
  if (r->ok)
    read_port_tiles(r, v, port);
  Value positions = member_of(r, v, "positions");
  port->routes = read_routes(r, positions);
  for (uint32_t i = 0; i < port->routes.n; i++) {
    const PortMask *inner = port->is_output ? port->routes.rx : port->routes.tx;
    const PortMask *outer = port->is_output ? port->routes.tx : port->routes.rx;
    if (!inner[i] || outer[i])
      report_wrong(r, positions,
                   port->is_output ? "inputs only: the outputs of an output port are "
                                     "its edge"
                                   : "outputs only: the inputs of an input port are "
                                     "its edge");
  }
}

static uint32_t port_named(JsonReader *r, Value v)
{
  return index_named(r, v, NAMED(r, ports, "port"));
}

static void join_port(JsonReader *r, Value v, uint32_t port)
{
  if (r->ok && r->layout->ports[port].is_joined)
    report_wrong(r, v, "a port that nothing else is joined to");
  if (r->ok)
    r->layout->ports[port].is_joined = true;
}

static void read_connection(JsonReader *r, Value v, RegionConnection *connection)
{
  RegionLayout *l = r->layout;
  Value from = member_of(r, v, "from"), to = member_of(r, v, "to");
  connection->span = v.at;
  connection->from = port_named(r, from);
  connection->to = port_named(r, to);
  join_port(r, from, connection->from);
  join_port(r, to, connection->to);
  if (!r->ok)
    return;
  const RegionPort *a = &l->ports[connection->from], *b = &l->ports[connection->to];
  if (!a->is_output)
    report_wrong(r, from, "an output port");
  else if (b->is_output)
    report_wrong(r, to, "an input port");
  else if (a->size != b->size)
    report_wrong(r, v,
                 arena_printf(r->arena,
                              "ports of one size; '%s' has %lld wavelets and '%s' "
                              "%lld",
                              a->name, (long long)a->size, b->name, (long long)b->size));
  else if (a->count != b->count)
    report_wrong(r, v,
                 arena_printf(r->arena, "edges of one length; '%s' has %u tiles and '%s' %u",
                              a->name, a->count, b->name, b->count));
}

static void read_stream(JsonReader *r, Value v, RegionStream *stream)
{
  Value port = member_of(r, v, "port"), place = member_of(r, v, "place");
  stream->name = read_text(r, member_of(r, v, "name"));
  stream->span = v.at;
  stream->port = port_named(r, port);
  join_port(r, port, stream->port);
  if (r->ok && r->layout->ports[stream->port].count != 1)
    report_wrong(r, port, "a port of one tile: a stream reaches the host through one");
  stream->has_place = place.json && !json_is_null(place.json);
  if (!stream->has_place)
    return;
  if (length_of(r, place) != 2)
    report_wrong(r, place, "x and y");
  stream->x = fabric_number(r, element_of(r, place, 0), 0);
  stream->y = fabric_number(r, element_of(r, place, 1), 0);
}

/* ---- the file ---------------------------------------------------------------------------- */

/* One list of the file into its array of the layout. */
#define READ_LIST(list, type, read)                            \
  do {                                                         \
    Value values = member_of(r, root, #list);                     \
    l->n_##list = length_of(r, values);                           \
    l->list = arena_many(r->arena, type, l->n_##list + 1);     \
    for (uint32_t i = 0; i < l->n_##list && r->ok; i++)        \
      read(r, element_of(r, values, i), &l->list[i]);             \
  } while (0)

static void report_unjoined(JsonReader *r)
{
  const RegionLayout *l = r->layout;
  for (uint32_t i = 0; i < l->n_ports && r->ok; i++)
    if (!l->ports[i].is_joined)
      diag_port_unjoined(l->session->diags, l->ports[i].span, l->ports[i].name,
                         l->ports[i].is_output ? "input" : "output");
}

static void read_root(JsonReader *r, const json_t *json)
{
  RegionLayout *l = r->layout;
  l->span = place_of(r, json, "at", l->span);
  Value root = {json, "", l->span};
  if (!json_is_object(json)) {
    report_wrong(r, (Value){json, "the file", l->span}, "an object");
    return;
  }
  read_integer(r, member_of(r, root, "format"), FORMAT, FORMAT);
  Value release = member_of(r, root, "release");
  if (release.json && read_integer(r, release, NEW_RELEASE, NEW_RELEASE) == NEW_RELEASE)
    release_sign(l->session, SIGN_HOST_SCRIPT, l->span);
  READ_LIST(colors, RegionColor, read_color);
  READ_LIST(regions, Region, read_region);
  check_names(r, root, NAMED(r, regions, "region"));
  check_names(r, root, NAMED(r, colors, "color"));
  READ_LIST(ports, RegionPort, read_port);
  check_names(r, root, NAMED(r, ports, "port"));
  READ_LIST(connections, RegionConnection, read_connection);
  READ_LIST(streams, RegionStream, read_stream);
  check_names(r, root, NAMED(r, streams, "stream"));
  if (l->n_regions == 0)
    report_wrong(r, member_of(r, root, "regions"), "at least one region");
  report_unjoined(r);
}

bool regions_read(RegionLayout *layout)
{
  Session *session = layout->session;
  const char *path = session->options->layout_json;
  size_t size;
  const char *why;
  char *bytes = file_read_text(path, FILE_TEXT_MAX_BYTES, &size, &why);
  if (!bytes) {
    diag_file_unreadable(session->diags, (Span){0}, path, why);
    return false;
  }
  FileId file = source_add(session->sources, path, bytes, size);
  uint32_t base = source_base(session->sources, file);
  layout->span = (Span){base, 1};
  json_error_t error;
  json_t *json = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &error);
  free(bytes);
  if (!json) {
    uint32_t before = error.position > 0 ? (uint32_t)error.position - 1 : 0;
    Span at = {base + (before < size ? before : 0), 1};
    diag_layout_json_syntax(session->diags, at, error.text);
    return false;
  }
  JsonReader reader = {layout, session->arena, NULL, true};
  read_root(&reader, json);
  close_scripts(&reader);
  json_decref(json);
  return reader.ok;
}
