/* From an image to a program: code decoded once per class, tasks by id, colors by number, and
 * the names that reports use. */
#include "emu/machine/program.h"

#include <string.h>

static void class_decode(ClassCode *cls, Arena *arena)
{
  const ImageClass *image = cls->image;
  Insn *insns = arena_many(arena, Insn, image->code_words + 1);
  uint16_t *pc_of = arena_many(arena, uint16_t, image->code_words + 1);
  int32_t *insn_at = arena_many(arena, int32_t, image->code_words + 1);
  for (uint32_t i = 0; i < image->code_words; i++)
    insn_at[i] = NO_INSN;
  for (uint32_t at = 0; at < image->code_words;) {
    const char *reason;
    Insn *insn = &insns[cls->n_insns];
    unsigned words = insn_decode(image->code + at, image->code_words - at, insn, &reason);
    if (words == 0) {    /* no instruction: reaching it is a fault, having it is not */
      at++;
      continue;
    }
    insn_at[at] = (int32_t)cls->n_insns;
    pc_of[cls->n_insns++] = (uint16_t)(image->code_address + at * 2);
    at += words;
  }
  cls->insns = insns;
  cls->pc_of = pc_of;
  cls->insn_at = insn_at;
}

/* wse2 has one table of tasks: a control wavelet whose entry is the id of a data task starts that
 * task.  A public program relies on it (Cerebras/csl-examples for SDK 1.1, topic-05-switches). */
static void share_data_tasks(ClassCode *cls)
{
  for (unsigned id = 0; id < MAX_TASK_IDS; id++)
    if (!cls->control_task[id])
      cls->control_task[id] = cls->data_task[id];
}

static void class_tasks(ClassCode *cls, Arch arch)
{
  for (uint32_t i = 0; i < cls->image->n_tasks; i++) {
    const ImageTask *task = &cls->image->tasks[i];
    switch (task->kind) {
    case TASK_DATA: cls->data_task[task->id] = task; break;
    case TASK_CONTROL: cls->control_task[task->id] = task; break;
    case TASK_LOCAL:
      cls->local_task[task->id] = task;
      cls->local_ids |= UINT64_C(1) << task->id;
      break;
    case TASK_NONE: default: break;
    }
  }
  if (arch == ARCH_WSE2)
    share_data_tasks(cls);
}

static void class_shared_inputs(ClassCode *cls)
{
  uint8_t seen = 0;
  for (unsigned color = 0; color < MAX_COLORS; color++) {
    unsigned queue = cls->image->data_queue[color];
    if (queue >= MAX_QUEUES)
      continue;
    cls->shared_inputs |= (uint8_t)(seen & 1u << queue);
    seen |= (uint8_t)(1u << queue);
  }
}

uint32_t dsr_length(const Descriptor *desc)
{
  if (desc->kind != DESC_MEM4D)
    return desc->length;
  uint64_t total = 1;
  for (unsigned i = 0; i < ARRAY_COUNT(desc->lengths); i++)
    total *= desc->lengths[i];
  return total > UINT32_MAX ? UINT32_MAX : (uint32_t)total;
}

void dsr_set(DsrState *dsr, const Descriptor *desc)
{
  *dsr = (DsrState){.desc = *desc, .remaining = dsr_length(desc)};
}

static void name_dsr(DsrMap *map, DsrFile file, unsigned number)
{
  if (map->place[file][number] == NO_DSR)
    map->place[file][number] = map->n++;
}

static void name_operand(DsrMap *map, const VecOperand *operand)
{
  if (operand->kind == VOPND_DSR)
    name_dsr(map, operand->file, operand->number);
}

static void start_dsrs(ClassCode *cls, Arena *arena)
{
  const ImageClass *image = cls->image;
  DsrState *start = arena_many(arena, DsrState, cls->dsrs.n + 1u);
  for (uint32_t i = 0; i < image->n_dsrs; i++) {
    const ImageDsr *dsr = &image->dsrs[i];
    unsigned place = cls->dsrs.place[dsr->file][dsr->number];
    Descriptor desc;
    if (place != NO_DSR && descriptor_decode(dsr->words, ARRAY_COUNT(dsr->words), &desc))
      dsr_set(&start[place], &desc);
  }
  cls->dsrs.start = start;
}

