/* What the files of the evaluator share; other rooms include sema.h only. */
#ifndef SEMA_INTERNAL_H
#define SEMA_INTERNAL_H

#include "frontend/sema/sema.h"

/* ---- scope.c, sema_decl.c, sema_symbolic.c, sema_arith.c: frames, locals, exits ---------- */

typedef struct {
  StrId name;
  Span span;
  Operand o;              /* known value, SSA value, or lvalue */
  bool is_given;          /* a parameter or a capture */
  const Node *type, *init;    /* in its declaration; NULL: there is none */
  uint32_t hidden;        /* place + 1 of the local that had the name before; 0: none */
} Local;

/* A way out of a block, loop or inlined function: where it left and with what. */
typedef struct { IrBlockId block; IrLocId loc; Operand value; Span span; } Exit;
/* An assignment to a part of a cell that an exit at a run-time condition has left out. */
typedef struct ForkedStore {
  struct ForkedStore *next;
  uint32_t cell, leaf, n_leaves;
  Span at;
} ForkedStore;
typedef struct {
  uint32_t n, cap;
  Exit *at;               /* `few`, or in the arena */
  Exit few[2];
  Span left_at;           /* the first exit at a run-time condition; off 0: none */
  ForkedStore *forked;    /* behind that, to cells older than the target */
} ExitList;

typedef enum { TARGET_BLOCK, TARGET_LOOP, TARGET_FN } TargetKind;
/* Where break, continue or return go.  Exits are collected and joined at the end, so that a value
 * with one way out stays what it is; a run-time loop has blocks to branch to instead. */
typedef struct Target {
  struct Target *up;
  TargetKind kind;
  StrId label;
  Span label_span;
  PoolId want;
  bool has_blocks;
  IrBlockId break_to, continue_to;
  bool is_broken, is_continued;
  uint32_t depth;          /* number of run-time conditions around it */
  uint32_t serial;         /* of the newest cell that is older */
  ExitList breaks, continues;
} Target;

/* The walk of one function body, comptime block or initialiser. */
typedef struct Frame {
  struct Frame *up;
  uint32_t first_local, first_in_scope;   /* in SemaPrivate.locals */
  uint32_t scope_end;     /* in the source, of the innermost scope; 0: that of the parameters */
  Target *targets;
  PoolId result;          /* type */
  IrValue result_address; /* where an aggregate result goes; IR_NO_VALUE */
  bool is_comptime;       /* the walk as a whole; parts of others are, too */
  bool is_function;       /* return is possible */
  bool is_declaration;    /* a global's initialiser: the user that needed it does not matter */
  bool is_emitted;        /* return emits ret */
  bool is_for_settings;   /* a call that is inlined for what it returns; calls in `return`, too */
  bool is_template;       /* nothing calls the function: its parameters are poison, and so is what
                           * depends on them.  What a condition of poison decides may be either */
  uint32_t func;          /* with is_emitted: the function that is compiled */
  Span called_at;         /* off 0: not called */
  IrLocId inlined_at;
  StrId name;             /* of the function, or of the declaration */
  Span named_at;          /* with is_declaration: its name; off 0: it has none */
  const char *ir_name;    /* for locations */
} Frame;

/* The result of a call at compile time is not known for the same call in code: a value from a
 * compile-time walk is only for such walks. */
typedef struct { PoolId want, value; bool comptime; } Memo;
/* Initial data that differs by tile; `global` is an IrGlobalId.raw. */
typedef struct { uint32_t global, offset; PoolId value; } TileLeaf;

/* A comptime variable: n scalar leaves of its (flattened) type, at SemaPrivate.leaves[first]. Cells
 * are a stack; by `serial` a pointer recognises whether the cell is still its own. */
typedef struct {
  PoolId type;
  uint32_t first, n;
  uint32_t serial;
  uint32_t depth;          /* number of run-time conditions around the declaration */
  Span left_at, forked_at; /* why a leaf is unknown: an assignment behind an exit */
  bool is_const;
} Cell;

/* A range with a bound that is known at run time only; operands of that kind hold its index in
 * Operand.cell. */
typedef struct { PoolId element; Operand part[3]; } RuntimeRange;

/* A local declaration of a struct whose fields are being looked at. */
typedef struct LocalStruct {
  struct LocalStruct *up;
  const struct Frame *frame;
  StrId name;
  bool is_union;
  PoolId self;            /* as Decl.self */
} LocalStruct;

