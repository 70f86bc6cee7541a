/* Follows one wavelet. Queues and routers' slots keep their order, so it is enough to count the
 * wavelets ahead of it; for that the watch keeps counts of all moves from the start of the run. */
#include "emu/observe/observe.h"

#include "stb_ds.h"

#include <stdlib.h>
#include <string.h>

typedef enum { IN_OUTPUT, IN_ROUTER, BEFORE_INPUT, IN_INPUT, TAKEN, GONE } WatchedPlace;

/* One copy of the wavelet: multicast makes several.  Those of a tile that are on their way form a
 * list, in the order in which they got there: an event concerns one tile. */
typedef struct {
  WatchedPlace kind;
  uint32_t next;                /* of the tile's list: index + 1; 0: the last */
  uint32_t tile;
  uint8_t index;                /* queue or color */
  uint32_t ahead;               /* wavelets that leave before it */
  uint64_t since;
} Copy;

typedef struct {
  uint16_t routers[MAX_COLORS], queues[2][MAX_QUEUES];   /* wavelets there; input, output */
} Counts;

struct Watch {
  const Program *program;
  WatchSpec spec;
  FILE *out;
  Counts *counts;               /* by tile */
  Copy *copies;                 /* stb_ds */
  uint32_t *first;              /* by tile: of its list, as `next` */
  uint64_t sent;                /* by the tile on the color so far */
  uint64_t cycle;               /* of the last event */
  uint32_t tile;
  uint16_t pc;                  /* of the instruction or group of this tile and cycle */
  bool has_pc;
};

Watch *watch_create(const Program *program, WatchSpec spec, FILE *out)
{
  Watch *w = base_malloc(sizeof *w);
  *w = (Watch){.program = program, .spec = spec, .out = out};
  w->counts = base_zeroed(program->n_tiles, sizeof *w->counts);
  w->first = base_zeroed(program->n_tiles, sizeof *w->first);
  return w;
}

void watch_take_up(Watch *w, Engine *engine)
{
  InspectTile at;
  for (uint32_t tile = 0; tile < w->program->n_tiles; tile++) {
    Counts *counts = &w->counts[tile];
    if (!engine->ops->touched(engine, tile))
      continue;
    engine->ops->inspect(engine, tile, &at);
    for (unsigned c = 0; c < MAX_COLORS; c++)
      counts->routers[c] = at.colors[c].count;
    for (unsigned q = 0; q < MAX_QUEUES; q++) {
      counts->queues[0][q] = at.input[q].count;
      counts->queues[1][q] = at.output[q].count;
    }
  }
}

