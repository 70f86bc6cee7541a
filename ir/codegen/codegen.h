/* ir/codegen: the code generator's own header.
 *
 * The way of a function: select.c and its neighbours turn SSA into a flat list of machine
 * instructions over virtual registers (labels are instructions too); dsr.c gives numbers to the
 * DSRs; liveness.c, regalloc.c and spill.c map virtual registers to r0..r15; frame.c lays out the
 * stack; tidy.c removes what that left over.  Then layout.c places data and code, and emit.c
 * resolves addresses and encodes.  codegen.c is the list of these steps.
 *
 * Files use those below them: codegen.c its steps; select.c the select_*.c and dsd.c; these
 * select_branch.c, select_mem.c and, at the bottom, select_emit.c and need.c. */
#ifndef CODEGEN_H
#define CODEGEN_H

#include "ir/ir.h"

#include <stdlib.h>

/* ---- registers ------------------------------------------------------------------------------ */

/* A register operand: r0..r15 are 0..15, the pair d0 is 16 and so on, virtual registers start
 * at FIRST_VREG.  A flag names one half of a virtual pair where 16 bits are read. */
typedef uint32_t Reg;
enum {
  PAIR_BASE = GPR_COUNT,
  FIRST_VREG = 2 * GPR_COUNT,
  REG_NONE = 0x3fffffff,
  REG_LO = 0x40000000,
};
static const Reg REG_HI = 0x80000000u;
static inline Reg reg_id(Reg r) { return r & REG_NONE; }
static inline bool reg_is_virtual(Reg r) { return reg_id(r) >= FIRST_VREG && r != REG_NONE; }
static inline Reg reg_pair(unsigned even) { return PAIR_BASE + even; }
/* Physical registers that a physical operand covers, a bit each. */
static inline uint16_t reg_mask(Reg r)
{
  return (uint16_t)(r < PAIR_BASE ? 1u << r : 3u << (r - PAIR_BASE));
}

typedef enum { CLASS_WORD, CLASS_PAIR } RegClass;

/* ---- machine instructions ------------------------------------------------------------------- */

typedef enum {
  SYM_NONE,
  SYM_GLOBAL,       /* address of a global */
  SYM_FUNC,         /* address of a function */
  SYM_DESC,         /* address of a descriptor in the constant pool */
  SYM_TILE_PARAM,   /* address of a tile parameter's word */
  SYM_FRAME,        /* offset of a frame slot from the stack pointer */
  SYM_INCOMING,     /* offset of the caller's argument area from the stack pointer */
} SymKind;

enum { MI_LABEL = OP_COUNT };   /* pseudo-opcode: `target` is the label's number */

/* An operand of a vector instruction.  temp: a DSR temporary, see DsrTemp; else file and number
 * (from IR_VIRTUAL_DSR: not yet given).  Register operands stand in MInsn.r. */
typedef struct {
  VecOperandKind kind;
  DsrFile file;
  uint32_t number, temp;
  uint32_t object;   /* 1 + the global that a run-time address was made from, or 0 */
  const char *name;
} MVecOperand;
typedef struct {
  VecOp op;
  MVecOperand dest, src0, src1;
  bool folds;        /* dest and src0 are one register */
  uint8_t priority;  /* as in VecOperands */
} MVec;

/* Operands as in Insn: r[0..2] are a, b, c; of a vector instruction r[0..4] are dest, src0, src1,
 * scalar, index.  The immediate is `imm` plus the address of the symbol. */
