/* Operands: reading, writing, and turning them into IR values and addresses. */
#include "frontend/sema/sema_internal.h"

#include <string.h>
#include "stb_ds.h"

/* ---- making --------------------------------------------------------------------------------- */

static bool is_untyped_number(PoolId type)
{
  return pool_eq(type, POOL(COMPTIME_INT)) || pool_eq(type, POOL(COMPTIME_FLOAT));
}

/* The number without a type in a number, a struct or a tuple. */
static void note_untyped(Sema *s, PoolId type, Span span)
{
  PoolKey k = pool_key(s->pool, type);
  if (is_untyped_number(type))
    diag_give_a_type(s->diags, span);
  for (uint32_t i = 0; k.kind == PK_STRUCT_TYPE && i < k.u.fields.n; i++) {
    const PoolField *field = &pool_key(s->pool, type).u.fields.fields[i];
    if (is_untyped_number(field->type)) {
      diag_untyped_field(s->diags, span, i + 1, field->type);
      return;
    }
  }
}

static bool has_function(Sema *s, PoolId type, bool is_task)
{
  PoolKey k = pool_key(s->pool, type);
  if (k.kind == PK_ARRAY_TYPE)
    return has_function(s, k.u.array.element, is_task);
  bool has = k.kind == PK_FN_TYPE && k.u.fn_type.is_task == is_task;
  for (uint32_t i = 0; k.kind == PK_STRUCT_TYPE && i < k.u.fields.n && !has; i++)
    has = has_function(s, k.u.fields.fields[i].type, is_task);
  return has;
}

/* What the program could have at run time in place of a value of the type. */
void sema_note_run_time(Sema *s, PoolId type, Span span)
{
  note_untyped(s, type, span);
  if (has_function(s, type, false))
    diag_function_pointer(s->diags, span);
  if (has_function(s, type, true))
    diag_task_by_id(s->diags, span);
}

bool sema_check_run_time(Sema *s, PoolId type, Span span)
{
  if (pool_eq(type, POOL(POISON_TYPE)))
    return false;
  if (type_is_comptime_only(s->pool, type)) {
    diag_comptime_only_type(s->diags, span, type);
    if (pool_eq(type, POOL(TYPE)))
      diag_type_as_value(s->diags, span);
    else if (pool_eq(type, POOL(COMPTIME_STRING)))
      diag_string_constant(s->diags, span);
    else if (pool_eq(type, POOL(IMPORTED_MODULE)))
      diag_module_constant(s->diags, span);
    sema_note_run_time(s, type, span);
    return false;
  }
  PoolKey k = pool_key(s->pool, type);
  if (k.kind == PK_ARRAY_TYPE)
    return sema_check_run_time(s, k.u.array.element, span);
  if (type_bytes(s->pool, type) > PE_MEM_BYTES) {
    diag_type_larger_than_tile(s->diags, span, type, type_bytes(s->pool, type),
                               (unsigned)PE_MEM_BYTES);
    return false;
  }
  static const PoolId formats[FP16_COUNT] = {
      [FP16_F16] = POOL(F16), [FP16_BF16] = POOL(BF16), [FP16_CB16] = POOL(CB16)};
  if (type_is_float16(type) && !pool_eq(type, formats[s->session->options->fp16])) {
    diag_wrong_fp16(s->diags, span, type, fp16_name(s->session->options->fp16));
    return false;
  }
  return true;
}

Operand sema_temp(Sema *s, PoolId type)
{
  IrValue address = ir_alloca(&s->b, type_bytes(s->pool, type), type_align(s->pool, type));
  Operand o = operand_place(address, type, false);
  o.is_temp = true;
  return o;
}

/* ---- known parts of values ------------------------------------------------------------------ */

