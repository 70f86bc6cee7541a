/* The conditions that the fields of an image must meet together: places in memory, instruction
 * boundaries, ids of the architecture, indices into other lists. A reason names the section, the
 * class and the thing in it. */
#include "ir/machine/image_format.h"

#include <stdarg.h>
#include <string.h>

enum { NO_ENTRY = 0xffff, NO_QUEUE = 0xff };

/* What each word of a code block is. */
typedef enum { WORD_INSIDE, WORD_START, WORD_VECTOR } WordKind;

typedef struct {
  const Image *image;
  const Machine *machine;
  const CodeBlock *blocks;
  uint8_t **words;             /* WordKind of each word of each block */
  Arena *arena;
  const char *reason;
  /* the class that is being looked at */
  const ImageClass *class;
  uint32_t class_number;
  uint32_t block;
} ImageCheck;

static void check_fail(ImageCheck *k, const char *format, ...) BASE_PRINTF(2, 3);
static void check_fail(ImageCheck *k, const char *format, ...)
{
  char text[400];
  va_list args;
  if (k->reason)
    return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (k->class)
    k->reason = arena_printf(k->arena, "section 'classes' is wrong: class %u ('%s'): %s",
                             k->class_number, k->class->source, text);
  else
    k->reason = arena_printf(k->arena, "%s", text);
}

/* Half-open byte ranges. */
static bool is_overlapping(uint32_t a, uint32_t a_end, uint32_t b, uint32_t b_end)
{
  return a < b_end && b < a_end && a < a_end && b < b_end;
}

/* ---- code -------------------------------------------------------------------------------- */

static bool ends_flow(Opcode op)
{
  return op == OP_jmp || op == OP_ret || op == OP_endtask || op == OP_trap;
}

static uint32_t block_end(const CodeBlock *block)
{
  return block->address + 2 * block->n_words;
}

static WordKind word_kind(const ImageCheck *k, uint32_t number, uint32_t pc)
{
  const CodeBlock *block = &k->blocks[number];
  if (pc < block->address || pc >= block_end(block) || (pc - block->address) % 2)
    return WORD_INSIDE;
  return (WordKind)k->words[number][(pc - block->address) / 2];
}

static void decode_block(ImageCheck *k, uint32_t number)
{
  const CodeBlock *block = &k->blocks[number];
  Opcode last = OP_ret;
  for (uint32_t i = 0; i < block->n_words;) {
    Insn insn;
    const char *reason;
    unsigned length = insn_decode(block->words + i, block->n_words - i, &insn, &reason);
    if (length == 0) {
      check_fail(k, "section 'code' is wrong: no instruction at 0x%04x of block %u: %s",
                 block->address + 2 * i, number, reason);
      return;
    }
    k->words[number][i] = insn.op == OP_vec ? WORD_VECTOR : WORD_START;
    last = insn.op;
    i += length;
  }
  if (!ends_flow(last))
    check_fail(k,
               "section 'code' is wrong: block %u does not end with a jump, return or end of task",
               number);
}

static void check_targets(ImageCheck *k, uint32_t number)
{
  const CodeBlock *block = &k->blocks[number];
  for (uint32_t i = 0; i < block->n_words && !k->reason;) {
    Insn insn;
    const char *reason;
    uint32_t target;
    i += insn_decode(block->words + i, block->n_words - i, &insn, &reason);
    if (insn_target(&insn, &target) && word_kind(k, number, target) == WORD_INSIDE)
      check_fail(k,
                 "section 'code' is wrong: block %u jumps to 0x%04x, where no instruction starts",
                 number, target);
  }
}

static void check_block(ImageCheck *k, uint32_t number)
{
  const CodeBlock *block = &k->blocks[number];
  if (block->address % 2 || block->n_words > k->machine->pe_mem_bytes / 2 ||
      block_end(block) > k->machine->pe_mem_bytes) {
    check_fail(k,
               "section 'code' is wrong: block %u (%u words from 0x%04x) does not fit into the "
               "%u bytes of a tile",
               number, block->n_words, block->address, k->machine->pe_mem_bytes);
    return;
  }
  k->words[number] = arena_many(k->arena, uint8_t, block->n_words + 1);
  decode_block(k, number);
  if (!k->reason)
    check_targets(k, number);
}

/* ---- memory of a class ------------------------------------------------------------------- */

