/* A copy of a pair becomes a load where memory holds the same value (-O2).
 *
 * The machines copy 32 bits in two or three times the time of a load (docs/cycle-model.md), and a
 * value is often loaded from memory or stored there right before it is copied: as the largest so
 * far, for example. */
#include "ir/codegen/codegen.h"

#include <stb_ds.h>

/* Instructions in front of the copy among which the load or store is looked for. */
enum { MOST_LOOKED_AT = 16 };

static bool is_load(const MInsn *mi) { return mi->op == OP_ld32 || mi->op == OP_ld32a; }

static bool is_store(const MInsn *mi)
{
  return mi->op != MI_LABEL && insn_info[mi->op].cost == COST_STORE;
}

static bool is_absolute(const MInsn *mi)
{
  InsnFormat format = insn_info[mi->op].format;
  return format == FMT_LDA || format == FMT_STA;
}

static bool same_place(const MInsn *a, const MInsn *b)
{
  return is_absolute(a) == is_absolute(b) && (is_absolute(a) || a->r[1] == b->r[1]) &&
         a->sym == b->sym && a->sym_index == b->sym_index;
}

/* Certainly no common byte. */
static bool is_apart(const MInsn *a, const MInsn *b)
{
  enum { BYTES = 4 };        /* of the longest access */
  if (a->object && b->object && a->object != b->object)
    return true;
  if (a->sym == SYM_FRAME && b->sym == SYM_FRAME && a->sym_index != b->sym_index)
    return true;
  return same_place(a, b) && abs(a->imm - b->imm) >= BYTES;
}

/* Does it do no more than make a value, store one, or perhaps go elsewhere? */
static bool is_plain(const MInsn *mi)
{
  Opcode inverse;
  return mi->op != MI_LABEL && mi->op != OP_vec && !mi->clobbers &&
         (insn_defines_a((Opcode)mi->op) || is_store(mi) || mi_invert((Opcode)mi->op, &inverse));
}

/* Does memory still hold the value at the copy?  `written`: registers that have changed since. */
static bool still_holds(const MFunc *mf, uint32_t at, uint32_t copy, uint16_t written)
{
  const MInsn *access = &mf->code[at];
  if (!is_absolute(access) &&
      (reg_mask(access->r[1]) & (written | mi_writes(access))))
    return false;
  for (uint32_t i = at + 1; i < copy; i++)
    if (!mf->code[i].dead && is_store(&mf->code[i]) && !is_apart(access, &mf->code[i]))
      return false;
  return true;
}

/* The load or store in front of the copy whose place holds what is copied; IR_NO_ID if none. */
static uint32_t access_before(const MFunc *mf, uint32_t copy)
{
  Reg from = mf->code[copy].r[1];
  uint16_t written = 0;
  for (uint32_t i = copy; i-- > 0 && copy - i <= MOST_LOOKED_AT;) {
    const MInsn *mi = &mf->code[i];
    if (mi->dead)
      continue;
    if (!is_plain(mi))
      return IR_NO_ID;
    if ((is_load(mi) || mi->op == OP_st32 || mi->op == OP_st32a) && mi->r[0] == from &&
        still_holds(mf, i, copy, written))
      return i;
    written |= mi_writes(mi);
    if (written & reg_mask(from))
      return IR_NO_ID;
  }
  return IR_NO_ID;
}

void reload_pairs(MFunc *mf)
{
  for (uint32_t i = 0; i < arrlenu(mf->code); i++) {
    MInsn *copy = &mf->code[i];
    uint32_t at = copy->op == OP_mov32 && !copy->dead ? access_before(mf, i) : IR_NO_ID;
    if (at == IR_NO_ID)
      continue;
    MInsn load = mf->code[at];
    load.op = is_absolute(&load) ? OP_ld32a : OP_ld32;
    load.r[0] = copy->r[0];
    load.loc = copy->loc;
    load.marks = copy->marks;
    load.unmarked = copy->unmarked;
    *copy = load;
  }
}
