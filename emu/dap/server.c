/* The server: requests and their answers, and the program's runs and stands. */
#include "emu/dap/dap_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stb_ds.h>

static const double goodbye_seconds = 5;

/* ---- the start ------------------------------------------------------------------------------- */

static json_t *answer_initialize(DapServer *s, const json_t *args)
{
  static const char *const yes[] = {
      "supportsConfigurationDoneRequest",
      "supportsFunctionBreakpoints",
      "supportsConditionalBreakpoints",
      "supportsHitConditionalBreakpoints",
      "supportsLogPoints",
      "supportsEvaluateForHovers",
      "supportsStepBack",
      "supportsSetVariable",
      "supportsSetExpression",
      "supportsCompletionsRequest",
      "supportsExceptionInfoRequest",
      "supportTerminateDebuggee",
      "supportsDelayedStackTraceLoading",
      "supportsLoadedSourcesRequest",
      "supportsTerminateRequest",
      "supportsDataBreakpoints",
      "supportsReadMemoryRequest",
      "supportsWriteMemoryRequest",
      "supportsDisassembleRequest",
      "supportsBreakpointLocationsRequest",
      "supportsSteppingGranularity",
      "supportsInstructionBreakpoints",
      "supportsExceptionFilterOptions",
  };
  json_t *body = json_object();
  for (size_t i = 0; i < ARRAY_COUNT(yes); i++)
    json_object_set_new(body, yes[i], json_true());
  json_object_set_new(body, "exceptionBreakpointFilters", breakpoint_filters());
  s->line_base = arg_truth(args, "linesStartAt1", true) ? 0 : -1;
  s->column_base = arg_truth(args, "columnsStartAt1", true) ? 0 : -1;
  return body;
}

static json_t *answer_configured(DapServer *s, const json_t *args)
{
  (void)args;
  s->configured = true;
  return NULL;
}

/* ---- running --------------------------------------------------------------------------------- */

static json_t *begin_move(DapServer *s, const json_t *args, MoveKind move, StepKind step)
{
  uint32_t tile;
  if (s->running)
    return NULL;
  if (!thread_tile(s, args, &tile))
    return NULL;
  bool is_instruction = strcmp(arg_text(args, "granularity", ""), "instruction") == 0;
  if (s->debugger.tile != tile)
    s->debugger.frame = 0;
  s->debugger.tile = tile;
  s->move = move;
  s->step = is_instruction && step != STEP_NONE ? STEP_INSTRUCTION : step;
  return NULL;
}

static json_t *answer_continue(DapServer *s, const json_t *args)
{
  begin_move(s, args, MOVE_GO, STEP_NONE);
  return json_pack("{s:b}", "allThreadsContinued", 1);
}

static json_t *answer_next(DapServer *s, const json_t *args)
{
  return begin_move(s, args, MOVE_GO, STEP_OVER);
}

static json_t *answer_step_in(DapServer *s, const json_t *args)
{
  return begin_move(s, args, MOVE_GO, STEP_LINE);
}

static json_t *answer_step_out(DapServer *s, const json_t *args)
{
  return begin_move(s, args, MOVE_GO, STEP_OUT);
}

static json_t *answer_step_back(DapServer *s, const json_t *args)
{
  return begin_move(s, args, MOVE_BACK, STEP_OVER);
}

static json_t *answer_reverse(DapServer *s, const json_t *args)
{
  return begin_move(s, args, MOVE_BACK, STEP_NONE);
}

static json_t *answer_pause(DapServer *s, const json_t *args)
{
  (void)args;
  s->pausing = s->running;
  return NULL;
}

static json_t *answer_terminate(DapServer *s, const json_t *args)
{
  (void)args;
  end_run(s);
  return NULL;
}

static void detach_client(DapServer *s)
{
  while (arrlenu(s->debugger.breaks))
    stops_remove(&s->debugger, s->debugger.breaks[0].number);
  arrsetlen(s->owned, 0);
  s->detached = true;
  s->move = MOVE_GO;
  s->step = STEP_NONE;
}

