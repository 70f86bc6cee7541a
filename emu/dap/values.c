/* Variables, their parts, and expressions. */
#include "emu/dap/dap_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

/* ---- names of parts -------------------------------------------------------------------------- */

/* The name of an element: "[1, 2]". */
static char *index_text(const DebugType *type, uint32_t index)
{
  char *text = base_print("]");
  for (uint32_t i = type->n_dims; i-- > 0;) {
    uint32_t size = type->dims[i] ? type->dims[i] : 1;
    char *longer =
        base_print("%s%u%s%s", i ? "" : "[", index % size, i + 1 < type->n_dims ? ", " : "", text);
    index /= size;
    free(text);
    text = longer;
  }
  return text;
}

/* What the client calls a part of a value. */
static char *part_name(const EvalValue *value, uint32_t index, const char *name)
{
  if (value->type->kind == DT_ARRAY)
    return index_text(value->type, index);
  return base_print("%s", value->type->kind == DT_POINTER ? ".*" : name);
}

char *values_path(const Handle *handle, const char *name)
{
  if (handle->kind != SCOPE_VALUE)
    return base_print("%s", name);
  bool is_field = *name != '[' && *name != '.';
  return base_print("%s%s%s", handle->path, is_field ? "." : "", name);
}

/* ---- a value as the client wants it ---------------------------------------------------------- */

static char *value_text(EvalContext *e, const EvalValue *value)
{
  char *text = NULL;
  size_t length;
  FILE *out = base_text_open(&text, &length);
  evaluate_print(e, value, out);
  base_text_close(out, &text);
  return text;
}

/* `key`: under which the text stands.  Takes `path`. */
static json_t *describe_value(DapServer *s, EvalContext *e, unsigned frame, const EvalValue *value,
                              const char *key, char *path)
{
  char *text = value_text(e, value);
  uint32_t parts = evaluate_count(e, value);
  json_t *out = json_pack("{s:o,s:i}", key, base_json_text(text), "variablesReference", 0);
  free(text);
  if (value->kind == EVAL_TYPED)
    json_object_set_new(out, "type", base_json_text(value->type->name));
  if (value->kind == EVAL_TYPED && value->in_memory) {
    char *at = reference_text(s, e->tile, value->address);
    json_object_set_new(out, "memoryReference", base_json_text(at));
    free(at);
  }
  if (parts) {
    bool is_array = value->type->kind == DT_ARRAY;
    Handle h = {.kind = SCOPE_VALUE,
                .tile = e->tile,
                .frame = frame,
                .value = *value,
                .path = base_print("%s", path)};
    json_object_set_new(out, "variablesReference", json_integer(open_handle(s, h)));
    json_object_set_new(out, is_array ? "indexedVariables" : "namedVariables", json_integer(parts));
  }
  json_object_set_new(out, "evaluateName", base_json_text(path));
  free(path);
  return out;
}

typedef struct {
  DapServer *s;
  EvalContext *e;
  unsigned frame;
  json_t *list;
} Listing;

static void add_value(const Listing *l, const char *name, char *path, const EvalValue *value)
{
  json_t *out = describe_value(l->s, l->e, l->frame, value, "value", path);
  json_object_set_new(out, "name", base_json_text(name));
  json_array_append_new(l->list, out);
}

static void add_local(void *context, const DebugLocal *local, const EvalValue *value)
{
  const Listing *l = context;
  if (value)
    add_value(l, local->name, base_print("%s", local->name), value);
  else
    json_array_append_new(l->list, json_pack("{s:o,s:s,s:i}", "name", base_json_text(local->name),
                                             "value", "<no place here>", "variablesReference", 0));
}

static void add_named(void *context, const char *name, const EvalValue *value)
{
  add_value(context, name, base_print("%s", name), value);
}

/* `first` and `count`: of the parts; a count of 0 is all of them. */
static void add_parts(const Listing *l, const Handle *h, json_int_t first, json_int_t count)
{
  enum { MOST_PARTS = 10000 };
  EvalValue part;
  char name[64];
  json_int_t all = evaluate_count(l->e, &h->value);
  first = first > 0 ? first : 0;
  count = count > 0 && count < MOST_PARTS ? count : MOST_PARTS;
  for (json_int_t i = first; i < all && i - first < count; i++) {
    if (!evaluate_part(l->e, &h->value, (uint32_t)i, &part, name))
      return;
    char *called = part_name(&h->value, (uint32_t)i, name);
    add_value(l, called, values_path(h, called), &part);
    free(called);
  }
}

