/* evaluate: a call whose arguments are constants becomes its result when the callee only computes.
 *
 * The pass interprets the callee: pure operations, branches, its own allocas, constant global data
 * and further calls of that kind.  A callee that touches anything else (the fabric, tasks,
 * variables of the module, memory that it has not written) keeps its call, and so does one that
 * takes too many steps, nests too deeply or needs too much memory. */
#include "ir/opt/opt.h"

#include <string.h>

enum { MOST_STEPS = 20000, MOST_DEPTH = 16, MOST_OBJECTS = 64, MOST_OBJECT_BYTES = 1024 };

/* A value at run time of the interpreter: a number, or an address as object and byte offset. */
typedef enum { CELL_UNKNOWN, CELL_NUMBER, CELL_LOCAL, CELL_GLOBAL } CellKind;
typedef struct {
  CellKind kind;
  uint32_t object;           /* local: of CallRun.objects; global: IrGlobalId.raw */
  uint64_t bits;             /* number, or offset in bytes (16 bits, wraps) */
} RunValue;

/* An alloca of an interpreted function. */
typedef struct {
  uint64_t bytes;
  uint8_t *data;
  bool *is_written;          /* by byte */
} LocalObject;

typedef struct {
  Opt *opt;
  uint32_t steps, depth, n_objects;
  LocalObject objects[MOST_OBJECTS];
} CallRun;

/* One activation of an interpreted function; cells are by value. */
typedef struct { CallRun *e; const IrFunc *f; RunValue *cells; } CallFrame;

static bool run_function(CallRun *e, const IrFunc *f, const RunValue *args, RunValue *result);

/* ---- memory ------------------------------------------------------------------------ */

/* The bytes of a local object at an address, or NULL if they are not all its own. */
static LocalObject *find_local(CallRun *e, RunValue at, uint64_t bytes)
{
  if (at.kind != CELL_LOCAL)
    return NULL;
  LocalObject *o = &e->objects[at.object];
  return at.bits + bytes <= o->bytes ? o : NULL;
}

static bool read_local(CallRun *e, RunValue at, unsigned bytes, uint64_t *bits)
{
  const LocalObject *o = find_local(e, at, bytes);
  *bits = 0;
  for (unsigned i = bytes; o && i-- > 0;) {
    if (!o->is_written[at.bits + i])
      return false;
    *bits = *bits << 8 | o->data[at.bits + i];
  }
  return o != NULL;
}

static bool write_local(CallRun *e, RunValue at, unsigned bytes, uint64_t bits)
{
  LocalObject *o = find_local(e, at, bytes);
  for (unsigned i = 0; o && i < bytes; i++) {
    o->data[at.bits + i] = (uint8_t)(bits >> 8 * i);
    o->is_written[at.bits + i] = true;
  }
  return o != NULL;
}

static bool read_memory(CallRun *e, RunValue at, unsigned bytes, uint64_t *bits)
{
  if (at.kind == CELL_GLOBAL)
    return opt_constant_data(e->opt->m, at.object, (int64_t)at.bits, bytes, bits);
  return read_local(e, at, bytes, bits);
}

static bool copy_memory(CallRun *e, RunValue to, RunValue from, uint64_t bytes)
{
  for (uint64_t i = 0; i < bytes; i++) {
    RunValue a = from, b = to;
    uint64_t byte;
    a.bits += i;
    b.bits += i;
    if (!read_memory(e, a, 1, &byte) || !write_local(e, b, 1, byte))
      return false;
  }
  return true;
}

static bool clear_memory(CallRun *e, RunValue to, uint64_t bytes)
{
  for (uint64_t i = 0; i < bytes; i++) {
    RunValue at = to;
    at.bits += i;
    if (!write_local(e, at, 1, 0))
      return false;
  }
  return true;
}

