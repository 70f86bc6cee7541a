/* The fast engine's own header: state of a tile, and what its files offer each other.  Only
 * its own files include it.
 *
 * One pass per cycle visits the awake tiles, in row order; it plans and carries out each tile
 * before the next. That equals the reference's plan-then-commit, because the slots of a router,
 * which neighbours may read, remember their state at the start of the cycle: the first change in a
 * cycle saves count and inputs with a stamp, and a reader takes the saved values while the stamp is
 * of this cycle. Within a tile the order of the steps is such that nothing read later was changed
 * before, with the exception of the input queues' counts, for which pops are counted.
 *
 * A tile is less than 1 KB while idle; slots, queues, descriptors and running operations come from
 * a slab when they are first used.  Awake tiles are bits of a map, one for each of the next cycles;
 * a tile that waits is woken by its own clock, by a wavelet, by room in a neighbour's slots or by
 * a neighbour's switch.
 *
 * The build compiles the step functions twice, with and without events. */
#ifndef ENGINE_FAST_H
#define ENGINE_FAST_H

#include "emu/fast/fast.h"

#include <pthread.h>

enum {
  NO_SLOT = 0xff,
  FAST_SLOTS = 2,               /* of a color in the tile; more only after a hazard */
  CALENDAR = 256,               /* cycles that the map of awake tiles looks ahead */
  BLOCK_MOST = 16,              /* cycles of a block: see run.c */
  BLOCK_SLANT = 2,              /* rows by which each cycle of it is behind the one before */
  CACHE_LINE = 64, WORD_BITS = 64, AWAKE_CYCLES = CACHE_LINE / 8,   /* the last: in a line of it */
  AHEAD_ELEMENTS = 2 * SCALAR_STORES,   /* in a visit */
};

/* ---- wavelets --------------------------------------------------------------------------- */

/* meta: low bits of the first cycle in which the holder can see it; where it came from or what
 * color it has; flags.  The stamp is compared with the cycle modulo 2^24; fast.c freshens
 * stamps before they could be mistaken. */
typedef struct { uint32_t payload, meta; } FastWavelet;
enum {
  STAMP_BITS = 24, STAMP_MASK = (1 << STAMP_BITS) - 1, FRESHEN_CYCLES = 1 << (STAMP_BITS - 2),
  /* ADVANCE in routers and output queues, KEPT in input queues: a control wavelet that has ended an
     operation */
  META_CONTROL = 1 << 29, META_ADVANCE = 1 << 30, META_KEPT = META_ADVANCE,
};
/* ---- a tile ----------------------------------------------------------------------------- */

/* The oldest first.  Mostly a few wavelets are in a queue, so moving them up is cheaper than a
 * ring, which over time walks through all of its cache lines. */
typedef struct {
  uint16_t count, use_pc, use_elements;         /* use_*: of its last use, see QueueUse */
  uint8_t places;               /* first as many as a cache line has */
  uint8_t use_color : 6, use_control : 1, use_ended : 1;
} FastQueue;
/* Places from one wavelet to the next: those between are the other queue's.  The first few are
 * moved up whether they are there or not. */
enum { QUEUE_STEP = 2, QUEUE_FEW = 2 };

/* The two queues of a number are often used together: the first wavelets of both share a cache
 * line, as `at` has the places of both by turns.  It is NULL until one is used. */
typedef struct { FastWavelet *at; FastQueue input, output; } FastQueues;

/* One color of one router: half a cache line.  Its two words of bits are not of a character type,
 * so that the compiler knows what a store to them leaves alone. */
typedef struct {
  FastWavelet w[FAST_SLOTS];    /* the oldest first */
  uint32_t stamp;               /* cycle of the last change, low bits; then valid: */
  uint32_t saved;               /* `open` at the start of that cycle, and from bit ARRIVALS_SHIFT
                                   the inputs that a wavelet came in by in that cycle */
  uint16_t open;                /* wavelets, with what lies in the engine's spill list; from bit
                                   OPEN_RX_SHIFT the inputs of the current position, none while
                                   suspended */
  uint16_t route;               /* ROUTE_* */
  uint8_t next[PORT_RAMP];      /* slot of the color in the router at that output, or NO_SLOT */
} FastColor;

