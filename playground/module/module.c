/* The module of the WebAssembly build: all tools as functions, for playground/module/src.
 *
 * An instance of the module serves one purpose and is then dropped: one call of a tool, one program
 * of the language server, or one run that its caller drives. So no state outlives its use, as in
 * processes. Files are in the memory of the instance. */
#include "emu/include/wse.h"
#include "frontend/lsp/lsp.h"

#include <emscripten.h>
#include <stb_ds.h>
#include <stdlib.h>
#include <sys/stat.h>

#define STDLIB "/stdlib"

int cslc_main(int argc, char **argv);
int csl_fmt_main(int argc, char **argv);
int wse_emu_main(int argc, char **argv);
int wse_dbg_main(int argc, char **argv);

typedef int Tool(int argc, char **argv);
static const struct { const char *name; Tool *tool; } tools[] = {
  {"cslc", cslc_main}, {"csl-fmt", csl_fmt_main}, {"wse-emu", wse_emu_main},
  {"wse-dbg", wse_dbg_main},
};

/* A JSON array of strings; stb_ds, with NULL behind the last. */
static char **read_arguments(const char *first, const json_t *arguments)
{
  char **argv = NULL;
  const json_t *argument;
  size_t i;
  if (first)
    arrput(argv, base_print("%s", first));
  json_array_foreach(arguments, i, argument)
    arrput(argv, base_print("%s", json_string_value(argument)));
  arrput(argv, NULL);
  return argv;
}

/* Before anything else: standard output and error become files, and written files can be
 * read: Emscripten starts with a mask that takes all permissions away. */
EMSCRIPTEN_KEEPALIVE void module_start(const char *out, const char *err)
{
  enum { USUAL_MASK = 022 };
  umask(USUAL_MASK);
  if (!freopen(out, "w", stdout) || !freopen(err, "w", stderr))
    ICE("the streams cannot be redirected");
}

EMSCRIPTEN_KEEPALIVE void module_flush(void) { fflush(NULL); }

/* The exit code of the tool; 127: there is no such tool. */
EMSCRIPTEN_KEEPALIVE int module_run_tool(const char *name, const char *arguments)
{
  enum { NO_SUCH_TOOL = 127 };
  for (size_t i = 0; i < ARRAY_COUNT(tools); i++)
    if (strcmp(tools[i].name, name) == 0) {
      char **argv = read_arguments(name, json_loads(arguments, 0, NULL));
      int code = tools[i].tool((int)arrlen(argv) - 1, argv);
      fflush(NULL);
      return code;
    }
  return NO_SUCH_TOOL;
}

/* ---- the language server --------------------------------------------------------------- */

static ProgramCall program_call;
static LspAnalysis analysis;

static const char *keep_text(json_t *value)
{
  static char *kept;
  free(kept);
  kept = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
  json_decref(value);
  return kept;
}

/* Checks the program that cslc would compile with these arguments in the folder; the files that it
 * has read and its messages, as csl-ls has them. NULL: the arguments are wrong. */
EMSCRIPTEN_KEEPALIVE const char *module_check(const char *folder, const char *arguments)
{
  pool_check_memory();
  json_set_alloc_funcs(base_malloc, free);
  program_call.folder = base_print("%s", folder);
  program_call.argv = read_arguments(NULL, json_loads(arguments, 0, NULL));
  arrsetlen(program_call.argv, arrlen(program_call.argv) - 1);
  if (!analysis_run(&analysis, &program_call, NULL, STDLIB))
    return NULL;
  return keep_text(analysis_result(&analysis));
}

/* After module_check: {"method", "params", "path"} of a request of the Language Server Protocol. */
EMSCRIPTEN_KEEPALIVE const char *module_answer(const char *request)
{
  json_t *question = json_loads(request, 0, NULL);
  const char *answer = keep_text(analysis_answer(&analysis, question));
  json_decref(question);
  return answer;
}

EMSCRIPTEN_KEEPALIVE const char *module_token_types(void)
{
  return keep_text(token_types());
}

/* ---- a run that its caller drives --------------------------------------------------------------- */

static WseProgram *program;

EMSCRIPTEN_KEEPALIVE int module_open(const char *path, const char *arguments)
{
  WseOptions options = {.check = WSE_CHECK_ERROR, .args = arguments};
  return (int)wse_open(path, &options, &program);
}

