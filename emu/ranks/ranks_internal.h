/* What the files of emu/ranks share; no other file includes it. */
#ifndef RANKS_INTERNAL_H
#define RANKS_INTERNAL_H

#include "emu/fast/fast.h"
#include "emu/ranks/ranks.h"
#include "emu/ranks/transport.h"

/* ---- messages.c: what process 0 asks the others for ------------------------------------------ */

typedef enum {
  ASK_CREATE,                   /* RankProgram, links_put if linked, and the image follow; to all */
  ASK_DESTROY, ASK_LEAVE,       /* to all */
  ASK_LINKS,                    /* links_put follows: instead of what the gates have been */
  ASK_RUN_ALONE,                /* a: limit, b: host_out_colors; links_news_put follows; answer:
                                   alone_report_put */
  ASK_RUN,                      /* a: limit, b: host_out_colors; RunPart follows; to all; answer:
                                   SentWords */
  ASK_SKIP,                     /* a: cycle; to all; a fabric with a home goes back, too, to where
                                   those of its cluster meet */
  ASK_PHASE,                    /* to all */
  ASK_POST,                     /* tile, a: color and word, b: cycle */
  ASK_LAUNCH,                   /* tile, a: entry; answer: a byte */
  ASK_WRITE,                    /* tile, a: address; bytes follow; answer: a byte */
  ASK_READ,                     /* tile, a: address, b: bytes; answer: these, or nothing */
  ASK_REGISTERS,                /* tile; answer: Registers, or nothing */
  ASK_INSPECT,                  /* tile, a: how many from there on; answer: an InspectRecord each */
  ASK_FACTS,                    /* answer: a word for each tile of the process' rows */
  ASK_STATS,                    /* answer: EngineStats */
  ASK_TOTALS,                   /* answer: totals_put; before any ASK_TILE_OUT */
  ASK_TOTALS_IN,                /* b: host_out_colors; totals_put follows; to all */
  ASK_TILE_OUT,                 /* tile; answer: as EngineKeeper.tile_out */
  ASK_TILE_IN,                  /* tile; that follows; answer: a byte */
} AskKind;
typedef struct { uint64_t begun; bool continues; } RunPart;   /* as in Engine */
/* "To all": to all that have a part of the engine, which is the one process if it has a home. */
typedef struct { uint32_t kind, tile; uint64_t a, b, n_bytes; uint32_t engine; } Ask;

/* A message may hold several: the bytes of the last one end it. */
void ask_put(unsigned char **message, Ask ask, const void *bytes);
/* The first one of the rest of a message, which `*at` moves behind; false at its end. */
bool ask_take(const unsigned char *message, size_t *at, Ask *ask, const unsigned char **bytes);

/* What servants need to make the same program and engine as process 0. */
typedef struct {
  Timing timing;
  uint32_t host_out_colors;
  bool check_reads, checks_memory, prints, traced;
  bool alone, linked;           /* the process has all of the fabric; it has gates */
  bool is_reference;            /* the engine, if alone */
  CheckLevel check;
  unsigned checks, threads, block;
  unsigned process_threads;     /* for all engines of the process that are alone */
  uint32_t shuffle;
  TraceSink trace;              /* only its limits */
} RankProgram;

/* FACTS: a word for a tile. */
enum { FACT_TOUCHED = 1, FACT_UNBLOCKS_SHIFT = 1 };

/* After a run: words that tiles have sent to the host since the last one follow. */
typedef struct { uint32_t tile; HostWord word; } SentWord;

/* What observers get, in order. */
typedef struct {
  bool is_event;
  TraceEvent event;
  struct { uint64_t cycle; uint32_t tile; uint8_t byte; } print;
} RankNote;
/* What a process says after the run of a fabric that it has alone. */
typedef struct {
  RunStatus status;
  bool stopped, quiet;
  uint64_t cycle, last_change;
  Fault *faults;                /* stb_ds, these and the others: all so far */
  RankNote *notes;              /* of this run */
  SentWord *sent;               /* since the run before */
} AloneReport;
void alone_report_put(const AloneReport *report, unsigned char **bytes);
/* Its lists are the caller's. */
AloneReport alone_report_get(StateReader *in);
void alone_report_free(AloneReport *report);

/* A tile as process 0 shows it: what the pointers of InspectTile point to. */
typedef struct {
  InspectTile tile;
  TileRecord record;
  VecRun runs[TILE_THREADS];
  uint16_t blocked_at[BLOCK_PLACES];
} InspectRecord;
/* Sets the pointers. */
void inspect_record_link(InspectRecord *record);
InspectRecord inspect_record_make(Engine *engine, uint32_t tile);

/* ---- group.c --------------------------------------------------------------------------------- */

const RankTransport *ranks_transport(void);
/* For tests: this thread is a process of others that they have made. */
void ranks_use(const RankTransport *transport);

/* The peers of a fast engine, with the tiles that have sent words to the host. */
typedef struct {
  Peers peers;
  int neighbours[2];
  uint32_t *sent;               /* stb_ds; a tile may be there more than once */
} RankPeers;
/* Every process has rows one after the other, with about the same number of tiles that run code;
 * two at least, so the last ones may have none.  Process i has those from cuts[i] to cuts[i + 1]:
 * stb_ds. */
uint32_t *rank_cuts_make(const Program *program);
void rank_peers_init(RankPeers *peers, const uint32_t *cuts);
void rank_peers_free(RankPeers *peers);

#endif
