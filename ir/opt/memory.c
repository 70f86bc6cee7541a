/* What an address points to and what may change it.
 *
 * Vector operations may continue in the background, and other tasks run after this one ends. So a
 * vector operation may read and write every exposed object, and a call also every global. */
#include "ir/opt/opt.h"

Address opt_address(const IrFunc *f, IrValue v)
{
  Address a = {.base = BASE_UNKNOWN, .offset_known = true, .pointer = v.raw};
  uint64_t offset = 0;
  const IrInsn *insn = opt_insn(f, v);
  for (; insn->op == IR_ptr_add; insn = opt_insn(f, v)) {
    const IrInsn *by = opt_insn(f, insn->args[1]);
    if (by->op == IR_const)
      offset += by->imm;
    else
      a.offset_known = false;
    v = insn->args[0];
  }
  a.object = v.raw;
  if (insn->op == IR_alloca) {
    a.base = BASE_ALLOCA;
  } else if (insn->op == IR_global_addr) {
    a.base = BASE_GLOBAL;
    a.object = insn->u.global.raw;
    offset += insn->imm;
  }
  a.offset = (int64_t)(offset & opt_mask(IRT_PTR));
  return a;
}

/* ---- exposed objects --------------------------------------------------------------- */

typedef struct {
  const IrFunc *f;
  bool *allocas, *globals;   /* either may be NULL: not wanted */
} ExposureScan;

static void expose_value(ExposureScan *s, IrValue v)
{
  Address a = opt_address(s->f, v);
  if (a.base == BASE_ALLOCA && s->allocas)
    s->allocas[a.object] = true;
  if (a.base == BASE_GLOBAL && s->globals)
    s->globals[a.object] = true;
}

static void scan_insn(ExposureScan *s, const IrInsn *insn)
{
  uint32_t n = ir_target_count(insn);
  for (uint32_t t = 0; t < n; t++)
    for (uint32_t i = 0; i < insn->u.targets[t].n_args; i++)
      expose_value(s, insn->u.targets[t].args[i]);
  switch ((int)insn->op) {
  case IR_load:
  case IR_zero:
  case IR_copy:
  case IR_eq:
  case IR_ne: return;
  case IR_ptr_add: return;                 /* its own uses count */
  case IR_store: expose_value(s, insn->args[1]); return;
  case IR_dsd_const:
    if (s->globals && !ir_global_is_none(insn->u.desc->global))
      s->globals[insn->u.desc->global.raw] = true;
    return;
  default:
    for (uint32_t i = 0; i < insn->n_args; i++)
      expose_value(s, insn->args[i]);
  }
}

static void scan_function(ExposureScan *s)
{
  const IrFunc *f = s->f;
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++)
      scan_insn(s, opt_insn(f, f->blocks[b].insns[i]));
}

/* The host looks at exported globals, and writes them, between tasks: no concern of -O2, which
 * knows what a task's own code does with them.  -O1 reads and writes them where the source does. */
static void expose_exports(const IrModule *m, bool *globals)
{
  for (uint32_t i = 0; i < m->n_globals; i++)
    globals[i] |= m->globals[i].keep;
  for (uint32_t i = 0; i < m->n_bindings; i++)
    if (!m->bindings[i].is_func)
      globals[m->bindings[i].target] = true;
}

static bool *find_exposed_globals(const IrModule *m, int level, Arena *arena)
{
  ExposureScan s = {.globals = arena_many(arena, bool, m->n_globals)};
  for (uint32_t n = 0; n < m->n_funcs; n++) {
    s.f = &m->funcs[n];
    scan_function(&s);
  }
  for (uint32_t i = 0; i < m->n_globals; i++) {
    s.globals[i] |= m->globals[i].has_address;
    for (uint32_t r = 0; r < m->globals[i].n_relocs; r++)
      if (!m->globals[i].relocs[r].is_func)
        s.globals[m->globals[i].relocs[r].target] = true;
  }
  if (level < 2)
    expose_exports(m, s.globals);
  for (uint32_t i = 0; i < m->n_dsrs; i++)
    if (!ir_global_is_none(m->dsrs[i].desc.global))
      s.globals[m->dsrs[i].desc.global.raw] = true;
  return s.globals;
}

const bool *opt_exposed_globals(Opt *opt)
{
  if (!opt->exposed_globals)
    opt->exposed_globals = find_exposed_globals(opt->m, opt->level, opt->pass_arena);
  return opt->exposed_globals;
}

Exposed opt_exposed(Opt *opt, const IrFunc *f)
{
  ExposureScan s = {.f = f, .allocas = arena_many(opt->arena, bool, f->n_insns)};
  scan_function(&s);
  return (Exposed){.allocas = s.allocas, .globals = opt_exposed_globals(opt)};
}

/* ---- aliases ----------------------------------------------------------------------- */

/* Can an access through an unknown pointer or a vector operation reach the object? */
static bool is_exposed(Address a, Exposed exposed)
{
  switch (a.base) {
  case BASE_ALLOCA: return exposed.allocas[a.object];
  case BASE_GLOBAL: return exposed.globals[a.object];
  case BASE_UNKNOWN: return true;
  }
  return true;
}

