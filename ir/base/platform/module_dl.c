/* Modules by the dynamic linker. */
#include "ir/base/platform.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of the program or library that this code is in. */
static bool own_folder(char *folder, size_t size)
{
  Dl_info info;
  char path[PATH_MAX];
  bool known = dladdr((void *)(uintptr_t)&platform_module_symbol, &info) && info.dli_fname &&
               strchr(info.dli_fname, '/') && realpath(info.dli_fname, path);
  if (!known && !platform_program_path(path, sizeof path))
    return false;
  return (size_t)snprintf(folder, size, "%s", dirname(path)) < size;
}

void *platform_module_symbol(const char *file, const char *name)
{
  static const char *const places[] = {".", "../lib", "../lib/wse"};
  char folder[PATH_MAX], path[2 * PATH_MAX];
  if (!own_folder(folder, sizeof folder))
    return NULL;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    snprintf(path, sizeof path, "%s/%s/%s", folder, places[i], file);
    void *module = access(path, R_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (module)
      return dlsym(module, name);
  }
  return NULL;
}
