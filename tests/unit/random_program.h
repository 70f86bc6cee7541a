/* Random programs on random fabrics, for tests that run one program in several ways.  The same seed
 * gives the same program: routes, switches, filters, tasks, descriptors and instructions; some are
 * wild, so that hazards and faults are likely.  Bodies are short and most programs end quietly.
 *   Asm *a = random_program(seed, &engine_fast);
 * Included by one .c file each. */
#ifndef RANDOM_PROGRAM_H
#define RANDOM_PROGRAM_H

#include "emu_asm.h"

enum {
  COLORS = 4, HOST_COLOR = 20, CONTROL_ENTRY = 40, LOCAL_FIRST = 24, LOCALS = 4, MAX_INSNS = 7,
  FIFO_AT = 0x300, FIFO_DATA = 0x340, DATA_AT = 0x100, DATA_BYTES = 0x180, DESCS_AT = 0x20,
};

typedef struct { uint64_t state; } Random;

static uint32_t below(Random *r, uint32_t limit)
{
  r->state = r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((r->state >> 33) % limit);
}
static bool chance(Random *r, unsigned percent) { return below(r, 100) < percent; }

/* What all tiles of a program agree on. */
typedef struct {
  Random random;
  Asm *a;
  bool wild;                    /* any routes and descriptors: hazards and faults are likely */
  bool switches, filters;
  bool routers;                 /* programs rewrite routes */
} Gen;

/* ---- routes ----------------------------------------------------------------------------- */

static PortMask inside_ports(const Gen *g, unsigned x, unsigned y)
{
  PortMask m = M_R;
  m |= x > 0 ? M_W : 0;
  m |= x + 1u < g->a->image.width ? M_E : 0;
  m |= y > 0 ? M_N : 0;
  m |= y + 1u < g->a->image.height ? M_S : 0;
  return m;
}

static PortMask random_ports(Gen *g, PortMask allowed, unsigned most)
{
  PortMask ports = 0;
  for (unsigned i = 0; i < most; i++)
    ports |= (PortMask)(1u << below(&g->random, PORT_COUNT)) & allowed;
  return ports;
}

static ImageFilter random_filter(Gen *g)
{
  Random *r = &g->random;
  return (ImageFilter){
    .kind = (FilterKind)below(r, 4), .count_data = chance(r, 70), .count_control = chance(r, 50),
    .filter_control = chance(r, 15), .has_limit2 = chance(r, 50),
    .init_counter = (uint16_t)below(r, 3), .limit1 = (uint16_t)below(r, 5),
    .limit2 = (uint16_t)below(r, 4), .max_counter = (uint16_t)below(r, 4),
  };
}

/* A color flows along one direction of the row or column, each tile taking a copy or not, so that
 * most wavelets get somewhere; with `wild` anything goes. */
static ImageColorConfig random_config(Gen *g, unsigned x, unsigned y, unsigned color)
{
  static const PortMask from[4] = {M_W, M_E, M_N, M_S}, to[4] = {M_E, M_W, M_S, M_N};
  Random *r = &g->random;
  PortMask allowed = inside_ports(g, x, y);
  unsigned way = color % 4, n = g->switches ? 1 + below(r, 4) : 1;
  ImageColorConfig config = {.ring = chance(r, 50), .pop = (PopMode)below(r, 4)};
  for (unsigned i = 0; i < n; i++) {
    ImagePosition *p = &config.positions[i];
    p->valid = true;
    p->rx = (PortMask)((from[way] & allowed) | (chance(r, 30) || !(from[way] & allowed) ? M_R : 0));
    p->tx = (PortMask)((chance(r, 70) ? to[way] & allowed : 0) | (chance(r, 60) ? M_R : 0));
    if (p->tx == 0)
      p->tx = M_R;
    if (g->wild && chance(r, 40)) {
      p->rx = random_ports(g, chance(r, 95) ? allowed : 0x1f, 3);
      p->tx = random_ports(g, chance(r, 98) ? allowed : 0x1f, 2);
    }
  }
  config.current = (uint8_t)below(r, n);
  if (g->filters && chance(r, 50))
    config.filter = random_filter(g);
  config.swap_x = g->wild && chance(r, 8);
  config.swap_y = g->wild && chance(r, 8);
  config.teardown = g->wild && chance(r, 4);
  return config;
}

/* ---- programs --------------------------------------------------------------------------- */

