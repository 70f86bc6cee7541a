/* Fast engine: the threads of the workers.  They meet at a barrier at the start of a block, between
 * its halves and at its end; a waiting worker spins for a moment and then sleeps. */
#include "emu/fast/step.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPINS = 2000 };          /* some ten microseconds */

typedef struct FastCrew {
  _Alignas(64) atomic_uint turn;       /* counts the times that all have met */
  _Alignas(64) atomic_uint arrived;
  atomic_uint sleepers;
  unsigned members, spins;
  bool over;
  pthread_t *threads;           /* of all workers but the first */
} FastCrew;

static void sleep_while(atomic_uint *word, unsigned value)
{
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake_all(atomic_uint *word)
{
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/* Waits until all members have come. */
static void meet(FastCrew *crew)
{
  unsigned turn = atomic_load(&crew->turn);
  if (atomic_fetch_add(&crew->arrived, 1) + 1 == crew->members) {
    atomic_store(&crew->arrived, 0);
    atomic_store(&crew->turn, turn + 1);
    if (atomic_load(&crew->sleepers))
      wake_all(&crew->turn);
    return;
  }
  for (unsigned i = 0; i < crew->spins; i++) {
    if (atomic_load(&crew->turn) != turn)
      return;
    relax();
  }
  atomic_fetch_add(&crew->sleepers, 1);
  while (atomic_load(&crew->turn) == turn)
    sleep_while(&crew->turn, turn);
  atomic_fetch_sub(&crew->sleepers, 1);
}

static void half_cycles(FastWorker *worker, FastCrew *crew)
{
  worker->engine->step->visit(worker, HALF_INNER);
  meet(crew);
  worker->engine->step->visit(worker, HALF_BORDERS);
  meet(crew);
}

static void *work(void *argument)
{
  FastWorker *worker = argument;
  FastCrew *crew = worker->engine->crew;
  for (;;) {
    meet(crew);
    if (crew->over)
      return NULL;
    half_cycles(worker, crew);
  }
}

static FastCrew *crew_create(FastEngine *e)
{
  FastCrew *crew = aligned_alloc(_Alignof(FastCrew), sizeof *crew);
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (!crew)
    base_out_of_memory(sizeof *crew, "threads");
  memset(crew, 0, sizeof *crew);
  crew->members = e->n_workers;
  crew->spins = cores > 0 && (unsigned long)cores >= e->n_workers ? SPINS : 1;
  crew->threads = base_malloc(e->n_workers * sizeof *crew->threads);
  e->crew = crew;
  for (unsigned i = 1; i < e->n_workers; i++)
    if (pthread_create(&crew->threads[i], NULL, work, &e->workers[i]) != 0)
      ICE("a thread cannot be started");
  return crew;
}

void fast_crew_block(FastEngine *e)
{
  FastCrew *crew = e->crew ? e->crew : crew_create(e);
  meet(crew);
  half_cycles(&e->workers[0], crew);
}

void fast_crew_destroy(FastEngine *e)
{
  if (!e->crew)
    return;
  e->crew->over = true;
  meet(e->crew);
  for (unsigned i = 1; i < e->n_workers; i++)
    pthread_join(e->crew->threads[i], NULL);
  free(e->crew->threads);
  free(e->crew);
}
