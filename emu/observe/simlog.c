/* The trace in the form of the log of the vendor's simulator, for programs that read those logs.
 * Its debugging guide names what a line holds; the form of the lines is the one that a public
 * reader of such logs takes (wse-viz, trace-parser.js).  The log is made of the same events as the
 * other traces; what the machine of the vendor alone knows (pipeline stages, SIMD units) is absent.
 *
 * A wavelet has an identity in these logs: its number (journeys.c). */
#include "emu/explain/explain.h"
#include "emu/observe/observe.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

struct SimLog {
  const Program *program;
  FILE *out;
  uint32_t kinds;               /* of which lines are written */
  uint8_t *task;                /* by tile: the id of the task that started last */
  uint64_t *executed;           /* by tile: 1 + the cycle in which it executed last */
  uint64_t cycle;               /* of the latest instruction */
  uint32_t *busy, *busy_before; /* stb_ds: tiles that execute in that cycle, in the one before */
};

SimLog *simlog_create(const Program *program, uint32_t kinds, FILE *out)
{
  SimLog *log = base_malloc(sizeof *log);
  *log = (SimLog){.program = program, .out = out, .kinds = kinds};
  log->task = base_zeroed(program->n_tiles, sizeof *log->task);
  log->executed = base_zeroed(program->n_tiles, sizeof *log->executed);
  fprintf(out, "@0 dimX=%u, dimY=%u\n", program->image->width, program->image->height);
  return log;
}

void simlog_destroy(SimLog *log)
{
  if (!log)
    return;
  arrfree(log->busy);
  arrfree(log->busy_before);
  free(log->task);
  free(log->executed);
  free(log);
}

static void begin_line(const SimLog *log, uint64_t cycle, uint32_t tile)
{
  fprintf(log->out, "@%" PRIu64 " P%u.%u", cycle, program_x(log->program, tile),
          program_y(log->program, tile));
}

/* ---- landing --------------------------------------------------------------------------------- */

static char link_letter(Port port)
{
  static const char letters[PORT_COUNT] = {[PORT_NORTH] = 'N', [PORT_SOUTH] = 'S',
                                           [PORT_EAST] = 'E', [PORT_WEST] = 'W',
                                           [PORT_RAMP] = 'R'};
  return letters[port];
}

/* The ways of a wavelet in the order of the log, a blank for each that it does not take. */
static void ways_text(PortMask to, char text[PORT_COUNT + 1])
{
  static const Port order[PORT_COUNT] = {PORT_EAST, PORT_NORTH, PORT_WEST, PORT_SOUTH, PORT_RAMP};
  for (unsigned i = 0; i < PORT_COUNT; i++)
    text[i] = to >> order[i] & 1 ? link_letter(order[i]) : ' ';
  text[PORT_COUNT] = '\0';
}

static void print_payload(const SimLog *log, const TraceEvent *e)
{
  uint16_t low = (uint16_t)e->payload;
  char number[32];
  element_format('f', sizeof low, log->program->image->fp16, low, number);
  fprintf(log->out, "ctrl=%d, idx=%04x, data=%04x (%u (%s)), half=0", e->control,
          e->payload >> 16, low, low, number);
}

static void print_landing(const SimLog *log, const TraceEvent *e, uint64_t identity)
{
  char ways[PORT_COUNT + 1];
  const char *taken = e->to >> PORT_RAMP & 1 ? ", to_ce_from_router" : "";
  ways_text(e->to, ways);
  begin_line(log, e->cycle, e->tile);
  fprintf(log->out, " (hwtile) landing C%u from link %c, ", e->color, link_letter(e->from));
  print_payload(log, e);
  fprintf(log->out, ", ident=%016" PRIx64 ", lf=0\n", identity);
  begin_line(log, e->cycle, e->tile);
  fprintf(log->out, " (hwtile) wavelet C%u ", e->color);
  print_payload(log, e);
  fprintf(log->out, ", ident=%016" PRIx64 " landing=%c departing=/%s/%s, lf=0\n", identity,
          link_letter(e->from), ways, taken);
}

/* ---- queues ---------------------------------------------------------------------------------- */

/* Into an output queue, and out of it into the router. */
static void queue_event(const SimLog *log, const TraceEvent *e, uint64_t identity)
{
  if (!e->output || program_is_host_color(log->program, e->color))
    return;
  bool push = e->kind == EV_PUSH;
  begin_line(log, e->cycle, e->tile);
  fprintf(log->out, ": %s wavelet C%u ", push ? "Writing" : "Sending", e->color);
  print_payload(log, e);
  if (push)
    fprintf(log->out, " to OUT_Q[%u]\n", e->queue);
  else
    fprintf(log->out, " ident:%016" PRIx64 " on OUT_Q[%u]\n", identity, e->queue);
}

/* ---- waits ----------------------------------------------------------------------------------- */

