/* emu: the emulator.  A program image is loaded into a Program (shared, read-only); an Engine
 * runs it cycle by cycle; hosts, traces, reports and the command line talk to an Engine only
 * through this header.
 *
 * Reading order: machine/timing.def, docs/cycle-model.md, then here load, mem, exec_scalar,
 * exec_vec, engine (the cycle, and what both engines owe), trace, fault, deadlock.
 *
 * Two engines implement the same machine: engine_ref_*.c, plain and obviously right, and the
 * fast one.  Everything that has a single right answer is shared: decoded code, timing, scalar
 * semantics, the arithmetic of one vector element, tile memory, fault and trace records.
 * Tiles are numbered y * width + x inside the rectangle.
 */
#ifndef EMU_H
#define EMU_H

#include "ir/machine/machine.h"

#include <stdatomic.h>

/* ---- diag.c: messages for users of the command line and the library -------------------------- */

#define DIAG_DEF "emu/diag.def"
#include "ir/base/diag_rows.h"

/* ---- timing.c -------------------------------------------------------------------------------- */

/* One architecture's column of timing.def.  Rows are uint16_t named as in the table. */
typedef struct {
#define TIMING(name, wse2, wse3, status, source) uint16_t name;
#define SIMD(op, wse2, wse3)
#define STRIDE(residue, elements)
#include "emu/machine/timing.def"
  uint8_t simd[VEC_COUNT];      /* elements of one group */
  uint8_t stride_limit[8];      /* by stride mod 8; 0: full width */
} Timing;

const Timing *timing_get(Arch arch);

/* The rows, for documentation and for tests that change one. */
typedef struct {
  const char *name;
  size_t offset;                /* of the uint16_t in Timing */
  uint16_t cycles[ARCH_COUNT];
  char status;                  /* 'D' documented, 'I' inferred, 'G' our choice */
  const char *source;
} TimingRow;
extern const TimingRow timing_rows[];
extern const size_t timing_row_count;
/* Sets a row of a private copy by name; false if there is no such row. */
bool timing_set(Timing *timing, const char *name, uint16_t cycles);
/* Cycles from the issue of a scalar instruction to its thread's next issue.  `taken` matters
 * to branches only; DSR loads and vector instructions have their own rules. */
unsigned timing_scalar(const Timing *timing, CostClass cost, bool taken);

/* ---- load.c: the program, shared and read-only ----------------------------------------------- */

/* Reached by `ret` at the end of a function that the engine itself has called (launch without
 * memcpy): odd, so never an address of code. */
enum { PC_RETURN = 0xffff, NO_INSN = -1 };

/* Colors of queues and queues of colors, where a program has rewritten them; 0xff none. */
typedef struct {
  uint8_t color[2][MAX_QUEUES];  /* input, output */
  uint8_t rebound;               /* output queues that a program has bound, a bit each */
  uint8_t data_queue[MAX_COLORS];
  uint8_t arrives[MAX_COLORS];   /* data_queue for the router: as the cycle has found it */
} QueueBindings;

/* Registers of a tile: registers.c. */
typedef struct {
  uint32_t random[MAX_GENERATORS];  /* states of the generators */
  QueueBindings *queues;        /* NULL: as loaded; from malloc */
  uint16_t exceptions;          /* a bit per exception: silent */
  uint8_t generator;            /* the active one */
  uint8_t transform;            /* bits that a marked wavelet's index has inverted */
  uint8_t flushing[2], flushed[2];  /* input and output queues, a bit each */
} TileRegisters;

/* Registers as a class' configuration sets them before the start. */
typedef struct {
  bool tsc_running;
  uint8_t main_priority;        /* value of MAIN_PRIORITY */
  TileRegisters tile;
  uint64_t tsc_value, high_tasks;
} StartRegisters;

/* Addresses of a variable; `end` 0: not known. */
typedef struct { uint16_t start, end; } Bounds;

/* A class with its code decoded once. */
typedef struct {
  const ImageClass *image;
  uint32_t index;               /* in the image */
  uint32_t code_end;            /* byte address after the last code word */
  uint32_t stack_low;           /* lowest address of the stack that the compiler counted on */
  uint32_t floor;               /* the stack pointer may not go below: end of data and code */
  uint32_t n_insns;
  const Insn *insns;            /* in address order */
  const uint16_t *pc_of;        /* byte address of each */
  const int32_t *insn_at;       /* by word from code_address: index in insns, or NO_INSN */
  /* Tasks by id, NULL where none; index of the image's task. */
  const ImageTask *data_task[MAX_TASK_IDS];
  const ImageTask *local_task[MAX_TASK_IDS];
  const ImageTask *control_task[MAX_TASK_IDS];
  uint64_t local_ids;           /* a bit per id with a local task */
  uint8_t shared_inputs;        /* input queues that several colors enter, a bit each */
  uint32_t n_copies;            /* a tile's own data, neighbouring slots in one piece */
  const ImageTileSlot *copies;
  StartRegisters start;
} ClassCode;

typedef struct {
  const Image *image;
  const Machine *machine;
  Timing timing;                /* a copy: tests change rows */
  Arena *arena;
  uint32_t n_tiles;
  const ClassCode *classes;
  const ImageColorConfig *(*color_table)[MAX_COLORS];   /* by color set and color */
  /* Colors that tiles exchange with the host port instead of the router, a bit each.  Words
   * posted by the host may have any color.  Starts with the memcpy colors; streaming adds. */
  uint32_t host_out_colors;
  const Bounds **access_bounds; /* by class and word of code: of the variable that a load or store
                                   is meant for; NULL: not asked for */
  bool check_reads;             /* reads of memory that nobody has written are faults */
} Program;

