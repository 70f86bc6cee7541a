/* What runs on a tile: functions and the tasks that their code starts. */
#include "frontend/analysis/analysis_internal.h"

uint64_t lint_tasks_of_words(const Sema *s, const IrFunc *f, IrValue word, ActionKind kind,
                             uint64_t unknown)
{
  PossibleValues words;
  Action action = {0};
  uint64_t tasks = 0;
  if (!lint_possible_values(s, f, word, &words))
    return unknown;
  for (unsigned i = 0; i < words.n; i++)
    if (action_decode((uint16_t)words.at[i], &action))
      tasks |= setup_task_of(action, kind);
  return tasks;
}

/* Tasks that the instruction can activate or unblock, itself or by operations with its DSD, a bit
 * each; `unknown` where an id is not known. */
static uint64_t tasks_of_insn(const Sema *s, const IrFunc *f, const IrInsn *insn, ActionKind kind,
                              uint64_t unknown)
{
  bool is_action = insn->field == DSRF_DONE || insn->field == DSRF_CONTROL;
  if (insn->op == IR_dsd_const)
    return setup_task_of(insn->u.desc->desc.done, kind) |
           setup_task_of(insn->u.desc->desc.on_control, kind);
  if (insn->op == IR_dsr_set && is_action)
    return unknown;
  if (insn->op == IR_dsd_set && is_action)
    return lint_tasks_of_words(s, f, insn->args[1], kind, unknown);
  bool is_one = insn->op == IR_activate || (insn->op == IR_unblock && insn->aux == ID_TASK);
  return is_one && (insn->op == IR_activate) == (kind == ACT_ACTIVATE)
             ? lint_possible_ids(s, f, insn->args[0], unknown) : 0;
}

const uint8_t *lint_ways(const Sema *s, const IrFunc *f)
{
  MachineSetup *setup = s->setup;
  if (!setup->ways) {
    setup->ways = arena_many(s->arena, const uint8_t *, s->ir->n_funcs);
    setup->unwritten = lint_unwritten_globals(s);
  }
  const uint8_t **ways = &setup->ways[f - s->ir->funcs];
  if (!*ways && f->n_blocks > 0)
    *ways = fabric_ways(s->ir, setup->unwritten, f, s->arena);
  return *ways;
}

/* all: also of what does not run on this tile. */
static uint64_t tasks_of_func(const Sema *s, const IrFunc *f, ActionKind kind, uint64_t unknown,
                              bool all)
{
  const uint8_t *ways = lint_ways(s, f);
  uint64_t tasks = 0;
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns && (ways[b] || all); i++) {
      const IrInsn *insn = &f->insns[f->blocks[b].insns[i].raw];
      if (!insn->dead)
        tasks |= tasks_of_insn(s, f, insn, kind, unknown);
    }
  return tasks;
}

uint64_t lint_tasks_of_code(const Sema *s, ActionKind kind, uint64_t unknown)
{
  uint64_t tasks = 0;
  for (uint32_t n = 0; n < s->ir->n_funcs; n++)
    tasks |= tasks_of_func(s, &s->ir->funcs[n], kind, unknown, true);
  return tasks;
}

void lint_mark_called(const Sema *s, uint32_t func, bool *runs)
{
  const IrFunc *f = &s->ir->funcs[func];
  if (runs[func])
    return;
  runs[func] = true;
  const uint8_t *ways = lint_ways(s, f);
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns && ways[b]; i++) {
      const IrInsn *insn = &f->insns[f->blocks[b].insns[i].raw];
      if (!insn->dead && insn->op == IR_call)
        lint_mark_called(s, insn->u.func.raw, runs);
    }
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
        lint_mark_called(s, f, runs);
    before = started;
    for (uint32_t f = 0; f < ir->n_funcs; f++)
      if (runs[f] && !counted[f]) {
        counted[f] = true;
        started |= tasks_of_func(s, &ir->funcs[f], ACT_ACTIVATE, UINT64_MAX, false);
      }
  } while (started != before);
  return runs;
}
