/* Settings of operations over DSDs and of DSR loads: read from the struct of a call, and put into
 * descriptors. */
#include "frontend/machine/dsd.h"
#include "frontend/machine/machine_internal.h"

/* ---- reading ----------------------------------------------------------------------------- */

static bool is_void_value(const Sema *s, Operand o)
{
  (void)s;
  return operand_is_comptime(o) && pool_eq(o.type, POOL(VOID));
}

/* `.activate = x` or `.unblock = x`: at most one of them; a void value means none. */
static bool read_action(Sema *s, Settings *set, Action *action, IrValue *id)
{
  Setting *activate = settings_take(s, set, "activate");
  Setting *unblock = settings_take(s, set, "unblock");
  if (activate && is_void_value(s, activate->value))
    activate = NULL;
  if (unblock && is_void_value(s, unblock->value))
    unblock = NULL;
  if (activate && unblock) {
    diag_activate_and_unblock(s->diags, unblock->span);
    return false;
  }
  Setting *field = activate ? activate : unblock;
  if (!field)
    return true;
  if (!sema_action_target(s, field->value, field->span, activate != NULL, action, id))
    return false;
  action->kind = activate ? ACT_ACTIVATE : ACT_UNBLOCK;
  if (unblock)
    setup_note_opened(s, *action, *id, field->span);
  return true;
}

static bool read_on_control(Sema *s, Setting *field, Action *action)
{
  PoolId value = sema_comptime_value(s, field->value, field->span);
  if (pool_eq(value, POOL(POISON)))
    return false;
  Settings set = settings_of_value(s, value, field->node, field->span);
  IrValue id = IR_NO_VALUE;
  if (!set.ok)
    return false;
  bool ok = read_action(s, &set, action, &id);
  bool has_action = ok && action->kind != ACT_NONE;
  if (setting_bool(s, settings_take(s, &set, "terminate"), false)) {
    if (has_action)
      diag_setting_choice(s->diags, field->span, "struct of 'on_control'", "terminate",
                          action->kind == ACT_ACTIVATE ? "activate" : "unblock");
    ok &= !has_action;
    action->kind = ACT_TERMINATE;
  }
  settings_finish(s, &set, SETTINGS_on_control);
  return ok;
}

static bool read_ut(Sema *s, Setting *field, uint8_t *ut)
{
  int64_t number;
  if (s->session->options->arch != ARCH_WSE3) {
    diag_setting_arch(s->diags, field->span, "ut_id", sema_machine(s)->name);
    return false;
  }
  Operand o = sema_coerce(s, field->value, POOL(UT_ID), field->span);
  if (!sema_int_in(s, o, 0, MAX_MICROTHREADS - 1, "a microthread", field->span, &number))
    return false;
  *ut = (uint8_t)number;
  return true;
}

static void read_scheduling(Sema *s, Settings *set, OpSettings *out)
{
  Setting *priority = settings_take(s, set, "priority");
  if (priority) {
    out->has_priority = true;
    out->ok &= setting_priority(s, priority, &out->priority);
  }
  Setting *ut = settings_take(s, set, "ut_id");
  if (ut) {
    out->has_ut = true;
    out->ok &= read_ut(s, ut, &out->ut);
  }
}

OpSettings op_settings_read(Sema *s, const Node *n, bool is_load)
{
  static const char *const run_time[] = {"activate", "unblock", "index", NULL};
  Settings set = settings_read(s, n, run_time, false);
  OpSettings out = {.ok = set.ok, .is_given = true, .span = n->span};
  if (!set.ok)
    return out;
  out.is_async = setting_bool(s, settings_take(s, &set, "async"), false);
  out.ok &= read_action(s, &set, &out.done, &out.done_id);
  Setting *on_control = settings_take(s, &set, "on_control");
  if (on_control)
    out.ok &= read_on_control(s, on_control, &out.on_control);
  read_scheduling(s, &set, &out);
  if (is_load) {
    if (setting_bool(s, settings_take(s, &set, "save_address"), false))
      out.flags |= DESC_F_SAVE;
    if (setting_bool(s, settings_take(s, &set, "single_step"), false))
      out.flags |= DESC_F_STEP;
    settings_finish(s, &set, SETTINGS_dsr_load);
    return out;
  }
  Setting *index = settings_take(s, &set, "index");
  if (index) {
    out.has_index = true;
    out.index = sema_coerce(s, index->value, POOL(U16), index->span);
    out.ok &= !operand_is_poison(out.index);
  }
  settings_finish(s, &set, SETTINGS_dsd_operation);
  return out;
}

/* ---- into descriptors -------------------------------------------------------------------- */

