/* Loops that leave an array: a `for` over a range that is known, or a `while` with a counter, whose
 * turns all come to a load or store of an element that its array does not have.
 *
 * The code is still as it was written: a `for` has its counter in a parameter of the block that
 * begins its body, a `while` in a variable.  A loop counts if its counter alone ends it.  What
 * stands behind a condition in its body does not: that may keep it from the last turns. */
#include "frontend/analysis/analysis_internal.h"

#include <stb_ds.h>
#include <stdlib.h>

/* Longer functions are generated ones. */
enum { MOST_TURNS = 1 << 16, MOST_NESTED = 4, MOST_LOOPS = 64, MOST_EDGES = 1 << 12 };

/* ---- the way through a function -------------------------------------------------------------- */

typedef struct { uint32_t from, to, target; } Edge;

typedef struct {
  bool is_while;
  uint32_t head, latch, exit; /* blocks: `exit` is the only one that leads out */
  uint32_t body;              /* where a turn begins */
  uint32_t done;              /* where it goes on behind the loop */
  bool *has;                  /* by block */
  IrValue counter;            /* a parameter, or the place of a variable */
  uint32_t set_up;            /* the block that gives it its first value */
  uint32_t step, step_place;  /* of a variable: the block with the store of the next, and where */
  int64_t first, last;
} CountedLoop;

typedef struct {
  const Sema *s;
  const IrFunc *f;
  Edge *edges;                /* stb_ds, like the loops */
  CountedLoop *loops;
} LoopSearch;

static const IrInsn *insn_of(const LoopSearch *b, IrValue v) { return &b->f->insns[v.raw]; }

static void find_edges(LoopSearch *b)
{
  for (uint32_t from = 0; from < b->f->n_blocks; from++) {
    const IrInsn *end = ir_last_insn(b->f, from);
    for (uint32_t t = 0; end && t < ir_target_count(end); t++)
      arrput(b->edges, ((Edge){from, end->u.targets[t].block.raw, t}));
  }
}

/* The blocks that come to the latch without the head; false: the entry does. */
static bool find_blocks(const LoopSearch *b, CountedLoop *loop)
{
  loop->has = arena_many(b->s->arena, bool, b->f->n_blocks);
  loop->has[loop->head] = loop->has[loop->latch] = true;
  for (bool grows = true; grows;) {
    grows = false;
    for (size_t i = arrlenu(b->edges); i-- > 0;) {
      const Edge *e = &b->edges[i];
      if (e->to == loop->head || !loop->has[e->to] || loop->has[e->from])
        continue;
      loop->has[e->from] = grows = true;
    }
  }
  return loop->head == 0 || !loop->has[0];
}

static bool has_one_exit(const LoopSearch *b, const CountedLoop *loop)
{
  for (size_t i = 0; i < arrlenu(b->edges); i++) {
    const Edge *e = &b->edges[i];
    if (loop->has[e->from] && !loop->has[e->to] && e->from != loop->exit)
      return false;
  }
  return true;
}

/* ---- counters -------------------------------------------------------------------------------- */

static int64_t signed_bits(IrType type, uint64_t bits)
{
  unsigned unused = 64 - 8 * ir_type_bytes(type);
  return (int64_t)(bits << unused) >> unused;
}

/* Goes through the turns; false: there is none, or too many, or the counter wraps. */
static bool run_turns(CountedLoop *loop, IrOp op, IrType type, bool is_left, int64_t first,
                      int64_t step, int64_t limit)
{
  int64_t top = (int64_t)1 << (8 * ir_type_bytes(type));
  loop->first = first;
  for (int64_t i = first, n = 0; n < MOST_TURNS; i += step, n++) {
    int64_t a = is_left ? i : limit, z = is_left ? limit : i;
    bool goes_on = op == IR_ne ? a != z : op == IR_slt || op == IR_ult ? a < z : a <= z;
    if (!goes_on)
      return n > 0;
    if (i < -top / 2 || i >= top)
      return false;
    loop->last = i;
  }
  return false;
}

