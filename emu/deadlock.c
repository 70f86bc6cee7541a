/* Who waits for what.  A quiet engine is looked at once: every wait is an edge from a unit (a
 * thread, a queue, a color of a router) to the unit that would have to move first.  Each unit has
 * at most one such edge, so every chain of waits runs into an end or into a cycle: a cause.  The
 * report shows each cause once, with the chain that leads to it from one of those who wait. */
#include "emu/report.h"

#include "stb_ds.h"

#include <stdlib.h>

enum { CHAIN_HEAD = 8, CHAIN_TAIL = 4, OTHERS_SHOWN = 8, NO_NODE = 0xffffffff };

/* ---- who waits ------------------------------------------------------------------------------- */

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

/* ---- units ----------------------------------------------------------------------------------- */

typedef enum {
  UNIT_THREAD,                  /* index: 0 main, 1 + microthread */
  UNIT_TASK,                    /* an activated local task */
  UNIT_OUTPUT,                  /* an output queue */
  UNIT_INPUT,                   /* an input queue: its reader has to move */
  UNIT_ROUTER,                  /* a color's wavelets in a router's slots */
  UNIT_RECEIVER,                /* a color that a tile waits for: its router has to deliver it */
  UNIT_SENDER,                  /* a color that should come into a router */
  UNIT_END,
} UnitKind;

/* Why a chain ends; tile and index say where. */
typedef enum {
  END_NONE,
  END_NO_SENDER,                /* index of these: the color */
  END_HOST,                     /* no tile routes it: the host's words come on it */
  END_NOT_CONFIGURED, END_NOT_ROUTED, END_NOT_DELIVERED, END_EDGE, END_SUSPENDED, END_CLOSED,
  END_NO_QUEUE, END_NO_ROUTE,
  END_NOBODY_READS, END_CONTROL_HEAD,   /* the input queue */
  END_BLOCKED_TASK,             /* the id */
  END_BLOCKED_THREAD,           /* the microthread */
  END_FIFO,                     /* the thread */
  END_UNKNOWN,
} EndKind;

typedef struct {
  UnitKind kind;
  EndKind end;
  uint32_t tile;
  uint8_t index;
} Unit;

static Unit unit(UnitKind kind, uint32_t tile, unsigned index)
{
  return (Unit){kind, END_NONE, tile, (uint8_t)index};
}

