/* Places: parts of objects, subscripts, pointers; and making aggregates and ranges of parts. */
#include "frontend/sema/sema_internal.h"

#include <stdlib.h>
#include <string.h>
#include "stb_ds.h"

/* ---- parts ---------------------------------------------------------------------------------- */

Operand place_part(Sema *s, Operand place, int64_t offset, PoolId type)
{
  place.type = type;
  place.value = POOL(NONE);
  if (place.is_global)
    place.offset += offset;
  else
    place.ir = operand_offset(s, place.ir, offset);
  return place;
}

static bool find_field(const PoolKey *type, StrId name, uint32_t *index)
{
  for (uint32_t i = 0; i < type->u.fields.n; i++)
    if (!type->u.fields.is_tuple && str_eq(type->u.fields.fields[i].name, name)) {
      *index = i;
      return true;
    }
  return false;
}

const char *sema_join_names(Sema *s, const char *const *names, size_t n)
{
  enum { MOST_LISTED = 16 };
  const char *list = NULL;
  if (n > MOST_LISTED)
    return NULL;
  for (size_t i = 0; i < n; i++)
    list = arena_printf(s->arena, "%s%s%s", list ? list : "", list ? ", " : "", names[i]);
  return list;
}

void sema_list_members(Sema *s, const PoolKey *type, Span span)
{
  uint32_t n = type->u.enum_type.n;
  const char **names = arena_many(s->arena, const char *, n + 1);
  for (uint32_t i = 0; i < n; i++)
    names[i] = sema_text(s, type->u.enum_type.names[i]);
  const char *list = sema_join_names(s, names, n);
  if (list)
    diag_known_members(s->diags, span, list);
}

static Operand report_member(Sema *s, const PoolKey *type, PoolId of, StrId name, Span span)
{
  diag_no_member(s->diags, span, of, sema_text(s, name));
  uint32_t n = type->kind == PK_ENUM_TYPE ? type->u.enum_type.n : type->u.fields.n;
  const char **names = arena_many(s->arena, const char *, n + 1);
  for (uint32_t i = 0; i < n; i++)
    names[i] = sema_text(s, type->kind == PK_ENUM_TYPE ? type->u.enum_type.names[i]
                                                       : type->u.fields.fields[i].name);
  const char *near = base_nearest(sema_text(s, name), names, n);
  if (near)
    diag_suggest(s->diags, span, near);
  else if (type->kind == PK_ENUM_TYPE)
    sema_list_members(s, type, span);     /* a struct's type shows them, or its declaration does */
  return operand_poison();
}

PoolId sema_known_field(const Sema *s, const Operand *o, uint32_t i)
{
  PoolId known = pool_key(s->pool, o->type).u.fields.fields[i].known;
  if (!pool_is_none(known))
    return known;
  if (o->kind != OPR_MEMORY || pool_is_none(o->value))
    return POOL(NONE);
  return pool_key(s->pool, o->value).u.aggregate.elems[i];
}

/* Field i of a struct or tuple. */
static Operand field_operand(Sema *s, Operand base, uint32_t i)
{
  PoolKey type = pool_key(s->pool, base.type);
  PoolId field = type.u.fields.fields[i].type;
  if (base.kind == OPR_CELL && !pool_is_none(base.packed) && !packed_is(s, base.packed))
    base = sema_load(s, base);
  if (operand_is_poison(base))
    return base;
  PoolId known = sema_known_field(s, &base, i);
  if (!pool_is_none(known))
    return operand_at(operand_value(s, known), base.span);
  if (base.kind == OPR_MEMORY || !pool_is_none(base.packed))
    return place_field(s, base, i);
  if (base.kind == OPR_CELL) {
    for (uint32_t k = 0; k < i; k++)
      base.leaf += type_leaf_count(s->pool, type.u.fields.fields[k].type);
    base.type = field;
    return base;
  }
  PoolId value = pool_key(s->pool, base.value).u.aggregate.elems[i];
  Operand o = operand_value(s, value);
  o.span = base.span;
  return o;
}

/* The field of a known union of which another was set: the same bits.  How unions that are not
 * packed keep them is known at run time only. */
