/* Calls, function entry and return.
 *
 * Convention (docs/codegen.md): an argument of 16 bits takes the lowest free register of r0..r5,
 * one of 32 bits the lowest free even pair of d0, d2, d4; arguments without a register, and every
 * i64, go to the caller's argument area, in order. The caller passes a descriptor by the address of
 * a copy that does not change. A result of up to 32 bits is in r0 or d0; the callee stores i64 and
 * descriptors at the address in a hidden first argument. */
#include "ir/codegen/codegen.h"

#include <stb_ds.h>

typedef struct { bool is_stack; Reg reg; uint32_t offset; } ArgPlace;

static bool result_is_hidden(IrType result)
{
  return result == IRT_I64 || ir_type_is_dsd(result);
}

/* Where each argument goes; returns the bytes of the argument area. */
static unsigned args_assign(IrType result, const IrType *types, uint32_t n, ArgPlace *places)
{
  unsigned taken = result_is_hidden(result) ? 1 : 0, bytes = 0;
  for (uint32_t i = 0; i < n; i++) {
    bool by_address = ir_type_is_dsd(types[i]);
    bool pair = !by_address && type_class(types[i]) == CLASS_PAIR;
    unsigned want = pair ? 3 : 1, step = pair ? 2 : 1, r = 0;
    while (r < ARG_REGISTERS && (taken & want << r))
      r += step;
    if (r < ARG_REGISTERS && types[i] != IRT_I64) {
      taken |= want << r;
      places[i] = (ArgPlace){.reg = pair ? reg_pair(r) : r};
      continue;
    }
    places[i] = (ArgPlace){.is_stack = true, .reg = REG_NONE, .offset = bytes};
    bytes += by_address ? 2 : (ir_type_bytes(types[i]) + 1) & ~1u;
  }
  return bytes;
}

/* ---- calling -------------------------------------------------------------------------------- */

typedef struct {
  IrType result;
  uint32_t n;
  const IrValue *args;
  IrType *types;
  ArgPlace *places;
  uint32_t result_slot;
} CallShape;

static void store_argument(Sel *s, const CallShape *c, uint32_t i)
{
  Addr at = {.on_stack = true, .imm = (int32_t)c->places[i].offset};
  IrType type = c->types[i];
  if (ir_type_is_dsd(type)) {
    Reg address = sel_new_reg(s, CLASS_WORD);
    dsd_address_into(s, address, c->args[i]);
    sel_store(s, OP_st16, address, &at, 0);
  } else if (type_class(type) == CLASS_WORD) {
    sel_store(s, OP_st16, sel_use_word(s, c->args[i]), &at, 0);
  } else {
    sel_store(s, OP_st32, sel_use_part(s, c->args[i], 0), &at, 0);
    if (type == IRT_I64)
      sel_store(s, OP_st32, sel_use_part(s, c->args[i], 1), &at, 4);
  }
}

/* Descriptors may need code that uses registers: their addresses are made before the first
 * argument register is taken. */
static void put_arguments(Sel *s, const CallShape *c)
{
  Reg *addresses = arena_many(s->pass, Reg, c->n);
  for (uint32_t i = 0; i < c->n; i++) {
    if (c->places[i].is_stack) {
      store_argument(s, c, i);
    } else if (ir_type_is_dsd(c->types[i])) {
      addresses[i] = sel_new_reg(s, CLASS_WORD);
      dsd_address_into(s, addresses[i], c->args[i]);
    }
  }
  if (result_is_hidden(c->result)) {
    Addr at = {.on_stack = true, .sym = SYM_FRAME, .sym_index = c->result_slot};
    sel_lea(s, 0, &at);
  }
  for (uint32_t i = 0; i < c->n; i++) {
    if (c->places[i].is_stack)
      continue;
    if (ir_type_is_dsd(c->types[i]))
      sel_copy(s, CLASS_WORD, c->places[i].reg, addresses[i]);
    else
      sel_into(s, c->places[i].reg, c->args[i]);
  }
}

static uint16_t used_registers(const CallShape *c)
{
  uint16_t mask = result_is_hidden(c->result) ? reg_mask(0) : 0;
  for (uint32_t i = 0; i < c->n; i++)
    if (!c->places[i].is_stack)
      mask |= reg_mask(c->places[i].reg);
  return mask;
}

static void take_result(Sel *s, IrValue v, const CallShape *c)
{
  if (c->result == IRT_VOID || ir_type_is_dsd(c->result))
    return;
  if (c->result == IRT_I64) {
    Addr at = {.on_stack = true, .sym = SYM_FRAME, .sym_index = c->result_slot};
    sel_load(s, OP_ld32, sel_result(s, v, 0), &at, 0);
    sel_load(s, OP_ld32, sel_result(s, v, 1), &at, 4);
  } else {
    RegClass cls = type_class(c->result);
    sel_copy(s, cls, sel_result(s, v, 0), cls == CLASS_WORD ? 0 : reg_pair(0));
  }
}

