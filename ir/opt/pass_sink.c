/* sink: brings constants and addresses into the blocks that use them.  Making one again is one
 * instruction or none (many instructions take it as an immediate); keeping it in a register across
 * blocks costs that register.
 *
 * Updates of descriptors take registers below -O2 (docs/codegen.md).  Their constants go the other
 * way, in front of the outermost loop: the register allocator makes again what has no room. */
#include "ir/opt/opt.h"

#include <string.h>

typedef struct {
  IrModule *m;
  IrFunc *f;
  uint32_t block, at;        /* of the instruction whose operands are visited */
  uint32_t *block_of;        /* by value */
  uint32_t n_values;         /* at the beginning: copies behind them have no entry below */
  IrValue *copy;             /* by value: its copy in this block */
  uint32_t *copy_block;
  IrValue *kept;             /* by value: its copy in front of a loop */
  uint32_t *kept_block;
  Cfg cfg;
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

/* ---- constants of updates ---------------------------------------------------------- */

/* The block in front of the outermost loop around this one, or IR_NO_ID. */
static uint32_t outermost_front(const Sinker *s)
{
  uint32_t head = IR_NO_ID;
  if (!cfg_is_reachable(&s->cfg, s->block))
    return IR_NO_ID;
  for (uint32_t h = s->cfg.loop_head[s->block]; h != IR_NO_ID; h = s->cfg.loop_parent[h])
    head = h;
  return head == IR_NO_ID ? IR_NO_ID : opt_loop_front(s->f, &s->cfg, head);
}

/* A number, or an address as a number. */
static bool is_cheap_number(const Sinker *s, IrValue v)
{
  const IrInsn *insn = opt_insn(s->f, v);
  return is_cheap(insn) || (insn->op == IR_bitcast && is_cheap(opt_insn(s->f, insn->args[0])));
}

static IrValue keep_in_front(Sinker *s, IrValue v, uint32_t front)
{
  if (s->kept_block[v.raw] == front)
    return s->kept[v.raw];
  IrInsn insn = *opt_insn(s->f, v);
  IrValue number;
  if (insn.op == IR_bitcast) {
    number = keep_in_front(s, insn.args[0], front);
    insn.args = &number;
  }
  IrBlock *to = &s->f->blocks[front];
  s->kept[v.raw] = opt_add(s->m, s->f, &insn);
  s->kept_block[v.raw] = front;
  opt_insert(s->m, to, to->n_insns - 1, s->kept[v.raw]);
  return s->kept[v.raw];
}

static void keep_constant(Sinker *s, IrValue *operand)
{
  uint32_t front = outermost_front(s);
  if (front == IR_NO_ID || !is_cheap_number(s, *operand))
    return;
  *operand = keep_in_front(s, *operand, front);
  s->moved = true;
}

/* ---- the pass ---------------------------------------------------------------------- */

static uint32_t *no_blocks(Arena *arena, uint32_t n)
{
  uint32_t *blocks = arena_many(arena, uint32_t, n);
  memset(blocks, 0xff, sizeof *blocks * n);
  return blocks;
}

/* In front of all sinking, since what makes a number again must not use a copy. */
static void keep_constants(Sinker *s)
{
  for (s->block = 0; s->block < s->f->n_blocks; s->block++) {
    const IrBlock *b = &s->f->blocks[s->block];
    for (uint32_t i = 0; i < b->n_insns; i++) {
      /* Arguments have arrays of their own: adding values does not move them. */
      IrInsn insn = *opt_insn(s->f, b->insns[i]);
      if (insn.op == IR_dsr_set)
        keep_constant(s, &insn.args[0]);
    }
  }
}

static void sink_constants(Sinker *s)
{
  for (s->block = 0; s->block < s->f->n_blocks; s->block++)
    for (s->at = 0; s->at < s->f->blocks[s->block].n_insns; s->at++) {
      /* Targets and arguments have arrays of their own: adding values does not move them. */
      IrInsn insn = *opt_insn(s->f, s->f->blocks[s->block].insns[s->at]);
      opt_each_operand(&insn, sink_operand, s);
    }
}

bool pass_sink(Opt *opt, IrFunc *f)
{
  Sinker s = {.m = opt->m, .f = f, .n_values = f->n_insns};
  s.block_of = opt_blocks_of_values(f, opt->arena);
  s.copy = arena_many(opt->arena, IrValue, f->n_insns);
  s.copy_block = no_blocks(opt->arena, f->n_insns);
  s.kept = arena_many(opt->arena, IrValue, f->n_insns);
  s.kept_block = no_blocks(opt->arena, f->n_insns);
  cfg_build(&s.cfg, f, opt->arena);
  if (ir_update_takes_register(opt->level))
    keep_constants(&s);
  sink_constants(&s);
  for (uint32_t b = 0; b < f->n_blocks; b++)
    place_constants(f, &f->blocks[b]);
  return s.moved;
}
