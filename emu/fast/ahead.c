/* Fast engine: what the main thread does ahead of its cycle.
 *
 * A visit carries out a whole stretch of a task: instructions, loads of descriptors, short vector
 * operations, the end of the task.  Nothing can be observed of that in between, because the stretch
 * keeps to the following, here and in steps_ahead, starts_ahead and step_beside (steps.c):
 *
 * - No action is due, the host has no word for the thread, and no observer traces (is_main_free in
 *   tasks.c).  So registers, memory, descriptors and the running task are the thread's own.  A step
 *   that reads or writes anything else (FIFOs, input queues, microthreads, most registers) ends the
 *   stretch before it; those of the router may be read and written (kept.c).
 * - Microthreads share nothing with it (beside.c).  A step that touches what their operations write
 *   or writes what they read ends the stretch, as does a result for a queue of theirs, and a
 *   descriptor that they keep their place in.  The end of a task ends it, too, if a data task could
 *   take the wavelets of one of their operations.
 * - Microthreads of lower rank issue in the cycles in which the main thread does not
 *   (fast_issues_ahead).  One of higher rank may take a cycle in which the main thread has a step:
 *   then this step and all behind it are a cycle later (fast_delay_ahead), as the time of a step
 *   counts from the one before.
 * - Where operations overlap, instructions issue beside the groups of one.  Turns of microthreads
 *   delay the groups alone.  So where there may be any, a stretch goes on to the next operation
 *   only if that one waits for the groups of this one.
 * - The next task is not chosen ahead, because a wavelet may still come that decides it.  Until
 *   then the scheduler only drops control wavelets.  To do so it looks at the queues of operations
 *   and at blocked tasks that wavelets may start, and no step changes these.  A step may activate,
 *   block or unblock other tasks, but not beside microthreads, whose ends do so, too.
 * - Results for an output queue carry the cycle in which the router can see them.  They find room
 *   now, so they find it then, since the router only takes from the queue.
 * - Every step is in a cycle before the end of the run and before the next action of the tile.
 *
 * An operation between variables that begins and ends in a stretch is never a running one: whole.c
 * does all of it from its descriptors.
 *
 * Another tile may end the run in the middle of a stretch, or a step may turn out to be a mistake
 * of the program.  Then the tile goes back to the beginning of the stretch and repeats it up to
 * that cycle, with the turns that microthreads have taken.  A long operation that runs already goes
 * ahead by itself, and back group by group. */
#include "emu/fast/step.h"

#include "stb_ds.h"

/* ---- issues ahead -------------------------------------------------------------------------- */

bool fast_issues_ahead(const FastTile *t, uint64_t now)
{
  uint64_t at = t->is_ahead ? now - t->ahead->from : SCALAR_CYCLES;
  return at < SCALAR_CYCLES && issues_has(t->ahead->issues, at);
}

uint64_t fast_next_free(const FastTile *t, uint64_t now)
{
  const FastAhead *ahead = t->ahead;
  return t->is_ahead ? ahead->from + issues_next_free(ahead->issues, now + 1 - ahead->from)
                     : now + 1;
}

void fast_prefetch_ahead(const FastAhead *ahead)
{
  __builtin_prefetch(&ahead->overwritten.turns);
  __builtin_prefetch(&ahead->from);
}

static void note_last(FastWorker *w, const FastAhead *ahead, uint64_t end)
{
  int last = issues_last(ahead->issues, end);
  if (last >= 0 && ahead->from + (unsigned)last > w->ahead_last)
    w->ahead_last = ahead->from + (unsigned)last;
}

/* The end of what may be done ahead in a visit. */
static uint64_t ahead_end(const FastEngine *e, uint64_t from)
{
  return e->limit - from < SCALAR_CYCLES ? e->limit : from + SCALAR_CYCLES;
}

