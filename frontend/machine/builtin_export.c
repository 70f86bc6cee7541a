/* Exported symbols: declared to the host by the top level, found by number in running code. */
#include "frontend/machine/machine.h"
#include "frontend/sema/builtins.h"

#include <stb_ds.h>
#include <string.h>

/* ---- declaring --------------------------------------------------------------------------- */

static bool is_aggregate(const Pool *pool, PoolId type)
{
  PoolKind kind = pool_kind(pool, type);
  return kind == PK_STRUCT_TYPE || kind == PK_UNION_TYPE;
}

uint32_t export_unit_bytes(const Pool *pool, PoolId element)
{
  uint32_t bytes = type_bytes(pool, element), align = type_align(pool, element);
  return is_aggregate(pool, element) && align < bytes ? align : bytes;
}

/* What the host counts behind a pointer variable, as far as the array goes that it was initialised
 * from; 0 if unknown. */
static uint32_t pointer_extent(Sema *s, PoolId init)
{
  if (pool_is_none(init))
    return 0;
  PoolKey key = pool_key(s->pool, init);
  if (key.kind != PK_POINTER || key.u.pointer.base_kind != PTR_GLOBAL)
    return 0;
  PoolId to = s->globals[key.u.pointer.base].type;
  bool is_array = pool_kind(s->pool, to) == PK_ARRAY_TYPE;
  PoolId element = is_array ? pool_key(s->pool, to).u.array.element : to;
  uint32_t unit = export_unit_bytes(s->pool, element), bytes = type_bytes(s->pool, to);
  if (!is_array && !is_aggregate(s->pool, element))
    return 1;
  return unit && key.u.pointer.offset < bytes ? (bytes - (uint32_t)key.u.pointer.offset) / unit : 0;
}

static bool export_of_operand(Sema *s, Operand o, Span span, ExportedSymbol *symbol)
{
  symbol->type = o.type;
  if (operand_is_comptime(o) && pool_kind(s->pool, o.value) == PK_FUNC) {
    symbol->is_func = true;
    symbol->target = pool_key(s->pool, o.value).u.index;
    return true;
  }
  PoolId init = POOL(NONE);
  if (o.kind == OPR_MEMORY && o.is_global && o.offset == 0) {
    symbol->target = o.global;
    symbol->is_mutable = !o.is_const;
    init = s->globals[o.global].init;
  } else if (operand_is_comptime(o) && !type_is_comptime_only(s->pool, o.type)) {
    symbol->target = sema_constant_data(s, o.value, o.span);
    init = o.value;
  } else {
    diag_not_exportable(s->diags, span, o.type);
    return false;
  }
  if (pool_kind(s->pool, o.type) == PK_POINTER_TYPE)
    symbol->extent = pointer_extent(s, init);
  else if (pool_kind(s->pool, o.type) == PK_ARRAY_TYPE)
    symbol->extent = (uint32_t)type_element_count(s->pool, o.type);
  else
    symbol->extent = 1;
  return true;
}

/* What the host can read or pass: numbers, bools, ids and, for data, pointers to them. */
static bool is_host_scalar(Sema *s, PoolId type)
{
  IrType ir = type_ir(s->pool, type);
  return (type_is_numeric(s->pool, type) || pool_eq(type, POOL(BOOL)) || type_is_id(type)) &&
         ir != IRT_VOID;
}

/* The host sees its words. */
static bool is_host_memory(Sema *s, PoolId type)
{
  return is_aggregate(s->pool, type) && !type_is_comptime_only(s->pool, type) &&
         type_bytes(s->pool, type) > 0 && type_align(s->pool, type) > 1;
}

bool sema_is_exportable(Sema *s, PoolId type)
{
  PoolKey key = pool_key(s->pool, type);
  if (key.kind == PK_POINTER_TYPE) {
    PoolId to = key.u.pointer_type.pointee;
    PoolKey pointee = pool_key(s->pool, to);
    PoolId element = pointee.kind == PK_ARRAY_TYPE ? pointee.u.array.element : to;
    return is_host_scalar(s, element) || is_host_memory(s, element);
  }
  if (key.kind != PK_FN_TYPE)
    return is_host_scalar(s, type);
  bool ok = !key.u.fn_type.is_task && key.u.fn_type.n <= MAX_LAUNCH_PARAMS &&
            pool_eq(key.u.fn_type.result, POOL(VOID));
  for (uint32_t i = 0; ok && i < key.u.fn_type.n; i++)
    ok = is_host_scalar(s, pool_key(s->pool, type).u.fn_type.params[i]);
  return ok;
}

