/* Counts of tiles over time, in a bounded number of cells. A level joins square blocks of tiles;
 * the larger its blocks, the finer its steps of time, up to TIME_STEPS.  A step is a power of two
 * of cycles, which doubles as the run goes on.  Each event is added to all levels, so they are few.
 */
#include "emu/observe/page_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
  TIME_STEPS_LOG = 8,
  TIME_STEPS = 1 << TIME_STEPS_LOG,
  CELLS = 1 << 19,
  SIDE_LOG = 2,
  MOST_LEVELS = 16
};

typedef enum { COMBINE_SUM, COMBINE_MOST } Combine;

typedef struct {
  unsigned side_log;              /* of a block, in tiles */
  unsigned steps_log;             /* of time */
  uint32_t columns, rows;         /* of blocks */
  size_t block;                   /* of the pyramid's `tile` */
  uint64_t *cells[CHANNEL_COUNT]; /* by step, row, column; NULL: all zero */
} Level;

struct Pyramid {
  const Program *program;
  unsigned step_log;   /* cycles of one of TIME_STEPS steps */
  uint32_t tile;       /* of the last event; the next one is mostly of the same tile */
  unsigned n_levels;
  Level levels[MOST_LEVELS]; /* finest first */
};

static const Combine combines[CHANNEL_COUNT] = {
#define CHANNEL(name, combine, unit, text) [CHANNEL_##name] = COMBINE_##combine,
#include "emu/observe/channels.def"
};

static Level level_of(const Image *image, unsigned side_log)
{
  uint32_t side = 1u << side_log;
  Level level = {.side_log = side_log,
                 .columns = (image->width + side - 1) >> side_log,
                 .rows = (image->height + side - 1) >> side_log};
  uint64_t blocks = (uint64_t)level.columns * level.rows;
  while (level.steps_log < TIME_STEPS_LOG && blocks << (level.steps_log + 1) <= CELLS)
    level.steps_log++;
  return level;
}

Pyramid *pyramid_create(const Program *program)
{
  Pyramid *p = base_malloc(sizeof *p);
  *p = (Pyramid){.program = program};
  do
    p->levels[p->n_levels] = level_of(program->image, p->n_levels * SIDE_LOG);
  while (p->levels[p->n_levels++].steps_log < TIME_STEPS_LOG && p->n_levels < MOST_LEVELS);
  return p;
}

void pyramid_destroy(Pyramid *p)
{
  if (!p)
    return;
  for (unsigned l = 0; l < p->n_levels; l++)
    for (unsigned c = 0; c < CHANNEL_COUNT; c++)
      free(p->levels[l].cells[c]);
  free(p);
}

static size_t level_blocks(const Level *level)
{
  return (size_t)level->columns * level->rows;
}

static void combine_into(uint64_t *cell, Channel channel, uint64_t value)
{
  if (combines[channel] == COMBINE_SUM)
    *cell += value;
  else if (value > *cell)
    *cell = value;
}

/* Joins each two steps of time from `from` to half as many in `to`, which may be the same. */
static void join_steps(const Level *level, Channel channel, const uint64_t *from, uint64_t *to)
{
  size_t blocks = level_blocks(level), steps = (size_t)1 << level->steps_log;
  for (size_t t = 0; t < steps; t += 2) {
    for (size_t b = 0; b < blocks; b++) {
      uint64_t joined = from[t * blocks + b];
      combine_into(&joined, channel, from[(t + 1) * blocks + b]);
      to[t / 2 * blocks + b] = joined;
    }
  }
}

static void double_step(Pyramid *p)
{
  for (unsigned l = 0; l < p->n_levels; l++) {
    Level *level = &p->levels[l];
    size_t half = (level_blocks(level) << level->steps_log) / 2;
    for (unsigned c = 0; c < CHANNEL_COUNT && level->steps_log; c++) {
      if (!level->cells[c])
        continue;
      join_steps(level, (Channel)c, level->cells[c], level->cells[c]);
      memset(level->cells[c] + half, 0, half * sizeof *level->cells[c]);
    }
  }
  p->step_log++;
}

static void make_room(Pyramid *p, uint64_t cycle)
{
  while (cycle >> p->step_log >= TIME_STEPS)
    double_step(p);
}