/* The end of what is done ahead: microthreads that take turns find room for as many cycles. */
static uint64_t ahead_aim(const Visit *v, uint64_t from, uint64_t end)
{
  uint64_t aim = from + SCALAR_CYCLES - AHEAD_TURNS;
  return v->beside && v->beside->preempts && aim < end ? aim : end;
}

/* ---- a stretch: its instructions ----------------------------------------------------------- */

/* The operation that sends one wavelet, from its issue to its end in cycles before `end`.  False:
 * it is none, or nothing has been done. */
static RARE bool step_single(Visit *v, const FastVector *c, const Insn *insn, uint64_t end,
                             uint64_t last)
{
  FastTile *t = v->tile;
  uint64_t issue = t->core.ready, group = single_group(v);
  SingleSend send;
  if (v->beside || group >= end || !finds_single(v, c, &send) ||
      !keep_queue(v, send.queue, 1, last))
    return false;
  mark_issue(t->ahead, issue);
  mark_group(t->ahead, group);
  set_step(v, group);
  do_single(v, c, insn, &send);
  leave_cycle(v);
  return true;
}

/* Likewise one that loads one element. */
static RARE bool step_load(Visit *v, const FastVector *c, const Insn *insn, uint64_t end)
{
  FastTile *t = v->tile;
  uint64_t issue = t->core.ready, group = single_group(v);
  if (v->beside || group >= end || !is_single_load(v, c) || !keep_load(t, c, &insn->vec.src1))
    return false;
  mark_issue(t->ahead, issue);
  mark_group(t->ahead, group);
  set_step(v, group);
  do_load(v, c);
  leave_cycle(v);
  return true;
}

/* The end of a task is a step.  Beside microthreads one may be a finding: where a data task could
 * take the wavelets of such an operation, blocked or not. */
static bool may_end(const FastEngine *e, const Tile *core)
{
  unsigned threads = core->readers ? core->vectors & ~(1u << MAIN_THREAD) : 0;
  for (; threads; threads &= threads - 1)
    if (vec_contested_stream(core->threads[__builtin_ctz(threads)].run, core->mem.cls,
                             e->base.program->image->arch, 0))
      return false;
  return true;
}

/* Nothing can be wrong with it. */
static void step_end(Visit *v)
{
  uint64_t cycle = v->tile->core.ready;
  set_step(v, cycle);
  mark_issue(v->tile->ahead, cycle);
  tile_end_main(&v->turn);
  leave_cycle(v);
}

/* The operation of the vector instruction in one go.  False: it is none for that, and nothing has
 * been done; else *goes_on: the thread is free behind it. */
static HOT bool step_vector(Visit *v, const FastVector *c, const ScalarCode *code, uint64_t end,
                            uint64_t last, bool *goes_on)
{
  *goes_on = true;
  if (c->may_load)              /* to a register: neither of the others */
    return step_load(v, c, code->insn, end);
  return (may_be_whole(v, c) && step_whole(v, code, end, last, goes_on)) ||
         (is_sender(v->tile, c) && step_single(v, c, code->insn, end, last));
}

/* The instruction, which is none for a row, and the groups of its operation, in cycles before
 * `end`. False: not all of that. */
static bool step_instruction(Visit *v, const ScalarCode *code, uint64_t end, uint64_t last)
{
  FastTile *t = v->tile;
  uint64_t cycle = t->core.ready;
  if (code->op == OP_vec) {
    const FastVector *c = vector_of(v->engine, t, code);
    bool goes_on;
    if (step_vector(v, c, code, end, last, &goes_on))
      return goes_on;
    if (!may_start_ahead(t, c))
      return false;
  }
  CostClass cost = insn_info[code->insn->op].cost;
  if (cost == COST_CONFIG)
    return step_access(v, code->insn);
  if (!(cost == COST_COUNTER ? keep_time_stamp(v, code->insn) : steps_ahead(v, code->insn, last)))
    return false;
  set_step(v, cycle);
  mark_issue(t->ahead, cycle);
  tile_carry_out(&v->turn, code->insn);
  leave_cycle(v);
  if (is_mistaken(v))
    return false;
  if (!(t->core.vectors & 1u << MAIN_THREAD))
    return true;
  t->ahead->began = (uint8_t)(cycle - t->ahead->from);
  t->ahead->is.kept = false;
  return step_groups(v, end, last);
}

