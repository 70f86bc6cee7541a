/* What the files of frontend/analysis offer each other alone. */
#ifndef FRONTEND_ANALYSIS_INTERNAL_H
#define FRONTEND_ANALYSIS_INTERNAL_H

#include "frontend/analysis/analysis.h"

/* ---- block_times.c --------------------------------------------------------------------------- */

/* Times in a run: 0, 1 or FABRIC_MANY. */
typedef struct { uint8_t least, most; } Times;
/* For each block of the function, when it runs once. */
Times *block_times_find(const IrFunc *f, Arena *arena);

/* ---- fabric_value.c -------------------------------------------------------------------------- */

/* The bits of a scalar that is the same in every run, found from constants and calls with
 * constants; false: it is not known. */
bool fabric_known_value(const IrModule *m, const IrFunc *f, IrValue v, Arena *arena,
                        uint64_t *bits);
/* By block of the function, which has some: WAYS_REACHED if a run can come to it, and a bit for
 * each target of its end that can come next. A branch has one if its condition is the same in every
 * run, such as what a function makes of a parameter.
 * unwritten: by global, whether it always holds what it holds at the start; NULL: not known. */
enum { WAYS_REACHED = 0x80 };
const uint8_t *fabric_ways(const IrModule *m, const bool *unwritten, const IrFunc *f, Arena *arena);

/* ---- a call that leads to code --------------------------------------------------------------- */

/* The function's parameters are what this call gives it; `outer` leads to the caller.  NULL: any
 * call may lead there. */
typedef struct CallWay {
  const struct CallWay *outer;
  const IrFunc *caller;
  const IrInsn *call;
} CallWay;

/* ---- fabric_use.c ---------------------------------------------------------------------------- */

static inline bool is_fabric_desc(const Descriptor *d)
{
  return d->kind == DESC_FABIN || d->kind == DESC_FABOUT;
}
/* A descriptor with what is set on the way to the operation. */
typedef struct {
  Descriptor desc;
  IrGlobalId global;
  bool is_length_known, is_variable;   /* the latter: of a variable that nothing writes */
} KnownDesc;
/* The operands of one operation as far as they are known. */
typedef struct {
  const IrVecOperand *operand[3];   /* in the order in which they decide on the length */
  KnownDesc known[3];
  bool is_known[3];
  uint32_t unbounded_length;        /* of the machine: from here on there is no end */
} Operands;
void fabric_read_operands(const Sema *s, const IrFunc *f, const CallWay *at, const IrInsn *vec,
                          Operands *o);
/* Elements that the operation moves; 0: not known, or without an end. */
uint16_t fabric_operation_length(const Operands *o);
/* Where the user wrote it: outside the standard library that the code was inlined from. */
Span fabric_user_span(const Sema *s, IrLocId loc);
/* Is the place in a file of the standard library? */
bool fabric_is_in_library(const Sema *s, Span span);

/* ---- for warnings: effects.c ----------------------------------------------------------------- */

/* What calls of a function do; in arrays, by its number in the IR. */
typedef enum { EFFECT_UNKNOWN, EFFECT_RUNNING, EFFECT_NONE, EFFECT_SOME } Effect;
/* Nothing is known yet but of functions that do more on other tiles. */
Effect *effects_begin(Sema *s);
/* Does a call do more than compute a value from what it reads?  A function that calls itself counts
 * as one with an effect. */
bool effect_of_func(const Sema *s, uint32_t func, Effect *known);

/* ---- lint.c ---------------------------------------------------------------------------------- */

/* Warns of operations and tasks that do not go together, and of first calls that are missing. */
void lint_operations(Sema *s);
/* Colors that streams between the host and this program carry, a bit each. */
uint32_t lint_streamed_colors(Sema *s);

/* ---- lint_rows.c ----------------------------------------------------------------------------- */

/* Warns of tiles that get the parameters of <memcpy/get_params> for their row as a column. */
void lint_rows(Sema *s);

/* ---- lint_tasks.c ---------------------------------------------------------------------------- */

/* Warns of tasks of the module that nothing in the program names. */
void lint_tasks(Sema *s, const ModuleInstance *m);
/* Notes which local tasks no code of the tile activates. */
void lint_note_local_tasks(Sema *s);

/* ---- lint_needs.c: what code needs, on its tile or on another one of the same code ----------- */

/* What one operation takes. */
typedef struct {
  bool is_async, has_dsr;
  int queue[3];            /* input queues first, output queues behind; -1: none */
  int thread;
  uint32_t colors;         /* a bit each */
  uint64_t tasks;          /* that it activates when it is done, a bit each */
} Taken;
/* False if an operand is not known. */
bool lint_taken_by(const Sema *s, const IrFunc *f, const CallWay *at, const IrInsn *insn,
                   Taken *taken);
/* The descriptor that an operand is known to be, with the flags set on the way; false if it is
 * not known, such as one out of a variable that the program writes. */
bool lint_known_descriptor(const Sema *s, const IrFunc *f, const CallWay *at, IrValue v,
                           Descriptor *desc);
/* Does code of the program write the register, or one that is known at run time only? */
bool lint_code_may_set(const IrModule *ir, uint32_t address);
/* May code of the program give the queue a color? */
bool lint_code_may_bind(const Sema *s, bool is_output, unsigned q);
void lint_warn_uninitialized(const Sema *s, Span at, bool is_output, unsigned q);
void lint_warn_unbound(Sema *s, Span at, unsigned id);
/* Notes what the operations of a function need that runs, and what of it is not there; also those
 * of functions that it gives descriptors. */
void lint_note_needs(Sema *s, const IrFunc *f);

