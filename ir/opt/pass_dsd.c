/* dsd: keeps descriptors of loops in DSRs. If the loop does not change a descriptor, the load moves
 * in front of the loop. If each turn changes it (a column that moves along), the load moves too,
 * and the turn changes the DSR instead of a descriptor in memory. If each turn makes it from a
 * fixed one, the load of the fixed one moves, and the turn sets the fields (-O2; at -O1 the turn
 * loads the fixed one, as the sparse products with descriptors show it, docs/codegen.md).
 *
 * Only for descriptors that an operation leaves as it found them (memory in one dimension and
 * the fabric, without saved addresses and single steps) and that run synchronously: an operation
 * that goes on in the background owns its DSR until it ends.  A loop that may call its own function
 * keeps nothing: the inner call would load the same DSRs.  The code generator gives the
 * virtual DSRs numbers that nothing else uses; enough must be left for its temporaries.  It also
 * gives constant descriptors DSRs that start-up code fills, which is better still: as long as these
 * have room, constants stay as they are. */
#include "ir/opt/opt.h"

enum { LONGEST_CHAIN = 8, MOST_PARAMS = 8 };

typedef struct {
  Opt *opt;
  IrModule *m;
  IrFunc *f;
  Cfg cfg;
  uint32_t *block_of;
  uint32_t left[DSR_FILE_COUNT];
  uint32_t reserved[DSR_FILE_COUNT];       /* for constants; -O2 gives them to what moves along */
  uint32_t spare[DSR_FILE_COUNT];          /* for the constants of straight code */
  bool constants_stay;                     /* the code generator has a DSR for each */
  bool *reenters;                          /* by loop head: a call in it may lead to the function */
  uint32_t first_number, next_number;      /* of the virtual DSRs that are ours */
  /* of the function: what is in a DSR already */
  struct { IrValue dsd; DsrFile file; uint32_t head, number; } *held;
  uint32_t n_held;
} Keeper;

/* ---- budget ------------------------------------------------------------------------ */

static void count_dsr(Keeper *k, DsrFile file, uint32_t number, bool *seen)
{
  if (number >= IR_VIRTUAL_DSR) {
    if (number >= k->next_number)
      k->next_number = number + 1;
    k->left[file] -= k->left[file] > 0;      /* named often: counted often, which is safe */
  } else if (!seen[file * MAX_DSRS + number]) {
    seen[file * MAX_DSRS + number] = true;
    k->left[file] -= k->left[file] > 0;
  }
}

static void count_insn(Keeper *k, const IrInsn *insn, bool *seen)
{
  if (insn->op == IR_dsr_load || insn->op == IR_dsr_set || insn->op == IR_dsr_get)
    count_dsr(k, (DsrFile)(insn->aux >> 16), insn->aux & 0xffff, seen);
  if (insn->op != IR_vec)
    return;
  const IrVecOperand *operands[] = {&insn->u.vec->dest, &insn->u.vec->src0, &insn->u.vec->src1};
  for (unsigned i = 0; i < ARRAY_COUNT(operands); i++)
    if (operands[i]->kind == IRV_DSR)
      count_dsr(k, operands[i]->file, operands[i]->number, seen);
}

/* Counting stops when there are more than DSRs. */
typedef struct { const IrDesc *list[MAX_DSRS + 1]; uint32_t n; } Constants;

static void add_constant(const IrDesc *desc, Constants *to)
{
  for (uint32_t i = 0; i < to->n; i++)
    if (ir_global_eq(to->list[i]->global, desc->global) &&
        descriptor_equal(&to->list[i]->desc, &desc->desc))
      return;
  if (to->n < ARRAY_COUNT(to->list))
    to->list[to->n++] = desc;
}

/* The destination is the first source: one DSR serves both. */
static bool is_in_place(const IrInsn *insn)
{
  const IrVec *vec = insn->u.vec;
  return vec->dest.kind == IRV_DSD && vec->src0.kind == IRV_DSD &&
         ir_value_eq(insn->args[vec->dest.arg], insn->args[vec->src0.arg]);
}

/* The file for the operand in slot 0 to 2 (destination and sources). */
static DsrFile file_of(const IrInsn *insn, unsigned slot)
{
  return slot == DSR_DEST && is_in_place(insn) ? DSR_SRC0 : (DsrFile)slot;
}

/* The different constant descriptors that vector operations name, at most MAX_DSRS + 1: all of
 * them, and those of each file. */
typedef struct { Constants all, of_file[DSR_FILE_COUNT]; } FoundConstants;

static void add_constants(const IrFunc *f, const IrInsn *insn, FoundConstants *to)
{
  const IrVecOperand *operands[] = {&insn->u.vec->dest, &insn->u.vec->src0, &insn->u.vec->src1};
  for (unsigned slot = 0; slot < ARRAY_COUNT(operands); slot++) {
    if (operands[slot]->kind != IRV_DSD)
      continue;
    const IrInsn *dsd = opt_insn(f, insn->args[operands[slot]->arg]);
    if (dsd->op != IR_dsd_const)
      continue;
    add_constant(dsd->u.desc, &to->all);
    add_constant(dsd->u.desc, &to->of_file[file_of(insn, slot)]);
  }
}

