/* The semantic half of the front end: one lazy partial evaluator from syntax tree to layout
 * description and typed IR.
 *
 * Reading order: syntax.h, pool.c, type.c, value.c, scope.c, sema_decl.c, sema_expr.c,
 * sema_type.c, sema_operand.c, sema_place.c, sema_arith.c, sema_cast.c, sema_stmt.c, sema_call.c,
 * sema_symbolic.c, sema_emit.c, builtins.def, sema_builtin_*.c, dsd_ops.def, sema_dsd.c, layout.c,
 * tile_class.c, driver.c.
 *
 * The idea to read it with: there is one walker.  Each construct has one function that checks
 * its operands and then either folds (all comptime-known, or the walker is in comptime mode) or
 * emits IR.  Declarations resolve lazily and once; a branch whose condition is comptime-false is
 * never looked at.
 *
 * A tile's parameters that differ from tile to tile enter as *symbolic* values; arithmetic over
 * them stays symbolic, and only what must be known at compile time *forces* them (tile_class.c).
 */
#ifndef FRONTEND_H
#define FRONTEND_H

#include "frontend/syntax.h"
#include "ir/ir.h"
#include <gmp.h>

/* ---- pool.c: types and comptime values, interned -------------------------------------------- */

/* Equal types and equal values have equal ids.  A type is a value of type `type`.  Nothing in
 * the pool changes; comptime variables live in cells (below) and are frozen when they escape. */
typedef struct { uint32_t raw; } PoolId;
static inline bool pool_eq(PoolId a, PoolId b) { return a.raw == b.raw; }
static inline bool pool_is_none(PoolId a) { return a.raw == 0; }

/* Predeclared types: WELL_KNOWN_TYPE(CONSTANT, "spelling"); the name is predeclared in every
 * file unless it starts with '<'. */
#define WELL_KNOWN_TYPES(T) \
  T(VOID, "void") T(BOOL, "bool") T(TYPE, "type") T(COMPTIME_INT, "comptime_int") \
  T(COMPTIME_FLOAT, "comptime_float") T(COMPTIME_STRING, "comptime_string") \
  T(COMPTIME_STRUCT, "comptime_struct") T(IMPORTED_MODULE, "imported_module") \
  T(ANYOPAQUE, "anyopaque") T(F16, "f16") T(BF16, "bf16") T(CB16, "cb16") T(F32, "f32") \
  T(COLOR, "color") T(DIRECTION, "direction") T(INPUT_QUEUE, "input_queue") \
  T(OUTPUT_QUEUE, "output_queue") T(DATA_TASK_ID, "data_task_id") \
  T(LOCAL_TASK_ID, "local_task_id") T(CONTROL_TASK_ID, "control_task_id") T(UT_ID, "ut_id") \
  T(MEM1D_DSD, "mem1d_dsd") T(MEM4D_DSD, "mem4d_dsd") T(CIRCBUF_DSD, "circbuf_dsd") \
  T(FABIN_DSD, "fabin_dsd") T(FABOUT_DSD, "fabout_dsd") T(DSR_DEST, "dsr_dest") \
  T(DSR_SRC0, "dsr_src0") T(DSR_SRC1, "dsr_src1") T(DSR_FIFO_DEST, "dsr_fifo_dest") \
  T(DSR_FIFO_SRC1, "dsr_fifo_src1") T(XDSR, "xdsr") T(SR, "sr") T(FIFO, "<fifo>") \
  T(ANYTYPE, "<anytype>") T(POISON_TYPE, "<poison>")

enum {
  POOL_RAW_NONE = 0,
#define T(name, text) POOL_RAW_##name,
  WELL_KNOWN_TYPES(T)
#undef T
  POOL_RAW_POISON,        /* the value of what is in error: everything over it stays silent */
  POOL_RAW_VOID_VALUE, POOL_RAW_TRUE, POOL_RAW_FALSE,
  POOL_RAW_I8, POOL_RAW_I16, POOL_RAW_I32, POOL_RAW_I64,
  POOL_RAW_U8, POOL_RAW_U16, POOL_RAW_U32, POOL_RAW_U64,
  POOL_RAW_WELL_KNOWN_COUNT
};
#define POOL(name) ((PoolId){POOL_RAW_##name})    /* POOL(F32), POOL(POISON), ... */
/* i8 ... u64 */
static inline bool pool_is_machine_int(PoolId type)
{
  return type.raw >= POOL_RAW_I8 && type.raw <= POOL_RAW_U64;
}

typedef enum {
  /* types */
  PK_WELL_KNOWN_TYPE, PK_INT_TYPE, PK_ARRAY_TYPE, PK_POINTER_TYPE, PK_FN_TYPE,
  PK_STRUCT_TYPE,        /* anonymous (structural), tuple (no names) or named (nominal) */
  PK_UNION_TYPE, PK_ENUM_TYPE, PK_RANGE_TYPE,
  /* values; each has a type */
  PK_POISON, PK_VOID_VALUE, PK_BOOL_VALUE,
  PK_INT,                /* integers, enums, directions, colors, ids, queues */
  PK_FLOAT,              /* bits: f64 for comptime_float, else of the format */
  PK_STRING,
  PK_AGGREGATE,          /* arrays (row-major), structs, tuples: one id an element */
  PK_FUNC,               /* a function or task instance */
  PK_MODULE,             /* a module instance */
  PK_POINTER,            /* address of a global (or of a part), or a comptime cell, or an integer;
                          * a pointer to a function is a PK_FUNC of pointer type */
  PK_RANGE, PK_DSD, PK_DSR, PK_FIFO,
  PK_SYMBOLIC            /* depends on this tile's parameters and has not been forced */
} PoolKind;

typedef struct { StrId name; PoolId type; } PoolField;

/* How a symbolic value is computed from the tile's parameters. */
typedef enum {
  SYM_PARAM,             /* parameter `index` of the tile's main file */
  SYM_UNARY, SYM_BINARY, /* op: UnaryOp, BinaryOp, in the type of the operands */
  SYM_CONVERT,           /* @as to the value's type */
  SYM_BITCAST,
  SYM_INIT               /* element `index` of global initialiser a, evaluated once more per tile */
} SymKind;

