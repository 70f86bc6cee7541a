/* Fast engine, one step: the part of a visit that is the tile's own: the short way for a lone
 * operation, and else that of emu/tile. */
#include "emu/fast/step.h"

/* Queues whose heads the scheduler has to look at: while it does not choose a task, those of
 * control wavelets, which it may drop; else all but those whose data an operation takes.  Of them
 * those whose heads can be seen. */
static unsigned scheduler_queues(const FastTile *t, uint64_t now)
{
  bool picks = !t->core.running && t->core.ready <= now;
  unsigned taken = picks ? t->core.readers : 0xffffu;
  unsigned queues = t->input_any & (unsigned)~(taken & ~(unsigned)t->input_control);
  for (unsigned bits = queues; bits; bits &= bits - 1)
    if (!wavelet_seen(input_at(&t->queues[__builtin_ctz(bits)], 0)->meta, now))
      queues &= ~(bits & -bits);
  return queues;
}

/* Whether the main thread has no operation, and its next instruction may be one ahead of its
 * cycle. */
static bool is_main_free(const FastTile *t)
{
  return t->core.running && !(t->core.vectors & 1u << MAIN_THREAD) && !t->attended &&
         t->core.pending_due != 0 && t->core.ready != NEVER;
}

/* Whether there is anything to plan: an operation, an instruction, a task to start, a wavelet for
 * the scheduler. */
static bool has_turn(const FastTile *t, uint64_t now, unsigned queues)
{
  const Tile *core = &t->core;
  if (core->vectors || queues)
    return true;
  return core->ready <= now &&
         (core->running || core->launch_pending ||
          (core->active & ~core->blocked & core->mem.cls->local_ids));
}

static HOT void change_stall(Visit *v, unsigned thread, StallCause cause)
{
  if (cause == v->tile->core.threads[thread].stall)
    return;
  if (FAST_TRACED)
    tile_change_stall(&v->turn, thread, cause);
  else
    tile_count_stall(&v->turn, thread, cause);
}

STEP HOT void note_stall(Visit *v, StallCause cause)
{
  change_stall(v, MAIN_THREAD, cause);
}

/* The main thread's plain operation is the only one, and there is nothing for the scheduler: the
 * group, if there can be one, is planned and done in one go. */
STEP HOT bool is_lone(const FastTile *t)
{
  return t->core.vectors == 1u << MAIN_THREAD && t->core.threads[MAIN_THREAD].plain &&
         t->core.running && !(t->input_any & t->input_control) &&
         (!t->core.overlaps || t->core.waits);
}

/* A wavelet at the head of one of those input queues or of an output queue can be seen in the next
 * cycle. */
static bool sees_wavelet(const FastTile *t, unsigned inputs, uint64_t now)
{
  for (unsigned bits = inputs; bits; bits &= bits - 1)
    if (wavelet_seen(input_at(&t->queues[__builtin_ctz(bits)], 0)->meta, now + 1))
      return true;
  for (unsigned bits = t->output_any; bits; bits &= bits - 1)
    if (wavelet_seen(output_at(&t->queues[__builtin_ctz(bits)], 0)->meta, now + 1))
      return true;
  return false;
}

/* No task can start in the next cycle but by a wavelet. */
static bool is_idle(const Tile *core)
{
  return !core->mem.cls || (!core->running && !core->launch_pending &&
                            !(core->active & ~core->blocked & core->mem.cls->local_ids));
}

/* No operation does a group in the next cycle, nor waits for something else than now: its time has
 * not come, or it waits for a wavelet.  *wait: one does that. */
static bool are_threads_resting(const FastTile *t, uint64_t now, bool *wait)
{
  if (t->core.paused)
    return false;
  for (unsigned bits = t->core.vectors; bits; bits &= bits - 1) {
    const Thread *th = &t->core.threads[__builtin_ctz(bits)];
    bool later = th->ready > now + 1 && th->stall == STALL_NONE;
    if (!later && th->stall != STALL_INPUT)
      return false;
    *wait |= !later;
  }
  return true;
}

