/* Names and their declarations, by the rules of scopes, so code that no tile runs has its names,
 * too. Only the names of fields need what the evaluator found out about types. */
#include "frontend/lsp/lsp.h"

#include <stb_ds.h>
#include <stdlib.h>

/* The walk over one file. */
typedef struct {
  Names *names;
  const Ast *ast;
  uint32_t *scope;         /* stb_ds: symbols that are visible, innermost last */
  uint32_t first;          /* of the file's own symbols */
  Span block;              /* what is walked: locals are visible to its end */
} NameWalk;

static void walk_node(void *context, Node *n);

/* ---- symbols ------------------------------------------------------------------------------- */

static void add_use(Names *names, Span at, uint32_t symbol)
{
  NameUse use = {at, symbol};
  arrput(names->uses, use);
}

static uint32_t add_symbol(NameWalk *w, SymbolKind kind, Name name, const Node *node, Span visible)
{
  NameSymbol symbol = {.kind = kind, .name = name.text, .at = name.span, .visible = visible,
                       .file = w->ast->file, .node = node};
  uint32_t index = (uint32_t)arrlenu(w->names->symbols);
  arrput(w->names->symbols, symbol);
  add_use(w->names, name.span, index);
  return index;
}

static void add_local(NameWalk *w, SymbolKind kind, Name name, const Node *node)
{
  if (!name_is_given(name))
    return;
  uint32_t end = w->block.off + w->block.len;
  Span visible = {name.span.off, end > name.span.off ? end - name.span.off : 1};
  arrput(w->scope, add_symbol(w, kind, name, node, visible));
}

static bool is_import(const Names *names, const Node *n)
{
  if (!n || n->kind != ND_BUILTIN_CALL)
    return false;
  const char *name = str_text(names->session->names, node_builtin_call(n)->name.text);
  return strcmp(name, "import_module") == 0;
}

/* The first import among those that an `if` chooses from. */
static const Node *import_of(const Names *names, const Node *n)
{
  if (!n || is_import(names, n))
    return n;
  if (n->kind != ND_IF)
    return NULL;
  const Node *first = import_of(names, node_if(n)->then_part);
  return first ? first : import_of(names, node_if(n)->else_part);
}

static SymbolKind kind_of_var(const Names *names, const NodeVarDecl *n)
{
  if (import_of(names, n->init))
    return SYMBOL_MODULE;
  return n->var_kind == VAR_CONST ? SYMBOL_CONST : n->var_kind == VAR_VAR ? SYMBOL_VAR
                                                                          : SYMBOL_PARAM;
}

/* The members stand together, in their order. */
static void add_members(NameWalk *w, const Node *type)
{
  if (!type || (type->kind != ND_ENUM_TYPE && type->kind != ND_STRUCT_TYPE) ||
      hmgeti(w->names->members, type->span.off) >= 0)
    return;
  hmput(w->names->members, type->span.off, (uint32_t)arrlenu(w->names->symbols));
  NodeList list = type->kind == ND_ENUM_TYPE ? node_enum_type(type)->members
                                             : node_struct_type(type)->fields;
  for (uint32_t i = 0; i < list.count; i++) {
    const Node *n = list.at[i];
    if (n->kind != ND_ENUM_MEMBER && n->kind != ND_FIELD_DECL)
      continue;
    Name name = n->kind == ND_ENUM_MEMBER ? node_enum_member(n)->name : node_field_decl(n)->name;
    uint32_t symbol = add_symbol(w, SYMBOL_MEMBER, name, n, (Span){n->span.off, 1});
    w->names->symbols[symbol].owner = type->span.off;
  }
}

/* The member of the type that starts at `owner`; UINT32_MAX: none. */
static uint32_t find_member(Names *names, uint32_t owner, StrId name)
{
  ptrdiff_t first = hmgeti(names->members, owner);
  for (size_t i = first >= 0 ? names->members[first].value : SIZE_MAX;
       i < arrlenu(names->symbols) && names->symbols[i].owner == owner; i++)
    if (str_eq(names->symbols[i].name, name))
      return (uint32_t)i;
  return UINT32_MAX;
}

static void add_global(NameWalk *w, const Node *n)
{
  Span everywhere = {0, 0};
  if (n->kind == ND_VAR_DECL && name_is_given(node_var_decl(n)->name)) {
    const NodeVarDecl *v = node_var_decl(n);
    uint32_t symbol = add_symbol(w, kind_of_var(w->names, v), v->name, n, everywhere);
    w->names->symbols[symbol].is_exported = v->storage == STORAGE_EXPORT;
    add_members(w, v->init);
  } else if (n->kind == ND_FN_DECL && name_is_given(node_fn_decl(n)->name)) {
    const NodeFnDecl *f = node_fn_decl(n);
    SymbolKind kind = f->is_task ? SYMBOL_TASK : SYMBOL_FN;
    uint32_t symbol = add_symbol(w, kind, f->name, n, everywhere);
    w->names->symbols[symbol].is_exported = f->storage == STORAGE_EXPORT;
  } else if (n->kind == ND_COLOR_DECL) {
    add_symbol(w, SYMBOL_PARAM, node_color_decl(n)->name, n, everywhere);
  }
}

