/* emu/engine: what an engine is.  An engine runs a program cycle by cycle; hosts, traces, reports
 * and the command line talk to it through EngineOps only.
 *
 * Two engines implement the same machine: emu/reference, plain and obviously correct, and emu/fast.
 * Everything that has a single right answer is shared: decoded code, timing, scalar semantics, the
 * arithmetic of one vector element, tile memory, fault and trace records.
 *
 * Reading order: trace, engine (the cycle, and what both engines owe), timers, host_words, links,
 * link_state, crew, pulse, print, state, snapshot, state_file.
 */
#ifndef EMU_ENGINE_H
#define EMU_ENGINE_H

#include "emu/fabric/fabric.h"
#include "emu/tile/tile.h"

#include <stdatomic.h>
#include <stdio.h>

typedef struct Engine Engine;
typedef struct EngineOps EngineOps;

/* ---- engine.c ---------------------------------------------------------------------------- */

/* Whether another thread or a signal has asked the run to end. */
static inline bool engine_interrupted(const atomic_int *interrupt)
{
  return interrupt && atomic_load_explicit(interrupt, memory_order_relaxed) != 0;
}

/* ---- timers.c: tiles that wait for a cycle --------------------------------------------------- */

/* Timers are a binary heap in a stb_ds array: timers[0] is the first by cycle, then by tile. */
typedef struct { uint64_t cycle; uint32_t tile; } Timer;
void timers_push(Timer **timers, Timer timer);
/* Takes out the first; there must be one. */
Timer timers_pop(Timer *heap);

/* ---- counts of a tile ---------------------------------------------------------------------------
 *
 * What the statistics say of all tiles, of each of them: for observers that need no events.  An
 * engine that can do so (`counts_tiles`) brings them up to date by the end of each run. */

#define TILE_COUNT_ROWS(ROW)                                                                     \
  ROW(instructions) ROW(groups) ROW(elements) ROW(tasks) ROW(sent)                               \
  ROW(north) ROW(south) ROW(east) ROW(west) ROW(delivered)                                       \
  ROW(paused) ROW(input) ROW(fifo) ROW(output) ROW(issue) ROW(bank)
typedef enum {
#define ROW(name) COUNT_##name,
  TILE_COUNT_ROWS(ROW)
#undef ROW
  TILE_COUNTS
} TileCount;
/* Modulo 2^32: differences count. */
typedef struct { uint32_t of[TILE_COUNTS]; } TileCounts;
_Static_assert(COUNT_west - COUNT_north == (int)PORT_WEST, "links are in the order of ports");
_Static_assert(COUNT_bank - COUNT_paused == (int)STALL_BANK - (int)STALL_PAUSED,
               "waits are in the order of causes");

/* ---- pulse.c: a look at a long run from outside ------------------------------------------------
 *
 * Who wants to know how far a run has come has it run in parts, which change nothing else.  Engines
 * that are made of another one (recorder, timeline) pass the pulse on to that. */

typedef struct Pulse Pulse;
struct Pulse {
  Pulse *next;                  /* another one that looks; NULL: none */
  unsigned depth;               /* of pulse_begin */
  /* Runs of one operation follow, until the end; NULL: it does not matter. */
  void (*begin)(Pulse *pulse);
  void (*end)(Pulse *pulse);
  /* The engine stands between two parts; the number of cycles of the next one. */
  uint64_t (*look)(Pulse *pulse, const Engine *engine);
};

/* ---- peers: one fabric on several processes ---------------------------------------------------
 *
 * Each process runs some rows of the fabric, and all take part in every run.  What follows is all
 * that an engine asks of the others; emu/ranks provides it. */

enum {                          /* flags of a vote */
  VOTE_FAULTS = 1, VOTE_PRINTS = 2, VOTE_INTERRUPT = 4, VOTE_STOP = 8,
  VOTE_HOSTED = 16,             /* the host has sent a wavelet, or has been sent one */
};
/* What processes agree on: the least, the largest, the sum, or all flags. */
typedef struct {
  uint64_t due;                 /* least: the next cycle with something to do; UINT64_MAX none */
  uint64_t block;               /* least: most cycles of a block */
  uint64_t last_awake, last_change;   /* largest */
  uint64_t visits;              /* sum, of the last block */
  uint64_t flags;
} PeerVote;

