/* Breakpoints: where they are, and whether an event hits one. */
#include "emu/debug/debug_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

static Break *refuse_break(Debugger *d, const char *format, ...) BASE_PRINTF(2, 3);
static Break *refuse_break(Debugger *d, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  vfprintf(d->out, format, args);
  va_end(args);
  fputc('\n', d->out);
  return NULL;
}

/* ---- what the user writes ------------------------------------------------------------------ */

/* PLACE [@X,Y[,W,H]] [if CONDITION] */
typedef struct { char all[512], *place, *region, *condition; } BreakText;

static void trim_end(char *text)
{
  size_t n = strlen(text);
  while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
    text[--n] = 0;
}

static bool split_pieces(Debugger *d, const char *text, BreakText *out)
{
  static char nothing[] = "";
  if (strlen(text) >= sizeof out->all)
    return refuse_break(d, "the text is too long");
  strcpy(out->all, text);
  out->place = out->all;
  out->condition = out->region = nothing;
  char *condition = strncmp(out->all, "if ", 3) == 0 ? out->all : strstr(out->all, " if ");
  if (condition) {
    out->condition = condition + (condition == out->all ? 3 : 4);
    *condition = 0;
  }
  size_t length = strlen(out->all);
  if ((condition && !out->condition[strspn(out->condition, " ")]) ||
      (length >= 3 && strcmp(out->all + length - 3, " if") == 0))
    return refuse_break(d, "a condition is missing behind 'if'");
  char *region = strchr(out->all, '@');
  if (region) {
    *region++ = 0;
    out->region = region;
    trim_end(region);
  }
  trim_end(out->place);
  return true;
}

bool stops_parse_region(Debugger *d, const char *text, uint32_t region[4])
{
  const Image *image = d->program->image;
  unsigned x, y, w = 1, h = 1;
  int ends[2] = {0, 0};
  uint32_t all[4] = {0, 0, image->width, image->height};
  memcpy(region, all, sizeof all);
  if (!*text)
    return true;
  int n = sscanf(text, "%9u,%9u%n,%9u,%9u%n", &x, &y, &ends[0], &w, &h, &ends[1]);
  const char *end = text + ends[n == 4];
  if ((n != 2 && n != 4) || strpbrk(text, "+-") || end[strspn(end, " ")] || w == 0 || h == 0 ||
      x >= image->width || y >= image->height || w > image->width - x || h > image->height - y)
    return refuse_break(d, "'@%s' is no tile or region X,Y,W,H of the %u x %u tiles", text,
                        image->width, image->height);
  uint32_t given[4] = {x, y, w, h};
  memcpy(region, given, sizeof given);
  return true;
}

/* ---- places in the code -------------------------------------------------------------------- */

static void add_place(Break *b, uint32_t cls, uint32_t pc, unsigned frame)
{
  for (size_t i = 0; i < arrlenu(b->places); i++)
    if (b->places[i].cls == cls && b->places[i].pc == pc)
      return;
  arrput(b->places, ((BreakPlace){cls, (uint16_t)pc, (uint8_t)frame}));
}

/* A frame of the code of a row: where it stands, and the inlined call that it belongs to or
 * IMAGE_NO_INLINE.  The row itself is the innermost one, then come the calls around it. */
typedef struct { const ImageClass *cls; uint32_t file, line, call; unsigned number; } RowFrame;

static RowFrame row_frame(const ImageClass *cls, const ImageLine *row)
{
  return (RowFrame){cls, row->file, row->line, row->inlined_at, 0};
}

/* False: it is in no inlined call. */
static bool row_frame_out(RowFrame *f)
{
  if (f->call >= f->cls->n_inlines)
    return false;
  const ImageInline *call = &f->cls->inlines[f->call];
  *f = (RowFrame){f->cls, call->file, call->line, call->parent, f->number + 1};
  return true;
}

static bool is_in_file(const Image *image, const RowFrame *f, const char *file)
{
  return f->file < image->n_files && file_is_named(image->files[f->file], file);
}

