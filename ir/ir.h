/* ir: the typed intermediate representation, its passes and the code generator.
 *
 * Reading order: ops.def, this header, build.c, print.c, read.c, verify.c, digest.c, opt/,
 * codegen/.
 *
 * One IrModule is the program of one tile class: functions in SSA form with block parameters
 * (no phi instructions), globals, and the machine set-up from top-level comptime blocks. Aggregates
 * live in memory; values are scalars, pointers and descriptors (DSDs).
 */
#ifndef IR_H
#define IR_H

#include "ir/base/base.h"
#include "ir/machine/machine.h"

#define DIAG_DEF "ir/diag.def"
#include "ir/base/diag_rows.h"
extern const DiagRow ir_diag_rows[];
extern const size_t ir_diag_rows_count;

/* ---- types and ids -------------------------------------------------------------------- */

/* bool is 0 or 1 (one byte in memory); integers have no sign, operations do; ptr is a 16-bit
 * byte address; f16 is the format that the module names. */
typedef enum {
  IRT_VOID, IRT_BOOL, IRT_I8, IRT_I16, IRT_I32, IRT_I64, IRT_F16, IRT_F32, IRT_PTR, IRT_DSD,
  IRT_DSD4, IRT_COUNT
} IrType;
const char *ir_type_name(IrType type);
unsigned ir_type_bytes(IrType type);   /* in memory; 0 for void */
unsigned ir_type_align(IrType type);
static inline bool ir_type_is_int(IrType t) { return t >= IRT_BOOL && t <= IRT_I64; }
static inline bool ir_type_is_float(IrType t) { return t == IRT_F16 || t == IRT_F32; }
static inline bool ir_type_is_dsd(IrType t) { return t == IRT_DSD || t == IRT_DSD4; }

/* Ids are indices that cannot be mixed up; raw 0 is "none" for values and locations. */
typedef struct { uint32_t raw; } IrValue;     /* an instruction or block parameter of a function */
typedef struct { uint32_t raw; } IrBlockId;
typedef struct { uint32_t raw; } IrFuncId;
typedef struct { uint32_t raw; } IrGlobalId;
typedef struct { uint32_t raw; } IrLocId;
static const IrValue IR_NO_VALUE = {0};
static const IrLocId IR_NO_LOC = {0};
enum { IR_NO_ID = 0xffffffff };               /* for functions, globals and blocks */
static inline bool ir_value_eq(IrValue a, IrValue b) { return a.raw == b.raw; }
static inline bool ir_value_is_none(IrValue a) { return a.raw == 0; }
static inline bool ir_block_eq(IrBlockId a, IrBlockId b) { return a.raw == b.raw; }
static inline bool ir_block_is_entry(IrBlockId a) { return a.raw == 0; }
static inline bool ir_loc_eq(IrLocId a, IrLocId b) { return a.raw == b.raw; }
static inline bool ir_loc_is_none(IrLocId a) { return a.raw == 0; }
static inline bool ir_global_eq(IrGlobalId a, IrGlobalId b) { return a.raw == b.raw; }
static inline bool ir_global_is_none(IrGlobalId a) { return a.raw == IR_NO_ID; }
static inline bool ir_func_eq(IrFuncId a, IrFuncId b) { return a.raw == b.raw; }
static inline bool ir_func_is_none(IrFuncId a) { return a.raw == IR_NO_ID; }

typedef enum {
#define IR_OP(name, operands, result, effects) IR_##name,
#include "ir/ops.def"
  IR_OP_COUNT,
  IR_PARAM = IR_OP_COUNT   /* a block parameter; never in a block's instruction list */
} IrOp;

typedef enum {
  IRE_PURE = 0, IRE_COMMUTES = 1, IRE_READS = 2, IRE_WRITES = 4, IRE_SIDE = 8, IRE_STALLS = 16,
  IRE_TERM = 32
} IrEffects;

