/* Configuration registers that belong to a tile but not to its router, its counters or its
 * scheduler: random generators, exceptions, the control transform, flushed queues, and the colors
 * that queues are bound to.  Both engines keep one TileRegisters per tile and go through here. */
#include "emu/tile/tile_internal.h"

#include <string.h>

/* Bits of EXCEPTION_MASK, in the order of <tile_config/exceptions>. */
enum { MASK_FP_SHIFT = 3, MASK_FP_BITS = 0x1f };
enum { STATUS_FULL_SHIFT = 8 };
/* Words of INPUT_QUEUE and OUTPUT_QUEUE. */
enum { BOUND_COLOR_MASK = 0x1f, BOUND_BIT = 1 << 7, NO_BINDING = 0xff };

/* Words of MICROTHREAD. */
enum { PRIORITY_MEDIUM_BIT = 1 << 8, PRIORITY_HIGH_BIT = 1 << 9 };

TileRegisters registers_initial(const StartRegisters *start)
{
  TileRegisters r = {.exceptions = start->exceptions, .transform = start->transform};
  for (unsigned i = 0; i < MAX_GENERATORS; i++)
    r.random[i] = RANDOM_SEED;
  r.random[r.generator] = start->random;
  return r;
}

uint8_t registers_traps(const TileRegisters *r)
{
  return (uint8_t)(~r->exceptions >> MASK_FP_SHIFT & MASK_FP_BITS);
}

/* ---- queues ---------------------------------------------------------------------------------- */

static QueueBindings bindings_of(const ImageClass *image)
{
  QueueBindings b;
  memcpy(b.data_queue, image->data_queue, sizeof b.data_queue);
  b.rebound = 0;
  memcpy(b.arrives, image->data_queue, sizeof b.arrives);
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    b.color[0][q] = image->input[q].used ? image->input[q].color : (uint8_t)NO_BINDING;
    b.color[1][q] = image->output[q].used ? image->output[q].color : (uint8_t)NO_BINDING;
  }
  return b;
}

static uint16_t binding_word(uint8_t color)
{
  return color == NO_BINDING ? 0 : (uint16_t)(BOUND_BIT | color);
}

/* From now on wavelets of the color enter this queue, and those of its old color none. */
static void bind(QueueBindings *b, bool output, unsigned queue, uint16_t word)
{
  uint8_t color = word & BOUND_BIT ? (uint8_t)(word & BOUND_COLOR_MASK) : (uint8_t)NO_BINDING;
  uint8_t *slot = &b->color[output][queue];
  if (!output && *slot < MAX_COLORS && b->data_queue[*slot] == queue)
    b->data_queue[*slot] = NO_BINDING;
  *slot = color;
  if (output)
    b->rebound |= (uint8_t)(1u << queue);
  if (!output && color < MAX_COLORS)
    b->data_queue[color] = (uint8_t)queue;
}

static void own_bindings(TileRegisters *r, const ImageClass *image)
{
  if (r->queues)
    return;
  r->queues = base_malloc(sizeof *r->queues);
  *r->queues = bindings_of(image);
}

void registers_settle(TileRegisters *r)
{
  if (r->queues)
    memcpy(r->queues->arrives, r->queues->data_queue, sizeof r->queues->arrives);
}

const VecStream *registers_remap(TileRegisters *r, const ImageClass *image, const VecRun *run,
                                 uint8_t input_any, uint8_t output_any)
{
  const VecStream *streams[] = {&run->dest, &run->src[0], &run->src[1]};
  for (unsigned i = 0; i < ARRAY_COUNT(streams); i++) {
    const VecStream *s = streams[i];
    bool output = s->kind == VS_FABOUT;
    if (!s->remaps)
      continue;
    if ((output ? output_any : input_any) >> s->queue & 1)
      return s;
    own_bindings(r, image);
    bind(r->queues, output, s->queue, binding_word(s->color));
  }
  return NULL;
}

bool registers_sends_rebound(const TileRegisters *r, unsigned queue)
{
  return r->queues && (r->queues->rebound >> queue & 1) && r->queues->color[1][queue] < MAX_COLORS;
}

