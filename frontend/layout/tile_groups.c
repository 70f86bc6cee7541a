/* Units, which are files with their parameters, and groups of units whose parameters have the same
 * shape: see tile_class.c. */
#include "frontend/layout/tile_class.h"

#include <stb_ds.h>
#include <string.h>

enum { MOST_GROUPS = 4096 };       /* with arrays whole */
enum { MOST_ELEMENTS = 32 };       /* of an array in parts: a wafer keeps them all, for each tile */
typedef struct { const Ast *ast; const LayoutSymbol *symbols; uint32_t params; } ProgramKey;
typedef struct { ProgramKey key; uint32_t value; } UnitOfKey;

static uint32_t add_unit(Classes *c, const LayoutTile *tile)
{
  arrput(c->units, ((TileUnit){.tile = tile, .variant = NO_VARIANT}));
  return (uint32_t)arrlenu(c->units) - 1;
}

static uint32_t unit_by_key(Classes *c, UnitOfKey **map, const LayoutTile *tile)
{
  ProgramKey key;
  memset(&key, 0, sizeof key);   /* stb_ds hashes the padding */
  key.ast = tile->ast;
  key.params = tile->params.raw;
  key.symbols = tile->symbols;
  ptrdiff_t at = hmgeti(*map, key);
  if (at >= 0)
    return (*map)[at].value;
  uint32_t unit = add_unit(c, tile);
  hmput(*map, key, unit);
  return unit;
}

/* Different parameters make different units, so that the first unit of each struct of parameters
 * needs no map: that is all of them where each tile has its coordinates. */
void tile_units_collect(Classes *c)
{
  const LayoutResult *l = c->session->layout;
  UnitOfKey *map = NULL;
  uint32_t *first_of = NULL;     /* unit by PoolId.raw of the parameters */
  uint32_t n = l->width * l->height;
  c->unit_of_tile = arena_many(c->arena, uint32_t, n);
  for (uint32_t t = 0; t < n; t++) {
    const LayoutTile *tile = &l->tiles[t];
    c->unit_of_tile[t] = NO_UNIT;
    if (!tile->ast)
      continue;
    while (arrlenu(first_of) <= tile->params.raw)
      arrput(first_of, NO_UNIT);
    uint32_t *first = &first_of[tile->params.raw];
    if (*first == NO_UNIT)
      *first = add_unit(c, tile);
    const LayoutTile *same = c->units[*first].tile;
    c->unit_of_tile[t] = same->ast == tile->ast && same->symbols == tile->symbols
                           ? *first : unit_by_key(c, &map, tile);
  }
  arrfree(first_of);
  hmfree(map);
}

static bool has_parts(const Classes *c, PoolId value)
{
  const Pool *pool = c->session->pool;
  if (pool_kind(pool, value) != PK_AGGREGATE)
    return false;
  PoolKind type = pool_kind(pool, pool_type_of(pool, value));
  return type == PK_STRUCT_TYPE ||
         (c->splits_arrays && type == PK_ARRAY_TYPE &&
          pool_key(pool, value).u.aggregate.n <= MOST_ELEMENTS);
}

static void flatten_parts(const Classes *c, PoolId value, PoolId **leaves)
{
  Pool *pool = c->session->pool;
  if (!has_parts(c, value)) {
    arrput(*leaves, value);
    return;
  }
  PoolKey key = pool_key(pool, value);
  for (uint32_t i = 0; i < key.u.aggregate.n; i++)
    flatten_parts(c, key.u.aggregate.elems[i], leaves);
}

/* The value with other leaves. */
static PoolId rebuild_parts(const Classes *c, PoolId value, const PoolId **leaves)
{
  Pool *pool = c->session->pool;
  if (!has_parts(c, value))
    return *(*leaves)++;
  PoolKey key = pool_key(pool, value);
  PoolId *elems = arena_many(c->arena, PoolId, key.u.aggregate.n + 1);
  for (uint32_t i = 0; i < key.u.aggregate.n; i++)
    elems[i] = rebuild_parts(c, pool_key(pool, value).u.aggregate.elems[i], leaves);
  return pool_aggregate(pool, key.type, elems, key.u.aggregate.n);
}

/* May a parameter of this kind stay unknown during the analysis? */
static bool can_be_symbolic(const Pool *pool, PoolId value)
{
  PoolKind kind = pool_kind(pool, value);
  return kind == PK_INT || kind == PK_FLOAT || kind == PK_BOOL_VALUE;
}

/* Units of one group agree in file, shape, every leaf that cannot be symbolic, and in which
 * variables have content of their own. */
