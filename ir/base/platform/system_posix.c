/* POSIX without anything of Linux. */
#include "ir/base/platform.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

void *platform_reserve(size_t bytes) {
  void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? NULL : pages;
}

void platform_release(void *pages, size_t bytes)
{ munmap(pages, bytes); }

void *platform_malloc(size_t bytes) { return malloc(bytes); }

void platform_prefer_large_pages(void *start, size_t bytes) { (void)start, (void)bytes; }

/* The unit of getrusage differs between systems. */
uint64_t platform_peak_memory_bytes(void) { return 0; }

bool platform_program_path(char *path, size_t room)
{
  (void)path, (void)room;
  return false;
}

FILE *platform_parent_terminal(void) { return NULL; }

int platform_open_nameless(const char *folder)
{
  (void)folder;
  return -1;
}

bool platform_name_file(int fd, const char *path)
{
  (void)fd, (void)path;
  errno = ENOSYS;
  return false;
}
