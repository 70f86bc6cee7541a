/* The fast engine's own header: state of a tile, and what its files offer each other.  Only
 * engine_fast*.c include it.
 *
 * One pass a cycle over the awake tiles, in row order, each planned and carried out before the
 * next.  That equals the reference's plan-then-commit because what a neighbour may look at, a
 * router's slots, remembers its state at the start of the cycle: the first change in a cycle
 * saves count and inputs beside a stamp, and a reader takes the saved values while the stamp is
 * of this cycle.  Within a tile the order of the steps is such that nothing read later was
 * changed before, with the exception of the input queues' counts, for which pops are counted.
 *
 * A tile is 1 KB while idle; slots, queues, descriptors and running operations come from a
 * slab when they are first used.  Awake tiles are bits of a map; a tile that waits is woken by
 * its own clock, by a wavelet, by room in a neighbour's slots or by a neighbour's switch.
 *
 * The step functions (engine_fast_step_*.h) are compiled twice, with and without events. */
#ifndef ENGINE_FAST_H
#define ENGINE_FAST_H

#include "emu/emu.h"

enum {
  FAST_THREADS = 1 + MAX_MICROTHREADS,
  MAIN_THREAD = 0,
  NO_QUEUE = 0xff, NO_SLOT = 0xff,
  LEVELS = 5,                   /* issue priorities: microthread low, main, medium, -, high */
  LEVEL_UT_LOW = 0, LEVEL_MAIN = 1, LEVEL_UT_MEDIUM = 2, LEVEL_UT_HIGH = 4,
  FAST_SLOTS = 2,               /* of a color in the tile; more only after a hazard */
  WHEEL = 64,                   /* cycles that the timing wheel looks ahead; a power of two */
  WORD_BITS = 64,
};
#define NEVER UINT64_MAX

/* Idle and active state of a tile, beyond its memory (docs/architecture.md). */
enum { FAST_IDLE_BYTES = 1024, FAST_ACTIVE_BYTES = 4096 };

/* ---- wavelets --------------------------------------------------------------------------- */

/* meta: low bits of the first cycle in which the holder can see it; where it came from or what
 * color it has; flags.  The stamp is compared with the cycle modulo 2^24; engine_fast.c freshens
 * stamps before they could be mistaken. */
typedef struct { uint32_t payload, meta; } FastWavelet;
enum {
  STAMP_BITS = 24, STAMP_MASK = (1 << STAMP_BITS) - 1,
  META_SHIFT = STAMP_BITS, META_FIELD = 0x1f,   /* color in queues, port in slots */
  META_CONTROL = 1 << 29, META_ADVANCE = 1 << 30,
  FRESHEN_CYCLES = 1 << (STAMP_BITS - 2),
};
/* Cycles until it can be seen; at most 0: now. */
static inline int32_t wavelet_wait(uint32_t meta, uint64_t now)
{
  return (int32_t)((meta - (uint32_t)now) << (32 - STAMP_BITS)) >> (32 - STAMP_BITS);
}
static inline bool wavelet_seen(uint32_t meta, uint64_t now)
{
  return wavelet_wait(meta, now) <= 0;
}
static inline uint8_t wavelet_field(uint32_t meta) { return meta >> META_SHIFT & META_FIELD; }
static inline uint32_t wavelet_meta(uint64_t visible, unsigned field, uint32_t flags)
{
  return ((uint32_t)visible & STAMP_MASK) | (uint32_t)field << META_SHIFT | flags;
}

/* ---- a tile ----------------------------------------------------------------------------- */

/* A ring of a power of two of places; `head` counts on and on. */
typedef struct {
  FastWavelet *at;              /* NULL until first used */
  uint8_t head, count, mask;
  uint8_t use_color;            /* of its last use, see QueueUse */
  uint16_t use_pc, use_elements;
} FastQueue;

static inline void queue_note(FastQueue *q, QueueUse use)
{
  q->use_pc = use.pc;
  q->use_elements = use.elements;
  q->use_color = use.color;
}

