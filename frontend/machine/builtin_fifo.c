/* FIFOs: a buffer of the program and a state block, on which the machine's push and pop operations
 * work (layout of the block: ir/machine/machine.h). */
#include "frontend/machine/machine_internal.h"
#include "frontend/sema/builtins.h"
#include "frontend/machine/dsd.h"

#include <stb_ds.h>
#include <string.h>

enum { STATE_BUFFER, STATE_CAPACITY, STATE_PUSH_ACTION = 7, STATE_POP_ACTION = 8 };

static void put_word(uint8_t *bytes, unsigned word, uint16_t value)
{
  bytes[2 * word] = (uint8_t)value;
  bytes[2 * word + 1] = (uint8_t)(value >> 8);
}

/* The buffer: a global array of 16- or 32-bit numbers that can be written. */
static bool fifo_buffer(Sema *s, const Node *n, Fifo *fifo, int64_t *offset)
{
  Operand o = sema_expr(s, n, POOL(NONE));
  if (operand_is_poison(o))
    return false;
  o = sema_pointer_of(s, o, n->span);
  PoolId value = sema_comptime_value(s, o, n->span);
  if (pool_eq(value, POOL(POISON)))
    return false;
  PoolKey pointer = pool_key(s->pool, pool_type_of(s->pool, value));
  PoolId array = pointer.u.pointer_type.pointee;
  PoolKey type = pool_key(s->pool, array), key = pool_key(s->pool, value);
  uint32_t bytes = type.kind == PK_ARRAY_TYPE ? type_bytes(s->pool, type.u.array.element) : 0;
  if (key.kind != PK_POINTER || key.u.pointer.base_kind != PTR_GLOBAL ||
      pointer.u.pointer_type.is_const || (bytes != 2 && bytes != 4)) {
    diag_fifo_buffer(s->diags, n->span,
                     pool_type_of(s->pool, value));
    return false;
  }
  fifo->buffer = key.u.pointer.base;
  *offset = key.u.pointer.offset;
  fifo->element_bytes = bytes;
  fifo->capacity = (uint32_t)type_element_count(s->pool, array);
  if (fifo->capacity == 0)
    diag_fifo_without_elements(s->diags, n->span);
  return fifo->capacity != 0;
}

static bool fifo_action(Sema *s, Setting *field, uint16_t *word)
{
  if (!field)
    return true;
  Action action = {.kind = ACT_ACTIVATE};
  IrValue id;              /* never: FIFOs are made at compile time */
  if (!sema_action_target(s, field->value, field->span, true, &action, &id))
    return false;
  *word = action_encode(action);
  return true;
}

/* What an operation does that finds the FIFO empty or full; wse2 knows two actions, and those for
 * empty FIFOs only. */
static bool fifo_hold(Sema *s, Settings *set, const char *name, unsigned shift, uint16_t *flags)
{
  const SettingsGroup *group = settings_group(SETTINGS_fifo_action);   /* as FifoAction */
  Setting *field = settings_take(s, set, name);
  bool wse2 = s->session->options->arch == ARCH_WSE2;
  if (!field)
    return true;
  release_sign_here(s, SIGN_FIFO_LIMITS, field->span);
  PoolId value = sema_comptime_value(s, field->value, field->span);
  if (pool_eq(value, POOL(POISON)))
    return false;
  Settings actions = settings_of_value(s, value, field->node, field->span);
  if (!actions.ok)
    return false;
  const char *missing = wse2 && shift == FIFO_FULL_SHIFT ? name : NULL;
  unsigned given = 0;
  for (unsigned i = 0; i < group->n; i++)
    if (setting_bool(s, settings_take(s, &actions, group->rows[i].name), false)) {
      given++;
      *flags |= (uint16_t)(i << shift);
      if (wse2 && i >= FIFO_SUSPEND && !missing)
        missing = group->rows[i].name;
    }
  settings_finish(s, &actions, SETTINGS_fifo_action);
  if (missing)
    diag_setting_arch(s->diags, field->span, missing, sema_machine(s)->name);
  else if (given != 1)
    diag_fifo_one_action(s->diags, field->span);
  return !missing && given == 1;
}

/* Adds the state block to the program's data. */
static uint32_t fifo_state_global(Sema *s, uint32_t buffer, int64_t offset, const Fifo *fifo)
{
  const uint32_t words = FIFO_STATE_WORDS;
  IrGlobalId buffer_ir = sema_global_ir(s, buffer);
  const char *name = arena_printf(s->arena, "fifo%u", (unsigned)arrlenu(s->setup->fifos));
  IrGlobalId id = ir_global_add(s->ir, sema_keep_text(s, name), 2 * words, 2);
  IrGlobal *g = &s->ir->globals[id.raw];
  g->init = arena_many(s->ir->arena, uint8_t, 2 * words);
  put_word(g->init, STATE_CAPACITY, (uint16_t)fifo->capacity);
  put_word(g->init, FIFO_W_FLAGS, fifo->flags);
  put_word(g->init, STATE_PUSH_ACTION, fifo->push);
  put_word(g->init, STATE_POP_ACTION, fifo->pop);
  g->n_relocs = 1;
  g->relocs = arena_new(s->ir->arena, IrReloc);
  g->relocs[0] = (IrReloc){.offset = 2 * STATE_BUFFER, .target = buffer_ir.raw,
                           .addend = (int32_t)offset};
  Global global = {.decl_module = IR_NO_ID, .decl = IR_NO_ID, .ir = id,
                   .type = pool_array_type(s->pool, &words, 1, POOL(U16))};
  arrput(s->globals, global);
  return (uint32_t)arrlenu(s->globals) - 1;
}

