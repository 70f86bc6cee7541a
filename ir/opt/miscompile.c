/* Which seeded miscompile the test build has switched on. */
#include "ir/opt/miscompile.h"

#ifdef WSE_MISCOMPILE
#include <stdlib.h>
#include <string.h>

bool opt_miscompiles(Miscompile which)
{
  static const char *const names[] = {
#define MISCOMPILE(name, text) #name,
#include "ir/opt/miscompile.def"
  };
  const char *chosen = getenv("WSE_MISCOMPILE");
  return chosen && strcmp(chosen, names[which]) == 0;
}
#endif
