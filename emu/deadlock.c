/* Who waits for what.  A quiet engine is looked at once: every wait is an edge from a unit (a
 * thread, an output queue, a color of a router) to the unit that would have to move first.  The
 * report lists the waiting tiles and follows each chain of waits to its end. */
#include "emu/emu.h"

#include "stb_ds.h"

#include <string.h>

enum { MAX_CHAIN = 64, TEXT = 512 };

/* ---- is it stuck? ---------------------------------------------------------------------------- */

static bool finite_wait(const InspectThread *thread)
{
  return thread->state == THREAD_VECTOR && !thread->run->unbounded;
}

static bool wavelets_left(const InspectTile *tile)
{
  if (tile->host_pending)
    return true;
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    if (tile->input[q].count || tile->output[q].count)
      return true;
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (tile->colors[c].count)
      return true;
  return false;
}

/* Sees an operation, the main thread or an activated task wait. */
static bool tile_waits(const InspectTile *tile)
{
  if (tile->threads[0].state != THREAD_IDLE || (tile->active & tile->blocked))
    return true;
  for (unsigned i = 1; i <= MAX_MICROTHREADS; i++)
    if (finite_wait(&tile->threads[i]))
      return true;
  return false;
}

IdleState idle_classify(Engine *engine, const Program *program, const IdleQuestion *question)
{
  bool waits = false, left = false;
  InspectTile tile;
  for (uint32_t t = 0; t < program->n_tiles; t++) {
    if (!engine->ops->touched(engine, t))
      continue;
    engine->ops->inspect(engine, t, &tile);
    waits |= tile_waits(&tile);
    left |= wavelets_left(&tile);
  }
  if (question->unblock_missing || question->stream_short || (waits && !question->host))
    return IDLE_STUCK;
  return waits || left ? IDLE_WARNINGS : IDLE_DONE;
}

/* ---- units and the edges between them -------------------------------------------------------- */

typedef enum {
  UNIT_THREAD,                 /* index: 0 main, 1 + microthread */
  UNIT_OUTPUT,                 /* an output queue */
  UNIT_INPUT,                  /* an input queue: its reader has to move */
  UNIT_ROUTER,                 /* a color in a router's slots */
  UNIT_SENDER,                 /* whoever should send a color to this tile's ramp */
  UNIT_END,                    /* `text` says why the chain ends here */
} UnitKind;

typedef struct {
  UnitKind kind;
  uint32_t tile;
  uint8_t index;
} Unit;

typedef struct {
  Engine *engine;
  const Program *program;
  FILE *out;
  InspectTile at;              /* of the tile looked at last */
  uint32_t at_tile;
} Report;

static const InspectTile *look(Report *r, uint32_t tile)
{
  if (r->at_tile != tile) {
    r->engine->ops->inspect(r->engine, tile, &r->at);
    r->at_tile = tile;
  }
  return &r->at;
}

static uint32_t next_tile(const Program *p, uint32_t tile, Port port)
{
  uint32_t x = program_x(p, tile), y = program_y(p, tile);
  switch (port) {
  case PORT_NORTH: return y > 0 ? tile - p->image->width : (uint32_t)NO_TILE;
  case PORT_SOUTH: return y + 1u < p->image->height ? tile + p->image->width : (uint32_t)NO_TILE;
  case PORT_EAST: return x + 1u < p->image->width ? tile + 1 : (uint32_t)NO_TILE;
  case PORT_WEST: return x > 0 ? tile - 1 : (uint32_t)NO_TILE;
  case PORT_RAMP: case PORT_COUNT: default: return NO_TILE;
  }
}

static Port facing(Port port)
{
  static const Port other[PORT_COUNT] = {
    [PORT_NORTH] = PORT_SOUTH, [PORT_SOUTH] = PORT_NORTH, [PORT_EAST] = PORT_WEST,
    [PORT_WEST] = PORT_EAST,   [PORT_RAMP] = PORT_RAMP,
  };
  return other[port];
}

