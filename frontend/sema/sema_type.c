/* Type expressions, and the types that they make: arrays, pointers, functions, structs, unions and
 * enums. */
#include "frontend/sema/sema_internal.h"

enum { MAX_RANK = 16 };

static bool is_type_node(const Node *n)
{
  switch ((int)n->kind) {
  case ND_ARRAY_TYPE:
  case ND_POINTER_TYPE:
  case ND_FN_TYPE:
  case ND_STRUCT_TYPE:
  case ND_ENUM_TYPE:
  case ND_ANYTYPE:
    return true;
  default:
    return false;
  }
}

PoolId sema_type_expr(Sema *s, const Node *n)
{
  if (is_type_node(n))
    return sema_type_node(s, n, STR_NONE);
  Operand o = sema_expr(s, n, POOL(TYPE));
  if (!operand_is_poison(o) && o.kind != OPR_COMPTIME && !pool_eq(o.type, POOL(TYPE))) {
    diag_not_a_type(s->diags, n->span, o.type);
    sema_note_pointer(s, o.type, n->span);
    return POOL(POISON_TYPE);
  }
  PoolId type = sema_comptime_value(s, o, n->span);
  if (pool_eq(type, POOL(POISON)))
    return POOL(POISON_TYPE);
  /* `{}` names the type of its value. */
  if (pool_eq(type, POOL(VOID_VALUE)))
    return POOL(VOID);
  if (!pool_eq(pool_type_of(s->pool, type), POOL(TYPE))) {
    diag_not_a_type(s->diags, n->span, pool_type_of(s->pool, type));
    return POOL(POISON_TYPE);
  }
  return type;
}

/* False after reporting. */
static bool array_dims(Sema *s, const NodeArrayType *n, uint32_t dims[MAX_RANK])
{
  uint64_t total = 1;
  if (n->dims.count > MAX_RANK) {
    diag_too_many_dimensions(s->diags, n->head.span, (unsigned)MAX_RANK);
    return false;
  }
  for (uint32_t i = 0; i < n->dims.count; i++) {
    const Node *dim = n->dims.at[i];
    PoolId value = sema_comptime(s, dim, POOL(NONE));
    int64_t size;
    if (pool_eq(value, POOL(POISON)))
      return false;
    if (!type_is_int(s->pool, pool_type_of(s->pool, value))) {
      diag_array_size_not_integer(s->diags, dim->span,
                                  pool_type_of(s->pool, value));
      return false;
    }
    if (!pool_int_value(s->pool, value, &size) || size < 0 || size > INT32_MAX) {
      diag_bad_array_size(s->diags, dim->span, value);
      return false;
    }
    dims[i] = (uint32_t)size;
    total *= (uint64_t)size;
    if (total > INT32_MAX) {
      diag_bad_array_size(s->diags, dim->span, value);
      return false;
    }
  }
  return true;
}

static PoolId array_type(Sema *s, const NodeArrayType *n)
{
  uint32_t dims[MAX_RANK];
  if (!array_dims(s, n, dims))
    return POOL(POISON_TYPE);
  PoolId element = sema_type_expr(s, n->element);
  if (pool_eq(element, POOL(POISON_TYPE)))
    return element;
  if (pool_kind(s->pool, element) == PK_ARRAY_TYPE) {
    diag_array_of_arrays(s->diags, n->element->span);
    return POOL(POISON_TYPE);
  }
  if (pool_eq(element, POOL(VOID)) || pool_eq(element, POOL(ANYOPAQUE))) {
    diag_bad_element_type(s->diags, n->element->span, element);
    return POOL(POISON_TYPE);
  }
  return pool_array_type(s->pool, dims, n->dims.count, element);
}

static PoolId local_self_type(Sema *s, LocalStruct *local)
{
  s->own->local_uses++;
  if (pool_is_none(local->self))
    local->self = pool_open_struct(s->pool, local->is_union ? PK_UNION_TYPE : PK_STRUCT_TYPE,
                                   local->name);
  return local->self;
}

/* The struct type that a pointer refers to while the fields of that struct, or of one that leads
 * to it, are being looked at; none for all else. */
static PoolId type_in_progress(Sema *s, const Node *n)
{
  if (n->kind != ND_IDENT || scope_find(s, node_ident(n)->name) != NULL)
    return POOL(NONE);
  for (LocalStruct *local = s->own->local_structs; local != NULL; local = local->up)
    if (local->frame == s->now.frame && str_eq(local->name, node_ident(n)->name))
      return local_self_type(s, local);
  Decl *d = sema_find_decl(s, s->now.module, node_ident(n)->name);
  return d != NULL ? decl_self_type(s, d) : POOL(NONE);
}

