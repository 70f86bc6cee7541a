/* Fuzz target of libwse: any bytes are calls of its functions in some order (tests/host_calls.h),
 * on programs with and without memcpy. */
#include "tests/host_calls.h"
#include "tests/host_programs.h"

#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/fuzz-host-XXXXXX";
static char paths[CALL_IMAGES][64];
static const char *images[CALL_IMAGES];

static void remove_files(void)
{
  for (unsigned i = 0; i < CALL_IMAGES; i++)
    unlink(paths[i]);
  rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
  (void)argc, (void)argv;
  if (!mkdtemp(folder))
    ICE("cannot make a folder in /tmp");
  for (unsigned i = 0; i < CALL_IMAGES; i++) {
    snprintf(paths[i], sizeof paths[i], "%s/%u.bin", folder, i);
    images[i] = paths[i];
  }
  atexit(remove_files);
  host_program_compile("layout.csl", "wse3", true, paths[0]);
  host_program_compile("layout.csl", "wse2", true, paths[1]);
  host_program_compile("plain_layout.csl", "wse3", false, paths[2]);
  if (!file_write_all(paths[3], "no image", 8))
    ICE("cannot write %s", paths[3]);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  calls_run(data, size, images);
  return 0;
}
