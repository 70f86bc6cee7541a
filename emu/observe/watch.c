/* Follows one wavelet. Queues and routers' slots keep their order, so it is enough to count the
 * wavelets ahead of it; for that the watch keeps counts of all moves from the start of the run. */
#include "emu/observe/observe.h"

#include "stb_ds.h"

#include <stdlib.h>
#include <string.h>

typedef enum { IN_OUTPUT, IN_ROUTER, BEFORE_INPUT, IN_INPUT, TAKEN, GONE } WatchedPlace;

/* One copy of the wavelet: multicast makes several. */
typedef struct {
  WatchedPlace kind;
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
  return w;
}

void watch_destroy(Watch *w)
{
  if (!w)
    return;
  arrfree(w->copies);
  free(w->counts);
  free(w);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void begin_line(Watch *w, uint64_t cycle, uint32_t tile)
{
  fprintf(w->out, "watch @%llu P%u.%u ", (unsigned long long)cycle, program_x(w->program, tile),
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

static bool is_leaving(Copy *copy, WatchedPlace kind, uint32_t tile, unsigned index)
{
  if (copy->kind != kind || copy->tile != tile || copy->index != index)
    return false;
  return copy->ahead == 0 || copy->ahead-- == 0;
}

static void start_copy(Watch *w, const TraceEvent *e, uint32_t ahead)
{
  Copy copy = {IN_OUTPUT, e->tile, e->queue, ahead, e->cycle};
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
  arrput(w->copies, copy);
}

static void enter_router(Watch *w, Copy *copy, const TraceEvent *e, uint8_t color)
{
  begin_line(w, e->cycle, e->tile);
  fprintf(w->out, "enters the router");
  if (color != e->color)
    fprintf(w->out, " as color %u", color);
  print_ahead(w, w->counts[e->tile].routers[color]);
  end_line(w, copy, e->cycle);
  *copy = (Copy){IN_ROUTER, e->tile, color, w->counts[e->tile].routers[color], e->cycle};
}

/* The copy at index `i` moves on: the first way is its own, the others are new copies. */
static void move_copy(Watch *w, size_t i, const TraceEvent *e)
{
  Copy from = w->copies[i];
  begin_line(w, e->cycle, e->tile);
  fprintf(w->out, "%s ->", port_name(e->from));
  for (unsigned p = 0; p < PORT_COUNT; p++)
    if (e->to >> p & 1)
      fprintf(w->out, " %s", port_name((Port)p));
  if (!e->to)
    fprintf(w->out, " nowhere: rejected by the tile's filter or command");
  end_line(w, &from, e->cycle);
  w->copies[i].kind = GONE;
  for (unsigned p = 0; p < PORT_COUNT; p++) {
    if (!(e->to >> p & 1))
      continue;
    Copy next = {BEFORE_INPUT, e->tile, e->color, 0, e->cycle};
    if (p != PORT_RAMP) {
      Port enters = port_opposite(p);
      next.kind = IN_ROUTER;
      next.tile = program_neighbour(w->program, e->tile, p);
      next.index = program_color_inside(w->program, next.tile, e->color, enters);
      next.ahead = w->counts[next.tile].routers[next.index];
    }
    arrput(w->copies, next);
  }
}

/* ---- events ---------------------------------------------------------------------------------- */

static void count_down(uint16_t *count)
{
  *count = (uint16_t)(*count - (*count > 0));
}

static void wavelet_event(Watch *w, const TraceEvent *e)
{
  size_t n = arrlenu(w->copies);
  for (size_t i = 0; i < n; i++)
    if (is_leaving(&w->copies[i], IN_ROUTER, e->tile, e->color))
      move_copy(w, i, e);
  count_down(&w->counts[e->tile].routers[e->color]);
  for (unsigned p = 0; p < PORT_RAMP; p++) {
    if (!(e->to >> p & 1))
      continue;
    uint32_t next = program_neighbour(w->program, e->tile, p);
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
  for (size_t i = 0; i < arrlenu(w->copies); i++) {
    Copy *copy = &w->copies[i];
    if (copy->kind != BEFORE_INPUT || copy->tile != e->tile || copy->index != e->color)
      continue;
    begin_line(w, e->cycle, e->tile);
    fprintf(w->out, "into input queue %u", e->queue);
    print_ahead(w, ahead);
    end_line(w, copy, e->cycle);
    *copy = (Copy){IN_INPUT, e->tile, e->queue, ahead, e->cycle};
  }
}

static void pop_output(Watch *w, const TraceEvent *e)
{
  Counts *c = &w->counts[e->tile];
  uint8_t color = program_color_inside(w->program, e->tile, e->color, PORT_RAMP);
  for (size_t i = 0; i < arrlenu(w->copies); i++)
    if (is_leaving(&w->copies[i], IN_OUTPUT, e->tile, e->queue))
      enter_router(w, &w->copies[i], e, color);
  count_down(&c->queues[1][e->queue]);
  c->routers[color]++;
}

static void copy_taken(Watch *w, Copy *copy, uint64_t cycle, const TraceEvent *by)
{
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
  copy->kind = GONE;
}

static void pop_input(Watch *w, const TraceEvent *e)
{
  TraceEvent group = {.kind = EV_GROUP, .pc = w->pc};
  for (size_t i = 0; i < arrlenu(w->copies); i++) {
    Copy *copy = &w->copies[i];
    if (!is_leaving(copy, IN_INPUT, e->tile, e->queue))
      continue;
    if (w->has_pc)
      copy_taken(w, copy, e->cycle, &group);
    else
      copy->kind = TAKEN;       /* the next event names the taker */
  }
  count_down(&w->counts[e->tile].queues[0][e->queue]);
}

/* A copy whose taker is not known yet: this event, of the same tile and cycle, names it. */
static void settle_copies(Watch *w, const TraceEvent *e)
{
  bool same = e && e->cycle == w->cycle && e->tile == w->tile;
  for (size_t i = 0; i < arrlenu(w->copies); i++) {
    if (w->copies[i].kind != TAKEN)
      continue;
    if (same && (e->kind == EV_TASK_START || e->kind == EV_DONE))
      copy_taken(w, &w->copies[i], w->cycle, e);
    else if (!same || e->kind != EV_POP)
      copy_taken(w, &w->copies[i], w->cycle, NULL);
  }
}

static void host_out(Watch *w, const TraceEvent *e)
{
  for (size_t i = 0; i < arrlenu(w->copies); i++) {
    if (!is_leaving(&w->copies[i], IN_OUTPUT, e->tile, e->queue))
      continue;
    begin_line(w, e->cycle, e->tile);
    fprintf(w->out, "goes to the host");
    end_line(w, &w->copies[i], e->cycle);
    w->copies[i].kind = GONE;
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
  case EV_INST: case EV_DONE: case EV_SWITCH: case EV_WAIT: case EV_STALL: case EV_HOST_IN:
  case EV_LAUNCH: case EV_COUNT: default:
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
