/* memory: a load of what was just stored or loaded is that value; the pass drops a store that is
 * overwritten unread, or that goes to an alloca without a read.
 *
 * Knowledge flows down the blocks, except around loops.  Where ways meet that know different values
 * of a place, the block gets a parameter once a load wants it.  opt/memory.c says what may change
 * memory. */
#include "ir/opt/opt.h"

#include <stb_ds.h>
#include <stdlib.h>
#include <string.h>

/* Few things are worth remembering at a time; the oldest goes.  Of elements whose index varies
 * fewer are: each takes a register as long as it may be loaded again. */
enum { MOST_KNOWN = 24, MOST_VARYING = 2, MOST_DEPTH = 64 };

typedef struct {
  Address at;
  IrType type;
  IrValue value;             /* none yet: it differs by the way into block `join` */
  uint32_t join;
  uint32_t depth;            /* number of joins whose parameters it needs, one behind the other */
} Known;

typedef struct { uint32_t n; Known *known; } State;

/* A store whose bytes have not been read since. */
typedef struct { Address at; uint64_t bytes; IrValue store; } Pending;

typedef struct {
  IrModule *m;
  IrFunc *f;
  Cfg cfg;
  Exposed exposed;
  IrValue *map;
  State *exit;               /* by block: of those processed */
  State now;                 /* with room for MOST_KNOWN */
  Known *joined;             /* stb_ds: the parameters made, `cap_joined` at most */
  uint32_t cap_joined;
  uint32_t n_pending;
  Pending pending[MOST_KNOWN];
  bool *stale;               /* by alloca: it misses a store */
  bool knows_varying;        /* also the elements whose index varies */
  bool changed;
} Forwarder;

/* An index that varies is the same where the pointer is: nothing is remembered around a loop, in
 * which a pointer could change. */
static bool same_address(Address a, Address b)
{
  if (!a.offset_known || !b.offset_known)
    return a.pointer == b.pointer;
  return a.base == b.base && a.object == b.object && a.offset == b.offset;
}

/* ---- loads ------------------------------------------------------------------------- */

static void forget_at(State *s, uint32_t i)
{
  s->n--;
  memmove(s->known + i, s->known + i + 1, sizeof(Known) * (s->n - i));
}

static uint32_t count_varying(const State *s)
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < s->n; i++)
    n += !s->known[i].at.offset_known;
  return n;
}

/* There is one. */
static uint32_t first_varying(const State *s)
{
  uint32_t i = 0;
  while (s->known[i].at.offset_known)
    i++;
  return i;
}

static void learn_value(Forwarder *w, Address at, IrType type, IrValue value)
{
  if (!at.offset_known && !w->knows_varying)
    return;
  if (!at.offset_known && count_varying(&w->now) == MOST_VARYING)
    forget_at(&w->now, first_varying(&w->now));
  if (w->now.n == MOST_KNOWN)
    forget_at(&w->now, 0);
  w->now.known[w->now.n++] = (Known){.at = at, .type = type, .value = value};
}

static Known *find_known(State *state, Address at, IrType type)
{
  for (uint32_t i = state->n; i-- > 0;)
    if (state->known[i].type == type && same_address(state->known[i].at, at))
      return &state->known[i];
  return NULL;
}

static void forget_written(Forwarder *w, const IrInsn *insn)
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < w->now.n; i++) {
    const Known *k = &w->now.known[i];
    if (!opt_may_write(w->f, insn, k->at, ir_type_bytes(k->type), w->exposed))
      w->now.known[n++] = *k;
  }
  w->now.n = n;
}

static IrValue value_of(Forwarder *w, Known *k);

