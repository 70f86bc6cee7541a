/* The advice of a deadlock report: see deadlock.h. */
#include "emu/explain/explain_internal.h"
#include "emu/explain/deadlock.h"

/* How the task that has never started could: `end` is END_NEVER_STARTED. */
static const char *start_help(Report *r, const Unit *end)
{
  const ImageTask *task = &program_class(r->program, end->tile)->image->tasks[end->index];
  StartPlace places[MOST_STARTS];
  switch (task->kind) {
  case TASK_CONTROL:
    return "send a control wavelet: the fabout_dsd needs .control, and the wavelet the task's "
           "entry";
  case TASK_DATA:
    return "send a wavelet that the task's queue gets, on a color that the routes lead to this "
           "tile";
  case TASK_LOCAL: case TASK_NONE: default:
    if (passes_idle_task(r, end->tile))
      return "name RAMP in the .tx of the route that leads past the data task, or send the control "
             "wavelet that switches there";
    if (is_teardown(r, task) && !has_teardown_handler(program_class(r->program, end->tile)))
      return "flush the queue of the handler with @queue_flush: the handler runs when the queue is "
             "empty";
    if (is_teardown(r, task))
      return "send a control wavelet with the command TEARDOWN on the color of the handler: the "
             "fabout_dsd needs .control";
    if (class_activates(program_class(r->program, end->tile), task->id) != PC_RETURN)
      return "see why that @activate has not run: a condition before it may not hold, such as of a "
             "counter; or activate the task with .activate of the operation that has to end before "
             "it";
    if (unrun_starts(r, end->tile, task->id, places))
      return "see why it has not run: a condition before it may not hold, such as of a counter, or "
             "a word that leads to it has not come";
    return "activate the task: with @activate, or with .activate of the operation that has to end "
           "before it";
  }
}

static bool is_filtered(const Program *program, unsigned color)
{
  for (uint32_t t = 0; t < program->n_tiles; t++) {
    const ImageColorConfig *config = program_color(program, t, color);
    if (config && config->filter.kind != FILTER_NONE)
      return true;
  }
  return false;
}

/* For a color that is torn down: `end` is END_SUSPENDED.  One that starts so needs no handler. */
static const char *suspended_help(const Report *r, const Unit *end)
{
  const ClassCode *cls = program_class(r->program, end->tile);
  const ImageColorConfig *config = program_color(r->program, end->tile, end->index);
  bool has_task = false;
  for (uint32_t i = 0; cls && i < cls->image->n_tasks; i++)
    has_task |= is_teardown(r, &cls->image->tasks[i]);
  if (has_task || (config && config->teardown))
    return "end it with teardown.exit: in the handler, or in the program if the color starts torn "
           "down";
  return "give it a handler that calls teardown.exit: '@set_teardown_handler(FUNCTION, COLOR)'";
}

/* The instruction moves elements of 16 bits, which travel one or two to a wavelet. */
static bool moves_halves(const Report *r, uint32_t tile, uint32_t pc)
{
  const ClassCode *cls = program_class(r->program, tile);
  const Insn *insn = cls ? class_insn(cls, pc) : NULL;
  if (!insn || insn->op != OP_vec)
    return false;
  const VecOpInfo *op = &vecops[insn->vec.op];
  return vec_elem_bytes(op->dst) == 2 || vec_elem_bytes(op->src) == 2;
}

static bool is_of_halves(const Report *r, uint32_t tile, QueueUse use)
{
  return queue_use_is_any(use) && moves_halves(r, tile, use.pc);
}

static bool thread_moves_halves(Report *r, const Unit *thread)
{
  const InspectThread *t = &report_look(r, thread->tile)->threads[thread->index];
  return t->state == THREAD_VECTOR && moves_halves(r, thread->tile, t->run->pc);
}

/* What the sender has sent on the color, or what waits for more of it. */
static bool one_end_is_of_halves(Report *r, const Unit *sender, const Unit *waits)
{
  const InspectTile *t = report_look(r, sender->tile);
  bool found = waits && thread_moves_halves(r, waits);
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    found |= t->output[q].use.color == sender->index &&
             is_of_halves(r, sender->tile, t->output[q].use);
  return found;
}

/* For a color whose sender has ended: `end` is END_NO_SENDER. */
static const char *sender_help(Report *r, const Unit *end, const Unit *waits)
{
  if (is_filtered(r->program, end->index))
    return "a sender is missing or sends too little, or a filter may let too few pass: "
           "compare the extents of both sides, and what the color's filters count";
  if (lacks_code(r, end->tile, (Deed){DEED_SEND, end->index}) && !has_sent(r, *end))
    return "let the program of that tile send on the color, or correct the route, which takes it "
           "from the tile's ramp, or the color that the layout gives to the programs";
  if (one_end_is_of_halves(r, end, waits))
    return "a sender is missing or sends too little: compare the extents of both sides and their "
           "simd_mode, which says whether a wavelet has one element of 16 bits or two";
  return "a sender is missing or sends too little: compare the extents of both sides, and see that "
         "what starts the rest is there, such as the activation of the next task";
}

