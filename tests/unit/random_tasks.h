/* Random programs of tasks, for tests that run one program in several ways.  In rows of tiles,
 * wavelets start tasks; these compute a little and send wavelets on, mostly one at a time.  Tasks
 * activate, block and unblock others, note the time, and read and write registers of the router.
 * The same seed gives the same program.
 *   Asm *a = random_tasks(seed, &engine_fast);
 * Included by one .c file each. */
#ifndef RANDOM_TASKS_H
#define RANDOM_TASKS_H

#include "random_program.h"

enum {
  TASKS_WIDE = 6, TASKS_HIGH = 3, TASKS_LANES = 2, TASKS_COLORS = 2 * TASKS_LANES,
  TASKS_DATA = 0x100, TASKS_BYTES = 0x80, TASKS_LOCALS = 3, TASKS_SENDERS = 6, TASKS_SOURCES = 6,
  TASKS_NUMBERS = 20,                           /* most that a source sends */
  TASKS_COUNT = 8, TASKS_CONTROL = 5,           /* a register; an entry */
};

typedef struct {
  Gen gen;
  AsmClass *cls;                                /* of the tile at hand; then: */
  unsigned x;
  bool plain;                                   /* nothing but tasks that send one wavelet */
  bool blocks;          /* many control wavelets, for tasks that others block and unblock */
  bool routers;         /* tasks change the routers, as do control wavelets */
} Tasks;

static bool tasks_odd(Tasks *s, unsigned percent)
{
  return !s->plain && chance(&s->gen.random, percent);
}

/* Neighbours use the two colors of a lane by turns. */
static unsigned tasks_color(unsigned lane, unsigned sender) { return 2 * lane + sender % 2; }

static unsigned tasks_output(unsigned lane) { return 2 + lane; }

/* The task that a wavelet of the lane starts. */
static unsigned tasks_channel(const Tasks *s, unsigned lane)
{
  return s->gen.a->image.arch == ARCH_WSE3 ? lane : tasks_color(lane, s->x + 1);
}

/* ---- descriptors ---------------------------------------------------------------------------- */

static Descriptor tasks_sender(Tasks *s)
{
  Random *r = &s->gen.random;
  unsigned lane = below(r, TASKS_LANES);
  Descriptor d = de_out(tasks_output(lane), tasks_color(lane, s->x), 1);
  if (tasks_odd(s, 10))
    d.length = (uint16_t)below(r, 4);
  if (tasks_odd(s, 8))
    d = de_async(d, chance(r, 50) ? ACT_ACTIVATE : ACT_NONE, LOCAL_FIRST);
  if (tasks_odd(s, 5))
    d.done = (Action){ACT_ACTIVATE, ID_TASK, LOCAL_FIRST};
  if (chance(r, 10))
    d.flags |= DESC_F_INDEX;
  if (tasks_odd(s, s->blocks || s->routers ? 50 : 8))
    d.flags |= DESC_F_CONTROL;
  if (tasks_odd(s, 5))
    d.flags |= DESC_F_ADVANCE;
  if (tasks_odd(s, 3))
    d.flags |= DESC_F_TRANSFORM;
  if (s->gen.a->image.arch == ARCH_WSE3 && chance(r, 30))
    d.color = COLOR_OF_QUEUE;
  d.simd = (SimdMode)below(r, SIMD_COUNT);
  return d;
}

static Descriptor tasks_source(Tasks *s)
{
  Random *r = &s->gen.random;
  Descriptor d = de_mem((uint16_t)(TASKS_DATA + 2 * below(r, TASKS_BYTES / 2 - 8)), 1,
                        (int)below(r, 2));
  if (tasks_odd(s, 10))
    d.length = (uint16_t)below(r, 4);
  if (tasks_odd(s, 15))
    d.flags |= chance(r, 50) ? DESC_F_SAVE : DESC_F_STEP;
  if (d.flags & DESC_F_STEP)
    d.length = (uint16_t)(1 + below(r, 6));
  if (chance(r, 10))
    d.flags |= DESC_F_SCALAR;
  if (tasks_odd(s, 2))
    d.base = 0x9001;
  return d;
}

