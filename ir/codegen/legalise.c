/* Functions in the IR for what no instruction does: 64-bit multiplication, division and
 * conversions, and the stubs by which the host launches functions.
 *
 * The bodies use only what selection has an instruction for; they are compiled like the rest. */
#include "ir/codegen/codegen.h"

#include <stb_ds.h>

#include <string.h>

typedef struct {
  IrBuilder b;
  uint32_t func;
} Maker;

/* ---- short forms ---------------------------------------------------------------------------- */

static IrValue make_const(Maker *k, IrType type, uint64_t bits)
{
  return ir_const(&k->b, type, bits);
}
static IrValue make_binary(Maker *k, IrOp op, IrType type, IrValue x, IrValue y)
{
  return ir_binary(&k->b, op, type, x, y);
}
static IrValue make_add(Maker *k, IrType t, IrValue x, IrValue y)
{
  return make_binary(k, IR_add, t, x, y);
}
static IrValue make_sub(Maker *k, IrType t, IrValue x, IrValue y)
{
  return make_binary(k, IR_sub, t, x, y);
}
static IrValue make_and(Maker *k, IrType t, IrValue x, IrValue y)
{
  return make_binary(k, IR_and, t, x, y);
}
static IrValue make_or(Maker *k, IrType t, IrValue x, IrValue y)
{
  return make_binary(k, IR_or, t, x, y);
}
static IrValue make_shift(Maker *k, IrOp op, IrType type, IrValue x, unsigned n)
{
  return make_binary(k, op, type, x, make_const(k, IRT_I16, n));
}
static IrValue make_test(Maker *k, IrOp op, IrValue x, IrValue y)
{
  return make_binary(k, op, IRT_BOOL, x, y);
}
static IrValue make_convert(Maker *k, IrOp op, IrType type, IrValue x)
{
  return ir_unary(&k->b, op, type, x);
}
static IrValue param_at(const Maker *k, uint32_t i)
{
  return k->b.module->funcs[k->func].blocks[0].params[i];
}
static IrValue lower_half(Maker *k, IrValue x) { return make_convert(k, IR_trunc, IRT_I32, x); }
static IrValue upper_half(Maker *k, IrValue x)
{
  return make_convert(k, IR_trunc, IRT_I32, make_shift(k, IR_lshr, IRT_I64, x, 32));
}
static IrValue join_halves(Maker *k, IrValue low, IrValue high)
{
  IrValue up = make_shift(k, IR_shl, IRT_I64, make_convert(k, IR_zext, IRT_I64, high), 32);
  return make_or(k, IRT_I64, make_convert(k, IR_zext, IRT_I64, low), up);
}
static IrBlockId new_block(Maker *k) { return ir_block_add(k->b.module, k->b.func); }
static IrValue block_param(Maker *k, IrBlockId block, IrType type)
{
  return ir_block_param(k->b.module, k->b.func, block, type);
}

static Maker make_func(Cg *cg, const char *name, IrType result, const IrType *params, uint32_t n)
{
  IrFuncId id = ir_func_add(cg->work, name, result, params, n);
  return (Maker){{.module = cg->work, .func = id, .block = {0}}, id.raw};
}

/* ---- multiplication ------------------------------------------------------------------------- */

static IrValue half_of(Maker *k, IrValue x, bool upper)
{
  IrValue from = upper ? make_shift(k, IR_lshr, IRT_I32, x, 16) : x;
  return make_convert(k, IR_zext, IRT_I32, make_convert(k, IR_trunc, IRT_I16, from));
}

/* Two operands that are made are made in two statements: the arguments of a C call have no order,
 * and the code must not depend on the compiler of the compiler. */

