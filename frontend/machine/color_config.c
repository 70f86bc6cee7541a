/* Color configurations: read from the program's struct values, interned, and gathered into the
 * set of each tile.
 *
 * A layout of a million tiles sets millions of configurations out of a handful of different
 * ones.  The struct value is an interned id, so that a configuration is read once; a tile's set
 * is the number of an interned set, and adding to it is one lookup. */
#include "frontend/machine/machine.h"

#include <stb_ds.h>
#include <string.h>

typedef struct { uint32_t key, value; } ValueMemo;
typedef struct { uint32_t set; uint8_t color; uint32_t config; } ConfigStep;
typedef struct { uint32_t set; Span span; } StepResult;
typedef struct { ConfigStep key; StepResult value; } StepMemo;
typedef struct { ImageColorConfig key; uint32_t value; } ConfigMemo;
/* A set is the one before it and one more use. */
typedef struct {
  uint32_t n, colors, filters;
  ImageColorUse *uses;
  Span *spans;
  uint32_t next;               /* the set that `next_use` made of it last; 0: none yet */
  ImageColorUse next_use;
} ColorSet;
typedef struct { uint32_t value, config; } LastConfig;
typedef struct { uint64_t key; uint32_t value; } SetMemo;

/* Where a configuration is put in for each color: off 0: nowhere, or at several places. */
typedef struct { Span span[MAX_COLORS]; bool is_known[MAX_COLORS]; } Places;

struct ColorTable {
  Arena *arena;
  Places *places;              /* by configuration; stb_ds */
  ImageColorConfig *configs;   /* stb_ds arrays and maps */
  ColorSet *sets;
  ValueMemo *by_value;
  StepMemo *steps;
  ConfigMemo *by_config;
  SetMemo *by_content;
  LastConfig last[MAX_COLORS]; /* by color; value 0: none yet */
};

ColorTable *color_table_create(Arena *arena)
{
  ColorTable *table = arena_new(arena, ColorTable);
  table->arena = arena;
  arrput(table->sets, ((ColorSet){0}));
  return table;
}

void color_table_destroy(ColorTable *table)
{
  arrfree(table->configs);
  arrfree(table->places);
  arrfree(table->sets);
  hmfree(table->by_value);
  hmfree(table->steps);
  hmfree(table->by_config);
  hmfree(table->by_content);
}

const ImageColorConfig *color_table_configs(const ColorTable *table, uint32_t *n)
{
  *n = (uint32_t)arrlenu(table->configs);
  return table->configs;
}

const ImageColorSet *color_table_sets(ColorTable *table, Arena *arena, uint32_t *n)
{
  *n = (uint32_t)arrlenu(table->sets);
  ImageColorSet *sets = arena_many(arena, ImageColorSet, *n);
  for (uint32_t i = 0; i < *n; i++)
    sets[i] = (ImageColorSet){table->sets[i].n, table->sets[i].uses};
  return sets;
}

/* ---- sets -------------------------------------------------------------------------------- */

/* Sets with the same members are one set, independent of the order of additions. */
static uint64_t set_hash(const ColorSet *set)
{
  uint64_t h = 14695981039346656037u;
  for (uint32_t i = 0; i < set->n; i++) {
    h = (h ^ set->uses[i].color) * 1099511628211u;
    h = (h ^ set->uses[i].config) * 1099511628211u;
  }
  return h;
}

static bool same_set(const ColorSet *a, const ColorSet *b)
{
  if (a->n != b->n)
    return false;
  for (uint32_t i = 0; i < a->n; i++)
    if (a->uses[i].color != b->uses[i].color || a->uses[i].config != b->uses[i].config)
      return false;
  return true;
}

static uint32_t intern_set(ColorTable *table, ColorSet set)
{
  uint64_t hash = set_hash(&set);
  for (;; hash++) {
    ptrdiff_t at = hmgeti(table->by_content, hash);
    if (at < 0)
      break;
    if (same_set(&table->sets[table->by_content[at].value], &set))
      return table->by_content[at].value;
  }
  arrput(table->sets, set);
  uint32_t index = (uint32_t)arrlenu(table->sets) - 1;
  hmput(table->by_content, hash, index);
  return index;
}

