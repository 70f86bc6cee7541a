/* dsd: keeps a descriptor that a loop does not change in a DSR, loaded in front of the loop.
 *
 * Only for descriptors that an operation leaves as it found them (memory in one dimension and
 * the fabric, without saved addresses and single steps) and that run synchronously: an operation
 * that goes on in the background owns its DSR until it ends.  The code generator gives the
 * virtual DSRs numbers that nothing else uses; enough must be left for its temporaries. */
#include "ir/opt/opt.h"

/* DSRs of each file that stay free for the temporaries of single operations. */
enum { DSRS_KEPT = 5, LONGEST_CHAIN = 8 };

typedef struct {
  Opt *opt;
  IrModule *m;
  IrFunc *f;
  Cfg cfg;
  uint32_t *block_of;
  uint32_t left[DSR_FILE_COUNT];
  uint32_t next_number;
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

static void find_budget(Keeper *k)
{
  bool *seen = arena_many(k->opt->arena, bool, DSR_FILE_COUNT * MAX_DSRS);
  const IrModule *m = k->m;
  k->next_number = IR_VIRTUAL_DSR;
  for (unsigned file = 0; file < DSR_FILE_COUNT; file++)
    k->left[file] = machine_get(m->arch)->dsrs_per_file - DSRS_KEPT;
  for (uint32_t i = 0; i < m->n_dsrs; i++)
    count_dsr(k, m->dsrs[i].file, m->dsrs[i].number, seen);
  for (uint32_t n = 0; n < m->n_funcs; n++)
    for (uint32_t b = 0; b < m->funcs[n].n_blocks; b++)
      for (uint32_t i = 0; i < m->funcs[n].blocks[b].n_insns; i++)
        count_insn(k, opt_insn(&m->funcs[n], m->funcs[n].blocks[b].insns[i]), seen);
}

/* ---- which ------------------------------------------------------------------------- */

/* The constant that the value is made from by changes of length, stride and base, or NULL. */
static const Descriptor *plain_root(const IrFunc *f, IrValue v)
{
  for (unsigned i = 0; i < LONGEST_CHAIN; i++) {
    const IrInsn *insn = opt_insn(f, v);
    if (insn->op == IR_dsd_const)
      return &insn->u.desc->desc;
    if (insn->op != IR_dsd_set ||
        !(insn->field == DSRF_LENGTH || insn->field == DSRF_STRIDE ||
          insn->field == DSRF_BASE || insn->field == DSRF_BASE_ADD))
      return NULL;
    v = insn->args[0];
  }
  return NULL;
}

static bool stays_as_it_is(const IrFunc *f, IrValue v)
{
  const unsigned changes = DESC_F_ASYNC | DESC_F_SAVE | DESC_F_STEP;
  const Descriptor *d = plain_root(f, v);
  return d && !(d->flags & changes) &&
         (d->kind == DESC_MEM1D || d->kind == DESC_FABIN || d->kind == DESC_FABOUT);
}

/* The outermost loop around the block that the value comes from outside of, or IR_NO_ID. */
static uint32_t loop_to_leave(const Keeper *k, uint32_t block, IrValue v)
{
  uint32_t found = IR_NO_ID;
  for (uint32_t h = k->cfg.loop_head[block]; h != IR_NO_ID; h = k->cfg.loop_parent[h]) {
    if (cfg_loop_contains(&k->cfg, h, k->block_of[v.raw]) ||
        opt_loop_front(k->f, &k->cfg, h) == IR_NO_ID)
      break;
    found = h;
  }
  return found;
}

/* Does every descriptor of the operation stay as it is?  One operand is enough to send it to the
 * background, and what an explicit DSR holds is not known here. */
static bool is_synchronous(const IrFunc *f, const IrInsn *insn)
{
  const IrVec *vec = insn->u.vec;
  const IrVecOperand *operands[] = {&vec->dest, &vec->src0, &vec->src1};
  for (unsigned i = 0; i < ARRAY_COUNT(operands); i++)
    if (operands[i]->kind == IRV_DSR ||
        (operands[i]->kind == IRV_DSD && !stays_as_it_is(f, insn->args[operands[i]->arg])))
      return false;
  return true;
}

/* ---- rewriting --------------------------------------------------------------------- */

/* The number of a DSR that holds the descriptor throughout the loop, or 0 if none is left. */
static uint32_t dsr_for(Keeper *k, IrValue dsd, DsrFile file, uint32_t head)
{
  for (uint32_t i = 0; i < k->n_held; i++)
    if (k->held[i].dsd.raw == dsd.raw && k->held[i].file == file && k->held[i].head == head)
      return k->held[i].number;
  if (k->left[file] == 0)
    return 0;
  k->left[file]--;
  uint32_t number = k->next_number++, front = opt_loop_front(k->f, &k->cfg, head);
  IrInsn load = {.op = IR_dsr_load, .aux = (uint32_t)file << 16 | number, .n_args = 1,
                 .args = &dsd, .loc = opt_insn(k->f, dsd)->loc};
  IrValue v = opt_add(k->m, k->f, &load);
  IrBlock *b = &k->f->blocks[front];
  opt_insert(k->m, b, b->n_insns - 1, v);
  k->held[k->n_held].dsd = dsd;
  k->held[k->n_held].file = file;
  k->held[k->n_held].head = head;
  k->held[k->n_held++].number = number;
  return number;
}

static bool keep_operand(Keeper *k, uint32_t block, const IrInsn *insn, IrVecOperand *o,
                         DsrFile file)
{
  if (o->kind != IRV_DSD)
    return false;
  IrValue dsd = insn->args[o->arg];
  uint32_t head = loop_to_leave(k, block, dsd);
  uint32_t number = head == IR_NO_ID ? 0 : dsr_for(k, dsd, file, head);
  if (!number)
    return false;
  o->kind = IRV_DSR;
  o->file = file;
  o->number = number;
  return true;
}

static void renumber(uint32_t *index, const uint32_t *map)
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
  renumber(&vec->scalar, map);
  renumber(&vec->index, map);
}

