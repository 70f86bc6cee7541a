/* The pool: every type and every comptime value that leaves the walker, interned.
 *
 * An id is either an index into `items` or, with the top bit set, a small integer of a
 * predeclared type (slot and value in the id itself): loop counters and coordinates, which a
 * layout makes by the million, never touch the table.  An integer that can be immediate always
 * is, so that equal values keep equal ids.
 *
 * The table is open addressing over the hash of the key; it holds the hash beside the id, so that a
 * probe looks at an item only if the keys are almost certainly equal.  Payloads live in the arena
 * and never move. */
#include "frontend/value/value_internal.h"

#include <stdlib.h>
#include <string.h>

/* A key whose payload has been copied.  `data` by kind: PK_INT small, PK_FLOAT bits, PK_STRING
 * StrId.raw, PK_AGGREGATE elems (n in `count`), else the whole PoolKey. */
typedef struct {
  uint8_t kind;
  bool is_big;               /* PK_INT: data.text */
  uint8_t symbolic_height;
  bool has_pointer;
  uint32_t type;
  uint32_t count;
  union {
    int64_t small;
    uint64_t bits;
    const char *text;
    const PoolId *elems;
    const PoolKey *key;
  } data;
} Item;

typedef struct { uint32_t id, hash; } TableEntry;   /* id 0: free */

struct Pool {
  Arena *arena;
  StrTable *names;
  Item *items;
  uint32_t n_items, cap_items;
  TableEntry *table;
  uint32_t mask;
};

/* ---- immediate integers --------------------------------------------------------------------- */

enum { IMM_FLAG = 1u << 31, IMM_SLOT_SHIFT = 26, IMM_SLOT_MASK = 31, IMM_BITS = 26 };

static const uint32_t imm_types[] = {
  POOL_RAW_COMPTIME_INT, POOL_RAW_I8, POOL_RAW_I16, POOL_RAW_I32, POOL_RAW_I64, POOL_RAW_U8,
  POOL_RAW_U16, POOL_RAW_U32, POOL_RAW_U64, POOL_RAW_COLOR, POOL_RAW_DIRECTION,
  POOL_RAW_INPUT_QUEUE, POOL_RAW_OUTPUT_QUEUE, POOL_RAW_DATA_TASK_ID, POOL_RAW_LOCAL_TASK_ID,
  POOL_RAW_CONTROL_TASK_ID, POOL_RAW_UT_ID,
};

/* 1 + index in imm_types, by type id. */
static const uint8_t imm_slot[POOL_RAW_WELL_KNOWN_COUNT] = {
  [POOL_RAW_COMPTIME_INT] = 1, [POOL_RAW_I8] = 2, [POOL_RAW_I16] = 3, [POOL_RAW_I32] = 4,
  [POOL_RAW_I64] = 5, [POOL_RAW_U8] = 6, [POOL_RAW_U16] = 7, [POOL_RAW_U32] = 8,
  [POOL_RAW_U64] = 9, [POOL_RAW_COLOR] = 10, [POOL_RAW_DIRECTION] = 11,
  [POOL_RAW_INPUT_QUEUE] = 12, [POOL_RAW_OUTPUT_QUEUE] = 13, [POOL_RAW_DATA_TASK_ID] = 14,
  [POOL_RAW_LOCAL_TASK_ID] = 15, [POOL_RAW_CONTROL_TASK_ID] = 16, [POOL_RAW_UT_ID] = 17,
};

static bool is_immediate(PoolId id) { return (id.raw & IMM_FLAG) != 0; }

static PoolId imm_type(PoolId id)
{
  return (PoolId){imm_types[(id.raw >> IMM_SLOT_SHIFT) & IMM_SLOT_MASK]};
}

static int64_t imm_value(PoolId id)
{
  uint32_t low = id.raw & ((1u << IMM_BITS) - 1);
  uint32_t sign = 1u << (IMM_BITS - 1);
  return (int64_t)(low ^ sign) - (int64_t)sign;
}