/* Decodes and indexes.  `image` must outlive the program and stays owned by the caller.
 * `timing` NULL: the table's column.  NULL with a reason (in `arena`) for an image that is
 * valid but cannot run. */
Program *program_load(const Image *image, const Timing *timing, Arena *arena, const char **reason);
static inline uint32_t program_tile(const Program *p, uint32_t x, uint32_t y)
{
  return y * p->image->width + x;
}
static inline uint32_t program_x(const Program *p, uint32_t tile) { return tile % p->image->width; }
static inline uint32_t program_y(const Program *p, uint32_t tile) { return tile / p->image->width; }
/* The tile at the other end of a link; NO_TILE: there is none. */
uint32_t program_neighbour(const Program *program, uint32_t tile, Port port);
/* NULL: the tile has no code. */
const ClassCode *program_class(const Program *program, uint32_t tile);
/* The instruction at a byte address, or NULL: outside the code or inside an instruction. */
const Insn *class_insn(const ClassCode *cls, uint32_t pc);
/* Color configuration of a tile's router, or NULL. */
const ImageColorConfig *program_color(const Program *program, uint32_t tile, unsigned color);
/* The color that a wavelet of `color` has inside a router that it enters by `port`: a color with
 * a swap takes the wavelets of its pair partner (SDK docs, advanced features). */
uint8_t program_color_inside(const Program *program, uint32_t tile, uint8_t color, Port port);
/* Names for reports; text that lives as long as the program, never NULL ("" if unnamed). */
const char *program_color_name(const Program *program, uint32_t tile, unsigned color);
const char *program_queue_name(const Program *program, uint32_t tile, bool output, unsigned queue);
const char *program_task_name(const Program *program, uint32_t tile, TaskKind kind, unsigned id);
/* "file:line" of an instruction, "" if unknown; at most `size` bytes. */
void program_location(const Program *program, uint32_t tile, uint32_t pc, char *text, size_t size);
/* Channel of the host port that serves a tile: bands of rows. */
unsigned program_channel(const Program *program, uint32_t tile);

typedef struct Engine Engine;

/* ---- engine.c -------------------------------------------------------------------------------- */

/* Whether somebody has asked the run to end. */
static inline bool engine_interrupted(const atomic_int *interrupt)
{
  return interrupt && atomic_load_explicit(interrupt, memory_order_relaxed) != 0;
}

/* ---- fault.c: findings about the program ----------------------------------------------------- */

typedef enum {
#define FAULT(name, group, text) FAULT_##name,
#include "emu/faults.def"
  FAULT_COUNT
} FaultKind;

enum { NO_COLOR = 0xff, NO_TILE = 0xffffffff };

/* One finding.  Fields that a kind does not use are NO_COLOR, PC_RETURN, 0. */
typedef struct {
  FaultKind kind;
  uint64_t cycle;
  uint32_t tile;
  uint8_t color;
  uint16_t pc;                  /* of the instruction, PC_RETURN none */
  uint32_t value, value2;       /* address, id, port masks, assertion number: by kind */
} Fault;

/* `value` of QUEUE_SHARED and of QUEUE_TASK. */
enum { FAULT_OUTPUT_QUEUE = 1 << 8 };
static inline uint32_t fault_queue(bool output, unsigned queue)
{
  return queue | (output ? FAULT_OUTPUT_QUEUE : 0u);
}
/* QUEUE_MIXED: the color at the head, in the bits above. */
enum { FAULT_HEAD_SHIFT = 16 };
static inline uint32_t fault_head(unsigned color) { return color << FAULT_HEAD_SHIFT; }
const char *fault_name(FaultKind kind);
/* What --check asks for beside a level. */
enum { CHECKS_MEMORY = 1, CHECKS_TASKS = 2, CHECKS_STRICT = 4, CHECKS_LENGTHS = 8 };
typedef enum { CHECK_OFF, CHECK_WARN, CHECK_ERROR, CHECK_COUNT } CheckLevel;
/* What becomes of a finding: nothing, it is recorded, or it also ends the run. */
CheckLevel fault_level(FaultKind kind, CheckLevel check, unsigned checks);
/* Adds what was found, sorted by cycle and then as fault_compare does, to all findings (stb_ds), up
 * to the first cycle with one that ends the run.  True: there is one.  But for what always ends a
 * run, a finding is kept once per tile and place; what leaves the rectangle, once. */
bool faults_collect(Fault **all, const Fault *found, size_t count, CheckLevel check,
                    unsigned checks);
/* Prints findings, each behind `before`, those that are the same at several tiles once. */
void faults_print(const Program *program, Engine *engine, const Fault *faults, size_t count,
                  const char *before, FILE *out);
/* "error: cycle C, PX.Y: text ..." with location, the other side and help, several lines, newline
 * at the end.  `engine` as it has stopped; NULL: without the other side. */
void fault_print(const Program *program, Engine *engine, const Fault *fault, FILE *out);
/* The message alone, one line without newline. */
void fault_text(const Program *program, const Fault *fault, char *text, size_t size);
/* Order of several faults of one cycle: tile, kind, color, pc. */
int fault_compare(const void *a, const void *b);

/* ---- mem.c: memory of one tile --------------------------------------------------------------- */

/* Compact until a store falls outside static data and stack; then all of a tile's memory.
 * Code is not in it: reads of the code range see the class' words, stores are faults. */
typedef struct {
  const ClassCode *cls;         /* NULL: a tile without code, which has no memory */
  uint8_t *bytes;               /* NULL until the tile first runs or is written */
  bool full;
  bool lent;                    /* `bytes` belong to somebody else */
  bool tracked;                 /* reads are checked: full, and behind it a bit a byte: written */
} TileMem;

