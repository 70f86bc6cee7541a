/* A run in parts, between which pulses look at it. */
#include "emu/engine/engine.h"

void pulse_begin(Pulse *pulse)
{
  for (; pulse; pulse = pulse->next)
    if (pulse->depth++ == 0 && pulse->begin)
      pulse->begin(pulse);
}

void pulse_end(Pulse *pulse)
{
  for (; pulse; pulse = pulse->next)
    if (--pulse->depth == 0 && pulse->end)
      pulse->end(pulse);
}

uint64_t pulse_look(Pulse *pulse, const Engine *engine)
{
  uint64_t least = UINT64_MAX;
  for (; pulse; pulse = pulse->next) {
    uint64_t part = pulse->look(pulse, engine);
    least = part < least ? part : least;
  }
  return least;
}

static bool is_stopped(const Engine *engine)
{
  return engine->options.trace && engine->options.trace->stop;
}

RunStatus engine_run(Engine *engine, uint64_t limit)
{
  Pulse *pulse = engine->options.pulse;
  bool continues = engine->continues;
  RunStatus status;
  if (!pulse)
    return engine->ops->run(engine, limit);
  if (!continues)
    engine->begun = engine->cycle;
  for (;;) {
    uint64_t part = pulse_look(pulse, engine);
    bool is_last = limit <= engine->cycle || limit - engine->cycle <= part;
    uint64_t end = is_last ? limit : engine->cycle + part;
    engine->pauses = !is_last;
    status = engine->ops->run(engine, end);
    if (is_last || status != RUN_LIMIT || engine->cycle != end || is_stopped(engine))
      break;
    engine->continues = true;   /* the next part of this run */
  }
  engine->pauses = false;
  engine->continues = continues;
  return status;
}
