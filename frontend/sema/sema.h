/* The evaluator: one lazy partial evaluator from syntax tree to comptime values and typed IR.
 *
 * Reading order: evaluation.c, sema.c, scope.c, context.c, replay.c, builtin_import.c, sema_decl.c,
 * sema_expr.c, sema_operand.c, sema_place.c, fold.c, sema_arith.c, sema_wide.c, sema_cast.c,
 * sema_packed.c, packed_known.c, sema_stmt.c, sema_loop.c, exits.c, sema_call.c, sema_symbolic.c,
 * tile_env.c, sema_emit.c, builtin_call.c, settings.c, builtin_*.c, release.c.
 *
 * The main idea: there is one walker.  Each construct has one function that checks
 * its operands and then either folds (all comptime-known, or the walker is in comptime mode) or
 * emits IR. Declarations resolve lazily and once; the walker never visits a branch with a
 * comptime-false condition.
 *
 * A tile's parameters that differ from tile to tile enter as *symbolic* values; arithmetic over
 * them stays symbolic, and only what must be known at compile time *forces* them. */
#ifndef FRONTEND_SEMA_H
#define FRONTEND_SEMA_H

#include "frontend/value/value.h"

/* ---- what a run is asked for ---------------------- */

typedef enum {
  EMIT_NONE, EMIT_TOKENS, EMIT_AST, EMIT_TREE, EMIT_IR, EMIT_ASM, EMIT_LAYOUT, EMIT_MAP
} EmitKind;
typedef struct { const char *name; uint16_t address; Span span; } OptionSection;
typedef struct { const char *name, *value; Span span; } OptionBinding;   /* of NAME:VALUE */
typedef struct {
  const char *input, *output;
  const char *layout_json;     /* then there is no other input */
  const char *output_json;     /* out.json's other name; "": that of the output */
  const char *depfile;         /* where the files that were read are listed; NULL: nowhere */
  Arch arch;
  Fp16Format fp16;
  EmitKind emit;
  int opt_level;
  DiagFormat diag_format;
  bool debug;                                /* information for debuggers: without -g0 */
  bool werror, fabric_warnings, time_report, verbose, out_routes, check;
  bool check_indices;                        /* assertions about indices known at run time only */
  bool memcpy;
  uint32_t fabric_width, fabric_height;      /* 0: the rectangle */
  uint32_t offset_x, offset_y, channels, west_buf, east_buf;
  uint32_t max_inlined_iterations, comptime_depth_limit, comptime_step_limit;
  unsigned sdk;                              /* as Image.sdk; 0: by the signs in the program */
  OptionBinding *params, *colors;            /* stb_ds arrays */
  OptionSection *sections;
  const char **import_paths;                 /* stb_ds array */
  SourceOverlay *overlays;                   /* stb_ds array */
} Options;
enum { OPTION_DEFAULT_STEPS = 200000000 };     /* comptime_step_limit */

/* ---- sema: instances, declarations, frames ------------------------------------------------- */

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
  PoolId self;             /* const of a struct: its type, if a pointer came before its fields */
  uint32_t next_form;      /* fn of the library: its form with other parameters, or IR_NO_ID */
  uint32_t global;         /* index of its Global once its address is needed, else IR_NO_ID */
  StrId exported_as;       /* the name that @export gives it; raw 0: none */
  Span exported_at;        /* that @export */
} Decl;

/* uint64 -> uint32, open addressing; value 0: free, else 1 + value.  A map of its own because the
 * evaluator looks up each name and call in one: with stb_ds's, comptime evaluation takes 4 % more
 * instructions. */
typedef struct { uint64_t key; uint32_t value; } Pair;
typedef struct { uint32_t n, size; Pair *at; } PairMap;

/* An imported file with its parameters bound; each @import_module makes a new one. */
typedef struct {
  const Ast *ast;
  StrId path;              /* as imported */
  StrId label;             /* in front of the names of its symbols; raw 0: none has needed it */
  uint32_t parent;         /* importing instance; IR_NO_ID for the main file */
  Span imported_at;
  PoolId params;           /* struct value bound to it, or POOL_NONE */
  const Node *params_node; /* what that was written as, or NULL */
  Decl *decls;             /* stb_ds array */
  PairMap by_name;         /* StrId -> index of decls */
} ModuleInstance;
enum { MAIN_MODULE = 0 };