static Action random_action(Gen *g)
{
  Random *r = &g->random;
  if (chance(r, 50))
    return (Action){ACT_ACTIVATE, ID_TASK, (uint8_t)(LOCAL_FIRST + below(r, LOCALS))};
  if (chance(r, 50))
    return (Action){ACT_UNBLOCK, ID_TASK, (uint8_t)below(r, COLORS)};
  return (Action){0};
}

static uint16_t random_flags(Gen *g, bool fabric)
{
  Random *r = &g->random;
  uint16_t flags = 0;
  if (fabric && chance(r, g->wild ? 40 : 20))
    flags |= DESC_F_ASYNC;
  if (chance(r, 10))
    flags |= DESC_F_INDEX;
  return flags;
}

/* Well-behaved programs read some colors with the first source only, the others with the second. */
static Descriptor fabric_desc(Gen *g, DsrFile file)
{
  Random *r = &g->random;
  bool out = file == DSR_DEST;
  unsigned color = below(r, COLORS);
  if (!g->wild && !out)
    color = (color & ~1u) | (file == DSR_SRC0);
  Descriptor d = out ? de_out(chance(r, 70) ? 2 + color % 4 : below(r, 6), color, 0)
                     : de_in(color, color, 0);
  if (out && chance(r, 8))
    d.color = HOST_COLOR;
  d.length = (uint16_t)(chance(r, 3) ? 0x7fff : below(r, 9));
  d.flags = random_flags(g, true);
  d.done = random_action(g);
  d.priority_given = chance(r, 30);
  d.priority = d.priority_given ? (Priority)below(r, PRIO_COUNT) : PRIO_LOW;
  d.simd = chance(r, 70) ? SIMD_OFF : (SimdMode)below(r, 4);
  if (out && chance(r, 15))
    d.flags |= DESC_F_CONTROL;
  if (out && chance(r, 15))
    d.flags |= DESC_F_ADVANCE;
  if (out && chance(r, 5))
    d.flags |= chance(r, 50) ? DESC_F_ZERO0 : DESC_F_ZERO1;
  if (!out && chance(r, 30))
    d.on_control = chance(r, 40) ? (Action){.kind = ACT_TERMINATE} : random_action(g);
  if (chance(r, 5))
    d.flags |= DESC_F_TRANSFORM;
  if (g->a->image.arch == ARCH_WSE3 && chance(r, 20)) {
    d.ut_given = true;
    d.ut = (uint8_t)below(r, MAX_MICROTHREADS);
  }
  return d;
}

static Descriptor memory_desc(Gen *g)
{
  Random *r = &g->random;
  uint16_t base = (uint16_t)(DATA_AT + 4 * below(r, DATA_BYTES / 8));
  Descriptor d = de_mem(base, (uint16_t)below(r, 12), (int)below(r, 4));
  if (chance(r, 10))
    d.stride = -1;
  if (chance(r, 10)) {
    d = (Descriptor){.kind = DESC_MEM4D, .base = base};
    for (unsigned i = 0; i < ARRAY_COUNT(d.lengths); i++) {
      d.lengths[i] = (uint16_t)(1 + (chance(r, 50) ? below(r, 3) : 0));
      d.strides[i] = (int16_t)((int)below(r, 6) - 2);
    }
  } else if (chance(r, 10)) {
    d = (Descriptor){.kind = DESC_CIRC, .base = base, .length = (uint16_t)below(r, 9),
                     .stride = (int16_t)((int)below(r, 5) - 2), .wrap_base = DATA_AT,
                     .wrap_length = 16};
  }
  if (chance(r, 15))
    d.flags |= chance(r, 50) ? DESC_F_SAVE : DESC_F_STEP;
  if (chance(r, 10))
    d.flags |= DESC_F_INDEX;
  if (g->wild && chance(r, 3))
    d.base = chance(r, 50) ? (uint16_t)below(r, 0x10000) : 0x9000;
  return d;
}

static Descriptor random_desc(Gen *g, DsrFile file)
{
  unsigned kind = below(&g->random, 10);
  if (kind < 5)
    return fabric_desc(g, file);
  if (kind < 9)
    return memory_desc(g);
  return (Descriptor){.kind = DESC_FIFO, .base = FIFO_AT};
}

