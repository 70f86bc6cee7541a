/* Reference engine: vector operations on the main thread and on microthreads. */
#include "emu/reference/reference_internal.h"

#include "stb_ds.h"

enum { TRANSFORM_SHIFT = 30, TRANSFORM_MARK = 3, LOW16 = 0xffff, HALF_BITS = 16 };

/* ---- plan: can the operation do a group, and of how many elements? --------------------------- */

static bool takes_control(const VecStream *s)
{
  return s->flags & DESC_F_TRANSFORM;
}

/* A wavelet that is no data for the stream. */
static bool is_command(const VecStream *s, const Wavelet *w)
{
  return w->control && !w->kept && !takes_control(s);
}

/* Control wavelets are taken by operations with an action for them, by those that make data of
 * them, and as data where they have ended an operation. */
bool ref_vec_takes(const RefTile *tile, unsigned queue, const Wavelet *head)
{
  for (unsigned i = 0; i < REF_THREADS; i++) {
    const VecRun *run = &tile->threads[i].run;
    for (unsigned k = 0; k < ARRAY_COUNT(run->src) && tile->threads[i].running; k++) {
      const VecStream *s = &run->src[k];
      if (s->kind == VS_FABIN && s->queue == queue && vec_takes_color(s, head->color) &&
          (!is_command(s, head) || run->on_control.kind != ACT_NONE))
        return true;
    }
  }
  return false;
}

/* Wavelets that are data at the head of a queue that can be seen now. */
static unsigned wavelets_ready(const RefEngine *engine, const Ring *ring, const VecStream *s)
{
  unsigned n = 0;
  while (n < ring->count && n < s->max_wavelets) {
    const Wavelet *w = ring_peek(ring, n);
    if (w->visible > engine->cycle || !vec_takes_color(s, w->color) ||
        is_command(s, w))
      break;
    n++;
  }
  return n;
}

static bool control_ends(const RefEngine *engine, const RefTile *tile, const VecRun *run)
{
  if (run->on_control.kind == ACT_NONE)
    return false;
  for (unsigned k = 0; k < ARRAY_COUNT(run->src); k++) {
    const VecStream *s = &run->src[k];
    if (s->kind != VS_FABIN || takes_control(s))
      continue;
    const Ring *ring = &tile->input[s->queue];
    const Wavelet *w = ring_peek(ring, 0);
    if (ring->count && w->visible <= engine->cycle && w->control && vec_takes_color(s, w->color))
      return true;
  }
  return false;
}

