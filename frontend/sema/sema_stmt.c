/* Statements and the constructs that are statement and expression alike. */
#include "frontend/sema/sema_internal.h"

#include "stb_ds.h"

static void sema_stmt(Sema *s, const Node *n);

/* ---- values to start with ------------------------------------------------------------------- */

/* What a variable without an initialiser holds: zero; none where there is no zero. */
static PoolId zero_value(Sema *s, PoolId type)
{
  PoolKey k = pool_key(s->pool, type);
  if (k.kind == PK_INT_TYPE || pool_eq(type, POOL(COMPTIME_INT)) || k.kind == PK_ENUM_TYPE)
    return pool_int(s->pool, type, 0);
  if (type_is_float(s->pool, type))
    return pool_float(s->pool, type, 0);
  return pool_eq(type, POOL(BOOL)) ? POOL(FALSE) : POOL(NONE);
}

static void zero_leaves(Sema *s, PoolId type, PoolId *leaves)
{
  PoolKey k = pool_key(s->pool, type);
  if (k.kind == PK_ARRAY_TYPE) {
    uint32_t n = (uint32_t)type_element_count(s->pool, type);
    uint32_t each = type_leaf_count(s->pool, k.u.array.element);
    for (uint32_t i = 0; i < n; i++)
      zero_leaves(s, k.u.array.element, leaves + (size_t)i * each);
    return;
  }
  if (k.kind == PK_STRUCT_TYPE) {
    for (uint32_t i = 0; i < k.u.fields.n; i++) {
      zero_leaves(s, k.u.fields.fields[i].type, leaves);
      leaves += type_leaf_count(s->pool, k.u.fields.fields[i].type);
    }
    return;
  }
  *leaves = zero_value(s, type);
}

/* ---- declarations --------------------------------------------------------------------------- */

static Operand declare_const(Sema *s, const NodeVarDecl *n, PoolId type)
{
  Operand o = sema_load(s, sema_expr(s, n->init, type));
  o = sema_coerce(s, o, type, n->init->span);
  o.decl = NULL;
  if (o.kind != OPR_MEMORY)
    return o;
  if (!o.is_temp) {
    Operand copy = sema_temp(s, o.type);
    place_init(s, copy, o);
    copy.value = o.value;
    o = copy;
  }
  o.is_temp = false;
  o.is_const = true;
  return o;
}

/* The type of a declaration whose fields are those of `made`; each evaluation with the same fields
 * gives one type. */
static PoolId close_local(Sema *s, PoolId self, PoolId made)
{
  pool_close_struct(s->pool, self, made);
  for (size_t i = 0; i < arrlenu(s->own->closed_structs); i++)
    if (type_is_same_struct(s->pool, self, s->own->closed_structs[i]))
      return s->own->closed_structs[i];
  arrput(s->own->closed_structs, self);
  return self;
}

static Operand declare_struct(Sema *s, const NodeVarDecl *n, PoolId type)
{
  LocalStruct local = {.up = s->own->local_structs, .frame = s->now.frame, .name = n->name.text,
                       .is_union = node_struct_type(n->init)->is_union};
  s->own->local_structs = &local;
  PoolId made = sema_type_node(s, n->init, n->name.text);
  s->own->local_structs = local.up;
  if (pool_eq(made, POOL(POISON_TYPE)))
    return operand_poison();
  if (!pool_is_none(local.self))
    made = close_local(s, local.self, made);
  return sema_coerce(s, operand_at(operand_value(s, made), n->init->span), type, n->init->span);
}

/* Each leaf stays in memory, and is written once. */
static bool check_cell_size(Sema *s, PoolId type, Span span)
{
  enum { LEAVES_MAX = 1 << 25, LEAVES_PER_STEP = 16 };
  uint32_t leaves = type_leaf_count(s->pool, type);
  sema_count_steps(s, leaves / LEAVES_PER_STEP);
  if (leaves <= LEAVES_MAX)
    return true;
  diag_comptime_variable_size(s->diags, span, type, LEAVES_MAX);
  return false;
}

static Operand declare_cell(Sema *s, const NodeVarDecl *n, PoolId type)
{
  Operand o = operand_poison();
  if (n->init != NULL) {
    o = sema_comptime_operand(s, n->init, type);
    o = sema_coerce(s, o, type, n->init->span);
    if (operand_is_poison(o))
      return o;
    if (pool_is_none(type))
      type = o.type;
  }
  /* What a template assigns to it may depend on the parameters. */
  if (template_is_walked(s) || !check_cell_size(s, type, n->name.span))
    return operand_poison();
  if (n->init != NULL)
    return cell_make(s, type, o.value, n->var_kind == VAR_CONST);
  Operand cell = cell_make(s, type, POOL(NONE), false);
  zero_leaves(s, type, &s->own->leaves[s->own->cells[cell.cell].first]);
  return cell;
}

/* The stack pointer only keeps the alignment of words. */
static void check_local_align(Sema *s, const NodeVarDecl *n, uint32_t align)
{
  uint32_t stack = ir_type_align(IRT_I16), wanted = sema_align(s, n->align, align);
  if (wanted > align && wanted > stack)
    diag_local_align(s->diags, n->align->span, wanted, stack);
}

static bool type_is_packed_inside(const Sema *s, PoolId type)
{
  PoolKey k = pool_key(s->pool, type);
  if (k.kind == PK_ARRAY_TYPE)
    return type_is_packed_inside(s, k.u.array.element);
  if (k.kind != PK_STRUCT_TYPE && k.kind != PK_UNION_TYPE)
    return false;
  for (uint32_t i = 0; i < k.u.fields.n; i++)
    if (type_is_packed_inside(s, k.u.fields.fields[i].type))
      return true;
  return packed_is(s, type);
}

/* A place in memory without a value of the program's own.  Writing a field of a packed type reads
 * the others, so such variables are left alone. */
static Operand declare_unset(Sema *s, const NodeVarDecl *n, Operand place)
{
  PoolId zero = zero_value(s, place.type);
  UnsetLocal local = {s->b.func, s->b.block, place.ir, {0}, n->name.text, n->name.span};
  if (!pool_is_none(zero)) {
    place_init(s, place, operand_value(s, zero));
    local.zeroing.raw = s->ir->funcs[s->b.func.raw].n_insns - 1;
  }
  if (!type_is_packed_inside(s, place.type))
    arrput(s->unset_locals, local);
  return place;
}

/* A variable that takes its type from a struct could have no other value in a field whose type
 * says its value.  False after reporting one. */
static bool check_fields_vary(Sema *s, PoolId type, Span span)
{
  if (!type_has_known(s->pool, type))
    return true;
  for (uint32_t i = 0; i < pool_key(s->pool, type).u.fields.n; i++) {
    const PoolField *field = &pool_key(s->pool, type).u.fields.fields[i];
    if (!pool_is_none(field->known)) {
      diag_comptime_only_type(s->diags, span, field->type);
      sema_note_run_time(s, type, span);
      return false;
    }
    if (!check_fields_vary(s, field->type, span))
      return false;
  }
  return true;
}

