/* Register allocation: graph colouring with optimistic spilling.
 *
 * Words take one of r0..r15 without the stack pointer, pairs one of the even pairs. Physical
 * registers are not nodes of the graph: every virtual register has a mask of those that it must
 * avoid. Each round finds live ranges, joins copies whose two sides do not meet, and colours; a
 * register without a colour goes to a stack slot (or is computed again, if it is a constant), and
 * the next round starts over.  At -O2 a first round joins all that it can; if not everything finds
 * a colour then, it counts for nothing, and the others are cautious. */
#include "ir/codegen/codegen.h"

#include <string.h>

#include <stb_ds.h>

static uint16_t regs_callee_saved(const Machine *machine)
{
  uint16_t mask = reg_mask(SAVED_REGISTER);
  for (unsigned r = FIRST_SAVED_REGISTER; r < machine->gpr_count; r++)
    mask |= reg_mask(r);
  return mask;
}

uint16_t regs_caller_saved(const Machine *machine)
{
  return (uint16_t)~regs_callee_saved(machine) & (uint16_t)~reg_mask(machine->sp_register);
}

typedef struct {
  uint32_t *neighbours;    /* stb_ds */
  uint32_t *friends;       /* stb_ds: other sides of copies, registers too */
  uint32_t *apart;         /* stb_ds: registers from which it should differ if that costs nothing */
  uint32_t n_joined;       /* neighbours that were joined to others since the list was cleaned */
  uint16_t avoid;          /* physical registers */
  uint32_t alias;          /* what it was joined to; itself if it stands alone */
  uint32_t degree;         /* registers that neighbours still in the graph may take from it */
  double weight;           /* accesses, by loop depth */
  uint32_t n_defs;
  uint32_t maker;          /* its only definition is the constant at this instruction, + 1 */
  int8_t color;            /* register, or even one of a pair; -1 none */
  bool removed, spilled;
} RegNode;

typedef struct {
  Cg *cg;
  MFunc *mf;
  Arena *arena;            /* of the round */
  Flow flow;
  uint32_t n;
  RegNode *nodes;
  uint16_t allocatable;
  bool joins_all;          /* copies; a cautious round joins only what surely finds a colour */
} Alloc;

/* ---- interference --------------------------------------------------------------------------- */

/* One of the two has a short list nearly always, for most registers live for a few instructions: a
 * bit for each two of them would take more room than the code from 10,000 registers on. */
static bool is_edge(const Alloc *a, uint32_t x, uint32_t y)
{
  if (arrlenu(a->nodes[y].neighbours) < arrlenu(a->nodes[x].neighbours)) {
    uint32_t other = x;
    x = y;
    y = other;
  }
  const uint32_t *list = a->nodes[x].neighbours;
  for (size_t i = 0, n = arrlenu(list); i < n; i++)
    if (list[i] == y)
      return true;
  return false;
}

static void add_edge(Alloc *a, uint32_t x, uint32_t y)
{
  if (x == y || is_edge(a, x, y))
    return;
  arrput(a->nodes[x].neighbours, y);
  arrput(a->nodes[y].neighbours, x);
}

typedef struct {
  uint64_t *live;          /* virtual registers */
  uint16_t physical;
} LiveNow;

/* A definition meets all that lives across it.  The source of a copy may share its register. */
static void add_definition(Alloc *a, const LiveNow *now, Reg r, Reg copied)
{
  for (uint32_t w = 0; w < a->flow.n_words; w++)
    for (uint64_t bits = now->live[w]; bits; bits &= bits - 1) {
      uint32_t other = w * 64 + (uint32_t)__builtin_ctzll(bits);
      if (reg_is_virtual(copied) && other == reg_id(copied) - FIRST_VREG)
        continue;
      if (reg_is_virtual(r))
        add_edge(a, reg_id(r) - FIRST_VREG, other);
      else
        a->nodes[other].avoid |= reg_mask(r);
    }
  if (!reg_is_virtual(r))
    return;
  uint16_t avoid = now->physical;
  if (copied != REG_NONE && !reg_is_virtual(copied))
    avoid &= (uint16_t)~reg_mask(copied);
  a->nodes[reg_id(r) - FIRST_VREG].avoid |= avoid;
}