/* Limits the group to the wavelets that are there; false: too few for a group. */
static bool limit_by_input(const RefEngine *engine, const RefTile *tile, const VecStream *s,
                           unsigned *size)
{
  if (s->kind != VS_FABIN)
    return true;
  unsigned need = vec_wavelets(s, *size);
  unsigned have = wavelets_ready(engine, &tile->input[s->queue], s);
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

static bool limit_by_output(const RefEngine *engine, const RefTile *tile, const VecRun *run,
                            unsigned *size)
{
  const VecStream *s = &run->dest;
  if (s->kind != VS_FABOUT)
    return true;
  unsigned capacity = ref_output_capacity(engine, s->queue);
  unsigned count = tile->output[s->queue].count, room = capacity > count ? capacity - count : 0;
  while (*size > 1 && wavelets_sent(run, *size) > room && room >= s->min_wavelets)
    --*size;
  return wavelets_sent(run, *size) <= room;
}

/* False: nothing there.  A fault of the state block is left to the group itself. */
static bool limit_by_fifo(const RefTile *tile, const VecStream *s, bool push, unsigned *size)
{
  unsigned available = 0;
  if (s->kind != VS_FIFO)
    return true;
  if (fifo_available(&tile->mem, s->address, push, &available) != FAULT_COUNT)
    return true;
  if (available && available < *size)
    *size = available;
  return available != 0;
}

StallCause ref_vec_plan(const RefEngine *engine, const RefTile *tile, unsigned thread,
                        RefPlan *plan, unsigned *elements, bool *by_control, bool *by_fifo,
                        uint8_t *stream)
{
  const VecRun *run = &tile->threads[thread].run;
  unsigned size = vec_group_size(run);
  *by_control = *by_fifo = false;
  *elements = 0;
  if (thread != MAIN_THREAD && (tile->paused >> (thread - 1) & 1))
    return STALL_PAUSED;
  if (control_ends(engine, tile, run)) {
    *by_control = true;
    return STALL_NONE;
  }
  for (uint8_t k = 0; k < ARRAY_COUNT(run->src); k++) {
    *stream = (uint8_t)(k + 1);
    if (!limit_by_input(engine, tile, &run->src[k], &size))
      return STALL_INPUT;
  }
  if (!limit_by_fifo(tile, &run->src[0], false, &size) ||
      !limit_by_fifo(tile, &run->src[1], false, &size) ||
      !limit_by_fifo(tile, &run->dest, true, &size)) {
    bool waits = fifo_action(&tile->mem, run) == FIFO_SUSPEND;
    *by_fifo = !waits;            /* the operation ends here */
    if (waits && plan)
      plan->fifo_marks |= (uint16_t)(1u << thread);
    return waits ? STALL_FIFO : STALL_NONE;
  }
  *stream = 0;
  if (!limit_by_output(engine, tile, run, &size))
    return STALL_OUTPUT;
  *elements = size;
  return STALL_NONE;
}

/* ---- start and end --------------------------------------------------------------------------- */

static void vec_fault(RefEngine *engine, RefTile *tile, uint16_t pc, FaultKind kind, uint32_t value)
{
  ref_fault(engine, (Fault){.kind = kind, .cycle = engine->cycle, .tile = tile->index,
                            .color = NO_COLOR, .pc = pc, .value = value});
}

static void done_event(RefEngine *engine, RefTile *tile, unsigned thread, const VecRun *run,
                       bool by_control)
{
  ref_event(engine, tile, (TraceEvent){.kind = EV_DONE, .pc = run->pc, .control = by_control,
                                       .thread = (uint8_t)thread});
}

static void write_register(RefTile *tile, const VecStream *dest)
{
  if (dest->kind != VS_REGISTER)
    return;
  if (dest->element_bytes == 4)
    set_reg32(&tile->regs, dest->reg, dest->value);
  else
    tile->regs.r[dest->reg] = (uint16_t)dest->value;
}

/* The thread has come to an operation that starts behind the one that is over now. */
static bool starts_next(RefEngine *engine, RefTile *tile, uint64_t last)
{
  const Insn *insn = class_insn(tile->cls, tile->pc);
  if (!insn || insn->op != OP_vec || tile->ready > engine->cycle ||
      !overlap_follows(&insn->vec, tile->dsrs))
    return false;
  ref_event(engine, tile, (TraceEvent){.kind = EV_INST, .pc = tile->pc});
  engine->stats.instructions++;
  tile->issues++;
  ref_vec_start(engine, tile, insn);
  if (tile->threads[MAIN_THREAD].running)
    tile->threads[MAIN_THREAD].ready = last + ref_pay(engine, TIMING_vector_next);
  return true;
}

/* The operation beside which the thread went on is over: what it has come to follows. */
static void go_on_beside(RefEngine *engine, RefTile *tile, const VecRun *run, uint64_t last)
{
  const Insn *insn = class_insn(tile->cls, tile->pc);
  tile->overlaps = false;
  if (starts_next(engine, tile, last) || (insn && overlap_issues(run, insn, &tile->regs)))
    return;
  uint64_t end = last + ref_pay(engine, TIMING_vector_end);
  ref_main_continue(tile, tile->ready > end ? tile->ready : end);
}

/* The operation's last group was in cycle `last`, or it had none. */
static void vec_finish(RefEngine *engine, RefTile *tile, unsigned thread, const VecRun *run,
                       uint64_t last, bool by_control, bool by_fifo)
{
  const Timing *timing = &engine->program->timing;
  done_event(engine, tile, thread, run, by_control);
  tile->threads[thread].running = false;
  if (run->async) {
    ref_action_later(tile, last + timing->async_done_action,
                     by_control ? run->on_control : run->done, run->pc);
    return;
  }
  tile->regs.vstat = !by_fifo;
  tile->regs.vector_carry = run->carry;
  if (!by_fifo)
    write_register(tile, &run->dest);
  Action action = by_control ? run->on_control : run->done;
  if (action.kind != ACT_NONE)
    ref_action_later(tile, last + timing->async_done_action, action, run->pc);
  if (tile->overlaps)
    go_on_beside(engine, tile, run, last);
  else
    ref_main_continue(tile, last + ref_pay(engine, TIMING_vector_end));
}

/* An operation without elements is over as if a group had been done in the cycle before its
 * first: n + 3 from issue to issue holds for n = 0 too. */
static void start_empty(RefEngine *engine, RefTile *tile, unsigned thread, const VecRun *run,
                        bool exhausted)
{
  uint64_t start = ref_pay(engine, TIMING_vector_start);
  uint64_t last = engine->cycle + (start ? start - 1 : 0);
  vec_finish(engine, tile, thread, run, last, false, false);
  if (!run->async && exhausted)
    tile->regs.vstat = false;
}

static bool is_stepping(const VecRun *run)
{
  return (run->dest.flags | run->src[0].flags | run->src[1].flags) & DESC_F_STEP;
}

/* Two running operations on one queue: which gets or sends what is undefined. */
static void check_shared(RefEngine *engine, const RefTile *tile, const VecRun *run)
{
  for (unsigned i = 0; i < REF_THREADS; i++) {
    const VecRun *other = &tile->threads[i].run;
    const VecStream *s = tile->threads[i].running ? vec_shared_stream(run, other) : NULL;
    if (s)
      ref_fault(engine, (Fault){.kind = FAULT_QUEUE_SHARED, .cycle = engine->cycle,
                                .tile = tile->index, .color = s->color, .pc = run->pc,
                                .value = fault_queue(s == &run->dest, s->queue),
                                .value2 = other->pc});
  }
}

/* A wavelet of another color stands before those that the operation is to take. */
static void check_obstructed(RefEngine *engine, const RefTile *tile, const VecRun *run)
{
  uint8_t heads[MAX_QUEUES];
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    const Wavelet *head = ring_peek(&tile->input[q], 0);
    bool seen = tile->input[q].count && head->visible <= engine->cycle;
    heads[q] = seen && !ref_vec_takes(tile, q, head) ? head->color : NO_COLOR;
  }
  const VecStream *s = vec_obstructed_stream(run, tile->cls, tile->blocked, heads);
  if (s)
    ref_fault(engine, vec_obstructed_fault(run, s, heads[s->queue], tile->input_use[s->queue],
                                           engine->cycle, tile->index));
}

