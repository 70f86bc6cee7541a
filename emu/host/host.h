/* emu/host: the host's side of an emulated program.
 *
 * A Session drives one engine for the command line and for libwse alike: copies, launches,
 * streams, runs to quiet, phases, statistics, and the status that becomes an exit code.
 * docs/host-protocol.md describes its messages to the tiles.
 *
 * Reading order: engine_names, recorder, session_state, progress, session_step, operations,
 * operation_checks and transfer (the way of words), border, session, stepping, collect
 * (statistics), observers, npy, compress, options, outputs, actions_read, actions, cluster_states,
 * cluster_seats, clusters, command (the command line), debugging, libwse, diag.
 */
#ifndef HOST_H
#define HOST_H

#include "emu/cluster/cluster.h"
#include "emu/dap/dap.h"
#include "emu/debug/debug.h"
#include "emu/engine/engine.h"
#include "emu/include/wse.h"
#include "emu/observe/observe.h"

/* ---- diag.c: messages for users of the command line and the library -------------------------- */

#define DIAG_DEF "emu/host/diag.def"
#include "ir/base/diag_rows.h"

/* ---- engine_names.c -------------------------------------------------------------------------- */

/* NULL: no engine has this name. */
const EngineOps *engine_from_name(const char *name);

/* ---- session.c, session_state.c, operation_checks.c -------------------------------------- */

/* Text, JSON for Perfetto, or the log of the vendor's simulator. */
typedef enum { TRACE_AS_TEXT, TRACE_AS_PERFETTO, TRACE_AS_SIMLOG } TraceForm;
/* What a page is made of: large programs have counts, small ones events, unless the user says. */
typedef enum { PAGE_BY_TILES, PAGE_FROM_EVENTS, PAGE_FROM_COUNTS } PageSource;
typedef struct ClusterStates ClusterStates;
#define MOST_OBSERVED 16         /* of a run: wavelets that it follows, regions that it shows */
/* Zero-initialise, then set what differs from the defaults. */
typedef struct {
  const EngineOps *engine;      /* NULL: the default */
  unsigned threads;             /* 0: 1 */
  unsigned process_threads;     /* of the process that runs this wafer, for all of its wafers */
  uint64_t max_cycles;          /* 0: the default */
  CheckLevel check;             /* CHECK_OFF is 0 */
  unsigned checks;              /* CHECKS_* */
  uint32_t trace_kinds;         /* bits 1 << TraceKind; 0: no trace */
  FILE *trace_out;              /* stays the caller's */
  TraceForm trace_form;
  bool trace_ids;               /* lines of text about a wavelet have its number */
  bool has_region, has_cycles;  /* limits of the trace */
  uint32_t region[4];           /* x, y, width, height */
  uint64_t first_cycle, last_cycle;
  FILE *print_out;              /* bytes that tiles print, one line each; NULL: dropped */
  bool print_bare;              /* no tile before the text of such a line */
  bool check_reads;             /* a read of memory that was never written is a fault */
  bool left_is_error;           /* wavelets left behind at the end are an error */
  bool profile;
  bool page;                    /* session_write_page will be called */
  PageSource page_source;
  uint32_t watches[MOST_OBSERVED][4];   /* x, y, color, number of the wavelet */
  unsigned n_watches;
  const char *stop;             /* StopSpec as text; NULL: none */
  const char *timing;           /* rows of the table of times set otherwise; NULL: none */
  uint32_t dumps[MOST_OBSERVED][4];     /* tiles that are shown where the run stops or ends */
  unsigned n_dumps;
  FILE *observed_out;           /* for all that */
  bool progress;                /* long runs show on standard error how far they have come */
  double progress_seconds;      /* after so many; 0: the default */
  FILE *warnings;               /* findings that do not end the run; NULL: dropped */
  const TimelineFront *debugger;    /* it stops the run where it wants; NULL: none */
  const char *save_state;       /* the file of the run's state; NULL: none */
  uint64_t save_every;          /* cycles from one state to the next during runs; 0: at the end */
  const char *load_state;       /* the state to go on from; NULL: from the start */
  const char *core;             /* a state to look at: the run is over; NULL: none */
  const ClusterMember *member;  /* a wafer of a cluster, with which it runs; NULL: alone */
  ClusterStates *states;        /* of its cluster; NULL: none are written or gone on from */
  const atomic_int *interrupt;  /* that of another session, for all of a cluster; NULL: its own */
  const WsePort *ports;         /* live as long as the session */
  uint32_t n_ports;
} SessionOptions;

