/* The deadlock report's own header.  Only deadlock*.c include it.
 *
 * Every wait is an edge from a unit (a thread, a queue, a color of a router) to the unit that
 * would have to move first.  Each unit has at most one such edge, so every chain of waits runs
 * into an end or into a cycle: a cause.  deadlock_wait.c knows the edges and where they end;
 * deadlock.c follows them and writes the report.  deadlock_units.c has the words for units, and
 * deadlock_text.c those for ends; deadlock_help.c has the advice, deadlock_ends.c what words and
 * advice need to know of an end. */
#ifndef DEADLOCK_H
#define DEADLOCK_H

#include "emu/explain/explain.h"

typedef enum {
  UNIT_THREAD,                  /* index: 0 main, 1 + microthread */
  UNIT_TASK,                    /* an activated local task */
  UNIT_OUTPUT,                  /* an output queue */
  UNIT_INPUT,                   /* an input queue: its reader has to move */
  UNIT_ROUTER,                  /* a color's wavelets in a router's slots */
  UNIT_RECEIVER,                /* a color that a tile waits for: its router has to deliver it */
  UNIT_SENDER,                  /* a color that should come into a router */
  UNIT_COMMAND,                 /* a tile that has not unblocked the command stream */
  UNIT_STREAM,                  /* a color on which the host waits for words of the tile */
  UNIT_DOER,                    /* a task that has never started, or a data task that would start
                                   again: its place among the class' */
  UNIT_END,
} UnitKind;

/* Why a chain ends; tile and index say where. */
typedef enum {
  END_NONE,
  END_NO_SENDER,                /* index of these: the color */
  END_HOST,                     /* no tile routes it: the host's words come on it */
  END_NOT_CONFIGURED, END_NOT_ROUTED, END_NOT_DELIVERED, END_EDGE, END_SUSPENDED, END_CLOSED,
  END_LINK_EMPTY, END_LINK_FULL,    /* a link to another wafer */
  END_NO_QUEUE,
  END_NOBODY_READS, END_CONTROL_HEAD,   /* the input queue */
  END_BLOCKED_TASK,             /* the id */
  END_NO_FIRST_CALL,            /* of a module whose data tasks that call unblocks: the id of one */
  END_BLOCKED_THREAD,           /* the microthread */
  END_FIFO,                     /* the thread */
  END_FIFO_LEFT,                /* elements that nothing waits to take */
  END_LOST,                     /* a task whose activations have merged: the id */
  END_UNTAKEN,                  /* a control wavelet without taker: the input queue */
  END_NEVER_STARTED,            /* a task: its place among the class' */
  END_NOT_LAUNCHED,             /* a function: its place among the exports */
  END_NO_UNBLOCK,
  END_AT_WORK,                  /* the main thread, mostly in an endless loop */
  END_UNKNOWN,
} EndKind;

/* What a task or function would do that others wait for. */
typedef enum { DEED_ACTIVATE, DEED_SEND, DEED_READ, DEED_FLUSH, DEED_COUNT } DeedKind;
typedef struct {
  DeedKind kind;
  uint8_t of;                   /* the local task's id, the color or the input queue */
} Deed;

typedef struct {
  UnitKind kind;
  EndKind end;
  uint32_t tile;
  uint8_t index;
  Deed deed;                    /* of UNIT_DOER and END_NOT_LAUNCHED */
} Unit;

/* In a cycle of waits, a message for which sender and reader have different lengths.  Or one from
 * the only thread of the cycle to itself: it waits for what it does not send, or it does not take
 * what it sends. */
typedef struct {
  enum { CUT_NONE, CUT_BY_SENDER, CUT_BY_READER, CUT_TO_ITSELF, CUT_BACK_TO_ITSELF } kind;
  Unit reader;                  /* the thread, or the input queue that it has read in part */
  Unit sender;                  /* the color on which the sender has stopped, or its thread */
  bool all_receive;             /* CUT_NONE: each thread waits for what another would send */
} CutMessage;

/* ---- deadlock_wait.c ------------------------------------------------------------------------- */

bool finite_wait(const InspectThread *thread);
Unit unit_of(UnitKind kind, uint32_t tile, unsigned index);
/* Has the task of a UNIT_DOER started before? */
bool doer_has_started(Report *report, Unit doer);
/* What has to move before the unit can. */
Unit unit_after(Report *report, Unit from);
/* A data task that has never started although a route of its color, on which others send, leads to
 * the tile; NULL: there is none. */
const ImageTask *idle_data_task(Report *report, uint32_t tile, unsigned *color);
/* The task that starts the handlers of torn down colors and of emptied queues. */
bool is_teardown(const Report *report, const ImageTask *task);
/* The tile has a handler for a color that is torn down; else that task serves flushes alone. */
bool has_teardown_handler(const ClassCode *cls);
/* The tile's program has no code that may do it. */
bool lacks_code(Report *report, uint32_t tile, Deed deed);
/* Where the code that begins at `entry` does it, or PC_RETURN. */
uint16_t place_of_deed(const ClassCode *cls, uint16_t entry, Deed deed);
/* A task that has never started and would do it; NULL: none. */
const ImageTask *missed_task(Report *report, uint32_t tile, Deed deed);
/* The tile has sent on the color. */
bool has_sent(Report *report, Unit sender);
/* The last activations that the tile has lost are those of the blocked task: they have merged
 * because it is blocked, so they are not why it does not run. */
