/* Fast engine: what reports see of a tile. */
#include "emu/fast/step.h"

#include "stb_ds.h"

static InspectWavelet inspect_wavelet(const FastWavelet *w, uint8_t color, uint64_t now)
{
  int64_t visible = (int64_t)now + wavelet_wait(w->meta, now);
  return (InspectWavelet){w->payload, color, (w->meta & META_CONTROL) != 0,
                          visible > 0 ? (uint64_t)visible : 0};
}

static void inspect_queue(const FastQueue *q, unsigned capacity, uint64_t now, InspectQueue *out)
{
  out->count = (uint8_t)q->count;
  out->capacity = (uint8_t)capacity;
  out->use = queue_use(q);
  if (q->count) {
    const FastWavelet *head = queue_at(q, 0);
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
  out->rx = config->positions[color_rx_position(c)].rx;
  out->tx = config->positions[color_tx_position(c)].tx;
  if (out->count) {
    out->head = inspect_wavelet(&c->w[0], t->set->color_of[slot], now);
    out->head_from = (Port)wavelet_field(c->w[0].meta);
  }
}

/* Between cycles: what the running operation of a thread waits for, and with which operand. */
static StallCause thread_waits(FastEngine *engine, FastTile *tile, unsigned thread, uint8_t *stream)
{
  Visit v = start_visits(engine->workers);
  v.tile = tile;
  GroupPlan group = {0};
  StallCause cause = plan_general(&v, thread, &group);
  *stream = group.stream;
  return cause;
}

static void inspect_thread(FastEngine *e, FastTile *t, unsigned i, InspectThread *out)
{
  const VecRun *run = t->threads[i].run ? &t->threads[i].run->run : NULL;
  if (i == MAIN_THREAD && t->running) {
    out->state = THREAD_RUNNING;
    out->pc = t->pc;
    out->task = (TaskKind)t->task;
    out->task_id = t->task_id;
  }
  if (!run)
    return;
  plain_sync(&t->threads[i]);
  out->state = THREAD_VECTOR;
  out->pc = run->pc;
  out->run = run;
  out->stalled = (StallCause)t->threads[i].stall;
  out->stalled_since = t->threads[i].stall_since;
  out->waiting = thread_waits(e, t, i, &out->stream);
}

void fast_inspect(Engine *base, uint32_t index, InspectTile *out)
{
  FastEngine *e = (FastEngine *)base;
  FastTile *t = fast_touch(e->workers, index);
  *out = (InspectTile){.has_code = t->cls != NULL, .active = t->active, .blocked = t->blocked,
                       .record = &t->record, .paused = t->paused, .blocked_at = t->blocked_at,
                       .wavelets_seen = t->wavelets_seen};
  for (unsigned i = 0; i < FAST_THREADS; i++)
    inspect_thread(e, t, i, &out->threads[i]);
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    inspect_queue(&t->queues[q].input, e->input_capacity[q], e->cycle, &out->input[q]);
    inspect_queue(&t->queues[q].output, e->output_capacity[q], e->cycle, &out->output[q]);
  }
  for (unsigned slot = 0; slot < t->set->n; slot++)
    inspect_color(t, slot, e->cycle, &out->colors[t->set->color_of[slot]]);
  if (t->host)
    out->host_pending = host_words_pending(&t->host->posted);
}
