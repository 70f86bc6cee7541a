/* Calls of builtins: find the row, check number of arguments, place and architecture, run the
 * handler.  The rows come from the caller, since most handlers stand in rooms above this one. */
#include "frontend/sema/builtins.h"
#include "frontend/sema/sema_internal.h"

#include <stb_ds.h>
#include <string.h>

static const BuiltinRow *row_of(const Session *session, StrId name)
{
  const BuiltinTable *table = session->builtins;
  if (name.raw >= table->n_row_of || table->row_of[name.raw] == 0)
    return NULL;
  return &table->rows[table->row_of[name.raw] - 1];
}

bool sema_builtin_exists(const Session *session, StrId name)
{
  return row_of(session, name) != NULL;
}

bool sema_builtin_is_pure(const Session *session, StrId name)
{
  const BuiltinRow *row = row_of(session, name);
  return row && (row->where & BUILTIN_PURE);
}

bool sema_builtin_may_write(const Session *session, StrId name)
{
  const BuiltinRow *row = row_of(session, name);
  return row == NULL || !(row->where & WHERE_COMPTIME);
}

bool sema_builtin_only_yields(const Session *session, StrId name, bool *is_copy)
{
  const BuiltinRow *row = row_of(session, name);
  *is_copy = row && (row->where & BUILTIN_COPIES);
  return *is_copy || (row && (row->where & BUILTIN_PURE));
}

/* `@fadd` and `@mov`: the name of an operation without the width of its elements. */
static bool note_width(Sema *s, const char *name, Span at)
{
  static const struct { const char *wide, *of_wide, *narrow, *of_narrow; } suffixes[] = {
    {"s", "f32", "h", "floats of 16 bits"}, {"32", "32 bits", "16", "16 bits"}};
  for (size_t i = 0; i < ARRAY_COUNT(suffixes); i++) {
    const char *wide = arena_printf(s->arena, "%s%s", name, suffixes[i].wide);
    const char *narrow = arena_printf(s->arena, "%s%s", name, suffixes[i].narrow);
    if (sema_builtin_exists(s->session, sema_name(s, wide)) &&
        sema_builtin_exists(s->session, sema_name(s, narrow))) {
      diag_builtin_by_width(s->diags, at, wide, suffixes[i].of_wide, narrow, suffixes[i].of_narrow);
      return true;
    }
  }
  return false;
}

/* A note under the message reported last: what the call probably means. */
static void note_meant(Sema *s, const NodeBuiltinCall *call)
{
  const BuiltinTable *table = s->session->builtins;
  const char **names = arena_many(s->arena, const char *, table->n_rows);
  for (size_t i = 0; i < table->n_rows; i++)
    names[i] = table->rows[i].name;
  const char *name = sema_text(s, call->name.text);
  if (sema_note_other_language(s, name, call->name.span) || note_width(s, name, call->name.span))
    return;
  const char *near = base_nearest(name, names, table->n_rows);
  if (near)
    diag_suggest(s->diags, call->name.span, arena_printf(s->arena, "@%s", near));
}

static void warn_unknown(void *context, Node *n)
{
  Sema *s = context;
  if (n->kind == ND_BUILTIN_CALL) {
    const NodeBuiltinCall *call = node_builtin_call(n);
    if (!row_of(s->session, call->name.text)) {
      diag_unknown_builtin_unused(s->diags, call->name.span, sema_text(s, call->name.text));
      note_meant(s, call);
    }
  }
  node_visit_children(n, warn_unknown, s);
}

void sema_warn_unknown_builtins(Sema *s, const Node *declaration)
{
  node_visit_children(declaration, warn_unknown, s);
}

static const char *count_text(Sema *s, const BuiltinRow *row)
{
  if (row->most < 0)
    return arena_printf(s->arena, "at least %d argument%s", row->least, row->least == 1 ? "" : "s");
  if (row->least == row->most)
    return arena_printf(s->arena, "%d argument%s", row->least, row->least == 1 ? "" : "s");
  return arena_printf(s->arena, "%d to %d arguments", row->least, row->most);
}

/* The place of evaluation: comptime parts of run-time code count as comptime. */
static unsigned where_of(const Sema *s)
{
  if (s->now.where == WHERE_RUNTIME && s->now.comptime)
    return WHERE_COMPTIME;
  return (unsigned)s->now.where;
}

