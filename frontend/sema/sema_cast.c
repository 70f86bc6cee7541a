/* Conversions: implicit ones (sema_coerce, peer types), @as and @bitcast. */
#include "frontend/sema/sema_internal.h"

#include <math.h>
#include <string.h>

/* ---- symbolic values ------------------------------------------------------------------------ */

static PoolId symbolic_as(Sema *s, SymbolicKind sym, PoolId value, PoolId type)
{
  PoolKey k = {.kind = PK_SYMBOLIC, .type = type};
  k.u.symbolic.sym = sym;
  k.u.symbolic.a = value;
  sema_count_steps(s, STEPS_PER_SYMBOLIC);
  return pool_get(s->pool, &k);
}

/* ---- run time ------------------------------------------------------------------------------- */

static bool signed_int(Sema *s, PoolId type)
{
  PoolKey k = pool_key(s->pool, value_int_type(s->pool, type));
  return k.kind == PK_INT_TYPE && k.u.int_type.is_signed;
}

static IrValue emit_int_to_int(Sema *s, IrValue v, PoolId from, PoolId to)
{
  IrType a = type_ir(s->pool, from), b = type_ir(s->pool, to);
  if (ir_type_bits(b) < ir_type_bits(a))
    v = ir_unary(&s->b, IR_trunc, b, v);
  else if (ir_type_bits(b) > ir_type_bits(a))
    v = ir_unary(&s->b, signed_int(s, from) ? IR_sext : IR_zext, b, v);
  bool keeps = signed_int(s, from) == signed_int(s, to) &&
               sema_bit_width(s, to) >= sema_bit_width(s, from);
  return keeps ? v : emit_normalise(s, v, value_int_type(s->pool, to));
}

static IrValue emit_to_bool(Sema *s, IrValue v, PoolId from)
{
  IrValue zero = ir_const(&s->b, type_ir(s->pool, from), 0);
  if (!type_is_float(s->pool, from))
    return ir_binary(&s->b, IR_ne, IRT_BOOL, v, zero);
  IrValue equal = ir_binary(&s->b, IR_feq, IRT_BOOL, v, zero);
  return ir_binary(&s->b, IR_xor, IRT_BOOL, equal, ir_const(&s->b, IRT_BOOL, 1));
}

IrValue emit_convert(Sema *s, IrValue v, PoolId from, PoolId to)
{
  IrType b = type_ir(s->pool, to);
  if (pool_eq(from, to))
    return v;
  if (pool_eq(to, POOL(BOOL)))
    return emit_to_bool(s, v, from);
  if (pool_eq(from, POOL(BOOL))) {
    if (!type_is_float(s->pool, to)) {
      bool is_sign = signed_int(s, to) && sema_bit_width(s, to) == 1;   /* the one bit of an i1 */
      v = ir_unary(&s->b, IR_zext, b, v);
      return is_sign ? emit_normalise(s, v, value_int_type(s->pool, to)) : v;
    }
    v = ir_unary(&s->b, IR_zext, IRT_I16, v);
    return ir_unary(&s->b, IR_uitofp, b, v);
  }
  if (type_is_float(s->pool, from)) {
    if (type_is_float(s->pool, to))
      return ir_unary(&s->b, b == IRT_F32 ? IR_fpext : IR_fptrunc, b, v);
    v = ir_unary(&s->b, signed_int(s, to) ? IR_fptosi : IR_fptoui, b, v);
    return emit_normalise(s, v, value_int_type(s->pool, to));
  }
  if (type_is_float(s->pool, to))
    return ir_unary(&s->b, signed_int(s, from) ? IR_sitofp : IR_uitofp, b, v);
  return emit_int_to_int(s, v, from, to);
}

/* ---- @as, @bitcast -------------------------------------------------------------------------- */

static bool has_bits(Sema *s, PoolId type)
{
  return packed_is(s, type) || pool_eq(type, POOL(BOOL)) || pool_eq(type, POOL(F32)) ||
         type_is_float16(type) ||
         (sema_is_integral(s, type) && !pool_eq(type, POOL(COMPTIME_INT)));
}

static bool is_convertible(Sema *s, PoolId type)
{
  return pool_eq(type, POOL(BOOL)) || sema_is_integral(s, type) || type_is_float(s->pool, type);
}

