/* A small program image that uses every field, for the unit test and the fuzz target of the
 * reader; and checksums made right again after a change. */
#ifndef TESTS_IMAGE_SAMPLE_H
#define TESTS_IMAGE_SAMPLE_H

#include <string.h>
#include <zlib.h>

#include "ir/machine/image_format.h"

enum {
  SAMPLE_WIDTH = 5, SAMPLE_HEIGHT = 4, SAMPLE_TILES = SAMPLE_WIDTH * SAMPLE_HEIGHT,
  SAMPLE_CLASSES = 3, SAMPLE_CODE_AT = 0x100, SAMPLE_CODE_WORDS = 64, SAMPLE_BLOB_BYTES = 6,
};

typedef struct {
  Image image;
  ImageClass classes[SAMPLE_CLASSES];
  uint16_t code[SAMPLE_CODE_WORDS];
  uint32_t n_code;
  uint16_t vec_at, stub_at, task_at;       /* places in the code */
  uint8_t data[4];
  ImageSegment segments[2];
  ImageTask tasks[3];
  ImageDsr dsrs[1];
  ImageConfig configs[1];
  ImageTileSlot slots[2];
  ImageSymbol symbols[2];
  ImageLine lines[3];
  ImageInline inlines[2];
  ImageVecNames vec_names[1];
  ImageAssert asserts[2];
  ImageAccess accesses[2];
  ImageBinding bindings[3];
  uint32_t tile_class[SAMPLE_TILES], tile_colors[SAMPLE_TILES];
  uint64_t tile_blob_at[SAMPLE_TILES];
  uint8_t blobs[SAMPLE_TILES * SAMPLE_BLOB_BYTES];
  ImageColorConfig configs_of_colors[3];
  ImageColorUse uses[3];
  ImageColorSet sets[2];
  ImageExport exports[4];
  uint32_t dims[1], symbol_types[2];
  DebugMember members[5];
  DebugType types[6];
  DebugRange ranges[2];
  DebugLocal locals[2];
  uint32_t held[1];
  DebugFunction functions[1];
  ImageAsserted asserted[3];
  DebugConstant constants[5];
  const char *files[2], *param_names[1], *param_values[1];
  ImageStream streams[2];
} Sample;

static void sample_emit(Sample *s, Insn insn)
{
  s->n_code += insn_encode(&insn, s->code + s->n_code);
}

static uint16_t sample_pc(const Sample *s)
{
  return (uint16_t)(SAMPLE_CODE_AT + 2 * s->n_code);
}

static void sample_code(Sample *s)
{
  sample_emit(s, (Insn){.op = OP_ldsr, .a = 1, .file = DSR_DEST, .absolute = true, .imm = 0x20});
  sample_emit(s, (Insn){.op = OP_ldsr, .a = 2, .file = DSR_SRC1, .b = 3, .imm = 4, .xdsr = 1});
  s->vec_at = sample_pc(s);
  sample_emit(s, (Insn){.op = OP_vec, .vec = {.op = VEC_fmovs, .dest = {VOPND_DSR, DSR_DEST, 1},
                                              .src1 = {VOPND_DSR, DSR_SRC1, 2}}});
  sample_emit(s, (Insn){.op = OP_beqi, .a = 1, .imm = 7, .target = SAMPLE_CODE_AT});
  sample_emit(s, (Insn){.op = OP_endtask});
  s->task_at = sample_pc(s);
  sample_emit(s, (Insn){.op = OP_li, .a = 4, .imm = 9});
  sample_emit(s, (Insn){.op = OP_unblki, .a = ID_INPUT_QUEUE, .imm = 2});
  sample_emit(s, (Insn){.op = OP_bnz, .a = 4, .imm = s->task_at});
  sample_emit(s, (Insn){.op = OP_endtask});
  s->stub_at = sample_pc(s);
  sample_emit(s, (Insn){.op = OP_ld32a, .a = 0, .imm = 0x40});
  sample_emit(s, (Insn){.op = OP_call, .imm = s->task_at});
  sample_emit(s, (Insn){.op = OP_ret});
}

