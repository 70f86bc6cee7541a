/* Operations over DSDs, DSRs and FIFOs: operands are checked against dsd_ops.def, settings go into
 * the descriptors (op_settings.c), and one IR_vec comes out. */
#include "frontend/machine/dsd.h"
#include "frontend/machine/machine_internal.h"
#include "frontend/sema/builtins.h"

#include <stb_ds.h>
#include <string.h>

/* ---- the table --------------------------------------------------------------------------- */

typedef enum { BINARY, SUB, UNARY, FMA, NORM, SCALE, FILTER } Shape;
typedef enum { NEVER, FOLD, VECTOR, SCALAR, ALWAYS } PointerRule;
typedef struct { VecOp op; Shape shape; uint32_t least, most; PointerRule pointer; } DsdOpRow;
static const DsdOpRow op_rows[] = {
#define DSD_OP(name, shape, least, most, pointer) {VEC_##name, shape, least, most, pointer},
#include "frontend/dsd_ops.def"
};

static const DsdOpRow *row_of(const char *name)
{
  VecOp op;
  if (vecop_from_name(name, &op))
    for (size_t i = 0; i < ARRAY_COUNT(op_rows); i++)
      if (op_rows[i].op == op)
        return &op_rows[i];
  ICE("no row for @%s in dsd_ops.def", name);
}

/* ---- operands ---------------------------------------------------------------------------- */

typedef struct {
  IrVecOperandKind kind;
  Operand value;
  DescKind desc;           /* DSD: its kind */
  DsrFile file;
  uint32_t number;
  uint32_t fifo;           /* 1 + its index, if it is a FIFO that is known; else 0 */
  const Node *node;
} OpOperand;

static bool is_vector(const OpOperand *o)
{
  return o->kind == IRV_DSD || o->kind == IRV_DSR;
}

static bool is_fabric(const OpOperand *o)
{
  return o->kind == IRV_DSD && (o->desc == DESC_FABIN || o->desc == DESC_FABOUT);
}

static bool is_memory(const OpOperand *o)
{
  return o->kind == IRV_DSD &&
         (o->desc == DESC_MEM1D || o->desc == DESC_MEM4D || o->desc == DESC_CIRC);
}

Operand fifo_dsd(Sema *s, Operand fifo)
{
  const Fifo *f = &s->setup->fifos[pool_key(s->pool, fifo.value).u.index];
  PoolKey key = {.kind = PK_DSD, .type = POOL(FABIN_DSD)};
  key.u.dsd.desc.desc = (Descriptor){.kind = DESC_FIFO};
  key.u.dsd.desc.global.raw = f->state;
  Operand o = operand_value(s, pool_get(s->pool, &key));
  o.name = fifo.name;
  return o;
}

static OpOperand classify_operand(Sema *s, const Node *n)
{
  OpOperand o = {.node = n, .kind = IRV_NONE};
  Operand value = sema_expr(s, n, POOL(NONE));
  StrId name = value.name;
  value = sema_load(s, value);
  if (str_is_none(value.name))
    value.name = name;
  o.value = value;
  if (operand_is_poison(value))
    return o;
  if (operand_is_comptime(value) && pool_kind(s->pool, value.value) == PK_FIFO) {
    o.kind = IRV_DSD;
    o.desc = DESC_FIFO;
    o.fifo = 1 + pool_key(s->pool, value.value).u.index;
    o.value = fifo_dsd(s, value);
  } else if (dsd_kind_of(value.type, &o.desc)) {
    o.kind = IRV_DSD;
  } else if (type_is_dsr(value.type)) {
    PoolId dsr = sema_comptime_value(s, value, n->span);
    if (pool_eq(dsr, POOL(POISON))) {
      o.value = operand_poison();
      return o;
    }
    PoolKey key = pool_key(s->pool, dsr);
    o.kind = IRV_DSR;
    o.file = key.u.dsr.file;
    o.number = key.u.dsr.number;
  } else if (pool_kind(s->pool, value.type) == PK_POINTER_TYPE) {
    o.kind = IRV_POINTER;
  } else {
    o.kind = IRV_SCALAR;
  }
  return o;
}

