/* Builds modules: a cursor appends instructions to a block.
 *
 * Arrays of the module grow by doubling in its arena and the old copies stay there: modules are
 * small and die together. */
#include "ir/ir.h"

#include <string.h>

/* Room for one more element of a growing array (pointer, count, capacity) in the arena. */
#define GROW(arena, array, count, cap)                                                          \
  do {                                                                                          \
    if ((count) == (cap)) {                                                                     \
      void *grown_ = arena_alloc((arena), sizeof *(array) * ((cap) ? 2 * (size_t)(cap) : 8), 8); \
      if (count)                                                                                \
        memcpy(grown_, (array), sizeof *(array) * (count));                                     \
      (array) = grown_;                                                                         \
      (cap) = (cap) ? 2 * (cap) : 8;                                                            \
    }                                                                                           \
  } while (0)

/* ---- module --------------------------------------------------------------------------- */

IrModule *ir_module_create(Arena *arena, Arch arch, Fp16Format fp16)
{
  IrModule *m = arena_new(arena, IrModule);
  m->arena = arena;
  m->arch = arch;
  m->fp16 = fp16;
  m->source = "";
  memset(m->data_queue, 0xff, sizeof m->data_queue);
  for (unsigned c = 0; c < MAX_COLORS; c++)
    m->teardown_handler[c] = IR_NO_ID;
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    m->empty_handler[0][q] = m->empty_handler[1][q] = IR_NO_ID;
  GROW(arena, m->locs, m->n_locs, m->cap_locs);
  m->n_locs = 1;
  return m;
}

IrFuncId ir_func_add(IrModule *m, const char *name, IrType result, const IrType *params,
                     uint32_t n)
{
  GROW(m->arena, m->funcs, m->n_funcs, m->cap_funcs);
  IrFuncId id = {m->n_funcs++};
  IrFunc *f = &m->funcs[id.raw];
  *f = (IrFunc){.name = name, .n_params = n, .result = result};
  f->params = arena_many(m->arena, IrType, n);
  if (n)
    memcpy(f->params, params, sizeof *params * n);
  GROW(m->arena, f->insns, f->n_insns, f->cap_insns);
  f->insns[0] = (IrInsn){.dead = true};
  f->n_insns = 1;
  IrBlockId entry = ir_block_add(m, id);
  for (uint32_t i = 0; i < n; i++)
    ir_block_param(m, id, entry, params[i]);
  return id;
}

IrGlobalId ir_global_add(IrModule *m, const char *name, uint32_t bytes, uint32_t align)
{
  GROW(m->arena, m->globals, m->n_globals, m->cap_globals);
  m->globals[m->n_globals] =
    (IrGlobal){.name = name, .type = "", .bytes = bytes, .align = align ? align : 1};
  return (IrGlobalId){m->n_globals++};
}

IrLocId ir_loc_add(IrModule *m, Span span, IrLocId inlined_at, const char *function)
{
  GROW(m->arena, m->locs, m->n_locs, m->cap_locs);
  m->locs[m->n_locs] = (IrLoc){.span = span, .inlined_at = inlined_at, .function = function};
  return (IrLocId){m->n_locs++};
}

void ir_local_add(IrModule *m, IrFuncId func, IrLocal local)
{
  IrFunc *f = &m->funcs[func.raw];
  GROW(m->arena, f->locals, f->n_locals, f->cap_locals);
  f->locals[f->n_locals++] = local;
}

void ir_held_add(IrModule *m, IrFunc *f, uint32_t global)
{
  for (uint32_t i = 0; i < f->n_held; i++)
    if (f->held[i] == global)
      return;
  GROW(m->arena, f->held, f->n_held, f->cap_held);
  f->held[f->n_held++] = global;
}

/* ---- blocks --------------------------------------------------------------------------- */

static IrFunc *func_of(const IrModule *m, IrFuncId id)
{
  if (id.raw >= m->n_funcs)
    ICE("no function %u", id.raw);
  return &m->funcs[id.raw];
}

