/* Declarations: resolved once, when something needs them; their names and globals. */
#include "frontend/sema/sema_internal.h"

#include <string.h>
#include "stb_ds.h"

/* ---- names ---------------------------------------------------------------------------------- */

/* "memcpy" of "<memcpy/memcpy>" and "../lib/memcpy.csl". */
static const char *module_stem(Sema *s, const ModuleInstance *m)
{
  const char *path = sema_text(s, m->path);
  const char *slash = strrchr(path, '/');
  const char *start = slash != NULL ? slash + 1 : path[0] == '<' ? path + 1 : path;
  size_t n = strcspn(start, ".>");
  char *stem = arena_copy_text(s->arena, start, n);
  for (char *p = stem; *p != 0; p++)
    if (!(*p == '_' || (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
          (*p >= 'A' && *p <= 'Z')))
      *p = '_';
  return stem;
}

/* The declaration of the importing file that the import stands in, or NULL. */
static const Decl *importing_decl(Sema *s, const ModuleInstance *m)
{
  const Decl *decls = s->modules[m->parent].decls;
  for (size_t i = 0; i < arrlenu(decls); i++) {
    Span all = decls[i].node->span;
    if (m->imported_at.off >= all.off && m->imported_at.off < all.off + all.len)
      return &decls[i];
  }
  return NULL;
}

static bool label_is_free(Sema *s, StrId label)
{
  for (size_t i = 0; i < arrlenu(s->modules); i++)
    if (str_eq(s->modules[i].label, label))
      return false;
  return true;
}

/* The first import of a file has the file's name, another one the name of the declaration that it
 * stands in, and the next of the same declaration a number. */
static const char *module_label(Sema *s, uint32_t module)
{
  ModuleInstance *m = &s->modules[module];
  if (!str_is_none(m->label))
    return sema_text(s, m->label);
  const char *stem = module_stem(s, m);
  StrId label = str_intern_z(s->session->names, stem);
  const Decl *importing = label_is_free(s, label) ? NULL : importing_decl(s, m);
  if (importing != NULL)
    label = importing->name;
  for (unsigned n = 2; !label_is_free(s, label); n++)
    label = str_intern_z(s->session->names, arena_printf(s->arena, "%s_%u", stem, n));
  m->label = label;
  return sema_text(s, label);
}

const char *sema_whole_name(Sema *s, uint32_t module, StrId name)
{
  const char *text = sema_text(s, name);
  return s->modules[module].parent == IR_NO_ID
             ? text : arena_printf(s->arena, "%s.%s", module_label(s, module), text);
}

/* A number makes names unique. */
static const char *sema_ir_name(Sema *s, uint32_t module, StrId name)
{
  const char *text = sema_whole_name(s, module, name);
  StrId id = str_intern_z(s->session->names, text);
  uint32_t n = 0;
  bool is_taken = pair_get(&s->own->ir_names, id.raw, &n);
  pair_put(&s->own->ir_names, id.raw, ++n);
  return sema_keep_text(s, is_taken ? arena_printf(s->arena, "%s.%u", text, n) : text);
}

static bool is_symbol(const char *text)
{
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  size_t first = strspn(text, letters);
  return first > 0 && text[first + strspn(text + first, "0123456789.$_abcdefghijklmnopqrstuvwxyz"
                                                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == 0;
}

/* The value of `linkname` or `linksection` in its module. */
static PoolId attribute_value(Sema *s, uint32_t module, const Node *attribute)
{
  Frame frame = {.is_declaration = true};
  SavedWalk saved;
  sema_enter(s, &frame, walk_in(s, module), &saved);
  PoolId text = sema_comptime(s, attribute, POOL(COMPTIME_STRING));
  sema_leave(s, &saved);
  return text;
}

/* The symbol that a declaration exports or refers to. */
static StrId sema_symbol(Sema *s, uint32_t module, StrId name, const Node *linkname)
{
  if (linkname == NULL)
    return name;
  PoolId text = attribute_value(s, module, linkname);
  return pool_kind(s->pool, text) == PK_STRING ? pool_key(s->pool, text).u.string : name;
}

/* The name that `linkname` gives, or that of the declaration. */
const char *sema_link_name(Sema *s, uint32_t module, StrId name, const Node *linkname)
{
  if (linkname == NULL)
    return sema_ir_name(s, module, name);
  PoolId text = attribute_value(s, module, linkname);
  uint32_t used;
  if (pool_kind(s->pool, text) == PK_STRING && is_symbol(value_text(s->pool, s->arena, text))) {
    StrId id = pool_key(s->pool, text).u.string;
    if (!pair_get(&s->own->ir_names, id.raw, &used)) {
      pair_put(&s->own->ir_names, id.raw, 1);
      return sema_text(s, id);
    }
    diag_linkname_twice(s->diags, linkname->span, sema_text(s, id));
  } else if (!pool_eq(text, POOL(POISON))) {
    diag_bad_linkname(s->diags, linkname->span, text);
  }
  return sema_ir_name(s, module, name);
}

bool sema_rename_symbol(Sema *s, const char **text, StrId name, Span at)
{
  const char *wanted = sema_text(s, name);
  uint32_t used;
  if (strcmp(*text, wanted) == 0)
    return true;
  if (!is_symbol(wanted)) {
    diag_bad_linkname(s->diags, at, pool_string(s->pool, name));
    return false;
  }
  if (pair_get(&s->own->ir_names, name.raw, &used)) {
    diag_linkname_twice(s->diags, at, wanted);
    return false;
  }
  pair_put(&s->own->ir_names, name.raw, 1);
  *text = wanted;
  return true;
}

StrId sema_section(Sema *s, uint32_t module, const Node *linksection)
{
  if (linksection == NULL)
    return STR_NONE;
  PoolId text = attribute_value(s, module, linksection);
  if (pool_kind(s->pool, text) == PK_STRING && value_text(s->pool, s->arena, text)[0] != 0)
    return pool_key(s->pool, text).u.string;
  if (!pool_eq(text, POOL(POISON)))
    diag_bad_linksection(s->diags, linksection->span, text);
  return STR_NONE;
}

bool sema_section_address(const Sema *s, StrId section, uint16_t *address)
{
  const OptionSection *sections = s->session->options->sections;
  for (size_t i = 0; !str_is_none(section) && i < arrlenu(sections); i++)
    if (strcmp(sections[i].name, sema_text(s, section)) == 0) {
      *address = sections[i].address;
      return true;
    }
  return false;
}

/* ---- globals -------------------------------------------------------------------------------- */

uint32_t sema_decl_global(Sema *s, Decl *d)
{
  if (d->global == IR_NO_ID) {
    uint32_t index = (uint32_t)(d - s->modules[d->module].decls);
    Global g = {.decl_module = d->module, .decl = index, .type = d->type, .ir = {IR_NO_ID},
                .init = d->value, .span = d->name_span};
    d->global = (uint32_t)arrlenu(s->globals);
    arrput(s->globals, g);
  }
  return d->global;
}

uint32_t sema_align(Sema *s, const Node *n, uint32_t align)
{
  int64_t wanted = 0;
  PoolId value = sema_comptime(s, n, POOL(NONE));
  bool is_good = pool_eq(value, POOL(POISON)) ||
                 (pool_int_value(s->pool, value, &wanted) && wanted > 0 && wanted <= INT16_MAX &&
                  (wanted & (wanted - 1)) == 0);
  if (!is_good)
    diag_bad_align(s->diags, n->span, value);
  return is_good && wanted > align ? (uint32_t)wanted : align;
}

static uint32_t wanted_align(Sema *s, const Decl *d, uint32_t align)
{
  if (d->node->kind != ND_VAR_DECL || node_var_decl(d->node)->align == NULL)
    return align;
  Frame frame = {.is_declaration = true};
  SavedWalk saved;
  sema_enter(s, &frame, walk_in(s, d->module), &saved);
  align = sema_align(s, node_var_decl(d->node)->align, align);
  sema_leave(s, &saved);
  return align;
}

IrGlobalId sema_global_ir(Sema *s, uint32_t global)
{
  if (!ir_global_is_none(s->globals[global].ir))
    return s->globals[global].ir;
  Global g = s->globals[global];
  const Decl *d = g.decl == IR_NO_ID ? NULL : &s->modules[g.decl_module].decls[g.decl];
  uint32_t align = type_align(s->pool, g.type);
  StrId name = d != NULL ? d->name : str_intern_z(s->session->names, "const");
  if (d != NULL)
    align = wanted_align(s, d, align);
  const NodeVarDecl *node =
      d != NULL && d->node->kind == ND_VAR_DECL ? node_var_decl(d->node) : NULL;
  const char *text = sema_link_name(s, d != NULL ? g.decl_module : 0, name,
                                    node != NULL ? node->linkname : NULL);
  if (node != NULL)
    s->globals[global].section = sema_section(s, g.decl_module, node->linksection);
  IrGlobalId ir = ir_global_add(s->ir, text, type_bytes(s->pool, g.type), align);
  IrGlobal *out = &s->ir->globals[ir.raw];
  out->debug_type = debug_type_of(s->session->debug_types, g.type);
  out->type = sema_keep_text(s, debug_type_name(s->session->debug_types, out->debug_type));
  out->is_const = d == NULL || d->kind != DECL_VAR;
  if (d != NULL)
    out->loc = ir_loc_add(s->ir, d->name_span, IR_NO_LOC, NULL);
  s->globals[global].ir = ir;
  arrput(s->own->emitted, global);
  return ir;
}

/* ---- resolving ------------------------------------------------------------------------------ */

bool decl_is_param(const Decl *d) { return d->kind == DECL_PARAM || d->kind == DECL_COLOR; }

/* Values of a program's own params come from outside of CSL, too, and take the type of the param:
 * --params gives numbers, of which a bool takes 0 and 1; a layout of a host script gives colors, of
 * which an integer takes the number. */
static Operand outside_value(Sema *s, const Decl *d, PoolId bound, PoolId type)
{
  int64_t v;
  bool is_main = s->modules[d->module].parent == IR_NO_ID;
  bool is_color = pool_eq(pool_type_of(s->pool, bound), POOL(COLOR));
  if (is_main && is_color && s->session->options->layout_json && type_is_int(s->pool, type) &&
      pool_int_value(s->pool, sema_force(s, bound, d->name_span), &v)) {
    release_sign_here(s, SIGN_COLOR_NUMBER, d->name_span);
    return operand_value(s, pool_int(s->pool, POOL(COMPTIME_INT), v));
  }
  bool is_number = type_is_int(s->pool, pool_type_of(s->pool, bound));
  if (is_main && is_number && pool_eq(type, POOL(BOOL)) &&
      pool_int_value(s->pool, sema_force(s, bound, d->name_span), &v) && (v == 0 || v == 1))
    return operand_value(s, pool_bool(v == 1));
  return operand_value(s, bound);
}

/* The library's params of tasks and queues are numbers in some modules and ids in others: each
 * takes both.  NONE: `value` is neither for the type. */
static PoolId number_or_id(Sema *s, PoolId value, PoolId type, Span at)
{
  value = sema_force(s, value, at);
  PoolId from = pool_type_of(s->pool, value);
  bool to_number = type_is_int(s->pool, type) &&
                   (pool_eq(from, POOL(LOCAL_TASK_ID)) || pool_eq(from, POOL(INPUT_QUEUE)) ||
                    pool_eq(from, POOL(OUTPUT_QUEUE)));
  bool to_task = pool_eq(type, POOL(LOCAL_TASK_ID)) && type_is_int(s->pool, from);
  const Machine *m = sema_machine(s);
  int64_t v;
  if ((!to_number && !to_task) || !pool_int_value(s->pool, value, &v) ||
      (to_task && (v < m->local_task_first || v > m->local_task_last)))
    return POOL(NONE);
  return pool_int(s->pool, type, v);
}

static bool has_parts(const Sema *s, PoolId value)
{
  PoolKey type = pool_key(s->pool, pool_type_of(s->pool, value));
  return pool_kind(s->pool, value) == PK_AGGREGATE &&
         (type.kind == PK_ARRAY_TYPE || (type.kind == PK_STRUCT_TYPE && type.u.fields.is_tuple));
}

static Operand library_value(Sema *s, PoolId bound, PoolId type, Span at)
{
  PoolKey to = pool_key(s->pool, type);
  if (to.kind != PK_ARRAY_TYPE || !has_parts(s, bound)) {
    PoolId one = number_or_id(s, bound, type, at);
    return operand_value(s, pool_is_none(one) ? bound : one);
  }
  PoolKey from = pool_key(s->pool, bound);
  uint32_t n = from.u.aggregate.n;
  if (to.u.array.rank != 1 || to.u.array.dims[0] != n)
    return operand_value(s, bound);
  PoolId *parts = arena_many(s->arena, PoolId, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    parts[i] = number_or_id(s, from.u.aggregate.elems[i], to.u.array.element, at);
    if (pool_is_none(parts[i]))
      return operand_value(s, bound);
  }
  return operand_value(s, pool_aggregate(s->pool, type, parts, n));
}

/* What of a value belongs to the program that made it, or NULL: indices of its own stand for it. */
static const char *part_of_program(Sema *s, PoolId value)
{
  PoolKey k = pool_key(s->pool, value);
  if (k.kind == PK_FUNC)
    return "a function";
  if (k.kind == PK_MODULE)
    return "a module";
  if (k.kind == PK_POINTER && k.u.pointer.base_kind != PTR_INTEGER)
    return "a pointer to a variable";
  const char *part = NULL;
  for (uint32_t i = 0; k.kind == PK_AGGREGATE && i < k.u.aggregate.n && part == NULL; i++)
    part = part_of_program(s, k.u.aggregate.elems[i]);
  return part;
}

/* Layout and tiles have programs of their own; only plain values go from one to the other. */
static bool check_from_layout(Sema *s, const Decl *d, PoolId bound, Span at)
{
  if (s->tile == NULL || s->modules[d->module].parent != IR_NO_ID)
    return true;
  const char *part = part_of_program(s, value_on_tile(s, bound));
  if (part == NULL)
    return true;
  bool is_inside = pool_kind(s->pool, bound) == PK_AGGREGATE;
  diag_value_of_layout(s->diags, at, sema_text(s, d->name), is_inside ? "has" : "is", part);
  diag_declared_here(s->diags, d->name_span, sema_text(s, d->name));
  return false;
}

/* The numbers that an integer type has room for, if the value is one that it has not. */
static void note_room(Sema *s, PoolId type, PoolId value, Span at)
{
  enum { MOST_BITS = 32 };
  PoolKey t = pool_is_none(type) ? (PoolKey){.kind = PK_POISON} : pool_key(s->pool, type);
  if (t.kind != PK_INT_TYPE || t.u.int_type.bits == 0 || t.u.int_type.bits > MOST_BITS ||
      pool_kind(s->pool, value) != PK_INT)
    return;
  int64_t count = INT64_C(1) << t.u.int_type.bits, lo = t.u.int_type.is_signed ? -count / 2 : 0;
  diag_int_holds(s->diags, at, type, lo, lo + count - 1);
}

/* Values that have no text of their own are named by their type. */
static void report_bad_binding(Sema *s, const Decl *d, PoolId type, PoolId bound, Span at)
{
  PoolId value = s->tile != NULL ? value_on_tile(s, bound) : bound;
  PoolId found = pool_type_of(s->pool, bound);
  PoolKind kind = pool_kind(s->pool, value);
  const char *name = sema_text(s, d->name);
  if (kind == PK_FUNC || kind == PK_MODULE || kind == PK_POINTER || kind == PK_DSR ||
      kind == PK_FIFO || kind == PK_SYMBOLIC || kind == PK_POISON)
    diag_bad_binding_type(s->diags, at, name, type, found);
  else
    diag_bad_binding(s->diags, at, name, type, value, found);
  note_room(s, type, value, at);
  sema_note_param(s, d);
  sema_note_alike(s, type, found, at);
  sema_note_fields(s, operand_value(s, bound), type, at);
}

static Operand bound_value(Sema *s, const Decl *d, PoolId type, PoolId bound)
{
  const ModuleInstance *m = &s->modules[d->module];
  Span name_span, at = module_binding_span(s, m, d->name, &name_span);
  if (!check_from_layout(s, d, bound, at))
    return operand_poison();
  Operand o = outside_value(s, d, bound, type);
  if (!pool_is_none(type) && !sema_coercible(s, o, type) && sema_is_library(s, d->module))
    o = library_value(s, bound, type, at);
  if (pool_is_none(type) || sema_coercible(s, o, type))
    return sema_coerce(s, o, type, at);
  report_bad_binding(s, d, type, bound, at);
  return operand_poison();
}

static bool has_layout_block(const Ast *ast)
{
  for (uint32_t i = 0; i < ast->decls.count; i++)
    if (node_kind(ast->decls.at[i]) == ND_LAYOUT)
      return true;
  return false;
}

static bool has_no_value(Sema *s, const ModuleInstance *m, const Decl *d)
{
  if (d->kind != DECL_PARAM || node_var_decl(d->node)->init)
    return false;
  return pool_is_none(m->params) || pool_is_none(pool_field(s->pool, m->params, d->name));
}

bool sema_param_is_open(Sema *s, const ModuleInstance *m, const Decl *d)
{
  return d->state == DECL_UNRESOLVED && has_no_value(s, m, d);
}

void sema_note_command_line(Sema *s, const ModuleInstance *m, const Decl *d)
{
  const char *values = "";
  for (size_t i = 0; i < arrlenu(m->decls); i++)
    if (&m->decls[i] == d || has_no_value(s, m, &m->decls[i]))
      values = arena_printf(s->arena, "%s%s%s:VALUE", values, *values ? "," : "",
                            sema_text(s, m->decls[i].name));
  diag_bind_with_params(s->diags, d->name_span, values);
}

/* Where a value of the parameter could come from.  Who compiles the program of a tile in place of
 * its layout has no command line that would help. */
static void note_who_binds(Sema *s, const Decl *d)
{
  const ModuleInstance *m = &s->modules[d->module];
  bool is_imported = m->parent != IR_NO_ID;
  if (!is_imported && m->imported_at.off == 0) {
    sema_note_command_line(s, m, d);
    if (!has_layout_block(m->ast))
      diag_file_without_layout(s->diags, d->name_span);
    return;
  }
  if (!is_imported && s->session->options->layout_json) {
    diag_param_given_by_script(s->diags, m->imported_at, sema_text(s, d->name));
    return;
  }
  diag_param_given_by(s->diags, m->imported_at, is_imported ? "@import_module" : "@set_tile_code",
                      sema_text(s, d->name));
}

/* The name of the constant that the module's import initialises, for a library's param
 * `import_name`; none for others.  <debug> writes it before the records, for host
 * scripts to find them. */
static PoolId import_name(Sema *s, const Decl *d)
{
  static const char param[] = "import_name";
  const ModuleInstance *m = &s->modules[d->module];
  if (m->parent == IR_NO_ID || sema_text(s, m->path)[0] != '<' ||
      strcmp(sema_text(s, d->name), param) != 0)
    return POOL(NONE);
  const ModuleInstance *importer = &s->modules[m->parent];
  for (size_t i = 0; i < arrlenu(importer->decls); i++) {
    const Decl *at = &importer->decls[i];
    const Node *init = at->kind == DECL_CONST ? node_var_decl(at->node)->init : NULL;
    if (init && init->span.off == m->imported_at.off)
      return pool_string(s->pool, at->name);
  }
  return POOL(NONE);
}

/* A default that a binding replaces, but which could not be the parameter's value. */
static void check_default(Sema *s, const Node *init, PoolId type)
{
  NodeKind kind = node_kind(init);
  if (kind == ND_INT || kind == ND_FLOAT || kind == ND_BOOL)
    sema_coerce(s, sema_comptime_operand(s, init, type), type, init->span);
}

/* The binding of a parameter, its default, or an error.  {} means "not given" where a default says
 * what then holds: members of <memcpy/get_params> that no stream has are handed on like that. */
static Operand param_value(Sema *s, const Decl *d, PoolId type, const Node *init)
{
  const ModuleInstance *m = &s->modules[d->module];
  PoolId bound = {0};
  if (!pool_is_none(m->params))
    bound = pool_field(s->pool, m->params, d->name);
  if (pool_is_none(bound))
    bound = import_name(s, d);
  bool has_typed_default = init != NULL && !pool_is_none(type) && !pool_eq(type, POOL(VOID));
  bool leaves_default = has_typed_default && pool_eq(bound, POOL(VOID_VALUE));
  if (has_typed_default)
    check_default(s, init, type);
  if (!pool_is_none(bound) && !leaves_default)
    return bound_value(s, d, type, bound);
  if (init != NULL)
    return sema_coerce(s, sema_comptime_operand(s, init, type), type, init->span);
  if (m->parent != IR_NO_ID && sema_text(s, m->path)[0] == '<') {    /* the import is to blame */
    diag_param_not_given(s->diags, m->imported_at, sema_text(s, m->path), sema_text(s, d->name));
    sema_note_param(s, d);
    return operand_poison();
  }
  diag_unbound_param(s->diags, d->name_span, sema_text(s, d->name));
  note_who_binds(s, d);
  return operand_poison();
}

typedef struct { StrId import_module; bool found; } ImportSearch;

static void look_for_import(void *context, Node *n)
{
  ImportSearch *search = context;
  search->found = search->found || (n->kind == ND_BUILTIN_CALL &&
                                    str_eq(node_builtin_call(n)->name.text, search->import_module));
  if (!search->found)
    node_visit_children(n, look_for_import, search);
}

/* An @import_module stands anywhere in the expression.  The blocks of such a module run whether or
 * not any code looks at the declaration. */
static bool expr_imports(Sema *s, Node *n)
{
  ImportSearch search = {.import_module = str_intern_z(s->session->names, "import_module")};
  if (n)
    look_for_import(&search, n);
  return search.found;
}

bool decl_is_import(Sema *s, const Decl *d)
{
  return d->kind == DECL_CONST && expr_imports(s, node_var_decl(d->node)->init);
}

/* ---- extern: what another module exports ---------------------------------------------------- */

Storage decl_storage(const Decl *d)
{
  return d->kind == DECL_FN ? node_fn_decl(d->node)->storage
       : d->kind == DECL_COLOR ? STORAGE_NONE : node_var_decl(d->node)->storage;
}

static bool is_exported(const Decl *d)
{
  return decl_storage(d) == STORAGE_EXPORT || !str_is_none(d->exported_as);
}

static StrId symbol_of(Sema *s, const Decl *d)
{
  if (d->exported_as.raw)
    return d->exported_as;
  return sema_symbol(s, d->module, d->name,
                     d->kind == DECL_FN ? node_fn_decl(d->node)->linkname
                                        : node_var_decl(d->node)->linkname);
}

/* The declaration that exports the symbol, in any module; follows imports. */
static Decl *find_export(Sema *s, StrId symbol)
{
  for (uint32_t m = 0; m < arrlenu(s->modules); m++)
    for (size_t i = 0; i < arrlenu(s->modules[m].decls); i++) {
      Decl *d = &s->modules[m].decls[i];
      if (decl_is_import(s, d))
        sema_resolve(s, d);
      if (is_exported(d) && str_eq(symbol_of(s, d), symbol))
        return d;
    }
  return NULL;
}

/* What an extern declaration stands for; NULL after reporting. */
static Decl *extern_target(Sema *s, Decl *d)
{
  if (!sema_resolve(s, d))
    return NULL;
  bool has_value = d->kind == DECL_FN ? node_fn_decl(d->node)->body != NULL
                                      : node_var_decl(d->node)->init != NULL;
  StrId symbol = symbol_of(s, d);
  Decl *target = has_value ? NULL : find_export(s, symbol);
  d->state = DECL_FAILED;              /* until it is known to be good: report once */
  if (has_value) {
    diag_extern_value(s->diags, d->name_span, sema_text(s, d->name));
  } else if (target == NULL) {
    diag_extern_missing(s->diags, d->name_span, sema_text(s, symbol));
  } else if (sema_resolve(s, target) && !pool_eq(target->type, d->type)) {
    diag_extern_type(s->diags, d->name_span, sema_text(s, d->name), d->type, target->type);
    diag_declared_here(s->diags, target->name_span, sema_text(s, target->name));
  } else if (target->state == DECL_DONE) {
    d->state = DECL_DONE;
    return target;
  }
  return NULL;
}

static const NodeStructType *struct_of(const Decl *d)
{
  const Node *init = d->kind == DECL_CONST ? node_var_decl(d->node)->init : NULL;
  return init != NULL && init->kind == ND_STRUCT_TYPE ? node_struct_type(init) : NULL;
}

/* Instances of a module with equal parameters have one type, as of structs without pointers. */
static PoolId self_type(Sema *s, const Decl *d, const NodeStructType *n)
{
  uint64_t key = (uint64_t)n->head.span.off << 32 | s->modules[d->module].params.raw;
  uint32_t known;
  if (pair_get(&s->own->self_types, key, &known))
    return (PoolId){known};
  PoolId made = pool_open_struct(s->pool, n->is_union ? PK_UNION_TYPE : PK_STRUCT_TYPE, d->name);
  pair_put(&s->own->self_types, key, made.raw);
  return made;
}

PoolId decl_self_type(Sema *s, Decl *d)
{
  const NodeStructType *n = struct_of(d);
  bool is_awaited = d->state == DECL_UNRESOLVED && s->own->structs_running > 0;
  if (n == NULL || (d->state != DECL_RUNNING && !is_awaited))
    return POOL(NONE);
  if (pool_is_none(d->self)) {
    d->self = self_type(s, d, n);
    if (is_awaited)
      arrput(s->own->awaited, d);
  }
  return d->self;
}

static PoolId made_type(Sema *s, Decl *d, const Node *init)
{
  s->own->structs_running += init->kind == ND_STRUCT_TYPE;
  PoolId made = sema_type_node(s, init, d->name);
  s->own->structs_running -= init->kind == ND_STRUCT_TYPE;
  if (pool_is_none(d->self) || pool_eq(made, POOL(POISON_TYPE)))
    return made;
  pool_close_struct(s->pool, d->self, made);
  return d->self;
}

static void resolve_awaited(Sema *s)
{
  while (s->own->structs_running == 0 && arrlenu(s->own->awaited) > 0)
    sema_resolve(s, arrpop(s->own->awaited));
}

/* A variable or extern constant whose declaration gives it no value. */
static bool resolve_without_value(Sema *s, Decl *d, const NodeVarDecl *n, PoolId type)
{
  bool is_elsewhere = n->storage == STORAGE_EXTERN;
  d->type = type;
  if ((d->kind != DECL_VAR && !is_elsewhere) || n->type == NULL) {
    diag_needs_initialiser(s->diags, d->name_span, sema_text(s, d->name));
    return false;
  }
  return sema_check_run_time(s, type, n->type->span);
}

static bool resolve_value(Sema *s, Decl *d)
{
  const NodeVarDecl *n = d->kind == DECL_COLOR ? NULL : node_var_decl(d->node);
  PoolId type = d->kind == DECL_COLOR ? POOL(COLOR) : POOL(NONE);
  const Node *init = n != NULL ? n->init : NULL;
  if (n != NULL && n->type != NULL)
    type = sema_type_expr(s, n->type);
  if (pool_eq(type, POOL(POISON_TYPE)))
    return false;
  if (n != NULL && n->align != NULL)
    sema_align(s, n->align, 1);  /* even if nothing gives it a place */
  if (d->kind == DECL_VAR)
    d->type = type;              /* enough to take its address while the value is computed */
  if (!decl_is_param(d) && init == NULL)
    return resolve_without_value(s, d, n, type);
  Operand o = operand_poison();
  if (decl_is_param(d)) {
    o = param_value(s, d, type, init);
  } else if (init->kind == ND_STRUCT_TYPE || init->kind == ND_ENUM_TYPE) {
    PoolId made = made_type(s, d, init);
    if (pool_eq(made, POOL(POISON_TYPE)))
      return false;
    o = sema_coerce(s, operand_at(operand_value(s, made), init->span), type, init->span);
  } else {
    o = sema_coerce(s, sema_comptime_operand(s, init, type), type, init->span);
  }
  if (operand_is_poison(o) && d->kind == DECL_VAR && n->type != NULL)
    return sema_check_run_time(s, type, n->type->span);    /* for the code that uses it */
  if (operand_is_poison(o))
    return false;
  /* A value keeps its own type under comptime_struct. */
  d->type = o.type;
  d->value = o.value;
  return d->kind != DECL_VAR || sema_check_run_time(s, d->type, init->span);
}

/* What is meant by a declaration that names itself. */
static void note_own_name(Sema *s, const Decl *d)
{
  const Node *init = d->kind == DECL_COLOR ? NULL : node_var_decl(d->node)->init;
  const char *name = sema_text(s, d->name);
  if (!pool_is_none(scope_predeclared_type(s, d->name)))
    diag_cycle_of_type_name(s->diags, d->name_span, name);
  else if (init != NULL && node_kind(init) == ND_STRUCT_TYPE)
    diag_cycle_by_value(s->diags, d->name_span, name, name);
}

static bool report_cycle(Sema *s, Decl *d)
{
  StrId needed = d->name;
  d->state = DECL_FAILED;
  diag_declaration_cycle(s->diags, d->name_span, sema_text(s, d->name));
  if (s->now.frame->named_at.off == d->name_span.off)
    note_own_name(s, d);
  for (const Frame *f = s->now.frame; f && f->named_at.off != d->name_span.off; f = f->up)
    if (f->is_declaration && f->named_at.off != 0) {
      diag_cycle_through(s->diags, f->named_at, sema_text(s, f->name), sema_text(s, needed));
      needed = f->name;
    }
  return false;
}

static void tell_listener(Sema *s, const Decl *d)
{
  Operand o = operand_value(s, d->value);
  o.type = d->type;
  if (d->kind == DECL_VAR)
    o.kind = OPR_MEMORY;
  s->session->listener->on_expression(s->session->listener->data, s, NULL, d->name_span, &o);
}

static bool resolve_new(Sema *s, Decl *d)
{
  if (d->state == DECL_RUNNING)
    return !pool_is_none(d->type) || report_cycle(s, d);
  if (d->kind == DECL_FN) {
    uint32_t func = sema_func_add(s, d->module, d->node);
    d->state = DECL_RUNNING;
    d->value = sema_func_value(s, func);
    if (pool_eq(d->value, POOL(POISON))) {
      d->state = DECL_FAILED;
      return false;
    }
    d->type = pool_type_of(s->pool, d->value);
    d->state = DECL_DONE;
    return true;
  }
  Frame frame = {.is_declaration = true, .name = d->name, .named_at = d->name_span};
  SavedWalk saved;
  WalkContext context = {.where = WHERE_COMPTIME, .comptime = true, .module = d->module};
  sema_enter(s, &frame, context, &saved);
  d->state = DECL_RUNNING;
  bool is_good = resolve_value(s, d);
  sema_leave(s, &saved);
  if (d->state == DECL_FAILED)
    return false;
  d->state = is_good ? DECL_DONE : DECL_FAILED;
  resolve_awaited(s);
  if (d->global != IR_NO_ID)
    s->globals[d->global].init = d->value;
  return is_good;
}

bool sema_resolve(Sema *s, Decl *d)
{
  if (d->state == DECL_DONE || d->state == DECL_FAILED)
    return d->state == DECL_DONE;
  bool is_good = resolve_new(s, d);
  if (d->state == DECL_DONE && s->session->listener)
    tell_listener(s, d);
  return is_good;
}

Operand sema_decl_operand(Sema *s, Decl *d, Span use)
{
  StrId name = d->name;
  if (decl_storage(d) == STORAGE_EXTERN)
    d = extern_target(s, d);
  if (d == NULL || !sema_resolve(s, d))
    return operand_poison();
  Operand o;
  if (d->kind == DECL_VAR) {
    o = (Operand){.kind = OPR_MEMORY, .type = d->type, .is_global = true,
                  .global = sema_decl_global(s, d)};
  } else {
    o = (Operand){.kind = OPR_COMPTIME, .type = d->type, .value = d->value, .decl = d};
  }
  o.name = name;
  o.span = use;
  return o;
}
