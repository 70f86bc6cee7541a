/* Fast engine: the step without events. */
#define FAST_TRACED 0
#include "emu/engine_fast_step.h"

void fast_visit_all_plain(FastEngine *engine)
{
  visit_all(engine);
}

StallCause fast_thread_waits(FastEngine *engine, FastTile *tile, unsigned thread, uint8_t *stream)
{
  Visit v = start_cycle(engine);
  v.tile = tile;
  GroupPlan group = {0};
  StallCause cause = plan_general(&v, thread, &group);
  *stream = group.stream;
  return cause;
}
