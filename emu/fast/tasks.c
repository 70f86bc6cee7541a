/* Fast engine, one step: actions, tasks, scheduler, instructions. */
#include "emu/fast/step.h"

#include "stb_ds.h"

#include <string.h>

enum {
  DATA_REGISTER = 0, INDEX_REGISTER = 1, TSC_RUN_BIT = 1, TSC_WORDS = 3, STREAM_READY = 1,
};
#define COUNTER_MASK UINT64_C(0xffffffffffff)

static void tile_fault(Visit *v, FaultKind kind, uint32_t value)
{
  step_vec_fault(v, v->tile->pc, kind, value);
}

STEP bool step_bit(uint64_t bits, unsigned index) { return bits >> index & 1; }

/* ---- actions that take effect now ------------------------------------------------------- */

/* For reports. */
static void note_blocked(Visit *v, IdKind kind, unsigned id)
{
  FastTile *t = v->tile;
  if (!t->blocked_at) {
    t->blocked_at = fast_alloc(v->worker, BLOCK_PLACES * sizeof *t->blocked_at, 2);
    memset(t->blocked_at, 0xff, BLOCK_PLACES * sizeof *t->blocked_at);
  }
  t->blocked_at[block_place(kind, id)] = t->pc;
}

/* On wse3 an input queue and the data task id of the same number share one blocked bit; on
 * wse2 the data task id is the queue's color. */
static void set_blocked(Visit *v, IdKind kind, unsigned id, bool blocked)
{
  FastTile *t = v->tile;
  EVENT(v, .kind = blocked ? EV_BLOCK : EV_UNBLOCK, .id_kind = (uint8_t)kind, .id = (uint8_t)id);
  if (kind == ID_MICROTHREAD) {
    uint8_t mask = (uint8_t)(1u << id);
    t->paused = (uint8_t)(blocked ? t->paused | mask : t->paused & ~mask);
    if (blocked)
      note_blocked(v, kind, id);
    return;
  }
  if (kind == ID_INPUT_QUEUE && v->engine->program->image->arch == ARCH_WSE2)
    id = t->cls->image->input[id].color;
  if (blocked)
    note_blocked(v, ID_TASK, id);
  uint64_t mask = UINT64_C(1) << id;
  t->blocked = blocked ? t->blocked | mask : t->blocked & ~mask;
}

/* `pc`: of the instruction whose doing it is. */
static void activate(Visit *v, unsigned id, uint16_t pc)
{
  FastTile *t = v->tile;
  if (id >= MAX_TASK_IDS || !step_bit(t->cls->local_ids, id)) {
    tile_fault(v, FAULT_TASK_ID, id);
    return;
  }
  bool merges = step_bit(t->active, id);
  record_activation(&t->record, id, pc, merges);
  if (merges && step_checks(v, CHECKS_TASKS))
    arrput(v->worker->faults,
           ((Fault){.kind = FAULT_ACTIVATION_MERGED, .cycle = v->now, .tile = t->index,
                    .color = NO_COLOR, .pc = pc, .value = id, .value2 = t->record.before_pc}));
  t->active |= UINT64_C(1) << id;
  EVENT(v, .kind = EV_ACTIVATE, .id_kind = ID_TASK, .id = (uint8_t)id);
}

static void apply_priority(FastTile *t, uint16_t address, uint16_t value)
{
  if (address == CFG_MAIN_PRIORITY) {
    t->main_level = (uint8_t)(LEVEL_MAIN + value % (LEVELS - LEVEL_MAIN));
    return;
  }
  unsigned shift = HALF_BITS * (unsigned)(address - CFG_TASK_PRIORITY);
  t->high = (t->high & ~((uint64_t)LOW16 << shift)) | (uint64_t)value << shift;
}

static void write_priority(Visit *v, uint16_t address, uint16_t value)
{
  FastTile *t = v->tile;
  uint64_t cycle = v->now + v->engine->timing->priority_update;
  arrput(t->pending, ((FastAction){.cycle = cycle, .address = address, .value = value}));
  if (cycle < t->pending_due)
    t->pending_due = cycle;
}

