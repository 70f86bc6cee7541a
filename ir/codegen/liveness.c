/* Blocks of the flat code, loop depths, and which virtual registers live at block ends. */
#include "ir/codegen/codegen.h"

#include <string.h>

#include <stb_ds.h>

/* ---- blocks --------------------------------------------------------------------------------- */

static bool ends_block(const MInsn *mi)
{
  return mi_is_jump(mi) || mi_ends_flow(mi);
}

static uint32_t count_blocks(const MFunc *mf)
{
  uint32_t n = 0;
  bool starts = true;
  for (size_t i = 0; i < arrlenu(mf->code); i++) {
    if (starts || mf->code[i].op == MI_LABEL)
      n++;
    starts = ends_block(&mf->code[i]);
  }
  return n;
}

static void split_blocks(Flow *flow, const MFunc *mf, uint32_t *block_of_label)
{
  uint32_t n = 0;
  bool starts = true;
  for (uint32_t i = 0; i < arrlenu(mf->code); i++) {
    const MInsn *mi = &mf->code[i];
    if (starts || mi->op == MI_LABEL) {
      if (n)
        flow->blocks[n - 1].end = i;
      flow->blocks[n++].first = i;
    }
    if (mi->op == MI_LABEL)
      block_of_label[mi->target] = n - 1;
    starts = ends_block(mi);
  }
  if (n)
    flow->blocks[n - 1].end = (uint32_t)arrlenu(mf->code);
}

static void link_blocks(Flow *flow, const MFunc *mf, const uint32_t *block_of_label)
{
  for (uint32_t b = 0; b < flow->n_blocks; b++) {
    FlowBlock *block = &flow->blocks[b];
    const MInsn *last = &mf->code[block->end - 1];
    block->next[0] = mi_ends_flow(last) || b + 1 == flow->n_blocks ? IR_NO_ID : b + 1;
    block->next[1] = mi_is_jump(last) ? block_of_label[last->target] : IR_NO_ID;
    if (mi_is_jump(last) && block->next[1] == IR_NO_ID)
      ICE("%s: jump to label %u, which is nowhere", mf->name, last->target);
  }
}

/* A backward jump makes a loop of the blocks between: blocks are in reverse post-order, so for
 * the weights of spilling that is near enough. */
static void find_loops(Flow *flow)
{
  for (uint32_t b = 0; b < flow->n_blocks; b++)
    for (unsigned k = 0; k < 2; k++) {
      uint32_t to = flow->blocks[b].next[k];
      if (to != IR_NO_ID && to <= b)
        for (uint32_t i = to; i <= b; i++)
          flow->blocks[i].loop_depth++;
    }
}

double flow_weight(const FlowBlock *block)
{
  double weight = 1;
  for (uint32_t d = 0; d < block->loop_depth && d < 6; d++)
    weight *= 8;
  return weight;
}

/* ---- liveness ------------------------------------------------------------------------------- */

/* Finds the registers that a block reads before it writes them.  Their numbers from 1 on, by
 * register; 0: the others. */
static uint32_t *find_across(Flow *flow, const MFunc *mf)
{
  uint32_t n = (uint32_t)arrlenu(mf->vregs);
  uint32_t *number = arena_many(flow->arena, uint32_t, n);
  uint32_t *written = arena_many(flow->arena, uint32_t, n);   /* the last block + 1 that did */
  flow->across = arena_many(flow->arena, uint32_t, n);
  for (uint32_t b = 0; b < flow->n_blocks; b++)
    for (uint32_t i = flow->blocks[b].first; i < flow->blocks[b].end; i++) {
      MOperand ops[MOST_OPERANDS];
      unsigned n_ops = mi_operands(&mf->code[i], ops);
      for (unsigned k = 0; k < 2 * n_ops; k++) {          /* what it reads, then what it writes */
        const MOperand *op = &ops[k % n_ops];
        Reg r = mf->code[i].r[op->slot];
        if (!reg_is_virtual(r))
          continue;
        uint32_t v = reg_id(r) - FIRST_VREG;
        if (k >= n_ops && op->def)
          written[v] = b + 1;
        if (k >= n_ops || !op->use || written[v] == b + 1 || number[v])
          continue;
        flow->across[flow->n_across++] = v;
        number[v] = flow->n_across;
      }
    }
  return number;
}