typedef struct {
  uint16_t op;             /* Opcode or MI_LABEL */
  uint8_t sym;             /* SymKind */
  uint8_t file, field;     /* DSR instructions */
  uint8_t xdsr;
  bool absolute;           /* DSR load: no base register; DSR set: immediate */
  bool dead;
  bool writes_dsd;         /* store that may change a descriptor in memory */
  bool wants_xdsr;
  bool starts_block;       /* label of an IR block */
  Reg r[5];
  int32_t imm;
  uint32_t sym_index;
  uint32_t target;         /* label of a jump, or of MI_LABEL itself */
  uint32_t number;         /* DSR number; counter word; id kind of blki; imm of an assert */
  uint32_t object;         /* load or store: 1 + the global that its address was made from, or 0 */
  uint32_t temp;           /* DSR temporary that ldsr or dsrset belongs to; 0 none */
  uint16_t uses, clobbers; /* physical registers beside the operands: calls and returns */
  MVec *vec;
  IrLocId loc;
  uint32_t marks;          /* in MFunc.mark_sets: which homes hold their variables before this
                            * instruction; 0: none of those in registers does */
  uint16_t unmarked;       /* physical registers: homes in them do not, whatever `marks` says */
} MInsn;

typedef struct { uint8_t slot; bool def, use; } MOperand;
enum { MOST_OPERANDS = 5 };
/* Register operands of an instruction, in no particular order; returns how many. */
unsigned mi_operands(const MInsn *mi, MOperand out[MOST_OPERANDS]);
/* Physical registers that an instruction, which is no label, reads or writes. */
uint16_t mi_reads(const MInsn *mi);
uint16_t mi_writes(const MInsn *mi);
bool mi_is_jump(const MInsn *mi);          /* has a label as target */
bool mi_ends_flow(const MInsn *mi);        /* what follows is not reached from it */
bool mi_is_copy(const MInsn *mi);          /* mov or mov32 of whole registers */
bool mi_reads_carry(const MInsn *mi);
/* The opposite condition of a branch; false if `op` is no conditional branch. */
bool mi_invert(Opcode op, Opcode *inverse);

/* ---- functions ------------------------------------------------------------------------------ */

typedef struct {
  RegClass cls;
  bool tiny;               /* made by spilling: must not be spilled again */
} VReg;
typedef struct {
  uint32_t bytes, offset;
  bool of_bytes;           /* its elements may stand at odd addresses */
  bool used;               /* set with the offset: the code refers to it */
} FrameSlot;

/* What a DSR is to hold: the descriptor at an address with some fields replaced.  Two equal ones
 * in a basic block need one load. */
typedef struct {
  DsrField field;
  Reg reg;                 /* REG_NONE: imm + symbol */
  int32_t imm;
  SymKind sym;
  uint32_t sym_index;
} DsrSet;
typedef struct {
  Reg base;                /* REG_NONE: absolute */
  int32_t imm;
  SymKind sym;
  uint32_t sym_index;
  uint32_t n_sets;
  DsrSet *sets;
  bool is_mutable;         /* stores may change what the address holds */
  bool keeps;              /* an operation leaves it as it was: no save_address, no FIFO */
  bool is_dest, is_source; /* roles in the operation */
  bool is_memory;          /* known to be no fabric descriptor */
  bool in_background;      /* the operation goes on while the thread does, and owns the DSR */
} DsrTemp;

/* Where a variable of IrFunc.locals is, for debuggers. */
typedef enum { HOME_REGISTER, HOME_SLOT, HOME_CONSTANT } HomeKind;
typedef struct {
  uint32_t local;
  HomeKind kind;
  Reg reg;
  uint32_t slot;           /* of the frame */
  bool spilled;            /* to the slot: it holds the variable where the register would */
  bool is_address;         /* what stands there is the variable's address */
  uint64_t bits;           /* HOME_CONSTANT */
} VariableHome;

/* A set of homes: that of the parent but for one home, which only one of the two has.  The sets of
 * two instructions side by side are side by side here, so together they take as much memory as
 * there are changes. */
typedef struct { uint32_t parent, home; } MarkSet;

/* Calls through a pointer may reach what has this signature. */
typedef struct { IrType result; uint32_t n_params; const IrType *params; } Signature;