STEP void begin_actions(Visit *v)
{
  FastTile *t = v->tile;
  size_t kept = 0, count = arrlenu(t->pending);
  t->pending_due = NEVER;
  for (size_t i = 0; i < count; i++) {
    FastAction p = t->pending[i];
    if (p.cycle > v->now) {
      t->pending[kept++] = p;
      if (p.cycle < t->pending_due)
        t->pending_due = p.cycle;
      continue;
    }
    if (p.address)
      apply_priority(t, p.address, p.value);
    else if (p.action.kind == ACT_ACTIVATE)
      activate(v, p.action.id, p.value);
    else
      set_blocked(v, p.action.id_kind, p.action.id, false);
    v->changed = true;
  }
  arrsetlen(t->pending, kept);
}

/* A queue that a flush waits for has become empty: the teardown task hears of it. */
STEP void step_begin_flush(Visit *v)
{
  FastTile *t = v->tile;
  unsigned id = v->engine->program->machine->teardown_task;
  bool empty = registers_flush_empty(&t->registers, (uint8_t)t->input_any,
                                     (uint8_t)t->output_any);
  t->flushing = registers_flushing(&t->registers);
  if (!empty)
    return;
  v->changed = true;
  if (step_bit(t->cls->local_ids, id))
    activate(v, id, PC_RETURN);
}

/* ---- plan: the scheduler ---------------------------------------------------------------- */

/* The id whose blocked bit closes the channel of a queue whose head has this color. */
static unsigned channel_id(const Visit *v, unsigned queue, uint32_t meta)
{
  return v->wse2 ? wavelet_field(meta) : queue;
}

/* The wavelet at the head if tasks may have it: not if an operation takes it or has ended by it. */
static const FastWavelet *open_head(const Visit *v, unsigned queue)
{
  const FastTile *t = v->tile;
  const FastWavelet *head = queue_at(&t->queues[queue].input, 0);
  if (!wavelet_seen(head->meta, v->now) || (head->meta & META_KEPT) ||
      step_bit(t->blocked, channel_id(v, queue, head->meta)))
    return NULL;
  return (t->readers >> queue & 1) && operation_takes(t, queue, head) ? NULL : head;
}

/* Entry 31 means no task, and the tile ignores an entry without a control task. */
static const ImageTask *control_task(const Visit *v, const FastWavelet *head)
{
  unsigned entry = control_entry(head->payload);
  if (entry == v->engine->program->machine->control_entry_none)
    return NULL;
  return v->tile->cls->control_task[entry];
}

/* Round robin over the ids, from the task picked last. */
static unsigned turn(const FastTile *t, unsigned id)
{
  return (id - t->task_id - 1u) % MAX_TASK_IDS;
}

/* Keeps the ready task of high priority, among equals that whose turn comes first. */
static void offer(Visit *v, TaskKind kind, unsigned id, unsigned queue)
{
  if (v->pick != TASK_NONE) {
    bool high = step_bit(v->tile->high, id), best_high = step_bit(v->tile->high, v->pick_id);
    if (high != best_high ? best_high : turn(v->tile, v->pick_id) <= turn(v->tile, id))
      return;
  }
  v->pick = kind;
  v->pick_id = (uint8_t)id;
  v->pick_queue = (uint8_t)queue;
}

/* Queues whose heads the scheduler has to look at: all but those whose data an operation takes. */
static unsigned scheduler_queues(const FastTile *t)
{
  return t->input_any & (unsigned)~(t->readers & ~t->input_control);
}

static void plan_tasks(Visit *v)
{
  FastTile *t = v->tile;
  bool picks = !t->running && t->ready <= v->now;
  if (picks && t->launch_pending) {
    v->launch = true;
    picks = false;
  }
  for (unsigned bits = scheduler_queues(t); bits; bits &= bits - 1) {
    unsigned queue = (unsigned)__builtin_ctz(bits);
    const FastWavelet *head = open_head(v, queue);
    if (!head)
      continue;
    if (head->meta & META_CONTROL) {
      if (!control_task(v, head))
        v->drops |= (uint8_t)(1u << queue);
      else if (picks)
        offer(v, TASK_CONTROL, control_entry(head->payload), queue);
    } else if (picks && t->cls->data_task[channel_id(v, queue, head->meta)]) {
      offer(v, TASK_DATA, channel_id(v, queue, head->meta), queue);
    }
  }
  uint64_t local = picks ? t->active & ~t->blocked & t->cls->local_ids : 0;
  if (local & t->high)
    local &= t->high;
  if (local) {
    uint64_t later = local & ~(((uint64_t)2 << t->task_id) - 1);
    offer(v, TASK_LOCAL, (unsigned)__builtin_ctzll(later ? later : local), NO_QUEUE);
  }
}

