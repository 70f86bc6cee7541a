/* Fast engine: the work after a block of cycles, for all tiles: the host, hazards, events. */
#include "emu/fast/step.h"

#include "stb_ds.h"

#include <stdlib.h>

/* ---- the host's channels ---------------------------------------------------------------- */

/* A tile of [from, end) that waits for the host, or NO_TILE. */
static uint32_t next_waiting(const FastEngine *e, uint32_t from, uint32_t end)
{
  while (from < end) {
    uint64_t word = e->host_waiting[from / WORD_BITS] >> from % WORD_BITS;
    if (word) {
      uint32_t found = from + (uint32_t)__builtin_ctzll(word);
      return found < end ? found : (uint32_t)NO_TILE;
    }
    from = (from / WORD_BITS + 1) * WORD_BITS;
  }
  return NO_TILE;
}

static void give_to_host(FastEngine *e, uint32_t index)
{
  FastTile *t = &e->tiles[index];
  Visit v = start_visits(&e->workers[e->row_worker[index / e->width]]);  /* its events come first */
  v.tile = t;
  if (!t->host)
    t->host = fast_alloc(v.worker, sizeof *t->host, _Alignof(FastHost));
  t->attended = e->hosted = true;
  for (unsigned bits = t->output_any; bits; bits &= bits - 1) {
    unsigned queue = (unsigned)__builtin_ctz(bits);
    FastQueue *q = &t->queues[queue].output;
    FastWavelet w = *queue_at(q, 0);
    if (!wavelet_seen(w.meta, v.now) || !step_is_host_color(&v, wavelet_field(w.meta)))
      continue;
    output_pop(&v, queue);
    EVENT(&v, .kind = EV_HOST_OUT, .color = wavelet_field(w.meta), .queue = (uint8_t)queue,
          .payload = w.payload);
    arrput(t->host->sent, ((FastHostWord){v.now, w.payload, wavelet_field(w.meta)}));
    break;
  }
  e->host_waiting[index / WORD_BITS] &= ~(UINT64_C(1) << index % WORD_BITS);
  e->n_host_waiting--;
  note_change(&v);
  fast_wake(v.worker, index, v.now + 1);
}

static void list_waiting(FastEngine *e, FastWorker *worker)
{
  for (size_t i = 0; i < arrlenu(worker->host_calls); i++) {
    uint32_t tile = worker->host_calls[i];
    uint64_t *word = &e->host_waiting[tile / WORD_BITS], mask = UINT64_C(1) << tile % WORD_BITS;
    if (*word & mask)
      continue;
    *word |= mask;
    e->n_host_waiting++;
    e->channels[program_channel(e->program, tile)].waiting++;
  }
  arrsetlen(worker->host_calls, 0);
}

/* Each free channel takes a word from the next of its tiles, in cyclic order, that has one. */
static bool serve_channels(FastEngine *e)
{
  const Timing *timing = e->timing;
  uint64_t num = timing->host_wavelets_num ? timing->host_wavelets_num : 1;
  uint64_t now = e->cycle * num;
  bool served = false;
  for (unsigned i = 0; i < e->n_channels; i++) {
    FastChannel *channel = &e->channels[i];
    if (!channel->waiting || channel->free_at > now)
      continue;
    uint32_t from = channel->last_tile + 1;
    if (from < channel->first || from >= channel->end)
      from = channel->first;
    uint32_t tile = next_waiting(e, from, channel->end);
    if (tile == (uint32_t)NO_TILE)
      tile = next_waiting(e, channel->first, from);
    channel->waiting--;
    channel->last_tile = tile;
    /* Free since less than a cycle: the fraction counts, or the rate would be rounded down. */
    bool busy = channel->free_at + num > now;
    channel->free_at = (busy ? channel->free_at : now) + timing->host_wavelets_den;
    give_to_host(e, tile);
    served = true;
  }
  return served;
}

/* ---- the end of a block ----------------------------------------------------------------- */

typedef struct { TraceEvent event; size_t order; } OrderedEvent;

static int compare_events(const void *a, const void *b)
{
  const OrderedEvent *x = a, *y = b;
  if (x->event.tile != y->event.tile)
    return x->event.tile < y->event.tile ? -1 : 1;
  return x->order < y->order ? -1 : x->order > y->order;
}

/* One worker visits tiles in order, so events are too, but for words that went to the host last. */
static void deliver_events(FastEngine *e, bool sort)
{
  OrderedEvent *ordered = NULL;
  TraceSink *sink = e->options.trace;
  for (unsigned k = 0; k < e->n_workers; k++) {
    TraceEvent *events = e->workers[k].events;
    for (size_t i = 0; i < arrlenu(events) && sort; i++)
      arrput(ordered, ((OrderedEvent){events[i], arrlenu(ordered)}));
    for (size_t i = 0; i < arrlenu(events) && !sort; i++)
      sink->event(sink, &events[i]);
    arrsetlen(e->workers[k].events, 0);
  }
  size_t n = arrlenu(ordered);
  if (n)
    qsort(ordered, n, sizeof *ordered, compare_events);
  for (size_t i = 0; i < n; i++)
    sink->event(sink, &ordered[i].event);
  arrfree(ordered);
}

static int compare_prints(const void *a, const void *b)
{
  const FastPrint *x = a, *y = b;
  if (x->cycle != y->cycle)
    return x->cycle < y->cycle ? -1 : 1;
  return x->tile < y->tile ? -1 : x->tile > y->tile;
}

/* A tile prints at most one byte per cycle. */
static void deliver_prints(FastEngine *e)
{
  FastPrint *all = e->workers[0].prints;
  for (unsigned k = 1; k < e->n_workers; k++) {
    for (size_t i = 0; i < arrlenu(e->workers[k].prints); i++)
      arrput(all, e->workers[k].prints[i]);
    arrsetlen(e->workers[k].prints, 0);
  }
  if (arrlenu(all))
    qsort(all, arrlenu(all), sizeof *all, compare_prints);
  for (size_t i = 0; i < arrlenu(all); i++)
    e->options.print(e->options.print_context, all[i].cycle, all[i].tile, all[i].byte);
  arrsetlen(all, 0);
  e->workers[0].prints = all;
}

static void do_all_chores(FastEngine *e)
{
  for (unsigned k = 0; k < e->n_workers; k++) {
    FastWorker *worker = &e->workers[k];
    size_t n = arrlenu(worker->chores);
    for (size_t i = 0; i < n; i++)
      if (arrlenu(e->chores[worker->chores[i]]))
        do_chores(worker, worker->chores[i], e->cycle + e->block);
    if (n)
      arrdeln(worker->chores, 0, n);    /* those that came up meanwhile stay */
  }
}

STEP void end_block(FastEngine *e)
{
  for (unsigned k = 0; k < e->n_workers; k++)
    list_waiting(e, &e->workers[k]);
  bool served = e->n_host_waiting && serve_channels(e);
  do_all_chores(e);
  for (unsigned k = 0; k < e->n_workers; k++)
    fast_join_relays(&e->workers[k]);
  deliver_prints(e);
  if (FAST_TRACED)
    deliver_events(e, served || e->n_workers > 1 || e->options.shuffle);
}
