/* What the page says of the program: classes with their memory, routes, sources, findings. */
#include "emu/observe/page_internal.h"

#include "emu/explain/explain.h"

#include "stb_ds.h"

#include <stdlib.h>
#include <sys/stat.h>

enum {
  MOST_CLASSES = 512,
  MOST_SYMBOLS = 1024,
  MOST_ROUTES = 1 << 14,
  MOST_LINES = 4096,
  MOST_FILE_BYTES = 1 << 18,
  MOST_SOURCE_BYTES = 1 << 21,
  MOST_FINDINGS = 256,
};

static void set_count(json_t *object, const char *key, uint64_t value)
{
  json_object_set_new(object, key, json_integer((json_int_t)value));
}

static void set_text(json_t *object, const char *key, const char *text)
{
  json_object_set_new(object, key, base_json_text(text ? text : ""));
}

static void append_count(json_t *list, uint64_t value)
{
  json_array_append_new(list, json_integer((json_int_t)value));
}

json_t *describe_channels(bool sampled)
{
  static const struct {
    const char *name, *combine, *unit, *text;
  } rows[] = {
#define CHANNEL(name, combine, unit, text) {#name, #combine, unit, text},
#include "emu/observe/channels.def"
  };
  json_t *list = json_array();
  for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
    if (sampled && strcmp(rows[i].combine, "SUM") != 0)
      continue;
    json_t *one = json_object();
    set_text(one, "name", rows[i].name);
    set_text(one, "combine", rows[i].combine);
    set_text(one, "unit", rows[i].unit);
    set_text(one, "text", rows[i].text);
    json_array_append_new(list, one);
  }
  return list;
}

/* ---- classes --------------------------------------------------------------------------------- */

static json_t *describe_symbols(const ImageClass *cls)
{
  json_t *list = json_array();
  for (uint32_t i = 0; i < cls->n_symbols && i < MOST_SYMBOLS; i++) {
    const ImageSymbol *symbol = &cls->symbols[i];
    if (!symbol->bytes)
      continue;
    json_t *one = json_object();
    set_text(one, "name", symbol->name);
    set_text(one, "type", symbol->type);
    set_count(one, "address", symbol->address);
    set_count(one, "bytes", symbol->bytes);
    json_object_set_new(one, "code", json_boolean(symbol->is_code));
    json_array_append_new(list, one);
  }
  return list;
}

static json_t *describe_tasks(const ImageClass *cls)
{
  json_t *list = json_array();
  for (uint32_t i = 0; i < cls->n_tasks; i++) {
    json_t *one = json_object();
    set_count(one, "kind", cls->tasks[i].kind);
    set_count(one, "id", cls->tasks[i].id);
    set_text(one, "name", cls->tasks[i].name);
    set_text(one, "type", task_kind_name(cls->tasks[i].kind));
    json_array_append_new(list, one);
  }
  return list;
}

/* Vector operations by address: name, file, line. */
static json_t *describe_operations(const Program *program, const ClassCode *cls)
{
  json_t *map = json_object();
  for (uint32_t i = 0; i < cls->n_insns; i++) {
    const Insn *insn = &cls->insns[i];
    char pc[16];
    if (insn->op != OP_vec)
      continue;
    const ImageLine *line = image_line_at(cls->image, cls->pc_of[i]);
    bool known = line && line->file < program->image->n_files;
    json_t *one = json_array();
    json_array_append_new(one, json_string(vecops[insn->vec.op].name));
    json_array_append_new(one, base_json_text(known ? program->image->files[line->file] : ""));
    append_count(one, known ? line->line : 0);
    snprintf(pc, sizeof pc, "%u", cls->pc_of[i]);
    json_object_set_new(map, pc, one);
  }
  return map;
}

static json_t *describe_names(const char *const *names, size_t count)
{
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++)
    json_array_append_new(list, base_json_text(names[i] ? names[i] : ""));
  return list;
}