static Unit ends(EndKind why, uint32_t tile, unsigned index)
{
  return (Unit){UNIT_END, why, tile, (uint8_t)index};
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* The thread at the other end of the FIFO that a thread waits for. */
static Unit after_fifo(Report *r, Unit from, const InspectThread *thread)
{
  const InspectTile *t = report_look(r, from.tile);
  bool push = thread->run->dest.kind == VS_FIFO;
  for (unsigned i = 0; i <= MAX_MICROTHREADS; i++) {
    const InspectThread *other = &t->threads[i];
    if (i == from.index || other->state != THREAD_VECTOR)
      continue;
    const VecRun *run = other->run;
    const VecStream *ends_there[] = {&run->dest, &run->src[0], &run->src[1]};
    for (unsigned k = push ? 1 : 0; k < (push ? ARRAY_COUNT(ends_there) : 1); k++)
      if (ends_there[k]->kind == VS_FIFO)
        return unit(UNIT_THREAD, from.tile, i);
  }
  return ends(END_FIFO, from.tile, from.index);
}

static Unit after_thread(Report *r, Unit from)
{
  const InspectTile *t = report_look(r, from.tile);
  const InspectThread *thread = &t->threads[from.index];
  if (thread->state != THREAD_VECTOR)
    return ends(END_UNKNOWN, from.tile, 0);
  switch (thread->waiting) {
  case STALL_OUTPUT:
    return unit(UNIT_OUTPUT, from.tile, thread->run->dest.queue);
  case STALL_INPUT: {
    const VecStream *s = report_waiting(thread);
    if (t->input[s->queue].count && t->input[s->queue].head.control)
      return ends(END_CONTROL_HEAD, from.tile, s->queue);
    return unit(UNIT_RECEIVER, from.tile, s->color);
  }
  case STALL_PAUSED:
    return ends(END_BLOCKED_THREAD, from.tile, from.index - 1u);
  case STALL_FIFO:
    return after_fifo(r, from, thread);
  case STALL_NONE: case STALL_ISSUE: case STALL_BANK: case STALL_COUNT: default:
    return ends(END_UNKNOWN, from.tile, 0);
  }
}

/* A local task that is activated and blocked; -1: none. */
static int blocked_task(const InspectTile *t)
{
  uint64_t ids = t->active & t->blocked;
  return ids ? __builtin_ctzll(ids) : -1;
}

/* Whoever may come to it later: the main thread, else a task that is held up. */
static Unit later(Report *r, uint32_t tile, Unit otherwise)
{
  const InspectTile *t = report_look(r, tile);
  if (t->threads[0].state != THREAD_IDLE)
    return unit(UNIT_THREAD, tile, 0);
  int id = blocked_task(t);
  return id >= 0 ? ends(END_BLOCKED_TASK, tile, (unsigned)id) : otherwise;
}

static Unit after_output(Report *r, Unit from)
{
  const InspectTile *t = report_look(r, from.tile);
  if (t->output[from.index].count == 0)
    return ends(END_UNKNOWN, from.tile, 0);
  unsigned color = program_color_inside(r->program, from.tile, t->output[from.index].head.color,
                                        PORT_RAMP);
  const InspectColor *state = &t->colors[color];
  if (!state->configured)
    return ends(END_NOT_CONFIGURED, from.tile, color);
  if (state->suspended)
    return ends(END_SUSPENDED, from.tile, color);
  if (!(state->rx & port_bit(PORT_RAMP)))
    return ends(END_CLOSED, from.tile, color);
  return state->count ? unit(UNIT_ROUTER, from.tile, color) : ends(END_UNKNOWN, from.tile, 0);
}

/* What holds up a color at the tile beyond an output; END_NONE: nothing. */
static Unit beyond(Report *r, uint32_t next, Port enters, unsigned color)
{
  const InspectColor *there = &report_look(r, next)->colors[color];
  if (!there->configured)
    return ends(END_NOT_CONFIGURED, next, color);
  if (there->suspended)
    return ends(END_SUSPENDED, next, color);
  if (!(there->rx & port_bit(enters)))
    return ends(END_CLOSED, next, color);
  if (there->count >= r->program->machine->router_slots)
    return unit(UNIT_ROUTER, next, color);
  return ends(END_NONE, next, color);
}

static Unit at_ramp(Report *r, Unit from)
{
  const ClassCode *cls = program_class(r->program, from.tile);
  unsigned queue = cls ? cls->image->data_queue[from.index] : MAX_QUEUES;
  if (queue >= MAX_QUEUES)
    return ends(END_NO_QUEUE, from.tile, from.index);
  return unit(UNIT_INPUT, from.tile, queue);
}

/* `port`: the output that holds the wavelet up. */
static Unit after_router(Report *r, Unit from, Port *port)
{
  InspectColor state = report_look(r, from.tile)->colors[from.index];
  *port = PORT_RAMP;
  if (state.suspended)
    return ends(END_SUSPENDED, from.tile, from.index);
  if (state.tx == 0)
    return ends(END_NO_ROUTE, from.tile, from.index);
  for (unsigned p = 0; p < PORT_RAMP; p++) {
    uint32_t next = program_neighbour(r->program, from.tile, (Port)p);
    if (!(state.tx >> p & 1) || next == (uint32_t)NO_TILE)
      continue;
    Port enters = port_opposite((Port)p);
    Unit held = beyond(r, next, enters,
                       program_color_inside(r->program, next, from.index, enters));
    *port = (Port)p;
    if (held.kind != UNIT_END || held.end != END_NONE)
      return held;
  }
  *port = PORT_RAMP;
  return state.tx & port_bit(PORT_RAMP) ? at_ramp(r, from) : ends(END_UNKNOWN, from.tile, 0);
}

static Unit after_input(Report *r, Unit from)
{
  const InspectTile *t = report_look(r, from.tile);
  const ClassCode *cls = program_class(r->program, from.tile);
  for (unsigned i = 0; i <= MAX_MICROTHREADS; i++) {
    const InspectThread *thread = &t->threads[i];
    for (unsigned k = 0; thread->state == THREAD_VECTOR && k < ARRAY_COUNT(thread->run->src); k++)
      if (thread->run->src[k].kind == VS_FABIN && thread->run->src[k].queue == from.index)
        return unit(UNIT_THREAD, from.tile, i);
  }
  const InspectWavelet *head = &t->input[from.index].head;
  unsigned id = r->program->image->arch == ARCH_WSE2 ? head->color : from.index;
  bool bound = cls && (cls->data_task[id] || head->control);
  if (bound && (t->blocked >> id & 1) && t->input[from.index].count)
    return ends(END_BLOCKED_TASK, from.tile, id);
  return later(r, from.tile, ends(END_NOBODY_READS, from.tile, from.index));
}

static Unit after_receiver(Report *r, Unit from)
{
  const InspectColor *state = &report_look(r, from.tile)->colors[from.index];
  if (!state->configured)
    return ends(r->program->host_out_colors >> from.index & 1 ? END_HOST : END_NOT_CONFIGURED,
                from.tile, from.index);
  if (!state->suspended && !(state->tx & port_bit(PORT_RAMP)))
    return ends(END_NOT_DELIVERED, from.tile, from.index);
  return unit(UNIT_SENDER, from.tile, from.index);
}

/* A thread or queue of the tile that sends on the color, but cannot; END_NONE: there is none. */
static Unit sender_here(Report *r, Unit from)
{
  const InspectTile *t = report_look(r, from.tile);
  for (unsigned i = 0; i <= MAX_MICROTHREADS; i++) {
    const InspectThread *thread = &t->threads[i];
    if (thread->state == THREAD_VECTOR && thread->run->dest.kind == VS_FABOUT &&
        program_color_inside(r->program, from.tile, thread->run->dest.color, PORT_RAMP) ==
            from.index)
      return unit(UNIT_THREAD, from.tile, i);
  }
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    if (t->output[q].count && t->output[q].head.color == from.index)
      return unit(UNIT_OUTPUT, from.tile, q);
  return ends(END_NONE, from.tile, from.index);
}

/* The same color one tile upstream, or why nothing comes from there. */
static Unit upstream(Report *r, Unit to, Port port)
{
  uint32_t from = program_neighbour(r->program, to.tile, port);
  Unit why = ends(END_NOT_CONFIGURED, from, to.index);
  if (from == (uint32_t)NO_TILE)
    return ends(END_EDGE, to.tile, to.index);
  for (unsigned twin = 0; twin < 2; twin++) {
    uint8_t color = (uint8_t)(to.index ^ twin);
    const InspectColor *state = &report_look(r, from)->colors[color];
    if (!state->configured || program_color_inside(r->program, to.tile, color, port) != to.index)
      continue;
    if (state->tx & port_bit(port_opposite(port)))
      return unit(UNIT_SENDER, from, color);
    why = ends(END_NOT_ROUTED, from, color);
  }
  return why;
}

static Unit after_sender(Report *r, Unit from)
{
  InspectColor state = report_look(r, from.tile)->colors[from.index];
  if (!state.configured)
    return ends(END_NOT_CONFIGURED, from.tile, from.index);
  if (state.suspended)
    return ends(END_SUSPENDED, from.tile, from.index);
  if (state.count)
    return unit(UNIT_ROUTER, from.tile, from.index);
  Unit why = ends(END_NO_SENDER, from.tile, from.index);
  bool ramp = state.rx & port_bit(PORT_RAMP);
  Unit here = ramp ? sender_here(r, from) : why;
  if (ramp && here.kind != UNIT_END)
    return here;
  for (unsigned p = 0; p < PORT_RAMP; p++) {
    Unit next = state.rx >> p & 1 ? upstream(r, from, (Port)p) : why;
    if (next.kind != UNIT_END)
      return next;
    if (state.rx >> p & 1 && !ramp)
      why = next;
  }
  return ramp ? later(r, from.tile, why) : why;
}

static Unit after(Report *r, Unit from)
{
  Port port;
  switch (from.kind) {
  case UNIT_THREAD: return after_thread(r, from);
  case UNIT_TASK: return ends(END_BLOCKED_TASK, from.tile, from.index);
  case UNIT_OUTPUT: return after_output(r, from);
  case UNIT_INPUT: return after_input(r, from);
  case UNIT_ROUTER: return after_router(r, from, &port);
  case UNIT_RECEIVER: return after_receiver(r, from);
  case UNIT_SENDER: return after_sender(r, from);
  case UNIT_END: default: return from;
  }
}

/* ---- chains and causes ----------------------------------------------------------------------- */

typedef struct {
  Unit unit;
  uint32_t next, root;          /* nodes; NO_NODE: not known yet.  An end is its own root, of a
                                   cycle the unit where it was found to close */
  bool on_path;
  bool shown;                   /* on the chain that its cause is shown with */
} Node;
typedef struct { uint64_t key; uint32_t value; } NodeIndex;

/* All that wait and have the same cause. */
typedef struct {
  uint32_t root, first;         /* nodes */
  uint32_t count;
  Unit others[OTHERS_SHOWN];
  uint32_t n_alike;
  uint32_t alike[OTHERS_SHOWN]; /* tiles of later ones that differ in the tile alone */
} Cause;

typedef struct {
  Report report;
  Node *nodes;                  /* stb_ds */
  NodeIndex *index;             /* stb_ds map */
  Cause *causes;                /* stb_ds */
  NodeIndex *cause_of;          /* stb_ds map: by root */
} Analysis;

static uint32_t node_of(Analysis *a, Unit u)
{
  uint64_t key = (uint64_t)u.kind << 48 | (uint64_t)u.end << 40 | (uint64_t)u.index << 32 | u.tile;
  ptrdiff_t at = hmgeti(a->index, key);
  if (at >= 0)
    return a->index[at].value;
  uint32_t node = (uint32_t)arrlenu(a->nodes);
  arrput(a->nodes, ((Node){.unit = u, .next = NO_NODE, .root = NO_NODE}));
  hmput(a->index, key, node);
  return node;
}

/* Follows the chain from a node, as far as it is new, and gives its nodes their root. */
static uint32_t find_root(Analysis *a, uint32_t start)
{
  uint32_t n = start;
  while (a->nodes[n].root == NO_NODE && !a->nodes[n].on_path && a->nodes[n].unit.kind != UNIT_END) {
    a->nodes[n].on_path = true;
    uint32_t next = node_of(a, after(&a->report, a->nodes[n].unit));
    a->nodes[n].next = next;
    n = next;
  }
  uint32_t root = a->nodes[n].root == NO_NODE ? n : a->nodes[n].root;
  a->nodes[root].root = root;
  for (n = start; a->nodes[n].on_path; n = a->nodes[n].next) {
    a->nodes[n].on_path = false;
    a->nodes[n].root = root;
  }
  return root;
}

static void add_wait(Analysis *a, Unit u)
{
  uint32_t node = node_of(a, u), root = find_root(a, node);
  ptrdiff_t at = hmgeti(a->cause_of, root);
  if (at < 0) {
    hmput(a->cause_of, root, (uint32_t)arrlenu(a->causes));
    arrput(a->causes, ((Cause){.root = root, .first = node}));
    for (uint32_t n = node; n != (uint32_t)NO_NODE && !a->nodes[n].shown; n = a->nodes[n].next)
      a->nodes[n].shown = true;
    return;
  }
  if (a->nodes[node].shown)
    return;
  Cause *cause = &a->causes[a->cause_of[at].value];
  if (cause->count < OTHERS_SHOWN)
    cause->others[cause->count] = u;
  cause->count++;
}

static void add_threads(Analysis *a, uint32_t tile)
{
  InspectTile t = *report_look(&a->report, tile);
  for (unsigned i = 0; i <= MAX_MICROTHREADS; i++)
    if (i ? finite_wait(&t.threads[i]) : t.threads[i].state != THREAD_IDLE)
      add_wait(a, unit(UNIT_THREAD, tile, i));
  for (uint64_t ids = t.active & t.blocked; ids; ids &= ids - 1)
    add_wait(a, unit(UNIT_TASK, tile, (unsigned)__builtin_ctzll(ids)));
}

static void add_wavelets(Analysis *a, uint32_t tile)
{
  InspectTile t = *report_look(&a->report, tile);
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    if (t.output[q].count)
      add_wait(a, unit(UNIT_OUTPUT, tile, q));
    if (t.input[q].count)
      add_wait(a, unit(UNIT_INPUT, tile, q));
  }
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (t.colors[c].count)
      add_wait(a, unit(UNIT_ROUTER, tile, c));
}

