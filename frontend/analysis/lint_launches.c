/* Functions that the host can launch and after which nothing unblocks the command stream: the next
 * command of the host waits for ever. */
#include "frontend/analysis/analysis_internal.h"

#include <stb_ds.h>
#include <string.h>

static const char link_to_host[] = "<memcpy/memcpy>";

static bool is_of_link(const Sema *s, uint32_t module)
{
  return strcmp(sema_text(s, s->modules[module].path), link_to_host) == 0;
}

static bool has_link(const Sema *s)
{
  for (uint32_t i = 0; i < arrlenu(s->modules); i++)
    if (is_of_link(s, i))
      return true;
  return false;
}

/* A value that is not known may be any, and so may the function of a call by address. */
static bool may_unblock(const IrFunc *f)
{
  for (uint32_t i = 1; i < f->n_insns; i++) {
    const IrInsn *insn = &f->insns[i];
    if (insn->dead)
      continue;
    if (insn->op == IR_call_ptr)
      return true;
    if (insn->op != IR_set_config)
      continue;
    const IrInsn *address = &f->insns[insn->args[0].raw];
    if (address->op != IR_const || address->imm == CFG_CMD_STREAM)
      return true;
  }
  return false;
}

/* By function: what runs only after a command of the host. */
static bool *commanded_functions(Sema *s)
{
  bool *commanded = arena_many(s->arena, bool, s->ir->n_funcs + 1);
  const MachineSetup *setup = s->setup;
  for (size_t i = 0; i < arrlenu(setup->exports); i++)
    if (setup->exports[i].is_func)
      commanded[s->funcs[setup->exports[i].target].ir.raw] = true;
  for (size_t i = 0; i < arrlenu(s->funcs); i++)
    if (is_of_link(s, s->funcs[i].decl_module) && !ir_func_is_none(s->funcs[i].ir))
      commanded[s->funcs[i].ir.raw] = true;
  return commanded;
}

static bool one_may_unblock(const Sema *s, const bool *runs)
{
  for (uint32_t f = 0; f < s->ir->n_funcs; f++)
    if (runs[f] && may_unblock(&s->ir->funcs[f]))
      return true;
  return false;
}

/* A task of the program that unblocks the command stream and does not run; NULL. */
static const TaskSlot *waiting_task(Sema *s, const bool *runs)
{
  for (unsigned id = 0; id < MAX_TASK_IDS; id++) {
    const TaskSlot *task = &s->setup->tasks[id];
    if (task->kind == TASK_NONE || is_of_link(s, s->funcs[task->func].decl_module) ||
        ir_func_is_none(s->funcs[task->func].ir) || runs[s->funcs[task->func].ir.raw])
      continue;
    bool *called = arena_many(s->arena, bool, s->ir->n_funcs + 1);
    lint_mark_called(s, s->funcs[task->func].ir.raw, called);
    if (one_may_unblock(s, called))
      return task;
  }
  return NULL;
}

static Span name_of_function(const Sema *s, uint32_t func)
{
  return node_fn_decl(s->funcs[func].node)->name.span;
}

static void report_launch(Sema *s, const ExportedSymbol *e, const bool *runs)
{
  Span at = name_of_function(s, e->target);
  const TaskSlot *task = waiting_task(s, runs);
  diag_launch_never_over(s->diags, at, sema_text(s, e->name));
  if (task)
    diag_launch_waits_for(s->diags, name_of_function(s, task->func), sema_text(s, task->name),
                          sema_text(s, e->name));
  else
    diag_launch_never_over_help(s->diags, at);
}

void lint_launches(Sema *s)
{
  if (!has_link(s))
    return;
  bool *commanded = commanded_functions(s);
  for (size_t i = 0; i < arrlenu(s->setup->exports); i++) {
    const ExportedSymbol *e = &s->setup->exports[i];
    if (!e->is_func)
      continue;
    bool *apart = &commanded[s->funcs[e->target].ir.raw];
    *apart = false;
    const bool *runs = lint_running_functions(s, commanded);
    *apart = true;
    if (!one_may_unblock(s, runs))
      report_launch(s, e, runs);
  }
}
