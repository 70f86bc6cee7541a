/* emu/tile: what a tile does, in both engines: memory, scalar instructions, vector
 * operations, registers, tasks, and what is checked, recorded and reported on the way.
 *
 * Reading order: mem, exec_scalar, exec_vec, exec_raise, registers, overlap, check, order, record,
 * trace, turn, known, vector, issue, tasks, state.
 */
#ifndef EMU_TILE_H
#define EMU_TILE_H

#include "emu/fabric/fabric.h"

/* ---- registers of a tile: registers.c -------------------------------------------------------- */

/* Colors of queues and queues of colors, where a program has rewritten them; 0xff none. */
typedef struct {
  uint8_t color[2][MAX_QUEUES];  /* input, output */
  uint8_t rebound;               /* output queues that a program has bound, a bit each */
  uint8_t data_queue[MAX_COLORS];
  uint8_t arrives[MAX_COLORS];   /* data_queue for the router: as the cycle has found it */
} QueueBindings;

/* The state that a program can read and write besides memory. */
typedef struct {
  uint32_t random[MAX_GENERATORS];  /* states of the generators */
  QueueBindings *queues;        /* NULL: as loaded; from malloc */
  uint16_t exceptions;          /* a bit per exception: silent */
  uint8_t generator;            /* the active one */
  uint8_t transform;            /* bits that a marked wavelet's index has inverted */
  uint8_t flushing[2], flushed[2];  /* input and output queues, a bit each */
} TileRegisters;

/* ---- mem.c: memory of one tile --------------------------------------------------------------- */

/* Compact until a store falls outside static data and stack; then all of a tile's memory.
 * It does not contain code: reads of the code range see the class' words, stores are faults. */
typedef struct {
  const ClassCode *cls;         /* NULL: only a router, without code and memory */
  uint8_t *bytes;               /* NULL until the tile first runs or is written */
  bool shared;                  /* the static data are still cls->initial, not in `bytes` */
  bool full;
  bool lent;                    /* `bytes` belong to the caller of mem_lend */
  bool tracked;                 /* reads are checked: full, then one bit per byte: written */
} TileMem;

/* Bytes of the compact form: static extent and stack. */
uint32_t mem_compact_bytes(const ClassCode *cls);
/* Makes the memory exist; idempotent. */
void mem_touch(const Program *program, uint32_t tile, TileMem *mem);
/* The same, in `bytes`: mem_compact_bytes of them, zeroed; they outlive the memory.  Tiles of a
 * class share its static data until they first write to them. */
void mem_lend(const Program *program, uint32_t tile, TileMem *mem, uint8_t *bytes);
/* The static data, from address 0 on, to be read. */
static inline const uint8_t *mem_static(const TileMem *mem)
{
  return __builtin_expect(mem->shared, 0) ? mem->cls->initial : mem->bytes;
}
/* `bytes` gets the static data, to be written. */
void mem_unshare(TileMem *mem);
static inline void mem_own(TileMem *mem)
{
  if (mem->shared)
    mem_unshare(mem);
}
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
static inline uint32_t reg_pair32(const Registers *regs, unsigned even)
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
/* The memory that a load or store is about to touch; false: it is neither. `object` is left
 * alone. */
bool scalar_access(const Insn *insn, const Registers *regs, MemoryAccess *access);

/* Facts about the instruction at a word of code, for running many instructions in a row. */
enum {
  SCALAR_STOPS = 1,             /* not to be carried out in a row, or none: `insn` NULL */
  SCALAR_MOVES_STACK = 2, SCALAR_MAY_TRAP = 4,
  SCALAR_ACCESSES = 8,          /* it stores, or its access has to be checked */
  SCALAR_BASED = 16,            /* its address depends on a register */
  SCALAR_TOUCHES = 32,          /* it loads or stores */
  SCALAR_LOADS_DATA = 64,       /* ld16a from static data, as it is to be */
  SCALAR_DESCRIPTOR = 128,      /* it stops, and an engine has made it ready: `reg` is the place of
                                   its descriptor; pay[1] is for one of those that take longer */
};
typedef struct {
  const Insn *insn;
  uint32_t pay[2];              /* packed: the cycles to the next, and which are fitted or assumed;
                                   if it jumps */
  uint32_t target;              /* of a jump or branch, by word; SCALAR_LOADS_DATA: the address */
  uint8_t op;                   /* Opcode */
  uint8_t words;
  uint8_t odd;                  /* SCALAR_* */
  uint8_t stores;               /* bytes that it stores */
  Bounds object;                /* that an access stays in, if: */
  uint8_t bytes;                /* of a load or store to be checked; else 0 */
  uint8_t reg;                  /* SCALAR_LOADS_DATA: where the value goes */
} ScalarCode;
/* What an instruction of that row pays, packed as in `pay`; one with 0 cycles pays too, as the next
 * one issues in another cycle. */
