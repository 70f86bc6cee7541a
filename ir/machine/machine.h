/* ir/machine: everything that compiler and emulator share: the machine's numbers, the
 * instruction set, descriptors and the program image.
 *
 * Reading order: machine.def, vecops.def, isa.def, config_regs.def, then this header.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include "ir/base/base.h"

/* ---- machine.c, isa.c -------------------------------------------------------------------- */

typedef enum { ARCH_WSE2, ARCH_WSE3, ARCH_COUNT } Arch;

enum {
  MAX_COLORS = 24,
  MAX_QUEUES = 8,
  MAX_TASK_IDS = 64,
  MAX_SWITCH_POSITIONS = 4,
  MAX_SWITCH_COMMANDS = 8,
  MAX_FILTERS = 6,
  MAX_DSRS = 16,
  MAX_XDSRS = 8,
  MAX_MICROTHREADS = 8,
  MAX_GENERATORS = 4,
  GPR_COUNT = 16,
  PE_MEM_BYTES = 49152,
  COUNTER_WORDS = 9,    /* words that stctr reads: TSC_COUNTER, then PERF_COUNTER */
  /* Sizes of arrays; machine.c asserts at compile time that no column of machine.def exceeds
   * them, and that they are reached. */
};

typedef struct {
  const char *name;   /* "wse2" */
#define MACHINE(field, wse2, wse3, source) uint32_t field;
#define MACHINE_LIST(field, count, wse2, wse3, source) uint16_t field[count];
#define MACHINE_MASK(field, wse2, wse3, source) uint64_t field;
#include "ir/machine/machine.def"
} Machine;

const Machine *machine_get(Arch arch);
bool arch_from_name(const char *name, Arch *arch);

/* Directions, also bit numbers of port masks.  (0,0) is the north-west tile; y grows south. */
typedef enum { PORT_NORTH, PORT_SOUTH, PORT_EAST, PORT_WEST, PORT_RAMP, PORT_COUNT } Port;
typedef uint8_t PortMask;
const char *port_name(Port port);
static inline PortMask port_bit(Port p) { return (PortMask)(1u << p); }
/* The port at the other end of a link; the ramp is its own. */
_Static_assert(PORT_SOUTH == (PORT_NORTH ^ 1) && PORT_WEST == (PORT_EAST ^ 1) &&
                   PORT_RAMP == PORT_COUNT - 1,
               "the ports of a direction differ in bit 0, and the ramp comes after them");
static inline Port port_opposite(Port p) { return (Port)(p ^ (p < PORT_RAMP)); }

typedef enum { TASK_NONE, TASK_DATA, TASK_LOCAL, TASK_CONTROL } TaskKind;
/* What a block/unblock/activate names.  A color (wse2) is a data task id of the same number. */
typedef enum { ID_TASK, ID_INPUT_QUEUE, ID_MICROTHREAD, ID_KIND_COUNT } IdKind;
const char *task_kind_name(TaskKind kind);
const char *id_kind_name(IdKind kind);
unsigned id_kind_limit(IdKind kind);   /* ids of the kind are less */
/* The numbers that values of a type of ids such as "color" may have; the type's name, or NULL if it
 * is no such type. */
const char *machine_id_range(const Machine *m, const char *type, size_t length, uint32_t *least,
                             uint32_t *most);

typedef enum {
#define CONFIG_REG(name, address, count, access, source) CFG_##name = address,
#include "ir/machine/config_regs.def"
} ConfigReg;
enum { CONFIG_READ = 1, CONFIG_WRITE = 2, CONFIG_STARTS_AT_0 = 4 };
typedef struct {
  const char *name;
  uint16_t address, count;
  uint8_t access;     /* CONFIG_READ, CONFIG_WRITE, CONFIG_STARTS_AT_0 */
  const char *source;
} ConfigRegInfo;
extern const ConfigRegInfo config_regs[];
extern const size_t config_reg_count;
/* The row that holds the word address, or NULL. */
const ConfigRegInfo *config_reg_at(uint16_t address);

/* Control wavelet payload (SDK docs, control library; bit layout visible in public programs):
 * bits 16-21 entry point; 22-23 command 0, 24 its ce-ignore bit; 25-26/27 command 1;
 * 28-29 command 2 and bit 0 its ce-ignore; then 1-2/3 ... 13-14/15 for commands 3..7. */
