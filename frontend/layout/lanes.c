/* Several paths at once that share no tile, one from each start to the goal of the same number.
 *
 * Shortest paths one after the other may lock each other in.  This is a flow instead, of one unit
 * per start through tiles that take one unit each: a new path may push an older one aside (Ford and
 * Fulkerson, "Maximal Flow Through a Network", 1956), along a shortest way by breadth-first search
 * (Edmonds and Karp, "Theoretical Improvements in Algorithmic Efficiency for Network Flow
 * Problems", 1972).
 *
 * In a flow a start may have any goal.  Paths in a plane cannot cross, so they keep the
 * order of the starts, but they may go past a region on both sides: then the first goal is not that
 * of the first start.  A cut from region to region, in front of the first path or behind the last,
 * which no path crosses, leaves one order only. */
#include "frontend/layout/regions.h"

#include <string.h>

/* A tile is two nodes: what comes in and what goes out. */
typedef struct {
  const LaneSearch *s;
  uint32_t n_tiles;
  uint32_t *before, *next;     /* by tile of a path: the tile + 1; its own at an end of it */
  bool *is_goal;               /* by tile */
  uint32_t *came;              /* by node: the node before it + 1; its own for the first */
  uint32_t *queue;             /* of nodes */
  uint32_t tail;
} LaneFlow;

enum { SIDES = PORT_RAMP };

static uint32_t node_in(uint32_t tile)
{
  return 2 * tile;
}

static uint32_t node_out(uint32_t tile)
{
  return 2 * tile + 1;
}

static void reach_node(LaneFlow *f, uint32_t node, uint32_t from)
{
  if (f->came[node])
    return;
  f->came[node] = from + 1;
  f->queue[f->tail++] = node;
}

/* Through a tile without a path, or back along the path that is there. */
static void leave_in(LaneFlow *f, uint32_t tile)
{
  uint32_t before = f->before[tile];
  if (!before)
    reach_node(f, node_out(tile), node_in(tile));
  else if (before != tile + 1)
    reach_node(f, node_out(before - 1), node_in(tile));
}

static void leave_out(LaneFlow *f, uint32_t tile)
{
  uint32_t width = f->s->width, x = tile % width;
  const uint32_t beside[SIDES] = {
    tile >= width ? tile - width : tile, x + 1 < width ? tile + 1 : tile,
    tile + width < f->n_tiles ? tile + width : tile, x > 0 ? tile - 1 : tile};
  for (unsigned i = 0; i < SIDES; i++)
    if (beside[i] != tile && !f->s->is_closed[beside[i]] && f->next[tile] != beside[i] + 1)
      reach_node(f, node_in(beside[i]), node_out(tile));
  if (f->before[tile])
    reach_node(f, node_in(tile), node_out(tile));
}

/* The goal that a way from the start reaches, or UINT32_MAX. */
static uint32_t find_way(LaneFlow *f, uint32_t start)
{
  memset(f->came, 0, 2 * f->n_tiles * sizeof *f->came);
  f->tail = 0;
  if (!f->s->is_closed[start])
    reach_node(f, node_in(start), node_in(start));
  for (uint32_t head = 0; head < f->tail; head++) {
    uint32_t tile = f->queue[head] / 2;
    if (f->queue[head] == node_in(tile))
      leave_in(f, tile);
    else if (f->is_goal[tile] && f->next[tile] != tile + 1)
      return tile;
    else
      leave_out(f, tile);
  }
  return UINT32_MAX;
}

/* Takes the steps of the way, or clears those of paths along which it goes back. */
static void take_steps(LaneFlow *f, uint32_t goal, bool clears)
{
  for (uint32_t node = node_out(goal); f->came[node] != node + 1; node = f->came[node] - 1) {
    uint32_t from = f->came[node] - 1, tile = node / 2, other = from / 2;
    bool is_step = tile != other, is_forward = node == node_in(tile);
    if (!is_step || clears == is_forward)
      continue;
    if (clears) {
      f->next[tile] = 0;
      f->before[other] = 0;
    } else {
      f->next[other] = tile + 1;
      f->before[tile] = other + 1;
    }
  }
}