static Operand declare_memory(Sema *s, const NodeVarDecl *n, PoolId type)
{
  Operand o = operand_poison();
  if (n->init != NULL) {
    o = sema_coerce(s, sema_expr(s, n->init, type), type, n->init->span);
    if (operand_is_poison(o) ||
        (pool_is_none(type) && !check_fields_vary(s, o.type, n->init->span)))
      return operand_poison();
    type = pool_is_none(type) ? o.type : type;
  }
  if (!sema_check_run_time(s, type, n->init != NULL ? n->init->span : n->name.span))
    return operand_poison();
  uint32_t align = type_align(s->pool, type);
  if (n->align != NULL)
    check_local_align(s, n, align);
  if (o.kind == OPR_MEMORY && o.is_temp) {
    o.is_temp = false;
    o.value = POOL(NONE);
    return o;
  }
  Operand place =
      operand_place(ir_alloca(&s->b, type_bytes(s->pool, type), align), type, false);
  if (n->init == NULL)
    return declare_unset(s, n, place);
  place_init(s, place, o);
  if (operand_is_comptime(o) && pool_kind(s->pool, o.value) == PK_DSD)
    arrput(s->local_dsds, ((LocalDsd){s->b.func, place.ir, o.value}));
  return place;
}

static void stmt_var(Sema *s, const NodeVarDecl *n)
{
  PoolId type = n->type != NULL ? sema_type_expr(s, n->type) : POOL(NONE);
  Operand o = operand_poison();
  bool is_cell = n->is_comptime || (!sema_emits(s) && n->var_kind == VAR_VAR);
  if (n->init == NULL && (n->var_kind == VAR_CONST || n->type == NULL))
    diag_needs_initialiser(s->diags, n->name.span, sema_text(s, n->name.text));
  else if (pool_eq(type, POOL(POISON_TYPE)))
    o = operand_poison();
  else if (n->var_kind == VAR_CONST && n->init->kind == ND_STRUCT_TYPE)
    o = declare_struct(s, n, type);
  else if (is_cell && n->var_kind == VAR_VAR)
    o = declare_cell(s, n, type);
  else if (n->is_comptime)
    o = sema_coerce(s, sema_comptime_operand(s, n->init, type), type, n->init->span);
  else if (n->var_kind == VAR_CONST)
    o = declare_const(s, n, type);
  else
    o = declare_memory(s, n, type);
  if (o.kind == OPR_COMPTIME && !operand_is_poison(o))
    o.decl = NULL;
  scope_add_declared(s, n->name, o, n->type, n->init);
}

static bool is_discard(Sema *s, const Node *target)
{
  if (target->kind != ND_IDENT)
    return false;
  const char *text = sema_text(s, node_ident(target)->name);
  return text[0] == '_' && text[1] == 0;
}

/* Names and members of names. */
static bool is_same_place(const Node *a, const Node *b)
{
  if (node_kind(a) != node_kind(b))
    return false;
  if (node_kind(a) == ND_IDENT)
    return str_eq(node_ident(a)->name, node_ident(b)->name);
  return node_kind(a) == ND_MEMBER &&
         str_eq(node_member(a)->name.text, node_member(b)->name.text) &&
         is_same_place(node_member(a)->base_expr, node_member(b)->base_expr);
}

