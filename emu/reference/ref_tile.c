/* Reference engine: tasks, scheduler, choice of the thread that issues, scalar instructions and
 * the instructions that belong to the engine. */
#include "emu/reference/reference_internal.h"

#include "stb_ds.h"

#include <string.h>

enum {
  LEVEL_UT_LOW = 0, LEVEL_UT_MEDIUM = 2, LEVEL_UT_HIGH = 4,
  DATA_REGISTER = 0, INDEX_REGISTER = 1, HALF_BITS = 16, LOW16 = 0xffff,
  TSC_RUN_BIT = 1, TSC_WORDS = 3, STREAM_READY = 1,
};
#define COUNTER_MASK UINT64_C(0xffffffffffff)

static void tile_fault(RefEngine *engine, const RefTile *tile, FaultKind kind, uint32_t value)
{
  ref_fault(engine, (Fault){.kind = kind, .cycle = engine->cycle, .tile = tile->index,
                            .color = NO_COLOR, .pc = tile->pc, .value = value});
}

static bool bit(uint64_t bits, unsigned index) { return bits >> index & 1; }

/* ---- begin: actions that take effect now ----------------------------------------------------- */

void ref_action_later(RefTile *tile, uint64_t cycle, Action action, uint16_t pc)
{
  if (action.kind == ACT_ACTIVATE || action.kind == ACT_UNBLOCK)
    arrput(tile->pending, ((PendingAction){cycle, action, pc}));
}

/* On wse3 an input queue and the data task id of the same number share one blocked bit; on
 * wse2 the data task id is the queue's color. */
static uint64_t *block_word(const RefEngine *engine, RefTile *tile, IdKind kind, unsigned *id)
{
  if (kind == ID_INPUT_QUEUE && engine->program->image->arch == ARCH_WSE2)
    *id = tile->cls->image->input[*id].color;
  return &tile->blocked;
}

static void set_blocked(RefEngine *engine, RefTile *tile, IdKind kind, unsigned id, bool blocked)
{
  ref_event(engine, tile, (TraceEvent){.kind = blocked ? EV_BLOCK : EV_UNBLOCK,
                                       .id_kind = (uint8_t)kind, .id = (uint8_t)id});
  if (kind == ID_MICROTHREAD) {
    uint8_t mask = (uint8_t)(1u << id);
    tile->paused = (uint8_t)(blocked ? tile->paused | mask : tile->paused & ~mask);
    if (blocked)
      tile->blocked_at[block_place(kind, id)] = tile->pc;
    return;
  }
  uint64_t *word = block_word(engine, tile, kind, &id);
  if (blocked)
    tile->blocked_at[block_place(ID_TASK, id)] = tile->pc;
  uint64_t mask = UINT64_C(1) << id;
  *word = blocked ? *word | mask : *word & ~mask;
}

/* `pc`: of the instruction whose doing it is. */
static void activate(RefEngine *engine, RefTile *tile, unsigned id, uint16_t pc)
{
  if (id >= MAX_TASK_IDS || !bit(tile->cls->local_ids, id)) {
    tile_fault(engine, tile, FAULT_TASK_ID, id);
    return;
  }
  bool merges = bit(tile->active, id);
  record_activation(&tile->record, id, pc, merges);
  if (merges && ref_checks(engine, CHECKS_TASKS))
    ref_fault(engine, (Fault){.kind = FAULT_ACTIVATION_MERGED, .cycle = engine->cycle,
                              .tile = tile->index, .color = NO_COLOR, .pc = pc, .value = id,
                              .value2 = tile->record.before_pc});
  tile->active |= UINT64_C(1) << id;
  ref_event(engine, tile, (TraceEvent){.kind = EV_ACTIVATE, .id_kind = ID_TASK,
                                       .id = (uint8_t)id});
}

static void apply_priority(RefTile *tile, uint16_t address, uint16_t value)
{
  if (address == CFG_MAIN_PRIORITY) {
    tile->main_level = (uint8_t)(LEVEL_MAIN + value % (LEVELS - LEVEL_MAIN));
    return;
  }
  unsigned shift = HALF_BITS * (address - CFG_TASK_PRIORITY);
  tile->high = (tile->high & ~((uint64_t)LOW16 << shift)) | (uint64_t)value << shift;
}

