/* The waits of a stopped fabric and what each waits for: see deadlock.h. */
#include "emu/explain/explain_internal.h"
#include "emu/explain/deadlock.h"

#include <string.h>

bool finite_wait(const InspectThread *thread)
{
  return thread->state == THREAD_VECTOR && !thread->run->unbounded;
}

Unit unit_of(UnitKind kind, uint32_t tile, unsigned index)
{
  return (Unit){.kind = kind, .tile = tile, .index = (uint8_t)index};
}

static Unit end_unit(EndKind why, uint32_t tile, unsigned index)
{
  return (Unit){.kind = UNIT_END, .end = why, .tile = tile, .index = (uint8_t)index};
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* What the tile has lost on its way is to blame, if anything. */
static Unit lost_or(Report *r, uint32_t tile, Unit otherwise)
{
  const TileRecord *record = report_look(r, tile)->record;
  if (record->lost)
    return end_unit(END_LOST, tile, record->lost_id);
  return record->untaken ? end_unit(END_UNTAKEN, tile, record->untaken_queue) : otherwise;
}

bool has_merged(Report *r, Unit blocked)
{
  const TileRecord *record = report_look(r, blocked.tile)->record;
  return record->lost && record->lost_id == blocked.index;
}

unsigned elements_in_fifo(Report *r, uint32_t tile)
{
  uint16_t state = report_look(r, tile)->record->fifo[true].state, held = 0;
  bool is_read = report_look(r, tile)->record->fifo[true].elements &&
                 r->engine->ops->mem_read(r->engine, tile, state + 2u * FIFO_W_HELD, &held,
                                          sizeof held);
  return is_read ? held : 0;
}

/* Elements that are still in a FIFO of the tile are to blame, if there are any. */
static Unit left_in_fifo_or(Report *r, uint32_t tile, Unit otherwise)
{
  bool is_end = otherwise.end == END_NO_UNBLOCK || otherwise.end == END_NO_SENDER;
  return is_end && elements_in_fifo(r, tile) > 0 ? end_unit(END_FIFO_LEFT, tile, 0) : otherwise;
}

/* A control wavelet has ended the operation that filled a FIFO last, and stays in its queue, where
 * it ends the next one, too. */
static Unit kept_from_fifo_or(Report *r, uint32_t tile, Unit otherwise)
{
  const InspectTile *t = report_look(r, tile);
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    const InspectQueue *queue = &t->input[q];
    if (queue->count && queue->head.kept && queue->use.pc == t->record->fifo[true].pc)
      return end_unit(END_NOBODY_READS, tile, q);
  }
  return otherwise;
}

/* The thread at the other end of the FIFO that a thread waits for. */
static Unit after_fifo(Report *r, Unit from, const InspectThread *thread)
{
  const InspectTile *t = report_look(r, from.tile);
  bool push = thread->run->dest.kind == VS_FIFO;
  for (unsigned i = 0; i <= MAX_MICROTHREADS; i++) {
    const InspectThread *other = &t->threads[i];
    if (i == from.index || other->state != THREAD_VECTOR)
      continue;
    const VecRun *run = other->run;
    const VecStream *ends_there[] = {&run->dest, &run->src[0], &run->src[1]};
    for (unsigned k = push ? 1 : 0; k < (push ? ARRAY_COUNT(ends_there) : 1); k++)
      if (ends_there[k]->kind == VS_FIFO)
        return unit_of(UNIT_THREAD, from.tile, i);
  }
  Unit end = end_unit(END_FIFO, from.tile, from.index);
  return push ? end : kept_from_fifo_or(r, from.tile, end);
}

static Unit after_thread(Report *r, Unit from)
{
  const InspectTile *t = report_look(r, from.tile);
  const InspectThread *thread = &t->threads[from.index];
  if (thread->awaited)
    return unit_of(UNIT_THREAD, from.tile, thread->awaited);
  if (thread->state != THREAD_VECTOR)
    return end_unit(thread->state == THREAD_RUNNING ? END_AT_WORK : END_UNKNOWN, from.tile, 0);
  switch (thread->waiting) {
  case STALL_OUTPUT:
    return unit_of(UNIT_OUTPUT, from.tile, thread->run->dest.queue);
  case STALL_INPUT: {
    const VecStream *s = report_waiting(thread);
    if (t->input[s->queue].count && !vec_takes_color(s, t->input[s->queue].head.color))
      return unit_of(UNIT_INPUT, from.tile, s->queue);
    if (t->input[s->queue].count && t->input[s->queue].head.control)
      return end_unit(END_CONTROL_HEAD, from.tile, s->queue);
    if (t->record->untaken && t->record->untaken_queue == s->queue)
      return end_unit(END_UNTAKEN, from.tile, s->queue);
    return unit_of(UNIT_RECEIVER, from.tile, s->color);
  }
  case STALL_PAUSED:
    return lost_or(r, from.tile, end_unit(END_BLOCKED_THREAD, from.tile, from.index - 1u));
  case STALL_FIFO:
    return after_fifo(r, from, thread);
  case STALL_NONE: case STALL_ISSUE: case STALL_BANK: case STALL_COUNT: default:
    return end_unit(END_UNKNOWN, from.tile, 0);
  }
}

