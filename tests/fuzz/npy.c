/* Fuzz target of the reader of array files: what it accepts is written, read back and the same. */
#include "emu/host/host.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[] = "/tmp/fuzz-npy-XXXXXX";
enum { MOST_BYTES = 4096 };

static void remove_file(void) { unlink(path); }

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
  (void)argc, (void)argv;
  int fd = mkstemp(path);
  if (fd < 0)
    ICE("cannot make a file in /tmp");
  close(fd);
  atexit(remove_file);
  return 0;
}

static void write_and_read(const NpyArray *array)
{
  NpyArray back;
  char why[256] = "";
  if (!npy_write(path, array) ||
      !npy_read(path, array->count * array->bytes, &back, why, sizeof why))
    ICE("an accepted array, written again, is refused: %s", why);
  if (back.count != array->count || back.bytes != array->bytes || back.kind != array->kind ||
      back.n_dims != array->n_dims ||
      memcmp(back.data, array->data, (size_t)(back.count * back.bytes)) != 0)
    ICE("an array, written and read again, is another");
  npy_free(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  NpyArray parsed, read;
  char why[256] = "", why_read[256] = "";
  bool ok = npy_parse(data, size, &parsed, why, sizeof why);
  if (!ok && !*why)
    ICE("an array was refused without a reason");
  if (ok && parsed.count * parsed.bytes <= MOST_BYTES)
    write_and_read(&parsed);
  /* As a file, it may be refused for its length, too. */
  if (!file_write_all(path, data, size))
    ICE("cannot write %s", path);
  if (npy_read(path, MOST_BYTES, &read, why_read, sizeof why_read)) {
    if (!ok)
      ICE("a file is an array whose content is none: %s", why);
    npy_free(&read);
  } else if (!*why_read) {
    ICE("a file was refused without a reason");
  }
  npy_free(&parsed);
  return 0;
}