typedef struct { uint64_t *uses, *defs, *live_in; } BlockSets;

/* The number of a register's bit, from 1 on; 0: it has none. */
static uint32_t number_of(const uint32_t *number, Reg r)
{
  return reg_is_virtual(r) ? number[reg_id(r) - FIRST_VREG] : 0;
}

static void local_sets(const MFunc *mf, const FlowBlock *block, const uint32_t *number,
                       BlockSets *sets)
{
  for (uint32_t i = block->end; i-- > block->first;) {
    MOperand ops[MOST_OPERANDS];
    unsigned n = mi_operands(&mf->code[i], ops);
    for (unsigned k = 0; k < n; k++) {
      uint32_t bit = number_of(number, mf->code[i].r[ops[k].slot]);
      if (!ops[k].def || !bit)
        continue;
      bit_set(sets->defs, bit - 1);
      bit_clear(sets->uses, bit - 1);
    }
    for (unsigned k = 0; k < n; k++) {
      uint32_t bit = number_of(number, mf->code[i].r[ops[k].slot]);
      if (ops[k].use && bit)
        bit_set(sets->uses, bit - 1);
    }
  }
}

static bool update_block(Flow *flow, BlockSets *sets, uint32_t b)
{
  FlowBlock *block = &flow->blocks[b];
  bool changed = false;
  for (uint32_t w = 0; w < (flow->n_across + 63) / 64; w++) {
    uint64_t out = 0;
    for (unsigned k = 0; k < 2; k++)
      if (block->next[k] != IR_NO_ID)
        out |= sets[block->next[k]].live_in[w];
    block->live_out[w] = out;
    uint64_t in = sets[b].uses[w] | (out & ~sets[b].defs[w]);
    changed |= in != sets[b].live_in[w];
    sets[b].live_in[w] = in;
  }
  return changed;
}

void flow_live_out(const Flow *flow, const FlowBlock *block, uint64_t *live)
{
  memset(live, 0, sizeof *live * flow->n_words);
  for (uint32_t w = 0; w < (flow->n_across + 63) / 64; w++)
    for (uint64_t bits = block->live_out[w]; bits; bits &= bits - 1)
      bit_set(live, flow->across[w * 64 + (uint32_t)__builtin_ctzll(bits)]);
}

void flow_build(Flow *flow, const MFunc *mf, Arena *arena)
{
  *flow = (Flow){.arena = arena, .n_blocks = count_blocks(mf)};
  flow->n_words = (uint32_t)(arrlenu(mf->vregs) + 63) / 64;
  flow->blocks = arena_many(arena, FlowBlock, flow->n_blocks);
  uint32_t *block_of_label = arena_many(arena, uint32_t, mf->n_labels + 1);
  memset(block_of_label, 0xff, sizeof *block_of_label * (mf->n_labels + 1));
  split_blocks(flow, mf, block_of_label);
  link_blocks(flow, mf, block_of_label);
  find_loops(flow);
  const uint32_t *number = find_across(flow, mf);
  size_t n_words = (flow->n_across + 63) / 64;
  BlockSets *sets = arena_many(arena, BlockSets, flow->n_blocks);
  for (uint32_t b = 0; b < flow->n_blocks; b++) {
    uint64_t *words = arena_many(arena, uint64_t, 4 * n_words + 1);
    sets[b] = (BlockSets){words, words + n_words, words + 2 * n_words};
    flow->blocks[b].live_out = words + 3 * n_words;
    local_sets(mf, &flow->blocks[b], number, &sets[b]);
  }
  bool again = true;
  while (again) {
    again = false;
    for (uint32_t b = flow->n_blocks; b-- > 0;)
      again |= update_block(flow, sets, b);
  }
}
