/* wse-dbg: the debugger's command line, and its server for editors. */
#include "emu/host/host.h"
#include "emu/ranks/ranks.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <editline/readline.h>
#include <jansson.h>
#include <stb_ds.h>

#define PROMPT "(wse-dbg) "

typedef struct {
  Debugger debugger;            /* the first member: events go to it */
  bool opened;
  HostSession *session;         /* of the target that is debugged */
  FILE **scripts;               /* stb_ds: of -x, in order */
  size_t script;                /* that is being read */
  bool is_terminal;
  bool is_server;               /* --dap */
  char *core;                   /* that the user goes on with, from malloc; NULL: the options' */
} Console;

/* ---- lines --------------------------------------------------------------------------------- */

static char *complete_command(const char *text, int state)
{
  static unsigned next;
  const char *name;
  if (state == 0)
    next = 0;
  while ((name = commands_name(next++)))
    if (strncmp(name, text, strlen(text)) == 0)
      return strdup(name);
  return NULL;
}

static char *read_from(FILE *in)
{
  char *line = NULL;
  size_t room = 0;
  ssize_t n = getline(&line, &room, in);
  if (n < 0) {
    free(line);
    return NULL;
  }
  if (n && line[n - 1] == '\n')
    line[n - 1] = 0;
  printf(PROMPT "%s\n", line);
  return line;
}

/* From the scripts, then from standard input; NULL at its end. */
static char *next_line(Console *c)
{
  while (c->script < arrlenu(c->scripts)) {
    char *line = read_from(c->scripts[c->script]);
    if (line)
      return line;
    c->script++;
  }
  if (!c->is_terminal)
    return read_from(stdin);
  char *line = readline(PROMPT);
  if (line && *line)
    add_history(line);
  return line;
}

/* ---- the front ----------------------------------------------------------------------------- */

static Timeline *volatile running;

static void note_interrupt(int number)
{
  (void)number;
  if (running)
    timeline_pause(running);
}

/* A core of where the program stands, in the past, too. */
static char *save_core(void *context, const char *path)
{
  HostSession *session = context;
  return session_dump_core(session, path) == WSE_OK
             ? NULL : base_print("%s", session_error(session)->message);
}

static bool take_commands(void *context, Timeline *timeline)
{
  Console *c = context;
  Debugger *d = &c->debugger;
  if (!c->opened)
    debugger_open(d, timeline, stdout);
  if (!c->opened)
    d->host = (DebuggerHost){c->session, save_core, true};
  c->opened = true;
  running = timeline;
  debugger_stand(d);
  if (debugger_passes(d))
    return true;
  debugger_print_stand(d);
  d->go = false;
  while (!d->go && !d->quit) {
    char *line = next_line(c);
    if (!line)
      d->quit = true;
    else
      commands_run(d, line);
    free(line);
    fflush(stdout);
  }
  return !d->quit;
}

/* ---- the command line ---------------------------------------------------------------------- */

static int refuse_usage(const char *text, const char *what)
{
  fprintf(stderr, "wse-dbg: %s%s\n", text, what);
  return WSE_USAGE;
}

/* --core=F is what wse-emu calls --load-state=F. */
static char *common_option(char *text)
{
  static const char own[] = "--core=";
  size_t length = strlen(own);
  return strncmp(text, own, length) == 0 ? base_print("--load-state=%s", text + length) : text;
}

/* The debugger opens a state to look at it; true: there is one, and its run is over. */
static bool take_core(SessionOptions *options)
{
  options->core = options->load_state;
  options->load_state = NULL;
  return options->core != NULL;
}

/* Takes -x FILE and --dap out of the arguments. */
static int take_own_options(Console *c, int *argc, char **argv)
{
  int kept = 1;
  for (int i = 1; i < *argc; i++) {
    argv[i] = common_option(argv[i]);
    if (strcmp(argv[i], "--core") == 0)
      return refuse_usage("--core needs a file, as in --core=STATE", "");
    if (strcmp(argv[i], "--dap") == 0) {
      c->is_server = true;
      continue;
    }
    if (strcmp(argv[i], "-x") != 0) {
      argv[kept++] = argv[i];
      continue;
    }
    if (i + 1 == *argc)
      return refuse_usage("-x needs a file of commands", "");
    FILE *in = fopen(argv[++i], "r");
    if (!in) {
      fprintf(stderr, "wse-dbg: cannot read '%s': %s\n", argv[i], strerror(errno));
      return WSE_USAGE;
    }
    arrput(c->scripts, in);
  }
  *argc = kept;
  return WSE_OK;
}

/* There is something to look at: not after a mistake of the command line. */
static bool has_run(HostSession *session, WseStatus status)
{
  Timeline *t = session_timeline(session);
  return t && (status != WSE_USAGE || timeline_cycle(t) > 0);
}

static WseStatus run_program(Console *c, HostCommand *command)
{
  HostSession *session = command->session;
  HostOptions *options = &command->options;
  c->session = session;
  TimelineFront front = {take_commands, debugger_event, c};
  options->session.debugger = &front;
  options->session.progress = true;
  if (c->core)
    options->session.load_state = c->core;
  bool is_over = take_core(&options->session);
  WseStatus status = session_open(session, options->program, &options->session);
  if (status == WSE_OK) {
    signal(SIGINT, note_interrupt);
    if (!is_over)
      status = host_carry_out(session, options, stdout);
  }
  if (status != WSE_OK && !c->debugger.quit)
    host_print_error(session);
  if (has_run(session, status) && !c->debugger.quit)
    timeline_end(session_timeline(session));
  WseStatus written = status == WSE_USAGE ? status
                                          : host_outputs_write(session, options, command->outputs);
  bool is_left = c->debugger.quit && status == WSE_INTERRUPTED;
  return is_left ? WSE_OK : status != WSE_OK ? status : written;
}