static bool waits_for_color(const InspectThread *thread, unsigned color)
{
  return thread->waiting == STALL_INPUT && report_waiting(thread)->color == color;
}

/* The operation unblocks the task when it is over, or activates one that may. */
static bool leads_to_unblock(const ClassCode *cls, Action done, unsigned id)
{
  if (done.kind == ACT_UNBLOCK)
    return done.id_kind == ID_TASK && done.id == id;
  const ImageTask *next = done.kind == ACT_ACTIVATE && cls ? cls->local_task[done.id] : NULL;
  return next && code_reaches(cls, next->entry, insn_may_unblock, id) != PC_RETURN;
}

/* No code has blocked the data task, which waits for the first call of its module. */
static bool lacks_first_call(Report *r, uint32_t tile, unsigned id)
{
  const uint16_t *at = report_look(r, tile)->blocked_at;
  bool is_since_start = !at || at[block_place(ID_TASK, id)] == PC_RETURN;
  return is_since_start && calls_first_for(r->program, tile, id);
}

/* The operation that leads to an end of the block, unless it waits for the very wavelets of
 * `color`; otherwise the block itself is to blame. */
static Unit after_block(Report *r, uint32_t tile, unsigned id, unsigned color)
{
  const InspectTile *t = report_look(r, tile);
  for (unsigned i = 1; i <= MAX_MICROTHREADS; i++) {
    const InspectThread *thread = &t->threads[i];
    if (!finite_wait(thread) || waits_for_color(thread, color))
      continue;
    if (leads_to_unblock(program_class(r->program, tile), thread->run->done, id))
      return unit_of(UNIT_THREAD, tile, i);
  }
  if (lacks_first_call(r, tile, id))
    return end_unit(END_NO_FIRST_CALL, tile, id);
  Unit blocked = end_unit(END_BLOCKED_TASK, tile, id);
  return has_merged(r, blocked) ? blocked : lost_or(r, tile, blocked);
}

/* A local task that is activated and blocked; -1: none. */
static int blocked_task(const InspectTile *t)
{
  uint64_t ids = t->active & t->blocked;
  return ids ? __builtin_ctzll(ids) : -1;
}

/* Whether a task takes the wavelet once the data task's id, which may be blocked, allows it.  No
 * task takes a control wavelet that has ended an operation. */
static bool has_task(const ClassCode *cls, unsigned data_id, const InspectWavelet *head)
{
  if (!cls || head->kept)
    return false;
  return cls->data_task[data_id] ||
         (head->control && cls->control_task[control_entry(head->payload)]);
}

/* The id that keeps the wavelet at the head of an input queue from starting its task; -1: none. */
static int blocked_channel(Report *r, uint32_t tile, unsigned queue)
{
  const InspectTile *t = report_look(r, tile);
  const InspectQueue *input = &t->input[queue];
  unsigned id = r->program->image->arch == ARCH_WSE2 ? input->head.color : queue;
  bool is_blocked = input->count && (t->blocked >> id & 1) &&
                    has_task(program_class(r->program, tile), id, &input->head);
  return is_blocked ? (int)id : -1;
}

/* A task that could start if its id were not blocked: its id; -1: none. */
static int held_up_task(Report *r, uint32_t tile)
{
  int id = blocked_task(report_look(r, tile));
  for (unsigned q = 0; id < 0 && q < MAX_QUEUES; q++)
    id = blocked_channel(r, tile, q);
  return id;
}

/* An operation that will activate a task, unless it waits for the very wavelets of `color`. */
static Unit later_operation(Report *r, uint32_t tile, unsigned color, Unit otherwise)
{
  const InspectTile *t = report_look(r, tile);
  for (unsigned i = 1; i <= MAX_MICROTHREADS; i++)
    if (finite_wait(&t->threads[i]) && !waits_for_color(&t->threads[i], color) &&
        t->threads[i].run->done.kind == ACT_ACTIVATE)
      return unit_of(UNIT_THREAD, tile, i);
  return otherwise;
}

/* The thread that may come to it later: the main thread, otherwise a task that is held up, or a
 * later_operation. */
static Unit later_thread(Report *r, uint32_t tile, unsigned color, Unit otherwise)
{
  const InspectTile *t = report_look(r, tile);
  if (t->threads[0].state != THREAD_IDLE)
    return unit_of(UNIT_THREAD, tile, 0);
  if (busy_task(r->program, tile, t) < MAX_TASK_IDS)
    return end_unit(END_AT_WORK, tile, 0);
  int id = held_up_task(r, tile);
  if (id >= 0)
    return after_block(r, tile, (unsigned)id, color);
  Unit lost = lost_or(r, tile, end_unit(END_NONE, tile, 0));
  return lost.end != END_NONE ? lost : later_operation(r, tile, color, otherwise);
}