static void sample_class_names(Sample *s, ImageClass *c)
{
  s->symbols[0] = (ImageSymbol){"pe.x", 0x10, 16, "[4]f32", false, true};
  s->symbols[1] = (ImageSymbol){"pe.work", s->task_at, 8, "fn()void", true, false};
  s->lines[0] = (ImageLine){SAMPLE_CODE_AT, 0, 10, 3, IMAGE_NO_INLINE};
  s->lines[1] = (ImageLine){s->vec_at, 1, 11, 5, 1};
  s->lines[2] = (ImageLine){s->task_at, 0, 12, 1, 0};
  s->inlines[0] = (ImageInline){0, 20, 7, 1, "inner"};
  s->inlines[1] = (ImageInline){1, 21, 8, IMAGE_NO_INLINE, "outer"};
  s->vec_names[0] = (ImageVecNames){s->vec_at, "out", "", "x"};
  c->n_symbols = 2, c->symbols = s->symbols;
  c->n_lines = 3, c->lines = s->lines;
  c->n_inlines = 2, c->inlines = s->inlines;
  s->accesses[0] = (ImageAccess){s->vec_at, 1 + VSLOT_DEST, 0};
  s->accesses[1] = (ImageAccess){s->task_at, 0, 0};
  c->n_vec_names = 1, c->vec_names = s->vec_names;
  s->asserts[0] = (ImageAssert){s->task_at, "n < 4", "the host sends four"};
  c->n_asserts = 1, c->asserts = s->asserts;
  c->n_accesses = 2, c->accesses = s->accesses;
  c->color_names[3] = "red";
  c->queue_names[0][2] = "from_west";
  c->queue_names[1][4] = "to_east";
}

static void sample_class_machine(Sample *s, ImageClass *c)
{
  s->tasks[0] = (ImageTask){s->task_at, TASK_DATA, 3, 1, "receive"};
  s->tasks[1] = (ImageTask){s->task_at, TASK_LOCAL, 9, 0, "again"};
  s->tasks[2] = (ImageTask){SAMPLE_CODE_AT, TASK_CONTROL, 40, 2, "stop"};
  c->n_tasks = 3, c->tasks = s->tasks;
  c->active = 1u << 9, c->blocked = 1u << 3 | (uint64_t)1 << 63;
  c->input[2] = (ImageQueue){true, 3, PRIO_HIGH, false};
  c->output[4] = (ImageQueue){true, 5, PRIO_MEDIUM, true};
  c->data_queue[3] = 2;
  c->teardown_handler[3] = s->task_at;
  s->dsrs[0] = (ImageDsr){DSR_SRC0, 5, 3, {0}};
  descriptor_encode(&(Descriptor){.kind = DESC_MEM1D, .base = 0x10, .length = 4, .stride = 1},
                    s->dsrs[0].words);
  c->n_dsrs = 1, c->dsrs = s->dsrs;
  s->configs[0] = (ImageConfig){CFG_TSC_CONTROL, 1};
  c->n_configs = 1, c->configs = s->configs;
}

static void sample_class_data(Sample *s, ImageClass *c)
{
  memcpy(s->data, (uint8_t[]){1, 2, 3, 4}, 4);
  s->segments[0] = (ImageSegment){0x10, 4, s->data};
  s->segments[1] = (ImageSegment){0x30, 2, s->data + 1};
  c->n_segments = 2, c->segments = s->segments;
  s->slots[0] = (ImageTileSlot){0x18, 4, 0};
  s->slots[1] = (ImageTileSlot){0x1c, 2, 4};
  c->n_tile_slots = 2, c->tile_slots = s->slots;
  c->tile_blob_bytes = SAMPLE_BLOB_BYTES;
  s->bindings[0] = (ImageBinding){0, true, 0x10, false, 4};
  s->bindings[1] = (ImageBinding){1, true, 0x20, true, 16};
  s->bindings[2] = (ImageBinding){2, true, s->stub_at, false, 0};
  c->n_bindings = 3, c->bindings = s->bindings;
}

