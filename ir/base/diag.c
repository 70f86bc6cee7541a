/* The diagnostic engine: collects, orders, caps and prints.
 *
 * Records stay in the order they were made; a head (error or warning) owns the notes that
 * follow it.  Printing sorts heads by place and folds those of one place and id into the first:
 * one mistake that many tiles or rounds of a loop show with other values is one message.  A record
 * is never printed twice. */
#include "ir/base/base.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <stb_ds.h>
#include <uthash.h>

enum { MOST_ERRORS = 20 };

/* A source line is shown whole up to this; of a longer one, a window around the place. */
enum { WIDEST_LINE = 200, WINDOW_BEFORE = 80 };

typedef struct {
  UT_hash_handle hh;        /* heads only; the key is their place, id and message */
  const char *key;
  Severity severity;
  bool is_context;          /* a note of the context hook: stands below the others */
  Span span;
  const char *id, *message;
  const char *fix;          /* text to put in the place of `fix_span`, or NULL */
  Span fix_span;
} Record;

struct Diags {
  const SourceMap *sources;
  void *context;
  Arena *arena;             /* records and messages */
  Arena *scratch;           /* boxed texts; reset after each record */
  Record **records;         /* stb_ds array */
  Record *seen;             /* uthash over all heads, printed ones too */
  size_t n_printed;         /* of records, a prefix */
  size_t n_errors, n_warnings, n_errors_printed;
  size_t n_repeats;         /* errors that were not recorded: known already, or consequences */
  bool warnings_are_errors;
  bool drop_notes;          /* the last head was not recorded: its notes go with it */
  DiagHook *hook;           /* adds the context notes of a head */
  void *hook_data;
  bool in_hook;
  size_t most_errors;       /* that are printed */
  bool capped;              /* "too many errors" was said */
};

Diags *diags_create(const SourceMap *sources)
{
  Diags *diags = base_malloc(sizeof *diags);
  *diags = (Diags){.sources = sources,
                   .most_errors = MOST_ERRORS,
                   .arena = arena_create("diagnostics"),
                   .scratch = arena_create("diagnostic arguments")};
  return diags;
}

void diags_destroy(Diags *diags)
{
  if (!diags)
    return;
  HASH_CLEAR(hh, diags->seen);
  arrfree(diags->records);
  arena_destroy(diags->arena);
  arena_destroy(diags->scratch);
  free(diags);
}

void diags_set_context(Diags *diags, void *context)
{
  diags->context = context;
}

void *diags_context(const Diags *diags)
{
  return diags->context;
}

Arena *diags_scratch(Diags *diags)
{
  return diags->scratch;
}

void diags_set_hook(Diags *diags, DiagHook *hook, void *data)
{
  diags->hook = hook;
  diags->hook_data = data;
}

void *diags_hook_data(const Diags *diags)
{
  return diags->hook_data;
}

void diags_warnings_are_errors(Diags *diags, bool on)
{
  diags->warnings_are_errors = on;
}

size_t diags_error_count(const Diags *diags)
{
  return diags->n_errors;
}

size_t diags_errors_met(const Diags *diags)
{
  return diags->n_errors + diags->n_repeats;
}

size_t diags_warning_count(const Diags *diags)
{
  return diags->n_warnings;
}

/* ---- recording ----------------------------------------------------------------------- */

static const char *arg_text(Arena *arena, const DiagArg *arg)
{
  switch (arg->kind) {
  case DIAG_ARG_TEXT:
  case DIAG_ARG_POISON: return arg->text ? arg->text : "(null)";
  case DIAG_ARG_INT: return arena_printf(arena, "%lld", (long long)arg->i);
  case DIAG_ARG_UINT: return arena_printf(arena, "%llu", (unsigned long long)arg->u);
  }
  ICE("bad diagnostic argument kind %d", (int)arg->kind);
}