static bool make_local(CallFrame *w, const IrInsn *insn, RunValue *out)
{
  CallRun *e = w->e;
  if (e->n_objects == MOST_OBJECTS || insn->imm > MOST_OBJECT_BYTES)
    return false;
  LocalObject *o = &e->objects[e->n_objects];
  *o = (LocalObject){.bytes = insn->imm,
                     .data = arena_many(e->opt->arena, uint8_t, insn->imm),
                     .is_written = arena_many(e->opt->arena, bool, insn->imm)};
  *out = (RunValue){.kind = CELL_LOCAL, .object = e->n_objects++};
  return true;
}

/* ---- instructions ------------------------------------------------------------------ */

static RunValue cell_of(const CallFrame *w, IrValue v)
{
  return w->cells[v.raw];
}

static bool fold_pure(CallFrame *w, const IrInsn *insn, RunValue *out)
{
  uint64_t args[3];
  if (insn->n_args == 0 || insn->n_args > ARRAY_COUNT(args))
    return false;
  for (uint32_t i = 0; i < insn->n_args; i++) {
    RunValue c = cell_of(w, insn->args[i]);
    if (c.kind != CELL_NUMBER)
      return false;
    args[i] = c.bits;
  }
  out->kind = CELL_NUMBER;
  return ir_fold(w->e->opt->m, insn->op, insn->type, opt_insn(w->f, insn->args[0])->type, args,
                 insn->n_args, &out->bits);
}

static bool add_to_address(const CallFrame *w, const IrInsn *insn, RunValue *out)
{
  RunValue by = cell_of(w, insn->args[1]);
  *out = cell_of(w, insn->args[0]);
  out->bits = (out->bits + by.bits) & opt_mask(IRT_PTR);
  return by.kind == CELL_NUMBER && (out->kind == CELL_LOCAL || out->kind == CELL_GLOBAL);
}

static bool load_number(CallFrame *w, const IrInsn *insn, RunValue *out)
{
  out->kind = CELL_NUMBER;
  return ir_type_bits(insn->type) && insn->type != IRT_PTR &&
         read_memory(w->e, cell_of(w, insn->args[0]), ir_type_bytes(insn->type), &out->bits);
}

static bool store_number(CallFrame *w, const IrInsn *insn)
{
  RunValue value = cell_of(w, insn->args[1]);
  return value.kind == CELL_NUMBER &&
         write_local(w->e, cell_of(w, insn->args[0]),
                     ir_type_bytes(opt_insn(w->f, insn->args[1])->type), value.bits);
}

static bool call_function(CallFrame *w, const IrInsn *insn, RunValue *out)
{
  Arena *arena = w->e->opt->arena;
  RunValue *args = arena_many(arena, RunValue, insn->n_args);
  for (uint32_t i = 0; i < insn->n_args; i++)
    args[i] = cell_of(w, insn->args[i]);
  return run_function(w->e, &w->e->opt->m->funcs[insn->u.func.raw], args, out);
}

/* Carries out an instruction that is no terminator; false: the callee does more than compute. */
static bool run_insn(CallFrame *w, const IrInsn *insn, RunValue *out)
{
  *out = (RunValue){.kind = CELL_UNKNOWN};
  switch ((int)insn->op) {
  case IR_const:
    *out = (RunValue){.kind = CELL_NUMBER, .bits = insn->imm};
    return true;
  case IR_global_addr:
    *out = (RunValue){.kind = CELL_GLOBAL, .object = insn->u.global.raw,
                  .bits = insn->imm & opt_mask(IRT_PTR)};
    return true;
  case IR_alloca: return make_local(w, insn, out);
  case IR_ptr_add: return add_to_address(w, insn, out);
  case IR_select: {
    RunValue cond = cell_of(w, insn->args[0]);
    *out = cell_of(w, insn->args[cond.bits ? 1 : 2]);
    return cond.kind == CELL_NUMBER && out->kind != CELL_UNKNOWN;
  }
  case IR_load: return load_number(w, insn, out);
  case IR_store: return store_number(w, insn);
  case IR_copy:
    return copy_memory(w->e, cell_of(w, insn->args[0]), cell_of(w, insn->args[1]), insn->imm);
  case IR_zero: return clear_memory(w->e, cell_of(w, insn->args[0]), insn->imm);
  case IR_call: return call_function(w, insn, out);
  default: return ir_op_is_pure(insn->op) && fold_pure(w, insn, out);
  }
}