uint32_t scalar_row_pay(const Timing *timing, TimingRowId row);
enum { SCALAR_PAY_BITS = 10, SCALAR_PAY_MASK = (1 << SCALAR_PAY_BITS) - 1 };
/* Adds what is packed to `paid`, by what its rows rest on.  Returns the cycles. */
static inline unsigned scalar_pay(uint32_t pay, uint64_t paid[TRUST_COUNT])
{
  unsigned cycles = pay & SCALAR_PAY_MASK, fitted = pay >> SCALAR_PAY_BITS & SCALAR_PAY_MASK;
  unsigned assumed = pay >> 2 * SCALAR_PAY_BITS;
  paid[TRUST_FITTED] += fitted;
  paid[TRUST_ASSUMED] += assumed;
  paid[TRUST_DOCUMENTED] += cycles - fitted - assumed;
  return cycles;
}
/* Likewise, n times. */
static inline void scalar_pay_often(uint32_t pay, unsigned n, uint64_t paid[TRUST_COUNT])
{
  uint64_t once[TRUST_COUNT] = {0};
  scalar_pay(pay, once);
  for (unsigned i = 0; i < TRUST_COUNT; i++)
    paid[i] += n * once[i];
}

/* The values that a row of instructions has overwritten, the oldest first; `most`: that have
 * room. */
enum { SCALAR_STORES = 32 };
typedef struct {
  struct { uint32_t before; uint16_t address; uint8_t bytes; } at[SCALAR_STORES];
  uint16_t n, most;
} ScalarStores;
static inline void scalar_keep_store(ScalarStores *stores, uint32_t address, unsigned bytes,
                                     uint32_t before)
{
  unsigned i = stores->n++;
  stores->at[i].before = before;
  stores->at[i].address = (uint16_t)address;
  stores->at[i].bytes = (uint8_t)bytes;
}

/* Memory of operations that run beside a row: it neither reads nor writes what they write, and does
 * not write what they read. */
enum { SCALAR_FENCES = 16 };
typedef struct {
  unsigned n;
  struct { Bounds at; bool written; } of[SCALAR_FENCES];
} ScalarFences;
static inline bool scalar_is_fenced(const ScalarFences *fences, uint32_t start, uint32_t end,
                                    bool store)
{
  for (unsigned i = 0; i < fences->n; i++)
    if ((store || fences->of[i].written) && start < fences->of[i].at.end &&
        end > fences->of[i].at.start)
      return true;
  return false;
}

/* Cycles that a row spans at most, a bit each. */
enum {
  SCALAR_WORDS = 3, SCALAR_WORD_CYCLES = 64, SCALAR_CYCLES = SCALAR_WORDS * SCALAR_WORD_CYCLES,
};
typedef struct {
  const ScalarCode *code;       /* by word, and one behind the last that stops */
  Fp16Format fp16;
  Registers *regs;
  TileMem *mem;
  ScalarStores *stores;         /* added to */
  const ScalarFences *fences;   /* NULL: none */
  const ScalarCode *at;         /* the next */
  unsigned first, end;          /* it issues in cycle `first`, all of them before cycle `end`,
                                   which is at most SCALAR_CYCLES */
  uint64_t *issues;             /* SCALAR_WORDS: cycles in which they issue; added to */
  uint32_t paid;                /* cycles between, packed as in `pay`; added to */
} ScalarRun;

/* For the instruction at a word of code, if scalar_exec carries it out in at most
 * SCALAR_MOST_CYCLES; `object`: the variable that its access is meant for; end 0: it is not
 * checked. */
enum { SCALAR_MOST_CYCLES = 255 };
ScalarCode scalar_code(const Insn *insn, uint32_t word, Bounds object, const Timing *timing,
                       const ImageClass *image);
/* Carries out instructions until `end`, or one that does more than change registers and static data
 * or stack.  `at` and `first`: of the next. */
void scalar_run(ScalarRun *run);

/* Carries out one instruction on registers and memory.  `pc` is the instruction's address.
 * SCALAR_ENGINE for: endtask, ldsr, dsrset, dsrget, vec, act*, blk*, unblk*, ldcfg*, stcfg*,
 * qflush, rnd, prng, stctr, stctra. */
ScalarResult scalar_exec(const Insn *insn, uint16_t pc, Fp16Format fp16, Registers *regs,
                         TileMem *mem);
/* The value of `@random16`'s generator after one use; *state is advanced. */
uint16_t scalar_random(uint32_t *state);

/* ---- exec_vec.c: vector operations ----------------------------------------------------------- */

/* The DSRs of a tile: those that the code of its class names.  `own`: NULL until one of them
 * changes; till then the tiles of a class share what they start with.  Engines may let tiles share
 * what they load, too. */
