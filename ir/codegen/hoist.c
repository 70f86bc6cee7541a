/* Brings instructions in front of a branch, after allocation (-O2).
 *
 * What both ways begin with is done before them: often a way is a jump then, or nothing.  A copy
 * that only one way needs comes before the branch, too, if the other way does not need what it
 * overwrites: the branch then takes the place of the jump behind the copy, as at the end of a loop
 * whose counter is read once more after it has been counted. */
#include "ir/codegen/codegen.h"

#include <string.h>

#include <stb_ds.h>

/* Words of copies that may come in front of a branch.  Such a copy costs the other way a cycle,
 * which a jump forwards pays for once and one backwards in each turn. */
enum { MOST_WORDS_FORWARDS = 1, MOST_WORDS_BACKWARDS = 2 };

/* Instructions at the beginning of a way among which the same one is looked for. */
enum { MOST_LOOKED_AT = 8 };

typedef struct {
  MFunc *mf;
  uint32_t *at;            /* by label: its index in the code */
  uint32_t *n_jumps;       /* by label */
  uint16_t *needed;        /* by instruction: registers that are read there or later */
} Hoist;

/* ---- registers ------------------------------------------------------------------------------ */

/* One walk from the end to the beginning; true if it found something that a jump backwards may
 * need. */
static bool spread_needs(Hoist *h)
{
  bool changed = false;
  for (uint32_t i = (uint32_t)arrlenu(h->mf->code); i-- > 0;) {
    const MInsn *mi = &h->mf->code[i];
    uint16_t now = 0;
    if (i + 1 < arrlenu(h->mf->code) && (mi->op == MI_LABEL || !mi_ends_flow(mi)))
      now = h->needed[i + 1];
    if (mi_is_jump(mi))
      now |= h->needed[h->at[mi->target]];
    if (mi->op != MI_LABEL)
      now = (uint16_t)((now & ~mi_writes(mi)) | mi_reads(mi));
    changed |= now != h->needed[i];
    h->needed[i] = now;
  }
  return changed;
}

static void find_ways(Hoist *h)
{
  const MInsn *code = h->mf->code;
  for (uint32_t i = 0; i < arrlenu(code); i++) {
    if (code[i].op == MI_LABEL)
      h->at[code[i].target] = i;
    else if (mi_is_jump(&code[i]))
      h->n_jumps[code[i].target]++;
  }
}

/* ---- moving --------------------------------------------------------------------------------- */

/* The branch and the instruction behind it change places.  The branch no longer finds the variables
 * that stand where the instruction writes. */
static void swap_with_branch(Hoist *h, uint32_t branch)
{
  MInsn *code = h->mf->code;
  MInsn first = code[branch + 1];
  first.marks = code[branch].marks;
  first.unmarked = code[branch].unmarked;
  code[branch + 1] = code[branch];
  code[branch] = first;
  code[branch + 1].unmarked |= mi_writes(&first);
}

static bool is_branch(const MInsn *mi)
{
  Opcode inverse;
  return mi_is_jump(mi) && mi_invert((Opcode)mi->op, &inverse);
}

/* ---- what both ways begin with -------------------------------------------------------------- */

/* Does it make a value in a register, and nothing else? */
static bool makes_value(const MInsn *mi)
{
  if (mi->op == MI_LABEL || mi->op == OP_vec || mi->clobbers || mi_reads_carry(mi))
    return false;
  CostClass cost = insn_info[mi->op].cost;
  return insn_defines_a((Opcode)mi->op) && cost != COST_CONFIG && cost != COST_RANDOM;
}

static bool makes_same_value(const MInsn *a, const MInsn *b)
{
  return makes_value(a) && a->op == b->op && a->imm == b->imm && a->sym == b->sym &&
         a->sym_index == b->sym_index && memcmp(a->r, b->r, sizeof a->r) == 0;
}

/* The first instruction behind the label if only that jump leads to it, else IR_NO_ID. */
static uint32_t begin_of_way(const Hoist *h, uint32_t label)
{
  const MInsn *code = h->mf->code;
  uint32_t at = h->at[label], n_jumps = 0, begin = at;
  while (at > 0 && code[at - 1].op == MI_LABEL)
    at--;
  if (at == 0 || !mi_ends_flow(&code[at - 1]))
    return IR_NO_ID;
  for (begin = at; begin < arrlenu(code) && code[begin].op == MI_LABEL; begin++)
    n_jumps += h->n_jumps[code[begin].target];
  return n_jumps == 1 && begin < arrlenu(code) ? begin : IR_NO_ID;
}