static bool op_error(Sema *s, const OpOperand *o, const char *op, const char *why)
{
  bool is_fifo = o->kind == IRV_DSD && o->desc == DESC_FIFO;
  diag_dsd_operand(s->diags, o->node->span, op, why,
                   is_fifo ? POOL(FIFO) : o->value.type);
  if (pool_kind(s->pool, o->value.type) == PK_ARRAY_TYPE)
    diag_make_dsd(s->diags, o->node->span);
  return false;
}

static const char needs_load[] =
  "a circular buffer has to be loaded into a DSR first, with @load_to_dsr_xdsr";

static bool lies_in_constant(const Sema *s, const OpOperand *o)
{
  return o->kind == IRV_DSD && dsd_lies_in_constant(s, o->value);
}

static bool check_dest(Sema *s, const OpOperand *o, const char *op)
{
  if (o->kind == IRV_DSD && o->desc == DESC_CIRC)
    return op_error(s, o, op, needs_load);
  if (o->kind == IRV_SCALAR) {
    op_error(s, o, op, "the destination must be a DSD, a DSR or a pointer to a scalar");
    if (o->node->kind == ND_IDENT && type_is_numeric(s->pool, o->value.type))
      diag_address_of_scalar(s->diags, o->node->span, sema_text(s, node_ident(o->node)->name));
    return false;
  }
  if (o->kind == IRV_DSR && o->file == DSR_SRC1)
    return op_error(s, o, op, "the destination must be a dsr_dest or a dsr_src0");
  if (o->kind == IRV_DSD && o->desc == DESC_FABIN)
    return op_error(s, o, op, "a fabin_dsd can only be read");
  if (lies_in_constant(s, o))
    return op_error(s, o, op, "the destination lies in a constant; only a 'var' can be written");
  return true;
}

static bool check_source(Sema *s, const OpOperand *o, const char *op)
{
  if (o->kind == IRV_DSD && o->desc == DESC_CIRC)
    return op_error(s, o, op, needs_load);
  if (o->kind == IRV_DSR && o->file == DSR_DEST)
    return op_error(s, o, op, "a dsr_dest cannot be a source");
  if (o->kind == IRV_DSD && o->desc == DESC_FABOUT)
    return op_error(s, o, op, "a fabout_dsd can only be written");
  bool is_array = pool_kind(s->pool, o->value.type) == PK_ARRAY_TYPE;
  if (o->kind == IRV_POINTER || (o->kind == IRV_SCALAR && is_array))
    return op_error(s, o, op, "a source is a DSD, a DSR or a scalar value");
  return true;
}

/* 16-bit integers of either sign are equally good; the machine treats them alike. */
static bool is_word_type(Sema *s, PoolId type, unsigned bits)
{
  PoolKey key = pool_key(s->pool, type);
  return key.kind == PK_INT_TYPE && key.u.int_type.bits == bits;
}

static PoolId fp16_type(const Sema *s)
{
  static const PoolId types[FP16_COUNT] = {
    [FP16_F16] = {POOL_RAW_F16}, [FP16_BF16] = {POOL_RAW_BF16}, [FP16_CB16] = {POOL_RAW_CB16}};
  return types[s->session->options->fp16];
}

bool dsd_is_over_floats(const Sema *s, PoolId element)
{
  return pool_eq(element, POOL(F32)) || pool_eq(element, fp16_type(s));
}

/* The scalar in the type that elements of this kind have; the type-blind moves take any type of the
 * right width. */
