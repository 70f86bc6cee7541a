/* Constants and parameters of tile programs, for debuggers: numbers that no memory holds. */
#include "frontend/layout/layout_internal.h"

#include <stb_ds.h>
#include <string.h>

/* The library's names would be most of them, and are not the program's. */
static bool is_of_library(const Sema *s, const ModuleInstance *m)
{
  return str_text(s->session->names, m->path)[0] == '<';
}

static bool has_place(const Sema *s, const Decl *d)
{
  return d->global != IR_NO_ID && !ir_global_is_none(s->globals[d->global].ir);
}

/* False: the value is no number of up to 64 bits. */
static bool read_number(Sema *s, PoolId value, DebugConstant *out)
{
  PoolKey key = pool_key(s->pool, value);
  bool at_compile_time = pool_eq(key.type, POOL(COMPTIME_INT)) ||
                         pool_eq(key.type, POOL(COMPTIME_FLOAT));
  int64_t integer;
  if (key.kind == PK_BOOL_VALUE)
    out->value = pool_eq(value, POOL(TRUE));
  else if (key.kind == PK_INT &&
           (at_compile_time ? pool_int_value(s->pool, value, &integer)
                            : type_bytes(s->pool, key.type) <= sizeof out->value))
    out->value = value_int_bits(s->pool, value);
  else if (key.kind == PK_FLOAT)
    out->value = key.u.floating.bits;
  else
    return false;
  out->is_float = at_compile_time && key.kind == PK_FLOAT;
  out->type = at_compile_time ? DEBUG_NO_TYPE : debug_type_of(s->session->debug_types, key.type);
  return true;
}

enum { MOST_HEIGHT = 8 };      /* of an expression whose law is looked for: parts may come twice */