typedef struct { DsrState *own; const DsrMap *map; } Dsrs;
static inline bool dsr_is_named(Dsrs dsrs, DsrFile file, unsigned number)
{
  return dsrs.map->place[file][number] < dsrs.map->n;
}
static inline const DsrState *dsr_at(Dsrs dsrs, DsrFile file, unsigned number)
{
  return &(dsrs.own ? dsrs.own : dsrs.map->start)[dsrs.map->place[file][number]];
}
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
  uint8_t per_wavelet;          /* elements that one wavelet carries: 1 or 2 */
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
  Bounds object;                /* memory: the variable that it begins in, if known */
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
  bool watched;                 /* its accesses to memory are checked, one by one */
  bool zero_first, zero_second;
  bool carry;
  uint8_t microthread;          /* async: 0..7 */
  uint8_t width;                /* largest group by SIMD row, strides and fabric operands */
  uint8_t traps, raised;        /* FP_RAISES_*: unmasked at its issue; of them, what occurred */
  uint32_t started;             /* low bits of the cycle of its issue */
  uint32_t length, remaining;   /* elements: at its issue, now */
  VecStream dest, src[2];       /* src[0], src[1]: as src0, src1 of the instruction */
  uint32_t scalar;
  uint16_t index;
  Priority priority : 8;        /* of the microthread */
  Action done, on_control;
} VecRun;

/* The last user of a queue: the operation that sends to it or takes from it, or the entry of the
 * task that a wavelet has started. */
typedef struct {
  uint16_t pc;
  uint16_t elements;            /* of the whole operation unless `ended`; see use_count */
  uint8_t color;
  bool control : 1;             /* it sends control wavelets */
  bool ended : 1;               /* a control wavelet has ended it behind `elements` */
} QueueUse;
/* A number of elements as a record keeps it: MANY_ELEMENTS stands for as many or more. */
enum { MANY_ELEMENTS = UINT16_MAX };
static inline uint16_t use_count(uint32_t elements)
{
  return (uint16_t)(elements < MANY_ELEMENTS ? elements : MANY_ELEMENTS);
}
/* An operation or a task has used the queue. */
static inline bool queue_use_is_any(QueueUse use) { return use.elements || use.ended; }
/* Captures an operation at its issue: operands, length, thread, width.  FAULT_COUNT on success. */
FaultKind vec_begin(VecRun *run, const Insn *insn, uint16_t pc, const Program *program,
                    const ClassCode *cls, const Registers *regs,
                    Dsrs dsrs, const TileMem *mem,
                    const TileRegisters *registers, uint32_t *fault_value);
/* One element: result bits from a (src0), b (src1; the only one of one-source operations), s. */
uint32_t vec_element(VecOp op, Fp16Format fp16, uint32_t a, uint32_t b, uint32_t s, bool *carry);
/* Strides count by their residue modulo 8. */
enum { STRIDE_RESIDUES = 7 };
/* A group of `width` elements, or as many as the stride of one of its operands in memory allows. */
static inline unsigned vec_stride_width(const Timing *timing, int16_t stride, unsigned width)
{
  unsigned limit = stride == 0 || stride == 1
                     ? 0 : timing->stride_limit[(unsigned)stride & STRIDE_RESIDUES];
  return limit && limit < width ? limit : width;
}
/* All elements of the operand are in one bank. */
static inline bool vec_stays_in_bank(int16_t stride)
{
  return stride != 0 && ((unsigned)stride & STRIDE_RESIDUES) == 0;
}
/* The same for one that stays in a bank, so that it waits at each group; else 0. */
unsigned vec_one_bank_waits(const VecRun *run, const Machine *machine);
/* Cycles without a group behind one of `elements`, after which `left` remain.  A group that waits
 * for a bank has its own. */
static inline unsigned vec_rest(const Timing *timing, bool in_memory, uint32_t left,
                                unsigned elements, unsigned waits)
{
  unsigned every = timing->groups_per_rest;
  return every && in_memory && !waits && left && left / elements % every == 0;
}
/* Its next element is at the address, or at that place of the buffer that it goes round. */
void vec_stream_place(VecStream *stream, int32_t address);
/* The stream of `run` whose wavelets could start a data task, too: none that is blocked.  NULL: no
 * such stream. */
const VecStream *vec_contested_stream(const VecRun *run, const ClassCode *cls, Arch arch,
                                      uint64_t blocked);

/* What happens to an operation that finds a FIFO empty or full: FIFO_SUSPEND if it waits, and
 * FIFO_TEST if it ends unfinished. */
FifoAction fifo_action(const TileMem *mem, const VecRun *run);

/* ---- overlap.c: the main thread beside its own vector operation ------------------------------ */

/* Whether the thread goes on while the operation runs: all its operands are in memory or values,
 * and it reaches another operation by a row of instructions that may issue in the meantime. */
bool overlap_allows(const VecRun *run, const ClassCode *cls, const Timing *timing);
/* Whether it may issue the instruction in the meantime: the result is as if the operation were
 * over. */
bool overlap_issues(const VecRun *run, const Insn *insn, const Registers *regs);
/* Whether the instruction is an operation on memory, which follows another one without a gap: it
 * starts in the cycle after the last group if it has waited, else when the thread comes to it. */
bool overlap_follows(const Insn *insn, Dsrs dsrs);

/* ---- check.c: the tests of --check ----------------------------------------------------------- */

