/* The struct of parameters that a main file is imported with. */
#include "frontend/layout/regions.h"

BoundParams bound_params_create(Arena *arena, size_t most)
{
  return (BoundParams){arena_many(arena, PoolField, most + 1), arena_many(arena, PoolId, most + 1),
                       0};
}

void bound_params_set(Session *session, BoundParams *bound, const char *name, PoolId value)
{
  PoolField field = {str_intern_z(session->names, name), pool_type_of(session->pool, value)};
  uint32_t i = 0;
  while (i < bound->n && !str_eq(bound->fields[i].name, field.name))
    i++;
  bound->fields[i] = field;
  bound->values[i] = value;
  bound->n += i == bound->n;
}

PoolId bound_params_value(Session *session, const BoundParams *bound)
{
  PoolKey key = {.kind = PK_STRUCT_TYPE, .type = POOL(TYPE)};
  key.u.fields.n = bound->n;
  key.u.fields.fields = bound->fields;
  return pool_aggregate(session->pool, pool_get(session->pool, &key), bound->values, bound->n);
}
