/* Tasks that nothing binds, and data tasks without a queue. What other tiles bind stands in the
 * text, too: so the first warning is about a task whose name is nowhere in the files of the program
 * but in its own declaration, the second about a data task that has a queue on no tile. */
#include "frontend/layout/layout_internal.h"

#include <stb_ds.h>

typedef struct {
  StrId name;
  bool is_found;
} NameSearch;

static void visit_name(void *context, Node *n)
{
  NameSearch *search = context;
  if (n->kind == ND_IDENT)
    search->is_found |= str_eq(node_ident(n)->name, search->name);
  else if (n->kind == ND_MEMBER)
    search->is_found |= str_eq(node_member(n)->name.text, search->name);
  if (!search->is_found)
    node_visit_children(n, visit_name, search);
}

static bool is_named(const Sema *s, StrId name)
{
  NameSearch search = {.name = name};
  for (size_t m = 0; m < arrlenu(s->modules); m++)
    for (uint32_t i = 0; i < s->modules[m].ast->decls.count && !search.is_found; i++)
      visit_name(&search, s->modules[m].ast->decls.at[i]);
  return search.is_found;
}

void lint_tasks(Sema *s, const ModuleInstance *m)
{
  for (size_t i = 0; i < arrlenu(m->decls); i++) {
    const Decl *d = &m->decls[i];
    if (d->kind != DECL_FN || !node_fn_decl(d->node)->is_task || is_named(s, d->name))
      continue;
    diag_task_nowhere_bound(s->diags, d->name_span, sema_text(s, d->name));
    diag_task_nowhere_bound_help(s->diags, d->name_span);
  }
}

void lint_collect_data_tasks(const Sema *s, UnfedTask **tasks)
{
  for (size_t i = 0; i < arrlenu(s->setup->data_task_queues); i++) {
    const DataTaskQueue *task = &s->setup->data_task_queues[i];
    if (hmgeti(*tasks, task->key) < 0 || task->taken == NULL)
      hmput(*tasks, task->key, task->taken);
  }
}

void lint_report_data_tasks(Diags *diags, const UnfedTask *tasks)
{
  for (ptrdiff_t i = 0; i < hmlen(tasks); i++)
    if (tasks[i].value != NULL)
      diags_put_back(diags, tasks[i].value);
}