/* What the columns of ops.def say; legends there. */
typedef enum {
  IROPND_NONE, IROPND_INT2, IROPND_SHIFT, IROPND_WORD1, IROPND_FLOAT2, IROPND_FLOAT1S,
  IROPND_FSCALE, IROPND_EQUAL, IROPND_ORDER, IROPND_FCOMPARE, IROPND_SELECT, IROPND_TRUNC,
  IROPND_EXTEND, IROPND_ZEXTEND, IROPND_TOINT, IROPND_TOFLOAT, IROPND_FWIDEN, IROPND_FNARROW,
  IROPND_BITCAST, IROPND_PTR_I16, IROPND_PTR1, IROPND_PTR_ANY, IROPND_PTR_PTR, IROPND_CALL,
  IROPND_CALL_PTR, IROPND_DSD_SET, IROPND_DSD1, IROPND_I16_1, IROPND_I16_2, IROPND_BOOL1,
  IROPND_VEC, IROPND_BR, IROPND_COND_BR, IROPND_RET, IROPND_COUNT
} IrOperandRule;
typedef enum { IRRES_EXPLICIT, IRRES_VOID, IRRES_BOOL, IRRES_PTR, IRRES_DSD } IrResultRule;

typedef struct {
  const char *name;
  IrOperandRule operand_rule;
  IrResultRule result_rule;
  unsigned effects;        /* IrEffects */
} IrOpInfo;
extern const IrOpInfo ir_ops[IR_OP_COUNT];
static inline bool ir_op_is(IrOp op, unsigned effects)   /* has one of these effects */
{
  return op < IR_OP_COUNT && (ir_ops[op].effects & effects) != 0;
}
static inline bool ir_op_is_pure(IrOp op)
{
  return op < IR_OP_COUNT && (ir_ops[op].effects & ~(unsigned)IRE_COMMUTES) == IRE_PURE;
}
bool ir_op_from_name(const char *name, IrOp *op);
bool ir_type_from_name(const char *name, IrType *type);
/* Bits of a value's representation: 1 for bool, 0 for void and descriptors. */
unsigned ir_type_bits(IrType type);

/* ---- instructions ------------------------------------------------------------------------ */

/* A constant descriptor: what is known at compile time; base = address of `global` + base (bytes)
 * when global is not IR_NO_ID, else base is absolute. */
typedef struct { Descriptor desc; IrGlobalId global; } IrDesc;

enum { IR_VIRTUAL_DSR = 0x100 };
typedef enum { IRV_NONE, IRV_DSD, IRV_DSR, IRV_SCALAR, IRV_POINTER } IrVecOperandKind;
/* One operand of a vector operation.  With one source it is src1, as in the machine's
 * VecOperands; what is not there has kind NONE.  DSD: value of type dsd/dsd4.  DSR: file and number
 * (physical, or virtual from IR_VIRTUAL_DSR).  SCALAR: value of the element type.  POINTER
 * (dest only): address of a scalar that receives the (last) result. */
typedef struct {
  IrVecOperandKind kind;
  uint32_t arg;          /* DSD, SCALAR, POINTER: index into the instruction's args */
  DsrFile file;
  uint32_t number;
  const char *name;      /* source name of the operand's declaration, or NULL */
  bool is_memory;        /* DSD: its type in the source says so; for warnings alone */
} IrVecOperand;
typedef struct {
  VecOp op;
  IrVecOperand dest, src0, src1;
  uint32_t scalar, index;      /* index into args, or IR_NO_ID */
  uint8_t priority;            /* as in VecOperands */
} IrVec;

typedef struct {
  IrBlockId block;
  uint32_t n_args;
  IrValue *args;
} IrTarget;

typedef struct {
  IrOp op;
  IrType type;             /* of the result; void if none */
  uint8_t field;           /* DsrField of dsd_set, dsd_get, dsr_set, dsr_get */
  bool dead;               /* removed: skip; its id is not used again */
  IrLocId loc;
  uint32_t aux;            /* see ops.def */
  uint32_t n_args;
  IrValue *args;
  uint64_t imm;            /* const: bits, zero-extended from the type's width */
  union {
    IrGlobalId global;     /* global_addr */
    IrFuncId func;         /* func_addr, call */
    IrDesc *desc;          /* dsd_const */
    IrVec *vec;            /* vec */
    IrTarget *targets;     /* br: 1; cond_br: 2 (taken if true, if false) */
    struct { IrBlockId block; uint32_t index; } param;   /* IR_PARAM */
  } u;
} IrInsn;

