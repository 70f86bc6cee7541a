/* Tile classes: the tiles that share a compiled program.
 *
 * Tiles of one file whose parameters have the same shape form a group.  A parameter (or a part of
 * one) that is equal on all tiles of the group is a constant; a scalar or id that differs enters
 * the analysis as a symbolic value; anything else that differs splits the group.
 *
 * The analysis of one tile records each symbolic value it had to know and what it was. These
 * records make a tree: its nodes are forced expressions, its branches their outcomes, its leaves
 * variants. For the next tile the compiler computes the expressions on the way down; where a branch
 * is missing, the compiler analyses the tile and adds the forced expressions to the tree. So a
 * million tiles need one analysis for each different way to compile.
 *
 * Different analyses often lead to the same code, with other data of the tiles: so a leaf is a
 * variant, and variants with equal code are one class (class_share.c). */
#include "frontend/layout/tile_class.h"

#include <stb_ds.h>
#include <stdlib.h>
#include <string.h>

enum { NODE_IS_BUSY = 256 };       /* tiles that pass a node before it has such a table */

/* ---- values ------------------------------------------------------------------------------ */

/* False: it is of several parameters, or high. */
static bool has_one_param(const Pool *pool, PoolId value, uint32_t *param)
{
  enum { HIGH = 8 };
  if (!value_has_symbolic(pool, value))
    return true;
  PoolKey key = pool_key(pool, value);
  if (key.kind != PK_SYMBOLIC || key.u.symbolic.sym == SYM_INIT ||
      value_symbolic_height(pool, value) > HIGH)
    return false;
  if (key.u.symbolic.sym != SYM_PARAM)
    return has_one_param(pool, key.u.symbolic.a, param) &&
           has_one_param(pool, key.u.symbolic.b, param);
  if (*param != NO_PARAM && *param != key.u.symbolic.index)
    return false;
  *param = key.u.symbolic.index;
  return true;
}

/* The one parameter that a tree of operations is of; NO_PARAM: there are several, or it is high. */
static uint32_t only_param(const Pool *pool, PoolId symbolic)
{
  uint32_t param = NO_PARAM;
  return has_one_param(pool, symbolic, &param) ? param : NO_PARAM;
}

static uint32_t tile_value(Classes *c, PoolId symbolic)
{
  ptrdiff_t at = hmgeti(c->value_of, symbolic.raw);
  if (at >= 0)
    return c->value_of[at].value;
  uint32_t index = (uint32_t)arrlenu(c->values);
  TileValue value = {.symbolic = symbolic, .param = only_param(c->session->pool, symbolic)};
  arrput(c->values, value);
  hmput(c->value_of, symbolic.raw, index);
  return index;
}

/* ---- one class --------------------------------------------------------------------------- */

/* Per-tile data: the run-time words, then the stretches of initial data. */
static void fill_slots(Classes *c, Sema *s, const ClassAnalysis *a, Variant *variant)
{
  const struct TileEnv *env = &a->env;
  IrModule *m = s->ir;
  const TileUnit *unit = a->unit;
  size_t most = arrlenu(env->words) + arrlenu(env->inits) + unit->tile->n_symbols;
  m->tile_slots = arena_many(m->arena, IrTileSlot, most + 1);
  for (uint32_t i = 0; i < arrlenu(env->words); i++) {
    IrType type = m->tile_params[i];
    m->tile_slots[m->n_tile_slots++] =
      (IrTileSlot){.is_param = true, .index = i, .bytes = ir_type_bytes(type), .type = type};
    BlobPart part = {tile_value(c, env->words[i]), {ir_type_bytes(type)}};
    arrput(variant->parts, part);
  }
  for (uint32_t i = 0; i < arrlenu(env->inits); i++) {
    const InitSlot *init = &env->inits[i];
    uint32_t bytes = type_bytes(s->pool, pool_type_of(s->pool, init->symbolic));
    m->tile_slots[m->n_tile_slots++] =
      (IrTileSlot){.index = init->global, .offset = init->offset, .bytes = bytes};
    BlobPart part = {tile_value(c, init->symbolic), {bytes}};
    arrput(variant->parts, part);
  }
  for (uint32_t i = 0; i < unit->tile->n_symbols; i++) {
    m->tile_slots[m->n_tile_slots++] =
      (IrTileSlot){.index = sema_global_ir(s, a->contents[i]).raw,
                   .bytes = unit->tile->symbols[i].size};
    BlobPart part = {NO_VALUE, {i}};
    arrput(variant->parts, part);
  }
}

