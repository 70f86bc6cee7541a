/* Descriptors as values, and the vector operations that use them.
 *
 * A descriptor is never in a register.  A value of type dsd is described by a View: a place in
 * memory that does not change while the value is used (the constant pool, a variable without a
 * store in the meantime, a frame slot, a pointer argument) and a list of fields that are replaced
 * on top. Each use of a view carries it out: as a DSR load and field updates, as stores, as a copy.
 * Values whose place may change before their last use are copied to a slot where they are made
 * ("anchored"). */
#include "ir/codegen/codegen.h"

#include <string.h>

#include <stb_ds.h>

enum { MOST_SETS = 6 };   /* a longer chain is anchored */

typedef struct {
  DsrField field;
  IrValue value;           /* raw 0: imm + symbol */
  int32_t imm;
  SymKind sym;
  uint32_t sym_index;
} DsrChange;

typedef struct {
  IrType type;
  bool is_const;           /* root: `desc`, else the memory at `at` */
  PoolDesc desc;
  Addr at;
  bool is_mutable;         /* stores may change the root */
  unsigned n_sets;
  DsrChange sets[MOST_SETS + 1];
} View;

/* Word of a descriptor that a field lives in. */
static unsigned field_word(DsrField field)
{
  static const uint8_t words[DSRF_COUNT] = {
    [DSRF_BASE] = 1, [DSRF_BASE_ADD] = 1, [DSRF_LENGTH] = DESC_W_LENGTH, [DSRF_STRIDE] = 3,
    [DSRF_LENGTH0] = 2, [DSRF_STRIDE0] = 3, [DSRF_LENGTH1] = 4, [DSRF_STRIDE1] = 5,
    [DSRF_LENGTH2] = 6, [DSRF_STRIDE2] = 7, [DSRF_LENGTH3] = 8, [DSRF_STRIDE3] = 9,
    [DSRF_DONE] = DESC_W_DONE, [DSRF_CONTROL] = DESC_W_ON_CONTROL, [DSRF_FLAGS] = 0,
  };
  if ((unsigned)field >= DSRF_REMAINING)
    ICE("field %d is not part of a descriptor in memory", (int)field);
  return words[field];
}

/* ---- views ---------------------------------------------------------------------------------- */

static uint32_t slot_of(Sel *s, IrValue v)
{
  if (s->frame_slot[v.raw] == 0)
    s->frame_slot[v.raw] = sel_new_slot(s, ir_type_bytes(sel_type(s, v))) + 1;
  return s->frame_slot[v.raw] - 1;
}

static Addr slot_address(uint32_t slot)
{
  return (Addr){.on_stack = true, .sym = SYM_FRAME, .sym_index = slot};
}

Reg dsd_param_reg(Sel *s, IrValue v)
{
  if (s->vreg[v.raw] == 0)
    s->vreg[v.raw] = sel_new_reg(s, CLASS_WORD);
  return s->vreg[v.raw];
}

static PoolDesc pool_desc(const IrDesc *d)
{
  PoolDesc p = {.global = d->global.raw};
  p.n_words = descriptor_encode(&d->desc, p.words);
  return p;
}

static DsrChange make_set(const Sel *s, const IrInsn *insn)
{
  DsrChange set = {.field = (DsrField)insn->field, .value = insn->args[1]};
  uint64_t bits;
  const IrInsn *d = sel_def(s, insn->args[1]);
  while (d->op == IR_bitcast)
    d = sel_def(s, d->args[0]);
  if (sel_is_const(s, insn->args[1], &bits)) {
    set.value = IR_NO_VALUE;
    set.imm = (int32_t)bits;
  } else if (d->op == IR_global_addr) {
    set.value = IR_NO_VALUE;
    set.imm = (int32_t)d->imm;
    set.sym = SYM_GLOBAL;
    set.sym_index = d->u.global.raw;
  }
  return set;
}

static bool same_word(DsrField a, DsrField b) { return field_word(a) == field_word(b); }
static bool is_added(DsrField field) { return field == DSRF_BASE_ADD || field == DSRF_FLAGS; }

