/* Random programs in which the main thread works while operations run in the background, for tests
 * that run one program in several ways: a row of tiles that send parts of their variables to the
 * next one, and meanwhile compute on the same variables with vector operations, loads and stores,
 * and in some programs block and unblock the microthreads.  Some end in a fault.  The same seed gives
 * the same program.
 *   Asm *a = random_beside(seed, &engine_fast);
 * Included by one .c file each. */
#ifndef RANDOM_BESIDE_H
#define RANDOM_BESIDE_H

#include "random_program.h"

enum {
  BESIDE_TILES = 4, BESIDE_PHASES = 3, BESIDE_LONG = 40,
  BESIDE_DATA = 0x100, BESIDE_BYTES = 0x400, BESIDE_DESCS = BESIDE_DATA + BESIDE_BYTES,
  BESIDE_DSRS = 6, BESIDE_LOADED = 4,           /* that code loads; that are loaded, of each file */
  BESIDE_SUMS = BESIDE_DSRS + BESIDE_LOADED,    /* of products, and the first of: */
  BESIDE_SOURCES = 3,
  BESIDE_BASE = 9,                              /* a register */
};

typedef struct {
  Gen gen;
  AsmClass *cls;                                /* of the tile at hand; then: */
  uint16_t descs;                               /* bytes of its descriptors */
  uint16_t lengths[BESIDE_TILES][BESIDE_PHASES];    /* of what a tile sends to the east */
  bool halves[BESIDE_TILES][BESIDE_PHASES];         /* whether its elements have 16 bits */
  unsigned ranked;              /* of 100 operations: with a priority of their own */
  bool pauses;                  /* the main thread blocks and unblocks microthreads */
} Beside;

/* A DSR that is loaded when it is used. */
static VecOperand beside_dsr(Beside *b, DsrFile file, Descriptor desc)
{
  uint16_t address = (uint16_t)(BESIDE_DESCS + b->descs);
  unsigned number = below(&b->gen.random, BESIDE_DSRS);
  asm_desc(b->cls, address, desc);
  b->descs = (uint16_t)(b->descs + sizeof(((ImageDsr *)0)->words));
  asm_emit(b->cls, in_ldsr(file, number, address));
  return op_dsr(file, number);
}

static Descriptor beside_memory(Beside *b, unsigned length, unsigned bytes)
{
  Random *r = &b->gen.random;
  static const int strides[] = {1, 1, 1, 1, 1, 2, 0, -1};
  int stride = strides[below(r, ARRAY_COUNT(strides))];
  unsigned span = bytes * (length * (stride < 0 ? 1u : (unsigned)stride) + 1);
  unsigned base = BESIDE_DATA + bytes * below(r, (BESIDE_BYTES - span) / bytes);
  if (stride < 0)
    base += bytes * (length - 1);
  Descriptor d = de_mem((uint16_t)base, (uint16_t)length, stride);
  if (chance(r, 3))
    d.flags |= chance(r, 50) ? DESC_F_SAVE : DESC_F_STEP;
  return d;
}

static Descriptor beside_fabric(Beside *b, Descriptor d, bool halves)
{
  Random *r = &b->gen.random;
  d.simd = halves ? SIMD_64 : SIMD_DEFAULT;
  if (chance(r, 85))
    d = de_async(d, chance(r, 30) ? ACT_ACTIVATE : ACT_NONE, LOCAL_FIRST + BESIDE_PHASES);
  d.priority_given = chance(r, b->ranked);
  d.priority = d.priority_given ? (Priority)below(r, PRIO_COUNT) : PRIO_LOW;
  return d;
}

/* Neighbours use two colors by turns. */
static unsigned beside_color(unsigned phase, unsigned sender) { return 2 * phase + sender % 2; }

static void beside_send(Beside *b, unsigned x, unsigned phase)
{
  unsigned n = b->lengths[x][phase];
  bool halves = b->halves[x][phase];
  VecOperand from = beside_dsr(b, DSR_SRC1, beside_memory(b, n, halves ? 2 : 4));
  Descriptor out = de_out(2 + phase, beside_color(phase, x), (uint16_t)n);
  asm_emit(b->cls, in_vec(halves ? VEC_mov16 : VEC_mov32,
                          beside_dsr(b, DSR_DEST, beside_fabric(b, out, halves)), op_none(), from));
}

