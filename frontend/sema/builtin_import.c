/* Imports: @import_comptime_value, a JSON file as a comptime value of a given type; @import_module.
 *
 * Numbers of a file must fit their type; an array may be flat if the type has several dimensions;
 * the keys of an object have the form "name:type" with the type of the field. */
#include "frontend/sema/builtins.h"
#include "frontend/sema/sema_internal.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "stb_ds.h"

typedef struct { Sema *s; Span at; const char *why; } Import;

static PoolId import_value(Import *in, PoolId type, const json_t *json);

static PoolId note_failure(Import *in, const char *why)
{
  if (!in->why)
    in->why = why;
  return POOL(POISON);
}

static PoolId import_number(Import *in, PoolId type, const json_t *json)
{
  Pool *pool = in->s->pool;
  if (type_is_float(pool, type)) {
    if (!json_is_number(json))
      return note_failure(in, "expected a number");
    PoolId value = pool_float(pool, type, json_number_value(json));
    return isfinite(pool_float_value(pool, value))
             ? value : note_failure(in, "a number does not fit its type");
  }
  if (!json_is_integer(json))
    return note_failure(in, "expected an integer");
  json_int_t v = json_integer_value(json);
  if (pool_eq(type, POOL(COLOR)))
    return v >= 0 && v < (json_int_t)sema_machine(in->s)->colors
             ? pool_int(pool, type, v) : note_failure(in, "no such color");
  return value_small_fits(pool, type, v) ? pool_int(pool, type, v)
                                         : note_failure(in, "a number does not fit its type");
}

/* The elements of the dimensions from `depth` on: lists of lists as these are nested, or one list
 * of all elements. */
static bool import_list(Import *in, const PoolKey *array, uint32_t depth, const json_t *json,
                        PoolId *out)
{
  if (!json_is_array(json))
    return note_failure(in, "expected a list"), false;
  uint64_t each = 1;
  for (uint32_t d = depth + 1; d < array->u.array.rank; d++)
    each *= array->u.array.dims[d];
  bool is_nested = json_is_array(json_array_get(json, 0));
  if (is_nested && depth + 1 == array->u.array.rank)
    return note_failure(in, "lists are nested deeper than the type has dimensions"), false;
  uint64_t n = array->u.array.dims[depth] * (is_nested ? 1 : each), size = json_array_size(json);
  if (size != n)
    return note_failure(in, size < n ? "too few elements" : "too many elements"), false;
  for (uint64_t i = 0; i < n; i++) {
    const json_t *item = json_array_get(json, i);
    if (!is_nested && json_is_array(item))
      return note_failure(in, "a list has numbers and lists"), false;
    if (is_nested && !import_list(in, array, depth + 1, item, out + i * each))
      return false;
    if (!is_nested)
      out[i] = import_value(in, array->u.array.element, item);
    if (!is_nested && pool_eq(out[i], POOL(POISON)))
      return false;
  }
  return true;
}

static PoolId import_array(Import *in, PoolId type, const json_t *json)
{
  Pool *pool = in->s->pool;
  uint64_t n = type_element_count(pool, type);
  PoolKey array = pool_key(pool, type);
  PoolId *elems = arena_many(in->s->arena, PoolId, n + 1);
  if (!import_list(in, &array, 0, json, elems))
    return POOL(POISON);
  return pool_aggregate(pool, type, elems, (uint32_t)n);
}

/* The type that the text after the colon of a key names: a scalar or an array of one. */
static PoolId key_type(Import *in, const char *text)
{
  uint32_t dims[4], rank = 0;
  if (*text == '[') {
    do {
      char *end;
      unsigned long v = strtoul(text + 1, &end, 10);
      if (end == text + 1 || (*end != ',' && *end != ']') || rank == ARRAY_COUNT(dims) ||
          v > UINT16_MAX)
        return note_failure(in, "the array type of a key has no sizes");
      dims[rank++] = (uint32_t)v;
      text = end;
    } while (*text == ',');
    text++;
  }
  PoolId element = scope_predeclared_type(in->s, sema_name(in->s, text));
  if (pool_is_none(element))
    return note_failure(in, "a key names an unknown type: known are 'bool', 'color', "
                            "'comptime_string', the types of numbers and arrays of these");
  return rank ? pool_array_type(in->s->pool, dims, rank, element) : element;
}