/* ---- plan: which thread issues ---------------------------------------------------------- */

static unsigned thread_level(const FastTile *t, unsigned thread)
{
  static const uint8_t levels[PRIO_COUNT] = {
    [PRIO_LOW] = LEVEL_UT_LOW, [PRIO_MEDIUM] = LEVEL_UT_MEDIUM, [PRIO_HIGH] = LEVEL_UT_HIGH,
  };
  return thread == MAIN_THREAD ? t->main_level : levels[t->threads[thread].run->run.priority];
}

/* Strict priority between levels, round robin from the last issued within one. */
static bool before(const FastTile *t, unsigned thread, int best)
{
  if (best < 0)
    return true;
  unsigned level = thread_level(t, thread), best_level = thread_level(t, (unsigned)best);
  if (level != best_level)
    return level > best_level;
  unsigned last = t->last_issued[level];
  return (thread + FAST_THREADS - last - 1) % FAST_THREADS <
         ((unsigned)best + FAST_THREADS - last - 1) % FAST_THREADS;
}

static RARE void change_stall(Visit *v, unsigned thread, StallCause cause)
{
  FastThread *th = &v->tile->threads[thread];
  if (th->stall != STALL_NONE) {
    v->worker->stats.stalls[th->stall] += v->now - th->stall_since;
    EVENT(v, .kind = EV_STALL, .pc = th->run->run.pc, .id = th->stall, .thread = (uint8_t)thread,
          .payload = (uint32_t)(v->now - th->stall_since));
  }
  th->stall = (uint8_t)cause;
  th->stall_since = v->now;
  note_change(v);
}

STEP HOT void note_stall(Visit *v, unsigned thread, StallCause cause)
{
  if (UNLIKELY((unsigned)cause != v->tile->threads[thread].stall))
    change_stall(v, thread, cause);
}

/* The main thread's next instruction issues while its own operation runs. */
static void plan_beside(Visit *v)
{
  FastTile *t = v->tile;
  FastThread *th = &t->threads[MAIN_THREAD];
  if (!th->run || !t->overlaps || t->waits || t->ready > v->now)
    return;
  const Insn *insn = class_insn(t->cls, t->pc);
  if (th->plain)
    plain_sync(th);
  if (insn && overlap_issues(&th->run->run, insn, &t->regs))
    v->beside = insn;
  else
    t->waits = !insn || insn_info[insn->op].cost != COST_LOAD;
}

static RARE void plan_issue(Visit *v)
{
  FastTile *t = v->tile;
  unsigned ready = 0;
  plan_beside(v);
  StallCause causes[FAST_THREADS];
  GroupPlan group;
  if (t->running && !t->threads[MAIN_THREAD].run && t->ready <= v->now)
    v->thread = MAIN_THREAD;
  for (unsigned bits = t->vectors; bits; bits &= bits - 1) {
    unsigned i = (unsigned)__builtin_ctz(bits);
    FastThread *th = &t->threads[i];
    causes[i] = th->ready > v->now ? STALL_NONE : plan_group(v, i, &group);
    if (th->ready > v->now || causes[i] != STALL_NONE)
      continue;
    ready |= 1u << i;
    if (!before(t, i, v->thread))
      continue;
    v->thread = (int)i;
    v->is_group = true;
    v->group = group;
  }
  for (unsigned bits = t->vectors; bits; bits &= bits - 1) {
    unsigned i = (unsigned)__builtin_ctz(bits);
    bool waits = (ready >> i & 1) && !(v->is_group && v->thread == (int)i);
    note_stall(v, i, waits ? STALL_ISSUE : causes[i]);
  }
}

/* ---- tasks ------------------------------------------------------------------------------ */