/* A known value of another type as a member of the enum; reports a value that no member has. */
static Operand convert_to_enum(Sema *s, PoolId value, PoolId type, Span span)
{
  PoolKey k = pool_key(s->pool, type);
  PoolId number = fold_convert(s, value, k.u.enum_type.tag, span);
  for (uint32_t i = 0; i < k.u.enum_type.n; i++)
    if (pool_eq(k.u.enum_type.values[i], number))
      return operand_at(operand_value(s, fold_convert(s, value, type, span)), span);
  if (pool_eq(number, POOL(POISON)))
    return operand_poison();
  diag_no_enum_value(s->diags, span, type, number);
  sema_list_members(s, &k, span);
  return operand_poison();
}

/* Whether a pointer of this type can point to an object of the other type, or into it. */
static bool points_to(Sema *s, PoolId pointer, PoolId object)
{
  PoolKey to = pool_key(s->pool, pointer), key = pool_key(s->pool, object);
  if (to.kind != PK_POINTER_TYPE)
    return false;
  if (to.u.pointer_type.is_many && key.kind == PK_ARRAY_TYPE)
    object = key.u.array.element;
  return pool_eq(to.u.pointer_type.pointee, object);
}

/* Is `type` a pointer to one object, and does `array` point to an array of such objects? */
static bool is_pointer_to_array_of(Sema *s, PoolId array, PoolId type)
{
  PoolKey from = pool_key(s->pool, array), to = pool_key(s->pool, type);
  if (from.kind != PK_POINTER_TYPE || to.kind != PK_POINTER_TYPE || to.u.pointer_type.is_many)
    return false;
  PoolKey objects = pool_key(s->pool, from.u.pointer_type.pointee);
  return objects.kind == PK_ARRAY_TYPE &&
         pool_eq(objects.u.array.element, to.u.pointer_type.pointee);
}

/* An object where a pointer to it is expected, or the other way round. */
static bool note_pointer_of_one(Sema *s, const Operand *o, PoolId type, Span span)
{
  if (points_to(s, type, o->type) && !str_is_none(o->name))
    diag_address_of(s->diags, span);
  else if (points_to(s, o->type, type) && !pool_key(s->pool, o->type).u.pointer_type.is_many)
    diag_pointed_to(s->diags, span);
  else if (is_pointer_to_array_of(s, o->type, type))
    diag_pointer_to_elements(s->diags, span, pool_key(s->pool, type).u.pointer_type.pointee);
  else
    return false;
  return true;
}

void sema_note_pointer(Sema *s, PoolId type, Span span)
{
  PoolKey key = pool_key(s->pool, type);
  if (key.kind == PK_POINTER_TYPE && !key.u.pointer_type.is_many)
    diag_pointed_to(s->diags, span);
}

/* A float was meant, and there is what is left of a quotient of integers. */
static void check_quotient(Sema *s, Operand o, PoolId type, Span span)
{
  if (o.is_cut && o.kind == OPR_COMPTIME && type_is_float(s->pool, type))
    diag_quotient_cut(s->diags, span, o.value);
}

Operand sema_convert(Sema *s, Operand o, PoolId type, Span span)
{
  o = sema_load(s, o);
  if (operand_is_poison(o) || pool_eq(type, POOL(POISON_TYPE)))
    return operand_poison();
  check_quotient(s, o, type, span);
  if (pool_eq(o.type, type))
    return o;
  if (!is_convertible(s, type) || !is_convertible(s, o.type)) {
    if (sema_coercible(s, o, type))
      return sema_coerce(s, o, type, span);
    diag_bad_as(s->diags, span, o.type, type);
    if (type_is_id(o.type) && is_convertible(s, type))
      diag_number_of_id(s->diags, span);
    sema_note_makes_one(s, type, o.type, span);
    note_pointer_of_one(s, &o, type, span);
    if (packed_is(s, type) || packed_is(s, o.type))
      diag_bits_by_bitcast(s->diags, span);
    return operand_poison();
  }
  if (pool_kind(s->pool, o.type) == PK_ENUM_TYPE && pool_kind(s->pool, type) == PK_ENUM_TYPE) {
    diag_enum_to_enum(s->diags, span, o.type, type);
    return operand_poison();
  }
  if (o.kind == OPR_COMPTIME) {
    if (sema_is_symbolic(s, o.value))
      return operand_value(s, symbolic_as(s, SYM_CONVERT, o.value, type));
    if (pool_kind(s->pool, type) == PK_ENUM_TYPE)
      return convert_to_enum(s, o.value, type, span);
    return operand_at(operand_value(s, fold_convert(s, o.value, type, span)), span);
  }
  if (!sema_check_run_time(s, type, span) || !sema_check_run_time(s, o.type, span))
    return operand_poison();
  if (!sema_emits(s)) {
    operands_report_run_time(s, &o, &o, span);
    return operand_poison();
  }
  if (type_is_wide(s->pool, type) || type_is_wide(s->pool, o.type)) {
    PoolKey from = pool_key(s->pool, o.type), to = pool_key(s->pool, type);
    bool is_enum = from.kind == PK_ENUM_TYPE || to.kind == PK_ENUM_TYPE;
    if (!is_enum)
      return operand_at(wide_convert(s, o, type, span), span);
    PoolId tag = from.kind == PK_ENUM_TYPE ? from.u.enum_type.tag : to.u.enum_type.tag;
    return sema_convert(s, sema_convert(s, o, tag, span), type, span);
  }
  return operand_at(operand_runtime(emit_convert(s, sema_ir(s, o), o.type, type), type), span);
}