static void stmt_assign(Sema *s, const NodeAssign *n)
{
  if (n->op == ASSIGN_PLAIN && is_discard(s, n->target)) {
    sema_load(s, sema_expr(s, n->value, POOL(NONE)));
    return;
  }
  if (node_kind(n->target) == ND_POINTER_TYPE) {
    diag_pointer_target(s->diags, n->target->span);
    return;
  }
  Operand target = operand_at(sema_expr(s, n->target, POOL(NONE)), n->target->span);
  PoolId want = operand_is_poison(target) ? POOL(NONE) : target.type;
  bool is_shift = n->op == BINARY_SHL || n->op == BINARY_SHR;
  Operand value = sema_expr(s, n->value, is_shift ? POOL(NONE) : want);
  value = operand_at(sema_load(s, operand_at(value, n->value->span)), n->value->span);
  if (operand_is_poison(target))
    return;
  bool is_lvalue = target.kind == OPR_MEMORY || target.kind == OPR_CELL;
  if (n->op != ASSIGN_PLAIN && is_lvalue && !target.is_const) {
    Operand old = operand_at(sema_load(s, target), n->target->span);
    value = sema_binary(s, (BinaryOp)n->op, old, value, n->op_span);
  }
  if (n->op == ASSIGN_PLAIN && is_same_place(n->target, n->value))
    diag_assigns_itself(s->diags, n->op_span);
  sema_store(s, target, value, n->value->span);
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* What a block has behind a statement that leaves it never runs, whatever its conditions say. */
static void check_reached(Sema *s, const NodeBlock *n)
{
  for (uint32_t i = 1; i < n->stmts.count; i++) {
    NodeKind kind = node_kind(n->stmts.at[i - 1]);
    if (kind != ND_RETURN && kind != ND_BREAK && kind != ND_CONTINUE)
      continue;
    diag_never_reached(s->diags, n->stmts.at[i]->span, node_kind_name(kind));
    return;
  }
}

Operand sema_block(Sema *s, const Node *node, PoolId want)
{
  const NodeBlock *n = node_block(node);
  Scope scope = scope_open(s, node->span);
  Target target;
  bool has_label = name_is_given(n->label);
  if (has_label)
    target_push(s, &target, TARGET_BLOCK, n->label, want);
  for (uint32_t i = 0; i < n->stmts.count && !s->is_dead && !s->is_refuted; i++)
    sema_stmt(s, n->stmts.at[i]);
  if (s->is_dead)
    check_reached(s, n);
  Operand result = operand_void();
  if (has_label) {
    target_pop(s, &target);
    if (!s->is_dead)
      exit_add(s, &target.breaks, operand_void(), node->span);
    result = exits_join(s, &target.breaks, want, node->span);
    if (s->own->is_out_of_steps)
      result = operand_poison();
  }
  scope_close(s, scope);
  return result;
}

void sema_run_comptime_block(Sema *s, const Node *block, Where where, uint32_t module)
{
  Frame frame = {.name = {0}};
  SavedWalk saved;
  WalkContext context = walk_comptime_in(s, module);
  context.where = where;
  sema_enter(s, &frame, context, &saved);
  sema_stmt(s, block);
  sema_leave(s, &saved);
}

/* ---- templates that nothing calls ------------------------------------------------------------ */

/* Kept out of the frames of the functions that recur for every program. */
#define APART __attribute__((noinline))

/* A block for code that nothing reaches in this order; it is thrown away. */
static void begin_block(Sema *s)
{
  if (sema_emits(s))
    s->b.block = ir_block_add(s->ir, s->b.func);
}

/* Which way the program goes here is in error, so what would run there is left out. */
static Operand leave_out(Sema *s)
{
  s->leaves_out |= !sema_emits(s);      /* code of the program changes nothing that is known */
  return operand_poison();
}

/* An assertion says that no call is to come here. */
static bool takes_back(Sema *s, size_t mark)
{
  bool is_refuted = s->is_refuted;
  if (is_refuted)
    diags_rewind(s->diags, mark);
  s->is_refuted = false;
  return is_refuted;
}

/* A part that is carried out or not, and whose value is not known; true: what follows is dead if it
 * is carried out. */
static bool template_part(Sema *s, const Node *n, PoolId want, bool is_value)
{
  size_t mark = diags_mark(s->diags);
  begin_block(s);
  s->now.run_time_depth++;
  if (is_value)
    sema_coerce(s, sema_load(s, operand_at(sema_expr(s, n, want), n->span)), want, n->span);
  else
    sema_stmt(s, n);
  s->now.run_time_depth--;
  bool is_dead = s->is_dead | takes_back(s, mark);
  s->is_dead = false;
  return is_dead;
}

/* After all parts between which a condition of poison chooses. */
static Operand template_parts_end(Sema *s, bool is_dead)
{
  begin_block(s);
  s->is_dead = is_dead;
  return operand_poison();
}

/* ---- if ------------------------------------------------------------------------------------- */

static Operand walk_branch(Sema *s, const Node *n, PoolId want, bool is_value)
{
  if (is_value)
    return sema_load(s, operand_at(sema_expr(s, n, want), n->span));
  sema_stmt(s, n);
  return operand_void();
}

/* A condition: known (then *known says which), at run time, or in error. */
static Operand walk_condition(Sema *s, const Node *n, bool *known)
{
  PoolId at_hand = bool_at_hand(s, n);
  if (!pool_is_none(at_hand)) {
    *known = value_is_true(at_hand);
    return operand_at(operand_value(s, at_hand), n->span);
  }
  Operand o = sema_coerce(s, sema_expr(s, n, POOL(BOOL)), POOL(BOOL), n->span);
  if (o.kind == OPR_COMPTIME) {
    o = operand_at(operand_value(s, sema_force(s, o.value, n->span)), n->span);
    *known = o.kind == OPR_COMPTIME && value_is_true(o.value);
  } else if (o.kind == OPR_RUNTIME && !sema_emits(s)) {
    diag_not_comptime(s->diags, n->span);
    return operand_poison();
  }
  if (o.kind == OPR_RUNTIME)
    sema_check_condition(s, n);
  return o;
}

static APART Operand if_of_template(Sema *s, const NodeIf *n, PoolId want, bool is_value)
{
  bool is_dead = template_part(s, n->then_part, want, is_value);
  bool other = n->else_part != NULL && template_part(s, n->else_part, want, is_value);
  return template_parts_end(s, is_dead && other);
}

static Operand if_known(Sema *s, const NodeIf *n, bool is_true, PoolId want, bool is_value)
{
  const Node *taken = is_true ? n->then_part : n->else_part;
  if (!is_true || n->else_part != NULL)
    sema_note_left_out(s);
  Operand value = taken != NULL ? walk_branch(s, taken, want, is_value) : operand_void();
  if (s->is_dead)
    sema_note_left_out(s);             /* what follows */
  return value;
}

Operand sema_if(Sema *s, const Node *node, PoolId want, bool is_value)
{
  const NodeIf *n = node_if(node);
  bool is_true = false;
  Operand cond = walk_condition(s, n->cond, &is_true);
  if (operand_is_poison(cond) && template_is_walked(s))
    return if_of_template(s, n, want, is_value);
  if (operand_is_poison(cond))
    return leave_out(s);
  if (cond.kind == OPR_COMPTIME)
    return if_known(s, n, is_true, want, is_value);
  ExitList exits;
  exits_init(&exits);
  IrBlockId yes = ir_block_add(s->ir, s->b.func), no = ir_block_add(s->ir, s->b.func);
  ir_cond_br(&s->b, cond.ir, yes, NULL, 0, no, NULL, 0);
  s->now.run_time_depth++;
  s->b.block = yes;
  Operand value = walk_branch(s, n->then_part, want, is_value);
  if (!s->is_dead)
    exit_add(s, &exits, value, n->then_part->span);
  s->is_dead = false;
  s->b.block = no;
  Operand other =
      n->else_part != NULL ? walk_branch(s, n->else_part, want, is_value) : operand_void();
  s->now.run_time_depth--;
  if (n->else_part == NULL && is_value && exits.n > 0 && !pool_eq(value.type, POOL(VOID)) &&
      !operand_is_poison(value)) {
    diag_if_without_else(s->diags, node->span, value.type);
    exits.at[0].value = other = operand_poison();
  }
  if (!s->is_dead)
    exit_add(s, &exits, other, n->else_part != NULL ? n->else_part->span : node->span);
  return exits_join(s, &exits, want, node->span);
}

/* ---- switch --------------------------------------------------------------------------------- */

typedef struct { uint32_t key; bool value; } SeenLabel;      /* key: PoolId.raw */

/* All labels of a prong, converted to the subject's type, checked against those before. */
static bool prong_labels(Sema *s, const NodeProng *prong, PoolId type, PoolId **labels,
                         SeenLabel **seen)
{
  bool is_good = true;
  for (uint32_t i = 0; i < prong->labels.count; i++) {
    const Node *label = prong->labels.at[i];
    Operand o = sema_comptime_operand(s, label, type);
    o = sema_coerce(s, o, type, label->span);
    if (operand_is_poison(o)) {
      is_good = false;
      continue;
    }
    PoolId value = sema_force(s, o.value, label->span);
    if (hmgeti(*seen, value.raw) >= 0) {
      diag_repeated_label(s->diags, label->span, value);
      is_good = false;
    }
    hmput(*seen, value.raw, true);
    arrput(*labels, value);
  }
  return is_good;
}

static bool is_exhaustive(Sema *s, PoolId type, size_t n_labels)
{
  PoolKey k = pool_key(s->pool, type);
  if (k.kind == PK_ENUM_TYPE)
    return n_labels >= k.u.enum_type.n;
  enum { SMALL_BITS = 16 };
  if (k.kind == PK_INT_TYPE)
    return k.u.int_type.bits <= SMALL_BITS && n_labels >= (size_t)1 << k.u.int_type.bits;
  if (pool_eq(type, POOL(BOOL)))
    return n_labels >= 2;
  return pool_eq(type, POOL(DIRECTION)) && n_labels >= PORT_COUNT;
}

/* The members of an enum that no label names. */
static void note_missing_labels(Sema *s, PoolId type, const PoolId *labels, size_t n, Span at)
{
  PoolKey k = pool_key(s->pool, type);
  const char *missing = NULL;
  for (uint32_t i = 0; k.kind == PK_ENUM_TYPE && i < k.u.enum_type.n; i++) {
    PoolId member = value_int_as(s->pool, type, k.u.enum_type.values[i]);
    bool is_named = false;
    for (size_t l = 0; l < n; l++)
      is_named = is_named || pool_eq(labels[l], member);
    const char *name = sema_text(s, k.u.enum_type.names[i]);
    if (!is_named)
      missing = missing ? arena_printf(s->arena, "%s, %s", missing, name) : name;
  }
  if (missing != NULL)
    diag_missing_labels(s->diags, at, missing);
}

static bool check_subject(Sema *s, Operand o, Span span)
{
  if (operand_is_poison(o))
    return false;
  PoolKind kind = pool_kind(s->pool, o.type);
  bool is_ok = type_is_int(s->pool, o.type) || kind == PK_ENUM_TYPE || type_is_id(o.type) ||
               pool_eq(o.type, POOL(BOOL)) || pool_eq(o.type, POOL(DIRECTION));
  if (!is_ok) {
    diag_bad_switch_subject(s->diags, span, o.type);
    if (pool_eq(o.type, POOL(COMPTIME_STRING)))
      diag_syntax_help(s->diags, span, "'==' compares strings: 'if (a == b) ... else ...'");
  } else if (o.kind != OPR_COMPTIME && type_is_wide(s->pool, o.type))
    diag_wide_operand(s->diags, span, o.type);
  else
    return true;
  return false;
}

/* The labels of prong i are values[begins[i]] to before values[begins[i + 1]]. */
typedef struct {
  PoolId *values;          /* stb_ds */
  uint32_t *begins;        /* of each prong, and where the last one ends */
  uint32_t else_prong;     /* IR_NO_ID: there is none */
} SwitchLabels;

/* Checks and evaluates the labels of the whole switch. */
static bool switch_labels(Sema *s, const NodeSwitch *n, PoolId type, SwitchLabels *labels)
{
  bool is_good = true;
  SeenLabel *seen = NULL;
  for (uint32_t i = 0; i < n->prongs.count; i++) {
    if (n->prongs.at[i]->kind != ND_PRONG) {
      hmfree(seen);
      return false;
    }
    const NodeProng *prong = node_prong(n->prongs.at[i]);
    labels->begins[i] = (uint32_t)arrlenu(labels->values);
    is_good = prong_labels(s, prong, type, &labels->values, &seen) && is_good;
    if (!prong->is_else)
      continue;
    if (labels->else_prong != IR_NO_ID) {
      diag_second_else(s->diags, prong->head.span);
      is_good = false;
    }
    labels->else_prong = i;
  }
  hmfree(seen);
  size_t count = arrlenu(labels->values);
  labels->begins[n->prongs.count] = (uint32_t)count;
  if (is_good && labels->else_prong == IR_NO_ID && !is_exhaustive(s, type, count)) {
    diag_switch_not_exhaustive(s->diags, n->head.span);
    note_missing_labels(s, type, labels->values, count, n->head.span);
    is_good = false;
  }
  return is_good;
}

static Operand switch_known(Sema *s, const NodeSwitch *n, const SwitchLabels *labels,
                            PoolId subject, PoolId want, bool is_value)
{
  uint32_t taken = labels->else_prong;
  sema_note_left_out(s);
  for (uint32_t i = 0; i < n->prongs.count; i++)
    for (uint32_t k = labels->begins[i]; k < labels->begins[i + 1]; k++)
      if (pool_eq(labels->values[k], subject))
        taken = i;
  if (taken == IR_NO_ID)
    return operand_void();
  return walk_branch(s, node_prong(n->prongs.at[taken])->body, want, is_value);
}

/* Compares the subject with one label after the other; ends the block that asks. */
static void switch_tests(Sema *s, const SwitchLabels *labels, IrValue subject,
                         const IrBlockId *blocks, uint32_t n_prongs)
{
  bool has_else = labels->else_prong != IR_NO_ID;
  uint32_t n_labels = labels->begins[n_prongs];
  /* Without an else the last label needs no test: the switch is exhaustive. */
  uint32_t n_tests = n_labels - (!has_else && n_labels > 0);
  uint32_t last = has_else ? labels->else_prong : n_prongs - 1;
  for (uint32_t i = 0; i < n_prongs; i++)
    for (uint32_t k = labels->begins[i]; k < labels->begins[i + 1]; k++) {
      if (k >= n_tests) {
        last = i;
        continue;
      }
      IrBlockId next = ir_block_add(s->ir, s->b.func);
      IrValue label = sema_ir(s, operand_value(s, labels->values[k]));
      IrValue equal = ir_binary(&s->b, IR_eq, IRT_BOOL, subject, label);
      ir_cond_br(&s->b, equal, blocks[i], NULL, 0, next, NULL, 0);
      s->b.block = next;
    }
  ir_br(&s->b, blocks[last], NULL, 0);
}

static Operand switch_emit(Sema *s, const NodeSwitch *n, const SwitchLabels *labels,
                           Operand subject, PoolId want, bool is_value)
{
  uint32_t count = n->prongs.count;
  ExitList exits;
  exits_init(&exits);
  IrValue v = sema_ir(s, subject);
  IrBlockId *blocks = arena_many(s->arena, IrBlockId, count + 1);
  for (uint32_t i = 0; i < count; i++)
    blocks[i] = ir_block_add(s->ir, s->b.func);
  switch_tests(s, labels, v, blocks, count);
  s->now.run_time_depth++;
  for (uint32_t i = 0; i < count; i++) {
    const Node *body = node_prong(n->prongs.at[i])->body;
    s->is_dead = false;
    s->b.block = blocks[i];
    Operand value = walk_branch(s, body, want, is_value);
    if (!s->is_dead)
      exit_add(s, &exits, value, body->span);
  }
  s->now.run_time_depth--;
  return exits_join(s, &exits, want, n->head.span);
}

static APART Operand switch_of_template(Sema *s, const NodeSwitch *n, PoolId want, bool is_value)
{
  bool is_dead = true;
  for (uint32_t i = 0; i < n->prongs.count; i++)
    if (n->prongs.at[i]->kind == ND_PRONG)
      is_dead = template_part(s, node_prong(n->prongs.at[i])->body, want, is_value) && is_dead;
  return template_parts_end(s, is_dead);
}

Operand sema_switch(Sema *s, const Node *node, PoolId want, bool is_value)
{
  const NodeSwitch *n = node_switch(node);
  Operand subject = sema_load(s, operand_at(sema_expr(s, n->subject, POOL(NONE)),
                                            n->subject->span));
  if (operand_is_poison(subject) && template_is_walked(s))
    return switch_of_template(s, n, want, is_value);
  if (!check_subject(s, subject, n->subject->span))
    return leave_out(s);
  if (n->prongs.count == 0) {
    diag_switch_not_exhaustive(s->diags, node->span);
    return leave_out(s);
  }
  enum { FEW_PRONGS = 32 };
  uint32_t few[FEW_PRONGS + 1];
  SwitchLabels labels = {NULL, few, IR_NO_ID};
  if (n->prongs.count > FEW_PRONGS)
    labels.begins = arena_many(s->arena, uint32_t, n->prongs.count + 1);
  Operand out = operand_poison();
  if (!switch_labels(s, n, subject.type, &labels)) {
    leave_out(s);
  } else if (subject.kind == OPR_COMPTIME) {
    PoolId known = sema_force(s, subject.value, n->subject->span);
    if (!pool_eq(known, POOL(POISON)))
      out = switch_known(s, n, &labels, known, want, is_value);
  } else {
    out = switch_emit(s, n, &labels, subject, want, is_value);
  }
  arrfree(labels.values);
  return out;
}

/* ---- while ---------------------------------------------------------------------------------- */

/* After the body of an iteration that is walked at compile time.  True: go on. */
static bool iteration_ends(Sema *s, Target *target)
{
  if (sema_emits(s)) {
    if (!s->is_dead)
      exit_add(s, &target->continues, operand_void(), (Span){0, 0});
    exits_join(s, &target->continues, POOL(VOID), (Span){0, 0});
  } else if (target->continues.n > 0) {
    s->is_dead = false;
  }
  target->continues.n = 0;
  return !s->is_dead;
}

/* After the last iteration of such a loop. */
static void unrolled_ends(Sema *s, Target *target)
{
  target_pop(s, target);
  if (sema_emits(s)) {
    if (!s->is_dead)
      exit_add(s, &target->breaks, operand_void(), (Span){0, 0});
    exits_join(s, &target->breaks, POOL(VOID), (Span){0, 0});
  } else if (target->breaks.n > 0) {
    s->is_dead = false;
  }
}

static bool may_unroll(Sema *s, uint32_t *n, Span span)
{
  if (sema_emits(s) && ++*n > s->session->options->max_inlined_iterations) {
    diag_too_many_iterations(s->diags, span, s->session->options->max_inlined_iterations);
    return false;
  }
  return sema_step(s, span);
}

static void not_unrolled(Sema *s, Span span, bool is_inline)
{
  diag_not_comptime(s->diags, span);
  if (is_inline)
    diag_without_inline(s->diags, span);
}

/* The condition of a loop that is unrolled: calls in it are evaluated at compile time. */
static bool unrolled_condition(Sema *s, const NodeWhile *n)
{
  bool is_true = false;
  size_t errors = diags_error_count(s->diags);
  WalkContext outer = walk_enter_comptime(s);
  Operand cond = walk_condition(s, n->cond, &is_true);
  s->now = outer;
  if (operand_is_poison(cond))
    leave_out(s);
  if (operand_is_poison(cond) && n->is_inline && diags_error_count(s->diags) > errors)
    diag_without_inline(s->diags, n->cond->span);
  return is_true;
}

/* How often a template's loop runs at compile time is not known; that it does is likely. */
static APART void while_of_template(Sema *s, const NodeWhile *n)
{
  Target target;
  target_push(s, &target, TARGET_LOOP, n->label, POOL(VOID));
  template_part(s, n->body, POOL(NONE), false);
  if (n->step != NULL)
    template_part(s, n->step, POOL(NONE), false);
  target_pop(s, &target);
  template_parts_end(s, false);
}

/* Has a turn of the loop had an error, now or when its function was called before, which shows the
 * error once?  Then its condition may never change.  Without any error in the program it counts as
 * whole: some are taken back. */
static bool has_failed(Sema *s, const NodeWhile *n, bool fails_now)
{
  if (fails_now)
    hmput(s->own->failed_loops, n->head.span.off, true);
  bool has_before = hmgeti(s->own->failed_loops, n->head.span.off) >= 0;
  return has_before && diags_error_count(s->diags) > 0;
}

static void while_unrolled(Sema *s, const NodeWhile *n)
{
  if (template_is_walked(s)) {
    unrolled_condition(s, n);
    while_of_template(s, n);
    return;
  }
  Target target;
  uint32_t iterations = 0;
  target_push(s, &target, TARGET_LOOP, n->label, POOL(VOID));
  for (;;) {
    if (!may_unroll(s, &iterations, n->head.span) || !unrolled_condition(s, n))
      break;
    size_t errors = diags_error_count(s->diags);
    sema_stmt(s, n->body);
    if (!iteration_ends(s, &target))
      break;
    if (n->step != NULL)
      sema_stmt(s, n->step);
    if (has_failed(s, n, diags_error_count(s->diags) > errors))
      break;
  }
  unrolled_ends(s, &target);
}

/* A loop of the program: head (condition), body, step. */
static void while_emitted(Sema *s, const NodeWhile *n)
{
  IrBlockId head = ir_block_add(s->ir, s->b.func);
  ir_br(&s->b, head, NULL, 0);
  s->b.block = head;
  s->now.run_time_depth++;
  bool is_true = false;
  Operand cond = walk_condition(s, n->cond, &is_true);
  IrBlockId done = ir_block_add(s->ir, s->b.func);
  bool can_end = cond.kind != OPR_COMPTIME || !is_true;
  if (operand_is_poison(cond) || (cond.kind == OPR_COMPTIME && !is_true)) {
    sema_note_left_out(s);
    ir_br(&s->b, done, NULL, 0);
    s->b.block = done;
    s->now.run_time_depth--;
    if (operand_is_poison(cond) && template_is_walked(s))
      while_of_template(s, n);
    return;
  }
  IrBlockId body = ir_block_add(s->ir, s->b.func), step = ir_block_add(s->ir, s->b.func);
  if (cond.kind == OPR_RUNTIME)
    ir_cond_br(&s->b, cond.ir, body, NULL, 0, done, NULL, 0);
  else
    ir_br(&s->b, body, NULL, 0);
  Target target;
  target_push(s, &target, TARGET_LOOP, n->label, POOL(VOID));
  target.has_blocks = true;
  target.break_to = done;
  target.continue_to = step;
  s->b.block = body;
  sema_stmt(s, n->body);
  bool has_step = !s->is_dead || target.is_continued;
  if (!s->is_dead)
    ir_br(&s->b, step, NULL, 0);
  s->is_dead = false;
  s->b.block = step;
  if (has_step && n->step != NULL)
    sema_stmt(s, n->step);
  if (has_step && !s->is_dead) {
    sema_at(s, n->head.span);
    ir_br(&s->b, head, NULL, 0);
  }
  if (cond.kind == OPR_RUNTIME)
    arrput(s->loops, ((CodeLoop){s->b.func, head, done, s->ir->funcs[s->b.func.raw].n_blocks,
                                 n->cond->span}));
  target_pop(s, &target);
  s->now.run_time_depth--;
  s->b.block = done;
  s->is_dead = !can_end && !target.is_broken;
}

/* ---- for ------------------------------------------------------------------------------------ */

/* Declares a capture unless it is absent or `_`. */
static void declare_capture(Sema *s, Name name, Operand o)
{
  const char *text = sema_text(s, name.text);
  if (name_is_given(name) && !(text[0] == '_' && text[1] == 0))
    scope_add(s, name, o, NULL);
}

static bool for_body(Sema *s, const NodeFor *n, Target *target, Operand item, int64_t index,
                     uint32_t *iterations)
{
  size_t errors = diags_error_count(s->diags);
  if (!may_unroll(s, iterations, n->head.span))
    return false;
  Scope scope = scope_open(s, n->body->span);
  declare_capture(s, n->item, item);
  if (name_is_given(n->index))
    declare_capture(s, n->index, operand_value(s, pool_int(s->pool, POOL(COMPTIME_INT), index)));
  PoolId none = POOL(NONE);
  replay_begin(s, scope.n_locals, 0);
  if (!replay_repeat(s, bool_at_hand, &none)) {
    ReplayStart start;
    replay_start(s, &start);
    sema_stmt(s, n->body);
    replay_keep(s, &start, none);
  }
  scope_close(s, scope);
  return iteration_ends(s, target) && diags_error_count(s->diags) == errors;
}

static void for_range_known(Sema *s, const NodeFor *n, Target *target, const PoolKey *range)
{
  uint32_t iterations = 0;
  int64_t start = 0, stop = 0, step = 0;
  PoolId element = pool_key(s->pool, range->type).u.array.element;
  if (!pool_int_value(s->pool, range->u.range.start, &start) ||
      !pool_int_value(s->pool, range->u.range.stop, &stop) ||
      !pool_int_value(s->pool, range->u.range.step, &step) || step == 0) {
    diag_bad_range(s->diags, n->iterable->span);
    return;
  }
  int64_t index = 0;
  for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
    Operand item = operand_value(s, pool_int(s->pool, element, i));
    if (!for_body(s, n, target, item, index++, &iterations) ||
        __builtin_add_overflow(i, step, &i))
      break;
  }
}

