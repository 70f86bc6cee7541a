/* Constants of loops: -O2 makes them once, in front of the loop.
 *
 * Select makes a constant where it is used.  In a loop that costs an instruction per turn.  In
 * front of it the constant costs a register, so it moves only as long as there are some.  So that a
 * loop of one turn is not slower, a constant moves only if each turn needs it, and only if the loop
 * calls nothing: a call would leave registers that the function has to save.  From the front of an
 * inner loop it may go on to that of the next. */
#include "ir/codegen/codegen.h"

#include <string.h>

#include <stb_ds.h>

/* What stays free beside the values that live at the fullest place: pairs want two registers side
 * by side. */
enum { SPARE_WORDS = 3 };

/* Code from a label to the last jump back to it. */
typedef struct { uint32_t first, last; } LoopRange;

typedef struct {
  MFunc *mf;
  uint32_t *place;         /* by label: its instruction */
  LoopRange *loops;        /* stb_ds: the shortest first */
  uint32_t *n_defs, *n_uses;      /* by virtual register */
  uint32_t *n_uses_here;          /* in the loop at hand, not counting copies */
  uint32_t *front;         /* by instruction: what it stands in front of; itself if it stays */
  uint32_t *live_words;    /* by instruction: of the values that live behind it */
  const LoopRange **room_in;      /* by instruction: the loop in which the constant takes room */
  uint32_t *first_jump, *last_jump;      /* by label: of the jumps to it; itself if none */
  Reg *same;               /* by virtual register: the equal constant that stands for it, or 0 */
} ConstantKeeper;

/* ---- loops ---------------------------------------------------------------------------------- */

static int compare_ranges(const void *x, const void *y)
{
  const LoopRange *a = x, *b = y;
  uint32_t n_a = a->last - a->first, n_b = b->last - b->first;
  if (n_a != n_b)
    return n_a < n_b ? -1 : 1;
  return a->first < b->first ? -1 : a->first > b->first;
}

static void find_ranges(ConstantKeeper *k, Arena *arena)
{
  const MInsn *code = k->mf->code;
  memset(k->place, 0xff, sizeof *k->place * (k->mf->n_labels + 1));
  k->first_jump = arena_many(arena, uint32_t, k->mf->n_labels + 1);
  k->last_jump = arena_many(arena, uint32_t, k->mf->n_labels + 1);
  for (uint32_t i = 0; i < arrlenu(code); i++)
    if (code[i].op == MI_LABEL)
      k->place[code[i].target] = k->first_jump[code[i].target] = k->last_jump[code[i].target] = i;
  for (uint32_t i = 0; i < arrlenu(code); i++) {
    if (!mi_is_jump(&code[i]))
      continue;
    uint32_t *first = &k->first_jump[code[i].target], *last = &k->last_jump[code[i].target];
    *first = i < *first ? i : *first;
    *last = i > *last ? i : *last;
  }
  for (uint32_t label = 0; label < k->mf->n_labels; label++)
    if (k->place[label] != IR_NO_ID && k->last_jump[label] > k->place[label])
      arrput(k->loops, ((LoopRange){k->place[label], k->last_jump[label]}));
  if (k->loops)
    qsort(k->loops, arrlenu(k->loops), sizeof *k->loops, compare_ranges);
}

/* Is the instruction in front of the loop the only way into it, and does it call nothing? */
static bool may_keep(const ConstantKeeper *k, const LoopRange *r)
{
  const MInsn *code = k->mf->code;
  if (r->first == 0 || mi_ends_flow(&code[r->first - 1]))
    return false;
  for (uint32_t i = r->first; i <= r->last; i++) {
    uint32_t label = code[i].target;
    if (code[i].clobbers || (code[i].op == MI_LABEL && (k->first_jump[label] < r->first ||
                                                        k->last_jump[label] > r->last)))
      return false;
  }
  return true;
}

/* Does each turn that goes on come to the place in front of the instruction?  Not if a jump before
 * it leads behind it or ends the turn. */
static bool each_turn_comes_to(const ConstantKeeper *k, const LoopRange *r, uint32_t at)
{
  for (uint32_t i = r->first; i < at; i++) {
    if (!mi_is_jump(&k->mf->code[i]))
      continue;
    uint32_t to = k->place[k->mf->code[i].target];
    if (to == r->first || (to > at && to <= r->last))
      return false;
  }
  return true;
}

/* ---- registers ------------------------------------------------------------------------------ */

static uint32_t vreg_index(Reg r) { return reg_id(r) - FIRST_VREG; }