static json_t *describe_class(const Program *program, const ClassCode *code)
{
  const ImageClass *cls = code->image;
  json_t *one = json_object();
  set_text(one, "source", cls->source);
  set_count(one, "code_address", cls->code_address);
  set_count(one, "code_bytes", cls->code_words * UINT64_C(2));
  set_count(one, "static_bytes", cls->static_bytes);
  set_count(one, "stack_top", cls->stack_top);
  set_count(one, "stack_bytes", cls->stack_bytes);
  json_object_set_new(one, "symbols", describe_symbols(cls));
  json_object_set_new(one, "tasks", describe_tasks(cls));
  json_object_set_new(one, "operations", describe_operations(program, code));
  json_object_set_new(one, "colors", describe_names(cls->color_names, MAX_COLORS));
  return one;
}

json_t *describe_classes(const Program *program)
{
  json_t *list = json_array();
  for (uint32_t i = 0; i < program->image->n_classes && i < MOST_CLASSES; i++)
    json_array_append_new(list, describe_class(program, &program->classes[i]));
  return list;
}

/* ---- routes ---------------------------------------------------------------------------------- */

/* The position at the start, then inputs and outputs of each. */
static json_t *describe_config(const ImageColorConfig *config)
{
  json_t *one = json_array();
  append_count(one, config->current);
  for (unsigned i = 0; i < MAX_SWITCH_POSITIONS && config->positions[i].valid; i++) {
    append_count(one, config->positions[i].rx);
    append_count(one, config->positions[i].tx);
  }
  return one;
}

/* Colors and configurations, by turns. */
static json_t *describe_set(const ImageColorSet *set)
{
  json_t *one = json_array();
  for (uint32_t i = 0; i < set->n; i++) {
    append_count(one, set->uses[i].color);
    append_count(one, set->uses[i].config);
  }
  return one;
}

/* The ports from which the other color of the pair arrives, to become the one configured. */
static unsigned swapping_ports(const ImageColorConfig *config)
{
  unsigned ports = config->swap_x ? port_bit(PORT_EAST) | port_bit(PORT_WEST) : 0;
  ports |= config->swap_y ? port_bit(PORT_NORTH) | port_bit(PORT_SOUTH) : 0;
  return config->swap_x && config->swap_y ? ports | port_bit(PORT_RAMP) : ports;
}

json_t *describe_routes(const Program *program, Pack *pack)
{
  const Image *image = program->image;
  json_t *routes = json_object(), *configs = json_array(), *sets = json_array();
  json_t *swaps = json_array();
  uint64_t *numbers = base_malloc(sizeof *numbers * (program->n_tiles + 1u));
  for (uint32_t i = 0; i < image->n_color_configs && i < MOST_ROUTES; i++)
    json_array_append_new(configs, describe_config(&image->color_configs[i]));
  for (uint32_t i = 0; i < image->n_color_configs && i < MOST_ROUTES; i++)
    append_count(swaps, swapping_ports(&image->color_configs[i]));
  for (uint32_t i = 0; i < image->n_color_sets && i < MOST_ROUTES; i++)
    json_array_append_new(sets, describe_set(&image->color_sets[i]));
  json_object_set_new(routes, "configs", configs);
  json_object_set_new(routes, "sets", sets);
  json_object_set_new(routes, "swaps", swaps); /* by config */
  for (uint32_t t = 0; t < program->n_tiles; t++)
    numbers[t] = image->tile_colors[t];
  pack_numbers(pack, "tile.routes", numbers, program->n_tiles);
  for (uint32_t t = 0; t < program->n_tiles; t++) /* 0: no code */
    numbers[t] = image->tile_class[t] == IMAGE_NO_CLASS ? 0 : 1 + (uint64_t)image->tile_class[t];
  pack_numbers(pack, "tile.class", numbers, program->n_tiles);
  free(numbers);
  return routes;
}

/* ---- sources --------------------------------------------------------------------------------- */

static bool is_csl_file(const char *path, struct stat *about)
{
  return file_has_ending(path, ".csl") && stat(path, about) == 0 && S_ISREG(about->st_mode) &&
         about->st_size <= MOST_FILE_BYTES;
}