static Operand other_field(Sema *s, Operand known, uint32_t i, Span span)
{
  const PoolField field = pool_key(s->pool, known.type).u.fields.fields[i];
  PoolId value = {0};
  if (packed_is(s, known.type))
    value = packed_known_bits(s, sema_force(s, known.value, known.span), 0, field.type);
  if (!pool_is_none(value))
    return operand_value(s, value);
  if (sema_emits(s)) {
    uint32_t data = operand_constant_global(s, &known);
    return place_field(s, operand_global(data, 0, known.type, true), i);
  }
  diag_inactive_union_field(s->diags, span, sema_text(s, field.name));
  return operand_poison();
}

static Operand union_member(Sema *s, Operand base, uint32_t i, Span span)
{
  if (base.kind == OPR_MEMORY || (base.kind == OPR_CELL && packed_is(s, base.type)))
    return place_field(s, base, i);
  if (base.kind == OPR_CELL && pool_is_none(base.packed)) {
    base.packed = base.type;
    base.bit = (uint16_t)i;
    base.type = pool_key(s->pool, base.type).u.fields.fields[i].type;
    return base;
  }
  Operand value = sema_load(s, base);
  if (value.kind != OPR_COMPTIME)
    return operand_poison();
  PoolId known = union_field_known(s, value.value, i);
  return pool_is_none(known) ? other_field(s, value, i, span) : operand_value(s, known);
}

static Operand module_member(Sema *s, PoolId module, StrId name, Span span)
{
  uint32_t index = pool_key(s->pool, module).u.index;
  Decl *d = sema_find_decl(s, index, name);
  if (d != NULL)
    return sema_decl_operand(s, d, span);
  const ModuleInstance *m = &s->modules[index];
  if (m->ast->has_errors)
    return operand_poison();      /* it may be what the syntax error is about */
  diag_no_module_member(s->diags, span, sema_text(s, m->path), sema_text(s, name));
  uint32_t n = (uint32_t)arrlenu(m->decls);
  const char **names = arena_many(s->arena, const char *, n + 1);
  for (uint32_t i = 0; i < n; i++)
    names[i] = sema_text(s, m->decls[i].name);
  const char *near = base_nearest(sema_text(s, name), names, n);
  const char *list = near == NULL ? sema_join_names(s, names, n) : NULL;
  diag_suggest(s->diags, span, near);
  if (list != NULL)
    diag_known_members(s->diags, span, list);
  return operand_poison();
}

static Operand type_member(Sema *s, PoolId type, StrId name, Span span)
{
  PoolKey k = pool_key(s->pool, type);
  if (k.kind != PK_ENUM_TYPE) {
    diag_no_member(s->diags, span, type, sema_text(s, name));
    return operand_poison();
  }
  for (uint32_t i = 0; i < k.u.enum_type.n; i++)
    if (str_eq(k.u.enum_type.names[i], name))
      return operand_value(s, value_int_as(s->pool, type, k.u.enum_type.values[i]));
  return report_member(s, &k, type, name, span);
}

static Operand member_of(Sema *s, Operand base, StrId name, Span span)
{
  if (base.kind == OPR_CELL && !type_is_aggregate(s->pool, base.type))
    base = sema_load(s, base);
  if (operand_is_poison(base))
    return base;
  if (base.kind == OPR_COMPTIME && pool_eq(base.type, POOL(IMPORTED_MODULE)))
    return module_member(s, base.value, name, span);
  if (base.kind == OPR_COMPTIME && pool_eq(base.type, POOL(TYPE)))
    return type_member(s, base.value, name, span);
  PoolKey type = pool_key(s->pool, base.type);
  uint32_t i;
  if (type.kind == PK_POINTER_TYPE && !type.u.pointer_type.is_many)
    return member_of(s, sema_deref(s, base, span), name, span);
  if (type.kind != PK_STRUCT_TYPE && type.kind != PK_UNION_TYPE) {
    diag_no_members(s->diags, span, base.type, sema_text(s, name));
    if (type.kind == PK_ARRAY_TYPE)
      diag_count_of_array(s->diags, span);
    else
      sema_note_declared(s, &base);
    if (type_is_dsd(base.type))
      diag_dsd_changes(s->diags, span);
    return operand_poison();
  }
  if (!find_field(&type, name, &i)) {
    bool is_reported = sema_report_other_struct(s, &base, name);
    return is_reported ? operand_poison() : report_member(s, &type, base.type, name, span);
  }
  if (s->session->listener)
    s->session->listener->on_field(s->session->listener->data, span, base.type);
  return type.kind == PK_UNION_TYPE ? union_member(s, base, i, span) : field_operand(s, base, i);
}

