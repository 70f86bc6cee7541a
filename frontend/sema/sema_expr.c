/* Expressions: the one walker.  Each construct checks its operands and then folds or emits. */
#include "frontend/sema/sema_internal.h"

#include <stdlib.h>
#include <string.h>
#include "stb_ds.h"

void sema_at(Sema *s, Span span)
{
  if (s->now.comptime || s->ir == NULL || s->now.frame == NULL)
    return;
  SemaPrivate *own = s->own;
  if (own->loc_span.off == span.off && own->loc_span.len == span.len &&
      ir_loc_eq(own->loc_inlined, s->now.frame->inlined_at) && !ir_loc_is_none(s->b.loc) &&
      ir_loc_eq(own->loc_made, s->b.loc))
    return;
  own->loc_span = span;
  own->loc_inlined = s->now.frame->inlined_at;
  s->b.loc = ir_loc_add(s->ir, span, s->now.frame->inlined_at, s->now.frame->ir_name);
  own->loc_made = s->b.loc;
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool has_member(const PoolKey *enumeration, StrId name)
{
  for (uint32_t i = 0; i < enumeration->u.enum_type.n; i++)
    if (str_eq(enumeration->u.enum_type.names[i], name))
      return true;
  return false;
}

/* Does a module or an enum that the declaration names have such a member? */
static bool holds_member(Sema *s, const Decl *d, StrId name)
{
  if (d->state != DECL_DONE || pool_is_none(d->value))
    return false;
  PoolKey k = pool_key(s->pool, d->value);
  if (k.kind == PK_MODULE)
    return sema_find_decl(s, k.u.index, name) != NULL;
  return k.kind == PK_ENUM_TYPE && has_member(&k, name);
}

/* A member of what the file has a name for: "MODULE.NAME", "ENUM.NAME"; NULL. */
static const char *member_elsewhere(Sema *s, StrId name)
{
  const ModuleInstance *m = &s->modules[s->now.module];
  for (size_t i = 0; i < arrlenu(m->decls); i++) {
    const Decl *d = &m->decls[i];
    if (holds_member(s, d, name))
      return arena_printf(s->arena, "%s.%s", sema_text(s, d->name), sema_text(s, name));
  }
  return NULL;
}

static void report_undeclared(Sema *s, StrId name, Span span)
{
  if (s->modules[s->now.module].ast->has_errors)
    return;                       /* the syntax error may be about the name's declaration */
  const char *text = sema_text(s, name);
  unsigned long bits;
  if (scope_is_int_name(text, &bits)) {
    diag_int_too_wide(s->diags, span, text, TYPE_INT_MAX_BITS);
    return;
  }
  diag_undeclared(s->diags, span, text);
  if (!diags_takes_notes(s->diags))
    return;
  if (sema_builtin_exists(s->session, name)) {
    diag_suggest(s->diags, span, arena_printf(s->arena, "@%s", text));
    return;
  }
  if (sema_note_foreign(s, text, span))
    return;
  if (files_has_library(s->session->files, text)) {
    diag_import_it(s->diags, span, text, text);
    return;
  }
  const char *member = member_elsewhere(s, name);
  if (member != NULL) {
    diag_suggest(s->diags, span, member);
    return;
  }
  const ModuleInstance *m = &s->modules[s->now.module];
  size_t n_locals = s->now.frame != NULL ? arrlenu(s->own->locals) - s->now.frame->first_local : 0;
  size_t n = 0, n_decls = arrlenu(m->decls), n_types = s->own->types.size;
  const char **names = arena_many(s->arena, const char *, n_locals + n_decls + n_types + 1);
  for (size_t i = 0; i < n_locals; i++)
    names[n++] = sema_text(s, s->own->locals[s->now.frame->first_local + i].name);
  for (size_t i = 0; i < n_decls; i++)
    names[n++] = sema_text(s, m->decls[i].name);
  for (size_t i = 0; i < n_types; i++)
    if (s->own->types.at[i].value != 0)
      names[n++] = sema_text(s, (StrId){(uint32_t)s->own->types.at[i].key});
  const char *near = base_nearest(sema_text(s, name), names, n);
  diag_suggest(s->diags, span, near);
}

/* A name of no local. */
static Operand expr_ident(Sema *s, const Node *n)
{
  StrId name = node_ident(n)->name;
  Decl *d = sema_find_decl(s, s->now.module, name);
  if (d != NULL) {
    Operand o = sema_decl_operand(s, d, n->span);
    if (o.kind == OPR_COMPTIME)
      memo_put(s, n, POOL(NONE), o.value);
    return o;
  }
  PoolId known = scope_predeclared_type(s, name);
  if (pool_is_none(known)) {
    report_undeclared(s, name, n->span);
    return operand_poison();
  }
  if (pool_kind(s->pool, known) == PK_INT_TYPE && !pool_is_machine_int(known))
    release_sign_here(s, SIGN_INTEGER_WIDTH, n->span);
  return operand_at(operand_value(s, known), n->span);
}

/* ---- literals ------------------------------------------------------------------------------- */

static Operand expr_int(Sema *s, const NodeInt *n)
{
  if (str_is_none(n->big) && n->value <= INT64_MAX)
    return operand_value(s, pool_int(s->pool, POOL(COMPTIME_INT), (int64_t)n->value));
  mpz_t big;
  mpz_init(big);
  if (!str_is_none(n->big))
    mpz_set_str(big, sema_text(s, n->big), (int)n->base);
  else
    wide_set_u64(big, n->value);
  PoolId value = pool_bigint(s->pool, POOL(COMPTIME_INT), big);
  mpz_clear(big);
  return operand_value(s, value);
}

/* Field types that the context wants of a literal. */
static PoolId wanted_field(Sema *s, PoolId want, StrId name, uint32_t i)
{
  if (pool_is_none(want))
    return want;
  PoolKey k = pool_key(s->pool, want);
  if (k.kind == PK_ARRAY_TYPE)
    return k.u.array.element;
  if (k.kind != PK_STRUCT_TYPE)
    return POOL(NONE);
  if (str_is_none(name))
    return i < k.u.fields.n ? k.u.fields.fields[i].type : POOL(NONE);
  for (uint32_t f = 0; f < k.u.fields.n; f++)
    if (str_eq(k.u.fields.fields[f].name, name))
      return k.u.fields.fields[f].type;
  return POOL(NONE);
}

enum { FEW_PARTS = 16 };

static void tell_fields(Sema *s, const NodeStructInit *n, PoolId owner)
{
  const SemaListener *listener = s->session->listener;
  for (uint32_t i = 0; listener && i < n->fields.count; i++)
    listener->on_field(listener->data, node_field_init(n->fields.at[i])->name.span, owner);
}

static Operand union_literal(Sema *s, PoolId type, const PoolKey *k, const NodeStructInit *n)
{
  if (n->fields.count != 1) {
    diag_union_literal_fields(s->diags, n->head.span, type);
    return operand_poison();
  }
  const NodeFieldInit *f = node_field_init(n->fields.at[0]);
  for (uint32_t i = 0; i < k->u.fields.n; i++) {
    if (!str_eq(k->u.fields.fields[i].name, f->name.text))
      continue;
    PoolId field = k->u.fields.fields[i].type;
    Operand o = sema_coerce(s, sema_expr(s, f->value, field), field, f->value->span);
    if (operand_is_poison(o))
      return o;
    if (o.kind == OPR_COMPTIME)
      return operand_value(s, union_of_field(s, type, i, o.value));
    Operand place = sema_temp(s, type);
    place_init(s, place_field(s, place, i), o);
    return place;
  }
  diag_no_member(s->diags, f->name.span, type, sema_text(s, f->name.text));
  return operand_poison();
}

/* A part of a literal: only its value matters, unless the context wants a type. */
static Operand literal_part(Sema *s, const Node *n, PoolId want)
{
  PoolId known = POOL(NONE);
  if (pool_is_none(want)) {
    known = value_at_hand(s, n, want, s->now.comptime);
    if (pool_is_none(known))
      known = bool_at_hand(s, n);
  }
  return pool_is_none(known) ? sema_load(s, sema_expr(s, n, want))
                             : operand_at(operand_value(s, known), n->span);
}

/* Can a literal with named fields have the type that it names?  `.{}` is an empty array, too. */
static bool check_literal_type(Sema *s, const NodeStructInit *n, PoolId type, const PoolKey *k)
{
  bool is_array = n->fields.count == 0 && k->kind == PK_ARRAY_TYPE;
  if (is_array && type_element_count(s->pool, type) > 0) {
    diag_wrong_element_count(s->diags, n->head.span, type, type_element_count(s->pool, type), 0);
    diag_array_of_one(s->diags, n->head.span);
    return false;
  }
  if (k->kind != PK_STRUCT_TYPE && !is_array) {
    diag_not_a_struct_type(s->diags, n->type->span, type);
    return false;
  }
  return true;
}

/* False after reporting: a field before the last of `n` has its name. */
static bool check_new_field(Sema *s, const StrId *names, uint32_t n, Span at)
{
  bool is_new = true;
  for (uint32_t k = 0; k + 1 < n; k++)
    if (str_eq(names[k], names[n - 1])) {
      diag_repeated_field(s->diags, at, sema_text(s, names[k]));
      is_new = false;
    }
  return is_new;
}

/* Names and values of the fields; `shape` is the type that the literal names or that is wanted, or
 * none.  False after reporting. */
static bool literal_fields(Sema *s, const NodeStructInit *n, PoolId shape, StrId *names,
                           Operand *parts)
{
  bool is_good = true;
  for (uint32_t i = 0; i < n->fields.count; i++) {
    const NodeFieldInit *f = node_field_init(n->fields.at[i]);
    names[i] = f->name.text;
    is_good = check_new_field(s, names, i + 1, f->name.span) && is_good;
    PoolId field = wanted_field(s, shape, names[i], i);
    parts[i] = literal_part(s, f->value, field);
    /* A type that is only wanted is a proposal. */
    if (!pool_is_none(field) && (n->type != NULL || sema_coercible(s, parts[i], field)))
      parts[i] = sema_coerce(s, parts[i], field, f->value->span);
    is_good = !operand_is_poison(parts[i]) && is_good;
  }
  return is_good;
}

static Operand expr_struct_init(Sema *s, const NodeStructInit *n, PoolId want)
{
  uint32_t count = n->fields.count;
  StrId few_names[FEW_PARTS];
  Operand few_parts[FEW_PARTS];
  StrId *names = count <= FEW_PARTS ? few_names : arena_many(s->arena, StrId, count);
  Operand *parts = count <= FEW_PARTS ? few_parts : arena_many(s->arena, Operand, count);
  PoolId type = n->type != NULL ? sema_type_expr(s, n->type) : POOL(NONE);
  if (pool_eq(type, POOL(POISON_TYPE)))
    return operand_poison();
  PoolId shape = n->type != NULL ? type : want;
  tell_fields(s, n, shape);
  if (!pool_is_none(shape)) {
    PoolKey k = pool_key(s->pool, shape);
    if (k.kind == PK_UNION_TYPE)
      return union_literal(s, shape, &k, n);
    if (n->type != NULL && !check_literal_type(s, n, type, &k))
      return operand_poison();
  }
  if (!literal_fields(s, n, shape, names, parts))
    return operand_poison();
  static const StrId no_names[1] = {{0}};
  Operand o = sema_aggregate(s, count == 0 ? no_names : names, parts, count, n->head.span);
  return n->type != NULL ? sema_coerce(s, o, type, n->head.span) : o;
}

static Operand array_literal(Sema *s, const NodeListInit *n, PoolId type, const PoolKey *k)
{
  uint32_t count = n->items.count;
  uint64_t wanted = type_element_count(s->pool, type);
  PoolId element = k->u.array.element;
  if (count != wanted) {
    diag_wrong_element_count(s->diags, n->head.span, type, wanted, count);
    return operand_poison();
  }
  Operand *items = base_malloc((count + 1u) * sizeof *items);
  PoolId *values = base_malloc((count + 1u) * sizeof *values);
  bool is_known = true, is_bad = false;
  for (uint32_t i = 0; i < count; i++) {
    const Node *item = n->items.at[i];
    items[i] = sema_coerce(s, sema_expr(s, item, element), element, item->span);
    is_bad = is_bad || operand_is_poison(items[i]);
    is_known = is_known && items[i].kind == OPR_COMPTIME;
    values[i] = items[i].value;
  }
  Operand out = operand_poison();
  if (!is_bad && is_known) {
    out = operand_value(s, pool_aggregate(s->pool, type, values, count));
  } else if (!is_bad && sema_check_run_time(s, type, n->head.span)) {
    out = sema_temp(s, type);
    uint32_t each = type_bytes(s->pool, element);
    for (uint32_t i = 0; i < count; i++)
      place_init(s, place_part(s, out, (int64_t)each * i, element), items[i]);
  }
  free(items);
  free(values);
  return out;
}

static Operand expr_list_init(Sema *s, const NodeListInit *n, PoolId want)
{
  PoolId type = n->type != NULL ? sema_type_expr(s, n->type) : want;
  if (pool_eq(type, POOL(POISON_TYPE)))
    return operand_poison();
  if (!pool_is_none(type)) {
    PoolKey k = pool_key(s->pool, type);
    if (k.kind == PK_ARRAY_TYPE)
      return array_literal(s, n, type, &k);
    if (n->type != NULL && k.kind != PK_STRUCT_TYPE) {
      diag_not_a_struct_type(s->diags, n->type->span, type);
      return operand_poison();
    }
  }
  Operand few[FEW_PARTS];
  uint32_t count = n->items.count;
  Operand *parts = count <= FEW_PARTS ? few : arena_many(s->arena, Operand, count);
  for (uint32_t i = 0; i < count; i++) {
    PoolId field = wanted_field(s, type, STR_NONE, i);
    parts[i] = literal_part(s, n->items.at[i], field);
    if (!pool_is_none(field) && sema_coercible(s, parts[i], field))
      parts[i] = sema_coerce(s, parts[i], field, n->items.at[i]->span);
  }
  Operand o = sema_aggregate(s, NULL, parts, count, n->head.span);
  return n->type != NULL ? sema_coerce(s, o, type, n->head.span) : o;
}

/* ---- operators ------------------------------------------------------------------------------ */

static Operand as_bool(Sema *s, const Node *n)
{
  PoolId at_hand = bool_at_hand(s, n);
  if (!pool_is_none(at_hand))
    return operand_at(operand_value(s, at_hand), n->span);
  Operand o = sema_coerce(s, sema_expr(s, n, POOL(BOOL)), POOL(BOOL), n->span);
  if (o.kind == OPR_COMPTIME)
    o = operand_at(operand_value(s, o.value), n->span);
  return o;
}

/* `and`, `or`.  The right side is not even looked at when the left decides at compile time. */
static Operand expr_logical(Sema *s, const NodeBinary *n)
{
  bool is_and = n->op == BINARY_LOGICAL_AND;
  Operand a = as_bool(s, n->left);
  if (operand_is_poison(a))
    return a;
  if (a.kind == OPR_COMPTIME) {
    PoolId known = sema_force(s, a.value, n->left->span);
    if (pool_eq(known, POOL(POISON)))
      return operand_poison();
    if (value_is_true(known) == is_and)
      return as_bool(s, n->right);
    sema_note_left_out(s);
    return operand_value(s, known);
  }
  IrBlockId right = ir_block_add(s->ir, s->b.func), join = ir_block_add(s->ir, s->b.func);
  IrValue decided = ir_const(&s->b, IRT_BOOL, !is_and);
  if (is_and)
    ir_cond_br(&s->b, a.ir, right, NULL, 0, join, &decided, 1);
  else
    ir_cond_br(&s->b, a.ir, join, &decided, 1, right, NULL, 0);
  s->b.block = right;
  s->now.run_time_depth++;
  Operand b = as_bool(s, n->right);
  s->now.run_time_depth--;
  IrValue v = operand_is_poison(b) ? ir_const(&s->b, IRT_BOOL, 0) : sema_ir(s, b);
  IrValue result = ir_block_param(s->ir, s->b.func, join, IRT_BOOL);
  ir_br(&s->b, join, &v, 1);
  s->b.block = join;
  return operand_is_poison(b) ? b : operand_runtime(result, POOL(BOOL));
}

/* 1 / 3: a quotient of two integers of the text that has a fraction. */
static bool is_cut_quotient(const NodeBinary *n)
{
  if (n->op != BINARY_DIV || node_kind(n->left) != ND_INT || node_kind(n->right) != ND_INT)
    return false;
  const NodeInt *a = node_int(n->left), *b = node_int(n->right);
  return str_is_none(a->big) && str_is_none(b->big) && b->value && a->value % b->value;
}

/* The type of the left side, if it has one, guides the right one: `a + if (c) 1 else 2` gets the
 * type of a. */
static Operand binary_value(Sema *s, const NodeBinary *n, PoolId want)
{
  if (n->op == BINARY_LOGICAL_AND || n->op == BINARY_LOGICAL_OR)
    return expr_logical(s, n);
  PoolId at_hand = binary_op_is_comparison(n->op) ? bool_at_hand(s, &n->head)
                                                  : fold_at_hand(s, n, want);
  if (!pool_is_none(at_hand))
    return operand_value(s, at_hand);
  if (n->op == BINARY_MUL && node_kind(n->right) == ND_POINTER_TYPE) {   /* a ** b */
    diag_foreign_operator(s->diags, n->op_span, "**", "multiply, or use pow of <math>");
    return operand_poison();
  }
  bool is_comparison = binary_op_is_comparison(n->op);
  Operand a = sema_load(s, sema_expr(s, n->left, is_comparison ? POOL(NONE) : want));
  bool is_shift = n->op == BINARY_SHL || n->op == BINARY_SHR;
  bool has_type = !operand_is_poison(a) && !pool_eq(a.type, POOL(COMPTIME_INT)) &&
                  !pool_eq(a.type, POOL(COMPTIME_FLOAT));
  PoolId right = is_shift ? POOL(NONE) : has_type ? a.type : is_comparison ? POOL(NONE) : want;
  Operand b = sema_load(s, sema_expr(s, n->right, right));
  a.span = n->left->span;
  b.span = n->right->span;
  return sema_binary(s, n->op, a, b, n->op_span);
}

static Operand expr_binary(Sema *s, const NodeBinary *n, PoolId want)
{
  Operand o = binary_value(s, n, want);
  o.is_cut = is_cut_quotient(n);
  return o;
}

static Operand index_of(Sema *s, Operand base, const NodeIndex *n);

/* A named constant array or struct as the object in tile memory that it is. */
static Operand constant_place(Sema *s, Operand o)
{
  if (o.kind != OPR_COMPTIME || str_is_none(o.name) || !type_is_aggregate(s->pool, o.type) ||
      type_is_comptime_only(s->pool, o.type))
    return o;
  return sema_deref(s, sema_address_of(s, o, o.span), o.span);
}

/* The operand of '&': parts of constants are places too, not copies of what they hold. */
static Operand expr_place(Sema *s, const Node *n)
{
  Operand o;
  if (n->kind == ND_INDEX) {
    const NodeIndex *index = node_index(n);
    o = index_of(s, constant_place(s, expr_place(s, index->base_expr)), index);
  } else if (n->kind == ND_MEMBER) {
    const NodeMember *member = node_member(n);
    Operand base = constant_place(s, expr_place(s, member->base_expr));
    o = sema_member(s, base, member->name.text, member->name.span);
  } else {
    return operand_at(sema_expr(s, n, POOL(NONE)), n->span);
  }
  return operand_at(o, n->span);
}

static Operand expr_unary(Sema *s, const NodeUnary *n, PoolId want)
{
  if (n->op == UNARY_ADDRESS_OF) {
    Operand place = expr_place(s, n->operand);
    return sema_address_of(s, place, n->operand->span);
  }
  Operand a = sema_expr(s, n->operand, n->op == UNARY_NOT ? POOL(BOOL) : want);
  return sema_unary(s, n->op, a, n->operand->span);
}

static Operand index_of(Sema *s, Operand base, const NodeIndex *n)
{
  enum { MAX_RANK = 16 };
  Operand indices[MAX_RANK];
  base.span = n->base_expr->span;
  if (n->indices.count > MAX_RANK) {
    diag_index_count(s->diags, n->head.span, (unsigned)MAX_RANK, n->indices.count);
    return operand_poison();
  }
  bool is_tuple = pool_kind(s->pool, base.type) == PK_STRUCT_TYPE;
  for (uint32_t i = 0; i < n->indices.count; i++) {
    const Node *index = n->indices.at[i];
    indices[i] = is_tuple ? sema_comptime_operand(s, index, POOL(NONE))
                          : sema_load(s, sema_expr(s, index, POOL(NONE)));
    indices[i].span = index->span;
  }
  return sema_index(s, base, indices, n->indices.count, n->head.span);
}

static Operand expr_index(Sema *s, const NodeIndex *n)
{
  return index_of(s, sema_expr(s, n->base_expr, POOL(NONE)), n);
}

static Operand expr_member(Sema *s, const NodeMember *n)
{
  Operand base = sema_expr(s, n->base_expr, POOL(NONE));
  base.span = n->base_expr->span;
  Operand o = sema_member(s, base, n->name.text, n->name.span);
  o.span = n->head.span;
  return o;
}

static Operand expr_call(Sema *s, const Node *n, PoolId want)
{
  const NodeCall *call = node_call(n);
  Operand callee = sema_load(s, sema_expr(s, call->callee, POOL(NONE)));
  callee.span = call->callee->span;
  sema_at(s, n->span);
  return sema_call(s, callee, n, &call->args, want);
}

Operand sema_comptime_operand(Sema *s, const Node *n, PoolId want)
{
  WalkContext outer = walk_enter_comptime(s);
  Operand o = sema_load(s, operand_at(sema_expr(s, n, want), n->span));
  s->now = outer;
  if (!operand_is_poison(o) && o.kind != OPR_COMPTIME) {
    o.span = n->span;
    operand_report_run_time(s, &o);
    return operand_poison();
  }
  return operand_at(o, n->span);
}

PoolId sema_comptime(Sema *s, const Node *n, PoolId want)
{
  PoolId known = value_at_hand(s, n, want, true);
  if (!pool_is_none(known))
    return sema_force(s, known, n->span);
  Operand o = sema_comptime_operand(s, n, want);
  if (operand_is_poison(o))
    return POOL(POISON);
  return sema_force(s, o.value, n->span);
}

PoolId sema_comptime_value(Sema *s, Operand o, Span span)
{
  o.span = span;
  o = sema_load(s, o);
  if (operand_is_poison(o))
    return POOL(POISON);
  if (o.kind != OPR_COMPTIME) {
    operand_report_run_time(s, &o);
    return POOL(POISON);
  }
  return sema_force(s, o.value, span);
}

/* ---- dispatch ------------------------------------------------------------------------------- */

static Operand walk_expr(Sema *s, const Node *n, PoolId want)
{
  char here;
  if ((uintptr_t)&here < s->own->stack_end) {
    if (!s->is_dead)       /* else the other operand has reported it */
      diag_stack_exhausted(s->diags, n->span);
    s->is_dead = true;
    return operand_poison();
  }
  switch ((NodeKind)n->kind) {
  case ND_BAD:
    return operand_poison();
  case ND_IDENT:
    return expr_ident(s, n);
  case ND_INT:
    return expr_int(s, node_int(n));
  case ND_FLOAT:
    return operand_value(s, pool_float(s->pool, POOL(COMPTIME_FLOAT), node_float(n)->value));
  case ND_CHAR:
    return operand_value(s, pool_int(s->pool, POOL(COMPTIME_INT), node_char(n)->value));
  case ND_STRING:
    return operand_value(s, pool_string(s->pool, node_string(n)->bytes));
  case ND_BOOL:
    return operand_value(s, pool_bool(node_bool(n)->value));
  case ND_STRUCT_INIT:
    return expr_struct_init(s, node_struct_init(n), want);
  case ND_LIST_INIT:
    return expr_list_init(s, node_list_init(n), want);
  case ND_MEMBER:
    return expr_member(s, node_member(n));
  case ND_INDEX:
    return expr_index(s, node_index(n));
  case ND_DEREF: {
    const Node *pointer = node_deref(n)->pointer;
    Operand o = sema_load(s, operand_at(sema_expr(s, pointer, POOL(NONE)), pointer->span));
    return sema_deref(s, o, n->span);
  }
  case ND_UNARY:
    return expr_unary(s, node_unary(n), want);
  case ND_BINARY:
    return expr_binary(s, node_binary(n), want);
  case ND_CALL:
    return expr_call(s, n, want);
  case ND_BUILTIN_CALL:
    s->own->effects += !sema_builtin_is_pure(s->session, node_builtin_call(n)->name.text);
    sema_at(s, n->span);
    return sema_builtin(s, n, want);
  case ND_COMPTIME:
    return sema_comptime_operand(s, node_comptime(n)->operand, want);
  case ND_TENSOR_ACCESS:
    return s->session->builtins->tensor_access(s, node_tensor_access(n), want);
  case ND_ASM:
    diag_asm_not_supported(s->diags, n->span);
    return operand_poison();
  case ND_BLOCK:
    return sema_block(s, n, want);
  case ND_IF:
    return sema_if(s, n, want, true);
  case ND_SWITCH:
    return sema_switch(s, n, want, true);
  case ND_ARRAY_TYPE:
  case ND_POINTER_TYPE:
  case ND_FN_TYPE:
  case ND_STRUCT_TYPE:
  case ND_ENUM_TYPE:
  case ND_ANYTYPE: {
    PoolId type = sema_type_node(s, n, STR_NONE);
    return pool_eq(type, POOL(POISON_TYPE)) ? operand_poison() : operand_value(s, type);
  }
  case ND_VAR_DECL:
  case ND_FN_DECL:
  case ND_PARAM:
  case ND_LAYOUT:
  case ND_COLOR_DECL:
  case ND_ASSIGN:
  case ND_PRONG:
  case ND_FOR:
  case ND_WHILE:
  case ND_RETURN:
  case ND_BREAK:
  case ND_CONTINUE:
  case ND_FIELD_INIT:
  case ND_ASM_OPERAND:
  case ND_FIELD_DECL:
  case ND_ENUM_MEMBER:
  case ND_COUNT:
    break;
  }
  ICE("%s is no expression", node_kind_name((NodeKind)n->kind));
}

static Operand walk_or_recall(Sema *s, const Node *n, PoolId want)
{
  /* Layouts are full of names of locals: the switch over all expressions takes longer. */
  const Local *local = n->kind == ND_IDENT ? scope_find(s, node_ident(n)->name) : NULL;
  if (local != NULL) {
    s->own->local_uses++;
    return operand_at(local->o, n->span);
  }
  if (!is_memoised(n))
    return operand_at(walk_expr(s, n, want), n->span);
  const Memo *memo = memo_of(s, n);
  if (memo != NULL && !pool_is_none(memo->value) && pool_eq(memo->want, want) &&
      (s->now.comptime || !memo->comptime))
    return operand_at(operand_value(s, memo->value), n->span);
  uint64_t uses = s->own->local_uses, effects = s->own->effects;
  Operand o = walk_expr(s, n, want);
  if (o.kind == OPR_COMPTIME && uses == s->own->local_uses && effects == s->own->effects)
    memo_put(s, n, want, o.value);
  return operand_at(o, n->span);
}

/* What uses the operand belongs to the outer expression, not to a call within the operand. */
Operand sema_expr(Sema *s, const Node *n, PoolId want)
{
  IrLocId outer = s->b.loc;
  Operand o = walk_or_recall(s, n, want);
  s->b.loc = outer;
  const SemaListener *listener = s->session->listener;
  if (listener)
    listener->on_expression(listener->data, s, n, n->span, &o);
  return o;
}

/* ---- type expressions ----------------------------------------------------------------------- */

enum { MAX_RANK = 16 };

static bool sema_is_type_node(const Node *n)
{
  switch ((int)n->kind) {
  case ND_ARRAY_TYPE:
  case ND_POINTER_TYPE:
  case ND_FN_TYPE:
  case ND_STRUCT_TYPE:
  case ND_ENUM_TYPE:
  case ND_ANYTYPE:
    return true;
  default:
    return false;
  }
}

PoolId sema_type_expr(Sema *s, const Node *n)
{
  if (sema_is_type_node(n))
    return sema_type_node(s, n, STR_NONE);
  Operand o = sema_expr(s, n, POOL(TYPE));
  if (!operand_is_poison(o) && o.kind != OPR_COMPTIME && !pool_eq(o.type, POOL(TYPE))) {
    diag_not_a_type(s->diags, n->span, o.type);
    sema_note_pointer(s, o.type, n->span);
    return POOL(POISON_TYPE);
  }
  PoolId type = sema_comptime_value(s, o, n->span);
  if (pool_eq(type, POOL(POISON)))
    return POOL(POISON_TYPE);
  /* `{}` names the type of its value. */
  if (pool_eq(type, POOL(VOID_VALUE)))
    return POOL(VOID);
  if (!pool_eq(pool_type_of(s->pool, type), POOL(TYPE))) {
    diag_not_a_type(s->diags, n->span, pool_type_of(s->pool, type));
    return POOL(POISON_TYPE);
  }
  return type;
}

/* False after reporting. */
static bool array_dims(Sema *s, const NodeArrayType *n, uint32_t dims[MAX_RANK])
{
  uint64_t total = 1;
  if (n->dims.count > MAX_RANK) {
    diag_too_many_dimensions(s->diags, n->head.span, (unsigned)MAX_RANK);
    return false;
  }
  for (uint32_t i = 0; i < n->dims.count; i++) {
    const Node *dim = n->dims.at[i];
    PoolId value = sema_comptime(s, dim, POOL(NONE));
    int64_t size;
    if (pool_eq(value, POOL(POISON)))
      return false;
    if (!type_is_int(s->pool, pool_type_of(s->pool, value))) {
      diag_array_size_not_integer(s->diags, dim->span,
                                  pool_type_of(s->pool, value));
      return false;
    }
    if (!pool_int_value(s->pool, value, &size) || size < 0 || size > INT32_MAX) {
      diag_bad_array_size(s->diags, dim->span, value);
      return false;
    }
    dims[i] = (uint32_t)size;
    total *= (uint64_t)size;
    if (total > INT32_MAX) {
      diag_bad_array_size(s->diags, dim->span, value);
      return false;
    }
  }
  return true;
}

static PoolId array_type(Sema *s, const NodeArrayType *n)
{
  uint32_t dims[MAX_RANK];
  if (!array_dims(s, n, dims))
    return POOL(POISON_TYPE);
  PoolId element = sema_type_expr(s, n->element);
  if (pool_eq(element, POOL(POISON_TYPE)))
    return element;
  if (pool_kind(s->pool, element) == PK_ARRAY_TYPE) {
    diag_array_of_arrays(s->diags, n->element->span);
    return POOL(POISON_TYPE);
  }
  if (pool_eq(element, POOL(VOID)) || pool_eq(element, POOL(ANYOPAQUE))) {
    diag_bad_element_type(s->diags, n->element->span, element);
    return POOL(POISON_TYPE);
  }
  return pool_array_type(s->pool, dims, n->dims.count, element);
}

static PoolId local_self_type(Sema *s, LocalStruct *local)
{
  s->own->local_uses++;
  if (pool_is_none(local->self))
    local->self = pool_open_struct(s->pool, local->is_union ? PK_UNION_TYPE : PK_STRUCT_TYPE,
                                   local->name);
  return local->self;
}

/* The struct type that a pointer refers to while the fields of that struct, or of one that leads
 * to it, are being looked at; none for all else. */
static PoolId type_in_progress(Sema *s, const Node *n)
{
  if (n->kind != ND_IDENT || scope_find(s, node_ident(n)->name) != NULL)
    return POOL(NONE);
  for (LocalStruct *local = s->own->local_structs; local != NULL; local = local->up)
    if (local->frame == s->now.frame && str_eq(local->name, node_ident(n)->name))
      return local_self_type(s, local);
  Decl *d = sema_find_decl(s, s->now.module, node_ident(n)->name);
  return d != NULL ? decl_self_type(s, d) : POOL(NONE);
}

/* What a pointer leads to if that is a type in progress or an array of such; else none. */
static PoolId open_pointee(Sema *s, const Node *n)
{
  if (n->kind != ND_ARRAY_TYPE)
    return type_in_progress(s, n);
  const NodeArrayType *array = node_array_type(n);
  uint32_t dims[MAX_RANK];
  PoolId element = type_in_progress(s, array->element);
  if (pool_is_none(element) || !array_dims(s, array, dims))
    return POOL(NONE);
  return pool_array_type(s->pool, dims, array->dims.count, element);
}

static PoolId pointer_type(Sema *s, const NodePointerType *n)
{
  PoolId open = open_pointee(s, n->pointee);
  if (!pool_is_none(open))
    return pool_pointer_type(s->pool, n->is_many, n->is_const, open);
  PoolId pointee = sema_type_expr(s, n->pointee);
  if (pool_eq(pointee, POOL(POISON_TYPE)))
    return pointee;
  bool is_fn = pool_kind(s->pool, pointee) == PK_FN_TYPE;
  if (!is_fn && !pool_eq(pointee, POOL(ANYOPAQUE)) && !s->now.comptime &&
      type_is_comptime_only(s->pool, pointee)) {
    diag_pointer_to_comptime_only(s->diags, n->pointee->span, pointee);
    return POOL(POISON_TYPE);
  }
  return pool_pointer_type(s->pool, n->is_many, n->is_const, pointee);
}

static PoolId fn_type(Sema *s, const NodeFnType *n)
{
  PoolId *params = arena_many(s->arena, PoolId, n->params.count + 1);
  for (uint32_t i = 0; i < n->params.count; i++) {
    params[i] = sema_type_expr(s, node_param(n->params.at[i])->type);
    if (pool_eq(params[i], POOL(POISON_TYPE)))
      return params[i];
  }
  PoolKey k = {.kind = PK_FN_TYPE, .type = POOL(TYPE)};
  k.u.fn_type.is_task = n->is_task;
  k.u.fn_type.n = n->params.count;
  k.u.fn_type.params = params;
  k.u.fn_type.result = sema_type_expr(s, n->result);
  return pool_eq(k.u.fn_type.result, POOL(POISON_TYPE)) ? POOL(POISON_TYPE)
                                                         : pool_get(s->pool, &k);
}

static bool is_repeated(Sema *s, const NodeList *list, uint32_t i, StrId name, Span span,
                        Name (*name_of)(const Node *))
{
  for (uint32_t k = 0; k < i; k++)
    if (str_eq(name_of(list->at[k]).text, name)) {
      diag_repeated_field(s->diags, span, sema_text(s, name));
      diag_declared_here(s->diags, name_of(list->at[k]).span, sema_text(s, name));
      return true;
    }
  return false;
}

static Name field_decl_name(const Node *n) { return node_field_decl(n)->name; }
static Name enum_member_name(const Node *n) { return node_enum_member(n)->name; }

static PoolId struct_type(Sema *s, const NodeStructType *n, StrId name)
{
  PoolField *fields = arena_many(s->arena, PoolField, n->fields.count + 1);
  for (uint32_t i = 0; i < n->fields.count; i++) {
    const NodeFieldDecl *f = node_field_decl(n->fields.at[i]);
    if (is_repeated(s, &n->fields, i, f->name.text, f->name.span, field_decl_name))
      return POOL(POISON_TYPE);
    fields[i] = (PoolField){.name = f->name.text, .type = sema_type_expr(s, f->type)};
    if (pool_eq(fields[i].type, POOL(POISON_TYPE)))
      return fields[i].type;
  }
  if (n->layout == LAYOUT_PACKED && !packed_check(s, n, fields))
    return POOL(POISON_TYPE);
  PoolKey k = {.kind = n->is_union ? PK_UNION_TYPE : PK_STRUCT_TYPE, .type = POOL(TYPE)};
  k.u.fields.n = n->fields.count;
  k.u.fields.fields = fields;
  k.u.fields.origin = n->head.span.off + 1;
  k.u.fields.layout = n->layout;
  k.u.fields.name = name;
  return pool_get(s->pool, &k);
}

/* The smallest integer from 0 that no member has. */
static int64_t next_free(const int64_t *taken, const bool *is_set, uint32_t n)
{
  for (int64_t v = 0;; v++) {
    bool is_taken = false;
    for (uint32_t i = 0; i < n && !is_taken; i++)
      is_taken = is_set[i] && taken[i] == v;
    if (!is_taken)
      return v;
  }
}

static bool enum_values(Sema *s, const NodeEnumType *n, PoolId tag, int64_t *values, bool *is_set)
{
  for (uint32_t i = 0; i < n->members.count; i++) {
    const NodeEnumMember *m = node_enum_member(n->members.at[i]);
    if (is_repeated(s, &n->members, i, m->name.text, m->name.span, enum_member_name))
      return false;
    if (m->value == NULL)
      continue;
    PoolId value = sema_comptime(s, m->value, tag);
    Operand o = sema_coerce(s, operand_value(s, value), tag, m->value->span);
    if (operand_is_poison(o))
      return false;
    pool_int_value(s->pool, o.value, &values[i]);
    for (uint32_t k = 0; k < i; k++)
      if (is_set[k] && values[k] == values[i]) {
        diag_repeated_enum_value(s->diags, m->value->span, values[i]);
        return false;
      }
    is_set[i] = true;
  }
  for (uint32_t i = 0; i < n->members.count; i++)
    if (!is_set[i]) {
      values[i] = next_free(values, is_set, n->members.count);
      is_set[i] = true;
    }
  return true;
}

static PoolId enum_type(Sema *s, const NodeEnumType *n, StrId name)
{
  uint32_t count = n->members.count;
  PoolId tag = n->tag_type != NULL ? sema_type_expr(s, n->tag_type) : POOL(U16);
  if (pool_eq(tag, POOL(POISON_TYPE)))
    return tag;
  if (pool_kind(s->pool, tag) != PK_INT_TYPE) {
    diag_bad_enum_tag(s->diags, n->tag_type->span, tag);
    return POOL(POISON_TYPE);
  }
  int64_t *values = arena_many(s->arena, int64_t, count + 1);
  bool *is_set = arena_many(s->arena, bool, count + 1);
  if (!enum_values(s, n, tag, values, is_set))
    return POOL(POISON_TYPE);
  StrId *names = arena_many(s->arena, StrId, count + 1);
  PoolId *ids = arena_many(s->arena, PoolId, count + 1);
  for (uint32_t i = 0; i < count; i++) {
    names[i] = node_enum_member(n->members.at[i])->name.text;
    if (!value_small_fits(s->pool, tag, values[i])) {
      diag_enum_member_unfit(s->diags, n->members.at[i]->span, sema_text(s, names[i]),
                             tag);
      return POOL(POISON_TYPE);
    }
    ids[i] = pool_int(s->pool, tag, values[i]);
  }
  PoolKey k = {.kind = PK_ENUM_TYPE, .type = POOL(TYPE)};
  k.u.enum_type.tag = tag;
  k.u.enum_type.n = count;
  k.u.enum_type.names = names;
  k.u.enum_type.values = ids;
  k.u.enum_type.origin = n->head.span.off + 1;
  k.u.enum_type.name = name;
  return pool_get(s->pool, &k);
}

PoolId sema_type_node(Sema *s, const Node *n, StrId name)
{
  Memo *memo = memo_of(s, n);
  if (memo != NULL && !pool_is_none(memo->value))
    return memo->value;
  uint64_t uses = s->own->local_uses, effects = s->own->effects;
  PoolId type = POOL(POISON_TYPE);
  switch ((int)n->kind) {
  case ND_ARRAY_TYPE:
    type = array_type(s, node_array_type(n));
    break;
  case ND_POINTER_TYPE:
    type = pointer_type(s, node_pointer_type(n));
    break;
  case ND_FN_TYPE:
    type = fn_type(s, node_fn_type(n));
    break;
  case ND_STRUCT_TYPE:
    type = struct_type(s, node_struct_type(n), name);
    break;
  case ND_ENUM_TYPE:
    type = enum_type(s, node_enum_type(n), name);
    break;
  case ND_ANYTYPE:
    diag_anytype_misplaced(s->diags, n->span);
    break;
  default:
    ICE("not a type");
  }
  if (uses == s->own->local_uses && effects == s->own->effects && !pool_eq(type, POOL(POISON_TYPE)))
    memo_put(s, n, POOL(NONE), type);
  return type;
}
