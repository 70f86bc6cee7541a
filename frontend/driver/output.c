/* The results of a compilation: the image, and out.json next to it for host scripts. */
#include "frontend/driver/driver_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stb_ds.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- exports ----------------------------------------------------------------------------- */

static char class_of_type(const Pool *pool, PoolId type)
{
  if (type_is_float(pool, type))
    return 'f';
  if (pool_eq(type, POOL(BOOL)))
    return 'b';
  PoolKey key = pool_key(pool, type);
  if (key.kind == PK_ENUM_TYPE)
    return class_of_type(pool, key.u.enum_type.tag);
  return key.kind == PK_INT_TYPE && key.u.int_type.is_signed ? 'i' : 'u';
}

static PoolId element_of(const Pool *pool, PoolId type)
{
  PoolKey key = pool_key(pool, type);
  if (key.kind == PK_POINTER_TYPE)
    return element_of(pool, key.u.pointer_type.pointee);
  return key.kind == PK_ARRAY_TYPE ? key.u.array.element : type;
}

static ImageExport image_export(const Session *session, const LayoutExport *e)
{
  Pool *pool = session->pool;
  ImageExport out = {.name = str_text(session->names, e->name),
                     .type = type_text(pool, session->arena, e->type),
                     .is_mutable = e->is_mutable};
  PoolKey key = pool_key(pool, e->type);
  if (key.kind != PK_FN_TYPE) {
    PoolId element = element_of(pool, e->type);
    out.kind = EXPORT_DATA;
    out.element_bytes = (uint8_t)export_unit_bytes(pool, element);
    out.element_class = class_of_type(pool, element);
    return out;
  }
  out.kind = EXPORT_FUNCTION;
  out.n_params = (uint8_t)key.u.fn_type.n;
  for (uint32_t i = 0; i < key.u.fn_type.n; i++) {
    PoolId param = pool_key(pool, e->type).u.fn_type.params[i];
    uint32_t bytes = type_bytes(pool, param);
    out.param_bytes[i] = (uint8_t)(bytes < 2 ? 2 : bytes);
    out.param_class[i] = class_of_type(pool, param);
  }
  return out;
}

/* ---- the image --------------------------------------------------------------------------- */

static void fill_params(const Session *session, Image *image)
{
  const Options *o = session->options;
  size_t n = arrlenu(o->params) + arrlenu(o->colors);
  const char **names = arena_many(session->arena, const char *, n + 1);
  const char **values = arena_many(session->arena, const char *, n + 1);
  for (size_t i = 0; i < n; i++) {
    bool is_param = i < arrlenu(o->params);
    const OptionBinding *b = is_param ? &o->params[i] : &o->colors[i - arrlenu(o->params)];
    uint32_t k = 0;
    while (k < image->n_params && strcmp(names[k], b->name) != 0)
      k++;
    names[k] = b->name;
    values[k] = b->value;
    image->n_params += k == image->n_params;
  }
  image->param_names = names;
  image->param_values = values;
}

static void fill_streams(const Session *session, Image *image)
{
  const LayoutResult *l = session->layout;
  ImageStream *streams = arena_many(session->arena, ImageStream, l->n_streams + 1);
  for (uint32_t i = 0; i < l->n_streams; i++) {
    const LayoutStream *stream = &l->streams[i];
    streams[i] = (ImageStream){stream->name, stream->y * l->width + stream->x, l->stream_color,
                               stream->is_input};
  }
  image->is_of_script = session->options->layout_json != NULL;
  image->n_streams = l->n_streams;
  image->streams = streams;
  image->names_streams = l->names_streams;
  for (unsigned to_tiles = 0; to_tiles < 2; to_tiles++)
    image->named_streams[to_tiles] = l->named_streams[to_tiles];
}

static void fill_files(const Session *session, Image *image)
{
  uint32_t n = files_last(session->files);
  const char **files = arena_many(session->arena, const char *, n + 1);
  for (uint32_t raw = 1; raw <= n; raw++)
    files[raw - 1] = files_name(session->files, (FileId){raw});
  image->n_files = n;
  image->files = files;
}

static void fill_classes(const Session *session, const Programs *programs, Image *image)
{
  uint32_t n = (uint32_t)arrlenu(programs->classes);
  ImageClass *classes = arena_many(session->arena, ImageClass, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    classes[i] = programs->classes[i].code.image;
    classes[i].numbers.n_constants = programs->classes[i].n_constants;
    classes[i].numbers.constants = programs->classes[i].constants;
  }
  image->n_classes = n;
  image->classes = classes;
  image->tile_class = programs->tile_class;
  image->tile_blob_at = programs->tile_blob_at;
  image->tile_blob_bytes = arrlenu(programs->blobs);
  image->tile_blobs = programs->blobs;
}

