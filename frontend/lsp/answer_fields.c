/* Answers about the fields of `.{ ... }` in a call: parameters of a file, and the settings of
 * builtins.  The text alone counts, as a program has no tree while it is typed. */
#include "frontend/lsp/lsp.h"

#include <ctype.h>
#include <stb_ds.h>

/* The bracket that is open before a place; SIZE_MAX: none. */
static size_t bracket_before(const Question *q, size_t at)
{
  int depth = 0;
  while (at-- > 0) {
    char c = q->text[at];
    if (c == '"') {             /* back over a string */
      while (at > 0 && q->text[--at] != '"')
        ;
    } else if (c == ')' || c == ']' || c == '}') {
      depth++;
    } else if ((c == '(' || c == '[' || c == '{') && depth-- == 0) {
      return at;
    }
  }
  return SIZE_MAX;
}

static bool ends_with(const char *text, size_t end, const char *word)
{
  size_t length = strlen(word);
  return end >= length && strncmp(text + end - length, word, length) == 0;
}

/* The text of the last string between two places; NULL: none. */
static const char *last_string(const Question *q, size_t from, size_t to)
{
  while (to > from && q->text[to - 1] != '"')
    to--;
  size_t start = to > from ? to - 1 : from;
  while (start > from && q->text[start - 1] != '"')
    start--;
  return start > from ? arena_copy_text(q->a->arena, q->text + start, to - 1 - start) : NULL;
}

/* The bracket of the `.{` around the dot of a field; SIZE_MAX: none. */
static size_t struct_around(const Question *q, size_t dot)
{
  size_t brace = bracket_before(q, dot);
  bool is_struct = brace != SIZE_MAX && brace > 0 && q->text[brace] == '{' &&
                   q->text[brace - 1] == '.';
  return is_struct ? brace : SIZE_MAX;
}

static size_t skip_space_back(const Question *q, size_t at)
{
  while (at > 0 && isspace((unsigned char)q->text[at - 1]))
    at--;
  return at;
}

/* Where the word that ends there begins. */
static size_t word_start(const Question *q, size_t end)
{
  while (end > 0 && is_word_byte(q->text[end - 1]))
    end--;
  return end;
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* The file whose parameters the struct with that bracket sets; NULL: none. */
static const Ast *file_of_struct(const Question *q, size_t brace)
{
  size_t call = bracket_before(q, brace);
  bool takes_file = call != SIZE_MAX && q->text[call] == '(' &&
                    (ends_with(q->text, call, "@import_module") ||
                     ends_with(q->text, call, "@set_tile_code"));
  const char *path = takes_file ? last_string(q, call, brace) : NULL;
  return path ? files_import(q->a->session->files, path, q->ast, (Span){0, 0}) : NULL;
}

static void add_parameters(const Question *q, const Ast *file, json_t *items)
{
  Names *names = &q->a->names;
  names_read_file(names, file);
  for (size_t i = 0; i < arrlenu(names->symbols); i++) {
    const NameSymbol *s = &names->symbols[i];
    if (file_eq(s->file, file->file) && s->visible.len == 0 && s->kind == SYMBOL_PARAM)
      json_array_append_new(items, completion_symbol(q, q->a, s));
  }
}

/* ---- settings -------------------------------------------------------------------------------- */

/* The groups of settings that a struct may be of. */
enum { GROUPS = 4 };
typedef struct { SettingsId ids[GROUPS]; size_t n; } Groups;

static void add_group(Groups *groups, SettingsId id)
{
  for (size_t i = 0; i < groups->n; i++)
    if (groups->ids[i] == id)
      return;
  if (id != SETTINGS_NONE && groups->n < GROUPS)
    groups->ids[groups->n++] = id;
}

static const char *copy_text(const Question *q, size_t from, size_t to)
{
  return arena_copy_text(q->a->arena, q->text + from, to - from);
}

/* The group of the builtin whose argument the struct is. */
static Groups groups_of_call(const Question *q, size_t brace)
{
  Groups groups = {.n = 0};
  size_t call = bracket_before(q, brace);
  size_t start = call == SIZE_MAX ? 0 : word_start(q, call);
  if (start == 0 || q->text[call] != '(' || q->text[start - 1] != '@')
    return groups;
  size_t first = call + 1, end = first;
  while (first < brace && isspace((unsigned char)q->text[first]))
    first++;
  for (end = first; end < brace && is_word_byte(q->text[end]);)
    end++;
  add_group(&groups, settings_of_call(copy_text(q, start, call), copy_text(q, first, end)));
  return groups;
}

/* The groups of the struct around the dot, which is the value of a field or an argument. */
static Groups groups_around(const Question *q, size_t dot)
{
  Groups groups = {.n = 0};
  size_t brace = struct_around(q, dot);
  if (brace == SIZE_MAX)
    return groups;
  size_t before = skip_space_back(q, brace - 1);
  if (before == 0 || q->text[before - 1] != '=')
    return groups_of_call(q, brace);
  size_t end = skip_space_back(q, before - 1), start = word_start(q, end);
  if (start == 0 || start == end || q->text[start - 1] != '.')
    return groups;
  Groups outer = groups_around(q, start - 1);
  const char *name = copy_text(q, start, end);
  for (size_t i = 0; i < outer.n; i++) {
    const SettingsGroup *group = settings_group(outer.ids[i]);
    for (size_t k = 0; k < group->n; k++)
      if (strcmp(group->rows[k].name, name) == 0)
        add_group(&groups, group->rows[k].part);
  }
  return groups;
}

/* The row of a field's name, in the first group that has it; NULL: none. */
static const SettingRow *setting_named(const Groups *groups, size_t n_groups, const char *name,
                                       const SettingsGroup **of)
{
  for (size_t i = 0; i < n_groups; i++) {
    *of = settings_group(groups->ids[i]);
    for (size_t k = 0; k < (*of)->n; k++)
      if (strcmp((*of)->rows[k].name, name) == 0)
        return &(*of)->rows[k];
  }
  return NULL;
}

static void add_settings(const Groups *groups, json_t *items)
{
  const SettingsGroup *of;
  for (size_t i = 0; i < groups->n; i++) {
    const SettingsGroup *group = settings_group(groups->ids[i]);
    for (size_t k = 0; k < group->n; k++) {
      const SettingRow *row = &group->rows[k];
      if (setting_named(groups, groups->n, row->name, &of) == row)
        json_array_append_new(items, completion_item(row->name, ITEM_FIELD, row->form, row->text));
    }
  }
}

/* ---- the answers ----------------------------------------------------------------------------- */

json_t *complete_fields(const Question *q, size_t dot)
{
  json_t *items = json_array();
  size_t brace = struct_around(q, dot);
  const Ast *file = brace == SIZE_MAX ? NULL : file_of_struct(q, brace);
  if (file) {
    add_parameters(q, file, items);
  } else {
    Groups groups = groups_around(q, dot);
    add_settings(&groups, items);
  }
  return items;
}

const char *setting_text(const Question *q, size_t dot, const char *name)
{
  const SettingsGroup *of;
  Groups groups = groups_around(q, dot);
  const SettingRow *row = setting_named(&groups, groups.n, name, &of);
  return row ? arena_printf(q->a->arena, "```csl\n.%s = %s\n```\n\n%s\n\nfield of: %s", row->name,
                            row->form, row->text, of->what) : NULL;
}
