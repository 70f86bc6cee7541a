/* Spilling: virtual registers without a physical one live in slots of the stack, or are computed
 * again where they are read, if they are constants.
 *
 * regalloc.c asks for it after a round of colouring, and once before: the graph has an edge for
 * each two registers that live together, so far more of them than a tile has would cost their
 * square in time and memory, only for most to be spilled. */
#include "ir/codegen/codegen.h"

#include <stdlib.h>

#include <stb_ds.h>

/* Words alive at one place up to which the graph decides what is spilled: eight times those that
 * registers hold, which no public program comes near. */
enum { MOST_ALIVE_WORDS = 128 };

bool spill_remakes(const Cg *cg, const MInsn *mi)
{
  Opcode op = (Opcode)mi->op;
  bool loads = (op == OP_ld16 || op == OP_ld32) && mi->sym == SYM_INCOMING &&
               mi->r[1] == cg->machine->sp_register;
  bool param = (op == OP_ld16a || op == OP_ld32a) && mi->sym == SYM_TILE_PARAM;
  return op == OP_li || op == OP_li32 || loads || param;
}

double spill_price(double weight, bool is_constant) { return weight * (is_constant ? 0.6 : 1.0); }

/* ---- rewriting the code --------------------------------------------------------------------- */

typedef struct {
  const Cg *cg;
  MFunc *mf;
  const bool *spilled;     /* by virtual register */
  uint32_t n;              /* of these, before the first new one */
  MInsn *out;              /* stb_ds: the new code */
  int32_t *slot;           /* by virtual register: slot + 1 */
  MInsn *made;             /* by virtual register: how to make it again; op 0 (nop): not so */
} Spiller;

static RegClass class_of(const Spiller *sp, uint32_t v) { return sp->mf->vregs[v].cls; }

static Reg new_tiny(Spiller *sp, RegClass cls)
{
  arrput(sp->mf->vregs, ((VReg){.cls = cls, .tiny = true}));
  return FIRST_VREG + (Reg)arrlenu(sp->mf->vregs) - 1;
}

static bool is_spilled(const Spiller *sp, Reg r)
{
  return reg_is_virtual(r) && reg_id(r) - FIRST_VREG < sp->n &&
         sp->spilled[reg_id(r) - FIRST_VREG];
}

static MInsn slot_access(Spiller *sp, bool store, Reg r, uint32_t v, IrLocId loc)
{
  bool word = class_of(sp, v) == CLASS_WORD;
  if (sp->slot[v] == 0) {
    arrput(sp->mf->slots, ((FrameSlot){.bytes = word ? 2 : 4}));
    sp->slot[v] = (int32_t)arrlenu(sp->mf->slots);
  }
  Opcode op = store ? (word ? OP_st16 : OP_st32) : (word ? OP_ld16 : OP_ld32);
  MInsn mi = {.op = (uint16_t)op, .sym = SYM_FRAME, .sym_index = (uint32_t)sp->slot[v] - 1,
              .loc = loc, .r = {r, sp->cg->machine->sp_register, REG_NONE, REG_NONE, REG_NONE}};
  return mi;
}

/* Reads half of a spilled pair without the other. */
static MInsn half_load(Spiller *sp, Reg to, Reg half, IrLocId loc)
{
  MInsn mi = slot_access(sp, false, to, reg_id(half) - FIRST_VREG, loc);
  mi.op = OP_ld16;
  mi.imm = half & REG_HI ? 2 : 0;
  return mi;
}

static void emit_reload(Spiller *sp, Reg to, Reg spilled, IrLocId loc)
{
  uint32_t v = reg_id(spilled) - FIRST_VREG;
  MInsn mi = sp->made[v];
  if (mi.op != OP_nop) {
    mi.r[0] = to;
    mi.loc = loc;
  } else {
    mi = slot_access(sp, false, to, v, loc);
  }
  arrput(sp->out, mi);
}

/* Operands that are spilled become fresh registers, loaded before and stored behind. */
static void rewrite_insn(Spiller *sp, MInsn mi)
{
  MOperand ops[MOST_OPERANDS];
  unsigned n = mi_operands(&mi, ops);
  Reg stored = REG_NONE, fresh = REG_NONE;
  for (unsigned k = 0; k < n; k++) {
    Reg r = mi.r[ops[k].slot];
    if (!is_spilled(sp, r))
      continue;
    uint32_t v = reg_id(r) - FIRST_VREG;
    bool half = (r & (REG_LO | REG_HI)) && sp->made[v].op == OP_nop;
    Reg t = new_tiny(sp, half ? CLASS_WORD : class_of(sp, v));
    bool read = false;
    for (unsigned j = 0; j < n; j++)
      read |= ops[j].use && mi.r[ops[j].slot] == r;
    if (half)
      arrput(sp->out, half_load(sp, t, r, mi.loc));
    else if (read)
      emit_reload(sp, t, r, mi.loc);
    for (unsigned j = 0; j < n; j++)
      if (ops[j].def && mi.r[ops[j].slot] == r) {
        stored = r;
        fresh = t;
      }
    Reg with_half = half ? t : t | (r & (REG_LO | REG_HI));
    for (unsigned j = 0; j < MOST_OPERANDS; j++)   /* the same register elsewhere: tied */
      if (mi.r[j] == r)
        mi.r[j] = with_half;
  }
  arrput(sp->out, mi);
  if (stored != REG_NONE)
    arrput(sp->out, slot_access(sp, true, fresh, reg_id(stored) - FIRST_VREG, mi.loc));
}