/* Replaces a field of a constant descriptor; false if that needs run-time code. */
static bool fold_set(View *v, const DsrChange *set)
{
  if (!v->is_const || set->value.raw || (set->sym != SYM_NONE && set->field != DSRF_BASE))
    return false;
  for (unsigned i = 0; i < v->n_sets; i++)
    if (same_word(v->sets[i].field, set->field))
      return false;
  uint16_t *word = &v->desc.words[field_word(set->field)];
  if (set->field == DSRF_FLAGS) {
    *word |= (uint16_t)(set->imm & ~DESC_KIND_BITS);
  } else if (set->field == DSRF_BASE_ADD) {
    *word = (uint16_t)(*word + set->imm);
  } else {
    *word = (uint16_t)set->imm;
    if (set->field == DSRF_BASE)
      v->desc.global = set->sym == SYM_GLOBAL ? set->sym_index : IR_NO_ID;
  }
  return true;
}

static void add_set(View *v, DsrChange set)
{
  if (fold_set(v, &set))
    return;
  unsigned kept = 0;
  for (unsigned i = 0; i < v->n_sets; i++) {
    DsrChange *old = &v->sets[i];
    bool replaced = !is_added(set.field) && same_word(old->field, set.field);
    if (old->field == DSRF_BASE_ADD && set.field == DSRF_BASE_ADD && !old->value.raw &&
        !set.value.raw) {
      set.imm += old->imm;
      replaced = true;
    }
    if (!replaced)
      v->sets[kept++] = *old;
  }
  v->n_sets = kept;
  if (v->n_sets == ARRAY_COUNT(v->sets))
    ICE("a chain of dsd_set was not anchored");
  v->sets[v->n_sets++] = set;
}

static View view_of(Sel *s, IrValue v);

static View place_view(Sel *s, IrValue v, Addr at)
{
  return (View){.type = sel_type(s, v), .at = at};
}

static bool is_const_global(const Sel *s, const Addr *at)
{
  return at->sym == SYM_GLOBAL && s->m->globals[at->sym_index].is_const;
}

/* The view of what the instruction makes, anchored or not. */
static View view_of_insn(Sel *s, IrValue v)
{
  const IrInsn *d = sel_def(s, v);
  switch ((int)d->op) {
  case IR_dsd_const:
    return (View){.type = d->type, .is_const = true, .desc = pool_desc(d->u.desc)};
  case IR_load: {
    View view = place_view(s, v, sel_address(s, d->args[0]));
    view.is_mutable = !is_const_global(s, &view.at);
    return view;
  }
  case IR_dsd_set: {
    View view = view_of(s, d->args[0]);
    add_set(&view, make_set(s, d));
    return view;
  }
  case IR_PARAM:
    if (ir_block_is_entry(d->u.param.block)) {
      s->demanded[v.raw] = true;
      return place_view(s, v, (Addr){.reg = dsd_param_reg(s, v)});
    }
    return place_view(s, v, slot_address(slot_of(s, v)));
  case IR_select:
    s->demanded[v.raw] = true;
    return place_view(s, v, (Addr){.reg = dsd_param_reg(s, v)});
  case IR_call: case IR_call_ptr:
    s->demanded[v.raw] = true;
    return place_view(s, v, slot_address(slot_of(s, v)));
  default:
    ICE("%s makes no descriptor", ir_ops[d->op].name);
  }
}

static View view_of(Sel *s, IrValue v)
{
  if (!s->anchored[v.raw])
    return view_of_insn(s, v);
  s->demanded[v.raw] = true;
  return place_view(s, v, slot_address(slot_of(s, v)));
}

/* ---- what must be anchored ------------------------------------------------------------------ */

typedef struct { uint32_t user, next; } DsdUse;   /* next: index + 1 of a further use */
typedef struct {
  uint32_t *first;         /* by value: index + 1 into uses */
  DsdUse *uses;            /* stb_ds */
} DsdUses;

static void add_use(Sel *s, DsdUses *u, IrValue value, IrValue user)
{
  if (!ir_type_is_dsd(sel_type(s, value)))
    return;
  arrput(u->uses, ((DsdUse){user.raw, u->first[value.raw]}));
  u->first[value.raw] = (uint32_t)arrlenu(u->uses);
}

static void collect_uses(Sel *s, DsdUses *u, IrValue user)
{
  const IrInsn *insn = sel_def(s, user);
  for (uint32_t i = 0; i < insn->n_args; i++)
    add_use(s, u, insn->args[i], user);
  unsigned n = ir_target_count(insn);
  for (unsigned t = 0; t < n; t++)
    for (uint32_t i = 0; i < insn->u.targets[t].n_args; i++)
      add_use(s, u, insn->u.targets[t].args[i], user);
}

/* May the instruction change the descriptor at an address?  Stores of other types do not: a
 * variable that holds a descriptor holds nothing else. */