/* The main thread neither issues an instruction nor starts a task in the next cycle, but by a
 * wavelet. */
static bool is_main_resting(const Tile *core, uint64_t now)
{
  if (core->vectors & 1u << MAIN_THREAD)
    return is_main_in_operation(core);
  return core->ready > now + 1 || is_idle(core);
}

/* Nothing happens at the tile before its main thread goes on or a wavelet is seen, in a later cycle
 * than the next, unless another wavelet comes. */
static HOT bool is_resting(const FastTile *t, uint64_t now)
{
  const Tile *core = &t->core;
  bool wait = false;
  if ((t->occupied && !(t->put_off & PUT_OFF_SLOT)) || core->pending_due <= now + 1)
    return false;
  if (!is_main_resting(core, now) || (core->vectors && !are_threads_resting(t, now, &wait)))
    return false;
  bool picks = !core->running && core->ready <= now + 1;
  return !sees_wavelet(t, wait || picks ? t->input_any : t->input_any & t->input_control, now) &&
         !(t->attended && host_words_there(&t->host->posted, now + 1));
}

/* The main thread's operation goes on group by group, and the scheduler has nothing to do. */
static HOT bool has_plain_operation(const FastTile *t)
{
  return t->core.threads[MAIN_THREAD].plain && t->core.running &&
         !(t->input_any & t->input_control) && (!t->core.overlaps || t->core.waits);
}

enum { AHEAD_KEPT = 48 };       /* elements of an operation that a stretch mostly has room for */

/* The main thread goes on beside its operation, and both are done with this cycle.  A long
 * operation goes ahead by itself when only the next one is left beside it. */
static bool has_overlapping_operation(const FastTile *t, uint64_t now)
{
  const Tile *core = &t->core;
  const Thread *th = &core->threads[MAIN_THREAD];
  if (LIKELY(!core->overlaps) || !th->plain || !core->running)
    return false;
  bool beside = core->waits ? thread_plain(th)->remaining <= AHEAD_KEPT : core->ready > now;
  return beside && th->stall == STALL_NONE && th->ready > now && core->pending_due != 0;
}

/* What follows this cycle's part of the main thread, as far as no other unit can see it. */
static HOT void go_ahead(Visit *v)
{
  FastTile *t = v->tile;
  if (FAST_TRACED || t->attended)
    return;
  if (!(t->core.vectors & 1u << MAIN_THREAD)) {
    if (is_main_free(t) && t->core.ready > v->turn.cycle)
      fast_ahead(v);
    return;
  }
  bool overlaps = has_overlapping_operation(t, v->turn.cycle);
  if (overlaps)
    fast_ahead(v);
  if ((!overlaps || !t->is_ahead) && has_plain_operation(t))
    plain_ahead(v);
}

/* The main thread has issued already what it does in this cycle. */
static HOT bool issues_ahead(const Visit *v)
{
  return !FAST_TRACED && v->tile->is_ahead && fast_issues_ahead(v->tile, v->turn.cycle);
}

/* The main thread does a group of its plain operation. */
static HOT void group_main(Visit *v)
{
  Tile *core = &v->tile->core;
  const FastPlain *p = thread_plain(&core->threads[MAIN_THREAD]);
  if (p->input == NO_QUEUE && p->output == NO_QUEUE)
    v->inside = true;
  else
    v->turn.changed = true;
  plain_group(v, MAIN_THREAD);
  if (!(core->vectors & 1u << MAIN_THREAD) && core->ready <= v->turn.cycle)
    v->turn.changed = true;     /* it has gone on beside its operation, and does so at once */
  go_ahead(v);
}

