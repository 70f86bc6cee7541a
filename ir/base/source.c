/* Source texts in one offset space: file k begins where file k-1 ended, plus one, so that the
 * place after a file's last byte is its own and not the next file's. */
#include "ir/base/base.h"

#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

typedef struct {
  const char *path, *text;
  uint32_t base, length;
  uint32_t *line_starts;      /* stb_ds array of offsets into text; [0] is 0 */
} SourceFile;

struct SourceMap {
  Arena *arena;
  SourceFile *files;                /* stb_ds array; FileId raw is the index plus one */
  const char **read;                /* stb_ds array of paths, each once */
};

SourceMap *source_map_create(void)
{
  SourceMap *map = base_malloc(sizeof *map);
  *map = (SourceMap){.arena = arena_create("sources")};
  return map;
}

void source_map_destroy(SourceMap *map)
{
  if (!map)
    return;
  for (size_t i = 0; i < arrlenu(map->files); i++)
    arrfree(map->files[i].line_starts);
  arrfree(map->files);
  arrfree(map->read);
  arena_destroy(map->arena);
  free(map);
}

void source_note_data(SourceMap *map, const char *path)
{
  for (size_t i = 0; i < arrlenu(map->read); i++)
    if (strcmp(map->read[i], path) == 0)
      return;
  arrput(map->read, arena_copy_text(map->arena, path, strlen(path)));
}

const char *source_path_read(const SourceMap *map, size_t index)
{
  return index < arrlenu(map->read) ? map->read[index] : NULL;
}

FileId source_add(SourceMap *map, const char *path, const char *text, size_t length)
{
  uint32_t base = 1;
  if (arrlenu(map->files)) {
    const SourceFile *last = &arrlast(map->files);
    base = last->base + last->length + 1;
  }
  if (length >= UINT32_MAX - base)
    return (FileId){0};
  SourceFile file = {.base = base, .length = (uint32_t)length};
  file.path = arena_copy_text(map->arena, path, strlen(path));
  file.text = arena_copy_text(map->arena, text, length);
  arrput(file.line_starts, 0);
  for (uint32_t i = 0; i < file.length; i++)
    if (file.text[i] == '\n')
      arrput(file.line_starts, i + 1);
  arrput(map->files, file);
  source_note_data(map, file.path);
  return (FileId){(uint32_t)arrlenu(map->files)};
}

static const SourceFile *file_at(const SourceMap *map, FileId id)
{
  if (file_is_none(id) || id.raw > arrlenu(map->files))
    ICE("file id %u is not of this source map", id.raw);
  return &map->files[id.raw - 1];
}

const char *source_path(const SourceMap *map, FileId file)
{
  return file_at(map, file)->path;
}

const char *source_text(const SourceMap *map, FileId file, size_t *length)
{
  const SourceFile *f = file_at(map, file);
  if (length)
    *length = f->length;
  return f->text;
}

uint32_t source_base(const SourceMap *map, FileId file)
{
  return file_at(map, file)->base;
}

FileId source_file_of(const SourceMap *map, uint32_t off)
{
  size_t lo = 0, hi = arrlenu(map->files);      /* the file, if any, is in [lo, hi) */
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    const SourceFile *f = &map->files[mid];
    if (off < f->base)
      hi = mid;
    else if (off - f->base > f->length)
      lo = mid + 1;
    else
      return (FileId){(uint32_t)mid + 1};
  }
  return (FileId){0};
}

/* Index of the line that holds the byte `at` of the file. */
static size_t line_index(const SourceFile *file, uint32_t at)
{
  size_t lo = 0, hi = arrlenu(file->line_starts);   /* starts[lo] <= at < starts[hi] */
  while (hi - lo > 1) {
    size_t mid = lo + (hi - lo) / 2;
    if (file->line_starts[mid] <= at)
      lo = mid;
    else
      hi = mid;
  }
  return lo;
}

SourceLoc source_locate(const SourceMap *map, uint32_t off)
{
  FileId id = source_file_of(map, off);
  if (file_is_none(id))
    return (SourceLoc){.path = ""};
  const SourceFile *file = file_at(map, id);
  uint32_t at = off - file->base;
  size_t line = line_index(file, at);
  return (SourceLoc){file->path, (uint32_t)line + 1, at - file->line_starts[line] + 1};
}

const char *source_line(const SourceMap *map, uint32_t off, size_t *length)
{
  FileId id = source_file_of(map, off);
  if (file_is_none(id)) {
    *length = 0;
    return "";
  }
  const SourceFile *file = file_at(map, id);
  size_t line = line_index(file, off - file->base);
  const char *start = file->text + file->line_starts[line];
  const char *limit = file->text + file->length;
  const char *newline = memchr(start, '\n', (size_t)(limit - start));
  *length = (size_t)((newline ? newline : limit) - start);
  return start;
}
