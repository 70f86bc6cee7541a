/* Semantics of the scalar instructions, shared by both engines: the last column of isa.def as code,
 * once. No timing here. */
#include "emu/tile/tile.h"

typedef struct {
  const Insn *insn;
  uint16_t pc;
  Fp16Format fp16;
  Registers *regs;
  TileMem *mem;
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

static ScalarResult next(void)
{
  return (ScalarResult){.outcome = SCALAR_NEXT};
}

static ScalarResult jump(uint32_t pc)
{
  return (ScalarResult){.outcome = SCALAR_JUMP, .pc = (uint16_t)pc};
}

static ScalarResult fault(FaultKind kind, uint32_t value)
{
  return (ScalarResult){.outcome = SCALAR_FAULT, .fault = kind, .value = value};
}

/* Operands: 16-bit registers and immediates, 32-bit pairs. */
static uint16_t ra(const Exec *e) { return e->regs->r[e->insn->a]; }
static uint16_t rb(const Exec *e) { return e->regs->r[e->insn->b]; }
static uint16_t rc(const Exec *e) { return e->regs->r[e->insn->c]; }
static uint16_t imm(const Exec *e) { return (uint16_t)e->insn->imm; }
static uint32_t db(const Exec *e) { return reg32(e->regs, e->insn->b); }
static uint32_t dc(const Exec *e) { return reg32(e->regs, e->insn->c); }
static int16_t s16(uint16_t v) { return (int16_t)v; }
static int32_t s32(uint32_t v) { return (int32_t)v; }

static ScalarResult set16(Exec *e, uint32_t value)
{
  e->regs->r[e->insn->a] = (uint16_t)value;
  return next();
}

static ScalarResult set32(Exec *e, uint32_t value)
{
  set_reg32(e->regs, e->insn->a, value);
  return next();
}

static ScalarResult add16(Exec *e, uint16_t a, uint16_t b, unsigned carry)
{
  uint32_t sum = (uint32_t)a + b + carry;
  e->regs->carry = sum >> BITS16;
  return set16(e, sum);
}

static ScalarResult add32(Exec *e, uint32_t a, uint32_t b, unsigned carry)
{
  uint64_t sum = (uint64_t)a + b + carry;
  e->regs->carry = sum >> BITS32;
  return set32(e, (uint32_t)sum);
}

static uint16_t sll16(uint16_t v, unsigned n) { return n < BITS16 ? (uint16_t)(v << n) : 0; }
static uint16_t slr16(uint16_t v, unsigned n) { return n < BITS16 ? (uint16_t)(v >> n) : 0; }
static uint16_t sar16(uint16_t v, unsigned n)
{
  return (uint16_t)(s16(v) >> (n < BITS16 ? n : BITS16 - 1));
}
static uint32_t sll32(uint32_t v, unsigned n) { return n < BITS32 ? v << n : 0; }
static uint32_t slr32(uint32_t v, unsigned n) { return n < BITS32 ? v >> n : 0; }
static uint32_t sar32(uint32_t v, unsigned n)
{
  return (uint32_t)(s32(v) >> (n < BITS32 ? n : BITS32 - 1));
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
static ScalarResult divide(Exec *e, int64_t a, int64_t b, bool remainder, bool wide)
{
  int64_t quotient = b ? a / b : 0;
  int64_t value = remainder ? a - quotient * b : quotient;
  return wide ? set32(e, (uint32_t)value) : set16(e, (uint16_t)value);
}

/* Configuration registers lie behind memory in the address space, too, two bytes per word (seen in
 * Cerebras/csl-examples, spmv-hypersparse). */
static ScalarResult outside(FaultKind kind, uint32_t address, unsigned bytes, bool store)
{
  if (kind != FAULT_ADDRESS || bytes != 2 || address % 2 || !config_reg_at((uint16_t)(address / 2)))
    return fault(kind, address);
  return (ScalarResult){.outcome = SCALAR_CONFIG, .value = address / 2, .store = store};
}

/* Of static data, aligned, away from the code, and not watched: what nearly all accesses are. */
static uint8_t *plain_data(const TileMem *mem, uint32_t address, unsigned bytes)
{
  const ClassCode *cls = mem->cls;
  uint32_t end = address + bytes;
  bool inside = end <= cls->image->static_bytes &&
                (end <= cls->image->code_address || address >= cls->code_end);
  bool plain = mem->bytes && !mem->tracked && !(bytes > 1 && (address & 1));
  return inside && plain ? mem->bytes + address : NULL;
}

static uint32_t load_le(const uint8_t *at, unsigned bytes)
{
  uint32_t value = 0;
  for (unsigned i = 0; i < bytes; i++)
    value |= (uint32_t)at[i] << 8 * i;
  return value;
}

static ScalarResult load(Exec *e, uint32_t address, unsigned bytes, bool sign)
{
  uint32_t value;
  address &= 0xffff;
  const uint8_t *data = plain_data(e->mem, address, bytes);
  FaultKind kind = data ? FAULT_COUNT : mem_load(e->mem, address, bytes, &value);
  if (data)
    value = load_le(data, bytes);
  if (kind != FAULT_COUNT)
    return outside(kind, address, bytes, false);
  if (bytes == 4)
    return set32(e, value);
  return set16(e, sign ? (uint32_t)(int8_t)value : value);
}

static ScalarResult store(Exec *e, uint32_t address, unsigned bytes)
{
  uint32_t value = bytes == 4 ? reg32(e->regs, e->insn->a) : ra(e);
  address &= 0xffff;
  uint8_t *data = plain_data(e->mem, address, bytes);
  for (unsigned i = 0; data && i < bytes; i++)
    data[i] = (uint8_t)(value >> 8 * i);
  FaultKind kind = data ? FAULT_COUNT : mem_store(e->mem, address, bytes, value);
  return kind == FAULT_COUNT ? next() : outside(kind, address, bytes, true);
}

static ScalarResult branch(const Exec *e, bool taken)
{
  uint32_t target;
  if (!taken)
    return next();
  insn_target(e->insn, &target);
  return jump(target);
}

static uint16_t *sp(Exec *e)
{
  return &e->regs->r[STACK_POINTER];
}

static ScalarResult call(Exec *e, uint16_t target)
{
  uint16_t top = (uint16_t)(*sp(e) - 2);
  uint16_t back = (uint16_t)(e->pc + insn_words(e->insn->op) * 2);
  if (*sp(e) < 2 || top < e->mem->cls->floor)
    return fault(FAULT_STACK, top);
  FaultKind kind = mem_store(e->mem, top, 2, back);
  if (kind != FAULT_COUNT)
    return fault(kind, top);
  *sp(e) = top;
  return jump(target);
}

static ScalarResult ret(Exec *e)
{
  uint32_t back;
  FaultKind kind = mem_load(e->mem, *sp(e), 2, &back);
  if (kind != FAULT_COUNT)
    return fault(kind, *sp(e));
  *sp(e) = (uint16_t)(*sp(e) + 2);
  return jump(back);
}

static ScalarResult fp_h(Exec *e, FpBinary op)
{
  return set16(e, fp16_binary(e->fp16, op, rb(e), rc(e)));
}

static ScalarResult fp_s(Exec *e, FpBinary op)
{
  return set32(e, fp32_binary(op, db(e), dc(e)));
}

static double h_value(const Exec *e) { return fp16_to_double(e->fp16, rb(e)); }
static double s_value(const Exec *e) { return fp32_to_double(db(e)); }

static ScalarResult to_int16(Exec *e, double value, bool is_signed)
{
  return set16(e, (uint32_t)fp_to_int(value, BITS16, is_signed));
}

static ScalarResult to_int32(Exec *e, double value, bool is_signed)
{
  return set32(e, (uint32_t)fp_to_int(value, BITS32, is_signed));
}

/* Groups in the order of isa.def; each returns SCALAR_ENGINE for what is not its own. */

static ScalarResult exec_other(Exec *e)
{
  switch ((int)e->insn->op) {
  case OP_jmp: return branch(e, true);
  case OP_bz: return branch(e, ra(e) == 0);
  case OP_bnz: return branch(e, ra(e) != 0);
  case OP_beq: return branch(e, ra(e) == rb(e));
  case OP_bne: return branch(e, ra(e) != rb(e));
  case OP_blts: return branch(e, s16(ra(e)) < s16(rb(e)));
  case OP_bltu: return branch(e, ra(e) < rb(e));
  case OP_bges: return branch(e, s16(ra(e)) >= s16(rb(e)));
  case OP_bgeu: return branch(e, ra(e) >= rb(e));
  case OP_beqi: return branch(e, ra(e) == imm(e));
  case OP_bnei: return branch(e, ra(e) != imm(e));
  case OP_bltsi: return branch(e, s16(ra(e)) < s16(imm(e)));
  case OP_bltui: return branch(e, ra(e) < imm(e));
  case OP_bgesi: return branch(e, s16(ra(e)) >= s16(imm(e)));
  case OP_bgeui: return branch(e, ra(e) >= imm(e));
  case OP_call: return call(e, imm(e));
  case OP_callr: return call(e, ra(e));
  case OP_ret: return ret(e);
  case OP_trap: return fault(FAULT_TRAP, imm(e));
  case OP_assert: return ra(e) ? next() : fault(FAULT_ASSERT, 0);
  case OP_vstat: return set16(e, e->regs->vstat);
  default: return (ScalarResult){.outcome = SCALAR_ENGINE};
  }
}

static ScalarResult exec_memory(Exec *e)
{
  switch ((int)e->insn->op) {
  case OP_ld8u: return load(e, (uint32_t)rb(e) + imm(e), 1, false);
  case OP_ld8s: return load(e, (uint32_t)rb(e) + imm(e), 1, true);
  case OP_ld16: return load(e, (uint32_t)rb(e) + imm(e), 2, false);
  case OP_ld32: return load(e, (uint32_t)rb(e) + imm(e), 4, false);
  case OP_ld8ua: return load(e, imm(e), 1, false);
  case OP_ld8sa: return load(e, imm(e), 1, true);
  case OP_ld16a: return load(e, imm(e), 2, false);
  case OP_ld32a: return load(e, imm(e), 4, false);
  case OP_st8: return store(e, (uint32_t)rb(e) + imm(e), 1);
  case OP_st16: return store(e, (uint32_t)rb(e) + imm(e), 2);
  case OP_st32: return store(e, (uint32_t)rb(e) + imm(e), 4);
  case OP_st8a: return store(e, imm(e), 1);
  case OP_st16a: return store(e, imm(e), 2);
  case OP_st32a: return store(e, imm(e), 4);
  default: return exec_other(e);
  }
}

static ScalarResult exec_float(Exec *e)
{
  switch ((int)e->insn->op) {
  case OP_faddh: return fp_h(e, FP_ADD);
  case OP_fsubh: return fp_h(e, FP_SUB);
  case OP_fmulh: return fp_h(e, FP_MUL);
  case OP_fdivh: return fp_h(e, FP_DIV);
  case OP_fadds: return fp_s(e, FP_ADD);
  case OP_fsubs: return fp_s(e, FP_SUB);
  case OP_fmuls: return fp_s(e, FP_MUL);
  case OP_fdivs: return fp_s(e, FP_DIV);
  case OP_fnegh: return set16(e, rb(e) ^ SIGN16);
  case OP_fnegs: return set32(e, db(e) ^ SIGN32);
  case OP_fscaleh: return set16(e, fp16_scale(e->fp16, rb(e), s16(rc(e))));
  case OP_fscales: return set32(e, fp32_scale(db(e), s16(rc(e))));
  case OP_feqh: return set16(e, fp16_compare(e->fp16, FP_EQ, rb(e), rc(e)));
  case OP_flth: return set16(e, fp16_compare(e->fp16, FP_LT, rb(e), rc(e)));
  case OP_fleh: return set16(e, fp16_compare(e->fp16, FP_LE, rb(e), rc(e)));
  case OP_feqs: return set16(e, fp32_compare(FP_EQ, db(e), dc(e)));
  case OP_flts: return set16(e, fp32_compare(FP_LT, db(e), dc(e)));
  case OP_fles: return set16(e, fp32_compare(FP_LE, db(e), dc(e)));
  case OP_h2s: return set32(e, fp16_to_fp32(e->fp16, rb(e)));
  case OP_s2h: return set16(e, fp16_from_fp32(e->fp16, db(e)));
  case OP_i2h: return set16(e, fp16_from_i64(e->fp16, s16(rb(e))));
  case OP_u2h: return set16(e, fp16_from_u64(e->fp16, rb(e)));
  case OP_i2s: return set32(e, fp32_from_i64(s16(rb(e))));
  case OP_u2s: return set32(e, fp32_from_u64(rb(e)));
  case OP_l2h: return set16(e, fp16_from_i64(e->fp16, s32(db(e))));
  case OP_ul2h: return set16(e, fp16_from_u64(e->fp16, db(e)));
  case OP_l2s: return set32(e, fp32_from_i64(s32(db(e))));
  case OP_ul2s: return set32(e, fp32_from_u64(db(e)));
  case OP_h2i: return to_int16(e, h_value(e), true);
  case OP_h2u: return to_int16(e, h_value(e), false);
  case OP_s2i: return to_int16(e, s_value(e), true);
  case OP_s2u: return to_int16(e, s_value(e), false);
  case OP_h2l: return to_int32(e, h_value(e), true);
  case OP_h2ul: return to_int32(e, h_value(e), false);
  case OP_s2l: return to_int32(e, s_value(e), true);
  case OP_s2ul: return to_int32(e, s_value(e), false);
  default: return exec_memory(e);
  }
}

static ScalarResult exec_int32(Exec *e)
{
  switch ((int)e->insn->op) {
  case OP_add32: return add32(e, db(e), dc(e), 0);
  case OP_addi32: return set32(e, db(e) + (uint32_t)s16(imm(e)));
  case OP_addc32: return add32(e, db(e), dc(e), e->regs->carry);
  case OP_sub32: return add32(e, db(e), ~dc(e), 1);
  case OP_subc32: return add32(e, db(e), ~dc(e), e->regs->carry);
  case OP_and32: return set32(e, db(e) & dc(e));
  case OP_or32: return set32(e, db(e) | dc(e));
  case OP_xor32: return set32(e, db(e) ^ dc(e));
  case OP_sll32: return set32(e, sll32(db(e), rc(e)));
  case OP_slli32: return set32(e, sll32(db(e), imm(e)));
  case OP_slr32: return set32(e, slr32(db(e), rc(e)));
  case OP_slri32: return set32(e, slr32(db(e), imm(e)));
  case OP_sar32: return set32(e, sar32(db(e), rc(e)));
  case OP_sari32: return set32(e, sar32(db(e), imm(e)));
  case OP_mul32: return set32(e, db(e) * dc(e));
  case OP_divs32: return divide(e, s32(db(e)), s32(dc(e)), false, true);
  case OP_divu32: return divide(e, db(e), dc(e), false, true);
  case OP_rems32: return divide(e, s32(db(e)), s32(dc(e)), true, true);
  case OP_remu32: return divide(e, db(e), dc(e), true, true);
  case OP_sext16: return set32(e, (uint32_t)s16(rb(e)));
  case OP_zext16: return set32(e, rb(e));
  case OP_seq: return set16(e, rb(e) == rc(e));
  case OP_sne: return set16(e, rb(e) != rc(e));
  case OP_slts: return set16(e, s16(rb(e)) < s16(rc(e)));
  case OP_sltu: return set16(e, rb(e) < rc(e));
  case OP_sles: return set16(e, s16(rb(e)) <= s16(rc(e)));
  case OP_sleu: return set16(e, rb(e) <= rc(e));
  case OP_seq32: return set16(e, db(e) == dc(e));
  case OP_sne32: return set16(e, db(e) != dc(e));
  case OP_slts32: return set16(e, s32(db(e)) < s32(dc(e)));
  case OP_sltu32: return set16(e, db(e) < dc(e));
  case OP_sles32: return set16(e, s32(db(e)) <= s32(dc(e)));
  case OP_sleu32: return set16(e, db(e) <= dc(e));
  default: return exec_float(e);
  }
}

static ScalarResult exec_int16(Exec *e)
{
  switch ((int)e->insn->op) {
  case OP_nop: return next();
  case OP_mov: return set16(e, rb(e));
  case OP_mov32: return set32(e, db(e));
  case OP_li: return set16(e, imm(e));
  case OP_li32: return set32(e, e->insn->imm);
  case OP_add: return add16(e, rb(e), rc(e), 0);
  case OP_addi: return add16(e, rb(e), imm(e), 0);
  case OP_addc: return add16(e, rb(e), rc(e), e->regs->carry);
  case OP_sub: return add16(e, rb(e), (uint16_t)~rc(e), 1);
  case OP_subc: return add16(e, rb(e), (uint16_t)~rc(e), e->regs->carry);
  case OP_rsubi: return set16(e, (uint32_t)imm(e) - rb(e));
  case OP_and: return set16(e, rb(e) & rc(e));
  case OP_andi: return set16(e, rb(e) & imm(e));
  case OP_or: return set16(e, rb(e) | rc(e));
  case OP_ori: return set16(e, rb(e) | imm(e));
  case OP_xor: return set16(e, rb(e) ^ rc(e));
  case OP_xori: return set16(e, rb(e) ^ imm(e));
  case OP_sll: return set16(e, sll16(rb(e), rc(e)));
  case OP_slli: return set16(e, sll16(rb(e), imm(e)));
  case OP_slr: return set16(e, slr16(rb(e), rc(e)));
  case OP_slri: return set16(e, slr16(rb(e), imm(e)));
  case OP_sar: return set16(e, sar16(rb(e), rc(e)));
  case OP_sari: return set16(e, sar16(rb(e), imm(e)));
  case OP_mul: return set16(e, (uint32_t)rb(e) * rc(e));
  case OP_muli: return set16(e, (uint32_t)rb(e) * imm(e));
  case OP_mulwu: return set32(e, (uint32_t)rb(e) * rc(e));
  case OP_mulws: return set32(e, (uint32_t)((int32_t)s16(rb(e)) * s16(rc(e))));
  case OP_divs: return divide(e, s16(rb(e)), s16(rc(e)), false, false);
  case OP_divu: return divide(e, rb(e), rc(e), false, false);
  case OP_rems: return divide(e, s16(rb(e)), s16(rc(e)), true, false);
  case OP_remu: return divide(e, rb(e), rc(e), true, false);
  case OP_sext8: return set16(e, (uint32_t)(int8_t)rb(e));
  case OP_zext8: return set16(e, rb(e) & 0xff);
  case OP_clz: return set16(e, leading_zeros(rb(e)));
  case OP_ctz: return set16(e, trailing_zeros(rb(e)));
  case OP_popcnt: return set16(e, set_bits(rb(e)));
  default: return exec_int32(e);
  }
}

/* Where the program has unmasked exceptions, what raises one ends the run: assumed, since the SDK
 * docs say no more of them than how to set the mask. */
static ScalarResult exec_trapping(Exec *e)
{
  Registers before = *e->regs;
  ScalarResult result = exec_float(e);
  unsigned raised = scalar_raised(e->insn, e->fp16, &before, e->regs) & before.traps;
  return raised ? fault(FAULT_EXCEPTION, raised) : result;
}

/* The groups follow each other; what a cost class cannot be in is skipped. */
static ScalarResult exec_any(Exec *e)
{
  switch (insn_info[e->insn->op].cost) {
  case COST_JUMP: case COST_BRANCH: case COST_CALL: case COST_RETURN: return exec_other(e);
  case COST_LOAD: case COST_STORE: return exec_memory(e);
  case COST_FP: case COST_FDIV: return e->regs->traps ? exec_trapping(e) : exec_float(e);
  case COST_ALU16: case COST_ALU32: case COST_IDIV: case COST_ENDTASK: case COST_DSR_LOAD:
  case COST_DSR_UPDATE: case COST_VECTOR: case COST_CONFIG: case COST_RANDOM: case COST_COUNT:
  default: return exec_int16(e);
  }
}

static inline ScalarResult exec_one(Exec *e)
{
  uint16_t stack = *sp(e);
  ScalarResult result = exec_any(e);
  if (result.outcome == SCALAR_NEXT && *sp(e) < stack && *sp(e) < e->mem->cls->floor)
    return fault(FAULT_STACK, *sp(e));
  return result;
}

ScalarResult scalar_exec(const Insn *insn, uint16_t pc, Fp16Format fp16, Registers *regs,
                         TileMem *mem)
{
  Exec e = {insn, pc, fp16, regs, mem};
  return exec_one(&e);
}

bool scalar_access(const Insn *insn, const Registers *regs, MemoryAccess *access)
{
  CostClass cost = insn_info[insn->op].cost;
  uint32_t base = 0;
  access->store = cost == COST_STORE;
  switch ((int)insn->op) {
  case OP_ld8u: case OP_ld8s: case OP_st8:
  case OP_ld16: case OP_st16: case OP_ld32: case OP_st32:
    base = regs->r[insn->b];
    break;
  case OP_ld8ua: case OP_ld8sa: case OP_st8a:
  case OP_ld16a: case OP_st16a: case OP_ld32a: case OP_st32a:
    break;
  default: return false;
  }
  switch ((int)insn->op) {
  case OP_ld8u: case OP_ld8s: case OP_ld8ua: case OP_ld8sa: case OP_st8: case OP_st8a:
    access->bytes = 1;
    break;
  case OP_ld16: case OP_st16: case OP_ld16a: case OP_st16a: access->bytes = 2; break;
  default: access->bytes = 4; break;
  }
  access->address = (base + insn->imm) & 0xffff;
  return true;
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

static uint16_t stored_address(const Insn *insn, const Registers *regs)
{
  switch ((int)insn->op) {
  case OP_call: case OP_callr: return (uint16_t)(regs->r[STACK_POINTER] - 2);
  case OP_st8: case OP_st16: case OP_st32: return (uint16_t)(regs->r[insn->b] + insn->imm);
  default: return (uint16_t)insn->imm;
  }
}

/* A row of instructions sums up three counts in one word: cycles, and which of them are fitted or
 * assumed.  No count comes to twice the cycles of a row and an instruction more. */
enum { PAY_BITS = 10, PAY_MASK = (1 << PAY_BITS) - 1 };
_Static_assert(64 + SCALAR_MOST_CYCLES <= PAY_MASK && 3 * PAY_BITS <= 32, "the counts fit");

/* Of an instruction whose row has 0 cycles, too: the next one issues in another cycle. */
static uint32_t pay_of(const Timing *timing, CostClass cost, bool taken)
{
  TimingRowId row = timing_scalar_row(cost, taken);
  uint32_t cycles = timing_cycles(timing, row);
  cycles = cycles == 0 ? 1 : cycles & PAY_MASK;
  return cycles | (timing_trust(row) == TRUST_FITTED ? cycles << PAY_BITS : 0) |
         (timing_trust(row) == TRUST_ASSUMED ? cycles << 2 * PAY_BITS : 0);
}

ScalarCode scalar_code(const Insn *insn, const Timing *timing)
{
  CostClass cost = insn_info[insn->op].cost;
  return (ScalarCode){
    .insn = insn, .words = (uint8_t)insn_words(insn->op),
    .pay = {pay_of(timing, cost, false), pay_of(timing, cost, true)},
    .stores = stored_bytes(insn->op),
    .careful = insn->a == STACK_POINTER || cost == COST_CALL || cost == COST_RETURN ||
               cost == COST_FP || cost == COST_FDIV,
  };
}

/* False: it is no place that can be put back. */
static bool note_store(ScalarRun *run, const ScalarCode *code)
{
  const ClassCode *cls = run->mem->cls;
  uint32_t address = stored_address(code->insn, run->regs), end = address + code->stores, before;
  bool in_data = end <= cls->image->static_bytes;
  bool on_stack = address >= cls->stack_low && end <= cls->image->stack_top;
  if ((!in_data && !on_stack) || run->mem->tracked || run->stores->n == SCALAR_STORES ||
      mem_load(run->mem, address, code->stores, &before) != FAULT_COUNT)
    return false;
  unsigned i = run->stores->n++;
  run->stores->at[i].before = before;
  run->stores->at[i].address = (uint16_t)address;
  run->stores->at[i].bytes = code->stores;
  return true;
}

/* False: nothing has changed. */
static inline bool run_one(ScalarRun *run, const ScalarCode *code, uint32_t *paid)
{
  Registers before;
  Exec e = {code->insn, run->pc, run->fp16, run->regs, run->mem};
  if (code->careful)
    before = *run->regs;
  ScalarResult result = exec_one(&e);
  bool jumps = result.outcome == SCALAR_JUMP;
  if ((!jumps && result.outcome != SCALAR_NEXT) || (jumps && result.pc == PC_RETURN)) {
    if (code->careful)
      *run->regs = before;
    return false;
  }
  *paid += code->pay[jumps];
  run->pc = jumps ? result.pc : (uint16_t)(run->pc + code->words * 2);
  return true;
}

/* Most of the time of programs that compute is spent here: all that can be is inlined. */
__attribute__((flatten)) uint64_t scalar_run(ScalarRun *run)
{
  const ImageClass *image = run->mem->cls->image;
  uint64_t issues = 0;
  uint32_t paid = run->first, first = run->first;
  run->stores->n = 0;
  while ((paid & PAY_MASK) < run->end) {
    uint32_t offset = (uint32_t)run->pc - image->code_address;
    unsigned at = paid & PAY_MASK;
    if (offset >= image->code_words * 2u || offset % 2)
      break;
    const ScalarCode *code = &run->code[offset / 2];
    if (!code->insn || (code->stores && !note_store(run, code)))
      break;
    if (!run_one(run, code, &paid)) {
      run->stores->n -= code->stores > 0;
      break;
    }
    issues |= UINT64_C(1) << at;
  }
  run->first = paid & PAY_MASK;
  run->paid[TRUST_FITTED] = paid >> PAY_BITS & PAY_MASK;
  run->paid[TRUST_ASSUMED] = paid >> 2 * PAY_BITS;
  run->paid[TRUST_DOCUMENTED] = run->first - first - run->paid[TRUST_FITTED] -
                                run->paid[TRUST_ASSUMED];
  return issues;
}

void scalar_undo_stores(const ScalarStores *stores, TileMem *mem)
{
  for (unsigned i = stores->n; i-- > 0;)
    mem_store(mem, stores->at[i].address, stores->at[i].bytes, stores->at[i].before);
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