/* The registers that a program chose for its FIFO, so that operations can name them; false after
 * reporting.  `given` stays false if it chose none. */
static bool fifo_registers(Sema *s, Settings *set, PoolKey keys[2], bool *given)
{
  static const PoolId types[3][2] = {{{POOL_RAW_DSR_DEST}, {POOL_RAW_NONE}},
                                     {{POOL_RAW_DSR_SRC1}, {POOL_RAW_NONE}},
                                     {{POOL_RAW_XDSR}, {POOL_RAW_NONE}}};
  static const char *const names[3] = {"dest", "src", "xdsr"};
  static const char *const expected[3] = {"a dsr_dest", "a dsr_src1", "an XDSR"};
  PoolKey found[3];
  unsigned n = 0;
  for (unsigned i = 0; i < ARRAY_COUNT(names); i++) {
    Setting *field = settings_take(s, set, names[i]);
    if (!field)
      continue;
    if (!dsr_value_of(s, field->value, field->span, types[i], expected[i], &found[i]))
      return false;
    n++;
  }
  *given = n > 0;
  if (n == 0)
    return true;
  if (n < ARRAY_COUNT(names) || found[0].u.dsr.number != found[1].u.dsr.number) {
    diag_fifo_registers(s->diags, set->span);
    return false;
  }
  keys[0] = found[0];
  keys[1] = found[1];
  return true;
}

static void preset_fifo(Sema *s, const PoolKey *reg, uint32_t state, Span at)
{
  IrDesc desc = {.desc.kind = DESC_FIFO, .global.raw = state};
  setup_preset_dsr(s, reg->u.dsr.file, reg->u.dsr.number, desc, at);
}

Operand builtin_allocate_fifo(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  if (s->ir == NULL) {
    diag_dsd_in_layout(s->diags, at);
    return operand_poison();
  }
  Fifo fifo = {0};
  PoolKey registers[2];
  bool has_registers = false;
  int64_t offset;
  if (!fifo_buffer(s, call->args.at[0], &fifo, &offset))
    return operand_poison();
  if (call->args.count > 1) {
    Settings set = settings_read(s, call->args.at[1], NULL, false);
    if (!set.ok || !fifo_action(s, settings_take(s, &set, "activate_push"), &fifo.push) ||
        !fifo_action(s, settings_take(s, &set, "activate_pop"), &fifo.pop))
      return operand_poison();
    Setting *priority = settings_take(s, &set, "priority");
    if (priority && !setting_priority(s, priority, &fifo.priority))
      return operand_poison();
    Setting *simd = settings_take(s, &set, "simd_mode");
    SimdMode mode;     /* the way elements travel through memory is that of the operation: ours */
    if (s->session->options->arch == ARCH_WSE3)
      setting_ignored(s, simd, "wse3", "its FIFOs have one mode");
    else if (simd && !dsd_simd_mode(s, simd, &mode))
      return operand_poison();
    if (!fifo_registers(s, &set, registers, &has_registers) ||
        !fifo_hold(s, &set, "empty_action", FIFO_EMPTY_SHIFT, &fifo.flags) ||
        !fifo_hold(s, &set, "full_action", FIFO_FULL_SHIFT, &fifo.flags))
      return operand_poison();
    settings_finish(s, &set, SETTINGS_fifo);
  }
  fifo.state = fifo_state_global(s, fifo.buffer, offset, &fifo);
  arrput(s->setup->fifos, fifo);
  for (unsigned i = 0; has_registers && i < ARRAY_COUNT(registers); i++)
    preset_fifo(s, &registers[i], fifo.state, at);
  PoolKey key = {.kind = PK_FIFO, .type = POOL(FIFO)};
  key.u.index = (uint32_t)arrlenu(s->setup->fifos) - 1;
  return operand_value(s, pool_get(s->pool, &key));
}

/* The length that the FIFO itself gives to operations that read or write it. */
static Operand set_fifo_length(Sema *s, const NodeBuiltinCall *call, unsigned word)
{
  const Node *arg = call->args.at[0];
  Operand fifo = sema_rvalue(s, arg, POOL(NONE));
  Operand length = sema_arg(s, call->args.at[1], POOL(U16));
  if (operand_is_poison(fifo) || operand_is_poison(length))
    return operand_poison();
  if (!pool_eq(fifo.type, POOL(FIFO))) {
    dsd_report_argument(s, call, arg->span, 1 << DESC_FIFO, fifo.type);
    return operand_poison();
  }
  const Fifo *f = &s->setup->fifos[pool_key(s->pool, fifo.value).u.index];
  IrGlobalId state = sema_global_ir(s, f->state);
  ir_store(&s->b, ir_global_addr(&s->b, state, 2 * word), sema_ir(s, length));
  return operand_void();
}

Operand builtin_set_fifo_read_length(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  return set_fifo_length(s, call, FIFO_W_READ_LENGTH);
}

Operand builtin_set_fifo_write_length(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  return set_fifo_length(s, call, FIFO_W_WRITE_LENGTH);
}