#define HOST_DEFAULT_MAX_CYCLES 1000000000
#define HOST_LOG_SECONDS 30      /* of a run before the first line where there is no terminal */

typedef struct HostSession HostSession;

/* A session without a program; only open, error and close accept it. */
HostSession *session_create(void);
/* Loads an image or an output directory of cslc. */
WseStatus session_open(HostSession *session, const char *path, const SessionOptions *options);
void session_close(HostSession *session);
/* The session fails as another one has, whose name begins the message. */
void session_fail_as(HostSession *session, const WseError *other, const char *name);
/* Asks the run to end with WSE_INTERRUPTED, now or when it continues.  From any thread or signal
 * handler. */
void session_interrupt(HostSession *session);
const atomic_int *session_interrupt_flag(const HostSession *session);
/* WSE_OK while host operations are possible; otherwise the error to return. */
WseStatus session_ended(HostSession *session);
/* The run has not come to its end: it was interrupted, or the caller has not waited for it. */
bool session_is_partial(const HostSession *session);
/* It stands in the state of a core. */
bool session_is_core(const HostSession *session);
const WseError *session_error(const HostSession *session);

Diags *session_diags(HostSession *session);
/* After a diag_...(session_diags(s), HOST_NOWHERE, ...): makes it the session's error. */
WseStatus session_usage(HostSession *session);
/* The name does not stand for several variables of the tile, or false after reporting. */
bool session_name_is_clear(HostSession *session, uint32_t tile, const char *name);
/* The same for a warning: it goes where the options say. */
void session_warn(HostSession *session);
/* Warns if the bytes from where the export points do not all lie in its variable. */
bool session_warn_read(HostSession *session, uint32_t export, uint32_t tile, uint32_t bytes);
/* Warns of the findings that no warning has named yet; the engine has been made. */
void session_warn_hazards(HostSession *session);
#define HOST_NOWHERE ((Span){0, 0})

/* NULL: it has no debugger. */
Timeline *session_timeline(HostSession *session);
const Image *session_image(const HostSession *session);
Program *session_program(const HostSession *session);
Arena *session_arena(const HostSession *session);
uint64_t session_cycle(const HostSession *session);

/* The export's number, or -1 with the error set. */
int64_t session_export(HostSession *session, const char *name);
/* What a tile knows of an export; NULL: it does not export it. */
const ImageBinding *session_binding(const HostSession *session, uint32_t tile,
                                    uint32_t export_index);
/* Elements of an exported array where any tile knows; 0 unknown. */
uint32_t session_extent(const HostSession *session, uint32_t export_index);
/* The same on one tile: tiles may hold arrays of different lengths under one name. */
uint32_t session_tile_extent(const HostSession *session, uint32_t tile, uint32_t export_index);

/* ---- border.c ---------------------------------------------------------------------------- */

/* Words at the ports of the options, as in wse.h. */
WseStatus session_port_send(HostSession *session, uint32_t port, const uint32_t *words, size_t n,
                            bool control);
WseStatus session_port_take(HostSession *session, uint32_t port, uint32_t *words, size_t max,
                            size_t *n);
WseStatus session_port_left(HostSession *session, uint32_t port, size_t *n);

/* ---- operations.c, session.c, observers.c, session_state.c ------------------------------- */