Operand sema_member(Sema *s, Operand base, StrId name, Span span)
{
  StrId base_name = base.name;
  Operand o = member_of(s, base, name, span);
  if (str_is_none(o.name))
    o.name = !str_is_none(base_name) && o.kind != OPR_COMPTIME ? base_name : name;
  o.span = span;
  return o;
}

/* ---- subscripts ----------------------------------------------------------------------------- */

/* An index as a known number; false if it is known at run time only.  -1 after an error. */
static bool known_index(Sema *s, Operand index, int64_t limit, Span span, int64_t *out)
{
  if (index.kind != OPR_COMPTIME || pool_kind(s->pool, index.value) == PK_SYMBOLIC)
    return false;
  if (!pool_int_value(s->pool, index.value, out) || *out < 0 || (limit >= 0 && *out >= limit)) {
    if (limit >= 0)
      diag_index_out_of_bounds(s->diags, span, index.value, limit);
    else if (pool_int_value(s->pool, index.value, out))
      return true;                     /* of a many-pointer: anything goes */
    *out = -1;
  }
  return true;
}

/* The index as a 16-bit word, which is all that an address needs. */
static IrValue index_word(Sema *s, Operand index)
{
  if (index.kind == OPR_COMPTIME && pool_kind(s->pool, index.value) == PK_INT)
    return ir_const(&s->b, IRT_I16, (uint16_t)value_int_bits(s->pool, index.value));
  IrValue v = sema_ir(s, index);
  IrType type = type_ir(s->pool, index.type);
  PoolKey k = pool_key(s->pool, value_int_type(s->pool, index.type));
  if (type == IRT_I16)
    return v;
  if (type == IRT_I8)
    return ir_unary(&s->b, k.u.int_type.is_signed ? IR_sext : IR_zext, IRT_I16, v);
  return ir_unary(&s->b, IR_trunc, IRT_I16, v);
}

/* With --check-indices: an assertion that the index is one of its dimension.  A negative number
 * counts as one without a sign, which is beyond all those that its type has from 0 up. */
static void check_index(Sema *s, Operand index, int64_t limit)
{
  bool is_known = index.kind == OPR_COMPTIME && pool_kind(s->pool, index.value) != PK_SYMBOLIC;
  if (!s->session->options->check_indices || limit < 0 || is_known)
    return;
  IrType type = type_ir(s->pool, index.type);
  bool is_signed = pool_key(s->pool, value_int_type(s->pool, index.type)).u.int_type.is_signed;
  unsigned bits = ir_type_bits(type) - is_signed;
  bool has_all = bits < 32 && UINT64_C(1) << bits < (uint64_t)limit;   /* from 0 up */
  if (has_all && !is_signed)
    return;
  IrValue below = ir_const(&s->b, type, has_all ? UINT64_C(1) << bits : (uint64_t)limit);
  IrValue holds = ir_binary(&s->b, IR_ult, IRT_BOOL, sema_ir(s, index), below);
  IrLocId around = s->b.loc;
  sema_at(s, index.span);
  scope_note_asserted(s, index.span, sema_ir(s, index), index.type);
  ir_machine_op(&s->b, IR_assert, IRT_VOID, 0, (uint64_t)limit, &holds, 1);
  s->b.loc = around;
}

static IrValue scale_index(Sema *s, IrValue v, uint32_t by)
{
  return by == 1 ? v
                 : ir_binary(&s->b, IR_mul, IRT_I16, v, ir_const(&s->b, IRT_I16, (uint16_t)by));
}