/* Code lies behind the data, or in a gap before data that have a fixed address. */
static bool code_among_data(const ImageClass *class, uint32_t code_end)
{
  uint32_t code = class->code_address;
  if (!is_overlapping(code, code_end, 0, class->static_bytes))
    return false;
  for (uint32_t i = 0; i < class->n_segments; i++)
    if (is_overlapping(code, code_end, class->segments[i].address,
                       class->segments[i].address + (uint32_t)class->segments[i].bytes))
      return true;
  for (uint32_t i = 0; i < class->n_tile_slots; i++)
    if (is_overlapping(code, code_end, class->tile_slots[i].address,
                       class->tile_slots[i].address + (uint32_t)class->tile_slots[i].bytes))
      return true;
  return code_end > class->static_bytes;
}

static void check_memory(ImageCheck *k)
{
  const ImageClass *class = k->class;
  uint32_t memory = k->machine->pe_mem_bytes;
  uint32_t code_end = class->code_address + 2 * class->code_words;
  uint32_t stack = class->stack_top - (uint32_t)class->stack_bytes;
  if (class->static_bytes > memory)
    check_fail(k, "its data end at 0x%04x, outside memory", class->static_bytes);
  else if (class->stack_top > memory || class->stack_bytes > class->stack_top ||
           class->stack_top % 2)
    check_fail(k, "its stack of %u bytes below 0x%04x is not in memory", class->stack_bytes,
               class->stack_top);
  else if (code_among_data(class, code_end))
    check_fail(k, "its code overlaps its data");
  else if (is_overlapping(stack, class->stack_top, 0, class->static_bytes))
    check_fail(k, "its stack overlaps its data");
  else if (is_overlapping(stack, class->stack_top, class->code_address, code_end))
    check_fail(k, "its stack overlaps its code");
}

static void check_data(ImageCheck *k)
{
  const ImageClass *class = k->class;
  for (uint32_t i = 0; i < class->n_segments; i++) {
    const ImageSegment *segment = &class->segments[i];
    if (segment->address + segment->bytes > class->static_bytes)
      check_fail(k, "initial data at 0x%04x lie outside its data", segment->address);
  }
  if (class->tile_blob_bytes > k->machine->pe_mem_bytes)
    check_fail(k, "%u bytes of own data for each tile do not fit", class->tile_blob_bytes);
  for (uint32_t i = 0; i < class->n_tile_slots; i++) {
    const ImageTileSlot *slot = &class->tile_slots[i];
    if (slot->address + slot->bytes > class->static_bytes)
      check_fail(k, "own data of a tile at 0x%04x lie outside its data", slot->address);
    if (slot->offset + (uint32_t)slot->bytes > class->tile_blob_bytes)
      check_fail(k, "own data of a tile reach to byte %u of %u",
                 slot->offset + (uint32_t)slot->bytes, class->tile_blob_bytes);
  }
}

/* ---- entries, tasks, queues -------------------------------------------------------------- */

static bool is_entry(const ImageCheck *k, uint32_t pc)
{
  return word_kind(k, k->block, pc) != WORD_INSIDE;
}

static bool task_id_legal(const Machine *machine, TaskKind kind, unsigned id)
{
  switch (kind) {
  case TASK_DATA: return id < machine->data_task_ids;
  case TASK_LOCAL: return id >= machine->local_task_first && id <= machine->local_task_last;
  case TASK_CONTROL: return id < machine->control_task_ids;
  case TASK_NONE: default: return false;
  }
}

static void check_tasks(ImageCheck *k)
{
  uint64_t seen[2] = {0};       /* of the common table, of the control tasks' own */
  for (uint32_t i = 0; i < k->class->n_tasks && !k->reason; i++) {
    const ImageTask *task = &k->class->tasks[i];
    uint64_t *table = &seen[k->class->separate_control && task->kind == TASK_CONTROL];
    if (!task_id_legal(k->machine, task->kind, task->id))
      check_fail(k, "task '%s' has id %u, which is no %s task of the %s", task->name, task->id,
                 task_kind_name(task->kind), k->machine->name);
    else if (*table >> task->id & 1)
      check_fail(k, "two tasks have id %u", task->id);
    else if (!is_entry(k, task->entry))
      check_fail(k, "task '%s' starts at 0x%04x, where no instruction starts", task->name,
                 task->entry);
    else if (task->arguments > 2)
      check_fail(k, "task '%s' takes %u words of a wavelet", task->name, task->arguments);
    else
      *table |= (uint64_t)1 << task->id;
  }
}