static ImageClass sample_empty_class(const char *source)
{
  ImageClass c = {.static_bytes = 0x80, .stack_top = 0x1000, .stack_bytes = 0x100,
                  .start_entry = 0xffff, .launch_args = 0x40, .source = source,
                  .code_address = SAMPLE_CODE_AT};
  memset(c.data_queue, 0xff, sizeof c.data_queue);
  memset(c.teardown_handler, 0xff, sizeof c.teardown_handler);
  return c;
}

static void sample_colors(Sample *s)
{
  s->configs_of_colors[0] = (ImageColorConfig){
    .positions = {{port_bit(PORT_WEST), port_bit(PORT_EAST) | port_bit(PORT_RAMP), true},
                  {port_bit(PORT_WEST), port_bit(PORT_RAMP), true}},
    .current = 1, .ring = true, .pop = POP_ALWAYS, .swap_x = true,
  };
  s->configs_of_colors[1] = (ImageColorConfig){
    .positions = {{port_bit(PORT_RAMP), port_bit(PORT_SOUTH), true}}, .teardown = true,
    .filter = {FILTER_SPARSE, true, false, true, true, 1, 2, 3, 4, false},
  };
  s->configs_of_colors[2] = (ImageColorConfig){.positions = {{0, 0, true}}, .swap_y = true};
  s->uses[0] = (ImageColorUse){3, 0};
  s->uses[1] = (ImageColorUse){5, 1};
  s->uses[2] = (ImageColorUse){7, 2};
  s->sets[0] = (ImageColorSet){0, NULL};
  s->sets[1] = (ImageColorSet){3, s->uses};
  s->image.n_color_configs = 3, s->image.color_configs = s->configs_of_colors;
  s->image.n_color_sets = 2, s->image.color_sets = s->sets;
}

static void sample_exports(Sample *s)
{
  s->exports[0] = (ImageExport){.name = "x", .kind = EXPORT_DATA, .type = "[4]f32",
                                .element_bytes = 4, .element_class = 'f', .is_mutable = true};
  s->exports[1] = (ImageExport){.name = "p", .kind = EXPORT_DATA, .type = "[*]i16",
                                .element_bytes = 2, .element_class = 'i'};
  s->exports[2] = (ImageExport){.name = "go", .kind = EXPORT_FUNCTION, .type = "fn(f32,u16)void",
                                .n_params = 2, .param_bytes = {4, 2}, .param_class = {'f', 'u'}};
  s->exports[3] = (ImageExport){.name = "s", .kind = EXPORT_STREAM, .type = "color"};
  s->image.n_exports = 4, s->image.exports = s->exports;
}