/* ---- is it stuck? ---------------------------------------------------------------------------- */

/* Sees nothing wait but operations that have not begun and that words of the host would start: a
 * program that serves one stream after the other ends so. */
static bool tile_awaits_host(Analysis *a, uint32_t tile)
{
  InspectTile t = *report_look(&a->report, tile);
  if (t.threads[0].state != THREAD_IDLE || (t.active & t.blocked))
    return false;
  for (unsigned i = 1; i <= MAX_MICROTHREADS; i++) {
    if (!finite_wait(&t.threads[i]))
      continue;
    uint32_t root = find_root(a, node_of(a, unit(UNIT_THREAD, tile, i)));
    if (t.threads[i].run->remaining < t.threads[i].run->length ||
        a->nodes[root].unit.end != END_HOST)
      return false;
  }
  return true;
}

static bool host_may_go_on(Engine *engine, const Program *program)
{
  Analysis a = {.report = report_create(engine, program, NULL)};
  bool may = true;
  for (uint32_t t = 0; may && t < program->n_tiles; t++)
    may = !engine->ops->touched(engine, t) || tile_awaits_host(&a, t);
  arrfree(a.nodes);
  hmfree(a.index);
  return may;
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
  if (left && question->left_is_error)
    return IDLE_LEFT;
  if (waits && !left && host_may_go_on(engine, program))
    return IDLE_DONE;
  return waits || left ? IDLE_WARNINGS : IDLE_DONE;
}

