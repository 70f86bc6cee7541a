/* DSD values: @get_dsd, the mutators, tensor access expressions.
 *
 * A DSD whose fields are all comptime-known is a value of the pool (PK_DSD).  Otherwise it starts
 * as the descriptor of what is known and gets each run-time field by a dsd_set: the optimiser
 * sees plain values all the way. */
#include "frontend/machine/machine_internal.h"
#include "frontend/sema/builtins.h"
#include "frontend/machine/dsd.h"

#include <string.h>

/* ---- helpers ----------------------------------------------------------------------------- */

static const struct { PoolId type; DescKind kind; } dsd_kinds[] = {
  {{POOL_RAW_MEM1D_DSD}, DESC_MEM1D}, {{POOL_RAW_MEM4D_DSD}, DESC_MEM4D},
  {{POOL_RAW_CIRCBUF_DSD}, DESC_CIRC}, {{POOL_RAW_FABIN_DSD}, DESC_FABIN},
  {{POOL_RAW_FABOUT_DSD}, DESC_FABOUT}};

bool dsd_kind_of(PoolId type, DescKind *kind)
{
  for (size_t i = 0; i < ARRAY_COUNT(dsd_kinds); i++)
    if (pool_eq(type, dsd_kinds[i].type)) {
      *kind = dsd_kinds[i].kind;
      return true;
    }
  return false;
}

void dsd_report_argument(Sema *s, const NodeBuiltinCall *call, Span span, unsigned kinds,
                         PoolId found)
{
  const char *names[ARRAY_COUNT(dsd_kinds) + 1];
  unsigned n = 0;
  for (size_t i = 0; i < ARRAY_COUNT(dsd_kinds); i++)
    if (kinds >> dsd_kinds[i].kind & 1)
      names[n++] = type_text(s->pool, s->arena, dsd_kinds[i].type);
  if (kinds >> DESC_FIFO & 1)
    names[n++] = type_text(s->pool, s->arena, POOL(FIFO));
  const char *want = arena_printf(s->arena, "a %s", names[0]);
  for (unsigned i = 1; i < n; i++)
    want = arena_printf(s->arena, "%s%s %s", want, i + 1 < n ? "," : " or", names[i]);
  diag_dsd_argument(s->diags, span, sema_text(s, call->name.text), want, found);
  if (pool_kind(s->pool, found) == PK_ARRAY_TYPE && kinds != 1u << DESC_FIFO)
    diag_make_dsd(s->diags, span);
}

bool dsd_is_comptime(const Sema *s, Operand dsd)
{
  return operand_is_comptime(dsd) && pool_kind(s->pool, dsd.value) == PK_DSD;
}

/* Is the operand to be folded now?  A symbolic value stays one in run-time code. */
static bool is_known(const Sema *s, Operand o)
{
  return operand_is_comptime(o) && (s->now.comptime || !sema_is_symbolic(s, o.value));
}

static Operand dsd_with_key(Sema *s, Operand dsd, const PoolKey *key)
{
  Operand result = operand_value(s, pool_get(s->pool, key));
  result.name = dsd.name;
  result.span = dsd.span;
  return result;
}

Operand dsd_with_desc(Sema *s, Operand dsd, IrDesc desc)
{
  PoolKey key = pool_key(s->pool, dsd.value);
  key.u.dsd.desc = desc;
  key.u.dsd.is_changed = true;
  return dsd_with_key(s, dsd, &key);
}

PoolId dsd_element(const Sema *s, Operand dsd)
{
  if (dsd.kind == OPR_RUNTIME)
    return dsd.through;
  return dsd_is_comptime(s, dsd) ? (PoolId){pool_key(s->pool, dsd.value).u.dsd.element}
                                 : POOL(NONE);
}

static Operand dsd_set(Sema *s, Operand dsd, DsrField field, IrValue value)
{
  Operand result = operand_runtime(ir_dsd_set(&s->b, sema_ir(s, dsd), field, value), dsd.type);
  result.name = dsd.name;
  result.through = dsd_element(s, dsd);
  return result;
}

/* An integer operand: either known, or a 16-bit run-time value (ints of any width are cut or
 * widened by their sign). */
typedef struct { bool ok, known; int64_t value; IrValue ir; } Number;

static Number number_of(Sema *s, Operand o, int64_t lo, int64_t hi, const char *what, Span span)
{
  Number n = {0};
  if (operand_is_poison(o))
    return n;
  if (is_known(s, o)) {
    n.known = true;
    n.ok = sema_number_in(s, o, lo, hi, what, span, &n.value);
    return n;
  }
  if (s->now.comptime) {
    sema_comptime_value(s, o, span);
    return n;
  }
  if (!type_is_int(s->pool, o.type)) {
    diag_not_an_integer(s->diags, span, what, o.type);
    return n;
  }
  bool is_signed = lo < 0;
  PoolKey type = pool_key(s->pool, o.type);
  if (type.kind == PK_INT_TYPE && type.u.int_type.bits != 16)
    o = sema_convert(s, o, pool_int_type(s->pool, type.u.int_type.is_signed, 16), span);
  else if (type.kind != PK_INT_TYPE)
    o = sema_coerce(s, o, is_signed ? POOL(I16) : POOL(U16), span);
  if (operand_is_poison(o))
    return n;
  n.ok = true;
  n.ir = sema_ir(s, o);
  return n;
}

