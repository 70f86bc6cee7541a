/* The words of a deadlock report for ends of chains: see deadlock.h. */
#include "emu/explain/explain_internal.h"
#include "emu/explain/deadlock.h"

#include <inttypes.h>
#include <string.h>

/* ---- ends ------------------------------------------------------------------------------------ */

static void print_ports(const Report *r, PortMask ports)
{
  const char *between = "";
  for (unsigned p = 0; p < PORT_COUNT; p++) {
    if (!(ports >> p & 1))
      continue;
    fprintf(r->out, "%s%s", between, port_name((Port)p));
    between = " and ";
  }
  if (!ports)
    fprintf(r->out, "nowhere");
}

/* A value is what differs between tiles that wait for the same reason. */
static void print_payload(const Report *r, uint32_t payload)
{
  if (!r->anonymous)
    fprintf(r->out, "0x%08x", payload);
}

/* Whose wavelets came this way, before the switch stood as it does. */
static void print_origins(Report *r, Unit end)
{
  const ImageColorConfig *config = program_color(r->program, end.tile, end.index);
  PortMask inputs = config ? report_inputs(config) : 0;
  Origin origin;
  for (unsigned p = 0; p < PORT_COUNT; p++) {
    if (!(inputs >> p & 1) || !report_origin(r, end.tile, (Port)p, end.index, &origin))
      continue;
    fprintf(r->out, "; from %s came ", r->anonymous ? "" : port_name((Port)p));
    report_use(r, origin.tile, origin.use);
    fprintf(r->out, " of ");
    report_tile(r, origin.tile);
  }
}

/* Who sends on the side that a control wavelet came from.  Wavelets do not carry their sender, and
 * it may have sent others since, so the report says what is known. */
static void print_mover(Report *r, uint32_t tile, unsigned color, Port from)
{
  Origin origin;
  if (!report_origin(r, tile, from, color, &origin))
    return;
  fprintf(r->out, "; there ");
  report_tile(r, origin.tile);
  fprintf(r->out, " has last sent ");
  report_use(r, origin.tile, origin.use);
}

/* How the switch came to stand as it does.  `alone`: the senders are not printed as well. */
static void print_switch_move(Report *r, uint32_t tile, unsigned color, SwitchMove moved,
                              bool alone)
{
  const ImageColorConfig *config = program_color(r->program, tile, color);
  if (!config || !switch_is_there(config))
    return;
  if (moved.mover == MOVED_NEVER) {
    fprintf(r->out, "; no control wavelet has moved it since the start");
    return;
  }
  fprintf(r->out, moved.mover == MOVED_BY_ADVANCE
                      ? "; last moved by the end of an operation with .advance_switch"
                      : "; last moved by a control wavelet");
  if (r->anonymous)
    return;
  if (moved.mover == MOVED_BY_COMMAND)
    fprintf(r->out, " from %s", port_name((Port)moved.from));
  fprintf(r->out, " in cycle %" PRIu64, switch_move_cycle(moved));
  if (moved.mover == MOVED_BY_COMMAND && alone)
    print_mover(r, tile, color, (Port)moved.from);
}

/* "P1.0's router takes color 3 from NORTH only (to RAMP, switch position 0)", or the other side. */
static void print_route(Report *r, Unit end, bool inputs, const char *what)
{
  const InspectColor *state = &report_look(r, end.tile)->colors[end.index];
  report_tile(r, end.tile);
  if (!state->rx && !state->tx) {
    fprintf(r->out, "'s router has no route for ");
    report_color(r, end.tile, end.index);
    fprintf(r->out, " now: the program has closed it, or not opened it yet");
    return;
  }
  fprintf(r->out, "'s router %s ", what);
  report_color(r, end.tile, end.index);
  fprintf(r->out, inputs ? " from " : " to ");
  print_ports(r, inputs ? state->rx : state->tx);
  fprintf(r->out, (inputs ? state->rx : state->tx) ? " only" : "");
  fprintf(r->out, inputs ? " (to " : " (from ");
  print_ports(r, inputs ? state->tx : state->rx);
  fprintf(r->out, ", switch position %u", state->position);
  PortMask opened;
  unsigned position = position_that_opens(r, end, inputs, &opened);
  if (position) {
    fprintf(r->out, inputs ? "; in position %u from " : "; in position %u to ", position);
    print_ports(r, opened);
  }
  fprintf(r->out, ")");
  print_switch_move(r, end.tile, end.index, state->moved, inputs);
  if (!inputs)
    print_origins(r, end);
}

