/* Linux with glibc or musl. */
#include "ir/base/platform.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of x86 and of most others.  From HUGE_LEAST on, a huge page takes less time than its part of
 * small ones, each of which is a fault.  Beyond HUGE_MOST, a block ends with small pages: they are
 * few by the rest, and memory may be short. */
enum {
  HUGE_PAGE_BYTES = 1 << 21, HUGE_LEAST = HUGE_PAGE_BYTES / 4, HUGE_MOST = 8 * HUGE_PAGE_BYTES
};

static const char self_files[] = "/proc/self/fd";

static void *map_pages(size_t bytes)
{
  void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return pages == MAP_FAILED ? NULL : pages;
}

/* Mapped with a huge page to spare, of which what lies before and after goes back. */
static void *map_aligned(size_t bytes)
{
  char *pages = bytes < SIZE_MAX - HUGE_PAGE_BYTES ? map_pages(bytes + HUGE_PAGE_BYTES) : NULL;
  if (!pages)
    return NULL;
  size_t before = -(uintptr_t)pages % HUGE_PAGE_BYTES;
  if (before)
    munmap(pages, before);
  munmap(pages + before + bytes, HUGE_PAGE_BYTES - before);
  return pages + before;
}

static size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

static size_t mapped_bytes(size_t bytes)
{
  if (bytes > SIZE_MAX - HUGE_PAGE_BYTES)
    return bytes;
  bool is_whole = bytes >= HUGE_LEAST && bytes <= HUGE_MOST;
  return round_up(bytes, is_whole ? HUGE_PAGE_BYTES : (size_t)sysconf(_SC_PAGESIZE));
}

void *platform_reserve(size_t bytes)
{
  size_t mapped = mapped_bytes(bytes);
  void *pages = bytes >= HUGE_LEAST ? map_aligned(mapped) : map_pages(mapped);
  if (pages && bytes >= HUGE_LEAST)
    madvise(pages, mapped, MADV_HUGEPAGE);  /* a wish: fewer pages to take, fewer misses */
  return pages;
}

void platform_release(void *pages, size_t bytes) { munmap(pages, mapped_bytes(bytes)); }

/* All pages of a block, so that the system can still move it as one. */
void platform_prefer_large_pages(void *start, size_t bytes)
{
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), before = (uintptr_t)start % page;
  if (bytes < 2 * HUGE_PAGE_BYTES)
    return;
  madvise((char *)start - before, round_up(bytes + before, page), MADV_HUGEPAGE);
}

void *platform_malloc(size_t bytes)
{
  if (bytes < 2 * HUGE_PAGE_BYTES)
    return malloc(bytes);
  void *block = aligned_alloc(HUGE_PAGE_BYTES, mapped_bytes(bytes));
  if (block)
    platform_prefer_large_pages(block, mapped_bytes(bytes));
  return block;
}

/* Of this program: what getrusage reports includes the process that has started it. */
uint64_t platform_peak_memory_bytes(void)
{
  enum { UNIT_BYTES = 1024 };
  char line[128];
  unsigned long long units = 0;
  FILE *status = fopen("/proc/self/status", "r");
  while (status && !units && fgets(line, sizeof line, status))
    sscanf(line, "VmHWM: %llu kB", &units);
  if (status)
    fclose(status);
  return units * UNIT_BYTES;
}

bool platform_program_path(char *path, size_t room)
{
  ssize_t n = readlink("/proc/self/exe", path, room);
  if (n <= 0 || (size_t)n >= room)
    return false;
  path[n] = 0;
  return true;
}

FILE *platform_parent_terminal(void)
{
  enum { PATH_ROOM = 64 };
  char path[PATH_ROOM];
  snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getppid(), STDERR_FILENO);
  int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
  FILE *out = fd >= 0 && isatty(fd) ? fdopen(fd, "w") : NULL;
  if (fd >= 0 && !out)
    close(fd);
  return out;
}

int platform_open_nameless(const char *folder)
{
  if (access(self_files, X_OK) != 0)
    return -1;                  /* no way to name it later */
  return open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

bool platform_name_file(int fd, const char *path)
{
  char self[sizeof self_files + 3 * sizeof fd + 2];
  snprintf(self, sizeof self, "%s/%d", self_files, fd);
  return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}
