/* The wire: its own thread reads messages. With them, a client stops a program while it runs. */
#include "emu/dap/dap_internal.h"
#include "ir/base/platform.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <stb_ds.h>

struct Wire {
  int in, out;
  int wake[2]; /* a pipe: written to end the thread */
  PlatformThread *reader;
  pthread_mutex_t lock; /* for all below */
  pthread_cond_t arrived;
  json_t **inbox; /* stb_ds, oldest first */
  bool closed;
  WireMode mode;
  Timeline *timeline;
};

enum { READ_BYTES = 1 << 16 };

/* ---- the thread ------------------------------------------------------------------------------ */

static bool ends_search(const json_t *message)
{
  static const char *const commands[] = {"pause", "terminate", "disconnect"};
  const char *command = json_string_value(json_object_get(message, "command"));
  for (size_t i = 0; command && i < ARRAY_COUNT(commands); i++)
    if (strcmp(command, commands[i]) == 0)
      return true;
  return false;
}

/* NULL: nothing more comes. */
static void deliver_message(Wire *w, json_t *message)
{
  pthread_mutex_lock(&w->lock);
  if (message)
    arrput(w->inbox, message);
  else
    w->closed = true;
  if (w->timeline &&
      (w->mode == WIRE_RUNS || (w->mode == WIRE_SEARCHES && (!message || ends_search(message)))))
    timeline_pause(w->timeline);
  pthread_cond_signal(&w->arrived);
  pthread_mutex_unlock(&w->lock);
}

/* Takes the whole messages out of the input; false: it cannot be understood any more. */
static bool take_messages(Wire *w, char **input)
{
  for (size_t header;;) {
    long long length = frame_length(*input, arrlenu(*input), &header);
    if (length < 0 || arrlenu(*input) < header + (size_t)length)
      return length != FRAME_WRONG;
    json_t *message = json_loadb(*input + header, (size_t)length, 0, NULL);
    if (json_is_object(message))
      deliver_message(w, message);
    else
      json_decref(message);
    arrdeln(*input, 0, header + (size_t)length);
  }
}

static void *read_messages(void *context)
{
  Wire *w = context;
  char bytes[READ_BYTES], *input = NULL;
  struct pollfd fds[] = {{.fd = w->in, .events = POLLIN}, {.fd = w->wake[0], .events = POLLIN}};
  for (;;) {
    if (poll(fds, ARRAY_COUNT(fds), -1) < 0 && errno == EINTR)
      continue;
    if (fds[1].revents)
      break;
    ssize_t n = read(w->in, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    memcpy(arraddnptr(input, n), bytes, (size_t)n);
    if (!take_messages(w, &input))
      break;
  }
  arrfree(input);
  deliver_message(w, NULL);
  return NULL;
}

/* ---- the server's side ----------------------------------------------------------------------- */

Wire *wire_open(int in, int out)
{
  Wire *w = base_zeroed(1, sizeof *w);
  w->in = in;
  w->out = out;
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->arrived, NULL);
  if (pipe(w->wake) != 0 || !(w->reader = platform_start_thread(read_messages, w)))
    base_out_of_memory(sizeof *w, "a thread that reads");
  return w;
}

void wire_close(Wire *w)
{
  if (write(w->wake[1], "", 1) != 1)
    ICE("a pipe takes no byte");
  platform_join_thread(w->reader);
  for (size_t i = 0; i < arrlenu(w->inbox); i++)
    json_decref(w->inbox[i]);
  arrfree(w->inbox);
  close(w->wake[0]);
  close(w->wake[1]);
  pthread_cond_destroy(&w->arrived);
  pthread_mutex_destroy(&w->lock);
  free(w);
}

/* A message that has come in before the run began must not wait for its end. */
void wire_mode(Wire *w, WireMode mode, Timeline *timeline)
{
  pthread_mutex_lock(&w->lock);
  w->mode = mode;
  w->timeline = timeline;
  bool waits = w->closed && mode != WIRE_STANDS;
  for (size_t i = 0; i < arrlenu(w->inbox); i++)
    waits |= mode == WIRE_RUNS || (mode == WIRE_SEARCHES && ends_search(w->inbox[i]));
  if (waits && timeline)
    timeline_pause(timeline);
  pthread_mutex_unlock(&w->lock);
}

static struct timespec time_after(double seconds)
{
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  double whole = (double)at.tv_nsec * 1e-9 + seconds;
  at.tv_sec += (time_t)whole;
  at.tv_nsec = (long)((whole - (double)(time_t)whole) * 1e9);
  return at;
}

json_t *wire_next(Wire *w, double seconds)
{
  json_t *message = NULL;
  struct timespec end = time_after(seconds > 0 ? seconds : 0);
  pthread_mutex_lock(&w->lock);
  bool late = seconds == 0;
  while (!arrlenu(w->inbox) && !w->closed && !late)
    late = (seconds < 0 ? pthread_cond_wait(&w->arrived, &w->lock)
                        : pthread_cond_timedwait(&w->arrived, &w->lock, &end)) == ETIMEDOUT;
  if (arrlenu(w->inbox)) {
    message = w->inbox[0];
    arrdel(w->inbox, 0);
  }
  pthread_mutex_unlock(&w->lock);
  return message;
}

bool wire_is_closed(Wire *w)
{
  pthread_mutex_lock(&w->lock);
  bool is_closed = w->closed && !arrlenu(w->inbox);
  pthread_mutex_unlock(&w->lock);
  return is_closed;
}

void wire_send(Wire *w, json_t *message)
{
  char *text = json_dumps(message, JSON_COMPACT);
  json_decref(message);
  if (!text)
    ICE("a message is no JSON");
  frame_write(w->out, text); /* a client that is gone has closed the other direction, too */
  free(text);
}
