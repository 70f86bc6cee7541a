/* Builtins over tasks and handlers: at the top level they fill the MachineSetup, in running code
 * they become machine operations. */
#include "frontend/machine/machine_internal.h"
#include "frontend/sema/builtins.h"
#include "frontend/machine/dsd.h"

#include <stb_ds.h>

/* ---- targets of activate, block and unblock ---------------------------------------------- */

/* Bound tasks, those of the control tasks' own table behind the others; kind TASK_NONE: none. */
static TaskSlot *task_slot(Sema *s, unsigned n)
{
  return n < MAX_TASK_IDS ? &s->setup->tasks[n] : &s->setup->control_tasks[n - MAX_TASK_IDS];
}

/* The first slot of the task from slot *n on, whose number comes back in *n; NULL: none. */
static TaskSlot *slot_of_func(Sema *s, uint32_t func, unsigned *n)
{
  for (; *n < 2 * MAX_TASK_IDS; ++*n) {
    TaskSlot *slot = task_slot(s, *n);
    if (slot->kind != TASK_NONE && slot->func == func)
      return slot;
  }
  return NULL;
}

/* The task's only id; false after reporting that it has two. */
static bool only_id(Sema *s, uint32_t func, unsigned n, Span at, Action *action)
{
  unsigned next = n + 1;
  const TaskSlot *first = task_slot(s, n), *second = slot_of_func(s, func, &next);
  action->id_kind = ID_TASK;
  action->id = (uint8_t)(n % MAX_TASK_IDS);
  if (!second)
    return true;
  diag_task_of_two_ids(s->diags, at, sema_text(s, s->funcs[func].name), action->id,
                       next % MAX_TASK_IDS);
  diag_first_here(s->diags, first->span);
  return false;
}

static bool is_misbound(const Sema *s, uint32_t func)
{
  for (size_t i = 0; i < arrlenu(s->setup->misbound); i++)
    if (s->setup->misbound[i] == func)
      return true;
  return false;
}

/* Where a function or task is declared that is the wrong one of the two. */
static void note_function(Sema *s, Operand o)
{
  const FuncInstance *func = &s->funcs[pool_key(s->pool, o.value).u.index];
  diag_declared_here(s->diags, node_fn_decl(func->node)->name.span, sema_text(s, func->name));
}

static bool is_task_operand(Sema *s, Operand o, Span span)
{
  bool is_func = operand_is_comptime(o) && pool_kind(s->pool, o.value) == PK_FUNC;
  if (is_func) {
    PoolKey type = pool_key(s->pool, o.type);
    if (type.kind == PK_FN_TYPE ? type.u.fn_type.is_task
                                : node_fn_decl(s->funcs[pool_key(s->pool, o.value).u.index].node)
                                    ->is_task)
      return true;
  }
  diag_not_a_task(s->diags, span, o.type);
  if (is_func)
    note_function(s, o);
  if (pool_kind(s->pool, o.type) == PK_FN_TYPE)
    diag_declare_as_task(s->diags, span);
  return false;
}

/* The id a bound task has; false after reporting that it is no task or has no id, or two. */
static bool id_of_task(Sema *s, Operand o, Span span, bool local_only, Action *action)
{
  uint32_t func = pool_key(s->pool, o.value).u.index;
  unsigned n = 0;
  TaskSlot *slot = slot_of_func(s, func, &n);
  if (slot) {
    slot->is_activated |= local_only;
    return only_id(s, func, n, span, action);
  }
  if (is_misbound(s, func) || sema_has_failed_call(s, s->funcs[func].name) ||
      !is_task_operand(s, o, span))
    return false;
  bool takes_data = !local_only && node_fn_decl(s->funcs[func].node)->params.count != 0;
  diag_task_not_bound(s->diags, span, sema_text(s, s->funcs[func].name),
                      takes_data ? "@bind_data_task" : "@bind_local_task");
  diag_declared_here(s->diags, node_fn_decl(s->funcs[func].node)->name.span,
                     sema_text(s, s->funcs[func].name));
  return false;
}

