/* Local variables that code reads before it gives them a value, and calls as statements of
 * functions that do nothing but compute a value.
 *
 * A read counts if, whenever the program comes to it for the first time in a call of the function,
 * nothing has written what it reads.  So `sum += i` in a loop counts, and a variable that one
 * branch of an `if` sets does not.  An address that goes anywhere else than into a load or a store
 * may write the whole variable. */
#include "frontend/analysis/analysis_internal.h"

#include <stb_ds.h>
#include <stdlib.h>
#include <string.h>

/* ---- accesses to the variables of a function ------------------------------------------------ */

/* Bytes of the variable; `bytes` is 0 if they are not known. */
typedef struct { uint32_t offset, bytes; } LocalPart;
typedef enum { READS_PART, WRITES_PART } AccessKind;
typedef struct { AccessKind kind; LocalPart part; uint32_t local, block; IrLocId loc; } Access;

enum { NO_LOCAL = 0xffffffff };

typedef struct {
  Sema *s;
  const IrFunc *f;
  const UnsetLocal *locals;     /* those of the function */
  uint32_t n_locals;
  uint32_t *local_of;           /* by value: the variable that it is an address in, or NO_LOCAL */
  LocalPart *at;                /* by value: its offset there; bytes 0: not known */
  Access *found;                /* stb_ds, as the blocks and their instructions come */
  Access *accesses;             /* the same by variable: those of `local` begin at [first[local]] */
  uint32_t *first;
  uint32_t *in_block;           /* by block: 1 + the first of the variable at hand; 0: none */
  uint8_t *ways;                /* by block, for one read: LocalWay */
  uint32_t *seen;               /* stb_ds: the blocks that have some */
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

/* By the instruction `self`, through the address. */
static void add_access(LocalWalk *w, AccessKind kind, IrValue address, LocalPart part,
                       uint32_t block, IrValue self)
{
  arrput(w->found, ((Access){kind, part, w->local_of[address.raw], block,
                             insn_of(w->f, self)->loc}));
}

/* Operand `arg` of the instruction `self` is an address in a variable. */
static void note_use(LocalWalk *w, IrValue self, uint32_t arg, uint32_t block)
{
  const IrInsn *insn = insn_of(w->f, self);
  IrValue value = insn->args[arg];
  if (insn->op == IR_ptr_add && arg == 0)
    return;
  if (insn->op == IR_load) {
    add_access(w, READS_PART, value, part_of(w, value, ir_type_bytes(insn->type)), block, self);
  } else if (insn->op == IR_copy && arg == 1) {
    add_access(w, READS_PART, value, part_of(w, value, (uint32_t)insn->imm), block, self);
  } else if (insn->op == IR_store && arg == 0) {
    uint32_t bytes = ir_type_bytes(insn_of(w->f, insn->args[1])->type);
    if (!ir_value_eq(self, w->locals[w->local_of[value.raw]].zeroing))
      add_access(w, WRITES_PART, value, part_of(w, value, bytes), block, self);
  } else {
    add_access(w, WRITES_PART, value, (LocalPart){0, 0}, block, self);
  }
}

static void note_targets(LocalWalk *w, IrValue self, uint32_t block)
{
  const IrInsn *insn = insn_of(w->f, self);
  for (uint32_t t = 0; t < ir_target_count(insn); t++)
    for (uint32_t i = 0; i < insn->u.targets[t].n_args; i++)
      if (w->local_of[insn->u.targets[t].args[i].raw] != NO_LOCAL)
        add_access(w, WRITES_PART, insn->u.targets[t].args[i], (LocalPart){0, 0}, block, self);
}

/* An instruction comes after those whose values it takes. */
static void find_addresses(LocalWalk *w)
{
  memset(w->local_of, 0xff, w->f->n_insns * sizeof *w->local_of);
  for (uint32_t i = 0; i < w->n_locals; i++) {
    w->local_of[w->locals[i].place.raw] = i;
    w->at[w->locals[i].place.raw] = (LocalPart){0, 1};
  }
  for (uint32_t v = 1; v < w->f->n_insns; v++) {
    const IrInsn *insn = &w->f->insns[v];
    if (insn->op != IR_ptr_add || w->local_of[insn->args[0].raw] == NO_LOCAL)
      continue;
    const IrInsn *by = insn_of(w->f, insn->args[1]);
    LocalPart from = w->at[insn->args[0].raw];
    w->local_of[v] = w->local_of[insn->args[0].raw];
    w->at[v] = (LocalPart){from.offset + (uint32_t)by->imm, from.bytes && by->op == IR_const};
  }
}

static void find_accesses(LocalWalk *w)
{
  const IrFunc *f = w->f;
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++) {
      IrValue self = f->blocks[b].insns[i];
      const IrInsn *insn = insn_of(f, self);
      for (uint32_t a = 0; a < insn->n_args; a++)
        if (w->local_of[insn->args[a].raw] != NO_LOCAL)
          note_use(w, self, a, b);
      note_targets(w, self, b);
    }
}