/* Returns whether the tile issues; visit_any likewise. */
static HOT bool visit_lone(Visit *v)
{
  FastTile *t = v->tile;
  Thread *th = &t->core.threads[MAIN_THREAD];
  if (th->ready > v->turn.cycle) {
    note_stall(v, STALL_NONE);
    return false;
  }
  StallCause cause = plain_waits(v, thread_plain(th));
  note_stall(v, cause);
  if (cause != STALL_NONE)
    return false;
  t->core.last_issued[t->core.main_level] = MAIN_THREAD;
  t->core.issues++;
  group_main(v);
  return true;
}

/* The main thread issues no instruction and starts no task. */
static bool is_main_waiting(const FastTile *t, uint64_t now)
{
  const Tile *core = &t->core;
  if (is_main_in_operation(core))
    return true;
  return core->ready > now ||
         (!core->running && is_idle(core) && !(t->input_any & ~core->readers));
}

/* Several operations run, all of them plain: the scheduler has only to choose between them. */
static bool has_plain_threads(const FastTile *t, uint64_t now)
{
  const Tile *core = &t->core;
  return core->vectors && !(core->vectors & ~(unsigned)t->plain_threads) && !core->paused &&
         !(t->input_any & t->input_control) && is_main_waiting(t, now);
}

/* The thread, whose output queue is full, need not look again before a wavelet leaves it. */
static void hold_thread(FastTile *t, unsigned thread, const FastPlain *p)
{
  if (p->input != NO_QUEUE || (t->held >> t->holds[p->output] & 1))
    return;                     /* it may come to wait for input; another one is held there */
  t->holds[p->output] = (uint8_t)thread;
  t->held |= (uint16_t)(1u << thread);
}

/* Why the thread does no group in this cycle. */
static HOT StallCause thread_waits(const Visit *v, unsigned thread)
{
  const Thread *th = &v->tile->core.threads[thread];
  const FastPlain *p = thread_plain(th);
  StallCause cause = p->per_wavelet ? packed_cause(v, p) : plain_waits(v, p);
  if (cause == STALL_OUTPUT)
    hold_thread(v->tile, thread, p);
  return cause;
}

/* The ready ones among these threads.  causes: why each of them does no group, STALL_NONE if it is
 * not due.  *changes: those that have another cause than before. */
static HOT unsigned find_ready(const Visit *v, unsigned threads, uint8_t *causes,
                               unsigned *changes)
{
  const Tile *core = &v->tile->core;
  unsigned ready = 0;
  *changes = 0;
  for (unsigned bits = threads; bits; bits &= bits - 1) {
    unsigned i = (unsigned)__builtin_ctz(bits), here = bits & -bits;
    bool due = core->threads[i].ready <= v->turn.cycle;
    StallCause cause = due ? thread_waits(v, i) : STALL_NONE;
    if (due && cause == STALL_NONE)
      ready |= here;
    if (cause != core->threads[i].stall)
      *changes |= here;
    causes[i] = (uint8_t)cause;
  }
  return ready;
}

/* The threads that have an operation and have to be looked at: not those of which it is known that
 * they are ready or wait, nor the main thread while it only works ahead of its cycle. */
static HOT unsigned threads_to_look_at(const Visit *v)
{
  const FastTile *t = v->tile;
  const Thread *first = &t->core.threads[MAIN_THREAD];
  unsigned rests = first->ready > v->turn.cycle && first->stall == STALL_NONE;
  return t->core.vectors & ~(unsigned)(t->held | t->able | rests << MAIN_THREAD);
}

/* The threads that were ready and did not issue stay so: only its own groups take from a thread's
 * room or wavelets. */
static HOT void note_able(FastTile *t, unsigned threads)
{
  t->able = t->shares ? 0 : (uint16_t)threads;
}

/* The microthread issues rather than the main thread. */
static bool is_before_main(const Tile *core, unsigned thread)
{
  return thread_level(core, thread) > core->main_level;
}

/* The one among them that issues in the main thread's place; -1: there is none. */
static HOT int choose_before_main(const FastTile *t, unsigned ready)
{
  if (!ready || !fast_has_turns(t))
    return -1;
  int best = tile_choose_thread(&t->core, ready);
  return is_before_main(&t->core, (unsigned)best) ? best : -1;
}