typedef enum { CMD_NOP, CMD_SWITCH_ADV, CMD_SWITCH_RST, CMD_TEARDOWN } SwitchCommand;
typedef struct { SwitchCommand command; bool ce_ignore; } ControlCommand;
ControlCommand control_command(uint32_t payload, unsigned slot);
uint32_t control_with_command(uint32_t payload, unsigned slot, ControlCommand command);
unsigned control_entry(uint32_t payload);
uint32_t control_with_entry(uint32_t payload, unsigned entry);
/* All commands one slot down; NOP with ce-ignore enters slot 7. */
uint32_t control_pop(uint32_t payload);

/* ---- isa.c --------------------------------------------------------------------------- */

typedef enum {
#define INSN(name, format, cost, semantics) OP_##name,
#include "ir/machine/isa.def"
  OP_COUNT
} Opcode;

typedef enum {
  FMT_NONE, FMT_R, FMT_RR, FMT_RRR, FMT_RRI, FMT_RI, FMT_RI32, FMT_I, FMT_LD, FMT_LDA, FMT_ST,
  FMT_STA, FMT_J, FMT_RJ, FMT_RRJ, FMT_RIJ, FMT_DSRLD, FMT_DSRSET, FMT_DSRGET, FMT_CTR, FMT_CTRA,
  FMT_VEC, FMT_COUNT
} InsnFormat;

/* Cost classes, named in isa.def; their cycles are rows of emu/machine/timing.def. */
typedef enum {
  COST_ALU16, COST_ALU32, COST_CMP32, COST_ORDER32, COST_MOVE32, COST_MUL32, COST_IDIV, COST_FP,
  COST_FDIV, COST_FCONV, COST_LOAD, COST_STORE, COST_JUMP, COST_BRANCH, COST_CALL, COST_RETURN,
  COST_ENDTASK, COST_DSR_LOAD, COST_DSR_UPDATE, COST_VECTOR, COST_CONFIG, COST_COUNTER, COST_RANDOM,
  COST_COUNT
} CostClass;

typedef enum {
  VK_ADD, VK_ADDC, VK_SUB, VK_AND, VK_OR, VK_XOR, VK_SLL, VK_SLR, VK_SAR, VK_CLZ, VK_CTZ,
  VK_POPCNT, VK_MOV, VK_FADD, VK_FSUB, VK_FMUL, VK_FMAX, VK_FADDHS, VK_FMAC, VK_FMACHS, VK_FNEG,
  VK_FABS, VK_S2H, VK_H2S, VK_F2I, VK_I2F, VK_FNORM, VK_FSCALE, VK_DFILT
} VecKind;
typedef enum { VE_I16, VE_B16, VE_F16, VE_F32, VE_B32 } VecElem;
static inline unsigned vec_elem_bytes(VecElem e) { return e >= VE_F32 ? 4 : 2; }

typedef enum {
#define VECOP(name, kind, dst, src, sources, scalar) VEC_##name,
#include "ir/machine/vecops.def"
  VEC_COUNT
} VecOp;
typedef struct {
  const char *name;
  VecKind kind;
  VecElem dst, src;
  uint8_t sources;
  bool scalar;
} VecOpInfo;
extern const VecOpInfo vecops[VEC_COUNT];
bool vecop_from_name(const char *name, VecOp *op);

/* DSR files.  A vector instruction's operand names one of these, or a register, or nothing. */
typedef enum { DSR_DEST, DSR_SRC0, DSR_SRC1, DSR_FILE_COUNT } DsrFile;
typedef enum { VOPND_NONE, VOPND_DSR, VOPND_REG } VecOperandKind;
typedef struct {
  VecOperandKind kind;
  DsrFile file;      /* VOPND_DSR; dest: DEST or SRC0; sources: SRC0 or SRC1 */
  uint8_t number;    /* DSR number, or register (even of a pair for 32-bit elements) */
} VecOperand;
/* Operands of OP_vec.  Length of the operation: length of src0's descriptor if non-zero, else
 * of src1's, else of dest's, else 1 (public comment in Cerebras/csl-examples, benchmark-libs/
 * allreduce).  With one source it is src1.  dest in a register: with src0 in the same register
 * the operation folds (acc = op(acc, element)); otherwise the last result remains.
 * A register operand is read when the instruction issues. */