/* The variables of spilled registers are in their slots, or constants that are made again. */
static void move_variables(Spiller *sp)
{
  for (size_t i = 0; i < arrlenu(sp->mf->homes); i++) {
    VariableHome *home = &sp->mf->homes[i];
    if (home->kind != HOME_REGISTER || !is_spilled(sp, home->reg))
      continue;
    uint32_t v = reg_id(home->reg) - FIRST_VREG;
    home->kind = HOME_SLOT;
    home->spilled = true;
    home->slot = sp->slot[v] ? (uint32_t)sp->slot[v] - 1 : IR_NO_ID;
  }
}

/* A copy from or to a spilled register is the load or store itself. */
static bool rewrite_copy(Spiller *sp, const MInsn *mi)
{
  if (!mi_is_copy(mi))
    return false;
  bool to = is_spilled(sp, mi->r[0]), from = is_spilled(sp, mi->r[1]);
  if (to && !from)
    arrput(sp->out, slot_access(sp, true, mi->r[1], reg_id(mi->r[0]) - FIRST_VREG, mi->loc));
  else if (from && !to)
    emit_reload(sp, mi->r[0], mi->r[1], mi->loc);
  return to != from;
}

/* By virtual register: 1 + the only instruction that defines it if that is a constant; else 0. */
static uint32_t *find_makers(const Cg *cg, const MFunc *mf, Arena *arena)
{
  uint32_t n = (uint32_t)arrlenu(mf->vregs);
  uint32_t *makers = arena_many(arena, uint32_t, n + 1);
  bool *defined = arena_many(arena, bool, n + 1);
  for (uint32_t i = 0; i < arrlenu(mf->code); i++) {
    const MInsn *mi = &mf->code[i];
    MOperand ops[MOST_OPERANDS];
    unsigned n_ops = mi->dead ? 0 : mi_operands(mi, ops);
    for (unsigned k = 0; k < n_ops; k++) {
      if (!ops[k].def || !reg_is_virtual(mi->r[ops[k].slot]))
        continue;
      uint32_t v = reg_id(mi->r[ops[k].slot]) - FIRST_VREG;
      makers[v] = !defined[v] && spill_remakes(cg, mi) ? i + 1 : 0;
      defined[v] = true;
    }
  }
  return makers;
}

void spill_registers(const Cg *cg, MFunc *mf, const bool *spilled, Arena *arena)
{
  uint32_t n = (uint32_t)arrlenu(mf->vregs);
  Spiller sp = {.cg = cg, .mf = mf, .spilled = spilled, .n = n,
                .slot = arena_many(arena, int32_t, n + 1),
                .made = arena_many(arena, MInsn, n + 1)};
  const uint32_t *makers = find_makers(cg, mf, arena);
  for (uint32_t v = 0; v < n; v++)
    if (spilled[v] && makers[v])
      sp.made[v] = mf->code[makers[v] - 1];
  for (uint32_t i = 0; i < arrlenu(mf->code); i++) {
    const MInsn *mi = &mf->code[i];
    bool remade = mi->op != MI_LABEL && is_spilled(&sp, mi->r[0]) &&
                  makers[reg_id(mi->r[0]) - FIRST_VREG] == i + 1;
    if (mi->dead || remade)
      continue;
    size_t first = arrlenu(sp.out);
    if (!rewrite_copy(&sp, mi))
      rewrite_insn(&sp, *mi);
    for (size_t k = first; k < arrlenu(sp.out); k++)
      sp.out[k].marks = mi->marks;
  }
  arrfree(mf->code);
  mf->code = sp.out;
  move_variables(&sp);
}

/* ---- a crowd -------------------------------------------------------------------------------- */

typedef struct { double price; uint32_t v; } Offer;

/* A walk through the code of each block, from its end on. */
typedef struct {
  const Cg *cg;
  MFunc *mf;
  Flow flow;
  uint64_t *live;          /* registers alive at the place of the walk, but those chosen */
  uint32_t words, most_words;   /* that they fill; the most so far */
  double *weight;          /* by register: accesses, by loop depth */
  uint32_t *length;        /* by register: instructions in which it lives */
  uint32_t *since;         /* by register alive: the last of these in the block */
  bool is_choosing;        /* the second walk: weights and lengths are known */
  double *price;           /* by register: what spilling costs per instruction in which it lives */
  bool *chosen;            /* by register: to be spilled */
  Offer *offers;           /* room for one of each register */
} Crowd;

