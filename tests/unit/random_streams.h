/* Random programs of streams, for tests that run one program in several ways: chains of tiles along
 * rows and columns, each tile computing what it hands to the next, again and again, with delays,
 * lengths that do not fit, and other traffic that crosses at any time.  The same seed gives the
 * same program.  From STREAM_COLUMNS on, seeds give broadcasts down columns of high fabrics.
 *   Asm *a = random_streams(seed, &engine_fast);
 * Included by one .c file each. */
#ifndef RANDOM_STREAMS_H
#define RANDOM_STREAMS_H

#include "random_program.h"

enum {
  STREAM_COLORS = 6, STREAM_CHAINS = 8, STREAM_PHASES = 10, CHAIN_MOST = 14,
  STREAM_OPS = ASM_DSRS / DSR_FILE_COUNT,       /* of a tile */
  STREAM_LONG = 80, STREAM_COLUMNS = 1 << 24,
  STREAM_TIMES = 3,             /* as long are the streams of a fifth of the programs */
  STREAM_DRAWN = 4 * 2 * STREAM_LONG,           /* bytes of the sources, of which there are two */
  STREAM_SRC = 0x100, STREAM_DEST = STREAM_SRC + 2 * STREAM_DRAWN,
  STREAM_COUNTERS = STREAM_DEST + 4 * STREAM_TIMES * STREAM_LONG,
  STREAM_TASK = LOCAL_FIRST, STREAM_TASKS = 3, STREAM_DONE = LOCAL_FIRST + STREAM_TASKS,
};

/* A tile of a chain: it has an operation from color `in` to color `out`, NO_COLOR being memory. */
typedef struct { uint8_t tile, in, out; } ChainTile;

typedef struct {
  ChainTile tiles[CHAIN_MOST];
  unsigned n;
  bool control;                 /* short, and all wavelets are control wavelets */
  unsigned async;               /* percent of its operations */
} Chain;

typedef struct {
  Gen gen;
  AsmClass *classes[ASM_CLASSES];       /* by tile */
  unsigned ops[ASM_CLASSES], tasks[ASM_CLASSES];
  uint32_t colors[ASM_CLASSES]; /* configured, a bit each */
  bool odd;                     /* whatever streams seldom do; else plain streams alone */
  bool columns;                 /* mostly moves down columns */
  unsigned times;               /* lengths are multiplied by it */
  Chain chains[STREAM_CHAINS];
  unsigned n_chains;
} Streams;

static const int way_x[PORT_RAMP] = {[PORT_EAST] = 1, [PORT_WEST] = -1};
static const int way_y[PORT_RAMP] = {[PORT_SOUTH] = 1, [PORT_NORTH] = -1};

static bool odd_chance(Streams *s, unsigned percent)
{
  return s->odd && chance(&s->gen.random, percent);
}

/* ---- routes ----------------------------------------------------------------------------- */

static unsigned beside(const Streams *s, unsigned tile, Port way)
{
  return (unsigned)((int)tile + way_x[way] + way_y[way] * s->gen.a->image.width);
}

/* Tiles from here to the border of the fabric, with this one. */
static unsigned tiles_ahead(const Streams *s, unsigned tile, Port way)
{
  const Image *image = &s->gen.a->image;
  unsigned x = tile % image->width, y = tile / image->width;
  switch ((int)way) {
  case PORT_EAST: return image->width - x;
  case PORT_WEST: return x + 1;
  case PORT_SOUTH: return image->height - y;
  default: return y + 1;
  }
}

static void stream_config(Streams *s, unsigned tile, unsigned color, PortMask rx, PortMask tx)
{
  Random *r = &s->gen.random;
  unsigned x = tile % s->gen.a->image.width, y = tile / s->gen.a->image.width;
  ImageColorConfig config = {.positions[0] = {.rx = rx, .tx = tx, .valid = true},
                             .ring = chance(r, 50), .pop = (PopMode)below(r, 4)};
  if (odd_chance(s, 25)) {
    PortMask inside = inside_ports(&s->gen, x, y);
    config.positions[1] = config.positions[0];
    if (chance(r, 50))
      config.positions[1].rx = random_ports(&s->gen, inside, 2);
    if (chance(r, 30))
      config.positions[1].tx = tx | M_R;
  }
  if (odd_chance(s, 3))
    config.filter = random_filter(&s->gen);
  asm_config(s->gen.a, x, y, color, config);
  s->colors[tile] |= 1u << color;
}