/* ---- uses ---------------------------------------------------------------------------------- */

static uint32_t find_global(const Names *names, FileId file, StrId name)
{
  for (size_t i = 0; i < arrlenu(names->symbols); i++) {
    const NameSymbol *s = &names->symbols[i];
    if (file_eq(s->file, file) && s->visible.len == 0 && str_eq(s->name, name))
      return (uint32_t)i;
  }
  return UINT32_MAX;
}

static uint32_t find_name(const NameWalk *w, StrId name, bool is_label)
{
  for (size_t i = arrlenu(w->scope); i-- > 0;) {
    const NameSymbol *s = &w->names->symbols[w->scope[i]];
    if (str_eq(s->name, name) && (s->kind == SYMBOL_LABEL) == is_label)
      return w->scope[i];
  }
  for (size_t i = w->first; !is_label && i < arrlenu(w->names->symbols); i++) {
    const NameSymbol *s = &w->names->symbols[i];
    if (file_eq(s->file, w->ast->file) && s->visible.len == 0 && str_eq(s->name, name))
      return (uint32_t)i;
  }
  return UINT32_MAX;
}

static void use_name(NameWalk *w, StrId name, Span at, bool is_label)
{
  uint32_t symbol = find_name(w, name, is_label);
  if (symbol != UINT32_MAX)
    add_use(w->names, at, symbol);
}

/* The file that a call imports, if it says so in a literal. */
static const Ast *file_of_literal(const Names *names, const Ast *ast, const Node *path)
{
  if (!path || path->kind != ND_STRING)
    return NULL;
  const char *text = str_text(names->session->names, node_string(path)->bytes);
  const Ast *found = files_import(names->session->files, text, ast, (Span){0, 0});
  return found;
}

static const Ast *file_of_import(Names *names, const Ast *ast, const Node *path)
{
  const Ast *found = file_of_literal(names, ast, path);
  if (found)
    names_read_file(names, found);
  return found;
}

const Ast *names_module_of(const Names *names, const NameSymbol *symbol)
{
  if (symbol->kind != SYMBOL_MODULE || symbol->node->kind != ND_VAR_DECL)
    return NULL;
  const Node *call = import_of(names, node_var_decl(symbol->node)->init);
  const Ast *ast = files_parsed(names->session->files, symbol->file);
  if (!call || !ast || node_builtin_call(call)->args.count == 0)
    return NULL;
  return file_of_literal(names, ast, node_builtin_call(call)->args.at[0]);
}

static void add_field_name(NameWalk *w, Name name, Span base)
{
  FieldName field = {name.span, name.text, w->ast->file, base};
  arrput(w->names->field_names, field);
}

/* module.name, Enum.member, and fields. */
static void use_member(NameWalk *w, const NodeMember *n)
{
  uint32_t base = n->base_expr->kind == ND_IDENT
                    ? find_name(w, node_ident(n->base_expr)->name, false) : UINT32_MAX;
  if (base == UINT32_MAX) {
    add_field_name(w, n->name, n->base_expr->span);
    return;
  }
  NameSymbol symbol = w->names->symbols[base];
  const Ast *module = names_module_of(w->names, &symbol);
  if (module) {
    names_read_file(w->names, module);
    uint32_t target = find_global(w->names, module->file, n->name.text);
    if (target != UINT32_MAX)
      add_use(w->names, n->name.span, target);
    return;
  }
  const Node *type = symbol.node && symbol.node->kind == ND_VAR_DECL
                       ? node_var_decl(symbol.node)->init : NULL;
  if (type && type->kind == ND_ENUM_TYPE) {
    uint32_t member = find_member(w->names, type->span.off, n->name.text);
    if (member != UINT32_MAX)
      add_use(w->names, n->name.span, member);
  } else {
    add_field_name(w, n->name, n->base_expr->span);
  }
}

/* Other programs may use what is in a module; an import without a literal may be of any file. */
static void note_import(Names *names, const Ast *file)
{
  if (!file)
    names->has_unknown_import = true;
  else
    arrput(names->modules, file->file.raw);
}

bool names_is_exporting(const Names *names, Span use)
{
  for (size_t i = 0; i < arrlenu(names->exporting); i++)
    if (names->exporting[i] == use.off)
      return true;
  return false;
}