static void begin_priorities(RefEngine *engine, RefTile *tile)
{
  size_t kept = 0, count = arrlenu(tile->pending_config);
  for (size_t i = 0; i < count; i++) {
    PendingConfig p = tile->pending_config[i];
    if (p.cycle > engine->cycle) {
      tile->pending_config[kept++] = p;
      continue;
    }
    apply_priority(tile, p.address, p.value);
    tile->changed = true;
  }
  if (kept < count)
    arrsetlen(tile->pending_config, kept);
}

uint8_t ref_queues_filled(const Ring rings[MAX_QUEUES])
{
  unsigned any = 0;
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    any |= rings[q].count ? 1u << q : 0;
  return (uint8_t)any;
}

/* A queue that a flush waits for has become empty: the teardown task hears of it. */
static void begin_flush(RefEngine *engine, RefTile *tile)
{
  unsigned id = engine->program->machine->teardown_task;
  if (!registers_flushing(&tile->registers) ||
      !registers_flush_empty(&tile->registers, ref_queues_filled(tile->input),
                             ref_queues_filled(tile->output)))
    return;
  tile->changed = true;
  if (bit(tile->cls->local_ids, id))
    activate(engine, tile, id, PC_RETURN);
}

void ref_tile_begin(RefEngine *engine, RefTile *tile)
{
  begin_priorities(engine, tile);
  size_t kept = 0, count = arrlenu(tile->pending);
  for (size_t i = 0; i < count; i++) {
    PendingAction p = tile->pending[i];
    if (p.cycle > engine->cycle) {
      tile->pending[kept++] = p;
      continue;
    }
    if (p.action.kind == ACT_ACTIVATE)
      activate(engine, tile, p.action.id, p.pc);
    else
      set_blocked(engine, tile, p.action.id_kind, p.action.id, false);
    tile->changed = true;
  }
  if (kept < count)
    arrsetlen(tile->pending, kept);
  begin_flush(engine, tile);
}

/* ---- plan: the scheduler --------------------------------------------------------------------- */

/* The id whose blocked bit closes the channel of a queue whose head has this color. */
static unsigned channel_id(const RefEngine *engine, unsigned queue, const Wavelet *head)
{
  return engine->program->image->arch == ARCH_WSE2 ? head->color : queue;
}

/* The wavelet at the head if tasks may have it: not if an operation takes it or has ended by it. */
static const Wavelet *open_head(const RefEngine *engine, const RefTile *tile, unsigned queue)
{
  const Ring *ring = &tile->input[queue];
  const Wavelet *head = ring_peek(ring, 0);
  if (ring->count == 0 || head->visible > engine->cycle || head->kept ||
      bit(tile->blocked, channel_id(engine, queue, head)))
    return NULL;
  return ref_vec_takes(tile, queue, head) ? NULL : head;
}

/* Entry 31 means no task, and the tile ignores an entry without a control task. */
static const ImageTask *control_task(const RefEngine *engine, const RefTile *tile,
                                     const Wavelet *head)
{
  unsigned entry = control_entry(head->payload);
  if (entry == engine->program->machine->control_entry_none)
    return NULL;
  return tile->cls->control_task[entry];
}

static void plan_drops(const RefEngine *engine, const RefTile *tile, RefPlan *plan)
{
  for (unsigned queue = 0; queue < MAX_QUEUES; queue++) {
    const Wavelet *head = open_head(engine, tile, queue);
    if (head && head->control && !control_task(engine, tile, head))
      plan->drops |= (uint8_t)(1u << queue);
  }
}

/* Round robin over the ids, from the task picked last. */
static unsigned turn(const RefTile *tile, unsigned id)
{
  return (id - tile->task_id - 1u) % MAX_TASK_IDS;
}

/* Keeps the ready task of high priority, among equals that whose turn comes first. */
static void offer(const RefTile *tile, RefPlan *plan, TaskKind kind, unsigned id, unsigned queue)
{
  bool high = bit(tile->high, id);
  if (plan->pick != TASK_NONE) {
    bool best_high = bit(tile->high, plan->pick_id);
    if (high != best_high ? best_high : turn(tile, plan->pick_id) <= turn(tile, id))
      return;
  }
  plan->pick = kind;
  plan->pick_id = (uint8_t)id;
  plan->pick_queue = (uint8_t)queue;
}

