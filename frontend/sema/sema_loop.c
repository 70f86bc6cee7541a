/* Loops: walked turn by turn at compile time and where they are unrolled, emitted otherwise. */
#include "frontend/sema/sema_internal.h"

#include <string.h>
#include "stb_ds.h"

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
  exits_fork_cells(s, &target->continues);
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
  exits_fork_cells(s, &target->breaks);
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

void sema_while(Sema *s, const NodeWhile *n)
{
  if (sema_emits(s) && !n->is_inline)
    while_emitted(s, n);
  else
    while_unrolled(s, n);
}

/* ---- for ------------------------------------------------------------------------------------ */

static bool is_captured(Sema *s, Name name)
{
  return name_is_given(name) && strcmp(sema_text(s, name.text), "_") != 0;
}

/* Declares a capture unless it is absent or `_`. */
static void declare_capture(Sema *s, Name name, Operand o)
{
  if (is_captured(s, name))
    scope_add(s, name, o, NULL);
}

typedef struct { const Sema *s; const Node *iterable; bool may_write; } WriteSearch;

/* An operator and '=', as in 'sum += x', change a number; another name is another variable. */
static bool leaves_array(const WriteSearch *search, const NodeAssign *n)
{
  if (node_kind(n->target) != ND_IDENT)
    return false;
  return n->op != ASSIGN_PLAIN || (node_kind(search->iterable) == ND_IDENT &&
                                   !str_eq(node_ident(n->target)->name,
                                           node_ident(search->iterable)->name));
}

static void search_writes(void *context, Node *n)
{
  WriteSearch *search = context;
  NodeKind kind = node_kind(n);
  if (kind == ND_CALL || (kind == ND_ASSIGN && !leaves_array(search, node_assign(n))))
    search->may_write = true;
  if (kind == ND_BUILTIN_CALL)
    search->may_write |= sema_builtin_may_write(search->s->session,
                                                node_builtin_call(n)->name.text);
  if (!search->may_write)
    node_visit_children(n, search_writes, search);
}

/* The element that a loop captures, of an array in memory.  What the body writes to the array does
 * not change it, so it is a copy, unless the body writes nothing that could be the array. */
static Operand captured_element(Sema *s, const NodeFor *n, Operand item, bool can_change)
{
  if (!is_captured(s, n->item))
    return operand_void();
  Operand value = sema_load(s, item);
  WriteSearch search = {s, n->iterable, false};
  if (value.kind != OPR_MEMORY || !can_change)
    return value;
  search_writes(&search, n->body);
  if (!search.may_write)
    return value;
  Operand copy = sema_temp(s, value.type);
  place_init(s, copy, value);
  copy.is_const = true;
  copy.value = value.value;
  return copy;
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
    bool can_change = o.kind == OPR_MEMORY && !o.is_const && !o.is_temp;
    item.is_const = true;
    if (!for_body(s, n, &target, captured_element(s, n, item, can_change), i, &iterations))
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
  bool can_change = array.kind == OPR_MEMORY && !array.is_const && !array.is_temp;
  bool goes_on = loop_body(s, n, &loop, captured_element(s, n, item, can_change));
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

void sema_for(Sema *s, const Node *node)
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
