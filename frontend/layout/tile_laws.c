/* What parameters are by the place of their tile, for debuggers: coordinates and other linear
 * functions of the column and the row. */
#include "frontend/layout/tile_class.h"

#include <stb_ds.h>

/* How the law of a parameter is found, from tiles in the order of the grid. */
typedef struct {
  bool has_tile, fails, has_x, has_y;
  uint32_t x, y;                /* the first tile, and what is there */
  int64_t first;
  uint32_t last_y;              /* row of the tile before, and what is there */
  int64_t last;
  int64_t per_x, per_y, least, most;
} LawSearch;

/* The growth per step; it fails if `growth` over so many steps is no whole number of it. */
static int64_t divide_growth(LawSearch *search, int64_t growth, int64_t steps)
{
  search->fails |= growth % steps != 0;
  return growth / steps;
}

/* Adds a tile.  The first one beside another gives the growth from column to column, the first one
 * of another row that from row to row; then the law says what every tile has.  A group whose rows
 * are in other columns before that has none. */
static void learn_tile(LawSearch *search, uint32_t x, uint32_t y, int64_t value)
{
  if (!search->has_tile)
    *search = (LawSearch){.has_tile = true, .x = x, .y = y, .first = value, .least = value,
                          .most = value};
  int64_t columns = (int64_t)x - search->x, rows = (int64_t)y - search->y;
  if (columns && !search->has_x) {
    search->has_x = true;
    search->fails |= y != search->last_y;
    search->per_x = divide_growth(search, value - search->last, columns);
  }
  int64_t growth = value - search->first - columns * search->per_x;
  if (rows && !search->has_y) {
    search->has_y = true;
    search->per_y = divide_growth(search, growth, rows);
  }
  search->fails |= growth != rows * search->per_y;
  search->least = value < search->least ? value : search->least;
  search->most = value > search->most ? value : search->most;
  search->last_y = y, search->last = value;
}

static void learn_unit(const Classes *c, LawSearch *searches, const TileUnit *unit, uint32_t x,
                       uint32_t y)
{
  for (uint32_t k = 0; k < c->groups[unit->group].n_symbols; k++) {
    int64_t value;
    if (searches[k].fails)
      continue;
    if (pool_int_value(c->session->pool, unit->symbols[k], &value) && law_can_have(value))
      learn_tile(&searches[k], x, y, value);
    else
      searches[k].fails = true;
  }
}

static PlaceLaw law_found(const LawSearch *search)
{
  int64_t first = search->first - search->x * search->per_x - search->y * search->per_y;
  return (PlaceLaw){.holds = !search->fails, .first = (uint64_t)first,
                    .per_x = (uint64_t)search->per_x, .per_y = (uint64_t)search->per_y,
                    .least = search->least, .most = search->most};
}

void tile_laws_find(Classes *c)
{
  size_t n = arrlenu(c->groups);
  LawSearch **searches = arena_many(c->arena, LawSearch *, n + 1);
  for (size_t i = 0; i < n; i++)
    searches[i] = arena_many(c->arena, LawSearch, c->groups[i].n_symbols + 1);
  const uint32_t *unit = c->unit_of_tile;
  for (uint32_t y = 0; y < c->session->layout->height; y++)
    for (uint32_t x = 0; x < c->session->layout->width; x++, unit++)
      if (*unit != NO_UNIT)
        learn_unit(c, searches[c->units[*unit].group], &c->units[*unit], x, y);
  for (size_t i = 0; i < n; i++) {
    ClassGroup *g = &c->groups[i];
    g->laws = arena_many(c->arena, PlaceLaw, g->n_symbols + 1);
    for (uint32_t k = 0; k < g->n_symbols; k++)
      g->laws[k] = law_found(&searches[i][k]);
  }
}