static uint32_t extend_set(ColorTable *table, uint32_t set, uint8_t color, uint32_t config,
                           Span span)
{
  const ColorSet old = table->sets[set];
  bool has_filter = table->configs[config].filter.kind != FILTER_NONE;
  ColorSet grown = {.n = old.n + 1, .colors = old.colors | 1u << color,
                    .filters = old.filters + has_filter};
  grown.uses = arena_many(table->arena, ImageColorUse, grown.n);
  grown.spans = arena_many(table->arena, Span, grown.n);
  uint32_t k = 0, i = 0;
  while (i < old.n && old.uses[i].color < color) {
    grown.uses[k] = old.uses[i];
    grown.spans[k++] = old.spans[i++];
  }
  grown.uses[k] = (ImageColorUse){color, config};
  grown.spans[k++] = span;
  while (i < old.n) {
    grown.uses[k] = old.uses[i];
    grown.spans[k++] = old.spans[i++];
  }
  return intern_set(table, grown);
}

/* The set with one more use, by the steps known so far. */
static uint32_t step_from(ColorTable *table, uint32_t set, uint8_t color, uint32_t config,
                          Span span)
{
  ConfigStep step;
  memset(&step, 0, sizeof step);   /* stb_ds hashes the padding */
  step.set = set;
  step.color = color;
  step.config = config;
  ptrdiff_t at = hmgeti(table->steps, step);
  if (at >= 0)
    return table->steps[at].value.set;
  StepResult value = {extend_set(table, set, color, config, span), span};
  hmput(table->steps, step, value);
  return value.set;
}

static void note_place(ColorTable *table, uint8_t color, uint32_t config, Span span)
{
  Places *places = &table->places[config];
  if (!places->is_known[color])
    places->span[color] = span;
  else if (places->span[color].off != span.off)
    places->span[color] = (Span){0, 0};
  places->is_known[color] = true;
}

bool color_set_add(ColorTable *table, uint32_t set, uint8_t color, uint32_t config, Span span,
                   uint32_t *result, Span *first)
{
  if (table->sets[set].colors & 1u << color) {
    for (uint32_t i = 0; i < table->sets[set].n; i++)
      if (table->sets[set].uses[i].color == color)
        *first = table->sets[set].spans[i];
    return false;
  }
  note_place(table, color, config, span);
  ColorSet *from = &table->sets[set];
  if (from->next != 0 && from->next_use.color == color && from->next_use.config == config) {
    *result = from->next;
    return true;
  }
  *result = step_from(table, set, color, config, span);
  from = &table->sets[set];    /* it may have moved */
  from->next = *result;
  from->next_use = (ImageColorUse){color, config};
  return true;
}

/* Told of the first one that is too many; those behind it follow from the same mistake. */
bool color_set_fits(Session *session, const ColorTable *table, uint32_t set, uint32_t config,
                    uint32_t x, uint32_t y, Span at)
{
  const Machine *m = machine_get(session->options->arch);
  if (table->configs[config].filter.kind == FILTER_NONE ||
      table->sets[set].filters != m->filters + 1u)
    return true;
  diag_too_many_filters(session->diags, at, x, y, m->filters, m->name);
  return false;
}

bool color_set_has_filter(const ColorTable *table, uint32_t set, uint8_t color)
{
  const ColorSet *of_tile = &table->sets[set];
  for (uint32_t i = 0; of_tile->filters && i < of_tile->n; i++)
    if (of_tile->uses[i].color == color)
      return table->configs[of_tile->uses[i].config].filter.kind != FILTER_NONE;
  return false;
}

Span color_set_span(const ColorTable *table, uint32_t set, uint8_t color)
{
  for (uint32_t i = 0; i < table->sets[set].n; i++)
    if (table->sets[set].uses[i].color == color)
      return table->places[table->sets[set].uses[i].config].span[color];
  return (Span){0, 0};
}

/* ---- reading a configuration ------------------------------------------------------------- */

typedef struct { Sema *s; const Node *node; bool ok; uint8_t color; } ConfigReader;

static bool read_direction(ConfigReader *r, PoolId value, const char *what, Span at, PortMask *mask)
{
  Sema *s = r->s;
  int64_t port;
  if (!pool_eq(pool_type_of(s->pool, value), POOL(DIRECTION)) ||
      !pool_int_value(s->pool, value, &port) || port < 0 || port >= PORT_COUNT) {
    diag_not_a_direction(s->diags, at, what, value);
    return r->ok = false;
  }
  PortMask bit = port_bit((Port)port);
  if (*mask & bit) {
    diag_direction_twice(s->diags, at, what, port_name((Port)port));
    return r->ok = false;
  }
  *mask |= bit;
  return true;
}

