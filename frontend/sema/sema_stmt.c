/* Statements and the constructs that are statement and expression alike. */
#include "frontend/sema/sema_internal.h"

#include "stb_ds.h"

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
    exits_fork_cells(s, &target.breaks);
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

/* A block for code that nothing reaches in this order; it is thrown away. */
static void begin_block(Sema *s)
{
  if (sema_emits(s))
    s->b.block = ir_block_add(s->ir, s->b.func);
}

Operand leave_out(Sema *s)
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

bool template_part(Sema *s, const Node *n, PoolId want, bool is_value)
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

Operand template_parts_end(Sema *s, bool is_dead)
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

Operand walk_condition(Sema *s, const Node *n, bool *known)
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

void sema_stmt(Sema *s, const Node *n)
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
    sema_while(s, node_while(n));
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
