/* The fields of an image, in file order; each function serves writer and reader. */
#include "ir/machine/image_format.h"

/* ---- program ----------------------------------------------------------------------------- */

static void code_text(Codec *c, const char **text)
{
  code_string(c, text);
}

static void code_stream(Codec *c, ImageStream *stream)
{
  code_string(c, &stream->name);
  code_u32(c, &stream->tile);
  code_u8(c, &stream->color);
  code_bool(c, &stream->is_input, "yes or no (stream to the tiles)");
}

void code_program(Codec *c, Image *image)
{
  CODE_ENUM(c, image->arch, ARCH_COUNT, "architecture");
  CODE_ENUM(c, image->fp16, FP16_COUNT, "16-bit floating-point format");
  code_u8(c, &image->sdk);
  code_bool(c, &image->memcpy, "yes or no (memcpy)");
  code_u8(c, &image->channels);
  code_u16(c, &image->width);
  code_u16(c, &image->height);
  code_u16(c, &image->fabric_width);
  code_u16(c, &image->fabric_height);
  code_u16(c, &image->offset_x);
  code_u16(c, &image->offset_y);
  CODE_LIST(c, const char *, image->files, image->n_files, code_text, "source files");
  CODE_LIST(c, const char *, image->param_names, image->n_params, code_text, "parameters");
  uint32_t n_values = image->n_params;
  CODE_LIST(c, const char *, image->param_values, n_values, code_text, "parameter values");
  if (c->mode == CODEC_READ && n_values != image->n_params)
    codec_fail(c, "is wrong: it has %u parameters, but %u values", image->n_params, n_values);
  code_bool(c, &image->is_of_script, "yes or no (layout of a host script)");
  CODE_LIST(c, ImageStream, image->streams, image->n_streams, code_stream, "streams");
  code_bool(c, &image->names_streams, "yes or no (colors of streams)");
  for (unsigned to_tiles = 0; to_tiles < 2; to_tiles++)
    code_u32(c, &image->named_streams[to_tiles]);
}

/* ---- code -------------------------------------------------------------------------------- */

static void code_word(Codec *c, uint16_t *word)
{
  code_u16(c, word);
}

static void code_block(Codec *c, CodeBlock *block)
{
  code_u16(c, &block->address);
  CODE_LIST(c, uint16_t, block->words, block->n_words, code_word, "words of code");
}

void code_blocks(Codec *c, CodeBlock **blocks, uint32_t *n_blocks)
{
  CODE_LIST(c, CodeBlock, *blocks, *n_blocks, code_block, "code blocks");
}

/* ---- classes ----------------------------------------------------------------------------- */

static void code_segment(Codec *c, ImageSegment *segment)
{
  code_u16(c, &segment->address);
  code_u16(c, &segment->bytes);
  code_bytes(c, &segment->data, segment->bytes, "initial data");
}

static void code_task(Codec *c, ImageTask *task)
{
  code_u16(c, &task->entry);
  CODE_ENUM(c, task->kind, TASK_CONTROL + 1, "kind of task");
  code_u8(c, &task->id);
  code_u8(c, &task->arguments);
  code_string(c, &task->name);
}

static void code_queue(Codec *c, ImageQueue *queue)
{
  code_bool(c, &queue->used, "yes or no (queue used)");
  code_u8(c, &queue->color);
  CODE_ENUM(c, queue->priority, PRIO_COUNT, "priority of a queue");
  code_bool(c, &queue->implicit, "yes or no (implicit queue)");
}

static void code_dsr(Codec *c, ImageDsr *dsr)
{
  CODE_ENUM(c, dsr->file, DSR_FILE_COUNT, "DSR file");
  code_u8(c, &dsr->number);
  code_u8(c, &dsr->xdsr);
  for (size_t i = 0; i < ARRAY_COUNT(dsr->words); i++)
    code_u16(c, &dsr->words[i]);
}

static void code_config(Codec *c, ImageConfig *config)
{
  code_u16(c, &config->address);
  code_u16(c, &config->value);
}

static void code_tile_slot(Codec *c, ImageTileSlot *slot)
{
  code_u16(c, &slot->address);
  code_u16(c, &slot->bytes);
  code_u16(c, &slot->offset);
}

static void code_symbol(Codec *c, ImageSymbol *symbol)
{
  code_string(c, &symbol->name);
  code_u16(c, &symbol->address);
  code_u32(c, &symbol->bytes);
  code_string(c, &symbol->type);
  code_bool(c, &symbol->is_code, "yes or no (symbol is code)");
  code_bool(c, &symbol->unset, "yes or no (symbol has no value)");
}

