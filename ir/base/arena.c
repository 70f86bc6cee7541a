/* Arenas, checked allocation and internal errors.
 *
 * An arena is a list of chunks, newest first; allocation moves a cursor through the newest one.
 * Under the address sanitizer unused bytes are poisoned and a gap is left after every object, so
 * that overruns and stale pointers are reported although nothing is freed one by one. */
#include "ir/base/base.h"
#include "ir/base/platform.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#if BASE_IS_SANITIZED
#include <sanitizer/asan_interface.h>
enum { GAP_BYTES = 16 };
#define HIDE(at, size) ASAN_POISON_MEMORY_REGION((at), (size))
#define SHOW(at, size) ASAN_UNPOISON_MEMORY_REGION((at), (size))
#else
enum { GAP_BYTES = 0 };
#define HIDE(at, size) ((void)(at), (void)(size))
#define SHOW(at, size) ((void)(at), (void)(size))
#endif

enum { EXIT_INTERNAL = 3 };

/* A chunk of reserved_bytes or more consists of reserved pages, which the system gives in large
 * pieces where it can: that takes far less time than one small page after the other, so chunks
 * grow to there at once. */
static const size_t first_chunk_bytes = (size_t)1 << 14;
static const size_t reserved_bytes = (size_t)1 << 22;
enum { CHUNK_GROWTH = 16 };

typedef struct Chunk Chunk;
struct Chunk {
  Chunk *older;
  size_t bytes;           /* of the whole chunk */
  size_t size, used;      /* of data */
  size_t zero_from;       /* nothing has been written from here on, and the system gave zeros */
  _Alignas(16) char data[];
};

struct Arena {
  const char *name;
  Chunk *newest;
  size_t used_bytes;      /* of all chunks, alignment included */
  size_t next_chunk_bytes;
};

static _Thread_local BaseRecovery *recovery_now;

void base_enter_recovery(BaseRecovery *recovery)
{
  recovery->outer = recovery_now;
  recovery_now = recovery;
}

void base_leave_recovery(BaseRecovery *recovery)
{
  recovery_now = recovery->outer;
}

void base_out_of_memory(size_t size, const char *who)
{
  if (recovery_now)
    longjmp(recovery_now->place, 1);
  fprintf(stderr, "out of memory: %zu bytes for %s\n", size, who);
  exit(EXIT_INTERNAL);
}

static void *table_of(void *p, size_t bytes)
{
  if (!p)
    base_out_of_memory(bytes, "a table");
  return p;
}

void *base_malloc(size_t size) { return table_of(platform_malloc(size ? size : 1), size); }

void *base_realloc(void *old, size_t size)
{
  void *p = table_of(realloc(old, size ? size : 1), size);
  platform_prefer_large_pages(p, size);
  return p;
}

void *base_zeroed(size_t n, size_t size)
{
  void *p = table_of(calloc(n ? n : 1, size), n * size);
  platform_prefer_large_pages(p, n * size);
  return p;
}

char *base_print(const char *format, ...)
{
  va_list args;
  char *text;
  va_start(args, format);
  int length = vasprintf(&text, format, args);
  va_end(args);
  if (length < 0)
    base_out_of_memory(0, "a text");
  return text;
}

FILE *base_text_open(char **text, size_t *length)
{
  FILE *stream = open_memstream(text, length);
  if (!stream)
    base_out_of_memory(0, "a text");
  return stream;
}

void base_text_close(FILE *stream, char *const *text)
{
  bool lost = ferror(stream) != 0;
  /* glibc's fclose says nothing of a text that it has lost. */
  if (fclose(stream) != 0 || lost || !*text)
    base_out_of_memory(0, "a text");
}

void base_ice(const char *file, int line, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  fflush(stdout);
  fprintf(stderr, "internal error: ");
  vfprintf(stderr, format, args);
  fprintf(stderr, " (%s:%d)\n", file, line);
  va_end(args);
  exit(EXIT_INTERNAL);
}

Arena *arena_create(const char *name)
{
  Arena *arena = base_malloc(sizeof *arena);
  *arena = (Arena){.name = name, .next_chunk_bytes = first_chunk_bytes};
  return arena;
}

