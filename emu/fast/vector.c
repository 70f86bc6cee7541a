/* Fast engine, one step: vector operations, any operands. */
#include "emu/fast/step.h"

#include "stb_ds.h"

enum { TRANSFORM_SHIFT = 30, TRANSFORM_MARK = 3 };

/* ---- plan: can the operation do a group, and of how many elements? ---------------------- */

static bool takes_control(const VecStream *s)
{
  return s->flags & DESC_F_TRANSFORM;
}

/* A wavelet of an input queue that is no data for the stream. */
static bool is_command(const VecStream *s, uint32_t meta)
{
  return (meta & (META_CONTROL | META_KEPT)) == META_CONTROL && !takes_control(s);
}

/* A running operation takes the wavelet at the head of the queue.  Control wavelets are taken by
 * operations with an action for them, by those that make data of them, and as data where they have
 * ended an operation. */
STEP bool operation_takes(const FastTile *t, unsigned queue, const FastWavelet *head)
{
  for (unsigned bits = t->vectors; bits; bits &= bits - 1) {
    const VecRun *run = &t->threads[__builtin_ctz(bits)].run->run;
    for (unsigned k = 0; k < ARRAY_COUNT(run->src); k++) {
      const VecStream *s = &run->src[k];
      if (s->kind == VS_FABIN && s->queue == queue &&
          vec_takes_color(s, wavelet_field(head->meta)) &&
          (!is_command(s, head->meta) || run->on_control.kind != ACT_NONE))
        return true;
    }
  }
  return false;
}

static unsigned wavelets_ready(const Visit *v, const VecStream *s)
{
  const FastQueue *q = &v->tile->queues[s->queue].input;
  unsigned n = 0;
  while (n < q->count && n < s->max_wavelets) {
    uint32_t meta = queue_at(q, n)->meta;
    if (!wavelet_seen(meta, v->now) || !vec_takes_color(s, wavelet_field(meta)) ||
        is_command(s, meta))
      break;
    n++;
  }
  return n;
}

static bool control_ends(const Visit *v, const VecRun *run)
{
  if (run->on_control.kind == ACT_NONE)
    return false;
  for (unsigned k = 0; k < ARRAY_COUNT(run->src); k++) {
    const VecStream *s = &run->src[k];
    if (s->kind != VS_FABIN || takes_control(s))
      continue;
    const FastQueue *q = &v->tile->queues[s->queue].input;
    uint32_t meta = q->count ? queue_at(q, 0)->meta : 0;
    if (q->count && wavelet_seen(meta, v->now) && (meta & META_CONTROL) &&
        vec_takes_color(s, wavelet_field(meta)))
      return true;
  }
  return false;
}

