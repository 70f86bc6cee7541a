/* What differs between systems: threads, memory, files, the stack, and what processors have.
 *
 * Each function has one implementation per system in ir/base/platform/; ir/CMakeLists.txt chooses
 * the files, so that no other source asks for which system it is compiled. */
#ifndef BASE_PLATFORM_H
#define BASE_PLATFORM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- threads_*.c ------------------------------------------------------------------------ */

typedef struct PlatformThread PlatformThread;
/* The number of threads that run at the same time; 1 where there are no threads at all. */
unsigned platform_core_count(void);
/* At most that many threads, the caller's included, may work together. */
unsigned platform_most_threads(void);
/* NULL: the system gives no further thread. */
PlatformThread *platform_start_thread(void *(*run)(void *argument), void *argument);
void platform_join_thread(PlatformThread *thread);      /* and forgets it */
/* A moment of a loop that waits for another thread. */
void platform_relax(void);

/* ---- wait_*.c, threads_none.c ------------------------------------------------------------ */

/* Sleeps at most until platform_wake_all of the word, unless it has another value already; may
 * return early. */
void platform_sleep_while(atomic_uint *word, unsigned value);
void platform_wake_all(atomic_uint *word);

/* ---- meeting.c, for all systems ------------------------------------------------------------- */

/* Threads wait here for each other, as often as they like. */
typedef struct {
  _Alignas(64) atomic_uint turn;        /* counts the times that all have met */
  _Alignas(64) atomic_uint arrived;
  atomic_uint sleepers;
  unsigned members, spins;
} Meeting;
void meeting_init(Meeting *meeting, unsigned members);
/* Returns when all members have come. */
void meeting_join(Meeting *meeting);

/* ---- system_*.c, stack_*.c, stream_*.c --------------------------------------------------- */

/* Zeroed memory whose pages the system takes when they are written, if it can; NULL: none. */
void *platform_reserve(size_t bytes);
void platform_release(void *pages, size_t bytes);
/* As malloc, for a block that the caller will write soon: in large pages, where the system has
 * some and the block fills one.  The second function asks for them for a block that is there. */
void *platform_malloc(size_t bytes);
void platform_prefer_large_pages(void *start, size_t bytes);
/* The most memory that the process has had; 0: not known. */
uint64_t platform_peak_memory_bytes(void);
/* The lowest address that recursion from here may reach, with a quarter of the stack left for
 * functions that do not ask. */
uintptr_t platform_stack_end(void);
/* The path of the running program; false: not known, or longer than `room`. */
bool platform_program_path(char *path, size_t room);
/* The terminal for errors of the process that has started this one; NULL: it has none, or the
 * system does not say.  To be closed by the caller. */
FILE *platform_parent_terminal(void);
/* A file of the folder that has no name yet, for writing; -1: the system has no such files. */
int platform_open_nameless(const char *folder);
/* Gives it a name that no file has; false with errno set. */
bool platform_name_file(int fd, const char *path);
/* A stream whose bytes go to `write`, which returns how many it took; NULL: no memory. */
typedef ptrdiff_t PlatformWrite(void *cookie, const char *bytes, size_t size);
typedef int PlatformClose(void *cookie);
FILE *platform_open_stream(void *cookie, PlatformWrite *write, PlatformClose *close);

/* ---- module_*.c --------------------------------------------------------------------------- */

/* What a module exports under a name, or NULL.  The module is a shared object in the folder of the
 * running code (program or library), in ../lib or ../lib/wse beside it; it stays loaded. */
void *platform_module_symbol(const char *file, const char *name);

/* ---- lanes_*.c: arithmetic on several elements at a time, as in fp.c ------------------------ */

/* c[i] = a[i] * b + c[i], with one rounding.  False: the processor has no instructions for that,
 * and nothing has been done. */
bool lanes_fma_f16(const uint16_t *a, uint16_t b, uint16_t *c, size_t n);
/* The same for each factor b[k] in turn, with the elements of a from k * step on, apart from c. */
bool lanes_fma_rows_f16(const uint16_t *a, size_t step, const uint16_t *b, size_t rows,
                        uint16_t *c, size_t n);
bool lanes_fma_f32(const uint32_t *a, uint32_t b, uint32_t *c, size_t n);

#endif