/* 32 x 32 bits to 64, from four products of halves; returns the upper 32, *low the lower. */
static IrValue multiply_words(Maker *k, IrValue x, IrValue y, IrValue *low)
{
  IrType t = IRT_I32;
  IrValue half[2][2], p[2][2];
  for (unsigned i = 0; i < 2; i++) {
    half[0][i] = half_of(k, x, i);
    half[1][i] = half_of(k, y, i);
  }
  for (unsigned i = 0; i < 2; i++)
    for (unsigned j = 0; j < 2; j++)
      p[i][j] = make_binary(k, IR_mul, t, half[0][i], half[1][j]);
  IrValue mask = make_const(k, t, 0xffff);
  IrValue right = make_and(k, t, p[1][0], mask), left = make_and(k, t, p[0][1], mask);
  IrValue inner = make_add(k, t, left, right);
  IrValue mid = make_add(k, t, make_shift(k, IR_lshr, t, p[0][0], 16), inner);
  IrValue upper = make_shift(k, IR_shl, t, mid, 16);
  *low = make_or(k, t, make_and(k, t, p[0][0], mask), upper);
  right = make_shift(k, IR_lshr, t, p[1][0], 16);
  IrValue sides = make_add(k, t, make_shift(k, IR_lshr, t, p[0][1], 16), right);
  return make_add(k, t, p[1][1], make_add(k, t, sides, make_shift(k, IR_lshr, t, mid, 16)));
}

static void make_multiply(Maker *k)
{
  IrValue x = param_at(k, 0), y = param_at(k, 1), low;
  IrValue xl = lower_half(k, x), xh = upper_half(k, x);
  IrValue yl = lower_half(k, y), yh = upper_half(k, y);
  IrValue high = multiply_words(k, xl, yl, &low);
  IrValue right = make_binary(k, IR_mul, IRT_I32, xl, yh);
  IrValue cross = make_add(k, IRT_I32, make_binary(k, IR_mul, IRT_I32, xh, yl), right);
  ir_ret(&k->b, join_halves(k, low, make_add(k, IRT_I32, high, cross)));
}

/* ---- division ------------------------------------------------------------------------------- */

/* One bit per turn: the dividend leaves `q` at the top, the quotient enters at the bottom.  The bit
 * that leaves the remainder counts: it is a remainder above any divisor. */
static void divide_loop(Maker *k, IrValue n, IrValue d, bool wants_rest)
{
  IrType t = IRT_I64;
  IrBlockId loop = new_block(k), done = new_block(k);
  IrValue q = block_param(k, loop, t), rest = block_param(k, loop, t);
  IrValue i = block_param(k, loop, IRT_I16);
  IrValue start[] = {n, make_const(k, t, 0), make_const(k, IRT_I16, 64)};
  ir_br(&k->b, loop, start, 3);
  k->b.block = loop;
  IrValue over = make_test(k, IR_slt, rest, make_const(k, t, 0));
  IrValue top = make_shift(k, IR_lshr, t, q, 63);
  IrValue next = make_or(k, t, make_shift(k, IR_shl, t, rest, 1), top);
  IrValue fits = make_or(k, IRT_BOOL, over, make_test(k, IR_ule, d, next));
  IrValue less = ir_select(&k->b, t, fits, make_sub(k, t, next, d), next);
  IrValue bit = make_convert(k, IR_zext, t, fits);
  IrValue q2 = make_or(k, t, make_shift(k, IR_shl, t, q, 1), bit);
  IrValue left = make_sub(k, IRT_I16, i, make_const(k, IRT_I16, 1));
  IrValue again[] = {q2, less, left};
  ir_cond_br(&k->b, make_test(k, IR_ne, left, make_const(k, IRT_I16, 0)), loop, again, 3, done,
             NULL, 0);
  k->b.block = done;
  ir_ret(&k->b, wants_rest ? less : q2);
}

