/* Waiting by the futex of Linux. */
#include "ir/base/platform.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

void platform_sleep_while(atomic_uint *word, unsigned value)
{
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void platform_wake_all(atomic_uint *word)
{
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
