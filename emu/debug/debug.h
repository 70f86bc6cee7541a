/* emu/debug: the debugger.  A timeline stands between the host and an engine: it stops the engine
 * where a debugger wants it to, remembers what the host does, and so goes back in time by running
 * the program once more, from a state that it has kept.  The rest works on stopped timelines only.
 *
 * Reading order: marks, timeline, frames, evaluate, stops, debugger, follow, csdb, commands.
 */
#ifndef DEBUG_H
#define DEBUG_H

#include "emu/explain/explain.h"

/* ---- marks.c: states to come back to ------------------------------------------------------- */

typedef struct { Snapshot *state; size_t n_applied; } Mark;     /* the second: of the inputs */
typedef struct {
  Mark *all;                    /* stb_ds, by cycle */
  uint64_t next, distance;      /* 0: not set yet */
  double set_at;                /* processor time of the last one */
  bool off;                     /* a state does not fit the memory that marks may take */
} Marks;
/* The last one at or before the cycle; NULL: none. */
const Mark *marks_before(const Marks *marks, uint64_t cycle);
/* Keeps the state of an engine that stands between cycles. */
void marks_set(Marks *marks, Engine *engine, size_t n_applied);
/* The cycle in which a run should stop for the next one, and the stop. */
uint64_t marks_next(const Marks *marks);
void marks_pass(Marks *marks, Engine *engine, size_t n_applied);
void marks_free(Marks *marks);

/* ---- timeline.c: an engine that stops and goes back ---------------------------------------- */

typedef struct Timeline Timeline;

/* Who decides.  `control` is called while the program stands, and returns when it may go on; false:
 * the run is to end.  `event` receives each event that the debugger has asked for, after its cycle,
 * and says whether to stop there. */
typedef struct {
  bool (*control)(void *context, Timeline *timeline);
  bool (*event)(void *context, const TraceEvent *event);
  void *context;
} TimelineFront;

typedef enum {
  STAND_START,                  /* before the first cycle */
  STAND_EVENT,                  /* the front has asked for it */
  STAND_LIMIT,                  /* at the cycle that timeline_limit gives */
  STAND_PAUSE,                  /* timeline_pause */
  STAND_FAULT,                  /* a finding has ended the run */
  STAND_END,                    /* the host has nothing more to do */
} StandReason;

/* Makes an engine over one of `inner`. */
Engine *timeline_create(const EngineOps *inner, Program *program, const EngineOptions *options,
                        TimelineFront front);
/* Begins where a state of a file is, into which the engine has just been brought: the way back ends
 * there, and the host has nothing to do. */
void timeline_begin_here(Timeline *timeline);
/* The first cycle that the timeline can stand at. */
uint64_t timeline_first(const Timeline *timeline);
Timeline *timeline_of(Engine *engine);          /* NULL: it is an engine of another kind */
Engine *timeline_engine(Timeline *timeline);    /* the one that stands where the timeline does */
const Program *timeline_program(const Timeline *timeline);
uint64_t timeline_cycle(const Timeline *timeline);
/* The cycle that the host has reached; the timeline may stand before it. */
uint64_t timeline_present(const Timeline *timeline);
StandReason timeline_reason(const Timeline *timeline);
/* Events that the front gets from now on: kinds, bits 1 << TraceKind, of a region. */
void timeline_listen(Timeline *timeline, uint32_t kinds, const uint32_t region[4]);
/* A cycle before the given one that the timeline gets to at once; 0: none but the start. */
uint64_t timeline_mark(const Timeline *timeline, uint64_t cycle);
/* Stands before this cycle, at most the present.  No event is delivered on the way, and nothing
 * pauses it. */
void timeline_travel(Timeline *timeline, uint64_t cycle);
/* Runs on from where it stands, with events, up to a cycle that is not beyond the present. */
StandReason timeline_replay(Timeline *timeline, uint64_t limit);
/* Around several journeys that are one operation for the user: how long it takes is shown. */
void timeline_busy(Timeline *timeline, bool begins);
/* The run stops before this cycle, until another is given; UINT64_MAX none. */
void timeline_limit(Timeline *timeline, uint64_t cycle);
/* From any thread or signal handler: the run stops after its current cycle. */
void timeline_pause(Timeline *timeline);
/* The host has nothing more to do: control is called until it ends the run. */
void timeline_end(Timeline *timeline);
/* Writes a tile's memory; false in the past, and where there is no memory. */
bool timeline_write(Timeline *timeline, uint32_t tile, uint32_t address, const void *from,
                    uint32_t bytes);