static VecOp random_vecop(Gen *g)
{
  static const VecOp likely[] = {VEC_fadds, VEC_fmovs, VEC_mov32, VEC_fmacs, VEC_mov16, VEC_add16,
                                 VEC_faddh, VEC_fmaxs, VEC_fmuls, VEC_faddhs};
  return chance(&g->random, 70) ? likely[below(&g->random, ARRAY_COUNT(likely))]
                                : (VecOp)below(&g->random, VEC_COUNT);
}

static unsigned even_register(Gen *g, bool pair)
{
  unsigned n = below(&g->random, 6);
  return pair ? n & ~1u : n;
}

static void emit_vec(Gen *g, AsmClass *c)
{
  Random *r = &g->random;
  Insn insn = {.op = OP_vec};
  VecOperands *vec = &insn.vec;
  vec->op = random_vecop(g);
  vec->dest = op_dsr(DSR_DEST, below(r, 6));
  vec->src1 = op_dsr(DSR_SRC1, below(r, 6));
  if (vecops[vec->op].sources == 2)
    vec->src0 = chance(r, 85) ? op_dsr(DSR_SRC0, below(r, 6)) : op_reg(0);
  if (chance(r, 10))
    vec->src1 = op_reg(2);
  else if (chance(r, g->wild ? 8 : 2))
    vec->dest = op_reg(0);
  if (vecops[vec->op].kind == VK_DFILT)
    vec->dest = op_none();
  if (vecops[vec->op].scalar) {
    vec->has_scalar = true;
    vec->scalar = (uint8_t)even_register(g, true);
  }
  vec->has_index = chance(r, 20);
  vec->index = vec->has_index ? (uint8_t)below(r, 6) : 0;
  asm_emit(c, insn);
}

static void emit_ids(Gen *g, AsmClass *c)
{
  Random *r = &g->random;
  IdKind kind = chance(r, 70) ? ID_TASK : (IdKind)below(r, ID_KIND_COUNT);
  unsigned id = kind == ID_TASK ? (chance(r, 50) ? LOCAL_FIRST + below(r, LOCALS)
                                                 : below(r, COLORS)) : below(r, COLORS);
  Opcode op = chance(r, 55) ? OP_unblki : OP_blki;
  if (chance(r, 40))
    asm_emit(c, in_i(OP_acti, LOCAL_FIRST + below(r, LOCALS)));
  else
    asm_emit(c, (Insn){.op = op, .a = (uint8_t)kind, .imm = id});
}

/* Routes, switches and teardowns at run time, mostly to what a neighbour can take. */
static void emit_router(Gen *g, AsmClass *c)
{
  Random *r = &g->random;
  unsigned color = below(r, COLORS);
  switch (below(r, 4)) {
  case 0: asm_emit(c, in_ri(OP_ldcfgi, 0, CFG_COLOR_ROUTES + color)); break;
  case 1: asm_emit(c, in_ri(OP_ldcfgi, 1, CFG_COLOR_SWITCH + color)); break;
  case 2: asm_emit(c, in_ri(OP_ldcfgi, 2, CFG_TEARDOWN_PENDING + below(r, 2))); break;
  default: asm_emit(c, in_ri(OP_ldcfgi, 3, CFG_COLOR_SWITCH_BOTH + color)); break;
  }
  if (chance(r, 40))
    asm_emit(c, in_rri(OP_xori, 0, 0, chance(r, 50) ? 1u << 14 : 1u << below(r, 16)));
  if (chance(r, 60))
    asm_emit(c, in_ri(OP_stcfgi, 0, CFG_COLOR_ROUTES + color));
  if (chance(r, 30))
    asm_emit(c, in_ri(OP_stcfgi, 1, (chance(r, 70) ? CFG_COLOR_SWITCH : CFG_COLOR_SWITCH_BOTH) +
                                        color));
}

