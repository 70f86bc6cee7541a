/* licm: computes what a loop does not change once, in front of it.
 *
 * Pure values may be computed even if the loop would not have: none of them faults.  In a program
 * that unmasks exceptions, those of floating point may end the run, and stay.  A load may only if
 * it is certain to lie inside its object, or if the loop's first block does it anyway, with no
 * assertion or call in front of it that may end the run; and nothing in the loop may write what it
 * reads. */
#include "ir/opt/opt.h"

/* Values that a loop's front computes stay in registers throughout; more than this and they would
 * not.  From -O2 on a value that only the front itself needs does not count: of a long computation
 * its result stays.  Below, each does, as the published counts are met with it.
 *
 * A value that only some turns compute is a bet: the front computes it for nothing if these turns
 * do not come.  The most has room for the address of an element whose index is a remainder by a
 * constant. */
enum { MOST_HOISTED = 8, MOST_BETS = 16 };

typedef struct {
  Opt *opt;
  IrModule *m;
  IrFunc *f;
  Cfg cfg;
  uint32_t *block_of;        /* by value */
  Exposed exposed;
  const uint32_t *uses;      /* by value */
  uint32_t *uses_in_front;   /* by value: those by values that have left the loop */
  bool *is_held;             /* by value: has left the loop, and counts */
  uint32_t n_hoisted;        /* of the loop: values that have left it and are not free */
  uint32_t n_held;           /* of those: the ones that count */
  uint32_t n_bets;           /* of the loop: values that have left it and are bets */
  IrValue *writes;           /* instructions of a loop that may write memory */
  uint32_t n_writes;
  uint32_t writes_of;        /* the head of that loop; 0, which is none, before the first */
} Hoister;

/* ---- what may go there ------------------------------------------------------------- */

static void check_outside(IrValue *operand, void *context)
{
  void **c = context;
  const Hoister *h = c[0];
  const uint32_t *head = c[1];
  bool *outside = c[2];
  if (cfg_loop_contains(&h->cfg, *head, h->block_of[operand->raw]))
    *outside = false;
}

static bool operands_are_outside(Hoister *h, uint32_t head, IrInsn *insn)
{
  bool outside = true;
  void *context[3] = {h, &head, &outside};
  opt_each_operand(insn, check_outside, context);
  return outside;
}

/* Finds the loop's writes when the first load asks for them: most loops have none to ask. */
static void find_writes(Hoister *h, uint32_t head)
{
  h->writes_of = head;
  h->n_writes = 0;
  for (uint32_t i = h->cfg.together_index[head]; i < h->cfg.loop_end[head]; i++) {
    const IrBlock *b = &h->f->blocks[h->cfg.together[i]];
    for (uint32_t k = 0; k < b->n_insns; k++)
      if (opt_writes_memory(opt_insn(h->f, b->insns[k])))
        h->writes[h->n_writes++] = b->insns[k];
  }
}

static bool loop_may_write(Hoister *h, uint32_t head, Address a, uint64_t bytes)
{
  if (h->writes_of != head)
    find_writes(h, head);
  for (uint32_t i = 0; i < h->n_writes; i++)
    if (opt_may_write(h->f, opt_insn(h->f, h->writes[i]), a, bytes, h->exposed))
      return true;
  return false;
}

static bool is_inside_object(const Hoister *h, Address a, uint64_t bytes)
{
  if (a.base == BASE_UNKNOWN || !a.offset_known || a.offset < 0)
    return false;
  uint64_t size = a.base == BASE_GLOBAL ? h->m->globals[a.object].bytes
                                        : h->f->insns[a.object].imm;
  return (uint64_t)a.offset + bytes <= size;
}

static bool load_is_fixed(Hoister *h, uint32_t head, bool is_certain, const IrInsn *insn)
{
  Address a = opt_address(h->f, insn->args[0]);
  unsigned bytes = ir_type_bytes(insn->type);
  return (is_certain || is_inside_object(h, a, bytes)) && !loop_may_write(h, head, a, bytes);
}

