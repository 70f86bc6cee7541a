/* emu/machine: the machine's times, and a program image loaded for it (shared, read-only).
 *
 * Reading order: timing.def, docs/cycle-model.md, timing, load; faults.def lists the possible
 * findings about a program. Tiles are numbered y * width + x inside the rectangle.
 */
#ifndef EMU_PROGRAM_H
#define EMU_PROGRAM_H

#include "ir/machine/machine.h"

/* ---- timing.c -------------------------------------------------------------------------------- */

/* One architecture's column of timing.def.  Rows are uint16_t named as in the table. */
typedef struct {
#define TIMING(name, wse2, wse3, status, source) uint16_t name;
#define SIMD(op, wse2, wse3)
#define STRIDE(residue, elements)
#define MODE(mode, row, cycles)
#include "emu/machine/timing.def"
  uint8_t simd[VEC_COUNT];      /* elements of one group */
  uint8_t stride_limit[8];      /* by stride mod 8; 0: full width */
} Timing;

const Timing *timing_get(Arch arch);

/* The rows by number. */
typedef enum {
#define TIMING(name, wse2, wse3, status, source) TIMING_##name,
#define SIMD(op, wse2, wse3)
#define STRIDE(residue, elements)
#define MODE(mode, row, cycles)
#include "emu/machine/timing.def"
  TIMING_ROWS
} TimingRowId;

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
/* The same for a list of words, "ROW:CYCLES,...", from 1 to TIMING_MOST cycles, of a ramp to
 * TIMING_MOST_RAMP; a mode's name stands for its rows, on wse2: NULL, or the first word that is
 * none. */
enum { TIMING_MOST = 1000, TIMING_MOST_RAMP = 8 };
const char *timing_set_words(Timing *timing, Arch arch, const char *words, Arena *scratch);
/* Sets the rows as others of the same architecture are; false, and nothing is changed: some cannot
 * be so. */
bool timing_set_all(Timing *timing, const Timing *others);
/* How far a row can be trusted. */
typedef enum { TRUST_DOCUMENTED, TRUST_FITTED, TRUST_ASSUMED, TRUST_COUNT } TimingTrust;
static inline TimingTrust timing_trust(TimingRowId row)
{
  static const uint8_t trusts[] = {
#define TRUST_D TRUST_DOCUMENTED
#define TRUST_I TRUST_FITTED
#define TRUST_G TRUST_ASSUMED
#define TIMING(row, wse2, wse3, status, source) TRUST_##status,
#define SIMD(op, wse2, wse3)
#define STRIDE(residue, elements)
#define MODE(mode, row, cycles)
#include "emu/machine/timing.def"
#undef TRUST_D
#undef TRUST_I
#undef TRUST_G
  };
  return (TimingTrust)trusts[row];
}
const char *timing_trust_name(TimingTrust trust);
/* Where the thread goes on: only jumps and branches go elsewhere than to the next instruction. */
typedef enum { STEP_NEXT, STEP_FORWARD, STEP_BACK } ScalarStep;
static inline ScalarStep step_to(uint32_t pc, uint32_t target)
{
  return target <= pc ? STEP_BACK : STEP_FORWARD;
}
/* Cycles from the issue of a scalar instruction to its thread's next issue.  `step` matters to
 * jumps and branches only; DSR loads and vector instructions have their own rules. */
unsigned timing_scalar(const Timing *timing, CostClass cost, ScalarStep step);
/* The row that says so. */
TimingRowId timing_scalar_row(CostClass cost, ScalarStep step);
static inline unsigned timing_cycles(const Timing *timing, TimingRowId row)
{
  uint16_t cycles;              /* a Timing begins with its rows, in their order */
  memcpy(&cycles, (const char *)timing + row * sizeof cycles, sizeof cycles);
  return cycles;
}

/* ---- load.c: the program, shared and read-only ----------------------------------------------- */

/* Reached by `ret` at the end of a function that the engine itself has called (launch without
 * memcpy): odd, so never an address of code. */
enum { PC_RETURN = 0xffff, NO_INSN = -1 };

enum { TRANSFORM_BITS = 0x3f };      /* of CONTROL_TRANSFORM */
#define RANDOM_SEED 0xdeadbeefu      /* SDK docs, builtins: initial state of @random16 */

/* Registers as a class' configuration sets them before the start. */
typedef struct {
  bool tsc_running;
  uint8_t main_priority;        /* value of MAIN_PRIORITY */
  uint8_t transform;            /* of CONTROL_TRANSFORM */
  uint16_t exceptions;          /* of EXCEPTION_MASK */
  uint32_t random;              /* of PRNG_STATE, the first generator */
  uint64_t tsc_value, high_tasks;
} StartRegisters;

/* Addresses of a variable; `end` 0: not known. */
typedef struct { uint16_t start, end; } Bounds;

/* A DSR: its descriptor, and where a single-step walk through it stands. */
typedef struct {
  Descriptor desc;
  uint32_t remaining;           /* elements a single-step descriptor has left */
  uint16_t index[4];            /* its position in each dimension */
} DsrState;
void dsr_set(DsrState *dsr, const Descriptor *desc);
/* Elements that the descriptor spans; MEM4D: the product. */
uint32_t dsr_length(const Descriptor *desc);