static void tasks_descriptors(Tasks *s)
{
  for (unsigned i = 0; i < TASKS_SENDERS; i++)
    asm_dsr(s->cls, DSR_DEST, i, tasks_sender(s));
  for (unsigned i = 0; i < TASKS_SOURCES; i++) {
    asm_dsr(s->cls, DSR_SRC0, i, tasks_source(s));
    asm_dsr(s->cls, DSR_SRC1, i, tasks_source(s));
  }
}

/* ---- code ----------------------------------------------------------------------------------- */

static void tasks_send(Tasks *s)
{
  static const VecOp ops[] = {VEC_mov32, VEC_mov32, VEC_fmovs, VEC_mov16, VEC_fadds, VEC_fmuls,
                              VEC_fmacs, VEC_faddh, VEC_xor16, VEC_add16, VEC_faddhs};
  Random *r = &s->gen.random;
  VecOp op = ops[below(r, ARRAY_COUNT(ops))];
  Insn insn = in_vec(op, op_dsr(DSR_DEST, below(r, TASKS_SENDERS)), op_none(),
                     chance(r, 75) ? op_dsr(DSR_SRC1, below(r, TASKS_SOURCES))
                                   : op_reg(2 * below(r, 3)));
  if (vecops[op].sources == 2)
    insn.vec.src0 = chance(r, 75) ? op_dsr(DSR_SRC0, below(r, TASKS_SOURCES))
                                  : op_reg(2 * below(r, 3));
  insn.vec.has_scalar = vecops[op].scalar;
  insn.vec.scalar = insn.vec.has_scalar ? (uint8_t)(2 * below(r, 3)) : 0;
  insn.vec.has_index = chance(r, 20);
  insn.vec.index = insn.vec.has_index ? (uint8_t)below(r, 6) : 0;
  asm_emit(s->cls, insn);
}

/* An element of memory, into a register, and whether there was one. */
static void tasks_load(Tasks *s)
{
  static const VecOp ops[] = {VEC_fmovs, VEC_mov32, VEC_mov16, VEC_fmovh, VEC_fadds};
  Random *r = &s->gen.random;
  VecOp op = ops[below(r, ARRAY_COUNT(ops))];
  Insn insn = in_vec(op, op_reg(2 * below(r, 3)), op_none(),
                     op_dsr(DSR_SRC1, below(r, TASKS_SOURCES)));
  if (vecops[op].sources == 2)
    insn.vec.src0 = op_reg(2 * below(r, 3));
  asm_emit(s->cls, insn);
  if (chance(r, 30))
    asm_emit(s->cls, (Insn){.op = OP_vstat, .a = (uint8_t)below(r, 6)});
}

static void tasks_ids(Tasks *s)
{
  Random *r = &s->gen.random;
  unsigned id = chance(r, 50) ? tasks_channel(s, below(r, TASKS_LANES))
                              : LOCAL_FIRST + below(r, TASKS_LOCALS);
  if (chance(r, s->blocks ? 20 : 60)) {
    asm_emit(s->cls, in_i(OP_acti, LOCAL_FIRST + below(r, TASKS_LOCALS)));
  } else if (chance(r, 10)) {
    asm_emit(s->cls, in_ri(OP_li, 0, LOCAL_FIRST + below(r, TASKS_LOCALS)));
    asm_emit(s->cls, (Insn){.op = OP_act, .a = 0});
  } else {
    asm_emit(s->cls, (Insn){.op = chance(r, 70) ? OP_unblki : OP_blki, .a = ID_TASK, .imm = id});
  }
}

static void tasks_compute(Tasks *s)
{
  Random *r = &s->gen.random;
  static const Opcode accesses[] = {OP_ld16a, OP_ld32a, OP_st8a, OP_st16a, OP_st32a};
  uint32_t at = TASKS_DATA + 4 * below(r, TASKS_BYTES / 4);
  if (chance(r, 50))
    asm_emit(s->cls, in_ri(accesses[below(r, ARRAY_COUNT(accesses))], 2 * below(r, 3), at));
  else
    emit_arithmetic(&s->gen, s->cls);
}

/* A register of the router, or one beside it that a task uses with those, into memory; a write that
 * mostly leaves the color as it is, or tears it down for some time. */