/* Do two of the keys differ in the type behind the colon only? */
static bool have_one_name(Sema *s, const char *const *names, size_t n)
{
  struct { uint32_t key; bool value; } *seen = NULL;      /* key: StrId.raw */
  for (size_t i = 0; i < n; i++)
    hmput(seen, sema_name(s, names[i]).raw, true);
  size_t n_seen = hmlenu(seen);
  hmfree(seen);
  return n_seen < n;
}

static PoolId import_struct(Import *in, const json_t *json)
{
  if (!json_is_object(json))
    return note_failure(in, "expected an object");
  size_t n = json_object_size(json), i = 0;
  const char **names = arena_many(in->s->arena, const char *, n + 1);
  PoolId *values = arena_many(in->s->arena, PoolId, n + 1);
  const char *key;
  json_t *value;
  void *iter = json_object_iter((json_t *)(uintptr_t)json);
  for (; iter; iter = json_object_iter_next((json_t *)(uintptr_t)json, iter), i++) {
    key = json_object_iter_key(iter);
    value = json_object_iter_value(iter);
    const char *colon = strchr(key, ':');
    size_t length = colon ? (size_t)(colon - key) : strlen(key);
    names[i] = arena_copy_text(in->s->arena, key, length);
    if (json_is_object(value)) {
      values[i] = import_struct(in, value);
    } else if (!colon) {
      return note_failure(in, "a key is not written \"name:type\"");
    } else {
      PoolId type = key_type(in, colon + 1);
      values[i] = pool_eq(type, POOL(POISON)) ? type : import_value(in, type, value);
    }
    if (pool_eq(values[i], POOL(POISON)))
      return POOL(POISON);
  }
  if (have_one_name(in->s, names, n))
    return note_failure(in, "two keys of an object have one name");
  return sema_make_struct(in->s, names, values, (uint32_t)n);
}

static PoolId import_value(Import *in, PoolId type, const json_t *json)
{
  Pool *pool = in->s->pool;
  if (json_is_null(json))
    return note_failure(in, "there is a null");
  if (pool_kind(pool, type) == PK_ARRAY_TYPE)
    return import_array(in, type, json);
  if (pool_eq(type, POOL(COMPTIME_STRUCT)))
    return import_struct(in, json);
  if (pool_kind(pool, type) == PK_STRUCT_TYPE) {        /* fields go by their names */
    PoolId value = import_struct(in, json);
    return pool_eq(value, POOL(POISON))
             ? value : sema_coerce(in->s, operand_value(in->s, value), type, in->at).value;
  }
  if (pool_eq(type, POOL(BOOL)))
    return json_is_boolean(json) ? pool_bool(json_is_true(json))
                                 : note_failure(in, "expected a bool");
  if (pool_eq(type, POOL(COMPTIME_STRING)))
    return json_is_string(json)
             ? pool_string(pool, sema_name(in->s, json_string_value(json)))
             : note_failure(in, "expected a string");
  if (type_is_numeric(pool, type) || pool_eq(type, POOL(COLOR)))
    return import_number(in, type, json);
  return note_failure(in, "values of this type cannot be imported");
}

/* What the parser does not take, in words that are true of a file that is JSON, too. */
static const char *json_failure(enum json_error_code code)
{
  if (code == json_error_numeric_overflow)
    return "a number is too large (integers lie in -2^63 to 2^63 - 1, floats have 64 bits)";
  if (code == json_error_duplicate_key)
    return "an object has a key twice";
  if (code == json_error_null_character || code == json_error_null_byte_in_key)
    return "a string holds the character 0";
  if (code == json_error_stack_overflow)
    return "lists or objects are nested too deep";
  return "it is no JSON";
}

