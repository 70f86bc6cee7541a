/* How many random programs, or other random cases, a test runs. */
#ifndef RANDOM_SHARE_H
#define RANDOM_SHARE_H

#include "ir/base/base.h"

#include <stdlib.h>

/* As many as the environment variable `name` asks for, or the usual number; of that, a sanitized
 * build, ten times as slow, runs a share: tests/run.sh runs the release build of such tests, too. */
static inline uint32_t programs_to_run(const char *name, uint32_t usual)
{
  enum { SHARE = 10 };
  const char *text = getenv(name);
  if (text)
    return (uint32_t)strtoul(text, NULL, 0);
  return BASE_IS_SANITIZED ? usual / SHARE : usual;
}

#endif
