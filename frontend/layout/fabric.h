/* What the tiles of a layout send to each other, as far as the compiler knows it, and which of
 * these transfers cannot work.
 *
 * Two steps. fabric_use.c reads the program of one tile class: the colors that its code sends and
 * receives, how much, how often, and what starts it. fabric_check.c and fabric_arrivals.c then
 * follow the colors over the grid. They make no report about anything that can change at run time
 * (a route, a switch position, a descriptor). */
#ifndef FRONTEND_FABRIC_H
#define FRONTEND_FABRIC_H

#include "frontend/layout/layout.h"

enum { FABRIC_MANY = 2 };          /* times: more than once, or how often is not known */
enum { FABRIC_AT_START = 0, FABRIC_ANY_TIME = UINT32_MAX };

/* One operation that sends or receives. */
typedef struct {
  bool is_send, is_control;
  bool is_certain;          /* it runs in every execution, for any host */
  bool has_payload;         /* what it sends is one known word */
  bool is_told;             /* a message says that this is a control payload sent as data */
  uint8_t color;
  uint8_t element_bytes;
  uint8_t float_bits;       /* of the floats that it moves; 0: other numbers, or not known */
  SimdMode simd;
  bool has_index;           /* the high half of each wavelet is the operation's index */
  bool may_pack;            /* 16-bit elements travel two per wavelet, if `simd` does that */
  bool is_beside_memory;    /* all its other operands lie in memory, or are numbers */
  uint8_t least, most;      /* times for each start: 0, 1 or FABRIC_MANY */
  uint32_t start;           /* FABRIC_AT_START, 1 + index of the function that the host launches, or
                             * FABRIC_ANY_TIME */
  uint16_t length;          /* elements; 0: not known */
  uint32_t payload;
  Span span;
} FabricUse;

/* Of one tile class.  Sets of colors have a bit each. */
typedef struct FabricUses {
  uint32_t n;
  const FabricUse *uses;
  uint32_t sends, receives;             /* with any operation or task */
  uint32_t vague_sends, vague_receives; /* how much is not known */
  uint32_t unknown_sends, unknown_receives; /* also by operations that are not in `uses` */
  uint32_t operations;                  /* received by operations: those take control wavelets */
  uint32_t reroutes;                    /* routes or switches may change at run time */
  uint32_t streamed;                    /* of streams between host and tiles */
  bool vague_control;                   /* may send control wavelets with any entry */
  uint64_t control_tasks;               /* entries of control wavelets that have a task */
  uint64_t started_tasks;               /* control tasks that the program starts by itself */
  Span control_span[MAX_TASK_IDS];
  uint8_t task_floats[MAX_COLORS];      /* bits of a float that the color's data task takes, or 0 */
  uint32_t half_tasks;                  /* the color's data task takes 16 bits of a wavelet */
  uint32_t high_float_tasks;            /* it takes an integer in the low half, then a float */
  uint32_t converting_tasks;            /* it converts the value of one 32-bit integer to a float */
  Span task_span[MAX_COLORS];           /* of that data task */
  uint32_t singles;                     /* code takes one element of 16 bits after the other: */
  const char *single_name[MAX_COLORS];  /* what does, and where */
  Span single_span[MAX_COLORS];
} FabricUses;

/* Times in a run: 0, 1 or FABRIC_MANY. */
typedef struct { uint8_t least, most; } Times;
/* For each block of the function, when it runs once. */
Times *block_times_find(const IrFunc *f, Arena *arena);

/* The bits of a scalar that is the same in every run, found from constants and calls with
 * constants; false: it is not known. */
bool fabric_known_value(const IrModule *m, const IrFunc *f, IrValue v, Arena *arena,
                        uint64_t *bits);
/* By block of the function, which has some: WAYS_REACHED if a run can come to it, and a bit for
 * each target of its end that can come next. A branch has one if its condition is the same in every
 * run, such as what a function makes of a parameter.
 * unwritten: by global, whether it always holds what it holds at the start; NULL: not known. */
enum { WAYS_REACHED = 0x80 };
const uint8_t *fabric_ways(const IrModule *m, const bool *unwritten, const IrFunc *f, Arena *arena);
static inline bool is_fabric_desc(const Descriptor *d)
{
  return d->kind == DESC_FABIN || d->kind == DESC_FABOUT;
}
/* A descriptor with what is set on the way to the operation. */
typedef struct {
  Descriptor desc;
  IrGlobalId global;
  bool is_length_known, is_variable;   /* the latter: of a variable that nothing writes */
} KnownDesc;
/* The operands of one operation as far as they are known. */
typedef struct {
  const IrVecOperand *operand[3];   /* in the order in which they decide on the length */
  KnownDesc known[3];
  bool is_known[3];
  uint32_t unbounded_length;        /* of the machine: from here on there is no end */
} Operands;
void fabric_read_operands(const Sema *s, const IrFunc *f, const IrInsn *vec, Operands *o);
/* Elements that the operation moves; 0: not known, or without an end. */
uint16_t fabric_operation_length(const Operands *o);
/* Where the user wrote it: outside the standard library that the code was inlined from. */
Span fabric_user_span(const Sema *s, IrLocId loc);
/* Is the place in a file of the standard library? */
bool fabric_is_in_library(const Sema *s, Span span);
/* The uses of a program whose IR is complete; they live as long as its IR.  Warns about operations
 * whose operands have different lengths. */
const FabricUses *fabric_uses(Sema *s);
/* Warns of operations that pack what the host streams. */
void fabric_check_streams(Session *session, const Programs *programs);
/* Reports what cannot work in the finished layout; false after an error. */
bool fabric_check(Session *session, const Programs *programs);

/* ---- for warnings: effects.c ----------------------------------------------------------------- */

/* What calls of a function do; in arrays, by its number in the IR. */
typedef enum { EFFECT_UNKNOWN, EFFECT_RUNNING, EFFECT_NONE, EFFECT_SOME } Effect;
/* Nothing is known yet but of functions that do more on other tiles. */
Effect *effects_begin(Sema *s);
/* Does a call do more than compute a value from what it reads?  A function that calls itself counts
 * as one with an effect. */
bool effect_of_func(const Sema *s, uint32_t func, Effect *known);

#endif
