/* Functions: instances, and calls at compile time, inlined and emitted. */
#include "frontend/sema/sema_internal.h"

#include <string.h>
#include "stb_ds.h"

enum { FEW_ARGS = 8 };

/* ---- signatures ----------------------------------------------------------------------------- */

typedef struct { const NodeFnDecl *fn; bool found; } ParamSearch;

static void search_params(const Node *n, ParamSearch *search);

static void search_child(void *context, Node *child)
{
  search_params(child, context);
}

static void search_params(const Node *n, ParamSearch *search)
{
  if (n->kind == ND_IDENT)
    for (uint32_t i = 0; i < search->fn->params.count; i++)
      if (str_eq(node_param(search->fn->params.at[i])->name.text, node_ident(n)->name))
        search->found = true;
  if (!search->found)
    node_visit_children(n, search_child, search);
}

/* Does the type depend on the function's parameters? */
static bool depends_on_params(const NodeFnDecl *fn, const Node *type)
{
  ParamSearch search = {fn, false};
  if (type->kind == ND_ANYTYPE)
    return true;
  search_params(type, &search);
  return search.found;
}

uint32_t sema_func_add(Sema *s, uint32_t module, const Node *node)
{
  FuncInstance f = {.decl_module = module, .node = node, .ir = {IR_NO_ID},
                    .instantiated_by = IR_NO_ID,
                    .name = node_fn_decl(node)->name.text};
  arrput(s->funcs, f);
  return (uint32_t)arrlenu(s->funcs) - 1;
}

/* The type of a function as declared; what depends on arguments is anytype. */
static PoolId declared_type(Sema *s, const NodeFnDecl *fn, bool *is_generic)
{
  uint32_t n = fn->params.count;
  PoolId *params = arena_many(s->arena, PoolId, n + 1);
  bool is_bad = false;
  *is_generic = false;
  for (uint32_t i = 0; i < n; i++) {
    const NodeParam *p = node_param(fn->params.at[i]);
    if (p->is_comptime || depends_on_params(fn, p->type))
      *is_generic = true;
    if (depends_on_params(fn, p->type)) {
      params[i] = POOL(ANYTYPE);
      continue;
    }
    params[i] = sema_type_expr(s, p->type);
    is_bad = is_bad || pool_eq(params[i], POOL(POISON_TYPE));
    /* Parameters of types that the machine cannot hold are bound like comptime ones. */
    if (!is_bad && (type_is_comptime_only(s->pool, params[i]) || pool_eq(params[i], POOL(VOID))))
      *is_generic = true;
  }
  PoolKey k = {.kind = PK_FN_TYPE, .type = POOL(TYPE)};
  k.u.fn_type.is_task = fn->is_task;
  k.u.fn_type.n = n;
  k.u.fn_type.params = params;
  k.u.fn_type.result = POOL(ANYTYPE);
  if (depends_on_params(fn, fn->result))
    *is_generic = true;
  else
    k.u.fn_type.result = sema_type_expr(s, fn->result);
  is_bad = is_bad || pool_eq(k.u.fn_type.result, POOL(POISON_TYPE));
  return is_bad ? POOL(POISON_TYPE) : pool_get(s->pool, &k);
}

PoolId sema_func_value(Sema *s, uint32_t func)
{
  if (pool_is_none(s->funcs[func].type)) {
    const NodeFnDecl *fn = node_fn_decl(s->funcs[func].node);
    Frame frame = {.is_declaration = true};
    SavedWalk saved;
    bool is_generic = false;
    sema_enter(s, &frame, walk_comptime_in(s, s->funcs[func].decl_module), &saved);
    PoolId type = declared_type(s, fn, &is_generic);
    sema_leave(s, &saved);
    s->funcs[func].type = type;
    s->funcs[func].is_generic = is_generic;
  }
  PoolId type = s->funcs[func].type;
  if (pool_eq(type, POOL(POISON_TYPE)))
    return POOL(POISON);
  return pool_get(s->pool, &(PoolKey){.kind = PK_FUNC, .type = type, .u.index = func});
}

/* ---- arguments ------------------------------------------------------------------------------ */