/* The next line from `line` on that has code, be it of a call that is inlined there; 0 none. */
static uint32_t line_with_code(const Image *image, const char *file, uint32_t line)
{
  uint32_t best = 0;
  for (uint32_t c = 0; c < image->n_classes; c++)
    for (uint32_t i = 0; i < image->classes[c].n_lines; i++) {
      RowFrame f = row_frame(&image->classes[c], &image->classes[c].lines[i]);
      do {
        if (f.line >= line && (best == 0 || f.line < best) && is_in_file(image, &f, file))
          best = f.line;
      } while (row_frame_out(&f));
    }
  return best;
}

/* The innermost frame of the row's code that stands at the line; false: none does. */
static bool find_line(const Image *image, const ImageClass *cls, const ImageLine *row,
                      const char *file, uint32_t line, RowFrame *f)
{
  *f = row_frame(cls, row);
  while (f->line != line || !is_in_file(image, f, file))
    if (!row_frame_out(f))
      return false;
  return true;
}

/* Where the code of a line begins: rows of the table that do not continue the row before. */
static void add_line(Break *b, const Image *image, const char *file, uint32_t line)
{
  for (uint32_t c = 0; c < image->n_classes; c++) {
    const ImageClass *cls = &image->classes[c];
    RowFrame f, before;
    bool was_there = false;
    for (uint32_t i = 0; i < cls->n_lines; i++) {
      bool is_there = find_line(image, cls, &cls->lines[i], file, line, &f);
      if (is_there && !(was_there && before.file == f.file && before.call == f.call))
        add_place(b, c, cls->lines[i].pc, f.number);
      was_there = is_there;
      before = f;
    }
  }
}

/* Behind what belongs to the function's declaration: there the arguments are in their places. */
static uint32_t body_of(const ImageClass *cls, const ImageSymbol *s)
{
  const ImageLine *first = image_line_at(cls, s->address);
  const DebugFunction *f = calls_function(cls, s->address);
  if (first && f && f->line && first->line != f->line)
    return s->address;
  for (uint32_t i = 0; first && i < cls->n_lines; i++) {
    const ImageLine *row = &cls->lines[i];
    if (row->pc > s->address && (uint32_t)(row->pc - s->address) < s->bytes &&
        (row->line != first->line || row->file != first->file))
      return row->pc;
  }
  return s->address;
}

static bool is_named(const char *full, const char *name)
{
  const char *dot = strrchr(full, '.');
  return strcmp(full, name) == 0 || (dot && *full != '<' && strcmp(dot + 1, name) == 0);
}

/* The frame of the row's code that is a call of the function; false: none is. */
static bool find_call(const ImageClass *cls, const ImageLine *row, const char *name, RowFrame *f)
{
  *f = row_frame(cls, row);
  while (f->call >= cls->n_inlines || !is_named(cls->inlines[f->call].function, name))
    if (!row_frame_out(f))
      return false;
  return true;
}

/* The frame of the function whose code is there. */
static unsigned outermost_frame(const ImageClass *cls, uint32_t pc)
{
  const ImageLine *row = image_line_at(cls, (uint16_t)pc);
  RowFrame f = {0};
  if (row)
    f = row_frame(cls, row);
  while (row && row_frame_out(&f))
    ;
  return f.number;
}

/* The function itself, and wherever it was inlined. */
static void add_function(Break *b, const Image *image, const char *name)
{
  for (uint32_t c = 0; c < image->n_classes; c++) {
    const ImageClass *cls = &image->classes[c];
    for (uint32_t i = 0; i < cls->n_symbols; i++)
      if (cls->symbols[i].is_code && is_named(cls->symbols[i].name, name)) {
        uint32_t pc = body_of(cls, &cls->symbols[i]);
        add_place(b, c, pc, outermost_frame(cls, pc));
      }
    RowFrame f, before;
    bool was_there = false;
    for (uint32_t i = 0; i < cls->n_lines; i++) {
      bool is_there = find_call(cls, &cls->lines[i], name, &f);
      if (is_there && !(was_there && before.call == f.call))
        add_place(b, c, cls->lines[i].pc, f.number);
      was_there = is_there;
      before = f;
    }
  }
}

