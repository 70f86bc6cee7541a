/* The engines by name, in a file of their own, so that a program with one engine need not link the
 * other. */
#include "emu/fast/fast.h"
#include "emu/host/host.h"
#include "emu/reference/reference.h"

#include <string.h>

const EngineOps *engine_from_name(const char *name)
{
  static const EngineOps *const engines[] = {&engine_reference, &engine_fast};
  for (size_t i = 0; i < ARRAY_COUNT(engines); i++)
    if (strcmp(engines[i]->name, name) == 0)
      return engines[i];
  return NULL;
}
