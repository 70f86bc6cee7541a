/* Semantics of the scalar instructions, shared by both engines: the last column of isa.def as code,
 * once. No timing here. */
#include "emu/tile/tile_internal.h"

/* Without optimisation one function with a copy of each operation takes minutes to compile. */
#ifdef __OPTIMIZE__
#define INLINE inline __attribute__((always_inline))
#define FLAT __attribute__((flatten))
#else
#define INLINE inline
#define FLAT
#endif
#define RARE __attribute__((noinline))
#define LIKELY(condition) __builtin_expect((condition) != 0, 1)
#define UNLIKELY(condition) __builtin_expect((condition) != 0, 0)

typedef struct {
  const Insn *insn;
  uint16_t pc;
  Fp16Format fp16;
  Registers *regs;
  TileMem *mem;
  /* Static data away from the code, unless reads are watched or the class shares them: where nearly
     all accesses go. */
  uint8_t *data;                /* of address 0 */
  uint32_t data_low, data_end;
} Exec;

enum {
  BITS16 = 16, BITS32 = 32, SIGN16 = 0x8000,
#define MACHINE(field, wse2, wse3, source) WSE2_##field = wse2,
#define MACHINE_LIST(field, count, wse2, wse3, source)
#define MACHINE_MASK(field, wse2, wse3, source)
#include "ir/machine/machine.def"
  STACK_POINTER = WSE2_sp_register,    /* the same on both */
  RANDOM_BITS = 23, RANDOM_TAP = RANDOM_BITS - 18, RANDOM_STEPS = 128,
};
#define SIGN32 0x80000000u

static ScalarResult go_on(void)
{
  return (ScalarResult){.outcome = SCALAR_NEXT};
}

static ScalarResult jump_to(uint32_t pc)
{
  return (ScalarResult){.outcome = SCALAR_JUMP, .pc = (uint16_t)pc};
}

static ScalarResult fault_of(FaultKind kind, uint32_t value)
{
  return (ScalarResult){.outcome = SCALAR_FAULT, .fault = kind, .value = value};
}

/* Operands: 16-bit registers and immediates, 32-bit pairs. */
static uint16_t reg_a(const Exec *e) { return e->regs->r[e->insn->a]; }
static uint16_t reg_b(const Exec *e) { return e->regs->r[e->insn->b]; }
static uint16_t reg_c(const Exec *e) { return e->regs->r[e->insn->c]; }
static uint16_t imm_word(const Exec *e) { return (uint16_t)e->insn->imm; }
static uint32_t pair_b(const Exec *e) { return reg_pair32(e->regs, e->insn->b); }
static uint32_t pair_c(const Exec *e) { return reg_pair32(e->regs, e->insn->c); }
static int16_t as_s16(uint16_t v) { return (int16_t)v; }
static int32_t as_s32(uint32_t v) { return (int32_t)v; }

static ScalarResult set_reg_a(Exec *e, uint32_t value)
{
  e->regs->r[e->insn->a] = (uint16_t)value;
  return go_on();
}

static ScalarResult set_pair_a(Exec *e, uint32_t value)
{
  set_reg32(e->regs, e->insn->a, value);
  return go_on();
}

static ScalarResult add_words(Exec *e, uint16_t a, uint16_t b, unsigned carry)
{
  uint32_t sum = (uint32_t)a + b + carry;
  e->regs->carry = sum >> BITS16;
  return set_reg_a(e, sum);
}

static ScalarResult add_pairs(Exec *e, uint32_t a, uint32_t b, unsigned carry)
{
  uint64_t sum = (uint64_t)a + b + carry;
  e->regs->carry = sum >> BITS32;
  return set_pair_a(e, (uint32_t)sum);
}

static uint16_t shift_left16(uint16_t v, unsigned n) { return n < BITS16 ? (uint16_t)(v << n) : 0; }
static uint16_t shift_right16(uint16_t v, unsigned n)
{
  return n < BITS16 ? (uint16_t)(v >> n) : 0;
}
static uint16_t shift_sign16(uint16_t v, unsigned n)
{
  return (uint16_t)(as_s16(v) >> (n < BITS16 ? n : BITS16 - 1));
}
static uint32_t shift_left32(uint32_t v, unsigned n) { return n < BITS32 ? v << n : 0; }
static uint32_t shift_right32(uint32_t v, unsigned n) { return n < BITS32 ? v >> n : 0; }
static uint32_t shift_sign32(uint32_t v, unsigned n)
{
  return (uint32_t)(as_s32(v) >> (n < BITS32 ? n : BITS32 - 1));
}

static unsigned leading_zeros(uint16_t v)
{
  unsigned n = 0;
  while (n < BITS16 && !(v >> (BITS16 - 1 - n) & 1))
    n++;
  return n;
}

static unsigned trailing_zeros(uint16_t v)
{
  unsigned n = 0;
  while (n < BITS16 && !(v >> n & 1))
    n++;
  return n;
}

static unsigned set_bits(uint16_t v)
{
  unsigned n = 0;
  for (; v; v &= (uint16_t)(v - 1))
    n++;
  return n;
}