static void sample_debug(Sample *s)
{
  s->dims[0] = 4;
  s->members[0] = (DebugMember){"idle", 0, 0, 0};
  s->members[1] = (DebugMember){"busy", 0, 0, 7};
  s->members[2] = (DebugMember){"a", 4, 0, 0};
  s->members[3] = (DebugMember){"b", 4, 3, 0};
  s->members[4] = (DebugMember){"mode", 5, 32, 0};
  s->types[0] = (DebugType){DT_FLOAT32, "f32", 4, 32, 0, 0, NULL, 0, NULL};
  s->types[1] = (DebugType){DT_ARRAY, "[4]f32", 16, 128, 1, 1, s->dims, 0, NULL};
  s->types[2] = (DebugType){DT_UNSIGNED, "u16", 2, 16, 0, 0, NULL, 0, NULL};
  s->types[3] = (DebugType){DT_UNSIGNED, "u3", 1, 3, 0, 0, NULL, 0, NULL};
  s->types[4] = (DebugType){DT_ENUM, "Mode", 2, 16, 3, 0, NULL, 2, s->members};
  s->types[5] = (DebugType){DT_STRUCT, "Pair", 6, 48, 0, 0, NULL, 1, s->members + 4};
  s->image.n_debug_types = 6, s->image.debug_types = s->types;
  s->symbol_types[0] = 2;
  s->ranges[0] = (DebugRange){SAMPLE_CODE_AT, SAMPLE_CODE_AT + 4, PLACE_REGISTER, 4};
  s->ranges[1] = (DebugRange){SAMPLE_CODE_AT + 4, SAMPLE_CODE_AT + 8, PLACE_FRAME, 2};
  s->locals[0] = (DebugLocal){"n", 3, true, 0, 9, 7, 20, 2, IMAGE_NO_INLINE, 2, s->ranges};
  s->locals[1] = (DebugLocal){"m", 5, false, 1, 10, 3, 0, 0, 1, 1, s->ranges};
  s->functions[0] = (DebugFunction){1, 6, true, 1 << 12, 8, 2, s->locals, 1, s->held};
  s->asserted[0] = (ImageAsserted){s->task_at, "n", 3, ASSERTED_REGISTER, 4, 0};
  s->asserted[1] = (ImageAsserted){s->task_at, "x[2]", 1, ASSERTED_MEMORY, ASSERTED_NO_BASE, 0x18};
  s->asserted[2] = (ImageAsserted){s->task_at, "last", 5, ASSERTED_CONSTANT, ASSERTED_NO_BASE, 7};
  s->constants[0] = (DebugConstant){"size", 3, false, NUMBER_OF_CLASS, 12, 0, 0};
  s->constants[1] = (DebugConstant){"part.turns", DEBUG_NO_TYPE, false, NUMBER_OF_CLASS,
                                      UINT64_C(1) << 40, 0, 0};
  s->constants[2] = (DebugConstant){"ratio", DEBUG_NO_TYPE, true, NUMBER_OF_CLASS,
                                      UINT64_C(0x3fd0) << 48, 0, 0};
  s->constants[3] = (DebugConstant){"x", 3, false, NUMBER_OF_PLACE, 4, 1, UINT64_MAX};
  s->constants[4] = (DebugConstant){"seed", 3, false, NUMBER_OF_TILE, 2, 0, 0};
  for (unsigned i = 0; i < SAMPLE_CLASSES; i++) {
    if (i == 2)
      continue;
    s->classes[i].numbers.n_constants = 5, s->classes[i].numbers.constants = s->constants;
    s->classes[i].numbers.n_asserted = 3, s->classes[i].numbers.asserted = s->asserted;
    s->classes[i].n_symbol_types = 2, s->classes[i].symbol_types = s->symbol_types;
    s->classes[i].n_functions = 1, s->classes[i].functions = s->functions;
  }
}

static void sample_tiles(Sample *s)
{
  for (unsigned i = 0; i < SAMPLE_TILES; i++) {
    s->tile_class[i] = i == 7 ? IMAGE_NO_CLASS : i < SAMPLE_WIDTH ? i % 2 : i % 4 ? 0 : 2;
    s->tile_colors[i] = i % 3 == 0;
    s->tile_blob_at[i] = i * SAMPLE_BLOB_BYTES;
    for (unsigned k = 0; k < SAMPLE_BLOB_BYTES; k++)
      s->blobs[i * SAMPLE_BLOB_BYTES + k] = (uint8_t)(i + 16 * k);
  }
  s->tile_blob_at[9] = s->tile_blob_at[6];   /* shared */
  for (unsigned i = 0; i < SAMPLE_TILES; i++)
    if (s->tile_class[i] == 2 || s->tile_class[i] == IMAGE_NO_CLASS)
      s->tile_blob_at[i] = 0;                /* class 2 has no data of its own */
  s->image.tile_class = s->tile_class, s->image.tile_colors = s->tile_colors;
  s->image.tile_blob_at = s->tile_blob_at, s->image.tile_blobs = s->blobs;
  s->image.tile_blob_bytes = sizeof s->blobs;
}

