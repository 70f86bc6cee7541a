/* The text form of trace events: one line each, stable enough to be compared as a whole. */
#include "emu/tile/tile.h"

#include <string.h>

static const char *const kind_names[TRACE_KIND_COUNT] = {
  [TRACE_TASK] = "task",     [TRACE_INST] = "inst",   [TRACE_WAVELET] = "wavelet",
  [TRACE_SWITCH] = "switch", [TRACE_QUEUE] = "queue", [TRACE_STALL] = "stall",
  [TRACE_HOST] = "host",
};

bool trace_kind_from_name(const char *name, size_t length, TraceKind *kind)
{
  for (unsigned i = 0; i < TRACE_KIND_COUNT; i++) {
    if (strlen(kind_names[i]) == length && memcmp(kind_names[i], name, length) == 0) {
      *kind = (TraceKind)i;
      return true;
    }
  }
  return false;
}

TraceSink trace_sink(const Program *program, uint32_t kinds,
                     void (*event)(TraceSink *, const TraceEvent *), void *context)
{
  return (TraceSink){
    .kinds = kinds, .first_cycle = 0, .last_cycle = UINT64_MAX,
    .width = program->image->width, .height = program->image->height,
    .event = event, .context = context,
  };
}

bool trace_in_region(const TraceSink *sink, const Program *program, uint32_t tile)
{
  uint32_t x = program_x(program, tile), y = program_y(program, tile);
  return x >= sink->x && x - sink->x < sink->width && y >= sink->y && y - sink->y < sink->height;
}

/* ---- a line ---------------------------------------------------------------------------------- */

/* Text as it grows; what does not fit is left out.  A full trace has millions of lines, and printf
 * took most of a run's time. */
typedef struct { char *at, *end; } Line;

static void put_bytes(Line *line, const char *text, size_t length)
{
  size_t room = (size_t)(line->end - line->at);
  memcpy(line->at, text, length < room ? length : room);
  line->at += length < room ? length : room;
}

static void put_text(Line *line, const char *text) { put_bytes(line, text, strlen(text)); }

static void put_number(Line *line, uint64_t number)
{
  char digits[20], *first = digits + sizeof digits;
  do {
    *--first = (char)('0' + number % 10);
    number /= 10;
  } while (number);
  put_bytes(line, first, (size_t)(digits + sizeof digits - first));
}

/* " 0x" and the digits, leading zeros included. */
static void put_hex(Line *line, uint32_t value, unsigned digits)
{
  char text[sizeof value * 2];
  for (unsigned i = digits; i-- > 0; value >>= 4)
    text[i] = "0123456789abcdef"[value & 0xf];
  put_text(line, " 0x");
  put_bytes(line, text, digits);
}

static void put_address(Line *line, uint16_t pc) { put_hex(line, pc, 4); }
static void put_payload(Line *line, uint32_t payload) { put_hex(line, payload, 8); }

static void put_word(Line *line, const char *word)
{
  put_text(line, " ");
  put_text(line, word);
}

static void put_count(Line *line, const char *word, unsigned number)
{
  put_word(line, word);
  put_text(line, " ");
  put_number(line, number);
}

static void put_name(Line *line, const char *name)
{
  if (!*name)
    return;
  put_text(line, " '");
  put_text(line, name);
  put_text(line, "'");
}

/* ---- fields ---------------------------------------------------------------------------------- */

static void put_thread(Line *line, const TraceEvent *e)
{
  if (!e->thread)
    return;
  put_text(line, " ut");
  put_number(line, e->thread - 1u);
}

static void put_task(Line *line, const Program *program, const TraceEvent *e)
{
  put_count(line, task_kind_name(e->task), e->id);
  put_name(line, program_task_name(program, e->tile, e->task, e->id));
  if (e->kind == EV_TASK_START && e->task != TASK_LOCAL && e->task != TASK_NONE)
    put_payload(line, e->payload);
}

static void put_id(Line *line, const Program *program, const TraceEvent *e)
{
  put_count(line, id_kind_name((IdKind)e->id_kind), e->id);
  if (e->id_kind == ID_TASK)
    put_name(line, program_task_name(program, e->tile, TASK_NONE, e->id));
}

static void put_insn(Line *line, const Program *program, const TraceEvent *e)
{
  const ClassCode *cls = program_class(program, e->tile);
  const Insn *insn = cls ? class_insn(cls, e->pc) : NULL;
  char text[128] = "?";
  if (insn)
    insn_print(insn, text, sizeof text);
  put_address(line, e->pc);
  put_word(line, text);
}

static void put_ports(Line *line, PortMask ports)
{
  for (unsigned p = 0; p < PORT_COUNT; p++)
    if (ports >> p & 1)
      put_word(line, port_name((Port)p));
}