static void check_entries(ImageCheck *k)
{
  const ImageClass *class = k->class;
  if (class->start_entry != NO_ENTRY && !is_entry(k, class->start_entry))
    check_fail(k, "its start is at 0x%04x, where no instruction starts", class->start_entry);
  for (unsigned i = 0; i < MAX_COLORS; i++)
    if (class->teardown_handler[i] != NO_ENTRY && !is_entry(k, class->teardown_handler[i]))
      check_fail(k, "the teardown handler of color %u is at 0x%04x, where no instruction starts", i,
                 class->teardown_handler[i]);
}

static void check_queue(ImageCheck *k, const ImageQueue *queue, const char *direction,
                        unsigned number, unsigned limit)
{
  if (queue->used && number >= limit)
    check_fail(k, "the %s has no %s queue %u", k->machine->name, direction, number);
  else if (queue->used && queue->color >= k->machine->colors)
    check_fail(k, "%s queue %u has color %u", direction, number, queue->color);
  else if (!queue->used && (queue->color || queue->priority != PRIO_LOW || queue->implicit))
    check_fail(k, "%s queue %u is unused, but has settings", direction, number);
}

static void check_queues(ImageCheck *k)
{
  const ImageClass *class = k->class;
  for (unsigned i = 0; i < MAX_QUEUES; i++) {
    check_queue(k, &class->input[i], "input", i, k->machine->input_queues);
    check_queue(k, &class->output[i], "output", i, k->machine->output_queues);
  }
  for (unsigned color = 0; color < MAX_COLORS && !k->reason; color++) {
    unsigned queue = class->data_queue[color];
    if (queue == NO_QUEUE)
      continue;
    if (queue >= k->machine->input_queues)
      check_fail(k, "color %u arrives in input queue %u, which does not exist", color, queue);
    else if (!class->input[queue].used ||
             (k->image->arch == ARCH_WSE3 && class->input[queue].color != color))
      check_fail(k, "color %u arrives in input queue %u, which is not bound to it", color, queue);
  }
  if (k->image->arch == ARCH_WSE2 && class->paused)
    check_fail(k, "microthreads are blocked at start, which the wse2 does not know");
  if (k->image->arch == ARCH_WSE2 && class->separate_control)
    check_fail(k, "control tasks have a table of their own, which the wse2 does not know");
}

static void check_dsr(ImageCheck *k, const ImageDsr *dsr)
{
  Descriptor desc;
  if (dsr->number >= k->machine->dsrs_per_file || dsr->xdsr >= k->machine->xdsrs)
    check_fail(k, "there is no DSR %s[%u] with extended DSR %u", dsr_file_name(dsr->file),
               dsr->number, dsr->xdsr);
  else if (!descriptor_decode(dsr->words, ARRAY_COUNT(dsr->words), &desc))
    check_fail(k, "the initial value of DSR %s[%u] is no descriptor", dsr_file_name(dsr->file),
               dsr->number);
}

static void check_setup(ImageCheck *k)
{
  for (uint32_t i = 0; i < k->class->n_dsrs; i++)
    check_dsr(k, &k->class->dsrs[i]);
  for (uint32_t i = 0; i < k->class->n_configs; i++) {
    const ConfigRegInfo *reg = config_reg_at(k->class->configs[i].address);
    if (!reg || !(reg->access & CONFIG_WRITE))
      check_fail(k, "it sets configuration register 0x%04x, which cannot be written",
                 k->class->configs[i].address);
  }
}

/* ---- names and lines --------------------------------------------------------------------- */

static void check_symbols(ImageCheck *k)
{
  for (uint32_t i = 0; i < k->class->n_symbols; i++) {
    const ImageSymbol *symbol = &k->class->symbols[i];
    if (symbol->bytes > k->machine->pe_mem_bytes ||
        symbol->address + symbol->bytes > k->machine->pe_mem_bytes)
      check_fail(k, "symbol '%s' lies outside memory", symbol->name);
  }
}

static void check_lines(ImageCheck *k)
{
  const ImageClass *class = k->class;
  for (uint32_t i = 0; i < class->n_lines && !k->reason; i++) {
    const ImageLine *line = &class->lines[i];
    if (!is_entry(k, line->pc))
      check_fail(k, "its line table names 0x%04x, where no instruction starts", line->pc);
    else if (i && line->pc <= class->lines[i - 1].pc)
      check_fail(k, "its line table is not sorted at 0x%04x", line->pc);
    else if (line->file >= k->image->n_files)
      check_fail(k, "its line table names source file %u of %u", line->file, k->image->n_files);
    else if (line->inlined_at != IMAGE_NO_INLINE && line->inlined_at >= class->n_inlines)
      check_fail(k, "its line table names inlined call %u of %u", line->inlined_at,
                 class->n_inlines);
  }
}