static json_t *answer_disconnect(DapServer *s, const json_t *args)
{
  bool is_attached = strcmp(arg_text(s->launch, "command", ""), "attach") == 0;
  if (arg_truth(args, "terminateDebuggee", !is_attached))
    return answer_terminate(s, args);
  detach_client(s);
  return NULL;
}

static json_t *answer_exception(DapServer *s, const json_t *args)
{
  (void)args;
  if (!s->stop_text)
    return refuse_request(s, "the program does not stand at a fault or a deadlock");
  json_t *text = base_json_text(s->stop_text);
  return json_pack("{s:s,s:O,s:s,s:{s:o}}", "exceptionId",
                   s->end == DAP_STUCK ? "deadlock" : "fault", "description", text, "breakMode",
                   "always", "details", "message", text);
}

/* ---- requests -------------------------------------------------------------------------------- */

typedef struct {
  const char *command;
  Handler *answer;
  bool needs_program;
} Request;
static const Request requests[] = {
    {"initialize", answer_initialize, false},
    {"configurationDone", answer_configured, true},
    {"setBreakpoints", answer_set_lines, true},
    {"setFunctionBreakpoints", answer_set_functions, true},
    {"setDataBreakpoints", answer_set_data, true},
    {"setInstructionBreakpoints", answer_set_instructions, true},
    {"setExceptionBreakpoints", answer_set_exceptions, true},
    {"dataBreakpointInfo", answer_data_info, true},
    {"breakpointLocations", answer_lines, true},
    {"threads", answer_threads, true},
    {"stackTrace", answer_stack, true},
    {"scopes", answer_scopes, true},
    {"variables", answer_variables, true},
    {"setVariable", answer_set_variable, true},
    {"setExpression", answer_set_expression, true},
    {"evaluate", answer_evaluate, true},
    {"completions", answer_completions, true},
    {"exceptionInfo", answer_exception, true},
    {"loadedSources", answer_sources, true},
    {"source", answer_source, true},
    {"disassemble", answer_disassemble, true},
    {"readMemory", answer_read_memory, true},
    {"writeMemory", answer_write_memory, true},
    {"continue", answer_continue, true},
    {"next", answer_next, true},
    {"stepIn", answer_step_in, true},
    {"stepOut", answer_step_out, true},
    {"stepBack", answer_step_back, true},
    {"reverseContinue", answer_reverse, true},
    {"pause", answer_pause, true},
    {"terminate", answer_terminate, false},
    {"disconnect", answer_disconnect, false},
};

static const Request *find_request(const char *command)
{
  for (size_t i = 0; i < ARRAY_COUNT(requests); i++)
    if (strcmp(requests[i].command, command) == 0)
      return &requests[i];
  return NULL;
}

/* Answers one message, which is released. */
static void take_request(DapServer *s, json_t *request)
{
  const char *command = arg_text(request, "command", "");
  const Request *row = find_request(command);
  json_t *body = NULL;
  free(s->why);
  s->why = NULL;
  if (strcmp(arg_text(request, "type", "request"), "request") != 0) {
    json_decref(request);
    return;
  }
  if (!row)
    refuse_request(s, "there is no request '%s'", command);
  else if (row->needs_program && !s->opened)
    refuse_request(s, "'%s' needs a program that has started", command);
  else
    body = row->answer(s, json_object_get(request, "arguments"));
  if (s->why) {
    json_decref(body);
    body = NULL;
  }
  send_answer(s, request, body, s->why);
  json_decref(request);
}

/* ---- stops ----------------------------------------------------------------------------------- */

static const char *hit_reason(const DapServer *s)
{
  const Debugger *d = &s->debugger;
  for (size_t i = 0; i < arrlenu(s->owned); i++)
    if (s->owned[i].number == d->hit)
      return s->owned[i].owner == OWNER_FUNCTION      ? "function breakpoint"
             : s->owned[i].owner == OWNER_DATA        ? "data breakpoint"
             : s->owned[i].owner == OWNER_INSTRUCTION ? "instruction breakpoint"
                                                      : "breakpoint";
  return "breakpoint";
}

