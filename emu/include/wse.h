/* libwse: the emulator as a library.
 *
 * One handle is one loaded program on one emulated fabric.  A handle belongs to one thread at a
 * time; there is no global state.  Every failure is a returned code plus a message in the
 * handle's error.  Coordinates are relative to the program's rectangle, (0, 0) is the north-west
 * tile, x grows east, y south.
 *
 * The library carries out operations on a handle in the order of their submission. With `task` NULL
 * a call returns when its work is done; otherwise it returns at once, and the buffer must stay
 * until wse_wait has returned for the task.
 */
#ifndef WSE_H
#define WSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WSE_API __attribute__((visibility("default")))
#else
#define WSE_API
#endif

typedef struct WseProgram WseProgram;

/* The values 1 to 4 are also exit codes of wse-emu; if a signal has interrupted it, the exit code
 * is 128 plus the number of the signal. */
typedef enum {
  WSE_OK = 0,
  WSE_USAGE = 1,        /* wrong argument, unknown symbol, unreadable image */
  WSE_FAULT = 2,        /* the program did something wrong: hazard, assertion, memory */
  WSE_DEADLOCK = 3,     /* nothing can happen any more, but something waits */
  WSE_CYCLE_LIMIT = 4,
  WSE_INTERRUPTED = 5,          /* wse_interrupt has ended the run */
  WSE_NO_MEMORY = 6             /* the caller can only close the handle; its memory is lost */
} WseStatus;

typedef struct {
  WseStatus status;
  const char *message;  /* one or more lines, the report of the emulator included */
  uint64_t cycle;       /* where known */
  int32_t x, y;         /* tile, or -1 */
} WseError;

typedef enum { WSE_ENGINE_FAST, WSE_ENGINE_REFERENCE } WseEngine;
typedef enum { WSE_CHECK_OFF, WSE_CHECK_WARN, WSE_CHECK_ERROR } WseCheck;

typedef enum { WSE_NORTH, WSE_SOUTH, WSE_EAST, WSE_WEST } WseSide;
/* Where words of one color pass the border of the program's rectangle: at a side of a tile, x and y
 * in the rectangle, that has no neighbour there.  Words of an input enter the tile's router like
 * those of a neighbour, at most one per cycle and side, while it has room.  Words that the router
 * sends out at an output are kept for the host; at other places they are lost. */
typedef struct {
  uint32_t x, y;
  WseSide side;
  uint8_t color;
  bool input;                  /* to the tile; else from it */
} WsePort;

/* Zero-initialise, then set what differs from the defaults. */
typedef struct {
  WseEngine engine;
  uint32_t threads;            /* at most; 0: 1 */
  uint64_t max_cycles;         /* 0: 1,000,000,000 */
  WseCheck check;              /* OFF is 0: set WSE_CHECK_ERROR for the default of wse-emu */
  const char *trace_kinds;     /* "task,wavelet"; NULL: no trace */
  const char *trace_file;      /* NULL: standard output */
  const char *sim_log;         /* file for output of tiles, lines "@CYCLE text"; NULL: none */
  const char *args;            /* options of wse-emu as text, see below; NULL: the environment's */
  const WsePort *ports;        /* places where words pass the border of the rectangle */
  uint32_t n_ports;
  const char *later_args;      /* options that win over those in `args`; NULL: none */
} WseOptions;
/* `args` has the options that wse-emu has for a run (--check, --trace, --trace-file, --stats,
 * --report, --profile, --engine, --threads, --max-cycles, ...), written as in a shell command, and
 * wins over the other members; no program, host actions, --help or --version. If it is NULL, the
 * environment variable WSE_ARGS has the options, so that the program needs no change.
 *
 * The library writes statistics, profile and report when the run has ended: in wse_finish, in the
 * call that fails, or in wse_close (then marked as partial). A file has its name once it is whole.
 * The files of the second program that a process opens with such options get the number 2 in their
 * names, t.txt becomes t-2.txt, and so on. */

/* Loads and validates an image or an output directory of cslc.  On failure *program is still a
 * handle (or NULL without memory) that only wse_error and wse_close accept. */