static void class_dsrs(ClassCode *cls, Arena *arena)
{
  DsrMap *map = &cls->dsrs;
  memset(map->place, NO_DSR, sizeof map->place);
  for (uint32_t i = 0; i < cls->n_insns; i++) {
    const Insn *insn = &cls->insns[i];
    if (insn->op == OP_ldsr || insn->op == OP_dsrset || insn->op == OP_dsrget)
      name_dsr(map, insn->file, insn->a);
    if (insn->op != OP_vec)
      continue;
    name_operand(map, &insn->vec.dest);
    name_operand(map, &insn->vec.src0);
    name_operand(map, &insn->vec.src1);
  }
  start_dsrs(cls, arena);
}

/* Arrays whose elements differ from tile to tile have a slot for each. */
static void class_copies(ClassCode *cls, Arena *arena)
{
  const ImageClass *image = cls->image;
  ImageTileSlot *copies = arena_many(arena, ImageTileSlot, image->n_tile_slots + 1);
  uint32_t n = 0;
  for (uint32_t i = 0; i < image->n_tile_slots; i++) {
    ImageTileSlot slot = image->tile_slots[i], *last = n ? &copies[n - 1] : NULL;
    bool follows = last && slot.address == last->address + last->bytes &&
                   slot.offset == last->offset + last->bytes &&
                   last->bytes + slot.bytes <= UINT16_MAX;
    if (follows)
      last->bytes = (uint16_t)(last->bytes + slot.bytes);
    else
      copies[n++] = slot;
  }
  cls->copies = copies;
  cls->n_copies = n;
}

enum { HALF_BITS = 16, TSC_RUN_BIT = 1 };

static uint64_t with_half(uint64_t word, unsigned part, uint16_t value)
{
  unsigned shift = HALF_BITS * part;
  return (word & ~((uint64_t)UINT16_MAX << shift)) | (uint64_t)value << shift;
}

/* What @set_config at comptime has left; false for a register that cannot be set so. */
static bool start_register(StartRegisters *start, uint16_t address, uint16_t value)
{
  const ConfigRegInfo *reg = config_reg_at(address);
  if (!reg)
    return false;
  unsigned part = address - reg->address;
  switch ((int)reg->address) {
  case CFG_TSC_CONTROL: start->tsc_running = value & TSC_RUN_BIT; return true;
  case CFG_TSC_COUNTER: start->tsc_value = with_half(start->tsc_value, part, value); return true;
  case CFG_TASK_PRIORITY:
    start->high_tasks = with_half(start->high_tasks, part, value);
    return true;
  case CFG_MAIN_PRIORITY: start->main_priority = (uint8_t)value; return true;
  case CFG_PRNG_STATE:
    start->random = (uint32_t)with_half(start->random, part, value);
    return true;
  case CFG_EXCEPTION_MASK: start->exceptions = value; return true;
  case CFG_CONTROL_TRANSFORM: start->transform = (uint8_t)(value & TRANSFORM_BITS); return true;
  default: return false;
  }
}

static const char *class_configs(ClassCode *cls, Arena *arena)
{
  cls->start.random = RANDOM_SEED;
  cls->start.exceptions = UINT16_MAX;
  for (uint32_t i = 0; i < cls->image->n_configs; i++) {
    const ImageConfig *config = &cls->image->configs[i];
    if (!start_register(&cls->start, config->address, config->value))
      return arena_printf(arena, "configuration register 0x%04x cannot be set before the start",
                          config->address);
  }
  return NULL;
}

