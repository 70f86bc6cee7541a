/* Declarations that nothing uses, for checks alone: the compiler evaluates what tiles need, so it
 * would say nothing about a function that its author has not called yet.
 *
 * A declaration can be meant for other tiles than those of one class, for the other machine, or
 * for other parameters: it counts as wrong if it is wrong in every class, and an assertion that
 * does not hold says that it is not meant for this program.  Of templates, inline functions and
 * functions for compile time, what depends on a call is unknown, and no message is about it. */
#include "frontend/analysis/analysis_internal.h"

#include <stb_ds.h>

static bool is_looked_at(const Sema *s, const Decl *d)
{
  bool has_value = d->kind == DECL_FN || d->kind == DECL_CONST || d->kind == DECL_VAR;
  return has_value && !sema_is_library(s, d->module);
}

/* The messages about a declaration of this class; NULL: it is right, or something uses it. */
static TakenDiags *look_at(Sema *s, Decl *d)
{
  if (sema_uses(s, d))
    return NULL;
  size_t mark = diags_mark(s->diags);
  sema_check_unused(s, d);
  TakenDiags *found = diags_take(s->diags, mark);
  if (s->is_refuted)
    found = NULL;
  s->is_refuted = false;
  return found;
}

static void collect_decl(Sema *s, uint32_t module, size_t index, UnusedDecl **decls)
{
  Decl *d = &s->modules[module].decls[index];
  ptrdiff_t known = hmgeti(*decls, d->node);
  if (!is_looked_at(s, d) || (known >= 0 && (*decls)[known].value == NULL))
    return;
  TakenDiags *found = look_at(s, d);
  if (known < 0 || found == NULL)
    hmput(*decls, d->node, found);
}

void lint_collect_unused(Sema *s, UnusedDecl **decls)
{
  IrModule program = *s->ir;
  size_t n_forced = arrlenu(s->tile->trace);
  uint32_t n_modules = (uint32_t)arrlenu(s->modules);
  for (uint32_t m = 0; m < n_modules; m++)
    for (size_t i = 0; i < arrlenu(s->modules[m].decls); i++)
      collect_decl(s, m, i, decls);
  /* The class does not depend on it. */
  arrsetlen(s->tile->trace, n_forced);
  *s->ir = program;
}

void lint_report_unused(Diags *diags, const UnusedDecl *decls)
{
  for (ptrdiff_t i = 0; i < hmlen(decls); i++)
    if (decls[i].value != NULL)
      diags_put_back(diags, decls[i].value);
}
