/* Answers about a whole file: colors, outline, folding, layout, hints; and corrections. */
#include "frontend/lsp/lsp.h"

#include <stb_ds.h>
#include <stdlib.h>

/* ---- semantic tokens ------------------------------------------------------------------------ */

typedef enum { TOKEN_NAMESPACE, TOKEN_FUNCTION, TOKEN_VARIABLE, TOKEN_PARAMETER, TOKEN_MEMBER,
               TOKEN_BUILTIN, TOKEN_COUNT } TokenType;
enum { TOKEN_READONLY = 1 << 0, TOKEN_DECLARATION = 1 << 1 };
typedef struct { Span at; TokenType type; int modifiers; } ViewToken;

json_t *token_types(void)
{
  return json_pack("{s:[s,s,s,s,s,s],s:[s,s]}", "tokenTypes", "namespace", "function", "variable",
                   "parameter", "enumMember", "macro", "tokenModifiers", "readonly",
                   "declaration");
}

static bool token_of(const NameSymbol *symbol, ViewToken *token)
{
  switch (symbol->kind) {
  case SYMBOL_CONST: token->type = TOKEN_VARIABLE; token->modifiers = TOKEN_READONLY; return true;
  case SYMBOL_VAR: case SYMBOL_LOCAL: token->type = TOKEN_VARIABLE; return true;
  case SYMBOL_PARAM: token->type = TOKEN_PARAMETER; token->modifiers = TOKEN_READONLY; return true;
  case SYMBOL_ARGUMENT: token->type = TOKEN_PARAMETER; return true;
  case SYMBOL_FN: case SYMBOL_TASK: token->type = TOKEN_FUNCTION; return true;
  case SYMBOL_MODULE: token->type = TOKEN_NAMESPACE; return true;
  case SYMBOL_MEMBER: token->type = TOKEN_MEMBER; return true;
  case SYMBOL_LABEL: return false;
  }
  return false;
}

static void add_builtins(void *context, Node *n)
{
  ViewToken **tokens = context;
  if (n->kind == ND_BUILTIN_CALL) {
    ViewToken token = {node_builtin_call(n)->name.span, TOKEN_BUILTIN, 0};
    arrput(*tokens, token);
  }
  node_visit_children(n, add_builtins, context);
}

static int compare_tokens(const void *a, const void *b)
{
  const ViewToken *x = a, *y = b;
  return x->at.off < y->at.off ? -1 : x->at.off > y->at.off;
}

static int at_line(const json_t *range, const char *key)
{
  return (int)json_integer_value(json_object_get(json_object_get(range, "start"), key));
}

/* Five numbers per token: lines and units after the one before, length, type, modifiers. */
static json_t *encode_tokens(const Question *q, const ViewToken *tokens)
{
  json_t *data = json_array();
  int line = 0, unit = 0;
  uint32_t last = 0;
  for (size_t i = 0; i < arrlenu(tokens); i++) {
    if (tokens[i].at.off == last)
      continue;
    last = tokens[i].at.off;
    json_t *range = span_range(q->a->sources, tokens[i].at);
    int now = at_line(range, "line"), start = at_line(range, "character");
    int row[] = {now - line, now == line ? start - unit : start, (int)tokens[i].at.len,
                 (int)tokens[i].type, tokens[i].modifiers};
    for (size_t k = 0; k < ARRAY_COUNT(row); k++)
      json_array_append_new(data, json_integer(row[k]));
    line = now;
    unit = start;
    json_decref(range);
  }
  return json_pack("{s:o}", "data", data);
}

json_t *answer_tokens(const Question *q)
{
  ViewToken *tokens = NULL;
  for (size_t i = 0; i < arrlenu(q->a->names.uses); i++) {
    const NameUse *use = &q->a->names.uses[i];
    const NameSymbol *symbol = &q->a->names.symbols[use->symbol];
    ViewToken token = {.at = use->at};
    if (use->at.off < q->base || use->at.off > q->base + q->length || !token_of(symbol, &token))
      continue;
    token.modifiers |= symbol->at.off == use->at.off ? TOKEN_DECLARATION : 0;
    arrput(tokens, token);
  }
  for (uint32_t i = 0; i < q->ast->decls.count; i++)
    add_builtins(&tokens, q->ast->decls.at[i]);
  if (tokens)
    qsort(tokens, arrlenu(tokens), sizeof *tokens, compare_tokens);
  json_t *result = encode_tokens(q, tokens);
  arrfree(tokens);
  return result;
}

