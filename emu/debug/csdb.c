/* Commands in the forms that public documents give for the vendor's debugger: COMMAND VERB
 * --OPTION=VALUE.  They work on the tiles of a rectangle, or on the selected tile if there is none.
 * What a command shows goes to the debugger's output, not to a file. */
#include "emu/debug/debug_internal.h"
#include "emu/observe/observe.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_A_LINE = 8, WORD_ROOM = 256, MOST_WORDS = PE_MEM_BYTES / 2 };

/* ---- words --------------------------------------------------------------------------------- */

/* The first word is `verb`; *rest stands behind it. */
static bool takes_verb(const char *text, const char *verb, const char **rest)
{
  size_t n = strlen(verb);
  if (strncmp(text, verb, n) != 0 || (text[n] && text[n] != ' '))
    return false;
  *rest = text + n + strspn(text + n, " ");
  return true;
}

/* The value of --NAME=VALUE or --NAME VALUE; false: it is not there. */
static bool find_option(const char *text, const char *name, char value[WORD_ROOM])
{
  size_t n = strlen(name);
  for (const char *at = strstr(text, "--"); at; at = strstr(at + 2, "--")) {
    if (strncmp(at + 2, name, n) != 0 || (at[2 + n] != '=' && at[2 + n] != ' '))
      continue;
    const char *start = at + 2 + n + 1;
    start += strspn(start, " ");
    size_t length = strcspn(start, " ");
    snprintf(value, WORD_ROOM, "%.*s", (int)length, start);
    return length > 0 && length < WORD_ROOM;
  }
  return false;
}

static void print_usage(Debugger *d, const char *usage) { fprintf(d->out, "%s\n", usage); }

/* An expression on a tile; a variable stands for its address there. */
static bool read_address(Debugger *d, uint32_t tile, const char *text, uint32_t *address)
{
  Frames frames;
  EvalContext e = evaluate_context(d->timeline, tile, 0, &frames);
  EvalValue v;
  bool is_good = evaluate_text(&e, text, &v) && evaluate_address(&e, &v, address);
  if (!is_good)
    fprintf(d->out, "%s\n", e.why);
  return is_good;
}

/* ---- the rectangle ------------------------------------------------------------------------- */

typedef void ShowTile(Debugger *d, uint32_t tile, const void *what);

static void each_tile(Debugger *d, ShowTile *show, const void *what)
{
  const uint32_t *r = d->rectangle;
  if (!r[2])
    show(d, d->tile, what);
  for (uint32_t y = r[1]; y < r[1] + r[3]; y++)
    for (uint32_t x = r[0]; x < r[0] + r[2]; x++)
      show(d, program_tile(d->program, x, y), what);
}

static void print_name(Debugger *d, uint32_t tile)
{
  fprintf(d->out, "P%u.%u\n", program_x(d->program, tile), program_y(d->program, tile));
}

static void print_rectangle(Debugger *d)
{
  const uint32_t *r = d->rectangle;
  if (r[2])
    fprintf(d->out, "rectangle %u,%u,%u,%u\n", r[0], r[1], r[2], r[3]);
  else
    fprintf(d->out, "no rectangle: tile %u,%u\n", program_x(d->program, d->tile),
            program_y(d->program, d->tile));
}

static void select_rectangle(Debugger *d, const char *text)
{
  uint32_t region[4];
  if (!*text || !stops_parse_region(d, text, region))
    return;
  memcpy(d->rectangle, region, sizeof region);
  d->tile = program_tile(d->program, region[0], region[1]);
  d->frame = 0;
  print_rectangle(d);
}

bool csdb_rectangle(Debugger *d, const char *rest)
{
  const Image *image = d->program->image;
  if (takes_verb(rest, "select", &rest)) {
    select_rectangle(d, rest);
    return true;
  }
  if (takes_verb(rest, "deselect", &rest))
    memset(d->rectangle, 0, sizeof d->rectangle);
  else if (takes_verb(rest, "reset", &rest))
    memcpy(d->rectangle, ((uint32_t[]){0, 0, image->width, image->height}), sizeof d->rectangle);
  else if (!takes_verb(rest, "show", &rest))
    return false;
  print_rectangle(d);
  return true;
}

/* ---- memory, registers, wavelets, images --------------------------------------------------- */

typedef struct { const char *address; uint32_t words; } WordRange;