/* Host operations, as in wse.h: with `task` NULL they are done on return. */
WseStatus session_h2d(HostSession *session, const WseTransfer *transfer, const uint32_t *words,
                      WseTask *task);
WseStatus session_d2h(HostSession *session, const WseTransfer *transfer, uint32_t *words,
                      WseTask *task);
WseStatus session_launch(HostSession *session, uint32_t function, const uint32_t *args,
                         uint32_t n_args, WseTask *task);
/* A launch in two halves, between which other sessions of a cluster can begin theirs: the tiles get
 * the call; they carry it out. */
WseStatus session_launch_begin(HostSession *session, uint32_t function, const uint32_t *args,
                               uint32_t n_args, WseTask *task);
WseStatus session_launch_end(HostSession *session, WseTask task);
WseStatus session_wait(HostSession *session, WseTask task);
/* Makes progress; true too if the run has ended with an error; session_wait then reports it. */
bool session_is_done(HostSession *session, WseTask task);

/* Runs until quiet, or for `cycles` cycles (0: no limit besides max_cycles). */
WseStatus session_run(HostSession *session, uint64_t cycles);
/* Completes all operations, runs until quiet, and says whether something is stuck. */
WseStatus session_finish(HostSession *session);
/* Runs nothing and carries out no operation.  Where nothing is under way, as session_finish; else
 * warns of what the tiles have lost so far. */
WseStatus session_give_up(HostSession *session);
/* After the run, with any status: prints the watched wavelet and the dumps. */
void session_observed(HostSession *session);
/* Nothing more is written to the trace, whose stream may be closed. */
void session_end_trace(HostSession *session);
/* After the run, with any status: writes its state if the options say so. */
WseStatus session_save_state(HostSession *session);
/* Between operations: writes the state as it is, for debuggers and readers of cores. */
WseStatus session_dump_core(HostSession *session, const char *path);
/* After session_observed.  data_only: without the application that shows it. */
void session_write_page(HostSession *session, const char *title, bool data_only, FILE *out);
/* NULL: none was asked for. */
const Profile *session_profile(const HostSession *session);
/* True once any cycle was run. */
bool session_has_run(const HostSession *session);
/* Without memcpy: a launch that is followed by others may leave operations waiting for them. */
void session_expect_launches(HostSession *session, bool more);

/* Where an export's data lie in a tile; false: the pointer to them lies outside memory. */
bool session_data_address(HostSession *session, uint32_t tile, const ImageBinding *binding,
                          uint32_t *address);
/* A tile's memory at zero cycles: element bytes of an export as they lie there, pointers
 * followed.  False: outside the tile's memory. */
bool session_peek(HostSession *session, uint32_t tile, const ImageBinding *binding, uint32_t bytes,
                  void *to);
bool session_poke(HostSession *session, uint32_t tile, const ImageBinding *binding, uint32_t bytes,
                  const void *from);
/* After a peek or poke that has failed.  A host that does something else than in the run of its
 * state has no memory to look into: the report then names that mistake. */
WseStatus session_report_outside(HostSession *session, uint32_t tile, const char *name);
WseStatus session_read_symbol(HostSession *session, uint32_t tile, const char *name, void *bytes,
                              size_t capacity, size_t *size);
WseStatus session_write_symbol(HostSession *session, uint32_t tile, const char *name,
                               const void *bytes, size_t size);

/* ---- stepping.c: snapshots, steps, stop conditions ------------------------------------------- */

/* A snapshot of one session, which may end before it. */
typedef struct SessionSnapshot SessionSnapshot;
/* While no operation is on its way, without a debugger.  `before`: an earlier one, or NULL. */
WseStatus session_snapshot(HostSession *session, const SessionSnapshot *before,
                           SessionSnapshot **snapshot);
/* The session is as it was; after the end of a run, too. */
WseStatus session_go_back(HostSession *session, const SessionSnapshot *snapshot);
uint64_t session_snapshot_cycle(const SessionSnapshot *snapshot);
void session_snapshot_free(SessionSnapshot *snapshot);
/* As in wse.h. */
WseStatus session_step_tile(HostSession *session, uint32_t tile, WseStep unit, uint64_t count,
                            uint64_t most_cycles, bool *reached);
