/* The layout: evaluates the main file's layout block once and keeps its settings for every tile. */
#include "frontend/analysis/analysis.h"
#include "frontend/layout/layout_internal.h"
#include "frontend/layout/regions.h"

#include <errno.h>
#include <math.h>
#include <stb_ds.h>
#include <stdlib.h>
#include <string.h>

/* ---- parameters from the command line ---------------------------------------------------- */

static void report_unknown_param(Session *session, const Ast *ast, const OptionBinding *binding)
{
  const char **names = NULL;
  diag_option_unknown_param(session->diags, binding->span, binding->name);
  for (uint32_t i = 0; i < ast->decls.count; i++) {
    const Node *n = ast->decls.at[i];
    StrId param = param_name_of(n);
    if (!str_is_none(param))
      arrput(names, str_text(session->names, param));
    if (node_kind(n) != ND_VAR_DECL || node_var_decl(n)->var_kind != VAR_CONST)
      continue;
    const char *name = str_text(session->names, node_var_decl(n)->name.text);
    if (strcmp(name, binding->name) == 0)
      diag_param_needed(session->diags, node_var_decl(n)->name.span, name);
  }
  const char *near = base_nearest(binding->name, names, arrlenu(names));
  diag_suggest(session->diags, binding->span, near);
  arrfree(names);
}

bool layout_read_integer(const char *text, mpz_t number)
{
  static const struct { const char *prefix; int base; } forms[] = {
    {"0x", 16}, {"0o", 8}, {"0b", 2}, {"", 10},
  };
  bool is_negative = *text == '-';
  size_t form = 0;
  text += is_negative || *text == '+';
  while (strncmp(text, forms[form].prefix, strlen(forms[form].prefix)) != 0)
    form++;
  text += strlen(forms[form].prefix);
  /* GMP would skip blanks: 1 2 is not 12. */
  if (!*text || text[strspn(text, "0123456789abcdefABCDEF")] ||
      mpz_set_str(number, text, forms[form].base) != 0)
    return false;
  if (is_negative)
    mpz_neg(number, number);
  return true;
}

/* False after reporting a finite number that would become infinite. */
static bool check_narrow(Session *session, const OptionBinding *binding, const Node *decl,
                         double number)
{
  const char *type = param_type_too_narrow(session, decl, number);
  if (type)
    diag_option_too_large(session->diags, binding->span, binding->value, type, binding->name);
  return !type;
}

static PoolId integer_option(Session *session, const OptionBinding *binding,
                             const Node *decl, bool is_color, const mpz_t number)
{
  bool is_small = wide_is_small(number);
  int64_t small = is_small ? mpz_get_si(number) : -1;
  if (is_color || param_has_type(session, decl, "color")) {
    /* As of @get_color: not only those of routers. */
    unsigned last = machine_get(session->options->arch)->control_task_ids - 1u;
    if (small >= 0 && small <= (int64_t)last)
      return pool_int(session->pool, POOL(COLOR), small);
    diag_option_color(session->diags, binding->span, binding->name, binding->value, last);
    return POOL(POISON);
  }
  if (!check_narrow(session, binding, decl, mpz_get_d(number)))
    return POOL(POISON);
  if (param_has_type(session, decl, "bool") && (small == 0 || small == 1))
    return pool_bool(small == 1);
  return is_small ? pool_int(session->pool, POOL(COMPTIME_INT), small)
                  : pool_bigint(session->pool, POOL(COMPTIME_INT), number);
}

/* The value in the terms of the parameter's declaration: numbers, 0/1 or true/false for bools,
 * numbers of colors for colors. */
