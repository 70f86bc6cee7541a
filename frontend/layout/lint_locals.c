/* Local variables that code reads before it gives them a value, and calls as statements of
 * functions that do nothing but compute a value.
 *
 * A read counts if, whenever the program comes to it for the first time in a call of the function,
 * nothing has written what it reads.  So `sum += i` in a loop counts, and a variable that one
 * branch of an `if` sets does not.  An address that goes anywhere else than into a load or a store
 * may write the whole variable. */
#include "frontend/layout/fabric.h"

#include <stb_ds.h>
#include <stdlib.h>

/* ---- accesses to one variable --------------------------------------------------------------- */

/* Bytes of the variable; `bytes` is 0 if they are not known. */
typedef struct { uint32_t offset, bytes; } LocalPart;
typedef enum { READS_PART, WRITES_PART } AccessKind;
typedef struct { AccessKind kind; LocalPart part; uint32_t block, index; IrLocId loc; } Access;

typedef struct {
  Sema *s;
  const IrFunc *f;
  const UnsetLocal *local;
  Arena *arena;
  bool *is_derived;        /* by value: an address in the variable */
  LocalPart *at;                /* by value: its offset; bytes 0: not known */
  Access *accesses;        /* stb_ds, by block and place in it */
  uint32_t *first;         /* by block: its first access; the last block's end at [n_blocks] */
} LocalWalk;

static const IrInsn *insn_of(const IrFunc *f, IrValue v) { return &f->insns[v.raw]; }

static LocalPart part_of(const LocalWalk *w, IrValue address, uint32_t bytes)
{
  LocalPart at = w->at[address.raw];
  return (LocalPart){at.offset, at.bytes ? bytes : 0};
}

static bool parts_overlap(LocalPart a, LocalPart b)
{
  if (a.bytes == 0 || b.bytes == 0)
    return true;
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

static void add_access(LocalWalk *w, AccessKind kind, LocalPart part, uint32_t block,
                       uint32_t index)
{
  IrLocId loc = insn_of(w->f, w->f->blocks[block].insns[index])->loc;
  arrput(w->accesses, ((Access){kind, part, block, index, loc}));
}

/* `value` is an address in the variable, and operand `arg` of the instruction. */
static void note_use(LocalWalk *w, const IrInsn *insn, uint32_t arg, uint32_t block, uint32_t index)
{
  IrValue value = insn->args[arg];
  uint32_t self = w->f->blocks[block].insns[index].raw;
  if (insn->op == IR_ptr_add && arg == 0)
    return;
  if (insn->op == IR_load) {
    add_access(w, READS_PART, part_of(w, value, ir_type_bytes(insn->type)), block, index);
  } else if (insn->op == IR_copy && arg == 1) {
    add_access(w, READS_PART, part_of(w, value, (uint32_t)insn->imm), block, index);
  } else if (insn->op == IR_store && arg == 0) {
    uint32_t bytes = ir_type_bytes(insn_of(w->f, insn->args[1])->type);
    if (self != w->local->zeroing.raw)
      add_access(w, WRITES_PART, part_of(w, value, bytes), block, index);
  } else {
    add_access(w, WRITES_PART, (LocalPart){0, 0}, block, index);
  }
}

static void note_targets(LocalWalk *w, const IrInsn *insn, uint32_t block, uint32_t index)
{
  uint32_t n = insn->op == IR_br ? 1 : insn->op == IR_cond_br ? 2 : 0;
  for (uint32_t t = 0; t < n; t++)
    for (uint32_t i = 0; i < insn->u.targets[t].n_args; i++)
      if (w->is_derived[insn->u.targets[t].args[i].raw])
        add_access(w, WRITES_PART, (LocalPart){0, 0}, block, index);
}

static bool derive_address(LocalWalk *w, IrValue v)
{
  const IrInsn *insn = insn_of(w->f, v);
  if (insn->op != IR_ptr_add || w->is_derived[v.raw] || !w->is_derived[insn->args[0].raw])
    return false;
  const IrInsn *by = insn_of(w->f, insn->args[1]);
  LocalPart from = w->at[insn->args[0].raw];
  w->is_derived[v.raw] = true;
  w->at[v.raw] = (LocalPart){from.offset + (uint32_t)by->imm, from.bytes && by->op == IR_const};
  return true;
}

static void find_addresses(LocalWalk *w)
{
  w->is_derived[w->local->place.raw] = true;
  w->at[w->local->place.raw] = (LocalPart){0, 1};
  for (bool again = true; again;) {
    again = false;
    for (uint32_t v = 1; v < w->f->n_insns; v++)
      again |= derive_address(w, (IrValue){v});
  }
}

static void find_accesses(LocalWalk *w)
{
  const IrFunc *f = w->f;
  find_addresses(w);
  for (uint32_t b = 0; b < f->n_blocks; b++) {
    w->first[b] = (uint32_t)arrlenu(w->accesses);
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++) {
      const IrInsn *insn = insn_of(f, f->blocks[b].insns[i]);
      for (uint32_t a = 0; a < insn->n_args; a++)
        if (w->is_derived[insn->args[a].raw])
          note_use(w, insn, a, b, i);
      note_targets(w, insn, b, i);
    }
  }
  w->first[f->n_blocks] = (uint32_t)arrlenu(w->accesses);
}