static void find_constants(const Keeper *k, FoundConstants *found)
{
  const IrModule *m = k->m;
  for (uint32_t n = 0; n < m->n_funcs; n++) {
    const IrFunc *f = &m->funcs[n];
    for (uint32_t v = 1; v < f->n_insns; v++)
      if (f->insns[v].op == IR_vec && !f->insns[v].dead)
        add_constants(f, &f->insns[v], found);
  }
}

/* If they have no room, the turns of a loop need what there is more than they do. */
static void leave_room_for_constants(Keeper *k)
{
  FoundConstants found = {.all = {.n = 0}};
  find_constants(k, &found);
  uint32_t n = found.all.n;
  k->constants_stay = true;
  for (unsigned file = 0; file < DSR_FILE_COUNT; file++) {
    k->constants_stay &= n <= k->left[file];
    k->spare[file] = k->left[file];
  }
  for (unsigned file = 0; file < DSR_FILE_COUNT && k->constants_stay; file++) {
    k->spare[file] -= found.of_file[file].n;
    k->left[file] -= n;
    k->reserved[file] = k->opt->level > 1 ? n : 0;
  }
}

static void find_budget(Keeper *k)
{
  bool *seen = arena_many(k->opt->arena, bool, DSR_FILE_COUNT * MAX_DSRS);
  const IrModule *m = k->m;
  k->next_number = IR_VIRTUAL_DSR;
  for (unsigned file = 0; file < DSR_FILE_COUNT; file++)
    k->left[file] = machine_get(m->arch)->dsrs_per_file - DSRS_FOR_TEMPORARIES;
  for (uint32_t i = 0; i < m->n_dsrs; i++)
    count_dsr(k, m->dsrs[i].file, m->dsrs[i].number, seen);
  for (uint32_t n = 0; n < m->n_funcs; n++)
    for (uint32_t b = 0; b < m->funcs[n].n_blocks; b++)
      for (uint32_t i = 0; i < m->funcs[n].blocks[b].n_insns; i++)
        count_insn(k, opt_insn(&m->funcs[n], m->funcs[n].blocks[b].insns[i]), seen);
  k->first_number = k->next_number;
  leave_room_for_constants(k);
}

/* ---- which ------------------------------------------------------------------------- */

static bool is_plain_field(unsigned field)
{
  return field == DSRF_LENGTH || field == DSRF_STRIDE || field == DSRF_BASE ||
         field == DSRF_BASE_ADD;
}

static bool is_plain_const(const Descriptor *d)
{
  const unsigned changes = DESC_F_ASYNC | DESC_F_SAVE | DESC_F_STEP;
  return !(d->flags & changes) &&
         (d->kind == DESC_MEM1D || d->kind == DESC_FABIN || d->kind == DESC_FABOUT);
}

/* Parameters on the way, so that loops end. */
typedef struct { IrValue seen[MOST_PARAMS]; unsigned n; } Trace;

typedef bool Holds(const Keeper *k, IrValue v, Trace *trace, void *context);

/* Does `holds` of each value that a branch gives to the parameter?  Of one on the way it does if it
 * does of all others. */
static bool holds_of_all(const Keeper *k, IrValue param, Trace *trace, Holds *holds, void *context)
{
  for (unsigned i = 0; i < trace->n; i++)
    if (ir_value_eq(trace->seen[i], param))
      return true;
  if (trace->n == MOST_PARAMS)
    return false;
  trace->seen[trace->n++] = param;
  const IrInsn *insn = opt_insn(k->f, param);
  uint32_t block = insn->u.param.block.raw, index = insn->u.param.index, n;
  for (uint32_t i = k->cfg.pred_at[block]; i < k->cfg.pred_at[block + 1]; i++) {
    const IrTarget *targets = cfg_targets(k->f, k->cfg.preds[i], &n);
    for (uint32_t t = 0; t < n; t++)
      if (targets[t].block.raw == block && !holds(k, targets[t].args[index], trace, context))
        return false;
  }
  return true;
}

/* Is the value made from plain constants by changes of length, stride and base, on every path? */
static bool is_plain(const Keeper *k, IrValue v, Trace *trace, void *unused)
{
  (void)unused;
  const IrInsn *insn = opt_insn(k->f, v);
  for (; insn->op == IR_dsd_set && is_plain_field(insn->field); insn = opt_insn(k->f, v))
    v = insn->args[0];
  if (insn->op == IR_dsd_const)
    return is_plain_const(&insn->u.desc->desc);
  if (insn->op != IR_PARAM || ir_block_is_entry(insn->u.param.block))
    return false;
  return holds_of_all(k, v, trace, is_plain, NULL);
}