/* Row-major position of the indices, in elements: known, or as a word. */
typedef struct { bool is_known, is_bad; int64_t known; IrValue word; } Position;

static Position position_of(Sema *s, const Operand *indices, uint32_t n, const uint32_t *dims,
                            Span span)
{
  Position p = {.is_known = true};
  for (uint32_t i = 0; i < n; i++) {
    int64_t limit = dims != NULL ? (int64_t)dims[i] : -1;
    int64_t k = 0;
    bool is_known = known_index(s, indices[i], limit, indices[i].span, &k);
    if (is_known && k < 0 && limit >= 0) {
      p.is_bad = true;
      return p;
    }
    if (p.is_known && is_known) {
      p.known = p.known * (limit < 0 ? 1 : limit) + k;
      continue;
    }
    if (!sema_emits(s)) {
      Operand o = indices[i];
      o.span = span;
      if (o.kind == OPR_COMPTIME) {      /* symbolic: what it is on this tile decides */
        Operand forced = operand_value(s, sema_force(s, o.value, span));
        if (operand_is_poison(forced) || !known_index(s, forced, limit, indices[i].span, &k) ||
            (k < 0 && limit >= 0)) {
          p.is_bad = true;
          return p;
        }
        p.known = p.known * (limit < 0 ? 1 : limit) + k;
        continue;
      }
      operand_report_run_time(s, &o);
      p.is_bad = true;
      return p;
    }
    check_index(s, indices[i], limit);
    IrValue word = index_word(s, indices[i]);
    if (i > 0) {
      IrValue before = p.is_known ? ir_const(&s->b, IRT_I16, (uint16_t)p.known) : p.word;
      word = ir_binary(&s->b, IR_add, IRT_I16, scale_index(s, before, (uint32_t)limit), word);
    }
    p.is_known = false;
    p.word = word;
  }
  return p;
}

static bool load_indices(Sema *s, const Operand *indices, uint32_t n, Operand *out)
{
  for (uint32_t i = 0; i < n; i++) {
    Span span = indices[i].span;
    out[i] = sema_load(s, indices[i]);
    out[i].span = span;
    if (operand_is_poison(out[i]))
      return false;
    if (pool_kind(s->pool, out[i].type) == PK_ENUM_TYPE || !type_is_int(s->pool, out[i].type)) {
      diag_index_not_integer(s->diags, span, out[i].type);
      return false;
    }
  }
  return true;
}

static Operand index_place(Sema *s, Operand base, PoolId element, Position p)
{
  uint32_t each = type_bytes(s->pool, element);
  if (p.is_known)
    return place_part(s, base, p.known * each, element);
  IrValue address = sema_address(s, base);
  Operand o = operand_place(
      ir_binary(&s->b, IR_ptr_add, IRT_PTR, address, scale_index(s, p.word, each)), element,
      base.is_const);
  o.name = base.name;
  o.through = base.through;
  return o;
}

static Operand index_array(Sema *s, Operand base, const PoolKey *type, const Operand *indices,
                           uint32_t n, Span span)
{
  if (n != type->u.array.rank) {
    diag_index_count(s->diags, span, type->u.array.rank, n);
    diag_index_form(s->diags, span, type->u.array.rank == 1 ? "a[i]" : "a[i, j]");
    return operand_poison();
  }
  PoolId element = type->u.array.element;
  if (base.kind == OPR_MEMORY && sema_emits(s) && !sema_check_run_time(s, base.type, span))
    return operand_poison();
  Position p = position_of(s, indices, n, type->u.array.dims, span);
  if (p.is_bad)
    return operand_poison();
  if (base.kind == OPR_CELL && p.is_known) {
    base.leaf += (uint32_t)p.known * type_leaf_count(s->pool, element);
    base.type = element;
    return base;
  }
  if (base.kind == OPR_COMPTIME && p.is_known && pool_kind(s->pool, base.value) == PK_AGGREGATE) {
    Operand o = operand_value(s, pool_key(s->pool, base.value).u.aggregate.elems[p.known]);
    if (!pool_eq(element, POOL(COMPTIME_STRUCT)))    /* each struct has fields of its own */
      o.type = element;
    return o;
  }
  if (base.kind != OPR_MEMORY) {
    if (!sema_check_run_time(s, base.type, span))
      return operand_poison();
    StrId name = base.name;
    base = operand_place(sema_address(s, base), base.type, true);
    base.name = name;
  }
  return index_place(s, base, element, p);
}

