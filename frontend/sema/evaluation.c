/* One evaluation, from its beginning to its end. */
#include "frontend/sema/sema_internal.h"

#include <stb_ds.h>

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
  arrfree(s->unset_locals);
  arrfree(s->lone_calls);
  arrfree(s->loops);
  arrfree(s->left_out);
  arrfree(s->local_dsds);
  arrfree(s->failed_calls);
  sema_own_destroy(s);
}

/* ---- what nothing uses ---------------------------------------------------------------------- */

static uint32_t func_of(const Sema *s, const Decl *d)
{
  return pool_key(s->pool, d->value).u.index;
}

bool sema_uses(const Sema *s, const Decl *d)
{
  if (d->state == DECL_UNRESOLVED)
    return false;
  if (d->kind != DECL_FN || d->state != DECL_DONE)
    return true;
  const FuncInstance *f = &s->funcs[func_of(s, d)];
  return f->is_called || !ir_func_is_none(f->ir);
}

static bool has_code_of_its_own(const Sema *s, uint32_t func)
{
  const FuncInstance *f = &s->funcs[func];
  const NodeFnDecl *fn = node_fn_decl(f->node);
  PoolKey type = pool_key(s->pool, f->type);
  if (f->is_generic || fn->body == NULL || fn->inlining == INLINING_ALWAYS ||
      type.kind != PK_FN_TYPE || type_is_comptime_only(s->pool, type.u.fn_type.result))
    return false;
  for (uint32_t i = 0; i < type.u.fn_type.n; i++)
    if (type_is_comptime_only(s->pool, type.u.fn_type.params[i]))
      return false;
  return true;
}

/* Functions that have no meaning without a call are walked with parameters of poison.  It spreads
 * without a message to all that depends on it, so what is reported is wrong for every call. */

static PoolId known_result(Sema *s, uint32_t func)
{
  PoolId result = pool_key(s->pool, s->funcs[func].type).u.fn_type.result;
  return pool_eq(result, POOL(ANYTYPE)) ? POOL(POISON_TYPE) : result;
}

/* A function whose value the machine cannot hold is one for compile time. */
static bool is_comptime_function(Sema *s, PoolId result)
{
  return !pool_eq(result, POOL(VOID)) && !pool_eq(result, POOL(POISON_TYPE)) &&
         type_is_comptime_only(s->pool, result);
}

static void walk_template(Sema *s, const NodeFnDecl *fn, PoolId result)
{
  for (uint32_t i = 0; i < fn->params.count; i++) {
    Name name = node_param(fn->params.at[i])->name;
    if (name_is_given(name))
      scope_add(s, name, operand_poison(), NULL);
  }
  Target target;
  target_push(s, &target, TARGET_FN, (Name){{0}, {0, 0}}, result);
  sema_block(s, fn->body, POOL(VOID));
  target_pop(s, &target);
}

static void check_template(Sema *s, uint32_t func)
{
  const FuncInstance f = s->funcs[func];
  const NodeFnDecl *fn = node_fn_decl(f.node);
  if (fn->body == NULL || pool_kind(s->pool, f.type) != PK_FN_TYPE)
    return;
  PoolId result = known_result(s, func);
  Frame frame = {.name = f.name, .is_function = true, .is_template = true, .result = result,
                 .ir_name = sema_text(s, f.name)};
  WalkContext context = {.where = WHERE_RUNTIME, .module = f.decl_module,
                         .comptime = is_comptime_function(s, result)};
  SavedWalk saved;
  sema_enter(s, &frame, context, &saved);
  IrFuncId ir = ir_func_add(s->ir, frame.ir_name, IRT_VOID, NULL, 0);
  s->b = (IrBuilder){.module = s->ir, .func = ir, .block = {0}};
  sema_at(s, fn->name.span);
  walk_template(s, fn, result);
  sema_leave(s, &saved);
}

void sema_check_unused(Sema *s, Decl *d)
{
  s->own->unused = d;
  if (sema_resolve(s, d) && d->kind == DECL_FN) {
    if (has_code_of_its_own(s, func_of(s, d)))
      sema_func_ir(s, func_of(s, d));
    else
      check_template(s, func_of(s, d));
    sema_compile_pending(s);
  }
  s->own->unused = NULL;
}