static void print_help(FILE *out)
{
  fprintf(out, "usage: wse-dbg PROG [-x COMMANDS]... [options and host actions of wse-emu]\n"
               "       wse-dbg PROG --core=STATE [-x COMMANDS]...\n"
               "       wse-dbg --dap [PROG ...]\n"
               "Stops before the first cycle and reads commands, from the files of -x first;\n"
               "'help' lists them. With --dap it is a server of the Debug Adapter Protocol on\n"
               "standard input and output.\n\n");
  host_options_help(out);
}

static const HostCommandTexts texts = {"wse-dbg", print_help, "", NULL, NULL, false};

/* Leaves in console->core the core that the user goes on with; NULL: the user has finished. */
static WseStatus serve_target(Console *console, int argc, char **argv)
{
  HostCommand command;
  WseStatus status;
  if (host_command_open(&command, argc, argv, &texts, &status))
    status = run_program(console, &command);
  else if (status != WSE_OK)
    host_print_error(command.session);
  free(console->core);
  console->core = console->debugger.core;
  console->debugger.core = NULL;
  if (console->opened)
    debugger_close(&console->debugger);
  console->debugger = (Debugger){0};
  console->opened = false;
  host_command_close(&command);
  return status;
}

static WseStatus serve_console(Console *console, int argc, char **argv)
{
  console->is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
  rl_completion_entry_function = complete_command;
  WseStatus status = serve_target(console, argc, argv);
  while (console->core)
    status = serve_target(console, argc, argv);
  return status;
}

/* ---- for editors --------------------------------------------------------------------------- */

static WseStatus run_for_client(DapServer *server, HostCommand *command)
{
  HostSession *session = command->session;
  HostOptions *options = &command->options;
  options->session.debugger = dap_front(server);
  options->session.warnings = dap_messages(server);
  bool is_over = take_core(&options->session);
  WseStatus status = session_open(session, options->program, &options->session);
  host_debugger_opened(server, session, status);
  if (status != WSE_OK)
    return status;
  if (!is_over)
    status = host_carry_out(session, options, options->out);
  WseStatus written = status == WSE_USAGE ? status
                                          : host_outputs_write(session, options, command->outputs);
  host_debugger_finish(server, session, status);
  return status != WSE_OK ? status : written;
}

/* The client's arguments stand behind those of the command line. */
static WseStatus carry_out_launch(DapServer *server, const DapLaunch *launch, int argc, char **argv)
{
  char **all = NULL;
  HostCommandTexts texts_of_client = texts;
  HostCommand command;
  WseStatus status;
  const char *wrong = launch->wrong;
  if (!wrong && launch->folder && chdir(launch->folder) != 0)
    wrong = "the folder 'cwd' cannot be entered";
  if (wrong) {
    dap_launched(server, wrong);
    return WSE_USAGE;
  }
  texts_of_client.out = dap_output(server);
  for (int i = 0; i < argc; i++)
    arrput(all, argv[i]);
  if (launch->program)
    arrput(all, (char *)(uintptr_t)launch->program);
  for (size_t i = 0; i < arrlenu(launch->args); i++)
    arrput(all, common_option((char *)(uintptr_t)launch->args[i]));
  if (host_command_open(&command, (int)arrlen(all), all, &texts_of_client, &status))
    status = run_for_client(server, &command);
  else
    dap_launched(server, status == WSE_OK ? "these arguments run no program"
                                          : session_error(command.session)->message);
  host_command_close(&command);
  arrfree(all);
  return status;
}

/* The protocol has standard output alone. */
static WseStatus serve_editor(int argc, char **argv)
{
  DapLaunch launch;
  WseStatus status = WSE_OK;
  int out = dup(STDOUT_FILENO);
  if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    return refuse_usage("cannot keep standard output apart: ", strerror(errno));
  DapServer *server = dap_open(STDIN_FILENO, out);
  signal(SIGPIPE, SIG_IGN);
  if (dap_wait_launch(server, &launch))
    status = carry_out_launch(server, &launch, argc, argv);
  dap_close(server);
  close(out);
  return status == WSE_INTERRUPTED ? WSE_OK : status;
}

int main(int argc, char **argv)
{
  json_set_alloc_funcs(base_malloc, free);
  file_limit_fails();
  file_reserve_streams();
  Console console = {0};
  const char *reason = NULL;
  if (ranks_join(&reason) == RANKS_SERVANT)     /* process 0 says that this is not possible */
    return ranks_serve();
  if (take_own_options(&console, &argc, argv) != WSE_OK)
    return WSE_USAGE;
  WseStatus status = console.is_server ? serve_editor(argc, argv)
                                       : serve_console(&console, argc, argv);
  for (size_t i = 0; i < arrlenu(console.scripts); i++)
    fclose(console.scripts[i]);
  arrfree(console.scripts);
  return command_line_end("wse-dbg", (int)status);
}
