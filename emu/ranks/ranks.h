/* emu/ranks: one program on several processes, as `mpirun -n R` starts them.
 *
 * Process 0 is the one that users know: it has the host, the observers and all files.  The others
 * serve it: they run some rows of the fabric each and answer questions about their tiles.  Results,
 * cycles, traces and findings are those of one process.
 *
 * engine_ranks is the engine of process 0: it sends what the host asks of a tile to the process
 * that has the tile, and runs all of them together (emu/fast/run.c, edges.c).  For a fabric with
 * a home, such as a wafer of a cluster, that is one process, which runs it alone.
 *
 * Reading order: transport, transport_mpi, messages, group, serve, proxy.
 */
#ifndef EMU_RANKS_H
#define EMU_RANKS_H

#include "emu/engine/engine.h"

typedef enum {
  RANKS_ALONE,                  /* one process */
  RANKS_FIRST,                  /* process 0 of several: runs are by engine_ranks */
  RANKS_SERVANT,                /* another one: ranks_serve, then the process ends */
  RANKS_BROKEN,                 /* several were started, but they cannot talk: *reason */
} RanksRole;
/* Before anything else; may be called again. Process 0 leaves when it exits. */
RanksRole ranks_join(const char **reason);
/* Processes of this run; 1 alone. */
unsigned ranks_count(void);
/* Does what process 0 asks for until that leaves; returns the exit code. */
int ranks_serve(void);
void ranks_leave(void);
/* For fabrics of which each has a process as its home. */
EngineHomes ranks_homes(void);

/* Of process 0: it has an engine already; there can be one without a home at a time. */
bool ranks_are_busy(void);
/* The image of the next engine that it creates, for the others. */
void ranks_offer_image(const char *bytes, size_t n_bytes);
extern const EngineOps engine_ranks;

#endif
