/* The stack of a POSIX process. */
#include "ir/base/platform.h"

#include <sys/resource.h>

/* The stack grows down, as far as the limit says when it grows; so the limit is raised first. */
uintptr_t platform_stack_end(void)
{
  enum { STACK_MOST = 64 << 20 };
  struct rlimit limit;
  char here;
  rlim_t size = STACK_MOST;
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < size) {
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max < size ? limit.rlim_max : size;
    size = setrlimit(RLIMIT_STACK, &limit) == 0 ? limit.rlim_cur : before;
  }
  return (uintptr_t)&here - (uintptr_t)(size - size / 4);
}