static IrBlock *block_of(IrFunc *f, IrBlockId id)
{
  if (id.raw >= f->n_blocks)
    ICE("no block %u in %s", id.raw, f->name);
  return &f->blocks[id.raw];
}

static IrValue add_insn(IrModule *m, IrFunc *f, const IrInsn *insn)
{
  GROW(m->arena, f->insns, f->n_insns, f->cap_insns);
  f->insns[f->n_insns] = *insn;
  return (IrValue){f->n_insns++};
}

IrBlockId ir_block_add(IrModule *m, IrFuncId func)
{
  IrFunc *f = func_of(m, func);
  GROW(m->arena, f->blocks, f->n_blocks, f->cap_blocks);
  f->blocks[f->n_blocks] = (IrBlock){0};
  return (IrBlockId){f->n_blocks++};
}

IrValue ir_block_param(IrModule *m, IrFuncId func, IrBlockId block, IrType type)
{
  IrFunc *f = func_of(m, func);
  IrBlock *b = block_of(f, block);
  IrInsn insn = {.op = IR_PARAM, .type = type};
  insn.u.param.block = block;
  insn.u.param.index = b->n_params;
  IrValue value = add_insn(m, f, &insn);
  IrValue *params = arena_many(m->arena, IrValue, b->n_params + 1);
  if (b->n_params)
    memcpy(params, b->params, sizeof *params * b->n_params);
  params[b->n_params++] = value;
  b->params = params;
  return value;
}

static bool ir_block_is_terminated(const IrModule *m, IrFuncId func, IrBlockId block)
{
  IrFunc *f = func_of(m, func);
  const IrBlock *b = block_of(f, block);
  return b->n_insns && ir_op_is(f->insns[b->insns[b->n_insns - 1].raw].op, IRE_TERM);
}

/* ---- instructions --------------------------------------------------------------------- */

static IrValue *copy_values(Arena *arena, const IrValue *values, uint32_t n)
{
  IrValue *copy = arena_many(arena, IrValue, n);
  if (n)
    memcpy(copy, values, sizeof *values * n);
  return copy;
}

/* Enters the instruction, with its own copy of the arguments, before position `at`. */
static IrValue insert_insn(IrBuilder *b, IrBlock *block, uint32_t at, const IrInsn *insn)
{
  IrModule *m = b->module;
  IrFunc *f = func_of(m, b->func);
  IrInsn copy = *insn;
  copy.loc = b->loc;
  copy.args = copy_values(m->arena, insn->args, insn->n_args);
  IrValue value = add_insn(m, f, &copy);
  GROW(m->arena, block->insns, block->n_insns, block->cap_insns);
  memmove(&block->insns[at + 1], &block->insns[at], sizeof(IrValue) * (block->n_insns - at));
  block->insns[at] = value;
  block->n_insns++;
  return value;
}

static IrValue append_insn(IrBuilder *b, const IrInsn *insn)
{
  if (ir_block_is_terminated(b->module, b->func, b->block))
    ICE("%s after the end of block %u in %s", ir_ops[insn->op].name, b->block.raw,
        func_of(b->module, b->func)->name);
  IrBlock *block = block_of(func_of(b->module, b->func), b->block);
  return insert_insn(b, block, block->n_insns, insn);
}

static IrValue append_args(IrBuilder *b, IrOp op, IrType type, const IrValue *args, uint32_t n)
{
  IrInsn insn = {.op = op, .type = type, .n_args = n, .args = (IrValue *)args};
  return append_insn(b, &insn);
}

static uint64_t keep_bits(IrType type, uint64_t bits)
{
  unsigned width = ir_type_bits(type);
  return width >= 64 ? bits : bits & ((UINT64_C(1) << width) - 1);
}

IrValue ir_const(IrBuilder *b, IrType type, uint64_t bits)
{
  IrInsn insn = {.op = IR_const, .type = type, .imm = keep_bits(type, bits)};
  return append_insn(b, &insn);
}

IrValue ir_global_addr(IrBuilder *b, IrGlobalId global, int64_t offset_bytes)
{
  IrInsn insn = {.op = IR_global_addr, .type = IRT_PTR, .imm = (uint64_t)offset_bytes};
  insn.u.global = global;
  return append_insn(b, &insn);
}