enum { MOST_WAYS = 3 };

/* The calls of the program that lead to code of a library module. */
static void print_ways(const Report *r, uint32_t tile, uint32_t pc)
{
  WayIntoLibrary ways[MOST_WAYS];
  uint32_t n = calls_that_reach(r->program, tile, pc, ways, MOST_WAYS);
  for (uint32_t i = 0; i < n; i++)
    fprintf(r->out, "%s%s:%u", i == 0 ? ", by the calls at " : i + 1 == n ? " and " : ", ",
            ways[i].file, ways[i].line);
}

/* An operation, and how many of its elements a FIFO has left over. */
static void print_use(Report *r, uint32_t tile, QueueUse use)
{
  report_use(r, tile, use);
  for (unsigned push = 0; push < 2; push++)
    if (is_cut_by_fifo(r, tile, use, push))
      fprintf(r->out, ", which %s FIFO ended with %u to go", push ? "a full" : "an empty",
              report_look(r, tile)->record->fifo_left);
}

/* What the tile has sent on the color; false: nothing. */
static bool print_last_sends(Report *r, Unit at)
{
  const InspectTile *t = report_look(r, at.tile);
  bool sent = false;
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    if (!queue_use_is_any(t->output[q].use) || t->output[q].use.color != at.index)
      continue;
    fprintf(r->out, "; the last sent: ");
    print_use(r, at.tile, t->output[q].use);
    sent = true;
  }
  return sent;
}

/* A condition before it has not held. */
static void print_unrun_start(Report *r, uint32_t tile, const ImageTask *task)
{
  StartPlace places[MOST_STARTS];
  unsigned n = unrun_starts(r, tile, task->id, places);
  if (n == 0)
    return;
  fprintf(r->out, " (the %s%s", places[0].is_operation ? "operation" : "@activate",
          n == 1 ? "" : "s");
  for (unsigned i = 0; i < n; i++) {
    fprintf(r->out, i == 0 ? "" : i + 1 == n ? " and" : ",");
    report_outer_place(r, tile, places[i].pc);
  }
  fprintf(r->out, n == 1 ? " has not run)" : " have not run)");
}

/* A counter that has not reached its end is most often short of a task that nothing activates. */
static bool print_idle_task(Report *r, uint32_t tile)
{
  const ClassCode *cls = program_class(r->program, tile);
  const TileRecord *record = report_look(r, tile)->record;
  for (uint32_t i = 0; i < cls->image->n_tasks; i++) {
    const ImageTask *task = &cls->image->tasks[i];
    if (task->kind != TASK_LOCAL || record_has_started(record, task->kind, task->id))
      continue;
    fprintf(r->out, "; ");
    report_task(r, tile, task->kind, task->id);
    fprintf(r->out, " has never started");
    print_unrun_start(r, tile, task);
    return true;
  }
  return false;
}

/* What has run may send as well, but has not: it may wait for this one. */
static void print_missed_sender(Report *r, Unit end)
{
  Deed send = {DEED_SEND, end.index};
  const ImageTask *task = missed_task(r, end.tile, send);
  if (!task)
    return;
  fprintf(r->out, "; ");
  report_task(r, end.tile, task->kind, task->id);
  fprintf(r->out, " would");
  report_outer_place(r, end.tile,
                     place_of_deed(program_class(r->program, end.tile), task->entry, send));
  fprintf(r->out, ", but has never started");
}