/* ---- the command stream ---------------------------------------------------------------------- */

bool owes_unblock(const Report *r, uint32_t tile)
{
  return r->unblocks_expected &&
         r->engine->ops->unblock_count(r->engine, tile) < r->unblocks_expected[tile];
}

uint16_t class_unblocks(const ClassCode *cls, uint16_t entry)
{
  return code_reaches(cls, entry, insn_unblocks_stream, 0);
}

uint16_t class_activates(const ClassCode *cls, unsigned id)
{
  for (uint32_t i = 0; i < cls->n_insns; i++)
    if (insn_activates(cls, &cls->insns[i], id))
      return cls->pc_of[i];
  return PC_RETURN;
}

/* A task that activates itself goes on as long as it finds work: a merged activation has lost it no
 * start. */
static bool goes_on_by_itself(const ClassCode *cls, const ImageTask *task)
{
  return code_reaches(cls, task->entry, insn_activates, task->id) != PC_RETURN;
}

/* The instructions that activate the awaited task stand elsewhere than in the task whose
 * activations have merged, or that task goes on by itself, so the second start of that one may not
 * be what is missing. */
static bool is_lost_beside(Report *r, uint32_t tile, const ImageTask *awaited)
{
  const ClassCode *cls = program_class(r->program, tile);
  const TileRecord *record = report_look(r, tile)->record;
  const ImageTask *lost = record->lost ? cls->local_task[record->lost_id] : NULL;
  bool is_activated = false;
  for (size_t i = 0; i < cls->n_insns; i++)
    is_activated |= insn_may_activate(cls, &cls->insns[i], awaited->id);
  return lost && lost != awaited && is_activated &&
         (goes_on_by_itself(cls, lost) ||
          code_reaches(cls, lost->entry, insn_may_activate, awaited->id) == PC_RETURN);
}

/* The one color whose wavelets start the data task; MAX_COLORS: there is none, or several. */
static unsigned color_of_task(const Program *program, const ClassCode *cls, const ImageTask *task)
{
  if (program->image->arch == ARCH_WSE2)
    return task->id;
  unsigned found = MAX_COLORS, count = 0;
  for (unsigned color = 0; color < MAX_COLORS; color++)
    if (cls->image->data_queue[color] == task->id) {
      found = color;
      count++;
    }
  return count == 1 ? found : MAX_COLORS;
}

bool is_command_task(const Program *program, const ClassCode *cls, const ImageTask *task)
{
  return task->kind == TASK_DATA &&
         color_of_task(program, cls, task) == program->machine->memcpy_command_color;
}

/* A local task that has never started: a counter may wait for it. */
static bool has_idle_task(const ClassCode *cls, const TileRecord *record)
{
  for (uint32_t i = 0; i < cls->image->n_tasks; i++) {
    const ImageTask *task = &cls->image->tasks[i];
    if (task->kind == TASK_LOCAL && !record_has_started(record, task->kind, task->id))
      return true;
  }
  return false;
}

/* Any but the task that takes the commands. */
static bool is_unblocking(const Report *r, const ClassCode *cls, const ImageTask *task)
{
  return !is_command_task(r->program, cls, task) && class_unblocks(cls, task->entry) != PC_RETURN;
}

bool is_missed_unblock(Report *r, uint32_t tile, const ImageTask *task)
{
  return !record_has_started(report_look(r, tile)->record, task->kind, task->id) &&
         is_unblocking(r, program_class(r->program, tile), task);
}

const ImageTask *missed_unblocker(Report *r, uint32_t tile, unsigned id, uint16_t *at)
{
  const ClassCode *cls = program_class(r->program, tile);
  const TileRecord *record = report_look(r, tile)->record;
  for (uint32_t i = 0; cls && i < cls->image->n_tasks; i++) {
    const ImageTask *task = &cls->image->tasks[i];
    if (record_has_started(record, task->kind, task->id))
      continue;
    *at = code_reaches(cls, task->entry, insn_may_unblock, id);
    if (*at != PC_RETURN)
      return task;
  }
  return NULL;
}

const ImageTask *task_to_unblock(Report *r, uint32_t tile, bool *has_started)
{
  const ClassCode *cls = program_class(r->program, tile);
  const TileRecord *record = report_look(r, tile)->record;
  const ImageTask *again = NULL;
  *has_started = false;
  for (uint32_t i = 0; cls && i < cls->image->n_tasks; i++) {
    const ImageTask *task = &cls->image->tasks[i];
    if (is_missed_unblock(r, tile, task))
      return task;
    if (task->kind == TASK_DATA && is_unblocking(r, cls, task))
      again = task;
  }
  *has_started = true;
  return again && !has_idle_task(cls, record) ? again : NULL;
}

