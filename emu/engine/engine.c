/* What both engines have in common besides the shared semantics. */
#include "emu/engine/engine.h"

const char *stall_name(StallCause cause)
{
  static const char *const names[STALL_COUNT] = {
    [STALL_NONE] = "none",     [STALL_PAUSED] = "paused", [STALL_INPUT] = "input",
    [STALL_FIFO] = "fifo",     [STALL_OUTPUT] = "output", [STALL_ISSUE] = "issue",
    [STALL_BANK] = "bank",
  };
  return (unsigned)cause < STALL_COUNT ? names[cause] : "?";
}

uint64_t host_channel_time(HostChannel *channel, const Timing *timing, uint64_t cycle)
{
  uint64_t num = timing->host_wavelets_num ? timing->host_wavelets_num : 1;
  uint64_t ready = cycle * num;
  if (channel->free_at < ready)
    channel->free_at = ready;
  uint64_t at = (channel->free_at + num - 1) / num;
  channel->free_at += timing->host_wavelets_den;
  return at;
}