static bool may_change(const Sel *s, const IrInsn *insn, const Addr *at)
{
  if (insn->op == IR_store) {
    Addr to = sel_address(s, insn->args[0]);
    return ir_type_is_dsd(sel_type(s, insn->args[1])) && !addr_distinct(s, &to, at);
  }
  if (insn->op == IR_copy || insn->op == IR_zero) {
    Addr to = sel_address(s, insn->args[0]);
    return !addr_distinct(s, &to, at);
  }
  return insn->op == IR_call || insn->op == IR_call_ptr;
}

/* Place in the block of the last use of a value, through dsd_set and select; 0: somewhere else. */
static uint32_t last_use(const Sel *s, const DsdUses *u, uint32_t v, uint32_t block)
{
  uint32_t last = s->position[v];
  for (uint32_t i = u->first[v]; i; i = u->uses[i - 1].next) {
    uint32_t user = u->uses[i - 1].user, at = s->position[user];
    IrOp op = s->f->insns[user].op;
    if (s->block_of[user] != block)
      return 0;
    if (op == IR_dsd_set || op == IR_select)
      at = last_use(s, u, user, block);
    if (at == 0)
      return 0;
    last = at > last ? at : last;
  }
  return last;
}

static bool load_needs_anchor(const Sel *s, const DsdUses *u, IrValue v)
{
  Addr at = sel_address(s, sel_def(s, v)->args[0]);
  if (is_const_global(s, &at))
    return false;
  uint32_t block = s->block_of[v.raw], last = last_use(s, u, v.raw, block);
  if (last == 0)
    return true;
  for (uint32_t p = s->position[v.raw] + 1; p < last; p++)
    if (may_change(s, sel_def(s, s->f->blocks[block].insns[p - 1]), &at))
      return true;
  return false;
}

/* Does the instruction add a constant to a base that just had one added?  The two become one. */
static bool adds_on(const Sel *s, const IrInsn *d)
{
  const IrInsn *before = sel_def(s, d->args[0]);
  uint64_t bits;
  return d->field == DSRF_BASE_ADD && before->op == IR_dsd_set && before->field == DSRF_BASE_ADD &&
         !s->anchored[d->args[0].raw] && sel_is_const(s, d->args[1], &bits) &&
         sel_is_const(s, before->args[1], &bits);
}

void dsd_plan(Sel *s)
{
  uint32_t n = s->f->n_insns + 1;
  DsdUses u = {.first = arena_many(s->pass, uint32_t, n)};
  uint8_t *sets = arena_many(s->pass, uint8_t, n);
  for (uint32_t i = 0; i < s->n_order; i++) {
    const IrBlock *block = &s->f->blocks[s->order[i]];
    for (uint32_t k = 0; k < block->n_insns; k++)
      if (!sel_def(s, block->insns[k])->dead)
        collect_uses(s, &u, block->insns[k]);
  }
  for (uint32_t i = 0; i < s->n_order; i++) {
    const IrBlock *block = &s->f->blocks[s->order[i]];
    for (uint32_t k = 0; k < block->n_insns; k++) {
      IrValue v = block->insns[k];
      const IrInsn *d = sel_def(s, v);
      if (d->dead || !ir_type_is_dsd(d->type))
        continue;
      if (d->op == IR_load)
        s->anchored[v.raw] = load_needs_anchor(s, &u, v);
      if (d->op == IR_dsd_set)
        sets[v.raw] = (uint8_t)(sets[d->args[0].raw] + !adds_on(s, d));
      if (sets[v.raw] == MOST_SETS) {
        s->anchored[v.raw] = true;
        sets[v.raw] = 0;
      }
    }
  }
  arrfree(u.uses);
}

/* ---- views in memory ------------------------------------------------------------------------ */

/* A register with what a field is set to. */
static Reg set_value(Sel *s, const DsrChange *set)
{
  if (set->value.raw)
    return sel_use_word(s, set->value);
  Reg r = sel_new_reg(s, CLASS_WORD);
  MInsn *mi = sel_li(s, CLASS_WORD, r, (uint32_t)set->imm);
  mi->sym = (uint8_t)set->sym;
  mi->sym_index = set->sym_index;
  return r;
}