static void code_line(Codec *c, ImageLine *line)
{
  code_u16(c, &line->pc);
  code_u32(c, &line->file);
  code_u32(c, &line->line);
  code_u32(c, &line->column);
  code_u32(c, &line->inlined_at);
}

static void code_inline(Codec *c, ImageInline *call)
{
  code_u32(c, &call->file);
  code_u32(c, &call->line);
  code_u32(c, &call->column);
  code_u32(c, &call->parent);
  code_string(c, &call->function);
}

static void code_vec_names(Codec *c, ImageVecNames *names)
{
  code_u16(c, &names->pc);
  code_string(c, &names->dest);
  code_string(c, &names->src0);
  code_string(c, &names->src1);
}

static void code_assert(Codec *c, ImageAssert *assertion)
{
  code_u16(c, &assertion->pc);
  code_string(c, &assertion->condition);
  code_string(c, &assertion->comment);
}

static void code_access(Codec *c, ImageAccess *access)
{
  code_u16(c, &access->pc);
  code_u8(c, &access->operand);
  code_u32(c, &access->symbol);
}

static void code_binding(Codec *c, ImageBinding *binding)
{
  code_u32(c, &binding->export_index);
  code_bool(c, &binding->present, "yes or no (export present)");
  code_u16(c, &binding->address);
  code_bool(c, &binding->is_pointer, "yes or no (export is a pointer)");
  code_u16(c, &binding->extent);
}

/* Classes refer to their code by the number of its block. */
static void code_block_of_class(Codec *c, ImageClass *class)
{
  uint32_t block = c->mode == CODEC_WRITE ? c->class_block[c->class_number] : 0;
  code_u32(c, &block);
  if (c->mode == CODEC_READ && !c->reason) {
    if (block >= c->n_blocks) {
      codec_fail(c, "is wrong: class %u has code block %u of %u", c->class_number, block,
                 c->n_blocks);
      return;
    }
    c->class_block[c->class_number] = block;
    class->code_address = c->blocks[block].address;
    class->code_words = c->blocks[block].n_words;
    class->code = c->blocks[block].words;
  }
  c->class_number++;
}

static void code_class_machine(Codec *c, ImageClass *class)
{
  CODE_LIST(c, ImageTask, class->tasks, class->n_tasks, code_task, "tasks");
  code_u64(c, &class->active);
  code_u64(c, &class->blocked);
  code_u8(c, &class->paused);
  for (unsigned i = 0; i < MAX_QUEUES; i++)
    code_queue(c, &class->input[i]);
  for (unsigned i = 0; i < MAX_QUEUES; i++)
    code_queue(c, &class->output[i]);
  for (unsigned i = 0; i < MAX_COLORS; i++)
    code_u8(c, &class->data_queue[i]);
  for (unsigned i = 0; i < MAX_COLORS; i++)
    code_u16(c, &class->teardown_handler[i]);
  code_bool(c, &class->separate_control, "yes or no (separate control tasks)");
  CODE_LIST(c, ImageDsr, class->dsrs, class->n_dsrs, code_dsr, "initial DSRs");
  CODE_LIST(c, ImageConfig, class->configs, class->n_configs, code_config,
            "initial configuration registers");
}

static void code_class_names(Codec *c, ImageClass *class)
{
  CODE_LIST(c, ImageSymbol, class->symbols, class->n_symbols, code_symbol, "symbols");
  CODE_LIST(c, ImageLine, class->lines, class->n_lines, code_line, "lines of the line table");
  CODE_LIST(c, ImageInline, class->inlines, class->n_inlines, code_inline, "inlined calls");
  CODE_LIST(c, ImageVecNames, class->vec_names, class->n_vec_names, code_vec_names,
            "names of vector operands");
  CODE_LIST(c, ImageAssert, class->asserts, class->n_asserts, code_assert, "assertions");
  CODE_LIST(c, ImageAccess, class->accesses, class->n_accesses, code_access,
            "objects of loads and stores");
  for (unsigned i = 0; i < MAX_COLORS; i++)
    code_optional_string(c, &class->color_names[i]);
  for (unsigned i = 0; i < MAX_QUEUES; i++)
    code_optional_string(c, &class->queue_names[0][i]);
  for (unsigned i = 0; i < MAX_QUEUES; i++)
    code_optional_string(c, &class->queue_names[1][i]);
  code_string(c, &class->source);
}