/* Where the layout promises a pointer: an array, or a pointer to a whole array. */
static bool lacks_pointer_to_elements(Sema *s, PoolId type, PoolId declared)
{
  PoolKey key = pool_key(s->pool, type);
  if (key.kind == PK_POINTER_TYPE && !key.u.pointer_type.is_many)
    key = pool_key(s->pool, key.u.pointer_type.pointee);
  return key.kind == PK_ARRAY_TYPE && pool_kind(s->pool, declared) == PK_POINTER_TYPE;
}

/* What the program calls the expression that it exports; the host may know it by another name. */
static StrId name_in_program(const Node *arg)
{
  if (node_kind(arg) == ND_IDENT)
    return node_ident(arg)->name;
  return node_kind(arg) == ND_MEMBER ? node_member(arg)->name.text : STR_NONE;
}

static bool export_matches(Sema *s, const ExportedSymbol *symbol, const LayoutExport *declared,
                           const Node *arg, Span at)
{
  Diags *diags = s->diags;
  const char *name = sema_text(s, symbol->name);
  if (!pool_eq(symbol->type, declared->type)) {
    diag_export_type(diags, at, name, declared->type, symbol->type);
    if (lacks_pointer_to_elements(s, symbol->type, declared->type))
      diag_export_by_pointer(diags, at, declared->is_mutable ? "var" : "const",
                             type_text(s->pool, s->arena, declared->type));
    diag_exported_here(diags, declared->span, name);
    return false;
  }
  if (!symbol->is_func && symbol->is_mutable != declared->is_mutable) {
    StrId own = name_in_program(arg);
    diag_export_mutability(diags, at, str_is_none(own) ? name : sema_text(s, own),
                           symbol->is_mutable ? "a variable" : "a constant",
                           declared->is_mutable ? "true" : "false",
                           declared->is_mutable ? "var" : "const");
    diag_exported_here(diags, declared->span, name);
    return false;
  }
  return true;
}

static bool is_exported_by_program(Sema *s, StrId name)
{
  for (size_t i = 0; i < arrlenu(s->setup->exports); i++)
    if (str_eq(s->setup->exports[i].name, name))
      return true;
  return false;
}

/* `@export_symbol(x_ptr)` under a layout that exports "x": the only name of this type that the
 * program has not exported yet is meant. */
static void note_name_of_layout(Sema *s, const ExportedSymbol *symbol, Span at)
{
  LayoutResult *layout = s->session->layout;
  const LayoutExport *meant = NULL;
  for (size_t i = 0; i < arrlenu(layout->exports); i++) {
    const LayoutExport *declared = &layout->exports[i];
    if (!pool_eq(declared->type, symbol->type) || is_exported_by_program(s, declared->name))
      continue;
    if (meant)
      return;
    meant = declared;
  }
  if (meant)
    diag_export_under_name(s->diags, at, sema_text(s, symbol->name), sema_text(s, meant->name));
}

enum { NAMES_IN_NOTE = 8 };

/* The nearest name that the layout exports, or the call that it lacks and the first few names. */
static void note_layout_exports(Sema *s, const ExportedSymbol *symbol, Span at)
{
  const char *wanted = sema_text(s, symbol->name);
  LayoutResult *layout = s->session->layout;
  const char **names = NULL, *list = "";
  for (size_t i = 0; i < arrlenu(layout->exports); i++) {
    arrput(names, sema_text(s, layout->exports[i].name));
    if (i <= NAMES_IN_NOTE)
      list = arena_printf(s->arena, "%s%s%s", list, i ? ", " : "",
                          i < NAMES_IN_NOTE ? arrlast(names) : "...");
  }
  const char *near = base_nearest(wanted, names, arrlenu(names));
  if (near)
    diag_did_you_mean(s->diags, at, near);
  else if (sema_is_exportable(s, symbol->type))
    diag_export_name_form(s->diags, at, wanted, type_text(s->pool, s->arena, symbol->type),
                          symbol->is_func ? "" : symbol->is_mutable ? ", true" : ", false");
  if (!near && names)
    diag_layout_exports(s->diags, at, list);
  arrfree(names);
}

/* An export without a layout block declares itself.  `is_named`: the call has the name. */
static const LayoutExport *find_export(Sema *s, const ExportedSymbol *symbol, bool is_named,
                                       Span at)
{
  LayoutResult *layout = s->session->layout;
  for (size_t i = 0; i < arrlenu(layout->exports); i++)
    if (str_eq(layout->exports[i].name, symbol->name))
      return &layout->exports[i];
  if (layout->has_block) {
    diag_export_unknown(s->diags, at, sema_text(s, symbol->name));
    note_layout_exports(s, symbol, at);
    if (!is_named)
      note_name_of_layout(s, symbol, at);
    return NULL;
  }
  if (symbol->is_func && !sema_is_exportable(s, symbol->type)) {
    diag_export_name_type(s->diags, at, symbol->type);
    diag_launch_form(s->diags, at, MAX_LAUNCH_PARAMS, TYPE_SCALAR_MAX_BITS);
    return NULL;
  }
  LayoutExport added = {.name = symbol->name, .type = symbol->type,
                        .is_mutable = symbol->is_mutable, .span = at};
  arrput(layout->exports, added);
  return &arrlast(layout->exports);
}