/* Warns of an array of the host whose numbers would become others: floats for a variable that has
 * none of their width, or integers for floats of 32 bits.  Integers of 16 bits are how a host hands
 * floats of 16 bits over. */
static void check_elements(Sema *s, const LayoutSymbol *symbol, PoolId type)
{
  while (pool_kind(s->pool, type) == PK_ARRAY_TYPE)
    type = pool_key(s->pool, type).u.array.element;
  bool is_float = type_is_float(s->pool, type), is_integer = type_is_int(s->pool, type);
  bool is_signed = is_integer && pool_key(s->pool, type).u.int_type.is_signed;
  const char *kind = is_float ? "float" : is_signed ? "int" : "uint";
  uint32_t bytes = type_bytes(s->pool, type);
  bool is_half = pool_eq(type, POOL(F16)), is_other_half = is_float && bytes == 2 && !is_half;
  bool is_same = symbol->elements == ELEMENTS_FLOATS
                   ? is_float && bytes == symbol->element_bytes && !is_other_half
                   : !is_float || bytes == 2;
  if (symbol->elements == ELEMENTS_UNKNOWN || (!is_float && !is_integer) || is_same)
    return;
  diag_layout_symbol_elements(s->diags, symbol->span, str_text(s->session->names, symbol->name),
                              type, symbol->elements == ELEMENTS_FLOATS ? "floats" : "integers",
                              8 * symbol->element_bytes);
  if (is_other_half)
    diag_layout_symbol_bits(s->diags, symbol->span, type);
  else
    diag_layout_symbol_help(s->diags, symbol->span,
                            arena_printf(s->arena, "%s%u", kind, 8 * bytes));
}

static void report_unknown_symbol(Sema *s, const Ast *ast, const LayoutSymbol *symbol)
{
  const char **names = NULL, *name = str_text(s->session->names, symbol->name);
  diag_layout_symbol_unknown(s->diags, symbol->span, name,
                             source_path(s->session->sources, ast->file));
  for (uint32_t i = 0; i < ast->decls.count; i++) {
    const Node *n = ast->decls.at[i];
    if (node_kind(n) == ND_VAR_DECL && node_var_decl(n)->var_kind != VAR_PARAM)
      arrput(names, str_text(s->session->names, node_var_decl(n)->name.text));
  }
  diag_suggest(s->diags, symbol->span, base_nearest(name, names, arrlenu(names)));
  arrfree(names);
}

/* The variables that the layout gives content to, referenced so that they have a place. */
static bool find_contents(Sema *s, ClassAnalysis *a)
{
  const TileUnit *unit = a->unit;
  a->contents = arena_many(s->arena, uint32_t, unit->tile->n_symbols + 1);
  for (uint32_t i = 0; i < unit->tile->n_symbols; i++) {
    const LayoutSymbol *symbol = &unit->tile->symbols[i];
    const char *name = str_text(s->session->names, symbol->name);
    Decl *d = sema_find_decl(s, 0, symbol->name);
    if (!d || d->kind != DECL_VAR) {
      report_unknown_symbol(s, unit->tile->ast, symbol);
      return false;
    }
    if (!sema_resolve(s, d))
      return false;
    uint32_t global = sema_decl_global(s, d);
    uint32_t bytes = type_bytes(s->pool, s->globals[global].type);
    if (bytes != symbol->size) {
      diag_layout_symbol_size(s->diags, symbol->span, name, symbol->size, bytes);
      return false;
    }
    check_elements(s, symbol, s->globals[global].type);
    sema_global_ir(s, global);
    a->contents[i] = global;
  }
  return true;
}

