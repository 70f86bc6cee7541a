/* Facts about types: classes, sizes in tile memory, IR types, and their text. */
#include "frontend/value/value_internal.h"

#include <stdlib.h>
#include <string.h>

/* Descriptors have one size on both architectures. */
static const Machine *any_machine(void) { return machine_get(ARCH_WSE2); }

bool type_is_int(const Pool *pool, PoolId type)
{
  return pool_eq(type, POOL(COMPTIME_INT)) || pool_is_machine_int(type) ||
         pool_kind(pool, type) == PK_INT_TYPE;
}

bool type_is_float16(PoolId type)
{
  return pool_eq(type, POOL(F16)) || pool_eq(type, POOL(BF16)) || pool_eq(type, POOL(CB16));
}

bool type_is_float(const Pool *pool, PoolId type)
{
  (void)pool;
  return type_is_float16(type) || pool_eq(type, POOL(F32)) || pool_eq(type, POOL(COMPTIME_FLOAT));
}

bool type_is_numeric(const Pool *pool, PoolId type)
{
  return type_is_int(pool, type) || type_is_float(pool, type);
}

bool type_is_id(PoolId type)
{
  switch (type.raw) {
  case POOL_RAW_COLOR:
  case POOL_RAW_INPUT_QUEUE:
  case POOL_RAW_OUTPUT_QUEUE:
  case POOL_RAW_DATA_TASK_ID:
  case POOL_RAW_LOCAL_TASK_ID:
  case POOL_RAW_CONTROL_TASK_ID:
  case POOL_RAW_UT_ID:
    return true;
  default:
    return false;
  }
}

bool type_is_dsd(PoolId type)
{
  return type.raw >= POOL_RAW_MEM1D_DSD && type.raw <= POOL_RAW_FABOUT_DSD;
}

bool type_is_dsr(PoolId type)
{
  return type.raw >= POOL_RAW_DSR_DEST && type.raw <= POOL_RAW_DSR_FIFO_SRC1;
}

bool type_is_wide(const Pool *pool, PoolId type)
{
  if (pool_kind(pool, type) != PK_INT_TYPE)
    return false;
  PoolKey k = pool_key(pool, type);
  return k.u.int_type.bits > TYPE_SCALAR_MAX_BITS && k.u.int_type.bits <= TYPE_WIDE_MAX_BITS;
}

static TypeFacts facts_compute(const Pool *pool, PoolId type, const PoolKey *k);

/* Those of a struct or union type; each is computed once. */
static const TypeFacts *facts_of(const Pool *pool, PoolId type, const PoolKey *k)
{
  TypeFacts *facts = k->u.fields.facts;
  if (!facts->is_known)
    *facts = facts_compute(pool, type, k);
  return facts;
}

/* Are x, in fields of struct a, and y, in those of struct b, the same but for a and b? */
static bool is_same_part(const Pool *pool, PoolId x, PoolId y, PoolId a, PoolId b)
{
  if (pool_eq(x, y) || (pool_eq(x, a) && pool_eq(y, b)))
    return true;
  PoolKey k = pool_key(pool, x), l = pool_key(pool, y);
  if (k.kind != l.kind)
    return false;
  if (k.kind == PK_POINTER_TYPE)
    return k.u.pointer_type.is_many == l.u.pointer_type.is_many &&
           k.u.pointer_type.is_const == l.u.pointer_type.is_const &&
           is_same_part(pool, k.u.pointer_type.pointee, l.u.pointer_type.pointee, a, b);
  if (k.kind == PK_ARRAY_TYPE)
    return k.u.array.rank == l.u.array.rank &&
           memcmp(k.u.array.dims, l.u.array.dims, k.u.array.rank * sizeof *k.u.array.dims) == 0 &&
           is_same_part(pool, k.u.array.element, l.u.array.element, a, b);
  bool is_same = k.kind == PK_FN_TYPE && k.u.fn_type.n == l.u.fn_type.n &&
                 k.u.fn_type.is_task == l.u.fn_type.is_task &&
                 is_same_part(pool, k.u.fn_type.result, l.u.fn_type.result, a, b);
  for (uint32_t i = 0; is_same && i < k.u.fn_type.n; i++)
    is_same = is_same_part(pool, k.u.fn_type.params[i], l.u.fn_type.params[i], a, b);
  return is_same;
}

