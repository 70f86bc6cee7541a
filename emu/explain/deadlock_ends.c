/* What is known of the end of a chain of waits, for its words and for the advice. */
#include "emu/explain/explain_internal.h"
#include "emu/explain/deadlock.h"

#include <string.h>

unsigned position_that_opens(Report *r, Unit closed, bool inputs, PortMask *ports)
{
  const InspectColor *state = &report_look(r, closed.tile)->colors[closed.index];
  const ImageColorConfig *config = program_color(r->program, closed.tile, closed.index);
  for (unsigned i = state->position + 1u; config && i < MAX_SWITCH_POSITIONS; i++) {
    const ImagePosition *position = &config->positions[i];
    *ports = (inputs ? position->rx & ~state->rx : position->tx & ~state->tx);
    if (position->valid && *ports)
      return i;
  }
  return 0;
}

bool is_cut_by_fifo(Report *r, uint32_t tile, QueueUse use, bool push)
{
  const TileRecord *record = report_look(r, tile)->record;
  return use.elements && record->fifo_left && record->fifo_ended >> push & 1 &&
         record->fifo[push].pc == use.pc;
}

/* Lines of the class with such an instruction, at most MOST_STARTS. */
static unsigned places_of(const Report *r, uint32_t tile, InsnQuestion *question, unsigned id,
                          StartPlace places[MOST_STARTS])
{
  const ClassCode *cls = program_class(r->program, tile);
  unsigned n = 0;
  for (uint32_t i = 0; i < cls->n_insns && n < MOST_STARTS; i++) {
    if (!question(cls, &cls->insns[i], id))
      continue;
    StartPlace *place = &places[n];
    bool is_new = true;
    *place = (StartPlace){.pc = cls->pc_of[i], .is_operation = cls->insns[i].op == OP_vec};
    program_location(r->program, tile, place->pc, place->text, sizeof place->text);
    for (unsigned k = 0; k < n; k++)
      is_new &= strcmp(places[k].text, place->text) != 0;
    n += is_new;
  }
  return n;
}

static bool is_running(Report *r, uint32_t tile, uint16_t pc)
{
  const InspectTile *t = report_look(r, tile);
  for (unsigned i = 0; i < ARRAY_COUNT(t->threads); i++)
    if (t->threads[i].state == THREAD_VECTOR && t->threads[i].run->pc == pc)
      return true;
  return false;
}

unsigned unrun_starts(Report *r, uint32_t tile, unsigned id, StartPlace places[MOST_STARTS])
{
  unsigned n = places_of(r, tile, insn_activates, id, places);
  if (n)
    return n;
  n = places_of(r, tile, insn_activates_at_end, id, places);
  for (unsigned i = 0; i < n; i++)
    if (is_running(r, tile, places[i].pc))
      return 0;
  return n;
}

bool hears_itself(Report *r, uint32_t tile, unsigned color)
{
  const ImageColorConfig *config = program_color(r->program, tile, color);
  unsigned position = report_look(r, tile)->colors[color].position;
  PortMask ramp = port_bit(PORT_RAMP);
  return config && position > 0 && config->positions[position].rx == ramp &&
         (config->positions[position].tx & ramp);
}

bool sends_to_own_ramp(Report *r, Unit end, Unit *color)
{
  const InspectQueue *queue = &report_look(r, end.tile)->input[end.index];
  const ImageColorConfig *config =
    queue->count ? program_color(r->program, end.tile, queue->head.color) : NULL;
  PortMask ramp = port_bit(PORT_RAMP);
  bool leads_back = false;
  for (unsigned i = 0; config && i < MAX_SWITCH_POSITIONS; i++)
    leads_back |= (config->positions[i].valid || i == 0) && (config->positions[i].rx & ramp) &&
                  (config->positions[i].tx & ramp);
  *color = (Unit){.kind = UNIT_END, .tile = end.tile, .index = queue->head.color};
  return leads_back && has_sent(r, *color) &&
         (!queue_use_is_any(queue->use) || hears_itself(r, end.tile, color->index));
}

bool has_no_reader(Report *r, Unit end)
{
  const ClassCode *cls = program_class(r->program, end.tile);
  const InspectQueue *queue = &report_look(r, end.tile)->input[end.index];
  unsigned id = r->program->image->arch == ARCH_WSE2 ? queue->head.color : end.index;
  return queue->count && !queue_use_is_any(queue->use) && cls && !cls->data_task[id] &&
         lacks_code(r, end.tile, (Deed){DEED_READ, end.index});
}

bool has_no_data_task(Report *r, Unit end)
{
  bool is_data = !(report_look(r, end.tile)->active >> end.index & 1);
  return is_data && !program_class(r->program, end.tile)->data_task[end.index];
}

bool may_be_launched(const Report *r, uint32_t tile, uint32_t export)
{
  const ClassCode *cls = program_class(r->program, tile);
  bool is_other = r->launched && r->launched[tile] != UINT32_MAX && r->launched[tile] != export;
  return cls->image->bindings[export].present && !is_other &&
         r->program->image->exports[export].kind == EXPORT_FUNCTION;
}

uint16_t unblocking_place(const Report *r, uint32_t tile)
{
  const ClassCode *cls = program_class(r->program, tile);
  uint16_t at = PC_RETURN;
  for (uint32_t i = 0; i < cls->image->n_tasks && at == PC_RETURN; i++)
    at = class_unblocks(cls, cls->image->tasks[i].entry);
  for (uint32_t i = 0; i < cls->image->n_bindings && at == PC_RETURN; i++)
    if (may_be_launched(r, tile, i))
      at = class_unblocks(cls, cls->image->bindings[i].address);
  return at;
}

bool passes_idle_task(Report *r, uint32_t tile)
{
  unsigned color;
  return idle_data_task(r, tile, &color) &&
         !(report_look(r, tile)->colors[color].tx & port_bit(PORT_RAMP));
}

bool lacks_activation(Report *r, Unit end)
{
  uint16_t at;
  const ImageTask *task = missed_unblocker(r, end.tile, end.index, &at);
  return task && task->kind == TASK_LOCAL && !is_teardown(r, task);
}

bool lacks_what_was_full(Report *r, Unit end)
{
  const InspectTile *t = report_look(r, end.tile);
  return t->threads[end.index].run->dest.kind != VS_FIFO && t->record->fifo_was_full;
}

bool lacks_what_was_empty(Report *r, Unit end)
{
  const InspectTile *t = report_look(r, end.tile);
  uint16_t pc;
  return t->threads[end.index].run->dest.kind == VS_FIFO && t->record->fifo_was_empty &&
         code_ignored_takes(program_class(r->program, end.tile), &pc) > 0;
}

bool is_named_stream(const Program *program, unsigned color)
{
  return program->image->names_streams && program->image->named_streams[1] >> color & 1;
}