typedef struct { Span at; StrId name; } CallSite;      /* the function that is called, and where */

/* A function with its comptime parameters and argument types bound. */
typedef struct {
  uint32_t decl_module;    /* where it is declared */
  const Node *node;        /* ND_FN_DECL */
  PoolId type;             /* of this instance; POOL_NONE while generic */
  uint32_t n_bound;
  const PoolId *bound;     /* per parameter: comptime value that specialises it, or none */
  const PoolId *known;     /* the same: what is known of a struct of the run (Operand.value) */
  IrFuncId ir;             /* raw IR_NO_ID until code is wanted */
  bool compiled;
  bool is_generic;         /* needs the arguments of a call: no code of its own */
  Span instantiated_at;    /* the call that first bound it; off 0: it is not generic */
  uint32_t instantiated_by;   /* the function with that call, if it was being compiled; IR_NO_ID */
  const CallSite *inlined;   /* the calls in between that were inlined, innermost first */
  uint32_t n_inlined;
  bool has_effects;        /* runs at compile time: its calls are not memoised */
  bool is_called;          /* by code or at compile time */
  StrId name;
} FuncInstance;

/* A variable or constant with an address in tile memory. */
typedef struct {
  uint32_t decl_module, decl;   /* IR_NO_ID for anonymous data */
  PoolId type;
  IrGlobalId ir;
  StrId section;                /* linksection; raw 0: none */
  PoolId init;                  /* frozen initial value or POOL_NONE */
  Span span;                    /* what asks for it, or its name */
} Global;

/* What an expression came to. */
typedef enum {
  OPR_POISON,
  OPR_COMPTIME,            /* value (symbolic included) */
  OPR_RUNTIME,             /* ir: a scalar, pointer or DSD value */
  OPR_MEMORY,              /* ir: address of a run-time object of `type`; an lvalue if !is_const */
  OPR_CELL                 /* cell + leaf: a comptime lvalue of `type` */
} OperandKind;
typedef struct {
  /* Passed by value everywhere: by size, so that no room is lost. */
  Decl *decl;              /* OPR_COMPTIME: the global constant it came from, or NULL */
  int64_t offset;
  Span span;
  OperandKind kind;
  PoolId type;
  PoolId value;            /* OPR_COMPTIME; OPR_MEMORY: of a struct that nothing writes the fields
                            * that are known, an aggregate with none for the others; or none */
  IrValue ir;              /* OPR_RUNTIME, OPR_MEMORY */
  uint32_t cell, leaf;     /* OPR_CELL; OPR_RUNTIME of range type: cell is the RuntimeRange */
  PoolId through;          /* is_const: the type of the pointer that says so, or none.
                            * OPR_RUNTIME of a DSD: the type of what it lies over, or none */
  uint32_t global;
  PoolId packed;           /* OPR_MEMORY: the place is bits, from `bit` on, of an object of this
                            * packed type, which is at the address; none: a place of its own.
                            * OPR_CELL: part of this union; `bit` is the field if not packed */
  StrId name;              /* of the declaration it came from, for reports; raw 0 none */
  uint16_t bit;
  bool is_const;           /* OPR_MEMORY, OPR_CELL: not assignable */
  bool is_temp;            /* OPR_MEMORY: nothing else refers to it, so no copy is needed */
  bool is_global;          /* OPR_MEMORY without ir: at `global` + `offset`, known at comptime */
  bool is_cut;             /* OPR_COMPTIME: what is left of a quotient of integers in the text */
} Operand;
static inline bool operand_is_poison(Operand o) { return o.kind == OPR_POISON; }
static inline bool operand_is_comptime(Operand o) { return o.kind == OPR_COMPTIME; }

typedef enum {
  WHERE_LAYOUT = 1,        /* layout block and what it calls */
  WHERE_TOP = 2,           /* top-level comptime block and what it calls */
  WHERE_COMPTIME = 4,      /* any other comptime evaluation */
  WHERE_RUNTIME = 8        /* code of a PE */
} Where;