/* Bytes of the compact form: static extent and stack. */
uint32_t mem_compact_bytes(const ClassCode *cls);
/* Fills `bytes` (mem_compact_bytes of them, zeroed) with the class' and the tile's initial data. */
void mem_initialise(const Program *program, uint32_t tile, uint8_t *bytes);
/* Makes the memory exist; idempotent. */
void mem_touch(const Program *program, uint32_t tile, TileMem *mem);
/* The same, in `bytes`: mem_compact_bytes of them, zeroed, that outlive the memory. */
void mem_lend(const Program *program, uint32_t tile, TileMem *mem, uint8_t *bytes);
void mem_free(TileMem *mem);
/* Little-endian access of 1, 2 or 4 bytes; FAULT_COUNT on success, else the fault kind.  The
 * memory must have been touched. */
FaultKind mem_load(const TileMem *mem, uint32_t address, unsigned bytes, uint32_t *value);
FaultKind mem_store(TileMem *mem, uint32_t address, unsigned bytes, uint32_t value);
/* Host access, any alignment: false if it leaves the tile's memory or writes to code. */
bool mem_host_read(const TileMem *mem, uint32_t address, void *to, uint32_t bytes);
bool mem_host_write(TileMem *mem, uint32_t address, const void *from, uint32_t bytes);

/* ---- exec_scalar.c --------------------------------------------------------------------------- */

typedef struct {
  uint16_t r[GPR_COUNT];
  bool carry;
  bool vector_carry;            /* of the last vector addition; scalar code never touches it */
  bool vstat;                   /* last synchronous vector operation completed */
  uint8_t traps;                /* FP_RAISES_*: exceptions that the program has unmasked */
} Registers;
static inline uint32_t reg32(const Registers *regs, unsigned even)
{
  return regs->r[even] | (uint32_t)regs->r[even + 1] << 16;
}
static inline void set_reg32(Registers *regs, unsigned even, uint32_t value)
{
  regs->r[even] = (uint16_t)value;
  regs->r[even + 1] = (uint16_t)(value >> 16);
}

typedef enum {
  SCALAR_NEXT,                  /* done; go on with the next instruction */
  SCALAR_JUMP,                  /* done; go on at `pc` (a taken branch, jump, call or return) */
  SCALAR_FAULT,                 /* `fault`, `value` */
  SCALAR_ENGINE,                /* not done: the instruction belongs to the engine */
  SCALAR_CONFIG,                /* not done: loads or stores configuration register `value` */
} ScalarOutcome;
typedef struct {                /* small, so that it is returned in registers */
  uint32_t value;
  uint16_t pc;
  uint8_t outcome;              /* ScalarOutcome */
  uint8_t fault;                /* FaultKind */
  bool store;                   /* SCALAR_CONFIG: of ra; else a load into ra */
} ScalarResult;

typedef struct { uint32_t address; unsigned bytes; bool store; Bounds object; } MemoryAccess;
/* What a load or store is about to touch; false: it is neither.  `object` is left alone. */
bool scalar_access(const Insn *insn, const Registers *regs, MemoryAccess *access);

/* What is known of the instruction at a word of code, so that many of them can be carried out in a
 * row. */
typedef struct {
  const Insn *insn;             /* NULL: none, or not to be carried out in a row */
  uint8_t words;
  uint8_t cycles[2];            /* to the next; if it jumps */
  uint8_t stores;               /* bytes that it stores */
  bool careful;                 /* registers have to be put back if it can not be carried out */
} ScalarCode;

/* What a row of instructions stored over, the oldest first. */
enum { SCALAR_STORES = 20 };
typedef struct {
  unsigned n;
  struct { uint32_t before; uint16_t address; uint8_t bytes; } at[SCALAR_STORES];
} ScalarStores;

typedef struct {
  const ScalarCode *code;       /* by word */
  Fp16Format fp16;
  Registers *regs;
  TileMem *mem;
  ScalarStores *stores;         /* written */
  uint16_t pc;                  /* of the next */
  unsigned first, end;          /* the next issues in cycle `first`, all of them before cycle `end`,
                                   which is at most 64 */
} ScalarRun;

/* For an instruction that scalar_exec carries out. */
ScalarCode scalar_code(const Insn *insn, uint8_t cycles, uint8_t cycles_if_jump);
/* Carries out instructions until `end`, or one that does more than change registers and static data
 * or stack.  Returns the cycles in which they issue, a bit each; `pc` and `first`: of the next. */
uint64_t scalar_run(ScalarRun *run);
/* Puts the memory back. */
void scalar_undo_stores(const ScalarStores *stores, TileMem *mem);

/* Carries out one instruction on registers and memory.  `pc` is the instruction's address.
 * SCALAR_ENGINE for: endtask, ldsr, dsrset, dsrget, vec, act*, blk*, unblk*, ldcfg*, stcfg*,
 * qflush, rnd, prng, stctr, stctra. */
ScalarResult scalar_exec(const Insn *insn, uint16_t pc, Fp16Format fp16, Registers *regs,
                         TileMem *mem);
/* What the instruction has raised that took `before` to `after`: FP_RAISES_*.  exec_raise.c. */
unsigned scalar_raised(const Insn *insn, Fp16Format fp16, const Registers *before,
                       const Registers *after);
/* The value of `@random16`'s generator after one use; *state is advanced. */
uint16_t scalar_random(uint32_t *state);

/* ---- exec_vec.c: vector operations ----------------------------------------------------------- */

/* A DSR: its descriptor, and where a single-step walk through it stands. */
typedef struct {
  Descriptor desc;
  uint32_t remaining;           /* elements a single-step descriptor has left */
  uint16_t index[4];            /* its position in each dimension */
} DsrState;
void dsr_load(DsrState *dsr, const Descriptor *desc);
/* Elements that the descriptor spans; MEM4D: the product. */
uint32_t dsr_length(const Descriptor *desc);
/* dsrset and dsrget; false when the field does not exist for the descriptor's kind. */
bool dsr_set_field(DsrState *dsr, DsrField field, uint16_t value);
bool dsr_get_field(const DsrState *dsr, DsrField field, uint16_t *value);

