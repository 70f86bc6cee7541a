/* Control tasks of wse3 whose wavelets stay outside: an input queue is blocked for them too, unless
 * a data task listens to it or the program unblocks it (SDK docs, task identifiers; since release
 * 1.0).  Nothing is said of a tile with one open queue: the senders decide which one they use. */
#include "frontend/analysis/analysis_internal.h"

#include <stb_ds.h>
#include <string.h>

static uint32_t queue_bit(unsigned id) { return id < MAX_QUEUES ? 1u << id : 0; }

/* Queues that the action unblocks; the bits of local tasks do no harm, as they are above those. */
static uint32_t opened_by(Action action)
{
  bool opens = action.kind == ACT_UNBLOCK && action.id_kind != ID_MICROTHREAD;
  return opens ? queue_bit(action.id) : 0;
}

/* Queues that the instruction may unblock, or from which it may have an operation read. */
static uint32_t opened_by_insn(const IrFunc *f, const IrInsn *insn)
{
  Action action = {0};
  if (insn->op == IR_dsd_const) {
    const Descriptor *d = &insn->u.desc->desc;
    return opened_by(d->done) | opened_by(d->on_control) |
           (d->kind == DESC_FABIN ? queue_bit(d->queue) : 0);
  }
  bool is_action = insn->field == DSRF_DONE || insn->field == DSRF_CONTROL;
  bool sets = insn->op == IR_dsd_set && is_action;
  if (insn->op == IR_dsr_set && is_action)
    return UINT32_MAX;
  if (!sets && (insn->op != IR_unblock || insn->aux == ID_MICROTHREAD))
    return 0;
  const IrInsn *value = &f->insns[insn->args[sets].raw];
  if (value->op != IR_const)
    return UINT32_MAX;
  if (!sets)
    return queue_bit((unsigned)value->imm);
  return action_decode((uint16_t)value->imm, &action) ? opened_by(action) : 0;
}

/* The link to the host keeps its queue to itself; other modules of the library share theirs. */
static bool is_of_link(const Sema *s, const QueueSlot *queue)
{
  const Session *session = s->session;
  FileId file = source_file_of(session->sources, queue->span.off);
  return files_is_standard(session->files, file) &&
         strstr(source_path(session->sources, file), "/memcpy/") != NULL;
}

/* Is a queue open to control wavelets, or may it be, as far as the tile has any? */
static bool has_open_queue(Sema *s)
{
  const MachineSetup *setup = s->setup;
  uint32_t opened = (uint32_t)(setup->unblocked.first | setup_tasks_beside_code(s, ACT_UNBLOCK));
  for (uint32_t n = 0; n < s->ir->n_funcs; n++)
    for (uint32_t i = 1; i < s->ir->funcs[n].n_insns; i++)
      if (!s->ir->funcs[n].insns[i].dead)
        opened |= opened_by_insn(&s->ir->funcs[n], &s->ir->funcs[n].insns[i]);
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    const QueueSlot *queue = &setup->queues[0][q];
    bool is_read = queue->has_color && setup->stored_dsds[0][queue->color] > 0;
    if (lint_code_may_bind(s, false, q))
      return true;
    if (queue->is_explicit && !is_of_link(s, queue) &&
        (setup->tasks[q].kind != TASK_NONE || opened >> q & 1 || is_read))
      return true;
  }
  return false;
}

void lint_controls(Sema *s)
{
  const MachineSetup *setup = s->setup;
  if (s->session->options->arch != ARCH_WSE3)
    return;
  bool is_open = has_open_queue(s);
  for (unsigned id = 0; id < MAX_TASK_IDS; id++) {
    const TaskSlot *task = setup->separate_control ? &setup->control_tasks[id] : &setup->tasks[id];
    if (task->kind != TASK_CONTROL || sema_is_library(s, s->funcs[task->func].decl_module))
      continue;
    size_t mark = diags_mark(s->diags);
    if (!is_open) {
      diag_control_task_blocked(s->diags, task->span, sema_text(s, task->name));
      diag_control_task_blocked_help(s->diags, task->span);
    }
    uint64_t key = (uint64_t)task->span.off * MAX_TASK_IDS + id;
    arrput(s->setup->data_task_queues, ((NotedNeed){key, diags_take(s->diags, mark)}));
  }
}
