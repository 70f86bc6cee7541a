/* ir/opt: what passes share.
 *
 * Reading order: passes.def, this header, pipeline.c, cfg.c, edit.c, then the passes.
 * A pass takes one function (or the module), keeps it valid for ir_verify and says whether it
 * changed anything.  It may leave instructions marked dead in block lists only until it calls
 * opt_sweep; ids of values stay stable until the pass `compact` renumbers them. */
#ifndef OPT_H
#define OPT_H

#include "ir/ir.h"

/* ---- cfg.c ------------------------------------------------------------------------- */

/* Shape of a function: built anew when a pass has changed blocks.  Arrays are by block number
 * and live in the arena given.  Unreachable blocks have rpo_index IR_NO_ID, idom IR_NO_ID and
 * depth 0. */
typedef struct {
  uint32_t n_blocks;
  uint32_t n_rpo;
  uint32_t *rpo;             /* reachable blocks in reverse postorder; [0] is the entry */
  uint32_t *rpo_index;
  uint32_t *pred_at;         /* predecessors of b: preds[pred_at[b]] up to preds[pred_at[b + 1]]; */
  uint32_t *preds;           /* one for each edge, reachable ones only */
  uint32_t *idom;            /* immediate dominator; the entry's is itself */
  uint32_t *dom_enter, *dom_leave;   /* times of a walk over the dominator tree */
  uint32_t *loop_head;       /* innermost natural loop that holds the block, by its head */
  uint32_t *loop_parent;     /* of a loop head: head of the loop around it, else IR_NO_ID */
  uint32_t *loop_depth;
  uint32_t *together;        /* reachable blocks in an order like rpo, but those of a loop follow */
  uint32_t *together_index;  /* each other: of head h they are together[i] with i from */
  uint32_t *loop_end;        /* together_index[h] up to loop_end[h]; 0: no head of a loop */
} Cfg;
void cfg_build(Cfg *cfg, const IrFunc *f, Arena *arena);
/* Order and predecessors alone: for passes that ask for no dominators and no loops. */
void cfg_order(Cfg *cfg, const IrFunc *f, Arena *arena);
/* Order alone. */
void cfg_reach(Cfg *cfg, const IrFunc *f, Arena *arena);
static inline bool cfg_is_reachable(const Cfg *cfg, uint32_t block)
{
  return cfg->rpo_index[block] != IR_NO_ID;
}
static inline uint32_t cfg_pred_count(const Cfg *cfg, uint32_t block)
{
  return cfg->pred_at[block + 1] - cfg->pred_at[block];
}
/* Both reachable: every path to b comes through a. */
static inline bool cfg_dominates(const Cfg *cfg, uint32_t a, uint32_t b)
{
  return cfg->dom_enter[a] <= cfg->dom_enter[b] && cfg->dom_leave[b] <= cfg->dom_leave[a];
}
static inline bool cfg_loop_contains(const Cfg *cfg, uint32_t head, uint32_t block)
{
  uint32_t at = cfg->together_index[block];
  return at >= cfg->together_index[head] && at < cfg->loop_end[head];
}
/* Does each turn that goes on to the next come to the block? */
bool cfg_runs_in_each_turn(const Cfg *cfg, uint32_t head, uint32_t block);

/* ---- edit.c ------------------------------------------------------------------------ */

static inline IrInsn *opt_insn(const IrFunc *f, IrValue v) { return &f->insns[v.raw]; }
static inline IrInsn *opt_terminator(const IrFunc *f, uint32_t block)
{
  const IrBlock *b = &f->blocks[block];
  return &f->insns[b->insns[b->n_insns - 1].raw];
}
/* Targets of a block's terminator and how many (0 to 2). */
static inline IrTarget *cfg_targets(const IrFunc *f, uint32_t block, uint32_t *n)
{
  const IrInsn *last = ir_last_insn(f, block);
  *n = last ? ir_target_count(last) : 0;
  return *n ? last->u.targets : NULL;
}
static inline bool opt_is_const(const IrFunc *f, IrValue v)
{
  return opt_insn(f, v)->op == IR_const;
}

/* Calls visit for each operand: arguments, then arguments of targets. */
typedef void OperandVisit(IrValue *operand, void *context);
static inline void opt_each_operand(IrInsn *insn, OperandVisit *visit, void *context)
{
  uint32_t n = ir_target_count(insn);
  for (uint32_t i = 0; i < insn->n_args; i++)
    visit(&insn->args[i], context);
  for (uint32_t t = 0; t < n; t++)
    for (uint32_t i = 0; i < insn->u.targets[t].n_args; i++)
      visit(&insn->u.targets[t].args[i], context);
}
/* Rewrites each operand v of the function to map[v.raw] (followed to its end) where that is not
 * raw 0; map has n_insns entries. */
