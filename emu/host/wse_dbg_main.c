/* wse-dbg: the debugger's command line. */
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
  FILE **scripts;               /* stb_ds: of -x, in order */
  size_t script;                /* that is being read */
  bool is_terminal;
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

static bool take_commands(void *context, Timeline *timeline)
{
  Console *c = context;
  Debugger *d = &c->debugger;
  if (!c->opened)
    debugger_open(d, timeline, stdout);
  c->opened = true;
  running = timeline;
  debugger_stand(d);
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

/* Takes -x FILE out of the arguments. */
static int take_scripts(Console *c, int *argc, char **argv)
{
  int kept = 1;
  for (int i = 1; i < *argc; i++) {
    if (strcmp(argv[i], "-x") != 0) {
      argv[kept++] = argv[i];
      continue;
    }
    if (i + 1 == *argc)
      return refuse_usage("-x needs a file of commands", "");
    FILE *in = fopen(argv[++i], "r");
    if (!in)
      return refuse_usage("cannot read ", argv[i]);
    arrput(c->scripts, in);
  }
  *argc = kept;
  return WSE_OK;
}

static WseStatus run_program(Console *c, HostSession *session, HostOptions *options,
                             HostOutputs *outputs)
{
  TimelineFront front = {take_commands, debugger_event, c};
  options->session.debugger = &front;
  WseStatus status = session_open(session, options->program, &options->session);
  if (status == WSE_OK) {
    signal(SIGINT, note_interrupt);
    status = host_carry_out(session, options, stdout);
  }
  fflush(stdout);
  if (status != WSE_OK && !c->debugger.quit)
    fputs(session_error(session)->message, stderr);
  if (session_timeline(session) && !c->debugger.quit)
    timeline_end(session_timeline(session));
  WseStatus written = status == WSE_USAGE ? status
                                          : host_outputs_write(session, options, outputs);
  bool is_left = c->debugger.quit && status == WSE_INTERRUPTED;
  return is_left ? WSE_OK : status != WSE_OK ? status : written;
}

static void print_help(void)
{
  printf("usage: wse-dbg PROG [-x COMMANDS]... [options and host actions of wse-emu]\n"
         "Stops before the first cycle and reads commands, from the files of -x first;\n"
         "'help' lists them.\n\n");
  host_options_help(stdout);
}

int main(int argc, char **argv)
{
  json_set_alloc_funcs(base_malloc, free);
  Console console = {.is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)};
  rl_completion_entry_function = complete_command;
  const char *reason = NULL;
  if (ranks_join(&reason) == RANKS_SERVANT)     /* process 0 says that this is not possible */
    return ranks_serve();
  if (take_scripts(&console, &argc, argv) != WSE_OK)
    return WSE_USAGE;
  HostSession *session = session_create();
  HostOptions options;
  HostOutputs *outputs = NULL;
  WseStatus status = WSE_OK;
  if (!host_options_parse(argc, argv, session_diags(session), &options))
    status = session_usage(session);
  else if (options.help)
    print_help();
  else if (options.version)
    printf("wse-dbg %s\n", host_version());
  else
    status = host_outputs_open(session, &options, &outputs);
  options.session.print_out = stdout;
  options.session.warnings = stderr;
  if (status != WSE_OK)
    fputs(session_error(session)->message, stderr);
  else if (outputs)
    status = run_program(&console, session, &options, outputs);
  if (console.opened)
    debugger_close(&console.debugger);
  session_close(session);
  host_outputs_close(outputs);
  arrfree(options.actions);
  for (size_t i = 0; i < arrlenu(console.scripts); i++)
    fclose(console.scripts[i]);
  arrfree(console.scripts);
  return status;
}
