/* unroll: a short loop of one block whose number of turns is known becomes straight code.
 *
 * The turns together may have so many instructions, as in the vendor's compiler: docs/codegen.md
 * names public loops on both sides of the limit.  Where memory is short, loops stay as they are. */
#include "ir/opt/opt.h"

enum {
  MOST_INSNS = 300,
  /* Guesses from above: an instruction's code, the descriptor and the addresses that come with it;
   * and what the code generator adds (stack, prologues). */
  INSN_BYTES = 8,
  RESERVED_BYTES = 1024,
};

typedef struct {
  Opt *opt;
  Loop loop;
  IrValue *now;              /* by value of a loop: what stands for it in the last turn so far */
  uint32_t block;            /* whose operands are visited after all */
} Unroller;

/* ---- which loops ------------------------------------------------------------------- */

/* Constants become part of other instructions; the end of a turn goes. */
static uint32_t count_work(const Loop *l)
{
  const IrBlock *b = &l->f->blocks[l->head];
  uint32_t n = 0;
  for (uint32_t i = 0; i + 1 < b->n_insns; i++) {
    IrOp op = opt_insn(l->f, b->insns[i])->op;
    n += op != IR_const && op != IR_global_addr && op != IR_dsd_const;
  }
  return n;
}

/* How many more instructions certainly fit the memory of a tile.  Once none does it stops looking:
 * so a loop costs what a tile can hold, not what the module has. */
static uint32_t insns_that_fit(const IrModule *m)
{
  uint64_t bytes = RESERVED_BYTES, memory = machine_get(m->arch)->pe_mem_bytes;
  for (uint32_t i = 0; i < m->n_globals && bytes < memory; i++)
    bytes += m->globals[i].bytes;
  for (uint32_t i = 0; i < m->n_funcs && bytes < memory; i++)
    for (uint32_t b = 0; b < m->funcs[i].n_blocks && bytes < memory; b++)
      bytes += (uint64_t)m->funcs[i].blocks[b].n_insns * INSN_BYTES;
  return bytes < memory ? (uint32_t)((memory - bytes) / INSN_BYTES) : 0;
}

uint32_t opt_turns_to_unroll(const Loop *l)
{
  const IrBlock *b = &l->f->blocks[l->head];
  if (l->latch != l->head)
    return 0;
  uint32_t work = count_work(l), turns = 0;
  Counter c;
  for (uint32_t i = 0; i < b->n_params && work && !turns; i++)
    if (opt_counter(l, b->params[i], &c))
      turns = opt_count_turns(l, &c, MOST_INSNS / work);
  return turns && turns <= insns_that_fit(l->m) / work ? turns : 0;
}

/* ---- rewriting --------------------------------------------------------------------- */

/* Values of other loops stay: use_last_values finds what stands for them, and must find it once. */
static void use_value_now(IrValue *operand, void *context)
{
  const Unroller *u = context;
  if (operand->raw < u->loop.n_values && u->now[operand->raw].raw &&
      u->loop.block_of[operand->raw] == u->loop.head)
    *operand = u->now[operand->raw];
}

/* What comes around is what the parameters are in the next turn. */
static void go_around(Unroller *u)
{
  const IrBlock *b = &u->loop.f->blocks[u->loop.head];
  IrValue *next = arena_many(u->opt->arena, IrValue, b->n_params);
  for (uint32_t i = 0; i < b->n_params; i++) {
    next[i] = u->loop.around->args[i];
    use_value_now(&next[i], u);
  }
  for (uint32_t i = 0; i < b->n_params; i++)
    u->now[b->params[i].raw] = next[i];
}

/* Adds a turn behind the others, a copy of the block's first n instructions.  An instruction's
 * operands are of its turn: what the block computes stands before it. */
static void copy_turn(Unroller *u, uint32_t n)
{
  const Loop *l = &u->loop;
  IrBlock *b = &l->f->blocks[l->head];
  for (uint32_t i = 0; i < n; i++) {
    IrValue copy = opt_add(l->m, l->f, opt_insn(l->f, b->insns[i]));
    IrInsn *insn = opt_insn(l->f, copy);
    if (insn->op == IR_vec) {
      IrVec *vec = arena_new(l->m->arena, IrVec);
      *vec = *insn->u.vec;
      insn->u.vec = vec;
    }
    opt_each_operand(insn, use_value_now, u);
    opt_insert(l->m, b, b->n_insns, copy);
    u->now[b->insns[i].raw] = copy;
  }
}