void opt_replace_values(IrFunc *f, IrValue *map);
/* What the map makes of v, followed to its end. */
static inline IrValue opt_resolve(IrValue *map, IrValue v)
{
  IrValue end = v;
  while (map[end.raw].raw)
    end = map[end.raw];
  while (map[v.raw].raw) {           /* long chains are walked once */
    IrValue next = map[v.raw];
    map[v.raw] = end;
    v = next;
  }
  return end;
}
/* The same for an operand of an instruction: an OperandVisit, whose context is the map. */
static inline void opt_resolve_operand(IrValue *operand, void *map)
{
  *operand = opt_resolve(map, *operand);
}
/* Drops dead instructions from the block lists. */
void opt_sweep(IrFunc *f);
/* A new instruction in no block yet; the arguments are copied. */
IrValue opt_add(IrModule *m, IrFunc *f, const IrInsn *insn);
void opt_insert(IrModule *m, IrBlock *b, uint32_t at, IrValue v);
IrInsn opt_make_const(IrType type, uint64_t bits, IrLocId loc);
/* Drops parameter k of the block; its uses must be gone. */
void opt_remove_param(IrFunc *f, uint32_t block, uint32_t k);
void opt_remove_target_arg(IrTarget *t, uint32_t k);
void opt_append_target_arg(IrModule *m, IrTarget *t, IrValue v);
/* Makes a conditional branch an unconditional one to its target `which`. */
void opt_make_br(IrModule *m, IrInsn *insn, unsigned which);
/* Number of uses of each value, by raw. */
uint32_t *opt_count_uses(const IrFunc *f, Arena *arena);
/* Empties blocks that nothing reaches; true if there were any.  The shape stays right. */
bool opt_drop_unreachable(IrFunc *f, const Cfg *cfg);
/* The same without a shape at hand. */
bool opt_find_unreachable(IrFunc *f, Arena *arena);
/* Low bits of the type's width. */
uint64_t opt_mask(IrType type);
/* The number that 16 bits are. */
static inline int64_t opt_signed16(uint64_t bits)
{
  return (int64_t)((bits ^ 0x8000) & 0xffff) - 0x8000;
}

/* ---- passes.def, pipeline.c -------------------------------------------------------- */

/* What a pass works with; `arena` is reset after each function, `pass_arena` after the pass. */
typedef struct {
  IrModule *m;
  Arena *arena, *pass_arena;
  int level;
  bool invariants_are_out;       /* of loops: pass licm has run */
  const bool *exposed_globals;   /* NULL: no function has asked in this pass */
  const bool *sets_exception_mask;   /* likewise */
} Opt;

/* ---- memory.c ---------------------------------------------------------------------- */

/* Where an address points, as far as is known: an object (alloca or global) and an offset. */
typedef enum { BASE_UNKNOWN, BASE_ALLOCA, BASE_GLOBAL } AddressBase;
typedef struct {
  AddressBase base;
  uint32_t object;           /* value of the alloca, or global; unknown: the pointer */
  bool offset_known;
  int64_t offset;            /* bytes, as the 16 bits of an address: 0 to 65535 */
  uint32_t pointer;          /* the value that is the address */
} Address;
Address opt_address(const IrFunc *f, IrValue v);
/* Objects whose address is used otherwise than for loads, stores, copies and clears: pointers
 * and vector operations may reach them.  By value (allocas) and by global. */
typedef struct { const bool *allocas, *globals; } Exposed;
Exposed opt_exposed(Opt *opt, const IrFunc *f);
/* The globals alone; of the module as it was when the pass first asked. */
const bool *opt_exposed_globals(Opt *opt);
/* May the two accesses touch a common byte?  Sizes of 0 mean unknown. */
bool opt_may_alias(Address a, uint64_t a_bytes, Address b, uint64_t b_bytes, Exposed exposed);
/* May the instruction write to any, be it only those of its own function? */
bool opt_writes_memory(const IrInsn *insn);
/* May the instruction write to those bytes, now or in the background? */
bool opt_may_write(const IrFunc *f, const IrInsn *insn, Address to, uint64_t bytes,
                   Exposed exposed);

/* Do tiles of the class start with different bytes in this global? */
bool opt_differs_by_tile(const IrModule *m, uint32_t global);
/* The number that stands there on all tiles and never changes; false if there is none. */
bool opt_constant_data(const IrModule *m, uint32_t global, int64_t offset_bytes, unsigned bytes,
                       uint64_t *bits);