/* Where the tiles of a class keep which DSR: only those that its code names take room. */
enum { NO_DSR = 0xff };
typedef struct {
  uint8_t n;
  uint8_t place[DSR_FILE_COUNT][MAX_DSRS];
  const DsrState *start;        /* by place: what they hold at first */
} DsrMap;

/* The variable that an operand of a vector instruction is meant for. */
typedef struct { uint16_t pc; VecSlot slot; Bounds object; } OperandObject;

/* Where the variables of a class lie. */
typedef struct {
  const Bounds *accesses;       /* by word of code: of the variable that a load or store is meant
                                   for */
  const Bounds *objects;        /* all that have a name, by address */
  uint32_t n_objects;
  bool are_apart;               /* no byte is in two of them */
  const OperandObject *operands;   /* of vector instructions, by pc */
  uint32_t n_operands;
} MemoryFacts;

/* A class with its code decoded once. */
typedef struct {
  const ImageClass *image;
  uint32_t index;               /* in the image */
  uint32_t code_end;            /* byte address after the last code word */
  uint32_t stack_low;           /* lowest address of the stack that the compiler counted on */
  uint32_t floor;               /* the stack pointer may not go below: end of data and code */
  uint32_t data_low, data_end;  /* the larger part of the static data on one side of the code */
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
  /* `static_bytes` that several tiles start with, and share until they write; NULL: each has its
     own */
  const uint8_t *initial;
  DsrMap dsrs;
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
  const MemoryFacts *memory_facts;      /* by class; NULL: accesses are not checked */
  bool check_reads;             /* reads of unwritten memory are faults */
  const char *path;             /* of the file that has the image; NULL: no file is known */
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
/* What a tile sends on the color goes to the host, not to its router. */
static inline bool program_is_host_color(const Program *p, unsigned color)
{
  return p->host_out_colors >> color & 1;
}
/* NULL: the tile has no code. */
const ClassCode *program_class(const Program *program, uint32_t tile);
/* Puts the data that all tiles of the class start with into `bytes`, its static data, which are
 * zero. */
void class_initialise(const ClassCode *cls, uint8_t *bytes);
/* The instruction at a byte address, or NULL: outside the code or inside an instruction. */
const Insn *class_insn(const ClassCode *cls, uint32_t pc);
/* Color configuration of a tile's router, or NULL. */
const ImageColorConfig *program_color(const Program *program, uint32_t tile, unsigned color);
/* The color that a wavelet of `color` has inside a router that it enters by `port`: a color with
 * a swap takes the wavelets of its pair partner (SDK docs, advanced features). */
uint8_t program_color_inside(const Program *program, uint32_t tile, uint8_t color, Port port);
/* The stream of a host script's layout that ends at the tile with this color, or NULL. */
const ImageStream *program_stream(const Program *program, uint32_t tile, unsigned color);
/* Names for reports; text that lives as long as the program, never NULL ("" if unnamed). */
const char *program_color_name(const Program *program, uint32_t tile, unsigned color);
const char *program_queue_name(const Program *program, uint32_t tile, bool output, unsigned queue);
const char *program_task_name(const Program *program, uint32_t tile, TaskKind kind, unsigned id);
/* "file:line" of an instruction, "" if unknown; at most `size` bytes. */
void program_location(const Program *program, uint32_t tile, uint32_t pc, char *text, size_t size);
/* Channel of the host port that serves a tile: bands of rows. */
unsigned program_channel(const Program *program, uint32_t tile);
/* Routers that a command of the host passes on its way to a tile: its channel comes in at the
 * south-west corner of the band. */
unsigned program_command_routers(const Program *program, uint32_t tile);

/* ---- findings.c, faults.def: findings about the program ------------------------------------- */

typedef enum {
#define FAULT(name, group, text) FAULT_##name,
#include "emu/machine/faults.def"
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
/* DSR_EMPTY: the file in the bits above the number. */
enum { FAULT_DSR_FILE = 1 << 8 };
static inline uint32_t fault_dsr(DsrFile file, unsigned number)
{
  return number | (uint32_t)file * FAULT_DSR_FILE;
}
/* QUEUE_MIXED: the color at the head, in the bits above. */
enum { FAULT_HEAD_SHIFT = 16 };
static inline uint32_t fault_head(unsigned color) { return color << FAULT_HEAD_SHIFT; }
const char *fault_name(FaultKind kind);
/* What --check asks for besides a level; MEMORY: accesses outside of variables are errors. */
enum { CHECKS_MEMORY = 1, CHECKS_TASKS = 2, CHECKS_STRICT = 4, CHECKS_LENGTHS = 8,
       CHECKS_ORDER = 16 };
typedef enum { CHECK_OFF, CHECK_WARN, CHECK_ERROR, CHECK_COUNT } CheckLevel;
/* What becomes of a finding: nothing, it is recorded, or it also ends the run. */
CheckLevel fault_level(FaultKind kind, CheckLevel check, unsigned checks);
/* Adds what was found, sorted by cycle and then as fault_compare does, to all findings (stb_ds), up
 * to the first cycle with one that ends the run.  True: there is one.  But for what always ends a
 * run, a finding is kept once per tile and place; what leaves the rectangle, once. */
bool faults_collect(Fault **all, const Fault *found, size_t count, CheckLevel check,
                    unsigned checks);
/* Order of several faults of one cycle: tile, kind, color, pc. */
int fault_compare(const void *a, const void *b);

#endif