bool type_is_same_struct(const Pool *pool, PoolId a, PoolId b)
{
  PoolKey k = pool_key(pool, a), l = pool_key(pool, b);
  bool is_same = k.kind == l.kind && k.u.fields.origin == l.u.fields.origin &&
                 k.u.fields.n == l.u.fields.n;
  for (uint32_t i = 0; is_same && i < k.u.fields.n; i++)
    is_same = is_same_part(pool, k.u.fields.fields[i].type, l.u.fields.fields[i].type, a, b);
  return is_same;
}

static IrType known_ir(PoolId type)
{
  switch (type.raw) {
  case POOL_RAW_BOOL:
    return IRT_BOOL;
  case POOL_RAW_F16:
  case POOL_RAW_BF16:
  case POOL_RAW_CB16:
    return IRT_F16;
  case POOL_RAW_F32:
    return IRT_F32;
  case POOL_RAW_DIRECTION:
    return IRT_I16;
  case POOL_RAW_MEM4D_DSD:
    return IRT_DSD4;
  default:
    return type_is_id(type) ? IRT_I16 : type_is_dsd(type) ? IRT_DSD : IRT_VOID;
  }
}

bool type_has_known(const Pool *pool, PoolId type)
{
  PoolKey k = pool_key(pool, type);
  return k.kind == PK_STRUCT_TYPE && facts_of(pool, type, &k)->has_known;
}

/* Types whose values the machine can hold have an IR type or are aggregates of such. */
bool type_is_comptime_only(const Pool *pool, PoolId type)
{
  if (pool_is_machine_int(type))
    return false;
  if (pool_kind(pool, type) == PK_WELL_KNOWN_TYPE)      /* by far the most frequent ones */
    return !pool_eq(type, POOL(VOID)) && !pool_eq(type, POOL(POISON_TYPE)) &&
           !pool_eq(type, POOL(ANYOPAQUE)) && known_ir(type) == IRT_VOID;
  PoolKey k = pool_key(pool, type);
  switch ((int)k.kind) {
  case PK_ARRAY_TYPE:
  case PK_RANGE_TYPE:
    return type_is_comptime_only(pool, k.u.array.element);
  case PK_STRUCT_TYPE:
  case PK_UNION_TYPE:
    return facts_of(pool, type, &k)->is_comptime_only;
  case PK_FN_TYPE:
    return true;
  default:
    return type_ir(pool, type) == IRT_VOID && !type_is_wide(pool, type);
  }
}

bool type_is_aggregate(const Pool *pool, PoolId type)
{
  PoolKind kind = pool_kind(pool, type);
  return kind == PK_ARRAY_TYPE || kind == PK_STRUCT_TYPE || kind == PK_UNION_TYPE;
}

static IrType int_ir(unsigned bits)
{
  return bits <= 8 ? IRT_I8 : bits <= 16 ? IRT_I16 : bits <= 32 ? IRT_I32
       : bits <= TYPE_SCALAR_MAX_BITS ? IRT_I64 : IRT_VOID;
}

IrType type_ir(const Pool *pool, PoolId type)
{
  switch ((int)pool_kind(pool, type)) {
  case PK_WELL_KNOWN_TYPE:
    return known_ir(type);
  case PK_INT_TYPE:
    return int_ir(pool_key(pool, type).u.int_type.bits);
  case PK_POINTER_TYPE:
    return IRT_PTR;
  case PK_ENUM_TYPE:
    return type_ir(pool, pool_key(pool, type).u.enum_type.tag);
  default:
    return IRT_VOID;
  }
}

/* ---- memory --------------------------------------------------------------------------------- */

static uint32_t round_up(uint32_t n, uint32_t align)
{
  return (n + align - 1) / align * align;
}

