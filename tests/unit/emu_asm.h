/* Programs for the emulator's tests, assembled by hand: instructions, descriptors and color
 * configurations are put into an Image in memory, without compiler and without files. */
#ifndef EMU_ASM_H
#define EMU_ASM_H

#include "emu/explain/explain.h"
#include "emu/fast/fast.h"
#include "emu/reference/reference.h"

#include "stb_ds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
  ASM_CODE = 0x4000,            /* code address of every class; data lies below */
  ASM_STACK_TOP = PE_MEM_BYTES, ASM_STACK_BYTES = 256,
  ASM_WORDS = 2048, ASM_CLASSES = 64, ASM_TASKS = 16, ASM_DSRS = 32, ASM_LINES = 256,
};

typedef struct {
  ImageClass image;
  uint16_t code[ASM_WORDS];
  uint32_t words;
  uint8_t data[ASM_CODE];
  uint32_t data_end;
  ImageTask tasks[ASM_TASKS];
  ImageDsr dsrs[ASM_DSRS];
  ImageLine lines[ASM_LINES];
  ImageVecNames names[ASM_TASKS];
  ImageConfig configs[ASM_TASKS];
  ImageSegment segment;
  ImageSymbol variable;
} AsmClass;

typedef struct {
  Arena *arena;
  Image image;
  AsmClass *classes[ASM_CLASSES];
  uint32_t *tile_class;
  ImageColorSet *sets;          /* one per tile */
  ImageColorUse **uses;         /* stb_ds, by tile */
  ImageColorConfig *configs;    /* stb_ds */
  Timing timing;                /* rows may be changed before asm_run */
  Program *program;
  Engine *engine;
  TraceSink sink;
  TraceEvent *events;           /* stb_ds */
  const EngineOps *ops;
  EngineOptions options;
  bool check_reads;             /* of the program */
  bool check_memory;            /* accesses that leave variables, races */
} Asm;

/* ---- building -------------------------------------------------------------------------------- */

static inline Asm *asm_new(Arch arch, uint16_t width, uint16_t height)
{
  Arena *arena = arena_create("asm");
  Asm *a = arena_new(arena, Asm);
  uint32_t tiles = (uint32_t)width * height;
  static const char *const files[] = {"pe.csl"};
  a->arena = arena;
  a->timing = *timing_get(arch);
  const char *engine = getenv("EMU_ENGINE");     /* the same tests run on both engines */
  a->ops = engine && strcmp(engine, "fast") == 0 ? &engine_fast : &engine_reference;
  a->options.check = CHECK_ERROR;
  a->tile_class = arena_many(arena, uint32_t, tiles);
  a->sets = arena_many(arena, ImageColorSet, tiles);
  a->uses = arena_many(arena, ImageColorUse *, tiles);
  for (uint32_t t = 0; t < tiles; t++)
    a->tile_class[t] = IMAGE_NO_CLASS;
  a->image = (Image){
    .arena = arena, .arch = arch, .fp16 = FP16_F16, .sdk = 14, .channels = 1,
    .width = width, .height = height, .fabric_width = width, .fabric_height = height,
    .files = files, .n_files = 1,
  };
  return a;
}

/* A class and the tiles x0..x1, y0..y1 that have it. */
static inline AsmClass *asm_class(Asm *a, unsigned x0, unsigned y0, unsigned x1, unsigned y1)
{
  AsmClass *c = arena_new(a->arena, AsmClass);
  uint32_t index = a->image.n_classes++;
  if (index >= ASM_CLASSES)
    fail_msg("too many classes");
  a->classes[index] = c;
  for (unsigned y = y0; y <= y1; y++)
    for (unsigned x = x0; x <= x1; x++)
      a->tile_class[y * a->image.width + x] = index;
  c->image.start_entry = PC_RETURN;
  for (unsigned i = 0; i < MAX_COLORS; i++) {
    c->image.data_queue[i] = 0xff;
    c->image.teardown_handler[i] = PC_RETURN;
    c->image.blocked |= UINT64_C(1) << i;   /* unbound data ids */
  }
  return c;
}