/* All steps in cycles before `end` of a stretch that may go on to `last`.  Returns the cycle of one
 * that is a mistake, or NEVER. */
static uint64_t take_steps(Visit *v, uint64_t end, uint64_t last)
{
  Tile *core = &v->tile->core;
  Fault **faults = &v->worker->log.faults;
  v->findings = arrlenu(*faults);
  bool goes_on = (!(core->vectors & 1u << MAIN_THREAD) || go_on_in_operation(v, end, last)) &&
                 core->running;
  const ScalarCode *code = code_now(v->engine, core);
  ScalarRun rows = begin_rows(v, end);
  while (goes_on && core->ready < end && code && code->insn) {
    if (!(code->odd & SCALAR_STOPS)) {
      goes_on = step_row(v, &rows, &code);
      continue;
    }
    const ScalarCode *next = code->odd & SCALAR_DESCRIPTOR ? step_descriptor(v, &rows, code)
                                                          : NULL;
    if (next) {
      code = next;
      continue;
    }
    if (code->insn->op == OP_endtask && may_end(v->engine, core)) {
      step_end(v);
      break;
    }
    goes_on = step_instruction(v, code, end, last) && core->running;
    code = code_now(v->engine, core);
  }
  end_rows(v, &rows);
  if (LIKELY(!is_mistaken(v)))
    return NEVER;
  arrsetlen(*faults, v->findings);
  return v->turn.cycle;
}

/* What the stretch sends from this cycle on can be seen a cycle later. */
static void delay_results(const Visit *v, const FastAhead *ahead)
{
  if (!ahead->is.stretch || queue_of(ahead) == NO_QUEUE)
    return;
  const FastQueues *q = &v->tile->queues[ahead->queue];
  int32_t soonest = (int32_t)v->engine->output_cycles;
  for (unsigned i = 0; i < q->output.count; i++) {
    FastWavelet *w = output_at(q, i);
    if (wavelet_wait(w->meta, v->turn.cycle) >= soonest)
      w->meta = (w->meta & ~(uint32_t)STAMP_MASK) | ((w->meta + 1) & STAMP_MASK);
  }
}

/* The operation that the thread is in has begun then or later. */
static bool has_begun_since(const FastAhead *ahead, uint64_t at)
{
  return ahead->began >= at && ahead->began < SCALAR_CYCLES;
}

/* The operation has begun a cycle later.  Most of it is out of the way of visits. */
static void delay_start(Thread *th)
{
  if (th->plain)
    thread_plain(th)->late++;
  else
    th->run->started++;
}

/* The next instruction, or the next group of the operation that the thread is in, and when it has
 * begun that one. */
static void delay_next(const Visit *v, uint64_t at)
{
  FastTile *t = v->tile;
  Tile *core = &t->core;
  Thread *th = &core->threads[MAIN_THREAD];
  bool begins = has_begun_since(t->ahead, at);
  if (core->vectors & 1u << MAIN_THREAD) {
    th->ready++;
    if (begins && v->turn.program->memory_facts)
      delay_start(th);
    t->ahead->began = (uint8_t)(t->ahead->began + begins);
    core->ready += begins;
  } else {
    core->ready++;
  }
}

/* A microthread issues in the cycle: the steps from then on are a cycle later. */
static void delay_steps(Visit *v, unsigned at)
{
  FastAhead *ahead = v->tile->ahead;
  issues_delay(ahead->issues, at);
  issues_delay(ahead->overwritten.turns.groups, at);
  delay_next(v, at);
  delay_results(v, ahead);
}

