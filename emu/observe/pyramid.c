/* Counts of tiles over time, in a bounded number of cells. A level joins square blocks of tiles;
 * the larger its blocks, the finer its steps of time, up to a number that all share.  A step is a
 * power of two of cycles, which doubles as the run goes on.  Each event is added to all levels, so
 * they are few.
 *
 * Where an engine counts for each tile, samples replace events. At the end of a step, its blocks
 * have counted something since the last one, and a level gets that. */
#include "emu/observe/page_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
  EVENT_STEPS_LOG = 8,
  SAMPLE_STEPS_LOG = 6, /* a sample looks at all tiles */
  SAMPLE_CYCLES_LOG = 6,
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
  /* of samples */
  TileCounts *now, *then; /* by block: at this sample, which the finest level has from the engine;
                             at the last one that the level has got */
  uint64_t taken_at;      /* the cycle of that */
} Level;

struct Pyramid {
  const Program *program;
  unsigned steps_log;  /* most steps of a level */
  unsigned step_log;   /* cycles of one of so many steps */
  bool sampled;
  uint32_t tile;       /* of the last event; the next one is mostly of the same tile */
  unsigned n_levels;
  Level levels[MOST_LEVELS]; /* finest first */
};

static const Combine combines[CHANNEL_COUNT] = {
#define CHANNEL(name, combine, unit, text) [CHANNEL_##name] = COMBINE_##combine,
#include "emu/observe/channels.def"
};

static Level level_of(const Image *image, unsigned side_log, unsigned steps_log)
{
  uint32_t side = 1u << side_log;
  Level level = {.side_log = side_log,
                 .columns = (image->width + side - 1) >> side_log,
                 .rows = (image->height + side - 1) >> side_log};
  uint64_t blocks = (uint64_t)level.columns * level.rows;
  while (level.steps_log < steps_log && blocks << (level.steps_log + 1) <= CELLS)
    level.steps_log++;
  return level;
}

Pyramid *pyramid_create(const Program *program, bool sampled)
{
  Pyramid *p = base_malloc(sizeof *p);
  *p = (Pyramid){.program = program, .sampled = sampled,
                 .steps_log = sampled ? SAMPLE_STEPS_LOG : EVENT_STEPS_LOG,
                 .step_log = sampled ? SAMPLE_CYCLES_LOG : 0};
  do
    p->levels[p->n_levels] = level_of(program->image, p->n_levels * SIDE_LOG, p->steps_log);
  while (p->levels[p->n_levels++].steps_log < p->steps_log && p->n_levels < MOST_LEVELS);
  return p;
}

void pyramid_destroy(Pyramid *p)
{
  if (!p)
    return;
  for (unsigned l = 0; l < p->n_levels; l++) {
    for (unsigned c = 0; c < CHANNEL_COUNT; c++)
      free(p->levels[l].cells[c]);
    free(p->levels[l].now);
    free(p->levels[l].then);
  }
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
  while (cycle >> p->step_log >> p->steps_log)
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

static uint64_t *channel_cells(Level *level, Channel channel)
{
  if (!level->cells[channel])
    level->cells[channel] = base_zeroed(level_blocks(level) << level->steps_log, sizeof(uint64_t));
  return level->cells[channel];
}

/* The tile's block in the level's first step. */
static uint64_t *block_cells(Pyramid *p, Level *level, Channel channel, uint32_t tile)
{
  if (tile != p->tile)
    find_blocks(p, tile);
  return &channel_cells(level, channel)[level->block];
}

static unsigned level_step_log(const Pyramid *p, const Level *level)
{
  return p->step_log + p->steps_log - level->steps_log;
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

/* ---- samples --------------------------------------------------------------------------------- */

static const Channel channel_of_count[TILE_COUNTS] = {
#define ROW(name) [COUNT_##name] = CHANNEL_##name,
    TILE_COUNT_ROWS(ROW)
#undef ROW
};

/* Sums of the blocks of the level below, or of tiles. */
static void sum_blocks(Level *level, const TileCounts *below, uint32_t columns, uint32_t rows,
                       unsigned side_log)
{
  if (!level->now)
    level->now = base_malloc(level_blocks(level) * sizeof *level->now);
  memset(level->now, 0, level_blocks(level) * sizeof *level->now);
  for (uint32_t y = 0; y < rows; y++) {
    TileCounts *row = &level->now[(size_t)(y >> side_log) * level->columns];
    for (uint32_t x = 0; x < columns; x++, below++)
      for (unsigned c = 0; c < TILE_COUNTS; c++)
        row[x >> side_log].of[c] += below->of[c];
  }
}

/* So many fewer of a block in the steps up to one, the latest first.  `cells`: of the block. */
static void take_back(uint64_t *cells, size_t blocks, uint64_t step, uint64_t excess)
{
  for (uint64_t s = step + 1; s-- > 0 && excess;) {
    uint64_t *cell = &cells[s * blocks], n = *cell < excess ? *cell : excess;
    *cell -= n;
    excess -= n;
  }
}

/* What has been counted since the level's last sample belongs to the step of that.  A sample may
 * have counted elements of a stream ahead of their cycle that are taken back later. */
static void take_counts(const Pyramid *p, Level *level, const TileCounts *now)
{
  size_t blocks = level_blocks(level);
  uint64_t step = level->taken_at >> level_step_log(p, level);
  if (!level->then)
    level->then = base_zeroed(blocks, sizeof *level->then);
  for (unsigned c = 0; c < TILE_COUNTS; c++) {
    uint64_t *cells = NULL;
    for (size_t b = 0; b < blocks; b++) {
      int32_t counted = (int32_t)(now[b].of[c] - level->then[b].of[c]);
      if (!counted)
        continue;
      if (!cells)
        cells = channel_cells(level, channel_of_count[c]);
      if (counted > 0)
        cells[step * blocks + b] += (uint32_t)counted;
      else
        take_back(&cells[b], blocks, step, (uint64_t)-(int64_t)counted);
    }
  }
  memcpy(level->then, now, blocks * sizeof *now);
}

/* All levels whose step has ended, or all. */
static void take_sample(Pyramid *p, const TileCounts *counts, uint64_t cycle, bool is_last)
{
  const TileCounts *below = counts;
  for (unsigned l = 0; l < p->n_levels; l++) {
    Level *level = &p->levels[l];
    unsigned log = level_step_log(p, level);
    if (l > 0) {
      const Level *finer = &p->levels[l - 1];
      sum_blocks(level, below, finer->columns, finer->rows, level->side_log - finer->side_log);
      below = level->now;
    }
    if (!is_last && cycle >> log == level->taken_at >> log)
      continue;
    take_counts(p, level, below);
    level->taken_at = cycle;
  }
}

uint64_t pyramid_sample(Pyramid *p, const TileCounts *counts, uint64_t cycle)
{
  Level *finest_time = &p->levels[p->n_levels - 1];
  if (cycle >> p->step_log != finest_time->taken_at >> p->step_log)
    take_sample(p, counts, cycle, false);
  make_room(p, cycle);
  return ((cycle >> p->step_log) + 1) << p->step_log;
}

void pyramid_last_sample(Pyramid *p, const TileCounts *counts, uint64_t cycle)
{
  take_sample(p, counts, cycle, true);
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
