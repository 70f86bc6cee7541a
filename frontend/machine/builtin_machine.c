/* Builtins over queues and configuration registers: at the top level they fill the MachineSetup, in
 * running code they become machine operations. */
#include "frontend/machine/machine_internal.h"
#include "frontend/sema/builtins.h"
#include "frontend/machine/dsd.h"

#include <stb_ds.h>

/* ---- queues ------------------------------------------------------------------------------ */

bool setting_priority(Sema *s, const Setting *field, Priority *priority)
{
  bool ok = true;
  int chosen = setting_choice(s, field, SETTINGS_priority, &ok);
  if (chosen >= 0)
    *priority = (Priority)chosen;
  else if (ok)
    diag_priority_one(s->diags, field->span);
  return ok && chosen >= 0;
}

static bool queue_color(Sema *s, Settings *set, QueueSlot *slot)
{
  Setting *color = settings_take(s, set, "color");
  if (!color)
    return true;
  if (!sema_router_color(s, color->value, color->span, &slot->color))
    return false;
  slot->has_color = true;
  setup_check_color(s, slot->color, color->span);
  setup_name_color(s, slot->color, color->value);
  return true;
}

/* False after reporting a priority that the machine cannot have. */
static bool queue_priority(Sema *s, Settings *set, bool is_output, QueueSlot *slot)
{
  Setting *field = settings_take(s, set, "priority");
  if (field && sema_arch_is(s, ARCH_WSE3)) {
    diag_queue_priority(s->diags, field->name_span);
    return false;
  }
  if (is_output)
    setting_ignored(s, field, "output queues", "give it to the operation");
  return !field || setting_priority(s, field, &slot->priority);
}

/* The fields of @initialize_queue but the color; false after reporting.  Source: SDK page
 * Builtins. */
static bool queue_fields(Sema *s, Settings *set, bool is_output, QueueSlot *slot)
{
  bool wse3 = sema_arch_is(s, ARCH_WSE3);
  int64_t number;
  Setting *table = settings_take(s, set, "ctrl_table_id");
  if (!wse3)
    setting_ignored(s, table, "wse2", "its control tasks have one table");
  else if (is_output)
    setting_ignored(s, table, "output queues", "give it to the input queue of the control tasks");
  if (table &&
      !sema_number_in(s, table->value, 0, UINT16_MAX, "'ctrl_table_id'", table->span, &number))
    return false;
  /* Half wavelets travel as wavelets: ours. */
  Setting *dense = settings_take(s, set, "dense_mode");
  if (!wse3)
    setting_ignored(s, dense, "wse2", "its queues have one mode");
  setting_bool(s, dense, false);
  return queue_priority(s, set, is_output, slot);
}

/* A color's wavelets go to one queue.  False after reporting that they go to another one. */
static bool is_only_input(Sema *s, const QueueSlot *slot, unsigned number)
{
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    const QueueSlot *other = &s->setup->queues[false][q];
    if (q == number || !other->is_explicit || !other->has_color || other->color != slot->color)
      continue;
    if (setup_is_first_clash(s)) {
      diag_color_two_queues(s->diags, slot->span, slot->color, q);
      sema_first_here(s, slot->span, other->span);
    }
    return false;
  }
  return true;
}

static void report_second_queue(Sema *s, const QueueSlot *old, bool is_output, unsigned number,
                                Span at)
{
  diag_queue_twice(s->diags, at, is_output ? "output" : "input", number);
  sema_first_here(s, at, old->span);
  if ((old->colors | old->refused) & (uint32_t)sema_machine(s)->memcpy_colors)
    diag_queue_of_memcpy(s->diags, at);
  else
    diag_queue_twice_help(s->diags, at);
}

