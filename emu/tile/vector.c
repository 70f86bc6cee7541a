/* Vector operations of a tile: whether one can do a group now, its start, its groups, its end. */
#include "emu/tile/tile_internal.h"

enum { TRANSFORM_SHIFT = 30, TRANSFORM_MARK = 3 };

/* ---- plan: can the operation do a group, and of how many elements? --------------------------- */

static bool takes_control(const VecStream *s)
{
  return s->flags & DESC_F_TRANSFORM;
}

/* A wavelet that is no data for the stream. */
static bool is_command(const VecStream *s, QueueHead w)
{
  return w.control && !w.kept && !takes_control(s);
}

/* Control wavelets are taken by operations with an action for them, by those that make data of
 * them, and as data where they have ended an operation. */
static bool run_takes(const VecRun *run, unsigned queue, QueueHead head)
{
  for (unsigned k = 0; k < ARRAY_COUNT(run->src); k++) {
    const VecStream *s = &run->src[k];
    if (s->kind == VS_FABIN && s->queue == queue && vec_takes_color(s, head.color) &&
        (!is_command(s, head) || run->on_control.kind != ACT_NONE))
      return true;
  }
  return false;
}

bool vector_takes(const Tile *t, unsigned queue, QueueHead head)
{
  if (!(t->readers >> queue & 1))
    return false;
  for (unsigned bits = t->vectors; bits; bits &= bits - 1)
    if (run_takes(t->threads[__builtin_ctz(bits)].run, queue, head))
      return true;
  return false;
}

/* Wavelets that are data at the head of a queue that can be seen now. */
static unsigned wavelets_ready(const Turn *turn, const VecStream *s)
{
  unsigned n = 0;
  while (n < s->max_wavelets) {
    QueueHead w = turn->port->head(turn, s->queue, n);
    if (!w.there || !vec_takes_color(s, w.color) || is_command(s, w))
      break;
    n++;
  }
  return n;
}

/* The stream's next wavelet ends the operation. */
static bool ends_stream(const Turn *turn, const VecStream *s)
{
  if (s->kind != VS_FABIN || takes_control(s))
    return false;
  QueueHead w = turn->port->head(turn, s->queue, 0);
  return w.there && w.control && vec_takes_color(s, w.color);
}

static bool control_ends(const Turn *turn, const VecRun *run)
{
  return run->on_control.kind != ACT_NONE &&
         (ends_stream(turn, &run->src[0]) || ends_stream(turn, &run->src[1]));
}

/* Limits the group to the wavelets that are there; false: too few for a group. */
static bool limit_by_input(const Turn *turn, const VecStream *s, unsigned *size)
{
  if (s->kind != VS_FABIN)
    return true;
  unsigned need = vec_wavelets(s, *size);
  unsigned have = wavelets_ready(turn, s);
  if (have < need && (have < s->min_wavelets || have == 0))
    return false;
  if (have < need)
    *size = have * s->per_wavelet - s->phase;
  return true;
}

static bool is_last_group(const VecRun *run, unsigned size)
{
  return !run->unbounded && size == run->remaining;
}

/* Wavelets that a fabout stream sends when a group of `size` is done. */
static unsigned wavelets_sent(const VecRun *run, unsigned size)
{
  const VecStream *s = &run->dest;
  return is_last_group(run, size) ? vec_wavelets(s, size) : (s->phase + size) / s->per_wavelet;
}

static bool limit_by_output(const Turn *turn, const VecRun *run, unsigned *size)
{
  const VecStream *s = &run->dest;
  if (s->kind != VS_FABOUT)
    return true;
  unsigned capacity = output_capacity(turn->program, s->queue);
  unsigned count = turn->port->count(turn, true, s->queue);
  unsigned room = capacity > count ? capacity - count : 0;
  while (*size > 1 && wavelets_sent(run, *size) > room && room >= s->min_wavelets)
    --*size;
  return wavelets_sent(run, *size) <= room;
}

/* False: nothing there.  A fault of the state block is left to the group itself. */
static bool limit_by_fifo(const Tile *t, const VecStream *s, bool push, unsigned *size)
{
  unsigned available = 0;
  if (s->kind != VS_FIFO)
    return true;
  if (fifo_available(&t->mem, s->address, push, &available) != FAULT_COUNT)
    return true;
  if (available && available < *size)
    *size = available;
  return available != 0;
}

