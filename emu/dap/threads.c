/* Tiles as threads, and their frames.  Where a program has many tiles, those that do the same stand
 * together behind the first of them; a tile that the client has been at stands alone. */
#include "emu/dap/dap_internal.h"

#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

static const Program *program_of(const DapServer *s)
{
  return s->debugger.program;
}

bool thread_tile(DapServer *s, const json_t *args, uint32_t *tile)
{
  json_int_t thread = arg_number(args, "threadId", thread_of(s->debugger.tile));
  *tile = (uint32_t)(thread - 1);
  if (thread >= 1 && thread <= (json_int_t)program_of(s)->n_tiles)
    return true;
  refuse_request(s, "there is no tile for thread %lld", (long long)thread);
  return false;
}

void thread_pin(DapServer *s, uint32_t tile)
{
  for (size_t i = 0; i < arrlenu(s->pinned); i++)
    if (s->pinned[i] == tile)
      return;
  if (arrlenu(s->pinned) >= s->most_threads)
    arrdel(s->pinned, 0);
  arrput(s->pinned, tile);
}

/* ---- addresses ------------------------------------------------------------------------------- */

char *reference_text(const DapServer *s, uint32_t tile, uint32_t address)
{
  return base_print("%u,%u:0x%04x", program_x(program_of(s), tile), program_y(program_of(s), tile),
                    address);
}

bool reference_read(DapServer *s, const char *text, uint32_t *tile, int64_t *address)
{
  unsigned x, y, at;
  char tail;
  const Image *image = program_of(s)->image;
  if (sscanf(text, "%9u,%9u:0x%6x%c", &x, &y, &at, &tail) != 3 || x >= image->width ||
      y >= image->height) {
    refuse_request(s, "'%s' is no address X,Y:0xADDRESS", text);
    return false;
  }
  *tile = program_tile(program_of(s), x, y);
  *address = at;
  return true;
}

/* ---- threads --------------------------------------------------------------------------------- */

/* What a tile does: the function that its main thread runs, and whether it waits there. */
typedef struct {
  uint32_t cls, function;
  bool runs, waits;
} Doing;

static Doing doing_of(const DapServer *s, uint32_t tile)
{
  Engine *engine = timeline_engine(s->debugger.timeline);
  const Tile *core = engine->ops->tile(engine, tile, false);
  Doing doing = {.cls = program_of(s)->image->tile_class[tile], .function = UINT32_MAX};
  if (!core || !core->running)
    return doing;
  const VecRun *run = core->threads[MAIN_THREAD].run;
  const DebugFunction *f = calls_function(core->mem.cls->image, run ? run->pc : core->pc);
  doing.runs = true;
  doing.waits = run != NULL;
  doing.function = f ? f->symbol : UINT32_MAX;
  return doing;
}

static char *doing_text(const DapServer *s, Doing doing)
{
  const ImageClass *cls = &program_of(s)->image->classes[doing.cls];
  const char *slash = strrchr(cls->source, '/');
  if (!doing.runs)
    return base_print("idle (%s)", slash ? slash + 1 : cls->source);
  return base_print("%s%s",
                    doing.function == UINT32_MAX ? "runs" : cls->symbols[doing.function].name,
                    doing.waits ? ", vector operation" : "");
}

static void add_thread(DapServer *s, json_t *list, uint32_t tile, Doing doing, size_t others)
{
  char *what = doing_text(s, doing);
  char *name = others ? base_print("P%u.%u and %zu more: %s", program_x(program_of(s), tile),
                                   program_y(program_of(s), tile), others, what)
                      : base_print("P%u.%u: %s", program_x(program_of(s), tile),
                                   program_y(program_of(s), tile), what);
  json_array_append_new(
      list, json_pack("{s:I,s:o}", "id", thread_of(tile), "name", base_json_text(name)));
  free(name);
  free(what);
}

typedef struct {
  uint64_t key;
  uint32_t first;
  size_t count;
} Group;

static bool is_pinned(const DapServer *s, uint32_t tile)
{
  for (size_t i = 0; i < arrlenu(s->pinned); i++)
    if (s->pinned[i] == tile)
      return true;
  return false;
}

/* Tiles with code that do the same, by the first of them. */
static Group *group_tiles(DapServer *s)
{
  struct {
    uint64_t key;
    size_t value;
  } *places = NULL;
  Group *groups = NULL;
  for (uint32_t t = 0; t < program_of(s)->n_tiles; t++) {
    if (!program_class(program_of(s), t) || is_pinned(s, t))
      continue;
    Doing doing = doing_of(s, t);
    uint64_t key = (uint64_t)doing.cls << 34 | (uint64_t)doing.function << 2 |
                   (uint64_t)doing.runs << 1 | doing.waits;
    ptrdiff_t at = hmgeti(places, key);
    if (at < 0) {
      hmput(places, key, arrlenu(groups));
      arrput(groups, ((Group){key, t, 0}));
      continue;
    }
    groups[places[at].value].count++;
  }
  hmfree(places);
  return groups;
}