static void print_no_sender(Report *r, Unit end)
{
  fprintf(r->out, "nobody at ");
  report_tile(r, end.tile);
  fprintf(r->out, " sends on ");
  report_color(r, end.tile, end.index);
  fprintf(r->out, " any more");
  if (!print_last_sends(r, end) && lacks_code(r, end.tile, (Deed){DEED_SEND, end.index}))
    fprintf(r->out, "; its program has no operation that does");
  else if (!has_sent(r, end) && !may_have_sent(r, end)) {
    fprintf(r->out, "; nobody there ever has");
    print_missed_sender(r, end);
  }
  if (owes_unblock(r, end.tile))
    print_idle_task(r, end.tile);
}

static void print_short_message(Report *r, Unit reader, Unit sender)
{
  const VecRun *run = report_look(r, reader.tile)->threads[reader.index].run;
  report_tile(r, reader.tile);
  fprintf(r->out, " receives %u elements", run->length);
  report_place(r, reader.tile, run->pc);
  fprintf(r->out, ", and ");
  report_tile(r, sender.tile);
  fprintf(r->out, " has stopped sending on ");
  report_color(r, sender.tile, sender.index);
  print_last_sends(r, sender);
}

static void print_long_message(Report *r, Unit reader, Unit sender)
{
  const VecRun *run = report_look(r, sender.tile)->threads[sender.index].run;
  report_tile(r, reader.tile);
  fprintf(r->out, " has received ");
  report_use(r, reader.tile, report_look(r, reader.tile)->input[reader.index].use);
  fprintf(r->out, ", of the %u that ", run->length);
  report_tile(r, sender.tile);
  fprintf(r->out, " sends");
  report_place(r, sender.tile, run->pc);
}

static void print_message_to_itself(Report *r, Unit sender)
{
  report_tile(r, sender.tile);
  fprintf(r->out, " waits for what it would have to send itself on ");
  report_color(r, sender.tile, sender.index);
  print_last_sends(r, sender);
}

static void print_returning_message(Report *r, Unit router)
{
  unsigned position = report_look(r, router.tile)->colors[router.index].position;
  fprintf(r->out, "the route of ");
  report_color(r, router.tile, router.index);
  fprintf(r->out, " at ");
  report_tile(r, router.tile);
  fprintf(r->out, " hands words of the tile back to it");
  if (position > 0)
    fprintf(r->out, " in switch position %u", position);
}

void cut_message_print(Report *r, const CutMessage *cut)
{
  if (cut->kind == CUT_BY_SENDER)
    print_short_message(r, cut->reader, cut->sender);
  else if (cut->kind == CUT_BY_READER)
    print_long_message(r, cut->reader, cut->sender);
  else if (cut->kind == CUT_BACK_TO_ITSELF)
    print_returning_message(r, cut->sender);
  else
    print_message_to_itself(r, cut->sender);
}

static void print_nobody_reads(Report *r, Unit end)
{
  const InspectQueue *queue = &report_look(r, end.tile)->input[end.index];
  fprintf(r->out, "nobody reads ");
  report_tile(r, end.tile);
  fprintf(r->out, " ");
  report_queue(r, end.tile, false, end.index);
  if (queue->count) {
    fprintf(r->out, ", which holds %u wavelet%s, the first ", queue->count,
            queue->count == 1 ? "" : "s");
    print_payload(r, queue->head.payload);
    fprintf(r->out, "%s of ", queue->head.control ? " (control)" : "");
    report_color(r, end.tile, queue->head.color);
  }
  if (queue_use_is_any(queue->use)) {
    fprintf(r->out, "; the last read from it: ");
    print_use(r, end.tile, queue->use);
    print_ways(r, end.tile, queue->use.pc);
  } else {
    fprintf(r->out, has_no_reader(r, end) ? "; its program has no operation that does"
                                          : "; nobody ever has");
  }
  Unit color;
  if (sends_to_own_ramp(r, end, &color)) {
    fprintf(r->out, "; the tile itself sends there");
    print_last_sends(r, color);
  }
}

