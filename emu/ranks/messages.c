/* Ranks: messages between process 0 and the others. */
#include "emu/ranks/ranks_internal.h"

#include <string.h>

#include <stb_ds.h>

void ask_put(unsigned char **message, Ask ask, const void *bytes)
{
  memcpy(arraddnptr(*message, sizeof ask), &ask, sizeof ask);
  if (ask.n_bytes)
    memcpy(arraddnptr(*message, ask.n_bytes), bytes, ask.n_bytes);
}

bool ask_take(const unsigned char *message, size_t *at, Ask *ask, const unsigned char **bytes)
{
  size_t rest = arrlenu(message) - *at;
  if (rest == 0)
    return false;
  if (rest < sizeof *ask)
    ICE("a message between processes is cut off");
  memcpy(ask, message + *at, sizeof *ask);
  *bytes = message + *at + sizeof *ask;
  if (ask->n_bytes > rest - sizeof *ask)
    ICE("a message between processes is cut off");
  *at += sizeof *ask + ask->n_bytes;
  return true;
}

void inspect_record_link(InspectRecord *r)
{
  r->tile.record = &r->record;
  for (unsigned i = 0; i < TILE_THREADS; i++)
    if (r->tile.threads[i].run)
      r->tile.threads[i].run = &r->runs[i];
  if (r->tile.blocked_at)
    r->tile.blocked_at = r->blocked_at;
}

InspectRecord inspect_record_make(Engine *engine, uint32_t tile)
{
  InspectRecord r;
  memset(&r, 0, sizeof r);
  engine_fast.inspect(engine, tile, &r.tile);
  r.record = *r.tile.record;
  for (unsigned i = 0; i < TILE_THREADS; i++)
    if (r.tile.threads[i].run)
      r.runs[i] = *r.tile.threads[i].run;
  if (r.tile.blocked_at)
    memcpy(r.blocked_at, r.tile.blocked_at, sizeof r.blocked_at);
  return r;
}