/* The arguments of a call: nodes in the caller's scope, or operands. */
typedef struct {
  const NodeList *nodes;
  const Operand *values;
  uint32_t n;
  Span at;
} ArgSource;

/* A call being bound. */
typedef struct {
  uint32_t func;
  const NodeFnDecl *fn;
  Operand *args;
  PoolId *types;           /* of the parameters */
  PoolId result;
  Span at;
  bool folds;              /* the call is one at compile time, in any place */
} Binding;

/* What the machine cannot return makes the call one at compile time. */
static bool must_fold(Sema *s, PoolId result)
{
  return !pool_eq(result, POOL(VOID)) && type_is_comptime_only(s->pool, result);
}

static Name param_name(const NodeFnDecl *fn, uint32_t i)
{
  return node_param(fn->params.at[i])->name;
}

static void add_params(Sema *s, const Binding *b, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++) {
    Name name = param_name(b->fn, i);
    Operand o = b->args[i];
    o.decl = NULL;
    if (name_is_given(name))
      scope_add(s, name, o, node_param(b->fn->params.at[i])->type);
  }
}

/* A type of the signature, with the arguments before parameter n in scope. */
static PoolId signature_type(Sema *s, const Binding *b, const Node *type, uint32_t n)
{
  Frame frame = {.called_at = b->at, .name = b->fn->name.text};
  SavedWalk saved;
  sema_enter(s, &frame, walk_comptime_in(s, s->funcs[b->func].decl_module), &saved);
  add_params(s, b, n);
  s->own->local_uses++;
  PoolId out = sema_type_expr(s, type);
  sema_leave(s, &saved);
  return out;
}

static Operand arg_operand(Sema *s, const ArgSource *src, uint32_t i, PoolId want, bool is_comptime)
{
  if (src->nodes == NULL) {
    Operand o = sema_load(s, src->values[i]);
    return o.span.off == 0 ? operand_at(o, src->at) : o;
  }
  const Node *n = src->nodes->at[i];
  return is_comptime ? sema_comptime_operand(s, n, want)
                     : operand_at(sema_load(s, sema_expr(s, n, want)), n->span);
}

static void note_parameter(Sema *s, const NodeParam *p)
{
  const char *name = name_is_given(p->name) ? sema_text(s, p->name.text) : "";
  diag_parameter_here(s->diags, p->head.span, name);
}

/* The type of a parameter exists at compile time only.  `follows`: from another argument. */
static void note_comptime_type(Sema *s, const NodeParam *p, PoolId type, bool follows, Span call)
{
  diag_parameter_of_type(s->diags, p->head.span, sema_text(s, p->name.text), type);
  if (follows && (pool_eq(type, POOL(COMPTIME_INT)) || pool_eq(type, POOL(COMPTIME_FLOAT))))
    diag_number_decides_type(s->diags, call);
}

static bool bind_arg(Sema *s, Binding *b, const ArgSource *src, uint32_t i, PoolId declared,
                     bool is_generic)
{
  const NodeParam *p = node_param(b->fn->params.at[i]);
  bool is_any = p->type->kind == ND_ANYTYPE;
  PoolId type = is_any ? POOL(NONE) : declared;
  bool follows = !is_any && is_generic && pool_eq(declared, POOL(ANYTYPE));
  if (follows) {
    type = signature_type(s, b, p->type, i);
    if (pool_eq(type, POOL(POISON_TYPE)))
      return false;
  }
  size_t errors = diags_error_count(s->diags);
  bool has_comptime_type = !pool_is_none(type) && type_is_comptime_only(s->pool, type);
  bool must_be_known = p->is_comptime || b->folds || has_comptime_type;
  Operand o = arg_operand(s, src, i, type, must_be_known);
  /* An error in a function that the argument calls has nothing to do with the parameter. */
  if (operand_is_poison(o) && diags_error_count(s->diags) > errors &&
      (src->nodes == NULL || diags_last_is_in(s->diags, src->nodes->at[i]->span))) {
    if (p->is_comptime)
      note_parameter(s, p);
    else if (has_comptime_type)
      note_comptime_type(s, p, type, follows, src->at);
  }
  if (p->is_comptime && !operand_is_poison(o) && o.kind != OPR_COMPTIME) {
    operand_report_run_time(s, &o);
    note_parameter(s, p);
    o = operand_poison();
  }
  if (!operand_is_poison(o) && !is_any && !pool_eq(o.type, type)) {
    StrId name = o.name;
    bool is_coercible = sema_coercible(s, o, type);
    o = sema_coerce(s, o, type, o.span);
    if (!is_coercible) {
      note_parameter(s, p);
      o = operand_poison();
    }
    o.name = name;
  }
  b->args[i] = o;
  b->types[i] = is_any || pool_eq(type, POOL(COMPTIME_STRUCT)) ? o.type : type;
  return !operand_is_poison(o);
}

