/* Builtins over values, types and strings. */
#include "frontend/sema/sema_internal.h"
#include "frontend/sema/builtins.h"

#include <string.h>

static bool is_poison_type(PoolId type)
{
  return pool_eq(type, POOL(POISON_TYPE)) || pool_eq(type, POOL(POISON)) || pool_is_none(type);
}

static Operand bool_operand(Sema *s, bool value)
{
  return operand_value(s, pool_bool(value));
}

/* ---- conversions ------------------------------------------------------------------------- */

Operand builtin_as(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  PoolId type = sema_type_expr(s, call->args.at[0]);
  Operand o = sema_rvalue(s, call->args.at[1], type);
  if (is_poison_type(type) || operand_is_poison(o))
    return operand_poison();
  return sema_convert(s, o, type, call->args.at[1]->span);
}

Operand builtin_bitcast(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  PoolId type = sema_type_expr(s, call->args.at[0]);
  Operand o = sema_rvalue(s, call->args.at[1], POOL(NONE));
  if (is_poison_type(type) || operand_is_poison(o))
    return operand_poison();
  return sema_bitcast(s, o, type, call->args.at[1]->span);
}

Operand builtin_ptrcast(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want, (void)at;
  PoolId type = sema_type_expr(s, call->args.at[0]);
  Operand o = sema_rvalue(s, call->args.at[1], POOL(NONE));
  if (is_poison_type(type) || operand_is_poison(o))
    return operand_poison();
  if (pool_kind(s->pool, type) != PK_POINTER_TYPE) {
    diag_not_a_pointer_type(s->diags, call->args.at[0]->span,
                            type);
    return operand_poison();
  }
  if (pool_kind(s->pool, o.type) != PK_POINTER_TYPE) {
    diag_needs_pointer(s->diags, call->args.at[1]->span,
                       o.type);
    return operand_poison();
  }
  if (operand_is_comptime(o)) {
    PoolKey key = pool_key(s->pool, o.value);
    if (key.kind == PK_POINTER && key.u.pointer.base_kind == PTR_CELL) {
      diag_no_run_time_address(s->diags, call->args.at[1]->span);
      return operand_poison();
    }
    if (key.kind != PK_POINTER) {
      diag_needs_pointer(s->diags, call->args.at[1]->span,
                         o.type);
      return operand_poison();
    }
    key.type = type;
    return operand_value(s, pool_get(s->pool, &key));
  }
  return operand_runtime(sema_ir(s, o), type);
}

/* ---- reflection -------------------------------------------------------------------------- */

/* The operand of @type_of is analysed for its type only: what it would emit goes to a block that
 * nothing reaches. So it may be known at run time only, also in a comptime part of the code. */
Operand builtin_type_of(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want, (void)at;
  WalkContext context = walk_enter_run_time(s);
  if (s->ir == NULL || s->now.comptime) {
    Operand o = sema_expr(s, call->args.at[0], POOL(NONE));
    return operand_is_poison(o) ? o : operand_value(s, o.type);
  }
  IrBuilder kept = s->b;
  s->b.block = ir_block_add(s->ir, s->b.func);
  IrBlockId scratch = s->b.block;
  Operand o = sema_expr(s, call->args.at[0], POOL(NONE));
  s->now = context;
  s->ir->funcs[s->b.func.raw].blocks[scratch.raw].n_insns = 0;
  s->b.block = kept.block;
  s->b.loc = kept.loc;
  return operand_is_poison(o) ? o : operand_value(s, o.type);
}

Operand builtin_is_same_type(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want, (void)at;
  PoolId a = sema_type_expr(s, call->args.at[0]);
  PoolId b = sema_type_expr(s, call->args.at[1]);
  if (is_poison_type(a) || is_poison_type(b))
    return operand_poison();
  return bool_operand(s, pool_eq(a, b));
}

/* Bits of a value: of integers, enums and packed types as declared, else those in memory. */
static uint64_t info_bits(Sema *s, PoolId type)
{
  PoolKey k = pool_key(s->pool, type);
  bool is_fields = k.kind == PK_STRUCT_TYPE || k.kind == PK_UNION_TYPE;
  bool is_declared = k.kind == PK_INT_TYPE || k.kind == PK_ENUM_TYPE ||
                     (is_fields && k.u.fields.layout == LAYOUT_PACKED);
  return is_declared ? type_bits(s->pool, type) : (uint64_t)type_bytes(s->pool, type) * 8;
}