static inline uint16_t asm_here(const AsmClass *c)
{
  return (uint16_t)(ASM_CODE + c->words * 2);
}

/* Appends an instruction and returns its address; its source line is its ordinal number. */
static inline uint16_t asm_emit(AsmClass *c, Insn insn)
{
  uint16_t at = asm_here(c), words[3];
  unsigned n = insn_encode(&insn, words);
  memcpy(c->code + c->words, words, n * sizeof *words);
  c->words += n;
  if (c->image.n_lines < ASM_LINES) {
    uint32_t line = c->image.n_lines;
    c->lines[c->image.n_lines++] = (ImageLine){.pc = at, .file = 0, .line = line + 1, .column = 1,
                                               .inlined_at = IMAGE_NO_INLINE};
  }
  return at;
}

/* Re-encodes the branch or jump at `at` with its final target. */
static inline void asm_patch(AsmClass *c, uint16_t at, uint16_t target)
{
  uint16_t *words = c->code + (at - ASM_CODE) / 2, again[3];
  const char *reason;
  Insn insn;
  unsigned n = insn_decode(words, 3, &insn, &reason);
  if (insn_info[insn.op].format == FMT_RIJ)
    insn.target = target;
  else
    insn.imm = target;
  if (n != insn_encode(&insn, again))
    fail_msg("cannot patch");
  memcpy(words, again, n * sizeof *words);
}

static inline Insn in0(Opcode op) { return (Insn){.op = op}; }
static inline Insn in_rrr(Opcode op, unsigned ra, unsigned rb, unsigned rc)
{
  return (Insn){.op = op, .a = (uint8_t)ra, .b = (uint8_t)rb, .c = (uint8_t)rc};
}
static inline Insn in_rri(Opcode op, unsigned ra, unsigned rb, unsigned imm)
{
  return (Insn){.op = op, .a = (uint8_t)ra, .b = (uint8_t)rb, .imm = imm & 0xffff};
}
static inline Insn in_ri(Opcode op, unsigned ra, uint32_t imm)
{
  return (Insn){.op = op, .a = (uint8_t)ra, .imm = imm};
}
static inline Insn in_i(Opcode op, uint32_t imm) { return (Insn){.op = op, .imm = imm}; }
static inline Insn in_rij(Opcode op, unsigned ra, uint32_t imm, uint32_t target)
{
  return (Insn){.op = op, .a = (uint8_t)ra, .imm = imm, .target = target};
}
static inline Insn in_ldsr(DsrFile file, unsigned number, uint16_t address)
{
  return (Insn){.op = OP_ldsr, .a = (uint8_t)number, .file = file, .absolute = true,
                .imm = address};
}
static inline Insn in_stctr(unsigned word, unsigned base, unsigned offset)
{
  return (Insn){.op = OP_stctr, .a = (uint8_t)word, .b = (uint8_t)base, .imm = offset};
}
static inline VecOperand op_dsr(DsrFile file, unsigned number)
{
  return (VecOperand){VOPND_DSR, file, (uint8_t)number};
}
static inline VecOperand op_reg(unsigned number)
{
  return (VecOperand){VOPND_REG, DSR_DEST, (uint8_t)number};
}
static inline Insn in_vec(VecOp op, VecOperand dest, VecOperand src0, VecOperand src1)
{
  return (Insn){.op = OP_vec, .vec = {.op = op, .dest = dest, .src0 = src0, .src1 = src1}};
}
static inline VecOperand op_none(void) { return (VecOperand){VOPND_NONE, DSR_DEST, 0}; }