/* Puts the tiles' own data into `variant`. */
static bool analyse_program(Classes *c, Sema *s, ClassAnalysis *a, Variant *variant)
{
  Diags *diags = s->diags;
  size_t errors = diags_errors_met(diags);
  const TileUnit *unit = a->unit;
  const char *path = source_path(s->session->sources, unit->tile->ast->file);
  s->ir->source = path;
  if (sema_import(s, path, a->group->params, unit->tile->params_node, unit->tile->span) == IR_NO_ID)
    return false;
  sema_run_top_blocks(s);
  if (s->is_refuted || !find_contents(s, a))
    return false;
  setup_join_control_tasks(s);
  setup_reference(s);
  sema_compile_pending(s);
  setup_choose_queues(s);
  if (diags_errors_met(diags) > errors)
    return false;
  sema_finish(s);
  setup_finish(s);
  release_look_at_imports(s);
  if (diags_errors_met(diags) > errors)
    return false;
  fill_slots(c, s, a, variant);
  lint_program(s);
  return diags_errors_met(diags) == errors;
}

static void keep_local_colors(const MachineSetup *setup, ProgramClass *class)
{
  memcpy(class->filter_spans, setup->filter_span, sizeof class->filter_spans);
  class->routed = setup->routed;
  for (uint8_t c = 0; c < MAX_COLORS; c++) {
    if (setup->local_color[c] == 0)
      continue;
    ImageColorUse *use = &class->local_colors[class->n_local_colors];   /* zeroed, padding too */
    use->color = c;
    use->config = setup->local_color[c] - 1;
    class->local_spans[class->n_local_colors++] = setup->local_color_span[c];
  }
}

static Sema *begin_analysis(Classes *c, ClassAnalysis *a)
{
  Session *session = c->session;
  if (!c->ir_arena)
    c->ir_arena = arena_create("a program");
  Sema *s = sema_create(session, c->analysis_arena, WHERE_TOP);
  s->ir = ir_module_create(c->ir_arena, session->options->arch, session->options->fp16);
  s->layout = session->layout;
  s->tile = &a->env;
  s->setup = setup_create(s->arena);
  return s;
}

/* The number of the class, which is a new one if none has equal code. */
static uint32_t add_class(Classes *c, ProgramClass *class)
{
  Programs *p = c->programs;
  IrDigest digest = ir_digest(class->ir);
  uint32_t number = class_twin_find(c->twins, p, class, digest);
  if (number != IMAGE_NO_CLASS) {
    class_constants_join(&p->classes[number], class);
    return number;
  }
  number = (uint32_t)arrlenu(p->classes);
  class->fabric = fabric_uses_keep(class->fabric, c->arena);
  class_constants_keep(class, c->arena);
  if (c->take(c->context, class))
    class_twin_add(c->twins, digest, number);
  if (c->session->options->emit == EMIT_IR)
    c->ir_arena = NULL;                     /* the IR is what is printed */
  else
    class->ir = NULL;
  arrput(p->classes, *class);
  return number;
}

