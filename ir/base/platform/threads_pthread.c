/* Threads of POSIX. */
#include "ir/base/base.h"
#include "ir/base/platform.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct PlatformThread { pthread_t handle; };

unsigned platform_core_count(void)
{
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores > 0 ? (unsigned)cores : 1;
}

unsigned platform_most_threads(void) { return UINT_MAX; }

PlatformThread *platform_start_thread(void *(*run)(void *argument), void *argument)
{
  PlatformThread *thread = base_malloc(sizeof *thread);
  if (pthread_create(&thread->handle, NULL, run, argument) == 0)
    return thread;
  free(thread);
  return NULL;
}

void platform_join_thread(PlatformThread *thread)
{
  pthread_join(thread->handle, NULL);
  free(thread);
}

void platform_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}