/* Gives the block a parameter for the place; each way into the block knows its value. */
static IrValue join_values(Forwarder *w, const Known *k)
{
  for (size_t i = 0; i < arrlenu(w->joined); i++)
    if (w->joined[i].join == k->join && w->joined[i].type == k->type &&
        same_address(w->joined[i].at, k->at))
      return w->joined[i].value;
  Known made = *k;
  made.value = ir_block_param(w->m, (IrFuncId){(uint32_t)(w->f - w->m->funcs)},
                              (IrBlockId){k->join}, k->type);
  arrput(w->joined, made);
  uint32_t last = IR_NO_ID;
  for (uint32_t i = w->cfg.pred_at[k->join]; i < w->cfg.pred_at[k->join + 1]; i++) {
    uint32_t pred = w->cfg.preds[i], n;
    IrTarget *targets = cfg_targets(w->f, pred, &n);
    IrValue value = value_of(w, find_known(&w->exit[pred], k->at, k->type));
    for (uint32_t t = 0; t < n && pred != last; t++)
      if (targets[t].block.raw == k->join)
        opt_append_target_arg(w->m, &targets[t], value);
    last = pred;
  }
  return made.value;
}

static IrValue value_of(Forwarder *w, Known *k)
{
  if (!k->value.raw)
    k->value = join_values(w, k);
  return k->value;
}

static void visit_load(Forwarder *w, IrValue v)
{
  IrType type = opt_insn(w->f, v)->type;
  Address at = opt_address(w->f, opt_insn(w->f, v)->args[0]);
  Known *k = find_known(&w->now, at, type);
  /* A load makes at most one parameter per block. */
  if (!k || (!k->value.raw && arrlenu(w->joined) + w->f->n_blocks > w->cap_joined)) {
    learn_value(w, at, type, v);
    return;
  }
  w->map[v.raw] = value_of(w, k);
  opt_insn(w->f, v)->dead = true;
  w->changed = true;
}

/* ---- stores ------------------------------------------------------------------------ */

/* Can other code see the object while, or because, the instruction runs? */
static bool may_be_seen(const Forwarder *w, const IrInsn *insn, Address at)
{
  if (at.base == BASE_ALLOCA)
    return w->exposed.allocas[at.object];
  bool only_fabric = insn->op != IR_call && insn->op != IR_call_ptr && insn->op != IR_assert;
  return !(at.base == BASE_GLOBAL && only_fabric && !w->exposed.globals[at.object]);
}

/* Drops the pending stores that the instruction may read, or that must be done when it runs. */
static void settle_pending(Forwarder *w, const IrInsn *insn)
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < w->n_pending; i++) {
    const Pending *p = &w->pending[i];
    bool needed = false;
    if (insn->op == IR_load)
      needed = opt_may_alias(opt_address(w->f, insn->args[0]), ir_type_bytes(insn->type),
                             p->at, p->bytes, w->exposed);
    else if (insn->op == IR_copy)
      needed = opt_may_alias(opt_address(w->f, insn->args[1]), insn->imm, p->at, p->bytes,
                             w->exposed);
    else if (ir_op_is(insn->op, IRE_SIDE | IRE_STALLS | IRE_READS))
      needed = may_be_seen(w, insn, p->at);
    if (!needed)
      w->pending[n++] = *p;
  }
  w->n_pending = n;
}

/* An object that misses a store no longer holds the variable.  `stale`: by value of the object. */
static void forget_locals(IrFunc *f, const bool *stale)
{
  for (uint32_t i = 0; i < f->n_locals; i++)
    if (stale[f->locals[i].value.raw])
      f->locals[i].value = IR_NO_VALUE;
}

static void drop_overwritten(Forwarder *w, Address at, uint64_t bytes)
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < w->n_pending; i++) {
    Pending *p = &w->pending[i];
    bool covered = p->at.base == at.base && p->at.object == at.object && at.offset_known &&
                   p->at.offset_known && at.offset <= p->at.offset &&
                   p->at.offset + (int64_t)p->bytes <= at.offset + (int64_t)bytes;
    if (!covered) {
      w->pending[n++] = *p;
      continue;
    }
    w->changed = opt_insn(w->f, p->store)->dead = true;
    if (at.base == BASE_ALLOCA)
      w->stale[at.object] = true;
    else if (at.base == BASE_GLOBAL)
      ir_held_add(w->m, w->f, at.object);
  }
  w->n_pending = n;
}