/* Where a walk stands.  A value: what a walk elsewhere or another mode replaces as a whole. */
typedef struct {
  Where where;
  bool comptime;              /* the walker folds only; run-time values are errors */
  uint32_t module;            /* instance whose names are in scope */
  uint32_t run_time_depth;    /* run-time conditions around the point reached */
  struct Frame *frame;        /* scopes of the function that is walked; scope.c */
} WalkContext;

/* Colors, routes and the like that the layout produced; see layout.c. */
typedef struct LayoutResult LayoutResult;

/* For lint_locals.c: a local variable whose declaration, in that block, gives it no value, with the
 * store of 0 that such a declaration of a number makes (raw 0: none), and a call that is a
 * statement. */
typedef struct {
  IrFuncId func;
  IrBlockId block;
  IrValue place, zeroing;
  StrId name;
  Span span;
} UnsetLocal;
typedef struct { IrFuncId func; IrValue call; Span span; } LoneCall;
/* A local `var` of a DSD type whose declaration gives it a known value. */
typedef struct { IrFuncId func; IrValue place; PoolId value; } LocalDsd;
/* For lint_loops.c: a `while` of the program.  Its blocks are those from `head` up to `end`; the
 * condition has those in front of `done`, which is behind the loop. */
typedef struct { IrFuncId func; IrBlockId head, done; uint32_t end; Span condition; } CodeLoop;

/* For effects.c: a place of the program's own code where a condition known at compile time leaves
 * code out. */
typedef struct { IrFuncId func; IrBlockId block; } LeftOut;

struct Sema {
  Session *session;
  Pool *pool;
  Arena *arena;
  Diags *diags;
  WalkContext now;
  IrModule *ir;               /* NULL while evaluating the layout */
  IrBuilder b;                /* where code goes when emitting */
  ModuleInstance *modules;    /* stb_ds arrays; [0] is the main file */
  FuncInstance *funcs;
  Global *globals;
  UnsetLocal *unset_locals;
  LoneCall *lone_calls;
  CodeLoop *loops;
  LeftOut *left_out;
  LocalDsd *local_dsds;
  const NodeBuiltinCall **failed_calls;     /* of builtins that do not exist, or not so */
  LayoutResult *layout;       /* result under construction (layout), or the finished one */
  struct TileEnv *tile;       /* this tile's parameters and the record of forced values */
  struct MachineSetup *setup; /* tasks, queues, exports that top-level blocks asked for */
  bool is_dead;               /* the point reached cannot be: after a return, break ... */
  bool is_refuted;            /* an assertion does not hold: the evaluation stops there */
  bool leaves_out;            /* code behind a condition in error: assertions may miss its effect */
  struct SemaPrivate *own;    /* what only this room looks at */
};

/* ---- evaluation.c, sema_emit.c: one evaluation, from start to end ------------------------ */

/* The first sema_import of an evaluation makes modules[0], the main file; `params` is the struct
 * bound to its parameters.  Names resolve lazily: importing runs nothing.  Then: */

/* Imports what global constants import and runs the top-level comptime blocks of all modules,
 * importers after what they import. */
void sema_run_top_blocks(Sema *s);
/* After sema_compile_pending: brings s->ir's globals into the order of the memory map and fills
 * in their initial data (symbolic leaves by tile_env_initial_data). */
void sema_finish(Sema *s);

/* ---- evaluation.c ------------------------------------------------------------------------ */

/* Has the evaluation looked at the declaration, or at what a function does? */
bool sema_uses(const Sema *s, const Decl *d);
/* Evaluates a declaration that nothing uses, for its messages alone: what it leaves in s->ir is of
 * no use.  Of functions whose parameters must be known, those messages that every call has. */
void sema_check_unused(Sema *s, Decl *d);

/* ---- sema_expr.c, sema_cast.c ------------------------------------------------------------ */

/* `want` is the type that the context demands, or POOL(NONE); it guides literals and branches but
 * does not coerce: use sema_coerce.  Variables and their parts come back as lvalues: sema_load (or
 * sema_coerce) reads them. */