/* What an id stands for, by value in and out; pointers are borrowed on the way in (copied) and
 * owned by the pool on the way out (they stay valid as long as the pool). */
typedef struct {
  PoolKind kind;
  PoolId type;           /* values: their type */
  union {
    struct { bool is_signed; uint32_t bits; } int_type;
    struct { uint32_t rank; const uint32_t *dims; PoolId element; } array;
    struct { bool is_many, is_const; PoolId pointee; } pointer_type;
    struct { bool is_task; uint32_t n; const PoolId *params; PoolId result; } fn_type;
    struct {
      uint32_t n;
      const PoolField *fields;   /* tuples: names with raw 0 */
      bool is_tuple;
      uint32_t origin;           /* named: 1 + offset of the declaration; anonymous: 0 */
      StructLayout layout;
      StrId name;                /* named: for messages */
    } fields;                    /* struct and union types */
    struct {
      PoolId tag;
      uint32_t n;
      const StrId *names;
      const PoolId *values;
      uint32_t origin;
      StrId name;
    } enum_type;
    struct { int64_t small; const char *big; } integer;   /* big: decimal text if it is too large */
    struct { uint64_t bits; } floating;
    StrId string;
    struct { uint32_t n; const PoolId *elems; } aggregate;
    uint32_t index;              /* PK_FUNC, PK_MODULE, PK_FIFO: index of the instance */
    /* base_kind: PtrBase; base: global or cell; offset: bytes or (serial << 32 | leaf) */
    struct { uint32_t base_kind; uint32_t base; int64_t offset; } pointer;
    struct { PoolId start, stop, step; } range;
    struct { IrDesc desc; uint32_t name; } dsd;   /* desc.global: of a Global; name: StrId.raw */
    struct { DsrFile file; uint8_t number; bool is_fifo; } dsr;
    struct { SymKind sym; uint32_t op, index; PoolId a, b; } symbolic;
  } u;
} PoolKey;
typedef enum { PTR_GLOBAL, PTR_CELL, PTR_INTEGER } PtrBase;

typedef struct Pool Pool;
Pool *pool_create(Arena *arena, StrTable *names);
void pool_destroy(Pool *pool);       /* its tables; the rest is the arena's */
StrTable *pool_names(const Pool *pool);
PoolId pool_get(Pool *pool, const PoolKey *key);
PoolKey pool_key(const Pool *pool, PoolId id);
PoolKind pool_kind(const Pool *pool, PoolId id);
/* The type of a value (POOL(TYPE) for types). */
PoolId pool_type_of(const Pool *pool, PoolId value);

PoolId pool_int_type(Pool *pool, bool is_signed, unsigned bits);
PoolId pool_array_type(Pool *pool, const uint32_t *dims, uint32_t rank, PoolId element);
PoolId pool_pointer_type(Pool *pool, bool is_many, bool is_const, PoolId pointee);
PoolId pool_range_type(Pool *pool, PoolId element);
PoolId pool_int(Pool *pool, PoolId type, int64_t value);          /* value fits the type */
PoolId pool_bigint(Pool *pool, PoolId type, const mpz_t value);
PoolId pool_float(Pool *pool, PoolId type, double value);         /* rounded to the type */
PoolId pool_float_bits(Pool *pool, PoolId type, uint64_t bits);
PoolId pool_bool(bool value);
PoolId pool_string(Pool *pool, StrId text);
PoolId pool_aggregate(Pool *pool, PoolId type, const PoolId *elems, uint32_t n);
bool pool_int_value(const Pool *pool, PoolId value, int64_t *out);   /* false if it does not fit */
void pool_mpz(const Pool *pool, PoolId value, mpz_t out);            /* out: initialised */
double pool_float_value(const Pool *pool, PoolId value);
/* Is there a symbolic value in it?  Known when it is interned. */
bool value_has_symbolic(const Pool *pool, PoolId value);
/* Operations between it and the parameters it is computed from, at most 255; 0: not symbolic. */
unsigned value_symbolic_height(const Pool *pool, PoolId value);
/* Field of a struct value by name; POOL_NONE if absent. */
PoolId pool_field(const Pool *pool, PoolId value, StrId name);

/* ---- type.c --------------------------------------------------------------------------------- */

bool type_is_int(const Pool *pool, PoolId type);            /* iN, uN, comptime_int */
bool type_is_float(const Pool *pool, PoolId type);          /* fp16 types, f32, comptime_float */
bool type_is_numeric(const Pool *pool, PoolId type);
bool type_is_float16(PoolId type);                          /* f16, bf16, cb16 */
bool type_is_id(PoolId type);                               /* color, queues, task ids, ut_id */
bool type_is_dsd(PoolId type);
bool type_is_dsr(PoolId type);
bool type_is_comptime_only(const Pool *pool, PoolId type);
uint32_t type_bytes(const Pool *pool, PoolId type);         /* in tile memory */
uint32_t type_align(const Pool *pool, PoolId type);
uint64_t type_element_count(const Pool *pool, PoolId type); /* arrays */
uint32_t type_field_offset(const Pool *pool, PoolId type, uint32_t field);
/* Bits of a value as a field of a packed type; 0: it cannot be one. */
uint32_t type_bits(const Pool *pool, PoolId type);
uint32_t type_field_bit(const Pool *pool, PoolId type, uint32_t field);   /* packed types */
enum { PACKED_MAX_BITS = 65535 };   /* Operand.bit counts them */
enum { TYPE_INT_MAX_BITS = 16777215 };   /* of iN, uN: SDK docs, types */
/* The widest integer of the IR; those beyond are wide: code may use them, no register holds one. */
enum { TYPE_SCALAR_MAX_BITS = 64, TYPE_WIDE_MAX_BITS = 256 };
bool type_is_wide(const Pool *pool, PoolId type);
IrType type_ir(const Pool *pool, PoolId type);    /* of scalars, pointers, DSDs; else void */
const char *type_text(Pool *pool, Arena *arena, PoolId type);   /* as CSL; cut off if long */
/* For printers: has `out` more than `most` bytes?  The text, cut off there. */
bool text_is_full(FILE *out, long most);
const char *text_cut(Arena *arena, const char *text, size_t length, size_t most);
bool type_is_aggregate(const Pool *pool, PoolId type);      /* arrays, structs, unions */
/* Scalar leaves that a comptime variable of the type has. */
uint32_t type_leaf_count(const Pool *pool, PoolId type);

