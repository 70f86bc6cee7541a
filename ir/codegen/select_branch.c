/* Instruction selection of branches: a comparison that only a branch uses is part of the branch. */
#include "ir/codegen/codegen.h"

#include <stb_ds.h>

/* Equality with the address of a global, which is an immediate too. */
static bool branch_address(Sel *s, const IrInsn *cmp, bool truth, uint32_t label)
{
  const IrInsn *address = &s->f->insns[cmp->args[1].raw];
  if ((cmp->op != IR_eq && cmp->op != IR_ne) || address->op != IR_global_addr)
    return false;
  Addr at = sel_address(s, cmp->args[1]);
  sel_jump(s, (cmp->op == IR_eq) == truth ? OP_beqi : OP_bnei, sel_use_word(s, cmp->args[0]),
           REG_NONE, label);
  MInsn *jump = &arrlast(s->scratch);
  jump->imm = at.imm;
  jump->sym = at.sym;
  jump->sym_index = at.sym_index;
  return true;
}

/* Compares as the machine branches: "less than" and "at least", with an immediate or not. */
static bool branch_immediate(Sel *s, const IrInsn *cmp, bool truth, uint32_t label)
{
  uint64_t x, y;
  bool left = sel_is_const(s, cmp->args[0], &x), right = sel_is_const(s, cmp->args[1], &y);
  if (left == right)
    return false;
  bool is_signed = cmp->op == IR_slt || cmp->op == IR_sle;
  uint32_t bound = (uint32_t)(right ? y : x);
  uint32_t limit = is_signed ? 0x7fff : 0xffff;
  Opcode op;
  if (cmp->op == IR_eq || cmp->op == IR_ne) {
    op = (cmp->op == IR_eq) == truth ? OP_beqi : OP_bnei;
  } else {
    /* x <= k is x < k + 1; k < x is x >= k + 1 */
    bool is_le = cmp->op == IR_sle || cmp->op == IR_ule;
    if (is_le == right) {
      if (bound == limit)
        return false;
      bound = (bound + 1) & 0xffff;
    }
    bool less = right == truth;
    op = is_signed ? (less ? OP_bltsi : OP_bgesi) : (less ? OP_bltui : OP_bgeui);
  }
  Reg r = sel_use_word(s, cmp->args[right ? 0 : 1]);
  if (bound == 0 && (op == OP_beqi || op == OP_bnei)) {
    sel_jump(s, op == OP_beqi ? OP_bz : OP_bnz, r, REG_NONE, label);
    return true;
  }
  sel_jump(s, op, r, REG_NONE, label);
  arrlast(s->scratch).imm = (int32_t)bound;
  return true;
}

static void branch_registers(Sel *s, const IrInsn *cmp, bool truth, uint32_t label)
{
  Reg x = sel_use_word(s, cmp->args[0]), y = sel_use_word(s, cmp->args[1]);
  switch ((int)cmp->op) {
  case IR_eq:
    sel_jump(s, truth ? OP_beq : OP_bne, x, y, label);
    break;
  case IR_ne:
    sel_jump(s, truth ? OP_bne : OP_beq, x, y, label);
    break;
  case IR_slt:
    sel_jump(s, truth ? OP_blts : OP_bges, x, y, label);
    break;
  case IR_ult:
    sel_jump(s, truth ? OP_bltu : OP_bgeu, x, y, label);
    break;
  case IR_sle:   /* x <= y is not y < x */
    sel_jump(s, truth ? OP_bges : OP_blts, y, x, label);
    break;
  case IR_ule:
    sel_jump(s, truth ? OP_bgeu : OP_bltu, y, x, label);
    break;
  default:
    ICE("no branch for %s", ir_ops[cmp->op].name);
  }
}

static bool is_fused(const Sel *s, const IrInsn *cmp)
{
  if (cmp->op < IR_eq || cmp->op > IR_ule)
    return false;
  IrType type = sel_type(s, cmp->args[0]);
  bool is_signed = cmp->op == IR_slt || cmp->op == IR_sle;
  return type == IRT_I16 || type == IRT_PTR || type == IRT_BOOL ||
         (type == IRT_I8 && !is_signed);
}

/* i32 against zero: both halves. */
static bool branch_zero32(Sel *s, const IrInsn *cmp, bool truth, uint32_t label)
{
  uint64_t bits;
  if ((cmp->op != IR_eq && cmp->op != IR_ne) || sel_type(s, cmp->args[0]) != IRT_I32 ||
      !sel_is_const(s, cmp->args[1], &bits) || bits != 0)
    return false;
  Reg x = sel_use(s, cmp->args[0]), t = sel_new_reg(s, CLASS_WORD);
  sel_rrr(s, OP_or, t, x | REG_LO, x | REG_HI);
  sel_jump(s, (cmp->op == IR_eq) == truth ? OP_bz : OP_bnz, t, REG_NONE, label);
  return true;
}

/* Signed i32 against 0 or -1, where the sign says all: the upper half. */
static bool branch_sign32(Sel *s, const IrInsn *cmp, bool truth, uint32_t label)
{
  if ((cmp->op != IR_slt && cmp->op != IR_sle) || sel_type(s, cmp->args[0]) != IRT_I32)
    return false;
  uint64_t bits;
  bool right = sel_is_const(s, cmp->args[1], &bits);
  if (!right && !sel_is_const(s, cmp->args[0], &bits))
    return false;
  /* x < 0, x <= -1: negative; 0 <= x, -1 < x: not negative */
  uint32_t bound = (cmp->op == IR_slt) == right ? 0 : UINT32_MAX;
  if ((uint32_t)bits != bound)
    return false;
  Reg x = sel_use(s, cmp->args[right ? 0 : 1]);
  sel_jump(s, right == truth ? OP_bltsi : OP_bgesi, x | REG_HI, REG_NONE, label);
  arrlast(s->scratch).imm = 0;
  return true;
}

void sel_branch(Sel *s, IrValue cond, bool truth, uint32_t label)
{
  const IrInsn *d = sel_def(s, cond);
  uint64_t bits;
  if (d->op == IR_const) {
    if ((d->imm != 0) == truth)
      sel_jump(s, OP_jmp, REG_NONE, REG_NONE, label);
    return;
  }
  if (d->op == IR_xor && d->type == IRT_BOOL && sel_is_const(s, d->args[1], &bits)) {
    sel_branch(s, d->args[0], truth == (bits == 0), label);
    return;
  }
  if (branch_zero32(s, d, truth, label) || branch_sign32(s, d, truth, label))
    return;
  if (!is_fused(s, d)) {
    sel_jump(s, truth ? OP_bnz : OP_bz, sel_use(s, cond), REG_NONE, label);
    return;
  }
  if (!branch_immediate(s, d, truth, label) && !branch_address(s, d, truth, label))
    branch_registers(s, d, truth, label);
}
