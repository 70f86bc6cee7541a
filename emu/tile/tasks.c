/* What a tile does in a cycle: actions that are due, its tasks, the choice of the next task and of
 * the thread that issues.  docs/cycle-model.md, "Tasks" and "Issue". */
#include "emu/tile/tile_internal.h"

#include "stb_ds.h"

#include <stdlib.h>

enum { DATA_REGISTER = 0, INDEX_REGISTER = 1 };

static bool bit_at(uint64_t bits, unsigned index) { return bits >> index & 1; }

/* ---- loading --------------------------------------------------------------------------------- */

static uint8_t main_level(unsigned priority)
{
  return (uint8_t)(LEVEL_MAIN + priority % (LEVELS - LEVEL_MAIN));
}

Counters *tile_counters(Tile *t)
{
  if (!t->counters) {
    t->counters = base_malloc(sizeof *t->counters);
    *t->counters = (Counters){0};
  }
  return t->counters;
}

void tile_load(Tile *t, const Program *program, uint32_t index)
{
  t->index = index;
  t->pending_due = NEVER;
  for (unsigned level = 0; level < LEVELS; level++)
    t->last_issued[level] = TILE_THREADS - 1;
  if (!t->mem.cls)
    return;
  const ImageClass *image = t->mem.cls->image;
  const StartRegisters *start = &t->mem.cls->start;
  t->dsrs = (Dsrs){NULL, &t->mem.cls->dsrs};
  t->active = image->active;
  t->blocked = image->blocked;
  t->paused = image->paused;
  t->registers = registers_initial(start);
  t->regs.traps = registers_traps(&t->registers);
  t->task_id = MAX_TASK_IDS - 1;
  if (start->tsc_running || start->tsc_value) {
    tile_counters(t)->running = start->tsc_running;
    t->counters->value = start->tsc_value;
  }
  t->high = start->high_tasks;
  t->main_level = main_level(start->main_priority);
  if (image->start_entry != PC_RETURN) {
    t->running = true;
    t->pc = image->start_entry;
    t->regs.r[program->machine->sp_register] = image->stack_top;
  }
}

void tile_unload(Tile *t)
{
  mem_free(&t->mem);
  free(t->registers.queues);
  free(t->blocked_at);
  free(t->counters);
  order_free(t);
  arrfree(t->pending);
}

bool tile_starts(const ClassCode *cls)
{
  return cls && (cls->image->start_entry != PC_RETURN ||
                 (cls->image->active & ~cls->image->blocked));
}

/* ---- actions that take effect now ------------------------------------------------------------ */

static void apply_priority(Tile *t, uint16_t address, uint16_t value)
{
  if (address == CFG_MAIN_PRIORITY) {
    t->main_level = main_level(value);
    return;
  }
  unsigned shift = HALF_BITS * (unsigned)(address - CFG_TASK_PRIORITY);
  t->high = (t->high & ~((uint64_t)LOW16 << shift)) | (uint64_t)value << shift;
}

static void take_effect(Turn *turn, TileAction p)
{
  if ((turn->checks & CHECKS_ORDER) && p.by_fifo)
    order_wake(turn, p.action.id);
  if (p.address)
    apply_priority(turn->tile, p.address, p.value);
  else if (p.action.kind == ACT_ACTIVATE)
    tile_activate(turn, p.action.id, p.value, p.by_fifo);
  else
    tile_set_blocked(turn, p.action.id_kind, p.action.id, false);
  turn->changed = true;
}

/* A queue that a flush waits for has become empty: the teardown task hears of it. */
static void begin_flush(Turn *turn)
{
  Tile *t = turn->tile;
  unsigned id = turn->program->machine->teardown_task;
  bool empty = registers_flush_empty(&t->registers, tile_queues_filled(turn, false),
                                     tile_queues_filled(turn, true));
  if (!empty)
    return;
  turn->changed = true;
  t->record.to_be_ended = true;
  if (!bit_at(t->mem.cls->local_ids, id))
    return;
  if (turn->checks & CHECKS_ORDER)
    order_wake(turn, id);
  tile_activate(turn, id, PC_RETURN, true);
}

