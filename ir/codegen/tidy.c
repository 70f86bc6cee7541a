/* Removes what allocation left over: jumps to jumps, blocks that only jump, branches around jumps,
 * unreachable code, and at -O2 what reload.c and hoist.c find. Moves the test of a `while` from the
 * head of the loop to its end, and lets the last branch of a loop go back rather than out. */
#include "ir/codegen/codegen.h"

#include <string.h>

#include <stb_ds.h>

enum { MOST_ROUNDS = 8, MOST_COPIED_INSNS = 3 };

typedef struct {
  MFunc *mf;
  uint32_t *at;            /* by label: its index in the code */
} Labels;

static void drop_dead(MFunc *mf)
{
  size_t kept = 0;
  for (size_t i = 0; i < arrlenu(mf->code); i++)
    if (!mf->code[i].dead)
      mf->code[kept++] = mf->code[i];
  arrsetlen(mf->code, kept);
}

static void find_labels(Labels *l)
{
  for (uint32_t i = 0; i < arrlenu(l->mf->code); i++)
    if (l->mf->code[i].op == MI_LABEL)
      l->at[l->mf->code[i].target] = i;
}

/* The first instruction at or behind i that is no label; the code's length if none. */
static uint32_t skip_labels(const MFunc *mf, uint32_t i)
{
  while (i < arrlenu(mf->code) && mf->code[i].op == MI_LABEL)
    i++;
  return i;
}

/* A jump to a jump goes to the end of the chain (which may be a ring: an endless loop). */
static bool thread_jumps(Labels *l)
{
  bool changed = false;
  MInsn *code = l->mf->code;
  for (uint32_t i = 0; i < arrlenu(code); i++) {
    if (code[i].op == MI_LABEL || !mi_is_jump(&code[i]))
      continue;
    for (unsigned steps = 0; steps < MOST_ROUNDS; steps++) {
      uint32_t to = skip_labels(l->mf, l->at[code[i].target]);
      if (to >= arrlenu(code) || code[to].op != OP_jmp || code[to].target == code[i].target)
        break;
      code[i].target = code[to].target;
      changed = true;
    }
  }
  return changed;
}

static bool is_next(const Labels *l, uint32_t from, uint32_t label)
{
  return skip_labels(l->mf, from) == skip_labels(l->mf, l->at[label]);
}

/* Jumps to what follows anyway; "branch over a jump" is the opposite branch. */
static bool shorten_jumps(Labels *l)
{
  bool changed = false;
  MInsn *code = l->mf->code;
  for (uint32_t i = 0; i < arrlenu(code); i++) {
    if (code[i].op == MI_LABEL || !mi_is_jump(&code[i]))
      continue;
    Opcode inverse;
    if (is_next(l, i + 1, code[i].target)) {
      code[i].dead = true;
    } else if (i + 1 < arrlenu(code) && code[i + 1].op == OP_jmp && !code[i + 1].dead &&
               mi_invert((Opcode)code[i].op, &inverse) && is_next(l, i + 2, code[i].target)) {
      code[i].op = (uint16_t)inverse;
      code[i].target = code[i + 1].target;
      code[i + 1].dead = true;
    } else {
      continue;
    }
    changed = true;
  }
  if (changed)
    drop_dead(l->mf);
  return changed;
}

static bool drop_unreachable(Labels *l)
{
  MFunc *mf = l->mf;
  Arena *arena = arena_create("tidy");
  bool *wanted = arena_many(arena, bool, mf->n_labels + 1);
  bool changed = false, reached = true;
  for (size_t i = 0; i < arrlenu(mf->code); i++)
    if (mf->code[i].op != MI_LABEL && mi_is_jump(&mf->code[i]))
      wanted[mf->code[i].target] = true;
  for (size_t i = 0; i < arrlenu(mf->code); i++) {
    MInsn *mi = &mf->code[i];
    if (mi->op == MI_LABEL) {
      if (wanted[mi->target] || i == 0)
        reached = true;
      else
        mi->dead = changed = true;
      continue;
    }
    if (!reached)
      mi->dead = changed = true;
    else if (mi_ends_flow(mi))
      reached = false;
  }
  if (changed)
    drop_dead(mf);
  arena_destroy(arena);
  return changed;
}

/* ---- loop ends ------------------------------------------------------------------------------ */

/* The loop's head is a few instructions and a branch out of it: their number, or 0. */
static uint32_t head_length(const Labels *l, uint32_t from, uint32_t *first)
{
  const MFunc *mf = l->mf;
  Opcode inverse;
  *first = skip_labels(mf, from);
  for (uint32_t n = 1; n <= MOST_COPIED_INSNS; n++) {
    uint32_t i = *first + n - 1;
    if (i + 1 >= arrlenu(mf->code))
      return 0;
    const MInsn *mi = &mf->code[i];
    if (mi->op == MI_LABEL || mi_ends_flow(mi) || mi->op == OP_vec || mi->clobbers)
      return 0;
    if (mi_is_jump(mi))
      return mi_invert((Opcode)mi->op, &inverse) ? n : 0;
  }
  return 0;
}

