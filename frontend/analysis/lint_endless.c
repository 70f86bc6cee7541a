/* Operations without an end that are not in the background: what follows them never runs.
 *
 * Published programs give such operations the largest extent.  A control wavelet may end one, and a
 * program that looks at the result knows that a FIFO may. */
#include "frontend/analysis/analysis_internal.h"

/* Does the operation take elements from the fabric without an end, in the thread that starts it? */
static bool holds_the_tile(const Operands *o)
{
  bool receives = false, is_decided = false, is_endless = false;
  for (size_t i = 0; i < ARRAY_COUNT(o->operand); i++) {
    const Descriptor *d = &o->known[i].desc;
    if (o->operand[i]->kind == IRV_DSR || (o->operand[i]->kind == IRV_DSD && !o->is_known[i]))
      return false;
    if (o->operand[i]->kind != IRV_DSD)
      continue;
    if (is_fabric_desc(d) && (d->flags & DESC_F_ASYNC || d->on_control.kind != ACT_NONE))
      return false;
    uint32_t n = o->known[i].is_length_known ? descriptor_length(d) : 1;
    if (!is_decided && n > 0) {
      is_decided = true;
      is_endless = n >= o->unbounded_length;
    }
    receives |= d->kind == DESC_FABIN;
  }
  return receives && is_endless;
}

static bool is_used(const IrFunc *f, uint32_t value)
{
  for (uint32_t i = 1; i < f->n_insns; i++) {
    const IrInsn *insn = &f->insns[i];
    for (uint32_t a = 0; a < insn->n_args && !insn->dead; a++)
      if (insn->args[a].raw == value)
        return true;
    for (uint32_t t = 0; t < ir_target_count(insn) && !insn->dead; t++)
      for (uint32_t a = 0; a < insn->u.targets[t].n_args; a++)
        if (insn->u.targets[t].args[a].raw == value)
          return true;
  }
  return false;
}

/* The first operation, call, store or activation behind instruction `at` of its block; NULL. */
static const IrInsn *next_step(const IrFunc *f, const IrBlock *block, uint32_t at)
{
  for (uint32_t i = at + 1; i < block->n_insns; i++) {
    const IrInsn *insn = &f->insns[block->insns[i].raw];
    bool is_step = insn->op == IR_vec || insn->op == IR_call || insn->op == IR_store ||
                   insn->op == IR_activate || insn->op == IR_unblock;
    if (is_step && !insn->dead && !ir_loc_is_none(insn->loc))
      return insn;
  }
  return NULL;
}

static void check_block(Sema *s, const IrFunc *f, const IrBlock *block)
{
  for (uint32_t i = 0; i < block->n_insns; i++) {
    const IrInsn *insn = &f->insns[block->insns[i].raw];
    Operands o;
    if (insn->dead || insn->op != IR_vec || ir_loc_is_none(insn->loc))
      continue;
    fabric_read_operands(s, f, NULL, insn, &o);
    const IrInsn *next = holds_the_tile(&o) ? next_step(f, block, i) : NULL;
    if (!next || is_used(f, block->insns[i].raw))
      continue;
    Span at = fabric_user_span(s, insn->loc);
    diag_endless_without_async(s->diags, at);
    diag_endless_next(s->diags, fabric_user_span(s, next->loc));
    diag_endless_help(s->diags, at);
  }
}

void lint_endless(Sema *s)
{
  for (uint32_t n = 0; n < s->ir->n_funcs; n++)
    for (uint32_t b = 0; b < s->ir->funcs[n].n_blocks; b++)
      check_block(s, &s->ir->funcs[n], &s->ir->funcs[n].blocks[b]);
}