void end_print_blocked(Report *r, Unit end, IdKind kind)
{
  const InspectTile *t = report_look(r, end.tile);
  const uint16_t *at = t->blocked_at ? &t->blocked_at[block_place(kind, end.index)] : NULL;
  bool data = kind == ID_TASK && !(t->active >> end.index & 1);
  report_tile(r, end.tile);
  fprintf(r->out, " ");
  if (kind == ID_MICROTHREAD)
    fprintf(r->out, "microthread %u", end.index);
  else
    report_task(r, end.tile, data ? TASK_DATA : TASK_LOCAL, end.index);
  if (kind == ID_TASK && has_no_data_task(r, end))
    fprintf(r->out, ", which is bound to no task but holds control wavelets up,");
  fprintf(r->out, kind == ID_TASK && !data ? " is activated, but blocked" : " is blocked");
  if (at && *at != PC_RETURN)
    report_place(r, end.tile, *at);
  else
    fprintf(r->out, " since the start");
}

static void print_no_first_call(Report *r, Unit end)
{
  const FirstCall *call = calls_first_for(r->program, end.tile, end.index);
  report_tile(r, end.tile);
  fprintf(r->out, " has not called %s() of %s, which unblocks ", call->function, call->module);
  report_task(r, end.tile, TASK_DATA, end.index);
}

static void print_color_end(Report *r, Unit end, const char *what)
{
  report_tile(r, end.tile);
  fprintf(r->out, "%s", what);
  report_color(r, end.tile, end.index);
}

/* ---- what was lost --------------------------------------------------------------------------- */

static void print_merging(Report *r, uint32_t tile)
{
  const TileRecord *record = report_look(r, tile)->record;
  fprintf(r->out, " was activated again before it had started");
  if (record->lost_pc != PC_RETURN)
    report_place(r, tile, record->lost_pc);
  if (record->before_pc != PC_RETURN) {
    fprintf(r->out, ", the first time");
    report_place(r, tile, record->before_pc);
  }
  print_ways(r, tile, record->lost_pc);
  fprintf(r->out, ": two activations are one start");
}

static void print_merged(Report *r, uint32_t tile)
{
  report_task(r, tile, TASK_LOCAL, report_look(r, tile)->record->lost_id);
  print_merging(r, tile);
}

static void print_lost(Report *r, Unit end)
{
  report_tile(r, end.tile);
  fprintf(r->out, " ");
  print_merged(r, end.tile);
}

/* The tasks that control wavelets of a tile could have started. */
static void print_entries(Report *r, uint32_t tile)
{
  const ClassCode *cls = program_class(r->program, tile);
  const char *between = "; there is ";
  bool any = false;
  for (unsigned id = 0; cls && id < MAX_TASK_IDS; id++) {
    if (!cls->control_task[id] || cls->control_task[id]->kind != TASK_CONTROL)
      continue;
    fprintf(r->out, "%s", between);
    report_task(r, tile, TASK_CONTROL, id);
    between = " and ";
    any = true;
  }
  if (!any)
    fprintf(r->out, "; it has none at all");
}

static void print_untaken(Report *r, Unit end)
{
  const TileRecord *record = report_look(r, end.tile)->record;
  unsigned color = record->untaken_color;
  report_tile(r, end.tile);
  fprintf(r->out, " has no control task %u, so nobody takes ",
          control_entry(record->untaken_payload));
  if (record->untaken > 1)
    fprintf(r->out, "%u control wavelets, the last ", record->untaken);
  else
    fprintf(r->out, "control wavelet ");
  print_payload(r, record->untaken_payload);
  fprintf(r->out, " of ");
  report_color(r, end.tile, color);
  end.index = (uint8_t)color;
  print_origins(r, end);
  print_entries(r, end.tile);
}

