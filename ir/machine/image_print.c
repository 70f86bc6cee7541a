/* A program image as text for people and tests. */
#include "ir/machine/machine.h"

#include <inttypes.h>
#include <stdlib.h>

/* "1 class", "2 classes"; `plural` is what more than one add to the noun. */
static void print_count(FILE *out, const char *before, uint32_t n, const char *noun,
                        const char *plural)
{
  fprintf(out, "%s%u %s%s", before, n, noun, n == 1 ? "" : plural);
}

static void print_program(const Image *image, FILE *out)
{
  fprintf(out, "program %s, rectangle %u x %u at (%u, %u) of fabric %u x %u, %s",
          machine_get(image->arch)->name, image->width, image->height, image->offset_x,
          image->offset_y, image->fabric_width, image->fabric_height, fp16_name(image->fp16));
  if (image->memcpy)
    print_count(out, ", memcpy with ", image->channels, "channel", "s");
  print_count(out, "\n", image->n_classes, "class", "es");
  print_count(out, ", ", image->n_color_sets, "color set", "s");
  print_count(out, " of ", image->n_color_configs, "configuration", "s");
  print_count(out, ", ", image->n_exports, "export", "s");
  fprintf(out, ", %" PRIu64 " bytes of tile data\n", image->tile_blob_bytes);
  for (uint32_t i = 0; i < image->n_params; i++)
    fprintf(out, "param %s = %s\n", image->param_names[i], image->param_values[i]);
}

static void print_exports(const Image *image, FILE *out)
{
  static const char *const kinds[] = {"data", "function", "stream"};
  for (uint32_t i = 0; i < image->n_exports; i++)
    fprintf(out, "export %s %s: %s%s\n", kinds[image->exports[i].kind], image->exports[i].name,
            image->exports[i].type, image->exports[i].is_mutable ? ", mutable" : "");
}

static void print_memory(const ImageClass *class, FILE *out)
{
  fprintf(out, "  data   0x0000..0x%04x\n  code   0x%04x..0x%04x\n  stack  0x%04x..0x%04x\n",
          class->static_bytes, class->code_address,
          class->code_address + 2 * class->code_words, class->stack_top - class->stack_bytes,
          class->stack_top);
}

static void print_names(const ImageClass *class, FILE *out)
{
  for (uint32_t i = 0; i < class->n_tasks; i++)
    fprintf(out, "  %s task %u '%s' at 0x%04x\n", task_kind_name(class->tasks[i].kind),
            class->tasks[i].id, class->tasks[i].name, class->tasks[i].entry);
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    if (class->input[q].used)
      fprintf(out, "  input queue %u: color %u\n", q, class->input[q].color);
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    if (class->output[q].used)
      fprintf(out, "  output queue %u: color %u\n", q, class->output[q].color);
  for (uint32_t i = 0; i < class->n_symbols; i++)
    fprintf(out, "  0x%04x %6u %s: %s\n", class->symbols[i].address, class->symbols[i].bytes,
            class->symbols[i].name, class->symbols[i].type);
}

static void print_place(const DebugRange *range, FILE *out)
{
  static const char *const forms[] = {
    [PLACE_REGISTER] = "r%" PRIu64, [PLACE_FRAME] = "sp+%" PRIu64,
    [PLACE_AT_REGISTER] = "[r%" PRIu64 "]",
    [PLACE_AT_FRAME] = "[sp+%" PRIu64 "]", [PLACE_CONSTANT] = "= 0x%" PRIx64,
  };
  fprintf(out, " 0x%04x..0x%04x ", range->first, range->end);
  fprintf(out, forms[range->place], range->value);
}

static void print_functions(const Image *image, const ImageClass *class, FILE *out)
{
  for (uint32_t i = 0; i < class->n_functions; i++) {
    const DebugFunction *f = &class->functions[i];
    fprintf(out, "  %s %s, frame of %u bytes\n", f->is_task ? "task" : "function",
            class->symbols[f->symbol].name, f->frame_bytes);
    for (uint32_t k = 0; k < f->n_held; k++)
      fprintf(out, "    holds %s\n", class->symbols[f->held[k]].name);
    for (uint32_t k = 0; k < f->n_locals; k++) {
      const DebugLocal *local = &f->locals[k];
      fprintf(out, "    %s %s: %s, line %u%s%s:", local->is_param ? "parameter" : "local",
              local->name, image_debug_type(image, local->type)->name, local->line,
              local->inlined == IMAGE_NO_INLINE ? "" : ", inlined ",
              local->inlined == IMAGE_NO_INLINE ? "" : class->inlines[local->inlined].function);
      for (uint32_t r = 0; r < local->n_ranges; r++)
        print_place(&local->ranges[r], out);
      fputc('\n', out);
    }
  }
}

static void print_classes(const Image *image, FILE *out)
{
  size_t n_tiles = (size_t)image->width * image->height;
  size_t *tiles = base_malloc((image->n_classes + (size_t)1) * sizeof *tiles);
  for (uint32_t i = 0; i <= image->n_classes; i++)
    tiles[i] = 0;
  for (size_t i = 0; i < n_tiles; i++) {
    uint32_t class = image->tile_class[i];
    tiles[class == IMAGE_NO_CLASS ? image->n_classes : class]++;
  }
  for (uint32_t i = 0; i < image->n_classes; i++) {
    fprintf(out, "class %u: %s, %zu tiles\n", i, image->classes[i].source, tiles[i]);
    print_memory(&image->classes[i], out);
    print_names(&image->classes[i], out);
    print_functions(image, &image->classes[i], out);
  }
  if (tiles[image->n_classes])
    fprintf(out, "without code: %zu tiles\n", tiles[image->n_classes]);
  free(tiles);
}

void image_print(const Image *image, FILE *out)
{
  print_program(image, out);
  print_exports(image, out);
  print_classes(image, out);
}