/* A struct of what <types> answers.  Sizes are 0 where values exist at compile time only. */
Operand builtin_type_info(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want, (void)at;
  PoolId type = sema_type_expr(s, call->args.at[0]);
  if (is_poison_type(type))
    return operand_poison();
  PoolKey k = pool_key(s->pool, type);
  bool has_memory = !type_is_comptime_only(s->pool, type);
  bool is_signed = k.kind == PK_INT_TYPE ? k.u.int_type.is_signed
                                         : pool_eq(type, POOL(COMPTIME_INT));
  uint64_t bits = has_memory ? info_bits(s, type) : 0;
  unsigned int_bits = bits <= TYPE_INT_MAX_BITS ? (unsigned)bits : 0;
  const struct { const char *name; PoolId value; } facts[] = {
    {"is_signed_int", pool_bool(type_is_int(s->pool, type) && is_signed)},
    {"is_unsigned_int", pool_bool(type_is_int(s->pool, type) && !is_signed)},
    {"is_float", pool_bool(type_is_float(s->pool, type))},
    {"is_float16", pool_bool(type_is_float16(type))},
    {"has_memory", pool_bool(has_memory)},
    {"bits", pool_int(s->pool, POOL(COMPTIME_INT), (int64_t)bits)},
    {"bytes", pool_int(s->pool, POOL(COMPTIME_INT), has_memory ? type_bytes(s->pool, type) : 0)},
    {"byte_align", pool_int(s->pool, POOL(COMPTIME_INT),
                            has_memory ? type_align(s->pool, type) : 0)},
    {"bits_type", pool_int_type(s->pool, false, int_bits)},
  };
  PoolField fields[ARRAY_COUNT(facts)];
  PoolId values[ARRAY_COUNT(facts)];
  for (size_t i = 0; i < ARRAY_COUNT(facts); i++) {
    values[i] = facts[i].value;
    fields[i] = (PoolField){.name = str_intern_z(s->session->names, facts[i].name),
                            .type = pool_type_of(s->pool, facts[i].value)};
  }
  PoolKey info = {.kind = PK_STRUCT_TYPE, .type = POOL(TYPE)};
  info.u.fields.n = ARRAY_COUNT(facts);
  info.u.fields.fields = fields;
  return operand_value(s, pool_aggregate(s->pool, pool_get(s->pool, &info), values,
                                         ARRAY_COUNT(facts)));
}

Operand builtin_is_comptime(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)call, (void)want, (void)at;
  return bool_operand(s, s->now.comptime);
}

/* The comptime string that an argument is; false after reporting. */
static bool string_arg(Sema *s, const Node *n, StrId *text)
{
  PoolId value = sema_comptime(s, n, POOL(COMPTIME_STRING));
  if (pool_eq(value, POOL(POISON)))
    return false;
  PoolKey key = pool_key(s->pool, value);
  if (key.kind != PK_STRING) {
    diag_not_a_string(s->diags, n->span,
                      pool_type_of(s->pool, value));
    return false;
  }
  *text = key.u.string;
  return true;
}

/* The first generation, which programs ask for and this compiler has no code for (SDK release
 * notes). */
static bool is_former_arch(const char *name) { return strcmp(name, "wse1") == 0; }

Operand builtin_is_arch(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want, (void)at;
  StrId name;
  if (!string_arg(s, call->args.at[0], &name))
    return operand_poison();
  Arch arch;
  if (is_former_arch(sema_text(s, name)))
    return bool_operand(s, false);
  if (!arch_from_name(sema_text(s, name), &arch)) {
    diag_unknown_arch(s->diags, call->args.at[0]->span, sema_text(s, name));
    return operand_poison();
  }
  return bool_operand(s, arch == s->session->options->arch);
}

Operand builtin_fp16(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)call, (void)want, (void)at;
  static const PoolId types[FP16_COUNT] = {
    [FP16_F16] = {POOL_RAW_F16}, [FP16_BF16] = {POOL_RAW_BF16}, [FP16_CB16] = {POOL_RAW_CB16}};
  return operand_value(s, types[s->session->options->fp16]);
}

/* ---- arrays ------------------------------------------------------------------------------ */