/* `text` is a number and nothing else; false: it is not, or it is too large. */
static bool read_word(const char *text, uint32_t *word)
{
  uint64_t number;
  bool is_word = evaluate_number(text, UINT32_MAX, &number);
  *word = (uint32_t)number;
  return is_word;
}

static void add_address(Break *b, const Program *program, const BreakSpec *spec)
{
  uint32_t pc;
  if (!read_word(spec->place + 1, &pc))
    return;
  for (uint32_t c = 0; c < program->image->n_classes; c++)
    if ((!spec->has_class || c == spec->cls) && class_insn(&program->classes[c], pc))
      add_place(b, c, pc, 0);
}

static const char *current_file(const Debugger *d)
{
  DebugFrame frames[MOST_FRAMES];
  unsigned n = frames_find(d->timeline, d->tile, frames);
  const ClassCode *cls = program_class(d->program, d->tile);
  if (n && *frames[d->frame < n ? d->frame : 0].file)
    return frames[d->frame < n ? d->frame : 0].file;
  return cls ? cls->image->source : "";
}

/* Adds the name to the array (stb_ds), if it is that of an import's function and not there yet. */
static void add_named(const char *full, const char *member, const char ***names)
{
  const char *dot = strrchr(full, '.');
  if (!dot || *full == '<' || strcmp(dot + 1, member) != 0)
    return;
  for (size_t i = 0; i < arrlenu(*names); i++)
    if (strcmp((*names)[i], full) == 0)
      return;
  arrput(*names, full);
}

/* A program calls an import by its constant, functions go by their file. */
static Break *refuse_function(Debugger *d, const char *name)
{
  const Image *image = d->program->image;
  const char *dot = strrchr(name, '.');
  const char **names = NULL;
  for (uint32_t c = 0; dot && c < image->n_classes; c++) {
    const ImageClass *cls = &image->classes[c];
    for (uint32_t i = 0; i < cls->n_symbols; i++)
      if (cls->symbols[i].is_code)
        add_named(cls->symbols[i].name, dot + 1, &names);
    for (uint32_t i = 0; i < cls->n_inlines; i++)
      add_named(cls->inlines[i].function, dot + 1, &names);
  }
  fprintf(d->out, "no tile has a function '%s'", name);
  for (size_t i = 0; i < arrlenu(names); i++)
    fprintf(d->out, "%s%s", i ? ", " : "; functions of imports go by the name of the file: ",
            names[i]);
  fputc('\n', d->out);
  arrfree(names);
  return NULL;
}

/* The line of FILE:LINE or LINE, as text, and FILE, to be freed; NULL: the place is no such one. */
static const char *line_of_place(const Debugger *d, const char *place, char **file)
{
  const char *colon = strrchr(place, ':');
  const char *number = colon ? colon + 1 : place;
  size_t digits = strspn(number, "0123456789");
  if (!digits || number[digits])
    return NULL;
  *file = colon ? base_print("%.*s", (int)(colon - place), place)
                : base_print("%s", current_file(d));
  return number;
}

static Break *place_code(Debugger *d, Break *b, const BreakSpec *spec)
{
  const Image *image = d->program->image;
  const char *place = spec->place;
  char *file = NULL;
  const char *number = *place == '*' ? NULL : line_of_place(d, place, &file);
  if (*place == '*') {
    add_address(b, d->program, spec);
  } else if (number) {
    unsigned long long asked = strtoull(number, NULL, 10);
    uint32_t line = asked < UINT32_MAX ? (uint32_t)asked : UINT32_MAX;
    b->asked_line = line;
    b->line = line_with_code(image, file, line);
    if (b->line)
      add_line(b, image, file, b->line);
    else
      refuse_break(d, "no tile has code at line %u of '%s' or behind it", line, file);
    free(file);
    if (!b->line)
      return NULL;
  } else {
    add_function(b, image, place);
  }
  if (!arrlenu(b->places))
    return *place == '*' ? refuse_break(d, "no instruction begins at %s", place + 1)
                         : refuse_function(d, place);
  return b;
}

