/* Struct arguments of builtins, and the small helpers that every builtin shares.
 *
 * A settings struct may be written in place, be a named constant or come out of
 * @concat_structs; in place its fields may be run-time values.  So it is never built in memory:
 * the fields are evaluated one by one and handed to the code that asks for them by name. */
#include "frontend/sema/sema_internal.h"

#include <string.h>

Operand sema_rvalue(Sema *s, const Node *n, PoolId want)
{
  return sema_load(s, sema_expr(s, n, want));
}

Operand sema_arg(Sema *s, const Node *n, PoolId type)
{
  return sema_coerce(s, sema_rvalue(s, n, type), type, n->span);
}

/* The value of an integer, or of an id if those count, too; POISON after an error. */
static PoolId known_integer(Sema *s, Operand o, bool takes_ids, const char *what, Span span)
{
  PoolId value = sema_comptime_value(s, o, span);
  if (pool_eq(value, POOL(POISON)))
    return value;
  PoolId type = pool_type_of(s->pool, value);
  bool fits = takes_ids ? pool_kind(s->pool, value) == PK_INT && !pool_eq(type, POOL(DIRECTION))
                        : type_is_int(s->pool, type);
  if (fits)
    return value;
  diag_not_an_integer(s->diags, span, what, type);
  if (!takes_ids && type_is_id(type))
    diag_number_of_id(s->diags, span);
  return POOL(POISON);
}

static bool is_in_range(Sema *s, PoolId value, int64_t lo, int64_t hi, const char *what, Span span,
                        int64_t *out)
{
  if (pool_eq(value, POOL(POISON)))
    return false;
  if (pool_int_value(s->pool, value, out) && *out >= lo && *out <= hi)
    return true;
  diag_int_out_of_range(s->diags, span, value, what, lo, hi);
  return false;
}

bool sema_int_in(Sema *s, Operand o, int64_t lo, int64_t hi, const char *what, Span span,
                 int64_t *out)
{
  return is_in_range(s, known_integer(s, o, true, what, span), lo, hi, what, span, out);
}

bool sema_number_in(Sema *s, Operand o, int64_t lo, int64_t hi, const char *what, Span span,
                    int64_t *out)
{
  return is_in_range(s, known_integer(s, o, false, what, span), lo, hi, what, span, out);
}

bool sema_router_color(Sema *s, Operand o, Span span, uint8_t *color)
{
  int64_t number;
  int64_t last = sema_machine(s)->colors - 1;
  if (o.kind == OPR_COMPTIME && pool_eq(o.type, POOL(COLOR)) &&
      pool_int_value(s->pool, o.value, &number) && number >= 0 && number <= last) {
    *color = (uint8_t)number;
    return true;
  }
  o = sema_coerce(s, o, POOL(COLOR), span);
  if (operand_is_poison(o))
    return false;
  if (!sema_int_in(s, o, 0, last, "a color", span, &number)) {
    o.span = span;
    sema_note_declared(s, &o);
    return false;
  }
  *color = (uint8_t)number;
  return true;
}

/* ---- making structs ---------------------------------------------------------------------- */

static PoolId make_aggregate(Sema *s, const char *const *names, const PoolId *values, uint32_t n)
{
  PoolField *fields = arena_many(s->arena, PoolField, n ? n : 1);
  for (uint32_t i = 0; i < n; i++)
    fields[i] = (PoolField){.name = names ? sema_name(s, names[i]) : STR_NONE,
                            .type = pool_type_of(s->pool, values[i])};
  PoolKey key = {.kind = PK_STRUCT_TYPE, .type = POOL(TYPE)};
  key.u.fields.n = n;
  key.u.fields.fields = fields;
  key.u.fields.is_tuple = names == NULL;
  return pool_aggregate(s->pool, pool_get(s->pool, &key), values, n);
}

PoolId sema_make_struct(Sema *s, const char *const *names, const PoolId *values, uint32_t n)
{
  return make_aggregate(s, names, values, n);
}

PoolId sema_make_tuple(Sema *s, const PoolId *values, uint32_t n)
{
  return make_aggregate(s, NULL, values, n);
}

/* ---- pointers ---------------------------------------------------------------------------- */

