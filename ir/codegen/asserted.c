/* What assertions compare, for reports of those that fail: where the sides of the comparison stand
 * when the tile stops.  The code is the same without it. */
#include "ir/codegen/codegen.h"

#include <string.h>

#include <stb_ds.h>

/* An assertion in the code of a function, and the comparison before it. */
typedef struct { const Cg *cg; const MFunc *mf; size_t at, compare; } Assertion;

/* Do the marks say that the home holds its value before the instruction? */
static bool is_held(const MFunc *mf, const MInsn *mi, uint32_t home)
{
  bool held = false;
  for (uint32_t set = mi->marks; set; set = mf->mark_sets[set].parent)
    held ^= mf->mark_sets[set].home == home;
  return held && !(mf->homes[home].kind == HOME_REGISTER &&
                   reg_mask(mf->homes[home].reg) & mi->unmarked);
}

/* An instruction that leaves memory and what stands before it alone. */
static bool is_simple(const MInsn *mi)
{
  return mi->op != MI_LABEL && !mi_is_jump(mi) && insn_info[mi->op].cost <= COST_LOAD;
}

/* What has written the register, with simple instructions between; false: it is not known. */
static bool find_writer(const Assertion *a, Reg reg, size_t before, size_t *at)
{
  for (size_t i = before; i-- > 0 && is_simple(&a->mf->code[i]);)
    if (mi_writes(&a->mf->code[i]) & reg_mask(reg)) {
      *at = i;
      return true;
    }
  return false;
}

/* Of floats that differ, the result is the opposite of a comparison's. */
static bool find_compare(Assertion *a)
{
  if (!find_writer(a, a->mf->code[a->at].r[0], a->at, &a->compare))
    return false;
  const MInsn *mi = &a->mf->code[a->compare];
  return insn_info[mi->op].format == FMT_RRR ||
         (mi->op == OP_xori && find_writer(a, mi->r[1], a->compare, &a->compare) &&
          insn_info[a->mf->code[a->compare].op].format == FMT_RRR);
}

/* Is it the home, or was it loaded from there?  A copy of the code, such as that of a loop's head,
 * may compare another value. */
static bool comes_from(const Assertion *a, Reg reg, const VariableHome *home)
{
  size_t at;
  if (home->kind == HOME_REGISTER)
    return reg == home->reg;
  if (!find_writer(a, reg, a->compare, &at))
    return false;
  const MInsn *mi = &a->mf->code[at];
  return insn_info[mi->op].cost == COST_LOAD && mi->r[1] == a->cg->machine->sp_register &&
         mi->imm == (int32_t)a->mf->slots[home->slot].offset;
}

/* Bits of the operands of the comparison that it is. */
static unsigned compared_as(const Assertion *a, const VariableHome *home)
{
  const MInsn *mi = &a->mf->code[a->compare];
  return comes_from(a, mi->r[1], home) | comes_from(a, mi->r[2], home) << 1;
}

/* The last instruction from the comparison to the assertion before which the home certainly holds
 * its value, with simple ones between; false: there is none.  In front of the comparison the
 * register may have been that of an earlier turn. */
static bool find_held(const Assertion *a, uint32_t home, size_t *from)
{
  for (size_t i = a->at; ; i--) {
    const MInsn *mi = &a->mf->code[i];
    if (i < a->at && !is_simple(mi))
      return false;
    if (is_held(a->mf, mi, home)) {
      *from = i;
      return true;
    }
    if (i == 0 || (i == a->compare && a->mf->homes[home].kind == HOME_REGISTER))
      return false;
  }
}

static uint16_t written_from(const Assertion *a, size_t from)
{
  uint16_t written = 0;
  for (size_t i = from; i < a->at; i++)
    written |= mi_writes(&a->mf->code[i]);
  return written;
}

/* The result has taken the register; memory may still have what was loaded there. */
static bool place_loaded(const Assertion *a, size_t held, Reg reg, ImageAsserted *out)
{
  size_t at;
  if (!find_writer(a, reg, held, &at))
    return false;
  const MInsn *mi = &a->mf->code[at];
  bool is_absolute = mi->r[1] == REG_NONE;
  if (insn_info[mi->op].cost != COST_LOAD || mi->r[0] != reg ||
      (!is_absolute && written_from(a, at) & reg_mask(mi->r[1])))
    return false;
  out->place = ASSERTED_MEMORY;
  out->reg = is_absolute ? ASSERTED_NO_BASE : (uint8_t)mi->r[1];
  out->value = (uint16_t)((uint32_t)mi->imm +
                          layout_symbol(a->cg, (SymKind)mi->sym, mi->sym_index));
  return true;
}

static bool place_home(const Assertion *a, uint32_t number, ImageAsserted *out)
{
  const VariableHome *home = &a->mf->homes[number];
  size_t held;
  if (home->kind == HOME_CONSTANT) {
    out->place = ASSERTED_CONSTANT;
    out->value = home->bits;
    return true;
  }
  if (home->kind == HOME_REGISTER ? home->reg == REG_NONE : !home->spilled)
    return false;
  if (!compared_as(a, home) || !find_held(a, number, &held))
    return false;
  if (home->kind == HOME_SLOT) {
    out->place = ASSERTED_MEMORY;
    out->reg = (uint8_t)a->cg->machine->sp_register;
    out->value = a->mf->slots[home->slot].offset;
    return a->mf->slots[home->slot].used;
  }
  if (written_from(a, held) & reg_mask(home->reg))
    return place_loaded(a, held, home->reg, out);
  out->place = ASSERTED_REGISTER;
  out->reg = (uint8_t)(home->reg < PAIR_BASE ? home->reg : home->reg - PAIR_BASE);
  return true;
}