static bool find_source(Debugger *d, const char *name, const char **file)
{
  const Image *image = d->program->image;
  for (uint32_t i = 0; i < image->n_files; i++)
    if (file_is_named(image->files[i], name)) {
      *file = image->files[i];
      return true;
    }
  refuse_break(d, "no code of the program comes from '%s'", name);
  return false;
}

bool stops_find_source(Debugger *d, const char *place, const char **file, uint64_t *line)
{
  char *name = NULL;
  const char *number = line_of_place(d, place, &name);
  if (number) {
    bool fits = evaluate_number(number, UINT64_MAX, line);
    if (!fits)
      refuse_break(d, "'%s' has more than 64 bits", number);
    bool found = fits && find_source(d, name, file);
    free(name);
    return found;
  }
  const Image *image = d->program->image;
  Break b = {0};
  add_function(&b, image, place);
  bool found = arrlenu(b.places) > 0;
  if (found) {
    const ImageClass *cls = &image->classes[b.places[0].cls];
    const ImageLine *row = image_line_at(cls, b.places[0].pc);
    RowFrame f = row ? row_frame(cls, row) : (RowFrame){0};
    while (row && f.number < b.places[0].frame && row_frame_out(&f))
      ;
    found = row && f.file < image->n_files;
    *file = found ? image->files[f.file] : "";
    *line = f.line;
  }
  arrfree(b.places);
  if (!found)
    refuse_function(d, place);
  return found;
}

/* ---- the other kinds ----------------------------------------------------------------------- */

/* By number or name; false after reporting. */
static bool find_color(Debugger *d, const char *name, unsigned *color)
{
  if (!*name)
    return refuse_break(d, "a color is missing: its number or its name");
  if (read_word(name, color) && *color < MAX_COLORS)
    return true;
  for (uint32_t t = 0; t < d->program->n_tiles; t++)
    for (*color = 0; *color < MAX_COLORS; ++*color)
      if (strcmp(program_color_name(d->program, t, *color), name) == 0)
        return true;
  return refuse_break(d, "no tile has a color '%s'", name);
}

/* COLOR [VALUE] [arrives|departs] */
static Break *place_wavelet(Debugger *d, Break *b, const char *place)
{
  char color[64] = "", words[2][32];
  int n = sscanf(place, "%63s %31s %31s", color, words[0], words[1]);
  if (!find_color(d, color, &b->color))
    return NULL;
  b->port = PORT_COUNT;
  for (int i = 0; i < n - 1; i++) {
    if (strcmp(words[i], "arrives") == 0) {
      b->port = PORT_RAMP;
    } else if (strcmp(words[i], "departs") == 0) {
      b->departs = true;
    } else {
      b->has_value = true;
      if (!read_word(words[i], &b->value))
        return refuse_break(d, "'%s' is no value, 'arrives' or 'departs'", words[i]);
    }
  }
  return b;
}

static void watch_bytes(Debugger *d, Break *b, uint32_t tile, uint32_t address, uint32_t bytes)
{
  b->tile = tile;
  b->address = address;
  b->bytes = bytes;
  b->region[0] = program_x(d->program, tile);
  b->region[1] = program_y(d->program, tile);
  b->region[2] = b->region[3] = 1;
}