typedef enum { VS_NONE, VS_VALUE, VS_REGISTER, VS_MEMORY, VS_FABIN, VS_FABOUT, VS_FIFO } StreamKind;

/* One operand of a running operation.  Compact, like what contains it: each tile at work has
 * some. */
typedef struct {
  StreamKind kind : 8;
  uint8_t element_bytes;
  uint8_t queue, color;         /* fabric */
  uint8_t reg;                  /* VS_REGISTER (dest) */
  uint8_t per_wavelet;          /* elements a wavelet carries: 1 or 2 */
  uint8_t min_wavelets, max_wavelets;  /* a group needs at least, takes at most */
  uint8_t phase;                /* elements of the current wavelet already taken or filled */
  uint8_t dimensions;
  uint16_t flags;               /* DESC_F_* */
  uint16_t address;             /* memory: of the next element; FIFO: of its state block */
  uint16_t lengths[4], index[4];
  int16_t strides[4];           /* elements */
  uint16_t wrap_base;           /* bytes */
  uint32_t wrap_bytes;
  uint32_t value;               /* VS_VALUE: the scalar; fabout: the half-filled wavelet */
  Bounds object;                /* memory, with CHECKS_MEMORY: the variable that it begins in */
  DsrFile file : 8;
  uint8_t number;               /* DSR it came from */
  bool from_dsr;
  bool circular;
  bool picks;                   /* fabin: several colors share the queue, it takes one of them */
  bool remaps;                  /* fabric, wse3: the queue is bound to another color */
} VecStream;
/* Whether the stream takes a wavelet of the color from its queue. */
static inline bool vec_takes_color(const VecStream *stream, unsigned color)
{
  return !stream->picks || stream->color == color;
}

/* A running vector operation, on the main thread or on a microthread. */
typedef struct {
  VecOp op : 8;
  bool async, fold, unbounded;
  uint16_t pc;
  uint16_t insn_words;
  bool contested;               /* FAULT_QUEUE_TASK has been recorded */
  bool watched;                 /* its accesses to memory are checked: CHECKS_MEMORY */
  bool zero_first, zero_second;
  bool carry;
  uint8_t microthread;          /* async: 0..7 */
  uint8_t width;                /* largest group by SIMD row, strides and fabric operands */
  uint8_t traps, raised;        /* FP_RAISES_*: unmasked at its issue; of them, what occurred */
  uint32_t started;             /* with CHECKS_MEMORY: low bits of the cycle of its issue */
  uint32_t length, remaining;   /* elements: at its issue, now */
  VecStream dest, src[2];       /* src[0], src[1]: as src0, src1 of the instruction */
  uint32_t scalar;
  uint16_t index;
  Priority priority : 8;        /* of the microthread */
  Action done, on_control;
} VecRun;

/* Who used a queue last: the operation that sends to it or takes from it, or the entry of the task
 * that a wavelet has started. */
typedef struct {
  uint16_t pc;
  uint16_t elements;            /* 0: nobody has used it */
  uint8_t color;
  bool control;                 /* it sends control wavelets */
} QueueUse;
/* Captures an operation at its issue: operands, length, thread, width.  FAULT_COUNT on success. */
FaultKind vec_begin(VecRun *run, const Insn *insn, uint16_t pc, const Program *program,
                    const ClassCode *cls, const Registers *regs,
                    DsrState dsrs[DSR_FILE_COUNT][MAX_DSRS], const TileMem *mem,
                    const TileRegisters *registers, uint32_t *fault_value);
/* One element: result bits from a (src0), b (src1; the only one of one-source operations), s. */
uint32_t vec_element(VecOp op, Fp16Format fp16, uint32_t a, uint32_t b, uint32_t s, bool *carry);
/* What the element's computation has raised.  exec_raise.c. */
unsigned vec_raised(VecOp op, Fp16Format fp16, uint32_t a, uint32_t b, uint32_t s, uint32_t result);
/* vec_element for a running operation, whose sources' widths are known: faddhs takes an f32
 * accumulator or an f16 element as src0. */
uint32_t vec_operate(VecRun *run, Fp16Format fp16, uint32_t a, uint32_t b);
/* Whether the operation's two memory sources start the next group in conflicting banks. */
bool vec_bank_conflict(const VecRun *run, const Machine *machine);
/* Moves a memory stream one element on. */
void vec_stream_advance(VecStream *stream);
/* Of its fabric operand, the destination first; NO_COLOR if it has none. */
uint8_t vec_fabric_color(const VecRun *run);
/* The stream of `run` whose queue the running operation `other` uses too, or NULL. */
const VecStream *vec_shared_stream(const VecRun *run, const VecRun *other);
/* The stream of `run` that waits behind a wavelet of another color, which is at the head of its
 * queue and which no data task takes; NULL: none.  `heads`: by input queue, NO_COLOR if empty. */
const VecStream *vec_obstructed_stream(const VecRun *run, const ClassCode *cls, uint64_t blocked,
                                       const uint8_t heads[MAX_QUEUES]);
/* What an engine records then; `last` is the use of the queue before. */
Fault vec_obstructed_fault(const VecRun *run, const VecStream *stream, uint8_t head, QueueUse last,
                           uint64_t cycle, uint32_t tile);
/* The stream of `run` whose wavelets could start a data task, too: none that is blocked.  NULL: no
 * such stream. */
const VecStream *vec_contested_stream(const VecRun *run, const ClassCode *cls, Arch arch,
                                      uint64_t blocked);
