/* emu/explain: why a run has ended as it did: findings with the place and the other side, and the
 * waits on a stopped engine with their causes.
 *
 * Reading order: endless, report, calls, code, values, variables, fault, left, busy, deadlock.h,
 * deadlock_wait, deadlock_ends, deadlock, deadlock_text, deadlock_units, deadlock_help.
 */
#ifndef EMU_EXPLAIN_H
#define EMU_EXPLAIN_H

#include "emu/engine/engine.h"

/* ---- endless.c: loops that wait for what nothing will change --------------------------------- */

/* The main thread of a tile is in it. */
typedef struct {
  uint32_t tile;
  uint64_t tasks;               /* local tasks that start again and again, a bit each; 0: it is in
                                   one task or function */
  uint16_t *registers;          /* stb_ds: addresses of the configuration registers that it reads */
  const ImageSymbol **variables;    /* stb_ds: that it reads */
} EndlessLoop;
/* If nothing can happen any more but such loops: all of them, in order of the tiles (stb_ds).  NULL
 * if that is not so, or not known.  `is_still`: nothing has moved for a while but main threads.
 * For an engine of this process, with no links, between runs. */
EndlessLoop *endless_find(Engine *engine, bool *is_still);
void endless_free(EndlessLoop *loops);

/* When a run is worth a look for such loops; of zeros at first. */
typedef struct {
  uint64_t due;                 /* cycle of the next look; 0: there was none */
  uint64_t wait;                /* cycles from a look in vain to the next */
  EngineStats stats;            /* at the last look */
} EndlessWatch;
/* The cycle of the next look, behind that of the engine. */
uint64_t endless_watch_due(EndlessWatch *watch, const Engine *engine);
/* As endless_find, if nothing but main threads has moved since the last look.  `shown`: what
 * endless_find may copy. */
EndlessLoop *endless_watch_look(EndlessWatch *watch, const Engine *engine, Engine *shown);

/* ---- report.c: names and places as text, and the way back from a wavelet to its sender ------- */

typedef struct {
  Engine *engine;
  const Program *program;
  FILE *out;
  InspectTile at;               /* of the tile looked at last */
  uint32_t at_tile;             /* NO_TILE: none yet */
  bool anonymous;               /* tiles are not named */
  const EndlessLoop *loops;     /* of endless_find, or NULL */
  const uint32_t *unblocks_expected;   /* how often each tile has to unblock its command stream, or
                                          NULL */
  bool unlaunched;              /* as in IdleQuestion */
  const uint32_t *launched;     /* the same */
} Report;

Report report_create(Engine *engine, const Program *program, FILE *out);
/* Valid until the next look at another tile. */
const InspectTile *report_look(Report *report, uint32_t tile);

/* Text to report->out. */
void report_tile(const Report *report, uint32_t tile);           /* P1.0 */
/* The help for a color that a layout of a host script leads to a tile where it has no route. */
extern const char script_route_help[];
void report_color(const Report *report, uint32_t tile, unsigned color);
void report_queue(const Report *report, uint32_t tile, bool output, unsigned queue);
void report_task(const Report *report, uint32_t tile, TaskKind kind, unsigned id);
/* The thread, what it waits for, and where. */
void report_thread(const Report *report, uint32_t tile, unsigned thread,
                   const InspectThread *state);
/* "N elements at pe.csl:3" of a queue's last use. */
void report_use(const Report *report, uint32_t tile, QueueUse use);

/* ---- calls.c: where a tile's main thread is, and the calls that led there ------------------- */

typedef struct {
  uint16_t pc;                  /* next instruction */
  uint16_t place;               /* for the source: of the instruction, or of the call */
  uint32_t sp;                  /* of the function's body */
  const DebugFunction *info;    /* NULL: not known */
  bool is_top;
} Call;
/* The function that runs, or in which a fault has ended the run; false: none. */
bool calls_top(Engine *engine, const Program *program, uint32_t tile, Call *call);
/* `call` becomes the one that has called it; false: none. */
bool calls_caller(Engine *engine, const Program *program, uint32_t tile, Call *call);
/* The function whose code has the address; NULL: not known. */
const DebugFunction *calls_function(const ImageClass *cls, uint32_t pc);

/* ---- values.c: elements as text --------------------------------------------------------- */

/* An element's bits as text: integers in decimal, floats as the shortest text that gives the
 * same bits back. */
void element_format(char element_class, unsigned bytes, Fp16Format fp16, uint64_t bits,
                    char text[32]);
/* An integer type may have fewer bits than its bytes: i24; ids have a range of their own. */
typedef struct {
  char element_class;
  uint8_t bytes, bits;
  const char *id;              /* "color"; NULL: no id */
  uint16_t id_least, id_most;
} ElementType;
/* The type of the data of an export, i24 for `[*]i24`, and that of a parameter of a function. */
ElementType element_type_of_data(const Machine *m, const ImageExport *export);
ElementType element_type_of_param(const Machine *m, const ImageExport *export, unsigned number);
/* The bits of an element, those of its bytes, are those of a number of the type: what an integer
 * type does not use repeats its sign.  Floats have any bits. */