IrValue ir_func_addr(IrBuilder *b, IrFuncId func)
{
  IrInsn insn = {.op = IR_func_addr, .type = IRT_PTR};
  insn.u.func = func;
  return append_insn(b, &insn);
}

IrValue ir_tile_param(IrBuilder *b, uint32_t index)
{
  if (index >= b->module->n_tile_params)
    ICE("no tile parameter %u", index);
  IrInsn insn = {.op = IR_tile_param, .type = b->module->tile_params[index], .imm = index};
  return append_insn(b, &insn);
}

IrValue ir_dsd_const(IrBuilder *b, IrDesc desc)
{
  IrType type = desc.desc.kind == DESC_MEM4D ? IRT_DSD4 : IRT_DSD;
  IrInsn insn = {.op = IR_dsd_const, .type = type};
  insn.u.desc = arena_new(b->module->arena, IrDesc);
  *insn.u.desc = desc;
  return append_insn(b, &insn);
}

IrValue ir_alloca(IrBuilder *b, uint32_t bytes, uint32_t align)
{
  IrFunc *f = func_of(b->module, b->func);
  IrBlock *entry = &f->blocks[0];
  uint32_t at = f->n_allocas;
  if (at > entry->n_insns || (at > 0 && f->insns[entry->insns[at - 1].raw].op != IR_alloca))
    at = 0;                  /* a pass has moved them */
  while (at < entry->n_insns && f->insns[entry->insns[at].raw].op == IR_alloca)
    at++;
  f->n_allocas = at + 1;
  IrInsn insn = {.op = IR_alloca, .type = IRT_PTR, .imm = bytes, .aux = align ? align : 1};
  return insert_insn(b, entry, at, &insn);
}

IrValue ir_unary(IrBuilder *b, IrOp op, IrType type, IrValue a)
{
  return append_args(b, op, type, &a, 1);
}

IrValue ir_binary(IrBuilder *b, IrOp op, IrType type, IrValue x, IrValue y)
{
  return append_args(b, op, type, (IrValue[]){x, y}, 2);
}

IrValue ir_select(IrBuilder *b, IrType type, IrValue cond, IrValue x, IrValue y)
{
  return append_args(b, IR_select, type, (IrValue[]){cond, x, y}, 3);
}

IrValue ir_load(IrBuilder *b, IrType type, IrValue address)
{
  return append_args(b, IR_load, type, &address, 1);
}

void ir_store(IrBuilder *b, IrValue address, IrValue value)
{
  append_args(b, IR_store, IRT_VOID, (IrValue[]){address, value}, 2);
}

void ir_copy(IrBuilder *b, IrValue dest, IrValue source, uint32_t bytes)
{
  IrInsn insn = {.op = IR_copy, .imm = bytes, .n_args = 2, .args = (IrValue[]){dest, source}};
  append_insn(b, &insn);
}

void ir_zero(IrBuilder *b, IrValue dest, uint32_t bytes)
{
  IrInsn insn = {.op = IR_zero, .imm = bytes, .n_args = 1, .args = &dest};
  append_insn(b, &insn);
}

IrValue ir_call(IrBuilder *b, IrFuncId func, const IrValue *args, uint32_t n)
{
  IrInsn insn = {.op = IR_call, .type = func_of(b->module, func)->result,
                 .n_args = n, .args = (IrValue *)args};
  insn.u.func = func;
  return append_insn(b, &insn);
}

IrValue ir_call_ptr(IrBuilder *b, IrType result, IrValue address, const IrValue *args, uint32_t n)
{
  IrValue *all = arena_many(b->module->arena, IrValue, n + 1);
  all[0] = address;
  if (n)
    memcpy(all + 1, args, sizeof *args * n);
  return append_args(b, IR_call_ptr, result, all, n + 1);
}

IrValue ir_dsd_set(IrBuilder *b, IrValue dsd, DsrField field, IrValue value)
{
  IrInsn insn = {.op = IR_dsd_set, .type = ir_value_type(b->module, b->func, dsd),
                 .field = (uint8_t)field, .n_args = 2, .args = (IrValue[]){dsd, value}};
  return append_insn(b, &insn);
}