/* The same instruction on the other way, which begins there, if it may come first there. */
static uint32_t same_on_way(const Hoist *h, const MInsn *first, uint32_t begin)
{
  const MInsn *code = h->mf->code;
  uint16_t read_before = 0, written_before = 0;
  for (uint32_t i = begin; i < arrlenu(code) && i - begin < MOST_LOOKED_AT; i++) {
    if (code[i].dead)
      continue;
    bool clears = !((written_before & mi_reads(first)) |
                    ((read_before | written_before) & mi_writes(first)));
    if (clears && makes_same_value(first, &code[i]) && !mir_carry_is_read(h->mf, i))
      return i;
    if (code[i].op == MI_LABEL || !makes_value(&code[i]))
      return IR_NO_ID;
    read_before |= mi_reads(&code[i]);
    written_before |= mi_writes(&code[i]);
  }
  return IR_NO_ID;
}

/* The branch moves on behind each such instruction; returns where it stands then. */
static uint32_t join_begins(Hoist *h, uint32_t branch)
{
  MInsn *code = h->mf->code;
  uint32_t label = code[branch].target, begin = begin_of_way(h, label);
  for (; begin != IR_NO_ID && branch + 1 < begin; branch++) {
    const MInsn *first = &code[branch + 1];
    if (!makes_value(first) || mir_carry_is_read(h->mf, branch + 1) ||
        (mi_writes(first) & mi_reads(&code[branch])))
      break;
    uint32_t other = same_on_way(h, first, begin);
    if (other == IR_NO_ID)
      break;
    h->needed[h->at[label]] |= mi_writes(first);
    swap_with_branch(h, branch);
    code[other].dead = true;
  }
  return branch;
}

/* ---- copies that one way needs -------------------------------------------------------------- */

static unsigned words_copied(const MInsn *mi)
{
  return mi->op == OP_mov ? 1 : mi->op == OP_mov32 ? 2 : 0;
}

/* The jump behind the copies that follow the branch, if the other way begins behind it; else
 * IR_NO_ID. */
static uint32_t jump_behind_copies(const Hoist *h, uint32_t branch)
{
  const MInsn *code = h->mf->code;
  uint32_t n = (uint32_t)arrlenu(code), other = h->at[code[branch].target], words = 0, jump, i;
  for (jump = branch + 1; jump < n && words_copied(&code[jump]); jump++)
    words += words_copied(&code[jump]);
  if (jump == branch + 1 || jump == n || code[jump].op != OP_jmp)
    return IR_NO_ID;
  for (i = jump + 1; i < n && code[i].op == MI_LABEL && i != other; i++)
    ;
  bool is_back = h->at[code[jump].target] < branch;
  return i == other && words <= (is_back ? MOST_WORDS_BACKWARDS : MOST_WORDS_FORWARDS)
           ? jump : IR_NO_ID;
}

static void hoist_copies(Hoist *h, uint32_t branch)
{
  const MInsn *code = h->mf->code;
  uint32_t jump = jump_behind_copies(h, branch);
  if (jump == IR_NO_ID)
    return;
  uint16_t kept = h->needed[h->at[code[branch].target]] | mi_reads(&code[branch]);
  for (uint32_t i = branch + 1; i < jump; i++)
    if (mi_writes(&code[i]) & kept)
      return;
  for (; branch + 1 < jump; branch++)
    swap_with_branch(h, branch);
}

void branch_hoist(MFunc *mf)
{
  Arena *arena = arena_create("branches");
  size_t n_labels = mf->n_labels + 1;
  Hoist h = {.mf = mf, .at = arena_many(arena, uint32_t, n_labels),
             .n_jumps = arena_many(arena, uint32_t, n_labels),
             .needed = arena_many(arena, uint16_t, arrlenu(mf->code) + 1)};
  find_ways(&h);
  while (spread_needs(&h))
    ;
  for (uint32_t i = 0; i < arrlenu(mf->code); i++)
    if (!mf->code[i].dead && is_branch(&mf->code[i])) {
      i = join_begins(&h, i);
      hoist_copies(&h, i);
    }
  arena_destroy(arena);
}