void image_make(Session *session, const Programs *programs, Image *image)
{
  const Options *o = session->options;
  const LayoutResult *l = session->layout;
  *image = (Image){
    .arena = session->arena, .arch = o->arch, .fp16 = o->fp16, .sdk = (uint8_t)release_of(session),
    .memcpy = o->memcpy || l->n_streams > 0, .channels = (uint8_t)o->channels,
    .width = (uint16_t)l->width, .height = (uint16_t)l->height,
    .fabric_width = (uint16_t)l->fabric_width, .fabric_height = (uint16_t)l->fabric_height,
    .offset_x = (uint16_t)l->offset_x, .offset_y = (uint16_t)l->offset_y,
  };
  fill_classes(session, programs, image);
  image->color_configs = color_table_configs(l->colors, &image->n_color_configs);
  image->color_sets = color_table_sets(l->colors, session->arena, &image->n_color_sets);
  image->tile_colors = l->tile_sets;
  image->n_exports = (uint32_t)arrlenu(l->exports);
  ImageExport *exports = arena_many(session->arena, ImageExport, image->n_exports + 1);
  for (uint32_t i = 0; i < image->n_exports; i++)
    exports[i] = image_export(session, &l->exports[i]);
  image->exports = exports;
  if (o->debug)
    image->debug_types = debug_types_list(session->debug_types, &image->n_debug_types);
  fill_files(session, image);
  fill_params(session, image);
  fill_streams(session, image);
}

/* ---- out.json ---------------------------------------------------------------------------- */

static json_t *json_size(uint32_t width, uint32_t height, uint32_t x, uint32_t y)
{
  return json_pack("{s:I, s:I, s:I, s:I}", "width", (json_int_t)width, "height",
                   (json_int_t)height, "offset_x", (json_int_t)x, "offset_y", (json_int_t)y);
}

static json_t *json_params(const Image *image)
{
  json_t *params = json_object();
  for (uint32_t i = 0; i < image->n_params; i++)
    json_object_set_new(params, image->param_names[i], json_string(image->param_values[i]));
  return params;
}

/* The numbers of an array of colors. */
static json_t *json_color_array(Pool *pool, PoolId array)
{
  json_t *list = json_array();
  uint32_t n = pool_key(pool, array).u.aggregate.n;
  for (uint32_t i = 0; i < n; i++) {
    int64_t number = 0;
    if (pool_int_value(pool, pool_key(pool, array).u.aggregate.elems[i], &number))
      json_array_append_new(list, json_integer(number));
  }
  return list;
}

/* Colors by the names that the layout gives them, and as the command line gave them. */
static json_t *json_colors(const Session *session)
{
  json_t *colors = json_object();
  const LayoutResult *l = session->layout;
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (!str_is_none(l->color_names[c].name))
      json_object_set_new(colors, str_text(session->names, l->color_names[c].name),
                          pool_is_none(l->color_arrays[c])
                              ? json_integer((json_int_t)c)
                              : json_color_array(session->pool, l->color_arrays[c]));
  for (uint32_t i = 0; i < l->n_named_colors; i++)
    json_object_set_new(colors, l->named_colors[i].name,
                        json_integer((json_int_t)l->named_colors[i].color));
  const OptionBinding *given = session->options->colors;
  mpz_t number;
  mpz_init(number);
  for (size_t i = 0; i < arrlenu(given); i++)
    if (layout_read_integer(given[i].value, number))
      json_object_set_new(colors, given[i].name, json_integer((json_int_t)mpz_get_si(number)));
  mpz_clear(number);
  return colors;
}

static json_t *json_exports(const Image *image)
{
  json_t *exports = json_array();
  for (uint32_t i = 0; i < image->n_exports; i++) {
    const ImageExport *e = &image->exports[i];
    json_array_append_new(exports, json_pack("{s:s, s:s, s:s, s:b}", "name", e->name, "type",
                                             e->type, "kind",
                                             e->kind == EXPORT_FUNCTION ? "function" : "data",
                                             "mutable", (int)e->is_mutable));
  }
  return exports;
}

/* What a host script's layout adds: where its coordinates start, and its streams. */
static json_t *json_layout(const LayoutResult *l)
{
  json_t *streams = json_object();
  for (uint32_t i = 0; i < l->n_streams; i++)
    json_object_set_new(streams, l->streams[i].name,
                        json_pack("{s:I, s:I, s:I, s:b, s:I}", "x", (json_int_t)l->streams[i].x,
                                  "y", (json_int_t)l->streams[i].y, "color",
                                  (json_int_t)l->stream_color, "input",
                                  (int)l->streams[i].is_input, "size",
                                  (json_int_t)l->streams[i].size));
  return json_pack("{s:I, s:I, s:o}", "origin_x", (json_int_t)l->origin_x, "origin_y",
                   (json_int_t)l->origin_y, "streams", streams);
}