typedef struct {
  VecOp op;
  VecOperand dest, src0, src1;
  bool has_scalar, has_index;
  uint8_t scalar;    /* register: factor of fmac*, exponent of fscale* */
  uint8_t index;     /* register: value for descriptors with DESC_F_INDEX */
  uint8_t priority;  /* 1 + Priority of the operation; 0: that of its descriptors */
} VecOperands;
typedef enum { VSLOT_DEST, VSLOT_SRC0, VSLOT_SRC1, VSLOT_SCALAR } VecSlot;
/* Element bytes of an operand: a register operand of 4 is the even register of a pair.  The
 * mixed operations take an f32 accumulator as src0: fmachs always, faddhs when it folds (dest
 * and src0 in a register). */
unsigned vec_operand_bytes(const VecOperands *vec, VecSlot slot);

/* Fields that dsrset/dsrget name.  BASE_ADD adds (bytes) to the base, FLAGS sets the given bits
 * and keeps the others. */
typedef enum {
  DSRF_BASE, DSRF_BASE_ADD, DSRF_LENGTH, DSRF_STRIDE, DSRF_DONE, DSRF_CONTROL, DSRF_FLAGS,
  DSRF_LENGTH0, DSRF_STRIDE0, DSRF_LENGTH1, DSRF_STRIDE1,   /* the loops of mem4d, innermost */
  DSRF_LENGTH2, DSRF_STRIDE2, DSRF_LENGTH3, DSRF_STRIDE3,   /* first, as in its descriptor */
  DSRF_REMAINING,    /* read only: elements a single-step descriptor has left */
  DSRF_COUNT
} DsrField;
const char *dsr_field_name(DsrField field);
const char *dsr_file_name(DsrFile file);

typedef struct {
  Opcode op;
  uint8_t a, b, c;      /* registers, DSR number or counter word, by format */
  DsrFile file;         /* DSR formats */
  DsrField field;
  bool absolute;        /* DSRLD: no base register; DSRSET: immediate operand */
  uint8_t xdsr;
  uint32_t imm;         /* immediate, offset or target (byte address) */
  uint32_t target;      /* RIJ: the target; imm is the compared value */
  VecOperands vec;
} Insn;

typedef struct {
  const char *name;
  InsnFormat format;
  CostClass cost;
  const char *semantics;
} InsnInfo;
extern const InsnInfo insn_info[OP_COUNT];
const char *insn_format_name(InsnFormat format);
const char *cost_class_name(CostClass cost);
unsigned insn_words(Opcode op);
/* Is operand 0 (a), 1 (b) or 2 (c) an even pair of registers?  The semantics column says so by
 * naming it da, db or dc. */
bool insn_is_pair(Opcode op, unsigned operand);
/* Does the instruction write register a?  For vec it depends on the operands. */
bool insn_defines_a(Opcode op);
bool insn_defines_carry(Opcode op);
/* Bytes that a load or store accesses in memory; 0: it is neither. */
unsigned insn_access_bytes(Opcode op);
bool insn_equal(const Insn *x, const Insn *y);
/* Is it a jump, branch or call with a fixed target? */
bool insn_has_target(Opcode op);
/* Where such a one goes; false: it is none. */
bool insn_target(const Insn *insn, uint32_t *target);
/* Encodes into words[0..2] and returns how many (1 to 3).  16-bit immediates are patterns
 * (0..0xffff, so cast negative ones to uint16_t); fields that the format does not use must be
 * zero.  An instruction that cannot be decoded to the same again is an internal error. */
unsigned insn_encode(const Insn *insn, uint16_t words[3]);
/* Decodes the instruction at words; `available` words may be read.  Returns its length, or 0
 * with *reason set when the words are no valid instruction (every field is checked). */
unsigned insn_decode(const uint16_t *words, size_t available, Insn *insn, const char **reason);
/* Assembly text as `cslc --emit=asm` prints it, without address; at most `size` bytes. */
void insn_print(const Insn *insn, char *text, size_t size);

/* ---- desc.c: descriptors in memory ---------------------------------------------------- */

/* A DSD value in tile memory, little-endian words:
 *   word 0   kind (3:0) | flags (15:4)
 *   memory, 1 dimension (descriptor_bytes):
 *     1 base byte address  2 length  3 stride (elements, signed)
 *   memory, up to 4 dimensions (descriptor4_bytes), innermost first:
 *     1 base  2 length0  3 stride0  4 length1  5 stride1 ... 9 stride3
 *     a stride is the delta applied when that loop steps, after the inner loops have wrapped
 *   circular buffer: 1 current address  2 length  3 stride  4 first address  5 elements in it
 *   fabric: 1 queue (3:0) | color (12:8)  2 length  3 done action  4 on-control action
 *     5 priority (1:0), 2 priority given, SIMD mode (6:4), ut (11:8), 15 ut given
 *   FIFO: 1 address of the FIFO's state block  2 length (0: the other operands decide)
 * Words and bits that a kind does not use are zero.  The exact bits are the enums below. */