/* Writes a general register of a tile; false in the past, and if the tile has not run yet. */
bool timeline_write_register(Timeline *timeline, uint32_t tile, unsigned number, uint16_t value);
/* A number for all that a program can see of the state: equal states have equal ones. */
uint64_t timeline_hash(Timeline *timeline);

/* ---- frames.c: where a tile's main thread is ----------------------------------------------- */

enum { MOST_FRAMES = 64 };
typedef struct {
  const char *function;
  const char *file;             /* "": not known */
  uint32_t line, column;
  uint16_t pc;                  /* next instruction, or that of the call */
  uint32_t sp;                  /* of the function's body */
  uint32_t inlined;             /* the call it was inlined by, or IMAGE_NO_INLINE */
  const DebugFunction *info;    /* NULL: not known */
  bool is_top;
  uint16_t r[GPR_COUNT];        /* below the top: only what a call preserves */
} DebugFrame;
typedef struct { DebugFrame all[MOST_FRAMES]; unsigned n; } Frames;
/* The frames, innermost first; 0: the thread is idle. */
unsigned frames_find(Timeline *timeline, uint32_t tile, DebugFrame frames[MOST_FRAMES]);
/* Source place of an address of code; false: not known. */
bool frames_place(const Program *program, uint32_t tile, uint32_t pc, const char **file,
                  uint32_t *line);
/* The inlined call whose code stands at an address; IMAGE_NO_INLINE: none. */
uint32_t frames_inlined_at(const Program *program, uint32_t tile, uint32_t pc);
/* Is `call` the inlined call `outer`, or inside it?  Each is inside IMAGE_NO_INLINE. */
bool frames_is_inside(const Program *program, uint32_t tile, uint32_t call, uint32_t outer);
/* "pe.csl" names "dir/pe.csl", too. */
bool frames_names_file(const char *path, const char *name);

/* ---- evaluate.c: expressions over the stopped state ---------------------------------------- */

/* A value: of a type of the image, in memory or as bytes; or a number of the debugger's. */
typedef enum { EVAL_TYPED, EVAL_INTEGER, EVAL_FLOAT } EvalKind;
enum { EVAL_BYTES = 16 };
typedef struct {
  EvalKind kind;
  const DebugType *type;        /* EVAL_TYPED */
  bool in_memory;
  uint32_t address;
  uint32_t bit;                 /* of a packed field, in the value that stands there */
  uint8_t bytes[EVAL_BYTES];    /* EVAL_TYPED without memory */
  bool is_held;                 /* the code may have a newer value elsewhere */
  bool in_register;             /* they are those of this general register, and of the next */
  uint8_t first_register;
  int64_t integer;
  double number;
} EvalValue;
typedef struct {
  Timeline *timeline;
  uint32_t tile;
  const DebugFrame *frame;      /* NULL: no local variables */
  char why[200];                /* what is wrong */
} EvalContext;
/* For a frame of a tile by its number, which lives in `frames`. */
EvalContext evaluate_context(Timeline *timeline, uint32_t tile, unsigned frame, Frames *frames);
/* CSL expressions: names, fields, indices, `.*`, arithmetic, comparisons; `$pc`, `$r0`, `$cycle`.
 * False with `why`. */
bool evaluate_text(EvalContext *e, const char *text, EvalValue *value);
void evaluate_print(const EvalContext *e, const EvalValue *value, FILE *out);
bool evaluate_truth(const EvalContext *e, const EvalValue *value);
/* As a 64-bit number; floats are cut off. */
int64_t evaluate_integer(const EvalContext *e, const EvalValue *value);
/* Writes a value to a variable in memory, or in registers of the frame that runs; false with
 * `why`. */
bool evaluate_assign(EvalContext *e, const EvalValue *place, const EvalValue *value);
/* Each local variable that can be seen in the frame; `value` is NULL if it has no place here.
 * Inner ones hide outer ones. */
typedef void LocalVisit(void *context, const DebugLocal *local, const EvalValue *value);
void evaluate_locals(EvalContext *e, bool params, LocalVisit *visit, void *context);
/* Parts of a value: elements or fields, or what a pointer points to. */
uint32_t evaluate_count(const EvalContext *e, const EvalValue *value);
/* False: it has no more. */
bool evaluate_part(EvalContext *e, const EvalValue *value, uint32_t index, EvalValue *part,
                   char name[64]);