/* A side and its home; the code has several of a loop that has become straight code. */
typedef struct {
  uint32_t turn;
  bool is_constant, is_placed;
  bool may_be_turn;        /* the assertion's, see is_turn */
  unsigned compared_as;
  ImageAsserted side;
} SideOfTurn;

/* The sides of the assertion in all turns, also those that have no home. */
static SideOfTurn *find_sides(const Assertion *a, uint32_t pc)
{
  const MFunc *mf = a->mf;
  SideOfTurn *list = NULL;
  for (uint32_t i = 0, h = 0; i < mf->ir->n_locals; i++) {
    const IrLocal *local = &mf->ir->locals[i];
    while (h < arrlenu(mf->homes) && mf->homes[h].local < i)
      h++;
    if (!local->is_asserted || !ir_loc_eq(local->loc, mf->code[a->at].loc))
      continue;
    SideOfTurn c = {.turn = local->turn, .side = {.pc = (uint16_t)pc, .text = local->name,
                                                  .type = local->type, .reg = ASSERTED_NO_BASE}};
    if (h < arrlenu(mf->homes) && mf->homes[h].local == i) {
      c.is_constant = mf->homes[h].kind == HOME_CONSTANT;
      c.compared_as = c.is_constant ? 0 : compared_as(a, &mf->homes[h]);
      c.is_placed = place_home(a, h, &c.side);
    }
    arrput(list, c);
  }
  return list;
}

static bool has_turns(const SideOfTurn *list)
{
  for (size_t i = 1; i < arrlenu(list); i++)
    if (list[i].turn != list[0].turn)
      return true;
  return false;
}

/* May the assertion be that of the turn?  Then the sides are what it compares, each in another
 * operand. */
static bool is_turn(const SideOfTurn *list, uint32_t turn)
{
  unsigned n = 0, as[2] = {0};
  for (size_t i = 0; i < arrlenu(list); i++) {
    if (list[i].turn != turn || list[i].is_constant)
      continue;
    if (!list[i].is_placed || n == ARRAY_COUNT(as))
      return false;
    as[n++] = list[i].compared_as;
  }
  return n < ARRAY_COUNT(as) || ((as[0] | as[1]) == 3 && (as[0] != as[1] || as[0] == 3));
}

/* Where no loop was unrolled, a side may be missing. */
static void find_turns(SideOfTurn *list)
{
  bool all = !has_turns(list);
  for (size_t i = 0; i < arrlenu(list); i++)
    list[i].may_be_turn = all || is_turn(list, list[i].turn);
}

static bool is_same_side(const ImageAsserted *x, const ImageAsserted *y)
{
  return x->place == y->place && x->reg == y->reg && x->value == y->value;
}

/* Whichever turn the assertion is of, the side stands there.  A constant stands in no operand, so
 * it must be the same in all turns. */
static bool is_certain(const SideOfTurn *list, const SideOfTurn *c)
{
  for (size_t i = 0; i < arrlenu(list); i++) {
    const SideOfTurn *other = &list[i];
    if (strcmp(other->side.text, c->side.text) != 0)
      continue;
    if (other->is_constant != c->is_constant)
      return false;
    if ((c->is_constant || other->may_be_turn) && !is_same_side(&other->side, &c->side))
      return false;
  }
  return true;
}

static bool has_side(const ImageAsserted *list, size_t first, const char *text)
{
  for (size_t i = first; i < arrlenu(list); i++)
    if (strcmp(list[i].text, text) == 0)
      return true;
  return false;
}

static void add_sides(Assertion *a, uint32_t pc, ImageAsserted **list)
{
  if (!find_compare(a))
    return;
  SideOfTurn *all = find_sides(a, pc);
  find_turns(all);
  size_t first = arrlenu(*list);
  for (size_t i = 0; i < arrlenu(all); i++)
    if (all[i].is_placed && all[i].may_be_turn && is_certain(all, &all[i]) &&
        !has_side(*list, first, all[i].side.text))
      arrput(*list, all[i].side);
  arrfree(all);
}

void asserted_emit(const Cg *cg, ImageClass *image)
{
  ImageAsserted *list = NULL;
  for (size_t i = 0; i < arrlenu(cg->funcs); i++) {
    const MFunc *mf = cg->funcs[i];
    uint32_t pc = mf->address;
    for (size_t at = 0; at < arrlenu(mf->code); at++) {
      if (mf->code[at].op == OP_assert && !ir_loc_is_none(mf->code[at].loc))
        add_sides(&(Assertion){cg, mf, at, 0}, pc, &list);
      if (mf->code[at].op != MI_LABEL)
        pc += 2 * insn_words((Opcode)mf->code[at].op);
    }
  }
  image->numbers.n_asserted = (uint32_t)arrlenu(list);
  image->numbers.asserted = arena_many(cg->kept, ImageAsserted, arrlenu(list));
  if (list)
    memcpy((ImageAsserted *)image->numbers.asserted, list, sizeof *list * arrlenu(list));
  arrfree(list);
}