/* ---- lint_values.c --------------------------------------------------------------------------- */

enum { MOST_VALUES = 16 };
typedef struct { unsigned n; uint64_t at[MOST_VALUES]; } PossibleValues;
/* All values that a number may have; false: they are too many, or not known. */
bool lint_possible_values(const Sema *s, const IrFunc *f, IrValue v, PossibleValues *values);
/* The ids that a number may be, a bit each; `unknown` if they are not known. */
uint64_t lint_possible_ids(const Sema *s, const IrFunc *f, IrValue v, uint64_t unknown);

/* ---- lint_runs.c: what runs on a tile -------------------------------------------------------- */

/* Tasks that instructions can activate or unblock, a bit each; `unknown` where an id is not
 * known. */
uint64_t lint_tasks_of_code(const Sema *s, ActionKind kind, uint64_t unknown);
/* Tasks that action words activate or unblock: those that a number may be. */
uint64_t lint_tasks_of_words(const Sema *s, const IrFunc *f, IrValue word, ActionKind kind,
                             uint64_t unknown);
/* fabric_ways of a function, found once. */
const uint8_t *lint_ways(const Sema *s, const IrFunc *f);
/* Marks the function and what it calls. */
void lint_mark_called(const Sema *s, uint32_t func, bool *runs);
/* By function: whether something starts it. In a program for many tiles, a tile may have local
 * tasks that only other tiles start; such a task may well start itself again, and others.
 * apart: by function, whether it counts only if code calls or starts it; NULL: none is. */
bool *lint_running_functions(Sema *s, const bool *apart);

/* ---- lint_variables.c: variables that nothing writes ----------------------------------------- */

/* Finds them, reports the messages that wait for that, and takes what they hold for known. */
void lint_variables(Sema *s);
/* By number in the IR: what happens to the address of each global; bits. */
enum { GLOBAL_LOADED = 1, GLOBAL_USED_OTHERWISE = 2 };
const uint8_t *lint_uses_of_globals(const Sema *s);
/* By number in the IR: globals that nothing writes, neither code nor the host nor the layout. */
const bool *lint_unwritten_globals(const Sema *s);
/* Is the global exported, so that the host may read or write it? */
bool lint_is_exported(const Sema *s, uint32_t global);
/* What a local variable that was read holds, if only its declaration writes it; other values as
 * they are. */
IrValue lint_held_value(const Sema *s, const IrFunc *f, IrValue v);
/* Does the store give a local variable the descriptor that it keeps? */
bool lint_is_kept(const Sema *s, const IrFunc *f, const IrInsn *store);
/* The descriptor that a function returns, if only one way leads through it; else false. */
bool lint_hands_back(const IrFunc *f, IrValue *v);
/* Does a function take descriptors? */
bool lint_takes_dsds(const IrFunc *f);
/* A descriptor in a function to which a call leads; `calls` counts the steps so far. */
typedef struct { const IrFunc *f; IrValue v; const CallWay *at; unsigned calls; } DsdSource;
/* Where a descriptor comes from: follows it to what a local variable holds, into functions that
 * hand one back, and from a parameter to the call, or to the only one; true if it came through a
 * variable.  There is an end to the steps. */
bool lint_trace_dsd(const Sema *s, DsdSource *from);
/* The descriptor that a value is: a constant, or what an unwritten variable holds; NULL. */
const IrDesc *lint_constant_dsd(const Sema *s, const IrFunc *f, IrValue v);
/* The same, or what the variable that was read held at first, if every write to it keeps the type
 * of the elements below; NULL. */
const IrDesc *lint_first_dsd(const Sema *s, const IrFunc *f, IrValue v);

/* ---- lint_registers.c: what explicit DSRs hold ----------------------------------------------- */

/* The one place that loads the DSR; NULL: there are none or several, or something changes it. */
const SoleLoad *lint_sole_load(const Sema *s, DsrFile file, unsigned number);
/* What it loads; false if that is not known. */
bool lint_register_descriptor(const Sema *s, DsrFile file, unsigned number, Descriptor *desc);

/* ---- lint_endless.c -------------------------------------------------------------------------- */

/* Warns of operations without an end that keep the task from what follows. */
void lint_endless(Sema *s);

/* ---- lint_launches.c ------------------------------------------------------------------------ */

/* Warns of functions that the host can launch and that never let it go on. */
void lint_launches(Sema *s);

/* ---- lint_pointers.c ------------------------------------------------------------------------ */

/* Warns of pointers that are used and never get a value. */
void lint_pointers(Sema *s);

/* ---- lint_fifos.c --------------------------------------------------------------------------- */

/* Warns of operations that move more elements than their FIFO has room for. */
void lint_fifos(Sema *s);

/* ---- lint_unblocks.c ------------------------------------------------------------------------ */

/* Warns of operations that unblock a local task that nothing blocks, and of local tasks that are
 * blocked at the start and that nothing unblocks. */
void lint_unblocks(Sema *s);

/* ---- lint_controls.c ------------------------------------------------------------------------ */

/* Notes the control tasks whose wavelets no queue of the tile lets in. */
void lint_controls(Sema *s);

/* ---- lint_locals.c -------------------------------------------------------------------------- */

/* Warns of local variables that are read before they have a value, and of calls that do nothing. */
void lint_locals(Sema *s);

/* ---- lint_loops.c --------------------------------------------------------------------------- */

/* Warns of loops whose condition never changes. */
void lint_loops(Sema *s);

/* ---- lint_bounds.c -------------------------------------------------------------------------- */

/* Warns of loops that come to elements that an array does not have. */
void lint_bounds(Sema *s);

#endif