/* The descriptor of one dimension or of the fabric that stands there and never changes, or NULL. */
IrDesc *opt_constant_descriptor(const IrModule *m, uint32_t global, int64_t offset_bytes);

/* ---- loop.c ------------------------------------------------------------------------ */

/* The block that enters the loop by its only jump, unconditionally, or IR_NO_ID. */
uint32_t opt_loop_front(const IrFunc *f, const Cfg *cfg, uint32_t head);
/* Gives each loop such a block; rebuilds the shape if one was made. */
bool opt_make_fronts(Opt *opt, IrFunc *f, Cfg *cfg);
/* By value: the block that holds it. */
uint32_t *opt_blocks_of_values(const IrFunc *f, Arena *arena);

/* ---- pressure.c -------------------------------------------------------------------- */

/* Words of registers that a function needs, by block; zero until a pass asks for room, because most
 * loops need none. */
typedef struct { uint32_t *words; } Pressure;
/* Does it call, be it a routine of the code generator for wide products, quotients, conversions? */
bool opt_is_call(const IrFunc *f, const IrInsn *insn);
/* Words of registers that the value takes while it lives. */
unsigned opt_register_words(IrType type);
/* Is there room for so many words more all through the loop?  Measures the function first if it
 * must; blocks stay as they are from then on. */
bool opt_has_room(Opt *opt, Pressure *p, const IrFunc *f, const Cfg *cfg, uint32_t head,
                  unsigned words);
void opt_take_room(Pressure *p, const Cfg *cfg, uint32_t head, unsigned words);

/* ---- linear.c, pass_unroll.c ------------------------------------------------------------- */

static inline uint32_t opt_low_word(uint32_t bits) { return bits & 0xffff; }

/* The target of the block's terminator that is `to`; NULL if there are two, or none. */
IrTarget *opt_only_target(const IrFunc *f, uint32_t block, uint32_t to);

/* A loop with one way in and one way around; values from n_values on are newer than block_of. */
typedef struct {
  IrModule *m;
  IrFunc *f;
  const Cfg *cfg;
  const uint32_t *block_of;
  uint32_t n_values;
  uint32_t head, front, latch;
  IrTarget *entering, *around;
} Loop;
/* Fills in the ways of the loop; false if it has others. */
bool opt_loop_enter(Loop *l, uint32_t head);
bool opt_is_outside(const Loop *l, IrValue v);

/* A parameter of the head that starts with `start` and grows by a constant each turn. */
typedef struct {
  IrValue value, next, start;
  IrType type;
  uint64_t step;
} Counter;
bool opt_counter(const Loop *l, IrValue v, Counter *c);
/* How many turns the test of the latch lets the loop take, found by running the test; 0 if that is
 * not known or more than `most`.  The latch ends with the loop's only way around. */
uint32_t opt_count_turns(const Loop *l, const Counter *c, uint32_t most);
/* Loops of so many turns end at the last value of a pointer, if that is known (pass ends). */
enum { MOST_END_TURNS = 1 << 14, FEWEST_END_TURNS = 3 };
/* The loop's number of turns if it is to be straight code (pass unroll), else 0. */
uint32_t opt_turns_to_unroll(const Loop *l);

/* factor * counter + terms from outside the loop + constant, in 16 bits. */
enum { MOST_TERMS = 4 };
typedef struct {
  bool has_counter;
  Counter counter;
  uint32_t factor;
  unsigned n_terms;
  struct { IrValue value; uint32_t factor; } terms[MOST_TERMS];
  uint32_t constant;
} Linear;
/* Adds the integer v to the sum; false if it is no such sum. */
bool opt_linear_add(const Loop *l, Linear *sum, IrValue v);
/* Do they differ only in the constant? */
bool opt_linear_same(const Linear *a, const Linear *b);
/* What it is in the first turn, computed in front of the loop. */
IrValue opt_linear_start(const Loop *l, const Linear *sum);
/* A new parameter of the head; each turn ends with `grow`, whose first operand it is. */
IrValue opt_carry(const Loop *l, IrType type, IrValue start, const IrInsn *grow);
/* New instructions at the end of a block, before its jump. */
IrValue opt_put(const Loop *l, uint32_t block, const IrInsn *insn);
IrValue opt_put_const(const Loop *l, uint32_t block, IrType type, uint64_t bits);
IrValue opt_put_op(const Loop *l, uint32_t block, IrOp op, IrType type, IrValue x, IrValue y);

/* ---- the passes -------------------------------------------------------------------- */

#define PASS_FUNC(name, text) bool pass_##name(Opt *opt, IrFunc *f);
#define PASS_MODULE(name, text) bool pass_##name(Opt *opt);
#include "ir/opt/passes.def"

#endif