static CallShape call_shape(Sel *s, IrValue v, IrType result, const IrValue *args,
                            uint32_t n)
{
  CallShape c = {.result = result, .n = n, .args = args};
  c.types = arena_many(s->pass, IrType, n);
  c.places = arena_many(s->pass, ArgPlace, n);
  for (uint32_t i = 0; i < n; i++)
    c.types[i] = sel_type(s, args[i]);
  unsigned bytes = args_assign(result, c.types, n, c.places);
  if (bytes > s->mf->outgoing_bytes)
    s->mf->outgoing_bytes = bytes;
  if (ir_type_is_dsd(result)) {
    if (s->frame_slot[v.raw] == 0)
      s->frame_slot[v.raw] = sel_new_slot(s, ir_type_bytes(result)) + 1;
    c.result_slot = s->frame_slot[v.raw] - 1;
  } else if (result == IRT_I64) {
    c.result_slot = sel_new_slot(s, ir_type_bytes(result));
  }
  return c;
}

static void finish_call(Sel *s, IrValue v, const CallShape *c, MInsn *call)
{
  call->uses = used_registers(c);
  call->clobbers = regs_caller_saved(s->cg->machine);
  s->mf->has_calls = true;
  take_result(s, v, c);
}

static void call_direct(Sel *s, IrValue v, uint32_t func, IrType result, const IrValue *args,
                        uint32_t n)
{
  CallShape c = call_shape(s, v, result, args, n);
  put_arguments(s, &c);
  MInsn *call = sel_emit(s, OP_call);
  call->sym = SYM_FUNC;
  call->sym_index = func;
  arrput(s->mf->callees, func);
  finish_call(s, v, &c, call);
}

void sel_call(Sel *s, IrValue v, const IrInsn *insn)
{
  if (insn->op == IR_call) {
    call_direct(s, v, insn->u.func.raw, insn->type, insn->args, insn->n_args);
    return;
  }
  CallShape c = call_shape(s, v, insn->type, insn->args + 1, insn->n_args - 1);
  IrType *params = arena_many(s->cg->arena, IrType, c.n);
  for (uint32_t i = 0; i < c.n; i++)
    params[i] = c.types[i];
  arrput(s->mf->pointer_calls, ((Signature){insn->type, c.n, params}));
  Reg address = sel_use(s, insn->args[0]);
  put_arguments(s, &c);
  MInsn *call = sel_rr(s, OP_callr, address, REG_NONE);
  finish_call(s, v, &c, call);
}

void sel_runtime(Sel *s, IrValue v, RtKind kind, const IrValue *args, uint32_t n)
{
  uint32_t func = cg_runtime(s->cg, kind);
  call_direct(s, v, func, sel_type(s, v), args, n);
}

/* ---- entry and return ----------------------------------------------------------------------- */

static void load_argument(Sel *s, IrValue param, IrType type, const ArgPlace *place)
{
  bool word = ir_type_is_dsd(type) || type_class(type) == CLASS_WORD;
  for (unsigned part = 0; part < (type == IRT_I64 ? 2u : 1u); part++) {
    Reg to = ir_type_is_dsd(type) ? dsd_param_reg(s, param) : sel_result(s, param, part);
    Addr at = {.on_stack = true, .sym = SYM_INCOMING, .imm = (int32_t)(place->offset + 4 * part)};
    sel_load(s, word ? OP_ld16 : OP_ld32, to, &at, 0);
  }
}

/* A task's payload comes in d0, which is where the convention puts its parameters. */
void sel_entry(Sel *s)
{
  const IrFunc *f = s->f;
  ArgPlace *places = arena_many(s->pass, ArgPlace, f->n_params);
  args_assign(f->result, f->params, f->n_params, places);
  if (s->hidden != REG_NONE)
    sel_copy(s, CLASS_WORD, s->hidden, 0);
  for (uint32_t i = 0; i < f->n_params; i++) {
    IrValue param = f->blocks[0].params[i];
    IrType type = f->params[i];
    if (!s->demanded[param.raw] || places[i].is_stack)
      continue;
    RegClass cls = ir_type_is_dsd(type) ? CLASS_WORD : type_class(type);
    sel_copy(s, cls, ir_type_is_dsd(type) ? dsd_param_reg(s, param) : sel_result(s, param, 0),
             places[i].reg);
  }
  for (uint32_t i = 0; i < f->n_params; i++)
    if (s->demanded[f->blocks[0].params[i].raw] && places[i].is_stack)
      load_argument(s, f->blocks[0].params[i], f->params[i], &places[i]);
}

/* Stores an i64 or a descriptor where the hidden argument points. */
static void return_hidden(Sel *s, IrValue v)
{
  Addr at = {.reg = s->hidden};
  if (ir_type_is_dsd(sel_type(s, v))) {
    dsd_store(s, &at, v);
    return;
  }
  for (unsigned part = 0; part < 2; part++)
    sel_store(s, OP_st32, sel_use_part(s, v, part), &at, (int32_t)(4 * part));
}

void sel_ret(Sel *s, const IrInsn *insn)
{
  uint16_t uses = 0;
  if (insn->n_args) {
    IrType type = sel_type(s, insn->args[0]);
    if (result_is_hidden(type)) {
      return_hidden(s, insn->args[0]);
    } else {
      Reg to = type_class(type) == CLASS_WORD ? 0 : reg_pair(0);
      sel_into(s, to, insn->args[0]);
      uses = reg_mask(to);
    }
  }
  sel_emit(s, s->f->is_task ? OP_endtask : OP_ret)->uses = uses;
}