/* ---- a DSD under construction ------------------------------------------------------------ */

typedef struct {
  PoolId type;
  IrDesc desc;
  uint32_t variable;       /* as in PoolDsd */
  bool ok;
  PoolId element;          /* what base_address points to */
  uint32_t element_bytes;
  uint32_t elements;       /* of the array that base_address points to; 0: to no whole array */
  IrValue base;            /* run-time parts; raw 0: known, in desc */
  IrValue base_add;        /* bytes */
  IrValue length, stride;
  IrValue loops[8];        /* mem4d: from the field length0 on */
} DsdDraft;

static Operand draft_finish(Sema *s, const DsdDraft *draft, StrId name)
{
  if (!draft->ok)
    return operand_poison();
  PoolKey key = {.kind = PK_DSD, .type = draft->type};
  key.u.dsd.desc = draft->desc;
  key.u.dsd.variable = draft->variable;
  key.u.dsd.name = name.raw;
  key.u.dsd.element = draft->element.raw;
  Operand dsd = operand_value(s, pool_get(s->pool, &key));
  if (draft->base.raw)
    dsd = dsd_set(s, dsd, DSRF_BASE, draft->base);
  if (draft->base_add.raw)
    dsd = dsd_set(s, dsd, DSRF_BASE_ADD, draft->base_add);
  if (draft->length.raw)
    dsd = dsd_set(s, dsd, DSRF_LENGTH, draft->length);
  if (draft->stride.raw)
    dsd = dsd_set(s, dsd, DSRF_STRIDE, draft->stride);
  for (unsigned i = 0; i < ARRAY_COUNT(draft->loops); i++)
    if (draft->loops[i].raw)
      dsd = dsd_set(s, dsd, (DsrField)(DSRF_LENGTH0 + i), draft->loops[i]);
  return dsd;
}

/* The type of one element behind a pointer type. */
static PoolId pointee_element(const Sema *s, PoolId pointer)
{
  PoolId pointee = pool_key(s->pool, pointer).u.pointer_type.pointee;
  PoolKey key = pool_key(s->pool, pointee);
  return key.kind == PK_ARRAY_TYPE ? key.u.array.element : pointee;
}

/* Elements of the array that the pointer points into, from there on; 0: it is no array's. */
static uint32_t array_elements(Sema *s, PoolId pointer)
{
  PoolId pointee = pool_key(s->pool, pointer).u.pointer_type.pointee;
  return pool_kind(s->pool, pointee) == PK_ARRAY_TYPE
           ? (uint32_t)type_element_count(s->pool, pointee) : 0;
}

static StrId variable_name(const Sema *s, uint32_t global)
{
  const Global *g = &s->globals[global];
  return g->decl == IR_NO_ID ? STR_NONE : s->modules[g->decl_module].decls[g->decl].name;
}

/* The address that a comptime pointer stands for, as part of a descriptor.  *variable: StrId.raw of
 * the name of what it points into. */
static bool address_of_pointer(Sema *s, PoolId value, Span span, IrDesc *desc, uint32_t *variable)
{
  PoolKey key = pool_key(s->pool, value);
  if (key.kind != PK_POINTER || key.u.pointer.base_kind == PTR_CELL) {
    diag_no_run_time_address(s->diags, span);
    return false;
  }
  bool is_variable = key.u.pointer.base_kind == PTR_GLOBAL;
  desc->global.raw = is_variable ? key.u.pointer.base : IR_NO_ID;
  desc->desc.base = (uint16_t)key.u.pointer.offset;
  *variable = is_variable ? variable_name(s, key.u.pointer.base).raw : STR_NONE.raw;
  return true;
}

static void draft_base(Sema *s, DsdDraft *draft, Operand o, Span span)
{
  o = sema_pointer_of(s, o, span);
  if (operand_is_poison(o)) {
    draft->ok = false;
    return;
  }
  draft->element = pointee_element(s, o.type);
  draft->elements = array_elements(s, o.type);
  draft->element_bytes = type_bytes(s->pool, draft->element);
  if (draft->element_bytes == 0) {
    diag_no_run_time_address(s->diags, span);
    draft->ok = false;
  } else if (operand_is_comptime(o)) {
    PoolId value = sema_comptime_value(s, o, span);
    draft->ok &= !pool_eq(value, POOL(POISON)) && address_of_pointer(s, value, span, &draft->desc,
                                                                           &draft->variable);
  } else if (s->now.comptime) {
    sema_comptime_value(s, o, span);
    draft->ok = false;
  } else {
    draft->base = sema_ir(s, o);
  }
}