enum {
  ARRIVALS_SHIFT = 16, OPEN_COUNT = 0xff, OPEN_RX_SHIFT = 8,
  ROUTE_TX = 0x1f,              /* outputs of the current position */
  ROUTE_SUSPENDED = 1 << 5, ROUTE_FILTERED = 1 << 6,
  ROUTE_CHECKED = 1 << 7,       /* all of them are known to lead to a configured router */
  ROUTE_ODD = ROUTE_SUSPENDED | ROUTE_FILTERED | ROUTE_CHECKED,   /* but CHECKED alone: plain */
};
/* What all tiles with the same configuration of colors share. */
typedef struct {
  uint8_t n;
  bool swaps, filters, switches;        /* some color has one */
  uint8_t slot_of[MAX_COLORS], color_of[MAX_COLORS];
  const ImageColorConfig *config[MAX_COLORS];   /* by slot */
} FastSet;

/* What the short loop of a plain operation needs, by stream: src0, src1, dest; in one cache line.
 * plain_sync brings the VecRun up to date before other code reads it. */
enum { PLAIN_SRC0, PLAIN_SRC1, PLAIN_DEST, PLAIN_STREAMS };
typedef struct {
  uint32_t remaining;
  uint32_t value[2];            /* of sources that are no memory: the scalar, or what the queue's
                                   head holds */
  uint32_t scalar, output_meta; /* the latter: flags and color of what is sent */
  uint16_t memory;              /* streams in memory, a bit each */
  uint16_t address[PLAIN_STREAMS];
  int16_t step[PLAIN_STREAMS];  /* bytes from element to element */
  /* queues, or NO_QUEUE; PLAIN_SRC0 or PLAIN_SRC1; group */
  uint16_t input, output, input_stream, width;
  /* VecKind, VecOp; of 16-bit elements that come or go by a queue: those of a wavelet, else 0, and
     the wavelets that a group needs at least */
  uint8_t op, operation, per_wavelet, min_wavelets;
  bool unbounded, advance, both_memory, stream;   /* stream: see stream.c */
  uint8_t bytes;                /* of an element */
  uint8_t one_bank;             /* as vec_one_bank_waits says */
  uint32_t settled;             /* remaining when it was counted last; with bridges only */
  /* elements issued before their cycle, the last cycles before `ready` of the thread, with bridges
     only; of streams, NO_SLOT: no such operand; ends of blocks at which it had no bridge yet;
     cycles by which it has begun later than its run says; 1: it passes on what a bridge brings to
     the next row, and stores it, else 0 */
  uint8_t ahead, in_color, in_slot, out_slot, tries, late, relays;
} FastPlain;

enum { STREAM_STORES = 16 };    /* most elements ahead of their cycle that a stream stores */
typedef struct {
  FastPlain plain;              /* if the thread says so */
  VecRun run;
  uint32_t before[STREAM_STORES];   /* what those have overwritten */
} FastRun;

/* Pieces of one size: an operation that runs, and what the main thread has done ahead (ahead.c). */
typedef union { FastRun run; uint64_t ahead[46]; } FastWork;   /* as kept.c asserts */

typedef struct FastTile FastTile;

/* What a bridge has lent to the counts of its tiles: counts.c. */
typedef struct { uint32_t made, taken, from_issued, to_issued; } FastLoan;

/* The wavelets on a bridge; `seen`: when one can be taken, low bits, which are enough since all are
 * on their way at the same time. */
enum { BRIDGE_PLACES = 128, BRIDGE_LATE = 8 };  /* LATE: most that wait in a queue, each */
typedef struct { uint32_t payload[BRIDGE_PLACES]; uint8_t seen[BRIDGE_PLACES]; FastLoan loan; }
        FastRing;

/* Cycles in which something moves: bit i is the cycle i before the last one. */
__extension__ typedef unsigned __int128 FastMoves;
enum { MOVE_CYCLES = 8 * sizeof(FastMoves) };

/* Wavelets on their way from one tile to the operation of its neighbour: bridge.c.
 * Places of the ring count from its creation, so that they are numbers of wavelets, too. */
typedef struct {
  _Alignas(64) FastMoves arrivals;      /* cycles in which the receiver's router moves one to its
                                           queue, and the sender's has, `hop` before */
  uint32_t last, head, tail, relays;    /* last: low bits: arrival of the newest one */
  FastTile *from, *to;
  FastRing *ring;               /* NULL until the first wavelet */
  /* from row to row; copies of what comes to `from`, else results of its operation; `to` relays
   * them, `relays` so far */
  bool upright, relay, relayed;
} FastBridge;

/* Registers of a router: what a stretch does with them (kept.c), NULL: nothing yet; by slot, what
 * instructions have written, NULL: nothing. */
