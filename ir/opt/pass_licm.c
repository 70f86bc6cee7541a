/* licm: computes what a loop does not change once, in front of it.
 *
 * Pure values may be computed even if the loop would not have: none of them faults.  A load may
 * only if it is certain to lie inside its object, or if the loop's first block does it anyway;
 * and nothing in the loop may write what it reads. */
#include "ir/opt/opt.h"

/* Values that a loop's front computes stay in registers throughout; more than this and they would
 * not. */
enum { MOST_HOISTED = 8 };

typedef struct {
  Opt *opt;
  IrModule *m;
  IrFunc *f;
  Cfg cfg;
  uint32_t *block_of;        /* by value */
  Exposed exposed;
} Hoister;

/* ---- what may go there ------------------------------------------------------------- */

static void check_outside(IrValue *operand, void *context)
{
  void **c = context;
  const Hoister *h = c[0];
  const uint32_t *head = c[1];
  bool *outside = c[2];
  if (cfg_loop_contains(&h->cfg, *head, h->block_of[operand->raw]))
    *outside = false;
}

static bool operands_are_outside(Hoister *h, uint32_t head, IrInsn *insn)
{
  bool outside = true;
  void *context[3] = {h, &head, &outside};
  opt_each_operand(insn, check_outside, context);
  return outside;
}

static bool loop_may_write(const Hoister *h, uint32_t head, Address a, uint64_t bytes)
{
  for (uint32_t i = 0; i < h->cfg.n_rpo; i++) {
    uint32_t b = h->cfg.rpo[i];
    if (!cfg_loop_contains(&h->cfg, head, b))
      continue;
    for (uint32_t k = 0; k < h->f->blocks[b].n_insns; k++)
      if (opt_may_write(h->f, opt_insn(h->f, h->f->blocks[b].insns[k]), a, bytes,
                        h->exposed))
        return true;
  }
  return false;
}

static bool is_inside_object(const Hoister *h, Address a, uint64_t bytes)
{
  if (a.base == BASE_UNKNOWN || !a.offset_known || a.offset < 0)
    return false;
  uint64_t size = a.base == BASE_GLOBAL ? h->m->globals[a.object].bytes
                                        : h->f->insns[a.object].imm;
  return (uint64_t)a.offset + bytes <= size;
}

static bool load_is_fixed(Hoister *h, uint32_t head, uint32_t block, const IrInsn *insn)
{
  Address a = opt_address(h->f, insn->args[0]);
  unsigned bytes = ir_type_bytes(insn->type);
  return (block == head || is_inside_object(h, a, bytes)) && !loop_may_write(h, head, a, bytes);
}

/* What costs no register: it can be made again (see sink), or it is a descriptor in memory. */
static bool is_free(const IrInsn *insn)
{
  return insn->op == IR_const || insn->op == IR_global_addr || insn->op == IR_func_addr ||
         insn->op == IR_dsd_const || insn->op == IR_dsd_set;
}

/* A descriptor in memory is loaded into a DSR from where it stands; computed in front it would be
 * copied to the stack first.  Changes of constants go there for `dsd` to find. */
static bool is_better_in_place(const IrFunc *f, const IrInsn *insn)
{
  if (ir_type_bits(insn->type) || insn->op == IR_dsd_const)
    return false;
  while (insn->op == IR_dsd_set)
    insn = opt_insn(f, insn->args[0]);
  return insn->op != IR_dsd_const;
}

static bool may_hoist(Hoister *h, uint32_t head, uint32_t block, IrInsn *insn)
{
  if ((!ir_op_is_pure(insn->op) && insn->op != IR_load) || is_better_in_place(h->f, insn))
    return false;
  if (!operands_are_outside(h, head, insn))
    return false;
  return insn->op != IR_load || load_is_fixed(h, head, block, insn);
}

static bool hoist_from_block(Hoister *h, uint32_t head, uint32_t front, uint32_t block,
                             uint32_t *n_hoisted)
{
  IrBlock *b = &h->f->blocks[block], *to = &h->f->blocks[front];
  uint32_t n = 0, before = b->n_insns;
  for (uint32_t i = 0; i < before; i++) {
    IrValue v = b->insns[i];
    IrInsn *insn = opt_insn(h->f, v);
    bool costs = !is_free(insn);
    if ((costs && *n_hoisted == MOST_HOISTED) || !may_hoist(h, head, block, insn)) {
      b->insns[n++] = v;
      continue;
    }
    *n_hoisted += costs;
    h->block_of[v.raw] = front;
    insn->loc = opt_terminator(h->f, front)->loc;      /* no line stands in front of itself */
    opt_insert(h->m, to, to->n_insns - 1, v);
  }
  b->n_insns = n;
  return n != before;
}

static bool hoist_from_loop(Hoister *h, uint32_t head)
{
  bool changed = false;
  uint32_t front = opt_loop_front(h->f, &h->cfg, head), n_hoisted = 0;
  for (uint32_t i = h->cfg.rpo_index[head]; i < h->cfg.n_rpo && front != IR_NO_ID; i++) {
    uint32_t b = h->cfg.rpo[i];
    if (cfg_loop_contains(&h->cfg, head, b))
      changed |= hoist_from_block(h, head, front, b, &n_hoisted);
  }
  return changed;
}

/* Inner loops first: what leaves one may leave the next. */
bool pass_licm(Opt *opt, IrFunc *f)
{
  Hoister h = {.opt = opt, .m = opt->m, .f = f};
  cfg_build(&h.cfg, f, opt->arena);
  opt_drop_unreachable(f, &h.cfg);
  bool changed = opt_make_fronts(opt, f, &h.cfg);
  h.exposed = opt_exposed(opt, f);
  h.block_of = opt_blocks_of_values(f, opt->arena);
  for (uint32_t i = h.cfg.n_rpo; i-- > 0;)
    if (h.cfg.loop_head[h.cfg.rpo[i]] == h.cfg.rpo[i])
      changed |= hoist_from_loop(&h, h.cfg.rpo[i]);
  opt->invariants_are_out = true;
  return changed;
}