static void find_blocks(Pyramid *p, uint32_t tile)
{
  uint32_t x = program_x(p->program, tile), y = program_y(p->program, tile);
  for (unsigned l = 0; l < p->n_levels; l++) {
    Level *level = &p->levels[l];
    level->block = (size_t)(y >> level->side_log) * level->columns + (x >> level->side_log);
  }
  p->tile = tile;
}

/* The tile's block in the level's first step. */
static uint64_t *block_cells(Pyramid *p, Level *level, Channel channel, uint32_t tile)
{
  if (tile != p->tile)
    find_blocks(p, tile);
  if (!level->cells[channel])
    level->cells[channel] = base_zeroed(level_blocks(level) << level->steps_log, sizeof(uint64_t));
  return &level->cells[channel][level->block];
}

static unsigned level_step_log(const Pyramid *p, const Level *level)
{
  return p->step_log + TIME_STEPS_LOG - level->steps_log;
}

void pyramid_add(Pyramid *p, Channel channel, uint32_t tile, uint64_t cycle, uint64_t value)
{
  make_room(p, cycle);
  for (unsigned l = 0; l < p->n_levels; l++) {
    Level *level = &p->levels[l];
    uint64_t step = cycle >> level_step_log(p, level);
    combine_into(block_cells(p, level, channel, tile) + step * level_blocks(level), channel, value);
  }
}

void pyramid_add_cycles(Pyramid *p, Channel channel, uint32_t tile, uint64_t from, uint64_t to)
{
  if (from >= to)
    return;
  make_room(p, to - 1);
  for (unsigned l = 0; l < p->n_levels; l++) {
    Level *level = &p->levels[l];
    unsigned log = level_step_log(p, level);
    uint64_t *cells = block_cells(p, level, channel, tile), at = from;
    while (at < to) {
      uint64_t step = at >> log, end = (step + 1) << log;
      end = end < to ? end : to;
      cells[step * level_blocks(level)] += end - at;
      at = end;
    }
  }
}

void pyramid_hold(Pyramid *p, Channel channel, uint32_t tile, uint64_t from, uint64_t to,
                  uint64_t value)
{
  if (!value)
    return;
  make_room(p, to);
  for (unsigned l = 0; l < p->n_levels; l++) {
    Level *level = &p->levels[l];
    unsigned log = level_step_log(p, level);
    uint64_t *cells = block_cells(p, level, channel, tile);
    for (uint64_t step = from >> log; step <= to >> log; step++)
      combine_into(&cells[step * level_blocks(level)], channel, value);
  }
}

/* ---- into the page --------------------------------------------------------------------------- */

static const char *const channel_names[CHANNEL_COUNT] = {
#define CHANNEL(name, combine, unit, text) [CHANNEL_##name] = #name,
#include "emu/observe/channels.def"
};

/* All channels of a level or, after taking back what was added, none. */
static bool pack_level(const Level *level, unsigned number, Pack *pack)
{
  size_t before = pack_bytes(pack), cells = level_blocks(level) << level->steps_log;
  for (unsigned c = 0; c < CHANNEL_COUNT; c++) {
    char name[64];
    snprintf(name, sizeof name, "level%u.%s", number, channel_names[c]);
    if (level->cells[c] && !pack_numbers(pack, name, level->cells[c], cells)) {
      pack_shrink(pack, before);
      return false;
    }
  }
  return true;
}

static void halve_level(Level *level)
{
  for (unsigned c = 0; c < CHANNEL_COUNT; c++)
    if (level->cells[c])
      join_steps(level, (Channel)c, level->cells[c], level->cells[c]);
  level->steps_log--;
}

void pyramid_pack(Pyramid *p, Pack *pack, json_t *top)
{
  json_t *levels = json_array();
  for (unsigned l = p->n_levels; l-- > 0;) {
    Level *level = &p->levels[l];
    bool fits;
    while (!(fits = pack_level(level, l, pack)) && level->steps_log)
      halve_level(level);
    if (!fits)
      continue;
    json_t *one =
        json_pack("{s:i, s:i, s:I, s:I, s:i, s:I}", "level", (int)l, "side", 1 << level->side_log,
                  "columns", (json_int_t)level->columns, "rows", (json_int_t)level->rows, "steps",
                  1 << level->steps_log, "step_cycles", (json_int_t)1 << level_step_log(p, level));
    json_array_append_new(levels, one);
  }
  json_object_set_new(top, "levels", levels);
}