/* In the order found for each. */
static void order_by_variable(LocalWalk *w, Arena *arena)
{
  size_t n = arrlenu(w->found);
  w->first = arena_many(arena, uint32_t, w->n_locals + 2);
  w->accesses = arena_many(arena, Access, n + 1);
  for (size_t i = 0; i < n; i++)
    w->first[w->found[i].local + 2]++;
  for (uint32_t l = 2; l < w->n_locals + 2; l++)
    w->first[l] += w->first[l - 1];
  for (size_t i = 0; i < n; i++)
    w->accesses[w->first[w->found[i].local + 1]++] = w->found[i];
}

/* ---- the way to a read ---------------------------------------------------------------------- */

/* How the program comes to a block that is not behind the read: without or with a write. */
typedef enum { WAY_UNWRITTEN = 1, WAY_WRITTEN = 2 } LocalWay;

static void go_on(LocalWalk *w, uint32_t **todo, uint32_t block, uint8_t way)
{
  if (w->ways[block] & way)
    return;
  if (w->ways[block] == 0)
    arrput(w->seen, block);
  arrput(*todo, block);
  w->ways[block] |= way;
}

/* What the way is after the accesses of the block; 0 if it comes to the read there, and `*at_read`
 * then has it. */
static uint8_t way_through(const LocalWalk *w, uint32_t block, uint8_t way, const Access *read,
                           uint8_t *at_read)
{
  const Access *end = w->accesses + w->first[read->local + 1];
  const Access *a = w->in_block[block] ? &w->accesses[w->in_block[block] - 1] : end;
  for (; a < end && a->block == block; a++) {
    if (a == read) {
      *at_read |= way;
      return 0;
    }
    if (a->kind == WRITES_PART && parts_overlap(a->part, read->part))
      way = WAY_WRITTEN;
  }
  return way;
}

/* Does every way from the declaration come to the read before anything writes what it reads? */
static bool is_before_writes(LocalWalk *w, const Access *read)
{
  const IrFunc *f = w->f;
  uint32_t *todo = NULL;
  uint8_t at_read = 0;
  go_on(w, &todo, w->locals[read->local].block.raw, WAY_UNWRITTEN);
  /* the nearest blocks first: a read is mostly not far from its declaration */
  for (size_t next = 0; next < arrlenu(todo) && !(at_read & WAY_WRITTEN); next++) {
    uint32_t block = todo[next];
    const IrInsn *last = ir_last_insn(f, block);
    for (uint8_t way = WAY_UNWRITTEN; way <= WAY_WRITTEN; way++) {
      uint8_t out = w->ways[block] & way ? way_through(w, block, way, read, &at_read) : 0;
      for (uint32_t t = 0; t < ir_target_count(last) && out != 0; t++)
        go_on(w, &todo, last->u.targets[t].block.raw, out);
    }
  }
  arrfree(todo);
  for (size_t i = 0; i < arrlenu(w->seen); i++)
    w->ways[w->seen[i]] = 0;
  arrsetlen(w->seen, 0);
  return at_read == WAY_UNWRITTEN;
}

/* ---- variables ------------------------------------------------------------------------------ */