Operand builtin_export_symbol(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  const Node *arg = call->args.at[0];
  Operand o = sema_expr(s, arg, POOL(NONE));
  if (operand_is_poison(o))
    return o;
  ExportedSymbol symbol = {.span = at, .name = o.name};
  if (!export_of_operand(s, o, arg->span, &symbol)) {
    sema_note_usage(s, &call->head);
    return operand_poison();
  }
  if (call->args.count > 1) {
    PoolId text = sema_comptime(s, call->args.at[1], POOL(COMPTIME_STRING));
    if (pool_eq(text, POOL(POISON)))
      return operand_poison();
    if (pool_kind(s->pool, text) != PK_STRING) {
      diag_not_a_string(s->diags, call->args.at[1]->span,
                        pool_type_of(s->pool, text));
      return operand_poison();
    }
    symbol.name = pool_key(s->pool, text).u.string;
  } else if (!str_is_none(name_in_program(arg))) {
    symbol.name = name_in_program(arg);
  }
  for (size_t i = 0; i < arrlenu(s->setup->exports); i++)
    if (str_eq(s->setup->exports[i].name, symbol.name)) {
      diag_export_twice(s->diags, at, sema_text(s, symbol.name));
      sema_first_here(s, at, s->setup->exports[i].span);
      return operand_poison();
    }
  const LayoutExport *declared = find_export(s, &symbol, call->args.count > 1, at);
  if (!declared || !export_matches(s, &symbol, declared, arg, at))
    return operand_poison();
  arrput(s->setup->exports, symbol);
  return operand_void();
}

/* The declaration that a pointer is directly to; NULL: to none. */
static Decl *pointed_decl(Sema *s, PoolId pointer)
{
  PoolKey key = pool_key(s->pool, pointer);
  if (key.kind == PK_POINTER && key.u.pointer.base_kind == PTR_GLOBAL) {
    Global g = s->globals[key.u.pointer.base];
    bool is_whole = pool_eq(pool_key(s->pool, key.type).u.pointer_type.pointee, g.type);
    return g.decl != IR_NO_ID && is_whole ? &s->modules[g.decl_module].decls[g.decl] : NULL;
  }
  if (key.kind != PK_FUNC || pool_kind(s->pool, key.type) != PK_POINTER_TYPE)
    return NULL;
  FuncInstance f = s->funcs[key.u.index];
  Decl *decls = s->modules[f.decl_module].decls;
  for (size_t i = 0; i < arrlenu(decls); i++)
    if (decls[i].node == f.node && !f.is_generic)
      return &decls[i];
  return NULL;
}

/* The name in the settings of @export; raw 0 after reporting. */
static StrId export_name(Sema *s, const Node *settings)
{
  Settings set = settings_read(s, settings, NULL, false);
  if (!set.ok)
    return STR_NONE;
  Setting *name = settings_take(s, &set, "name");
  if (name == NULL)
    settings_missing(s, &set, settings_group(SETTINGS_symbol)->what, "name");
  settings_finish(s, &set, SETTINGS_symbol);
  if (name == NULL || operand_is_poison(name->value))
    return STR_NONE;
  if (pool_kind(s->pool, name->value.value) == PK_STRING)
    return pool_key(s->pool, name->value.value).u.string;
  diag_not_a_string(s->diags, name->span, name->value.type);
  return STR_NONE;
}

/* The storage class `export` under a name that may be computed. */
Operand builtin_export(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  const Node *arg = call->args.at[0];
  PoolId pointer = sema_comptime(s, arg, POOL(NONE));
  StrId name = export_name(s, call->args.at[1]);
  if (pool_eq(pointer, POOL(POISON)) || str_is_none(name))
    return operand_poison();
  Decl *d = pointed_decl(s, pointer);
  if (d == NULL) {
    diag_export_pointer(s->diags, arg->span, pointer);
    return operand_poison();
  }
  if (d->exported_as.raw) {
    diag_export_twice(s->diags, at, sema_text(s, d->name));
    sema_first_here(s, at, d->exported_at);
    return operand_poison();
  }
  d->exported_as = name;
  d->exported_at = at;
  sema_keep_export(s, d);
  return operand_void();
}