static void show_words(Debugger *d, uint32_t tile, const void *what)
{
  const WordRange *range = what;
  Engine *engine = timeline_engine(d->timeline);
  uint32_t first;
  print_name(d, tile);
  if (!read_address(d, tile, range->address, &first))
    return;
  for (uint32_t i = 0; i < range->words; i++) {
    uint32_t at = first + 2 * i;
    uint8_t bytes[2];
    if (!engine->ops->mem_read(engine, tile, at, bytes, sizeof bytes)) {
      fprintf(d->out, "%s0x%04x lies outside the tile's memory\n", i % WORDS_A_LINE ? "\n" : "",
              at);
      return;
    }
    if (i % WORDS_A_LINE == 0)
      fprintf(d->out, "0x%04x:", at);
    fprintf(d->out, " %04x%s", (unsigned)(bytes[0] | bytes[1] << 8),
            i % WORDS_A_LINE == WORDS_A_LINE - 1 || i + 1 == range->words ? "\n" : "");
  }
}

static void read_words(Debugger *d, const char *rest)
{
  char address[WORD_ROOM], length[WORD_ROOM] = "1";
  WordRange range = {address, 0};
  if (!find_option(rest, "address", address)) {
    print_usage(d, "memory read --address=ADDRESS [--length=WORDS]");
    return;
  }
  uint64_t words;
  find_option(rest, "length", length);
  bool is_good = evaluate_number(length, MOST_WORDS, &words) && words > 0;
  range.words = (uint32_t)words;
  if (!is_good)
    fprintf(d->out, "--length=%s: from 1 to %d words of 16 bits\n", length, MOST_WORDS);
  else
    each_tile(d, show_words, &range);
}

typedef struct { const char *address; uint16_t word; } WordWrite;

static void write_word(Debugger *d, uint32_t tile, const void *what)
{
  const WordWrite *w = what;
  uint8_t bytes[] = {w->word & 0xff, (uint8_t)(w->word >> 8)};
  uint32_t address;
  if (read_address(d, tile, w->address, &address) &&
      !timeline_write(d->timeline, tile, address, bytes, sizeof bytes))
    fprintf(d->out, "P%u.%u: cannot write 0x%04x: it lies outside the tile's memory\n",
            program_x(d->program, tile), program_y(d->program, tile), address);
}

static void write_words(Debugger *d, const char *rest)
{
  char address[WORD_ROOM], value[WORD_ROOM];
  uint64_t number;
  if (!find_option(rest, "address", address) || !find_option(rest, "value", value) ||
      !evaluate_number(value, UINT16_MAX, &number))
    print_usage(d, "memory write --address=ADDRESS --value=WORD, a word of 16 bits");
  else if (timeline_is_past(d->timeline))
    fprintf(d->out, "the past cannot change; 'goto' leads to the present\n");
  else
    each_tile(d, write_word, &(WordWrite){address, (uint16_t)number});
}

bool csdb_memory(Debugger *d, const char *rest)
{
  bool writes = takes_verb(rest, "write", &rest);
  if (writes)
    write_words(d, rest);
  else if ((strstr(rest, "--") || !rest[strcspn(rest, " ")]) && takes_verb(rest, "read", &rest))
    read_words(d, rest);
  else
    return false;
  return true;
}

static void show_registers(Debugger *d, uint32_t tile, const void *what)
{
  Engine *engine = timeline_engine(d->timeline);
  (void)what;
  print_name(d, tile);
  if (!engine->ops->registers(engine, tile))
    fprintf(d->out, "  the tile has not run yet\n");
  dump_registers(engine, d->program, tile, d->out);
}

bool csdb_register(Debugger *d)
{
  if (!d->rectangle[2])
    return false;
  each_tile(d, show_registers, NULL);
  return true;
}

static void show_wavelets(Debugger *d, uint32_t tile, const void *what)
{
  (void)what;
  print_name(d, tile);
  dump_wavelets(timeline_engine(d->timeline), d->program, tile, d->out);
}

void csdb_wavelet(Debugger *d, const char *rest)
{
  (void)rest;
  each_tile(d, show_wavelets, NULL);
}

static void show_image(Debugger *d, uint32_t tile, const void *what)
{
  const ClassCode *cls = program_class(d->program, tile);
  (void)what;
  print_name(d, tile);
  if (!cls) {
    fprintf(d->out, "  no code\n");
    return;
  }
  fprintf(d->out, "  class %u: %s\n", cls->index, cls->image->source);
  for (uint32_t i = 0; i < cls->image->n_symbols; i++) {
    const ImageSymbol *s = &cls->image->symbols[i];
    fprintf(d->out, "  0x%04x %6u %s %s%s%s\n", s->address, s->bytes, s->is_code ? "code" : "data",
            s->name, *s->type ? ": " : "", s->type);
  }
}

void csdb_image(Debugger *d, const char *rest)
{
  (void)rest;
  each_tile(d, show_image, NULL);
}

/* ---- traces of <debug> --------------------------------------------------------------------- */