/* The same where microthreads have taken turns: each of them delays all steps behind it, so that
 * those before `end` are so many cycles earlier without them.  Then what goes on beside the last
 * operation, whose groups alone have been delayed. */
static RARE uint64_t take_turns(Visit *v, uint64_t end, uint64_t last)
{
  const FastAhead *ahead = v->tile->ahead;
  const uint64_t *taken = ahead->overwritten.turns.taken;
  uint64_t until = end - ahead->from;
  unsigned turns = issues_count_all(taken) - issues_count(taken, until);
  uint64_t mistake = take_steps(v, end - turns, last);
  for (uint64_t at = 0; mistake == NEVER && (at = issues_next(taken, at, until)) < until; at++) {
    set_step(v, ahead->from + at);
    delay_steps(v, (unsigned)at);
  }
  return mistake == NEVER && turns ? take_steps(v, end, last) : mistake;
}

/* Carries out the stretch that has begun, up to `end`, and counts it.  What it may begin there
 * depends on `last`, which is the same or later when it is repeated. */
static uint64_t run_stretch(Visit *v, uint64_t end, uint64_t last)
{
  FastTile *t = v->tile;
  FastWorker *w = v->worker;
  FastAhead *ahead = t->ahead;
  EngineStats *stats = &w->log.stats;
  AheadCounts before = counts_now(w);
  uint64_t issues = t->core.issues;
  ahead->doubled = 0;
  memset(ahead->issues, 0, sizeof ahead->issues);
  if (ahead->is.with_turns)
    memset(ahead->overwritten.turns.groups, 0, sizeof ahead->overwritten.turns.groups);
  v->is_stretch = true;
  uint64_t mistake = LIKELY(!ahead->is.with_turns) ? take_steps(v, end, last)
                                                    : take_turns(v, end, last);
  v->is_stretch = false;
  set_step(v, ahead->from);
  unsigned count = issues_count_all(ahead->issues);
  ahead->groups = (uint8_t)(stats->groups - before.groups);
  ahead->elements_done = (uint16_t)(stats->elements - before.elements);
  ahead->bank = (uint16_t)(stats->stalls[STALL_BANK] - before.bank);
  for (unsigned i = 0; i < TRUST_COUNT; i++)
    ahead->paid[i] = (uint16_t)(stats->paid[i] - before.paid[i]);
  if (queue_of(ahead) != NO_QUEUE)
    ahead->sent = (uint8_t)(t->queues[ahead->queue].output.count - ahead->sent);
  stats->instructions = before.instructions + count + ahead->doubled - ahead->groups;
  stats->active_tile_cycles += count;
  t->core.issues = issues + count + ahead->doubled;
  t->is_ahead = count != 0;
  return mistake;
}

/* ---- a stretch: back to its beginning ------------------------------------------------------ */

/* Takes the results of the stretch that are still in its output queue out of it.  Returns how many
 * the router has taken before. */
static unsigned take_back_results(FastTile *t)
{
  const FastAhead *ahead = t->ahead;
  if (queue_of(ahead) == NO_QUEUE)
    return 0;
  FastQueue *q = &t->queues[ahead->queue].output;
  unsigned left = q->count < ahead->sent ? q->count : ahead->sent;
  q->count = (uint16_t)(q->count - left);
  queue_note(q, ahead->use);
  return ahead->sent - left;
}

/* The router has taken so many of the results once already. */
static void drop_results(FastTile *t, unsigned queue, unsigned n)
{
  if (queue == NO_QUEUE)
    return;
  FastQueues *q = &t->queues[queue];
  for (; n; n--)
    queue_take(q, true);
  if (!q->output.count)
    t->output_any &= (uint16_t)~(1u << queue);
}

