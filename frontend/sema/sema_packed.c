/* Packed structs and unions: fields are runs of bits of one unsigned integer, the first field in
 * the lowest bits.  A place inside one is the address of the whole integer and a bit number; it has
 * no address of its own. */
#include "frontend/sema/sema_internal.h"

#include <string.h>

enum { WORD_BITS = 16 };

/* The integer that a packed type of at most TYPE_SCALAR_MAX_BITS is. */
static IrType whole_ir(const Sema *s, PoolId packed)
{
  switch (type_bytes(s->pool, packed)) {
  case 1: return IRT_I8;
  case 2: return IRT_I16;
  case 4: return IRT_I32;
  default: return IRT_I64;
  }
}

bool packed_check(Sema *s, const NodeStructType *n, const PoolField *fields)
{
  uint32_t total = 0;
  for (uint32_t i = 0; i < n->fields.count; i++) {
    uint32_t bits = type_bits(s->pool, fields[i].type);
    Span span = node_field_decl(n->fields.at[i])->type->span;
    if (bits == 0) {
      diag_packed_field(s->diags, span, fields[i].type);
      return false;
    }
    if (n->is_union && i > 0 && bits != total) {
      diag_packed_union_bits(s->diags, span, fields[i].type, bits, total);
      return false;
    }
    total = n->is_union ? bits : total + bits;
    if (total > PACKED_MAX_BITS) {
      diag_packed_too_wide(s->diags, n->head.span, (unsigned)PACKED_MAX_BITS);
      return false;
    }
  }
  return true;
}

Operand place_field(Sema *s, Operand place, uint32_t i)
{
  PoolKey type = pool_key(s->pool, place.type);
  PoolId field = type.u.fields.fields[i].type;
  if (type.u.fields.layout != LAYOUT_PACKED)
    return place_part(s, place, type_field_offset(s->pool, place.type, i), field);
  if (pool_is_none(place.packed))
    place.packed = place.type;
  place.bit = (uint16_t)(place.bit + type_field_bit(s->pool, place.type, i));
  place.type = field;
  place.value = POOL(NONE);     /* what is known of the whole */
  return place;
}

/* The object that the bits are part of. */
static Operand whole_of(Operand place)
{
  place.type = place.packed;
  place.packed = POOL(NONE);
  place.bit = 0;
  return place;
}

static uint64_t mask_of(uint32_t bits)
{
  return bits >= TYPE_SCALAR_MAX_BITS ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
}

static IrValue shift_by(Sema *s, IrOp op, IrType type, IrValue v, uint32_t by)
{
  return by == 0 ? v : ir_binary(&s->b, op, type, v, ir_const(&s->b, IRT_I16, by));
}

static IrValue resize_bits(Sema *s, IrValue v, IrType from, IrType to)
{
  if (ir_type_bits(from) == ir_type_bits(to))
    return v;
  return ir_unary(&s->b, ir_type_bits(from) < ir_type_bits(to) ? IR_zext : IR_trunc, to, v);
}

/* The integer type of a value's bits. */
static IrType bits_ir(const Sema *s, PoolId type)
{
  IrType ir = type_ir(s->pool, type);
  switch ((int)ir) {
  case IRT_VOID: return whole_ir(s, type);      /* packed itself */
  case IRT_F16: case IRT_PTR: return IRT_I16;
  case IRT_F32: return IRT_I32;
  default: return ir;
  }
}

static bool is_signed(Sema *s, PoolId type)
{
  PoolKey k = pool_key(s->pool, value_int_type(s->pool, type));
  return k.kind == PK_INT_TYPE && k.u.int_type.is_signed;
}

IrType packed_param_ir(Sema *s, PoolId type)
{
  uint32_t bits = packed_is(s, type) ? type_bits(s->pool, type) : 0;
  return bits == WORD_BITS || bits == 2 * WORD_BITS ? whole_ir(s, type) : IRT_VOID;
}

/* What is read or written for a run of bits: an integer `byte` bytes on in the object, in which the
 * run starts at `bit`. */
typedef struct { IrType type; uint32_t byte, bit; } Window;