static PoolId option_value(Session *session, const OptionBinding *binding, const Node *decl,
                           bool is_color)
{
  const char *text = binding->value;
  char *end = NULL;
  mpz_t number;
  mpz_init(number);
  bool is_integer = layout_read_integer(text, number);
  PoolId value = POOL(POISON);
  if (is_integer)
    value = integer_option(session, binding, decl, is_color, number);
  mpz_clear(number);
  if (is_integer)
    return value;
  if (is_color || param_has_type(session, decl, "color")) {
    unsigned last = machine_get(session->options->arch)->control_task_ids - 1u;
    diag_option_color(session->diags, binding->span, binding->name, text, last);
    return POOL(POISON);
  }
  if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
    return pool_bool(text[0] == 't');
  errno = 0;
  double real = strtod(text, &end);
  bool is_number = end != text && *end == 0;
  if (is_number && isfinite(real) && !check_narrow(session, binding, decl, real))
    return POOL(POISON);
  if (is_number && errno == 0)
    return pool_float(session->pool, POOL(COMPTIME_FLOAT), real);
  diag_option_value(session->diags, binding->span, binding->name, text);
  return POOL(POISON);
}

static void bind_option(Session *session, const Ast *ast, const OptionBinding *binding,
                        bool is_color, BoundParams *bound)
{
  const Node *decl = param_find(session, ast, binding->name);
  if (!decl) {
    report_unknown_param(session, ast, binding);
    return;
  }
  PoolId value = option_value(session, binding, decl, is_color);
  if (pool_eq(value, POOL(POISON)))
    return;
  bound_params_set(session, bound, binding->name, value);
}

/* The last value of a parameter counts, so that a script can append to options; those of --colors
 * count after those of --params. `earlier`: the first n bindings there. */
static void warn_twice(Session *session, const OptionBinding *earlier, size_t n,
                       const OptionBinding *binding)
{
  for (size_t k = n; k-- > 0;) {
    if (strcmp(earlier[k].name, binding->name) != 0)
      continue;
    if (strcmp(earlier[k].value, binding->value) != 0)
      diag_option_twice(session->diags, binding->span, binding->name, earlier[k].value,
                        binding->value);
    return;
  }
}

static PoolId bind_options(Session *session, const Ast *ast)
{
  const Options *o = session->options;
  size_t most = arrlenu(o->params) + arrlenu(o->colors);
  BoundParams bound = bound_params_create(session->arena, most);
  for (size_t i = 0; i < arrlenu(o->params); i++) {
    warn_twice(session, o->params, i, &o->params[i]);
    bind_option(session, ast, &o->params[i], false, &bound);
  }
  for (size_t i = 0; i < arrlenu(o->colors); i++) {
    warn_twice(session, o->params, arrlenu(o->params), &o->colors[i]);
    warn_twice(session, o->colors, i, &o->colors[i]);
    bind_option(session, ast, &o->colors[i], true, &bound);
  }
  return bound_params_value(session, &bound);
}

/* ---- geometry ---------------------------------------------------------------------------- */

static void set_geometry(Session *session, LayoutResult *layout)
{
  const Options *o = session->options;
  layout->offset_x = o->offset_x;
  layout->offset_y = o->offset_y;
  layout->fabric_width = o->fabric_width ? o->fabric_width : o->offset_x + layout->width;
  layout->fabric_height = o->fabric_height ? o->fabric_height : o->offset_y + layout->height;
}

typedef struct { const char *axis, *size_name; uint32_t offset, size, fabric; } Extent;

typedef struct { uint32_t offset; uint64_t fabric; } FabricSide;

/* The least offset and size of the fabric that do, along one axis. */
static FabricSide check_fits(Session *session, Span at, Extent e, uint32_t before, uint32_t after)
{
  uint32_t offset = e.offset < before ? before : e.offset;
  uint64_t least = (uint64_t)offset + e.size + after;
  if (e.offset < before)
    diag_offset_too_small(session->diags, at, e.axis, e.offset, before);
  if (least > e.fabric)
    diag_fabric_too_small(session->diags, at, e.size_name, least, e.fabric);
  return (FabricSide){offset, least > e.fabric ? least : e.fabric};
}

/* With --memcpy the halo and the host's columns lie around the rectangle; only what the command
 * line states is checked. */