static void find_group_key(const Classes *c, const TileUnit *unit, uint32_t **key)
{
  const Pool *pool = c->session->pool;
  uint32_t n = unit->n_leaves, k = 0;
  arrsetlen(*key, n + unit->tile->n_symbols + 2);
  uint32_t *words = *key;
  for (uint32_t i = 0; i < unit->tile->n_symbols; i++)
    words[k++] = unit->tile->symbols[i].name.raw;
  words[k++] = unit->tile->ast->file.raw;
  words[k++] = pool_is_none(unit->tile->params) ? 0 : pool_type_of(pool, unit->tile->params).raw;
  for (uint32_t i = 0; i < n; i++)
    words[k++] = can_be_symbolic(pool, unit->leaves[i])
                   ? pool_type_of(pool, unit->leaves[i]).raw : unit->leaves[i].raw;
}

/* `scratch`: an stb_ds array. */
static void find_leaves(Classes *c, TileUnit *unit, PoolId **scratch)
{
  arrsetlen(*scratch, 0);
  if (!pool_is_none(unit->tile->params))
    flatten_parts(c, unit->tile->params, scratch);
  unit->n_leaves = (uint32_t)arrlenu(*scratch);
  unit->leaves = arena_many(c->arena, PoolId, unit->n_leaves + 1);
  if (unit->n_leaves > 0)
    memcpy(unit->leaves, *scratch, unit->n_leaves * sizeof **scratch);
}

static bool is_same_key(const uint32_t *a, const uint32_t *b)
{
  return arrlenu(a) == arrlenu(b) && memcmp(a, b, arrlenu(a) * sizeof *a) == 0;
}

/* Most units are of the group of the one before. */
static void group_units(Classes *c)
{
  StrTable *keys = strtable_create();   /* byte strings to small numbers */
  struct { uint32_t key; uint32_t value; } *map = NULL;
  PoolId *leaves = NULL;
  uint32_t *key = NULL, *last = NULL, group = 0;
  for (uint32_t u = 0; u < arrlenu(c->units); u++) {
    find_leaves(c, &c->units[u], &leaves);
    find_group_key(c, &c->units[u], &key);
    if (!is_same_key(key, last)) {
      uint32_t id = str_intern(keys, (const char *)key, arrlenu(key) * sizeof *key).raw;
      ptrdiff_t at = hmgeti(map, id);
      group = at >= 0 ? map[at].value : (uint32_t)arrlenu(c->groups);
      if (at < 0) {
        arrput(c->groups, ((ClassGroup){.root = NULL}));
        hmput(map, id, group);
      }
      uint32_t *other = last;
      last = key;
      key = other;
    }
    arrput(c->groups[group].units, u);
  }
  arrfree(leaves);
  arrfree(key);
  arrfree(last);
  hmfree(map);
  strtable_destroy(keys);
}

void tile_groups_form(Classes *c)
{
  group_units(c);
  if (arrlenu(c->groups) <= MOST_GROUPS)
    return;
  for (size_t i = 0; i < arrlenu(c->groups); i++)
    arrfree(c->groups[i].units);
  arrsetlen(c->groups, 0);
  c->splits_arrays = true;
  group_units(c);
}

static bool leaf_differs(const Classes *c, const ClassGroup *g, uint32_t leaf)
{
  PoolId first = c->units[g->units[0]].leaves[leaf];
  for (size_t i = 1; i < arrlenu(g->units); i++)
    if (!pool_eq(c->units[g->units[i]].leaves[leaf], first))
      return true;
  return false;
}

void tile_group_prepare(Classes *c, uint32_t group)
{
  Pool *pool = c->session->pool;
  ClassGroup *g = &c->groups[group];
  const TileUnit *first = &c->units[g->units[0]];
  uint32_t n = first->n_leaves;
  PoolId *leaves = arena_many(c->arena, PoolId, n + 1);
  g->root = new_node(c->arena);
  g->params = first->tile->params;
  g->n_leaves = n;
  g->symbol_leaf = arena_many(c->arena, uint32_t, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    leaves[i] = first->leaves[i];
    if (!leaf_differs(c, g, i))
      continue;
    PoolKey key = {.kind = PK_SYMBOLIC, .type = pool_type_of(pool, leaves[i])};
    key.u.symbolic.sym = SYM_PARAM;
    key.u.symbolic.index = g->n_symbols;
    g->symbol_leaf[g->n_symbols++] = i;
    leaves[i] = pool_get(pool, &key);
  }
  const PoolId *next = leaves;
  if (n > 0)
    g->params = rebuild_parts(c, first->tile->params, &next);
  for (size_t i = 0; i < arrlenu(g->units); i++) {
    TileUnit *unit = &c->units[g->units[i]];
    unit->group = group;
    unit->symbols = arena_many(c->arena, PoolId, g->n_symbols + 1);
    for (uint32_t k = 0; k < g->n_symbols; k++)
      unit->symbols[k] = unit->leaves[g->symbol_leaf[k]];
  }
}