/* ---- text: ends ------------------------------------------------------------------------------ */

static void print_ports(const Report *r, PortMask ports)
{
  const char *between = "";
  for (unsigned p = 0; p < PORT_COUNT; p++) {
    if (!(ports >> p & 1))
      continue;
    fprintf(r->out, "%s%s", between, port_name((Port)p));
    between = " and ";
  }
  if (!ports)
    fprintf(r->out, "nowhere");
}

/* Whose wavelets came this way, before the switch stood as it does. */
static void print_origins(Report *r, Unit end)
{
  const ImageColorConfig *config = program_color(r->program, end.tile, end.index);
  PortMask inputs = config ? report_inputs(config) : 0;
  Origin origin;
  for (unsigned p = 0; p < PORT_COUNT; p++) {
    if (!(inputs >> p & 1) || !report_origin(r, end.tile, (Port)p, end.index, &origin))
      continue;
    fprintf(r->out, "; from %s came ", port_name((Port)p));
    report_use(r, origin.tile, origin.use);
    fprintf(r->out, " of ");
    report_tile(r, origin.tile);
  }
}

/* "P1.0's router takes color 3 from NORTH only (to RAMP, switch position 0)", or the other side. */
static void print_route(Report *r, Unit end, bool inputs, const char *what)
{
  const InspectColor *state = &report_look(r, end.tile)->colors[end.index];
  report_tile(r, end.tile);
  fprintf(r->out, "'s router %s ", what);
  report_color(r, end.tile, end.index);
  fprintf(r->out, inputs ? " from " : " to ");
  print_ports(r, inputs ? state->rx : state->tx);
  fprintf(r->out, inputs ? " only (to " : " only (from ");
  print_ports(r, inputs ? state->tx : state->rx);
  fprintf(r->out, ", switch position %u)", state->position);
  if (!inputs)
    print_origins(r, end);
}