/* The numbers of the loop by the sign that its comparison, or a step down, gives the counter. */
static bool count_turns(CountedLoop *loop, const IrInsn *compare, bool is_left, const IrInsn *first,
                        int64_t step, const IrInsn *limit)
{
  IrType type = first->type;
  bool is_signed = compare->op == IR_slt || compare->op == IR_sle || step < 0;
  if (first->op != IR_const || limit->op != IR_const)
    return false;
  return run_turns(loop, compare->op, type, is_left,
                   is_signed ? signed_bits(type, first->imm) : (int64_t)first->imm, step,
                   is_signed ? signed_bits(type, limit->imm) : (int64_t)limit->imm);
}

/* What enters the head from outside with the parameter; NULL: several do. */
static const IrInsn *entering_value(const LoopSearch *b, CountedLoop *loop, uint32_t param)
{
  const IrInsn *value = NULL;
  for (size_t i = 0; i < arrlenu(b->edges); i++) {
    const Edge *e = &b->edges[i];
    if (e->to != loop->head || loop->has[e->from])
      continue;
    if (value)
      return NULL;
    const IrTarget *target = &ir_last_insn(b->f, e->from)->u.targets[e->target];
    value = insn_of(b, target->args[param]);
    loop->set_up = e->from;
  }
  return value;
}

/* `for`: the latch compares the next value with the one behind the last. */
static bool count_for(const LoopSearch *b, CountedLoop *loop)
{
  const IrInsn *end = ir_last_insn(b->f, loop->latch);
  const IrInsn *compare = insn_of(b, end->args[0]);
  const IrTarget *again = &end->u.targets[0];
  if (again->block.raw != loop->head || compare->op != IR_ne)
    return false;
  const IrInsn *next = insn_of(b, compare->args[0]), *limit = insn_of(b, compare->args[1]);
  for (uint32_t p = 0; p < again->n_args; p++) {
    loop->counter = b->f->blocks[loop->head].params[p];
    if (!ir_value_eq(again->args[p], compare->args[0]) || next->op != IR_add ||
        !ir_value_eq(next->args[0], loop->counter))
      continue;
    const IrInsn *first = entering_value(b, loop, p), *step = insn_of(b, next->args[1]);
    loop->exit = loop->latch;
    loop->body = loop->head;
    loop->done = end->u.targets[1].block.raw;
    return first && step->op == IR_const &&
           count_turns(loop, compare, true, first, signed_bits(step->type, step->imm), limit);
  }
  return false;
}

static bool is_load_of(const LoopSearch *b, IrValue v, IrValue place)
{
  return insn_of(b, v)->op == IR_load && ir_value_eq(insn_of(b, v)->args[0], place);
}

/* The stores to a variable that nothing else but loads has: one in front of the loop, one in it. */
static bool find_stores(const LoopSearch *b, CountedLoop *loop, const IrInsn **first,
                        const IrInsn **step)
{
  for (uint32_t block = 0; block < b->f->n_blocks; block++)
    for (uint32_t i = 0; i < b->f->blocks[block].n_insns; i++) {
      const IrInsn *insn = insn_of(b, b->f->blocks[block].insns[i]);
      for (uint32_t t = 0; t < ir_target_count(insn); t++)
        for (uint32_t a = 0; a < insn->u.targets[t].n_args; a++)
          if (ir_value_eq(insn->u.targets[t].args[a], loop->counter))
            return false;
      for (uint32_t a = 0; a < insn->n_args; a++) {
        if (!ir_value_eq(insn->args[a], loop->counter) || insn->op == IR_load)
          continue;
        const IrInsn **into = loop->has[block] ? step : first;
        if (insn->op != IR_store || a > 0 || *into)
          return false;
        *into = insn_of(b, insn->args[1]);
        *(loop->has[block] ? &loop->step : &loop->set_up) = block;
        if (loop->has[block])
          loop->step_place = i;
      }
    }
  return *first && *step && loop->set_up < loop->head;
}

