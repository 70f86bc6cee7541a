/* Pointers that never get a value: they lead to address 0, where another variable lies.
 *
 * A variable counts if all that its program does with its address is to load from there.  A store,
 * or an address that goes anywhere else, may give it a value. */
#include "frontend/layout/layout.h"

#include <stb_ds.h>

enum { USED_BY_LOAD = 1, USED_OTHERWISE = 2 };

static void note_uses(const IrFunc *f, const IrValue *args, uint32_t n, uint8_t use, uint8_t *uses)
{
  for (uint32_t i = 0; i < n; i++) {
    const IrInsn *value = &f->insns[args[i].raw];
    if (value->op == IR_global_addr)
      uses[value->u.global.raw] |= use;
  }
}

static void note_function(const IrFunc *f, uint8_t *uses)
{
  for (uint32_t i = 1; i < f->n_insns; i++) {
    const IrInsn *insn = &f->insns[i];
    if (insn->dead)
      continue;
    uint8_t use = insn->op == IR_load ? USED_BY_LOAD : USED_OTHERWISE;
    note_uses(f, insn->args, insn->n_args, use, uses);
    for (uint32_t t = 0; t < ir_target_count(insn); t++)
      note_uses(f, insn->u.targets[t].args, insn->u.targets[t].n_args, USED_OTHERWISE, uses);
  }
}

/* What happens to the address of each global, by its number in the IR. */
static const uint8_t *uses_of_globals(Sema *s)
{
  const IrModule *ir = s->ir;
  uint8_t *uses = arena_many(s->arena, uint8_t, ir->n_globals + 1);
  for (uint32_t f = 0; f < ir->n_funcs; f++)
    note_function(&ir->funcs[f], uses);
  for (uint32_t g = 0; g < ir->n_globals; g++)
    for (uint32_t r = 0; r < ir->globals[g].n_relocs; r++)
      if (!ir->globals[g].relocs[r].is_func)
        uses[ir->globals[g].relocs[r].target] |= USED_OTHERWISE;
  return uses;
}

static bool is_exported_symbol(const Sema *s, uint32_t global)
{
  for (size_t i = 0; i < arrlenu(s->setup->exports); i++)
    if (!s->setup->exports[i].is_func && s->setup->exports[i].target == global)
      return true;
  return false;
}

/* The declaration of a variable of the program's own that is a pointer without a value; NULL. */
static const Decl *pointer_without_value(Sema *s, const Global *g)
{
  if (g->decl == IR_NO_ID || pool_kind(s->pool, g->type) != PK_POINTER_TYPE)
    return NULL;
  const ModuleInstance *m = &s->modules[g->decl_module];
  const Decl *d = &m->decls[g->decl];
  bool is_plain = d->kind == DECL_VAR && node_var_decl(d->node)->storage == STORAGE_NONE;
  bool is_own = sema_text(s, m->path)[0] != '<';
  return is_plain && is_own && node_var_decl(d->node)->init == NULL ? d : NULL;
}

void lint_pointers(Sema *s)
{
  const uint8_t *uses = uses_of_globals(s);
  for (uint32_t i = 0; i < arrlenu(s->globals); i++) {
    const Global *g = &s->globals[i];
    const Decl *d = pointer_without_value(s, g);
    uint8_t use = d ? uses[g->ir.raw] : 0;
    if (!d || use & USED_OTHERWISE || (use == 0 && !is_exported_symbol(s, i)))
      continue;
    diag_pointer_without_value(s->diags, d->name_span, sema_text(s, d->name));
    diag_pointer_value_help(s->diags, d->name_span, sema_text(s, d->name));
  }
}