typedef struct { struct FastAccesses *accesses; RouterConfig *config[]; } FastOwn;

/* What a stream of wavelets through a tile needs lies in the first two cache lines, and in that of
 * its queues. */
struct FastTile {
  _Alignas(64) const FastSet *set;     /* NULL: never touched */
  FastColor *colors;            /* by slot; behind them moves and filters, if `set` says so */
  FastBridge *in, *out;         /* of the only operation; NULL: its wavelets go by the router */
  uint32_t occupied;            /* colors with wavelets, a bit for each slot */
  /* queues with wavelets; input queues that may hold a control wavelet */
  uint16_t input_any, output_any, input_control;
  uint8_t first_slot, last_ramp_queue;  /* served first in the last cycle with a move */
  /* by the host, which has words for it; some instruction of `ahead` issues later than now;
     `stuck` or `stuck_outputs` has a bit */
  bool attended, is_ahead, is_stuck;
  uint8_t put_off;              /* what its router does late: PUT_OFF_* in notes.c */
  Tile core;                    /* goes on into the second line, with the main thread at its end */
  const uint8_t *data_queue;    /* by color: where its wavelets go */
  /* slots and output queues whose oldest wavelet has no room to go to, a bit each; low bits of the
     last cycle in which they look all the same */
  uint32_t stuck, retry;
  /* `holds`: by output queue, the thread that waits for room; `shares`: two threads have used one
     queue; threads with plain operations, of them those that wait in that way, and those that are
     known to be ready, a bit each */
  uint8_t stuck_outputs, holds[MAX_QUEUES];
  bool shares;
  uint16_t plain_threads, held, able;
  struct FastAhead *ahead;      /* NULL: none since its last operation */
  HostPort *host;
  FastOwn *own;                 /* NULL: no instruction has accessed registers of the router yet */
  _Alignas(64) FastQueues queues[MAX_QUEUES];
};

/* ---- the engine ------------------------------------------------------------------------- */

typedef struct { HostOut out; uint32_t first, end, waiting; } FastChannel;

typedef struct { uint32_t tile; uint8_t slot; FastWavelet wavelet; } FastSpill;

typedef struct FastEngine FastEngine;
typedef struct { uint32_t first, end; } FastRows, FastColumns;

/* The chores of a row after a cycle, before the next visit to any of its tiles. */
typedef enum { CHORE_MEETING, CHORE_PART } FastChoreKind;   /* settle; take down bridges */
typedef struct { uint64_t cycle; uint32_t tile; uint8_t kind, slot; } FastChore;

/* With several workers a block of cycles has two halves. The rows are cut into strips; in the first
 * half each worker visits its strips except for the rows at a border to another strip, in the
 * second half the pairs of rows on both sides of a border. With each cycle of a block the first
 * halves lose two rows at each border, which the second ones win. So no worker touches a tile that
 * another worker touches or visits in the same half, and nothing needs a lock.  Where there is
 * little to do, one worker visits all rows. */
typedef enum { HALF_INNER, HALF_BORDERS, HALVES, HALF_ALL = HALVES } FastHalf;

/* counts.c: for which tile the worker works, and what it had counted when that began. */
typedef struct {
  TileCounts *counts;           /* by tile; NULL: no observer wants them */
  FastTile *tile;               /* NULL: none */
  uint64_t seen;                /* its core.wavelets_seen */
  EngineStats then;
} FastAccount;

/* What a worker has of its own. */
typedef struct {
  FastEngine *engine;
  FastRows *rows[HALVES];       /* stb_ds */
  /* cycles of the calendar in which tiles are awake; those of them with wakes that were void */
  uint64_t due[CALENDAR / WORD_BITS], voided[CALENDAR / WORD_BITS];
  FastRows due_rows[CALENDAR];  /* of a cycle that is due: from the first such row to the last */
  /* in this block, elements ahead of their cycle included; its cycles that have some, a bit each */
  uint32_t visits, visited;
  TileLog log;                  /* of its tiles */
  FastAccount account;
  uint64_t ahead_last;          /* last issue that was carried out ahead; */
  /* or it has been taken back since; tiles have written to their routers ahead in this run */
  bool ahead_less, writes_late;
  Timer *timers;                /* further ahead than the calendar */
  /* of memory: tiles.c; descriptors decoded before: steps.c; operations begun before: port.c; NULL
     until first used */
  struct FastPool *pool; struct FastDecoded *decoded; KnownRun *known;
  int32_t bridges;              /* that it has built, less those that it has taken down */
  /* for tests to see that there are some: elements of streams that have been undone; wavelets that
     were on their way when they got a bridge; turns of microthreads while the main thread was
     ahead, and those for which it went back; bridges that have been taken down, of them those that
     held wavelets and those with a tile that relays; moves that have been put off;
     writes to routers likewise, and stretches that have gone back since a router has changed */
  uint64_t rolled_back, led, turns_taken, turned_back, parted, parted_full, parted_relays, put_off,
           written_late, read_again;
  /* stb_ds: tiles in order of touching; with a wavelet for the host; rows with chores; tiles that
     may get bridges at the end of the block; that did not there, but may at the end of the next */
  uint32_t *touched, *host_calls, *chores, *joins, *retries;
} FastWorker;