static Operand scalar_as(Sema *s, Operand o, VecElem elem, Span span)
{
  int64_t number = 0;
  bool is_untyped = pool_eq(o.type, POOL(COMPTIME_INT));
  bool is_positive = is_untyped && operand_is_comptime(o) &&
                     pool_kind(s->pool, o.value) == PK_INT &&
                     pool_int_value(s->pool, o.value, &number) && number >= 0;
  switch (elem) {
  case VE_F16:
    return sema_coerce(s, o, fp16_type(s), span);
  case VE_F32:
    return sema_coerce(s, o, POOL(F32), span);
  case VE_B16:
    if (pool_eq(o.type, fp16_type(s)))
      return o;
    if (pool_eq(o.type, POOL(COMPTIME_FLOAT)))
      return sema_coerce(s, o, fp16_type(s), span);
    /* fall through */
  case VE_I16:
    if (is_word_type(s, o.type, 16))
      return o;
    return sema_coerce(s, o, is_positive ? POOL(U16) : POOL(I16), span);
  case VE_B32:
    if (pool_eq(o.type, POOL(F32)) || is_word_type(s, o.type, 32))
      return o;
    if (pool_eq(o.type, POOL(COMPTIME_FLOAT)))
      return sema_coerce(s, o, POOL(F32), span);
    return sema_coerce(s, o, is_positive ? POOL(U32) : POOL(I32), span);
  }
  return operand_poison();
}

static bool pointer_fits(Sema *s, const OpOperand *dest, VecElem elem)
{
  PoolKey key = pool_key(s->pool, dest->value.type);
  PoolId to = key.u.pointer_type.pointee;
  if (key.u.pointer_type.is_const)
    return false;
  switch (elem) {
  case VE_I16: return is_word_type(s, to, 16);
  case VE_B16: return is_word_type(s, to, 16) || pool_eq(to, fp16_type(s));
  case VE_F16: return pool_eq(to, fp16_type(s));
  case VE_F32: return pool_eq(to, POOL(F32));
  case VE_B32: return is_word_type(s, to, 32) || pool_eq(to, POOL(F32));
  }
  return false;
}

/* ---- one operation ----------------------------------------------------------------------- */

/* The last argument of a call.  What is no literal may be an operand too many. */
static OpSettings last_settings(Sema *s, const NodeBuiltinCall *call, uint32_t last)
{
  size_t before = diags_error_count(s->diags);
  OpSettings set = op_settings_read(s, call->args.at[last], false);
  if (diags_error_count(s->diags) > before && node_kind(call->args.at[last]) != ND_STRUCT_INIT)
    sema_note_usage(s, &call->head);
  return set;
}

typedef struct {
  const DsdOpRow *row;
  const char *name;
  OpOperand dest, src0, src1, factor;   /* kind NONE: not there */
  OpSettings settings;
  Span at;
} DsdOp;

static const char *forms_text(Shape shape)
{
  switch (shape) {
  case BINARY: return "a DSD or scalar and a DSD or scalar, at least one of them a DSD";
  case SUB: return "a DSD, then a DSD or a scalar";
  case UNARY: return "a DSD or a scalar";
  case FMA: return "two DSDs and a scalar";
  case NORM: return "a scalar";
  case SCALE: return "a scalar and an i16 scalar";
  case FILTER: return "nothing";
  }
  return "";
}

static bool shape_fits(const DsdOp *op)
{
  bool v0 = is_vector(&op->src0), v1 = is_vector(&op->src1);
  switch (op->row->shape) {
  case BINARY: return v0 || v1;
  case SUB: return v0 || op->dest.kind == IRV_POINTER;
  case UNARY: return true;
  case FMA: return v0 && v1 && !is_vector(&op->factor);
  case NORM:
  case SCALE: return !v1 && !is_vector(&op->factor);
  case FILTER: return true;
  }
  return false;
}

static bool pointer_allowed(const DsdOp *op)
{
  bool v0 = is_vector(&op->src0), v1 = is_vector(&op->src1);
  switch (op->row->pointer) {
  case NEVER: return false;
  case FOLD: return !v0 && v1;
  case VECTOR: return v1;
  case SCALAR: return !v1;
  case ALWAYS: return true;
  }
  return false;
}