bool has_merged(Report *report, Unit blocked);
/* A queue that was used last for another color may have sent on this one before. */
bool may_have_sent(Report *report, Unit sender);
/* Elements in the FIFO that the tile filled last. */
unsigned elements_in_fifo(Report *report, uint32_t tile);
/* The output port that holds up a UNIT_ROUTER. */
Port router_waits_for(Report *report, Unit from);
/* The instruction that unblocks the command stream, among those that can follow `entry`, or the
 * call that leads to it; PC_RETURN: there is none. */
uint16_t class_unblocks(const ClassCode *cls, uint16_t entry);
/* The first instruction that activates the local task; PC_RETURN: there is none. */
uint16_t class_activates(const ClassCode *cls, unsigned id);
/* The data task that carries out the host's commands. */
bool is_command_task(const Program *program, const ClassCode *cls, const ImageTask *task);
/* A task that would unblock the command stream and has never started; else a data task that would,
 * with another wavelet; NULL: there is none. */
const ImageTask *task_to_unblock(Report *report, uint32_t tile, bool *has_started);
/* Has the task never started, and would it have unblocked the command stream? */
bool is_missed_unblock(Report *report, uint32_t tile, const ImageTask *task);
/* The tile has not unblocked its command stream as often as it was launched. */
bool owes_unblock(const Report *report, uint32_t tile);
/* A task that has never started and would unblock the task of this id, and where; NULL: none. */
const ImageTask *missed_unblocker(Report *report, uint32_t tile, unsigned id, uint16_t *at);

/* ---- deadlock_ends.c ------------------------------------------------------------------------- */

/* The ports that another position of the switch opens: the number of the first such position, 0
 * if there is none.  The first position is not named: what went before has advanced the switch. */
unsigned position_that_opens(Report *report, Unit closed, bool inputs, PortMask *ports);
/* Whether a full FIFO (or an empty one) ended the operation before its last element. */
bool is_cut_by_fifo(Report *report, uint32_t tile, QueueUse use, bool push);
enum { MOST_STARTS = 3 };
/* A line that would activate a task. */
typedef struct {
  uint16_t pc;
  bool is_operation;            /* in the background, by its end; else by @activate */
  char text[256];
} StartPlace;
/* Where the tile's code has @activate for the task; if nowhere, the operations whose end activates
 * it, unless one of them is running.  How many, at most MOST_STARTS. */
unsigned unrun_starts(Report *report, uint32_t tile, unsigned id, StartPlace places[MOST_STARTS]);
/* The tile has sent on the color of what stands in its input queue, by a route that leads back to
 * it; it has never read that queue, or hears_itself. */
bool sends_to_own_ramp(Report *report, Unit end, Unit *color);
/* Neither an operation nor a data task of the program takes from the input queue. */
bool has_no_reader(Report *report, Unit end);
/* A channel that only control wavelets were to pass: without a data task its id starts blocked, and
 * they wait, too. */
bool has_no_data_task(Report *report, Unit end);
/* The tile exports the function, and it may be the one whose launch is not over. */
bool may_be_launched(const Report *report, uint32_t tile, uint32_t export);
/* Where the tile's code unblocks the command stream: in a task, else in a function that
 * may_be_launched; PC_RETURN: nowhere. */
uint16_t unblocking_place(const Report *report, uint32_t tile);
/* A route of the tile leads past a data task that has never started. */
bool passes_idle_task(Report *report, uint32_t tile);
/* The missed_unblocker is one that the program activates. */
bool lacks_activation(Report *report, Unit end);
/* It waits for elements, and there was no room for some: `end` is END_FIFO. */
bool lacks_what_was_full(Report *report, Unit end);
/* It waits for room, and there was nothing to take for some operation: `end` is END_FIFO. */
bool lacks_what_was_empty(Report *report, Unit end);
/* The switch of the color has moved to where the tile alone sends, and to itself, too. */
bool hears_itself(Report *report, uint32_t tile, unsigned color);
/* The layout says that the host streams words to the tiles on the color. */
bool is_named_stream(const Program *program, unsigned color);

/* ---- deadlock_text.c ------------------------------------------------------------------------- */

void end_print(Report *report, Unit end);
/* A task or a microthread that is blocked, without what would unblock it. */
void end_print_blocked(Report *report, Unit end, IdKind kind);
/* What does not happen on a tile, and the task that would do it. */
void end_print_doer(Report *report, Unit doer);
/* The reader has got a part, and the sender starts no more, or the other way round; or neither has
 * begun. */
void cut_message_print(Report *report, const CutMessage *cut);

/* ---- deadlock_units.c ------------------------------------------------------------------------ */

/* The unit, and what it waits for. */
void unit_print(Report *report, Unit unit);
/* Its name alone. */
void unit_print_short(Report *report, Unit unit);

/* ---- deadlock_help.c ------------------------------------------------------------------------- */

/* Advice for the author of the program; NULL: none. */
/* `waits`: the thread whose wait leads to the root first; NULL: none. */
const char *end_help(Report *report, const Unit *root, const Unit *waits);
const char *cycle_help(const Report *report, const CutMessage *cut);

#endif