/* Is it a side of an assertion in the loop? */
static bool is_asserted_here(const Loop *l, const IrLocal *local)
{
  const IrBlock *b = &l->f->blocks[l->head];
  for (uint32_t i = 0; local->is_asserted && i < b->n_insns; i++) {
    const IrInsn *insn = opt_insn(l->f, b->insns[i]);
    if (insn->op == IR_assert && ir_loc_eq(insn->loc, local->loc))
      return true;
  }
  return false;
}

/* A variable of the loop is another value in each turn; what an assertion compares, too, but each
 * turn has an assertion of its own. */
static void forget_locals(const Loop *l)
{
  for (uint32_t i = 0; i < l->f->n_locals; i++) {
    IrLocal *local = &l->f->locals[i];
    if (local->value.raw && local->value.raw < l->n_values && !is_asserted_here(l, local) &&
        l->block_of[local->value.raw] == l->head)
      local->value = IR_NO_VALUE;
  }
}

/* The sides of assertions in the turn that was copied last; n: the locals before all turns.  The
 * turns of a loop inside have numbers already. */
static void copy_asserted(Unroller *u, uint32_t n)
{
  const Loop *l = &u->loop;
  IrFuncId id = {(uint32_t)(l->f - l->m->funcs)};
  uint32_t first = 1;
  for (uint32_t i = 0; i < l->f->n_locals; i++)
    if (l->f->locals[i].turn >= first)
      first = l->f->locals[i].turn + 1;
  for (uint32_t i = 0; i < n; i++) {
    IrLocal copy = l->f->locals[i];
    if (!is_asserted_here(l, &copy))
      continue;
    copy.turn += first;
    use_value_now(&copy.value, u);
    ir_local_add(l->m, id, copy);
  }
}

static void unroll_loop(Unroller *u, uint32_t turns)
{
  const Loop *l = &u->loop;
  IrBlock *b = &l->f->blocks[l->head];
  forget_locals(l);
  IrValue end = b->insns[--b->n_insns];
  uint32_t n = b->n_insns, n_locals = l->f->n_locals;
  for (uint32_t turn = 1; turn < turns; turn++) {
    go_around(u);
    copy_turn(u, n);
    copy_asserted(u, n_locals);
  }
  opt_insert(l->m, b, b->n_insns, end);
  IrInsn *last = opt_insn(l->f, end);
  opt_make_br(l->m, last, last->u.targets[0].block.raw == l->head);
  opt_each_operand(last, use_value_now, u);
}

/* Outside of the loop its values are those of the last turn, which may be of another loop. */
static void use_last_value(IrValue *operand, void *context)
{
  const Unroller *u = context;
  uint32_t here = u->block;
  while (operand->raw < u->loop.n_values && u->now[operand->raw].raw &&
         u->loop.block_of[operand->raw] != here) {
    here = u->loop.block_of[operand->raw];
    *operand = u->now[operand->raw];
  }
}

static void use_last_values(Unroller *u)
{
  const IrFunc *f = u->loop.f;
  for (u->block = 0; u->block < f->n_blocks; u->block++)
    for (uint32_t i = 0; i < f->blocks[u->block].n_insns; i++)
      opt_each_operand(opt_insn(f, f->blocks[u->block].insns[i]), use_last_value, u);
}

/* A loop of one block holds no other, so that the shape of the others stays as it is. */
bool pass_unroll(Opt *opt, IrFunc *f)
{
  bool any = false, changed = opt_find_unreachable(f, opt->arena);
  Cfg cfg;
  cfg_build(&cfg, f, opt->arena);
  changed |= opt_make_fronts(opt, f, &cfg);
  Unroller u = {.opt = opt,
                .loop = {.m = opt->m, .f = f, .cfg = &cfg, .n_values = f->n_insns,
                         .block_of = opt_blocks_of_values(f, opt->arena)},
                .now = arena_many(opt->arena, IrValue, f->n_insns)};
  for (uint32_t i = 0; i < cfg.n_rpo; i++) {
    uint32_t turns = 0;
    if (cfg.loop_head[cfg.rpo[i]] == cfg.rpo[i] && opt_loop_enter(&u.loop, cfg.rpo[i]))
      turns = opt_turns_to_unroll(&u.loop);
    if (turns)
      unroll_loop(&u, turns);
    any |= turns != 0;
  }
  if (any)
    use_last_values(&u);
  return changed || any;
}
