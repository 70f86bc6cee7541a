/* What the files of emu/dap share. */
#ifndef DAP_INTERNAL_H
#define DAP_INTERNAL_H

#include "emu/dap/dap.h"

#include <jansson.h>

/* ---- wire.c: messages in and out ------------------------------------------------------------- */

/* While the program runs, a message that comes in makes it stand: each one, or those that end
 * something only. */
typedef enum { WIRE_STANDS, WIRE_RUNS, WIRE_SEARCHES } WireMode;
typedef struct Wire Wire;
Wire *wire_open(int in, int out);
void wire_close(Wire *wire);
void wire_mode(Wire *wire, WireMode mode, Timeline *timeline);
/* The next request, to be released; NULL: there is none within the time, or the client has gone.
 * `seconds` below 0: waits. */
json_t *wire_next(Wire *wire, double seconds);
bool wire_is_closed(Wire *wire);
/* Takes the message. */
void wire_send(Wire *wire, json_t *message);

/* ---- talk.c ---------------------------------------------------------------------------------- */

/* What the client can open: a scope of a frame, or a value with parts. */
typedef enum {
  SCOPE_ARGUMENTS,
  SCOPE_LOCALS,
  SCOPE_GLOBALS,
  SCOPE_CONSTANTS,
  SCOPE_REGISTERS,
  SCOPE_DSRS,
  SCOPE_QUEUES,
  SCOPE_FIFOS,
  SCOPE_TASKS,
  SCOPE_ROUTER,
  SCOPE_COUNT,
  SCOPE_VALUE = SCOPE_COUNT
} ScopeKind;
typedef struct {
  ScopeKind kind;
  uint32_t tile;
  unsigned frame;
  EvalValue value; /* SCOPE_VALUE, and */
  char *path;      /* malloc: the expression for it */
} Handle;

typedef struct {
  uint32_t tile;
  unsigned frame;
} FrameHandle;

/* What the client has asked for that needs the program to move. */
typedef enum { MOVE_NONE, MOVE_GO, MOVE_BACK, MOVE_ARMED, MOVE_END } MoveKind;

/* The breakpoints of one request replace those that it has set before. */
typedef enum { OWNER_SOURCE, OWNER_FUNCTION, OWNER_DATA, OWNER_INSTRUCTION } BreakOwner;
typedef struct {
  unsigned number;
  BreakOwner owner;
  uint32_t file;
} OwnedBreak;

struct DapServer {
  Debugger debugger; /* the first member: events go to it */
  TimelineFront front;
  Wire *wire;
  int socket; /* to be closed; -1 none */
  FILE *output, *messages;
  json_int_t sequence;
  char *why;                  /* malloc: why the request has failed */
  json_t *launch;             /* the request that waits for its answer */
  char **texts;               /* stb_ds: of DapLaunch */
  const char **args;          /* stb_ds */
  int line_base, column_base; /* the client's first line and column, less ours */
  bool stop_on_entry, configured, opened;
  bool on_fault, on_stuck, on_end; /* what the client wants to stand for */
  bool running;                    /* as the client sees it */
  bool pausing;                    /* it has asked for a stop */
  bool quit, detached, finished;
  MoveKind move;
  StepKind step;
  char *stop_text; /* malloc: of the fault, or of the end; NULL */
  DapEnd end;
  size_t most_threads;
  uint32_t *pinned;    /* stb_ds: tiles that stand alone in the list of threads */
  Handle *handles;     /* stb_ds: variablesReference - 1 */
  FrameHandle *frames; /* stb_ds: frameId - 1 */
  OwnedBreak *owned;   /* stb_ds */
  char **paths;        /* stb_ds: of the image's files, as on this machine */
};