/* The step of all tiles, in two forms: the loop of a run without a trace has no code for events.
 * The other form does nothing ahead of its cycle. */
typedef struct {
  void (*visit)(FastWorker *worker, FastHalf half);   /* what the worker does in half a block */
  void (*edges)(FastWorker *worker);          /* what one does after that, if there are peers */
  void (*end_block)(FastEngine *engine);      /* what one thread does at its end */
} FastStep;
extern const FastStep fast_step_plain, fast_step_traced;
struct FastEngine {
  Engine base;                  /* cycle: the first of the block that runs */
  const FastStep *step;         /* of the cycles that run: run.c */
  const Timing *timing;
  unsigned block, block_most;   /* cycles of the block that runs; that the rows allow */
  uint32_t own_visits, visits;  /* a cycle, on average of the last ones: here, of all peers */
  uint64_t limit, freshened, phase;   /* limit: of this run; phase: cycle in which it has begun */
  uint32_t n_tiles, width, height, row_words;   /* the last: of the maps of awake tiles */
  FastRows own;                 /* that this process runs: all without peers */
  struct FastEdges *edges;      /* edges.c; NULL: no peers */
  ptrdiff_t stride[PORT_RAMP];  /* bytes to the neighbour */
  uint32_t router_slots, bank_mask;   /* bits of an address that say the bank: two reads per cycle
                                   from different ones */
  uint8_t input_capacity[MAX_QUEUES], output_capacity[MAX_QUEUES];
  /* in this block visits fetch what the next ones need; bridges may be built; moves may be put off
     (router.c); cycles from an element's issue, the last: until the tile's own router can see the
     result */
  bool fetches, bridges, puts_off, writes_ahead;    /* the last: to routers: kept.c */
  /* of bridges and outputs; most cycles that a stream with bridges is ahead: one from row to row,
     since what it sends after the first of them is seen when the last is over; one that stays in
     its row */
  uint32_t bridge_arrival, bridge_seen, output_cycles, stream_ahead, stream_far;
  FastTile *tiles;              /* zero until touched */
  FastSet *sets;                /* by color set */
  /* by class and word; vector instructions among it, by the `target` of their code */
  ScalarCode **code; struct FastVector **vectors;
  struct FastDsrs **dsrs;       /* by class: port.c; NULL: none yet */
  /* awake tiles by cycle of the calendar: a bit each, whole words for a row, and a byte for each
     row, with a bit for the words that have any; tiles with a wavelet for the host, a bit each */
  uint64_t *awake, *host_waiting;
  uint8_t *row_awake;
  FastChore **chores;           /* by row, stb_ds */
  FastWorker *workers;          /* the first is the caller of the engine */
  unsigned n_workers, n_channels;
  uint16_t *row_worker;         /* the worker that visits a row */
  struct FastCrew *crew;        /* NULL: no thread has been started */
  /* host */
  FastChannel *channels;
  uint32_t n_host_waiting; bool hosted;   /* the host has sent a wavelet or has been sent one */
  /* findings */
  EngineStats stats;            /* sums, made on request */
  FastSpill *spills;            /* stb_ds, oldest first */
  pthread_mutex_t rare_lock;    /* for spills and shared DSRs */
};

/* ---- tiles.c --------------------------------------------------------------------------------- */

