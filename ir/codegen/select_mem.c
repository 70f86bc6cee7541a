/* Selection of addresses and of copies in memory.
 *
 * An address is a constant (perhaps with a symbol), at most one varying part, perhaps the stack
 * pointer; loads and stores take this form directly, so that most address arithmetic disappears. */
#include "ir/codegen/codegen.h"

#include <stb_ds.h>

/* ---- addresses ------------------------------------------------------------------------------ */

/* Splits an i16 into what varies and a constant. */
static IrValue peel_offset(const Sel *s, IrValue v, int32_t *imm)
{
  for (;;) {
    const IrInsn *d = sel_def(s, v);
    uint64_t bits;
    if (d->op == IR_bitcast) {
      v = d->args[0];
    } else if (d->op == IR_add && sel_is_const(s, d->args[1], &bits)) {
      *imm += (int16_t)bits;
      v = d->args[0];
    } else if (d->op == IR_add && sel_is_const(s, d->args[0], &bits)) {
      *imm += (int16_t)bits;
      v = d->args[1];
    } else if (d->op == IR_sub && sel_is_const(s, d->args[1], &bits)) {
      *imm -= (int16_t)bits;
      v = d->args[0];
    } else if (d->op == IR_const) {
      *imm += (int16_t)d->imm;
      return IR_NO_VALUE;
    } else {
      return v;
    }
  }
}

static Addr address_of_sum(const Sel *s, IrValue sum, const IrInsn *d)
{
  Addr at = sel_address(s, d->args[0]);
  int32_t offset = 0;
  IrValue rest = peel_offset(s, d->args[1], &offset);
  if (ir_value_is_none(rest)) {
    at.imm += offset;
    return at;
  }
  if (at.base.raw)   /* two registers: the sum itself, or the sum without a constant */
    return (Addr){.base = sum};
  at.base = rest;
  at.imm += offset;
  return at;
}

Addr sel_address(const Sel *s, IrValue pointer)
{
  const IrInsn *d = sel_def(s, pointer);
  switch ((int)d->op) {
  case IR_const:
    return (Addr){.imm = (int32_t)d->imm};
  case IR_global_addr:
    return (Addr){.imm = (int32_t)d->imm, .sym = SYM_GLOBAL, .sym_index = d->u.global.raw};
  case IR_func_addr:
    return (Addr){.sym = SYM_FUNC, .sym_index = d->u.func.raw};
  case IR_alloca:
    return (Addr){.on_stack = true, .sym = SYM_FRAME,
                  .sym_index = s->frame_slot[pointer.raw] - 1};
  case IR_bitcast:
    return sel_address(s, d->args[0]);
  case IR_ptr_add:
    return address_of_sum(s, pointer, d);
  default:
    return (Addr){.base = pointer};
  }
}

bool addr_equal(const Addr *a, const Addr *b)
{
  return ir_value_eq(a->base, b->base) && a->reg == b->reg && a->on_stack == b->on_stack &&
         a->imm == b->imm && a->sym == b->sym && a->sym_index == b->sym_index;
}

enum { MOST_LOOKING = 4 };

static bool find_object(const Sel *s, IrValue v, uint32_t *object, IrValue *looking,
                        unsigned depth);

/* What the branches to the block give the parameter. */
static bool find_param_object(const Sel *s, IrValue v, uint32_t *object, IrValue *looking,
                              unsigned depth)
{
  const IrInsn *d = sel_def(s, v);
  for (unsigned i = 0; i < depth; i++)
    if (ir_value_eq(looking[i], v))
      return true;
  if (depth == MOST_LOOKING || ir_block_is_entry(d->u.param.block))
    return false;
  looking[depth] = v;
  for (uint32_t b = 0; b < s->f->n_blocks; b++) {
    const IrInsn *end = ir_last_insn(s->f, b);
    uint32_t n = end ? ir_target_count(end) : 0;
    for (uint32_t i = 0; i < n; i++)
      if (ir_block_eq(end->u.targets[i].block, d->u.param.block) &&
          !find_object(s, end->u.targets[i].args[d->u.param.index], object, looking, depth + 1))
        return false;
  }
  return true;
}