static void free_chunks(Chunk *chunk)
{
  while (chunk) {
    Chunk *older = chunk->older;
    SHOW(chunk->data, chunk->size);
    if (chunk->bytes >= reserved_bytes)
      platform_release(chunk, chunk->bytes);
    else
      free(chunk);
    chunk = older;
  }
}

void arena_destroy(Arena *arena)
{
  if (!arena)
    return;
  free_chunks(arena->newest);
  free(arena);
}

void arena_reset(Arena *arena)
{
  Chunk *chunk = arena->newest;
  arena->used_bytes = 0;
  if (!chunk)
    return;
  free_chunks(chunk->older);      /* the newest chunk is the largest: it alone is kept */
  chunk->older = NULL;
#ifndef NDEBUG
  SHOW(chunk->data, chunk->size);
  memset(chunk->data, 0xdd, chunk->used);
#endif
  chunk->zero_from = chunk->zero_from > chunk->used ? chunk->zero_from : chunk->used;
  chunk->used = 0;
  HIDE(chunk->data, chunk->size);
}

static Chunk *add_chunk(Arena *arena, size_t at_least)
{
  size_t bytes = arena->next_chunk_bytes;
  if (arena->next_chunk_bytes < reserved_bytes)
    arena->next_chunk_bytes *= CHUNK_GROWTH;
  if (bytes < at_least + sizeof(Chunk))
    bytes = at_least + sizeof(Chunk);
  if (bytes > reserved_bytes)
    bytes = (bytes + reserved_bytes - 1) / reserved_bytes * reserved_bytes;
  bool is_reserved = bytes >= reserved_bytes;
  Chunk *chunk = is_reserved ? platform_reserve(bytes) : malloc(bytes);
  if (!chunk)
    base_out_of_memory(bytes, arena->name);
  chunk->older = arena->newest;
  chunk->bytes = bytes;
  chunk->size = bytes - sizeof(Chunk);
  chunk->used = 0;
  chunk->zero_from = is_reserved ? 0 : chunk->size;
  HIDE(chunk->data, chunk->size);
  arena->newest = chunk;
  return chunk;
}

void *arena_alloc(Arena *arena, size_t size, size_t align)
{
  if (size > SIZE_MAX / 2)
    base_out_of_memory(size, arena->name);
  Chunk *chunk = arena->newest;
  size_t start = 0;
  if (chunk)
    start = (((uintptr_t)chunk->data + chunk->used + align - 1) & ~(uintptr_t)(align - 1)) -
            (uintptr_t)chunk->data;
  if (!chunk || start > chunk->size || chunk->size - start < size + GAP_BYTES) {
    chunk = add_chunk(arena, size + align + GAP_BYTES);
    start = (((uintptr_t)chunk->data + align - 1) & ~(uintptr_t)(align - 1)) -
            (uintptr_t)chunk->data;
  }
  arena->used_bytes += start + size - (chunk->used < start ? chunk->used : start);
  chunk->used = start + size + GAP_BYTES;
  char *at = chunk->data + start;
  SHOW(at, size);
  if (start < chunk->zero_from)
    memset(at, 0, start + size < chunk->zero_from ? size : chunk->zero_from - start);
  return at;
}

char *arena_copy_text(Arena *arena, const char *text, size_t length)
{
  char *copy = arena_alloc(arena, length + 1, 1);
  if (length)
    memcpy(copy, text, length);
  return copy;
}

char *arena_printf(Arena *arena, const char *format, ...)
{
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  if (length < 0)
    ICE("arena_printf: bad format '%s'", format);
  char *text = arena_alloc(arena, (size_t)length + 1, 1);
  vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  va_end(args);
  return text;
}

const char *arena_one_line(Arena *arena, const char *from, const char *end)
{
  char *line = arena_alloc(arena, (size_t)(end - from) + 1, 1);
  size_t n = 0;
  for (; from < end; from++)
    if (!isspace((unsigned char)*from))
      line[n++] = *from;
    else if (n && line[n - 1] != ' ')
      line[n++] = ' ';
  n -= n && line[n - 1] == ' ';
  line[n] = 0;
  return line;
}

size_t arena_used_bytes(const Arena *arena)
{
  return arena->used_bytes;
}