/* The variant of the tile that `a` is for; what the analysis relied on is left in its `env`. */
static bool add_variant(Classes *c, ClassAnalysis *a, uint32_t *index)
{
  Session *session = c->session;
  Sema *s = begin_analysis(c, a);
  ProgramClass class;
  memset(&class, 0, sizeof class);   /* local_colors is compared as bytes */
  class.source = source_path(session->sources, a->unit->tile->ast->file);
  Variant variant = {.class = IMAGE_NO_CLASS};
  bool ok = analyse_program(c, s, a, &variant);
  lint_held_after_errors(s);
  lint_queue_colors(s);
  if (!s->is_refuted)
    lint_collect_needs(s, &c->noted);
  if (ok) {
    class.ir = s->ir;
    keep_local_colors(s->setup, &class);
    class.fabric = fabric_uses(s);
    class_constants_find(s, a->group->laws, &class, c->analysis_arena);
    for (unsigned to_tiles = 0; to_tiles < 2; to_tiles++)
      session->layout->named_streams[to_tiles] |= lint_named_streams(s, to_tiles);
  }
  if (session->options->check && !s->is_refuted)
    lint_collect_unused(s, &c->unused);
  setup_destroy(s->setup);
  sema_destroy(s);
  if (ok)
    variant.class = add_class(c, &class);
  arena_reset(c->analysis_arena);
  if (c->ir_arena)
    arena_reset(c->ir_arena);
  *index = (uint32_t)arrlenu(c->variants);
  arrput(c->variants, variant);
  return ok;
}

/* ---- the tree ---------------------------------------------------------------------------- */

static PoolId outcome_of(Classes *c, PoolId symbolic, const TileUnit *unit)
{
  return sema_eval_symbolic(c->evaluator, symbolic, unit->symbols);
}

/* The branch of a node that has an expression; NULL: none yet. */
static TreeNode *branch_of(Classes *c, TreeNode *node, const TileUnit *unit)
{
  ptrdiff_t at = hmgeti(node->branches, outcome_of(c, node->symbolic, unit).raw);
  return at < 0 ? NULL : node->branches[at].value;
}

/* Is the parameter small on this tile, as coordinates are? */
static bool param_is_small(const Classes *c, const TileUnit *unit, uint32_t param, uint32_t *value)
{
  int64_t number;
  if (param == NO_PARAM || !pool_int_value(c->session->pool, unit->symbols[param], &number) ||
      number < 0 || number >= PARAM_VALUES)
    return false;
  *value = (uint32_t)number;
  return true;
}

/* The same, computed once per value of a parameter that is small where many tiles pass. */
static TreeNode *find_branch(Classes *c, TreeNode *node, const TileUnit *unit)
{
  uint32_t value;
  if (!param_is_small(c, unit, node->param, &value) ||
      (node->by_param == NULL && ++node->passed < NODE_IS_BUSY))
    return branch_of(c, node, unit);
  if (node->by_param == NULL)
    node->by_param = arena_many(c->arena, TreeNode *, PARAM_VALUES);
  TreeNode **known = &node->by_param[value];
  if (*known == NULL)
    *known = branch_of(c, node, unit);
  return *known;
}

/* The leaf that the tile's parameters lead to, or NULL where the tree ends before one. */
static const TreeNode *walk_tree(Classes *c, TreeNode *node, const TileUnit *unit)
{
  while (node && node->variant == NO_VARIANT) {
    if (pool_is_none(node->symbolic))
      return NULL;
    node = find_branch(c, node, unit);
  }
  return node;
}

static void set_expression(const Pool *pool, TreeNode *node, PoolId symbolic)
{
  node->symbolic = symbolic;
  node->param = only_param(pool, symbolic);
}

static void grow_tree(Classes *c, TreeNode *node, const struct TileEnv *env, uint32_t variant)
{
  for (size_t i = 0; i < arrlenu(env->trace); i++) {
    const Forced *forced = &env->trace[i];
    if (pool_is_none(node->symbolic) && node->variant == NO_VARIANT)
      set_expression(c->session->pool, node, forced->symbolic);
    if (!pool_eq(node->symbolic, forced->symbolic))
      ICE("equal outcomes led to different analyses");
    ptrdiff_t at = hmgeti(node->branches, forced->outcome.raw);
    if (at < 0) {
      TreeNode *next = new_node(c->arena);
      hmput(node->branches, forced->outcome.raw, next);
      node = next;
    } else {
      node = node->branches[at].value;
    }
  }
  node->variant = variant;
}

static void free_tree(TreeNode *node)
{
  for (ptrdiff_t i = 0; i < hmlen(node->branches); i++)
    free_tree(node->branches[i].value);
  hmfree(node->branches);
}