static bool is_packed(const PoolKey *k)
{
  return (k->kind == PK_STRUCT_TYPE || k->kind == PK_UNION_TYPE) &&
         k->u.fields.layout == LAYOUT_PACKED;
}

/* The bits of the integer behind a packed type: one that the machine has, else whole words. */
static uint32_t packed_bytes(uint32_t bits)
{
  if (bits > TYPE_SCALAR_MAX_BITS)
    return round_up(bits, 16) / 8;
  return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
}

uint32_t type_field_bit(const Pool *pool, PoolId type, uint32_t field)
{
  PoolKey k = pool_key(pool, type);
  uint32_t bit = 0;
  for (uint32_t i = 0; k.kind == PK_STRUCT_TYPE && i < field; i++)
    bit += type_bits(pool, k.u.fields.fields[i].type);
  return bit;
}

uint32_t type_bits(const Pool *pool, PoolId type)
{
  PoolKey k = pool_key(pool, type);
  switch ((int)k.kind) {
  case PK_STRUCT_TYPE:
  case PK_UNION_TYPE: return facts_of(pool, type, &k)->bits;
  case PK_INT_TYPE: return k.u.int_type.bits;
  case PK_ENUM_TYPE: return type_bits(pool, k.u.enum_type.tag);
  case PK_POINTER_TYPE: return ir_type_bits(IRT_PTR);
  default: break;
  }
  if (pool_eq(type, POOL(BOOL)))
    return 1;
  return pool_eq(type, POOL(F32)) ? 32 : type_is_float16(type) ? 16 : 0;
}

uint32_t type_align(const Pool *pool, PoolId type)
{
  PoolKey k = pool_key(pool, type);
  switch ((int)k.kind) {
  case PK_ARRAY_TYPE:
  case PK_RANGE_TYPE:
    return type_align(pool, k.u.array.element);
  case PK_STRUCT_TYPE:
  case PK_UNION_TYPE:
    return facts_of(pool, type, &k)->align;
  default: {
    IrType ir = type_is_wide(pool, type) ? IRT_I16 : type_ir(pool, type);
    return ir == IRT_VOID ? 1 : ir_type_align(ir);
  }
  }
}

uint64_t type_element_count(const Pool *pool, PoolId type)
{
  PoolKey k = pool_key(pool, type);
  uint64_t n = 1;
  for (uint32_t i = 0; i < k.u.array.rank; i++)
    n *= k.u.array.dims[i];
  return n;
}

static uint32_t saturate_bytes(uint64_t bytes)
{
  return bytes > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)bytes;
}

static uint32_t field_align(const Pool *pool, const PoolField *f)
{
  return pool_is_none(f->known) ? type_align(pool, f->type) : 1;
}

static uint32_t field_bytes(const Pool *pool, const PoolField *f)
{
  return pool_is_none(f->known) ? type_bytes(pool, f->type) : 0;
}

uint32_t type_field_offset(const Pool *pool, PoolId type, uint32_t field)
{
  PoolKey k = pool_key(pool, type);
  uint64_t at = 0;
  if (k.kind == PK_UNION_TYPE)
    return 0;
  for (uint32_t i = 0; i <= field; i++) {
    at = round_up(saturate_bytes(at), field_align(pool, &k.u.fields.fields[i]));
    if (i < field)
      at += field_bytes(pool, &k.u.fields.fields[i]);
  }
  return saturate_bytes(at);
}

/* Alignment of a packed type of that size. */
static uint32_t packed_align(uint32_t bytes)
{
  const IrType whole[] = {[1] = IRT_I8, [2] = IRT_I16, [4] = IRT_I32, [8] = IRT_I64};
  return ir_type_align(bytes < ARRAY_COUNT(whole) ? whole[bytes] : IRT_I16);
}

