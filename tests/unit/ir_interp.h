/* Runs functions of the IR, for tests: results, memory and the order of visible effects.
 *
 * Arithmetic is ir_fold's.  Memory is one array of bytes: global number N, named "gN", stands at
 * a place that depends on N only, so that runs of differently optimised modules can be compared;
 * allocas are stacked above.  `activate` and `set_config` are the visible effects: they append
 * their operands to a trace.
 *
 * Of descriptors only memory in one dimension is known, of vector operations mov16 and add16;
 * they run to their end at once.  A descriptor is one number: base, length and stride, 16 bits
 * each from the lowest on; in memory its first 8 bytes are that number. */
#ifndef TESTS_IR_INTERP_H
#define TESTS_IR_INTERP_H

#include "ir/ir.h"

#include <stdlib.h>
#include <string.h>

enum {
  INTERP_GLOBAL_BASE = 256, INTERP_GLOBAL_ROOM = 256, INTERP_STACK_BASE = 16384,
  INTERP_MEM_BYTES = 49152, INTERP_MOST_STEPS = 400000, INTERP_MOST_DEPTH = 40,
  INTERP_DSRS = 1024
};

typedef struct {
  const IrModule *m;
  uint8_t memory[INTERP_MEM_BYTES];
  uint32_t stack;
  uint64_t n_steps, n_effects, effects;      /* effects: a hash of their values in order */
  uint64_t dsr[DSR_FILE_COUNT][INTERP_DSRS];
  unsigned depth;
  bool trapped, gave_up;
  const char *fault;                         /* the program did what it must not do */
} Interp;

static uint32_t interp_global_address(const IrModule *m, uint32_t id)
{
  return INTERP_GLOBAL_BASE +
         INTERP_GLOBAL_ROOM * (uint32_t)strtoul(m->globals[id].name + 1, NULL, 10);
}

static void interp_init(Interp *in, const IrModule *m)
{
  memset(in, 0, sizeof *in);
  in->m = m;
  in->stack = INTERP_STACK_BASE;
  for (uint32_t i = 0; i < m->n_globals; i++)
    if (m->globals[i].init)
      memcpy(in->memory + interp_global_address(m, i), m->globals[i].init, m->globals[i].bytes);
}

static bool interp_check(Interp *in, uint64_t at, uint64_t bytes)
{
  if (at >= INTERP_GLOBAL_BASE && at + bytes <= INTERP_MEM_BYTES)
    return true;
  in->fault = "access outside memory";
  return false;
}

static uint64_t interp_load(Interp *in, uint64_t at, unsigned bytes)
{
  uint64_t value = 0;
  if (interp_check(in, at, bytes))
    for (unsigned i = bytes < 8 ? bytes : 8; i-- > 0;)
      value = value << 8 | in->memory[at + i];
  return value;
}

static void interp_store(Interp *in, uint64_t at, uint64_t value, unsigned bytes)
{
  if (interp_check(in, at, bytes))
    for (unsigned i = 0; i < bytes && i < 8; i++)
      in->memory[at + i] = (uint8_t)(value >> 8 * i);
}

static void interp_effect(Interp *in, IrOp op, const uint64_t *args, uint32_t n)
{
  in->n_effects++;
  in->effects = (in->effects ^ op) * UINT64_C(0x100000001b3);
  for (uint32_t i = 0; i < n; i++)
    in->effects = (in->effects ^ args[i]) * UINT64_C(0x100000001b3) + 1;
}

/* ---- descriptors ------------------------------------------------------------------- */

static uint64_t interp_desc(const Interp *in, const IrDesc *d)
{
  uint32_t base = d->desc.base;
  if (d->global.raw != IR_NO_ID)
    base += interp_global_address(in->m, d->global.raw);
  return (base & 0xffff) | (uint64_t)d->desc.length << 16 |
         (uint64_t)(uint16_t)d->desc.stride << 32;
}

static unsigned interp_field_shift(unsigned field)
{
  return field == DSRF_LENGTH ? 16 : field == DSRF_STRIDE ? 32 : 0;
}

static uint64_t interp_set_field(uint64_t dsd, unsigned field, uint64_t value)
{
  unsigned shift = interp_field_shift(field);
  if (field == DSRF_BASE_ADD)
    value += dsd & 0xffff;
  return (dsd & ~(UINT64_C(0xffff) << shift)) | (value & 0xffff) << shift;
}

/* A vector operation's operand: a descriptor, or a number that is every element. */
typedef struct { bool is_dsd; uint64_t value; } InterpOperand;

static InterpOperand interp_operand(const Interp *in, const IrVecOperand *o, const uint64_t *args)
{
  if (o->kind == IRV_DSR)
    return (InterpOperand){true, in->dsr[o->file][o->number % INTERP_DSRS]};
  return (InterpOperand){o->kind == IRV_DSD, o->kind == IRV_NONE ? 0 : args[o->arg]};
}

static uint64_t interp_length(InterpOperand o)
{
  return o.is_dsd ? o.value >> 16 & 0xffff : 0;
}

static uint64_t interp_address(InterpOperand o, uint64_t k)
{
  int64_t stride = (int16_t)(o.value >> 32);
  return ((o.value & 0xffff) + (uint64_t)(2 * stride * (int64_t)k)) & 0xffff;
}

static uint64_t interp_element(Interp *in, InterpOperand o, uint64_t k)
{
  return o.is_dsd ? interp_load(in, interp_address(o, k), 2) : o.value;
}