static void for_unrolled(Sema *s, const NodeFor *n, Operand o)
{
  PoolKey k = pool_key(s->pool, o.value);
  PoolKind kind = pool_kind(s->pool, o.type);
  bool is_sequence = kind == PK_ARRAY_TYPE || kind == PK_STRUCT_TYPE;
  if (k.kind == PK_RANGE || k.kind == PK_SYMBOLIC)
    k = pool_key(s->pool, sema_force(s, o.value, n->iterable->span));
  if (k.kind == PK_POISON)
    return;
  Target target;
  Replay replay = {.outer = NULL};
  uint32_t iterations = 0;
  target_push(s, &target, TARGET_LOOP, n->label, POOL(VOID));
  replay_enter(s, &replay);
  if (k.kind == PK_RANGE)
    for_range_known(s, n, &target, &k);
  else if (is_sequence)
    for (uint32_t i = 0; i < k.u.aggregate.n; i++)
      if (!for_body(s, n, &target, operand_value(s, k.u.aggregate.elems[i]), i, &iterations))
        break;
  replay_leave(s, &replay);
  replay_free(&replay);
  unrolled_ends(s, &target);
}

/* Elements that are known at run time only, of an array or a tuple. */
static void for_elements_unrolled(Sema *s, const NodeFor *n, Operand o)
{
  PoolKey k = pool_key(s->pool, o.type);
  bool is_array = k.kind == PK_ARRAY_TYPE;
  uint64_t count = is_array ? type_element_count(s->pool, o.type) : k.u.fields.n;
  Target target;
  Replay replay = {.outer = NULL};
  uint32_t iterations = 0;
  target_push(s, &target, TARGET_LOOP, n->label, POOL(VOID));
  replay_enter(s, &replay);
  for (uint32_t i = 0; i < count; i++) {
    int64_t each = is_array ? type_bytes(s->pool, k.u.array.element) : 0;
    PoolId known = is_array ? POOL(NONE) : sema_known_field(s, &o, i);
    Operand item = is_array ? place_part(s, o, each * i, k.u.array.element)
                            : pool_is_none(known) ? place_field(s, o, i) : operand_value(s, known);
    item.is_const = true;
    if (!for_body(s, n, &target, sema_load(s, item), i, &iterations))
      break;
  }
  replay_leave(s, &replay);
  replay_free(&replay);
  unrolled_ends(s, &target);
}

