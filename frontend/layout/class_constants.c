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

/* False: the value is no number of up to 64 bits, or it differs from tile to tile. */
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

void class_constants_find(Sema *s, ProgramClass *class, Arena *arena)
{
  DebugConstant *found = NULL;
  for (uint32_t m = 0; s->session->options->debug && m < arrlenu(s->modules); m++) {
    if (is_of_library(s, &s->modules[m]))
      continue;
    for (size_t i = 0; i < arrlenu(s->modules[m].decls); i++) {
      const Decl *d = &s->modules[m].decls[i];
      DebugConstant constant;
      if (d->kind == DECL_VAR || d->kind == DECL_FN || d->state != DECL_DONE || has_place(s, d) ||
          !read_number(s, d->value, &constant))
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
  return a->type == b->type && a->is_float == b->is_float && a->value == b->value &&
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