Operand sema_expr(Sema *s, const Node *n, PoolId want);
/* The known value of an operand, forced; POOL(POISON) after reporting that it has none. */
PoolId sema_comptime_value(Sema *s, Operand o, Span span);
/* Evaluates in comptime mode; symbolic values stay. */
Operand sema_comptime_operand(Sema *s, const Node *n, PoolId want);
/* The same, forced; POOL(POISON) after reporting. */
PoolId sema_comptime(Sema *s, const Node *n, PoolId want);
/* The type; POOL(POISON_TYPE) after reporting. */
PoolId sema_type_expr(Sema *s, const Node *n);
/* Converts implicitly to `type` or reports type_mismatch at `span`. */
Operand sema_coerce(Sema *s, Operand o, PoolId type, Span span);

/* ---- sema_operand.c, sema_symbolic.c ----------------------------------------------------- */

/* Reads an lvalue: cells and memory become values (aggregates in memory stay OPR_MEMORY). */
Operand sema_load_place(Sema *s, Operand o);
static inline Operand sema_load(Sema *s, Operand o)
{
  return o.kind == OPR_CELL || o.kind == OPR_MEMORY ? sema_load_place(s, o) : o;
}
/* Assigns to an lvalue. */
void sema_store(Sema *s, Operand target, Operand value, Span span);
/* The scalar, pointer or DSD as an IR value in the current block (comptime values become
 * constants, symbolic ones tile parameters).  The type must be a run-time type. */
IrValue sema_ir(Sema *s, Operand o);
/* Forces a symbolic value to what it is on this tile and records that in the tile's trace;
 * other values pass. */
PoolId sema_force(Sema *s, PoolId value, Span at);
bool sema_is_symbolic(const Sema *s, PoolId value);

/* ---- sema.c, sema_place.c ---------------------------------------------------------------- */

Operand operand_poison(void);
Operand operand_void(void);                              /* of what yields nothing */
Operand operand_value(Sema *s, PoolId value);            /* comptime */
Operand operand_runtime(IrValue ir, PoolId type);
/* pointer.*, an lvalue. */
Operand sema_deref(Sema *s, Operand pointer, Span span);
/* ---- replay.c, sema_symbolic.c, sema_cast.c, sema_packed.c ------------------------------- */

/* Iterations of a loop that do the same for other tiles.  There `again` does what a
 * builtin has done; `what` is copied.  sema_replay_rereads: does the value of `n`, read since
 * sema_replay_mark gave `before`, depend on the loop's counter, so that `again` has to read it? */
typedef struct { uint64_t uses, effects; } ReplayMark;
typedef bool ReplayAgain(Sema *s, const NodeBuiltinCall *call, Span at, const void *what);
ReplayMark sema_replay_mark(const Sema *s);
bool sema_replay_rereads(Sema *s, const Node *n, ReplayMark before);
void sema_replay_act(Sema *s, const NodeBuiltinCall *call, Span at, ReplayAgain *again,
                     const void *what, size_t bytes);
/* Value of a symbolic for the tile whose parameters are given (POOL(POISON): out of range); what
 * was computed on the way is kept for the next call with the same array. */
PoolId sema_eval_symbolic(Sema *s, PoolId symbolic, const PoolId *params);
/* @as on any operand. */
Operand sema_convert(Sema *s, Operand o, PoolId type, Span span);
/* What a task gets a packed parameter as; IRT_VOID: a wavelet's words do not hold it exactly. */
IrType packed_param_ir(Sema *s, PoolId type);

/* ---- context.c --------------------------------------------------------------------------- */

/* Was the value written as a call of a function of this module of the library whose name begins so,
 * here or where the constant that it names is declared? */
bool sema_is_call_of(Sema *s, const Node *n, const char *path, const char *beginning);
/* A note on what makes a value of the type of an id from a number, if it is one. */
void sema_note_makes_one(Sema *s, PoolId type, PoolId found, Span span);
/* A note with a name that may have been meant, and its fix; NULL: none. */
void diag_suggest(Diags *diags, Span span, const char *name);

/* ---- builtin_import.c, sema_decl.c, context.c, scope.c, sema_operand.c ------------------- */

