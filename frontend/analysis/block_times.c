/* How often a block runs when its function runs once: at least, if every way from the entry to a
 * return comes through it; at most, if no cycle does.  Both for all blocks in one walk each. */
#include "frontend/analysis/analysis_internal.h"

#include <stb_ds.h>
#include <string.h>

static uint32_t way_count(const IrInsn *end)
{
  return end ? ir_target_count(end) : 0;
}

static bool is_return(const IrFunc *f, uint32_t block)
{
  const IrInsn *end = ir_last_insn(f, block);
  return end && end->op == IR_ret;
}

/* ---- cycles ---------------------------------------------------------------------------------- */

/* Tarjan's strongly connected components, without recursion: functions may be deep. */
typedef struct { uint32_t block; uint32_t next; } CycleVisit;
typedef struct {
  const IrFunc *f;
  uint32_t *number, *low;    /* by block; number 0: not seen */
  bool *is_open;             /* by block: on `open` */
  uint32_t *open;            /* stb_ds: blocks whose component is not known yet */
  CycleVisit *visits;        /* stb_ds */
  uint32_t counter;
  bool *in_cycle;
} CycleSearch;

static void open_block(CycleSearch *c, uint32_t block)
{
  c->number[block] = c->low[block] = ++c->counter;
  c->is_open[block] = true;
  arrput(c->open, block);
  arrput(c->visits, ((CycleVisit){block, 0}));
}

/* A component of one block is a cycle only if the block jumps to itself. */
static void close_component(CycleSearch *c, uint32_t first)
{
  bool is_alone = arrlast(c->open) == first;
  for (uint32_t block = IR_NO_ID; block != first;) {
    block = arrpop(c->open);
    c->is_open[block] = false;
    c->in_cycle[block] |= !is_alone;
  }
}

static void visit_next(CycleSearch *c)
{
  CycleVisit *top = &arrlast(c->visits);
  uint32_t block = top->block;
  const IrInsn *end = ir_last_insn(c->f, block);
  if (top->next == way_count(end)) {
    if (c->low[block] == c->number[block])
      close_component(c, block);
    arrsetlen(c->visits, arrlenu(c->visits) - 1);
    if (arrlenu(c->visits) && c->low[block] < c->low[arrlast(c->visits).block])
      c->low[arrlast(c->visits).block] = c->low[block];
    return;
  }
  uint32_t to = end->u.targets[top->next++].block.raw;
  c->in_cycle[block] |= to == block;
  if (!c->number[to])
    open_block(c, to);
  else if (c->is_open[to] && c->number[to] < c->low[block])
    c->low[block] = c->number[to];
}

static void mark_cycles(const IrFunc *f, bool *in_cycle, Arena *arena)
{
  CycleSearch c = {.f = f, .number = arena_many(arena, uint32_t, f->n_blocks),
                   .low = arena_many(arena, uint32_t, f->n_blocks),
                   .is_open = arena_many(arena, bool, f->n_blocks), .in_cycle = in_cycle};
  for (uint32_t b = 0; b < f->n_blocks; b++) {
    if (!c.number[b])
      open_block(&c, b);
    while (arrlenu(c.visits))
      visit_next(&c);
  }
  arrfree(c.open);
  arrfree(c.visits);
}

/* ---- blocks that no way leaves out ----------------------------------------------------------- */

/* Some way from the entry to a return, in order; NULL if there is none.  stb_ds. */
static uint32_t *find_way(const IrFunc *f, Arena *arena)
{
  uint32_t *from = arena_many(arena, uint32_t, f->n_blocks), *stack = NULL, *way = NULL;
  uint32_t at = IR_NO_ID;
  memset(from, 0xff, sizeof *from * f->n_blocks);
  from[0] = 0;
  arrput(stack, 0);
  while (at == IR_NO_ID && arrlenu(stack)) {
    uint32_t block = arrpop(stack);
    const IrInsn *end = ir_last_insn(f, block);
    if (is_return(f, block))
      at = block;
    for (uint32_t i = 0; i < way_count(end); i++)
      if (from[end->u.targets[i].block.raw] == IR_NO_ID) {
        from[end->u.targets[i].block.raw] = block;
        arrput(stack, end->u.targets[i].block.raw);
      }
  }
  arrfree(stack);
  if (at == IR_NO_ID)
    return NULL;
  for (; at != 0; at = from[at])
    arrput(way, at);
  arrput(way, 0);
  for (size_t i = 0, k = arrlenu(way) - 1; i < k; i++, k--) {
    uint32_t block = way[i];
    way[i] = way[k];
    way[k] = block;
  }
  return way;
}

typedef struct {
  const IrFunc *f;
  const uint32_t *place;     /* by block: place on the way + 1, 0 if it is not on it */
  bool *seen;                /* by block: beside the way and reached from it */
  uint32_t *stack;           /* stb_ds */
  uint32_t furthest;         /* place on the way that ways around have reached; its end: a return */
} Detours;

/* Follows the ways that leave the way at a block, until they come back to it. */
static void follow_detours(Detours *d, uint32_t from, uint32_t end_of_way)
{
  arrput(d->stack, from);
  while (arrlenu(d->stack)) {
    uint32_t block = arrpop(d->stack);
    const IrInsn *end = ir_last_insn(d->f, block);
    if (is_return(d->f, block) && !d->place[block])
      d->furthest = end_of_way;
    for (uint32_t i = 0; i < way_count(end); i++) {
      uint32_t to = end->u.targets[i].block.raw;
      if (d->place[to]) {
        d->furthest = d->place[to] - 1 > d->furthest ? d->place[to] - 1 : d->furthest;
      } else if (!d->seen[to]) {
        d->seen[to] = true;
        arrput(d->stack, to);
      }
    }
  }
}

/* What every way has to pass lies on this one, and no way around from before reaches beyond it. */
static void mark_always(const IrFunc *f, bool *always, Arena *arena)
{
  uint32_t *way = find_way(f, arena), *place = arena_many(arena, uint32_t, f->n_blocks);
  uint32_t n = (uint32_t)arrlenu(way);
  for (uint32_t i = 0; i < n; i++)
    place[way[i]] = i + 1;
  Detours d = {.f = f, .place = place, .seen = arena_many(arena, bool, f->n_blocks)};
  for (uint32_t i = 0; i < n; i++) {
    always[way[i]] = d.furthest <= i;
    follow_detours(&d, way[i], n);
  }
  always[0] = true;
  arrfree(d.stack);
  arrfree(way);
}

Times *block_times_find(const IrFunc *f, Arena *arena)
{
  Times *times = arena_many(arena, Times, f->n_blocks + 1);
  if (!f->n_blocks)
    return times;
  Arena *scratch = arena_create("block times");
  bool *in_cycle = arena_many(scratch, bool, f->n_blocks);
  bool *always = arena_many(scratch, bool, f->n_blocks);
  mark_cycles(f, in_cycle, scratch);
  mark_always(f, always, scratch);
  for (uint32_t b = 0; b < f->n_blocks; b++)
    times[b] = (Times){always[b], in_cycle[b] ? FABRIC_MANY : 1};
  arena_destroy(scratch);
  return times;
}