static IrValue scale_index(Sema *s, IrValue n, uint32_t bytes)
{
  if (bytes == 1)
    return n;
  return ir_binary(&s->b, IR_mul, IRT_I16, n, ir_const(&s->b, IRT_I16, bytes));
}

static void draft_offset(Sema *s, DsdDraft *draft, Setting *field)
{
  if (!field)
    return;
  Number n = number_of(s, field->value, INT16_MIN, INT16_MAX, "'offset'", field->span);
  draft->ok &= n.ok;
  if (!n.ok)
    return;
  int64_t bytes = n.value * (int64_t)draft->element_bytes;
  if (!n.known)
    draft->base_add = scale_index(s, n.ir, draft->element_bytes);
  else if (draft->base.raw && bytes != 0)   /* which replaces the base of the descriptor */
    draft->base_add = ir_const(&s->b, IRT_I16, (uint16_t)bytes);
  else
    draft->desc.desc.base = (uint16_t)(draft->desc.desc.base + bytes);
}

static void draft_length(Sema *s, DsdDraft *draft, Operand o, Span span)
{
  Number n = number_of(s, o, 0, UINT16_MAX, "'extent'", span);
  draft->ok &= n.ok;
  if (n.known)
    draft->desc.desc.length = (uint16_t)n.value;
  else
    draft->length = n.ir;
}

static Setting *require_setting(Sema *s, Settings *set, const char *name, const char *what,
                                DsdDraft *draft)
{
  Setting *field = settings_take(s, set, name);
  if (!field) {
    settings_missing(s, set, what, name);
    draft->ok = false;
  }
  return field;
}

/* Most programs give a tensor access, which stands for the base address, too. */
static Setting *require_base(Sema *s, Settings *set, const char *what, DsdDraft *draft)
{
  Setting *base = require_setting(s, set, "base_address", what, draft);
  if (!base)
    diag_tensor_access_form(s->diags, set->span);
  return base;
}

enum { MOST_DIMENSIONS = 4 };

/* The elements of a tuple setting (or the one value that stands for a tuple of one), comptime-known
 * or not. */
static uint32_t tuple_operands(Sema *s, Setting *field, Operand out[MOST_DIMENSIONS])
{
  Operand o = field->value;
  if (operand_is_poison(o))
    return 0;
  bool is_known_tuple = field->parts == NULL && operand_is_comptime(o) &&
                        pool_kind(s->pool, o.value) == PK_AGGREGATE;
  if (field->parts == NULL && !is_known_tuple) {
    out[0] = o;
    return 1;
  }
  uint32_t n = is_known_tuple ? pool_key(s->pool, o.value).u.aggregate.n : field->n_parts;
  if (n == 0 || n > MOST_DIMENSIONS) {
    diag_dimension_count(s->diags, field->span, n);
    return 0;
  }
  for (uint32_t i = 0; i < n; i++) {
    out[i] = is_known_tuple ? operand_value(s, pool_key(s->pool, o.value).u.aggregate.elems[i])
                            : field->parts[i];
    if (is_known_tuple)
      out[i].span = field->span;
  }
  return n;
}

/* A tuple of one stands for its element where one dimension is described. */
static Operand single_element(Sema *s, Setting *field)
{
  if (!operand_is_comptime(field->value) ||
      pool_kind(s->pool, field->value.value) != PK_AGGREGATE)
    return field->value;
  PoolKey key = pool_key(s->pool, field->value.value);
  if (key.u.aggregate.n != 1) {
    diag_dimension_one(s->diags, field->span, key.u.aggregate.n);
    diag_more_dimensions(s->diags, field->span);
    return operand_poison();
  }
  return operand_value(s, key.u.aggregate.elems[0]);
}

/* The fields of an access that is written in place; an array of a function has its address at run
 * time. */
static Settings settings_of_access(Sema *s, const Setting *field)
{
  TensorParts parts;
  if (!tensor_parts(s, node_tensor_access(field->node), &parts))
    return (Settings){.span = field->span};
  const struct { const char *name; Operand value; } fields[] = {
    {"base_address", operand_is_comptime(parts.base) ? operand_value(s, parts.base.value)
                                                     : parts.base},
    {"offset", operand_value(s, parts.offset)},
    {"stride", operand_value(s, parts.stride)},
    {"extent", operand_value(s, parts.extent)},
  };
  Settings set = {.n = ARRAY_COUNT(fields), .span = field->span, .ok = true};
  set.at = arena_many(s->arena, Setting, set.n);
  for (uint32_t i = 0; i < set.n; i++) {
    set.at[i] = (Setting){.name = sema_name(s, fields[i].name), .span = field->span,
                          .name_span = field->span, .value = fields[i].value};
    set.at[i].value.span = field->span;
  }
  return set;
}

