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

TraceKind event_trace_kind(EventKind kind)
{
  switch (kind) {
  case EV_TASK_START: case EV_TASK_END: case EV_ACTIVATE: case EV_BLOCK: case EV_UNBLOCK:
    return TRACE_TASK;
  case EV_INST: case EV_GROUP: case EV_DONE:
    return TRACE_INST;
  case EV_WAVELET:
    return TRACE_WAVELET;
  case EV_SWITCH:
    return TRACE_SWITCH;
  case EV_PUSH: case EV_POP:
    return TRACE_QUEUE;
  case EV_STALL:
    return TRACE_STALL;
  case EV_HOST_IN: case EV_HOST_OUT: case EV_LAUNCH:
    return TRACE_HOST;
  case EV_COUNT: default:
    ICE("no event %d", (int)kind);
  }
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

bool trace_in_region(const TraceSink *sink, uint32_t x, uint32_t y)
{
  return x >= sink->x && x - sink->x < sink->width && y >= sink->y && y - sink->y < sink->height;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static void name_after(FILE *out, const char *name)
{
  if (*name)
    fprintf(out, " '%s'", name);
}

static void print_thread(FILE *out, const TraceEvent *e)
{
  if (e->thread)
    fprintf(out, " ut%u", e->thread - 1);
}

static void task_fields(const Program *program, const TraceEvent *e, FILE *out)
{
  fprintf(out, " %s %u", task_kind_name(e->task), e->id);
  name_after(out, program_task_name(program, e->tile, e->task, e->id));
  if (e->kind == EV_TASK_START && e->task != TASK_LOCAL && e->task != TASK_NONE)
    fprintf(out, " 0x%08x", e->payload);
}

static void id_fields(const Program *program, const TraceEvent *e, FILE *out)
{
  fprintf(out, " %s %u", id_kind_name((IdKind)e->id_kind), e->id);
  if (e->id_kind == ID_TASK)
    name_after(out, program_task_name(program, e->tile, TASK_NONE, e->id));
}

static void inst_fields(const Program *program, const TraceEvent *e, FILE *out)
{
  const ClassCode *cls = program_class(program, e->tile);
  const Insn *insn = cls ? class_insn(cls, e->pc) : NULL;
  char text[128] = "?";
  if (insn)
    insn_print(insn, text, sizeof text);
  fprintf(out, " 0x%04x %s", e->pc, text);
}

static void wavelet_fields(const Program *program, const TraceEvent *e, FILE *out)
{
  fprintf(out, " color %u", e->color);
  name_after(out, program_color_name(program, e->tile, e->color));
  fprintf(out, " %s ->", port_name(e->from));
  for (unsigned p = 0; p < PORT_COUNT; p++)
    if (e->to >> p & 1)
      fprintf(out, " %s", port_name((Port)p));
  fprintf(out, " 0x%08x%s", e->payload, e->control ? " control" : "");
}

static void queue_fields(const Program *program, const TraceEvent *e, FILE *out)
{
  fprintf(out, " %s %u", e->output ? "output" : "input", e->queue);
  name_after(out, program_queue_name(program, e->tile, e->output, e->queue));
  fprintf(out, " color %u 0x%08x%s", e->color, e->payload, e->control ? " control" : "");
}

static void print_fields(const Program *program, const TraceEvent *e, FILE *out)
{
  static const char *const words[EV_COUNT] = {
    [EV_TASK_START] = "start", [EV_TASK_END] = "end",     [EV_ACTIVATE] = "activate",
    [EV_BLOCK] = "block",      [EV_UNBLOCK] = "unblock",  [EV_INST] = "issue",
    [EV_GROUP] = "group",      [EV_DONE] = "done",        [EV_WAVELET] = "move",
    [EV_SWITCH] = "position",  [EV_PUSH] = "push",        [EV_POP] = "pop",
    [EV_STALL] = "waited",     [EV_HOST_IN] = "in",       [EV_HOST_OUT] = "out",
    [EV_LAUNCH] = "launch",
  };
  fprintf(out, " %s", words[e->kind]);
  switch (e->kind) {
  case EV_TASK_START: case EV_TASK_END:
    task_fields(program, e, out);
    break;
  case EV_ACTIVATE: case EV_BLOCK: case EV_UNBLOCK:
    id_fields(program, e, out);
    break;
  case EV_INST:
    inst_fields(program, e, out);
    break;
  case EV_GROUP:
    fprintf(out, " 0x%04x", e->pc);
    print_thread(out, e);
    fprintf(out, " elements %u", e->count);
    break;
  case EV_DONE:
    fprintf(out, " 0x%04x", e->pc);
    print_thread(out, e);
    fprintf(out, "%s", e->control ? " by control" : "");
    break;
  case EV_WAVELET:
    wavelet_fields(program, e, out);
    break;
  case EV_SWITCH:
    fprintf(out, " color %u", e->color);
    name_after(out, program_color_name(program, e->tile, e->color));
    fprintf(out, " %u -> %u", e->old_position, e->new_position);
    break;
  case EV_PUSH: case EV_POP:
    queue_fields(program, e, out);
    break;
  case EV_STALL:
    fprintf(out, " 0x%04x", e->pc);
    print_thread(out, e);
    fprintf(out, " %s %u cycles", stall_name((StallCause)e->id), e->payload);
    break;
  case EV_HOST_IN: case EV_HOST_OUT:
    fprintf(out, " color %u 0x%08x", e->color, e->payload);
    break;
  case EV_LAUNCH:
    fprintf(out, " 0x%04x", e->pc);
    break;
  case EV_COUNT: default:
    break;
  }
}

void trace_format(const Program *program, const TraceEvent *event, char *text, size_t size)
{
  if (size == 0)
    return;
  FILE *out = fmemopen(text, size, "w");
  if (!out)
    base_out_of_memory(size, "a line of the trace");
  fprintf(out, "@%llu P%u.%u %s", (unsigned long long)event->cycle,
          program_x(program, event->tile), program_y(program, event->tile),
          kind_names[event_trace_kind(event->kind)]);
  print_fields(program, event, out);
  fclose(out);
  text[size - 1] = 0;
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