static void plan_pick(const RefEngine *engine, const RefTile *tile, RefPlan *plan)
{
  if (tile->running || tile->ready > engine->cycle)
    return;
  if (tile->launch_pending) {
    plan->launch = true;
    return;
  }
  for (unsigned queue = 0; queue < MAX_QUEUES; queue++) {
    const Wavelet *head = open_head(engine, tile, queue);
    if (!head)
      continue;
    unsigned id = channel_id(engine, queue, head);
    if (head->control && control_task(engine, tile, head))
      offer(tile, plan, TASK_CONTROL, control_entry(head->payload), queue);
    else if (!head->control && tile->cls->data_task[id])
      offer(tile, plan, TASK_DATA, id, queue);
  }
  uint64_t local = tile->active & ~tile->blocked & tile->cls->local_ids;
  for (unsigned id = 0; id < MAX_TASK_IDS; id++)
    if (bit(local, id))
      offer(tile, plan, TASK_LOCAL, id, NO_QUEUE);
}

/* ---- plan: which thread issues --------------------------------------------------------------- */

static unsigned thread_level(const RefTile *tile, unsigned thread)
{
  static const uint8_t levels[PRIO_COUNT] = {
    [PRIO_LOW] = LEVEL_UT_LOW, [PRIO_MEDIUM] = LEVEL_UT_MEDIUM, [PRIO_HIGH] = LEVEL_UT_HIGH,
  };
  return thread == MAIN_THREAD ? tile->main_level : levels[tile->threads[thread].run.priority];
}

/* Strict priority between levels, round robin from the last issued within one. */
static bool before(const RefTile *tile, unsigned thread, int best)
{
  if (best < 0)
    return true;
  unsigned level = thread_level(tile, thread), best_level = thread_level(tile, (unsigned)best);
  if (level != best_level)
    return level > best_level;
  unsigned last = tile->last_issued[level];
  return (thread + REF_THREADS - last - 1) % REF_THREADS <
         ((unsigned)best + REF_THREADS - last - 1) % REF_THREADS;
}

/* The main thread's next instruction issues while its own operation runs. */
static bool issues_beside(const RefEngine *engine, const RefTile *tile)
{
  const VecThread *own = &tile->threads[MAIN_THREAD];
  if (!own->running || !tile->overlaps || tile->ready > engine->cycle)
    return false;
  const Insn *insn = class_insn(tile->cls, tile->pc);
  return insn && overlap_issues(&own->run, insn, &tile->regs);
}

static void plan_issue(const RefEngine *engine, const RefTile *tile, RefPlan *plan)
{
  bool ready[REF_THREADS] = {false};
  plan->thread = -1;
  plan->beside = issues_beside(engine, tile);
  if (tile->running && !tile->threads[MAIN_THREAD].running && tile->ready <= engine->cycle) {
    plan->thread = MAIN_THREAD;
    plan->group = false;
  }
  for (unsigned i = 0; i < REF_THREADS; i++) {
    const VecThread *t = &tile->threads[i];
    unsigned elements;
    bool by_control, by_fifo;
    uint8_t stream;
    plan->stalls[i] = STALL_NONE;
    if (!t->running || t->ready > engine->cycle)
      continue;
    plan->stalls[i] = ref_vec_plan(engine, tile, i, plan, &elements, &by_control, &by_fifo,
                                   &stream);
    ready[i] = plan->stalls[i] == STALL_NONE;
    if (!ready[i] || !before(tile, i, plan->thread))
      continue;
    plan->thread = (int)i;
    plan->group = true;
    plan->elements = elements;
    plan->by_control = by_control;
    plan->by_fifo = by_fifo;
  }
  for (unsigned i = 0; i < REF_THREADS; i++)
    if (ready[i] && !(plan->group && plan->thread == (int)i))
      plan->stalls[i] = STALL_ISSUE;
}

void ref_tile_plan(RefEngine *engine, const RefTile *tile, RefPlan *plan)
{
  *plan = (RefPlan){.thread = -1, .pick = TASK_NONE};
  if (tile->cls) {
    plan_drops(engine, tile, plan);
    plan_pick(engine, tile, plan);
    plan_issue(engine, tile, plan);
  }
  ref_router_plan(engine, tile, plan);
}

/* ---- commit: tasks --------------------------------------------------------------------------- */

static Wavelet take_input(RefEngine *engine, RefTile *tile, unsigned queue)
{
  Wavelet w = ring_pop(&tile->input[queue]);
  ref_event(engine, tile, (TraceEvent){.kind = EV_POP, .queue = (uint8_t)queue, .color = w.color,
                                       .payload = w.payload, .control = w.control});
  return w;
}

