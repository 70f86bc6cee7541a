/* Random programs whose result is known: several colors, each from one tile along a staircase
 * path, dropping its words at some of the tiles it passes; senders and receivers start late by
 * random delays, with random priorities, SIMD modes and operations.  The same seed gives the same
 * program, so two engines or two visiting orders can be compared. */
#ifndef EMU_RANDOM_H
#define EMU_RANDOM_H

#include "emu_asm.h"

enum {
  RND_SIDE = 6, RND_TILES = RND_SIDE * RND_SIDE, RND_STREAMS = 12, RND_WORDS = 40,
  RND_DATA = 0x400, RND_STRIDE = 0x100, RND_OUT = 0x2000, RND_COUNTER = 0x3e0, RND_DONE_TASK = 25,
};

typedef struct {
  unsigned color, words, from_x, from_y;
  bool taken[RND_TILES];        /* tiles that receive it */
  uint16_t out[RND_TILES];      /* where */
} RndStream;

typedef struct {
  Asm *a;
  uint32_t state;
  unsigned width, height, n_streams;
  AsmClass *classes[RND_TILES];
  unsigned sends[RND_TILES], receives[RND_TILES];   /* queues used, from 0 up and from 7 down */
  RndStream streams[RND_STREAMS];
} Rnd;

static inline unsigned rnd_below(Rnd *r, unsigned n)
{
  r->state = r->state * 1664525u + 1013904223u;
  return (r->state >> 8) % n;
}

static inline uint32_t rnd_word(unsigned stream, unsigned i) { return stream << 16 | (i + 1); }

static inline void rnd_delay(Rnd *r, AsmClass *c)
{
  if (rnd_below(r, 2))
    return;
  asm_emit(c, in_ri(OP_li, 1, 1 + rnd_below(r, 60)));
  uint16_t loop = asm_emit(c, in_rri(OP_addi, 1, 1, 0xffff));
  asm_emit(c, in_rrr(OP_mulwu, 2, 1, 1));
  asm_emit(c, in_ri(OP_bnz, 1, loop));
}

static inline void rnd_priority(Rnd *r, Descriptor *desc)
{
  desc->priority_given = rnd_below(r, 2);
  desc->priority = desc->priority_given ? (Priority)rnd_below(r, PRIO_COUNT) : PRIO_LOW;
}

static inline void rnd_send(Rnd *r, unsigned s)
{
  RndStream *stream = &r->streams[s];
  unsigned tile = stream->from_y * r->width + stream->from_x, queue = r->sends[tile]++;
  AsmClass *c = r->classes[tile];
  uint16_t at = (uint16_t)(RND_DATA + RND_STRIDE * queue);
  for (unsigned i = 0; i < stream->words; i++) {
    uint32_t v = rnd_word(s, i);
    asm_bytes(c, (uint16_t)(at + 4 * i), &v, 4);
  }
  Descriptor to = de_async(de_out(queue, stream->color, (uint16_t)stream->words), ACT_ACTIVATE,
                           RND_DONE_TASK);
  rnd_priority(r, &to);
  asm_output(c, queue, stream->color);
  rnd_delay(r, c);
  asm_emit(c, in_vec(VEC_mov32, asm_dsr(c, DSR_DEST, queue, to), op_none(),
                     asm_dsr(c, DSR_SRC1, queue, de_mem(at, (uint16_t)stream->words, 1))));
}

static inline void rnd_receive(Rnd *r, unsigned s, unsigned tile)
{
  RndStream *stream = &r->streams[s];
  unsigned queue = 7 - r->receives[tile]++;
  AsmClass *c = r->classes[tile];
  uint16_t at = (uint16_t)(RND_OUT + RND_STRIDE * queue);
  stream->taken[tile] = true;
  stream->out[tile] = at;
  asm_input(c, queue, stream->color);
  Descriptor from = de_async(de_in(queue, stream->color, (uint16_t)stream->words), ACT_ACTIVATE,
                             RND_DONE_TASK);
  rnd_priority(r, &from);
  if (rnd_below(r, 3) == 0)
    from.simd = SIMD_32_OR_64;
  rnd_delay(r, c);
  asm_emit(c, in_vec(VEC_mov32, asm_dsr(c, DSR_DEST, queue, de_mem(at, (uint16_t)stream->words, 1)),
                     op_none(), asm_dsr(c, DSR_SRC1, queue, from)));
}