static void note_queues(RefTile *tile, const VecRun *run)
{
  uint16_t elements = (uint16_t)run->remaining;
  record_fifos(&tile->record, run);
  for (unsigned k = 0; k < ARRAY_COUNT(run->src); k++)
    if (run->src[k].kind == VS_FABIN)
      tile->input_use[run->src[k].queue] = (QueueUse){run->pc, elements, run->src[k].color, false};
  if (run->dest.kind == VS_FABOUT)
    tile->output_use[run->dest.queue] = (QueueUse){run->pc, elements, run->dest.color,
                                                   run->dest.flags & DESC_F_CONTROL};
}

/* False: a queue that has to change its color holds wavelets. */
static bool remap_queues(RefTile *tile, const VecRun *run, uint32_t *value)
{
  const VecStream *s = registers_remap(&tile->registers, tile->cls->image, run,
                                       ref_queues_filled(tile->input),
                                       ref_queues_filled(tile->output));
  if (s)
    *value = fault_queue(s->kind == VS_FABOUT, s->queue);
  return s == NULL;
}

Checked ref_running_before(const RefTile *tile, const VecRun *later)
{
  Checked earlier = {0};
  for (unsigned i = 0; i < REF_THREADS; i++)
    if (tile->threads[i].running)
      check_add(&earlier, &tile->threads[i].run, later);
  return earlier;
}

/* What --check finds about an operation at its start. */
static void check_start(RefEngine *engine, RefTile *tile, VecRun *run, const Insn *insn)
{
  uint32_t value = 0;
  FaultKind kind = FAULT_COUNT;
  if (ref_checks(engine, CHECKS_MEMORY))
    check_objects(run, tile->cls, engine->cycle);
  if (ref_checks(engine, CHECKS_TASKS | CHECKS_LENGTHS))
    kind = check_operation(engine->options.checks, run, &insn->vec, tile->cls, tile->dsrs,
                           engine->program->machine, &value);
  if (kind != FAULT_COUNT)
    ref_fault(engine, (Fault){.kind = kind, .cycle = engine->cycle, .tile = tile->index,
                              .color = NO_COLOR, .pc = run->pc, .value = value,
                              .value2 = run->length});
}