typedef struct { uint32_t jump, first, n, body; } HeadCopy;   /* body: label of the loop's body */

static HeadCopy *find_heads(Labels *l)
{
  HeadCopy *found = NULL;
  for (uint32_t i = 0; i < arrlenu(l->mf->code); i++) {
    const MInsn *mi = &l->mf->code[i];
    uint32_t first, n = 0;
    if (mi->op == OP_jmp && l->at[mi->target] < i)
      n = head_length(l, l->at[mi->target], &first);
    if (n)
      arrput(found, ((HeadCopy){i, first, n, l->mf->n_labels++}));
  }
  return found;
}

/* The head's instructions with the branch turned round, then a jump out of the loop. */
static void put_head_copy(const MFunc *mf, MInsn **out, const HeadCopy *copy)
{
  for (uint32_t k = 0; k < copy->n; k++)
    arrput(*out, mf->code[copy->first + k]);
  MInsn leave = mf->code[copy->jump];
  MInsn *branch = &arrlast(*out);
  Opcode inverse = OP_nop;
  mi_invert((Opcode)branch->op, &inverse);
  leave.target = branch->target;
  branch->op = (uint16_t)inverse;
  branch->target = copy->body;
  arrput(*out, leave);
}

/* A backward jump to such a head becomes a copy of it that branches back to the body. */
static bool copy_heads(Labels *l)
{
  MFunc *mf = l->mf;
  HeadCopy *copies = find_heads(l);
  MInsn *out = NULL;
  size_t next = 0;
  bool changed = arrlenu(copies) != 0;
  for (uint32_t i = 0; changed && i < arrlenu(mf->code); i++) {
    for (size_t k = 0; k < arrlenu(copies); k++)
      if (copies[k].first + copies[k].n == i)
        arrput(out, ((MInsn){.op = MI_LABEL, .target = copies[k].body, .loc = mf->code[i].loc}));
    if (next < arrlenu(copies) && copies[next].jump == i)
      put_head_copy(mf, &out, &copies[next++]);
    else
      arrput(out, mf->code[i]);
  }
  arrfree(copies);
  if (!changed)
    return false;
  arrfree(mf->code);
  mf->code = out;
  return true;
}

/* The index behind the last jump to a label. */
static uint32_t end_of_loop(const MFunc *mf, uint32_t label)
{
  uint32_t i = (uint32_t)arrlenu(mf->code);
  while (i > 0 && (mf->code[i - 1].op == MI_LABEL || !mi_is_jump(&mf->code[i - 1]) ||
                   mf->code[i - 1].target != label))
    i--;
  return i;
}

/* "Branch out, else jump back" would take a branch and a jump in each turn: the branch goes back,
 * and the jump leaves. */
static void turn_loop_ends(Labels *l)
{
  MInsn *code = l->mf->code;
  for (uint32_t i = 0; i + 1 < arrlenu(code); i++) {
    MInsn *branch = &code[i], *jump = &code[i + 1];
    Opcode inverse;
    if (branch->op == MI_LABEL || !mi_is_jump(branch) || jump->op != OP_jmp ||
        l->at[jump->target] > i || !mi_invert((Opcode)branch->op, &inverse) ||
        l->at[branch->target] < end_of_loop(l->mf, jump->target))
      continue;
    uint32_t body = jump->target;
    jump->target = branch->target;
    branch->target = body;
    branch->op = (uint16_t)inverse;
  }
}

/* Until nothing changes, but no longer than the rounds allow. */
static void settle_jumps(Labels *l)
{
  bool changed = true;
  for (unsigned round = 0; round < MOST_ROUNDS && changed; round++) {
    find_labels(l);
    changed = thread_jumps(l);
    find_labels(l);
    changed |= shorten_jumps(l);
    find_labels(l);
    changed |= drop_unreachable(l);
  }
  find_labels(l);
}

void tidy_func(const Cg *cg, MFunc *mf)
{
  drop_dead(mf);
  Arena *arena = arena_create("tidy");
  /* copy_heads makes at most one label per instruction */
  Labels l = {mf, arena_many(arena, uint32_t, mf->n_labels + arrlenu(mf->code) + 1)};
  settle_jumps(&l);
  if (cg->options->level >= 2) {
    reload_pairs(mf);
    branch_hoist(mf);
    drop_dead(mf);
    settle_jumps(&l);
  }
  if (copy_heads(&l))
    settle_jumps(&l);
  turn_loop_ends(&l);
  arena_destroy(arena);
}