static ClassAnalysis analysis_of(const Classes *c, const ClassGroup *g, const TileUnit *unit)
{
  const LayoutResult *l = c->session->layout;
  uint32_t first = (uint32_t)(unit->tile - l->tiles);
  struct TileEnv env = {.symbols = unit->symbols, .has_place = l->has_block,
                        .x = first % l->width - l->origin_x,
                        .y = first / l->width - l->origin_y,
                        .span = unit->tile->span, .params = unit->tile->params};
  return (ClassAnalysis){.env = env, .group = g, .unit = unit};
}

static bool variant_of_unit(Classes *c, ClassGroup *g, TileUnit *unit)
{
  const TreeNode *leaf = walk_tree(c, g->root, unit);
  if (leaf) {
    unit->variant = leaf->variant;
    return true;
  }
  ClassAnalysis a = analysis_of(c, g, unit);
  bool ok = add_variant(c, &a, &unit->variant);
  if (ok)
    grow_tree(c, g->root, &a.env, unit->variant);
  tile_env_free(&a.env);
  return ok;
}

/* ---- the tiles' own data ----------------------------------------------------------------- */

static uint64_t value_bits(const Pool *pool, PoolId value)
{
  PoolKey key = pool_key(pool, value);
  if (key.kind == PK_FLOAT)
    return key.u.floating.bits;
  if (key.kind == PK_BOOL_VALUE)
    return pool_eq(value, POOL(TRUE));
  return value_int_bits(pool, value);
}

static bool write_blob(Classes *c, TileUnit *unit);

/* A value of the variant cannot be computed for this tile.  Perhaps the tile never uses it: it has
 * no turns of the loop around it, for instance.  So the analysis with the tile's own parameters,
 * none of them symbolic, either reports the expression or gives the tile a variant of its own. */
static bool give_own_variant(Classes *c, TileUnit *unit)
{
  ClassGroup alone = {.params = unit->tile->params};
  ClassAnalysis a = analysis_of(c, &alone, unit);
  bool ok = add_variant(c, &a, &unit->variant);
  tile_env_free(&a.env);
  return ok && write_blob(c, unit);
}

/* What a value is on the tile: computed once per value of a parameter that is small. */
static PoolId value_on_unit(Classes *c, uint32_t index, const TileUnit *unit)
{
  TileValue *v = &c->values[index];
  uint32_t at;
  if (!param_is_small(c, unit, v->param, &at))
    return outcome_of(c, v->symbolic, unit);
  while (arrlenu(v->by_param) <= at)
    arrput(v->by_param, POOL(NONE));
  if (pool_is_none(v->by_param[at]))
    v->by_param[at] = outcome_of(c, v->symbolic, unit);
  return v->by_param[at];
}

static bool write_blob(Classes *c, TileUnit *unit)
{
  const Variant *variant = &c->variants[unit->variant];
  unit->blob_at = arrlenu(c->programs->blobs);
  for (size_t i = 0; i < arrlenu(variant->parts); i++) {
    BlobPart part = variant->parts[i];
    if (part.value == NO_VALUE) {
      const LayoutSymbol *content = &unit->tile->symbols[part.u.content];
      memcpy(arraddnptr(c->programs->blobs, content->size), content->bytes, content->size);
      continue;
    }
    PoolId value = value_on_unit(c, part.value, unit);
    if (pool_eq(value, POOL(POISON)))
      return give_own_variant(c, unit);
    uint64_t bits = value_bits(c->session->pool, value);
    uint8_t *to = arraddnptr(c->programs->blobs, part.u.bytes);
    for (uint32_t b = 0; b < part.u.bytes; b++)
      to[b] = (uint8_t)(b < sizeof bits ? bits >> 8 * b : 0);
  }
  return true;
}

/* ---- the grid ----------------------------------------------------------------------------- */