uint8_t registers_queue_color(const TileRegisters *r, const ImageClass *image, bool output,
                              unsigned queue)
{
  const ImageQueue *loaded = output ? &image->output[queue] : &image->input[queue];
  if (r->queues)
    return r->queues->color[output][queue];
  return loaded->used ? loaded->color : (uint8_t)NO_COLOR;
}

uint16_t registers_queue_status(const uint8_t counts[MAX_QUEUES], const uint16_t *depths,
                                unsigned queues)
{
  unsigned word = 0;
  for (unsigned q = 0; q < queues; q++) {
    word |= counts[q] == 0 ? 1u << q : 0;
    word |= counts[q] >= depths[q] ? 1u << (q + STATUS_FULL_SHIFT) : 0;
  }
  return (uint16_t)word;
}

uint16_t registers_thread_word(const VecRun *run)
{
  static const uint16_t words[PRIO_COUNT] = {
    [PRIO_MEDIUM] = PRIORITY_MEDIUM_BIT, [PRIO_HIGH] = PRIORITY_HIGH_BIT};
  return run ? words[run->priority] : 0;
}

void registers_set_thread(VecRun *run, uint16_t word)
{
  run->priority = word & PRIORITY_HIGH_BIT ? PRIO_HIGH
                : word & PRIORITY_MEDIUM_BIT ? PRIO_MEDIUM : PRIO_LOW;
}

/* ---- reading and writing --------------------------------------------------------------------- */

bool registers_read(const TileRegisters *r, const ImageClass *image, const ConfigRegInfo *reg,
                    unsigned part, uint16_t *value)
{
  QueueBindings loaded;
  const QueueBindings *queues = r->queues;
  switch ((int)reg->address) {
  case CFG_PRNG_STATE:
    *value = (uint16_t)(r->random[r->generator] >> HALF_BITS * part);
    return true;
  case CFG_EXCEPTION_MASK: *value = r->exceptions; return true;
  case CFG_CONTROL_TRANSFORM: *value = r->transform; return true;
  case CFG_QUEUE_FLUSHED: *value = r->flushed[part]; return true;
  case CFG_INPUT_QUEUE: case CFG_OUTPUT_QUEUE:
    if (!queues) {
      loaded = bindings_of(image);
      queues = &loaded;
    }
    *value = binding_word(queues->color[reg->address == CFG_OUTPUT_QUEUE][part]);
    return true;
  default: return false;
  }
}

bool registers_write(TileRegisters *r, const ImageClass *image, const ConfigRegInfo *reg,
                     unsigned part, uint16_t value)
{
  unsigned shift = HALF_BITS * part;
  uint32_t *random = &r->random[r->generator];
  switch ((int)reg->address) {
  case CFG_PRNG_STATE:
    *random = (*random & ~((uint32_t)UINT16_MAX << shift)) | (uint32_t)value << shift;
    return true;
  case CFG_EXCEPTION_MASK: r->exceptions = value; return true;
  case CFG_CONTROL_TRANSFORM: r->transform = value & TRANSFORM_BITS; return true;
  case CFG_QUEUE_FLUSHED: r->flushed[part] &= (uint8_t)~value; return true;
  case CFG_INPUT_QUEUE: case CFG_OUTPUT_QUEUE:
    own_bindings(r, image);
    bind(r->queues, reg->address == CFG_OUTPUT_QUEUE, part, value);
    return true;
  default: return false;
  }
}

/* ---- flush ----------------------------------------------------------------------------------- */

void registers_flush(TileRegisters *r, bool output, unsigned queue)
{
  r->flushing[output] |= (uint8_t)(1u << queue);
}

bool registers_flush_empty(TileRegisters *r, uint8_t input_any, uint8_t output_any)
{
  uint8_t inputs = r->flushing[0] & (uint8_t)~input_any;
  uint8_t outputs = r->flushing[1] & (uint8_t)~output_any;
  r->flushing[0] &= (uint8_t)~inputs;
  r->flushing[1] &= (uint8_t)~outputs;
  r->flushed[0] |= inputs;
  r->flushed[1] |= outputs;
  return inputs || outputs;
}