/* Field update in memory. */
static void store_field(Sel *s, const Addr *to, const DsrChange *set)
{
  int32_t offset = (int32_t)(2 * field_word(set->field));
  Reg value = REG_NONE;
  if (is_added(set->field)) {
    Reg old = sel_new_reg(s, CLASS_WORD);
    bool is_add = set->field == DSRF_BASE_ADD;
    value = sel_new_reg(s, CLASS_WORD);
    sel_load(s, OP_ld16, old, to, offset);
    if (set->value.raw)
      sel_rrr(s, is_add ? OP_add : OP_or, value, old, sel_use_word(s, set->value));
    else
      sel_rri(s, is_add ? OP_addi : OP_ori, value, old, set->imm);
  } else {
    value = set_value(s, set);
  }
  sel_store(s, OP_st16, value, to, offset)->writes_dsd = true;
}

static Addr root_address(Sel *s, const View *view)
{
  if (!view->is_const)
    return view->at;
  return (Addr){.sym = SYM_DESC, .sym_index = cg_pool_desc(s->cg, &view->desc)};
}

static void store_view(Sel *s, const Addr *to, const View *view)
{
  if (view->is_const || !addr_equal(to, &view->at)) {
    Addr from = root_address(s, view);
    sel_copy_memory(s, to, &from, ir_type_bytes(view->type), false);
  }
  for (unsigned i = 0; i < view->n_sets; i++)
    store_field(s, to, &view->sets[i]);
}

void dsd_store(Sel *s, const Addr *to, IrValue v)
{
  View view = view_of(s, v);
  store_view(s, to, &view);
}

void dsd_address_into(Sel *s, Reg to, IrValue v)
{
  View view = view_of(s, v);
  Addr at = root_address(s, &view);
  if (view.n_sets || view.is_mutable) {
    at = slot_address(sel_new_slot(s, ir_type_bytes(view.type)));
    store_view(s, &at, &view);
  }
  sel_lea(s, to, &at);
}

static void select_address(Sel *s, IrValue v, const IrInsn *insn)
{
  uint32_t done = sel_new_label(s);
  Reg to = dsd_param_reg(s, v);
  dsd_address_into(s, to, insn->args[1]);
  sel_branch(s, insn->args[0], true, done);
  dsd_address_into(s, to, insn->args[2]);
  sel_label(s, done);
}

void dsd_select(Sel *s, IrValue v, const IrInsn *insn)
{
  if (insn->op == IR_select) {
    select_address(s, v, insn);
  } else if (s->anchored[v.raw]) {
    View view = view_of_insn(s, v);
    Addr to = slot_address(slot_of(s, v));
    store_view(s, &to, &view);
  }
}

/* ---- reading a field ------------------------------------------------------------------------ */

static void get_root(Sel *s, Reg to, const View *view, DsrField field)
{
  unsigned word = field_word(field);
  Reg raw = field == DSRF_FLAGS ? sel_new_reg(s, CLASS_WORD) : to;
  if (view->is_const) {
    MInsn *mi = sel_li(s, CLASS_WORD, raw, view->desc.words[word]);
    if (word == field_word(DSRF_BASE) && view->desc.global != IR_NO_ID) {
      mi->sym = SYM_GLOBAL;
      mi->sym_index = view->desc.global;
    }
  } else {
    sel_load(s, OP_ld16, raw, &view->at, (int32_t)(2 * word));
  }
  if (raw != to)
    sel_rri(s, OP_andi, to, raw, 0xffff & ~DESC_KIND_BITS);
}

void dsd_get(Sel *s, IrValue v, const IrInsn *insn)
{
  View view = view_of(s, insn->args[0]);
  DsrField field = (DsrField)insn->field;
  Reg at = REG_NONE;
  for (unsigned i = 0; i < view.n_sets; i++) {
    const DsrChange *set = &view.sets[i];
    if (!same_word(set->field, field))
      continue;
    if (!is_added(set->field)) {
      at = set_value(s, set);
      continue;
    }
    if (at == REG_NONE) {
      at = sel_new_reg(s, CLASS_WORD);
      get_root(s, at, &view, field);
    }
    Reg sum = sel_new_reg(s, CLASS_WORD);
    sel_rrr(s, set->field == DSRF_BASE_ADD ? OP_add : OP_or, sum, at, set_value(s, set));
    at = sum;
  }
  if (at == REG_NONE)
    get_root(s, sel_result(s, v, 0), &view, field);
  else
    sel_copy(s, CLASS_WORD, sel_result(s, v, 0), at);
}

/* ---- block arguments ------------------------------------------------------------------------ */