typedef enum {
  DESC_NONE, DESC_MEM1D, DESC_MEM4D, DESC_CIRC, DESC_FABIN, DESC_FABOUT, DESC_FIFO, DESC_KIND_COUNT
} DescKind;
const char *descriptor_kind_name(DescKind kind);
unsigned descriptor_words(DescKind kind);
/* Words and bits of fabric descriptors. */
enum {
  DESC_W_QUEUE = 1, DESC_W_LENGTH = 2, DESC_W_DONE = 3, DESC_W_ON_CONTROL = 4, DESC_W_MODES = 5,
  DESC_QUEUE_MASK = 0xf, DESC_COLOR_SHIFT = 8, DESC_COLOR_MASK = 0x1f, DESC_QUEUE_UNUSED = 0xe0f0,
  COLOR_OF_QUEUE = DESC_COLOR_MASK,   /* in place of a color: the one that the queue is bound to */
  DESC_M_PRIORITY_MASK = 3, DESC_M_PRIORITY_GIVEN = 1 << 2,
  DESC_M_SIMD_SHIFT = 4, DESC_M_SIMD_MASK = 7,
  DESC_M_UT_SHIFT = 8, DESC_M_UT_MASK = 0xf, DESC_M_UT_GIVEN = 1 << 15,
  DESC_M_UNUSED = 0x7088,
};
enum {
  DESC_F_ASYNC = 1 << 4,
  DESC_F_INDEX = 1 << 5,          /* wavelet_index_offset */
  DESC_F_CONTROL = 1 << 6,        /* fabout: send control wavelets */
  DESC_F_ADVANCE = 1 << 7,        /* advance_switch */
  DESC_F_SAVE = 1 << 8,           /* save_address */
  DESC_F_STEP = 1 << 9,           /* single_step */
  DESC_F_TRANSFORM = 1 << 10,     /* control_transform */
  DESC_F_ZERO0 = 1 << 11,         /* zero the first source when done */
  DESC_F_ZERO1 = 1 << 12,
  DESC_F_SCALAR = 1 << 13,        /* one number's place: says no length */
};
/* Completion and on-control actions, one word: kind (2:0), id kind (4:3), id (15:8). */
typedef enum { ACT_NONE, ACT_ACTIVATE, ACT_UNBLOCK, ACT_TERMINATE } ActionKind;
typedef struct { ActionKind kind : 8; IdKind id_kind : 8; uint8_t id; } Action;
uint16_t action_encode(Action action);
bool action_decode(uint16_t word, Action *action);

typedef enum { PRIO_LOW, PRIO_MEDIUM, PRIO_HIGH, PRIO_COUNT } Priority;
const char *priority_name(Priority priority);
/* DEFAULT: what the release of the program makes of no mode (Image.sdk). */
typedef enum { SIMD_DEFAULT, SIMD_32, SIMD_64, SIMD_32_OR_64, SIMD_OFF, SIMD_COUNT } SimdMode;

/* Compact: an emulator keeps some for each tile. */
typedef struct {
  DescKind kind : 8;
  uint16_t flags;               /* DESC_F_* */
  uint16_t base;                /* byte address; FIFO: its state block */
  uint16_t length;              /* elements; mem4d: 0, see lengths */
  int16_t stride;               /* mem1d, circular */
  uint16_t lengths[4];          /* mem4d, innermost first; unused dimensions are 1 */
  int16_t strides[4];
  uint16_t wrap_base, wrap_length;   /* circular buffer */
  uint8_t queue, color;         /* fabric; color: or COLOR_OF_QUEUE */
  Action done, on_control;
  Priority priority : 8;
  bool priority_given;
  SimdMode simd : 8;
  bool ut_given;
  uint8_t ut;
} Descriptor;
/* Number of words written: descriptor_bytes or descriptor4_bytes over 2.  A descriptor with a
 * field out of range, or set although its kind has no such field, is an internal error. */
unsigned descriptor_encode(const Descriptor *desc, uint16_t words[12]);
/* False when the words are no valid descriptor. */
bool descriptor_decode(const uint16_t *words, size_t available, Descriptor *desc);
bool descriptor_equal(const Descriptor *a, const Descriptor *b);
/* `variable`: addresses count from the start of this one; "": of one without a name; NULL: they are
 * those of the tile. */