/* The color leads from a tile `span` tiles on; of those between, `copies` percent get a copy.
 * False: some tile uses it already. */
static bool lay_link(Streams *s, unsigned from, Port way, unsigned span, unsigned color,
                     unsigned copies)
{
  Random *r = &s->gen.random;
  PortMask on = (PortMask)(1u << way), back = (PortMask)(1u << port_opposite(way));
  unsigned tile = from;
  for (unsigned i = 0; i <= span; i++, tile = beside(s, tile, way))
    if (s->colors[tile] >> color & 1)
      return false;
  stream_config(s, from, color, M_R, on);
  tile = beside(s, from, way);
  for (unsigned i = 1; i < span; i++, tile = beside(s, tile, way))
    stream_config(s, tile, color, back, chance(r, copies) ? on | M_R : on);
  bool nowhere = odd_chance(s, 1);
  stream_config(s, tile, color, back, nowhere ? on | M_R : M_R);
  return true;
}

/* Mostly one whose queue is deep enough for a stream at full rate. */
static uint8_t stream_color(Random *r)
{
  return (uint8_t)below(r, chance(r, 80) ? STREAM_COLORS - 2 : STREAM_COLORS);
}

/* A source, and all tiles ahead of it as sinks of the same color. */
static void lay_broadcast(Streams *s, Chain *chain, unsigned tile, Port way)
{
  Random *r = &s->gen.random;
  unsigned most = tiles_ahead(s, tile, way) - 1;
  most = most < CHAIN_MOST - 1 ? most : CHAIN_MOST - 1;
  uint8_t color = stream_color(r);
  unsigned span = most && chance(r, 20) ? 1 + below(r, most) : most;
  if (!span || !lay_link(s, tile, way, span, color, odd_chance(s, 20) ? 80 : 100))
    return;
  chain->tiles[chain->n++] = (ChainTile){(uint8_t)tile, NO_COLOR, color};
  for (unsigned i = 0; i < span; i++) {
    tile = beside(s, tile, way);
    if (!odd_chance(s, 3))
      chain->tiles[chain->n++] = (ChainTile){(uint8_t)tile, color, NO_COLOR};
  }
}

/* A source, tiles between, and a sink, along a row or column. */
static void lay_chain(Streams *s, Chain *chain)
{
  Random *r = &s->gen.random;
  unsigned tile = below(r, (uint32_t)s->gen.a->image.width * s->gen.a->image.height);
  Port way = (Port)below(r, PORT_RAMP);
  if (tiles_ahead(s, tile, way) < tiles_ahead(s, tile, port_opposite(way)))
    way = port_opposite(way);
  unsigned left = tiles_ahead(s, tile, way) - 1, far = chance(r, 25);
  uint8_t colors[2] = {stream_color(r), stream_color(r)};
  if (s->columns && chance(r, 70)) {
    tile = below(r, s->gen.a->image.width);
    way = PORT_SOUTH;
    left = tiles_ahead(s, tile, way) - 1;
  }
  *chain = (Chain){.control = odd_chance(s, 20), .async = odd_chance(s, 25) ? 30 : 0};
  if (chance(r, s->columns ? 80 : 30)) {
    lay_broadcast(s, chain, tile, way);
    return;
  }
  uint8_t in = NO_COLOR;
  while (left && chain->n + 1 < CHAIN_MOST && !(chain->n && chance(r, 5))) {
    unsigned span = far || chance(r, 10) ? 1 + below(r, left) : 1;
    uint8_t out = chance(r, 85) ? colors[chain->n % 2] : stream_color(r);
    if (!lay_link(s, tile, way, span, out, 40))
      break;
    chain->tiles[chain->n++] = (ChainTile){(uint8_t)tile, in, out};
    in = out;
    left -= span;
    for (unsigned i = 0; i < span; i++)
      tile = beside(s, tile, way);
  }
  if (chain->n && !odd_chance(s, 5))
    chain->tiles[chain->n++] = (ChainTile){(uint8_t)tile, in, NO_COLOR};
}

/* ---- operations ------------------------------------------------------------------------- */