/* Is the operand the descriptor, it with changes, or perhaps it? */
static bool is_made_from(const Sel *s, IrValue v, IrValue dsd)
{
  const IrInsn *insn = sel_def(s, v);
  if (ir_value_eq(v, dsd))
    return true;
  if (insn->op == IR_select)
    return is_made_from(s, insn->args[1], dsd) || is_made_from(s, insn->args[2], dsd);
  return insn->op == IR_dsd_set && is_made_from(s, insn->args[0], dsd);
}

/* Is it, perhaps with changes, at a place that a select has chosen: perhaps the descriptor's? */
static bool may_select(const Sel *s, IrValue v, IrValue dsd)
{
  const IrInsn *insn = sel_def(s, v);
  if (s->anchored[v.raw])
    return false;
  if (insn->op == IR_dsd_set)
    return may_select(s, insn->args[0], dsd);
  return insn->op == IR_select && is_made_from(s, v, dsd);
}

typedef struct { Addr to; View view; IrValue param, arg; } EdgeView;

static bool reads_other_target(const Sel *s, const EdgeView *edges, size_t i)
{
  for (size_t k = 0; k < arrlenu(edges); k++)
    if (k != i && !edges[i].view.is_const &&
        (addr_equal(&edges[k].to, &edges[i].view.at) ||
         may_select(s, edges[i].arg, edges[k].param)))
      return true;
  return false;
}

void dsd_edge(Sel *s, const IrTarget *target)
{
  const IrBlock *block = &s->f->blocks[target->block.raw];
  EdgeView *edges = NULL;
  for (uint32_t i = 0; i < target->n_args; i++) {
    if (!ir_type_is_dsd(sel_type(s, target->args[i])))
      continue;
    EdgeView edge = {.to = slot_address(slot_of(s, block->params[i])),
                     .view = view_of(s, target->args[i]), .param = block->params[i],
                     .arg = target->args[i]};
    arrput(edges, edge);
  }
  for (size_t i = 0; i < arrlenu(edges); i++) {
    if (!reads_other_target(s, edges, i))
      continue;
    View *view = &edges[i].view;
    Addr saved = slot_address(sel_new_slot(s, ir_type_bytes(view->type)));
    store_view(s, &saved, view);
    *view = (View){.type = view->type, .at = saved};
  }
  for (size_t i = 0; i < arrlenu(edges); i++)
    store_view(s, &edges[i].to, &edges[i].view);
  arrfree(edges);
}

static bool is_passed(const Sel *s, const IrTarget *target, IrValue dsd)
{
  for (uint32_t i = 0; i < target->n_args; i++)
    if (is_made_from(s, target->args[i], dsd))
      return true;
  return false;
}

static bool block_uses(const Sel *s, uint32_t block, IrValue dsd)
{
  const IrBlock *b = &s->f->blocks[block];
  for (uint32_t i = 0; i < b->n_insns; i++) {
    const IrInsn *insn = &s->f->insns[b->insns[i].raw];
    uint32_t n = ir_target_count(insn);
    for (uint32_t k = 0; k < insn->n_args; k++)
      if (is_made_from(s, insn->args[k], dsd))
        return true;
    for (uint32_t t = 0; t < n; t++)
      if (is_passed(s, &insn->u.targets[t], dsd))
        return true;
  }
  return false;
}

/* Marks what control reaches from a block before it comes to `end`. */
static void mark_reached(const Sel *s, uint32_t block, uint32_t end, bool *reached)
{
  uint32_t *work = NULL;
  arrput(work, block);
  while (arrlenu(work)) {
    block = arrpop(work);
    if (block == end || reached[block])
      continue;
    reached[block] = true;
    const IrInsn *last = ir_last_insn(s->f, block);
    for (uint32_t t = 0; t < ir_target_count(last); t++)
      arrput(work, last->u.targets[t].block.raw);
  }
  arrfree(work);
}

bool dsd_edge_comes_early(Sel *s, const IrTarget *target, const IrTarget *other)
{
  const IrBlock *block = &s->f->blocks[target->block.raw];
  bool any = false, *reached = NULL;
  for (uint32_t i = 0; i < target->n_args; i++) {
    if (!ir_type_is_dsd(sel_type(s, target->args[i])))
      continue;
    if (!reached) {
      reached = arena_many(s->pass, bool, s->f->n_blocks);
      mark_reached(s, other->block.raw, target->block.raw, reached);
    }
    any = true;
    if (is_passed(s, other, block->params[i]))
      return false;
    for (uint32_t b = 0; b < s->f->n_blocks; b++)
      if (reached[b] && block_uses(s, b, block->params[i]))
        return false;
  }
  return any;
}