void descriptor_print(const Descriptor *desc, const char *variable, char *text, size_t size);

/* FIFO state block in tile memory (ours), words: 0 first address  1 capacity (elements)
 * 2 read position  3 write position  4 elements held  5 flags (bit 0 pop found it empty,
 * bit 1 push found it full; 5:4 what a pop does that finds it empty, 7:6 a push that finds it full:
 * FifoAction)  6 element bytes of the last push  7 push action  8 pop action
 * 9 read length  10 write length (elements; 0: the other operands decide). */

/* TEST: a synchronous operation ends and reports it, an asynchronous one waits. TERMINATE: it is
 * over. */
typedef enum { FIFO_TEST, FIFO_TERMINATE, FIFO_SUSPEND, FIFO_FAULT } FifoAction;
enum { FIFO_W_FLAGS = 5, FIFO_EMPTY_SHIFT = 4, FIFO_FULL_SHIFT = 6, FIFO_ACTION_MASK = 3 };
enum {
  FIFO_STATE_WORDS = 12, FIFO_W_HELD = 4, FIFO_W_PUSH_ACTION = 7, FIFO_W_POP_ACTION = 8,
  FIFO_W_READ_LENGTH = 9, FIFO_W_WRITE_LENGTH = 10
};

/* ---- image_debug.c, image_write.c: the program image ------------------------------------- */

/* All pointers of an Image live in its arena.  Counts are of elements. */

typedef struct { uint16_t address, bytes; const uint8_t *data; } ImageSegment;

typedef struct {
  uint16_t entry;             /* byte address of the first instruction */
  TaskKind kind;
  uint8_t id;                 /* task id */
  uint8_t arguments;          /* 16-bit words of the payload that the task takes: 0, 1 or 2 */
  const char *name;
} ImageTask;

typedef struct {
  bool used;
  uint8_t color;
  Priority priority;
  bool implicit;              /* chosen by the compiler, not by @initialize_queue */
} ImageQueue;

typedef struct { DsrFile file; uint8_t number, xdsr; uint16_t words[12]; } ImageDsr;
typedef struct { uint16_t address, value; } ImageConfig;
typedef struct { uint16_t address, bytes, offset; } ImageTileSlot;   /* offset in the tile's blob */

typedef struct {
  const char *name;           /* module path and name */
  uint16_t address;
  uint32_t bytes;
  const char *type;           /* CSL type, as printed */
  bool is_code;
  bool unset;                 /* data: declared without a value */
} ImageSymbol;

/* Line table row: from `pc` (byte address) on until the next row.  `inlined_at` is the index
 * of the row's parent in `inlines`, or IMAGE_NO_INLINE. */
enum { IMAGE_NO_INLINE = 0xffffffff };
typedef struct { uint16_t pc; uint32_t file, line, column, inlined_at; } ImageLine;
typedef struct { uint32_t file, line, column, parent; const char *function; } ImageInline;
/* Source names of a vector instruction's operands ("" if none), for reports. */
typedef struct { uint16_t pc; const char *dest, *src0, *src1; } ImageVecNames;
/* The condition of an assertion as the source has it, and the comment behind it in its line ("" if
 * none), for reports. */
typedef struct { uint16_t pc; const char *condition, *comment; } ImageAssert;
/* Where a side of the comparison of an assertion stands when it fails: in a register, in memory at
 * `value` plus a register's content, or nowhere, since it is a constant. */
typedef enum { ASSERTED_REGISTER, ASSERTED_MEMORY, ASSERTED_CONSTANT, ASSERTED_KIND_COUNT }
  AssertedPlace;
enum { ASSERTED_NO_BASE = 0xff };
typedef struct {
  uint16_t pc;                 /* of the assertion */
  const char *text;            /* of the side, as in the source */
  uint32_t type;               /* as ImageClass.symbol_types */
  AssertedPlace place;
  uint8_t reg;                 /* the even one of a pair for 32 bits; memory: or ASSERTED_NO_BASE */
  uint64_t value;              /* constant: its bits */
} ImageAsserted;
/* The object that an address was made from, for checks: a symbol.  operand: 0 for a scalar load or
 * store, 1 + VecSlot for an operand of a vector instruction. */
typedef struct { uint16_t pc; uint8_t operand; uint32_t symbol; } ImageAccess;

