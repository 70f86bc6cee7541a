/* emu/cluster: several wafers as one run.
 *
 * A cluster file names wafers with their images and the links between them (docs/cluster.md).
 * Each wafer has an engine of its own, whose gates (emu/engine, links) are the ends of the links.
 * What happens in one wafer can matter in another one only after the latency of a link; so all
 * engines run a block of as many cycles as the shortest latency, each by itself, and then the words
 * and credits of the block pass from gate to gate.  The length of the blocks changes no result, and
 * neither does the process or the thread that runs a wafer.
 *
 * Reading order: file (reading and checking), topology, group (gates, the run), state (statistics
 * and what waits in links).
 */
#ifndef EMU_CLUSTER_H
#define EMU_CLUSTER_H

#include "emu/engine/engine.h"

#include <jansson.h>

/* ---- file.c, topology.c ---------------------------------------------------------------------- */

typedef struct { const char *name, *image; } ClusterWafer;
/* A side of a wafer, and the row (at its east and west edges) or column of the tile there. */
typedef struct { unsigned wafer; Port edge; uint32_t at; } ClusterEnd;
/* A color at either end; words go from `from` to the other end. */
typedef struct { uint8_t colors[2]; unsigned from; uint32_t credits; } ClusterChannel;
typedef struct {
  const char *name;
  ClusterEnd ends[2];
  uint64_t latency;             /* cycles */
  uint32_t rate_num, rate_den;  /* words per cycle and direction */
  ClusterChannel *channels;     /* stb_ds */
} ClusterLink;
typedef struct {
  ClusterWafer *wafers;         /* stb_ds */
  ClusterLink *links;           /* stb_ds */
} ClusterPlan;

/* Reads a cluster file; texts live in `arena`.  False with *why: the place in the file, the fault
 * and what would be right. */
bool cluster_read(const char *path, Arena *arena, ClusterPlan *plan, const char **why);
void cluster_plan_free(ClusterPlan *plan);
/* What the wafers' names and the links are known by. */
uint32_t cluster_plan_mark(const ClusterPlan *plan);
/* The number of the wafer with a name of so many characters; -1: there is none. */
int cluster_find(const ClusterPlan *plan, const char *name, size_t length);
/* Text for a name that no wafer has: some names that they do have. */
const char *cluster_no_wafer(const ClusterPlan *plan, const char *name, Arena *arena);

/* ---- group.c --------------------------------------------------------------------------------- */

typedef struct Cluster Cluster;
/* A place in a cluster, of a session. */
typedef struct { Cluster *cluster; unsigned wafer; } ClusterMember;

/* The plan must outlive the cluster.  The wafers are dealt out to the processes in order; those of
 * a process run on so many threads, at most one per wafer. */
Cluster *cluster_create(const ClusterPlan *plan, unsigned threads, const EngineHomes *homes);
void cluster_destroy(Cluster *cluster);
/* The process that runs the wafer, and how many wafers it runs. */
unsigned cluster_process(ClusterMember member);
unsigned cluster_sharers(ClusterMember member);
/* The gates of the wafer, for the options of its engine.  NULL with *why (in `arena`): a link ends
 * at no tile of the program, or at a router that does not know its color, or another wafer's
 * program is for another machine. */
EngineLinks *cluster_gates(ClusterMember member, const Program *program, Arena *arena,
                           const char **why);
void cluster_join(ClusterMember member, Engine *engine);
/* A run, or the next part of one. */
typedef struct {
  uint64_t begun;               /* cycle; if nothing happens any more, the run ends there */
  uint64_t part;                /* the part ends with the block in which this cycle is reached */
  uint64_t limit;               /* the run ends there at the latest */
} ClusterStretch;
/* Runs all wafers until the end of the stretch or until all are quiet; the status is that of the
 * member.  Between blocks the pulses of the engines' options look at them.
 * Afterwards all are at the same cycle, but those that a finding has ended. */
RunStatus cluster_run(ClusterMember member, ClusterStretch stretch);
const char *cluster_wafer_name(ClusterMember member);
/* That cluster_run has taken so far. */
double cluster_seconds(ClusterMember member);
/* What the member's host waits for while the wafers run, for pulses; the text outlives the run. */
void cluster_note_action(ClusterMember member, const char *action);
/* The last one noted, with the wafer's name; NULL: none. */
const char *cluster_action(const Cluster *cluster, const char **wafer);
/* All wafers have states of this cycle. */
void cluster_resume(Cluster *cluster, uint64_t cycle);
/* The first cycle that has not run yet, and what all wafers together have done before it. */
uint64_t cluster_cycle(const Cluster *cluster);
uint64_t cluster_active_tile_cycles(const Cluster *cluster);
/* A finding has ended the wafer's run. */
bool cluster_has_stopped(ClusterMember member);
/* The first wafer whose run a finding has ended; NULL: none. */
const char *cluster_stopped_wafer(const Cluster *cluster);
/* The member's run has ended with an error, if no finding in another wafer has ended it; `why`, a
 * word or two, outlives the cluster.  The first counts. */
void cluster_note_end(ClusterMember member, const char *why);
/* How the run of another wafer has ended with an error; `why` NULL: none has. */
typedef struct { const char *why, *wafer; uint64_t cycle; } ClusterWaferEnd;
ClusterWaferEnd cluster_end_elsewhere(ClusterMember member);

/* ---- state.c --------------------------------------------------------------------------------- */

/* Per link, by name: words, their time and the share of the link's rate, of both directions. */
json_t *cluster_links_json(const Cluster *cluster);
/* On a quiet cluster, a line, with `before` in front, for each channel in which words wait.  False:
 * there is none. */
bool cluster_report_links(const Cluster *cluster, const char *before, FILE *out);

#endif
