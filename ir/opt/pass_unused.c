/* unused: removes functions and globals that nothing can reach.
 *
 * The roots are everything that the machine or the host enters or names: tasks, exports, handlers,
 * functions whose address is taken, globals to keep, initial DSRs, and all tile slots (the loader's
 * blobs have a place for each). Ids are compacted afterwards. */
#include "ir/opt/opt.h"

#include <string.h>

typedef struct {
  IrModule *m;
  bool *funcs, *globals;
  uint32_t *work;            /* functions first, then globals: id or n_funcs + id */
  uint32_t n_work;
} Marker;

static void mark_func(Marker *k, uint32_t id)
{
  if (id == IR_NO_ID || k->funcs[id])
    return;
  k->funcs[id] = true;
  k->work[k->n_work++] = id;
}

static void mark_global(Marker *k, uint32_t id)
{
  if (id == IR_NO_ID || k->globals[id])
    return;
  k->globals[id] = true;
  k->work[k->n_work++] = k->m->n_funcs + id;
}

static void mark_roots(Marker *k)
{
  const IrModule *m = k->m;
  for (uint32_t i = 0; i < m->n_tasks; i++)
    mark_func(k, m->tasks[i].func.raw);
  for (uint32_t i = 0; i < m->n_bindings; i++)
    (m->bindings[i].is_func ? mark_func : mark_global)(k, m->bindings[i].target);
  for (uint32_t i = 0; i < m->n_dsrs; i++)
    mark_global(k, m->dsrs[i].desc.global.raw);
  for (uint32_t i = 0; i < m->n_tile_slots; i++)
    if (!m->tile_slots[i].is_param)
      mark_global(k, m->tile_slots[i].index);
  for (unsigned c = 0; c < MAX_COLORS; c++)
    mark_func(k, m->teardown_handler[c]);
  for (unsigned q = 0; q < 2 * MAX_QUEUES; q++)
    mark_func(k, m->empty_handler[q / MAX_QUEUES][q % MAX_QUEUES]);
  for (uint32_t i = 0; i < m->n_funcs; i++)
    if (m->funcs[i].address_taken)
      mark_func(k, i);
  for (uint32_t i = 0; i < m->n_globals; i++)
    if (m->globals[i].keep)
      mark_global(k, i);
}

static void mark_insn(Marker *k, const IrInsn *insn)
{
  switch ((int)insn->op) {
  case IR_call:
  case IR_func_addr: mark_func(k, insn->u.func.raw); break;
  case IR_global_addr: mark_global(k, insn->u.global.raw); break;
  case IR_dsd_const: mark_global(k, insn->u.desc->global.raw); break;
  default: break;
  }
}

static void mark_from_func(Marker *k, const IrFunc *f)
{
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++)
      mark_insn(k, opt_insn(f, f->blocks[b].insns[i]));
}

static void mark_from_global(Marker *k, const IrGlobal *g)
{
  for (uint32_t i = 0; i < g->n_relocs; i++)
    (g->relocs[i].is_func ? mark_func : mark_global)(k, g->relocs[i].target);
}

/* New ids of what stays; IR_NO_ID for the rest. */
static uint32_t *number_kept(Arena *arena, const bool *kept, uint32_t n)
{
  uint32_t *map = arena_many(arena, uint32_t, n), next = 0;
  for (uint32_t i = 0; i < n; i++)
    map[i] = kept[i] ? next++ : IR_NO_ID;
  return map;
}

static void renumber_insn(IrInsn *insn, const uint32_t *funcs, const uint32_t *globals)
{
  switch ((int)insn->op) {
  case IR_call:
  case IR_func_addr: insn->u.func.raw = funcs[insn->u.func.raw]; break;
  case IR_global_addr: insn->u.global.raw = globals[insn->u.global.raw]; break;
  case IR_dsd_const:
    if (!ir_global_is_none(insn->u.desc->global))
      insn->u.desc->global.raw = globals[insn->u.desc->global.raw];
    break;
  default: break;
  }
}