static bool is_known_int(Sema *s, Operand o, int64_t *out)
{
  return o.kind == OPR_COMPTIME && pool_int_value(s->pool, o.value, out);
}

/* A loop of the program whose counter is the parameter of its body block:
 *   before: [first < stop?] body(first) or done     body(i): ...; next
 *   next:   i + step; more elements? body(i + step) or done */
typedef struct {
  PoolId type;             /* of the counter */
  IrValue counter, index;  /* parameters of body; index: IR_NO_VALUE if not needed */
  IrBlockId body, next, done;
  Target target;
  Span head;
} ForLoop;

static void loop_open(Sema *s, const NodeFor *n, ForLoop *loop, PoolId type, IrValue first,
                      IrValue enters)
{
  loop->type = type;
  loop->body = ir_block_add(s->ir, s->b.func);
  loop->next = ir_block_add(s->ir, s->b.func);
  loop->head = n->head.span;
  loop->done = ir_block_add(s->ir, s->b.func);
  loop->counter = ir_block_param(s->ir, s->b.func, loop->body, type_ir(s->pool, type));
  loop->index = IR_NO_VALUE;
  IrValue args[2] = {first, IR_NO_VALUE};
  uint32_t n_args = 1;
  if (name_is_given(n->index)) {
    loop->index = ir_block_param(s->ir, s->b.func, loop->body, IRT_I16);
    args[n_args++] = ir_const(&s->b, IRT_I16, 0);
  }
  if (ir_value_is_none(enters))
    ir_br(&s->b, loop->body, args, n_args);
  else
    ir_cond_br(&s->b, enters, loop->body, args, n_args, loop->done, NULL, 0);
  target_push(s, &loop->target, TARGET_LOOP, n->label, POOL(VOID));
  loop->target.has_blocks = true;
  loop->target.break_to = loop->done;
  loop->target.continue_to = loop->next;
  s->b.block = loop->body;
  s->now.run_time_depth++;
}