/* Its text, unless it is not to be had, is too long for `room`, or is not UTF-8; `changed` if it is
 * younger than the program. */
static void set_source(json_t *file, const char *path, const struct stat *program, size_t *room)
{
  struct stat about;
  if (!is_csl_file(path, &about) || (size_t)about.st_size > *room)
    return;
  FILE *in = fopen(path, "rb");
  char *text = base_malloc((size_t)about.st_size + 1);
  size_t length = in ? fread(text, 1, (size_t)about.st_size, in) : 0;
  json_t *value = in ? json_stringn(text, length) : NULL;
  if (value) {
    json_object_set_new(file, "text", value);
    json_object_set_new(file, "changed",
                        json_boolean(program && about.st_mtim.tv_sec > program->st_mtim.tv_sec));
    *room -= length;
  }
  free(text);
  if (in)
    fclose(in);
}

/* cycles, instructions, groups, elements, start, then waits by cause */
static json_t *describe_line(const ProfileRow *row, uint64_t file)
{
  json_t *one = json_array();
  append_count(one, file);
  append_count(one, row->line);
  append_count(one, row->cycles);
  append_count(one, row->instructions);
  append_count(one, row->groups);
  append_count(one, row->elements);
  append_count(one, row->start);
  for (unsigned k = STALL_NONE + 1; k < STALL_COUNT; k++)
    append_count(one, row->stalls[k]);
  return one;
}

typedef struct {
  const char *key;
  size_t value;
} FileIndex;

json_t *describe_sources(const Profile *profile, const char *program_path)
{
  size_t n = 0, room = MOST_SOURCE_BYTES;
  struct stat about;
  bool known = stat(program_path, &about) == 0;
  const ProfileRow *rows = profile ? profile_rows(profile, &n) : NULL;
  json_t *sources = json_object(), *files = json_array(), *lines = json_array();
  FileIndex *index = NULL; /* stb_ds map */
  for (size_t i = 0; i < n && i < MOST_LINES; i++) {
    if (shgeti(index, rows[i].file) < 0) {
      json_t *file = json_object();
      set_text(file, "name", rows[i].file);
      set_source(file, rows[i].file, known ? &about : NULL, &room);
      shput(index, rows[i].file, json_array_size(files));
      json_array_append_new(files, file);
    }
    json_array_append_new(lines, describe_line(&rows[i], shget(index, rows[i].file)));
  }
  shfree(index);
  json_object_set_new(sources, "files", files);
  json_object_set_new(sources, "lines", lines);
  set_count(sources, "lines_in_all", n);
  return sources;
}

/* ---- findings -------------------------------------------------------------------------------- */

static json_t *describe_finding(const Program *program, Engine *engine, const Fault *fault)
{
  json_t *one = json_object();
  size_t size;
  char *text = NULL;
  FILE *out = base_text_open(&text, &size);
  const EngineOptions *options = &engine->options;
  if (fault_level(fault->kind, options->check, options->checks) == CHECK_WARN)
    fputs("warning, not an ", out);
  fault_print(program, engine, fault, out);
  base_text_close(out, &text);
  set_text(one, "name", fault_name(fault->kind));
  set_count(one, "cycle", fault->cycle);
  set_count(one, "x", program_x(program, fault->tile));
  set_count(one, "y", program_y(program, fault->tile));
  if (fault->color != NO_COLOR)
    set_count(one, "color", fault->color);
  set_text(one, "text", text);
  free(text);
  return one;
}

json_t *describe_findings(const Program *program, Engine *engine)
{
  size_t n;
  const Fault *faults = engine->ops->faults(engine, &n);
  json_t *list = json_array();
  for (size_t i = 0; i < n && i < MOST_FINDINGS; i++)
    if (faults[i].tile < program->n_tiles)
      json_array_append_new(list, describe_finding(program, engine, &faults[i]));
  return list;
}