/* Tells the client that the program stands. */
static void send_stop(DapServer *s, const char *reason, const char *text)
{
  Debugger *d = &s->debugger;
  thread_pin(s, d->tile);
  json_t *body = json_pack("{s:s,s:I,s:b}", "reason", d->hit ? hit_reason(s) : reason, "threadId",
                           thread_of(d->tile), "allThreadsStopped", 1);
  char *no_value = d->hit && *d->hit_why
    ? base_print("the condition has no value: %s", d->hit_why) : NULL;
  if (text || no_value)
    json_object_set_new(body, "text", base_json_text(no_value ? no_value : text));
  free(no_value);
  if (d->hit)
    json_object_set_new(body, "hitBreakpointIds", json_pack("[i]", (int)d->hit));
  char *where = base_print("cycle %" PRIu64, timeline_cycle(d->timeline));
  json_object_set_new(body, "description", base_json_text(where));
  free(where);
  s->running = s->pausing = false;
  send_event(s, "stopped", body);
}

static void set_stop_text(DapServer *s, const char *text)
{
  free(s->stop_text);
  s->stop_text = text ? base_print("%s", text) : NULL;
}

static void note_fault(DapServer *s)
{
  size_t n, length;
  char *text = NULL;
  Engine *engine = timeline_engine(s->debugger.timeline);
  const Fault *faults = engine->ops->faults(engine, &n);
  FILE *out = base_text_open(&text, &length);
  if (n)
    fault_print(s->debugger.program, engine, &faults[n - 1], out);
  base_text_close(out, &text);
  set_stop_text(s, text);
  s->end = DAP_FAULT;
  free(text);
}

/* Says why the program stands; false: the client does not want to know. */
static bool announce_stand(DapServer *s, StandReason reason)
{
  switch (reason) {
  case STAND_FAULT:
    if (!s->on_fault)
      return false;
    note_fault(s);
    send_stop(s, "exception", s->stop_text);
    return true;
  case STAND_END:
    if (!(s->on_end || s->end == DAP_CORE || (s->end == DAP_STUCK && s->on_stuck)))
      return false;
    send_stop(s, s->end == DAP_STUCK || s->end == DAP_FAULT ? "exception" : "end of the run",
              s->stop_text);
    return true;
  case STAND_PAUSE:
    send_stop(s, "pause", NULL);
    return true;
  case STAND_START:
    send_stop(s, "entry", NULL);
    return true;
  case STAND_EVENT:
  case STAND_LIMIT:
  default:
    send_stop(s, "step", NULL);
    return true;
  }
}

static void go_back(DapServer *s)
{
  Debugger *d = &s->debugger;
  forget_handles(s);
  s->running = true;
  wire_mode(s->wire, WIRE_SEARCHES, d->timeline);
  BackResult result = debugger_go_back(d, s->step);
  wire_mode(s->wire, WIRE_STANDS, NULL);
  set_stop_text(s, NULL);
  send_stop(s,
            result == BACK_START    ? "entry"
            : result == BACK_PAUSED ? "pause"
                                    : "step",
            result == BACK_START ? "nothing stops before: this is the start" : NULL);
}

/* Answers until the program is to move.  A command may itself have gone to another cycle. */
static void serve_client(DapServer *s)
{
  Debugger *d = &s->debugger;
  while (s->move == MOVE_NONE) {
    uint64_t cycle = timeline_cycle(d->timeline);
    uint32_t tile = d->tile;
    json_t *request = wire_next(s->wire, -1);
    if (!request) {
      s->quit = true;
      s->move = MOVE_END;
      return;
    }
    bool is_command = strcmp(arg_text(request, "command", ""), "evaluate") == 0;
    take_request(s, request);
    if (s->move == MOVE_BACK) {
      s->move = MOVE_NONE;
      go_back(s);
    } else if (is_command && s->move == MOVE_NONE &&
               (cycle != timeline_cycle(d->timeline) || tile != d->tile)) {
      forget_handles(s);
      send_stop(s, "goto", NULL);
    }
  }
}

/* A run stands only for requests: it goes on as it was, with the breakpoints as they are now. */
static bool serve_briefly(DapServer *s)
{
  json_t *request;
  while ((request = wire_next(s->wire, 0)))
    take_request(s, request);
  if (wire_is_closed(s->wire))
    answer_disconnect(s, NULL);
  if (s->move != MOVE_NONE || s->pausing)
    return false;
  stops_arm(&s->debugger);
  return true;
}

