/* Answers while one types: what may stand at the position, and how a call is written. The text is
 * rarely a program then, so the words before the position count, not the tree. */
#include "frontend/lsp/lsp.h"

#include <ctype.h>
#include <stb_ds.h>
#include <stdlib.h>

/* ---- members ------------------------------------------------------------------------------- */

static json_t *module_items(const Question *q, LspAnalysis *a, FileId file)
{
  json_t *items = json_array();
  for (size_t i = 0; i < arrlenu(a->names.symbols); i++) {
    const NameSymbol *symbol = &a->names.symbols[i];
    if (file_eq(symbol->file, file) && symbol->visible.len == 0)
      json_array_append_new(items, completion_symbol(q, a, symbol));
  }
  return items;
}

static json_t *type_items(const Question *q, const Session *s, PoolId type)
{
  PoolKey key = pool_key(s->pool, type);
  if (key.kind == PK_POINTER_TYPE)
    key = pool_key(s->pool, key.u.pointer_type.pointee);
  json_t *items = json_array();
  if (key.kind != PK_STRUCT_TYPE && key.kind != PK_UNION_TYPE)
    return items;
  for (uint32_t i = 0; i < key.u.fields.n; i++)
    if (!str_is_none(key.u.fields.fields[i].name))
      json_array_append_new(items,
                            completion_item(str_text(s->names, key.u.fields.fields[i].name),
                                            ITEM_FIELD,
                                            type_text(s->pool, q->a->arena,
                                                      key.u.fields.fields[i].type), NULL));
  return items;
}

static json_t *enum_items(const Session *s, PoolId type)
{
  json_t *items = json_array();
  PoolKey key = pool_key(s->pool, type);
  for (uint32_t i = 0; key.kind == PK_ENUM_TYPE && i < key.u.enum_type.n; i++)
    json_array_append_new(items, completion_item(str_text(s->names, key.u.enum_type.names[i]),
                                                 ITEM_ENUM_MEMBER, NULL, NULL));
  return items;
}

static json_t *fact_items(const Question *q, LspAnalysis *a, const Fact *fact)
{
  if (!file_is_none(fact->module))
    return module_items(q, a, fact->module);
  if (pool_eq(fact->type, POOL(TYPE)) && !pool_is_none(fact->value))
    return enum_items(a->session, fact->value);
  if (pool_is_none(fact->type))
    return json_array();
  PoolId type = pool_eq(fact->type, POOL(COMPTIME_STRUCT)) && !pool_is_none(fact->value)
                  ? pool_type_of(a->session->pool, fact->value) : fact->type;
  return type_items(q, a->session, type);
}

/* Checks the program with the text in which the member, from the dot to the position, is not
 * there, and asks what stands before the dot. */
static json_t *members_without(const Question *q, size_t dot, const char *instead)
{
  SourceOverlay changed = {.path = q->path};
  size_t behind = q->off - q->base;
  char *text = base_print("%.*s%s%s", (int)dot, q->text, instead, q->text + behind);
  changed.text = text;
  changed.length = strlen(text);
  SourceOverlay *overlays = NULL;
  arrput(overlays, changed);
  for (size_t i = 0; i < arrlenu(q->a->overlays); i++)
    arrput(overlays, q->a->overlays[i]);
  LspAnalysis again;
  json_t *items = NULL;
  if (analysis_run(&again, q->a->call, overlays, q->a->stdlib)) {
    const Ast *ast = analysis_file(&again, q->path);
    uint32_t end = ast ? source_base(again.sources, ast->file) + (uint32_t)dot : 0;
    const Fact *fact = ast && !ast->has_errors ? facts_ending(&again.facts, end) : NULL;
    if (fact)
      items = fact_items(q, &again, fact);
  }
  analysis_free(&again);
  arrfree(overlays);
  free(text);
  return items;
}

/* By scopes alone: the module or type that the word before the dot names. */
static json_t *members_by_name(const Question *q, size_t dot)
{
  size_t from = dot;
  while (from > 0 && is_word_byte(q->text[from - 1]))
    from--;
  StrId word = str_intern(q->a->session->names, q->text + from, dot - from);
  const NameSymbol *symbol = names_visible(&q->a->names, q->ast->file, word, q->off);
  const Ast *module = symbol ? names_module_of(&q->a->names, symbol) : NULL;
  if (!module)
    return NULL;
  names_read_file(&q->a->names, module);
  return module_items(q, q->a, module->file);
}

static json_t *complete_members(const Question *q, size_t dot)
{
  /* What the text may lack behind the member: nothing, the end of a statement, or a comma of a list
   * that goes on in the next line. */
  static const char *const instead[] = {"", ";", ","};
  json_t *items = members_by_name(q, dot);
  for (size_t i = 0; !items && i < ARRAY_COUNT(instead); i++)
    items = members_without(q, dot, instead[i]);
  return items ? items : json_array();
}

/* ---- names --------------------------------------------------------------------------------- */

static json_t *complete_builtins(const Question *q)
{
  const BuiltinTable *table = q->a->session->builtins;
  json_t *items = json_array();
  for (size_t i = 0; i < table->n_rows; i++) {
    const BuiltinRow *row = &table->rows[i];
    const char *usage = row->usage ? row->usage : row->name;
    const char *label = arena_printf(q->a->arena, "@%s", row->name);
    json_t *item = completion_item(label, ITEM_FUNCTION, usage, NULL);
    json_object_set_new(item, "insertText", base_json_text(row->name));
    json_object_set_new(item, "filterText", base_json_text(row->name));
    json_array_append_new(items, item);
  }
  return items;
}