static void print_tile(const Program *p, uint32_t tile, FILE *out)
{
  fprintf(out, "P%u.%u", program_x(p, tile), program_y(p, tile));
}

static void print_named(FILE *out, const char *what, unsigned number, const char *name)
{
  fprintf(out, "%s %u", what, number);
  if (*name)
    fprintf(out, " '%s'", name);
}

static void print_color(const Report *r, uint32_t tile, unsigned color)
{
  print_named(r->out, "color", color, program_color_name(r->program, tile, color));
}

static void print_queue(const Report *r, uint32_t tile, bool output, unsigned queue)
{
  print_named(r->out, output ? "output queue" : "input queue", queue,
              program_queue_name(r->program, tile, output, queue));
}

static void print_place(const Report *r, uint32_t tile, uint32_t pc)
{
  char place[TEXT];
  program_location(r->program, tile, pc, place, sizeof place);
  if (*place)
    fprintf(r->out, " at %s", place);
  else
    fprintf(r->out, " at pc 0x%04x", pc);
}

static void print_operand_name(const Report *r, uint32_t tile, uint16_t pc, uint8_t stream)
{
  const ClassCode *cls = program_class(r->program, tile);
  for (uint32_t i = 0; cls && i < cls->image->n_vec_names; i++) {
    const ImageVecNames *names = &cls->image->vec_names[i];
    const char *const by_stream[3] = {names->dest, names->src0, names->src1};
    if (names->pc == pc && stream < ARRAY_COUNT(by_stream) && by_stream[stream] &&
        *by_stream[stream])
      fprintf(r->out, " for '%s'", by_stream[stream]);
  }
}

/* ---- one thread ------------------------------------------------------------------------------ */

static void print_thread_name(const Report *r, uint32_t tile, unsigned index,
                              const InspectThread *thread)
{
  if (index)
    fprintf(r->out, "microthread %u", index - 1);
  else if (thread->state == THREAD_IDLE || thread->task == TASK_NONE)
    fprintf(r->out, "main thread");
  else {
    fprintf(r->out, "main thread (");
    print_named(r->out, task_kind_name(thread->task), thread->task_id,
                program_task_name(r->program, tile, thread->task, thread->task_id));
    fprintf(r->out, ")");
  }
}

static const VecStream *waiting_stream(const InspectThread *thread)
{
  if (thread->waiting == STALL_OUTPUT)
    return &thread->run->dest;
  return &thread->run->src[thread->stream == 1 ? 0 : 1];
}

static void print_wait(const Report *r, uint32_t tile, const InspectThread *thread)
{
  const VecStream *s = waiting_stream(thread);
  switch (thread->waiting) {
  case STALL_INPUT:
    fprintf(r->out, " waits for a wavelet on ");
    print_color(r, tile, s->color);
    fprintf(r->out, ", ");
    print_queue(r, tile, false, s->queue);
    break;
  case STALL_OUTPUT:
    fprintf(r->out, " waits for room in ");
    print_queue(r, tile, true, s->queue);
    fprintf(r->out, ", ");
    print_color(r, tile, s->color);
    break;
  case STALL_FIFO:
    fprintf(r->out, " waits for a FIFO to be filled or emptied");
    break;
  case STALL_PAUSED:
    fprintf(r->out, " is blocked");
    break;
  case STALL_NONE: case STALL_ISSUE: case STALL_BANK: case STALL_COUNT: default:
    fprintf(r->out, " has not ended");
    break;
  }
  if (thread->waiting == STALL_INPUT || thread->waiting == STALL_OUTPUT)
    print_operand_name(r, tile, thread->pc, thread->stream);
  if (thread->run->unbounded)
    fprintf(r->out, " (endless operation)");
  else
    fprintf(r->out, ", %u element%s to go", thread->run->remaining,
            thread->run->remaining == 1 ? "" : "s");
}

static void print_thread(const Report *r, uint32_t tile, unsigned index,
                         const InspectThread *thread)
{
  print_thread_name(r, tile, index, thread);
  if (thread->state == THREAD_VECTOR)
    print_wait(r, tile, thread);
  else
    fprintf(r->out, " has not ended");
  print_place(r, tile, thread->pc);
}

