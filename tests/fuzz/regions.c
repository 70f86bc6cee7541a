/* Fuzz target of layouts made by host scripts: any bytes are the file of --layout-json.  Its regions
 * run the program below, whatever source they name: a `source` that is no file is an error like
 * another, so seeds name `program.csl` in the folder of the run. */
#include "frontend/driver/driver.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/fuzz-regions-XXXXXX";

static const char program[] =
  "param a = 1;\nparam b: color = @get_color(3);\nexport var v = @zeros([4]f32);\n"
  "task go() void { v[0] += 1.0; }\n"
  "comptime { @bind_local_task(go, @get_local_task_id(8)); @activate(@get_local_task_id(8)); }\n";

static void remove_files(void)
{
  unlink("program.csl");
  unlink("layout.json");
  unlink("out.bin");
  if (chdir("/") == 0)
    rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
  (void)argc, (void)argv;
  if (!mkdtemp(folder) || chdir(folder) != 0)
    ICE("cannot make a folder in /tmp");
  if (!file_write_all("program.csl", program, strlen(program)))
    ICE("cannot write the program");
  atexit(remove_files);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (!file_write_all("layout.json", data, size))
    ICE("cannot write the layout");
  Options options = {
    .input = "layout.json", .layout_json = "layout.json", .output = "out.bin",
    .arch = size % 2 ? ARCH_WSE3 : ARCH_WSE2, .opt_level = 1, .channels = 1, .sdk = 14,
    .max_inlined_iterations = 100, .comptime_depth_limit = 64, .comptime_step_limit = 20000,
  };
  SourceMap *sources = source_map_create();
  driver_run(&options, sources, WSE_SOURCE_STDLIB);
  source_map_destroy(sources);
  return 0;
}