uint64_t tile_next_action(const Tile *t, uint64_t now)
{
  uint64_t next = NEVER;
  for (size_t i = 0; t->pending_due != NEVER && i < arrlenu(t->pending); i++)
    if (t->pending[i].cycle > now && t->pending[i].cycle < next)
      next = t->pending[i].cycle;
  return next;
}

void tile_begin(Turn *turn)
{
  Tile *t = turn->tile;
  size_t kept = 0, count = arrlenu(t->pending);
  t->pending_due = NEVER;
  for (size_t i = 0; i < count; i++) {
    TileAction p = t->pending[i];
    if (p.cycle <= turn->cycle) {
      take_effect(turn, p);
      continue;
    }
    t->pending[kept++] = p;
    if (p.cycle < t->pending_due)
      t->pending_due = p.cycle;
  }
  if (count)
    arrsetlen(t->pending, kept);
  if (!registers_flushing(&t->registers))
    return;
  begin_flush(turn);
  tile_watch_flush(t);
}

/* ---- plan: the scheduler --------------------------------------------------------------------- */

/* The wavelet at the head if tasks may have it: not if an operation takes it or has ended by it. */
static bool open_head(const Turn *turn, unsigned queue, QueueHead *head)
{
  *head = turn->port->head(turn, queue, 0);
  return head->there && !head->kept &&
         !bit_at(turn->tile->blocked, tile_channel_id(turn, queue, head->color)) &&
         !vector_takes(turn->tile, queue, *head);
}

/* Entry 31 means no task, and the tile ignores an entry without a control task. */
static const ImageTask *control_task(const Turn *turn, const QueueHead *head)
{
  unsigned entry = control_entry(head->payload);
  if (entry == turn->program->machine->control_entry_none)
    return NULL;
  return turn->tile->mem.cls->control_task[entry];
}

/* Round robin over the ids, from the task picked last. */
static unsigned turns_until(const Tile *t, unsigned id)
{
  return (id - t->task_id - 1u) % MAX_TASK_IDS;
}

/* Keeps the ready task of high priority, among equals the next one in turn. */
static void offer_task(const Tile *t, TilePlan *plan, TaskKind kind, unsigned id, unsigned queue)
{
  if (plan->pick != TASK_NONE) {
    bool high = bit_at(t->high, id), best_high = bit_at(t->high, plan->pick_id);
    if (high != best_high ? best_high : turns_until(t, plan->pick_id) <= turns_until(t, id))
      return;
  }
  plan->pick = kind;
  plan->pick_id = (uint8_t)id;
  plan->pick_queue = (uint8_t)queue;
}

static void offer_head(const Turn *turn, TilePlan *plan, unsigned queue, bool picks)
{
  const Tile *t = turn->tile;
  QueueHead head;
  if (!open_head(turn, queue, &head))
    return;
  unsigned id = tile_channel_id(turn, queue, head.color);
  if (head.control && !control_task(turn, &head))
    plan->drops |= (uint8_t)(1u << queue);
  else if (picks && head.control)
    offer_task(t, plan, TASK_CONTROL, control_entry(head.payload), queue);
  else if (picks && t->mem.cls->data_task[id])
    offer_task(t, plan, TASK_DATA, id, queue);
}

int tile_next_local(const Tile *t)
{
  uint64_t local = t->active & ~t->blocked & t->mem.cls->local_ids;
  if (local & t->high)
    local &= t->high;
  if (!local)
    return -1;
  uint64_t later = local & ~(((uint64_t)2 << t->task_id) - 1);
  return __builtin_ctzll(later ? later : local);
}

/* As if all active local tasks were offered one by one. */
static void offer_local(const Tile *t, TilePlan *plan)
{
  int id = tile_next_local(t);
  if (id >= 0)
    offer_task(t, plan, TASK_LOCAL, (unsigned)id, NO_QUEUE);
}

static void plan_tasks(const Turn *turn, TilePlan *plan, unsigned queues)
{
  const Tile *t = turn->tile;
  bool picks = !t->running && t->ready <= turn->cycle;
  plan->launch = picks && t->launch_pending;
  picks = picks && !plan->launch;
  for (unsigned bits = queues; bits; bits &= bits - 1)
    offer_head(turn, plan, (unsigned)__builtin_ctz(bits), picks);
  if (picks)
    offer_local(t, plan);
}