/* A route of a neighbour leads the color here: tiles at the border of a pattern have none. */
static bool comes_from_neighbour(Report *r, uint32_t tile, unsigned color)
{
  PortMask sides = report_look(r, tile)->colors[color].configured
                     ? report_look(r, tile)->colors[color].rx & ~port_bit(PORT_RAMP) : 0;
  bool comes = false;
  for (unsigned p = 0; p < PORT_RAMP; p++) {
    uint32_t from = program_neighbour(r->program, tile, (Port)p);
    if (!(sides >> p & 1) || from == (uint32_t)NO_TILE)
      continue;
    const InspectTile *t = report_look(r, from);
    for (unsigned c = 0; c < MAX_COLORS && !comes; c++)
      comes = t->colors[c].configured && (t->colors[c].tx & port_bit(port_opposite((Port)p))) &&
              program_color_inside(r->program, tile, (uint8_t)c, (Port)p) == color;
  }
  return comes;
}

const ImageTask *idle_data_task(Report *r, uint32_t tile, unsigned *color)
{
  const ClassCode *cls = program_class(r->program, tile);
  for (uint32_t i = 0; i < cls->image->n_tasks; i++) {
    const ImageTask *task = &cls->image->tasks[i];
    *color = task->kind == TASK_DATA ? color_of_task(r->program, cls, task) : MAX_COLORS;
    if (*color < MAX_COLORS && !is_command_task(r->program, cls, task) &&
        !record_has_started(report_look(r, tile)->record, task->kind, task->id) &&
        comes_from_neighbour(r, tile, *color))
      return task;
  }
  return NULL;
}

bool is_teardown(const Report *r, const ImageTask *task)
{
  return task->kind == TASK_LOCAL && task->id == r->program->machine->teardown_task;
}

bool has_teardown_handler(const ClassCode *cls)
{
  bool has = false;
  for (unsigned c = 0; c < MAX_COLORS; c++)
    has |= cls->image->teardown_handler[c] != PC_RETURN;
  return has;
}

/* ---- what has never started ------------------------------------------------------------------ */

static const struct { InsnQuestion *does, *may_do; } deeds[DEED_COUNT] = {
  [DEED_ACTIVATE] = {insn_starts, insn_may_start},
  [DEED_SEND] = {insn_sends, insn_may_send},
  [DEED_READ] = {insn_reads, insn_may_read},
  [DEED_FLUSH] = {insn_flushes, insn_may_flush},
};

uint16_t place_of_deed(const ClassCode *cls, uint16_t entry, Deed deed)
{
  return code_reaches(cls, entry, deeds[deed.kind].does, deed.of);
}

/* The function, NULL: the tile does not export it. */
static const ImageBinding *function_at(const Report *r, const ClassCode *cls, uint32_t export)
{
  const ImageBinding *binding = &cls->image->bindings[export];
  bool is_function = r->program->image->exports[export].kind == EXPORT_FUNCTION;
  return is_function && binding->present ? binding : NULL;
}

/* What has run on the tile may have done it, or may do it again. */
static bool may_have_done(Report *r, uint32_t tile, Deed deed)
{
  const ClassCode *cls = program_class(r->program, tile);
  const TileRecord *record = report_look(r, tile)->record;
  InsnQuestion *may_do = deeds[deed.kind].may_do;
  bool may = false;
  for (uint32_t i = 0; i < cls->image->n_tasks && !may; i++) {
    const ImageTask *task = &cls->image->tasks[i];
    may = record_has_started(record, task->kind, task->id) &&
          !is_command_task(r->program, cls, task) &&
          code_reaches(cls, task->entry, may_do, deed.of) != PC_RETURN;
  }
  for (uint32_t i = 0; i < cls->image->n_bindings && !may && !r->unlaunched; i++) {
    const ImageBinding *function = function_at(r, cls, i);
    may = function && code_reaches(cls, function->address, may_do, deed.of) != PC_RETURN;
  }
  return may;
}

bool may_have_sent(Report *r, Unit sender)
{
  const InspectTile *t = report_look(r, sender.tile);
  bool is_used = false;
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    is_used |= queue_use_is_any(t->output[q].use) &&
               t->output[q].use.color != r->program->machine->memcpy_result_color;
  return is_used && program_class(r->program, sender.tile) &&
         may_have_done(r, sender.tile, (Deed){DEED_SEND, sender.index});
}

/* Calls by a register lead to other code of the class. */
bool lacks_code(Report *r, uint32_t tile, Deed deed)
{
  const ClassCode *cls = program_class(r->program, tile);
  InsnQuestion *may_do = deeds[deed.kind].may_do;
  for (uint32_t i = 0; cls && i < cls->n_insns; i++)
    if (cls->insns[i].op != OP_callr && may_do(cls, &cls->insns[i], deed.of))
      return false;
  return cls != NULL;
}