static void start_main(RefEngine *engine, RefTile *tile, uint16_t pc, unsigned cost)
{
  tile->running = true;
  tile->pc = pc;
  tile->regs.r[engine->program->machine->sp_register] = tile->cls->image->stack_top;
  tile->ready = engine->cycle + cost;
}

static void start_task(RefEngine *engine, RefTile *tile, const RefPlan *plan)
{
  const ImageTask *task;
  Wavelet w = {0};
  TimingRowId start = TIMING_local_task_start;
  if (plan->pick == TASK_LOCAL) {
    task = tile->cls->local_task[plan->pick_id];
    tile->active &= ~(UINT64_C(1) << plan->pick_id);
  } else {
    bool data = plan->pick == TASK_DATA;
    task = data ? tile->cls->data_task[plan->pick_id] : tile->cls->control_task[plan->pick_id];
    start = data ? TIMING_data_task_start : TIMING_control_task_start;
    w = take_input(engine, tile, plan->pick_queue);
    tile->input_use[plan->pick_queue] = (QueueUse){task->entry, 1, w.color, false};
    if (task->arguments > 0)
      tile->regs.r[DATA_REGISTER] = (uint16_t)w.payload;
    if (task->arguments > 1)
      tile->regs.r[INDEX_REGISTER] = (uint16_t)(w.payload >> HALF_BITS);
  }
  start_main(engine, tile, task->entry, ref_pay(engine, start));
  tile->task = plan->pick;
  tile->task_id = plan->pick_id;
  record_start(&tile->record, plan->pick, plan->pick_id);
  engine->stats.tasks++;
  ref_event(engine, tile, (TraceEvent){.kind = EV_TASK_START, .task = plan->pick,
                                       .id = plan->pick_id, .payload = w.payload});
}

/* The host calls a function: its `ret` finds PC_RETURN on the stack. */
static void start_launch(RefEngine *engine, RefTile *tile)
{
  unsigned sp = engine->program->machine->sp_register;
  tile->launch_pending = false;
  start_main(engine, tile, tile->launch_entry, ref_pay(engine, TIMING_local_task_start));
  tile->task = TASK_NONE;
  tile->regs.r[sp] = (uint16_t)(tile->regs.r[sp] - 2);
  FaultKind fault = mem_store(&tile->mem, tile->regs.r[sp], 2, PC_RETURN);
  if (fault != FAULT_COUNT)
    tile_fault(engine, tile, FAULT_STACK, tile->regs.r[sp]);
  ref_event(engine, tile, (TraceEvent){.kind = EV_LAUNCH, .pc = tile->launch_entry});
}

/* The main thread is free for a data task, and a running operation takes its wavelets. */
static void check_contested(RefEngine *engine, RefTile *tile)
{
  for (unsigned i = 1; i < REF_THREADS; i++) {
    VecRun *run = &tile->threads[i].run;
    const VecStream *s = !tile->threads[i].running || run->contested
                             ? NULL
                             : vec_contested_stream(run, tile->cls, engine->program->image->arch,
                                                    tile->blocked);
    if (!s)
      continue;
    run->contested = true;
    ref_fault(engine, (Fault){.kind = FAULT_QUEUE_TASK, .cycle = engine->cycle,
                              .tile = tile->index, .color = s->color, .pc = run->pc,
                              .value = fault_queue(false, s->queue), .value2 = run->pc});
  }
}

static void end_main(RefEngine *engine, RefTile *tile)
{
  check_contested(engine, tile);
  if (tile->task != TASK_NONE)
    ref_event(engine, tile, (TraceEvent){.kind = EV_TASK_END, .task = tile->task,
                                         .id = tile->task_id});
  tile->running = false;
  tile->task = TASK_NONE;
  tile->ready = engine->cycle + ref_pay(engine, TIMING_task_end_to_pick);
}

void ref_main_continue(RefTile *tile, uint64_t ready)
{
  tile->ready = ready;
}

/* ---- commit: counters and configuration registers -------------------------------------------- */

static uint64_t timestamp(const RefEngine *engine, const RefTile *tile)
{
  uint64_t ran = tile->tsc_running ? engine->cycle - tile->tsc_start : 0;
  return (tile->tsc_value + ran) & COUNTER_MASK;
}

