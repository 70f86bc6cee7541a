/* Runs functions of the IR, for tests: results, memory and the order of visible effects.
 *
 * Arithmetic is ir_fold's.  Memory is one array of bytes: global number N, named "gN", stands at
 * a place that depends on N only, so that runs of differently optimised modules can be compared;
 * allocas are stacked above.  `activate` and `set_config` are the visible effects: they append
 * their operands to a trace. */
#ifndef TESTS_IR_INTERP_H
#define TESTS_IR_INTERP_H

#include "ir/ir.h"

#include <stdlib.h>
#include <string.h>

enum {
  INTERP_GLOBAL_BASE = 256, INTERP_GLOBAL_ROOM = 256, INTERP_STACK_BASE = 16384,
  INTERP_MEM_BYTES = 49152, INTERP_MOST_STEPS = 400000, INTERP_MOST_DEPTH = 40
};

typedef struct {
  const IrModule *m;
  uint8_t memory[INTERP_MEM_BYTES];
  uint32_t stack;
  uint64_t n_steps, n_effects, effects;      /* effects: a hash of their values in order */
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
    for (unsigned i = bytes; i-- > 0;)
      value = value << 8 | in->memory[at + i];
  return value;
}

static void interp_store(Interp *in, uint64_t at, uint64_t value, unsigned bytes)
{
  if (interp_check(in, at, bytes))
    for (unsigned i = 0; i < bytes; i++)
      in->memory[at + i] = (uint8_t)(value >> 8 * i);
}

static void interp_effect(Interp *in, IrOp op, const uint64_t *args, uint32_t n)
{
  in->n_effects++;
  in->effects = (in->effects ^ op) * UINT64_C(0x100000001b3);
  for (uint32_t i = 0; i < n; i++)
    in->effects = (in->effects ^ args[i]) * UINT64_C(0x100000001b3) + 1;
}

static uint64_t interp_call(Interp *in, uint32_t func, const uint64_t *args);

static uint64_t interp_insn(Interp *in, const IrFunc *f, const IrInsn *insn,
                            const uint64_t *args)
{
  uint64_t result = 0;
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