/* ---- fields that a change overwrites --------------------------------------------------- */

static bool is_overwritten(uint8_t by, uint8_t field)
{
  return field == by || (by == DSRF_BASE && field == DSRF_BASE_ADD);
}

/* A search for the descriptor behind the changes of what a new value of `field` overwrites. */
typedef struct { uint8_t field; IrValue found; } Behind;

/* Do all paths lead to the same one? */
static bool find_behind(const Keeper *k, IrValue v, Trace *trace, void *context)
{
  Behind *behind = context;
  const IrInsn *insn = opt_insn(k->f, v);
  for (; insn->op == IR_dsd_set && is_overwritten(behind->field, insn->field);
       insn = opt_insn(k->f, v))
    v = insn->args[0];
  if (insn->op != IR_PARAM || ir_block_is_entry(insn->u.param.block)) {
    bool is_first = ir_value_is_none(behind->found);
    if (is_first)
      behind->found = v;
    return is_first || ir_value_eq(behind->found, v);
  }
  return holds_of_all(k, v, trace, find_behind, context);
}

/* A descriptor of which each turn sets the base anew is made from the one before the loop: nothing
 * of it goes from turn to turn. */
static bool make_from_behind(Keeper *k)
{
  bool changed = false;
  for (uint32_t i = 0; i < k->cfg.n_rpo; i++) {
    const IrBlock *block = &k->f->blocks[k->cfg.rpo[i]];
    for (uint32_t at = 0; at < block->n_insns; at++) {
      IrInsn *insn = opt_insn(k->f, block->insns[at]);
      Behind behind = {.field = insn->field, .found = IR_NO_VALUE};
      if (insn->op != IR_dsd_set || insn->field == DSRF_BASE_ADD || !is_plain_field(insn->field) ||
          !find_behind(k, insn->args[0], &(Trace){.n = 0}, &behind) ||
          ir_value_is_none(behind.found) || ir_value_eq(behind.found, insn->args[0]))
        continue;
      insn->args[0] = behind.found;
      changed = true;
    }
  }
  return changed;
}

/* ---- calls that come back ------------------------------------------------------------ */

/* Adds the functions that the instruction may call, each once. */
static void push_callees(const IrModule *m, const IrInsn *insn, bool *seen, uint32_t *work,
                         uint32_t *n)
{
  bool by_pointer = insn->op == IR_call_ptr;
  uint32_t first = insn->op == IR_call ? insn->u.func.raw : 0;
  uint32_t end = insn->op == IR_call ? first + 1 : by_pointer ? m->n_funcs : 0;
  for (uint32_t i = first; i < end; i++) {
    if (seen[i] || (by_pointer && !m->funcs[i].address_taken))
      continue;
    seen[i] = true;
    work[(*n)++] = i;
  }
}

static void push_block_callees(const IrModule *m, const IrFunc *f, uint32_t block, bool *seen,
                               uint32_t *work, uint32_t *n)
{
  for (uint32_t i = 0; i < f->blocks[block].n_insns; i++)
    push_callees(m, opt_insn(f, f->blocks[block].insns[i]), seen, work, n);
}

/* May a call in the blocks lead back to the function? */
static bool blocks_reenter(const Keeper *k, const uint32_t *blocks, uint32_t n_blocks)
{
  bool *seen = arena_many(k->opt->arena, bool, k->m->n_funcs);
  uint32_t *work = arena_many(k->opt->arena, uint32_t, k->m->n_funcs), n = 0;
  for (uint32_t i = 0; i < n_blocks; i++)
    push_block_callees(k->m, k->f, blocks[i], seen, work, &n);
  for (uint32_t done = 0; done < n; done++)
    for (uint32_t b = 0; b < k->m->funcs[work[done]].n_blocks; b++)
      push_block_callees(k->m, &k->m->funcs[work[done]], b, seen, work, &n);
  return seen[k->f - k->m->funcs];
}

/* Few functions call themselves: their loops alone are looked at one by one. */
static void find_reentered(Keeper *k)
{
  const Cfg *cfg = &k->cfg;
  bool asked = false;
  k->reenters = arena_many(k->opt->arena, bool, cfg->n_blocks);
  for (uint32_t i = 0; i < cfg->n_rpo; i++) {
    uint32_t head = cfg->rpo[i], first = cfg->together_index[head];
    if (cfg->loop_head[head] != head)
      continue;
    if (!asked && !blocks_reenter(k, cfg->rpo, cfg->n_rpo))
      return;
    asked = true;
    k->reenters[head] = blocks_reenter(k, &cfg->together[first], cfg->loop_end[head] - first);
  }
}

