/* What the files of frontend/value offer each other alone. */
#ifndef FRONTEND_VALUE_INTERNAL_H
#define FRONTEND_VALUE_INTERNAL_H

#include "frontend/value/value.h"

/* ---- pool.c: types and comptime values, interned -------------------------------------------- */

/* The names that the pool was created with. */
StrTable *pool_names(const Pool *pool);

/* ---- type.c --------------------------------------------------------------------------------- */

/* Has the printer written more than `most` bytes?  Then the rest is not shown. */
bool text_is_full(FILE *out, long most);
/* A copy of the text; of one that is longer than `most` bytes these, and " ...". */
const char *text_cut(Arena *arena, const char *text, size_t length, size_t most);

#endif
