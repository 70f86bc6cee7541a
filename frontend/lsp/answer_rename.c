/* Renaming. The server asks each program of a declaration for the places of its name, then shows
 * the places of all programs to each of them: it says whether it stays the same. */
#include "frontend/lsp/lsp.h"

#include <ctype.h>
#include <stb_ds.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static json_t *make_refusal(const char *why)
{
  return json_pack("{s:s}", "error", why);
}

/* Names of the library belong to all programs. */
static bool is_own_file(const Question *q, FileId file)
{
  return files_name(q->a->session->files, file)[0] != '<';
}

json_t *answer_prepare_rename(const Question *q)
{
  const NameUse *use = names_use_at(&q->a->names, q->off);
  if (!use || !is_own_file(q, question_symbol(q, use)->file))
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

/* ---- the places ---------------------------------------------------------------------------- */

/* Without a layout, a host script may make the program: it gives the main file's parameters their
 * values, and finds what is declared with `export`, by name. */
static bool is_name_of_host(const Question *q, const NameSymbol *symbol)
{
  const Session *s = q->a->session;
  bool is_of_main = s->layout && s->layout->ast && file_eq(s->layout->ast->file, symbol->file);
  return !q->a->is_whole && (symbol->is_exported || (symbol->kind == SYMBOL_PARAM && is_of_main));
}

static void add_edit(json_t *changes, const json_t *location, const char *text)
{
  const char *uri = json_string_value(json_object_get(location, "uri"));
  json_t *edits = json_object_get(changes, uri);
  if (!edits) {
    edits = json_array();
    json_object_set_new(changes, uri, edits);
  }
  json_array_append_new(edits, json_pack("{s:O,s:s}", "range", json_object_get(location, "range"),
                                         "newText", text));
}

/* What stands at the use later: an export keeps the name that the host and the layout have. */
static const char *text_at(const Question *q, const NameUse *use, const char *name)
{
  if (!names_is_exporting(&q->a->names, use->at))
    return name;
  StrId old = q->a->names.symbols[use->symbol].name;
  return arena_printf(q->a->arena, "%s, \"%s\"", name, str_text(q->a->session->names, old));
}

static json_t *edits_of(const Question *q, uint32_t symbol, const char *name)
{
  json_t *changes = json_object();
  for (size_t i = 0; i < arrlenu(q->a->names.uses); i++) {
    const NameUse *use = &q->a->names.uses[i];
    if (use->symbol != symbol)
      continue;
    json_t *location = analysis_location(q->a, use->at);
    add_edit(changes, location, text_at(q, use, name));
    json_decref(location);
  }
  return changes;
}

json_t *answer_rename(const Question *q)
{
  const NameUse *here = names_use_at(&q->a->names, q->off);
  const NameSymbol *symbol = question_symbol(q, here);
  const char *name = json_string_value(json_object_get(q->params, "newName"));
  if (!here || !is_own_file(q, symbol->file))
    return make_refusal("no name of the program stands here");
  if (!is_name(name))
    return make_refusal("a name consists of letters, digits and '_', and does not start with a "
                        "digit");
  bool is_field = symbol->node && symbol->node->kind == ND_FIELD_DECL;
  return json_pack("{s:o,s:o,s:b,s:o}", "changes", edits_of(q, here->symbol, name),
                   "declaration", analysis_location(q->a, symbol->at),
                   "isNameOfHost", (int)is_name_of_host(q, symbol),
                   "field", is_field ? base_json_text(str_text(q->a->session->names, symbol->name))
                                     : json_null());
}

/* ---- the check ----------------------------------------------------------------------------- */

/* The text with the edits, which are in the order of their places. */
static SourceOverlay renamed_text(const Question *q, FileId file, const json_t *edits)
{
  size_t length;
  const char *source = source_text(q->a->sources, file, &length);
  char *text = base_print("%.*s", (int)length, source);
  for (size_t i = json_array_size(edits); i-- > 0;) {
    const json_t *edit = json_array_get(edits, i);
    json_t *change = json_pack("{s:O,s:O}", "range", json_object_get(edit, "range"),
                               "text", json_object_get(edit, "newText"));
    text = text_after_change(text, change);
    json_decref(change);
  }
  return (SourceOverlay){analysis_path(q->a, file), text, strlen(text)};
}

static const json_t *edits_in(const Question *q, FileId file)
{
  char *path = analysis_path(q->a, file), *uri = path_uri(path);
  const json_t *edits = json_object_get(json_object_get(q->params, "changes"), uri);
  free(uri);
  free(path);
  return edits;
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

/* Does the program have the same messages with the new name?  A name also stands in strings, in
 * options and in structs that are made at compile time; a rename that misses one of them is
 * refused. Runs in a process of its own, as the check may end it. */
static bool program_stays(const Question *q)
{
  SourceOverlay *overlays = NULL;
  for (uint32_t i = 1; i <= files_last(q->a->session->files); i++) {
    const json_t *edits = files_parsed(q->a->session->files, (FileId){i})
                            ? edits_in(q, (FileId){i}) : NULL;
    if (edits)
      arrput(overlays, renamed_text(q, (FileId){i}, edits));
  }
  for (size_t i = 0; i < arrlenu(q->a->overlays); i++)
    arrput(overlays, q->a->overlays[i]);
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

static bool is_edited(const Question *q, const FieldName *field)
{
  json_t *range = span_range(q->a->sources, field->at), *edit;
  const json_t *edits = edits_in(q, field->file);
  bool is_it = false;
  size_t i;
  json_array_foreach(edits, i, edit)
    is_it = is_it || json_equal(json_object_get(edit, "range"), range);
  json_decref(range);
  return is_it;
}

/* A field of the same name in code that no tile runs: nothing says whether it is this field.
 * NULL: none. */
static const FieldName *unknown_field(const Question *q)
{
  const char *name = json_string_value(json_object_get(q->params, "field"));
  for (size_t i = 0; name && i < arrlenu(q->a->names.field_names); i++) {
    const FieldName *field = &q->a->names.field_names[i];
    if (strcmp(str_text(q->a->session->names, field->name), name) == 0 &&
        is_own_file(q, field->file) && !facts_field_at(&q->a->facts, field->at) &&
        !names_is_of_module(field, &q->a->facts) && !is_edited(q, field))
      return field;
  }
  return NULL;
}

static json_t *report_unknown_field(const Question *q, const FieldName *field)
{
  SourceLoc place = source_locate(q->a->sources, field->at.off);
  char *text = base_print("'%s' in line %d of %s may be this field: no tile runs that code, so "
                          "its types are not known",
                          str_text(q->a->session->names, field->name), (int)place.line,
                          source_path(q->a->sources, field->file));
  json_t *answer = json_pack("{s:o}", "error", base_json_text(text));
  free(text);
  return answer;
}

json_t *answer_check_rename(const Question *q)
{
  const FieldName *unknown = unknown_field(q);
  if (unknown)
    return report_unknown_field(q, unknown);
  if (!program_stays(q))
    return make_refusal("the program would have other errors: the name is taken, or is used where "
                        "only the program knows it");
  return json_object();
}
