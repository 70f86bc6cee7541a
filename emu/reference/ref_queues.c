/* Reference engine: queues, and what else a tile finds in this engine. */
#include "emu/reference/reference_internal.h"

#include <stdlib.h>

const Wavelet *ring_peek(const Ring *ring, unsigned index)
{
  return &ring->at[(ring->head + index) % REF_RING];
}

void ring_push(Ring *ring, Wavelet wavelet)
{
  if (ring->count >= REF_RING)
    ICE("a queue or a router slot overflows");
  ring->at[(ring->head + ring->count++) % REF_RING] = wavelet;
}

Wavelet ring_pop(Ring *ring)
{
  if (ring->count == 0)
    ICE("a wavelet is taken from an empty queue or slot");
  Wavelet wavelet = ring->at[ring->head];
  ring->head = (uint8_t)((ring->head + 1) % REF_RING);
  ring->count--;
  return wavelet;
}

RefTile *tile_of_turn(const Turn *turn)
{
  return (RefTile *)turn->tile;         /* its first member */
}

/* ---- the port -------------------------------------------------------------------------------- */

static QueueHead queue_head(const Turn *turn, unsigned queue, unsigned place)
{
  const Ring *ring = &tile_of_turn(turn)->input[queue].ring;
  const Wavelet *w = ring_peek(ring, place);
  if (place >= ring->count || w->visible > turn->cycle)
    return (QueueHead){0};
  return (QueueHead){w->payload, w->color, w->control, w->kept, true};
}

static void queue_take_head(Turn *turn, unsigned queue)
{
  ring_pop(&tile_of_turn(turn)->input[queue].ring);
}

static void queue_keep(Turn *turn, unsigned queue)
{
  Ring *ring = &tile_of_turn(turn)->input[queue].ring;
  ring->at[ring->head].kept = true;
}

static void queue_send(Turn *turn, unsigned queue, QueueHead w, bool advance)
{
  const Timing *timing = &turn->program->timing;
  uint64_t queued = turn->cycle + timing->element_to_queue;
  ring_push(&tile_of_turn(turn)->output[queue].ring,
            (Wavelet){.payload = w.payload, .color = w.color, .from = PORT_RAMP,
                      .control = w.control, .advance = advance,
                      .visible = queued + timing->ramp_up - (timing->ramp_up ? 1 : 0)});
}

static RefQueue *port_queue(const Turn *turn, bool output, unsigned queue)
{
  RefTile *tile = tile_of_turn(turn);
  return output ? &tile->output[queue] : &tile->input[queue];
}

static unsigned queue_count(const Turn *turn, bool output, unsigned queue)
{
  return port_queue(turn, output, queue)->ring.count;
}

static void note_use(Turn *turn, bool output, unsigned queue, QueueUse use)
{
  port_queue(turn, output, queue)->use = use;
}

static QueueUse last_use(const Turn *turn, bool output, unsigned queue)
{
  return port_queue(turn, output, queue)->use;
}

static DsrState *dsrs_alloc(Turn *turn, unsigned n)
{
  (void)turn;
  return base_malloc(n * sizeof(DsrState));
}

static DsrState *dsrs_load(Turn *turn, unsigned place, const Descriptor *desc)
{
  (void)turn;
  (void)place;
  (void)desc;
  return NULL;
}

static VecRun *run_alloc(Turn *turn)
{
  (void)turn;
  return base_malloc(sizeof(VecRun));
}

static void run_free(Turn *turn, VecRun *run)
{
  (void)turn;
  free(run);
}

static void do_nothing(Turn *turn, unsigned thread)
{
  (void)turn, (void)thread;
}

static bool read_router(const Turn *turn, uint16_t address, uint16_t *value)
{
  uint16_t base = config_reg_at(address)->address;
  const ColorState *c = tile_of_turn(turn)->colors[address - base];
  if (!router_config_has(base, c ? c->config : NULL))
    return false;
  RouterNow now = {c->rx_position, c->suspended, c->filter.counter, c->filter.limit1};
  *value = router_config_read(base, c->config, c->own, now);
  return true;
}

const TilePort reference_port = {
  .head = queue_head, .take = queue_take_head, .keep = queue_keep, .send = queue_send,
  .count = queue_count, .use = note_use, .used = last_use, .dsrs_alloc = dsrs_alloc,
  .dsrs_load = dsrs_load,
  .run_alloc = run_alloc, .run_free = run_free, .started = do_nothing,
  .sync = do_nothing, .plan = vector_plan, .group = vector_group,
  .router_read = read_router,
};