/* A pointer stays one; a variable becomes its address.  Comptime-known wherever it can be. */
Operand sema_pointer_of(Sema *s, Operand o, Span span)
{
  if (operand_is_poison(o))
    return o;
  PoolKind kind = pool_kind(s->pool, o.type);
  if (kind == PK_POINTER_TYPE)
    return sema_load(s, o);
  if (kind == PK_ARRAY_TYPE && (o.kind == OPR_MEMORY || operand_is_comptime(o)))
    return sema_address_of(s, o, span);
  diag_needs_address(s->diags, span, o.type);
  return operand_poison();
}

/* ---- settings ---------------------------------------------------------------------------- */

static Settings settings_alloc(Sema *s, uint32_t n, Span span)
{
  Settings set = {.n = n, .span = span, .ok = true};
  set.at = arena_many(s->arena, Setting, n ? n : 1);
  return set;
}

/* What the value was written as, if the name stands for a constant.  A name in the literal of a
 * constant need not mean here what it means there, so the value decides. */
static const Node *written_as(Sema *s, StrId name, PoolId value)
{
  const Local *local = scope_find(s, name);
  if (local)
    return operand_is_comptime(local->o) && pool_eq(local->o.value, value) ? local->init : NULL;
  const Decl *decl = sema_find_decl(s, s->now.module, name);
  if (!decl || decl->kind != DECL_CONST || !pool_eq(decl->value, value))
    return NULL;
  return node_var_decl(decl->node)->init;
}

/* The parts of a literal that a value was written as, here or as a constant, to point at. */
static void place_fields(Sema *s, Settings *set, const Node *node, PoolId value)
{
  if (node && node_kind(node) == ND_IDENT)
    node = written_as(s, node_ident(node)->name, value);
  if (!node || node_kind(node) != ND_STRUCT_INIT)
    return;
  const NodeList *fields = &node_struct_init(node)->fields;
  for (uint32_t i = 0; i < set->n; i++)
    for (uint32_t k = 0; k < fields->count; k++) {
      const NodeFieldInit *field = node_field_init(fields->at[k]);
      if (!str_eq(field->name.text, set->at[i].name))
        continue;
      set->at[i].node = field->value;
      set->at[i].span = set->at[i].value.span = field->value->span;
      set->at[i].name_span = field->name.span;
    }
}

Settings settings_of_value(Sema *s, PoolId value, const Node *node, Span span)
{
  PoolKey type = pool_key(s->pool, pool_type_of(s->pool, value));
  if (type.kind != PK_STRUCT_TYPE || (type.u.fields.is_tuple && type.u.fields.n > 0)) {
    if (!pool_eq(value, POOL(POISON)))
      diag_not_a_struct(s->diags, span,
                        pool_type_of(s->pool, value));
    return (Settings){.span = span};
  }
  Settings set = settings_alloc(s, type.u.fields.n, span);
  for (uint32_t i = 0; i < set.n; i++) {
    PoolKey t = pool_key(s->pool, pool_type_of(s->pool, value));
    PoolKey v = pool_key(s->pool, value);
    set.at[i].name = t.u.fields.fields[i].name;
    set.at[i].span = set.at[i].name_span = span;
    set.at[i].value = operand_value(s, v.u.aggregate.elems[i]);
    set.at[i].value.span = span;
  }
  place_fields(s, &set, node, value);
  return set;
}

static Settings settings_of_memory(Sema *s, Operand o, Span span)
{
  PoolKey type = pool_key(s->pool, o.type);
  if (type.kind != PK_STRUCT_TYPE || type.u.fields.is_tuple) {
    diag_not_a_struct(s->diags, span, o.type);
    return (Settings){.span = span};
  }
  Settings set = settings_alloc(s, type.u.fields.n, span);
  for (uint32_t i = 0; i < set.n; i++) {
    StrId name = pool_key(s->pool, o.type).u.fields.fields[i].name;
    set.at[i] = (Setting){.name = name, .span = span, .name_span = span,
                          .value = sema_load(s, sema_member(s, o, name, span))};
    set.ok &= !operand_is_poison(set.at[i].value);
  }
  return set;
}

