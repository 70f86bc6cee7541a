/* The reference engine's own header: state of a tile, and what its files offer each other.  Only
 * its own files include it.
 *
 * A cycle has three parts.  Begin: actions that are due change their own tile's task bits.
 * Plan: every awake tile writes what it will do into its own RefPlan and only reads all other
 * state, so the order of visits cannot matter. Commit: every tile carries out its plan; a wavelet
 * that crosses a tile border first waits at the receiver (ColorState `arriving`) until all senders
 * are through.
 *
 * A tile is awake in cycle t if its state or a neighbouring router's state changed in t - 1, or
 * if something in it becomes visible, ready or due at t.  A sleeping tile would plan nothing. */
#ifndef ENGINE_REF_H
#define ENGINE_REF_H

#include "emu/reference/reference.h"

enum {
  REF_RING = 16,                /* a power of two; more than any queue with its ramp stages */
  REF_THREADS = 1 + MAX_MICROTHREADS,
  MAIN_THREAD = 0,
  NO_QUEUE = 0xff,
  LEVELS = 5,                   /* issue priorities: microthread low, main, medium, -, high */
  LEVEL_MAIN = 1,               /* the main thread's lowest, and its own at the start */
};
#define NEVER UINT64_MAX

typedef struct {
  uint32_t payload;
  uint8_t color;
  Port from;                    /* router slots: the port it came in by */
  bool control;
  bool kept;                    /* a control wavelet that has ended an operation */
  bool advance;                 /* its entry into the local router advances the switch */
  uint64_t visible;             /* first cycle in which its holder can see it */
} Wavelet;

typedef struct { Wavelet at[REF_RING]; uint8_t head, count; } Ring;

static inline const Wavelet *ring_peek(const Ring *ring, unsigned index)
{
  return &ring->at[(ring->head + index) % REF_RING];
}
void ring_push(Ring *ring, Wavelet wavelet);
Wavelet ring_pop(Ring *ring);

/* One color of one router. */
typedef struct {
  const ImageColorConfig *config;   /* as loaded, or that of `own` */
  RouterConfig *own;            /* NULL: the registers were never written */
  Ring slots;
  uint8_t rx_position, tx_position;  /* equal except while a wavelet with `advance` is inside */
  bool suspended;               /* torn down */
  uint16_t counter, limit1;     /* filter */
  bool limit2_used, filter_off;
  PortMask arrivals;            /* this cycle, by port; empty between cycles */
  Wavelet arriving[PORT_COUNT];
} ColorState;

/* A vector operation on a thread. */
typedef struct {
  bool running;
  VecRun run;
  uint64_t ready;               /* next group not before */
  StallCause stall;             /* since `stall_since`, not yet in the statistics */
  uint64_t stall_since;
} VecThread;

typedef struct { uint64_t cycle; Action action; uint16_t pc; } PendingAction;
typedef struct { uint64_t cycle; uint16_t address, value; } PendingConfig;
typedef struct { uint64_t cycle; uint32_t word; uint8_t color; } HostWord;

typedef struct {
  uint8_t color;
  PortMask to;
  bool counted;                 /* by the filter */
} PlannedMove;

typedef struct {
  uint8_t drops;                /* input queues whose head control wavelet is dropped */
  bool launch;
  TaskKind pick;                /* TASK_NONE: no task starts */
  uint8_t pick_id, pick_queue;  /* queue: data and control tasks */
  int thread;                   /* that issues; -1 none */
  bool beside;                  /* an instruction of the main thread beside its own operation */
  bool group;                   /* an element group; else an instruction */
  unsigned elements;            /* of the group; 0: ended by a control wavelet or by a FIFO */
  bool by_control, by_fifo;
  StallCause stalls[REF_THREADS];
  uint16_t fifo_marks;          /* threads that wait for a FIFO: bit by thread */
  uint8_t n_moves;
  PlannedMove moves[MAX_COLORS];
  uint8_t ramp_queue;           /* output queue whose head enters the router; NO_QUEUE none */
  uint8_t host_queue;           /* output queue whose head could go to the host */
  bool host_out;
  HostLane *host_in;            /* whose word enters; NULL none */
} RefPlan;

typedef struct RefTile {
  uint32_t index;
  const ClassCode *cls;         /* NULL: only a router */
  TileMem mem;
  Registers regs;
  DsrState (*dsrs)[MAX_DSRS];   /* DSR_FILE_COUNT files */
  /* main thread */
  bool running;                 /* a task or function; else idle and the scheduler may pick */
  uint16_t pc;
  uint64_t ready;               /* next issue, or next pick when idle, not before */
  bool overlaps;                /* the thread goes on while its operation runs */
  TaskKind task;
  uint8_t task_id;
  bool launch_pending;
  uint16_t launch_entry;
  VecThread threads[REF_THREADS];
  uint8_t last_issued[LEVELS];
  uint8_t main_level;
  /* tasks */
  uint64_t active, blocked, high;  /* by id; high: picked before the others */
  TileRecord record;
  uint8_t paused;               /* microthreads, a bit each */
  uint16_t blocked_at[BLOCK_PLACES];
  PendingAction *pending;       /* stb_ds, in order of issue */
  PendingConfig *pending_config;   /* stb_ds: priorities, which take a few cycles to change */
  /* queues */
  Ring input[MAX_QUEUES], output[MAX_QUEUES];
  QueueUse input_use[MAX_QUEUES], output_use[MAX_QUEUES];
  /* router */
  ColorState *colors[MAX_COLORS];  /* NULL: not configured */
  uint8_t first_color;          /* served first in the last cycle with a move */
  uint8_t last_ramp_queue;
  /* configuration */
  bool tsc_running;
  uint64_t tsc_start, tsc_value, tsc_latch;
  uint64_t issues, perf_latch[2];
  TileRegisters registers;
  uint32_t unblocks;
  uint32_t torn_down;           /* colors, a bit each, since the handler last looked */
  bool router_written;          /* in this cycle: */
  uint16_t router_address, router_value;
  /* host */
  HostWords posted;
  HostWord *sent;               /* stb_ds */
  size_t sent_at;
  uint64_t wavelets_seen;
  RefPlan plan;
  bool changed, router_changed; /* in this cycle */
} RefTile;

