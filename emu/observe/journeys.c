/* Numbers wavelets. Queues and the slots of a router keep the order of their wavelets, so it is
 * enough to know which numbers are where; a multicast's copies share the number. */
#include "emu/observe/observe.h"

#include "stb_ds.h"

#include <stdlib.h>

/* Where a wavelet is on its tile: a color's slots in the router, an input or an output queue. */
enum {
  PLACE_ROUTER = 0,
  PLACE_INPUT = MAX_COLORS,
  PLACE_OUTPUT = PLACE_INPUT + MAX_QUEUES,
  NO_LINK = 0xffffffff,
};

/* A tile has a few wavelets at a time, all in one list in the order of their arrival. */
typedef struct {
  uint64_t number;
  uint32_t next;
  uint8_t place;
} Traveller;
typedef struct {
  uint32_t first, last;
} Visitors; /* indices of travellers, or NO_LINK */

struct Journeys {
  const Program *program;
  Visitors *tiles;
  Traveller *travellers; /* stb_ds */
  uint32_t unused;       /* first of those that may be used again */
  uint64_t born;
  uint64_t arriving; /* on the ramp or from the host, before its push; 0: none */
  uint64_t leaving;  /* out of its queue for the host */
};

Journeys *journeys_create(const Program *program)
{
  Journeys *j = base_malloc(sizeof *j);
  *j = (Journeys){.program = program, .unused = NO_LINK};
  j->tiles = base_malloc(sizeof *j->tiles * program->n_tiles);
  for (uint32_t t = 0; t < program->n_tiles; t++)
    j->tiles[t] = (Visitors){NO_LINK, NO_LINK};
  return j;
}

void journeys_destroy(Journeys *j)
{
  if (!j)
    return;
  free(j->tiles);
  arrfree(j->travellers);
  free(j);
}

static void enter_place(Journeys *j, uint32_t tile, unsigned place, uint64_t number)
{
  uint32_t at = j->unused;
  Visitors *visitors = &j->tiles[tile];
  Traveller new = {number, NO_LINK, (uint8_t)place};
  if (at == NO_LINK) {
    at = (uint32_t)arrlenu(j->travellers);
    arrput(j->travellers, new);
  } else {
    j->unused = j->travellers[at].next;
    j->travellers[at] = new;
  }
  if (visitors->last == NO_LINK)
    visitors->first = at;
  else
    j->travellers[visitors->last].next = at;
  visitors->last = at;
}

/* Takes out the first at the place; 0: nothing is there. */
static uint64_t leave_place(Journeys *j, uint32_t tile, unsigned place)
{
  Visitors *visitors = &j->tiles[tile];
  uint32_t before = NO_LINK;
  for (uint32_t at = visitors->first; at != NO_LINK; before = at, at = j->travellers[at].next) {
    Traveller *found = &j->travellers[at];
    if (found->place != place)
      continue;
    if (before == NO_LINK)
      visitors->first = found->next;
    else
      j->travellers[before].next = found->next;
    if (visitors->last == at)
      visitors->last = before;
    found->next = j->unused;
    j->unused = at;
    return found->number;
  }
  return 0;
}

static void take_up_place(Journeys *j, uint32_t tile, unsigned place, unsigned count)
{
  for (unsigned i = 0; i < count; i++)
    enter_place(j, tile, place, ++j->born);
}

uint64_t journeys_take_up(Journeys *j, Engine *engine)
{
  for (uint32_t tile = 0; tile < j->program->n_tiles; tile++) {
    InspectTile at;
    if (!engine->ops->touched(engine, tile))
      continue;
    engine->ops->inspect(engine, tile, &at);
    for (unsigned c = 0; c < MAX_COLORS; c++)
      take_up_place(j, tile, PLACE_ROUTER + c, at.colors[c].count);
    for (unsigned q = 0; q < MAX_QUEUES; q++) {
      take_up_place(j, tile, PLACE_INPUT + q, at.input[q].count);
      take_up_place(j, tile, PLACE_OUTPUT + q, at.output[q].count);
    }
  }
  return j->born;
}

size_t journeys_copies(const Journeys *j, uint64_t number)
{
  size_t n = 0;
  for (uint32_t tile = 0; tile < j->program->n_tiles; tile++)
    for (uint32_t at = j->tiles[tile].first; at != NO_LINK; at = j->travellers[at].next)
      n += j->travellers[at].number == number;
  return n;
}

static uint64_t move_on(Journeys *j, const TraceEvent *e)
{
  uint64_t number = leave_place(j, e->tile, PLACE_ROUTER + e->color);
  for (unsigned p = 0; p < PORT_RAMP; p++) {
    uint32_t next = e->to >> p & 1 ? program_neighbour(j->program, e->tile, (Port)p) : NO_TILE;
    if (next == NO_TILE)
      continue;
    uint8_t inside = program_color_inside(j->program, next, e->color, port_opposite((Port)p));
    enter_place(j, next, PLACE_ROUTER + inside, number);
  }
  if (e->to >> PORT_RAMP & 1)
    j->arriving = number;
  return number;
}

static uint64_t push_number(Journeys *j, const TraceEvent *e)
{
  uint64_t number = e->output || !j->arriving ? ++j->born : j->arriving;
  if (!e->output)
    j->arriving = 0;
  enter_place(j, e->tile, (e->output ? PLACE_OUTPUT : PLACE_INPUT) + e->queue, number);
  return number;
}

static uint64_t pop_number(Journeys *j, const TraceEvent *e)
{
  uint64_t number = leave_place(j, e->tile, (e->output ? PLACE_OUTPUT : PLACE_INPUT) + e->queue);
  if (e->output && program_is_host_color(j->program, e->color))
    j->leaving = number;
  else if (e->output)
    enter_place(j, e->tile,
                PLACE_ROUTER + program_color_inside(j->program, e->tile, e->color, PORT_RAMP),
                number);
  return number;
}

uint64_t journeys_event(Journeys *j, const TraceEvent *e)
{
  switch (e->kind) {
  case EV_WAVELET:
    return move_on(j, e);
  case EV_PUSH:
    return push_number(j, e);
  case EV_POP:
    return pop_number(j, e);
  case EV_HOST_IN:
    return j->arriving = ++j->born;
  case EV_HOST_OUT:
    return j->leaving;
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
    return 0;
  }
}