/* NULL after refusing. */
static const Handle *find_handle(DapServer *s, const json_t *args)
{
  json_int_t reference = arg_number(args, "variablesReference", 0);
  if (reference >= 1 && (size_t)reference <= arrlenu(s->handles))
    return &s->handles[reference - 1];
  refuse_request(s, "there are no variables with the reference %lld", (long long)reference);
  return NULL;
}

json_t *answer_variables(DapServer *s, const json_t *args)
{
  Frames frames;
  const Handle *found = find_handle(s, args);
  if (!found)
    return NULL;
  Handle h = *found; /* the array of handles grows */
  EvalContext e = evaluate_context(s->debugger.timeline, h.tile, h.frame, &frames);
  Listing l = {s, &e, h.frame, json_array()};
  bool wrong_kind =
      strcmp(arg_text(args, "filter", ""),
             h.value.type && h.value.type->kind == DT_ARRAY ? "named" : "indexed") == 0;
  if (wrong_kind)
    return json_pack("{s:o}", "variables", l.list);
  if (h.kind == SCOPE_VALUE)
    add_parts(&l, &h, arg_number(args, "start", 0), arg_number(args, "count", 0));
  else if (h.kind == SCOPE_ARGUMENTS || h.kind == SCOPE_LOCALS)
    names_visit_locals(&e, h.kind == SCOPE_ARGUMENTS, add_local, &l);
  else if (h.kind == SCOPE_GLOBALS)
    names_visit_globals(&e, add_named, &l);
  else if (h.kind == SCOPE_CONSTANTS)
    names_visit_constants(&e, add_named, &l);
  else
    machine_list(s, h.kind, h.tile, l.list);
  return json_pack("{s:o}", "variables", l.list);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Gives what an expression names a value; takes `path`. */
static json_t *assign_value(DapServer *s, FrameHandle at, char *path, const char *text)
{
  Frames frames;
  EvalValue place, value;
  EvalContext e = evaluate_context(s->debugger.timeline, at.tile, at.frame, &frames);
  bool ok = evaluate_text(&e, path, &place) && evaluate_text(&e, text, &value) &&
            evaluate_assign(&e, &place, &value);
  if (!ok) {
    free(path);
    return refuse_request(s, "%s", e.why);
  }
  e = evaluate_context(s->debugger.timeline, at.tile, at.frame, &frames);
  evaluate_text(&e, path, &place);
  return describe_value(s, &e, at.frame, &place, "value", path);
}

json_t *answer_set_variable(DapServer *s, const json_t *args)
{
  const Handle *h = find_handle(s, args);
  if (!h)
    return NULL;
  return assign_value(s, (FrameHandle){h->tile, h->frame},
                      values_path(h, arg_text(args, "name", "")), arg_text(args, "value", ""));
}

static FrameHandle frame_of(DapServer *s, const json_t *args)
{
  json_int_t frame = arg_number(args, "frameId", 0);
  if (frame >= 1 && (size_t)frame <= arrlenu(s->frames))
    return s->frames[frame - 1];
  return (FrameHandle){s->debugger.tile, s->debugger.frame};
}

json_t *answer_set_expression(DapServer *s, const json_t *args)
{
  return assign_value(s, frame_of(s, args), base_print("%s", arg_text(args, "expression", "")),
                      arg_text(args, "value", ""));
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* The one '=' of an assignment; NULL: it is none. */
static const char *find_assignment(const char *text)
{
  for (const char *at = strchr(text, '='); at; at = strchr(at + 1, '=')) {
    if (at[1] == '=') {
      at++;
      continue;
    }
    if (at > text && !strchr("<>!", at[-1]))
      return at;
  }
  return NULL;
}

/* A line of the command line's commands, for the frame that the client looks at. */
static json_t *run_command(DapServer *s, FrameHandle at, const char *text)
{
  Debugger *d = &s->debugger;
  char *answer = NULL;
  size_t length;
  d->tile = at.tile;
  d->frame = at.frame;
  d->go = d->quit = false;
  FILE *out = capture_begin(s, &answer, &length);
  commands_run(d, text);
  capture_end(s, out, &answer);
  if (d->go)
    s->move = MOVE_ARMED;
  if (d->quit)
    end_run(s);
  json_t *body = json_pack("{s:o,s:i}", "result", base_json_text(answer), "variablesReference", 0);
  free(answer);
  return body;
}

static bool is_command(const char *text)
{
  char name[32];
  size_t n = strcspn(text, " \t/");
  snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : 0), text);
  return commands_knows(name);
}