/* How many blocks the instruction leads to, which u.targets has: 0 for all but jumps. */
static inline uint32_t ir_target_count(const IrInsn *insn)
{
  return insn->op == IR_br ? 1 : insn->op == IR_cond_br ? 2 : 0;
}

typedef struct {
  uint32_t n_params;
  IrValue *params;
  uint32_t n_insns, cap_insns;
  IrValue *insns;          /* in order; the last is the terminator.  A block that has none was
                            * removed: skip it, nothing branches there */
} IrBlock;

/* A local variable or parameter, for debuggers; no pass may depend on it.  Not part of the text. */
typedef struct {
  const char *name;
  uint32_t type;           /* as ImageClass.symbol_types */
  IrLocId loc;             /* its span: where the name can be seen */
  bool is_param;
  bool in_memory;          /* `value` is its address */
  bool is_known;           /* its value is `bits`, and there is no `value` */
  bool is_asserted;        /* no variable, but a side of the comparison of the assertion at `loc`;
                            * `name` is its text */
  uint32_t turn;           /* is_asserted: the sides of one turn have the same, after pass_unroll */
  IrValue value;           /* raw 0: its place is not known */
  uint64_t bits;
} IrLocal;

typedef enum { IR_INLINING_FREE, IR_INLINING_ALWAYS, IR_INLINING_NEVER } IrInlining;

typedef struct {
  const char *name;        /* unique in the module: module path and name */
  uint32_t n_params;
  IrType *params;          /* also the parameters of block 0 */
  IrType result;
  bool is_task;            /* ends with endtask instead of ret; called by the scheduler only */
  IrInlining inlining;     /* as declared */
  bool address_taken;      /* reachable through a pointer, task table, export or handler */
  IrLocId loc;
  uint32_t n_insns, cap_insns;
  IrInsn *insns;           /* by IrValue.raw; [0] unused */
  uint32_t n_blocks, cap_blocks;
  IrBlock *blocks;         /* [0] is the entry */
  uint32_t n_allocas;      /* with which the entry begins, or fewer: where ir_alloca looks first */
  uint32_t n_locals, cap_locals;
  IrLocal *locals;
  /* Globals whose memory may be older than the text says while the function runs: passes have
   * dropped or moved stores.  For debuggers; not part of the text. */
  uint32_t n_held, cap_held;
  uint32_t *held;
} IrFunc;

/* The last instruction of a block, its terminator once that is made; NULL: it has none. */
static inline const IrInsn *ir_last_insn(const IrFunc *f, uint32_t block)
{
  const IrBlock *b = &f->blocks[block];
  return b->n_insns ? &f->insns[b->insns[b->n_insns - 1].raw] : NULL;
}

/* ---- module ------------------------------------------------------------------------------- */

/* At `offset` of the global's data stands the 16-bit address of a global (+ addend) or function. */
typedef struct { uint32_t offset; bool is_func; uint32_t target; int32_t addend; } IrReloc;

typedef struct {
  const char *name;
  const char *type;        /* CSL type, as printed, for symbols */
  uint32_t debug_type;     /* the same for debuggers: as ImageClass.symbol_types */
  uint32_t bytes, align;
  uint8_t *init;           /* `bytes` long, or NULL for zeros */
  uint32_t n_relocs;
  IrReloc *relocs;
  bool is_const;
  bool unset;              /* declared without a value: zeros that no code has written */
  bool keep;               /* exported, or its address escapes from compiled code */
  bool has_address;        /* linksection: placed at `address` */
  uint16_t address;
  uint16_t extent;         /* of a pointer: elements of the array it was initialised from */
  IrLocId loc;
} IrGlobal;