/* ---- following a chain ----------------------------------------------------------------------- */

static Unit ends(Unit unit) { return (Unit){UNIT_END, unit.tile, unit.index}; }

static Unit after_thread(Report *r, Unit unit)
{
  const InspectThread *thread = &look(r, unit.tile)->threads[unit.index];
  if (thread->state != THREAD_VECTOR)
    return ends(unit);
  if (thread->waiting == STALL_OUTPUT)
    return (Unit){UNIT_OUTPUT, unit.tile, thread->run->dest.queue};
  if (thread->waiting == STALL_INPUT)
    return (Unit){UNIT_SENDER, unit.tile, waiting_stream(thread)->color};
  return ends(unit);
}

/* A thread of the tile that sends on the color and waits itself; else the chain ends. */
static bool sender_in(Report *r, uint32_t tile, unsigned color, Unit *unit)
{
  const InspectTile *t = look(r, tile);
  for (uint8_t i = 0; i <= MAX_MICROTHREADS; i++) {
    const InspectThread *thread = &t->threads[i];
    if (thread->state != THREAD_VECTOR || thread->run->dest.kind != VS_FABOUT ||
        thread->run->dest.color != color)
      continue;
    *unit = (Unit){UNIT_THREAD, tile, i};
    return true;
  }
  return false;
}

/* Follows a color upstream, against its routes, to a wavelet that is held up, to a thread that
 * would send, or to the end. */
static Unit after_sender(Report *r, Unit unit)
{
  uint32_t tile = unit.tile;
  const InspectTile *t = look(r, tile);
  uint8_t color = unit.index;
  Unit found;
  for (unsigned hops = 0; hops < r->program->n_tiles; hops++) {
    const InspectColor *state = &t->colors[color];
    if (state->count)
      return (Unit){UNIT_ROUTER, tile, color};
    if ((state->rx & port_bit(PORT_RAMP)) && sender_in(r, tile, color, &found))
      return found;
    t = look(r, tile);
    uint32_t from = NO_TILE;
    for (unsigned p = 0; p < PORT_RAMP && from == (uint32_t)NO_TILE; p++)
      if (t->colors[color].rx >> p & 1)
        from = next_tile(r->program, tile, (Port)p);
    if (from == (uint32_t)NO_TILE || !program_color(r->program, from, color))
      return (Unit){UNIT_END, tile, color};
    tile = from;
    t = look(r, tile);
  }
  return (Unit){UNIT_END, tile, color};
}

static Unit after_router(Report *r, Unit unit)
{
  InspectColor state = look(r, unit.tile)->colors[unit.index];
  const ClassCode *cls = program_class(r->program, unit.tile);
  if (state.suspended || state.tx == 0)
    return ends(unit);
  for (unsigned p = 0; p < PORT_RAMP; p++) {
    if (!(state.tx >> p & 1))
      continue;
    uint32_t next = next_tile(r->program, unit.tile, (Port)p);
    if (next == (uint32_t)NO_TILE)
      return ends(unit);
    InspectColor there = look(r, next)->colors[unit.index];
    bool open = (there.rx & port_bit(facing((Port)p))) && !there.suspended;
    if (!open)
      return (Unit){UNIT_END, next, unit.index};
    if (there.count >= r->program->machine->router_slots)
      return (Unit){UNIT_ROUTER, next, unit.index};
  }
  unsigned queue = cls ? cls->image->data_queue[unit.index] : MAX_QUEUES;
  return queue < MAX_QUEUES ? (Unit){UNIT_INPUT, unit.tile, (uint8_t)queue} : ends(unit);
}