bool names_is_module(const Names *names, FileId file)
{
  for (size_t i = 0; i < arrlenu(names->modules); i++)
    if (names->modules[i] == file.raw)
      return true;
  return names->has_unknown_import;
}

/* @import_module("F", .{ .param = ... }) and @set_tile_code(x, y, "F", .{ .param = ... }). */
static void use_bindings(NameWalk *w, const NodeBuiltinCall *n)
{
  const char *name = str_text(w->names->session->names, n->name.text);
  uint32_t path = strcmp(name, "import_module") == 0 ? 0
                : strcmp(name, "set_tile_code") == 0 ? 2 : UINT32_MAX;
  if (path == UINT32_MAX || n->args.count <= path)
    return;
  const Ast *file = file_of_import(w->names, w->ast, n->args.at[path]);
  if (path == 0)
    note_import(w->names, file);
  if (!file || n->args.count <= path + 1 || n->args.at[path + 1]->kind != ND_STRUCT_INIT)
    return;
  NodeList fields = node_struct_init(n->args.at[path + 1])->fields;
  for (uint32_t i = 0; i < fields.count; i++) {
    if (fields.at[i]->kind != ND_FIELD_INIT)
      continue;
    Name field = node_field_init(fields.at[i])->name;
    uint32_t target = find_global(w->names, file->file, field.text);
    if (target != UINT32_MAX && w->names->symbols[target].kind == SYMBOL_PARAM)
      add_use(w->names, field.span, target);
  }
}

/* @export_symbol(NAME) and (MODULE.NAME) export under the name that stands there. */
static void note_export(NameWalk *w, const NodeBuiltinCall *n)
{
  const char *name = str_text(w->names->session->names, n->name.text);
  if (strcmp(name, "export_symbol") != 0 || n->args.count != 1)
    return;
  const Node *symbol = n->args.at[0];
  if (symbol->kind == ND_IDENT)
    arrput(w->names->exporting, symbol->span.off);
  else if (symbol->kind == ND_MEMBER)
    arrput(w->names->exporting, node_member(symbol)->name.span.off);
}

/* ---- the walk ------------------------------------------------------------------------------ */

static void walk_list(NameWalk *w, const NodeList *list)
{
  for (uint32_t i = 0; i < list->count; i++)
    walk_node(w, list->at[i]);
}

static void add_label(NameWalk *w, Name label, const Node *n)
{
  if (name_is_given(label))
    add_local(w, SYMBOL_LABEL, label, n);
}

static void walk_function(NameWalk *w, const NodeFnDecl *n)
{
  for (uint32_t i = 0; i < n->params.count; i++) {
    if (n->params.at[i]->kind != ND_PARAM)
      continue;
    const NodeParam *param = node_param(n->params.at[i]);
    walk_node(w, param->type);
    add_local(w, SYMBOL_ARGUMENT, param->name, n->params.at[i]);
  }
  const Node *parts[] = {n->result, n->align, n->linksection, n->linkname, n->body};
  for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
    if (parts[i])
      walk_node(w, (Node *)(uintptr_t)parts[i]);
}

static void walk_for(NameWalk *w, const NodeFor *n)
{
  walk_node(w, n->iterable);
  add_label(w, n->label, &n->head);
  add_local(w, SYMBOL_LOCAL, n->item, NULL);
  add_local(w, SYMBOL_LOCAL, n->index, NULL);
  walk_node(w, n->body);
}

static void walk_tensor(NameWalk *w, const NodeTensorAccess *n)
{
  walk_list(w, &n->extents);
  for (uint32_t i = 0; i < n->vars.count; i++)
    add_local(w, SYMBOL_LOCAL, n->vars.at[i], NULL);
  walk_node(w, n->target);
  walk_list(w, &n->indices);
}

static void walk_scope(NameWalk *w, const Node *n)
{
  size_t outer = arrlenu(w->scope);
  Span block = w->block;
  w->block = n->span;
  switch ((int)n->kind) {
  case ND_FN_DECL: walk_function(w, node_fn_decl(n)); break;
  case ND_FOR: walk_for(w, node_for(n)); break;
  case ND_TENSOR_ACCESS: walk_tensor(w, node_tensor_access(n)); break;
  case ND_WHILE:
    add_label(w, node_while(n)->label, n);
    node_visit_children(n, walk_node, w);
    break;
  case ND_BLOCK:
    add_label(w, node_block(n)->label, n);
    node_visit_children(n, walk_node, w);
    break;
  default: node_visit_children(n, walk_node, w); break;
  }
  w->block = block;
  arrsetlen(w->scope, outer);
}