/* Divisor 0: quotient 0, remainder the dividend.  Both small: one instruction. */
static void make_divide(Maker *k, bool wants_rest)
{
  IrValue n = param_at(k, 0), d = param_at(k, 1), zero = make_const(k, IRT_I64, 0);
  IrBlockId by_zero = new_block(k), other = new_block(k);
  IrBlockId small = new_block(k), large = new_block(k);
  ir_cond_br(&k->b, make_test(k, IR_eq, d, zero), by_zero, NULL, 0, other, NULL, 0);
  k->b.block = by_zero;
  ir_ret(&k->b, wants_rest ? n : make_const(k, IRT_I64, 0));
  k->b.block = other;
  IrValue high_d = upper_half(k, d);
  IrValue high = make_or(k, IRT_I32, upper_half(k, n), high_d);
  ir_cond_br(&k->b, make_test(k, IR_eq, high, make_const(k, IRT_I32, 0)), small, NULL, 0, large,
             NULL, 0);
  k->b.block = small;
  IrValue low_d = lower_half(k, d);
  IrValue q = make_binary(k, wants_rest ? IR_urem : IR_udiv, IRT_I32, lower_half(k, n), low_d);
  ir_ret(&k->b, make_convert(k, IR_zext, IRT_I64, q));
  k->b.block = large;
  divide_loop(k, n, d, wants_rest);
}

/* x if not negative, else -x, without a branch: (x ^ s) - s with s = x >> 63. */
static IrValue negate_if(Maker *k, IrValue x, IrValue sign)
{
  return make_sub(k, IRT_I64, make_binary(k, IR_xor, IRT_I64, x, sign), sign);
}
static IrValue sign_of(Maker *k, IrValue x) { return make_shift(k, IR_ashr, IRT_I64, x, 63); }

static void make_signed_divide(Cg *cg, Maker *k, bool wants_rest)
{
  IrValue n = param_at(k, 0), d = param_at(k, 1), sn = sign_of(k, n), sd = sign_of(k, d);
  IrValue args[] = {negate_if(k, n, sn), negate_if(k, d, sd)};
  IrFuncId plain = {cg_runtime(cg, wants_rest ? RT_UREM64 : RT_UDIV64)};
  IrValue result = ir_call(&k->b, plain, args, 2);
  IrValue sign = wants_rest ? sn : make_binary(k, IR_xor, IRT_I64, sn, sd);
  ir_ret(&k->b, negate_if(k, result, sign));
}

/* ---- conversions ---------------------------------------------------------------------------- */

/* Halves the number until it has `width` bits, keeping in the lowest bit whether anything but
 * zeros was lost: enough for one correct rounding. */
static void make_from_unsigned(Maker *k, IrType type)
{
  unsigned width = type == IRT_F16 ? 15 : 32;
  IrBlockId loop = new_block(k), shrink = new_block(k), done = new_block(k);
  IrValue x = block_param(k, loop, IRT_I64), e = block_param(k, loop, IRT_I16);
  IrValue start[] = {param_at(k, 0), make_const(k, IRT_I16, 0)};
  ir_br(&k->b, loop, start, 2);
  k->b.block = loop;
  IrValue above = make_shift(k, IR_lshr, IRT_I64, x, width);
  ir_cond_br(&k->b, make_test(k, IR_ne, above, make_const(k, IRT_I64, 0)), shrink, NULL, 0, done,
             NULL, 0);
  k->b.block = shrink;
  IrValue lost = make_and(k, IRT_I64, x, make_const(k, IRT_I64, 1));
  IrValue half = make_or(k, IRT_I64, make_shift(k, IR_lshr, IRT_I64, x, 1), lost);
  IrValue next[] = {half, make_add(k, IRT_I16, e, make_const(k, IRT_I16, 1))};
  ir_br(&k->b, loop, next, 2);
  k->b.block = done;
  IrValue small = make_convert(k, IR_trunc, type == IRT_F16 ? IRT_I16 : IRT_I32, x);
  ir_ret(&k->b, make_binary(k, IR_fscale, type, make_convert(k, IR_uitofp, type, small), e));
}

static void make_from_signed(Cg *cg, Maker *k, IrType type)
{
  IrValue x = param_at(k, 0), sign = sign_of(k, x), arg = negate_if(k, x, sign);
  IrFuncId plain = {cg_runtime(cg, type == IRT_F16 ? RT_F16_FROM_U64 : RT_F32_FROM_U64)};
  IrValue result = ir_call(&k->b, plain, &arg, 1);
  IrValue negative = make_test(k, IR_slt, x, make_const(k, IRT_I64, 0));
  ir_ret(&k->b, ir_select(&k->b, type, negative, make_convert(k, IR_fneg, type, result), result));
}