/* `while`: the head compares the variable. */
static bool count_while(const LoopSearch *b, CountedLoop *loop)
{
  const IrInsn *end = ir_last_insn(b->f, loop->head), *first = NULL, *step = NULL;
  if (end->op != IR_cond_br || loop->has[end->u.targets[1].block.raw])
    return false;
  const IrInsn *compare = insn_of(b, end->args[0]);
  bool is_order = compare->op == IR_slt || compare->op == IR_sle || compare->op == IR_ult ||
                  compare->op == IR_ule || compare->op == IR_ne;
  if (!is_order)
    return false;
  bool is_left = insn_of(b, compare->args[0])->op == IR_load;
  const IrInsn *load = insn_of(b, compare->args[!is_left]);
  const IrInsn *limit = insn_of(b, compare->args[is_left]);
  if (load->op != IR_load || insn_of(b, load->args[0])->op != IR_alloca)
    return false;
  loop->is_while = true;
  loop->counter = load->args[0];
  loop->exit = loop->head;
  loop->body = end->u.targets[0].block.raw;
  loop->done = end->u.targets[1].block.raw;
  if (!find_stores(b, loop, &first, &step) || (step->op != IR_add && step->op != IR_sub) ||
      !is_load_of(b, step->args[0], loop->counter))
    return false;
  const IrInsn *by = insn_of(b, step->args[1]);
  int64_t way = signed_bits(by->type, by->imm) * (step->op == IR_add ? 1 : -1);
  return by->op == IR_const && count_turns(loop, compare, is_left, first, way, limit);
}

static void find_loops(LoopSearch *b)
{
  for (size_t i = 0; i < arrlenu(b->edges); i++) {
    const Edge *e = &b->edges[i];
    CountedLoop loop = {.head = e->to, .latch = e->from};
    if (e->to > e->from || arrlenu(b->loops) == MOST_LOOPS || !find_blocks(b, &loop))
      continue;
    bool is_for = ir_last_insn(b->f, e->from)->op == IR_cond_br;
    if ((is_for ? count_for(b, &loop) : count_while(b, &loop)) && has_one_exit(b, &loop))
      arrput(b->loops, loop);
  }
}

/* ---- what every turn comes to ---------------------------------------------------------------- */

static const CountedLoop *loop_with(const LoopSearch *b, uint32_t head, uint32_t exit)
{
  for (size_t i = 0; i < arrlenu(b->loops); i++)
    if (b->loops[i].head == head && b->loops[i].exit == exit)
      return &b->loops[i];
  return NULL;
}

/* Behind a block, on the way of every turn; IR_NO_ID: it forks. Loops inside are passed. */
static uint32_t next_on_way(const LoopSearch *b, uint32_t block)
{
  const IrInsn *end = ir_last_insn(b->f, block);
  if (end->op == IR_br)
    return end->u.targets[0].block.raw;
  if (end->op != IR_cond_br)
    return IR_NO_ID;
  const CountedLoop *inner = loop_with(b, end->u.targets[0].block.raw, block);
  inner = inner ? inner : loop_with(b, block, block);
  return inner ? inner->done : IR_NO_ID;
}

static bool every_turn_comes_to(const LoopSearch *b, const CountedLoop *loop, uint32_t block)
{
  uint32_t at = loop->body;
  for (uint32_t n = 0; n < b->f->n_blocks && at != IR_NO_ID && loop->has[at]; n++) {
    if (at == block)
      return true;
    if (at == loop->latch)
      return false;
    at = next_on_way(b, at);
  }
  return false;
}

static bool reads_inside(const LoopSearch *b, const CountedLoop *loop, IrValue read)
{
  for (uint32_t block = 0; block < b->f->n_blocks; block++)
    for (uint32_t i = 0; loop->has[block] && i < b->f->blocks[block].n_insns; i++)
      if (ir_value_eq(b->f->blocks[block].insns[i], read))
        return true;
  return false;
}

/* Is the variable read in front of the store of its next value? Blocks of loops inside stand where
 * those do. */
static bool is_before_step(const LoopSearch *b, const CountedLoop *loop, IrValue read)
{
  uint32_t at = loop->body;
  for (uint32_t n = 0; n < b->f->n_blocks && at != IR_NO_ID && loop->has[at]; n++) {
    const IrBlock *block = &b->f->blocks[at];
    uint32_t most = at == loop->step ? loop->step_place : block->n_insns;
    for (uint32_t i = 0; i < most; i++)
      if (ir_value_eq(block->insns[i], read))
        return true;
    if (at == loop->step)
      return false;
    for (size_t k = 0; k < arrlenu(b->loops); k++) {
      const CountedLoop *inner = &b->loops[k];
      if (inner->head == at && inner != loop && reads_inside(b, inner, read))
        return true;
    }
    at = next_on_way(b, at);
  }
  return false;
}