/* Does the program choose which exceptions end the run?  An address that it computes at
 * run time is taken for another register's. */
static bool sets_exception_mask(const IrModule *m)
{
  for (uint32_t i = 0; i < m->n_configs; i++)
    if (m->configs[i].address == CFG_EXCEPTION_MASK)
      return true;
  for (uint32_t n = 0; n < m->n_funcs; n++) {
    const IrFunc *f = &m->funcs[n];
    for (uint32_t b = 0; b < f->n_blocks; b++)
      for (uint32_t i = 0; i < f->blocks[b].n_insns; i++) {
        const IrInsn *insn = opt_insn(f, f->blocks[b].insns[i]);
        if (insn->op == IR_set_config && opt_is_const(f, insn->args[0]) &&
            opt_insn(f, insn->args[0])->imm == CFG_EXCEPTION_MASK)
          return true;
      }
  }
  return false;
}

/* May it end the run?  Asks the module once per pass. */
static bool may_raise(const Hoister *h, const IrInsn *insn)
{
  Opt *opt = h->opt;
  switch ((int)ir_ops[insn->op].operand_rule) {
  case IROPND_FLOAT2:
  case IROPND_FSCALE:
  case IROPND_FCOMPARE:
  case IROPND_TOINT:
  case IROPND_TOFLOAT:
  case IROPND_FWIDEN:
  case IROPND_FNARROW: break;
  default: return false;
  }
  if (!opt->sets_exception_mask) {
    bool *answer = arena_new(opt->pass_arena, bool);
    *answer = sets_exception_mask(h->m);
    opt->sets_exception_mask = answer;
  }
  return *opt->sets_exception_mask;
}

/* What costs no register: it can be made again (see sink), or it is a descriptor in memory. */
static bool is_free(const IrInsn *insn)
{
  return insn->op == IR_const || insn->op == IR_global_addr || insn->op == IR_func_addr ||
         insn->op == IR_dsd_const || insn->op == IR_dsd_set;
}

/* A descriptor in memory is loaded into a DSR from where it stands; computed in front it would be
 * copied to the stack first.  Changes of constants go there for `dsd` to find. */
static bool is_better_in_place(const IrFunc *f, const IrInsn *insn)
{
  if (ir_type_bits(insn->type) || insn->op == IR_dsd_const)
    return false;
  while (insn->op == IR_dsd_set)
    insn = opt_insn(f, insn->args[0]);
  return insn->op != IR_dsd_const;
}

/* Is an instruction behind it one that the run may not reach? */
static bool may_end_run(const IrInsn *insn)
{
  return insn->op == IR_assert || insn->op == IR_call || insn->op == IR_call_ptr;
}

/* is_certain: the loop carries the instruction out if it is entered. */
static bool may_hoist(Hoister *h, uint32_t head, bool is_certain, IrInsn *insn)
{
  if ((!ir_op_is_pure(insn->op) && insn->op != IR_load) || is_better_in_place(h->f, insn))
    return false;
  if (!operands_are_outside(h, head, insn) || may_raise(h, insn))
    return false;
  return insn->op != IR_load || load_is_fixed(h, head, is_certain, insn);
}

/* ---- how many ---------------------------------------------------------------------- */

/* Values that count no longer once the front computes this one, too. */
static uint32_t count_freed(const Hoister *h, const IrInsn *insn)
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < insn->n_args && h->opt->level >= 2; i++) {
    uint32_t from = insn->args[i].raw;
    n += h->is_held[from] && h->uses_in_front[from] + 1 == h->uses[from];
  }
  return n;
}

/* No routine leaves that some turns call: it is a bet that costs more than the rest of a turn. */
static bool has_room(const Hoister *h, const IrInsn *insn, bool is_bet)
{
  if (opt_is_call(h->f, insn) && is_bet)
    return false;
  if (is_free(insn) || h->n_hoisted < MOST_HOISTED)
    return true;
  return h->opt->level >= 2 && (!is_bet || h->n_bets < MOST_BETS) &&
         h->n_held < MOST_HOISTED + count_freed(h, insn);
}

