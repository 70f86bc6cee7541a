/* Fast engine, one step: pushes to queues and pops from them, with their events. */
#include "emu/fast/step.h"

/* So many wavelets have just left the queue. */
static HOT void note_taken(Visit *v, unsigned queue, unsigned n)
{
  FastTile *t = v->tile;
  unsigned left = t->queues[queue].input.count;
  if (UNLIKELY(left + n >= v->engine->input_capacity[queue]))
    retry_moves(t, v->turn.cycle);
  if (left == 0) {
    t->input_any &= (uint16_t)~(1u << queue);
    t->input_control &= (uint16_t)~(1u << queue);
  }
  v->popped[queue] = (uint8_t)(v->popped[queue] + n);
}

static HOT void show_taken(Visit *v, unsigned queue, FastWavelet w)
{
  EVENT(v, .kind = EV_POP, .queue = (uint8_t)queue, .color = wavelet_field(w.meta),
        .payload = w.payload, .control = (w.meta & META_CONTROL) != 0);
}

/* Without an event. */
static HOT FastWavelet input_drop(Visit *v, unsigned queue)
{
  FastWavelet w = queue_take(&v->tile->queues[queue], false);
  note_taken(v, queue, 1);
  return w;
}

static HOT FastWavelet input_take(Visit *v, unsigned queue)
{
  FastWavelet w = input_drop(v, queue);
  show_taken(v, queue, w);
  return w;
}

/* Takes so many wavelets at once; their payloads go to `to`. */
static HOT void input_take_all(Visit *v, unsigned queue, uint8_t *to, unsigned n)
{
  FastQueues *q = &v->tile->queues[queue];
  unsigned left = q->input.count - n;
  for (unsigned i = 0; i < n; i++) {
    FastWavelet w = *input_at(q, i);
    memcpy(to + i * sizeof w.payload, &w.payload, sizeof w.payload);
    show_taken(v, queue, w);
  }
  for (unsigned i = 0; i < left; i++)
    *input_at(q, i) = *input_at(q, i + n);
  q->input.count = (uint16_t)left;
  note_taken(v, queue, n);
}

/* Without an event. */
static HOT void output_put(Visit *v, unsigned queue, FastWavelet w)
{
  FastTile *t = v->tile;
  FastQueues *q = &t->queues[queue];
  unsigned count = q->output.count;
  if (UNLIKELY(count >= q->output.places))
    fast_queues_widen(v->worker, &t->queues[queue], queue);
  *output_at(q, count) = w;
  q->output.count = (uint16_t)(count + 1);
  t->output_any |= (uint16_t)(1u << queue);
}

static HOT void output_push(Visit *v, unsigned queue, FastWavelet w)
{
  output_put(v, queue, w);
  EVENT(v, .kind = EV_PUSH, .output = true, .queue = (uint8_t)queue,
        .color = wavelet_field(w.meta), .payload = w.payload,
        .control = (w.meta & META_CONTROL) != 0);
}

/* Without an event. */
static HOT void input_add(FastWorker *worker, FastTile *t, unsigned queue, FastWavelet w)
{
  FastQueues *q = &t->queues[queue];
  unsigned count = q->input.count;
  if (UNLIKELY(count >= q->input.places))
    fast_queues_widen(worker, &t->queues[queue], queue);
  *input_at(q, count) = w;
  q->input.count = (uint16_t)(count + 1);
  t->input_any |= (uint16_t)(1u << queue);
  t->core.wavelets_seen++;
}

/* Pushes into an input queue; the wavelet becomes visible after the ramp. */
static HOT void input_push(Visit *v, unsigned queue, unsigned color, FastWavelet w)
{
  uint32_t meta = wavelet_meta(v->ramp_visible, color, w.meta & META_CONTROL);
  input_add(v->worker, v->tile, queue, (FastWavelet){w.payload, meta});
  if (UNLIKELY(w.meta & META_CONTROL))
    v->tile->input_control |= (uint16_t)(1u << queue);
  EVENT(v, .kind = EV_PUSH, .queue = (uint8_t)queue, .color = (uint8_t)color,
        .payload = w.payload, .control = (w.meta & META_CONTROL) != 0);
}

/* The first word of the host's lane enters the tile. */
static RARE void input_from_host(Visit *v, HostLane *lane)
{
  FastTile *t = v->tile;
  uint8_t color = lane->color;
  uint32_t word = lane->words[lane->at++].word;
  EVENT(v, .kind = EV_HOST_IN, .color = color, .payload = word);
  input_push(v, t->data_queue[color], color, (FastWavelet){word, 0});
  t->attended = host_words_pending(&t->host->posted) != 0;
  v->worker->account.seen++;    /* no router has delivered it */
  v->turn.changed = true;
}

static HOT FastWavelet output_pop(Visit *v, unsigned queue)
{
  FastTile *t = v->tile;
  FastQueues *q = &t->queues[queue];
  FastWavelet w = queue_take(q, true);
  t->held &= (uint16_t)~(1u << t->holds[queue]);
  if (q->output.count == 0)
    t->output_any &= (uint16_t)~(1u << queue);
  EVENT(v, .kind = EV_POP, .output = true, .queue = (uint8_t)queue,
        .color = wavelet_field(w.meta), .payload = w.payload,
        .control = (w.meta & META_CONTROL) != 0);
  return w;
}