/* An access of all elements of an array, as a program writes it. */
static const char *access_form(const Sema *s, const PoolKey *array, const char *name)
{
  static const char *const indices[] = {"i", "j", "k", "l"};
  uint32_t n = array->kind == PK_ARRAY_TYPE ? array->u.array.rank : 1;
  const char *list = "", *sizes = "";
  for (uint32_t i = 0; i < n && i < ARRAY_COUNT(indices); i++) {
    list = arena_printf(s->arena, "%s%s%s", list, i ? ", " : "", indices[i]);
    sizes = arena_printf(s->arena, "%s%sSIZE", sizes, i ? ", " : "");
  }
  return arena_printf(s->arena, "|%s|{%s} -> %s[%s]", list, sizes, name, list);
}

/* `.tensor_access = array` or `= &array`: the elements of it are meant. */
static bool report_access_of_array(Sema *s, const Setting *field)
{
  PoolKey type = pool_key(s->pool, field->value.type), array = type;
  if (type.kind == PK_POINTER_TYPE)
    array = pool_key(s->pool, type.u.pointer_type.pointee);
  else if (type.kind != PK_ARRAY_TYPE)
    return false;
  bool has_name = type.kind == PK_ARRAY_TYPE && node_kind(field->node) == ND_IDENT;
  const char *name = has_name ? sema_text(s, node_ident(field->node)->name) : "ARRAY";
  diag_access_of_array(s->diags, field->span, field->value.type, access_form(s, &array, name));
  return true;
}

/* `.tensor_access = x` stands for the fields of x. */
static bool expand_tensor_access(Sema *s, Settings *set)
{
  Setting *field = settings_take(s, set, "tensor_access");
  if (!field)
    return true;
  Settings inner;
  if (field->is_unread) {
    inner = settings_of_access(s, field);
  } else if (report_access_of_array(s, field)) {
    return false;
  } else {
    PoolId value = sema_comptime_value(s, field->value, field->span);
    if (pool_eq(value, POOL(POISON)))
      return false;
    inner = settings_of_value(s, value, field->node, field->span);
  }
  if (!inner.ok)
    return false;
  Settings all = {.n = set->n + inner.n, .span = set->span, .ok = true};
  all.at = arena_many(s->arena, Setting, all.n);
  memcpy(all.at, set->at, set->n * sizeof *set->at);
  memcpy(all.at + set->n, inner.at, inner.n * sizeof *inner.at);
  for (uint32_t i = 0; i < set->n; i++)
    for (uint32_t k = 0; k < inner.n; k++)
      if (str_eq(set->at[i].name, inner.at[k].name)) {
        diag_setting_twice(s->diags, set->at[i].name_span, sema_text(s, set->at[i].name));
        return false;
      }
  *set = all;
  return true;
}

/* ---- memory DSDs ------------------------------------------------------------------------- */

static void memory_flags(Sema *s, DsdDraft *draft, Settings *set)
{
  if (setting_bool(s, settings_take(s, set, "wavelet_index_offset"), false))
    draft->desc.desc.flags |= DESC_F_INDEX;
  settings_finish(s, set, SETTINGS_memory_dsd);
}

const char *dsd_range_text(const Sema *s, int64_t first, int64_t last)
{
  long long low = (long long)first, high = (long long)last;
  return first == last ? arena_printf(s->arena, "%lld", low)
                       : arena_printf(s->arena, "%lld to %lld", low, high);
}

void dsd_warn_bounds(Sema *s, Span at, int64_t first, int64_t last, int64_t count)
{
  diag_tensor_bounds(s->diags, at, first == last ? "element" : "elements",
                     dsd_range_text(s, first, last), count);
}

/* Warns of elements that the array does not have, as of a tensor access, which is checked where it
 * stands.  `array`: the base address before the offset.  The stride counts elements of the
 * operation, which are as large as those of the array if such an operation exists; where none does,
 * as for structs, 16 bits are the least that they can be. */
static void check_reach(Sema *s, const DsdDraft *draft, uint16_t array, Span span)
{
  const Descriptor *d = &draft->desc.desc;
  bool is_known = !draft->length.raw && !draft->stride.raw && !draft->base_add.raw;
  if (!draft->ok || !is_known || draft->elements < 2 || d->length == 0)
    return;
  bool is_element = dsd_has_elements_of(draft->element_bytes);
  int64_t unit = is_element ? draft->element_bytes : vec_elem_bytes(VE_I16);
  int64_t elements = draft->elements * (int64_t)draft->element_bytes / unit;
  int64_t first = (int16_t)(d->base - array) / unit;
  int64_t last = first + d->stride * (int64_t)(d->length - 1);
  int64_t low = first < last ? first : last, high = first < last ? last : first;
  if (low >= 0 && high < elements)
    return;
  if (is_element)
    dsd_warn_bounds(s, span, low, high, elements);
  else
    diag_tensor_words(s->diags, span, low, high, elements);
}