/* Returns whether the tile issues. */
static bool commit_plan(Visit *v, TilePlan *plan)
{
  tile_commit(&v->turn, plan);
  bool starts = plan->launch || plan->pick != TASK_NONE;
  if (starts || plan->beside || plan->thread == MAIN_THREAD)
    go_ahead(v);
  return plan->thread >= 0;
}

static RARE bool visit_planned(Visit *v, unsigned queues)
{
  TilePlan plan;
  tile_plan(&v->turn, &plan, queues);
  return commit_plan(v, &plan);
}

/* The only operation is a microthread's, and may go on. */
static HOT bool is_microthread_alone(const Visit *v)
{
  unsigned threads = v->tile->core.vectors;
  return !(threads & ((threads - 1) | 1u << MAIN_THREAD)) && !v->tile->held && !issues_ahead(v);
}

/* Such a tile: what visit_threads does. */
static HOT bool visit_microthread(Visit *v, unsigned thread)
{
  FastTile *t = v->tile;
  Tile *core = &t->core;
  bool due = core->threads[thread].ready <= v->turn.cycle;
  bool is_able = t->able >> thread & 1;
  StallCause cause = due && !is_able ? thread_waits(v, thread) : STALL_NONE;
  t->able = 0;
  change_stall(v, thread, cause);
  if (!due || cause != STALL_NONE)
    return false;
  core->last_issued[thread_level(core, thread)] = (uint8_t)thread;
  core->issues++;
  v->turn.changed = true;
  plain_group(v, thread);
  return true;
}

/* What tile_plan and tile_commit do with them. */
static RARE bool visit_threads(Visit *v)
{
  FastTile *t = v->tile;
  Tile *core = &t->core;
  if (is_microthread_alone(v))
    return visit_microthread(v, (unsigned)__builtin_ctz(core->vectors));
  uint8_t causes[TILE_THREADS];
  unsigned changes, ready = find_ready(v, threads_to_look_at(v), causes, &changes);
  changes |= ready;             /* one of them issues, the others do not */
  ready |= t->able;
  bool ahead = issues_ahead(v);
  int best = ahead ? choose_before_main(t, ready) : tile_choose_thread(core, ready);
  unsigned issues = best < 0 ? 0 : 1u << best;
  if (ahead && issues && !fast_delay_ahead(v)) {
    t->held = t->able = 0;
    return visit_planned(v, scheduler_queues(t, v->turn.cycle));
  }
  for (unsigned bits = changes | issues; bits; bits &= bits - 1) {
    unsigned i = (unsigned)__builtin_ctz(bits);
    unsigned cause = issues >> i & 1 ? STALL_NONE : ready >> i & 1 ? STALL_ISSUE : causes[i];
    change_stall(v, i, (StallCause)cause);
  }
  if (best < 0) {
    note_able(t, ready);
    return false;
  }
  core->last_issued[thread_level(core, (unsigned)best)] = (uint8_t)best;
  core->issues++;
  if (best == MAIN_THREAD) {
    group_main(v);
  } else {
    v->turn.changed = true;
    plain_group(v, (unsigned)best);
  }
  bool is_over = !(core->vectors & issues);
  note_able(t, is_over ? 0 : ready & ~issues);
  return true;
}

/* The main thread does what it has to do from now on.  False: the next instruction is none for
 * that, and nothing has been done. */
static bool visit_stretch(Visit *v)
{
  const FastTile *t = v->tile;
  if (FAST_TRACED || !is_main_free(t) || t->core.ready > v->turn.cycle || !fast_ahead(v))
    return false;
  v->inside = true;
  return true;
}

/* The main thread has a step in this cycle: no microthread issues, unless it ranks above. */
static void leave_to_main(Visit *v, TilePlan *plan, unsigned queues)
{
  if (plan->thread < 0)
    return;
  if (is_before_main(&v->tile->core, (unsigned)plan->thread)) {
    if (!fast_delay_ahead(v))
      tile_plan(&v->turn, plan, queues);
    return;
  }
  plan->stalls[plan->thread] = STALL_ISSUE;
  plan->thread = -1;
  plan->is_group = false;
}

