/* Random modules for tests: structured control flow with bounded loops, every scalar pure
 * operation, memory through allocas and globals, descriptors and vector operations, calls,
 * visible effects.  Equal seeds give equal modules.  Programs never read what they have not
 * written and never look at addresses, so that optimised and plain runs must agree. */
#ifndef TESTS_IR_RANDOM_H
#define TESTS_IR_RANDOM_H

#include "ir/ir.h"

#include <string.h>

enum {
  RANDOM_GLOBALS = 5, RANDOM_EXPOSED = 3, RANDOM_FUNCS = 3, RANDOM_SLOTS = 6, RANDOM_ELEMENTS = 8,
  RANDOM_MOST_VALUES = 400, RANDOM_DEPTH = 3
};

typedef struct {
  uint64_t state;
  IrModule *m;
  IrBuilder b;
  unsigned n_values;                          /* in scope, oldest first */
  struct { IrValue value; IrType type; } values[RANDOM_MOST_VALUES];
  IrValue scalar[RANDOM_SLOTS];               /* allocas of one number */
  IrType scalar_type[RANDOM_SLOTS];
  IrValue array;                              /* alloca of RANDOM_ELEMENTS i16 */
  IrValue pointers[2];                        /* where pointers to elements 0 stand in memory */
  unsigned budget, n_funcs, n_counters;
  struct { IrValue value; IrType type; } counters[RANDOM_DEPTH];   /* of the loops around */
} Random;

