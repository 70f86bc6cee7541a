/* The program image: what is written is read back field by field; whatever else is in a file is
 * refused with a reason and never crashes the reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <stb_ds.h>

#include "tests/image_sample.h"

static uint32_t random_state = 99;

static uint32_t random_below(uint32_t limit)
{
  random_state = random_state * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)random_state * limit >> 32);
}

/* ---- equality ---------------------------------------------------------------------------- */

#define SAME(field) assert_int_equal(a->field, b->field)
#define SAME_TEXT(field) assert_string_equal(a->field, b->field)
#define EACH(T, list, count, expect)                    \
  do {                                                  \
    SAME(count);                                        \
    for (uint32_t i_ = 0; i_ < a->count; i_++)          \
      expect(&a->list[i_], &b->list[i_]);               \
  } while (0)

static void same_segment(const ImageSegment *a, const ImageSegment *b)
{
  SAME(address), SAME(bytes);
  assert_memory_equal(a->data, b->data, a->bytes);
}

static void same_task(const ImageTask *a, const ImageTask *b)
{
  SAME(entry), SAME(kind), SAME(id), SAME(arguments), SAME_TEXT(name);
}

static void same_queue(const ImageQueue *a, const ImageQueue *b)
{
  SAME(used), SAME(color), SAME(priority), SAME(implicit);
}

static void same_dsr(const ImageDsr *a, const ImageDsr *b)
{
  SAME(file), SAME(number), SAME(xdsr);
  assert_memory_equal(a->words, b->words, sizeof a->words);
}

static void same_config(const ImageConfig *a, const ImageConfig *b)
{
  SAME(address), SAME(value);
}

static void same_slot(const ImageTileSlot *a, const ImageTileSlot *b)
{
  SAME(address), SAME(bytes), SAME(offset);
}

static void same_symbol(const ImageSymbol *a, const ImageSymbol *b)
{
  SAME_TEXT(name), SAME(address), SAME(bytes), SAME_TEXT(type), SAME(is_code), SAME(unset);
}

static void same_line(const ImageLine *a, const ImageLine *b)
{
  SAME(pc), SAME(file), SAME(line), SAME(column), SAME(inlined_at);
}

static void same_inline(const ImageInline *a, const ImageInline *b)
{
  SAME(file), SAME(line), SAME(column), SAME(parent), SAME_TEXT(function);
}

static void same_vec_names(const ImageVecNames *a, const ImageVecNames *b)
{
  SAME(pc), SAME_TEXT(dest), SAME_TEXT(src0), SAME_TEXT(src1);
}

static void same_assert(const ImageAssert *a, const ImageAssert *b)
{
  SAME(pc), SAME_TEXT(condition), SAME_TEXT(comment);
}

static void same_access(const ImageAccess *a, const ImageAccess *b)
{
  SAME(pc), SAME(operand), SAME(symbol);
}

static void same_binding(const ImageBinding *a, const ImageBinding *b)
{
  SAME(export_index), SAME(present), SAME(address), SAME(is_pointer), SAME(extent);
}

static void same_optional(const char *a, const char *b)
{
  assert_int_equal(a == NULL, b == NULL);
  if (a)
    assert_string_equal(a, b);
}

static void same_class(const ImageClass *a, const ImageClass *b)
{
  SAME(code_address), SAME(code_words);
  if (a->code_words)
    assert_memory_equal(a->code, b->code, a->code_words * 2);
  EACH(ImageSegment, segments, n_segments, same_segment);
  SAME(static_bytes), SAME(stack_top), SAME(stack_bytes), SAME(start_entry);
  EACH(ImageTask, tasks, n_tasks, same_task);
  SAME(active), SAME(blocked), SAME(paused);
  for (unsigned i = 0; i < MAX_QUEUES; i++) {
    same_queue(&a->input[i], &b->input[i]);
    same_queue(&a->output[i], &b->output[i]);
    same_optional(a->queue_names[0][i], b->queue_names[0][i]);
    same_optional(a->queue_names[1][i], b->queue_names[1][i]);
  }
  for (unsigned i = 0; i < MAX_COLORS; i++) {
    SAME(data_queue[i]), SAME(teardown_handler[i]);
    same_optional(a->color_names[i], b->color_names[i]);
  }
  EACH(ImageDsr, dsrs, n_dsrs, same_dsr);
  EACH(ImageConfig, configs, n_configs, same_config);
  EACH(ImageTileSlot, tile_slots, n_tile_slots, same_slot);
  SAME(tile_blob_bytes);
  EACH(ImageSymbol, symbols, n_symbols, same_symbol);
  EACH(ImageLine, lines, n_lines, same_line);
  EACH(ImageInline, inlines, n_inlines, same_inline);
  EACH(ImageVecNames, vec_names, n_vec_names, same_vec_names);
  EACH(ImageAssert, asserts, n_asserts, same_assert);
  EACH(ImageAccess, accesses, n_accesses, same_access);
  EACH(ImageBinding, bindings, n_bindings, same_binding);
  SAME(separate_control);
  SAME(launch_args), SAME_TEXT(source);
}