/* One direction, or a tuple or array of them. */
static PortMask read_directions(ConfigReader *r, const Setting *field, const char *what)
{
  PortMask mask = 0;
  PoolId value = sema_comptime_value(r->s, field->value, field->span);
  PoolKey key = pool_key(r->s->pool, value);
  if (key.kind != PK_AGGREGATE) {
    read_direction(r, value, what, field->span, &mask);
    return mask;
  }
  const Node *list = field->node && node_kind(field->node) == ND_LIST_INIT ? field->node : NULL;
  for (uint32_t i = 0; i < key.u.aggregate.n; i++) {
    Span at = list ? node_list_init(list)->items.at[i]->span : field->span;
    if (!read_direction(r, pool_key(r->s->pool, value).u.aggregate.elems[i], what, at, &mask))
      break;
  }
  return mask;
}

static Setting *take_setting(ConfigReader *r, Settings *set, const char *name)
{
  Setting *field = settings_take(r->s, set, name);
  if (field && operand_is_comptime(field->value) && pool_eq(field->value.type, POOL(VOID)))
    return NULL;
  return field;
}

static Settings sub_settings(ConfigReader *r, const Setting *field)
{
  PoolId value = sema_comptime_value(r->s, field->value, field->span);
  Settings set = settings_of_value(r->s, value, field->node, field->span);
  r->ok &= set.ok;
  return set;
}

static uint16_t read_u16(ConfigReader *r, Settings *set, const char *name, bool *given)
{
  int64_t value = 0;
  Setting *field = take_setting(r, set, name);
  if (given)
    *given = field != NULL;
  if (field)
    r->ok &= sema_number_in(r->s, field->value, 0, UINT16_MAX, name, field->span, &value);
  return (uint16_t)value;
}

static void read_pop_mode(ConfigReader *r, const Setting *field, ImageColorConfig *config)
{
  if (!field)
    return;
  int mode = setting_choice(r->s, field, SETTINGS_pop_mode, &r->ok);
  if (mode >= 0)
    config->pop = (PopMode)mode;
}

/* Whether a color is swapped on an axis. */
static bool read_swap(ConfigReader *r, Settings *set, const char *name)
{
  Setting *field = take_setting(r, set, name);
  const Machine *m = sema_machine(r->s);
  bool is_swapped = setting_bool(r->s, field, false);
  if (is_swapped && !m->color_swap) {
    diag_setting_arch(r->s->diags, field->span, name, m->name);
    r->ok = false;
  }
  return is_swapped;
}

static void take_routes(ConfigReader *r, Settings *set, ImageColorConfig *config)
{
  Setting *rx = take_setting(r, set, "rx"), *tx = take_setting(r, set, "tx");
  if (rx)
    config->positions[0].rx = read_directions(r, rx, "rx");
  if (tx)
    config->positions[0].tx = read_directions(r, tx, "tx");
  config->positions[0].valid = true;
  config->swap_x = read_swap(r, set, "color_swap_x");
  config->swap_y = read_swap(r, set, "color_swap_y");
  read_pop_mode(r, take_setting(r, set, "pop_mode"), config);
}

/* Routes as a number (SDK docs, builtins): bits of the inputs, above them those of the outputs. */
static const Port bit_ports[] = {PORT_WEST, PORT_EAST, PORT_SOUTH, PORT_NORTH, PORT_RAMP};
enum { BIT_SIDES = 2, ROUTE_BITS = BIT_SIDES * ARRAY_COUNT(bit_ports) };

static PortMask ports_of_bits(unsigned bits)
{
  PortMask mask = 0;
  for (unsigned i = 0; i < ARRAY_COUNT(bit_ports); i++)
    if (bits >> i & 1)
      mask |= port_bit(bit_ports[i]);
  return mask;
}

/* False if the field is no number; with one that is out of range, it is reported. */
static bool read_route_bits(ConfigReader *r, const Setting *field, PortMask *rx, PortMask *tx)
{
  int64_t bits = 0;
  *rx = *tx = 0;
  if (!type_is_int(r->s->pool, field->value.type))
    return false;
  r->ok &= sema_number_in(r->s, field->value, 0, (1 << ROUTE_BITS) - 1, "routes", field->span,
                          &bits);
  *rx = ports_of_bits((unsigned)bits);
  *tx = ports_of_bits((unsigned)bits >> ARRAY_COUNT(bit_ports));
  release_sign_here(r->s, SIGN_BIT_ROUTES, field->span);
  return true;
}