static bool check_fabric_rules(Sema *s, const DsdOp *op)
{
  if (op->src0.kind != IRV_NONE && op->src0.kind == IRV_DSD && op->src0.desc == DESC_FIFO) {
    op_error(s, &op->src0, op->name, "a FIFO cannot be the first of two sources");
    diag_syntax_help(s->diags, op->src0.node->span,
                     "it can be the second one: exchange the two where their order makes no "
                     "difference");
    return false;
  }
  bool in0 = op->src0.kind == IRV_DSD && op->src0.desc == DESC_FABIN;
  bool in1 = op->src1.kind == IRV_DSD && op->src1.desc == DESC_FABIN;
  if (in0 && in1 && s->session->options->arch == ARCH_WSE3)
    return op_error(s, &op->src1, op->name, "wse3 takes at most one fabin_dsd");
  bool ends_with_action = op->settings.done.kind != ACT_NONE;
  bool is_scheduled = op->settings.has_priority || op->settings.has_ut;
  if (!op->settings.is_async && !ends_with_action && !is_scheduled)
    return true;
  bool may = is_fabric(&op->dest) || is_fabric(&op->src0) || is_fabric(&op->src1) ||
             op->dest.kind == IRV_DSR || op->src0.kind == IRV_DSR || op->src1.kind == IRV_DSR;
  if (!may && op->settings.is_async)
    diag_async_needs_fabric(s->diags, op->settings.span, op->name);
  else if (!may && ends_with_action)
    diag_action_needs_fabric(s->diags, op->settings.span, op->name);
  else if (!may)
    diag_microthread_needs_fabric(s->diags, op->settings.span,
                                  op->settings.has_priority ? "priority" : "ut_id", op->name);
  if (!may && op->settings.is_async)
    diag_ends_at_once(s->diags, op->settings.span);
  return may;
}

/* The array holds as many elements as it has, not as many of any width. */
static bool fifo_holds(Sema *s, const DsdOp *op, const OpOperand *o, VecElem elem)
{
  return o->fifo == 0 || vec_elem_bytes(elem) <= s->setup->fifos[o->fifo - 1].element_bytes ||
         op_error(s, o, op->name,
                  "the operation's elements have 32 bits, those of the FIFO's array 16; make the "
                  "array one of a 32-bit type");
}

/* A FIFO does not remember how wide the elements were that went in. */
static void warn_of_fifo_width(Sema *s, const OpOperand *o, VecElem elem)
{
  unsigned bytes = vec_elem_bytes(elem);
  if (o->fifo == 0)
    return;
  Fifo *fifo = &s->setup->fifos[o->fifo - 1];
  if (fifo->moved_bytes == 0) {
    fifo->moved_bytes = bytes;
    fifo->moved_span = o->node->span;
  }
  if (fifo->moved_bytes == bytes)
    return;
  diag_fifo_two_widths(s->diags, o->node->span, 8 * bytes, 8 * fifo->moved_bytes);
  diag_fifo_moved_here(s->diags, fifo->moved_span);
}

/* The type of the elements, or of the scalar, in the place of source `slot`. */
static VecElem slot_elem(const DsdOp *op, unsigned slot)
{
  const VecOpInfo *info = &vecops[op->row->op];
  bool folds = op->dest.kind == IRV_POINTER && is_vector(&op->src1);
  if (slot == 0 && (info->kind == VK_FMACHS || (info->kind == VK_FADDHS && folds)))
    return VE_F32;
  if (slot == 2)
    return info->kind == VK_FSCALE ? VE_I16 : info->src;
  return info->src;
}

/* Is an element taken as a number, which has the wrong value if it has another width?  A move of 32
 * bits is not such an operation: programs move pairs of 16-bit numbers with it. */
static bool is_float_width(const DsdOp *op, VecElem elem)
{
  bool is_move = vecops[op->row->op].kind == VK_MOV;
  return elem == VE_F16 || (elem == VE_F32 && !is_move);
}