/* The main thread issues its instruction, and nothing else can happen at the tile. */
static bool visit_instruction(Visit *v)
{
  Tile *core = &v->tile->core;
  core->last_issued[core->main_level] = MAIN_THREAD;
  core->issues++;
  v->turn.changed = true;
  tile_issue(&v->turn);
  go_ahead(v);
  return true;
}

/* The tile is idle, and a wavelet is all that the scheduler has to look at: starts its data task.
 * False: it has none that may start. */
static HOT bool starts_data_task(Visit *v, unsigned queues)
{
  const Tile *core = &v->tile->core;
  unsigned queue = (unsigned)__builtin_ctz(queues);
  if (core->vectors || core->ready > v->turn.cycle || (queues & (queues - 1)) || !is_idle(core))
    return false;
  uint32_t meta = input_at(&v->tile->queues[queue], 0)->meta;
  uint8_t color = wavelet_field(meta);
  unsigned id = tile_channel_id(&v->turn, queue, color);
  if ((meta & META_CONTROL) || (core->blocked >> id & 1) || !core->mem.cls->data_task[id])
    return false;
  uint32_t payload = input_take(v, queue).payload;
  tile_start_task(&v->turn, TASK_DATA, id, queue, (QueueHead){.payload = payload, .color = color});
  go_ahead(v);
  return true;
}

/* The tile may start a task, has no operation, and no wavelet to look at: starts the local task.
 * False: the host launches a function. */
static HOT bool starts_local_task(Visit *v)
{
  const Tile *core = &v->tile->core;
  if (core->launch_pending)
    return false;
  tile_start_task(&v->turn, TASK_LOCAL, (unsigned)tile_next_local(core), NO_QUEUE, (QueueHead){0});
  go_ahead(v);
  return true;
}

static RARE bool visit_any(Visit *v)
{
  FastTile *t = v->tile;
  TilePlan plan;
  unsigned queues = scheduler_queues(t, v->turn.cycle);
  t->held = t->able = 0;
  if (!has_turn(t, v->turn.cycle, queues))
    return false;
  if (queues && starts_data_task(v, queues))
    return false;
  if (!queues && visit_stretch(v)) {    /* it is counted with its stretch */
    if (!(t->core.vectors & ~(1u << MAIN_THREAD)))
      return false;
    if (has_plain_threads(t, v->turn.cycle))
      return visit_threads(v);
  }
  if (!(queues | t->core.vectors) && t->core.ready <= v->turn.cycle) {
    if (t->core.running)
      return visit_instruction(v);
    if (starts_local_task(v))
      return false;
  }
  tile_plan(&v->turn, &plan, queues);
  if (issues_ahead(v))
    leave_to_main(v, &plan, queues);
  return commit_plan(v, &plan);
}

/* Out of the way of tiles with one operation or none: in the loop over tiles it slows them down by
 * up to half. */
static RARE bool visit_other(Visit *v)
{
  return has_plain_threads(v->tile, v->turn.cycle) ? visit_threads(v) : visit_any(v);
}

/* Without an operation the tile has a turn if an instruction is due, a task may start, or a control
 * wavelet may have to be dropped. */
static HOT bool has_turn_without(const FastTile *t, uint64_t now)
{
  const Tile *core = &t->core;
  if (core->running)
    return core->ready <= now || (t->input_any & t->input_control);
  return t->input_any || (core->ready <= now && !is_idle(core));
}

STEP HOT bool visit_tile(Visit *v)
{
  const FastTile *t = v->tile;
  if (!t->core.vectors)
    return has_turn_without(t, v->turn.cycle) && visit_any(v);
  return LIKELY(is_lone(t)) ? visit_lone(v) : visit_other(v);
}
