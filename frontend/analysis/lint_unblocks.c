/* Local tasks that operations unblock and nothing in the program ever blocks: they do not wait for
 * those operations.  Those that operations unblock and nothing activates: they never run.  And
 * those that are blocked at the start and that nothing unblocks: nor do they, however often they
 * are activated.  Operations of other tiles do not count. */
#include "frontend/analysis/analysis_internal.h"

static uint64_t bit_of(uint64_t id) { return UINT64_C(1) << id % MAX_TASK_IDS; }

/* A bit for each id that the program blocks, at the start or later. */
static uint64_t blocked_ids(const Sema *s)
{
  uint64_t ids = s->setup->blocked;
  for (uint32_t f = 0; f < s->ir->n_funcs; f++)
    for (uint32_t i = 1; i < s->ir->funcs[f].n_insns; i++) {
      const IrInsn *insn = &s->ir->funcs[f].insns[i];
      if (!insn->dead && insn->op == IR_block)
        ids |= lint_possible_ids(s, &s->ir->funcs[f], insn->args[0], UINT64_MAX);
    }
  return ids;
}

/* A bit for each id that the program blocks, and for each that it activates. */
typedef struct { uint64_t blocked, activated; } NamedIds;

static void check_action(Sema *s, Action action, IrLocId loc, NamedIds named)
{
  const TaskSlot *task = &s->setup->tasks[action.id % MAX_TASK_IDS];
  if (action.kind != ACT_UNBLOCK || action.id_kind != ID_TASK || task->kind != TASK_LOCAL)
    return;
  Span at = fabric_user_span(s, loc);
  if (!(named.blocked & bit_of(action.id))) {
    diag_unblock_never_blocked(s->diags, at, sema_text(s, task->name));
    diag_unblock_never_blocked_help(s->diags, at);
  } else if (!(named.activated & bit_of(action.id))) {
    diag_unblock_never_activated(s->diags, at, sema_text(s, task->name));
    diag_unblock_never_activated_help(s->diags, at);
  }
}

static void check_operation(Sema *s, const IrFunc *f, const IrInsn *insn, NamedIds named)
{
  Operands o;
  fabric_read_operands(s, f, NULL, insn, &o);
  for (size_t i = 0; i < ARRAY_COUNT(o.operand); i++)
    if (o.is_known[i]) {
      check_action(s, o.known[i].desc.done, insn->loc, named);
      check_action(s, o.known[i].desc.on_control, insn->loc, named);
    }
}

static void check_operations(Sema *s, const IrFunc *f, NamedIds named)
{
  const uint8_t *ways = lint_ways(s, f);
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns && ways[b]; i++) {
      const IrInsn *insn = &f->insns[f->blocks[b].insns[i].raw];
      if (!insn->dead && insn->op == IR_vec)
        check_operation(s, f, insn, named);
    }
}

/* Those that the program names, and `unknown` where it computes an id. */
static uint64_t named_tasks(const Sema *s, ActionKind kind, uint64_t unknown)
{
  return setup_tasks_beside_code(s, kind) | lint_tasks_of_code(s, kind, unknown);
}

/* A computed id may be any: it may unblock the task, and it may activate another one. */
static void warn_of_blocked(Sema *s)
{
  uint64_t activated = s->setup->active | named_tasks(s, ACT_ACTIVATE, 0);
  uint64_t stuck = s->setup->blocked & activated & ~named_tasks(s, ACT_UNBLOCK, UINT64_MAX);
  for (unsigned id = 0; id < MAX_TASK_IDS; id++) {
    const TaskSlot *task = &s->setup->tasks[id];
    if (task->kind != TASK_LOCAL || !(stuck & bit_of(id)))
      continue;
    diag_blocked_for_ever(s->diags, s->setup->blocked_span[id], sema_text(s, task->name));
    diag_blocked_for_ever_help(s->diags, s->setup->blocked_span[id]);
  }
}

void lint_unblocks(Sema *s)
{
  warn_of_blocked(s);
  NamedIds named = {blocked_ids(s),
                    s->setup->active | named_tasks(s, ACT_ACTIVATE, UINT64_MAX)};
  const bool *runs = lint_running_functions(s, NULL);
  for (uint32_t f = 0; f < s->ir->n_funcs; f++)
    if (runs[f])
      check_operations(s, &s->ir->funcs[f], named);
}