typedef struct { uint32_t key; bool value; } FailedLoop;    /* key: place in the source */

/* A comparison in code: its result, and its sides, which are of the type. */
typedef struct { IrValue result, left, right; PoolId type; } Comparison;

typedef struct SemaPrivate {
  Cell *cells;            /* stb_ds */
  PoolId *leaves;         /* of the cells; stb_ds */
  RuntimeRange *ranges;   /* stb_ds */
  struct Computed *computed;      /* stb_ds: symbolic values with these parameters; */
  const PoolId *computed_for;     /*   sema_symbolic.c */
  uint64_t steps, library_steps;  /* comptime steps of the program and of the library */
  bool is_out_of_steps;   /* reported */
  FailedLoop *failed_loops;       /* stb_ds: those whose turns have had an error */
  const Decl *unused;     /* what sema_check_unused looks at, or NULL */
  uint32_t depth;         /* comptime call depth */
  uint64_t effects;       /* grows with every step that reads or changes something beyond its
                           * operands: only what leaves it alone is memoised.  sema_expr adds one
                           * for each builtin call that is not marked pure. */
  uint64_t local_uses;    /* grows with every use of a local: same purpose */
  const NodeList *inlined;  /* the arguments of a call that is inlined whatever it calls, or NULL */
  struct Replay *replay;  /* of the innermost loop or call that is walked, or NULL */
  struct Replay **calls_kept;     /* stb_ds */
  PairMap call_places;    /* function and constant arguments -> one of calls_kept */
  void *outer;            /* the evaluation that this one stands in, for context.c */
  Comparison compared;    /* the last one that was emitted */
  bool is_repeated;       /* what is evaluated was so before: it prints nothing */
  Local *locals;          /* stb_ds */
  uint32_t *newest;       /* stb_ds, by StrId.raw: place + 1 of the last local of the name, or 0 */
  Memo **memos;           /* by module; each by node index, NULL until needed */
  PairMap types;          /* StrId -> predeclared id */
  PairMap instances;      /* function and bound arguments -> instance */
  PairMap calls;          /* function and arguments -> value */
  PairMap constants;      /* value -> anonymous Global */
  PairMap coercible;      /* struct value or its type, and target -> can it be that? */
  PairMap coerced;        /* struct value and target -> value */
  PairMap ir_names;       /* StrId of a name -> times used */
  uint32_t *pending;      /* functions to compile; stb_ds, like the arrays below */
  uint32_t next_pending;
  uint32_t *emitted;      /* Globals that have an IR global */
  uint32_t next_global;   /* the first of them whose data has not been filled in */
  TileLeaf *tile_data;
  bool *blocks_run;       /* by module: its top-level blocks have run */
  uint32_t next_serial;   /* of cells */
  uint32_t n_left;         /* lists of exits whose left_at is set */
  PairMap self_types;     /* declaration of a struct and parameters of its module -> Decl.self */
  uint32_t structs_running;       /* declarations of structs whose fields are being looked at */
  LocalStruct *local_structs;     /* the innermost */
  PoolId *closed_structs; /* stb_ds: types of local structs with pointers to themselves */
  Decl **awaited;         /* stb_ds: structs to which one of them has pointers */
  uintptr_t stack_end;    /* calls at compile time stop below this address */
  Span loc_span;          /* what s->b.loc was made of */
  IrLocId loc_inlined, loc_made;
} SemaPrivate;

/* What a walk elsewhere (a declaration, a called function) goes back to. */
typedef struct {
  WalkContext context;
  bool is_dead;
  IrBuilder b;
  uint32_t n_locals, n_cells, n_leaves;
} SavedWalk;

/* The context of now, but in another module; the same at compile time. */
WalkContext walk_in(const Sema *s, uint32_t module);
WalkContext walk_comptime_in(const Sema *s, uint32_t module);
/* From here on at compile time; returns what s->now has to become again. */
WalkContext walk_enter_comptime(Sema *s);
/* Begins a walk elsewhere, in the given context.  `frame` is filled in except for its links; its
 * scope is empty. */
void sema_enter(Sema *s, Frame *frame, WalkContext context, SavedWalk *saved);
void sema_leave(Sema *s, const SavedWalk *saved);

/* For sema_destroy. */
void sema_forget_computed(Sema *s);