static void code_class(Codec *c, ImageClass *class)
{
  code_block_of_class(c, class);
  CODE_LIST(c, ImageSegment, class->segments, class->n_segments, code_segment, "data segments");
  code_u16(c, &class->static_bytes);
  code_u16(c, &class->stack_top);
  code_u16(c, &class->stack_bytes);
  code_u16(c, &class->start_entry);
  code_u16(c, &class->launch_args);
  code_class_machine(c, class);
  CODE_LIST(c, ImageTileSlot, class->tile_slots, class->n_tile_slots, code_tile_slot,
            "places of tile data");
  code_u32(c, &class->tile_blob_bytes);
  CODE_LIST(c, ImageBinding, class->bindings, class->n_bindings, code_binding, "exports");
  code_class_names(c, class);
}

void code_classes(Codec *c, Image *image)
{
  size_t least;
  LEAST_BYTES(least, ImageClass, code_class);
  code_count(c, &image->n_classes, least, "classes");
  ImageClass *classes = (ImageClass *)image->classes;
  if (c->mode == CODEC_READ) {
    image->classes = classes = arena_many(c->arena, ImageClass, image->n_classes);
    c->class_block = arena_many(c->arena, uint32_t, image->n_classes);
  }
  for (uint32_t i = 0; i < image->n_classes && !c->reason; i++)
    code_class(c, &classes[i]);
}

/* ---- colors ------------------------------------------------------------------------------ */

static void code_position(Codec *c, ImagePosition *position)
{
  code_u8(c, &position->rx);
  code_u8(c, &position->tx);
  code_bool(c, &position->valid, "yes or no (valid position)");
}

static void code_filter(Codec *c, ImageFilter *filter)
{
  CODE_ENUM(c, filter->kind, FILTER_RANGE + 1, "kind of filter");
  code_bool(c, &filter->count_data, "yes or no (count data)");
  code_bool(c, &filter->count_control, "yes or no (count control)");
  code_bool(c, &filter->filter_control, "yes or no (filter control)");
  code_bool(c, &filter->has_limit2, "yes or no (second limit)");
  code_u16(c, &filter->init_counter);
  code_u16(c, &filter->limit1);
  code_u16(c, &filter->limit2);
  code_u16(c, &filter->max_counter);
}

static void code_color_config(Codec *c, ImageColorConfig *config)
{
  for (unsigned i = 0; i < MAX_SWITCH_POSITIONS; i++)
    code_position(c, &config->positions[i]);
  code_u8(c, &config->current);
  code_bool(c, &config->ring, "yes or no (ring mode)");
  CODE_ENUM(c, config->pop, POP_ON_ADVANCE_NOP + 1, "pop mode");
  code_bool(c, &config->swap_x, "yes or no (color swap x)");
  code_bool(c, &config->swap_y, "yes or no (color swap y)");
  code_bool(c, &config->teardown, "yes or no (teardown)");
  code_filter(c, &config->filter);
}

void code_color_configs(Codec *c, Image *image)
{
  CODE_LIST(c, ImageColorConfig, image->color_configs, image->n_color_configs, code_color_config,
            "color configurations");
}

static void code_color_use(Codec *c, ImageColorUse *use)
{
  code_u8(c, &use->color);
  code_u32(c, &use->config);
}

static void code_color_set(Codec *c, ImageColorSet *set)
{
  CODE_LIST(c, ImageColorUse, set->uses, set->n, code_color_use, "colors");
}

void code_color_sets(Codec *c, Image *image)
{
  CODE_LIST(c, ImageColorSet, image->color_sets, image->n_color_sets, code_color_set,
            "color sets");
}

/* ---- exports ----------------------------------------------------------------------------- */

static void code_letter(Codec *c, char *letter)
{
  uint8_t value = (uint8_t)*letter;
  code_u8(c, &value);
  if (c->mode == CODEC_READ)
    *letter = (char)value;
}

static void code_export(Codec *c, ImageExport *export)
{
  code_string(c, &export->name);
  CODE_ENUM(c, export->kind, EXPORT_STREAM + 1, "kind of export");
  code_string(c, &export->type);
  code_u8(c, &export->element_bytes);
  code_letter(c, &export->element_class);
  code_bool(c, &export->is_mutable, "yes or no (mutable)");
  code_u8(c, &export->n_params);
  for (size_t i = 0; i < ARRAY_COUNT(export->param_bytes); i++)
    code_u8(c, &export->param_bytes[i]);
  for (size_t i = 0; i < ARRAY_COUNT(export->param_class); i++)
    code_letter(c, &export->param_class[i]);
}

void code_exports(Codec *c, Image *image)
{
  CODE_LIST(c, ImageExport, image->exports, image->n_exports, code_export, "exports");
}
