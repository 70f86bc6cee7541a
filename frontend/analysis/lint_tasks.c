/* Tasks that nothing binds, data tasks without a queue, local tasks that nothing activates. What
 * other tiles bind stands in the text, too: so the first warning is about a task whose name is
 * nowhere in the files of the program but in its own declaration, the second about a data task that
 * has a queue on no tile, the third about a local task that no tile activates. */
#include "frontend/analysis/analysis_internal.h"

#include <stb_ds.h>

typedef struct {
  StrId name;
  unsigned count;               /* of the places in the program's own files, without declarations */
} NameSearch;

static void visit_name(void *context, Node *n)
{
  NameSearch *search = context;
  if (n->kind == ND_IDENT)
    search->count += str_eq(node_ident(n)->name, search->name);
  else if (n->kind == ND_MEMBER)
    search->count += str_eq(node_member(n)->name.text, search->name);
  node_visit_children(n, visit_name, search);
}

static void visit_program(const Sema *s, void (*visit)(void *, Node *), void *context)
{
  for (uint32_t m = 0; m < arrlenu(s->modules); m++)
    for (uint32_t i = 0; i < s->modules[m].ast->decls.count && !sema_is_library(s, m); i++)
      visit(context, s->modules[m].ast->decls.at[i]);
}

static unsigned times_named(const Sema *s, StrId name)
{
  NameSearch search = {.name = name};
  visit_program(s, visit_name, &search);
  return search.count;
}

static bool is_task(const Decl *d)
{
  return d->kind == DECL_FN && node_fn_decl(d->node)->is_task;
}

/* Names that are looked for, by their number: whether the program has them. */
typedef struct { uint32_t key; bool value; } NameMark;
typedef struct { NameMark *names; } MarkSearch;         /* stb_ds map */

static void visit_to_mark(void *context, Node *n)
{
  MarkSearch *search = context;
  StrId name = n->kind == ND_IDENT ? node_ident(n)->name
                                   : n->kind == ND_MEMBER ? node_member(n)->name.text : STR_NONE;
  ptrdiff_t at = str_is_none(name) ? -1 : hmgeti(search->names, name.raw);
  if (at >= 0)
    search->names[at].value = true;
  node_visit_children(n, visit_to_mark, search);
}

/* The tasks of the module, each with whether the program names it: in one walk, as it has as many
 * nodes as it is long.  NULL: there are none. */
static NameMark *named_tasks(const Sema *s, const ModuleInstance *m)
{
  MarkSearch search = {NULL};
  for (size_t i = 0; i < arrlenu(m->decls); i++)
    if (is_task(&m->decls[i]))
      hmput(search.names, m->decls[i].name.raw, false);
  if (search.names)
    visit_program(s, visit_to_mark, &search);
  return search.names;
}

void lint_tasks(Sema *s, const ModuleInstance *m)
{
  NameMark *tasks = named_tasks(s, m);
  for (size_t i = 0; i < arrlenu(m->decls); i++) {
    const Decl *d = &m->decls[i];
    if (!is_task(d) || hmget(tasks, d->name.raw))
      continue;
    diag_task_nowhere_bound(s->diags, d->name_span, sema_text(s, d->name));
    diag_task_nowhere_bound_help(s->diags, d->name_span);
  }
  hmfree(tasks);
}

typedef struct {
  uint32_t off;
  const NodeBuiltinCall *found;
} BindingSearch;

static void visit_binding(void *context, Node *n)
{
  BindingSearch *search = context;
  if (n->kind == ND_BUILTIN_CALL && n->span.off == search->off)
    search->found = node_builtin_call(n);
  if (!search->found)
    node_visit_children(n, visit_binding, search);
}

typedef struct {
  StrId passing[2];             /* builtins that pass on the fields of their structs */
  unsigned number;
  bool is_found;
} NumberSearch;

static bool is_number(const Node *n, unsigned number)
{
  return n->kind == ND_INT && str_is_none(node_int(n)->big) && node_int(n)->value == number;
}

static void visit_passed(void *context, Node *n)
{
  NumberSearch *search = context;
  if (n->kind == ND_BUILTIN_CALL && !str_eq(node_builtin_call(n)->name.text, search->passing[0]) &&
      !str_eq(node_builtin_call(n)->name.text, search->passing[1]))
    return;
  if (n->kind == ND_FIELD_INIT)
    search->is_found |= is_number(node_field_init(n)->value, search->number);
  for (uint32_t i = 0; n->kind == ND_CALL && i < node_call(n)->args.count; i++)
    search->is_found |= is_number(node_call(n)->args.at[i], search->number);
  node_visit_children(n, visit_passed, search);
}

/* The program passes the number on, as in `.done_task = 9` of a library module that it imports with
 * other parameters. */
static bool is_passed(const Sema *s, unsigned id)
{
  StrTable *names = s->session->names;
  NumberSearch search = {.number = id, .passing = {str_intern_z(names, "import_module"),
                                                   str_intern_z(names, "concat_structs")}};
  visit_program(s, visit_passed, &search);
  return search.is_found;
}

typedef struct {
  const Sema *s;
  bool is_found;
} BesideSearch;

static void visit_beside(void *context, Node *n)
{
  BesideSearch *search = context;
  if (n->kind == ND_IDENT)
    search->is_found |= times_named(search->s, node_ident(n)->name) > 1;
  node_visit_children(n, visit_beside, search);
}

/* The text also names the task, or its id or the number of that, elsewhere: for another machine,
 * perhaps, or other parameters of the layout. */
static bool is_named_beside(const Sema *s, const TaskSlot *task, unsigned id)
{
  BindingSearch search = {.off = task->span.off};
  for (size_t m = 0; m < arrlenu(s->modules) && !search.found; m++)
    for (uint32_t i = 0; i < s->modules[m].ast->decls.count && !search.found; i++)
      visit_binding(&search, s->modules[m].ast->decls.at[i]);
  if (!search.found)
    return true;
  BesideSearch beside = {.s = s, .is_found = is_passed(s, id)};
  for (uint32_t i = 0; i < search.found->args.count; i++)
    visit_beside(&beside, search.found->args.at[i]);
  return beside.is_found;
}

/* Library modules bind tasks for calls that a program may not make. */
static bool is_of_program(const Sema *s, const TaskSlot *task)
{
  return !sema_is_library(s, s->funcs[task->func].decl_module);
}

void lint_note_local_tasks(Sema *s)
{
  uint64_t activated = s->setup->active | setup_tasks_beside_code(s, ACT_ACTIVATE) |
                       lint_tasks_of_code(s, ACT_ACTIVATE, UINT64_MAX);
  for (unsigned id = 0; id < MAX_TASK_IDS; id++) {
    const TaskSlot *task = &s->setup->tasks[id];
    if (task->kind != TASK_LOCAL || task->by_color || task->alternate ||
        id == sema_machine(s)->teardown_task || id == sema_machine(s)->timer_task ||
        !is_of_program(s, task))
      continue;
    const TakenDiags *taken = NULL;
    if (!(activated >> id & 1) && !is_named_beside(s, task, id)) {
      size_t mark = diags_mark(s->diags);
      diag_task_never_activated(s->diags, task->span, sema_text(s, task->name));
      diag_task_activation(s->diags, task->span);
      taken = diags_take(s->diags, mark);
    }
    arrput(s->setup->local_tasks, ((NotedNeed){task->span.off, taken}));
  }
}