static bool imm_make(PoolId type, int64_t value, PoolId *out)
{
  const int64_t half = (int64_t)1 << (IMM_BITS - 1);
  if (type.raw >= POOL_RAW_WELL_KNOWN_COUNT || imm_slot[type.raw] == 0 || value < -half ||
      value >= half)
    return false;
  uint32_t slot = imm_slot[type.raw] - 1u;
  out->raw = IMM_FLAG | slot << IMM_SLOT_SHIFT | ((uint32_t)value & ((1u << IMM_BITS) - 1));
  return true;
}

/* ---- hashing -------------------------------------------------------------------------------- */

static uint64_t hash_mix(uint64_t h, uint64_t v)
{
  h = (h ^ v) * 0x9e3779b97f4a7c15u;
  return h ^ h >> 29;
}

static uint64_t mix_bytes(uint64_t h, const void *data, size_t n)
{
  const uint8_t *p = data;
  uint64_t word = 0;
  for (; n >= sizeof word; n -= sizeof word, p += sizeof word) {
    memcpy(&word, p, sizeof word);
    h = hash_mix(h, word);
  }
  word = 0;
  memcpy(&word, p, n);
  return hash_mix(h, word);
}

/* A descriptor without its padding, for hashing and comparing. */
enum { DESC_WORDS = 24 };
static void desc_words(const PoolKey *k, int32_t w[DESC_WORDS])
{
  const Descriptor *d = &k->u.dsd.desc.desc;
  int32_t *p = w;
  *p++ = (int32_t)d->kind;
  *p++ = d->flags;
  *p++ = d->base;
  *p++ = d->length;
  *p++ = d->stride;
  for (unsigned i = 0; i < ARRAY_COUNT(d->lengths); i++) {
    *p++ = d->lengths[i];
    *p++ = d->strides[i];
  }
  *p++ = d->wrap_base | d->wrap_length << 16;
  *p++ = d->queue | d->color << 8;
  *p++ = (int32_t)d->done.kind | (int32_t)d->done.id_kind << 8 | d->done.id << 16;
  *p++ = (int32_t)d->on_control.kind | (int32_t)d->on_control.id_kind << 8 |
         d->on_control.id << 16;
  *p++ = (int32_t)d->priority | d->priority_given << 8 | (int32_t)d->simd << 16;
  *p++ = d->ut | d->ut_given << 8;
  *p++ = (int32_t)k->u.dsd.desc.global.raw;
  *p++ = (int32_t)k->u.dsd.name;
  *p++ = (int32_t)k->u.dsd.element;
  *p++ = k->u.dsd.is_changed;
  while (p < w + DESC_WORDS)
    *p++ = 0;
}

static uint64_t hash_fields(uint64_t h, const PoolKey *k)
{
  h = hash_mix(h, k->u.fields.n);
  for (uint32_t i = 0; i < k->u.fields.n; i++) {
    const PoolField *f = &k->u.fields.fields[i];
    h = hash_mix(h, (uint64_t)f->name.raw << 32 | f->type.raw);
    h = pool_is_none(f->known) ? h : hash_mix(h, f->known.raw);
  }
  return hash_mix(h, (uint64_t)k->u.fields.origin << 8 | (uint64_t)k->u.fields.layout << 1 |
                    k->u.fields.is_tuple);
}