/* Names of the main file stand alone, others after their module's: as symbols are named. */
const char *sema_whole_name(Sema *s, uint32_t module, StrId name);
/* New instance; IR_NO_ID after reporting.  params_node: what `params` was written as, or NULL. */
uint32_t sema_import(Sema *s, const char *path, PoolId params, const Node *params_node, Span at);
/* What `at` wants is taken by `first`: perhaps the same line in another import of the file. */
void sema_first_here(Sema *s, Span at, Span first);
Decl *sema_find_decl(Sema *s, uint32_t module, StrId name);                /* NULL: no such name */
/* The first constant or parameter of the main file that is known to be this color, or STR_NONE. */
StrId sema_color_name(const Sema *s, unsigned color);
bool sema_resolve(Sema *s, Decl *d);
/* Index in s->globals of a variable that is resolved. */
uint32_t sema_decl_global(Sema *s, Decl *d);
Operand sema_decl_operand(Sema *s, Decl *d, Span use);
IrGlobalId sema_global_ir(Sema *s, uint32_t global);
/* An anonymous constant in tile memory, which the expression at `at` asks for. */
uint32_t sema_constant_data(Sema *s, PoolId value, Span at);

/* ---- sema_stmt.c, sema_call.c, sema_emit.c, evaluation.c --------------------------------- */

/* Runs a block of the module at compile time. */
void sema_run_comptime_block(Sema *s, const Node *block, Where where, uint32_t module);
/* A call with these arguments, which are written at `at`, or nowhere. */
Operand sema_call_values(Sema *s, Operand callee, const Operand *args, uint32_t n, Span at,
                         PoolId want);
/* The IR function of a function value, compiled now or later; tasks included. */
IrFuncId sema_func_ir(Sema *s, uint32_t func);
void sema_compile_pending(Sema *s);
/* Emits what a declaration exports, used or not, under its name. */
void sema_keep_export(Sema *s, Decl *d);

/* ---- builtins ------------------------------------------------------------------------------ */

/* builtins.def: BUILTIN(name, min args, max args (-1: any), where mask, archs, handler); every
 * handler has this shape.  The table check (arity, place, architecture) has run before. */
typedef Operand BuiltinHandler(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want);
enum { BUILTIN_PURE = 1 << 8, BUILTIN_COPIES = 1 << 9 };   /* beside the bits of Where */
typedef struct {
  const char *name;
  const char *usage;       /* how it is written; NULL: not known */
  int least, most;
  unsigned where, archs;
  BuiltinHandler *handler;
} BuiltinRow;
/* |i|{n} -> a[i], as a value of the anonymous struct type
 * .{ .base_address, .offset, .stride = .{..}, .extent = .{..} }. */
typedef Operand TensorAccess(Sema *s, const NodeTensorAccess *n, PoolId want);
/* A descriptor that initial data hold, with the queue and color that it has when the whole program
 * is known. */
typedef IrDesc StoredDesc(Sema *s, IrDesc desc);
typedef struct BuiltinTable {
  TensorAccess *tensor_access;
  StoredDesc *stored_desc;
  const BuiltinRow *rows;
  size_t n_rows;
  const uint16_t *row_of;  /* row + 1 by StrId.raw of the name; 0: none */
  uint32_t n_row_of;
} BuiltinTable;
/* A note under the error reported last: how the builtin that is called is written. */
void sema_note_usage(Sema *s, const Node *call);
/* Does a call of a builtin that was reported, and so has no effect, name this as an argument? */
bool sema_has_failed_call(const Sema *s, StrId argument);
/* A parameter without a value so far, which nothing has asked for. */
bool sema_param_is_open(Sema *s, const ModuleInstance *m, const Decl *d);
/* A note: the option that gives a value to the parameter, and to all others of the module that have
 * none. */
void sema_note_command_line(Sema *s, const ModuleInstance *m, const Decl *d);
/* Warns of calls of builtins that do not exist, in code that no tile's program contains. */
void sema_warn_unknown_builtins(Sema *s, const Node *declaration);

/* ---- tile_env.c: the tile that is analysed ------------------------------------------------- */

typedef struct { PoolId symbolic, outcome; } Forced;
typedef struct { uint32_t global, offset; PoolId symbolic; } InitSlot;
/* The caller that starts the evaluation fills in the first part, the evaluation the second. */
struct TileEnv {
  const PoolId *symbols;     /* what the symbolic parameters are on this tile */
  bool has_place;            /* it is a tile of a layout: */
  uint32_t x, y;
  Span span;                 /* of its @set_tile_code */
  PoolId params;

