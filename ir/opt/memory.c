/* What an address points to and what may change it.
 *
 * Vector operations may run on behind the main thread's back and other tasks run once this one
 * ends: a vector operation or a call may read and write every object whose address it could know,
 * that is all globals and every alloca that escapes. */
#include "ir/opt/opt.h"

static int64_t signed16(uint64_t bits)
{
  return (int64_t)((bits ^ 0x8000) & 0xffff) - 0x8000;
}

Address opt_address(const IrModule *m, const IrFunc *f, IrValue v)
{
  Address a = {.base = BASE_UNKNOWN, .offset_known = true};
  (void)m;
  for (;;) {
    const IrInsn *insn = opt_insn(f, v);
    if (insn->op == IR_alloca) {
      a.base = BASE_ALLOCA;
      a.object = v.raw;
      return a;
    }
    if (insn->op == IR_global_addr) {
      a.base = BASE_GLOBAL;
      a.object = insn->u.global.raw;
      a.offset += (int64_t)insn->imm;
      return a;
    }
    if (insn->op != IR_ptr_add) {
      a.object = v.raw;
      return a;
    }
    const IrInsn *by = opt_insn(f, insn->args[1]);
    if (by->op == IR_const)
      a.offset += signed16(by->imm);
    else
      a.offset_known = false;
    v = insn->args[0];
  }
}

typedef struct {
  const IrFunc *f;
  bool *escapes;
} EscapeScan;

static void escape(EscapeScan *s, IrValue v)
{
  Address a = opt_address(NULL, s->f, v);
  if (a.base == BASE_ALLOCA)
    s->escapes[a.object] = true;
}

static void scan_insn(EscapeScan *s, const IrInsn *insn)
{
  uint32_t n = insn->op == IR_br ? 1 : insn->op == IR_cond_br ? 2 : 0;
  for (uint32_t t = 0; t < n; t++)
    for (uint32_t i = 0; i < insn->u.targets[t].n_args; i++)
      escape(s, insn->u.targets[t].args[i]);
  switch ((int)insn->op) {
  case IR_load:
  case IR_zero:
  case IR_copy:
  case IR_counter:
  case IR_eq:
  case IR_ne: return;
  case IR_ptr_add: return;                 /* its own uses count */
  case IR_store: escape(s, insn->args[1]); return;
  default:
    for (uint32_t i = 0; i < insn->n_args; i++)
      escape(s, insn->args[i]);
  }
}

bool *opt_escapes(const IrFunc *f, Arena *arena)
{
  EscapeScan s = {.f = f, .escapes = arena_many(arena, bool, f->n_insns)};
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++)
      scan_insn(&s, opt_insn(f, f->blocks[b].insns[i]));
  return s.escapes;
}

/* Can an access through an unknown pointer, a vector operation or a call reach the object? */
static bool is_exposed(Address a, const bool *escapes)
{
  return a.base != BASE_ALLOCA || escapes[a.object];
}

bool opt_may_alias(Address a, uint64_t a_bytes, Address b, uint64_t b_bytes, const bool *escapes)
{
  if (a.base == BASE_UNKNOWN && b.base == BASE_UNKNOWN) {
    if (a.object != b.object)
      return true;
  } else if (a.base == BASE_UNKNOWN || b.base == BASE_UNKNOWN) {
    return is_exposed(a, escapes) && is_exposed(b, escapes);
  } else if (a.base != b.base || a.object != b.object) {
    return false;
  }
  if (!a.offset_known || !b.offset_known || !a_bytes || !b_bytes)
    return true;
  return a.offset < b.offset + (int64_t)b_bytes && b.offset < a.offset + (int64_t)a_bytes;
}

bool opt_may_write(const IrModule *m, const IrFunc *f, const IrInsn *insn, Address to,
                   uint64_t bytes, const bool *escapes)
{
  switch ((int)insn->op) {
  case IR_store: {
    Address a = opt_address(m, f, insn->args[0]);
    unsigned size = ir_type_bytes(opt_insn(f, insn->args[1])->type);
    return opt_may_alias(a, size, to, bytes, escapes);
  }
  case IR_copy:
  case IR_zero:
    return insn->imm &&
           opt_may_alias(opt_address(m, f, insn->args[0]), insn->imm, to, bytes, escapes);
  case IR_counter:
    return opt_may_alias(opt_address(m, f, insn->args[0]), ir_type_bytes(IRT_I16), to, bytes,
                         escapes);
  default: return ir_op_is(insn->op, IRE_WRITES | IRE_STALLS) && is_exposed(to, escapes);
  }
}