typedef struct Peers Peers;
struct Peers {
  unsigned number, count;       /* of this process, from 0; of all */
  uint32_t first_row, end_row;  /* its rows; the process before has those before them */
  /* All of them call: the vote becomes that of all. */
  void (*vote)(Peers *peers, PeerVote *vote);
  /* All of them call: appends what they give, in order of their numbers, to *all (stb_ds): to that
   * of each process with `spread`, else to that of the first one. */
  void (*gather)(Peers *peers, const void *bytes, size_t n_bytes, bool spread,
                 unsigned char **all);
  /* Neighbours call: sends to those before and behind, and replaces what came from them (stb_ds).
   * A part without a neighbour is left alone. */
  void (*swap)(Peers *peers, unsigned char *const to[2], unsigned char *from[2]);
  /* A tile of this process has sent a word to the host. */
  void (*sent)(Peers *peers, uint32_t tile);
};

/* ---- homes: several fabrics on several processes ----------------------------------------------
 *
 * Each process runs some fabrics alone.  Where the host is, an engine of emu/ranks stands for each
 * fabric of another process: `begin` starts the runs of all of them, and EngineOps.run waits for
 * that of one. */

typedef struct {
  unsigned count;               /* processes; that of the host is number 0 */
  void (*begin)(Engine *const *engines, size_t n, uint64_t limit);
} EngineHomes;
/* Of one fabric. */
typedef struct {
  unsigned process;             /* 0: no other one than that of the host */
  unsigned threads;             /* of that process, for all fabrics that it runs */
  const EngineOps *ops;         /* the engine there */
} EngineHome;

/* ---- links.c: links to other fabrics ----------------------------------------------------------
 *
 * A link joins sides of two tiles at the edges of two fabrics, its gates.  What a router sends out
 * of a gate on a color of the link in cycle t is at the other gate from cycle t + latency on, waits
 * there in a buffer of that color, and enters the router like a neighbour's wavelet.  A sender has
 * as many credits as the buffer has places; the place of a word that has entered in cycle t is the
 * sender's again in cycle t + latency.  So nothing that happens at one end matters at the other
 * within the latency, and emu/cluster lets the fabrics run apart for that long.
 *
 * Who owns a fabric calls links_pass between its runs; the engine calls all the rest. */

typedef struct { uint64_t cycle; uint32_t payload; bool control; } LinkWord;
/* One color of a gate. */
typedef struct {
  uint8_t color;
  bool refused;                 /* a wavelet waits for room */
  uint32_t credits;
  uint64_t *returns;            /* stb_ds: the cycles from which there is one more; from `at` on */
  size_t at;
  size_t told;                  /* of those from `at` on: another process that runs the fabric has
                                   them */
  LinkWord *sent;               /* stb_ds: since links_pass, with the cycles */
} LinkOut;
typedef struct {
  uint8_t color;
  LinkWord *coming;             /* stb_ds: with the cycles of their arrival; from `at` on */
  size_t at, told;              /* as in LinkOut */
  uint64_t *entered;            /* stb_ds: cycles in which words did so since links_pass */
} LinkIn;
/* What has gone through a gate. */
typedef struct {
  uint64_t free_at;             /* when the next word can leave, in 1/num cycles */
  uint64_t words_out, first_out, last_out;      /* how many have left, and when */
  uint64_t last_in;             /* the one of LinkGate.ins whose word has entered last */
} LinkFlow;
typedef struct {
  uint32_t tile;
  Port port;
  uint32_t rate_num, rate_den;  /* most words per cycle that leave: num / den, at most 1 */
  LinkFlow flow;
  LinkOut *outs;                /* stb_ds */
  LinkIn *ins;                  /* stb_ds */
} LinkGate;
typedef struct EngineLinks { LinkGate *gates; } EngineLinks;    /* stb_ds, by tile and port */

/* Sorts the gates, whose colors are given; to be freed by links_free. */
void links_sort(EngineLinks *links);
LinkGate *links_gate(const EngineLinks *links, uint32_t tile, Port port);   /* NULL: none */
bool links_touch(const EngineLinks *links, uint32_t tile);    /* it has a gate */
void links_free(EngineLinks *links);
/* Between runs: takes what has passed from one end to the other, both ways of one color.  True if
 * there was anything. */
bool links_pass(LinkOut *out, LinkIn *in, uint64_t latency);