static bool limit_by_input(const Visit *v, const VecStream *s, unsigned *size)
{
  if (s->kind != VS_FABIN)
    return true;
  unsigned need = vec_wavelets(s, *size);
  unsigned have = wavelets_ready(v, s);
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

static bool limit_by_output(const Visit *v, const VecRun *run, unsigned *size)
{
  const VecStream *s = &run->dest;
  if (s->kind != VS_FABOUT)
    return true;
  unsigned capacity = v->engine->output_capacity[s->queue];
  unsigned count = v->tile->queues[s->queue].output.count;
  unsigned room = capacity > count ? capacity - count : 0;
  while (*size > 1 && wavelets_sent(run, *size) > room && room >= s->min_wavelets)
    --*size;
  return wavelets_sent(run, *size) <= room;
}

static bool limit_by_fifo(const Visit *v, const VecStream *s, bool push, unsigned *size)
{
  unsigned available = 0;
  if (s->kind != VS_FIFO)
    return true;
  if (fifo_available(&v->tile->mem, s->address, push, &available) != FAULT_COUNT)
    return true;
  if (available && available < *size)
    *size = available;
  return available != 0;
}

STEP StallCause plan_general(Visit *v, unsigned thread, GroupPlan *group)
{
  const VecRun *run = &v->tile->threads[thread].run->run;
  unsigned size = vec_group_size(run);
  if (thread != MAIN_THREAD && (v->tile->paused >> (thread - 1) & 1))
    return STALL_PAUSED;
  if (control_ends(v, run)) {
    group->by_control = true;
    return STALL_NONE;
  }
  for (uint8_t k = 0; k < ARRAY_COUNT(run->src); k++) {
    group->stream = (uint8_t)(k + 1);
    if (!limit_by_input(v, &run->src[k], &size))
      return STALL_INPUT;
  }
  if (!limit_by_fifo(v, &run->src[0], false, &size) ||
      !limit_by_fifo(v, &run->src[1], false, &size) ||
      !limit_by_fifo(v, &run->dest, true, &size)) {
    bool waits = fifo_action(&v->tile->mem, run) == FIFO_SUSPEND;
    group->by_fifo = !waits;
    if (waits)
      v->fifo_marks |= (uint16_t)(1u << thread);
    return waits ? STALL_FIFO : STALL_NONE;
  }
  group->stream = 0;
  if (!limit_by_output(v, run, &size))
    return STALL_OUTPUT;
  group->elements = size;
  return STALL_NONE;
}

STEP StallCause plan_group(Visit *v, unsigned thread, GroupPlan *group)
{
  FastTile *t = v->tile;
  FastThread *th = &t->threads[thread];
  *group = (GroupPlan){0};
  if (!th->plain || t->paused || (t->input_any & t->input_control)) {
    plain_sync(th);
    return plan_general(v, thread, group);
  }
  return plain_waits(v, &th->run->plain);
}

/* ---- start and end ---------------------------------------------------------------------- */

STEP void step_vec_fault(Visit *v, uint16_t pc, FaultKind kind, uint32_t value)
{
  arrput(v->worker->faults,
         ((Fault){.kind = kind, .cycle = v->now, .tile = v->tile->index, .color = NO_COLOR,
                  .pc = pc, .value = value}));
}

static void action_later(Visit *v, uint64_t cycle, Action action, uint16_t pc)
{
  if (action.kind != ACT_ACTIVATE && action.kind != ACT_UNBLOCK)
    return;
  arrput(v->tile->pending, ((FastAction){.cycle = cycle, .action = action, .value = pc}));
  if (cycle < v->tile->pending_due)
    v->tile->pending_due = cycle;
}

static void thread_idle(FastTile *t, unsigned thread)
{
  t->vectors &= (uint16_t)~(1u << thread);
  t->readers = 0;
  for (unsigned bits = t->vectors; bits; bits &= bits - 1) {
    const VecRun *run = &t->threads[__builtin_ctz(bits)].run->run;
    for (unsigned k = 0; k < ARRAY_COUNT(run->src); k++)
      if (run->src[k].kind == VS_FABIN)
        t->readers |= (uint8_t)(1u << run->src[k].queue);
  }
}

static void write_register(FastTile *t, const VecStream *dest)
{
  if (dest->kind != VS_REGISTER)
    return;
  if (dest->element_bytes == 4)
    set_reg32(&t->regs, dest->reg, dest->value);
  else
    t->regs.r[dest->reg] = (uint16_t)dest->value;
}

static void scratch_operands(const Visit *v, const VecOperands *vec, bool back);

/* The thread has come to an operation that starts behind the one that is over now. */
static bool starts_next(Visit *v, const Insn *insn, uint64_t last)
{
  FastTile *t = v->tile;
  if (insn->op != OP_vec || t->ready > v->now)
    return false;
  scratch_operands(v, &insn->vec, false);
  if (!overlap_follows(&insn->vec, v->worker->scratch))
    return false;
  EVENT(v, .kind = EV_INST, .pc = t->pc);
  v->worker->stats.instructions++;
  t->issues++;
  vec_start(v, insn);
  if (t->threads[MAIN_THREAD].run)
    t->threads[MAIN_THREAD].ready = last + pay_row(v, TIMING_vector_next);
  return true;
}

/* The operation beside which the thread went on is over: what it has come to follows. */
static void go_on_beside(Visit *v, const VecRun *run, uint64_t last)
{
  FastTile *t = v->tile;
  const Insn *insn = class_insn(t->cls, t->pc);
  t->overlaps = false;
  if (insn && (starts_next(v, insn, last) || overlap_issues(run, insn, &t->regs)))
    return;
  uint64_t end = last + pay_row(v, TIMING_vector_end);
  t->ready = t->ready > end ? t->ready : end;
}

/* The operation's last group was in cycle `last`, or it had none. */
static void vec_finish(Visit *v, unsigned thread, const VecRun *run, uint64_t last,
                       bool by_control, bool by_fifo)
{
  const Timing *timing = v->engine->timing;
  FastTile *t = v->tile;
  EVENT(v, .kind = EV_DONE, .pc = run->pc, .control = by_control, .thread = (uint8_t)thread);
  Action action = by_control ? run->on_control : run->done;
  action_later(v, last + timing->async_done_action, action, run->pc);
  if (run->async)
    return;
  t->regs.vstat = !by_fifo;
  t->regs.vector_carry = run->carry;
  if (!by_fifo)
    write_register(t, &run->dest);
  if (t->overlaps)
    go_on_beside(v, run, last);
  else
    t->ready = last + pay_row(v, TIMING_vector_end);
}

static void thread_release(Visit *v, unsigned thread)
{
  FastTile *t = v->tile;
  FastRun *run = t->threads[thread].run;
  thread_idle(t, thread);
  t->threads[thread].run = NULL;
  fast_work_free(v->worker, run);
}

/* The descriptors that an operation names, where vec_begin and vec_end look for them. */
static void scratch_operand(const Visit *v, const VecOperand *operand, bool back)
{
  if (operand->kind != VOPND_DSR)
    return;
  const FastDsrMap *map = &v->engine->dsr_maps[v->tile->cls->index];
  DsrState *kept = &v->tile->dsrs[map->place[operand->file][operand->number]];
  DsrState *scratch = &v->worker->scratch[operand->file][operand->number];
  if (back)
    *kept = *scratch;
  else
    *scratch = *kept;
}

static void scratch_operands(const Visit *v, const VecOperands *vec, bool back)
{
  scratch_operand(v, &vec->dest, back);
  scratch_operand(v, &vec->src0, back);
  scratch_operand(v, &vec->src1, back);
}

static bool keeps_something(const VecRun *run)
{
  return (run->dest.flags | run->src[0].flags | run->src[1].flags) & (DESC_F_SAVE | DESC_F_STEP);
}

static void write_back(Visit *v, const VecRun *run)
{
  if (!keeps_something(run))
    return;
  const Insn *insn = class_insn(v->tile->cls, run->pc);
  scratch_operands(v, &insn->vec, false);
  vec_end(run, v->worker->scratch);
  scratch_operands(v, &insn->vec, true);
}

/* Whether --check asks for it: CHECKS_*. */
STEP bool step_checks(const Visit *v, unsigned what)
{
  return v->engine->options.checks & what;
}

/* What was started before the running operation `later`, or before now, as it stands. */
STEP Checked running_before(FastTile *t, const VecRun *later)
{
  Checked earlier = {0};
  for (unsigned bits = t->vectors; bits; bits &= bits - 1) {
    FastThread *th = &t->threads[__builtin_ctz(bits)];
    plain_sync(th);
    check_add(&earlier, &th->run->run, later);
  }
  return earlier;
}

/* What --check finds about an operation at its start. */
static RARE void check_start(Visit *v, VecRun *run, const Insn *insn)
{
  FastTile *t = v->tile;
  uint32_t value = 0;
  FaultKind kind = FAULT_COUNT;
  if (step_checks(v, CHECKS_MEMORY))
    check_objects(run, t->cls, v->now);
  if (step_checks(v, CHECKS_TASKS | CHECKS_LENGTHS))
    kind = check_operation(v->engine->options.checks, run, &insn->vec, t->cls, v->worker->scratch,
                           v->engine->program->machine, &value);
  if (kind != FAULT_COUNT)
    arrput(v->worker->faults,
           ((Fault){.kind = kind, .cycle = v->now, .tile = t->index, .color = NO_COLOR,
                    .pc = run->pc, .value = value, .value2 = run->length}));
}

/* Nothing has to be looked at while the operation runs: it stays in its variables, and no other
 * unit is there to touch them. */
static bool needs_no_check(const Visit *v, const VecRun *run)
{
  return !step_checks(v, CHECKS_MEMORY) ||
         (!run->async && !v->tile->vectors && check_stays_inside(run));
}

/* An operation without elements is over as if a group had been done in the cycle before its
 * first: n + 3 from issue to issue holds for n = 0 too. */
static void start_empty(Visit *v, unsigned thread, const VecRun *run)
{
  uint64_t start = pay_row(v, TIMING_vector_start);
  bool stepping = (run->dest.flags | run->src[0].flags | run->src[1].flags) & DESC_F_STEP;
  vec_finish(v, thread, run, v->now + (start ? start - 1 : 0), false, false);
  if (!run->async && stepping)
    v->tile->regs.vstat = false;
}

/* Two running operations on one queue: which gets or sends what is undefined. */
static void check_shared(Visit *v, const VecRun *run)
{
  const FastTile *t = v->tile;
  for (unsigned bits = t->vectors; bits; bits &= bits - 1) {
    const VecRun *other = &t->threads[__builtin_ctz(bits)].run->run;
    const VecStream *s = vec_shared_stream(run, other);
    if (s)
      arrput(v->worker->faults,
             ((Fault){.kind = FAULT_QUEUE_SHARED, .cycle = v->now, .tile = t->index,
                      .color = s->color, .pc = run->pc,
                      .value = fault_queue(s == &run->dest, s->queue), .value2 = other->pc}));
  }
}

/* A wavelet of another color stands before those that the operation is to take. */
static RARE void check_obstructed(Visit *v, const VecRun *run)
{
  FastTile *t = v->tile;
  uint8_t heads[MAX_QUEUES];
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    const FastQueue *in = &t->queues[q].input;
    const FastWavelet *head = in->count ? queue_at(in, 0) : NULL;
    bool waits = head && wavelet_seen(head->meta, v->now) && !operation_takes(t, q, head);
    heads[q] = waits ? (uint8_t)wavelet_field(head->meta) : (uint8_t)NO_COLOR;
  }
  const VecStream *s = vec_obstructed_stream(run, t->cls, t->blocked, heads);
  if (s)
    arrput(v->worker->faults,
           vec_obstructed_fault(run, s, heads[s->queue], queue_use(&t->queues[s->queue].input),
                                v->now, t->index));
}