static uint64_t hash_payload(uint64_t h, const PoolKey *k)
{
  switch (k->kind) {
  case PK_INT_TYPE:
    return hash_mix(h, (uint64_t)k->u.int_type.bits << 1 | k->u.int_type.is_signed);
  case PK_ARRAY_TYPE:
    h = hash_mix(h, (uint64_t)k->u.array.rank << 32 | k->u.array.element.raw);
    return mix_bytes(h, k->u.array.dims, k->u.array.rank * sizeof *k->u.array.dims);
  case PK_POINTER_TYPE:
    return hash_mix(h, (uint64_t)k->u.pointer_type.pointee.raw << 2 |
                      (unsigned)k->u.pointer_type.is_many << 1 | k->u.pointer_type.is_const);
  case PK_FN_TYPE:
    h = hash_mix(h, (uint64_t)k->u.fn_type.result.raw << 1 | k->u.fn_type.is_task);
    return mix_bytes(h, k->u.fn_type.params, k->u.fn_type.n * sizeof(PoolId));
  case PK_STRUCT_TYPE:
  case PK_UNION_TYPE:
    return hash_fields(h, k);
  case PK_ENUM_TYPE:
    h = hash_mix(h, (uint64_t)k->u.enum_type.origin << 32 | k->u.enum_type.tag.raw);
    h = mix_bytes(h, k->u.enum_type.names, k->u.enum_type.n * sizeof(StrId));
    return mix_bytes(h, k->u.enum_type.values, k->u.enum_type.n * sizeof(PoolId));
  case PK_RANGE_TYPE:
    return hash_mix(h, k->u.array.element.raw);
  case PK_INT:
    if (k->u.integer.big != NULL)
      return mix_bytes(h, k->u.integer.big, strlen(k->u.integer.big));
    return hash_mix(h, (uint64_t)k->u.integer.small);
  case PK_FLOAT:
    return hash_mix(h, k->u.floating.bits);
  case PK_STRING:
    return hash_mix(h, k->u.string.raw);
  case PK_AGGREGATE:
    return mix_bytes(h, k->u.aggregate.elems, k->u.aggregate.n * sizeof(PoolId));
  case PK_FUNC:
  case PK_MODULE:
  case PK_FIFO:
    return hash_mix(h, k->u.index);
  case PK_POINTER:
    h = hash_mix(h, (uint64_t)k->u.pointer.base_kind << 32 | k->u.pointer.base);
    return hash_mix(h, (uint64_t)k->u.pointer.offset);
  case PK_RANGE:
    h = hash_mix(h, (uint64_t)k->u.range.start.raw << 32 | k->u.range.stop.raw);
    return hash_mix(h, k->u.range.step.raw);
  case PK_DSD: {
    int32_t words[DESC_WORDS];
    desc_words(k, words);
    return mix_bytes(h, words, sizeof words);
  }
  case PK_DSR:
    return hash_mix(h, (uint64_t)k->u.dsr.file << 16 | (uint64_t)k->u.dsr.number << 1 |
                      k->u.dsr.is_fifo);
  case PK_SYMBOLIC:
    h = hash_mix(h, (uint64_t)k->u.symbolic.sym << 40 | (uint64_t)k->u.symbolic.op << 32 |
                   k->u.symbolic.index);
    return hash_mix(h, (uint64_t)k->u.symbolic.a.raw << 32 | k->u.symbolic.b.raw);
  case PK_WELL_KNOWN_TYPE:
  case PK_POISON:
  case PK_VOID_VALUE:
  case PK_BOOL_VALUE:
    break;
  }
  return h;
}

static uint32_t hash_key(const PoolKey *k)
{
  uint64_t h = hash_payload(hash_mix((uint64_t)k->kind + 1, k->type.raw), k);
  return (uint32_t)(h ^ h >> 32);
}

/* ---- comparing ------------------------------------------------------------------------------ */

static bool same_bytes(const void *a, const void *b, size_t n)
{
  return n == 0 || memcmp(a, b, n) == 0;
}

static bool same_fields(const PoolKey *a, const PoolKey *b)
{
  if (a->u.fields.n != b->u.fields.n || a->u.fields.origin != b->u.fields.origin ||
      a->u.fields.layout != b->u.fields.layout || a->u.fields.is_tuple != b->u.fields.is_tuple)
    return false;
  for (uint32_t i = 0; i < a->u.fields.n; i++) {
    const PoolField *x = &a->u.fields.fields[i], *y = &b->u.fields.fields[i];
    if (!str_eq(x->name, y->name) || !pool_eq(x->type, y->type) || !pool_eq(x->known, y->known))
      return false;
  }
  return true;
}

static bool same_enum(const PoolKey *a, const PoolKey *b)
{
  uint32_t n = a->u.enum_type.n;
  return n == b->u.enum_type.n && a->u.enum_type.origin == b->u.enum_type.origin &&
         pool_eq(a->u.enum_type.tag, b->u.enum_type.tag) &&
         same_bytes(a->u.enum_type.names, b->u.enum_type.names, n * sizeof(StrId)) &&
         same_bytes(a->u.enum_type.values, b->u.enum_type.values, n * sizeof(PoolId));
}