static int64_t lesser_of(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t greater_of(int64_t a, int64_t b) { return a > b ? a : b; }

static PlaceLaw multiply_law(PlaceLaw law, int64_t factor)
{
  uint64_t times = (uint64_t)factor;
  int64_t a = factor * law.least, b = factor * law.most;
  return (PlaceLaw){law.holds, times * law.first, times * law.per_x, times * law.per_y,
                    lesser_of(a, b), greater_of(a, b)};
}

static PlaceLaw add_laws(PlaceLaw a, PlaceLaw b)
{
  return (PlaceLaw){a.holds && b.holds, a.first + b.first, a.per_x + b.per_x, a.per_y + b.per_y,
                    a.least + b.least, a.most + b.most};
}

static PlaceLaw law_of(const Sema *s, const PlaceLaw *laws, PoolId value);

/* Sums, differences, and products with a number. */
static PlaceLaw law_of_operation(const Sema *s, const PlaceLaw *laws, const PoolKey *key)
{
  PlaceLaw a = law_of(s, laws, key->u.symbolic.a), b = law_of(s, laws, key->u.symbolic.b);
  BinaryOp op = (BinaryOp)key->u.symbolic.op;
  if (!a.holds || !b.holds)
    return (PlaceLaw){.holds = false};
  if (op == BINARY_ADD || op == BINARY_SUB)
    return add_laws(a, multiply_law(b, op == BINARY_ADD ? 1 : -1));
  if (op == BINARY_MUL && (a.least == a.most || b.least == b.most))
    return a.least == a.most ? multiply_law(b, a.least) : multiply_law(a, b.least);
  return (PlaceLaw){.holds = false};
}

/* The law of an integer.  It holds only if no step of the way leaves its type on any tile. */
static PlaceLaw law_of(const Sema *s, const PlaceLaw *laws, PoolId value)
{
  PoolKey key = pool_key(s->pool, value);
  PlaceLaw law = {.holds = false};
  int64_t number;
  if (pool_int_value(s->pool, value, &number))
    law = (PlaceLaw){.holds = true, .first = (uint64_t)number, .least = number, .most = number};
  else if (key.kind == PK_SYMBOLIC && key.u.symbolic.sym == SYM_PARAM)
    law = laws[key.u.symbolic.index];
  else if (key.kind == PK_SYMBOLIC && key.u.symbolic.sym == SYM_CONVERT)
    law = law_of(s, laws, key.u.symbolic.a);
  else if (key.kind == PK_SYMBOLIC && key.u.symbolic.sym == SYM_BINARY)
    law = law_of_operation(s, laws, &key);
  law.holds &= law_can_have(law.least) && law_can_have(law.most) &&
               type_is_int(s->pool, key.type) &&
               value_small_fits(s->pool, key.type, law.least) &&
               value_small_fits(s->pool, key.type, law.most);
  return law;
}

/* What differs from tile to tile: known where the program relies on it, by the tile's place, or in
 * the tile's own data. */
static bool read_symbolic(Sema *s, const PlaceLaw *laws, PoolId value, DebugConstant *out)
{
  PoolId outcome, type = pool_type_of(s->pool, value);
  bool at_compile_time = pool_eq(type, POOL(COMPTIME_INT));
  if (tile_env_forced(s, value, &outcome))
    return read_number(s, outcome, out);
  PlaceLaw law = {.holds = false};
  if (value_symbolic_height(s->pool, value) <= MOST_HEIGHT)
    law = law_of(s, laws, value);
  uint32_t offset;
  if (law.holds)
    *out = (DebugConstant){.kind = NUMBER_OF_PLACE, .value = law.first, .per_x = law.per_x,
                           .per_y = law.per_y};
  else if (tile_env_word_place(s, value, &offset))
    *out = (DebugConstant){.kind = NUMBER_OF_TILE, .value = offset};
  else
    return false;
  out->type = at_compile_time ? DEBUG_NO_TYPE : debug_type_of(s->session->debug_types, type);
  return true;
}

void class_constants_find(Sema *s, const PlaceLaw *laws, ProgramClass *class, Arena *arena)
{
  DebugConstant *found = NULL;
  for (uint32_t m = 0; s->session->options->debug && m < arrlenu(s->modules); m++) {
    if (is_of_library(s, &s->modules[m]))
      continue;
    for (size_t i = 0; i < arrlenu(s->modules[m].decls); i++) {
      const Decl *d = &s->modules[m].decls[i];
      DebugConstant constant = {.kind = NUMBER_OF_CLASS};
      if (d->kind == DECL_VAR || d->kind == DECL_FN || d->state != DECL_DONE || has_place(s, d) ||
          !(sema_is_symbolic(s, d->value) ? read_symbolic(s, laws, d->value, &constant)
                                          : read_number(s, d->value, &constant)))
        continue;
      constant.name = sema_whole_name(s, m, d->name);
      arrput(found, constant);
    }
  }
  class->n_constants = (uint32_t)arrlenu(found);
  DebugConstant *all = arena_many(arena, DebugConstant, class->n_constants + 1);
  if (found)
    memcpy(all, found, class->n_constants * sizeof *found);
  class->constants = all;
  arrfree(found);
}

void class_constants_keep(ProgramClass *class, Arena *arena)
{
  DebugConstant *all = arena_many(arena, DebugConstant, class->n_constants + 1);
  for (uint32_t i = 0; i < class->n_constants; i++) {
    all[i] = class->constants[i];
    all[i].name = arena_copy_text(arena, all[i].name, strlen(all[i].name));
  }
  class->constants = all;
}

static bool is_same(const DebugConstant *a, const DebugConstant *b)
{
  return a->type == b->type && a->is_float == b->is_float && a->kind == b->kind &&
         a->value == b->value && a->per_x == b->per_x && a->per_y == b->per_y &&
         strcmp(a->name, b->name) == 0;
}

void class_constants_join(ProgramClass *kept, const ProgramClass *other)
{
  DebugConstant *all = (DebugConstant *)(uintptr_t)kept->constants;
  uint32_t n = 0, next = 0;             /* both lists are in the order of the source */
  for (uint32_t i = 0; i < kept->n_constants; i++) {
    uint32_t k = next;
    while (k < other->n_constants && !is_same(&all[i], &other->constants[k]))
      k++;
    if (k == other->n_constants)
      continue;
    next = k + 1;
    all[n++] = all[i];
  }
  kept->n_constants = n;
}
