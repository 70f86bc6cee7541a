/* inline: puts a function's body in place of a call.
 *
 * The pass visits callees first, so an inlined body mostly has its own calls inlined already.
 * Declared-inline functions are always inlined, small ones everywhere, others if this is their
 * only call.  The pass does not visit these: their bodies go to the function that keeps them, and
 * their calls are inlined there.  So it copies a chain of such functions once, not once for each
 * of its calls.  Recursive calls stay. Locations remember the call that they came through. */
#include "ir/opt/opt.h"

#include <string.h>

#include <stb_ds.h>

/* By level: instructions, constants not counted, up to which a function is small. */
static const uint32_t small_insns[] = {0, 30, 30};
/* A small function with more stack than this is not worth its caller's stack. */
enum { MOST_SMALL_STACK_BYTES = 64, MOST_LEVEL = 2 };

typedef struct {
  Opt *opt;
  IrModule *m;
  uint32_t *n_calls;         /* by function: call instructions that name it */
  bool *is_root;             /* entered otherwise than by calls */
  uint8_t *state;            /* of the walk: 0 not seen, 1 open, 2 done */
  bool *recursive;
  bool *moves;               /* its only call is inlined: nothing calls it afterwards */
  bool changed;
  uint32_t *loc_copies;      /* stb_ds; see Copier.  For all calls, so that one costs what its body
                              * has, not what the module has */
  uint32_t *locs_copied;     /* stb_ds: the places that are not 0 */
} Inliner;

/* ---- which ------------------------------------------------------------------------- */

static void count_calls(Inliner *in)
{
  const IrModule *m = in->m;
  for (uint32_t n = 0; n < m->n_funcs; n++) {
    const IrFunc *f = &m->funcs[n];
    in->is_root[n] = f->address_taken || f->is_task;
    for (uint32_t b = 0; b < f->n_blocks; b++)
      for (uint32_t i = 0; i < f->blocks[b].n_insns; i++) {
        const IrInsn *insn = opt_insn(f, f->blocks[b].insns[i]);
        if (insn->op == IR_call)
          in->n_calls[insn->u.func.raw]++;
        else if (insn->op == IR_func_addr)
          in->is_root[insn->u.func.raw] = true;
      }
  }
  for (uint32_t i = 0; i < m->n_bindings; i++)
    if (m->bindings[i].is_func)
      in->is_root[m->bindings[i].target] = true;
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (m->teardown_handler[c] != IR_NO_ID)
      in->is_root[m->teardown_handler[c]] = true;
  for (unsigned q = 0; q < 2 * MAX_QUEUES; q++)
    if (m->empty_handler[q / MAX_QUEUES][q % MAX_QUEUES] != IR_NO_ID)
      in->is_root[m->empty_handler[q / MAX_QUEUES][q % MAX_QUEUES]] = true;
}

static void measure_func(const IrFunc *f, uint32_t *insns, uint64_t *stack_bytes)
{
  *insns = 0;
  *stack_bytes = 0;
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++) {
      const IrInsn *insn = opt_insn(f, f->blocks[b].insns[i]);
      bool is_free = insn->op == IR_const || insn->op == IR_global_addr ||
                     insn->op == IR_func_addr || insn->op == IR_dsd_const ||
                     insn->op == IR_alloca || insn->op == IR_ret;
      *insns += !is_free;
      *stack_bytes += insn->op == IR_alloca ? insn->imm : 0;
    }
}

static bool may_inline(const Inliner *in, uint32_t callee)
{
  const IrFunc *f = &in->m->funcs[callee];
  return !in->recursive[callee] && !f->is_task && f->inlining != IR_INLINING_NEVER;
}

static bool wants_inlining(const Inliner *in, uint32_t callee)
{
  const IrFunc *f = &in->m->funcs[callee];
  int level = in->opt->level > MOST_LEVEL ? MOST_LEVEL : in->opt->level;
  uint32_t insns;
  uint64_t stack_bytes;
  if (!may_inline(in, callee))
    return false;
  if (f->inlining == IR_INLINING_ALWAYS || (in->n_calls[callee] == 1 && !in->is_root[callee]))
    return true;
  measure_func(f, &insns, &stack_bytes);
  return insns <= small_insns[level] && stack_bytes <= MOST_SMALL_STACK_BYTES;
}

/* ---- a copy of the body ------------------------------------------------------------ */

typedef struct {
  IrModule *m;
  IrFuncId into, from;
  IrValue *values;           /* by value of the callee: its copy */
  uint32_t first_block;      /* block b of the callee becomes first_block + b */
  uint32_t after;            /* block of the caller that goes on after the call */
  IrLocId call_loc;
  Inliner *in;               /* its loc_copies: by location when inlining began, the copy; 0 none */
  uint32_t n_locs;
} Copier;