static Break *place_watch(Debugger *d, Break *b, const BreakSpec *spec)
{
  const char *place = spec->place;
  if (spec->bytes) {
    watch_bytes(d, b, spec->tile, spec->address, spec->bytes);
    return spec->bytes <= BREAK_BYTES
               ? b : refuse_break(d, "at most %u bytes can be watched", BREAK_BYTES);
  }
  Frames frames;
  EvalContext e = evaluate_context(d->timeline, d->tile, d->frame, &frames);
  EvalValue v;
  if (!evaluate_text(&e, place, &v))
    return refuse_break(d, "%s", e.why);
  if (v.kind != EVAL_TYPED || !v.in_memory || v.type->bytes == 0 || v.type->bytes > BREAK_BYTES)
    return refuse_break(d, "'%s' is no variable in memory of at most %u bytes", place, BREAK_BYTES);
  watch_bytes(d, b, d->tile, v.address, v.type->bytes);
  b->name_length = (unsigned)strlen(place);
  bool is_whole = v.type->kind == DT_BOOL || v.type->bits == 8 * v.type->bytes;
  if (!evaluate_count(&e, &v) && v.bit == 0 && is_whole && v.type->bytes <= EVAL_BYTES)
    b->type = v.type;
  return b;
}

/* NAME or number; none: any task. */
static Break *place_task(Debugger *d, Break *b, const char *place)
{
  const Image *image = d->program->image;
  bool is_there = strspn(place, "0123456789") == strlen(place);
  for (uint32_t c = 0; c < image->n_classes && !is_there; c++)
    for (uint32_t i = 0; i < image->classes[c].n_tasks && !is_there; i++) {
      const char *name = image->classes[c].tasks[i].name;
      is_there = name && strcmp(name, place) == 0;
    }
  snprintf(b->task, sizeof b->task, "%s", place);
  return is_there ? b : refuse_break(d, "no tile has a task '%s'", place);
}

static Break *place_break(Debugger *d, Break *b, const BreakSpec *spec)
{
  const char *place = spec->place;
  switch (b->kind) {
  case BREAK_CODE:
    return place_code(d, b, spec);
  case BREAK_TASK:
    return place_task(d, b, place);
  case BREAK_SWITCH:
    return find_color(d, place, &b->color) ? b : NULL;
  case BREAK_WAVELET:
    return place_wavelet(d, b, place);
  case BREAK_WATCH: default:
    return place_watch(d, b, spec);
  }
}

static void free_break(Break *b)
{
  arrfree(b->places);
  free(b->condition);
  free(b->log);
}

/* N, >=N, >N, ==N, %N */
static bool parse_hits(Debugger *d, const char *text, Break *b)
{
  static const struct { const char *text; HitRule rule; unsigned less; } rules[] = {
    {">=", HITS_AFTER, 1}, {">", HITS_AFTER, 0}, {"==", HITS_EQUAL, 0}, {"=", HITS_EQUAL, 0},
    {"%", HITS_EVERY, 0}, {"", HITS_AFTER, 1},
  };
  unsigned i = 0;
  text += strspn(text, " ");
  while (strncmp(text, rules[i].text, strlen(rules[i].text)) != 0)
    i++;
  const char *number = text + strlen(rules[i].text);
  number += strspn(number, " ");
  b->rule = rules[i].rule;
  if (!evaluate_number(number, UINT64_MAX, &b->count) ||
      (b->rule != HITS_AFTER && b->count == 0) || b->count < rules[i].less)
    return refuse_break(d, "'%s' is no count of hits: N, >=N, >N, ==N or %%N", text);
  b->count -= rules[i].less;
  return true;
}

static bool has_text(const char *text) { return text && *text; }

/* What the user writes in front of the place. */
typedef struct { const char *word; BreakKind kind; } KindWord;
static const KindWord kind_words[] = {
  {"task", BREAK_TASK}, {"wavelet", BREAK_WAVELET}, {"switch", BREAK_SWITCH},
};

static const char *word_of(BreakKind kind)
{
  for (size_t i = 0; i < ARRAY_COUNT(kind_words); i++)
    if (kind_words[i].kind == kind)
      return kind_words[i].word;
  return "";
}

static void name_break(Break *b, const BreakSpec *spec)
{
  const char *word = word_of(spec->kind);
  snprintf(b->text, sizeof b->text, "%s%s%s%s%s%s%s", word,
           *word && has_text(spec->place) ? " " : "", has_text(spec->place) ? spec->place : "",
           has_text(spec->region) ? " @" : "", has_text(spec->region) ? spec->region : "",
           has_text(spec->condition) ? " if " : "",
           has_text(spec->condition) ? spec->condition : "");
}

