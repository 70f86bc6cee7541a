/* Whole files in and out. */
#include "ir/base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *file_read_all(const char *path, size_t *length)
{
  FILE *in = fopen(path, "rb");
  if (!in)
    return NULL;
  size_t capacity = (size_t)1 << 16, used = 0;
  char *text = base_malloc(capacity);
  for (;;) {
    size_t got = fread(text + used, 1, capacity - used - 1, in);
    used += got;
    if (got == 0)
      break;
    if (capacity - used <= 1)
      text = base_realloc(text, capacity *= 2);
  }
  if (ferror(in)) {
    int error = errno ? errno : EIO;
    free(text);
    fclose(in);
    errno = error;
    return NULL;
  }
  fclose(in);
  text[used] = 0;
  *length = used;
  return text;
}

static bool write_and_close(int fd, const char *data, size_t length)
{
  while (length) {
    ssize_t put = write(fd, data, length);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0) {
      int error = errno;
      close(fd);
      errno = error;
      return false;
    }
    data += put;
    length -= (size_t)put;
  }
  return close(fd) == 0;
}

/* mkstemp makes private files; an output has the permissions any other program's would. */
static mode_t usual_mode(void)
{
  mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

static bool write_direct(const char *path, const void *data, size_t length)
{
  FILE *out = fopen(path, "wb");
  if (!out)
    return false;
  bool done = fwrite(data, 1, length, out) == length;
  return fclose(out) == 0 && done;
}

bool file_write_all(const char *path, const void *data, size_t length)
{
  struct stat old;
  if (stat(path, &old) == 0 && !S_ISREG(old.st_mode) && !S_ISDIR(old.st_mode))
    return write_direct(path, data, length);    /* a pipe or device cannot be replaced */
  size_t path_length = strlen(path);
  char *temporary = base_malloc(path_length + sizeof ".XXXXXX");
  memcpy(temporary, path, path_length);
  memcpy(temporary + path_length, ".XXXXXX", sizeof ".XXXXXX");
  int fd = mkstemp(temporary);
  bool done = fd >= 0 && fchmod(fd, usual_mode()) == 0;
  if (fd >= 0) {
    done = write_and_close(fd, data, length) && done;
    done = done && rename(temporary, path) == 0;
    int error = errno;
    if (!done)
      unlink(temporary);
    errno = error;
  }
  free(temporary);
  return done;
}