/* The location with the call's at the end of its chain. */
static IrLocId copy_loc(Copier *c, IrLocId loc)
{
  if (!loc.raw || !c->call_loc.raw || loc.raw >= c->n_locs)
    return loc;
  if (c->in->loc_copies[loc.raw])
    return (IrLocId){c->in->loc_copies[loc.raw]};
  IrLoc l = c->m->locs[loc.raw];
  IrLocId parent = l.inlined_at.raw ? copy_loc(c, l.inlined_at) : c->call_loc;
  const char *function = l.function ? l.function : c->m->funcs[c->from.raw].name;
  IrLocId copy = ir_loc_add(c->m, l.span, parent, function);
  c->in->loc_copies[loc.raw] = copy.raw;
  arrput(c->in->locs_copied, loc.raw);
  return copy;
}

static void begin_locs(Copier *c)
{
  c->n_locs = c->m->n_locs;
  size_t had = arrlenu(c->in->loc_copies);
  if (had >= c->n_locs)
    return;
  arrsetlen(c->in->loc_copies, c->n_locs);
  memset(c->in->loc_copies + had, 0, (c->n_locs - had) * sizeof *c->in->loc_copies);
}

static void end_locs(Copier *c)
{
  for (size_t i = 0; i < arrlenu(c->in->locs_copied); i++)
    c->in->loc_copies[c->in->locs_copied[i]] = 0;
  arrsetlen(c->in->locs_copied, 0);
}

static IrFunc *caller_of(const Copier *c)
{
  return &c->m->funcs[c->into.raw];
}

static const IrFunc *callee_of(const Copier *c)
{
  return &c->m->funcs[c->from.raw];
}

static void map_operand(IrValue *operand, void *context)
{
  *operand = ((Copier *)context)->values[operand->raw];
}

static IrTarget *copy_targets(Copier *c, const IrInsn *insn)
{
  uint32_t n = ir_target_count(insn);
  IrTarget *copy = arena_many(c->m->arena, IrTarget, n);
  for (uint32_t t = 0; t < n; t++) {
    const IrTarget *from = &insn->u.targets[t];
    copy[t].block.raw = c->first_block + from->block.raw;
    copy[t].n_args = from->n_args;
    copy[t].args = arena_many(c->m->arena, IrValue, from->n_args);
    if (from->n_args)
      memcpy(copy[t].args, from->args, sizeof(IrValue) * from->n_args);
  }
  return copy;
}

static void make_return(Copier *c, IrInsn *insn)
{
  IrTarget *target = arena_new(c->m->arena, IrTarget);
  *target = (IrTarget){.block = {c->after}, .n_args = insn->n_args, .args = insn->args};
  insn->op = IR_br;
  insn->n_args = 0;
  insn->u.targets = target;
}

/* What a copied instruction points to is its own: passes change it in place. */
static void copy_payload(Copier *c, IrInsn *insn)
{
  if (insn->op == IR_br || insn->op == IR_cond_br) {
    insn->u.targets = copy_targets(c, insn);
  } else if (insn->op == IR_dsd_const) {
    IrDesc *desc = arena_new(c->m->arena, IrDesc);
    *desc = *insn->u.desc;
    insn->u.desc = desc;
  } else if (insn->op == IR_vec) {
    IrVec *vec = arena_new(c->m->arena, IrVec);
    *vec = *insn->u.vec;
    insn->u.vec = vec;
  }
}

/* First all values get their ids, so that operands may refer to later blocks. */
static void copy_block_values(Copier *c, uint32_t b)
{
  const IrFunc *f = callee_of(c);
  for (uint32_t i = 0; b && i < f->blocks[b].n_params; i++) {
    IrValue v = f->blocks[b].params[i];
    c->values[v.raw] = ir_block_param(c->m, c->into, (IrBlockId){c->first_block + b},
                                      opt_insn(f, v)->type);
  }
  for (uint32_t i = 0; i < f->blocks[b].n_insns; i++) {
    IrValue v = f->blocks[b].insns[i];
    IrInsn copy = *opt_insn(f, v);
    copy.loc = copy_loc(c, copy.loc);
    copy_payload(c, &copy);
    c->values[v.raw] = opt_add(c->m, caller_of(c), &copy);
  }
}