static inline Descriptor de_mem(uint16_t base, uint16_t length, int stride)
{
  return (Descriptor){.kind = DESC_MEM1D, .base = base, .length = length,
                      .stride = (int16_t)stride};
}
static inline Descriptor de_in(unsigned queue, unsigned color, uint16_t length)
{
  return (Descriptor){.kind = DESC_FABIN, .queue = (uint8_t)queue, .color = (uint8_t)color,
                      .length = length};
}
static inline Descriptor de_out(unsigned queue, unsigned color, uint16_t length)
{
  return (Descriptor){.kind = DESC_FABOUT, .queue = (uint8_t)queue, .color = (uint8_t)color,
                      .length = length};
}
/* An asynchronous one with a completion action. */
static inline Descriptor de_async(Descriptor desc, ActionKind kind, unsigned task)
{
  desc.flags |= DESC_F_ASYNC;
  if (kind != ACT_NONE)
    desc.done = (Action){kind, ID_TASK, (uint8_t)task};
  return desc;
}

/* A DSR that is loaded before the start. */
static inline VecOperand asm_dsr(AsmClass *c, DsrFile file, unsigned number, Descriptor desc)
{
  ImageDsr *dsr = &c->dsrs[c->image.n_dsrs++];
  *dsr = (ImageDsr){.file = file, .number = (uint8_t)number};
  descriptor_encode(&desc, dsr->words);
  return op_dsr(file, number);
}

static inline void asm_bytes(AsmClass *c, uint16_t address, const void *bytes, size_t n)
{
  memcpy(c->data + address, bytes, n);
  if (address + n > c->data_end)
    c->data_end = (uint32_t)(address + n + 1) & ~1u;
}
static inline void asm_desc(AsmClass *c, uint16_t address, Descriptor desc)
{
  uint16_t words[12];
  unsigned n = descriptor_encode(&desc, words);
  asm_bytes(c, address, words, n * sizeof *words);
}

static inline void asm_task(AsmClass *c, TaskKind kind, unsigned id, uint16_t entry,
                            unsigned arguments, const char *name)
{
  c->tasks[c->image.n_tasks++] = (ImageTask){entry, kind, (uint8_t)id, (uint8_t)arguments, name};
  if (kind != TASK_CONTROL)     /* a control task needs its channel unblocked, not its id */
    c->image.blocked &= ~(UINT64_C(1) << id);
}

static inline void asm_input(AsmClass *c, unsigned queue, unsigned color)
{
  c->image.input[queue] = (ImageQueue){.used = true, .color = (uint8_t)color};
  c->image.data_queue[color] = (uint8_t)queue;
}
static inline void asm_output(AsmClass *c, unsigned queue, unsigned color)
{
  c->image.output[queue] = (ImageQueue){.used = true, .color = (uint8_t)color};
}

/* Configures a color at a tile; returns the configuration for changes before asm_run. */
static inline size_t asm_config(Asm *a, unsigned x, unsigned y, unsigned color,
                                ImageColorConfig config)
{
  if (config.filter.kind == FILTER_NONE)
    config.filter = (ImageFilter){.kind = FILTER_NONE};
  arrput(a->configs, config);
  uint32_t index = (uint32_t)arrlenu(a->configs) - 1;
  arrput(a->uses[y * a->image.width + x], ((ImageColorUse){(uint8_t)color, index}));
  return index;
}
static inline size_t asm_route(Asm *a, unsigned x, unsigned y, unsigned color, PortMask rx,
                               PortMask tx)
{
  return asm_config(a, x, y, color,
                    (ImageColorConfig){.positions[0] = {.rx = rx, .tx = tx, .valid = true}});
}
enum {
  M_N = 1 << PORT_NORTH, M_S = 1 << PORT_SOUTH, M_E = 1 << PORT_EAST, M_W = 1 << PORT_WEST,
  M_R = 1 << PORT_RAMP,
};

/* ---- running --------------------------------------------------------------------------------- */

static inline void asm_event(TraceSink *sink, const TraceEvent *event)
{
  Asm *a = sink->context;
  arrput(a->events, *event);
}

