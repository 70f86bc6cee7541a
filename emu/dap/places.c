/* Files: those of the image, and where this machine has them. */
#include "emu/dap/dap_internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

static const Image *image_of(const DapServer *s)
{
  return s->debugger.program->image;
}

void places_open(DapServer *s)
{
  for (uint32_t i = 0; i < image_of(s)->n_files; i++) {
    char *path = source_find(s->debugger.program, image_of(s)->files[i]);
    arrput(s->paths, path ? path : base_print("%s", image_of(s)->files[i]));
  }
}

/* A file that was moved since is found by its name. */
uint32_t places_file(DapServer *s, const json_t *source)
{
  char path[PATH_MAX];
  const char *given = arg_text(source, "path", arg_text(source, "name", ""));
  const char *real = realpath(given, path) ? path : given;
  const char *slash = strrchr(given, '/');
  for (size_t i = 0; i < arrlenu(s->paths); i++)
    if (strcmp(s->paths[i], real) == 0)
      return (uint32_t)i;
  for (size_t i = 0; i < arrlenu(s->paths); i++)
    if (file_is_named(s->paths[i], slash ? slash + 1 : given))
      return (uint32_t)i;
  return UINT32_MAX;
}

json_t *places_source(DapServer *s, const char *file)
{
  for (uint32_t i = 0; i < image_of(s)->n_files; i++)
    if (strcmp(image_of(s)->files[i], file) == 0) {
      const char *slash = strrchr(s->paths[i], '/');
      return json_pack("{s:o,s:o}", "name", base_json_text(slash ? slash + 1 : s->paths[i]), "path",
                       base_json_text(s->paths[i]));
    }
  return NULL;
}

json_t *answer_sources(DapServer *s, const json_t *args)
{
  json_t *list = json_array();
  (void)args;
  for (uint32_t i = 0; i < image_of(s)->n_files; i++)
    json_array_append_new(list, places_source(s, image_of(s)->files[i]));
  return json_pack("{s:o}", "sources", list);
}

json_t *answer_source(DapServer *s, const json_t *args)
{
  enum { MOST_SOURCE_BYTES = 1 << 26 };
  size_t length;
  const char *why;
  uint32_t file = places_file(s, json_object_get(args, "source"));
  if (file == UINT32_MAX)
    return refuse_request(s, "this is no file of the program");
  char *text = file_read_text(s->paths[file], MOST_SOURCE_BYTES, &length, &why);
  if (!text)
    return refuse_request(s, "cannot read '%s': %s%s", s->paths[file], why,
                          *s->paths[file] == '/' ? "" : "; " SOURCE_ELSEWHERE ", by 'cwd'");
  json_t *body = json_pack("{s:o}", "content", base_json_text(text));
  free(text);
  return body;
}

static int by_line(const void *a, const void *b)
{
  const json_int_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

typedef struct { uint32_t file; json_int_t first, last, *lines; } LinesOf;

static void add_code_line(LinesOf *of, uint32_t file, uint32_t line)
{
  if (file == of->file && line >= of->first && line <= of->last && line)
    arrput(of->lines, line);
}

/* The lines between two that have code, be it of a call that is inlined there. */
json_t *answer_lines(DapServer *s, const json_t *args)
{
  json_int_t first = arg_number(args, "line", 0) - s->line_base;
  LinesOf of = {.file = places_file(s, json_object_get(args, "source")), .first = first,
                .last = arg_number(args, "endLine", first + s->line_base) - s->line_base};
  json_t *list = json_array();
  for (uint32_t c = 0; c < image_of(s)->n_classes; c++) {
    const ImageClass *cls = &image_of(s)->classes[c];
    for (uint32_t i = 0; i < cls->n_lines; i++)
      add_code_line(&of, cls->lines[i].file, cls->lines[i].line);
    for (uint32_t i = 0; i < cls->n_inlines; i++)
      add_code_line(&of, cls->inlines[i].file, cls->inlines[i].line);
  }
  if (of.lines)
    qsort(of.lines, arrlenu(of.lines), sizeof *of.lines, by_line);
  for (size_t i = 0; i < arrlenu(of.lines); i++)
    if (i == 0 || of.lines[i] != of.lines[i - 1])
      json_array_append_new(list, json_pack("{s:I}", "line", of.lines[i] + s->line_base));
  arrfree(of.lines);
  return json_pack("{s:o}", "breakpoints", list);
}