static void copy_block_body(Copier *c, uint32_t b)
{
  const IrFunc *f = callee_of(c);
  for (uint32_t i = 0; i < f->blocks[b].n_insns; i++) {
    IrValue v = c->values[f->blocks[b].insns[i].raw];
    IrInsn *insn = opt_insn(caller_of(c), v);
    opt_each_operand(insn, map_operand, c);
    if (insn->op == IR_ret)
      make_return(c, insn);
    IrBlock *to = &caller_of(c)->blocks[insn->op == IR_alloca ? 0 : c->first_block + b];
    opt_insert(c->m, to, insn->op == IR_alloca ? 0 : to->n_insns, v);
  }
}

/* ---- at a call --------------------------------------------------------------------- */

/* Cuts the block in two behind instruction `at`, which is a call; the second half is a new block
 * whose parameter is the call's result.  It takes its instructions with their array, so many calls
 * in one block cost no more than the block has. */
static uint32_t split_after(IrModule *m, IrFuncId func, uint32_t block, uint32_t at,
                            IrValue *result)
{
  uint32_t after = ir_block_add(m, func).raw;
  IrFunc *f = &m->funcs[func.raw];
  IrValue call = f->blocks[block].insns[at];
  if (opt_insn(f, call)->type != IRT_VOID)
    *result = ir_block_param(m, func, (IrBlockId){after}, opt_insn(f, call)->type);
  f = &m->funcs[func.raw];
  IrBlock *first = &f->blocks[block], *second = &f->blocks[after];
  second->insns = first->insns + at + 1;
  second->n_insns = first->n_insns - (at + 1);
  second->cap_insns = first->cap_insns - (at + 1);
  first->n_insns = at;
  first->cap_insns = at + 1;
  opt_insn(f, call)->dead = true;
  return after;
}

static void copy_locals(Copier *c)
{
  for (uint32_t i = 0; i < callee_of(c)->n_locals; i++) {
    IrLocal local = callee_of(c)->locals[i];
    local.loc = copy_loc(c, local.loc);
    local.value = c->values[local.value.raw];
    ir_local_add(c->m, c->into, local);
  }
  for (uint32_t i = 0; i < callee_of(c)->n_held; i++)
    ir_held_add(c->m, &c->m->funcs[c->into.raw], callee_of(c)->held[i]);
}

/* Blocks in which calls are still to be looked for. */
typedef struct { uint32_t next, end; } BlockRange;
/* A call that was inlined, and what takes the place of its result. */
typedef struct { IrValue call, result; } InlinedCall;

/* A function while its calls are inlined. */
typedef struct {
  Inliner *in;
  IrFuncId id;
  BlockRange *ranges;        /* stb_ds: those of bodies end before those that go on after them */
  InlinedCall *calls;        /* stb_ds */
} InlineVisit;

/* What stands behind the call is looked at next, and before it a body that was not visited. */
static void inline_call(InlineVisit *visit, uint32_t block, uint32_t at)
{
  Inliner *in = visit->in;
  IrModule *m = in->m;
  IrFuncId into = visit->id;
  IrValue call_id = m->funcs[into.raw].blocks[block].insns[at], result = IR_NO_VALUE;
  IrInsn call = *opt_insn(&m->funcs[into.raw], call_id);
  const IrFunc *callee = &m->funcs[call.u.func.raw];
  Copier c = {.m = m, .into = into, .from = call.u.func, .call_loc = call.loc, .in = in};
  c.values = arena_many(in->opt->arena, IrValue, callee->n_insns);
  begin_locs(&c);
  c.after = split_after(m, into, block, at, &result);
  c.first_block = m->funcs[into.raw].n_blocks;
  for (uint32_t b = 0; b < callee->n_blocks; b++)
    ir_block_add(m, into);
  for (uint32_t i = 0; i < callee->n_params; i++)
    c.values[callee->blocks[0].params[i].raw] = call.args[i];
  for (uint32_t b = 0; b < callee->n_blocks; b++)
    copy_block_values(&c, b);
  for (uint32_t b = 0; b < callee->n_blocks; b++)
    copy_block_body(&c, b);
  copy_locals(&c);
  end_locs(&c);
  IrBuilder jump = {.module = m, .func = into, .block = {block}, .loc = call.loc};
  ir_br(&jump, (IrBlockId){c.first_block}, NULL, 0);
  in->n_calls[call.u.func.raw]--;
  arrput(visit->calls, ((InlinedCall){call_id, result}));
  arrput(visit->ranges, ((BlockRange){c.after, c.after + 1}));
  if (in->moves[call.u.func.raw])
    arrput(visit->ranges, ((BlockRange){c.first_block, c.first_block + callee->n_blocks}));
}

