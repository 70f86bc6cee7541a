/* The step of the fast engine: what its files offer each other.
 *
 * The build compiles the files of the engine as one unit, so that the compiler inlines small or hot
 * functions across files; so most functions are static. It compiles the files of the step twice:
 * with FAST_TRACED 1 as well, so that the loop of a run without a trace contains no code for
 * events. */
#ifndef FAST_STEP_H
#define FAST_STEP_H

#include "emu/fast/fast_internal.h"

#define EVENT(visit, ...)                                                                        \
  (FAST_TRACED ? turn_record(&(visit)->turn, (visit)->turn.trace, (TraceEvent){__VA_ARGS__})     \
               : (void)0)

#define LIKELY(condition) __builtin_expect((condition) != 0, 1)
#define UNLIKELY(condition) __builtin_expect((condition) != 0, 0)
#define RARE __attribute__((noinline))          /* kept out of the hot loop's code */
#define HOT inline __attribute__((always_inline))
#define STEP static __attribute__((unused))     /* for the other files of the unit */

/* What the tile that is visited does in this cycle. */
typedef struct {
  Turn turn;                    /* the tile's own part; the first member */
  /* the same for all tiles of a row in a cycle */
  FastEngine *engine;
  FastWorker *worker;
  uint64_t hop_visible, ramp_visible;   /* of what moves now: in the next router, in a queue */
  uint64_t output_visible;      /* of what is put into an output queue now: for the router */
  uint32_t row;
  /* the word of the map of awake tiles: the tile of its lowest bit, how many tiles */
  uint32_t first, tiles;
  uint64_t stay, above, below;  /* tiles of it that are awake in the next cycle, those of the word
                                   in the row above, in that below */
  /* of the tile */
  FastTile *tile;
  PortMask wake_ports;          /* neighbours that may send now: to a free slot, after a switch */
  uint8_t popped[MAX_QUEUES];   /* wavelets taken from input queues in this cycle */
  bool inside;                  /* the main thread has changed what nothing else can see */
  bool is_stretch;              /* what is carried out is ahead of its cycle: ahead.c; then: */
  const struct FastBeside *beside;     /* NULL: no microthread runs */
  size_t findings;              /* before the stretch */
  uint64_t last_beside;         /* last instruction beside an operation of the stretch; 0: none */
} Visit;

/* cycles.c, calendar.c, notes.c, queues.c and plain.c come first in the unit: what they define
 * needs no declaration.  beside.c, kept.c, steps.c and whole.c, which ahead.c is made of, come
 * behind all other files of the step. */

/* ---- storage.c ----------------------------------------------------------------------------- */

STEP inline int32_t wavelet_wait(uint32_t meta, uint64_t now);
STEP inline bool wavelet_seen(uint32_t meta, uint64_t now);
STEP inline uint8_t wavelet_field(uint32_t meta);
STEP inline uint32_t wavelet_meta(uint64_t visible, unsigned field, uint32_t flags);
STEP inline QueueUse queue_use(const FastQueue *q);
STEP inline void queue_note(FastQueue *q, QueueUse use);
STEP inline FastWavelet *queue_at(const FastQueues *both, bool output, unsigned index);
STEP inline FastWavelet *input_at(const FastQueues *both, unsigned index);
STEP inline FastWavelet *output_at(const FastQueues *both, unsigned index);
STEP inline FastWavelet queue_take(FastQueues *both, bool output);
STEP inline unsigned color_count(const FastColor *c);
STEP inline unsigned color_rx_position(const FastColor *c);
STEP inline unsigned color_tx_position(const FastColor *c);
STEP inline void color_set(FastColor *c, const ImageColorConfig *config, unsigned rx, unsigned tx);
STEP inline FastPlain *thread_plain(const Thread *thread);
STEP inline void plain_sync(Thread *thread);
STEP inline int32_t bridge_wait(const FastBridge *bridge, uint32_t number, uint64_t now);
STEP inline const ImageColorConfig *fast_config(const FastTile *tile, unsigned color);
STEP inline FastTile *fast_beside(const FastEngine *engine, FastTile *tile, unsigned port);
STEP inline bool step_is_host_color(const Visit *v, unsigned color);
STEP inline void stream_served(FastTile *tile, const FastPlain *plain, bool enters, bool leaves);
STEP inline void retry_moves(FastTile *tile, uint64_t now);
STEP inline void forget_stuck(FastTile *tile);
STEP inline SwitchMove *color_moves(const FastTile *t);
STEP inline FilterState *color_filters(const FastTile *t);
STEP RouterNow color_now(const FastTile *t, unsigned slot);

/* ---- ahead.c -------------------------------------------------------------------------------- */

/* The main thread is free: carries out what it does from this cycle on, as far as no other unit can
 * see it.  Returns whether an instruction issues now. */
bool fast_ahead(Visit *v);
/* The main thread's operation can do no group in this cycle: does those that follow but the last,
 * if nothing but its variables is concerned and no microthread can delay it. */
void plain_ahead(Visit *v);
/* A microthread that ranks above the main thread issues in this cycle, for which that has worked
 * ahead: what it does from now on is a cycle later.  False: it has gone back to this cycle, in
 * which nothing has been done yet. */
bool fast_delay_ahead(Visit *v);
/* The router may have changed in this cycle: what the main thread has read of it in later ones is
 * void. */
void fast_read_again(Visit *v);
/* One of the microthreads that run may do so. */
bool fast_has_turns(const FastTile *tile);

/* ---- tasks.c ------------------------------------------------------------------------------- */

STEP HOT void note_stall(Visit *v, StallCause cause);
STEP HOT bool is_lone(const FastTile *t);
STEP HOT bool visit_tile(Visit *v);

/* ---- router.c ------------------------------------------------------------------------------ */

STEP RARE void close_inputs(FastColor *c, const ImageColorConfig *config);
STEP HOT unsigned open_at_start(const Visit *v, const FastColor *c);
STEP HOT bool step_color_accepts(const Visit *v, const FastColor *c, PortMask enters);
STEP RARE void add_chore(Visit *v, const FastTile *t, FastChoreKind kind, unsigned slot);
STEP HOT void slot_push(Visit *v, FastTile *t, unsigned slot, FastWavelet w, unsigned enters);
STEP HOT void slot_pop(Visit *v, FastTile *t, unsigned slot);
STEP RARE void settle_meeting(FastWorker *worker, const FastChore *meeting);
STEP HOT bool link_accepts(Visit *v, FastTile *next, unsigned slot, unsigned port);
STEP HOT void wake_senders(Visit *v, const FastColor *c);
STEP HOT void link_push(Visit *v, FastTile *next, unsigned slot, FastWavelet w, unsigned port);
STEP RARE void commit_register(Visit *v);
STEP HOT bool visit_router(Visit *v);

/* ---- stream.c ------------------------------------------------------------------------------ */

STEP HOT bool visit_stream(Visit *v, FastTile *t, uint32_t index);

/* ---- edges.c ------------------------------------------------------------------------------- */

STEP void edges_create(FastEngine *engine);
STEP void edges_destroy(FastEngine *engine);
/* The cycles of the block, in the rows that the others have left out; peers meet in each. */
STEP void run_edges(FastWorker *worker, void (*run_rows)(Visit *v, FastRows rows));

/* ---- block.c ------------------------------------------------------------------------------- */

STEP bool step_link_accepts(const Engine *engine, uint32_t tile, uint8_t color, Port port);
STEP HOT void row_chores(const Visit *v, uint32_t row, FastColumns columns);
STEP void serve_host(FastWorker *worker);
STEP void end_block(FastEngine *e);

#endif
