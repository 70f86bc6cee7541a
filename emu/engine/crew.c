/* Threads that share pieces of work: each does one piece after the other; all meet at the end. */
#include "emu/engine/engine.h"
#include "ir/base/platform.h"

#include <stdlib.h>
#include <string.h>

#include "stb_ds.h"

struct WorkCrew {
  Meeting meeting;
  atomic_size_t next;           /* the next piece that no thread has taken */
  size_t n;                     /* pieces */
  bool over;
  void (*piece)(void *context, size_t number);
  void *context;
  PlatformThread **threads;     /* stb_ds: all but the caller's */
};

static void do_some(WorkCrew *crew)
{
  for (size_t i; (i = atomic_fetch_add(&crew->next, 1)) < crew->n;)
    crew->piece(crew->context, i);
}

static void *work(void *argument)
{
  WorkCrew *crew = argument;
  for (;;) {
    meeting_join(&crew->meeting);
    if (crew->over)
      return NULL;
    do_some(crew);
    meeting_join(&crew->meeting);
  }
}

WorkCrew *work_crew_create(unsigned members, void (*piece)(void *context, size_t number),
                           void *context)
{
  WorkCrew *crew = aligned_alloc(_Alignof(WorkCrew), sizeof *crew);
  if (!crew)
    base_out_of_memory(sizeof *crew, "threads");
  memset(crew, 0, sizeof *crew);
  crew->piece = piece;
  crew->context = context;
  meeting_init(&crew->meeting, members);
  for (unsigned i = 1; i < members; i++) {
    PlatformThread *thread = platform_start_thread(work, crew);
    if (!thread)
      ICE("a thread cannot be started");
    arrput(crew->threads, thread);
  }
  return crew;
}

void work_crew_run(WorkCrew *crew, size_t n)
{
  crew->n = n;
  atomic_store(&crew->next, 0);
  meeting_join(&crew->meeting);
  do_some(crew);
  meeting_join(&crew->meeting);
}

void work_crew_destroy(WorkCrew *crew)
{
  if (!crew)
    return;
  crew->over = true;
  meeting_join(&crew->meeting);
  for (size_t i = 0; i < arrlenu(crew->threads); i++)
    platform_join_thread(crew->threads[i]);
  arrfree(crew->threads);
  free(crew);
}