/* ---- the way to a read ---------------------------------------------------------------------- */

/* Ways from the start of the function that have not come to the read yet: blocks where one of
 * them begins without (1) or with (2) a write before it. */
enum { WAY_UNWRITTEN = 1, WAY_WRITTEN = 2 };
typedef struct { uint8_t *ways; uint32_t *todo; } LocalWays;

static void go_on(LocalWays *x, uint32_t block, uint8_t way)
{
  if (x->ways[block] & way)
    return;
  arrput(x->todo, block);
  x->ways[block] |= way;
}

/* What the way is after the accesses of the block; 0 if it comes to the read there, which
 * `*at_read` then says. */
static uint8_t way_through(const LocalWalk *w, uint32_t block, uint8_t way, const Access *read,
                           uint8_t *at_read)
{
  for (uint32_t i = w->first[block]; i < w->first[block + 1]; i++) {
    const Access *a = &w->accesses[i];
    if (a == read) {
      *at_read |= way;
      return 0;
    }
    if (a->kind == WRITES_PART && parts_overlap(a->part, read->part))
      way = WAY_WRITTEN;
  }
  return way;
}

/* Does every way come to the read before anything writes what it reads? */
static bool is_before_writes(const LocalWalk *w, const Access *read)
{
  const IrFunc *f = w->f;
  LocalWays x = {arena_many(w->arena, uint8_t, f->n_blocks), NULL};
  uint8_t at_read = 0;
  go_on(&x, 0, WAY_UNWRITTEN);
  while (arrlenu(x.todo) > 0 && !(at_read & WAY_WRITTEN)) {
    uint32_t block = arrpop(x.todo);
    const IrBlock *b = &f->blocks[block];
    const IrInsn *last = insn_of(f, b->insns[b->n_insns - 1]);
    uint32_t n = last->op == IR_br ? 1 : last->op == IR_cond_br ? 2 : 0;
    for (uint8_t way = WAY_UNWRITTEN; way <= WAY_WRITTEN; way++) {
      uint8_t out = x.ways[block] & way ? way_through(w, block, way, read, &at_read) : 0;
      for (uint32_t t = 0; t < n && out != 0; t++)
        go_on(&x, last->u.targets[t].block.raw, out);
    }
  }
  arrfree(x.todo);
  return at_read == WAY_UNWRITTEN;
}

static void check_local(LocalWalk *w)
{
  find_accesses(w);
  for (size_t i = 0; i < arrlenu(w->accesses); i++) {
    const Access *read = &w->accesses[i];
    if (read->kind != READS_PART || !is_before_writes(w, read))
      continue;
    const char *name = sema_text(w->s, w->local->name);
    diag_local_without_value(w->s->diags, fabric_user_span(w->s, read->loc), name);
    diag_local_value_help(w->s->diags, w->local->span, name);
    break;
  }
  arrfree(w->accesses);
}