static bool kind_of_target(Sema *s, PoolId type, bool local_only, IdKind *kind)
{
  if (pool_eq(type, POOL(LOCAL_TASK_ID))) {
    *kind = ID_TASK;
    return true;
  }
  if (local_only)
    return false;
  *kind = ID_TASK;
  if (pool_eq(type, POOL(DATA_TASK_ID)) ||
      (pool_eq(type, POOL(COLOR)) && sema_arch_is(s, ARCH_WSE2)))
    return true;
  if (sema_arch_is(s, ARCH_WSE2))
    return false;
  *kind = pool_eq(type, POOL(INPUT_QUEUE)) ? ID_INPUT_QUEUE : ID_MICROTHREAD;
  return pool_eq(type, POOL(INPUT_QUEUE)) || pool_eq(type, POOL(UT_ID));
}

/* SDK before 1.0: a color stands for the task that @bind_task gives its number.  That may come
 * later, in another module, so setup_choose_queues has the last word on what is not bound yet. */
static bool is_task_color(Sema *s, Operand o, Span span, bool local_only)
{
  int64_t id;
  if (!pool_eq(o.type, POOL(COLOR)) || !operand_is_comptime(o) || s->setup == NULL ||
      !pool_int_value(s->pool, sema_force(s, o.value, span), &id) || id >= MAX_TASK_IDS)
    return false;
  TaskSlot *slot = task_slot(s, (unsigned)id);
  if (slot->kind == TASK_LOCAL && slot->by_color)
    return true;
  if (!local_only || (s->now.where == WHERE_RUNTIME && !s->setup->binds_by_color))
    return false;
  s->setup->color_span[id] = span;
  return true;
}

static const char *target_help(const Sema *s, bool local_only)
{
  if (local_only)
    return "a local_task_id or a bound local task";
  return sema_arch_is(s, ARCH_WSE2) ? "a color, a data_task_id, a local_task_id or a bound task"
                               : "an input_queue, a data_task_id, a local_task_id, a ut_id or a "
                                 "bound task";
}

void sema_bad_color_target(Sema *s, Span span)
{
  diag_bad_target(s->diags, span, target_help(s, true), POOL(COLOR));
}

bool sema_action_target(Sema *s, Operand o, Span span, bool local_only, Action *action,
                        IrValue *run_time_id)
{
  *run_time_id = IR_NO_VALUE;
  if (operand_is_poison(o))
    return false;
  if (operand_is_comptime(o) && pool_kind(s->pool, o.value) == PK_FUNC)
    return id_of_task(s, o, span, local_only, action);
  IdKind kind = ID_TASK;
  bool is_target = kind_of_target(s, o.type, local_only, &kind);
  if (!is_target && is_task_color(s, o, span, local_only)) {
    is_target = true;
    kind = ID_TASK;
  }
  if (!is_target) {
    diag_bad_target(s->diags, span, target_help(s, local_only), o.type);
    sema_note_makes_one(s, POOL(LOCAL_TASK_ID), o.type, span);
    if (local_only && pool_eq(o.type, POOL(DATA_TASK_ID)))
      diag_data_task_starts(s->diags, span);
    return false;
  }
  action->id_kind = kind;
  if (!operand_is_comptime(o)) {
    *run_time_id = sema_ir(s, o);
    return true;
  }
  int64_t id;
  if (!sema_int_in(s, o, 0, id_kind_limit(action->id_kind) - 1, "an id", span, &id))
    return false;
  action->id = (uint8_t)id;
  return true;
}