enum { F32_BIAS = 127, F32_FRACTION_BITS = 23, F32_EXPONENT_MASK = 0xff };

static void return_if(Maker *k, IrValue cond, IrValue value)
{
  IrBlockId yes = new_block(k), no = new_block(k);
  ir_cond_br(&k->b, cond, yes, NULL, 0, no, NULL, 0);
  k->b.block = yes;
  ir_ret(&k->b, value);
  k->b.block = no;
}

/* Toward zero; NaN gives 0, what is out of range the nearest bound. */
static void make_to_int(Maker *k, bool is_signed)
{
  IrValue x = param_at(k, 0), zero = make_const(k, IRT_I64, 0);
  if (ir_value_type(k->b.module, k->b.func, x) == IRT_F16)
    x = make_convert(k, IR_fpext, IRT_F32, x);
  IrValue bits = make_convert(k, IR_bitcast, IRT_I32, x);
  IrValue exponent = make_shift(k, IR_lshr, IRT_I32, bits, F32_FRACTION_BITS);
  exponent = make_convert(k, IR_trunc, IRT_I16, exponent);
  exponent = make_and(k, IRT_I16, exponent, make_const(k, IRT_I16, F32_EXPONENT_MASK));
  IrValue negative = make_test(k, IR_slt, bits, make_const(k, IRT_I32, 0));
  IrValue one = make_const(k, IRT_BOOL, 1);
  IrValue is_nan = make_binary(k, IR_xor, IRT_BOOL, make_test(k, IR_feq, x, x), one);
  IrValue tiny = make_test(k, IR_ult, exponent, make_const(k, IRT_I16, F32_BIAS));
  return_if(k, make_or(k, IRT_BOOL, is_nan, tiny), zero);
  if (!is_signed)
    return_if(k, negative, make_const(k, IRT_I64, 0));
  IrValue top = make_const(k, IRT_I64, is_signed ? (uint64_t)INT64_MAX : UINT64_MAX);
  IrValue bottom = make_const(k, IRT_I64, (uint64_t)INT64_MIN);
  IrValue bound = is_signed ? ir_select(&k->b, IRT_I64, negative, bottom, top) : top;
  unsigned limit = F32_BIAS + (is_signed ? 63 : 64);
  return_if(k, make_test(k, IR_ule, make_const(k, IRT_I16, limit), exponent), bound);
  IrValue fraction =
      make_and(k, IRT_I32, bits, make_const(k, IRT_I32, (1u << F32_FRACTION_BITS) - 1));
  fraction = make_or(k, IRT_I32, fraction, make_const(k, IRT_I32, 1u << F32_FRACTION_BITS));
  IrValue wide = make_convert(k, IR_zext, IRT_I64, fraction);
  IrValue unit = make_const(k, IRT_I16, F32_BIAS + F32_FRACTION_BITS);
  IrValue up = make_binary(k, IR_shl, IRT_I64, wide, make_sub(k, IRT_I16, exponent, unit));
  IrValue down = make_binary(k, IR_lshr, IRT_I64, wide, make_sub(k, IRT_I16, unit, exponent));
  IrValue value = ir_select(&k->b, IRT_I64, make_test(k, IR_ult, exponent, unit), down, up);
  ir_ret(&k->b, is_signed
                    ? ir_select(&k->b, IRT_I64, negative, make_sub(k, IRT_I64, zero, value), value)
                    : value);
}

/* ---- the routines --------------------------------------------------------------------------- */