static Operand set_field(Sema *s, Operand dsd, DsrField field, IrValue value)
{
  Operand result = operand_runtime(ir_dsd_set(&s->b, sema_ir(s, dsd), field, value), dsd.type);
  result.name = dsd.name;
  return result;
}

static IrValue action_word(Sema *s, Action action, IrValue run_time_id)
{
  if (ir_value_is_none(run_time_id))
    return ir_const(&s->b, IRT_I16, action_encode(action));
  action.id = 0;
  Action all = action;
  all.id = 1;
  uint64_t unit = action_encode(all) - action_encode(action);   /* weight of the id in the word */
  IrValue shifted = ir_binary(&s->b, IR_mul, IRT_I16, run_time_id,
                              ir_const(&s->b, IRT_I16, unit));
  return ir_binary(&s->b, IR_or, IRT_I16, shifted,
                   ir_const(&s->b, IRT_I16, action_encode(action)));
}

/* Priority and microthread have no field of their own to set: the word that holds them is changed
 * in memory. */
static Operand set_modes(Sema *s, const OpSettings *set, Operand dsd)
{
  uint16_t mask = 0, bits = 0;
  if (set->has_priority) {
    mask |= DESC_M_PRIORITY_MASK | DESC_M_PRIORITY_GIVEN;
    bits |= (uint16_t)set->priority | DESC_M_PRIORITY_GIVEN;
  }
  if (set->has_ut) {
    mask |= DESC_M_UT_MASK << DESC_M_UT_SHIFT | DESC_M_UT_GIVEN;
    bits |= (uint16_t)(set->ut << DESC_M_UT_SHIFT) | DESC_M_UT_GIVEN;
  }
  IrValue place = ir_alloca(&s->b, ir_type_bytes(IRT_DSD), ir_type_align(IRT_DSD));
  ir_store(&s->b, place, sema_ir(s, dsd));
  IrValue offset = ir_const(&s->b, IRT_I16, DESC_W_MODES * sema_machine(s)->word_bytes);
  IrValue at = ir_binary(&s->b, IR_ptr_add, IRT_PTR, place, offset);
  IrValue rest = ir_binary(&s->b, IR_and, IRT_I16, ir_load(&s->b, IRT_I16, at),
                           ir_const(&s->b, IRT_I16, (uint16_t)~mask));
  ir_store(&s->b, at, ir_binary(&s->b, IR_or, IRT_I16, rest, ir_const(&s->b, IRT_I16, bits)));
  Operand result = operand_runtime(ir_load(&s->b, IRT_DSD, place), dsd.type);
  result.name = dsd.name;
  return result;
}

static Operand apply_run_time(Sema *s, const OpSettings *set, Operand dsd, bool with_done,
                              bool with_on_control)
{
  uint16_t flags = set->flags | (set->is_async ? DESC_F_ASYNC : 0);
  if (set->has_priority || set->has_ut)
    dsd = set_modes(s, set, dsd);
  if (flags)
    dsd = set_field(s, dsd, DSRF_FLAGS, ir_const(&s->b, IRT_I16, flags));
  if (with_done && set->done.kind != ACT_NONE)
    dsd = set_field(s, dsd, DSRF_DONE, action_word(s, set->done, set->done_id));
  if (with_on_control && set->on_control.kind != ACT_NONE)
    dsd = set_field(s, dsd, DSRF_CONTROL, action_word(s, set->on_control, IR_NO_VALUE));
  return dsd;
}

Operand op_settings_apply(Sema *s, const OpSettings *set, Operand dsd, bool with_done,
                          bool with_on_control)
{
  if (!set->is_given || operand_is_poison(dsd))
    return dsd;
  if (!dsd_is_comptime(s, dsd))
    return apply_run_time(s, set, dsd, with_done, with_on_control);
  IrDesc desc = pool_key(s->pool, dsd.value).u.dsd.desc;
  desc.desc.flags |= set->flags | (set->is_async ? DESC_F_ASYNC : 0);
  bool run_time_done = with_done && !ir_value_is_none(set->done_id);
  if (with_done && set->done.kind != ACT_NONE && !run_time_done)
    desc.desc.done = set->done;
  if (with_on_control && set->on_control.kind != ACT_NONE)
    desc.desc.on_control = set->on_control;
  if (set->has_priority) {
    desc.desc.priority_given = true;
    desc.desc.priority = set->priority;
  }
  if (set->has_ut) {
    desc.desc.ut_given = true;
    desc.desc.ut = set->ut;
  }
  Operand result = dsd_with_desc(s, dsd, desc);
  if (run_time_done)
    result = set_field(s, result, DSRF_DONE, action_word(s, set->done, set->done_id));
  return result;
}
