/* Machine instructions over virtual registers: what they read, write and where they go. */
#include "ir/codegen/codegen.h"


#include <stb_ds.h>

static unsigned vec_operands(const MInsn *mi, MOperand out[])
{
  unsigned n = 0;
  for (uint8_t slot = 0; slot < MOST_OPERANDS; slot++) {
    if (mi->r[slot] == REG_NONE || (slot == 1 && mi->vec->folds))
      continue;
    out[n++] = (MOperand){slot, slot == 0, slot != 0 || mi->vec->folds};
  }
  return n;
}

unsigned mi_operands(const MInsn *mi, MOperand out[MOST_OPERANDS])
{
  if (mi->op == MI_LABEL || mi->op == OP_blki || mi->op == OP_unblki)
    return 0;             /* blki, unblki: `a` is the kind of the id, not a register */
  Opcode op = (Opcode)mi->op;
  bool def = insn_defines_a(op);
  unsigned n = 0;
  switch (insn_info[op].format) {
  case FMT_R: case FMT_RI: case FMT_RI32: case FMT_LDA: case FMT_STA: case FMT_RJ: case FMT_RIJ:
    out[n++] = (MOperand){0, def, !def};
    break;
  case FMT_RR: case FMT_RRI: case FMT_LD: case FMT_ST: case FMT_RRJ:
    out[n++] = (MOperand){0, def, !def};
    out[n++] = (MOperand){1, false, true};
    break;
  case FMT_RRR:
    out[n++] = (MOperand){0, def, !def};
    out[n++] = (MOperand){1, false, true};
    out[n++] = (MOperand){2, false, true};
    break;
  case FMT_DSRLD: case FMT_DSRSET:
    if (!mi->absolute)
      out[n++] = (MOperand){1, false, true};
    break;
  case FMT_DSRGET:
    out[n++] = (MOperand){1, true, false};
    break;
  case FMT_CTR:
    out[n++] = (MOperand){1, false, true};
    break;
  case FMT_VEC:
    return vec_operands(mi, out);
  case FMT_NONE: case FMT_I: case FMT_J: case FMT_CTRA: case FMT_COUNT: default:
    break;
  }
  return n;
}

bool mi_is_jump(const MInsn *mi)
{
  return mi->op != MI_LABEL && mi->op != OP_call && insn_has_target((Opcode)mi->op);
}

bool mi_ends_flow(const MInsn *mi)
{
  return mi->op == OP_jmp || mi->op == OP_ret || mi->op == OP_endtask || mi->op == OP_trap;
}

bool mi_is_copy(const MInsn *mi)
{
  return (mi->op == OP_mov || mi->op == OP_mov32) && !(mi->r[1] & (REG_LO | REG_HI));
}

/* Beyond defining a register. */
static bool mi_has_effect(const MInsn *mi)
{
  if (mi->op == MI_LABEL || mi_is_jump(mi) || mi_ends_flow(mi) || mi->clobbers || mi->uses)
    return true;
  Opcode op = (Opcode)mi->op;
  const InsnInfo *info = &insn_info[op];
  if (op == OP_vec || op == OP_ldsr || op == OP_dsrset || op == OP_call || op == OP_callr ||
      info->cost == COST_CONFIG || info->cost == COST_RANDOM)
    return true;
  /* Carry is a second result; mir_carry_is_read looks for what reads it. */
  if (insn_defines_carry(op))
    return op != OP_addi && op != OP_add && op != OP_sub && op != OP_add32 && op != OP_sub32;
  return !(insn_defines_a(op) || op == OP_dsrget) || op == OP_vstat;
}

bool mi_invert(Opcode op, Opcode *inverse)
{
  static const Opcode pairs[][2] = {
    {OP_bz, OP_bnz},     {OP_beq, OP_bne},     {OP_blts, OP_bges},   {OP_bltu, OP_bgeu},
    {OP_beqi, OP_bnei},  {OP_bltsi, OP_bgesi}, {OP_bltui, OP_bgeui},
  };
  for (size_t i = 0; i < ARRAY_COUNT(pairs); i++)
    for (unsigned k = 0; k < 2; k++)
      if (pairs[i][k] == op) {
        *inverse = pairs[i][1 - k];
        return true;
      }
  return false;
}

uint16_t mi_reads(const MInsn *mi)
{
  MOperand ops[MOST_OPERANDS];
  unsigned n = mi_operands(mi, ops);
  uint16_t mask = mi->uses;
  for (unsigned k = 0; k < n; k++)
    mask |= ops[k].use ? reg_mask(mi->r[ops[k].slot]) : 0;
  return mask;
}

uint16_t mi_writes(const MInsn *mi)
{
  MOperand ops[MOST_OPERANDS];
  unsigned n = mi_operands(mi, ops);
  uint16_t mask = mi->clobbers;
  for (unsigned k = 0; k < n; k++)
    mask |= ops[k].def ? reg_mask(mi->r[ops[k].slot]) : 0;
  return mask;
}

bool mi_reads_carry(const MInsn *mi)
{
  return mi->op == OP_addc || mi->op == OP_addc32 || mi->op == OP_subc || mi->op == OP_subc32;
}

bool mir_carry_is_read(const MFunc *mf, size_t i)
{
  for (size_t k = i + 1; k < arrlenu(mf->code); k++) {
    const MInsn *mi = &mf->code[k];
    if (mi->dead)
      continue;
    if (mi->op == MI_LABEL)
      return false;
    if (mi_reads_carry(mi))
      return true;
    if (insn_defines_carry((Opcode)mi->op) || mi_is_jump(mi) || mi_ends_flow(mi) || mi->clobbers)
      return false;
  }
  return false;
}

/* ---- sweeping ------------------------------------------------------------------------------- */

static bool defines_nothing_used(const MInsn *mi, const uint32_t *uses)
{
  MOperand ops[MOST_OPERANDS];
  unsigned n = mi_operands(mi, ops);
  for (unsigned i = 0; i < n; i++) {
    Reg r = mi->r[ops[i].slot];
    if (ops[i].def && (!reg_is_virtual(r) || uses[reg_id(r) - FIRST_VREG]))
      return false;
  }
  return true;
}

static void count_uses(const MInsn *mi, uint32_t *uses, int32_t change)
{
  MOperand ops[MOST_OPERANDS];
  unsigned n = mi_operands(mi, ops);
  for (unsigned i = 0; i < n; i++) {
    Reg r = mi->r[ops[i].slot];
    if (ops[i].use && reg_is_virtual(r))
      uses[reg_id(r) - FIRST_VREG] += (uint32_t)change;
  }
}

void mir_sweep(MFunc *mf)
{
  uint32_t *uses = base_zeroed(arrlenu(mf->vregs) + 1, sizeof *uses);
  for (size_t i = 0; i < arrlenu(mf->code); i++)
    if (!mf->code[i].dead)
      count_uses(&mf->code[i], uses, 1);
  bool again = true;
  while (again) {
    again = false;
    for (size_t i = arrlenu(mf->code); i-- > 0;) {
      MInsn *mi = &mf->code[i];
      if (mi->dead || mi_has_effect(mi) || !defines_nothing_used(mi, uses) ||
          mir_carry_is_read(mf, i))
        continue;
      mi->dead = true;
      count_uses(mi, uses, -1);
      again = true;
    }
  }
  size_t kept = 0;
  for (size_t i = 0; i < arrlenu(mf->code); i++)
    if (!mf->code[i].dead)
      mf->code[kept++] = mf->code[i];
  arrsetlen(mf->code, kept);
  free(uses);
}