/* A stretch of locals and comptime variables. */
typedef struct { uint32_t first_in_scope, scope_end, n_locals, n_cells, n_leaves; } Scope;
/* `text`: what the scope's names can be seen in. */
Scope scope_open(Sema *s, Span text);
void scope_close(Sema *s, Scope scope);
/* The type that has the name in every file, iN and uN of any width among them, or none. */
PoolId scope_predeclared_type(Sema *s, StrId name);
/* A side of the comparison of an assertion as the source has it; NULL: it says its value itself. */
const char *scope_asserted_text(Sema *s, Span text);
/* Tells reports of failed assertions of a side of the comparison that the next assertion makes;
 * `text` is the side's place in the source. */
void scope_note_asserted(Sema *s, Span text, IrValue value, PoolId type);
/* Is the name that of an integer type, iN or uN?  `bits`: of more than can be, any number above
 * TYPE_INT_MAX_BITS. */
bool scope_is_int_name(const char *text, unsigned long *bits);
/* Has one of the language's own types the name?  Parameters may be called `color`, and variables
 * `u1`: SDK 1.x has no such type. */
bool scope_is_reserved(Sema *s, StrId name);
/* Reports a declaration with such a name. */
void scope_check_name(Sema *s, StrId name, Span span);
/* False after reporting that the scope has the name.  `type`: of the declaration, or NULL. */
bool scope_add(Sema *s, Name name, Operand o, const Node *type);
/* The same for a name that can be seen behind its initialiser only, which may be NULL. */
bool scope_add_declared(Sema *s, Name name, Operand o, const Node *type, const Node *init);
Local *scope_find(Sema *s, StrId name);
/* Warns of a condition that compares a local variable with a number in the text if the variable's
 * type, which its declaration names, decides it.  Parts of conditions may be there for safety, and
 * names and types that the text computes may be others in other programs. */
void sema_check_condition(Sema *s, const Node *condition);
/* A comptime variable with the given value (of its type). */
Operand cell_make(Sema *s, PoolId type, PoolId value, bool is_const);

/* ---- exits.c ----------------------------------------------------------------------------- */

void target_push(Sema *s, Target *target, TargetKind kind, Name label, PoolId want);
void target_pop(Sema *s, Target *target);
/* The point reached leaves through the list; what follows is dead. */
void exit_add(Sema *s, ExitList *list, Operand value, Span span);
/* The program assigns to n leaves of a cell: exits that were taken before leave that out. */
void exits_note_store(Sema *s, const Operand *target, uint32_t n_leaves, Span span);
/* Where the exits have met: what the cells hold that only some of the ways assign is not known. */
void exits_fork_cells(Sema *s, ExitList *list);
/* Goes on where the exits meet.  The value has `want`'s type if given, else the peer type. */
Operand exits_join(Sema *s, ExitList *list, PoolId want, Span span);
void exits_init(ExitList *list);

/* ---- scope.c ----------------------------------------------------------------------------- */

bool pair_get(const PairMap *map, uint64_t key, uint32_t *value);
void pair_put(PairMap *map, uint64_t key, uint32_t value);
void pair_free(PairMap *map);

/* ---- messages ------------------------------------------------------------------------------- */

/* A note on a name that other languages have; false: none. */
bool sema_note_foreign(Sema *s, const char *name, Span span);
/* The same, without names of types such as uint32_t. */
bool sema_note_other_language(Sema *s, const char *name, Span span);
/* Where a parameter of the module is bound: the value, and the name beside it. */
Span module_binding_span(Sema *s, const ModuleInstance *m, StrId name, Span *name_span);
/* The parameter is declared here; of a library's, what stands behind its declaration, too. */
void sema_note_param(Sema *s, const Decl *d);
/* Is the value without the member a parameter of the library's module at hand?  Then the import has
 * got the struct of another module: reports that, and the parameter is poison from now on. */
bool sema_report_other_struct(Sema *s, const Operand *base, StrId member);

/* ---- the walkers ---------------------------------------------------------------------------- */