/* Is the place in a file of the standard library? */
static bool is_in_library(const Sema *s, Span span)
{
  const Session *session = s->session;
  return files_name(session->files, source_file_of(session->sources, span.off))[0] == '<';
}

static void check_locals(Sema *s)
{
  Arena *arena = arena_create("local variables");
  for (size_t i = 0; i < arrlenu(s->unset_locals); i++) {
    const IrFunc *f = &s->ir->funcs[s->unset_locals[i].func.raw];
    LocalWalk w = {.s = s, .f = f, .local = &s->unset_locals[i], .arena = arena,
                   .is_derived = arena_many(arena, bool, f->n_insns),
                   .at = arena_many(arena, LocalPart, f->n_insns),
                   .first = arena_many(arena, uint32_t, f->n_blocks + 1)};
    if (!is_in_library(s, w.local->span))
      check_local(&w);
  }
  arena_destroy(arena);
}

/* ---- calls of functions that only compute a value ------------------------------------------- */

typedef enum { EFFECT_UNKNOWN, EFFECT_RUNNING, EFFECT_NONE, EFFECT_SOME } Effect;

/* Does the address lie in a variable of the function itself? */
static bool is_own_place(const IrFunc *f, IrValue address)
{
  const IrInsn *insn = insn_of(f, address);
  while (insn->op == IR_ptr_add)
    insn = insn_of(f, insn->args[0]);
  return insn->op == IR_alloca;
}

static bool func_has_effect(const Sema *s, uint32_t func, Effect *known);

static bool insn_has_effect(const Sema *s, const IrFunc *f, const IrInsn *insn, Effect *known)
{
  if (ir_op_is_pure(insn->op))
    return false;
  switch ((int)insn->op) {
  case IR_alloca: case IR_load: case IR_br: case IR_cond_br: case IR_ret:
    return false;
  case IR_store: case IR_copy: case IR_zero:
    return !is_own_place(f, insn->args[0]);
  case IR_call:
    return func_has_effect(s, insn->u.func.raw, known);
  default:
    return true;
  }
}

/* A function that calls itself counts as one with an effect. */
static bool func_has_effect(const Sema *s, uint32_t func, Effect *known)
{
  const IrFunc *f = &s->ir->funcs[func];
  if (known[func] != EFFECT_UNKNOWN)
    return known[func] != EFFECT_NONE;
  known[func] = EFFECT_RUNNING;
  bool has = false;
  for (uint32_t b = 0; b < f->n_blocks && !has; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns && !has; i++)
      has = insn_has_effect(s, f, insn_of(f, f->blocks[b].insns[i]), known);
  known[func] = has ? EFFECT_SOME : EFFECT_NONE;
  return has;
}

/* Just one constant: the function may stand for one that does more with other parameters. */
static bool func_is_constant(const Sema *s, uint32_t func)
{
  const IrFunc *f = &s->ir->funcs[func];
  for (uint32_t v = 1; v < f->n_insns; v++) {
    IrOp op = f->insns[v].op;
    if (op != IR_const && op != IR_br && op != IR_ret && op != IR_PARAM)
      return false;
  }
  return true;
}

static void check_calls(Sema *s)
{
  Effect *known = arena_many(s->arena, Effect, s->ir->n_funcs + 1);
  for (size_t i = 0; i < arrlenu(s->lone_calls); i++) {
    const LoneCall *c = &s->lone_calls[i];
    const IrInsn *call = insn_of(&s->ir->funcs[c->func.raw], c->call);
    if (call->op == IR_call && !is_in_library(s, c->span) &&
        !func_has_effect(s, call->u.func.raw, known) &&
        !func_is_constant(s, call->u.func.raw)) {
      diag_unused_call(s->diags, c->span);
      diag_unused_call_help(s->diags, c->span);
    }
  }
}

void lint_locals(Sema *s)
{
  check_locals(s);
  check_calls(s);
}