enum { ADDRESS_BITS = 16 };

static Operand bitcast_to_pointer(Sema *s, Operand o, PoolId type, Span span)
{
  bool is_untyped_int = pool_eq(o.type, POOL(COMPTIME_INT));
  if (!sema_is_integral(s, o.type) ||
      (!is_untyped_int && sema_bit_width(s, o.type) != ADDRESS_BITS)) {
    diag_bad_bitcast(s->diags, span, o.type, type);
    return operand_poison();
  }
  if (o.kind == OPR_COMPTIME) {
    uint64_t address = value_int_bits(s->pool, sema_force(s, o.value, span));
    return operand_value(s, sema_pointer_value(s, type, address));
  }
  return operand_runtime(ir_unary(&s->b, IR_bitcast, IRT_PTR, sema_ir(s, o)), type);
}

/* The address as a number, which only the machine knows. */
static Operand bitcast_from_pointer(Sema *s, Operand o, PoolId type, Span span)
{
  if (!sema_is_integral(s, type) || pool_eq(type, POOL(COMPTIME_INT)) ||
      sema_bit_width(s, type) != ADDRESS_BITS) {
    diag_bad_bitcast(s->diags, span, o.type, type);
    return operand_poison();
  }
  if (!sema_emits(s)) {
    diag_not_comptime(s->diags, span);
    return operand_poison();
  }
  return operand_runtime(ir_unary(&s->b, IR_bitcast, IRT_I16, sema_ir(s, o)), type);
}

static IrValue emit_bitcast(Sema *s, IrValue v, PoolId from, PoolId to)
{
  IrType a = type_ir(s->pool, from), b = type_ir(s->pool, to);
  if (a == IRT_BOOL && b != IRT_BOOL)
    return ir_unary(&s->b, IR_zext, b, v);
  if (b == IRT_BOOL && a != IRT_BOOL)
    return ir_unary(&s->b, IR_trunc, b, v);
  if (a != b)
    v = ir_unary(&s->b, IR_bitcast, b, v);
  return emit_normalise(s, v, value_int_type(s->pool, to));
}

static bool is_loose_struct(const Sema *s, PoolId type)
{
  PoolKind kind = pool_kind(s->pool, type);
  return (kind == PK_STRUCT_TYPE || kind == PK_UNION_TYPE) && !packed_is(s, type);
}

static void report_bitcast(Sema *s, const Operand *o, PoolId type, Span span)
{
  diag_bad_bitcast(s->diags, span, o->type, type);
  sema_note_void(s, o, span);
  bool is_packed = packed_is(s, type) || packed_is(s, o->type);
  if (is_packed && has_bits(s, type) && has_bits(s, o->type))
    diag_bits_of_both(s->diags, span, o->type, sema_bit_width(s, o->type), type,
                      sema_bit_width(s, type));
  else if (is_loose_struct(s, type) || is_loose_struct(s, o->type))
    diag_bits_if_packed(s->diags, span);
}