/* Prints the colors that come to the tile's ramp, without those of the host. */
static void print_arrivals(Report *r, uint32_t tile)
{
  const ClassCode *cls = program_class(r->program, tile);
  for (uint8_t c = 0; c < MAX_COLORS; c++)
    if (program_color(r->program, tile, c) && cls->image->data_queue[c] < MAX_QUEUES)
      print_origins(r, (Unit){.kind = UNIT_END, .tile = tile, .index = c});
}

/* Where the wavelets come from that wait for the id of a data task to be unblocked. */
static void print_held_up(Report *r, Unit end)
{
  const ClassCode *cls = program_class(r->program, end.tile);
  bool is_color = r->program->image->arch == ARCH_WSE2;       /* else a queue */
  for (uint8_t c = 0; c < MAX_COLORS; c++)
    if (program_color(r->program, end.tile, c) &&
        (is_color ? c : cls->image->data_queue[c]) == end.index)
      print_origins(r, (Unit){.kind = UNIT_END, .tile = end.tile, .index = c});
}

/* No code of the tile unblocks: what was launched, or can be, if that is one function. */
static void print_no_call(Report *r, uint32_t tile, const ClassCode *cls)
{
  uint32_t functions = 0, entry = 0;
  for (uint32_t i = 0; i < cls->image->n_bindings; i++) {
    if (!may_be_launched(r, tile, i))
      continue;
    functions++;
    entry = cls->image->bindings[i].address;
  }
  fprintf(r->out, ": its code has no call that does");
  if (functions != 1)
    return;
  fprintf(r->out, ", from the function");
  report_outer_place(r, tile, entry);
  fprintf(r->out, " on");
}

/* Nothing has come for it, or what comes goes past the ramp. */
static void print_idle_data_task(Report *r, uint32_t tile)
{
  unsigned color;
  const ImageTask *task = idle_data_task(r, tile, &color);
  if (!task)
    return;
  fprintf(r->out, "; ");
  report_task(r, tile, task->kind, task->id);
  fprintf(r->out, " has never started");
  if (passes_idle_task(r, tile)) {
    fprintf(r->out, ": ");
    print_route(r, (Unit){.kind = UNIT_END, .tile = tile, .index = (uint8_t)color}, false, "leads");
  } else {
    fprintf(r->out, ", no wavelet of ");
    report_color(r, tile, color);
    fprintf(r->out, " has come");
  }
}

/* The tile has not unblocked the command stream; false: no code of it does so. */
static bool print_missing_call(Report *r, uint32_t tile)
{
  uint16_t at = unblocking_place(r, tile);
  fprintf(r->out, " without unblocking the command stream");
  if (at == PC_RETURN) {
    print_no_call(r, tile, program_class(r->program, tile));
    return false;
  }
  fprintf(r->out, ": it has not come to the call");
  report_outer_place(r, tile, at);
  return true;
}

static void print_no_unblock(Report *r, Unit end)
{
  report_tile(r, end.tile);
  fprintf(r->out, " has ended all that it had to do");
  if (print_missing_call(r, end.tile) && !print_idle_task(r, end.tile))
    print_idle_data_task(r, end.tile);
}

/* It waits for nothing, or goes on for ever. */
static void print_at_work(Report *r, uint32_t tile)
{
  const EndlessLoop *loop = report_loop_of(r, tile);
  report_tile(r, tile);
  if (loop)
    fprintf(r->out, loop->tasks ? "'s tasks start again and again" : " is in its endless loop");
  else
    fprintf(r->out, " is still at work");
  if (owes_unblock(r, tile))
    print_missing_call(r, tile);
}

enum { OTHERS_NAMED = 3 };

