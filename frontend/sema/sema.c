/* Services for every part of an evaluation: names, the machine, the count of steps. */
#include "frontend/sema/sema_internal.h"

StrId sema_name(const Sema *s, const char *text)
{
  return str_intern_z(s->session->names, text);
}

const char *sema_text(const Sema *s, StrId name)
{
  return str_text(s->session->names, name);
}

bool sema_in_library(const Sema *s)
{
  return sema_text(s, s->modules[s->now.module].path)[0] == '<';
}

const Machine *sema_machine(const Sema *s)
{
  return machine_get(s->session->options->arch);
}

/* Unless the command line says a limit, code that only computes gets fewer steps than code that
 * also does something, as a layout of a million tiles does: a loop without end is found soon. */
static uint64_t step_limit(const Sema *s)
{
  enum { STEPS = 10000000, STEPS_PER_EFFECT = 100 };
  uint64_t most = s->session->options->comptime_step_limit;
  uint64_t earned = STEPS + s->own->effects * STEPS_PER_EFFECT;
  return most == OPTION_DEFAULT_STEPS && earned < most ? earned : most;
}

bool sema_step(Sema *s, Span span)
{
  uint64_t limit = step_limit(s);
  if (++s->own->steps <= limit)
    return true;
  if (!s->own->is_out_of_steps)
    diag_too_many_steps(s->diags, span, (uint32_t)limit);
  s->own->is_out_of_steps = true;
  s->is_dead = true;
  return false;
}

void sema_count_steps(Sema *s, uint64_t n)
{
  uint64_t limit = step_limit(s);
  uint64_t left = s->own->steps < limit ? limit - s->own->steps : 0;
  s->own->steps += n < left ? n : left;
}