/* The outermost loop around the block that the value comes from outside of, or IR_NO_ID. */
static uint32_t loop_to_leave(const Keeper *k, uint32_t block, IrValue v)
{
  uint32_t found = IR_NO_ID;
  for (uint32_t h = k->cfg.loop_head[block]; h != IR_NO_ID; h = k->cfg.loop_parent[h]) {
    if (cfg_loop_contains(&k->cfg, h, k->block_of[v.raw]) || k->reenters[h] ||
        opt_loop_front(k->f, &k->cfg, h) == IR_NO_ID)
      break;
    found = h;
  }
  return found;
}

/* Does every descriptor of the operation stay as it is?  One operand is enough to send it to the
 * background, and what an explicit DSR holds is not known here. */
static bool is_synchronous(const Keeper *k, const IrInsn *insn)
{
  const IrVec *vec = insn->u.vec;
  const IrVecOperand *operands[] = {&vec->dest, &vec->src0, &vec->src1};
  for (unsigned i = 0; i < ARRAY_COUNT(operands); i++) {
    const IrVecOperand *o = operands[i];
    if (o->kind == IRV_DSR && o->number < k->first_number)
      return false;
    if (o->kind == IRV_DSD && !is_plain(k, insn->args[o->arg], &(Trace){.n = 0}, NULL))
      return false;
  }
  return true;
}

/* ---- rewriting --------------------------------------------------------------------- */

/* Adds an operation on a DSR to the end of a block, before its jump. */
static void put_dsr_op(Keeper *k, uint32_t block, IrOp op, uint8_t field, DsrFile file,
                       uint32_t number, IrValue value, IrLocId loc)
{
  IrInsn insn = {.op = op, .field = field, .aux = (uint32_t)file << 16 | number, .n_args = 1,
                 .args = &value, .loc = loc};
  IrValue v = opt_add(k->m, k->f, &insn);
  IrBlock *b = &k->f->blocks[block];
  opt_insert(k->m, b, b->n_insns - 1, v);
}

/* The number of a DSR that holds the descriptor throughout the loop, or 0 if none is left. */
static uint32_t dsr_for(Keeper *k, IrValue dsd, DsrFile file, uint32_t head)
{
  for (uint32_t i = 0; i < k->n_held; i++)
    if (ir_value_eq(k->held[i].dsd, dsd) && k->held[i].file == file && k->held[i].head == head)
      return k->held[i].number;
  if (k->left[file] == 0)
    return 0;
  k->left[file]--;
  uint32_t number = k->next_number++, front = opt_loop_front(k->f, &k->cfg, head);
  put_dsr_op(k, front, IR_dsr_load, 0, file, number, dsd, opt_insn(k->f, dsd)->loc);
  k->held[k->n_held].dsd = dsd;
  k->held[k->n_held].file = file;
  k->held[k->n_held].head = head;
  k->held[k->n_held++].number = number;
  return number;
}

static Loop loop_of(const Keeper *k, uint32_t block)
{
  Loop l = {.m = k->m, .f = k->f, .cfg = &k->cfg, .n_values = k->f->n_insns,
            .block_of = k->block_of};
  if (!opt_loop_enter(&l, k->cfg.loop_head[block]))
    l.latch = IR_NO_ID;
  return l;
}

/* The turns of the block's loop if pass unroll will make straight code of it, else 0.  Straight
 * code loads a constant once if it must. */
static uint32_t turns_of_straight_code(const Keeper *k, uint32_t block)
{
  Loop l = loop_of(k, block);
  return l.latch == IR_NO_ID ? 0 : opt_turns_to_unroll(&l);
}

static bool keep_operand(Keeper *k, uint32_t block, const IrInsn *insn, IrVecOperand *o,
                         DsrFile file)
{
  if (o->kind != IRV_DSD)
    return false;
  IrValue dsd = insn->args[o->arg];
  if (opt_insn(k->f, dsd)->op == IR_dsd_const &&
      (k->constants_stay || (k->opt->level > 1 && turns_of_straight_code(k, block))))
    return false;
  uint32_t head = loop_to_leave(k, block, dsd);
  uint32_t number = head == IR_NO_ID ? 0 : dsr_for(k, dsd, file, head);
  if (!number)
    return false;
  o->kind = IRV_DSR;
  o->file = file;
  o->number = number;
  return true;
}

/* ---- descriptors that each turn makes from one that stays ---------------------------- */

/* What the turn sets on top of the root; raw 0: nothing. */
typedef struct {
  IrValue root;
  IrValue length, stride, base;
} Made;

/* Inserts an instruction at a place of a block that moves on. */
static IrValue put_at(Keeper *k, uint32_t block, uint32_t *at, const IrInsn *insn)
{
  IrValue v = opt_add(k->m, k->f, insn);
  opt_insert(k->m, &k->f->blocks[block], (*at)++, v);
  return v;
}

static bool root_base(const Keeper *k, IrValue root, const IrDesc **desc)
{
  const IrInsn *insn = opt_insn(k->f, root);
  *desc = insn->op == IR_dsd_const ? insn->u.desc : NULL;
  return *desc && (*desc)->desc.kind == DESC_MEM1D && !ir_global_is_none((*desc)->global);
}