static void add_pending(Forwarder *w, Address at, uint64_t bytes, IrValue store)
{
  drop_overwritten(w, at, bytes);
  if (w->n_pending < MOST_KNOWN)
    w->pending[w->n_pending++] = (Pending){at, bytes, store};
}

/* Is the value the descriptor that was at the address, with other fields? */
static bool is_updated_in_place(const IrFunc *f, IrValue value, Address at)
{
  const IrInsn *d = opt_insn(f, value);
  if (d->op != IR_dsd_set)
    return false;
  while (d->op == IR_dsd_set)
    d = opt_insn(f, d->args[0]);
  return d->op == IR_load && same_address(opt_address(f, d->args[0]), at);
}

static void visit_store(Forwarder *w, IrValue v)
{
  IrInsn *insn = opt_insn(w->f, v);
  Address at = opt_address(w->f, insn->args[0]);
  IrType type = opt_insn(w->f, insn->args[1])->type;
  for (uint32_t i = w->now.n; i-- > 0;) {
    const Known *k = &w->now.known[i];
    if (k->type == type && ir_value_eq(k->value, insn->args[1]) && same_address(k->at, at)) {
      w->changed = insn->dead = true;      /* it is there already */
      return;
    }
  }
  forget_written(w, insn);
  /* A counter goes to memory by one instruction, if nothing else needs its value. */
  if (opt_insn(w->f, insn->args[1])->op != IR_get_config &&
      !is_updated_in_place(w->f, insn->args[1], at))
    learn_value(w, at, type, insn->args[1]);
  add_pending(w, at, ir_type_bytes(type), v);
}

/* When a function returns its own objects are gone. */
static void drop_at_return(Forwarder *w)
{
  for (uint32_t i = 0; i < w->n_pending; i++) {
    const Pending *p = &w->pending[i];
    if (p->at.base != BASE_ALLOCA || w->exposed.allocas[p->at.object])
      continue;
    w->changed = opt_insn(w->f, p->store)->dead = true;
    w->stale[p->at.object] = true;
  }
}

/* ---- blocks ------------------------------------------------------------------------ */

static void visit_insn(Forwarder *w, IrValue v)
{
  IrInsn *insn = opt_insn(w->f, v);
  opt_each_operand(insn, opt_resolve_operand, w->map);
  if (insn->op == IR_load)
    visit_load(w, v);
  if (!insn->dead)
    settle_pending(w, insn);
  switch ((int)insn->op) {
  case IR_store: visit_store(w, v); break;
  case IR_ret: drop_at_return(w); break;
  case IR_copy:
  case IR_zero:
    forget_written(w, insn);
    add_pending(w, opt_address(w->f, insn->args[0]), insn->imm, v);
    break;
  default:
    if (ir_op_is(insn->op, IRE_WRITES | IRE_STALLS))
      forget_written(w, insn);
  }
}

/* A descriptor that is forwarded out of its block outlives its own update in memory, and the code
 * generator has to keep a copy of it on the stack.  Reading it again is cheaper. */
static void forget_descriptors(Forwarder *w)
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < w->now.n; i++)
    if (!ir_type_is_dsd(w->now.known[i].type))
      w->now.known[n++] = w->now.known[i];
  w->now.n = n;
}

/* Of what the first way into the block knows, keeps what the second knows, too. */
static void meet_state(Forwarder *w, uint32_t block, State *other)
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < w->now.n; i++) {
    Known k = w->now.known[i];
    const Known *o = find_known(other, k.at, k.type);
    if (!o)
      continue;
    bool same = ir_value_eq(k.value, o->value) && (k.value.raw || k.join == o->join);
    if (!same)
      k = (Known){.at = k.at, .type = k.type, .join = block,
                  .depth = 1 + (k.depth > o->depth ? k.depth : o->depth)};
    if (k.depth <= MOST_DEPTH)
      w->now.known[n++] = k;
  }
  w->now.n = n;
}

