/* The source files of a program: the search for an import; each file is read and parsed once. */
#include "frontend/syntax/parse_internal.h"
#include "ir/base/platform.h"
#include "ir/machine/image_format.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stb_ds.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct { uint32_t key; Ast *value; } FileMap;    /* by the real path's StrId */
typedef struct { uint64_t key; Ast *value; } ImportMap;  /* importer and path, as written */
struct SourceFiles {
  Arena *arena;
  SourceMap *sources;
  StrTable *names;
  Diags *diags;
  Span signs[SIGN_COUNT];        /* of the program's own files */
  FileMap *by_path;
  ImportMap *by_import;        /* a layout names its files once per tile */
  const char *main_dir;
  const char **library_dirs;   /* stb_ds: standard library, import paths */
  const SourceOverlay *overlays;
  size_t n_overlays;
};

static bool is_file(const char *path)
{
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool is_folder(const char *path)
{
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The folder of a path, "" for the current one, else ending in a slash. */
static const char *dir_of(Arena *arena, const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? arena_copy_text(arena, path, (size_t)(slash - path) + 1) : "";
}

static const char *try_file(Arena *arena, const char *dir, const char *name, const char *suffix)
{
  const char *slash = dir[0] && dir[strlen(dir) - 1] != '/' ? "/" : "";
  while (strncmp(name, "./", 2) == 0)
    name += 2;
  const char *path = arena_printf(arena, "%s%s%s%s", dir, slash, name, suffix);
  return is_file(path) ? path : NULL;
}

static const char *try_both(Arena *arena, const char *dir, const char *name)
{
  const char *path = try_file(arena, dir, name, "");
  return path ? path : try_file(arena, dir, name, ".csl");
}

/* The folders of libraries: the standard library's, then those of --import-path. */
enum { FROM_STANDARD = 0, FROM_IMPORT_PATHS = 1 };

static const char *find_library(SourceFiles *files, const char *name, size_t from)
{
  for (size_t i = from; i < arrlenu(files->library_dirs); i++) {
    const char *path = try_file(files->arena, files->library_dirs[i], name, ".csl");
    if (!path)
      path = try_file(files->arena, files->library_dirs[i], name, "");
    if (path)
      return path;
  }
  return NULL;
}

bool files_has_library(SourceFiles *files, const char *name)
{
  return strchr(name, '/') == NULL && find_library(files, name, FROM_STANDARD) != NULL;
}

static const SourceOverlay *find_overlay(const SourceFiles *files, const char *path)
{
  for (size_t i = 0; i < files->n_overlays; i++)
    if (strcmp(files->overlays[i].path, path) == 0)
      return &files->overlays[i];
  return NULL;
}

static const char *find_file(SourceFiles *files, const char *path, const Ast *importer)
{
  Arena *arena = files->arena;
  size_t length = strlen(path);
  if (!importer && find_overlay(files, path))
    return path;
  if (length > 2 && path[0] == '<' && path[length - 1] == '>')
    return find_library(files, arena_copy_text(arena, path + 1, length - 2), FROM_STANDARD);
  if (path[0] == '/' || !importer)
    return is_file(path) ? path : NULL;
  const char *found =
    try_both(arena, dir_of(arena, source_path(files->sources, importer->file)), path);
  if (!found)
    found = try_both(arena, files->main_dir, path);
  return found ? found : find_library(files, path, FROM_IMPORT_PATHS);
}

/* A file of the folder whose name is like `name`, without its ".csl" if `is_library`. */
static const char *nearest_file(Arena *arena, const char *folder, const char *name,
                                bool is_library)
{
  DIR *dir = opendir(folder);
  if (!dir)
    return NULL;
  const char **names = NULL;
  for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
    size_t length = strlen(entry->d_name);
    if (file_has_ending(entry->d_name, ".csl"))
      arrput(names, arena_copy_text(arena, entry->d_name,
                                    is_library ? length - strlen(".csl") : length));
  }
  closedir(dir);
  const char *near = base_nearest(name, names, arrlenu(names));
  arrfree(names);
  return near;
}

/* A file that is there, with a path like `path` from `root` on: in the same folder, beside that
 * folder, or, for the name of a folder of the library, the file in it that is called the same. */
static const char *nearest_path(Arena *arena, const char *root, const char *path, bool is_library)
{
  const char *suffix = is_library ? ".csl" : "", *slash = strrchr(path, '/');
  if (!slash) {
    const char *inside = arena_printf(arena, "%s/%s", path, path);
    const char *near = nearest_file(arena, root, path, is_library);
    return near || !is_library || !try_file(arena, root, inside, suffix) ? near : inside;
  }
  const char *folder = arena_copy_text(arena, path, (size_t)(slash - path));
  const char *name = slash + 1;
  const char *near = nearest_file(arena, arena_printf(arena, "%s/%s", root, folder), name,
                                  is_library);
  if (near)
    return arena_printf(arena, "%s/%s", folder, near);
  return try_file(arena, root, name, suffix) ? name : nearest_file(arena, root, name, is_library);
}

/* False: there is none. */
static bool suggest_file(SourceFiles *files, const char *path, const Ast *importer, Span at)
{
  Arena *arena = files->arena;
  size_t length = strlen(path);
  const char *near = NULL;
  if (length > 2 && path[0] == '<') {
    const char *name = arena_copy_text(arena, path + 1, length - 2);
    for (size_t i = 0; i < arrlenu(files->library_dirs) && !near; i++)
      near = nearest_path(arena, files->library_dirs[i], name, true);
    near = near ? arena_printf(arena, "<%s>", near) : NULL;
  } else if (!importer) {
    const char *folder = dir_of(arena, path);
    near = nearest_file(arena, *folder ? folder : ".", path + strlen(folder), false);
    near = near ? arena_printf(arena, "%s%s", folder, near) : NULL;
  } else if (find_library(files, path, FROM_STANDARD)) {
    near = arena_printf(arena, "<%s>", path);
  } else if (importer && path[0] != '/') {
    const char *folder = dir_of(arena, source_path(files->sources, importer->file));
    near = nearest_path(arena, folder[0] ? folder : ".", path, false);
  }
  if (near)
    diag_did_you_mean(files->diags, at, near);
  return near != NULL;
}

static const char *with_folder(Arena *arena, const char *list, const char *folder)
{
  return arena_printf(arena, "%s%s%s%s", list, *list ? ", " : "", folder,
                      is_folder(folder) ? "" : " (there is no such folder)");
}

/* The folders in which find_file looks for the path of an import. */
static const char *searched_folders(const SourceFiles *files, const char *path, const Ast *importer)
{
  Arena *arena = files->arena;
  bool is_library = path[0] == '<';
  const char *list = "";
  if (!is_library) {
    const char *beside = dir_of(arena, source_path(files->sources, importer->file));
    list = with_folder(arena, list, *beside ? beside : "./");
    if (strcmp(beside, files->main_dir) != 0)
      list = with_folder(arena, list, *files->main_dir ? files->main_dir : "./");
  }
  for (size_t i = is_library ? FROM_STANDARD : FROM_IMPORT_PATHS;
       i < arrlenu(files->library_dirs); i++)
    list = with_folder(arena, list, files->library_dirs[i]);
  return list;
}

/* Modules of the vendor's library whose interfaces no public text describes. */
static const struct { const char *path, *what, *instead; } unpublished[] = {
  {"<kernels/fft/fft3d>", "this module for tiles of a three-dimensional Fourier transform",
   "<kernels/fft/fft3d_layout> sets the tiles and their code"},
  {"<kernels/fft/get_params>", "this module for layouts of a Fourier transform",
   "<kernels/fft/fft3d_layout> needs no parameters from it"},
};

static bool note_unpublished(SourceFiles *files, const char *path, Span at)
{
  for (size_t i = 0; i < ARRAY_COUNT(unpublished); i++)
    if (strcmp(path, unpublished[i].path) == 0) {
      diag_only_name_public(files->diags, at, unpublished[i].what, unpublished[i].instead);
      return true;
    }
  return false;
}

static void report_missing(SourceFiles *files, const char *path, const Ast *importer, Span at)
{
  struct stat info;
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
    diag_file_unreadable(files->diags, at, path, S_ISDIR(info.st_mode) ? strerror(EISDIR)
                                                                       : "it is no regular file");
    const char *layout = arena_printf(files->arena, "%s/layout.csl", path);
    if (importer == NULL && access(layout, R_OK) == 0)
      diag_layout_of_folder(files->diags, at, layout);
    return;
  }
  diag_import_not_found(files->diags, at, path);
  if (note_unpublished(files, path, at))
    return;
  bool is_suggested = suggest_file(files, path, importer, at);
  if (path[0] == '<' || (!is_suggested && importer && path[0] != '/'))
    diag_looked_in(files->diags, at, searched_folders(files, path, importer));
}