/* Division wraps where the quotient does not fit (-32768 / -1), as all run-time arithmetic; by
 * zero it gives 0 and leaves the dividend, so that the compiler may divide early. */
static ScalarResult divide_into(Exec *e, int64_t a, int64_t b, bool remainder, bool wide)
{
  int64_t quotient = b ? a / b : 0;
  int64_t value = remainder ? a - quotient * b : quotient;
  return wide ? set_pair_a(e, (uint32_t)value) : set_reg_a(e, (uint16_t)value);
}

/* Configuration registers lie behind memory in the address space, too, two bytes per word (seen in
 * Cerebras/csl-examples, spmv-hypersparse). */
static ScalarResult access_outside(FaultKind kind, uint32_t address, unsigned bytes, bool store)
{
  if (kind != FAULT_ADDRESS || bytes != 2 || address % 2 || !config_reg_at((uint16_t)(address / 2)))
    return fault_of(kind, address);
  return (ScalarResult){.outcome = SCALAR_CONFIG, .value = address / 2, .store = store};
}

static INLINE void exec_find_data(Exec *e)
{
  const ClassCode *cls = e->mem->cls;
  e->data = e->mem->bytes;
  e->data_low = cls->data_low;
  e->data_end = e->data && !(e->mem->tracked | e->mem->shared) ? cls->data_end : 0;
}

static INLINE bool is_plain_data(const Exec *e, uint32_t address, unsigned bytes)
{
  return address >= e->data_low && address + bytes <= e->data_end &&
         !(bytes > 1 && (address & 1));
}

/* Little-endian. */
static INLINE uint32_t load_bytes(const uint8_t *at, unsigned bytes)
{
  switch (bytes) {
  case 1: return at[0];
  case 2: return at[0] | (uint32_t)at[1] << 8;
  default: return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
  }
}

static INLINE void store_bytes(uint8_t *at, unsigned bytes, uint32_t value)
{
  at[0] = (uint8_t)value;
  if (bytes > 1)
    at[1] = (uint8_t)(value >> 8);
  if (bytes > 2) {
    at[2] = (uint8_t)(value >> 16);
    at[3] = (uint8_t)(value >> 24);
  }
}

/* The next place where many accesses go: the bytes on the stack, which lies behind data and code.
 * NULL: they are elsewhere, or accesses are watched. */
static INLINE uint8_t *find_on_stack(const TileMem *mem, uint32_t address, unsigned bytes)
{
  const ClassCode *cls = mem->cls;
  const ImageClass *image = cls->image;
  if (address < cls->stack_low || address + bytes > image->stack_top || !mem->bytes ||
      mem->tracked || (bytes > 1 && (address & 1)))
    return NULL;
  return mem->bytes + (mem->full ? address : image->static_bytes + address - cls->stack_low);
}

/* These two get copies, so that the Exec of a row of instructions stays in registers. */
static RARE ScalarResult load_elsewhere(Exec e, uint32_t address, unsigned bytes, bool sign)
{
  uint32_t value;
  const uint8_t *stack = find_on_stack(e.mem, address, bytes);
  FaultKind kind = FAULT_COUNT;
  if (LIKELY(stack != NULL)) {
    value = load_bytes(stack, bytes);
  } else {
    mem_own(e.mem);
    kind = mem_load(e.mem, address, bytes, &value);
  }
  if (kind != FAULT_COUNT)
    return access_outside(kind, address, bytes, false);
  if (bytes == 4)
    return set_pair_a(&e, value);
  return set_reg_a(&e, sign ? (uint32_t)(int8_t)value : value);
}

static RARE ScalarResult store_elsewhere(Exec e, uint32_t address, unsigned bytes, uint32_t value)
{
  uint8_t *stack = find_on_stack(e.mem, address, bytes);
  if (LIKELY(stack != NULL)) {
    store_bytes(stack, bytes, value);
    return go_on();
  }
  FaultKind kind = mem_store(e.mem, address, bytes, value);
  return kind == FAULT_COUNT ? go_on() : access_outside(kind, address, bytes, true);
}

static INLINE ScalarResult load_value(Exec *e, uint32_t address, unsigned bytes, bool sign)
{
  address &= 0xffff;
  if (UNLIKELY(!is_plain_data(e, address, bytes)))
    return load_elsewhere(*e, address, bytes, sign);
  uint32_t value = load_bytes(e->data + address, bytes);
  if (bytes == 4)
    return set_pair_a(e, value);
  return set_reg_a(e, sign ? (uint32_t)(int8_t)value : value);
}

static INLINE ScalarResult store_value(Exec *e, uint32_t address, unsigned bytes)
{
  uint32_t value = bytes == 4 ? reg_pair32(e->regs, e->insn->a) : reg_a(e);
  address &= 0xffff;
  if (UNLIKELY(!is_plain_data(e, address, bytes)))
    return store_elsewhere(*e, address, bytes, value);
  store_bytes(e->data + address, bytes, value);
  return go_on();
}

/* Formats J, RJ and RRJ. */
static INLINE ScalarResult branch_if(const Exec *e, bool taken)
{
  return taken ? jump_to(e->insn->imm) : go_on();
}