Operand sema_bitcast(Sema *s, Operand o, PoolId type, Span span)
{
  o = sema_load(s, o);
  if (operand_is_poison(o) || pool_eq(type, POOL(POISON_TYPE)))
    return operand_poison();
  if (pool_kind(s->pool, type) == PK_POINTER_TYPE)
    return bitcast_to_pointer(s, o, type, span);
  if (pool_kind(s->pool, o.type) == PK_POINTER_TYPE)
    return bitcast_from_pointer(s, o, type, span);
  if (pool_eq(o.type, POOL(COMPTIME_INT)) && sema_is_integral(s, type))
    return sema_coerce(s, o, type, span);
  if (!has_bits(s, type) || !has_bits(s, o.type) ||
      sema_bit_width(s, type) != sema_bit_width(s, o.type)) {
    report_bitcast(s, &o, type, span);
    return operand_poison();
  }
  bool is_packed = packed_is(s, type) || packed_is(s, o.type);
  if (o.kind == OPR_COMPTIME) {
    if (!is_packed && sema_is_symbolic(s, o.value))
      return operand_value(s, symbolic_as(s, SYM_BITCAST, o.value, type));
    PoolId value = fold_bitcast(s, sema_force(s, o.value, span), type);
    if (!pool_is_none(value))
      return operand_value(s, value);
    if (!sema_emits(s)) {
      diag_not_comptime(s->diags, span);
      return operand_poison();
    }
  }
  if (!sema_check_run_time(s, type, span) || !sema_check_run_time(s, o.type, span))
    return operand_poison();
  if (is_packed)
    return packed_bitcast(s, o, type);
  if (type_is_wide(s->pool, type))
    return wide_convert(s, o, type, span);
  return operand_runtime(emit_bitcast(s, sema_ir(s, o), o.type, type), type);
}

/* ---- implicit conversion -------------------------------------------------------------------- */

typedef enum {
  COERCE_NO, COERCE_SAME, COERCE_INT, COERCE_FLOAT, COERCE_WIDEN, COERCE_POINTER, COERCE_FUNC,
  COERCE_STRUCT, COERCE_ARRAY, COERCE_UNTYPED, COERCE_UNFIT
} Coercion;

static bool pointer_coercible(Sema *s, const PoolKey *from, const PoolKey *to)
{
  PoolId a = from->u.pointer_type.pointee, b = to->u.pointer_type.pointee;
  if (from->u.pointer_type.is_const && !to->u.pointer_type.is_const)
    return false;
  bool from_many = from->u.pointer_type.is_many, to_many = to->u.pointer_type.is_many;
  if (pool_eq(b, POOL(ANYOPAQUE)))
    return true;
  if (pool_eq(a, b))
    return from_many == to_many;
  PoolKey inner = pool_key(s->pool, a), outer = pool_key(s->pool, b);
  if (to_many && !from_many)      /* *[N]T -> [*]T; public programs do it with any rank */
    return inner.kind == PK_ARRAY_TYPE && pool_eq(inner.u.array.element, b);
  return !to_many && !from_many && outer.kind == PK_ARRAY_TYPE && outer.u.array.rank == 1 &&
         outer.u.array.dims[0] == 1 && pool_eq(outer.u.array.element, a);   /* *T -> *[1]T */
}

static bool is_widening(Sema *s, PoolId from, PoolId to)
{
  PoolKey a = pool_key(s->pool, from), b = pool_key(s->pool, to);
  if (a.kind == PK_INT_TYPE && b.kind == PK_INT_TYPE) {
    if (a.u.int_type.is_signed == b.u.int_type.is_signed)
      return b.u.int_type.bits > a.u.int_type.bits;
    return b.u.int_type.is_signed && b.u.int_type.bits > a.u.int_type.bits;
  }
  return type_is_float16(from) && pool_eq(to, POOL(F32));
}

static bool struct_coercible(Sema *s, Operand o, const PoolKey *from, const PoolKey *to);

static bool tuple_to_array(Sema *s, Operand o, const PoolKey *from, const PoolKey *to, PoolId type)
{
  if (o.kind != OPR_COMPTIME || from->u.fields.n != type_element_count(s->pool, type))
    return false;
  PoolKey v = pool_key(s->pool, o.value);
  for (uint32_t i = 0; i < v.u.aggregate.n; i++)
    if (!sema_coercible(s, operand_value(s, v.u.aggregate.elems[i]), to->u.array.element))
      return false;
  return true;
}

