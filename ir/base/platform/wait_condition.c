/* Waiting by POSIX alone: one condition for all words, as wakes are rare. */
#include "ir/base/platform.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void platform_sleep_while(atomic_uint *word, unsigned value)
{
  pthread_mutex_lock(&lock);
  if (atomic_load(word) == value)
    pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

void platform_wake_all(atomic_uint *word)
{
  (void)word;
  pthread_mutex_lock(&lock);     /* no waiter is between its question and its sleep */
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}
