/* Answers about names: where they are declared and used, what they are, and renaming. */
#include "frontend/lsp/lsp.h"

#include <ctype.h>
#include <stb_ds.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const NameSymbol *symbol_of(const Question *q, const NameUse *use)
{
  return use ? &q->a->names.symbols[use->symbol] : NULL;
}

/* The path in quotes of an import at the position; its file, or NULL. */
static const Ast *file_at(const Question *q)
{
  const Fact *best = NULL;
  for (ptrdiff_t i = 0; i < hmlen(q->a->facts.by_place); i++) {
    const Fact *fact = &q->a->facts.by_place[i].value;
    if (!file_is_none(fact->module) && fact->kind == ND_BUILTIN_CALL && q->off >= fact->at.off &&
        q->off <= fact->at.off + fact->at.len)
      best = fact;
  }
  return best ? files_parsed(q->a->session->files, best->module) : NULL;
}

json_t *answer_definition(const Question *q)
{
  const NameSymbol *symbol = symbol_of(q, names_use_at(&q->a->names, q->off));
  if (symbol)
    return analysis_location(q->a, symbol->at);
  const Ast *file = file_at(q);
  return file ? analysis_location(q->a, (Span){source_base(q->a->sources, file->file), 0}) : NULL;
}

json_t *answer_references(const Question *q)
{
  const NameUse *here = names_use_at(&q->a->names, q->off);
  if (!here)
    return NULL;
  const json_t *context = json_object_get(q->params, "context");
  bool with_declaration = json_is_true(json_object_get(context, "includeDeclaration"));
  const NameSymbol *symbol = symbol_of(q, here);
  json_t *places = json_array();
  for (size_t i = 0; i < arrlenu(q->a->names.uses); i++) {
    const NameUse *use = &q->a->names.uses[i];
    bool is_declaration = use->at.off == symbol->at.off;
    if (use->symbol == here->symbol && (with_declaration || !is_declaration))
      json_array_append_new(places, analysis_location(q->a, use->at));
  }
  return places;
}

json_t *answer_highlight(const Question *q)
{
  const NameUse *here = names_use_at(&q->a->names, q->off);
  if (!here)
    return NULL;
  json_t *places = json_array();
  for (size_t i = 0; i < arrlenu(q->a->names.uses); i++) {
    const NameUse *use = &q->a->names.uses[i];
    if (use->symbol == here->symbol && use->at.off - q->base <= q->length)
      json_array_append_new(places, json_pack("{s:o}", "range",
                                              span_range(q->a->sources, use->at)));
  }
  return places;
}

/* ---- hover --------------------------------------------------------------------------------- */

/* The lines of comments right above `line`, without their slashes. */
static const char *comment_above(Arena *arena, const char *text, const char *line)
{
  const char *result = NULL;
  while (line > text) {
    const char *above = line - 1;
    while (above > text && above[-1] != '\n')
      above--;
    const char *c = above + strspn(above, " \t");
    if (c[0] != '/' || c[1] != '/')
      break;
    c += strspn(c, "/");
    c += *c == ' ';
    const char *now = arena_copy_text(arena, c, strcspn(c, "\r\n"));
    result = result ? arena_printf(arena, "%s\n%s", now, result) : now;
    line = above;
  }
  return result;
}

const char *comment_of(const LspAnalysis *a, Arena *arena, const NameSymbol *symbol)
{
  size_t length;
  const char *text = source_text(a->sources, symbol->file, &length);
  const char *at = text + (symbol->at.off - source_base(a->sources, symbol->file));
  const char *line = at;
  while (line > text && line[-1] != '\n')
    line--;
  const char *above = comment_above(arena, text, line);
  if (above)
    return above;
  size_t rest = strcspn(at, "\n");
  for (const char *c = at; c + 1 < at + rest && *c != '"'; c++)
    if (c[0] == '/' && c[1] == '/') {
      c += strspn(c, "/ ");
      return arena_copy_text(arena, c, strcspn(c, "\r\n"));
    }
  return NULL;
}

/* The source of the declaration: of a function, without its body. */
const char *declaration_text(const LspAnalysis *a, Arena *arena, const NameSymbol *symbol)
{
  enum { LONGEST = 400 };
  size_t length;
  const char *text = source_text(a->sources, symbol->file, &length);
  Span at = symbol->node ? symbol->node->span : symbol->at;
  if (symbol->node && symbol->node->kind == ND_FN_DECL)
    at = node_fn_decl(symbol->node)->header;
  else if (symbol->kind == SYMBOL_LABEL)
    at = symbol->at;
  const char *from = text + (at.off - source_base(a->sources, symbol->file));
  return at.len <= LONGEST ? arena_copy_text(arena, from, at.len)
                           : arena_printf(arena, "%.*s ...", LONGEST, from);
}

static json_t *hover_text(const Question *q, const char *text, Span at)
{
  return json_pack("{s:{s:s,s:o},s:o}", "contents", "kind", "markdown",
                   "value", base_json_text(text), "range", span_range(q->a->sources, at));
}

