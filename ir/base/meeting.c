/* A place where threads wait for each other: each spins for a moment and then sleeps. */
#include "ir/base/platform.h"

enum { SPINS = 2000 };          /* some ten microseconds */

void meeting_init(Meeting *m, unsigned members)
{
  atomic_init(&m->turn, 0);
  atomic_init(&m->arrived, 0);
  atomic_init(&m->sleepers, 0);
  m->members = members;
  m->spins = platform_core_count() >= members ? SPINS : 1;
}

void meeting_join(Meeting *m)
{
  unsigned turn = atomic_load(&m->turn);
  if (atomic_fetch_add(&m->arrived, 1) + 1 == m->members) {
    atomic_store(&m->arrived, 0);
    atomic_store(&m->turn, turn + 1);
    if (atomic_load(&m->sleepers))
      platform_wake_all(&m->turn);
    return;
  }
  for (unsigned i = 0; i < m->spins; i++) {
    if (atomic_load(&m->turn) != turn)
      return;
    platform_relax();
  }
  atomic_fetch_add(&m->sleepers, 1);
  while (atomic_load(&m->turn) == turn)
    platform_sleep_while(&m->turn, turn);
  atomic_fetch_sub(&m->sleepers, 1);
}