/* Only the program knows which of several tasks was meant to start. */
static void print_missed_too(Report *r, Unit end)
{
  const ClassCode *cls = program_class(r->program, end.tile);
  unsigned others = 0;
  for (uint32_t i = end.index + 1u; i < cls->image->n_tasks; i++) {
    const ImageTask *task = &cls->image->tasks[i];
    if (!is_missed_unblock(r, end.tile, task) || ++others > OTHERS_NAMED)
      continue;
    fprintf(r->out, others == 1 ? "; so would " : ", ");
    report_task(r, end.tile, task->kind, task->id);
    report_outer_place(r, end.tile, class_unblocks(cls, task->entry));
  }
  if (others > OTHERS_NAMED)
    fprintf(r->out, " and %u more", others - OTHERS_NAMED);
  if (others > 0)
    fprintf(r->out, ", which %s never started either", others == 1 ? "has" : "have");
}

/* Why the task has not started. */
static void print_lacking_start(Report *r, uint32_t tile, const ImageTask *task)
{
  switch (task->kind) {
  case TASK_CONTROL:
    fprintf(r->out, "no control wavelet has come for it");
    print_arrivals(r, tile);
    break;
  case TASK_DATA:
    fprintf(r->out, "no wavelet has come for it");
    break;
  case TASK_LOCAL: case TASK_NONE: default:
    if (is_teardown(r, task) && !has_teardown_handler(program_class(r->program, tile))) {
      fprintf(r->out, "no output queue with a handler has been flushed");
    } else if (is_teardown(r, task)) {
      fprintf(r->out, "no color with a handler has been torn down");
      print_arrivals(r, tile);
    } else if (report_look(r, tile)->active >> task->id & 1) {
      fprintf(r->out, "it is activated, but another one runs");
    } else {
      fprintf(r->out, "nothing has activated it");
      print_unrun_start(r, tile, task);
    }
    break;
  }
}

/* What does not happen on the tile; the text goes on with the task that would do it. */
static void print_undone(Report *r, uint32_t tile, Deed deed)
{
  fprintf(r->out, deed.kind == DEED_READ ? "nobody reads " : "nobody at ");
  report_tile(r, tile);
  switch (deed.kind) {
  case DEED_ACTIVATE:
    fprintf(r->out, " activates ");
    report_task(r, tile, TASK_LOCAL, deed.of);
    break;
  case DEED_SEND:
    fprintf(r->out, " sends on ");
    report_color(r, tile, deed.of);
    break;
  case DEED_FLUSH: fprintf(r->out, " flushes an output queue"); break;
  case DEED_READ: case DEED_COUNT: default:
    fprintf(r->out, " ");
    report_queue(r, tile, false, deed.of);
    break;
  }
  fprintf(r->out, ": ");
}

void end_print_doer(Report *r, Unit doer)
{
  const ClassCode *cls = program_class(r->program, doer.tile);
  const ImageTask *task = &cls->image->tasks[doer.index];
  print_undone(r, doer.tile, doer.deed);
  report_task(r, doer.tile, task->kind, task->id);
  fprintf(r->out, " would");
  report_outer_place(r, doer.tile, place_of_deed(cls, task->entry, doer.deed));
  fprintf(r->out, doer_has_started(r, doer) ? ", with another wavelet" : ", but has never started");
}

static void print_not_launched(Report *r, Unit end)
{
  const ClassCode *cls = program_class(r->program, end.tile);
  print_undone(r, end.tile, end.deed);
  fprintf(r->out, "'%s' would", r->program->image->exports[end.index].name);
  report_outer_place(r, end.tile,
                     place_of_deed(cls, cls->image->bindings[end.index].address, end.deed));
  fprintf(r->out, ", but the host has launched nothing yet");
}