static void avoid_clobbers(Alloc *a, const LiveNow *now, uint16_t clobbers)
{
  for (uint32_t w = 0; w < a->flow.n_words; w++)
    for (uint64_t bits = now->live[w]; bits; bits &= bits - 1)
      a->nodes[w * 64 + (uint32_t)__builtin_ctzll(bits)].avoid |= clobbers;
}

static void note_access(Alloc *a, uint32_t i, const MOperand *op, double weight)
{
  Reg r = a->mf->code[i].r[op->slot];
  if (!reg_is_virtual(r))
    return;
  RegNode *node = &a->nodes[reg_id(r) - FIRST_VREG];
  node->weight += weight;
  if (op->def) {
    node->n_defs++;
    node->maker = i + 1;
  }
}

static void scan_insn(Alloc *a, LiveNow *now, uint32_t i, double weight)
{
  const MInsn *mi = &a->mf->code[i];
  MOperand ops[MOST_OPERANDS];
  unsigned n = mi_operands(mi, ops);
  Reg copied = mi_is_copy(mi) ? mi->r[1] : REG_NONE;
  if (mi->clobbers)
    avoid_clobbers(a, now, mi->clobbers);
  for (unsigned k = 0; k < n; k++) {
    note_access(a, i, &ops[k], weight);
    if (ops[k].def)
      add_definition(a, now, mi->r[ops[k].slot], copied);
  }
  now->physical &= (uint16_t)~mi->clobbers;
  for (unsigned k = 0; k < n; k++) {
    Reg r = mi->r[ops[k].slot];
    if (!ops[k].def)
      continue;
    if (reg_is_virtual(r))
      bit_clear(now->live, reg_id(r) - FIRST_VREG);
    else
      now->physical &= (uint16_t)~reg_mask(r);
  }
  now->physical |= mi->uses;
  for (unsigned k = 0; k < n; k++) {
    Reg r = mi->r[ops[k].slot];
    if (!ops[k].use)
      continue;
    if (reg_is_virtual(r))
      bit_set(now->live, reg_id(r) - FIRST_VREG);
    else
      now->physical |= reg_mask(r);
  }
}

static void add_friend(Alloc *a, Reg x, Reg y)
{
  if (reg_is_virtual(x))
    arrput(a->nodes[reg_id(x) - FIRST_VREG].friends, y);
}

/* What an assertion compares should outlive the result, for the report of one that fails. */
static void keep_asserted(Alloc *a, uint32_t assertion)
{
  const MInsn *compare = &a->mf->code[assertion - 1];
  Reg result = a->mf->code[assertion].r[0];
  if (compare->op == MI_LABEL || compare->r[0] != result || !reg_is_virtual(result))
    return;
  for (unsigned k = 1; k < 3; k++)
    if (reg_is_virtual(compare->r[k]) && reg_id(compare->r[k]) != reg_id(result)) {
      arrput(a->nodes[reg_id(result) - FIRST_VREG].apart, reg_id(compare->r[k]) - FIRST_VREG);
      arrput(a->nodes[reg_id(compare->r[k]) - FIRST_VREG].apart, reg_id(result) - FIRST_VREG);
    }
}

static void scan_code(Alloc *a)
{
  LiveNow now = {.live = arena_many(a->arena, uint64_t, a->flow.n_words + 1)};
  for (uint32_t b = 0; b < a->flow.n_blocks; b++) {
    const FlowBlock *block = &a->flow.blocks[b];
    double weight = flow_weight(block);
    flow_live_out(&a->flow, block, now.live);
    now.physical = 0;
    for (uint32_t i = block->end; i-- > block->first;)
      scan_insn(a, &now, i, weight);
  }
  for (uint32_t i = 0; i < arrlenu(a->mf->code); i++) {
    const MInsn *mi = &a->mf->code[i];
    if (mi->op == OP_assert && i)
      keep_asserted(a, i);
    if (mi->op != OP_mov && mi->op != OP_mov32)
      continue;
    add_friend(a, mi->r[0], mi->r[1]);
    if (!(mi->r[1] & (REG_LO | REG_HI)))
      add_friend(a, mi->r[1], mi->r[0]);
  }
}

