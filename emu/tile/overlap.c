/* What the main thread does while its vector operation on memory runs: docs/cycle-model.md. */
#include "emu/tile/tile.h"

/* ---- the operation --------------------------------------------------------------------------- */

static bool is_at_hand(const VecStream *s)
{
  return s->kind == VS_NONE || s->kind == VS_VALUE || s->kind == VS_MEMORY;
}

static bool is_on_memory(const VecRun *run)
{
  return !run->async && !run->unbounded && !run->traps && !run->fold &&
         run->done.kind == ACT_NONE && run->dest.kind == VS_MEMORY && is_at_hand(&run->src[0]) &&
         is_at_hand(&run->src[1]);
}

static bool is_in_memory(const VecOperand *operand, Dsrs dsrs)
{
  if (operand->kind != VOPND_DSR)
    return true;
  DescKind kind = dsr_at(dsrs, operand->file, operand->number)->desc.kind;
  return kind == DESC_MEM1D || kind == DESC_MEM4D || kind == DESC_CIRC;
}

bool overlap_follows(const Insn *insn, Dsrs dsrs)
{
  const VecOperands *vec = &insn->vec;
  return insn->op == OP_vec && vec->dest.kind == VOPND_DSR && is_in_memory(&vec->dest, dsrs) &&
         is_in_memory(&vec->src0, dsrs) && is_in_memory(&vec->src1, dsrs);
}

/* ---- instructions beside it ------------------------------------------------------------------ */

/* Whether a stream in memory can still touch the bytes.  Each step goes by the stride of one
 * dimension, so all of them together go no further than as many by the longest. */
static bool may_touch(const VecStream *s, uint32_t address, unsigned bytes, uint32_t remaining)
{
  int64_t low = s->address, end = s->address;
  if (remaining == 0)
    return false;
  if (s->circular && s->wrap_bytes) {
    low = s->wrap_base < low ? s->wrap_base : low;
    end = s->wrap_base + s->wrap_bytes > end ? s->wrap_base + s->wrap_bytes : end;
  } else {
    for (unsigned d = 0; d < s->dimensions; d++) {
      int64_t last = s->address + ((int64_t)remaining - 1) * s->strides[d] * s->element_bytes;
      low = last < low ? last : low;
      end = last > end ? last : end;
    }
  }
  end += s->element_bytes;
  bool wraps = low < 0 || end > UINT16_MAX + 1;
  return wraps || (address < end && (int64_t)address + bytes > low);
}

static bool is_load_elsewhere(const VecRun *run, const Insn *insn, const Registers *regs)
{
  MemoryAccess access = {0};
  return scalar_access(insn, regs, &access) && access.address + access.bytes <= PE_MEM_BYTES &&
         !may_touch(&run->dest, access.address, access.bytes, run->remaining);
}

static bool names_register(const VecStream *s, const Insn *insn)
{
  return s->from_dsr && s->file == insn->file && s->number == insn->a;
}

static bool is_update_elsewhere(const VecRun *run, const Insn *insn)
{
  return insn->op == OP_dsrset && !names_register(&run->dest, insn) &&
         !names_register(&run->src[0], insn) && !names_register(&run->src[1], insn);
}

/* The instructions of the 16-bit arithmetic unit's class that concern more than registers. */
static bool is_more_than_arithmetic(Opcode op)
{
  switch ((int)op) {
  case OP_trap: case OP_assert: case OP_dsrget: case OP_vstat: case OP_act: case OP_acti:
  case OP_blk: case OP_blki: case OP_unblk: case OP_unblki: case OP_prng:
    return true;
  default: return false;
  }
}

static bool may_stand_between(const VecRun *run, const Insn *insn)
{
  switch (insn_info[insn->op].cost) {
  case COST_ALU16: case COST_ALU32: case COST_CMP32: case COST_ORDER32: case COST_MOVE32:
    return !is_more_than_arithmetic(insn->op);
  case COST_LOAD: return true;
  case COST_DSR_UPDATE: return is_update_elsewhere(run, insn);
  case COST_MUL32: case COST_IDIV: case COST_FP: case COST_FDIV: case COST_FCONV:
  case COST_STORE: case COST_JUMP:
  case COST_BRANCH: case COST_CALL: case COST_RETURN: case COST_ENDTASK: case COST_DSR_LOAD:
  case COST_VECTOR: case COST_CONFIG: case COST_COUNTER: case COST_RANDOM: case COST_COUNT: default:
    return false;
  }
}

bool overlap_issues(const VecRun *run, const Insn *insn, const Registers *regs)
{
  return may_stand_between(run, insn) &&
         (insn_info[insn->op].cost != COST_LOAD || is_load_elsewhere(run, insn, regs));
}

/* ---- both ------------------------------------------------------------------------------------ */

bool overlap_allows(const VecRun *run, const ClassCode *cls, const Timing *timing)
{
  uint16_t pc = (uint16_t)(run->pc + run->insn_words * 2);
  const Insn *insn = class_insn(cls, pc);
  if (!timing->vector_next || !is_on_memory(run))
    return false;
  for (; insn && may_stand_between(run, insn); insn = class_insn(cls, pc))
    pc = (uint16_t)(pc + insn_words(insn->op) * 2);
  return insn && insn->op == OP_vec;
}