static void print_never_started(Report *r, Unit end)
{
  const ClassCode *cls = program_class(r->program, end.tile);
  const ImageTask *task = &cls->image->tasks[end.index];
  report_tile(r, end.tile);
  fprintf(r->out, " ");
  report_task(r, end.tile, task->kind, task->id);
  fprintf(r->out, " has never started, ");
  print_lacking_start(r, end.tile, task);
  uint16_t unblocks = class_unblocks(cls, task->entry);
  if (unblocks != PC_RETURN) {
    fprintf(r->out, "; it would unblock the command stream");
    report_outer_place(r, end.tile, unblocks);
    print_missed_too(r, end);
  } else if (!is_teardown(r, task) && class_activates(cls, task->id) == PC_RETURN) {
    fprintf(r->out, "; it begins");
    report_outer_place(r, end.tile, task->entry);
  }
  if (task->kind != TASK_LOCAL || is_teardown(r, task))
    return;
  if (report_look(r, end.tile)->record->lost) {
    fprintf(r->out, "; ");
    print_merged(r, end.tile);
  } else {
    print_idle_data_task(r, end.tile);
  }
}

/* The blocked task; another one would unblock it, which has never started. */
static void print_missed_unblocker(Report *r, Unit end)
{
  uint16_t at;
  const ImageTask *task = missed_unblocker(r, end.tile, end.index, &at);
  if (!task)
    return;
  fprintf(r->out, "; ");
  report_task(r, end.tile, task->kind, task->id);
  fprintf(r->out, " would");
  report_outer_place(r, end.tile, at);
  fprintf(r->out, ", but has never started: ");
  print_lacking_start(r, end.tile, task);
}

static void print_last_of_fifo(Report *r, uint32_t tile, bool push)
{
  const TileRecord *record = report_look(r, tile)->record;
  report_use(r, tile, (QueueUse){.pc = record->fifo[push].pc,
                                 .elements = record->fifo[push].elements});
}

/* `end`: the thread that waits. */
static void print_fifo(Report *r, Unit end)
{
  const InspectTile *t = report_look(r, end.tile);
  const VecRun *run = t->threads[end.index].run;
  bool pushes = run->dest.kind == VS_FIFO;
  const VecStream *source = run->src[0].kind == VS_FIFO ? &run->src[0] : &run->src[1];
  const VecStream *s = pushes ? &run->dest : source;
  fprintf(r->out, pushes ? "nobody takes from the FIFO of " : "nobody fills the FIFO of ");
  report_tile(r, end.tile);
  const char *name = report_operand(r->program, end.tile, run->pc,
                                    pushes ? 0 : s == &run->src[0] ? 1 : 2);
  if (*name)
    fprintf(r->out, " '%s'", name);
  fprintf(r->out, " any more");
  if (t->record->fifo[!pushes].elements && t->record->fifo[!pushes].state == s->address) {
    fprintf(r->out, pushes ? "; the last took: " : "; the last sent: ");
    print_last_of_fifo(r, end.tile, !pushes);
  } else {
    fprintf(r->out, pushes ? "; it is filled" : "; it is emptied");
    report_place(r, end.tile, run->pc);
  }
  if (lacks_what_was_full(r, end))
    fprintf(r->out, "; an operation has found a full FIFO");
  if (lacks_what_was_empty(r, end))
    fprintf(r->out, "; an operation has found an empty FIFO");
}

static void print_fifo_left(Report *r, Unit end)
{
  const TileRecord *record = report_look(r, end.tile)->record;
  const char *name = report_operand(r->program, end.tile, record->fifo[true].pc, 0);
  unsigned left = elements_in_fifo(r, end.tile);
  fprintf(r->out, "the FIFO of ");
  report_tile(r, end.tile);
  if (*name)
    fprintf(r->out, " '%s'", name);
  fprintf(r->out, " holds %u element%s, and nobody waits to take %s: the last put into it: ",
          left, left == 1 ? "" : "s", left == 1 ? "it" : "them");
  print_last_of_fifo(r, end.tile, true);
  if (record->fifo[false].elements && record->fifo[false].state == record->fifo[true].state) {
    fprintf(r->out, ", the last taken: ");
    print_last_of_fifo(r, end.tile, false);
  } else {
    fprintf(r->out, ", and nobody ever has taken any");
  }
}