const ImageTask *missed_task(Report *r, uint32_t tile, Deed deed)
{
  const ClassCode *cls = program_class(r->program, tile);
  const TileRecord *record = report_look(r, tile)->record;
  for (uint32_t i = 0; cls && i < cls->image->n_tasks; i++) {
    const ImageTask *task = &cls->image->tasks[i];
    if (!record_has_started(record, task->kind, task->id) &&
        place_of_deed(cls, task->entry, deed) != PC_RETURN)
      return task;
  }
  return NULL;
}

/* A task, or a function for the host, that has never run and alone would do it; END_NONE: there is
 * none, or what has run may do it again. */
static Unit missed_doer(Report *r, uint32_t tile, Deed deed)
{
  const ClassCode *cls = program_class(r->program, tile);
  Unit none = end_unit(END_NONE, tile, 0);
  if (!cls || may_have_done(r, tile, deed))
    return none;
  const ImageTask *task = missed_task(r, tile, deed);
  if (task) {
    Unit doer = unit_of(UNIT_DOER, tile, (unsigned)(task - cls->image->tasks));
    doer.deed = deed;
    return doer;
  }
  for (uint32_t i = 0; i < cls->image->n_bindings && i <= UINT8_MAX; i++) {
    const ImageBinding *function = function_at(r, cls, i);
    if (!function || place_of_deed(cls, function->address, deed) == PC_RETURN)
      continue;
    Unit end = end_unit(END_NOT_LAUNCHED, tile, i);
    end.deed = deed;
    return end;
  }
  return none;
}

static Unit missed_doer_or(Report *r, uint32_t tile, DeedKind kind, unsigned of, Unit otherwise)
{
  Unit doer = missed_doer(r, tile, (Deed){kind, (uint8_t)of});
  return doer.kind == UNIT_END && doer.end == END_NONE ? otherwise : doer;
}

/* The tasks that would start the local task `first`, one by the other, lead back to one of them. */
static bool start_each_other(Report *r, uint32_t tile, const ImageTask *first)
{
  const ClassCode *cls = program_class(r->program, tile);
  const ImageTask *task = first;
  for (uint32_t i = 0; task && task->kind == TASK_LOCAL && i < cls->image->n_tasks; i++) {
    Unit next = missed_doer(r, tile, (Deed){DEED_ACTIVATE, task->id});
    task = next.kind == UNIT_DOER ? &cls->image->tasks[next.index] : NULL;
  }
  return task && task->kind == TASK_LOCAL;
}

/* A flush is over when the queue is empty: an output queue that is not, or what would flush one. */
static Unit flushed_queue(Report *r, uint32_t tile, Unit otherwise)
{
  const InspectTile *t = report_look(r, tile);
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    if (t->output[q].count)
      return unit_of(UNIT_OUTPUT, tile, q);
  return missed_doer_or(r, tile, DEED_FLUSH, 0, otherwise);
}

bool doer_has_started(Report *r, Unit doer)
{
  const ImageTask *task = &program_class(r->program, doer.tile)->image->tasks[doer.index];
  return record_has_started(report_look(r, doer.tile)->record, task->kind, task->id);
}

/* What would start the task. */
static Unit after_doer(Report *r, Unit from)
{
  const ClassCode *cls = program_class(r->program, from.tile);
  const ImageTask *task = &cls->image->tasks[from.index];
  Unit end = end_unit(END_NEVER_STARTED, from.tile, from.index);
  bool is_active = report_look(r, from.tile)->active >> task->id & 1;
  unsigned color;
  if (task->kind == TASK_DATA) {
    color = color_of_task(r->program, cls, task);
    unsigned queue = color < MAX_COLORS ? cls->image->data_queue[color] : MAX_QUEUES;
    bool lacks = queue < MAX_QUEUES && report_look(r, from.tile)->input[queue].count == 0;
    return lacks ? unit_of(UNIT_RECEIVER, from.tile, color) : end;
  }
  if (task->kind == TASK_CONTROL)       /* the data that come before it have not come either */
    return idle_data_task(r, from.tile, &color) ? unit_of(UNIT_RECEIVER, from.tile, color) : end;
  if (is_teardown(r, task))
    return has_teardown_handler(cls) ? end : flushed_queue(r, from.tile, end);
  if (is_active || start_each_other(r, from.tile, task))
    return end;
  return missed_doer_or(r, from.tile, DEED_ACTIVATE, task->id, end);
}

