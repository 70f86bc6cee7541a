/* Fast engine: the threads of the workers.  They meet at a barrier at the start of a block, between
 * its halves and at its end; a waiting worker spins for a moment and then sleeps. */
#include "emu/fast/step.h"
#include "ir/base/platform.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SPINS = 2000 };          /* some ten microseconds */

typedef struct FastCrew {
  _Alignas(64) atomic_uint turn;       /* counts the times that all have met */
  _Alignas(64) atomic_uint arrived;
  atomic_uint sleepers;
  unsigned members, spins;
  bool over;
  PlatformThread **threads;    /* of all workers but the first */
} FastCrew;

/* Waits until all members have come. */
static void meet(FastCrew *crew)
{
  unsigned turn = atomic_load(&crew->turn);
  if (atomic_fetch_add(&crew->arrived, 1) + 1 == crew->members) {
    atomic_store(&crew->arrived, 0);
    atomic_store(&crew->turn, turn + 1);
    if (atomic_load(&crew->sleepers))
      platform_wake_all(&crew->turn);
    return;
  }
  for (unsigned i = 0; i < crew->spins; i++) {
    if (atomic_load(&crew->turn) != turn)
      return;
    platform_relax();
  }
  atomic_fetch_add(&crew->sleepers, 1);
  while (atomic_load(&crew->turn) == turn)
    platform_sleep_while(&crew->turn, turn);
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
  if (!crew)
    base_out_of_memory(sizeof *crew, "threads");
  memset(crew, 0, sizeof *crew);
  crew->members = e->n_workers;
  crew->spins = platform_core_count() >= e->n_workers ? SPINS : 1;
  crew->threads = base_malloc(e->n_workers * sizeof *crew->threads);
  e->crew = crew;
  for (unsigned i = 1; i < e->n_workers; i++)
    if (!(crew->threads[i] = platform_start_thread(work, &e->workers[i])))
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
    platform_join_thread(e->crew->threads[i]);
  free(e->crew->threads);
  free(e->crew);
}