static bool visit_vec(Keeper *k, uint32_t block, IrValue v)
{
  IrInsn insn = *opt_insn(k->f, v);
  if (!is_synchronous(k->f, &insn))
    return false;
  IrVec *vec = arena_new(k->m->arena, IrVec);     /* inlined copies share theirs */
  *vec = *insn.u.vec;
  bool changed = keep_operand(k, block, &insn, &vec->dest, DSR_DEST);
  changed |= keep_operand(k, block, &insn, &vec->src0, DSR_SRC0);
  changed |= keep_operand(k, block, &insn, &vec->src1, DSR_SRC1);
  if (!changed)
    return false;
  opt_insn(k->f, v)->u.vec = vec;
  drop_unused_args(k, v);
  return true;
}

static uint32_t total(const uint32_t *left)
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
  opt_drop_unreachable(k->f, k->opt->arena);
  cfg_build(&k->cfg, k->f, k->opt->arena);
  opt_make_fronts(k->opt, k->f, &k->cfg);
  k->block_of = opt_blocks_of_values(k->f, k->opt->arena);
  k->held = arena_alloc(k->opt->arena, sizeof *k->held * total(k->left), 8);
  k->n_held = 0;
  for (uint32_t i = 0; i < k->cfg.n_rpo; i++)
    if (k->cfg.loop_depth[k->cfg.rpo[i]] > deepest)
      deepest = k->cfg.loop_depth[k->cfg.rpo[i]];
  for (uint32_t depth = deepest; depth > 0; depth--)
    for (uint32_t i = 0; i < k->cfg.n_rpo; i++) {
      uint32_t b = k->cfg.rpo[i];
      for (uint32_t at = 0; k->cfg.loop_depth[b] == depth && at < k->f->blocks[b].n_insns; at++)
        if (opt_insn(k->f, k->f->blocks[b].insns[at])->op == IR_vec)
          changed |= visit_vec(k, b, k->f->blocks[b].insns[at]);
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