/* Reading a counter's low word latches all of it, so that three reads in a row fit together. */
static uint16_t counter_word(const RefEngine *engine, RefTile *tile, unsigned word)
{
  unsigned counter = word / TSC_WORDS, part = word % TSC_WORDS;
  if (counter == 0) {
    if (part == 0)
      tile->tsc_latch = timestamp(engine, tile);
    return (uint16_t)(tile->tsc_latch >> HALF_BITS * part);
  }
  if (part == 0)   /* ours: counter 0 counts issues, counter 1 wavelets received */
    tile->perf_latch[counter - 1] = counter == 1 ? tile->issues : tile->wavelets_seen;
  return (uint16_t)(tile->perf_latch[counter - 1] >> HALF_BITS * part);
}

static uint16_t queue_status(const RefEngine *engine, const RefTile *tile, bool output)
{
  const Machine *m = engine->program->machine;
  uint8_t counts[MAX_QUEUES];
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    counts[q] = (output ? tile->output : tile->input)[q].count;
  return registers_queue_status(counts, output ? m->output_queue_depth : m->input_queue_depth,
                                output ? m->output_queues : m->input_queues);
}

/* The operation of a microthread; NULL: none runs. */
static VecRun *thread_run(RefTile *tile, unsigned microthread)
{
  VecThread *thread = &tile->threads[1 + microthread];
  return thread->running ? &thread->run : NULL;
}

static bool read_config(RefEngine *engine, RefTile *tile, uint16_t address, uint16_t *value)
{
  const Image *image = engine->program->image;
  const ConfigRegInfo *reg = config_reg_at(address);
  uint32_t x = program_x(engine->program, tile->index), y = program_y(engine->program, tile->index);
  if (!reg || !(reg->access & CONFIG_READ))
    return false;
  unsigned part = address - reg->address;
  switch ((int)reg->address) {
  case CFG_PE_COORD_X: *value = (uint16_t)x; return true;
  case CFG_PE_COORD_Y: *value = (uint16_t)y; return true;
  case CFG_FABRIC_COORD_X: *value = (uint16_t)(image->offset_x + x); return true;
  case CFG_FABRIC_COORD_Y: *value = (uint16_t)(image->offset_y + y); return true;
  case CFG_TSC_CONTROL: *value = tile->tsc_running ? TSC_RUN_BIT : 0; return true;
  case CFG_TSC_COUNTER: *value = counter_word(engine, tile, part); return true;
  case CFG_PERF_COUNTER: *value = counter_word(engine, tile, TSC_WORDS + part); return true;
  case CFG_TASK_PRIORITY: *value = (uint16_t)(tile->high >> HALF_BITS * part); return true;
  case CFG_TEARDOWN_PENDING:
    *value = (uint16_t)(tile->torn_down >> HALF_BITS * part);
    tile->torn_down &= ~((uint32_t)*value << HALF_BITS * part);
    return true;
  case CFG_QUEUE_STATUS: *value = queue_status(engine, tile, part); return true;
  case CFG_MICROTHREAD: *value = registers_thread_word(thread_run(tile, part)); return true;
  default: return registers_read(&tile->registers, tile->cls->image, reg, part, value);
  }
}

static void control_counter(RefEngine *engine, RefTile *tile, bool run)
{
  tile->tsc_value = timestamp(engine, tile);
  tile->tsc_start = engine->cycle;
  tile->tsc_running = run;
}

static void write_counter(RefEngine *engine, RefTile *tile, unsigned part, uint16_t value)
{
  uint64_t mask = (uint64_t)LOW16 << HALF_BITS * part;
  uint64_t now = timestamp(engine, tile);
  tile->tsc_value = (now & ~mask) | (uint64_t)value << HALF_BITS * part;
  tile->tsc_start = engine->cycle;
}

