/* Pointers that never get a value: they lead to address 0, where another variable lies.
 *
 * A variable counts if all that its program does with its address is to load from there.  A store,
 * or an address that goes anywhere else, may give it a value.  A condition known at compile time
 * may leave out the store on this tile; then the tile is one that never uses the pointer. */
#include "frontend/analysis/analysis_internal.h"

#include <stb_ds.h>

/* Does code give a variable of that name a value, or could it, by its address? */
typedef struct { StrId name; bool found; } GivenName;

static bool node_names(const Node *n, StrId name)
{
  return n->kind == ND_IDENT ? str_eq(node_ident(n)->name, name)
                             : n->kind == ND_MEMBER && str_eq(node_member(n)->name.text, name);
}

static void find_given(void *context, Node *n)
{
  GivenName *given = context;
  if (n->kind == ND_ASSIGN)
    given->found |= node_names(node_assign(n)->target, given->name);
  if (n->kind == ND_UNARY && node_unary(n)->op == UNARY_ADDRESS_OF)
    given->found |= node_names(node_unary(n)->operand, given->name);
  if (!given->found)
    node_visit_children(n, find_given, context);
}

static bool is_given_somewhere(const Sema *s, StrId name)
{
  GivenName given = {.name = name};
  for (uint32_t m = 0; m < arrlenu(s->modules); m++)
    for (size_t i = 0; i < arrlenu(s->modules[m].decls) && !sema_is_library(s, m); i++)
      node_visit_children(s->modules[m].decls[i].node, find_given, &given);
  return given.found;
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
  const uint8_t *uses = lint_uses_of_globals(s);
  for (uint32_t i = 0; i < arrlenu(s->globals); i++) {
    const Global *g = &s->globals[i];
    const Decl *d = pointer_without_value(s, g);
    uint8_t use = d ? uses[g->ir.raw] : 0;
    if (!d || use & GLOBAL_USED_OTHERWISE || (use == 0 && !lint_is_exported(s, i)) ||
        (arrlenu(s->left_out) > 0 && is_given_somewhere(s, d->name)))
      continue;
    diag_pointer_without_value(s->diags, d->name_span, sema_text(s, d->name));
    diag_pointer_value_help(s->diags, d->name_span, sema_text(s, d->name));
  }
}