static int file_error(const char *what, const char *path)
{
  fprintf(stderr, "cslc: error: cannot %s '%s': %s\n", what, path, strerror(errno));
  return EXIT_FAILURE;
}

static int folder_error(const char *path)
{
  bool is_file = errno == ENOTDIR;
  int result = file_error("write", path);
  if (is_file)
    fputs("cslc: note: without the ending .bin this is the name of a folder\n", stderr);
  return result;
}

/* Allocated with malloc. */
static char *json_text(const Session *session, const Image *image)
{
  json_t *root = json_object();
  json_object_set_new(root, "params", json_params(image));
  json_object_set_new(root, "colors", json_colors(session));
  json_object_set_new(root, "arch", json_string(machine_get(image->arch)->name));
  json_object_set_new(root, "fabric", json_size(image->fabric_width, image->fabric_height,
                                                image->offset_x, image->offset_y));
  json_object_set_new(root, "rectangle", json_size(image->width, image->height, image->offset_x,
                                                   image->offset_y));
  json_object_set_new(root, "exports", json_exports(image));
  json_object_set_new(root, "classes", json_integer((json_int_t)image->n_classes));
  if (session->options->layout_json)
    json_object_set_new(root, "layout", json_layout(session->layout));
  char *text = json_dumps(root, JSON_INDENT(2));
  json_decref(root);
  if (!text)
    ICE("out.json cannot be made");
  return text;
}

/* ---- files ------------------------------------------------------------------------------- */

#define IMAGE_ENDING ".bin"
/* The name that --output-json gives, or that of the output with another ending. */
static const char *json_name(const Session *session)
{
  const char *out = session->options->output;
  if (session->options->output_json[0])
    return session->options->output_json;
  size_t n = strlen(out) - (file_has_ending(out, IMAGE_ENDING) ? strlen(IMAGE_ENDING) : 0);
  while (n > 1 && out[n - 1] == '/')
    n--;
  return arena_printf(session->arena, "%.*s.json", (int)n, out);
}

/* Makes a folder and those above it; adds one to `n_new` for each that was not there. */
static bool make_folders(Arena *arena, const char *path, unsigned *n_new)
{
  char *part = arena_copy_text(arena, path, strlen(path));
  for (char *c = part + 1; *c; c++)
    if (*c == '/') {
      *c = '\0';
      *n_new += mkdir(part, 0777) == 0;    /* what goes wrong here goes wrong below, too */
      *c = '/';
    }
  bool is_new = mkdir(path, 0777) == 0;
  *n_new += is_new;
  return is_new || errno == EEXIST;
}

/* Removes the last folders of the path: those that are new and have nothing in them. */
static void remove_folders(Arena *arena, const char *path, unsigned n_new)
{
  int error = errno;
  char *part = arena_copy_text(arena, path, strlen(path));
  for (; n_new > 0 && rmdir(part) == 0; n_new--)
    if (strrchr(part, '/'))
      *strrchr(part, '/') = '\0';
  errno = error;
}

/* ---- output folders ------------------------------------------------------------------------ */

/* A file of an output folder.  Host scripts that compile look for ELF files afterwards and give up
 * if there are none. */
typedef struct { const char *name; const void *bytes; size_t length; } OutFile;
static const char stand_in[] = "No ELF file: the program of all tiles is in ../prog.bin.\n";
static const char *const sub_folder = "bin";

static const char *path_in(Arena *arena, const char *folder, const char *name)
{
  return arena_printf(arena, "%s/%s", folder, name);
}

static bool write_files(Arena *arena, const char *folder, const OutFile *files, size_t n)
{
  if (mkdir(path_in(arena, folder, sub_folder), 0777) != 0)
    return false;
  for (size_t i = 0; i < n; i++)
    if (!file_write_all(path_in(arena, folder, files[i].name), files[i].bytes, files[i].length))
      return false;
  return true;
}

/* Moves the files into a folder that exists; one compiler at a time, so that all are of one run. */
static bool move_files(Arena *arena, const char *from, const char *to, const OutFile *files,
                       size_t n)
{
  int lock = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool done = lock >= 0 && flock(lock, LOCK_EX) == 0 &&
              (mkdir(path_in(arena, to, sub_folder), 0777) == 0 || errno == EEXIST);
  for (size_t i = 0; done && i < n; i++)
    done = rename(path_in(arena, from, files[i].name), path_in(arena, to, files[i].name)) == 0;
  int error = errno;
  if (lock >= 0)
    close(lock);
  errno = error;
  return done;
}