static void stream_delay(Streams *s, AsmClass *c)
{
  Random *r = &s->gen.random;
  for (unsigned i = below(r, 6); i > 0; i--)
    asm_emit(c, chance(r, 70) ? in_rri(OP_addi, below(r, 6), below(r, 6), below(r, 0x10000))
                              : in_rrr(OP_fmuls, 2 * below(r, 3), 2 * below(r, 3), 2));
  if (chance(r, 40)) {
    asm_emit(c, in_ri(OP_li, 8, 1 + below(r, chance(r, 80) ? 10 : 60)));
    uint16_t loop = asm_emit(c, in_rri(OP_addi, 8, 8, 0xffff));
    asm_emit(c, in_ri(OP_bnz, 8, loop));
  }
}

static VecOp stream_op(const Streams *s, Random *r)
{
  if (s->columns && chance(r, 90))
    return VEC_fmovs;
  static const VecOp ops[] = {VEC_fmovs, VEC_mov32, VEC_fadds, VEC_fmuls, VEC_fmacs, VEC_fmaxs,
                              VEC_fsubs, VEC_fnegs};
  return ops[below(r, ARRAY_COUNT(ops))];
}

static Action stream_action(Random *r)
{
  if (chance(r, 70))
    return (Action){0};
  return (Action){ACT_ACTIVATE, ID_TASK, STREAM_DONE};
}

static Descriptor stream_memory(Streams *s, unsigned length, bool dest)
{
  Random *r = &s->gen.random;
  unsigned base = dest ? STREAM_DEST : STREAM_SRC + 4 * below(r, STREAM_LONG);
  Descriptor d = de_mem((uint16_t)base, (uint16_t)length, chance(r, 90));
  if (odd_chance(s, 5))
    d.flags |= chance(r, 50) ? DESC_F_SAVE : DESC_F_STEP;
  return d;
}

/* On wse2 a queue takes any color. */
static unsigned stream_queue(Streams *s, unsigned color)
{
  Random *r = &s->gen.random;
  if (s->gen.a->image.arch == ARCH_WSE3)
    return color;
  return chance(r, 85) ? 2 + color % 2 : below(r, 6);
}

static Descriptor stream_out(Streams *s, const Chain *chain, unsigned color, unsigned length)
{
  Random *r = &s->gen.random;
  Descriptor d = de_out(stream_queue(s, color), color, (uint16_t)length);
  d.done = stream_action(r);
  if (chain->control || odd_chance(s, 4))
    d.flags |= DESC_F_CONTROL;
  if (chance(r, chain->async))
    d.flags |= DESC_F_ASYNC;
  if (odd_chance(s, 20))
    d.flags |= DESC_F_ADVANCE;
  if (odd_chance(s, 3))
    d.flags |= DESC_F_INDEX;
  d.priority_given = odd_chance(s, 20);
  d.priority = d.priority_given ? (Priority)below(r, PRIO_COUNT) : PRIO_LOW;
  d.simd = odd_chance(s, 10) ? (SimdMode)below(r, 4) : SIMD_OFF;
  return d;
}

static Descriptor stream_in(Streams *s, const Chain *chain, unsigned color, unsigned length)
{
  Random *r = &s->gen.random;
  Descriptor d = de_in(color, color, (uint16_t)length);
  d.done = stream_action(r);
  if (chance(r, chain->async))
    d.flags |= DESC_F_ASYNC;
  if (odd_chance(s, 30))
    d.on_control = chance(r, 60) ? (Action){.kind = ACT_TERMINATE} : stream_action(r);
  return d;
}

/* Either source may be the one that comes over the fabric. */
static void stream_sources(Streams *s, const Chain *chain, unsigned number, const ChainTile *at,
                           unsigned length, VecOperands *vec)
{
  AsmClass *c = s->classes[at->tile];
  Random *r = &s->gen.random;
  unsigned fabric = vecops[vec->op].sources == 2 ? below(r, 2) : 1;
  VecOperand *operands[2] = {&vec->src0, &vec->src1};
  static const DsrFile files[2] = {DSR_SRC0, DSR_SRC1};
  for (unsigned i = 2u - vecops[vec->op].sources; i < 2; i++) {
    if (at->in != NO_COLOR && i == fabric)
      *operands[i] = asm_dsr(c, files[i], number, stream_in(s, chain, at->in, length));
    else if ((at->in == NO_COLOR && i == fabric) || chance(r, at->in == NO_COLOR ? 5 : 60))
      *operands[i] = asm_dsr(c, files[i], number, stream_memory(s, length, false));
    else
      *operands[i] = op_reg(2 * below(r, 3));
  }
}