static void start_main(Visit *v, uint16_t pc, unsigned cost)
{
  FastTile *t = v->tile;
  t->running = true;
  t->pc = pc;
  t->regs.r[v->engine->program->machine->sp_register] = t->cls->image->stack_top;
  t->ready = v->now + cost;
}

static void start_task(Visit *v)
{
  FastTile *t = v->tile;
  const ImageTask *task;
  FastWavelet w = {0};
  TimingRowId start = TIMING_local_task_start;
  if (v->pick == TASK_LOCAL) {
    task = t->cls->local_task[v->pick_id];
    t->active &= ~(UINT64_C(1) << v->pick_id);
  } else {
    bool data = v->pick == TASK_DATA;
    task = data ? t->cls->data_task[v->pick_id] : t->cls->control_task[v->pick_id];
    start = data ? TIMING_data_task_start : TIMING_control_task_start;
    w = input_pop(v, v->pick_queue);
    queue_note(&t->queues[v->pick_queue].input,
               (QueueUse){task->entry, 1, wavelet_field(w.meta), false});
    if (task->arguments > 0)
      t->regs.r[DATA_REGISTER] = (uint16_t)w.payload;
    if (task->arguments > 1)
      t->regs.r[INDEX_REGISTER] = (uint16_t)(w.payload >> HALF_BITS);
  }
  start_main(v, task->entry, pay_row(v, start));
  t->task = (uint8_t)v->pick;
  t->task_id = v->pick_id;
  record_start(&t->record, v->pick, v->pick_id);
  v->worker->stats.tasks++;
  EVENT(v, .kind = EV_TASK_START, .task = v->pick, .id = v->pick_id, .payload = w.payload);
}

/* The host calls a function: its `ret` finds PC_RETURN on the stack. */
static void start_launch(Visit *v)
{
  FastTile *t = v->tile;
  unsigned sp = v->engine->program->machine->sp_register;
  t->launch_pending = false;
  start_main(v, t->launch_entry, pay_row(v, TIMING_local_task_start));
  t->task = TASK_NONE;
  t->regs.r[sp] = (uint16_t)(t->regs.r[sp] - 2);
  if (mem_store(&t->mem, t->regs.r[sp], 2, PC_RETURN) != FAULT_COUNT)
    tile_fault(v, FAULT_STACK, t->regs.r[sp]);
  EVENT(v, .kind = EV_LAUNCH, .pc = t->launch_entry);
}

/* The main thread is free for a data task, and a running operation takes its wavelets. */
static RARE void check_contested(Visit *v)
{
  FastTile *t = v->tile;
  for (unsigned bits = t->vectors; bits; bits &= bits - 1) {
    VecRun *run = &t->threads[__builtin_ctz(bits)].run->run;
    const VecStream *s = run->contested ? NULL
                                        : vec_contested_stream(run, t->cls,
                                                               v->wse2 ? ARCH_WSE2 : ARCH_WSE3,
                                                               t->blocked);
    if (!s)
      continue;
    run->contested = true;
    arrput(v->worker->faults,
           ((Fault){.kind = FAULT_QUEUE_TASK, .cycle = v->now, .tile = t->index,
                    .color = s->color, .pc = run->pc, .value = fault_queue(false, s->queue),
                    .value2 = run->pc}));
  }
}

static void end_main(Visit *v)
{
  FastTile *t = v->tile;
  if (UNLIKELY(t->readers))
    check_contested(v);
  if (t->task != TASK_NONE)
    EVENT(v, .kind = EV_TASK_END, .task = (TaskKind)t->task, .id = t->task_id);
  t->running = false;
  t->task = TASK_NONE;
  t->ready = v->now + pay_row(v, TIMING_task_end_to_pick);
}

/* ---- counters and configuration registers ----------------------------------------------- */

static uint64_t timestamp(const Visit *v)
{
  const FastTile *t = v->tile;
  return (t->tsc_value + (t->tsc_running ? v->now - t->tsc_start : 0)) & COUNTER_MASK;
}

/* Reading a counter's low word latches all of it, so that three reads in a row fit together. */
static uint16_t counter_word(const Visit *v, unsigned word)
{
  FastTile *t = v->tile;
  unsigned counter = word / TSC_WORDS, part = word % TSC_WORDS;
  uint64_t *latch = counter == 0 ? &t->tsc_latch : &t->perf_latch[counter - 1];
  if (part == 0)
    *latch = counter == 0 ? timestamp(v) : counter == 1 ? t->issues : t->wavelets_seen;
  return (uint16_t)(*latch >> HALF_BITS * part);
}