/* Finds where variables lie, before an engine is made: accesses are checked from then on. */
void program_check_memory(Program *program);
/* The variable at an address; NULL: none that has a name. */
const ImageSymbol *class_object(const ClassCode *cls, uint32_t address);
/* The variable that an operand of the vector instruction at `pc` is meant for: the one that the
 * code names, else the one at the address; end 0: not known. */
Bounds check_operand(const MemoryFacts *facts, uint16_t pc, VecSlot slot, uint32_t address);
/* The variable at an address, as its addresses; end 0: none. */
Bounds check_variable(const MemoryFacts *facts, uint32_t address);
/* The first operand of vector instructions whose variable the compiler knows that stands at the
 * instruction or behind it. */
uint32_t check_operands_from(const MemoryFacts *facts, uint16_t pc);
/* Whether an access of so many bytes leaves the variable; false if that is not known. */
static inline bool is_outside(Bounds bounds, uint32_t address, unsigned bytes)
{
  return bounds.end && (address < bounds.start || address + bytes > bounds.end);
}

/* The memory of operations in the background: all that they use, and their results; end 0: none. */
typedef struct { Bounds used, written; } BusyMemory;

/* The operations that run on a tile and started earlier: their remaining work comes first in the
 * program's order. */
typedef struct { unsigned n; const VecRun *running[MAX_MICROTHREADS + 1]; } Checked;

/* The memory that the instruction is about to access, with its variable; false: none. */
bool check_finds_access(const Program *program, const ClassCode *cls, const Insn *insn,
                        uint16_t pc, const Registers *regs, MemoryAccess *access);
/* At the start of an operation: finds its variables, and watches its accesses if one may leave
 * them. */
void check_objects(VecRun *run, const MemoryFacts *facts);
/* Behind that: returns whether an access may race with what runs in the background: a write to its
 * memory, a read of its results.  The memory of one that runs there itself is added to `busy`. */
bool check_begin(VecRun *run, BusyMemory *busy, uint64_t cycle);
/* The memory that what is left of a stream of the operation can touch; end 0: none. */
Bounds check_span(const VecRun *run, const VecStream *stream);
/* At its start, CHECKS_TASKS: sizes of elements (*value an address; moves may have another size);
 * CHECKS_LENGTHS: lengths of operands (*value the one that differs). */
FaultKind check_operation(unsigned checks, const VecRun *run, const VecOperands *vec,
                          const ClassCode *cls,
                          Dsrs dsrs, const Machine *machine,
                          uint32_t *value);

/* ---- registers.c: registers of a tile -------------------------------------------------------- */

static inline uint8_t registers_data_queue(const TileRegisters *r, const ImageClass *image,
                                           unsigned color)
{
  return r->queues ? r->queues->arrives[color] : image->data_queue[color];
}
/* The end of a cycle: its bindings hold for the router, too. */
void registers_settle(TileRegisters *registers);
/* The color that a queue is bound to now; NO_COLOR: to none. */
uint8_t registers_queue_color(const TileRegisters *r, const ImageClass *image, bool output,
                              unsigned queue);
static inline bool registers_flushing(const TileRegisters *r)
{
  return r->flushing[0] | r->flushing[1];
}

/* ---- record.c: what reports say of a tile's past --------------------------------------------- */

enum { RECENT_ACTIVATIONS = 4 };     /* as many as the bits of `next` count */
typedef struct {
  uint64_t started[TASK_CONTROL];       /* by TaskKind less one: tasks, a bit per id */
  uint64_t lost;                /* tasks activated again before they had started, likewise */
  uint16_t recent_pc[RECENT_ACTIVATIONS];   /* the last activations: by which instruction */
  uint8_t recent_id[RECENT_ACTIVATIONS], next : 2;
  uint8_t fifo_ended : 2;       /* a bit: the last operation of `fifo` that a FIFO has ended */
  uint8_t fifo_was_full : 1;    /* some FIFO has ended an operation that was to fill it */
  uint8_t fifo_was_empty : 1;   /* some FIFO had nothing at all for an operation into memory */
  /* a control wavelet has torn down a color, a flush has emptied its queue: the program has, or
   * should have, put an end to it */
  uint8_t to_be_ended : 1;
  /* the last activation that was lost, and the one before it, which stands for both */
  uint8_t lost_id;
  uint16_t lost_pc, before_pc;
  /* the last operations that took from a FIFO and that filled one; elements left of the one that an
   * empty or a full FIFO has ended */
  struct { uint16_t state, pc, elements; } fifo[2];
  uint16_t fifo_left;
  /* control wavelets whose entry is no control task, without those for no task; the last one */
  uint16_t untaken;
  uint8_t untaken_queue, untaken_color;
  uint32_t untaken_payload;
  uint64_t untaken_cycle;
} TileRecord;
static inline bool record_has_started(const TileRecord *r, TaskKind kind, unsigned id)
{
  return kind != TASK_NONE && (r->started[kind - 1] >> id & 1);
}
static inline void record_start(TileRecord *r, TaskKind kind, unsigned id)
{
  r->started[kind - 1] |= UINT64_C(1) << id;
}
/* The instruction of the last activation of a task, if it is one of the recent ones; PC_RETURN. */
uint16_t record_activator(const TileRecord *record, unsigned id);