/* A wavelet of the color may leave by this side of the tile; so may one that no link takes. */
bool links_have_room(EngineLinks *links, uint32_t tile, Port port, uint8_t color, uint64_t cycle);
/* It leaves.  False: no link takes it. */
bool links_send(EngineLinks *links, uint32_t tile, Port port, uint8_t color, LinkWord word);
/* Whether a word that has arrived can enter the router, as the engine sees it. */
typedef bool LinkAccepts(const Engine *engine, uint32_t tile, uint8_t color, Port port);
/* The color whose word enters by the gate in this cycle; NULL: none.  The colors take turns. */
LinkIn *links_entering(LinkGate *gate, const Engine *engine, uint64_t cycle, LinkAccepts *accepts);
/* Takes this word. */
LinkWord links_enter(LinkGate *gate, LinkIn *in, uint64_t cycle);
/* The first cycle from `now` on in which a word can enter or a wavelet that waits can leave, if
 * nothing else happens; UINT64_MAX: never. */
uint64_t links_due(const EngineLinks *links, const Engine *engine, uint64_t now,
                   LinkAccepts *accepts);
/* The next tile, from gate *at on, with a wavelet that waited for room and now has it; NO_TILE at
 * the end. */
uint32_t links_wake(EngineLinks *links, size_t *at, uint64_t now);

/* ---- link_state.c: gates as bytes, between runs ---------------------------------------------- */

/* All of the gates. */
void links_put(const EngineLinks *links, unsigned char **bytes);
/* Instead of those that it has; false: the bytes are of no gates. */
bool links_get(EngineLinks *links, StateReader *in);
/* A process has gates whose fabric another one runs, which has them, too.  Before a run that one
 * gets what has come since the run before; after it, its gates say what they have done. */
void links_news_put(EngineLinks *links, unsigned char **bytes);
bool links_news_get(EngineLinks *links, StateReader *in);
void links_deeds_put(EngineLinks *links, unsigned char **bytes);
bool links_deeds_get(EngineLinks *links, StateReader *in);
/* The other process has got all of the gates. */
void links_are_told(EngineLinks *links);

/* ---- crew.c: threads that share pieces of work --------------------------------------------- */

typedef struct WorkCrew WorkCrew;
/* `members`: threads, the caller's included.  The pieces are independent: any thread may do any of
 * them at any time. */
WorkCrew *work_crew_create(unsigned members, void (*piece)(void *context, size_t number),
                           void *context);
/* Does pieces 0 to n - 1. */
void work_crew_run(WorkCrew *crew, size_t n);
void work_crew_destroy(WorkCrew *crew);     /* NULL: nothing */

/* ---- engine.c: the interface of both engines ---------------------------------------------------
 *
 * The cycle.  All units read the state at the start of the cycle.  Order of a tile's events
 * within a cycle:
 *   1  actions that take effect now (completed operations), in order of issue; then waits of
 *      vector operations that have ended, by thread
 *   2  control wavelets at queue heads without a bound task are dropped, by queue
 *   3  the scheduler picks
 *   4  the issued instruction or element group, with its queue pops, pushes and effects; if it
 *      ended its operation, EV_DONE last
 *   5  the router: moves in arbitration order, each followed by its switch change and by the push
 *      into the input queue (payload as delivered); then the wavelet that it takes from the ramp
 *   6  the host port: word in, word out
 */

typedef struct {
  CheckLevel check;             /* hazards: ignored, recorded, or recorded and the run ends */
  unsigned checks;              /* CHECKS_* */
  unsigned threads;             /* fast engine; 0 and 1: none besides the caller */
  uint32_t shuffle;             /* for tests: 0 natural visiting order; reference: seed of another,
                                   fast: backwards, and always all threads */
  /* for tests: fast engine, cycles of every block; of it, rows and columns that run a cycle
     together; 0 as fits */
  unsigned block, front_rows, front_columns;
  TraceSink *trace;             /* NULL none */
  TraceSink *switches;          /* gets the switch events of a run without a trace, those of a tile
                                   in order; NULL none.  Engines with `counts_tiles` have them */
  const atomic_int *interrupt;  /* not 0: the run ends after the block of cycles; NULL none */
  /* Bytes written to SIM_PRINT; NULL: dropped. */
  void (*print)(void *context, uint64_t cycle, uint32_t tile, uint8_t byte);
  void *print_context;
  Peers *peers;                 /* NULL: this process has the whole fabric */
  EngineHome home;              /* engine_ranks: another process has it */
  EngineLinks *links;           /* NULL: to no other fabric */
  TileCounts *counts;           /* by tile, zeroed; NULL: no observer wants them */
  Pulse *pulse;                 /* of the caller of engine_run; NULL: none */
} EngineOptions;