/* ---- outline -------------------------------------------------------------------------------- */

/* SymbolKind of the protocol. */
static int outline_kind(SymbolKind kind)
{
  switch (kind) {
  case SYMBOL_MODULE: return 2;
  case SYMBOL_FN: case SYMBOL_TASK: return 12;
  case SYMBOL_MEMBER: return 22;
  case SYMBOL_CONST: case SYMBOL_PARAM: return 14;
  case SYMBOL_VAR: case SYMBOL_LOCAL: case SYMBOL_ARGUMENT: case SYMBOL_LABEL: return 13;
  }
  return 13;
}

json_t *answer_outline(const Question *q)
{
  json_t *list = json_array();
  const LspAnalysis *a = q->a;
  for (size_t i = 0; i < arrlenu(a->names.symbols); i++) {
    const NameSymbol *s = &a->names.symbols[i];
    if (!file_eq(s->file, q->ast->file) || s->visible.len > 0)
      continue;
    const char *type = fact_type_text(a->session, a->arena, facts_at((Facts *)&q->a->facts, s->at));
    json_t *item = json_pack("{s:o,s:i,s:o,s:o}",
                             "name", base_json_text(str_text(a->session->names, s->name)),
                             "kind", outline_kind(s->kind),
                             "range", span_range(a->sources, s->node ? s->node->span : s->at),
                             "selectionRange", span_range(a->sources, s->at));
    if (type)
      json_object_set_new(item, "detail", base_json_text(type));
    json_array_append_new(list, item);
  }
  return list;
}

/* Does the name hold the letters of the query, in their order? */
static bool fits_query(const char *name, const char *query)
{
  for (; *query; query++, name++) {
    while (*name && (*name | 32) != (*query | 32))
      name++;
    if (!*name)
      return false;
  }
  return true;
}

json_t *answer_workspace(const Question *q)
{
  const char *query = json_string_value(json_object_get(q->params, "query"));
  json_t *list = json_array();
  for (size_t i = 0; i < arrlenu(q->a->names.symbols); i++) {
    const NameSymbol *s = &q->a->names.symbols[i];
    const char *name = str_text(q->a->session->names, s->name);
    if (s->visible.len == 0 && fits_query(name, query ? query : "") &&
        files_name(q->a->session->files, s->file)[0] != '<')
      json_array_append_new(list, json_pack("{s:o,s:i,s:o}", "name", base_json_text(name), "kind",
                                            outline_kind(s->kind), "location",
                                            analysis_location(q->a, s->at)));
  }
  return list;
}

/* ---- folding -------------------------------------------------------------------------------- */

typedef struct { const Question *q; json_t *list; } FoldWalk;

static void add_fold(FoldWalk *w, Span at, const char *kind)
{
  uint32_t first = source_locate(w->q->a->sources, at.off).line;
  uint32_t last = source_locate(w->q->a->sources, at.off + at.len - 1).line;
  if (last <= first)
    return;
  json_t *fold = json_pack("{s:i,s:i}", "startLine", (int)first - 1, "endLine", (int)last - 1);
  if (kind)
    json_object_set_new(fold, "kind", json_string(kind));
  json_array_append_new(w->list, fold);
}

static void fold_node(void *context, Node *n)
{
  FoldWalk *w = context;
  if (n->kind == ND_BLOCK || n->kind == ND_SWITCH || n->kind == ND_STRUCT_TYPE ||
      n->kind == ND_ENUM_TYPE || n->kind == ND_STRUCT_INIT || n->kind == ND_LIST_INIT)
    add_fold(w, n->span, NULL);
  node_visit_children(n, fold_node, w);
}