static bool write_config(RefEngine *engine, RefTile *tile, uint16_t address, uint16_t value)
{
  const ConfigRegInfo *reg = config_reg_at(address);
  if (!reg || !(reg->access & CONFIG_WRITE))
    return false;
  unsigned part = address - reg->address;
  switch ((int)reg->address) {
  case CFG_TSC_CONTROL: control_counter(engine, tile, value & TSC_RUN_BIT); return true;
  case CFG_TSC_COUNTER: write_counter(engine, tile, part, value); return true;
  case CFG_MICROTHREAD: registers_set_thread(thread_run(tile, part), value); return true;
  case CFG_CMD_STREAM: tile->unblocks += value == STREAM_READY; return true;
  case CFG_MAIN_PRIORITY: case CFG_TASK_PRIORITY:
    arrput(
        tile->pending_config,
        ((PendingConfig){engine->cycle + engine->program->timing.priority_update, address, value}));
    return true;
  case CFG_SIM_PRINT: ref_print(engine, tile, (uint8_t)value); return true;
  default: {
    bool written = registers_write(&tile->registers, tile->cls->image, reg, part, value);
    tile->regs.traps = registers_traps(&tile->registers);
    return written;
  }
  }
}

static void color_fault(RefEngine *engine, const RefTile *tile, FaultKind kind, uint8_t color)
{
  ref_fault(engine, (Fault){.kind = kind, .cycle = engine->cycle, .tile = tile->index,
                            .color = color, .pc = tile->pc});
}

static void access_config(RefEngine *engine, RefTile *tile, uint16_t address, bool store,
                          uint8_t r)
{
  const ConfigRegInfo *reg = config_reg_at(address);
  if (reg && router_config_is(reg->address)) {
    if (store ? !ref_router_write(tile, address, tile->regs.r[r])
              : !ref_router_read(tile, address, &tile->regs.r[r]))
      color_fault(engine, tile, FAULT_COLOR_REGISTER, (uint8_t)(address - reg->address));
    return;
  }
  bool ok = store ? write_config(engine, tile, address, tile->regs.r[r])
                  : read_config(engine, tile, address, &tile->regs.r[r]);
  if (!ok)
    tile_fault(engine, tile, FAULT_CONFIG_ADDRESS, address);
}

static void exec_config(RefEngine *engine, RefTile *tile, const Insn *insn)
{
  bool immediate = insn->op == OP_ldcfgi || insn->op == OP_stcfgi;
  bool store = insn->op == OP_stcfg || insn->op == OP_stcfgi;
  uint16_t address = immediate ? (uint16_t)insn->imm : tile->regs.r[insn->b];
  access_config(engine, tile, address, store, insn->a);
}

/* ---- commit: DSRs ---------------------------------------------------------------------------- */

static unsigned exec_ldsr(RefEngine *engine, RefTile *tile, const Insn *insn)
{
  uint32_t address = insn->absolute ? insn->imm : (tile->regs.r[insn->b] + insn->imm) & LOW16;
  uint16_t words[sizeof(((ImageDsr *)0)->words) / sizeof(uint16_t)] = {0};
  uint32_t word = 0;
  Descriptor desc;
  FaultKind fault = mem_load(&tile->mem, address, 2, &word);
  words[0] = (uint16_t)word;
  descriptor_decode(words, ARRAY_COUNT(words), &desc);
  unsigned count = descriptor_words((DescKind)(words[0] & 0xf));
  for (unsigned i = 1; i < count && fault == FAULT_COUNT; i++) {
    fault = mem_load(&tile->mem, address + i * 2, 2, &word);
    words[i] = (uint16_t)word;
  }
  if (fault == FAULT_COUNT && !descriptor_decode(words, ARRAY_COUNT(words), &desc))
    fault = FAULT_DESCRIPTOR;
  if (fault != FAULT_COUNT) {
    tile_fault(engine, tile, fault, address);
    return 0;
  }
  dsr_set(&tile->dsrs[insn->file][insn->a], &desc);
  bool extended = desc.kind == DESC_MEM4D || desc.kind == DESC_CIRC || desc.kind == DESC_FIFO;
  return ref_pay(engine, extended ? TIMING_xdsr_load : TIMING_dsr_load);
}

static void exec_dsrset(RefEngine *engine, RefTile *tile, const Insn *insn)
{
  uint16_t value = insn->absolute ? (uint16_t)insn->imm : tile->regs.r[insn->b];
  if (!dsr_set_field(&tile->dsrs[insn->file][insn->a], insn->field, value))
    tile_fault(engine, tile, FAULT_DSR_FIELD, insn->a);
}

static void exec_dsrget(RefEngine *engine, RefTile *tile, const Insn *insn)
{
  uint16_t value = 0;
  if (!dsr_get_field(&tile->dsrs[insn->file][insn->a], insn->field, &value))
    tile_fault(engine, tile, FAULT_DSR_FIELD, insn->a);
  tile->regs.r[insn->b] = value;
}