static bool same_integer(const PoolKey *a, const PoolKey *b)
{
  const char *x = a->u.integer.big, *y = b->u.integer.big;
  if ((x == NULL) != (y == NULL))
    return false;
  return x != NULL ? strcmp(x, y) == 0 : a->u.integer.small == b->u.integer.small;
}

static bool same_desc(const PoolKey *a, const PoolKey *b)
{
  int32_t x[DESC_WORDS], y[DESC_WORDS];
  desc_words(a, x);
  desc_words(b, y);
  return memcmp(x, y, sizeof x) == 0;
}

/* Keys of the same kind and type. */
static bool same_payload(const PoolKey *a, const PoolKey *b)
{
  switch (a->kind) {
  case PK_INT_TYPE:
    return a->u.int_type.bits == b->u.int_type.bits &&
           a->u.int_type.is_signed == b->u.int_type.is_signed;
  case PK_ARRAY_TYPE:
    return a->u.array.rank == b->u.array.rank &&
           pool_eq(a->u.array.element, b->u.array.element) &&
           same_bytes(a->u.array.dims, b->u.array.dims, a->u.array.rank * sizeof(uint32_t));
  case PK_POINTER_TYPE:
    return a->u.pointer_type.is_many == b->u.pointer_type.is_many &&
           a->u.pointer_type.is_const == b->u.pointer_type.is_const &&
           pool_eq(a->u.pointer_type.pointee, b->u.pointer_type.pointee);
  case PK_FN_TYPE:
    return a->u.fn_type.is_task == b->u.fn_type.is_task && a->u.fn_type.n == b->u.fn_type.n &&
           pool_eq(a->u.fn_type.result, b->u.fn_type.result) &&
           same_bytes(a->u.fn_type.params, b->u.fn_type.params, a->u.fn_type.n * sizeof(PoolId));
  case PK_STRUCT_TYPE:
  case PK_UNION_TYPE:
    return same_fields(a, b);
  case PK_ENUM_TYPE:
    return same_enum(a, b);
  case PK_RANGE_TYPE:
    return pool_eq(a->u.array.element, b->u.array.element);
  case PK_INT:
    return same_integer(a, b);
  case PK_FLOAT:
    return a->u.floating.bits == b->u.floating.bits;
  case PK_STRING:
    return str_eq(a->u.string, b->u.string);
  case PK_AGGREGATE:
    return a->u.aggregate.n == b->u.aggregate.n &&
           same_bytes(a->u.aggregate.elems, b->u.aggregate.elems,
                      a->u.aggregate.n * sizeof(PoolId));
  case PK_FUNC:
  case PK_MODULE:
  case PK_FIFO:
    return a->u.index == b->u.index;
  case PK_POINTER:
    return a->u.pointer.base_kind == b->u.pointer.base_kind &&
           a->u.pointer.base == b->u.pointer.base && a->u.pointer.offset == b->u.pointer.offset;
  case PK_RANGE:
    return pool_eq(a->u.range.start, b->u.range.start) &&
           pool_eq(a->u.range.stop, b->u.range.stop) && pool_eq(a->u.range.step, b->u.range.step);
  case PK_DSD:
    return same_desc(a, b);
  case PK_DSR:
    return a->u.dsr.file == b->u.dsr.file && a->u.dsr.number == b->u.dsr.number &&
           a->u.dsr.is_fifo == b->u.dsr.is_fifo;
  case PK_SYMBOLIC:
    return a->u.symbolic.sym == b->u.symbolic.sym && a->u.symbolic.op == b->u.symbolic.op &&
           a->u.symbolic.index == b->u.symbolic.index &&
           pool_eq(a->u.symbolic.a, b->u.symbolic.a) && pool_eq(a->u.symbolic.b, b->u.symbolic.b);
  case PK_WELL_KNOWN_TYPE:
  case PK_POISON:
  case PK_VOID_VALUE:
  case PK_BOOL_VALUE:
    break;
  }
  return false;   /* predeclared ids are never looked up */
}

