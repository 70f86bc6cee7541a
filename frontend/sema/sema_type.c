/* Types written in the source. */
#include "frontend/sema/sema_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 16 };

bool sema_is_type_node(const Node *n)
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
  if (sema_is_type_node(n))
    return sema_type_node(s, n);
  Operand o = sema_expr(s, n, POOL(TYPE));
  if (!operand_is_poison(o) && o.kind != OPR_COMPTIME && o.type.raw != POOL_RAW_TYPE) {
    sema_error(s, not_a_type, n->span, o.type);
    return POOL(POISON_TYPE);
  }
  PoolId type = sema_comptime_value(s, o, n->span);
  if (type.raw == POOL_RAW_POISON)
    return POOL(POISON_TYPE);
  /* `{}` names the type of its value. */
  if (type.raw == POOL_RAW_VOID_VALUE)
    return POOL(VOID);
  if (pool_type_of(s->pool, type).raw != POOL_RAW_TYPE) {
    sema_error(s, not_a_type, n->span, pool_type_of(s->pool, type));
    return POOL(POISON_TYPE);
  }
  return type;
}

static PoolId array_type(Sema *s, const NodeArrayType *n)
{
  uint32_t dims[MAX_RANK];
  uint64_t total = 1;
  if (n->dims.count > MAX_RANK) {
    sema_error(s, too_many_dimensions, n->head.span, (unsigned)MAX_RANK);
    return POOL(POISON_TYPE);
  }
  for (uint32_t i = 0; i < n->dims.count; i++) {
    const Node *dim = n->dims.at[i];
    PoolId value = sema_comptime(s, dim, (PoolId){0});
    int64_t size;
    if (value.raw == POOL_RAW_POISON)
      return POOL(POISON_TYPE);
    if (!type_is_int(s->pool, pool_type_of(s->pool, value))) {
      sema_error(s, array_size_not_integer, dim->span,
                 pool_type_of(s->pool, value));
      return POOL(POISON_TYPE);
    }
    if (!pool_int_value(s->pool, value, &size) || size < 0 || size > INT32_MAX) {
      sema_error(s, bad_array_size, dim->span, value);
      return POOL(POISON_TYPE);
    }
    dims[i] = (uint32_t)size;
    total *= (uint64_t)size;
    if (total > INT32_MAX) {
      sema_error(s, bad_array_size, dim->span, value);
      return POOL(POISON_TYPE);
    }
  }
  PoolId element = sema_type_expr(s, n->element);
  if (element.raw == POOL_RAW_POISON_TYPE)
    return element;
  if (pool_kind(s->pool, element) == PK_ARRAY_TYPE) {
    sema_error(s, array_of_arrays, n->element->span);
    return POOL(POISON_TYPE);
  }
  if (element.raw == POOL_RAW_VOID || element.raw == POOL_RAW_ANYOPAQUE) {
    sema_error(s, bad_element_type, n->element->span, element);
    return POOL(POISON_TYPE);
  }
  return pool_array_type(s->pool, dims, n->dims.count, element);
}

static PoolId pointer_type(Sema *s, const NodePointerType *n)
{
  PoolId pointee = sema_type_expr(s, n->pointee);
  if (pointee.raw == POOL_RAW_POISON_TYPE)
    return pointee;
  bool is_fn = pool_kind(s->pool, pointee) == PK_FN_TYPE;
  if (!is_fn && pointee.raw != POOL_RAW_ANYOPAQUE && !s->comptime &&
      type_is_comptime_only(s->pool, pointee)) {
    sema_error(s, pointer_to_comptime_only, n->pointee->span, pointee);
    return POOL(POISON_TYPE);
  }
  return pool_pointer_type(s->pool, n->is_many, n->is_const, pointee);
}