static void print_no_sender(Report *r, Unit end)
{
  const InspectTile *t = report_look(r, end.tile);
  bool sent = false;
  fprintf(r->out, "nobody at ");
  report_tile(r, end.tile);
  fprintf(r->out, " sends on ");
  report_color(r, end.tile, end.index);
  fprintf(r->out, " any more");
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    if (!t->output[q].use.elements || t->output[q].use.color != end.index)
      continue;
    fprintf(r->out, "; the last were ");
    report_use(r, end.tile, t->output[q].use);
    sent = true;
  }
  if (!sent)
    fprintf(r->out, "; nobody there ever has");
}

static void print_nobody_reads(Report *r, Unit end)
{
  const InspectQueue *queue = &report_look(r, end.tile)->input[end.index];
  fprintf(r->out, "nobody reads ");
  report_tile(r, end.tile);
  fprintf(r->out, " ");
  report_queue(r, end.tile, false, end.index);
  if (queue->count) {
    fprintf(r->out, ", which holds %u wavelet%s, the first 0x%08x%s of ", queue->count,
            queue->count == 1 ? "" : "s", queue->head.payload,
            queue->head.control ? " (control)" : "");
    report_color(r, end.tile, queue->head.color);
  }
  if (queue->use.elements) {
    fprintf(r->out, "; the last that was read were ");
    report_use(r, end.tile, queue->use);
  } else {
    fprintf(r->out, "; nobody ever has");
  }
}

static void print_blocked(Report *r, Unit end, IdKind kind)
{
  const InspectTile *t = report_look(r, end.tile);
  const uint16_t *at = t->blocked_at ? &t->blocked_at[block_place(kind, end.index)] : NULL;
  bool data = kind == ID_TASK && !(t->active >> end.index & 1);
  report_tile(r, end.tile);
  fprintf(r->out, " ");
  if (kind == ID_MICROTHREAD)
    fprintf(r->out, "microthread %u", end.index);
  else
    report_task(r, end.tile, data ? TASK_DATA : TASK_LOCAL, end.index);
  fprintf(r->out, kind == ID_TASK && !data ? " is activated, but blocked" : " is blocked");
  if (at && *at != PC_RETURN)
    report_place(r, end.tile, *at);
  else
    fprintf(r->out, " since the start");
  fprintf(r->out, ": nothing unblocks it");
}

static void print_color_end(Report *r, Unit end, const char *what)
{
  report_tile(r, end.tile);
  fprintf(r->out, "%s", what);
  report_color(r, end.tile, end.index);
}

static void print_end(Report *r, Unit end)
{
  switch (end.end) {
  case END_NO_SENDER: print_no_sender(r, end); break;
  case END_HOST: print_color_end(r, end, " gets no more words from the host on "); break;
  case END_NOT_CONFIGURED: print_color_end(r, end, " has no configuration for "); break;
  case END_NOT_ROUTED: case END_NOT_DELIVERED: print_route(r, end, false, "leads"); break;
  case END_CLOSED: print_route(r, end, true, "takes"); break;
  case END_EDGE: print_color_end(r, end, " gets from outside the rectangle "); break;
  case END_SUSPENDED: print_color_end(r, end, " has torn down "); break;
  case END_NO_QUEUE: print_color_end(r, end, " has no input queue for "); break;
  case END_NO_ROUTE: print_color_end(r, end, " has no output for "); break;
  case END_NOBODY_READS: print_nobody_reads(r, end); break;
  case END_CONTROL_HEAD:
    report_tile(r, end.tile);
    fprintf(r->out, " ");
    report_queue(r, end.tile, false, end.index);
    fprintf(r->out, " has a control wavelet at its head, 0x%08x, that the operation does not take",
            report_look(r, end.tile)->input[end.index].head.payload);
    break;
  case END_BLOCKED_TASK: print_blocked(r, end, ID_TASK); break;
  case END_BLOCKED_THREAD: print_blocked(r, end, ID_MICROTHREAD); break;
  case END_FIFO:
    report_tile(r, end.tile);
    fprintf(r->out, ": no operation fills or empties the FIFO");
    break;
  case END_NONE: case END_UNKNOWN: default:
    report_tile(r, end.tile);
    fprintf(r->out, ": nothing would let it go on");
    break;
  }
}