static void add_words(json_t *items)
{
  static const char *const types[] = {
#define T(name, text) text,
    WELL_KNOWN_TYPES(T)
#undef T
    "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"};
  for (size_t i = 0; i < ARRAY_COUNT(types); i++)
    if (types[i][0] != '<')
      json_array_append_new(items, completion_item(types[i], ITEM_TYPE, NULL, NULL));
  for (Port port = PORT_NORTH; port < PORT_COUNT; port++)
    json_array_append_new(items,
                          completion_item(port_name(port), ITEM_CONSTANT, "direction", NULL));
  uint32_t n;
  const char *const *words = syntax_keywords(&n);
  for (uint32_t i = 0; i < n; i++)
    json_array_append_new(items, completion_item(words[i], ITEM_KEYWORD, NULL, NULL));
}

static json_t *complete_names(const Question *q)
{
  json_t *items = json_array();
  for (size_t i = 0; i < arrlenu(q->a->names.symbols); i++) {
    const NameSymbol *s = &q->a->names.symbols[i];
    if (s->kind != SYMBOL_LABEL && s == names_visible(&q->a->names, q->ast->file, s->name, q->off))
      json_array_append_new(items, completion_symbol(q, q->a, s));
  }
  add_words(items);
  return items;
}

json_t *answer_completion(const Question *q)
{
  size_t from = q->off - q->base;
  while (from > 0 && is_word_byte(q->text[from - 1]))
    from--;
  char before = from > 0 ? q->text[from - 1] : 0;
  char operand = from > 1 ? q->text[from - 2] : 0;
  bool is_member = before == '.' && (is_word_byte(operand) || strchr(")]*", operand)) &&
                   !isdigit((unsigned char)operand) && operand != 0;
  json_t *items = before == '@' ? complete_builtins(q)
                : is_member ? complete_members(q, from - 1)
                : before == '.' ? complete_fields(q, from - 1) : complete_names(q);
  return json_pack("{s:b,s:o}", "isIncomplete", 0, "items", items);
}

/* ---- signatures ---------------------------------------------------------------------------- */

typedef struct { size_t open; unsigned argument; } CallPlace;

/* The bracket of the call around the position, and which argument stands there. */
static bool find_call(const Question *q, CallPlace *call)
{
  size_t at = q->off - q->base;
  int depth = 0;
  call->argument = 0;
  while (at-- > 0) {
    char c = q->text[at];
    if (c == ';')
      return false;
    depth += c == ')' || c == ']' || c == '}';
    if (c == '(' && depth == 0) {
      call->open = at;
      return true;
    }
    depth -= depth > 0 && (c == '(' || c == '[' || c == '{');
    call->argument += c == ',' && depth == 0;
  }
  return false;
}

static json_t *signature(const Question *q, const char *label, const char *open, unsigned argument,
                         const char *text)
{
  json_t *parameters = json_array();
  int depth = 0;
  const char *from = open + 1, *c = from;
  for (; *c; c++) {
    bool ends = depth == 0 && (*c == ',' || *c == ')');
    if (ends && c > from) {
      from += strspn(from, " ");
      const char *name = arena_copy_text(q->a->arena, from, (size_t)(c - from));
      json_array_append_new(parameters, json_pack("{s:o}", "label", base_json_text(name)));
      from = c + 1;
    }
    if (depth == 0 && *c == ')')
      break;
    depth += strchr("([{", *c) != NULL;
    depth -= strchr(")]}", *c) != NULL;
  }
  json_t *help = json_pack("{s:o,s:o}", "label", base_json_text(label), "parameters", parameters);
  if (text)
    json_object_set_new(help, "documentation", base_json_text(text));
  return json_pack("{s:[o],s:i,s:i}", "signatures", help, "activeSignature", 0, "activeParameter",
                   (int)argument);
}

static const NameSymbol *called_symbol(const Question *q, size_t from, size_t to)
{
  Names *names = &q->a->names;
  StrId word = str_intern(q->a->session->names, q->text + from, to - from);
  if (from == 0 || q->text[from - 1] != '.')
    return names_visible(names, q->ast->file, word, q->off);
  size_t start = from - 1;
  while (start > 0 && is_word_byte(q->text[start - 1]))
    start--;
  StrId base = str_intern(q->a->session->names, q->text + start, from - 1 - start);
  const NameSymbol *symbol = names_visible(names, q->ast->file, base, q->off);
  const Ast *module = symbol ? names_module_of(names, symbol) : NULL;
  if (!module)
    return NULL;
  names_read_file(names, module);
  return names_visible(names, module->file, word, source_base(q->a->sources, module->file));
}

json_t *answer_signature(const Question *q)
{
  CallPlace call;
  if (!find_call(q, &call))
    return NULL;
  size_t from = call.open;
  while (from > 0 && is_word_byte(q->text[from - 1]))
    from--;
  const Session *s = q->a->session;
  if (from > 0 && q->text[from - 1] == '@') {
    for (size_t i = 0; i < s->builtins->n_rows; i++) {
      const BuiltinRow *row = &s->builtins->rows[i];
      const char *open = row->usage ? strchr(row->usage, '(') : NULL;
      if (open && strlen(row->name) == call.open - from &&
          strncmp(row->name, q->text + from, call.open - from) == 0)
        return signature(q, row->usage, open, call.argument, NULL);
    }
    return NULL;
  }
  const NameSymbol *symbol = called_symbol(q, from, call.open);
  if (!symbol || !symbol->node || symbol->node->kind != ND_FN_DECL)
    return NULL;
  const char *label = declaration_text(q->a, q->a->arena, symbol);
  const char *open = strchr(label, '(');
  return open ? signature(q, label, open, call.argument, comment_of(q->a, q->a->arena, symbol))
              : NULL;
}