/* ---- offsets --------------------------------------------------------------------------------- */

/* A number plus counters times numbers. */
typedef struct {
  int64_t number;
  uint32_t n;
  struct { const CountedLoop *loop; int64_t times; } parts[MOST_NESTED];
} Offset;

/* The loop whose counter the value is. */
static const CountedLoop *counted_by(const LoopSearch *b, IrValue v)
{
  const IrInsn *insn = insn_of(b, v);
  for (size_t i = 0; i < arrlenu(b->loops); i++) {
    const CountedLoop *loop = &b->loops[i];
    if (loop->is_while ? insn->op == IR_load && ir_value_eq(insn->args[0], loop->counter) &&
                           is_before_step(b, loop, v)
                       : ir_value_eq(v, loop->counter))
      return loop;
  }
  return NULL;
}

static bool is_wide_enough(const Offset *o, IrType type)
{
  int64_t most = (int64_t)1 << (8 * ir_type_bytes(type)), low = o->number, high = o->number;
  for (uint32_t i = 0; i < o->n; i++) {
    int64_t a = o->parts[i].times * o->parts[i].loop->first;
    int64_t z = o->parts[i].times * o->parts[i].loop->last;
    low += a < z ? a : z;
    high += a < z ? z : a;
  }
  return low >= 0 && high < most;
}

static bool add_offset(Offset *into, const Offset *more, int64_t times)
{
  into->number += more->number * times;
  for (uint32_t i = 0; i < more->n; i++) {
    if (into->n == MOST_NESTED)
      return false;
    for (uint32_t k = 0; k < into->n; k++)
      if (into->parts[k].loop == more->parts[i].loop)
        return false;                   /* a counter that stands twice may cancel out */
    into->parts[into->n].loop = more->parts[i].loop;
    into->parts[into->n++].times = more->parts[i].times * times;
  }
  return true;
}

static bool offset_of(const LoopSearch *b, IrValue v, Offset *o)
{
  const IrInsn *insn = insn_of(b, v);
  const CountedLoop *loop = counted_by(b, v);
  Offset left = {0}, right = {0};
  *o = (Offset){0};
  if (loop) {
    *o = (Offset){.n = 1, .parts = {{loop, 1}}};
    return true;
  }
  switch ((int)insn->op) {
  case IR_const: o->number = signed_bits(insn->type, insn->imm); return true;
  case IR_zext:
  case IR_trunc: return offset_of(b, insn->args[0], o) &&
                        is_wide_enough(o, insn->op == IR_zext ? insn_of(b, insn->args[0])->type
                                                              : insn->type);
  case IR_sext: return offset_of(b, insn->args[0], o);
  case IR_add:
  case IR_sub: return offset_of(b, insn->args[0], o) && offset_of(b, insn->args[1], &right) &&
                      add_offset(o, &right, insn->op == IR_add ? 1 : -1);
  case IR_mul: return offset_of(b, insn->args[0], &left) && offset_of(b, insn->args[1], &right) &&
                      (left.n == 0 ? add_offset(o, &right, left.number)
                                   : right.n == 0 && add_offset(o, &left, right.number));
  default: return false;
  }
}

/* ---- accesses -------------------------------------------------------------------------------- */

/* Every turn of all the loops comes to the block, those around the innermost by way of it. */
static bool is_reached_always(const LoopSearch *b, const Offset *o, uint32_t block)
{
  uint32_t n = 0;
  const CountedLoop *inside = NULL;
  for (uint32_t at = block; n < o->n; at = inside->head) {
    const CountedLoop *around = NULL;
    for (size_t i = 0; i < arrlenu(b->loops); i++) {
      const CountedLoop *loop = &b->loops[i];
      bool is_next = loop->has[at] && loop != inside && (!inside || !inside->has[loop->head] ||
                                                         loop->head == inside->head);
      if (is_next && (!around || around->has[loop->head]))
        around = loop;
    }
    if (!around || !every_turn_comes_to(b, around, at) ||
        (inside && inside->is_while && !around->has[inside->set_up]))
      return false;
    for (uint32_t i = 0; i < o->n; i++)
      n += o->parts[i].loop == around;
    inside = around;
  }
  return true;
}

