/* Answers about names: where they are declared and used, and what they are. */
#include "frontend/lsp/lsp.h"

#include <stb_ds.h>
#include <stdlib.h>

const NameSymbol *question_symbol(const Question *q, const NameUse *use)
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
  const NameSymbol *symbol = question_symbol(q, names_use_at(&q->a->names, q->off));
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
  const NameSymbol *symbol = question_symbol(q, here);
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

json_t *completion_symbol(const Question *q, LspAnalysis *a, const NameSymbol *symbol)
{
  static const int kinds[] = {
    [SYMBOL_CONST] = ITEM_CONSTANT, [SYMBOL_VAR] = ITEM_VARIABLE, [SYMBOL_PARAM] = ITEM_CONSTANT,
    [SYMBOL_FN] = ITEM_FUNCTION, [SYMBOL_TASK] = ITEM_FUNCTION, [SYMBOL_LOCAL] = ITEM_VARIABLE,
    [SYMBOL_ARGUMENT] = ITEM_VARIABLE, [SYMBOL_MODULE] = ITEM_MODULE,
    [SYMBOL_MEMBER] = ITEM_ENUM_MEMBER, [SYMBOL_LABEL] = ITEM_KEYWORD};
  Arena *arena = q->a->arena;
  const char *type = fact_type_text(a->session, arena, facts_at(&a->facts, symbol->at));
  bool is_function = symbol->kind == SYMBOL_FN || symbol->kind == SYMBOL_TASK;
  const char *detail = is_function || !type ? declaration_text(a, arena, symbol) : type;
  return completion_item(str_text(a->session->names, symbol->name), kinds[symbol->kind], detail,
                         comment_of(a, arena, symbol));
}

/* A direction: the language declares it, so it is no use of a name. */
static json_t *hover_direction(const Question *q, Span word, const char *text)
{
  for (Port port = PORT_NORTH; port < PORT_COUNT; port++)
    if (strlen(port_name(port)) == word.len && strncmp(text, port_name(port), word.len) == 0)
      return hover_text(q, arena_printf(q->a->arena, "```csl\nconst %s: direction\n```",
                                        port_name(port)), word);
  return NULL;
}

static json_t *hover_setting(const Question *q, Span word, const char *text)
{
  const char *shown = setting_text(q, word.off - q->base - 1,
                                   arena_copy_text(q->a->arena, text, word.len));
  return shown ? hover_text(q, shown, word) : NULL;
}

/* A field that nothing declares, as of a struct in a parameter: what the program knows of it. */
static json_t *hover_field(const Question *q, Span word)
{
  const Fact *fact = facts_ending(&q->a->facts, word.off + word.len);
  const char *type = fact_type_text(q->a->session, q->a->arena, fact);
  const char *value = fact_value_text(q->a->session, q->a->arena, fact);
  if (!type)
    return NULL;
  const char *text = arena_printf(q->a->arena, "type `%s`", type);
  if (value)
    text = arena_printf(q->a->arena, "%s\n\nvalue `%s`", text, value);
  return hover_text(q, text, word);
}

static json_t *hover_builtin(const Question *q)
{
  Span word = word_at(q);
  const char *text = q->text + (word.off - q->base);
  char before = word.off == q->base ? ' ' : text[-1];
  if (before == '.') {
    json_t *setting = hover_setting(q, word, text);
    return setting ? setting : hover_field(q, word);
  }
  if (before != '@')
    return hover_direction(q, word, text);
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
  const NameSymbol *symbol = question_symbol(q, use);
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