/* False if the run touches more than 64 bits of whole words. */
static bool window_of(Sema *s, PoolId packed, uint32_t bit, uint32_t bits, Window *w)
{
  uint32_t total = type_bytes(s->pool, packed);
  *w = (Window){whole_ir(s, packed), 0, bit};
  if (total * 8 <= TYPE_SCALAR_MAX_BITS)
    return true;
  static const IrType types[] = {IRT_I16, IRT_I32, IRT_I64};
  for (unsigned i = 0; i < ARRAY_COUNT(types); i++) {
    uint32_t width = ir_type_bits(types[i]);
    if (bit % WORD_BITS + bits > width)
      continue;
    uint32_t byte = bit / WORD_BITS * (WORD_BITS / 8);
    byte = byte + width / 8 > total ? total - width / 8 : byte;
    *w = (Window){types[i], byte, bit - byte * 8};
    return true;
  }
  return false;
}

static IrValue window_address(Sema *s, Operand place, Window w)
{
  return sema_address(s, place_part(s, whole_of(place), w.byte, place.packed));
}

/* For a run that needs two windows: the bits in the first. */
static uint32_t first_part(Operand place) { return TYPE_SCALAR_MAX_BITS - place.bit % WORD_BITS; }

/* The bits from `*bit` on in the result are the run; other bits belong to its neighbours. */
static IrValue load_run(Sema *s, Operand place, uint32_t bits, IrType *type, uint32_t *bit)
{
  Window w;
  if (window_of(s, place.packed, place.bit, bits, &w)) {
    *type = w.type;
    *bit = w.bit;
    return ir_load(&s->b, w.type, window_address(s, place, w));
  }
  uint32_t n = first_part(place);
  IrValue low = load_run(s, place, n, type, bit);
  low = shift_by(s, IR_lshr, IRT_I64, low, *bit);
  place.bit = (uint16_t)(place.bit + n);
  IrValue high = load_run(s, place, bits - n, type, bit);
  high = resize_bits(s, shift_by(s, IR_lshr, *type, high, *bit), *type, IRT_I64);
  *type = IRT_I64;
  *bit = 0;
  return ir_binary(&s->b, IR_or, IRT_I64, low, shift_by(s, IR_shl, IRT_I64, high, n));
}

/* `v` is of the type `from`. */
static void store_run(Sema *s, Operand place, uint32_t bits, IrValue v, IrType from)
{
  Window w;
  if (!window_of(s, place.packed, place.bit, bits, &w)) {
    uint32_t n = first_part(place);
    store_run(s, place, n, v, from);
    place.bit = (uint16_t)(place.bit + n);
    store_run(s, place, bits - n, shift_by(s, IR_lshr, from, v, n), from);
    return;
  }
  IrType whole = w.type;
  uint64_t mask = mask_of(bits), all = mask_of(ir_type_bits(whole));
  v = resize_bits(s, v, from, whole);
  v = ir_binary(&s->b, IR_and, whole, v, ir_const(&s->b, whole, mask));
  v = shift_by(s, IR_shl, whole, v, w.bit);
  IrValue address = window_address(s, place, w);
  IrValue rest = ir_binary(&s->b, IR_and, whole, ir_load(&s->b, whole, address),
                           ir_const(&s->b, whole, ~(mask << w.bit) & all));
  ir_store(&s->b, address, ir_binary(&s->b, IR_or, whole, rest, v));
}

/* Copies bits between places of more than 64, one of which is a whole object. */
static void copy_bits(Sema *s, Operand to, Operand from, uint32_t bits)
{
  for (uint32_t done = 0; done < bits; done += TYPE_SCALAR_MAX_BITS / 2) {
    uint32_t n = bits - done < TYPE_SCALAR_MAX_BITS / 2 ? bits - done : TYPE_SCALAR_MAX_BITS / 2;
    IrType type;
    uint32_t bit;
    IrValue v = load_run(s, from, n, &type, &bit);
    store_run(s, to, n, shift_by(s, IR_lshr, type, v, bit), type);
    from.bit = (uint16_t)(from.bit + n);
    to.bit = (uint16_t)(to.bit + n);
  }
}

/* A packed object as bits of itself. */
static Operand as_bits(Operand o)
{
  o.packed = o.type;
  o.bit = 0;
  return o;
}