static void restore_dsrs(Visit *v)
{
  FastTile *t = v->tile;
  FastAhead *ahead = t->ahead;
  for (unsigned i = 0; t->core.dsrs.own && i < ahead->n_dsrs; i++)
    tile_own_dsrs(&v->turn)[ahead->place[i]] = *dsr_before(ahead, i);
}

/* The counts are as if the stretch had not been. */
static void uncount_stretch(FastWorker *w, FastTile *t)
{
  const FastAhead *ahead = t->ahead;
  EngineStats *stats = &w->log.stats;
  unsigned count = issues_count_all(ahead->issues);
  stats->instructions -= count + ahead->doubled - ahead->groups;
  stats->groups -= ahead->groups;
  stats->elements -= ahead->elements_done;
  stats->stalls[STALL_BANK] -= ahead->bank;
  for (unsigned i = 0; i < TRUST_COUNT; i++)
    stats->paid[i] -= ahead->paid[i];
  stats->active_tile_cycles -= count;
  t->core.issues -= count + ahead->doubled;
}

/* The operation in which the stretch has begun is as it was. */
static void restore_operation(FastWorker *w, FastTile *t)
{
  const FastAhead *ahead = t->ahead;
  if (!ahead->is.in_operation)
    return;
  FastRun *whole = fast_piece_alloc(w, PIECE_WORK);
  *whole = *ahead->operation;
  t->core.threads[MAIN_THREAD] = (Thread){.run = &whole->run, .plain = 1,
                                          .ready = ahead->from + ahead->group_ready};
  t->core.vectors |= 1u << MAIN_THREAD;
  t->plain_threads |= 1u << MAIN_THREAD;
}

/* The thread is at the beginning of the stretch. */
static void restore_thread(Visit *v)
{
  FastTile *t = v->tile;
  FastAhead *ahead = t->ahead;
  drop_operation(v);
  restore_operation(v->worker, t);
  t->core.regs = ahead->regs;
  t->core.pc = ahead->pc;
  t->core.ready = ahead->from + ahead->ready;
  t->core.task = ahead->task;
  t->core.running = true;
  t->core.overlaps = ahead->is.overlapping;
  t->core.waits = ahead->is.waiting;
}

/* Undoes the steps of the stretch from `cycle` on: all of them, and then those before once more. */
static RARE void undo_stretch(Visit *v, uint64_t cycle)
{
  FastTile *t = v->tile;
  FastAhead *ahead = t->ahead;
  uncount_stretch(v->worker, t);
  restore_thread(v);
  undo_stores(&ahead->overwritten.stores, &t->core);
  restore_dsrs(v);
  unsigned queue = queue_of(ahead), taken = take_back_results(t);
  begin_stretch(&t->core, ahead);
  repeat_accesses(t);
  ahead->began = SCALAR_CYCLES;
  if (ahead->is.in_operation)
    keep_places(t);
  else
    ahead->queue = NO_QUEUE;
  run_stretch(v, cycle, ahead->from + SCALAR_CYCLES);
  drop_results(t, queue, taken);
  drop_accesses(t);
}

/* ---- a stretch ----------------------------------------------------------------------------- */

/* The thread's next instruction is none for a stretch. */
static bool is_stretch_empty(const FastEngine *e, const FastTile *t)
{
  const ScalarCode *code = code_now(e, &t->core);
  if (!code || !code->insn)
    return true;
  if (!(code->odd & SCALAR_STOPS))
    return false;
  bool beside = t->core.vectors & ~(1u << MAIN_THREAD);
  switch ((int)insn_info[code->insn->op].cost) {
  case COST_DSR_LOAD: case COST_DSR_UPDATE: return false;
  case COST_VECTOR: return !may_start_ahead(t, vector_of(e, t, code));
  case COST_ENDTASK: return !may_end(e, &t->core);
  case COST_CONFIG: return beside || !is_known_access(e, t, code->insn);
  case COST_COUNTER: return beside || !is_time_stamp(t, code->insn);
  default: return !is_step_of_tile(code->insn->op) || (beside && code->insn->op != OP_dsrget);
  }
}