/* Format RIJ: a comparison with imm. */
static INLINE ScalarResult branch_imm_if(const Exec *e, bool taken)
{
  return taken ? jump_to(e->insn->target) : go_on();
}

static uint16_t *stack_pointer(Exec *e)
{
  return &e->regs->r[STACK_POINTER];
}

static ScalarResult call_target(Exec *e, uint16_t target)
{
  uint16_t top = (uint16_t)(*stack_pointer(e) - 2);
  uint16_t back = (uint16_t)(e->pc + insn_words(e->insn->op) * 2);
  if (*stack_pointer(e) < 2 || top < e->mem->cls->floor)
    return fault_of(FAULT_STACK, top);
  FaultKind kind = mem_store(e->mem, top, 2, back);
  if (kind != FAULT_COUNT)
    return fault_of(kind, top);
  *stack_pointer(e) = top;
  return jump_to(target);
}

static ScalarResult return_from(Exec *e)
{
  uint32_t back;
  FaultKind kind = mem_load(e->mem, *stack_pointer(e), 2, &back);
  if (kind != FAULT_COUNT)
    return fault_of(kind, *stack_pointer(e));
  *stack_pointer(e) = (uint16_t)(*stack_pointer(e) + 2);
  return jump_to(back);
}

static ScalarResult fp_h(Exec *e, FpBinary op)
{
  return set_reg_a(e, fp16_binary(e->fp16, op, reg_b(e), reg_c(e)));
}

static ScalarResult fp_s(Exec *e, FpBinary op)
{
  return set_pair_a(e, fp32_binary(op, pair_b(e), pair_c(e)));
}

static double h_value(const Exec *e) { return fp16_to_double(e->fp16, reg_b(e)); }
static double s_value(const Exec *e) { return fp32_to_double(pair_b(e)); }

static ScalarResult to_int16(Exec *e, double value, bool is_signed)
{
  return set_reg_a(e, (uint32_t)fp_to_int(value, BITS16, is_signed));
}

static ScalarResult to_int32(Exec *e, double value, bool is_signed)
{
  return set_pair_a(e, (uint32_t)fp_to_int(value, BITS32, is_signed));
}

/* Groups in the order of isa.def; each returns SCALAR_ENGINE for what is not its own. */

static INLINE ScalarResult exec_other(Exec *e, int op)
{
  switch (op) {
  case OP_jmp: return branch_if(e, true);
  case OP_bz: return branch_if(e, reg_a(e) == 0);
  case OP_bnz: return branch_if(e, reg_a(e) != 0);
  case OP_beq: return branch_if(e, reg_a(e) == reg_b(e));
  case OP_bne: return branch_if(e, reg_a(e) != reg_b(e));
  case OP_blts: return branch_if(e, as_s16(reg_a(e)) < as_s16(reg_b(e)));
  case OP_bltu: return branch_if(e, reg_a(e) < reg_b(e));
  case OP_bges: return branch_if(e, as_s16(reg_a(e)) >= as_s16(reg_b(e)));
  case OP_bgeu: return branch_if(e, reg_a(e) >= reg_b(e));
  case OP_beqi: return branch_imm_if(e, reg_a(e) == imm_word(e));
  case OP_bnei: return branch_imm_if(e, reg_a(e) != imm_word(e));
  case OP_bltsi: return branch_imm_if(e, as_s16(reg_a(e)) < as_s16(imm_word(e)));
  case OP_bltui: return branch_imm_if(e, reg_a(e) < imm_word(e));
  case OP_bgesi: return branch_imm_if(e, as_s16(reg_a(e)) >= as_s16(imm_word(e)));
  case OP_bgeui: return branch_imm_if(e, reg_a(e) >= imm_word(e));
  case OP_call: return call_target(e, imm_word(e));
  case OP_callr: return call_target(e, reg_a(e));
  case OP_ret: return return_from(e);
  case OP_trap: return fault_of(FAULT_TRAP, imm_word(e));
  case OP_assert: return reg_a(e) ? go_on() : fault_of(FAULT_ASSERT, 0);
  case OP_vstat: return set_reg_a(e, e->regs->vstat);
  default: return (ScalarResult){.outcome = SCALAR_ENGINE};
  }
}

static INLINE ScalarResult exec_memory(Exec *e, int op)
{
  switch (op) {
  case OP_ld8u: return load_value(e, (uint32_t)reg_b(e) + imm_word(e), 1, false);
  case OP_ld8s: return load_value(e, (uint32_t)reg_b(e) + imm_word(e), 1, true);
  case OP_ld16: return load_value(e, (uint32_t)reg_b(e) + imm_word(e), 2, false);
  case OP_ld32: return load_value(e, (uint32_t)reg_b(e) + imm_word(e), 4, false);
  case OP_ld8ua: return load_value(e, imm_word(e), 1, false);
  case OP_ld8sa: return load_value(e, imm_word(e), 1, true);
  case OP_ld16a: return load_value(e, imm_word(e), 2, false);
  case OP_ld32a: return load_value(e, imm_word(e), 4, false);
  case OP_st8: return store_value(e, (uint32_t)reg_b(e) + imm_word(e), 1);
  case OP_st16: return store_value(e, (uint32_t)reg_b(e) + imm_word(e), 2);
  case OP_st32: return store_value(e, (uint32_t)reg_b(e) + imm_word(e), 4);
  case OP_st8a: return store_value(e, imm_word(e), 1);
  case OP_st16a: return store_value(e, imm_word(e), 2);
  case OP_st32a: return store_value(e, imm_word(e), 4);
  default: return exec_other(e, op);
  }
}