static inline FastWavelet *queue_at(const FastQueue *q, unsigned index)
{
  return &q->at[(q->head + index) & q->mask];
}

/* ROUTED: all outputs of the current position are known to lead to a configured router. */
enum { COLOR_SUSPENDED = 1, COLOR_FILTERED = 2, COLOR_ROUTED = 4 };

/* One color of one router: half a cache line. */
typedef struct {
  FastWavelet w[FAST_SLOTS];
  uint32_t stamp;               /* cycle of the last change, low bits; then valid: */
  uint8_t count0;               /* count at the start of that cycle */
  PortMask rx0;                 /* rx likewise */
  PortMask arrivals;            /* inputs that a wavelet came in by in that cycle */
  uint8_t count;                /* with what lies in the engine's spill list */
  PortMask rx, tx;              /* of the current positions; rx 0 while suspended */
  uint8_t head : 1, spilled : 7;
  uint8_t flags : 3, rx_position : 2, tx_position : 2;   /* positions are equal but while a
                                   wavelet with `advance` is inside */
  uint8_t next[PORT_RAMP];      /* slot of the color in the router at that output, or NO_SLOT */
} FastColor;
_Static_assert(sizeof(FastColor) == 32, "two colors share a cache line");

typedef struct { uint16_t counter, limit1; bool limit2_used, off; } FastFilter;

/* What all tiles with the same configuration of colors share. */
typedef struct {
  uint8_t n;
  bool swaps, filters;          /* some color has one */
  uint8_t slot_of[MAX_COLORS], color_of[MAX_COLORS];
  const ImageColorConfig *config[MAX_COLORS];   /* by slot */
} FastSet;

/* What the short loop of a plain operation needs, by stream: src0, src1, dest; in one cache line.
 * The VecRun is brought up to date from it before anybody else looks (plain_sync). */
enum { PLAIN_SRC0, PLAIN_SRC1, PLAIN_DEST, PLAIN_STREAMS };
typedef struct {
  uint8_t kind[PLAIN_STREAMS];  /* StreamKind */
  uint8_t queue[PLAIN_STREAMS];
  uint16_t address[PLAIN_STREAMS];
  int16_t step[PLAIN_STREAMS];  /* bytes from element to element */
  uint8_t op, width, color, operation;   /* VecKind, group, of dest, VecOp */
  bool unbounded, advance, both_memory;
  uint32_t remaining;
  uint32_t value[2];            /* VS_VALUE */
  uint32_t scalar;
} FastPlain;

typedef struct {
  FastPlain plain;              /* if the thread says so */
  VecRun run;
} FastRun;

typedef struct {
  FastRun *run;                 /* NULL: idle */
  uint64_t ready;               /* next group not before */
  uint64_t stall_since;
  uint8_t stall;                /* StallCause, not yet in the statistics */
  bool plain;                   /* see engine_fast_step_vec.h */
} FastThread;

/* A completion action, or a write to a priority register (address not 0), to come. */
typedef struct { uint64_t cycle; Action action; uint16_t address, value; } FastAction;
typedef struct { uint64_t cycle; uint32_t word; uint8_t color; } FastHostWord;

/* Where a class keeps which DSR: only those that its code names take room. */
typedef struct {
  uint8_t n;
  uint8_t place[DSR_FILE_COUNT][MAX_DSRS];
} FastDsrMap;

/* What few tiles have. */
typedef struct {
  FastHostWord *posted, *sent;  /* stb_ds */
  size_t posted_at;
} FastHost;