static void read_routes(ConfigReader *r, Setting *field, ImageColorConfig *config)
{
  ImagePosition *first = &config->positions[0];
  first->valid = true;
  if (read_route_bits(r, field, &first->rx, &first->tx))
    return;
  Settings set = sub_settings(r, field);
  if (!set.ok)
    return;
  take_routes(r, &set, config);
  settings_finish(r->s, &set, SETTINGS_routes);
}

static const char *const route_names[] = {"rx", "tx"};
static const char *const position_names[] = {"pos1", "pos2", "pos3"};

static bool has_field_of(ConfigReader *r, const Settings *set, const char *const *names, size_t n)
{
  for (uint32_t i = 0; i < set->n; i++)
    for (size_t k = 0; k < n; k++)
      if (strcmp(sema_text(r->s, set->at[i].name), names[k]) == 0)
        return true;
  return false;
}

/* The fields of `routes` may stand in the configuration itself (SDK docs, conceptual view). */
static bool has_routes_inside(ConfigReader *r, const Settings *set)
{
  return has_field_of(r, set, route_names, ARRAY_COUNT(route_names));
}

/* Those of `switches` may do so as well (Cerebras/csl-examples, release 0.4). */
static bool has_switches_inside(ConfigReader *r, const Settings *set)
{
  return has_field_of(r, set, position_names, ARRAY_COUNT(position_names));
}

const char *ports_text(Arena *arena, PortMask mask)
{
  const char *text = "";
  for (int p = 0; p < PORT_COUNT; p++)
    if (mask & port_bit((Port)p))
      text = arena_printf(arena, "%s%s%s", text, *text ? ", " : "", port_name((Port)p));
  return *text ? text : "nowhere";
}

/* wse2 has room for one side in a position. */
static void check_sides(ConfigReader *r, const Setting *field, const ImagePosition *positions,
                        unsigned k)
{
  const ImagePosition *before = &positions[k - 1], *now = &positions[k];
  unsigned changed = (now->rx != before->rx) + (now->tx != before->tx);
  if (!field || !r->ok || !now->valid || changed <= sema_machine(r->s)->switch_sides)
    return;
  Diags *diags = r->s->diags;
  diag_position_two_sides(diags, field->span, k, sema_machine(r->s)->name);
  diag_position_sides_before(diags, field->span, k - 1, ports_text(r->s->arena, before->rx),
                             ports_text(r->s->arena, before->tx));
  r->ok = false;
}

/* A position changes one side (or both) of the one before it: what it does not mention is
 * inherited from there, not from `routes` (three public programs need that: 25-pt-stencil,
 * cholesky, spmv-hypersparse in Cerebras/csl-examples). */
static void read_position(ConfigReader *r, Setting *field, const ImagePosition *before,
                          ImagePosition *position)
{
  *position = (ImagePosition){before->rx, before->tx, false};
  if (!field)
    return;
  PortMask inputs, outputs;
  if (read_route_bits(r, field, &inputs, &outputs)) {
    *position = (ImagePosition){inputs ? inputs : before->rx, outputs ? outputs : before->tx,
                                inputs || outputs};
    return;
  }
  Settings set = sub_settings(r, field);
  if (!set.ok)
    return;
  Setting *rx = take_setting(r, &set, "rx"), *tx = take_setting(r, &set, "tx");
  bool invalid = setting_bool(r->s, take_setting(r, &set, "invalid"), false);
  if (rx)
    position->rx = read_directions(r, rx, "rx");
  if (tx)
    position->tx = read_directions(r, tx, "tx");
  position->valid = !invalid;
  if (invalid && (rx || tx)) {
    diag_position_invalid_and(r->s->diags, set.span);
    r->ok = false;
  }
  settings_finish(r->s, &set, SETTINGS_switch_position);
}

static void report_no_switches(const ConfigReader *r, Span at)
{
  const Machine *m = sema_machine(r->s);
  const char *list = "";
  for (unsigned c = 0; c < m->colors; c++)
    if (m->switchable_colors >> c & 1)
      list = arena_printf(r->s->arena, "%s%s%u", list, *list ? ", " : "", c);
  diag_color_no_switches(r->s->diags, at, (unsigned)r->color, m->name);
  diag_colors_with_switches(r->s->diags, at, m->name, list);
}

