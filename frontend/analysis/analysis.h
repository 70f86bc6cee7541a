/* What the program of a tile class does, as far as the compiler knows it, and warnings about it.
 * Nothing here looks at other tiles.
 *
 * Reading order: analysis_internal.h, effects.c, block_times.c, fabric_value.c, fabric_use.c,
 * analysis.c, lint.c, lint_*.c. */
#ifndef FRONTEND_ANALYSIS_H
#define FRONTEND_ANALYSIS_H

#include "frontend/machine/machine.h"

/* ---- fabric_use.c: what it sends and receives ---------------------------------------------- */

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

/* The uses of a program whose IR is complete; they live as long as the evaluation.  Warns about
 * operations whose operands have different lengths. */
const FabricUses *fabric_uses(Sema *s);
/* A copy that lives longer. */
const FabricUses *fabric_uses_keep(const FabricUses *uses, Arena *arena);

/* ---- analysis.c ------------------------------------------------------------------------------ */

/* All warnings about a program without errors; after setup_finish, for each tile class. */
void lint_program(Sema *s);

/* ---- lint.c ---------------------------------------------------------------------------------- */

/* Queues that a DSD uses for another color and that no code binds to it; also after errors. */
void lint_queue_colors(Sema *s);
/* Those that <memcpy> gets by the names of one direction. */
uint32_t lint_named_streams(Sema *s, bool to_tiles);
/* Warns of parameters without a value and, in declarations that nothing uses, of calls of builtins
 * that do not exist; also for a layout. */
void lint_declarations(Sema *s);
/* After the layout block; true: the layout has <memcpy/get_params>. */
bool lint_memcpy_size(Sema *s);

/* ---- lint_variables.c ------------------------------------------------------------------------ */

/* Reports what needs no variable of the messages that are still held: the program has errors. */
void lint_held_after_errors(Sema *s);

/* ---- lint_needs.c: what code needs, on its tile or on another one of the same code ----------- */

/* What was found about a need of that key; NULL: in some class it is met. */
typedef struct { uint64_t key; const TakenDiags *value; } ClassesNeed;
typedef struct { ClassesNeed *data, *local, *queues, *tasks, *dsrs; } NotedNeeds; /* stb_ds maps */
/* After the analysis of a class. */
void lint_collect_needs(const Sema *s, NotedNeeds *needs);
void lint_report_needs(Diags *diags, const NotedNeeds *needs);

/* ---- lint_unused.c: declarations of tiles' programs that nothing uses ---------------------- */

/* What was found in a declaration; NULL: nothing, or something uses it. */
typedef struct { const Node *key; TakenDiags *value; } UnusedDecl;
/* After the analysis of a class: evaluates what it did not use, and keeps the messages of what is
 * wrong in all classes so far.  `decls` is an stb_ds map. */
void lint_collect_unused(Sema *s, UnusedDecl **decls);
/* Reports them, as warnings: a compilation does not look at such code. */
void lint_report_unused(Diags *diags, const UnusedDecl *decls);

#endif