/* Writes back what descriptors keep after an operation (save_address, single_step). */
void vec_end(const VecRun *run, DsrState dsrs[DSR_FILE_COUNT][MAX_DSRS]);
/* Elements that the next group may have with respect to widths, partly used wavelets and what
 * remains; availability in queues and FIFOs comes on top. */
unsigned vec_group_size(const VecRun *run);
/* Wavelets of a fabric stream that `elements` more elements touch. */
unsigned vec_wavelets(const VecStream *stream, unsigned elements);

/* FIFOs: the state block lies in tile memory (FIFO_STATE_WORDS).  How many elements could be
 * pushed or popped now. */
FaultKind fifo_available(const TileMem *mem, uint16_t state, bool push, unsigned *elements);
/* What becomes of an operation that finds a FIFO empty or full: FIFO_SUSPEND if it waits, and
 * FIFO_TEST if it ends unfinished. */
FifoAction fifo_action(const TileMem *mem, const VecRun *run);
/* Pushes or pops one element; *fire is the action that this triggers, or none. */
FaultKind fifo_move(TileMem *mem, uint16_t state, bool push, unsigned bytes, uint32_t *value,
                    Action *fire);
/* Remembers that a push found the FIFO full, or a pop found it empty. */
FaultKind fifo_mark(TileMem *mem, uint16_t state, bool push);
/* A synchronous operation stopped here with `remaining` elements to go: the FIFO's own length, if
 * it has one, becomes that. */
void fifo_keep_length(TileMem *mem, uint16_t state, bool push, uint32_t remaining);

/* ---- check.c: what --check looks at ---------------------------------------------------------- */

/* Finds the bounds of loads and stores: for CHECKS_MEMORY, before an engine is made. */
void program_check_memory(Program *program);
/* The variable at an address; NULL: none that has a name. */
const ImageSymbol *class_object(const ClassCode *cls, uint32_t address);

/* The operations that run on a tile and were started before what is at hand: what they have still
 * to do comes first in the program's order. */
typedef struct { unsigned n; const VecRun *running[MAX_MICROTHREADS + 1]; } Checked;

/* The finding about an access, FAULT_COUNT if all is well; of a race, *other is the pc of the
 * operation that is disturbed. */
FaultKind check_access(const Checked *checked, MemoryAccess access, uint32_t *other);
/* Of the instruction that is about to be carried out. */
FaultKind check_scalar(const Checked *checked, const Program *program, const ClassCode *cls,
                       const Insn *insn, uint16_t pc, const Registers *regs, MemoryAccess *access,
                       uint32_t *other);
FaultKind check_element(const Checked *checked, const VecStream *stream, bool store,
                        uint32_t *other);
/* Adds an operation if it was started before `later` (NULL: before anything at hand). */
void check_add(Checked *checked, const VecRun *run, const VecRun *later);
/* Notes at its start which variables the streams of an operation begin in. */
void check_objects(VecRun *run, const ClassCode *cls, uint64_t cycle);
/* No stream of it can leave its variable. */
bool check_stays_inside(const VecRun *run);
/* At its start, CHECKS_TASKS: sizes of elements (*value an address; moves may have another size);
 * CHECKS_LENGTHS: lengths of operands (*value the one that differs). */
FaultKind check_operation(unsigned checks, const VecRun *run, const VecOperands *vec,
                          const ClassCode *cls,
                          DsrState dsrs[DSR_FILE_COUNT][MAX_DSRS], const Machine *machine,
                          uint32_t *value);

/* ---- registers.c: registers of a tile -------------------------------------------------------- */

TileRegisters registers_initial(void);
/* False: the register is none of these.  `part` counts words from the row's first. */
bool registers_read(const TileRegisters *registers, const ImageClass *image,
                    const ConfigRegInfo *reg, unsigned part, uint16_t *value);
bool registers_write(TileRegisters *registers, const ImageClass *image, const ConfigRegInfo *reg,
                     unsigned part, uint16_t value);
static inline uint8_t registers_data_queue(const TileRegisters *r, const ImageClass *image,
                                           unsigned color)
{
  return r->queues ? r->queues->arrives[color] : image->data_queue[color];
}
/* The end of a cycle: what was bound in it holds for the router, too. */
void registers_settle(TileRegisters *registers);
/* FP_RAISES_* that the exception mask lets through. */
uint8_t registers_traps(const TileRegisters *registers);
/* Has the program bound the output queue to another color itself? */
bool registers_sends_rebound(const TileRegisters *registers, unsigned queue);
/* The color that a queue is bound to now; NO_COLOR: to none. */
uint8_t registers_queue_color(const TileRegisters *r, const ImageClass *image, bool output,
                              unsigned queue);
/* wse3: an operation that names another color than its queue is bound to binds the queue to it.
 * The stream whose queue cannot change because it holds wavelets, or NULL; bits as in
 * registers_flush_empty. */
const VecStream *registers_remap(TileRegisters *registers, const ImageClass *image,
                                 const VecRun *run, uint8_t input_any, uint8_t output_any);
/* A word of QUEUE_STATUS from the queues' counts. */
uint16_t registers_queue_status(const uint8_t counts[MAX_QUEUES], const uint16_t *depths,
                                unsigned queues);
/* MICROTHREAD: the priority of the operation that runs there; NULL: none does. */
uint16_t registers_thread_word(const VecRun *run);
void registers_set_thread(VecRun *run, uint16_t word);
/* `qflush`, and what follows: true once if a flushed queue holds nothing any more; bits of
 * `input_any` and `output_any` are set for queues that hold wavelets. */
void registers_flush(TileRegisters *registers, bool output, unsigned queue);
bool registers_flush_empty(TileRegisters *registers, uint8_t input_any, uint8_t output_any);
static inline bool registers_flushing(const TileRegisters *r)
{
  return r->flushing[0] | r->flushing[1];
}