/* Where a wait begins; a bank conflict has no other event. */
static void stall_event(const SimLog *log, const TraceEvent *e)
{
  if (e->kind == EV_STALL && e->id != STALL_BANK)
    return;
  begin_line(log, e->cycle, e->tile);
  fprintf(log->out, ": [EX] T%u Pipe: 0, Msg: stall: %s at 0x%04x\n", log->task[e->tile],
          stall_name((StallCause)e->id), e->pc);
}

/* ---- router ---------------------------------------------------------------------------------- */

static void put_ports(const SimLog *log, PortMask ports)
{
  for (unsigned p = 0; p < PORT_COUNT; p++)
    if (ports >> p & 1)
      fputc(link_letter((Port)p), log->out);
  if (!ports)
    fputc('-', log->out);
}

static void switch_event(const SimLog *log, const TraceEvent *e)
{
  const ImageColorConfig *config = program_color(log->program, e->tile, e->color);
  begin_line(log, e->cycle, e->tile);
  fprintf(log->out, " (hwtile) router C%u switch %u -> %u", e->color, e->old_position,
          e->new_position);
  if (config && e->old_position < MAX_SWITCH_POSITIONS && e->new_position < MAX_SWITCH_POSITIONS) {
    const ImagePosition *from = &config->positions[e->old_position];
    const ImagePosition *to = &config->positions[e->new_position];
    fprintf(log->out, ", input ");
    put_ports(log, from->rx);
    fprintf(log->out, " -> ");
    put_ports(log, to->rx);
    fprintf(log->out, ", output ");
    put_ports(log, from->tx);
    fprintf(log->out, " -> ");
    put_ports(log, to->tx);
  }
  fputc('\n', log->out);
}

/* ---- instructions ---------------------------------------------------------------------------- */

static void print_idle(const SimLog *log, uint64_t cycle, uint32_t tile)
{
  begin_line(log, cycle, tile);
  fprintf(log->out, ": [EX OP] IDLE\n");
}

/* Tiles that have executed one cycle before and do not in this one are idle from here on. */
static void end_cycle(SimLog *log, uint64_t now)
{
  for (size_t i = 0; i < arrlenu(log->busy_before); i++)
    if (log->executed[log->busy_before[i]] != log->cycle + 1)
      print_idle(log, log->cycle, log->busy_before[i]);
  uint32_t *last = log->busy_before;
  log->busy_before = log->busy;
  log->busy = last;
  arrsetlen(log->busy, 0);
  if (now != log->cycle + 1) {
    for (size_t i = 0; i < arrlenu(log->busy_before); i++)
      print_idle(log, log->cycle + 1, log->busy_before[i]);
    arrsetlen(log->busy_before, 0);
  }
  log->cycle = now;
}

static void print_instruction(const SimLog *log, const TraceEvent *e, const char *stage)
{
  const ClassCode *cls = program_class(log->program, e->tile);
  const Insn *insn = cls ? class_insn(cls, e->pc) : NULL;
  char text[128] = "?";
  if (insn)
    insn_print(insn, text, sizeof text);
  size_t opcode = strcspn(text, " ");
  begin_line(log, e->cycle, e->tile);
  fprintf(log->out, ": [%s OP] ^ 0x%04x: T%u", stage, e->pc, log->task[e->tile]);
  if (e->thread)
    fprintf(log->out, ".%u", e->thread - 1u);
  fprintf(log->out, " %.*s", (int)opcode, text);
  if (text[opcode])
    fprintf(log->out, " %s", text + opcode + 1);
  if (e->kind == EV_GROUP)
    fprintf(log->out, " SIMD-%u", e->count);
  fputc('\n', log->out);
}

static void instruction_event(SimLog *log, const TraceEvent *e)
{
  if (e->kind == EV_DONE)
    return;
  if (e->cycle != log->cycle)
    end_cycle(log, e->cycle);
  if (e->kind == EV_INST)
    print_instruction(log, e, "IS");
  if (log->executed[e->tile] != e->cycle + 1)
    arrput(log->busy, e->tile);
  log->executed[e->tile] = e->cycle + 1;
  print_instruction(log, e, "EX");
}

/* ---- events ---------------------------------------------------------------------------------- */

void simlog_event(SimLog *log, const TraceEvent *e, uint64_t number, bool is_wanted)
{
  TraceKind kind = event_trace_kind(e->kind);
  bool shown = is_wanted && log->kinds >> kind & 1;
  if (e->kind == EV_TASK_START)
    log->task[e->tile] = e->id;
  if (!shown)
    return;
  switch (kind) {
  case TRACE_WAVELET: print_landing(log, e, number); break;
  case TRACE_SWITCH:
    if (e->kind == EV_SWITCH)
      switch_event(log, e);
    break;
  case TRACE_INST: instruction_event(log, e); break;
  case TRACE_QUEUE: queue_event(log, e, number); break;
  case TRACE_STALL: stall_event(log, e); break;
  case TRACE_TASK: case TRACE_HOST: case TRACE_KIND_COUNT: default: break;
  }
}

void simlog_finish(SimLog *log)
{
  end_cycle(log, log->cycle + 2);
}