/* Places of `blocked_at`: tasks by id, then microthreads. */
enum { BLOCK_PLACES = MAX_TASK_IDS + MAX_MICROTHREADS };
static inline unsigned block_place(IdKind kind, unsigned id)
{
  return kind == ID_MICROTHREAD ? MAX_TASK_IDS + id : id;
}

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
  EV_ROUTE,                     /* color, inputs, to: its routes, where the program has rewritten
                                   registers of the router: after the write, after a switch */
  EV_PUSH, EV_POP,              /* output, queue, color, payload, control */
  EV_WAIT,                      /* a vector operation begins to wait: pc, thread, id the
                                   StallCause */
  EV_STALL,                     /* it has waited: the same, and payload the cycles; a bank conflict
                                   at once and without a beginning */
  EV_HOST_IN,                   /* color, payload: through the host port */
  EV_HOST_OUT,                  /* and the output queue that it leaves */
  EV_LAUNCH,                    /* pc: function called by the host */
  EV_COUNT
} EventKind;
static inline TraceKind event_trace_kind(EventKind kind)
{
  switch (kind) {
  case EV_TASK_START: case EV_TASK_END: case EV_ACTIVATE: case EV_BLOCK: case EV_UNBLOCK:
    return TRACE_TASK;
  case EV_INST: case EV_GROUP: case EV_DONE:
    return TRACE_INST;
  case EV_WAVELET:
    return TRACE_WAVELET;
  case EV_SWITCH: case EV_ROUTE:
    return TRACE_SWITCH;
  case EV_PUSH: case EV_POP:
    return TRACE_QUEUE;
  case EV_WAIT: case EV_STALL:
    return TRACE_STALL;
  case EV_HOST_IN: case EV_HOST_OUT: case EV_LAUNCH:
    return TRACE_HOST;
  case EV_COUNT: default:
    ICE("no event %d", (int)kind);
  }
}

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
  PortMask to, inputs;
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
  bool stop;                    /* set by the receiver of events: the run ends with this cycle */
};
/* A sink that accepts everything of the given kinds. */
TraceSink trace_sink(const Program *program, uint32_t kinds,
                     void (*event)(TraceSink *, const TraceEvent *), void *context);
static inline bool trace_wants(const TraceSink *s, EventKind kind, uint64_t cycle)
{
  return s && (s->kinds >> event_trace_kind(kind) & 1) && cycle >= s->first_cycle &&
         cycle <= s->last_cycle;
}
bool trace_in_region(const TraceSink *sink, const Program *program, uint32_t tile);
/* The sink's region has the tile.  It mostly is the whole program: then nothing is divided. */
static inline bool trace_covers(const TraceSink *sink, const Program *program, uint32_t tile)
{
  const Image *image = program->image;
  return (sink->width == image->width && sink->height == image->height) ||
         trace_in_region(sink, program, tile);
}
/* "@CYCLE PX.Y KIND fields", without newline; what is behind `size` is left out.  Returns its
 * length. */
size_t trace_format(const Program *program, const TraceEvent *event, char *text, size_t size);

/* ---- what is counted ------------------------------------------------------------------------- */

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
  uint64_t hops[PORT_RAMP];     /* link crossings, by the side that the wavelet leaves by */
  uint64_t tasks;               /* started */
  uint64_t stalls[STALL_COUNT];
  uint64_t paid[TRUST_COUNT];   /* cycles of instructions and tasks, by what their rows rest on;
                                   those of the fabric and of groups are not among them */
} EngineStats;

/* ---- turn.c, tasks.c, issue.c, vector.c: a tile's turn --------------------------------------- */

/* The counts, findings, events and prints of tiles since the engine last collected them. */
typedef enum {
  PRINT_UNSIGNED, PRINT_SIGNED, PRINT_HEX, PRINT_BINARY, PRINT_FLOAT,   /* words of SIM_NUMBER */
  PRINT_BYTE,
} PrintKind;
typedef struct {
  uint64_t cycle;
  uint32_t tile, value;
  uint8_t kind;                 /* PrintKind */
  uint8_t bits;                 /* of the value */
} TilePrint;
typedef struct {
  EngineStats stats;
  Fault *faults;                /* stb_ds */
  TraceEvent *events;           /* stb_ds */
  TilePrint *prints;            /* stb_ds */
  uint64_t last_change;         /* cycle after the last one in which anything changed */
} TileLog;

enum {
  TILE_THREADS = 1 + MAX_MICROTHREADS, MAIN_THREAD = 0, NO_QUEUE = 0xff,
  LEVELS = 5,                   /* issue priorities: microthread low, main, medium, -, high */
  LEVEL_UT_LOW = 0, LEVEL_MAIN = 1, LEVEL_UT_MEDIUM = 2, LEVEL_UT_HIGH = 4,
  LOW16 = 0xffff, HALF_BITS = 16,
};
#define NEVER UINT64_MAX

