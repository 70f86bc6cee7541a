/* The short form of a fuzz target: each input file as it is, then changed at random, without
 * libFuzzer and its coverage, so that every build can run it.
 *
 *   short-NAME COUNT SEED FILE...      COUNT changed inputs, chosen among the files
 *
 * The changes are the target's own if it has a mutator. */
#include "ir/base/base.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 20000, MOST_CHANGES = 4, ARG_COUNT = 1, ARG_SEED, ARG_FILES };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                                                     unsigned seed);

static uint64_t state;

static uint32_t below(size_t limit)
{
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((state >> 32) * (limit ? limit : 1) >> 32);
}

/* One byte changed, left out or put in. */
static size_t change(uint8_t *data, size_t size, size_t max_size)
{
  size_t at = below(size);
  switch (below(4)) {
  case 0:
    if (size == 0)
      return size;
    memmove(data + at, data + at + 1, size - at - 1);
    return size - 1;
  case 1:
    if (size == max_size)
      return size;
    memmove(data + at + 1, data + at, size - at);
    data[at] = (uint8_t)below(256);
    return size + 1;
  default:
    if (size > 0)
      data[at] = (uint8_t)(below(2) ? data[at] ^ 1u << below(8) : below(256));
    return size;
  }
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
  for (uint32_t n = 1 + below(MOST_CHANGES); n > 0; n--)
    size = change(data, size, max_size);
  return size;
}

static size_t mutate(uint8_t *data, size_t size)
{
  return LLVMFuzzerCustomMutator ? LLVMFuzzerCustomMutator(data, size, MOST_BYTES, below(UINT32_MAX))
                                 : LLVMFuzzerMutate(data, size, MOST_BYTES);
}

typedef struct { char *bytes; size_t size; } File;

int main(int argc, char **argv)
{
  if (argc <= ARG_FILES) {
    fprintf(stderr, "usage: %s COUNT SEED FILE...\n", argv[0]);
    return EXIT_FAILURE;
  }
  unsigned long count = strtoul(argv[ARG_COUNT], NULL, 10);
  state = strtoull(argv[ARG_SEED], NULL, 10);
  int n = argc - ARG_FILES;
  File *files = base_malloc((size_t)n * sizeof *files);
  for (int i = 0; i < n; i++) {
    files[i].bytes = file_read_all(argv[ARG_FILES + i], &files[i].size);
    if (!files[i].bytes)
      ICE("cannot read %s", argv[ARG_FILES + i]);
    if (files[i].size > MOST_BYTES)
      files[i].size = MOST_BYTES;
  }
  if (LLVMFuzzerInitialize)
    LLVMFuzzerInitialize(&argc, &argv);
  for (int i = 0; i < n; i++)
    LLVMFuzzerTestOneInput((const uint8_t *)files[i].bytes, files[i].size);
  static uint8_t data[MOST_BYTES];
  for (unsigned long i = 0; i < count; i++) {
    const File *file = &files[below((size_t)n)];
    memcpy(data, file->bytes, file->size);
    LLVMFuzzerTestOneInput(data, mutate(data, file->size));
  }
  for (int i = 0; i < n; i++)
    free(files[i].bytes);
  free(files);
  printf("%lu inputs\n", count + (unsigned long)n);
  return EXIT_SUCCESS;
}
