/* Faults as text: what happened, where, what it met, and what to do about it. */
#include "emu/explain/explain_internal.h"

#include "stb_ds.h"

#include <stdlib.h>
#include <string.h>

#define FAULT(name, group, text) text,
static const char *const texts[] = {
#include "emu/machine/faults.def"
};

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

static void print_exceptions(unsigned raised, FILE *out)
{
  static const char *const exceptions[] = {"FP_UNDERFLOW", "FP_OVERFLOW", "FP_INEXACT",
                                           "FP_INVALID", "FP_DIV_BY_0"};
  const char *between = ": ";
  for (unsigned i = 0; i < ARRAY_COUNT(exceptions); i++) {
    if (!(raised >> i & 1))
      continue;
    fprintf(out, "%s%s", between, exceptions[i]);
    between = " and ";
  }
}

/* The assertion as the source has it; NULL: that is not known. */
static const ImageAssert *assert_of(const Program *program, const Fault *fault)
{
  const ClassCode *cls = program_class(program, fault->tile);
  for (uint32_t i = 0; cls && fault->kind == FAULT_ASSERT && i < cls->image->n_asserts; i++)
    if (cls->image->asserts[i].pc == fault->pc)
      return &cls->image->asserts[i];
  return NULL;
}

static void print_condition(const Program *program, const Fault *fault, FILE *out)
{
  const ImageAssert *assertion = assert_of(program, fault);
  if (assertion)
    fprintf(out, ": %s", assertion->condition);
}

/* The bytes of a side of its comparison, which the tile still has; false: it is not known. */
static bool read_asserted(Engine *engine, const Fault *fault, const ImageAsserted *side,
                          const DebugType *type, uint8_t bytes[sizeof side->value])
{
  const Registers *regs = engine->ops->registers(engine, fault->tile);
  uint64_t value = side->value;
  bool has_base = side->reg != ASSERTED_NO_BASE;
  if (has_base && !regs)
    return false;
  if (side->place == ASSERTED_MEMORY)
    return engine->ops->mem_read(engine, fault->tile,
                                 (uint16_t)(value + (has_base ? regs->r[side->reg] : 0)), bytes,
                                 type->bytes);
  if (side->place == ASSERTED_REGISTER) {
    value = regs->r[side->reg];
    if (type->bytes > sizeof *regs->r && side->reg + 1 < GPR_COUNT)
      value |= (uint64_t)regs->r[side->reg + 1] << 16;
  }
  for (unsigned i = 0; i < sizeof value; i++)
    bytes[i] = (uint8_t)(value >> i * 8);
  return true;
}