/* A request's handler: the body of the answer, or NULL; with `why`, the request has failed. */
typedef json_t *Handler(DapServer *s, const json_t *args);
json_t *refuse_request(DapServer *s, const char *format, ...) BASE_PRINTF(2, 3);
void send_event(DapServer *s, const char *name, json_t *body);
/* With `why` the request has failed. */
void send_answer(DapServer *s, const json_t *request, json_t *body, const char *why);
/* Text, number and truth of an argument, or what stands for a missing one. */
const char *arg_text(const json_t *args, const char *key, const char *otherwise);
json_int_t arg_number(const json_t *args, const char *key, json_int_t otherwise);
bool arg_truth(const json_t *args, const char *key, bool otherwise);
/* What a call writes to the debugger's output, from malloc. */
FILE *capture_begin(DapServer *s, char **text, size_t *length);
void capture_end(DapServer *s, FILE *stream, char **text);
/* The client, or a command of its, ends the run. */
void end_run(DapServer *s);
/* A reference for the client, and the end of all: the program moves. */
json_int_t open_handle(DapServer *s, Handle handle);
void forget_handles(DapServer *s);

/* ---- output.c -------------------------------------------------------------------------------- */

/* A stream whose text reaches the client as events, in a category of the protocol. */
FILE *output_open(DapServer *s, const char *category);

/* ---- places.c: files and threads ------------------------------------------------------------- */

void places_open(DapServer *s);
/* The file of the image that the client means; UINT32_MAX none. */
uint32_t places_file(DapServer *s, const json_t *source);
/* The client's form of a file of the image; NULL: not known. */
json_t *places_source(DapServer *s, const char *file);
json_t *answer_sources(DapServer *s, const json_t *args);
json_t *answer_source(DapServer *s, const json_t *args);
json_t *answer_lines(DapServer *s, const json_t *args);

/* ---- threads.c: tiles as threads, and their frames ------------------------------------------- */

static inline json_int_t thread_of(uint32_t tile)
{
  return (json_int_t)tile + 1;
}
/* False after refusing. */
bool thread_tile(DapServer *s, const json_t *args, uint32_t *tile);
void thread_pin(DapServer *s, uint32_t tile);
/* "2,3:0x0040" */
char *reference_text(const DapServer *s, uint32_t tile, uint32_t address);
/* False after refusing. */
bool reference_read(DapServer *s, const char *text, uint32_t *tile, int64_t *address);
json_t *answer_threads(DapServer *s, const json_t *args);
json_t *answer_stack(DapServer *s, const json_t *args);
json_t *answer_scopes(DapServer *s, const json_t *args);

/* ---- breakpoints.c --------------------------------------------------------------------------- */

json_t *answer_set_lines(DapServer *s, const json_t *args);
json_t *answer_set_functions(DapServer *s, const json_t *args);
json_t *answer_set_data(DapServer *s, const json_t *args);
json_t *answer_set_instructions(DapServer *s, const json_t *args);
json_t *answer_set_exceptions(DapServer *s, const json_t *args);
json_t *answer_data_info(DapServer *s, const json_t *args);
json_t *breakpoint_filters(void);

/* ---- values.c: variables and expressions ----------------------------------------------------- */

/* The expression for what the client calls `name` inside a scope or a value: malloc. */
char *values_path(const Handle *handle, const char *name);
json_t *answer_variables(DapServer *s, const json_t *args);
json_t *answer_set_variable(DapServer *s, const json_t *args);
json_t *answer_set_expression(DapServer *s, const json_t *args);
json_t *answer_evaluate(DapServer *s, const json_t *args);
json_t *answer_completions(DapServer *s, const json_t *args);

/* ---- machine.c: what no variable shows ------------------------------------------------------- */

/* Appends {name, value} for the scope of a tile. */
void machine_list(DapServer *s, ScopeKind kind, uint32_t tile, json_t *list);

/* ---- memory.c: bytes and instructions -------------------------------------------------------- */

json_t *answer_disassemble(DapServer *s, const json_t *args);
json_t *answer_read_memory(DapServer *s, const json_t *args);
json_t *answer_write_memory(DapServer *s, const json_t *args);

#endif