/* base + offset, where the base is the root's or what the turn has set. */
static IrValue put_sum(Keeper *k, uint32_t block, uint32_t *at, const Made *made, IrValue offset)
{
  IrLocId loc = opt_insn(k->f, offset)->loc;
  IrValue from = made->base;
  const IrDesc *desc;
  if (!from.raw && root_base(k, made->root, &desc)) {
    IrInsn address = {.op = IR_global_addr, .type = IRT_PTR, .imm = desc->desc.base, .loc = loc};
    address.u.global = desc->global;
    from = put_at(k, block, at, &address);
  }
  IrInsn sum = {.op = IR_ptr_add, .type = IRT_PTR, .n_args = 2, .args = (IrValue[]){from, offset},
                .loc = loc};
  return put_at(k, block, at, &sum);
}

/* The changes from the root on, in their order; false if they are of another kind. */
static bool find_root(const Keeper *k, uint32_t block, IrValue v, uint32_t *head, Made *made,
                      IrValue chain[LONGEST_CHAIN], unsigned *n)
{
  bool adds = false, sets_base = false;
  const IrDesc *desc;
  for (*n = 0; (*head = loop_to_leave(k, block, v)) == IR_NO_ID; v = opt_insn(k->f, v)->args[0]) {
    const IrInsn *insn = opt_insn(k->f, v);
    if (insn->op != IR_dsd_set || !is_plain_field(insn->field) || *n == LONGEST_CHAIN)
      return false;
    adds |= insn->field == DSRF_BASE_ADD;
    sets_base |= insn->field == DSRF_BASE;
    chain[(*n)++] = v;
  }
  *made = (Made){.root = v};
  return *n > 0 && !(adds && sets_base) && (!adds || root_base(k, v, &desc));
}

static void put_changes(Keeper *k, uint32_t block, uint32_t *at, const IrValue *chain, unsigned n,
                        Made *made)
{
  while (n-- > 0) {
    const IrInsn change = *opt_insn(k->f, chain[n]);
    if (change.field == DSRF_LENGTH)
      made->length = change.args[1];
    else if (change.field == DSRF_STRIDE)
      made->stride = change.args[1];
    else if (change.field == DSRF_BASE)
      made->base = change.args[1];
    else
      made->base = put_sum(k, block, at, made, change.args[1]);
  }
}

/* A field of a DSR takes a word; addresses are words, too. */
static IrValue as_word(Keeper *k, uint32_t block, uint32_t *at, IrValue v)
{
  if (opt_insn(k->f, v)->type != IRT_PTR)
    return v;
  IrInsn cast = {.op = IR_bitcast, .type = IRT_I16, .n_args = 1, .args = &v,
                 .loc = opt_insn(k->f, v)->loc};
  return put_at(k, block, at, &cast);
}

static void put_set(Keeper *k, uint32_t block, uint32_t *at, uint8_t field, DsrFile file,
                    uint32_t number, IrValue value)
{
  if (!value.raw)
    return;
  value = as_word(k, block, at, value);
  IrInsn set = {.op = IR_dsr_set, .field = field, .aux = (uint32_t)file << 16 | number,
                .n_args = 1, .args = &value, .loc = opt_insn(k->f, value)->loc};
  put_at(k, block, at, &set);
}

/* What pass strength makes of an element's address: a parameter of the head that each turn moves by
 * a constant.  Gives where it starts. */
static bool is_moving_address(const Loop *l, IrValue v, IrValue *start)
{
  const IrInsn *param = opt_insn(l->f, v);
  if (param->op != IR_PARAM || param->u.param.block.raw != l->head)
    return false;
  const IrInsn *next = opt_insn(l->f, l->around->args[param->u.param.index]);
  if (next->op != IR_ptr_add || !ir_value_eq(next->args[0], v) ||
      !opt_is_const(l->f, next->args[1]))
    return false;
  *start = l->entering->args[param->u.param.index];
  return true;
}

/* Is the word of a turn known when the loop is straight code? */
static bool is_known_in_turn(const Loop *l, IrValue v)
{
  const IrInsn *insn = opt_insn(l->f, v);
  Linear sum = {.constant = 0};
  while (insn->op == IR_ptr_add || is_moving_address(l, v, &v)) {
    if (insn->op == IR_ptr_add) {
      if (!opt_linear_add(l, &sum, insn->args[1]))
        return false;
      v = insn->args[0];
    }
    insn = opt_insn(l->f, v);
  }
  bool is_sum = insn->op == IR_global_addr || opt_linear_add(l, &sum, v);
  return is_sum && sum.n_terms == 0 && (!sum.has_counter || opt_is_const(l->f, sum.counter.start));
}

