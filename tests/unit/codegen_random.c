/* Property of the code generator: a random program computes, compiled and run on the reference
 * engine, what a plain interpreter of the IR computes.
 *
 * Programs have loops, diamonds, block arguments of all types, calls with many arguments, stack
 * memory, descriptors as values, vector operations and more values alive than there are registers.
 * One in four is compiled as it is, the others after the optimiser's levels.  A third of the
 * programs have the shapes of codegen_shapes.h, too.  WSE_SEED and WSE_COUNT choose other
 * programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stb_ds.h>

#include "tests/codegen_harness.h"

/* ---- random numbers ------------------------------------------------------------------------- */

typedef struct { uint64_t state; } Rng;

static uint64_t rng_next(Rng *r)
{
  r->state = r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  uint64_t x = r->state;
  return (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 16;
}

static unsigned rng_below(Rng *r, unsigned n) { return (unsigned)(rng_next(r) % n); }

/* ---- generator ------------------------------------------------------------------------------ */

enum { MOST_VALUES = 400, FUNCS = 4, MEM_BYTES = 64, OUT_BYTES = 256, STACK_BYTES = 32 };
/* Vector operations work on the middle of a larger array; descriptors also live in variables. */
enum { ARRAY_BYTES = 16384, FIRST_BYTES = 8192, VARIABLES = 3, DSD_BYTES = 16, EXPLICIT_DSRS = 4 };
enum { CELL_BYTES = 32 };

static const IrType scalar_types[] = {IRT_BOOL, IRT_I8, IRT_I16, IRT_I16, IRT_I16, IRT_I32,
                                      IRT_I32, IRT_I64, IRT_F16, IRT_F32};
/* of block arguments and parameters */
static const IrType all_types[] = {IRT_BOOL, IRT_I8, IRT_I16, IRT_I16, IRT_I16, IRT_I32, IRT_I32,
                                   IRT_I64, IRT_F16, IRT_F32, IRT_DSD, IRT_DSD};

typedef struct {
  Rng rng;
  IrModule *m;
  IrBuilder b;
  uint32_t func;
  IrGlobalId mem, out, array, dsds;
  IrGlobalId cells;                /* no pointer and no vector operation comes to them */
  IrValue values[MOST_VALUES];     /* that dominate the place at hand */
  unsigned n_values;
  IrValue stack;                   /* an alloca */
  unsigned budget;                 /* instructions left */
  bool has_shapes;                 /* also those of codegen_shapes.h */
} Gen;

static IrType type_of(const Gen *g, IrValue v) { return ir_value_type(g->m, g->b.func, v); }

static IrType any_type(Gen *g)
{
  return scalar_types[rng_below(&g->rng, ARRAY_COUNT(scalar_types))];
}

static IrType any_argument_type(Gen *g)
{
  return all_types[rng_below(&g->rng, ARRAY_COUNT(all_types))];
}

static IrValue keep(Gen *g, IrValue v)
{
  if (g->n_values < MOST_VALUES)
    g->values[g->n_values++] = v;
  else
    g->values[rng_below(&g->rng, MOST_VALUES)] = v;
  return v;
}

static IrValue dsd_constant(Gen *g)
{
  IrDesc d = {.global = g->array};
  d.desc.kind = DESC_MEM1D;
  d.desc.base = (uint16_t)(FIRST_BYTES + 4 * rng_below(&g->rng, 16));
  d.desc.length = (uint16_t)(1 + rng_below(&g->rng, 9));
  d.desc.stride = (int16_t)(rng_below(&g->rng, 4) ? 1 : (int)rng_below(&g->rng, 7) - 3);
  return ir_dsd_const(&g->b, d);
}

static IrValue constant(Gen *g, IrType type)
{
  if (type == IRT_DSD)
    return dsd_constant(g);
  static const uint64_t odd_ones[] = {0, 1, 2, 3, 15, 16, 31, 32, 63, 127, 128, 255, 0x7fff, 0x8000,
                                      0xffff, 0x7fffffff, 0x80000000, UINT64_MAX,
                                      UINT64_C(0x8000000000000000), 0x3c00, 0x3f800000, 0xc000};
  uint64_t bits = rng_below(&g->rng, 2) ? odd_ones[rng_below(&g->rng, ARRAY_COUNT(odd_ones))]
                                        : rng_next(&g->rng) << 16 ^ rng_next(&g->rng);
  return ir_const(&g->b, type, bits);
}

/* A value of the type: one that is there, mostly one of the last, else a constant. */
static IrValue pick(Gen *g, IrType type)
{
  for (unsigned tries = 0; tries < 12 && g->n_values; tries++) {
    unsigned back = tries < 6 && g->n_values > 12 ? 12 : g->n_values;
    IrValue v = g->values[g->n_values - 1 - rng_below(&g->rng, back)];
    if (type_of(g, v) == type)
      return v;
  }
  return constant(g, type);
}

static IrValue word(Gen *g, uint64_t bits) { return ir_const(&g->b, IRT_I16, bits); }

/* A place of `bytes` bytes in the global or on the stack, aligned; sometimes at a varying index. */
static IrValue place(Gen *g, unsigned bytes)
{
  bool on_stack = g->stack.raw && rng_below(&g->rng, 2);
  unsigned size = on_stack ? STACK_BYTES : MEM_BYTES;
  unsigned slots = size / (bytes > 4 ? 8 : bytes);
  unsigned fixed = rng_below(&g->rng, slots / 2) * (bytes > 4 ? 8 : bytes);
  IrValue base = on_stack ? g->stack : ir_global_addr(&g->b, g->mem, 0);
  if (rng_below(&g->rng, 2))
    return ir_binary(&g->b, IR_ptr_add, IRT_PTR, base, word(g, fixed));
  unsigned mask = (size / 2 - 1) & ~((bytes > 4 ? 8u : bytes) - 1);
  IrValue index = ir_binary(&g->b, IR_and, IRT_I16, pick(g, IRT_I16), word(g, mask));
  IrValue at = ir_binary(&g->b, IR_add, IRT_I16, index, word(g, fixed));
  return ir_binary(&g->b, IR_ptr_add, IRT_PTR, base, at);
}

static bool is_int(IrType t) { return t == IRT_I8 || t == IRT_I16 || t == IRT_I32 || t == IRT_I64; }

static IrValue int_op(Gen *g, IrType type)
{
  static const IrOp ops[] = {IR_add, IR_sub, IR_mul, IR_and, IR_or, IR_xor, IR_shl, IR_lshr,
                             IR_ashr, IR_add, IR_sub, IR_xor, IR_sdiv, IR_udiv, IR_srem, IR_urem};
  IrOp op = ops[rng_below(&g->rng, ARRAY_COUNT(ops))];
  IrValue x = pick(g, type);
  if (op == IR_shl || op == IR_lshr || op == IR_ashr) {
    bool small = rng_below(&g->rng, 4);
    IrValue n = small ? ir_binary(&g->b, IR_and, IRT_I16, pick(g, IRT_I16), word(g, 63))
                      : pick(g, IRT_I16);
    return ir_binary(&g->b, op, type, x, n);
  }
  IrValue y = pick(g, type);
  bool divides = op >= IR_sdiv && op <= IR_urem;
  if (divides && !(g->has_shapes && rng_below(&g->rng, 2)))   /* seldom by zero */
    y = ir_binary(&g->b, IR_or, type, y, ir_const(&g->b, type, 1));
  return ir_binary(&g->b, op, type, x, y);
}

static IrValue compare(Gen *g)
{
  static const IrOp ints[] = {IR_eq, IR_ne, IR_slt, IR_sle, IR_ult, IR_ule};
  static const IrOp floats[] = {IR_feq, IR_flt, IR_fle};
  IrType type = any_type(g);
  IrOp op = type == IRT_BOOL              ? ints[rng_below(&g->rng, 2)]
            : ir_type_is_float(type)      ? floats[rng_below(&g->rng, 3)]
                                          : ints[rng_below(&g->rng, 6)];
  return ir_binary(&g->b, op, IRT_BOOL, pick(g, type), pick(g, type));
}

static IrType int_wider(Gen *g, IrType than)
{
  IrType t = than;
  while (t <= than)
    t = (IrType[]){IRT_I8, IRT_I16, IRT_I32, IRT_I64}[rng_below(&g->rng, 4)];
  return t;
}

static IrType any_int(Gen *g)
{
  return (IrType[]){IRT_I8, IRT_I16, IRT_I32, IRT_I64}[rng_below(&g->rng, 4)];
}

static IrValue make_float(Gen *g, IrType type)
{
  static const IrOp ops[] = {IR_fadd, IR_fsub, IR_fmul, IR_fdiv};
  switch (rng_below(&g->rng, 6)) {
  case 0:
    return ir_unary(&g->b, rng_below(&g->rng, 2) ? IR_sitofp : IR_uitofp, type,
                    pick(g, any_int(g)));
  case 1:
    return type == IRT_F32 ? ir_unary(&g->b, IR_fpext, type, pick(g, IRT_F16))
                           : ir_unary(&g->b, IR_fptrunc, type, pick(g, IRT_F32));
  case 2:
    return ir_unary(&g->b, IR_fneg, type, pick(g, type));
  case 3: {
    IrValue n = ir_binary(&g->b, IR_and, IRT_I16, pick(g, IRT_I16), word(g, 7));
    return ir_binary(&g->b, IR_fscale, type, pick(g, type), n);
  }
  default:
    return ir_binary(&g->b, ops[rng_below(&g->rng, 4)], type, pick(g, type), pick(g, type));
  }
}

static IrValue make_int(Gen *g, IrType type)
{
  switch (rng_below(&g->rng, 10)) {
  case 0:
    if (type != IRT_I64)
      return ir_unary(&g->b, IR_trunc, type, pick(g, int_wider(g, type)));
    return ir_unary(&g->b, IR_sext, type, pick(g, IRT_I32));
  case 1:
    if (type != IRT_I8)
      return ir_unary(&g->b, rng_below(&g->rng, 2) ? IR_sext : IR_zext, type,
                      pick(g, (IrType)(type - 1)));
    return ir_unary(&g->b, IR_zext, type, pick(g, IRT_BOOL));
  case 2:
    if (type == IRT_I16)
      return ir_unary(&g->b, (IrOp[]){IR_clz, IR_ctz, IR_popcnt}[rng_below(&g->rng, 3)], type,
                      pick(g, type));
    return ir_unary(&g->b, IR_zext, type, pick(g, IRT_BOOL));
  case 3:
    return ir_unary(&g->b, rng_below(&g->rng, 2) ? IR_fptosi : IR_fptoui, type,
                    pick(g, rng_below(&g->rng, 2) ? IRT_F16 : IRT_F32));
  case 4:
    if (type == IRT_I32)
      return ir_unary(&g->b, IR_bitcast, type, pick(g, IRT_F32));
    return int_op(g, type);
  default:
    return int_op(g, type);
  }
}

static void random_insn(Gen *g);

static void call_one(Gen *g, uint32_t callee)
{
  IrValue args[16];
  for (uint32_t i = 0; i < g->m->funcs[callee].n_params; i++)
    args[i] = pick(g, g->m->funcs[callee].params[i]);
  IrValue v = ir_call(&g->b, (IrFuncId){callee}, args, g->m->funcs[callee].n_params);
  if (g->m->funcs[callee].result != IRT_VOID)
    keep(g, v);
}

static void call_func(Gen *g)
{
  if (g->func > 0)
    call_one(g, rng_below(&g->rng, g->func));
}

/* ---- descriptors ---------------------------------------------------------------------------- */

static IrValue fixed_variable(Gen *g)
{
  return ir_global_addr(&g->b, g->dsds, DSD_BYTES * rng_below(&g->rng, VARIABLES));
}

/* One of the variables; among the shapes also one that a condition chooses. */
static IrValue variable(Gen *g)
{
  IrValue one = fixed_variable(g);
  if (!g->has_shapes || rng_below(&g->rng, 4))
    return one;
  IrValue other = fixed_variable(g);
  return ir_select(&g->b, IRT_PTR, pick(g, IRT_BOOL), one, other);
}

/* A field and a value for it that keeps the descriptor near the array's middle: changes of base
 * and stride are multiples of 4 bytes and small. */
static IrValue field_value(Gen *g, DsrField *field)
{
  static const DsrField fields[] = {DSRF_LENGTH, DSRF_BASE_ADD, DSRF_STRIDE, DSRF_LENGTH,
                                    DSRF_BASE};
  static const uint16_t masks[DSRF_COUNT] = {
    [DSRF_LENGTH] = 7, [DSRF_BASE_ADD] = 4, [DSRF_STRIDE] = 3, [DSRF_BASE] = 28,
  };
  *field = fields[rng_below(&g->rng, ARRAY_COUNT(fields))];
  bool is_const = rng_below(&g->rng, 2);
  IrValue mask = word(g, masks[*field]);
  IrValue v = is_const ? word(g, rng_next(&g->rng) & masks[*field])
                       : ir_binary(&g->b, IR_and, IRT_I16, pick(g, IRT_I16), mask);
  if (*field == DSRF_LENGTH)   /* never 0, which would ask the next operand */
    return ir_binary(&g->b, IR_or, IRT_I16, v, word(g, 1));
  if (*field != DSRF_BASE)
    return v;
  return ir_binary(&g->b, IR_ptr_add, IRT_PTR, ir_global_addr(&g->b, g->array, FIRST_BYTES), v);
}

static IrValue make_dsd(Gen *g)
{
  DsrField field;
  switch (rng_below(&g->rng, 8)) {
  case 0:
    return dsd_constant(g);
  case 1:
    return ir_load(&g->b, IRT_DSD, variable(g));
  default: {
    IrValue dsd = pick(g, IRT_DSD), value = field_value(g, &field);
    return ir_dsd_set(&g->b, dsd, field, value);
  }
  }
}

static uint32_t add_arg(IrValue *args, uint32_t *n, IrValue v)
{
  args[*n] = v;
  return (*n)++;
}

static IrVecOperand dsd_operand(Gen *g, IrValue *args, uint32_t *n, DsrFile file)
{
  if (rng_below(&g->rng, 6) == 0) {
    uint32_t number = rng_below(&g->rng, EXPLICIT_DSRS);
    number = number & 1 ? IR_VIRTUAL_DSR + number : number;
    ir_dsr_load(&g->b, file, number, pick(g, IRT_DSD));
    if (rng_below(&g->rng, 2)) {
      DsrField field;
      IrValue value = field_value(g, &field);
      if (type_of(g, value) == IRT_I16)
        ir_dsr_set(&g->b, file, number, field, value);
    }
    return (IrVecOperand){.kind = IRV_DSR, .file = file, .number = number};
  }
  /* often what an operation just before has used: its DSR may still hold it */
  IrValue dsd = rng_below(&g->rng, 3) ? pick(g, IRT_DSD) : ir_load(&g->b, IRT_DSD, variable(g));
  return (IrVecOperand){.kind = IRV_DSD, .arg = add_arg(args, n, dsd)};
}

static void random_vec(Gen *g)
{
  static const VecOp ops[] = {VEC_add16, VEC_sub16, VEC_xor16, VEC_mov16, VEC_mov32, VEC_faddh,
                              VEC_fmaxs, VEC_fmach, VEC_fmovs};
  IrVec v = {.op = ops[rng_below(&g->rng, ARRAY_COUNT(ops))], .scalar = IR_NO_ID,
             .index = IR_NO_ID};
  const VecOpInfo *info = &vecops[v.op];
  bool wide = vec_elem_bytes(info->dst) == 4, real = info->dst == VE_F16 || info->dst == VE_F32;
  IrType type = real ? (wide ? IRT_F32 : IRT_F16) : (wide ? IRT_I32 : IRT_I16);
  IrValue args[6];
  uint32_t n = 0;
  bool pointer = (info->kind == VK_MOV || (real && !info->scalar)) && rng_below(&g->rng, 3) == 0;
  if (pointer)
    v.dest = (IrVecOperand){.kind = IRV_POINTER, .arg = add_arg(args, &n, place(g, wide ? 4 : 2))};
  else
    v.dest = dsd_operand(g, args, &n, DSR_DEST);
  bool scalar0 = pointer || (rng_below(&g->rng, 4) == 0 && !info->scalar);
  if (info->sources == 2) {
    if (scalar0)
      v.src0 = (IrVecOperand){.kind = IRV_SCALAR, .arg = add_arg(args, &n, pick(g, type))};
    else if (!pointer && v.dest.kind == IRV_DSD && rng_below(&g->rng, 3) == 0)
      v.src0 = v.dest;
    else
      v.src0 = dsd_operand(g, args, &n, DSR_SRC0);
  }
  v.src1 = dsd_operand(g, args, &n, DSR_SRC1);
  if (info->scalar)
    v.scalar = add_arg(args, &n, pick(g, type));
  IrValue done = ir_vec(&g->b, &v, args, n);
  if (rng_below(&g->rng, 4) == 0)
    keep(g, done);
}

static void dsd_insn(Gen *g)
{
  switch (rng_below(&g->rng, 6)) {
  case 0:
    ir_store(&g->b, variable(g), pick(g, IRT_DSD));
    break;
  case 1: {
    DsrField field = (DsrField[]){DSRF_LENGTH, DSRF_STRIDE, DSRF_FLAGS}[rng_below(&g->rng, 3)];
    keep(g, ir_dsd_get(&g->b, pick(g, IRT_DSD), field));
    break;
  }
  case 2: {   /* the usual way to move a variable on: in place */
    IrValue at = variable(g);
    DsrField field;
    IrValue old = ir_load(&g->b, IRT_DSD, at), value = field_value(g, &field);
    ir_store(&g->b, at, ir_dsd_set(&g->b, old, field, value));
    break;
  }
  case 3:
    keep(g, make_dsd(g));
    break;
  default:
    random_vec(g);
  }
}

static void random_insn(Gen *g)
{
  IrType type = any_type(g);
  if (g->budget)
    g->budget--;
  if (rng_below(&g->rng, 5) == 0) {
    dsd_insn(g);
    return;
  }
  switch (rng_below(&g->rng, 14)) {
  case 0:
    ir_store(&g->b, place(g, ir_type_bytes(type)), pick(g, type));
    break;
  case 1:
    if (type != IRT_BOOL)   /* memory may hold other bytes than 0 and 1 */
      keep(g, ir_load(&g->b, type, place(g, ir_type_bytes(type))));
    break;
  case 2:
    type = rng_below(&g->rng, 4) ? type : IRT_DSD;
    keep(g, ir_select(&g->b, type, pick(g, IRT_BOOL), pick(g, type), pick(g, type)));
    break;
  case 3:
    if (rng_below(&g->rng, 3) == 0)
      call_func(g);
    break;
  case 4: case 5:
    keep(g, compare(g));
    break;
  case 6: {
    if (rng_below(&g->rng, 4) || !g->stack.raw)
      break;
    IrValue from = ir_global_addr(&g->b, g->mem, 2 * rng_below(&g->rng, 8));
    ir_copy(&g->b, g->stack, from, 1 + rng_below(&g->rng, STACK_BYTES));
    break;
  }
  default:
    if (is_int(type))
      keep(g, make_int(g, type));
    else if (type == IRT_BOOL)
      keep(g, ir_binary(&g->b, (IrOp[]){IR_and, IR_or, IR_xor}[rng_below(&g->rng, 3)], type,
                        pick(g, type), pick(g, type)));
    else
      keep(g, make_float(g, type));
  }
}

static void random_code(Gen *g, unsigned depth);

static IrBlockId new_block(Gen *g) { return ir_block_add(g->m, g->b.func); }

static IrValue new_param(Gen *g, IrBlockId block, IrType type)
{
  return ir_block_param(g->m, g->b.func, block, type);
}

/* Both sides hand values on to where they meet. */
static void diamond(Gen *g, unsigned depth)
{
  IrBlockId yes = new_block(g), no = new_block(g), meet = new_block(g);
  IrType types[5];
  unsigned n = rng_below(&g->rng, 6), before = g->n_values;
  for (unsigned i = 0; i < n; i++)
    types[i] = any_argument_type(g);
  IrValue cond = pick(g, IRT_BOOL);
  bool short_cut = rng_below(&g->rng, 2);
  IrValue args[5];
  for (unsigned i = 0; i < n; i++)
    args[i] = pick(g, types[i]);
  if (short_cut)
    ir_cond_br(&g->b, cond, meet, args, n, no, NULL, 0);
  else
    ir_cond_br(&g->b, cond, yes, NULL, 0, no, NULL, 0);
  for (unsigned side = short_cut ? 1 : 0; side < 2; side++) {
    g->b.block = side ? no : yes;
    g->n_values = before;
    random_code(g, depth + 1);
    for (unsigned i = 0; i < n; i++)
      args[i] = pick(g, types[i]);
    ir_br(&g->b, meet, args, n);
  }
  if (short_cut) {   /* the unused block must not stay empty */
    g->b.block = yes;
    ir_trap(&g->b, 1);
  }
  g->b.block = meet;
  g->n_values = before;
  for (unsigned i = 0; i < n; i++)
    keep(g, new_param(g, meet, types[i]));
}

/* Some turns with values that go round, perhaps changing places. */
static void loop(Gen *g, unsigned depth)
{
  IrBlockId head = new_block(g), body = new_block(g), after = new_block(g);
  IrType types[6];
  IrValue args[7], params[7];
  unsigned n = rng_below(&g->rng, 6), turns = 1 + rng_below(&g->rng, 4);
  bool at_end = rng_below(&g->rng, 2);
  for (unsigned i = 0; i < n; i++) {
    types[i] = any_argument_type(g);
    args[i + 1] = pick(g, types[i]);
  }
  args[0] = word(g, 0);
  ir_br(&g->b, head, args, n + 1);
  params[0] = new_param(g, head, IRT_I16);
  for (unsigned i = 0; i < n; i++)
    params[i + 1] = keep(g, new_param(g, head, types[i]));
  unsigned before = g->n_values;
  g->b.block = head;
  if (!at_end) {
    IrValue more = ir_binary(&g->b, IR_slt, IRT_BOOL, params[0], word(g, turns));
    ir_cond_br(&g->b, more, body, NULL, 0, after, NULL, 0);
    g->b.block = body;
  }
  random_code(g, depth + 1);
  IrValue next = ir_binary(&g->b, IR_add, IRT_I16, params[0], word(g, 1));
  args[0] = next;
  for (unsigned i = 0; i < n; i++)
    args[i + 1] = rng_below(&g->rng, 3) ? pick(g, types[i]) : params[1 + rng_below(&g->rng, n)];
  for (unsigned i = 0; i < n; i++)
    if (type_of(g, args[i + 1]) != types[i])
      args[i + 1] = params[i + 1];
  if (at_end) {
    IrValue more = ir_binary(&g->b, IR_ult, IRT_BOOL, next, word(g, turns));
    ir_cond_br(&g->b, more, head, args, n + 1, after, NULL, 0);
    g->b.block = body;
    ir_trap(&g->b, 1);
  } else {
    ir_br(&g->b, head, args, n + 1);
  }
  g->b.block = after;
  g->n_values = before;
}

#include "tests/unit/codegen_shapes.h"

static void random_code(Gen *g, unsigned depth)
{
  unsigned n = 2 + rng_below(&g->rng, 14);
  for (unsigned i = 0; i < n && g->budget; i++) {
    if (g->has_shapes && depth < 3 && rng_below(&g->rng, 6) == 0) {
      random_shape(g, depth);
      continue;
    }
    unsigned what = rng_below(&g->rng, 12);
    if (what == 0 && depth < 3)
      diamond(g, depth);
    else if (what == 1 && depth < 3)
      loop(g, depth);
    else
      random_insn(g);
  }
}

/* What lives at the end is stored: many values at once. */
static void store_values(Gen *g)
{
  unsigned at = 0;
  for (unsigned i = 0; i < g->n_values && at + 8 <= OUT_BYTES; i++) {
    unsigned bytes = ir_type_bytes(type_of(g, g->values[i]));
    if (type_of(g, g->values[i]) == IRT_DSD)
      continue;
    at = (at + bytes - 1) / bytes * bytes;
    ir_store(&g->b, ir_global_addr(&g->b, g->out, at), g->values[i]);
    at += bytes;
  }
}

static void random_func(Gen *g, unsigned index)
{
  IrType params[16], result = index + 1 == FUNCS ? IRT_VOID : any_argument_type(g);
  unsigned n = index + 1 == FUNCS ? 0 : rng_below(&g->rng, 12);
  for (unsigned i = 0; i < n; i++)
    params[i] = any_argument_type(g);
  IrFuncId id = ir_func_add(g->m, arena_printf(g->m->arena, "f%u", index), result, params, n);
  g->func = id.raw;
  g->b = (IrBuilder){.module = g->m, .func = id};
  g->n_values = 0;
  g->stack = IR_NO_VALUE;
  g->budget = 30 + rng_below(&g->rng, 120);
  if (rng_below(&g->rng, 2)) {
    g->stack = ir_alloca(&g->b, STACK_BYTES, 4);
    ir_zero(&g->b, g->stack, STACK_BYTES);
  }
  for (unsigned i = 0; i < n; i++)
    keep(g, g->m->funcs[id.raw].blocks[0].params[i]);
  while (g->budget)
    random_code(g, 0);
  /* In them few values live to the end, so that passes find registers for what they keep. */
  for (uint32_t i = 0; g->has_shapes && index + 1 == FUNCS && i < index; i++)
    call_one(g, i);
  if (result == IRT_VOID)
    store_values(g);
  ir_ret(&g->b, result == IRT_VOID ? IR_NO_VALUE : pick(g, result));
}

/* Each variable starts as a descriptor of eight words at the array's middle. */
static void init_variables(Gen *g, Arena *arena)
{
  IrGlobal *dsds = &g->m->globals[g->dsds.raw];
  Descriptor d = {.kind = DESC_MEM1D, .length = 8, .stride = 1};
  dsds->init = arena_many(arena, uint8_t, dsds->bytes);
  dsds->relocs = arena_many(arena, IrReloc, VARIABLES);
  dsds->n_relocs = VARIABLES;
  for (unsigned i = 0; i < VARIABLES; i++) {
    uint16_t words[12];
    unsigned n = descriptor_encode(&d, words);
    for (unsigned k = 0; k < 2 * n; k++)
      dsds->init[DSD_BYTES * i + k] = (uint8_t)(words[k / 2] >> 8 * (k % 2));
    dsds->relocs[i] = (IrReloc){DSD_BYTES * i + 2, false, g->array.raw, FIRST_BYTES};
  }
}

static IrModule *random_module(Arena *arena, uint64_t seed, bool has_shapes)
{
  Gen g = {.has_shapes = has_shapes, .rng = {seed * 2 + 1}};
  g.m = ir_module_create(arena, (Arch)(seed / 3 % ARCH_COUNT), (Fp16Format)(seed % FP16_COUNT));
  g.mem = ir_global_add(g.m, "mem", MEM_BYTES, 4);
  g.out = ir_global_add(g.m, "out", OUT_BYTES, 8);
  g.array = ir_global_add(g.m, "array", ARRAY_BYTES, 4);
  g.dsds = ir_global_add(g.m, "dsds", VARIABLES * DSD_BYTES, 2);
  g.cells = ir_global_add(g.m, "cells", CELL_BYTES, 8);
  uint8_t *init = arena_many(arena, uint8_t, MEM_BYTES);
  for (unsigned i = 0; i < MEM_BYTES; i++)
    init[i] = (uint8_t)rng_next(&g.rng);
  g.m->globals[g.mem.raw].init = init;
  init = arena_many(arena, uint8_t, ARRAY_BYTES);
  for (unsigned i = FIRST_BYTES - 256; i < FIRST_BYTES + 256; i++)
    init[i] = (uint8_t)rng_next(&g.rng);
  g.m->globals[g.array.raw].init = init;
  init_variables(&g, arena);
  g.m->globals[g.array.raw].keep = g.m->globals[g.dsds.raw].keep = true;
  g.m->globals[g.mem.raw].keep = g.m->globals[g.out.raw].keep = true;
  g.m->globals[g.cells.raw].keep = true;
  for (unsigned i = 0; i < FUNCS; i++)
    random_func(&g, i);
  g.m->bindings = arena_new(arena, IrBinding);
  *g.m->bindings = (IrBinding){.is_func = true, .target = FUNCS - 1};
  g.m->n_bindings = 1;
  g.m->funcs[FUNCS - 1].address_taken = true;
  return g.m;
}

/* ---- interpreter ---------------------------------------------------------------------------- */

enum { INTERP_STACK = 0x8000 };

typedef struct { uint16_t words[DSD_BYTES / 2]; } Dsd;
typedef struct {
  const IrModule *m;
  uint8_t memory[PE_MEM_BYTES];
  uint32_t addresses[5];           /* of the globals */
  uint32_t sp;
  Dsd *dsds;                       /* stb_ds: descriptors by value */
  uint64_t dsrs[DSR_FILE_COUNT][2][MAX_DSRS];        /* physical and virtual: values */
  bool escaped;                    /* an operation left the array: the program proves nothing */
} Interp;

static uint64_t read_memory(const Interp *in, uint64_t at, unsigned bytes)
{
  uint64_t v = 0;
  for (unsigned i = 0; i < bytes; i++)
    v |= (uint64_t)in->memory[(uint16_t)(at + i)] << 8 * i;
  return v;
}

static void write_memory(Interp *in, uint64_t at, unsigned bytes, uint64_t v)
{
  for (unsigned i = 0; i < bytes; i++)
    in->memory[(uint16_t)(at + i)] = (uint8_t)(v >> 8 * i);
}

/* ---- descriptors and vector operations ------------------------------------------------------ */

static unsigned field_word(DsrField field)
{
  return field == DSRF_LENGTH ? 2 : field == DSRF_STRIDE ? 3 : field == DSRF_FLAGS ? 0 : 1;
}

static uint64_t new_dsd(Interp *in, const uint16_t *words)
{
  Dsd dsd;
  memcpy(dsd.words, words, sizeof dsd.words);
  arrput(in->dsds, dsd);
  return arrlenu(in->dsds) - 1;
}

static uint64_t set_dsd(Interp *in, uint64_t dsd, DsrField field, uint64_t value)
{
  uint16_t words[DSD_BYTES / 2];
  memcpy(words, in->dsds[dsd].words, sizeof words);
  uint16_t *w = &words[field_word(field)];
  *w = (uint16_t)(field == DSRF_BASE_ADD ? *w + value : field == DSRF_FLAGS ? *w | value : value);
  return new_dsd(in, words);
}

static uint64_t load_dsd(Interp *in, uint64_t at)
{
  uint16_t words[DSD_BYTES / 2];
  for (unsigned i = 0; i < ARRAY_COUNT(words); i++)
    words[i] = (uint16_t)read_memory(in, at + 2 * i, 2);
  return new_dsd(in, words);
}

static void store_dsd(Interp *in, uint64_t at, uint64_t dsd)
{
  for (unsigned i = 0; i < DSD_BYTES / 2; i++)
    write_memory(in, at + 2 * i, 2, in->dsds[dsd].words[i]);
}

static uint64_t *dsr_of(Interp *in, DsrFile file, uint32_t number)
{
  return &in->dsrs[file][number >= IR_VIRTUAL_DSR][number % IR_VIRTUAL_DSR % MAX_DSRS];
}

/* One operand: memory at base, or a scalar. */
typedef struct { bool is_memory; uint16_t base, length; int16_t stride; uint64_t scalar; } Operand;

static Operand operand_of(Interp *in, const IrVecOperand *x, const uint64_t *args)
{
  if (x->kind == IRV_SCALAR)
    return (Operand){.scalar = args[x->arg]};
  if (x->kind == IRV_POINTER)
    return (Operand){.is_memory = true, .base = (uint16_t)args[x->arg]};
  if (x->kind == IRV_NONE)
    return (Operand){.is_memory = false};
  const uint16_t *w = in->dsds[x->kind == IRV_DSD ? args[x->arg]
                                                  : *dsr_of(in, x->file, x->number)].words;
  return (Operand){true, w[1], w[2], (int16_t)w[3], 0};
}

static uint64_t element_of(Interp *in, const Operand *x, unsigned i, unsigned bytes)
{
  return x->is_memory ? read_memory(in, (uint16_t)(x->base + (int)(i * bytes) * x->stride), bytes)
                      : x->scalar;
}

static void check_inside(Interp *in, const Operand *x, unsigned length, unsigned bytes)
{
  int first = x->base, last = x->base + (int)((length - 1) * bytes) * x->stride;
  int low = (int)in->addresses[2], high = low + ARRAY_BYTES - (int)bytes;
  if (x->is_memory && x->length && (first < low || first > high || last < low || last > high))
    in->escaped = true;
}

static void run_vec(Interp *in, const IrVec *v, const uint64_t *args)
{
  const VecOpInfo *info = &vecops[v->op];
  unsigned bytes = vec_elem_bytes(info->dst);
  Operand dest = operand_of(in, &v->dest, args), a = operand_of(in, &v->src0, args);
  Operand b = operand_of(in, &v->src1, args);
  unsigned length = a.length ? a.length : b.length ? b.length : dest.length ? dest.length : 1;
  bool carry = false, fold = v->dest.kind == IRV_POINTER && v->src0.kind == IRV_SCALAR;
  check_inside(in, &dest, length, bytes);
  check_inside(in, &a, length, bytes);
  check_inside(in, &b, length, bytes);
  uint64_t s = v->scalar == IR_NO_ID ? 0 : args[v->scalar];
  for (unsigned i = 0; i < length && !in->escaped; i++) {
    uint32_t value = vec_element(v->op, in->m->fp16, (uint32_t)element_of(in, &a, i, bytes),
                                 (uint32_t)element_of(in, &b, i, bytes), (uint32_t)s, &carry);
    if (fold)
      a.scalar = value;
    write_memory(in, (uint16_t)(dest.base + (int)(i * bytes) * dest.stride), bytes, value);
  }
}

static uint64_t call(Interp *in, uint32_t func, const uint64_t *args);

static void evaluate(Interp *in, const IrFunc *f, uint64_t *values, IrValue v)
{
  const IrInsn *d = &f->insns[v.raw];
  uint64_t args[16];
  for (uint32_t i = 0; i < d->n_args; i++)
    args[i] = values[d->args[i].raw];
  IrType arg_type = d->n_args ? f->insns[d->args[0].raw].type : IRT_VOID;
  switch ((int)d->op) {
  case IR_const:
    values[v.raw] = d->imm;
    break;
  case IR_global_addr:
    values[v.raw] = (uint16_t)(in->addresses[d->u.global.raw] + d->imm);
    break;
  case IR_alloca:
    in->sp -= (uint32_t)d->imm;
    values[v.raw] = in->sp;
    break;
  case IR_ptr_add:
    values[v.raw] = (uint16_t)(args[0] + args[1]);
    break;
  case IR_dsd_const: {
    uint16_t words[12];
    descriptor_encode(&d->u.desc->desc, words);
    words[1] = (uint16_t)(words[1] + in->addresses[d->u.desc->global.raw]);
    values[v.raw] = new_dsd(in, words);
    break;
  }
  case IR_dsd_set:
    values[v.raw] = set_dsd(in, args[0], (DsrField)d->field, args[1]);
    break;
  case IR_dsd_get:
    values[v.raw] = in->dsds[args[0]].words[field_word((DsrField)d->field)];
    if (d->field == DSRF_FLAGS)
      values[v.raw] &= 0xfff0;
    break;
  case IR_dsr_load:
    *dsr_of(in, (DsrFile)(d->aux >> 16), d->aux & 0xffff) = args[0];
    break;
  case IR_dsr_set: {
    uint64_t *dsr = dsr_of(in, (DsrFile)(d->aux >> 16), d->aux & 0xffff);
    *dsr = set_dsd(in, *dsr, (DsrField)d->field, args[0]);
    break;
  }
  case IR_vec:
    run_vec(in, d->u.vec, args);
    values[v.raw] = 1;
    break;
  case IR_load:
    if (d->type == IRT_DSD)
      values[v.raw] = load_dsd(in, args[0]);
    else
      values[v.raw] = read_memory(in, args[0], ir_type_bytes(d->type));
    break;
  case IR_store:
    if (f->insns[d->args[1].raw].type == IRT_DSD)
      store_dsd(in, args[0], args[1]);
    else
      write_memory(in, args[0], ir_type_bytes(f->insns[d->args[1].raw].type), args[1]);
    break;
  case IR_copy: case IR_zero:
    for (uint64_t i = 0; i < d->imm; i++)
      write_memory(in, args[0] + i, 1, d->op == IR_copy ? read_memory(in, args[1] + i, 1) : 0);
    break;
  case IR_select:
    values[v.raw] = args[0] ? args[1] : args[2];
    break;
  case IR_call:
    values[v.raw] = call(in, d->u.func.raw, args);
    break;
  default:
    if (!ir_fold(in->m, d->op, d->type, d->op == IR_eq || d->n_args ? arg_type : d->type, args,
                 d->n_args, &values[v.raw]))
      fail_msg("cannot fold %s", ir_ops[d->op].name);
  }
}

/* Carries out a block; returns the target taken, or NULL after a return. */
static const IrTarget *run_block(Interp *in, const IrFunc *f, uint64_t *values, uint32_t block,
                                 uint64_t *result)
{
  const IrBlock *b = &f->blocks[block];
  for (uint32_t i = 0; i < b->n_insns; i++) {
    const IrInsn *d = &f->insns[b->insns[i].raw];
    if (d->dead)
      continue;
    if (d->op == IR_br)
      return &d->u.targets[0];
    if (d->op == IR_cond_br)
      return &d->u.targets[values[d->args[0].raw] ? 0 : 1];
    if (d->op == IR_ret) {
      *result = d->n_args ? values[d->args[0].raw] : 0;
      return NULL;
    }
    if (d->op == IR_trap)
      fail_msg("a trap was reached");
    evaluate(in, f, values, b->insns[i]);
  }
  fail_msg("a block has no end");
  return NULL;
}

static uint64_t call(Interp *in, uint32_t func, const uint64_t *args)
{
  const IrFunc *f = &in->m->funcs[func];
  uint64_t *values = base_malloc(sizeof *values * f->n_insns);
  uint64_t result = 0, next[16];
  uint32_t sp = in->sp, block = 0;
  for (uint32_t i = 0; i < f->n_params; i++)
    values[f->blocks[0].params[i].raw] = args[i];
  for (;;) {
    const IrTarget *to = run_block(in, f, values, block, &result);
    if (!to)
      break;
    block = to->block.raw;
    for (uint32_t i = 0; i < to->n_args; i++)
      next[i] = values[to->args[i].raw];
    for (uint32_t i = 0; i < to->n_args; i++)
      values[f->blocks[block].params[i].raw] = next[i];
  }
  in->sp = sp;
  free(values);
  return result;
}

/* ---- the property --------------------------------------------------------------------------- */

static void show_module(const IrModule *m, const Run *r)
{
  ir_print(m, stderr);
  codegen_print_asm(&r->result, stderr);
}

static const struct { const char *name; unsigned bytes; } globals[] = {
  {"mem", MEM_BYTES}, {"out", OUT_BYTES}, {"array", ARRAY_BYTES}, {"dsds", VARIABLES * DSD_BYTES},
  {"cells", CELL_BYTES},
};

static void start_memory(Interp *in, const Run *r)
{
  for (unsigned i = 0; i < ARRAY_COUNT(globals); i++) {
    const IrGlobal *g = &in->m->globals[i];
    in->addresses[i] = run_symbol(r, globals[i].name)->address;
    if (g->init)
      memcpy(in->memory + in->addresses[i], g->init, g->bytes);
  }
  const IrGlobal *dsds = &in->m->globals[3];
  for (uint32_t i = 0; i < dsds->n_relocs; i++)
    write_memory(in, in->addresses[3] + dsds->relocs[i].offset, 2,
                 in->addresses[2] + (uint32_t)dsds->relocs[i].addend);
}

/* The first difference of a global's memory, or NULL. */
static const char *difference(const Interp *in, Run *r, unsigned i)
{
  uint8_t *found = arena_many(r->arena, uint8_t, globals[i].bytes);
  const uint8_t *wanted = in->memory + in->addresses[i];
  if (!run_memory(r, globals[i].name, found, globals[i].bytes))
    return "memory cannot be read";
  for (unsigned k = 0; k < globals[i].bytes; k++)
    if (found[k] != wanted[k])
      return arena_printf(r->arena, "byte %u of %s is 0x%02x, not 0x%02x", k, globals[i].name,
                          found[k], wanted[k]);
  return NULL;
}

static void check_seed(uint64_t seed, bool has_shapes, bool verbose)
{
  Run r;
  run_create(&r);
  IrModule *m = random_module(r.arena, seed, has_shapes);
  const char *invalid = ir_verify(m, r.arena);
  if (invalid) {
    ir_print(m, stderr);
    fail_msg("seed %llu: %s", (unsigned long long)seed, invalid);
  }
  /* the interpreter reads its own copy: what the optimiser makes of the other must agree too */
  IrModule *plain = random_module(r.arena, seed, has_shapes);
  static const int levels[2][4] = {{-1, 0, 1, 2}, {0, 1, 2, 2}};
  int level = levels[has_shapes][seed % 4];
  if (level >= 0)
    ir_optimise(m, &(IrOptOptions){.level = level});
  if (!run_compile(&r, m, level))
    fail_msg("seed %llu: %s", (unsigned long long)seed, r.messages);
  const char *why = run_load(&r, m);
  Interp *in = base_malloc(sizeof *in);
  *in = (Interp){.m = plain, .sp = INTERP_STACK};
  start_memory(in, &r);
  call(in, FUNCS - 1, NULL);
  if (in->escaped)
    goto done;
  if (!why)
    why = run_launch(&r, 20000000);
  for (unsigned i = 0; i < ARRAY_COUNT(globals) && !why; i++)
    why = difference(in, &r, i);
  if (why && verbose)
    show_module(m, &r);
  if (why)
    fail_msg("seed %llu: %s", (unsigned long long)seed, why);
done:
  arrfree(in->dsds);
  free(in);
  run_destroy(&r);
}

/* Programs that were compiled wrong: a loop in straight code took a variable of another such loop
 * one turn too late; a loop that exchanges two descriptors lost one that a condition had chosen. */
static const uint64_t once_wrong[] = {59130, 60162, 60839, 61846, 63306, 63642, 63691, 96068589};

/* WSE_COUNT programs from WSE_SEED on, or `usual` from 1 on. */
static void check_programs(unsigned usual, bool has_shapes)
{
  const char *seed = getenv("WSE_SEED"), *count = getenv("WSE_COUNT");
  uint64_t first = seed ? strtoull(seed, NULL, 0) : 1;
  unsigned n = count ? (unsigned)strtoul(count, NULL, 0) : seed ? 1 : usual;
  for (unsigned i = 0; i < n; i++)
    check_seed(first + i, has_shapes, seed != NULL && n == 1);
}

static void test_random_programs(void **state)
{
  (void)state;
  check_programs(100, false);
  for (unsigned i = 0; !getenv("WSE_SEED") && i < ARRAY_COUNT(once_wrong); i++)
    check_seed(once_wrong[i], false, false);
}

static void test_random_shapes(void **state)
{
  (void)state;
  check_programs(50, true);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_programs),
                                     cmocka_unit_test(test_random_shapes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