static void beside_receive(Beside *b, unsigned x, unsigned phase)
{
  unsigned n = b->lengths[x - 1][phase];
  bool halves = b->halves[x - 1][phase];
  VecOperand to = beside_dsr(b, DSR_DEST, beside_memory(b, n, halves ? 2 : 4));
  Descriptor in = de_in(phase, beside_color(phase, x - 1), (uint16_t)n);
  asm_emit(b->cls, in_vec(halves ? VEC_mov16 : VEC_mov32, to, op_none(),
                          beside_dsr(b, DSR_SRC1, beside_fabric(b, in, halves))));
}

static Insn beside_vector(Beside *b)
{
  Random *r = &b->gen.random;
  static const VecOp ops[] = {VEC_mov32, VEC_fadds, VEC_fmacs, VEC_fsubs, VEC_mov16, VEC_faddh,
                              VEC_fmach, VEC_xor16, VEC_add16, VEC_fmachs};
  VecOp op = ops[below(r, ARRAY_COUNT(ops))];
  Insn insn = {.op = OP_vec, .vec = {.op = op}};
  insn.vec.has_scalar = vecops[op].scalar;
  insn.vec.scalar = insn.vec.has_scalar ? (uint8_t)(2 * below(r, 3)) : 0;
  return insn;
}

static void beside_operation(Beside *b)
{
  Insn insn = beside_vector(b);
  unsigned n = 1 + below(&b->gen.random, BESIDE_LONG);
  unsigned bytes = vec_elem_bytes(vecops[insn.vec.op].dst);
  insn.vec.dest = beside_dsr(b, DSR_DEST, beside_memory(b, n, bytes));
  insn.vec.src1 = beside_dsr(b, DSR_SRC1, beside_memory(b, n, bytes));
  if (vecops[insn.vec.op].sources == 2)
    insn.vec.src0 = beside_dsr(b, DSR_SRC0, beside_memory(b, n, bytes));
  asm_emit(b->cls, insn);
}

static VecOperand beside_loaded(Beside *b, DsrFile file)
{
  return op_dsr(file, BESIDE_DSRS + below(&b->gen.random, BESIDE_LOADED));
}

/* Mostly all that are blocked go on. */
static void beside_pause(Beside *b)
{
  Random *r = &b->gen.random;
  unsigned first = below(r, 2 + BESIDE_PHASES), n = 1;
  Opcode op = chance(r, 40) ? OP_blki : OP_unblki;
  if (op == OP_unblki && chance(r, 60)) {
    first = 0;
    n = 2 + BESIDE_PHASES;
  }
  for (unsigned i = 0; i < n; i++)
    asm_emit(b->cls, (Insn){.op = op, .a = ID_MICROTHREAD, .imm = first + i});
}

/* An element of memory, into a register. */
static void beside_element(Beside *b)
{
  unsigned reg = 2 * below(&b->gen.random, 3);
  Descriptor from = beside_memory(b, 1, 4);
  asm_emit(b->cls, in_vec(VEC_fmovs, op_reg(reg), op_none(), beside_dsr(b, DSR_SRC1, from)));
}

/* What the main thread may do beside its operation. */
static void beside_between(Beside *b)
{
  Random *r = &b->gen.random;
  unsigned a = 2 * below(r, 3);
  if (chance(r, 35))
    asm_emit(b->cls, in_ri(OP_ld16a, a, BESIDE_DATA + 2 * below(r, BESIDE_BYTES / 2)));
  else if (chance(r, 40))
    asm_emit(b->cls, (Insn){.op = OP_dsrset, .a = beside_loaded(b, DSR_DEST).number,
                            .file = (DsrFile)below(r, 3), .absolute = true, .field = DSRF_BASE,
                            .imm = BESIDE_DATA + 4 * below(r, BESIDE_BYTES / 8)});
  else
    asm_emit(b->cls, in_rri(OP_addi, a, a, below(r, 0x10000)));
}

