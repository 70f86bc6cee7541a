/* Frames, scopes, comptime variables, and the ways out of blocks.
 *
 * Locals and cells are stacks that all frames share; a frame sees its own part only.  A way out
 * (break, return, the end of a branch) is recorded with the IR block it left from and the value
 * it carries; where all ways meet, exits_join makes one operand of them.  With one way out
 * nothing is emitted, so that a known value stays known; comptime evaluation, which takes one
 * way always, is the same mechanism without blocks. */
#include "frontend/sema/sema_internal.h"

#include <stdlib.h>
#include <stdlib.h>
#include <string.h>
#include "stb_ds.h"

/* ---- frames --------------------------------------------------------------------------------- */

void sema_enter(Sema *s, Frame *frame, uint32_t module, SemaState *saved)
{
  *saved = (SemaState){
      .frame = s->frame, .module = s->module, .where = s->where, .comptime = s->comptime,
      .is_dead = s->is_dead, .run_time_depth = s->run_time_depth, .b = s->b,
      .n_locals = (uint32_t)arrlenu(s->own->locals), .n_cells = (uint32_t)arrlenu(s->cells),
      .n_leaves = (uint32_t)arrlenu(s->leaves)};
  frame->up = s->frame;
  frame->first_local = frame->first_in_scope = saved->n_locals;
  frame->targets = NULL;
  s->frame = frame;
  s->module = module;
  s->is_dead = false;
}

void sema_leave(Sema *s, const SemaState *saved)
{
  s->frame = saved->frame;
  s->module = saved->module;
  s->where = saved->where;
  s->comptime = saved->comptime;
  s->is_dead = saved->is_dead;
  s->run_time_depth = saved->run_time_depth;
  s->b = saved->b;
  arrsetlen(s->own->locals, saved->n_locals);
  arrsetlen(s->cells, saved->n_cells);
  arrsetlen(s->leaves, saved->n_leaves);
}

/* ---- scopes --------------------------------------------------------------------------------- */

Scope scope_open(Sema *s)
{
  Scope scope = {s->frame->first_in_scope, (uint32_t)arrlenu(s->own->locals),
                 (uint32_t)arrlenu(s->cells), (uint32_t)arrlenu(s->leaves)};
  s->frame->first_in_scope = scope.n_locals;
  return scope;
}

void scope_close(Sema *s, Scope scope)
{
  s->frame->first_in_scope = scope.first_in_scope;
  arrsetlen(s->own->locals, scope.n_locals);
  arrsetlen(s->cells, scope.n_cells);
  arrsetlen(s->leaves, scope.n_leaves);
}

bool scope_add(Sema *s, Name name, Operand o)
{
  Local *locals = s->own->locals;
  for (size_t i = s->frame->first_in_scope; i < arrlenu(locals); i++)
    if (str_eq(locals[i].name, name.text)) {
      sema_error(s, redeclared, name.span, sema_text(s, name.text));
      diag_declared_here(s->diags, locals[i].span, sema_text(s, name.text));
      return false;
    }
  o.name = name.text;
  Local local = {.name = name.text, .span = name.span, .o = o};
  arrput(s->own->locals, local);
  return true;
}

Local *scope_find(Sema *s, StrId name)
{
  Local *locals = s->own->locals;
  for (size_t i = arrlenu(locals); s->frame != NULL && i > s->frame->first_local; i--)
    if (str_eq(locals[i - 1].name, name))
      return &locals[i - 1];
  return NULL;
}

Operand cell_make(Sema *s, PoolId type, PoolId value, bool is_const)
{
  uint32_t n = type_leaf_count(s->pool, type);
  Cell cell = {.type = type, .first = (uint32_t)arrlenu(s->leaves), .n = n,
               .serial = ++s->own->next_serial, .depth = s->run_time_depth,
               .is_const = is_const};
  PoolId *leaves = arraddnptr(s->leaves, n);
  if (pool_is_none(value))
    memset(leaves, 0, n * sizeof *leaves);
  else
    value_to_leaves(s->pool, type, value, leaves);
  arrput(s->cells, cell);
  return (Operand){.kind = OPR_CELL, .type = type, .cell = (uint32_t)arrlenu(s->cells) - 1,
                   .is_const = is_const};
}

/* ---- ways out ------------------------------------------------------------------------------- */

void exits_init(ExitList *list)
{
  list->n = 0;
  list->cap = ARRAY_COUNT(list->few);
  list->at = list->few;
}

void target_push(Sema *s, Target *target, TargetKind kind, Name label, PoolId want)
{
  if (name_is_given(label))
    for (const Target *t = s->frame->targets; t != NULL; t = t->up)
      if (str_eq(t->label, label.text)) {
        sema_error(s, label_redefined, label.span, sema_text(s, label.text));
        diag_declared_here(s->diags, t->label_span, sema_text(s, label.text));
        break;
      }
  target->up = s->frame->targets;
  target->kind = kind;
  target->label = label.text;
  target->label_span = label.span;
  target->want = want;
  target->has_blocks = target->is_broken = target->is_continued = false;
  exits_init(&target->breaks);
  exits_init(&target->continues);
  s->frame->targets = target;
}

void target_pop(Sema *s, Target *target)
{
  s->frame->targets = target->up;
}

void exit_add(Sema *s, ExitList *list, Operand value, Span span)
{
  if (list->n == list->cap) {
    Exit *more = arena_many(s->arena, Exit, list->cap * 2);
    memcpy(more, list->at, list->n * sizeof *more);
    list->at = more;
    list->cap *= 2;
  }
  list->at[list->n++] = (Exit){s->b.block, value, span};
  s->is_dead = true;
}