static const char *where_text(unsigned where)
{
  if (where == WHERE_LAYOUT)
    return "in a layout block";
  if (where == WHERE_TOP)
    return "in a top-level comptime block";
  if (where == WHERE_RUNTIME)
    return "in code that runs on a PE";
  if (where == (WHERE_TOP | WHERE_RUNTIME))
    return "in a top-level comptime block or in code that runs on a PE";
  if (where & WHERE_TOP)
    return "at the top level of a PE program";
  return "elsewhere";
}

void sema_note_usage(Sema *s, const Node *call)
{
  const Name *name = &node_builtin_call(call)->name;
  const BuiltinRow *row = row_of(s->session, name->text);
  if (row && row->usage)
    diag_usage(s->diags, name->span, row->usage);
}

static bool check_row(Sema *s, const BuiltinRow *row, const NodeBuiltinCall *call)
{
  Diags *diags = s->diags;
  int n = (int)call->args.count;
  if (n < row->least || (row->most >= 0 && n > row->most)) {
    diag_builtin_arguments(diags, call->name.span, row->name, count_text(s, row), n);
    sema_note_usage(s, &call->head);
    return false;
  }
  if (!(row->where & where_of(s))) {
    if (s->own->unused != NULL) {
      s->is_refuted = true;        /* it is meant for another place */
      return false;
    }
    diag_builtin_place(diags, call->name.span, row->name, where_text(row->where));
    if (strcmp(row->name, "set_color_config") == 0)
      diag_local_color_config(diags, call->name.span);
    return false;
  }
  if (!(row->archs & 1u << s->session->options->arch)) {
    const Machine *other = machine_get(row->archs & 1u << ARCH_WSE2 ? ARCH_WSE2 : ARCH_WSE3);
    diag_builtin_arch(diags, call->name.span, row->name, sema_machine(s)->name, other->name);
    if (strcmp(row->name, "bind_task") == 0)
      diag_task_nowhere_bound_help(diags, call->name.span);
    return false;
  }
  return true;
}

bool sema_has_failed_call(const Sema *s, StrId argument)
{
  for (size_t i = 0; i < arrlenu(s->failed_calls); i++) {
    const NodeList *args = &s->failed_calls[i]->args;
    for (uint32_t k = 0; k < args->count; k++)
      if (args->at[k]->kind == ND_IDENT && str_eq(node_ident(args->at[k])->name, argument))
        return true;
  }
  return false;
}

/* Errors about the kind of an argument. */
static const char *const errors_of_kind[] = {
  "not_a_type", "not_a_struct", "not_an_array_type", "not_a_numeric_array", "not_a_string",
  "not_a_range", "not_a_bool", "not_a_pointer_type", "needs_pointer", "needs_address",
  "not_a_queue", "not_a_handler", "not_a_task", "not_a_dsd_type", "not_a_dsr_type", "not_a_dsr",
  "dsd_argument", "map_callback", "type_mismatch"};

/* What the call looks like, if an argument is of a wrong kind and no other note helps. */
static void note_usage_of_kind(Sema *s, const NodeBuiltinCall *call)
{
  for (uint32_t i = 0; i < call->args.count; i++) {
    const char *id = diags_bare_error(s->diags, call->args.at[i]->span);
    for (size_t k = 0; id && k < ARRAY_COUNT(errors_of_kind); k++)
      if (strcmp(id, errors_of_kind[k]) == 0) {
        sema_note_usage(s, &call->head);
        return;
      }
  }
}

Operand sema_builtin(Sema *s, const Node *node, PoolId want)
{
  const NodeBuiltinCall *call = node_builtin_call(node);
  const BuiltinRow *row = row_of(s->session, call->name.text);
  if (!row) {
    diag_unknown_builtin(s->diags, call->name.span, sema_text(s, call->name.text));
    note_meant(s, call);
  }
  if (!row || !check_row(s, row, call)) {
    arrput(s->failed_calls, call);
    return operand_poison();
  }
  size_t errors = diags_error_count(s->diags);
  Operand result = row->handler(s, call, node->span, want);
  result.span = node->span;
  if (diags_error_count(s->diags) > errors)
    note_usage_of_kind(s, call);
  return result;
}