static Coercion int_coercion(Sema *s, Operand o, PoolId type)
{
  if (o.kind == OPR_COMPTIME && pool_eq(type, POOL(COMPTIME_INT)))
    return COERCE_INT;
  if (o.kind != OPR_COMPTIME)
    return is_widening(s, o.type, type) ? COERCE_WIDEN : COERCE_NO;
  if (sema_is_symbolic(s, o.value))
    return COERCE_INT;
  return value_int_fits(s->pool, type, o.value) ? COERCE_INT : COERCE_UNFIT;
}

static Coercion coercion_of(Sema *s, Operand o, PoolId type)
{
  if (pool_eq(o.type, type))
    return COERCE_SAME;
  PoolKey from = pool_key(s->pool, o.type), to = pool_key(s->pool, type);
  if (type_is_int(s->pool, o.type) && type_is_int(s->pool, type))
    return int_coercion(s, o, type);
  if (type_is_float(s->pool, type)) {
    bool is_untyped =
        pool_eq(o.type, POOL(COMPTIME_INT)) || pool_eq(o.type, POOL(COMPTIME_FLOAT));
    if (o.kind == OPR_COMPTIME && is_untyped)
      return COERCE_FLOAT;
    return is_widening(s, o.type, type) ? COERCE_WIDEN : COERCE_NO;
  }
  if (pool_eq(type, POOL(COMPTIME_STRUCT)))
    return from.kind == PK_STRUCT_TYPE ? COERCE_UNTYPED : COERCE_NO;
  if (from.kind == PK_POINTER_TYPE && to.kind == PK_POINTER_TYPE)
    return pointer_coercible(s, &from, &to) ? COERCE_POINTER : COERCE_NO;
  if (from.kind == PK_FN_TYPE && to.kind == PK_POINTER_TYPE)
    return pool_eq(to.u.pointer_type.pointee, o.type) && to.u.pointer_type.is_const &&
                   !to.u.pointer_type.is_many
               ? COERCE_FUNC : COERCE_NO;
  if (from.kind == PK_STRUCT_TYPE && to.kind == PK_STRUCT_TYPE && from.u.fields.origin == 0)
    return struct_coercible(s, o, &from, &to) ? COERCE_STRUCT : COERCE_NO;
  bool is_tuple = from.kind == PK_STRUCT_TYPE &&
                  (from.u.fields.is_tuple || from.u.fields.n == 0);   /* .{} is a tuple, too */
  if (is_tuple && to.kind == PK_ARRAY_TYPE)
    return tuple_to_array(s, o, &from, &to, type) ? COERCE_ARRAY : COERCE_NO;
  return COERCE_NO;
}

/* Field of the source for each field of the target, in any order for named ones. */
static bool match_field(const PoolKey *from, const PoolField *field, uint32_t i, uint32_t *index)
{
  if (from->u.fields.is_tuple) {
    *index = i;
    return true;
  }
  for (uint32_t k = 0; k < from->u.fields.n; k++)
    if (str_eq(from->u.fields.fields[k].name, field->name)) {
      *index = k;
      return true;
    }
  return false;
}

static Operand source_field(Sema *s, Operand o, uint32_t i)
{
  if (o.kind == OPR_COMPTIME)
    return operand_value(s, pool_key(s->pool, o.value).u.aggregate.elems[i]);
  PoolId known = sema_known_field(s, &o, i);
  return pool_is_none(known) ? place_field(s, o, i) : operand_value(s, known);
}

/* A field of the source for the question whether it is coercible: no code is emitted for it. */
static Operand field_to_ask(Sema *s, Operand o, const PoolKey *from, uint32_t i)
{
  const PoolField *field = &from->u.fields.fields[i];
  if (o.kind != OPR_COMPTIME && pool_is_none(field->known))
    return operand_runtime(IR_NO_VALUE, field->type);
  return source_field(s, o, i);
}

/* A field whose type says its value takes only that one; `o` is coercible to the field's type. */
static bool is_known_of_field(Sema *s, Operand o, const PoolField *field)
{
  if (pool_is_none(field->known))
    return true;
  return o.kind == OPR_COMPTIME &&
         pool_eq(sema_coerce(s, o, field->type, o.span).value, field->known);
}

