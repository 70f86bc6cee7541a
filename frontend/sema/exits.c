/* Ways out of blocks, loops and inlined functions: collected, and joined where they meet. */
#include "frontend/sema/sema_internal.h"

#include <stb_ds.h>

void exits_init(ExitList *list)
{
  list->n = 0;
  list->cap = ARRAY_COUNT(list->few);
  list->at = list->few;
}

void target_push(Sema *s, Target *target, TargetKind kind, Name label, PoolId want)
{
  if (name_is_given(label))
    for (const Target *t = s->now.frame->targets; t != NULL; t = t->up)
      if (str_eq(t->label, label.text)) {
        diag_label_redefined(s->diags, label.span, sema_text(s, label.text));
        diag_declared_here(s->diags, t->label_span, sema_text(s, label.text));
        break;
      }
  target->up = s->now.frame->targets;
  target->kind = kind;
  target->label = label.text;
  target->label_span = label.span;
  target->want = want;
  target->has_blocks = target->is_broken = target->is_continued = false;
  exits_init(&target->breaks);
  exits_init(&target->continues);
  s->now.frame->targets = target;
}

void target_pop(Sema *s, Target *target)
{
  s->now.frame->targets = target->up;
}

void exit_add(Sema *s, ExitList *list, Operand value, Span span)
{
  if (list->n == list->cap) {
    Exit *more = arena_many(s->arena, Exit, list->cap * 2);
    memcpy(more, list->at, list->n * sizeof *more);
    list->at = more;
    list->cap *= 2;
  }
  list->at[list->n++] = (Exit){s->b.block, s->b.loc, value, span};
  s->is_dead = true;
}

static bool all_meet_in(Sema *s, const ExitList *list, Operand in)
{
  for (uint32_t i = 0; i < list->n; i++)
    if (!pool_eq(sema_peer_type(s, list->at[i].value, in), in.type))
      return false;
  return true;
}

/* The type of one of the values that all others can take: two of them may have no common type
 * without a third, as u32 and i16 meet in i64.  Reports the exit that has none with those before
 * it, whose type is `peer`. */
static PoolId meeting_type(Sema *s, const ExitList *list, uint32_t exit, PoolId peer)
{
  for (uint32_t i = 0; i < list->n; i++)
    if (all_meet_in(s, list, list->at[i].value))
      return list->at[i].value.type;
  diag_no_peer_type(s->diags, list->at[exit].span, peer, list->at[exit].value.type);
  diag_other_branch(s->diags, list->at[0].span);
  return POOL(POISON_TYPE);
}

/* The values' own common type; the context's where they have none that the machine can hold
 * (`x = if (c) 1 else 0`). */
static PoolId join_type(Sema *s, const ExitList *list, PoolId want, Span span)
{
  bool all_void = true;
  for (uint32_t i = 0; i < list->n; i++) {
    if (operand_is_poison(list->at[i].value))
      return POOL(POISON_TYPE);
    all_void = all_void && pool_eq(list->at[i].value.type, POOL(VOID));
  }
  if (all_void)
    return POOL(VOID);
  bool has_want = !pool_is_none(want) && !pool_eq(want, POOL(VOID));
  Operand peer = list->at[0].value;
  for (uint32_t i = 1; i < list->n; i++) {
    Operand other = list->at[i].value;
    PoolId type = sema_peer_type(s, peer, other);
    if (pool_is_none(type) && has_want)
      return want;
    if (pool_is_none(type))
      return meeting_type(s, list, i, peer.type);
    if (!pool_eq(type, peer.type))
      peer = pool_eq(type, other.type) ? other : operand_runtime(IR_NO_VALUE, type);
  }
  if (type_is_comptime_only(s->pool, peer.type) && has_want)
    return want;
  if (type_is_comptime_only(s->pool, peer.type)) {
    diag_comptime_only_branches(s->diags, span, peer.type);
    sema_note_run_time(s, peer.type, span);
    return POOL(POISON_TYPE);
  }
  return peer.type;
}