/* Counts the value, and no longer those that only the front needs now. */
static void hold_value(Hoister *h, IrValue v)
{
  const IrInsn *insn = opt_insn(h->f, v);
  h->is_held[v.raw] = !is_free(insn);
  h->n_hoisted += h->is_held[v.raw];
  h->n_held += h->is_held[v.raw];
  for (uint32_t i = 0; i < insn->n_args && h->opt->level >= 2; i++) {
    uint32_t from = insn->args[i].raw;
    if (++h->uses_in_front[from] != h->uses[from] || !h->is_held[from])
      continue;
    h->is_held[from] = false;
    h->n_held--;
  }
}

/* ---- moving ------------------------------------------------------------------------ */

static bool hoist_from_block(Hoister *h, uint32_t head, uint32_t front, uint32_t block)
{
  IrBlock *b = &h->f->blocks[block], *to = &h->f->blocks[front];
  uint32_t n = 0, before = b->n_insns;
  bool is_bet = !cfg_runs_in_each_turn(&h->cfg, head, block), is_certain = block == head;
  for (uint32_t i = 0; i < before; i++) {
    IrValue v = b->insns[i];
    IrInsn *insn = opt_insn(h->f, v);
    if (!has_room(h, insn, is_bet) || !may_hoist(h, head, is_certain, insn)) {
      is_certain &= !may_end_run(insn);
      b->insns[n++] = v;
      continue;
    }
    hold_value(h, v);
    h->n_bets += is_bet && !is_free(insn);
    h->block_of[v.raw] = front;
    insn->loc = opt_terminator(h->f, front)->loc;      /* no line stands in front of itself */
    opt_insert(h->m, to, to->n_insns - 1, v);
  }
  b->n_insns = n;
  return n != before;
}

/* The values that count stand in the front from place `first` on. */
static void forget_counts(Hoister *h, const IrBlock *front, uint32_t first)
{
  for (uint32_t i = first; i + 1 < front->n_insns; i++) {
    const IrInsn *insn = opt_insn(h->f, front->insns[i]);
    h->is_held[front->insns[i].raw] = false;
    for (uint32_t k = 0; k < insn->n_args; k++)
      h->uses_in_front[insn->args[k].raw] = 0;
  }
}

static bool hoist_from_loop(Hoister *h, uint32_t head)
{
  uint32_t front = opt_loop_front(h->f, &h->cfg, head);
  if (front == IR_NO_ID)
    return false;
  bool changed = false;
  uint32_t first = h->f->blocks[front].n_insns - 1;
  h->n_hoisted = h->n_held = h->n_bets = 0;
  for (uint32_t i = h->cfg.together_index[head]; i < h->cfg.loop_end[head]; i++)
    changed |= hoist_from_block(h, head, front, h->cfg.together[i]);
  forget_counts(h, &h->f->blocks[front], first);
  return changed;
}

/* Inner loops first: what leaves one may leave the next. */
bool pass_licm(Opt *opt, IrFunc *f)
{
  Hoister h = {.opt = opt, .m = opt->m, .f = f};
  cfg_build(&h.cfg, f, opt->arena);
  opt_drop_unreachable(f, &h.cfg);
  bool changed = opt_make_fronts(opt, f, &h.cfg);
  h.exposed = opt_exposed(opt, f);
  h.uses = opt_count_uses(f, opt->arena);
  h.is_held = arena_many(opt->arena, bool, f->n_insns);
  h.uses_in_front = arena_many(opt->arena, uint32_t, f->n_insns);
  h.block_of = opt_blocks_of_values(f, opt->arena);
  h.writes = arena_many(opt->arena, IrValue, f->n_insns);
  for (uint32_t i = h.cfg.n_rpo; i-- > 0;)
    if (h.cfg.loop_head[h.cfg.rpo[i]] == h.cfg.rpo[i])
      changed |= hoist_from_loop(&h, h.cfg.rpo[i]);
  opt->invariants_are_out = true;
  return changed;
}