static uint64_t random_bits(Random *r)
{
  r->state += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t z = r->state;
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static unsigned random_below(Random *r, unsigned n)
{
  return (unsigned)(random_bits(r) >> 33) % n;
}

static const IrType random_types[] = {IRT_BOOL, IRT_I8,  IRT_I16, IRT_I16, IRT_I32,
                                      IRT_I64,  IRT_F16, IRT_F32, IRT_I16};

static IrType random_type(Random *r)
{
  return random_types[random_below(r, ARRAY_COUNT(random_types))];
}

static IrType random_number_type(Random *r)
{
  static const IrType types[] = {IRT_I8, IRT_I16, IRT_I16, IRT_I32, IRT_I64};
  return types[random_below(r, ARRAY_COUNT(types))];
}

static IrType random_float_type(Random *r)
{
  return random_below(r, 2) ? IRT_F16 : IRT_F32;
}

/* Numbers near the edges, powers of two, and anything. */
static uint64_t random_number(Random *r, IrType type)
{
  unsigned bits = ir_type_bits(type);
  uint64_t power = UINT64_C(1) << random_below(r, bits);
  switch (random_below(r, 7)) {
  case 0: return random_below(r, 4);
  case 1: return 0 - (uint64_t)random_below(r, 4);
  case 2: return power;
  case 3: return power - 1;
  case 4: return 0 - power;
  case 5: return random_below(r, 100);
  default: return random_bits(r);
  }
}

static uint64_t random_float(Random *r, IrType type)
{
  static const double some[] = {0.0, 1.0, -1.0, 0.5, 2.0, 8.0, -0.25, 3.0, 1e-7, 65504.0, 1e30};
  if (random_below(r, 4) == 0)
    return random_bits(r);
  double d = some[random_below(r, ARRAY_COUNT(some))];
  return type == IRT_F32 ? fp32_from_double(d) : fp16_from_double(r->m->fp16, d);
}

static IrValue random_keep(Random *r, IrValue v, IrType type)
{
  if (r->n_values < RANDOM_MOST_VALUES) {
    r->values[r->n_values].value = v;
    r->values[r->n_values++].type = type;
  }
  return v;
}

/* Some elements of a global; in bounds of the room that a global has. */
static IrValue random_dsd(Random *r)
{
  IrDesc d = {.global = {random_below(r, RANDOM_EXPOSED)}};
  d.desc.kind = DESC_MEM1D;
  d.desc.base = (uint16_t)(2 * random_below(r, 4));
  d.desc.length = (uint16_t)(1 + random_below(r, 4));
  d.desc.stride = 1;
  return random_keep(r, ir_dsd_const(&r->b, d), IRT_DSD);
}

static IrValue random_const(Random *r, IrType type)
{
  if (type == IRT_DSD)
    return random_dsd(r);
  uint64_t bits = ir_type_is_float(type) ? random_float(r, type) : random_number(r, type);
  return random_keep(r, ir_const(&r->b, type, bits), type);
}

/* A value in scope of the type, rather a recent one; else a constant. */
static IrValue random_value(Random *r, IrType type)
{
  if (random_below(r, 5) == 0)
    return random_const(r, type);
  unsigned skip = random_below(r, 6);
  IrValue found = IR_NO_VALUE;
  for (unsigned i = r->n_values; i-- > 0;)
    if (r->values[i].type == type) {
      found = r->values[i].value;
      if (skip-- == 0)
        break;
    }
  return found.raw ? found : random_const(r, type);
}

/* ---- pure operations, by the rules of ops.def -------------------------------------- */

static IrValue random_convert(Random *r, IrOp op, IrType *type)
{
  IrType from = IRT_I16;
  static const IrType integers[] = {IRT_I8, IRT_I16, IRT_I32, IRT_I64};
  unsigned low = random_below(r, 3), high = low + 1 + random_below(r, 3 - low);
  switch ((int)ir_ops[op].operand_rule) {
  case IROPND_TRUNC: from = integers[high]; *type = integers[low]; break;
  case IROPND_EXTEND: from = integers[low]; *type = integers[high]; break;
  case IROPND_ZEXTEND:
    from = random_below(r, 3) ? integers[low] : IRT_BOOL;
    *type = integers[high];
    break;
  case IROPND_TOINT: from = random_float_type(r); *type = random_number_type(r); break;
  case IROPND_TOFLOAT: from = random_number_type(r); *type = random_float_type(r); break;
  case IROPND_FWIDEN: from = IRT_F16; *type = IRT_F32; break;
  case IROPND_FNARROW: from = IRT_F32; *type = IRT_F16; break;
  default:
    from = random_below(r, 2) ? random_float_type(r) : random_below(r, 2) ? IRT_I16 : IRT_I32;
    *type = ir_type_bits(from) == 16 ? (from == IRT_I16 ? IRT_F16 : IRT_I16)
                                     : (from == IRT_I32 ? IRT_F32 : IRT_I32);
  }
  return ir_unary(&r->b, op, *type, random_value(r, from));
}

static IrValue random_two(Random *r, IrOp op, IrType result, IrType a, IrType b)
{
  IrValue x = random_value(r, a), y = random_value(r, b);
  return ir_binary(&r->b, op, result, x, y);
}

/* One instruction of the operation, or none if it is not for scalars. */
static IrValue random_pure(Random *r, IrOp op, IrType *type)
{
  IrType t;
  switch ((int)ir_ops[op].operand_rule) {
  case IROPND_INT2:
    *type = random_number_type(r);
    if ((op == IR_and || op == IR_or || op == IR_xor) && random_below(r, 3) == 0)
      *type = IRT_BOOL;
    return random_two(r, op, *type, *type, *type);
  case IROPND_SHIFT:
    *type = random_number_type(r);
    return random_two(r, op, *type, *type, IRT_I16);
  case IROPND_WORD1:
    *type = IRT_I16;
    return ir_unary(&r->b, op, *type, random_value(r, IRT_I16));
  case IROPND_FLOAT2:
    *type = random_float_type(r);
    return random_two(r, op, *type, *type, *type);
  case IROPND_FLOAT1S:
    *type = random_float_type(r);
    return ir_unary(&r->b, op, *type, random_value(r, *type));
  case IROPND_FSCALE:
    *type = random_float_type(r);
    return random_two(r, op, *type, *type, IRT_I16);
  case IROPND_EQUAL:
    *type = IRT_BOOL;
    t = random_below(r, 4) ? random_number_type(r) : IRT_BOOL;
    return random_two(r, op, IRT_BOOL, t, t);
  case IROPND_ORDER:
    *type = IRT_BOOL;
    t = random_number_type(r);
    return random_two(r, op, IRT_BOOL, t, t);
  case IROPND_FCOMPARE:
    *type = IRT_BOOL;
    t = random_float_type(r);
    return random_two(r, op, IRT_BOOL, t, t);
  case IROPND_SELECT: {
    *type = random_type(r);
    IrValue c = random_value(r, IRT_BOOL), x = random_value(r, *type);
    return ir_select(&r->b, *type, c, x, random_value(r, *type));
  }
  case IROPND_TRUNC:
  case IROPND_EXTEND:
  case IROPND_ZEXTEND:
  case IROPND_TOINT:
  case IROPND_TOFLOAT:
  case IROPND_FWIDEN:
  case IROPND_FNARROW:
  case IROPND_BITCAST: return random_convert(r, op, type);
  default: return IR_NO_VALUE;
  }
}

static void random_operation(Random *r)
{
  for (;;) {
    IrOp op = (IrOp)random_below(r, IR_OP_COUNT);
    IrType type;
    IrValue v = ir_op_is_pure(op) ? random_pure(r, op, &type) : IR_NO_VALUE;
    if (!v.raw)
      continue;
    random_keep(r, v, type);
    return;
  }
}

/* ---- memory, calls, effects -------------------------------------------------------- */

/* The address of one i16 of the array alloca or of a global, by a constant or a masked index. */
static IrValue random_element(Random *r)
{
  IrValue base = random_below(r, 2)
                   ? r->array
                   : ir_global_addr(&r->b, (IrGlobalId){random_below(r, RANDOM_GLOBALS)}, 0);
  IrValue index = random_value(r, IRT_I16);
  index = ir_binary(&r->b, IR_and, IRT_I16, index,
                    ir_const(&r->b, IRT_I16, RANDOM_ELEMENTS - 1));
  index = ir_binary(&r->b, IR_mul, IRT_I16, index, ir_const(&r->b, IRT_I16, 2));
  return ir_binary(&r->b, IR_ptr_add, IRT_PTR, base, index);
}

static bool random_slot(Random *r, IrType type, IrValue *address)
{
  for (unsigned i = 0; i < RANDOM_SLOTS; i++)
    if (r->scalar_type[i] == type) {
      *address = r->scalar[i];
      return true;
    }
  return false;
}

static void random_access(Random *r)
{
  IrValue at;
  IrType type = random_type(r);
  switch (random_below(r, 6)) {
  case 0:
  case 1:
    if (random_slot(r, type, &at))
      random_keep(r, ir_load(&r->b, type, at), type);
    break;
  case 2:
    if (random_slot(r, type, &at))
      ir_store(&r->b, at, random_value(r, type));
    break;
  case 3: random_keep(r, ir_load(&r->b, IRT_I16, random_element(r)), IRT_I16); break;
  case 4: at = random_element(r); ir_store(&r->b, at, random_value(r, IRT_I16)); break;
  default: {
    IrGlobalId g = {random_below(r, RANDOM_GLOBALS)};
    int64_t offset = 2 * random_below(r, RANDOM_ELEMENTS);
    at = ir_global_addr(&r->b, g, offset);
    if (random_below(r, 2))
      ir_store(&r->b, at, random_value(r, IRT_I16));
    else
      random_keep(r, ir_load(&r->b, IRT_I16, at), IRT_I16);
  }
  }
}

/* What strength reduction looks for: an element by a loop's counter, a multiple of the counter. */
static void random_counted(Random *r)
{
  if (r->n_counters == 0)
    return;
  unsigned which = random_below(r, r->n_counters);
  IrType type = r->counters[which].type;
  IrValue i = r->counters[which].value;
  if (random_below(r, 2)) {
    IrValue v = ir_binary(&r->b, IR_mul, type, i, random_value(r, type));
    random_keep(r, v, type);
    return;
  }
  if (type != IRT_I16)
    i = ir_unary(&r->b, IR_trunc, IRT_I16, i);
  if (random_below(r, 2))
    i = ir_binary(&r->b, IR_add, IRT_I16, i, ir_const(&r->b, IRT_I16, random_below(r, 3)));
  bool shifted = random_below(r, 2);
  i = ir_binary(&r->b, shifted ? IR_shl : IR_mul, IRT_I16, i,
                ir_const(&r->b, IRT_I16, shifted ? 1 : 2));
  IrValue at = ir_binary(&r->b, IR_ptr_add, IRT_PTR, r->array, i);
  if (random_below(r, 2))
    ir_store(&r->b, at, random_value(r, IRT_I16));
  else
    random_keep(r, ir_load(&r->b, IRT_I16, at), IRT_I16);
}

/* Sets a pointer that stands in memory, or goes through one. */
static void random_pointer(Random *r)
{
  IrValue where = r->pointers[random_below(r, 2)], p;
  IrGlobalId g = {random_below(r, RANDOM_EXPOSED)};
  switch (random_below(r, 4)) {
  case 0:
    p = random_below(r, 2) ? r->array : ir_global_addr(&r->b, g, 0);
    ir_store(&r->b, where, p);
    break;
  case 1:
    p = ir_select(&r->b, IRT_PTR, random_value(r, IRT_BOOL), r->array,
                  ir_global_addr(&r->b, g, 0));
    ir_store(&r->b, p, random_value(r, IRT_I16));
    break;
  case 2: {
    /* The same place, directly before and after. */
    unsigned offset = 2 * random_below(r, RANDOM_ELEMENTS);
    IrValue direct = ir_global_addr(&r->b, g, offset);
    random_keep(r, ir_load(&r->b, IRT_I16, direct), IRT_I16);
    p = ir_load(&r->b, IRT_PTR, where);
    p = ir_binary(&r->b, IR_ptr_add, IRT_PTR, p, ir_const(&r->b, IRT_I16, offset));
    ir_store(&r->b, p, random_value(r, IRT_I16));
    random_keep(r, ir_load(&r->b, IRT_I16, direct), IRT_I16);
    break;
  }
  default:
    p = ir_load(&r->b, IRT_PTR, where);
    p = ir_binary(&r->b, IR_ptr_add, IRT_PTR, p,
                  ir_const(&r->b, IRT_I16, 2 * random_below(r, RANDOM_ELEMENTS)));
    random_keep(r, ir_load(&r->b, IRT_I16, p), IRT_I16);
  }
}

/* A changed descriptor: shorter, or a little further on. */
static IrValue random_changed_dsd(Random *r)
{
  IrValue dsd = random_value(r, IRT_DSD), v;
  switch (random_below(r, 4)) {
  case 0:
    v = ir_binary(&r->b, IR_and, IRT_I16, random_value(r, IRT_I16), ir_const(&r->b, IRT_I16, 3));
    return random_keep(r, ir_dsd_set(&r->b, dsd, DSRF_LENGTH, v), IRT_DSD);
  case 1:
    v = ir_const(&r->b, IRT_I16, 2 * random_below(r, 2));
    return random_keep(r, ir_dsd_set(&r->b, dsd, DSRF_BASE_ADD, v), IRT_DSD);
  case 2: return ir_dsd_set(&r->b, dsd, DSRF_BASE, r->array);   /* not kept: it must not move */
  default:
    random_keep(r, ir_dsd_get(&r->b, dsd, DSRF_LENGTH), IRT_I16);
    return dsd;
  }
}

/* At most 4 elements, from a place in a global's room or from the array's first. */
static IrValue random_safe_dsd(Random *r)
{
  return random_below(r, 2) ? random_value(r, IRT_DSD) : random_changed_dsd(r);
}

static IrVecOperand random_operand(Random *r, IrValue *args, uint32_t *n, bool is_dest)
{
  IrVecOperand o = {.kind = IRV_DSD, .arg = *n};
  IrValue slot;
  if (random_below(r, 3) == 0) {
    o.kind = is_dest ? IRV_POINTER : IRV_SCALAR;
    IrGlobalId g = {random_below(r, RANDOM_EXPOSED)};
    slot = is_dest ? ir_global_addr(&r->b, g, 2) : random_value(r, IRT_I16);
  } else {
    slot = random_safe_dsd(r);
  }
  args[(*n)++] = slot;
  return o;
}

static void random_vec(Random *r)
{
  IrValue args[3];
  uint32_t n = 0;
  IrVec vec = {.op = random_below(r, 2) ? VEC_mov16 : VEC_add16,
               .scalar = IR_NO_ID, .index = IR_NO_ID};
  vec.dest = random_operand(r, args, &n, true);
  if (vec.op == VEC_add16)
    vec.src0 = random_operand(r, args, &n, false);
  vec.src1 = random_operand(r, args, &n, false);
  random_keep(r, ir_vec(&r->b, &vec, args, n), IRT_BOOL);
}

static void random_block_access(Random *r)
{
  IrGlobalId g = {random_below(r, RANDOM_GLOBALS)};
  IrValue global = ir_global_addr(&r->b, g, 0);
  switch (random_below(r, 3)) {
  case 0: ir_copy(&r->b, global, r->array, 2 * RANDOM_ELEMENTS); break;
  case 1: ir_copy(&r->b, r->array, global, 2 * RANDOM_ELEMENTS); break;
  default: ir_zero(&r->b, random_below(r, 2) ? global : r->array, RANDOM_ELEMENTS); break;
  }
}

static void random_call(Random *r)
{
  if (r->n_funcs == 0)
    return;
  IrFuncId callee = {random_below(r, r->n_funcs)};
  IrValue args[4];
  const IrFunc *f = &r->m->funcs[callee.raw];
  uint32_t n = f->n_params;
  for (uint32_t i = 0; i < n; i++) {
    IrType type = r->m->funcs[callee.raw].params[i];
    args[i] = type == IRT_PTR ? r->array : random_value(r, type);
  }
  IrType result = r->m->funcs[callee.raw].result;
  IrValue v = ir_call(&r->b, callee, args, n);
  if (result != IRT_VOID)
    random_keep(r, v, result);
}

static void random_effect(Random *r)
{
  IrValue args[2] = {random_value(r, IRT_I16), IR_NO_VALUE};
  args[1] = random_value(r, IRT_I16);
  if (random_below(r, 2))
    ir_machine_op(&r->b, IR_activate, IRT_VOID, 0, 0, args, 1);
  else
    ir_machine_op(&r->b, IR_set_config, IRT_VOID, 0, 0, args, 2);
}

/* ---- control flow ------------------------------------------------------------------ */

static void random_statements(Random *r, unsigned depth);

static void random_if(Random *r, unsigned depth)
{
  IrBuilder *b = &r->b;
  IrBlockId yes = ir_block_add(r->m, b->func), no = ir_block_add(r->m, b->func);
  IrBlockId join = ir_block_add(r->m, b->func);
  IrType type = random_type(r);
  IrValue param = ir_block_param(r->m, b->func, join, type);
  unsigned scope = r->n_values;
  ir_cond_br(b, random_value(r, IRT_BOOL), yes, NULL, 0, no, NULL, 0);
  for (int side = 0; side < 2; side++) {
    b->block = side ? no : yes;
    random_statements(r, depth);
    IrValue v = random_value(r, type);
    r->n_values = scope;
    if (random_below(r, 24) == 0)
      ir_trap(b, 1 + random_below(r, 3));
    else
      ir_br(b, join, &v, 1);
  }
  b->block = join;
  random_keep(r, param, type);
}

/* A loop that counts, in a parameter or in an alloca, and carries one more value around. */
static void random_loop(Random *r, unsigned depth)
{
  static const IrType counter_types[] = {IRT_I16, IRT_I16, IRT_I32, IRT_I64};
  IrBuilder *b = &r->b;
  IrType type = random_type(r), counts = counter_types[random_below(r, 4)];
  bool in_memory = random_below(r, 2);
  IrValue counter = in_memory ? ir_alloca(b, 8, 4) : IR_NO_VALUE;
  IrBlockId head = ir_block_add(r->m, b->func), body = ir_block_add(r->m, b->func);
  IrBlockId done = ir_block_add(r->m, b->func);
  IrValue carried = ir_block_param(r->m, b->func, head, type), i = IR_NO_VALUE;
  IrValue column = ir_block_param(r->m, b->func, head, IRT_DSD);
  IrValue args[3] = {random_value(r, type), random_dsd(r), ir_const(b, counts, 0)};
  if (in_memory)
    ir_store(b, counter, args[2]);
  else
    i = ir_block_param(r->m, b->func, head, counts);
  ir_br(b, head, args, in_memory ? 2 : 3);
  b->block = head;
  if (in_memory)
    i = ir_load(b, counts, counter);
  random_keep(r, carried, type);
  random_keep(r, column, IRT_DSD);
  random_keep(r, i, counts);
  IrValue more = ir_binary(b, IR_slt, IRT_BOOL, i, ir_const(b, counts, random_below(r, 6)));
  ir_cond_br(b, more, body, NULL, 0, done, NULL, 0);
  unsigned scope = r->n_values;
  b->block = body;
  r->counters[r->n_counters].value = i;
  r->counters[r->n_counters++].type = counts;
  random_statements(r, depth);
  r->n_counters--;
  args[0] = random_value(r, type);
  args[1] = ir_dsd_set(b, column, DSRF_BASE_ADD, ir_const(b, IRT_I16, 2));
  args[2] = ir_binary(b, IR_add, counts, i, ir_const(b, counts, 1));
  if (in_memory)
    ir_store(b, counter, args[2]);
  ir_br(b, head, args, in_memory ? 2 : 3);
  r->n_values = scope;
  b->block = done;
}

static void random_statements(Random *r, unsigned depth)
{
  unsigned n = 2 + random_below(r, 6);
  while (n-- > 0 && r->budget > 0) {
    unsigned kind = random_below(r, 20);
    r->budget--;
    if (kind < 11)
      random_operation(r);
    else if (kind < 13)
      random_access(r);
    else if (kind == 13)
      random_pointer(r);
    else if (kind == 14)
      random_counted(r);
    else if (kind == 15 && random_below(r, 3) == 0)
      random_block_access(r);
    else if (kind == 15)
      random_vec(r);
    else if (kind == 16)
      random_effect(r);
    else if (kind == 17)
      random_call(r);
    else if (depth > 0 && kind == 18)
      random_loop(r, depth - 1);
    else if (depth > 0)
      random_if(r, depth - 1);
  }
}

/* ---- functions --------------------------------------------------------------------- */

static void random_function(Random *r, const char *name, bool takes_array)
{
  IrType params[3] = {random_type(r), random_type(r), takes_array ? IRT_PTR : random_type(r)};
  IrType result = random_below(r, 5) ? random_type(r) : IRT_VOID;
  IrFuncId f = ir_func_add(r->m, name, result, params, 3);
  r->b = (IrBuilder){.module = r->m, .func = f};
  r->n_values = 0;
  r->m->funcs[f.raw].inlining = (IrInlining)random_below(r, 3);
  for (unsigned i = 0; i < 3; i++)
    if (params[i] != IRT_PTR)
      random_keep(r, r->m->funcs[f.raw].blocks[0].params[i], params[i]);
  for (unsigned i = 0; i < RANDOM_SLOTS; i++) {
    r->scalar_type[i] = random_type(r);
    r->scalar[i] = ir_alloca(&r->b, ir_type_bytes(r->scalar_type[i]), 4);
  }
  r->array = ir_alloca(&r->b, 2 * RANDOM_ELEMENTS, 2);
  for (unsigned i = 0; i < RANDOM_SLOTS; i++) {
    if (random_below(r, 2))
      ir_zero(&r->b, r->scalar[i], ir_type_bytes(r->scalar_type[i]));
    else
      ir_store(&r->b, r->scalar[i], random_value(r, r->scalar_type[i]));
  }
  ir_zero(&r->b, r->array, 2 * RANDOM_ELEMENTS);
  r->pointers[0] = ir_alloca(&r->b, 2, 2);
  r->pointers[1] = ir_alloca(&r->b, 4, 2);      /* not at its start: it stays in memory */
  r->pointers[1] = ir_binary(&r->b, IR_ptr_add, IRT_PTR, r->pointers[1],
                             ir_const(&r->b, IRT_I16, 2));
  for (unsigned i = 0; i < 2; i++) {
    /* Where it points to is not known at compile time. */
    IrValue g = ir_global_addr(&r->b, (IrGlobalId){random_below(r, RANDOM_EXPOSED)}, 0);
    IrValue p = ir_select(&r->b, IRT_PTR, random_value(r, IRT_BOOL), r->array, g);
    ir_store(&r->b, r->pointers[i], random_below(r, 3) ? p : r->array);
  }
  if (takes_array && random_below(r, 2))
    r->array = r->m->funcs[f.raw].blocks[0].params[2];
  r->budget = 60;
  while (r->budget > 0)
    random_statements(r, RANDOM_DEPTH);
  ir_ret(&r->b, result == IRT_VOID ? IR_NO_VALUE : random_value(r, result));
  r->n_funcs++;
}

static IrModule *random_module(Arena *arena, uint64_t seed)
{
  static const char *const globals[RANDOM_GLOBALS] = {"g0", "g1", "g2", "g3", "g4"};
  static const char *const funcs[RANDOM_FUNCS] = {"leaf", "middle", "main"};
  Random *r = arena_new(arena, Random);
  r->state = seed;
  r->m = ir_module_create(arena, ARCH_WSE3, (Fp16Format)random_below(r, FP16_COUNT));
  for (unsigned i = 0; i < RANDOM_GLOBALS; i++) {
    IrGlobalId g = ir_global_add(r->m, globals[i], 2 * RANDOM_ELEMENTS, 2);
    if (random_below(r, 2)) {
      r->m->globals[g.raw].init = arena_alloc(arena, 2 * RANDOM_ELEMENTS, 1);
      for (unsigned k = 0; k < 2 * RANDOM_ELEMENTS; k++)
        r->m->globals[g.raw].init[k] = (uint8_t)random_bits(r);
    }
  }
  for (unsigned i = 0; i < RANDOM_FUNCS; i++)
    random_function(r, funcs[i], i + 1 < RANDOM_FUNCS);
  r->m->funcs[RANDOM_FUNCS - 1].address_taken = true;
  return r->m;
}

#endif