bool element_is_of_type(ElementType type, uint64_t bits);
/* Are there bits that are not? */
bool element_type_is_narrow(ElementType type);
/* The bits of a value written by a user, as many as the bytes have; false if it is no value of the
 * type. */
bool element_parse(const char *text, size_t length, ElementType type, Fp16Format fp16,
                   uint64_t *bits);
/* The least and the largest value of an integer type. */
int64_t element_least(ElementType type);
uint64_t element_most(ElementType type);
/* "i24", "color", "f32" ... */
const char *element_type_text(Arena *arena, ElementType type, Fp16Format fp16);

/* ---- variables.c: variables as text ---------------------------------------------------------- */

/* What the text of a value depends on, besides its type and its bytes. */
typedef struct {
  const Image *image;
  const ImageClass *cls;        /* NULL: pointers have no names */
  uint32_t most_elements;       /* of an array that are shown */
} ValueStyle;
/* The bytes of a value as CSL would write it: `4`, `{ .a = 1, .b = red }`, `{ 0 <12 times>, 1 }`.
 * `bytes` has at least the type's. */
void variable_print(const ValueStyle *style, const DebugType *type, const uint8_t *bytes,
                    FILE *out);
/* A symbol by its name with or without that of its module; NULL: there is none. */
const ImageSymbol *class_symbol(const ImageClass *cls, const char *name);
/* The whole names of the variables that have this one behind that of their module, "a.v, b.v"; to
 * be freed. */
char *class_variables_named(const ImageClass *cls, const char *name, unsigned *count);
/* The same if `name` alone does not say which of several variables is meant; else NULL. */
char *class_name_choices(const ImageClass *cls, const char *name);
/* The type of the class' symbol with this number; NULL: not known. */
const DebugType *variable_type(const Image *image, const ImageClass *cls, uint32_t symbol);

/* ---- fault.c: findings as text --------------------------------------------------------------- */

/* Prints findings, each after `before`, and equal findings of several tiles once. */
void faults_print(const Program *program, Engine *engine, const Fault *faults, size_t count,
                  const char *before, FILE *out);
/* "error: cycle C, PX.Y: text ..." with location, the other side and help, several lines, newline
 * at the end.  `engine` as it has stopped; NULL: without the other side. */
void fault_print(const Program *program, Engine *engine, const Fault *fault, FILE *out);
/* The message alone, one line without newline. */
void fault_text(const Program *program, const Fault *fault, char *text, size_t size);

/* ---- left.c ---------------------------------------------------------------------------------- */

/* What a run has left: control wavelets that started no task (the last of each tile; if
 * `untaken`) and FIFOs that were full in silence; where it has ended well (`at_end`), also colors
 * that are torn down and flushes that are not over.  stb_ds. */
Fault *left_find(Engine *engine, const Program *program, bool untaken, bool at_end);

/* ---- deadlock.c ------------------------------------------------------------------------------ */

typedef enum {
  IDLE_DONE,                    /* nothing waits, or only what may wait for ever */
  IDLE_WARNINGS,                /* wavelets left behind, or finite waits that no check covers */
  IDLE_LEFT,                    /* wavelets left behind, which the question calls an error */
  IDLE_STUCK,                   /* exit 3 */
} IdleState;

typedef struct {
  bool host;                    /* launches drive the run: finite waits may be normal */
  bool unblock_missing;         /* a launched function has not unblocked the command stream */
  bool stream_short;            /* a host stream has not got all its words */
  const uint32_t *short_colors; /* by tile, a bit each: those on which the host waits for words of
                                   the tile; NULL: none */
  bool unlaunched;              /* the host can launch functions, but has launched none yet */
  const uint32_t *launched;     /* by tile: the function whose launch is not over, its place among
                                   the exports or UINT32_MAX; NULL: not known */
  bool left_is_error;
  const uint32_t *unblocks_expected;  /* by tile: how often it should have unblocked the command
                                         stream by now; NULL: no operation waits for that */
  const EndlessLoop *loops;     /* of endless_find: nothing else can happen any more; or NULL */
} IdleQuestion;

/* Examines a quiet engine and returns whether it is stuck. */
IdleState idle_classify(Engine *engine, const Program *program, const IdleQuestion *question);
/* Why nothing can move: the causes, each with a chain of waits that leads there, with source names
 * and lines, and all else that the same cause holds up. The report has one entry for equal findings
 * of several tiles. At most `max_lines` lines, plus what the first cause cannot do without. */
void deadlock_report(Engine *engine, const Program *program, const IdleQuestion *question,
                     unsigned max_lines, FILE *out);
/* The same as chains: for each cause `wait` gets the tile and the text of each wait, from the first
 * to the root.  At most `most` chains. */
void deadlock_chains(Engine *engine, const Program *program, const IdleQuestion *question,
                     unsigned most,
                     void (*wait)(void *context, unsigned chain, uint32_t tile, const char *text),
                     void *context);

/* ---- busy.c ---------------------------------------------------------------------------------- */

/* What tiles are at: at most `most` places, each with all tiles that are there.  With `loops` of
 * endless_find, these alone: the deadlock report has what waits besides. */
void busy_report(Engine *engine, const Program *program, const EndlessLoop *loops, unsigned most,
                 FILE *out);

#endif