void ref_vec_start(RefEngine *engine, RefTile *tile, const Insn *insn)
{
  VecRun run;
  uint32_t value = 0;
  FaultKind fault = vec_begin(&run, insn, tile->pc, engine->program, tile->cls, &tile->regs,
                              tile->dsrs, &tile->mem, &tile->registers, &value);
  unsigned thread = run.async ? 1u + run.microthread : MAIN_THREAD;
  if (fault == FAULT_COUNT && run.async && tile->threads[thread].running) {
    fault = FAULT_MICROTHREAD_BUSY;
    value = run.microthread;
  }
  if (fault == FAULT_COUNT && !remap_queues(tile, &run, &value))
    fault = FAULT_QUEUE_REMAP;
  if (fault != FAULT_COUNT) {
    Fault found = {.kind = fault, .cycle = engine->cycle, .tile = tile->index, .color = NO_COLOR,
                   .pc = tile->pc, .value = value};
    if (fault == FAULT_MICROTHREAD_BUSY) {
      found.value2 = tile->threads[thread].run.pc;
      found.color = vec_fabric_color(&run);
    }
    ref_fault(engine, found);
    return;
  }
  check_start(engine, tile, &run, insn);
  check_shared(engine, tile, &run);
  if (tile->cls->shared_inputs)
    check_obstructed(engine, tile, &run);
  note_queues(tile, &run);
  tile->pc = (uint16_t)(tile->pc + run.insn_words * 2);
  if (run.async)
    ref_main_continue(tile, engine->cycle + ref_pay(engine, TIMING_vector_async_issue));
  if (run.remaining == 0) {
    start_empty(engine, tile, thread, &run, is_stepping(&run));
    return;
  }
  uint64_t first = engine->cycle + ref_pay(engine, TIMING_vector_start);
  tile->threads[thread] = (VecThread){.running = true, .run = run, .ready = first};
  if (thread == MAIN_THREAD) {
    tile->overlaps = overlap_allows(&run, tile->cls, &engine->program->timing);
    tile->ready = engine->cycle + 1;
  }
}

/* ---- one group ------------------------------------------------------------------------------- */

typedef struct {
  RefEngine *engine;
  RefTile *tile;
  VecRun *run;
  FaultKind fault;
  uint32_t fault_value;
} RefGroup;

static void group_fault(RefGroup *g, FaultKind kind, uint32_t value)
{
  if (g->fault == FAULT_COUNT) {
    g->fault = kind;
    g->fault_value = value;
  }
}

static void check(RefGroup *g, FaultKind kind, uint32_t value)
{
  if (kind != FAULT_COUNT)
    group_fault(g, kind, value);
}

/* What --check finds about an element in memory. */
static void check_memory(RefGroup *g, const VecStream *s, bool store)
{
  uint32_t other;
  if (!g->run->watched)
    return;
  Checked earlier = ref_running_before(g->tile, g->run);
  FaultKind kind = check_element(&earlier, s, store, &other);
  if (kind != FAULT_COUNT)
    ref_fault(g->engine, (Fault){.kind = kind, .cycle = g->engine->cycle, .tile = g->tile->index,
                                 .color = NO_COLOR, .pc = g->run->pc, .value = s->address,
                                 .value2 = other ? other : s->object.start});
}

static void fire(RefGroup *g, Action action)
{
  if (action.kind != ACT_NONE)
    ref_action_later(g->tile, g->engine->cycle + g->engine->program->timing.async_done_action,
                     action, g->run->pc);
}

static void pop_input(RefGroup *g, VecStream *s)
{
  Wavelet w = ring_pop(&g->tile->input[s->queue]);
  s->phase = 0;
  ref_event(g->engine, g->tile, (TraceEvent){.kind = EV_POP, .queue = s->queue,
                                             .color = w.color, .payload = w.payload,
                                             .control = w.control});
}

static uint32_t read_fabric(RefGroup *g, VecStream *s)
{
  const Wavelet *w = ring_peek(&g->tile->input[s->queue], 0);
  uint32_t value = w->payload;
  if (takes_control(s) && w->control)
    value = (value | (uint32_t)TRANSFORM_MARK << TRANSFORM_SHIFT) ^
            (uint32_t)g->tile->registers.transform << HALF_BITS;
  if (s->element_bytes == 2)
    value = value >> (s->phase * HALF_BITS) & LOW16;
  if (++s->phase == s->per_wavelet)
    pop_input(g, s);
  return value;
}