static Operand make_mem1d(Sema *s, Settings *set)
{
  bool is_access = settings_take(s, set, "tensor_access") != NULL;
  DsdDraft draft = {.type = POOL(MEM1D_DSD), .ok = true, .element_bytes = 2};
  draft.desc.desc = (Descriptor){.kind = DESC_MEM1D, .stride = 1};
  draft.desc.global.raw = IR_NO_ID;
  if (!expand_tensor_access(s, set))
    return operand_poison();
  Setting *base = require_base(s, set, "mem1d_dsd", &draft);
  Setting *extent = require_setting(s, set, "extent", "mem1d_dsd", &draft);
  if (base)
    draft_base(s, &draft, base->value, base->span);
  if (extent)
    draft_length(s, &draft, single_element(s, extent), extent->span);
  Setting *stride = settings_take(s, set, "stride");
  if (stride) {
    Operand given = single_element(s, stride);
    Number n = number_of(s, given, INT8_MIN, INT8_MAX, "'stride'", stride->span);
    int64_t wide;
    draft.ok &= n.ok;
    if (!n.ok && type_is_int(s->pool, given.type) && operand_is_comptime(given) &&
        pool_int_value(s->pool, given.value, &wide))
      diag_wider_strides(s->diags, stride->span);
    if (n.known)
      draft.desc.desc.stride = (int16_t)n.value;
    else
      draft.stride = n.ir;
  }
  uint16_t array = draft.desc.desc.base;
  draft_offset(s, &draft, settings_take(s, set, "offset"));
  if (!is_access && extent)
    check_reach(s, &draft, array, extent->span);
  memory_flags(s, &draft, set);
  return draft_finish(s, &draft, base ? base->value.name : STR_NONE);
}

/* Number of elements after which a circular buffer begins anew; 0 after reporting. */
static uint16_t wraparound_of(Sema *s, Settings *set, PoolId pointer)
{
  Setting *field = settings_take(s, set, "wraparound");
  uint32_t elements = array_elements(s, pointer);
  int64_t given = elements;
  if (!field && elements == 0) {
    settings_missing(s, set, "circbuf_dsd without an array",
                         "wraparound");
    return 0;
  }
  if (field &&
      !sema_number_in(s, field->value, 1, UINT16_MAX, "'wraparound'", field->span, &given))
    return 0;
  if (elements && given > elements) {
    diag_wraparound(s->diags, field->span, (unsigned)given, elements);
    return 0;
  }
  return (uint16_t)given;
}

static Operand make_circular(Sema *s, Settings *set)
{
  DsdDraft draft = {.type = POOL(CIRCBUF_DSD), .ok = true};
  draft.desc.desc = (Descriptor){.kind = DESC_CIRC, .stride = 1};
  draft.desc.global.raw = IR_NO_ID;
  Setting *base = require_setting(s, set, "base_address", "circbuf_dsd", &draft);
  Setting *extent = require_setting(s, set, "extent", "circbuf_dsd", &draft);
  if (!base || !extent)
    return operand_poison();
  Operand pointer = sema_pointer_of(s, base->value, base->span);
  if (operand_is_poison(pointer) ||
      pool_eq(sema_comptime_value(s, pointer, base->span), POOL(POISON)))
    return operand_poison();
  draft_base(s, &draft, base->value, base->span);
  draft_length(s, &draft, extent->value, extent->span);
  draft.desc.desc.wrap_base = draft.desc.desc.base;
  draft.desc.desc.wrap_length = wraparound_of(s, set, pointer.type);
  draft.ok &= draft.desc.desc.wrap_length != 0;
  return draft_finish(s, &draft, base->value.name);
}

/* Length or stride number `part` of the loops, in the order of the descriptor; a run-time value
 * is kept for draft_finish. */
static void mem4d_part(Sema *s, DsdDraft *draft, Operand o, unsigned part, Span span)
{
  bool is_stride = part % 2;
  Number n = is_stride ? number_of(s, o, INT16_MIN, INT16_MAX, "'stride'", span)
                       : number_of(s, o, 0, UINT16_MAX, "'extent'", span);
  draft->ok &= n.ok;
  if (!n.known)
    draft->loops[part] = n.ir;
  else if (is_stride)
    draft->desc.desc.strides[part / 2] = (int16_t)n.value;
  else
    draft->desc.desc.lengths[part / 2] = (uint16_t)n.value;
}

static void mem4d_strides(Sema *s, DsdDraft *draft, Setting *stride, uint32_t dims)
{
  Descriptor *d = &draft->desc.desc;
  for (uint32_t k = 0; k < dims; k++)
    d->strides[k] = 1;
  if (!stride)
    return;
  Operand values[MOST_DIMENSIONS];
  uint32_t n = tuple_operands(s, stride, values);
  if (n != dims) {
    if (n > 0)
      diag_dimensions_differ(s->diags, stride->span, dims, n);
    draft->ok = false;
    return;
  }
  for (uint32_t k = 0; k < n; k++)
    mem4d_part(s, draft, values[k], 2 * k + 1, values[k].span);
}