static void set_initial_state(Sema *s, Action a, bool is_block, Span at)
{
  MachineSetup *setup = s->setup;
  if (a.id_kind == ID_MICROTHREAD) {
    uint8_t thread = (uint8_t)(1u << a.id);
    setup->paused = (uint8_t)(is_block ? setup->paused | thread : setup->paused & ~thread);
    return;
  }
  /* An input queue (wse3) and the data task id of its number share one bit. */
  uint64_t bit = (uint64_t)1 << a.id;
  setup->blocked = is_block ? setup->blocked | bit : setup->blocked & ~bit;
  uint64_t *unblocked = &setup->unblocked.first;
  *unblocked = is_block ? *unblocked & ~bit : *unblocked | bit;
  if (is_block)
    setup->blocked_span[a.id] = at;
}

static Operand block_or_unblock(Sema *s, const NodeBuiltinCall *call, bool is_block)
{
  const Node *arg = call->args.at[0];
  Operand o = sema_rvalue(s, arg, POOL(NONE));
  Action action = {0};
  IrValue id;
  if (!sema_action_target(s, o, arg->span, false, &action, &id))
    return operand_poison();
  if (sema_at_top(s)) {
    set_initial_state(s, action, is_block, arg->span);
    return operand_void();
  }
  if (!is_block)
    setup_note_opened(s, action, id, arg->span);
  if (ir_value_is_none(id))
    id = ir_const(&s->b, IRT_I16, action.id);
  ir_machine_op(&s->b, is_block ? IR_block : IR_unblock, IRT_VOID, action.id_kind, 0, &id, 1);
  return operand_void();
}

Operand builtin_block(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  return block_or_unblock(s, call, true);
}

Operand builtin_unblock(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  return block_or_unblock(s, call, false);
}

Operand builtin_activate(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  const Node *arg = call->args.at[0];
  Operand o = sema_rvalue(s, arg, POOL(NONE));
  Action action = {0};
  IrValue id;
  if (!sema_action_target(s, o, arg->span, true, &action, &id))
    return operand_poison();
  if (sema_at_top(s)) {
    s->setup->active |= (uint64_t)1 << action.id;
    s->setup->active_span[action.id] = at;
    return operand_void();
  }
  if (ir_value_is_none(id))
    id = ir_const(&s->b, IRT_I16, action.id);
  ir_machine_op(&s->b, IR_activate, IRT_VOID, 0, 0, &id, 1);
  return operand_void();
}

/* ---- binding tasks ----------------------------------------------------------------------- */

typedef struct { TaskKind kind; PoolId id_type; const char *name; } BindKind;
static const BindKind bind_kinds[] = {
  {TASK_DATA, {POOL_RAW_DATA_TASK_ID}, "data"},
  {TASK_LOCAL, {POOL_RAW_LOCAL_TASK_ID}, "local"},
  {TASK_CONTROL, {POOL_RAW_CONTROL_TASK_ID}, "control"}};

/* Number of 16-bit words of the wavelet that the task takes; -1 after reporting a signature that
 * its kind does not allow. */
static int task_words(Sema *s, const BindKind *kind, Operand task, Span span)
{
  PoolKey type = pool_key(s->pool, task.type);
  Diags *diags = s->diags;
  const char *text = type_text(s->pool, s->arena, task.type);
  if (type.kind != PK_FN_TYPE) {
    diag_task_signature(diags, span, kind->name, text);
    return -1;
  }
  uint32_t bytes = 0;
  for (uint32_t i = 0; i < type.u.fn_type.n; i++) {
    PoolId param = pool_key(s->pool, task.type).u.fn_type.params[i];
    bool is_word = type_ir(s->pool, param) != IRT_VOID || packed_param_ir(s, param) != IRT_VOID;
    uint32_t size = is_word ? type_bytes(s->pool, param) : 0;
    uint32_t bits = type_bits(s->pool, param);        /* 0: an id */
    if ((size != 2 && size != 4) || (bits != 0 && bits != size * 8)) {
      diag_task_parameter(diags, span, i + 1, param);
      return -1;
    }
    bytes += size;
  }
  uint32_t least = kind->kind == TASK_DATA ? 2 : 0;
  uint32_t most = kind->kind == TASK_LOCAL ? 0 : 4;
  type = pool_key(s->pool, task.type);
  if (bytes < least || bytes > most || !pool_eq(type.u.fn_type.result, POOL(VOID))) {
    diag_task_signature(diags, span, kind->name, text);
    return -1;
  }
  return (int)(bytes / 2);
}