/* ---- router_config.c: registers of a router that a program rewrites --------------------- */

/* A color whose registers were written has a configuration of its own. */
typedef struct {
  ImageColorConfig config;
  uint16_t changes, others;     /* the words of the positions behind the first */
} RouterConfig;
typedef struct { uint8_t position; bool suspended; uint16_t counter, limit; } RouterNow;
/* Starts a color's own configuration as a copy. */
void router_config_copy(RouterConfig *own, const ImageColorConfig *config);
/* Is the row of config_regs.def at `base` one of a router's, an array by color? */
bool router_config_is(uint16_t base);
/* Whether a color has the register.  `config` NULL: the tile does not know the color. */
bool router_config_has(uint16_t base, const ImageColorConfig *config);
/* `own` NULL: the color is as loaded. */
uint16_t router_config_read(uint16_t base, const ImageColorConfig *config,
                            const RouterConfig *own, RouterNow now);
/* In effect from the cycle after the write's issue. */
void router_config_write(uint16_t base, uint16_t value, RouterConfig *own, RouterNow *now);

/* ---- timers.c: tiles that wait for a cycle --------------------------------------------------- */

/* Timers are a binary heap in a stb_ds array: timers[0] is the first by cycle, then by tile. */
typedef struct { uint64_t cycle; uint32_t tile; } Timer;
void timers_push(Timer **timers, Timer timer);
/* Takes out the first; there must be one. */
Timer timers_pop(Timer *heap);

/* ---- trace.c: events ------------------------------------------------------------------------- */

typedef enum {
  TRACE_TASK, TRACE_INST, TRACE_WAVELET, TRACE_SWITCH, TRACE_QUEUE, TRACE_STALL, TRACE_HOST,
  TRACE_KIND_COUNT
} TraceKind;
bool trace_kind_from_name(const char *name, size_t length, TraceKind *kind);

typedef enum {
  EV_TASK_START,                /* id, task, payload (data and control) */
  EV_TASK_END,                  /* id, task */
  EV_ACTIVATE,                  /* id */
  EV_BLOCK, EV_UNBLOCK,         /* id_kind, id */
  EV_INST,                      /* pc; thread 0 main */
  EV_GROUP,                     /* a group of a vector operation: pc, thread, count elements */
  EV_DONE,                      /* a vector operation ended: pc, thread; control = by a wavelet */
  EV_WAVELET,                   /* color, from, to, payload as forwarded, control */
  EV_SWITCH,                    /* color, old position, new position */
  EV_PUSH, EV_POP,              /* output, queue, color, payload, control */
  EV_STALL,                     /* a vector operation has waited: pc, thread, id the StallCause,
                                   payload the cycles; when it ends, a bank conflict at once */
  EV_HOST_IN,                   /* color, payload: through the host port */
  EV_HOST_OUT,                  /* and the output queue that it leaves */
  EV_LAUNCH,                    /* pc: function called by the host */
  EV_COUNT
} EventKind;
TraceKind event_trace_kind(EventKind kind);

typedef struct {
  uint64_t cycle;
  uint32_t tile;
  EventKind kind;
  uint8_t id, id_kind;
  TaskKind task;
  uint8_t thread;               /* 0 main, 1 + number for microthreads */
  uint8_t color, queue;
  bool output, control;
  Port from;
  PortMask to;
  uint8_t old_position, new_position;
  uint16_t pc, count;
  uint32_t payload;
} TraceEvent;

/* Who receives events.  The engine delivers them sorted by cycle, then tile (y, then x), then
 * the order within the tile given at `Engine` below, already limited to `kinds`, the cycles and
 * the region. */
typedef struct TraceSink TraceSink;
struct TraceSink {
  uint32_t kinds;               /* bits 1 << TraceKind */
  uint64_t first_cycle, last_cycle;
  uint16_t x, y, width, height; /* region */
  void (*event)(TraceSink *sink, const TraceEvent *event);
  void *context;
  bool stop;                    /* set by whoever receives events: the run ends with this cycle */
};
/* A sink that accepts everything of the given kinds. */
TraceSink trace_sink(const Program *program, uint32_t kinds,
                     void (*event)(TraceSink *, const TraceEvent *), void *context);
static inline bool trace_wants(const TraceSink *s, EventKind kind, uint64_t cycle)
{
  return s && (s->kinds >> event_trace_kind(kind) & 1) && cycle >= s->first_cycle &&
         cycle <= s->last_cycle;
}
bool trace_in_region(const TraceSink *sink, uint32_t x, uint32_t y);
/* "@CYCLE PX.Y KIND fields", without newline. */
void trace_format(const Program *program, const TraceEvent *event, char *text, size_t size);

/* ---- engine.c: the interface of both engines ---------------------------------------------------
 *
 * The cycle.  All units read the state at the start of the cycle.  Order of a tile's events
 * within a cycle:
 *   1  actions that take effect now (completed operations), in order of issue; then waits of
 *      vector operations that have ended, by thread
 *   2  control wavelets at queue heads that nobody is bound to are dropped, by queue
 *   3  the scheduler picks
 *   4  the issued instruction or element group, with its queue pops, pushes and effects; if it
 *      ended its operation, EV_DONE last
 *   5  the router: moves in arbitration order, each followed by its switch change and by the push
 *      into the input queue (payload as delivered); then the wavelet that it takes from the ramp
 *   6  the host port: word in, word out
 */

