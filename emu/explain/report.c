/* Helpers that reports share: see explain.h. */
#include "emu/explain/explain_internal.h"

#include "stb_ds.h"

enum { PLACE_TEXT = 512, COLOR_BITS = 5, MOST_READ = 4 };

Report report_create(Engine *engine, const Program *program, FILE *out)
{
  return (Report){.engine = engine, .program = program, .out = out, .at_tile = NO_TILE};
}

const InspectTile *report_look(Report *r, uint32_t tile)
{
  if (r->at_tile != tile) {
    r->engine->ops->inspect(r->engine, tile, &r->at);
    r->at_tile = tile;
  }
  return &r->at;
}

/* ---- text ------------------------------------------------------------------------------------ */

void report_tile(const Report *r, uint32_t tile)
{
  if (r->anonymous)
    fprintf(r->out, "P");
  else
    fprintf(r->out, "P%u.%u", program_x(r->program, tile), program_y(r->program, tile));
}

static void report_named(const Report *r, const char *what, unsigned number, const char *name)
{
  fprintf(r->out, "%s %u", what, number);
  if (*name)
    fprintf(r->out, " '%s'", name);
}

const char script_route_help[] =
  "a port of this color is joined to nothing, or a painted route leads here: connect() the port, "
  "give it a stream, or paint the next tile's route, too";

void report_color(const Report *r, uint32_t tile, unsigned color)
{
  report_named(r, "color", color, program_color_name(r->program, tile, color));
}

void report_queue(const Report *r, uint32_t tile, bool output, unsigned queue)
{
  report_named(r, output ? "output queue" : "input queue", queue,
               program_queue_name(r->program, tile, output, queue));
}

void report_task(const Report *r, uint32_t tile, TaskKind kind, unsigned id)
{
  static const char *const kinds[] = {
    [TASK_NONE] = "task", [TASK_DATA] = "data task", [TASK_LOCAL] = "local task",
    [TASK_CONTROL] = "control task",
  };
  report_named(r, kinds[kind], id, program_task_name(r->program, tile, kind, id));
}

void report_place(const Report *r, uint32_t tile, uint32_t pc)
{
  char place[PLACE_TEXT];
  program_location(r->program, tile, pc, place, sizeof place);
  if (*place)
    fprintf(r->out, " at %s", place);
  else
    fprintf(r->out, " at pc 0x%04x", pc);
  WayIntoLibrary call = calls_into_library(r->engine, r->program, tile, pc);
  if (call.module && call.file)
    fprintf(r->out, ", called at %s:%u", call.file, call.line);
}

void report_outer_place(const Report *r, uint32_t tile, uint32_t pc)
{
  const ImageClass *cls = program_class(r->program, tile)->image;
  const ImageLine *line = image_line_at(cls, (uint16_t)pc);
  const ImageInline *outer = NULL;
  uint32_t parent = line ? line->inlined_at : (uint32_t)IMAGE_NO_INLINE;
  for (; parent < cls->n_inlines; parent = outer->parent)
    outer = &cls->inlines[parent];
  if (outer && outer->file < r->program->image->n_files)
    fprintf(r->out, " at %s:%u", r->program->image->files[outer->file], outer->line);
  else
    report_place(r, tile, pc);
}

const char *report_operand(const Program *program, uint32_t tile, uint32_t pc, unsigned stream)
{
  const ClassCode *cls = program_class(program, tile);
  for (uint32_t i = 0; cls && i < cls->image->n_vec_names; i++) {
    const ImageVecNames *names = &cls->image->vec_names[i];
    const char *const by_stream[3] = {names->dest, names->src0, names->src1};
    if (names->pc == pc && stream < ARRAY_COUNT(by_stream) && by_stream[stream])
      return by_stream[stream];
  }
  return "";
}