/* False: a queue that has to change its color holds wavelets. */
static bool remap_queues(Visit *v, const VecRun *run, uint32_t *value)
{
  FastTile *t = v->tile;
  const VecStream *s = registers_remap(&t->registers, t->cls->image, run, (uint8_t)t->input_any,
                                       (uint8_t)t->output_any);
  v->rebinds = true;
  if (s)
    *value = fault_queue(s->kind == VS_FABOUT, s->queue);
  return s == NULL;
}

static bool any_remaps(const VecRun *run)
{
  return run->dest.remaps | run->src[0].remaps | run->src[1].remaps;
}

static void note_queues(FastTile *t, const VecRun *run)
{
  uint16_t elements = (uint16_t)run->remaining;
  record_fifos(&t->record, run);
  for (unsigned k = 0; k < ARRAY_COUNT(run->src); k++)
    if (run->src[k].kind == VS_FABIN)
      queue_note(&t->queues[run->src[k].queue].input,
                 (QueueUse){run->pc, elements, run->src[k].color, false});
  if (run->dest.kind == VS_FABOUT)
    queue_note(&t->queues[run->dest.queue].output,
               (QueueUse){run->pc, elements, run->dest.color,
                          run->dest.flags & DESC_F_CONTROL});
}

STEP void vec_start(Visit *v, const Insn *insn)
{
  FastEngine *e = v->engine;
  FastTile *t = v->tile;
  fast_ahead_over(v->worker, t);
  FastRun *both = &fast_work_alloc(v->worker)->run;
  VecRun *run = &both->run;
  uint32_t value = 0;
  scratch_operands(v, &insn->vec, false);
  FaultKind fault = vec_begin(run, insn, t->pc, e->program, t->cls, &t->regs, v->worker->scratch,
                              &t->mem, &t->registers, &value);
  unsigned thread = run->async ? 1u + run->microthread : MAIN_THREAD;
  if (fault == FAULT_COUNT && run->async && t->threads[thread].run) {
    fault = FAULT_MICROTHREAD_BUSY;
    value = run->microthread;
  }
  if (fault == FAULT_COUNT && UNLIKELY(any_remaps(run)) && !remap_queues(v, run, &value))
    fault = FAULT_QUEUE_REMAP;
  if (fault != FAULT_COUNT) {
    Fault found = {.kind = fault, .cycle = v->now, .tile = t->index, .color = NO_COLOR,
                   .pc = t->pc, .value = value};
    if (fault == FAULT_MICROTHREAD_BUSY) {
      found.value2 = t->threads[thread].run->run.pc;
      found.color = vec_fabric_color(run);
    }
    arrput(v->worker->faults, found);
    fast_work_free(v->worker, both);
    return;
  }
  if (UNLIKELY(e->options.checks))
    check_start(v, run, insn);
  check_shared(v, run);
  if (UNLIKELY(t->cls->shared_inputs))
    check_obstructed(v, run);
  note_queues(t, run);
  t->pc = (uint16_t)(t->pc + run->insn_words * 2);
  if (run->async)
    t->ready = v->now + pay_row(v, TIMING_vector_async_issue);
  if (run->remaining == 0) {
    start_empty(v, thread, run);
    fast_work_free(v->worker, both);
    return;
  }
  FastThread *th = &t->threads[thread];
  *th = (FastThread){.run = both, .ready = v->now + pay_row(v, TIMING_vector_start),
                     .plain = is_plain(t, run) && needs_no_check(v, run)};
  if (th->plain) {
    make_plain(&both->plain, run);
    make_stream(v, &both->plain, run);
  }
  t->vectors |= (uint16_t)(1u << thread);
  if (thread == MAIN_THREAD) {
    t->overlaps = overlap_allows(run, t->cls, e->timing);
    t->waits = false;
    t->ready = v->now + 1;
  }
  for (unsigned k = 0; k < ARRAY_COUNT(run->src); k++)
    if (run->src[k].kind == VS_FABIN)
      t->readers |= (uint8_t)(1u << run->src[k].queue);
  if (!FAST_TRACED && th->plain && both->plain.stream && thread == MAIN_THREAD)
    fast_join(v->worker, t);
}