/* A tuple that is written in place: its elements may be run-time values. */
static void tuple_setting(Sema *s, Setting *setting, const NodeListInit *list)
{
  uint32_t n = list->items.count;
  Operand *parts = arena_many(s->arena, Operand, n);
  const Operand *unknown = NULL;
  for (uint32_t i = 0; i < n; i++) {
    const Node *item = list->items.at[i];
    parts[i] = sema_rvalue(s, item, POOL(NONE));
    parts[i].span = item->span;
    if (!operand_is_comptime(parts[i]) && (!unknown || operand_is_poison(parts[i])))
      unknown = &parts[i];
  }
  setting->value = unknown ? *unknown : sema_aggregate(s, NULL, parts, n, list->head.span);
  if (unknown && !operand_is_poison(*unknown)) {
    setting->parts = parts;
    setting->n_parts = n;
  }
}

static bool is_listed(const char *const *names, const char *name)
{
  for (; names != NULL && *names != NULL; names++)
    if (strcmp(*names, name) == 0)
      return true;
  return false;
}

static bool is_tensor_access(Sema *s, const Setting *setting)
{
  return strcmp(sema_text(s, setting->name), "tensor_access") == 0;
}

/* The array of a tensor access may have its address at run time: a part, which settings have and
 * values have not. */
static bool stays_unread(Sema *s, const Setting *setting, const Node *n)
{
  return node_kind(n) == ND_TENSOR_ACCESS && is_tensor_access(s, setting);
}

static bool is_variable_name(Sema *s, const Node *n)
{
  if (node_kind(n) != ND_IDENT)
    return false;
  const Decl *decl = sema_find_decl(s, s->now.module, node_ident(n)->name);
  return scope_find(s, node_ident(n)->name) != NULL || (decl != NULL && decl->kind == DECL_VAR);
}

static void setting_read(Sema *s, Setting *setting, const Node *n, bool may_run)
{
  if (may_run && stays_unread(s, setting, n)) {
    setting->is_unread = true;
    return;
  }
  if (!may_run) {
    setting->value = sema_comptime_operand(s, n, POOL(NONE));
    return;
  }
  bool is_tuple = node_kind(n) == ND_LIST_INIT && node_list_init(n)->type == NULL;
  if (is_tuple && node_list_init(n)->items.count > 0) {
    tuple_setting(s, setting, node_list_init(n));
    return;
  }
  Operand o = sema_expr(s, n, POOL(NONE));
  /* An array in place of an access is a mistake, which its type shows: its values are not read. */
  bool is_array = pool_kind(s->pool, o.type) == PK_ARRAY_TYPE && is_tensor_access(s, setting);
  setting->value = is_array ? o : sema_load(s, o);
  if (operand_is_poison(setting->value) && is_variable_name(s, n) &&
      strcmp(sema_text(s, setting->name), "extent") == 0)
    diag_extent_of_run(s->diags, n->span);
}

static Settings settings_of_fields(Sema *s, const NodeStructInit *init, const char *const *run_time)
{
  Settings set = settings_alloc(s, init->fields.count, init->head.span);
  for (uint32_t i = 0; i < set.n; i++) {
    const NodeFieldInit *field = node_field_init(init->fields.at[i]);
    set.at[i].name = field->name.text;
    set.at[i].node = field->value;
    set.at[i].span = field->value->span;
    set.at[i].name_span = field->name.span;
    bool may_run = is_listed(run_time, sema_text(s, field->name.text));
    setting_read(s, &set.at[i], field->value, may_run);
    set.at[i].value.span = field->value->span;
    set.ok &= set.at[i].is_unread || !operand_is_poison(set.at[i].value);
    for (uint32_t k = 0; k < i; k++)
      if (str_eq(set.at[k].name, set.at[i].name)) {
        diag_setting_twice(s->diags, field->name.span, sema_text(s, field->name.text));
        set.ok = false;
      }
  }
  return set;
}

/* `if (@is_arch("wse3")) .{ ... } else .{ ... }` is its branch, whose fields can be pointed at. */
static const Node *chosen_branch(Sema *s, const Node *n)
{
  while (node_kind(n) == ND_IF) {
    const NodeIf *choice = node_if(n);
    const Node *cond = choice->cond;
    if (node_kind(cond) != ND_BUILTIN_CALL || choice->else_part == NULL ||
        !str_eq(node_builtin_call(cond)->name.text, sema_name(s, "is_arch")))
      break;
    PoolId value = sema_comptime(s, cond, POOL(BOOL));
    if (pool_kind(s->pool, value) != PK_BOOL_VALUE)
      break;
    n = pool_eq(value, POOL(TRUE)) ? choice->then_part : choice->else_part;
  }
  return n;
}