static bool bind_arguments(Sema *s, Binding *b, const ArgSource *src)
{
  uint32_t n = b->fn->params.count;
  if (src->n != n) {
    diag_wrong_argument_count(s->diags, src->at,
                              arena_printf(s->arena, "'%s'", sema_text(s, b->fn->name.text)), n,
                              src->n);
    diag_declared_here(s->diags, b->fn->name.span, sema_text(s, b->fn->name.text));
    return false;
  }
  PoolKey type = pool_key(s->pool, s->funcs[b->func].type);
  PoolId result = type.u.fn_type.result;
  bool is_generic = s->funcs[b->func].is_generic, is_good = true;
  b->folds = !pool_eq(result, POOL(ANYTYPE)) && must_fold(s, result);
  for (uint32_t i = 0; i < n; i++)
    is_good = bind_arg(s, b, src, i, type.u.fn_type.params[i], is_generic) && is_good;
  if (!is_good)
    return false;
  b->result = result;
  if (pool_eq(b->result, POOL(ANYTYPE)))
    b->result = signature_type(s, b, b->fn->result, n);
  return !pool_eq(b->result, POOL(POISON_TYPE));
}

/* ---- calls at compile time ------------------------------------------------------------------ */

static bool may_call(Sema *s, Span at, const NodeFnDecl *fn)
{
  uint32_t limit = s->session->options->comptime_depth_limit;
  if (s->own->depth < limit)
    return sema_step(s, at);
  diag_calls_too_deep(s->diags, at, sema_text(s, fn->name.text), limit);
  s->is_dead = true;
  return false;
}

/* The body in the frame just entered; what it returns, of the result type. */
static Operand walk_body(Sema *s, const Binding *b)
{
  Target target;
  target_push(s, &target, TARGET_FN, (Name){{0}, {0, 0}}, b->result);
  sema_block(s, b->fn->body, POOL(VOID));
  target_pop(s, &target);
  if (!s->is_dead) {
    Operand end = operand_void();
    if (s->is_refuted) {
      end = operand_poison();
    } else if (!pool_eq(b->result, POOL(VOID))) {
      diag_missing_return(s->diags, b->fn->name.span, sema_text(s, b->fn->name.text),
                          b->result);
      end = operand_poison();
    }
    exit_add(s, &target.breaks, end, b->at);
  }
  bool has_exit = target.breaks.n > 0;
  Operand out = sema_emits(s) ? exits_join(s, &target.breaks, b->result, b->at)
              : has_exit ? target.breaks.at[0].value : operand_poison();
  exits_fork_cells(s, &target.breaks);
  /* Without an exit the steps have run out, or the code loops for ever at run time. */
  s->is_dead = !has_exit;
  return out;
}

/* What pointers lead to can change between calls, which keeps them from being memoised. */
static bool has_stable_args(Sema *s, const Binding *b)
{
  uint32_t n = b->fn->params.count;
  bool is = n <= FEW_ARGS;
  for (uint32_t i = 0; is && i < n; i++)
    is = !value_has_pointer(s->pool, b->args[i].value);
  return is;
}

static uint64_t key_of(Sema *s, const Binding *b, const PoolId *values, uint32_t n)
{
  return (uint64_t)b->func << 32 | pool_aggregate(s->pool, POOL(ANYTYPE), values, n).raw;
}

static uint64_t key_of_args(Sema *s, const Binding *b)
{
  PoolId few[FEW_ARGS];
  uint32_t n = b->fn->params.count;
  for (uint32_t i = 0; i < n; i++)
    few[i] = b->args[i].value;
  return key_of(s, b, few, n);
}