/* The operand that gives the operation its length: the first source that has one. */
static MovedElements moved_elements(const Sema *s, const DsdOp *op)
{
  const OpOperand *order[] = {&op->src0, &op->src1, &op->dest};
  for (size_t i = 0; i < ARRAY_COUNT(order); i++) {
    if (!is_vector(order[i]))
      continue;
    if (order[i]->kind == IRV_DSR || order[i]->fifo != 0 || !dsd_is_comptime(s, order[i]->value))
      break;
    PoolKey dsd = pool_key(s->pool, order[i]->value.value);
    uint32_t n = descriptor_length(&dsd.u.dsd.desc.desc);
    if (n > 0)
      return (MovedElements){n < sema_machine(s)->unbounded_length ? n : 0, is_fabric(order[i])};
  }
  return (MovedElements){0, false};
}

/* The width of the elements comes from the operation, not from the DSD.  Integers are left alone
 * while they fit into the array: buffers of integers hold anything. */
static bool is_of_other_width(const Sema *s, const DsdOp *op, const OpOperand *o, VecElem elem)
{
  PoolId element = o->kind == IRV_DSD ? dsd_element(s, o->value) : POOL(NONE);
  return is_float_width(op, elem) && dsd_is_over_floats(s, element) &&
         type_bytes(s->pool, element) != vec_elem_bytes(elem);
}

static void warn_of_width(Sema *s, const DsdOp *op, const OpOperand *o, VecElem elem)
{
  if (!is_of_other_width(s, op, o, elem))
    return;
  diag_float_width(s->diags, o->node->span, op->name, 8 * vec_elem_bytes(elem),
                   dsd_element(s, o->value));
  diag_float_width_help(s->diags, o->node->span);
}

static void warn_of_reach(Sema *s, const DsdOp *op, const OpOperand *o, VecElem elem)
{
  if (o->kind == IRV_DSD && !is_of_other_width(s, op, o, elem))
    dsd_warn_of_reach(s, o->value, op->name, vec_elem_bytes(elem), moved_elements(s, op),
                      o->node->span);
}

/* Mostly a quotient that has become 0: the operation is over at once, and nothing else says so. */
static void warn_of_nothing(Sema *s, const OpOperand *o)
{
  if (!is_fabric(o) || !dsd_is_comptime(s, o->value))
    return;
  if (pool_key(s->pool, o->value.value).u.dsd.desc.desc.length == 0)
    diag_extent_zero(s->diags, o->node->span);
}

typedef enum { ADDS_INDEX, ADDS_NO_INDEX, MAY_ADD_INDEX } IndexUse;

/* What an operand does with the operation's .index, as far as its descriptor is known. */
static IndexUse index_use_of(const Sema *s, const OpOperand *o)
{
  if (!is_vector(o))
    return ADDS_NO_INDEX;
  if (o->kind == IRV_DSR || !dsd_is_comptime(s, o->value))
    return MAY_ADD_INDEX;
  uint16_t flags = pool_key(s->pool, o->value.value).u.dsd.desc.desc.flags;
  return flags & DESC_F_INDEX ? ADDS_INDEX : ADDS_NO_INDEX;
}

/* An index is for DSDs with .wavelet_index_offset, and each of them needs it (SDK docs, DSDs). */
static void warn_of_index(Sema *s, const DsdOp *op)
{
  const OpOperand *operands[] = {&op->dest, &op->src0, &op->src1};
  bool is_used = false;
  for (size_t i = 0; i < ARRAY_COUNT(operands); i++) {
    IndexUse use = index_use_of(s, operands[i]);
    is_used |= use != ADDS_NO_INDEX;
    if (use == ADDS_INDEX && !op->settings.has_index)
      diag_index_not_given(s->diags, operands[i]->node->span, op->name);
  }
  if (op->settings.has_index && !is_used)
    diag_index_not_used(s->diags, op->settings.span, op->name);
}

static void warn_of_widths(Sema *s, const DsdOp *op)
{
  warn_of_width(s, op, &op->dest, vecops[op->row->op].dst);
  warn_of_width(s, op, &op->src0, slot_elem(op, 0));
  warn_of_width(s, op, &op->src1, slot_elem(op, 1));
}