static void stream_operation(Streams *s, const Chain *chain, const ChainTile *at, unsigned length)
{
  Random *r = &s->gen.random;
  AsmClass *c = s->classes[at->tile];
  unsigned number = s->ops[at->tile];
  if (number == STREAM_OPS)
    return;
  s->ops[at->tile]++;
  if (chance(r, 8))
    length = chance(r, 70) ? length + below(r, 3) - 1u : 1 + below(r, STREAM_LONG);
  Insn insn = {.op = OP_vec, .vec = {.op = stream_op(s, r)}};
  stream_sources(s, chain, number, at, length, &insn.vec);
  Descriptor dest = at->out == NO_COLOR ? stream_memory(s, length, true)
                                        : stream_out(s, chain, at->out, length);
  insn.vec.dest = asm_dsr(c, DSR_DEST, number, dest);
  if (odd_chance(s, 3) && at->out == NO_COLOR)
    insn.vec.dest = op_reg(0);
  insn.vec.has_scalar = vecops[insn.vec.op].scalar;
  insn.vec.scalar = insn.vec.has_scalar ? (uint8_t)(2 * below(r, 3)) : 0;
  for (unsigned again = chance(r, 10) ? 2 : 1; again > 0; again--)
    asm_emit(c, insn);
}

static void count_something(Streams *s, AsmClass *c)
{
  Random *r = &s->gen.random;
  asm_emit(c, in_ri(OP_li, 9, STREAM_COUNTERS));
  asm_emit(c, in_stctr(below(r, COUNTER_WORDS), 9, 2 * below(r, 16)));
}

/* The rest is another task. */
static void next_task(Streams *s, unsigned tile)
{
  AsmClass *c = s->classes[tile];
  unsigned id = STREAM_TASK + ++s->tasks[tile];
  asm_emit(c, in_i(OP_acti, id));
  asm_emit(c, in0(OP_endtask));
  asm_task(c, TASK_LOCAL, id, asm_here(c), 0, "next");
}

/* Reads and writes the routes or the switch of one of the tile's colors. */
static void stream_router(Streams *s, unsigned tile)
{
  Random *r = &s->gen.random;
  AsmClass *c = s->classes[tile];
  unsigned color = (unsigned)__builtin_ctz(s->colors[tile]);
  unsigned address = (chance(r, 50) ? CFG_COLOR_ROUTES : CFG_COLOR_SWITCH) + color;
  asm_emit(c, in_ri(OP_ldcfgi, 10, address));
  if (chance(r, 40))
    asm_emit(c, in_rri(OP_xori, 10, 10, 1u << below(r, 16)));
  asm_emit(c, in_ri(OP_stcfgi, 10, address));
}

/* All tiles of a chain do it once more. */
static void stream_phase(Streams *s, const Chain *chain)
{
  Random *r = &s->gen.random;
  unsigned length = chance(r, 75) ? 1 + below(r, STREAM_LONG) : 1 + below(r, 5);
  bool delays = chance(r, 60);
  if (chain->control)
    length = 1 + below(r, 3);
  else
    length *= s->times;
  for (unsigned i = 0; i < chain->n; i++) {
    unsigned tile = chain->tiles[i].tile;
    AsmClass *c = s->classes[tile];
    if (delays && chance(r, 70))
      stream_delay(s, c);
    if (odd_chance(s, 5))
      stream_router(s, tile);
    stream_operation(s, chain, &chain->tiles[i], length);
    if (chance(r, 20))
      count_something(s, c);
    if (chance(r, 15) && s->tasks[tile] + 1 < STREAM_TASKS)
      next_task(s, tile);
  }
}

/* ---- programs --------------------------------------------------------------------------- */

static void stream_data(Streams *s, AsmClass *c)
{
  Random *r = &s->gen.random;
  for (unsigned at = STREAM_SRC; at < STREAM_SRC + STREAM_DRAWN; at += 4) {
    float v = (float)below(r, 100) - 50;
    uint32_t control = below(r, 8) << 22 | below(r, 8) << 25 |
                       (chance(r, 50) ? CONTROL_ENTRY : below(r, 64)) << 16 | below(r, 256);
    const void *word = odd_chance(s, 50) ? (const void *)&control : &v;
    asm_bytes(c, (uint16_t)at, word, sizeof v);
    asm_bytes(c, (uint16_t)(at + STREAM_DRAWN), word, sizeof v);
  }
  asm_bytes(c, STREAM_DEST, (uint8_t[4 * STREAM_TIMES * STREAM_LONG + 4 * 16]){0},
            STREAM_COUNTERS + 4 * 16 - STREAM_DEST);
}

