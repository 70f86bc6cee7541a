/* Builtins of the layout block: rectangle, tile programs, color configurations, exported names. */
#include "frontend/layout/layout_internal.h"
#include "frontend/sema/builtins.h"

#include <stb_ds.h>
#include <string.h>

/* A comptime integer argument in [lo, hi]. */
static bool int_arg(Sema *s, const Node *n, int64_t lo, int64_t hi, const char *what, int64_t *out)
{
  PoolId value = sema_comptime(s, n, POOL(NONE));
  if (type_is_int(s->pool, pool_type_of(s->pool, value)) &&
      pool_int_value(s->pool, value, out) && *out >= lo && *out <= hi)
    return true;
  return sema_number_in(s, operand_value(s, value), lo, hi, what, n->span, out);
}

Operand builtin_set_rectangle(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  LayoutResult *layout = s->layout;
  const Machine *m = sema_machine(s);
  int64_t width, height;
  if (!int_arg(s, call->args.at[0], 1, m->max_fabric_width, "the width", &width) ||
      !int_arg(s, call->args.at[1], 1, m->max_fabric_height, "the height", &height)) {
    layout->rectangle_is_wrong = true;
    return operand_poison();
  }
  if (layout->has_rectangle) {
    diag_rectangle_twice(s->diags, at);
    diag_first_here(s->diags, layout->rectangle_span);
    return operand_poison();
  }
  layout_set_rectangle(s->session, layout, (uint32_t)width, (uint32_t)height, at);
  return operand_void();
}

/* One report is enough, and one about @set_rectangle itself. */
static void report_no_rectangle(Sema *s, Span at, const char *builtin)
{
  if (!diags_error_count(s->diags))
    diag_needs_rectangle(s->diags, at, builtin);
}

/* Whether there is none, after reporting. */
static bool needs_rectangle(Sema *s, Span at, const char *builtin)
{
  if (!s->layout->has_rectangle && !s->layout->rectangle_is_wrong)
    report_no_rectangle(s, at, builtin);
  return !s->layout->has_rectangle;
}

/* The tile that the first two arguments name; which of them iterations of a loop read again. */
enum { X, Y, COORDINATES };
typedef struct { int64_t at[COORDINATES]; bool rereads[COORDINATES]; uint32_t tile; } TileArg;

/* Under the error about a coordinate: (x, y) may be the wrong way round, or the rectangle wrong. */
static void note_size(Sema *s, const Node *coordinate)
{
  const char *id = diags_bare_error(s->diags, coordinate->span);
  if (id && strcmp(id, "int_out_of_range") == 0)
    diag_rectangle_is_here(s->diags, s->layout->rectangle_span, s->layout->width,
                           s->layout->height);
}

static bool coordinate_arg(Sema *s, const Node *n, unsigned i, TileArg *arg)
{
  static const char *const what[] = {"x in the rectangle", "y in the rectangle"};
  const uint32_t size[] = {s->layout->width, s->layout->height};
  ReplayMark before = sema_replay_mark(s);
  if (!int_arg(s, n, 0, size[i] - 1, what[i], &arg->at[i])) {
    note_size(s, n);
    return false;
  }
  arg->rereads[i] = sema_replay_rereads(s, n, before);
  return true;
}

/* `again`: only what differs from iteration to iteration. */
static bool tile_arg(Sema *s, const NodeBuiltinCall *call, bool again, TileArg *arg)
{
  for (unsigned i = 0; i < COORDINATES; i++)
    if ((!again || arg->rereads[i]) && !coordinate_arg(s, call->args.at[i], i, arg))
      return false;
  arg->tile = (uint32_t)(arg->at[Y] * s->layout->width + arg->at[X]);
  return true;
}

/* The parsed file that an argument names.  Most tiles name the file that the one before named. */
static const Ast *file_arg(Sema *s, const Node *n)
{
  PoolId value = sema_comptime(s, n, POOL(COMPTIME_STRING));
  const Ast *importer = s->modules[s->now.module].ast;
  LayoutFile *last = &s->layout->last_file;
  if (last->ast != NULL && pool_eq(last->name, value) && last->importer == importer)
    return last->ast;
  if (pool_eq(value, POOL(POISON)))
    return NULL;
  if (pool_kind(s->pool, value) != PK_STRING) {
    diag_not_a_string(s->diags, n->span,
                      pool_type_of(s->pool, value));
    return NULL;
  }
  const char *path = sema_text(s, pool_key(s->pool, value).u.string);
  *last = (LayoutFile){value, importer, files_import(s->session->files, path, importer, n->span)};
  return last->ast;
}

