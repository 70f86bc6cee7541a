/* Values that depend on the tile: computing them for a tile, and forcing them.
 *
 * A symbolic value is a tree of operations over tile parameters. The overflow check comes when it
 * is computed for a tile. Forcing computes it for the tile that represents the class and records
 * the outcome; the class then depends on this outcome. */
#include "frontend/sema/sema_internal.h"

#include <stdlib.h>
#include "stb_ds.h"

static const Span nowhere = {0, 0};

/* What a node is, of operands that are known; `at` is the place of messages. */
static PoolId compute_node(Sema *s, const PoolKey *k, PoolId a, PoolId b, Span at)
{
  if (pool_eq(a, POOL(POISON)) || pool_eq(b, POOL(POISON)))
    return POOL(POISON);
  PoolId type = pool_type_of(s->pool, a);
  switch (k->u.symbolic.sym) {
  case SYM_UNARY:
    return fold_unary(s, (UnaryOp)k->u.symbolic.op, type, a, at);
  case SYM_BINARY:
    return fold_binary(s, (BinaryOp)k->u.symbolic.op, type, a, b, at);
  case SYM_CONVERT:
    return fold_convert(s, a, k->type, at);
  case SYM_BITCAST:
    return fold_bitcast(s, a, k->type);
  case SYM_PARAM:
  case SYM_INIT:
    break;
  }
  ICE("symbolic value of kind %d", (int)k->u.symbolic.sym);
}

static PoolId param_value(Sema *s, const PoolKey *k, const PoolId *params)
{
  uint32_t index = k->u.symbolic.index;
  return params != NULL ? params[index] : tile_env_param(s, index);
}

/* Low trees, nearly all, are computed as they stand. */
enum { LOW = 6 };

static PoolId eval_low(Sema *s, PoolId value, const PoolId *params)
{
  if (!value_has_symbolic(s->pool, value))
    return value;
  PoolKey k = pool_key(s->pool, value);
  if (k.u.symbolic.sym == SYM_PARAM)
    return param_value(s, &k, params);
  PoolId a = eval_low(s, k.u.symbolic.a, params);
  return compute_node(s, &k, a, eval_low(s, k.u.symbolic.b, params), nowhere);
}

struct Computed { uint32_t key; PoolId value; };

/* An operand's value; false if it has to be computed first. */
static bool operand_known(Sema *s, PoolId operand, const PoolId *params, PoolId *out)
{
  if (value_symbolic_height(s->pool, operand) <= LOW) {
    *out = eval_low(s, operand, params);
    return true;
  }
  ptrdiff_t at = hmgeti(s->own->computed, operand.raw);
  if (at >= 0)
    *out = s->own->computed[at].value;
  return at >= 0;
}

/* Loops make trees that are high and share most of their nodes: each node is computed once for
 * the parameters, operands first, without recursion. */
static PoolId eval_high(Sema *s, PoolId value, const PoolId *params)
{
  if (s->own->computed_for != params)
    sema_forget_computed(s);
  s->own->computed_for = params;
  PoolId *todo = NULL, result = POOL(POISON);
  arrput(todo, value);
  while (arrlenu(todo) > 0) {
    PoolId node = arrlast(todo), a = {0}, b = {0};
    if (operand_known(s, node, params, &result)) {
      (void)arrpop(todo);
      continue;
    }
    PoolKey k = pool_key(s->pool, node);
    bool has_a = operand_known(s, k.u.symbolic.a, params, &a);
    bool has_b = operand_known(s, k.u.symbolic.b, params, &b);
    if (!has_a)
      arrput(todo, k.u.symbolic.a);
    if (!has_b)
      arrput(todo, k.u.symbolic.b);
    if (!has_a || !has_b)
      continue;
    result = compute_node(s, &k, a, b, nowhere);
    hmput(s->own->computed, node.raw, result);
  }
  arrfree(todo);
  return result;
}

void sema_forget_computed(Sema *s)
{
  hmfree(s->own->computed);
}

/* Gives the value of a part of an aggregate or a range, or POOL(POISON). */
typedef PoolId PartValue(Sema *s, PoolId part, const void *context);

static PoolId eval_elements(Sema *s, const PoolKey *k, PartValue *eval, const void *context)
{
  uint32_t n = k->u.aggregate.n;
  PoolId *elems = base_malloc((n + 1u) * sizeof *elems);
  PoolId out = POOL(POISON);
  for (uint32_t i = 0; i < n; i++) {
    elems[i] = eval(s, k->u.aggregate.elems[i], context);
    if (pool_eq(elems[i], POOL(POISON)))
      goto done;
  }
  out = pool_aggregate(s->pool, k->type, elems, n);
done:
  free(elems);
  return out;
}

static PoolId eval_range(Sema *s, PoolKey k, PartValue *eval, const void *context)
{
  PoolId *parts[] = {&k.u.range.start, &k.u.range.stop, &k.u.range.step};
  for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
    *parts[i] = eval(s, *parts[i], context);
    if (pool_eq(*parts[i], POOL(POISON)))
      return POOL(POISON);
  }
  return pool_get(s->pool, &k);
}

/* `params`: PoolIds of the values of a tile; NULL: of the tile that is being compiled. */
static PoolId eval_value(Sema *s, PoolId value, const void *params)
{
  if (!value_has_symbolic(s->pool, value))
    return value;
  PoolKey k = pool_key(s->pool, value);
  if (k.kind == PK_SYMBOLIC)
    return value_symbolic_height(s->pool, value) <= LOW ? eval_low(s, value, params)
                                                        : eval_high(s, value, params);
  if (k.kind == PK_AGGREGATE)
    return eval_elements(s, &k, eval_value, params);
  return eval_range(s, k, eval_value, params);
}

/* The folders report without a place; report_on_tile says it again with one. */
static PoolId eval_quietly(Sema *s, PoolId value, const PoolId *params)
{
  size_t mark = diags_mark(s->diags);
  PoolId out = eval_value(s, value, params);
  if (pool_eq(out, POOL(POISON)))
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

/* Why the value cannot be computed for the tile: the first of its operations that fails says it. */
static void report_on_tile(Sema *s, PoolId value, Span at)
{
  for (;;) {
    PoolKey k = pool_key(s->pool, value);
    PoolId a = value_on_tile(s, k.u.symbolic.a), b = value_on_tile(s, k.u.symbolic.b);
    bool a_fails = pool_eq(a, POOL(POISON)), b_fails = pool_eq(b, POOL(POISON));
    if (!a_fails && !b_fails) {
      compute_node(s, &k, a, b, at);
      return;
    }
    value = a_fails ? k.u.symbolic.a : k.u.symbolic.b;
  }
}

static PoolId force_part(Sema *s, PoolId part, const void *at)
{
  return sema_force(s, part, *(const Span *)at);
}

PoolId sema_force(Sema *s, PoolId value, Span at)
{
  if (!value_has_symbolic(s->pool, value))
    return value;
  PoolKey k = pool_key(s->pool, value);
  if (k.kind == PK_AGGREGATE)
    return eval_elements(s, &k, force_part, &at);
  if (k.kind == PK_RANGE)
    return eval_range(s, k, force_part, &at);
  PoolId result = value_on_tile(s, value);
  if (pool_eq(result, POOL(POISON))) {
    report_on_tile(s, value, at);
    return result;
  }
  tile_env_record(s, value, result);
  return result;
}