StallCause vector_plan(Turn *turn, unsigned thread, GroupPlan *plan)
{
  const Tile *t = turn->tile;
  const VecRun *run = t->threads[thread].run;
  unsigned size = vec_group_size(run);
  if (thread != MAIN_THREAD && (t->paused >> (thread - 1) & 1))
    return STALL_PAUSED;
  if (control_ends(turn, run)) {
    plan->by_control = true;
    return STALL_NONE;
  }
  for (uint8_t k = 0; k < ARRAY_COUNT(run->src); k++) {
    plan->stream = (uint8_t)(k + 1);
    if (!limit_by_input(turn, &run->src[k], &size))
      return STALL_INPUT;
  }
  if (!limit_by_fifo(t, &run->src[0], false, &size) ||
      !limit_by_fifo(t, &run->src[1], false, &size) ||
      !limit_by_fifo(t, &run->dest, true, &size)) {
    plan->marks_fifo = fifo_action(&t->mem, run) == FIFO_SUSPEND;
    plan->by_fifo = !plan->marks_fifo;            /* the operation ends here */
    return plan->marks_fifo ? STALL_FIFO : STALL_NONE;
  }
  plan->stream = 0;
  if (!limit_by_output(turn, run, &size))
    return STALL_OUTPUT;
  plan->elements = size;
  return STALL_NONE;
}

/* ---- end ------------------------------------------------------------------------------------- */

static void write_register(Tile *t, const VecStream *dest)
{
  if (dest->kind != VS_REGISTER)
    return;
  if (dest->element_bytes == 4)
    set_reg32(&t->regs, dest->reg, dest->value);
  else
    t->regs.r[dest->reg] = (uint16_t)dest->value;
}

/* The thread has come to an operation that starts behind the one that is over now. */
static bool starts_next(Turn *turn, const Insn *insn, uint64_t last)
{
  Tile *t = turn->tile;
  if (t->ready > turn->cycle || !overlap_follows(insn, t->dsrs))
    return false;
  turn_event(turn, .kind = EV_INST, .pc = t->pc);
  turn->log->stats.instructions++;
  t->issues++;
  vector_start_behind(turn, insn, last);
  return true;
}

/* The operation beside which the thread went on is over: what it has come to follows.  An operation
 * on memory to which it is still on its way issues when the thread is there. */
static void go_on_beside(Turn *turn, const VecRun *run, uint64_t last)
{
  Tile *t = turn->tile;
  const Insn *insn = class_insn(t->mem.cls, t->pc);
  t->overlaps = false;
  if (insn && (starts_next(turn, insn, last) || overlap_issues(run, insn, &t->regs) ||
               (t->ready > turn->cycle && overlap_follows(insn, t->dsrs))))
    return;
  uint64_t end = last + turn_pay_behind(turn, TIMING_vector_end, 1);
  t->ready = t->ready > end ? t->ready : end;
}

/* The operation's last group was in cycle `last`, or it ends in it without one; an operation
 * without elements has paid that cycle, too. */
static void vec_finish(Turn *turn, unsigned thread, const VecRun *run, uint64_t last,
                       bool by_control, bool by_fifo)
{
  const Timing *timing = &turn->program->timing;
  Tile *t = turn->tile;
  turn_event(turn, .kind = EV_DONE, .pc = run->pc, .control = by_control,
             .thread = (uint8_t)thread);
  Action action = by_control ? run->on_control : run->done;
  if (turn->checks & CHECKS_ORDER)
    order_end(turn, run, action);
  tile_action_later(turn, last + timing->async_done_action, action, run->pc, false);
  if (run->async)
    return;
  t->regs.vstat = !by_fifo;
  t->regs.vector_carry = run->carry;
  if (!by_fifo)
    write_register(t, &run->dest);
  if (t->overlaps)
    go_on_beside(turn, run, last);
  else if (by_control || by_fifo)
    t->ready = last + turn_pay(turn, TIMING_vector_end);
  else
    t->ready = last + turn_pay_behind(turn, TIMING_vector_end, 1);
}

static uint16_t queues_read(const VecRun *run)
{
  unsigned queues = 0;
  for (unsigned k = 0; k < ARRAY_COUNT(run->src); k++)
    if (run->src[k].kind == VS_FABIN)
      queues |= 1u << run->src[k].queue;
  return (uint16_t)queues;
}

