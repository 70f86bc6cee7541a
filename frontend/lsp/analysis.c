/* One program: its check, and its messages in the form of the protocol. */
#include "frontend/lsp/lsp.h"

#include <stb_ds.h>
#include <stdlib.h>

/* ---- the check ----------------------------------------------------------------------------- */

/* getopt wants a name first and NULL last. */
static char **make_argv(const ProgramCall *call)
{
  char **argv = NULL;
  arrput(argv, base_print("cslc"));
  arrput(argv, base_print("--check"));
  for (size_t i = 0; i < arrlenu(call->argv); i++)
    arrput(argv, base_print("%s", call->argv[i]));
  arrput(argv, NULL);
  return argv;
}

char *analysis_path(const LspAnalysis *a, FileId file)
{
  return path_resolved(a->call->folder, source_path(a->sources, file));
}

/* The registered file with the path as messages name it; none: no such file. */
static FileId file_named(const LspAnalysis *a, const char *path)
{
  for (uint32_t i = 1; path && i <= files_last(a->session->files); i++)
    if (files_parsed(a->session->files, (FileId){i}) &&
        strcmp(source_path(a->sources, (FileId){i}), path) == 0)
      return (FileId){i};
  return (FileId){0};
}

const Ast *analysis_file(LspAnalysis *a, const char *path)
{
  for (uint32_t i = 1; i <= files_last(a->session->files); i++) {
    const Ast *ast = files_parsed(a->session->files, (FileId){i});
    char *known = ast ? analysis_path(a, ast->file) : NULL;
    bool is_it = known && strcmp(known, path) == 0;
    free(known);
    if (is_it)
      return ast;
  }
  const Ast *ast = files_import(a->session->files, path, NULL, (Span){0, 0});
  if (ast)
    names_read_file(&a->names, ast);
  names_sort(&a->names);
  return ast;
}

const char *analysis_text(const LspAnalysis *a, const Ast *ast, size_t *length)
{
  return source_text(a->sources, ast->file, length);
}

json_t *analysis_location(const LspAnalysis *a, Span at)
{
  char *path = analysis_path(a, source_file_of(a->sources, at.off));
  char *uri = path_uri(path);
  json_t *location = json_pack("{s:o,s:o}", "uri", base_json_text(uri),
                               "range", span_range(a->sources, at));
  free(path);
  free(uri);
  return location;
}

bool ast_declares(const Ast *ast, NodeKind kind)
{
  for (uint32_t i = 0; ast && i < ast->decls.count; i++)
    if (ast->decls.at[i]->kind == kind)
      return true;
  return false;
}

/* ---- messages ------------------------------------------------------------------------------ */

static int number_of(const json_t *object, const char *key)
{
  return (int)json_integer_value(json_object_get(object, key));
}

/* The place of a message or fix; no place: the start of the main file. */
static Span span_of(const LspAnalysis *a, const json_t *object)
{
  FileId file = file_named(a, json_string_value(json_object_get(object, "file")));
  if (file_is_none(file) || number_of(object, "line") == 0)
    return (Span){0, 0};
  size_t length;
  const char *text = source_text(a->sources, file, &length);
  size_t at = 0;
  for (int line = number_of(object, "line"); line > 1 && at < length; line--) {
    const char *end = memchr(text + at, '\n', length - at);
    at = end ? (size_t)(end - text) + 1 : length;
  }
  at += (size_t)number_of(object, "col") - 1;
  return (Span){source_base(a->sources, file) + (uint32_t)at,
                (uint32_t)number_of(object, "length")};
}

static json_t *edit_of(const LspAnalysis *a, const json_t *fix)
{
  Span at = span_of(a, fix);
  if (at.off == 0)
    return NULL;
  json_t *location = analysis_location(a, at);
  json_object_set(location, "newText", json_object_get(fix, "text"));
  return location;
}

/* Notes become related places; a note with a fix is offered as a correction. */
static void add_notes(const LspAnalysis *a, const json_t *message, json_t *diagnostic)
{
  json_t *related = json_array(), *fixes = json_array(), *note;
  size_t i;
  json_array_foreach(json_object_get(message, "notes"), i, note) {
    Span at = span_of(a, note);
    if (at.off != 0)
      json_array_append_new(related, json_pack("{s:o,s:O}", "location", analysis_location(a, at),
                                               "message", json_object_get(note, "message")));
    json_t *edit = edit_of(a, json_object_get(note, "fix"));
    if (edit)
      json_array_append_new(fixes, json_pack("{s:O,s:o}", "title", json_object_get(note, "message"),
                                             "edit", edit));
  }
  json_t *edit = edit_of(a, json_object_get(message, "fix"));
  if (edit)
    json_array_append_new(fixes, json_pack("{s:O,s:o}", "title",
                                           json_object_get(message, "message"), "edit", edit));
  json_object_set_new(diagnostic, "relatedInformation", related);
  if (json_array_size(fixes) > 0)
    json_object_set_new(diagnostic, "data", json_pack("{s:O}", "fixes", fixes));
  json_decref(fixes);
}