/* Registers of the tile: queues' states, bindings and flushes, filters, generators. */
static void emit_registers(Gen *g, AsmClass *c)
{
  static const uint16_t addresses[] = {
    CFG_QUEUE_STATUS, CFG_QUEUE_STATUS + 1, CFG_QUEUE_FLUSHED, CFG_QUEUE_FLUSHED + 1,
    CFG_FILTER_COUNTER, CFG_FILTER_LIMIT, CFG_FILTER_MAX, CFG_CONTROL_TRANSFORM,
    CFG_PRNG_STATE, CFG_EXCEPTION_MASK,
  };
  Random *r = &g->random;
  unsigned ra = below(r, 6), which = below(r, ARRAY_COUNT(addresses));
  bool writes = which > 1;
  switch (below(r, 4)) {
  case 0:
    asm_emit(c, in_ri(OP_li, ra, below(r, COLORS)));
    asm_emit(c, in_ri(OP_qflush, ra, below(r, 2)));
    break;
  case 1:
    asm_emit(c, (Insn){.op = OP_prng, .a = (uint8_t)ra});
    break;
  case 2:
    if (g->a->image.arch == ARCH_WSE3 && g->wild) {
      asm_emit(c, in_ri(OP_li, ra, 0x80 | below(r, COLORS)));
      asm_emit(c, in_ri(OP_stcfgi, ra,
                        (chance(r, 50) ? CFG_INPUT_QUEUE : CFG_OUTPUT_QUEUE) + below(r, COLORS)));
    }
    break;
  default:
    asm_emit(c, in_ri(writes && chance(r, 50) ? OP_stcfgi : OP_ldcfgi, ra,
                      addresses[which] + (which >= 4 && which <= 6 ? below(r, COLORS) : 0)));
    break;
  }
}

/* Any arithmetic between registers; even ones, for pairs. */
static void emit_arithmetic(Gen *g, AsmClass *c)
{
  static const CostClass costs[] = {COST_ALU16, COST_ALU32, COST_CMP32, COST_ORDER32, COST_IDIV,
                                    COST_FP, COST_FDIV, COST_MUL32, COST_FCONV};
  Random *r = &g->random;
  for (;;) {
    Opcode op = (Opcode)below(r, OP_COUNT);
    const InsnInfo *info = &insn_info[op];
    bool fits = false;
    for (unsigned i = 0; i < ARRAY_COUNT(costs); i++)
      fits |= info->cost == costs[i];
    if (!fits || (info->format != FMT_RRR && info->format != FMT_RR && info->format != FMT_RRI))
      continue;
    Insn insn = {.op = op, .a = (uint8_t)even_register(g, true),
                 .b = (uint8_t)even_register(g, true)};
    if (info->format == FMT_RRR)
      insn.c = (uint8_t)even_register(g, true);
    if (info->format == FMT_RRI)
      insn.imm = chance(r, 50) ? below(r, 20) : below(r, 0x10000);
    asm_emit(c, insn);
    return;
  }
}

/* Accesses of every width, mostly aligned and inside the data. */
static void emit_access(Gen *g, AsmClass *c)
{
  static const Opcode accesses[] = {OP_ld8ua, OP_ld8sa, OP_ld16a, OP_ld32a, OP_st8a, OP_st16a,
                                    OP_st32a};
  Random *r = &g->random;
  uint32_t at = DATA_AT + 4 * below(r, DATA_BYTES / 4);
  if (g->wild && chance(r, 2))
    at = below(r, 0x10000);
  asm_emit(c, in_ri(accesses[below(r, ARRAY_COUNT(accesses))], even_register(g, true), at));
}

/* A counted loop of scalar instructions, or a call of the function at the code's start. */
static void emit_control_flow(Gen *g, AsmClass *c)
{
  Random *r = &g->random;
  if (chance(r, 50)) {
    asm_emit(c, in_i(OP_call, ASM_CODE));
    return;
  }
  asm_emit(c, in_ri(OP_li, 8, 1 + below(r, 6)));
  uint16_t again = asm_here(c);
  for (unsigned n = 1 + below(r, 3); n > 0; n--)
    emit_arithmetic(g, c);
  asm_emit(c, in_rri(OP_addi, 8, 8, 0xffff));
  asm_emit(c, in_rij(OP_bnei, 8, 0, again));
}

