/* Vector operations that begin again as they have begun before: most tiles of a class issue an
 * instruction with the same descriptors, so what one has captured does for the others, but for what
 * registers give.  The reference engine captures each operation by itself. */
#include "emu/tile/tile_internal.h"

#include <string.h>

static const VecOperand *operand_at(const VecOperands *vec, unsigned k)
{
  return k == 0 ? &vec->dest : k == 1 ? &vec->src0 : &vec->src1;
}

/* An instruction often goes through a few addresses in turn: each has a place of its own.  No map
 * of stb_ds: what comes to a place takes it, so one look is enough and nothing grows.  BiCGSTAB of
 * csl-examples on 14 x 14 tiles captures nine of ten operations no more; with 32 places by the
 * instruction alone it was half of them. */
unsigned known_place(const Insn *insn, Dsrs dsrs)
{
  const uint32_t spreads = 0x9e3779b1u;
  uint32_t all = (uint32_t)((uintptr_t)insn / sizeof *insn);
  for (unsigned k = 0; k < KNOWN_OPERANDS; k++) {
    const VecOperand *operand = operand_at(&insn->vec, k);
    if (operand->kind == VOPND_DSR)
      all = all * spreads + dsr_at(dsrs, operand->file, operand->number)->desc.base;
  }
  return all * spreads >> (32 - KNOWN_BITS);
}

/* What the operation captures follows from the instruction and from its descriptors, but for what
 * known_begins puts in: no register is an index or names the color of a queue, and no position in a
 * descriptor or in a FIFO matters. */
static bool is_by_descriptors(const VecRun *run, const Insn *insn, const Tile *t)
{
  const VecStream *streams[KNOWN_OPERANDS] = {&run->dest, &run->src[0], &run->src[1]};
  bool all = !insn->vec.has_index && !t->registers.queues;
  for (unsigned k = 0; k < KNOWN_OPERANDS; k++)
    all &= streams[k]->kind != VS_FIFO && !(streams[k]->flags & DESC_F_STEP);
  return all;
}

void known_keep(KnownRun *known, const VecRun *run, const Insn *insn, const Tile *t)
{
  known->insn = NULL;
  if (!is_by_descriptors(run, insn, t))
    return;
  known->insn = insn;
  known->run = *run;
  for (unsigned k = 0; k < KNOWN_OPERANDS; k++) {
    const VecOperand *operand = operand_at(&insn->vec, k);
    if (operand->kind == VOPND_DSR)
      known->desc[k] = dsr_at(t->dsrs, operand->file, operand->number)->desc;
  }
}

/* The tile's descriptors are those that the instruction had then.  Byte by byte: where equal ones
 * differ in bytes without a meaning, the operation is captured again. */
static bool has_descriptors(const KnownRun *known, const Insn *insn, Dsrs dsrs)
{
  for (unsigned k = 0; k < KNOWN_OPERANDS; k++) {
    const VecOperand *operand = operand_at(&insn->vec, k);
    if (operand->kind == VOPND_DSR &&
        memcmp(&known->desc[k], &dsr_at(dsrs, operand->file, operand->number)->desc,
               sizeof known->desc[k]) != 0)
      return false;
  }
  return true;
}

/* The values of operands that are registers. */
static void put_values(VecRun *run, const VecOperands *vec, const Registers *regs)
{
  VecStream *streams[KNOWN_OPERANDS] = {&run->dest, &run->src[0], &run->src[1]};
  for (unsigned k = 0; k < KNOWN_OPERANDS; k++) {
    const VecOperand *operand = operand_at(vec, k);
    if (operand->kind == VOPND_REG)
      streams[k]->value = vec_register(regs, operand->number, streams[k]->element_bytes);
  }
}

bool known_begins(KnownRun *known, VecRun *run, const Insn *insn, const Tile *t)
{
  const VecOperands *vec = &insn->vec;
  const Registers *regs = &t->regs;
  if (known->insn != insn || known->run.pc != t->pc || t->registers.queues ||
      !has_descriptors(known, insn, t->dsrs))
    return false;
  known->times++;
  *run = known->run;
  run->carry = regs->vector_carry;
  run->traps = regs->traps;
  if (vec->has_scalar)
    run->scalar = vec_register(regs, vec->scalar, vec_operand_bytes(vec, VSLOT_SCALAR));
  put_values(run, vec, regs);
  return true;
}