static Operand operand_of(Sema *s, const Node *n, PoolId want)
{
  Operand o = sema_rvalue(s, n, want);
  o.span = n->span;
  return o;
}

/* The slot filled in, or NULL after reporting. */
static TaskSlot *bind_operands(Sema *s, Operand task, Operand id_operand, Span at,
                               const BindKind *kind)
{
  int64_t id;
  int words = task_words(s, kind, task, task.span);
  if (words < 0 ||
      !sema_int_in(s, id_operand, 0, MAX_TASK_IDS - 1, "a task id", id_operand.span, &id))
    return NULL;
  /* Whether the table is one of their own is known at the end only. */
  bool own_table = sema_arch_is(s, ARCH_WSE3) && kind->kind == TASK_CONTROL;
  TaskSlot *slot = task_slot(s, (unsigned)id + (own_table ? MAX_TASK_IDS : 0u));
  if (slot->kind != TASK_NONE && !setup_is_first_clash(s))
    return NULL;
  if (slot->kind != TASK_NONE) {
    diag_task_id_taken(s->diags, at, (unsigned)id, sema_text(s, slot->name));
    sema_first_here(s, at, slot->span);
    if ((kind->kind == TASK_DATA) != (slot->kind == TASK_DATA))
      diag_data_task_ids(s->diags, at, sema_arch_is(s, ARCH_WSE2) ? "color" : "input queue");
    return NULL;
  }
  uint32_t func = pool_key(s->pool, task.value).u.index;
  if (kind->kind == TASK_DATA && sema_arch_is(s, ARCH_WSE2))
    setup_check_color(s, (unsigned)id, id_operand.span);
  else if (kind->kind != TASK_DATA && !(own_table && s->setup->separate_control))
    setup_check_task_id(s, (unsigned)id, id_operand.span);
  *slot = (TaskSlot){.kind = kind->kind, .func = func, .arguments = (uint8_t)words,
                     .name = s->funcs[func].name, .span = at};
  return slot;
}

/* What binds an id of another class than the builtin's. */
static void note_binder(Sema *s, Operand id)
{
  for (size_t k = 0; k < ARRAY_COUNT(bind_kinds); k++)
    if (pool_eq(id.type, bind_kinds[k].id_type))
      diag_bound_by(s->diags, id.span, bind_kinds[k].name);
}

static TaskSlot *bind_slot(Sema *s, const Node *task_node, const Node *id_node, Span at,
                           const BindKind *kind)
{
  Operand task = operand_of(s, task_node, POOL(NONE)), id = operand_of(s, id_node, kind->id_type);
  if (operand_is_poison(task))
    return NULL;
  bool is_function = operand_is_comptime(task) && pool_kind(s->pool, task.value) == PK_FUNC;
  TaskSlot *slot = NULL;
  if (!is_task_operand(s, task, task.span)) {
    /* reported */
  } else if (!operand_is_poison(id) && pool_eq(id.type, kind->id_type)) {
    slot = bind_operands(s, task, id, at, kind);
  } else if (!operand_is_poison(id)) {
    diag_wrong_id_type(s->diags, id.span, kind->id_type, id.type);
    PoolId number = type_is_id(id.type) ? POOL(U16) : id.type;    /* one of another kind has one */
    sema_note_makes_one(s, kind->id_type, number, id.span);
    note_binder(s, id);
  }
  if (!slot && is_function)
    arrput(s->setup->misbound, pool_key(s->pool, task.value).u.index);
  return slot;
}