static bool struct_coercible(Sema *s, Operand o, const PoolKey *from, const PoolKey *to)
{
  if (from->u.fields.n != to->u.fields.n || from->u.fields.is_tuple != to->u.fields.is_tuple)
    return false;
  for (uint32_t i = 0; i < to->u.fields.n; i++) {
    uint32_t at;
    if (!match_field(from, &to->u.fields.fields[i], i, &at))
      return false;
    Operand part = field_to_ask(s, o, from, at);
    if (!sema_coercible(s, part, to->u.fields.fields[i].type) ||
        !is_known_of_field(s, part, &to->u.fields.fields[i]))
      return false;
  }
  return true;
}

/* Structs share their parts: each value, and each type at run time, is looked at once per target.
 */
static uint64_t coercion_key(Operand o, PoolId type)
{
  return (uint64_t)(o.kind == OPR_COMPTIME ? o.value : o.type).raw << 32 | type.raw;
}

bool sema_coercible(Sema *s, Operand o, PoolId type)
{
  bool is_struct = pool_kind(s->pool, o.type) == PK_STRUCT_TYPE;
  uint32_t known;
  if (is_struct && pair_get(&s->own->coercible, coercion_key(o, type), &known))
    return known;
  Coercion c = coercion_of(s, o, type);
  bool is_coercible = c != COERCE_NO && c != COERCE_UNFIT;
  if (is_struct)
    pair_put(&s->own->coercible, coercion_key(o, type), is_coercible);
  return is_coercible;
}

static Operand coerce_fields(Sema *s, Operand o, PoolId type, Span span)
{
  PoolKey from = pool_key(s->pool, o.type), to = pool_key(s->pool, type);
  uint32_t n = to.u.fields.n;
  bool is_known = o.kind == OPR_COMPTIME;
  PoolId *values = arena_many(s->arena, PoolId, n + 1);
  Operand place = is_known ? operand_poison() : sema_temp(s, type);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t at = 0;
    match_field(&from, &to.u.fields.fields[i], i, &at);
    Operand part = sema_coerce(s, source_field(s, o, at), to.u.fields.fields[i].type, span);
    if (operand_is_poison(part))
      return part;
    values[i] = part.kind == OPR_COMPTIME ? part.value : POOL(NONE);
    if (!is_known && pool_is_none(pool_key(s->pool, type).u.fields.fields[i].known))
      place_init(s, place_field(s, place, i), part);
  }
  PoolId value = pool_aggregate(s->pool, type, values, n);
  if (is_known)
    return operand_value(s, value);
  place.value = value;
  return place;
}

static Operand coerce_struct(Sema *s, Operand o, PoolId type, Span span)
{
  PoolId known;
  if (o.kind != OPR_COMPTIME)
    return coerce_fields(s, o, type, span);
  if (pair_get(&s->own->coerced, coercion_key(o, type), &known.raw))
    return operand_value(s, known);
  Operand out = coerce_fields(s, o, type, span);
  if (!operand_is_poison(out))
    pair_put(&s->own->coerced, coercion_key(o, type), out.value.raw);
  return out;
}

static Operand coerce_array(Sema *s, Operand o, PoolId type, Span span)
{
  PoolKey v = pool_key(s->pool, o.value);
  PoolId element = pool_key(s->pool, type).u.array.element;
  PoolId *values = arena_many(s->arena, PoolId, v.u.aggregate.n + 1);
  for (uint32_t i = 0; i < v.u.aggregate.n; i++) {
    Operand e = sema_coerce(s, operand_value(s, v.u.aggregate.elems[i]), element, span);
    if (operand_is_poison(e))
      return e;
    values[i] = e.value;
  }
  return operand_value(s, pool_aggregate(s->pool, type, values, v.u.aggregate.n));
}

/* The same pointer or function under another type. */
static PoolId with_type(Sema *s, PoolId value, PoolId type)
{
  PoolKey k = pool_key(s->pool, value);
  k.type = type;
  return pool_get(s->pool, &k);
}

static Operand coerce_known(Sema *s, Coercion c, Operand o, PoolId type, Span span)
{
  if (c == COERCE_POINTER || c == COERCE_FUNC)
    return operand_value(s, with_type(s, o.value, type));
  if (sema_is_symbolic(s, o.value))
    return operand_value(s, symbolic_as(s, SYM_CONVERT, o.value, type));
  return operand_value(s, fold_convert(s, o.value, type, span));
}

