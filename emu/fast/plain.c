/* Fast engine: the step without events. */
#define FAST_TRACED 0
#include "emu/fast/step.h"

void fast_visit_plain(FastWorker *worker, FastHalf half)
{
  visit_half(worker, half);
}

void fast_end_block_plain(FastEngine *engine)
{
  end_block(engine);
}

StallCause fast_thread_waits(FastEngine *engine, FastTile *tile, unsigned thread, uint8_t *stream)
{
  Visit v = start_visits(engine->workers);
  v.tile = tile;
  GroupPlan group = {0};
  StallCause cause = plan_general(&v, thread, &group);
  *stream = group.stream;
  return cause;
}
