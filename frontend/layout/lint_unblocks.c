/* Local tasks that operations unblock and nothing in the program ever blocks: they do not wait for
 * those operations.  And those that are blocked at the start and that nothing unblocks: they never
 * run, however often they are activated. */
#include "frontend/layout/fabric.h"

#include <stb_ds.h>

static uint64_t bit_of(uint64_t id) { return UINT64_C(1) << id % MAX_TASK_IDS; }

/* A bit for each id that the program blocks, at the start or later. */
static uint64_t blocked_ids(const Sema *s)
{
  uint64_t ids = s->setup->blocked;
  for (uint32_t f = 0; f < s->ir->n_funcs; f++)
    for (uint32_t i = 1; i < s->ir->funcs[f].n_insns; i++) {
      const IrInsn *insns = s->ir->funcs[f].insns;
      if (insns[i].dead || insns[i].op != IR_block)
        continue;
      const IrInsn *id = &insns[insns[i].args[0].raw];
      ids |= id->op == IR_const ? bit_of(id->imm) : UINT64_MAX;
    }
  return ids;
}

static void check_action(Sema *s, Action action, IrLocId loc, uint64_t blocked)
{
  const TaskSlot *task = &s->setup->tasks[action.id % MAX_TASK_IDS];
  if (action.kind != ACT_UNBLOCK || action.id_kind != ID_TASK || task->kind != TASK_LOCAL ||
      blocked & bit_of(action.id))
    return;
  Span at = fabric_user_span(s, loc);
  diag_unblock_never_blocked(s->diags, at, sema_text(s, task->name));
  diag_unblock_never_blocked_help(s->diags, at);
}

static void check_operation(Sema *s, const IrFunc *f, const IrInsn *insn, uint64_t blocked)
{
  Operands o;
  fabric_read_operands(f, insn, &o);
  for (size_t i = 0; i < ARRAY_COUNT(o.operand); i++)
    if (o.is_known[i]) {
      check_action(s, o.known[i].desc.done, insn->loc, blocked);
      check_action(s, o.known[i].desc.on_control, insn->loc, blocked);
    }
}

/* ---- blocked at the start ------------------------------------------------------------------- */

/* A bit for each task id that something activates, and for each that something unblocks; where the
 * id is not known, all of them. */
typedef struct { uint64_t activated, unblocked; } Released;

static void release_by_action(Released *out, Action action)
{
  if (action.kind == ACT_ACTIVATE)
    out->activated |= bit_of(action.id);
  if (action.kind == ACT_UNBLOCK)
    out->unblocked |= bit_of(action.id);
}

static void release_by_descriptor(Released *out, const Descriptor *d)
{
  release_by_action(out, d->done);
  release_by_action(out, d->on_control);
}

static void release_by_word(Released *out, uint16_t word)
{
  Action action;
  if (action_decode(word, &action))
    release_by_action(out, action);
}

static void release_by_insn(Released *out, const IrInsn *insns, const IrInsn *insn)
{
  bool is_action = insn->field == DSRF_DONE || insn->field == DSRF_CONTROL;
  if (insn->op == IR_dsd_const) {
    release_by_descriptor(out, &insn->u.desc->desc);
  } else if (insn->op == IR_activate || insn->op == IR_unblock) {
    const IrInsn *id = &insns[insn->args[0].raw];
    uint64_t ids = id->op == IR_const ? bit_of(id->imm) : UINT64_MAX;
    *(insn->op == IR_activate ? &out->activated : &out->unblocked) |= ids;
  } else if (insn->op == IR_dsd_set && is_action && insns[insn->args[1].raw].op == IR_const) {
    release_by_word(out, (uint16_t)insns[insn->args[1].raw].imm);
  } else if ((insn->op == IR_dsd_set || insn->op == IR_dsr_set) && is_action) {
    *out = (Released){UINT64_MAX, UINT64_MAX};
  }
}

static Released released_ids(const Sema *s)
{
  const MachineSetup *setup = s->setup;
  Released out = {setup->active | setup->stored_tasks, setup->stored_unblocks};
  for (uint32_t i = 0; i < s->ir->n_dsrs; i++)
    release_by_descriptor(&out, &s->ir->dsrs[i].desc.desc);
  for (size_t i = 0; i < arrlenu(setup->fifos); i++) {
    release_by_word(&out, setup->fifos[i].push);
    release_by_word(&out, setup->fifos[i].pop);
  }
  for (uint32_t f = 0; f < s->ir->n_funcs; f++)
    for (uint32_t i = 1; i < s->ir->funcs[f].n_insns; i++)
      if (!s->ir->funcs[f].insns[i].dead)
        release_by_insn(&out, s->ir->funcs[f].insns, &s->ir->funcs[f].insns[i]);
  return out;
}

static void warn_of_blocked(Sema *s)
{
  Released released = released_ids(s);
  for (unsigned id = 0; id < MAX_TASK_IDS; id++) {
    const TaskSlot *task = &s->setup->tasks[id];
    if (task->kind != TASK_LOCAL ||
        !(s->setup->blocked & released.activated & ~released.unblocked & bit_of(id)))
      continue;
    diag_blocked_for_ever(s->diags, s->setup->blocked_span[id], sema_text(s, task->name));
    diag_blocked_for_ever_help(s->diags, s->setup->blocked_span[id]);
  }
}

void lint_unblocks(Sema *s)
{
  warn_of_blocked(s);
  uint64_t blocked = blocked_ids(s);
  for (uint32_t f = 0; f < s->ir->n_funcs; f++)
    for (uint32_t i = 1; i < s->ir->funcs[f].n_insns; i++) {
      const IrInsn *insn = &s->ir->funcs[f].insns[i];
      if (!insn->dead && insn->op == IR_vec)
        check_operation(s, &s->ir->funcs[f], insn, blocked);
    }
}
