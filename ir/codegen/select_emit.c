/* The basis of instruction selection: values, their registers, and one instruction. */
#include "ir/codegen/codegen.h"

#include <stb_ds.h>

/* ---- values --------------------------------------------------------------------------------- */

const IrInsn *sel_def(const Sel *s, IrValue v)
{
  return &s->f->insns[v.raw];
}

IrType sel_type(const Sel *s, IrValue v)
{
  return s->f->insns[v.raw].type;
}

bool sel_is_const(const Sel *s, IrValue v, uint64_t *bits)
{
  const IrInsn *d = sel_def(s, v);
  while (d->op == IR_bitcast)
    d = sel_def(s, d->args[0]);
  if (d->op != IR_const)
    return false;
  *bits = d->imm;
  return true;
}

RegClass type_class(IrType type)
{
  return ir_type_bytes(type) <= 2 ? CLASS_WORD : CLASS_PAIR;
}

Reg sel_new_reg(Sel *s, RegClass cls)
{
  arrput(s->mf->vregs, ((VReg){.cls = cls}));
  return FIRST_VREG + (Reg)arrlenu(s->mf->vregs) - 1;
}

uint32_t sel_new_slot(Sel *s, uint32_t bytes)
{
  arrput(s->mf->slots, ((FrameSlot){.bytes = (bytes + 1) & ~1u}));
  return (uint32_t)arrlenu(s->mf->slots) - 1;
}

uint32_t sel_new_label(Sel *s)
{
  return s->mf->n_labels++;
}

static Reg value_reg(Sel *s, IrValue v, unsigned part)
{
  IrType type = sel_type(s, v);
  if (ir_type_is_dsd(type) || type == IRT_VOID)
    ICE("%s in %s has no register", ir_ops[sel_def(s, v)->op].name, s->mf->name);
  if (s->vreg[v.raw] == 0) {
    s->vreg[v.raw] = sel_new_reg(s, type_class(type));
    if (type == IRT_I64)
      sel_new_reg(s, CLASS_PAIR);
  }
  return s->vreg[v.raw] + part;
}

Reg sel_result(Sel *s, IrValue v, unsigned part)
{
  return value_reg(s, v, part);
}

Reg sel_use_part(Sel *s, IrValue v, unsigned part)
{
  Reg r = value_reg(s, v, part);
  s->demanded[v.raw] = true;
  return r;
}

Reg sel_use(Sel *s, IrValue v)
{
  return sel_use_part(s, v, 0);
}

/* The words of an i32 and the low one of an i64 are operands in their own right, as floats, too: no
 * instruction for trunc. */
Reg sel_use_word(Sel *s, IrValue v)
{
  const IrInsn *d = sel_def(s, v);
  while (d->op == IR_bitcast && type_class(d->type) == CLASS_WORD)
    d = sel_def(s, d->args[0]);
  if (d->op != IR_trunc || d->type != IRT_I16)
    return sel_use(s, v);
  const IrInsn *wide = sel_def(s, d->args[0]);
  uint64_t amount;
  if (wide->op == IR_lshr && wide->type == IRT_I32 && sel_is_const(s, wide->args[1], &amount) &&
      amount == 16)
    return sel_use(s, wide->args[0]) | REG_HI;
  return sel_use(s, d->args[0]) | REG_LO;
}

/* ---- emitting ------------------------------------------------------------------------------- */

MInsn *sel_emit(Sel *s, unsigned op)
{
  MInsn mi = {.op = (uint16_t)op, .loc = s->loc};
  for (unsigned i = 0; i < ARRAY_COUNT(mi.r); i++)
    mi.r[i] = REG_NONE;
  arrput(s->scratch, mi);
  return &arrlast(s->scratch);
}

MInsn *sel_rrr(Sel *s, Opcode op, Reg a, Reg b, Reg c)
{
  MInsn *mi = sel_emit(s, op);
  mi->r[0] = a;
  mi->r[1] = b;
  mi->r[2] = c;
  return mi;
}

MInsn *sel_rri(Sel *s, Opcode op, Reg a, Reg b, int32_t imm)
{
  MInsn *mi = sel_rrr(s, op, a, b, REG_NONE);
  mi->imm = imm;
  return mi;
}

MInsn *sel_rr(Sel *s, Opcode op, Reg a, Reg b)
{
  return sel_rrr(s, op, a, b, REG_NONE);
}

MInsn *sel_li(Sel *s, RegClass cls, Reg a, uint32_t bits)
{
  return sel_rri(s, cls == CLASS_WORD ? OP_li : OP_li32, a, REG_NONE, (int32_t)bits);
}

void sel_copy(Sel *s, RegClass cls, Reg to, Reg from)
{
  sel_rr(s, cls == CLASS_WORD ? OP_mov : OP_mov32, to, from);
}

void sel_label(Sel *s, uint32_t label)
{
  sel_emit(s, MI_LABEL)->target = label;
}

void sel_jump(Sel *s, Opcode op, Reg a, Reg b, uint32_t label)
{
  sel_rr(s, op, a, b)->target = label;
}