/* The main thread issues its instruction again if it has waited for a microthread. */
static void go_on_behind_microthread(Turn *turn)
{
  Tile *t = turn->tile;
  if (t->ready == NEVER)
    t->ready = turn->cycle + 1;
}

/* The thread is idle from now on; its operation is gone. */
static void thread_release(Turn *turn, unsigned thread)
{
  Tile *t = turn->tile;
  VecRun *run = t->threads[thread].run;
  t->vectors &= (uint16_t)~(1u << thread);
  t->threads[thread].run = NULL;
  t->readers = 0;
  if (!(t->vectors & ~(1u << MAIN_THREAD)))
    t->busy = (BusyMemory){0};
  for (unsigned bits = t->vectors; bits; bits &= bits - 1)
    t->readers |= queues_read(t->threads[__builtin_ctz(bits)].run);
  turn->port->run_free(turn, run);
  go_on_behind_microthread(turn);
}

/* ---- start ----------------------------------------------------------------------------------- */

/* An operation without elements is over as if a group had been done in the cycle before its
 * first: n + 3 from issue to issue holds for n = 0 too. */
static void start_empty(Turn *turn, unsigned thread, const VecRun *run)
{
  uint64_t start = turn_pay(turn, TIMING_vector_start);
  bool stepping = (run->dest.flags | run->src[0].flags | run->src[1].flags) & DESC_F_STEP;
  vec_finish(turn, thread, run, turn->cycle + (start ? start - 1 : 0), false, false);
  if (!run->async && stepping)
    turn->tile->regs.vstat = false;
}

/* Two running operations on one queue: which gets or sends what is undefined. */
static void check_shared(Turn *turn, const VecRun *run)
{
  const Tile *t = turn->tile;
  for (unsigned bits = t->vectors; bits; bits &= bits - 1) {
    const VecRun *other = t->threads[__builtin_ctz(bits)].run;
    const VecStream *s = vec_shared_stream(run, other);
    if (s)
      turn_fault(turn, (Fault){.kind = FAULT_QUEUE_SHARED, .color = s->color, .pc = run->pc,
                               .value = fault_queue(s == &run->dest, s->queue),
                               .value2 = other->pc});
  }
}

/* A wavelet of another color stands before those that the operation is to take. */
static void check_obstructed(Turn *turn, const VecRun *run)
{
  const Tile *t = turn->tile;
  uint8_t heads[MAX_QUEUES];
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    QueueHead head = turn->port->head(turn, q, 0);
    bool waits = head.there && !vector_takes(t, q, head);
    heads[q] = waits ? head.color : (uint8_t)NO_COLOR;
  }
  const VecStream *s = vec_obstructed_stream(run, t->mem.cls, t->blocked, heads);
  if (s)
    turn_fault(turn, vec_obstructed_fault(run, s, heads[s->queue],
                                          turn->port->used(turn, false, s->queue), turn->cycle,
                                          t->index));
}

/* `elements`: all of the operation, or those behind which a control wavelet has `ended` it. */
static void note_queues(Turn *turn, const VecRun *run, uint32_t elements, bool ended)
{
  const VecStream *dest = &run->dest;
  QueueUse use = {.pc = run->pc, .elements = use_count(elements), .ended = ended};
  for (unsigned k = 0; k < ARRAY_COUNT(run->src); k++) {
    use.color = run->src[k].color;
    if (run->src[k].kind == VS_FABIN)
      turn->port->use(turn, false, run->src[k].queue, use);
  }
  use.color = dest->color;
  use.control = dest->flags & DESC_F_CONTROL;
  if (dest->kind == VS_FABOUT)
    turn->port->use(turn, true, dest->queue, use);
}

/* False: a queue that has to change its color holds wavelets. */
static bool remap_queues(Turn *turn, const VecRun *run, uint32_t *value)
{
  Tile *t = turn->tile;
  if (!(run->dest.remaps | run->src[0].remaps | run->src[1].remaps))
    return true;
  const VecStream *s = registers_remap(&t->registers, t->mem.cls->image, run,
                                       tile_queues_filled(turn, false),
                                       tile_queues_filled(turn, true));
  turn->rebinds = true;
  if (s)
    *value = fault_queue(s->kind == VS_FABOUT, s->queue);
  return s == NULL;
}