/* What keeps the calls with the same arguments but for integers; NULL: nothing does.  `constant`:
 * the named arguments that are no integers, a bit each. */
static Replay *replay_of(Sema *s, const Binding *b, uint32_t *constant)
{
  PoolId few[FEW_ARGS];
  uint32_t n = b->fn->params.count, named = 0, integers = 0;
  *constant = 0;
  for (uint32_t i = 0; i < n; i++) {
    int64_t value;
    bool is_integer = pool_int_value(s->pool, b->args[i].value, &value) &&
                      type_is_int(s->pool, b->args[i].type);
    few[i] = is_integer ? b->args[i].type : b->args[i].value;
    integers += is_integer;
    if (name_is_given(param_name(b->fn, i)))
      *constant |= (uint32_t)!is_integer << named++;
  }
  Replay *r = integers > 0 ? replay_of_call(s, key_of(s, b, few, n)) : NULL;
  return r != NULL && !r->is_off ? r : NULL;
}

/* The body of a call in its frame, walked or as an earlier call had it.  `first`: the local with
 * the first argument. */
static Operand walk_or_repeat(Sema *s, const Binding *b, Replay *r, uint32_t first,
                              uint32_t constant)
{
  PoolId value;
  Operand out;
  replay_enter(s, r);
  replay_begin(s, first, constant);
  if (replay_repeat(s, bool_at_hand, &value)) {
    out = operand_value(s, value);
  } else {
    ReplayStart start;
    replay_start(s, &start);
    out = walk_body(s, b);
    r->does_more |= out.kind != OPR_COMPTIME;
    replay_keep(s, &start, out.value);
  }
  replay_leave(s, r);
  return out;
}

static Operand call_comptime(Sema *s, const Binding *b)
{
  uint32_t n = b->fn->params.count;
  for (uint32_t i = 0; i < n; i++)
    if (b->args[i].kind != OPR_COMPTIME) {
      operand_report_run_time(s, &b->args[i]);
      return operand_poison();
    }
  bool is_stable = has_stable_args(s, b);
  uint32_t constant = 0;
  Replay *r = is_stable ? replay_of(s, b, &constant) : NULL;
  bool has_key = is_stable && r == NULL && !s->funcs[b->func].has_effects;
  uint64_t key = has_key ? key_of_args(s, b) : 0;
  uint32_t known;
  if (has_key && pair_get(&s->own->calls, key, &known))
    return known == POOL(POISON).raw ? operand_poison() : operand_value(s, (PoolId){known});
  if (!may_call(s, b->at, b->fn))
    return operand_poison();
  Frame frame = {.called_at = b->at, .name = b->fn->name.text, .is_function = true,
                 .result = b->result};
  SavedWalk saved;
  uint64_t effects = s->own->effects;
  uint32_t errors = (uint32_t)diags_error_count(s->diags);
  sema_enter(s, &frame, walk_comptime_in(s, s->funcs[b->func].decl_module), &saved);
  s->own->depth++;
  uint32_t first = (uint32_t)arrlenu(s->own->locals);
  add_params(s, b, n);
  Operand out = r != NULL ? walk_or_repeat(s, b, r, first, constant) : walk_body(s, b);
  bool is_dead = s->is_dead;
  s->own->depth--;
  sema_leave(s, &saved);
  s->is_dead = is_dead;
  out.decl = NULL;
  out.name = STR_NONE;
  s->funcs[b->func].has_effects |= effects != s->own->effects;
  has_key &= effects == s->own->effects;
  if (operand_is_poison(out)) {
    if (has_key && !template_is_walked(s))
      pair_put(&s->own->calls, key, POOL(POISON).raw);     /* or a recursion would not end */
    return out;
  }
  if (has_key && errors == diags_error_count(s->diags))
    pair_put(&s->own->calls, key, out.value.raw);
  return out;
}

/* ---- inlined calls -------------------------------------------------------------------------- */