static bool has_few_tiles(const DapServer *s)
{
  size_t n = 0;
  for (uint32_t t = 0; t < program_of(s)->n_tiles && n <= s->most_threads; t++)
    n += program_class(program_of(s), t) != NULL;
  return n <= s->most_threads;
}

json_t *answer_threads(DapServer *s, const json_t *args)
{
  json_t *list = json_array();
  (void)args;
  if (has_few_tiles(s)) {
    for (uint32_t t = 0; t < program_of(s)->n_tiles; t++)
      if (program_class(program_of(s), t))
        add_thread(s, list, t, doing_of(s, t), 0);
    return json_pack("{s:o}", "threads", list);
  }
  for (size_t i = 0; i < arrlenu(s->pinned); i++)
    add_thread(s, list, s->pinned[i], doing_of(s, s->pinned[i]), 0);
  Group *groups = group_tiles(s);
  for (size_t i = 0; i < arrlenu(groups) && i < s->most_threads; i++)
    add_thread(s, list, groups[i].first, doing_of(s, groups[i].first), groups[i].count);
  arrfree(groups);
  return json_pack("{s:o}", "threads", list);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static json_t *frame_json(DapServer *s, uint32_t tile, unsigned number, const DebugFrame *f)
{
  arrput(s->frames, ((FrameHandle){tile, number}));
  char *name = base_print("%s%s", f ? f->function : "idle",
                          f && f->inlined != IMAGE_NO_INLINE ? " (inlined)" : "");
  json_t *out = json_pack("{s:i,s:o,s:i,s:i}", "id", (int)arrlenu(s->frames), "name",
                          base_json_text(name), "line", 0, "column", 0);
  free(name);
  json_t *source = f && *f->file ? places_source(s, f->file) : NULL;
  if (source) {
    json_object_set_new(out, "source", source);
    json_object_set_new(out, "line", json_integer((json_int_t)f->line + s->line_base));
    json_object_set_new(out, "column", json_integer((json_int_t)f->column + s->column_base));
  }
  if (f) {
    char *at = reference_text(s, tile, f->pc);
    json_object_set_new(out, "instructionPointerReference", base_json_text(at));
    free(at);
  }
  return out;
}

json_t *answer_stack(DapServer *s, const json_t *args)
{
  DebugFrame frames[MOST_FRAMES];
  uint32_t tile;
  if (!thread_tile(s, args, &tile))
    return NULL;
  unsigned all = frames_find(s->debugger.timeline, tile, frames);
  unsigned chosen = debugger_frame(&s->debugger, tile), inner = chosen < all ? chosen : 0;
  unsigned n = all - inner;
  json_int_t first = arg_number(args, "startFrame", 0), levels = arg_number(args, "levels", 0);
  json_t *list = json_array();
  if (n == 0)
    json_array_append_new(list, frame_json(s, tile, 0, NULL));
  for (unsigned i = first > 0 ? first < (json_int_t)n ? (unsigned)first : n : 0;
       i < n && (levels <= 0 || i < first + levels); i++)
    json_array_append_new(list, frame_json(s, tile, inner + i, &frames[inner + i]));
  return json_pack("{s:o,s:i}", "stackFrames", list, "totalFrames", n ? (int)n : 1);
}

json_t *answer_scopes(DapServer *s, const json_t *args)
{
  static const struct {
    const char *name, *hint;
    bool expensive;
  } scopes[SCOPE_COUNT] = {
      [SCOPE_ARGUMENTS] = {"Parameters", "arguments", false},
      [SCOPE_LOCALS] = {"Locals", "locals", false},
      [SCOPE_GLOBALS] = {"Globals", "globals", false},
      [SCOPE_CONSTANTS] = {"Constants", "constants", true},
      [SCOPE_REGISTERS] = {"Registers", "registers", true},
      [SCOPE_DSRS] = {"DSRs", "registers", true},
      [SCOPE_QUEUES] = {"Queues", "registers", true},
      [SCOPE_FIFOS] = {"FIFOs", "registers", true},
      [SCOPE_TASKS] = {"Tasks and threads", "registers", true},
      [SCOPE_ROUTER] = {"Router", "registers", true},
  };
  json_int_t frame = arg_number(args, "frameId", 0);
  if (frame < 1 || (size_t)frame > arrlenu(s->frames))
    return refuse_request(s, "there is no frame %lld", (long long)frame);
  FrameHandle at = s->frames[frame - 1];
  json_t *list = json_array();
  for (unsigned i = 0; i < SCOPE_COUNT; i++)
    json_array_append_new(
        list, json_pack("{s:s,s:s,s:I,s:b}", "name", scopes[i].name, "presentationHint",
                        scopes[i].hint, "variablesReference",
                        open_handle(
                            s, (Handle){.kind = (ScopeKind)i, .tile = at.tile, .frame = at.frame}),
                        "expensive", scopes[i].expensive));
  return json_pack("{s:o}", "scopes", list);
}