bool opt_may_alias(Address a, uint64_t a_bytes, Address b, uint64_t b_bytes, Exposed exposed)
{
  if (a.base == BASE_UNKNOWN && b.base == BASE_UNKNOWN) {
    if (a.object != b.object)
      return true;
  } else if (a.base == BASE_UNKNOWN || b.base == BASE_UNKNOWN) {
    return is_exposed(a, exposed) && is_exposed(b, exposed);
  } else if (a.base != b.base || a.object != b.object) {
    return false;
  }
  if (!a.offset_known || !b.offset_known || !a_bytes || !b_bytes)
    return true;
  uint64_t mask = opt_mask(IRT_PTR);
  return ((uint64_t)(b.offset - a.offset) & mask) < a_bytes ||
         ((uint64_t)(a.offset - b.offset) & mask) < b_bytes;
}

bool opt_writes_memory(const IrInsn *insn)
{
  switch ((int)insn->op) {
  case IR_store:
  case IR_copy:
  case IR_zero:
  case IR_counter:
  case IR_call:
  case IR_call_ptr: return true;
  default: return ir_op_is(insn->op, IRE_WRITES | IRE_STALLS);
  }
}

bool opt_may_write(const IrFunc *f, const IrInsn *insn, Address to, uint64_t bytes,
                   Exposed exposed)
{
  switch ((int)insn->op) {
  case IR_store: {
    Address a = opt_address(f, insn->args[0]);
    unsigned size = ir_type_bytes(opt_insn(f, insn->args[1])->type);
    return opt_may_alias(a, size, to, bytes, exposed);
  }
  case IR_copy:
  case IR_zero:
    return insn->imm &&
           opt_may_alias(opt_address(f, insn->args[0]), insn->imm, to, bytes, exposed);
  case IR_counter:
    return opt_may_alias(opt_address(f, insn->args[0]), ir_type_bytes(IRT_I16), to, bytes,
                         exposed);
  case IR_call:
  case IR_call_ptr: return to.base != BASE_ALLOCA || is_exposed(to, exposed);
  default: return ir_op_is(insn->op, IRE_WRITES | IRE_STALLS) && is_exposed(to, exposed);
  }
}

/* ---- constant data ----------------------------------------------------------------- */

bool opt_differs_by_tile(const IrModule *m, uint32_t global)
{
  for (uint32_t i = 0; i < m->n_tile_slots; i++)
    if (!m->tile_slots[i].is_param && m->tile_slots[i].index == global)
      return true;
  return false;
}

/* The one relocation that touches the bytes; *n counts them. */
static const IrReloc *find_relocs(const IrGlobal *g, uint64_t at, uint64_t bytes, uint32_t *n)
{
  const IrReloc *found = NULL;
  *n = 0;
  for (uint32_t i = 0; i < g->n_relocs; i++)
    if (g->relocs[i].offset < at + bytes &&
        at < (uint64_t)g->relocs[i].offset + ir_type_bytes(IRT_PTR)) {
      found = &g->relocs[i];
      ++*n;
    }
  return found;
}

static bool is_constant_data(const IrModule *m, uint32_t global, int64_t offset, uint64_t bytes)
{
  const IrGlobal *g = &m->globals[global];
  return g->is_const && !g->has_address && !opt_differs_by_tile(m, global) && offset >= 0 &&
         (uint64_t)offset + bytes <= g->bytes;
}

static uint64_t initial_bits(const IrGlobal *g, uint64_t offset, unsigned bytes)
{
  uint64_t bits = 0;
  for (unsigned i = bytes; g->init && i-- > 0;)
    bits = bits << 8 | g->init[offset + i];
  return bits;
}

bool opt_constant_data(const IrModule *m, uint32_t global, int64_t offset, unsigned bytes,
                       uint64_t *bits)
{
  const IrGlobal *g = &m->globals[global];
  uint32_t n_relocs;
  if (!is_constant_data(m, global, offset, bytes))
    return false;
  find_relocs(g, (uint64_t)offset, bytes, &n_relocs);
  *bits = initial_bits(g, (uint64_t)offset, bytes);
  return n_relocs == 0;
}

IrDesc *opt_constant_descriptor(const IrModule *m, uint32_t global, int64_t offset)
{
  enum { MOST_WORDS = 12, BASE_OFFSET = 2 };
  const IrGlobal *g = &m->globals[global];
  unsigned bytes = ir_type_bytes(IRT_DSD), word_bytes = ir_type_bytes(IRT_I16);
  uint16_t words[MOST_WORDS];
  uint32_t n_relocs;
  Descriptor desc;
  if (!is_constant_data(m, global, offset, bytes))
    return NULL;
  for (unsigned i = 0; i < bytes / word_bytes; i++)
    words[i] = (uint16_t)initial_bits(g, (uint64_t)offset + i * word_bytes, word_bytes);
  const IrReloc *reloc = find_relocs(g, (uint64_t)offset, bytes, &n_relocs);
  bool is_based = n_relocs == 1 && !reloc->is_func && reloc->offset == offset + BASE_OFFSET;
  if ((n_relocs && !is_based) || !descriptor_decode(words, bytes / word_bytes, &desc))
    return NULL;
  if (desc.kind != DESC_MEM1D && desc.kind != DESC_FABIN && desc.kind != DESC_FABOUT)
    return NULL;
  IrDesc *found = arena_new(m->arena, IrDesc);
  *found = (IrDesc){.desc = desc, .global = {is_based ? reloc->target : IR_NO_ID}};
  if (is_based)
    found->desc.base = (uint16_t)reloc->addend;
  return found;
}