/* Where a class' tiles differ: a run-time word (tile_param) or a stretch of a global's initial
 * data.  The loader's blob of one tile is the concatenation of its slots in this order. */
typedef struct {
  bool is_param;
  uint32_t index;          /* tile parameter number, or IrGlobalId.raw */
  uint32_t offset, bytes;  /* in the global; a parameter is ir_type_bytes(type) long at 0 */
  IrType type;             /* parameters */
} IrTileSlot;

typedef struct {
  IrFuncId func;
  TaskKind kind;
  uint8_t id;
  uint8_t arguments;       /* 16-bit words of the payload, as in ImageTask */
  const char *name;
} IrTask;
typedef struct {
  DsrFile file;
  uint8_t number;
  IrDesc desc;
  Span span;               /* of the load; not part of the text */
} IrDsrInit;
typedef struct {
  uint32_t export_index;
  bool is_func;
  uint32_t target;         /* IrGlobalId.raw or IrFuncId.raw */
  bool is_pointer;
  uint16_t extent;
} IrBinding;

typedef struct { Span span; IrLocId inlined_at; const char *function; } IrLoc;

typedef struct {
  Arena *arena;            /* all that the module points to but names, which outlive it */
  Arch arch;
  Fp16Format fp16;
  const char *source;
  uint32_t n_funcs, cap_funcs;
  IrFunc *funcs;
  uint32_t n_globals, cap_globals;
  IrGlobal *globals;       /* declaration order of the memory map */
  uint32_t n_locs, cap_locs;
  IrLoc *locs;             /* [0] unused */
  uint32_t n_tile_slots;
  IrTileSlot *tile_slots;
  uint32_t n_tile_params;
  IrType *tile_params;
  /* machine set-up */
  uint32_t n_tasks;
  IrTask *tasks;
  uint64_t active, blocked;
  uint8_t paused;
  bool separate_control;
  ImageQueue input[MAX_QUEUES], output[MAX_QUEUES];
  uint8_t data_queue[MAX_COLORS];
  uint32_t n_dsrs;
  IrDsrInit *dsrs;
  uint32_t n_configs;
  ImageConfig *configs;
  uint32_t n_bindings;
  IrBinding *bindings;
  uint32_t teardown_handler[MAX_COLORS];   /* IrFuncId.raw or IR_NO_ID */
  uint32_t empty_handler[2][MAX_QUEUES];   /* wse3, input and output: likewise */
  const char *color_names[MAX_COLORS];
  const char *queue_names[2][MAX_QUEUES];
} IrModule;

/* Does the address lie in a variable or a parameter of the function? */
static inline bool ir_address_is_local(const IrFunc *f, IrValue address)
{
  while (f->insns[address.raw].op == IR_ptr_add)
    address = f->insns[address.raw].args[0];
  return f->insns[address.raw].op == IR_alloca;
}

/* ---- build.c ------------------------------------------------------------------------------ */

IrModule *ir_module_create(Arena *arena, Arch arch, Fp16Format fp16);
/* The function's entry, block 0, and its parameters are made with it: function parameter i is
 * funcs[f].blocks[0].params[i].  Nothing branches to the entry.  Names are kept, not copied. */
IrFuncId ir_func_add(IrModule *m, const char *name, IrType result, const IrType *params,
                     uint32_t n);
IrGlobalId ir_global_add(IrModule *m, const char *name, uint32_t bytes, uint32_t align);
IrLocId ir_loc_add(IrModule *m, Span span, IrLocId inlined_at, const char *function);
void ir_local_add(IrModule *m, IrFuncId func, IrLocal local);
/* Adds to IrFunc.held what is not there yet. */
void ir_held_add(IrModule *m, IrFunc *f, uint32_t global);