/* A data task that would unblock waits for a wavelet of its color, the first one or another. */
static Unit after_command(Report *r, Unit from)
{
  bool has_started;
  const EndlessLoop *loop = report_loop_of(r, from.tile);
  if (loop && loop->tasks)
    return end_unit(END_AT_WORK, from.tile, 0);
  const ImageTask *task = task_to_unblock(r, from.tile, &has_started);
  Unit after = left_in_fifo_or(r, from.tile, end_unit(END_NO_UNBLOCK, from.tile, 0));
  if (!task || (has_started && after.end == END_FIFO_LEFT))
    return later_thread(r, from.tile, NO_COLOR, after);
  const ClassCode *cls = program_class(r->program, from.tile);
  if (!has_started)
    after = after_doer(r, unit_of(UNIT_DOER, from.tile, (unsigned)(task - cls->image->tasks)));
  unsigned color = task->kind == TASK_DATA ? color_of_task(r->program, cls, task) : MAX_COLORS;
  unsigned queue = color < MAX_COLORS ? cls->image->data_queue[color] : MAX_QUEUES;
  if (queue < MAX_QUEUES && report_look(r, from.tile)->input[queue].count == 0)
    after = unit_of(UNIT_RECEIVER, from.tile, color);
  Unit later = later_thread(r, from.tile, NO_COLOR, after);
  bool is_beside = later.end == END_LOST && !has_started && task->kind == TASK_LOCAL &&
                   is_lost_beside(r, from.tile, task);
  return is_beside ? later_operation(r, from.tile, NO_COLOR, after) : later;
}

static Unit after_output(Report *r, Unit from)
{
  const InspectTile *t = report_look(r, from.tile);
  if (t->output[from.index].count == 0)
    return end_unit(END_UNKNOWN, from.tile, 0);
  unsigned color = program_color_inside(r->program, from.tile, t->output[from.index].head.color,
                                        PORT_RAMP);
  const InspectColor *state = &t->colors[color];
  if (!state->configured)
    return end_unit(END_NOT_CONFIGURED, from.tile, color);
  if (state->suspended)
    return end_unit(END_SUSPENDED, from.tile, color);
  if (!(state->rx & port_bit(PORT_RAMP)))
    return end_unit(END_CLOSED, from.tile, color);
  return state->count ? unit_of(UNIT_ROUTER, from.tile, color)
                      : end_unit(END_UNKNOWN, from.tile, 0);
}

/* What holds up a color at the tile beyond an output; END_NONE: nothing. */
static Unit blocker_beyond(Report *r, uint32_t next, Port enters, unsigned color)
{
  const InspectColor *there = &report_look(r, next)->colors[color];
  if (!there->configured)
    return end_unit(END_NOT_CONFIGURED, next, color);
  if (there->suspended)
    return end_unit(END_SUSPENDED, next, color);
  if (!(there->rx & port_bit(enters)))
    return end_unit(END_CLOSED, next, color);
  if (there->count >= r->program->machine->router_slots)
    return unit_of(UNIT_ROUTER, next, color);
  return end_unit(END_NONE, next, color);
}

static Unit at_ramp(Report *r, Unit from)
{
  const ClassCode *cls = program_class(r->program, from.tile);
  unsigned queue = cls ? cls->image->data_queue[from.index] : MAX_QUEUES;
  if (queue >= MAX_QUEUES)
    return end_unit(END_NO_QUEUE, from.tile, from.index);
  return unit_of(UNIT_INPUT, from.tile, queue);
}

/* A link leads from the tile by this side. */
static bool has_link(const Report *r, uint32_t tile, Port port)
{
  const EngineLinks *links = r->engine->options.links;
  return links && links_gate(links, tile, port);
}

/* `port`: the output that holds the wavelet up. */
static Unit after_router(Report *r, Unit from, Port *port)
{
  InspectColor state = report_look(r, from.tile)->colors[from.index];
  *port = PORT_RAMP;
  if (state.suspended)
    return end_unit(END_SUSPENDED, from.tile, from.index);
  for (unsigned p = 0; p < PORT_RAMP; p++) {
    uint32_t next = program_neighbour(r->program, from.tile, (Port)p);
    bool leaves = state.tx >> p & 1;
    if (leaves && next == (uint32_t)NO_TILE && has_link(r, from.tile, (Port)p)) {
      *port = (Port)p;
      return end_unit(END_LINK_FULL, from.tile, from.index);
    }
    if (!leaves || next == (uint32_t)NO_TILE)
      continue;
    Port enters = port_opposite((Port)p);
    Unit held = blocker_beyond(r, next, enters,
                               program_color_inside(r->program, next, from.index, enters));
    *port = (Port)p;
    if (held.kind != UNIT_END || held.end != END_NONE)
      return held;
  }
  *port = PORT_RAMP;
  return state.tx & port_bit(PORT_RAMP) ? at_ramp(r, from) : end_unit(END_UNKNOWN, from.tile, 0);
}

Port router_waits_for(Report *r, Unit from)
{
  Port port;
  after_router(r, from, &port);
  return port;
}