static void renumber_held(IrFunc *f, const uint32_t *globals)
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < f->n_held; i++)
    if (globals[f->held[i]] != IR_NO_ID)
      f->held[n++] = globals[f->held[i]];
  f->n_held = n;
}

static void renumber_funcs(IrModule *m, const uint32_t *funcs, const uint32_t *globals)
{
  for (uint32_t n = 0; n < m->n_funcs; n++) {
    const IrFunc *f = &m->funcs[n];
    renumber_held(&m->funcs[n], globals);
    for (uint32_t b = 0; b < f->n_blocks; b++)
      for (uint32_t i = 0; i < f->blocks[b].n_insns; i++)
        renumber_insn(opt_insn(f, f->blocks[b].insns[i]), funcs, globals);
  }
}

static void renumber_module(IrModule *m, const uint32_t *funcs, const uint32_t *globals)
{
  for (uint32_t i = 0; i < m->n_globals; i++)
    for (uint32_t r = 0; r < m->globals[i].n_relocs; r++) {
      IrReloc *reloc = &m->globals[i].relocs[r];
      reloc->target = (reloc->is_func ? funcs : globals)[reloc->target];
    }
  for (uint32_t i = 0; i < m->n_tasks; i++)
    m->tasks[i].func.raw = funcs[m->tasks[i].func.raw];
  for (uint32_t i = 0; i < m->n_bindings; i++) {
    IrBinding *b = &m->bindings[i];
    b->target = (b->is_func ? funcs : globals)[b->target];
  }
  for (uint32_t i = 0; i < m->n_dsrs; i++)
    if (!ir_global_is_none(m->dsrs[i].desc.global))
      m->dsrs[i].desc.global.raw = globals[m->dsrs[i].desc.global.raw];
  for (uint32_t i = 0; i < m->n_tile_slots; i++)
    if (!m->tile_slots[i].is_param)
      m->tile_slots[i].index = globals[m->tile_slots[i].index];
  for (unsigned c = 0; c < MAX_COLORS; c++)
    if (m->teardown_handler[c] != IR_NO_ID)
      m->teardown_handler[c] = funcs[m->teardown_handler[c]];
  for (unsigned q = 0; q < 2 * MAX_QUEUES; q++) {
    uint32_t *handler = &m->empty_handler[q / MAX_QUEUES][q % MAX_QUEUES];
    if (*handler != IR_NO_ID)
      *handler = funcs[*handler];
  }
}

/* Drops what is not kept, then gives what stays its new ids. */
static void compact_module(IrModule *m, Marker *k, Arena *arena)
{
  uint32_t *funcs = number_kept(arena, k->funcs, m->n_funcs);
  uint32_t *globals = number_kept(arena, k->globals, m->n_globals);
  uint32_t n_funcs = 0, n_globals = 0;
  for (uint32_t i = 0; i < m->n_funcs; i++)
    if (k->funcs[i])
      m->funcs[n_funcs++] = m->funcs[i];
  for (uint32_t i = 0; i < m->n_globals; i++)
    if (k->globals[i])
      m->globals[n_globals++] = m->globals[i];
  m->n_funcs = n_funcs;
  m->n_globals = n_globals;
  renumber_funcs(m, funcs, globals);
  renumber_module(m, funcs, globals);
}

bool pass_unused(Opt *opt)
{
  IrModule *m = opt->m;
  uint32_t n = m->n_funcs + m->n_globals;
  Marker k = {.m = m,
              .funcs = arena_many(opt->arena, bool, m->n_funcs),
              .globals = arena_many(opt->arena, bool, m->n_globals),
              .work = arena_many(opt->arena, uint32_t, n)};
  mark_roots(&k);
  for (uint32_t done = 0; done < k.n_work; done++) {
    uint32_t id = k.work[done];
    if (id < m->n_funcs)
      mark_from_func(&k, &m->funcs[id]);
    else
      mark_from_global(&k, &m->globals[id - m->n_funcs]);
  }
  if (k.n_work == n)
    return false;
  compact_module(m, &k, opt->arena);
  return true;
}