static void begin_tile(Streams *s, unsigned tile)
{
  unsigned x = tile % s->gen.a->image.width, y = tile / s->gen.a->image.width;
  AsmClass *c = asm_class(s->gen.a, x, y, x, y);
  s->classes[tile] = c;
  stream_data(s, c);
  for (unsigned color = 0; color < STREAM_COLORS; color++) {
    asm_input(c, color, color);
    asm_output(c, s->gen.a->image.arch == ARCH_WSE3 ? color : 2 + color % 2, color);
  }
  asm_task(c, TASK_LOCAL, STREAM_TASK, asm_here(c), 0, "main");
  c->image.active = UINT64_C(1) << STREAM_TASK;
}

static void small_task(Streams *s, AsmClass *c, TaskKind kind, unsigned id)
{
  asm_task(c, kind, id, asm_here(c), kind == TASK_LOCAL ? 0 : below(&s->gen.random, 3), "small");
  stream_delay(s, c);
  count_something(s, c);
  asm_emit(c, in0(OP_endtask));
}

static void end_tile(Streams *s, unsigned tile)
{
  AsmClass *c = s->classes[tile];
  asm_emit(c, in0(OP_endtask));
  small_task(s, c, TASK_LOCAL, STREAM_DONE);
  for (unsigned color = 0; color < STREAM_COLORS; color++)
    if (chance(&s->gen.random, 10))
      small_task(s, c, TASK_DATA, color);
  if (chance(&s->gen.random, 50))
    small_task(s, c, TASK_CONTROL, CONTROL_ENTRY);
}

/* Mostly flat; some are high enough for several threads. */
static Asm *stream_fabric(Random *r, Arch arch, bool columns)
{
  if (columns)
    return asm_new(arch, (uint16_t)(1 + below(r, 3)), (uint16_t)(6 + below(r, 9)));
  if (chance(r, 25))
    return asm_new(arch, (uint16_t)(1 + below(r, 4)), (uint16_t)(8 + below(r, 5)));
  unsigned width = 2 + below(r, 11), height = 1 + below(r, 6);
  while (width * height > ASM_CLASSES)
    height--;
  return asm_new(arch, (uint16_t)width, (uint16_t)height);
}

static void stream_timing(Random *r, Timing *timing)
{
  static const char *const rows[] = {"ramp_up", "ramp_down", "hop", "element_to_queue",
                                     "vector_start", "vector_end", "vector_next"};
  for (unsigned i = chance(r, 15) ? 1 + below(r, 2) : 0; i > 0; i--)
    timing_set(timing, rows[below(r, ARRAY_COUNT(rows))], (uint16_t)below(r, 5));
}

static Asm *random_streams(uint32_t seed, const EngineOps *ops)
{
  Streams *s = base_malloc(sizeof *s);
  *s = (Streams){.gen.random = {seed * UINT64_C(0x9e3779b97f4a7c15) + 5}};
  Random *r = &s->gen.random;
  below(r, 2);
  s->columns = seed >= STREAM_COLUMNS;
  s->times = seed % 5 ? 1 : STREAM_TIMES;
  Asm *a = s->gen.a = stream_fabric(r, chance(r, 60) ? ARCH_WSE2 : ARCH_WSE3, s->columns);
  unsigned tiles = (unsigned)a->image.width * a->image.height;
  a->ops = ops;
  a->options.check = CHECK_OFF;
  s->odd = chance(r, s->columns ? 20 : 50);
  for (unsigned t = 0; t < tiles; t++)
    begin_tile(s, t);
  for (unsigned i = 1 + below(r, STREAM_CHAINS); i > 0; i--) {
    lay_chain(s, &s->chains[s->n_chains]);
    s->n_chains += s->chains[s->n_chains].n > 0;
  }
  for (unsigned i = 2 + below(r, STREAM_PHASES); i > 0 && s->n_chains; i--)
    stream_phase(s, &s->chains[below(r, s->n_chains)]);
  for (unsigned t = 0; t < tiles; t++)
    end_tile(s, t);
  stream_timing(r, &a->timing);
  free(s);
  return a;
}

#endif