static const BuiltinRow *builtin_named(const Session *s, const char *name, size_t length)
{
  for (size_t i = 0; i < s->builtins->n_rows; i++) {
    const BuiltinRow *row = &s->builtins->rows[i];
    if (strlen(row->name) == length && strncmp(row->name, name, length) == 0)
      return row;
  }
  return NULL;
}

static bool is_word_byte(char c)
{
  return isalnum((unsigned char)c) || c == '_';
}

/* The word around the position. */
static Span word_at(const Question *q)
{
  size_t at = q->off - q->base, from = at, to = at;
  while (from > 0 && is_word_byte(q->text[from - 1]))
    from--;
  while (to < q->length && is_word_byte(q->text[to]))
    to++;
  return (Span){q->base + (uint32_t)from, (uint32_t)(to - from)};
}

static json_t *hover_builtin(const Question *q)
{
  Span word = word_at(q);
  const char *text = q->text + (word.off - q->base);
  if (word.off == q->base || text[-1] != '@')
    return NULL;
  const BuiltinRow *row = builtin_named(q->a->session, text, word.len);
  if (!row)
    return NULL;
  const char *usage = row->usage ? row->usage : row->name;
  bool is_for_all = row->archs == (1u << ARCH_WSE2 | 1u << ARCH_WSE3);
  const char *where = is_for_all ? "" : row->archs & 1u << ARCH_WSE2 ? "\n\nwse2 only"
                                                                     : "\n\nwse3 only";
  return hover_text(q, arena_printf(q->a->arena, "```csl\n%s\n```%s", usage, where), word);
}

/* What the lines of a function took in the last run; NULL: nothing is known. */
static const char *function_cycles(const Question *q, const NameSymbol *symbol)
{
  if (!symbol->node || symbol->node->kind != ND_FN_DECL)
    return NULL;
  Span at = symbol->node->span;
  uint32_t first = source_locate(q->a->sources, at.off).line;
  uint32_t last = source_locate(q->a->sources, at.off + at.len - 1).line;
  char *path = analysis_path(q->a, symbol->file);
  uint64_t all, cycles = 0;
  LineCycles *lines = profile_of_file(q->a, path, &all);
  bool is_known = arrlenu(lines) > 0;
  for (size_t i = 0; i < arrlenu(lines); i++)
    cycles += lines[i].line >= first && lines[i].line <= last ? lines[i].cycles : 0;
  arrfree(lines);
  free(path);
  return is_known ? profile_text(q->a->arena, cycles, all) : NULL;
}

json_t *answer_hover(const Question *q)
{
  Arena *arena = q->a->arena;
  const NameUse *use = names_use_at(&q->a->names, q->off);
  if (!use)
    return hover_builtin(q);
  const NameSymbol *symbol = symbol_of(q, use);
  const Fact *fact = facts_at(&q->a->facts, use->at);
  const Fact *declared = facts_at(&q->a->facts, symbol->at);
  if (!fact)
    fact = declared;
  const char *type = fact_type_text(q->a->session, arena, fact);
  const char *value = fact_value_text(q->a->session, arena, fact);
  if (!value)
    value = fact_value_text(q->a->session, arena, declared);
  const char *comment = comment_of(q->a, arena, symbol);
  const char *text = arena_printf(arena, "```csl\n%s\n```", declaration_text(q->a, arena, symbol));
  if (type)
    text = arena_printf(arena, "%s\n\ntype `%s`", text, type);
  if (value)
    text = arena_printf(arena, "%s\n\nvalue `%s`", text, value);
  if (comment)
    text = arena_printf(arena, "%s\n\n%s", text, comment);
  const char *cycles = function_cycles(q, symbol);
  if (cycles)
    text = arena_printf(arena, "%s\n\nlast run: %s", text, cycles);
  return hover_text(q, text, use->at);
}

/* ---- rename -------------------------------------------------------------------------------- */

/* Names of the library belong to all programs. */
static bool is_own_file(const Question *q, FileId file)
{
  return files_name(q->a->session->files, file)[0] != '<';
}

json_t *answer_prepare_rename(const Question *q)
{
  const NameUse *use = names_use_at(&q->a->names, q->off);
  if (!use || !is_own_file(q, symbol_of(q, use)->file))
    return NULL;
  return span_range(q->a->sources, use->at);
}

static bool is_name(const char *text)
{
  if (!text || !(isalpha((unsigned char)text[0]) || text[0] == '_'))
    return false;
  for (const char *c = text; *c; c++)
    if (!is_word_byte(*c))
      return false;
  return true;
}