static INLINE ScalarResult exec_float(Exec *e, int op)
{
  switch (op) {
  case OP_faddh: return fp_h(e, FP_ADD);
  case OP_fsubh: return fp_h(e, FP_SUB);
  case OP_fmulh: return fp_h(e, FP_MUL);
  case OP_fdivh: return fp_h(e, FP_DIV);
  case OP_fadds: return fp_s(e, FP_ADD);
  case OP_fsubs: return fp_s(e, FP_SUB);
  case OP_fmuls: return fp_s(e, FP_MUL);
  case OP_fdivs: return fp_s(e, FP_DIV);
  case OP_fnegh: return set_reg_a(e, reg_b(e) ^ SIGN16);
  case OP_fnegs: return set_pair_a(e, pair_b(e) ^ SIGN32);
  case OP_fscaleh: return set_reg_a(e, fp16_scale(e->fp16, reg_b(e), as_s16(reg_c(e))));
  case OP_fscales: return set_pair_a(e, fp32_scale(pair_b(e), as_s16(reg_c(e))));
  case OP_feqh: return set_reg_a(e, fp16_compare(e->fp16, FP_EQ, reg_b(e), reg_c(e)));
  case OP_flth: return set_reg_a(e, fp16_compare(e->fp16, FP_LT, reg_b(e), reg_c(e)));
  case OP_fleh: return set_reg_a(e, fp16_compare(e->fp16, FP_LE, reg_b(e), reg_c(e)));
  case OP_feqs: return set_reg_a(e, fp32_compare(FP_EQ, pair_b(e), pair_c(e)));
  case OP_flts: return set_reg_a(e, fp32_compare(FP_LT, pair_b(e), pair_c(e)));
  case OP_fles: return set_reg_a(e, fp32_compare(FP_LE, pair_b(e), pair_c(e)));
  case OP_h2s: return set_pair_a(e, fp16_to_fp32(e->fp16, reg_b(e)));
  case OP_s2h: return set_reg_a(e, fp16_from_fp32(e->fp16, pair_b(e)));
  case OP_i2h: return set_reg_a(e, fp16_from_i64(e->fp16, as_s16(reg_b(e))));
  case OP_u2h: return set_reg_a(e, fp16_from_u64(e->fp16, reg_b(e)));
  case OP_i2s: return set_pair_a(e, fp32_from_i64(as_s16(reg_b(e))));
  case OP_u2s: return set_pair_a(e, fp32_from_u64(reg_b(e)));
  case OP_l2h: return set_reg_a(e, fp16_from_i64(e->fp16, as_s32(pair_b(e))));
  case OP_ul2h: return set_reg_a(e, fp16_from_u64(e->fp16, pair_b(e)));
  case OP_l2s: return set_pair_a(e, fp32_from_i64(as_s32(pair_b(e))));
  case OP_ul2s: return set_pair_a(e, fp32_from_u64(pair_b(e)));
  case OP_h2i: return to_int16(e, h_value(e), true);
  case OP_h2u: return to_int16(e, h_value(e), false);
  case OP_s2i: return to_int16(e, s_value(e), true);
  case OP_s2u: return to_int16(e, s_value(e), false);
  case OP_h2l: return to_int32(e, h_value(e), true);
  case OP_h2ul: return to_int32(e, h_value(e), false);
  case OP_s2l: return to_int32(e, s_value(e), true);
  case OP_s2ul: return to_int32(e, s_value(e), false);
  default: return exec_memory(e, op);
  }
}