/* What a variable holds: section `debug`.  Types stand in one list of the image and refer to each
 * other by 1 + index, always to earlier ones, so that none contains itself. */
typedef enum {
  DT_OPAQUE,                  /* nothing is known but its size */
  DT_BOOL, DT_SIGNED, DT_UNSIGNED, DT_FLOAT16, DT_FLOAT32, DT_ENUM, DT_ARRAY, DT_POINTER,
  DT_STRUCT, DT_UNION,
  DT_PACKED,                  /* struct or union: an integer, of which a field takes some bits */
  DT_DESCRIPTOR, DT_KIND_COUNT
} DebugKind;
enum { DEBUG_NO_TYPE = 0, DEBUG_MAX_DIMS = 16 };
typedef struct {
  const char *name;           /* "" in tuples */
  uint32_t type;              /* of a field */
  uint32_t bit;               /* where a field starts, counted from the first byte's low bit */
  uint64_t value;             /* of a name of an enum: its bits */
} DebugMember;
typedef struct {
  DebugKind kind;
  const char *name;           /* as CSL prints it */
  uint32_t bytes;             /* in memory */
  uint32_t bits;              /* of the value; a field of a packed type takes no more */
  uint32_t of;                /* element, pointee, or the integer of an enum; DEBUG_NO_TYPE */
  uint32_t n_dims;
  const uint32_t *dims;       /* arrays, row-major */
  uint32_t n_members;
  const DebugMember *members;
} DebugType;
/* Where a local variable is while the pc is from `first` on and before `end`.  `value` is what the
 * place says. */
typedef enum {
  PLACE_REGISTER,             /* register number; the even one of a pair for 32 bits */
  PLACE_FRAME,                /* bytes above the stack pointer of the function's body */
  PLACE_AT_REGISTER,          /* the register has its address */
  PLACE_AT_FRAME,             /* that place of the frame has its address */
  PLACE_CONSTANT,             /* its bits */
  PLACE_KIND_COUNT
} DebugPlace;
typedef struct { uint16_t first, end; DebugPlace place; uint64_t value; } DebugRange;
typedef struct {
  const char *name;
  uint32_t type;
  bool is_param;
  uint32_t file;
  uint32_t line;              /* it can be seen from here, behind its declaration, */
  uint16_t column;
  uint32_t last_line;         /* to here, the end of its scope; 0: the function's end */
  uint16_t last_column;
  uint32_t inlined;           /* call whose function it belongs to, or IMAGE_NO_INLINE */
  uint32_t n_ranges;          /* 0: it has no place anywhere */
  const DebugRange *ranges;
} DebugLocal;
/* A function, by its symbol.  From behind its first instruction up to its `ret` the stack pointer
 * is `frame_bytes` lower than at its call. */
typedef struct {
  uint32_t symbol;
  uint16_t frame_bytes;
  bool is_task;               /* no return address stands above its frame */
  uint16_t saved;             /* registers of the caller that stand at the top of its frame, a bit
                               * each: the lowest number on top */
  uint32_t line;              /* of its declaration; 0: it has none */
  uint32_t n_locals;
  const DebugLocal *locals;
  uint32_t n_held;            /* symbols whose memory may be older than the text says while the */
  const uint32_t *held;       /* function runs */
} DebugFunction;
/* Where tiles of a class have the number of a constant. */
typedef enum {
  NUMBER_OF_CLASS,            /* it is `value`, in bits, on all of them */
  NUMBER_OF_TILE,             /* in the tile's own data, at byte `value` */
  NUMBER_OF_PLACE,            /* value + x * per_x + y * per_y, modulo 2^64 */
  NUMBER_KIND_COUNT
} DebugNumberKind;
/* A constant or parameter of the program: a number, which has no place.  DEBUG_NO_TYPE: of
 * compile-time code. */
typedef struct {
  const char *name;           /* as that of a symbol */
  uint32_t type;              /* as ImageClass.symbol_types */
  bool is_float;              /* of compile-time code: a double, else an integer of 64 bits */
  DebugNumberKind kind;
  uint64_t value;
  uint64_t per_x, per_y;      /* NUMBER_OF_PLACE, else 0 */
} DebugConstant;
/* What reports and debuggers show beside variables. */
typedef struct {
  uint32_t n_asserted;
  const ImageAsserted *asserted;  /* by pc, and there in the order of the source */
  uint32_t n_constants;
  const DebugConstant *constants;
} ImageNumbers;
/* The type at 1 + index; NULL: none. */
struct Image;
const DebugType *image_debug_type(const struct Image *image, uint32_t type);