/* What <control> puts together is for routers and control tasks: as data it does nothing there. */
static void warn_of_payload(Sema *s, const DsdOp *op)
{
  const OpOperand *source = op->src1.kind == IRV_SCALAR ? &op->src1 : &op->src0;
  if (source->kind != IRV_SCALAR || !is_fabric(&op->dest) || !dsd_is_comptime(s, op->dest.value))
    return;
  uint16_t flags = pool_key(s->pool, op->dest.value.value).u.dsd.desc.desc.flags;
  if (flags & (DESC_F_CONTROL | DESC_F_TRANSFORM) ||
      !sema_is_call_of(s, source->node, "<control>", "encode_"))
    return;
  const Decl *dsd = op->dest.value.decl;
  diag_payload_as_data(s->diags, dsd ? dsd->name_span : op->dest.node->span);
  diag_payload_sent_here(s->diags, op->at);
  arrput(s->setup->payloads_told, op->at);
}

static void warn_of_values(Sema *s, const DsdOp *op)
{
  warn_of_payload(s, op);
  warn_of_reach(s, op, &op->dest, vecops[op->row->op].dst);
  warn_of_reach(s, op, &op->src0, slot_elem(op, 0));
  warn_of_reach(s, op, &op->src1, slot_elem(op, 1));
  warn_of_nothing(s, &op->dest);
  warn_of_nothing(s, &op->src0);
  warn_of_nothing(s, &op->src1);
  warn_of_index(s, op);
}

/* The same, with what the variables hold that operands were read from. */
static void warn_of_variables(Sema *s, DsdOp op)
{
  DsdVariables from = {0};
  op.dest.value = dsd_presume(s, op.dest.value, &from);
  op.src0.value = dsd_presume(s, op.src0.value, &from);
  op.src1.value = dsd_presume(s, op.src1.value, &from);
  if (from.n == 0)
    return;
  size_t mark = diags_mark(s->diags);
  if (lies_in_constant(s, &op.dest))
    diag_writes_constant(s->diags, op.dest.node->span, op.name);
  warn_of_values(s, &op);
  dsd_hold_messages(s, mark, &from, REST_ON_VALUES);
  mark = diags_mark(s->diags);
  warn_of_widths(s, &op);
  dsd_hold_messages(s, mark, &from, REST_ON_ELEMENTS);
}

static bool pointer_error(Sema *s, const DsdOp *op)
{
  PoolKey type = pool_key(s->pool, op->dest.value.type);
  op_error(s, &op->dest, op->name, "the pointer must lead to a variable of the result's type");
  if (type.kind == PK_POINTER_TYPE &&
      pool_kind(s->pool, type.u.pointer_type.pointee) == PK_ARRAY_TYPE)
    diag_syntax_help(s->diags, op->dest.node->span,
                     "'&ARRAY[0]' leads to one element; for more of them the destination is a DSD");
  return false;
}

static bool check_op(Sema *s, DsdOp *op, const NodeBuiltinCall *call)
{
  if (!check_dest(s, &op->dest, op->name))
    return false;
  if (op->src0.kind != IRV_NONE && !check_source(s, &op->src0, op->name))
    return false;
  if (op->src1.kind != IRV_NONE && !check_source(s, &op->src1, op->name))
    return false;
  if (op->factor.kind == IRV_POINTER)
    return op_error(s, &op->factor, op->name, "the last source is a scalar value");
  if (!shape_fits(op)) {
    diag_dsd_forms(s->diags, op->at, op->name, forms_text(op->row->shape));
    sema_note_usage(s, &call->head);
    return false;
  }
  if (op->dest.kind == IRV_POINTER) {
    if (!pointer_allowed(op))
      return op_error(s, &op->dest, op->name, "with these sources the destination must be a DSD");
    if (!pointer_fits(s, &op->dest, vecops[op->row->op].dst))
      return pointer_error(s, op);
  }
  const VecOpInfo *info = &vecops[op->row->op];
  size_t mark = diags_mark(s->diags);
  warn_of_widths(s, op);
  warn_of_values(s, op);
  dsd_hold_messages(s, mark, &(DsdVariables){0}, REST_ON_VALUES);
  warn_of_variables(s, *op);
  if (!fifo_holds(s, op, &op->dest, info->dst) || !fifo_holds(s, op, &op->src1, info->src))
    return false;
  warn_of_fifo_width(s, &op->dest, info->dst);
  warn_of_fifo_width(s, &op->src1, info->src);
  return check_fabric_rules(s, op);
}

