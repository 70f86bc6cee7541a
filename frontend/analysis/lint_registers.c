/* What explicit DSRs hold. A DSR that one place of the whole program loads holds the same in every
 * operation that names it. */
#include "frontend/analysis/analysis_internal.h"

static void note_load(SoleLoad (*loads)[MAX_DSRS], const IrFunc *f, const IrInsn *insn)
{
  unsigned file = insn->aux >> 16, number = insn->aux & 0xffff;
  bool is_base = insn->op == IR_dsr_set &&
                 (insn->field == DSRF_BASE || insn->field == DSRF_BASE_ADD);
  if (insn->dead || (insn->op != IR_dsr_load && insn->op != IR_dsr_set) || is_base ||
      number >= MAX_DSRS)
    return;
  SoleLoad *sole = &loads[file][number];
  sole->changes++;
  sole->f = f;
  sole->load = insn->op == IR_dsr_load ? insn : NULL;
}

static const SoleLoad (*find_sole_loads(const IrModule *m, Arena *arena))[MAX_DSRS]
{
  SoleLoad (*loads)[MAX_DSRS] = (void *)arena_many(arena, SoleLoad, DSR_FILE_COUNT * MAX_DSRS);
  for (uint32_t i = 0; i < m->n_dsrs; i++) {
    SoleLoad *sole = &loads[m->dsrs[i].file][m->dsrs[i].number];
    sole->changes++;
    sole->preset = &m->dsrs[i].desc;
  }
  for (uint32_t n = 0; n < m->n_funcs; n++)
    for (uint32_t i = 1; i < m->funcs[n].n_insns; i++)
      note_load(loads, &m->funcs[n], &m->funcs[n].insns[i]);
  return (const SoleLoad (*)[MAX_DSRS])loads;
}

const SoleLoad *lint_sole_load(const Sema *s, DsrFile file, unsigned number)
{
  MachineSetup *setup = s->setup;
  if (number >= MAX_DSRS)
    return NULL;
  if (!setup->sole_loads)
    setup->sole_loads = find_sole_loads(s->ir, s->arena);
  const SoleLoad *sole = &setup->sole_loads[file][number];
  return sole->changes == 1 && (sole->preset || sole->load) ? sole : NULL;
}

bool lint_register_descriptor(const Sema *s, DsrFile file, unsigned number, Descriptor *desc)
{
  const SoleLoad *sole = lint_sole_load(s, file, number);
  if (!sole)
    return false;
  if (!sole->preset)
    return lint_known_descriptor(s, sole->f, NULL, sole->load->args[0], desc);
  *desc = sole->preset->desc;
  return true;
}