static Operand call_inline(Sema *s, const Binding *b, bool is_for_settings)
{
  if (!may_call(s, b->at, b->fn))
    return operand_poison();
  const char *name = sema_text(s, b->fn->name.text);
  Frame frame = {.called_at = b->at, .name = b->fn->name.text, .is_function = true,
                 .result = b->result, .inlined_at = s->b.loc, .ir_name = name,
                 .is_for_settings = is_for_settings};
  SavedWalk saved;
  sema_enter(s, &frame, walk_in(s, s->funcs[b->func].decl_module), &saved);
  s->own->depth++;
  add_params(s, b, b->fn->params.count);
  Operand out = walk_body(s, b);
  bool is_dead = s->is_dead;
  IrBlockId block = s->b.block;
  s->own->depth--;
  sema_leave(s, &saved);
  s->is_dead = is_dead;
  s->b.block = block;
  out.decl = NULL;
  out.name = STR_NONE;
  return out;
}

/* ---- instances ------------------------------------------------------------------------------ */

static bool is_anonymous_struct(const Sema *s, PoolId type)
{
  PoolKey k = pool_key(s->pool, type);
  return k.kind == PK_STRUCT_TYPE && !k.u.fields.is_tuple && k.u.fields.origin == 0;
}

/* An anonymous struct whose fields are known stays known, as the type comptime_struct says and as
 * in Zig with `anytype`: programs pass settings and configurations so. */
static bool stays_known(const Sema *s, const Binding *b, uint32_t i)
{
  if (b->args[i].kind != OPR_COMPTIME)
    return false;
  PoolId declared = pool_key(s->pool, s->funcs[b->func].type).u.fn_type.params[i];
  if (pool_eq(declared, POOL(COMPTIME_STRUCT)))
    return true;
  return node_param(b->fn->params.at[i])->type->kind == ND_ANYTYPE &&
         is_anonymous_struct(s, b->types[i]);
}

static bool is_bound_by_value(Sema *s, const Binding *b, uint32_t i)
{
  return node_param(b->fn->params.at[i])->is_comptime || pool_eq(b->types[i], POOL(VOID)) ||
         type_is_comptime_only(s->pool, b->types[i]);
}

/* The function whose code is being made; IR_NO_ID. */
static uint32_t compiled_func(const Sema *s)
{
  for (const Frame *f = s->now.frame; f != NULL; f = f->up)
    if (f->is_emitted)
      return f->func;
  return IR_NO_ID;
}

enum { INLINED_KEPT = 8 };          /* for reports */

/* The calls that were inlined on the way from the function whose code is being made. */
static void keep_inlined(Sema *s, FuncInstance *f)
{
  CallSite *calls = arena_many(s->arena, CallSite, INLINED_KEPT);
  f->inlined = calls;
  for (const Frame *at = s->now.frame; at != NULL && !at->is_emitted; at = at->up)
    if (at->called_at.off != 0 && f->n_inlined < INLINED_KEPT)
      calls[f->n_inlined++] = (CallSite){at->called_at, at->name};
}

enum { INSTANCES_MAX = 20000 };     /* a tile's memory does not hold as many functions */

/* The instance for the types and comptime values of the call. */
static uint32_t instance_of(Sema *s, const Binding *b)
{
  uint32_t n = b->fn->params.count;
  if (!s->funcs[b->func].is_generic)
    return b->func;
  PoolId *parts = arena_many(s->arena, PoolId, 2 * n + 1);
  PoolId *bound = arena_many(s->arena, PoolId, 2 * n + 1), *known_parts = bound + n;
  for (uint32_t i = 0; i < n; i++) {
    if (is_bound_by_value(s, b, i)) {
      bound[i] = sema_force(s, b->args[i].value, b->args[i].span);
      if (pool_eq(bound[i], POOL(POISON)))
        return IR_NO_ID;
    } else if (stays_known(s, b, i)) {
      bound[i] = b->args[i].value;     /* not forced: tiles with other values may share the code */
    } else if (b->args[i].kind == OPR_MEMORY && is_anonymous_struct(s, b->types[i])) {
      known_parts[i] = b->args[i].value;
    }
    parts[2 * i] = b->types[i];
    parts[2 * i + 1] = pool_is_none(bound[i]) ? known_parts[i] : bound[i];
  }
  PoolId args = pool_aggregate(s->pool, POOL(ANYTYPE), parts, 2 * n);
  uint64_t key = (uint64_t)b->func << 32 | args.raw;
  uint32_t known;
  if (pair_get(&s->own->instances, key, &known))
    return known;
  if (s->own->instances.n >= INSTANCES_MAX) {
    diag_too_many_instances(s->diags, b->at, (unsigned)INSTANCES_MAX,
                            sema_text(s, b->fn->name.text));
    return IR_NO_ID;
  }
  PoolKey type = {.kind = PK_FN_TYPE, .type = POOL(TYPE)};
  type.u.fn_type.n = n;
  type.u.fn_type.params = b->types;
  type.u.fn_type.result = b->result;
  uint32_t index = sema_func_add(s, s->funcs[b->func].decl_module, s->funcs[b->func].node);
  s->funcs[index].type = pool_get(s->pool, &type);
  s->funcs[index].n_bound = n;
  s->funcs[index].bound = bound;
  s->funcs[index].known = known_parts;
  s->funcs[index].instantiated_at = b->at;
  s->funcs[index].instantiated_by = compiled_func(s);
  keep_inlined(s, &s->funcs[index]);
  pair_put(&s->own->instances, key, index);
  return index;
}