/* "<name>" means a file of a library folder, and nothing above or beside it. */
static bool leaves_library(const char *path)
{
  if (path[0] != '<')
    return false;
  for (const char *part = path + 1; *part;) {
    size_t n = strcspn(part, "/>");
    if ((n == 2 && part[0] == '.' && part[1] == '.') || (n == 0 && *part == '/'))
      return true;
    part += n + (part[n] != 0);
  }
  return false;
}

bool files_is_standard(const SourceFiles *files, FileId file)
{
  const char *path = source_path(files->sources, file), *folder = files->library_dirs[0];
  size_t n = folder ? strlen(folder) : 0;
  return folder && strncmp(path, folder, n) == 0 && path[n] == '/';
}

/* The words of a file of the program; of several the first counts. */
static void note_words(SourceFiles *files, const Ast *ast)
{
  for (unsigned i = 0; i < SIGN_COUNT; i++)
    if (files->signs[i].off == 0)
      files->signs[i] = ast->signs[i];
}

const Span *files_signs(const SourceFiles *files)
{
  return files->signs;
}

/* UTF-16, which some editors write: read as UTF-8, each character of it is an error. */
static bool is_wide_text(const char *text, size_t length)
{
  return length > 1 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0);
}

static bool is_program_image(const char *text, size_t length)
{
  return length >= IMAGE_MAGIC_BYTES && memcmp(text, image_magic, IMAGE_MAGIC_BYTES) == 0;
}

