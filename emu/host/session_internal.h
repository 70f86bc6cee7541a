/* What the files of a session and of its actions share; no other file includes it. */
#ifndef SESSION_INTERNAL_H
#define SESSION_INTERNAL_H

#include "emu/explain/explain.h"
#include "emu/fast/fast.h"
#include "emu/host/host.h"

#define HOST_DEFAULT_ENGINE engine_fast

typedef enum { OPERATION_COPY_IN, OPERATION_COPY_OUT, OPERATION_STREAM_IN, OPERATION_STREAM_OUT,
               OPERATION_LAUNCH } OperationKind;
typedef enum { OPERATION_QUEUED, OPERATION_ISSUED, OPERATION_DONE } OperationState;

typedef struct {
  WseTask id;
  OperationKind kind;
  OperationState state;
  WseTransfer transfer;
  const uint32_t *from;         /* host's buffers */
  uint32_t *to;
  uint32_t *received;           /* words of each tile so far; NULL until something is expected */
  size_t missing;               /* words to come; launch: tiles to unblock */
  uint32_t function, n_args;    /* words of its arguments */
  uint32_t args[MAX_LAUNCH_WORDS];
} Operation;

typedef struct Observers Observers;
typedef struct Progress Progress;

struct HostSession {
  SourceMap *sources;
  Diags *diags;
  Arena *arena;
  WseError error;
  char *error_text;
  WseError final_error;                            /* what has ended the run */
  char *image_bytes;                               /* of the file that the image is of */
  const Image *image;
  ImageMark image_mark;
  Program *program;
  const EngineOps *ops;
  Engine *engine;
  SessionOptions options;
  TraceSink trace;
  Observers *observers;                            /* NULL before the engine */
  Progress *progress;                              /* NULL: none */
  char **prints;                                   /* by tile, stb_ds: its unfinished line */
  const ImageBinding **bindings;                   /* by class, then export */
  HostChannel *channels;
  EngineLinks border;                              /* gates of the ports of the options */
  Operation *operations;                           /* stb_ds, in order of submission */
  WseTask first_id;                                /* of operations[0]; those before are done */
  size_t first_open;                               /* operations before it are done */
  unsigned idle_polls;                             /* questions in a row while nothing can move */
  uint32_t *unblocks_expected;                     /* by tile; NULL before the first launch */
  atomic_int interrupt;                            /* not 0: the run is to end */
  bool started, ended, more_launches;
  bool finishing;                                  /* what is left now stays */
  bool streaming;                                  /* words of streams since it last was quiet */
  bool quiet;                                      /* nothing moved when the engine last stopped */
  bool stream_settles;                             /* a caller waited for a stream in since then */
  size_t hazards_told;
  uint32_t streams_told[2];     /* colors that have been warned of: [0] to the host, [1] to tiles */
  uint64_t warned_of;                              /* cycle of rest that a warning reported, + 1 */
  HostPhase *phases;                               /* stb_ds */
  size_t phase;                                    /* the current one */
  HostPhase phase_before;                          /* what it held when its last action began */
  uint64_t posted_until;                           /* cycle of the host's last word to a tile */
  bool printed;                                    /* lines that are not flushed yet */
  bool phase_is_program, phase_has_command;
  bool phase_is_cut;                               /* a run that its limit has interrupted */
  double load_seconds, wall_seconds;
  EndlessWatch watch;
  EndlessLoop *loops;           /* stb_ds: nothing else can happen, so the last step has ended */
  SessionSnapshot **snapshots;                     /* stb_ds: those that are not freed */
};

/* How long the host waits for tiles to rest after they have done what it asked: some never rest,
 * because their tasks activate themselves for ever. */
enum { SESSION_PATIENCE_CYCLES = 1 << 20 };

/* ---- session_state.c */

/* Makes the text, from malloc, the session's error. */
WseStatus session_fail(HostSession *session, WseStatus status, char *text);
/* The findings of a level from the `from`-th on: stb_ds. */
Fault *session_faults(const HostSession *session, CheckLevel level, size_t from);
/* The session's engine is a recorder's. */
static inline bool session_is_recorded(const HostSession *s)
{
  return s->engine && !s->options.debugger && (s->options.save_state || s->options.load_state);
}
/* The engine whose tiles reports show: what they read is no action of the host, which a recorder
 * would keep. */