bool param_is_bound(const FuncInstance *f, uint32_t i)
{
  return f->bound != NULL && !pool_is_none(f->bound[i]);
}

bool returns_in_memory(Sema *s, PoolId result)
{
  return !pool_eq(result, POOL(VOID)) && type_ir(s->pool, result) == IRT_VOID;
}

static bool check_signature(Sema *s, const NodeFnDecl *fn, const PoolKey *type)
{
  for (uint32_t i = 0; i < type->u.fn_type.n; i++) {
    PoolId t = type->u.fn_type.params[i];
    if (!pool_eq(t, POOL(VOID)) && !type_is_comptime_only(s->pool, t) &&
        !sema_check_run_time(s, t, fn->params.at[i]->span))
      return false;
  }
  PoolId result = type->u.fn_type.result;
  return pool_eq(result, POOL(VOID)) || sema_check_run_time(s, result, fn->result->span);
}

IrFuncId sema_func_ir(Sema *s, uint32_t func)
{
  if (!ir_func_is_none(s->funcs[func].ir))
    return s->funcs[func].ir;
  const NodeFnDecl *fn = node_fn_decl(s->funcs[func].node);
  sema_func_value(s, func);
  FuncInstance f = s->funcs[func];
  const char *name = sema_link_name(s, f.decl_module, f.name, fn->linkname);
  uint16_t address;
  if (sema_section_address(s, sema_section(s, f.decl_module, fn->linksection), &address))
    diag_function_section(s->diags, fn->linksection->span, sema_text(s, f.name));
  PoolKey type = pool_key(s->pool, f.type);
  if (f.is_generic || type.kind != PK_FN_TYPE || !check_signature(s, fn, &type)) {
    if (f.is_generic)
      diag_generic_without_call(s->diags, fn->name.span, sema_text(s, f.name));
    s->funcs[func].ir = ir_func_add(s->ir, name, IRT_VOID, NULL, 0);
    s->funcs[func].compiled = true;
    return s->funcs[func].ir;
  }
  IrType *params = arena_many(s->arena, IrType, type.u.fn_type.n + 2);
  uint32_t n = 0;
  bool in_memory = returns_in_memory(s, type.u.fn_type.result);
  if (in_memory)
    params[n++] = IRT_PTR;
  for (uint32_t i = 0; i < type.u.fn_type.n; i++) {
    if (param_is_bound(&f, i))
      continue;
    IrType t = type_ir(s->pool, type.u.fn_type.params[i]);
    if (fn->is_task && t == IRT_VOID)
      t = packed_param_ir(s, type.u.fn_type.params[i]);
    params[n++] = t == IRT_VOID ? IRT_PTR : t;
  }
  IrType result = in_memory || pool_eq(type.u.fn_type.result, POOL(VOID))
                      ? IRT_VOID : type_ir(s->pool, type.u.fn_type.result);
  IrFuncId ir = ir_func_add(s->ir, name, result, params, n);
  IrFunc *out = &s->ir->funcs[ir.raw];
  out->is_task = fn->is_task;
  static const IrInlining inlining[] = {IR_INLINING_FREE, IR_INLINING_ALWAYS, IR_INLINING_NEVER};
  out->inlining = inlining[fn->inlining];
  s->ir->funcs[ir.raw].loc = ir_loc_add(s->ir, fn->name.span, IR_NO_LOC, name);
  s->funcs[func].ir = ir;
  arrput(s->own->pending, func);
  return ir;
}