/* Commands advance to the next position or, by a reset or around a ring, go back to 0. */
static void warn_of_unreachable(ConfigReader *r, Setting *const *fields,
                                const ImageColorConfig *config)
{
  bool reached[MAX_SWITCH_POSITIONS] = {[0] = true};
  reached[config->current] = true;
  for (unsigned k = 1; k < MAX_SWITCH_POSITIONS; k++) {
    reached[k] = config->positions[k].valid && (reached[k] || reached[k - 1]);
    if (config->positions[k].valid && !reached[k])
      diag_position_unreachable(r->s->diags, fields[k]->name_span, k, k - 1);
  }
}

static void take_switches(ConfigReader *r, Settings *set, ImageColorConfig *config)
{
  Setting *fields[MAX_SWITCH_POSITIONS] = {NULL};
  for (unsigned k = 1; k < MAX_SWITCH_POSITIONS; k++) {
    fields[k] = take_setting(r, set, position_names[k - 1]);
    read_position(r, fields[k], &config->positions[k - 1], &config->positions[k]);
    check_sides(r, fields[k], config->positions, k);
  }
  /* Inheritance needed the ports of positions that cannot be reached; the image has none there. */
  for (unsigned k = 1; k < MAX_SWITCH_POSITIONS; k++) {
    if (!config->positions[k].valid)
      config->positions[k] = (ImagePosition){0, 0, false};
  }
  Setting *current = take_setting(r, set, "current_switch_pos");
  int64_t position = 0;
  if (current)
    r->ok &= sema_number_in(r->s, current->value, 0, MAX_SWITCH_POSITIONS - 1,
                            "'current_switch_pos'", current->span, &position);
  config->current = (uint8_t)position;
  if (r->ok && !config->positions[position].valid) {
    diag_position_not_set(r->s->diags, current ? current->span : set->span,
                          (unsigned)position);
    r->ok = false;
  }
  if (r->ok)
    warn_of_unreachable(r, fields, config);
  config->ring = setting_bool(r->s, take_setting(r, set, "ring_mode"), false);
  read_pop_mode(r, take_setting(r, set, "pop_mode"), config);
  if (!(sema_machine(r->s)->switchable_colors & (uint64_t)1 << r->color)) {
    report_no_switches(r, set->span);
    r->ok = false;
  }
}

static void read_switches(ConfigReader *r, Setting *field, ImageColorConfig *config)
{
  Settings set = sub_settings(r, field);
  if (!set.ok)
    return;
  take_switches(r, &set, config);
  settings_finish(r->s, &set, SETTINGS_switches);
}

/* In the order of settings.def. */
static const struct { FilterKind kind; SettingsId fields; } filter_kinds[] = {
  {FILTER_COUNTER, SETTINGS_counter_filter}, {FILTER_SPARSE, SETTINGS_sparse_counter_filter},
  {FILTER_RANGE, SETTINGS_range_filter}};

/* Index in filter_kinds, or -1 after reporting. */
static int read_filter_kind(ConfigReader *r, Settings *set)
{
  Setting *field = take_setting(r, set, "kind");
  if (!field) {
    settings_missing(r->s, set, "filter", "kind");
    r->ok = false;
    return -1;
  }
  size_t errors = diags_error_count(r->s->diags);
  int kind = setting_choice(r->s, field, SETTINGS_filter_kind, &r->ok);
  if (kind < 0 && r->ok && diags_error_count(r->s->diags) == errors)
    diag_setting_missing(r->s->diags, field->span, "filter", "kind");
  r->ok &= kind >= 0;
  return r->ok ? kind : -1;
}

/* What says which wavelets pass: left out, it is 0, which lets everything pass, or nothing.
 * Programs may set it when they run.  True if it is there. */
static bool read_limit(ConfigReader *r, Settings *set, const char *what, const char *name,
                       uint16_t *value)
{
  bool given;
  *value = read_u16(r, set, name, &given);
  if (!given)
    diag_filter_without(r->s->diags, set->span, what, name);
  return given;
}

/* Equal limits are those of a block as long as the period: programs for any size have them for one
 * tile. */
static void warn_if_all_pass(ConfigReader *r, const Settings *set, const ImageFilter *filter)
{
  bool counts = filter->count_data || filter->count_control;
  if (!counts || filter->filter_control || filter->init_counter > filter->limit1 ||
      filter->max_counter <= filter->limit1)
    return;
  diag_filter_passes_all(r->s->diags, set->span, filter->limit1, filter->max_counter);
  diag_filter_counts(r->s->diags, set->span);
}