static bool router_read(const Visit *v, uint16_t address, uint16_t *value);
static bool router_write(Visit *v, uint16_t address, uint16_t value);

static uint16_t queue_status(const Visit *v, bool output)
{
  const Machine *m = v->engine->program->machine;
  uint8_t counts[MAX_QUEUES];
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    counts[q] = (uint8_t)(output ? v->tile->queues[q].output : v->tile->queues[q].input).count;
  return registers_queue_status(counts, output ? m->output_queue_depth : m->input_queue_depth,
                                output ? m->output_queues : m->input_queues);
}

/* The operation of a microthread; NULL: none runs. */
static VecRun *thread_run(const FastTile *t, unsigned microthread)
{
  unsigned thread = 1 + microthread;
  return t->vectors >> thread & 1 ? &t->threads[thread].run->run : NULL;
}

static bool read_config(const Visit *v, uint16_t address, uint16_t *value)
{
  FastTile *t = v->tile;
  const Image *image = v->engine->program->image;
  const ConfigRegInfo *reg = config_reg_at(address);
  uint32_t x = program_x(v->engine->program, t->index);
  uint32_t y = program_y(v->engine->program, t->index);
  if (!reg || !(reg->access & CONFIG_READ))
    return false;
  unsigned part = address - reg->address;
  switch ((int)reg->address) {
  case CFG_PE_COORD_X: *value = (uint16_t)x; return true;
  case CFG_PE_COORD_Y: *value = (uint16_t)y; return true;
  case CFG_FABRIC_COORD_X: *value = (uint16_t)(image->offset_x + x); return true;
  case CFG_FABRIC_COORD_Y: *value = (uint16_t)(image->offset_y + y); return true;
  case CFG_TSC_CONTROL: *value = t->tsc_running ? TSC_RUN_BIT : 0; return true;
  case CFG_TSC_COUNTER: *value = counter_word(v, part); return true;
  case CFG_PERF_COUNTER: *value = counter_word(v, TSC_WORDS + part); return true;
  case CFG_TASK_PRIORITY: *value = (uint16_t)(t->high >> HALF_BITS * part); return true;
  case CFG_TEARDOWN_PENDING:
    *value = (uint16_t)(t->torn_down >> HALF_BITS * part);
    t->torn_down &= ~((uint32_t)*value << HALF_BITS * part);
    return true;
  case CFG_QUEUE_STATUS: *value = queue_status(v, part); return true;
  case CFG_MICROTHREAD: *value = registers_thread_word(thread_run(t, part)); return true;
  default: return registers_read(&t->registers, t->cls->image, reg, part, value);
  }
}

static bool write_config(Visit *v, uint16_t address, uint16_t value)
{
  FastTile *t = v->tile;
  const ConfigRegInfo *reg = config_reg_at(address);
  if (!reg || !(reg->access & CONFIG_WRITE))
    return false;
  unsigned part = (unsigned)(address - reg->address), shift = HALF_BITS * part;
  uint64_t mask = (uint64_t)LOW16 << shift, placed = (uint64_t)value << shift;
  switch ((int)reg->address) {
  case CFG_TSC_CONTROL:
    t->tsc_value = timestamp(v);
    t->tsc_start = v->now;
    t->tsc_running = value & TSC_RUN_BIT;
    return true;
  case CFG_TSC_COUNTER:
    t->tsc_value = (timestamp(v) & ~mask) | placed;
    t->tsc_start = v->now;
    return true;
  case CFG_MAIN_PRIORITY: case CFG_TASK_PRIORITY: write_priority(v, address, value); return true;
  case CFG_MICROTHREAD: registers_set_thread(thread_run(t, part), value); return true;
  case CFG_CMD_STREAM: t->unblocks += value == STREAM_READY; return true;
  case CFG_SIM_PRINT:
    if (v->engine->options.print)
      arrput(v->worker->prints, ((FastPrint){v->now, t->index, (uint8_t)value}));
    return true;
  default: {
    bool written = registers_write(&t->registers, t->cls->image, reg, part, value);
    v->rebinds = true;
    t->regs.traps = registers_traps(&t->registers);
    return written;
  }
  }
}

