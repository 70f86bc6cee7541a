/* Fast engine: the step with events. */
#define FAST_TRACED 1
#include "emu/fast/step.h"

void fast_visit_traced(FastWorker *worker, FastHalf half)
{
  visit_half(worker, half);
}

void fast_end_block_traced(FastEngine *engine)
{
  end_block(engine);
}
