/* What the files of emu/explain offer each other alone. */
#ifndef EXPLAIN_INTERNAL_H
#define EXPLAIN_INTERNAL_H

#include "emu/explain/explain.h"

/* ---- report.c: names and places as text, and the way back from a wavelet to its sender ------- */

/* "at pe.csl:3", or "at <dsd_ops>:25, called at pe.csl:3". */
void report_place(const Report *report, uint32_t tile, uint32_t pc);
/* The same for what was inlined: where the outermost function has called it. */
void report_outer_place(const Report *report, uint32_t tile, uint32_t pc);
/* The source name of a vector instruction's operand: 0 dest, 1 src0, 2 src1; "" if unknown. */
const char *report_operand(const Program *program, uint32_t tile, uint32_t pc, unsigned stream);
/* The stream that a thread waits for, STALL_INPUT and STALL_OUTPUT. */
const VecStream *report_waiting(const InspectThread *state);
/* The tile's endless loop; NULL: none. */
const EndlessLoop *report_loop_of(const Report *report, uint32_t tile);
/* The tasks of the loop, which start again and again. */
void report_rounds(const Report *report, const EndlessLoop *loop);
/* ", activated at pe.csl:3", if that is known; behind a look at the tile. */
void report_activation(const Report *report, uint32_t tile, unsigned id);
/* Inputs of a color in any position of its switch. */
PortMask report_inputs(const ImageColorConfig *config);
/* The sender of what came into a tile's router by a port on a color: the nearest tile against the
 * routes that has sent on it, and its queue's last use. */
typedef struct {
  uint32_t tile;
  uint8_t queue;
  QueueUse use;
} Origin;
bool report_origin(Report *report, uint32_t tile, Port port, unsigned color, Origin *origin);

/* ---- busy.c: what tiles are at -------------------------------------------------------------- */

/* The first local task that can start and has not; MAX_TASK_IDS: none. */
unsigned busy_task(const Program *program, uint32_t tile, const InspectTile *at);

/* ---- calls.c: where a tile's main thread is, and the calls that led there ------------------- */

/* How the program has come to a place in the library. */
typedef struct {
  const char *module;           /* that the program called: <mpi>; NULL: the place is not there */
  const char *file;             /* of the call; NULL: a task of the module, say, got there */
  uint32_t line;
} WayIntoLibrary;
WayIntoLibrary calls_into_library(Engine *engine, const Program *program, uint32_t tile,
                                  uint32_t pc);
/* The program's calls by which an instruction of a library module can be reached, as the code has
 * them, in order of their addresses; how many, at most `most`.  None if the place is the program's
 * own. */
uint32_t calls_that_reach(const Program *program, uint32_t tile, uint32_t pc, WayIntoLibrary *ways,
                          uint32_t most);

/* The function of a library module that each tile has to call once, since it unblocks the module's
 * data tasks, of which this is one; NULL: there is none. */
typedef struct { const char *module, *function; } FirstCall;
const FirstCall *calls_first_for(const Program *program, uint32_t tile, unsigned data_task);

/* ---- code.c: what the code of a class can come to -------------------------------------------- */

/* The descriptor that a constant puts into the DSR: on the way to the instruction of that index, or
 * before any task, in code that stands behind all others. */
bool code_descriptor(const ClassCode *cls, uint32_t insn, const VecOperand *dsr, Descriptor *desc);
/* Does the instruction do it?  `of`: a task's id, a color or an input queue.  Those that "may" do
 * something answer yes if that depends on a value of the run. */
typedef bool InsnQuestion(const ClassCode *cls, const Insn *insn, unsigned of);
bool insn_unblocks_stream(const ClassCode *cls, const Insn *insn, unsigned of);
bool insn_may_unblock(const ClassCode *cls, const Insn *insn, unsigned id);
/* By @activate. */
bool insn_activates(const ClassCode *cls, const Insn *insn, unsigned id);
bool insn_may_activate(const ClassCode *cls, const Insn *insn, unsigned id);
/* An operation does it when it is over. */
bool insn_activates_at_end(const ClassCode *cls, const Insn *insn, unsigned id);
/* And by an operation. */
bool insn_starts(const ClassCode *cls, const Insn *insn, unsigned id);
bool insn_may_start(const ClassCode *cls, const Insn *insn, unsigned id);
/* Does it fill a FIFO without .async?  Then a full FIFO ends it.  `of`: anything. */
bool insn_fills_fifo(const ClassCode *cls, const Insn *insn, unsigned of);
/* The code behind an operation asks whether it has moved all its elements. */
bool insn_is_asked(const ClassCode *cls, const Insn *operation);
/* The operations without .async that take from FIFOs, where an empty FIFO ends them, if the program
 * asks after none of them whether it has moved all elements; else 0.  *last_pc: one of them. */
unsigned code_ignored_takes(const ClassCode *cls, uint16_t *last_pc);
bool insn_sends(const ClassCode *cls, const Insn *insn, unsigned color);
bool insn_may_send(const ClassCode *cls, const Insn *insn, unsigned color);
bool insn_reads(const ClassCode *cls, const Insn *insn, unsigned queue);
bool insn_may_read(const ClassCode *cls, const Insn *insn, unsigned queue);
bool insn_flushes(const ClassCode *cls, const Insn *insn, unsigned of);
bool insn_may_flush(const ClassCode *cls, const Insn *insn, unsigned of);
/* The instruction that answers the question with yes, among those that can follow `entry`, or the
 * call that leads to it; PC_RETURN: there is none. */
uint16_t code_reaches(const ClassCode *cls, uint16_t entry, InsnQuestion *question, unsigned of);

#endif