static uint32_t read_element(RefGroup *g, VecStream *s, bool zero)
{
  uint32_t value = 0;
  Action action;
  switch (s->kind) {
  case VS_VALUE:
    return s->value;
  case VS_MEMORY:
    check_memory(g, s, false);
    check(g, mem_load(&g->tile->mem, s->address, s->element_bytes, &value), s->address);
    if (zero)
      check(g, mem_store(&g->tile->mem, s->address, s->element_bytes, 0), s->address);
    return value;
  case VS_FABIN:
    return read_fabric(g, s);
  case VS_FIFO:
    check(g, fifo_move(&g->tile->mem, s->address, false, s->element_bytes, &value, &action),
          s->address);
    fire(g, action);
    return value;
  case VS_NONE: case VS_REGISTER: case VS_FABOUT: default:
    return 0;
  }
}

static void send_wavelet(RefGroup *g, VecStream *s, bool last)
{
  const Timing *timing = &g->engine->program->timing;
  Wavelet w = {.payload = s->value, .color = s->color, .from = PORT_RAMP,
               .control = s->flags & DESC_F_CONTROL,
               .advance = last && (s->flags & DESC_F_ADVANCE)};
  uint64_t queued = g->engine->cycle + timing->element_to_queue;
  w.visible = queued + timing->ramp_up - (timing->ramp_up ? 1 : 0);
  if (s->flags & DESC_F_TRANSFORM)
    w.control = s->value >> TRANSFORM_SHIFT == TRANSFORM_MARK;
  ring_push(&g->tile->output[s->queue], w);
  s->phase = 0;
  s->value = 0;
  ref_event(g->engine, g->tile, (TraceEvent){.kind = EV_PUSH, .output = true, .queue = s->queue,
                                             .color = w.color, .payload = w.payload,
                                             .control = w.control});
}

static void write_fabric(RefGroup *g, VecStream *s, uint32_t value, bool last)
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

static void write_element(RefGroup *g, VecStream *s, uint32_t value, bool last)
{
  Action action;
  switch (s->kind) {
  case VS_MEMORY:
    check_memory(g, s, true);
    check(g, mem_store(&g->tile->mem, s->address, s->element_bytes, value), s->address);
    break;
  case VS_REGISTER:
    s->value = value;
    break;
  case VS_FABOUT:
    write_fabric(g, s, value, last);
    break;
  case VS_FIFO:
    check(g, fifo_move(&g->tile->mem, s->address, true, s->element_bytes, &value, &action),
          s->address);
    fire(g, action);
    break;
  case VS_NONE: case VS_VALUE: case VS_FABIN: default:
    break;
  }
}

static void one_element(RefGroup *g, bool last)
{
  VecRun *run = g->run;
  uint32_t a = read_element(g, &run->src[0], run->zero_first);
  uint32_t b = read_element(g, &run->src[1], run->zero_second);
  uint32_t value = vec_operate(run, g->engine->program->image->fp16, a, b);
  if (run->raised)
    check(g, FAULT_EXCEPTION, run->raised);
  write_element(g, &run->dest, value, last);
  if (run->fold)
    run->src[0].value = value;
  vec_stream_advance(&run->src[0]);
  vec_stream_advance(&run->src[1]);
  vec_stream_advance(&run->dest);
}

/* The wavelet stays at the head of its queue: docs/cycle-model.md. */
static void end_by_control(RefEngine *engine, RefTile *tile, unsigned thread)
{
  VecRun run = tile->threads[thread].run;
  RefGroup g = {engine, tile, &run, FAULT_COUNT, 0};
  for (unsigned k = 0; k < ARRAY_COUNT(run.src); k++) {
    const VecStream *s = &run.src[k];
    if (s->kind != VS_FABIN || takes_control(s))
      continue;
    Ring *ring = &tile->input[s->queue];
    Wavelet *head = &ring->at[ring->head];
    if (ring->count && head->control && head->visible <= engine->cycle &&
        vec_takes_color(s, head->color))
      head->kept = true;
  }
  if (run.dest.kind == VS_FABOUT && run.dest.phase)
    send_wavelet(&g, &run.dest, true);
  run.remaining = 0;
  vec_end(&run, tile->dsrs);
  vec_finish(engine, tile, thread, &run, engine->cycle, true, false);
}

