/* The cluster's own header. Only emu/cluster includes it. */
#ifndef CLUSTER_INTERNAL_H
#define CLUSTER_INTERNAL_H

#include "emu/cluster/cluster.h"

/* ---- file.c ---------------------------------------------------------------------------------- */

/* Where reading stands, and what is wrong: the first mistake ends it. */
typedef struct {
  Arena *arena;
  const char *path;             /* of the file */
  const char *why;              /* NULL: nothing is wrong so far */
  ClusterPlan *plan;
} ClusterReader;

enum {
  MOST_WAFERS = 4096, MOST_LINKS = 1 << 16, MOST_LATENCY = 1 << 24, MOST_CREDITS = 1 << 26,
  MOST_BLOCK = 1 << 12,         /* cycles: an interruption and a look wait no longer */
  RATE_UNITS = 1000,            /* words per cycle are kept in thousandths */
};

/* Notes a mistake at a place in the file; returns false. */
bool cluster_wrong(ClusterReader *reader, const char *place, const char *format, ...)
    BASE_PRINTF(3, 4);
/* Only the given keys may stand in the object; `value` must be one. */
bool cluster_check_keys(ClusterReader *reader, const json_t *value, const char *place,
                        const char *const *keys, size_t n_keys);
/* A text of an object by key.  False: it is missing or of another kind. */
bool cluster_get_text(ClusterReader *reader, const json_t *object, const char *place,
                      const char *key, const char **value);
/* What links and topologies have in common: latency, words_per_cycle, and channels under a key. */
bool cluster_get_wire(ClusterReader *reader, const json_t *object, const char *place,
                      const char *channels_key, ClusterLink *link);
void cluster_add_wafer(ClusterReader *reader, const char *name, const char *image);

/* ---- topology.c ------------------------------------------------------------------------------ */

bool cluster_read_topology(ClusterReader *reader, const json_t *topology);

/* ---- group.c, file.c --------------------------------------------------------------------- */

typedef struct {
  const Program *program;       /* NULL: not opened */
  Engine *engine;
  EngineLinks links;
  RunStatus status;             /* of the last block */
  uint64_t look;                /* cycle from which the pulse of its engine looks again */
} ClusterFabric;

struct Cluster {
  const ClusterPlan *plan;
  ClusterFabric *fabrics;       /* by wafer */
  uint64_t now, lookahead;      /* the next cycle; most cycles of a block */
  uint64_t end;                 /* of the block that runs */
  EngineHomes homes;
  unsigned *here;               /* stb_ds: wafers that this process runs */
  unsigned *away;               /* stb_ds: the others */
  unsigned threads;             /* for those here */
  const char *action;           /* of the host of wafer `acts`; NULL: none */
  unsigned acts;
  double seconds;               /* of all runs */
  ClusterWaferEnd first_end;    /* of a wafer's run; `why` NULL: none has ended with an error */
  WorkCrew *crew;               /* NULL before the first block, and with one thread */
};

uint32_t cluster_tile(const Program *program, const ClusterEnd *end);
/* The two ends of a channel; both wafers are open. */
LinkOut *cluster_out(const Cluster *cluster, const ClusterLink *link,
                     const ClusterChannel *channel);
LinkIn *cluster_in(const Cluster *cluster, const ClusterLink *link, const ClusterChannel *channel);
const char *cluster_edge_name(Port edge);

#endif