/* ---- joining copies ------------------------------------------------------------------------- */

static uint32_t find_alias(const Alloc *a, uint32_t v)
{
  while (a->nodes[v].alias != v)
    v = a->nodes[v].alias;
  return v;
}

static RegClass class_of(const Alloc *a, uint32_t v) { return a->mf->vregs[v].cls; }

static unsigned count_bits(unsigned bits) { return (unsigned)__builtin_popcount(bits); }

/* Even registers of the pairs that lie wholly in a mask. */
static uint16_t pairs_in(uint16_t mask)
{
  return mask & (uint16_t)(mask >> 1) & 0x5555;
}

static unsigned count_choices(const Alloc *a, RegClass cls, uint16_t avoid)
{
  uint16_t mask = a->allocatable & (uint16_t)~avoid;
  return count_bits(cls == CLASS_WORD ? mask : pairs_in(mask));
}

/* How many choices of a node of class `cls` one neighbour takes away. */
static unsigned count_taken(const Alloc *a, RegClass cls, uint32_t neighbour)
{
  return cls == CLASS_WORD && class_of(a, neighbour) == CLASS_PAIR ? 2 : 1;
}

/* May its neighbours take all its colours?  Of many neighbours the first ones answer that. */
static bool is_hard(const Alloc *a, uint32_t v)
{
  uint32_t sum = 0;
  RegClass cls = class_of(a, v);
  unsigned choices = count_choices(a, cls, a->nodes[v].avoid);
  const uint32_t *list = a->nodes[v].neighbours;
  for (size_t i = 0; i < arrlenu(list) && sum < choices; i++)
    if (a->nodes[list[i]].alias == list[i])
      sum += count_taken(a, cls, list[i]);
  return sum >= choices;
}

/* Joined, would it surely still find a colour?  (Briggs: few neighbours that are hard.) */
static bool stays_colorable(const Alloc *a, uint32_t x, uint32_t y)
{
  RegClass cls = class_of(a, x);
  unsigned left = count_choices(a, cls, a->nodes[x].avoid | a->nodes[y].avoid), hard = 0;
  for (unsigned side = 0; side < 2; side++) {
    const RegNode *node = &a->nodes[side ? y : x];
    for (size_t i = 0; i < arrlenu(node->neighbours) && hard < left; i++) {
      uint32_t other = node->neighbours[i];
      if (a->nodes[other].alias != other || (side && is_edge(a, x, other)))
        continue;
      if (is_hard(a, other))
        hard += count_taken(a, cls, other);
    }
  }
  return hard < left;
}

static bool may_join(const Alloc *a, uint32_t x, uint32_t y)
{
  if (x == y || class_of(a, x) != class_of(a, y) || is_edge(a, x, y) ||
      a->mf->vregs[x].tiny || a->mf->vregs[y].tiny)
    return false;
  return a->joins_all || stays_colorable(a, x, y);
}

static void drop_joined_neighbours(Alloc *a, uint32_t v)
{
  uint32_t *list = a->nodes[v].neighbours;
  size_t kept = 0;
  for (size_t i = 0; i < arrlenu(list); i++)
    if (a->nodes[list[i]].alias == list[i])
      list[kept++] = list[i];
  if (list)
    arrsetlen(a->nodes[v].neighbours, kept);
  a->nodes[v].n_joined = 0;
}

static void join_nodes(Alloc *a, uint32_t x, uint32_t y)
{
  RegNode *into = &a->nodes[x], *from = &a->nodes[y];
  from->alias = x;
  into->avoid |= from->avoid;
  into->weight += from->weight;
  for (size_t i = 0; i < arrlenu(from->neighbours); i++) {
    uint32_t other = from->neighbours[i];
    if (a->nodes[other].alias != other)
      continue;
    add_edge(a, x, other);
    if (2 * ++a->nodes[other].n_joined > arrlenu(a->nodes[other].neighbours))
      drop_joined_neighbours(a, other);
  }
  for (size_t i = 0; i < arrlenu(from->friends); i++)
    arrput(a->nodes[x].friends, from->friends[i]);
}