static Operand bind_task(Sema *s, const NodeBuiltinCall *call, Span at, const BindKind *kind)
{
  TaskSlot *slot = bind_slot(s, call->args.at[0], call->args.at[1], at, kind);
  return slot ? operand_void() : operand_poison();
}

Operand builtin_bind_data_task(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  return bind_task(s, call, at, &bind_kinds[0]);
}

Operand builtin_bind_local_task(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  return bind_task(s, call, at, &bind_kinds[1]);
}

Operand builtin_bind_control_task(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  return bind_task(s, call, at, &bind_kinds[2]);
}

/* SDK before 1.0: colors and task ids are one set of numbers; the number and the task's parameters
 * say whether wavelets, the program or control wavelets activate it. */
Operand builtin_bind_task(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  s->setup->binds_by_color = true;
  Operand task = operand_of(s, call->args.at[0], POOL(NONE));
  Operand id = operand_of(s, call->args.at[1], POOL(NONE));
  if (operand_is_poison(task) || operand_is_poison(id) || !is_task_operand(s, task, task.span))
    return operand_poison();
  if (!type_is_id(id.type)) {
    diag_wrong_id_type(s->diags, id.span, POOL(COLOR), id.type);
    sema_note_makes_one(s, POOL(COLOR), id.type, id.span);
    return operand_poison();
  }
  PoolKey type = pool_key(s->pool, task.type);
  bool takes_data = type.kind == PK_FN_TYPE && type.u.fn_type.n > 0;
  int64_t number;
  uint32_t last = sema_machine(s)->colors - 1u;
  bool is_control = operand_is_comptime(id) &&
                    pool_int_value(s->pool, sema_force(s, id.value, id.span), &number) &&
                    number > sema_machine(s)->local_task_last;
  if (takes_data && !is_control && !sema_int_in(s, id, 0, last, "a color", id.span, &number))
    return operand_poison();
  TaskSlot *slot = bind_operands(s, task, id, at, &bind_kinds[is_control ? 2 : !takes_data]);
  if (!slot)
    return operand_poison();
  slot->by_color = true;
  return operand_void();
}

static bool rotation_settings(Sema *s, const Node *n, TaskSlot *slot)
{
  Settings set = settings_read(s, n, NULL, false);
  if (!set.ok)
    return false;
  Setting *limit = settings_take(s, &set, "limit"), *init = settings_take(s, &set, "init");
  int64_t runs = 0, done = 0;
  if (!limit) {
    settings_missing(s, &set, settings_group(SETTINGS_rotation)->what, "limit");
    return false;
  }
  if (!sema_number_in(s, limit->value, 1, UINT16_MAX, "limit", limit->span, &runs) ||
      (init && !sema_number_in(s, init->value, 0, runs, "init", init->span, &done)))
    return false;
  slot->limit = (uint16_t)runs;
  slot->init = (uint16_t)done;
  settings_finish(s, &set, SETTINGS_rotation);
  return true;
}

/* wse3: every limit + 1st wavelet of the data task runs the other task, which may do without the
 * wavelet's data (SDK release notes; that it takes a wavelet is assumed). */
Operand builtin_bind_rotating_tasks(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  enum { MOST_ROTATIONS = 2 };
  const Node *other_node = call->args.at[1];
  Operand other = sema_rvalue(s, other_node, POOL(NONE));
  TaskSlot *slot = bind_slot(s, call->args.at[0], call->args.at[2], at, &bind_kinds[0]);
  if (!slot || operand_is_poison(other) || !is_task_operand(s, other, other_node->span))
    return operand_poison();
  unsigned rotations = 0;
  for (unsigned id = 0; id < MAX_TASK_IDS; id++)
    rotations += s->setup->tasks[id].alternate != 0;
  if (rotations == MOST_ROTATIONS) {
    diag_rotations(s->diags, at, MOST_ROTATIONS);
    return operand_poison();
  }
  int words = task_words(s, &bind_kinds[2], other, other_node->span);
  if (words < 0)
    return operand_poison();
  uint32_t func = pool_key(s->pool, other.value).u.index;
  if (words > 0 && !pool_eq(other.type, s->funcs[slot->func].type)) {
    diag_rotation_types(s->diags, other_node->span, s->funcs[slot->func].type, other.type);
    return operand_poison();
  }
  if (!rotation_settings(s, call->args.at[3], slot))
    return operand_poison();
  slot->alternate = func + 1;
  return operand_void();
}

