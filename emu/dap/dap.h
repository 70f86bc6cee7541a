/* emu/dap: the debugger as a server of the Debug Adapter Protocol, for editors.
 *
 * The server is the front of a timeline: while the program stands, it answers requests; while the
 * program runs, a thread reads, and a request that comes in then makes the run stand for as long as
 * the answer takes.  docs/debugger.md lists what the server adds to the protocol.
 *
 * Reading order: dap_internal.h, wire, talk, output, places, threads, machine, values, breakpoints,
 * memory, server.
 */
#ifndef DAP_H
#define DAP_H

#include "emu/debug/debug.h"

typedef struct DapServer DapServer;

/* Speaks over two file descriptors, which stay the caller's. */
DapServer *dap_open(int in, int out);
/* Waits for a client at a port of this machine; NULL with errno set.  Prints the port to `say`. */
DapServer *dap_listen(unsigned port, FILE *say);
void dap_close(DapServer *server);

/* What the client wants to debug. */
typedef struct {
  bool is_attach;      /* a program that runs already */
  const char *program; /* NULL: not given */
  const char **args;   /* stb_ds: options and actions of wse-emu */
  const char *folder;  /* where to run; NULL: here */
  const char *wrong;   /* in these arguments; NULL: nothing */
} DapLaunch;
/* Answers requests up to `launch` or `attach`; false: the client has gone.  The texts stay valid
 * until dap_close. */
bool dap_wait_launch(DapServer *server, DapLaunch *launch);
/* Answers that request: with the reason why it has failed, or NULL. */
void dap_launched(DapServer *server, const char *why);

/* For the timeline.  It belongs to the server. */
const TimelineFront *dap_front(DapServer *server);
/* Where the client shows what the program, or a tool, has to say. */
FILE *dap_output(DapServer *server);
FILE *dap_messages(DapServer *server);

/* How the run has ended, for dap_finish. */
typedef enum {
  DAP_DONE, DAP_FAULT, DAP_STUCK,
  DAP_CORE,                     /* before it was opened: there is nothing but its end */
} DapEnd;
/* The run is over: stands once more if the client wants that, then says goodbye. `timeline`: NULL
 * none.  `text`: what went wrong, or "". */
void dap_finish(DapServer *server, Timeline *timeline, DapEnd end, const char *text, int exit_code);
/* The client has ended the run. */
bool dap_has_quit(const DapServer *server);

#endif