/* All sizes but the bytes, from those of the fields. */
static TypeFacts facts_of_fields(const Pool *pool, const PoolKey *k)
{
  TypeFacts facts = {.is_known = true, .align = 1};
  uint64_t leaves = 0;
  for (uint32_t i = 0; i < k->u.fields.n; i++) {
    const PoolField *f = &k->u.fields.fields[i];
    PoolId field = f->type;
    uint32_t align = field_align(pool, f), bits = type_bits(pool, field);
    facts.is_comptime_only |= pool_is_none(f->known) && type_is_comptime_only(pool, field);
    facts.has_known |= !pool_is_none(f->known) || type_has_known(pool, field);
    facts.align = align > facts.align ? align : facts.align;
    leaves += type_leaf_count(pool, field);
    if (is_packed(k))          /* the fields of a packed union have one width */
      facts.bits = k->kind == PK_UNION_TYPE ? bits : saturate_bytes((uint64_t)facts.bits + bits);
  }
  facts.leaves = k->kind == PK_UNION_TYPE ? 1 : saturate_bytes(leaves);
  return facts;
}

static TypeFacts facts_compute(const Pool *pool, PoolId type, const PoolKey *k)
{
  TypeFacts facts = facts_of_fields(pool, k);
  if (is_packed(k)) {
    facts.bytes = packed_bytes(facts.bits);
    facts.align = packed_align(facts.bytes);
    return facts;
  }
  for (uint32_t i = 0; i < k->u.fields.n; i++) {
    uint64_t end = field_bytes(pool, &k->u.fields.fields[i]);
    if (k->kind == PK_STRUCT_TYPE && i + 1 < k->u.fields.n)
      continue;                /* the last one ends last */
    end += type_field_offset(pool, type, i);
    facts.bytes = end > facts.bytes ? saturate_bytes(end) : facts.bytes;
  }
  facts.bytes = round_up(facts.bytes, facts.align);
  return facts;
}

uint32_t type_bytes(const Pool *pool, PoolId type)
{
  PoolKey k = pool_key(pool, type);
  switch ((int)k.kind) {
  case PK_ARRAY_TYPE:
    return saturate_bytes(type_element_count(pool, type) * type_bytes(pool, k.u.array.element));
  case PK_RANGE_TYPE:
    return 3 * type_bytes(pool, k.u.array.element);
  case PK_STRUCT_TYPE:
  case PK_UNION_TYPE:
    return facts_of(pool, type, &k)->bytes;
  default: {
    IrType ir = type_ir(pool, type);
    if (type_is_wide(pool, type))
      return round_up(k.u.int_type.bits, 16) / 8;
    if (ir == IRT_DSD4)
      return any_machine()->descriptor4_bytes;
    return ir == IRT_DSD ? any_machine()->descriptor_bytes : ir == IRT_VOID ? 0 : ir_type_bytes(ir);
  }
  }
}

/* ---- cells ---------------------------------------------------------------------------------- */

uint32_t type_leaf_count(const Pool *pool, PoolId type)
{
  PoolKey k = pool_key(pool, type);
  switch ((int)k.kind) {
  case PK_ARRAY_TYPE:
    return saturate_bytes(type_element_count(pool, type) *
                          type_leaf_count(pool, k.u.array.element));
  case PK_STRUCT_TYPE:
    return facts_of(pool, type, &k)->leaves;
  default:
    return 1;
  }
}

/* ---- text ----------------------------------------------------------------------------------- */

static const char *known_text(PoolId type)
{
  static const char *const texts[] = {
#define T(name, text) [POOL_RAW_##name] = text,
    WELL_KNOWN_TYPES(T)
#undef T
  };
  if (pool_eq(type, POOL(FIFO)))
    return "fifo";
  if (pool_eq(type, POOL(ANYTYPE)))
    return "anytype";
  return pool_eq(type, POOL(POISON_TYPE)) ? "an erroneous type" : texts[type.raw];
}

/* Types and values can be made of themselves a few dozen times over; printing stops some way
 * after this many bytes, and the text is cut off there. */
enum { TYPE_TEXT_MAX = 2000 };

bool text_is_full(FILE *out, long most) { return ftell(out) > most; }

const char *text_cut(Arena *arena, const char *text, size_t length, size_t most)
{
  if (length <= most)
    return arena_copy_text(arena, text, length);
  return arena_printf(arena, "%.*s ...", (int)most, text);
}