typedef struct {
  CheckLevel check;             /* hazards: ignored, recorded, or recorded and the run ends */
  unsigned checks;              /* CHECKS_* */
  unsigned threads;             /* fast engine; 0 and 1: none besides the caller */
  uint32_t shuffle;             /* for tests: 0 natural visiting order; reference: seed of another,
                                   fast: backwards, and always all threads */
  unsigned block;               /* for tests: fast engine, cycles of every block; 0 as fits */
  TraceSink *trace;             /* NULL none */
  const atomic_int *interrupt;  /* not 0: the run ends behind the block of cycles; NULL none */
  /* Bytes written to SIM_PRINT; NULL: dropped. */
  void (*print)(void *context, uint64_t cycle, uint32_t tile, uint8_t byte);
  void *print_context;
} EngineOptions;

typedef enum {
  RUN_QUIET,                    /* no event can happen any more without the host */
  RUN_FAULT,                    /* engine_faults has at least one that ends the run */
  RUN_LIMIT,                    /* the given cycle was reached, or the trace's `stop` was set */
  RUN_INTERRUPTED,              /* the interrupt was set */
} RunStatus;

/* Why a vector operation that could otherwise have done a group did not; a cycle each, added
 * when the wait ends.  Tested in this order: paused (blocked microthread), wavelet missing,
 * FIFO empty or full, no room in the output queue, another thread issued.  `bank` counts the
 * extra cycles of conflicts. */
typedef enum {
  STALL_NONE, STALL_PAUSED, STALL_INPUT, STALL_FIFO, STALL_OUTPUT, STALL_ISSUE, STALL_BANK,
  STALL_COUNT
} StallCause;
const char *stall_name(StallCause cause);

typedef struct {
  uint64_t first_event, last_event;  /* cycles with an issue or a move; UINT64_MAX, 0: none.
                                      * Reset by engine_phase_begin. */
  uint64_t active_tile_cycles;  /* (tile, cycle) pairs with an issue or a move */
  uint64_t instructions;        /* scalar and vector instructions issued */
  uint64_t groups, elements;    /* of vector operations */
  uint64_t wavelets;            /* that entered a router from its ramp */
  uint64_t wavelet_hops;        /* link crossings */
  uint64_t tasks;               /* started */
  uint64_t stalls[STALL_COUNT];
} EngineStats;

/* ---- record.c: what reports say of a tile's past --------------------------------------------- */

enum { RECENT_ACTIVATIONS = 4 };
typedef struct {
  uint64_t started[TASK_CONTROL];       /* by TaskKind less one: tasks, a bit per id */
  uint64_t lost;                /* tasks activated again before they had started, likewise */
  uint16_t recent_pc[RECENT_ACTIVATIONS];   /* the last activations: by which instruction */
  uint8_t recent_id[RECENT_ACTIVATIONS], next;
  /* the last activation that was lost, and the one before it, which stands for both */
  uint8_t lost_id;
  uint16_t lost_pc, before_pc;
  /* control wavelets whose entry is no control task, without those for nobody; the last one */
  uint16_t untaken;
  uint8_t untaken_queue, untaken_color;
  uint32_t untaken_payload;
  /* the last operations that took from a FIFO and that filled one */
  struct { uint16_t state, pc, elements; } fifo[2];
} TileRecord;
static inline bool record_has_started(const TileRecord *r, TaskKind kind, unsigned id)
{
  return kind != TASK_NONE && (r->started[kind - 1] >> id & 1);
}
static inline void record_start(TileRecord *r, TaskKind kind, unsigned id)
{
  r->started[kind - 1] |= UINT64_C(1) << id;
}
/* `pc`: of the instruction that activates, or whose operation does; PC_RETURN none.  `merges`: the
 * task waits to be started already. */
void record_activation(TileRecord *record, unsigned id, uint16_t pc, bool merges);
/* The FIFOs that an operation takes from and fills, at its start. */
void record_fifos(TileRecord *record, const VecRun *run);
void record_untaken(TileRecord *record, unsigned queue, unsigned color, uint32_t payload);

/* Places of `blocked_at`: tasks by id, then microthreads. */
enum { BLOCK_PLACES = MAX_TASK_IDS + MAX_MICROTHREADS };
static inline unsigned block_place(IdKind kind, unsigned id)
{
  return kind == ID_MICROTHREAD ? MAX_TASK_IDS + id : id;
}

/* What an engine shows of a tile, for reports and tests.  Taken between cycles. */
typedef enum { THREAD_IDLE, THREAD_RUNNING, THREAD_VECTOR } ThreadState;
typedef struct {
  ThreadState state;
  StallCause waiting;           /* THREAD_VECTOR: what for; STALL_NONE: could go on */
  StallCause stalled;           /* THREAD_VECTOR: the wait that the statistics do not have yet */
  uint64_t stalled_since;
  uint8_t stream;               /* STALL_INPUT: 1 src0, 2 src1; STALL_OUTPUT: 0 dest */
  uint16_t pc;                  /* main: next instruction, or the vector instruction */
  const VecRun *run;            /* THREAD_VECTOR */
  TaskKind task;                /* main: what runs */
  uint8_t task_id;
} InspectThread;
typedef struct { uint32_t payload; uint8_t color; bool control; uint64_t visible; } InspectWavelet;
typedef struct {
  uint8_t count, capacity;      /* in flight on the ramp included */
  QueueUse use;
  InspectWavelet head;          /* count > 0 */
} InspectQueue;
typedef struct {
  bool configured, suspended;
  uint8_t count;                /* wavelets in the router's slots */
  Port head_from;
  InspectWavelet head;          /* count > 0 */
  PortMask rx, tx;              /* of the current positions */
  uint8_t position;
} InspectColor;
typedef struct {
  bool has_code;
  InspectThread threads[1 + MAX_MICROTHREADS];
  uint64_t active, blocked;     /* by task id */
  const TileRecord *record;
  uint8_t paused;               /* microthreads */
  const uint16_t *blocked_at;   /* where each was blocked last: pc by block_place, PC_RETURN if
                                   never; NULL if none ever was */
  InspectQueue input[MAX_QUEUES], output[MAX_QUEUES];
  InspectColor colors[MAX_COLORS];
  uint32_t host_pending;        /* words posted and not yet taken into an input queue */
  uint64_t wavelets_seen;       /* taken into input queues since the start */
} InspectTile;

