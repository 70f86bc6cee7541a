/* What runs on a tile: functions and the tasks that their code starts. */
#include "frontend/layout/layout_internal.h"
#include "frontend/layout/fabric.h"

/* Tasks that the instruction can activate or unblock, itself or by operations with its DSD, a bit
 * each. */
static uint64_t tasks_of_insn(const IrFunc *f, const IrInsn *insn, ActionKind kind)
{
  Action action = {0};
  bool is_action = insn->field == DSRF_DONE || insn->field == DSRF_CONTROL;
  if (insn->op == IR_dsd_const)
    return setup_task_of(insn->u.desc->desc.done, kind) |
           setup_task_of(insn->u.desc->desc.on_control, kind);
  if (insn->op == IR_dsr_set && is_action)
    return UINT64_MAX;
  bool sets = insn->op == IR_dsd_set && is_action;
  if (!sets && insn->op != (kind == ACT_ACTIVATE ? IR_activate : IR_unblock))
    return 0;
  const IrInsn *value = &f->insns[insn->args[sets].raw];
  if (value->op != IR_const)
    return UINT64_MAX;
  if (!sets)
    return UINT64_C(1) << value->imm % MAX_TASK_IDS;
  return action_decode((uint16_t)value->imm, &action) ? setup_task_of(action, kind) : 0;
}

static uint64_t tasks_of_func(const IrFunc *f, ActionKind kind)
{
  uint64_t tasks = 0;
  for (uint32_t i = 1; i < f->n_insns; i++)
    if (!f->insns[i].dead)
      tasks |= tasks_of_insn(f, &f->insns[i], kind);
  return tasks;
}

uint64_t lint_tasks_of_code(const Sema *s, const bool *runs, ActionKind kind)
{
  uint64_t tasks = 0;
  for (uint32_t n = 0; n < s->ir->n_funcs; n++)
    if (!runs || runs[n])
      tasks |= tasks_of_func(&s->ir->funcs[n], kind);
  return tasks;
}

void lint_mark_called(const IrModule *ir, uint32_t func, bool *runs)
{
  const IrFunc *f = &ir->funcs[func];
  if (runs[func])
    return;
  runs[func] = true;
  for (uint32_t i = 1; i < f->n_insns; i++)
    if (!f->insns[i].dead && f->insns[i].op == IR_call)
      lint_mark_called(ir, f->insns[i].u.func.raw, runs);
}

/* By function: the local tasks that nothing in `started` names. */
static bool *waiting_tasks(Sema *s, uint64_t started)
{
  bool *waits = arena_many(s->arena, bool, s->ir->n_funcs + 1);
  for (unsigned id = 0; id < MAX_TASK_IDS; id++) {
    const TaskSlot *task = &s->setup->tasks[id];
    if (task->kind == TASK_LOCAL && !task->alternate && !(started >> id & 1) &&
        !ir_func_is_none(s->funcs[task->func].ir))
      waits[s->funcs[task->func].ir.raw] = true;
  }
  return waits;
}

/* Which tasks run depends on what code runs, and that on the tasks: rounds until nothing is new.
 * Each function is looked at once. */
bool *lint_running_functions(Sema *s, const bool *apart)
{
  const IrModule *ir = s->ir;
  bool *runs = arena_many(s->arena, bool, ir->n_funcs + 1);
  bool *counted = arena_many(s->arena, bool, ir->n_funcs + 1);
  uint64_t started = s->setup->active | setup_tasks_beside_code(s, ACT_ACTIVATE), before;
  do {
    const bool *waits = waiting_tasks(s, started);
    for (uint32_t f = 0; f < ir->n_funcs; f++)
      if (ir->funcs[f].address_taken && !waits[f] && !(apart && apart[f]))
        lint_mark_called(ir, f, runs);
    before = started;
    for (uint32_t f = 0; f < ir->n_funcs; f++)
      if (runs[f] && !counted[f]) {
        counted[f] = true;
        started |= tasks_of_func(&ir->funcs[f], ACT_ACTIVATE);
      }
  } while (started != before);
  return runs;
}
