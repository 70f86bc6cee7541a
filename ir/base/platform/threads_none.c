/* A system with one thread: there is no other to wait for. */
#include "ir/base/base.h"
#include "ir/base/platform.h"

unsigned platform_core_count(void) { return 1; }

unsigned platform_most_threads(void) { return 1; }

PlatformThread *platform_start_thread(void *(*run)(void *argument), void *argument)
{
  (void)run, (void)argument;
  return NULL;
}

void platform_join_thread(PlatformThread *thread)
{
  (void)thread;
  ICE("there is no such thread");
}

void platform_relax(void) {}

void platform_sleep_while(atomic_uint *word, unsigned value)
{
  if (atomic_load(word) == value)
    ICE("the only thread waits for another");
}

void platform_wake_all(atomic_uint *word) { (void)word; }