/* ---- commit: the engine's own instructions --------------------------------------------------- */

static void exec_block(RefEngine *engine, RefTile *tile, unsigned kind, unsigned id, bool blocked)
{
  if (kind >= ID_KIND_COUNT || id >= id_kind_limit((IdKind)kind)) {
    tile_fault(engine, tile, FAULT_ID_RANGE, id);
    return;
  }
  set_blocked(engine, tile, (IdKind)kind, id, blocked);
}

static void exec_qflush(RefEngine *engine, RefTile *tile, unsigned queue, bool output)
{
  if (queue >= id_kind_limit(ID_INPUT_QUEUE))
    tile_fault(engine, tile, FAULT_ID_RANGE, queue);
  else
    registers_flush(&tile->registers, output, queue);
}

static void exec_stctr(RefEngine *engine, RefTile *tile, const Insn *insn)
{
  uint32_t base = insn->op == OP_stctr ? tile->regs.r[insn->b] : 0;
  uint32_t address = (base + insn->imm) & LOW16;
  FaultKind fault = mem_store(&tile->mem, address, 2, counter_word(engine, tile, insn->a));
  if (fault != FAULT_COUNT)
    tile_fault(engine, tile, fault, address);
}

/* Returns the cycles to the next issue; vector instructions set that themselves. */
static unsigned exec_engine(RefEngine *engine, RefTile *tile, const Insn *insn)
{
  uint16_t *r = tile->regs.r;
  if (insn->op == OP_ldsr)
    return exec_ldsr(engine, tile, insn);
  switch ((int)insn->op) {
  case OP_dsrset: exec_dsrset(engine, tile, insn); break;
  case OP_dsrget: exec_dsrget(engine, tile, insn); break;
  case OP_act: activate(engine, tile, r[insn->a], tile->pc); break;
  case OP_acti: activate(engine, tile, insn->imm, tile->pc); break;
  case OP_blk: exec_block(engine, tile, insn->imm, r[insn->a], true); break;
  case OP_blki: exec_block(engine, tile, insn->a, insn->imm, true); break;
  case OP_unblk: exec_block(engine, tile, insn->imm, r[insn->a], false); break;
  case OP_unblki: exec_block(engine, tile, insn->a, insn->imm, false); break;
  case OP_ldcfg: case OP_ldcfgi: case OP_stcfg: case OP_stcfgi:
    exec_config(engine, tile, insn);
    break;
  case OP_rnd:
    r[insn->a] = scalar_random(&tile->registers.random[tile->registers.generator]);
    break;
  case OP_prng:
    tile->registers.generator = (uint8_t)(r[insn->a] % engine->program->machine->generators);
    break;
  case OP_stctr: case OP_stctra: exec_stctr(engine, tile, insn); break;
  case OP_qflush: exec_qflush(engine, tile, r[insn->a], insn->imm); break;
  default: tile_fault(engine, tile, FAULT_UNSUPPORTED, 0); break;
  }
  return ref_pay(engine, timing_scalar_row(insn_info[insn->op].cost, false));
}

/* ---- commit: one scalar or vector instruction ------------------------------------------------ */

static void check_memory(RefEngine *engine, const RefTile *tile, const Insn *insn)
{
  Checked earlier = ref_running_before(tile, NULL);
  MemoryAccess access = {0};
  uint32_t other;
  FaultKind kind = check_scalar(&earlier, engine->program, tile->cls, insn, tile->pc, &tile->regs,
                                &access, &other);
  if (kind != FAULT_COUNT)
    ref_fault(engine, (Fault){.kind = kind, .cycle = engine->cycle, .tile = tile->index,
                              .color = NO_COLOR, .pc = tile->pc, .value = access.address,
                              .value2 = other ? other : access.object.start});
}

