/* Modules where a program is one file. */
#include "ir/base/platform.h"

void *platform_module_symbol(const char *file, const char *name)
{
  (void)file, (void)name;
  return NULL;
}