/* Nothing else notes the last change of a task that is over. */
static void note_end(FastWorker *w, const FastAhead *ahead)
{
  uint64_t last = ahead->from + (uint64_t)issues_last(ahead->issues, SCALAR_CYCLES);
  if (last >= w->log.last_change)
    w->log.last_change = last + 1;
}

/* An instruction beside an operation may be later than all groups: what is ahead would end too
 * soon. Returns the cycle behind these then, else NEVER. */
static RARE uint64_t behind_groups(const Visit *v)
{
  const FastAhead *ahead = v->tile->ahead;
  uint64_t next = ahead->from + (uint64_t)(issues_last(ahead->issues, SCALAR_CYCLES) + 1);
  return v->last_beside >= next ? next : NEVER;
}

/* The main thread can begin a stretch. */
static bool may_begin(const Visit *v)
{
  const Tile *core = &v->tile->core;
  return core->vectors & 1u << MAIN_THREAD || !is_stretch_empty(v->engine, v->tile);
}

/* The issues of the stretch that has been carried out are among the counts. */
static void note_stretch(FastWorker *w, const FastAhead *ahead)
{
  uint64_t first = ahead->from + issues_first(ahead->issues);
  uint64_t last = ahead->from + issues_last_of_all(ahead->issues);
  w->ahead_last = last > w->ahead_last ? last : w->ahead_last;
  if (first < w->log.stats.first_event)
    w->log.stats.first_event = first;
}

bool fast_ahead(Visit *v)
{
  FastTile *t = v->tile;
  FastWorker *w = v->worker;
  uint64_t from = v->turn.cycle;
  FastBeside beside;
  if (!may_begin(v) || !looks_beside(v, &beside))
    return false;               /* nothing of an earlier stretch issues from now on */
  if (t->core.ready < from)
    t->core.ready = from;
  if (w->log.stats.last_event + 1 < from)       /* else there has been a later event */
    settle_last(w, t);
  uint64_t end = ahead_end(v->engine, from);
  end = t->core.pending_due < end ? t->core.pending_due : end;
  begin_stretch(&t->core, begin_ahead(v, from, end));
  if (UNLIKELY(t->ahead->is.in_operation))
    keep_operation(w, t, t->ahead);
  else
    t->ahead->queue = NO_QUEUE;
  end = ahead_aim(v, from, end);
  v->last_beside = 0;
  uint64_t mistake = run_stretch(v, end, end);
  uint64_t behind = UNLIKELY(v->last_beside) ? behind_groups(v) : NEVER;
  if (UNLIKELY(mistake != NEVER || behind != NEVER))
    undo_stretch(v, mistake < behind ? mistake : behind);
  if (!t->is_ahead)
    return false;
  t->core.last_issued[t->core.main_level] = MAIN_THREAD;
  if (!t->core.running)
    note_end(w, t->ahead);
  note_stretch(w, t->ahead);
  return t->ahead->issues[0] & 1;
}

/* ---- vector operations --------------------------------------------------------------------- */

/* What the next elements overwrite. */
static void save_elements(const FastTile *t, const FastPlain *p, FastElements *elements, unsigned n)
{
  const uint8_t *at = t->core.mem.bytes + p->address[PLAIN_DEST];
  elements->n = n;
  for (unsigned i = 0; i < n; i++)
    memcpy(&elements->before[i], at + (ptrdiff_t)i * p->step[PLAIN_DEST], p->bytes);
}