static Reg joined_reg(void *context, Reg reg)
{
  return find_alias(context, reg_id(reg) - FIRST_VREG) + FIRST_VREG;
}

/* Joined registers get one name; a copy between them is gone. */
static void rename_operands(Alloc *a, uint32_t i)
{
  MInsn *mi = &a->mf->code[i];
  for (unsigned k = 0; k < MOST_OPERANDS; k++)
    if (reg_is_virtual(mi->r[k]))
      mi->r[k] = (find_alias(a, reg_id(mi->r[k]) - FIRST_VREG) + FIRST_VREG) |
                 (mi->r[k] & (REG_LO | REG_HI));
  mi->dead = mi_is_copy(mi) && mi->r[0] == mi->r[1];
  if (mi->dead)
    return;
  MOperand ops[MOST_OPERANDS];
  unsigned n = mi_operands(mi, ops);
  for (unsigned k = 0; k < n; k++)
    if (ops[k].def)
      note_access(a, i, &ops[k], 0);
}

/* A copy between virtual registers, and how often the code copies between these two. */
typedef struct { uint32_t insn; double weight; } WeighedCopy;

static bool is_virtual_copy(const MInsn *mi)
{
  return mi_is_copy(mi) && reg_is_virtual(mi->r[0]) && reg_is_virtual(mi->r[1]);
}

static uint64_t pair_of_copy(const MInsn *mi)
{
  uint64_t x = reg_id(mi->r[0]), y = reg_id(mi->r[1]);
  return x < y ? x << 32 | y : y << 32 | x;
}

static int compare_copies(const void *x, const void *y)
{
  const WeighedCopy *a = x, *b = y;
  if (a->weight != b->weight)
    return a->weight > b->weight ? -1 : 1;
  return a->insn < b->insn ? -1 : a->insn > b->insn;
}

/* Those that cost most come first: of two copies that exclude each other, the first is joined. */
static WeighedCopy *list_copies(const Alloc *a)
{
  struct { uint64_t key; double value; } *weights = NULL;
  WeighedCopy *list = NULL;
  for (uint32_t b = 0; b < a->flow.n_blocks; b++)
    for (uint32_t i = a->flow.blocks[b].first; i < a->flow.blocks[b].end; i++) {
      if (!is_virtual_copy(&a->mf->code[i]))
        continue;
      uint64_t pair = pair_of_copy(&a->mf->code[i]);
      double weight = hmget(weights, pair) + flow_weight(&a->flow.blocks[b]);
      hmput(weights, pair, weight);
      arrput(list, ((WeighedCopy){.insn = i}));
    }
  for (size_t i = 0; i < arrlenu(list); i++)
    list[i].weight = hmget(weights, pair_of_copy(&a->mf->code[list[i].insn]));
  hmfree(weights);
  if (list)
    qsort(list, arrlenu(list), sizeof *list, compare_copies);
  return list;
}

/* Joins the sides of copies, then rewrites the code to the names that are left. */
static void join_copies(Alloc *a)
{
  WeighedCopy *list = list_copies(a);
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < arrlenu(list); i++) {
      const MInsn *mi = &a->mf->code[list[i].insn];
      uint32_t x = find_alias(a, reg_id(mi->r[0]) - FIRST_VREG);
      uint32_t y = find_alias(a, reg_id(mi->r[1]) - FIRST_VREG);
      if (!may_join(a, x, y))
        continue;
      join_nodes(a, x, y);
      again = true;
    }
  }
  arrfree(list);
  for (uint32_t v = 0; v < a->n; v++) {
    drop_joined_neighbours(a, v);
    a->nodes[v].n_defs = 0;
  }
  for (uint32_t i = 0; i < arrlenu(a->mf->code); i++)
    rename_operands(a, i);
  variables_rename(a->mf, joined_reg, a);
}

/* ---- colouring ------------------------------------------------------------------------------ */

static bool is_easy(const Alloc *a, uint32_t v)
{
  return a->nodes[v].degree < count_choices(a, class_of(a, v), a->nodes[v].avoid);
}