static void same_color_config(const ImageColorConfig *a, const ImageColorConfig *b)
{
  for (unsigned i = 0; i < MAX_SWITCH_POSITIONS; i++)
    SAME(positions[i].rx), SAME(positions[i].tx), SAME(positions[i].valid);
  SAME(current), SAME(ring), SAME(pop), SAME(swap_x), SAME(swap_y), SAME(teardown);
  SAME(filter.kind), SAME(filter.count_data), SAME(filter.count_control);
  SAME(filter.filter_control), SAME(filter.has_limit2), SAME(filter.init_counter);
  SAME(filter.limit1), SAME(filter.limit2), SAME(filter.max_counter);
}

static void same_use(const ImageColorUse *a, const ImageColorUse *b)
{
  SAME(color), SAME(config);
}

static void same_set(const ImageColorSet *a, const ImageColorSet *b)
{
  EACH(ImageColorUse, uses, n, same_use);
}

static void same_export(const ImageExport *a, const ImageExport *b)
{
  SAME_TEXT(name), SAME(kind), SAME_TEXT(type), SAME(element_bytes), SAME(element_class);
  SAME(is_mutable), SAME(n_params);
  assert_memory_equal(a->param_bytes, b->param_bytes, sizeof a->param_bytes);
  assert_memory_equal(a->param_class, b->param_class, sizeof a->param_class);
}

static void same_number(const uint32_t *a, const uint32_t *b)
{
  assert_int_equal(*a, *b);
}

static void same_member(const DebugMember *a, const DebugMember *b)
{
  SAME_TEXT(name), SAME(type), SAME(bit), SAME(value);
}

static void same_type(const DebugType *a, const DebugType *b)
{
  SAME(kind), SAME_TEXT(name), SAME(bytes), SAME(bits), SAME(of);
  EACH(uint32_t, dims, n_dims, same_number);
  EACH(DebugMember, members, n_members, same_member);
}

static void same_range(const DebugRange *a, const DebugRange *b)
{
  SAME(first), SAME(end), SAME(place), SAME(value);
}

static void same_local(const DebugLocal *a, const DebugLocal *b)
{
  SAME_TEXT(name), SAME(type), SAME(is_param), SAME(file), SAME(line), SAME(inlined);
  EACH(DebugRange, ranges, n_ranges, same_range);
}

static void same_function(const DebugFunction *a, const DebugFunction *b)
{
  SAME(symbol), SAME(frame_bytes), SAME(is_task), SAME(saved), SAME(line);
  EACH(DebugLocal, locals, n_locals, same_local);
}

static void same_asserted(const ImageAsserted *a, const ImageAsserted *b)
{
  SAME(pc), SAME_TEXT(text), SAME(type), SAME(place), SAME(reg), SAME(value);
}

static void same_constant(const DebugConstant *a, const DebugConstant *b)
{
  SAME_TEXT(name), SAME(type), SAME(is_float), SAME(kind), SAME(value), SAME(per_x), SAME(per_y);
}

static void same_debug(const ImageClass *a, const ImageClass *b)
{
  EACH(uint32_t, symbol_types, n_symbol_types, same_number);
  EACH(DebugFunction, functions, n_functions, same_function);
  EACH(ImageAsserted, numbers.asserted, numbers.n_asserted, same_asserted);
  EACH(DebugConstant, numbers.constants, numbers.n_constants, same_constant);
}