/* `extent` is given outermost first, `stride` innermost first; descriptors are innermost first. */
static Operand make_mem4d(Sema *s, Settings *set)
{
  DsdDraft draft = {.type = POOL(MEM4D_DSD), .ok = true, .element_bytes = 2};
  draft.desc.desc = (Descriptor){.kind = DESC_MEM4D, .lengths = {1, 1, 1, 1}};
  draft.desc.global.raw = IR_NO_ID;
  if (!expand_tensor_access(s, set))
    return operand_poison();
  Setting *base = require_base(s, set, "mem4d_dsd", &draft);
  Setting *extent = require_setting(s, set, "extent", "mem4d_dsd", &draft);
  if (base)
    draft_base(s, &draft, base->value, base->span);
  Setting *stride = settings_take(s, set, "stride");
  if (extent) {
    Operand values[MOST_DIMENSIONS];
    uint32_t dims = tuple_operands(s, extent, values);
    draft.ok &= dims > 0;
    for (uint32_t k = 0; k < dims; k++)
      mem4d_part(s, &draft, values[k], 2 * (dims - 1 - k), values[k].span);
    if (dims > 0)
      mem4d_strides(s, &draft, stride, dims);
  }
  draft_offset(s, &draft, settings_take(s, set, "offset"));
  memory_flags(s, &draft, set);
  return draft_finish(s, &draft, base ? base->value.name : STR_NONE);
}

/* ---- fabric DSDs ------------------------------------------------------------------------- */

bool dsd_simd_mode(Sema *s, const Setting *field, SimdMode *mode)
{
  static const char other[] = "its modes are .simd_max and .simd_off";
  /* In the order of settings.def. */
  static const struct { SimdMode mode; Arch not_on; const char *help; } modes[] = {
    {SIMD_32, ARCH_WSE3, other}, {SIMD_64, ARCH_WSE3, other}, {SIMD_32_OR_64, ARCH_WSE3, other},
    {SIMD_OFF, ARCH_COUNT, NULL},
    {SIMD_32_OR_64, ARCH_WSE2, "the program gets .simd_32_or_64"}};
  bool ok = true;
  int chosen = setting_choice(s, field, SETTINGS_simd_mode, &ok);
  if (chosen < 0)
    return ok;
  *mode = modes[chosen].mode;
  if (modes[chosen].not_on == s->session->options->arch && !sema_in_library(s))
    diag_simd_of_other(s->diags, field->span, settings_group(SETTINGS_simd_mode)->rows[chosen].name,
                       sema_machine(s)->name, modes[chosen].help);
  return ok;
}

/* The standard library is written for SDK 1.4, whatever the release of the program that uses it. */
static void fabric_simd(Sema *s, DsdDraft *draft, const Setting *field)
{
  SimdMode mode = sema_in_library(s) ? SIMD_OFF : draft->desc.desc.simd;
  draft->ok &= !field || dsd_simd_mode(s, field, &mode);
  draft->desc.desc.simd = mode;
}

static void fabric_priority(Sema *s, DsdDraft *draft, Setting *field)
{
  if (!field)
    return;
  Priority priority = draft->desc.desc.priority;
  draft->ok &= setting_priority(s, field, &priority);
  draft->desc.desc.priority = priority;
  draft->desc.desc.priority_given = true;
}

/* SDK before 0.8: a queue is a number. */
static bool is_queue_number(const Sema *s, Operand o)
{
  return s->session->options->arch == ARCH_WSE2 && operand_is_comptime(o) &&
         type_is_int(s->pool, o.type);
}

/* The color that a DSD names; without one it has that of its queue, but an output queue of wse2 has
 * none. */
static void fabric_color(Sema *s, DsdDraft *draft, Settings *set, bool is_output, bool has_queue)
{
  Descriptor *d = &draft->desc.desc;
  Setting *color = settings_take(s, set, "fabric_color");
  d->color = COLOR_OF_QUEUE;
  if (color) {
    draft->ok &= sema_router_color(s, color->value, color->span, &d->color);
    if (!draft->ok)
      return;
    setup_check_color(s, d->color, color->span);
    setup_name_color(s, d->color, color->value);
    return;
  }
  bool is_wse3 = s->session->options->arch == ARCH_WSE3, is_colored = !is_output || is_wse3;
  const char *field = !is_wse3 ? "fabric_color" : is_output ? "output_queue" : "input_queue";
  if (has_queue && is_colored) {
    release_sign_here(s, SIGN_QUEUE_COLOR, set->span);
    return;
  }
  settings_missing(s, set, is_output ? "fabout_dsd" : "fabin_dsd", field);
  if (has_queue && !is_colored)
    diag_output_queue_colorless(s->diags, set->span);
  draft->ok = false;
}

/* Color and queue of a fabric DSD; a queue that is not given is chosen when the program is
 * complete. */
static void fabric_channel(Sema *s, DsdDraft *draft, Settings *set, bool is_output, Span at)
{
  Descriptor *d = &draft->desc.desc;
  Setting *queue = settings_take(s, set, is_output ? "output_queue" : "input_queue");
  int64_t number = 0;
  d->queue = QUEUE_IMPLICIT;
  if (queue) {
    PoolId type = is_output ? POOL(OUTPUT_QUEUE) : POOL(INPUT_QUEUE);
    Operand o = queue->value;
    if (!is_queue_number(s, o))
      o = sema_coerce(s, o, type, queue->span);
    draft->ok &= sema_int_in(s, o, 0, MAX_QUEUES - 1, "a queue", queue->span, &number);
    d->queue = (uint8_t)number;
  }
  fabric_color(s, draft, set, is_output, queue != NULL);
  if (!draft->ok)
    return;
  if (queue) {
    setup_use_queue(s, is_output, d->queue, d->color, at);
    return;
  }
  s->setup->implicit[is_output] |= 1u << d->color;
  s->setup->implicit_span[is_output][d->color] = at;
}