/* The words of a buffer of <debug>, whose source describes them: how many are used, the length of
 * the key, the key, records.  Without a key the import's name stands there. */
enum { TRACE_USED, TRACE_KEY_LENGTH, TRACE_KEY, TRACE_STRING = 10, TRACE_HAS_NO_KEY = 0x8000 };
typedef struct {
  uint16_t words[MOST_WORDS];
  uint32_t n, used, first;
  char key[WORD_ROOM];
} DebugRecords;

static uint32_t copy_text(const uint16_t *words, uint32_t length, char *to, uint32_t room)
{
  uint32_t n = length < room ? length : room - 1;
  for (uint32_t i = 0; i < n; i++)
    to[i] = (char)(words[i / 2] >> 8 * (i % 2));
  to[n] = 0;
  return (length + 1) / 2;
}

static bool is_trace(const ImageSymbol *s)
{
  static const char name[] = "debug_trace_buffer";      /* a part between points */
  size_t n = strlen(name);
  const char *at = strstr(s->name, name);
  return at && !s->is_code && (at == s->name || at[-1] == '.') && (!at[n] || at[n] == '.');
}

static bool read_trace(Debugger *d, uint32_t tile, const ImageSymbol *s, DebugRecords *t)
{
  Engine *engine = timeline_engine(d->timeline);
  t->n = s->bytes / 2 < MOST_WORDS ? s->bytes / 2 : MOST_WORDS;
  if (!is_trace(s) || t->n < TRACE_KEY ||
      !engine->ops->mem_read(engine, tile, s->address, t->words, 2 * t->n))
    return false;
  uint32_t length = t->words[TRACE_KEY_LENGTH] & ~(uint32_t)TRACE_HAS_NO_KEY;
  if (length / 2 + TRACE_KEY >= t->n)
    return false;               /* the program has written over it */
  t->first = TRACE_KEY + copy_text(t->words + TRACE_KEY, length, t->key, sizeof t->key);
  t->used = t->words[TRACE_USED] < t->n ? t->words[TRACE_USED] : t->n;
  return true;
}

/* Value of a record of this kind, of `n` words. */
typedef struct { uint16_t kind, words; } RecordKind;
static const RecordKind record_kinds[] = {
  {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 2}, {8, 2}, {9, 2}, {11, 3}, {12, 1}, {13, 1},
};

static void print_record(FILE *out, uint16_t kind, const uint16_t *w)
{
  uint32_t wide = kind >= 7 && kind <= 9 ? w[0] | (uint32_t)w[1] << 16 : 0;
  switch (kind) {
  case 1: fprintf(out, "%s", w[0] ? "true" : "false"); break;
  case 2: fprintf(out, "%u", w[0] & 0xffu); break;
  case 3: fprintf(out, "%d", (int8_t)(w[0] & 0xff)); break;
  case 4: fprintf(out, "%u", w[0]); break;
  case 5: fprintf(out, "%d", (int16_t)w[0]); break;
  case 6: fprintf(out, "%g", fp16_to_double(FP16_F16, w[0])); break;
  case 7: fprintf(out, "%" PRIu32, wide); break;
  case 8: fprintf(out, "%" PRId32, (int32_t)wide); break;
  case 9: fprintf(out, "%g", fp32_to_double(wide)); break;
  case 11: fprintf(out, "%" PRIu64, w[0] | (uint64_t)w[1] << 16 | (uint64_t)w[2] << 32); break;
  case 12: fprintf(out, "%g", fp16_to_double(FP16_BF16, w[0])); break;
  default: fprintf(out, "%g", fp16_to_double(FP16_CB16, w[0])); break;
  }
}

/* The words of the record's value that stand at `at`, or 0: it is the mark of a full buffer. */
static uint32_t show_record(Debugger *d, const DebugRecords *t, uint32_t at)
{
  uint16_t kind = t->words[at];
  char text[WORD_ROOM];
  if (kind == TRACE_STRING && at + 1 < t->used && t->words[at + 1] / 2 < t->used - at - 1) {
    uint32_t words = copy_text(t->words + at + 2, t->words[at + 1], text, sizeof text);
    fprintf(d->out, "    %s\n", text);
    return words + 1;
  }
  for (size_t i = 0; i < ARRAY_COUNT(record_kinds); i++) {
    if (record_kinds[i].kind != kind || record_kinds[i].words >= t->used - at)
      continue;
    fprintf(d->out, "    ");
    print_record(d->out, kind, t->words + at + 1);
    fputc('\n', d->out);
    return record_kinds[i].words;
  }
  return 0;
}