Operand builtin_initialize_queue(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  const Node *arg = call->args.at[0];
  Operand o = sema_rvalue(s, arg, POOL(NONE));
  if (operand_is_poison(o))
    return o;
  bool is_output = pool_eq(o.type, POOL(OUTPUT_QUEUE));
  if (!is_output && !pool_eq(o.type, POOL(INPUT_QUEUE))) {
    diag_not_a_queue(s->diags, arg->span, o.type);
    return operand_poison();
  }
  int64_t number;
  if (!sema_int_in(s, o, 0, MAX_QUEUES - 1, "a queue", arg->span, &number))
    return operand_poison();
  QueueSlot slot = {.used = true, .is_explicit = true, .span = at, .name = o.name};
  if (call->args.count > 1) {
    Settings set = settings_read(s, call->args.at[1], NULL, false);
    if (!set.ok || !settings_are_known(s, &set, SETTINGS_queue) ||
        !queue_color(s, &set, &slot) || !queue_fields(s, &set, is_output, &slot))
      return operand_poison();
  }
  if (!slot.has_color && !(is_output && sema_arch_is(s, ARCH_WSE2))) {
    diag_queue_needs_color(s->diags, at, is_output ? "output" : "input");
    return operand_poison();
  }
  QueueSlot *old = &s->setup->queues[is_output][number];
  if (old->is_explicit) {
    old->refused |= slot.has_color ? 1u << slot.color : 0;
    if (setup_is_first_clash(s))
      report_second_queue(s, old, is_output, (unsigned)number, at);
    return operand_poison();
  }
  if (!is_output)
    setup_check_input_queue(s, (unsigned)number, arg->span);
  if (slot.has_color && !is_output && !is_only_input(s, &slot, (unsigned)number))
    return operand_poison();
  setup_initialize_queue(s, is_output, (unsigned)number, slot);
  return operand_void();
}

Operand builtin_queue_flush(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  Operand queue;
  bool is_output;
  int64_t known;
  if (!queue_operand(s, call->args.at[0], &queue, &is_output))
    return operand_poison();
  if (operand_is_comptime(queue) && pool_int_value(s->pool, queue.value, &known) &&
      s->setup->flushed_span[is_output][known].off == 0)
    s->setup->flushed_span[is_output][known] = at;
  IrValue number = sema_ir(s, queue);
  ir_machine_op(&s->b, IR_queue_flush, IRT_VOID, is_output, 0, &number, 1);
  return operand_void();
}

/* ---- configuration registers ------------------------------------------------------------- */

/* Filters are numbered as their colors: registers of filters are arrays by color. */
Operand builtin_get_filter_id(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  Operand color = sema_arg(s, call->args.at[0], POOL(COLOR));
  uint8_t number;
  if (operand_is_poison(color))
    return operand_poison();
  if (!operand_is_comptime(color))
    return operand_runtime(sema_ir(s, color), POOL(U16));
  if (!sema_router_color(s, color, call->args.at[0]->span, &number))
    return operand_poison();
  if (s->setup)
    s->setup->filter_span[number] = at;
  return operand_value(s, pool_int(s->pool, POOL(U16), number));
}

/* The address, checked against config_regs.def when it is known. */
static bool config_address(Sema *s, const Node *n, unsigned access, Operand *address)
{
  *address = sema_arg(s, n, POOL(U16));
  if (operand_is_poison(*address))
    return false;
  if (!operand_is_comptime(*address))
    return true;
  int64_t word;
  if (!sema_int_in(s, *address, 0, UINT16_MAX, "a register address", n->span, &word))
    return false;
  const ConfigRegInfo *row = config_reg_at((uint16_t)word);
  if (row && (row->access & access))
    return true;
  diag_config_address(s->diags, n->span, word,
                      row ? (access == CONFIG_READ ? "it can only be written"
                                                   : "it can only be read")
                          : "there is no such register");
  return false;
}

static bool is_tuple(Sema *s, PoolId value)
{
  PoolKey key = pool_key(s->pool, value), type = pool_key(s->pool, pool_type_of(s->pool, value));
  return key.kind == PK_AGGREGATE && key.u.aggregate.n > 0 && type.kind == PK_STRUCT_TYPE &&
         type.u.fields.is_tuple;
}

/* The first address of a range, and the last one. */
static bool is_range(Sema *s, PoolId value, int64_t ends[2])
{
  if (!is_tuple(s, value) || pool_key(s->pool, value).u.aggregate.n != 2)
    return false;
  for (uint32_t i = 0; i < 2; i++)
    if (!pool_int_value(s->pool, pool_key(s->pool, value).u.aggregate.elems[i], &ends[i]) ||
        ends[i] < 0 || ends[i] > UINT16_MAX)
      return false;
  return ends[0] <= ends[1];
}

/* Colors whose registers of routes lie between two addresses, a bit each. */
static uint32_t colors_between(const int64_t ends[2])
{
  uint32_t colors = 0;
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (ends[0] <= CFG_COLOR_ROUTES + (int64_t)c && CFG_COLOR_ROUTES + (int64_t)c <= ends[1])
      colors |= 1u << c;
  return colors;
}

/* The ranges that the address lies in, one or a tuple of several; false after reporting.  *colors:
 * whose routes it may be. */