static void fill_grid(Classes *c)
{
  const LayoutResult *l = c->session->layout;
  uint32_t n = l->width * l->height;
  Programs *p = c->programs;
  p->tile_class = arena_many(c->session->arena, uint32_t, n);
  p->tile_blob_at = arena_many(c->session->arena, uint64_t, n);
  for (uint32_t t = 0; t < n; t++) {
    p->tile_class[t] = IMAGE_NO_CLASS;
    if (c->unit_of_tile[t] == NO_UNIT)
      continue;
    const TileUnit *unit = &c->units[c->unit_of_tile[t]];
    p->tile_class[t] = c->variants[unit->variant].class;
    p->tile_blob_at[t] = unit->blob_at;
  }
}

static void classes_free(Classes *c)
{
  for (size_t i = 0; i < arrlenu(c->groups); i++) {
    arrfree(c->groups[i].units);
    if (c->groups[i].root)
      free_tree(c->groups[i].root);
  }
  for (size_t i = 0; i < arrlenu(c->variants); i++)
    arrfree(c->variants[i].parts);
  arrfree(c->units);
  arrfree(c->groups);
  for (size_t i = 0; i < arrlenu(c->values); i++)
    arrfree(c->values[i].by_param);
  arrfree(c->variants);
  arrfree(c->values);
  hmfree(c->value_of);
  hmfree(c->unused);
  hmfree(c->noted.data);
  hmfree(c->noted.local);
  hmfree(c->noted.queues);
  hmfree(c->noted.tasks);
  hmfree(c->noted.dsrs);
}

/* After an error the other tiles of the group would mostly repeat it, so the next group follows. */
static bool find_all(Classes *c)
{
  bool ok = true;
  for (uint32_t i = 0; i < arrlenu(c->groups); i++)
    tile_group_prepare(c, i);
  if (c->session->options->debug)
    tile_laws_find(c);
  for (size_t i = 0; i < arrlenu(c->groups); i++) {
    ClassGroup *g = &c->groups[i];
    for (size_t u = 0; u < arrlenu(g->units); u++) {
      TileUnit *unit = &c->units[g->units[u]];
      session_show_phase(c->session);
      if (variant_of_unit(c, g, unit) && write_blob(c, unit))
        continue;
      ok = false;
      break;
    }
  }
  return ok;
}

bool classes_find(Session *session, Programs *programs, ClassTaker *take, void *context)
{
  Classes *c = arena_new(session->arena, Classes);
  *c = (Classes){.session = session, .programs = programs, .arena = session->arena, .take = take,
                 .context = context};
  programs->discovery = c;
  c->evaluator = sema_create(session, session->arena, WHERE_COMPTIME);
  c->analysis_arena = arena_create("an analysis");
  c->twins = class_twins_create(c->arena);
  tile_units_collect(c);
  tile_groups_form(c);
  bool ok = find_all(c);
  lint_report_unused(session->diags, c->unused);
  lint_report_needs(session->diags, &c->noted);
  sema_destroy(c->evaluator);
  arena_destroy(c->analysis_arena);
  arena_destroy(c->ir_arena);
  class_twins_destroy(c->twins);
  return ok;
}

static void rename_classes(Classes *c, uint32_t *renamed)
{
  for (size_t i = 0; i < arrlenu(c->variants); i++)
    if (c->variants[i].class != IMAGE_NO_CLASS)
      c->variants[i].class = renamed[c->variants[i].class];
  free(renamed);
}

bool classes_settle(Session *session, Programs *programs)
{
  Classes *c = programs->discovery;
  if (session->options->emit != EMIT_IR)
    rename_classes(c, classes_share(session, programs));
  fill_grid(c);
  layout_check_exports(session);
  return class_colors_add(session, programs) && fabric_check(session, programs);
}

void programs_free(Programs *programs)
{
  for (size_t i = 0; i < arrlenu(programs->classes); i++)
    if (programs->classes[i].ir)
      arena_destroy(programs->classes[i].ir->arena);
  if (programs->discovery)
    classes_free(programs->discovery);
  arrfree(programs->classes);
  arrfree(programs->blobs);
}
