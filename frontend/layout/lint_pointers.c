/* Pointers that never get a value: they lead to address 0, where another variable lies.
 *
 * A variable counts if all that its program does with its address is to load from there.  A store,
 * or an address that goes anywhere else, may give it a value. */
#include "frontend/layout/layout.h"

#include <stb_ds.h>

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
  const uint8_t *uses = lint_uses_of_globals(s);
  for (uint32_t i = 0; i < arrlenu(s->globals); i++) {
    const Global *g = &s->globals[i];
    const Decl *d = pointer_without_value(s, g);
    uint8_t use = d ? uses[g->ir.raw] : 0;
    if (!d || use & GLOBAL_USED_OTHERWISE || (use == 0 && !lint_is_exported(s, i)))
      continue;
    diag_pointer_without_value(s->diags, d->name_span, sema_text(s, d->name));
    diag_pointer_value_help(s->diags, d->name_span, sema_text(s, d->name));
  }
}
