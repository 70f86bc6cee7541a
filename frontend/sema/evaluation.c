/* One evaluation, from its beginning to its end. */
#include "frontend/sema/sema_internal.h"

#include "ir/base/platform.h"

#include <stb_ds.h>

/* ---- creation ------------------------------------------------------------------------------- */

static void predeclare_type(Sema *s, const char *name, PoolId id)
{
  StrId text = str_intern_z(s->session->names, name);
  pair_put(&s->own->types, text.raw, id.raw);
}

static void create_own(Sema *s)
{
  s->own = arena_new(s->arena, SemaPrivate);
  s->own->stack_end = platform_stack_end();
#define T(name, text) \
  if (text[0] != '<') \
    predeclare_type(s, text, POOL(name));
  WELL_KNOWN_TYPES(T)
#undef T
  for (Port port = PORT_NORTH; port < PORT_COUNT; port++)
    predeclare_type(s, port_name(port), pool_int(s->pool, POOL(DIRECTION), port));
}

static void destroy_own(Sema *s)
{
  SemaPrivate *own = s->own;
  arrfree(own->cells);
  hmfree(own->failed_loops);
  arrfree(own->leaves);
  arrfree(own->ranges);
  sema_forget_computed(s);
  arrfree(own->locals);
  arrfree(own->newest);
  for (size_t i = 0; i < arrlenu(own->memos); i++)
    free(own->memos[i]);
  arrfree(own->memos);
  arrfree(own->pending);
  arrfree(own->emitted);
  arrfree(own->tile_data);
  arrfree(own->blocks_run);
  arrfree(own->awaited);
  arrfree(own->closed_structs);
  pair_free(&own->types);
  pair_free(&own->instances);
  pair_free(&own->calls);
  pair_free(&own->call_places);
  for (size_t i = 0; i < arrlenu(own->calls_kept); i++)
    replay_free(own->calls_kept[i]);
  arrfree(own->calls_kept);
  pair_free(&own->constants);
  pair_free(&own->coercible);
  pair_free(&own->coerced);
  pair_free(&own->ir_names);
  pair_free(&own->self_types);
}

Sema *sema_create(Session *session, Arena *arena, Where where)
{
  Sema *s = arena_new(arena, Sema);
  s->session = session;
  s->pool = session->pool;
  s->arena = arena;
  s->diags = session->diags;
  s->now = (WalkContext){.where = where, .module = MAIN_MODULE,
                         .comptime = where == WHERE_LAYOUT || where == WHERE_COMPTIME};
  create_own(s);
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
  destroy_own(s);
}

/* A FIFO with registers of the program's choice is there even if only these are named. */
static bool is_fifo_in_registers(Sema *s, const Decl *d)
{
  const Node *init = d->kind == DECL_CONST ? node_var_decl(d->node)->init : NULL;
  if (init == NULL || init->kind != ND_BUILTIN_CALL || s->ir == NULL ||
      !str_eq(node_builtin_call(init)->name.text, sema_name(s, "allocate_fifo")))
    return false;
  NodeList args = node_builtin_call(init)->args;
  if (args.count < 2 || args.at[1]->kind != ND_STRUCT_INIT)
    return false;
  NodeList fields = node_struct_init(args.at[1])->fields;
  bool found = false;
  for (uint32_t i = 0; i < fields.count; i++)
    found |= str_eq(node_field_init(fields.at[i])->name.text, sema_name(s, "dest"));
  return found;
}

/* ---- top-level comptime blocks -------------------------------------------------------------- */

static void run_module(Sema *s, uint32_t module)
{
  while (arrlenu(s->own->blocks_run) < arrlenu(s->modules))
    arrput(s->own->blocks_run, false);
  if (s->own->blocks_run[module])
    return;
  s->own->blocks_run[module] = true;
  Decl *decls = s->modules[module].decls;
  for (size_t i = 0; i < arrlenu(decls) && !s->is_refuted; i++) {
    bool runs = decl_is_import(s, &decls[i]) || is_fifo_in_registers(s, &decls[i]);
    if (!runs || !sema_resolve(s, &decls[i]))
      continue;
    if (pool_kind(s->pool, decls[i].value) == PK_MODULE)
      run_module(s, pool_key(s->pool, decls[i].value).u.index);
  }
  NodeList nodes = s->modules[module].ast->decls;
  for (uint32_t i = 0; i < nodes.count && !s->is_refuted; i++)
    if (nodes.at[i]->kind == ND_COMPTIME)
      sema_run_comptime_block(s, node_comptime(nodes.at[i])->operand, WHERE_TOP, module);
}

/* Other objects can agree with this one about what the type looks like in memory. */
static bool is_linkable(Sema *s, PoolId type)
{
  PoolKey k = pool_key(s->pool, type);
  if (k.kind == PK_ARRAY_TYPE)
    return is_linkable(s, k.u.array.element);
  if (k.kind == PK_STRUCT_TYPE || k.kind == PK_UNION_TYPE)
    return k.u.fields.layout != LAYOUT_AUTO;
  if (k.kind == PK_INT_TYPE && type_bits(s->pool, type) != type_bytes(s->pool, type) * 8)
    return false;
  if (k.kind != PK_FN_TYPE)
    return type_ir(s->pool, type) != IRT_VOID;
  bool ok = pool_eq(k.u.fn_type.result, POOL(VOID)) || is_linkable(s, k.u.fn_type.result);
  for (uint32_t i = 0; ok && i < k.u.fn_type.n; i++)
    ok = is_linkable(s, k.u.fn_type.params[i]);
  return ok;
}

void sema_keep_export(Sema *s, Decl *d)
{
  if (s->ir == NULL || !sema_resolve(s, d))
    return;
  if (!is_linkable(s, d->type)) {
    diag_storage_type(s->diags, d->name_span, sema_text(s, d->name), d->type);
    return;
  }
  const char **name;
  if (d->kind == DECL_FN) {
    IrFuncId id = sema_func_ir(s, pool_key(s->pool, d->value).u.index);
    name = &s->ir->funcs[id.raw].name;
  } else {
    IrGlobalId id = sema_global_ir(s, sema_decl_global(s, d));   /* may move the globals */
    s->ir->globals[id.raw].keep = true;
    name = &s->ir->globals[id.raw].name;
  }
  if (d->exported_as.raw)
    sema_rename_symbol(s, name, d->exported_as, d->exported_at);
}

/* `export var` and `export fn` are there whether anything uses them or not. */
static void keep_exports(Sema *s, uint32_t module)
{
  Decl *decls = s->modules[module].decls;
  for (size_t i = 0; i < arrlenu(decls); i++)
    if (decl_storage(&decls[i]) == STORAGE_EXPORT && str_is_none(decls[i].exported_as))
      sema_keep_export(s, &decls[i]);
}

void sema_run_top_blocks(Sema *s)
{
  for (uint32_t i = 0; i < arrlenu(s->modules) && !s->is_refuted; i++) {
    run_module(s, i);
    if (!s->is_refuted)
      keep_exports(s, i);
  }
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