/* Aggregates are passed by reference; a wide integer is a number, so it is copied. */
static IrValue argument_address(Sema *s, Operand o)
{
  if (!type_is_wide(s->pool, o.type) || o.kind == OPR_COMPTIME || o.is_temp)
    return sema_address(s, o);
  Operand copy = sema_temp(s, o.type);
  place_init(s, copy, o);
  return copy.ir;
}

/* ---- emitted calls -------------------------------------------------------------------------- */

static Operand emit_call(Sema *s, const Binding *b, uint32_t func)
{
  IrFuncId ir = sema_func_ir(s, func);
  FuncInstance f = s->funcs[func];
  uint32_t n = b->fn->params.count, n_args = 0;
  IrValue few[FEW_ARGS + 1];
  IrValue *args = n <= FEW_ARGS ? few : arena_many(s->arena, IrValue, n + 1);
  if (f.compiled && s->ir->funcs[ir.raw].n_params == 0 && n > 0 && f.is_generic)
    return operand_poison();
  Operand place = operand_poison();
  bool in_memory = returns_in_memory(s, b->result);
  if (in_memory) {
    if (!sema_check_run_time(s, b->result, b->at))
      return operand_poison();
    place = sema_temp(s, b->result);
    args[n_args++] = place.ir;
  }
  for (uint32_t i = 0; i < n; i++) {
    if (param_is_bound(&f, i))
      continue;
    bool is_scalar = type_ir(s->pool, b->types[i]) != IRT_VOID;
    args[n_args++] = is_scalar ? sema_ir(s, b->args[i]) : argument_address(s, b->args[i]);
  }
  if (s->ir->funcs[ir.raw].n_params != n_args)
    return operand_poison();          /* its signature was in error */
  IrValue v = ir_call(&s->b, ir, args, n_args);
  if (in_memory)
    return place;
  return pool_eq(b->result, POOL(VOID)) ? operand_void() : operand_runtime(v, b->result);
}

/* The form of a library's function that takes n arguments; if none does, the function itself. */
static uint32_t form_with(Sema *s, uint32_t func, uint32_t n)
{
  if (node_fn_decl(s->funcs[func].node)->params.count == n)
    return func;
  const ModuleInstance *m = &s->modules[s->funcs[func].decl_module];
  uint32_t at;
  if (!pair_get(&m->by_name, s->funcs[func].name.raw, &at))
    return func;
  for (; at != IR_NO_ID; at = m->decls[at].next_form) {
    Decl *form = &m->decls[at];
    if (node_fn_decl(form->node)->params.count == n)
      return sema_resolve(s, form) ? pool_key(s->pool, form->value).u.index : func;
  }
  return func;
}

static Operand call_func(Sema *s, uint32_t func, const ArgSource *src)
{
  func = form_with(s, func, src->n);
  const NodeFnDecl *fn = node_fn_decl(s->funcs[func].node);
  if (fn->is_task) {
    diag_call_task(s->diags, src->at, sema_text(s, fn->name.text));
    diag_declared_here(s->diags, fn->name.span, sema_text(s, fn->name.text));
    return operand_poison();
  }
  if (fn->body == NULL) {
    diag_no_body(s->diags, src->at, sema_text(s, fn->name.text));
    diag_declared_here(s->diags, fn->name.span, sema_text(s, fn->name.text));
    return operand_poison();
  }
  Operand few_args[FEW_ARGS];
  PoolId few_types[FEW_ARGS];
  uint32_t n = fn->params.count;
  Binding b = {.func = func, .fn = fn, .at = src->at, .args = few_args, .types = few_types};
  if (n > FEW_ARGS) {
    b.args = arena_many(s->arena, Operand, n);
    b.types = arena_many(s->arena, PoolId, n);
  }
  s->funcs[func].is_called = true;
  if (!bind_arguments(s, &b, src))
    return operand_poison();
  if (!sema_emits(s) || must_fold(s, b.result))
    return call_comptime(s, &b);
  bool is_for_settings = src->nodes != NULL && src->nodes == s->own->inlined;
  if (fn->inlining == INLINING_ALWAYS || is_for_settings)
    return call_inline(s, &b, is_for_settings);
  uint32_t instance = instance_of(s, &b);
  return instance == IR_NO_ID ? operand_poison() : emit_call(s, &b, instance);
}