WseStatus session_run_until(HostSession *session, const WseStop *stops, size_t n,
                            uint64_t most_cycles, size_t *which);
WseStatus session_register(HostSession *session, uint32_t tile, const char *name, uint16_t *value,
                           bool write);

/* ---- collect.c: statistics -------------------------------------------------------------- */

/* If a host has very many actions, only the first of them get their own phases; later ones with the
 * same name share a phase, so that memory stays bounded. */
typedef struct {
  const char *action;           /* "run", "launch main", "h2d A" */
  uint64_t start, end;          /* cycles */
  uint64_t cycles, host_cycles;
  uint64_t count;               /* actions that share it */
} HostPhase;

typedef struct {
  const char *arch, *engine;
  unsigned threads, processes;
  uint64_t tiles;
  uint64_t cycles, host_cycles;
  const HostPhase *phases;
  size_t n_phases;
  double load_seconds, wall_seconds;
  const EngineStats *engine_stats;
  bool partial;                 /* the run has not come to its end */
  const char *timing;           /* rows of the table of times set otherwise; NULL: none */
} HostStats;

/* Valid until the next call on the session. */
HostStats session_stats(HostSession *session);
/* How jansson writes statistics: a decimal of up to 15 digits comes out as it is. */
#define STATS_JSON (JSON_INDENT(2) | JSON_REAL_PRECISION(15))
/* JSON text, keys as in docs/emulator.md; to be freed by the caller. */
char *host_stats_json(const HostStats *stats);

/* ---- transfer.c: geometry and words of transfers ---------------------------------------- */

/* Opcodes and flags of stdlib/memcpy: docs/host-protocol.md. */
typedef enum {
  COMMAND_WRITE_32 = 1, COMMAND_WRITE_16, COMMAND_READ_32, COMMAND_READ_16, COMMAND_LAUNCH
} CommandCode;
enum { COMMAND_FOLLOW_POINTER = 1, COMMAND_WORDS = 2 };
void host_command(CommandCode code, uint32_t address, uint32_t count, uint32_t flags,
                  uint32_t words[COMMAND_WORDS]);

/* Visits the tiles of a transfer, row by row. */
typedef struct {
  const WseTransfer *transfer;
  uint32_t columns, rows;
  uint32_t column, row;         /* of the tile that was visited last */
  uint64_t next;
} HostTiles;
HostTiles host_tiles(const WseTransfer *transfer);
/* False at the end. */
bool host_tiles_next(HostTiles *tiles, const Program *program, uint32_t *tile);
/* The tile in a column and row of the transfer, which counts only tiles that take part. */
uint32_t host_tiles_at(const HostTiles *tiles, const Program *program, uint32_t column,
                       uint32_t row);
size_t host_tile_count(const WseTransfer *transfer);
/* The host's buffer of a transfer: A[rows][columns][elements], in the given order. */
typedef struct { uint32_t rows, columns, elements; WseOrder order; } HostShape;
HostShape host_shape(const WseTransfer *transfer);
/* Where a tile's elements lie in the buffer: the first, and the distance from one to the next. */
typedef struct { size_t first, stride; } HostRun;
HostRun host_shape_run(const HostShape *shape, uint32_t column, uint32_t row);
/* Whether the region lies in the rectangle; emits the diagnostic if not. */
bool host_region_ok(HostSession *session, const WseTransfer *transfer);

/* ---- npy.c: arrays in files ------------------------------------------------------------- */

enum { NPY_MAX_DIMS = 64 };      /* as numpy */
typedef struct {
  char kind;                    /* 'i' 'u' 'f' 'b' */
  unsigned bytes;               /* of an element: 1, 2, 4 or 8 */
  unsigned n_dims;
  uint64_t shape[NPY_MAX_DIMS];
  uint64_t count;
  uint8_t *data;                /* row-major, little-endian; malloc'ed */
} NpyArray;