static void issue_instruction(RefEngine *engine, RefTile *tile)
{
  const Insn *insn = class_insn(tile->cls, tile->pc);
  if (!insn) {
    tile_fault(engine, tile, FAULT_PC, tile->pc);
    tile->running = false;
    return;
  }
  CostClass cost = insn_info[insn->op].cost;
  uint16_t next = (uint16_t)(tile->pc + insn_words(insn->op) * 2);
  ref_event(engine, tile, (TraceEvent){.kind = EV_INST, .pc = tile->pc});
  engine->stats.instructions++;
  if (insn->op == OP_vec) {
    ref_vec_start(engine, tile, insn);
    return;
  }
  if (insn->op == OP_endtask) {
    end_main(engine, tile);
    return;
  }
  if (ref_checks(engine, CHECKS_MEMORY))
    check_memory(engine, tile, insn);
  ScalarResult result = scalar_exec(insn, tile->pc, engine->program->image->fp16, &tile->regs,
                                    &tile->mem);
  switch (result.outcome) {
  case SCALAR_FAULT:
    tile_fault(engine, tile, result.fault, result.value);
    tile->running = false;
    return;
  case SCALAR_CONFIG:
    access_config(engine, tile, (uint16_t)result.value, result.store, insn->a);
    tile->ready = engine->cycle + ref_pay(engine, timing_scalar_row(cost, false));
    tile->pc = next;
    return;
  case SCALAR_JUMP:
    tile->pc = result.pc;
    if (result.pc == PC_RETURN)
      end_main(engine, tile);
    else
      tile->ready = engine->cycle + ref_pay(engine, timing_scalar_row(cost, true));
    return;
  case SCALAR_ENGINE:
    tile->ready = engine->cycle + exec_engine(engine, tile, insn);
    tile->pc = next;
    return;
  case SCALAR_NEXT: default:
    tile->ready = engine->cycle + ref_pay(engine, timing_scalar_row(cost, false));
    tile->pc = next;
    return;
  }
}

static void commit_stalls(RefEngine *engine, RefTile *tile)
{
  for (unsigned i = 0; i < REF_THREADS; i++) {
    VecThread *t = &tile->threads[i];
    StallCause cause = tile->plan.stalls[i];
    if (!t->running || cause == t->stall)
      continue;
    if (t->stall != STALL_NONE) {
      uint64_t cycles = engine->cycle - t->stall_since;
      engine->stats.stalls[t->stall] += cycles;
      ref_event(engine, tile, (TraceEvent){.kind = EV_STALL, .pc = t->run.pc,
                                           .id = (uint8_t)t->stall,
                                           .thread = (uint8_t)i, .payload = (uint32_t)cycles});
    }
    t->stall = cause;
    t->stall_since = engine->cycle;
    engine->last_change = engine->cycle + 1;
  }
}

static void commit_issue(RefEngine *engine, RefTile *tile)
{
  const RefPlan *plan = &tile->plan;
  for (unsigned i = 0; i <= MAX_MICROTHREADS; i++)
    if (plan->fifo_marks >> i & 1)
      ref_vec_mark(tile, i);
  if (plan->beside) {
    tile->issues++;
    tile->changed = true;
    issue_instruction(engine, tile);
  }
  if (plan->thread < 0)
    return;
  unsigned thread = (unsigned)plan->thread;
  tile->last_issued[thread_level(tile, thread)] = (uint8_t)thread;
  tile->issues++;
  tile->changed = true;
  if (plan->group)
    ref_vec_group(engine, tile, thread);
  else
    issue_instruction(engine, tile);
}

static void drop_control(RefEngine *engine, RefTile *tile, unsigned queue)
{
  Wavelet w = take_input(engine, tile, queue);
  if (control_entry(w.payload) == engine->program->machine->control_entry_none)
    return;
  record_untaken(&tile->record, engine->cycle, queue, w.color, w.payload);
  if (ref_checks(engine, CHECKS_TASKS))
    ref_fault(engine, (Fault){.kind = FAULT_CONTROL_UNTAKEN, .cycle = engine->cycle,
                              .tile = tile->index, .color = w.color, .pc = PC_RETURN,
                              .value = w.payload});
}

void ref_tile_commit(RefEngine *engine, RefTile *tile)
{
  const RefPlan *plan = &tile->plan;
  if (tile->cls) {
    commit_stalls(engine, tile);
    for (unsigned queue = 0; queue < MAX_QUEUES; queue++)
      if (plan->drops >> queue & 1)
        drop_control(engine, tile, queue);
    if (plan->launch)
      start_launch(engine, tile);
    else if (plan->pick != TASK_NONE)
      start_task(engine, tile, plan);
    if (plan->drops || plan->launch || plan->pick != TASK_NONE)
      tile->changed = true;
    commit_issue(engine, tile);
  }
  ref_router_commit(engine, tile);
}
