/* Fuzz target of the debugger's server: lines are requests of a client, framed as they should be, or
 * any bytes at all. */
#include "tests/debugged_run.h"

#include <fcntl.h>
#include <jansson.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static FILE *nothing;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
  (void)argc, (void)argv;
  json_set_alloc_funcs(base_malloc, free);
  run_prepare();
  nothing = fopen("/dev/null", "w");
  return nothing ? 0 : 1;
}

/* A file with the messages; a client that has sent all is gone. */
static int write_messages(const char *text, size_t size, bool framed)
{
  static const char launch[] = "{\"type\":\"request\",\"seq\":1,\"command\":\"launch\","
                               "\"arguments\":{\"stopOnEntry\":true}}";
  char path[] = "/tmp/fuzz-dap-XXXXXX";
  int fd = mkstemp(path);
  unlink(path);
  if (fd < 0 || (framed && !frame_write(fd, launch)))
    ICE("cannot write a file in /tmp");
  if (!framed)
    frame_write_bytes(fd, text, size);
  while (framed && *text) {
    size_t n = strcspn(text, "\n");
    char *line = base_print("%.*s", (int)n, text);
    frame_write(fd, line);
    free(line);
    text += n + (text[n] == '\n');
  }
  lseek(fd, 0, SEEK_SET);
  return fd;
}

static void run_session(DapServer *server, HostSession *session, unsigned choice)
{
  DapLaunch launch;
  if (!dap_wait_launch(server, &launch))
    return;
  WseStatus status = run_open(session, choice, dap_front(server), nothing);
  dap_launched(server, status == WSE_OK ? NULL : "the program does not open");
  if (status == WSE_OK)
    host_debugger_finish(server, session, run_carry_out(session, choice));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char *text = base_zeroed(size + 1, 1);
  unsigned choice = size ? data[0] : 0;
  if (size)
    memcpy(text, data + 1, size - 1);
  int in = write_messages(text, size ? size - 1 : 0, choice < 0xf0);
  HostSession *session = session_create();
  DapServer *server = dap_open(in, fileno(nothing));
  run_session(server, session, choice % RUN_CHOICES);
  session_close(session);
  dap_close(server);
  close(in);
  free(text);
  return 0;
}
