/* One evaluation, from its beginning to its end. */
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
  s->now = (WalkContext){.where = where, .module = MAIN_MODULE,
                         .comptime = where == WHERE_LAYOUT || where == WHERE_COMPTIME};
  sema_own_create(s);
  context_enter(s);
  return s;
}

void sema_destroy(Sema *s)
{
  context_leave(s);
  for (size_t i = 0; i < arrlenu(s->modules); i++) {
    arrfree(s->modules[i].decls);
    pair_free(&s->modules[i].by_name);
  }
  arrfree(s->modules);
  arrfree(s->funcs);
  arrfree(s->globals);
  sema_own_destroy(s);
}