Checked vector_running_before(Turn *turn, const VecRun *later)
{
  Checked earlier = {0};
  const Tile *t = turn->tile;
  for (unsigned bits = t->vectors; bits; bits &= bits - 1) {
    unsigned thread = (unsigned)__builtin_ctz(bits);
    turn->port->sync(turn, thread);
    check_add(&earlier, t->threads[thread].run, later);
  }
  return earlier;
}

/* What is wrong with an operation at its start, and what has to be watched of it. */
static void check_start(Turn *turn, VecRun *run, const Insn *insn)
{
  Tile *t = turn->tile;
  uint32_t value = 0;
  FaultKind kind = FAULT_COUNT;
  if (turn->program->memory_facts) {
    if (check_begin(run, &t->busy, turn->cycle)) {
      Checked earlier = vector_running_before(turn, NULL);
      run->watched |= check_meets(&earlier, run);
    }
  }
  if (turn->checks & CHECKS_ORDER)
    order_start(turn, run);
  if (turn->checks & (CHECKS_TASKS | CHECKS_LENGTHS))
    kind = check_operation(turn->checks, run, &insn->vec, t->mem.cls, t->dsrs,
                           turn->program->machine, &value);
  if (kind != FAULT_COUNT)
    turn_fault(turn, (Fault){.kind = kind, .color = NO_COLOR, .pc = run->pc, .value = value,
                             .value2 = run->length});
}

/* Captures the operation's operands with their variables, or finds that they are as before. */
static FaultKind begin_run(Turn *turn, VecRun *run, const Insn *insn, uint32_t *value)
{
  const Tile *t = turn->tile;
  const MemoryFacts *facts = turn->program->memory_facts;
  KnownRun *all = turn->port->known ? turn->port->known(turn) : NULL;
  KnownRun *known = all ? &all[known_place(insn, t->dsrs)] : NULL;
  if (known && known_begins(known, run, insn, t))
    return FAULT_COUNT;
  FaultKind kind = vec_begin(run, insn, t->pc, turn->program, t->mem.cls, &t->regs, t->dsrs,
                             &t->mem, &t->registers, value);
  if (kind == FAULT_COUNT && facts)
    check_objects(run, &facts[t->mem.cls->index]);
  if (kind == FAULT_COUNT && known)
    known_keep(known, run, insn, t);
  return kind;
}

/* FAULT_COUNT: the operation can start. */
static Fault capture_run(Turn *turn, VecRun *run, const Insn *insn)
{
  Tile *t = turn->tile;
  uint32_t value = 0;
  FaultKind kind = begin_run(turn, run, insn, &value);
  const VecRun *busy = kind == FAULT_COUNT && run->async ? t->threads[1 + run->microthread].run
                                                         : NULL;
  if (busy)
    return (Fault){.kind = FAULT_MICROTHREAD_BUSY, .color = vec_fabric_color(run), .pc = t->pc,
                   .value = run->microthread, .value2 = busy->pc};
  if (kind == FAULT_COUNT && !remap_queues(turn, run, &value))
    kind = FAULT_QUEUE_REMAP;
  return (Fault){.kind = kind, .color = NO_COLOR, .pc = t->pc, .value = value};
}

/* `first`: the cycle of the first group. */
static void begin_thread(Turn *turn, unsigned thread, VecRun *run, uint64_t first)
{
  Tile *t = turn->tile;
  t->threads[thread] = (Thread){.run = run, .ready = first};
  thread_set_level(t, thread);
  t->vectors |= (uint16_t)(1u << thread);
  if (thread == MAIN_THREAD) {
    t->overlaps = overlap_allows(run, t->mem.cls, &turn->program->timing);
    t->waits = false;
    t->ready = turn->cycle + 1;
  }
  t->readers |= queues_read(run);
  turn->port->started(turn, thread);
}

/* The operation cannot start.  A microthread has room for one operation, so the main thread waits
 * with the second one until the first has ended. */
static void refuse_run(Turn *turn, VecRun *run, Fault fault)
{
  Tile *t = turn->tile;
  turn_fault(turn, fault);
  if (fault.kind == FAULT_MICROTHREAD_BUSY) {
    t->ready = NEVER;
    t->awaited = (uint8_t)(1 + run->microthread);
  }
  turn->port->run_free(turn, run);
}