/* The array type that an argument names; none after reporting. */
static PoolId array_arg(Sema *s, const Node *n)
{
  PoolId type = sema_type_expr(s, n);
  if (is_poison_type(type))
    return POOL(NONE);
  if (pool_kind(s->pool, type) != PK_ARRAY_TYPE) {
    diag_not_an_array_type(s->diags, n->span, type);
    return POOL(NONE);
  }
  return type;
}

/* Numeric in the language's sense: booleans are, too. */
static PoolId numeric_array_arg(Sema *s, const Node *n)
{
  PoolId type = array_arg(s, n);
  if (pool_is_none(type))
    return type;
  PoolId element = pool_key(s->pool, type).u.array.element;
  if (!type_is_numeric(s->pool, element) && !pool_eq(element, POOL(BOOL))) {
    diag_not_a_numeric_array(s->diags, n->span, type);
    diag_array_without_value(s->diags, n->span, type);
    return POOL(NONE);
  }
  return type;
}

Operand builtin_zeros(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  PoolId type = numeric_array_arg(s, call->args.at[0]);
  if (pool_is_none(type))
    return operand_poison();
  PoolId element = pool_key(s->pool, type).u.array.element;
  PoolId zero = pool_eq(element, POOL(BOOL))      ? POOL(FALSE)
                : type_is_float(s->pool, element) ? pool_float(s->pool, element, 0.0)
                                                  : pool_int(s->pool, element, 0);
  return sema_splat(s, type, operand_value(s, zero), at);
}

Operand builtin_constants(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  PoolId type = numeric_array_arg(s, call->args.at[0]);
  if (pool_is_none(type))
    return operand_poison();
  PoolId element = pool_key(s->pool, type).u.array.element;
  Operand o = sema_arg(s, call->args.at[1], element);
  if (operand_is_poison(o))
    return o;
  return sema_splat(s, type, o, at);
}

Operand builtin_dimensions(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want, (void)at;
  PoolId type = array_arg(s, call->args.at[0]);
  if (pool_is_none(type))
    return operand_poison();
  uint32_t rank = pool_key(s->pool, type).u.array.rank;
  PoolId *elems = arena_many(s->arena, PoolId, rank ? rank : 1);
  for (uint32_t i = 0; i < rank; i++)
    elems[i] = pool_int(s->pool, POOL(U32), pool_key(s->pool, type).u.array.dims[i]);
  PoolId result = pool_array_type(s->pool, &rank, 1, POOL(U32));
  return operand_value(s, pool_aggregate(s->pool, result, elems, rank));
}

Operand builtin_rank(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want, (void)at;
  PoolId type = array_arg(s, call->args.at[0]);
  if (pool_is_none(type))
    return operand_poison();
  return operand_value(s, pool_int(s->pool, POOL(U16), pool_key(s->pool, type).u.array.rank));
}

Operand builtin_element_count(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want, (void)at;
  PoolId type = array_arg(s, call->args.at[0]);
  if (pool_is_none(type))
    return operand_poison();
  int64_t n = (int64_t)type_element_count(s->pool, type);
  return operand_value(s, pool_int(s->pool, POOL(U32), n));
}

Operand builtin_element_type(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want, (void)at;
  PoolId type = array_arg(s, call->args.at[0]);
  if (pool_is_none(type))
    return operand_poison();
  return operand_value(s, pool_key(s->pool, type).u.array.element);
}

/* ---- structs ----------------------------------------------------------------------------- */

Operand builtin_field(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  StrId name;
  Operand base = sema_expr(s, call->args.at[0], POOL(NONE));
  if (operand_is_poison(base) || !string_arg(s, call->args.at[1], &name))
    return operand_poison();
  return sema_member(s, base, name, at);
}

Operand builtin_has_field(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want, (void)at;
  StrId name;
  Operand base = sema_expr(s, call->args.at[0], POOL(NONE));
  if (operand_is_poison(base) || !string_arg(s, call->args.at[1], &name))
    return operand_poison();
  PoolId of = operand_is_comptime(base) && pool_eq(base.type, POOL(TYPE)) ? base.value : base.type;
  PoolKey key = pool_key(s->pool, of);
  bool found = false;
  if (key.kind == PK_STRUCT_TYPE || key.kind == PK_UNION_TYPE)
    for (uint32_t i = 0; i < key.u.fields.n; i++)
      found |= str_eq(key.u.fields.fields[i].name, name);
  else if (operand_is_comptime(base) && pool_kind(s->pool, base.value) == PK_MODULE)
    found = sema_find_decl(s, pool_key(s->pool, base.value).u.index, name) != NULL;
  return bool_operand(s, found);
}