static void walk_node(void *context, Node *n)
{
  NameWalk *w = context;
  switch ((int)n->kind) {
  case ND_FN_DECL: case ND_FOR: case ND_TENSOR_ACCESS: case ND_WHILE: case ND_BLOCK:
    walk_scope(w, n);
    return;
  case ND_IDENT: use_name(w, node_ident(n)->name, n->span, false); return;
  case ND_MEMBER: use_member(w, node_member(n)); break;
  case ND_FIELD_INIT: add_field_name(w, node_field_init(n)->name, (Span){0, 0}); break;
  case ND_STRUCT_TYPE: case ND_ENUM_TYPE: add_members(w, n); break;
  case ND_BUILTIN_CALL:
    use_bindings(w, node_builtin_call(n));
    note_export(w, node_builtin_call(n));
    break;
  case ND_BREAK: case ND_CONTINUE: {
    Name label = n->kind == ND_BREAK ? node_break(n)->label : node_continue(n)->label;
    if (name_is_given(label))
      use_name(w, label.text, label.span, true);
    break;
  }
  default: break;
  }
  node_visit_children(n, walk_node, w);
  if (n->kind == ND_VAR_DECL && w->block.len > 0) {
    add_local(w, SYMBOL_LOCAL, node_var_decl(n)->name, n);
    add_members(w, node_var_decl(n)->init);
  }
}

void names_read_file(Names *names, const Ast *ast)
{
  while (arrlenu(names->is_read) <= ast->file.raw)
    arrput(names->is_read, false);
  if (names->is_read[ast->file.raw])
    return;
  names->is_read[ast->file.raw] = true;
  NameWalk w = {.names = names, .ast = ast, .first = (uint32_t)arrlenu(names->symbols)};
  for (uint32_t i = 0; i < ast->decls.count; i++)
    add_global(&w, ast->decls.at[i]);
  for (uint32_t i = 0; i < ast->decls.count; i++)
    walk_node(&w, ast->decls.at[i]);
  arrfree(w.scope);
}

/* ---- questions ----------------------------------------------------------------------------- */

/* What is known of the module before the dot; NULL: it is none, or it may be several. */
static const Fact *module_before(const FieldName *field, Facts *facts)
{
  const Fact *base = field->base.len ? facts_at(facts, field->base) : NULL;
  return base && !file_is_none(base->module) && !base->has_modules ? base : NULL;
}

bool names_is_of_module(const FieldName *field, Facts *facts)
{
  return module_before(field, facts) != NULL;
}

void names_use_fields(Names *names, Facts *facts)
{
  const Pool *pool = names->session->pool;
  for (size_t i = 0; i < arrlenu(names->field_names); i++) {
    const FieldName *field = &names->field_names[i];
    const FieldFact *fact = facts_field_at(facts, field->at);
    const Fact *base = module_before(field, facts);
    uint32_t global = base ? find_global(names, base->module, field->name) : UINT32_MAX;
    if (global != UINT32_MAX)
      add_use(names, field->at, global);
    if (!fact || fact->has_owners || pool_is_none(fact->owner))
      continue;
    PoolKey type = pool_key(pool, fact->owner);
    if ((type.kind != PK_STRUCT_TYPE && type.kind != PK_UNION_TYPE) || type.u.fields.origin == 0)
      continue;
    uint32_t member = find_member(names, type.u.fields.origin - 1, field->name);
    if (member != UINT32_MAX)
      add_use(names, field->at, member);
  }
}

static int compare_uses(const void *a, const void *b)
{
  const NameUse *x = a, *y = b;
  return x->at.off < y->at.off ? -1 : x->at.off > y->at.off;
}

void names_sort(Names *names)
{
  if (names->uses)
    qsort(names->uses, arrlenu(names->uses), sizeof *names->uses, compare_uses);
}

void names_free(Names *names)
{
  arrfree(names->symbols);
  arrfree(names->uses);
  arrfree(names->field_names);
  hmfree(names->members);
  arrfree(names->is_read);
  arrfree(names->modules);
  arrfree(names->exporting);
}

const NameUse *names_use_at(const Names *names, uint32_t off)
{
  for (size_t i = 0; i < arrlenu(names->uses); i++) {
    Span at = names->uses[i].at;
    if (off >= at.off && off <= at.off + at.len)
      return &names->uses[i];
  }
  return NULL;
}

const NameSymbol *names_visible(const Names *names, FileId file, StrId name, uint32_t off)
{
  const NameSymbol *best = NULL;
  for (size_t i = 0; i < arrlenu(names->symbols); i++) {
    const NameSymbol *s = &names->symbols[i];
    if (!file_eq(s->file, file) || !str_eq(s->name, name) || s->kind == SYMBOL_MEMBER)
      continue;
    bool is_inside = s->visible.len == 0 ||
                     (off >= s->visible.off && off <= s->visible.off + s->visible.len);
    if (is_inside && (!best || s->visible.len > 0))
      best = s;
  }
  return best;
}
