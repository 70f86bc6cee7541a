/* Words that the host has for a tile, a lane for each color. */
#include "emu/engine/engine_internal.h"

#include "stb_ds.h"

static HostLane *lane_of(HostWords *words, unsigned color)
{
  for (size_t i = 0; i < arrlenu(words->lanes); i++)
    if (words->lanes[i].color == color)
      return &words->lanes[i];
  arrput(words->lanes, ((HostLane){.color = (uint8_t)color}));
  return &arrlast(words->lanes);
}

bool host_words_post(HostWords *words, unsigned color, uint32_t word, uint64_t cycle)
{
  HostLane *lane = lane_of(words, color);
  bool is_first = lane->at == arrlenu(lane->words);
  if (is_first) {
    arrsetlen(lane->words, 0);
    lane->at = 0;
  }
  arrput(lane->words, ((PostedWord){cycle, word, words->posted++}));
  return is_first;
}

const PostedWord *host_lane_head(const HostLane *lane)
{
  return lane->at < arrlenu(lane->words) ? &lane->words[lane->at] : NULL;
}

uint64_t host_words_due(const HostWords *words, uint64_t now)
{
  uint64_t due = UINT64_MAX;
  for (size_t i = 0; i < arrlenu(words->lanes); i++) {
    const PostedWord *head = host_lane_head(&words->lanes[i]);
    if (head && head->cycle > now && head->cycle < due)
      due = head->cycle;
  }
  return due;
}

bool host_words_there(const HostWords *words, uint64_t cycle)
{
  for (size_t i = 0; i < arrlenu(words->lanes); i++) {
    const PostedWord *head = host_lane_head(&words->lanes[i]);
    if (head && head->cycle <= cycle)
      return true;
  }
  return false;
}

uint32_t host_words_pending(const HostWords *words)
{
  size_t pending = 0;
  for (size_t i = 0; i < arrlenu(words->lanes); i++)
    pending += arrlenu(words->lanes[i].words) - words->lanes[i].at;
  return (uint32_t)pending;
}

static void host_words_free(HostWords *words)
{
  for (size_t i = 0; i < arrlenu(words->lanes); i++)
    arrfree(words->lanes[i].words);
  arrfree(words->lanes);
}

void host_port_free(HostPort *host)
{
  host_words_free(&host->posted);
  arrfree(host->sent);
}
