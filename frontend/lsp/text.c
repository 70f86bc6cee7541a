/* Positions of the protocol, texts, URIs. */
#include "frontend/lsp/lsp.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>

bool is_word_byte(char c)
{
  return isalnum((unsigned char)c) || c == '_';
}

/* UTF-16 units that a byte of UTF-8 begins. */
static unsigned units_of(unsigned char byte)
{
  return (byte & 0xc0) == 0x80 ? 0 : byte >= 0xf0 ? 2 : 1;
}

size_t text_offset_of(const char *text, size_t length, const json_t *position)
{
  json_int_t line = json_integer_value(json_object_get(position, "line"));
  json_int_t character = json_integer_value(json_object_get(position, "character"));
  size_t at = 0;
  for (; line > 0 && at < length; line--) {
    const char *end = memchr(text + at, '\n', length - at);
    if (!end)
      return length;
    at = (size_t)(end - text) + 1;
  }
  if (line > 0)
    return length;
  for (json_int_t unit = 0; at < length && text[at] != '\n' && text[at] != '\r'; at++) {
    unsigned more = units_of((unsigned char)text[at]);
    if (more > 0 && unit >= character)
      break;
    unit += more;
  }
  return at;
}

static json_t *position_of(const SourceMap *sources, uint32_t off)
{
  SourceLoc loc = source_locate(sources, off);
  if (loc.line == 0)
    return json_pack("{s:i,s:i}", "line", 0, "character", 0);
  size_t length;
  const char *line = source_line(sources, off, &length);
  unsigned units = 0;
  for (size_t i = 0; i + 1 < loc.column && i < length; i++)
    units += units_of((unsigned char)line[i]);
  return json_pack("{s:i,s:i}", "line", (int)loc.line - 1, "character", (int)units);
}

json_t *span_range(const SourceMap *sources, Span span)
{
  return json_pack("{s:o,s:o}", "start", position_of(sources, span.off),
                   "end", position_of(sources, span.off + span.len));
}

char *text_after_change(char *text, const json_t *change)
{
  const char *with = json_string_value(json_object_get(change, "text"));
  const json_t *range = json_object_get(change, "range");
  if (!with)
    return text;
  size_t length = strlen(text), from = 0, to = length;
  if (range) {
    from = text_offset_of(text, length, json_object_get(range, "start"));
    to = text_offset_of(text, length, json_object_get(range, "end"));
  }
  if (to < from)
    to = from;
  char *result = base_print("%.*s%s%s", (int)from, text, with, text + to);
  free(text);
  return result;
}

/* ---- paths --------------------------------------------------------------------------------- */

static int hex_value(char c)
{
  return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

char *uri_path(const char *uri)
{
  static const char scheme[] = "file://";
  if (!uri || strncmp(uri, scheme, sizeof scheme - 1) != 0)
    return NULL;
  const char *from = strchr(uri + sizeof scheme - 1, '/');
  if (!from)
    return NULL;
  char *path = base_malloc(strlen(from) + 1);
  size_t n = 0;
  for (const char *c = from; *c; c++) {
    if (c[0] == '%' && isxdigit((unsigned char)c[1]) && isxdigit((unsigned char)c[2])) {
      path[n++] = (char)(hex_value(c[1]) * 16 + hex_value(c[2]));
      c += 2;
    } else {
      path[n++] = *c;
    }
  }
  path[n] = 0;
  return path;
}

char *path_uri(const char *path)
{
  char *uri = NULL;
  size_t length;
  FILE *out = base_text_open(&uri, &length);
  fputs("file://", out);
  for (const unsigned char *c = (const unsigned char *)path; *c; c++) {
    if (isalnum(*c) || strchr("/-_.~", *c))
      fputc(*c, out);
    else
      fprintf(out, "%%%02X", *c);
  }
  base_text_close(out, &uri);
  return uri;
}

char *path_resolved(const char *folder, const char *path)
{
  char *joined = path[0] == '/' ? base_print("%s", path) : base_print("%s/%s", folder, path);
  char real[PATH_MAX];
  if (!realpath(joined, real))
    return joined;
  free(joined);
  return base_print("%s", real);
}

char *path_folder(const char *path)
{
  const char *slash = strrchr(path, '/');
  if (!slash)
    return base_print(".");
  return slash == path ? base_print("/") : base_print("%.*s", (int)(slash - path), path);
}

json_t *completion_item(const char *label, int kind, const char *detail, const char *text)
{
  json_t *item = json_pack("{s:o,s:i}", "label", base_json_text(label), "kind", kind);
  if (detail)
    json_object_set_new(item, "detail", base_json_text(detail));
  if (text)
    json_object_set_new(item, "documentation", json_pack("{s:s,s:o}", "kind", "markdown", "value",
                                                         base_json_text(text)));
  return item;
}
