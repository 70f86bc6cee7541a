/* offset: a constant that an index adds becomes part of the address of a load or store, if nothing
 * else needs the index: a[i + 1] is at (a + 1) + i.  Then the sum costs nothing, as loads and
 * stores add a constant to their address.  An index that is needed elsewhere is computed anyway.
 */
#include "ir/opt/opt.h"

typedef struct {
  Opt *opt;
  IrFunc *f;
  /* by value that was there at the beginning: its uses, and those as the address of an access */
  const uint32_t *uses, *accesses;
  uint32_t n_values;
  uint32_t block, at;        /* of the address that is looked at */
} Splitter;

static bool is_needed_once(const Splitter *s, IrValue v)
{
  return v.raw < s->n_values && s->uses[v.raw] == 1;
}

static uint32_t *count_accesses(const IrFunc *f, Arena *arena)
{
  uint32_t *accesses = arena_many(arena, uint32_t, f->n_insns);
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++) {
      const IrInsn *insn = opt_insn(f, f->blocks[b].insns[i]);
      if (insn->op == IR_load || insn->op == IR_store)
        accesses[insn->args[0].raw]++;
    }
  return accesses;
}

/* A sum that only loads and stores need. */
static bool is_place(const Splitter *s, IrValue v)
{
  return v.raw < s->n_values && opt_insn(s->f, v)->op == IR_ptr_add &&
         s->uses[v.raw] == s->accesses[v.raw];
}

static bool has_const(const Splitter *s, const IrInsn *insn, uint64_t *bits)
{
  if (insn->n_args != 2 || !opt_is_const(s->f, insn->args[1]))
    return false;
  *bits = opt_insn(s->f, insn->args[1])->imm;
  return true;
}

/* Takes the constant out of the sum below *index and gives what it adds to the address; 0 if there
 * is none.  Low bits of sums, products and left shifts need the operands' low bits only. */
static uint16_t take_constant(const Splitter *s, IrValue *index)
{
  uint64_t scale = 1, c;
  while (is_needed_once(s, *index)) {
    IrInsn *insn = opt_insn(s->f, *index);
    if (insn->op == IR_add && has_const(s, insn, &c)) {
      *index = insn->args[0];
      return (uint16_t)(c * scale);
    }
    if (insn->op == IR_shl && has_const(s, insn, &c) && c < 16)
      scale <<= c;
    else if (insn->op == IR_mul && has_const(s, insn, &c))
      scale *= c;
    else if (insn->op != IR_trunc)
      return 0;
    index = &insn->args[0];
  }
  return 0;
}

static IrValue emit_before(Splitter *s, const IrInsn *insn)
{
  IrValue v = opt_add(s->opt->m, s->f, insn);
  opt_insert(s->opt->m, &s->f->blocks[s->block], s->at++, v);
  return v;
}

/* The address of a global takes the constant in; else it is added to the sum of the others. */
static void add_constant(Splitter *s, IrValue v, uint16_t c)
{
  IrInsn address = *opt_insn(s->f, v), base = *opt_insn(s->f, address.args[0]);
  IrInsn constant = opt_make_const(IRT_I16, c, address.loc);
  IrValue operands[2];
  if (base.op == IR_global_addr) {
    base.imm = (uint64_t)((int64_t)base.imm + opt_signed16(c));
    base.loc = address.loc;
    operands[0] = emit_before(s, &base);
    operands[1] = address.args[1];
  } else {
    operands[0] = emit_before(s, &address);
    operands[1] = emit_before(s, &constant);
  }
  IrInsn *sum = opt_insn(s->f, v);
  sum->args[0] = operands[0];
  sum->args[1] = operands[1];
}

bool pass_offset(Opt *opt, IrFunc *f)
{
  Splitter s = {.opt = opt, .f = f, .uses = opt_count_uses(f, opt->arena),
                .accesses = count_accesses(f, opt->arena), .n_values = f->n_insns};
  bool changed = false;
  for (s.block = 0; s.block < f->n_blocks; s.block++)
    for (s.at = 0; s.at < f->blocks[s.block].n_insns; s.at++) {
      IrValue v = f->blocks[s.block].insns[s.at];
      if (!is_place(&s, v))
        continue;
      uint16_t c = take_constant(&s, &opt_insn(f, v)->args[1]);
      if (c)
        add_constant(&s, v, c);
      changed |= c != 0;
    }
  return changed;
}