/* ---- storing -------------------------------------------------------------------------------- */

static PoolKey item_key(const Item *item)
{
  PoolKey k = {.kind = (PoolKind)item->kind, .type = {item->type}};
  switch ((int)k.kind) {
  case PK_INT:
    if (item->is_big)
      k.u.integer.big = item->data.text;
    else
      k.u.integer.small = item->data.small;
    return k;
  case PK_FLOAT:
    k.u.floating.bits = item->data.bits;
    return k;
  case PK_STRING:
    k.u.string.raw = (uint32_t)item->data.bits;
    return k;
  case PK_AGGREGATE:
    k.u.aggregate.n = item->count;
    k.u.aggregate.elems = item->data.elems;
    return k;
  default:
    return item->data.key != NULL ? *item->data.key : k;
  }
}

static const void *copy_bytes(Pool *pool, const void *data, size_t n)
{
  if (n == 0)
    return NULL;
  void *copy = arena_alloc(pool->arena, n, _Alignof(uint64_t));
  memcpy(copy, data, n);
  return copy;
}

/* The key with everything it points to copied. */
static const PoolKey *own_key(Pool *pool, const PoolKey *key)
{
  PoolKey *k = arena_new(pool->arena, PoolKey);
  *k = *key;
  if (k->kind == PK_ARRAY_TYPE) {
    k->u.array.dims = copy_bytes(pool, k->u.array.dims, k->u.array.rank * sizeof(uint32_t));
  } else if (k->kind == PK_FN_TYPE) {
    k->u.fn_type.params = copy_bytes(pool, k->u.fn_type.params, k->u.fn_type.n * sizeof(PoolId));
  } else if (k->kind == PK_STRUCT_TYPE || k->kind == PK_UNION_TYPE) {
    k->u.fields.fields = copy_bytes(pool, k->u.fields.fields, k->u.fields.n * sizeof(PoolField));
    k->u.fields.facts = arena_new(pool->arena, TypeFacts);
  } else if (k->kind == PK_ENUM_TYPE) {
    k->u.enum_type.names = copy_bytes(pool, k->u.enum_type.names, k->u.enum_type.n * sizeof(StrId));
    k->u.enum_type.values =
        copy_bytes(pool, k->u.enum_type.values, k->u.enum_type.n * sizeof(PoolId));
  }
  return k;
}

static unsigned height_of_all(const Pool *pool, const PoolId *parts, uint32_t n)
{
  unsigned most = 0;
  for (uint32_t i = 0; i < n; i++) {
    unsigned height = value_symbolic_height(pool, parts[i]);
    most = height > most ? height : most;
  }
  return most;
}

static uint8_t key_symbolic_height(const Pool *pool, const PoolKey *key)
{
  PoolId parts[3] = {{0}};
  if (key->kind == PK_AGGREGATE)
    return (uint8_t)height_of_all(pool, key->u.aggregate.elems, key->u.aggregate.n);
  if (key->kind == PK_RANGE) {
    parts[0] = key->u.range.start;
    parts[1] = key->u.range.stop;
    parts[2] = key->u.range.step;
    return (uint8_t)height_of_all(pool, parts, 3);
  }
  if (key->kind != PK_SYMBOLIC)
    return 0;
  parts[0] = key->u.symbolic.a;
  parts[1] = key->u.symbolic.b;
  unsigned below = height_of_all(pool, parts, 2);
  return (uint8_t)(below < UINT8_MAX ? below + 1 : UINT8_MAX);
}

static bool key_has_pointer(const Pool *pool, const PoolKey *key)
{
  bool has = key->kind == PK_POINTER;
  for (uint32_t i = 0; key->kind == PK_AGGREGATE && i < key->u.aggregate.n; i++)
    has |= value_has_pointer(pool, key->u.aggregate.elems[i]);
  return has;
}