static void zero_sources(Sema *s, DsdDraft *draft, Setting *field)
{
  if (!field)
    return;
  PoolId value = sema_comptime_value(s, field->value, field->span);
  Settings set = settings_of_value(s, value, field->node, field->span);
  draft->ok &= set.ok;
  if (setting_bool(s, settings_take(s, &set, "first_source"), false))
    draft->desc.desc.flags |= DESC_F_ZERO0;
  if (setting_bool(s, settings_take(s, &set, "second_source"), false))
    draft->desc.desc.flags |= DESC_F_ZERO1;
  settings_finish(s, &set, SETTINGS_zero);
}

static Operand make_fabric(Sema *s, Settings *set, PoolId type, bool is_output, Span at)
{
  static const struct { const char *name; uint16_t flag; bool output_only; } flags[] = {
    {"control", DESC_F_CONTROL, true}, {"wavelet_index_offset", DESC_F_INDEX, true},
    {"advance_switch", DESC_F_ADVANCE, true}, {"control_transform", DESC_F_TRANSFORM, false}};
  DsdDraft draft = {.type = type, .ok = true};
  draft.desc.desc = (Descriptor){.kind = is_output ? DESC_FABOUT : DESC_FABIN};
  draft.desc.global.raw = IR_NO_ID;
  fabric_channel(s, &draft, set, is_output, at);
  Setting *extent =
      require_setting(s, set, "extent", is_output ? "fabout_dsd" : "fabin_dsd", &draft);
  if (extent)
    draft_length(s, &draft, single_element(s, extent), extent->span);
  for (size_t i = 0; i < ARRAY_COUNT(flags); i++)
    if ((is_output || !flags[i].output_only) &&
        setting_bool(s, settings_take(s, set, flags[i].name), false))
      draft.desc.desc.flags |= flags[i].flag;
  if (is_output)
    zero_sources(s, &draft, settings_take(s, set, "zero"));
  fabric_simd(s, &draft, settings_take(s, set, "simd_mode"));
  fabric_priority(s, &draft, settings_take(s, set, "priority"));
  return draft_finish(s, &draft, STR_NONE);
}

/* Every kind of DSD with its settings. */
static bool knows_settings(Sema *s, const Settings *set, DescKind kind)
{
  return settings_are_known(s, set, kind == DESC_FABIN    ? SETTINGS_fabin_dsd
                                    : kind == DESC_FABOUT ? SETTINGS_fabout_dsd
                                    : kind == DESC_CIRC   ? SETTINGS_circbuf_dsd
                                                          : SETTINGS_memory_dsd);
}

Operand builtin_get_dsd(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  const Node *kind_node = call->args.at[0];
  PoolId type = sema_type_expr(s, kind_node);
  DescKind kind;
  if (pool_eq(type, POOL(POISON_TYPE)))
    return operand_poison();
  if (!dsd_kind_of(type, &kind)) {
    diag_not_a_dsd_type(s->diags, kind_node->span, type);
    return operand_poison();
  }
  if (s->ir == NULL) {
    diag_dsd_in_layout(s->diags, at);
    return operand_poison();
  }
  static const char *const run_time[] = {
    "tensor_access", "base_address", "extent", "stride", "offset", NULL};
  bool is_fabric = kind == DESC_FABIN || kind == DESC_FABOUT;
  Settings set = settings_read(s, call->args.at[1], run_time, !is_fabric);
  if (!set.ok || !knows_settings(s, &set, kind))
    return operand_poison();
  if (kind == DESC_MEM1D)
    return make_mem1d(s, &set);
  if (kind == DESC_CIRC)
    return make_circular(s, &set);
  if (kind == DESC_MEM4D)
    return make_mem4d(s, &set);
  return make_fabric(s, &set, type, kind == DESC_FABOUT, at);
}

/* ---- mutators ---------------------------------------------------------------------------- */

/* The DSD argument of a mutator; one of the kinds of `mask` (a bit each DescKind). */
static Operand dsd_arg(Sema *s, const NodeBuiltinCall *call, unsigned mask)
{
  const Node *arg = call->args.at[0];
  Operand o = sema_rvalue(s, arg, POOL(NONE));
  DescKind kind;
  if (operand_is_poison(o))
    return o;
  if (!dsd_kind_of(o.type, &kind) || !(mask & 1u << kind)) {
    dsd_report_argument(s, call, arg->span, mask, o.type);
    return operand_poison();
  }
  if (s->now.comptime && !operand_is_comptime(o)) {
    sema_comptime_value(s, o, arg->span);
    return operand_poison();
  }
  return o;
}