static void sample_make(Sample *s)
{
  memset(s, 0, sizeof *s);
  sample_code(s);
  for (unsigned i = 0; i < SAMPLE_CLASSES; i++) {
    ImageClass *c = &s->classes[i];
    *c = sample_empty_class(i == 2 ? "empty.csl" : "pe.csl");
    if (i == 2)
      continue;
    c->code = s->code, c->code_words = s->n_code;
    c->start_entry = i == 0 ? s->task_at : 0xffff;
    sample_class_names(s, c);
    sample_class_machine(s, c);
    sample_class_data(s, c);
  }
  s->files[0] = "pe.csl", s->files[1] = "lib/inner.csl";
  s->param_names[0] = "P", s->param_values[0] = "4";
  s->streams[0] = (ImageStream){.name = "a.rx", .tile = 3, .color = 22, .is_input = true};
  s->streams[1] = (ImageStream){.name = "b.tx", .tile = SAMPLE_TILES - 1, .color = 21};
  s->image = (Image){
    .arch = ARCH_WSE2, .fp16 = FP16_BF16, .sdk = 14, .memcpy = true, .channels = 2,
    .width = SAMPLE_WIDTH, .height = SAMPLE_HEIGHT, .fabric_width = 12, .fabric_height = 6,
    .offset_x = 4, .offset_y = 1, .n_classes = SAMPLE_CLASSES, .classes = s->classes,
    .n_files = 2, .files = s->files, .n_params = 1, .param_names = s->param_names,
    .param_values = s->param_values, .is_of_script = true, .n_streams = 2, .streams = s->streams,
    .names_streams = true, .named_streams = {1u << 5, 1u << 4},
  };
  sample_colors(s);
  sample_exports(s);
  sample_debug(s);
  sample_tiles(s);
}

static void sample_seal_header(uint8_t *file)
{
  store_le(file + IMAGE_AT_CRC, 0, 4);
  store_le(file + IMAGE_AT_CRC, crc32_z(crc32_z(0, NULL, 0), file, IMAGE_HEADER_BYTES), 4);
}

/* Makes every checksum, the tables hash and the section table of a changed file right again, as
 * far as its section lengths allow, so that the change reaches the checks behind them. */
static void sample_seal(uint8_t *file, size_t length)
{
  if (length < IMAGE_HEADER_BYTES)
    return;
  memcpy(file, image_magic, IMAGE_MAGIC_BYTES);
  store_le(file + IMAGE_AT_VERSION, IMAGE_VERSION, 4);
  store_le(file + IMAGE_AT_COUNT, SECTION_COUNT, 4);
  store_le(file + IMAGE_AT_HASH, image_tables_hash(), 8);
  store_le(file + IMAGE_AT_LENGTH, length, 8);
  uint64_t offset = IMAGE_HEADER_BYTES;
  for (unsigned i = 0; i < SECTION_COUNT; i++) {
    uint8_t *entry = file + IMAGE_AT_TABLE + i * IMAGE_ENTRY_BYTES;
    uint64_t bytes = load_le(entry + IMAGE_ENTRY_LENGTH, 8);
    if (bytes > length - offset || i + 1 == SECTION_COUNT)
      bytes = length - offset;
    store_le(entry, i, 4);
    store_le(entry + IMAGE_ENTRY_OFFSET, offset, 8);
    store_le(entry + IMAGE_ENTRY_LENGTH, bytes, 8);
    store_le(entry + IMAGE_ENTRY_CRC, crc32_z(crc32_z(0, NULL, 0), file + offset, bytes), 4);
    offset += bytes;
  }
  sample_seal_header(file);
}

#endif