/* The value is that of a call, or of one of several by conditions. */
static bool comes_from_call(const Node *n)
{
  if (n == NULL || node_kind(n) != ND_IF)
    return n != NULL && node_kind(n) == ND_CALL;
  return comes_from_call(node_if(n)->then_part) || comes_from_call(node_if(n)->else_part);
}

/* A struct that the program puts together when it runs: the fields that are not known may be known
 * then only. */
static bool may_be_of_run_time(const Sema *s, Operand o, const char *const *run_time)
{
  PoolKey type = pool_key(s->pool, o.type);
  if (o.kind != OPR_MEMORY || type.kind != PK_STRUCT_TYPE || type.u.fields.is_tuple)
    return false;
  for (uint32_t i = 0; i < type.u.fields.n; i++)
    if (pool_is_none(sema_known_field(s, &o, i)) &&
        !is_listed(run_time, sema_text(s, type.u.fields.fields[i].name)))
      return false;
  return true;
}

/* At compile time, unless only the run can give some of the fields, and may: what is wrong at
 * compile time is reported then.  The call is inlined, so that what it returns is known where it
 * can be. */
static Operand operand_of_call(Sema *s, const Node *n, const char *const *run_time)
{
  size_t mark = diags_mark(s->diags);
  Operand known = sema_comptime_operand(s, n, POOL(NONE));
  if (!operand_is_poison(known) || run_time == NULL)
    return known;
  diags_rewind(s->diags, mark);
  const NodeList *outer = s->own->inlined;     /* a call whose arguments have settings, too */
  s->own->inlined = node_kind(n) == ND_CALL ? &node_call(n)->args : NULL;
  Operand o = sema_load(s, sema_expr(s, n, POOL(NONE)));
  s->own->inlined = outer;
  if (may_be_of_run_time(s, o, run_time))
    return o;
  diags_rewind(s->diags, mark);
  return sema_comptime_operand(s, n, POOL(NONE));
}

Settings settings_read(Sema *s, const Node *n, const char *const *run_time, bool call_may_run)
{
  n = chosen_branch(s, n);
  if (node_kind(n) == ND_STRUCT_INIT && node_struct_init(n)->type == NULL)
    return settings_of_fields(s, node_struct_init(n), run_time);
  bool is_known = !call_may_run && comes_from_call(n);
  Operand o = is_known ? operand_of_call(s, n, run_time) : sema_expr(s, n, POOL(NONE));
  if (operand_is_poison(o))
    return (Settings){.span = n->span};
  o = sema_load(s, o);
  if (o.kind == OPR_MEMORY)
    return settings_of_memory(s, o, n->span);
  if (!operand_is_comptime(o)) {
    if (!operand_is_poison(o))
      diag_not_a_struct(s->diags, n->span, o.type);
    return (Settings){.span = n->span};
  }
  return settings_of_value(s, o.value, n, n->span);
}

Setting *settings_take(Sema *s, Settings *set, const char *name)
{
  StrId id = sema_name(s, name);
  for (uint32_t i = 0; i < set->n; i++)
    if (str_eq(set->at[i].name, id)) {
      set->at[i].taken = true;
      return &set->at[i];
    }
  return NULL;
}

void settings_missing(Sema *s, Settings *set, const char *what, const char *name)
{
  for (uint32_t i = 0; i < set->n; i++) {
    const char *found = sema_text(s, set->at[i].name);
    if (set->at[i].taken || !base_nearest(found, &name, 1))
      continue;
    set->at[i].taken = true;
    diag_unknown_setting(s->diags, set->at[i].name_span, what, found);
    diag_suggest(s->diags, set->at[i].name_span, name);
    return;
  }
  diag_setting_missing(s->diags, set->span, what, name);
}

/* ---- the fields that there are -------------------------------------------------------------- */

#define GROUP(id, what) static const SettingRow rows_of_##id[] = {
#define FIELD(name, form, text) {#name, form, text, SETTINGS_NONE},
#define PART(name, group, text) {#name, ".{ ... }", text, SETTINGS_##group},
#define END };
#define TAKES(builtin, first, group)
#include "frontend/settings.def"