/* The values' own common type; the context's where they have none that the machine can hold
 * (`x = if (c) 1 else 0`). */
static PoolId join_type(Sema *s, const ExitList *list, PoolId want, Span span)
{
  bool all_void = true;
  for (uint32_t i = 0; i < list->n; i++) {
    if (operand_is_poison(list->at[i].value))
      return POOL(POISON_TYPE);
    all_void = all_void && list->at[i].value.type.raw == POOL_RAW_VOID;
  }
  if (all_void)
    return POOL(VOID);
  bool has_want = !pool_is_none(want) && want.raw != POOL_RAW_VOID;
  Operand peer = list->at[0].value;
  for (uint32_t i = 1; i < list->n; i++) {
    Operand other = list->at[i].value;
    PoolId type = sema_peer_type(s, peer, other);
    if (pool_is_none(type) && has_want)
      return want;
    if (pool_is_none(type)) {
      sema_error(s, no_peer_type, list->at[i].span, peer.type,
                 other.type);
      diag_other_branch(s->diags, list->at[0].span);
      return POOL(POISON_TYPE);
    }
    if (!pool_eq(type, peer.type))
      peer = pool_eq(type, other.type) ? other : operand_runtime(IR_NO_VALUE, type);
  }
  if (type_is_comptime_only(s->pool, peer.type) && has_want)
    return want;
  if (type_is_comptime_only(s->pool, peer.type)) {
    sema_error(s, comptime_only_branches, span, peer.type);
    return POOL(POISON_TYPE);
  }
  return peer.type;
}

static void join_blocks(Sema *s, ExitList *list, IrBlockId join)
{
  for (uint32_t i = 0; i < list->n; i++) {
    s->b.block = list->at[i].block;
    ir_br(&s->b, join, NULL, 0);
  }
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
  if (type.raw == POOL_RAW_VOID || type.raw == POOL_RAW_POISON_TYPE || all_equal(list)) {
    Operand value = list->at[0].value;
    join_blocks(s, list, join);
    return type.raw == POOL_RAW_POISON_TYPE ? operand_poison() : value;
  }
  IrType ir_type = type_ir(s->pool, type);
  bool is_scalar = ir_type != IRT_VOID;
  IrValue result = IR_NO_VALUE;
  Operand place = operand_poison();
  if (is_scalar)
    result = ir_block_param(s->ir, s->b.func, join, ir_type);
  else
    place = sema_temp(s, type);
  bool is_bad = false;
  for (uint32_t i = 0; i < list->n; i++) {
    s->b.block = list->at[i].block;
    Operand o = sema_coerce(s, list->at[i].value, type, list->at[i].span);
    is_bad = is_bad || operand_is_poison(o);
    IrValue arg = is_scalar && !operand_is_poison(o) ? sema_ir(s, o) : IR_NO_VALUE;
    if (is_scalar && operand_is_poison(o))
      arg = ir_const(&s->b, ir_type, 0);
    else if (!is_scalar && !operand_is_poison(o))
      place_init(s, place, o);
    ir_br(&s->b, join, &arg, is_scalar ? 1 : 0);
  }
  s->b.block = join;
  if (is_bad)
    return operand_poison();
  return is_scalar ? operand_runtime(result, type) : place;
}

/* ---- tables of names ------------------------------------------------------------------------ */

NameTable *names_index(Arena *arena, uint32_t n)
{
  NameTable *table = arena_new(arena, NameTable);
  uint32_t size = 8;
  while (size < n * 2)
    size *= 2;
  table->mask = size - 1;
  table->at = arena_many(arena, NameSlot, size);
  return table;
}

static uint32_t name_slot(const NameTable *table, StrId name)
{
  uint32_t at = name.raw * 0x9e3779b1u >> 7 & table->mask;
  while (table->at[at].index != 0 && !str_eq(table->at[at].name, name))
    at = (at + 1) & table->mask;
  return at;
}

void names_put(NameTable *table, StrId name, uint32_t index)
{
  table->at[name_slot(table, name)] = (NameSlot){name, index + 1};
}

uint32_t names_get(const NameTable *table, StrId name)
{
  uint32_t index = table->at[name_slot(table, name)].index;
  return index == 0 ? IR_NO_ID : index - 1;
}

static uint32_t pair_slot(const PairMap *map, uint64_t key)
{
  uint64_t h = key * 0x9e3779b97f4a7c15u;
  uint32_t at = (uint32_t)(h >> 32) & (map->size - 1);
  while (map->at[at].value != 0 && map->at[at].key != key)
    at = (at + 1) & (map->size - 1);
  return at;
}

bool pair_get(const PairMap *map, uint64_t key, uint32_t *value)
{
  if (map->size == 0)
    return false;
  uint32_t found = map->at[pair_slot(map, key)].value;
  if (found != 0)
    *value = found - 1;
  return found != 0;
}

static void pair_grow(PairMap *map)
{
  PairMap old = *map;
  map->size = old.size == 0 ? 64 : old.size * 2;
  map->at = base_malloc(map->size * sizeof *map->at);
  memset(map->at, 0, map->size * sizeof *map->at);
  for (uint32_t i = 0; i < old.size; i++)
    if (old.at[i].value != 0)
      map->at[pair_slot(map, old.at[i].key)] = old.at[i];
  free(old.at);
}

void pair_put(PairMap *map, uint64_t key, uint32_t value)
{
  if (map->n * 2 >= map->size)
    pair_grow(map);
  Pair *pair = &map->at[pair_slot(map, key)];
  map->n += pair->value == 0;
  *pair = (Pair){key, value + 1};
}

void pair_free(PairMap *map)
{
  free(map->at);
  *map = (PairMap){0};
}