static void read_counter(ConfigReader *r, Settings *set, const char *what, ImageFilter *filter)
{
  filter->count_data = setting_bool(r->s, take_setting(r, set, "count_data"), false);
  filter->count_control = setting_bool(r->s, take_setting(r, set, "count_control"), false);
  if (!filter->count_data && !filter->count_control)
    diag_filter_counts_nothing(r->s->diags, set->span, what);
  filter->filter_control = setting_bool(r->s, take_setting(r, set, "filter_control"), false);
  filter->init_counter = read_u16(r, set, "init_counter", NULL);
  if (filter->kind == FILTER_SPARSE) {
    filter->limit1 = read_u16(r, set, "limit1", NULL);
    filter->limit2 = read_u16(r, set, "limit2", &filter->has_limit2);
  }
  bool has_period = filter->kind != FILTER_SPARSE &&
                    read_limit(r, set, what, "limit1", &filter->limit1);
  if (read_limit(r, set, what, "max_counter", &filter->max_counter) && has_period && r->ok)
    warn_if_all_pass(r, set, filter);
}

static void read_filter(ConfigReader *r, Setting *field, ImageFilter *filter)
{
  Settings set = sub_settings(r, field);
  int kind = set.ok ? read_filter_kind(r, &set) : -1;
  if (kind < 0)
    return;
  const char *what = settings_group(filter_kinds[kind].fields)->what;
  if (!settings_are_known(r->s, &set, filter_kinds[kind].fields)) {
    r->ok = false;
    return;
  }
  filter->kind = filter_kinds[kind].kind;
  setting_bool(r->s, take_setting(r, &set, "fast_mode"), false);
  if (filter->kind == FILTER_RANGE) {
    read_limit(r, &set, what, "min_idx", &filter->limit1);
    read_limit(r, &set, what, "max_idx", &filter->max_counter);
    if (r->ok && filter->max_counter > 0 && filter->limit1 > filter->max_counter)
      diag_filter_passes_nothing(r->s->diags, set.span, filter->limit1, filter->max_counter);
  } else {
    read_counter(r, &set, what, filter);
  }
}

static bool read_config(ConfigReader *r, PoolId value, ImageColorConfig *config)
{
  Settings set = settings_of_value(r->s, value, r->node, r->node->span);
  if (!set.ok)
    return false;
  Setting *routes = take_setting(r, &set, "routes");
  if (!routes && !has_routes_inside(r, &set)) {
    settings_missing(r->s, &set, settings_group(SETTINGS_color_config)->what, "routes");
    diag_color_config_form(r->s->diags, set.span);
    return false;
  }
  if (routes)
    read_routes(r, routes, config);
  else
    take_routes(r, &set, config);
  Setting *switches = take_setting(r, &set, "switches");
  if (switches)
    read_switches(r, switches, config);
  else if (!routes && has_switches_inside(r, &set))
    take_switches(r, &set, config);
  Setting *filter = take_setting(r, &set, "filter");
  if (filter)
    read_filter(r, filter, &config->filter);
  config->teardown = setting_bool(r->s, take_setting(r, &set, "teardown"), false);
  settings_finish(r->s, &set, SETTINGS_color_config);
  return r->ok;
}

uint32_t color_config_intern(ColorTable *table, const ImageColorConfig *config)
{
  ptrdiff_t at = hmgeti(table->by_config, *config);
  if (at >= 0)
    return table->by_config[at].value;
  arrput(table->configs, *config);
  Places nowhere = {0};
  arrput(table->places, nowhere);
  uint32_t index = (uint32_t)arrlenu(table->configs) - 1;
  hmput(table->by_config, *config, index);
  return index;
}

/* Colors differ in whether they may have switches, so they are part of the memo's key. */
bool color_config_of(Sema *s, ColorTable *table, uint8_t color, PoolId value,
                     const Node *node, uint32_t *index)
{
  bool plain = (sema_machine(s)->switchable_colors >> color & 1) != 0;
  LastConfig *last = &table->last[color];
  if (plain && last->value == value.raw) {
    *index = last->config;
    return true;
  }
  ptrdiff_t at = plain ? hmgeti(table->by_value, value.raw) : -1;
  if (at >= 0) {
    *index = table->by_value[at].value;
    *last = (LastConfig){value.raw, *index};
    return true;
  }
  ImageColorConfig config;
  memset(&config, 0, sizeof config);   /* stb_ds hashes the padding */
  size_t errors = diags_error_count(s->diags);
  ConfigReader reader = {s, node, true, color};
  if (!read_config(&reader, value, &config) || diags_error_count(s->diags) != errors)
    return false;
  *index = color_config_intern(table, &config);
  if (plain)
    hmput(table->by_value, value.raw, *index);
  return true;
}