const SettingsGroup *settings_group(SettingsId id)
{
  static const SettingsGroup groups[] = {
#define GROUP(id, what) {what, rows_of_##id, ARRAY_COUNT(rows_of_##id)},
#define FIELD(name, form, text)
#define PART(name, group, text)
#define END
#define TAKES(builtin, first, group)
#include "frontend/settings.def"
  };
  return &groups[id];
}

SettingsId settings_of_call(const char *builtin, const char *first)
{
  static const struct { const char *builtin, *first; SettingsId id; } rows[] = {
#define GROUP(id, what)
#define FIELD(name, form, text)
#define PART(name, group, text)
#define END
#define TAKES(builtin, first, group) {#builtin, first, SETTINGS_##group},
#include "frontend/settings.def"
  };
  for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
    if (strcmp(rows[i].builtin, builtin) == 0 &&
        (!*rows[i].first || strcmp(rows[i].first, first) == 0))
      return rows[i].id;
  return SETTINGS_NONE;
}

/* The fields that there are, if none has a name like the one that was given. */
static void suggest_field(Sema *s, Span span, const char *name, const SettingsGroup *group)
{
  const char **known = arena_many(s->arena, const char *, group->n);
  size_t n = 0;
  for (size_t i = 0; i < group->n; i++)     /* a field with several forms has several rows */
    if (i == 0 || strcmp(group->rows[i].name, group->rows[i - 1].name) != 0)
      known[n++] = group->rows[i].name;
  const char *near = base_nearest(name, known, n);
  if (near) {
    diag_suggest(s->diags, span, near);
    return;
  }
  const char *list = known[0];
  for (size_t i = 1; i < n; i++)
    list = arena_printf(s->arena, "%s, %s", list, known[i]);
  diag_known_settings(s->diags, span, list);
}

static void report_unknown(Sema *s, const Setting *field, const SettingsGroup *group)
{
  const char *name = sema_text(s, field->name);
  diag_unknown_setting(s->diags, field->name_span, group->what, name);
  suggest_field(s, field->name_span, name, group);
}

void settings_finish(Sema *s, const Settings *set, SettingsId id)
{
  for (uint32_t i = 0; i < set->n; i++)
    if (!set->at[i].taken)
      report_unknown(s, &set->at[i], settings_group(id));
}

bool settings_are_known(Sema *s, const Settings *set, SettingsId id)
{
  const SettingsGroup *group = settings_group(id);
  bool all = true;
  for (uint32_t i = 0; i < set->n; i++) {
    size_t k = 0;
    while (k < group->n && strcmp(group->rows[k].name, sema_text(s, set->at[i].name)) != 0)
      k++;
    if (k == group->n)
      report_unknown(s, &set->at[i], group);
    all &= k < group->n;
  }
  return all;
}

void setting_ignored(Sema *s, const Setting *field, const char *where, const char *help)
{
  if (field && !sema_in_library(s))
    diag_setting_ignored(s->diags, field->name_span, sema_text(s, field->name), where, help);
}

bool setting_bool(Sema *s, Setting *field, bool otherwise)
{
  if (!field)
    return otherwise;
  PoolId value = sema_comptime_value(s, field->value, field->span);
  if (pool_eq(value, POOL(POISON)))
    return otherwise;
  if (pool_kind(s->pool, value) != PK_BOOL_VALUE) {
    diag_setting_not_bool(s->diags, field->span, sema_text(s, field->name),
                          pool_type_of(s->pool, value));
    diag_setting_bool_form(s->diags, field->span, sema_text(s, field->name));
    return otherwise;
  }
  return pool_eq(value, POOL(TRUE));
}

int setting_choice(Sema *s, const Setting *field, SettingsId id, bool *ok)
{
  const SettingsGroup *group = settings_group(id);
  PoolId value = sema_comptime_value(s, field->value, field->span);
  Settings set = settings_of_value(s, value, field->node, field->span);
  int chosen = -1;
  *ok &= set.ok;
  for (size_t i = 0; set.ok && i < group->n; i++) {
    if (!setting_bool(s, settings_take(s, &set, group->rows[i].name), false))
      continue;
    if (chosen >= 0) {
      diag_setting_choice(s->diags, field->span, group->what, group->rows[chosen].name,
                          group->rows[i].name);
      *ok = false;
    }
    chosen = (int)i;
  }
  settings_finish(s, &set, id);
  return chosen;
}