typedef enum {
  RUN_QUIET,                    /* no event can happen any more without the host */
  RUN_FAULT,                    /* engine_faults has at least one that ends the run */
  RUN_LIMIT,                    /* the given cycle was reached, or the trace's `stop` was set */
  RUN_INTERRUPTED,              /* the interrupt was set */
  RUN_ELSEWHERE,                /* a finding in another fabric of the cluster has ended the run */
} RunStatus;

/* ---- host_words.c, engine.c -------------------------------------------------------------- */

/* Words that the host has for a tile.  Those of a color keep their order; a color whose queue has
 * no room holds up no other. The color with the earliest posted word goes first among those that
 * can go. */
typedef struct { uint64_t cycle; uint32_t word, number; } PostedWord;       /* in order posted */
typedef struct { uint8_t color; PostedWord *words; size_t at; } HostLane;   /* stb_ds */
typedef struct { HostLane *lanes; uint32_t posted; } HostWords;             /* stb_ds */
const PostedWord *host_lane_head(const HostLane *lane);                     /* NULL: none */
/* When the next word after `now` is there; UINT64_MAX never. */
uint64_t host_words_due(const HostWords *words, uint64_t now);
/* Some word is there in that cycle. */
bool host_words_there(const HostWords *words, uint64_t cycle);
uint32_t host_words_pending(const HostWords *words);

/* What passes between a tile and the host. */
typedef struct { uint64_t cycle; uint32_t word; uint8_t color; } HostWord;
typedef struct {
  HostWords posted;
  HostWord *sent;               /* stb_ds */
} HostPort;
void host_port_free(HostPort *host);
/* As EngineOps.take; `host` NULL: nothing has been sent. */
size_t host_port_take(HostPort *host, unsigned color, uint32_t *words, uint64_t *cycles,
                      size_t max);

/* The channel by which words of tiles leave for the host. */
typedef struct { uint64_t free_at; uint32_t last_tile; } HostOut;   /* in 1/num cycles */

/* What an engine knows of a run beside its tiles. */
typedef struct {
  uint64_t cycle;
  uint64_t last_change;         /* cycle after the last one in which anything changed */
  bool stopped, quiet;
  EngineStats stats;
  HostOut *channels;            /* stb_ds: all of the host port's */
  Fault *faults;                /* stb_ds */
} EngineTotals;

/* ---- engine.c -------------------------------------------------------------------------- */

/* What an engine shows of a tile, for reports and tests.  Taken between cycles. */
typedef enum { THREAD_IDLE, THREAD_RUNNING, THREAD_VECTOR } ThreadState;
typedef struct {
  ThreadState state;
  StallCause waiting;           /* THREAD_VECTOR: what for; STALL_NONE: could go on */
  StallCause stalled;           /* THREAD_VECTOR: the wait that the statistics do not have yet */
  uint64_t stalled_since;
  uint8_t stream;               /* STALL_INPUT: 1 src0, 2 src1; STALL_OUTPUT: 0 dest */
  uint16_t pc;                  /* main: next, last, or vector instruction */
  const VecRun *run;            /* THREAD_VECTOR */
  TaskKind task;                /* main: what runs */
  uint8_t task_id;
  uint8_t awaited;              /* main: the thread whose end it waits for; 0: none */
} InspectThread;
/* kept: a control wavelet that has ended an operation. */
typedef struct {
  uint32_t payload;
  uint8_t color;
  bool control, kept;
  uint64_t visible;
} InspectWavelet;
typedef struct {
  uint8_t count, capacity;      /* in flight on the ramp included */
  QueueUse use;
  InspectWavelet head;          /* count > 0 */
} InspectQueue;
typedef struct {
  InspectWavelet head;          /* count > 0 */
  SwitchMove moved;             /* of a color with switches in the layout */
  bool configured, suspended;
  uint8_t count;                /* wavelets in the router's slots */
  uint8_t head_from;            /* Port */
  PortMask rx, tx;              /* of the current positions */
  uint8_t position;
} InspectColor;
typedef struct {
  bool has_code;
  InspectThread threads[1 + MAX_MICROTHREADS];
  uint64_t active, blocked;     /* by task id */
  const TileRecord *record;
  uint8_t paused;               /* microthreads */
  uint8_t flushed[2];           /* input and output queues whose flush has not been ended */
  const uint16_t *blocked_at;   /* last block, pc by block_place; PC_RETURN never; NULL none */
  InspectQueue input[MAX_QUEUES], output[MAX_QUEUES];
  InspectColor colors[MAX_COLORS];
  uint32_t host_pending;        /* words posted and not yet taken into an input queue */
  uint64_t wavelets_seen;       /* taken into input queues since the start */
} InspectTile;