/* ---- control flow ------------------------------------------------------------------ */

/* Parameters of a block take their values all at once. */
static void enter_block(CallFrame *w, const IrTarget *t)
{
  const IrBlock *to = &w->f->blocks[t->block.raw];
  RunValue *given = arena_many(w->e->opt->arena, RunValue, t->n_args);
  for (uint32_t i = 0; i < t->n_args; i++)
    given[i] = cell_of(w, t->args[i]);
  for (uint32_t i = 0; i < t->n_args; i++)
    w->cells[to->params[i].raw] = given[i];
}

/* Runs one block; the block that follows is in *next, IR_NO_ID after a return. */
static bool run_block(CallFrame *w, uint32_t block, uint32_t *next, RunValue *result)
{
  const IrBlock *b = &w->f->blocks[block];
  for (uint32_t i = 0; i + 1 < b->n_insns; i++) {
    const IrInsn *insn = opt_insn(w->f, b->insns[i]);
    if (++w->e->steps > MOST_STEPS || !run_insn(w, insn, &w->cells[b->insns[i].raw]))
      return false;
  }
  if (++w->e->steps > MOST_STEPS)
    return false;
  const IrInsn *last = opt_terminator(w->f, block);
  *next = IR_NO_ID;
  if (last->op == IR_ret) {
    if (last->n_args)
      *result = cell_of(w, last->args[0]);
    return true;
  }
  if (last->op != IR_br && last->op != IR_cond_br)
    return false;
  const IrTarget *target = last->u.targets;
  if (last->op == IR_cond_br) {
    RunValue cond = cell_of(w, last->args[0]);
    if (cond.kind != CELL_NUMBER)
      return false;
    target += cond.bits ? 0 : 1;
  }
  enter_block(w, target);
  *next = target->block.raw;
  return true;
}

/* The function's result for these arguments; false if it cannot be had at compile time. */
static bool run_function(CallRun *e, const IrFunc *f, const RunValue *args, RunValue *result)
{
  *result = (RunValue){.kind = CELL_UNKNOWN};
  if (f->is_task || f->inlining == IR_INLINING_NEVER || e->depth == MOST_DEPTH)
    return false;
  e->depth++;
  CallFrame w = {.e = e, .f = f, .cells = arena_many(e->opt->arena, RunValue, f->n_insns)};
  for (uint32_t i = 0; i < f->n_params; i++)
    w.cells[f->blocks[0].params[i].raw] = args[i];
  uint32_t block = 0;
  bool goes_on = true;
  while (goes_on && block != IR_NO_ID)
    goes_on = run_block(&w, block, &block, result);
  e->depth--;
  return goes_on;
}

/* ---- calls ------------------------------------------------------------------------- */

static bool evaluate_call(Opt *opt, const IrFunc *f, IrInsn *call)
{
  CallRun e = {.opt = opt};
  RunValue *args = arena_many(opt->arena, RunValue, call->n_args);
  RunValue result;
  if (!ir_type_bits(call->type) || call->type == IRT_PTR)
    return false;
  for (uint32_t i = 0; i < call->n_args; i++) {
    const IrInsn *arg = opt_insn(f, call->args[i]);
    if (arg->op != IR_const)
      return false;
    args[i] = (RunValue){.kind = CELL_NUMBER, .bits = arg->imm};
  }
  if (!run_function(&e, &opt->m->funcs[call->u.func.raw], args, &result) ||
      result.kind != CELL_NUMBER)
    return false;
  *call = opt_make_const(call->type, result.bits, call->loc);
  return true;
}

bool pass_evaluate(Opt *opt, IrFunc *f)
{
  bool changed = false;
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++) {
      IrInsn *insn = opt_insn(f, f->blocks[b].insns[i]);
      if (insn->op == IR_call && evaluate_call(opt, f, insn))
        changed = true;
    }
  return changed;
}