static double spill_cost(const Alloc *a, uint32_t v)
{
  const RegNode *node = &a->nodes[v];
  bool is_constant = node->n_defs == 1 && spill_remakes(a->cg, &a->mf->code[node->maker - 1]);
  return spill_price(node->weight, is_constant) / (node->degree + 1);
}

static void remove_node(Alloc *a, uint32_t v, uint32_t **easy)
{
  RegNode *node = &a->nodes[v];
  node->removed = true;
  for (size_t i = 0; i < arrlenu(node->neighbours); i++) {
    uint32_t other = node->neighbours[i];
    RegNode *o = &a->nodes[other];
    if (o->removed)
      continue;
    bool was_easy = is_easy(a, other);
    o->degree -= count_taken(a, class_of(a, other), v);
    if (!was_easy && is_easy(a, other))
      arrput(*easy, other);
  }
}

static uint32_t cheapest_to_spill(const Alloc *a)
{
  uint32_t best = IR_NO_ID;
  for (uint32_t v = 0; v < a->n; v++) {
    if (a->nodes[v].removed || (best != IR_NO_ID && a->mf->vregs[v].tiny))
      continue;
    if (best == IR_NO_ID || a->mf->vregs[best].tiny || spill_cost(a, v) < spill_cost(a, best))
      best = v;
  }
  return best;
}

/* The order in which nodes leave the graph; they are coloured in the opposite one. */
static uint32_t *order_nodes(Alloc *a)
{
  uint32_t *order = NULL, *easy = NULL;
  size_t left = 0;
  for (uint32_t v = 0; v < a->n; v++) {
    RegNode *node = &a->nodes[v];
    node->removed = node->alias != v || node->n_defs == 0;
    if (!node->removed)
      left++;
  }
  for (uint32_t v = 0; v < a->n; v++) {
    if (a->nodes[v].removed)
      continue;
    for (size_t i = 0; i < arrlenu(a->nodes[v].neighbours); i++)
      if (!a->nodes[a->nodes[v].neighbours[i]].removed)
        a->nodes[v].degree += count_taken(a, class_of(a, v), a->nodes[v].neighbours[i]);
    if (is_easy(a, v))
      arrput(easy, v);
  }
  while (left) {
    uint32_t v = arrlenu(easy) ? arrpop(easy) : cheapest_to_spill(a);
    if (a->nodes[v].removed)
      continue;
    remove_node(a, v, &easy);
    arrput(order, v);
    left--;
  }
  arrfree(easy);
  return order;
}

static uint16_t color_mask(RegClass cls, int color)
{
  return reg_mask(cls == CLASS_WORD ? (Reg)color : reg_pair((unsigned)color));
}

static uint16_t taken_around(const Alloc *a, uint32_t v)
{
  uint16_t taken = a->nodes[v].avoid;
  for (size_t i = 0; i < arrlenu(a->nodes[v].neighbours); i++) {
    uint32_t other = a->nodes[v].neighbours[i];
    if (a->nodes[other].color >= 0)
      taken |= color_mask(class_of(a, other), a->nodes[other].color);
  }
  return taken;
}

/* The colour of the other side of a copy, or -1. */
static int friend_color(const Alloc *a, RegClass cls, Reg f)
{
  int color;
  if (reg_is_virtual(f)) {
    color = a->nodes[find_alias(a, reg_id(f) - FIRST_VREG)].color;
    if (color >= 0 && (f & REG_HI))
      color++;
  } else {
    color = (int)(f < PAIR_BASE ? f : f - PAIR_BASE);
  }
  return cls == CLASS_PAIR && color % 2 ? -1 : color;
}

/* The registers that are the other side of a copy for a node without a color. */
static uint16_t wanted_by(const RegNode *node)
{
  uint16_t wanted = 0;
  for (size_t i = 0; node->color < 0 && i < arrlenu(node->friends); i++)
    if (!reg_is_virtual(node->friends[i]))
      wanted |= reg_mask(node->friends[i]);
  return wanted;
}