/* State, between cycles, in the one form that all engines share: state.c.  What is restored goes
 * into an engine that has just been created, totals first; it then runs as the one that was
 * saved. */
typedef struct {
  void (*totals_out)(Engine *engine, EngineTotals *totals);     /* first, before any tile */
  void (*totals_in)(Engine *engine, const EngineTotals *totals);
  /* Appends a tile to the stb_ds array: tile_save, then fabric_put, then host_words_put. */
  void (*tile_out)(Engine *engine, uint32_t tile, unsigned char **bytes);
  bool (*tile_in)(Engine *engine, uint32_t tile, StateReader *in);
} EngineKeeper;

struct EngineOps {
  const char *name;             /* "reference", "fast" */
  bool counts_tiles;            /* it fills the `counts` of its options */
  Engine *(*create)(Program *program, const EngineOptions *options);
  void (*destroy)(Engine *engine);
  /* Runs whole cycles until quiet, a fault, or until the next cycle would be `limit`. */
  RunStatus (*run)(Engine *engine, uint64_t limit);
  uint64_t (*cycle)(const Engine *engine);        /* the next cycle to run */
  /* Lets time pass for the host: nothing happens on the quiet fabric until `cycle`. */
  void (*skip_to)(Engine *engine, uint64_t cycle);
  const EngineStats *(*stats)(const Engine *engine);
  void (*phase_begin)(Engine *engine);            /* forgets first_event and last_event */
  /* Hazards found so far and the fault that ended the run, in order. */
  const Fault *(*faults)(const Engine *engine, size_t *count);
  void (*inspect)(Engine *engine, uint32_t tile, InspectTile *out);
  /* True if the tile may differ from its loaded state; so reports need not visit a million
   * tiles. */
  bool (*touched)(const Engine *engine, uint32_t tile);
  /* True if nothing waits at the tile or is left in it, it has lost no control wavelet, and has had
   * no teardown and no flush.  NULL: that is not known of any tile. */
  bool (*at_rest)(const Engine *engine, uint32_t tile);
  const Registers *(*registers)(Engine *engine, uint32_t tile);   /* tests; NULL: not touched */

  /* Host port.  Memory, for a quiet fabric: zero cycles.  False: outside the tile's memory. */
  bool (*mem_read)(Engine *engine, uint32_t tile, uint32_t address, void *to, uint32_t bytes);
  bool (*mem_write)(Engine *engine, uint32_t tile, uint32_t address, const void *from,
                    uint32_t bytes);
  /* Calls a fn() void on the tile's main thread as soon as that is idle, before any task; false
   * if the tile has no code or a launch is pending already. */
  bool (*launch)(Engine *engine, uint32_t tile, uint16_t entry);
  /* A word for the input queue of `color`; it reaches the tile's ramp at `cycle` at the earliest
   * and keeps its order among the tile's words.  host_channel_time gives such cycles. */
  bool (*post)(Engine *engine, uint32_t tile, unsigned color, uint32_t word, uint64_t cycle);
  /* Takes up to `max` words that the tile has sent to the host on `color`, oldest first; with
   * `cycles` not NULL also when each left.  Returns how many. */
  size_t (*take)(Engine *engine, uint32_t tile, unsigned color, uint32_t *words, uint64_t *cycles,
                 size_t max);
  /* How often the tile has written 1 to CMD_STREAM. */
  uint32_t (*unblock_count)(Engine *engine, uint32_t tile);

  /* For the functions that both engines share. */
  Tile *(*tile)(Engine *engine, uint32_t tile, bool touch);     /* NULL: as loaded */
  HostPort *(*host)(Engine *engine, uint32_t tile, bool create);    /* NULL: none yet */
  /* Something of the tile is due in the cycle: it has been launched or posted a word. */
  void (*wake)(Engine *engine, uint32_t tile, uint64_t cycle);