typedef struct { StrId *names; Operand *values; uint32_t n; bool is_tuple; } Parts;

/* The fields of an anonymous struct or tuple; nothing is forced. */
static bool struct_parts(Sema *s, const Node *n, Parts *parts)
{
  Operand o = sema_rvalue(s, n, POOL(NONE));
  if (operand_is_poison(o))
    return false;
  PoolKey type = pool_key(s->pool, o.type);
  if (type.kind != PK_STRUCT_TYPE || type.u.fields.origin != 0) {
    diag_not_anonymous_struct(s->diags, n->span, o.type);
    return false;
  }
  uint32_t count = type.u.fields.n;
  parts->n = count;
  parts->is_tuple = type.u.fields.is_tuple && count > 0;
  parts->names = arena_many(s->arena, StrId, count + 1);
  parts->values = arena_many(s->arena, Operand, count + 1);
  for (uint32_t i = 0; i < count; i++)
    parts->names[i] = type.u.fields.fields[i].name;
  for (uint32_t i = 0; i < count; i++) {
    if (operand_is_comptime(o)) {
      parts->values[i] = operand_value(s, pool_key(s->pool, o.value).u.aggregate.elems[i]);
    } else if (parts->is_tuple) {
      Operand index = operand_value(s, pool_int(s->pool, POOL(COMPTIME_INT), i));
      parts->values[i] = sema_load(s, sema_index(s, o, &index, 1, n->span));
    } else {
      parts->values[i] = sema_load(s, sema_member(s, o, parts->names[i], n->span));
    }
  }
  return true;
}

static bool names_overlap(Sema *s, const Parts *a, const Parts *b, Span at)
{
  for (uint32_t i = 0; i < a->n && !a->is_tuple; i++)
    for (uint32_t k = 0; k < b->n; k++)
      if (str_eq(a->names[i], b->names[k])) {
        diag_concat_overlap(s->diags, at, sema_text(s, a->names[i]));
        return true;
      }
  return false;
}

Operand builtin_concat_structs(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  Parts a, b;
  if (!struct_parts(s, call->args.at[0], &a) || !struct_parts(s, call->args.at[1], &b))
    return operand_poison();
  if (a.n > 0 && b.n > 0 && a.is_tuple != b.is_tuple) {
    diag_concat_mixed(s->diags, at);
    return operand_poison();
  }
  if (names_overlap(s, &a, &b, at))
    return operand_poison();
  uint32_t n = a.n + b.n;
  StrId *names = arena_many(s->arena, StrId, n + 1);
  Operand *values = arena_many(s->arena, Operand, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    names[i] = i < a.n ? a.names[i] : b.names[i - a.n];
    values[i] = i < a.n ? a.values[i] : b.values[i - a.n];
  }
  bool is_tuple = a.is_tuple || b.is_tuple;
  return sema_aggregate(s, is_tuple ? NULL : names, values, n, at);
}

/* ---- ranges ------------------------------------------------------------------------------ */

static bool operand_int(Sema *s, Operand o, int64_t *v)
{
  return operand_is_comptime(o) && pool_kind(s->pool, o.value) == PK_INT &&
         pool_int_value(s->pool, o.value, v);
}

/* `@range(u16, 0, 1, n)`, with the step in front of the stop: at most the start is in it. */
static bool has_step_first(Sema *s, const Node *stop, const Operand parts[3])
{
  int64_t start, step;
  bool is_one = node_kind(stop) == ND_INT && node_int(stop)->value == 1;
  if (!is_one || !operand_int(s, parts[0], &start) || start < 0)
    return false;
  return operand_int(s, parts[2], &step) ? step > 1 : start <= 1;
}