/* Is code being emitted at the point reached? */
static inline bool sema_emits(const Sema *s) { return !s->now.comptime && s->ir != NULL; }
/* A condition known at compile time leaves out code here. */
void sema_note_left_out(Sema *s);
Operand operand_place(IrValue address, PoolId type, bool is_const);
Operand operand_global(uint32_t global, int64_t offset, PoolId type, bool is_const);
/* Says that the operand is not known at compile time. */
void operand_report_run_time(Sema *s, const Operand *o);
/* The same for one of the two operands of what stands at `span`. */
void operands_report_run_time(Sema *s, const Operand *a, const Operand *b, Span span);
IrValue operand_offset(Sema *s, IrValue address, int64_t offset);
/* The Global that holds a known value: its declaration's, or anonymous data. */
uint32_t operand_constant_global(Sema *s, const Operand *o);
static inline Operand operand_at(Operand o, Span span)
{
  o.span = span;
  return o;
}
/* A new run-time object of the type. */
Operand sema_temp(Sema *s, PoolId type);
/* The part of an object that starts `offset` bytes on. */
Operand place_part(Sema *s, Operand place, int64_t offset, PoolId type);
/* Field i of a struct or union in memory. */
Operand place_field(Sema *s, Operand place, uint32_t i);
/* Stores a value of exactly the place's type, const places included. */
void place_init(Sema *s, Operand place, Operand value);
/* Reports unless the machine can hold the type. */
bool sema_check_run_time(Sema *s, PoolId type, Span span);
void sema_note_run_time(Sema *s, PoolId type, Span span);
bool value_is_true(PoolId value);

/* ---- sema_packed.c, packed_known.c ------------------------------------------------------- */

/* False after reporting a field that a packed struct or union cannot have. */
bool packed_check(Sema *s, const NodeStructType *n, const PoolField *fields);
/* Reading and writing places that are bits of a packed object. */
Operand packed_load(Sema *s, Operand place);
void packed_store(Sema *s, Operand place, Operand value);
bool packed_is(const Sema *s, PoolId type);
/* @bitcast where one of the types is packed. */
Operand packed_bitcast(Sema *s, Operand o, PoolId type);
/* The bits of a known value from one on, as a value of the type, and the bits with another value
 * for a part; `old` may be none, and so is the result if addresses are involved.  Neither type has
 * to be packed. */
PoolId packed_known_bits(Sema *s, PoolId whole, uint32_t bit, PoolId type);
PoolId packed_with_bits(Sema *s, PoolId packed, PoolId old, uint32_t bit, PoolId value);
/* Unions: the value with one field set, and the value of a field, none if another is set. */
PoolId union_of_field(Sema *s, PoolId type, uint32_t field, PoolId value);
PoolId union_field_known(Sema *s, PoolId value, uint32_t field);
/* The part of a known packed value from the bit on that has the type; none if there is none. */
PoolId packed_known(Sema *s, PoolId whole, uint32_t bit, PoolId type);

/* ---- sema_wide.c: integers of more than 64 bits --------------------------------------------- */

/* The operands have the type, or are compared in it. */
Operand wide_binary(Sema *s, BinaryOp op, PoolId type, Operand left, Operand right);
Operand wide_shift(Sema *s, BinaryOp op, Operand a, IrValue amount);     /* amount: an i16 */
Operand wide_shift_known(Sema *s, BinaryOp op, Operand a, uint32_t amount);
IrValue wide_above(Sema *s, Operand o, uint32_t bits);  /* i64: not 0 if a bit above those is set */
Operand wide_unary(Sema *s, UnaryOp op, Operand a);
/* @as from or to such an integer; also bits of another sign. */
Operand wide_convert(Sema *s, Operand o, PoolId type, Span span);

/* ---- sema_cast.c ------------------------------------------------------------------------- */

PoolId sema_peer_type(Sema *s, Operand a, Operand b);        /* none: no common type */
/* Can it be converted implicitly? Comptime values are looked at. */
bool sema_coercible(Sema *s, Operand o, PoolId type);
/* A note on the first field that keeps a struct from being coerced to another. */
void sema_note_fields(Sema *s, Operand o, PoolId type, Span span);

/* ---- fold.c, sema_cast.c, sema_arith.c --------------------------------------------------- */

