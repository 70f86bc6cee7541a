/* Compiles IR text or a built module as the only tile of an image and runs it on the reference
 * engine; for the unit tests of the code generator. */
#ifndef TESTS_CODEGEN_HARNESS_H
#define TESTS_CODEGEN_HARNESS_H

#include <stdlib.h>
#include <string.h>

#include "emu/explain/explain.h"
#include "emu/reference/reference.h"
#include "emu/tile/tile.h"
#include "ir/ir.h"

typedef struct {
  Arena *arena;
  SourceMap *sources;
  Diags *diags;
  DiagFormat format;       /* of messages */
  char *messages;          /* what was reported; malloc'ed */
  CodegenResult result;
  Image image;
  uint32_t zero32;
  uint64_t zero64;
  ImageColorSet colors;                /* of the tile: none unless the test sets them */
  uint32_t n_color_configs;
  const ImageColorConfig *color_configs;
  bool check_memory;                   /* accesses outside variables, races with the background */
  Program *program;
  Engine *engine;
} Run;

static inline void run_create(Run *r)
{
  *r = (Run){.arena = arena_create("test"), .sources = source_map_create()};
  r->diags = diags_create(r->sources);
}

static inline void run_destroy(Run *r)
{
  if (r->engine)
    r->engine->ops->destroy(r->engine);
  free(r->messages);
  diags_destroy(r->diags);
  source_map_destroy(r->sources);
  arena_destroy(r->arena);
}

static inline void run_flush(Run *r)
{
  size_t size;
  free(r->messages);
  FILE *out = open_memstream(&r->messages, &size);
  diags_flush(r->diags, out, r->format);
  fclose(out);
}

static inline IrModule *run_read(Run *r, const char *text)
{
  FileId file = source_add(r->sources, "t.ir", text, strlen(text));
  IrModule *m = ir_read(r->arena, r->sources, file, r->diags);
  run_flush(r);
  return m;
}

/* False after diagnostics, which are in r->messages. */
static inline bool run_compile(Run *r, const IrModule *m, int level)
{
  CodegenOptions options = {.level = level};
  bool ok = codegen_module(m, &options, r->sources, r->arena, r->diags, &r->result);
  run_flush(r);
  return ok;
}

static inline char *run_asm(const Run *r)
{
  char *text;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  codegen_print_asm(&r->result, out);
  fclose(out);
  return text;
}

/* Makes a one-tile image of the class and an engine for it; NULL on success, else a reason. */
static inline const char *run_load(Run *r, const IrModule *m)
{
  const char *reason = NULL;
  r->image = (Image){
    .arena = r->arena, .arch = m->arch, .fp16 = m->fp16, .width = 1, .height = 1,
    .fabric_width = 1, .fabric_height = 1, .n_classes = 1, .classes = &r->result.image,
    .tile_class = &r->zero32, .tile_colors = &r->zero32, .tile_blob_at = &r->zero64,
    .tile_blob_bytes = r->result.image.tile_blob_bytes,
    .tile_blobs = arena_many(r->arena, uint8_t, r->result.image.tile_blob_bytes + 1),
    .n_color_configs = r->n_color_configs, .color_configs = r->color_configs,
    .n_color_sets = 1, .color_sets = &r->colors,
  };
  r->program = program_load(&r->image, NULL, r->arena, &reason);
  if (!r->program)
    return reason ? reason : "the image does not load";
  if (r->check_memory)
    program_check_memory(r->program);
  EngineOptions options = {.check = CHECK_ERROR};
  r->engine = engine_reference.create(r->program, &options);
  return NULL;
}

/* Launches the first exported function and runs to the end; NULL, or the fault's text. */
static inline const char *run_launch(Run *r, uint64_t max_cycles)
{
  for (uint32_t i = 0; i < r->result.image.n_bindings; i++) {
    const ImageBinding *b = &r->result.image.bindings[i];
    bool is_code = b->address >= r->result.image.code_address;
    if (is_code && !r->engine->ops->launch(r->engine, 0, b->address))
      return "the launch was refused";
    if (is_code)
      break;
  }
  RunStatus status = r->engine->ops->run(r->engine, max_cycles);
  if (status == RUN_LIMIT)
    return "the cycle limit was reached";
  if (status == RUN_QUIET)
    return NULL;
  size_t count;
  const Fault *faults = r->engine->ops->faults(r->engine, &count);
  char text[400] = "";
  if (count)
    fault_text(r->program, &faults[count - 1], text, sizeof text);
  return arena_printf(r->arena, "fault: %s", text);
}

static inline const ImageSymbol *run_symbol(const Run *r, const char *name)
{
  for (uint32_t i = 0; i < r->result.image.n_symbols; i++)
    if (strcmp(r->result.image.symbols[i].name, name) == 0)
      return &r->result.image.symbols[i];
  return NULL;
}

static inline bool run_memory(Run *r, const char *name, void *to, uint32_t bytes)
{
  const ImageSymbol *s = run_symbol(r, name);
  return s && r->engine->ops->mem_read(r->engine, 0, s->address, to, bytes);
}

#endif