/* Where an exported name stands in this class. */
typedef struct {
  uint32_t export_index;
  bool present;
  uint16_t address;           /* of the exported variable, or of the function's launch stub */
  bool is_pointer;            /* the symbol is a pointer variable: the data is where it points */
  uint16_t extent;            /* elements of the array it was initialised from; 0 unknown */
} ImageBinding;

/* One tile class: what all its tiles share. */
typedef struct {
  uint16_t code_address;
  uint32_t code_words;
  const uint16_t *code;
  uint32_t n_segments;        /* initial data; the rest of the static extent is zero */
  const ImageSegment *segments;
  uint16_t static_bytes;      /* data end: globals live in [0, static_bytes), code behind them or
                               * in a gap before one with a fixed address */
  uint16_t stack_top, stack_bytes;
  uint16_t start_entry;       /* code run once at start, before any task; 0xffff none */
  uint32_t n_tasks;
  const ImageTask *tasks;
  uint64_t active, blocked;   /* by task id, at start; unbound data ids are blocked */
  uint8_t paused;             /* wse3: microthreads blocked at start, a bit each */
  ImageQueue input[MAX_QUEUES], output[MAX_QUEUES];
  uint8_t data_queue[MAX_COLORS];  /* input queue that each color arrives in; 0xff none */
  uint32_t n_dsrs;
  const ImageDsr *dsrs;
  uint32_t n_configs;
  const ImageConfig *configs;
  uint32_t n_tile_slots;      /* where a tile's own data goes */
  const ImageTileSlot *tile_slots;
  uint32_t tile_blob_bytes;
  uint32_t n_symbols;
  const ImageSymbol *symbols;
  uint32_t n_lines;
  const ImageLine *lines;     /* sorted by pc */
  uint32_t n_inlines;
  const ImageInline *inlines;
  uint32_t n_vec_names;
  const ImageVecNames *vec_names;
  uint32_t n_asserts;
  const ImageAssert *asserts; /* by pc; where the source is known */
  uint32_t n_accesses;
  const ImageAccess *accesses; /* by pc and operand; where the object is known */
  uint32_t n_bindings;
  const ImageBinding *bindings;
  uint16_t teardown_handler[MAX_COLORS];   /* entry, 0xffff none */
  bool separate_control;      /* wse3: control tasks have a table, so ids, of their own */
  const char *color_names[MAX_COLORS];     /* NULL where unnamed */
  const char *queue_names[2][MAX_QUEUES];  /* input, output */
  uint16_t launch_args;       /* address of the block that launch arguments are written to */
  const char *source;         /* main file of the class */
  uint32_t n_symbol_types;    /* as many as symbols, or 0: compiled with -g0 */
  const uint32_t *symbol_types;   /* 1 + index of a debug type, DEBUG_NO_TYPE unknown */
  uint32_t n_functions;
  const DebugFunction *functions;
  ImageNumbers numbers;
} ImageClass;

typedef enum { POP_NEVER, POP_ALWAYS, POP_ON_ADVANCE, POP_ON_ADVANCE_NOP } PopMode;
typedef enum { FILTER_NONE, FILTER_COUNTER, FILTER_SPARSE, FILTER_RANGE } FilterKind;

/* State of one switch position after inheritance: what it receives from and sends to. */
typedef struct { PortMask rx, tx; bool valid; } ImagePosition;
typedef struct {
  FilterKind kind;
  bool count_data, count_control, filter_control, has_limit2;
  uint16_t init_counter, limit1, limit2, max_counter;   /* range: max_counter = max, limit1 = min */
  bool off;                    /* by FILTER_OFF while the program runs: everything passes */
} ImageFilter;
typedef struct {
  ImagePosition positions[MAX_SWITCH_POSITIONS];  /* [0] is `routes` */
  uint8_t current;
  bool ring;
  PopMode pop;
  bool swap_x, swap_y;
  bool teardown;               /* starts suspended */
  ImageFilter filter;
} ImageColorConfig;
typedef struct { uint8_t color; uint32_t config; } ImageColorUse;
typedef struct { uint32_t n; const ImageColorUse *uses; } ImageColorSet;