static uint32_t words_of(const MFunc *mf, uint32_t v)
{
  return mf->vregs[v].cls == CLASS_PAIR ? 2 : 1;
}

static void measure_block(ConstantKeeper *k, const Flow *flow, const FlowBlock *block,
                          uint64_t *live)
{
  uint32_t words = 0;
  flow_live_out(flow, block, live);
  for (uint32_t w = 0; w < flow->n_words; w++)
    for (uint64_t bits = live[w]; bits; bits &= bits - 1)
      words += words_of(k->mf, w * 64 + (uint32_t)__builtin_ctzll(bits));
  for (uint32_t i = block->end; i-- > block->first;) {
    MOperand ops[MOST_OPERANDS];
    unsigned n = mi_operands(&k->mf->code[i], ops);
    k->live_words[i] = words;
    for (unsigned use = 0; use < 2; use++)      /* definitions first */
      for (unsigned o = 0; o < n; o++) {
        Reg r = k->mf->code[i].r[ops[o].slot];
        if (!(use ? ops[o].use : ops[o].def) || !reg_is_virtual(r) ||
            bit_get(live, vreg_index(r)) == (use != 0))
          continue;
        if (use)
          bit_set(live, vreg_index(r));
        else
          bit_clear(live, vreg_index(r));
        words += use ? words_of(k->mf, vreg_index(r)) : 0 - words_of(k->mf, vreg_index(r));
      }
  }
}

static void measure_lives(ConstantKeeper *k, Arena *arena)
{
  Flow flow;
  flow_build(&flow, k->mf, arena);
  uint64_t *live = arena_many(arena, uint64_t, flow.n_words + 1);
  for (uint32_t b = 0; b < flow.n_blocks; b++)
    measure_block(k, &flow, &flow.blocks[b], live);
}

static bool has_room(const ConstantKeeper *k, const LoopRange *r, uint32_t words)
{
  for (uint32_t i = r->first; i <= r->last; i++)
    if (k->live_words[i] + words > REGISTER_WORDS - SPARE_WORDS)
      return false;
  return true;
}

static void add_words(ConstantKeeper *k, const LoopRange *r, uint32_t words)
{
  for (uint32_t i = r->first; i <= r->last; i++)
    k->live_words[i] += words;
}

/* Is there room for a constant everywhere in the loop?  Then it is taken; one that comes from an
 * inner loop has its room there. */
static bool take_room(ConstantKeeper *k, const LoopRange *r, uint32_t constant)
{
  uint32_t words = words_of(k->mf, vreg_index(k->mf->code[constant].r[0]));
  const LoopRange *inner = k->room_in[constant];
  if (inner)
    add_words(k, inner, 0 - words);
  bool fits = has_room(k, r, words);
  if (fits)
    k->room_in[constant] = r;
  if (k->room_in[constant])
    add_words(k, k->room_in[constant], words);
  return fits;
}

/* ---- constants ------------------------------------------------------------------------------ */

static void forget_operands(const MInsn *mi, uint32_t *uses)
{
  for (unsigned o = 0; o < MOST_OPERANDS; o++)
    if (reg_is_virtual(mi->r[o]))
      uses[vreg_index(mi->r[o])] = 0;
}

static void count_operands(const MInsn *mi, uint32_t *uses, uint32_t *defs)
{
  MOperand ops[MOST_OPERANDS];
  unsigned n = mi_operands(mi, ops);
  for (unsigned o = 0; o < n; o++) {
    Reg r = mi->r[ops[o].slot];
    if (!reg_is_virtual(r))
      continue;
    if (ops[o].use)
      uses[vreg_index(r)]++;
    if (ops[o].def && defs)
      defs[vreg_index(r)]++;
  }
}

/* A constant that is copied begins a variable or becomes an argument: made there, it needs no
 * copy. */
static void count_uses_in(ConstantKeeper *k, const LoopRange *r)
{
  for (uint32_t i = r->first; i <= r->last; i++)
    forget_operands(&k->mf->code[i], k->n_uses_here);
  for (uint32_t i = r->first; i <= r->last; i++) {
    const MInsn *mi = &k->mf->code[i];
    if (mi->op != OP_mov && mi->op != OP_mov32)
      count_operands(mi, k->n_uses_here, NULL);
  }
}

static bool is_constant_of_loop(const ConstantKeeper *k, uint32_t i)
{
  const MInsn *mi = &k->mf->code[i];
  if ((mi->op != OP_li && mi->op != OP_li32) || !reg_is_virtual(mi->r[0]))
    return false;
  uint32_t v = vreg_index(mi->r[0]);
  return k->n_defs[v] == 1 && k->n_uses_here[v] == k->n_uses[v];
}