/* ---- one group, any operands ------------------------------------------------------------ */

typedef struct {
  Visit *v;
  VecRun *run;
  FaultKind fault;
  uint32_t fault_value;
} Group;

static void check(Group *g, FaultKind kind, uint32_t value)
{
  if (kind == FAULT_COUNT || g->fault != FAULT_COUNT)
    return;
  g->fault = kind;
  g->fault_value = value;
}

/* What --check finds about an element in memory. */
static RARE void look_at_memory(Group *g, const VecStream *s, bool store)
{
  uint32_t other;
  Checked earlier = running_before(g->v->tile, g->run);
  FaultKind kind = check_element(&earlier, s, store, &other);
  if (kind != FAULT_COUNT)
    arrput(g->v->worker->faults,
           ((Fault){.kind = kind, .cycle = g->v->now, .tile = g->v->tile->index,
                    .color = NO_COLOR, .pc = g->run->pc, .value = s->address,
                    .value2 = other ? other : s->object.start}));
}

static void check_memory(Group *g, const VecStream *s, bool store)
{
  if (UNLIKELY(g->run->watched))
    look_at_memory(g, s, store);
}

static void fire(Group *g, Action action)
{
  action_later(g->v, g->v->now + g->v->engine->timing->async_done_action, action, g->run->pc);
}