static inline void asm_finish_class(Asm *a, AsmClass *c)
{
  (void)a;
  c->image.code_address = ASM_CODE;
  c->image.code = c->code;
  c->image.code_words = c->words;
  c->image.static_bytes = (uint16_t)c->data_end;
  c->segment = (ImageSegment){0, (uint16_t)c->data_end, c->data};
  c->image.segments = &c->segment;
  c->image.n_segments = 1;
  c->image.stack_top = ASM_STACK_TOP;
  c->image.stack_bytes = ASM_STACK_BYTES;
  c->image.tasks = c->tasks;
  c->image.dsrs = c->dsrs;
  c->image.lines = c->lines;
  c->image.configs = c->configs;
  c->image.vec_names = c->names;
  c->image.source = "pe.csl";
}

static inline int asm_compare_uses(const void *a, const void *b)
{
  return (int)((const ImageColorUse *)a)->color - (int)((const ImageColorUse *)b)->color;
}

/* All of it is one variable, the only one of the class. */
static inline void asm_variable(AsmClass *c, uint16_t address, uint16_t bytes)
{
  c->variable = (ImageSymbol){.name = "data", .address = address, .bytes = bytes};
  c->image.symbols = &c->variable;
  c->image.n_symbols = 1;
}

/* Tiles share the data of their class until they write, also if it is the class of one tile. */
static inline void asm_share(Asm *a)
{
  for (uint32_t i = 0; i < a->image.n_classes; i++) {
    ClassCode *cls = (ClassCode *)(uintptr_t)&a->program->classes[i];
    uint8_t *bytes = arena_many(a->arena, uint8_t, cls->image->static_bytes + 1);
    class_initialise(cls, bytes);
    cls->initial = bytes;
  }
}

/* Loads the program for an engine; events of `kinds` are collected. */
static inline void asm_program(Asm *a, uint32_t kinds)
{
  uint32_t tiles = (uint32_t)a->image.width * a->image.height;
  ImageClass *classes = arena_many(a->arena, ImageClass, a->image.n_classes + 1);
  uint32_t *set_of = arena_many(a->arena, uint32_t, tiles);
  const char *reason = NULL;
  for (uint32_t i = 0; i < a->image.n_classes; i++) {
    asm_finish_class(a, a->classes[i]);
    classes[i] = a->classes[i]->image;
  }
  for (uint32_t t = 0; t < tiles; t++) {
    if (arrlenu(a->uses[t]))
      qsort(a->uses[t], arrlenu(a->uses[t]), sizeof *a->uses[t], asm_compare_uses);
    a->sets[t] = (ImageColorSet){(uint32_t)arrlenu(a->uses[t]), a->uses[t]};
    set_of[t] = t;
  }
  a->image.classes = classes;
  a->image.tile_class = a->tile_class;
  a->image.tile_colors = set_of;
  a->image.tile_blob_at = arena_many(a->arena, uint64_t, tiles);
  a->image.tile_blobs = arena_many(a->arena, uint8_t, 1);
  a->image.color_configs = a->configs;
  a->image.n_color_configs = (uint32_t)arrlenu(a->configs);
  a->image.color_sets = a->sets;
  a->image.n_color_sets = tiles;
  a->program = program_load(&a->image, &a->timing, a->arena, &reason);
  if (!a->program)
    fail_msg("program_load: %s", reason);
  asm_share(a);
  a->program->check_reads = a->check_reads;
  if (a->check_memory)
    program_check_memory(a->program);
  a->sink = trace_sink(a->program, kinds, asm_event, a);
  if (kinds)
    a->options.trace = &a->sink;
}

static inline void asm_engine(Asm *a) { a->engine = a->ops->create(a->program, &a->options); }

static inline void asm_load(Asm *a, uint32_t kinds)
{
  asm_program(a, kinds);
  asm_engine(a);
}

enum { ALL_EVENTS = (1 << TRACE_KIND_COUNT) - 1, CYCLE_LIMIT = 10000000 };