/* ---- text: units ----------------------------------------------------------------------------- */

static void print_count(const Report *r, unsigned n)
{
  fprintf(r->out, "%u wavelet%s", n, n == 1 ? "" : "s");
}

static void print_queue_unit(Report *r, Unit u)
{
  bool output = u.kind == UNIT_OUTPUT;
  const InspectTile *t = report_look(r, u.tile);
  const InspectQueue *queue = output ? &t->output[u.index] : &t->input[u.index];
  report_tile(r, u.tile);
  fprintf(r->out, " ");
  report_queue(r, u.tile, output, u.index);
  fprintf(r->out, queue->count >= queue->capacity ? " is full, " : " holds ");
  print_count(r, queue->count);
  if (queue->count) {
    fprintf(r->out, ", the first 0x%08x%s of ", queue->head.payload,
            queue->head.control ? " (control)" : "");
    report_color(r, u.tile, queue->head.color);
  }
}

static void print_router_unit(Report *r, Unit u)
{
  Port port;
  after_router(r, u, &port);
  report_tile(r, u.tile);
  fprintf(r->out, "'s router holds ");
  print_count(r, report_look(r, u.tile)->colors[u.index].count);
  fprintf(r->out, " of ");
  report_color(r, u.tile, u.index);
  fprintf(r->out, " and waits for room toward %s", port_name(port));
}

static void print_unit(Report *r, Unit u)
{
  const InspectTile *t = report_look(r, u.tile);
  switch (u.kind) {
  case UNIT_THREAD:
    report_tile(r, u.tile);
    fprintf(r->out, " ");
    report_thread(r, u.tile, u.index, &t->threads[u.index]);
    break;
  case UNIT_TASK:
    report_tile(r, u.tile);
    fprintf(r->out, " ");
    report_task(r, u.tile, TASK_LOCAL, u.index);
    fprintf(r->out, " does not start");
    break;
  case UNIT_OUTPUT: case UNIT_INPUT:
    print_queue_unit(r, u);
    break;
  case UNIT_ROUTER:
    print_router_unit(r, u);
    break;
  case UNIT_RECEIVER: case UNIT_SENDER:
    fprintf(r->out, "nothing of ");
    report_color(r, u.tile, u.index);
    fprintf(r->out, " is on its way at ");
    report_tile(r, u.tile);
    break;
  case UNIT_END: default:
    print_end(r, u);
    break;
  }
}

/* The unit's name alone. */
static void print_short(Report *r, Unit u)
{
  report_tile(r, u.tile);
  fprintf(r->out, " ");
  switch (u.kind) {
  case UNIT_THREAD:
    if (u.index)
      fprintf(r->out, "microthread %u", u.index - 1u);
    else
      fprintf(r->out, "main thread");
    break;
  case UNIT_TASK: report_task(r, u.tile, TASK_LOCAL, u.index); break;
  case UNIT_OUTPUT: case UNIT_INPUT:
    report_queue(r, u.tile, u.kind == UNIT_OUTPUT, u.index);
    break;
  case UNIT_ROUTER: case UNIT_RECEIVER: case UNIT_SENDER: case UNIT_END: default:
    report_color(r, u.tile, u.index);
    break;
  }
}