void plain_ahead(Visit *v)
{
  FastWorker *w = v->worker;
  FastTile *t = v->tile;
  const Thread *th = &t->core.threads[MAIN_THREAD];
  uint64_t from = v->turn.cycle, end = ahead_end(v->engine, from), next = th->ready;
  const FastPlain *p = thread_plain(th);
  FastBeside beside;
  if (next >= end || !is_between_variables(p) || !looks_beside(v, &beside) ||
      !is_unfenced(v->beside, p, p->remaining))
    return;
  settle_last(w, t);
  FastAhead *ahead = begin_ahead(v, from, end);
  uint64_t waits;
  unsigned groups = find_groups(v->engine, p, ahead, ahead_aim(v, from, end),
                                (unsigned)(room_of(ahead) / sizeof(uint32_t)), &next, &waits);
  save_elements(t, p, &ahead->overwritten.elements, groups * p->width);
  do_groups(v, groups, groups * p->width, next, waits);
  t->core.issues += groups;
  w->log.stats.active_tile_cycles += groups;
  t->is_ahead = groups != 0;
  note_last(w, ahead, SCALAR_CYCLES);
}

/* Takes back the group that was issued last, in `cycle`. */
static void undo_group(FastWorker *w, FastTile *t, uint64_t cycle)
{
  Thread *th = &t->core.threads[MAIN_THREAD];
  FastPlain *p = thread_plain(th);
  FastElements *elements = &t->ahead->overwritten.elements;
  for (unsigned i = 0; i < p->width; i++) {
    for (unsigned k = 0; k < PLAIN_STREAMS; k++)
      if (p->memory & 1u << k)
        p->address[k] = (uint16_t)(p->address[k] - p->step[k]);
    memcpy(t->core.mem.bytes + p->address[PLAIN_DEST], &elements->before[--elements->n], p->bytes);
  }
  p->remaining += p->width;
  th->ready = cycle;
  w->log.stats.groups--;
  w->log.stats.elements -= p->width;
  w->log.stats.stalls[STALL_BANK] -= plain_conflict(w->engine, p);
}

static void undo_groups(FastWorker *w, FastTile *t, uint64_t cycle)
{
  const FastAhead *ahead = t->ahead;
  uint64_t end = SCALAR_CYCLES, first = cycle - ahead->from;
  for (int last; (last = issues_last(ahead->issues, end)) >= 0 && (uint64_t)last >= first;
       end = (uint64_t)last)
    undo_group(w, t, ahead->from + (uint64_t)last);
}

/* ---- back to a cycle ----------------------------------------------------------------------- */

/* The operation's group that is due in `cycle` has waited for its turn up to now: that is counted
 * when the wait is over. */
static void leave_waiting(FastWorker *w, FastTile *t, uint64_t cycle)
{
  Thread *th = &t->core.threads[MAIN_THREAD];
  const FastAhead *ahead = t->ahead;
  uint64_t at = cycle - ahead->from, n = 0;
  if (!(t->core.vectors & 1u << MAIN_THREAD) || th->ready != cycle || at > SCALAR_CYCLES)
    return;
  while (n < at && is_taken(ahead, at - n - 1))
    n++;
  if (!n)
    return;
  w->log.stats.stalls[STALL_ISSUE] -= n;
  th->stall = STALL_ISSUE;
  th->stall_since = cycle - n;
}

static void undo_ahead(Visit *v, uint64_t cycle)
{
  FastWorker *w = v->worker;
  FastTile *t = v->tile;
  const FastAhead *ahead = t->ahead;
  uint64_t end = cycle - ahead->from;
  end = end < SCALAR_CYCLES ? end : SCALAR_CYCLES;
  unsigned count = issues_count(ahead->issues, end);
  FastBeside beside;
  note_last(w, ahead, end);
  if (!count)
    return;
  if (!looks_beside(v, &beside))
    ICE("a microthread could have disturbed what was done ahead");
  /* The steps that are repeated kept away from what the operations beside them touch.  Less is
     known of that now: the rest of an operation in several dimensions counts as all of the
     memory. */
  beside.fences.n = 0;
  FastTile *before = fast_count_as(w, t);
  if (ahead->is.stretch) {
    undo_stretch(v, cycle);
  } else {
    t->core.issues -= count;
    w->log.stats.active_tile_cycles -= count;
    undo_groups(w, t, cycle);
  }
  leave_waiting(w, t, cycle);
  settle_until(w, t, end);
  t->is_ahead = false;
  fast_count_as(w, before);
}

