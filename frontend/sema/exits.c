/* Ways out of blocks, loops and functions: the statements that take them; those that the walk goes
 * on behind are collected, and joined where they meet. */
#include "frontend/sema/sema_internal.h"

#include <stb_ds.h>

void exits_init(ExitList *list)
{
  list->n = 0;
  list->cap = ARRAY_COUNT(list->few);
  list->at = list->few;
  list->left_at = (Span){0, 0};
  list->forked = NULL;
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
  target->depth = s->now.run_time_depth;
  target->serial = s->own->next_serial;
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

/* An exit by a statement; `list` is the target's breaks or continues.  Which conditions the run
 * decides is not known in a template; the walk of a call knows. */
static void target_leave(Sema *s, Target *target, ExitList *list, Operand value, Span span)
{
  bool is_conditional = s->now.run_time_depth > target->depth && !template_is_walked(s);
  if (is_conditional && list->left_at.off == 0) {
    list->left_at = span;
    s->own->n_left++;
  }
  exit_add(s, list, value, span);
}

static void note_store_behind(Sema *s, ExitList *list, ForkedStore store)
{
  if (list->left_at.off == 0)
    return;
  store.next = list->forked;
  list->forked = arena_new(s->arena, ForkedStore);
  *list->forked = store;
}

void exits_note_store(Sema *s, const Operand *target, uint32_t n_leaves, Span span)
{
  ForkedStore store = {NULL, target->cell, target->leaf, n_leaves, span};
  uint32_t serial = s->own->cells[target->cell].serial;
  if (s->own->n_left == 0)
    return;
  for (const Frame *f = s->now.frame; f != NULL; f = f->up)
    for (Target *t = f->targets; t != NULL; t = t->up)
      if (serial <= t->serial) {
        note_store_behind(s, &t->breaks, store);
        note_store_behind(s, &t->continues, store);
      }
}

void exits_fork_cells(Sema *s, ExitList *list)
{
  for (const ForkedStore *store = list->forked; store != NULL; store = store->next) {
    Cell *cell = &s->own->cells[store->cell];
    PoolId *leaves = &s->own->leaves[cell->first + store->leaf];
    for (uint32_t i = 0; i < store->n_leaves; i++)
      leaves[i] = POOL(NONE);
    cell->left_at = list->left_at;
    cell->forked_at = store->at;
  }
  if (list->left_at.off != 0)
    s->own->n_left--;
  list->forked = NULL;
  list->left_at = (Span){0, 0};
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

/* ---- leaving -------------------------------------------------------------------------------- */

static Target *find_target(Sema *s, Name label, bool loops_only)
{
  Target *t = s->now.frame->targets;
  for (; t != NULL && t->kind != TARGET_FN; t = t->up) {
    bool is_match = name_is_given(label) ? str_eq(t->label, label.text) : t->kind == TARGET_LOOP;
    if (is_match && (!loops_only || t->kind == TARGET_LOOP))
      return t;
  }
  return NULL;
}

static void emit_return(Sema *s, const NodeReturn *n, Operand value)
{
  IrValue result = sema_ir(s, value);
  const IrFunc *f = &s->ir->funcs[s->b.func.raw];
  if (pool_kind(s->pool, value.type) == PK_POINTER_TYPE && ir_address_is_local(f, result)) {
    diag_address_of_local(s->diags, n->value->span);
    diag_address_of_local_help(s->diags, n->value->span);
  }
  ir_ret(&s->b, result);
}

/* Makes the value of a return statement the function's result; poison after reporting. */
static void convert_result(Sema *s, const NodeReturn *n, PoolId result, Operand *value)
{
  bool is_void = pool_eq(result, POOL(VOID));
  if (n->value == NULL && !is_void && !pool_eq(result, POOL(POISON_TYPE))) {
    diag_return_without_value(s->diags, n->head.span, result);
    *value = operand_poison();
    return;
  }
  size_t errors = diags_error_count(s->diags);
  *value = sema_coerce(s, *value, result, n->value != NULL ? n->value->span : n->head.span);
  if (n->value && is_void && diags_error_count(s->diags) > errors)
    diag_returns_nothing(s->diags, n->value->span);
}

/* At compile time, and in code that is inlined: the walk goes on behind the call. */
static void leave_call(Sema *s, const Operand *value, Span at)
{
  Target *t = s->now.frame->targets;
  while (t != NULL && t->kind != TARGET_FN)
    t = t->up;
  if (t != NULL)
    target_leave(s, t, &t->breaks, *value, at);
}

static void emit_leave(Sema *s, const NodeReturn *n, const Operand *value)
{
  const Frame *f = s->now.frame;
  if (operand_is_poison(*value)) {
    ir_trap(&s->b, 0);
    return;
  }
  if (!ir_value_is_none(f->result_address))
    place_init(s, operand_place(f->result_address, f->result, false), *value);
  if (!pool_eq(f->result, POOL(VOID)) && ir_value_is_none(f->result_address))
    emit_return(s, n, *value);
  else
    ir_ret(&s->b, IR_NO_VALUE);
}

void stmt_return(Sema *s, const NodeReturn *n)
{
  const Frame *f = s->now.frame;
  Operand value = operand_void();
  bool is_known = f->is_function && !pool_eq(f->result, POOL(POISON_TYPE));
  bool is_inlined = f->is_for_settings && n->value != NULL && node_kind(n->value) == ND_CALL;
  const NodeList *outer = s->own->inlined;
  if (is_inlined)
    s->own->inlined = &node_call(n->value)->args;
  if (n->value != NULL)
    value = sema_expr(s, n->value, is_known ? f->result : POOL(NONE));
  s->own->inlined = outer;
  if (!f->is_function) {
    diag_return_outside(s->diags, n->head.span);
    s->is_dead = true;
    return;
  }
  convert_result(s, n, f->result, &value);
  if (f->is_emitted && s->now.comptime)
    diag_leaves_comptime(s->diags, n->head.span, "return");
  else if (f->is_emitted)
    emit_leave(s, n, &value);
  else
    leave_call(s, &value, n->head.span);
  s->is_dead = true;
}

/* A break without a label leaves the loop, also inside a labelled block that takes a value. */
static void note_block_around(Sema *s, const Target *t, Span at)
{
  while (t != NULL && t->kind != TARGET_FN && (t->kind != TARGET_BLOCK || str_is_none(t->label)))
    t = t->up;
  if (t != NULL && t->kind == TARGET_BLOCK)
    diag_block_has_value(s->diags, at, sema_text(s, t->label));
}

/* `break loop`, as other languages name a label: reported, and taken as it is meant. */
static bool is_label_as_value(Sema *s, const Node *value, Name *label)
{
  if (value == NULL || name_is_given(*label) || node_kind(value) != ND_IDENT)
    return false;
  Name name = {.text = node_ident(value)->name, .span = value->span};
  if (find_target(s, name, false) == NULL)
    return false;
  diag_loop_has_no_value(s->diags, value->span);
  diag_label_has_colon(s->diags, value->span, sema_text(s, name.text));
  *label = name;
  return true;
}

static void report_no_target(Sema *s, const NodeBreak *n)
{
  if (name_is_given(n->label)) {
    diag_no_such_label(s->diags, n->label.span, sema_text(s, n->label.text));
    return;
  }
  diag_break_outside_loop(s->diags, n->head.span, "break");
  if (n->value != NULL)
    note_block_around(s, s->now.frame->targets, n->head.span);
}

void stmt_break(Sema *s, const NodeBreak *n)
{
  Name label = n->label;
  const Node *given = is_label_as_value(s, n->value, &label) ? NULL : n->value;
  Target *t = find_target(s, label, false);
  Operand value = operand_void();
  if (given != NULL)
    value = sema_load(s, sema_expr(s, given, t != NULL ? t->want : POOL(NONE)));
  if (t == NULL) {
    report_no_target(s, n);
    s->is_dead = true;
    return;
  }
  if (t->kind == TARGET_LOOP && given != NULL) {
    diag_loop_has_no_value(s->diags, given->span);
    note_block_around(s, t, given->span);
  }
  if (t->has_blocks && s->now.comptime)
    diag_leaves_comptime(s->diags, n->head.span, "break");
  else if (t->has_blocks)
    ir_br(&s->b, t->break_to, NULL, 0);
  else
    target_leave(s, t, &t->breaks, value, n->head.span);
  t->is_broken = true;
  s->is_dead = true;
}

void stmt_continue(Sema *s, const NodeContinue *n)
{
  Target *t = find_target(s, n->label, true);
  if (t == NULL) {
    if (name_is_given(n->label))
      diag_no_such_label(s->diags, n->label.span, sema_text(s, n->label.text));
    else
      diag_break_outside_loop(s->diags, n->head.span, "continue");
  } else if (t->has_blocks && s->now.comptime) {
    diag_leaves_comptime(s->diags, n->head.span, "continue");
  } else if (t->has_blocks) {
    ir_br(&s->b, t->continue_to, NULL, 0);
    t->is_continued = true;
  } else {
    target_leave(s, t, &t->continues, operand_void(), n->head.span);
  }
  s->is_dead = true;
}