WSE_API WseStatus wse_open(const char *path, const WseOptions *options, WseProgram **program);
WSE_API void wse_close(WseProgram *program);
/* The last failure on this handle; status WSE_OK if there was none. */
WSE_API const WseError *wse_error(const WseProgram *program);
/* The warnings since the last call (what looks wrong but has not ended the run): one or more lines,
 * or NULL. Valid until the next call. */
WSE_API const char *wse_warnings(WseProgram *program);

typedef struct {
  uint32_t width, height;              /* rectangle */
  uint32_t fabric_width, fabric_height;
  uint32_t offset_x, offset_y;         /* of the rectangle in the fabric */
  const char *arch;                    /* "wse2" */
  bool has_memcpy;
} WseGeometry;
WSE_API WseStatus wse_geometry(WseProgram *program, WseGeometry *geometry);

typedef struct {
  uint32_t id;
  const char *name;
  const char *type;            /* as CSL prints it */
  bool is_function;
  bool is_mutable;
  uint8_t element_bytes;       /* data: 1, 2, 4 or 8 */
  char element_class;          /* data: 'i' 'u' 'f' 'b' */
  uint16_t extent;             /* data: elements, 0 if unknown */
  uint8_t n_params;            /* functions */
  const uint8_t *param_bytes;
  const char *param_class;     /* n_params characters of 'i' 'u' 'f' 'b' */
} WseSymbol;
/* An exported name.  WSE_USAGE with a message that suggests near names if there is none. */
WSE_API WseStatus wse_symbol(WseProgram *program, const char *name, WseSymbol *symbol);
WSE_API uint32_t wse_symbol_count(const WseProgram *program);
WSE_API WseStatus wse_symbol_at(WseProgram *program, uint32_t id, WseSymbol *symbol);
/* The least and the greatest integer that a launch may give parameter `param` of a function, from
 * 0: those of its type, such as i24 or color.  Of floats: 0 and 0. */
WSE_API WseStatus wse_param_range(WseProgram *program, uint32_t function, uint32_t param,
                                  int64_t *least, uint64_t *most);

typedef uint64_t WseTask;      /* 0 is no task */

/* How the words A[row][column][element] of a transfer lie in the host's buffer; streams to the
 * tiles leave the host in this order too. */
typedef enum {
  WSE_ROW_MAJOR,               /* element fastest, then column, then row */
  WSE_COL_MAJOR                /* row fastest, then column, then element */
} WseOrder;

/* To the tiles only: one buffer element may be for many of them. */
typedef enum {
  WSE_EACH_TILE,
  WSE_SAME_IN_COLUMN,          /* the buffer is A[column][element] */
  WSE_SAME_IN_ROW              /* the buffer is A[row][element] */
} WseBroadcast;

/* A transfer between the host and the tiles of a region.  One 32-bit word per element, a 16-bit
 * element in the low half; an element of 64 bits counts as two. */
typedef struct {
  uint32_t target;             /* symbol id, or color number if streaming */
  bool streaming;
  bool is_16bit;               /* elements of 16 bits in the tile's memory */
  uint32_t x, y, width, height;
  uint32_t x_step, y_step;     /* every x_step-th tile; 0 is 1 */
  uint32_t elements;           /* of each tile */
  WseOrder order;
  WseBroadcast broadcast;
} WseTransfer;
/* Number of words of a transfer's buffer. */
WSE_API size_t wse_transfer_words(const WseTransfer *transfer);
/* To the tiles, and from the tiles. `words` has wse_transfer_words(transfer) of them. */
WSE_API WseStatus wse_h2d(WseProgram *program, const WseTransfer *transfer, const uint32_t *words,
                  WseTask *task);
WSE_API WseStatus wse_d2h(WseProgram *program, const WseTransfer *transfer, uint32_t *words,
                  WseTask *task);

/* Calls an exported function on every tile that exports it. An argument is a word, or two, the low
 * half first, if it has 64 bits; `n_args` counts words. Done when each of these tiles has unblocked
 * its command stream and nothing moves any more. If tiles take streams, a launch that stands still
 * before that counts as delivered, because a stream may set it going again; the next command then
 * waits for it. */
