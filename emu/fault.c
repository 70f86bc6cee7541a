/* Faults as text: what happened, where, and what to do about it. */
#include "emu/emu.h"

#include <string.h>

#define FAULT(name, text) #name,
static const char *const names[] = {
#include "emu/faults.def"
};
#define FAULT(name, text) text,
static const char *const texts[] = {
#include "emu/faults.def"
};

const char *fault_name(FaultKind kind)
{
  return (unsigned)kind < FAULT_COUNT ? names[kind] : "?";
}

bool fault_is_hazard(FaultKind kind)
{
  return kind == FAULT_COLOR_MEETS;
}

int fault_compare(const void *a, const void *b)
{
  const Fault *x = a, *y = b;
  uint64_t kx[] = {x->cycle, x->tile, (uint64_t)x->kind, x->color, x->pc, x->value};
  uint64_t ky[] = {y->cycle, y->tile, (uint64_t)y->kind, y->color, y->pc, y->value};
  for (size_t i = 0; i < ARRAY_COUNT(kx); i++)
    if (kx[i] != ky[i])
      return kx[i] < ky[i] ? -1 : 1;
  return 0;
}

static void print_ports(PortMask ports, FILE *out)
{
  const char *between = "";
  for (unsigned p = 0; p < PORT_COUNT; p++) {
    if (!(ports >> p & 1))
      continue;
    fprintf(out, "%s%s", between, port_name((Port)p));
    between = " and ";
  }
}

static void print_task(const Program *program, const Fault *fault, FILE *out)
{
  const char *name = program_task_name(program, fault->tile, TASK_NONE, fault->value);
  fprintf(out, ": id %u%s%s%s", fault->value, *name ? " '" : "", name, *name ? "'" : "");
}

/* What the kind says beyond its row's text. */
static void print_details(const Program *program, const Fault *fault, FILE *out)
{
  switch (fault->kind) {
  case FAULT_COLOR_MEETS:
    fprintf(out, ", from ");
    print_ports((PortMask)fault->value, out);
    break;
  case FAULT_NO_COLOR_CONFIG:
    fprintf(out, ", coming from %s", port_name((Port)fault->value));
    break;
  case FAULT_LEAVES_FABRIC:
    fprintf(out, ", to the %s", port_name((Port)fault->value));
    break;
  case FAULT_MICROTHREAD_BUSY:
    fprintf(out, ": microthread %u", fault->value);
    break;
  case FAULT_ADDRESS: case FAULT_ALIGNMENT: case FAULT_CODE_STORE: case FAULT_STACK:
    fprintf(out, ": address 0x%04x", fault->value);
    break;
  case FAULT_CONFIG_ADDRESS:
    fprintf(out, ": 0x%04x", fault->value);
    break;
  case FAULT_TRAP: case FAULT_DSR_EMPTY: case FAULT_DSR_FIELD: case FAULT_QUEUE:
  case FAULT_QUEUE_TWICE:
    fprintf(out, ": %u", fault->value);
    break;
  case FAULT_TASK_ID: case FAULT_ID_RANGE:
    print_task(program, fault, out);
    break;
  case FAULT_PC: case FAULT_ASSERT: case FAULT_DESCRIPTOR:
  case FAULT_COLOR_REGISTER: case FAULT_UNSUPPORTED: case FAULT_COUNT: default:
    break;
  }
}

static void print_message(const Program *program, const Fault *fault, FILE *out)
{
  fprintf(out, "%s", (unsigned)fault->kind < FAULT_COUNT ? texts[fault->kind] : "?");
  print_details(program, fault, out);
  if (fault->color < MAX_COLORS) {
    const char *name = program_color_name(program, fault->tile, fault->color);
    fprintf(out, " (color %u%s%s%s)", fault->color, *name ? " '" : "", name, *name ? "'" : "");
  }
}

static const char *help(FaultKind kind)
{
  switch (kind) {
  case FAULT_COLOR_MEETS:
    return "order the senders, or use a switch so that the router takes one input at a time";
  case FAULT_NO_COLOR_CONFIG:
    return "give this tile a @set_color_config for the color, or do not route the color here";
  case FAULT_LEAVES_FABRIC:
    return "end the route at the border of the rectangle";
  case FAULT_MICROTHREAD_BUSY:
    return "start the second operation from the first one's .activate, or use another queue";
  case FAULT_STACK:
    return "the program has too little memory left for its stack";
  case FAULT_QUEUE:
    return "bind the queue with @initialize_queue";
  case FAULT_QUEUE_TWICE:
    return "give each stream an input queue of its own";
  case FAULT_COLOR_REGISTER:
    return "give this tile a @set_color_config for the color; .routes may be .{}";
  case FAULT_TASK_ID:
    return "bind a local task to the id with @bind_local_task";
  case FAULT_ADDRESS: case FAULT_ALIGNMENT: case FAULT_CODE_STORE:
    return "check the lengths and base addresses of descriptors and pointers";
  case FAULT_PC: case FAULT_ASSERT: case FAULT_TRAP: case FAULT_DESCRIPTOR:
  case FAULT_DSR_EMPTY: case FAULT_DSR_FIELD: case FAULT_ID_RANGE: case FAULT_CONFIG_ADDRESS:
  case FAULT_UNSUPPORTED: case FAULT_COUNT: default:
    return NULL;
  }
}

void fault_text(const Program *program, const Fault *fault, char *text, size_t size)
{
  if (size == 0)
    return;
  text[0] = 0;
  FILE *out = fmemopen(text, size, "w");
  if (!out)
    ICE("no memory for the text of a fault");
  print_message(program, fault, out);
  fclose(out);
  text[size - 1] = 0;
}

static void print_instruction(const Program *program, const Fault *fault, FILE *out)
{
  const ClassCode *cls = program_class(program, fault->tile);
  const Insn *insn = cls && fault->pc != PC_RETURN ? class_insn(cls, fault->pc) : NULL;
  char text[128], place[512];
  program_location(program, fault->tile, fault->pc, place, sizeof place);
  if (fault->pc == PC_RETURN)
    return;
  if (insn)
    insn_print(insn, text, sizeof text);
  else
    snprintf(text, sizeof text, "no instruction");
  fprintf(out, "  at %s%spc 0x%04x: %s\n", place, *place ? ", " : "", fault->pc, text);
}

void fault_print(const Program *program, const Fault *fault, FILE *out)
{
  const char *advice = help(fault->kind);
  fprintf(out, "error: cycle %llu, P%u.%u: ", (unsigned long long)fault->cycle,
          program_x(program, fault->tile), program_y(program, fault->tile));
  print_message(program, fault, out);
  fprintf(out, " [%s]\n", fault_name(fault->kind));
  print_instruction(program, fault, out);
  if (advice)
    fprintf(out, "  help: %s\n", advice);
}