Break *stops_add(Debugger *d, const BreakSpec *spec)
{
  Break b = {.kind = spec->kind};
  BreakSpec whole = *spec;
  whole.place = spec->place ? spec->place : "";
  if (!stops_parse_region(d, has_text(spec->region) ? spec->region : "", b.region) ||
      (has_text(spec->hits) && !parse_hits(d, spec->hits, &b)))
    return NULL;
  name_break(&b, spec);
  if (!place_break(d, &b, &whole)) {
    free_break(&b);
    return NULL;
  }
  b.condition = has_text(spec->condition) ? base_print("%s", spec->condition) : NULL;
  b.log = has_text(spec->log) ? base_print("%s", spec->log) : NULL;
  b.number = ++d->last_number;
  arrput(d->breaks, b);
  return &arrlast(d->breaks);
}

Break *stops_add_text(Debugger *d, BreakKind kind, const char *text)
{
  BreakText pieces;
  if (!split_pieces(d, text, &pieces))
    return NULL;
  return stops_add(d, &(BreakSpec){.kind = kind, .place = pieces.place, .region = pieces.region,
                                   .condition = pieces.condition});
}

BreakKind stops_kind(const char *text, const char **rest)
{
  *rest = text;
  for (size_t i = 0; i < ARRAY_COUNT(kind_words); i++) {
    size_t n = strlen(kind_words[i].word);
    if (strncmp(text, kind_words[i].word, n) != 0 || (text[n] != ' ' && text[n]))
      continue;
    *rest = text[n] ? text + n + 1 : "";
    return kind_words[i].kind;
  }
  return BREAK_CODE;
}

Break *stops_find(const Debugger *d, unsigned number)
{
  for (size_t i = 0; i < arrlenu(d->breaks); i++)
    if (d->breaks[i].number == number)
      return &d->breaks[i];
  return NULL;
}

bool stops_remove(Debugger *d, unsigned number)
{
  for (size_t i = 0; i < arrlenu(d->breaks); i++)
    if (d->breaks[i].number == number) {
      free_break(&d->breaks[i]);
      arrdel(d->breaks, i);
      return true;
    }
  return false;
}

void stops_print_change(Debugger *d, unsigned number)
{
  const Break *b = stops_find(d, number);
  if (!b || !b->type)
    return;
  Frames frames;
  EvalContext e = evaluate_context(d->timeline, b->tile, 0, &frames);
  EvalValue before = {.kind = EVAL_TYPED, .type = b->type}, now = before;
  memcpy(before.bytes, b->before, b->bytes);
  memcpy(now.bytes, b->old, b->bytes);
  fprintf(d->out, "  %.*s was ", (int)b->name_length, b->text);
  evaluate_print(&e, &before, d->out);
  fprintf(d->out, " and is ");
  evaluate_print(&e, &now, d->out);
  fputc('\n', d->out);
}

void stops_print(Debugger *d)
{
  for (size_t i = 0; i < arrlenu(d->breaks); i++) {
    const Break *b = &d->breaks[i];
    fprintf(d->out, "%u  %s%s%s, %" PRIu64 " hits", b->number,
            b->kind == BREAK_CODE ? "breakpoint " : b->kind == BREAK_WATCH ? "watch " : "", b->text,
            b->disabled ? " (disabled)" : b->temporary ? " (temporary)" : "", b->hits);
    if (b->rule == HITS_AFTER && b->count > b->hits)
      fprintf(d->out, ", stops after %" PRIu64, b->count);
    fputc('\n', d->out);
  }
  if (!arrlenu(d->breaks))
    fprintf(d->out, "no breakpoints\n");
}

/* ---- before the run ------------------------------------------------------------------------ */

static uint32_t kinds_of(BreakKind kind)
{
  switch (kind) {
  case BREAK_TASK: return 1u << TRACE_TASK;
  case BREAK_WAVELET: return 1u << TRACE_WAVELET;
  case BREAK_SWITCH: return 1u << TRACE_SWITCH;
  case BREAK_CODE: case BREAK_WATCH: default:
    return 1u << TRACE_INST | 1u << TRACE_TASK | 1u << TRACE_HOST;
  }
}