static const char *class_check(const ClassCode *cls, Arena *arena)
{
  const ImageClass *image = cls->image;
  if (image->stack_top > PE_MEM_BYTES || image->stack_bytes > image->stack_top)
    return "its stack lies outside the memory of a tile";
  if (cls->code_end > PE_MEM_BYTES || image->code_address % 2)
    return "its code lies outside the memory of a tile";
  if (image->static_bytes > cls->stack_low || cls->code_end > cls->stack_low)
    return "data, code and stack of a class overlap";
  for (uint32_t i = 0; i < image->n_tasks; i++)
    if (image->tasks[i].id >= MAX_TASK_IDS || !class_insn(cls, image->tasks[i].entry))
      return arena_printf(arena, "task '%s' does not start at an instruction",
                          image->tasks[i].name ? image->tasks[i].name : "?");
  if (image->start_entry != PC_RETURN && !class_insn(cls, image->start_entry))
    return "a class' start code is no instruction";
  return NULL;
}

static const char *class_load(ClassCode *cls, Arch arch, const ImageClass *image, uint32_t index,
                              Arena *arena)
{
  cls->image = image;
  cls->index = index;
  cls->code_end = image->code_address + image->code_words * 2u;
  cls->stack_low = (uint32_t)image->stack_top - image->stack_bytes;
  cls->data_end = image->static_bytes;
  if (image->code_address < cls->data_end) {
    bool is_behind = cls->code_end + image->code_address < cls->data_end;
    cls->data_low = is_behind ? cls->code_end : 0;
    cls->data_end = is_behind ? cls->data_end : image->code_address;
  }
  cls->floor = image->static_bytes;
  if (image->code_words && cls->code_end > cls->floor)
    cls->floor = cls->code_end;
  class_decode(cls, arena);
  class_tasks(cls, arch);
  class_shared_inputs(cls);
  class_copies(cls, arena);
  class_dsrs(cls, arena);
  const char *wrong = class_configs(cls, arena);
  return wrong ? wrong : class_check(cls, arena);
}

/* ---- what tiles start with ------------------------------------------------------------------ */

void class_initialise(const ClassCode *cls, uint8_t *bytes)
{
  for (uint32_t i = 0; i < cls->image->n_segments; i++) {
    const ImageSegment *segment = &cls->image->segments[i];
    memcpy(bytes + segment->address, segment->data, segment->bytes);
  }
}

/* Those of a class that only one tile has would be copied in vain. */
static void load_initial_data(ClassCode *classes, const Program *program, Arena *arena)
{
  const Image *image = program->image;
  uint32_t *tiles = arena_many(arena, uint32_t, image->n_classes + 1);
  for (uint32_t tile = 0; tile < program->n_tiles; tile++)
    if (image->tile_class[tile] != IMAGE_NO_CLASS)
      tiles[image->tile_class[tile]]++;
  for (uint32_t i = 0; i < image->n_classes; i++) {
    ClassCode *cls = &classes[i];
    if (tiles[i] < 2 || cls->n_copies)
      continue;
    uint8_t *bytes = arena_many(arena, uint8_t, cls->image->static_bytes + 1);
    class_initialise(cls, bytes);
    cls->initial = bytes;
  }
}

static void load_colors(Program *program, Arena *arena)
{
  const Image *image = program->image;
  const ImageColorConfig *(*table)[MAX_COLORS] =
      arena_alloc(arena, sizeof *table * (image->n_color_sets + 1), _Alignof(ImageColorConfig *));
  for (uint32_t i = 0; i < image->n_color_sets; i++) {
    const ImageColorSet *set = &image->color_sets[i];
    for (uint32_t k = 0; k < set->n; k++)
      table[i][set->uses[k].color] = &image->color_configs[set->uses[k].config];
  }
  program->color_table = table;
}

Program *program_load(const Image *image, const Timing *timing, Arena *arena, const char **reason)
{
  Program *program = arena_new(arena, Program);
  program->image = image;
  program->machine = machine_get(image->arch);
  program->timing = timing ? *timing : *timing_get(image->arch);
  program->arena = arena;
  program->n_tiles = (uint32_t)image->width * image->height;
  ClassCode *classes = arena_many(arena, ClassCode, image->n_classes + 1);
  for (uint32_t i = 0; i < image->n_classes; i++) {
    const char *wrong = class_load(&classes[i], image->arch, &image->classes[i], i, arena);
    if (wrong) {
      *reason = arena_printf(arena, "class %u: %s", i, wrong);
      return NULL;
    }
  }
  program->classes = classes;
  load_initial_data(classes, program, arena);
  load_colors(program, arena);
  if (image->memcpy)
    program->host_out_colors = 1u << program->machine->memcpy_result_color;
  return program;
}

