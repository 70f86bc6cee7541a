/* sink: brings constants and addresses into the blocks that use them.  Making one again is one
 * instruction or none (many instructions take it as an immediate); keeping it in a register across
 * blocks costs that register. */
#include "ir/opt/opt.h"

#include <string.h>

typedef struct {
  IrModule *m;
  IrFunc *f;
  uint32_t block, at;        /* of the instruction whose operands are visited */
  uint32_t *block_of;        /* by value, of the beginning */
  uint32_t n_values;
  IrValue *copy;             /* by value: its copy in this block */
  uint32_t *copy_block;
  bool moved;
} Sinker;

/* One instruction makes it again, without operands. */
static bool is_cheap(const IrInsn *insn)
{
  return insn->op == IR_const || insn->op == IR_global_addr || insn->op == IR_func_addr;
}

static void sink_operand(IrValue *operand, void *context)
{
  Sinker *s = context;
  if (operand->raw >= s->n_values || !is_cheap(opt_insn(s->f, *operand)) ||
      s->block_of[operand->raw] == s->block)
    return;
  uint32_t raw = operand->raw;
  if (s->copy_block[raw] != s->block) {
    IrInsn insn = *opt_insn(s->f, *operand);
    s->copy[raw] = opt_add(s->m, s->f, &insn);
    s->copy_block[raw] = s->block;
    opt_insert(s->m, &s->f->blocks[s->block], s->at++, s->copy[raw]);
  }
  *operand = s->copy[raw];
  s->moved = true;
}

/* What makes a constant belongs to the line of the code behind it: the line that it was written in
 * may be elsewhere by now. */
static void place_constants(const IrFunc *f, const IrBlock *b)
{
  IrLocId loc = IR_NO_LOC;
  for (uint32_t i = b->n_insns; i-- > 0;) {
    IrInsn *insn = opt_insn(f, b->insns[i]);
    if (is_cheap(insn))
      insn->loc = loc;
    else
      loc = insn->loc;
  }
}

bool pass_sink(Opt *opt, IrFunc *f)
{
  Sinker s = {.m = opt->m, .f = f, .n_values = f->n_insns};
  s.block_of = arena_many(opt->arena, uint32_t, f->n_insns);
  s.copy = arena_many(opt->arena, IrValue, f->n_insns);
  s.copy_block = arena_many(opt->arena, uint32_t, f->n_insns);
  memset(s.copy_block, 0xff, sizeof(uint32_t) * f->n_insns);
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++)
      s.block_of[f->blocks[b].insns[i].raw] = b;
  for (s.block = 0; s.block < f->n_blocks; s.block++)
    for (s.at = 0; s.at < f->blocks[s.block].n_insns; s.at++) {
      /* Targets and arguments have arrays of their own: adding values does not move them. */
      IrInsn insn = *opt_insn(f, f->blocks[s.block].insns[s.at]);
      opt_each_operand(&insn, sink_operand, &s);
    }
  for (uint32_t b = 0; b < f->n_blocks; b++)
    place_constants(f, &f->blocks[b]);
  return s.moved;
}