/* Operations beside which the main thread goes on. */
static void beside_series(Beside *b)
{
  Random *r = &b->gen.random;
  for (unsigned i = 2 + below(r, 4); i > 0; i--) {
    Insn insn = beside_vector(b);
    insn.vec.dest = beside_loaded(b, DSR_DEST);
    insn.vec.src1 = beside_loaded(b, DSR_SRC1);
    if (vecops[insn.vec.op].sources == 2)
      insn.vec.src0 = beside_loaded(b, DSR_SRC0);
    asm_emit(b->cls, insn);
    for (unsigned k = below(r, 4); k > 0; k--)
      beside_between(b);
  }
}

/* Multiply-adds of a column, as products of matrices have them: mostly, only the factor of the next
 * one is loaded beside each of them. */
static void beside_products(Beside *b)
{
  Random *r = &b->gen.random;
  unsigned factor = 2 * below(r, 3);
  VecOperand sums = op_dsr(DSR_SRC0, BESIDE_SUMS);
  Insn insn = in_vec(chance(r, 70) ? VEC_fmach : VEC_fmacs, sums, sums,
                     op_dsr(DSR_SRC1, BESIDE_SUMS + below(r, BESIDE_SOURCES)));
  insn.vec.has_scalar = true;
  insn.vec.scalar = (uint8_t)factor;
  for (unsigned i = 3 + below(r, 12); i > 0; i--) {
    asm_emit(b->cls, insn);
    if (chance(r, 92))
      asm_emit(b->cls, in_ri(OP_ld16a, factor + below(r, 2),
                             BESIDE_DATA + 2 * below(r, BESIDE_BYTES / 2)));
    else
      beside_between(b);
  }
}

/* A buffer of a few times `n` elements of 16 bits, and some more, round which the source goes. */
static Descriptor beside_round(Beside *b, unsigned n)
{
  Random *r = &b->gen.random;
  unsigned length = n * (1 + below(r, 6)) + (chance(r, 50) ? 0 : below(r, n));
  unsigned base = BESIDE_DATA + 2 * below(r, BESIDE_BYTES / 2 - length);
  return (Descriptor){.kind = DESC_CIRC, .flags = DESC_F_SAVE, .length = (uint16_t)n, .stride = 1,
                      .base = (uint16_t)(base + 2 * n * below(r, length / n)),
                      .wrap_base = (uint16_t)base, .wrap_length = (uint16_t)length};
}

/* The sums, and sources: all but one go on from operation to operation. */
static void beside_load_products(Beside *b)
{
  Random *r = &b->gen.random;
  unsigned n = 4 + below(r, BESIDE_LONG / 2);
  Descriptor sums = beside_memory(b, n, 4), saved = beside_memory(b, n, 4), same = saved;
  sums.stride = saved.stride = 1;
  saved.base = BESIDE_DATA + 4 * below(r, BESIDE_BYTES / 16);
  saved.flags |= DESC_F_SAVE;
  asm_dsr(b->cls, DSR_SRC0, BESIDE_SUMS, sums);
  asm_dsr(b->cls, DSR_SRC1, BESIDE_SUMS, saved);
  asm_dsr(b->cls, DSR_SRC1, BESIDE_SUMS + 1, same);
  asm_dsr(b->cls, DSR_SRC1, BESIDE_SUMS + 2, beside_round(b, n));
}

/* DSRs that no instruction loads. */
static void beside_load(Beside *b)
{
  static const DsrFile files[] = {DSR_DEST, DSR_SRC0, DSR_SRC1};
  for (unsigned i = 0; i < ARRAY_COUNT(files); i++)
    for (unsigned k = 0; k < BESIDE_LOADED; k++)
      asm_dsr(b->cls, files[i], BESIDE_DSRS + k,
              beside_memory(b, 1 + below(&b->gen.random, BESIDE_LONG / 2), 4));
  beside_load_products(b);
}

/* Arithmetic, and loads and stores of any width. */
static void beside_row(Beside *b)
{
  Random *r = &b->gen.random;
  static const Opcode accesses[] = {OP_ld8u, OP_ld16, OP_ld32, OP_st8, OP_st16, OP_st32};
  if (chance(r, 20))            /* a word of a counter */
    asm_emit(b->cls, in_stctr(below(r, COUNTER_WORDS), BESIDE_BASE, 0));
  asm_emit(b->cls, in_ri(OP_li, BESIDE_BASE, BESIDE_DATA + 4 * below(r, BESIDE_BYTES / 4)));
  for (unsigned i = 1 + below(r, 6); i > 0; i--) {
    unsigned a = 2 * below(r, 3);
    asm_emit(b->cls, chance(r, 50) ? in_rri(accesses[below(r, ARRAY_COUNT(accesses))], a,
                                            BESIDE_BASE, 0)
                                   : in_rri(OP_addi, a, a, below(r, 0x10000)));
  }
}