/* ---- value.c -------------------------------------------------------------------------------- */

const char *value_text(Pool *pool, Arena *arena, PoolId value);   /* strings without quotes */
PoolId value_from_leaves(Pool *pool, PoolId type, const PoolId *leaves);
PoolId *value_to_leaves(const Pool *pool, PoolId type, PoolId value, PoolId *leaves);  /* end */
/* Integers.  Types that are no fixed-width integer (comptime_int, ids) hold everything. */
PoolId value_int_type(const Pool *pool, PoolId type);        /* enums: the tag type */
bool value_small_fits(const Pool *pool, PoolId type, int64_t value);
bool value_big_fits(const Pool *pool, PoolId type, const mpz_t value);
bool value_int_fits(const Pool *pool, PoolId type, PoolId value);
PoolId value_int_as(Pool *pool, PoolId type, PoolId value);  /* the same number, other type */
void value_wrap(mpz_t number, unsigned bits, bool is_signed);   /* to two's complement */
PoolId value_int_wrapped(Pool *pool, PoolId type, PoolId value);   /* the low bits of the number */
uint64_t value_int_bits(const Pool *pool, PoolId value);     /* two's complement, low 64 bits */
PoolId value_from_bits(Pool *pool, PoolId type, uint64_t bits);   /* low bits kept */

/* ---- sema: instances, declarations, frames -------------------------------------------------- */

typedef struct Session Session;   /* one run of cslc: sources, syntax trees, pool, options */
typedef struct Sema Sema;         /* one evaluation: the layout, or one tile class' program */

typedef enum { DECL_UNRESOLVED, DECL_RUNNING, DECL_DONE, DECL_FAILED } DeclState;
typedef enum { DECL_CONST, DECL_VAR, DECL_PARAM, DECL_FN, DECL_COLOR } DeclKind;

/* A named global thing of one module instance. */
typedef struct {
  DeclKind kind;
  DeclState state;
  uint32_t module;         /* index of the module instance */
  const Node *node;
  StrId name;
  Span name_span;
  PoolId type;
  PoolId value;            /* const, param, fn: known value; var: initial value, frozen */
  uint32_t global;         /* index of its Global once its address is needed, else IR_NO_ID */
  StrId exported_as;       /* the name that @export gives it; raw 0: none */
  Span exported_at;        /* that @export */
} Decl;

/* An imported file with its parameters bound; each @import_module makes a new one. */
typedef struct {
  const Ast *ast;
  StrId path;              /* as imported, for symbol names */
  uint32_t parent;         /* importing instance; IR_NO_ID for the main file */
  Span imported_at;
  PoolId params;           /* struct value bound to it, or POOL_NONE */
  const Node *params_node; /* what that was written as, or NULL */
  Decl *decls;             /* stb_ds array */
  void *by_name;           /* StrId -> index of decls */
} ModuleInstance;

/* A function with its comptime parameters and argument types bound. */
typedef struct {
  uint32_t decl_module;    /* where it is declared */
  const Node *node;        /* ND_FN_DECL */
  PoolId type;             /* of this instance; POOL_NONE while generic */
  uint32_t n_bound;
  const PoolId *bound;     /* per parameter: comptime value that specialises it, or none */
  IrFuncId ir;             /* raw IR_NO_ID until code is wanted */
  bool compiled;
  bool is_generic;         /* needs the arguments of a call: no code of its own */
  Span instantiated_at;    /* the call that first bound it; off 0: it is not generic */
  uint32_t instantiated_by;   /* the function with that call, if it was being compiled; IR_NO_ID */
  bool has_effects;        /* seen at compile time: its calls are not memoised */
  StrId name;
} FuncInstance;

/* A variable or constant with an address in tile memory. */
typedef struct {
  uint32_t decl_module, decl;   /* IR_NO_ID for anonymous data */
  PoolId type;
  IrGlobalId ir;
  StrId section;                /* linksection; raw 0: none */
  PoolId init;                  /* frozen initial value or POOL_NONE */
} Global;

/* A comptime variable: n scalar leaves of its (flattened) type, at Sema.leaves[first].  Cells are
 * a stack; `serial` tells a pointer whether its cell is still the one it pointed to. */
typedef struct {
  PoolId type;
  uint32_t first, n;
  uint32_t serial;
  uint32_t depth;          /* number of run-time conditions around the declaration */
  bool is_const;
} Cell;

/* A range with a bound that is known at run time only; operands of that kind hold its index in
 * Operand.cell. */
typedef struct RuntimeRange RuntimeRange;

/* What an expression came to. */
typedef enum {
  OPR_POISON,
  OPR_COMPTIME,            /* value (symbolic included) */
  OPR_RUNTIME,             /* ir: a scalar, pointer or DSD value */
  OPR_MEMORY,              /* ir: address of a run-time object of `type`; an lvalue if !is_const */
  OPR_CELL                 /* cell + leaf: a comptime lvalue of `type` */
} OperandKind;
typedef struct {
  OperandKind kind;
  PoolId type;
  PoolId value;            /* OPR_COMPTIME */
  IrValue ir;              /* OPR_RUNTIME, OPR_MEMORY */
  uint32_t cell, leaf;     /* OPR_CELL; OPR_RUNTIME of range type: cell is the RuntimeRange */
  bool is_const;           /* OPR_MEMORY, OPR_CELL: not assignable */
  bool is_temp;            /* OPR_MEMORY: nobody else refers to it, so it need not be copied */
  bool is_global;          /* OPR_MEMORY without ir: at `global` + `offset`, known at comptime */
  uint32_t global;
  int64_t offset;
  PoolId packed;           /* OPR_MEMORY: the place is bits, from `bit` on, of an object of this */
  uint16_t bit;            /*   packed type, which is at the address; none: a place of its own.
                            * OPR_CELL: part of this union; `bit` is the field if not packed */
  StrId name;              /* of the declaration it came from, for reports; raw 0 none */
  Decl *decl;              /* OPR_COMPTIME: the global constant it came from, or NULL */
  Span span;
} Operand;
static inline bool operand_is_poison(Operand o) { return o.kind == OPR_POISON; }
static inline bool operand_is_comptime(Operand o) { return o.kind == OPR_COMPTIME; }