typedef struct {
  uint32_t id;             /* IrFuncId.raw */
  const IrFunc *ir;
  const char *name;
  MInsn *code;             /* stb_ds array, like all arrays here */
  VReg *vregs;             /* of register FIRST_VREG + index */
  FrameSlot *slots;
  VariableHome *homes;
  MarkSet *mark_sets;      /* [0]: the empty one; none if no variable is in a register */
  DsrTemp *temps;          /* [0] unused */
  uint32_t n_labels;
  uint32_t outgoing_bytes; /* stack arguments of its calls */
  uint32_t frame_bytes;
  uint16_t saved;          /* callee-saved registers that it uses */
  uint32_t *callees;
  Signature *pointer_calls;
  bool has_calls;
  uint32_t depth_bytes;    /* stack of it and all it calls, without its return address */
  uint32_t address, bytes;
} MFunc;

enum { DESC_KIND_BITS = 0xf };   /* of a descriptor's word 0 */

/* ---- the module ----------------------------------------------------------------------------- */

typedef struct {
  uint16_t words[12];
  unsigned n_words;
  uint32_t global;         /* IR_NO_ID: none; else its address is added to the base */
  uint32_t address;
} PoolDesc;

/* A DSR that holds a constant descriptor from the start of the program. */
typedef struct { DsrFile file; uint8_t number; uint32_t desc; } PresetDsr;   /* desc: in the pool */

typedef enum {
  RT_UDIV64, RT_UREM64, RT_SDIV64, RT_SREM64, RT_MUL64, RT_F32_FROM_I64,
  RT_F32_FROM_U64, RT_F16_FROM_I64, RT_F16_FROM_U64, RT_I64_FROM_F32, RT_U64_FROM_F32,
  RT_I64_FROM_F16, RT_U64_FROM_F16, RT_COUNT
} RtKind;

typedef struct { uint32_t address; bool needed; } Placement;

typedef struct {
  const IrModule *given;
  IrModule *work;          /* the same, plus routines and stubs that we add */
  const CodegenOptions *options;
  const SourceMap *sources;
  const Machine *machine;
  Arena *arena;            /* gone after the module */
  Arena *kept;             /* what the image refers to */
  Diags *diags;
  bool failed;
  MFunc **funcs;           /* stb_ds, in the order they were first needed */
  uint32_t *func_index;    /* stb_ds, by IrFuncId.raw: index + 1, 0 not needed */
  bool *func_by_pointer;   /* stb_ds, by IrFuncId.raw: its address is taken */
  Placement *globals;          /* by IrGlobalId.raw */
  Placement *tile_params;
  PoolDesc *pool;          /* stb_ds */
  uint32_t runtime[RT_COUNT];   /* IrFuncId.raw + 1 */
  uint32_t *stubs;         /* by binding: IrFuncId.raw of the launch stub, or IR_NO_ID */
  bool has_teardown;       /* some color has a teardown handler */
  uint32_t teardown_task;  /* then: IrFuncId.raw of the task that calls the handlers */
  uint32_t start;          /* IrFuncId.raw of what runs before any task, or IR_NO_ID */
  uint32_t launch_args;    /* IrGlobalId.raw of the block of launch arguments, or IR_NO_ID */
  /* DSRs, a bit per number; see dsr.c */
  uint16_t dsr_reserved[DSR_FILE_COUNT];
  uint16_t dsr_async[DSR_FILE_COUNT];          /* explicit DSRs that hold an asynchronous one */
  struct VirtualDsr *virtual_dsrs;             /* stb_ds */
  PresetDsr *presets;                          /* stb_ds */
  bool has_dsr_numbers;
  uint16_t dsr_kept_for_presets[DSR_FILE_COUNT];   /* numbers, and those still free */
  uint16_t dsr_for_presets[DSR_FILE_COUNT];
  uint8_t xdsr_of[DSR_FILE_COUNT][MAX_DSRS];   /* number + 1 */
  unsigned n_xdsrs, n_map_xdsrs;               /* given; of those for '@map' */
  /* memory map */
  uint32_t data_end, code_address, code_bytes, stack_bytes;
} Cg;

/* ---- need.c --------------------------------------------------------------------------------- */

/* Enters a function or global into what is generated.  */
MFunc *cg_need_func(Cg *cg, uint32_t func);
void cg_need_global(Cg *cg, uint32_t global);
void cg_func_by_pointer(Cg *cg, uint32_t func);
uint32_t cg_pool_desc(Cg *cg, const PoolDesc *desc);
Span cg_func_span(const Cg *cg, const IrFunc *f);

