/* Types as section `debug` of an image has them: a list in which parts stand before the whole. */
#include "frontend/value/value_internal.h"

#include <stb_ds.h>

typedef struct { uint32_t key, value; } NumberOfType;

struct DebugTypes {
  Pool *pool;
  Arena *arena;
  NumberOfType *numbers;       /* stb_ds map: by PoolId.raw */
  DebugType *list;             /* stb_ds */
};

DebugTypes *debug_types_create(Pool *pool, Arena *arena)
{
  DebugTypes *types = arena_new(arena, DebugTypes);
  *types = (DebugTypes){.pool = pool, .arena = arena};
  return types;
}

void debug_types_destroy(DebugTypes *types)
{
  hmfree(types->numbers);
  arrfree(types->list);
}

const DebugType *debug_types_list(const DebugTypes *types, uint32_t *n)
{
  *n = (uint32_t)arrlenu(types->list);
  return types->list;
}

const char *debug_type_name(const DebugTypes *types, uint32_t number)
{
  return types->list[number - 1].name;
}

static void add_fields(DebugTypes *types, PoolId type, const PoolKey *k, DebugType *out)
{
  bool is_packed = k->u.fields.layout == LAYOUT_PACKED;
  DebugMember *members = arena_many(types->arena, DebugMember, k->u.fields.n);
  uint32_t n = 0;
  for (uint32_t i = 0; i < k->u.fields.n; i++) {
    PoolField field = k->u.fields.fields[i];
    if (!pool_is_none(field.known))      /* nothing of it is in memory */
      continue;
    members[n].name = k->u.fields.is_tuple ? "" : str_text(pool_names(types->pool), field.name);
    members[n].bit = is_packed ? type_field_bit(types->pool, type, i)
                               : 8 * type_field_offset(types->pool, type, i);
    members[n++].type = debug_type_of(types, field.type);
  }
  out->kind = is_packed ? DT_PACKED : k->kind == PK_UNION_TYPE ? DT_UNION : DT_STRUCT;
  out->n_members = n;
  out->members = members;
}

static void add_names(DebugTypes *types, const PoolKey *k, DebugType *out)
{
  DebugMember *members = arena_many(types->arena, DebugMember, k->u.enum_type.n);
  for (uint32_t i = 0; i < k->u.enum_type.n; i++) {
    members[i].name = str_text(pool_names(types->pool), k->u.enum_type.names[i]);
    members[i].value = value_int_bits(types->pool, k->u.enum_type.values[i]);
  }
  out->kind = DT_ENUM;
  out->of = debug_type_of(types, k->u.enum_type.tag);
  out->n_members = k->u.enum_type.n;
  out->members = members;
}

static DebugKind known_kind(PoolId type)
{
  if (pool_eq(type, POOL(BOOL)))
    return DT_BOOL;
  if (pool_eq(type, POOL(F32)))
    return DT_FLOAT32;
  if (type_is_float16(type))
    return DT_FLOAT16;
  if (type_is_dsd(type))
    return DT_DESCRIPTOR;
  return type_is_id(type) || pool_eq(type, POOL(DIRECTION)) ? DT_UNSIGNED : DT_OPAQUE;
}

static void fill_type(DebugTypes *types, PoolId type, const PoolKey *k, DebugType *out)
{
  switch ((int)k->kind) {
  case PK_INT_TYPE:
    out->kind = k->u.int_type.is_signed ? DT_SIGNED : DT_UNSIGNED;
    break;
  case PK_ARRAY_TYPE:
    out->kind = DT_ARRAY;
    out->n_dims = k->u.array.rank;
    out->dims = k->u.array.dims;
    out->of = debug_type_of(types, k->u.array.element);
    break;
  case PK_STRUCT_TYPE:
  case PK_UNION_TYPE:
    add_fields(types, type, k, out);
    break;
  case PK_ENUM_TYPE:
    add_names(types, k, out);
    break;
  case PK_WELL_KNOWN_TYPE:
    out->kind = known_kind(type);
    break;
  default:
    break;
  }
}

static uint32_t add_type(DebugTypes *types, PoolId type, DebugType added)
{
  arrput(types->list, added);
  uint32_t number = (uint32_t)arrlenu(types->list);
  hmput(types->numbers, type.raw, number);
  return number;
}

/* A pointer has its number before the type behind it, which may contain it. */
static uint32_t add_pointer(DebugTypes *types, PoolId type, PoolId pointee, DebugType out)
{
  out.kind = DT_POINTER;
  uint32_t number = add_type(types, type, out), of = debug_type_of(types, pointee);
  types->list[number - 1].of = of;
  return number;
}

uint32_t debug_type_of(DebugTypes *types, PoolId type)
{
  ptrdiff_t known = hmgeti(types->numbers, type.raw);
  if (known >= 0)
    return types->numbers[known].value;
  PoolKey k = pool_key(types->pool, type);
  uint32_t bytes = type_bytes(types->pool, type), bits = type_bits(types->pool, type);
  DebugType out = {.kind = DT_OPAQUE, .name = type_text(types->pool, types->arena, type),
                   .bytes = bytes, .bits = bits && bits <= 8 * bytes ? bits : 8 * bytes};
  if (k.kind == PK_POINTER_TYPE)
    return add_pointer(types, type, k.u.pointer_type.pointee, out);
  fill_type(types, type, &k, &out);
  known = hmgeti(types->numbers, type.raw);   /* one of its pointers has added it */
  return known >= 0 ? types->numbers[known].value : add_type(types, type, out);
}
