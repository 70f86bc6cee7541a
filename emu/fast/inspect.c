/* Fast engine: what reports see of a tile. */
#include "emu/fast/step.h"

#include "stb_ds.h"

static InspectWavelet inspect_wavelet(const FastWavelet *w, uint8_t color, uint64_t now)
{
  int64_t visible = (int64_t)now + wavelet_wait(w->meta, now);
  return (InspectWavelet){w->payload, color, (w->meta & META_CONTROL) != 0,
                          (w->meta & META_KEPT) != 0, visible > 0 ? (uint64_t)visible : 0};
}

static void inspect_queue(const FastQueues *both, bool output, unsigned capacity, uint64_t now,
                          InspectQueue *out)
{
  const FastQueue *q = output ? &both->output : &both->input;
  out->count = (uint8_t)q->count;
  out->capacity = (uint8_t)capacity;
  out->use = queue_use(q);
  if (q->count) {
    const FastWavelet *head = queue_at(both, output, 0);
    out->head = inspect_wavelet(head, wavelet_field(head->meta), now);
  }
}

static void inspect_color(const FastTile *t, unsigned slot, uint64_t now, InspectColor *out)
{
  const FastColor *c = &t->colors[slot];
  const ImageColorConfig *config = fast_config(t, t->set->color_of[slot]);
  out->configured = true;
  out->suspended = c->route & ROUTE_SUSPENDED;
  out->count = (uint8_t)color_count(c);
  out->position = (uint8_t)color_tx_position(c);
  if (t->set->switches)
    out->moved = color_moves(t)[slot];
  out->rx = config->positions[color_rx_position(c)].rx;
  out->tx = config->positions[color_tx_position(c)].tx;
  if (out->count) {
    out->head = inspect_wavelet(&c->w[0], t->set->color_of[slot], now);
    out->head_from = (Port)wavelet_field(c->w[0].meta);
  }
}

void fast_inspect(Engine *base, uint32_t index, InspectTile *out)
{
  FastEngine *e = (FastEngine *)base;
  FastTile *t = fast_touch(e->workers, index);
  Visit v = start_visits(e->workers);
  v.tile = t;
  v.turn.tile = &t->core;
  for (unsigned threads = t->core.vectors; threads; threads &= threads - 1)
    plain_sync(&t->core.threads[__builtin_ctz(threads)]);
  engine_inspect(&v.turn, out);
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    inspect_queue(&t->queues[q], false, e->input_capacity[q], e->base.cycle, &out->input[q]);
    inspect_queue(&t->queues[q], true, e->output_capacity[q], e->base.cycle, &out->output[q]);
  }
  for (unsigned slot = 0; slot < t->set->n; slot++)
    inspect_color(t, slot, e->base.cycle, &out->colors[t->set->color_of[slot]]);
  if (t->host)
    out->host_pending = host_words_pending(&t->host->posted);
}