static const char cut_help[] =
  "an operation without .async ends at a full FIFO and returns false: give it .async, or start it "
  "again when there is room, in the task of .activate_pop";

/* For wavelets that stay in an input queue: `end` is END_NOBODY_READS. */
static const char *unread_help(Report *r, const Unit *end)
{
  const InspectQueue *queue = &report_look(r, end->tile)->input[end->index];
  bool is_control = queue->count && queue->head.control;
  if (is_control && queue->use.ended)
    return "a control wavelet that ends an operation by .on_control stays in the queue and ends "
           "the next one, too, and starts no control task: take it as data, by an operation of one "
           "element without .on_control";
  if (is_control)
    return "a control wavelet behind the data waits for a task: keep it away with ce_ignore of its "
           "command, or unblock the queue's data task id and bind a control task to its entry";
  if (is_cut_by_fifo(r, end->tile, queue->use, true))
    return cut_help;
  Unit color;
  if (sends_to_own_ramp(r, *end, &color))
    return "nobody takes what is left: leave RAMP out of the .tx where it sends, or receive that, "
           "too; else start the operation";
  if (has_no_reader(r, *end))
    return "nobody takes what comes: receive the color by an operation or a data task, or leave "
           "RAMP out of the route's .tx";
  if (is_of_halves(r, end->tile, queue->use))
    return "nobody takes what is left: compare the extents of both sides and their simd_mode, "
           "which says whether a wavelet has one element of 16 bits or two, or start the operation";
  return "nobody takes what is left: compare the extents of both sides, or start the operation";
}

/* An operation waits for room in a FIFO that nothing has ever taken from. */
static bool fills_unread_fifo(Report *r, Unit end)
{
  const InspectTile *t = report_look(r, end.tile);
  return t->threads[end.index].run->dest.kind == VS_FIFO && !t->record->fifo[0].elements;
}

const char *cycle_help(const Report *r, const CutMessage *cut)
{
  switch (cut->kind) {
  case CUT_BY_SENDER:
    if (is_filtered(r->program, cut->sender.index))
      return "a filter may let too few pass: compare the extents of both sides, and what the "
             "color's filters count";
    return "compare the extents of both sides, and that of the memory from which the sender's "
           "elements come: its first source decides how many there are";
  case CUT_BY_READER:
    return "compare the extents of both sides: what a receive leaves behind holds up what is sent "
           "after it";
  case CUT_TO_ITSELF:
    return "see why it has not sent: a condition may not hold, or what sends comes after the wait; "
           "else correct the route, which takes the color from the tile's own ramp";
  case CUT_BACK_TO_ITSELF:
    return "leave RAMP out of the .tx where it sends (a switch position that does not name the .tx "
           "has that of the position before), or receive what comes back while it sends";
  case CUT_NONE: default:
    if (cut->all_receive)
      return "let one of them send before it receives, or start its receive with .async; each has "
             "to send as often as the others receive from it";
    return "let one of them go on without the others: receive before sending, or start its "
           "operation with .async";
  }
}

/* What a host script can do where the routes of its layout end; NULL: nothing else than a layout in
 * CSL. */
static const char *script_help(const Unit *root)
{
  static const char *const helps[] = {
    [END_NOT_CONFIGURED] = script_route_help,
    [END_NOT_ROUTED] =
      "connect() the port through which the words leave, or give it a stream; in a painted "
      "position, set_output names the way, if no control wavelet is to switch there",
    [END_NOT_DELIVERED] =
      "name RAMP in set_output of the position, or send the control wavelet that switches there",
    [END_CLOSED] =
      "connect() the port through which the words come, or give it a stream; in a painted "
      "position, set_input names the side, if no control wavelet is to switch there",
    [END_EDGE] =
      "connect() the port, or give it a stream: its route comes from outside of all regions",
  };
  return root->end < ARRAY_COUNT(helps) ? helps[root->end] : NULL;
}

/* The router of the tile is in the way, and its switch has a later position that opens another one:
 * what is missing is a control wavelet. */
static bool lacks_switching(Report *r, const Unit *root)
{
  PortMask opened;
  bool leads = root->end == END_NOT_ROUTED || root->end == END_NOT_DELIVERED;
  return (leads || root->end == END_CLOSED) &&
         position_that_opens(r, *root, root->end == END_CLOSED, &opened) > 0;
}

/* For a tile that goes on and does not come to unblock the command stream. */
static const char *at_work_help(const Report *r, uint32_t tile)
{
  if (report_loop_of(r, tile))
    return "let what the loop or the rounds wait for come, or call unblock_cmd_stream() before "
           "they begin: the host goes on when every tile has called it";
  return "if this work has no end, let what it waits for come, or call unblock_cmd_stream() before "
         "it begins: the host goes on when every tile has called it";
}

