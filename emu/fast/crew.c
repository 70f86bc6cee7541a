/* Fast engine: the threads of the workers.  They meet at a barrier at the start of a block, between
 * its halves and at its end.
 *
 * How long they wait there depends on the machine and on how evenly the work is spread.  So for
 * short blocks the engine tries now and then whether the crew is faster than one thread, by so much
 * that it is worth the other processors. */
#include "emu/fast/step.h"
#include "ir/base/platform.h"

#include <stdlib.h>
#include <string.h>

/* Blocks of a trial: some with one thread, some with all of them, and so on, of which the first one
 * has to wake sleepers and does not count; then those that its result is good for. */
enum { TRIAL_TURN = 16, TRIAL_BLOCKS = 4 * TRIAL_TURN, TRIAL_GOOD_FOR = 1024 };
static const double most_of_one = 0.75;     /* time of the crew by that of one thread */
enum { CREW_SURE = 8192 };      /* visits in a block that takes far longer than the meetings */

typedef struct {
  unsigned blocks;              /* since it began */
  bool together;                /* its result, and of the one before while it lasts */
  double seconds[2], visits[2]; /* of one thread, of the crew */
} FastTrial;

typedef struct FastCrew {
  FastTrial trial;
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

static void run_together(FastEngine *e)
{
  meeting_join(&e->crew->meeting);
  half_cycles(&e->workers[0], e->crew);
}

/* The block, with its time. */
static void run_trial(FastEngine *e, FastTrial *trial)
{
  bool together = trial->blocks / TRIAL_TURN % 2, counts = trial->blocks % TRIAL_TURN != 0;
  double start = base_seconds();
  if (together)
    run_together(e);
  else
    e->step->visit(&e->workers[0], HALF_ALL);
  trial->seconds[together] += counts ? base_seconds() - start : 0;
  for (unsigned k = 0; counts && k < e->n_workers; k++)
    trial->visits[together] += e->workers[k].visits;
  if (trial->blocks == TRIAL_BLOCKS - 1)
    trial->together = trial->seconds[1] * trial->visits[0] <
                      most_of_one * trial->seconds[0] * trial->visits[1];
}

void fast_crew_block(FastEngine *e)
{
  FastCrew *crew = e->crew ? e->crew : crew_create(e);
  FastTrial *trial = &crew->trial;
  bool must = e->base.options.peers || e->base.options.shuffle || e->block > 1 ||
              e->visits >= CREW_SURE;
  if (trial->blocks == TRIAL_GOOD_FOR)
    *trial = (FastTrial){.together = trial->together};
  if (!must && trial->blocks < TRIAL_BLOCKS)
    run_trial(e, trial);
  else if (must || trial->together)
    run_together(e);
  else
    e->step->visit(&e->workers[0], HALF_ALL);
  trial->blocks++;
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
