/* Seeded miscompiles (miscompile.def): constant false but in the test build WSE_MISCOMPILE. */
#ifndef MISCOMPILE_H
#define MISCOMPILE_H

#include <stdbool.h>

typedef enum {
#define MISCOMPILE(name, text) MISCOMPILE_##name,
#include "ir/opt/miscompile.def"
  MISCOMPILE_COUNT
} Miscompile;

/* Is that one switched on?  In the test build the environment variable WSE_MISCOMPILE names it. */
#ifdef WSE_MISCOMPILE
bool opt_miscompiles(Miscompile which);
#else
static inline bool opt_miscompiles(Miscompile which)
{
  (void)which;
  return false;
}
#endif

#endif