static void copy_state(State *to, const State *from)
{
  to->n = from->n;
  if (from->n)
    memcpy(to->known, from->known, sizeof(Known) * from->n);
}

/* Nothing is known where a loop begins: its ways back have not been looked at. */
static void enter_block(Forwarder *w, uint32_t block)
{
  uint32_t first = w->cfg.pred_at[block], end = w->cfg.pred_at[block + 1];
  w->n_pending = 0;
  w->now.n = 0;
  for (uint32_t i = first; i < end; i++)
    if (w->cfg.rpo_index[w->cfg.preds[i]] >= w->cfg.rpo_index[block])
      return;
  if (!block || first == end)
    return;
  copy_state(&w->now, &w->exit[w->cfg.preds[first]]);
  forget_descriptors(w);
  for (uint32_t i = first + 1; i < end; i++)
    meet_state(w, block, &w->exit[w->cfg.preds[i]]);
}

static void visit_block(Forwarder *w, uint32_t block, Arena *arena)
{
  enter_block(w, block);
  for (uint32_t i = 0; i < w->f->blocks[block].n_insns; i++)
    visit_insn(w, w->f->blocks[block].insns[i]);
  w->exit[block].known = arena_many(arena, Known, w->now.n);
  copy_state(&w->exit[block], &w->now);
}

/* ---- allocas without a read -------------------------------------------------------- */

static void mark_read(const IrFunc *f, const IrInsn *insn, bool *is_read)
{
  bool writes_only = insn->op == IR_store || insn->op == IR_zero || insn->op == IR_copy;
  if (insn->op == IR_ptr_add)
    return;
  for (uint32_t i = writes_only ? 1 : 0; i < insn->n_args; i++) {
    Address a = opt_address(f, insn->args[i]);
    if (a.base == BASE_ALLOCA)
      is_read[a.object] = true;
  }
}

static bool drop_unread(IrFunc *f, const bool *exposed, Arena *arena)
{
  bool *is_read = arena_many(arena, bool, f->n_insns);
  bool *stale = arena_many(arena, bool, f->n_insns);
  bool changed = false;
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++)
      mark_read(f, opt_insn(f, f->blocks[b].insns[i]), is_read);
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++) {
      IrInsn *insn = opt_insn(f, f->blocks[b].insns[i]);
      if (insn->op != IR_store && insn->op != IR_zero && insn->op != IR_copy)
        continue;
      Address a = opt_address(f, insn->args[0]);
      if (a.base != BASE_ALLOCA || is_read[a.object] || exposed[a.object])
        continue;
      changed = insn->dead = true;
      stale[a.object] = true;
    }
  forget_locals(f, stale);
  return changed;
}

bool pass_memory(Opt *opt, IrFunc *f)
{
  /* A value that is kept takes a register, and one that is spilled takes code: below -O2 an element
   * is loaded again. */
  Forwarder w = {.m = opt->m, .f = f, .knows_varying = opt->level >= 2};
  cfg_order(&w.cfg, f, opt->arena);
  opt_drop_unreachable(f, &w.cfg);
  w.exposed = opt_exposed(opt, f);
  w.cap_joined = f->n_insns + f->n_blocks;
  w.now.known = arena_many(opt->arena, Known, MOST_KNOWN);
  w.map = arena_many(opt->arena, IrValue, f->n_insns + w.cap_joined);
  w.exit = arena_many(opt->arena, State, f->n_blocks);
  w.stale = arena_many(opt->arena, bool, f->n_insns + w.cap_joined);
  for (uint32_t i = 0; i < w.cfg.n_rpo; i++)
    visit_block(&w, w.cfg.rpo[i], opt->arena);
  arrfree(w.joined);
  forget_locals(f, w.stale);
  opt_replace_values(f, w.map);
  opt_sweep(f);
  w.changed |= drop_unread(f, w.exposed.allocas, opt->arena);
  opt_sweep(f);
  return w.changed;
}