/* `last`: of the operation that this one follows without a gap, or NEVER. */
static void start_operation(Turn *turn, const Insn *insn, uint64_t last)
{
  Tile *t = turn->tile;
  VecRun *run = turn->port->run_alloc(turn);
  Fault fault = capture_run(turn, run, insn);
  if (fault.kind != FAULT_COUNT) {
    refuse_run(turn, run, fault);
    return;
  }
  unsigned thread = run->async ? 1u + run->microthread : MAIN_THREAD;
  check_start(turn, run, insn);
  check_shared(turn, run);
  if (t->mem.cls->shared_inputs)
    check_obstructed(turn, run);
  record_fifos(&t->record, run);
  note_queues(turn, run, run->remaining, false);
  t->pc = (uint16_t)(t->pc + run->insn_words * 2);
  if (run->async)
    t->ready = turn->cycle + turn_pay(turn, TIMING_vector_async_issue);
  if (!run->remaining) {
    start_empty(turn, thread, run);
    turn->port->run_free(turn, run);
  } else if (last != NEVER && thread == MAIN_THREAD) {
    begin_thread(turn, thread, run, last + turn_pay_behind(turn, TIMING_vector_next, 1));
  } else {
    begin_thread(turn, thread, run, turn->cycle + turn_pay(turn, TIMING_vector_start));
  }
}

void vector_start(Turn *turn, const Insn *insn)
{
  start_operation(turn, insn, NEVER);
}

void vector_start_behind(Turn *turn, const Insn *insn, uint64_t last)
{
  start_operation(turn, insn, last);
}

/* ---- one group ------------------------------------------------------------------------------- */

typedef struct {
  Turn *turn;
  VecRun *run;
  FaultKind fault;              /* the first one */
  uint32_t fault_value;
} VecGroup;

static void note_fault(VecGroup *g, FaultKind kind, uint32_t value)
{
  if (kind == FAULT_COUNT || g->fault != FAULT_COUNT)
    return;
  g->fault = kind;
  g->fault_value = value;
}

/* What is wrong with an element in memory. */
static void check_memory(VecGroup *g, const VecStream *s, bool store)
{
  if (!g->run->watched)
    return;
  MemoryAccess access = {s->address, s->element_bytes, store, s->object};
  Fault found = {.kind = FAULT_OUT_OF_BOUNDS, .color = NO_COLOR, .pc = g->run->pc,
                 .value = s->address, .value2 = s->object.start};
  if (!is_outside(s->object, s->address, s->element_bytes)) {
    Checked earlier = vector_running_before(g->turn, g->run);
    const VecRun *other = check_race(&earlier, &access);
    if (!other)
      return;
    found.kind = store ? FAULT_WRITE_RACE : FAULT_READ_RACE;
    found.value2 = other->pc;
  }
  turn_fault(g->turn, found);
}

static void fire_fifo_event(VecGroup *g, Action action)
{
  tile_action_later(g->turn, g->turn->cycle + g->turn->program->timing.async_done_action, action,
                    g->run->pc, true);
}

static uint32_t read_fabric(VecGroup *g, VecStream *s)
{
  QueueHead w = g->turn->port->head(g->turn, s->queue, 0);
  uint32_t value = w.payload;
  if (takes_control(s) && w.control)
    value = (value | (uint32_t)TRANSFORM_MARK << TRANSFORM_SHIFT) ^
            (uint32_t)g->turn->tile->registers.transform << HALF_BITS;
  if (s->element_bytes == 2)
    value = value >> (s->phase * HALF_BITS) & LOW16;
  if (++s->phase == s->per_wavelet) {
    s->phase = 0;
    tile_take_input(g->turn, s->queue);
  }
  return value;
}

static uint32_t read_element(VecGroup *g, VecStream *s, bool zero)
{
  TileMem *mem = &g->turn->tile->mem;
  uint32_t value = 0;
  Action action = {0};
  switch (s->kind) {
  case VS_VALUE:
    return s->value;
  case VS_MEMORY:
    check_memory(g, s, false);
    note_fault(g, mem_load(mem, s->address, s->element_bytes, &value), s->address);
    if (zero)
      note_fault(g, mem_store(mem, s->address, s->element_bytes, 0), s->address);
    return value;
  case VS_FABIN:
    return read_fabric(g, s);
  case VS_FIFO:
    note_fault(g, fifo_move(mem, s->address, false, s->element_bytes, &value, &action),
               s->address);
    fire_fifo_event(g, action);
    return value;
  case VS_NONE: case VS_REGISTER: case VS_FABOUT: default:
    return 0;
  }
}