/* Reads arrays of at most `most_bytes` bytes of data. False with a reason that gives the place in
 * the file and the fault. */
bool npy_read(const char *path, uint64_t most_bytes, NpyArray *array, char *why, size_t why_size);
/* The same for the content of a file. */
bool npy_parse(const uint8_t *file, size_t size, NpyArray *array, char *why, size_t why_size);
void npy_free(NpyArray *array);
/* `array->count` is ignored; false with errno set. */
bool npy_write(const char *path, const NpyArray *array);

/* ---- options.c: the command line -------------------------------------------------------- */

typedef enum { HOST_H2D, HOST_LAUNCH, HOST_RUN, HOST_D2H, HOST_PRINT, HOST_NOTHING } HostActionKind;
typedef struct { HostActionKind kind; const char *text; } HostAction;   /* what stood after '=' */

typedef struct {
  const char *program;
  const char *cluster;          /* a cluster file instead of a program; NULL */
  HostAction *actions;          /* stb_ds array */
  SessionOptions session;       /* streams are opened by the caller */
  const char *trace_file;       /* NULL: standard output */
  const char *profile_file;     /* NULL: standard output */
  const char *page_file;        /* NULL: no report */
  bool stats;
  const char *stats_file;       /* NULL: standard output */
  bool has_dap;
  unsigned dap_port;            /* where to wait for a debugger; 0: any */
  bool help, version;
  const char *tool;             /* that messages name; NULL: wse-emu */
  FILE *out;                    /* for what has no file of its own; NULL: standard output */
} HostOptions;

/* The whole command line of `tool`; false after emitting what is wrong. */
bool host_options_parse(const char *tool, int argc, char **argv, Diags *diags,
                        HostOptions *options);
/* Options of a run, written as in a shell command: they replace what `options` says, and those in
 * `later` what `words` say.  `scratch` holds their texts.  False after emitting what is wrong: a
 * PROG, an action or --help, too. */
bool host_options_words(const char *words, const char *later, Arena *scratch, Diags *diags,
                        HostOptions *options);
/* For the `number`-th run (from 1) of a process: from the second on the names of its files get its
 * number, t.txt becomes t-2.txt. */
void host_options_number(HostOptions *options, Arena *scratch, unsigned number);
/* The name with a tag before the end that begins with its last point: t.txt, 2 becomes t-2.txt. */
const char *host_file_tagged(const char *path, Arena *scratch, const char *tag);
/* What options and calls of libwse have in common: "X,Y,W,H", and "KIND,KIND..." of traces. */
bool host_parse_region(const char *text, uint32_t region[4]);
/* False after emitting what is wrong. */
bool host_parse_kinds(const char *text, Diags *diags, uint32_t *kinds);
void host_options_help(FILE *out);
FILE *host_options_out(const HostOptions *options);
const char *host_version(void);
/* The text about what the emulator's cycles mean. */
const char *host_honesty(void);

/* ---- compress.c --------------------------------------------------------------------------- */

/* A stream whose bytes arrive in `out` compressed, by the ending of `path`: ".gz" or ".zst"; NULL
 * for any other.  fclose writes the end of the compressed data, returns EOF if some of it was lost,
 * and leaves `out` open. */
FILE *compressed_open(FILE *out, const char *path);

/* ---- outputs.c: the files that a run writes --------------------------------------------- */

typedef struct HostOutputs HostOutputs;
/* Refuses an output in the place of another, or of a file that the run is made of. */
WseStatus host_outputs_check(HostSession *session, const HostOptions *options);
/* Before session_open; sets the streams of `options->session` but those of what tiles print and of
 * warnings.  *outputs is set on failure, too. */
WseStatus host_outputs_open(HostSession *session, HostOptions *options, HostOutputs **outputs);
/* After every run, complete or not: writes profile, report and statistics, and gives the trace its
 * name. Does nothing when called again. */