/* ---- plan: the thread that issues ------------------------------------------------------------ */

/* The main thread's next instruction issues while its own operation runs. */
static void plan_beside(Turn *turn, TilePlan *plan)
{
  const Tile *t = turn->tile;
  const VecRun *run = t->threads[MAIN_THREAD].run;
  if (!run || !t->overlaps || t->waits || t->ready > turn->cycle)
    return;
  const Insn *insn = class_insn(t->mem.cls, t->pc);
  turn->port->sync(turn, MAIN_THREAD);
  plan->beside = insn && overlap_issues(run, insn, &t->regs);
  plan->waits = !plan->beside && (!insn || insn_info[insn->op].cost != COST_LOAD);
}

static void plan_issue(Turn *turn, TilePlan *plan)
{
  Tile *t = turn->tile;
  unsigned ready = 0, main = 0;
  GroupPlan groups[TILE_THREADS] = {0};
  plan_beside(turn, plan);
  if (t->running && !t->threads[MAIN_THREAD].run && t->ready <= turn->cycle)
    main = 1u << MAIN_THREAD;
  for (unsigned bits = t->vectors; bits; bits &= bits - 1) {
    unsigned i = (unsigned)__builtin_ctz(bits);
    bool due = t->threads[i].ready <= turn->cycle;
    StallCause cause = due ? turn->port->plan(turn, i, &groups[i]) : STALL_NONE;
    plan->stalls[i] = (uint8_t)cause;
    plan->fifo_marks |= (uint16_t)((unsigned)groups[i].marks_fifo << i);
    if (due && cause == STALL_NONE)
      ready |= 1u << i;
  }
  plan->thread = tile_choose_thread(t, ready | main);
  plan->is_group = plan->thread >= 0 && (ready >> plan->thread & 1);
  if (plan->is_group) {
    plan->group = groups[plan->thread];
    ready &= ~(1u << plan->thread);
  }
  for (; ready; ready &= ready - 1)
    plan->stalls[__builtin_ctz(ready)] = STALL_ISSUE;
}