static Unit after_input(Report *r, Unit unit)
{
  const InspectTile *t = look(r, unit.tile);
  for (uint8_t i = 0; i <= MAX_MICROTHREADS; i++) {
    const InspectThread *thread = &t->threads[i];
    for (unsigned k = 0; thread->state == THREAD_VECTOR && k < ARRAY_COUNT(thread->run->src); k++)
      if (thread->run->src[k].kind == VS_FABIN && thread->run->src[k].queue == unit.index)
        return (Unit){UNIT_THREAD, unit.tile, i};
  }
  if (t->threads[0].state != THREAD_IDLE)
    return (Unit){UNIT_THREAD, unit.tile, 0};
  return ends(unit);
}

static Unit after(Report *r, Unit unit)
{
  switch (unit.kind) {
  case UNIT_THREAD: return after_thread(r, unit);
  case UNIT_OUTPUT:
    if (look(r, unit.tile)->output[unit.index].count)
      return (Unit){UNIT_ROUTER, unit.tile, look(r, unit.tile)->output[unit.index].head.color};
    return ends(unit);
  case UNIT_INPUT: return after_input(r, unit);
  case UNIT_ROUTER: return after_router(r, unit);
  case UNIT_SENDER: return after_sender(r, unit);
  case UNIT_END: default: return unit;
  }
}

/* ---- text of a chain ------------------------------------------------------------------------- */

static void print_unit(Report *r, Unit unit)
{
  const InspectTile *t = look(r, unit.tile);
  print_tile(r->program, unit.tile, r->out);
  fprintf(r->out, " ");
  switch (unit.kind) {
  case UNIT_THREAD:
    print_thread(r, unit.tile, unit.index, &t->threads[unit.index]);
    break;
  case UNIT_OUTPUT:
    print_queue(r, unit.tile, true, unit.index);
    fprintf(r->out, " holds %u wavelet%s", t->output[unit.index].count,
            t->output[unit.index].count == 1 ? "" : "s");
    break;
  case UNIT_INPUT:
    print_queue(r, unit.tile, false, unit.index);
    fprintf(r->out, " holds %u wavelet%s", t->input[unit.index].count,
            t->input[unit.index].count == 1 ? "" : "s");
    break;
  case UNIT_ROUTER:
    fprintf(r->out, "router holds ");
    print_color(r, unit.tile, unit.index);
    break;
  case UNIT_SENDER:
    fprintf(r->out, "waits for a sender on ");
    print_color(r, unit.tile, unit.index);
    break;
  case UNIT_END: default:
    break;
  }
}

/* Why nothing can move at the unit where a chain ends; `last` is the unit before it. */
static void print_end(Report *r, Unit last, Unit end)
{
  const InspectTile *t = look(r, end.tile);
  const InspectColor *state = last.kind == UNIT_ROUTER || last.kind == UNIT_SENDER
                                  ? &t->colors[end.index] : NULL;
  fprintf(r->out, "    ");
  print_tile(r->program, end.tile, r->out);
  switch (last.kind) {
  case UNIT_SENDER:
    fprintf(r->out, ": nobody sends on ");
    print_color(r, end.tile, end.index);
    fprintf(r->out, " any more");
    if (t->threads[0].state == THREAD_IDLE)
      fprintf(r->out, "; its main thread is idle");
    break;
  case UNIT_ROUTER:
    if (!state->configured)
      fprintf(r->out, ": the router does not know ");
    else if (state->suspended)
      fprintf(r->out, ": the router has torn down ");
    else if (end.tile != last.tile)
      fprintf(r->out, ": the switch position does not take this input of ");
    else
      fprintf(r->out, ": no input queue takes ");
    print_color(r, end.tile, end.index);
    break;
  case UNIT_INPUT:
    fprintf(r->out, ": nobody reads ");
    print_queue(r, end.tile, false, end.index);
    break;
  case UNIT_THREAD: case UNIT_OUTPUT: case UNIT_END: default:
    fprintf(r->out, ": nothing would let it go on");
    break;
  }
  fprintf(r->out, "\n");
}

static bool same_unit(Unit a, Unit b)
{
  return a.kind == b.kind && a.tile == b.tile && a.index == b.index;
}