PoolId fold_binary(Sema *s, BinaryOp op, PoolId type, PoolId a, PoolId b, Span span);
/* On integers, no shift; of comparisons 1 or 0.  False: the result is larger, or there is none. */
bool operate_on_small(BinaryOp op, int64_t x, int64_t y, int64_t *out);
PoolId fold_unary(Sema *s, UnaryOp op, PoolId type, PoolId a, Span span);
/* @as on known values, without symbolic ones; none: not possible, poison: reported. */
PoolId fold_convert(Sema *s, PoolId value, PoolId type, Span span);
PoolId fold_bitcast(Sema *s, PoolId value, PoolId type);
PoolId sema_report_unfit(Sema *s, PoolId value, PoolId type, Span span);
bool sema_is_integral(Sema *s, PoolId type);         /* an integer, an enum, an id */
unsigned sema_bit_width(Sema *s, PoolId type);
PoolId sema_pointer_value(Sema *s, PoolId type, uint64_t address);
/* The number, truth value or address that the bits are. */
PoolId fold_bits(Sema *s, PoolId type, uint64_t bits);
IrValue emit_convert(Sema *s, IrValue v, PoolId from, PoolId to);
/* Brings a container back into the range of an iN or uN that does not fill it. */
IrValue emit_normalise(Sema *s, IrValue v, PoolId type);

/* ---- sema_stmt.c, sema_loop.c, exits.c, sema.c, sema_expr.c, sema_call.c ------------------ */

/* Kept out of the frames of the functions that recur for every program. */
#define APART __attribute__((noinline))

static inline bool template_is_walked(const Sema *s)
{
  return s->now.frame != NULL && s->now.frame->is_template;
}

void sema_stmt(Sema *s, const Node *n);
Operand sema_block(Sema *s, const Node *n, PoolId want);
Operand sema_if(Sema *s, const Node *n, PoolId want, bool is_value);
Operand sema_switch(Sema *s, const Node *n, PoolId want, bool is_value);
void sema_while(Sema *s, const NodeWhile *n);
void sema_for(Sema *s, const Node *n);
void stmt_return(Sema *s, const NodeReturn *n);
void stmt_break(Sema *s, const NodeBreak *n);
void stmt_continue(Sema *s, const NodeContinue *n);
/* A condition: known (then *known says which), at run time, or in error. */
Operand walk_condition(Sema *s, const Node *n, bool *known);
/* Which way the program goes here is in error, so what would run there is left out. */
Operand leave_out(Sema *s);
/* A part that is carried out or not, and whose value is not known; true: what follows is dead if it
 * is carried out. */
bool template_part(Sema *s, const Node *n, PoolId want, bool is_value);
/* After all parts between which a condition of poison chooses. */
Operand template_parts_end(Sema *s, bool is_dead);
/* Counts a step of comptime evaluation; false after reporting that there were too many. */
bool sema_step(Sema *s, Span span);

/* The type expressions of the grammar.  `name`: the declaration that a struct or enum is named
 * after. */
PoolId sema_type_node(Sema *s, const Node *n, StrId name);

PoolId sema_func_value(Sema *s, uint32_t func);
uint32_t sema_func_add(Sema *s, uint32_t module, const Node *node);
bool param_is_bound(const FuncInstance *f, uint32_t i);
bool returns_in_memory(Sema *s, PoolId result);

/* ---- sema_decl.c ------------------------------------------------------------------------- */

Storage decl_storage(const Decl *d);
/* Does its value come from an import, as far as the text says? */
bool decl_is_import(Sema *s, const Decl *d);
bool decl_is_param(const Decl *d);                   /* or a color */

const char *sema_link_name(Sema *s, uint32_t module, StrId name, const Node *linkname);
/* Gives what was emitted as `*text` the name that @export wants; false after reporting at `at` that
 * the name is none or is taken. */
bool sema_rename_symbol(Sema *s, const char **text, StrId name, Span at);
/* The name that a linksection gives; raw 0 if there is none or it is reported. */
StrId sema_section(Sema *s, uint32_t module, const Node *linksection);
/* The start address that the command line gives the section; false: none. */
bool sema_section_address(const Sema *s, StrId section, uint16_t *address);

/* ---- replay.c ---------------------------------------------------------------------------- */