/* The loop will be straight code, each turn has a constant descriptor in place of this one, and
 * there is a DSR for each of them. */
static bool makes_constants(const Keeper *k, uint32_t block, IrValue dsd, DsrFile file)
{
  uint32_t turns = turns_of_straight_code(k, block);
  Loop l = loop_of(k, block);
  bool all = turns > 0 && turns <= k->spare[file];
  for (; all && opt_insn(k->f, dsd)->op == IR_dsd_set; dsd = opt_insn(k->f, dsd)->args[0])
    all = is_known_in_turn(&l, opt_insn(k->f, dsd)->args[1]);
  return all && opt_insn(k->f, dsd)->op == IR_dsd_const;
}

/* Gives the operand a DSR of its own, whose fields are set in front of the operation. */
static bool make_operand(Keeper *k, uint32_t block, uint32_t *at, const IrInsn *insn,
                         IrVecOperand *o, DsrFile file)
{
  Made made;
  IrValue chain[LONGEST_CHAIN];
  unsigned n;
  uint32_t head;
  if (o->kind != IRV_DSD || k->left[file] == 0 ||
      makes_constants(k, block, insn->args[o->arg], file) ||
      !find_root(k, block, insn->args[o->arg], &head, &made, chain, &n))
    return false;
  put_changes(k, block, at, chain, n, &made);
  k->left[file]--;
  uint32_t number = k->next_number++;
  put_dsr_op(k, opt_loop_front(k->f, &k->cfg, head), IR_dsr_load, 0, file, number, made.root,
             opt_insn(k->f, made.root)->loc);
  put_set(k, block, at, DSRF_LENGTH, file, number, made.length);
  put_set(k, block, at, DSRF_STRIDE, file, number, made.stride);
  put_set(k, block, at, DSRF_BASE, file, number, made.base);
  o->kind = IRV_DSR;
  o->file = file;
  o->number = number;
  return true;
}

static bool keep_operands(Keeper *k, uint32_t block, const IrInsn *insn, IrVec *vec)
{
  bool in_place = is_in_place(insn);
  bool changed = keep_operand(k, block, insn, &vec->src0, DSR_SRC0);
  if (in_place && changed)
    vec->dest = vec->src0;
  else
    changed |= keep_operand(k, block, insn, &vec->dest, DSR_DEST);
  return keep_operand(k, block, insn, &vec->src1, DSR_SRC1) || changed;
}

static bool make_operands(Keeper *k, uint32_t block, uint32_t *at, const IrInsn *insn, IrVec *vec)
{
  bool in_place = is_in_place(insn);
  bool changed = make_operand(k, block, at, insn, &vec->src0, DSR_SRC0);
  if (in_place && changed)
    vec->dest = vec->src0;
  else
    changed |= make_operand(k, block, at, insn, &vec->dest, DSR_DEST);
  return make_operand(k, block, at, insn, &vec->src1, DSR_SRC1) || changed;
}

/* ---- operations -------------------------------------------------------------------- */

static void renumber_arg(uint32_t *index, const uint32_t *map)
{
  if (*index != IR_NO_ID)
    *index = map[*index];
}

/* Arguments that no operand names any more go. */
static void drop_unused_args(Keeper *k, IrValue v)
{
  IrInsn *insn = opt_insn(k->f, v);
  IrVec *vec = insn->u.vec;
  IrVecOperand *operands[] = {&vec->dest, &vec->src0, &vec->src1};
  uint32_t *map = arena_many(k->opt->arena, uint32_t, insn->n_args), n = 0;
  bool *used = arena_many(k->opt->arena, bool, insn->n_args);
  for (unsigned i = 0; i < ARRAY_COUNT(operands); i++)
    if (operands[i]->kind != IRV_NONE && operands[i]->kind != IRV_DSR)
      used[operands[i]->arg] = true;
  if (vec->scalar != IR_NO_ID)
    used[vec->scalar] = true;
  if (vec->index != IR_NO_ID)
    used[vec->index] = true;
  for (uint32_t i = 0; i < insn->n_args; i++) {
    map[i] = n;
    if (used[i])
      insn->args[n++] = insn->args[i];
  }
  insn->n_args = n;
  for (unsigned i = 0; i < ARRAY_COUNT(operands); i++)
    if (operands[i]->kind != IRV_NONE && operands[i]->kind != IRV_DSR)
      operands[i]->arg = map[operands[i]->arg];
  renumber_arg(&vec->scalar, map);
  renumber_arg(&vec->index, map);
}

static bool visit_vec(Keeper *k, uint32_t block, uint32_t at)
{
  IrValue v = k->f->blocks[block].insns[at];
  IrInsn insn = *opt_insn(k->f, v);
  if (!is_synchronous(k, &insn))
    return false;
  IrVec *vec = arena_new(k->m->arena, IrVec);
  *vec = *insn.u.vec;
  bool changed = keep_operands(k, block, &insn, vec);
  /* Else a load in front of the loop may be for nothing. */
  if (k->opt->level > 1 && cfg_runs_in_each_turn(&k->cfg, k->cfg.loop_head[block], block))
    changed |= make_operands(k, block, &at, &insn, vec);
  if (!changed)
    return false;
  opt_insn(k->f, v)->u.vec = vec;
  drop_unused_args(k, v);
  return true;
}

