/* The threads of a cluster: each runs one wafer after the other through the block, and all meet at
 * its end. */
#include "emu/cluster/cluster_internal.h"
#include "ir/base/platform.h"

#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

struct ClusterCrew {
  Meeting meeting;
  atomic_size_t next;           /* the next wafer that no thread has taken */
  bool over;
  Cluster *cluster;
  PlatformThread **threads;     /* stb_ds: all but the caller's */
};

static void run_some(ClusterCrew *crew)
{
  size_t n = arrlenu(crew->cluster->plan->wafers);
  for (size_t i; (i = atomic_fetch_add(&crew->next, 1)) < n;)
    cluster_run_fabric(crew->cluster, i);
}

static void *work(void *argument)
{
  ClusterCrew *crew = argument;
  for (;;) {
    meeting_join(&crew->meeting);
    if (crew->over)
      return NULL;
    run_some(crew);
    meeting_join(&crew->meeting);
  }
}

ClusterCrew *cluster_crew_create(Cluster *cluster, unsigned members)
{
  ClusterCrew *crew = aligned_alloc(_Alignof(ClusterCrew), sizeof *crew);
  if (!crew)
    base_out_of_memory(sizeof *crew, "threads");
  memset(crew, 0, sizeof *crew);
  crew->cluster = cluster;
  meeting_init(&crew->meeting, members);
  for (unsigned i = 1; i < members; i++) {
    PlatformThread *thread = platform_start_thread(work, crew);
    if (!thread)
      ICE("a thread cannot be started");
    arrput(crew->threads, thread);
  }
  return crew;
}

void cluster_crew_block(ClusterCrew *crew)
{
  atomic_store(&crew->next, 0);
  meeting_join(&crew->meeting);
  run_some(crew);
  meeting_join(&crew->meeting);
}

void cluster_crew_destroy(ClusterCrew *crew)
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
