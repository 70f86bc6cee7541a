/* What the files of a tile's turn share: findings and events, what happens to its tasks, its
 * queues. */
#include "emu/tile/tile_internal.h"

#include "stb_ds.h"

#include <string.h>

static bool is_set(uint64_t bits, unsigned index) { return bits >> index & 1; }

/* ---- findings and events --------------------------------------------------------------------- */

void turn_fault(Turn *turn, Fault fault)
{
  fault.cycle = turn->cycle;
  fault.tile = turn->tile->index;
  arrput(turn->log->faults, fault);
}

void turn_tile_fault(Turn *turn, uint16_t pc, FaultKind kind, uint32_t value)
{
  turn_fault(turn, (Fault){.kind = kind, .color = NO_COLOR, .pc = pc, .value = value});
}

void turn_record(Turn *turn, const TraceSink *sink, TraceEvent event)
{
  uint32_t tile = turn->tile->index;
  if (!sink || !trace_wants(sink, event.kind, turn->cycle) ||
      !trace_covers(sink, turn->program, tile))
    return;
  event.cycle = turn->cycle;
  event.tile = tile;
  arrput(turn->log->events, event);
}

/* ---- queues ---------------------------------------------------------------------------------- */

unsigned input_capacity(const Program *program, unsigned queue)
{
  return program->machine->input_queue_depth[queue] + program->timing.ramp_down;
}

unsigned output_capacity(const Program *program, unsigned queue)
{
  return program->machine->output_queue_depth[queue] + program->timing.ramp_up;
}

uint8_t tile_queues_filled(const Turn *turn, bool output)
{
  unsigned any = 0;
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    any |= turn->port->count(turn, output, q) ? 1u << q : 0;
  return (uint8_t)any;
}

