/* ends: a loop whose number of turns is known ends when its counter, or better a pointer that it
 * carries, reaches its last value: one comparison for equality, and the counter goes.  A loop of
 * one turn does not go around, so that no later pass puts anything in front of it.
 *
 * The counter or pointer must not reach its last value in an earlier turn. */
#include "ir/opt/opt.h"

typedef struct {
  Loop loop;
  IrValue test;
  bool stays_if;             /* what the test is in a turn that is not the last */
  const uint32_t *uses;      /* by value, at the beginning: no other loop uses what is asked of */
} Ender;

/* So many steps do not come round to where they began. */
static bool stays_apart(uint64_t step, uint32_t turns, uint64_t mask)
{
  uint64_t down = (0 - step) & mask, size = step < down ? step : down;
  return size != 0 && size <= mask / turns;
}

static void end_at(Ender *e, IrValue next, IrValue last)
{
  IrOp op = e->stays_if ? IR_ne : IR_eq;
  IrValue test = opt_put_op(&e->loop, e->loop.latch, op, IRT_BOOL, next, last);
  opt_terminator(e->loop.f, e->loop.latch)->args[0] = test;
}

/* Nothing but its step and the test uses the counter, and the test is for equality. */
static bool only_counts(const Ender *e, const Counter *c)
{
  const IrInsn *test = opt_insn(e->loop.f, e->test);
  return (test->op == IR_ne || test->op == IR_eq) && ir_value_eq(test->args[0], c->next) &&
         opt_is_const(e->loop.f, test->args[1]) && e->uses[c->value.raw] == 1 &&
         e->uses[c->next.raw] == 2 && e->uses[e->test.raw] == 1;
}

/* The step of the pointer that is this parameter of the head, if the loop may end with it; or 0. */
static uint64_t step_to_end_with(const Ender *e, uint32_t param, uint32_t turns)
{
  const Loop *l = &e->loop;
  const IrInsn *add = opt_insn(l->f, l->around->args[param]);
  if (add->op != IR_ptr_add || !opt_is_const(l->f, add->args[1]) ||
      !ir_value_eq(add->args[0], l->f->blocks[l->head].params[param]))
    return 0;
  uint64_t step = opt_insn(l->f, add->args[1])->imm;
  return stays_apart(step, turns, opt_mask(IRT_I16)) ? step : 0;
}

/* Ends the loop with a pointer instead of the counter.  One that starts at a known address is best:
 * the last address is then an immediate of the test. */
static bool end_with_pointer(Ender *e, uint32_t turns)
{
  const Loop *l = &e->loop;
  uint64_t step = 0;
  uint32_t best = IR_NO_ID;
  bool is_known = false;
  for (uint32_t i = 0; i < l->f->blocks[l->head].n_params && !is_known; i++) {
    uint64_t found = turns < FEWEST_END_TURNS ? 0 : step_to_end_with(e, i, turns);
    is_known = found && opt_insn(l->f, l->entering->args[i])->op == IR_global_addr;
    if (found && (is_known || best == IR_NO_ID)) {
      best = i;
      step = found;
    }
  }
  if (best == IR_NO_ID)
    return false;
  IrValue far = opt_put_const(l, l->front, IRT_I16, (step * turns) & opt_mask(IRT_I16));
  end_at(e, l->around->args[best],
         opt_put_op(l, l->front, IR_ptr_add, IRT_PTR, l->entering->args[best], far));
  return true;
}

/* Ends the loop with an equality of its counter, if the test is another. */
static bool end_with_counter(Ender *e, const Counter *c, uint32_t turns)
{
  const Loop *l = &e->loop;
  const IrInsn *test = opt_insn(l->f, e->test);
  uint64_t mask = opt_mask(c->type);
  if (test->op == IR_ne || test->op == IR_eq || !stays_apart(c->step, turns, mask))
    return false;
  uint64_t last = opt_insn(l->f, c->start)->imm + c->step * turns;
  end_at(e, c->next, opt_put_const(l, l->latch, c->type, last & mask));
  return true;
}

static void end_after_one_turn(const Ender *e)
{
  const Loop *l = &e->loop;
  opt_make_br(l->m, opt_terminator(l->f, l->latch), e->stays_if ? 1 : 0);
}

static bool visit_loop(Ender *e, uint32_t head)
{
  Loop *l = &e->loop;
  if (!opt_loop_enter(l, head) || opt_turns_to_unroll(l))
    return false;
  const IrInsn *last = opt_terminator(l->f, l->latch);
  if (last->op != IR_cond_br)
    return false;
  e->test = last->args[0];
  e->stays_if = last->u.targets[0].block.raw == head;
  for (uint32_t i = 0; i < l->f->blocks[head].n_params; i++) {
    Counter c;
    uint32_t turns;
    if (!opt_counter(l, l->f->blocks[head].params[i], &c) ||
        !(turns = opt_count_turns(l, &c, MOST_END_TURNS)))
      continue;
    if (turns == 1) {
      end_after_one_turn(e);
      return true;
    }
    return only_counts(e, &c) ? end_with_pointer(e, turns) : end_with_counter(e, &c, turns);
  }
  return false;
}

bool pass_ends(Opt *opt, IrFunc *f)
{
  Cfg cfg;
  cfg_build(&cfg, f, opt->arena);
  bool changed = opt_drop_unreachable(f, &cfg);
  changed |= opt_make_fronts(opt, f, &cfg);
  Ender e = {.uses = opt_count_uses(f, opt->arena),
             .loop = {.m = opt->m, .f = f, .cfg = &cfg, .n_values = f->n_insns,
                      .block_of = opt_blocks_of_values(f, opt->arena)}};
  for (uint32_t i = 0; i < cfg.n_rpo; i++)
    if (cfg.loop_head[cfg.rpo[i]] == cfg.rpo[i])
      changed |= visit_loop(&e, cfg.rpo[i]);
  return changed;
}