/* Each chain of parents must end: `state` is 0 unknown, 1 on the present chain, 2 ends. */
static void check_inline_chain(ImageCheck *k, uint32_t start, uint8_t *state)
{
  const ImageInline *inlines = k->class->inlines;
  uint32_t at = start;
  while (at != IMAGE_NO_INLINE && state[at] == 0) {
    state[at] = 1;
    at = inlines[at].parent;
  }
  if (at != IMAGE_NO_INLINE && state[at] == 1) {
    check_fail(k, "inlined call %u contains itself", at);
    return;
  }
  for (at = start; at != IMAGE_NO_INLINE && state[at] == 1; at = inlines[at].parent)
    state[at] = 2;
}

static void check_inlines(ImageCheck *k)
{
  const ImageClass *class = k->class;
  for (uint32_t i = 0; i < class->n_inlines; i++) {
    const ImageInline *call = &class->inlines[i];
    if (call->file >= k->image->n_files)
      check_fail(k, "an inlined call names source file %u of %u", call->file, k->image->n_files);
    if (call->parent != IMAGE_NO_INLINE && call->parent >= class->n_inlines)
      check_fail(k, "an inlined call names inlined call %u of %u", call->parent, class->n_inlines);
  }
  if (k->reason || class->n_inlines == 0)
    return;
  uint8_t *state = arena_many(k->arena, uint8_t, class->n_inlines);
  for (uint32_t i = 0; i < class->n_inlines && !k->reason; i++)
    check_inline_chain(k, i, state);
}

static void check_vec_names(ImageCheck *k)
{
  const ImageClass *class = k->class;
  for (uint32_t i = 0; i < class->n_vec_names && !k->reason; i++) {
    uint16_t pc = class->vec_names[i].pc;
    if (word_kind(k, k->block, pc) != WORD_VECTOR)
      check_fail(k, "operand names stand at 0x%04x, where no vector operation starts", pc);
    else if (i && pc <= class->vec_names[i - 1].pc)
      check_fail(k, "its operand names are not sorted at 0x%04x", pc);
  }
}

static void check_asserts(ImageCheck *k)
{
  const ImageClass *class = k->class;
  for (uint32_t i = 0; i < class->n_asserts && !k->reason; i++) {
    uint16_t pc = class->asserts[i].pc;
    if (word_kind(k, k->block, pc) != WORD_START)
      check_fail(k, "an assertion stands at 0x%04x, where no scalar instruction starts", pc);
    else if (i && pc <= class->asserts[i - 1].pc)
      check_fail(k, "its assertions are not sorted at 0x%04x", pc);
  }
}

static void check_accesses(ImageCheck *k)
{
  const ImageClass *class = k->class;
  for (uint32_t i = 0; i < class->n_accesses && !k->reason; i++) {
    const ImageAccess *access = &class->accesses[i];
    if (access->symbol >= class->n_symbols || class->symbols[access->symbol].is_code)
      check_fail(k, "the access at 0x%04x names symbol %u, which is no variable", access->pc,
                 access->symbol);
    else if (access->operand > 1 + VSLOT_SRC1 ||
             (access->operand && word_kind(k, k->block, access->pc) != WORD_VECTOR))
      check_fail(k, "the access at 0x%04x is of operand %u, which no instruction there has",
                 access->pc, access->operand);
    else if (i && (access->pc < access[-1].pc ||
                   (access->pc == access[-1].pc && access->operand <= access[-1].operand)))
      check_fail(k, "its accesses are not sorted at 0x%04x", access->pc);
  }
}

/* ---- exports ----------------------------------------------------------------------------- */

static bool is_class_letter(char letter)
{
  return letter && strchr("iufb", letter) != NULL;
}

static void check_function_export(ImageCheck *k, const ImageExport *export)
{
  if (export->n_params > ARRAY_COUNT(export->param_bytes)) {
    check_fail(k, "section 'exports' is wrong: function '%s' has %u parameters", export->name,
               export->n_params);
    return;
  }
  for (unsigned i = 0; i < export->n_params; i++)
    if ((export->param_bytes[i] != 2 && export->param_bytes[i] != 4 &&
         export->param_bytes[i] != 8) || !is_class_letter(export->param_class[i]))
      check_fail(k, "section 'exports' is wrong: parameter %u of function '%s' has no known type",
                 i, export->name);
}