static void access_config(Visit *v, uint16_t address, bool store,
                          uint8_t r)
{
  FastTile *t = v->tile;
  const ConfigRegInfo *reg = config_reg_at(address);
  if (reg && router_config_is(reg->address)) {
    if (store ? !router_write(v, address, t->regs.r[r])
              : !router_read(v, address, &t->regs.r[r]))
      arrput(v->worker->faults,
             ((Fault){.kind = FAULT_COLOR_REGISTER, .cycle = v->now, .tile = t->index,
                      .color = (uint8_t)(address - reg->address), .pc = t->pc}));
    return;
  }
  bool ok = store ? write_config(v, address, t->regs.r[r])
                  : read_config(v, address, &t->regs.r[r]);
  if (!ok)
    tile_fault(v, FAULT_CONFIG_ADDRESS, address);
}

static void exec_config(Visit *v, const Insn *insn)
{
  bool immediate = insn->op == OP_ldcfgi || insn->op == OP_stcfgi;
  bool store = insn->op == OP_stcfg || insn->op == OP_stcfgi;
  uint16_t address = immediate ? (uint16_t)insn->imm : v->tile->regs.r[insn->b];
  access_config(v, address, store, insn->a);
}

/* ---- DSRs ------------------------------------------------------------------------------- */

static DsrState *dsr_of(const Visit *v, const Insn *insn)
{
  const FastDsrMap *map = &v->engine->dsr_maps[v->tile->cls->index];
  return &v->tile->dsrs[map->place[insn->file][insn->a]];
}

static unsigned exec_ldsr(Visit *v, const Insn *insn)
{
  FastTile *t = v->tile;
  uint32_t address = insn->absolute ? insn->imm : (t->regs.r[insn->b] + insn->imm) & LOW16;
  uint16_t words[sizeof(((ImageDsr *)0)->words) / sizeof(uint16_t)] = {0};
  uint32_t word = 0;
  Descriptor desc;
  FaultKind fault = mem_load(&t->mem, address, 2, &word);
  words[0] = (uint16_t)word;
  unsigned count = descriptor_words((DescKind)(words[0] & 0xf));
  for (unsigned i = 1; i < count && fault == FAULT_COUNT; i++) {
    fault = mem_load(&t->mem, address + i * 2, 2, &word);
    words[i] = (uint16_t)word;
  }
  if (fault == FAULT_COUNT && !descriptor_decode(words, ARRAY_COUNT(words), &desc))
    fault = FAULT_DESCRIPTOR;
  if (fault != FAULT_COUNT) {
    tile_fault(v, fault, address);
    return 0;
  }
  dsr_set(dsr_of(v, insn), &desc);
  bool extended = desc.kind == DESC_MEM4D || desc.kind == DESC_CIRC || desc.kind == DESC_FIFO;
  return pay_row(v, extended ? TIMING_xdsr_load : TIMING_dsr_load);
}

static void exec_dsrset(Visit *v, const Insn *insn)
{
  uint16_t value = insn->absolute ? (uint16_t)insn->imm : v->tile->regs.r[insn->b];
  if (!dsr_set_field(dsr_of(v, insn), insn->field, value))
    tile_fault(v, FAULT_DSR_FIELD, insn->a);
}

static void exec_dsrget(Visit *v, const Insn *insn)
{
  uint16_t value = 0;
  if (!dsr_get_field(dsr_of(v, insn), insn->field, &value))
    tile_fault(v, FAULT_DSR_FIELD, insn->a);
  v->tile->regs.r[insn->b] = value;
}

/* ---- the engine's own instructions ------------------------------------------------------ */

static void exec_block(Visit *v, unsigned kind, unsigned id, bool blocked)
{
  if (kind >= ID_KIND_COUNT || id >= id_kind_limit((IdKind)kind))
    tile_fault(v, FAULT_ID_RANGE, id);
  else
    set_blocked(v, (IdKind)kind, id, blocked);
}