  Forced *trace;             /* stb_ds arrays */
  PoolId *words;
  InitSlot *inits;
  struct { uint32_t key; uint32_t value; } *seen;        /* index in the trace */
  struct { uint32_t key; uint32_t value; } *word_of;
};
void tile_env_free(struct TileEnv *env);   /* what the evaluation has put in */
/* Has the analysis relied on `symbolic` already?  Then it is a constant of the class. */
bool tile_env_forced(Sema *s, PoolId symbolic, PoolId *outcome);
/* The byte of the tile's own data at which `symbolic` stands; false: it is no word of the tile. */
bool tile_env_word_place(const Sema *s, PoolId symbolic, uint32_t *offset);

/* ---- driver.c: the session ----------------------------------------------------------------- */

/* The evaluator calls it with what it finds out. For editors; the evaluation does not depend on
 * it. */
typedef struct {
  void *data;              /* of both functions */
  /* What an expression is, and what a name is where it is declared (`n` NULL). */
  void (*on_expression)(void *data, Sema *s, const Node *n, Span at, const Operand *o);
  /* The struct or union type whose field a name is; none: of a literal that has no type yet. */
  void (*on_field)(void *data, Span name, PoolId owner);
} SemaListener;

/* A parameter that a host script has set for programs that it imports at `owner`. */
typedef struct { Span owner; StrId name; PoolId value; Span span; } OutsideBinding;

struct Session {
  Arena *arena;
  StrTable *names;
  SourceMap *sources;
  Diags *diags;
  Pool *pool;
  DebugTypes *debug_types;
  const Options *options;
  LayoutResult *layout;      /* finished layout, for the programs' analysis */
  SourceFiles *files;
  const BuiltinTable *builtins;
  const OutsideBinding *outside;
  size_t n_outside;
  Span signs[SIGN_COUNT];    /* that evaluations found; off 0: none */
  bool *sections_found;      /* variables in each section of the options; the first of a name */
  const SemaListener *listener;    /* or NULL */
  StatusLine line;           /* of a long run on a terminal: */
  const char *phase;
  size_t done, of;           /* classes; of 0: the phase does not count them */
};

/* ---- sema.c ---- */

/* Shows what a long run is doing, on a terminal. */
void session_show_phase(Session *session);

/* ---- release.c: for which release of the SDK the program is written ------------------------ */

/* Notes a sign; of several the first counts. */
void release_sign(Session *session, SignId sign, Span at);
/* The same if the module that is evaluated is one of the program's own. */
void release_sign_here(Sema *s, SignId sign, Span at);
/* What the program's own imports are given. */
void release_look_at_imports(Sema *s);
/* The answer; final when all classes are compiled.  --sdk decides if it is given. */
Sdk release_of(const Session *session);
/* Adds a note to the last message: a sign of release 2 in the program, if signs decided. */
void release_note(const Session *session);
/* Reports what release 2 refuses in a program of it, and gives false; final as release_of. */
bool release_allows(const Session *session);
/* The answer and the signs, for --verbose. */
void release_print(const Session *session, FILE *out);

/* ---- evaluation.c ------------------------------------------------------------------------ */

/* A fresh evaluation; everything it makes lives in `arena`. */
Sema *sema_create(Session *session, Arena *arena, Where where);
void sema_destroy(Sema *s);    /* its stb_ds arrays */

/* ---- settings.c: the struct arguments of builtins ------------------------------------------ */

/* A struct argument taken apart: one operand per field, each evaluated once.  Directions are
 * PK_INT of type direction whose value is the Port.  `parts`: the elements of a tuple that are not
 * all comptime-known; `value` is then one of those that are not.  `is_unread`: a tensor access
 * without a value yet; its taker evaluates `node`. */
