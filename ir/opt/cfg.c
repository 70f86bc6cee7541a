/* Order, dominators and loops of a function's blocks.
 *
 * Dominators by the iteration of Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
 * Algorithm"; no recursion, since functions may be deep. */
#include "ir/opt/opt.h"

#include <string.h>

static uint32_t *filled_array(Arena *arena, uint32_t n, uint32_t value)
{
  uint32_t *array = arena_many(arena, uint32_t, n);
  for (uint32_t i = 0; i < n; i++)
    array[i] = value;
  return array;
}

/* The first `left` targets are still to be visited.  A visit looks for them once, as a block's last
 * instruction is seldom in a cache. */
typedef struct { const IrTarget *targets; uint32_t block, left; } TreeVisit;

static TreeVisit visit_of(const IrFunc *f, uint32_t block)
{
  TreeVisit visit = {.block = block};
  visit.targets = cfg_targets(f, block, &visit.left);
  return visit;
}

uint32_t *ir_order_blocks(const IrFunc *f, uint32_t *n_blocks, Arena *arena)
{
  uint32_t n = f->n_blocks, depth = 0, at = n;
  TreeVisit *stack = arena_many(arena, TreeVisit, n + 1);
  bool *seen = arena_many(arena, bool, n);
  uint32_t *order = arena_many(arena, uint32_t, n);
  stack[depth++] = visit_of(f, 0);
  seen[0] = true;
  while (depth) {
    TreeVisit *top = &stack[depth - 1];
    if (top->left == 0) {
      order[--at] = top->block;
      depth--;
      continue;
    }
    /* The last target first: so the first one follows its block in the order. */
    uint32_t to = top->targets[--top->left].block.raw;
    if (!seen[to]) {
      seen[to] = true;
      stack[depth++] = visit_of(f, to);
    }
  }
  *n_blocks = n - at;
  return order + at;
}

static void order_blocks(Cfg *cfg, const IrFunc *f, Arena *arena)
{
  cfg->rpo = ir_order_blocks(f, &cfg->n_rpo, arena);
  cfg->rpo_index = filled_array(arena, f->n_blocks, IR_NO_ID);
  for (uint32_t i = 0; i < cfg->n_rpo; i++)
    cfg->rpo_index[cfg->rpo[i]] = i;
}

static void collect_preds(Cfg *cfg, const IrFunc *f, Arena *arena)
{
  uint32_t n = f->n_blocks, n_targets;
  cfg->pred_at = arena_many(arena, uint32_t, n + 2);
  for (uint32_t i = 0; i < cfg->n_rpo; i++) {
    const IrTarget *targets = cfg_targets(f, cfg->rpo[i], &n_targets);
    for (uint32_t t = 0; t < n_targets; t++)
      cfg->pred_at[targets[t].block.raw + 2]++;
  }
  for (uint32_t b = 2; b < n + 2; b++)
    cfg->pred_at[b] += cfg->pred_at[b - 1];
  cfg->preds = arena_many(arena, uint32_t, cfg->pred_at[n + 1] + 1);
  for (uint32_t i = 0; i < cfg->n_rpo; i++) {
    const IrTarget *targets = cfg_targets(f, cfg->rpo[i], &n_targets);
    for (uint32_t t = 0; t < n_targets; t++)
      cfg->preds[cfg->pred_at[targets[t].block.raw + 1]++] = cfg->rpo[i];
  }
}

/* The search for the dominator that all predecessors of a block share.  `passed` has the number of
 * the last search that left a block behind on its way up: a search that arrives there meets the
 * others no higher than they met, so a search visits a block once for any number of
 * predecessors. */
typedef struct {
  uint32_t *passed;
  uint32_t number;
} IdomSearch;

static uint32_t intersect_dominators(const Cfg *cfg, IdomSearch *search, uint32_t a, uint32_t b)
{
  while (a != b) {
    for (; cfg->rpo_index[a] > cfg->rpo_index[b]; a = cfg->idom[a]) {
      if (search->passed[a] == search->number)
        return b;
      search->passed[a] = search->number;
    }
    for (; cfg->rpo_index[b] > cfg->rpo_index[a]; b = cfg->idom[b])
      search->passed[b] = search->number;
  }
  return a;
}

static uint32_t common_dominator(const Cfg *cfg, IdomSearch *search, uint32_t block)
{
  uint32_t result = IR_NO_ID;
  search->number++;
  for (uint32_t i = cfg->pred_at[block]; i < cfg->pred_at[block + 1]; i++) {
    uint32_t pred = cfg->preds[i];
    if (cfg->idom[pred] != IR_NO_ID)
      result = result == IR_NO_ID ? pred : intersect_dominators(cfg, search, pred, result);
  }
  return result;
}

static void find_dominators(Cfg *cfg, Arena *arena)
{
  IdomSearch search = {.passed = filled_array(arena, cfg->n_blocks, 0)};
  cfg->idom = filled_array(arena, cfg->n_blocks, IR_NO_ID);
  cfg->idom[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 1; i < cfg->n_rpo; i++) {
      uint32_t block = cfg->rpo[i], idom = common_dominator(cfg, &search, block);
      changed |= idom != cfg->idom[block];
      cfg->idom[block] = idom;
    }
  }
}

/* Numbers the dominator tree in such a way that a subtree is a range: sizes bottom-up, then
 * places top-down.  A block comes after its dominator in reverse postorder. */