typedef enum {
  WHERE_LAYOUT = 1,        /* layout block and what it calls */
  WHERE_TOP = 2,           /* top-level comptime block and what it calls */
  WHERE_COMPTIME = 4,      /* any other comptime evaluation */
  WHERE_RUNTIME = 8        /* code of a PE */
} Where;

/* Colors, routes and the like that the layout produced; see layout.c. */
typedef struct LayoutResult LayoutResult;

struct Sema {
  Session *session;
  Pool *pool;
  Arena *arena;
  Diags *diags;
  Where where;
  bool comptime;              /* the walker folds only; run-time values are errors */
  IrModule *ir;               /* NULL while evaluating the layout */
  IrBuilder b;                /* where code goes when emitting */
  ModuleInstance *modules;    /* stb_ds arrays; [0] is the main file */
  FuncInstance *funcs;
  Global *globals;
  Cell *cells;
  PoolId *leaves;             /* of the cells */
  RuntimeRange *ranges;
  struct Frame *frame;        /* scopes of the function being walked; scope.c */
  uint32_t module;            /* instance whose names are in scope */
  LayoutResult *layout;       /* result under construction (layout), or the finished one */
  struct TileEnv *tile;       /* this tile's parameters and the record of forced values */
  struct Computed *computed;  /* stb_ds: symbolic values with these parameters; sema_symbolic.c */
  const PoolId *computed_for;
  struct MachineSetup *setup; /* tasks, queues, exports that top-level blocks asked for */
  uint64_t steps;             /* comptime step quota used */
  bool is_out_of_steps;       /* reported */
  uint32_t depth;             /* comptime call depth */
  uint64_t effects;           /* grows with every step that reads or changes something beyond its
                               * operands: only what leaves it alone is memoised.  sema_expr adds
                               * one for each builtin call that is not marked pure. */
  uint64_t local_uses;        /* grows with every use of a local: same purpose */
  bool is_dead;               /* the point reached cannot be: after a return, break ... */
  bool is_refuted;            /* an assertion does not hold: nothing after it is looked at */
  uint32_t run_time_depth;    /* run-time conditions around the point reached */
  struct SemaPrivate *own;    /* maps of the sema_*.c files */
  void *outer;                /* the evaluation that this one stands in, for context.c */
};

/* ---- sema.c: one evaluation, from start to end ---------------------------------------------- */

/* The first sema_import of an evaluation makes modules[0], the main file; `params` is the struct
 * bound to its parameters.  Names resolve lazily: importing runs nothing.  Then: */

/* Imports what global constants import and runs the top-level comptime blocks of all modules,
 * importers after what they import. */
void sema_run_top_blocks(Sema *s);
/* After sema_compile_pending: brings s->ir's globals into the order of the memory map and fills
 * in their initial data (symbolic leaves by tile_env_initial_data). */
void sema_finish(Sema *s);
/* Frees what `own` holds; for sema_destroy. */
void sema_own_destroy(Sema *s);


/* sema_expr.c.  `want` is the type the context demands, or POOL_NONE; it guides literals and
 * branches but does not coerce: use sema_coerce. */
/* Variables and their parts come back as lvalues: sema_load (or sema_coerce) reads them. */
Operand sema_expr(Sema *s, const Node *n, PoolId want);
/* The known value of an operand, forced; POOL(POISON) after reporting that it has none. */
PoolId sema_comptime_value(Sema *s, Operand o, Span span);
/* Evaluates in comptime mode; symbolic values stay. */
Operand sema_comptime_operand(Sema *s, const Node *n, PoolId want);
/* The same, forced; POOL(POISON) after reporting. */
PoolId sema_comptime(Sema *s, const Node *n, PoolId want);
PoolId sema_type_expr(Sema *s, const Node *n);
/* Converts implicitly to `type` or reports type_mismatch at `span`. */
Operand sema_coerce(Sema *s, Operand o, PoolId type, Span span);
/* Reads an lvalue: cells and memory become values (aggregates in memory stay OPR_MEMORY). */
Operand sema_load(Sema *s, Operand o);
/* Assigns to an lvalue. */
void sema_store(Sema *s, Operand target, Operand value, Span span);
/* The scalar, pointer or DSD as an IR value in the current block (comptime values become
 * constants, symbolic ones tile parameters).  The type must be a run-time type. */
IrValue sema_ir(Sema *s, Operand o);
/* Address of an aggregate operand: comptime aggregates become constant data. */
IrValue sema_address(Sema *s, Operand o);
/* Forces a symbolic value to what it is on this tile and records that in the tile's trace;
 * other values pass. */
PoolId sema_force(Sema *s, PoolId value);
bool sema_is_symbolic(const Sema *s, PoolId value);
Operand operand_poison(void);
Operand operand_value(Sema *s, PoolId value);            /* comptime */
Operand operand_runtime(IrValue ir, PoolId type);
/* Parts: base[indices], pointer.* and &place, lvalues if the base is one. */
Operand sema_index(Sema *s, Operand base, const Operand *indices, uint32_t n, Span span);
Operand sema_deref(Sema *s, Operand pointer, Span span);
Operand sema_address_of(Sema *s, Operand place, Span span);
/* Binary and unary operators on operands. */
Operand sema_binary(Sema *s, BinaryOp op, Operand a, Operand b, Span span);
Operand sema_unary(Sema *s, UnaryOp op, Operand a, Span span);
/* A struct or tuple (names NULL) of the parts; known at compile time if all of them are. */
Operand sema_aggregate(Sema *s, const StrId *names, const Operand *parts, uint32_t n, Span span);
/* An array of `type` with every element `value`. */
Operand sema_splat(Sema *s, PoolId type, Operand value, Span span);
/* The range start .. stop (exclusive) by step; the operands have the type `element`. */
Operand sema_range(Sema *s, PoolId element, Operand start, Operand stop, Operand step);
Operand sema_range_part(Sema *s, Operand range, unsigned part);   /* 0 start, 1 stop, 2 step */
/* Counts comptime steps for work that takes long or memory; the next step sees whether they were
 * too many. */