static void tasks_router(Tasks *s)
{
  Random *r = &s->gen.random;
  unsigned color = tasks_color(below(r, TASKS_LANES), below(r, 2)), ra = below(r, 6);
  unsigned others[] = {CFG_TEARDOWN_PENDING, CFG_TEARDOWN_PENDING + 1, CFG_TSC_CONTROL};
  unsigned at = color + (chance(r, 60) ? CFG_COLOR_ROUTES
                         : chance(r, 70) ? CFG_COLOR_SWITCH : CFG_COLOR_SWITCH_BOTH);
  if (chance(r, 20))
    at = others[below(r, ARRAY_COUNT(others))];
  asm_emit(s->cls, in_ri(OP_ldcfgi, ra, at));
  if (chance(r, 40))
    asm_emit(s->cls, in_ri(OP_st16a, ra, TASKS_DATA + 2 * below(r, TASKS_BYTES / 2)));
  if (chance(r, 40))
    asm_emit(s->cls, in_rri(OP_xori, ra, ra, chance(r, 70) ? 1u << (13 + below(r, 2))
                                                           : 1u << below(r, 16)));
  if (chance(r, 60) && at >= CFG_COLOR_ROUTES)
    asm_emit(s->cls, in_ri(OP_stcfgi, ra, at));
  else if (chance(r, 30))
    asm_emit(s->cls, in_ri(OP_stcfgi, ra, CFG_CMD_STREAM));
}

/* A color takes no wavelets for some time. */
static void tasks_close(Tasks *s)
{
  enum { VALUE = TASKS_COUNT + 1 };
  Random *r = &s->gen.random;
  unsigned at = CFG_COLOR_ROUTES + tasks_color(below(r, TASKS_LANES), s->x + 1);
  asm_emit(s->cls, in_ri(OP_ldcfgi, VALUE, at));
  for (unsigned i = 0; i < 2; i++) {
    asm_emit(s->cls, in_rri(OP_xori, VALUE, VALUE, 1u << 14));
    asm_emit(s->cls, in_ri(OP_stcfgi, VALUE, at));
    for (unsigned k = below(r, 12); i == 0 && k > 0; k--)
      tasks_compute(s);
  }
}

static void tasks_step(Tasks *s)
{
  Random *r = &s->gen.random;
  if (tasks_odd(s, s->blocks ? 40 : 15))
    tasks_ids(s);
  else if (s->routers && tasks_odd(s, 35))
    (chance(r, 50) ? tasks_router : tasks_close)(s);
  else if (tasks_odd(s, 15))
    tasks_load(s);
  else if (tasks_odd(s, 10))
    asm_emit(s->cls, (Insn){.op = OP_stctra, .a = (uint8_t)below(r, COUNTER_WORDS),
                            .imm = TASKS_DATA + 2 * below(r, TASKS_BYTES / 2)});
  else if (tasks_odd(s, 5))
    asm_emit(s->cls, in_rij(OP_bnei, below(r, 6), below(r, 3), (uint32_t)asm_here(s->cls) + 6));
  else if (tasks_odd(s, 5))
    asm_emit(s->cls, (Insn){.op = OP_dsrget, .a = (uint8_t)below(r, TASKS_SOURCES),
                            .b = (uint8_t)below(r, 6), .file = DSR_SRC1, .field = DSRF_BASE});
  else if (tasks_odd(s, 5))
    asm_emit(s->cls, (Insn){.op = OP_dsrset, .a = (uint8_t)below(r, TASKS_SOURCES),
                            .file = DSR_SRC1, .absolute = true, .field = DSRF_BASE,
                            .imm = TASKS_DATA + 2 * below(r, TASKS_BYTES / 4)});
  else
    tasks_compute(s);
}

/* On average a task sends about one wavelet, so that they do not become too many. */
static void tasks_body(Tasks *s)
{
  Random *r = &s->gen.random;
  for (unsigned i = below(r, 6); i > 0; i--)
    tasks_step(s);
  unsigned sends = chance(r, 75) ? 1 : below(r, 4);
  for (unsigned i = 0; i < sends && s->x + 1u < s->gen.a->image.width; i++) {
    tasks_send(s);
    for (unsigned k = below(r, 3); k > 0; k--)
      tasks_step(s);
  }
}

static void tasks_source_task(Tasks *s)
{
  Random *r = &s->gen.random;
  asm_emit(s->cls, in_ri(OP_li, TASKS_COUNT, 1 + below(r, TASKS_NUMBERS)));
  uint16_t again = asm_here(s->cls);
  tasks_body(s);
  asm_emit(s->cls, in_rri(OP_addi, TASKS_COUNT, TASKS_COUNT, 0xffff));
  asm_emit(s->cls, in_rij(OP_bnei, TASKS_COUNT, 0, again));
}