/* ---- DSRs ----------------------------------------------------------------------------------- */

static bool wants_xdsr(const View *view)
{
  bool circular = view->is_const && (view->desc.words[0] & DESC_KIND_BITS) == DESC_CIRC;
  return view->type == IRT_DSD4 || circular;
}

static DsrTemp describe_dsr(Sel *s, const View *view)
{
  Addr at = root_address(s, view);
  unsigned kind = view->is_const ? view->desc.words[0] & DESC_KIND_BITS : DESC_NONE;
  DsrTemp t = {.base = sel_base(s, &at), .imm = at.imm, .sym = at.sym, .sym_index = at.sym_index,
               .n_sets = view->n_sets, .is_mutable = view->is_mutable, .keeps = true};
  t.is_memory = kind == DESC_MEM1D || kind == DESC_MEM4D || kind == DESC_CIRC;
  if (view->is_const)
    t.keeps = kind != DESC_FIFO && !(view->desc.words[0] & DESC_F_SAVE);
  t.sets = arena_many(s->cg->arena, DsrSet, view->n_sets);
  for (unsigned i = 0; i < view->n_sets; i++) {
    const DsrChange *set = &view->sets[i];
    if (set->field == DSRF_FLAGS && (set->value.raw || (set->imm & DESC_F_SAVE)))
      t.keeps = false;
    t.sets[i] = (DsrSet){set->field, set->value.raw ? sel_use_word(s, set->value) : REG_NONE,
                         set->imm, set->sym, set->sym_index};
  }
  return t;
}

static void emit_dsrset(Sel *s, const DsrSet *set, DsrFile file, uint32_t number, uint32_t temp)
{
  MInsn *mi = sel_emit(s, OP_dsrset);
  mi->file = (uint8_t)file;
  mi->field = (uint8_t)set->field;
  mi->number = number;
  mi->temp = temp;
  mi->r[1] = set->reg;
  mi->absolute = set->reg == REG_NONE;
  mi->imm = set->imm;
  mi->sym = (uint8_t)set->sym;
  mi->sym_index = set->sym_index;
}

static void emit_load_dsr(Sel *s, const DsrTemp *t, bool xdsr, DsrFile file, uint32_t number,
                          uint32_t temp)
{
  MInsn *mi = sel_emit(s, OP_ldsr);
  mi->file = (uint8_t)file;
  mi->number = number;
  mi->temp = temp;
  mi->wants_xdsr = xdsr;
  mi->r[1] = t->base;
  mi->absolute = t->base == REG_NONE;
  mi->imm = t->imm;
  mi->sym = (uint8_t)t->sym;
  mi->sym_index = t->sym_index;
  for (uint32_t i = 0; i < t->n_sets; i++)
    emit_dsrset(s, &t->sets[i], file, number, temp);
}

/* dsr_load, dsr_set and dsr_get (whose register the caller adds). */
void dsd_load_dsr(Sel *s, const IrInsn *insn)
{
  DsrFile file = (DsrFile)(insn->aux >> 16);
  uint32_t number = insn->aux & 0xffff;
  if (insn->op == IR_dsr_load) {
    View view = view_of(s, insn->args[0]);
    DsrTemp t = describe_dsr(s, &view);
    emit_load_dsr(s, &t, wants_xdsr(&view), file, number, 0);
  } else if (insn->op == IR_dsr_set) {
    IrInsn as_set = *insn;
    as_set.args = (IrValue[]){IR_NO_VALUE, insn->args[0]};
    DsrChange set = ir_update_takes_register(s->cg->options->level)
                        ? (DsrChange){.field = (DsrField)insn->field, .value = insn->args[0]}
                        : make_set(s, &as_set);
    Reg reg = set.value.raw ? sel_use_word(s, set.value) : REG_NONE;
    DsrSet update = {set.field, reg, set.imm, set.sym, set.sym_index};
    emit_dsrset(s, &update, file, number, 0);
  } else {
    MInsn *mi = sel_emit(s, OP_dsrget);
    mi->file = (uint8_t)file;
    mi->field = insn->field;
    mi->number = number;
  }
}

/* ---- vector operations ---------------------------------------------------------------------- */

typedef struct {
  MVec *vec;
  uint32_t temps[DSR_FILE_COUNT];    /* made for this operation */
  unsigned n_temps;
  Reg r[MOST_OPERANDS];
} VecParts;