static void join_blocks(Sema *s, ExitList *list, IrBlockId join)
{
  IrLocId here = s->b.loc;
  for (uint32_t i = 0; i < list->n; i++) {
    s->b.block = list->at[i].block;
    s->b.loc = list->at[i].loc;
    ir_br(&s->b, join, NULL, 0);
  }
  s->b.loc = here;
  s->b.block = join;
}

/* Values that are equal at compile time and need no code stay known after the join. */
static bool all_equal(const ExitList *list)
{
  for (uint32_t i = 0; i < list->n; i++) {
    Operand a = list->at[0].value, o = list->at[i].value;
    if (o.kind != OPR_COMPTIME || !pool_eq(a.value, o.value) || !pool_eq(a.type, o.type))
      return false;
  }
  return true;
}

/* What is known of a struct whichever exit is taken, or none. */
static PoolId known_by_all(Sema *s, const ExitList *list, PoolId type)
{
  PoolKey k = pool_key(s->pool, type);
  if (k.kind != PK_STRUCT_TYPE || k.u.fields.is_tuple || k.u.fields.n == 0)
    return POOL(NONE);
  PoolId *fields = arena_many(s->arena, PoolId, k.u.fields.n);
  for (uint32_t i = 0; i < list->n; i++) {
    Operand o = list->at[i].value;
    if (!pool_eq(o.type, type) || pool_is_none(o.value) ||
        pool_kind(s->pool, o.value) != PK_AGGREGATE)
      return POOL(NONE);
    const PoolId *elems = pool_key(s->pool, o.value).u.aggregate.elems;
    for (uint32_t f = 0; f < k.u.fields.n; f++)
      fields[f] = i == 0 || pool_eq(fields[f], elems[f]) ? elems[f] : POOL(NONE);
  }
  return pool_aggregate(s->pool, type, fields, k.u.fields.n);
}

Operand exits_join(Sema *s, ExitList *list, PoolId want, Span span)
{
  s->is_dead = list->n == 0;
  if (list->n == 0)
    return operand_void();
  if (list->n == 1) {
    s->b.block = list->at[0].block;
    return list->at[0].value;
  }
  PoolId type = join_type(s, list, want, span);
  IrBlockId join = ir_block_add(s->ir, s->b.func);
  if (pool_eq(type, POOL(VOID)) || pool_eq(type, POOL(POISON_TYPE)) || all_equal(list)) {
    Operand value = list->at[0].value;
    join_blocks(s, list, join);
    return pool_eq(type, POOL(POISON_TYPE)) ? operand_poison() : value;
  }
  IrType ir_type = type_ir(s->pool, type);
  bool is_scalar = ir_type != IRT_VOID;
  IrValue result = IR_NO_VALUE;
  Operand place = operand_poison();
  if (is_scalar)
    result = ir_block_param(s->ir, s->b.func, join, ir_type);
  else
    place = sema_temp(s, type);
  if (!is_scalar)
    place.value = known_by_all(s, list, type);
  bool is_bad = false;
  IrLocId here = s->b.loc;
  for (uint32_t i = 0; i < list->n; i++) {
    s->b.block = list->at[i].block;
    s->b.loc = list->at[i].loc;
    Operand o = sema_coerce(s, list->at[i].value, type, list->at[i].span);
    is_bad = is_bad || operand_is_poison(o);
    IrValue arg = is_scalar && !operand_is_poison(o) ? sema_ir(s, o) : IR_NO_VALUE;
    if (is_scalar && operand_is_poison(o))
      arg = ir_const(&s->b, ir_type, 0);
    else if (!is_scalar && !operand_is_poison(o))
      place_init(s, place, o);
    ir_br(&s->b, join, &arg, is_scalar ? 1 : 0);
  }
  s->b.loc = here;
  s->b.block = join;
  if (is_bad)
    return operand_poison();
  return is_scalar ? operand_runtime(result, type) : place;
}

void sema_note_left_out(Sema *s)
{
  if (sema_emits(s) && !sema_is_library(s, s->now.module))
    arrput(s->left_out, ((LeftOut){s->b.func, s->b.block}));
}
