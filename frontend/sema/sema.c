/* Services for every part of an evaluation: names, the machine, the count of steps, operands. */
#include "frontend/sema/sema_internal.h"

#include "stb_ds.h"

StrId sema_name(const Sema *s, const char *text)
{
  return str_intern_z(s->session->names, text);
}

const char *sema_text(const Sema *s, StrId name)
{
  return str_text(s->session->names, name);
}

const char *sema_keep_text(const Sema *s, const char *text)
{
  return sema_text(s, sema_name(s, text));
}

bool sema_is_library(const Sema *s, uint32_t module)
{
  bool is_module = module < arrlenu(s->modules);    /* values of tile classes are in none */
  return is_module && files_is_standard(s->session->files, s->modules[module].ast->file);
}

bool sema_in_library(const Sema *s) { return sema_is_library(s, s->now.module); }

const Machine *sema_machine(const Sema *s)
{
  return machine_get(s->session->options->arch);
}

/* Unless the command line says a limit, code that only computes gets fewer steps than code that
 * also does something, as a layout of a million tiles does: a loop without end is found soon.  The
 * library's loops end, so its steps have a count and a limit of their own. */
static uint64_t step_limit(const Sema *s, bool in_library)
{
  enum { STEPS = 10000000, STEPS_PER_EFFECT = 100 };
  uint64_t most = s->session->options->comptime_step_limit;
  uint64_t earned = STEPS + s->own->effects * STEPS_PER_EFFECT;
  bool is_short = most == OPTION_DEFAULT_STEPS && earned < most && !in_library;
  return is_short ? earned : most;
}

void session_show_phase(Session *s)
{
  if (!status_line_is_due(&s->line))
    return;
  double seconds = base_seconds() - s->line.begun;
  if (s->of)
    status_line_show(&s->line, "cslc: %s, class %zu of %zu, %.0f s", s->phase, s->done + 1, s->of,
                     seconds);
  else
    status_line_show(&s->line, "cslc: %s, %.0f s", s->phase, seconds);
}

bool sema_step(Sema *s, Span span)
{
  enum { STEPS_PER_LOOK = 1 << 12 };
  bool in_library = sema_in_library(s);
  uint64_t limit = step_limit(s, in_library);
  uint64_t steps = ++*(in_library ? &s->own->library_steps : &s->own->steps);
  if (steps % STEPS_PER_LOOK == 0)
    session_show_phase(s->session);
  if (steps <= limit)
    return true;
  if (!s->own->is_out_of_steps)
    diag_too_many_steps(s->diags, span, (uint32_t)limit);
  s->own->is_out_of_steps = true;
  s->is_dead = true;
  return false;
}

void sema_count_steps(Sema *s, uint64_t n)
{
  bool in_library = sema_in_library(s);
  uint64_t limit = step_limit(s, in_library);
  uint64_t *steps = in_library ? &s->own->library_steps : &s->own->steps;
  uint64_t left = *steps < limit ? limit - *steps : 0;
  *steps += n < left ? n : left;
}

/* ---- operands ------------------------------------------------------------------------------- */

Operand operand_poison(void)
{
  return (Operand){.kind = OPR_POISON, .type = POOL(POISON_TYPE), .value = POOL(POISON)};
}

Operand operand_void(void)
{
  return (Operand){.kind = OPR_COMPTIME, .type = POOL(VOID), .value = POOL(VOID_VALUE)};
}

Operand operand_value(Sema *s, PoolId value)
{
  if (pool_eq(value, POOL(POISON)) || pool_is_none(value))
    return operand_poison();
  return (Operand){.kind = OPR_COMPTIME, .type = pool_type_of(s->pool, value), .value = value};
}

Operand operand_runtime(IrValue ir, PoolId type)
{
  return (Operand){.kind = OPR_RUNTIME, .type = type, .ir = ir};
}

Operand operand_place(IrValue address, PoolId type, bool is_const)
{
  return (Operand){.kind = OPR_MEMORY, .type = type, .ir = address, .is_const = is_const};
}

Operand operand_global(uint32_t global, int64_t offset, PoolId type, bool is_const)
{
  return (Operand){.kind = OPR_MEMORY, .type = type, .is_global = true, .global = global,
                   .offset = offset, .is_const = is_const};
}

bool value_is_true(PoolId value)
{
  return pool_eq(value, POOL(TRUE));
}