/* The text of a message, with the notes that have no place of their own. */
static char *message_text(const LspAnalysis *a, const json_t *message)
{
  char *text = base_print("%s", json_string_value(json_object_get(message, "message")));
  json_t *note;
  size_t i;
  json_array_foreach(json_object_get(message, "notes"), i, note) {
    if (span_of(a, note).off != 0)
      continue;
    char *longer = base_print("%s\n%s", text, json_string_value(json_object_get(note, "message")));
    free(text);
    text = longer;
  }
  return text;
}

json_t *analysis_messages(LspAnalysis *a, const char *path)
{
  json_t *list = json_object_get(a->messages, path);
  if (!list) {
    list = json_array();
    json_object_set_new(a->messages, path, list);
  }
  return list;
}

static void add_message(LspAnalysis *a, const json_t *message)
{
  Span at = span_of(a, message);
  const Ast *main_file = a->session->layout ? a->session->layout->ast : NULL;
  char *path = at.off != 0 ? analysis_path(a, source_file_of(a->sources, at.off))
             : main_file ? analysis_path(a, main_file->file)
                         : path_resolved(a->call->folder, a->options.input);
  bool is_error = strcmp(json_string_value(json_object_get(message, "severity")), "error") == 0;
  char *text = message_text(a, message);
  json_t *diagnostic = json_pack("{s:o,s:i,s:s,s:O,s:o}", "range", span_range(a->sources, at),
                                 "severity", is_error ? 1 : 2, "source", "cslc",
                                 "code", json_object_get(message, "id"),
                                 "message", base_json_text(text));
  add_notes(a, message, diagnostic);
  json_array_append_new(analysis_messages(a, path), diagnostic);
  free(text);
  free(path);
}

static void read_messages(LspAnalysis *a)
{
  char *text = NULL;
  size_t length;
  FILE *out = base_text_open(&text, &length);
  diags_flush(a->session->diags, out, DIAG_FORMAT_JSON);
  base_text_close(out, &text);
  a->messages = json_object();
  for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    json_t *message = json_loadb(line, (size_t)(end - line), 0, NULL);
    if (message)
      add_message(a, message);
    json_decref(message);
  }
  free(text);
}

bool analysis_run(LspAnalysis *a, const ProgramCall *call, const SourceOverlay *overlays,
                  const char *stdlib)
{
  *a = (LspAnalysis){.call = call, .overlays = overlays, .stdlib = stdlib};
  a->arena = arena_create("language server");
  a->sources = source_map_create();
  a->options_argv = make_argv(call);
  int argc = (int)arrlen(a->options_argv) - 1;
  if (options_parse(&a->options, a->arena, a->sources, argc, a->options_argv) != OPTIONS_GO_ON)
    return false;
  a->options.verbose = a->options.time_report = false;   /* for terminals */
  for (size_t i = 0; i < arrlenu(overlays); i++)
    arrput(a->options.overlays, overlays[i]);
  const SemaListener listener = {&a->facts, facts_note_expression, facts_note_field};
  a->program = driver_check(&a->options, a->sources, stdlib, &listener);
  a->session = checked_session(a->program);
  a->session->listener = NULL;
  a->is_whole = a->session->layout && ast_declares(a->session->layout->ast, ND_LAYOUT);
  read_messages(a);
  a->names.session = a->session;
  for (uint32_t i = 1; i <= files_last(a->session->files); i++) {
    const Ast *ast = files_parsed(a->session->files, (FileId){i});
    if (ast)
      names_read_file(&a->names, ast);
  }
  names_use_fields(&a->names, &a->facts);
  names_sort(&a->names);
  if (diags_error_count(a->session->diags) == 0)      /* texts with errors may lack uses, too */
    unused_report(a);
  return true;
}

void analysis_free(LspAnalysis *a)
{
  names_free(&a->names);
  facts_free(&a->facts);
  json_decref(a->messages);
  if (a->program)
    checked_close(a->program);
  options_free(&a->options);
  for (size_t i = 0; i < arrlenu(a->options_argv); i++)
    free(a->options_argv[i]);
  arrfree(a->options_argv);
  source_map_destroy(a->sources);
  arena_destroy(a->arena);
}