typedef struct {
  VecRun *run;                  /* NULL: idle */
  uint64_t ready;               /* next group not before */
  uint64_t stall_since : 48;
  uint64_t stall : 8;           /* StallCause, not yet in the statistics */
  uint64_t plain : 1;           /* the engine has a short way for it */
} Thread;

/* A completion action, the event of a FIFO, or a write to a priority register (address not 0), to
 * come.  `value`: of an action, the pc of its operation. */
typedef struct { uint64_t cycle; Action action; bool by_fifo; uint16_t address, value; } TileAction;

/* The time stamp counter: what it was at cycle `start`, and whether it has run since; what was
 * latched of it and of the performance counters. */
typedef struct {
  uint64_t start, value, latch, performance_latch[2];
  bool running;
} Counters;

/* What a tile is, but for its queues and its router.  Its first members share a cache line with
 * what an engine keeps before them. */
typedef struct {
  uint16_t vectors;             /* threads with a running operation, a bit each */
  uint16_t readers;             /* input queues that running operations read */
  uint32_t index;
  uint8_t last_issued[LEVELS];
  uint8_t main_level : 4;
  bool launch_pending : 1;
  bool print_wide : 1;          /* the number that is printed next has an upper half */
  bool overlaps : 1;            /* the main thread goes on while its operation runs; then: */
  bool waits : 1;               /* it has come to what has to wait for the operation */
  bool running;                 /* a task or function; else idle and the scheduler may pick */
  uint8_t paused;               /* microthreads, a bit each */
  uint64_t pending_due;         /* tile_begin has something to do; NEVER: nothing is pending */
  uint64_t wavelets_seen;       /* that came into input queues */
  TileMem mem;
  Thread threads[TILE_THREADS];
  uint64_t issues;
  uint64_t ready;               /* next issue, or next pick when idle, not before; NEVER: not before
                                   an operation in the background has ended */
  uint64_t active, blocked, high;   /* tasks by id; high: picked before the others */
  uint16_t pc;
  uint16_t launch_entry;
  uint8_t task, task_id;
  /* threads whose runs have a priority above the lowest, as thread_set_level says: a bit each, from
     the first microthread on */
  uint8_t medium, above_medium;
  BusyMemory busy;
  Registers regs;
  uint16_t print_high;          /* if print_wide */
  bool shares_dsrs;             /* dsrs.own is not to be changed */
  uint8_t awaited;              /* the thread whose operation has to end, if `ready` is NEVER */
  uint32_t unblocks, torn_down; /* torn_down: colors, a bit each, since the handler last looked */
  TileAction *pending;          /* stb_ds, in order of issue */
  uint16_t *blocked_at;         /* by block_place; NULL: no program has blocked anything */
  Dsrs dsrs;
  TileRegisters registers;
  Counters *counters;           /* NULL: as Counters of zeros; from malloc */
  struct TileOrder *order;      /* order.c; NULL: not asked for; from malloc */
  TileRecord record;
} Tile;

/* A wavelet in an input queue. */
typedef struct {
  uint32_t payload;
  uint8_t color;
  bool control;
  bool kept;                    /* a control wavelet that has ended an operation */
  bool there;                   /* one that can be seen in this cycle */
} QueueHead;

/* Of how many elements the next group is, or how the operation ends. */
typedef struct {
  unsigned elements;
  bool by_control, by_fifo;
  bool marks_fifo;              /* it waits for a FIFO; the FIFO remembers that */
  uint8_t stream;               /* that it waits for: 1 src0, 2 src1, 0 dest */
} GroupPlan;

/* What a tile does in a cycle. */
typedef struct {
  uint8_t drops;                /* input queues whose head control wavelet is dropped */
  bool launch;
  uint8_t pick_id, pick_queue;  /* queue: data and control tasks */
  TaskKind pick;                /* TASK_NONE: no task starts */
  bool beside;                  /* an instruction of the main thread beside its own operation */
  bool waits;                   /* the main thread has come to what waits for its operation */
  int thread;                   /* that issues; -1 none */
  bool is_group;                /* a group; else an instruction */
  GroupPlan group;
  uint16_t fifo_marks;          /* threads that wait for a FIFO, a bit each */
  uint8_t stalls[TILE_THREADS];      /* StallCause, of running operations */
} TilePlan;

/* known.c: operations that begin as others have begun before. */

/* What an instruction has captured last, with the variables that it has found. */
enum { KNOWN_OPERANDS = 3 };    /* dest, src0, src1 */
enum { KNOWN_BITS = 8, KNOWN_RUNS = 1 << KNOWN_BITS };
typedef struct {
  const Insn *insn;             /* NULL: nothing yet */
  uint32_t times;               /* that one has begun as before: for tests */
  Descriptor desc[KNOWN_OPERANDS];      /* of those that have one */
  VecRun run;
} KnownRun;

/* A tile's turn in a cycle: what its functions are given. */
typedef struct Turn Turn;