/* What is kept of a loop's iterations, or of the calls of a function. */
typedef struct Replay {
  struct Replay *outer;         /* that of the loop or call around */
  /* nothing is kept; something is being repeated; the loop or call is entered; since replay_start,
     something was done that cannot be repeated */
  bool is_off, is_repeating, is_entered, does_more;
  uint8_t n_not_kept;
  uint32_t first_counter, behind_counters;      /* captures or arguments among the locals */
  uint32_t constant;            /* those of them that are no counters, a bit each from the first */
  uint32_t n_cells;             /* comptime variables from outside */
  uint64_t uses;                /* of the counters, but for what is read again */
  struct ReplayDecision *decisions;     /* stb_ds: since replay_start */
  struct ReplayAct *acts;               /* stb_ds: of all that are kept, and of this one */
  struct ReplayPlace *places;           /* stb_ds: the tree; the first is its root */
} Replay;
/* What the counts were then. */
typedef struct { uint64_t effects; uint32_t acts; } ReplayStart;
void replay_enter(Sema *s, Replay *r);
void replay_leave(Sema *s, Replay *r);
void replay_free(Replay *r);
/* NULL: the function is being called. */
Replay *replay_of_call(Sema *s, uint64_t key);
/* The captures of the next iteration or the arguments have been declared, from that local on. */
void replay_begin(Sema *s, uint32_t first_counter, uint32_t constant);
/* Does what an earlier iteration or call did; false: none was like this one, which has to be
 * walked, between replay_start and replay_keep.  `decide`: bool_at_hand.  `value`: of the call. */
typedef PoolId ReplayDecide(Sema *s, const Node *condition);
bool replay_repeat(Sema *s, ReplayDecide *decide, PoolId *value);
void replay_start(Sema *s, ReplayStart *start);
void replay_keep(Sema *s, const ReplayStart *start, PoolId value);
/* A use of a local; a store to a comptime variable; the outcome of a condition, none if it is not
 * at hand. */
void replay_use(Sema *s, uint32_t local);
void replay_store(Sema *s, uint32_t cell);
void replay_decide(Sema *s, const Node *n, ReplayMark before, PoolId outcome);

/* ---- scope.c ----------------------------------------------------------------------------- */

/* Kinds whose value is worth keeping when it depends on nothing local. */
bool is_memoised(const Node *n);
Memo *memo_of(Sema *s, const Node *n);            /* NULL: no table yet */
void memo_put(Sema *s, const Node *n, PoolId want, PoolId value);
/* The value of a known local, or of a literal kept by memo_put; `comptime`: it is for a context in
 * which values have to be known.  None: it is not at hand, or a listener wants to hear of the walk;
 * likewise for the next two. */
PoolId value_at_hand(Sema *s, const Node *n, PoolId want, bool comptime);

/* ---- sema_arith.c ------------------------------------------------------------------------ */

/* The outcome of comparisons of integers, of `and` and `or`. */
PoolId bool_at_hand(Sema *s, const Node *n);
/* What an operator that is no comparison makes of integers. */
PoolId fold_at_hand(Sema *s, const NodeBinary *n, PoolId want);

/* ---- sema_operand.c, sema_place.c, sema_arith.c, sema_cast.c, sema.c, sema_expr.c -------- */

/* Address of an aggregate operand: comptime aggregates become constant data. */
IrValue sema_address(Sema *s, Operand o);
/* Parts: base[indices] and &place, lvalues if the base is one. */
Operand sema_index(Sema *s, Operand base, const Operand *indices, uint32_t n, Span span);
Operand sema_address_of(Sema *s, Operand place, Span span);
/* Binary and unary operators on operands. */
Operand sema_binary(Sema *s, BinaryOp op, Operand a, Operand b, Span span);
Operand sema_unary(Sema *s, UnaryOp op, Operand a, Span span);
/* The value of a field of a struct of the run, if the field is known; else none. */
PoolId sema_known_field(const Sema *s, const Operand *o, uint32_t i);
/* A struct or tuple (names NULL) of the parts; known at compile time if all of them are. */
Operand sema_aggregate(Sema *s, const StrId *names, const Operand *parts, uint32_t n, Span span);
/* An array of `type` with every element `value`. */
Operand sema_splat(Sema *s, PoolId type, Operand value, Span span);
/* The range start .. stop (exclusive) by step; the operands have the type `element`.  While it is
 * not stored, its parts stay SSA values; stored, they are start, stop and step one after the other,
 * each of the element type. */
Operand sema_range(Sema *s, PoolId element, Operand start, Operand stop, Operand step);
Operand sema_range_part(Sema *s, Operand range, unsigned part);   /* 0 start, 1 stop, 2 step */
/* Counts comptime steps for work that takes long or memory; the next step sees whether they were
 * too many. */
void sema_count_steps(Sema *s, uint64_t n);
enum { STEPS_PER_SYMBOLIC = 10 };     /* each symbolic value stays in memory with its operands */
/* Code emitted next belongs to the source at `span`. */
void sema_at(Sema *s, Span span);
/* @bitcast on any operand. */
Operand sema_bitcast(Sema *s, Operand o, PoolId type, Span span);