static void check_export(ImageCheck *k, const ImageExport *export)
{
  unsigned used = 0;
  if (export->kind == EXPORT_FUNCTION) {
    check_function_export(k, export);
    used = export->n_params;
  }
  if (export->kind == EXPORT_DATA &&
      ((export->element_bytes != 1 && export->element_bytes != 2 && export->element_bytes != 4 &&
        export->element_bytes != 8) || !is_class_letter(export->element_class)))
    check_fail(k, "section 'exports' is wrong: the elements of '%s' have no known type",
               export->name);
  if (export->kind == EXPORT_FUNCTION && (export->element_bytes || export->element_class))
    check_fail(k, "section 'exports' is wrong: function '%s' has elements", export->name);
  for (unsigned i = used; i < ARRAY_COUNT(export->param_bytes); i++)
    if (export->param_bytes[i] || export->param_class[i])
      check_fail(k, "section 'exports' is wrong: '%s' has more parameters than it says",
                 export->name);
}

static void check_data_binding(ImageCheck *k, const ImageBinding *binding,
                               const ImageExport *export)
{
  uint32_t memory = k->machine->pe_mem_bytes;
  uint32_t bytes = binding->is_pointer ? k->machine->word_bytes
                                       : (uint32_t)binding->extent * export->element_bytes;
  if (binding->address > memory || bytes > memory - binding->address)
    check_fail(k, "exported '%s' (%u bytes at 0x%04x) lies outside memory", export->name, bytes,
               binding->address);
}

static void check_function_binding(ImageCheck *k, const ImageBinding *binding,
                                   const ImageExport *export)
{
  uint32_t arguments = image_launch_words(export) * LAUNCH_WORD_BYTES;
  if (!is_entry(k, binding->address))
    check_fail(k, "exported function '%s' is at 0x%04x, where no instruction starts", export->name,
               binding->address);
  else if (binding->is_pointer || binding->extent)
    check_fail(k, "exported function '%s' has the properties of data", export->name);
  else if (arguments && k->class->launch_args + arguments > k->class->static_bytes)
    check_fail(k, "the arguments of exported function '%s' do not fit into its data", export->name);
}

static void check_binding(ImageCheck *k, const ImageBinding *binding)
{
  if (binding->export_index >= k->image->n_exports) {
    check_fail(k, "it binds export %u of %u", binding->export_index, k->image->n_exports);
    return;
  }
  const ImageExport *export = &k->image->exports[binding->export_index];
  if (!binding->present) {
    if (binding->address || binding->is_pointer || binding->extent)
      check_fail(k, "'%s' is not in this class, but has a place", export->name);
  } else if (export->kind == EXPORT_DATA) {
    check_data_binding(k, binding, export);
  } else if (export->kind == EXPORT_FUNCTION) {
    check_function_binding(k, binding, export);
  } else if (binding->is_pointer) {
    check_fail(k, "stream '%s' has the properties of data", export->name);
  }
}

static void check_bindings(ImageCheck *k)
{
  const ImageClass *class = k->class;
  for (uint32_t i = 0; i < class->n_bindings; i++) {
    check_binding(k, &class->bindings[i]);
    if (i && class->bindings[i].export_index <= class->bindings[i - 1].export_index)
      check_fail(k, "its exports are not sorted");
  }
}

static void check_class(ImageCheck *k)
{
  check_memory(k);
  check_data(k);
  check_entries(k);
  check_tasks(k);
  check_queues(k);
  check_setup(k);
  check_symbols(k);
  check_lines(k);
  check_inlines(k);
  check_vec_names(k);
  check_asserts(k);
  check_accesses(k);
  check_bindings(k);
}

/* ---- colors ------------------------------------------------------------------------------ */

static bool has_switch(const ImageColorConfig *config)
{
  for (unsigned i = 1; i < MAX_SWITCH_POSITIONS; i++)
    if (config->positions[i].valid)
      return true;
  return false;
}