static Unit after_input(Report *r, Unit from)
{
  const InspectTile *t = report_look(r, from.tile);
  for (unsigned i = 0; i <= MAX_MICROTHREADS; i++) {
    const InspectThread *thread = &t->threads[i];
    for (unsigned k = 0; thread->state == THREAD_VECTOR && k < ARRAY_COUNT(thread->run->src); k++) {
      const VecStream *s = &thread->run->src[k];
      if (s->kind == VS_FABIN && s->queue == from.index &&
          (!t->input[from.index].count || vec_takes_color(s, t->input[from.index].head.color)))
        return unit_of(UNIT_THREAD, from.tile, i);
    }
  }
  int id = blocked_channel(r, from.tile, from.index);
  if (id >= 0)
    return after_block(r, from.tile, (unsigned)id, NO_COLOR);
  Unit nobody = end_unit(END_NOBODY_READS, from.tile, from.index);
  Unit later = later_thread(r, from.tile, NO_COLOR, nobody);
  bool is_unread = later.end == END_NOBODY_READS && !queue_use_is_any(t->input[from.index].use);
  return is_unread ? missed_doer_or(r, from.tile, DEED_READ, from.index, later) : later;
}

bool has_sent(Report *r, Unit sender)
{
  const InspectTile *t = report_look(r, sender.tile);
  bool has = false;
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    has |= queue_use_is_any(t->output[q].use) && t->output[q].use.color == sender.index;
  return has;
}

static Unit after_receiver(Report *r, Unit from)
{
  const InspectColor *state = &report_look(r, from.tile)->colors[from.index];
  if (!state->configured)
    return end_unit(r->program->host_out_colors >> from.index & 1 ? END_HOST : END_NOT_CONFIGURED,
                    from.tile, from.index);
  if (!state->suspended && !(state->tx & port_bit(PORT_RAMP)))
    return end_unit(END_NOT_DELIVERED, from.tile, from.index);
  return unit_of(UNIT_SENDER, from.tile, from.index);
}

/* A thread or queue of the tile that sends on the color, but cannot; END_NONE: there is none. */
static Unit sender_here(Report *r, Unit from)
{
  const InspectTile *t = report_look(r, from.tile);
  for (unsigned i = 0; i <= MAX_MICROTHREADS; i++) {
    const InspectThread *thread = &t->threads[i];
    if (thread->state == THREAD_VECTOR && thread->run->dest.kind == VS_FABOUT &&
        program_color_inside(r->program, from.tile, thread->run->dest.color, PORT_RAMP) ==
            from.index)
      return unit_of(UNIT_THREAD, from.tile, i);
  }
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    if (t->output[q].count && t->output[q].head.color == from.index)
      return unit_of(UNIT_OUTPUT, from.tile, q);
  return end_unit(END_NONE, from.tile, from.index);
}

/* A later position of the switch lets the color out by the port. */
static bool opens_later(Report *r, uint32_t tile, unsigned color, Port port)
{
  const InspectColor *state = &report_look(r, tile)->colors[color];
  const ImageColorConfig *config = program_color(r->program, tile, color);
  bool opens = false;
  for (unsigned i = state->position + 1u; config && i < MAX_SWITCH_POSITIONS; i++)
    opens |= config->positions[i].valid && (config->positions[i].tx & port_bit(port));
  return opens;
}

/* Someone has sent on the color to the tile's router.  If not, its switch is not to blame. */
static bool has_come(Report *r, uint32_t tile, unsigned color)
{
  const ImageColorConfig *config = program_color(r->program, tile, color);
  PortMask inputs = config ? report_inputs(config) : 0;
  Origin origin;
  bool has = false;
  for (unsigned p = 0; p < PORT_COUNT; p++)
    has |= (inputs >> p & 1) && report_origin(r, tile, (Port)p, color, &origin);
  return has;
}

/* The same color one tile upstream, or why nothing comes from there. */
static Unit unit_upstream(Report *r, Unit to, Port port)
{
  uint32_t from = program_neighbour(r->program, to.tile, port);
  Unit why = end_unit(END_NOT_CONFIGURED, from, to.index);
  if (from == (uint32_t)NO_TILE)
    return end_unit(has_link(r, to.tile, port) ? END_LINK_EMPTY : END_EDGE, to.tile, to.index);
  for (unsigned twin = 0; twin < 2; twin++) {
    uint8_t color = (uint8_t)(to.index ^ twin);
    const InspectColor *state = &report_look(r, from)->colors[color];
    if (!state->configured || program_color_inside(r->program, to.tile, color, port) != to.index)
      continue;
    if (state->tx & port_bit(port_opposite(port)) ||
        (opens_later(r, from, color, port_opposite(port)) && !has_come(r, from, color)))
      return unit_of(UNIT_SENDER, from, color);
    why = end_unit(END_NOT_ROUTED, from, color);
  }
  return why;
}