static INLINE ScalarResult exec_int32(Exec *e, int op)
{
  switch (op) {
  case OP_add32: return add_pairs(e, pair_b(e), pair_c(e), 0);
  case OP_addi32: return set_pair_a(e, pair_b(e) + (uint32_t)as_s16(imm_word(e)));
  case OP_addc32: return add_pairs(e, pair_b(e), pair_c(e), e->regs->carry);
  case OP_sub32: return add_pairs(e, pair_b(e), ~pair_c(e), 1);
  case OP_subc32: return add_pairs(e, pair_b(e), ~pair_c(e), e->regs->carry);
  case OP_and32: return set_pair_a(e, pair_b(e) & pair_c(e));
  case OP_or32: return set_pair_a(e, pair_b(e) | pair_c(e));
  case OP_xor32: return set_pair_a(e, pair_b(e) ^ pair_c(e));
  case OP_sll32: return set_pair_a(e, shift_left32(pair_b(e), reg_c(e)));
  case OP_slli32: return set_pair_a(e, shift_left32(pair_b(e), imm_word(e)));
  case OP_slr32: return set_pair_a(e, shift_right32(pair_b(e), reg_c(e)));
  case OP_slri32: return set_pair_a(e, shift_right32(pair_b(e), imm_word(e)));
  case OP_sar32: return set_pair_a(e, shift_sign32(pair_b(e), reg_c(e)));
  case OP_sari32: return set_pair_a(e, shift_sign32(pair_b(e), imm_word(e)));
  case OP_mul32: return set_pair_a(e, pair_b(e) * pair_c(e));
  case OP_divs32: return divide_into(e, as_s32(pair_b(e)), as_s32(pair_c(e)), false, true);
  case OP_divu32: return divide_into(e, pair_b(e), pair_c(e), false, true);
  case OP_rems32: return divide_into(e, as_s32(pair_b(e)), as_s32(pair_c(e)), true, true);
  case OP_remu32: return divide_into(e, pair_b(e), pair_c(e), true, true);
  case OP_sext16: return set_pair_a(e, (uint32_t)as_s16(reg_b(e)));
  case OP_zext16: return set_pair_a(e, reg_b(e));
  case OP_seq: return set_reg_a(e, reg_b(e) == reg_c(e));
  case OP_sne: return set_reg_a(e, reg_b(e) != reg_c(e));
  case OP_slts: return set_reg_a(e, as_s16(reg_b(e)) < as_s16(reg_c(e)));
  case OP_sltu: return set_reg_a(e, reg_b(e) < reg_c(e));
  case OP_sles: return set_reg_a(e, as_s16(reg_b(e)) <= as_s16(reg_c(e)));
  case OP_sleu: return set_reg_a(e, reg_b(e) <= reg_c(e));
  case OP_seq32: return set_reg_a(e, pair_b(e) == pair_c(e));
  case OP_sne32: return set_reg_a(e, pair_b(e) != pair_c(e));
  case OP_slts32: return set_reg_a(e, as_s32(pair_b(e)) < as_s32(pair_c(e)));
  case OP_sltu32: return set_reg_a(e, pair_b(e) < pair_c(e));
  case OP_sles32: return set_reg_a(e, as_s32(pair_b(e)) <= as_s32(pair_c(e)));
  case OP_sleu32: return set_reg_a(e, pair_b(e) <= pair_c(e));
  default: return exec_float(e, op);
  }
}

static INLINE ScalarResult exec_int16(Exec *e, int op)
{
  switch (op) {
  case OP_nop: return go_on();
  case OP_mov: return set_reg_a(e, reg_b(e));
  case OP_mov32: return set_pair_a(e, pair_b(e));
  case OP_li: return set_reg_a(e, imm_word(e));
  case OP_li32: return set_pair_a(e, e->insn->imm);
  case OP_add: return add_words(e, reg_b(e), reg_c(e), 0);
  case OP_addi: return add_words(e, reg_b(e), imm_word(e), 0);
  case OP_addc: return add_words(e, reg_b(e), reg_c(e), e->regs->carry);
  case OP_sub: return add_words(e, reg_b(e), (uint16_t)~reg_c(e), 1);
  case OP_subc: return add_words(e, reg_b(e), (uint16_t)~reg_c(e), e->regs->carry);
  case OP_rsubi: return set_reg_a(e, (uint32_t)imm_word(e) - reg_b(e));
  case OP_and: return set_reg_a(e, reg_b(e) & reg_c(e));
  case OP_andi: return set_reg_a(e, reg_b(e) & imm_word(e));
  case OP_or: return set_reg_a(e, reg_b(e) | reg_c(e));
  case OP_ori: return set_reg_a(e, reg_b(e) | imm_word(e));
  case OP_xor: return set_reg_a(e, reg_b(e) ^ reg_c(e));
  case OP_xori: return set_reg_a(e, reg_b(e) ^ imm_word(e));
  case OP_sll: return set_reg_a(e, shift_left16(reg_b(e), reg_c(e)));
  case OP_slli: return set_reg_a(e, shift_left16(reg_b(e), imm_word(e)));
  case OP_slr: return set_reg_a(e, shift_right16(reg_b(e), reg_c(e)));
  case OP_slri: return set_reg_a(e, shift_right16(reg_b(e), imm_word(e)));
  case OP_sar: return set_reg_a(e, shift_sign16(reg_b(e), reg_c(e)));
  case OP_sari: return set_reg_a(e, shift_sign16(reg_b(e), imm_word(e)));
  case OP_mul: return set_reg_a(e, (uint32_t)reg_b(e) * reg_c(e));
  case OP_muli: return set_reg_a(e, (uint32_t)reg_b(e) * imm_word(e));
  case OP_mulwu: return set_pair_a(e, (uint32_t)reg_b(e) * reg_c(e));
  case OP_mulws: return set_pair_a(e, (uint32_t)((int32_t)as_s16(reg_b(e)) * as_s16(reg_c(e))));
  case OP_divs: return divide_into(e, as_s16(reg_b(e)), as_s16(reg_c(e)), false, false);
  case OP_divu: return divide_into(e, reg_b(e), reg_c(e), false, false);
  case OP_rems: return divide_into(e, as_s16(reg_b(e)), as_s16(reg_c(e)), true, false);
  case OP_remu: return divide_into(e, reg_b(e), reg_c(e), true, false);
  case OP_sext8: return set_reg_a(e, (uint32_t)(int8_t)reg_b(e));
  case OP_zext8: return set_reg_a(e, reg_b(e) & 0xff);
  case OP_clz: return set_reg_a(e, leading_zeros(reg_b(e)));
  case OP_ctz: return set_reg_a(e, trailing_zeros(reg_b(e)));
  case OP_popcnt: return set_reg_a(e, set_bits(reg_b(e)));
  default: return exec_int32(e, op);
  }
}