/* The launch server is part of <memcpy/memcpy>; older programs ask for it themselves. */
Operand builtin_rpc(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  Operand o = sema_rvalue(s, call->args.at[0], POOL(NONE));
  if (operand_is_poison(o))
    return o;
  if (!pool_eq(o.type, POOL(COLOR)) && !pool_eq(o.type, POOL(DATA_TASK_ID))) {
    diag_rpc_target(s->diags, call->args.at[0]->span, o.type);
    sema_note_usage(s, &call->head);
    return operand_poison();
  }
  return operand_void();
}

/* ---- by number --------------------------------------------------------------------------- */

/* A symbol's number is its place among the names that the layout exports. */
static uint32_t export_number(const Sema *s, const ExportedSymbol *symbol)
{
  const LayoutExport *exports = s->session->layout->exports;
  for (uint32_t i = 0; i < arrlenu(exports); i++)
    if (str_eq(exports[i].name, symbol->name))
      return i;
  ICE("export without a declaration");
}

Operand builtin_get_symbol_id(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  const Node *arg = call->args.at[0];
  Operand o = sema_expr(s, arg, POOL(NONE));
  ExportedSymbol wanted = {0};
  if (operand_is_poison(o))
    return o;
  if (!export_of_operand(s, o, arg->span, &wanted)) {
    sema_note_usage(s, &call->head);
    return operand_poison();
  }
  for (size_t i = 0; i < arrlenu(s->setup->exports); i++) {
    const ExportedSymbol *e = &s->setup->exports[i];
    if (e->is_func == wanted.is_func && e->target == wanted.target)
      return operand_value(s, pool_int(s->pool, POOL(U16), export_number(s, e)));
  }
  diag_not_exported(s->diags, arg->span);
  return operand_poison();
}

static bool is_tensor(const Sema *s, const ExportedSymbol *e)
{
  return !e->is_func && pool_kind(s->pool, e->type) == PK_POINTER_TYPE;
}

Operand builtin_has_exported_tensors(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)call, (void)at, (void)want;
  const LayoutExport *exports = s->session->layout->exports;
  bool found = false;
  for (size_t i = 0; i < arrlenu(exports); i++)
    found |= pool_kind(s->pool, exports[i].type) == PK_POINTER_TYPE;
  return operand_value(s, pool_bool(found));
}

/* What the variable of the exported symbol with this number holds.  The number may be known at run
 * time only: one comparison for each symbol that `fits`; the last one is taken unasked. */
static Operand symbol_by_number(Sema *s, const NodeBuiltinCall *call, const Node *number,
                                PoolId type, PoolId result, bool any_tensor)
{
  Operand o = sema_arg(s, number, POOL(U16));
  IrValue value = IR_NO_VALUE;
  if (operand_is_poison(o))
    return o;
  int64_t known = -1;
  if (operand_is_comptime(o) &&
      !sema_number_in(s, o, 0, UINT16_MAX, "a symbol's number", number->span, &known))
    return operand_poison();
  for (size_t i = 0; i < arrlenu(s->setup->exports); i++) {
    const ExportedSymbol *e = &s->setup->exports[i];
    bool fits = any_tensor ? is_tensor(s, e) : !e->is_func && pool_eq(e->type, type);
    if (!fits || (known >= 0 && (uint32_t)known != export_number(s, e)))
      continue;
    IrType ir = type_ir(s->pool, e->type);
    IrValue it = ir_load(&s->b, ir, ir_global_addr(&s->b, sema_global_ir(s, e->target), 0));
    if (ir_value_is_none(value)) {
      value = it;
      continue;
    }
    IrValue own = ir_const(&s->b, IRT_I16, export_number(s, e));
    IrValue is_it = ir_binary(&s->b, IR_eq, IRT_BOOL, sema_ir(s, o), own);
    value = ir_select(&s->b, ir, is_it, it, value);
  }
  if (!ir_value_is_none(value))
    return operand_runtime(value, result);
  const char *what = any_tensor ? "array"
                   : arena_printf(s->arena, "'%s'", type_text(s->pool, s->arena, type));
  diag_no_such_symbol(s->diags, known >= 0 ? number->span : call->name.span, what,
                      known >= 0 ? " with this number" : "");
  return operand_poison();
}

Operand builtin_get_symbol_value(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  PoolId type = sema_type_expr(s, call->args.at[0]);
  if (pool_eq(type, POOL(POISON_TYPE)))
    return operand_poison();
  return symbol_by_number(s, call, call->args.at[1], type, type, false);
}

Operand builtin_get_tensor_ptr(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  PoolId words = pool_pointer_type(s->pool, true, false, POOL(U16));
  return symbol_by_number(s, call, call->args.at[0], POOL(NONE), words, true);
}