/* Microthreads are numbered by queue, so sends and receives must not meet in the middle. */
static inline bool rnd_room(const Rnd *r, unsigned tile, unsigned n)
{
  return r->sends[tile] + r->receives[tile] + n <= 6;
}

/* One stream: a staircase from a random tile towards a random other one. */
static inline void rnd_stream(Rnd *r, unsigned s)
{
  RndStream *stream = &r->streams[s];
  unsigned x = rnd_below(r, r->width), y = rnd_below(r, r->height);
  unsigned to_x = rnd_below(r, r->width), to_y = rnd_below(r, r->height);
  unsigned tile = y * r->width + x;
  PortMask rx = M_R;
  *stream = (RndStream){.color = 2 * s % MAX_COLORS + s / 12, .words = 1 + rnd_below(r, RND_WORDS),
                        .from_x = x, .from_y = y};
  if (!rnd_room(r, tile, 2) || !rnd_room(r, to_y * r->width + to_x, 2))
    return;
  r->n_streams = s + 1;
  rnd_send(r, s);
  for (;;) {
    bool last = x == to_x && y == to_y, along_x = x != to_x && (y == to_y || rnd_below(r, 2));
    PortMask tx = last ? 0 : along_x ? (x < to_x ? M_E : M_W) : (y < to_y ? M_S : M_N);
    tile = y * r->width + x;
    if (last || (rnd_below(r, 3) == 0 && rnd_room(r, tile, 1))) {
      tx |= M_R;
      rnd_receive(r, s, tile);
    }
    asm_route(r->a, x, y, stream->color, rx, tx);
    if (last)
      return;
    rx = tx & M_E ? M_W : tx & M_W ? M_E : tx & M_S ? M_N : M_S;
    if (along_x)
      x = x < to_x ? x + 1 : x - 1;
    else
      y = y < to_y ? y + 1 : y - 1;
  }
}

static inline void rnd_finish(Rnd *r, unsigned tile)
{
  AsmClass *c = r->classes[tile];
  rnd_delay(r, c);
  asm_emit(c, in0(OP_endtask));
  uint16_t task = asm_emit(c, in_ri(OP_ld16a, 4, RND_COUNTER));
  asm_emit(c, in_rri(OP_addi, 4, 4, 1));
  rnd_delay(r, c);
  asm_emit(c, in_ri(OP_st16a, 4, RND_COUNTER));
  asm_emit(c, in0(OP_endtask));
  asm_task(c, TASK_LOCAL, RND_DONE_TASK, task, 0, "done");
}

static inline Rnd *rnd_program(uint32_t seed, Arch arch)
{
  Rnd *r = calloc(1, sizeof *r);
  r->state = seed * 2654435761u + 1;
  r->width = 2 + rnd_below(r, RND_SIDE - 1);
  r->height = 1 + rnd_below(r, RND_SIDE);
  r->a = asm_new(arch, (uint16_t)r->width, (uint16_t)r->height);
  for (unsigned t = 0; t < r->width * r->height; t++) {
    unsigned x = t % r->width, y = t / r->width;
    uint16_t zero = 0;
    r->classes[t] = asm_class(r->a, x, y, x, y);
    r->classes[t]->image.start_entry = ASM_CODE;
    asm_bytes(r->classes[t], RND_COUNTER, &zero, 2);
    rnd_delay(r, r->classes[t]);
  }
  unsigned n = 1 + rnd_below(r, RND_STREAMS);
  for (unsigned s = 0; s < n; s++)
    rnd_stream(r, s);
  for (unsigned t = 0; t < r->width * r->height; t++)
    rnd_finish(r, t);
  return r;
}

/* Every receiver has got every word, in order. */
static inline void rnd_check(Rnd *r)
{
  for (unsigned s = 0; s < r->n_streams; s++) {
    const RndStream *stream = &r->streams[s];
    for (unsigned t = 0; t < r->width * r->height; t++)
      for (unsigned i = 0; stream->taken[t] && i < stream->words; i++)
        assert_int_equal(asm_word32(r->a, t % r->width, t / r->width,
                                    (uint16_t)(stream->out[t] + 4 * i)), rnd_word(s, i));
  }
}

static inline void rnd_free(Rnd *r)
{
  asm_free(r->a);
  free(r);
}

#endif