static uint32_t read_fabric(Group *g, VecStream *s)
{
  const FastWavelet *w = queue_at(&g->v->tile->queues[s->queue].input, 0);
  uint32_t value = w->payload;
  if (takes_control(s) && (w->meta & META_CONTROL))
    value = (value | (uint32_t)TRANSFORM_MARK << TRANSFORM_SHIFT) ^
            (uint32_t)g->v->tile->registers.transform << HALF_BITS;
  if (s->element_bytes == 2)
    value = value >> (s->phase * HALF_BITS) & LOW16;
  if (++s->phase == s->per_wavelet) {
    s->phase = 0;
    input_pop(g->v, s->queue);
  }
  return value;
}

static uint32_t read_element(Group *g, VecStream *s, bool zero)
{
  TileMem *mem = &g->v->tile->mem;
  uint32_t value = 0;
  Action action = {0};
  switch (s->kind) {
  case VS_VALUE:
    return s->value;
  case VS_MEMORY:
    check_memory(g, s, false);
    check(g, mem_load(mem, s->address, s->element_bytes, &value), s->address);
    if (zero)
      check(g, mem_store(mem, s->address, s->element_bytes, 0), s->address);
    return value;
  case VS_FABIN:
    return read_fabric(g, s);
  case VS_FIFO:
    check(g, fifo_move(mem, s->address, false, s->element_bytes, &value, &action), s->address);
    fire(g, action);
    return value;
  case VS_NONE: case VS_REGISTER: case VS_FABOUT: default:
    return 0;
  }
}