static void interp_vec(Interp *in, const IrVec *vec, const uint64_t *args)
{
  InterpOperand dest = interp_operand(in, &vec->dest, args);
  InterpOperand a = interp_operand(in, &vec->src0, args), b = interp_operand(in, &vec->src1, args);
  uint64_t n = interp_length(a) ? interp_length(a) : interp_length(b);
  n = n ? n : interp_length(dest) ? interp_length(dest) : 1;
  for (uint64_t k = 0; k < n && !in->fault; k++) {
    uint64_t x = interp_element(in, b, k);
    if (vec->op == VEC_add16)
      x += interp_element(in, a, k);
    else if (vec->op != VEC_mov16)
      in->fault = vecops[vec->op].name;
    interp_store(in, dest.is_dsd ? interp_address(dest, k) : dest.value, x & 0xffff, 2);
  }
}

static uint64_t interp_call(Interp *in, uint32_t func, const uint64_t *args);

/* What concerns descriptors; false if the operation is another one. */
static bool interp_dsd_insn(Interp *in, const IrInsn *insn, const uint64_t *args,
                            uint64_t *result)
{
  uint64_t *dsr = &in->dsr[insn->aux >> 16 & 3][(insn->aux & 0xffff) % INTERP_DSRS];
  switch ((int)insn->op) {
  case IR_dsd_const: *result = interp_desc(in, insn->u.desc); return true;
  case IR_dsd_set: *result = interp_set_field(args[0], insn->field, args[1]); return true;
  case IR_dsd_get: *result = args[0] >> interp_field_shift(insn->field) & 0xffff; return true;
  case IR_dsr_load: *dsr = args[0]; return true;
  case IR_dsr_set: *dsr = interp_set_field(*dsr, insn->field, args[0]); return true;
  case IR_vec:
    interp_vec(in, insn->u.vec, args);
    *result = 1;
    return true;
  default: return false;
  }
}

static uint64_t interp_insn(Interp *in, const IrFunc *f, const IrInsn *insn,
                            const uint64_t *args)
{
  uint64_t result = 0;
  if (interp_dsd_insn(in, insn, args, &result))
    return result;
  switch ((int)insn->op) {
  case IR_const: return insn->imm;
  case IR_global_addr:
    return (interp_global_address(in->m, insn->u.global.raw) + insn->imm) & 0xffff;
  case IR_tile_param: return 7 + insn->imm;
  case IR_alloca:
    in->stack = (in->stack + insn->aux - 1) & ~(insn->aux - 1);
    result = in->stack;
    in->stack += (uint32_t)insn->imm;
    return result;
  case IR_load: return interp_load(in, args[0], ir_type_bytes(insn->type));
  case IR_store:
    interp_store(in, args[0], args[1], ir_type_bytes(f->insns[insn->args[1].raw].type));
    return 0;
  case IR_zero:
    if (interp_check(in, args[0], insn->imm))
      memset(in->memory + args[0], 0, insn->imm);
    return 0;
  case IR_copy:
    if (interp_check(in, args[0], insn->imm) && interp_check(in, args[1], insn->imm))
      memmove(in->memory + args[0], in->memory + args[1], insn->imm);
    return 0;
  case IR_call: return interp_call(in, insn->u.func.raw, args);
  case IR_activate:
  case IR_set_config: interp_effect(in, insn->op, args, insn->n_args); return 0;
  default: break;
  }
  IrType from = insn->n_args ? f->insns[insn->args[0].raw].type : insn->type;
  if (!ir_fold(in->m, insn->op, insn->type, from, args, insn->n_args, &result))
    in->fault = ir_ops[insn->op].name;
  return result;
}

/* Enters a block: all its parameters change at once. */
static uint32_t interp_jump(const IrFunc *f, const IrTarget *t, uint64_t *values)
{
  const IrBlock *b = &f->blocks[t->block.raw];
  uint64_t *next = base_malloc(sizeof *next * (t->n_args + 1));
  for (uint32_t i = 0; i < t->n_args; i++)
    next[i] = values[t->args[i].raw];
  for (uint32_t i = 0; i < t->n_args; i++)
    values[b->params[i].raw] = next[i];
  free(next);
  return t->block.raw;
}

static uint64_t interp_run(Interp *in, const IrFunc *f, uint64_t *values)
{
  uint32_t block = 0, at = 0;
  while (!in->fault && !in->trapped) {
    const IrInsn *insn = &f->insns[f->blocks[block].insns[at++].raw];
    uint64_t args[16];
    if (++in->n_steps > INTERP_MOST_STEPS)
      in->gave_up = true;
    if (in->gave_up)
      return 0;
    for (uint32_t i = 0; i < insn->n_args && i < ARRAY_COUNT(args); i++)
      args[i] = values[insn->args[i].raw];
    switch ((int)insn->op) {
    case IR_ret: return insn->n_args ? args[0] : 0;
    case IR_trap:
      in->trapped = true;
      interp_effect(in, IR_trap, &insn->imm, 1);
      return 0;
    case IR_br:
      block = interp_jump(f, &insn->u.targets[0], values);
      at = 0;
      break;
    case IR_cond_br:
      block = interp_jump(f, &insn->u.targets[args[0] ? 0 : 1], values);
      at = 0;
      break;
    default: values[insn - f->insns] = interp_insn(in, f, insn, args); break;
    }
  }
  return 0;
}

static uint64_t interp_call(Interp *in, uint32_t func, const uint64_t *args)
{
  const IrFunc *f = &in->m->funcs[func];
  uint32_t stack = in->stack;
  if (in->depth++ == INTERP_MOST_DEPTH)
    in->gave_up = true;
  uint64_t *values = base_malloc(sizeof *values * f->n_insns);
  memset(values, 0, sizeof *values * f->n_insns);
  for (uint32_t i = 0; i < f->n_params; i++)
    values[f->blocks[0].params[i].raw] = args[i];
  uint64_t result = interp_run(in, f, values);
  free(values);
  in->depth--;
  in->stack = stack;
  return result;
}

#endif