static void emit_scalar(Gen *g, AsmClass *c)
{
  static const uint16_t config_registers[] = {CFG_TSC_CONTROL, CFG_CMD_STREAM, CFG_MAIN_PRIORITY,
                                              CFG_TASK_PRIORITY + 1, CFG_PRNG_STATE};
  Random *r = &g->random;
  unsigned ra = below(r, 6), rb = below(r, 6);
  switch (below(r, 14)) {
  case 9: case 10: emit_arithmetic(g, c); break;
  case 11: case 12: emit_access(g, c); break;
  case 13: emit_control_flow(g, c); break;
  case 0: asm_emit(c, in_rri(OP_addi, ra, rb, below(r, 0x10000))); break;
  case 1: asm_emit(c, in_rrr(OP_mul, ra, rb, below(r, 6))); break;
  case 2: asm_emit(c, in_rrr(OP_fadds, ra & ~1u, rb & ~1u, 2)); break;
  case 3: asm_emit(c, (Insn){.op = OP_st16a, .a = (uint8_t)ra,
                             .imm = DATA_AT + 2 * below(r, DATA_BYTES / 4)}); break;
  case 4: asm_emit(c, (Insn){.op = OP_ld16a, .a = (uint8_t)ra,
                             .imm = DATA_AT + 2 * below(r, DATA_BYTES / 4)}); break;
  case 5: asm_emit(c, (Insn){.op = OP_rnd, .a = (uint8_t)ra}); break;
  case 6: asm_emit(c, (Insn){.op = OP_stctr, .a = (uint8_t)below(r, COUNTER_WORDS), .b = 6,
                             .imm = DATA_AT + 2 * below(r, 16)}); break;
  case 7: asm_emit(c, in_ri(OP_stcfgi, ra, config_registers[below(r, 5)])); break;
  default: asm_emit(c, in_rij(OP_bnei, ra, below(r, 3), (uint32_t)asm_here(c) + 6)); break;
  }
}

static void emit_dsr(Gen *g, AsmClass *c)
{
  static const DsrField fields[] = {DSRF_LENGTH, DSRF_BASE_ADD, DSRF_STRIDE};
  Random *r = &g->random;
  DsrFile file = (DsrFile)below(r, DSR_FILE_COUNT);
  if (chance(r, 70))
    asm_emit(c, in_ldsr(file, below(r, 6), (uint16_t)(DESCS_AT + 24 * (file * 2 + below(r, 2)))));
  else if (g->wild)
    asm_emit(c, (Insn){.op = OP_dsrset, .a = (uint8_t)below(r, 6), .file = file, .absolute = true,
                       .field = fields[below(r, 3)], .imm = 2 * below(r, 8)});
}

static void emit_body(Gen *g, AsmClass *c)
{
  unsigned n = 1 + below(&g->random, MAX_INSNS);
  for (unsigned i = 0; i < n; i++) {
    unsigned what = below(&g->random, 10);
    if (what < 5)
      emit_vec(g, c);
    else if (what < 7)
      emit_ids(g, c);
    else if (what < 9)
      emit_scalar(g, c);
    else if (g->routers && chance(&g->random, 50))
      emit_router(g, c);
    else if (g->routers && chance(&g->random, 60))
      emit_registers(g, c);
    else
      emit_dsr(g, c);
  }
  asm_emit(c, in0(OP_endtask));
}

static void make_data(Gen *g, AsmClass *c)
{
  Random *r = &g->random;
  for (unsigned i = 0; i < DATA_BYTES; i += 4) {
    float v = (float)below(r, 100) - 50;
    uint32_t control = below(r, 8) << 22 | below(r, 8) << 25 |
                       (chance(r, 50) ? CONTROL_ENTRY : below(r, 64)) << 16 | below(r, 256);
    if (chance(r, 50))
      asm_bytes(c, (uint16_t)(DATA_AT + i), &control, 4);
    else
      asm_bytes(c, (uint16_t)(DATA_AT + i), &v, 4);
  }
  uint16_t fifo[FIFO_STATE_WORDS] = {FIFO_DATA, (uint16_t)(1 + below(r, 6))};
  fifo[7] = action_encode((Action){ACT_ACTIVATE, ID_TASK, LOCAL_FIRST});
  fifo[8] = action_encode((Action){ACT_UNBLOCK, ID_TASK, LOCAL_FIRST + 1});
  if (chance(r, 50)) {
    fifo[FIFO_W_READ_LENGTH] = (uint16_t)below(r, 8);
    fifo[FIFO_W_WRITE_LENGTH] = (uint16_t)below(r, 8);
    fifo[FIFO_W_FLAGS] = (uint16_t)(below(r, 4) << FIFO_EMPTY_SHIFT | below(r, 4) << FIFO_FULL_SHIFT);
  }
  asm_bytes(c, FIFO_AT, fifo, sizeof fifo);
  asm_bytes(c, FIFO_DATA, (uint8_t[32]){0}, 32);
  for (unsigned i = 0; i < 2 * DSR_FILE_COUNT; i++)
    asm_desc(c, (uint16_t)(DESCS_AT + 24 * i), random_desc(g, (DsrFile)(i / 2)));
}