/* The first field of `type` that `other` does not have; NULL if it has all. */
static const PoolField *field_lacking(const PoolKey *type, const PoolKey *other)
{
  for (uint32_t i = 0; i < type->u.fields.n; i++) {
    bool has = false;
    for (uint32_t k = 0; k < other->u.fields.n; k++)
      has |= str_eq(other->u.fields.fields[k].name, type->u.fields.fields[i].name);
    if (!has)
      return &type->u.fields.fields[i];
  }
  return NULL;
}

/* The first field whose value does not fit.  Of types with one text sema_note_alike speaks. */
static void note_field_type(Sema *s, Operand o, const PoolKey *from, const PoolKey *to, Span span)
{
  for (uint32_t i = 0; i < to->u.fields.n; i++) {
    const PoolField *field = &to->u.fields.fields[i];
    uint32_t at;
    if (!match_field(from, field, i, &at))
      continue;
    Operand part = field_to_ask(s, o, from, at);
    if (sema_coercible(s, part, field->type))
      continue;
    const char *name = sema_text(s, field->name);
    if (operand_is_comptime(part) && pool_kind(s->pool, part.value) == PK_INT)
      diag_field_takes_not(s->diags, span, name, field->type, part.value);
    else if (strcmp(type_text(s->pool, s->arena, field->type),
                    type_text(s->pool, s->arena, part.type)) != 0)
      diag_field_type(s->diags, span, name, field->type, part.type);
    return;
  }
}

void sema_note_fields(Sema *s, Operand o, PoolId type, Span span)
{
  PoolKey to = pool_key(s->pool, type), from = pool_key(s->pool, o.type);
  if (to.kind != PK_STRUCT_TYPE || from.kind != PK_STRUCT_TYPE || to.u.fields.is_tuple)
    return;
  if (from.u.fields.is_tuple) {
    diag_struct_value(s->diags, span);
    return;
  }
  const PoolField *missing = field_lacking(&to, &from), *extra = field_lacking(&from, &to);
  if (missing)
    diag_lacks_field(s->diags, span, sema_text(s, missing->name), missing->type);
  if (extra)
    diag_extra_field(s->diags, span, type, sema_text(s, extra->name));
  if (!missing && !extra && from.u.fields.origin == 0)
    note_field_type(s, o, &from, &to, span);
}

/* A number where another kind of value is expected. */
static void note_number(Sema *s, PoolId type, Span span)
{
  PoolKey to = pool_key(s->pool, type);
  if (type_is_numeric(s->pool, type))
    diag_use_as(s->diags, span);
  else if (pool_eq(type, POOL(BOOL)))
    diag_compare_number(s->diags, span);
  else if (to.kind == PK_ENUM_TYPE)
    diag_enum_number(s->diags, span);
  else if (to.kind == PK_ARRAY_TYPE && type_is_numeric(s->pool, to.u.array.element))
    diag_array_of_one(s->diags, span);
  else if (to.kind == PK_POINTER_TYPE && !to.u.pointer_type.is_many &&
           type_is_numeric(s->pool, to.u.pointer_type.pointee))
    diag_assign_pointee(s->diags, span);
}

static bool is_constant_pointer(const Sema *s, PoolId type)
{
  PoolKey key = pool_key(s->pool, type);
  return key.kind == PK_POINTER_TYPE && key.u.pointer_type.is_const;
}

static void report_no_coercion(Sema *s, const Operand *o, PoolId type, Span span)
{
  bool is_number = type_is_numeric(s->pool, o->type);
  diag_type_mismatch(s->diags, span, type, o->type);
  sema_note_declared(s, o);
  sema_note_alike(s, type, o->type, span);
  sema_note_makes_one(s, type, o->type, span);
  sema_note_fields(s, *o, type, span);
  bool has_note = note_pointer_of_one(s, o, type, span);
  sema_note_void(s, o, span);
  if (is_number && !has_note)
    note_number(s, type, span);
  else if (pool_kind(s->pool, o->type) == PK_ENUM_TYPE && type_is_numeric(s->pool, type))
    diag_enum_number(s->diags, span);
  else if (pool_eq(o->type, POOL(BOOL)) && type_is_numeric(s->pool, type))
    diag_number_of_bool(s->diags, span);
  else if (pool_eq(o->type, POOL(COMPTIME_STRING)) && pool_kind(s->pool, type) == PK_ARRAY_TYPE)
    diag_bytes_of_string(s->diags, span);
  else if (pool_kind(s->pool, type) == PK_POINTER_TYPE && !is_constant_pointer(s, type) &&
           is_constant_pointer(s, o->type))
    diag_pointer_to_const(s->diags, span);
}