QueueHead tile_take_input(Turn *turn, unsigned queue)
{
  QueueHead w = turn->port->head(turn, queue, 0);
  turn->port->take(turn, queue);
  turn_event(turn, .kind = EV_POP, .queue = (uint8_t)queue, .color = w.color,
             .payload = w.payload, .control = w.control);
  return w;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static void add_pending(Tile *t, TileAction action)
{
  arrput(t->pending, action);
  if (action.cycle < t->pending_due)
    t->pending_due = action.cycle;
}

void tile_action_later(Turn *turn, uint64_t cycle, Action action, uint16_t pc, bool by_fifo)
{
  if (action.kind == ACT_ACTIVATE || action.kind == ACT_UNBLOCK)
    add_pending(turn->tile, (TileAction){.cycle = cycle, .action = action, .by_fifo = by_fifo,
                                         .value = pc});
}

void tile_priority_later(Turn *turn, uint16_t address, uint16_t value)
{
  uint64_t cycle = turn->cycle + turn->program->timing.priority_update;
  add_pending(turn->tile, (TileAction){.cycle = cycle, .address = address, .value = value});
}

/* For reports. */
static void note_blocked(Tile *t, IdKind kind, unsigned id)
{
  if (!t->blocked_at) {
    t->blocked_at = base_malloc(BLOCK_PLACES * sizeof *t->blocked_at);
    memset(t->blocked_at, 0xff, BLOCK_PLACES * sizeof *t->blocked_at);
  }
  t->blocked_at[block_place(kind, id)] = t->pc;
}

DsrState *tile_own_dsrs(Turn *turn)
{
  Dsrs *dsrs = &turn->tile->dsrs;
  const DsrState *shared = dsrs->own ? dsrs->own : dsrs->map->start;
  if (dsrs->own && !turn->tile->shares_dsrs)
    return dsrs->own;
  dsrs->own = turn->port->dsrs_alloc(turn, dsrs->map->n);
  turn->tile->shares_dsrs = false;
  return memcpy(dsrs->own, shared, dsrs->map->n * sizeof *dsrs->own);
}

/* On wse3 an input queue and the data task id of the same number share one blocked bit; on
 * wse2 the data task id is the queue's color. */
void tile_set_blocked(Turn *turn, IdKind kind, unsigned id, bool blocked)
{
  Tile *t = turn->tile;
  turn_event(turn, .kind = blocked ? EV_BLOCK : EV_UNBLOCK, .id_kind = (uint8_t)kind,
             .id = (uint8_t)id);
  if (kind == ID_MICROTHREAD) {
    uint8_t mask = (uint8_t)(1u << id);
    t->paused = (uint8_t)(blocked ? t->paused | mask : t->paused & ~mask);
    if (blocked)
      note_blocked(t, kind, id);
    return;
  }
  if (kind == ID_INPUT_QUEUE && turn->program->image->arch == ARCH_WSE2)
    id = t->mem.cls->image->input[id].color;
  if (blocked)
    note_blocked(t, ID_TASK, id);
  uint64_t mask = UINT64_C(1) << id;
  t->blocked = blocked ? t->blocked | mask : t->blocked & ~mask;
}

void tile_activate(Turn *turn, unsigned id, uint16_t pc, bool is_state)
{
  Tile *t = turn->tile;
  if (id >= MAX_TASK_IDS || !is_set(t->mem.cls->local_ids, id)) {
    turn_tile_fault(turn, pc == PC_RETURN ? t->pc : pc,
                    id < MAX_TASK_IDS ? FAULT_TASK_ID : FAULT_ID_RANGE, id);
    return;
  }
  bool merges = is_set(t->active, id) && !is_state;
  record_activation(&t->record, id, pc, merges);
  if (merges && (turn->checks & CHECKS_TASKS))
    turn_fault(turn, (Fault){.kind = FAULT_ACTIVATION_MERGED, .color = NO_COLOR, .pc = pc,
                             .value = id, .value2 = t->record.before_pc});
  t->active |= UINT64_C(1) << id;
  turn_event(turn, .kind = EV_ACTIVATE, .id_kind = ID_TASK, .id = (uint8_t)id);
}

void tile_tear_down(Turn *turn, unsigned color)
{
  Tile *t = turn->tile;
  unsigned id = turn->program->machine->teardown_task;
  t->torn_down |= 1u << color;
  t->record.to_be_ended = true;
  if (!t->mem.cls || !is_set(t->mem.cls->local_ids, id))
    return;
  if (turn->checks & CHECKS_ORDER)
    order_wake(turn, id);
  t->active |= UINT64_C(1) << id;
  turn_event(turn, .kind = EV_ACTIVATE, .id_kind = ID_TASK, .id = (uint8_t)id);
}

void tile_watch_flush(Tile *t)
{
  if (registers_flushing(&t->registers))
    t->pending_due = 0;
}

/* The main thread is free for a data task, and a running operation takes its wavelets. */
static void check_contested(Turn *turn)
{
  Tile *t = turn->tile;
  for (unsigned bits = t->vectors; bits; bits &= bits - 1) {
    VecRun *run = t->threads[__builtin_ctz(bits)].run;
    const VecStream *s = run->contested ? NULL
                                        : vec_contested_stream(run, t->mem.cls,
                                                               turn->program->image->arch,
                                                               t->blocked);
    if (!s)
      continue;
    run->contested = true;
    turn_fault(turn, (Fault){.kind = FAULT_QUEUE_TASK, .color = s->color, .pc = run->pc,
                             .value = fault_queue(false, s->queue), .value2 = run->pc});
  }
}

void tile_end_main(Turn *turn)
{
  Tile *t = turn->tile;
  if (t->readers)
    check_contested(turn);
  if (t->task != TASK_NONE)
    turn_event(turn, .kind = EV_TASK_END, .task = (TaskKind)t->task, .id = t->task_id);
  t->running = false;
  t->task = TASK_NONE;
  t->ready = turn->cycle + turn_pay(turn, TIMING_task_end_to_pick);
}