/* NULL after reporting.  What the file holds is not quoted: it may be any file. */
static json_t *read_json(Sema *s, const char *file, Span at)
{
  size_t size;
  const char *why;
  char *bytes = file_read_text(file, FILE_TEXT_MAX_BYTES, &size, &why);
  if (!bytes) {
    diag_import_value_file(s->diags, at, file, why);
    return NULL;
  }
  source_note_data(s->session->sources, file);
  json_error_t error;
  json_t *json = json_loadb(bytes, size, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
  free(bytes);
  if (!json)
    diag_import_value_file(s->diags, at, file,
                           arena_printf(s->arena, "%s, from line %d, column %d on",
                                        json_failure(json_error_code(&error)), error.line,
                                        error.column));
  return json;
}

Operand builtin_import_comptime_value(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  PoolId type = sema_type_expr(s, call->args.at[0]);
  PoolId path = sema_comptime(s, call->args.at[1], POOL(COMPTIME_STRING));
  if (pool_eq(type, POOL(POISON_TYPE)) || pool_eq(path, POOL(POISON)))
    return operand_poison();
  if (pool_kind(s->pool, path) != PK_STRING) {
    diag_not_a_string(s->diags, call->args.at[1]->span,
                      pool_type_of(s->pool, path));
    return operand_poison();
  }
  const char *name = sema_text(s, pool_key(s->pool, path).u.string);
  const char *beside = source_path(s->session->sources, s->modules[s->now.module].ast->file);
  const char *slash = strrchr(beside, '/');
  const char *file = name[0] == '/' || !slash
                       ? name : arena_printf(s->arena, "%.*s%s", (int)(slash - beside) + 1, beside,
                                             name);
  json_t *json = read_json(s, file, at);
  if (!json)
    return operand_poison();
  Import in = {s, at, NULL};
  size_t errors = diags_error_count(s->diags);
  PoolId value = import_value(&in, type, json);
  json_decref(json);
  if (!pool_eq(value, POOL(POISON)))
    return operand_value(s, value);
  if (diags_error_count(s->diags) == errors)
    diag_import_value_shape(s->diags, at, file, type,
                            in.why ? in.why : "the shapes differ");
  return operand_poison();
}

/* ---- modules -------------------------------------------------------------------------------- */

static bool decl_of_node(const Node *n, Decl *d)
{
  *d = (Decl){.state = DECL_UNRESOLVED, .node = n, .global = IR_NO_ID, .next_form = IR_NO_ID};
  if (n->kind == ND_VAR_DECL) {
    const NodeVarDecl *v = node_var_decl(n);
    d->kind = v->var_kind == VAR_CONST ? DECL_CONST
            : v->var_kind == VAR_VAR ? DECL_VAR : DECL_PARAM;
    d->name = v->name.text;
    d->name_span = v->name.span;
  } else if (n->kind == ND_FN_DECL) {
    d->kind = DECL_FN;
    d->name = node_fn_decl(n)->name.text;
    d->name_span = node_fn_decl(n)->name.span;
  } else if (n->kind == ND_COLOR_DECL) {
    d->kind = DECL_COLOR;
    d->name = node_color_decl(n)->name.text;
    d->name_span = node_color_decl(n)->name.span;
  } else {
    return false;
  }
  return !str_is_none(d->name);
}

static uint32_t n_params(const Decl *d) { return node_fn_decl(d->node)->params.count; }

/* A function of the library may have forms with different numbers of parameters, where the vendor's
 * pages show several; the number of arguments of a call chooses.  An editor may have opened the
 * file by its path. */
static bool add_form(Sema *s, ModuleInstance *m, uint32_t at, const Decl *form)
{
  bool is_library = sema_text(s, m->path)[0] == '<' ||
                    files_is_standard(s->session->files, m->ast->file);
  if (!is_library || m->decls[at].kind != DECL_FN || form->kind != DECL_FN)
    return false;
  for (; n_params(&m->decls[at]) != n_params(form); at = m->decls[at].next_form)
    if (m->decls[at].next_form == IR_NO_ID) {
      m->decls[at].next_form = (uint32_t)arrlenu(m->decls);
      arrput(m->decls, *form);
      return true;
    }
  return false;
}

static void add_decls(Sema *s, ModuleInstance *m, uint32_t index)
{
  for (uint32_t i = 0; i < m->ast->decls.count; i++) {
    Decl d;
    if (!decl_of_node(m->ast->decls.at[i], &d))
      continue;
    d.module = index;
    scope_check_name(s, d.name, d.name_span);
    if (scope_is_reserved(s, d.name))
      continue;              /* elsewhere the name is the type, as its author knows it there */
    uint32_t old;
    if (pair_get(&m->by_name, d.name.raw, &old)) {
      if (add_form(s, m, old, &d))
        continue;
      diag_redeclared(s->diags, d.name_span, sema_text(s, d.name));
      diag_declared_here(s->diags, m->decls[old].name_span, sema_text(s, d.name));
      continue;
    }
    pair_put(&m->by_name, d.name.raw, (uint32_t)arrlenu(m->decls));
    arrput(m->decls, d);
  }
}

/* Names bound that the module does not have: a superset is normal, so these are warnings. */
static void check_bindings(Sema *s, const ModuleInstance *m)
{
  if (pool_is_none(m->params) || m->ast->has_errors)
    return;
  PoolKey type = pool_key(s->pool, pool_type_of(s->pool, m->params));
  for (uint32_t i = 0; i < type.u.fields.n; i++) {
    StrId name = type.u.fields.fields[i].name;
    uint32_t at_decl;
    if (pair_get(&m->by_name, name.raw, &at_decl) && decl_is_param(&m->decls[at_decl]))
      continue;
    Span at;
    module_binding_span(s, m, name, &at);
    diag_unknown_param(s->diags, at, sema_text(s, m->path), sema_text(s, name));
    const char **names = arena_many(s->arena, const char *, arrlenu(m->decls) + 1);
    size_t n = 0;
    for (size_t k = 0; k < arrlenu(m->decls); k++)
      if (decl_is_param(&m->decls[k]))
        names[n++] = sema_text(s, m->decls[k].name);
    const char *near = base_nearest(sema_text(s, name), names, n);
    const char *list = near ? NULL : sema_join_names(s, names, n);
    diag_suggest(s->diags, at, near);
    if (list)
      diag_known_params(s->diags, at, list);
  }
}

enum { IMPORT_DEPTH_MAX = 100 };

static bool is_too_deep(Sema *s, uint32_t parent, Span at)
{
  uint32_t depth = 0;
  for (uint32_t m = parent; m != IR_NO_ID; m = s->modules[m].parent)
    depth++;
  if (depth < IMPORT_DEPTH_MAX)
    return false;
  diag_import_too_deep(s->diags, at, (unsigned)IMPORT_DEPTH_MAX);
  return true;
}

/* The main file has an empty struct where an import has none. */
static bool are_same_params(const Sema *s, PoolId a, PoolId b)
{
  bool a_is_empty = pool_is_none(a) || pool_key(s->pool, a).u.aggregate.n == 0;
  bool b_is_empty = pool_is_none(b) || pool_key(s->pool, b).u.aggregate.n == 0;
  return pool_eq(a, b) || (a_is_empty && b_is_empty);
}

/* The file would import itself again with the same parameters, and so for ever. */
static bool is_circle(Sema *s, const Ast *ast, PoolId params, uint32_t parent, Span at)
{
  for (uint32_t m = parent; m != IR_NO_ID; m = s->modules[m].parent)
    if (s->modules[m].ast == ast && are_same_params(s, s->modules[m].params, params)) {
      diag_import_circle(s->diags, at, sema_text(s, s->modules[m].path));
      return true;
    }
  return false;
}

/* What SDKs before 1.0 call a library module. */
static const char *current_name(const char *path)
{
  static const struct { const char *old, *current; } names[] = {
    {"<memcpy_multi/get_params>", "<memcpy/get_params>"},
    {"<memcpy_multi/memcpy>", "<memcpy/memcpy>"},
    {"<memcpy_multi/memcpy_switches>", "<memcpy/memcpy_switches>"}};
  for (size_t i = 0; i < ARRAY_COUNT(names); i++)
    if (strcmp(path, names[i].old) == 0)
      return names[i].current;
  return path;
}

/* Each import makes a module of its own.  Two of the link to the host would both bind its tasks. */
static bool is_again(Sema *s, const char *path, Span at)
{
  if (strcmp(path, "<memcpy/memcpy>") != 0)
    return false;
  for (size_t i = 0; i < arrlenu(s->modules); i++) {
    if (strcmp(sema_text(s, s->modules[i].path), path) != 0)
      continue;
    diag_imported_again(s->diags, at, path);
    diag_first_here(s->diags, s->modules[i].imported_at);
    diag_hand_module_on(s->diags, at);
    return true;
  }
  return false;
}

static uint32_t import_at(Sema *s, const char *path, Span path_span, PoolId params,
                          const Node *params_node, Span at)
{
  uint32_t parent = arrlenu(s->modules) == 0 ? IR_NO_ID : s->now.module;
  const Ast *importer = parent == IR_NO_ID ? NULL : s->modules[parent].ast;
  if (is_too_deep(s, parent, at))
    return IR_NO_ID;
  path = current_name(path);
  if (is_again(s, path, at))
    return IR_NO_ID;
  const Ast *ast = files_import(s->session->files, path, importer, path_span);
  if (ast == NULL || is_circle(s, ast, params, parent, at))
    return IR_NO_ID;
  uint32_t index = (uint32_t)arrlenu(s->modules);
  ModuleInstance m = {.ast = ast, .path = str_intern_z(s->session->names, path), .parent = parent,
                      .imported_at = at, .params = params, .params_node = params_node};
  add_decls(s, &m, index);
  arrput(s->modules, m);
  arrput(s->own->memos, NULL);
  check_bindings(s, &m);
  return index;
}

uint32_t sema_import(Sema *s, const char *path, PoolId params, const Node *params_node, Span at)
{
  return import_at(s, path, at, params, params_node, at);
}

Operand sema_import_builtin(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  const Node *path_node = call->args.at[0];
  if (s->now.frame != NULL && s->now.frame->is_function) {
    diag_import_not_global(s->diags, at);
    return operand_poison();
  }
  PoolId path = sema_comptime(s, path_node, POOL(COMPTIME_STRING));
  if (pool_eq(path, POOL(POISON)))
    return operand_poison();
  if (pool_kind(s->pool, path) != PK_STRING) {
    diag_type_mismatch(s->diags, path_node->span, POOL(COMPTIME_STRING),
                       pool_type_of(s->pool, path));
    return operand_poison();
  }
  const char *text = sema_text(s, pool_key(s->pool, path).u.string);
  PoolId params = {0};
  const Node *n = call->args.count > 1 ? call->args.at[1] : NULL;
  if (n != NULL) {
    Operand o = sema_coerce(s, sema_comptime_operand(s, n, POOL(COMPTIME_STRUCT)),
                            POOL(COMPTIME_STRUCT), n->span);
    if (operand_is_poison(o)) {        /* that the file is missing is wrong all the same */
      files_import(s->session->files, current_name(text), s->modules[s->now.module].ast,
                   path_node->span);
      return o;
    }
    params = o.value;
  }
  uint32_t index = import_at(s, text, path_node->span, params, n, at);
  if (index == IR_NO_ID)
    return operand_poison();
  PoolKey k = {.kind = PK_MODULE, .type = POOL(IMPORTED_MODULE), .u.index = index};
  return operand_value(s, pool_get(s->pool, &k));
}