static uint16_t wanted_around(const Alloc *a, uint32_t v)
{
  uint16_t wanted = 0;
  for (size_t i = 0; i < arrlenu(a->nodes[v].neighbours); i++)
    wanted |= wanted_by(&a->nodes[a->nodes[v].neighbours[i]]);
  return wanted;
}

static uint16_t apart_from(const Alloc *a, uint32_t v)
{
  uint16_t mask = 0;
  for (size_t i = 0; i < arrlenu(a->nodes[v].apart); i++) {
    uint32_t other = find_alias(a, a->nodes[v].apart[i]);
    if (a->nodes[other].color >= 0)
      mask |= color_mask(class_of(a, other), a->nodes[other].color);
    mask |= wanted_by(&a->nodes[other]);
  }
  return mask;
}

/* Prefers the other side of a copy, then registers without a cost of saving, then those outside the
 * wishes of neighbours, then half-taken pairs, then what reports of assertions do not need. */
static int choose_color(const Alloc *a, uint32_t v, uint16_t used)
{
  RegClass cls = class_of(a, v);
  uint16_t allowed = a->allocatable & (uint16_t)~taken_around(a, v);
  if (cls == CLASS_PAIR)
    allowed = pairs_in(allowed);
  for (size_t i = 0; i < arrlenu(a->nodes[v].friends); i++) {
    int color = friend_color(a, cls, a->nodes[v].friends[i]);
    if (color >= 0 && (allowed >> color & 1))
      return color;
  }
  uint16_t saved = a->mf->ir->is_task ? 0 : regs_callee_saved(a->cg->machine);
  uint16_t wanted = wanted_around(a, v), apart = apart_from(a, v);
  int best = -1, best_cost = 0;
  for (int r = 0; r < (int)GPR_COUNT; r++) {
    if (!(allowed >> r & 1))
      continue;
    uint16_t mask = color_mask(cls, r);
    int cost = (int)count_bits(mask & saved & (uint16_t)~used) * 8 + (mask & wanted ? 4 : 0);
    if (cls == CLASS_WORD && (a->allocatable & ~used & color_mask(CLASS_WORD, r ^ 1)))
      cost += 2;   /* would open a free pair */
    cost += mask & apart ? 1 : 0;
    if (best < 0 || cost < best_cost) {
      best = r;
      best_cost = cost;
    }
  }
  return best;
}

/* A register made by spilling must have one: what stands around it makes room. */
static void spill_around(Alloc *a, uint32_t v)
{
  uint32_t best = IR_NO_ID;
  for (size_t i = 0; i < arrlenu(a->nodes[v].neighbours); i++) {
    uint32_t other = a->nodes[v].neighbours[i];
    if (a->mf->vregs[other].tiny || a->nodes[other].spilled || a->nodes[other].color < 0)
      continue;
    if (best == IR_NO_ID || a->nodes[other].weight < a->nodes[best].weight)
      best = other;
  }
  if (best == IR_NO_ID)
    ICE("%s: no register for a spilled value", a->mf->name);
  a->nodes[best].spilled = true;
  a->nodes[best].color = -1;
}