static bool coerce_scalars(Sema *s, DsdOp *op, const NodeBuiltinCall *call)
{
  OpOperand *slots[] = {&op->src0, &op->src1, &op->factor};
  bool ok = true;
  for (unsigned i = 0; i < ARRAY_COUNT(slots); i++) {
    if (slots[i]->kind != IRV_SCALAR)
      continue;
    bool is_struct = pool_kind(s->pool, slots[i]->value.type) == PK_STRUCT_TYPE;
    slots[i]->value = scalar_as(s, slots[i]->value, slot_elem(op, i), slots[i]->node->span);
    ok &= !operand_is_poison(slots[i]->value);
    if (is_struct)
      sema_note_usage(s, &call->head);       /* the settings, where an operand is missing */
  }
  return ok;
}

/* The settings of an operation without a fabric DSD are those of its DSRs. */
static void note_dsr_operation(Sema *s, const DsdOp *op, uint8_t wanted)
{
  const OpOperand *order[] = {&op->dest, &op->src0, &op->src1};
  DsrOperation noted = {.wanted = wanted, .name = op->name, .span = op->at};
  for (size_t i = 0; i < ARRAY_COUNT(order); i++) {
    if (is_fabric(order[i]))
      return;
    if (order[i]->kind != IRV_DSR)
      continue;
    noted.files[noted.n_dsrs] = order[i]->file;
    noted.numbers[noted.n_dsrs++] = (uint8_t)order[i]->number;
  }
  setup_note_dsr_operation(s, noted);
}

/* The completion action stands in the first fabric operand (destination, source 0, source 1), the
 * on-control action in the first fabric source: where the machine looks for them. */
static bool apply_settings(Sema *s, DsdOp *op)
{
  OpOperand *order[] = {&op->dest, &op->src0, &op->src1};
  const OpOperand *done = NULL, *control = NULL;
  for (size_t i = 0; i < ARRAY_COUNT(order); i++) {
    if (!is_fabric(order[i]))
      continue;
    if (!done)
      done = order[i];
    if (!control && order[i]->desc == DESC_FABIN)
      control = order[i];
  }
  if (op->settings.on_control.kind != ACT_NONE && !control &&
      op->src0.kind != IRV_DSR && op->src1.kind != IRV_DSR) {
    diag_on_control_needs_fabin(s->diags, op->settings.span);
    return false;
  }
  bool ok = true;
  for (size_t i = 0; i < ARRAY_COUNT(order); i++) {
    if (order[i] != done && order[i] != control)
      continue;
    OpSettings set = op->settings;
    set.has_priority = false;          /* the instruction has it */
    if (order[i] != done)
      set.has_ut = set.is_async = false;
    order[i]->value = op_settings_apply(s, &set, order[i]->value, order[i] == done,
                                        order[i] == control);
    ok &= !operand_is_poison(order[i]->value);
  }
  return ok;
}

static IrVecOperand emit_operand(Sema *s, const OpOperand *o, IrValue *args, uint32_t *n)
{
  IrVecOperand out = {.kind = o->kind, .file = o->file, .number = o->number};
  if (o->kind == IRV_NONE)
    return out;
  if (o->value.name.raw)
    out.name = sema_text(s, o->value.name);
  if (o->kind == IRV_DSR)
    return out;
  out.is_memory = is_memory(o);
  out.arg = *n;
  args[(*n)++] = sema_ir(s, o->value);
  return out;
}