/* ---- legalise.c ----------------------------------------------------------------------------- */

/* A function for an operation without an instruction; made at the first request. */
uint32_t cg_runtime(Cg *cg, RtKind kind);
/* Function that loads launch arguments and calls an exported function. */
uint32_t cg_launch_stub(Cg *cg, uint32_t func);
/* The code that runs before any task: it loads the presets into their DSRs. */
uint32_t cg_start_stub(Cg *cg);
/* The task by which torn down colors reach their handlers. */
uint32_t cg_teardown_stub(Cg *cg);
uint32_t cg_launch_bytes(const IrFunc *f);

/* ---- select_emit.c: the basis of selection -------------------------------------------------- */

typedef struct {
  IrValue base;            /* value that is added; raw 0 none */
  Reg reg;                 /* register of ours that is added; 0 none */
  bool on_stack;           /* the stack pointer is added */
  int32_t imm;
  SymKind sym;
  uint32_t sym_index;
  uint32_t object;         /* as in MInsn */
} Addr;

typedef struct {
  Cg *cg;
  MFunc *mf;
  const IrModule *m;
  const IrFunc *f;
  Arena *pass;             /* gone after the function */
  Reg *vreg;               /* by IrValue.raw; 0 none; i64: this and the next */
  bool *demanded;          /* by IrValue.raw: an instruction reads it */
  bool *fused;             /* by IrValue.raw: done by the store of its value */
  uint32_t *block_of, *position;   /* by IrValue.raw */
  uint32_t *frame_slot;    /* by IrValue.raw: slot + 1 of allocas and descriptors */
  bool *anchored;          /* by IrValue.raw: descriptor is copied to its slot where it is made */
  uint32_t *order;         /* reachable blocks in reverse post-order */
  uint32_t n_order;
  uint32_t *order_of;      /* by block: place in `order`, IR_NO_ID unreachable */
  MInsn *reversed;         /* stb_ds: code made so far, last first */
  MInsn *scratch;          /* stb_ds: code of the IR instruction at hand, first first */
  IrLocId loc;
  Reg hidden;              /* pointer to where an i64 or descriptor result goes */
} Sel;

const IrInsn *sel_def(const Sel *s, IrValue v);
IrType sel_type(const Sel *s, IrValue v);
bool sel_is_const(const Sel *s, IrValue v, uint64_t *bits);
RegClass type_class(IrType type);
Reg sel_new_reg(Sel *s, RegClass cls);
uint32_t sel_new_slot(Sel *s, uint32_t bytes);
uint32_t sel_new_label(Sel *s);
/* The register of a value, which is thereby needed; part 1 is the upper half of an i64. */
Reg sel_use(Sel *s, IrValue v);
Reg sel_use_part(Sel *s, IrValue v, unsigned part);
/* A 16-bit operand: may name half of a pair. */
Reg sel_use_word(Sel *s, IrValue v);
/* The register that an instruction defines. */
Reg sel_result(Sel *s, IrValue v, unsigned part);

MInsn *sel_emit(Sel *s, unsigned op);
MInsn *sel_rrr(Sel *s, Opcode op, Reg a, Reg b, Reg c);
MInsn *sel_rri(Sel *s, Opcode op, Reg a, Reg b, int32_t imm);
MInsn *sel_rr(Sel *s, Opcode op, Reg a, Reg b);
MInsn *sel_li(Sel *s, RegClass cls, Reg a, uint32_t bits);
void sel_copy(Sel *s, RegClass cls, Reg to, Reg from);
void sel_label(Sel *s, uint32_t label);
void sel_jump(Sel *s, Opcode op, Reg a, Reg b, uint32_t label);

/* ---- select_mem.c --------------------------------------------------------------------------- */

