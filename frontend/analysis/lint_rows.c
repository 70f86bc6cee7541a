/* get_params(y) where get_params(x) is meant.  Our module gives all tiles the same parameters, the
 * vendor's gives each column its own.  The names in the layout decide: one that the calls of
 * @set_tile_code have for rows alone is no column. */
#include "frontend/analysis/analysis_internal.h"

#include <stb_ds.h>
#include <string.h>

typedef struct {
  Sema *s;
  StrId set_tile_code, get_params;
  StrId *columns, *rows;   /* stb_ds: names in calls of @set_tile_code */
  const Node **given;      /* stb_ds: names that calls of get_params have */
} RowNames;

static void note_name(StrId **names, const Node *n)
{
  if (node_kind(n) == ND_IDENT)
    arrput(*names, node_ident(n)->name);
}

static bool is_memcpy_module(const RowNames *names, const Node *n)
{
  Sema *s = names->s;
  const Decl *d = node_kind(n) == ND_IDENT
                    ? sema_find_decl(s, MAIN_MODULE, node_ident(n)->name) : NULL;
  if (!d || pool_kind(s->pool, d->value) != PK_MODULE)
    return false;
  const ModuleInstance *m = &s->modules[pool_key(s->pool, d->value).u.index];
  return strcmp(sema_text(s, m->path), "<memcpy/get_params>") == 0;
}

static void note_call(RowNames *names, const NodeCall *call)
{
  if (call->args.count != 1 || node_kind(call->args.at[0]) != ND_IDENT ||
      node_kind(call->callee) != ND_MEMBER)
    return;
  const NodeMember *callee = node_member(call->callee);
  if (str_eq(callee->name.text, names->get_params) && is_memcpy_module(names, callee->base_expr))
    arrput(names->given, call->args.at[0]);
}

static void visit_names(void *context, Node *n)
{
  RowNames *names = context;
  if (n->kind == ND_CALL) {
    note_call(names, node_call(n));
  } else if (n->kind == ND_BUILTIN_CALL) {
    const NodeBuiltinCall *call = node_builtin_call(n);
    if (str_eq(call->name.text, names->set_tile_code) && call->args.count > 2) {
      note_name(&names->columns, call->args.at[0]);
      note_name(&names->rows, call->args.at[1]);
    }
  }
  node_visit_children(n, visit_names, context);
}

static bool has_name(const StrId *names, StrId name)
{
  for (size_t i = 0; i < arrlenu(names); i++)
    if (str_eq(names[i], name))
      return true;
  return false;
}

void lint_rows(Sema *s)
{
  RowNames names = {.s = s,
                 .set_tile_code = str_intern_z(s->session->names, "set_tile_code"),
                 .get_params = str_intern_z(s->session->names, "get_params")};
  const Ast *ast = s->modules[MAIN_MODULE].ast;
  for (uint32_t i = 0; i < ast->decls.count; i++)
    visit_names(&names, ast->decls.at[i]);
  for (size_t i = 0; i < arrlenu(names.given) && arrlenu(names.columns) > 0; i++) {
    StrId name = node_ident(names.given[i])->name;
    if (has_name(names.rows, name) && !has_name(names.columns, name))
      diag_memcpy_row(s->diags, names.given[i]->span, sema_text(s, name),
                      sema_text(s, names.columns[0]));
  }
  arrfree(names.columns);
  arrfree(names.rows);
  arrfree(names.given);
}