/* ---- descriptors that each turn changes -------------------------------------------- */

/* A parameter of a loop's head that is a descriptor, its changes on the way around, and the
 * operations that use it. */
typedef struct {
  IrValue param, start;
  uint32_t head, front, latch;
  unsigned n_changes;
  IrValue changes[LONGEST_CHAIN];          /* dsd_set instructions, the last one first */
} Carried;

static bool find_way_around(const Keeper *k, uint32_t head, Carried *c)
{
  c->head = head;
  c->front = opt_loop_front(k->f, &k->cfg, head);
  c->latch = IR_NO_ID;
  if (c->front == IR_NO_ID || cfg_pred_count(&k->cfg, head) != 2 || k->reenters[head])
    return false;
  for (uint32_t i = k->cfg.pred_at[head]; i < k->cfg.pred_at[head + 1]; i++)
    if (k->cfg.preds[i] != c->front)
      c->latch = k->cfg.preds[i];
  return c->latch != IR_NO_ID && opt_only_target(k->f, c->latch, head);
}

/* The changes lead from the parameter to what comes around, and serve nothing else. */
static bool find_changes(const Keeper *k, const uint32_t *uses, uint32_t index, Carried *c)
{
  c->param = k->f->blocks[c->head].params[index];
  c->start = opt_only_target(k->f, c->front, c->head)->args[index];
  c->n_changes = 0;
  IrValue v = opt_only_target(k->f, c->latch, c->head)->args[index];
  while (!ir_value_eq(v, c->param)) {
    const IrInsn *insn = opt_insn(k->f, v);
    if (insn->op != IR_dsd_set || !is_plain_field(insn->field) || uses[v.raw] != 1 ||
        c->n_changes == LONGEST_CHAIN)
      return false;
    c->changes[c->n_changes++] = v;
    v = insn->args[0];
  }
  return c->n_changes > 0;
}

/* Uses of the parameter by an operation that may run from DSRs. */
static uint32_t uses_in_vec(const Keeper *k, IrValue v, IrValue param)
{
  const IrInsn *insn = opt_insn(k->f, v);
  uint32_t n = 0;
  if (insn->op != IR_vec)
    return 0;
  for (uint32_t i = 0; i < insn->n_args; i++)
    n += ir_value_eq(insn->args[i], param);
  return n && is_synchronous(k, insn) ? n : 0;
}

typedef struct { uint32_t number[DSR_FILE_COUNT]; } Numbers;

/* Files that the operations want; false if some use of the parameter is of another kind. */
static bool find_files(const Keeper *k, const Carried *c, uint32_t n_uses, bool *wanted)
{
  uint32_t found = 1;                      /* the first change */
  for (uint32_t i = k->cfg.together_index[c->head]; i < k->cfg.loop_end[c->head]; i++) {
    uint32_t b = k->cfg.together[i];
    for (uint32_t at = 0; at < k->f->blocks[b].n_insns; at++) {
      IrValue v = k->f->blocks[b].insns[at];
      uint32_t n = uses_in_vec(k, v, c->param);
      if (!n)
        continue;
      const IrInsn *insn = opt_insn(k->f, v);
      const IrVecOperand *operands[] = {&insn->u.vec->dest, &insn->u.vec->src0,
                                        &insn->u.vec->src1};
      for (unsigned o = 0; o < ARRAY_COUNT(operands); o++)
        wanted[file_of(insn, o)] |= operands[o]->kind == IRV_DSD &&
                                    ir_value_eq(insn->args[operands[o]->arg], c->param);
      found += n;
    }
  }
  return found == n_uses;
}

static bool take_numbers(Keeper *k, const bool *wanted, Numbers *numbers)
{
  for (unsigned file = 0; file < DSR_FILE_COUNT; file++)
    if (wanted[file] && k->left[file] + k->reserved[file] == 0)
      return false;
  for (unsigned file = 0; file < DSR_FILE_COUNT; file++) {
    uint32_t *from = k->left[file] ? k->left : k->reserved;
    numbers->number[file] = wanted[file] ? k->next_number++ : 0;
    from[file] -= wanted[file];
  }
  return true;
}

