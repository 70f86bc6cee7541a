/* Fast engine: the step with events. */
#define FAST_TRACED 1
#include "emu/engine_fast_step.h"

void fast_visit_all_traced(FastEngine *engine)
{
  visit_all(engine);
}