/* Returns whether every node got a colour. */
static bool color_all(Alloc *a)
{
  uint32_t *order = order_nodes(a);
  bool complete = true;
  uint16_t used = 0;
  for (size_t i = arrlenu(order); i-- > 0;) {
    uint32_t v = order[i];
    int color = choose_color(a, v, used);
    while (color < 0 && a->mf->vregs[v].tiny) {
      spill_around(a, v);
      complete = false;
      color = choose_color(a, v, used);
    }
    a->nodes[v].color = (int8_t)color;
    if (color < 0) {
      a->nodes[v].spilled = true;
      complete = false;
    } else {
      used |= color_mask(class_of(a, v), color);
    }
  }
  arrfree(order);
  return complete;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void spill_all(Alloc *a)
{
  bool *spilled = arena_many(a->arena, bool, a->n + 1);
  for (uint32_t v = 0; v < a->n; v++)
    spilled[v] = a->nodes[v].spilled;
  spill_registers(a->cg, a->mf, spilled, a->arena);
}

static Reg physical_reg(const Alloc *a, Reg r)
{
  if (!reg_is_virtual(r))
    return r;
  const RegNode *node = &a->nodes[reg_id(r) - FIRST_VREG];
  if (node->color < 0)
    ICE("%s: v%u has no register", a->mf->name, reg_id(r) - FIRST_VREG);
  Reg color = (Reg)node->color + (r & REG_HI ? 1 : 0);
  bool pair = class_of(a, reg_id(r) - FIRST_VREG) == CLASS_PAIR && !(r & (REG_LO | REG_HI));
  return pair ? reg_pair(color) : color;
}

static Reg colored_reg(void *context, Reg reg)
{
  const Alloc *a = context;
  uint32_t v = reg_id(reg) - FIRST_VREG;
  return a->nodes[v].color < 0 ? REG_NONE : physical_reg(a, reg);
}

static void assign_registers(Alloc *a)
{
  uint16_t written = 0;
  for (size_t i = 0; i < arrlenu(a->mf->code); i++) {
    MInsn *mi = &a->mf->code[i];
    if (mi->dead)
      continue;
    MOperand ops[MOST_OPERANDS];
    unsigned n = mi_operands(mi, ops);
    for (unsigned k = 0; k < MOST_OPERANDS; k++)
      mi->r[k] = physical_reg(a, mi->r[k]);
    for (unsigned k = 0; k < n; k++)
      if (ops[k].def)
        written |= reg_mask(mi->r[ops[k].slot]);
    if ((mi->op == OP_mov || mi->op == OP_mov32) && mi->r[0] == mi->r[1])
      mi->dead = true;
  }
  variables_rename(a->mf, colored_reg, a);
  if (!a->mf->ir->is_task)
    a->mf->saved = written & regs_callee_saved(a->cg->machine);
}

static void start_round(Alloc *a, Cg *cg, MFunc *mf)
{
  *a = (Alloc){.cg = cg, .mf = mf, .arena = arena_create("register allocation")};
  a->n = (uint32_t)arrlenu(mf->vregs);
  a->allocatable = (uint16_t)~reg_mask(cg->machine->sp_register);
  flow_build(&a->flow, mf, a->arena);
  a->nodes = arena_many(a->arena, RegNode, a->n + 1);
  for (uint32_t v = 0; v < a->n; v++) {
    a->nodes[v].alias = v;
    a->nodes[v].color = -1;
  }
  scan_code(a);
}

static void end_round(Alloc *a)
{
  for (uint32_t v = 0; v < a->n; v++) {
    arrfree(a->nodes[v].neighbours);
    arrfree(a->nodes[v].friends);
    arrfree(a->nodes[v].apart);
  }
  arena_destroy(a->arena);
}

/* One round; false if something was spilled, or, in a round that joins all, if something would be:
 * the code is then as before. */
static bool run_round(Cg *cg, MFunc *mf, bool joins_all)
{
  Alloc a;
  start_round(&a, cg, mf);
  a.joins_all = joins_all;
  size_t n_code = arrlenu(mf->code), n_homes = arrlenu(mf->homes);
  MInsn *code = arena_many(a.arena, MInsn, joins_all ? n_code : 0);
  VariableHome *homes = arena_many(a.arena, VariableHome, joins_all ? n_homes : 0);
  if (joins_all && n_code)
    memcpy(code, mf->code, sizeof *code * n_code);
  if (joins_all && n_homes)
    memcpy(homes, mf->homes, sizeof *homes * n_homes);
  join_copies(&a);
  bool done = color_all(&a);
  if (done) {
    assign_registers(&a);
  } else if (!joins_all) {
    spill_all(&a);
  } else {
    memcpy(mf->code, code, sizeof *code * n_code);
    if (n_homes)
      memcpy(mf->homes, homes, sizeof *homes * n_homes);
  }
  end_round(&a);
  return done;
}

/* Below -O2 all rounds are cautious: the published counts of the sparse products in compressed rows
 * and columns have room for the copy that is then left in each of their turns. */
void regalloc_func(Cg *cg, MFunc *mf)
{
  spill_crowd(cg, mf);
  bool done = cg->options->level >= 2 && run_round(cg, mf, true);
  while (!done)
    done = run_round(cg, mf, false);
}
