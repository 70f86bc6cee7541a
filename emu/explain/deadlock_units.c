/* The words of a deadlock report for units, which wait for each other: see deadlock.h. */
#include "emu/explain/explain_internal.h"
#include "emu/explain/deadlock.h"

static void print_count(const Report *r, unsigned n)
{
  fprintf(r->out, "%u wavelet%s", n, n == 1 ? "" : "s");
}

/* An operation that runs sends by the output queue. */
static bool has_writer(const InspectTile *t, unsigned queue)
{
  for (unsigned i = 0; i <= MAX_MICROTHREADS; i++)
    if (t->threads[i].state == THREAD_VECTOR && t->threads[i].run->dest.kind == VS_FABOUT &&
        t->threads[i].run->dest.queue == queue)
      return true;
  return false;
}

/* An operation that runs takes from the input queue. */
static bool has_reader(const InspectTile *t, unsigned queue)
{
  for (unsigned i = 0; i <= MAX_MICROTHREADS; i++) {
    const InspectThread *thread = &t->threads[i];
    for (unsigned k = 0; thread->state == THREAD_VECTOR && k < ARRAY_COUNT(thread->run->src); k++)
      if (thread->run->src[k].kind == VS_FABIN && thread->run->src[k].queue == queue)
        return true;
  }
  return false;
}

static void print_queue_unit(Report *r, Unit u)
{
  bool output = u.kind == UNIT_OUTPUT;
  const InspectTile *t = report_look(r, u.tile);
  const InspectQueue *queue = output ? &t->output[u.index] : &t->input[u.index];
  report_tile(r, u.tile);
  fprintf(r->out, " ");
  report_queue(r, u.tile, output, u.index);
  fprintf(r->out, queue->count >= queue->capacity ? " is full, " : " holds ");
  print_count(r, queue->count);
  if (queue->count) {
    fprintf(r->out, ", the first 0x%08x%s of ", queue->head.payload,
            queue->head.control ? " (control)" : "");
    report_color(r, u.tile, queue->head.color);
  }
  if (output && queue_use_is_any(queue->use) && !has_writer(t, u.index)) {
    fprintf(r->out, ", used last for ");
    report_use(r, u.tile, queue->use);
  }
  if (!output && queue->count && !queue_use_is_any(queue->use) && !has_reader(t, u.index))
    fprintf(r->out, ", and has not been read yet");
}

static void print_router_unit(Report *r, Unit u)
{
  Port port = router_waits_for(r, u);
  report_tile(r, u.tile);
  fprintf(r->out, "'s router holds ");
  print_count(r, report_look(r, u.tile)->colors[u.index].count);
  fprintf(r->out, " of ");
  report_color(r, u.tile, u.index);
  fprintf(r->out, " and waits for room toward %s", port_name(port));
}

/* The task to unblock the command stream, if it waits for a wavelet or for a task that has never
 * started. */
static void print_task_to_unblock(Report *r, Unit command)
{
  bool has_started;
  const ImageTask *task = task_to_unblock(r, command.tile, &has_started);
  if (!task || (task->kind != TASK_DATA && unit_after(r, command).kind != UNIT_DOER))
    return;
  fprintf(r->out, ": ");
  report_task(r, command.tile, task->kind, task->id);
  fprintf(r->out, " would");
  report_outer_place(r, command.tile,
                     class_unblocks(program_class(r->program, command.tile), task->entry));
  fprintf(r->out, has_started ? ", but has not come to it" : ", but has never started");
}

void unit_print(Report *r, Unit u)
{
  const InspectTile *t = report_look(r, u.tile);
  switch (u.kind) {
  case UNIT_THREAD:
    report_tile(r, u.tile);
    fprintf(r->out, " ");
    report_thread(r, u.tile, u.index, &t->threads[u.index]);
    break;
  case UNIT_TASK:
    end_print_blocked(r, u, ID_TASK);
    break;
  case UNIT_OUTPUT: case UNIT_INPUT:
    print_queue_unit(r, u);
    break;
  case UNIT_ROUTER:
    print_router_unit(r, u);
    break;
  case UNIT_RECEIVER: case UNIT_SENDER:
    fprintf(r->out, "nothing of ");
    report_color(r, u.tile, u.index);
    fprintf(r->out, " is on its way at ");
    report_tile(r, u.tile);
    break;
  case UNIT_COMMAND:
    report_tile(r, u.tile);
    fprintf(r->out, " has not unblocked the command stream");
    print_task_to_unblock(r, u);
    break;
  case UNIT_STREAM:
    report_tile(r, u.tile);
    fprintf(r->out, " has sent the host too few words on ");
    report_color(r, u.tile, u.index);
    break;
  case UNIT_DOER:
    end_print_doer(r, u);
    break;
  case UNIT_END: default:
    end_print(r, u);
    break;
  }
}

void unit_print_short(Report *r, Unit u)
{
  report_tile(r, u.tile);
  fprintf(r->out, " ");
  switch (u.kind) {
  case UNIT_THREAD:
    if (u.index)
      fprintf(r->out, "microthread %u", u.index - 1u);
    else
      fprintf(r->out, "main thread");
    break;
  case UNIT_TASK: report_task(r, u.tile, TASK_LOCAL, u.index); break;
  case UNIT_OUTPUT: case UNIT_INPUT:
    report_queue(r, u.tile, u.kind == UNIT_OUTPUT, u.index);
    break;
  case UNIT_COMMAND: fprintf(r->out, "command stream"); break;
  case UNIT_DOER: {
    const ImageTask *task = &program_class(r->program, u.tile)->image->tasks[u.index];
    report_task(r, u.tile, task->kind, task->id);
    break;
  }
  case UNIT_STREAM:
    fprintf(r->out, "stream to the host on ");
    report_color(r, u.tile, u.index);
    break;
  case UNIT_ROUTER: case UNIT_RECEIVER: case UNIT_SENDER: case UNIT_END: default:
    report_color(r, u.tile, u.index);
    break;
  }
}