WSE_API WseStatus wse_launch(WseProgram *program, uint32_t function, const uint32_t *args,
                     uint32_t n_args, WseTask *task);

/* Runs until the fabric is quiet, or for at most `cycles` more cycles (0: no limit here). A run in
 * parts counts in the statistics as one. */
WSE_API WseStatus wse_run(WseProgram *program, uint64_t cycles);
WSE_API WseStatus wse_wait(WseProgram *program, WseTask task);
/* Makes some progress. True also when the run has ended with an error; wse_wait then returns the
 * error. A thousand questions in a row while nothing can move are an error, too. */
WSE_API bool wse_is_done(WseProgram *program, WseTask task);
/* Carries out all submitted operations and runs until the fabric is quiet.  A trace or another file
 * that could not be written is a failure, too. */
WSE_API WseStatus wse_finish(WseProgram *program);
/* For a host that fails on its own: runs nothing, so it returns at once, and carries out no
 * operation.  Where nothing is under way, it reports as wse_finish does; else it warns of what the
 * tiles have lost so far.  Only wse_close should follow. */
WSE_API WseStatus wse_give_up(WseProgram *program);

/* Words for the input `port` of the options, by its number from 0: they follow those before and
 * enter when the program runs.  `control`: they are control wavelets. */
WSE_API WseStatus wse_port_send(WseProgram *program, uint32_t port, const uint32_t *words, size_t n,
                                bool control);
/* Takes up to `max` words that have come out at the output `port`, oldest first; *n: how many.
 * After the end of a run, too. */
WSE_API WseStatus wse_port_take(WseProgram *program, uint32_t port, uint32_t *words, size_t max,
                                size_t *n);
/* *n: the words that wait at the input `port`; after the end of a run, too. */
WSE_API WseStatus wse_port_left(WseProgram *program, uint32_t port, size_t *n);

/* Ends the run: the running call, or otherwise the next call that runs, returns WSE_INTERRUPTED.
 * Any thread or signal handler may call it while the handle is open. */
WSE_API void wse_interrupt(WseProgram *program);

WSE_API uint64_t wse_cycle(const WseProgram *program);
/* Statistics as JSON text (keys as for wse-emu --stats); valid until the next call. */
WSE_API const char *wse_statistics(WseProgram *program);

/* Raw bytes of any symbol of a tile's program, exported or not, at zero cycles.  *size: those that
 * the symbol has, of which the first `capacity` are copied. */
WSE_API WseStatus wse_read_symbol(WseProgram *program, uint32_t x, uint32_t y, const char *name,
                          void *bytes, size_t capacity, size_t *size);
/* The other way: the first `size` bytes of the symbol; WSE_USAGE if it has fewer. */
WSE_API WseStatus wse_write_symbol(WseProgram *program, uint32_t x, uint32_t y, const char *name,
                                   const void *bytes, size_t size);
/* Name of the tile's symbol number `index`, or NULL: there are no more, or no such tile. Names from
 * the main file stand alone, others after the name of their module; wse_read_symbol knows them
 * all. */
WSE_API const char *wse_symbol_name(WseProgram *program, uint32_t x, uint32_t y, uint32_t index);

/* ---- cores ---- */

/* Between calls, and after the end of a run, too: writes what all tiles hold to a file.  It is a
 * state as --save-state writes it; wse-dbg --core=FILE, wse_open_core and Python's debug_util open
 * both. */
WSE_API WseStatus wse_dump_core(WseProgram *program, const char *path);
/* Opens the program in the state of a file, to be read: symbols, registers, cycle and statistics.
 * Calls that would run it return WSE_USAGE.  On failure as wse_open. */
WSE_API WseStatus wse_open_core(const char *path, const char *core, WseProgram **program);

/* ---- clusters ---- */

typedef struct WseCluster WseCluster;
/* Reads a cluster file (docs/cluster.md) and opens the programs of all its wafers, with the same
 * options and files of their own: t.txt becomes t-a.txt for wafer a.  On failure *cluster is still
 * a handle (or NULL without memory) that only wse_cluster_error and wse_cluster_close accept. */