static inline RunStatus asm_run(Asm *a, uint32_t kinds)
{
  if (!a->engine)
    asm_load(a, kinds);
  return a->ops->run(a->engine, CYCLE_LIMIT);
}

static inline void asm_run_quiet(Asm *a, uint32_t kinds)
{
  RunStatus status = asm_run(a, kinds);
  if (status == RUN_FAULT) {
    size_t n;
    fault_print(a->program, a->engine, a->ops->faults(a->engine, &n), stderr);
  }
  assert_int_equal(status, RUN_QUIET);
}

static inline void asm_free(Asm *a)
{
  uint32_t tiles = (uint32_t)a->image.width * a->image.height;
  if (a->engine)
    a->ops->destroy(a->engine);
  for (uint32_t t = 0; t < tiles; t++)
    arrfree(a->uses[t]);
  arrfree(a->configs);
  arrfree(a->events);
  arena_destroy(a->arena);
}

static inline uint32_t asm_tile(const Asm *a, unsigned x, unsigned y)
{
  return y * a->image.width + x;
}
static inline uint16_t asm_word(Asm *a, unsigned x, unsigned y, uint16_t address)
{
  uint16_t value = 0;
  assert_true(a->ops->mem_read(a->engine, asm_tile(a, x, y), address, &value, 2));
  return value;
}
static inline uint32_t asm_word32(Asm *a, unsigned x, unsigned y, uint16_t address)
{
  uint32_t value = 0;
  assert_true(a->ops->mem_read(a->engine, asm_tile(a, x, y), address, &value, 4));
  return value;
}
static inline float asm_float(Asm *a, unsigned x, unsigned y, uint16_t address)
{
  uint32_t bits = asm_word32(a, x, y, address);
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline uint16_t asm_reg(Asm *a, unsigned x, unsigned y, unsigned number)
{
  return a->ops->registers(a->engine, asm_tile(a, x, y))->r[number];
}

/* The n-th event (from 0) of a kind at a tile; fails if there is none. */
static inline const TraceEvent *asm_find(const Asm *a, EventKind kind, unsigned x, unsigned y,
                                         unsigned n)
{
  for (size_t i = 0; i < arrlenu(a->events); i++)
    if (a->events[i].kind == kind && a->events[i].tile == asm_tile(a, x, y) && n-- == 0)
      return &a->events[i];
  fail_msg("no such event of kind %d at P%u.%u", (int)kind, x, y);
  return NULL;
}
static inline unsigned asm_count(const Asm *a, EventKind kind, unsigned x, unsigned y)
{
  unsigned n = 0;
  for (size_t i = 0; i < arrlenu(a->events); i++)
    n += a->events[i].kind == kind && a->events[i].tile == asm_tile(a, x, y);
  return n;
}
/* Cycle of the n-th event of a kind that belongs to the instruction at pc. */
static inline uint64_t asm_cycle_at(const Asm *a, EventKind kind, unsigned x, unsigned y,
                                    uint16_t pc, unsigned n)
{
  for (size_t i = 0; i < arrlenu(a->events); i++)
    if (a->events[i].kind == kind && a->events[i].tile == asm_tile(a, x, y) &&
        a->events[i].pc == pc && n-- == 0)
      return a->events[i].cycle;
  fail_msg("no event of kind %d for pc 0x%04x", (int)kind, pc);
  return 0;
}

/* The same events, as a trace has them. */
static inline void asm_expect_same_events(const Asm *a, const Asm *b)
{
  assert_int_equal(arrlenu(a->events), arrlenu(b->events));
  for (size_t i = 0; i < arrlenu(a->events); i++) {
    char left[256], right[256];
    trace_format(a->program, &a->events[i], left, sizeof left);
    trace_format(b->program, &b->events[i], right, sizeof right);
    assert_string_equal(left, right);
  }
}

static inline const Fault *asm_fault(Asm *a)
{
  size_t n;
  const Fault *faults = a->ops->faults(a->engine, &n);
  assert_true(n > 0);
  return &faults[n - 1];
}

#endif