Addr sel_address(const Sel *s, IrValue pointer);
/* 1 + the global that the address was made from; 0: not known, or several. */
uint32_t sel_object(const Sel *s, IrValue pointer);
/* One register for what an address adds to its constant; REG_NONE if nothing. */
Reg sel_base(Sel *s, const Addr *at);
/* Loads or stores at address + offset. */
void sel_load(Sel *s, Opcode op, Reg to, const Addr *at, int32_t offset);
MInsn *sel_store(Sel *s, Opcode op, Reg from, const Addr *at, int32_t offset);
/* The address itself. */
void sel_lea(Sel *s, Reg to, const Addr *at);
bool addr_equal(const Addr *a, const Addr *b);
bool addr_distinct(const Sel *s, const Addr *a, const Addr *b);
/* Copies words; small counts in line. */
void sel_copy_memory(Sel *s, const Addr *to, const Addr *from, uint32_t bytes, bool by_bytes);

/* Puts a 16- or 32-bit value into a register: constants and addresses without a detour. */
void sel_into(Sel *s, Reg to, IrValue v);
void sel_into_part(Sel *s, Reg to, IrValue v, unsigned part);

/* ---- select_branch.c ------------------------------------------------------------------------ */

/* Branches to the label when the condition has the given truth. */
void sel_branch(Sel *s, IrValue cond, bool truth, uint32_t label);

/* ---- select_int.c --------------------------------------------------------------------------- */

void sel_arith(Sel *s, IrValue v, const IrInsn *insn);
void sel_compare(Sel *s, IrValue v, const IrInsn *insn);
void sel_convert(Sel *s, IrValue v, const IrInsn *insn);

/* ---- select_call.c -------------------------------------------------------------------------- */

void sel_call(Sel *s, IrValue v, const IrInsn *insn);
/* A call of a routine of ours in place of the instruction that defines v. */
void sel_runtime(Sel *s, IrValue v, RtKind kind, const IrValue *args, uint32_t n);
void sel_entry(Sel *s);
void sel_ret(Sel *s, const IrInsn *insn);

/* ---- dsd.c ---------------------------------------------------------------------------------- */

/* Decides which descriptors are copied where they are made. */
void dsd_plan(Sel *s);
void dsd_select(Sel *s, IrValue v, const IrInsn *insn);       /* what makes a descriptor */
void dsd_store(Sel *s, const Addr *to, IrValue v);
/* The register that holds the address of a descriptor parameter. */
Reg dsd_param_reg(Sel *s, IrValue param);
void dsd_get(Sel *s, IrValue v, const IrInsn *insn);
/* Puts the address of a descriptor that will not change into a register. */
void dsd_address_into(Sel *s, Reg to, IrValue v);
/* Copies of descriptors that are block arguments; before those of scalars. */
void dsd_edge(Sel *s, const IrTarget *target);
/* Does this path have descriptors to store that the other path and its successors do not read? Then
 * they may be stored in front of the branch. */
bool dsd_edge_comes_early(Sel *s, const IrTarget *target, const IrTarget *other);
void dsd_load_dsr(Sel *s, const IrInsn *insn);
void dsd_vec(Sel *s, IrValue v, const IrInsn *insn);

/* ---- the other steps of a function ---------------------------------------------------------- */

void select_func(Cg *cg, MFunc *mf);
/* Removes instructions without effect and with an unread result. */
void mir_sweep(MFunc *mf);
/* Does an instruction behind this one read the carry that it leaves?  Nothing else that leaves one
 * may come between; loads from the stack may stand there, after allocation. */
bool mir_carry_is_read(const MFunc *mf, size_t i);

/* constants.c: loops find their constants in registers. */
void keep_constants(Cg *cg, MFunc *mf);

/* dsr.c: once for the module before, then function by function. */
void dsr_plan(Cg *cg);
void dsr_free(Cg *cg);
void dsr_assign(Cg *cg, MFunc *mf);
bool dsr_temp_equal(const DsrTemp *a, const DsrTemp *b);
unsigned dsr_xdsr(Cg *cg, DsrFile file, unsigned number, bool is_map, Span at);