Operand packed_load(Sema *s, Operand place)
{
  PoolId type = place.type;
  uint32_t bits = type_bits(s->pool, type), bit;
  IrType ir = type_ir(s->pool, type), whole;
  Operand out;
  if (bits > TYPE_SCALAR_MAX_BITS) {
    out = sema_temp(s, type);
    copy_bits(s, as_bits(out), place, bits);
    if (type_is_wide(s->pool, type))
      out = wide_convert(s, out, type, place.span);         /* its sign */
    out.name = place.name;
    out.span = place.span;
    return out;
  }
  IrType own = bits_ir(s, type);
  IrValue v = load_run(s, place, bits, &whole, &bit);
  uint32_t width = ir_type_bits(whole);
  if (is_signed(s, type)) {
    v = shift_by(s, IR_shl, whole, v, width - bit - bits);
    v = shift_by(s, IR_ashr, whole, v, width - bits);
  } else {
    v = shift_by(s, IR_lshr, whole, v, bit);
    if (bit + bits < width)
      v = ir_binary(&s->b, IR_and, whole, v, ir_const(&s->b, whole, mask_of(bits)));
  }
  if (ir == IRT_VOID) {
    out = sema_temp(s, type);
    ir_store(&s->b, out.ir, resize_bits(s, v, whole, own));
  } else if (ir == IRT_BOOL) {
    out = operand_runtime(ir_binary(&s->b, IR_ne, IRT_BOOL, v, ir_const(&s->b, whole, 0)), type);
  } else {
    v = resize_bits(s, v, whole, own);
    out = operand_runtime(own == ir ? v : ir_unary(&s->b, IR_bitcast, ir, v), type);
  }
  out.name = place.name;
  out.span = place.span;
  return out;
}

void packed_store(Sema *s, Operand place, Operand value)
{
  uint32_t bits = type_bits(s->pool, place.type);
  IrType ir = type_ir(s->pool, place.type);
  if (bits > TYPE_SCALAR_MAX_BITS) {
    Operand from = operand_place(sema_address(s, value), place.type, true);
    copy_bits(s, place, as_bits(from), bits);
    return;
  }
  IrType own = ir == IRT_BOOL ? IRT_I8 : bits_ir(s, place.type);
  IrValue v = ir == IRT_VOID ? ir_load(&s->b, own, sema_address(s, value)) : sema_ir(s, value);
  if (ir == IRT_BOOL)
    v = ir_unary(&s->b, IR_zext, own, v);
  else if (ir != IRT_VOID && ir != own)
    v = ir_unary(&s->b, IR_bitcast, own, v);
  store_run(s, place, bits, v, own);
}

/* ---- @bitcast ------------------------------------------------------------------------------- */

/* The bits of a value as an unsigned integer, of the type that is set. */
static IrValue emit_bits(Sema *s, Operand o, IrType *type)
{
  IrType ir = type_ir(s->pool, o.type);
  IrValue v;
  if (packed_is(s, o.type)) {
    *type = whole_ir(s, o.type);
    v = ir_load(&s->b, *type, sema_address(s, o));
  } else {
    *type = ir == IRT_BOOL ? IRT_I8 : bits_ir(s, o.type);
    v = sema_ir(s, o);
    if (ir != *type)
      v = ir_unary(&s->b, ir == IRT_BOOL ? IR_zext : IR_bitcast, *type, v);
  }
  uint32_t bits = type_bits(s->pool, o.type);
  if (bits < ir_type_bits(*type))
    v = ir_binary(&s->b, IR_and, *type, v, ir_const(&s->b, *type, mask_of(bits)));
  return v;
}

Operand packed_bitcast(Sema *s, Operand o, PoolId type)
{
  if (type_bits(s->pool, type) > TYPE_SCALAR_MAX_BITS) {
    Operand copy = sema_temp(s, type);
    ir_copy(&s->b, copy.ir, sema_address(s, o), type_bytes(s->pool, type));
    return type_is_wide(s->pool, type) ? wide_convert(s, copy, type, o.span) : copy;
  }
  IrType from, ir = type_ir(s->pool, type);
  IrValue v = emit_bits(s, o, &from);
  if (packed_is(s, type)) {
    Operand out = sema_temp(s, type);
    ir_store(&s->b, out.ir, resize_bits(s, v, from, whole_ir(s, type)));
    return out;
  }
  if (ir == IRT_BOOL)
    return operand_runtime(ir_binary(&s->b, IR_ne, IRT_BOOL, v, ir_const(&s->b, from, 0)), type);
  IrType own = bits_ir(s, type);
  v = resize_bits(s, v, from, own);
  v = own == ir ? v : ir_unary(&s->b, IR_bitcast, ir, v);
  return operand_runtime(emit_normalise(s, v, value_int_type(s->pool, type)), type);
}