static bool find_call(const Inliner *in, const IrFunc *f, uint32_t block, uint32_t *at)
{
  for (*at = 0; *at < f->blocks[block].n_insns; ++*at) {
    const IrInsn *insn = opt_insn(f, f->blocks[block].insns[*at]);
    if (insn->op == IR_call && wants_inlining(in, insn->u.func.raw))
      return true;
  }
  return false;
}

static void inline_calls(InlineVisit *visit)
{
  while (arrlenu(visit->ranges)) {
    BlockRange *range = &arrlast(visit->ranges);
    if (range->next == range->end) {
      (void)arrpop(visit->ranges);
      continue;
    }
    uint32_t block = range->next++, at;
    if (find_call(visit->in, &visit->in->m->funcs[visit->id.raw], block, &at))
      inline_call(visit, block, at);
  }
}

/* Bodies of functions that were visited hold no calls that want inlining, except of recursive
 * functions: only bodies that move are looked at. */
static void visit_function(Inliner *in, uint32_t id)
{
  InlineVisit visit = {.in = in, .id = {id}};
  arrput(visit.ranges, ((BlockRange){0, in->m->funcs[id].n_blocks}));
  inline_calls(&visit);
  if (arrlenu(visit.calls)) {
    IrFunc *f = &in->m->funcs[id];
    IrValue *map = arena_many(in->opt->arena, IrValue, f->n_insns);
    for (size_t i = 0; i < arrlenu(visit.calls); i++)
      map[visit.calls[i].call.raw] = visit.calls[i].result;
    opt_replace_values(f, map);
    opt_find_unreachable(f, in->opt->arena);
    in->changed = true;
  }
  arrfree(visit.calls);
  arrfree(visit.ranges);
}

/* ---- call graph -------------------------------------------------------------------- */

typedef struct { uint32_t func, block, insn; } Walk;

/* The next function that is called from the place of the walk on, or IR_NO_ID. */
static uint32_t next_callee(const IrModule *m, Walk *w)
{
  const IrFunc *f = &m->funcs[w->func];
  for (; w->block < f->n_blocks; w->block++, w->insn = 0)
    while (w->insn < f->blocks[w->block].n_insns) {
      const IrInsn *insn = opt_insn(f, f->blocks[w->block].insns[w->insn++]);
      if (insn->op == IR_call)
        return insn->u.func.raw;
    }
  return IR_NO_ID;
}

/* Everything on the stack from the open callee up is one cycle. */
static void mark_cycle(Inliner *in, const Walk *stack, uint32_t depth, uint32_t callee)
{
  for (uint32_t i = depth; i-- > 0;) {
    in->recursive[stack[i].func] = true;
    if (stack[i].func == callee)
      return;
  }
}

/* Appends functions to order, callees before callers. */
static uint32_t walk_from(Inliner *in, uint32_t root, Walk *stack, uint32_t *order, uint32_t n)
{
  uint32_t depth = 0;
  stack[depth++] = (Walk){root, 0, 0};
  in->state[root] = 1;
  while (depth) {
    uint32_t callee = next_callee(in->m, &stack[depth - 1]);
    if (callee == IR_NO_ID) {
      uint32_t done = stack[--depth].func;
      in->state[done] = 2;
      order[n++] = done;
    } else if (in->state[callee] == 1) {
      mark_cycle(in, stack, depth, callee);
    } else if (in->state[callee] == 0) {
      in->state[callee] = 1;
      stack[depth++] = (Walk){callee, 0, 0};
    }
  }
  return n;
}

bool pass_inline(Opt *opt)
{
  uint32_t n = opt->m->n_funcs, n_order = 0;
  Inliner in = {.opt = opt, .m = opt->m,
                .n_calls = arena_many(opt->arena, uint32_t, n),
                .is_root = arena_many(opt->arena, bool, n),
                .state = arena_many(opt->arena, uint8_t, n),
                .recursive = arena_many(opt->arena, bool, n),
                .moves = arena_many(opt->arena, bool, n)};
  uint32_t *order = arena_many(opt->arena, uint32_t, n);
  Walk *stack = arena_many(opt->arena, Walk, n);
  count_calls(&in);
  for (uint32_t i = 0; i < n; i++)
    if (in.state[i] == 0)
      n_order = walk_from(&in, i, stack, order, n_order);
  for (uint32_t i = 0; i < n; i++)
    in.moves[i] = may_inline(&in, i) && in.n_calls[i] == 1 && !in.is_root[i];
  for (uint32_t i = 0; i < n_order; i++)
    if (!in.moves[order[i]])
      visit_function(&in, order[i]);
  arrfree(in.loc_copies);
  arrfree(in.locs_copied);
  return in.changed;
}
