/* Fuzz target of the engines: an image that the reader accepts, whatever it does, runs for a
 * bounded number of cycles on both of them, with a trace and without one, and they agree. */
#include "tests/image_mutate.h"

#include "emu/fast/fast.h"
#include "emu/reference/reference.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
  MOST_TILES = 64, CYCLES = 1200, WORDS = 6, ENGINES = 2,
  ALL_EVENTS = (1 << TRACE_KIND_COUNT) - 1
};

typedef struct {
  Program *program;
  Engine *engine;
  const EngineOps *ops;
  TraceSink sink;
  uint64_t events;              /* a hash of their texts */
  RunStatus status;
} Run;

static uint64_t hash(uint64_t state, const void *bytes, size_t size)
{
  const uint8_t *at = bytes;
  for (size_t i = 0; i < size; i++)
    state = (state ^ at[i]) * 1099511628211u;
  return state;
}

static void event(TraceSink *sink, const TraceEvent *e)
{
  Run *run = sink->context;
  char text[512];
  trace_format(run->program, e, text, sizeof text);
  run->events = hash(run->events, text, strlen(text));
}

/* Calls of what the program exports, and words for the code that takes them. */
static void drive(Run *run)
{
  const Image *image = run->program->image;
  for (uint32_t t = 0; t < run->program->n_tiles; t++) {
    const ClassCode *cls = program_class(run->program, t);
    for (uint32_t b = 0; cls && b < cls->image->n_bindings; b++) {
      const ImageBinding *binding = &cls->image->bindings[b];
      if (binding->present && image->exports[binding->export_index].kind == EXPORT_FUNCTION &&
          !image->memcpy)
        run->ops->launch(run->engine, t, binding->address);
    }
    for (unsigned i = 0; cls && i < WORDS; i++)
      run->ops->post(run->engine, t, i * 5 % MAX_COLORS, i * 0x01234567u, i * 9);
  }
}

static void start(Run *run, const Image *image, Arena *arena, const EngineOps *ops, bool traced)
{
  const char *reason;
  *run = (Run){.ops = ops, .program = program_load(image, NULL, arena, &reason)};
  if (!run->program)
    return;
  run->sink = trace_sink(run->program, ALL_EVENTS, event, run);
  EngineOptions options = {.check = CHECK_ERROR, .trace = traced ? &run->sink : NULL};
  run->engine = ops->create(run->program, &options);
  drive(run);
  run->status = ops->run(run->engine, CYCLES);
}

static void compare_faults(const Run *a, const Run *b)
{
  size_t n, m;
  const Fault *x = a->ops->faults(a->engine, &n), *y = b->ops->faults(b->engine, &m);
  if (n != m)
    ICE("%zu and %zu faults", n, m);
  for (size_t i = 0; i < n; i++)
    if (fault_compare(&x[i], &y[i]) != 0 || x[i].cycle != y[i].cycle || x[i].value != y[i].value)
      ICE("faults %s and %s", fault_name(x[i].kind), fault_name(y[i].kind));
}

static void compare_memory(const Run *a, const Run *b)
{
  static uint8_t x[PE_MEM_BYTES], y[PE_MEM_BYTES];
  for (uint32_t t = 0; t < a->program->n_tiles; t++)
    if (a->ops->mem_read(a->engine, t, 0, x, sizeof x) !=
            b->ops->mem_read(b->engine, t, 0, y, sizeof y) || memcmp(x, y, sizeof x) != 0)
      ICE("tile %u has other memory", (unsigned)t);
}

/* Without a trace, a fault ends the fast engine with its block of cycles, and other tiles may be
 * further. */
static void compare(const Run *a, const Run *b, bool traced)
{
  if (a->status != b->status)
    ICE("one engine ends with %d, the other with %d", (int)a->status, (int)b->status);
  compare_faults(a, b);
  if (a->events != b->events)
    ICE("the traces differ");
  if (a->status == RUN_FAULT && !traced)
    return;
  const EngineStats *x = a->ops->stats(a->engine), *y = b->ops->stats(b->engine);
  if (a->ops->cycle(a->engine) != b->ops->cycle(b->engine) || x->instructions != y->instructions ||
      x->wavelets != y->wavelets || x->elements != y->elements)
    ICE("cycles or statistics differ");
  compare_memory(a, b);
}

static void run_image(const Image *image, bool traced)
{
  static const EngineOps *const engines[ENGINES] = {&engine_reference, &engine_fast};
  Arena *arena = arena_create("fuzz");
  Run runs[ENGINES];
  for (unsigned i = 0; i < ENGINES; i++)
    start(&runs[i], image, arena, engines[i], traced);
  if (runs[0].program)
    compare(&runs[0], &runs[1], traced);
  for (unsigned i = 0; i < ENGINES; i++)
    if (runs[i].engine)
      runs[i].ops->destroy(runs[i].engine);
  arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  Arena *arena = arena_create("fuzz");
  const char *reason;
  const Image *image = image_read(data, size, arena, &reason);
  if (image && (uint32_t)image->width * image->height <= MOST_TILES) {
    run_image(image, true);
    run_image(image, false);
  }
  arena_destroy(arena);
  return 0;
}