/* "where x = 12 and n = 10". */
static void print_asserted(const Program *program, Engine *engine, const Fault *fault, FILE *out)
{
  const ClassCode *cls = program_class(program, fault->tile);
  unsigned shown = 0;
  for (uint32_t i = 0; cls && i < cls->image->numbers.n_asserted; i++) {
    const ImageAsserted *side = &cls->image->numbers.asserted[i];
    const DebugType *type = image_debug_type(program->image, side->type);
    uint8_t bytes[sizeof side->value];
    if (side->pc != fault->pc || !read_asserted(engine, fault, side, type, bytes))
      continue;
    fprintf(out, "%s%s = ", shown++ ? " and " : "  where ", side->text);
    variable_print(&(ValueStyle){program->image, cls->image, 1}, type, bytes, out);
  }
  if (shown)
    fputc('\n', out);
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
  case FAULT_UNWRITTEN: case FAULT_OUT_OF_BOUNDS: case FAULT_READ_RACE: case FAULT_WRITE_RACE:
  case FAULT_READ_UNWAITED: case FAULT_WRITE_UNWAITED:
  case FAULT_ELEMENT_SIZE:
    fprintf(out, ": address 0x%04x", fault->value);
    break;
  case FAULT_LENGTHS:
    fprintf(out, ": %u, not %u", fault->value, fault->value2);
    break;
  case FAULT_CONTROL_UNTAKEN:
    fprintf(out, " %u: 0x%08x", control_entry(fault->value), fault->value);
    break;
  case FAULT_EXCEPTION:
    print_exceptions(fault->value, out);
    break;
  case FAULT_CONFIG_ADDRESS:
    fprintf(out, ": 0x%04x", fault->value);
    break;
  case FAULT_QUEUE_TASK:
    fprintf(out, " from input queue %u", fault->value);
    break;
  case FAULT_QUEUE_MIXED:
    fprintf(out, ": one of color %u is at the head of input queue %u",
            fault->value >> FAULT_HEAD_SHIFT, fault->value % FAULT_OUTPUT_QUEUE);
    break;
  case FAULT_QUEUE_SHARED: case FAULT_QUEUE: case FAULT_QUEUE_REMAP: case FAULT_FLUSHED:
    fprintf(out, ": %s queue %u", fault->value & FAULT_OUTPUT_QUEUE ? "output" : "input",
            fault->value % FAULT_OUTPUT_QUEUE);
    break;
  case FAULT_DSR_EMPTY:
    fprintf(out, ": %s register %u", dsr_file_name((DsrFile)(fault->value / FAULT_DSR_FILE)),
            fault->value % FAULT_DSR_FILE);
    break;
  case FAULT_TRAP: case FAULT_DSR_FIELD: case FAULT_QUEUE_TWICE:
    fprintf(out, ": %u", fault->value);
    break;
  case FAULT_TASK_ID: case FAULT_ID_RANGE: case FAULT_ACTIVATION_MERGED:
    print_task(program, fault, out);
    break;
  case FAULT_ASSERT:
    print_condition(program, fault, out);
    break;
  case FAULT_PC: case FAULT_DESCRIPTOR: case FAULT_FIFO: case FAULT_TORN_DOWN: case FAULT_FIFO_FULL:
  case FAULT_FIFO_EMPTY:
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

static const char *help_text(const Program *program, FaultKind kind)
{
  switch (kind) {
  case FAULT_COLOR_MEETS:
    return "order the senders, or use a switch so that the router takes one input at a time";
  case FAULT_NO_COLOR_CONFIG:
    if (program->image->is_of_script)
      return script_route_help;
    return "give this tile a @set_color_config for the color, or do not route the color here; with "
           "--check=warn the wavelet waits";
  case FAULT_LEAVES_FABRIC:
    if (program->image->is_of_script)
      return script_route_help;
    return "end the route at the border of the rectangle, or turn it, if the wavelet is not meant "
           "to be lost; EAST is x + 1, SOUTH is y + 1; --check=strict makes this an error";
  case FAULT_QUEUE_SHARED:
    return "start the second operation when the first has ended, or give it a queue of its own";
  case FAULT_QUEUE_MIXED:
    return "receive the colors in the order in which they arrive, or in queues of their own";
  case FAULT_QUEUE_REMAP:
    return "start the operation when all wavelets of the other color have left the queue";
  case FAULT_QUEUE_TASK:
    return "block the data task with @block while the operation runs, and let its .unblock end it";
  case FAULT_ACTIVATION_MERGED:
    return "give each operation a task of its own, or activate the task again only when it runs";
  case FAULT_CONTROL_UNTAKEN:
    return "bind a control task to the entry, or send the entry of {}, which is for nobody";
  case FAULT_TORN_DOWN:
    return "open the color again with teardown.exit of <tile_config>, in the function of "
           "@set_teardown_handler or in a teardown task";
  case FAULT_FLUSHED:
    return "end the flush with queue_flush.exit of <tile_config>, in the function of "
           "@set_empty_queue_handler";
  case FAULT_FIFO_FULL:
    return "give the operation .async, or start it again while it returns false; or make the FIFO "
           "larger";
  case FAULT_FIFO_EMPTY:
    return "go on where it returns true only: the task of .activate_push in @allocate_fifo starts "
           "when there is something again; or give the operation .async";
  case FAULT_ELEMENT_SIZE:
    return "use the operation of the variable's type, or a descriptor of that type";
  case FAULT_LENGTHS:
    return "give both sides as many elements: the first source, then the second, then the "
           "destination decides how many there are";
  case FAULT_OUT_OF_BOUNDS:
    return "check the index, or the descriptor's offset and extent";
  case FAULT_READ_RACE: case FAULT_WRITE_RACE:
  case FAULT_READ_UNWAITED: case FAULT_WRITE_UNWAITED:
    return "wait until the operation is done: go on in a task that it activates";
  case FAULT_MICROTHREAD_BUSY:
    return "start the second operation from the first one's .activate, or give it another queue "
           "or, on wse3, another .ut_id; with --check=warn it waits for the first one";
  case FAULT_STACK:
    return "functions call each other too deep, or too little memory is left";
  case FAULT_QUEUE:
    return "bind the queue with @initialize_queue";
  case FAULT_QUEUE_TWICE:
    return "give each stream an input queue of its own";
  case FAULT_COLOR_REGISTER:
    return "give this tile a @set_color_config for the color; .routes may be .{}";
  case FAULT_FIFO:
    return "let another operation fill or empty the FIFO first, or choose another action for it";
  case FAULT_TASK_ID:
    return "bind a local task to the id with @bind_local_task, or nothing starts; --check=strict "
           "makes this an error";
  case FAULT_EXCEPTION:
    return "see the operands with --dump, or mask it again with set_exception_mask";
  case FAULT_UNWRITTEN:
    return "write the memory first, or give the variable an initial value";
  case FAULT_ADDRESS: case FAULT_ALIGNMENT: case FAULT_CODE_STORE:
    return "check indices, and the lengths and base addresses of descriptors and pointers";
  case FAULT_DSR_EMPTY:
    return "load it with @load_to_dsr before the operation: a fabin_dsd is a source, a fabout_dsd "
           "the destination";
  case FAULT_DESCRIPTOR:
    return "something has overwritten a DSD: look for writes past the array before it";
  case FAULT_PC: case FAULT_ASSERT: case FAULT_TRAP:
  case FAULT_DSR_FIELD: case FAULT_ID_RANGE: case FAULT_CONFIG_ADDRESS:
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
    base_out_of_memory(size, "the text of a fault");
  print_message(program, fault, out);
  fclose(out);
  text[size - 1] = 0;
}

/* ---- the place ------------------------------------------------------------------------------- */

enum { MOST_CALLS_SHOWN = 8, MOST_CALLS = 64 };

/* Calls from the innermost on.  Those in library modules wait for the program's own call that led
 * to them: it is what the author knows, so it comes first, and they stand behind it in one line. */
typedef struct {
  const Program *program;
  FILE *out;
  struct { const char *file; uint32_t line; } library[MOST_CALLS_SHOWN];
  unsigned n_library;
} Calls;

/* No call of the program's own has led to them. */
static void print_library_calls(Calls *calls)
{
  for (unsigned i = 0; i < calls->n_library; i++)
    fprintf(calls->out, "  called at %s:%u\n", calls->library[i].file, calls->library[i].line);
  calls->n_library = 0;
}

static void print_call(Calls *calls, uint32_t file, uint32_t line)
{
  if (file >= calls->program->image->n_files)
    return;
  const char *name = calls->program->image->files[file];
  if (*name == '<') {
    if (calls->n_library < ARRAY_COUNT(calls->library)) {
      calls->library[calls->n_library].file = name;
      calls->library[calls->n_library++].line = line;
    }
    return;
  }
  fprintf(calls->out, "  called at %s:%u\n", name, line);
  const char *between = "  through ";
  for (unsigned i = calls->n_library; i-- > 0; between = ", ")
    fprintf(calls->out, "%s%s:%u", between, calls->library[i].file, calls->library[i].line);
  if (calls->n_library)
    fprintf(calls->out, "\n");
  calls->n_library = 0;
}

/* The calls that were inlined at the address. */
static void print_inlined(Calls *calls, const ClassCode *cls, uint16_t pc)
{
  const ImageLine *line = image_line_at(cls->image, pc);
  uint32_t parent = line ? line->inlined_at : (uint32_t)IMAGE_NO_INLINE;
  while (parent < cls->image->n_inlines) {
    const ImageInline *from = &cls->image->inlines[parent];
    print_call(calls, from->file, from->line);
    parent = from->parent;
  }
}

/* Has this finding ended the run, so that its tile stands where it happened? */
static bool is_last(Engine *engine, const Fault *fault)
{
  size_t n;
  const Fault *faults = engine->ops->faults(engine, &n);
  return n && engine->stopped && faults[n - 1].cycle == fault->cycle;
}

/* The compiler has made the function that calls: <launch>.NAME, <teardown>. */
static bool is_made(const ClassCode *cls, const Call *call)
{
  return call->info && cls->image->symbols[call->info->symbol].name[0] == '<';
}

/* Those that are on the stack of the main thread, if it stands there. */
static void print_stack(Calls *calls, const ClassCode *cls, Engine *engine, const Fault *fault)
{
  const Program *program = calls->program;
  Call call;
  if (!engine || !is_last(engine, fault) || !calls_top(engine, program, fault->tile, &call) ||
      call.pc != fault->pc)
    return;
  unsigned shown = 0;
  uint16_t before = PC_RETURN;
  for (unsigned n = 0; calls_caller(engine, program, fault->tile, &call); n++) {
    const ImageLine *line = image_line_at(cls->image, call.place);
    if (is_made(cls, &call))
      return;
    if (shown == MOST_CALLS_SHOWN || n == MOST_CALLS) {
      print_library_calls(calls);
      fprintf(calls->out, "  and so on\n");
      return;
    }
    if (!line || call.place == before)
      continue;
    print_call(calls, line->file, line->line);
    print_inlined(calls, cls, call.place);
    before = call.place;
    shown++;
  }
}

/* The calls that led to the instruction: those that were inlined, and those on the stack.  A
 * function that calls itself is shown once. */
static void print_callers(const Program *program, Engine *engine, const Fault *fault, FILE *out)
{
  const ClassCode *cls = program_class(program, fault->tile);
  Calls calls = {.program = program, .out = out};
  print_inlined(&calls, cls, fault->pc);
  print_stack(&calls, cls, engine, fault);
  print_library_calls(&calls);
}

static void print_operands(const Program *program, const Fault *fault, FILE *out)
{
  static const char *const kinds[] = {"dest", "src0", "src1"};
  const char *between = "  operands: ";
  for (unsigned i = 0; i < ARRAY_COUNT(kinds); i++) {
    const char *name = report_operand(program, fault->tile, fault->pc, i);
    if (!*name)
      continue;
    fprintf(out, "%s%s '%s'", between, kinds[i], name);
    between = ", ";
  }
  if (*between == ',')
    fprintf(out, "\n");
}

/* `anonymous`: as the source has it.  Tiles with other parameters have it at other addresses, in
 * other registers. */
static void print_instruction(const Program *program, Engine *engine, const Fault *fault,
                              bool anonymous, FILE *out)
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
  if (anonymous && *place && insn)
    fprintf(out, "  at %s: %s\n", place, insn_info[insn->op].name);
  else
    fprintf(out, "  at %s%spc 0x%04x: %s\n", place, *place ? ", " : "", fault->pc, text);
  if (cls)
    print_callers(program, engine, fault, out);
  if (insn && insn->op == OP_vec)
    print_operands(program, fault, out);
}

/* ---- the other side -------------------------------------------------------------------------- */

static void print_origin(Report *r, const Fault *fault, Port port)
{
  Origin origin;
  fprintf(r->out, "  from %s: ", r->anonymous ? "" : port_name(port));
  if (!report_origin(r, fault->tile, port, fault->color, &origin)) {
    fprintf(r->out, "a sender that no route shows\n");
    return;
  }
  report_tile(r, origin.tile);
  fprintf(r->out, " sends on ");
  report_color(r, origin.tile, origin.use.color);
  fprintf(r->out, ", ");
  report_queue(r, origin.tile, true, origin.queue);
  const char *name = report_operand(r->program, origin.tile, origin.use.pc, 0);
  if (*name)
    fprintf(r->out, ", by '%s'", name);
  fprintf(r->out, ", ");
  report_use(r, origin.tile, origin.use);
  fprintf(r->out, "\n");
}

static void print_origins(Report *r, const Fault *fault, PortMask ports)
{
  for (unsigned p = 0; p < PORT_COUNT; p++)
    if (ports >> p & 1)
      print_origin(r, fault, (Port)p);
}

/* The running operation that stands in the way: it was started by the instruction at value2. */
static void print_running(Report *r, const Fault *fault)
{
  InspectTile t = *report_look(r, fault->tile);
  for (unsigned i = 0; i <= MAX_MICROTHREADS; i++) {
    if (t.threads[i].state != THREAD_VECTOR || t.threads[i].run->pc != fault->value2)
      continue;
    fprintf(r->out, "  running: ");
    report_thread(r, fault->tile, i, &t.threads[i]);
    fprintf(r->out, "\n");
    return;
  }
  fprintf(r->out, "  that operation, over by now, was started");     /* a warning, at the end */
  report_place(r, fault->tile, fault->value2);
  fprintf(r->out, "\n");
}

/* The data task that the wavelets could start as well. */
static void print_contesting(Report *r, const Fault *fault)
{
  print_running(r, fault);
  fprintf(r->out, "  not blocked: ");
  report_task(r, fault->tile, TASK_DATA,
              r->program->image->arch == ARCH_WSE2 ? fault->color : fault->value);
  fprintf(r->out, "\n");
}

static bool is_receiver(const ClassCode *cls, uint32_t insn, unsigned queue, unsigned color)
{
  const VecOperand *sources[] = {&cls->insns[insn].vec.src0, &cls->insns[insn].vec.src1};
  for (unsigned i = 0; cls->insns[insn].op == OP_vec && i < ARRAY_COUNT(sources); i++) {
    Descriptor desc;
    if (sources[i]->kind == VOPND_DSR && code_descriptor(cls, insn, sources[i], &desc) &&
        desc.kind == DESC_FABIN && desc.queue == queue && desc.color == color)
      return true;
  }
  return false;
}

/* The operations that receive the color at the head, and the one that used the queue before, at
 * value2. */
static void print_mixed(Report *r, const Fault *fault)
{
  const ClassCode *cls = program_class(r->program, fault->tile);
  unsigned queue = fault->value % FAULT_OUTPUT_QUEUE, head = fault->value >> FAULT_HEAD_SHIFT;
  for (uint32_t i = 0; i < cls->n_insns; i++) {
    if (!is_receiver(cls, i, queue, head))
      continue;
    fprintf(r->out, "  color %u is received", head);
    report_place(r, fault->tile, cls->pc_of[i]);
    fprintf(r->out, "\n");
  }
  if (fault->value2 == PC_RETURN)
    return;
  fprintf(r->out, "  the queue was last used");
  report_place(r, fault->tile, fault->value2);
  fprintf(r->out, "\n");
}

static void print_symbol(Report *r, const Fault *fault)
{
  const ClassCode *cls = program_class(r->program, fault->tile);
  const ImageSymbol *near = NULL;
  for (uint32_t i = 0; i < cls->image->n_symbols; i++) {
    const ImageSymbol *s = &cls->image->symbols[i];
    bool ours = s->name && *s->name == '<';        /* the compiler's, such as descriptors */
    if (!s->is_code && !ours && s->bytes && s->address <= fault->value &&
        (!near || s->address > near->address))
      near = s;
  }
  if (near)
    fprintf(r->out, "  the variable %s: '%s', 0x%04x to 0x%04x\n",
            fault->value < near->address + near->bytes ? "there" : "before it", near->name,
            near->address, near->address + near->bytes - 1);
}

/* The variable that the access belongs to, and what lies at its address: value2 is an address in
 * the first, if it is known. */
static void print_objects(Report *r, const Fault *fault)
{
  const ImageSymbol *object = class_object(program_class(r->program, fault->tile), fault->value2);
  bool begins = object && fault->value >= object->address &&
                fault->value < object->address + object->bytes;
  if (object)
    fprintf(r->out, "  %s the variable: '%s', 0x%04x to 0x%04x%s\n",
            begins ? "the access begins in" : "meant for", object->name, object->address,
            object->address + object->bytes - 1, begins ? ", and ends behind it" : "");
  if (!begins)
    print_symbol(r, fault);
}

/* Where the task was activated for the first time. */
static void print_before(Report *r, const Fault *fault)
{
  if (fault->value2 == PC_RETURN)
    return;
  fprintf(r->out, "  the first time");
  report_place(r, fault->tile, fault->value2);
  fprintf(r->out, "\n");
}

static void print_senders(Report *r, const Fault *fault)
{
  const ImageColorConfig *config = program_color(r->program, fault->tile, fault->color);
  PortMask inputs = config ? report_inputs(config) : 0;
  for (unsigned p = 0; p < PORT_COUNT; p++)
    if (inputs >> p & 1)
      print_origin(r, fault, (Port)p);
}

/* What should have opened the color again. */
static void print_handler(Report *r, const Fault *fault)
{
  const ClassCode *cls = program_class(r->program, fault->tile);
  uint16_t entry = cls ? cls->image->teardown_handler[fault->color] : PC_RETURN;
  unsigned task = r->program->machine->teardown_task;
  const char *name = program_task_name(r->program, fault->tile, TASK_LOCAL, task);
  bool is_own = *name && *name != '<';          /* not the one that calls the handlers */
  if (entry == PC_RETURN && !is_own) {
    fprintf(r->out, "  no handler: the tile has no %s\n",
            cls ? "@set_teardown_handler for the color" : "program that could open the color");
    return;
  }
  const DebugFunction *handler = entry != PC_RETURN ? calls_function(cls->image, entry) : NULL;
  fprintf(r->out, "  not opened by ");
  if (handler)
    fprintf(r->out, "the handler '%s'", cls->image->symbols[handler->symbol].name);
  else
    report_task(r, fault->tile, TASK_LOCAL, task);
  if (entry != PC_RETURN)
    report_place(r, fault->tile, entry);
  fprintf(r->out, "\n");
}

/* Where the program flushes queues of that kind; only registers say which of them. */
static void print_flushes(Report *r, const Fault *fault)
{
  const ClassCode *cls = program_class(r->program, fault->tile);
  bool output = fault->value & FAULT_OUTPUT_QUEUE;
  for (uint32_t i = 0; i < cls->n_insns; i++) {
    if (cls->insns[i].op != OP_qflush || (cls->insns[i].imm != 0) != output)
      continue;
    fprintf(r->out, "  %s queues are flushed", output ? "output" : "input");
    report_place(r, fault->tile, cls->pc_of[i]);
    fprintf(r->out, "\n");
  }
}

/* The distance below address 0, if the access was closer to it than to the end of memory: an index
 * or offset below zero leads there. */
static uint32_t bytes_below(uint32_t address)
{
  uint32_t below = (UINT16_MAX + 1u) - address;
  return address >= PE_MEM_BYTES && below < address - PE_MEM_BYTES ? below : 0;
}

static void print_first_symbol(Report *r, const Fault *fault, uint32_t below)
{
  const ClassCode *cls = program_class(r->program, fault->tile);
  const ImageSymbol *first = NULL;
  for (uint32_t i = 0; i < cls->image->n_symbols; i++) {
    const ImageSymbol *s = &cls->image->symbols[i];
    if (!s->is_code && s->bytes && (!first || s->address < first->address))
      first = s;
  }
  if (first)
    fprintf(r->out, "  that is -%u, %u bytes before the first variable, '%s', 0x%04x to 0x%04x\n",
            below, below + first->address, first->name, first->address,
            first->address + first->bytes - 1);
}

static void print_memory(Report *r, const Fault *fault)
{
  uint32_t below = bytes_below(fault->value);
  const ClassCode *cls = program_class(r->program, fault->tile);
  fprintf(r->out, "  memory: data end at 0x%04x, code lies from 0x%04x to 0x%04x, the stack is "
                  "at the end, 0x%04x\n",
          cls->image->static_bytes, cls->image->code_address, cls->code_end, PE_MEM_BYTES - 1);
  if (below > 0)
    print_first_symbol(r, fault, below);
  else
    print_symbol(r, fault);
}

static void print_other_side(Report *r, const Fault *fault)
{
  switch (fault->kind) {
  case FAULT_COLOR_MEETS:
    print_origins(r, fault, (PortMask)fault->value);
    break;
  case FAULT_NO_COLOR_CONFIG:
    print_origin(r, fault, (Port)fault->value);
    break;
  case FAULT_LEAVES_FABRIC:
    print_origin(r, fault, (Port)fault->value2);
    break;
  case FAULT_MICROTHREAD_BUSY: case FAULT_QUEUE_SHARED:
    print_running(r, fault);
    break;
  case FAULT_QUEUE_TASK:
    print_contesting(r, fault);
    break;
  case FAULT_QUEUE_MIXED:
    print_mixed(r, fault);
    break;
  case FAULT_READ_RACE: case FAULT_WRITE_RACE:
  case FAULT_READ_UNWAITED: case FAULT_WRITE_UNWAITED:
    print_running(r, fault);
    print_symbol(r, fault);
    break;
  case FAULT_OUT_OF_BOUNDS:
    print_objects(r, fault);
    break;
  case FAULT_ELEMENT_SIZE:
    print_symbol(r, fault);
    break;
  case FAULT_ACTIVATION_MERGED:
    print_before(r, fault);
    break;
  case FAULT_CONTROL_UNTAKEN:
    print_senders(r, fault);
    break;
  case FAULT_TORN_DOWN:
    print_senders(r, fault);
    print_handler(r, fault);
    break;
  case FAULT_FLUSHED:
    print_flushes(r, fault);
    break;
  case FAULT_UNWRITTEN:
    print_symbol(r, fault);
    break;
  case FAULT_ADDRESS: case FAULT_ALIGNMENT: case FAULT_CODE_STORE: case FAULT_STACK:
    print_memory(r, fault);
    break;
  case FAULT_QUEUE: case FAULT_QUEUE_REMAP: case FAULT_QUEUE_TWICE: case FAULT_PC:
  case FAULT_LENGTHS:
  case FAULT_ASSERT: case FAULT_TRAP: case FAULT_FIFO: case FAULT_EXCEPTION:
  case FAULT_FIFO_FULL: case FAULT_FIFO_EMPTY:
  case FAULT_DESCRIPTOR: case FAULT_DSR_EMPTY: case FAULT_DSR_FIELD: case FAULT_TASK_ID:
  case FAULT_ID_RANGE: case FAULT_CONFIG_ADDRESS: case FAULT_COLOR_REGISTER:
  case FAULT_UNSUPPORTED: case FAULT_COUNT: default:
    break;
  }
}

static void print_head(const Program *program, const Fault *fault, FILE *out)
{
  fprintf(out, "error: cycle %llu, P%u.%u: ", (unsigned long long)fault->cycle,
          program_x(program, fault->tile), program_y(program, fault->tile));
  print_message(program, fault, out);
  fprintf(out, " [%s]\n", fault_name(fault->kind));
}

/* The user has asked that findings do not end the run, and this one has. */
static bool is_unasked_end(const Engine *engine, const Fault *fault)
{
  return engine && engine->options.check < CHECK_ERROR &&
         fault_level(fault->kind, CHECK_OFF, 0) == CHECK_ERROR;
}

static void print_body(const Program *program, Engine *engine, const Fault *fault, bool anonymous,
                       FILE *out)
{
  const char *advice = help_text(program, fault->kind);
  Report report = report_create(engine, program, out);
  report.anonymous = anonymous;
  print_instruction(program, engine, fault, anonymous, out);
  if (engine && fault->kind == FAULT_ASSERT)
    print_asserted(program, engine, fault, out);
  if (engine)
    print_other_side(&report, fault);
  const ImageAssert *assertion = assert_of(program, fault);
  if (assertion && *assertion->comment)
    fprintf(out, "  note: %s\n", assertion->comment);
  if (advice)
    fprintf(out, "  help: %s\n", advice);
  if (is_unasked_end(engine, fault))
    fprintf(out, "  note: --check does not apply to this finding: the run cannot go on behind "
                 "it\n");
}

void fault_print(const Program *program, Engine *engine, const Fault *fault, FILE *out)
{
  print_head(program, fault, out);
  print_body(program, engine, fault, false, out);
}

/* ---- several --------------------------------------------------------------------------------- */

enum { MOST_FAULTS_SHOWN = 10, TILES_SHOWN = 8 };

/* Findings that differ only in the tile. */
typedef struct { char *key; size_t first; uint32_t n; uint32_t tiles[TILES_SHOWN]; } Alike;

/* The finding without what may differ although the mistake is the same: the data of a wavelet. */
static Fault without_data(const Fault *fault)
{
  Fault copy = *fault;
  if (copy.kind == FAULT_CONTROL_UNTAKEN)
    copy.value &= ~(uint32_t)UINT16_MAX;
  return copy;
}

static char *alike_key(const Program *program, Engine *engine, const Fault *fault)
{
  char *text = NULL;
  size_t size;
  Fault kept = without_data(fault);
  FILE *out = base_text_open(&text, &size);
  print_message(program, &kept, out);
  print_body(program, engine, fault, true, out);
  base_text_close(out, &text);
  return text;
}

static void add_alike(Alike **list, char *key, const Fault *faults, size_t i)
{
  size_t k = 0;
  while (k < arrlenu(*list) && strcmp((*list)[k].key, key) != 0)
    k++;
  if (k == arrlenu(*list)) {
    arrput(*list, ((Alike){.key = key, .first = i}));
    return;
  }
  Alike *a = &(*list)[k];
  free(key);
  if (a->n < TILES_SHOWN)
    a->tiles[a->n] = faults[i].tile;
  a->n++;
}

static void print_likewise(const Program *program, const Alike *a, FILE *out)
{
  if (!a->n)
    return;
  fprintf(out, "  likewise at ");
  for (uint32_t i = 0; i < a->n && i < TILES_SHOWN; i++)
    fprintf(out, "%sP%u.%u", i ? ", " : "", program_x(program, a->tiles[i]),
            program_y(program, a->tiles[i]));
  if (a->n > TILES_SHOWN)
    fprintf(out, " and %u more", a->n - TILES_SHOWN);
  fprintf(out, "\n");
}

void faults_print(const Program *program, Engine *engine, const Fault *faults, size_t count,
                  const char *before, FILE *out)
{
  Alike *list = NULL;
  for (size_t i = 0; i < count && arrlenu(list) <= MOST_FAULTS_SHOWN; i++)
    add_alike(&list, alike_key(program, engine, &faults[i]), faults, i);
  for (size_t k = 0; k < arrlenu(list); k++) {
    if (k < MOST_FAULTS_SHOWN) {
      fputs(before, out);
      fault_print(program, engine, &faults[list[k].first], out);
      print_likewise(program, &list[k], out);
    }
    free(list[k].key);
  }
  if (arrlenu(list) > MOST_FAULTS_SHOWN)
    fprintf(out, "  and more\n");
  arrfree(list);
}