typedef struct { uint64_t free_at; uint32_t last_tile; uint32_t chosen; } RefChannel;
typedef struct { TraceEvent event; uint32_t order; } RefEvent;
typedef struct { uint32_t tile, order; uint8_t byte; } RefPrint;
typedef struct { uint32_t tile; uint8_t color; } RefArrival;

typedef struct {
  Engine base;
  Program *program;
  EngineOptions options;
  RefTile **tiles;              /* NULL: as loaded */
  uint64_t cycle;
  uint64_t last_change;         /* cycle after the last one in which anything changed */
  uint64_t *queued;             /* by tile: 1 + the cycle it is listed as awake for */
  uint32_t *awake, *awake_next; /* stb_ds */
  Timer *timers;
  RefChannel *channels;
  RefArrival *arrivals;         /* stb_ds */
  EngineStats stats;
  Fault *faults, *new_faults;   /* stb_ds */
  bool stopped;
  RefEvent *events;             /* stb_ds, of this cycle */
  RefPrint *prints;
} RefEngine;

/* reference.c */
RefTile *ref_tile(RefEngine *engine, uint32_t tile);
void ref_wake(RefEngine *engine, uint32_t tile, uint64_t cycle);
void ref_fault(RefEngine *engine, Fault fault);
/* Records an event if an observer wants it; cycle and tile are filled in. */
void ref_event(RefEngine *engine, const RefTile *tile, TraceEvent event);
void ref_print(RefEngine *engine, const RefTile *tile, uint8_t byte);

/* ref_router.c */
void ref_router_plan(RefEngine *engine, const RefTile *tile, RefPlan *plan);
void ref_router_commit(RefEngine *engine, RefTile *tile);
/* A register of the router; false: the tile has no such color or filter. */
bool ref_router_read(const RefTile *tile, uint16_t address, uint16_t *value);
bool ref_router_write(RefTile *tile, uint16_t address, uint16_t value);
void ref_router_arrivals(RefEngine *engine);
unsigned ref_input_capacity(const RefEngine *engine, unsigned queue);
unsigned ref_output_capacity(const RefEngine *engine, unsigned queue);
ColorState *ref_color_create(const ImageColorConfig *config);
void ref_color_destroy(ColorState *state);   /* NULL: does nothing */
/* Pushes into an input queue; the wavelet becomes visible after the ramp. */
void ref_input_push(RefEngine *engine, RefTile *tile, unsigned queue, Wavelet wavelet);

/* ref_tile.c: tasks, scheduler, scalar instructions */
void ref_tile_begin(RefEngine *engine, RefTile *tile);
void ref_tile_plan(RefEngine *engine, const RefTile *tile, RefPlan *plan);
void ref_tile_commit(RefEngine *engine, RefTile *tile);
/* The queues that hold wavelets, a bit each. */
uint8_t ref_queues_filled(const Ring rings[MAX_QUEUES]);
/* `pc`: of the operation whose action it is. */
void ref_action_later(RefTile *tile, uint64_t cycle, Action action, uint16_t pc);
/* The main thread goes on at `ready` with its next instruction. */
void ref_main_continue(RefTile *tile, uint64_t ready);
/* The cycles of a row that a thread spends. */
static inline unsigned ref_pay(RefEngine *engine, TimingRowId row)
{
  unsigned cycles = timing_cycles(&engine->program->timing, row);
  engine->stats.paid[timing_trust(row)] += cycles ? cycles : 1;
  return cycles;
}

/* Whether --check asks for it: CHECKS_*. */
static inline bool ref_checks(const RefEngine *engine, unsigned what)
{
  return engine->options.checks & what;
}

/* ref_vec.c: vector operations */
/* What was started before the running operation `later`, or before now. */
Checked ref_running_before(const RefTile *tile, const VecRun *later);
StallCause ref_vec_plan(const RefEngine *engine, const RefTile *tile, unsigned thread,
                        RefPlan *plan, unsigned *elements, bool *by_control, bool *by_fifo,
                        uint8_t *stream);
void ref_vec_start(RefEngine *engine, RefTile *tile, const Insn *insn);
void ref_vec_group(RefEngine *engine, RefTile *tile, unsigned thread);
/* An asynchronous operation waits for a FIFO: the FIFO remembers it. */
void ref_vec_mark(RefTile *tile, unsigned thread);
/* A running operation of the tile takes the wavelet at the head of the input queue. */
bool ref_vec_takes(const RefTile *tile, unsigned queue, const Wavelet *head);

#endif