static void make_program(Gen *g, AsmClass *c)
{
  Random *r = &g->random;
  make_data(g, c);
  emit_arithmetic(g, c);               /* the function at the code's start */
  asm_emit(c, in0(OP_ret));
  for (unsigned file = 0; file < DSR_FILE_COUNT; file++)
    for (unsigned i = 0; i < 6; i++)
      asm_dsr(c, (DsrFile)file, i, random_desc(g, (DsrFile)file));
  for (unsigned color = 0; color < COLORS; color++) {
    asm_input(c, color, color);
    asm_output(c, 2 + color % 4, color);
    if (chance(r, 40)) {
      asm_task(c, TASK_DATA, color, asm_here(c), below(r, 3), "data");
      emit_body(g, c);
    }
  }
  asm_task(c, TASK_CONTROL, CONTROL_ENTRY, asm_here(c), 1, "control");
  emit_body(g, c);
  for (unsigned i = 0; i < LOCALS; i++) {
    asm_task(c, TASK_LOCAL, LOCAL_FIRST + i, asm_here(c), 0, "local");
    emit_body(g, c);
  }
  c->image.active = (uint64_t)(1 + below(r, 3)) << LOCAL_FIRST;
  if (chance(r, 20)) {
    asm_task(c, TASK_LOCAL, 29, asm_here(c), 0, "teardown");
    emit_body(g, c);
  }
  if (g->a->image.arch == ARCH_WSE3 && chance(r, 20))
    c->image.paused = (uint8_t)below(r, 0x100);
  if (chance(r, 20))
    c->image.blocked |= (uint64_t)below(r, 1u << LOCALS) << LOCAL_FIRST;
  if (chance(r, 8)) {
    c->configs[0] = (ImageConfig){CFG_EXCEPTION_MASK, (uint16_t)~(1u << below(r, 8))};
    c->image.configs = c->configs;
    c->image.n_configs = 1;
  }
  if (chance(r, 30))
    c->image.start_entry = c->tasks[c->image.n_tasks - 1].entry;
}

/* rows: of the fabric; 0: any. */
static Asm *random_program_on(uint32_t seed, const EngineOps *ops, unsigned rows)
{
  Gen g = {.random = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1}};
  Random *r = &g.random;
  below(r, 2);
  Arch arch = chance(r, 60) ? ARCH_WSE2 : ARCH_WSE3;
  unsigned height = 1 + (chance(r, 70) ? below(r, 4) : 7 + below(r, 6));   /* strips: 8 rows */
  Asm *a = asm_new(arch, (uint16_t)(1 + below(r, 6)), (uint16_t)(rows ? rows : height));
  unsigned tiles = (unsigned)a->image.width * a->image.height, classes = 1 + below(r, 5);
  g.a = a;
  g.wild = chance(r, 50);
  g.switches = chance(r, 60);
  g.filters = chance(r, 40);
  g.routers = chance(r, 30);
  a->ops = ops;
  a->options.check = (CheckLevel)below(r, 3);
  a->check_memory = seed % 4 == 0;
  a->options.checks = a->check_memory ? CHECKS_ORDER : 0;
  a->check_reads = chance(r, 10);
  a->image.channels = (uint8_t)(1 + below(r, 2));
  for (unsigned i = 0; i < classes && i < tiles; i++)
    make_program(&g, asm_class(a, 0, 0, 0, 0));
  for (unsigned t = 0; t < tiles; t++) {
    a->tile_class[t] = chance(r, 92) ? below(r, a->image.n_classes) : IMAGE_NO_CLASS;
    for (unsigned color = 0; color < COLORS; color++)
      if (chance(r, g.wild ? 98 : 100))
        asm_config(a, t % a->image.width, t / a->image.width, color,
                   random_config(&g, t % a->image.width, t / a->image.width, color));
  }
  if (chance(r, 20))
    timing_set(&a->timing, timing_rows[below(r, (uint32_t)timing_row_count)].name,
               (uint16_t)below(r, 4));
  return a;
}

static Asm *random_program(uint32_t seed, const EngineOps *ops)
{
  return random_program_on(seed, ops, 0);
}

#endif
