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

/* Which line of the file the instructions of the row come from: their own, or that of a call that
 * is inlined there.  The one nearest to the line asked for; 0: none. */
static uint32_t line_in_file(const Image *image, const ImageClass *cls, const ImageLine *row,
                             const StopSpec *spec, uint32_t *off)
{
  uint32_t file = row->file, line = row->line, call = row->inlined_at, best = 0;
  *off = UINT32_MAX;
  for (;;) {
    uint32_t away = line > spec->line ? line - spec->line : spec->line - line;
    bool is_named = file < image->n_files && file_is_named(image->files[file], spec->file);
    if (line && away < *off && is_named) {
      best = line;
      *off = away;
    }
    if (call >= cls->n_inlines)
      return best;
    file = cls->inlines[call].file;
    line = cls->inlines[call].line;
    call = cls->inlines[call].parent;
  }
}

uint32_t stop_line_near(const Program *program, const StopSpec *spec)
{
  const Image *image = program->image;
  uint32_t best = 0, least = UINT32_MAX, off;
  for (uint32_t i = 0; i < image->n_classes; i++)
    for (uint32_t k = 0; k < image->classes[i].n_lines; k++) {
      const ImageClass *cls = &image->classes[i];
      uint32_t line = line_in_file(image, cls, &cls->lines[k], spec, &off);
      if (off < least) {
        best = line;
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
  const ImageLine *row = image_line_at(cls->image, event->pc);
  uint32_t off;
  return row && line_in_file(program->image, cls->image, row, spec, &off) && off == 0;
}