static void include_region(uint32_t all[4], const uint32_t region[4])
{
  if (all[2] == 0) {
    memcpy(all, region, 4 * sizeof *all);
    return;
  }
  for (unsigned i = 0; i < 2; i++) {
    uint32_t end = all[i] + all[i + 2], other = region[i] + region[i + 2];
    all[i] = region[i] < all[i] ? region[i] : all[i];
    all[i + 2] = (other > end ? other : end) - all[i];
  }
}

static bool read_watch(Debugger *d, const Break *b, uint8_t bytes[BREAK_BYTES])
{
  Engine *engine = timeline_engine(d->timeline);
  return engine->ops->mem_read(engine, b->tile, b->address, bytes, b->bytes);
}

/* The tiles of the region whose main thread goes on beside its operation. */
static void find_beside(Debugger *d, const uint32_t region[4])
{
  Engine *engine = timeline_engine(d->timeline);
  hmfree(d->beside);
  for (uint32_t y = region[1]; y < region[1] + region[3]; y++)
    for (uint32_t x = region[0]; x < region[0] + region[2]; x++) {
      uint32_t tile = program_tile(d->program, x, y);
      const Tile *core = engine->ops->tile(engine, tile, false);
      if (frames_beside(core))
        hmput(d->beside, tile, true);
    }
}

void stops_arm(Debugger *d)
{
  uint32_t region[4] = {0, 0, 0, 0}, kinds = 0;
  for (size_t i = 0; i < arrlenu(d->breaks); i++) {
    Break *b = &d->breaks[i];
    if (b->disabled)
      continue;
    kinds |= kinds_of(b->kind);
    include_region(region, b->region);
    if (b->kind == BREAK_WATCH)
      read_watch(d, b, b->old);
  }
  if (d->step != STEP_NONE) {
    uint32_t tile[4] = {program_x(d->program, d->step_tile), program_y(d->program, d->step_tile),
                        1, 1};
    kinds |= kinds_of(BREAK_CODE);
    include_region(region, tile);
  }
  find_beside(d, region);
  follow_listen(d, &kinds, region);
  timeline_listen(d->timeline, kinds, region);
}

/* ---- at an event --------------------------------------------------------------------------- */

static bool in_region(const Debugger *d, const Break *b, uint32_t tile)
{
  uint32_t x = program_x(d->program, tile), y = program_y(d->program, tile);
  return x >= b->region[0] && x - b->region[0] < b->region[2] && y >= b->region[1] &&
         y - b->region[1] < b->region[3];
}

/* The main thread is about to issue one of the breakpoint's instructions. */
static bool is_at_place(Debugger *d, Break *b, const TraceEvent *event)
{
  Engine *engine = timeline_engine(d->timeline);
  const Tile *core = engine->ops->tile(engine, event->tile, false);
  if (!d->arrives)
    return false;
  for (size_t i = 0; i < arrlenu(b->places); i++)
    if (b->places[i].cls == core->mem.cls->index && b->places[i].pc == core->pc) {
      b->frame = b->places[i].frame;
      return true;
    }
  return false;
}

/* The code of the task may begin with that of an inlined call. */
static bool is_task(const Debugger *d, Break *b, const TraceEvent *event)
{
  char number[16];
  snprintf(number, sizeof number, "%u", event->id);
  if (event->kind != EV_TASK_START ||
      (*b->task && strcmp(b->task, number) != 0 &&
       strcmp(b->task, program_task_name(d->program, event->tile, event->task, event->id)) != 0))
    return false;
  Engine *engine = timeline_engine(d->timeline);
  const Tile *core = engine->ops->tile(engine, event->tile, false);
  b->frame = outermost_frame(core->mem.cls->image, core->pc);
  return true;
}

