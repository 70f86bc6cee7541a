/* Calls of get_params that take a tile's row for its column, or its column for its row, which the
 * library here does not mind: the vendor's gives each tile its own parameters.  The names in the
 * layout decide: one that the calls of @set_tile_code have for rows alone is no column. */
#include "frontend/analysis/analysis_internal.h"

#include <stb_ds.h>
#include <string.h>

/* An argument of get_params that is a name. */
typedef struct {
  const Node *at;
  const NodeCall *call;
  bool is_of_memcpy, is_for_row;
} PlaceName;

typedef struct {
  Sema *s;
  StrId set_tile_code, get_params;
  StrId *columns, *rows;   /* stb_ds: names in calls of @set_tile_code */
  PlaceName *given;        /* stb_ds */
} RowNames;

static void note_name(StrId **names, const Node *n)
{
  if (node_kind(n) == ND_IDENT)
    arrput(*names, node_ident(n)->name);
}

/* The path of the module that the layout's name stands for; "": none. */
static const char *path_of_module(const RowNames *names, const Node *n)
{
  Sema *s = names->s;
  const Decl *d = node_kind(n) == ND_IDENT
                    ? sema_find_decl(s, MAIN_MODULE, node_ident(n)->name) : NULL;
  if (!d || pool_kind(s->pool, d->value) != PK_MODULE)
    return "";
  return sema_text(s, s->modules[pool_key(s->pool, d->value).u.index].path);
}

static void note_given(RowNames *names, const NodeCall *call, bool is_of_memcpy, bool is_for_row)
{
  PlaceName given = {call->args.at[is_for_row], call, is_of_memcpy, is_for_row};
  if (node_kind(given.at) == ND_IDENT)
    arrput(names->given, given);
}

static void note_call(RowNames *names, const NodeCall *call)
{
  if (node_kind(call->callee) != ND_MEMBER ||
      !str_eq(node_member(call->callee)->name.text, names->get_params))
    return;
  const char *path = path_of_module(names, node_member(call->callee)->base_expr);
  if (call->args.count == 1 && strcmp(path, "<memcpy/get_params>") == 0) {
    note_given(names, call, true, false);
  } else if (call->args.count == 3 && strcmp(path, "<collectives_2d/params>") == 0) {
    note_given(names, call, false, false);
    note_given(names, call, false, true);
  }
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

/* False: the name belongs there. */
static bool warn_of_name(const RowNames *names, const PlaceName *given)
{
  Sema *s = names->s;
  StrId name = node_ident(given->at)->name;
  const StrId *right = given->is_for_row ? names->rows : names->columns;
  const StrId *other = given->is_for_row ? names->columns : names->rows;
  if (arrlenu(right) == 0 || !has_name(other, name) || has_name(right, name))
    return false;
  if (given->is_of_memcpy)
    diag_memcpy_row(s->diags, given->at->span, sema_text(s, name), sema_text(s, right[0]));
  else
    diag_collectives_place(s->diags, given->at->span, sema_text(s, name),
                           given->is_for_row ? "column" : "row", sema_text(s, right[0]));
  return true;
}

void lint_rows(Sema *s)
{
  RowNames names = {.s = s,
                 .set_tile_code = str_intern_z(s->session->names, "set_tile_code"),
                 .get_params = str_intern_z(s->session->names, "get_params")};
  const Ast *ast = s->modules[MAIN_MODULE].ast;
  for (uint32_t i = 0; i < ast->decls.count; i++)
    visit_names(&names, ast->decls.at[i]);
  const NodeCall *told = NULL;           /* names that are exchanged are one mistake */
  for (size_t i = 0; i < arrlenu(names.given); i++)
    if (names.given[i].call != told && warn_of_name(&names, &names.given[i]))
      told = names.given[i].call;
  arrfree(names.columns);
  arrfree(names.rows);
  arrfree(names.given);
}