  const EngineKeeper *keeper;
};

/* Every engine struct begins with this. */
struct Engine {
  const EngineOps *ops;
  Program *program;
  EngineOptions options;
  uint64_t cycle;               /* the next one to run */
  uint64_t last_change;         /* the one after the last in which anything has changed */
  Fault *faults;                /* stb_ds */
  bool stopped;                 /* by one of them */
  bool quiet;                   /* nothing is going to happen without the host */
  /* The run is one part of a longer one, which has begun here: if nothing more happens, it ends
   * where the longer one would. */
  bool continues;
  uint64_t begun;
  /* Another part follows at once, before which nothing but looks of a pulse happens. */
  bool pauses;
};

/* Where a run ends that has become quiet, `now` being where this part of it has begun. */
static inline uint64_t engine_quiet_cycle(const Engine *engine, uint64_t now)
{
  uint64_t floor = engine->continues && engine->begun < now ? engine->begun : now;
  return engine->last_change > floor ? engine->last_change : floor;
}

/* ---- pulse.c ---- */

/* What ops->run does, with looks of the pulse of the engine's options. */
RunStatus engine_run(Engine *engine, uint64_t limit);
/* Between them are the runs of one operation: the outermost pair counts.  `pulse` may be NULL. */
void pulse_begin(Pulse *pulse);
void pulse_end(Pulse *pulse);
/* All of them look; returns the cycles after which they want to look again. */
uint64_t pulse_look(Pulse *pulse, const Engine *engine);

/* ---- engine.c ---- */

uint64_t engine_cycle(const Engine *engine);
const Fault *engine_faults(const Engine *engine, size_t *count);
bool engine_touched(const Engine *engine, uint32_t tile);
/* Of any engine: a report has nothing to say about what the tile is doing. */
bool engine_at_rest(const Engine *engine, uint32_t tile);
const Registers *engine_registers(Engine *engine, uint32_t tile);
uint32_t engine_unblock_count(Engine *engine, uint32_t tile);
bool engine_mem_read(Engine *engine, uint32_t tile, uint32_t address, void *to, uint32_t bytes);
bool engine_mem_write(Engine *engine, uint32_t tile, uint32_t address, const void *from,
                      uint32_t bytes);
bool engine_launch(Engine *engine, uint32_t tile, uint16_t entry);
bool engine_post(Engine *engine, uint32_t tile, unsigned color, uint32_t word, uint64_t cycle);
size_t engine_take(Engine *engine, uint32_t tile, unsigned color, uint32_t *words,
                   uint64_t *cycles, size_t max);

uint64_t engine_stats_hops(const EngineStats *stats);    /* over all links */
/* The sum of two parts of a fabric, or of a run. */
void engine_stats_add(EngineStats *sum, const EngineStats *add);

/* Of one or more cycles, each tile's in their order (stb_ds). */
void engine_deliver_events(TraceSink *sink, const TraceEvent *events);
void engine_deliver_prints(const Engine *engine, TilePrint *prints);

/* ---- print.c -------------------------------------------------------------------------------- */

enum { PRINT_TEXT_BYTES = 64 };     /* more than the longest number */
/* The characters of what a tile has printed, without a zero behind them; their number. */
size_t print_text(const TilePrint *print, char text[PRINT_TEXT_BYTES]);

/* ---- engine.c ------------------------------------------------------------------------------- */

/* Those up to the first cycle with one that ends the run. */
void engine_collect_faults(Engine *engine, Fault *found);
/* Between cycles: the tile but for queues and router. */
void engine_inspect(Turn *turn, InspectTile *out);

bool host_out_is_free(const HostOut *out, const Timing *timing, uint64_t cycle);
uint64_t host_out_due(const HostOut *out, const Timing *timing);    /* when it is free */
/* It takes a word of the tile. */
void host_out_serve(HostOut *out, const Timing *timing, uint64_t cycle, uint32_t tile);

/* The time line of one host channel: a word that is ready at `cycle` occupies the channel for
 * den/num cycles after those before it; returns the cycle in which it reaches the ramp.  Words
 * sent to many tiles at once (commands) are charged once. */
typedef struct { uint64_t free_at; } HostChannel;   /* in 1/num cycles */
uint64_t host_channel_time(HostChannel *channel, const Timing *timing, uint64_t cycle);