static const struct {
  const char *name;
  IrType result, param;
  unsigned n_params;
} routines[RT_COUNT] = {
  [RT_UDIV64] = {"<runtime>.udiv64", IRT_I64, IRT_I64, 2},
  [RT_UREM64] = {"<runtime>.urem64", IRT_I64, IRT_I64, 2},
  [RT_SDIV64] = {"<runtime>.sdiv64", IRT_I64, IRT_I64, 2},
  [RT_SREM64] = {"<runtime>.srem64", IRT_I64, IRT_I64, 2},
  [RT_MUL64] = {"<runtime>.mul64", IRT_I64, IRT_I64, 2},
  [RT_F32_FROM_I64] = {"<runtime>.f32_from_i64", IRT_F32, IRT_I64, 1},
  [RT_F32_FROM_U64] = {"<runtime>.f32_from_u64", IRT_F32, IRT_I64, 1},
  [RT_F16_FROM_I64] = {"<runtime>.f16_from_i64", IRT_F16, IRT_I64, 1},
  [RT_F16_FROM_U64] = {"<runtime>.f16_from_u64", IRT_F16, IRT_I64, 1},
  [RT_I64_FROM_F32] = {"<runtime>.i64_from_f32", IRT_I64, IRT_F32, 1},
  [RT_U64_FROM_F32] = {"<runtime>.u64_from_f32", IRT_I64, IRT_F32, 1},
  [RT_I64_FROM_F16] = {"<runtime>.i64_from_f16", IRT_I64, IRT_F16, 1},
  [RT_U64_FROM_F16] = {"<runtime>.u64_from_f16", IRT_I64, IRT_F16, 1},
};

static void make_body(Cg *cg, Maker *k, RtKind kind)
{
  switch (kind) {
  case RT_UDIV64: case RT_UREM64:
    make_divide(k, kind == RT_UREM64);
    break;
  case RT_SDIV64: case RT_SREM64:
    make_signed_divide(cg, k, kind == RT_SREM64);
    break;
  case RT_MUL64:
    make_multiply(k);
    break;
  case RT_F32_FROM_I64: case RT_F16_FROM_I64:
    make_from_signed(cg, k, routines[kind].result);
    break;
  case RT_F32_FROM_U64: case RT_F16_FROM_U64:
    make_from_unsigned(k, routines[kind].result);
    break;
  case RT_I64_FROM_F32: case RT_I64_FROM_F16:
    make_to_int(k, true);
    break;
  case RT_U64_FROM_F32: case RT_U64_FROM_F16:
    make_to_int(k, false);
    break;
  case RT_COUNT: default:
    ICE("no routine %d", (int)kind);
  }
}

uint32_t cg_runtime(Cg *cg, RtKind kind)
{
  if (cg->runtime[kind] == 0) {
    IrType params[] = {routines[kind].param, routines[kind].param};
    Maker k = make_func(cg, routines[kind].name, routines[kind].result, params,
                        routines[kind].n_params);
    cg->runtime[kind] = k.func + 1;
    make_body(cg, &k, kind);
  }
  return cg->runtime[kind] - 1;
}

/* ---- the teardown task ---------------------------------------------------------------------- */

enum { REGISTER_BITS = 16 };

static IrValue read_register(Maker *k, unsigned address)
{
  IrValue a = make_const(k, IRT_I16, address);
  return ir_machine_op(&k->b, IR_get_config, IRT_I16, 0, 0, &a, 1);
}

/* Calls the handler if its bit of the word is set. */
static void call_if_pending(Cg *cg, Maker *k, IrValue word, unsigned number, uint32_t handler)
{
  IrBlockId call = new_block(k), next = new_block(k);
  IrValue bit = make_and(k, IRT_I16, word, make_const(k, IRT_I16, 1u << number));
  cg->work->funcs[k->func].loc = k->b.loc = cg->work->funcs[handler].loc;
  ir_cond_br(&k->b, make_test(k, IR_ne, bit, make_const(k, IRT_I16, 0)), call, NULL, 0, next, NULL,
             0);
  k->b.block = call;
  ir_call(&k->b, (IrFuncId){handler}, NULL, 0);
  ir_br(&k->b, next, NULL, 0);
  k->b.block = next;
}

static bool any_handler(const uint32_t *handlers, unsigned count)
{
  for (unsigned i = 0; i < count; i++)
    if (handlers[i] != IR_NO_ID)
      return true;
  return false;
}