enum {
  ON_MEM1D = 1 << DESC_MEM1D, ON_MEM4D = 1 << DESC_MEM4D,
  ON_FABRIC = 1 << DESC_FABIN | 1 << DESC_FABOUT
};

static IrDesc desc_of(Sema *s, Operand dsd)
{
  return pool_key(s->pool, dsd.value).u.dsd.desc;
}

Operand builtin_set_dsd_base_addr(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  Operand dsd = dsd_arg(s, call, ON_MEM1D | ON_MEM4D);
  Span span = call->args.at[1]->span;
  Operand base = sema_expr(s, call->args.at[1], POOL(NONE));
  if (operand_is_poison(dsd) || operand_is_poison(base))
    return operand_poison();
  base = sema_pointer_of(s, base, span);
  if (operand_is_poison(base))
    return base;
  if (is_known(s, base) && dsd_is_comptime(s, dsd)) {
    PoolKey key = pool_key(s->pool, dsd.value);
    PoolId value = sema_comptime_value(s, base, span);
    if (pool_eq(value, POOL(POISON)) || !address_of_pointer(s, value, span, &key.u.dsd.desc,
                                                                 &key.u.dsd.variable))
      return operand_poison();
    key.u.dsd.element = pointee_element(s, base.type).raw;
    key.u.dsd.is_changed = true;
    return dsd_with_key(s, dsd, &key);
  }
  Operand result = dsd_set(s, dsd, DSRF_BASE, sema_ir(s, base));
  result.through = pointee_element(s, base.type);
  return result;
}

/* The DSD with another length or stride: the second argument, of type `type` and from lo to hi. */
static Operand set_dsd_number(Sema *s, const NodeBuiltinCall *call, unsigned allowed, PoolId type,
                              int64_t lo, int64_t hi, DsrField field)
{
  bool is_length = field == DSRF_LENGTH;
  Operand dsd = dsd_arg(s, call, allowed);
  Operand value = sema_rvalue(s, call->args.at[1], type);
  Number n = number_of(s, value, lo, hi, is_length ? "the length" : "the stride",
                       call->args.at[1]->span);
  if (operand_is_poison(dsd) || !n.ok)
    return operand_poison();
  if (n.known && dsd_is_comptime(s, dsd)) {
    IrDesc desc = desc_of(s, dsd);
    if (is_length)
      desc.desc.length = (uint16_t)n.value;
    else
      desc.desc.stride = (int16_t)n.value;
    return dsd_with_desc(s, dsd, desc);
  }
  IrValue ir = n.known ? ir_const(&s->b, IRT_I16, (uint16_t)n.value) : n.ir;
  return dsd_set(s, dsd, field, ir);
}

Operand builtin_set_dsd_length(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  return set_dsd_number(s, call, ON_MEM1D | ON_FABRIC, POOL(U16), 0, UINT16_MAX, DSRF_LENGTH);
}

Operand builtin_set_dsd_stride(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  return set_dsd_number(s, call, ON_MEM1D, POOL(I8), INT8_MIN, INT8_MAX, DSRF_STRIDE);
}

Operand builtin_increment_dsd_offset(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)at, (void)want;
  Operand dsd = dsd_arg(s, call, ON_MEM1D | ON_MEM4D);
  Operand count = sema_rvalue(s, call->args.at[1], POOL(I16));
  PoolId element = sema_type_expr(s, call->args.at[2]);
  Number n = number_of(s, count, INT16_MIN, UINT16_MAX, "the offset", call->args.at[1]->span);
  if (operand_is_poison(dsd) || !n.ok || pool_eq(element, POOL(POISON_TYPE)))
    return operand_poison();
  uint32_t bytes = type_bytes(s->pool, element);
  if (bytes == 0 || type_is_comptime_only(s->pool, element)) {
    diag_no_size(s->diags, call->args.at[2]->span,
                 element);
    return operand_poison();
  }
  /* Programs count pairs of 16-bit numbers by a 32-bit type, and words of buffers of integers. */
  DsdVariables from = {0};
  size_t mark = diags_mark(s->diags);
  PoolId over = dsd_element(s, dsd_presume(s, dsd, &from));
  if (pool_eq(over, POOL(F32)) && type_bytes(s->pool, over) != bytes)
    diag_offset_width(s->diags, call->args.at[2]->span, element, over);
  if (from.n > 0)
    dsd_hold_messages(s, mark, &from, REST_ON_ELEMENTS);
  if (n.known && dsd_is_comptime(s, dsd)) {
    IrDesc desc = desc_of(s, dsd);
    desc.desc.base = (uint16_t)(desc.desc.base + n.value * (int64_t)bytes);
    return dsd_with_desc(s, dsd, desc);
  }
  IrValue ir = n.known ? ir_const(&s->b, IRT_I16, (uint16_t)(n.value * (int64_t)bytes))
                       : scale_index(s, n.ir, bytes);
  return dsd_set(s, dsd, DSRF_BASE_ADD, ir);
}