/* A cursor that appends to a block.  Building after a terminator is an internal error. */
typedef struct { IrModule *module; IrFuncId func; IrBlockId block; IrLocId loc; } IrBuilder;
IrBlockId ir_block_add(IrModule *m, IrFuncId func);
IrValue ir_block_param(IrModule *m, IrFuncId func, IrBlockId block, IrType type);
IrValue ir_const(IrBuilder *b, IrType type, uint64_t bits);
IrValue ir_global_addr(IrBuilder *b, IrGlobalId global, int64_t offset_bytes);
IrValue ir_func_addr(IrBuilder *b, IrFuncId func);
IrValue ir_tile_param(IrBuilder *b, uint32_t index);
IrValue ir_dsd_const(IrBuilder *b, IrDesc desc);
IrValue ir_alloca(IrBuilder *b, uint32_t bytes, uint32_t align);   /* placed in the entry block */
/* conversions, fneg, clz, load; the result's type is given */
IrValue ir_unary(IrBuilder *b, IrOp op, IrType type, IrValue a);
/* the result's type is given; of comparisons it is bool */
IrValue ir_binary(IrBuilder *b, IrOp op, IrType type, IrValue x, IrValue y);
IrValue ir_select(IrBuilder *b, IrType type, IrValue cond, IrValue x, IrValue y);
IrValue ir_load(IrBuilder *b, IrType type, IrValue address);
void ir_store(IrBuilder *b, IrValue address, IrValue value);
void ir_copy(IrBuilder *b, IrValue dest, IrValue source, uint32_t bytes);
void ir_zero(IrBuilder *b, IrValue dest, uint32_t bytes);
IrValue ir_call(IrBuilder *b, IrFuncId func, const IrValue *args, uint32_t n);
IrValue ir_call_ptr(IrBuilder *b, IrType result, IrValue address, const IrValue *args, uint32_t n);
IrValue ir_dsd_set(IrBuilder *b, IrValue dsd, DsrField field, IrValue value);
IrValue ir_dsd_get(IrBuilder *b, IrValue dsd, DsrField field);
void ir_dsr_load(IrBuilder *b, DsrFile file, uint32_t number, IrValue dsd);
void ir_dsr_set(IrBuilder *b, DsrFile file, uint32_t number, DsrField field, IrValue value);
IrValue ir_dsr_get(IrBuilder *b, DsrFile file, uint32_t number, DsrField field);
IrValue ir_vec(IrBuilder *b, const IrVec *vec, const IrValue *args, uint32_t n);
/* activate, block, unblock, get/set_config, queue_flush, random16, set_prng, counter, assert */
IrValue ir_machine_op(IrBuilder *b, IrOp op, IrType type, uint32_t aux, uint64_t imm,
                      const IrValue *args, uint32_t n);
void ir_br(IrBuilder *b, IrBlockId target, const IrValue *args, uint32_t n);
void ir_cond_br(IrBuilder *b, IrValue cond, IrBlockId yes, const IrValue *yes_args, uint32_t n_yes,
                IrBlockId no, const IrValue *no_args, uint32_t n_no);
void ir_ret(IrBuilder *b, IrValue value);   /* IR_NO_VALUE: nothing */
void ir_trap(IrBuilder *b, uint64_t number);
IrType ir_value_type(const IrModule *m, IrFuncId func, IrValue value);

/* ---- ops.c ------------------------------------------------------------------------------- */

/* Words of the text form that stand for numbers, by list: rows of text.def. */
typedef enum {
  IRW_desc_kind, IRW_desc_flag, IRW_action, IRW_id_kind, IRW_task_kind, IRW_priority, IRW_simd,
  IRW_dsr_file, IRW_vec_operand, IRW_direction
} IrWordList;
const char *ir_word(IrWordList list, unsigned number);   /* NULL: no such row */
bool ir_word_number(IrWordList list, const char *word, unsigned *number);

/* ---- print.c, read.c, verify.c -------------------------------------------------------------- */