/* ---- state.c: a tile's queues, router and host words as bytes ------------------------------- */

enum { STATE_WAVELETS = 16 };   /* at most in a queue or in the slots of a color */
typedef struct {
  uint64_t visible;             /* first cycle in which its holder can see it */
  uint32_t payload;
  uint8_t color;                /* queues */
  uint8_t from;                 /* Port: slots */
  bool control, kept, advance;
} StateWavelet;
typedef struct { QueueUse use; unsigned n; StateWavelet at[STATE_WAVELETS]; } StateQueue;
typedef struct {
  bool configured;              /* else the rest is not there */
  bool suspended, rewritten;    /* rewritten: `own` */
  uint8_t rx, tx;               /* positions */
  SwitchMove moved;
  FilterState filter;
  RouterConfig own;
  unsigned n;
  StateWavelet at[STATE_WAVELETS];      /* the oldest first */
} StateColor;
/* What an engine keeps of a tile in its own way. */
typedef struct {
  StateQueue queues[2][MAX_QUEUES];     /* input, output */
  StateColor colors[MAX_COLORS];
  uint8_t first_color;          /* served first in the last cycle with a move */
  uint8_t last_ramp_queue;
} StateFabric;
void fabric_put(const StateFabric *fabric, unsigned char **bytes);
/* False: the bytes are of no such tile. */
bool fabric_get(StateFabric *fabric, const Program *program, uint32_t tile, StateReader *in);
/* Words that are on their way to the tile; NULL: none. */
void host_words_put(const HostWords *words, unsigned char **bytes);
/* Posts them to the tile. */
bool host_words_get(Engine *engine, uint32_t tile, StateReader *in);
void totals_put(const EngineTotals *totals, unsigned char **bytes);
/* Its lists are the caller's, on failure, too. */
bool totals_get(EngineTotals *totals, const Program *program, StateReader *in);
void totals_free(EngineTotals *totals);

/* ---- snapshot.c: states in memory ------------------------------------------------------------ */

typedef struct Snapshot Snapshot;
/* The engine as it is between cycles.  Shares with `before` (NULL none) what is equal. */
Snapshot *snapshot_take(Engine *engine, const Snapshot *before);
void snapshot_free(Snapshot *snapshot);
uint64_t snapshot_cycle(const Snapshot *snapshot);
/* Its memory; what several share counts in parts. */
size_t snapshot_bytes(const Snapshot *snapshot);
/* Into an engine for the same program that has just been created. */
void snapshot_restore(const Snapshot *snapshot, Engine *engine);

/* ---- state_file.c: states in files ----------------------------------------------------------- */

/* What a program is known by: the image's checksum and size. */
typedef struct { uint32_t crc, bytes; } ImageMark;
/* Writes the engine's state, and bytes of the caller's; the stream's error says whether it has
 * arrived. */
void state_file_write(FILE *out, Engine *engine, ImageMark image, const void *extra,
                      size_t n_extra);
typedef struct StateFile StateFile;
/* How a file with states of several fabrics begins (emu/host/cluster_states.c). */
#define STATE_CLUSTER_MAGIC "WSECLUST"
/* Where a state lies in a file; 0 bytes: it is the whole file. */
typedef struct { uint64_t begin, bytes; } StatePart;
/* Reads a state and checks it, as a whole.  NULL with the reason, from malloc: it cannot be read,
 * it is no state, or damaged, or of another program, of another version of the emulator. */
StateFile *state_file_open(const char *path, StatePart part, const Program *program,
                           ImageMark image, char **why);
void state_file_close(StateFile *file);
/* The times and the marks of memory that the run of a state had, for a reader of cores; false:
 * state_file_open will say why it is no state of this image. */
bool state_file_settings(const char *path, ImageMark image, Timing *timing, bool *check_reads);
uint64_t state_file_cycle(const StateFile *file);
/* The bytes of the caller's, which live as long as the file. */
const unsigned char *state_file_extra(const StateFile *file, size_t *n);
/* Into an engine that has just been created; false with the reason, from malloc: it can only be
 * destroyed. */
bool state_file_restore(StateFile *file, Engine *engine, char **why);
/* The same for a reader of cores, whose engine will not run: it may lack the links of the run. */
bool state_file_show(StateFile *file, Engine *engine, char **why);

#endif