typedef struct {
  StrId name;
  Span span, name_span;    /* of the value; of the name */
  const Node *node;        /* what the value was written as; NULL: not written in place */
  Operand value;
  bool taken, is_unread;
  const Operand *parts;
  uint32_t n_parts;
} Setting;
typedef struct { uint32_t n; Setting *at; Span span; bool ok; } Settings;
/* The structs that builtins take: settings.def. */
typedef enum {
#define GROUP(id, what) SETTINGS_##id,
#define FIELD(name, form, text)
#define PART(name, group, text)
#define END
#define TAKES(builtin, first, group)
#include "frontend/settings.def"
  SETTINGS_NONE
} SettingsId;
typedef struct { const char *name, *form, *text; SettingsId part; } SettingRow;
typedef struct { const char *what; const SettingRow *rows; size_t n; } SettingsGroup;
const SettingsGroup *settings_group(SettingsId id);
/* The struct among the arguments of the builtin, whose first argument is that text;
 * SETTINGS_NONE. */
SettingsId settings_of_call(const char *builtin, const char *first);
/* Evaluates the struct that `n` stands for.  `run_time`: names of the fields that may be known at
 * run time only, NULL after the last, or NULL; the others are evaluated at compile time, calls
 * included, and so is one in place of the struct, or of a branch, unless `call_may_run` or the
 * fields that depend on the run are all among `run_time`.  ok is false after reporting
 * that it is no struct or a field is in error. */
Settings settings_read(Sema *s, const Node *n, const char *const *run_time, bool call_may_run);
/* node: what the value was written as, or NULL. */
Settings settings_of_value(Sema *s, PoolId value, const Node *node, Span span);
/* The field, marked as known to the caller; NULL if absent. */
Setting *settings_take(Sema *s, Settings *set, const char *name);
/* Reports that a field is not there, or which field is likely to be a misspelling of it. */
void settings_missing(Sema *s, Settings *set, const char *what, const char *name);
/* Reports each field that no handler took, with the field of the group that it is likely to
 * mean. */
void settings_finish(Sema *s, const Settings *set, SettingsId id);
/* The same for fields that the group does not have, before any is taken: one of them may be what
 * the caller would miss.  False after reporting. */
bool settings_are_known(Sema *s, const Settings *set, SettingsId id);
/* Warns that the field does nothing on `where`; `help`: what to do instead.  The library, which
 * serves both machines with one text, gets no warning; NULL: a field that is not there. */
void setting_ignored(Sema *s, const Setting *field, const char *where, const char *help);
bool setting_bool(Sema *s, Setting *field, bool otherwise);
/* Which field of the group the struct in the field sets to true, by its place; -1 for none.
 * Several, and what else is wrong with the struct, is reported and takes `ok` away. */
int setting_choice(Sema *s, const Setting *field, SettingsId id, bool *ok);
/* A comptime integer or the number of an id in [lo, hi], reporting what is wrong with it; `what`
 * names it. */
bool sema_int_in(Sema *s, Operand o, int64_t lo, int64_t hi, const char *what, Span span,
                 int64_t *out);
/* The same of an integer alone. */
bool sema_number_in(Sema *s, Operand o, int64_t lo, int64_t hi, const char *what, Span span,
                    int64_t *out);
/* A color that routers have, reporting another one; a value of type color may be any task's id. */
bool sema_router_color(Sema *s, Operand o, Span span, uint8_t *color);
/* sema_expr, read if it is an lvalue. */
Operand sema_rvalue(Sema *s, const Node *n, PoolId want);
/* The same, converted implicitly to `type`. */
Operand sema_arg(Sema *s, const Node *n, PoolId type);
/* Address of what the operand is or points to: an array variable, or a pointer. */
Operand sema_pointer_of(Sema *s, Operand o, Span span);

/* ---- sema.c ------------------------------------------------------------------------------ */

StrId sema_name(const Sema *s, const char *text);
const char *sema_text(const Sema *s, StrId name);
/* The same text with the life of the session: a name of the IR, which the image names, too. */
const char *sema_keep_text(const Sema *s, const char *text);
const Machine *sema_machine(const Sema *s);
/* Is the module one of the standard library, which serves both machines and programs of all
 * releases?  Files of import paths are the program's own. */
bool sema_is_library(const Sema *s, uint32_t module);
bool sema_in_library(const Sema *s);    /* the module that is looked at */

/* ---- settings.c -------------------------------------------------------------------------- */

/* An anonymous struct value. */
PoolId sema_make_struct(Sema *s, const char *const *names, const PoolId *values, uint32_t n);
PoolId sema_make_tuple(Sema *s, const PoolId *values, uint32_t n);

#endif