void watch_destroy(Watch *w)
{
  if (!w)
    return;
  arrfree(w->copies);
  free(w->counts);
  free(w->first);
  free(w);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void begin_line(Watch *w, uint64_t cycle, uint32_t tile)
{
  fprintf(w->out, "watch ");
  if (w->spec.place)
    fprintf(w->out, "%u ", w->spec.place);
  fprintf(w->out, "@%llu P%u.%u ", (unsigned long long)cycle, program_x(w->program, tile),
          program_y(w->program, tile));
}

static void print_place(Watch *w, uint32_t tile, uint16_t pc)
{
  char place[512];
  program_location(w->program, tile, pc, place, sizeof place);
  if (*place)
    fprintf(w->out, "%s", place);
  else
    fprintf(w->out, "pc 0x%04x", pc);
}

static void print_ahead(Watch *w, uint32_t ahead)
{
  if (ahead)
    fprintf(w->out, ", %u ahead of it", ahead);
}

static void end_line(Watch *w, const Copy *copy, uint64_t now)
{
  uint64_t waited = now - copy->since;
  if (waited)
    fprintf(w->out, ", %llu cycle%s after the last", (unsigned long long)waited,
            waited == 1 ? "" : "s");
  fputc('\n', w->out);
}

/* ---- steps of a copy ------------------------------------------------------------------------- */

/* Adds a copy behind those that its tile has. */
static void add_copy(Watch *w, Copy copy)
{
  arrput(w->copies, copy);
  uint32_t *link = &w->first[copy.tile];
  while (*link)
    link = &w->copies[*link - 1].next;
  *link = (uint32_t)arrlenu(w->copies);
}

/* Ends the copy with this index + 1. */
static void end_copy(Watch *w, uint32_t number)
{
  Copy *copy = &w->copies[number - 1];
  uint32_t *link = &w->first[copy->tile];
  while (*link != number)
    link = &w->copies[*link - 1].next;
  *link = copy->next;
  copy->kind = GONE;
}

static bool is_leaving(Copy *copy, WatchedPlace kind, uint32_t tile, unsigned index)
{
  if (copy->kind != kind || copy->tile != tile || copy->index != index)
    return false;
  return copy->ahead == 0 || copy->ahead-- == 0;
}

static void start_copy(Watch *w, const TraceEvent *e, uint32_t ahead)
{
  Copy copy = {.kind = IN_OUTPUT, .tile = e->tile, .index = e->queue, .ahead = ahead,
               .since = e->cycle};
  begin_line(w, e->cycle, e->tile);
  fprintf(w->out, "0x%08x%s of color %u '%s' is sent", e->payload, e->control ? " (control)" : "",
          e->color, program_color_name(w->program, e->tile, e->color));
  if (w->has_pc) {
    fprintf(w->out, " at ");
    print_place(w, e->tile, w->pc);
  }
  fprintf(w->out, ", into output queue %u", e->queue);
  print_ahead(w, ahead);
  fputc('\n', w->out);
  add_copy(w, copy);
}

/* Where the copy is in its tile now. */
static void place_copy(Copy *copy, WatchedPlace kind, unsigned index, uint32_t ahead,
                       uint64_t cycle)
{
  copy->kind = kind;
  copy->index = (uint8_t)index;
  copy->ahead = ahead;
  copy->since = cycle;
}

static void enter_router(Watch *w, Copy *copy, const TraceEvent *e, uint8_t color)
{
  begin_line(w, e->cycle, e->tile);
  fprintf(w->out, "enters the router");
  if (color != e->color)
    fprintf(w->out, " as color %u", color);
  print_ahead(w, w->counts[e->tile].routers[color]);
  end_line(w, copy, e->cycle);
  place_copy(copy, IN_ROUTER, color, w->counts[e->tile].routers[color], e->cycle);
}

static void leave_rectangle(Watch *w, const TraceEvent *e, Port port)
{
  begin_line(w, e->cycle, e->tile);
  fprintf(w->out, "leaves the rectangle to the %s\n", port_name(port));
}

/* The copy moves on: each way has one of its own. */
static void move_copy(Watch *w, uint32_t number, const TraceEvent *e)
{
  Copy from = w->copies[number - 1];
  begin_line(w, e->cycle, e->tile);
  fprintf(w->out, "%s ->", port_name(e->from));
  for (unsigned p = 0; p < PORT_COUNT; p++)
    if (e->to >> p & 1)
      fprintf(w->out, " %s", port_name((Port)p));
  if (!e->to)
    fprintf(w->out, " nowhere: rejected by the tile's filter or command");
  end_line(w, &from, e->cycle);
  end_copy(w, number);
  for (unsigned p = 0; p < PORT_COUNT; p++) {
    if (!(e->to >> p & 1))
      continue;
    Copy next = {.kind = BEFORE_INPUT, .tile = e->tile, .index = e->color, .since = e->cycle};
    if (p != PORT_RAMP) {
      Port enters = port_opposite(p);
      next.kind = IN_ROUTER;
      next.tile = program_neighbour(w->program, e->tile, p);
      if (next.tile == NO_TILE) {
        leave_rectangle(w, e, p);
        continue;
      }
      next.index = program_color_inside(w->program, next.tile, e->color, enters);
      next.ahead = w->counts[next.tile].routers[next.index];
    }
    add_copy(w, next);
  }
}

/* ---- events ---------------------------------------------------------------------------------- */

static void count_down(uint16_t *count)
{
  *count = (uint16_t)(*count - (*count > 0));
}

static void wavelet_event(Watch *w, const TraceEvent *e)
{
  for (uint32_t n = w->first[e->tile], next; n; n = next) {
    next = w->copies[n - 1].next;
    if (is_leaving(&w->copies[n - 1], IN_ROUTER, e->tile, e->color))
      move_copy(w, n, e);
  }
  count_down(&w->counts[e->tile].routers[e->color]);
  for (unsigned p = 0; p < PORT_RAMP; p++) {
    uint32_t next = e->to >> p & 1 ? program_neighbour(w->program, e->tile, p) : NO_TILE;
    if (next == NO_TILE)
      continue;
    w->counts[next].routers[program_color_inside(w->program, next, e->color, port_opposite(p))]++;
  }
}

static void push_event(Watch *w, const TraceEvent *e)
{
  Counts *c = &w->counts[e->tile];
  uint32_t ahead = c->queues[e->output][e->queue]++;
  if (e->output) {
    if (e->tile == w->spec.tile && e->color == w->spec.color && w->sent++ == w->spec.number)
      start_copy(w, e, ahead);
    return;
  }
  for (uint32_t n = w->first[e->tile]; n; n = w->copies[n - 1].next) {
    Copy *copy = &w->copies[n - 1];
    if (copy->kind != BEFORE_INPUT || copy->index != e->color)
      continue;
    begin_line(w, e->cycle, e->tile);
    fprintf(w->out, "into input queue %u", e->queue);
    print_ahead(w, ahead);
    end_line(w, copy, e->cycle);
    place_copy(copy, IN_INPUT, e->queue, ahead, e->cycle);
  }
}

static void pop_output(Watch *w, const TraceEvent *e)
{
  Counts *c = &w->counts[e->tile];
  uint8_t color = program_color_inside(w->program, e->tile, e->color, PORT_RAMP);
  for (uint32_t n = w->first[e->tile]; n; n = w->copies[n - 1].next)
    if (is_leaving(&w->copies[n - 1], IN_OUTPUT, e->tile, e->queue))
      enter_router(w, &w->copies[n - 1], e, color);
  count_down(&c->queues[1][e->queue]);
  c->routers[color]++;
}

static void copy_taken(Watch *w, uint32_t number, uint64_t cycle, const TraceEvent *by)
{
  const Copy *copy = &w->copies[number - 1];
  begin_line(w, cycle, copy->tile);
  if (!by) {
    fprintf(w->out, "is dropped: no task is bound to its entry");
  } else if (by->kind == EV_TASK_START) {
    fprintf(w->out, "starts %s task %u '%s'", task_kind_name(by->task), by->id,
            program_task_name(w->program, by->tile, by->task, by->id));
  } else {
    fprintf(w->out, by->kind == EV_DONE ? "ends the operation at " : "is taken at ");
    print_place(w, copy->tile, by->pc);
  }
  end_line(w, copy, cycle);
  end_copy(w, number);
}

static void pop_input(Watch *w, const TraceEvent *e)
{
  TraceEvent group = {.kind = EV_GROUP, .pc = w->pc};
  for (uint32_t n = w->first[e->tile], next; n; n = next) {
    Copy *copy = &w->copies[n - 1];
    next = copy->next;
    if (!is_leaving(copy, IN_INPUT, e->tile, e->queue))
      continue;
    if (w->has_pc)
      copy_taken(w, n, e->cycle, &group);
    else
      copy->kind = TAKEN;       /* the next event names the taker */
  }
  count_down(&w->counts[e->tile].queues[0][e->queue]);
}

/* A copy of the last event's tile whose taker is not known yet: this event, of the same tile and
 * cycle, names it. */
static void settle_copies(Watch *w, const TraceEvent *e)
{
  bool same = e && e->cycle == w->cycle && e->tile == w->tile;
  for (uint32_t n = w->first[w->tile], next; n; n = next) {
    next = w->copies[n - 1].next;
    if (w->copies[n - 1].kind != TAKEN)
      continue;
    if (same && (e->kind == EV_TASK_START || e->kind == EV_DONE))
      copy_taken(w, n, w->cycle, e);
    else if (!same || e->kind != EV_POP)
      copy_taken(w, n, w->cycle, NULL);
  }
}

static void host_out(Watch *w, const TraceEvent *e)
{
  for (uint32_t n = w->first[e->tile], next; n; n = next) {
    next = w->copies[n - 1].next;
    if (!is_leaving(&w->copies[n - 1], IN_OUTPUT, e->tile, e->queue))
      continue;
    begin_line(w, e->cycle, e->tile);
    fprintf(w->out, "goes to the host");
    end_line(w, &w->copies[n - 1], e->cycle);
    end_copy(w, n);
  }
  count_down(&w->counts[e->tile].queues[1][e->queue]);
}

void watch_event(Watch *w, const TraceEvent *e)
{
  settle_copies(w, e);
  if (e->cycle != w->cycle || e->tile != w->tile)
    w->has_pc = false;
  w->cycle = e->cycle;
  w->tile = e->tile;
  switch (e->kind) {
  case EV_GROUP:
    w->pc = e->pc;
    w->has_pc = true;
    break;
  case EV_WAVELET: wavelet_event(w, e); break;
  case EV_PUSH: push_event(w, e); break;
  case EV_POP:
    if (!e->output)
      pop_input(w, e);
    else if (!program_is_host_color(w->program, e->color))
      pop_output(w, e);         /* for the host: the next event */
    break;
  case EV_HOST_OUT: host_out(w, e); break;
  case EV_TASK_START: case EV_TASK_END: case EV_ACTIVATE: case EV_BLOCK: case EV_UNBLOCK:
  case EV_INST: case EV_DONE: case EV_SWITCH: case EV_ROUTE: case EV_WAIT: case EV_STALL:
  case EV_HOST_IN: case EV_LAUNCH: case EV_COUNT: default:
    break;
  }
}

void watch_finish(Watch *w)
{
  settle_copies(w, NULL);
  for (size_t i = 0; i < arrlenu(w->copies); i++) {
    const Copy *copy = &w->copies[i];
    if (copy->kind == GONE)
      continue;
    begin_line(w, copy->since, copy->tile);
    if (copy->kind == IN_ROUTER)
      fprintf(w->out, "it has stayed in the router, color %u", copy->index);
    else
      fprintf(w->out, "it has stayed in %s queue %u", copy->kind == IN_OUTPUT ? "output" : "input",
              copy->index);
    print_ahead(w, copy->ahead);
    fputc('\n', w->out);
  }
  if (w->sent <= w->spec.number)
    fprintf(w->out, "watch: P%u.%u has sent %llu wavelet%s on color %u; there is no number %llu, "
                    "counted from 0\n",
            program_x(w->program, w->spec.tile), program_y(w->program, w->spec.tile),
            (unsigned long long)w->sent, w->sent == 1 ? "" : "s", w->spec.color,
            (unsigned long long)w->spec.number);
}