static bool configure(DapServer *s, Timeline *timeline)
{
  debugger_open(&s->debugger, timeline, s->messages);
  s->opened = true;
  places_open(s);
  send_event(s, "initialized", NULL);
  while (!s->configured && !s->quit) {
    json_t *request = wire_next(s->wire, -1);
    if (request)
      take_request(s, request);
    else
      s->quit = true;
  }
  s->move = MOVE_NONE;
  return !s->quit;
}

/* Lets the program move; false: its run is to end. */
static bool move_on(DapServer *s)
{
  MoveKind move = s->move;
  s->move = MOVE_NONE;
  forget_handles(s);
  set_stop_text(s, NULL);
  if (move == MOVE_END)
    return false;
  if (move == MOVE_GO)
    debugger_go(&s->debugger, s->step, 1);
  s->running = true;
  if (!s->detached)
    wire_mode(s->wire, WIRE_RUNS, s->debugger.timeline);
  return true;
}

static bool is_over(const DapServer *s, StandReason reason)
{
  const Timeline *t = s->debugger.timeline;
  return reason == STAND_END && timeline_cycle(t) >= timeline_present(t);
}

static bool control_run(void *context, Timeline *timeline)
{
  DapServer *s = context;
  StandReason reason = timeline_reason(timeline);
  wire_mode(s->wire, WIRE_STANDS, NULL);
  if (s->detached || s->quit)
    return s->detached && reason != STAND_END;
  if (!s->opened && !configure(s, timeline))
    return false;
  bool is_silent_start = reason == STAND_START && !s->stop_on_entry;
  if (reason == STAND_PAUSE && !s->pausing && serve_briefly(s)) {
    wire_mode(s->wire, WIRE_RUNS, timeline);
    return true;
  }
  if (s->move == MOVE_NONE) {
    debugger_stand(&s->debugger);
    if (is_silent_start || !announce_stand(s, reason))
      s->move = reason == STAND_END ? MOVE_END : MOVE_GO, s->step = STEP_NONE;
  }
  serve_client(s);
  if (s->move == MOVE_GO && is_over(s, reason))
    s->move = MOVE_END;
  return move_on(s);
}

/* ---- from outside ---------------------------------------------------------------------------- */

DapServer *dap_open(int in, int out)
{
  DapServer *s = base_zeroed(1, sizeof *s);
  s->socket = -1;
  s->front = (TimelineFront){control_run, debugger_event, s};
  s->on_fault = s->on_stuck = true;
  s->wire = wire_open(in, out);
  s->output = output_open(s, "stdout");
  s->messages = output_open(s, "console");
  return s;
}

DapServer *dap_listen(unsigned port, FILE *say)
{
  struct sockaddr_in at = {.sin_family = AF_INET,
                           .sin_port = htons((uint16_t)port),
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  int yes = 1, client = -1, door = socket(AF_INET, SOCK_STREAM, 0);
  if (door < 0)
    return NULL;
  setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(door, (struct sockaddr *)&at, sizeof at) == 0 && listen(door, 1) == 0 &&
      getsockname(door, (struct sockaddr *)&at, &size) == 0) {
    fprintf(say, "waiting for a debugger at port %u\n", ntohs(at.sin_port));
    fflush(say);
    do
      client = accept(door, NULL, NULL);
    while (client < 0 && errno == EINTR);
  }
  int error = errno;
  close(door);
  errno = error;
  if (client < 0)
    return NULL;
  fcntl(client, F_SETFD, FD_CLOEXEC);   /* programs that the host starts do not keep it open */
  DapServer *s = dap_open(client, client);
  s->socket = client;
  return s;
}

