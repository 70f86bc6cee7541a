/* Fast engine: the threads of the workers.  They meet at a barrier at the start of a block, between
 * its halves and at its end. */
#include "emu/fast/step.h"
#include "ir/base/platform.h"

#include <stdlib.h>
#include <string.h>

typedef struct FastCrew {
  Meeting meeting;
  bool over;
  PlatformThread **threads;    /* of all workers but the first */
} FastCrew;

static void half_cycles(FastWorker *worker, FastCrew *crew)
{
  worker->engine->step->visit(worker, HALF_INNER);
  meeting_join(&crew->meeting);
  worker->engine->step->visit(worker, HALF_BORDERS);
  meeting_join(&crew->meeting);
}

static void *work(void *argument)
{
  FastWorker *worker = argument;
  FastCrew *crew = worker->engine->crew;
  for (;;) {
    meeting_join(&crew->meeting);
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
  meeting_init(&crew->meeting, e->n_workers);
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
  meeting_join(&crew->meeting);
  half_cycles(&e->workers[0], crew);
}

void fast_crew_destroy(FastEngine *e)
{
  if (!e->crew)
    return;
  e->crew->over = true;
  meeting_join(&e->crew->meeting);
  for (unsigned i = 1; i < e->n_workers; i++)
    platform_join_thread(e->crew->threads[i]);
  free(e->crew->threads);
  free(e->crew);
}