Engine *session_shown(const HostSession *session);
/* The symbol of a tile's program, or NULL after reporting. */
const ImageSymbol *session_symbol(HostSession *session, uint32_t tile, const char *name);
/* Every later operation gets the current error. */
WseStatus session_end(HostSession *session);
/* The run does not go on from the state of the file: ends it after reporting why. */
WseStatus session_state_error(HostSession *session);
/* A byte that a tile prints; `context` is the session.  Whole lines come out. */
void session_print(void *context, uint64_t cycle, uint32_t tile, uint8_t byte);
/* At the end of a run: the lines that tiles have begun. */
void session_print_rest(HostSession *session);
/* Words to the host for which no transfer has asked so far, and the first tile that sent some. */
typedef struct { uint64_t words; uint32_t tile; } UnaskedWords;
void session_unasked(HostSession *session, UnaskedWords unasked[MAX_COLORS]);
uint64_t session_unasked_of(HostSession *session, const ImageStream *stream);
/* What was printed and traced so far is there to be read. */
void session_flush(HostSession *session);
void session_flush_diags(HostSession *session, FILE *out);

/* ---- border.c, stepping.c ---------------------------------------------------------------- */

/* The session ends: its snapshots are of none. */
void session_leave_snapshots(HostSession *session);
/* Why a run with ports at the border cannot be; NULL: it can, or has none. */
const char *session_border_refusal(const SessionOptions *options);
/* Makes the gates of the ports; WSE_USAGE after reporting a port that cannot be. */
WseStatus session_border_open(HostSession *session);

/* ---- operations.c */

/* What the operations of the host wait for, until session_asked: words that continue "nothing can
 * happen any more", or NULL. */
const char *session_ask(HostSession *session, IdleQuestion *question);
void session_asked(IdleQuestion *question);

/* ---- collect.c */

/* Begins a phase.  is_program: its cycles count as the program's. */
void session_phase(HostSession *session, bool is_program, const char *verb, const char *what);
/* A phase's cycles: between its first and last event if it runs the program, none if it only
 * moves data of the host.  What remains of a phase with memcpy is the host's. */
void session_account(HostSession *session);
/* A run of another wafer's host has run this wafer, too: its cycles since then go to the phase that
 * runs the program, or to a new one.  False: there were none. */
bool session_take_up(HostSession *session);

/* ---- session_step.c */

/* Runs up to `limit` and accounts for it.  It ends earlier, neither quiet nor at the limit, if
 * nothing can happen any more but endless loops: `session->loops`. */
WseStatus session_step(HostSession *session, uint64_t limit, bool *quiet);
/* On a quiet fabric, or where a step has found endless loops: WSE_DEADLOCK with a report if
 * something is stuck; warns otherwise.  `why` continues "nothing can happen any more" (NULL: the
 * program waits). */
WseStatus session_stuck(HostSession *session, const IdleQuestion *question, const char *why);

/* ---- progress.c */

/* Looks at long runs if the options ask for it and there is a terminal, besides `next`, which may
 * be NULL.  NULL: none does. */
Pulse *progress_create(HostSession *session, Pulse *next);
void progress_destroy(HostSession *session);
/* Runs up to the end are one. */
void progress_begin(HostSession *session);
void progress_end(HostSession *session);
/* Runs the engine up to `limit`. */
RunStatus progress_run(HostSession *session, uint64_t limit);
/* Makes room for text on the terminal. */
void progress_hide(const HostSession *session);

/* ---- recorder.c */

/* `path` NULL: no states are written; `every` 0: none during runs. */
typedef struct {
  const char *path;
  uint64_t every;
  ImageMark image;
  const ClusterMember *member;  /* NULL: alone */
  ClusterStates *states;        /* of its cluster */
  void (*restored)(void *context, Engine *inner);   /* it stands where the state was written */
  void *context;
} RecorderOptions;
/* Makes an engine over one of `inner`.  It takes `from`, a state to go on from; NULL: none. */
Engine *recorder_create(const EngineOps *inner, Program *program, const EngineOptions *options,
                        const RecorderOptions *own, StateFile *from);
/* Writes the state as it is; between runs.  That of a wafer is a part of its cluster's. */
void recorder_save(Engine *engine);
void recorder_write(Engine *engine, FILE *out);
/* The run has ended before the host's operations have: what the host reads from now on, for its
 * prints at a stop, is no part of the run that a state goes on with. */
