/* Operations without .async that move more elements than their FIFO has room for.
 *
 * Such an operation ends as soon as the FIFO is full, or empty, and returns false.  A FIFO whose
 * other end works in the background may have room again in time, and a program that looks at the
 * result knows what it does. */
#include "frontend/analysis/analysis_internal.h"

#include <stb_ds.h>

/* What the program does with one FIFO. */
typedef struct {
  bool is_vague;                 /* its descriptor goes where no operation shows it */
  bool in_background[2];         /* an operation there may take elements (0), or add some (1) */
} FifoUse;

typedef struct {
  Sema *s;
  uint32_t *fifo_of;             /* by global of the IR: 1 + FIFO with that state block */
  FifoUse *uses;                 /* by FIFO */
} FifoLint;

static bool runs_in_background(const Operands *o)
{
  for (size_t i = 0; i < ARRAY_COUNT(o->operand); i++) {
    IrVecOperandKind kind = o->operand[i]->kind;
    if (kind == IRV_DSR || (kind == IRV_DSD && !o->is_known[i]))
      return true;
    if (o->is_known[i] && o->known[i].desc.flags & DESC_F_ASYNC)
      return true;
  }
  return false;
}

/* The FIFO of an operand; -1: it has none. */
static int fifo_at(const FifoLint *l, const Operands *o, const IrVecOperand *operand)
{
  for (size_t i = 0; i < ARRAY_COUNT(o->operand); i++)
    if (o->operand[i] == operand && o->is_known[i] && o->known[i].desc.kind == DESC_FIFO)
      return (int)l->fifo_of[o->known[i].global.raw] - 1;
  return -1;
}

static void note_vec(const FifoLint *l, const IrFunc *f, const IrInsn *insn)
{
  Operands o;
  fabric_read_operands(l->s, f, NULL, insn, &o);
  if (!runs_in_background(&o))
    return;
  int into = fifo_at(l, &o, &insn->u.vec->dest), out_of = fifo_at(l, &o, &insn->u.vec->src1);
  if (into >= 0)
    l->uses[into].in_background[1] = true;
  if (out_of >= 0)
    l->uses[out_of].in_background[0] = true;
}

static void note_args(const FifoLint *l, const IrFunc *f, const IrValue *args, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++) {
    const IrInsn *value = &f->insns[args[i].raw];
    bool is_state = value->op == IR_global_addr;
    if (!is_state && (value->op != IR_dsd_const || value->u.desc->desc.kind != DESC_FIFO))
      continue;
    uint32_t fifo = l->fifo_of[is_state ? value->u.global.raw : value->u.desc->global.raw];
    if (fifo > 0)
      l->uses[fifo - 1].is_vague = true;
  }
}

static void note_function(const FifoLint *l, const IrFunc *f)
{
  for (uint32_t i = 1; i < f->n_insns; i++) {
    const IrInsn *insn = &f->insns[i];
    if (insn->dead)
      continue;
    if (insn->op == IR_vec)
      note_vec(l, f, insn);
    else
      note_args(l, f, insn->args, insn->n_args);
    for (uint32_t t = 0; t < ir_target_count(insn); t++)
      note_args(l, f, insn->u.targets[t].args, insn->u.targets[t].n_args);
  }
}

/* By value of the function: whether anything takes it. */
static const bool *used_values(const FifoLint *l, const IrFunc *f)
{
  bool *used = arena_many(l->s->arena, bool, f->n_insns + 1);
  for (uint32_t i = 1; i < f->n_insns; i++) {
    const IrInsn *insn = &f->insns[i];
    for (uint32_t a = 0; a < insn->n_args && !insn->dead; a++)
      used[insn->args[a].raw] = true;
    for (uint32_t t = 0; t < ir_target_count(insn) && !insn->dead; t++)
      for (uint32_t a = 0; a < insn->u.targets[t].n_args; a++)
        used[insn->u.targets[t].args[a].raw] = true;
  }
  return used;
}

/* `adds`: the FIFO is the operation's destination. */
static void warn_of_rest(const FifoLint *l, const IrInsn *insn, const Operands *o, bool adds)
{
  int number = fifo_at(l, o, adds ? &insn->u.vec->dest : &insn->u.vec->src1);
  uint16_t length = fabric_operation_length(o);
  if (number < 0 || l->uses[number].is_vague || l->uses[number].in_background[!adds])
    return;
  const Fifo *fifo = &l->s->setup->fifos[number];
  if (fifo->flags != 0 || length <= fifo->capacity)
    return;
  Span at = fabric_user_span(l->s, insn->loc);
  diag_fifo_too_small(l->s->diags, at, length, fifo->capacity, adds ? "full" : "empty");
  diag_fifo_too_small_help(l->s->diags, at);
}

static void check_function(const FifoLint *l, const IrFunc *f)
{
  const bool *used = used_values(l, f);
  for (uint32_t i = 1; i < f->n_insns; i++) {
    const IrInsn *insn = &f->insns[i];
    Operands o;
    if (insn->dead || insn->op != IR_vec || used[i])
      continue;
    fabric_read_operands(l->s, f, NULL, insn, &o);
    if (runs_in_background(&o))
      continue;
    warn_of_rest(l, insn, &o, true);
    warn_of_rest(l, insn, &o, false);
  }
}

void lint_fifos(Sema *s)
{
  const MachineSetup *setup = s->setup;
  const IrModule *ir = s->ir;
  uint32_t n = (uint32_t)arrlenu(setup->fifos);
  if (n == 0)
    return;
  FifoLint l = {.s = s, .fifo_of = arena_many(s->arena, uint32_t, ir->n_globals + 1),
                .uses = arena_many(s->arena, FifoUse, n)};
  for (uint32_t i = 0; i < n; i++)
    l.fifo_of[s->globals[setup->fifos[i].state].ir.raw] = i + 1;
  for (uint32_t i = 0; i < ir->n_dsrs; i++)      /* a FIFO in registers of the program's choice */
    if (ir->dsrs[i].desc.desc.kind == DESC_FIFO && l.fifo_of[ir->dsrs[i].desc.global.raw] > 0)
      l.uses[l.fifo_of[ir->dsrs[i].desc.global.raw] - 1].is_vague = true;
  for (uint32_t f = 0; f < ir->n_funcs; f++)
    note_function(&l, &ir->funcs[f]);
  for (uint32_t f = 0; f < ir->n_funcs; f++)
    check_function(&l, &ir->funcs[f]);
}