void sema_count_steps(Sema *s, uint64_t n);
/* Code emitted next belongs to the source at `span`. */
void sema_at(Sema *s, Span span);
/* Value of a symbolic for the tile whose parameters are given (POOL(POISON): out of range); what
 * was computed on the way is kept for the next call with the same array. */
PoolId sema_eval_symbolic(Sema *s, PoolId symbolic, const PoolId *params);
void sema_forget_computed(Sema *s);
/* @as and @bitcast on any operand. */
Operand sema_convert(Sema *s, Operand o, PoolId type, Span span);
Operand sema_bitcast(Sema *s, Operand o, PoolId type, Span span);
/* What a task gets a packed parameter as; IRT_VOID: a wavelet's words do not hold it exactly. */
IrType packed_param_ir(Sema *s, PoolId type);

/* context.c */
/* From here on, errors and warnings carry notes on where `s` is: calls, imports, its tile. */
void context_enter(Sema *s);
void context_leave(Sema *s);
/* A note on what makes a value of the type of an id from a number, if it is one. */
void sema_note_makes_one(Sema *s, PoolId type, PoolId found, Span span);
/* A note under the error reported last: where the name that the operand was written with is
 * declared. */
void sema_note_declared(Sema *s, const Operand *o);
/* A note with a name that may have been meant, and its fix; NULL: none. */
void diag_suggest(Diags *diags, Span span, const char *name);

/* sema_decl.c */
/* New instance; IR_NO_ID after reporting.  params_node: what `params` was written as, or NULL. */
uint32_t sema_import(Sema *s, const char *path, PoolId params, const Node *params_node, Span at);
/* @import_module; the builtin table has checked that there are one or two arguments. */
Operand sema_import_builtin(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want);
Decl *sema_find_decl(Sema *s, uint32_t module, StrId name);                /* NULL: no such name */
bool sema_resolve(Sema *s, Decl *d);
/* Index in s->globals of a variable that is resolved. */
uint32_t sema_decl_global(Sema *s, Decl *d);
Operand sema_decl_operand(Sema *s, Decl *d, Span use);
IrGlobalId sema_global_ir(Sema *s, uint32_t global);
/* What a declaration's align(n) asks for, `align` at least; an error, and `align`, if n is none. */
uint32_t sema_align(Sema *s, const Node *n, uint32_t align);
/* An anonymous constant in tile memory. */
uint32_t sema_constant_data(Sema *s, PoolId value);

/* sema_stmt.c, sema_call.c */
void sema_run_comptime_block(Sema *s, const Node *block);
Operand sema_call(Sema *s, Operand callee, const Node *call_node, const NodeList *args,
                  PoolId want);
Operand sema_call_values(Sema *s, Operand callee, const Operand *args, uint32_t n, Span at,
                         PoolId want);
/* The IR function of a function value, compiled now or later; tasks included. */
IrFuncId sema_func_ir(Sema *s, uint32_t func);
void sema_compile_pending(Sema *s);

/* ---- builtins ------------------------------------------------------------------------------- */

/* builtins.def: BUILTIN(name, min args, max args (-1: any), where mask, archs, handler); every
 * handler has this shape.  The table check (arity, place, architecture) has run before. */
typedef Operand BuiltinHandler(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want);
Operand sema_builtin(Sema *s, const Node *call, PoolId want);
/* A note under the error reported last: how the builtin that is called is written. */
void sema_note_usage(Sema *s, const Node *call);
bool sema_builtin_exists(const Session *session, StrId name);   /* without the '@' */
/* Does its value depend on its operands alone? */
bool sema_builtin_is_pure(const Session *session, StrId name);
/* Is a call of it of no use when its value is not used? */
bool sema_builtin_only_yields(const Session *session, StrId name, bool *is_copy);

/* The machine-facing half needs these of the core:
 *   value_on_tile   a value with its symbolic parts replaced by what they are on the tile of
 *                   s->tile (by tile_env_param), nothing recorded; poison if that is an error
 *   sema_member     base.name as an rvalue or lvalue (also @field)
 * Make ranges with sema_range: while they are not stored, their parts stay SSA values; stored,
 * they are start, stop and step one after the other, each of the element type. */
PoolId value_on_tile(Sema *s, PoolId value);
Operand sema_member(Sema *s, Operand base, StrId name, Span span);

/* sema_dsd.c: |i|{n} -> a[i], as a value of the anonymous struct type
 * .{ .base_address, .offset, .stride = .{..}, .extent = .{..} }. */
Operand sema_tensor_access(Sema *s, const NodeTensorAccess *n, PoolId want);

/* ---- tile_class.c --------------------------------------------------------------------------- */

/* What parameter `index` (u.symbolic.index of SYM_PARAM) is on the tile that is analysed. */
PoolId tile_env_param(Sema *s, uint32_t index);
/* The tile that is analysed: its coordinates, the @set_tile_code it is from and its parameters.
 * False when that is no tile of a layout. */
bool tile_env_place(const Sema *s, uint32_t *x, uint32_t *y, Span *span, PoolId *params);
/* Adds to the trace: the analysis relied on `symbolic` being `outcome`. */
void tile_env_record(Sema *s, PoolId symbolic, PoolId outcome);
/* Has the analysis relied on `symbolic` already?  Then it is a constant of the class. */
bool tile_env_forced(Sema *s, PoolId symbolic, PoolId *outcome);
/* The tile parameter (ir_tile_param) that holds `symbolic` (of a scalar run-time type) at run
 * time; the same value gets the same number. */
uint32_t tile_env_run_time_word(Sema *s, PoolId symbolic);
/* Initial data of a global differs by tile: `symbolic` stands at byte `offset`. */
void tile_env_initial_data(Sema *s, IrGlobalId global, uint32_t offset, PoolId symbolic);

