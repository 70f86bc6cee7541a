/* A run of tests/host/plain_layout.csl with a debugger, for fuzz targets. The first byte of an input
 * chooses the engine and the function that the host launches. */
#ifndef DEBUGGED_RUN_H
#define DEBUGGED_RUN_H

#include "emu/fast/fast.h"
#include "emu/host/host.h"
#include "emu/reference/reference.h"
#include "tests/host_programs.h"

#include <unistd.h>

enum { RUN_MOST_CYCLES = 300, RUN_CHOICES = 8 };

static char run_folder[] = "/tmp/fuzz-debugger-XXXXXX", run_image[64];

static void run_remove(void)
{
  unlink(run_image);
  rmdir(run_folder);
}

static void run_prepare(void)
{
  if (!mkdtemp(run_folder))
    ICE("cannot make a folder in /tmp");
  snprintf(run_image, sizeof run_image, "%s/p.bin", run_folder);
  atexit(run_remove);
  host_program_compile("plain_layout.csl", "wse3", false, run_image);
}

static WseStatus run_open(HostSession *session, unsigned choice, const TimelineFront *front,
                          FILE *nothing)
{
  SessionOptions options = {
    .engine = choice / 4 % 2 ? &engine_reference : &engine_fast, .max_cycles = RUN_MOST_CYCLES,
    .check = CHECK_ERROR, .print_out = nothing, .observed_out = nothing, .debugger = front,
  };
  return session_open(session, run_image, &options);
}

/* Launches what the choice says and runs to the end. */
static WseStatus run_carry_out(HostSession *session, unsigned choice)
{
  static const struct { const char *name; uint32_t n_args; } functions[] = {
    {"scale", 2}, {"wait", 0}, {"crash", 0}, {"spin", 0},
  };
  const uint32_t args[] = {0x40000000, 2};
  int64_t function = session_export(session, functions[choice % 4].name);
  WseStatus status = session_launch(session, (uint32_t)function, args, functions[choice % 4].n_args,
                                    NULL);
  return status == WSE_OK ? session_finish(session) : status;
}

#endif