static Operand cell_place(Sema *s, const PoolKey *k, PoolId pointee, bool is_const, Span span)
{
  uint32_t serial = (uint32_t)(k->u.pointer.offset >> 32);
  if (k->u.pointer.base >= arrlenu(s->own->cells) ||
      s->own->cells[k->u.pointer.base].serial != serial) {
    diag_dangling_pointer(s->diags, span);
    return operand_poison();
  }
  return (Operand){.kind = OPR_CELL, .type = pointee, .cell = k->u.pointer.base,
                   .leaf = (uint32_t)k->u.pointer.offset, .is_const = is_const, .span = span};
}

/* Element `index` of the comptime variable that the [*]T `k` points into. */
static Operand cell_element(Sema *s, const PoolKey *k, PoolId element, bool is_const,
                            const Operand *index, int64_t known, Span span)
{
  Operand o = cell_place(s, k, element, is_const, span);
  if (operand_is_poison(o))
    return o;
  uint32_t each = type_leaf_count(s->pool, element);
  int64_t size = each == 0 ? 0 : (s->own->cells[o.cell].n - o.leaf) / each;
  if (known < 0 || known >= size) {
    diag_index_out_of_bounds(s->diags, index->span, index->value, size);
    return operand_poison();
  }
  o.leaf += (uint32_t)known * each;
  return o;
}

static Operand index_pointer(Sema *s, Operand base, const PoolKey *type, const Operand *indices,
                             uint32_t n, Span span)
{
  if (n != 1) {
    diag_index_count(s->diags, span, 1u, n);
    return operand_poison();
  }
  base = sema_load(s, base);
  if (operand_is_poison(base))
    return base;
  PoolId element = type->u.pointer_type.pointee;
  Position p = position_of(s, indices, 1, NULL, span);
  if (p.is_bad)
    return operand_poison();
  PoolKey k = {.kind = PK_POISON};
  if (base.kind == OPR_COMPTIME)
    k = pool_key(s->pool, base.value);
  if (k.kind == PK_POINTER && k.u.pointer.base_kind == PTR_CELL && p.is_known)
    return cell_element(s, &k, element, type->u.pointer_type.is_const, &indices[0], p.known, span);
  Operand place;
  if (k.kind == PK_POINTER && k.u.pointer.base_kind == PTR_GLOBAL)
    place = operand_global(k.u.pointer.base, k.u.pointer.offset, element, false);
  else if (sema_emits(s))
    place = operand_place(sema_ir(s, base), element, false);
  else {
    diag_not_comptime(s->diags, span);
    return operand_poison();
  }
  place.is_const = type->u.pointer_type.is_const;
  place.through = base.type;
  place.name = base.name;
  return index_place(s, place, element, p);
}

static Operand index_tuple(Sema *s, Operand base, const PoolKey *type, const Operand *indices,
                           uint32_t n, Span span)
{
  int64_t i = 0;
  Operand index = indices[0];
  if (index.kind == OPR_COMPTIME)
    index = operand_value(s, sema_force(s, index.value, span));
  if (operand_is_poison(index))
    return index;
  if (n != 1 || !known_index(s, index, type->u.fields.n, span, &i)) {
    diag_tuple_index(s->diags, span);
    return operand_poison();
  }
  return i < 0 ? operand_poison() : field_operand(s, base, (uint32_t)i);
}