static void number_dominators(Cfg *cfg, Arena *arena)
{
  uint32_t n = cfg->n_blocks;
  uint32_t *size = filled_array(arena, n, 1), *next = filled_array(arena, n, 0);
  cfg->dom_enter = filled_array(arena, n, 0);
  cfg->dom_leave = filled_array(arena, n, 0);
  for (uint32_t i = cfg->n_rpo; i-- > 1;)
    size[cfg->idom[cfg->rpo[i]]] += size[cfg->rpo[i]];
  for (uint32_t i = 0; i < cfg->n_rpo; i++) {
    uint32_t block = cfg->rpo[i], above = cfg->idom[block];
    if (i) {
      cfg->dom_enter[block] = next[above];
      next[above] += size[block];
    }
    next[block] = cfg->dom_enter[block] + 1;
    cfg->dom_leave[block] = cfg->dom_enter[block] + size[block] - 1;
  }
}

bool cfg_runs_in_each_turn(const Cfg *cfg, uint32_t head, uint32_t block)
{
  for (uint32_t i = cfg->pred_at[head]; i < cfg->pred_at[head + 1]; i++)
    if (cfg_loop_contains(cfg, head, cfg->preds[i]) && !cfg_dominates(cfg, block, cfg->preds[i]))
      return false;
  return true;
}

static uint32_t outermost_loop(const Cfg *cfg, uint32_t head)
{
  while (cfg->loop_parent[head] != IR_NO_ID)
    head = cfg->loop_parent[head];
  return head;
}

/* Enters the blocks that reach the head's back edges without passing the head.  Heads come
 * innermost first, so that what already has a loop is an inner loop of this one. */
static void collect_loop(Cfg *cfg, uint32_t head, uint32_t *work)
{
  uint32_t n = 0;
  for (uint32_t i = cfg->pred_at[head]; i < cfg->pred_at[head + 1]; i++)
    if (cfg_dominates(cfg, head, cfg->preds[i]))
      work[n++] = cfg->preds[i];
  if (!n)
    return;
  if (cfg->loop_head[head] == IR_NO_ID)
    cfg->loop_head[head] = head;
  while (n) {
    uint32_t block = work[--n];
    uint32_t inner = cfg->loop_head[block];
    if (block == head)
      continue;
    if (inner != IR_NO_ID) {
      inner = outermost_loop(cfg, inner);
      if (inner == head)
        continue;
      cfg->loop_parent[inner] = head;
      block = inner;
    } else {
      cfg->loop_head[block] = head;
    }
    for (uint32_t i = cfg->pred_at[block]; i < cfg->pred_at[block + 1]; i++)
      work[n++] = cfg->preds[i];
  }
}

static void find_loops(Cfg *cfg, Arena *arena)
{
  uint32_t n = cfg->n_blocks;
  cfg->loop_head = filled_array(arena, n, IR_NO_ID);
  cfg->loop_parent = filled_array(arena, n, IR_NO_ID);
  cfg->loop_depth = filled_array(arena, n, 0);
  /* A block's predecessors are pushed once per loop level, plus the back edges. */
  uint32_t *work = arena_many(arena, uint32_t, 2 * (size_t)cfg->pred_at[n] + 2);
  for (uint32_t i = cfg->n_rpo; i-- > 0;)
    collect_loop(cfg, cfg->rpo[i], work);
  for (uint32_t i = 0; i < cfg->n_rpo; i++) {
    uint32_t block = cfg->rpo[i];
    for (uint32_t h = cfg->loop_head[block]; h != IR_NO_ID; h = cfg->loop_parent[h])
      cfg->loop_depth[block]++;
  }
}

/* Reverse postorder puts a loop's exit before its body when the exit is the first target.  So a
 * loop takes its places in `together` when its head comes, and blocks not of it go behind. */
static void keep_loops_together(Cfg *cfg, Arena *arena)
{
  uint32_t n = cfg->n_blocks, at = 0;
  uint32_t *size = filled_array(arena, n, 0), *next = filled_array(arena, n, 0);
  cfg->together = filled_array(arena, cfg->n_rpo, 0);
  cfg->together_index = filled_array(arena, n, IR_NO_ID);
  cfg->loop_end = filled_array(arena, n, 0);
  for (uint32_t i = cfg->n_rpo; i-- > 0;) {
    uint32_t block = cfg->rpo[i], head = cfg->loop_head[block];
    if (head != IR_NO_ID)
      size[head]++;
    if (head == block && cfg->loop_parent[head] != IR_NO_ID)
      size[cfg->loop_parent[head]] += size[head];
  }
  for (uint32_t i = 0; i < cfg->n_rpo; i++) {
    uint32_t block = cfg->rpo[i], head = cfg->loop_head[block];
    if (head == block) {
      uint32_t *from = cfg->loop_parent[head] == IR_NO_ID ? &at : &next[cfg->loop_parent[head]];
      next[head] = *from;
      *from += size[head];
      cfg->loop_end[head] = *from;
    }
    uint32_t place = head == IR_NO_ID ? at++ : next[head]++;
    cfg->together[place] = block;
    cfg->together_index[block] = place;
  }
}

void cfg_reach(Cfg *cfg, const IrFunc *f, Arena *arena)
{
  *cfg = (Cfg){.n_blocks = f->n_blocks};
  order_blocks(cfg, f, arena);
}

void cfg_order(Cfg *cfg, const IrFunc *f, Arena *arena)
{
  cfg_reach(cfg, f, arena);
  collect_preds(cfg, f, arena);
}

void cfg_build(Cfg *cfg, const IrFunc *f, Arena *arena)
{
  cfg_order(cfg, f, arena);
  find_dominators(cfg, arena);
  number_dominators(cfg, arena);
  find_loops(cfg, arena);
  keep_loops_together(cfg, arena);
}