/* The template with its {} replaced, in the scratch arena. */
static const char *fill_template(Diags *diags, const DiagRow *row, const DiagArg *args, size_t n)
{
  char *text = NULL;        /* stb_ds array */
  size_t next = 0;
  for (const char *c = row->text; *c; c++) {
    if (c[0] != '{' || c[1] != '}') {
      arrput(text, *c);
      continue;
    }
    if (next == n)
      ICE("diagnostic %s has more {} than arguments", row->id);
    const char *value = arg_text(diags->scratch, &args[next++]);
    size_t length = strlen(value);
    if (length)
      memcpy(arraddnptr(text, length), value, length);
    c++;
  }
  if (next != n)
    ICE("diagnostic %s has fewer {} than arguments", row->id);
  const char *copy = arena_copy_text(diags->scratch, text, arrlenu(text));
  arrfree(text);
  return copy;
}

static void count_head(Diags *diags, const Record *record, int by)
{
  size_t *count = record->severity == SEV_ERROR ? &diags->n_errors : &diags->n_warnings;
  *count += (size_t)by;
}

/* Enters a head among those seen; false if an equal one was there. */
static bool is_new_head(Diags *diags, Record *record)
{
  record->key = arena_printf(diags->arena, "%u+%u %s %s", record->span.off, record->span.len,
                             record->id, record->message);
  size_t length = strlen(record->key);
  Record *found;
  HASH_FIND(hh, diags->seen, record->key, length, found);
  if (found)
    return false;
  HASH_ADD_KEYPTR(hh, diags->seen, record->key, length, record);
  return true;
}

/* What follows from an error that has been reported is not reported. */
static bool is_consequence(const Diags *diags, const DiagArg *args, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (args[i].kind == DIAG_ARG_POISON)
      return diags->n_errors > 0;
  return false;
}

static Record *make_record(Diags *diags, const DiagRow *row, Span span, const char *message)
{
  Record *record = arena_new(diags->arena, Record);
  record->severity = row->severity;
  if (row->severity == SEV_WARNING && diags->warnings_are_errors)
    record->severity = SEV_ERROR;
  record->is_context = diags->in_hook;
  record->span = span;
  record->id = row->id;
  record->message = arena_copy_text(diags->arena, message, strlen(message));
  return record;
}

static void add_context(Diags *diags)
{
  if (!diags->hook)
    return;
  diags->in_hook = true;
  diags->hook(diags, diags->hook_data);
  diags->in_hook = false;
}

void diag_emit(Diags *diags, const DiagRow *row, Span span, const DiagArg *args, size_t n_args)
{
  bool is_head = row->severity != SEV_NOTE;
  if (!is_head && diags->drop_notes)
    return;
  if (is_head && is_consequence(diags, args, n_args)) {
    diags->drop_notes = true;
    diags->n_repeats += row->severity == SEV_ERROR;
    arena_reset(diags->scratch);
    return;
  }
  Record *record = make_record(diags, row, span, fill_template(diags, row, args, n_args));
  arena_reset(diags->scratch);
  if (is_head) {
    diags->drop_notes = !is_new_head(diags, record);
    if (diags->drop_notes) {
      diags->n_repeats += record->severity == SEV_ERROR;
      return;
    }
    count_head(diags, record, 1);
  }
  arrput(diags->records, record);
  if (is_head)
    add_context(diags);
}

void diags_raise(Diags *diags)
{
  for (size_t i = arrlenu(diags->records); i-- > 0 && !diags->drop_notes;) {
    Record *record = diags->records[i];
    if (record->severity == SEV_NOTE)
      continue;
    count_head(diags, record, -1);
    record->severity = SEV_ERROR;
    count_head(diags, record, 1);
    return;
  }
}

bool diags_takes_notes(const Diags *diags)
{
  return !diags->drop_notes;
}

bool diags_last_is_in(const Diags *diags, Span span)
{
  size_t last = arrlenu(diags->records);
  while (last > 0 && diags->records[last - 1]->severity == SEV_NOTE)
    last--;
  uint32_t at = last > 0 ? diags->records[last - 1]->span.off : 0;
  return last > 0 && at >= span.off && at <= span.off + span.len;
}

const char *diags_bare_error(const Diags *diags, Span span)
{
  size_t last = diags->drop_notes ? 0 : arrlenu(diags->records);
  while (last > 0 && diags->records[last - 1]->is_context)
    last--;
  const Record *record = last > 0 ? diags->records[last - 1] : NULL;
  bool is_it = record && record->severity == SEV_ERROR && record->span.off == span.off &&
               record->span.len == span.len;
  return is_it ? record->id : NULL;
}