/* Walks the body with its captures; leaves the cursor in `next`.  False: nothing gets there. */
static bool loop_body(Sema *s, const NodeFor *n, ForLoop *loop, Operand item)
{
  Scope scope = scope_open(s, n->body->span);
  declare_capture(s, n->item, item);
  if (name_is_given(n->index))
    declare_capture(s, n->index, operand_runtime(loop->index, POOL(U16)));
  sema_stmt(s, n->body);
  scope_close(s, scope);
  bool goes_on = !s->is_dead || loop->target.is_continued;
  if (!s->is_dead)
    ir_br(&s->b, loop->next, NULL, 0);
  s->is_dead = false;
  s->b.block = loop->next;
  sema_at(s, loop->head);       /* the way around is no part of the body */
  return goes_on;
}

static void loop_close(Sema *s, ForLoop *loop, bool goes_on, IrValue next, IrValue more)
{
  if (goes_on) {
    IrValue args[2] = {next, IR_NO_VALUE};
    uint32_t n_args = 1;
    if (!ir_value_is_none(loop->index))
      args[n_args++] = ir_binary(&s->b, IR_add, IRT_I16, loop->index, ir_const(&s->b, IRT_I16, 1));
    ir_cond_br(&s->b, more, loop->body, args, n_args, loop->done, NULL, 0);
  }
  target_pop(s, &loop->target);
  s->now.run_time_depth--;
  s->b.block = loop->done;
}