Operand builtin_range(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  if (call->args.count == 3) {
    diag_range_arguments(s->diags, at);
    return operand_poison();
  }
  PoolId element = sema_type_expr(s, call->args.at[0]);
  if (is_poison_type(element))
    return operand_poison();
  if (!type_is_int(s->pool, element)) {
    diag_not_an_integer(s->diags, call->args.at[0]->span, "the type of a range",
                        element);
    return operand_poison();
  }
  Operand parts[3] = {operand_value(s, pool_int(s->pool, element, 0)), {0},
                      operand_value(s, pool_int(s->pool, element, 1))};
  for (uint32_t i = 1; i < call->args.count; i++)
    parts[call->args.count == 2 ? 1 : i - 1] = sema_arg(s, call->args.at[i], element);
  for (int i = 0; i < 3; i++)
    if (operand_is_poison(parts[i]))
      return operand_poison();
  int64_t step;
  if (operand_int(s, parts[2], &step) && step == 0) {
    diag_range_step_zero(s->diags, at);
    return operand_poison();
  }
  if (call->args.count == 4 && has_step_first(s, call->args.at[2], parts))
    diag_range_order(s->diags, call->args.at[2]->span);
  return sema_range(s, element, parts[0], parts[1], parts[2]);
}

static Operand range_part(Sema *s, const Node *n, uint32_t part)
{
  Operand o = sema_expr(s, n, POOL(NONE));
  if (operand_is_poison(o))
    return o;
  if (pool_kind(s->pool, o.type) != PK_RANGE_TYPE) {
    diag_not_a_range(s->diags, n->span, o.type);
    return operand_poison();
  }
  return sema_range_part(s, o, part);
}

Operand builtin_range_start(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want, (void)at;
  return range_part(s, call->args.at[0], 0);
}

Operand builtin_range_stop(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want, (void)at;
  return range_part(s, call->args.at[0], 1);
}

Operand builtin_range_step(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want, (void)at;
  return range_part(s, call->args.at[0], 2);
}

/* ---- strings ----------------------------------------------------------------------------- */

Operand builtin_strcat(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want, (void)at;
  char *text = NULL;
  size_t length = 0;
  bool ok = true;
  for (uint32_t i = 0; i < call->args.count; i++) {
    StrId part;
    if (!string_arg(s, call->args.at[i], &part)) {
      ok = false;
      continue;
    }
    size_t n = str_length(s->session->names, part);
    char *grown = arena_alloc(s->arena, length + n + 1, 1);
    if (length > 0)
      memcpy(grown, text, length);
    memcpy(grown + length, sema_text(s, part), n);
    text = grown;
    length += n;
  }
  if (!ok)
    return operand_poison();
  enum { BYTES_PER_STEP = 4 };        /* each text stays in memory */
  sema_count_steps(s, length / BYTES_PER_STEP);
  return operand_value(s, pool_string(s->pool, str_intern(s->session->names, text ? text : "",
                                                          length)));
}

Operand builtin_strlen(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want, (void)at;
  StrId text;
  if (!string_arg(s, call->args.at[0], &text))
    return operand_poison();
  return operand_value(s, pool_int(s->pool, POOL(COMPTIME_INT),
                                   (int64_t)str_length(s->session->names, text)));
}

Operand builtin_get_array(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want, (void)at;
  StrId text;
  if (!string_arg(s, call->args.at[0], &text))
    return operand_poison();
  uint32_t n = (uint32_t)str_length(s->session->names, text);
  PoolId *elems = arena_many(s->arena, PoolId, n ? n : 1);
  for (uint32_t i = 0; i < n; i++)
    elems[i] = pool_int(s->pool, POOL(U8), (uint8_t)sema_text(s, text)[i]);
  PoolId type = pool_array_type(s->pool, &n, 1, POOL(U8));
  return operand_value(s, pool_aggregate(s->pool, type, elems, n));
}

Operand builtin_get_string_from_byte(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want, (void)at;
  int64_t byte;
  const Node *arg = call->args.at[0];
  Operand o = operand_value(s, sema_comptime(s, arg, POOL(NONE)));
  if (!sema_number_in(s, o, 0, UINT8_MAX, "a byte", arg->span, &byte))
    return operand_poison();
  char text = (char)byte;
  return operand_value(s, pool_string(s->pool, str_intern(s->session->names, &text, 1)));
}

/* ---- modules ----------------------------------------------------------------------------- */

Operand builtin_import_module(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  return sema_import_builtin(s, call, at, want);
}

/* ---- checks and messages ----------------------------------------------------------------- */

static bool is_comparison(const Node *node)
{
  return node_kind(node) == ND_BINARY && binary_op_is_comparison(node_binary(node)->op);
}