static const char *help(const Unit *root)
{
  if (root->kind != UNIT_END)
    return "let one of them go on without the others: receive before sending, or start its "
           "operation with .async";
  switch (root->end) {
  case END_NO_SENDER:
    return "a sender is missing or sends too little: compare the extents of both sides";
  case END_HOST:
    return "stream as many words as the tile takes; if another tile is to send them, give both a "
           "@set_color_config for the color";
  case END_NOT_CONFIGURED:
    return "give this tile a @set_color_config for the color, or route the color elsewhere";
  case END_NOT_ROUTED:
    return "name the way to the tile that waits in the route's .tx, or send the control wavelet "
           "that switches there";
  case END_NOT_DELIVERED:
    return "name RAMP in the route's .tx, or send the control wavelet that switches there";
  case END_CLOSED:
    return "name the side that it comes from in the route's .rx, or send the control wavelet that "
           "switches there";
  case END_EDGE:
    return "let a tile of the rectangle send: the route's .rx leads out of it";
  case END_SUSPENDED:
    return "end it with teardown.exit: in the handler, or in the program if the color starts torn "
           "down";
  case END_NO_QUEUE:
    return "receive the color here with an operation or a data task, or leave RAMP out of the "
           "route's .tx";
  case END_NO_ROUTE:
    return "give the color a .tx here";
  case END_NOBODY_READS:
    return "nobody takes what is left: compare the extents of both sides, or start the operation";
  case END_CONTROL_HEAD:
    return "give the operation .on_control, or bind a control task and send behind the data";
  case END_BLOCKED_TASK: case END_BLOCKED_THREAD:
    return "unblock it with @unblock or with .unblock of an operation, or do not block it";
  case END_FIFO:
    return "start the operation at the FIFO's other end as well, with .async";
  case END_NONE: case END_UNKNOWN: default:
    return NULL;
  }
}

/* ---- text: a cause --------------------------------------------------------------------------- */

/* A color's way through routers is shown by its first and its last. */
static bool is_passage(const Node *nodes, const uint32_t *chain, size_t n, size_t i)
{
  UnitKind kind = nodes[chain[i]].unit.kind;
  bool before = i > 0 && nodes[chain[i - 1]].unit.kind == kind;
  bool behind = i + 1 < n && nodes[chain[i + 1]].unit.kind == kind;
  if (kind == UNIT_RECEIVER)
    return true;
  return (kind == UNIT_SENDER && behind) || (kind == UNIT_ROUTER && before && behind);
}

/* The nodes from `first` to the root, or once around the cycle; those worth a line. */
static uint32_t *chain_of(const Analysis *a, uint32_t first, uint32_t root)
{
  uint32_t *all = NULL, *shown = NULL;
  bool cycle = a->nodes[root].unit.kind != UNIT_END, inside = false;
  for (uint32_t n = first;; n = a->nodes[n].next) {
    if (inside && n == root)
      break;
    inside |= n == root;
    arrput(all, n);
    if (!cycle && n == root)
      break;
  }
  for (size_t i = 0; i < arrlenu(all); i++)
    if (!is_passage(a->nodes, all, arrlenu(all), i))
      arrput(shown, all[i]);
  arrfree(all);
  return shown;
}

static void print_chain(Analysis *a, const uint32_t *chain)
{
  size_t n = arrlenu(chain);
  for (size_t i = 0; i < n; i++) {
    if (i == CHAIN_HEAD && n > CHAIN_HEAD + CHAIN_TAIL) {
      fprintf(a->report.out, "    because ... %zu more like these ...\n",
              n - CHAIN_HEAD - CHAIN_TAIL);
      i = n - CHAIN_TAIL;
    }
    fprintf(a->report.out, i ? "    because " : "  ");
    print_unit(&a->report, a->nodes[chain[i]].unit);
    fprintf(a->report.out, "\n");
  }
}

/* The threads of a cycle, or all its units if none is a thread. */
static void print_cycle(Analysis *a, uint32_t root)
{
  unsigned threads = 0, shown = 0, total;
  uint32_t n = root;
  unsigned length = 0;
  do {
    threads += a->nodes[n].unit.kind == UNIT_THREAD;
    length++;
    n = a->nodes[n].next;
  } while (n != root);
  total = threads ? threads : length;
  fprintf(a->report.out, "a cycle of waits: ");
  do {
    if (!threads || a->nodes[n].unit.kind == UNIT_THREAD) {
      if (shown < OTHERS_SHOWN) {
        fprintf(a->report.out, "%s", shown ? " for " : "");
        print_short(&a->report, a->nodes[n].unit);
      }
      shown++;
    }
    n = a->nodes[n].next;
  } while (n != root);
  if (total > OTHERS_SHOWN)
    fprintf(a->report.out, " and so on, %u in all,", total);
  fprintf(a->report.out, total > 1 ? ", and that for the first" : " for itself");
}

static void print_others(Analysis *a, const Cause *cause)
{
  FILE *out = a->report.out;
  if (!cause->count)
    return;
  fprintf(out, "  the same holds up ");
  for (uint32_t i = 0; i < cause->count && i < OTHERS_SHOWN; i++) {
    fprintf(out, "%s", i ? ", " : "");
    print_short(&a->report, cause->others[i]);
  }
  if (cause->count > OTHERS_SHOWN)
    fprintf(out, " and %u more", cause->count - OTHERS_SHOWN);
  fprintf(out, "\n");
}

static bool alike(const Analysis *a, const Cause *x, const Cause *y)
{
  const Unit *u = &a->nodes[x->root].unit, *v = &a->nodes[y->root].unit;
  const Program *program = a->report.program;
  return u->kind == UNIT_END && v->kind == UNIT_END && u->end == v->end && u->index == v->index &&
         program_class(program, u->tile) == program_class(program, v->tile);
}