static void remove_folder(Arena *arena, const char *folder, const OutFile *files, size_t n)
{
  int error = errno;
  for (size_t i = 0; i < n; i++)
    unlink(path_in(arena, folder, files[i].name));
  rmdir(path_in(arena, folder, sub_folder));
  rmdir(folder);
  errno = error;
}

/* Everything is written to a folder beside `out` first, which then becomes `out` or, if there is
 * one, gives its files to it: a compilation that fails or is stopped leaves the old files, and no
 * folders where there were none. */
static bool write_folder(Arena *arena, const char *out, const OutFile *files, size_t n)
{
  size_t length = strlen(out);
  while (length > 1 && out[length - 1] == '/')
    length--;
  char *folder = arena_copy_text(arena, out, length);
  char *beside = arena_printf(arena, "%s.XXXXXX", folder);
  mode_t mask = umask(0);
  umask(mask);
  unsigned n_new = 0;
  bool is_there = make_folders(arena, folder, &n_new) && mkdtemp(beside);
  if (is_there)
    chmod(beside, 0777 & ~mask);
  bool done = is_there && write_files(arena, beside, files, n) &&
              (rename(beside, folder) == 0 || move_files(arena, beside, folder, files, n));
  if (is_there)
    remove_folder(arena, beside, files, n);
  if (!done)
    remove_folders(arena, folder, n_new);
  return done;
}

int output_write_file(const Session *session, const char *path, const void *bytes, size_t length)
{
  const char *source;
  for (size_t i = 0; (source = source_path_read(session->sources, i)); i++)
    if (file_is_same(path, source)) {
      fprintf(stderr, "cslc: error: cannot write '%s': the program is read from this file\n", path);
      return EXIT_FAILURE;
    }
  return file_write_all(path, bytes, length) ? EXIT_SUCCESS : file_error("write", path);
}

/* ---- the list of inputs -------------------------------------------------------------------- */

/* A path in a rule of Make. */
static void print_rule_path(const char *path, FILE *out)
{
  for (; *path; path++) {
    if (*path == '$')
      fputc('$', out);
    else if (strchr(" #:\\", *path))
      fputc('\\', out);
    fputc(*path, out);
  }
}

static int write_depfile(const Session *session)
{
  const Options *o = session->options;
  const char *path;
  char *text = NULL;
  size_t length = 0;
  FILE *out = base_text_open(&text, &length);
  print_rule_path(o->output, out);
  fputc(':', out);
  for (size_t i = 0; (path = source_path_read(session->sources, i)); i++)
    if (*path != '<') {         /* the command line is no file */
      fputs(" \\\n  ", out);
      print_rule_path(path, out);
    }
  fputc('\n', out);
  base_text_close(out, &text);
  int result = output_write_file(session, o->depfile, text, length);
  free(text);
  return result;
}

/* The second of two outputs in one file would be all that is left.  A folder has the files of the
 * program, too. */
static bool report_shared_file(const Session *session)
{
  const Options *o = session->options;
  const char *in = file_has_ending(o->output, IMAGE_ENDING) ? NULL : o->output;
  const struct { const char *option, *path; } all[] = {
    {"-o", in ? path_in(session->arena, in, "prog.bin") : o->output},
    {"-o", in ? path_in(session->arena, in, "out.json") : NULL},
    {"--output-json", o->output_json ? json_name(session) : NULL},
    {"--depfile", o->depfile},
  };
  for (size_t i = 0; i < ARRAY_COUNT(all); i++)
    for (size_t k = 0; k < i; k++)
      if (all[i].path && all[k].path && file_is_same(all[k].path, all[i].path)) {
        fprintf(stderr, "cslc: error: %s and %s both name the file '%s'; give each a file of its "
                        "own\n", all[k].option, all[i].option, all[i].path);
        return true;
      }
  return false;
}

int image_files_write(const Session *session, const Image *image)
{
  const char *out = session->options->output;
  size_t length;
  if (report_shared_file(session))
    return EXIT_FAILURE;
  uint8_t *bytes = image_write(image, &length);
  char *json = json_text(session, image);
  const OutFile files[] = {{"prog.bin", bytes, length}, {"out.json", json, strlen(json)},
                           {"bin/out_0_0.elf", stand_in, sizeof stand_in - 1}};
  int result = EXIT_SUCCESS;
  if (file_has_ending(out, IMAGE_ENDING))
    result = output_write_file(session, out, bytes, length);
  else if (!write_folder(session->arena, out, files, ARRAY_COUNT(files)))
    result = folder_error(out);
  if (result == EXIT_SUCCESS && session->options->output_json)
    result = output_write_file(session, json_name(session), json, strlen(json));
  if (result == EXIT_SUCCESS && session->options->depfile)
    result = write_depfile(session);
  free(bytes);
  free(json);
  return result;
}