WSE_API WseStatus wse_cluster_open(const char *path, const WseOptions *options,
                                   WseCluster **cluster);
WSE_API const WseError *wse_cluster_error(const WseCluster *cluster);
/* The name of wafer `index`, from 0, and its image; NULL: there is none. */
WSE_API const char *wse_cluster_wafer(const WseCluster *cluster, uint32_t index,
                                      const char **image);
/* Its program, for all calls of this header but steps and snapshots.  It belongs to the cluster:
 * wse_close does nothing to it.  Each call that runs it runs all wafers.  One thread at a time may
 * call the programs of a cluster. */
WSE_API WseProgram *wse_cluster_program(WseCluster *cluster, uint32_t index);
WSE_API void wse_cluster_close(WseCluster *cluster);

/* ---- snapshots, steps and stop conditions ----
 *
 * For programs that look into a run, on one process, on either engine.  Snapshots are possible
 * while no operation is on its way: wse_wait for them first.  Steps and conditions run cycle by
 * cycle, which is slow; wse_run has no such cost. */

/* A launch that does not run: steps and wse_run carry it out.  Only without memcpy, where
 * wse_launch returns when all is done; with memcpy, wse_launch with a task does this. */
WSE_API WseStatus wse_launch_later(WseProgram *program, uint32_t function, const uint32_t *args,
                                   uint32_t n_args);

typedef struct WseSnapshot WseSnapshot;
/* Keeps the state of all tiles.  `before` is an earlier snapshot of the same handle, or NULL: what
 * is equal is shared, so that one costs as much memory as has changed. */
WSE_API WseStatus wse_snapshot_take(WseProgram *program, const WseSnapshot *before,
                                    WseSnapshot **snapshot);
/* Goes back to it, from any cycle, and from the end of a run, too: fault, deadlock, limit.  It must
 * be of the same handle. */
WSE_API WseStatus wse_snapshot_restore(WseProgram *program, const WseSnapshot *snapshot);
WSE_API uint64_t wse_snapshot_cycle(const WseSnapshot *snapshot);
/* Before or after wse_close of its program. */
WSE_API void wse_snapshot_free(WseSnapshot *snapshot);

typedef enum {
  WSE_STEP_CYCLE,
  WSE_STEP_INSTRUCTION,        /* the tile issues one, or a group of a vector operation */
  WSE_STEP_LINE,               /* the tile comes to another line of its source */
  WSE_STEP_TASK                /* a task or a launched function starts on the tile */
} WseStep;
/* Runs until the tile has made so many steps, for at most `max_cycles` cycles.  *reached: it
 * has. */
WSE_API WseStatus wse_step(WseProgram *program, uint32_t x, uint32_t y, WseStep unit,
                           uint64_t count, uint64_t max_cycles, bool *reached);

typedef enum {
  WSE_STOP_LINE,               /* the tile comes to `line` of the file `name` (NULL: of any) */
  WSE_STOP_TASK,               /* the task `name` (NULL: any) starts on the tile */
  WSE_STOP_CHANGE              /* the symbol `name` of the tile has got another value */
} WseStopKind;
typedef struct {
  WseStopKind kind;
  uint32_t x, y;
  const char *name;
  uint32_t line;
} WseStop;
/* Runs until one of n conditions holds, or for at most `max_cycles` cycles.  *which: its number; n:
 * none. */
WSE_API WseStatus wse_run_until(WseProgram *program, const WseStop *stops, size_t n,
                                uint64_t max_cycles, size_t *which);

/* Registers of a tile's main thread by name: "r0" to "r15", "sp"; "pc" can only be read. */
WSE_API WseStatus wse_read_register(WseProgram *program, uint32_t x, uint32_t y, const char *name,
                                    uint16_t *value);
WSE_API WseStatus wse_write_register(WseProgram *program, uint32_t x, uint32_t y,
                                     const char *name, uint16_t value);

WSE_API const char *wse_version(void);

#ifdef __cplusplus
}
#endif

#endif