/* Calls the handlers of the colors torn down since it last ran, one bit a color in two words,
 * and of the queues that a flush has found empty. */
uint32_t cg_teardown_stub(Cg *cg)
{
  const IrModule *m = cg->given;
  Maker k = make_func(cg, "<teardown>", IRT_VOID, NULL, 0);
  cg->work->funcs[k.func].is_task = true;
  if (any_handler(m->teardown_handler, MAX_COLORS)) {
    IrValue words[2];
    for (unsigned i = 0; i < ARRAY_COUNT(words); i++)
      words[i] = read_register(&k, CFG_TEARDOWN_PENDING + i);
    for (unsigned c = 0; c < MAX_COLORS; c++)
      if (m->teardown_handler[c] != IR_NO_ID)
        call_if_pending(cg, &k, words[c / REGISTER_BITS], c % REGISTER_BITS,
                        m->teardown_handler[c]);
  }
  for (unsigned output = 0; output < 2; output++) {
    if (!any_handler(m->empty_handler[output], MAX_QUEUES))
      continue;
    IrValue word = read_register(&k, CFG_QUEUE_FLUSHED + output);
    for (unsigned q = 0; q < MAX_QUEUES; q++)
      if (m->empty_handler[output][q] != IR_NO_ID)
        call_if_pending(cg, &k, word, q, m->empty_handler[output][q]);
  }
  ir_ret(&k.b, IR_NO_VALUE);
  return k.func;
}

uint32_t cg_start_stub(Cg *cg)
{
  Maker k = make_func(cg, "<start>", IRT_VOID, NULL, 0);
  cg->work->funcs[k.func].is_task = true;
  for (size_t i = 0; i < arrlenu(cg->presets); i++) {
    const PresetDsr *p = &cg->presets[i];
    const PoolDesc *pool = &cg->pool[p->desc];
    IrDesc desc = {.global = {pool->global}};
    if (!descriptor_decode(pool->words, pool->n_words, &desc.desc))
      ICE("descriptor %u of the pool cannot be decoded", (unsigned)p->desc);
    ir_dsr_load(&k.b, p->file, p->number, ir_dsd_const(&k.b, desc));
  }
  ir_ret(&k.b, IR_NO_VALUE);
  return k.func;
}

/* ---- launch stubs --------------------------------------------------------------------------- */

enum { LAUNCH_SLOT_BYTES = 4 };

/* Bytes of the block that holds a function's launch arguments: whole 32-bit slots. */
uint32_t cg_launch_bytes(const IrFunc *f)
{
  uint32_t bytes = 0;
  for (uint32_t i = 0; i < f->n_params; i++)
    bytes += (ir_type_bytes(f->params[i]) + LAUNCH_SLOT_BYTES - 1) & ~(LAUNCH_SLOT_BYTES - 1u);
  return bytes;
}

uint32_t cg_launch_stub(Cg *cg, uint32_t func)
{
  const IrFunc *f = &cg->work->funcs[func];
  IrType *types = f->params;
  uint32_t n = f->n_params;
  const char *name = arena_printf(cg->kept, "<launch>.%s", f->name);
  IrLocId loc = f->loc;
  Maker k = make_func(cg, name, IRT_VOID, NULL, 0);
  cg->work->funcs[k.func].loc = loc;
  k.b.loc = loc;
  IrValue *args = arena_many(cg->arena, IrValue, n);
  uint32_t offset = 0;
  for (uint32_t i = 0; i < n; i++) {
    IrValue at = ir_global_addr(&k.b, (IrGlobalId){cg->launch_args}, offset);
    args[i] = ir_load(&k.b, types[i], at);
    offset += (ir_type_bytes(types[i]) + LAUNCH_SLOT_BYTES - 1) & ~(LAUNCH_SLOT_BYTES - 1u);
  }
  ir_call(&k.b, (IrFuncId){func}, args, n);
  ir_ret(&k.b, IR_NO_VALUE);
  return k.func;
}