void recorder_close(Engine *engine);
/* The answers still come from the record: the tiles are as at the start. */
bool recorder_replays(Engine *engine);
/* The engine whose tiles are shown; what is read there is no part of the record, either. */
Engine *recorder_shown(Engine *engine);
Engine *recorder_inner(Engine *engine);
/* Why a state could not be written since the last call, from malloc; NULL: nothing is wrong. */
char *recorder_warning(Engine *engine);
/* Why the run cannot go on from the state; NULL: it can.  Runs then end as interrupted. */
const char *recorder_why(const Engine *engine);

/* ---- cluster_states.c: states of clusters */

/* All wafers add theirs, in order. */
void cluster_states_add(ClusterStates *states, Engine *recorder);
Engine *const *cluster_states_recorders(const ClusterStates *states);   /* stb_ds */
/* Where the state of the next wafer to be added lies in the file to go on from. */
StatePart cluster_states_next(const ClusterStates *states);
uint64_t cluster_states_cycle(const ClusterStates *states);     /* of that file */
void cluster_states_write(const ClusterStates *states, FILE *out);

/* ---- observers.c */

/* False after emitting what is wrong. Sets s->trace, which is unused if it has no kinds. */
bool observers_create(HostSession *s);
void observers_destroy(HostSession *s);
/* Where the engine's events go: all that are wanted, or those of switches alone; NULL: nowhere. */
TraceSink *observers_trace(HostSession *s);
TraceSink *observers_switches(HostSession *s);
/* What an observer wants the engine to count, and the pulse that looks at it; NULL: nothing. */
TileCounts *observers_counts(const HostSession *s);
Pulse *observers_pulse(const HostSession *s);
/* The run goes on from a state, where the engine stands. */
void observers_take_up(HostSession *s, Engine *engine);
/* Where a run to `limit` has to end, whether it has stopped there, and what is said then (from
 * malloc). */
uint64_t observers_limit(const HostSession *s, uint64_t limit);
bool observers_stopped(HostSession *s, RunStatus status);
char *observers_stop_text(const HostSession *s);
/* Nothing can move, or something is left. */
void observers_stuck(HostSession *s, const IdleQuestion *question);

/* ---- operation_checks.c: after reporting, an operation is refused and nothing has changed */

enum { WIDE_BYTES = 4, NARROW_BYTES = 2 };      /* of the elements of copies */
/* `in`: to the tiles. */
WseStatus session_check_transfer(HostSession *s, const WseTransfer *transfer, bool in);
/* Warns of numbers in a copy to the tiles that can be carried out. */
void session_check_values(HostSession *s, const WseTransfer *transfer, const uint32_t *words);
WseStatus session_check_launch(HostSession *s, uint32_t function, uint32_t n_args);

/* ---- operations.c */

/* Takes what tiles have sent to the host so far. */
void session_collect(HostSession *session);
/* Waits for all operations, those included that count as delivered only. */
WseStatus session_drain(HostSession *session);

/* ---- actions_read.c: actions of the command line, before anything runs */

/* An action with its names looked up. */
typedef struct {
  HostActionKind kind;
  uint32_t export_index;
  WseTransfer region;
  uint32_t elements;            /* of each tile, in its line of the array */
  bool own_extent;              /* a tile whose array is shorter takes part with its own length */
  const char *variable;         /* print: of the tiles' programs; NULL: an exported symbol */
  const char *file;             /* .npy; NULL: `words` */
  uint32_t *words;              /* h2d: row-major over tiles; stb_ds */
  uint32_t args[MAX_LAUNCH_WORDS], n_args, n_arg_words;
  WseTask task;                 /* launch: since it has begun */
} ActionStep;
/* Looks the names of an action up; false after reporting.  `action` is all zeros before. */
bool action_read(HostSession *session, const HostAction *given, ActionStep *action);
/* A variable of the tile that has a type; NULL: it has none of this name. */
const ImageSymbol *action_variable(const HostSession *s, uint32_t tile, const char *name);
/* Words of a transfer for one element: two for 64 bits, low half first as in memory. */
static inline uint32_t action_words(const ImageExport *export)
{
  return export->element_bytes > WIDE_BYTES ? export->element_bytes / WIDE_BYTES : 1;
}
/* Elements of a tile's line that its own array has. */
static inline uint32_t action_elements(const HostSession *s, const ActionStep *a, uint32_t tile)
{
  uint32_t own = session_tile_extent(s, tile, a->export_index);
  return a->own_extent && own && own < a->elements ? own : a->elements;
}

#endif