Operand sema_index(Sema *s, Operand base, const Operand *raw, uint32_t n, Span span)
{
  enum { MAX_RANK = 16 };
  Operand indices[MAX_RANK];
  bool is_in_union = !pool_is_none(base.packed);
  if (base.kind == OPR_CELL && (is_in_union || !type_is_aggregate(s->pool, base.type)))
    base = sema_load(s, base);
  if (operand_is_poison(base))
    return base;
  if (n > MAX_RANK) {
    diag_index_count(s->diags, span, (unsigned)MAX_RANK, n);
    return operand_poison();
  }
  if (!load_indices(s, raw, n, indices))
    return operand_poison();
  PoolKey type = pool_key(s->pool, base.type);
  if (type.kind == PK_POINTER_TYPE && type.u.pointer_type.is_many)
    return operand_at(index_pointer(s, base, &type, indices, n, span), span);
  if (type.kind == PK_POINTER_TYPE) {
    PoolId pointee = type.u.pointer_type.pointee;
    if (!type_is_aggregate(s->pool, pointee) && !pool_eq(pointee, POOL(ANYOPAQUE))) {
      diag_not_indexable(s->diags, span, base.type);
      diag_pointer_has_one(s->diags, span);
      return operand_poison();
    }
    base = sema_deref(s, base, span);
    if (operand_is_poison(base))
      return base;
    type = pool_key(s->pool, base.type);
  }
  if (type.kind == PK_ARRAY_TYPE) {
    StrId name = base.name;
    Operand o = index_array(s, base, &type, indices, n, span);
    o.name = name;
    return operand_at(o, span);
  }
  if (type.kind == PK_STRUCT_TYPE && type.u.fields.is_tuple)
    return operand_at(index_tuple(s, base, &type, indices, n, span), span);
  diag_not_indexable(s->diags, span, base.type);
  if (pool_eq(base.type, POOL(TYPE)))
    diag_array_type_form(s->diags, span);
  else
    sema_note_declared(s, &base);
  if (pool_eq(base.type, POOL(COMPTIME_STRING)))
    diag_string_bytes(s->diags, span);
  return operand_poison();
}

/* ---- pointers ------------------------------------------------------------------------------- */

Operand sema_deref(Sema *s, Operand pointer, Span span)
{
  pointer = sema_load(s, pointer);
  if (operand_is_poison(pointer))
    return pointer;
  PoolKey type = pool_key(s->pool, pointer.type);
  if (type.kind != PK_POINTER_TYPE || type.u.pointer_type.is_many) {
    diag_not_a_pointer(s->diags, span, pointer.type);
    if (type.kind == PK_POINTER_TYPE)
      diag_index_many_pointer(s->diags, span);
    return operand_poison();
  }
  PoolId pointee = type.u.pointer_type.pointee;
  bool is_const = type.u.pointer_type.is_const;
  Operand o = operand_poison();
  PoolKey k = {.kind = PK_POISON};
  if (pointer.kind == OPR_COMPTIME)
    k = pool_key(s->pool, pointer.value);
  if (k.kind == PK_FUNC)
    return operand_value(s, sema_func_value(s, k.u.index));
  if (pool_kind(s->pool, pointee) == PK_FN_TYPE)
    return pointer;         /* all that can be done with the function is to call it */
  if (k.kind == PK_POINTER && k.u.pointer.base_kind == PTR_CELL)
    return cell_place(s, &k, pointee, is_const, span);
  if (pool_eq(pointee, POOL(ANYOPAQUE))) {
    diag_deref_opaque(s->diags, span);
    return operand_poison();
  }
  if (k.kind == PK_POINTER && k.u.pointer.base_kind == PTR_GLOBAL)
    o = operand_global(k.u.pointer.base, k.u.pointer.offset, pointee, is_const);
  else if (sema_emits(s))
    o = operand_place(sema_ir(s, pointer), pointee, is_const);
  else
    diag_not_comptime(s->diags, span);
  o.name = pointer.name;
  o.through = pointer.type;
  o.span = span;
  return o;
}

static Operand address_of_known(Sema *s, Operand o, Span span)
{
  PoolKind kind = pool_kind(s->pool, o.value);
  if (kind == PK_FUNC)
    return sema_coerce(s, o, pool_pointer_type(s->pool, false, true, o.type), span);
  bool is_named = o.decl != NULL || (!str_is_none(o.name) && !pool_eq(o.type, POOL(TYPE)));
  if (!is_named) {
    diag_not_addressable(s->diags, span);
    return operand_poison();
  }
  if (!sema_check_run_time(s, o.type, span))
    return operand_poison();
  PoolKey k = {.kind = PK_POINTER, .type = pool_pointer_type(s->pool, false, true, o.type)};
  k.u.pointer.base_kind = PTR_GLOBAL;
  k.u.pointer.base = operand_constant_global(s, &o);
  return operand_value(s, pool_get(s->pool, &k));
}