/* Remembers at each FIFO that holds the operation up that it did. */
static void mark_fifos(RefTile *tile, const VecRun *run, bool keep_length)
{
  const VecStream *streams[3] = {&run->src[0], &run->src[1], &run->dest};
  for (unsigned i = 0; i < ARRAY_COUNT(streams); i++) {
    const VecStream *s = streams[i];
    unsigned available = 0;
    bool push = i == 2;
    if (s->kind != VS_FIFO ||
        fifo_available(&tile->mem, s->address, push, &available) != FAULT_COUNT || available)
      continue;
    fifo_mark(&tile->mem, s->address, push);
    Descriptor *desc = &tile->dsrs[s->file][s->number].desc;
    if (!keep_length)
      continue;
    if (desc->length)
      desc->length = (uint16_t)run->remaining;
    else
      fifo_keep_length(&tile->mem, s->address, push, run->remaining);
  }
}

void ref_vec_mark(RefTile *tile, unsigned thread)
{
  mark_fifos(tile, &tile->threads[thread].run, false);
}

/* The FIFO is empty or full: the operation ends, unfinished. */
static void end_by_fifo(RefEngine *engine, RefTile *tile, unsigned thread)
{
  VecRun run = tile->threads[thread].run;
  FifoAction action = fifo_action(&tile->mem, &run);
  mark_fifos(tile, &run, true);
  if (action == FIFO_FAULT)
    vec_fault(engine, tile, run.pc, FAULT_FIFO, 0);
  vec_finish(engine, tile, thread, &run, engine->cycle, false, action == FIFO_TEST);
}

/* dfilt counts control wavelets; data goes by. */
static bool drops_data(const RefTile *tile, const VecRun *run)
{
  return vecops[run->op].kind == VK_DFILT &&
         !ring_peek(&tile->input[run->src[1].queue], 0)->control;
}

void ref_vec_group(RefEngine *engine, RefTile *tile, unsigned thread)
{
  VecThread *t = &tile->threads[thread];
  const RefPlan *plan = &tile->plan;
  if (plan->by_control) {
    end_by_control(engine, tile, thread);
    return;
  }
  if (plan->by_fifo) {
    end_by_fifo(engine, tile, thread);
    return;
  }
  RefGroup g = {engine, tile, &t->run, FAULT_COUNT, 0};
  if (drops_data(tile, &t->run)) {
    pop_input(&g, &t->run.src[1]);
    t->ready = engine->cycle + 1;
    return;
  }
  unsigned extra = vec_bank_conflict(&t->run, engine->program->machine)
                       ? engine->program->timing.bank_conflict : 0;
  ref_event(engine, tile, (TraceEvent){.kind = EV_GROUP, .pc = t->run.pc,
                                       .thread = (uint8_t)thread,
                                       .count = (uint16_t)plan->elements});
  if (extra)
    ref_event(engine, tile, (TraceEvent){.kind = EV_STALL, .pc = t->run.pc, .id = STALL_BANK,
                                         .thread = (uint8_t)thread, .payload = extra});
  bool last_group = is_last_group(&t->run, plan->elements);
  for (unsigned i = 0; i < plan->elements; i++)
    one_element(&g, last_group && i + 1 == plan->elements);
  engine->stats.groups++;
  engine->stats.elements += plan->elements;
  engine->stats.stalls[STALL_BANK] += extra;
  if (!t->run.unbounded)
    t->run.remaining -= plan->elements;
  unsigned rest = vec_rest(&engine->program->timing, vec_in_memory(&t->run), t->run.remaining,
                           plan->elements);
  t->ready = engine->cycle + 1 + extra + rest;
  if (g.fault != FAULT_COUNT) {
    vec_fault(engine, tile, t->run.pc, g.fault, g.fault_value);
    t->running = false;
    return;
  }
  if (t->run.remaining || t->run.unbounded)
    return;
  for (unsigned k = 0; k < ARRAY_COUNT(t->run.src); k++)
    if (t->run.src[k].kind == VS_FABIN && t->run.src[k].phase)
      pop_input(&g, &t->run.src[k]);     /* the last wavelet was used in part */
  VecRun run = t->run;
  vec_end(&run, tile->dsrs);
  vec_finish(engine, tile, thread, &run, engine->cycle + extra, false, false);
}