json_t *answer_evaluate(DapServer *s, const json_t *args)
{
  Frames frames;
  EvalValue value;
  FrameHandle at = frame_of(s, args);
  const char *text = arg_text(args, "expression", "");
  bool is_console = strcmp(arg_text(args, "context", ""), "repl") == 0;
  text += strspn(text, " \t");
  EvalContext e = evaluate_context(s->debugger.timeline, at.tile, at.frame, &frames);
  if (evaluate_text(&e, text, &value))
    return describe_value(s, &e, at.frame, &value, "result", base_print("%s", text));
  const char *equals = is_console ? find_assignment(text) : NULL;
  if (equals && !(is_command(text) && equals[-1] != ' ')) {
    json_t *body = assign_value(s, at, base_print("%.*s", (int)(equals - text), text), equals + 1);
    if (body)
      json_object_set_new(body, "result", json_incref(json_object_get(body, "value")));
    return body;
  }
  if (is_console && is_command(text) && !s->running)
    return run_command(s, at, text);
  return refuse_request(s, "%s", e.why);
}

/* ---- completion ------------------------------------------------------------------------------ */

typedef struct {
  const char *prefix;
  json_t *list;
  size_t start, length;
} Completion;

static void add_target(const Completion *c, const char *name, const char *type)
{
  if (strncmp(name, c->prefix, strlen(c->prefix)) == 0)
    json_array_append_new(c->list,
                          json_pack("{s:o,s:s,s:i,s:i}", "label", base_json_text(name), "type",
                                    type, "start", (int)c->start, "length", (int)c->length));
}

static void add_local_target(void *context, const DebugLocal *local, const EvalValue *value)
{
  if (value)
    add_target(context, local->name, "variable");
}

/* Fields of what stands before the last point. */
static void add_fields(EvalContext *e, const Completion *c, const char *text, size_t length)
{
  EvalValue whole, part;
  char name[64], *before = base_print("%.*s", (int)length, text);
  bool ok = evaluate_text(e, before, &whole);
  for (uint32_t i = 0; ok && i < evaluate_count(e, &whole); i++)
    if (whole.type->kind != DT_ARRAY && evaluate_part(e, &whole, i, &part, name))
      add_target(c, name, "field");
  free(before);
}

static void add_names(DapServer *s, EvalContext *e, Completion *c, bool is_start)
{
  const ClassCode *cls = program_class(s->debugger.program, e->tile);
  names_visit_locals(e, true, add_local_target, c);
  names_visit_locals(e, false, add_local_target, c);
  for (uint32_t i = 0; cls && i < cls->image->n_symbols; i++)
    if (*cls->image->symbols[i].name != '<')
      add_target(c, cls->image->symbols[i].name,
                 cls->image->symbols[i].is_code ? "function" : "variable");
  for (unsigned i = 0; is_start && commands_name(i); i++)
    add_target(c, commands_name(i), "keyword");
}

json_t *answer_completions(DapServer *s, const json_t *args)
{
  Frames frames;
  FrameHandle at = frame_of(s, args);
  EvalContext e = evaluate_context(s->debugger.timeline, at.tile, at.frame, &frames);
  char *text = base_print("%s", arg_text(args, "text", ""));
  json_int_t column = arg_number(args, "column", 1) - s->column_base - 1;
  if (column >= 0 && (size_t)column < strlen(text))
    text[column] = 0;
  size_t start = strlen(text);
  while (start && (isalnum((unsigned char)text[start - 1]) || text[start - 1] == '_'))
    start--;
  Completion c = {text + start, json_array(), start, strlen(text) - start};
  if (start && text[start - 1] == '.') {
    size_t first = start - 1;
    while (first && (isalnum((unsigned char)text[first - 1]) || strchr("_.*[]", text[first - 1])))
      first--;
    add_fields(&e, &c, text + first, start - 1 - first);
  } else {
    add_names(s, &e, &c, start == 0);
  }
  free(text);
  return json_pack("{s:o}", "targets", c.list);
}
