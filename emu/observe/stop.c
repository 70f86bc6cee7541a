/* Where a run is to stop: a cycle, a tile's first instruction, or a source line. */
#include "emu/observe/observe.h"

#include <stdlib.h>
#include <string.h>

static bool parse_tile(const char *text, StopSpec *spec)
{
  char tail;
  spec->by_tile = strspn(text, "0123456789,") == strlen(text) &&
                  sscanf(text, "%9u,%9u%c", &spec->x, &spec->y, &tail) == 2;
  return spec->by_tile;
}

bool stop_parse(const char *text, StopSpec *spec)
{
  char tail;
  unsigned long long cycle;
  *spec = (StopSpec){0};
  if (*text && strspn(text, "0123456789") == strlen(text)) {
    spec->by_cycle = sscanf(text, "%19llu%c", &cycle, &tail) == 1;
    spec->cycle = cycle;
    return spec->by_cycle;
  }
  const char *colon = strrchr(text, ':');
  if (!colon)
    return parse_tile(text, spec);
  const char *at = strchr(colon, '@');
  size_t length = (size_t)(colon - text);
  size_t digits = strspn(colon + 1, "0123456789");
  if (length == 0 || length >= sizeof spec->file || digits == 0 || digits > 9 ||
      (colon[1 + digits] && colon + 1 + digits != at))
    return false;
  memcpy(spec->file, text, length);
  spec->line = (uint32_t)strtoul(colon + 1, NULL, 10);
  spec->by_line = true;
  return !at || parse_tile(at + 1, spec);
}

/* "pe.csl" names "dir/pe.csl" too. */
static bool names_file(const char *path, const char *name)
{
  size_t n = strlen(path), m = strlen(name);
  return m <= n && strcmp(path + n - m, name) == 0 && (m == n || path[n - m - 1] == '/');
}

static bool is_in_file(const Image *image, const StopSpec *spec, const ImageLine *line)
{
  return line && line->line && line->file < image->n_files &&
         names_file(image->files[line->file], spec->file);
}

uint32_t stop_line_near(const Program *program, const StopSpec *spec)
{
  const Image *image = program->image;
  uint32_t best = 0, least = UINT32_MAX;
  for (uint32_t i = 0; i < image->n_classes; i++)
    for (uint32_t k = 0; k < image->classes[i].n_lines; k++) {
      const ImageLine *row = &image->classes[i].lines[k];
      uint32_t off = row->line > spec->line ? row->line - spec->line : spec->line - row->line;
      if (off < least && is_in_file(image, spec, row)) {
        best = row->line;
        least = off;
      }
    }
  return best;
}

bool stop_matches(const Program *program, const StopSpec *spec, const TraceEvent *event)
{
  if (event->kind != EV_INST)
    return false;
  if (spec->by_tile && event->tile != program_tile(program, spec->x, spec->y))
    return false;
  if (!spec->by_line)
    return spec->by_tile;
  const ClassCode *cls = program_class(program, event->tile);
  const ImageLine *line = image_line_at(cls->image, event->pc);
  return is_in_file(program->image, spec, line) && line->line == spec->line;
}