typedef struct {
  const char *name;             /* "reference", "fast" */
  Engine *(*create)(Program *program, const EngineOptions *options);
  void (*destroy)(Engine *engine);
  /* Runs whole cycles until quiet, a fault, or until the next cycle would be `limit`. */
  RunStatus (*run)(Engine *engine, uint64_t limit);
  uint64_t (*cycle)(const Engine *engine);        /* the next cycle to run */
  /* Waits, for the host: nothing happens on the quiet fabric until `cycle`. */
  void (*skip_to)(Engine *engine, uint64_t cycle);
  const EngineStats *(*stats)(const Engine *engine);
  void (*phase_begin)(Engine *engine);            /* forgets first_event and last_event */
  /* Hazards found so far and the fault that ended the run, in order. */
  const Fault *(*faults)(const Engine *engine, size_t *count);
  void (*inspect)(Engine *engine, uint32_t tile, InspectTile *out);
  /* True if the tile can be other than as loaded; so reports need not visit a million tiles. */
  bool (*touched)(const Engine *engine, uint32_t tile);
  const Registers *(*registers)(Engine *engine, uint32_t tile);   /* tests; NULL: not touched */

  /* Host port.  Memory, for a quiet fabric: zero cycles.  False: outside the tile's memory. */
  bool (*mem_read)(Engine *engine, uint32_t tile, uint32_t address, void *to, uint32_t bytes);
  bool (*mem_write)(Engine *engine, uint32_t tile, uint32_t address, const void *from,
                    uint32_t bytes);
  /* Calls a fn() void on the tile's main thread as soon as that is idle, before any task; false
   * if the tile has no code or a launch is pending already. */
  bool (*launch)(Engine *engine, uint32_t tile, uint16_t entry);
  /* A word for the input queue of `color`; it reaches the tile's ramp at `cycle` at the earliest
   * and keeps its order among the tile's words.  host_channel_time gives such cycles. */
  bool (*post)(Engine *engine, uint32_t tile, unsigned color, uint32_t word, uint64_t cycle);
  /* Takes up to `max` words that the tile has sent to the host on `color`, oldest first; with
   * `cycles` not NULL also when each left.  Returns how many. */
  size_t (*take)(Engine *engine, uint32_t tile, unsigned color, uint32_t *words, uint64_t *cycles,
                 size_t max);
  /* How often the tile has written 1 to CMD_STREAM. */
  uint32_t (*unblock_count)(Engine *engine, uint32_t tile);
} EngineOps;

/* Every engine struct begins with its operations. */
struct Engine { const EngineOps *ops; };

extern const EngineOps engine_reference;
extern const EngineOps engine_fast;
const EngineOps *engine_from_name(const char *name);

/* The time line of one host channel: a word that is ready at `cycle` occupies the channel for
 * den/num cycles after those before it; returns the cycle in which it reaches the ramp.  Words
 * sent to many tiles at once (commands) are charged once. */
typedef struct { uint64_t free_at; } HostChannel;   /* in 1/num cycles */
uint64_t host_channel_time(HostChannel *channel, const Timing *timing, uint64_t cycle);

/* Words that the host has for a tile.  Those of a color keep their order; a color whose queue has
 * no room holds up no other.  Of the colors that could go on, the one whose word was posted first
 * does. */
typedef struct { uint64_t cycle; uint32_t word, number; } PostedWord;       /* in order posted */
typedef struct { uint8_t color; PostedWord *words; size_t at; } HostLane;   /* stb_ds */
typedef struct { HostLane *lanes; uint32_t posted; } HostWords;             /* stb_ds */
/* True if it is the first of its color that waits. */
bool host_words_post(HostWords *words, unsigned color, uint32_t word, uint64_t cycle);
const PostedWord *host_lane_head(const HostLane *lane);                     /* NULL: none */
/* When the next word after `now` is there; UINT64_MAX never. */
uint64_t host_words_due(const HostWords *words, uint64_t now);
uint32_t host_words_pending(const HostWords *words);
void host_words_free(HostWords *words);

/* ---- deadlock.c ------------------------------------------------------------------------------ */

typedef enum {
  IDLE_DONE,                    /* nothing waits, or only what may wait for ever */
  IDLE_WARNINGS,                /* wavelets left behind, or finite waits that nobody asked about */
  IDLE_LEFT,                    /* wavelets left behind, which the question calls an error */
  IDLE_STUCK,                   /* exit 3 */
} IdleState;

typedef struct {
  bool host;                    /* launches drive the run: finite waits may be normal */
  bool unblock_missing;         /* a launched function has not unblocked the command stream */
  bool stream_short;            /* a host stream has not got all its words */
  bool left_is_error;
  const uint32_t *unblocks_expected;  /* by tile: how often it should have unblocked the command
                                         stream by now; NULL: nobody waits for that */
} IdleQuestion;

/* Looks at a quiet engine and says whether it is stuck. */
IdleState idle_classify(Engine *engine, const Program *program, const IdleQuestion *question);
/* Why nothing can move: the causes, each with a chain of waits that leads there, with source names
 * and lines, and all else that the same cause holds up.  What is the same at several tiles is told
 * once.  At most `max_lines` lines, what cannot be left out of the first cause aside. */
void deadlock_report(Engine *engine, const Program *program, const IdleQuestion *question,
                     unsigned max_lines, FILE *out);
/* Where the main threads are that have not ended, of at most `max_tiles` tiles; in report.c. */
void busy_report(Engine *engine, const Program *program, unsigned max_tiles, FILE *out);

#endif
