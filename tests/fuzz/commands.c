/* Fuzz target of the debugger's command line: any lines are commands on a program that runs. */
#include "tests/debugged_run.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static FILE *nothing;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
  (void)argc, (void)argv;
  run_prepare();
  nothing = fopen("/dev/null", "w");
  return nothing ? 0 : 1;
}

typedef struct {
  Debugger debugger;            /* the first member: events go to it */
  bool opened;
  const char *at;               /* what is left of the commands */
} Console;

static bool take_line(Console *c, char line[300])
{
  size_t n = strcspn(c->at, "\n");
  if (!*c->at)
    return false;
  snprintf(line, 300, "%.*s", (int)n, c->at);
  c->at += n + (c->at[n] == '\n');
  return true;
}

static bool take_commands(void *context, Timeline *timeline)
{
  Console *c = context;
  Debugger *d = &c->debugger;
  char line[300];
  if (!c->opened)
    debugger_open(d, timeline, nothing);
  c->opened = true;
  debugger_stand(d);
  debugger_print_stand(d);
  d->go = false;
  while (!d->go && !d->quit) {
    if (take_line(c, line))
      commands_run(d, line);
    else
      d->quit = true;
  }
  return !d->quit;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char *text = base_zeroed(size + 1, 1);
  Console c = {.at = text};
  TimelineFront front = {take_commands, debugger_event, &c};
  HostSession *session = session_create();
  unsigned choice = size ? data[0] % RUN_CHOICES : 0;
  if (size)
    memcpy(text, data + 1, size - 1);
  if (run_open(session, choice, &front, nothing) != WSE_OK)
    ICE("the program does not open");
  run_carry_out(session, choice);
  if (!c.debugger.quit)
    timeline_end(session_timeline(session));
  if (c.opened)
    debugger_close(&c.debugger);
  session_close(session);
  free(text);
  return 0;
}