WseStatus host_outputs_write(HostSession *session, const HostOptions *options,
                             HostOutputs *outputs);
/* After session_close; what host_outputs_write has not kept is gone. */
void host_outputs_close(HostOutputs *outputs);

/* ---- debugging.c: a debugger of an editor ------------------------------------------------ */

/* Waits for a client if the options say so, before session_open; *server NULL: they do not.
 * The caller closes it. */
WseStatus host_debugger_wait(HostSession *session, HostOptions *options, DapServer **server);
/* After session_open. */
void host_debugger_opened(DapServer *server, const HostSession *session, WseStatus status);
/* The run has ended so. */
void host_debugger_finish(DapServer *server, HostSession *session, WseStatus status);

/* ---- command.c: the start and the end of a program with a command line ------------------- */

typedef struct {
  HostSession *session;
  HostOptions options;
  HostOutputs *outputs;
} HostCommand;
typedef struct {
  const char *name;
  void (*help)(FILE *out);
  const char *after_version;
  FILE *out;                    /* of HostOptions */
  const char *broken;           /* why several processes do not find each other; NULL */
  bool clusters;                /* it runs cluster files, too */
} HostCommandTexts;
/* Parses the arguments and opens the outputs; false: the program ends with *status, after help,
 * version, or an error, which the caller prints.  To be closed in any case. */
bool host_command_open(HostCommand *command, int argc, char **argv, const HostCommandTexts *texts,
                       WseStatus *status);
void host_command_close(HostCommand *command);
/* The session's error, after what was printed before. */
void host_print_error(const HostSession *session);

/* ---- actions.c -------------------------------------------------------------------------- */

/* The actions of a command line, checked against the session's program.  NULL: the session's error
 * says which is wrong. */
typedef struct HostSteps HostSteps;
HostSteps *host_steps_create(HostSession *session, const HostAction *actions);
void host_steps_destroy(HostSteps *steps);
/* An action in two halves, as a launch; prints go to `out`. */
WseStatus host_step_begin(HostSteps *steps, size_t at);
WseStatus host_step_end(HostSteps *steps, size_t at, FILE *out);
/* Checks all actions against the program, then carries them out in order and finishes; prints
 * go to `out`. */
WseStatus host_carry_out(HostSession *session, const HostOptions *options, FILE *out);

/* ---- cluster_states.c --------------------------------------------------------------------- */

/* Before the sessions; opens the state to go on from (NULL: from the start).  NULL with the reason,
 * from malloc: it is no state of this cluster. */
ClusterStates *cluster_states_create(const ClusterPlan *plan, const char *load, char **why);
void cluster_states_destroy(ClusterStates *states);     /* NULL: nothing */

/* ---- cluster_seats.c ----------------------------------------------------------------------- */

/* What the sessions of a cluster's wafers share. */
typedef struct {
  ClusterPlan plan;
  Cluster *cluster;
  ClusterStates *states;        /* NULL: none */
  ClusterMember *members;       /* stb_ds, by wafer */
  const atomic_int *interrupt;
} HostCluster;
/* Reads options->cluster; texts live as long as the session of the caller.  Zeroed
 * before; to be closed on failure, too, after the sessions of the wafers. */
WseStatus host_cluster_open(HostSession *session, const HostOptions *options, HostCluster *cluster);
void host_cluster_close(HostCluster *cluster);
/* Makes options of all wafers those of one: with its program and with files of its own. */
void host_cluster_options(const HostCluster *cluster, unsigned wafer, Arena *scratch,
                          HostOptions *options);

/* ---- clusters.c ------------------------------------------------------------------------- */

/* Opens the programs of a cluster file, carries out the actions and writes all files.  Errors go to
 * stderr; those before the programs are open are the session's, too. */
WseStatus host_run_cluster(HostSession *session, const HostOptions *options, FILE *out);

#endif