/* The array below an address: how many elements it has, and of how many bytes. */
typedef struct { int64_t count, bytes; } ArrayShape;

static bool array_at(const LoopSearch *b, const IrInsn *base, ArrayShape *shape)
{
  const Sema *s = b->s;
  if (base->op != IR_global_addr || s->ir->globals[base->u.global.raw].has_address)
    return false;
  for (size_t i = 0; i < arrlenu(s->globals); i++) {
    const Global *g = &s->globals[i];
    if (!ir_global_eq(g->ir, base->u.global) || pool_kind(s->pool, g->type) != PK_ARRAY_TYPE)
      continue;
    shape->bytes = type_bytes(s->pool, pool_key(s->pool, g->type).u.array.element);
    shape->count = (int64_t)type_element_count(s->pool, g->type);
    return shape->bytes > 0 && shape->count > 1;    /* one stands for others */
  }
  return false;
}

/* The elements at the ends of what the offset comes to. */
static void check_elements(const LoopSearch *b, const IrInsn *insn, const Offset *o,
                           ArrayShape shape)
{
  int64_t ends[2] = {o->number, o->number};
  for (uint32_t i = 0; i < o->n; i++) {
    int64_t a = o->parts[i].times * o->parts[i].loop->first;
    int64_t z = o->parts[i].times * o->parts[i].loop->last;
    ends[0] += a < z ? a : z;
    ends[1] += a < z ? z : a;
  }
  int64_t low = ends[0] < 0 ? -((shape.bytes - 1 - ends[0]) / shape.bytes) : 0;
  int64_t high = ends[1] < 0 ? 0 : ends[1] / shape.bytes;
  if (low >= 0 && high < shape.count)
    return;
  Diags *diags = b->s->diags;
  Span at = b->s->ir->locs[insn->loc.raw].span;
  diag_loop_bounds(diags, at, low < 0 ? low : high, shape.count);
  diag_loop_bounds_help(diags, at);
}

static void check_access(const LoopSearch *b, uint32_t block, const IrInsn *insn)
{
  Offset o = {0};
  const IrInsn *address = insn_of(b, insn->args[0]);
  if (address->op != IR_ptr_add)
    return;
  for (; address->op == IR_ptr_add; address = insn_of(b, address->args[0])) {
    Offset more;
    if (!offset_of(b, address->args[1], &more) || !add_offset(&o, &more, 1))
      return;
  }
  ArrayShape shape;
  const Session *session = b->s->session;
  Span at = b->s->ir->locs[insn->loc.raw].span;
  if (o.n > 0 && array_at(b, address, &shape) && is_reached_always(b, &o, block) &&
      !files_is_standard(session->files, source_file_of(session->sources, at.off)))
    check_elements(b, insn, &o, shape);
}

static void check_function(Sema *s, const IrFunc *f)
{
  LoopSearch b = {.s = s, .f = f};
  const uint8_t *ways = lint_ways(s, f);
  find_edges(&b);
  if (arrlenu(b.edges) <= MOST_EDGES)
    find_loops(&b);
  for (uint32_t block = 0; arrlenu(b.loops) > 0 && block < f->n_blocks; block++)
    for (uint32_t i = 0; i < f->blocks[block].n_insns && ways[block]; i++) {
      const IrInsn *insn = insn_of(&b, f->blocks[block].insns[i]);
      if ((insn->op == IR_load || insn->op == IR_store) && !ir_loc_is_none(insn->loc))
        check_access(&b, block, insn);
    }
  arrfree(b.edges);
  arrfree(b.loops);
}

void lint_bounds(Sema *s)
{
  const bool *runs = lint_running_functions(s, NULL);
  for (uint32_t f = 0; f < s->ir->n_funcs; f++)
    if (runs[f] && s->ir->funcs[f].n_blocks > 1)
      check_function(s, &s->ir->funcs[f]);
}