static void item_fill(Pool *pool, Item *item, const PoolKey *key)
{
  item->symbolic_height = key_symbolic_height(pool, key);
  item->has_pointer = key_has_pointer(pool, key);
  item->kind = (uint8_t)key->kind;
  item->type = key->type.raw;
  switch ((int)key->kind) {
  case PK_INT:
    item->is_big = key->u.integer.big != NULL;
    if (item->is_big)
      item->data.text =
          arena_copy_text(pool->arena, key->u.integer.big, strlen(key->u.integer.big));
    else
      item->data.small = key->u.integer.small;
    break;
  case PK_FLOAT:
    item->data.bits = key->u.floating.bits;
    break;
  case PK_STRING:
    item->data.bits = key->u.string.raw;
    break;
  case PK_AGGREGATE:
    item->count = key->u.aggregate.n;
    item->data.elems =
        copy_bytes(pool, key->u.aggregate.elems, key->u.aggregate.n * sizeof(PoolId));
    break;
  default:
    item->data.key = own_key(pool, key);
    break;
  }
}

static uint32_t item_add(Pool *pool)
{
  if (pool->n_items == pool->cap_items) {
    pool->cap_items = pool->cap_items == 0 ? 1024 : pool->cap_items * 2;
    pool->items = base_realloc(pool->items, pool->cap_items * sizeof(Item));
  }
  if (pool->n_items >= IMM_FLAG)
    ICE("more than 2^31 different values");
  memset(&pool->items[pool->n_items], 0, sizeof(Item));
  return pool->n_items++;
}

static void table_put(Pool *pool, TableEntry entry)
{
  uint32_t at = entry.hash & pool->mask;
  while (pool->table[at].id != 0)
    at = (at + 1) & pool->mask;
  pool->table[at] = entry;
}

/* In the order of the table, so that the entries of the new one come in order, too. */
static void table_grow(Pool *pool)
{
  uint32_t before = pool->mask + 1;
  TableEntry *old = pool->table;
  pool->table = base_zeroed(2 * (size_t)before, sizeof *pool->table);
  pool->mask = 2 * before - 1;
  for (uint32_t i = 0; i < before; i++)
    if (old[i].id != 0)
      table_put(pool, old[i]);
  free(old);
}

PoolId pool_get(Pool *pool, const PoolKey *key)
{
  PoolId id;
  if (key->kind == PK_INT && key->u.integer.big == NULL &&
      imm_make(key->type, key->u.integer.small, &id))
    return id;
  uint32_t hash = hash_key(key);
  uint32_t at = hash & pool->mask;
  for (; pool->table[at].id != 0; at = (at + 1) & pool->mask) {
    if (pool->table[at].hash != hash)
      continue;
    const Item *item = &pool->items[pool->table[at].id];
    if (item->kind == (uint8_t)key->kind && item->type == key->type.raw) {
      PoolKey found = item_key(item);
      if (same_payload(&found, key))
        return (PoolId){pool->table[at].id};
    }
  }
  id.raw = item_add(pool);
  item_fill(pool, &pool->items[id.raw], key);
  pool->table[at] = (TableEntry){id.raw, hash};
  if (pool->n_items > (pool->mask + 1) / 2)
    table_grow(pool);
  return id;
}

PoolKey pool_key(const Pool *pool, PoolId id)
{
  if (is_immediate(id))
    return (PoolKey){.kind = PK_INT, .type = imm_type(id), .u.integer.small = imm_value(id)};
  return item_key(&pool->items[id.raw]);
}

PoolKind pool_kind(const Pool *pool, PoolId id)
{
  return is_immediate(id) ? PK_INT : (PoolKind)pool->items[id.raw].kind;
}

PoolId pool_type_of(const Pool *pool, PoolId value)
{
  return is_immediate(value) ? imm_type(value) : (PoolId){pool->items[value.raw].type};
}

bool value_has_pointer(const Pool *pool, PoolId value)
{
  return !is_immediate(value) && pool->items[value.raw].has_pointer;
}

unsigned value_symbolic_height(const Pool *pool, PoolId value)
{
  return is_immediate(value) ? 0 : pool->items[value.raw].symbolic_height;
}

bool value_has_symbolic(const Pool *pool, PoolId value)
{
  return value_symbolic_height(pool, value) > 0;
}

