/* Builtins that make identifiers: colors, queues, task ids, microthreads, DSRs.  The ranges are
 * rows of ir/machine/machine.def. */
#include "frontend/machine/machine_internal.h"
#include "frontend/sema/builtins.h"

#include <string.h>

static void range_of(Sema *s, PoolId type, uint32_t *least, uint32_t *most)
{
  const char *name = type_text(s->pool, s->arena, type);
  if (!machine_id_range(sema_machine(s), name, strlen(name), least, most))
    ICE("'%s' is no type of ids", name);
}

/* An id of type `type`: a comptime number in its range, or any run-time u16 where the builtin takes
 * one. */
static Operand make_id(Sema *s, const Node *arg, PoolId type, const char *what, bool run_time_too)
{
  uint32_t least, most;
  Operand o = run_time_too ? sema_rvalue(s, arg, POOL(U16))
                           : sema_comptime_operand(s, arg, POOL(U16));
  if (operand_is_poison(o))
    return o;
  if (!operand_is_comptime(o)) {
    o = sema_coerce(s, o, POOL(U16), arg->span);
    return operand_is_poison(o) ? o : operand_runtime(sema_ir(s, o), type);
  }
  int64_t value;
  if (type_is_id(o.type) && !pool_eq(o.type, type)) {
    diag_not_an_integer(s->diags, arg->span, what, o.type);
    bool is_queue = pool_eq(type, POOL(INPUT_QUEUE)) || pool_eq(type, POOL(OUTPUT_QUEUE));
    if (is_queue && pool_eq(o.type, POOL(COLOR)))
      diag_queue_number(s->diags, arg->span);
    else if (pool_eq(o.type, POOL(INPUT_QUEUE)) && pool_eq(type, POOL(CONTROL_TASK_ID)))
      diag_control_of_queue(s->diags, arg->span);
    else
      diag_number_of_id(s->diags, arg->span);
    return operand_poison();
  }
  range_of(s, type, &least, &most);
  if (!sema_int_in(s, o, least, most, what, arg->span, &value))
    return operand_poison();
  return operand_value(s, pool_int(s->pool, type, value));
}

/* The param of the main file that the argument is, with the number of a color that the layout of a
 * host script has: messages call the color so.  STR_NONE: it is something else. */
static StrId name_of_number(Sema *s, const Node *arg)
{
  if (!s->session->options->layout_json || s->now.module != MAIN_MODULE ||
      node_kind(arg) != ND_IDENT)
    return STR_NONE;
  const Decl *d = sema_find_decl(s, MAIN_MODULE, node_ident(arg)->name);
  return d && d->kind == DECL_PARAM ? d->name : STR_NONE;
}

/* A color need not be one that routers have: before SDK 1.0 colors number tasks, and templates of
 * SDK 1.0 write @get_color(32) for "none".  Its uses ask sema_router_color. */
Operand builtin_get_color(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  Operand o = make_id(s, call->args.at[0], POOL(COLOR), "a color", true);
  if (operand_is_comptime(o))
    o.name = name_of_number(s, call->args.at[0]);
  return o;
}

Operand builtin_get_input_queue(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  return make_id(s, call->args.at[0], POOL(INPUT_QUEUE), "an input queue", false);
}

Operand builtin_get_output_queue(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  return make_id(s, call->args.at[0], POOL(OUTPUT_QUEUE), "an output queue", false);
}

bool queue_operand(Sema *s, const Node *n, Operand *queue, bool *is_output)
{
  *queue = sema_rvalue(s, n, POOL(NONE));
  if (operand_is_poison(*queue))
    return false;
  *is_output = pool_eq(queue->type, POOL(OUTPUT_QUEUE));
  if (*is_output || pool_eq(queue->type, POOL(INPUT_QUEUE)))
    return true;
  diag_not_a_queue(s->diags, n->span, queue->type);
  return false;
}

Operand builtin_get_local_task_id(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  return make_id(s, call->args.at[0], POOL(LOCAL_TASK_ID), "a local task id", true);
}

Operand builtin_get_control_task_id(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  return make_id(s, call->args.at[0], POOL(CONTROL_TASK_ID), "a control task id", true);
}

Operand builtin_get_ut_id(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  return make_id(s, call->args.at[0], POOL(UT_ID), "a microthread id", true);
}

/* The id of a data task is the number of what it listens to: a color on wse2, an input queue on
 * wse3. */
Operand builtin_get_data_task_id(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  const Node *arg = call->args.at[0];
  bool by_color = s->session->options->arch == ARCH_WSE2;
  PoolId source = by_color ? POOL(COLOR) : POOL(INPUT_QUEUE);
  Operand o = sema_rvalue(s, arg, source);
  if (operand_is_poison(o))
    return o;
  if (!pool_eq(o.type, source)) {
    diag_data_task_source(s->diags, arg->span, sema_machine(s)->name, source, o.type);
    sema_note_makes_one(s, source, o.type, arg->span);
    if (pool_eq(o.type, POOL(COLOR)))
      diag_data_task_of_queue(s->diags, arg->span);
    else if (pool_eq(o.type, POOL(INPUT_QUEUE)))
      diag_data_task_of_color(s->diags, arg->span);
    return operand_poison();
  }
  if (!operand_is_comptime(o))
    return operand_runtime(sema_ir(s, o), POOL(DATA_TASK_ID));
  int64_t value;
  uint32_t least, most;
  range_of(s, POOL(DATA_TASK_ID), &least, &most);
  if (!sema_int_in(s, o, least, most, "a data task id", arg->span, &value))
    return operand_poison();
  return operand_value(s, pool_int(s->pool, POOL(DATA_TASK_ID), value));
}

Operand builtin_get_int(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  const Node *arg = call->args.at[0];
  Operand o = sema_rvalue(s, arg, POOL(NONE));
  if (operand_is_poison(o))
    return o;
  if (type_is_int(s->pool, o.type))
    return o;
  PoolKey key = pool_key(s->pool, o.type);
  if (key.kind == PK_ENUM_TYPE)
    return sema_convert(s, o, key.u.enum_type.tag, at);
  if (operand_is_comptime(o) && pool_kind(s->pool, o.value) == PK_DSR)
    return operand_value(s, pool_int(s->pool, POOL(U16), pool_key(s->pool, o.value).u.dsr.number));
  if (!type_is_id(o.type)) {
    diag_no_number(s->diags, arg->span, o.type);
    return operand_poison();
  }
  if (!operand_is_comptime(o))
    return operand_runtime(sema_ir(s, o), POOL(U16));
  int64_t value;
  if (!sema_int_in(s, o, 0, UINT16_MAX, "an id", arg->span, &value))
    return operand_poison();
  return operand_value(s, pool_int(s->pool, POOL(U16), value));
}