static bool is_same_constant(const MInsn *a, const MInsn *b)
{
  return a->op == b->op && a->imm == b->imm && a->sym == b->sym && a->sym_index == b->sym_index;
}

static void keep_of_loop(ConstantKeeper *k, const LoopRange *r)
{
  if (!may_keep(k, r))
    return;
  count_uses_in(k, r);
  for (uint32_t i = r->first; i <= r->last; i++) {
    if (!is_constant_of_loop(k, i) || k->front[i] == r->first ||
        !each_turn_comes_to(k, r, k->front[i]))
      continue;
    bool is_there = false;   /* an equal one that moved before */
    for (uint32_t o = r->first; o < i && !is_there; o++)
      is_there = k->front[o] == r->first && is_same_constant(&k->mf->code[o], &k->mf->code[i]);
    if (is_there || take_room(k, r, i))
      k->front[i] = r->first;
  }
}

/* The constants that move, in their order.  Of equal ones in front of one loop one is enough. */
static uint32_t *list_kept(ConstantKeeper *k)
{
  MInsn *code = k->mf->code;
  uint32_t *kept = NULL;
  for (uint32_t i = 0; i < arrlenu(code); i++) {
    if (k->front[i] == i)
      continue;
    for (size_t n = 0; n < arrlenu(kept) && !code[i].dead; n++)
      if (k->front[kept[n]] == k->front[i] && is_same_constant(&code[kept[n]], &code[i])) {
        k->same[vreg_index(code[i].r[0])] = code[kept[n]].r[0];
        code[i].dead = true;
      }
    if (!code[i].dead)
      arrput(kept, i);
  }
  return kept;
}

/* ---- the new code --------------------------------------------------------------------------- */

static Reg renamed_reg(void *context, Reg reg)
{
  const ConstantKeeper *k = context;
  Reg same = k->same[vreg_index(reg)];
  return same ? same | (reg & (REG_LO | REG_HI)) : reg;
}

static void put_insn(ConstantKeeper *k, MInsn **out, MInsn mi)
{
  for (unsigned o = 0; o < MOST_OPERANDS; o++)
    if (reg_is_virtual(mi.r[o]))
      mi.r[o] = renamed_reg(k, mi.r[o]);
  arrput(*out, mi);
}

static void move_constants(ConstantKeeper *k)
{
  MInsn *code = k->mf->code, *out = NULL;
  uint32_t *kept = list_kept(k);
  for (uint32_t i = 0; i < arrlenu(code); i++) {
    for (size_t n = 0; code[i].op == MI_LABEL && n < arrlenu(kept); n++)
      if (k->front[kept[n]] == i) {
        MInsn mi = code[kept[n]];
        mi.loc = code[i - 1].loc;      /* no line stands in front of itself */
        put_insn(k, &out, mi);
      }
    if (k->front[i] == i)
      put_insn(k, &out, code[i]);
  }
  variables_rename(k->mf, renamed_reg, k);
  arrfree(kept);
  arrfree(code);
  k->mf->code = out;
}

void keep_constants(Cg *cg, MFunc *mf)
{
  if (cg->options->level < 2)
    return;
  Arena *arena = arena_create("constants of loops");
  size_t n = arrlenu(mf->code), n_regs = arrlenu(mf->vregs);
  ConstantKeeper k = {.mf = mf, .place = arena_many(arena, uint32_t, mf->n_labels + 1)};
  find_ranges(&k, arena);
  if (arrlenu(k.loops)) {
    k.n_defs = arena_many(arena, uint32_t, n_regs + 1);
    k.n_uses = arena_many(arena, uint32_t, n_regs + 1);
    k.n_uses_here = arena_many(arena, uint32_t, n_regs + 1);
    k.same = arena_many(arena, Reg, n_regs + 1);
    k.front = arena_many(arena, uint32_t, n + 1);
    k.live_words = arena_many(arena, uint32_t, n + 1);
    k.room_in = arena_many(arena, const LoopRange *, n + 1);
    measure_lives(&k, arena);
    for (uint32_t i = 0; i < n; i++) {
      k.front[i] = i;
      count_operands(&mf->code[i], k.n_uses, k.n_defs);
    }
    for (size_t l = 0; l < arrlenu(k.loops); l++)
      keep_of_loop(&k, &k.loops[l]);
    move_constants(&k);
  }
  arrfree(k.loops);
  arena_destroy(arena);
}