/* What a pointer leads to if that is a type in progress or an array of such; else none. */
static PoolId open_pointee(Sema *s, const Node *n)
{
  if (n->kind != ND_ARRAY_TYPE)
    return type_in_progress(s, n);
  const NodeArrayType *array = node_array_type(n);
  uint32_t dims[MAX_RANK];
  PoolId element = type_in_progress(s, array->element);
  if (pool_is_none(element) || !array_dims(s, array, dims))
    return POOL(NONE);
  return pool_array_type(s->pool, dims, array->dims.count, element);
}

static PoolId pointer_type(Sema *s, const NodePointerType *n)
{
  PoolId open = open_pointee(s, n->pointee);
  if (!pool_is_none(open))
    return pool_pointer_type(s->pool, n->is_many, n->is_const, open);
  PoolId pointee = sema_type_expr(s, n->pointee);
  if (pool_eq(pointee, POOL(POISON_TYPE)))
    return pointee;
  bool is_fn = pool_kind(s->pool, pointee) == PK_FN_TYPE;
  if (!is_fn && !pool_eq(pointee, POOL(ANYOPAQUE)) && !s->now.comptime &&
      type_is_comptime_only(s->pool, pointee)) {
    diag_pointer_to_comptime_only(s->diags, n->pointee->span, pointee);
    return POOL(POISON_TYPE);
  }
  return pool_pointer_type(s->pool, n->is_many, n->is_const, pointee);
}

static PoolId fn_type(Sema *s, const NodeFnType *n)
{
  PoolId *params = arena_many(s->arena, PoolId, n->params.count + 1);
  for (uint32_t i = 0; i < n->params.count; i++) {
    params[i] = sema_type_expr(s, node_param(n->params.at[i])->type);
    if (pool_eq(params[i], POOL(POISON_TYPE)))
      return params[i];
  }
  PoolKey k = {.kind = PK_FN_TYPE, .type = POOL(TYPE)};
  k.u.fn_type.is_task = n->is_task;
  k.u.fn_type.n = n->params.count;
  k.u.fn_type.params = params;
  k.u.fn_type.result = sema_type_expr(s, n->result);
  return pool_eq(k.u.fn_type.result, POOL(POISON_TYPE)) ? POOL(POISON_TYPE)
                                                         : pool_get(s->pool, &k);
}

static bool is_repeated(Sema *s, const NodeList *list, uint32_t i, StrId name, Span span,
                        Name (*name_of)(const Node *))
{
  for (uint32_t k = 0; k < i; k++)
    if (str_eq(name_of(list->at[k]).text, name)) {
      diag_repeated_field(s->diags, span, sema_text(s, name));
      diag_declared_here(s->diags, name_of(list->at[k]).span, sema_text(s, name));
      return true;
    }
  return false;
}

static Name field_decl_name(const Node *n) { return node_field_decl(n)->name; }
static Name enum_member_name(const Node *n) { return node_enum_member(n)->name; }

static PoolId struct_type(Sema *s, const NodeStructType *n, StrId name)
{
  PoolField *fields = arena_many(s->arena, PoolField, n->fields.count + 1);
  for (uint32_t i = 0; i < n->fields.count; i++) {
    const NodeFieldDecl *f = node_field_decl(n->fields.at[i]);
    if (is_repeated(s, &n->fields, i, f->name.text, f->name.span, field_decl_name))
      return POOL(POISON_TYPE);
    fields[i] = (PoolField){f->name.text, sema_type_expr(s, f->type)};
    if (pool_eq(fields[i].type, POOL(POISON_TYPE)))
      return fields[i].type;
  }
  if (n->layout == LAYOUT_PACKED && !packed_check(s, n, fields))
    return POOL(POISON_TYPE);
  PoolKey k = {.kind = n->is_union ? PK_UNION_TYPE : PK_STRUCT_TYPE, .type = POOL(TYPE)};
  k.u.fields.n = n->fields.count;
  k.u.fields.fields = fields;
  k.u.fields.origin = n->head.span.off + 1;
  k.u.fields.layout = n->layout;
  k.u.fields.name = name;
  return pool_get(s->pool, &k);
}