uint32_t program_neighbour(const Program *p, uint32_t tile, Port port)
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

const ClassCode *program_class(const Program *program, uint32_t tile)
{
  uint32_t index = program->image->tile_class[tile];
  return index == IMAGE_NO_CLASS ? NULL : &program->classes[index];
}

const Insn *class_insn(const ClassCode *cls, uint32_t pc)
{
  if (pc < cls->image->code_address || pc >= cls->code_end || pc % 2)
    return NULL;
  int32_t index = cls->insn_at[(pc - cls->image->code_address) / 2];
  return index == NO_INSN ? NULL : &cls->insns[index];
}

const ImageColorConfig *program_color(const Program *program, uint32_t tile, unsigned color)
{
  return program->color_table[program->image->tile_colors[tile]][color];
}

uint8_t program_color_inside(const Program *program, uint32_t tile, uint8_t color, Port port)
{
  const ImageColorConfig *partner = program_color(program, tile, color ^ 1u);
  if (!partner)
    return color;
  bool swap = partner->swap_x && partner->swap_y;
  if (port == PORT_EAST || port == PORT_WEST)
    swap = partner->swap_x;
  if (port == PORT_NORTH || port == PORT_SOUTH)
    swap = partner->swap_y;
  return swap ? color ^ 1u : color;
}

/* ---- names ----------------------------------------------------------------------------------- */

const ImageStream *program_stream(const Program *program, uint32_t tile, unsigned color)
{
  for (uint32_t i = 0; i < program->image->n_streams; i++)
    if (program->image->streams[i].tile == tile && program->image->streams[i].color == color)
      return &program->image->streams[i];
  return NULL;
}

const char *program_color_name(const Program *program, uint32_t tile, unsigned color)
{
  const ImageStream *stream = program_stream(program, tile, color);
  if (stream)
    return stream->name;
  const ClassCode *cls = color < MAX_COLORS ? program_class(program, tile) : NULL;
  return cls && cls->image->color_names[color] ? cls->image->color_names[color] : "";
}

const char *program_queue_name(const Program *program, uint32_t tile, bool output, unsigned queue)
{
  const ClassCode *cls = queue < MAX_QUEUES ? program_class(program, tile) : NULL;
  return cls && cls->image->queue_names[output][queue] ? cls->image->queue_names[output][queue]
                                                       : "";
}

const char *program_task_name(const Program *program, uint32_t tile, TaskKind kind, unsigned id)
{
  const ClassCode *cls = id < MAX_TASK_IDS ? program_class(program, tile) : NULL;
  const ImageTask *task = NULL;
  if (!cls)
    return "";
  if (kind == TASK_DATA || kind == TASK_NONE)
    task = cls->data_task[id];
  if (kind == TASK_CONTROL || (kind == TASK_NONE && !task))
    task = cls->control_task[id];
  if (kind == TASK_LOCAL || (kind == TASK_NONE && !task))
    task = cls->local_task[id];
  return task && task->name ? task->name : "";
}

void program_location(const Program *program, uint32_t tile, uint32_t pc, char *text, size_t size)
{
  const ClassCode *cls = program_class(program, tile);
  const ImageLine *line = cls && pc != PC_RETURN ? image_line_at(cls->image, (uint16_t)pc) : NULL;
  if (line && line->file < program->image->n_files)
    snprintf(text, size, "%s:%u", program->image->files[line->file], line->line);
  else if (size)
    text[0] = 0;
}

static unsigned host_channels(const Program *program)
{
  return program->image->channels ? program->image->channels : 1;
}

unsigned program_channel(const Program *program, uint32_t tile)
{
  return program_y(program, tile) * host_channels(program) / program->image->height;
}

unsigned program_command_routers(const Program *program, uint32_t tile)
{
  unsigned band = program_channel(program, tile);
  unsigned last_row = ((band + 1) * program->image->height - 1) / host_channels(program);
  return program_x(program, tile) + last_row - program_y(program, tile);
}