static void send_wavelet(Group *g, VecStream *s, bool last)
{
  uint32_t flags = s->flags & DESC_F_CONTROL ? META_CONTROL : 0;
  if (s->flags & DESC_F_TRANSFORM)
    flags = s->value >> TRANSFORM_SHIFT == TRANSFORM_MARK ? META_CONTROL : 0;
  if (last && (s->flags & DESC_F_ADVANCE))
    flags |= META_ADVANCE;
  FastWavelet w = {s->value, wavelet_meta(g->v->output_visible, s->color, flags)};
  s->phase = 0;
  s->value = 0;
  output_push(g->v, s->queue, w);
}

static void write_fabric(Group *g, VecStream *s, uint32_t value, bool last)
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

static void write_element(Group *g, VecStream *s, uint32_t value, bool last)
{
  TileMem *mem = &g->v->tile->mem;
  Action action = {0};
  switch (s->kind) {
  case VS_MEMORY:
    check_memory(g, s, true);
    check(g, mem_store(mem, s->address, s->element_bytes, value), s->address);
    break;
  case VS_REGISTER:
    s->value = value;
    break;
  case VS_FABOUT:
    write_fabric(g, s, value, last);
    break;
  case VS_FIFO:
    check(g, fifo_move(mem, s->address, true, s->element_bytes, &value, &action), s->address);
    fire(g, action);
    break;
  case VS_NONE: case VS_VALUE: case VS_FABIN: default:
    break;
  }
}

static void one_element(Group *g, bool last)
{
  VecRun *run = g->run;
  uint32_t a = read_element(g, &run->src[0], run->zero_first);
  uint32_t b = read_element(g, &run->src[1], run->zero_second);
  uint32_t value = vec_operate(run, g->v->engine->program->image->fp16, a, b);
  if (run->raised)
    check(g, FAULT_EXCEPTION, run->raised);
  write_element(g, &run->dest, value, last);
  if (run->fold)
    run->src[0].value = value;
  vec_stream_advance(&run->src[0]);
  vec_stream_advance(&run->src[1]);
  vec_stream_advance(&run->dest);
}

/* ---- group or end ----------------------------------------------------------------------- */

/* The wavelet stays at the head of its queue: docs/cycle-model.md. */
static void end_by_control(Visit *v, unsigned thread)
{
  VecRun run = v->tile->threads[thread].run->run;
  Group g = {v, &run, FAULT_COUNT, 0};
  for (unsigned k = 0; k < ARRAY_COUNT(run.src); k++) {
    const VecStream *s = &run.src[k];
    if (s->kind != VS_FABIN || takes_control(s))
      continue;
    const FastQueue *q = &v->tile->queues[s->queue].input;
    FastWavelet *head = q->count ? queue_at(q, 0) : NULL;
    if (head && (head->meta & META_CONTROL) && wavelet_seen(head->meta, v->now) &&
        vec_takes_color(s, wavelet_field(head->meta)))
      head->meta |= META_KEPT;
  }
  if (run.dest.kind == VS_FABOUT && run.dest.phase)
    send_wavelet(&g, &run.dest, true);
  run.remaining = 0;
  write_back(v, &run);
  thread_release(v, thread);
  vec_finish(v, thread, &run, v->now, true, false);
}