/* wse3: control tasks leave the common table, so their ids may be those of other tasks.  The
 * machine's layout of the table (instructions per entry, stride) has no effect here. */
Operand builtin_set_control_task_table(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  static const char *const names[] = {"instructions", "stride"};
  static const int64_t least[] = {2, 1}, most[] = {8, 7};
  MachineSetup *setup = s->setup;
  if (setup->separate_control) {
    diag_control_table_twice(s->diags, at);
    return operand_poison();
  }
  setup->separate_control = true;
  if (call->args.count > 0) {
    Settings set = settings_read(s, call->args.at[0], NULL, false);
    for (unsigned i = 0; set.ok && i < ARRAY_COUNT(names); i++) {
      Setting *field = settings_take(s, &set, names[i]);
      int64_t value;
      if (field &&
          !sema_number_in(s, field->value, least[i], most[i], names[i], field->span, &value))
        return operand_poison();
      if (field && i == 0 && (value & (value - 1)) != 0) {
        diag_control_table_instructions(s->diags, field->span);
        return operand_poison();
      }
    }
    if (!set.ok)
      return operand_poison();
    settings_finish(s, &set, SETTINGS_control_task_table);
  }
  return operand_void();
}

/* Index of the handler's FuncInstance + 1; 0 after reporting what is wrong with it. */
static uint32_t handler_func(Sema *s, const NodeBuiltinCall *call)
{
  const Node *n = call->args.at[0];
  Operand func = sema_rvalue(s, n, POOL(NONE));
  if (operand_is_poison(func))
    return 0;
  PoolKey type = pool_key(s->pool, func.type);
  if (!operand_is_comptime(func) || pool_kind(s->pool, func.value) != PK_FUNC ||
      type.kind != PK_FN_TYPE || type.u.fn_type.is_task || type.u.fn_type.n != 0 ||
      !pool_eq(type.u.fn_type.result, POOL(VOID))) {
    diag_not_a_handler(s->diags, n->span, func.type);
    if (operand_is_comptime(func) && pool_kind(s->pool, func.value) == PK_FUNC)
      note_function(s, func);
    sema_note_usage(s, &call->head);
    return 0;
  }
  return pool_key(s->pool, func.value).u.index + 1;
}

Operand builtin_set_teardown_handler(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  uint32_t func = handler_func(s, call);
  Operand color = sema_arg(s, call->args.at[1], POOL(COLOR));
  uint8_t number;
  if (func == 0 || !sema_router_color(s, color, call->args.at[1]->span, &number))
    return operand_poison();
  uint32_t *slot = &s->setup->teardown_handler[number];
  if (*slot != 0) {
    if (setup_is_first_clash(s))
      diag_handler_twice(s->diags, at, number);
    return operand_poison();
  }
  *slot = func;
  return operand_void();
}

Operand builtin_set_empty_queue_handler(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  uint32_t func = handler_func(s, call);
  Operand queue;
  bool is_output;
  int64_t number;
  if (func == 0 || !queue_operand(s, call->args.at[1], &queue, &is_output) ||
      !sema_int_in(s, queue, 0, MAX_QUEUES - 1, "a queue", call->args.at[1]->span, &number))
    return operand_poison();
  uint32_t *slot = &s->setup->empty_handler[is_output][number];
  if (*slot != 0) {
    if (setup_is_first_clash(s))
      diag_queue_handler_twice(s->diags, at, is_output ? "output" : "input", (unsigned)number);
    return operand_poison();
  }
  *slot = func;
  return operand_void();
}