static void print_type(Pool *pool, FILE *out, PoolId type);

/* A field's value that its type says; numbers only, since two of them look alike otherwise. */
static void print_known(const Pool *pool, FILE *out, PoolId value)
{
  int64_t number;
  PoolKind kind = pool_kind(pool, value);
  if (kind == PK_INT && pool_int_value(pool, value, &number))
    fprintf(out, " = %lld", (long long)number);
  else if (kind == PK_FLOAT)
    fprintf(out, " = %g", pool_float_value(pool, value));
}

static void print_fields(Pool *pool, FILE *out, const PoolKey *k)
{
  StrTable *names = pool_names(pool);
  if (!str_is_none(k->u.fields.name)) {
    fputs(str_text(names, k->u.fields.name), out);
    return;
  }
  if (k->u.fields.layout != LAYOUT_AUTO)
    fputs(k->u.fields.layout == LAYOUT_PACKED ? "packed " : "extern ", out);
  fputs(k->kind == PK_UNION_TYPE ? "union {" : "struct {", out);
  for (uint32_t i = 0; i < k->u.fields.n && !text_is_full(out, TYPE_TEXT_MAX); i++) {
    const PoolField *f = &k->u.fields.fields[i];
    fputs(i == 0 ? " " : ", ", out);
    fputs(pool_is_none(f->known) ? "" : "comptime ", out);
    if (!k->u.fields.is_tuple)
      fprintf(out, "%s: ", str_text(names, f->name));
    print_type(pool, out, f->type);
    if (!pool_is_none(f->known))
      print_known(pool, out, f->known);
  }
  fputs(" }", out);
}

static void print_fn_type(Pool *pool, FILE *out, const PoolKey *k)
{
  fputs(k->u.fn_type.is_task ? "task(" : "fn(", out);
  for (uint32_t i = 0; i < k->u.fn_type.n && !text_is_full(out, TYPE_TEXT_MAX); i++) {
    fputs(i == 0 ? "" : ", ", out);
    print_type(pool, out, k->u.fn_type.params[i]);
  }
  fputs(")", out);
  print_type(pool, out, k->u.fn_type.result);
}

static void print_type(Pool *pool, FILE *out, PoolId type)
{
  PoolKey k = pool_key(pool, type);
  switch ((int)k.kind) {
  case PK_WELL_KNOWN_TYPE:
    fputs(known_text(type), out);
    return;
  case PK_INT_TYPE:
    fprintf(out, "%c%u", k.u.int_type.is_signed ? 'i' : 'u', k.u.int_type.bits);
    return;
  case PK_ARRAY_TYPE:
    for (uint32_t i = 0; i < k.u.array.rank; i++)
      fprintf(out, "%s%u", i == 0 ? "[" : ", ", k.u.array.dims[i]);
    fputs("]", out);
    print_type(pool, out, k.u.array.element);
    return;
  case PK_POINTER_TYPE:
    fputs(k.u.pointer_type.is_many ? "[*]" : "*", out);
    fputs(k.u.pointer_type.is_const ? "const " : "", out);
    print_type(pool, out, k.u.pointer_type.pointee);
    return;
  case PK_FN_TYPE:
    print_fn_type(pool, out, &k);
    return;
  case PK_STRUCT_TYPE:
  case PK_UNION_TYPE:
    print_fields(pool, out, &k);
    return;
  case PK_ENUM_TYPE:
    fputs(str_is_none(k.u.enum_type.name) ? "enum" : str_text(pool_names(pool), k.u.enum_type.name),
          out);
    return;
  case PK_RANGE_TYPE:
    fputs("range of ", out);
    print_type(pool, out, k.u.array.element);
    return;
  default:
    fputs("no type", out);
    return;
  }
}

const char *type_text(Pool *pool, Arena *arena, PoolId type)
{
  char *text = NULL;
  size_t length = 0;
  FILE *out = base_text_open(&text, &length);
  print_type(pool, out, type);
  base_text_close(out, &text);
  const char *copy = text_cut(arena, text, length, TYPE_TEXT_MAX);
  free(text);
  return copy;
}