static bool is_wavelet(const Break *b, const TraceEvent *event)
{
  return event->kind == EV_WAVELET && event->color == b->color &&
         (!b->has_value || event->payload == b->value) &&
         (b->port == PORT_COUNT || (event->to >> b->port & 1)) &&
         (!b->departs || event->from == PORT_RAMP);
}

static bool has_changed(Debugger *d, Break *b, const TraceEvent *event)
{
  uint8_t now[BREAK_BYTES];
  if (event->tile != b->tile || !read_watch(d, b, now) || memcmp(now, b->old, b->bytes) == 0)
    return false;
  memcpy(b->before, b->old, b->bytes);
  memcpy(b->old, now, b->bytes);
  return true;
}

static bool break_matches(Debugger *d, Break *b, const TraceEvent *event)
{
  if (b->disabled || !in_region(d, b, event->tile))
    return false;
  switch (b->kind) {
  case BREAK_CODE: return is_at_place(d, b, event);
  case BREAK_TASK: return is_task(d, b, event);
  case BREAK_WAVELET: return is_wavelet(b, event);
  case BREAK_SWITCH: return event->kind == EV_SWITCH && event->color == b->color;
  case BREAK_WATCH: default: return has_changed(d, b, event);
  }
}

/* A condition without a value holds, and the breakpoint notes why it has none: to go on would hide
 * the stop that the user waits for. */
static bool condition_holds(Debugger *d, Break *b, uint32_t tile)
{
  Frames frames;
  if (!b->condition)
    return true;
  EvalContext e = evaluate_context(d->timeline, tile, b->frame, &frames);
  EvalValue v;
  bool has_value = evaluate_text(&e, b->condition, &v);
  if (has_value && v.is_held) {
    snprintf(b->why, sizeof b->why, "the code may hold newer values than memory has");
    return true;
  }
  if (has_value && !evaluate_truth(&e, &v))
    return false;
  snprintf(b->why, sizeof b->why, "%s", has_value ? "" : e.why);
  return true;
}

/* The text of a breakpoint, with a value for each {EXPRESSION}. */
static void print_log(Debugger *d, const Break *b, uint32_t tile)
{
  Frames frames;
  EvalContext e = evaluate_context(d->timeline, tile, b->frame, &frames);
  for (const char *at = b->log; *at;) {
    size_t plain = strcspn(at, "{"), inner = at[plain] ? strcspn(at + plain + 1, "}") : 0;
    fprintf(d->out, "%.*s", (int)plain, at);
    at += plain;
    if (!*at)
      break;
    char *text = base_print("%.*s", (int)inner, at + 1);
    EvalValue v;
    if (evaluate_text(&e, text, &v))
      evaluate_print(&e, &v, d->out);
    else
      fprintf(d->out, "{%s: %s}", text, e.why);
    free(text);
    at += at[1 + inner] ? inner + 2 : inner + 1;
  }
  fputc('\n', d->out);
}

/* Is this hit one that stops?  On the way back each one does. */
static bool hit_counts(const Debugger *d, const Break *b)
{
  if (d->searching)
    return true;
  switch (b->rule) {
  case HITS_AFTER: return b->hits > b->count;
  case HITS_EQUAL: return b->hits == b->count;
  case HITS_EVERY: return b->hits % b->count == 0;
  case HITS_ALL: default: return true;
  }
}

unsigned stops_hit(Debugger *d, const TraceEvent *event, BreakHit **more)
{
  unsigned found = 0;
  for (size_t i = 0; i < arrlenu(d->breaks); i++) {
    Break *b = &d->breaks[i];
    if (!break_matches(d, b, event) || !condition_holds(d, b, event->tile))
      continue;
    b->hits += !d->searching;
    if (!hit_counts(d, b))
      continue;
    if (b->log && !d->searching)
      print_log(d, b, event->tile);
    if (b->log)
      continue;
    if (found)
      arrput(*more, ((BreakHit){b->number, b->kind, event->tile}));
    else
      found = b->number;
  }
  return found;
}

void stops_forget_hit(Debugger *d)
{
  d->hit = 0;
  arrsetlen(d->others, 0);
}