/* Is there an element after i?  For a step of one the next is the stop exactly once; other steps
 * must not run past it and wrap, so the distance decides. */
static IrValue more_elements(Sema *s, ForLoop *loop, IrValue next, IrValue stop, Operand step,
                             IrValue step_ir)
{
  IrType t = type_ir(s->pool, loop->type);
  int64_t known = 0;
  bool is_known = is_known_int(s, step, &known);
  if (is_known && (known == 1 || known == -1))
    return ir_binary(&s->b, IR_ne, IRT_BOOL, next, stop);
  IrValue up = ir_binary(&s->b, IR_sub, t, stop, loop->counter);
  IrValue down = ir_binary(&s->b, IR_sub, t, loop->counter, stop);
  if (is_known) {
    IrValue size = ir_const(&s->b, t, (uint64_t)(known > 0 ? known : -known) &
                                          (~(uint64_t)0 >> (64 - ir_type_bits(t))));
    return ir_binary(&s->b, IR_ult, IRT_BOOL, size, known > 0 ? up : down);
  }
  PoolKey k = pool_key(s->pool, loop->type);
  IrValue zero = ir_const(&s->b, t, 0);
  IrValue is_up = k.u.int_type.is_signed ? ir_binary(&s->b, IR_slt, IRT_BOOL, zero, step_ir)
                                         : ir_const(&s->b, IRT_BOOL, 1);
  IrValue size = ir_select(&s->b, t, is_up, step_ir, ir_binary(&s->b, IR_sub, t, zero, step_ir));
  return ir_binary(&s->b, IR_ult, IRT_BOOL, size, ir_select(&s->b, t, is_up, up, down));
}

/* Does the range have a first element?  IR_NO_VALUE: yes, known; *is_empty: no, known. */
static IrValue range_enters(Sema *s, Operand start, Operand stop, Operand step, bool *is_empty)
{
  int64_t a, b, by;
  bool has_step = is_known_int(s, step, &by);
  *is_empty = false;
  if (has_step && is_known_int(s, start, &a) && is_known_int(s, stop, &b)) {
    *is_empty = by > 0 ? a >= b : a <= b;
    return IR_NO_VALUE;
  }
  Operand up = sema_binary(s, BINARY_LT, start, stop, start.span);
  Operand down = sema_binary(s, BINARY_GT, start, stop, start.span);
  if (has_step)
    return sema_ir(s, by > 0 ? up : down);
  Operand zero = operand_value(s, pool_int(s->pool, start.type, 0));
  Operand is_up = sema_binary(s, BINARY_GT, step, zero, step.span);
  IrValue below = sema_ir(s, down), above = sema_ir(s, up);
  return ir_select(&s->b, IRT_BOOL, sema_ir(s, is_up), above, below);
}

static void for_range_emitted(Sema *s, const NodeFor *n, Operand range)
{
  PoolId type = pool_key(s->pool, range.type).u.array.element;
  if (!sema_check_run_time(s, type, n->iterable->span))
    return;
  Operand start = sema_range_part(s, range, 0), stop = sema_range_part(s, range, 1);
  Operand step = sema_range_part(s, range, 2);
  if (step.kind == OPR_COMPTIME)
    step = operand_value(s, sema_force(s, step.value, n->iterable->span));
  if (operand_is_poison(start) || operand_is_poison(stop) || operand_is_poison(step))
    return;
  bool is_empty;
  IrValue enters = range_enters(s, start, stop, step, &is_empty);
  if (is_empty)
    return;
  IrValue stop_ir = sema_ir(s, stop), step_ir = sema_ir(s, step);
  ForLoop loop;
  loop_open(s, n, &loop, type, sema_ir(s, start), enters);
  bool goes_on = loop_body(s, n, &loop, operand_runtime(loop.counter, type));
  IrValue next = IR_NO_VALUE, more = IR_NO_VALUE;
  if (goes_on) {
    next = ir_binary(&s->b, IR_add, type_ir(s->pool, type), loop.counter, step_ir);
    next = emit_normalise(s, next, type);
    more = more_elements(s, &loop, next, stop_ir, step, step_ir);
  }
  loop_close(s, &loop, goes_on, next, more);
}

static void for_array_emitted(Sema *s, const NodeFor *n, Operand array)
{
  uint64_t count = type_element_count(s->pool, array.type);
  PoolId element = pool_key(s->pool, array.type).u.array.element;
  if (count == 0 || !sema_check_run_time(s, array.type, n->iterable->span))
    return;
  IrValue base = sema_address(s, array);
  ForLoop loop;
  loop_open(s, n, &loop, POOL(U16), ir_const(&s->b, IRT_I16, 0), IR_NO_VALUE);
  IrValue each = ir_const(&s->b, IRT_I16, (uint16_t)type_bytes(s->pool, element));
  IrValue at = ir_binary(&s->b, IR_mul, IRT_I16, loop.counter, each);
  Operand item =
      operand_place(ir_binary(&s->b, IR_ptr_add, IRT_PTR, base, at), element, true);
  bool goes_on = loop_body(s, n, &loop, sema_load(s, item));
  IrValue next = IR_NO_VALUE, more = IR_NO_VALUE;
  if (goes_on) {
    next = ir_binary(&s->b, IR_add, IRT_I16, loop.counter, ir_const(&s->b, IRT_I16, 1));
    more = ir_binary(&s->b, IR_ne, IRT_BOOL, next, ir_const(&s->b, IRT_I16, (uint16_t)count));
  }
  loop_close(s, &loop, goes_on, next, more);
}

/* What a loop goes over.  The bounds of a range that is unrolled must be known; the elements of an
 * array need not. */
static Operand walk_iterable(Sema *s, const NodeFor *n)
{
  const Node *node = n->iterable;
  bool is_range = node->kind == ND_BUILTIN_CALL &&
                  str_eq(node_builtin_call(node)->name.text, sema_name(s, "range"));
  if (!n->is_inline || !is_range || !sema_emits(s))
    return sema_load(s, operand_at(sema_expr(s, node, POOL(NONE)), node->span));
  size_t errors = diags_error_count(s->diags);
  Operand o = sema_comptime_operand(s, node, POOL(NONE));
  if (operand_is_poison(o) && diags_error_count(s->diags) > errors)
    diag_without_inline(s->diags, node->span);
  return o;
}