IrValue ir_dsd_get(IrBuilder *b, IrValue dsd, DsrField field)
{
  IrInsn insn = {.op = IR_dsd_get, .type = IRT_I16, .field = (uint8_t)field,
                 .n_args = 1, .args = &dsd};
  return append_insn(b, &insn);
}

static uint32_t dsr_aux(DsrFile file, uint32_t number)
{
  return (uint32_t)file << 16 | number;
}

void ir_dsr_load(IrBuilder *b, DsrFile file, uint32_t number, IrValue dsd)
{
  IrInsn insn = {.op = IR_dsr_load, .aux = dsr_aux(file, number), .n_args = 1, .args = &dsd};
  append_insn(b, &insn);
}

void ir_dsr_set(IrBuilder *b, DsrFile file, uint32_t number, DsrField field, IrValue value)
{
  IrInsn insn = {.op = IR_dsr_set, .field = (uint8_t)field, .aux = dsr_aux(file, number),
                 .n_args = 1, .args = &value};
  append_insn(b, &insn);
}

IrValue ir_dsr_get(IrBuilder *b, DsrFile file, uint32_t number, DsrField field)
{
  IrInsn insn = {.op = IR_dsr_get, .type = IRT_I16, .field = (uint8_t)field,
                 .aux = dsr_aux(file, number)};
  return append_insn(b, &insn);
}

IrValue ir_vec(IrBuilder *b, const IrVec *vec, const IrValue *args, uint32_t n)
{
  IrInsn insn = {.op = IR_vec, .type = IRT_BOOL, .n_args = n, .args = (IrValue *)args};
  insn.u.vec = arena_new(b->module->arena, IrVec);
  *insn.u.vec = *vec;
  return append_insn(b, &insn);
}

IrValue ir_machine_op(IrBuilder *b, IrOp op, IrType type, uint32_t aux, uint64_t imm,
                      const IrValue *args, uint32_t n)
{
  IrInsn insn = {.op = op, .type = type, .aux = aux, .imm = imm, .n_args = n,
                 .args = (IrValue *)args};
  return append_insn(b, &insn);
}

/* ---- terminators ---------------------------------------------------------------------- */

static IrTarget make_target(Arena *arena, IrBlockId block, const IrValue *args, uint32_t n)
{
  return (IrTarget){.block = block, .n_args = n, .args = copy_values(arena, args, n)};
}

void ir_br(IrBuilder *b, IrBlockId target, const IrValue *args, uint32_t n)
{
  IrInsn insn = {.op = IR_br};
  insn.u.targets = arena_new(b->module->arena, IrTarget);
  insn.u.targets[0] = make_target(b->module->arena, target, args, n);
  append_insn(b, &insn);
}

void ir_cond_br(IrBuilder *b, IrValue cond, IrBlockId yes, const IrValue *yes_args,
                uint32_t n_yes, IrBlockId no, const IrValue *no_args, uint32_t n_no)
{
  Arena *arena = b->module->arena;
  IrInsn insn = {.op = IR_cond_br, .n_args = 1, .args = &cond};
  insn.u.targets = arena_many(arena, IrTarget, 2);
  insn.u.targets[0] = make_target(arena, yes, yes_args, n_yes);
  insn.u.targets[1] = make_target(arena, no, no_args, n_no);
  append_insn(b, &insn);
}

void ir_ret(IrBuilder *b, IrValue value)
{
  append_args(b, IR_ret, IRT_VOID, &value, value.raw ? 1 : 0);
}

void ir_trap(IrBuilder *b, uint64_t number)
{
  IrInsn insn = {.op = IR_trap, .imm = number};
  append_insn(b, &insn);
}

IrType ir_value_type(const IrModule *m, IrFuncId func, IrValue value)
{
  const IrFunc *f = func_of(m, func);
  if (ir_value_is_none(value) || value.raw >= f->n_insns)
    ICE("no value %u in %s", value.raw, f->name);
  return f->insns[value.raw].type;
}
