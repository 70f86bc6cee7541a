/* Routes that change while a program runs, by switches or by writes to a router's registers: what
 * a color of a tile connects, from which cycle on.  If there are very many changes, the page keeps
 * the last one of each stretch of time. */
#include "emu/observe/page_internal.h"

#include "stb_ds.h"

#include <stdlib.h>

enum { CHANGES = 1 << 17, CHANGES_PER_TILE = 2, MOST_GRAIN_LOG = 40 };

typedef struct {
  uint64_t cycle;
  uint32_t tile, order;
  uint8_t color, inputs, outputs;
} RouteChange;

struct Turns {
  const Program *program;
  RouteChange *changes; /* stb_ds */
  size_t most;          /* of them */
  uint32_t order;
  unsigned grain_log;   /* cycles of a stretch, of which the last change is kept */
  bool has_no_room;     /* even for one change of each color: it keeps none */
};

Turns *turns_create(const Program *program)
{
  Turns *t = base_malloc(sizeof *t);
  size_t by_tile = (size_t)program->n_tiles * CHANGES_PER_TILE;
  *t = (Turns){.program = program, .most = by_tile > CHANGES ? by_tile : CHANGES};
  return t;
}

void turns_destroy(Turns *t)
{
  if (!t)
    return;
  arrfree(t->changes);
  free(t);
}

static int by_place(const void *a, const void *b)
{
  const RouteChange *x = a, *y = b;
  if (x->tile != y->tile)
    return x->tile < y->tile ? -1 : 1;
  if (x->color != y->color)
    return x->color < y->color ? -1 : 1;
  return (x->order > y->order) - (x->order < y->order);
}

static bool is_same_stretch(const Turns *t, const RouteChange *a, const RouteChange *b)
{
  return a->tile == b->tile && a->color == b->color &&
         a->cycle >> t->grain_log == b->cycle >> t->grain_log;
}

static void sort_changes(Turns *t)
{
  if (arrlenu(t->changes))
    qsort(t->changes, arrlenu(t->changes), sizeof *t->changes, by_place);
}

/* Of each stretch; they are in the order of sort_changes. */
static void keep_last(Turns *t)
{
  size_t n = arrlenu(t->changes), kept = 0;
  for (size_t i = 0; i < n; i++)
    if (i + 1 == n || !is_same_stretch(t, &t->changes[i], &t->changes[i + 1]))
      t->changes[kept++] = t->changes[i];
  arrsetlen(t->changes, kept);
}

static void make_room(Turns *t)
{
  sort_changes(t);
  keep_last(t);
  while (arrlenu(t->changes) > t->most / 2 && t->grain_log < MOST_GRAIN_LOG) {
    t->grain_log++;
    keep_last(t);
  }
  t->has_no_room = arrlenu(t->changes) > t->most / 2;
  if (t->has_no_room)
    arrsetlen(t->changes, 0);
}

static void add_change(Turns *t, RouteChange change)
{
  change.order = t->order++;
  if (t->has_no_room)
    return;
  arrput(t->changes, change);
  if (arrlenu(t->changes) >= t->most)
    make_room(t);
}

/* NULL: the layout gives the color no routes. */
static const ImageColorConfig *config_of(const Program *program, uint32_t tile, uint8_t color)
{
  const Image *image = program->image;
  const ImageColorSet *set = &image->color_sets[image->tile_colors[tile]];
  for (uint32_t i = 0; i < set->n; i++)
    if (set->uses[i].color == color)
      return &image->color_configs[set->uses[i].config];
  return NULL;
}

void turns_event(Turns *t, const TraceEvent *e)
{
  RouteChange change = {.cycle = e->cycle, .tile = e->tile, .color = e->color};
  if (e->kind == EV_ROUTE) {
    change.inputs = e->inputs;
    change.outputs = e->to;
    add_change(t, change);
  }
  if (e->kind != EV_SWITCH)
    return;
  const ImageColorConfig *config = config_of(t->program, e->tile, e->color);
  if (config) {
    change.inputs = config->positions[e->new_position].rx;
    change.outputs = config->positions[e->new_position].tx;
    add_change(t, change);
  }
}

static void take_up_color(Turns *t, const InspectColor *at, RouteChange change)
{
  const ImageColorConfig *config = config_of(t->program, change.tile, change.color);
  if (!at->configured || (config && config->positions[config->current].rx == at->rx &&
                          config->positions[config->current].tx == at->tx))
    return;
  change.inputs = at->rx;
  change.outputs = at->tx;
  add_change(t, change);
}

void turns_take_up(Turns *t, Engine *engine)
{
  InspectTile at;
  for (uint32_t tile = 0; tile < t->program->n_tiles; tile++) {
    if (!engine->ops->touched(engine, tile))
      continue;
    engine->ops->inspect(engine, tile, &at);
    for (unsigned c = 0; c < MAX_COLORS; c++)
      take_up_color(t, &at.colors[c],
                    (RouteChange){.cycle = engine->ops->cycle(engine), .tile = tile,
                                  .color = (uint8_t)c});
  }
}

/* ---- into the page --------------------------------------------------------------------------- */

enum { FIELD_TILE, FIELD_COLOR, FIELD_CYCLE, FIELD_PORTS, FIELD_COUNT };
static const char *const field_names[FIELD_COUNT] = {"turn.tile", "turn.color", "turn.cycle",
                                                     "turn.ports"};

/* Tiles as distances from the one before; a cycle from the one before of the same color. */
static uint64_t field_of(const RouteChange *changes, size_t i, unsigned field)
{
  const RouteChange *change = &changes[i], *before = i ? change - 1 : NULL;
  bool is_first = !before || before->tile != change->tile || before->color != change->color;
  switch (field) {
  case FIELD_TILE:
    return change->tile - (before ? before->tile : 0);
  case FIELD_COLOR:
    return change->color;
  case FIELD_CYCLE:
    return change->cycle - (is_first ? 0 : before->cycle);
  case FIELD_PORTS:
  default:
    return (unsigned)change->inputs | (unsigned)change->outputs << PORT_COUNT;
  }
}

void turns_pack(Turns *t, Pack *pack, json_t *top)
{
  sort_changes(t);
  keep_last(t);
  size_t n = arrlenu(t->changes), before = pack_bytes(pack);
  uint64_t *numbers = base_malloc(sizeof *numbers * (n + 1));
  bool fits = !t->has_no_room;
  for (unsigned field = 0; fits && field < FIELD_COUNT; field++) {
    for (size_t i = 0; i < n; i++)
      numbers[i] = field_of(t->changes, i, field);
    fits = pack_numbers(pack, field_names[field], numbers, n);
  }
  free(numbers);
  if (!fits)
    pack_shrink(pack, before);
  json_object_set_new(top, "turn_cycles", json_integer(fits ? (json_int_t)1 << t->grain_log : 0));
}