static void check_geometry(Session *session, const LayoutResult *l)
{
  const Options *o = session->options;
  const Machine *m = machine_get(o->arch);
  if (l->fabric_width > m->max_fabric_width || l->fabric_height > m->max_fabric_height)
    diag_fabric_too_large(session->diags, l->rectangle_span, l->fabric_width, l->fabric_height,
                          m->max_fabric_width, m->max_fabric_height);
  if (o->fabric_width == 0)
    return;
  Extent x = {"x", "width", l->offset_x, l->width, l->fabric_width};
  Extent y = {"y", "height", l->offset_y, l->height, l->fabric_height};
  Span at = l->rectangle_span;
  uint32_t west = o->memcpy ? m->memcpy_margin_west + o->west_buf : 0;
  uint32_t east = o->memcpy ? m->memcpy_margin_east + o->east_buf : 0;
  uint32_t north = o->memcpy ? m->memcpy_margin_north : 0;
  uint32_t south = o->memcpy ? m->memcpy_margin_south : 0;
  size_t errors = diags_error_count(session->diags);
  FabricSide column = check_fits(session, at, x, west, east);
  FabricSide row = check_fits(session, at, y, north, south);
  if (diags_error_count(session->diags) > errors)
    diag_geometry_options(session->diags, at, (unsigned)column.fabric, (unsigned)row.fabric,
                          column.offset, row.offset);
}

void layout_set_rectangle(Session *session, LayoutResult *layout, uint32_t width, uint32_t height,
                          Span span)
{
  size_t n = (size_t)width * height;
  layout->has_rectangle = true;
  layout->rectangle_span = span;
  layout->width = width;
  layout->height = height;
  layout->tiles = arena_many(session->arena, LayoutTile, n);
  layout->tile_sets = arena_many(session->arena, uint32_t, n);
  set_geometry(session, layout);
}

/* ---- evaluation -------------------------------------------------------------------------- */

static const NodeLayout *find_block(Session *session, const Ast *ast)
{
  const Node *found = NULL;
  for (uint32_t i = 0; i < ast->decls.count; i++) {
    const Node *n = ast->decls.at[i];
    if (node_kind(n) != ND_LAYOUT)
      continue;
    if (found) {
      diag_layout_twice(session->diags, n->span);
      diag_first_here(session->diags, found->span);
    } else {
      found = n;
    }
  }
  return found ? node_layout(found) : NULL;
}

static void check_complete(Session *session, const LayoutResult *layout, Span block)
{
  if (!layout->has_rectangle) {
    diag_no_rectangle(session->diags, block);
    return;
  }
  uint32_t n = layout->width * layout->height, missing = 0, first = 0;
  for (uint32_t t = n; t-- > 0;)
    if (!layout->tiles[t].ast) {
      missing++;
      first = t;
    }
  if (missing)
    diag_tile_without_code(session->diags, layout->rectangle_span, missing, n,
                           first % layout->width, first / layout->width);
}

/* Whether the main file is the program of a tile. */
static bool is_program(const LayoutResult *layout)
{
  for (uint32_t t = 0; t < layout->width * layout->height; t++)
    if (layout->tiles[t].ast == layout->ast)
      return true;
  return false;
}

/* A color that only a function's parameter or a field has named gets the name of its constant. */
static void name_colors(const Sema *s, LayoutResult *layout)
{
  for (unsigned c = 0; c < MAX_COLORS; c++) {
    ColorName *known = &layout->color_names[c];
    StrId name = sema_color_name(s, c);
    if (!str_is_none(known->name) && !known->is_declared && !str_is_none(name))
      *known = (ColorName){.name = name, .is_declared = true};
  }
}

