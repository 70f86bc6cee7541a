/* What the files of frontend/layout offer each other alone; the warnings about programs without
 * errors are most of it. */
#ifndef FRONTEND_LAYOUT_INTERNAL_H
#define FRONTEND_LAYOUT_INTERNAL_H

#include "frontend/layout/layout.h"

/* ---- layout.c ------------------------------------------------------------------------------ */

/* Makes the tiles of the program's rectangle; a mistake in its place is reported at `span`. */
void layout_set_rectangle(Session *session, LayoutResult *layout, uint32_t width, uint32_t height,
                          Span span);

/* ---- lint.c: warnings about programs without errors ---------------------------------------- */

/* After setup_finish, for each tile class. */
void lint_program(Sema *s);
/* Queues that a DSD uses for another color and that no code binds to it; also after errors. */
void lint_queue_colors(Sema *s);
/* Colors that streams between the host and this program carry, a bit each. */
uint32_t lint_streamed_colors(Sema *s);
/* Those that <memcpy> gets by the names of one direction. */
uint32_t lint_named_streams(Sema *s, bool to_tiles);
/* Warns of parameters without a value and, in declarations that nothing uses, of calls of builtins
 * that do not exist; also for a layout. */
void lint_declarations(Sema *s);
/* After the layout block; true: the layout has <memcpy/get_params>. */
bool lint_memcpy_size(Sema *s);

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
  bool is_async;
  int queue[3];            /* input queues first, output queues behind; -1: none */
  int thread;
  uint32_t colors;         /* a bit each */
  uint64_t tasks;          /* that it activates when it is done, a bit each */
} Taken;
/* False if an operand is not known. */
bool lint_taken_by(const Sema *s, const IrFunc *f, const IrInsn *insn, Taken *taken);
/* The descriptor that an operand is known to be, with the flags set on the way; false if it is
 * not known, such as one out of a variable that the program writes. */
bool lint_known_descriptor(const Sema *s, const IrFunc *f, IrValue v, Descriptor *desc);
/* Does code of the program write the register, or one that is known at run time only? */
bool lint_code_may_set(const IrModule *ir, uint32_t address);
/* May code of the program give the queue a color? */
bool lint_code_may_bind(const Sema *s, bool is_output, unsigned q);
void lint_warn_uninitialized(const Sema *s, Span at, bool is_output, unsigned q);
void lint_warn_unbound(Sema *s, Span at, unsigned id);
/* Notes what the operations of a function need that runs, and what of it is not there. */
void lint_note_needs(Sema *s, const IrFunc *f);
/* What was found about a need of that key; NULL: in some class it is met. */
typedef struct { uint64_t key; const TakenDiags *value; } ClassesNeed;
typedef struct { ClassesNeed *data, *local, *queues, *tasks, *dsrs; } NotedNeeds; /* stb_ds maps */
/* After the analysis of a class. */
void lint_collect_needs(const Sema *s, NotedNeeds *needs);
void lint_report_needs(Diags *diags, const NotedNeeds *needs);

/* ---- lint_runs.c: what runs on a tile -------------------------------------------------------- */

/* Tasks that instructions can activate or unblock, a bit each; `unknown` where an id is not
 * known. */
uint64_t lint_tasks_of_code(const Sema *s, ActionKind kind, uint64_t unknown);
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
/* Reports what needs no variable of the messages that are still held: the program has errors. */
void lint_held_after_errors(Sema *s);
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
/* The descriptor that a value is: a constant, or what an unwritten variable holds; NULL. */
const IrDesc *lint_constant_dsd(const Sema *s, const IrFunc *f, IrValue v);
/* The same, or what the variable that was read held at first, if every write to it keeps the type
 * of the elements below; NULL. */
const IrDesc *lint_first_dsd(const Sema *s, const IrFunc *f, IrValue v);

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

/* ---- lint_unused.c: declarations of tiles' programs that nothing uses ---------------------- */

/* What was found in a declaration; NULL: nothing, or something uses it. */
typedef struct { const Node *key; TakenDiags *value; } UnusedDecl;
/* After the analysis of a class: evaluates what it did not use, and keeps the messages of what is
 * wrong in all classes so far.  `decls` is an stb_ds map. */
void lint_collect_unused(Sema *s, UnusedDecl **decls);
/* Reports them, as warnings: a compilation does not look at such code. */
void lint_report_unused(Diags *diags, const UnusedDecl *decls);

#endif
