/* Interned strings: one hash map from bytes to index, texts in an arena that never moves. */
#include "ir/base/base.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <stb_ds.h>
#include <uthash.h>

typedef struct {
  UT_hash_handle hh;
  const char *text;
  size_t length;
  uint32_t raw;
} StrEntry;

struct StrTable {
  Arena *arena;
  StrEntry *by_text;         /* uthash */
  StrEntry **by_id;          /* stb_ds array; [0] is the empty string */
};

static uint32_t add_entry(StrTable *table, const char *text, size_t length)
{
  StrEntry *entry = arena_new(table->arena, StrEntry);
  entry->text = arena_copy_text(table->arena, text, length);
  entry->length = length;
  entry->raw = (uint32_t)arrlenu(table->by_id);
  arrput(table->by_id, entry);
  if (length)
    HASH_ADD_KEYPTR(hh, table->by_text, entry->text, entry->length, entry);
  return entry->raw;
}

StrTable *strtable_create(void)
{
  StrTable *table = base_malloc(sizeof *table);
  *table = (StrTable){.arena = arena_create("strings")};
  add_entry(table, "", 0);
  return table;
}

void strtable_destroy(StrTable *table)
{
  if (!table)
    return;
  HASH_CLEAR(hh, table->by_text);
  arrfree(table->by_id);
  arena_destroy(table->arena);
  free(table);
}

StrId str_intern(StrTable *table, const char *text, size_t length)
{
  if (length == 0)
    return STR_NONE;
  if (length > UINT32_MAX / 2)
    ICE("a string of %zu bytes cannot be interned", length);
  StrEntry *found;
  HASH_FIND(hh, table->by_text, text, length, found);
  return (StrId){found ? found->raw : add_entry(table, text, length)};
}

StrId str_intern_z(StrTable *table, const char *text)
{
  return str_intern(table, text, strlen(text));
}

static const StrEntry *entry_of(const StrTable *table, StrId id)
{
  if (id.raw >= arrlenu(table->by_id))
    ICE("string id %u is not of this table", id.raw);
  return table->by_id[id.raw];
}

const char *str_text(const StrTable *table, StrId id)
{
  return entry_of(table, id)->text;
}

size_t str_length(const StrTable *table, StrId id)
{
  return entry_of(table, id)->length;
}

/* ---- nearest name -------------------------------------------------------------------- */

enum { LONGEST_NAME = 64 };   /* longer names get no suggestion */

static unsigned least_of(unsigned a, unsigned b)
{
  return a < b ? a : b;
}

/* Edits (insert, delete, replace, swap of neighbours) that turn a into b. */
static unsigned edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
  unsigned rows[3][LONGEST_NAME + 1];
  for (size_t j = 0; j <= nb; j++)
    rows[0][j] = (unsigned)j;
  for (size_t i = 1; i <= na; i++) {
    unsigned *row = rows[i % 3];
    const unsigned *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
    row[0] = (unsigned)i;
    for (size_t j = 1; j <= nb; j++) {
      row[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = least_of(row[j], least_of(above[j], row[j - 1]) + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = least_of(row[j], above2[j - 2] + 1);
    }
  }
  return rows[na % 3][nb];
}

/* A candidate that goes on with another word. */
static const char *longer_name(const char *wanted, const char *const *candidates, size_t count)
{
  size_t length = strlen(wanted);
  for (size_t i = 0; i < count; i++)
    if (strncmp(wanted, candidates[i], length) == 0 && candidates[i][length] == '_')
      return candidates[i];
  return NULL;
}

const char *base_nearest(const char *wanted, const char *const *candidates, size_t count)
{
  size_t length = strlen(wanted);
  if (length < 2 || length > LONGEST_NAME)
    return NULL;
  /* A third of the letters may be wrong: below that, suggestions are mostly noise. */
  unsigned best = (unsigned)(length < 3 ? 1 : length / 3) + 1;
  const char *found = NULL;
  for (size_t i = 0; i < count; i++) {
    size_t n = strlen(candidates[i]);
    size_t apart = n > length ? n - length : length - n;
    if (n == 0 || n > LONGEST_NAME || apart >= best)
      continue;
    if (strcasecmp(wanted, candidates[i]) == 0 && strcmp(wanted, candidates[i]) != 0)
      return candidates[i];
    unsigned distance = edit_distance(wanted, length, candidates[i], n);
    if (distance < best && distance > 0) {
      best = distance;
      found = candidates[i];
    }
  }
  /* print_u16 lacks its last word rather than being print_f16 with a wrong letter. */
  const char *longer = strchr(wanted, '_') ? longer_name(wanted, candidates, count) : NULL;
  return longer ? longer : found;
}