static bool add_path(LaneFlow *f, uint32_t start)
{
  uint32_t goal = find_way(f, start);
  if (goal == UINT32_MAX)
    return false;
  take_steps(f, goal, true);
  take_steps(f, goal, false);
  f->before[start] = start + 1;
  f->next[goal] = goal + 1;
  return true;
}

static uint32_t end_of_path(const LaneFlow *f, uint32_t start)
{
  uint32_t tile = start;
  while (f->next[tile] != tile + 1)
    tile = f->next[tile] - 1;
  return tile;
}

static const uint32_t *find_paths(Arena *arena, const LaneSearch *search)
{
  LaneFlow f = {.s = search, .n_tiles = search->width * search->height};
  f.before = arena_many(arena, uint32_t, f.n_tiles);
  f.next = arena_many(arena, uint32_t, f.n_tiles);
  f.is_goal = arena_many(arena, bool, f.n_tiles);
  f.came = arena_many(arena, uint32_t, 2 * f.n_tiles);
  f.queue = arena_many(arena, uint32_t, 2 * f.n_tiles);
  for (uint32_t i = 0; i < search->n; i++)
    f.is_goal[search->goals[i]] = true;
  for (uint32_t i = 0; i < search->n; i++)
    if (!add_path(&f, search->starts[i]))
      return NULL;
  for (uint32_t i = 0; i < search->n; i++)
    if (end_of_path(&f, search->starts[i]) != search->goals[i])
      return NULL;
  return f.before;
}

static bool *copy_closed(Arena *arena, const LaneSearch *search)
{
  uint32_t n_tiles = search->width * search->height;
  bool *is_closed = arena_many(arena, bool, n_tiles);
  memcpy(is_closed, search->is_closed, n_tiles * sizeof *is_closed);
  return is_closed;
}

/* Closes what lies in front of a tile up to the edge of the grid. */
static void close_ahead(const LaneSearch *search, bool *is_closed, uint32_t tile, uint32_t step)
{
  uint32_t width = search->width, n_tiles = width * search->height;
  bool is_row = step == 1 || step == UINT32_MAX;
  for (uint32_t at = tile; at < n_tiles && (!is_row || at / width == tile / width); at += step)
    is_closed[at] = true;
}

/* The paths beside a cut, which begins and ends where one more of them would.  `ahead`: the cut may
 * pass in front of the regions, where it may lock the paths in. */
static const uint32_t *find_beside_cut(Arena *arena, const LaneSearch *search, bool behind,
                                       bool ahead)
{
  uint32_t last = search->n - 1;
  uint32_t start = behind ? search->starts[last] + search->start_step
                          : search->starts[0] - search->start_step;
  uint32_t goal = behind ? search->goals[last] + search->goal_step
                         : search->goals[0] - search->goal_step;
  LaneSearch cut = *search, rest = *search;
  bool *is_closed = copy_closed(arena, search), *is_cut = copy_closed(arena, search);
  for (uint32_t i = 0; i < search->n; i++)
    is_closed[search->starts[i]] = is_closed[search->goals[i]] = true;
  if (!ahead) {
    close_ahead(search, is_closed, search->starts[behind ? last : 0], search->start_ahead);
    close_ahead(search, is_closed, search->goals[behind ? last : 0], search->goal_ahead);
  }
  cut.is_closed = is_closed;
  cut.n = 1;
  cut.starts = &start;
  cut.goals = &goal;
  const uint32_t *before = find_paths(arena, &cut);
  if (!before)
    return NULL;
  for (uint32_t tile = 0; tile < search->width * search->height; tile++)
    is_cut[tile] |= before[tile] != 0;
  rest.is_closed = is_cut;
  return find_paths(arena, &rest);
}

const uint32_t *lanes_find(Arena *arena, const LaneSearch *search)
{
  const uint32_t *before = find_paths(arena, search);
  for (unsigned i = 0; !before && i < 4; i++)
    before = find_beside_cut(arena, search, i & 1, i >= 2);
  return before;
}