void dap_close(DapServer *s)
{
  if (!s)
    return;
  fclose(s->output);
  fclose(s->messages);
  wire_close(s->wire);
  if (s->socket >= 0)
    close(s->socket);
  if (s->opened)
    debugger_close(&s->debugger);
  forget_handles(s);
  for (size_t i = 0; i < arrlenu(s->texts); i++)
    free(s->texts[i]);
  for (size_t i = 0; i < arrlenu(s->paths); i++)
    free(s->paths[i]);
  arrfree(s->texts);
  arrfree(s->args);
  arrfree(s->paths);
  arrfree(s->pinned);
  arrfree(s->handles);
  arrfree(s->frames);
  arrfree(s->owned);
  json_decref(s->launch);
  free(s->why);
  free(s->stop_text);
  free(s);
}

/* A copy that lives as long as the server. */
static const char *keep_text(DapServer *s, const char *text)
{
  if (text)
    arrput(s->texts, base_print("%s", text));
  return text ? arrlast(s->texts) : NULL;
}

/* Of another type than it must have; NULL: nothing. */
static const char *wrong_argument(const json_t *args)
{
  const json_t *list = json_object_get(args, "args"), *arg;
  const json_t *program = json_object_get(args, "program"), *folder = json_object_get(args, "cwd");
  bool is_list = !list || json_is_null(list) || json_is_array(list);
  size_t i;
  json_array_foreach(list, i, arg)
    is_list = is_list && json_is_string(arg);
  return !is_list ? "'args' is a list of texts, one for each option or host action"
         : program && !json_is_string(program) ? "'program' is the name of an image or a folder"
         : folder && !json_is_string(folder) ? "'cwd' is the name of a folder" : NULL;
}

static void read_launch(DapServer *s, const json_t *args, DapLaunch *launch)
{
  enum { MOST_THREADS = 64 };
  const json_t *arg;
  size_t i;
  json_array_foreach(json_object_get(args, "args"), i, arg) if (json_is_string(arg))
      arrput(s->args, keep_text(s, json_string_value(arg)));
  launch->program = keep_text(s, arg_text(args, "program", NULL));
  launch->folder = keep_text(s, arg_text(args, "cwd", NULL));
  launch->args = s->args;
  launch->wrong = wrong_argument(args);
  s->stop_on_entry = arg_truth(args, "stopOnEntry", false);
  json_int_t most = arg_number(args, "maxThreads", MOST_THREADS);
  s->most_threads = most > 0 ? (size_t)most : MOST_THREADS;
}

bool dap_wait_launch(DapServer *s, DapLaunch *launch)
{
  *launch = (DapLaunch){0};
  while (!s->quit && !s->detached) {
    json_t *request = wire_next(s->wire, -1);
    if (!request)
      return false;
    const char *command = arg_text(request, "command", "");
    launch->is_attach = strcmp(command, "attach") == 0;
    if (launch->is_attach || strcmp(command, "launch") == 0) {
      s->launch = request;
      read_launch(s, json_object_get(request, "arguments"), launch);
      return true;
    }
    take_request(s, request);
  }
  return false;
}

void dap_launched(DapServer *s, const char *why)
{
  send_answer(s, s->launch, NULL, why);
}

const TimelineFront *dap_front(DapServer *s)
{
  return &s->front;
}
FILE *dap_output(DapServer *s)
{
  return s->output;
}
FILE *dap_messages(DapServer *s)
{
  return s->messages;
}
bool dap_has_quit(const DapServer *s)
{
  return s->quit;
}

void dap_finish(DapServer *s, Timeline *timeline, DapEnd end, const char *text, int exit_code)
{
  if (s->finished)
    return;
  s->finished = true;
  s->end = end;
  set_stop_text(s, end == DAP_DONE ? NULL : text);
  fflush(s->output);
  if (timeline && !s->quit && !s->detached) {
    timeline_end(timeline);
    fprintf(s->messages, "the run is over at cycle %" PRIu64 ", exit code %d\n",
            timeline_present(timeline), exit_code);
  }
  wire_mode(s->wire, WIRE_STANDS, NULL);    /* the timeline may go before the server does */
  fflush(s->output);
  send_event(s, "exited", json_pack("{s:i}", "exitCode", exit_code));
  send_event(s, "terminated", NULL);
  while (!s->quit && !s->detached) {
    json_t *request = wire_next(s->wire, goodbye_seconds);
    s->detached = !request;
    if (request)
      take_request(s, request);
  }
  s->detached = true; /* a host that goes on does so alone */
}