/* The DSR of a descriptor; operands that are the same share one. */
static MVecOperand dsr_operand(Sel *s, VecParts *parts, const View *view, bool is_dest)
{
  DsrTemp t = describe_dsr(s, view);
  uint32_t temp = 0;
  for (unsigned i = 0; i < parts->n_temps; i++)
    if (dsr_temp_equal(&s->mf->temps[parts->temps[i]], &t))
      temp = parts->temps[i];
  if (temp == 0) {
    temp = (uint32_t)arrlenu(s->mf->temps);
    arrput(s->mf->temps, t);
    parts->temps[parts->n_temps++] = temp;
    emit_load_dsr(s, &t, wants_xdsr(view), DSR_DEST, 0, temp);
  }
  s->mf->temps[temp].is_dest |= is_dest;
  s->mf->temps[temp].is_source |= !is_dest;
  return (MVecOperand){.kind = VOPND_DSR, .temp = temp};
}

/* 1 + the global that the operand is meant for, if its address is computed when the program runs;
 * 0: it is not, or the global is not known. */
static uint32_t view_object(const Sel *s, const View *view)
{
  if (!view->is_const)
    return 0;
  uint32_t object = view->desc.global == IR_NO_ID ? 0 : view->desc.global + 1;
  bool is_computed = view->desc.words[0] & DESC_F_INDEX;
  for (unsigned i = 0; i < view->n_sets; i++) {
    const DsrChange *set = &view->sets[i];
    is_computed |= set->field == DSRF_BASE_ADD || set->field == DSRF_BASE;
    if (set->field == DSRF_BASE)
      object = set->value.raw ? sel_object(s, set->value)
                              : set->sym == SYM_GLOBAL ? set->sym_index + 1 : 0;
  }
  return is_computed ? object : 0;
}

static MVecOperand vec_operand(Sel *s, VecParts *parts, const IrInsn *insn, const IrVecOperand *x,
                               unsigned slot)
{
  MVecOperand out = {.kind = VOPND_NONE};
  if (x->kind == IRV_DSD) {
    View view = view_of(s, insn->args[x->arg]);
    out = dsr_operand(s, parts, &view, slot == 0);
    out.object = view_object(s, &view);
  } else if (x->kind == IRV_DSR) {
    out = (MVecOperand){.kind = VOPND_DSR, .file = x->file, .number = x->number};
  } else if (x->kind == IRV_SCALAR) {
    IrValue v = insn->args[x->arg];
    bool word = type_class(sel_type(s, v)) == CLASS_WORD;
    out.kind = VOPND_REG;
    parts->r[slot] = word ? sel_use_word(s, v) : sel_use(s, v);
  }
  out.name = x->name;
  return out;
}

static bool view_has_flag(const View *view, unsigned flag)
{
  bool has = view->is_const && (view->desc.words[0] & flag);
  for (unsigned i = 0; i < view->n_sets; i++)
    if (view->sets[i].field == DSRF_FLAGS && !view->sets[i].value.raw && (view->sets[i].imm & flag))
      has = true;
  return has;
}

static bool operand_is_async(Sel *s, const IrInsn *insn, const IrVecOperand *x)
{
  if (x->kind == IRV_DSR)
    return x->number < MAX_DSRS && (s->cg->dsr_async[x->file] >> x->number & 1);
  if (x->kind != IRV_DSD)
    return false;
  View view = view_of(s, insn->args[x->arg]);
  return view_has_flag(&view, DESC_F_ASYNC);
}

/* Could the operation stop early, at a FIFO?  Known memory and fabric descriptors do not. */
static bool operand_may_stop(Sel *s, const IrInsn *insn, const IrVecOperand *x)
{
  if (x->kind == IRV_DSR)
    return true;
  if (x->kind != IRV_DSD)
    return false;
  View view = view_of(s, insn->args[x->arg]);
  return !view.is_const || (view.desc.words[0] & DESC_KIND_BITS) == DESC_FIFO;
}

static void emit_vec(Sel *s, const VecParts *parts)
{
  MInsn *mi = sel_emit(s, OP_vec);
  memcpy(mi->r, parts->r, sizeof mi->r);
  mi->vec = parts->vec;
}

/* An asynchronous result cannot wait in a register: the scalar's memory is the destination, by a
 * descriptor of stride 0 that leaves the length to the other operands.  An accumulator starts
 * there too. */