static void begin_life(Crowd *c, uint32_t v, uint32_t at)
{
  if (c->chosen[v] || bit_get(c->live, v))
    return;
  bit_set(c->live, v);
  c->words += c->mf->vregs[v].cls == CLASS_WORD ? 1 : 2;
  c->since[v] = at;
}

static void end_life(Crowd *c, uint32_t v, uint32_t at)
{
  if (!bit_get(c->live, v))
    return;
  bit_clear(c->live, v);
  c->words -= c->mf->vregs[v].cls == CLASS_WORD ? 1 : 2;
  c->length[v] += c->since[v] - at;
}

static int compare_offers(const void *x, const void *y)
{
  const Offer *a = x, *b = y;
  if (a->price != b->price)
    return a->price < b->price ? -1 : 1;
  return a->v < b->v ? -1 : a->v > b->v;
}

/* Chooses the cheapest of those alive until the others are few enough. */
static void choose_among_alive(Crowd *c, uint32_t at)
{
  uint32_t n = 0;
  for (uint32_t w = 0; w < c->flow.n_words; w++)
    for (uint64_t bits = c->live[w]; bits; bits &= bits - 1) {
      uint32_t v = w * 64 + (uint32_t)__builtin_ctzll(bits);
      c->offers[n++] = (Offer){c->price[v], v};
    }
  qsort(c->offers, n, sizeof *c->offers, compare_offers);
  for (uint32_t i = 0; c->words > MOST_ALIVE_WORDS; i++) {
    c->chosen[c->offers[i].v] = true;
    end_life(c, c->offers[i].v, at);
  }
}

static void note_words(Crowd *c, uint32_t at)
{
  if (c->is_choosing && c->words > MOST_ALIVE_WORDS)
    choose_among_alive(c, at);
  if (c->words > c->most_words)
    c->most_words = c->words;
}

static void walk_insn(Crowd *c, uint32_t at, double weight)
{
  const MInsn *mi = &c->mf->code[at];
  MOperand ops[MOST_OPERANDS];
  unsigned n = mi_operands(mi, ops);
  for (unsigned k = 0; k < 2 * n; k++) {              /* what it writes, then what it reads */
    const MOperand *op = &ops[k % n];
    Reg r = mi->r[op->slot];
    if (!reg_is_virtual(r))
      continue;
    uint32_t v = reg_id(r) - FIRST_VREG;
    if (k < n)
      c->weight[v] += weight;
    if (k < n && op->def)
      end_life(c, v, at);
    else if (k >= n && op->use)
      begin_life(c, v, at);
  }
  note_words(c, at);
}

static void walk_block(Crowd *c, const FlowBlock *block)
{
  for (uint32_t i = 0; i < block->n_live_out; i++)
    begin_life(c, block->live_out[i], block->end);
  note_words(c, block->end);
  for (uint32_t i = block->end; i-- > block->first;)
    walk_insn(c, i, flow_weight(block));
  for (uint32_t w = 0; w < c->flow.n_words; w++)
    for (uint64_t bits = c->live[w]; bits; bits &= bits - 1)
      end_life(c, w * 64 + (uint32_t)__builtin_ctzll(bits), block->first);
}

static void walk_code(Crowd *c)
{
  for (uint32_t b = 0; b < c->flow.n_blocks; b++)
    walk_block(c, &c->flow.blocks[b]);
}

void spill_crowd(const Cg *cg, MFunc *mf)
{
  uint32_t n = (uint32_t)arrlenu(mf->vregs);
  if (n <= MOST_ALIVE_WORDS / 2)
    return;
  Arena *arena = arena_create("spilling of a crowd");
  Crowd c = {.cg = cg, .mf = mf, .weight = arena_many(arena, double, n + 1),
             .length = arena_many(arena, uint32_t, n + 1),
             .since = arena_many(arena, uint32_t, n + 1),
             .chosen = arena_many(arena, bool, n + 1)};
  flow_build(&c.flow, mf, arena);
  c.live = arena_many(arena, uint64_t, c.flow.n_words + 1);
  walk_code(&c);
  if (c.most_words > MOST_ALIVE_WORDS) {
    const uint32_t *makers = find_makers(cg, mf, arena);
    c.price = arena_many(arena, double, n);
    c.offers = arena_many(arena, Offer, n);
    for (uint32_t v = 0; v < n; v++)
      c.price[v] = spill_price(c.weight[v], makers[v] != 0) / (c.length[v] + 1);
    c.is_choosing = true;
    walk_code(&c);
    spill_registers(cg, mf, c.chosen, arena);
  }
  arena_destroy(arena);
}
