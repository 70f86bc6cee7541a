/* What the code of a tile needs: queues with colors, tasks behind ids, loaded registers.
 *
 * What always runs needs it on its own tile.  An operation behind a condition may be for other
 * tiles of the same code, and so may be what it needs: it is missing if every class of tiles lacks
 * it. */
#include "frontend/analysis/analysis_internal.h"

#include <stb_ds.h>

/* ---- what an operation takes ----------------------------------------------------------------- */

bool lint_known_descriptor(const Sema *s, const IrFunc *f, const CallWay *at, IrValue v,
                           Descriptor *desc)
{
  uint16_t flags = 0;
  for (DsdSource from = {f, v, at, 0};;) {
    lint_trace_dsd(s, &from);
    const IrInsn *insn = &from.f->insns[from.v.raw];
    const IrDesc *known = lint_constant_dsd(s, from.f, from.v);
    if (known) {
      *desc = known->desc;
      desc->flags |= flags;
      return true;
    }
    if (insn->op != IR_dsd_set)
      return false;
    if (insn->field == DSRF_FLAGS) {
      const IrInsn *value = &from.f->insns[insn->args[1].raw];
      if (value->op != IR_const)
        return false;
      flags |= (uint16_t)value->imm;
    }
    from.v = insn->args[0];
  }
}

/* The same choice as the machine's (docs/cycle-model.md, microthreads). */
bool lint_taken_by(const Sema *s, const IrFunc *f, const CallWay *at, const IrInsn *insn,
                   Taken *taken)
{
  const IrVecOperand *order[] = {&insn->u.vec->dest, &insn->u.vec->src0, &insn->u.vec->src1};
  bool wse3 = s->session->options->arch == ARCH_WSE3, is_given = false;
  *taken = (Taken){.queue = {-1, -1, -1}, .thread = -1};
  for (size_t i = 0; i < ARRAY_COUNT(order); i++) {
    Descriptor desc;
    bool is_dsr = order[i]->kind == IRV_DSR;
    taken->has_dsr |= is_dsr;
    if ((order[i]->kind != IRV_DSD && !is_dsr) || order[i]->is_memory)
      continue;
    if (is_dsr ? !lint_register_descriptor(s, order[i]->file, order[i]->number, &desc)
               : !lint_known_descriptor(s, f, at, insn->args[order[i]->arg], &desc))
      return false;
    if (desc.kind != DESC_FABIN && desc.kind != DESC_FABOUT)
      continue;
    taken->queue[i] = (desc.kind == DESC_FABOUT ? MAX_QUEUES : 0) + desc.queue % MAX_QUEUES;
    if (desc.color < MAX_COLORS)
      taken->colors |= 1u << desc.color;
    taken->is_async |= (desc.flags & DESC_F_ASYNC) != 0;
    if (desc.done.kind == ACT_ACTIVATE && desc.done.id_kind == ID_TASK)
      taken->tasks |= UINT64_C(1) << desc.done.id % MAX_TASK_IDS;
    if (taken->thread < 0)
      taken->thread = desc.queue % MAX_MICROTHREADS;
    if (wse3 && desc.ut_given && !is_given) {
      taken->thread = desc.ut % MAX_MICROTHREADS;
      is_given = true;
    }
  }
  return true;
}

/* ---- what is missing ------------------------------------------------------------------------- */

bool lint_code_may_set(const IrModule *ir, uint32_t address)
{
  for (uint32_t n = 0; n < ir->n_funcs; n++) {
    const IrFunc *f = &ir->funcs[n];
    for (uint32_t i = 1; i < f->n_insns; i++) {
      const IrInsn *insn = &f->insns[i];
      if (insn->dead || insn->op != IR_set_config)
        continue;
      const IrInsn *at = &f->insns[insn->args[0].raw];
      if (at->op != IR_const || at->imm == address)
        return true;
    }
  }
  return false;
}

bool lint_code_may_bind(const Sema *s, bool is_output, unsigned q)
{
  return lint_code_may_set(s->ir, (is_output ? CFG_OUTPUT_QUEUE : CFG_INPUT_QUEUE) + q);
}

void lint_warn_uninitialized(const Sema *s, Span at, bool is_output, unsigned q)
{
  const char *direction = is_output ? "output" : "input";
  if (lint_code_may_bind(s, is_output, q) || setup_queue_is_initialised(s, is_output, q))
    return;
  diag_queue_not_initialized(s->diags, at, direction, q);
  diag_queue_init_form(s->diags, at, direction, q);
}

void lint_warn_unbound(Sema *s, Span at, unsigned id)
{
  const TaskSlot *slot = &s->setup->tasks[id];
  if (slot->kind == TASK_LOCAL || id == sema_machine(s)->teardown_task)
    return;
  diag_activated_without_task(s->diags, at, id);
  if (slot->kind == TASK_DATA)
    diag_started_by_wavelets(s->diags, at, sema_text(s, slot->name));
}

/* ---- operations ------------------------------------------------------------------------------ */

static void note_queue(Sema *s, Span at, unsigned queue)
{
  size_t mark = diags_mark(s->diags);
  lint_warn_uninitialized(s, at, queue >= MAX_QUEUES, queue % MAX_QUEUES);
  uint64_t key = (uint64_t)at.off * (2 * MAX_QUEUES) + queue;
  arrput(s->setup->queues_needed, ((NotedNeed){key, diags_take(s->diags, mark)}));
}