static void check_color_config(ImageCheck *k, uint32_t number, const ImageColorConfig *config)
{
  static const ImageFilter no_filter = {.kind = FILTER_NONE};
  const ImageFilter *f = &config->filter;
  for (unsigned i = 0; i < MAX_SWITCH_POSITIONS; i++) {
    const ImagePosition *position = &config->positions[i];
    if ((position->rx | position->tx) >> PORT_COUNT)
      check_fail(k, "section 'color configs' is wrong: configuration %u names a port that does not "
                 "exist", number);
    if (!position->valid && (position->rx || position->tx))
      check_fail(k, "section 'color configs' is wrong: configuration %u has routes in an invalid "
                 "position", number);
  }
  if (config->current >= k->machine->switch_positions ||
      !config->positions[config->current].valid || !config->positions[0].valid)
    check_fail(k,
               "section 'color configs' is wrong: configuration %u starts in an invalid position",
               number);
  if (f->kind == FILTER_NONE &&
      (f->count_data != no_filter.count_data || f->count_control || f->filter_control ||
       f->has_limit2 || f->init_counter || f->limit1 || f->limit2 || f->max_counter))
    check_fail(
        k, "section 'color configs' is wrong: configuration %u has no filter, but settings of one",
        number);
}

static void check_color_set(ImageCheck *k, uint32_t number, const ImageColorSet *set)
{
  unsigned n_filters = 0;
  for (uint32_t i = 0; i < set->n && !k->reason; i++) {
    const ImageColorUse *use = &set->uses[i];
    if (use->color >= k->machine->colors || use->config >= k->image->n_color_configs) {
      check_fail(k, "section 'color sets' is wrong: set %u gives color %u configuration %u of %u",
                 number, use->color, use->config, k->image->n_color_configs);
      return;
    }
    const ImageColorConfig *config = &k->image->color_configs[use->config];
    n_filters += config->filter.kind != FILTER_NONE;
    if (i && use->color <= set->uses[i - 1].color)
      check_fail(k, "section 'color sets' is wrong: set %u is not sorted by color", number);
    else if (has_switch(config) && !(k->machine->switchable_colors >> use->color & 1))
      check_fail(k, "section 'color sets' is wrong: set %u has switches for color %u, which the %s "
                 "cannot switch", number, use->color, k->machine->name);
  }
  if (n_filters > k->machine->filters)
    check_fail(k, "section 'color sets' is wrong: set %u has %u filters, a tile has %u", number,
               n_filters, k->machine->filters);
}

/* ---- program ----------------------------------------------------------------------------- */

static void check_program(ImageCheck *k)
{
  const Image *image = k->image;
  if (image->sdk != SDK_1_4 && image->sdk != SDK_2)
    check_fail(k, "section 'program' is wrong: there is no dialect %u", image->sdk);
  else if (image->channels > k->machine->memcpy_max_channels)
    check_fail(k, "section 'program' is wrong: %u channels are more than %u", image->channels,
               k->machine->memcpy_max_channels);
  for (uint32_t i = 0; i < image->n_streams; i++) {
    const ImageStream *stream = &image->streams[i];
    if (stream->tile >= (uint32_t)image->width * image->height)
      check_fail(k, "section 'program' is wrong: stream '%s' is at tile %u of %u", stream->name,
                 stream->tile, (uint32_t)image->width * image->height);
    else if (stream->color >= k->machine->colors)
      check_fail(k, "section 'program' is wrong: stream '%s' has color %u of %u", stream->name,
                 stream->color, k->machine->colors);
  }
  if ((image->named_streams[0] | image->named_streams[1]) >> k->machine->colors)
    check_fail(k, "section 'program' is wrong: it names a stream of a color above %u",
               k->machine->colors - 1);
}

const char *image_check(const Image *image, const CodeBlock *blocks, uint32_t n_blocks,
                        const uint32_t *class_block, Arena *arena)
{
  Arena *scratch = arena_create("image check");
  ImageCheck k = {.image = image, .machine = machine_get(image->arch), .blocks = blocks,
                  .arena = scratch, .words = arena_many(scratch, uint8_t *, (size_t)n_blocks + 1)};
  check_program(&k);
  for (uint32_t i = 0; i < n_blocks && !k.reason; i++)
    check_block(&k, i);
  for (uint32_t i = 0; i < image->n_exports && !k.reason; i++)
    check_export(&k, &image->exports[i]);
  for (uint32_t i = 0; i < image->n_color_configs && !k.reason; i++)
    check_color_config(&k, i, &image->color_configs[i]);
  for (uint32_t i = 0; i < image->n_color_sets && !k.reason; i++)
    check_color_set(&k, i, &image->color_sets[i]);
  for (uint32_t i = 0; i < image->n_classes && !k.reason; i++) {
    k.class = &image->classes[i];
    k.class_number = i;
    k.block = class_block[i];
    check_class(&k);
  }
  if (!k.reason)
    k.reason = image_check_debug(image, scratch);
  const char *reason = k.reason ? arena_printf(arena, "%s", k.reason) : NULL;
  arena_destroy(scratch);
  return reason;
}