StrTable *pool_names(const Pool *pool)
{
  return pool->names;
}

/* ---- creation ------------------------------------------------------------------------------- */

static void add_known(Pool *pool, uint32_t raw, PoolKind kind, uint32_t type)
{
  uint32_t id = item_add(pool);
  if (id != raw)
    ICE("predeclared ids are out of step");
  pool->items[id].kind = (uint8_t)kind;
  pool->items[id].type = type;
}

static void add_known_int(Pool *pool, uint32_t raw, bool is_signed, uint16_t bits)
{
  PoolKey key = {.kind = PK_INT_TYPE, .type = POOL(TYPE),
                 .u.int_type = {.is_signed = is_signed, .bits = bits}};
  if (!pool_eq(pool_get(pool, &key), (PoolId){raw}))
    ICE("predeclared ids are out of step");
}

static void *gmp_realloc(void *old, size_t old_size, size_t size)
{
  (void)old_size;
  return base_realloc(old, size);
}

static void gmp_free(void *old, size_t size)
{
  (void)size;
  free(old);
}

void pool_check_memory(void)
{
  mp_set_memory_functions(base_malloc, gmp_realloc, gmp_free);
}

Pool *pool_create(Arena *arena, StrTable *names)
{
  Pool *pool = arena_new(arena, Pool);
  pool->arena = arena;
  pool->names = names;
  pool->mask = 4095;
  pool->table = base_zeroed(pool->mask + 1, sizeof *pool->table);
  add_known(pool, POOL_RAW_NONE, PK_POISON, POOL_RAW_POISON_TYPE);
#define T(name, text) add_known(pool, POOL_RAW_##name, PK_WELL_KNOWN_TYPE, POOL_RAW_TYPE);
  WELL_KNOWN_TYPES(T)
#undef T
  add_known(pool, POOL_RAW_POISON, PK_POISON, POOL_RAW_POISON_TYPE);
  add_known(pool, POOL_RAW_VOID_VALUE, PK_VOID_VALUE, POOL_RAW_VOID);
  add_known(pool, POOL_RAW_TRUE, PK_BOOL_VALUE, POOL_RAW_BOOL);
  add_known(pool, POOL_RAW_FALSE, PK_BOOL_VALUE, POOL_RAW_BOOL);
  for (unsigned i = 0; i < 8; i++)
    add_known_int(pool, POOL_RAW_I8 + i, i < 4, (uint16_t)(8u << i % 4));
  return pool;
}

void pool_destroy(Pool *pool)
{
  free(pool->items);
  free(pool->table);
  pool->items = NULL;
  pool->table = NULL;
}

/* ---- conveniences --------------------------------------------------------------------------- */

PoolId pool_int_type(Pool *pool, bool is_signed, unsigned bits)
{
  return pool_get(pool, &(PoolKey){.kind = PK_INT_TYPE, .type = POOL(TYPE),
                                   .u.int_type = {.is_signed = is_signed, .bits = bits}});
}

PoolId pool_array_type(Pool *pool, const uint32_t *dims, uint32_t rank, PoolId element)
{
  return pool_get(pool, &(PoolKey){.kind = PK_ARRAY_TYPE, .type = POOL(TYPE),
                                   .u.array = {.rank = rank, .dims = dims, .element = element}});
}

PoolId pool_pointer_type(Pool *pool, bool is_many, bool is_const, PoolId pointee)
{
  return pool_get(pool, &(PoolKey){.kind = PK_POINTER_TYPE, .type = POOL(TYPE),
                                   .u.pointer_type = {.is_many = is_many, .is_const = is_const,
                                                      .pointee = pointee}});
}

PoolId pool_open_struct(Pool *pool, PoolKind kind, StrId name)
{
  PoolKey key = {.kind = kind, .type = POOL(TYPE), .u.fields.name = name};
  PoolId id = {item_add(pool)};
  item_fill(pool, &pool->items[id.raw], &key);
  return id;
}

void pool_close_struct(Pool *pool, PoolId open, PoolId made)
{
  pool->items[open.raw].data = pool->items[made.raw].data;
}