const char *end_help(Report *r, const Unit *root, const Unit *waits)
{
  if (lacks_switching(r, root))
    return "send the control wavelet that switches there: one with the command SWITCH_ADV, on the "
           "same color, by a fabout_dsd with .control; else correct the route of the position";
  if (r->program->image->is_of_script && script_help(root))
    return script_help(root);
  switch (root->end) {
  case END_NO_SENDER: return sender_help(r, root, waits);
  case END_HOST:
    if (program_stream(r->program, root->tile, root->index))
      return "let the host send as many words on the stream as the tiles take, before it waits for "
             "what they answer: send() first, or receive() with nonblock=True";
    if (is_named_stream(r->program, root->index))
      return "let the host stream as many words to the tile as it takes, with streaming=True";
    return "if another tile is to send them, give both a @set_color_config for the color; else let "
           "the host stream as many words as the tile takes";
  case END_NOT_CONFIGURED:
    return "give this tile a @set_color_config for the color, or route the color elsewhere";
  case END_NOT_ROUTED:
    return "name the way to the tile that waits in the route's .tx, or send the control wavelet "
           "that switches there";
  case END_NOT_DELIVERED:
    return "name RAMP in the route's .tx, or send the control wavelet that switches there";
  case END_CLOSED:
    if (report_look(r, root->tile)->colors[root->index].position > 0)
      return "send the control wavelet that switches there, or name the side that it comes from in "
             "the position's .rx; the switch goes back to its first position behind its last one "
             "with .ring_mode, or by the command SWITCH_RST";
    return "name the side that it comes from in the route's .rx, or send the control wavelet that "
           "switches there";
  case END_EDGE:
    if (has_sent(r, *root))       /* its switch stands toward the border since */
      return sender_help(r, root, waits);
    return "let a tile of the rectangle send, or turn the route: its .rx leads out of the "
           "rectangle; EAST is x + 1, SOUTH is y + 1";
  case END_LINK_EMPTY:
    return "let the wafer at the other end of the link send: its own report says what it does";
  case END_LINK_FULL:
    return "let the wafer at the other end of the link take the words, or send fewer";
  case END_SUSPENDED: return suspended_help(r, root);
  case END_NO_QUEUE:
    return "receive the color here with an operation or a data task, or leave RAMP out of the "
           "route's .tx";
  case END_NOBODY_READS: return unread_help(r, root);
  case END_CONTROL_HEAD:
    return "give the operation .on_control, or bind a control task and send behind the data";
  case END_NO_FIRST_CALL:
    return "call it on each tile once, before the first operation of the module on any of them: "
           "tiles also pass on what is for others";
  case END_BLOCKED_TASK:
    if (has_no_data_task(r, *root))
      return "control wavelets start tasks only while this id is unblocked: unblock it in a "
             "comptime block, or with .unblock of the operation that receives the data";
    if (lacks_activation(r, *root))
      return "activate the task that unblocks: with @activate, or with .activate of the operation "
             "that has to end before it";
    if (has_merged(r, *root))
      return "unblock it with @unblock or with .unblock of an operation; perhaps one of the places "
             "that activate it is meant to unblock it";
    /* fallthrough */
  case END_BLOCKED_THREAD:
    return "unblock it with @unblock or with .unblock of an operation, or do not block it";
  case END_FIFO:
    if (lacks_what_was_full(r, *root))
      return cut_help;
    if (lacks_what_was_empty(r, *root))
      return "an operation without .async ends at an empty FIFO and returns false: give it .async, "
             "or go on where it returns true, in the task of .activate_push";
    if (fills_unread_fifo(r, *root))
      return "take from the FIFO: start the operation at its other end as well, with .async; a "
             "task of .activate_push starts only after a read that has found the FIFO empty";
    return "start the operation at the FIFO's other end as well, with .async, and for as many "
           "elements";
  case END_FIFO_LEFT:
    return "take all elements from the FIFO: an operation in the background with a length that is "
           "never reached, 0x7fff, takes whatever comes; or start one for each that fills it";
  case END_LOST:
    return "give each operation a task of its own, or activate the task again only when it runs";
  case END_UNTAKEN:
    return "bind a control task to the wavelet's entry with @bind_control_task, or send the entry "
           "of another one; an entry of {} is for nobody";
  case END_NEVER_STARTED: return start_help(r, root);
  case END_NOT_LAUNCHED:
    return "launch() a function that sets the tiles to work before the host waits for what they "
           "send";
  case END_NO_UNBLOCK:
    if (unblocking_place(r, root->tile) != PC_RETURN)
      return "see what leads to that call: a condition before it may not hold, such as of a "
             "counter that the launch before has moved, or a task has not started";
    return "call unblock_cmd_stream() once per launch, in the last thing that the launched "
           "function leads to";
  case END_AT_WORK:
    return owes_unblock(r, root->tile) ? at_work_help(r, root->tile) : NULL;
  case END_NONE: case END_UNKNOWN: default:
    return NULL;
  }
}