Operand sema_address_of(Sema *s, Operand o, Span span)
{
  if (operand_is_poison(o))
    return o;
  if (!pool_is_none(o.packed)) {
    diag_packed_address(s->diags, span);
    return operand_poison();
  }
  if (o.kind == OPR_COMPTIME)
    return address_of_known(s, o, span);
  PoolId type = pool_pointer_type(s->pool, false, o.is_const, o.type);
  if (o.kind == OPR_CELL && sema_emits(s)) {
    diag_cell_address(s->diags, span);
    return operand_poison();
  }
  if (o.kind == OPR_CELL) {
    PoolKey k = {.kind = PK_POINTER, .type = type};
    k.u.pointer.base_kind = PTR_CELL;
    k.u.pointer.base = o.cell;
    k.u.pointer.offset = (int64_t)s->own->cells[o.cell].serial << 32 | o.leaf;
    return operand_value(s, pool_get(s->pool, &k));
  }
  if (o.kind == OPR_RUNTIME) {
    if (str_is_none(o.name)) {
      diag_not_addressable(s->diags, span);
      return operand_poison();
    }
    /* A constant in a register: no program can distinguish its address from a copy's. */
    type = pool_pointer_type(s->pool, false, true, o.type);
    return operand_runtime(sema_address(s, o), type);
  }
  if (o.is_temp) {
    diag_not_addressable(s->diags, span);
    return operand_poison();
  }
  if (o.is_global) {
    PoolKey k = {.kind = PK_POINTER, .type = type};
    k.u.pointer.base_kind = PTR_GLOBAL;
    k.u.pointer.base = o.global;
    k.u.pointer.offset = o.offset;
    Operand address = operand_value(s, pool_get(s->pool, &k));
    address.name = o.name;
    return address;
  }
  Operand address = operand_runtime(o.ir, type);
  address.name = o.name;
  return address;
}

/* ---- aggregates and ranges ------------------------------------------------------------------ */

/* `is_known`: all parts are. */
static PoolId struct_type_of(Sema *s, const StrId *names, const Operand *parts, uint32_t n,
                             bool is_known)
{
  PoolField few[16];
  PoolField *fields = n <= ARRAY_COUNT(few) ? few : arena_many(s->arena, PoolField, n);
  for (uint32_t i = 0; i < n; i++) {
    const Operand *part = &parts[i];
    bool is_of_type = !is_known && part->kind == OPR_COMPTIME &&
                      type_is_comptime_only(s->pool, part->type);
    fields[i] = (PoolField){.name = names != NULL ? names[i] : STR_NONE, .type = part->type,
                            .known = is_of_type ? part->value : POOL(NONE)};
  }
  PoolKey key = {.kind = PK_STRUCT_TYPE, .type = POOL(TYPE)};
  key.u.fields.n = n;
  key.u.fields.fields = fields;
  key.u.fields.is_tuple = names == NULL;
  return pool_get(s->pool, &key);
}

Operand sema_aggregate(Sema *s, const StrId *names, const Operand *parts, uint32_t n, Span span)
{
  PoolId few[16];
  PoolId *values = n <= ARRAY_COUNT(few) ? few : arena_many(s->arena, PoolId, n);
  bool is_known = true;
  for (uint32_t i = 0; i < n; i++) {
    if (operand_is_poison(parts[i]))
      return operand_poison();
    is_known = is_known && parts[i].kind == OPR_COMPTIME;
    values[i] = parts[i].kind == OPR_COMPTIME ? parts[i].value : POOL(NONE);
  }
  PoolId type = struct_type_of(s, names, parts, n, is_known);
  if (is_known)
    return operand_at(operand_value(s, pool_aggregate(s->pool, type, values, n)), span);
  if (!sema_check_run_time(s, type, span))
    return operand_poison();
  Operand place = sema_temp(s, type);
  for (uint32_t i = 0; i < n; i++)
    if (pool_is_none(sema_known_field(s, &place, i)))
      place_init(s, place_field(s, place, i), parts[i]);
  if (names != NULL)
    place.value = pool_aggregate(s->pool, type, values, n);
  return operand_at(place, span);
}