/* Why the text of a file is no source; NULL: it may be one. */
static const char *not_a_source(const char *text, size_t length)
{
  if (is_wide_text(text, length))
    return "it is UTF-16 text; save it as UTF-8";
  return is_program_image(text, length) ? "it is a program image, which wse-emu runs" : NULL;
}

/* The text of the file, or what stands for it; no file after reporting. */
static FileId add_source(SourceFiles *files, const char *path, const char *real, Span at)
{
  const SourceOverlay *overlay = find_overlay(files, real);
  if (overlay)
    return source_add(files->sources, path, overlay->text, overlay->length);
  size_t length;
  const char *why;
  char *text = file_read_text(path, FILE_TEXT_MAX_BYTES, &length, &why);
  if (text)
    why = not_a_source(text, length);
  if (why) {
    diag_file_unreadable(files->diags, at, path, why);
    free(text);
    return (FileId){0};
  }
  FileId file = source_add(files->sources, path, text, length);
  free(text);
  return file;
}

static Ast *import_file(SourceFiles *files, const char *path, const Ast *importer, Span at)
{
  if (leaves_library(path)) {
    diag_import_leaves_library(files->diags, at, path);
    return NULL;
  }
  const char *found = find_file(files, path, importer);
  if (!found) {
    report_missing(files, path, importer, at);
    return NULL;
  }
  char real[PATH_MAX];
  const char *key_text = realpath(found, real) ? real : found;
  uint32_t key = str_intern_z(files->names, key_text).raw;
  ptrdiff_t known = hmgeti(files->by_path, key);
  if (known >= 0)
    return files->by_path[known].value;
  FileId file = add_source(files, found, key_text, at);
  if (file_is_none(file))
    return NULL;
  Ast *ast = ast_parse(files->sources, files->names, files->diags, file);
  hmput(files->by_path, key, ast);
  if (!files_is_standard(files, file))
    note_words(files, ast);
  return ast;
}