static void warn_of_read(const LocalWalk *w, const Access *read)
{
  const UnsetLocal *local = &w->locals[read->local];
  const char *name = sema_text(w->s, local->name);
  diag_local_without_value(w->s->diags, fabric_user_span(w->s, read->loc), name);
  diag_local_value_help(w->s->diags, local->span, name);
}

/* A write earlier in the block of a read settles it. */
static bool is_written_in_block(const Access *read, const Access *first)
{
  for (const Access *a = read; a-- > first && a->block == read->block;)
    if (a->kind == WRITES_PART && parts_overlap(a->part, read->part))
      return true;
  return false;
}

static bool has_left_out(const Sema *s, IrFuncId func)
{
  for (size_t i = 0; i < arrlenu(s->left_out); i++)
    if (ir_func_eq(s->left_out[i].func, func))
      return true;
  return false;
}

/* May the write be in code that is left out on this tile, with a condition of the run around the
 * read that never holds then? */
static bool is_set_elsewhere(const LocalWalk *w, const Access *read)
{
  for (uint32_t i = w->first[read->local]; i < w->first[read->local + 1]; i++)
    if (w->accesses[i].kind == WRITES_PART)
      return false;
  return has_left_out(w->s, w->locals[read->local].func) &&
         block_times_find(w->f, w->s->arena)[read->block].least == 0;
}

static void check_local(LocalWalk *w, uint32_t local)
{
  const Access *first = w->accesses + w->first[local], *end = w->accesses + w->first[local + 1];
  for (const Access *a = end; a-- > first;)
    w->in_block[a->block] = (uint32_t)(a - w->accesses) + 1;
  for (const Access *a = first; a < end; a++)
    if (a->kind == READS_PART && !is_written_in_block(a, first) && is_before_writes(w, a) &&
        !is_set_elsewhere(w, a)) {
      warn_of_read(w, a);
      break;
    }
  for (const Access *a = first; a < end; a++)
    w->in_block[a->block] = 0;
}

/* Variables of one function. */
static void check_locals_of(Sema *s, const UnsetLocal *locals, uint32_t n)
{
  Arena *arena = arena_create("local variables");
  const IrFunc *f = &s->ir->funcs[locals->func.raw];
  LocalWalk w = {.s = s, .f = f, .locals = locals, .n_locals = n,
                 .local_of = arena_many(arena, uint32_t, f->n_insns),
                 .at = arena_many(arena, LocalPart, f->n_insns),
                 .in_block = arena_many(arena, uint32_t, f->n_blocks),
                 .ways = arena_many(arena, uint8_t, f->n_blocks)};
  find_addresses(&w);
  find_accesses(&w);
  order_by_variable(&w, arena);
  for (uint32_t i = 0; i < n; i++)
    if (!fabric_is_in_library(s, locals[i].span))
      check_local(&w, i);
  arrfree(w.found);
  arrfree(w.seen);
  arena_destroy(arena);
}

/* By function, then as declared. */
static int compare_locals(const void *x, const void *y)
{
  const UnsetLocal *a = x, *b = y;
  if (!ir_func_eq(a->func, b->func))
    return a->func.raw < b->func.raw ? -1 : 1;
  return a->span.off < b->span.off ? -1 : a->span.off > b->span.off;
}

static void check_locals(Sema *s)
{
  size_t n = arrlenu(s->unset_locals);
  if (n > 0)
    qsort(s->unset_locals, n, sizeof *s->unset_locals, compare_locals);
  for (size_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && ir_func_eq(s->unset_locals[end].func, s->unset_locals[i].func);)
      end++;
    check_locals_of(s, &s->unset_locals[i], (uint32_t)(end - i));
  }
}

/* ---- calls of functions that only compute a value ------------------------------------------- */

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
  Effect *known = effects_begin(s);
  for (size_t i = 0; i < arrlenu(s->lone_calls); i++) {
    const LoneCall *c = &s->lone_calls[i];
    const IrInsn *call = insn_of(&s->ir->funcs[c->func.raw], c->call);
    if (call->op == IR_call && !fabric_is_in_library(s, c->span) &&
        !effect_of_func(s, call->u.func.raw, known) &&
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