/* Zeroed memory; the system provides its pages only when they are written. */
void *fast_reserve(size_t bytes);
FastTile *fast_touch(FastWorker *worker, uint32_t tile);
void fast_tiles_destroy(FastEngine *engine);
/* Zeroed, aligned to `align`, as long as the engine lives. */
void *fast_alloc(FastWorker *worker, size_t bytes, size_t align);
FastOwn *fast_own_registers(FastWorker *worker, FastTile *tile);
/* Begins as the program has it. */
RouterConfig *fast_own_config(FastWorker *worker, FastTile *tile, unsigned slot);
/* Pieces that are used again: FastWork, FastBridge, FastRing.  Not zeroed. */
typedef enum { PIECE_WORK, PIECE_BRIDGE, PIECE_RING, PIECE_KINDS } FastPiece;
void *fast_piece_alloc(FastWorker *worker, FastPiece kind);
void fast_piece_free(FastWorker *worker, FastPiece kind, void *piece);
/* Room for more wavelets in both queues of a number; at the second call for all they may hold. */
void fast_queues_widen(FastWorker *worker, FastQueues *queues, unsigned number);
/* Where the wavelets of a color enter the tile: as loaded, or as rewritten. */
void fast_bind_queues(FastTile *tile);

/* ---- code.c ---------------------------------------------------------------------------------- */

void fast_code_create(FastEngine *engine);
void fast_code_destroy(FastEngine *engine);

/* ---- ahead.c --------------------------------------------------------------------------------- */

/* All that was carried out ahead has issued. */
void fast_ahead_over(FastWorker *worker, FastTile *tile);
/* Whether an instruction that was carried out ahead issues in this cycle. */
bool fast_issues_ahead(const FastTile *tile, uint64_t now);
/* What the next visit reads of it. */
void fast_prefetch_ahead(const struct FastAhead *ahead);
/* The first cycle after `now` in which none does. */
uint64_t fast_next_free(const FastTile *tile, uint64_t now);
/* The last issue that was carried out ahead in this phase, or 0. */
uint64_t fast_ahead_last(FastWorker *worker);
/* The run has ended before `cycle`: undoes what issues from then on. */
void fast_ahead_undo(FastEngine *engine, uint64_t cycle);

/* ---- bridge.c -------------------------------------------------------------------------------- */

void fast_bridges_create(FastEngine *engine);
/* The tile has started a streaming operation: builds bridges to and from it where it can. */
void fast_join(FastWorker *worker, FastTile *tile);
/* Has the next end of a block try that for all tiles. */
void fast_join_all(FastEngine *engine);
/* At the end of a block: builds the bridges that are possible only now. */
void fast_join_late(FastWorker *worker);
/* The cycles that a stream was ahead are over: accounts for what its router did in them. */
void fast_catch_up(FastWorker *worker, FastTile *tile);
/* Takes down the bridges of the tile, whose last cycle was `now`; of all tiles, between runs. */
void fast_part(FastWorker *worker, FastTile *tile, uint64_t now);
void fast_part_all(FastEngine *engine);
/* For the first wavelet of a bridge. */
FastRing *fast_ring_alloc(FastWorker *worker);

/* ---- counts.c -------------------------------------------------------------------------------- */

/* What the worker counts from here on is work of the tile; returns the one before.  NULL: of none,
 * and the counts are up to date. */
FastTile *fast_count_as(FastWorker *worker, FastTile *tile);
/* The run pauses, with its bridges: the tiles' counts get what bridges will settle when they are
 * taken down, of up to BRIDGE_PLACES cycles ahead. */
void fast_lend_counts(FastEngine *engine);
/* The bridge is about to settle. */
void fast_return_counts(const FastEngine *engine, FastBridge *bridge);
/* By which the bridge's wavelets leave its first tile. */
Port fast_bridge_port(const FastEngine *engine, const FastBridge *bridge);

/* ---- crew.c ---------------------------------------------------------------------------------- */

/* Runs a block: both halves with one thread per worker; or with one thread, if it is short and they
 * are not much faster. The threads are started when first needed. */
void fast_crew_block(FastEngine *engine);
void fast_crew_destroy(FastEngine *engine);

/* ---- run.c, inspect.c ------------------------------------------------------------------------ */

RunStatus fast_run(Engine *engine, uint64_t limit);
/* Replaces an stb_ds array of records of so many bytes by what all processes have: in each of them
 * with `spread`, else in the first one, and the others then have nothing.  Does nothing without
 * peers. */
void fast_peers_gather(FastEngine *engine, void *array, size_t record_bytes, bool spread);
void fast_skip_to(Engine *engine, uint64_t cycle);
void fast_inspect(Engine *engine, uint32_t tile, InspectTile *out);

/* ---- state.c --------------------------------------------------------------------------------- */

extern const EngineKeeper fast_keeper;

#endif