static bool params_arg(Sema *s, const Node *n, PoolId *params)
{
  *params = sema_comptime(s, n, POOL(NONE));
  if (pool_eq(*params, POOL(POISON)))
    return false;
  PoolId type = pool_type_of(s->pool, *params);
  if (pool_kind(s->pool, type) == PK_STRUCT_TYPE)
    return true;
  diag_not_a_struct(s->diags, n->span, type);
  return false;
}

typedef struct { TileArg tile; LayoutTile is; bool rereads_params; } TileCode;

static bool place_code(Sema *s, Span at, const TileCode *code)
{
  LayoutTile *place = &s->layout->tiles[code->tile.tile];
  if (place->ast) {
    diag_tile_code_twice(s->diags, at, (uint32_t)code->tile.at[X], (uint32_t)code->tile.at[Y]);
    diag_first_here(s->diags, place->span);
    return false;
  }
  *place = code->is;
  return true;
}

static bool place_code_again(Sema *s, const NodeBuiltinCall *call, Span at, const void *what)
{
  TileCode code = *(const TileCode *)what;
  return tile_arg(s, call, true, &code.tile) &&
         (!code.rereads_params || params_arg(s, code.is.params_node, &code.is.params)) &&
         place_code(s, at, &code);
}

Operand builtin_set_tile_code(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  TileCode code = {
      .is = {.ast = s->layout->ast, .params = s->layout->params, .span = at}};
  if (needs_rectangle(s, at, "set_tile_code") || !tile_arg(s, call, false, &code.tile))
    return operand_poison();
  if (call->args.count > 2) {
    code.is.ast = file_arg(s, call->args.at[2]);
    code.is.params = POOL(NONE);
    if (!code.is.ast)
      return operand_poison();
  }
  if (call->args.count > 3) {
    ReplayMark before = sema_replay_mark(s);
    code.is.params_node = call->args.at[3];
    if (!params_arg(s, code.is.params_node, &code.is.params))
      return operand_poison();
    code.rereads_params = sema_replay_rereads(s, code.is.params_node, before);
  }
  sema_replay_act(s, call, at, place_code_again, &code, sizeof code);
  return place_code(s, at, &code) ? operand_void() : operand_poison();
}

static bool color_arg(Sema *s, const Node *n, uint8_t *color)
{
  Operand o = sema_expr(s, n, POOL(COLOR));
  StrId name = o.name;
  bool is_declared = o.decl != NULL;
  if (!sema_router_color(s, sema_load(s, o), n->span, color))
    return false;
  setup_check_color(s, *color, n->span);
  ColorName *known = &(s->setup ? s->setup->color_names : s->layout->color_names)[*color];
  if (str_is_none(name) || !str_is_none(known->name))
    return true;
  const Decl *d = sema_find_decl(s, s->now.module, name);
  if (d != NULL && s->setup == NULL && pool_kind(s->pool, d->value) == PK_AGGREGATE) {
    s->layout->color_arrays[*color] = d->value;
    is_declared = true;
  }
  *known = (ColorName){.name = name, .is_declared = is_declared};
  return true;
}

typedef struct { TileArg tile; uint8_t color; uint32_t config; } TileColor;

static bool place_color(Sema *s, Span at, const TileColor *color)
{
  ColorTable *colors = s->layout->colors;
  uint32_t *set = &s->layout->tile_sets[color->tile.tile];
  uint32_t x = (uint32_t)color->tile.at[X], y = (uint32_t)color->tile.at[Y];
  Span first;
  if (!color_set_add(colors, *set, color->color, color->config, at, set, &first)) {
    diag_color_config_twice(s->diags, at, color->color, x, y);
    diag_first_here(s->diags, first);
    return false;
  }
  return color_set_fits(s->session, colors, *set, color->config, x, y, at);
}

static bool place_color_again(Sema *s, const NodeBuiltinCall *call, Span at, const void *what)
{
  TileColor color = *(const TileColor *)what;
  return tile_arg(s, call, true, &color.tile) && place_color(s, at, &color);
}

Operand builtin_set_color_config(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  TileColor color;
  if (needs_rectangle(s, at, "set_color_config") || !tile_arg(s, call, false, &color.tile) ||
      !color_arg(s, call->args.at[2], &color.color))
    return operand_poison();
  PoolId value = sema_comptime(s, call->args.at[3], POOL(NONE));
  if (pool_eq(value, POOL(POISON)) ||
      !color_config_of(s, s->layout->colors, color.color, value, call->args.at[3], &color.config))
    return operand_poison();
  sema_replay_act(s, call, at, place_color_again, &color, sizeof color);
  return place_color(s, at, &color) ? operand_void() : operand_poison();
}