typedef struct {
  /* every visit */
  _Alignas(64) const ClassCode *cls;   /* NULL: only a router */
  const FastSet *set;           /* NULL: never touched */
  FastColor *colors;            /* by slot */
  TileMem mem;
  uint32_t index;
  uint32_t occupied;            /* colors with wavelets, a bit for each slot */
  uint16_t vectors;             /* threads with a running operation, a bit each */
  uint8_t input_any, output_any;    /* queues with wavelets */
  uint8_t input_control;        /* queues that may hold a control wavelet */
  uint8_t readers;              /* input queues that running operations read */
  uint8_t first_slot;           /* served first in the last cycle with a move */
  uint8_t last_ramp_queue;
  /* most visits */
  uint64_t ready;               /* next issue, or next pick when idle, not before */
  uint64_t pending_due;         /* NEVER: no action and no priority pending */
  uint64_t issues, wavelets_seen;
  FastHost *host;
  uint16_t pc;
  uint8_t main_level;
  bool running;                 /* a task or function; else idle and the scheduler may pick */
  bool launch_pending;
  uint8_t task, task_id;
  uint8_t paused;               /* microthreads, a bit each */
  uint8_t last_issued[LEVELS];
  uint16_t launch_entry;
  RouterConfig **own;           /* by slot; NULL: no router register was ever written */
  FastThread threads[FAST_THREADS];
  uint64_t active, blocked, high;   /* by id; high: picked before the others */
  uint64_t lost;                    /* activated again before they had started */
  FastQueue input[MAX_QUEUES], output[MAX_QUEUES];
  Registers regs;
  FastFilter *filters;          /* by slot; NULL: none */
  FastAction *pending;          /* stb_ds, in order of issue */
  uint16_t *blocked_at;         /* by block_place; NULL: no program has blocked anything */
  DsrState *dsrs;               /* by the class' FastDsrMap */
  /* configuration */
  bool tsc_running;
  uint32_t unblocks, torn_down;
  TileRegisters registers;
  uint64_t tsc_start, tsc_value, tsc_latch, perf_latch[2];
} FastTile;

_Static_assert(sizeof(FastTile) <= FAST_IDLE_BYTES, "an idle tile stays within its bound");
/* A tile at work: every color configured, a running operation on the main thread and on two
 * microthreads, queues of the machine's total depth, eight descriptors. */
_Static_assert(sizeof(FastTile) + MAX_COLORS * sizeof(FastColor) + 3 * sizeof(FastRun) +
                       8 * sizeof(DsrState) + 64 * sizeof(FastWavelet) <= FAST_ACTIVE_BYTES,
               "an active tile stays within its bound");

/* ---- the engine ------------------------------------------------------------------------- */

typedef struct { uint64_t cycle; uint32_t tile; } FastTimer;
typedef struct { uint64_t free_at; uint32_t last_tile; uint32_t first, end, waiting; } FastChannel;
typedef struct { uint32_t tile; uint8_t slot; FastWavelet wavelet; } FastSpill;
typedef struct { uint32_t tile; uint8_t slot; } FastMeeting;

typedef struct {
  Engine base;
  Program *program;
  EngineOptions options;
  const Timing *timing;
  uint64_t cycle;
  uint64_t last_change;         /* cycle after the last one in which anything changed */
  uint64_t freshened;
  uint32_t n_tiles, width;
  ptrdiff_t step[PORT_RAMP];    /* bytes to the neighbour */
  uint32_t router_slots;
  uint32_t word_bytes, bank_groups;   /* of memory: two reads a cycle from different groups */
  uint8_t input_capacity[MAX_QUEUES], output_capacity[MAX_QUEUES];
  FastTile *tiles;              /* zero until touched */
  FastSet *sets;                /* by color set */
  bool swaps;                   /* some color has a swap */
  FastDsrMap *dsr_maps;         /* by class */
  uint32_t *touched;            /* stb_ds, in order of touching */
  /* awake tiles: a bit each, and a bit for each word that has any */
  uint64_t *awake, *awake_next, *summary, *summary_next;
  size_t n_words, n_summary;
  bool any_next;
  uint32_t *wheel[WHEEL];       /* stb_ds: tiles due in the cycle of the slot */
  uint64_t wheel_used;          /* slots with tiles */
  FastTimer *timers;            /* stb_ds binary heap: further ahead than the wheel */
  /* host */
  FastChannel *channels;
  unsigned n_channels;
  uint64_t *host_waiting;       /* tiles with a wavelet for the host, a bit each */
  uint32_t n_host_waiting;
  /* memory */
  char **slabs;                 /* stb_ds */
  size_t slab_used;
  FastRun **free_runs;          /* stb_ds */
  DsrState (*scratch)[MAX_DSRS];/* descriptors of one operation at its issue and end */
  /* findings */
  EngineStats stats;
  Fault *faults, *new_faults;   /* stb_ds */
  bool stopped;
  FastSpill *spills;            /* stb_ds, oldest first */
  FastMeeting *meetings;        /* stb_ds, of this cycle */
  TraceEvent *events;           /* stb_ds, of this cycle */
} FastEngine;