/* ---- tiles ---------------------------------------------------------------------------------- */

/* Mostly the same in all positions. */
static void tasks_route(Tasks *s, unsigned y, unsigned color, PortMask rx, PortMask tx)
{
  Random *r = &s->gen.random;
  ImageColorConfig config = {.ring = chance(r, 50), .pop = (PopMode)below(r, 4),
                             .positions[0] = {.rx = rx, .tx = tx, .valid = true}};
  if (!s->routers) {
    asm_route(s->gen.a, s->x, y, color, rx, tx);
    return;
  }
  for (unsigned i = 1; i < MAX_SWITCH_POSITIONS && chance(r, 70); i++) {
    config.positions[i] = config.positions[0];
    if (chance(r, 30))
      config.positions[i].rx = s->x ? M_R | M_W : M_R;
  }
  asm_config(s->gen.a, s->x, y, color, config);
}

static void tasks_routes(Tasks *s, unsigned y)
{
  for (unsigned lane = 0; lane < TASKS_LANES; lane++) {
    if (s->x)
      tasks_route(s, y, tasks_color(lane, s->x - 1), M_W, M_R);
    if (s->x + 1u < s->gen.a->image.width)
      tasks_route(s, y, tasks_color(lane, s->x), M_R, M_E);
  }
}

static void tasks_tile(Tasks *s, unsigned y)
{
  Random *r = &s->gen.random;
  uint8_t bytes[TASKS_BYTES];
  AsmClass *c = s->cls = asm_class(s->gen.a, s->x, y, s->x, y);
  for (unsigned i = 0; i < sizeof bytes; i++)
    bytes[i] = (uint8_t)below(r, 0x100);
  asm_bytes(c, TASKS_DATA, bytes, sizeof bytes);
  tasks_descriptors(s);
  for (unsigned lane = 0; lane < TASKS_LANES; lane++) {
    unsigned in = tasks_color(lane, s->x + 1);
    asm_output(c, tasks_output(lane), tasks_color(lane, s->x));
    asm_input(c, lane, in);
    asm_task(c, TASK_DATA, tasks_channel(s, lane), asm_here(c), below(r, 3), "data");
    tasks_body(s);
    asm_emit(c, in0(OP_endtask));
  }
  asm_task(c, TASK_CONTROL, TASKS_CONTROL, asm_here(c), 1, "control");
  tasks_body(s);
  asm_emit(c, in0(OP_endtask));
  for (unsigned i = 0; i < TASKS_LOCALS; i++) {
    asm_task(c, TASK_LOCAL, LOCAL_FIRST + i, asm_here(c), 0, "local");
    if (i == 0 || chance(r, 50))
      tasks_body(s);
    else
      tasks_source_task(s);
    asm_emit(c, in0(OP_endtask));
  }
  if (!s->x || s->blocks || chance(r, 20))
    c->image.active = (uint64_t)(2 + 2 * below(r, 2)) << LOCAL_FIRST;
  if (tasks_odd(s, s->blocks ? 80 : 10))
    c->image.blocked |= (uint64_t)1 << tasks_channel(s, below(r, TASKS_LANES));
}

static Asm *random_tasks(uint32_t seed, const EngineOps *ops)
{
  Tasks s = {.gen.random = {seed * UINT64_C(0x9e3779b97f4a7c15) + 7}};
  Random *r = &s.gen.random;
  below(r, 2);
  unsigned width = 2 + below(r, TASKS_WIDE - 1), height = 1 + below(r, TASKS_HIGH);
  Asm *a = s.gen.a = asm_new(chance(r, 60) ? ARCH_WSE2 : ARCH_WSE3, (uint16_t)width,
                             (uint16_t)height);
  a->ops = ops;
  a->options.check = (CheckLevel)below(r, 3);
  s.plain = chance(r, 40);
  s.blocks = chance(r, 40);
  s.routers = chance(r, 55);
  for (unsigned y = 0; y < height; y++)
    for (s.x = 0; s.x < width; s.x++) {
      tasks_routes(&s, y);
      tasks_tile(&s, y);
    }
  if (chance(r, 20))
    timing_set(&a->timing, timing_rows[below(r, (uint32_t)timing_row_count)].name,
               (uint16_t)below(r, 4));
  return a;
}

#endif