/* Remembers at each FIFO that holds the operation up that it did. */
STEP void step_mark_fifos(Visit *v, const VecRun *run, bool keep_length)
{
  const VecStream *streams[3] = {&run->src[0], &run->src[1], &run->dest};
  TileMem *mem = &v->tile->mem;
  for (unsigned i = 0; i < ARRAY_COUNT(streams); i++) {
    const VecStream *s = streams[i];
    unsigned available = 0;
    bool push = i == 2;
    if (s->kind != VS_FIFO ||
        fifo_available(mem, s->address, push, &available) != FAULT_COUNT || available)
      continue;
    fifo_mark(mem, s->address, push);
    const FastDsrMap *map = &v->engine->dsr_maps[v->tile->cls->index];
    Descriptor *desc = &v->tile->dsrs[map->place[s->file][s->number]].desc;
    if (!keep_length)
      continue;
    if (desc->length)
      desc->length = (uint16_t)run->remaining;
    else
      fifo_keep_length(mem, s->address, push, run->remaining);
  }
}

/* The FIFO is empty or full: the operation ends, unfinished. */
static void end_by_fifo(Visit *v, unsigned thread)
{
  VecRun run = v->tile->threads[thread].run->run;
  FifoAction action = fifo_action(&v->tile->mem, &run);
  step_mark_fifos(v, &run, true);
  if (action == FIFO_FAULT)
    step_vec_fault(v, run.pc, FAULT_FIFO, 0);
  thread_release(v, thread);
  vec_finish(v, thread, &run, v->now, false, action == FIFO_TEST);
}

STEP void finish_group(Visit *v, unsigned thread, VecRun *run, unsigned extra)
{
  for (unsigned k = 0; k < ARRAY_COUNT(run->src); k++) {
    if (run->src[k].kind == VS_FABIN && run->src[k].phase) {
      run->src[k].phase = 0;
      input_pop(v, run->src[k].queue);     /* the last wavelet was used in part */
    }
  }
  VecRun ended = *run;
  write_back(v, &ended);
  thread_release(v, thread);
  vec_finish(v, thread, &ended, v->now + extra, false, false);
}

/* dfilt counts control wavelets; data goes by. */
static bool drops_data(const Visit *v, const VecRun *run)
{
  return vecops[run->op].kind == VK_DFILT &&
         !(queue_at(&v->tile->queues[run->src[1].queue].input, 0)->meta & META_CONTROL);
}

static void general_group(Visit *v, unsigned thread, unsigned elements)
{
  FastThread *th = &v->tile->threads[thread];
  FastEngine *e = v->engine;
  VecRun *run = &th->run->run;
  if (drops_data(v, run)) {
    input_pop(v, run->src[1].queue);
    th->ready = v->now + 1;
    return;
  }
  unsigned extra = vec_bank_conflict(run, e->program->machine) ? e->timing->bank_conflict : 0;
  EVENT(v, .kind = EV_GROUP, .pc = run->pc, .thread = (uint8_t)thread,
        .count = (uint16_t)elements);
  if (FAST_TRACED && extra)
    EVENT(v, .kind = EV_STALL, .pc = run->pc, .id = STALL_BANK, .thread = (uint8_t)thread,
          .payload = extra);
  bool last_group = is_last_group(run, elements);
  Group g = {v, run, FAULT_COUNT, 0};
  for (unsigned i = 0; i < elements; i++)
    one_element(&g, last_group && i + 1 == elements);
  v->worker->stats.groups++;
  v->worker->stats.elements += elements;
  v->worker->stats.stalls[STALL_BANK] += extra;
  if (!run->unbounded)
    run->remaining -= elements;
  th->ready = v->now + 1 + extra +
              vec_rest(e->timing, vec_in_memory(run), run->remaining, elements);
  if (g.fault != FAULT_COUNT) {
    step_vec_fault(v, run->pc, g.fault, g.fault_value);
    thread_release(v, thread);
    return;
  }
  if (!run->remaining && !run->unbounded)
    finish_group(v, thread, run, extra);
}

STEP void do_group(Visit *v, unsigned thread, const GroupPlan *plan)
{
  if (plan->by_control)
    end_by_control(v, thread);
  else if (plan->by_fifo)
    end_by_fifo(v, thread);
  else if (v->tile->threads[thread].plain)
    plain_group_any(v, thread);
  else
    general_group(v, thread, plan->elements);
}