/* Joins what an address was found to come from on another way. */
static bool join_object(uint32_t *object, uint32_t found)
{
  bool same = *object == 0 || *object == found;
  *object = found;
  return same;
}

/* Follows a pointer back to the globals that it can come from; false: to something else, or to
 * several.  Parameters of blocks that are being looked at add nothing to what else they get. */
static bool find_object(const Sel *s, IrValue v, uint32_t *object, IrValue *looking, unsigned depth)
{
  const IrInsn *d = sel_def(s, v);
  switch ((int)d->op) {
  case IR_global_addr:
    return join_object(object, d->u.global.raw + 1);
  case IR_ptr_add: case IR_bitcast:
    return sel_type(s, d->args[0]) == IRT_PTR &&
           find_object(s, d->args[0], object, looking, depth);
  case IR_PARAM:
    return find_param_object(s, v, object, looking, depth);
  default:
    return false;
  }
}

uint32_t sel_object(const Sel *s, IrValue pointer)
{
  IrValue looking[MOST_LOOKING];
  uint32_t object = 0;
  return find_object(s, pointer, &object, looking, 0) ? object : 0;
}

/* Certainly no common byte: two objects, each known. */
bool addr_distinct(const Sel *s, const Addr *a, const Addr *b)
{
  (void)s;
  bool known = (a->sym == SYM_GLOBAL || a->sym == SYM_FRAME) &&
               (b->sym == SYM_GLOBAL || b->sym == SYM_FRAME);
  return known && (a->sym != b->sym || a->sym_index != b->sym_index);
}

/* The base register of an address, the stack pointer, or none. */
Reg sel_base(Sel *s, const Addr *at)
{
  Reg sp = s->cg->machine->sp_register;
  if (ir_value_is_none(at->base) && at->reg == 0)
    return at->on_stack ? sp : REG_NONE;
  Reg base = at->reg ? at->reg : sel_use_word(s, at->base);
  if (!at->on_stack)
    return base;
  Reg sum = sel_new_reg(s, CLASS_WORD);
  sel_rrr(s, OP_add, sum, sp, base);
  return sum;
}

static Opcode absolute_form(Opcode op)
{
  switch ((int)op) {
  case OP_ld8u: return OP_ld8ua;
  case OP_ld8s: return OP_ld8sa;
  case OP_ld16: return OP_ld16a;
  case OP_ld32: return OP_ld32a;
  case OP_st8: return OP_st8a;
  case OP_st16: return OP_st16a;
  case OP_st32: return OP_st32a;
  default: ICE("%s has no absolute form", insn_info[op].name);
  }
}

static MInsn *memory_access(Sel *s, Opcode op, Reg r, const Addr *at, int32_t offset)
{
  Reg base = sel_base(s, at);
  MInsn *mi = sel_rr(s, base == REG_NONE ? absolute_form(op) : op, r, base);
  mi->imm = at->imm + offset;
  mi->sym = (uint8_t)at->sym;
  mi->sym_index = at->sym_index;
  mi->object = at->object;
  return mi;
}

void sel_load(Sel *s, Opcode op, Reg to, const Addr *at, int32_t offset)
{
  memory_access(s, op, to, at, offset);
}

MInsn *sel_store(Sel *s, Opcode op, Reg from, const Addr *at, int32_t offset)
{
  return memory_access(s, op, from, at, offset);
}

void sel_lea(Sel *s, Reg to, const Addr *at)
{
  Reg base = sel_base(s, at);
  if (base != REG_NONE && at->imm == 0 && at->sym == SYM_NONE) {
    sel_copy(s, CLASS_WORD, to, base);
    return;
  }
  MInsn *mi = base == REG_NONE ? sel_li(s, CLASS_WORD, to, 0) : sel_rri(s, OP_addi, to, base, 0);
  mi->imm = at->imm;
  mi->sym = (uint8_t)at->sym;
  mi->sym_index = at->sym_index;
}

/* ---- copies --------------------------------------------------------------------------------- */