void diags_fix(Diags *diags, Span span, const char *text)
{
  if (diags->drop_notes || arrlenu(diags->records) == 0)
    return;
  size_t last = arrlenu(diags->records) - 1;
  while (last > 0 && diags->records[last]->is_context)
    last--;
  diags->records[last]->fix = arena_copy_text(diags->arena, text, strlen(text));
  diags->records[last]->fix_span = span;
}

size_t diags_mark(const Diags *diags)
{
  return arrlenu(diags->records);
}

static size_t first_unprinted(const Diags *diags, size_t mark)
{
  return mark < diags->n_printed ? diags->n_printed : mark;
}

struct TakenDiags { size_t n; Record **records; };

TakenDiags *diags_take(Diags *diags, size_t mark)
{
  size_t first = first_unprinted(diags, mark), n = arrlenu(diags->records) - first;
  if (n == 0)
    return NULL;
  TakenDiags *taken = arena_new(diags->arena, TakenDiags);
  taken->n = n;
  taken->records = arena_many(diags->arena, Record *, n);
  memcpy(taken->records, diags->records + first, n * sizeof(Record *));
  diags_rewind(diags, mark);
  return taken;
}

void diags_put_back(Diags *diags, const TakenDiags *taken)
{
  bool is_known = false;    /* the head, and so its notes */
  for (size_t i = 0; i < taken->n; i++) {
    Record *record = taken->records[i];
    if (record->severity != SEV_NOTE) {
      record->severity = diags->warnings_are_errors ? SEV_ERROR : SEV_WARNING;
      is_known = !is_new_head(diags, record);
      if (!is_known)
        count_head(diags, record, 1);
    }
    if (!is_known)
      arrput(diags->records, record);
  }
}

void diags_rewind(Diags *diags, size_t mark)
{
  mark = first_unprinted(diags, mark);
  while (arrlenu(diags->records) > mark) {
    Record *record = arrpop(diags->records);
    if (record->severity == SEV_NOTE)
      continue;
    HASH_DELETE(hh, diags->seen, record);
    count_head(diags, record, -1);
  }
  if (diags->n_errors == 0)
    diags->n_repeats = 0;
  diags->drop_notes = false;
}

void diags_show_all(Diags *diags)
{
  diags->most_errors = SIZE_MAX;
}

void diags_drop(Diags *diags, const char *id)
{
  size_t kept = diags->n_printed;
  bool drops = false;       /* the head, and so its notes */
  for (size_t i = kept; i < arrlenu(diags->records); i++) {
    Record *record = diags->records[i];
    if (record->severity != SEV_NOTE) {
      drops = strcmp(record->id, id) == 0;
      if (drops)
        count_head(diags, record, -1);
    }
    if (!drops)
      diags->records[kept++] = record;
  }
  arrsetlen(diags->records, kept);
}

/* ---- text ---------------------------------------------------------------------------- */

static const char *severity_name(Severity severity)
{
  switch (severity) {
  case SEV_NOTE: return "note";
  case SEV_WARNING: return "warning";
  case SEV_ERROR: return "error";
  }
  return "error";
}

static bool is_continuation_byte(char c)
{
  return ((unsigned char)c & 0xc0) == 0x80;
}

/* Terminal controls in a source text must not reach the terminal. */
static char printable_char(char c)
{
  bool control = ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
  return control ? '?' : c;
}

/* The source line and, under it, ^~~~; `len` is cut at the end of the line. */
static void print_excerpt(const Diags *diags, Span span, FILE *out)
{
  size_t length;
  const char *line = source_line(diags->sources, span.off, &length);
  size_t at = source_locate(diags->sources, span.off).column - 1;
  if (length && line[length - 1] == '\r')
    length--;
  if (length > WIDEST_LINE) {
    size_t skip = at > WINDOW_BEFORE ? at - WINDOW_BEFORE : 0;
    while (skip > 0 && is_continuation_byte(line[skip]))
      skip--;
    line += skip;
    at -= skip;
    length = length - skip < WIDEST_LINE ? length - skip : WIDEST_LINE;
  }
  for (size_t i = 0; i < length; i++)
    fputc(printable_char(line[i]), out);
  fputc('\n', out);
  for (size_t i = 0; i < at && i < length; i++)
    if (!is_continuation_byte(line[i]))
      fputc(line[i] == '\t' ? '\t' : ' ', out);
  fputc('^', out);
  for (size_t i = at + 1; i < length && i < at + span.len; i++)
    if (!is_continuation_byte(line[i]))
      fputc('~', out);
  fputc('\n', out);
}

