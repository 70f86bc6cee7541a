/* emu/debug: the debugger.  A timeline stands between the host and an engine: it stops the engine
 * where a debugger wants it to, remembers what the host does, and so goes back in time by running
 * the program once more, from a state that it has kept.  The rest works on stopped timelines only.
 *
 * Reading order: marks, timeline, frames, sources, names, evaluate, stops, debugger, follow, csdb,
 * commands.
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
Timeline *timeline_of(Engine *engine);          /* NULL: it is an engine of another kind */
Engine *timeline_engine(Timeline *timeline);    /* the one that stands where the timeline does */
uint64_t timeline_cycle(const Timeline *timeline);
/* The cycle that the host has reached; the timeline may stand before it. */
uint64_t timeline_present(const Timeline *timeline);
StandReason timeline_reason(const Timeline *timeline);
/* From any thread or signal handler: the run stops after its current cycle. */
void timeline_pause(Timeline *timeline);
/* The host has nothing more to do: control is called until it ends the run. */
void timeline_end(Timeline *timeline);
/* Writes a tile's memory; false in the past, and where there is no memory. */
bool timeline_write(Timeline *timeline, uint32_t tile, uint32_t address, const void *from,
                    uint32_t bytes);

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

/* ---- sources.c: where this machine has the source ------------------------------------------- */

#define SOURCE_ELSEWHERE "the compiler was called in another folder: start the debugger there"
/* The path, from malloc, of a file of the image: in the current folder, or else in that of the
 * image or one above.  NULL: in none of them. */
char *source_find(const Program *program, const char *name);

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
  bool is_held;                 /* the code may have a newer value elsewhere; of a number, too */
  bool in_register;             /* they are those of this general register, and of the next */
  uint8_t first_register;
  int64_t integer;
  bool is_unsigned;             /* `integer` stands for a number of 64 bits without a sign */
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
/* Writes a value to a variable in memory, or in registers of the frame that runs; false with
 * `why`. */
bool evaluate_assign(EvalContext *e, const EvalValue *place, const EvalValue *value);
/* Parts of a value: elements or fields, or what a pointer points to. */
uint32_t evaluate_count(const EvalContext *e, const EvalValue *value);
/* False: it has no more. */
bool evaluate_part(EvalContext *e, const EvalValue *value, uint32_t index, EvalValue *part,
                   char name[64]);

/* ---- names.c: what names stand for ---------------------------------------------------------- */

/* Each local variable that can be seen in the frame; `value` is NULL if it has no place here.
 * Inner ones hide outer ones. */
typedef void LocalVisit(void *context, const DebugLocal *local, const EvalValue *value);
void names_visit_locals(EvalContext *e, bool params, LocalVisit *visit, void *context);
/* Each variable outside of functions, and each constant whose number is known, of the tile. */
typedef void NameVisit(void *context, const char *name, const EvalValue *value);
void names_visit_globals(const EvalContext *e, NameVisit *visit, void *context);
void names_visit_constants(const EvalContext *e, NameVisit *visit, void *context);

/* ---- stops.c: breakpoints ------------------------------------------------------------------ */

typedef enum {
  BREAK_CODE,                   /* before an instruction of `pcs` */
  BREAK_TASK,                   /* a task starts */
  BREAK_WAVELET,                /* a router moves a wavelet */
  BREAK_SWITCH,                 /* a switch changes */
  BREAK_WATCH,                  /* bytes of a tile's memory change */
} BreakKind;
enum { BREAK_BYTES = 64 };
/* Before an instruction; `frame`: of the inlined calls there, counted from the innermost. */
typedef struct { uint32_t cls; uint16_t pc; uint8_t frame; } BreakPlace;
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
  unsigned frame;               /* the one of the place that was hit last */
  char task[64];                /* BREAK_TASK: name or id; "": all */
  unsigned color;
  bool has_value;
  uint32_t value;               /* of the payload */
  Port port;                    /* BREAK_WAVELET: RAMP arrivals; PORT_COUNT all */
  bool departs;                 /* from the ramp */
  uint32_t tile, address, bytes;  /* BREAK_WATCH */
  unsigned name_length;         /* of what is watched, at the start of the text */
  const DebugType *type;        /* of that, if it is one number; else NULL */
  uint8_t old[BREAK_BYTES], before[BREAK_BYTES];   /* as it is, and was before the last change */
  char *condition;              /* malloc; NULL none */
  char why[200];                /* why it had no value at the last hit; "": it had one */
  uint64_t hits;
  HitRule rule;
  uint64_t count;
  char *log;                    /* malloc: is printed, with {EXPRESSION}, instead of a stop; NULL */
  const char *file;             /* BREAK_CODE at a line: where it is */
  uint32_t line, asked_line;    /* 0: none; the first one with code from the one asked for on */
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

/* A breakpoint that an event has hit. */
typedef struct { unsigned number; BreakKind kind; uint32_t tile; } BreakHit;

typedef struct Debugger Debugger;
/* Adds a breakpoint; NULL with the reason written to the debugger's output. */
Break *stops_add(Debugger *d, const BreakSpec *spec);
/* The kind that the first word of a text names, behind which *rest is; otherwise BREAK_CODE. */
BreakKind stops_kind(const char *text, const char **rest);
bool stops_remove(Debugger *d, unsigned number);
/* What has to be listened to, and the values of watched memory as they are now. */
void stops_arm(Debugger *d);

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
  uint64_t steps_left, stops_left;
  bool arrives;                 /* with the event, the main thread has come to its instruction */
  uint64_t last_cycle;          /* of the last event with which one has, */
  uint32_t last_tile;           /* and its tile: a tile stops once per cycle */
  /* tiles whose main thread has come to its instruction while its operation runs; stb_ds */
  struct { uint32_t key; bool value; } *beside;
  unsigned hit;                 /* number of the breakpoint by which it stands; 0 none */
  /* where a breakpoint stopped last, and the frame that it chose there */
  uint64_t stop_cycle;
  uint32_t stop_tile;
  unsigned stop_frame;
  BreakKind hit_kind;
  BreakHit *others;             /* hit in the same cycle; stb_ds */
  char hit_why[200];            /* why its condition had no value; "": it had one, or none */
  bool searching;               /* a way back: notes where it would stop, does not stop */
  bool found;
  uint64_t found_cycle;
  uint32_t found_tile;
  unsigned found_break, found_frame;
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
typedef enum {
  BACK_FOUND,
  BACK_START,                   /* there is no such place: to the start */
  BACK_PAUSED,                  /* stays where it was, because of timeline_pause */
} BackResult;
/* Goes back to where the breakpoints, or the step, would have stopped last. */
BackResult debugger_go_back(Debugger *d, StepKind step);
/* Where it stands now: which tile is looked at. */
void debugger_stand(Debugger *d);
/* The frame in which the tile stands: the innermost one, or the one that a breakpoint has chosen,
 * while the program stands where it stopped. */
unsigned debugger_frame(const Debugger *d, uint32_t tile);
/* The stop is not the last one that `continue N` asks for: the run goes on. */
bool debugger_passes(Debugger *d);
/* "breakpoint 1, scale (n = 3) at pe.csl:18 ..." */
void debugger_print_stand(Debugger *d);

/* ---- commands.c: the command line ---------------------------------------------------------- */

/* Carries out one line.  After it, `go` or `quit` may be set. */
void commands_run(Debugger *d, const char *line);
/* A name or short form of a command, not the start of one. */
bool commands_knows(const char *name);
/* The names of all commands, for completion; NULL after the last. */
const char *commands_name(unsigned index);

#endif