/* Lines of comments that follow each other. */
static void fold_comments(FoldWalk *w)
{
  const Question *q = w->q;
  size_t first = SIZE_MAX, end = 0;
  for (size_t at = 0; at < q->length;) {
    const char *newline = memchr(q->text + at, '\n', q->length - at);
    size_t next = newline ? (size_t)(newline - q->text) + 1 : q->length;
    size_t c = at + strspn(q->text + at, " \t");
    bool is_comment = q->text[c] == '/' && q->text[c + 1] == '/';
    if (is_comment && first == SIZE_MAX)
      first = c;
    if (is_comment)
      end = next - (newline != NULL);
    if ((!is_comment || next == q->length) && first != SIZE_MAX) {
      add_fold(w, (Span){q->base + (uint32_t)first, (uint32_t)(end - first)}, "comment");
      first = SIZE_MAX;
    }
    at = next;
  }
}

json_t *answer_folding(const Question *q)
{
  FoldWalk w = {q, json_array()};
  for (uint32_t i = 0; i < q->ast->decls.count; i++)
    fold_node(&w, q->ast->decls.at[i]);
  fold_comments(&w);
  return w.list;
}

/* ---- layout --------------------------------------------------------------------------------- */

/* One edit: the lines between those that are the same at the start and at the end. */
json_t *answer_format(const Question *q)
{
  if (q->ast->has_errors)
    return NULL;
  size_t length, from = 0, same = 0;
  char *text = source_format(q->ast, q->a->sources, q->a->session->names, &length);
  size_t least = length < q->length ? length : q->length;
  while (from < least && text[from] == q->text[from])
    from++;
  while (from > 0 && text[from - 1] != '\n')
    from--;
  while (same < least - from && text[length - 1 - same] == q->text[q->length - 1 - same])
    same++;
  while (same > 0 && text[length - same - 1] != '\n')
    same--;
  json_t *edits = json_array();
  if (length != q->length || memcmp(text, q->text, length) != 0) {
    Span at = {q->base + (uint32_t)from, (uint32_t)(q->length - same - from)};
    char *with = arena_copy_text(q->a->arena, text + from, length - same - from);
    json_array_append_new(edits, json_pack("{s:o,s:o}", "range", span_range(q->a->sources, at),
                                           "newText", base_json_text(with)));
  }
  free(text);
  return edits;
}

/* ---- hints ---------------------------------------------------------------------------------- */

typedef struct { const Question *q; json_t *list; } HintWalk;

static void add_hint(HintWalk *w, uint32_t off, const char *label, int kind)
{
  json_t *range = span_range(w->q->a->sources, (Span){off, 0});
  json_t *hint = json_pack("{s:O,s:o}", "position", json_object_get(range, "start"),
                           "label", base_json_text(label));
  if (kind)
    json_object_set_new(hint, "kind", json_integer(kind));
  json_object_set_new(hint, kind == 2 ? "paddingRight" : "paddingLeft", json_true());
  json_array_append_new(w->list, hint);
  json_decref(range);
}

static bool says_its_value(const Node *n)
{
  return n->kind == ND_INT || n->kind == ND_FLOAT || n->kind == ND_STRING || n->kind == ND_CHAR ||
         n->kind == ND_BOOL || n->kind == ND_STRUCT_INIT || n->kind == ND_LIST_INIT ||
         (n->kind == ND_UNARY && says_its_value(node_unary(n)->operand));
}

/* The value that a constant has, behind the expression that computes it. */
static void hint_value(HintWalk *w, const NodeVarDecl *n)
{
  if (n->var_kind == VAR_VAR || (n->init && says_its_value(n->init)))
    return;
  Arena *arena = w->q->a->arena;
  const Fact *fact = facts_at(&w->q->a->facts, n->name.span);
  const char *value = fact_value_text(w->q->a->session, arena, fact);
  if (!value)
    return;
  const Node *last = n->init ? n->init : n->type;
  Span at = last ? last->span : n->name.span;
  add_hint(w, at.off + at.len, arena_printf(arena, "= %s", value), 0);
}