static Operand emit_op(Sema *s, const DsdOp *op)
{
  IrValue args[5];
  uint32_t n = 0;
  IrVec vec = {.op = op->row->op, .scalar = IR_NO_ID, .index = IR_NO_ID};
  if (op->settings.has_priority)
    vec.priority = (uint8_t)(1 + op->settings.priority);
  vec.dest = emit_operand(s, &op->dest, args, &n);
  vec.src0 = emit_operand(s, &op->src0, args, &n);
  vec.src1 = emit_operand(s, &op->src1, args, &n);
  if (op->factor.kind != IRV_NONE) {
    vec.scalar = n;
    args[n++] = sema_ir(s, op->factor.value);
  }
  if (op->settings.has_index) {
    vec.index = n;
    args[n++] = sema_ir(s, op->settings.index);
  }
  return operand_runtime(ir_vec(&s->b, &vec, args, n), POOL(BOOL));
}

/* Arguments between the destination and the settings, put where the machine has them: one source
 * is source 1. */
static bool read_sources(Sema *s, const NodeBuiltinCall *call, DsdOp *op)
{
  OpOperand *order[3] = {&op->src0, &op->src1, &op->factor};
  uint32_t n = op->row->least - 1;
  uint32_t first = op->row->shape == UNARY || op->row->shape == NORM || op->row->shape == SCALE;
  bool ok = true;
  for (uint32_t i = 0; i < n; i++) {
    *order[first + i] = classify_operand(s, call->args.at[1 + i]);
    ok &= !operand_is_poison(order[first + i]->value);
  }
  return ok;
}

/* @dfilt(fabin, settings): what arrives goes nowhere, and only in the background. */
static Operand filter_op(Sema *s, const NodeBuiltinCall *call, DsdOp *op)
{
  op->src1 = classify_operand(s, call->args.at[0]);
  op->settings.ok = true;
  if (call->args.count > op->row->least)
    op->settings = last_settings(s, call, op->row->least);
  if (operand_is_poison(op->src1.value) || !op->settings.ok)
    return operand_poison();
  bool is_dsr = op->src1.kind == IRV_DSR;
  if (is_dsr ? op->src1.file != DSR_SRC1
             : op->src1.kind != IRV_DSD || op->src1.desc != DESC_FABIN) {
    op_error(s, &op->src1, op->name, "it needs a fabin_dsd, or a dsr_src1 loaded with one");
    return operand_poison();
  }
  if (!is_dsr && !op->settings.is_async) {
    op_error(s, &op->src1, op->name, "it needs the setting .async = true");
    return operand_poison();
  }
  if (op->settings.has_index || op->settings.on_control.kind != ACT_NONE) {
    op_error(s, &op->src1, op->name, "it takes neither .index nor .on_control");
    return operand_poison();
  }
  if (is_dsr)
    note_dsr_operation(s, op, dsr_settings_of(&op->settings) | DSR_SETTING_ASYNC);
  return apply_settings(s, op) ? emit_op(s, op) : operand_poison();
}

Operand builtin_dsd_op(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  const char *name = sema_text(s, call->name.text);
  DsdOp op = {.row = row_of(name), .name = name, .at = at};
  if (op.row->shape == FILTER)
    return filter_op(s, call, &op);
  op.dest = classify_operand(s, call->args.at[0]);
  bool ok = read_sources(s, call, &op);
  op.settings.ok = true;
  if (call->args.count > op.row->least)
    op.settings = last_settings(s, call, op.row->least);
  if (!ok || operand_is_poison(op.dest.value) || !op.settings.ok)
    return operand_poison();
  if (!check_op(s, &op, call) || !coerce_scalars(s, &op, call) || !apply_settings(s, &op))
    return operand_poison();
  note_dsr_operation(s, &op, dsr_settings_of(&op.settings));
  return emit_op(s, &op);
}
