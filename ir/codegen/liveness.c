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

/* Most registers live within a block, and most of the others at the ends of few blocks.  So a walk
 * goes back from where a block needs a register to where another one writes it: time and memory are
 * those of the answer, where sets for each block would grow with blocks times registers. */

typedef struct { uint32_t block, next; } Mention;     /* next: of the same register, index + 1 */

typedef struct {
  const MFunc *mf;
  Flow *flow;
  Arena *scratch;
  uint32_t *first_pred, *preds;        /* by block + 1; those of all blocks */
  uint32_t *first_read, *first_write;  /* by register: in `mentions`, index + 1 */
  Mention *mentions;                   /* blocks that read it first; that write it */
  uint32_t *written, *lives;           /* by block: the last register + 1 found to be written there;
                                        * found to live at its end */
  Mention *ends;                       /* a block and a register that lives at its end */
  uint32_t *waiting;                   /* blocks at whose start the register lives */
} Liveness;

static void find_preds(Liveness *l)
{
  const Flow *flow = l->flow;
  l->first_pred = arena_many(l->scratch, uint32_t, flow->n_blocks + 2);
  l->preds = arena_many(l->scratch, uint32_t, 2 * flow->n_blocks + 1);
  for (uint32_t b = 0; b < flow->n_blocks; b++)
    for (unsigned k = 0; k < 2; k++)
      if (flow->blocks[b].next[k] != IR_NO_ID)
        l->first_pred[flow->blocks[b].next[k] + 2]++;
  for (uint32_t b = 2; b < flow->n_blocks + 2; b++)
    l->first_pred[b] += l->first_pred[b - 1];
  for (uint32_t b = 0; b < flow->n_blocks; b++)
    for (unsigned k = 0; k < 2; k++)
      if (flow->blocks[b].next[k] != IR_NO_ID)
        l->preds[l->first_pred[flow->blocks[b].next[k] + 1]++] = b;
}

/* Notes the block with the register, unless it was the last one noted. */
static void add_mention(Liveness *l, uint32_t *first, uint32_t block)
{
  if (*first && l->mentions[*first - 1].block == block)
    return;
  arrput(l->mentions, ((Mention){block, *first}));
  *first = (uint32_t)arrlenu(l->mentions);
}

static void find_mentions(Liveness *l)
{
  const MFunc *mf = l->mf;
  uint32_t n = (uint32_t)arrlenu(mf->vregs);
  l->first_read = arena_many(l->scratch, uint32_t, n);
  l->first_write = arena_many(l->scratch, uint32_t, n);
  for (uint32_t b = 0; b < l->flow->n_blocks; b++)
    for (uint32_t i = l->flow->blocks[b].first; i < l->flow->blocks[b].end; i++) {
      MOperand ops[MOST_OPERANDS];
      unsigned n_ops = mi_operands(&mf->code[i], ops);
      for (unsigned k = 0; k < 2 * n_ops; k++) {          /* what it reads, then what it writes */
        const MOperand *op = &ops[k % n_ops];
        Reg r = mf->code[i].r[op->slot];
        if (!reg_is_virtual(r))
          continue;
        uint32_t v = reg_id(r) - FIRST_VREG, write = l->first_write[v];
        if (k >= n_ops && op->def)
          add_mention(l, &l->first_write[v], b);
        else if (k < n_ops && op->use && !(write && l->mentions[write - 1].block == b))
          add_mention(l, &l->first_read[v], b);
      }
    }
}

static void follow_register(Liveness *l, uint32_t v)
{
  for (uint32_t m = l->first_write[v]; m; m = l->mentions[m - 1].next)
    l->written[l->mentions[m - 1].block] = v + 1;
  for (uint32_t m = l->first_read[v]; m; m = l->mentions[m - 1].next)
    arrput(l->waiting, l->mentions[m - 1].block);
  while (arrlenu(l->waiting)) {
    uint32_t b = arrpop(l->waiting);
    for (uint32_t p = l->first_pred[b]; p < l->first_pred[b + 1]; p++) {
      uint32_t pred = l->preds[p];
      if (l->lives[pred] == v + 1)
        continue;
      l->lives[pred] = v + 1;
      arrput(l->ends, ((Mention){pred, v}));
      if (l->written[pred] != v + 1)
        arrput(l->waiting, pred);
    }
  }
}

/* Gives each block its part of the list. */
static void share_ends(const Liveness *l)
{
  Flow *flow = l->flow;
  for (size_t i = 0; i < arrlenu(l->ends); i++)
    flow->blocks[l->ends[i].block].n_live_out++;
  uint32_t *all = arena_many(flow->arena, uint32_t, arrlenu(l->ends));
  for (uint32_t b = 0; b < flow->n_blocks; b++) {
    flow->blocks[b].live_out = all;
    all += flow->blocks[b].n_live_out;
    flow->blocks[b].n_live_out = 0;
  }
  for (size_t i = 0; i < arrlenu(l->ends); i++) {
    FlowBlock *block = &flow->blocks[l->ends[i].block];
    block->live_out[block->n_live_out++] = l->ends[i].next;
  }
}

static void find_lives(Flow *flow, const MFunc *mf)
{
  Liveness l = {.mf = mf, .flow = flow, .scratch = arena_create("lives of registers")};
  l.written = arena_many(l.scratch, uint32_t, flow->n_blocks);
  l.lives = arena_many(l.scratch, uint32_t, flow->n_blocks);
  find_preds(&l);
  find_mentions(&l);
  for (uint32_t v = 0; v < arrlenu(mf->vregs); v++)
    if (l.first_read[v])
      follow_register(&l, v);
  share_ends(&l);
  arrfree(l.mentions);
  arrfree(l.ends);
  arrfree(l.waiting);
  arena_destroy(l.scratch);
}

void flow_live_out(const Flow *flow, const FlowBlock *block, uint64_t *live)
{
  memset(live, 0, sizeof *live * flow->n_words);
  for (uint32_t i = 0; i < block->n_live_out; i++)
    bit_set(live, block->live_out[i]);
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
  find_lives(flow, mf);
}
