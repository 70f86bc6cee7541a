/* One evaluation: its beginning and end, and what every part of it asks for. */
#include "frontend/sema/sema_internal.h"

#include <stb_ds.h>
#include <stdlib.h>

Sema *sema_create(Session *session, Arena *arena, Where where)
{
  Sema *s = arena_new(arena, Sema);
  s->session = session;
  s->pool = session->pool;
  s->arena = arena;
  s->diags = session->diags;
  s->where = where;
  context_enter(s);
  return s;
}

void sema_destroy(Sema *s)
{
  context_leave(s);
  for (size_t i = 0; i < arrlenu(s->modules); i++)
    arrfree(s->modules[i].decls);
  arrfree(s->modules);
  arrfree(s->funcs);
  arrfree(s->globals);
  arrfree(s->cells);
  arrfree(s->leaves);
  arrfree(s->ranges);
  sema_forget_computed(s);
  sema_own_destroy(s);
}

StrId sema_name(const Sema *s, const char *text)
{
  return str_intern_z(s->session->names, text);
}

const char *sema_text(const Sema *s, StrId name)
{
  return str_text(s->session->names, name);
}

const Machine *sema_machine(const Sema *s)
{
  return machine_get(s->session->options->arch);
}