static void exec_qflush(Visit *v, unsigned queue, bool output)
{
  if (queue >= id_kind_limit(ID_INPUT_QUEUE))
    tile_fault(v, FAULT_ID_RANGE, queue);
  else
    registers_flush(&v->tile->registers, output, queue);
  v->tile->flushing = registers_flushing(&v->tile->registers);
}

static void exec_stctr(Visit *v, const Insn *insn)
{
  uint32_t base = insn->op == OP_stctr ? v->tile->regs.r[insn->b] : 0;
  uint32_t address = (base + insn->imm) & LOW16;
  FaultKind fault = mem_store(&v->tile->mem, address, 2, counter_word(v, insn->a));
  if (fault != FAULT_COUNT)
    tile_fault(v, fault, address);
}

/* Returns the cycles to the next issue; vector instructions set that themselves. */
static unsigned exec_engine(Visit *v, const Insn *insn)
{
  uint16_t *r = v->tile->regs.r;
  TileRegisters *registers = &v->tile->registers;
  if (insn->op == OP_ldsr)
    return exec_ldsr(v, insn);
  switch ((int)insn->op) {
  case OP_dsrset: exec_dsrset(v, insn); break;
  case OP_dsrget: exec_dsrget(v, insn); break;
  case OP_act: activate(v, r[insn->a], v->tile->pc); break;
  case OP_acti: activate(v, insn->imm, v->tile->pc); break;
  case OP_blk: exec_block(v, insn->imm, r[insn->a], true); break;
  case OP_blki: exec_block(v, insn->a, insn->imm, true); break;
  case OP_unblk: exec_block(v, insn->imm, r[insn->a], false); break;
  case OP_unblki: exec_block(v, insn->a, insn->imm, false); break;
  case OP_ldcfg: case OP_ldcfgi: case OP_stcfg: case OP_stcfgi: exec_config(v, insn); break;
  case OP_rnd: r[insn->a] = scalar_random(&registers->random[registers->generator]); break;
  case OP_prng:
    registers->generator = (uint8_t)(r[insn->a] % v->engine->program->machine->generators);
    break;
  case OP_stctr: case OP_stctra: exec_stctr(v, insn); break;
  case OP_qflush: exec_qflush(v, r[insn->a], insn->imm); break;
  default: tile_fault(v, FAULT_UNSUPPORTED, 0); break;
  }
  return pay_row(v, timing_scalar_row(insn_info[insn->op].cost, false));
}

/* ---- one scalar or vector instruction --------------------------------------------------- */

static RARE void check_scalar_memory(Visit *v, const Insn *insn)
{
  const FastTile *t = v->tile;
  Checked earlier = running_before(v->tile, NULL);
  MemoryAccess access = {0};
  uint32_t other;
  FaultKind kind = check_scalar(&earlier, v->engine->program, t->cls, insn, t->pc, &t->regs,
                                &access, &other);
  if (kind != FAULT_COUNT)
    arrput(v->worker->faults,
           ((Fault){.kind = kind, .cycle = v->now, .tile = t->index, .color = NO_COLOR,
                    .pc = t->pc, .value = access.address,
                    .value2 = other ? other : access.object.start}));
}

static void issue_scalar(Visit *v, const Insn *insn)
{
  FastTile *t = v->tile;
  CostClass cost = insn_info[insn->op].cost;
  uint16_t next = (uint16_t)(t->pc + insn_words(insn->op) * 2);
  if (UNLIKELY(step_checks(v, CHECKS_MEMORY)))
    check_scalar_memory(v, insn);
  ScalarResult result = scalar_exec(insn, t->pc, v->engine->program->image->fp16, &t->regs,
                                    &t->mem);
  switch (result.outcome) {
  case SCALAR_FAULT:
    tile_fault(v, result.fault, result.value);
    t->running = false;
    return;
  case SCALAR_CONFIG:
    access_config(v, (uint16_t)result.value, result.store, insn->a);
    t->ready = v->now + pay_row(v, timing_scalar_row(cost, false));
    t->pc = next;
    return;
  case SCALAR_JUMP:
    t->pc = result.pc;
    if (result.pc == PC_RETURN)
      end_main(v);
    else
      t->ready = v->now + pay_row(v, timing_scalar_row(cost, true));
    return;
  case SCALAR_ENGINE:
    t->ready = v->now + exec_engine(v, insn);
    t->pc = next;
    return;
  case SCALAR_NEXT: default:
    t->ready = v->now + pay_row(v, timing_scalar_row(cost, false));
    t->pc = next;
    return;
  }
}