void report_use(const Report *r, uint32_t tile, QueueUse use)
{
  if (use.elements == r->program->machine->unbounded_length)
    fprintf(r->out, "elements without end");
  else
    fprintf(r->out, "%u %s%s", use.elements, use.control ? "control wavelet" : "element",
            use.elements == 1 ? "" : "s");
  if (use.elements == MANY_ELEMENTS)
    fprintf(r->out, " or more");
  if (use.ended)
    fprintf(r->out, " up to a control wavelet");
  report_place(r, tile, use.pc);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void report_thread_name(const Report *r, uint32_t tile, unsigned index,
                               const InspectThread *thread)
{
  if (index) {
    fprintf(r->out, "microthread %u", index - 1);
    return;
  }
  fprintf(r->out, "main thread");
  if (thread->state == THREAD_IDLE || thread->task == TASK_NONE)
    return;
  fprintf(r->out, " (");
  report_task(r, tile, thread->task, thread->task_id);
  fprintf(r->out, ")");
}

const VecStream *report_waiting(const InspectThread *thread)
{
  if (thread->waiting == STALL_OUTPUT)
    return &thread->run->dest;
  return &thread->run->src[thread->stream == 1 ? 0 : 1];
}

static void print_stream(const Report *r, uint32_t tile, const InspectThread *thread)
{
  const VecStream *s = report_waiting(thread);
  bool output = thread->waiting == STALL_OUTPUT;
  fprintf(r->out, output ? " waits for room in " : " waits for a wavelet on ");
  if (!output) {
    report_color(r, tile, s->color);
    fprintf(r->out, ", ");
  }
  report_queue(r, tile, output, s->queue);
  if (output) {
    fprintf(r->out, ", ");
    report_color(r, tile, s->color);
  }
  const char *name = report_operand(r->program, tile, thread->pc, thread->stream);
  if (*name)
    fprintf(r->out, ", for '%s'", name);
}

static void print_wait(const Report *r, uint32_t tile, const InspectThread *thread)
{
  switch (thread->waiting) {
  case STALL_INPUT: case STALL_OUTPUT:
    print_stream(r, tile, thread);
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
  if (thread->run->unbounded)
    fprintf(r->out, " (endless operation)");
  else
    fprintf(r->out, ", %u of %u element%s to go", thread->run->remaining, thread->run->length,
            thread->run->length == 1 ? "" : "s");
}

const EndlessLoop *report_loop_of(const Report *r, uint32_t tile)
{
  for (size_t i = 0; i < arrlenu(r->loops); i++)
    if (r->loops[i].tile == tile)
      return &r->loops[i];
  return NULL;
}

/* A register by name; those of a color with the color. */
static void print_register(const Report *r, uint32_t tile, uint16_t address)
{
  const ConfigRegInfo *reg = config_reg_at(address);
  fprintf(r->out, "register %s", reg->name);
  if (reg->count == MAX_COLORS) {
    fprintf(r->out, " of ");
    report_color(r, tile, (unsigned)(address - reg->address));
  }
}

/* What goes on, and the first of what it reads. */
static void print_condition(const Report *r, const EndlessLoop *loop)
{
  size_t registers = arrlenu(loop->registers), n = registers + arrlenu(loop->variables);
  const char *what = loop->tasks ? "rounds" : "a loop", *go = loop->tasks ? "go" : "goes";
  if (n)
    fprintf(r->out, ", in %s that %s on until there is a change in ", what, go);
  else
    fprintf(r->out, ", in %s without an end", what);
  for (size_t i = 0; i < n && i < MOST_READ; i++) {
    fprintf(r->out, "%s", i ? " or " : "");
    if (i < registers)
      print_register(r, loop->tile, loop->registers[i]);
    else
      fprintf(r->out, "'%s'", loop->variables[i - registers]->name);
  }
  if (n > MOST_READ)
    fprintf(r->out, " or %zu more", n - MOST_READ);
}

void report_activation(const Report *r, uint32_t tile, unsigned id)
{
  const TileRecord *record = r->at.record;
  uint16_t pc = record ? record_activator(record, id) : PC_RETURN;
  if (pc == PC_RETURN)
    return;
  fprintf(r->out, ", activated");
  report_place(r, tile, pc);
}

void report_rounds(const Report *r, const EndlessLoop *loop)
{
  bool is_one = !(loop->tasks & (loop->tasks - 1));
  for (uint64_t ids = loop->tasks; ids; ids &= ids - 1) {
    unsigned id = (unsigned)__builtin_ctzll(ids);
    bool is_last = !(ids & (ids - 1));
    fprintf(r->out, ids == loop->tasks ? "" : is_last ? ", and " : ", ");
    report_task(r, loop->tile, TASK_LOCAL, id);
    if (is_one)
      fprintf(r->out, " starts again and again");
    report_activation(r, loop->tile, id);
  }
  if (!is_one)
    fprintf(r->out, ", start again and again");
  print_condition(r, loop);
}

void report_thread(const Report *r, uint32_t tile, unsigned index, const InspectThread *thread)
{
  report_thread_name(r, tile, index, thread);
  const EndlessLoop *loop = index == MAIN_THREAD ? report_loop_of(r, tile) : NULL;
  if (thread->state == THREAD_VECTOR)
    print_wait(r, tile, thread);
  else if (thread->awaited)
    fprintf(r->out, " waits for the end of microthread %u's operation", thread->awaited - 1u);
  else
    fprintf(r->out, " has not ended");
  report_place(r, tile, thread->pc);
  if (loop)
    print_condition(r, loop);
}

/* ---- back to the sender ---------------------------------------------------------------------- */

typedef struct { uint32_t tile; uint8_t color; Port port; } Arrival;
typedef struct { uint64_t key; } Seen;

/* An output queue of the tile whose last operation sent what the router sees as `color`. */
static bool queue_of(Report *r, uint32_t tile, unsigned color, Origin *origin)
{
  const InspectTile *t = report_look(r, tile);
  for (uint8_t q = 0; q < MAX_QUEUES; q++) {
    QueueUse use = t->output[q].use;
    if (queue_use_is_any(use) &&
        program_color_inside(r->program, tile, use.color, PORT_RAMP) == color) {
      *origin = (Origin){tile, q, use};
      return true;
    }
  }
  return false;
}

PortMask report_inputs(const ImageColorConfig *config)
{
  PortMask rx = 0;
  for (unsigned i = 0; i < MAX_SWITCH_POSITIONS; i++)
    if (config->positions[i].valid || i == 0)
      rx |= config->positions[i].rx;
  return rx;
}

/* Lists the arrivals at the tile beyond the port that may have led to this one. */
static void before_arrival(const Report *r, Arrival at, Arrival **list)
{
  uint32_t from = program_neighbour(r->program, at.tile, at.port);
  if (from == (uint32_t)NO_TILE)
    return;
  for (unsigned twin = 0; twin < 2; twin++) {
    uint8_t color = (uint8_t)(at.color ^ twin);
    const ImageColorConfig *config = program_color(r->program, from, color);
    if (!config || program_color_inside(r->program, at.tile, color, at.port) != at.color)
      continue;
    PortMask rx = report_inputs(config);
    for (unsigned p = 0; p < PORT_COUNT; p++)
      if (rx >> p & 1)
        arrput(*list, ((Arrival){from, color, (Port)p}));
  }
}

bool report_origin(Report *r, uint32_t tile, Port port, unsigned color, Origin *origin)
{
  Arrival *list = NULL;
  Seen *seen = NULL;
  bool found = false;
  arrput(list, ((Arrival){tile, (uint8_t)color, port}));
  for (size_t i = 0; i < arrlenu(list) && !found; i++) {
    Arrival at = list[i];
    uint64_t key = ((uint64_t)at.tile << COLOR_BITS | at.color) * PORT_COUNT + at.port;
    if (hmgeti(seen, key) >= 0)
      continue;
    hmputs(seen, (Seen){key});
    if (at.port == PORT_RAMP)
      found = queue_of(r, at.tile, at.color, origin);
    else
      before_arrival(r, at, &list);
  }
  arrfree(list);
  hmfree(seen);
  return found;
}