static void print_chain(Report *r, Unit start)
{
  Unit seen[MAX_CHAIN] = {start};
  unsigned n = 1;
  while (n < MAX_CHAIN) {
    Unit next = after(r, seen[n - 1]);
    if (next.kind == UNIT_END) {
      print_end(r, seen[n - 1], next);
      return;
    }
    fprintf(r->out, "    ");
    print_unit(r, next);
    fprintf(r->out, "\n");
    for (unsigned i = 0; i < n; i++) {
      if (!same_unit(seen[i], next))
        continue;
      fprintf(r->out, "    a cycle: these %u wait for each other\n", n - i);
      return;
    }
    seen[n++] = next;
  }
  fprintf(r->out, "    ... and so on\n");
}

/* ---- the report ------------------------------------------------------------------------------ */

static void print_left(const Report *r, uint32_t tile, const InspectTile *t)
{
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    for (unsigned output = 0; output < 2; output++) {
      const InspectQueue *queue = output ? &t->output[q] : &t->input[q];
      if (queue->count == 0)
        continue;
      fprintf(r->out, "  ");
      print_tile(r->program, tile, r->out);
      fprintf(r->out, " ");
      print_queue(r, tile, output, q);
      fprintf(r->out, " holds %u wavelet%s, the first 0x%08x%s of ", queue->count,
              queue->count == 1 ? "" : "s", queue->head.payload,
              queue->head.control ? " (control)" : "");
      print_color(r, tile, queue->head.color);
      fprintf(r->out, "\n");
    }
  }
}

static void print_tasks(const Report *r, uint32_t tile, uint64_t ids, const char *what)
{
  for (unsigned id = 0; id < MAX_TASK_IDS; id++) {
    if (!(ids >> id & 1))
      continue;
    fprintf(r->out, "  ");
    print_tile(r->program, tile, r->out);
    fprintf(r->out, " ");
    print_named(r->out, "local task", id,
                program_task_name(r->program, tile, TASK_LOCAL, id));
    fprintf(r->out, " %s\n", what);
  }
}

static void report_tile(Report *r, uint32_t tile)
{
  InspectTile t = *look(r, tile);
  for (uint8_t i = 0; i <= MAX_MICROTHREADS; i++) {
    const InspectThread *thread = &t.threads[i];
    if (thread->state == THREAD_IDLE || (i && thread->run->unbounded))
      continue;
    fprintf(r->out, "  ");
    print_unit(r, (Unit){UNIT_THREAD, tile, i});
    fprintf(r->out, "\n");
    print_chain(r, (Unit){UNIT_THREAD, tile, i});
    r->at_tile = NO_TILE;      /* inspection may have moved on: pointers in `t` stay valid */
  }
  if (t.host_pending) {
    fprintf(r->out, "  ");
    print_tile(r->program, tile, r->out);
    fprintf(r->out, " %u word%s from the host cannot enter\n", t.host_pending,
            t.host_pending == 1 ? "" : "s");
  }
  print_left(r, tile, &t);
  print_tasks(r, tile, t.active & t.blocked, "is activated, but blocked: nothing unblocks it");
  print_tasks(r, tile, t.lost,
              "was activated again before it had started: two activations are one start");
}

void deadlock_report(Engine *engine, const Program *program, unsigned max_tiles, FILE *out)
{
  Report r = {.engine = engine, .program = program, .out = out, .at_tile = NO_TILE};
  unsigned shown = 0, waiting = 0;
  fprintf(out, "nothing can move any more at cycle %llu:\n",
          (unsigned long long)engine->ops->cycle(engine));
  for (uint32_t t = 0; t < program->n_tiles; t++) {
    if (!engine->ops->touched(engine, t))
      continue;
    const InspectTile *tile = look(&r, t);
    if (!tile_waits(tile) && !wavelets_left(tile) && !tile->lost)
      continue;
    waiting++;
    if (shown < max_tiles) {
      report_tile(&r, t);
      shown++;
    }
  }
  if (waiting > shown)
    fprintf(out, "  and %u more tiles that wait or hold wavelets\n", waiting - shown);
}