/* ---- context.c, sema_cast.c: notes on where an error is ---------------------------------- */

/* From here on, errors and warnings carry notes on where `s` is: calls, imports, its tile. */
void context_enter(Sema *s);
void context_leave(Sema *s);
/* The place itself, or if it is in the library, the call or import outside of it that led there. */
Span sema_place_outside(const Sema *s, Span at);
/* A value of this type is a pointer to one object, where something else is expected. */
void sema_note_pointer(Sema *s, PoolId type, Span span);
/* Where a value of type void comes from, if from a param. */
void sema_note_void(Sema *s, const Operand *o, Span span);
/* The same where one type was expected and another one found that has the same text. */
void sema_note_alike(Sema *s, PoolId expected, PoolId found, Span span);
/* A note under the error reported last: where the name that the operand was written with is
 * declared. */
void sema_note_declared(Sema *s, const Operand *o);
/* The call by which a comptime block has come to the function whose code is reached, if any. */
void sema_note_comptime_call(Sema *s);

/* ---- builtin_import.c, sema_decl.c, sema_call.c: declarations and calls ------------------ */

/* @import_module; the builtin table has checked that there are one or two arguments. */
Operand sema_import_builtin(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want);
/* The type of a struct declaration whose fields are not known yet, for pointers; else none. */
PoolId decl_self_type(Sema *s, Decl *d);
/* What a declaration's align(n) asks for, `align` at least; an error, and `align`, if n is none. */
uint32_t sema_align(Sema *s, const Node *n, uint32_t align);
/* A call as it is written. */
Operand sema_call(Sema *s, Operand callee, const Node *call_node, const NodeList *args,
                  PoolId want);

/* ---- builtin_call.c -------------------------------------------------------------------------- */

/* A call of a builtin: finds its row, checks what the row says, and calls its handler. */
Operand sema_builtin(Sema *s, const Node *call, PoolId want);
bool sema_builtin_exists(const Session *session, StrId name);   /* without the '@' */
/* Does its value depend on its operands alone? */
bool sema_builtin_is_pure(const Session *session, StrId name);
/* To memory: what compile time can evaluate does not. */
bool sema_builtin_may_write(const Session *session, StrId name);
/* Is a call of it of no use when its value is not used? */
bool sema_builtin_only_yields(const Session *session, StrId name, bool *is_copy);

/* ---- sema_symbolic.c, sema_place.c ----------------------------------------------------------- */

/* A value with its symbolic parts replaced by what they are on the tile of s->tile (by
 * tile_env_param), nothing recorded; poison if that is an error. */
PoolId value_on_tile(Sema *s, PoolId value);
/* base.name as an rvalue or lvalue (also @field). */
Operand sema_member(Sema *s, Operand base, StrId name, Span span);
/* The names with commas between them, for a note; NULL if there are none or too many. */
const char *sema_join_names(Sema *s, const char *const *names, size_t n);
/* A note with the members of an enum, unless there are too many. */
void sema_list_members(Sema *s, const PoolKey *type, Span span);

/* ---- tile_env.c: the tile that is analysed ------------------------------------------------- */

/* What parameter `index` (u.symbolic.index of SYM_PARAM) is on the tile that is analysed. */
PoolId tile_env_param(Sema *s, uint32_t index);
/* The tile that is analysed: its coordinates, the @set_tile_code it is from and its parameters.
 * False when that is no tile of a layout. */
bool tile_env_place(const Sema *s, uint32_t *x, uint32_t *y, Span *span, PoolId *params);
/* Adds to the trace: the analysis relied on `symbolic` being `outcome`. */
void tile_env_record(Sema *s, PoolId symbolic, PoolId outcome);
/* The tile parameter (ir_tile_param) that holds `symbolic` (of a scalar run-time type) at run
 * time; the same value gets the same number. */
uint32_t tile_env_run_time_word(Sema *s, PoolId symbolic);
/* Initial data of a global differs by tile: `symbolic` stands at byte `offset`. */
void tile_env_initial_data(Sema *s, IrGlobalId global, uint32_t offset, PoolId symbolic);

/* ---- scope.c --------------------------------------------------------------------------------- */

/* From here on as the code around runs, also in a comptime part of it: for an operand of which the
 * type alone counts.  Returns what s->now has to become again. */
WalkContext walk_enter_run_time(Sema *s);

#endif