/* The smallest integer from 0 that no member has. */
static int64_t next_free(const int64_t *taken, const bool *is_set, uint32_t n)
{
  for (int64_t v = 0;; v++) {
    bool is_taken = false;
    for (uint32_t i = 0; i < n && !is_taken; i++)
      is_taken = is_set[i] && taken[i] == v;
    if (!is_taken)
      return v;
  }
}

static bool enum_values(Sema *s, const NodeEnumType *n, PoolId tag, int64_t *values, bool *is_set)
{
  for (uint32_t i = 0; i < n->members.count; i++) {
    const NodeEnumMember *m = node_enum_member(n->members.at[i]);
    if (is_repeated(s, &n->members, i, m->name.text, m->name.span, enum_member_name))
      return false;
    if (m->value == NULL)
      continue;
    PoolId value = sema_comptime(s, m->value, tag);
    Operand o = sema_coerce(s, operand_value(s, value), tag, m->value->span);
    if (operand_is_poison(o))
      return false;
    pool_int_value(s->pool, o.value, &values[i]);
    for (uint32_t k = 0; k < i; k++)
      if (is_set[k] && values[k] == values[i]) {
        diag_repeated_enum_value(s->diags, m->value->span, values[i]);
        return false;
      }
    is_set[i] = true;
  }
  for (uint32_t i = 0; i < n->members.count; i++)
    if (!is_set[i]) {
      values[i] = next_free(values, is_set, n->members.count);
      is_set[i] = true;
    }
  return true;
}

static PoolId enum_type(Sema *s, const NodeEnumType *n, StrId name)
{
  uint32_t count = n->members.count;
  PoolId tag = n->tag_type != NULL ? sema_type_expr(s, n->tag_type) : POOL(U16);
  if (pool_eq(tag, POOL(POISON_TYPE)))
    return tag;
  if (pool_kind(s->pool, tag) != PK_INT_TYPE) {
    diag_bad_enum_tag(s->diags, n->tag_type->span, tag);
    return POOL(POISON_TYPE);
  }
  int64_t *values = arena_many(s->arena, int64_t, count + 1);
  bool *is_set = arena_many(s->arena, bool, count + 1);
  if (!enum_values(s, n, tag, values, is_set))
    return POOL(POISON_TYPE);
  StrId *names = arena_many(s->arena, StrId, count + 1);
  PoolId *ids = arena_many(s->arena, PoolId, count + 1);
  for (uint32_t i = 0; i < count; i++) {
    names[i] = node_enum_member(n->members.at[i])->name.text;
    if (!value_small_fits(s->pool, tag, values[i])) {
      diag_enum_member_unfit(s->diags, n->members.at[i]->span, sema_text(s, names[i]),
                             tag);
      return POOL(POISON_TYPE);
    }
    ids[i] = pool_int(s->pool, tag, values[i]);
  }
  PoolKey k = {.kind = PK_ENUM_TYPE, .type = POOL(TYPE)};
  k.u.enum_type.tag = tag;
  k.u.enum_type.n = count;
  k.u.enum_type.names = names;
  k.u.enum_type.values = ids;
  k.u.enum_type.origin = n->head.span.off + 1;
  k.u.enum_type.name = name;
  return pool_get(s->pool, &k);
}

PoolId sema_type_node(Sema *s, const Node *n, StrId name)
{
  Memo *memo = memo_of(s, n);
  if (memo != NULL && !pool_is_none(memo->value))
    return memo->value;
  uint64_t uses = s->own->local_uses, effects = s->own->effects;
  PoolId type = POOL(POISON_TYPE);
  switch ((int)n->kind) {
  case ND_ARRAY_TYPE:
    type = array_type(s, node_array_type(n));
    break;
  case ND_POINTER_TYPE:
    type = pointer_type(s, node_pointer_type(n));
    break;
  case ND_FN_TYPE:
    type = fn_type(s, node_fn_type(n));
    break;
  case ND_STRUCT_TYPE:
    type = struct_type(s, node_struct_type(n), name);
    break;
  case ND_ENUM_TYPE:
    type = enum_type(s, node_enum_type(n), name);
    break;
  case ND_ANYTYPE:
    diag_anytype_misplaced(s->diags, n->span);
    break;
  default:
    ICE("not a type");
  }
  if (uses == s->own->local_uses && effects == s->own->effects && !pool_eq(type, POOL(POISON_TYPE)))
    memo_put(s, n, POOL(NONE), type);
  return type;
}