/* Stable text; read(print(m)) prints the same.  docs/ir.md describes it. */
void ir_print(const IrModule *m, FILE *out);
typedef struct {
  bool locs;               /* the table of locations, and a !N after each instruction */
} IrPrintOptions;
void ir_print_with(const IrModule *m, const IrPrintOptions *options, FILE *out);
/* Parses the text form.  NULL after recording diagnostics. */
IrModule *ir_read(Arena *arena, SourceMap *sources, FileId file, Diags *diags);
/* Checks types, dominance, block shapes, ids and rules of ops.def; the first fault as a sentence
 * in `arena`, or NULL.  Runs after every pass in debug builds. */
const char *ir_verify(const IrModule *m, Arena *arena);

/* ---- digest.c -------------------------------------------------------------------------------- */

/* Two modules of one run with the same digest become the same code, with the same messages. */
typedef struct { uint64_t low, high; } IrDigest;
IrDigest ir_digest(const IrModule *m);

/* Whether an update of a descriptor takes its number from a register, constants too, as the
 * vendor's compiler has it (docs/codegen.md): the optimiser keeps such constants there, and the
 * code generator uses them. */
static inline bool ir_update_takes_register(int level) { return level < 2; }

/* ---- opt/ ------------------------------------------------------------------------------------ */

/* Folding has one home: result bits of a pure operation over constant bits; false if the
 * operation cannot be folded.  Always wraps. */
bool ir_fold(const IrModule *m, IrOp op, IrType type, IrType operand_type, const uint64_t *args,
             unsigned n, uint64_t *result);

typedef struct {
  int level;                      /* 0, 1, 2 */
  const char *dump_after;         /* pass name: print the module after it, or NULL */
  FILE *dump_to;
} IrOptOptions;
/* The pipeline of the level, one pass per line, in opt/pipeline.c. */
void ir_optimise(IrModule *m, const IrOptOptions *options);
/* The blocks that can be reached, in reverse post-order; the first target of a block follows it if
 * no other way leads there. */
uint32_t *ir_order_blocks(const IrFunc *f, uint32_t *n_blocks, Arena *arena);
/* The passes named, in that order, separated by commas or blanks; false at an unknown name. */
bool ir_run_passes(IrModule *m, const char *names, const IrOptOptions *options);
/* Pass number i and what it does, or NULL after the last one. */
const char *ir_pass_name(size_t i, const char **text);

/* ---- codegen/ ------------------------------------------------------------------------------ */

typedef struct {
  int level;
  bool debug;                     /* the image gets section `debug` */
  uint16_t stack_minimum_bytes;
} CodegenOptions;
typedef struct {
  ImageClass image;               /* lives in the arena given; bindings included */
  uint32_t code_bytes, data_bytes, stack_bytes;
  const SourceMap *sources;       /* as given; the listings name files by it */
} CodegenResult;
/* DSRs of each file that the code generator keeps for the temporaries of operations: more than two
 * operations can use at once, so that neighbouring ones keep theirs.  Those that the program does
 * not name hold constant descriptors or, from pass `dsd`, descriptors of loops. */
enum { DSRS_FOR_TEMPORARIES = 6 };
/* The calling convention (docs/codegen.md): words of arguments in registers; all registers but the
 * stack pointer; and those that a function gives back as they were. */
enum {
  ARG_REGISTERS = 6,
  REGISTER_WORDS = GPR_COUNT - 1,
  SAVED_REGISTER = 6, FIRST_SAVED_REGISTER = 12,     /* to the last one */
  SAVED_REGISTERS = 1 + GPR_COUNT - FIRST_SAVED_REGISTER
};
/* Lowers a verified module to machine code and data; places everything in 48 KB.  False after
 * recording diagnostics: does not fit (by how many bytes, with the largest symbols), recursion
 * without a bound, too many DSRs. `files` maps a FileId to the image's file index. */
bool codegen_module(const IrModule *m, const CodegenOptions *options, const SourceMap *sources,
                    Arena *arena, Diags *diags, CodegenResult *result);
/* `--emit=map`: sections and symbols with addresses and sizes.  `--emit=asm`: code with labels,
 * source lines and data. */
void codegen_print_map(const CodegenResult *result, FILE *out);
void codegen_print_asm(const CodegenResult *result, FILE *out);

#endif