/* liveness.c: blocks of the flat code and what lives at their ends. */
typedef struct {
  uint32_t first, end;           /* instructions */
  uint32_t next[2];              /* successors, IR_NO_ID none */
  uint32_t loop_depth;
  uint32_t *live_out;            /* indexes of the virtual registers that live where it ends */
  uint32_t n_live_out;
} FlowBlock;
typedef struct {
  Arena *arena;
  uint32_t n_blocks, n_words;    /* words of a set of virtual registers */
  FlowBlock *blocks;
} Flow;
void flow_build(Flow *flow, const MFunc *mf, Arena *arena);
/* How often the code of the block runs, as a guess. */
double flow_weight(const FlowBlock *block);
/* Sets a bit for each virtual register that lives where the block ends. */
void flow_live_out(const Flow *flow, const FlowBlock *block, uint64_t *live);
static inline bool bit_get(const uint64_t *set, uint32_t i) { return set[i / 64] >> (i % 64) & 1; }
static inline void bit_set(uint64_t *set, uint32_t i) { set[i / 64] |= UINT64_C(1) << (i % 64); }
static inline void bit_clear(uint64_t *set, uint32_t i)
{
  set[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

/* spill.c: virtual registers without a physical one.  The first: does the instruction make a value
 * that can be made again in any place? */
bool spill_remakes(const Cg *cg, const MInsn *mi);
/* What spilling a register with accesses of this weight costs, constant or not. */
double spill_price(double weight, bool is_constant);
/* Rewrites the code so that those named live in slots, or are made again where they are read. */
void spill_registers(const Cg *cg, MFunc *mf, const bool *spilled, Arena *arena);
/* Spills registers where far too many live together. */
void spill_crowd(const Cg *cg, MFunc *mf);

/* regalloc.c */
void regalloc_func(Cg *cg, MFunc *mf);
/* Registers that a call may change, a bit each. */
uint16_t regs_caller_saved(const Machine *machine);

/* variables.c: where variables are, for debuggers.  Nothing of it changes the code. */
void variables_find(Sel *s);
/* Before allocation: which registers hold their variables where. */
void variables_mark(MFunc *mf);
/* Follows the homes through a step of allocation. */
void variables_rename(MFunc *mf, Reg (*rename)(void *context, Reg reg), void *context);
/* After allocation, while copies that have become nothing are still there: a parameter does not
 * change, so its register holds it behind its last use, too, until something else is written there.
 * The last use may be such a copy, to where a call expects its argument. */
void variables_keep_parameters(MFunc *mf);
/* The functions with their variables, for the image. `inlined` gives the number of the call that a
 * location was inlined by, and false if no code of it is left. */
typedef bool InlinedBy(void *context, uint32_t loc, uint32_t *number);
void variables_emit(const Cg *cg, InlinedBy *inlined, void *context, ImageClass *image);

/* asserted.c: the values that assertions compare, for the image. */
void asserted_emit(const Cg *cg, ImageClass *image);

/* reload.c: copies of pairs become loads of what memory holds. */
void reload_pairs(MFunc *mf);

/* hoist.c: brings instructions in front of branches; jumps to the next instruction may be left. */
void branch_hoist(MFunc *mf);

/* tidy.c, frame.c */
void tidy_func(const Cg *cg, MFunc *mf);
void frame_func(Cg *cg, MFunc *mf);
/* Stack depth over the call graph; recursion counts once. */
void stack_measure(Cg *cg);

/* ---- layout.c, emit.c ----------------------------------------------------------------------- */

/* Places globals, pool, parameters, code and stack; false after a diagnostic. */
bool layout_module(Cg *cg);
uint32_t layout_symbol(const Cg *cg, SymKind sym, uint32_t index);
/* A descriptor with its global's address added. */
void layout_desc_words(const Cg *cg, const PoolDesc *desc, uint16_t words[12]);
void layout_data(const Cg *cg, ImageClass *image);
typedef struct { uint32_t file, line, column; } FilePlace;
/* The place of a global among the symbols of the image. */
uint32_t cg_symbol_of(const Cg *cg, uint32_t global);
FilePlace file_place(const Cg *cg, Span span);     /* zeros: not known */
void emit_module(Cg *cg, ImageClass *image);

#endif