static void same_image(const Image *a, const Image *b)
{
  EACH(DebugType, debug_types, n_debug_types, same_type);
  EACH(ImageClass, classes, n_classes, same_debug);

  SAME(arch), SAME(fp16), SAME(sdk), SAME(memcpy), SAME(channels), SAME(width), SAME(height);
  SAME(fabric_width), SAME(fabric_height), SAME(offset_x), SAME(offset_y);
  EACH(ImageClass, classes, n_classes, same_class);
  for (unsigned i = 0; i < a->width * (unsigned)a->height; i++)
    SAME(tile_class[i]), SAME(tile_colors[i]), SAME(tile_blob_at[i]);
  SAME(tile_blob_bytes);
  assert_memory_equal(a->tile_blobs, b->tile_blobs, a->tile_blob_bytes);
  EACH(ImageColorConfig, color_configs, n_color_configs, same_color_config);
  EACH(ImageColorSet, color_sets, n_color_sets, same_set);
  EACH(ImageExport, exports, n_exports, same_export);
  SAME(n_files), SAME(n_params), SAME(is_of_script), SAME(n_streams);
  SAME(names_streams), SAME(named_streams[0]), SAME(named_streams[1]);
  for (uint32_t i = 0; i < a->n_files; i++)
    SAME_TEXT(files[i]);
  for (uint32_t i = 0; i < a->n_params; i++)
    SAME_TEXT(param_names[i]), SAME_TEXT(param_values[i]);
  for (uint32_t i = 0; i < a->n_streams; i++)
    SAME_TEXT(streams[i].name), SAME(streams[i].tile), SAME(streams[i].color),
      SAME(streams[i].is_input);
}

/* ---- round trip -------------------------------------------------------------------------- */

static uint8_t *write_sample(size_t *length)
{
  static Sample sample;
  sample_make(&sample);
  return image_write(&sample.image, length);
}

static void written_fields_are_read_back(void **state)
{
  (void)state;
  static Sample sample;
  sample_make(&sample);
  size_t length, again_length;
  uint8_t *file = image_write(&sample.image, &length);
  Arena *arena = arena_create("test");
  const char *reason;
  Image *image = image_read(file, length, arena, &reason);
  if (!image)
    fail_msg("%s", reason);
  assert_null(reason);
  same_image(&sample.image, image);
  assert_ptr_equal(image->classes[0].code, image->classes[1].code);   /* equal code: one copy */
  uint8_t *again = image_write(image, &again_length);
  assert_int_equal(length, again_length);
  assert_memory_equal(file, again, length);
  free(file), free(again);
  arena_destroy(arena);
}

static void lines_are_found(void **state)
{
  (void)state;
  static Sample sample;
  sample_make(&sample);
  const ImageClass *class = &sample.classes[0];
  assert_ptr_equal(image_line_at(class, SAMPLE_CODE_AT), &sample.lines[0]);
  assert_ptr_equal(image_line_at(class, (uint16_t)(sample.vec_at - 2)), &sample.lines[0]);
  assert_ptr_equal(image_line_at(class, sample.vec_at), &sample.lines[1]);
  assert_ptr_equal(image_line_at(class, sample.stub_at), &sample.lines[2]);
  assert_null(image_line_at(class, SAMPLE_CODE_AT - 2));
  assert_null(image_line_at(class, (uint16_t)(SAMPLE_CODE_AT + 2 * sample.n_code)));
  assert_null(image_line_at(&sample.classes[2], SAMPLE_CODE_AT));
  sample.lines[1].line = 0;
  assert_null(image_line_at(class, sample.vec_at));
}

static void the_summary_names_what_is_there(void **state)
{
  (void)state;
  static Sample sample;
  sample_make(&sample);
  char *text = NULL;
  size_t length;
  FILE *out = open_memstream(&text, &length);
  image_print(&sample.image, out);
  fclose(out);
  const char *const parts[] = {"program wse2, rectangle 5 x 4", "export function go",
                               "param P = 4", "class 0: pe.csl", "local task 9 'again'",
                               "input queue 2: color 3", "pe.x: [4]f32", "without code: 1 tiles"};
  for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
    if (!strstr(text, parts[i]))
      fail_msg("no '%s' in:\n%s", parts[i], text);
  free(text);
}

/* ---- damaged files ----------------------------------------------------------------------- */

static const char *read_reason(const uint8_t *file, size_t length)
{
  static char text[500];
  uint8_t *exact = malloc(length ? length : 1);   /* so that a sanitizer sees every overrun */
  memcpy(exact, file, length);
  Arena *arena = arena_create("test");
  const char *reason = NULL;
  Image *image = image_read(exact, length, arena, &reason);
  assert_int_equal(image == NULL, reason != NULL);
  snprintf(text, sizeof text, "%s", reason ? reason : "");
  arena_destroy(arena);
  free(exact);
  return reason ? text : NULL;
}