static void note_task(Sema *s, Span at, unsigned id)
{
  size_t mark = diags_mark(s->diags);
  lint_warn_unbound(s, at, id);
  uint64_t key = (uint64_t)at.off * MAX_TASK_IDS + id;
  arrput(s->setup->tasks_needed, ((NotedNeed){key, diags_take(s->diags, mark)}));
}

static bool is_loaded(const Sema *s, DsrFile file, uint32_t number)
{
  bool is_loaded = s->setup->dsr_loads[file][number].is_loaded;
  for (size_t i = 0; i < arrlenu(s->setup->dsrs) && !is_loaded; i++)
    is_loaded = s->setup->dsrs[i].file == file && s->setup->dsrs[i].number == number;
  return is_loaded;
}

static void note_dsrs(Sema *s, Span at, const IrVec *vec)
{
  const IrVecOperand *operands[] = {&vec->dest, &vec->src0, &vec->src1};
  for (size_t i = 0; i < ARRAY_COUNT(operands); i++) {
    DsrFile file = operands[i]->file;
    uint32_t number = operands[i]->number;
    if (operands[i]->kind != IRV_DSR || number >= MAX_DSRS)
      continue;
    size_t mark = diags_mark(s->diags);
    if (!is_loaded(s, file, number)) {
      diag_dsr_never_loaded(s->diags, at, dsr_file_name(file), number);
      diag_dsr_never_loaded_help(s->diags, at);
    }
    uint64_t key = ((uint64_t)at.off * DSR_FILE_COUNT + file) * MAX_DSRS + number;
    arrput(s->setup->dsrs_needed, ((NotedNeed){key, diags_take(s->diags, mark)}));
  }
}

/* Callers of the library may leave a part of a module unused. */
static void note_needs(Sema *s, const IrFunc *f, const CallWay *place, const IrInsn *insn)
{
  Taken taken = {.queue = {-1, -1, -1}};
  const IrInsn *id = insn->op == IR_activate ? &f->insns[insn->args[0].raw] : NULL;
  Span at = s->ir->locs[insn->loc.raw].span;
  if (ir_loc_is_none(insn->loc) ||
      files_is_standard(s->session->files, source_file_of(s->session->sources, at.off)))
    return;
  if (insn->op == IR_vec)
    note_dsrs(s, at, insn->u.vec);
  if (id && id->op == IR_const)
    taken.tasks = UINT64_C(1) << id->imm % MAX_TASK_IDS;
  else if (insn->op != IR_vec || !lint_taken_by(s, f, place, insn, &taken))
    return;
  for (size_t i = 0; i < ARRAY_COUNT(taken.queue); i++)
    if (taken.queue[i] >= 0)
      note_queue(s, at, (unsigned)taken.queue[i]);
  for (unsigned n = 0; n < MAX_TASK_IDS; n++)
    if (taken.tasks >> n & 1)
      note_task(s, at, n);
}

/* Functions that get descriptors from functions that get them, and so on: so deep, and so many of
 * one that runs. */
enum { DEEPEST_NEEDS = 4, MOST_CALLS_NOTED = 256 };

static void note_function(Sema *s, const IrFunc *f, const CallWay *place, unsigned depth,
                          unsigned *calls)
{
  const uint8_t *ways = lint_ways(s, f);
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns && ways[b]; i++) {
      const IrInsn *insn = &f->insns[f->blocks[b].insns[i].raw];
      const IrFunc *called = insn->op == IR_call ? &s->ir->funcs[insn->u.func.raw] : NULL;
      if (insn->dead)
        continue;
      note_needs(s, f, place, insn);
      if (called && depth < DEEPEST_NEEDS && lint_takes_dsds(called) &&
          ++*calls <= MOST_CALLS_NOTED)
        note_function(s, called, &(CallWay){place, f, insn}, depth + 1, calls);
    }
}

void lint_note_needs(Sema *s, const IrFunc *f)
{
  unsigned calls = 0;
  note_function(s, f, NULL, 0, &calls);
}

/* ---- classes of tiles ------------------------------------------------------------------------ */

static void collect_noted(const NotedNeed *noted, ClassesNeed **needs)
{
  for (size_t i = 0; i < arrlenu(noted); i++)
    if (hmgeti(*needs, noted[i].key) < 0 || noted[i].taken == NULL)
      hmput(*needs, noted[i].key, noted[i].taken);
}

void lint_collect_needs(const Sema *s, NotedNeeds *needs)
{
  collect_noted(s->setup->data_task_queues, &needs->data);
  collect_noted(s->setup->local_tasks, &needs->local);
  collect_noted(s->setup->queues_needed, &needs->queues);
  collect_noted(s->setup->tasks_needed, &needs->tasks);
  collect_noted(s->setup->dsrs_needed, &needs->dsrs);
}

static void report_noted(Diags *diags, const ClassesNeed *needs)
{
  for (ptrdiff_t i = 0; i < hmlen(needs); i++)
    if (needs[i].value != NULL)
      diags_put_back(diags, needs[i].value);
}

void lint_report_needs(Diags *diags, const NotedNeeds *needs)
{
  report_noted(diags, needs->data);
  report_noted(diags, needs->local);
  report_noted(diags, needs->queues);
  report_noted(diags, needs->tasks);
  report_noted(diags, needs->dsrs);
}
