/* Ways of wavelets: every step of some of them, chosen by a hash of their numbers.  The choice gets
 * stricter as the run goes on, so that the steps of those chosen have room. */
#include "emu/observe/page_internal.h"

#include "stb_ds.h"

#include <stdlib.h>

enum { STEPS = 1 << 17, MOST_STRICT = 60, HASH_BITS = 64 };
#define HASH_FACTOR UINT64_C(0xd6e8feb86659fd93)

typedef enum {
  STEP_SENT,    /* into an output queue */
  STEP_ENTERED, /* the router */
  STEP_MOVED,   /* from a port to ports */
  STEP_ARRIVED, /* into an input queue */
  STEP_TAKEN,   /* out of it */
  STEP_FROM_HOST,
  STEP_TO_HOST,
} WayKind;

typedef struct {
  uint64_t number, cycle;
  uint32_t tile, order, payload;
  uint8_t kind, color, from, to;
  bool control;
} WayStep;

struct Ways {
  const Program *program;
  Journeys *journeys;
  WayStep *steps;  /* stb_ds, in order of time */
  unsigned strict; /* high bits of the hash that must be zero */
  uint32_t order;
  uint64_t before; /* numbers up to this one were sent before the ways began */
  uint64_t left;   /* events until they are over */
  uint64_t over_at; /* the cycle of that; from its start on there are no steps */
};

Ways *ways_create(const Program *program, uint64_t most_events)
{
  Ways *w = base_malloc(sizeof *w);
  *w = (Ways){.program = program, .journeys = journeys_create(program), .left = most_events};
  return w;
}

void ways_take_up(Ways *w, Engine *engine)
{
  w->before = journeys_take_up(w->journeys, engine);
}

bool ways_are_over(const Ways *w)
{
  return !w->left;
}

void ways_destroy(Ways *w)
{
  if (!w)
    return;
  journeys_destroy(w->journeys);
  arrfree(w->steps);
  free(w);
}

static bool is_chosen(const Ways *w, uint64_t number)
{
  return number > w->before &&
         (w->strict == 0 || (number * HASH_FACTOR) >> (HASH_BITS - w->strict) == 0);
}

static void choose_fewer(Ways *w)
{
  size_t kept = 0;
  w->strict++;
  for (size_t i = 0; i < arrlenu(w->steps); i++)
    if (is_chosen(w, w->steps[i].number))
      w->steps[kept++] = w->steps[i];
  arrsetlen(w->steps, kept);
}

static bool step_kind(const TraceEvent *e, uint8_t *kind)
{
  switch (e->kind) {
  case EV_PUSH:
    *kind = e->output ? STEP_SENT : STEP_ARRIVED;
    return true;
  case EV_POP:
    *kind = e->output ? STEP_ENTERED : STEP_TAKEN;
    return true;
  case EV_WAVELET:
    *kind = STEP_MOVED;
    return true;
  case EV_HOST_IN:
    *kind = STEP_FROM_HOST;
    return true;
  case EV_HOST_OUT:
    *kind = STEP_TO_HOST;
    return true;
  case EV_TASK_START:
  case EV_TASK_END:
  case EV_ACTIVATE:
  case EV_BLOCK:
  case EV_UNBLOCK:
  case EV_INST:
  case EV_GROUP:
  case EV_DONE:
  case EV_SWITCH:
  case EV_ROUTE:
  case EV_WAIT:
  case EV_STALL:
  case EV_LAUNCH:
  case EV_COUNT:
  default:
    return false;
  }
}

/* The steps of the cycle that is cut go: of its tiles, some have none. */
static void end_ways(Ways *w, uint64_t cycle)
{
  w->over_at = cycle;
  while (arrlenu(w->steps) && arrlast(w->steps).cycle == cycle)
    (void)arrpop(w->steps);
}

bool ways_event(Ways *w, const TraceEvent *e)
{
  if (!w->left)
    return false;
  WayStep step = {.number = journeys_event(w->journeys, e),
                  .cycle = e->cycle,
                  .tile = e->tile,
                  .color = e->color,
                  .payload = e->payload,
                  .control = e->control};
  if (step.number && --w->left == 0) {
    end_ways(w, e->cycle);
    return true;
  }
  if (!is_chosen(w, step.number) || !step_kind(e, &step.kind))
    return false;
  step.from = e->kind == EV_WAVELET ? (uint8_t)e->from : e->queue;
  step.to = e->kind == EV_WAVELET ? e->to : 0;
  step.order = w->order++;
  arrput(w->steps, step);
  while (arrlenu(w->steps) > STEPS && w->strict < MOST_STRICT)
    choose_fewer(w);
  return false;
}

/* ---- into the page --------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
  const WayStep *x = a, *y = b;
  if (x->number != y->number)
    return x->number < y->number ? -1 : 1;
  return (x->order > y->order) - (x->order < y->order);
}

enum {
  FIELD_NUMBER,
  FIELD_CYCLE,
  FIELD_TILE,
  FIELD_KIND,
  FIELD_PORTS,
  FIELD_COLOR,
  FIELD_PAYLOAD,
  FIELD_COUNT
};
static const char *const field_names[FIELD_COUNT] = {
    "way.number", "way.cycle", "way.tile", "way.kind", "way.ports", "way.color", "way.payload"};
enum { CONTROL_SHIFT = 3, TO_SHIFT = 3 };

static uint64_t field_of(const WayStep *step, const WayStep *before, unsigned field)
{
  switch (field) {
  case FIELD_NUMBER:
    return step->number - (before ? before->number : 0);
  case FIELD_CYCLE:
    return step->cycle - (before && before->number == step->number ? before->cycle : 0);
  case FIELD_TILE:
    return step->tile;
  case FIELD_KIND:
    return step->kind | (unsigned)step->control << CONTROL_SHIFT;
  case FIELD_PORTS:
    return step->from | (unsigned)step->to << TO_SHIFT;
  case FIELD_COLOR:
    return step->color;
  case FIELD_PAYLOAD:
  default:
    return step->payload;
  }
}

static bool pack_field(const Ways *w, Pack *pack, unsigned field)
{
  size_t n = arrlenu(w->steps);
  uint64_t *numbers = base_malloc(sizeof *numbers * (n + 1));
  for (size_t i = 0; i < n; i++)
    numbers[i] = field_of(&w->steps[i], i ? &w->steps[i - 1] : NULL, field);
  bool fits = pack_numbers(pack, field_names[field], numbers, n);
  free(numbers);
  return fits;
}

void ways_pack(Ways *w, Pack *pack, json_t *top)
{
  size_t before = pack_bytes(pack);
  bool fits = true;
  if (arrlenu(w->steps))
    qsort(w->steps, arrlenu(w->steps), sizeof *w->steps, by_number);
  for (unsigned field = 0; fits && field < FIELD_COUNT; field++)
    fits = pack_field(w, pack, field);
  if (!fits)
    pack_shrink(pack, before);
  json_object_set_new(top, "ways_one_of", json_integer(fits ? (json_int_t)1 << w->strict : 0));
  if (!w->left)
    json_object_set_new(top, "ways_until", json_integer((json_int_t)w->over_at));
}