/* ---- engine_fast.c ---------------------------------------------------------------------- */

FastTile *fast_touch(FastEngine *engine, uint32_t tile);
/* Zeroed, aligned to `align`, as long as the engine lives. */
void *fast_alloc(FastEngine *engine, size_t bytes, size_t align);
FastRun *fast_run_alloc(FastEngine *engine);
void fast_run_free(FastEngine *engine, FastRun *run);
void fast_timer(FastEngine *engine, uint32_t tile, uint64_t cycle);
/* The tile in the direction of the port, or NO_TILE outside the rectangle. */
uint32_t fast_neighbour(const FastEngine *engine, uint32_t tile, Port port);
/* Brings the VecRun of a plain operation up to date. */
static inline void plain_sync(FastThread *thread)
{
  FastRun *r = thread->run;
  VecStream *streams[PLAIN_STREAMS] = {&r->run.src[0], &r->run.src[1], &r->run.dest};
  for (unsigned i = 0; thread->plain && i < PLAIN_STREAMS; i++)
    streams[i]->address = r->plain.address[i];
  if (thread->plain)
    r->run.remaining = r->plain.remaining;
}
uint64_t fast_next_due(const FastEngine *engine, const FastTile *tile);
void fast_queue_create(FastEngine *engine, FastQueue *queue, unsigned capacity);
/* The state of a color at a tile; NULL: not configured. */
static inline FastColor *fast_color(const FastTile *tile, unsigned color)
{
  unsigned slot = tile->set->slot_of[color];
  return slot == NO_SLOT ? NULL : &tile->colors[slot];
}
static inline const ImageColorConfig *fast_config(const FastTile *tile, unsigned color)
{
  unsigned slot = tile->set->slot_of[color];
  return tile->own && tile->own[slot] ? &tile->own[slot]->config : tile->set->config[slot];
}

_Static_assert(PORT_SOUTH == (PORT_NORTH ^ 1) && PORT_WEST == (PORT_EAST ^ 1),
               "the port at the other end of a link");
static inline unsigned fast_opposite(unsigned port) { return port ^ 1; }

static inline FastTile *fast_beside(const FastEngine *engine, FastTile *tile, unsigned port)
{
  return (FastTile *)((char *)tile + engine->step[port]);
}

/* Awake in the cycle after this one. */
static inline void fast_wake_next(FastEngine *engine, uint32_t tile)
{
  uint64_t *word = &engine->awake_next[tile / WORD_BITS], before = *word;
  *word = before | UINT64_C(1) << tile % WORD_BITS;
  if (before)
    return;
  engine->summary_next[tile / (WORD_BITS * WORD_BITS)] |=
      UINT64_C(1) << tile / WORD_BITS % WORD_BITS;
  engine->any_next = true;
}

/* ---- the step, compiled twice: engine_fast_plain.c, engine_fast_traced.c ---------------- */

void fast_visit_all_plain(FastEngine *engine);
void fast_visit_all_traced(FastEngine *engine);
/* Between cycles: what the running operation of a thread waits for, and with which operand. */
StallCause fast_thread_waits(FastEngine *engine, FastTile *tile, unsigned thread, uint8_t *stream);

/* ---- engine_fast_inspect.c -------------------------------------------------------------- */

void fast_inspect(Engine *engine, uint32_t tile, InspectTile *out);

#endif