const Ast *files_import(SourceFiles *files, const char *path, const Ast *importer, Span at)
{
  uint64_t key = (uint64_t)(importer ? importer->file.raw : 0) << 32 |
                 str_intern_z(files->names, path).raw;
  ptrdiff_t known = hmgeti(files->by_import, key);
  if (known >= 0)
    return files->by_import[known].value;
  Ast *ast = import_file(files, path, importer, at);
  if (ast)
    hmput(files->by_import, key, ast);
  return ast;
}

const Ast *files_parsed(const SourceFiles *files, FileId file)
{
  for (ptrdiff_t i = 0; i < hmlen(files->by_path); i++)
    if (file_eq(files->by_path[i].value->file, file))
      return files->by_path[i].value;
  return NULL;
}

uint32_t files_last(const SourceFiles *files)
{
  uint32_t last = 0;
  for (ptrdiff_t i = 0; i < hmlen(files->by_path); i++)
    if (files->by_path[i].value->file.raw > last)
      last = files->by_path[i].value->file.raw;
  return last;
}

const char *files_name(const SourceFiles *files, FileId file)
{
  const char *path = source_path(files->sources, file);
  size_t n = strlen(files->library_dirs[0]), length = strlen(path);
  if (!files_is_standard(files, file))
    return path;
  if (file_has_ending(path, ".csl"))
    length -= strlen(".csl");
  return arena_printf(files->arena, "<%.*s>", (int)(length - n - 1), path + n + 1);
}

static void add_path_list(SourceFiles *files, const char *list)
{
  while (list && *list) {
    size_t n = strcspn(list, ":");
    if (n)
      arrput(files->library_dirs, arena_copy_text(files->arena, list, n));
    list += n + (list[n] == ':');
  }
}

/* The installed library stands beside the binary; in the build tree it is the source's. */
static const char *standard_library(SourceFiles *files, const char *source_stdlib)
{
  const char *named = getenv("CSL_STDLIB");
  if (named && *named)
    return named;
  char self[PATH_MAX];
  if (platform_program_path(self, sizeof self)) {
    const char *dir = arena_printf(files->arena, "%s../share/wse/stdlib",
                                   dir_of(files->arena, self));
    if (is_folder(dir))
      return dir;
  }
  return source_stdlib;
}

SourceFiles *files_open(Arena *arena, SourceMap *sources, StrTable *names, Diags *diags,
                        const FilePlaces *places)
{
  SourceFiles *files = arena_new(arena, SourceFiles);
  *files = (SourceFiles){.arena = arena, .sources = sources, .names = names, .diags = diags,
                         .overlays = places->overlays, .n_overlays = places->n_overlays};
  files->main_dir = places->main_file ? dir_of(arena, places->main_file) : "";
  arrput(files->library_dirs, standard_library(files, places->source_stdlib));
  for (size_t i = 0; i < places->n_import_paths; i++)
    arrput(files->library_dirs, places->import_paths[i]);
  add_path_list(files, getenv("CSL_IMPORT_PATH"));
  return files;
}

void files_close(SourceFiles *files)
{
  for (ptrdiff_t i = 0; i < hmlen(files->by_path); i++)
    ast_destroy(files->by_path[i].value);
  hmfree(files->by_path);
  hmfree(files->by_import);
  arrfree(files->library_dirs);
}
