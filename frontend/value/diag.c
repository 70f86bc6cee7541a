/* The front end's diagnostics: one typed function per row of diag.def. */
#include "frontend/value/value.h"

#include <string.h>

enum { DIGITS_SHOWN = 80 };

/* Types in quotes, values as CSL writes them; what is in error silences the message. */
static DiagArg box_pool(Diags *diags, PoolId id)
{
  Pool *pool = diags_context(diags);
  Arena *scratch = diags_scratch(diags);
  bool is_type = pool_eq(pool_type_of(pool, id), POOL(TYPE));
  const char *text = is_type ? arena_printf(scratch, "'%s'", type_text(pool, scratch, id))
                             : value_text(pool, scratch, id);
  size_t length = strlen(text);
  if (pool_kind(pool, id) == PK_INT && length > DIGITS_SHOWN)
    text = arena_printf(scratch, "a number of %zu digits", length - (text[0] == '-'));
  if (pool_kind(pool, id) == PK_STRING)
    text = arena_printf(scratch, "\"%s\"", text);
  bool is_bad = pool_eq(id, POOL(POISON)) ||
                (is_type && strstr(text, type_text(pool, scratch, POOL(POISON_TYPE))));
  return is_bad ? diag_arg_poison(text) : diag_arg_text(text);
}

#define DIAG_DEF "frontend/diag.def"
#define DIAG_DEFINE
#define DIAG_BOX_OWN PoolId: box_pool,
#include "ir/base/diag_rows.h"