static bool config_ranges(Sema *s, const Node *n, Operand address, uint32_t *colors)
{
  PoolId ranges = sema_comptime(s, n, POOL(NONE));
  if (pool_eq(ranges, POOL(POISON)))
    return false;
  int64_t ends[2], word;
  bool is_one = is_range(s, ranges, ends), ok = is_one || is_tuple(s, ranges), is_inside = false;
  uint32_t count = is_one ? 1 : ok ? pool_key(s->pool, ranges).u.aggregate.n : 0;
  bool is_known = operand_is_comptime(address) && pool_int_value(s->pool, address.value, &word);
  for (uint32_t i = 0; i < count && ok; i++) {
    ok = is_one || is_range(s, pool_key(s->pool, ranges).u.aggregate.elems[i], ends);
    is_inside |= ok && is_known && ends[0] <= word && word <= ends[1];
    *colors |= ok ? colors_between(ends) : 0;
  }
  if (!ok)
    diag_config_range(s->diags, n->span);
  else if (is_known && !is_inside)
    diag_config_address(s->diags, n->span, word, "it lies outside of the ranges given here");
  return ok && (is_inside || !is_known);
}

Operand builtin_get_config(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  Operand address;
  uint32_t colors = 0;
  if (!config_address(s, call->args.at[0], CONFIG_READ, &address) ||
      (call->args.count > 1 && !config_ranges(s, call->args.at[1], address, &colors)))
    return operand_poison();
  if (s->now.where != WHERE_RUNTIME || s->now.comptime) {
    int64_t word;
    if (!sema_int_in(s, address, 0, UINT16_MAX, "a register address", at, &word))
      return operand_poison();
    for (size_t i = arrlenu(s->setup->configs); i-- > 0;)
      if (s->setup->configs[i].address == word)
        return operand_value(s, pool_int(s->pool, POOL(U16), s->setup->configs[i].value));
    if (config_reg_at((uint16_t)word)->access & CONFIG_STARTS_AT_0)
      return operand_value(s, pool_int(s->pool, POOL(U16), 0));
    diag_config_not_known(s->diags, at);
    return operand_poison();
  }
  IrValue word = sema_ir(s, address);
  return operand_runtime(ir_machine_op(&s->b, IR_get_config, IRT_I16, 0, 0, &word, 1), POOL(U16));
}

/* A color may have no routes before the program runs and sets them.  `colors`: those that an
 * address of the run may be of. */
static void note_routed(Sema *s, Operand address, uint32_t colors)
{
  int64_t ends[2];
  if (operand_is_comptime(address) && pool_int_value(s->pool, address.value, &ends[0])) {
    ends[1] = ends[0];
    colors = colors_between(ends);
  }
  s->setup->routed |= colors;
}

Operand builtin_set_config(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  Operand address;
  uint32_t colors = 0;
  if (!config_address(s, call->args.at[0], CONFIG_WRITE, &address) ||
      (call->args.count > 2 && !config_ranges(s, call->args.at[2], address, &colors)))
    return operand_poison();
  Operand value = sema_arg(s, call->args.at[1], POOL(U16));
  if (operand_is_poison(value))
    return operand_poison();
  if (sema_at_top(s)) {
    int64_t word, bits;
    if (!sema_int_in(s, address, 0, UINT16_MAX, "a register address", at, &word) ||
        !sema_int_in(s, value, 0, UINT16_MAX, "a register value", call->args.at[1]->span, &bits))
      return operand_poison();
    ImageConfig config = {(uint16_t)word, (uint16_t)bits};
    arrput(s->setup->configs, config);
    return operand_void();
  }
  note_routed(s, address, colors);
  IrValue args[2] = {sema_ir(s, address), sema_ir(s, value)};
  ir_machine_op(&s->b, IR_set_config, IRT_VOID, 0, 0, args, 2);
  return operand_void();
}

Operand builtin_random16(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)call, (void)at, (void)want;
  return operand_runtime(ir_machine_op(&s->b, IR_random16, IRT_I16, 0, 0, NULL, 0), POOL(U16));
}

Operand builtin_set_active_prng(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  Operand o = sema_arg(s, call->args.at[0], POOL(U16));
  if (operand_is_poison(o))
    return o;
  IrValue id = sema_ir(s, o);
  ir_machine_op(&s->b, IR_set_prng, IRT_VOID, 0, 0, &id, 1);
  return operand_void();
}