static void use_numbers(Keeper *k, const Carried *c, const Numbers *numbers)
{
  for (uint32_t i = k->cfg.together_index[c->head]; i < k->cfg.loop_end[c->head]; i++) {
    uint32_t b = k->cfg.together[i];
    for (uint32_t at = 0; at < k->f->blocks[b].n_insns; at++) {
      IrValue v = k->f->blocks[b].insns[at];
      IrInsn *insn = opt_insn(k->f, v);
      if (!uses_in_vec(k, v, c->param))
        continue;
      const DsrFile files[] = {file_of(insn, 0), file_of(insn, 1), file_of(insn, 2)};
      IrVec *vec = arena_new(k->m->arena, IrVec);
      *vec = *insn->u.vec;
      insn->u.vec = vec;
      IrVecOperand *operands[] = {&vec->dest, &vec->src0, &vec->src1};
      for (unsigned o = 0; o < ARRAY_COUNT(operands); o++)
        if (operands[o]->kind == IRV_DSD && ir_value_eq(insn->args[operands[o]->arg], c->param)) {
          operands[o]->kind = IRV_DSR;
          operands[o]->file = files[o];
          operands[o]->number = numbers->number[files[o]];
        }
      drop_unused_args(k, v);
    }
  }
}

/* At the end of each turn, behind all uses, the DSR gets the changes. */
static void change_at_latch(Keeper *k, const Carried *c, const Numbers *numbers)
{
  for (unsigned file = 0; file < DSR_FILE_COUNT; file++)
    for (unsigned i = c->n_changes; numbers->number[file] && i-- > 0;) {
      const IrInsn change = *opt_insn(k->f, c->changes[i]);
      put_dsr_op(k, c->latch, IR_dsr_set, change.field, (DsrFile)file, numbers->number[file],
                 change.args[1], change.loc);
    }
}

/* Order of the operands' roles and of the files they take. */
_Static_assert(DSR_DEST == 0 && DSR_SRC0 == 1 && DSR_SRC1 == 2, "use_numbers");

static bool keep_carried(Keeper *k, uint32_t head)
{
  Carried c;
  bool changed = false;
  for (uint32_t index = 0; index < k->f->blocks[head].n_params; index++) {
    if (opt_insn(k->f, k->f->blocks[head].params[index])->type != IRT_DSD ||
        !find_way_around(k, head, &c))
      continue;
    const uint32_t *uses = opt_count_uses(k->f, k->opt->arena);
    bool wanted[DSR_FILE_COUNT] = {false};
    Numbers numbers;
    if (!find_changes(k, uses, index, &c) || !find_files(k, &c, uses[c.param.raw], wanted) ||
        uses[c.param.raw] == 1 || !take_numbers(k, wanted, &numbers))
      continue;
    use_numbers(k, &c, &numbers);
    for (unsigned file = 0; file < DSR_FILE_COUNT; file++)
      if (numbers.number[file])
        put_dsr_op(k, c.front, IR_dsr_load, 0, (DsrFile)file, numbers.number[file], c.start,
                   opt_terminator(k->f, c.front)->loc);
    change_at_latch(k, &c, &numbers);
    changed = true;
  }
  return changed;
}

/* ---- the pass ---------------------------------------------------------------------- */

static uint32_t total_left(const uint32_t *left)
{
  uint32_t n = 0;
  for (unsigned file = 0; file < DSR_FILE_COUNT; file++)
    n += left[file];
  return n;
}

/* Deep loops first: they gain most. */
static bool visit_function(Keeper *k)
{
  bool changed = false;
  uint32_t deepest = 0;
  cfg_build(&k->cfg, k->f, k->opt->arena);
  opt_drop_unreachable(k->f, &k->cfg);
  opt_make_fronts(k->opt, k->f, &k->cfg);
  k->block_of = opt_blocks_of_values(k->f, k->opt->arena);
  find_reentered(k);
  changed |= make_from_behind(k);
  k->held = arena_alloc(k->opt->arena, sizeof *k->held * total_left(k->left), 8);
  k->n_held = 0;
  for (uint32_t i = 0; i < k->cfg.n_rpo; i++)
    if (k->cfg.loop_depth[k->cfg.rpo[i]] > deepest)
      deepest = k->cfg.loop_depth[k->cfg.rpo[i]];
  for (uint32_t depth = deepest; depth > 0; depth--)
    for (uint32_t i = 0; i < k->cfg.n_rpo; i++) {
      uint32_t b = k->cfg.rpo[i];
      if (k->cfg.loop_head[b] == b && k->cfg.loop_depth[b] == depth)
        changed |= keep_carried(k, b);
      for (uint32_t at = 0; k->cfg.loop_depth[b] == depth && at < k->f->blocks[b].n_insns; at++)
        if (opt_insn(k->f, k->f->blocks[b].insns[at])->op == IR_vec)
          changed |= visit_vec(k, b, at);
    }
  return changed;
}

bool pass_dsd(Opt *opt)
{
  Keeper k = {.opt = opt, .m = opt->m};
  bool changed = false;
  find_budget(&k);
  for (uint32_t i = 0; i < opt->m->n_funcs; i++) {
    k.f = &opt->m->funcs[i];
    changed |= visit_function(&k);
  }
  return changed;
}