static void beside_phase(Beside *b, unsigned x, unsigned phase)
{
  Random *r = &b->gen.random;
  bool sends = x + 1 < BESIDE_TILES, receives = x > 0;
  for (unsigned i = 2 + below(r, 9); i > 0 || sends || receives; i -= i > 0) {
    if (sends && (!i || chance(r, 50))) {
      beside_send(b, x, phase);
      sends = false;
    } else if (receives && (!i || chance(r, 40))) {
      beside_receive(b, x, phase);
      receives = false;
    } else if (b->pauses && chance(r, 30)) {
      beside_pause(b);
    } else if (chance(r, 15)) {
      beside_element(b);
    } else if (chance(r, 20)) {
      beside_products(b);
    } else if (chance(r, 40)) {
      beside_series(b);
    } else if (chance(r, 60)) {
      beside_operation(b);
    } else {
      beside_row(b);
    }
  }
  if (chance(r, 3))
    asm_emit(b->cls, in0(OP_trap));
}

static void beside_tile(Beside *b, unsigned x)
{
  Random *r = &b->gen.random;
  uint8_t bytes[BESIDE_BYTES];
  AsmClass *c = b->cls = asm_class(b->gen.a, x, 0, x, 0);
  b->descs = 0;
  for (unsigned i = 0; i < sizeof bytes; i++)
    bytes[i] = (uint8_t)below(r, 0x100);
  asm_bytes(c, BESIDE_DATA, bytes, sizeof bytes);
  asm_variable(c, BESIDE_DATA, BESIDE_BYTES);
  c->image.start_entry = ASM_CODE;
  beside_load(b);
  asm_emit(c, in_ri(OP_li, BESIDE_BASE, BESIDE_DATA));
  for (unsigned phase = 0; phase < BESIDE_PHASES; phase++) {
    if (x)
      asm_input(c, phase, beside_color(phase, x - 1));
    if (x + 1 < BESIDE_TILES)
      asm_output(c, 2 + phase, beside_color(phase, x));
    if (phase)
      asm_task(c, TASK_LOCAL, LOCAL_FIRST + phase, asm_here(c), 0, "phase");
    beside_phase(b, x, phase);
    if (phase + 1 < BESIDE_PHASES)
      asm_emit(c, in_i(OP_acti, LOCAL_FIRST + phase + 1));
    asm_emit(c, in0(OP_endtask));
  }
  asm_task(c, TASK_LOCAL, LOCAL_FIRST + BESIDE_PHASES, asm_here(c), 0, "done");
  asm_emit(c, in0(OP_endtask));
}

static Asm *random_beside(uint32_t seed, const EngineOps *ops)
{
  Beside b = {.gen.random = {seed ^ 0x5bd1e995}};
  Random *r = &b.gen.random;
  b.gen.a = asm_new(chance(r, 50) ? ARCH_WSE2 : ARCH_WSE3, BESIDE_TILES, 1);
  b.gen.a->ops = ops;
  b.ranked = chance(r, 50) ? 20 : 80;
  b.pauses = chance(r, 30);
  b.gen.a->check_memory = chance(r, 40);
  for (unsigned x = 0; x + 1 < BESIDE_TILES; x++)
    for (unsigned phase = 0; phase < BESIDE_PHASES; phase++) {
      b.halves[x][phase] = chance(r, 30);
      b.lengths[x][phase] = (uint16_t)(1 + below(r, BESIDE_LONG));
      asm_route(b.gen.a, x, 0, beside_color(phase, x), M_R, M_E);
      asm_route(b.gen.a, x + 1, 0, beside_color(phase, x), M_W, M_R);
    }
  for (unsigned x = 0; x < BESIDE_TILES; x++)
    beside_tile(&b, x);
  return b.gen.a;
}

#endif
