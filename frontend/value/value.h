/* Types and comptime values, interned in one pool, and what they look like in tile memory.
 *
 * Reading order: pool.c, type.c, value.c, wide.c, debug_type.c, diag.c. */
#ifndef FRONTEND_VALUE_H
#define FRONTEND_VALUE_H

#include "frontend/syntax/syntax.h"
#include "ir/ir.h"
#include <gmp.h>

/* ---- pool.c, type.c: types and comptime values, interned --------------------------------- */

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
  PK_AGGREGATE,          /* arrays (row-major), structs, tuples: one id per element */
  PK_FUNC,               /* a function or task instance */
  PK_MODULE,             /* a module instance */
  PK_POINTER,            /* address of a global (or of a part), or a comptime cell, or an integer;
                          * a pointer to a function is a PK_FUNC of pointer type */
  PK_RANGE, PK_DSD, PK_DSR, PK_FIFO,
  PK_SYMBOLIC            /* depends on this tile's parameters and has not been forced */
} PoolKind;

/* `known`: the value that the field has in each struct of an anonymous type, where values of the
 * field's type exist at compile time only but those of others do not; it takes no memory.  None in
 * all other fields. */
typedef struct { StrId name; PoolId type, known; } PoolField;

/* Sizes of a struct or union type, computed once: a type whose fields have the same type twice
 * would otherwise be walked once per path to each of its parts. */
typedef struct {
  bool is_known, is_comptime_only;
  bool has_known;                /* PoolField.known, in a field or in one of its fields */
  uint32_t bytes, align, leaves, bits;   /* as type_bytes and the others below give them */
} TypeFacts;

/* How a symbolic value is computed from the tile's parameters. */
typedef enum {
  SYM_PARAM,             /* parameter `index` of the tile's main file */
  SYM_UNARY, SYM_BINARY, /* op: UnaryOp, BinaryOp, in the type of the operands */
  SYM_CONVERT,           /* @as to the value's type */
  SYM_BITCAST,
  SYM_INIT               /* element `index` of global initialiser a, evaluated once more per tile */
} SymbolicKind;

/* desc.global: of a Global, and variable: StrId.raw of its name, 0 if it has none; name: StrId.raw;
 * element: PoolId.raw of the type behind the pointer that gave the base, 0 if none did; is_changed:
 * it was made from another DSD. */
typedef struct { IrDesc desc; uint32_t variable, name, element; bool is_changed; } PoolDsd;

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
      TypeFacts *facts;          /* on the way out; type.c fills them in */
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
    PoolDsd dsd;
    struct { DsrFile file; uint8_t number; bool is_fifo; } dsr;
    struct { SymbolicKind sym; uint32_t op, index; PoolId a, b; } symbolic;
  } u;
} PoolKey;
typedef enum { PTR_GLOBAL, PTR_CELL, PTR_INTEGER } PtrBase;

typedef struct Pool Pool;
/* From now on, the library of wide numbers ends the process with a message when there is no
 * memory. */
void pool_check_memory(void);
Pool *pool_create(Arena *arena, StrTable *names);
void pool_destroy(Pool *pool);       /* its tables; the rest is the arena's */
PoolId pool_get(Pool *pool, const PoolKey *key);
PoolKey pool_key(const Pool *pool, PoolId id);
PoolKind pool_kind(const Pool *pool, PoolId id);
/* The type of a value (POOL(TYPE) for types). */
PoolId pool_type_of(const Pool *pool, PoolId value);

PoolId pool_int_type(Pool *pool, bool is_signed, unsigned bits);
PoolId pool_array_type(Pool *pool, const uint32_t *dims, uint32_t rank, PoolId element);
PoolId pool_pointer_type(Pool *pool, bool is_many, bool is_const, PoolId pointee);
PoolId pool_range_type(Pool *pool, PoolId element);
/* A struct or union type whose fields are not known yet: only pointers to it may be made until
 * pool_close_struct gives it those of `made`. It is equal to no other type. */
PoolId pool_open_struct(Pool *pool, PoolKind kind, StrId name);
void pool_close_struct(Pool *pool, PoolId open, PoolId made);
/* Are they one declaration with the same fields, if pointers to `a` count as pointers to `b`? */
bool type_is_same_struct(const Pool *pool, PoolId a, PoolId b);
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
/* Is it a pointer, or is there one in it?  Known when it is interned. */
bool value_has_pointer(const Pool *pool, PoolId value);
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
bool type_has_known(const Pool *pool, PoolId type);         /* TypeFacts.has_known of a struct */
uint32_t type_bytes(const Pool *pool, PoolId type);         /* in tile memory */
uint32_t type_align(const Pool *pool, PoolId type);
uint64_t type_element_count(const Pool *pool, PoolId type); /* arrays */
uint32_t type_field_offset(const Pool *pool, PoolId type, uint32_t field);   /* bytes */
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
/* wide.c: numbers of any length and words of 64 bits. */
void wide_set_u64(mpz_t number, uint64_t value);
void wide_set_i64(mpz_t number, int64_t value);
uint64_t wide_low_bits(const mpz_t number);                  /* two's complement, low 64 bits */
bool wide_is_small(const mpz_t number);                      /* is it an int64_t? */

/* ---- value.c ----------------------------------------------------------------------------- */

void value_wrap(mpz_t number, unsigned bits, bool is_signed);   /* to two's complement */
PoolId value_int_wrapped(Pool *pool, PoolId type, PoolId value);   /* the low bits of the number */
uint64_t value_int_bits(const Pool *pool, PoolId value);     /* two's complement, low 64 bits */
PoolId value_from_bits(Pool *pool, PoolId type, uint64_t bits);   /* low bits kept */

/* ---- debug_type.c: types as debuggers see them -----------------------------------------------*/

typedef struct DebugTypes DebugTypes;
DebugTypes *debug_types_create(Pool *pool, Arena *arena);
void debug_types_destroy(DebugTypes *types);
/* The type's number in an image: 1 + its index in the list below. */
uint32_t debug_type_of(DebugTypes *types, PoolId type);
/* Its type_text, which is made once for each type. */
const char *debug_type_name(const DebugTypes *types, uint32_t number);
const DebugType *debug_types_list(const DebugTypes *types, uint32_t *n);   /* until destroyed */

/* ---- diag.def: the messages of all rooms, which have types and values as arguments ----------- */

#define DIAG_DEF "frontend/diag.def"
#include "ir/base/diag_rows.h"

#endif
