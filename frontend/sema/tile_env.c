/* The tile that represents a class, as an evaluation sees it: its parameters, and a record of those
 * on which the evaluation relied. */
#include "frontend/sema/sema_internal.h"

#include <stb_ds.h>
#include <string.h>

PoolId tile_env_param(Sema *s, uint32_t index)
{
  return s->tile->symbols[index];
}

bool tile_env_place(const Sema *s, uint32_t *x, uint32_t *y, Span *span, PoolId *params)
{
  const struct TileEnv *env = s->tile;
  *x = env->x;
  *y = env->y;
  *span = env->span;
  *params = env->params;
  return env->has_place;
}

void tile_env_record(Sema *s, PoolId symbolic, PoolId outcome)
{
  struct TileEnv *env = s->tile;
  if (hmgeti(env->seen, symbolic.raw) >= 0)
    return;
  hmput(env->seen, symbolic.raw, (uint32_t)arrlenu(env->trace));
  Forced forced = {symbolic, outcome};
  arrput(env->trace, forced);
}

bool tile_env_forced(Sema *s, PoolId symbolic, PoolId *outcome)
{
  struct TileEnv *env = s->tile;
  ptrdiff_t at = hmgeti(env->seen, symbolic.raw);
  if (at >= 0)
    *outcome = env->trace[env->seen[at].value].outcome;
  return at >= 0;
}

uint32_t tile_env_run_time_word(Sema *s, PoolId symbolic)
{
  struct TileEnv *env = s->tile;
  ptrdiff_t at = hmgeti(env->word_of, symbolic.raw);
  if (at >= 0)
    return env->word_of[at].value;
  uint32_t index = (uint32_t)arrlenu(env->words);
  arrput(env->words, symbolic);
  hmput(env->word_of, symbolic.raw, index);
  IrType *types = arena_many(s->ir->arena, IrType, index + 1);
  if (index > 0)
    memcpy(types, s->ir->tile_params, index * sizeof *types);
  types[index] = type_ir(s->pool, pool_type_of(s->pool, symbolic));
  s->ir->tile_params = types;
  s->ir->n_tile_params = index + 1;
  return index;
}

bool tile_env_word_place(const Sema *s, PoolId symbolic, uint32_t *offset)
{
  const struct TileEnv *env = s->tile;
  for (size_t i = *offset = 0; i < arrlenu(env->words); i++) {
    if (pool_eq(env->words[i], symbolic))
      return true;
    *offset += ir_type_bytes(s->ir->tile_params[i]);
  }
  return false;
}

void tile_env_initial_data(Sema *s, IrGlobalId global, uint32_t offset, PoolId symbolic)
{
  InitSlot slot = {global.raw, offset, symbolic};
  arrput(s->tile->inits, slot);
}

void tile_env_free(struct TileEnv *env)
{
  arrfree(env->trace);
  arrfree(env->words);
  arrfree(env->inits);
  hmfree(env->seen);
  hmfree(env->word_of);
}