/* Each opcode by itself, so that the compiler reduces the groups to its case. */
static INLINE ScalarResult exec_any(Exec *e, Opcode op)
{
  switch (op) {
#define INSN(name, format, cost, semantics) case OP_##name: return exec_int16(e, OP_##name);
#include "ir/machine/isa.def"
  case OP_COUNT: default: __builtin_unreachable();
  }
}

static bool is_float(Opcode op)
{
  CostClass cost = insn_info[op].cost;
  return cost == COST_FP || cost == COST_FDIV || cost == COST_FCONV;
}

/* Where the program has unmasked exceptions, what raises one ends the run: assumed, since the SDK
 * docs say no more of them than how to set the mask. */
static ScalarResult raise_traps(const Exec *e, const Registers *before)
{
  unsigned raised = scalar_raised(e->insn, e->fp16, before, e->regs) & before->traps;
  return raised ? fault_of(FAULT_EXCEPTION, raised) : go_on();
}

/* Has the stack grown out of its place?  A large frame leads from above the code to below address 0
 * in one step, which is behind the end of the memory. */
static bool leaves_stack(const Exec *e, uint16_t before)
{
  uint16_t now = e->regs->r[STACK_POINTER];
  return now < before ? now < e->mem->cls->floor : now > before && now > PE_MEM_BYTES;
}

ScalarResult scalar_exec(const Insn *insn, uint16_t pc, Fp16Format fp16, Registers *regs,
                         TileMem *mem)
{
  Exec e = {.insn = insn, .pc = pc, .fp16 = fp16, .regs = regs, .mem = mem};
  uint16_t stack = *stack_pointer(&e);
  Registers before;
  bool traps = regs->traps && is_float(insn->op);
  if (traps)
    before = *regs;
  exec_find_data(&e);
  ScalarResult result = exec_any(&e, insn->op);
  if (traps)
    return raise_traps(&e, &before);
  if (result.outcome == SCALAR_NEXT && leaves_stack(&e, stack))
    return fault_of(FAULT_STACK, *stack_pointer(&e));
  return result;
}

static bool has_base(Opcode op)
{
  switch ((int)op) {
  case OP_ld8u: case OP_ld8s: case OP_st8: case OP_ld16: case OP_st16: case OP_ld32: case OP_st32:
    return true;
  default: return false;
  }
}

bool scalar_access(const Insn *insn, const Registers *regs, MemoryAccess *access)
{
  uint32_t base = has_base(insn->op) ? regs->r[insn->b] : 0;
  access->store = insn_info[insn->op].cost == COST_STORE;
  access->bytes = insn_access_bytes(insn->op);
  access->address = (base + insn->imm) & 0xffff;
  return access->bytes != 0;
}

/* ---- instructions in a row -------------------------------------------------------------- */

static uint8_t stored_bytes(Opcode op)
{
  switch ((int)op) {
  case OP_st8: case OP_st8a: return 1;
  case OP_st16: case OP_st16a: case OP_call: case OP_callr: return 2;
  case OP_st32: case OP_st32a: return 4;
  default: return 0;
  }
}

/* The rows of a run sum up three counts in one word: cycles, and which of them are fitted or
 * assumed.  No count comes to more than the cycles that they span and an instruction more. */
_Static_assert(SCALAR_CYCLES + SCALAR_MOST_CYCLES <= SCALAR_PAY_MASK && 3 * SCALAR_PAY_BITS <= 32,
               "the counts fit");

uint32_t scalar_row_pay(const Timing *timing, TimingRowId row)
{
  uint32_t cycles = timing_cycles(timing, row);
  cycles = cycles == 0 ? 1 : cycles & SCALAR_PAY_MASK;
  return cycles | (timing_trust(row) == TRUST_FITTED ? cycles << SCALAR_PAY_BITS : 0) |
         (timing_trust(row) == TRUST_ASSUMED ? cycles << 2 * SCALAR_PAY_BITS : 0);
}

/* The word of code that a jump leads to; false: it leads to none. */
static bool find_target(const Insn *insn, const ImageClass *image, uint32_t *word)
{
  uint32_t target;
  if (!insn_target(insn, &target))
    return false;
  *word = (target - image->code_address) / 2;
  return target % 2 == 0 && target >= image->code_address && *word < image->code_words;
}