/* " and NAME = VALUE" behind the text; a number says what it is, and so does a type's name. */
static const char *with_side(Sema *s, const char *text, const Node *side)
{
  PoolId value = sema_comptime(s, side, POOL(NONE));
  const char *source = scope_asserted_text(s, side->span);
  if (!source || pool_eq(value, POOL(POISON)))
    return text;
  const char *shown = value_text(s->pool, s->arena, value);
  return strcmp(source, shown) == 0 ? text
                                    : arena_printf(s->arena, "%s%s%s = %s", text,
                                                   *text ? " and " : "", source, shown);
}

/* The sides are evaluated again, and what they print is not. */
static void note_values(Sema *s, const Node *condition)
{
  if (!is_comparison(condition))
    return;
  size_t mark = diags_mark(s->diags);
  s->own->is_repeated = true;
  const char *text = with_side(s, "", node_binary(condition)->left);
  text = with_side(s, text, node_binary(condition)->right);
  s->own->is_repeated = false;
  diags_rewind(s->diags, mark);
  if (*text)
    diag_assertion_values(s->diags, condition->span, text);
}

/* Behind code that an error has left out it is most likely a consequence, and not reported.  What
 * the library asserts is up to its caller. */
static void report_false_assertion(Sema *s, const NodeBuiltinCall *call, Span at)
{
  StrId text;
  if (s->leaves_out || s->modules[s->now.module].ast->has_errors)
    return;
  Span place = sema_place_outside(s, at);
  if (call->args.count < 2)
    diag_comptime_assert(s->diags, place);
  else if (string_arg(s, call->args.at[1], &text))
    diag_comptime_assert_text(s->diags, place, sema_text(s, text));
  if (place.off != at.off)
    diag_assertion_is_here(s->diags, at);
  note_values(s, call->args.at[0]);
}

static Operand check_at_comptime(Sema *s, const NodeBuiltinCall *call, Span at)
{
  PoolId value = sema_comptime(s, call->args.at[0], POOL(BOOL));
  if (pool_eq(value, POOL(POISON)))
    return operand_poison();
  if (pool_kind(s->pool, value) != PK_BOOL_VALUE) {
    diag_not_a_bool(s->diags, call->args.at[0]->span,
                    pool_type_of(s->pool, value));
    return operand_poison();
  }
  if (pool_eq(value, POOL(TRUE)))
    return operand_void();
  report_false_assertion(s, call, at);
  s->is_refuted = true;         /* behind the text, which may call functions */
  return operand_poison();
}

Operand builtin_comptime_assert(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  return check_at_comptime(s, call, at);
}

/* Tells reports of the sides if the condition, whose value is `cond`, is a comparison: that of
 * `yes and a < b`, too, has been emitted as the last one. */
static void note_compared(Sema *s, const Node *condition, IrValue cond)
{
  const Comparison *compared = &s->own->compared;
  if (!is_comparison(condition) || !ir_value_eq(compared->result, cond))
    return;
  scope_note_asserted(s, node_binary(condition)->left->span, compared->left, compared->type);
  scope_note_asserted(s, node_binary(condition)->right->span, compared->right, compared->type);
}

Operand builtin_assert(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  if (s->now.comptime)
    return check_at_comptime(s, call, at);
  Operand o = sema_arg(s, call->args.at[0], POOL(BOOL));
  if (operand_is_poison(o))
    return o;
  IrValue cond = sema_ir(s, o);
  note_compared(s, call->args.at[0], cond);
  ir_machine_op(&s->b, IR_assert, IRT_VOID, 0, 0, &cond, 1);
  return operand_void();
}

/* Fires each time the evaluation reaches it, like a print; on stderr, so that --emit output
 * stays clean. */
Operand builtin_comptime_print(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  SourceLoc loc = source_locate(s->session->sources, at.off);
  const char *text = "";
  for (uint32_t i = 0; i < call->args.count; i++) {
    PoolId value = sema_comptime(s, call->args.at[i], POOL(NONE));
    if (pool_eq(value, POOL(POISON)))
      return operand_poison();
    PoolKey key = pool_key(s->pool, value);
    const char *part = key.kind == PK_STRING ? sema_text(s, key.u.string)
                                             : value_text(s->pool, s->arena, value);
    text = arena_printf(s->arena, "%s%s%s", text, i ? " " : "", part);
  }
  if (!s->own->is_repeated)
    fprintf(stderr, "%s:%u:%u: print: %s\n", loc.path, loc.line, loc.column, text);
  return operand_void();
}