/* What an engine keeps for a tile in its own way. */
typedef struct {
  /* queues */
  QueueHead (*head)(const Turn *turn, unsigned queue, unsigned place);
  void (*take)(Turn *turn, unsigned queue);         /* the head of an input queue */
  void (*keep)(Turn *turn, unsigned queue);         /* the head has ended an operation */
  void (*send)(Turn *turn, unsigned queue, QueueHead wavelet, bool advance);
  unsigned (*count)(const Turn *turn, bool output, unsigned queue);
  void (*use)(Turn *turn, bool output, unsigned queue, QueueUse use);
  QueueUse (*used)(const Turn *turn, bool output, unsigned queue);
  /* operations; `plan` and `group` are vector_plan and vector_group, or a shorter way */
  DsrState *(*dsrs_alloc)(Turn *turn, unsigned n);  /* as long as the tile; any bytes */
  /* What tiles share that have loaded the descriptor into the DSR at the place, too; NULL: nothing.
     Till now the tile shares its DSRs. */
  DsrState *(*dsrs_load)(Turn *turn, unsigned place, const Descriptor *desc);
  VecRun *(*run_alloc)(Turn *turn);
  KnownRun *(*known)(Turn *turn);   /* KNOWN_RUNS, zeros at first; no function: none */
  void (*run_free)(Turn *turn, VecRun *run);
  void (*started)(Turn *turn, unsigned thread);
  void (*sync)(Turn *turn, unsigned thread);        /* before anything looks into the operation */
  StallCause (*plan)(Turn *turn, unsigned thread, GroupPlan *plan);
  void (*group)(Turn *turn, unsigned thread, const GroupPlan *plan);
  /* False: the tile has no such color or filter. */
  bool (*router_read)(const Turn *turn, uint16_t address, uint16_t *value);
} TilePort;

struct Turn {
  const TilePort *port;
  const Program *program;
  Tile *tile;
  uint64_t cycle;
  TileLog *log;
  TraceSink *trace;             /* NULL none */
  unsigned checks;              /* CHECKS_* */
  bool prints;                  /* a receiver wants what the tile prints */
  bool changed;                 /* set where something of the tile has changed */
  bool rebinds;                 /* set where a queue may have got another color */
  uint16_t router_register, router_value;   /* written in this cycle; 0: none */
};

/* Memory with its class is up to the engine.  The rest must be zero. */
void tile_load(Tile *tile, const Program *program, uint32_t index);
void tile_unload(Tile *tile);
/* A tile of the class can do something of its own accord. */
bool tile_starts(const ClassCode *cls);

/* Cycle and tile are filled in. */
void turn_fault(Turn *turn, Fault fault);
#define turn_event(turn, ...)                                                                    \
  do {                                                                                           \
    if ((turn)->trace)                                                                           \
      turn_record((turn), (turn)->trace, (TraceEvent){__VA_ARGS__});                             \
  } while (0)
/* For a sink that may want it, or NULL. */
void turn_record(Turn *turn, const TraceSink *sink, TraceEvent event);

/* The cycles of a row, which a thread spends. */
static inline unsigned turn_pay(Turn *turn, TimingRowId row)
{
  unsigned cycles = timing_cycles(&turn->program->timing, row);
  turn->log->stats.paid[timing_trust(row)] += cycles ? cycles : 1;
  return cycles;
}
/* The same so many times, for a row that begins with the cycle of a group: that is the group's. */
static inline unsigned turn_pay_behind(Turn *turn, TimingRowId row, unsigned times)
{
  unsigned cycles = timing_cycles(&turn->program->timing, row);
  turn->log->stats.paid[timing_trust(row)] += times * (cycles ? cycles - 1 : 0);
  return cycles;
}

/* Actions that take effect now: when `pending_due` has come. */
void tile_begin(Turn *turn);
/* The cycle of the soonest one after `now`, also while a flush is looked at; NEVER: none. */
uint64_t tile_next_action(const Tile *tile, uint64_t now);
/* What the tile does in this cycle; `queues`: input queues that may have something for the
 * scheduler.  Only changes the plan.  Then what was planned. */
void tile_plan(Turn *turn, TilePlan *plan, unsigned queues);
void tile_commit(Turn *turn, const TilePlan *plan);
/* For engines with a way of their own to plan. */
/* The id whose blocked bit closes the channel of an input queue whose head has this color; that of
 * the data task. */
static inline unsigned tile_channel_id(const Turn *turn, unsigned queue, unsigned color)
{
  return turn->program->image->arch == ARCH_WSE2 ? color : queue;
}
/* The local task that the scheduler picks if no other one may start: the active one next in turn,
 * among those of high priority if there are any.  -1: none. */
int tile_next_local(const Tile *t);
/* A task that the scheduler picks; of a data or control task, the wavelet that starts it, and the
 * queue that it has been taken from. */