ScalarCode scalar_code(const Insn *insn, uint32_t word, Bounds object, const Timing *timing,
                       const ImageClass *image)
{
  CostClass cost = insn_info[insn->op].cost;
  bool jumps = cost == COST_JUMP || cost == COST_BRANCH;
  bool moves_stack = insn->a == STACK_POINTER || cost == COST_CALL || cost == COST_RETURN ||
                     (insn->a + 1u == STACK_POINTER && insn_is_pair(insn->op, 0));
  uint32_t target = 0;
  uint8_t stores = stored_bytes(insn->op);
  uint8_t bytes = object.end ? (uint8_t)insn_access_bytes(insn->op) : 0;
  if (!has_base(insn->op) && !is_outside(object, insn->imm & 0xffff, bytes))
    bytes = 0;                  /* it is known here that it stays inside */
  if (jumps && !find_target(insn, image, &target))
    return (ScalarCode){.odd = SCALAR_STOPS};
  return (ScalarCode){
    .insn = insn, .op = (uint8_t)insn->op, .words = (uint8_t)insn_words(insn->op),
    .target = target,
    .pay = {scalar_row_pay(timing, timing_scalar_row(cost, STEP_NEXT)),
            scalar_row_pay(timing, timing_scalar_row(cost, step_to(word, target)))},
    .stores = stores, .bytes = bytes, .object = object,
    .odd = (moves_stack ? SCALAR_MOVES_STACK : 0) | (is_float(insn->op) ? SCALAR_MAY_TRAP : 0) |
           (stores || bytes ? SCALAR_ACCESSES : 0) |
           (insn_access_bytes(insn->op) ? SCALAR_TOUCHES : 0) |
           (has_base(insn->op) ? SCALAR_BASED : 0),
  };
}

/* False: it is no place that can be put back. */
static RARE bool note_store_elsewhere(ScalarRun *run, uint32_t address, unsigned bytes)
{
  const uint8_t *stack = find_on_stack(run->mem, address, bytes);
  uint32_t before;
  if (LIKELY(stack != NULL))
    before = load_bytes(stack, bytes);
  else if (address + bytes > run->mem->cls->image->static_bytes || run->mem->tracked ||
           mem_load(run->mem, address, bytes, &before) != FAULT_COUNT)
    return false;
  scalar_keep_store(run->stores, address, bytes, before);
  return true;
}

static INLINE bool note_store(ScalarRun *run, const Exec *e, const ScalarCode *code,
                              uint16_t address)
{
  if (run->stores->n == run->stores->most)
    return false;
  if (UNLIKELY(!is_plain_data(e, address, code->stores)))
    return note_store_elsewhere(run, address, code->stores);
  scalar_keep_store(run->stores, address, code->stores,
                    load_bytes(e->data + address, code->stores));
  return true;
}

/* What is to be known before a load or store is carried out.  False: it is not. */
static INLINE bool run_allows(ScalarRun *run, const Exec *e, const ScalarCode *code)
{
  uint16_t base = code->odd & SCALAR_BASED ? e->regs->r[e->insn->b] : 0;
  uint16_t address = (uint16_t)(base + e->insn->imm);
  if (code->bytes && is_outside(code->object, address, code->bytes))
    return false;
  return !code->stores || note_store(run, e, code, address);
}

static INLINE const ScalarCode *code_at(const ScalarRun *run, uint16_t pc)
{
  const ImageClass *image = run->mem->cls->image;
  uint32_t offset = (uint32_t)pc - image->code_address;
  return offset < image->code_words * 2u && offset % 2 == 0 ? &run->code[offset / 2] : NULL;
}

/* The memory that it touches is used beside the row. */
static bool is_fenced(const ScalarRun *run, const ScalarCode *code)
{
  MemoryAccess access;
  uint16_t top = run->regs->r[STACK_POINTER];
  CostClass cost = insn_info[code->op].cost;
  if (!run->fences)
    return false;
  if (cost == COST_CALL || cost == COST_RETURN)
    return scalar_is_fenced(run->fences, top - 2u, top + 2u, true);
  return scalar_access(code->insn, run->regs, &access) &&
         scalar_is_fenced(run->fences, access.address, access.address + access.bytes,
                          access.store);
}

static INLINE uint16_t pc_of(const ScalarRun *run, const ScalarCode *code)
{
  return (uint16_t)(run->mem->cls->image->code_address + (code - run->code) * 2);
}

/* A call or return by an address on the stack, which lies above data and code, as nearly all are.
 * NULL: nothing has been done; else the next instruction. */
static RARE const ScalarCode *run_call(ScalarRun *run, const ScalarCode *code)
{
  CostClass cost = insn_info[code->op].cost;
  bool calls = cost == COST_CALL;
  uint16_t *pointer = &run->regs->r[STACK_POINTER], top = (uint16_t)(*pointer - (calls ? 2 : 0));
  if ((!calls && cost != COST_RETURN) || run->fences || run->stores->n == run->stores->most)
    return NULL;
  uint8_t *at = find_on_stack(run->mem, top, 2);
  if (!at)
    return NULL;
  uint32_t before = load_bytes(at, 2);
  uint32_t target = code->op == OP_call ? code->insn->imm : run->regs->r[code->insn->a];
  const ScalarCode *next = code_at(run, (uint16_t)(calls ? target : before));
  if (next && calls) {
    scalar_keep_store(run->stores, top, 2, before);
    store_bytes(at, 2, pc_of(run, code + code->words));
  }
  if (next)
    *pointer = (uint16_t)(calls ? top : top + 2);
  return next;
}