Operand builtin_set_local_color_config(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  uint32_t config;
  uint8_t color;
  if (!color_arg(s, call->args.at[0], &color))
    return operand_poison();
  PoolId value = sema_comptime(s, call->args.at[1], POOL(NONE));
  if (pool_eq(value, POOL(POISON)) ||
      !color_config_of(s, s->session->layout->colors, color, value, call->args.at[1],
                       &config))
    return operand_poison();
  if (s->setup->local_color[color] != 0) {
    if (setup_is_first_clash(s)) {
      diag_local_config_twice(s->diags, at, (unsigned)color);
      sema_first_here(s, at, s->setup->local_color_span[color]);
    }
    return operand_poison();
  }
  s->setup->local_color[color] = config + 1;
  s->setup->local_color_span[color] = at;
  return operand_void();
}

static PoolId pair_struct(Sema *s, uint32_t width, uint32_t height)
{
  static const char *const names[] = {"width", "height"};
  PoolId values[] = {pool_int(s->pool, POOL(U16), width), pool_int(s->pool, POOL(U16), height)};
  return sema_make_struct(s, names, values, ARRAY_COUNT(names));
}

Operand builtin_get_rectangle(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)call, (void)want;
  if (needs_rectangle(s, at, "get_rectangle"))
    return operand_poison();
  const LayoutResult *l = s->layout;
  static const char *const names[] = {"width", "height", "fabric", "offsets"};
  PoolId values[] = {pool_int(s->pool, POOL(U16), l->width),
                     pool_int(s->pool, POOL(U16), l->height),
                     pair_struct(s, l->fabric_width, l->fabric_height),
                     pair_struct(s, l->offset_x, l->offset_y)};
  return operand_value(s, sema_make_struct(s, names, values, ARRAY_COUNT(names)));
}

/* ---- exported names ---------------------------------------------------------------------- */

static void report_export_type(Sema *s, PoolId type, bool is_constant, Span at)
{
  PoolKey key = pool_key(s->pool, type);
  diag_export_name_type(s->diags, at, type);
  if (key.kind == PK_ARRAY_TYPE) {
    PoolId pointer = pool_pointer_type(s->pool, true, false, key.u.array.element);
    diag_export_by_pointer(s->diags, at, is_constant ? "const" : "var",
                           type_text(s->pool, s->arena, pointer));
  }
  if (key.kind == PK_FN_TYPE)
    diag_launch_form(s->diags, at, MAX_LAUNCH_PARAMS, TYPE_SCALAR_MAX_BITS);
}

Operand builtin_export_name(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  PoolId text = sema_comptime(s, call->args.at[0], POOL(COMPTIME_STRING));
  PoolId type = sema_type_expr(s, call->args.at[1]);
  PoolId is_mutable = POOL(NONE);
  if (call->args.count > 2) {
    const Node *given = call->args.at[2];
    Operand flag = sema_coerce(s, sema_comptime_operand(s, given, POOL(BOOL)), POOL(BOOL),
                               given->span);
    is_mutable = operand_is_poison(flag) ? POOL(POISON) : flag.value;
  }
  if (pool_eq(text, POOL(POISON)) || pool_eq(type, POOL(POISON_TYPE)) ||
      pool_eq(is_mutable, POOL(POISON)))
    return operand_poison();
  if (pool_kind(s->pool, text) != PK_STRING) {
    diag_not_a_string(s->diags, call->args.at[0]->span,
                      pool_type_of(s->pool, text));
    return operand_poison();
  }
  LayoutExport export = {.name = pool_key(s->pool, text).u.string, .type = type,
                         .is_mutable = pool_eq(is_mutable, POOL(TRUE)), .span = at};
  for (size_t i = 0; i < arrlenu(s->layout->exports); i++)
    if (str_eq(s->layout->exports[i].name, export.name)) {
      diag_export_twice(s->diags, at, sema_text(s, export.name));
      diag_first_here(s->diags, s->layout->exports[i].span);
      return operand_poison();
    }
  if (!sema_is_exportable(s, type)) {
    report_export_type(s, type, pool_eq(is_mutable, POOL(FALSE)), call->args.at[1]->span);
    return operand_poison();
  }
  if (pool_kind(s->pool, type) != PK_FN_TYPE && pool_is_none(is_mutable)) {
    diag_export_needs_mutable(s->diags, at, sema_text(s, export.name));
    return operand_poison();
  }
  arrput(s->layout->exports, export);
  return operand_void();
}
