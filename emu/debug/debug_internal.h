/* What the files of emu/debug offer each other alone. */
#ifndef DEBUG_INTERNAL_H
#define DEBUG_INTERNAL_H

#include "emu/debug/debug.h"

/* ---- marks.c: states to come back to ------------------------------------------------------- */

/* The last one at or before the cycle; NULL: none. */
const Mark *marks_before(const Marks *marks, uint64_t cycle);
/* Keeps the state of an engine that stands between cycles. */
void marks_set(Marks *marks, Engine *engine, size_t n_applied);
/* The cycle in which a run should stop for the next one, and the stop. */
uint64_t marks_next(const Marks *marks);
/* Sets one there, and chooses the distance to the next by what that took. */
void marks_pass(Marks *marks, Engine *engine, size_t n_applied);
void marks_free(Marks *marks);

/* ---- timeline.c: an engine that stops and goes back ---------------------------------------- */

/* The first cycle that the timeline can stand at. */
uint64_t timeline_first(const Timeline *timeline);
const Program *timeline_program(const Timeline *timeline);
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
/* Does it stand before the host, so that nothing can be written? */
bool timeline_is_past(const Timeline *timeline);
/* Writes a general register of a tile; false in the past, and if the tile has not run yet. */
bool timeline_write_register(Timeline *timeline, uint32_t tile, unsigned number, uint16_t value);
/* A number for all that a program can see of the state: equal states have equal ones. */
uint64_t timeline_hash(Timeline *timeline);
/* The type of `count` elements of the image's debug type `of`; it lives as long as the timeline. */
const DebugType *timeline_slice(Timeline *timeline, uint32_t of, uint32_t count);

/* ---- frames.c: where a tile's main thread is ----------------------------------------------- */

/* The main thread's operation, if its next instruction can issue beside that: then the thread
 * stands before the instruction; else NULL, and it stands at its operation, if it has one. */
const VecRun *frames_beside(const Tile *core);
/* The inlined call whose code stands at an address; IMAGE_NO_INLINE: none. */
uint32_t frames_inlined_at(const Program *program, uint32_t tile, uint32_t pc);
/* Is `call` the inlined call `outer`, or inside it?  Each is inside IMAGE_NO_INLINE. */
bool frames_is_inside(const Program *program, uint32_t tile, uint32_t call, uint32_t outer);

/* ---- sources.c: where this machine has the source ------------------------------------------- */

/* Names the files that were written after the program. */
void sources_warn(const Program *program, FILE *out);
/* The lines around `line` of a file of the image; "": none is known.  `marked`: the line that gets
 * an arrow; 0: none does. */
enum { SOURCE_LINES = 10 };
typedef struct { const char *file; uint64_t line, marked; } SourceLines;
void source_print(const Program *program, const SourceLines *lines, FILE *out);

/* ---- names.c: what names stand for ---------------------------------------------------------- */

static inline const Program *program_of(const EvalContext *e)
{
  return timeline_program(e->timeline);
}
static inline const ClassCode *class_of(const EvalContext *e)
{
  return program_class(program_of(e), e->tile);
}

static inline bool read_bytes(const EvalContext *e, uint32_t address, void *to, uint32_t bytes)
{
  Engine *engine = timeline_engine(e->timeline);
  return engine->ops->mem_read(engine, e->tile, address, to, bytes);
}

/* Says in the context why something cannot be; false. */
bool set_why(EvalContext *e, const char *format, ...) BASE_PRINTF(2, 3);
/* The innermost variable of the name that can be seen here; false: it has no place, or there is
 * none (known says which). */
bool names_find_local(EvalContext *e, const char *name, EvalValue *v, bool *known);
/* A variable of a frame, or a global; false with the reason in the context. */
bool names_find(EvalContext *e, const char *name, EvalValue *v);
/* A member of an enum that a variable of the program has, by the names of both; false: there is no
 * such enum, or it has no such member, and then the context says so. */
bool names_find_member(EvalContext *e, const char *type, const char *member, EvalValue *v);
/* The constant of that whole name; NULL: there is none that is a number. */
const DebugConstant *names_constant(const ImageClass *class, const char *name);
/* A register, by its name without the dollar sign; likewise. */
bool names_find_register(EvalContext *e, const char *name, EvalValue *v);
/* Does the address lie in a global that one of the thread's functions keeps elsewhere at times? */
bool names_is_held(const EvalContext *e, uint32_t address);

/* ---- evaluate.c: expressions over the stopped state ---------------------------------------- */

/* Is it a number other than 0, or true? */
bool evaluate_truth(const EvalContext *e, const EvalValue *value);
/* Is `text` an integer from 0 to `most`, written as in CSL, and nothing else? */
bool evaluate_number(const char *text, uint64_t most, uint64_t *number);
/* As a 64-bit number; floats are cut off. */
int64_t evaluate_integer(const EvalContext *e, const EvalValue *value);
/* Where a variable lies, or the number as an address; false with the reason in the context: no tile
 * has so much memory. */
bool evaluate_address(EvalContext *e, const EvalValue *value, uint32_t *address);
/* The bits of a number or a pointer, as many as its type has; false with the reason in the context:
 * an array, a struct, ... */
bool evaluate_bits(EvalContext *e, const EvalValue *value, uint64_t *bits);
/* Behind a value: that it may not be the newest. */
void evaluate_print_note(const EvalValue *value, FILE *out);

/* ---- stops.c: breakpoints ------------------------------------------------------------------ */

/* As stops_add, from what stands behind `break` or `watch`: a region and a condition may follow. */
Break *stops_add_text(Debugger *d, BreakKind kind, const char *text);
/* X,Y or X,Y,W,H, inside the program's rectangle; "" is all of it. */
bool stops_parse_region(Debugger *d, const char *text, uint32_t region[4]);
/* NULL: there is none with this number. */
Break *stops_find(const Debugger *d, unsigned number);
/* The source that FILE:LINE or FUNCTION names, without code at the line, too; false after
 * reporting. */
bool stops_find_source(Debugger *d, const char *place, const char **file, uint64_t *line);
/* A line for each breakpoint. */
void stops_print(Debugger *d);
/* What the watchpoint's number was before the last change, and what it is; nothing otherwise. */
void stops_print_change(Debugger *d, unsigned number);
/* The number of the breakpoint that the event hits and that stops, or 0.  If there are several, the
 * others are added to `more` (stb_ds). */
unsigned stops_hit(Debugger *d, const TraceEvent *event, BreakHit **more);
/* The program stands for another reason than a breakpoint. */
void stops_forget_hit(Debugger *d);

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
/* Forgets the wavelet. */
void follow_end(Debugger *d);

/* ---- csdb.c: commands in the vendor's forms ------------------------------------------------ */

/* `rest` is what stands behind the word of the command.  False: it has another form. */
bool csdb_rectangle(Debugger *d, const char *rest);
bool csdb_memory(Debugger *d, const char *rest);
bool csdb_register(Debugger *d);
/* The others report what is wrong with it. */
void csdb_wavelet(Debugger *d, const char *rest);
void csdb_image(Debugger *d, const char *rest);
void csdb_trace(Debugger *d, const char *rest);
void csdb_target(Debugger *d, const char *rest);
void csdb_context(Debugger *d, const char *rest);
void csdb_workdir(Debugger *d, const char *rest);
void csdb_settings(Debugger *d, const char *rest);

#endif