static void print_host(Report *r, Unit end)
{
  const ImageStream *stream = program_stream(r->program, end.tile, end.index);
  if (!stream && !is_named_stream(r->program, end.index)) {
    print_color_end(r, end, " has no route for ");
    fprintf(r->out, ", and no more words come from the host on it");
    return;
  }
  fprintf(r->out, "no more words come from the host on ");
  if (stream)
    fprintf(r->out, "the stream '%s'", stream->name);
  else
    report_color(r, end.tile, end.index);
  fprintf(r->out, ", which ");
  report_tile(r, end.tile);
  fprintf(r->out, " takes");
}

/* What else there is to say of a blocked task. */
static void print_about_block(Report *r, Unit end)
{
  print_missed_unblocker(r, end);
  if (has_no_data_task(r, end))
    print_held_up(r, end);
  if (has_merged(r, end)) {
    fprintf(r->out, "; it");
    print_merging(r, end.tile);
  }
}

void end_print(Report *r, Unit end)
{
  switch (end.end) {
  case END_NO_SENDER: print_no_sender(r, end); break;
  case END_HOST: print_host(r, end); break;
  case END_NOT_CONFIGURED: print_color_end(r, end, " has no configuration for "); break;
  case END_NOT_ROUTED: case END_NOT_DELIVERED: print_route(r, end, false, "leads"); break;
  case END_CLOSED: print_route(r, end, true, "takes"); break;
  case END_EDGE:
    print_color_end(r, end, " gets ");
    fprintf(r->out, " from outside the rectangle");
    print_last_sends(r, end);
    break;
  case END_LINK_EMPTY:
    print_color_end(r, end, " gets ");
    fprintf(r->out, " from another wafer, which sends nothing");
    break;
  case END_LINK_FULL:
    print_color_end(r, end, " sends ");
    fprintf(r->out, " to another wafer, which takes no more of it");
    break;
  case END_SUSPENDED: print_color_end(r, end, " has torn down "); break;
  case END_NO_QUEUE: print_color_end(r, end, " has no input queue for "); break;
  case END_NOBODY_READS: print_nobody_reads(r, end); break;
  case END_CONTROL_HEAD:
    report_tile(r, end.tile);
    fprintf(r->out, " ");
    report_queue(r, end.tile, false, end.index);
    fprintf(r->out, " has a control wavelet at its head, ");
    print_payload(r, report_look(r, end.tile)->input[end.index].head.payload);
    fprintf(r->out, ", that the operation does not take");
    break;
  case END_BLOCKED_TASK: case END_BLOCKED_THREAD:
    end_print_blocked(r, end, end.end == END_BLOCKED_TASK ? ID_TASK : ID_MICROTHREAD);
    fprintf(r->out, ": nothing unblocks it");
    if (end.end == END_BLOCKED_TASK)
      print_about_block(r, end);
    break;
  case END_NO_FIRST_CALL: print_no_first_call(r, end); break;
  case END_LOST: print_lost(r, end); break;
  case END_UNTAKEN: print_untaken(r, end); break;
  case END_NEVER_STARTED: print_never_started(r, end); break;
  case END_NOT_LAUNCHED: print_not_launched(r, end); break;
  case END_NO_UNBLOCK: print_no_unblock(r, end); break;
  case END_FIFO: print_fifo(r, end); break;
  case END_FIFO_LEFT: print_fifo_left(r, end); break;
  case END_AT_WORK: print_at_work(r, end.tile); break;
  case END_NONE: case END_UNKNOWN: default:
    report_tile(r, end.tile);
    fprintf(r->out, ": nothing would let it go on");
    break;
  }
}