EMSCRIPTEN_KEEPALIVE const char *module_error(void)
{
  const WseError *error = wse_error(program);
  return keep_text(json_pack("{s:i,s:s,s:I,s:i,s:i}", "status", (int)error->status,
                             "message", error->message ? error->message : "",
                             "cycle", (json_int_t)error->cycle, "x", (int)error->x,
                             "y", (int)error->y));
}

EMSCRIPTEN_KEEPALIVE const char *module_geometry(void)
{
  WseGeometry g = {0};
  if (wse_geometry(program, &g) != WSE_OK)
    return NULL;
  return keep_text(json_pack("{s:i,s:i,s:i,s:i,s:i,s:i,s:s,s:b}", "width", g.width,
                             "height", g.height, "fabricWidth", g.fabric_width,
                             "fabricHeight", g.fabric_height, "offsetX", g.offset_x,
                             "offsetY", g.offset_y, "arch", g.arch, "hasMemcpy", g.has_memcpy));
}

/* The exported names. */
EMSCRIPTEN_KEEPALIVE const char *module_symbols(void)
{
  json_t *all = json_array();
  for (uint32_t i = 0; i < wse_symbol_count(program); i++) {
    WseSymbol s = {0};
    if (wse_symbol_at(program, i, &s) != WSE_OK)
      continue;
    const char class[] = {s.element_class ? s.element_class : 'u', 0};
    json_array_append_new(all, json_pack("{s:i,s:s,s:s,s:b,s:b,s:i,s:s,s:i,s:i}", "id", s.id,
                                         "name", s.name, "type", s.type,
                                         "isFunction", s.is_function, "isMutable", s.is_mutable,
                                         "elementBytes", s.element_bytes, "elementClass", class,
                                         "extent", s.extent, "parameters", s.n_params));
  }
  return keep_text(all);
}

/* The names of a tile's symbols, exported or not. */
EMSCRIPTEN_KEEPALIVE const char *module_tile_symbols(uint32_t x, uint32_t y)
{
  json_t *names = json_array();
  const char *name;
  for (uint32_t i = 0; (name = wse_symbol_name(program, x, y, i)) != NULL; i++)
    json_array_append_new(names, json_string(name));
  return keep_text(names);
}

/* The bytes of a symbol, of which there are `*size`; NULL: see module_error. */
EMSCRIPTEN_KEEPALIVE const void *module_read(uint32_t x, uint32_t y, const char *name,
                                             size_t *size)
{
  enum { MEMORY_MOST = 1 << 16 };
  static uint8_t bytes[MEMORY_MOST];
  return wse_read_symbol(program, x, y, name, bytes, sizeof bytes, size) == WSE_OK ? bytes : NULL;
}

EMSCRIPTEN_KEEPALIVE int module_run(double cycles)
{
  return (int)wse_run(program, (uint64_t)cycles);
}

EMSCRIPTEN_KEEPALIVE int module_launch(uint32_t function, const uint32_t *args, uint32_t n)
{
  return (int)wse_launch(program, function, args, n, NULL);
}

/* A copy of 32-bit words, one per element, between the host and a rectangle of tiles. */
EMSCRIPTEN_KEEPALIVE int module_copy(bool to_device, uint32_t symbol, uint32_t x, uint32_t y,
                                     uint32_t width, uint32_t height, uint32_t elements,
                                     bool is_16bit, uint32_t *words)
{
  WseTransfer t = {.target = symbol, .is_16bit = is_16bit, .x = x, .y = y, .width = width,
                   .height = height, .elements = elements};
  return (int)(to_device ? wse_h2d(program, &t, words, NULL) : wse_d2h(program, &t, words, NULL));
}

EMSCRIPTEN_KEEPALIVE int module_finish(void) { return (int)wse_finish(program); }
EMSCRIPTEN_KEEPALIVE double module_cycle(void) { return (double)wse_cycle(program); }
EMSCRIPTEN_KEEPALIVE const char *module_statistics(void) { return wse_statistics(program); }
EMSCRIPTEN_KEEPALIVE const char *module_version(void) { return wse_version(); }
EMSCRIPTEN_KEEPALIVE void module_close(void) { wse_close(program); }