static Operand call_pointer(Sema *s, Operand callee, const PoolKey *type, const ArgSource *src)
{
  uint32_t n = type->u.fn_type.n, n_args = 0;
  if (src->n != n) {
    diag_wrong_argument_count(s->diags, src->at, "the function pointed to", n, src->n);
    return operand_poison();
  }
  IrValue *args = arena_many(s->arena, IrValue, n + 2);
  PoolId result = type->u.fn_type.result;
  Operand place = operand_poison();
  bool in_memory = returns_in_memory(s, result), is_bad = false;
  if (in_memory) {
    place = sema_temp(s, result);
    args[n_args++] = place.ir;
  }
  IrValue address = sema_ir(s, callee);
  for (uint32_t i = 0; i < n; i++) {
    PoolId t = type->u.fn_type.params[i];
    Operand o = arg_operand(s, src, i, t, false);
    o = sema_coerce(s, o, t, o.span);
    if (operand_is_poison(o) || !sema_check_run_time(s, t, o.span)) {
      is_bad = true;
      continue;
    }
    args[n_args++] = type_ir(s->pool, t) != IRT_VOID ? sema_ir(s, o) : argument_address(s, o);
  }
  if (is_bad)
    return operand_poison();
  IrType ir_result = in_memory || pool_eq(result, POOL(VOID)) ? IRT_VOID
                                                              : type_ir(s->pool, result);
  IrValue v = ir_call_ptr(&s->b, ir_result, address, args, n_args);
  if (in_memory)
    return place;
  return pool_eq(result, POOL(VOID)) ? operand_void() : operand_runtime(v, result);
}

static Operand call_any(Sema *s, Operand callee, const ArgSource *src)
{
  callee = sema_load(s, callee);
  if (operand_is_poison(callee))
    return callee;
  if (callee.kind == OPR_COMPTIME && pool_kind(s->pool, callee.value) == PK_FUNC)
    return operand_at(call_func(s, pool_key(s->pool, callee.value).u.index, src), src->at);
  PoolKey type = pool_key(s->pool, callee.type);
  if (type.kind == PK_POINTER_TYPE && !type.u.pointer_type.is_many) {
    PoolKey fn = pool_key(s->pool, type.u.pointer_type.pointee);
    if (fn.kind == PK_FN_TYPE && sema_emits(s))
      return operand_at(call_pointer(s, callee, &fn, src), src->at);
  }
  Span at = callee.span.off != 0 ? callee.span : src->at;
  diag_not_callable(s->diags, at, callee.type);
  if (pool_eq(callee.type, POOL(TYPE)) && type_is_numeric(s->pool, callee.value))
    diag_use_as(s->diags, at);
  else if (pool_eq(callee.type, POOL(TYPE)) && callee.kind == OPR_COMPTIME
           && pool_kind(s->pool, callee.value) == PK_STRUCT_TYPE)
    diag_struct_value(s->diags, at);
  else if (type.kind == PK_ARRAY_TYPE)
    diag_element_form(s->diags, at);
  return operand_poison();
}

Operand sema_call(Sema *s, Operand callee, const Node *call_node, const NodeList *args, PoolId want)
{
  (void)want;
  ArgSource src = {.nodes = args, .n = args->count, .at = call_node->span};
  return call_any(s, callee, &src);
}

Operand sema_call_values(Sema *s, Operand callee, const Operand *args, uint32_t n, Span at,
                         PoolId want)
{
  (void)want;
  ArgSource src = {.values = args, .n = n, .at = at};
  return call_any(s, callee, &src);
}