static void print_record(const Diags *diags, const Record *record, FILE *out)
{
  SourceLoc loc = source_locate(diags->sources, record->span.off);
  if (loc.line)
    fprintf(out, "%s:%u:%u: ", loc.path, loc.line, loc.column);
  fprintf(out, "%s: %s", severity_name(record->severity), record->message);
  if (record->severity == SEV_NOTE) {
    fputc('\n', out);
    return;
  }
  fprintf(out, " [%s]\n", record->id);
  if (loc.line)
    print_excerpt(diags, record->span, out);
}

/* ---- JSON ---------------------------------------------------------------------------- */

json_t *base_json_text(const char *text)
{
  json_t *value = json_string(text);
  if (value)
    return value;
  size_t length = strlen(text);
  char *plain = base_malloc(length + 1);
  for (size_t i = 0; i <= length; i++)
    plain[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
  value = json_string(plain);
  free(plain);
  return value;
}

static void add_place_json(const Diags *diags, Span span, json_t *object)
{
  SourceLoc loc = source_locate(diags->sources, span.off);
  SourceLoc end = source_locate(diags->sources, loc.line ? span.off + span.len : span.off);
  json_object_set_new(object, "file", base_json_text(loc.path));
  json_object_set_new(object, "line", json_integer(loc.line));
  json_object_set_new(object, "col", json_integer(loc.column));
  json_object_set_new(object, "end_line", json_integer(end.line));
  json_object_set_new(object, "end_col", json_integer(end.column));
  json_object_set_new(object, "length", json_integer(loc.line ? span.len : 0));
}

static json_t *record_json(const Diags *diags, const Record *record)
{
  json_t *object = json_object();
  add_place_json(diags, record->span, object);
  json_object_set_new(object, "severity", base_json_text(severity_name(record->severity)));
  json_object_set_new(object, "id", base_json_text(record->id));
  json_object_set_new(object, "message", base_json_text(record->message));
  if (record->fix) {
    json_t *fix = json_object();
    add_place_json(diags, record->fix_span, fix);
    json_object_set_new(fix, "text", base_json_text(record->fix));
    json_object_set_new(object, "fix", fix);
  }
  return object;
}

static void print_json(json_t *object, json_t *notes, FILE *out)
{
  json_object_set_new(object, "notes", notes);
  json_dumpf(object, out, JSON_COMPACT | JSON_PRESERVE_ORDER);
  fputc('\n', out);
  json_decref(object);
}

/* ---- flush --------------------------------------------------------------------------- */

typedef struct {
  size_t head, end;         /* records [head, end): a head and its notes */
  uint32_t off;
  size_t like;              /* the first group of this place and id, an index */
  size_t n_like, last_like; /* of the first one: how many there are more, and the last one's head */
} DiagGroup;

static int compare_groups(const void *a, const void *b)
{
  const DiagGroup *x = a, *y = b;
  if (x->off != y->off)
    return x->off < y->off ? -1 : 1;
  return x->head < y->head ? -1 : x->head > y->head;
}

static bool are_alike(const Record *a, const Record *b)
{
  return a->span.off == b->span.off && a->span.len == b->span.len && a->severity == b->severity
         && strcmp(a->id, b->id) == 0;
}

/* The group like `groups[i]` among `kinds`, indices; `i` if there is none. */
static size_t like_of(const Diags *diags, const DiagGroup *groups, const size_t *kinds, size_t i)
{
  for (size_t k = 0; k < arrlenu(kinds); k++)
    if (are_alike(diags->records[groups[kinds[k]].head], diags->records[groups[i].head]))
      return kinds[k];
  return i;
}

/* Each group's `like`, from groups that are sorted. */
static void find_alike(const Diags *diags, DiagGroup *groups)
{
  size_t *kinds = NULL;     /* stb_ds: the first groups of each kind at one place */
  for (size_t i = 0; i < arrlenu(groups); i++) {
    if (i && groups[i].off != groups[i - 1].off)
      arrsetlen(kinds, 0);
    size_t like = groups[i].off ? like_of(diags, groups, kinds, i) : i;
    groups[i].like = like;
    if (like == i) {
      arrput(kinds, i);
      continue;
    }
    groups[like].n_like++;
    groups[like].last_like = groups[i].head;
  }
  arrfree(kinds);
}

/* Folds three groups and more into the first one; two may say different things, such as what is
 * wrong in x and what in y.  Without a place, nothing shows that messages are about one mistake. */
static DiagGroup *fold_groups(const Diags *diags, DiagGroup *groups)
{
  DiagGroup *kept = NULL;
  find_alike(diags, groups);
  for (size_t i = 0; i < arrlenu(groups); i++)
    if (groups[i].like == i || groups[groups[i].like].n_like == 1)
      arrput(kept, groups[i]);
  arrfree(groups);
  return kept;
}

/* What is not printed yet, sorted by place; stb_ds array. */
static DiagGroup *pending_groups(const Diags *diags)
{
  DiagGroup *groups = NULL;
  size_t n = arrlenu(diags->records);
  for (size_t i = diags->n_printed; i < n;) {
    DiagGroup group = {.head = i, .end = i + 1, .off = diags->records[i]->span.off};
    while (group.end < n && diags->records[group.end]->severity == SEV_NOTE)
      group.end++;
    arrput(groups, group);
    i = group.end;
  }
  if (groups)
    qsort(groups, arrlenu(groups), sizeof *groups, compare_groups);
  return fold_groups(diags, groups);
}

static bool is_folded(const DiagGroup *group)
{
  return group->n_like > 1;
}

/* The note about what is folded into a group. */
static Record like_note(Diags *diags, const DiagGroup *group)
{
  const Record *last = diags->records[group->last_like];
  Record note = {.severity = SEV_NOTE, .id = "like_this", .span = last->span};
  note.message = arena_printf(diags->arena, "%zu more like it here; the last one: %s",
                              group->n_like, last->message);
  return note;
}

static void print_group_text(Diags *diags, const DiagGroup *group, FILE *out)
{
  for (int context = 0; context < 2; context++)
    for (size_t i = group->head; i < group->end; i++)
      if (diags->records[i]->is_context == (context == 1))
        print_record(diags, diags->records[i], out);
  if (is_folded(group)) {
    Record note = like_note(diags, group);
    print_record(diags, &note, out);
  }
}

static void print_group_json(Diags *diags, const DiagGroup *group, FILE *out)
{
  json_t *notes = json_array();
  for (int context = 0; context < 2; context++)
    for (size_t i = group->head + 1; i < group->end; i++)
      if (diags->records[i]->is_context == (context == 1))
        json_array_append_new(notes, record_json(diags, diags->records[i]));
  if (is_folded(group)) {
    Record note = like_note(diags, group);
    json_array_append_new(notes, record_json(diags, &note));
  }
  print_json(record_json(diags, diags->records[group->head]), notes, out);
}

static void print_group(Diags *diags, const DiagGroup *group, FILE *out, DiagFormat format)
{
  if (format == DIAG_FORMAT_JSON)
    print_group_json(diags, group, out);
  else
    print_group_text(diags, group, out);
}

static void print_cap(Diags *diags, FILE *out, DiagFormat format)
{
  diags->capped = true;
  Record record = {.severity = SEV_ERROR, .id = "too_many_errors"};
  record.message = "too many errors; the rest is not shown";
  if (format == DIAG_FORMAT_TEXT)
    print_record(diags, &record, out);
  else
    print_json(record_json(diags, &record), json_array(), out);
}

void diags_flush(Diags *diags, FILE *out, DiagFormat format)
{
  DiagGroup *groups = pending_groups(diags);
  for (size_t i = 0; i < arrlenu(groups) && !diags->capped; i++) {
    bool is_error = diags->records[groups[i].head]->severity == SEV_ERROR;
    if (is_error && diags->n_errors_printed == diags->most_errors) {
      print_cap(diags, out, format);
      break;
    }
    diags->n_errors_printed += is_error;
    print_group(diags, &groups[i], out, format);
  }
  arrfree(groups);
  diags->n_printed = arrlenu(diags->records);
  fflush(out);
}