static PoolId fn_type(Sema *s, const NodeFnType *n)
{
  PoolId *params = arena_many(s->arena, PoolId, n->params.count + 1);
  for (uint32_t i = 0; i < n->params.count; i++) {
    params[i] = sema_type_expr(s, node_param(n->params.at[i])->type);
    if (params[i].raw == POOL_RAW_POISON_TYPE)
      return params[i];
  }
  PoolKey k = {.kind = PK_FN_TYPE, .type = POOL(TYPE)};
  k.u.fn_type.is_task = n->is_task;
  k.u.fn_type.n = n->params.count;
  k.u.fn_type.params = params;
  k.u.fn_type.result = sema_type_expr(s, n->result);
  return k.u.fn_type.result.raw == POOL_RAW_POISON_TYPE ? POOL(POISON_TYPE)
                                                         : pool_get(s->pool, &k);
}

static bool is_repeated(Sema *s, const NodeList *list, uint32_t i, StrId name, Span span,
                        Name (*name_of)(const Node *))
{
  for (uint32_t k = 0; k < i; k++)
    if (str_eq(name_of(list->at[k]).text, name)) {
      sema_error(s, repeated_field, span, sema_text(s, name));
      diag_declared_here(s->diags, name_of(list->at[k]).span, sema_text(s, name));
      return true;
    }
  return false;
}

static Name field_decl_name(const Node *n) { return node_field_decl(n)->name; }
static Name enum_member_name(const Node *n) { return node_enum_member(n)->name; }

static PoolId struct_type(Sema *s, const NodeStructType *n)
{
  StrId naming = s->own->naming;
  s->own->naming = (StrId){0};
  PoolField *fields = arena_many(s->arena, PoolField, n->fields.count + 1);
  for (uint32_t i = 0; i < n->fields.count; i++) {
    const NodeFieldDecl *f = node_field_decl(n->fields.at[i]);
    if (is_repeated(s, &n->fields, i, f->name.text, f->name.span, field_decl_name))
      return POOL(POISON_TYPE);
    fields[i] = (PoolField){f->name.text, sema_type_expr(s, f->type)};
    if (fields[i].type.raw == POOL_RAW_POISON_TYPE)
      return fields[i].type;
  }
  if (n->layout == LAYOUT_PACKED && !packed_check(s, n, fields))
    return POOL(POISON_TYPE);
  PoolKey k = {.kind = n->is_union ? PK_UNION_TYPE : PK_STRUCT_TYPE, .type = POOL(TYPE)};
  k.u.fields.n = n->fields.count;
  k.u.fields.fields = fields;
  k.u.fields.origin = n->head.span.off + 1;
  k.u.fields.layout = n->layout;
  k.u.fields.name = naming;
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
        sema_error(s, repeated_enum_value, m->value->span, values[i]);
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

static PoolId enum_type(Sema *s, const NodeEnumType *n)
{
  StrId naming = s->own->naming;
  s->own->naming = (StrId){0};
  uint32_t count = n->members.count;
  PoolId tag = n->tag_type != NULL ? sema_type_expr(s, n->tag_type) : POOL(U16);
  if (tag.raw == POOL_RAW_POISON_TYPE)
    return tag;
  if (pool_kind(s->pool, tag) != PK_INT_TYPE) {
    sema_error(s, bad_enum_tag, n->tag_type->span, tag);
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
      sema_error(s, enum_member_unfit, n->members.at[i]->span, sema_text(s, names[i]),
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
  k.u.enum_type.name = naming;
  return pool_get(s->pool, &k);
}

PoolId sema_type_node(Sema *s, const Node *n)
{
  Memo *memo = memo_of(s, n);
  if (memo != NULL && !pool_is_none(memo->value))
    return memo->value;
  uint64_t uses = s->local_uses, effects = s->effects;
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
    type = struct_type(s, node_struct_type(n));
    break;
  case ND_ENUM_TYPE:
    type = enum_type(s, node_enum_type(n));
    break;
  case ND_ANYTYPE:
    sema_error(s, anytype_misplaced, n->span);
    break;
  default:
    ICE("not a type");
  }
  if (uses == s->local_uses && effects == s->effects && type.raw != POOL_RAW_POISON_TYPE)
    memo_put(s, n, (PoolId){0}, type);
  return type;
}
