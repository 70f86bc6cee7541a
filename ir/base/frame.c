/* Messages with a header that gives their length, as editors and debuggers speak. */
#include "ir/base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_MESSAGE_BYTES = 1 << 28, MOST_HEADER_BYTES = 4096 };

bool frame_write_bytes(int fd, const char *text, size_t length)
{
  for (size_t done = 0; done < length;) {
    /* A reader that is gone must not end the process, which may be the user's own. */
    ssize_t n = send(fd, text + done, length - done, MSG_NOSIGNAL);
    if (n < 0 && errno == ENOTSOCK)
      n = write(fd, text + done, length - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    done += (size_t)n;
  }
  return true;
}

bool frame_write(int fd, const char *text)
{
  char *framed = base_print("Content-Length: %zu\r\n\r\n%s", strlen(text), text);
  bool ok = frame_write_bytes(fd, framed, strlen(framed));
  free(framed);
  return ok;
}

long long frame_length(const char *input, size_t length, size_t *header)
{
  const char *end = length ? memmem(input, length, "\r\n\r\n", 4) : NULL;
  if (!end)
    return length > MOST_HEADER_BYTES ? FRAME_WRONG : FRAME_PART;
  *header = (size_t)(end - input) + 4;
  for (const char *line = input; line < end;) {
    static const char name[] = "content-length:";
    const char *next = memmem(line, (size_t)(end - line) + 2, "\r\n", 2);
    if (strncasecmp(line, name, sizeof name - 1) == 0) {
      long long n = strtoll(line + sizeof name - 1, NULL, 10);
      return n < 0 || n > MOST_MESSAGE_BYTES ? FRAME_WRONG : n;
    }
    line = next + 2;
  }
  return FRAME_WRONG;
}
