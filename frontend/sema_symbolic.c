/* Values that depend on the tile: computing them for a tile, and forcing them.
 *
 * A symbolic value is a tree of operations over tile parameters.  It has no overflow check until
 * it is computed for a tile; forcing computes it for the tile that stands for the class and
 * records the outcome, on which the class depends from then on. */
#include "frontend/sema_internal.h"

#include <stdlib.h>

/* Each tree node is computed once a tile even if it is shared: the trees are small, but sharing
 * can make them wide.  The recursion is bounded by the height of the source expressions. */
static PoolId eval(Sema *s, PoolId value, const PoolId *params);

static PoolId eval_symbolic(Sema *s, const PoolKey *k, const PoolId *params)
{
  Span nowhere = {0, 0};
  if (k->u.symbolic.sym == SYM_PARAM)
    return params != NULL ? params[k->u.symbolic.index] : tile_env_param(s, k->u.symbolic.index);
  PoolId a = eval(s, k->u.symbolic.a, params);
  if (a.raw == POOL_RAW_POISON)
    return a;
  PoolId type = pool_type_of(s->pool, a);
  switch (k->u.symbolic.sym) {
  case SYM_UNARY:
    return fold_unary(s, (UnaryOp)k->u.symbolic.op, type, a, nowhere);
  case SYM_BINARY: {
    PoolId b = eval(s, k->u.symbolic.b, params);
    return b.raw == POOL_RAW_POISON
               ? b : fold_binary(s, (BinaryOp)k->u.symbolic.op, type, a, b, nowhere);
  }
  case SYM_CONVERT:
    return fold_convert(s, a, k->type, nowhere);
  case SYM_BITCAST:
    return fold_bitcast(s, a, k->type);
  case SYM_PARAM:
  case SYM_INIT:
    break;
  }
  ICE("symbolic value of kind %d", (int)k->u.symbolic.sym);
}

static PoolId eval_elements(Sema *s, const PoolKey *k, const PoolId *params)
{
  uint32_t n = k->u.aggregate.n;
  PoolId *elems = base_malloc((n + 1u) * sizeof *elems);
  PoolId out = POOL(POISON);
  for (uint32_t i = 0; i < n; i++) {
    elems[i] = eval(s, k->u.aggregate.elems[i], params);
    if (elems[i].raw == POOL_RAW_POISON)
      goto done;
  }
  out = pool_aggregate(s->pool, k->type, elems, n);
done:
  free(elems);
  return out;
}

static PoolId eval(Sema *s, PoolId value, const PoolId *params)
{
  if (!value_has_symbolic(s->pool, value))
    return value;
  PoolKey k = pool_key(s->pool, value);
  if (k.kind == PK_SYMBOLIC)
    return eval_symbolic(s, &k, params);
  if (k.kind == PK_AGGREGATE)
    return eval_elements(s, &k, params);
  k.u.range.start = eval(s, k.u.range.start, params);
  k.u.range.stop = eval(s, k.u.range.stop, params);
  k.u.range.step = eval(s, k.u.range.step, params);
  if (k.u.range.start.raw == POOL_RAW_POISON || k.u.range.stop.raw == POOL_RAW_POISON ||
      k.u.range.step.raw == POOL_RAW_POISON)
    return POOL(POISON);
  return pool_get(s->pool, &k);
}

/* The folders report without a place; what they reported is replaced by one message. */
static PoolId eval_quietly(Sema *s, PoolId value, const PoolId *params)
{
  size_t mark = diags_mark(s->diags);
  PoolId out = eval(s, value, params);
  if (out.raw == POOL_RAW_POISON)
    diags_rewind(s->diags, mark);
  return out;
}

PoolId sema_eval_symbolic(Sema *s, PoolId symbolic, const PoolId *params)
{
  return eval_quietly(s, symbolic, params);
}

PoolId value_on_tile(Sema *s, PoolId value)
{
  return eval_quietly(s, value, NULL);
}

bool sema_is_symbolic(const Sema *s, PoolId value)
{
  return pool_kind(s->pool, value) == PK_SYMBOLIC;
}

static PoolId force_elements(Sema *s, const PoolKey *k)
{
  uint32_t n = k->u.aggregate.n;
  PoolId *elems = base_malloc((n + 1u) * sizeof *elems);
  PoolId out = POOL(POISON);
  for (uint32_t i = 0; i < n; i++) {
    elems[i] = sema_force(s, k->u.aggregate.elems[i]);
    if (elems[i].raw == POOL_RAW_POISON)
      goto done;
  }
  out = pool_aggregate(s->pool, k->type, elems, n);
done:
  free(elems);
  return out;
}

PoolId sema_force(Sema *s, PoolId value)
{
  if (!value_has_symbolic(s->pool, value))
    return value;
  PoolKey k = pool_key(s->pool, value);
  if (k.kind == PK_AGGREGATE)
    return force_elements(s, &k);
  if (k.kind == PK_RANGE) {
    k.u.range.start = sema_force(s, k.u.range.start);
    k.u.range.stop = sema_force(s, k.u.range.stop);
    k.u.range.step = sema_force(s, k.u.range.step);
    return pool_get(s->pool, &k);
  }
  PoolId result = value_on_tile(s, value);
  if (result.raw == POOL_RAW_POISON) {
    sema_error(s, bad_on_tile, s->own->at, k.type);
    return result;
  }
  tile_env_record(s, value, result);
  return result;
}