static Operand coerce_scalar(Sema *s, Coercion c, Operand o, PoolId type, Span span)
{
  if (o.kind == OPR_COMPTIME)
    return coerce_known(s, c, o, type, span);
  if (c == COERCE_POINTER) {
    o.type = type;
    return o;
  }
  if (type_is_wide(s->pool, type))
    return wide_convert(s, o, type, span);
  return operand_runtime(emit_convert(s, sema_ir(s, o), o.type, type), type);
}

Operand sema_coerce(Sema *s, Operand o, PoolId type, Span span)
{
  o = sema_load(s, o);
  if (o.span.off == 0)
    o.span = span;
  if (pool_is_none(type) || operand_is_poison(o) || pool_eq(o.type, type))
    return o;
  int64_t small;
  if (o.kind == OPR_COMPTIME && pool_eq(o.type, POOL(COMPTIME_INT)) && pool_is_machine_int(type) &&
      pool_int_value(s->pool, o.value, &small) && value_small_fits(s->pool, type, small)) {
    o.value = pool_int(s->pool, type, small);     /* by far the most frequent conversion */
    o.type = type;
    o.decl = NULL;
    return o;
  }
  if (pool_eq(type, POOL(POISON_TYPE)))
    return operand_poison();
  Coercion c = coercion_of(s, o, type);
  Operand out = o;
  if (c == COERCE_FLOAT)
    check_quotient(s, o, type, span);
  if (c == COERCE_WIDEN && o.kind != OPR_COMPTIME)   /* what is known always fits by itself */
    release_sign_here(s, SIGN_WIDENED, span);
  switch (c) {
  case COERCE_UNFIT:
    sema_report_unfit(s, o.value, type, span);
    sema_note_declared(s, &o);
    return operand_poison();
  case COERCE_NO:
    report_no_coercion(s, &o, type, span);
    return operand_poison();
  case COERCE_SAME:
  case COERCE_UNTYPED:
    return o;
  case COERCE_STRUCT:
    out = coerce_struct(s, o, type, span);
    break;
  case COERCE_ARRAY:
    out = coerce_array(s, o, type, span);
    break;
  case COERCE_INT:
  case COERCE_FLOAT:
  case COERCE_WIDEN:
  case COERCE_POINTER:
  case COERCE_FUNC:
    out = coerce_scalar(s, c, o, type, span);
    break;
  }
  out.name = o.name;
  out.span = o.span;
  return out;
}

/* ---- peers ---------------------------------------------------------------------------------- */

static bool is_untyped(PoolId type)
{
  return pool_eq(type, POOL(COMPTIME_INT)) || pool_eq(type, POOL(COMPTIME_FLOAT));
}

PoolId sema_peer_type(Sema *s, Operand a, Operand b)
{
  if (pool_eq(a.type, b.type))
    return a.type;
  if (pool_eq(a.type, POOL(COMPTIME_INT)) && pool_eq(b.type, POOL(COMPTIME_FLOAT)))
    return b.type;
  if (pool_eq(b.type, POOL(COMPTIME_INT)) && pool_eq(a.type, POOL(COMPTIME_FLOAT)))
    return a.type;
  /* A literal takes the other side's type; whether it fits is checked when it is converted. */
  if (is_untyped(a.type) && type_is_numeric(s->pool, b.type) &&
      coercion_of(s, a, b.type) != COERCE_NO)
    return b.type;
  if (is_untyped(b.type) && type_is_numeric(s->pool, a.type) &&
      coercion_of(s, b, a.type) != COERCE_NO)
    return a.type;
  if (is_widening(s, a.type, b.type))
    return b.type;
  if (is_widening(s, b.type, a.type))
    return a.type;
  if (b.kind == OPR_COMPTIME && sema_coercible(s, b, a.type))
    return a.type;
  if (a.kind == OPR_COMPTIME && sema_coercible(s, a, b.type))
    return b.type;
  if (sema_coercible(s, a, b.type))
    return b.type;
  return sema_coercible(s, b, a.type) ? a.type : POOL(NONE);
}