/* The text of a file with the name replaced at its uses. */
static SourceOverlay renamed_text(const Question *q, uint32_t symbol, FileId file, const char *name)
{
  size_t length, from = 0;
  const char *text = source_text(q->a->sources, file, &length);
  uint32_t base = source_base(q->a->sources, file);
  char *result = NULL;
  SourceOverlay overlay = {.path = analysis_path(q->a, file)};
  FILE *out = base_text_open(&result, &overlay.length);
  for (size_t i = 0; i < arrlenu(q->a->names.uses); i++) {
    const NameUse *use = &q->a->names.uses[i];
    size_t at = use->at.off - base;
    if (use->symbol != symbol || use->at.off < base || at >= length || at < from)
      continue;
    fwrite(text + from, 1, at - from, out);
    fputs(name, out);
    from = at + use->at.len;
  }
  fwrite(text + from, 1, length - from, out);
  base_text_close(out, &result);
  overlay.text = result;
  return overlay;
}

/* The ids of the messages, by file. */
static json_t *message_codes(const LspAnalysis *a)
{
  json_t *codes = json_object(), *list, *message;
  const char *path;
  size_t i;
  json_object_foreach(a->messages, path, list) {
    json_t *of_file = json_array();
    json_array_foreach(list, i, message)
      json_array_append(of_file, json_object_get(message, "code"));
    json_object_set_new(codes, path, of_file);
  }
  return codes;
}

/* Does the program have the same messages with the new name?  A name also stands in
 * strings, in other programs and in structs that are made at compile time; a rename that misses
 * one of them is refused. Runs in a process of its own, as the check may end it. */
static bool program_stays(const Question *q, uint32_t symbol, const char *name)
{
  SourceOverlay *overlays = NULL;
  for (size_t i = 0; i < arrlenu(q->a->overlays); i++)
    arrput(overlays, q->a->overlays[i]);
  for (uint32_t i = 1; i <= files_last(q->a->session->files); i++)
    if (files_parsed(q->a->session->files, (FileId){i})) {
      SourceOverlay changed = renamed_text(q, symbol, (FileId){i}, name);
      arrins(overlays, 0, changed);
    }
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    LspAnalysis again;
    bool ran = analysis_run(&again, q->a->call, overlays, q->a->stdlib);
    bool is_same = ran && json_equal(message_codes(&again), message_codes(q->a));
    _exit(is_same ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  int status = EXIT_FAILURE;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* A field of the same name in code that no tile runs: nothing says whether it is this field.
 * NULL: none. */
static const FieldName *unknown_field(const Question *q, const NameSymbol *symbol)
{
  bool is_field = symbol->node && symbol->node->kind == ND_FIELD_DECL;
  for (size_t i = 0; is_field && i < arrlenu(q->a->names.field_names); i++) {
    const FieldName *field = &q->a->names.field_names[i];
    if (str_eq(field->name, symbol->name) && is_own_file(q, field->file) &&
        !facts_field_at(&q->a->facts, field->at))
      return field;
  }
  return NULL;
}

static json_t *report_unknown_field(const Question *q, const FieldName *field)
{
  json_t *range = span_range(q->a->sources, field->at);
  json_t *start = json_object_get(range, "start");
  char *text = base_print("'%s' in line %d of %s may be this field: no tile runs that code, so "
                          "its types are not known",
                          str_text(q->a->session->names, field->name),
                          (int)json_integer_value(json_object_get(start, "line")) + 1,
                          source_path(q->a->sources, field->file));
  json_t *answer = json_pack("{s:o}", "error", base_json_text(text));
  free(text);
  json_decref(range);
  return answer;
}

json_t *answer_rename(const Question *q)
{
  const NameUse *here = names_use_at(&q->a->names, q->off);
  const char *name = json_string_value(json_object_get(q->params, "newName"));
  if (!here || !is_own_file(q, symbol_of(q, here)->file))
    return json_pack("{s:s}", "error", "no name of the program stands here");
  if (!is_name(name))
    return json_pack("{s:s}", "error", "a name consists of letters, digits and '_', and does not "
                                       "start with a digit");
  const FieldName *unknown = unknown_field(q, symbol_of(q, here));
  if (unknown)
    return report_unknown_field(q, unknown);
  if (!program_stays(q, here->symbol, name))
    return json_pack("{s:s}", "error", "the program would have other errors: the name is taken, or "
                                       "is used where only the program knows it");
  json_t *changes = json_object();
  for (size_t i = 0; i < arrlenu(q->a->names.uses); i++) {
    const NameUse *use = &q->a->names.uses[i];
    bool is_twice = i > 0 && use[-1].at.off == use->at.off && use[-1].symbol == use->symbol;
    if (use->symbol != here->symbol || is_twice)
      continue;
    json_t *location = analysis_location(q->a, use->at);
    const char *uri = json_string_value(json_object_get(location, "uri"));
    json_t *edits = json_object_get(changes, uri);
    if (!edits) {
      edits = json_array();
      json_object_set_new(changes, uri, edits);
    }
    json_array_append_new(edits, json_pack("{s:O,s:s}", "range",
                                           json_object_get(location, "range"), "newText", name));
    json_decref(location);
  }
  return json_pack("{s:o}", "changes", changes);
}