static void send_wavelet(VecGroup *g, VecStream *s, bool last)
{
  QueueHead w = {.payload = s->value, .color = s->color, .control = s->flags & DESC_F_CONTROL};
  if (s->flags & DESC_F_TRANSFORM)
    w.control = s->value >> TRANSFORM_SHIFT == TRANSFORM_MARK;
  g->turn->port->send(g->turn, s->queue, w, last && (s->flags & DESC_F_ADVANCE));
  s->phase = 0;
  s->value = 0;
  turn_event(g->turn, .kind = EV_PUSH, .output = true, .queue = s->queue, .color = w.color,
             .payload = w.payload, .control = w.control);
}

static void write_fabric(VecGroup *g, VecStream *s, uint32_t value, bool last)
{
  if (s->element_bytes == 2)
    s->value |= (value & LOW16) << (s->phase * HALF_BITS);
  else
    s->value = value;
  if (s->flags & DESC_F_INDEX)
    s->value = (s->value & LOW16) | (uint32_t)g->run->index << HALF_BITS;
  if (++s->phase == s->per_wavelet || last)
    send_wavelet(g, s, last);
}

static void write_element(VecGroup *g, VecStream *s, uint32_t value, bool last)
{
  TileMem *mem = &g->turn->tile->mem;
  Action action = {0};
  switch (s->kind) {
  case VS_MEMORY:
    check_memory(g, s, true);
    note_fault(g, mem_store(mem, s->address, s->element_bytes, value), s->address);
    break;
  case VS_REGISTER:
    s->value = value;
    break;
  case VS_FABOUT:
    write_fabric(g, s, value, last);
    break;
  case VS_FIFO:
    note_fault(g, fifo_move(mem, s->address, true, s->element_bytes, &value, &action),
               s->address);
    fire_fifo_event(g, action);
    break;
  case VS_NONE: case VS_VALUE: case VS_FABIN: default:
    break;
  }
}

static void do_element(VecGroup *g, bool last)
{
  VecRun *run = g->run;
  uint32_t a = read_element(g, &run->src[0], run->zero_first);
  uint32_t b = read_element(g, &run->src[1], run->zero_second);
  uint32_t value = vec_operate(run, g->turn->program->image->fp16, a, b);
  if (run->raised)
    note_fault(g, FAULT_EXCEPTION, run->raised);
  write_element(g, &run->dest, value, last);
  if (run->fold)
    run->src[0].value = value;
  vec_stream_advance(&run->src[0]);
  vec_stream_advance(&run->src[1]);
  vec_stream_advance(&run->dest);
}

/* ---- the ways to end ------------------------------------------------------------------------- */

static void keep_places(Turn *turn, const VecRun *run)
{
  if (vec_keeps(run))
    vec_end(run, tile_own_dsrs(turn), turn->tile->dsrs.map);
}

/* The wavelet stays at the head of its queue: docs/cycle-model.md. */
static void end_by_control(Turn *turn, unsigned thread)
{
  VecRun run = *turn->tile->threads[thread].run;
  VecGroup g = {turn, &run, FAULT_COUNT, 0};
  for (unsigned k = 0; k < ARRAY_COUNT(run.src); k++)
    if (ends_stream(turn, &run.src[k]))
      turn->port->keep(turn, run.src[k].queue);
  if (run.dest.kind == VS_FABOUT && run.dest.phase)
    send_wavelet(&g, &run.dest, true);
  note_queues(turn, &run, run.unbounded ? run.length : run.length - run.remaining, true);
  run.remaining = 0;
  keep_places(turn, &run);
  thread_release(turn, thread);
  vec_finish(turn, thread, &run, turn->cycle, true, false);
}