/* The names of parameters in front of arguments that do not show them. */
static void hint_arguments(HintWalk *w, const NodeCall *n)
{
  Names *names = &w->q->a->names;
  const Node *callee = n->callee;
  Span at = callee->kind == ND_MEMBER ? node_member(callee)->name.span : callee->span;
  const NameUse *use = names_use_at(names, at.off);
  const Node *node = use ? names->symbols[use->symbol].node : NULL;
  if (!node || node->kind != ND_FN_DECL)
    return;
  NodeList params = node_fn_decl(node)->params;
  for (uint32_t i = 0; i < n->args.count && i < params.count; i++) {
    if (params.at[i]->kind != ND_PARAM || !name_is_given(node_param(params.at[i])->name))
      continue;
    StrId name = node_param(params.at[i])->name.text;
    const Node *arg = n->args.at[i];
    if (arg->kind == ND_IDENT && str_eq(node_ident(arg)->name, name))
      continue;
    const char *text = str_text(w->q->a->session->names, name);
    add_hint(w, arg->span.off, arena_printf(w->q->a->arena, "%s:", text), 2);
  }
}

static void hint_node(void *context, Node *n)
{
  HintWalk *w = context;
  if (n->kind == ND_VAR_DECL)
    hint_value(w, node_var_decl(n));
  else if (n->kind == ND_CALL)
    hint_arguments(w, node_call(n));
  node_visit_children(n, hint_node, w);
}

/* The offset behind the last byte of the line; UINT32_MAX: there is no such line. */
static uint32_t line_end(const Question *q, uint32_t line)
{
  const char *at = q->text, *end = q->text + q->length;
  for (uint32_t now = 1; at <= end; now++) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    if (now == line)
      return q->base + (uint32_t)((newline ? newline : end) - q->text);
    at = newline ? newline + 1 : end + 1;
  }
  return UINT32_MAX;
}

/* Behind each line: its cycles in the last run. */
static void hint_cycles(HintWalk *w, uint32_t from, uint32_t to)
{
  uint64_t all;
  const Question *q = w->q;
  LineCycles *lines = profile_of_file(q->a, q->path, &all);
  for (size_t i = 0; i < arrlenu(lines); i++) {
    uint32_t end = line_end(q, lines[i].line);
    if (end >= from && end <= to)
      add_hint(w, end, profile_text(q->a->arena, lines[i].cycles, all), 0);
  }
  arrfree(lines);
}

json_t *answer_hints(const Question *q)
{
  HintWalk w = {q, json_array()};
  const json_t *range = json_object_get(q->params, "range");
  uint32_t from = q->base, to = q->base + (uint32_t)q->length;
  if (range) {
    from += (uint32_t)text_offset_of(q->text, q->length, json_object_get(range, "start"));
    to = q->base + (uint32_t)text_offset_of(q->text, q->length, json_object_get(range, "end"));
  }
  for (uint32_t i = 0; i < q->ast->decls.count; i++) {
    Node *n = q->ast->decls.at[i];
    if (n->span.off <= to && n->span.off + n->span.len >= from)
      hint_node(&w, n);
  }
  hint_cycles(&w, from, to);
  return w.list;
}

/* ---- corrections ---------------------------------------------------------------------------- */

static int line_of(const json_t *range, const char *key)
{
  return (int)json_integer_value(json_object_get(json_object_get(range, key), "line"));
}

json_t *answer_fixes(const Question *q)
{
  json_t *actions = json_array(), *message, *fix;
  const json_t *range = json_object_get(q->params, "range");
  size_t i, k;
  json_array_foreach(json_object_get(q->a->messages, q->path), i, message) {
    const json_t *at = json_object_get(message, "range");
    if (line_of(at, "end") < line_of(range, "start") ||
        line_of(at, "start") > line_of(range, "end"))
      continue;
    json_array_foreach(json_object_get(json_object_get(message, "data"), "fixes"), k, fix) {
      const json_t *edit = json_object_get(fix, "edit");
      const char *uri = json_string_value(json_object_get(edit, "uri"));
      json_t *text_edit = json_pack("{s:O,s:O}", "range", json_object_get(edit, "range"), "newText",
                                    json_object_get(edit, "newText"));
      json_array_append_new(actions, json_pack("{s:O,s:s,s:[O],s:{s:{s:[o]}}}", "title",
                                               json_object_get(fix, "title"), "kind", "quickfix",
                                               "diagnostics", message, "edit", "changes", uri,
                                               text_edit));
    }
  }
  return actions;
}
