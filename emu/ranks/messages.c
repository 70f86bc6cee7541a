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

static void put_list(const void *list, size_t n, size_t each, unsigned char **bytes)
{
  uint64_t count = n;
  state_put(bytes, &count, sizeof count);
  state_put(bytes, list, n * each);
}

void alone_report_put(const AloneReport *r, unsigned char **bytes)
{
  state_put(bytes, r, sizeof *r);
  put_list(r->faults, arrlenu(r->faults), sizeof *r->faults, bytes);
  put_list(r->notes, arrlenu(r->notes), sizeof *r->notes, bytes);
  put_list(r->sent, arrlenu(r->sent), sizeof *r->sent, bytes);
}

#define GET_LIST(in, list)                                                                       \
  do {                                                                                           \
    uint64_t n;                                                                                  \
    (list) = NULL;                                                                               \
    state_get(in, &n, sizeof n);                                                                 \
    if (n)                                                                                       \
      state_get(in, arraddnptr(list, n), n * sizeof *(list));                                    \
  } while (0)

AloneReport alone_report_get(StateReader *in)
{
  AloneReport r;
  state_get(in, &r, sizeof r);
  GET_LIST(in, r.faults);
  GET_LIST(in, r.notes);
  GET_LIST(in, r.sent);
  return r;
}

void alone_report_free(AloneReport *r)
{
  arrfree(r->faults);
  arrfree(r->notes);
  arrfree(r->sent);
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
  engine->ops->inspect(engine, tile, &r.tile);
  r.record = *r.tile.record;
  for (unsigned i = 0; i < TILE_THREADS; i++)
    if (r.tile.threads[i].run)
      r.runs[i] = *r.tile.threads[i].run;
  if (r.tile.blocked_at)
    memcpy(r.blocked_at, r.tile.blocked_at, sizeof r.blocked_at);
  return r;
}