/* Remembers at each FIFO that holds the operation up that it did. */
static void mark_fifos(Turn *turn, const VecRun *run, bool keep_length)
{
  const VecStream *streams[] = {&run->src[0], &run->src[1], &run->dest};
  Tile *t = turn->tile;
  for (unsigned i = 0; i < ARRAY_COUNT(streams); i++) {
    const VecStream *s = streams[i];
    unsigned available = 0;
    bool push = s == &run->dest;
    if (s->kind != VS_FIFO ||
        fifo_available(&t->mem, s->address, push, &available) != FAULT_COUNT || available)
      continue;
    fifo_mark(&t->mem, s->address, push);
    if (!keep_length)
      continue;
    if (dsr_at(t->dsrs, s->file, s->number)->desc.length)
      tile_own_dsrs(turn)[t->dsrs.map->place[s->file][s->number]].desc.length =
          (uint16_t)run->remaining;
    else
      fifo_keep_length(&t->mem, s->address, push, run->remaining);
  }
}

void vector_mark_fifos(Turn *turn, const VecRun *run)
{
  mark_fifos(turn, run, false);
}

/* The FIFO is empty or full: the operation ends, unfinished. */
static void end_by_fifo(Turn *turn, unsigned thread)
{
  VecRun run = *turn->tile->threads[thread].run;
  FifoAction action = fifo_action(&turn->tile->mem, &run);
  mark_fifos(turn, &run, true);
  if (action == FIFO_FAULT)
    turn_tile_fault(turn, run.pc, FAULT_FIFO, 0);
  record_fifo_end(&turn->tile->record, &run, action == FIFO_TEST);
  thread_release(turn, thread);
  vec_finish(turn, thread, &run, turn->cycle, false, action == FIFO_TEST);
}

void vector_end(Turn *turn, unsigned thread, unsigned extra)
{
  VecRun run = *turn->tile->threads[thread].run;
  for (unsigned k = 0; k < ARRAY_COUNT(run.src); k++) {
    if (run.src[k].kind != VS_FABIN || !run.src[k].phase)
      continue;
    run.src[k].phase = 0;
    tile_take_input(turn, run.src[k].queue);     /* the last wavelet was used in part */
  }
  keep_places(turn, &run);
  thread_release(turn, thread);
  vec_finish(turn, thread, &run, turn->cycle + extra, false, false);
}

/* dfilt counts control wavelets; data goes by. */
static bool drops_data(const Turn *turn, const VecRun *run)
{
  return vecops[run->op].kind == VK_DFILT &&
         !turn->port->head(turn, run->src[1].queue, 0).control;
}

static void do_group(Turn *turn, unsigned thread, unsigned elements)
{
  Thread *th = &turn->tile->threads[thread];
  const Program *program = turn->program;
  EngineStats *stats = &turn->log->stats;
  VecRun *run = th->run;
  unsigned extra = vec_bank_waits(run, program->machine) * program->timing.bank_conflict;
  turn_event(turn, .kind = EV_GROUP, .pc = run->pc, .thread = (uint8_t)thread,
             .count = (uint16_t)elements);
  if (extra)
    turn_event(turn, .kind = EV_STALL, .pc = run->pc, .id = STALL_BANK,
               .thread = (uint8_t)thread, .payload = extra);
  bool last_group = is_last_group(run, elements);
  VecGroup g = {turn, run, FAULT_COUNT, 0};
  for (unsigned i = 0; i < elements; i++)
    do_element(&g, last_group && i + 1 == elements);
  stats->groups++;
  stats->elements += elements;
  stats->stalls[STALL_BANK] += extra;
  if (!run->unbounded)
    run->remaining -= elements;
  th->ready = turn->cycle + 1 + extra +
              vec_rest(&program->timing, vec_in_memory(run), run->remaining, elements, extra);
  if (g.fault != FAULT_COUNT) {
    turn_tile_fault(turn, run->pc, g.fault, g.fault_value);
    thread_release(turn, thread);
  } else if (!run->remaining && !run->unbounded) {
    vector_end(turn, thread, extra);
  }
}

void vector_group(Turn *turn, unsigned thread, const GroupPlan *plan)
{
  Thread *th = &turn->tile->threads[thread];
  if (plan->by_control) {
    end_by_control(turn, thread);
  } else if (plan->by_fifo) {
    end_by_fifo(turn, thread);
  } else if (drops_data(turn, th->run)) {
    tile_take_input(turn, th->run->src[1].queue);
    th->run->src[1].phase = 0;
    th->ready = turn->cycle + 1;
    turn->log->stats.paid[TRUST_DOCUMENTED]++;          /* like a group */
  } else {
    do_group(turn, thread, plan->elements);
  }
}
