/* Switches and filters of a router's colors.  docs/cycle-model.md, "Routers". */
#include "emu/fabric/fabric.h"

enum { INDEX_SHIFT = 16 };

/* ---- switches -------------------------------------------------------------------------------- */

bool switch_is_there(const ImageColorConfig *config)
{
  bool any = false;
  for (unsigned k = 1; k < MAX_SWITCH_POSITIONS; k++)
    any |= config->positions[k].valid;
  return any;
}

unsigned switch_advanced(const ImageColorConfig *config, unsigned position)
{
  if (position + 1 < MAX_SWITCH_POSITIONS && config->positions[position + 1].valid)
    return position + 1;
  return config->ring ? 0 : position;
}

static unsigned commanded(const ImageColorConfig *config, unsigned position,
                          SwitchCommand command)
{
  switch (command) {
  case CMD_SWITCH_ADV: return switch_advanced(config, position);
  case CMD_SWITCH_RST: return 0;
  case CMD_NOP: case CMD_TEARDOWN: default: return position;
  }
}

PortMask switch_leaves_open(const ImageColorConfig *config, unsigned *position, uint32_t payload,
                            bool control)
{
  SwitchCommand command = control ? control_command(payload, 0).command : CMD_NOP;
  *position = commanded(config, *position, command);
  return command == CMD_TEARDOWN ? 0 : config->positions[*position].rx;
}

SwitchStep switch_execute(const ImageColorConfig *config, unsigned rx, unsigned tx,
                          uint32_t payload)
{
  SwitchCommand command = control_command(payload, 0).command;
  SwitchStep step = {.rx = (uint8_t)commanded(config, rx, command),
                     .tx = (uint8_t)commanded(config, tx, command),
                     .tears_down = command == CMD_TEARDOWN, .payload = payload};
  bool changed = step.tx != tx;
  bool pops = config->pop == POP_ALWAYS || (config->pop == POP_ON_ADVANCE && changed) ||
              (config->pop == POP_ON_ADVANCE_NOP && (changed || command == CMD_NOP));
  if (pops)
    step.payload = control_pop(payload);
  return step;
}

/* ---- filters --------------------------------------------------------------------------------- */

FilterState filter_start(const ImageFilter *filter)
{
  return (FilterState){.counter = filter->init_counter, .limit1 = filter->limit1};
}

static bool is_counting(const ImageFilter *filter)
{
  return filter->kind == FILTER_COUNTER || filter->kind == FILTER_SPARSE;
}

/* Whether the filter lets the wavelet through to the tile's ramp. */
static bool passes(const FilterState *now, const ImageFilter *filter, uint32_t payload,
                   bool control)
{
  unsigned index = payload >> INDEX_SHIFT;
  if (filter->off || filter->kind == FILTER_NONE || (is_counting(filter) && now->off))
    return true;
  if (filter->kind == FILTER_RANGE)
    return control || (index >= filter->limit1 && index <= filter->max_counter);
  if (filter->filter_control)
    return control && now->counter == filter->max_counter;
  return now->counter <= filter->max_counter;
}

static bool counts(const ImageFilter *filter, bool control)
{
  if (filter->off || !is_counting(filter))
    return false;
  return control ? filter->count_control : filter->count_data;
}

void filter_step(FilterState *now, const ImageFilter *filter)
{
  if (now->counter != now->limit1) {
    now->counter++;
    return;
  }
  now->counter = 0;
  if (filter->kind != FILTER_SPARSE)
    return;
  if (filter->has_limit2 && !now->limit2_used) {
    now->limit1 = filter->limit2;
    now->limit2_used = true;
  } else {
    now->off = true;
  }
}

PortMask router_outputs(const ImageFilter *filter, const FilterState *now, PortMask to,
                        uint32_t payload, bool control, bool *counted)
{
  const PortMask ramp = port_bit(PORT_RAMP);
  *counted = false;
  if (control && control_command(payload, 0).ce_ignore)
    to &= (PortMask)~ramp;
  if (!(to & ramp))
    return to;
  *counted = counts(filter, control);
  return passes(now, filter, payload, control) ? to : (PortMask)(to & ~ramp);
}