void tile_plan(Turn *turn, TilePlan *plan, unsigned queues)
{
  *plan = (TilePlan){.thread = -1, .pick = TASK_NONE};
  plan_tasks(turn, plan, queues);
  plan_issue(turn, plan);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static void start_main(Turn *turn, uint16_t pc, unsigned cost)
{
  Tile *t = turn->tile;
  t->running = true;
  t->pc = pc;
  t->regs.r[turn->program->machine->sp_register] = t->mem.cls->image->stack_top;
  t->ready = turn->cycle + cost;
}

/* A data or control task gets the wavelet that starts it. */
static void start_with_wavelet(Turn *turn, const ImageTask *task, unsigned queue, QueueHead w)
{
  uint16_t *r = turn->tile->regs.r;
  turn->port->use(turn, false, queue,
                  (QueueUse){.pc = task->entry, .elements = 1, .color = w.color});
  if (task->arguments > 0)
    r[DATA_REGISTER] = (uint16_t)w.payload;
  if (task->arguments > 1)
    r[INDEX_REGISTER] = (uint16_t)(w.payload >> HALF_BITS);
}

void tile_start_task(Turn *turn, TaskKind kind, unsigned id, unsigned queue, QueueHead w)
{
  Tile *t = turn->tile;
  const ImageTask *task;
  TimingRowId start = TIMING_local_task_start;
  if (kind == TASK_LOCAL) {
    task = t->mem.cls->local_task[id];
    t->active &= ~(UINT64_C(1) << id);
  } else {
    bool data = kind == TASK_DATA;
    task = data ? t->mem.cls->data_task[id] : t->mem.cls->control_task[id];
    start = data ? TIMING_data_task_start : TIMING_control_task_start;
    start_with_wavelet(turn, task, queue, w);
  }
  if (turn->checks & CHECKS_ORDER)
    order_start_main(turn, kind, id);
  start_main(turn, task->entry, turn_pay(turn, start));
  t->task = (uint8_t)kind;
  t->task_id = (uint8_t)id;
  record_start(&t->record, kind, id);
  turn->log->stats.tasks++;
  turn->changed = true;
  turn_event(turn, .kind = EV_TASK_START, .task = kind, .id = (uint8_t)id,
             .payload = w.payload);
}

static void start_pick(Turn *turn, const TilePlan *plan)
{
  QueueHead w = {0};
  if (plan->pick != TASK_LOCAL)
    w = tile_take_input(turn, plan->pick_queue);
  tile_start_task(turn, plan->pick, plan->pick_id, plan->pick_queue, w);
}

/* The host calls a function: its `ret` finds PC_RETURN on the stack. */
static void start_launch(Turn *turn)
{
  Tile *t = turn->tile;
  unsigned sp = turn->program->machine->sp_register;
  t->launch_pending = false;
  if (turn->checks & CHECKS_ORDER)
    order_start_main(turn, TASK_NONE, 0);
  start_main(turn, t->launch_entry, turn_pay(turn, TIMING_local_task_start));
  t->task = TASK_NONE;
  t->regs.r[sp] = (uint16_t)(t->regs.r[sp] - 2);
  if (mem_store(&t->mem, t->regs.r[sp], 2, PC_RETURN) != FAULT_COUNT)
    turn_tile_fault(turn, t->pc, FAULT_STACK, t->regs.r[sp]);
  turn_event(turn, .kind = EV_LAUNCH, .pc = t->launch_entry);
}

static void drop_control(Turn *turn, unsigned queue)
{
  QueueHead w = tile_take_input(turn, queue);
  if (control_entry(w.payload) == turn->program->machine->control_entry_none)
    return;
  record_untaken(&turn->tile->record, turn->cycle, queue, w.color, w.payload);
  if (turn->checks & CHECKS_TASKS)
    turn_fault(turn, (Fault){.kind = FAULT_CONTROL_UNTAKEN, .color = w.color, .pc = PC_RETURN,
                             .value = w.payload});
}

/* ---- what was planned ------------------------------------------------------------------------ */

/* The wait of a thread's operation that ends in this cycle, and the one that begins. */
static void record_waits(Turn *turn, unsigned thread, StallCause begins)
{
  const Thread *th = &turn->tile->threads[thread];
  if (th->stall != STALL_NONE)
    turn_event(turn, .kind = EV_STALL, .pc = th->run->pc, .id = th->stall,
               .thread = (uint8_t)thread, .payload = (uint32_t)(turn->cycle - th->stall_since));
  if (begins != STALL_NONE)
    turn_event(turn, .kind = EV_WAIT, .pc = th->run->pc, .id = (uint8_t)begins,
               .thread = (uint8_t)thread);
}

void tile_change_stall(Turn *turn, unsigned thread, StallCause cause)
{
  if (turn->trace)
    record_waits(turn, thread, cause);
  tile_count_stall(turn, thread, cause);
}

static void commit_issue(Turn *turn, const TilePlan *plan)
{
  Tile *t = turn->tile;
  for (unsigned marks = plan->fifo_marks; marks; marks &= marks - 1)
    vector_mark_fifos(turn, t->threads[__builtin_ctz(marks)].run);
  t->waits |= plan->waits;
  if (plan->beside) {
    t->issues++;
    turn->changed = true;
    tile_issue(turn);
  }
  if (plan->thread < 0)
    return;
  unsigned thread = (unsigned)plan->thread;
  t->last_issued[thread_level(t, thread)] = (uint8_t)thread;
  t->issues++;
  turn->changed = true;
  if (plan->is_group)
    turn->port->group(turn, thread, &plan->group);
  else
    tile_issue(turn);
}

void tile_commit(Turn *turn, const TilePlan *plan)
{
  Tile *t = turn->tile;
  for (unsigned bits = t->vectors; bits; bits &= bits - 1) {
    unsigned i = (unsigned)__builtin_ctz(bits);
    if (plan->stalls[i] != t->threads[i].stall)
      tile_change_stall(turn, i, (StallCause)plan->stalls[i]);
  }
  for (unsigned drops = plan->drops; drops; drops &= drops - 1)
    drop_control(turn, (unsigned)__builtin_ctz(drops));
  if (plan->launch)
    start_launch(turn);
  else if (plan->pick != TASK_NONE)
    start_pick(turn, plan);
  if (plan->drops || plan->launch)
    turn->changed = true;
  commit_issue(turn, plan);
}