/* ---- stops.c: breakpoints ------------------------------------------------------------------ */

typedef enum {
  BREAK_CODE,                   /* before an instruction of `pcs` */
  BREAK_TASK,                   /* a task starts */
  BREAK_WAVELET,                /* a router moves a wavelet */
  BREAK_SWITCH,                 /* a switch changes */
  BREAK_WATCH,                  /* bytes of a tile's memory change */
} BreakKind;
enum { BREAK_BYTES = 64 };
typedef struct { uint32_t cls; uint16_t pc; } BreakPlace;
/* Which hits stop: all, those after the first `count`, the one with this number, or each
 * `count`-th. */
typedef enum { HITS_ALL, HITS_AFTER, HITS_EQUAL, HITS_EVERY } HitRule;
typedef struct {
  unsigned number;
  BreakKind kind;
  bool temporary, disabled;
  char text[128];               /* as the user has written it */
  uint32_t region[4];           /* x, y, width, height */
  BreakPlace *places;           /* stb_ds: BREAK_CODE */
  char task[64];                /* BREAK_TASK: name or id; "": all */
  unsigned color;
  bool has_value;
  uint32_t value;               /* of the payload */
  Port port;                    /* BREAK_WAVELET: RAMP arrivals; PORT_COUNT all */
  bool departs;                 /* from the ramp */
  uint32_t tile, address, bytes;  /* BREAK_WATCH */
  uint8_t old[BREAK_BYTES];
  char *condition;              /* malloc; NULL none */
  char why[200];                /* why it had no value at the last hit; "": it had one */
  uint64_t hits;
  HitRule rule;
  uint64_t count;
  char *log;                    /* malloc: is printed, with {EXPRESSION}, instead of a stop; NULL */
  const char *file;             /* BREAK_CODE at a line: where it is */
  uint32_t line;                /* 0: none */
} Break;
/* What a breakpoint is made of; NULL and "" are no text. */
typedef struct {
  BreakKind kind;
  const char *place;            /* what stands behind `break`, `watch`, ... */
  const char *region;           /* X,Y or X,Y,W,H */
  const char *condition, *log;
  const char *hits;             /* N and >=N from the N-th hit on, >N, ==N, %N */
  bool has_class;               /* an address of code is of this class only */
  uint32_t cls;
  uint32_t tile, address, bytes;  /* BREAK_WATCH with bytes: no place */
} BreakSpec;

typedef struct Debugger Debugger;
/* Adds a breakpoint; NULL with the reason written to the debugger's output. */
Break *stops_add(Debugger *d, const BreakSpec *spec);
/* The same from what stands behind `break` or `watch`: a region and a condition may follow. */
Break *stops_add_text(Debugger *d, BreakKind kind, const char *text);
/* The kind that the first word of a text names, behind which *rest is; otherwise BREAK_CODE. */
BreakKind stops_kind(const char *text, const char **rest);
/* X,Y or X,Y,W,H, inside the program's rectangle; "" is all of it. */
bool stops_parse_region(Debugger *d, const char *text, uint32_t region[4]);
/* NULL: there is none with this number. */
Break *stops_find(const Debugger *d, unsigned number);
bool stops_remove(Debugger *d, unsigned number);
void stops_print(Debugger *d);
/* What has to be listened to, and the values of watched memory as they are now. */
void stops_arm(Debugger *d);
/* The number of the breakpoint that the event hits and that stops, or 0. */
unsigned stops_hit(Debugger *d, const TraceEvent *event);

/* ---- debugger.c: steps, forward and back --------------------------------------------------- */

typedef enum {
  STEP_NONE, STEP_INSTRUCTION, STEP_LINE, STEP_OVER, STEP_OUT, STEP_TASK
} StepKind;

/* What the debugger's own front can do. */
typedef struct {
  void *context;
  char *(*save_core)(void *context, const char *path);  /* NULL, or why not, from malloc */
  bool opens_cores;             /* it looks at Debugger.core when a command has set `quit` */
} DebuggerHost;

typedef struct Follow Follow;

