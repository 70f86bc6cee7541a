/* The mutator of fuzz targets that read images.  Raw bytes rarely pass the checksums, so, besides
 * libFuzzer's own changes, it makes them right again most of the time; it also grows a valid image
 * from nothing, changes single numbers to likely troublemakers and swaps sections' lengths. */
#ifndef IMAGE_MUTATE_H
#define IMAGE_MUTATE_H

#include <stdlib.h>

#include "tests/image_sample.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static unsigned random_state;

static unsigned random_below(size_t limit)
{
  random_state = random_state * 1664525u + 1013904223u;
  return (unsigned)((uint64_t)random_state * (limit ? limit : 1) >> 32);
}

static size_t fresh_image(uint8_t *data, size_t max_size)
{
  static Sample sample;
  sample_make(&sample);
  if (random_below(2))
    sample.image.arch = ARCH_WSE3, sample.tasks[0].id = sample.uses[0].color;
  size_t length;
  uint8_t *file = image_write(&sample.image, &length);
  if (length > max_size)
    length = 0;
  memcpy(data, file, length);
  free(file);
  return length;
}

/* A number of 1, 2 or 4 bytes in some section becomes a small, large or neighbouring one. */
static void change_number(uint8_t *data, size_t size)
{
  static const unsigned widths[] = {1, 2, 4};
  unsigned width = widths[random_below(ARRAY_COUNT(widths))];
  if (size < IMAGE_HEADER_BYTES + 8)
    return;
  uint8_t *at = data + IMAGE_HEADER_BYTES + random_below(size - IMAGE_HEADER_BYTES - width);
  uint64_t old = load_le(at, width);
  const uint64_t values[] = {0, 1, old + 1, old - 1, old + 2, old * 2, UINT64_MAX, 0x7fff, 0xc000,
                             random_below(64), random_below(SIZE_MAX >> 40)};
  store_le(at, values[random_below(ARRAY_COUNT(values))], width);
}

/* Inserts or removes bytes inside a section and corrects its length, so that the others stay. */
static size_t resize_section(uint8_t *data, size_t size, size_t max_size)
{
  if (size < IMAGE_HEADER_BYTES)
    return size;
  unsigned section = random_below(SECTION_COUNT);
  uint8_t *entry = data + IMAGE_AT_TABLE + section * IMAGE_ENTRY_BYTES;
  uint64_t offset = load_le(entry + IMAGE_ENTRY_OFFSET, 8);
  uint64_t length = load_le(entry + IMAGE_ENTRY_LENGTH, 8);
  if (offset > size || length > size - offset)
    return size;
  size_t at = (size_t)offset + random_below(length + 1), change = 1 + random_below(24);
  if (random_below(2)) {
    if (size + change > max_size)
      return size;
    memmove(data + at + change, data + at, size - at);
    for (size_t i = 0; i < change; i++)
      data[at + i] = at >= change ? data[at - change + i] : 0;
    store_le(entry + IMAGE_ENTRY_LENGTH, length + change, 8);
    return size + change;
  }
  if (change > offset + length - at)
    return size;
  memmove(data + at, data + at + change, size - at - change);
  store_le(entry + IMAGE_ENTRY_LENGTH, length - change, 8);
  return size - change;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
  random_state = seed;
  if (size < IMAGE_HEADER_BYTES || random_below(5000) == 0)
    size = fresh_image(data, max_size);
  unsigned n_changes = 1 + random_below(4);
  for (unsigned i = 0; i < n_changes; i++) {
    unsigned way = random_below(8);
    if (way < 4)
      change_number(data, size);
    else if (way < 6)
      size = resize_section(data, size, max_size);
    else if (size > IMAGE_HEADER_BYTES)
      size = IMAGE_HEADER_BYTES + LLVMFuzzerMutate(data + IMAGE_HEADER_BYTES,
                                                   size - IMAGE_HEADER_BYTES,
                                                   max_size - IMAGE_HEADER_BYTES);
    else
      size = LLVMFuzzerMutate(data, size, max_size);
  }
  unsigned seal = random_below(40);   /* now and then the file stays as broken as it is */
  if (seal > 1)
    sample_seal(data, size);
  else if (seal == 1 && size >= IMAGE_HEADER_BYTES)
    sample_seal_header(data);
  return size;
}

#endif