static void put_wavelet(Line *line, const Program *program, const TraceEvent *e)
{
  put_count(line, "color", e->color);
  put_name(line, program_color_name(program, e->tile, e->color));
  put_word(line, port_name(e->from));
  put_text(line, " ->");
  put_ports(line, e->to);
  put_payload(line, e->payload);
  put_text(line, e->control ? " control" : "");
}

static void put_routes(Line *line, const Program *program, const TraceEvent *e)
{
  put_count(line, "color", e->color);
  put_name(line, program_color_name(program, e->tile, e->color));
  put_ports(line, e->inputs);
  put_text(line, " ->");
  put_ports(line, e->to);
}

static void put_queue(Line *line, const Program *program, const TraceEvent *e)
{
  put_count(line, e->output ? "output" : "input", e->queue);
  put_name(line, program_queue_name(program, e->tile, e->output, e->queue));
  put_count(line, "color", e->color);
  put_payload(line, e->payload);
  put_text(line, e->control ? " control" : "");
}

static void put_switch(Line *line, const Program *program, const TraceEvent *e)
{
  put_count(line, "color", e->color);
  put_name(line, program_color_name(program, e->tile, e->color));
  put_text(line, " ");
  put_number(line, e->old_position);
  put_count(line, "->", e->new_position);
}

static void put_fields(Line *line, const Program *program, const TraceEvent *e)
{
  static const char *const words[EV_COUNT] = {
    [EV_TASK_START] = "start", [EV_TASK_END] = "end",     [EV_ACTIVATE] = "activate",
    [EV_BLOCK] = "block",      [EV_UNBLOCK] = "unblock",  [EV_INST] = "issue",
    [EV_GROUP] = "group",      [EV_DONE] = "done",        [EV_WAVELET] = "move",
    [EV_SWITCH] = "position",  [EV_PUSH] = "push",        [EV_POP] = "pop",
    [EV_WAIT] = "waits",       [EV_STALL] = "waited",     [EV_HOST_IN] = "in",
    [EV_HOST_OUT] = "out",     [EV_LAUNCH] = "launch",   [EV_ROUTE] = "routes",
  };
  put_word(line, words[e->kind]);
  switch (e->kind) {
  case EV_TASK_START: case EV_TASK_END:
    put_task(line, program, e);
    break;
  case EV_ACTIVATE: case EV_BLOCK: case EV_UNBLOCK:
    put_id(line, program, e);
    break;
  case EV_INST:
    put_insn(line, program, e);
    break;
  case EV_GROUP:
    put_address(line, e->pc);
    put_thread(line, e);
    put_count(line, "elements", e->count);
    break;
  case EV_DONE:
    put_address(line, e->pc);
    put_thread(line, e);
    put_text(line, e->control ? " by control" : "");
    break;
  case EV_WAVELET:
    put_wavelet(line, program, e);
    break;
  case EV_SWITCH:
    put_switch(line, program, e);
    break;
  case EV_ROUTE:
    put_routes(line, program, e);
    break;
  case EV_PUSH: case EV_POP:
    put_queue(line, program, e);
    break;
  case EV_WAIT:
    put_address(line, e->pc);
    put_thread(line, e);
    put_word(line, stall_name((StallCause)e->id));
    break;
  case EV_STALL:
    put_address(line, e->pc);
    put_thread(line, e);
    put_count(line, stall_name((StallCause)e->id), e->payload);
    put_text(line, " cycles");
    break;
  case EV_HOST_IN: case EV_HOST_OUT:
    put_count(line, "color", e->color);
    put_payload(line, e->payload);
    break;
  case EV_LAUNCH:
    put_address(line, e->pc);
    break;
  case EV_COUNT: default:
    break;
  }
}

size_t trace_format(const Program *program, const TraceEvent *event, char *text, size_t size)
{
  if (size == 0)
    return 0;
  Line line = {text, text + size - 1};
  put_text(&line, "@");
  put_number(&line, event->cycle);
  put_text(&line, " P");
  put_number(&line, program_x(program, event->tile));
  put_text(&line, ".");
  put_number(&line, program_y(program, event->tile));
  put_word(&line, kind_names[event_trace_kind(event->kind)]);
  put_fields(&line, program, event);
  *line.at = 0;
  return (size_t)(line.at - text);
}

const char *stall_name(StallCause cause)
{
  static const char *const names[STALL_COUNT] = {
    [STALL_NONE] = "none",     [STALL_PAUSED] = "paused", [STALL_INPUT] = "input",
    [STALL_FIFO] = "fifo",     [STALL_OUTPUT] = "output", [STALL_ISSUE] = "issue",
    [STALL_BANK] = "bank",
  };
  return (unsigned)cause < STALL_COUNT ? names[cause] : "?";
}