PoolId pool_range_type(Pool *pool, PoolId element)
{
  return pool_get(pool, &(PoolKey){.kind = PK_RANGE_TYPE, .type = POOL(TYPE),
                                   .u.array.element = element});
}

PoolId pool_int(Pool *pool, PoolId type, int64_t value)
{
  PoolId id;
  if (imm_make(type, value, &id))
    return id;
  return pool_get(pool, &(PoolKey){.kind = PK_INT, .type = type, .u.integer.small = value});
}

PoolId pool_bigint(Pool *pool, PoolId type, const mpz_t value)
{
  if (wide_is_small(value))
    return pool_int(pool, type, (int64_t)wide_low_bits(value));
  char *text = mpz_get_str(NULL, 10, value);
  PoolId id =
      pool_get(pool, &(PoolKey){.kind = PK_INT, .type = type, .u.integer.big = text});
  void (*release)(void *, size_t);
  mp_get_memory_functions(NULL, NULL, &release);
  release(text, strlen(text) + 1);
  return id;
}

void pool_mpz(const Pool *pool, PoolId value, mpz_t out)
{
  PoolKey k = pool_key(pool, value);
  if (k.u.integer.big != NULL)
    mpz_set_str(out, k.u.integer.big, 10);
  else
    wide_set_i64(out, k.u.integer.small);
}

static Fp16Format format_of(PoolId type)
{
  return pool_eq(type, POOL(BF16)) ? FP16_BF16 : pool_eq(type, POOL(CB16)) ? FP16_CB16 : FP16_F16;
}

PoolId pool_float(Pool *pool, PoolId type, double value)
{
  uint64_t bits;
  if (pool_eq(type, POOL(F32)))
    bits = fp32_from_double(value);
  else if (type_is_float16(type))
    bits = fp16_from_double(format_of(type), value);
  else
    memcpy(&bits, &value, sizeof bits);
  return pool_float_bits(pool, type, bits);
}

PoolId pool_float_bits(Pool *pool, PoolId type, uint64_t bits)
{
  return pool_get(pool, &(PoolKey){.kind = PK_FLOAT, .type = type, .u.floating.bits = bits});
}

PoolId pool_bool(bool value)
{
  return value ? POOL(TRUE) : POOL(FALSE);
}

PoolId pool_string(Pool *pool, StrId text)
{
  return pool_get(pool,
                  &(PoolKey){.kind = PK_STRING, .type = POOL(COMPTIME_STRING), .u.string = text});
}

PoolId pool_aggregate(Pool *pool, PoolId type, const PoolId *elems, uint32_t n)
{
  return pool_get(pool, &(PoolKey){.kind = PK_AGGREGATE, .type = type,
                                   .u.aggregate = {.n = n, .elems = elems}});
}

bool pool_int_value(const Pool *pool, PoolId value, int64_t *out)
{
  if (is_immediate(value)) {
    *out = imm_value(value);
    return true;
  }
  const Item *item = &pool->items[value.raw];
  if (item->kind != PK_INT || item->is_big)
    return false;
  *out = item->data.small;
  return true;
}

double pool_float_value(const Pool *pool, PoolId value)
{
  const Item *item = &pool->items[value.raw];
  PoolId type = {item->type};
  if (pool_eq(type, POOL(F32)))
    return fp32_to_double((uint32_t)item->data.bits);
  if (type_is_float16(type))
    return fp16_to_double(format_of(type), (uint16_t)item->data.bits);
  double value_out;
  memcpy(&value_out, &item->data.bits, sizeof value_out);
  return value_out;
}

PoolId pool_field(const Pool *pool, PoolId value, StrId name)
{
  PoolKey k = pool_key(pool, value);
  if (k.kind != PK_AGGREGATE)
    return POOL(NONE);
  PoolKey type = pool_key(pool, k.type);
  if (type.kind != PK_STRUCT_TYPE)
    return POOL(NONE);
  for (uint32_t i = 0; i < type.u.fields.n; i++)
    if (str_eq(type.u.fields.fields[i].name, name))
      return k.u.aggregate.elems[i];
  return POOL(NONE);
}