/* The part of `value` that lies `offset` bytes into it and has the type; none if there is none. */
static PoolId value_part(Sema *s, PoolId value, int64_t offset, PoolId type)
{
  for (;;) {
    PoolId whole = pool_type_of(s->pool, value);
    if (offset == 0 && pool_eq(whole, type))
      return value;
    PoolKey k = pool_key(s->pool, value);
    if (k.kind != PK_AGGREGATE)
      return POOL(NONE);
    PoolKey t = pool_key(s->pool, whole);
    if (t.kind == PK_ARRAY_TYPE) {
      uint32_t each = type_bytes(s->pool, t.u.array.element);
      if (each == 0 || offset < 0 || offset / each >= k.u.aggregate.n)
        return POOL(NONE);
      value = k.u.aggregate.elems[offset / each];
      offset %= each;
      continue;
    }
    if (t.kind != PK_STRUCT_TYPE || t.u.fields.n == 0 || t.u.fields.layout == LAYOUT_PACKED)
      return POOL(NONE);
    uint32_t i = t.u.fields.n - 1;
    while (i > 0 && type_field_offset(s->pool, whole, i) > offset)
      i--;
    offset -= type_field_offset(s->pool, whole, i);
    value = k.u.aggregate.elems[i];
  }
}

static PoolId constant_at(Sema *s, const Operand *o)
{
  const Global *g = &s->globals[o->global];
  if (!o->is_const || pool_is_none(g->init))
    return POOL(NONE);
  if (g->decl != IR_NO_ID && s->modules[g->decl_module].decls[g->decl].kind == DECL_VAR)
    return POOL(NONE);
  if (pool_is_none(o->packed))
    return value_part(s, g->init, o->offset, o->type);
  return packed_known(s, value_part(s, g->init, o->offset, o->packed), o->bit, o->type);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Part of a union in a cell. */
static Operand load_from_union(Sema *s, Operand o)
{
  Operand whole = o;
  whole.type = o.packed;
  whole.packed = POOL(NONE);
  whole = sema_load(s, whole);
  if (operand_is_poison(whole))
    return whole;
  bool is_packed = packed_is(s, o.packed);
  PoolId value = is_packed ? packed_known_bits(s, sema_force(s, whole.value, o.span), o.bit, o.type)
                           : union_field_known(s, whole.value, o.bit);
  if (!pool_is_none(value))
    return operand_at(operand_value(s, value), o.span);
  if (is_packed) {
    diag_not_comptime(s->diags, o.span);
  } else {
    StrId field = pool_key(s->pool, o.packed).u.fields.fields[o.bit].name;
    diag_inactive_union_field(s->diags, o.span, sema_text(s, field));
  }
  return operand_poison();
}

static void report_no_value(Sema *s, const Cell *cell, const Operand *o)
{
  const char *name = o->name.raw ? sema_text(s, o->name) : "variable";
  if (cell->forked_at.off == 0) {
    diag_read_before_set(s->diags, o->span, name);
    return;
  }
  diag_comptime_value_forked(s->diags, o->span, name);
  diag_forked_store(s->diags, cell->forked_at);
  diag_forked_exit(s->diags, cell->left_at);
  diag_run_time_var(s->diags, o->span);
}

static Operand load_cell(Sema *s, Operand o)
{
  if (!pool_is_none(o.packed))
    return load_from_union(s, o);
  const Cell *cell = &s->own->cells[o.cell];
  uint32_t n = type_leaf_count(s->pool, o.type);
  const PoolId *leaves = &s->own->leaves[cell->first + o.leaf];
  for (uint32_t i = 0; i < n; i++)
    if (pool_is_none(leaves[i])) {
      report_no_value(s, cell, &o);
      return operand_poison();
    }
  if (n > 1)
    sema_count_steps(s, n);      /* each value stays in memory */
  PoolId value = value_from_leaves(s->pool, o.type, leaves);
  return operand_at(operand_value(s, value), o.span);
}

static Operand load_range(Sema *s, Operand o)
{
  RuntimeRange range = {.element = pool_key(s->pool, o.type).u.array.element};
  uint32_t each = type_bytes(s->pool, range.element);
  for (unsigned i = 0; i < ARRAY_COUNT(range.part); i++)
    range.part[i] = sema_load(s, place_part(s, o, (int64_t)each * i, range.element));
  arrput(s->own->ranges, range);
  Operand out = operand_runtime(IR_NO_VALUE, o.type);
  out.cell = (uint32_t)arrlenu(s->own->ranges) - 1;
  return out;
}

/* A variable that holds a color, a queue or the like, which programs hardly ever change. */
static bool could_be_const(const Sema *s, const Operand *o)
{
  const Global *g = o->is_global ? &s->globals[o->global] : NULL;
  return g && pool_eq(g->type, o->type) && !pool_is_none(g->init) && type_is_id(o->type);
}

void operand_report_run_time(Sema *s, const Operand *o)
{
  if (str_is_none(o->name)) {
    diag_not_comptime(s->diags, o->span);
    return;
  }
  diag_run_time_name(s->diags, o->span, sema_text(s, o->name));
  sema_note_declared(s, o);
  const Local *local = scope_find(s, o->name);
  if (local && local->is_given)
    diag_comptime_given(s->diags, o->span);
  if (local && local->init && node_kind(local->init) == ND_CALL)
    diag_comptime_call(s->diags, o->span);
  bool initialises = s->now.frame != NULL && s->now.frame->is_declaration;
  if (initialises && o->is_global && pool_key(s->pool, o->type).kind == PK_ARRAY_TYPE)
    diag_address_known(s->diags, o->span, sema_text(s, o->name));
  if (could_be_const(s, o))
    diag_const_is_known(s->diags, o->span);
}

void operands_report_run_time(Sema *s, const Operand *a, const Operand *b, Span span)
{
  Operand o = a->kind == OPR_COMPTIME ? *b : *a;
  if (o.span.off == 0)
    o.span = span;
  operand_report_run_time(s, &o);
}

Operand sema_load_place(Sema *s, Operand o)
{
  if (o.kind == OPR_CELL)
    return load_cell(s, o);
  if (o.is_global) {
    PoolId known = constant_at(s, &o);
    if (!pool_is_none(known)) {
      Operand value = operand_value(s, known);
      value.span = o.span;
      value.name = o.name;
      return value;
    }
  }
  if (!sema_emits(s)) {
    operand_report_run_time(s, &o);
    return operand_poison();
  }
  if (!pool_is_none(o.packed))
    return packed_load(s, o);
  if (pool_kind(s->pool, o.type) == PK_RANGE_TYPE)
    return load_range(s, o);
  IrType ir_type = type_ir(s->pool, o.type);
  if (ir_type == IRT_VOID)
    return pool_eq(o.type, POOL(VOID)) ? operand_void() : o;
  Operand out = operand_runtime(ir_load(&s->b, ir_type, sema_address(s, o)), o.type);
  out.name = o.name;
  out.span = o.span;
  return out;
}

/* ---- as IR ---------------------------------------------------------------------------------- */

IrValue operand_offset(Sema *s, IrValue address, int64_t offset)
{
  if (offset == 0)
    return address;
  IrValue bytes = ir_const(&s->b, IRT_I16, (uint16_t)offset);
  return ir_binary(&s->b, IR_ptr_add, IRT_PTR, address, bytes);
}

static IrValue ir_pointer(Sema *s, const PoolKey *k, Span at)
{
  if (k->u.pointer.base_kind == PTR_GLOBAL)
    return ir_global_addr(&s->b, sema_global_ir(s, k->u.pointer.base), k->u.pointer.offset);
  if (k->u.pointer.base_kind == PTR_CELL)
    diag_cell_address(s->diags, at);
  return ir_const(&s->b, IRT_PTR, (uint16_t)k->u.pointer.offset);
}

static IrValue ir_dsd(Sema *s, const PoolKey *k)
{
  IrDesc desc = k->u.dsd.desc;
  if (!ir_global_is_none(desc.global))
    desc.global = sema_global_ir(s, desc.global.raw);
  return ir_dsd_const(&s->b, desc);
}

static uint64_t low_bits(uint64_t bits, IrType type)
{
  unsigned width = ir_type_bits(type);
  return width >= 64 ? bits : bits & (((uint64_t)1 << width) - 1);
}

static IrValue ir_of_value(Sema *s, PoolId value, PoolId type, Span at)
{
  PoolKey k = pool_key(s->pool, value);
  IrType ir_type = type_ir(s->pool, type);
  switch ((int)k.kind) {
  case PK_BOOL_VALUE:
    return ir_const(&s->b, IRT_BOOL, value_is_true(value));
  case PK_INT:
    return ir_const(&s->b, ir_type, low_bits(value_int_bits(s->pool, value), ir_type));
  case PK_FLOAT:
    return ir_const(&s->b, ir_type, k.u.floating.bits);
  case PK_POINTER:
    return ir_pointer(s, &k, at);
  case PK_DSD:
    return ir_dsd(s, &k);
  case PK_FUNC: {
    IrFuncId func = sema_func_ir(s, k.u.index);
    s->ir->funcs[func.raw].address_taken = true;
    return ir_func_addr(&s->b, func);
  }
  case PK_SYMBOLIC: {
    PoolId known;
    if (tile_env_forced(s, value, &known))
      return ir_of_value(s, known, type, at);
    return ir_tile_param(&s->b, tile_env_run_time_word(s, value));
  }
  default:
    ICE("a value of type %s has no run-time form", type_text(s->pool, s->arena, k.type));
  }
}

/* Something of the type, so that analysis can go on after an error. */
static IrValue ir_anything(Sema *s, PoolId type)
{
  IrType ir_type = type_ir(s->pool, type);
  if (ir_type == IRT_DSD || ir_type == IRT_DSD4) {
    IrDesc desc = {.desc = {.kind = ir_type == IRT_DSD ? DESC_MEM1D : DESC_MEM4D},
                   .global = {IR_NO_ID}};
    return ir_dsd_const(&s->b, desc);
  }
  return ir_const(&s->b, ir_type == IRT_VOID ? IRT_I16 : ir_type, 0);
}

IrValue sema_ir(Sema *s, Operand o)
{
  o = sema_load(s, o);
  if (o.kind == OPR_RUNTIME)
    return o.ir;
  if (type_is_wide(s->pool, o.type))
    diag_wide_operand(s->diags, o.span, o.type);
  if (o.kind != OPR_COMPTIME || type_is_wide(s->pool, o.type) || pool_eq(o.type, POOL(VOID)) ||
      !sema_check_run_time(s, o.type, o.span))
    return ir_anything(s, o.type);
  return ir_of_value(s, o.value, o.type, o.span);
}

uint32_t sema_constant_data(Sema *s, PoolId value, Span at)
{
  uint32_t known;
  if (pair_get(&s->own->constants, value.raw, &known))
    return known;
  Global g = {.decl_module = 0, .decl = IR_NO_ID, .type = pool_type_of(s->pool, value),
              .ir = {IR_NO_ID}, .init = value, .span = at};
  arrput(s->globals, g);
  uint32_t index = (uint32_t)arrlenu(s->globals) - 1;
  pair_put(&s->own->constants, value.raw, index);
  return index;
}

uint32_t operand_constant_global(Sema *s, const Operand *o)
{
  return o->decl != NULL && pool_eq(o->decl->value, o->value)
             ? sema_decl_global(s, o->decl)
             : sema_constant_data(s, o->value, o->span);
}

IrValue sema_address(Sema *s, Operand o)
{
  if (!pool_is_none(o.packed))          /* bits: of a copy */
    o = sema_load(s, o);
  if (o.kind == OPR_MEMORY && o.is_global)
    return ir_global_addr(&s->b, sema_global_ir(s, o.global), o.offset);
  if (o.kind == OPR_MEMORY)
    return o.ir;
  if (o.kind == OPR_CELL)
    o = sema_load(s, o);
  if (o.kind == OPR_COMPTIME && sema_check_run_time(s, o.type, o.span))
    return ir_global_addr(&s->b, sema_global_ir(s, operand_constant_global(s, &o)), 0);
  if (o.kind == OPR_RUNTIME) {
    Operand temp = sema_temp(s, o.type);
    place_init(s, temp, o);
    return temp.ir;
  }
  return ir_const(&s->b, IRT_PTR, 0);
}

/* ---- writing -------------------------------------------------------------------------------- */

enum { STORE_LEAVES_MAX = 4 };   /* above, constant data is copied */

static bool all_zero(Sema *s, PoolId value)
{
  PoolKey k = pool_key(s->pool, value);
  switch ((int)k.kind) {
  case PK_AGGREGATE:
    for (uint32_t i = 0; i < k.u.aggregate.n; i++) {
      PoolId elem = k.u.aggregate.elems[i];
      if ((i == 0 || !pool_eq(elem, k.u.aggregate.elems[i - 1])) && !all_zero(s, elem))
        return false;
    }
    return true;
  case PK_INT:
    return k.u.integer.big == NULL && k.u.integer.small == 0;
  case PK_FLOAT:
    return k.u.floating.bits == 0;
  case PK_BOOL_VALUE:
    return !value_is_true(value);
  default:
    return false;
  }
}

static void init_known(Sema *s, Operand place, Operand value)
{
  PoolKey k = pool_key(s->pool, value.value);
  uint32_t bytes = type_bytes(s->pool, place.type);
  if (all_zero(s, value.value)) {
    ir_zero(&s->b, sema_address(s, place), bytes);
    return;
  }
  PoolKey type = pool_key(s->pool, place.type);
  bool is_packed = type.kind == PK_STRUCT_TYPE && type.u.fields.layout == LAYOUT_PACKED;
  if (k.kind != PK_AGGREGATE || type.kind == PK_UNION_TYPE || is_packed ||
      k.u.aggregate.n > STORE_LEAVES_MAX) {
    IrValue from = sema_address(s, value);
    ir_copy(&s->b, sema_address(s, place), from, bytes);
    return;
  }
  for (uint32_t i = 0; i < k.u.aggregate.n; i++) {
    bool is_array = type.kind == PK_ARRAY_TYPE;
    if (!is_array && !pool_is_none(type.u.fields.fields[i].known))
      continue;
    PoolId part = is_array ? type.u.array.element : type.u.fields.fields[i].type;
    int64_t at = is_array ? (int64_t)type_bytes(s->pool, part) * i
                          : type_field_offset(s->pool, place.type, i);
    place_init(s, place_part(s, place, at, part), operand_value(s, k.u.aggregate.elems[i]));
  }
}

void place_init(Sema *s, Operand place, Operand value)
{
  if (operand_is_poison(value) || pool_eq(place.type, POOL(VOID)))
    return;
  if (!pool_is_none(place.packed)) {
    packed_store(s, place, value);
    return;
  }
  PoolKind kind = pool_kind(s->pool, place.type);
  if (kind == PK_RANGE_TYPE) {
    PoolId element = pool_key(s->pool, place.type).u.array.element;
    uint32_t each = type_bytes(s->pool, element);
    for (unsigned i = 0; i < 3; i++) {
      Operand part = sema_range_part(s, value, i);
      place_init(s, place_part(s, place, (int64_t)each * i, element), part);
    }
    return;
  }
  if (!type_is_aggregate(s->pool, place.type) && !type_is_wide(s->pool, place.type)) {
    IrValue v = sema_ir(s, value);
    ir_store(&s->b, sema_address(s, place), v);
    return;
  }
  uint32_t bytes = type_bytes(s->pool, place.type);
  if (bytes == 0)
    return;
  if (value.kind == OPR_COMPTIME) {
    init_known(s, place, value);
    return;
  }
  IrValue from = sema_address(s, value);
  ir_copy(&s->b, sema_address(s, place), from, bytes);
}

/* What the union of which the target is a part becomes; none: not known. */
static PoolId stored_union(Sema *s, Operand target, PoolId value)
{
  PoolId old = s->own->leaves[s->own->cells[target.cell].first + target.leaf];
  return packed_is(s, target.packed)
             ? packed_with_bits(s, target.packed, old, target.bit, value)
             : union_of_field(s, target.packed, target.bit, value);
}

static void store_cell(Sema *s, Operand target, Operand value, Span span)
{
  const Cell *cell = &s->own->cells[target.cell];
  if (s->now.run_time_depth > cell->depth) {
    diag_comptime_store_under_run_time(s->diags, span,
                                       target.name.raw ? sema_text(s, target.name) : "variable");
    diag_run_time_var(s->diags, span);
    return;
  }
  value = sema_coerce(s, value, target.type, span);
  if (operand_is_poison(value)) {
    value.value = POOL(POISON);
  } else if (value.kind != OPR_COMPTIME) {
    value.span = span;
    operand_report_run_time(s, &value);
    if (target.name.raw)
      diag_comptime_store(s->diags, span, sema_text(s, target.name));
    return;
  }
  if (!pool_is_none(target.packed)) {
    if (!pool_eq(value.value, POOL(POISON))) {
      value.value = stored_union(s, target, sema_force(s, value.value, span));
      if (pool_is_none(value.value)) {
        diag_not_comptime(s->diags, span);
        value.value = POOL(POISON);
      }
    }
    target.type = target.packed;
  }
  replay_store(s, target.cell);
  exits_note_store(s, &target, type_leaf_count(s->pool, target.type), span);
  value_to_leaves(s->pool, target.type, value.value, &s->own->leaves[cell->first + target.leaf]);
}

static const char *place_text(Sema *s, const Operand *target)
{
  return !str_is_none(target->name) ? arena_printf(s->arena, "'%s'", sema_text(s, target->name))
                               : "this";
}

/* A part of a comptime variable at an index that is known at run time only: reading takes it from
 * a copy, which is no place to assign to. */
static bool is_part_of_cell(Sema *s, const Operand *target)
{
  const Local *local = !str_is_none(target->name) ? scope_find(s, target->name) : NULL;
  return local != NULL && local->o.kind == OPR_CELL && !local->o.is_const
         && target->kind == OPR_MEMORY;
}

void sema_store(Sema *s, Operand target, Operand value, Span span)
{
  if (operand_is_poison(target))
    return;
  bool is_place = target.kind == OPR_MEMORY || target.kind == OPR_CELL;
  if (!is_place && target.decl == NULL && str_is_none(target.name)) {
    diag_not_assignable(s->diags, target.span);
    return;
  }
  if (is_part_of_cell(s, &target)) {
    diag_comptime_store_index(s->diags, target.span, sema_text(s, target.name));
    return;
  }
  if (is_place && !pool_is_none(target.through) && target.is_const) {
    diag_assign_through_const(s->diags, target.span, place_text(s, &target), target.through);
    diag_writable_pointer(s->diags, target.span);
    sema_note_declared(s, &target);
    return;
  }
  if (!is_place || target.is_const) {
    const Local *local = scope_find(s, target.name);
    diag_assign_to_const(s->diags, target.span, place_text(s, &target));
    sema_note_declared(s, &target);
    if (local != NULL && local->is_given)
      diag_given_value(s->diags, target.span);
    return;
  }
  if (target.kind == OPR_CELL) {
    store_cell(s, target, value, span);
    return;
  }
  if (!sema_emits(s)) {
    diag_store_at_comptime(s->diags, target.span, place_text(s, &target));
    sema_note_declared(s, &target);
    sema_note_comptime_call(s);
    return;
  }
  value = sema_coerce(s, value, target.type, span);
  if (!operand_is_poison(value) && sema_check_run_time(s, target.type, target.span))
    place_init(s, target, value);
}