/* ---- options.c: the command line ------------------------------------------------------------ */

typedef enum {
  EMIT_NONE, EMIT_TOKENS, EMIT_AST, EMIT_TREE, EMIT_IR, EMIT_ASM, EMIT_LAYOUT, EMIT_MAP
} EmitKind;
typedef struct { const char *name; uint16_t address; } OptionSection;
typedef struct { const char *name, *value; Span span; } OptionBinding;   /* of NAME:VALUE */
typedef struct {
  const char *input, *output;
  const char *layout_json;     /* then there is no other input */
  const char *output_json;     /* out.json's other name; "": that of the output */
  Arch arch;
  Fp16Format fp16;
  EmitKind emit;
  int opt_level;
  DiagFormat diag_format;
  bool werror, fabric_warnings, time_report, verbose, out_routes;
  bool memcpy;
  uint32_t fabric_width, fabric_height;      /* 0: the rectangle */
  uint32_t offset_x, offset_y, channels, west_buf, east_buf;
  uint32_t max_inlined_iterations, comptime_depth_limit, comptime_step_limit;
  unsigned sdk;                              /* as Image.sdk; 0: by the signs in the program */
  OptionBinding *params, *colors;            /* stb_ds arrays */
  OptionSection *sections;
  const char **import_paths;                 /* stb_ds array */
} Options;
/* Fills `options` from the command line, which becomes a source text of its own, so that
 * bindings have places; strings live in argv and `arena`.  OPTIONS_GO_ON, or the exit code to
 * end with after what was printed (help: 0, refused: 1, wrong usage: 2). */
#define OPTIONS_GO_ON (-1)
enum { OPTION_DEFAULT_STEPS = 200000000 };     /* comptime_step_limit */
int options_parse(Options *options, Arena *arena, SourceMap *sources, int argc, char **argv);
void options_free(Options *options);

/* ---- driver.c: the session ------------------------------------------------------------------ */

struct Session {
  Arena *arena;
  StrTable *names;
  SourceMap *sources;
  Diags *diags;
  Pool *pool;
  const Options *options;
  LayoutResult *layout;      /* finished layout, for the programs' analysis */
  void *files;               /* files read so far: driver.c */
  uint16_t *builtin_of;      /* row of builtins.def + 1 by StrId.raw; sema_builtin.c */
  uint32_t n_builtin_of;
  Span signs[SIGN_COUNT];    /* where each stands first; off 0: nowhere */
};
/* ---- release.c: for which release of the SDK the program is written ------------------------- */

/* Notes a sign; of several the first counts. */
void release_sign(Session *session, SignId sign, Span at);
/* The same if the module that is evaluated is one of the program's own. */
void release_sign_here(Sema *s, SignId sign, Span at);
/* The words of a file of the program. */
void release_words(Session *session, const Ast *ast);
/* What the program's own imports are given. */
void release_look_at_imports(Sema *s);
/* The answer; final when all classes are compiled.  --sdk decides if it is given. */
Sdk release_of(const Session *session);
/* The answer and the signs, for --verbose. */
void release_print(const Session *session, FILE *out);

/* ---- driver.c, again ------------------------------------------------------------------------ */

/* The parsed file that `path` means in an import from `importer` (NULL: as on the command line):
 * absolute; "<lib>"; else beside the importing file, the main file, then the import paths.  Each
 * file is read and parsed once.  NULL after reporting at `at`. */
bool session_has_library(Session *session, const char *name);
const Ast *session_import(Session *session, const char *path, const Ast *importer, Span at);
/* Source files have the ids 1 to this one. */
uint32_t session_last_file(const Session *session);
/* Its path; a file of the standard library by its name in imports, wherever that is installed. */
const char *session_file_name(const Session *session, FileId file);
/* A fresh evaluation; everything it makes lives in `arena`. */
Sema *sema_create(Session *session, Arena *arena, Where where);
void sema_destroy(Sema *s);    /* its stb_ds arrays */

/* ---- settings.c: the struct arguments of builtins ------------------------------------------- */

/* A struct argument taken apart: one operand a field, each evaluated once.  Directions are
 * PK_INT of type direction whose value is the Port. */
/* `parts`: the elements of a tuple that are not all comptime-known; `value` is then one of those
 * that are not. */
typedef struct {
  StrId name;
  Span span, name_span;    /* of the value; of the name */
  const Node *node;        /* what the value was written as; NULL: not written in place */
  Operand value;
  bool taken;
  const Operand *parts;
  uint32_t n_parts;
} Setting;
typedef struct { uint32_t n; Setting *at; Span span; bool ok; } Settings;
/* Evaluates the struct that `n` stands for.  `run_time`: names of the fields that may be known at
 * run time only, NULL after the last, or NULL; the others are evaluated at compile time, calls
 * included.  ok is false after reporting that it is no struct or a field is in error. */
Settings settings_read(Sema *s, const Node *n, const char *const *run_time);
/* node: what the value was written as, or NULL. */
Settings settings_of_value(Sema *s, PoolId value, const Node *node, Span span);
/* The field, marked as known to the caller; NULL if absent. */
Setting *settings_take(Sema *s, Settings *set, const char *name);
/* Reports that a field is not there, or which field is likely to be a misspelling of it. */
void settings_missing(Sema *s, Settings *set, const char *what, const char *name);
/* Reports each field nobody took, with the name it is likely to mean among `known`. */
void settings_finish(Sema *s, const Settings *set, const char *what, const char *const *known,
                     size_t n_known);
bool setting_bool(Sema *s, Setting *field, bool otherwise);
/* Which of `names` the struct in the field sets to true; -1 for none.  Several, and what else is
 * wrong with the struct `what`, is reported and takes `ok` away. */
int setting_choice(Sema *s, const Setting *field, const char *what, const char *const *names,
                   unsigned n_names, bool *ok);
/* A comptime integer in [lo, hi], reporting what is wrong with it; `what` names it. */
bool sema_int_in(Sema *s, Operand o, int64_t lo, int64_t hi, const char *what, Span span,
                 int64_t *out);