typedef enum { EXPORT_DATA, EXPORT_FUNCTION, EXPORT_STREAM } ExportKind;
/* What a launch can pass is ours: an argument of 64 bits takes two words, any other one. */
enum { MAX_LAUNCH_PARAMS = 15, LAUNCH_WORD_BYTES = 4, MAX_LAUNCH_WORDS = 2 * MAX_LAUNCH_PARAMS };
typedef struct {
  const char *name;
  ExportKind kind;
  const char *type;            /* as printed, e.g. "[*]f32" or "fn(i16)void" */
  uint8_t element_bytes;       /* data: of the element (of the pointee for pointers) */
  char element_class;          /* data: 'i' 'u' 'f' (f16 or f32) 'b' (bool) */
  bool is_mutable;
  uint8_t n_params;
  uint8_t param_bytes[MAX_LAUNCH_PARAMS];   /* functions: 2, 4 or 8 each */
  char param_class[MAX_LAUNCH_PARAMS];
} ImageExport;

/* A stream between the host and a layout of a host script: the tile is the host's end, and streams
 * the words from or to the host on the color. */
typedef struct { const char *name; uint32_t tile; uint8_t color; bool is_input; } ImageStream;

/* Ten times the release; from SDK_PACKS on fabric DSDs pack 16-bit elements by default. */
typedef enum { SDK_1_4 = 14, SDK_2 = 20, SDK_PACKS = SDK_2 } Sdk;

typedef struct Image {
  Arena *arena;
  Arch arch;
  Fp16Format fp16;
  uint8_t sdk;                       /* the release that the program is written for: Sdk */
  bool memcpy;
  uint8_t channels;
  uint16_t width, height;            /* the rectangle */
  uint16_t fabric_width, fabric_height, offset_x, offset_y;
  uint32_t n_classes;
  const ImageClass *classes;
  const uint32_t *tile_class;        /* width*height, row-major; IMAGE_NO_CLASS: tile has no code */
  const uint32_t *tile_colors;       /* width*height, row-major: index into color_sets */
  /* Each tile's own data: blob of tile t at tile_blobs + tile_blob_at[t], of its class' size. */
  const uint64_t *tile_blob_at;
  uint64_t tile_blob_bytes;
  const uint8_t *tile_blobs;
  uint32_t n_color_configs;
  const ImageColorConfig *color_configs;
  uint32_t n_color_sets;
  const ImageColorSet *color_sets;
  uint32_t n_exports;
  const ImageExport *exports;
  uint32_t n_files;
  const char *const *files;          /* source paths that line tables index */
  uint32_t n_params;                 /* --params, for out.json readers */
  const char *const *param_names;
  const char *const *param_values;
  bool is_of_script;                 /* the layout is that of a host script: --layout-json */
  uint32_t n_streams;
  const ImageStream *streams;
  bool names_streams;                /* the layout has <memcpy/get_params>; its colors: */
  uint32_t named_streams[2];         /* a bit each, [0] to the host, [1] to the tiles */
  uint32_t n_debug_types;            /* 0: compiled with -g0 */
  const DebugType *debug_types;
} Image;
enum { IMAGE_NO_CLASS = 0xffffffff };

/* Serialises to malloc'ed bytes: header (magic, format version, hash of the tables), section
 * table (kind, offset, length, CRC-32 each), sections.  Equal images give equal bytes.
 * docs/image.md describes the format. */
uint8_t *image_write(const Image *image, size_t *length);

/* ---- image_read.c, image_write.c, image_print.c ------------------------------------------ */

/* Reads and validates: every offset, length, index, enum, instruction boundary of entry points
 * and string is checked; nothing is trusted.  NULL and a reason (in `arena`) on any fault.  The
 * tiles' own data stay in `bytes`: the image is good as long as those are there. */
Image *image_read(const uint8_t *bytes, size_t length, Arena *arena, const char **reason);
/* The bytes of a file for image_read, from malloc: no more than its header says, and one to show
 * that there are more.  NULL with errno set: it cannot be read. */
char *image_file_read(const char *path, size_t *length);
/* The same for equal images only, as far as a checksum can say.  The image can be read. */
uint32_t image_checksum(const uint8_t *bytes);
/* Hash of the tables that give an image its meaning; a reader accepts only its own. */
uint64_t image_tables_hash(void);
/* Words that a launch of the function has as arguments. */
uint32_t image_launch_words(const ImageExport *function);
/* Line table look-up: the row that covers pc; NULL if no line of the program is behind pc. */
const ImageLine *image_line_at(const ImageClass *cls, uint16_t pc);
/* A summary for people: classes with memory map, tasks, queues and symbols; exports. */
void image_print(const Image *image, FILE *out);

#endif