/* ---- turns of microthreads ----------------------------------------------------------------- */

/* There is no room to be so late. */
static void back_to_now(Visit *v)
{
  uint64_t now = v->turn.cycle;
  undo_ahead(v, now);
  v->worker->ahead_less = true;
  v->worker->turned_back++;
  set_step(v, now);
}

bool fast_has_turns(const FastTile *t) { return t->ahead->is.with_turns; }

/* The last group would come to be in a cycle in which the next instruction issues beside it, if it
 * does not wait for the group: the thread has to look at that in its cycle. */
static bool meets_beside(const FastTile *t, unsigned at, uint64_t last)
{
  const Tile *core = &t->core;
  return core->vectors & 1u << MAIN_THREAD && core->overlaps && !core->waits &&
         !has_begun_since(t->ahead, at) && core->ready <= last;
}

bool fast_delay_ahead(Visit *v)
{
  FastAhead *ahead = v->tile->ahead;
  FastTurns *turns = &ahead->overwritten.turns;
  unsigned at = (unsigned)(v->turn.cycle - ahead->from);
  unsigned last = issues_last_of_all(ahead->issues) + 1;
  if (last >= ahead->end || meets_beside(v->tile, at, ahead->from + last)) {
    back_to_now(v);
    return false;
  }
  v->worker->turns_taken++;
  if (issues_has(turns->groups, at))
    v->worker->log.stats.stalls[STALL_ISSUE]++;
  turns->taken[at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
  delay_steps(v, at);
  if (!v->tile->core.running)
    note_end(v->worker, ahead);
  if (ahead->from + last > v->worker->ahead_last)       /* it was a cycle earlier */
    v->worker->ahead_last = ahead->from + last;
  return true;
}

/* ---- registers of the router ---------------------------------------------------------------- */

void fast_read_again(Visit *v)
{
  FastTile *t = v->tile;
  uint64_t now = v->turn.cycle;
  if (!has_read_since(t, now + 1))
    return;
  undo_ahead(v, now + 1);
  t->is_ahead = issues_count_all(t->ahead->issues) != 0;
  v->worker->ahead_less = true;
  v->worker->read_again++;
  set_step(v, now);
}

/* ---- the end of the run -------------------------------------------------------------------- */

/* The worker may have visited any tile. */
static void find_last_issue(FastWorker *w)
{
  const FastEngine *e = w->engine;
  w->ahead_last = 0;
  for (unsigned k = 0; k < e->n_workers; k++) {
    const uint32_t *touched = e->workers[k].touched;
    for (size_t i = 0; i < arrlenu(touched); i++)
      if (e->tiles[touched[i]].is_ahead)
        note_last(w, e->tiles[touched[i]].ahead, SCALAR_CYCLES);
  }
}

uint64_t fast_ahead_last(FastWorker *w)
{
  if (w->ahead_less)
    find_last_issue(w);
  w->ahead_less = false;
  return w->ahead_last >= w->engine->phase ? w->ahead_last : 0;
}

void fast_ahead_undo(FastEngine *e, uint64_t cycle)
{
  for (unsigned k = 0; k < e->n_workers; k++) {
    FastWorker *w = &e->workers[k];
    Visit v = start_visits(w);
    w->ahead_last = 0;
    if (w->log.stats.first_event >= cycle)
      w->log.stats.first_event = NEVER;
    for (size_t i = 0; i < arrlenu(w->touched); i++) {
      v.tile = &e->tiles[w->touched[i]];
      v.turn.tile = &v.tile->core;
      if (v.tile->is_ahead)
        undo_ahead(&v, cycle);
    }
  }
}