struct Debugger {
  Timeline *timeline;
  const Program *program;
  FILE *out;
  uint32_t tile;                /* the selected one */
  unsigned frame;
  Break *breaks;                /* stb_ds */
  unsigned last_number;
  StepKind step;
  uint32_t step_tile, step_sp, step_line;
  uint32_t step_inlined;        /* the call that `next` stays in, or that `finish` leaves */
  const char *step_file;
  uint64_t steps_left;
  uint64_t last_cycle;          /* of the event that was looked at last, */
  uint32_t last_tile;           /* and its tile: a tile stops once per cycle */
  unsigned hit;                 /* number of the breakpoint by which it stands; 0 none */
  BreakKind hit_kind;
  char hit_why[200];            /* why its condition had no value; "": it had one, or none */
  bool searching;               /* a way back: notes where it would stop, does not stop */
  bool found;
  uint64_t found_cycle;
  uint32_t found_tile;
  unsigned found_break;
  bool quit, go;                /* what the last command asks for */
  char last[256];               /* repeated by an empty line */
  DebuggerHost host;
  uint32_t rectangle[4];        /* of the commands of csdb.c; its width 0: the selected tile */
  char trace[64], folder[256];
  TraceEvent hit_event;         /* of a stop on a wavelet */
  Follow *follow;               /* the wavelet that the run follows; NULL none */
  Follow *next_follow;          /* the one that it follows when it goes on */
  bool catching_up;             /* past events are only numbered */
  TraceEvent followed;          /* where the wavelet of the last `follow` was seen, and the cycle */
  uint64_t followed_to;         /* to which it has led */
  char *core;                   /* malloc: the core that is to be opened instead; NULL none */
};
void debugger_open(Debugger *d, Timeline *timeline, FILE *out);
void debugger_close(Debugger *d);
/* For TimelineFront.event. */
bool debugger_event(void *context, const TraceEvent *event);
/* Prepares what the run has to stop for; it goes on when control returns. */
void debugger_go(Debugger *d, StepKind step, uint64_t count);
/* Goes back to where the breakpoints, or the step, would have stopped last. */
typedef enum {
  BACK_FOUND,
  BACK_START,                   /* there is no such place: to the start */
  BACK_PAUSED,                  /* stays where it was, because of timeline_pause */
} BackResult;
BackResult debugger_go_back(Debugger *d, StepKind step);
/* Where it stands now: which tile is looked at. */
void debugger_stand(Debugger *d);
/* "breakpoint 1, scale (n = 3) at pe.csl:18 ..." */
void debugger_print_stand(Debugger *d);

/* ---- follow.c: the way of a wavelet -------------------------------------------------------- */

/* When the run goes on, it stops when a tile takes a copy of a wavelet.  This is the wavelet of the
 * stop or of the last `follow`; otherwise the tile's next one.  False: none is left. */
bool follow_forward(Debugger *d);
/* Back to where that wavelet was sent, or the last one that the tile has taken: to the sender. */
void follow_back(Debugger *d);
/* At each event while d->follow is set: true stops. */
bool follow_event(Debugger *d, const TraceEvent *event);
/* Adds what has to be listened to. */
void follow_listen(const Debugger *d, uint32_t *kinds, uint32_t region[4]);
/* "P1.0 takes wavelet ...", if that is why the program stands; else false. */
bool follow_print(const Debugger *d);
void follow_end(Debugger *d);

/* ---- csdb.c: commands in the vendor's forms ------------------------------------------------ */

/* False: `rest` has another form. */
bool csdb_rectangle(Debugger *d, const char *rest);
bool csdb_memory(Debugger *d, const char *rest);
bool csdb_register(Debugger *d);
void csdb_wavelet(Debugger *d, const char *rest);
void csdb_image(Debugger *d, const char *rest);
void csdb_trace(Debugger *d, const char *rest);
void csdb_target(Debugger *d, const char *rest);
void csdb_context(Debugger *d, const char *rest);
void csdb_workdir(Debugger *d, const char *rest);
void csdb_settings(Debugger *d, const char *rest);

/* ---- commands.c: the command line ---------------------------------------------------------- */

/* Carries out one line.  After it, `go` or `quit` may be set. */
void commands_run(Debugger *d, const char *line);
/* A name or short form of a command, not the start of one. */
bool commands_knows(const char *name);
/* The names of all commands, for completion; NULL after the last. */
const char *commands_name(unsigned index);

#endif