/* A neighbour, or the tile itself, holds wavelets of the color for this router, which takes none
 * from that side. */
static bool waits_at_closed_side(Report *r, Unit at)
{
  unsigned open = report_look(r, at.tile)->colors[at.index].rx;
  if (!(open & port_bit(PORT_RAMP)) && sender_here(r, at).kind != UNIT_END)
    return true;
  for (unsigned p = 0; p < PORT_RAMP; p++) {
    uint32_t next = program_neighbour(r->program, at.tile, (Port)p);
    if (open >> p & 1 || next == (uint32_t)NO_TILE)
      continue;
    for (unsigned twin = 0; twin < 2; twin++) {
      uint8_t color = (uint8_t)(at.index ^ twin);
      const InspectColor *state = &report_look(r, next)->colors[color];
      if (state->count && state->tx & port_bit(port_opposite((Port)p)) &&
          program_color_inside(r->program, at.tile, color, (Port)p) == at.index)
        return true;
    }
  }
  return false;
}

/* The only code of the tile that sends on the color is a data task, which sends again when another
 * wavelet starts it. */
static Unit forwarder_or(Report *r, Unit at, Unit otherwise)
{
  const ClassCode *cls = program_class(r->program, at.tile);
  Deed send = {DEED_SEND, at.index};
  uint32_t senders = 0, last = 0;
  if (otherwise.end != END_NO_SENDER || !has_sent(r, at))
    return otherwise;
  for (uint32_t i = 0; cls && i < cls->image->n_bindings; i++) {
    const ImageBinding *function = function_at(r, cls, i);
    if (function && place_of_deed(cls, function->address, send) != PC_RETURN)
      return otherwise;
  }
  for (uint32_t i = 0; cls && i < cls->image->n_tasks; i++)
    if (place_of_deed(cls, cls->image->tasks[i].entry, send) != PC_RETURN) {
      senders++;
      last = i;
    }
  if (senders != 1 || cls->image->tasks[last].kind != TASK_DATA)
    return otherwise;
  Unit doer = unit_of(UNIT_DOER, at.tile, last);
  doer.deed = send;
  return after_doer(r, doer).kind == UNIT_RECEIVER ? doer : otherwise;
}

/* What may come to send on the color later, although nothing of it waits to be sent. */
static Unit later_sender(Report *r, Unit at, Unit otherwise)
{
  Unit later = later_thread(r, at.tile, at.index, left_in_fifo_or(r, at.tile, otherwise));
  bool is_unsent = later.end == END_NO_SENDER && !has_sent(r, at);
  return is_unsent ? missed_doer_or(r, at.tile, DEED_SEND, at.index, later) : later;
}

static Unit after_stream(Report *r, Unit from)
{
  Unit here = sender_here(r, from);
  return here.kind != UNIT_END
           ? here
           : later_sender(r, from, end_unit(END_NO_SENDER, from.tile, from.index));
}

static Unit after_sender(Report *r, Unit from)
{
  InspectColor state = report_look(r, from.tile)->colors[from.index];
  if (!state.configured)
    return end_unit(END_NOT_CONFIGURED, from.tile, from.index);
  if (state.suspended)
    return end_unit(END_SUSPENDED, from.tile, from.index);
  if (state.count)
    return unit_of(UNIT_ROUTER, from.tile, from.index);
  Unit why = end_unit(END_NO_SENDER, from.tile, from.index);
  bool ramp = state.rx & port_bit(PORT_RAMP);
  Unit here = ramp ? sender_here(r, from) : why;
  if (ramp && here.kind != UNIT_END)
    return here;
  for (unsigned p = 0; p < PORT_RAMP; p++) {
    Unit next = state.rx >> p & 1 ? unit_upstream(r, from, (Port)p) : why;
    if (next.kind != UNIT_END)
      return next;
    if (state.rx >> p & 1 && !ramp)
      why = next;
  }
  if (ramp)
    return forwarder_or(r, from, later_sender(r, from, why));
  return waits_at_closed_side(r, from) ? end_unit(END_CLOSED, from.tile, from.index) : why;
}

Unit unit_after(Report *r, Unit from)
{
  Port port;
  switch (from.kind) {
  case UNIT_THREAD: return after_thread(r, from);
  case UNIT_TASK: return after_block(r, from.tile, from.index, NO_COLOR);
  case UNIT_OUTPUT: return after_output(r, from);
  case UNIT_INPUT: return after_input(r, from);
  case UNIT_ROUTER: return after_router(r, from, &port);
  case UNIT_RECEIVER: return after_receiver(r, from);
  case UNIT_SENDER: return after_sender(r, from);
  case UNIT_COMMAND: return after_command(r, from);
  case UNIT_STREAM: return after_stream(r, from);
  case UNIT_DOER: return after_doer(r, from);
  case UNIT_END: default: return from;
  }
}