static Operand splat_known(Sema *s, PoolId type, PoolId value, uint32_t n)
{
  PoolId *elems = base_malloc((n + 1u) * sizeof *elems);
  for (uint32_t i = 0; i < n; i++)
    elems[i] = value;
  PoolId array = pool_aggregate(s->pool, type, elems, n);
  free(elems);
  return operand_value(s, array);
}

/* A run-time loop that stores the value into each element. */
static Operand splat_loop(Sema *s, PoolId type, Operand value, uint32_t n)
{
  Operand place = sema_temp(s, type);
  PoolId element = pool_key(s->pool, type).u.array.element;
  uint32_t each = type_bytes(s->pool, element);
  IrValue v = sema_ir(s, value);
  IrBlockId body = ir_block_add(s->ir, s->b.func), done = ir_block_add(s->ir, s->b.func);
  IrValue at = ir_block_param(s->ir, s->b.func, body, IRT_I16);
  IrValue zero = ir_const(&s->b, IRT_I16, 0);
  ir_br(&s->b, body, &zero, 1);
  s->b.block = body;
  ir_store(&s->b, ir_binary(&s->b, IR_ptr_add, IRT_PTR, place.ir, at), v);
  IrValue next = ir_binary(&s->b, IR_add, IRT_I16, at, ir_const(&s->b, IRT_I16, each));
  IrValue end = ir_const(&s->b, IRT_I16, (uint16_t)(n * each));
  ir_cond_br(&s->b, ir_binary(&s->b, IR_ne, IRT_BOOL, next, end), body, &next, 1, done, NULL, 0);
  s->b.block = done;
  return place;
}

Operand sema_splat(Sema *s, PoolId type, Operand value, Span span)
{
  uint64_t n = type_element_count(s->pool, type);
  PoolId element = pool_key(s->pool, type).u.array.element;
  value = sema_coerce(s, value, element, span);
  if (operand_is_poison(value))
    return value;
  if (value.kind == OPR_COMPTIME)
    return operand_at(splat_known(s, type, value.value, (uint32_t)n), span);
  if (!sema_check_run_time(s, type, span))
    return operand_poison();
  return n == 0 ? sema_temp(s, type) : splat_loop(s, type, value, (uint32_t)n);
}

Operand sema_range(Sema *s, PoolId element, Operand start, Operand stop, Operand step)
{
  if (operand_is_poison(start) || operand_is_poison(stop) || operand_is_poison(step))
    return operand_poison();
  PoolId type = pool_range_type(s->pool, element);
  if (start.kind == OPR_COMPTIME && stop.kind == OPR_COMPTIME && step.kind == OPR_COMPTIME) {
    PoolKey k = {.kind = PK_RANGE, .type = type};
    k.u.range.start = start.value;
    k.u.range.stop = stop.value;
    k.u.range.step = step.value;
    return operand_value(s, pool_get(s->pool, &k));
  }
  RuntimeRange range = {.element = element, .part = {start, stop, step}};
  arrput(s->own->ranges, range);
  Operand o = operand_runtime(IR_NO_VALUE, type);
  o.cell = (uint32_t)arrlenu(s->own->ranges) - 1;
  return o;
}

Operand sema_range_part(Sema *s, Operand range, unsigned part)
{
  range = sema_load(s, range);
  if (range.kind == OPR_RUNTIME)
    return s->own->ranges[range.cell].part[part];
  if (range.kind != OPR_COMPTIME)
    return operand_poison();
  PoolKey k = pool_key(s->pool, range.value);
  return operand_value(s, part == 0 ? k.u.range.start : part == 1 ? k.u.range.stop
                                                                   : k.u.range.step);
}