static void run_block(Session *session, LayoutResult *layout, const NodeLayout *block)
{
  Sema *s = sema_create(session, session->arena, WHERE_LAYOUT);
  s->layout = layout;
  if (sema_import(s, session->options->input, layout->params, NULL, (Span){0}) != IR_NO_ID) {
    size_t before = diags_error_count(session->diags);
    sema_run_comptime_block(s, block->body, WHERE_LAYOUT, MAIN_MODULE);
    release_look_at_imports(s);
    if (diags_error_count(session->diags) == before) {
      check_complete(session, layout, block->head.span);
      name_colors(s, layout);
      layout->names_streams = lint_memcpy_size(s);
      for (unsigned to_tiles = 0; to_tiles < 2; to_tiles++)
        layout->named_streams[to_tiles] = lint_named_streams(s, to_tiles);
    }
    /* The parameters of a file that is a tile's program, too, are looked at with that. */
    if (diags_error_count(session->diags) == before && !is_program(layout))
      lint_declarations(s);
  }
  sema_destroy(s);
}

/* The layout is a host script's: there is no main file. */
static bool evaluate_regions(Session *session, LayoutResult *layout)
{
  RegionLayout regions = {.session = session};
  layout->has_block = true;
  if (!regions_read(&regions) || !regions_route(&regions, layout))
    return false;
  check_geometry(session, layout);
  return diags_error_count(session->diags) == 0;
}

bool layout_evaluate(Session *session)
{
  LayoutResult *layout = arena_new(session->arena, LayoutResult);
  session->layout = layout;
  layout->colors = color_table_create(session->arena);
  if (session->options->layout_json)
    return evaluate_regions(session, layout);
  layout->ast = files_import(session->files, session->options->input, NULL, (Span){0});
  if (!layout->ast || diags_error_count(session->diags) > 0)
    return false;
  layout->params = bind_options(session, layout->ast);
  const NodeLayout *block = find_block(session, layout->ast);
  layout->has_block = block != NULL;
  if (diags_error_count(session->diags) > 0)
    return false;
  if (block) {
    run_block(session, layout, block);
  } else {
    layout_set_rectangle(session, layout, 1, 1, (Span){0});
    layout->tiles[0] = (LayoutTile){.ast = layout->ast, .params = layout->params};
  }
  if (layout->has_rectangle)
    check_geometry(session, layout);
  return diags_error_count(session->diags) == 0;
}

/* ---- --emit=layout ----------------------------------------------------------------------- */

static void print_ports(FILE *out, const char *name, PortMask mask)
{
  fprintf(out, " %s=", name);
  const char *comma = "";
  for (int p = 0; p < PORT_COUNT; p++)
    if (mask & port_bit((Port)p)) {
      fprintf(out, "%s%s", comma, port_name((Port)p));
      comma = ",";
    }
  if (!mask)
    fputs("none", out);
}

static void print_config(FILE *out, uint32_t index, const ImageColorConfig *c)
{
  static const char *const pops[] = {
    [POP_NEVER] = "", [POP_ALWAYS] = " always_pop", [POP_ON_ADVANCE] = " pop_on_advance",
    [POP_ON_ADVANCE_NOP] = " pop_on_advance_nop"};
  static const char *const filters[] = {
    [FILTER_NONE] = "", [FILTER_COUNTER] = " filter counter",
    [FILTER_SPARSE] = " filter sparse_counter", [FILTER_RANGE] = " filter range"};
  fprintf(out, "config %u:", index);
  for (unsigned k = 0; k < MAX_SWITCH_POSITIONS; k++) {
    if (!c->positions[k].valid)
      continue;
    fprintf(out, " pos%u", k);
    print_ports(out, "rx", c->positions[k].rx);
    print_ports(out, "tx", c->positions[k].tx);
  }
  if (c->current)
    fprintf(out, " current=%u", c->current);
  fprintf(out, "%s%s%s%s%s%s\n", c->ring ? " ring" : "", pops[c->pop],
          c->swap_x ? " swap_x" : "", c->swap_y ? " swap_y" : "",
          c->teardown ? " teardown" : "", filters[c->filter.kind]);
}