/* Causes that differ in the tile alone are told once, with the first of them: stb_ds, in order. */
static uint32_t *causes_to_tell(Analysis *a)
{
  uint32_t *told = NULL;
  for (uint32_t i = 0; i < arrlenu(a->causes); i++) {
    size_t k = 0;
    while (k < arrlenu(told) && !alike(a, &a->causes[told[k]], &a->causes[i]))
      k++;
    if (k == arrlenu(told)) {
      arrput(told, i);
      continue;
    }
    Cause *first = &a->causes[told[k]];
    if (first->n_alike < OTHERS_SHOWN)
      first->alike[first->n_alike] = a->nodes[a->causes[i].root].unit.tile;
    first->n_alike++;
  }
  return told;
}

static void print_alike(Analysis *a, const Cause *cause)
{
  FILE *out = a->report.out;
  if (!cause->n_alike)
    return;
  fprintf(out, "  likewise at ");
  for (uint32_t i = 0; i < cause->n_alike && i < OTHERS_SHOWN; i++) {
    fprintf(out, "%s", i ? ", " : "");
    report_tile(&a->report, cause->alike[i]);
  }
  if (cause->n_alike > OTHERS_SHOWN)
    fprintf(out, " and %u more", cause->n_alike - OTHERS_SHOWN);
  fprintf(out, "\n");
}

static void print_cause(Analysis *a, const Cause *cause, size_t number)
{
  const Unit *root = &a->nodes[cause->root].unit;
  const char *advice = help(root);
  fprintf(a->report.out, "cause %zu: ", number);
  if (root->kind == UNIT_END)
    print_end(&a->report, *root);
  else
    print_cycle(a, cause->root);
  fprintf(a->report.out, "\n");
  uint32_t *chain = chain_of(a, cause->first, cause->root);
  print_chain(a, chain);
  if (root->kind != UNIT_END) {
    fprintf(a->report.out, "    because ");
    print_short(&a->report, *root);
    fprintf(a->report.out, " waits, see above\n");
  }
  arrfree(chain);
  print_others(a, cause);
  print_alike(a, cause);
  if (advice)
    fprintf(a->report.out, "  help: %s\n", advice);
}

/* ---- the report ------------------------------------------------------------------------------ */

static bool takes_commands(const Program *program, uint32_t tile)
{
  const ClassCode *cls = program_class(program, tile);
  return cls && cls->image->data_queue[program->machine->memcpy_command_color] < MAX_QUEUES;
}

static void print_notes(Report *r, uint32_t tile)
{
  const InspectTile *t = report_look(r, tile);
  if (t->host_pending) {
    fprintf(r->out, "  ");
    report_tile(r, tile);
    fprintf(r->out, ": %u word%s from the host cannot enter%s\n", t->host_pending,
            t->host_pending == 1 ? "" : "s",
            takes_commands(r->program, tile) ? ""
                                             : ": its program does not import <memcpy/memcpy>");
  }
  for (uint64_t ids = t->lost; ids; ids &= ids - 1) {
    fprintf(r->out, "  ");
    report_tile(r, tile);
    fprintf(r->out, " ");
    report_task(r, tile, TASK_LOCAL, (unsigned)__builtin_ctzll(ids));
    fprintf(r->out, " was activated again before it had started: two activations are one start\n");
  }
}

static void for_touched(Analysis *a, void (*add)(Analysis *, uint32_t))
{
  Report *r = &a->report;
  for (uint32_t t = 0; t < r->program->n_tiles; t++)
    if (r->engine->ops->touched(r->engine, t))
      add(a, t);
}

void deadlock_report(Engine *engine, const Program *program, unsigned max_causes, FILE *out)
{
  Analysis a = {.report = report_create(engine, program, out)};
  unsigned notes = 0;
  for_touched(&a, add_threads);
  for_touched(&a, add_wavelets);
  uint32_t *tell = causes_to_tell(&a);
  for (size_t i = 0; i < arrlenu(tell) && i < max_causes; i++)
    print_cause(&a, &a.causes[tell[i]], i + 1);
  if (arrlenu(tell) > max_causes)
    fprintf(out, "and %zu more causes\n", arrlenu(tell) - max_causes);
  for (uint32_t t = 0; t < program->n_tiles && notes < max_causes; t++) {
    if (!engine->ops->touched(engine, t))
      continue;
    const InspectTile *tile = report_look(&a.report, t);
    notes += tile->lost || tile->host_pending;
    print_notes(&a.report, t);
  }
  arrfree(tell);
  arrfree(a.nodes);
  arrfree(a.causes);
  hmfree(a.index);
  hmfree(a.cause_of);
}