/* Whether nothing but its own instructions concerns the tile for now. */
static bool is_alone(const FastTile *t)
{
  return t->running && !t->vectors && !t->input_any && !t->output_any && !t->occupied &&
         !t->attended && !t->flushing;
}

static void issue_instruction(Visit *v)
{
  FastTile *t = v->tile;
  const Insn *insn = class_insn(t->cls, t->pc);
  if (!insn) {
    tile_fault(v, FAULT_PC, t->pc);
    t->running = false;
    return;
  }
  EVENT(v, .kind = EV_INST, .pc = t->pc);
  v->worker->stats.instructions++;
  if (insn->op == OP_vec)
    vec_start(v, insn);
  else if (insn->op == OP_endtask)
    end_main(v);
  else
    issue_scalar(v, insn);
  if (!FAST_TRACED && is_alone(t) && t->ready > v->now) {
    fast_ahead(v->worker, t, v->now);
    v->sleeps = true;
  }
}

static void do_issue(Visit *v)
{
  FastTile *t = v->tile;
  for (unsigned marks = v->fifo_marks; marks; marks &= marks - 1)
    step_mark_fifos(v, &t->threads[__builtin_ctz(marks)].run->run, false);
  if (v->beside) {
    t->issues++;
    v->changed = true;
    issue_instruction(v);
  }
  if (v->thread < 0)
    return;
  unsigned thread = (unsigned)v->thread;
  t->last_issued[thread_level(t, thread)] = (uint8_t)thread;
  t->issues++;
  v->changed = true;
  if (v->is_group)
    do_group(v, thread, &v->group);
  else
    issue_instruction(v);
}

/* The main thread's plain operation is the only one, and there is nothing for the scheduler: the
 * group, if there can be one, is planned and done in one go. */
STEP HOT bool is_lone(const FastTile *t)
{
  return t->vectors == 1u << MAIN_THREAD && t->threads[MAIN_THREAD].plain && t->running &&
         !(t->input_any & t->input_control) && (!t->overlaps || t->waits);
}

static HOT void visit_lone(Visit *v)
{
  FastTile *t = v->tile;
  FastThread *th = &t->threads[MAIN_THREAD];
  if (th->ready > v->now) {
    note_stall(v, MAIN_THREAD, STALL_NONE);
    return;
  }
  StallCause cause = plain_waits(v, &th->run->plain);
  note_stall(v, MAIN_THREAD, cause);
  if (cause != STALL_NONE)
    return;
  v->thread = MAIN_THREAD;
  v->changed = true;
  t->last_issued[t->main_level] = MAIN_THREAD;
  t->issues++;
  plain_group(v, MAIN_THREAD);
}

static void drop_control(Visit *v, unsigned queue)
{
  FastWavelet w = input_pop(v, queue);
  if (control_entry(w.payload) == v->engine->program->machine->control_entry_none)
    return;
  record_untaken(&v->tile->record, v->now, queue, wavelet_field(w.meta), w.payload);
  if (step_checks(v, CHECKS_TASKS))
    arrput(v->worker->faults,
           ((Fault){.kind = FAULT_CONTROL_UNTAKEN, .cycle = v->now, .tile = v->tile->index,
                    .color = wavelet_field(w.meta), .pc = PC_RETURN, .value = w.payload}));
}

static RARE void visit_any(Visit *v)
{
  FastTile *t = v->tile;
  if (t->input_any || !t->running)
    plan_tasks(v);
  plan_issue(v);
  for (unsigned drops = v->drops; drops; drops &= drops - 1)
    drop_control(v, (unsigned)__builtin_ctz(drops));
  if (v->launch)
    start_launch(v);
  else if (v->pick != TASK_NONE)
    start_task(v);
  if (v->drops || v->launch || v->pick != TASK_NONE)
    v->changed = true;
  do_issue(v);
}

STEP HOT void visit_tile(Visit *v)
{
  if (LIKELY(is_lone(v->tile)))
    visit_lone(v);
  else
    visit_any(v);
}
