/* Whole files in and out. */
#include "ir/base/base.h"
#include "ir/base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* ---- reading ---------------------------------------------------------------------------- */

static const size_t first_read_bytes = (size_t)1 << 16;

/* Reads until `used` is `most` or the file ends; false with errno set on failure. */
static bool read_up_to(FILE *in, uint64_t most, char **text, size_t *capacity, size_t *used)
{
  while (*used < most) {
    if (*capacity - *used <= 1)
      *text = base_realloc(*text, *capacity *= 2);
    size_t room = *capacity - *used - 1;
    size_t got = fread(*text + *used, 1, room < most - *used ? room : (size_t)(most - *used), in);
    *used += got;
    if (got == 0)
      break;
  }
  if (ferror(in) && !errno)
    errno = EIO;
  return !ferror(in);
}

/* Room for the rest of a file that says how long it is, of which at most so much is wanted. */
static void make_room(FILE *in, uint64_t most, char **text, size_t *capacity, size_t used)
{
  struct stat info;
  if (fstat(fileno(in), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size <= 0)
    return;
  uint64_t length = (uint64_t)info.st_size < most ? (uint64_t)info.st_size : most;
  if (length < *capacity || length > SIZE_MAX / 2)
    return;
  *capacity = (size_t)length + 2;       /* a zero, and one that shows the end */
  char *all = memcpy(base_malloc(*capacity), *text, used);
  free(*text);
  *text = all;
}

char *file_read_bounded(const char *path, FileBound *bound, const void *context, size_t *length)
{
  FILE *in = fopen(path, "rb");
  if (!in)
    return NULL;
  size_t capacity = first_read_bytes, used = 0;
  char *text = base_malloc(capacity);
  bool done = read_up_to(in, first_read_bytes, &text, &capacity, &used);
  if (done) {
    uint64_t most = bound(context, text, used);
    most += most < UINT64_MAX;
    make_room(in, most, &text, &capacity, used);
    done = read_up_to(in, most, &text, &capacity, &used);
  }
  int error = errno;
  fclose(in);
  errno = error;
  if (!done) {
    free(text);
    return NULL;
  }
  text[used] = 0;
  *length = used;
  return text;
}

static uint64_t no_bound(const void *context, const char *start, size_t length)
{
  (void)context, (void)start, (void)length;
  return UINT64_MAX;
}

char *file_read_all(const char *path, size_t *length)
{
  return file_read_bounded(path, no_bound, NULL, length);
}

static uint64_t text_bound(const void *context, const char *start, size_t length)
{
  (void)start, (void)length;
  return *(const size_t *)context;
}

char *file_read_text(const char *path, size_t most, size_t *length, const char **why)
{
  struct stat info;
  bool is_there = stat(path, &info) == 0;
  if (is_there && !S_ISREG(info.st_mode)) {
    *why = S_ISDIR(info.st_mode) ? strerror(EISDIR) : "it is no regular file";
    return NULL;
  }
  char *text = is_there ? file_read_bounded(path, text_bound, &most, length) : NULL;
  if (!text)
    *why = strerror(errno);
  if (!text || *length <= most)
    return text;
  *why = "it is too large";
  free(text);
  return NULL;
}

char *file_read_stream(FILE *in, size_t most, size_t *length, const char **why)
{
  size_t capacity = first_read_bytes;
  char *text = base_malloc(capacity);
  *length = 0;
  if (!read_up_to(in, (uint64_t)most + 1, &text, &capacity, length))
    *why = strerror(errno);
  else if (*length > most)
    *why = "it is too large";
  else {
    text[*length] = 0;
    return text;
  }
  free(text);
  return NULL;
}

/* ---- writing ---------------------------------------------------------------------------- */

static const char temporary_end[] = ".XXXXXX";

/* mkstemp makes private files; an output has the permissions any other program's would. */
static mode_t usual_mode(void)
{
  mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

/* A name that mkstemp completes. */
static char *temporary_name(const char *path)
{
  size_t length = strlen(path);
  char *name = base_malloc(length + sizeof temporary_end);
  memcpy(name, path, length);
  memcpy(name + length, temporary_end, sizeof temporary_end);
  return name;
}

/* A file of the path's folder without a name; -1: the system has no such files. */
static int open_nameless(const char *path)
{
  const char *slash = strrchr(path, '/');
  size_t length = !slash ? 1 : slash == path ? 1 : (size_t)(slash - path);
  char *folder = base_malloc(length + 1);
  memcpy(folder, slash ? path : ".", length);
  folder[length] = 0;
  int fd = platform_open_nameless(folder);
  free(folder);
  return fd;
}

static int open_temporary(FileOut *out)
{
  out->temporary = temporary_name(out->path);
  int fd = mkstemp(out->temporary);
  if (fd >= 0 && fchmod(fd, usual_mode()) == 0)
    return fd;
  int error = errno;
  if (fd >= 0) {
    close(fd);
    unlink(out->temporary);
  }
  errno = error;
  return -1;
}

static bool fail_open(FileOut *out)
{
  int error = errno;
  file_out_close(out);
  errno = error;
  return false;
}

/* The open file that a path names; -1: none.  Opening it once more would empty a file to which the
 * caller has redirected the rest of the output. */
static int descriptor_named(const char *path)
{
  static const char numbered[] = "/dev/fd/";
  if (strcmp(path, "/dev/stdout") == 0)
    return STDOUT_FILENO;
  if (strcmp(path, "/dev/stderr") == 0)
    return STDERR_FILENO;
  if (strncmp(path, numbered, strlen(numbered)) != 0)
    return -1;
  char *end;
  const char *digits = path + strlen(numbered);
  unsigned long number = strtoul(digits, &end, 10);
  return end == digits || *end || number > INT_MAX ? -1 : (int)number;
}

static bool open_descriptor(FileOut *out, int descriptor)
{
  fflush(stdout);               /* what the program has written before stands before */
  int fd = dup(descriptor);
  *out = (FileOut){.direct = true};
  if (fd >= 0 && !(out->stream = fdopen(fd, "wb")))
    close(fd);
  return out->stream != NULL;
}

bool file_out_open(FileOut *out, const char *path)
{
  int descriptor = descriptor_named(path);
  if (descriptor >= 0)
    return open_descriptor(out, descriptor);
  struct stat old;
  bool exists = stat(path, &old) == 0;
  *out = (FileOut){.direct = exists && !S_ISREG(old.st_mode)};
  if (exists && access(path, W_OK) != 0)
    return false;
  if (out->direct) {
    out->stream = fopen(path, "wb");
    return out->stream != NULL;
  }
  out->path = exists ? realpath(path, NULL) : strdup(path);
  if (!out->path)
    return false;
  int fd = open_nameless(out->path);
  if (fd < 0)
    fd = open_temporary(out);
  if (fd < 0)
    return fail_open(out);
  out->stream = fdopen(fd, "wb");
  if (out->stream)
    return true;
  close(fd);
  return fail_open(out);
}

/* A file without a name cannot replace another: it gets a temporary name first. */
static bool name_file(FileOut *out)
{
  char *name = temporary_name(out->path);
  int fd = mkstemp(name);       /* a name that no other file has */
  bool named = fd >= 0 && close(fd) == 0 && unlink(name) == 0 &&
               platform_name_file(fileno(out->stream), name);
  if (named) {
    out->temporary = name;
    return true;
  }
  int error = errno;
  if (fd >= 0)
    unlink(name);
  free(name);
  errno = error;
  return false;
}

bool file_out_keep(FileOut *out)
{
  if (ferror(out->stream) && !errno)
    errno = EIO;
  if (ferror(out->stream) || fflush(out->stream) != 0)
    return false;
  if (out->direct || out->kept)
    return true;
  if ((!out->temporary && !name_file(out)) || rename(out->temporary, out->path) != 0)
    return false;
  free(out->temporary);
  out->temporary = NULL;
  return out->kept = true;
}

void file_limit_fails(void)
{
  signal(SIGXFSZ, SIG_IGN);
}

/* A file gets the lowest number that is free. */
void file_reserve_streams(void)
{
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* The write that failed may be long past: one of no bytes shows what does not depend on them.
 * Otherwise other calls may have set errno: only what they hardly set is believed. */
const char *file_lost_reason(FILE *stream)
{
  struct statvfs disk;
  int fd = fileno(stream);
  if (write(fd, "", 0) == 0 && fstatvfs(fd, &disk) == 0 && disk.f_bavail == 0)
    errno = ENOSPC;
  bool is_known = errno == ENOSPC || errno == EDQUOT || errno == EBADF;
  return is_known ? strerror(errno) : "not all of it has arrived";
}

bool file_out_close(FileOut *out)
{
  int error = 0;
  if (out->stream && fclose(out->stream) != 0)
    error = errno;
  if (out->temporary)
    unlink(out->temporary);
  free(out->temporary);
  free(out->path);
  *out = (FileOut){0};
  errno = error;
  return error == 0;
}

bool file_out_finish(FileOut *out, const char **why)
{
  bool kept = file_out_keep(out);
  *why = kept ? "" : file_lost_reason(out->stream);
  return file_out_close(out) && kept;
}

bool file_write_all(const char *path, const void *data, size_t length)
{
  FileOut out;
  if (!file_out_open(&out, path))
    return false;
  bool done = fwrite(data, 1, length, out.stream) == length && file_out_keep(&out);
  int error = errno;
  bool closed = file_out_close(&out);
  if (!done)
    errno = error;
  return done && closed;
}

/* ---- names ------------------------------------------------------------------------------ */

bool file_has_ending(const char *path, const char *ending)
{
  size_t n = strlen(path), m = strlen(ending);
  return n > m && strcmp(path + n - m, ending) == 0;
}

bool file_is_named(const char *path, const char *name)
{
  size_t n = strlen(path), m = strlen(name);
  return m > 0 && m <= n && strcmp(path + n - m, name) == 0 && (m == n || path[n - m - 1] == '/');
}

static const char *without_dot(const char *path)
{
  while (path[0] == '.' && path[1] == '/')
    path += 2;
  return path;
}

bool file_is_same(const char *path, const char *other)
{
  struct stat a, b;
  if (descriptor_named(path) >= 0 || descriptor_named(other) >= 0)
    return false;
  bool is_there = stat(path, &a) == 0, other_is_there = stat(other, &b) == 0;
  if (is_there && other_is_there)
    return S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
  return is_there == other_is_there && strcmp(without_dot(path), without_dot(other)) == 0;
}

double base_seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