static void vec_to_memory(Sel *s, VecParts *parts, const IrInsn *insn, const IrVec *vec)
{
  IrValue pointer = insn->args[vec->dest.arg];
  IrDesc scalar = {.desc = {.kind = DESC_MEM1D, .flags = DESC_F_SCALAR}, .global = {IR_NO_ID}};
  View view = {.type = IRT_DSD, .is_const = true, .desc = pool_desc(&scalar)};
  IrInsn base = {.op = IR_dsd_set, .field = DSRF_BASE, .args = (IrValue[]){IR_NO_VALUE, pointer}};
  add_set(&view, make_set(s, &base));
  MVec *mv = parts->vec;
  if (vec->src0.kind == IRV_SCALAR) {
    Addr at = sel_address(s, pointer);
    IrValue v = insn->args[vec->src0.arg];
    bool word = type_class(sel_type(s, v)) == CLASS_WORD;
    sel_store(s, word ? OP_st16 : OP_st32, word ? sel_use_word(s, v) : sel_use(s, v), &at, 0);
    mv->src0 = dsr_operand(s, parts, &view, false);
    mv->src0.name = vec->src0.name;
    parts->r[1] = REG_NONE;
  }
  mv->dest = dsr_operand(s, parts, &view, true);
  mv->dest.name = vec->dest.name;
  emit_vec(s, parts);
}

/* The result comes in a register and is stored if the operation ran to its end. */
static void vec_to_register(Sel *s, VecParts *parts, const IrInsn *insn, const IrVec *vec)
{
  const VecOpInfo *info = &vecops[vec->op];
  unsigned bytes = vec_elem_bytes(info->dst);
  RegClass cls = bytes == 4 ? CLASS_PAIR : CLASS_WORD;
  Reg result = sel_new_reg(s, cls);
  MVec *mv = parts->vec;
  mv->folds = vec->src0.kind == IRV_SCALAR;
  if (mv->folds) {
    sel_into(s, result, insn->args[vec->src0.arg]);
    parts->r[1] = result;
  }
  mv->dest.kind = VOPND_REG;
  parts->r[0] = result;
  emit_vec(s, parts);
  bool may_stop = operand_may_stop(s, insn, &vec->src0) || operand_may_stop(s, insn, &vec->src1);
  uint32_t skip = may_stop ? sel_new_label(s) : 0;
  if (may_stop) {
    Reg completed = sel_new_reg(s, CLASS_WORD);
    sel_rr(s, OP_vstat, completed, REG_NONE);
    sel_jump(s, OP_bz, completed, REG_NONE, skip);
  }
  Addr at = sel_address(s, insn->args[vec->dest.arg]);
  sel_store(s, bytes == 4 ? OP_st32 : OP_st16, result, &at, 0);
  if (may_stop)
    sel_label(s, skip);
}

void dsd_vec(Sel *s, IrValue v, const IrInsn *insn)
{
  const IrVec *vec = insn->u.vec;
  VecParts parts = {.vec = arena_new(s->cg->arena, MVec)};
  for (unsigned i = 0; i < MOST_OPERANDS; i++)
    parts.r[i] = REG_NONE;
  MVec *mv = parts.vec;
  mv->op = vec->op;
  mv->priority = vec->priority;
  bool is_async = operand_is_async(s, insn, &vec->dest) || operand_is_async(s, insn, &vec->src0) ||
                  operand_is_async(s, insn, &vec->src1);
  mv->dest = vec_operand(s, &parts, insn, &vec->dest, 0);
  mv->src0 = vec_operand(s, &parts, insn, &vec->src0, 1);
  mv->src1 = vec_operand(s, &parts, insn, &vec->src1, 2);
  for (unsigned i = 0; i < parts.n_temps; i++)
    s->mf->temps[parts.temps[i]].in_background = is_async;
  if (vec->scalar != IR_NO_ID) {
    IrValue x = insn->args[vec->scalar];
    bool word = type_class(sel_type(s, x)) == CLASS_WORD;
    parts.r[3] = word ? sel_use_word(s, x) : sel_use(s, x);
  }
  if (vec->index != IR_NO_ID)
    parts.r[4] = sel_use_word(s, insn->args[vec->index]);
  if (vec->dest.kind != IRV_POINTER)
    emit_vec(s, &parts);
  else if (is_async)
    vec_to_memory(s, &parts, insn, vec);
  else
    vec_to_register(s, &parts, insn, vec);
  if (!s->demanded[v.raw])
    return;
  Reg result = sel_result(s, v, 0);
  sel_rr(s, OP_vstat, result, REG_NONE);
}