static void print_tile(const Session *session, Arena *arena, FILE *out, uint32_t t,
                       const ImageColorSet *set)
{
  const LayoutResult *l = session->layout;
  const LayoutTile *tile = &l->tiles[t];
  fprintf(out, "tile %u %u %s", t % l->width, t / l->width,
          tile->ast ? source_path(session->sources, tile->ast->file) : "-");
  if (!pool_is_none(tile->params))
    fprintf(out, " %s", value_text(session->pool, arena, tile->params));
  for (uint32_t i = 0; i < set->n; i++)
    fprintf(out, " %u:%u", set->uses[i].color, set->uses[i].config);
  fputc('\n', out);
}

void layout_print(const Session *session, FILE *out)
{
  const LayoutResult *l = session->layout;
  Arena *arena = arena_create("layout text");
  fprintf(out, "rectangle %u %u fabric %u %u offset %u %u\n", l->width, l->height,
          l->fabric_width, l->fabric_height, l->offset_x, l->offset_y);
  for (size_t i = 0; i < arrlenu(l->exports); i++)
    fprintf(out, "export %s %s%s\n", str_text(session->names, l->exports[i].name),
            type_text(session->pool, arena, l->exports[i].type),
            l->exports[i].is_mutable ? " mutable" : "");
  uint32_t n_configs, n_sets;
  const ImageColorConfig *configs = color_table_configs(l->colors, &n_configs);
  const ImageColorSet *sets = color_table_sets(l->colors, arena, &n_sets);
  for (uint32_t i = 0; i < n_configs; i++)
    print_config(out, i, &configs[i]);
  for (uint32_t t = 0; t < l->width * l->height; t++)
    print_tile(session, arena, out, t, &sets[l->tile_sets[t]]);
  arena_destroy(arena);
}

/* ---- exports ------------------------------------------------------------------------------ */

void layout_check_exports(Session *session)
{
  const LayoutExport *exports = session->layout->exports;
  for (uint32_t i = 0; i < arrlenu(exports); i++) {
    if (exports[i].has_symbol)
      continue;
    const char *name = str_text(session->names, exports[i].name);
    diag_export_without_symbol(session->diags, exports[i].span, name);
    diag_export_symbol_form(session->diags, exports[i].span, name);
  }
}

/* ---- --out-routes ------------------------------------------------------------------------ */

enum { ROUTE_COLUMN = 24 };   /* all the ports and a gap */

/* The number of characters. */
static int print_route_ports(FILE *out, PortMask mask)
{
  int width = 0;
  for (int p = 0; p < PORT_COUNT; p++)
    if (mask & port_bit((Port)p))
      width += fprintf(out, "%s%s", width ? " " : "", port_name((Port)p));
  return width;
}

static void print_route(FILE *out, const char *tile, uint8_t color, const ImageColorConfig *c)
{
  for (unsigned k = 0; k < MAX_SWITCH_POSITIONS; k++) {
    if (!c->positions[k].valid)
      continue;
    fprintf(out, "%-10s  %5u  %3u%s  ", tile, color, k, k == c->current ? "*" : " ");
    int width = print_route_ports(out, c->positions[k].rx);
    fprintf(out, "%*s", ROUTE_COLUMN - width, "");
    print_route_ports(out, c->positions[k].tx);
    fputc('\n', out);
  }
}

void layout_print_routes(const Session *session, FILE *out)
{
  const LayoutResult *l = session->layout;
  Arena *arena = arena_create("routes text");
  uint32_t n;
  const ImageColorConfig *configs = color_table_configs(l->colors, &n);
  const ImageColorSet *sets = color_table_sets(l->colors, arena, &n);
  fprintf(out, "%-10s  color  pos   %-*s%s\n", "tile", ROUTE_COLUMN, "rx", "tx");
  for (uint32_t t = 0; t < l->width * l->height; t++) {
    const ImageColorSet *set = &sets[l->tile_sets[t]];
    const char *tile = arena_printf(arena, "%u,%u", t % l->width, t / l->width);
    for (uint32_t i = 0; i < set->n; i++)
      print_route(out, tile, set->uses[i].color, &configs[set->uses[i].config]);
  }
  arena_destroy(arena);
}