enum { INLINE_COPY_STEPS = 8 };

/* A loop over `steps` accesses of a size: counts a byte offset up, both addresses in registers. */
static void copy_loop(Sel *s, const Addr *to, const Addr *from, uint32_t steps, unsigned size)
{
  Opcode load = size == 1 ? OP_ld8u : OP_ld32, store = size == 1 ? OP_st8 : OP_st32;
  Reg p = sel_new_reg(s, CLASS_WORD), q = sel_new_reg(s, CLASS_WORD);
  Reg end = sel_new_reg(s, CLASS_WORD);
  Reg word = sel_new_reg(s, size == 1 ? CLASS_WORD : CLASS_PAIR);
  uint32_t again = sel_new_label(s);
  sel_lea(s, p, to);
  if (from)
    sel_lea(s, q, from);
  else
    sel_li(s, size == 1 ? CLASS_WORD : CLASS_PAIR, word, 0);
  sel_rri(s, OP_addi, end, p, (int32_t)(steps * size));
  sel_label(s, again);
  if (from) {
    sel_rri(s, load, word, q, 0);
    sel_rri(s, OP_addi, q, q, (int32_t)size);
  }
  sel_rri(s, store, word, p, 0)->writes_dsd = true;
  sel_rri(s, OP_addi, p, p, (int32_t)size);
  sel_jump(s, OP_bne, p, end, again);
}

/* `zero`: a pair that holds 0, for when there is nothing to copy from. */
static void copy_step(Sel *s, const Addr *to, const Addr *from, Reg zero, uint32_t at,
                      unsigned size)
{
  static const Opcode loads[] = {[1] = OP_ld8u, [2] = OP_ld16, [4] = OP_ld32};
  static const Opcode stores[] = {[1] = OP_st8, [2] = OP_st16, [4] = OP_st32};
  Reg word = size == 4 ? zero : zero | REG_LO;
  if (from) {
    word = sel_new_reg(s, size == 4 ? CLASS_PAIR : CLASS_WORD);
    sel_load(s, loads[size], word, from, (int32_t)at);
  }
  sel_store(s, stores[size], word, to, (int32_t)at)->writes_dsd = true;
}

/* `from` NULL: zeros. */
void sel_copy_memory(Sel *s, const Addr *to, const Addr *from, uint32_t bytes, bool by_bytes)
{
  unsigned size = by_bytes ? 1 : 4;
  uint32_t steps = bytes / size, at = 0;
  Reg zero = REG_NONE;
  if (!from) {
    zero = sel_new_reg(s, CLASS_PAIR);
    sel_li(s, CLASS_PAIR, zero, 0);
  }
  if (steps > INLINE_COPY_STEPS) {
    copy_loop(s, to, from, steps, size);
    at = steps * size;
  }
  for (; at + size <= bytes; at += size)
    copy_step(s, to, from, zero, at, size);
  if (at + 2 <= bytes) {
    copy_step(s, to, from, zero, at, 2);
    at += 2;
  }
  if (at < bytes)
    copy_step(s, to, from, zero, at, 1);
}

/* ---- values in registers ------------------------------------------------------------------- */

static uint32_t const_part(uint64_t bits, unsigned part)
{
  return (uint32_t)(part ? bits >> 32 : bits);
}

void sel_into_part(Sel *s, Reg to, IrValue v, unsigned part)
{
  uint64_t bits;
  const IrInsn *d = sel_def(s, v);
  RegClass cls = type_class(d->type);
  if (sel_is_const(s, v, &bits)) {
    sel_li(s, cls, to, const_part(bits, part));
  } else if (d->op == IR_global_addr || d->op == IR_func_addr || d->op == IR_alloca) {
    Addr at = sel_address(s, v);
    sel_lea(s, to, &at);
  } else {
    sel_copy(s, cls, to, cls == CLASS_WORD ? sel_use_word(s, v) : sel_use_part(s, v, part));
  }
}

void sel_into(Sel *s, Reg to, IrValue v)
{
  sel_into_part(s, to, v, 0);
}
