/* The builtins of the language: the rows of builtins.def with their handlers in the rooms below,
 * and the written form of each. */
#include "frontend/driver/driver.h"
#include "frontend/sema/builtins.h"

#include <string.h>

enum { ANY = 1 << ARCH_WSE2 | 1 << ARCH_WSE3, WSE2 = 1 << ARCH_WSE2, WSE3 = 1 << ARCH_WSE3 };

static const BuiltinRow rows[] = {
#define BUILTIN(name, least, most, where, archs, handler) \
  {#name, NULL, least, most, where, archs, builtin_##handler},
#include "frontend/builtins.def"
};

static const struct { const char *name, *form; } usages[] = {
#define USAGE(name, form) {#name, "@" #name form},
#include "frontend/builtin_usage.def"
};

/* The search begins at `*next`, behind the last one found: both tables have the same order. */
static const char *usage_of(const char *name, size_t *next)
{
  for (size_t i = 0; i < ARRAY_COUNT(usages); i++) {
    size_t at = (*next + i) % ARRAY_COUNT(usages);
    if (strcmp(usages[at].name, name) != 0)
      continue;
    *next = at + 1;
    return usages[at].form;
  }
  return NULL;
}

const BuiltinTable *builtin_table_create(Arena *arena, StrTable *names)
{
  uint32_t most = 0;
  size_t next_usage = 0;
  StrId ids[ARRAY_COUNT(rows)];
  BuiltinRow *copy = arena_many(arena, BuiltinRow, ARRAY_COUNT(rows));
  for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
    copy[i] = rows[i];
    copy[i].usage = usage_of(rows[i].name, &next_usage);
    ids[i] = str_intern_z(names, rows[i].name);
    most = ids[i].raw > most ? ids[i].raw : most;
  }
  uint16_t *row_of = arena_many(arena, uint16_t, most + 1);
  for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
    row_of[ids[i].raw] = (uint16_t)(i + 1);
  BuiltinTable *table = arena_new(arena, BuiltinTable);
  *table = (BuiltinTable){sema_tensor_access, setup_stored_desc, copy, ARRAY_COUNT(rows),
                           row_of, most + 1};
  return table;
}