/* A color that routers have, reporting another one; a value of type color may be any task's id. */
bool sema_router_color(Sema *s, Operand o, Span span, uint8_t *color);
/* sema_expr, read if it is an lvalue. */
Operand sema_rvalue(Sema *s, const Node *n, PoolId want);
/* The same, converted implicitly to `type`. */
Operand sema_arg(Sema *s, const Node *n, PoolId type);
/* Address of what the operand is or points to: an array variable, or a pointer. */
Operand sema_pointer_of(Sema *s, Operand o, Span span);
StrId sema_name(const Sema *s, const char *text);
const char *sema_text(const Sema *s, StrId name);
const Machine *sema_machine(const Sema *s);
/* An anonymous struct value. */
PoolId sema_make_struct(Sema *s, const char *const *names, const PoolId *values, uint32_t n);
PoolId sema_make_tuple(Sema *s, const PoolId *values, uint32_t n);

/* ---- machine_setup.c: what top-level comptime blocks ask of the machine --------------------- */

typedef struct {
  TaskKind kind;           /* TASK_NONE: free */
  uint32_t func;
  uint8_t arguments;
  bool by_color;           /* bound by @bind_task */
  bool is_activated;       /* by a data task's color or by its name */
  StrId name;
  Span span;
  uint32_t alternate;      /* rotating tasks: FuncInstance + 1 of the other task; 0 none */
  uint16_t limit, init;    /* it runs after `limit` runs of `func`; `init` of them count as done */
} TaskSlot;
/* A queue that something names.  Its color is that of @initialize_queue, else the first that a DSD
 * names beside it, or that the compiler chooses it for. */
typedef struct {
  bool used, is_explicit;  /* explicit: @initialize_queue */
  bool is_chosen;          /* by the compiler */
  bool is_own;             /* the program's own code names it first, no library */
  uint8_t color;
  bool has_color;
  uint32_t colors;         /* all that it serves, a bit each */
  Priority priority;
  StrId name;
  Span span;
} QueueSlot;
typedef struct { DsrFile file; uint8_t number; IrDesc desc; Span span; } DsrPreset;
typedef struct {
  StrId name;
  bool is_func;
  uint32_t target;         /* index of a Global or FuncInstance */
  PoolId type;
  bool is_mutable;
  uint32_t extent;
  Span span;
} ExportedSymbol;
typedef struct {
  uint32_t buffer, state;  /* Globals */
  uint32_t capacity;       /* elements */
  uint32_t element_bytes;
  uint16_t push, pop;      /* action words */
  uint16_t flags;          /* of the state block: what happens when it is empty or full */
  Priority priority;
} Fifo;
typedef struct MachineSetup {
  TaskSlot tasks[MAX_TASK_IDS];
  bool separate_control;                 /* wse3: control tasks stand in a table of their own: */
  TaskSlot control_tasks[MAX_TASK_IDS];
  uint64_t active, blocked, unblocked;
  Span active_span[MAX_TASK_IDS];        /* the @activate of each that is active */
  Span color_span[MAX_TASK_IDS];         /* a color that stands for a task, maybe not bound yet */
  bool binds_by_color;                   /* @bind_task is used */
  uint8_t paused;
  QueueSlot queues[2][MAX_QUEUES];       /* 0 input, 1 output */
  uint32_t implicit[2];                  /* colors that need a queue nobody named, a bit each */
  Span implicit_span[2][MAX_COLORS];
  DsrPreset *dsrs;                       /* stb_ds arrays */
  ImageConfig *configs;
  ExportedSymbol *exports;
  Fifo *fifos;
  uint32_t n_virtual_dsrs;               /* of @map; numbered through the program */
  uint32_t local_color[MAX_COLORS];      /* color configuration + 1; 0 none */
  Span local_color_span[MAX_COLORS];
  uint32_t routed;            /* colors whose routes the running program sets, a bit each */
  Span filter_span[MAX_COLORS];        /* where the filter's number is asked for; off 0: nowhere */
  uint32_t teardown_handler[MAX_COLORS]; /* index of a FuncInstance + 1; 0 none */
  uint32_t empty_handler[2][MAX_QUEUES]; /* likewise */
  StrId color_names[MAX_COLORS];
  /* Of fabric DSDs that are data of variables: colors by direction (0 input), and the tasks that
   * they activate. */
  uint32_t stored_colors[2];
  uint64_t stored_tasks;
} MachineSetup;
enum { QUEUE_IMPLICIT = 0xf };           /* in a descriptor until setup_finish chooses */
MachineSetup *setup_create(Arena *arena);
void setup_destroy(MachineSetup *setup);
/* Warn about what the system or the link to the host takes for itself. */
void setup_check_color(Sema *s, unsigned color, Span span);
void setup_check_task_id(Sema *s, unsigned id, Span span);
/* A descriptor uses this queue, and for this color unless it is COLOR_OF_QUEUE. */
void setup_use_queue(Sema *s, bool is_output, uint8_t queue, uint8_t color, Span span);
/* @initialize_queue, whether before or after the descriptors that use the queue. */
void setup_initialize_queue(Sema *s, bool is_output, unsigned queue, QueueSlot given);
/* Can operations use it? */
bool setup_queue_is_initialised(const Sema *s, bool is_output, unsigned queue);
/* wse3: control tasks that got no table of their own take their entries of the common one. */
void setup_join_control_tasks(Sema *s);
/* In this order, around sema_compile_pending and sema_finish: what the set-up refers to is
 * compiled; then queues nobody named are chosen, and descriptors of initial data take theirs by
 * setup_resolve; last the set-up is put into the module. */
void setup_reference(Sema *s);
void setup_choose_queues(Sema *s);
IrDesc setup_resolve(Sema *s, IrDesc desc);
void setup_finish(Sema *s);
/* What a block, unblock or activation names. */
bool sema_action_target(Sema *s, Operand o, Span span, bool local_only, Action *action,
                        IrValue *run_time_id);
/* The error of the one that is none, a color. */
void sema_bad_color_target(Sema *s, Span span);

/* ---- layout.c, color_config.c --------------------------------------------------------------- */