static void every_truncation_is_refused(void **state)
{
  (void)state;
  size_t length;
  uint8_t *file = write_sample(&length);
  assert_null(read_reason(file, length));
  for (size_t cut = 0; cut < length; cut++) {
    const char *reason = read_reason(file, cut);
    assert_non_null(reason);
    if (cut > IMAGE_AT_TABLE)
      assert_non_null(strstr(reason, "cut off"));
  }
  free(file);
}

static void bytes_at_the_end_are_refused(void **state)
{
  (void)state;
  size_t length;
  uint8_t *file = write_sample(&length);
  file = realloc(file, length + 1);
  file[length] = 0;
  assert_non_null(strstr(read_reason(file, length + 1), "bytes follow"));
  free(file);
}

static void every_bit_flip_is_refused(void **state)
{
  (void)state;
  size_t length;
  uint8_t *file = write_sample(&length);
  for (size_t bit = 0; bit < 8 * length; bit++) {
    file[bit / 8] ^= (uint8_t)(1u << bit % 8);
    assert_non_null(read_reason(file, length));
    file[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  for (unsigned turn = 0; turn < 20000; turn++) {
    uint8_t old[4];
    size_t at = random_below((uint32_t)length - 4);
    memcpy(old, file + at, 4);
    for (unsigned k = 0; k < 3; k++)
      file[at + random_below(4)] ^= (uint8_t)(1u << random_below(8));
    if (memcmp(old, file + at, 4) != 0)
      assert_non_null(read_reason(file, length));
    memcpy(file + at, old, 4);
  }
  free(file);
}

/* What is accepted although it was changed must mean something: written again and read again it
 * must be the same. */
static void expect_stable(const uint8_t *file, size_t length)
{
  Arena *arena = arena_create("test");
  const char *reason;
  Image *image = image_read(file, length, arena, &reason);
  if (image) {
    size_t second_length, third_length;
    uint8_t *second = image_write(image, &second_length);
    Image *back = image_read(second, second_length, arena, &reason);
    if (!back)
      fail_msg("an accepted image, written again, is refused: %s", reason);
    same_image(image, back);
    uint8_t *third = image_write(back, &third_length);
    assert_int_equal(second_length, third_length);
    assert_memory_equal(second, third, second_length);
    free(second), free(third);
  }
  arena_destroy(arena);
}

static void damage_behind_right_checksums_is_harmless(void **state)
{
  (void)state;
  size_t length;
  uint8_t *file = write_sample(&length), *copy = malloc(length);
  unsigned accepted = 0;
  for (unsigned turn = 0; turn < 20000; turn++) {
    memcpy(copy, file, length);
    for (unsigned k = 0; k <= random_below(3); k++)
      copy[IMAGE_HEADER_BYTES + random_below((uint32_t)length - IMAGE_HEADER_BYTES)] ^=
        (uint8_t)(1u << random_below(8));
    sample_seal(copy, length);
    accepted += read_reason(copy, length) == NULL;
    expect_stable(copy, length);
  }
  assert_true(accepted > 0 && accepted < 20000);
  free(file), free(copy);
}

static void a_changed_header_says_why(void **state)
{
  (void)state;
  size_t length;
  uint8_t *file = write_sample(&length);
  assert_string_equal(read_reason(file, 0), "the file is empty");
  file[IMAGE_AT_VERSION]++;
  assert_non_null(strstr(read_reason(file, length), "recompile with this cslc"));
  file[IMAGE_AT_VERSION]--;
  file[IMAGE_AT_HASH]++;
  assert_non_null(strstr(read_reason(file, length), "recompile with this cslc"));
  file[IMAGE_AT_HASH]--;
  file[0] = 0x7f;
  assert_non_null(strstr(read_reason(file, length), "no program image"));
  free(file);
}

/* ---- images that contradict themselves --------------------------------------------------- */

/* Spoils one thing; returns what the reason must say, NULL when there is no such case. */
static const char *spoil(Sample *s, unsigned number)
{
  Image *image = &s->image;
  ImageClass *c = &s->classes[0];
  switch (number) {
  case 0: image->sdk = 15; return "there is no dialect 15";
  case 1: image->channels = 17; return "17 channels";
  case 2: image->offset_x = 8; return "does not fit into the fabric";
  case 3: image->fabric_width = 800; return "larger than the wse2";
  case 4: s->code[0] = 0xff00;
    return "no instruction at 0x0100 of block 0: there is no such opcode";
  case 5: c->code_words--; return "does not end with a jump";
  case 6: c->code_address = 0x102; return "jumps to 0x0100, where no instruction starts";
  case 7: c->code_address = 0x103; return "does not fit";
  case 8: c->code_address = 0xbfff; return "does not fit";
  case 9: c->static_bytes = 0x102; return "its code overlaps its data";
  case 10: c->stack_top = 0x110; c->stack_bytes = 8; return "its stack overlaps its code";
  case 11: c->stack_top = 0x90; c->stack_bytes = 0x20; return "its stack overlaps its data";
  case 12: c->stack_top = 0xc002; return "is not in memory";
  case 13: c->stack_bytes = 0x1002; return "is not in memory";
  case 14: c->stack_top = 0xfff; return "is not in memory";
  case 15: c->static_bytes = 0xc001; return "outside memory";
  case 16: s->segments[1].address = 0x7f; return "initial data at 0x007f";
  case 17: s->slots[0].address = 0x7e; return "own data of a tile at 0x007e";
  case 18: s->slots[1].offset = 5; return "reach to byte 7 of 6";
  case 19: s->tasks[0].id = 24; return "is no data task of the wse2";
  case 20: s->tasks[1].id = 31; return "is no local task of the wse2";
  case 21: s->tasks[2].id = 64; return "is no control task";
  case 22: s->tasks[2].id = 9; return "two tasks have id 9";
  case 23: s->tasks[0].entry++; return "where no instruction starts";
  case 24: s->tasks[0].arguments = 3; return "takes 3 words";
  case 25: s->tasks[0].kind = TASK_NONE; return "is no none task";
  case 26: c->start_entry = 0x102; return "its start is at 0x0102";
  case 27: c->teardown_handler[1] = 2; return "teardown handler of color 1";
  case 28: c->output[6].used = true; return "has no output queue 6";
  case 29: c->input[2].color = 24; return "input queue 2 has color 24";
  case 30: c->input[1].color = 1; return "is unused, but has settings";
  case 31: c->data_queue[3] = 8; return "which does not exist";
  case 32: c->data_queue[4] = 1; return "which is not bound to it";
  case 33: c->paused = 1; return "at start, which the wse2 does not know";
  case 34: c->separate_control = true; return "own, which the wse2 does not know";
  case 35: s->dsrs[0].number = 16; return "there is no DSR src0[16]";
  case 36: s->dsrs[0].words[0] = 0; return "is no descriptor";
  case 37: s->configs[0].address = CFG_PE_COORD_X; return "0x7e00, which cannot be written";
  case 38: s->configs[0].address = 0; return "0x0000, which cannot be written";
  case 39: s->symbols[0].bytes = 0xbff1; return "symbol 'pe.x' lies outside memory";
  case 40: s->lines[0].pc += 2; return "its line table names 0x0102";
  case 41: s->lines[1].pc = SAMPLE_CODE_AT; return "is not sorted";
  case 42: s->lines[1].file = 2; return "names source file 2 of 2";
  case 43: s->lines[1].inlined_at = 2; return "names inlined call 2 of 2";
  case 44: s->inlines[1].parent = 0; return "contains itself";
  case 45: s->inlines[1].parent = 2; return "names inlined call 2 of 2";
  case 46: s->inlines[0].file = 9; return "names source file 9 of 2";
  case 47: s->vec_names[0].pc = s->task_at; return "where no vector operation starts";
  case 48: s->bindings[2].export_index = 4; return "it binds export 4 of 4";
  case 49: s->bindings[0].export_index = 1; return "exports are not sorted";
  case 50: s->bindings[0].address = 0xbff1; return "lies outside memory";
  case 51: s->bindings[1].address = 0xbfff; return "lies outside memory";
  case 52: s->bindings[2].address++; return "exported function 'go'";
  case 53: s->bindings[2].extent = 1; return "has the properties of data";
  case 54: c->launch_args = 0x7c; return "arguments of exported function 'go' do not fit";
  case 55: s->bindings[0].present = false; return "is not in this class, but has a place";
  case 56: s->exports[2].n_params = 16; return "has 16 parameters";
  case 57: s->exports[2].param_bytes[1] = 3; return "parameter 1 of function 'go'";
  case 58: s->exports[2].param_bytes[2] = 2; return "more parameters than it says";
  case 59: s->exports[0].element_bytes = 3; return "elements of 'x' have no known type";
  case 60: s->exports[0].element_class = 'q'; return "elements of 'x' have no known type";
  case 61: s->exports[2].element_bytes = 2; return "function 'go' has elements";
  case 62: s->configs_of_colors[0].positions[0].rx = 0x20; return "a port that does not exist";
  case 63: s->configs_of_colors[0].positions[2].rx = 1; return "routes in an invalid position";
  case 64: s->configs_of_colors[0].current = 2; return "starts in an invalid position";
  case 65: s->configs_of_colors[0].current = 4; return "starts in an invalid position";
  case 66: s->configs_of_colors[0].filter.limit1 = 1; return "has no filter, but settings";
  case 67: s->uses[1].config = 3; return "configuration 3 of 3";
  case 68: s->uses[2].color = 24; return "gives color 24";
  case 69: s->uses[2].color = 5; return "is not sorted by color";
  case 70: s->tile_class[3] = 3; return "tile 3 has class 3 of 3";
  case 71: s->tile_colors[19] = 2; return "tile 19 has color set 2 of 2";
  case 72: s->tile_blob_at[0] = sizeof s->blobs - 5; return "lies outside section 'blobs'";
  case 73: image->tile_blob_bytes -= 6 * 2; return "lies outside section 'blobs'";
  case 74: s->bindings[2].export_index = 3; s->bindings[2].is_pointer = true;
    return "stream 's' has the properties of data";
  case 75:
    image->arch = ARCH_WSE3;
    s->tasks[0].id = 3, s->uses[0].color = 10, s->uses[1].color = 11, s->uses[2].color = 12;
    return "switches for color 10, which the wse3 cannot switch";
  case 76: image->arch = ARCH_WSE3, s->tasks[0].id = 8; return "is no data task of the wse3";
  case 77:   /* in a class that no tile has */
    for (unsigned i = 0; i < SAMPLE_TILES; i++)
      s->tile_class[i] = IMAGE_NO_CLASS;
    c->tile_blob_bytes = 0xc001;
    return "own data for each tile do not fit";
  case 78: image->fabric_height = 0; return "does not fit into the fabric";
  case 79: s->accesses[0].symbol = 1; return "names symbol 1, which is no variable";
  case 80:   /* bound to another color, which is enough on the wse2 only */
    image->arch = ARCH_WSE3, s->tasks[0].id = 3, c->data_queue[4] = 2;
    return "color 4 arrives in input queue 2, which is not bound to it";
  case 81: s->types[1].of = 2; return "type 1 refers to a type behind it";
  case 82: s->types[1].n_dims = 0; return "type 1 is an array without elements or dimensions";
  case 83: s->dims[0] = UINT32_MAX; return "type 1 is an array that is too large";
  case 84: s->dims[0] = 3; return "type 1 is an array of another size than its elements";
  case 85: s->types[3].bits = 9; return "type 3 has more bits than bytes";
  case 86: s->types[4].of = 1; return "type 4 is an enum without an integer";
  case 87: s->types[0].bits = 16; return "type 0 is a float of another size";
  case 88: s->members[4].type = 6; return "type 5 has a field without a type before it";
  case 89: s->members[4].bit = 40; return "type 5 has a field outside itself";
  case 90: s->members[4].bit = 3; return "type 5 has a field that starts inside a byte";
  case 91: c->n_symbol_types = 1; return "class 0 has not as many types as symbols";
  case 92: s->symbol_types[1] = 7; return "has a symbol with a type that does not exist";
  case 93: s->symbol_types[1] = 2; return "has a symbol that is smaller than its type";
  case 94: s->functions[0].symbol = 0; return "has a function that is no symbol of code";
  case 95: s->locals[1].type = 7; return "has a local variable with a type that does not exist";
  case 96: s->locals[1].file = 2; return "has a local variable of a file that does not exist";
  case 97: s->locals[1].inlined = 2; return "has a local variable of a call that does not exist";
  case 98: s->ranges[1].end = SAMPLE_CODE_AT; return "has a local variable with an empty place";
  case 99: s->ranges[0].value = 16; return "in a register that does not exist";
  case 100: s->ranges[1].value = PE_MEM_BYTES; return "has a local variable outside memory";
  case 101: s->functions[0].saved = 0xf; return "too small for the registers it saves";
  case 102: s->types[5].kind = DT_KIND_COUNT; return "kind of type";
  case 103: s->ranges[0].place = PLACE_KIND_COUNT; return "kind of place";
  case 104: s->accesses[0].operand = 4; return "is of operand 4, which no instruction there has";
  case 105: s->accesses[1].operand = 1; return "is of operand 1, which no instruction there has";
  case 106: s->accesses[1].pc = s->vec_at; return "its accesses are not sorted";
  case 107: s->asserts[0].pc = s->vec_at; return "where no scalar instruction starts";
  case 108:
    s->asserts[1] = s->asserts[0], c->n_asserts = 2;
    return "its assertions are not sorted";
  case 109: s->streams[1].tile = SAMPLE_TILES; return "stream 'b.tx' is at tile 20 of 20";
  case 110: s->streams[0].color = 24; return "stream 'a.rx' has color 24 of 24";
  case 111: s->image.named_streams[1] = 1u << 24; return "names a stream of a color above 23";
  case 112: s->asserted[0].type = DEBUG_NO_TYPE;
    return "has an assertion about a type that does not exist";
  case 113: s->asserted[2].type = 7; return "has an assertion about a type that does not exist";
  case 114: s->asserted[2].type = 2;
    return "has an assertion about a value that no register holds";
  case 115: s->asserted[0].reg = GPR_COUNT;
    return "has an assertion about a register that does not exist";
  case 116: s->asserted[0].reg = ASSERTED_NO_BASE;
    return "has an assertion about a register that does not exist";
  case 117: s->asserted[1].reg = ASSERTED_NO_BASE - 1;
    return "has an assertion about a register that does not exist";
  case 118: s->asserted[1].place = ASSERTED_KIND_COUNT; return "kind of place";
  case 119: s->constants[1].type = 7; return "has a constant with a type that does not exist";
  case 120: s->constants[0].type = 2; return "has a constant that is no number";
  case 121: s->constants[4].type = DEBUG_NO_TYPE;
    return "has a constant outside the tile's own data";
  case 122: s->constants[4].value += 3; return "has a constant outside the tile's own data";
  case 123: s->constants[4].value = UINT64_MAX; return "has a constant outside the tile's own data";
  case 124: s->constants[3].kind = NUMBER_KIND_COUNT; return "kind of number";
  default: return NULL;
  }
}

static void contradictions_are_refused_by_name(void **state)
{
  (void)state;
  static Sample sample;
  for (unsigned number = 0;; number++) {
    sample_make(&sample);
    const char *expected = spoil(&sample, number);
    if (!expected)
      break;
    size_t length;
    uint8_t *file = image_write(&sample.image, &length);
    const char *reason = read_reason(file, length);
    if (!reason || !strstr(reason, expected))
      fail_msg("case %u: expected '...%s...', got '%s'", number, expected,
               reason ? reason : "(accepted)");
    free(file);
  }
}

static void too_many_filters_are_refused(void **state)
{
  (void)state;
  static Sample sample;
  for (unsigned n = MAX_FILTERS; n <= MAX_FILTERS + 1; n++) {
    ImageColorUse uses[MAX_FILTERS + 1];
    sample_make(&sample);
    for (unsigned i = 0; i < n; i++)
      uses[i] = (ImageColorUse){(uint8_t)i, 1};
    sample.sets[1] = (ImageColorSet){n, uses};
    size_t length;
    uint8_t *file = image_write(&sample.image, &length);
    const char *reason = read_reason(file, length);
    if (n == MAX_FILTERS)
      assert_null(reason);
    else
      assert_non_null(strstr(reason, "has 7 filters, a tile has 6"));
    free(file);
  }
}

/* Lengths that promise more than there is must not be believed, nor cost memory. */
static void announced_counts_are_checked_before_they_are_believed(void **state)
{
  (void)state;
  size_t length;
  uint8_t *file = write_sample(&length), *copy = malloc(length);
  unsigned refused = 0;
  for (size_t at = IMAGE_HEADER_BYTES; at + 4 <= length; at++) {
    memcpy(copy, file, length);
    memset(copy + at, 0xff, 4);
    copy[at + 3] = 0x7f;
    sample_seal(copy, length);
    Arena *arena = arena_create("test");
    const char *reason;
    refused += image_read(copy, length, arena, &reason) == NULL;
    assert_true(arena_used_bytes(arena) < 64 * length);
    arena_destroy(arena);
  }
  assert_true(refused > 100);
  free(file), free(copy);
}

/* ---- grids ------------------------------------------------------------------------------- */

static void a_whole_wafer_loads_quickly(void **state)
{
  (void)state;
  enum { W = 750, H = 994, N = W * H, BLOB = 4 };
  static Sample sample;
  sample_make(&sample);
  uint32_t *classes = calloc(N, sizeof *classes), *colors = calloc(N, sizeof *colors);
  uint64_t *places = calloc(N, sizeof *places);
  uint8_t *blobs = calloc(N, BLOB);
  for (unsigned i = 0; i < N; i++) {
    unsigned x = i % W, y = i / W;
    classes[i] = x == 0 || x == W - 1 || y == 0;
    colors[i] = (x + y) % 2;
    places[i] = (uint64_t)i * BLOB;
    store_le(blobs + (size_t)i * BLOB, x | y << 16, 4);
  }
  sample.classes[0].tile_blob_bytes = sample.classes[1].tile_blob_bytes = BLOB;
  sample.classes[0].n_tile_slots = sample.classes[1].n_tile_slots = 1;
  Image *image = &sample.image;
  image->width = W, image->height = H, image->fabric_width = 757, image->fabric_height = 996;
  image->tile_class = classes, image->tile_colors = colors, image->tile_blob_at = places;
  image->tile_blobs = blobs, image->tile_blob_bytes = (uint64_t)N * BLOB;
  size_t length;
  uint8_t *file = image_write(image, &length);
  assert_true(length < (uint64_t)N * BLOB + 20000);   /* the grids cost next to nothing */
  Arena *arena = arena_create("test");
  const char *reason;
  clock_t start = clock();
  Image *back = image_read(file, length, arena, &reason);
  double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  if (!back)
    fail_msg("%s", reason);
  print_message("a wafer of %d tiles: %zu bytes, read in %.3f s\n", N, length, seconds);
  assert_true(seconds < 1);
  assert_memory_equal(back->tile_class, classes, N * sizeof *classes);
  assert_memory_equal(back->tile_colors, colors, N * sizeof *colors);
  assert_memory_equal(back->tile_blob_at, places, N * sizeof *places);
  assert_memory_equal(back->tile_blobs, blobs, (size_t)N * BLOB);
  arena_destroy(arena);
  free(file), free(classes), free(colors), free(places), free(blobs);
}

static void grid_survives(const uint64_t *values, size_t count, size_t row)
{
  Codec out = {.mode = CODEC_WRITE};
  grid_write(&out, values, count, row);
  size_t length = 0;
  Arena *arena = arena_create("test");
  uint64_t *back = arena_many(arena, uint64_t, count);
  /* the reader finds the end by itself: offer more than was written, expect what is too much */
  Codec in = {.mode = CODEC_READ, .at = out.out, .arena = arena};
  for (length = 1; length < 16 * count + 16; length++) {
    in.at = out.out, in.end = out.out + length, in.reason = NULL;
    if (grid_read(&in, back, count))
      break;
  }
  assert_memory_equal(values, back, count * sizeof *values);
  arena_destroy(arena);
  arrfree(out.out);
}

static void grids_of_every_width_survive(void **state)
{
  (void)state;
  uint64_t values[60];
  for (unsigned turn = 0; turn < 3000; turn++) {
    size_t count = 1 + random_below(60), row = 1 + random_below(10);
    unsigned bits = 1 + random_below(64), repeat = 1 + random_below(4);
    for (size_t i = 0; i < count; i++) {
      values[i] = ((uint64_t)random_below(UINT32_MAX) << 32 | random_below(UINT32_MAX)) >>
                  (64 - bits);
      if (i >= row && random_below(repeat) == 0)
        values[i] = values[i - row];
    }
    grid_survives(values, count, row);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(written_fields_are_read_back),
    cmocka_unit_test(lines_are_found),
    cmocka_unit_test(the_summary_names_what_is_there),
    cmocka_unit_test(every_truncation_is_refused),
    cmocka_unit_test(bytes_at_the_end_are_refused),
    cmocka_unit_test(every_bit_flip_is_refused),
    cmocka_unit_test(damage_behind_right_checksums_is_harmless),
    cmocka_unit_test(a_changed_header_says_why),
    cmocka_unit_test(contradictions_are_refused_by_name),
    cmocka_unit_test(too_many_filters_are_refused),
    cmocka_unit_test(announced_counts_are_checked_before_they_are_believed),
    cmocka_unit_test(a_whole_wafer_loads_quickly),
    cmocka_unit_test(grids_of_every_width_survive),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
