/* Functions that the host can launch and after which nothing unblocks the command stream: the next
 * command of the host waits for ever. */
#include "frontend/layout/fabric.h"

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
    bool unblocks = false;
    for (uint32_t f = 0; f < s->ir->n_funcs; f++)
      unblocks |= runs[f] && may_unblock(&s->ir->funcs[f]);
    if (unblocks)
      continue;
    Span at = node_fn_decl(s->funcs[e->target].node)->name.span;
    diag_launch_never_over(s->diags, at, sema_text(s, e->name));
    diag_launch_never_over_help(s->diags, at);
  }
}