/* Initial content of a variable of the tile's main file. */
typedef struct { StrId name; const uint8_t *bytes; uint32_t size; } LayoutSymbol;
typedef struct {
  const Ast *ast;                /* NULL: no code */
  PoolId params;
  const Node *params_node;
  Span span;
  uint32_t n_symbols;
  const LayoutSymbol *symbols;
} LayoutTile;
/* A host stream enters or leaves at a tile of its own. */
typedef struct { const char *name; uint32_t x, y; bool is_input; int64_t size; } LayoutStream;
typedef struct { const char *name; uint8_t color; } LayoutColor;
typedef struct { StrId name; PoolId type; bool is_mutable; Span span; } LayoutExport;
/* Interned color configurations and sets of (color, configuration). */
typedef struct ColorTable ColorTable;
ColorTable *color_table_create(Arena *arena);
void color_table_destroy(ColorTable *table);
/* Index of the configuration that the struct value describes; false after reporting. */
bool color_config_of(Sema *s, ColorTable *table, uint8_t color, PoolId value, const Node *node,
                     uint32_t *config);
/* The set with one more member; set 0 is empty.  False if the color is in it: *first is where
 * it was put in. */
bool color_set_add(ColorTable *table, uint32_t set, uint8_t color, uint32_t config, Span span,
                   uint32_t *result, Span *first);
/* False after reporting that the tile (x, y), whose set has just taken in `config`, has more
 * filters than there are. */
bool color_set_fits(Session *session, const ColorTable *table, uint32_t set, uint32_t config,
                    uint32_t x, uint32_t y, Span at);
/* The one place where the color gets the configuration that it has in the set; off 0: there are
 * several, or none. */
Span color_set_span(const ColorTable *table, uint32_t set, uint8_t color);
bool color_set_has_filter(const ColorTable *table, uint32_t set, uint8_t color);
/* Index of a configuration; its padding must be zero. */
uint32_t color_config_intern(ColorTable *table, const ImageColorConfig *config);
const ImageColorConfig *color_table_configs(const ColorTable *table, uint32_t *n);
const ImageColorSet *color_table_sets(ColorTable *table, Arena *arena, uint32_t *n);

struct LayoutResult {
  const Ast *ast;                /* the file compiled */
  PoolId params;                 /* its parameters, from the command line */
  bool has_block;                /* a layout block; else one tile runs the file */
  bool has_rectangle;
  Span rectangle_span;
  uint32_t width, height;
  uint32_t fabric_width, fabric_height, offset_x, offset_y;
  LayoutTile *tiles;             /* width * height, row-major */
  uint32_t *tile_sets;
  LayoutExport *exports;         /* stb_ds */
  ColorTable *colors;
  StrId color_names[MAX_COLORS]; /* the first of each */
  PoolId color_arrays[MAX_COLORS];       /* of a color named by its array: that; else none */
  /* Of --layout-json: */
  uint32_t n_named_colors;       /* every color of the file */
  LayoutColor *named_colors;
  uint32_t origin_x, origin_y;   /* where its (0, 0) is in the rectangle */
  uint32_t n_streams;
  LayoutStream *streams;
  uint8_t stream_color;          /* between the host and the streams' tiles */
};
void layout_set_rectangle(Session *session, LayoutResult *layout, uint32_t width, uint32_t height,
                          Span span);
/* Evaluates the layout block of the main file, or the layout of --layout-json; false after
 * reporting. */
bool layout_evaluate(Session *session);
void layout_print(const Session *session, FILE *out);
/* A line for each switch position of each color of each tile. */
void layout_print_routes(const Session *session, FILE *out);

/* ---- tile_class.c: programs ----------------------------------------------------------------- */

typedef struct {
  IrModule *ir;
  CodegenResult code;
  uint32_t n_local_colors;
  ImageColorUse local_colors[MAX_COLORS];
  Span local_spans[MAX_COLORS];
  uint32_t routed;                       /* as in MachineSetup */
  Span filter_spans[MAX_COLORS];         /* as in MachineSetup */
  const struct FabricUses *fabric;       /* fabric.h */
} ProgramClass;
typedef struct {
  ProgramClass *classes;         /* stb_ds */
  uint32_t *tile_class;          /* width * height; IMAGE_NO_CLASS */
  uint64_t *tile_blob_at;
  uint8_t *blobs;                /* stb_ds */
  double analysis_seconds, optimise_seconds, codegen_seconds;
} Programs;
/* Analyses, optimises and generates every class of tiles; false after reporting. */
bool programs_compile(Session *session, Programs *programs);

/* ---- lint.c: warnings about programs without errors ------------------------------------------ */

/* After setup_finish, for each tile class. */
void lint_program(Sema *s);
/* Colors that streams between the host and this program carry, a bit each. */
uint32_t lint_streamed_colors(Sema *s);
/* Parameters without a value; of the layout, too. */
void lint_params(Sema *s);

/* ---- output.c, driver.c: the end of a run --------------------------------------------------- */

/* Gathers the image of all classes and tiles. */
void image_make(Session *session, const Programs *programs, Image *image);
/* Writes OUT.bin, or OUT/prog.bin and OUT/out.json; the exit code. */
int image_files_write(const Session *session, const Image *image);
/* A monotonic clock, for --time-report. */
double driver_seconds(void);
/* Compiles as the options say and returns the exit code; `source_stdlib` is where the standard
 * library is when it is not installed. */
int driver_run(const Options *options, SourceMap *sources, const char *source_stdlib);
/* A compile-time call of a library's function by another driver.  Strings and integers go in; a
 * string (malloc) or the integers of the result, an array's in order, come out. */
typedef struct { const char *text; int64_t number; } LibraryValue;   /* text NULL: the number */
typedef struct {
  const char *library, *function;            /* "<name>" */
  const char *binding_name;                  /* a parameter of the library; NULL: none */
  LibraryValue binding;
  const LibraryValue *args;
  uint32_t n_args;
  char *text;
  int64_t *numbers;                          /* stb_ds */
} LibraryCall;
/* False after reporting what is wrong. */
bool driver_call(const Options *options, SourceMap *sources, const char *source_stdlib,
                 LibraryCall *call);

#define DIAG_DEF "frontend/diag.def"
#include "ir/base/diag_rows.h"

#endif