/* `what`: NULL lists the traces, otherwise the key of those that are shown; "" all. */
static void show_traces(Debugger *d, uint32_t tile, const void *what)
{
  const ClassCode *cls = program_class(d->program, tile);
  const char *key = what;
  DebugRecords *t = base_malloc(sizeof *t);
  print_name(d, tile);
  for (uint32_t i = 0; cls && i < cls->image->n_symbols; i++) {
    if (!read_trace(d, tile, &cls->image->symbols[i], t) || (key && *key && strcmp(key, t->key)))
      continue;
    fprintf(d->out, "  '%s': %u words\n", t->key, t->used > t->first ? t->used - t->first : 0);
    uint32_t words = key ? 1 : 0;
    for (uint32_t at = t->first; words && at < t->used; at += words + 1)
      words = show_record(d, t, at);
  }
  free(t);
}

void csdb_trace(Debugger *d, const char *rest)
{
  if (takes_verb(rest, "list", &rest))
    each_tile(d, show_traces, NULL);
  else if (takes_verb(rest, "select", &rest))
    snprintf(d->trace, sizeof d->trace, "%s", rest);
  else if (takes_verb(rest, "show", &rest))
    each_tile(d, show_traces, d->trace);
  else
    print_usage(d, "trace list, trace select KEY, or trace show");
}

/* ---- targets ------------------------------------------------------------------------------- */

static void print_target(Debugger *d)
{
  const Image *image = d->program->image;
  bool is_core = timeline_first(d->timeline) == timeline_present(d->timeline) &&
                 timeline_reason(d->timeline) != STAND_START;
  fprintf(d->out, "*0  %s, %s, %u x %u tiles, cycle %" PRIu64 "\n", is_core ? "core" : "run",
          machine_get(image->arch)->name, image->width, image->height,
          timeline_cycle(d->timeline));
}

/* The command line opens the core when this command has ended. */
static void create_target(Debugger *d, const char *rest)
{
  char path[WORD_ROOM];
  if (find_option(rest, "cmaddr", path))
    fprintf(d->out, "there is no wafer at '%s': programs run on the emulator\n", path);
  else if (!find_option(rest, "core-file", path))
    print_usage(d, "target create --core-file=FILE");
  else if (!d->host.opens_cores)
    fprintf(d->out, "cores are not opened here: start with --core=%s\n", path);
  else if (access(path, R_OK) != 0)
    fprintf(d->out, "cannot read '%s'\n", path);
  else {
    d->core = base_print("%s", path);
    d->quit = true;
  }
}

static void save_core(Debugger *d, const char *rest)
{
  char named[WORD_ROOM];
  if (!d->host.save_core) {
    fprintf(d->out, "cores are not written here\n");
    return;
  }
  const char *file = find_option(rest, "core-file", named) ? named : *rest ? rest : "corefile.cs1";
  char *path = *d->folder && *file != '/' ? base_print("%s/%s", d->folder, file)
                                          : base_print("%s", file);
  char *why = d->host.save_core(d->host.context, path);
  if (why)
    fprintf(d->out, "%s", why);
  else
    fprintf(d->out, "cycle %" PRIu64 " is in '%s'\n", timeline_cycle(d->timeline), path);
  free(why);
  free(path);
}

void csdb_target(Debugger *d, const char *rest)
{
  if (takes_verb(rest, "create", &rest))
    create_target(d, rest);
  else if (takes_verb(rest, "save-core", &rest))
    save_core(d, rest);
  else if (takes_verb(rest, "list", &rest) || takes_verb(rest, "show", &rest))
    print_target(d);
  else
    print_usage(d, "target create --core-file=FILE, target save-core [FILE], target list or "
                   "target show");
}

/* There is one context: the program with its target. */
void csdb_context(Debugger *d, const char *rest)
{
  if (takes_verb(rest, "select", &rest) && strcmp(rest, "0") != 0)
    fprintf(d->out, "there is no context '%s'; 0 is the only one\n", rest);
  else
    print_target(d);
}

void csdb_workdir(Debugger *d, const char *rest)
{
  if (takes_verb(rest, "select", &rest) && *rest && access(rest, W_OK) == 0)
    snprintf(d->folder, sizeof d->folder, "%s", rest);
  else if (*rest && !takes_verb(rest, "show", &rest))
    fprintf(d->out, "'%s' is no folder in which files can be written\n", rest);
  fprintf(d->out, "cores go to '%s'\n", *d->folder ? d->folder : ".");
}

void csdb_settings(Debugger *d, const char *rest)
{
  (void)rest;
  print_target(d);
  print_rectangle(d);
  fprintf(d->out, "trace '%s'\ncores go to '%s'\n", d->trace, *d->folder ? d->folder : ".");
}