static APART void for_of_template(Sema *s, const NodeFor *n)
{
  Target target;
  target_push(s, &target, TARGET_LOOP, n->label, POOL(VOID));
  Scope scope = scope_open(s, n->body->span);
  declare_capture(s, n->item, operand_poison());
  declare_capture(s, n->index, operand_poison());
  template_part(s, n->body, POOL(NONE), false);
  scope_close(s, scope);
  target_pop(s, &target);
  template_parts_end(s, false);
}

static void sema_for(Sema *s, const Node *node)
{
  const NodeFor *n = node_for(node);
  Operand o = walk_iterable(s, n);
  if (operand_is_poison(o) && template_is_walked(s))
    for_of_template(s, n);
  else if (operand_is_poison(o))
    leave_out(s);
  if (operand_is_poison(o))
    return;
  PoolKey k = pool_key(s->pool, o.type);
  bool is_tuple = k.kind == PK_STRUCT_TYPE &&
                  (k.u.fields.is_tuple || k.u.fields.n == 0);   /* .{} is a tuple, too */
  if (k.kind != PK_RANGE_TYPE && k.kind != PK_ARRAY_TYPE && !is_tuple) {
    diag_not_iterable(s->diags, n->iterable->span, o.type);
    if (type_is_int(s->pool, o.type))
      diag_loop_counts(s->diags, n->iterable->span);
    if (k.kind == PK_POINTER_TYPE &&
        pool_kind(s->pool, k.u.pointer_type.pointee) == PK_ARRAY_TYPE)
      diag_array_behind(s->diags, n->iterable->span);
    return;
  }
  if (!sema_emits(s) || n->is_inline || is_tuple) {
    if (o.kind == OPR_COMPTIME)
      for_unrolled(s, n, o);
    else if (n->is_inline && sema_emits(s) && o.kind == OPR_MEMORY)
      for_elements_unrolled(s, n, o);
    else
      not_unrolled(s, n->iterable->span, n->is_inline);
  } else if (k.kind == PK_RANGE_TYPE && type_is_wide(s->pool, k.u.array.element)) {
    diag_wide_operand(s->diags, n->iterable->span, k.u.array.element);
  } else if (k.kind == PK_RANGE_TYPE) {
    for_range_emitted(s, n, o);
  } else {
    for_array_emitted(s, n, o);
  }
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
    exit_add(s, &t->breaks, *value, at);
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

static void stmt_return(Sema *s, const NodeReturn *n)
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

static void stmt_break(Sema *s, const NodeBreak *n)
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
    exit_add(s, &t->breaks, value, n->head.span);
  t->is_broken = true;
  s->is_dead = true;
}

static void stmt_continue(Sema *s, const NodeContinue *n)
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
    exit_add(s, &t->continues, operand_void(), n->head.span);
  }
  s->is_dead = true;
}

/* ---- statements ----------------------------------------------------------------------------- */

static void stmt_comptime(Sema *s, const Node *body)
{
  WalkContext outer = walk_enter_comptime(s);
  if (body->kind == ND_BLOCK)
    sema_block(s, body, POOL(VOID));
  else
    sema_stmt(s, body);
  s->now = outer;
}

/* An expression that does nothing but have a value. */
static bool is_mere_value(const Node *n)
{
  switch ((int)node_kind(n)) {
  case ND_BINARY: case ND_UNARY: case ND_IDENT: case ND_MEMBER: case ND_INDEX: case ND_DEREF:
  case ND_INT: case ND_FLOAT: case ND_CHAR: case ND_STRING: case ND_BOOL: case ND_STRUCT_INIT:
  case ND_LIST_INIT: case ND_TENSOR_ACCESS: case ND_ARRAY_TYPE: case ND_POINTER_TYPE:
  case ND_FN_TYPE: case ND_STRUCT_TYPE: case ND_ENUM_TYPE:
    return true;
  default:
    return false;
  }
}

/* `else => void` in a switch says that there is nothing to do. */
static void check_used(Sema *s, const Node *n, Operand o)
{
  bool is_known = o.kind == OPR_COMPTIME;
  if (operand_is_poison(o) || !is_mere_value(n) || pool_eq(o.type, POOL(VOID)) ||
      (is_known && pool_eq(o.value, POOL(VOID))))
    return;
  diag_unused_value(s->diags, n->span, node_kind_name(node_kind(n)));
  if (node_kind(n) == ND_BINARY && node_binary(n)->op == BINARY_EQ)
    diag_one_equals_sign(s->diags, n->span);
  if (!is_known || pool_kind(s->pool, o.value) != PK_FUNC)
    return;
  const NodeFnDecl *fn = node_fn_decl(s->funcs[pool_key(s->pool, o.value).u.index].node);
  if (fn->is_task)
    diag_task_starts(s->diags, n->span);
  else
    diag_call_missing(s->diags, n->span, sema_text(s, fn->name.text));
}

static bool is_emitted_call(const Sema *s, Operand o)
{
  return o.kind == OPR_RUNTIME && s->ir->funcs[s->b.func.raw].insns[o.ir.raw].op == IR_call;
}

static void stmt_expr(Sema *s, const Node *n)
{
  Operand o = sema_expr(s, n, POOL(NONE));
  bool is_copy;
  if (node_kind(n) == ND_CALL && is_emitted_call(s, o))
    arrput(s->lone_calls, ((LoneCall){s->b.func, o.ir, n->span}));
  check_used(s, n, o);
  if (operand_is_poison(o) || node_kind(n) != ND_BUILTIN_CALL ||
      !sema_builtin_only_yields(s->session, node_builtin_call(n)->name.text, &is_copy))
    return;
  const Name *name = &node_builtin_call(n)->name;
  diag_unused_result(s->diags, name->span, sema_text(s, name->text));
  if (is_copy)
    diag_makes_copy(s->diags, n->span);
}

static void sema_stmt(Sema *s, const Node *n)
{
  if (s->is_dead)
    return;
  sema_at(s, n->span);
  switch ((int)n->kind) {
  case ND_BAD:
    return;
  case ND_VAR_DECL:
    stmt_var(s, node_var_decl(n));
    return;
  case ND_ASSIGN:
    stmt_assign(s, node_assign(n));
    return;
  case ND_BLOCK:
    sema_block(s, n, POOL(VOID));
    return;
  case ND_IF:
    sema_if(s, n, POOL(NONE), false);
    return;
  case ND_SWITCH:
    sema_switch(s, n, POOL(NONE), false);
    return;
  case ND_FOR:
    sema_for(s, n);
    return;
  case ND_WHILE:
    if (sema_emits(s) && !node_while(n)->is_inline)
      while_emitted(s, node_while(n));
    else
      while_unrolled(s, node_while(n));
    return;
  case ND_RETURN:
    stmt_return(s, node_return(n));
    return;
  case ND_BREAK:
    stmt_break(s, node_break(n));
    return;
  case ND_CONTINUE:
    stmt_continue(s, node_continue(n));
    return;
  case ND_COMPTIME:
    stmt_comptime(s, node_comptime(n)->operand);
    return;
  default:
    stmt_expr(s, n);
    return;
  }
}