/* One whose registers have to be put back if it cannot be carried out.  NULL: it cannot; else the
 * next one. */
static RARE const ScalarCode *run_carefully(ScalarRun *run, Exec e, const ScalarCode *code,
                                            uint32_t *pay)
{
  Registers before = *run->regs;
  bool calls = insn_info[code->op].cost == COST_CALL;
  uint16_t top = (uint16_t)(run->regs->r[STACK_POINTER] - 2);   /* where it stores */
  e.insn = code->insn;
  if (is_fenced(run, code) ||
      (calls ? !note_store(run, &e, code, top) : !run_allows(run, &e, code)))
    return NULL;
  ScalarResult result = scalar_exec(code->insn, pc_of(run, code), run->fp16, run->regs, run->mem);
  bool jumps = result.outcome == SCALAR_JUMP;
  const ScalarCode *next = jumps ? code_at(run, result.pc)
                         : result.outcome == SCALAR_NEXT ? code + code->words : NULL;
  if (next) {
    *pay = code->pay[jumps];
  } else {
    *run->regs = before;
    run->stores->n -= code->stores > 0;
  }
  return next;
}

/* The part of a run in the cycles of one word of `issues`, of which `base` is the first; `*at` is
 * the next instruction, `*sum` what has been paid; `careful`: SCALAR_* of instructions that need
 * care.  False: it is not carried out. */
static INLINE bool run_word(ScalarRun *run, Exec *e, const ScalarCode **at, uint32_t *sum,
                            unsigned base, uint64_t *issues, unsigned careful)
{
  const ScalarCode *code = *at, *next = code;
  uint32_t paid = *sum;
  unsigned end = run->end < base + SCALAR_WORD_CYCLES ? run->end : base + SCALAR_WORD_CYCLES;
  uint64_t found = 0;
  for (; (paid & SCALAR_PAY_MASK) < end; code = next) {
    unsigned cycle = paid & SCALAR_PAY_MASK, odd = code->odd;
    if (odd & SCALAR_STOPS)
      break;
    if (UNLIKELY(odd & careful) && ((odd & careful) != SCALAR_TOUCHES || is_fenced(run, code))) {
      uint32_t pay = code->pay[1];
      next = run_call(run, code);
      if (!next)
        next = run_carefully(run, *e, code, &pay);
      if (!next)
        break;
      paid += pay;
    } else {
      e->insn = code->insn;
      if ((odd & SCALAR_ACCESSES) && UNLIKELY(!run_allows(run, e, code)))
        break;
      ScalarResult result = exec_any(e, code->op);
      if (result.outcome == SCALAR_JUMP) {
        paid += code->pay[1];
        next = run->code + code->target;
      } else if (LIKELY(result.outcome == SCALAR_NEXT)) {
        paid += code->pay[0];
        next = code + code->words;
      } else {
        run->stores->n -= code->stores > 0;
        break;
      }
    }
    found |= UINT64_C(1) << cycle % SCALAR_WORD_CYCLES;
  }
  *issues |= found;
  *at = code;
  *sum = paid;
  return (paid & SCALAR_PAY_MASK) >= end;
}

/* Most of the time of programs that compute is spent here: all that can be is inlined. */
FLAT void scalar_run(ScalarRun *run)
{
  Exec e = {.fp16 = run->fp16, .regs = run->regs, .mem = run->mem};
  uint32_t paid = run->first, first = run->first;
  unsigned careful = SCALAR_MOVES_STACK | (run->regs->traps ? SCALAR_MAY_TRAP : 0u) |
                     (run->fences ? SCALAR_TOUCHES : 0u);
  exec_find_data(&e);
  bool goes_on = true;
  for (unsigned word = first / SCALAR_WORD_CYCLES; goes_on && word < SCALAR_WORDS; word++)
    goes_on = run_word(run, &e, &run->at, &paid, word * SCALAR_WORD_CYCLES, &run->issues[word],
                       careful);
  run->first = paid & SCALAR_PAY_MASK;
  run->paid += paid - first;
}

/* SDK docs, builtins: a shift register for x^23 + x^18 + 1, advanced 128 steps per use. Assumed,
 * since no public text says it: the usual form that shifts to the right, and its low 16 bits as the
 * result. */
uint16_t scalar_random(uint32_t *state)
{
  uint32_t bits = *state & (((uint32_t)1 << RANDOM_BITS) - 1);
  for (unsigned i = 0; i < RANDOM_STEPS; i++) {
    uint32_t bit = (bits ^ bits >> RANDOM_TAP) & 1;
    bits = bits >> 1 | bit << (RANDOM_BITS - 1);
  }
  *state = bits;
  return (uint16_t)bits;
}