void tile_start_task(Turn *turn, TaskKind kind, unsigned id, unsigned queue, QueueHead wavelet);
void tile_change_stall(Turn *turn, unsigned thread, StallCause cause);
/* The same without a trace. */
static inline void tile_count_stall(Turn *turn, unsigned thread, StallCause cause)
{
  Thread *th = &turn->tile->threads[thread];
  if (th->stall != STALL_NONE)
    turn->log->stats.stalls[th->stall] += turn->cycle - th->stall_since;
  th->stall = (uint8_t)cause;
  th->stall_since = turn->cycle;
  if (turn->cycle >= turn->log->last_change)
    turn->log->last_change = turn->cycle + 1;
}
/* The priority of a thread's run is a new one; that of the main thread's says nothing. */
static inline void thread_set_level(Tile *t, unsigned thread)
{
  Priority priority = t->threads[thread].run->priority;
  unsigned bit = (1u << thread) >> 1;
  t->medium = (uint8_t)((t->medium & ~bit) | (priority == PRIO_MEDIUM ? bit : 0));
  t->above_medium = (uint8_t)((t->above_medium & ~bit) | (priority == PRIO_HIGH ? bit : 0));
}
/* Those among these threads that rank highest, and their level. */
static inline unsigned threads_ranking_highest(const Tile *t, unsigned threads, unsigned *level)
{
  unsigned micro = threads >> 1, high = micro & t->above_medium, medium = micro & t->medium;
  unsigned highest = (high ? high : medium ? medium : micro) << 1;
  *level = high ? LEVEL_UT_HIGH : medium ? LEVEL_UT_MEDIUM : LEVEL_UT_LOW;
  if (!(threads & 1u << MAIN_THREAD) || (highest && t->main_level < *level))
    return highest;
  unsigned equal = highest && t->main_level == *level ? highest : 0;
  *level = t->main_level;
  return equal | 1u << MAIN_THREAD;
}
/* The level of a thread that issues. */
static inline unsigned thread_level(const Tile *t, unsigned thread)
{
  unsigned bit = (1u << thread) >> 1;
  return thread == MAIN_THREAD ? t->main_level : t->above_medium & bit ? LEVEL_UT_HIGH
         : t->medium & bit ? LEVEL_UT_MEDIUM : LEVEL_UT_LOW;
}
/* The one among the ready threads that issues: strict priority between levels, round robin from the
 * last issued within one.  -1: none is ready. */
static inline int tile_choose_thread(const Tile *t, unsigned ready)
{
  unsigned level;
  if (!(ready & (ready - 1)))
    return ready ? __builtin_ctz(ready) : -1;
  unsigned among = threads_ranking_highest(t, ready, &level);
  unsigned last = t->last_issued[level], behind = among >> last >> 1;
  return behind ? (int)last + 1 + __builtin_ctz(behind) : __builtin_ctz(among);
}
/* A control wavelet has torn down a color of the tile's router. */
void tile_tear_down(Turn *turn, unsigned color);
/* The tile's DSRs, to be changed. */
DsrState *tile_own_dsrs(Turn *turn);

/* The task of the main thread is over. */
void tile_end_main(Turn *turn);
/* The main thread carries out the instruction at the tile's pc. */
void tile_issue(Turn *turn);
/* The same, of this instruction and without an event. */
void tile_carry_out(Turn *turn, const Insn *insn);

/* Why the operation cannot do a group now; STALL_NONE: it can. */
StallCause vector_plan(Turn *turn, unsigned thread, GroupPlan *plan);
void vector_start(Turn *turn, const Insn *insn);
/* With the last group of the thread's operation before, which is over with its bank conflict in
 * cycle `last`. */
void vector_start_behind(Turn *turn, const Insn *insn, uint64_t last);
void vector_group(Turn *turn, unsigned thread, const GroupPlan *plan);
/* Its last group has been done, with `extra` cycles of a bank conflict. */
void vector_end(Turn *turn, unsigned thread, unsigned extra);
/* Wavelets in a queue and on its ramp. */
unsigned input_capacity(const Program *program, unsigned queue);
unsigned output_capacity(const Program *program, unsigned queue);

/* ---- state.c: a tile's state as bytes -------------------------------------------------------- */

/* What is left of some bytes that are to be read; `bad`: they have ended too soon, or made no
 * sense. */
typedef struct { const uint8_t *at, *end; bool bad; } StateReader;
/* Appends to an stb_ds array. */
void state_put(unsigned char **bytes, const void *from, size_t n);
/* Zeros from where the bytes have ended. */
void state_get(StateReader *in, void *to, size_t n);
/* The same for as many bytes as a number says, which is at most `most`; false: there are not. */
bool state_get_count(StateReader *in, uint32_t most, uint32_t *count);

/* A tile as it is between cycles, all but what a TilePort stands for.  The struct is the
 * definition: a new field is part of the state, if it is no pointer.  Memory comes first. */
void tile_save(const Tile *tile, unsigned char **bytes);
/* Into the turn's tile, which is as loaded. False: the bytes are not of such a tile; it can only be
 * unloaded then. */
bool tile_restore(Turn *turn, StateReader *in);
/* Changes with what the bytes mean: sizes and places of the fields. */
uint32_t tile_state_form(void);

#endif
