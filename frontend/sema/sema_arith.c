/* Operators: folded if both sides are known, symbolic if one of them is symbolic, otherwise
 * emitted.
 *
 * At compile time a fixed-width result that does not fit is an error, because the author would not
 * see it wrap; at run time arithmetic wraps. */
#include "frontend/sema/sema_internal.h"

/* ---- symbolic values ------------------------------------------------------------------------ */

static PoolId make_symbolic(Sema *s, SymbolicKind sym, unsigned op, PoolId type, PoolId a, PoolId b)
{
  PoolKey k = {.kind = PK_SYMBOLIC, .type = type};
  k.u.symbolic.sym = sym;
  k.u.symbolic.op = op;
  k.u.symbolic.a = a;
  k.u.symbolic.b = b;
  sema_count_steps(s, STEPS_PER_SYMBOLIC);
  return pool_get(s->pool, &k);
}

/* ---- run time ------------------------------------------------------------------------------- */

static bool is_signed_type(Sema *s, PoolId type)
{
  PoolKey k = pool_key(s->pool, value_int_type(s->pool, type));
  return k.kind == PK_INT_TYPE && k.u.int_type.is_signed;
}

IrValue emit_normalise(Sema *s, IrValue v, PoolId type)
{
  PoolKey k = pool_key(s->pool, type);
  IrType ir_type = type_ir(s->pool, type);
  if (k.kind != PK_INT_TYPE || ir_type_bits(ir_type) == k.u.int_type.bits)
    return v;
  unsigned spare = ir_type_bits(ir_type) - k.u.int_type.bits;
  if (!k.u.int_type.is_signed) {
    uint64_t mask = ((uint64_t)1 << k.u.int_type.bits) - 1;
    return ir_binary(&s->b, IR_and, ir_type, v, ir_const(&s->b, ir_type, mask));
  }
  IrValue by = ir_const(&s->b, IRT_I16, spare);
  return ir_binary(&s->b, IR_ashr, ir_type, ir_binary(&s->b, IR_shl, ir_type, v, by), by);
}

static IrValue emit_compare(Sema *s, BinaryOp op, PoolId type, IrValue x, IrValue y)
{
  bool is_float = type_is_float(s->pool, type), is_signed = is_signed_type(s, type);
  IrOp less = is_float ? IR_flt : is_signed ? IR_slt : IR_ult;
  IrOp at_most = is_float ? IR_fle : is_signed ? IR_sle : IR_ule;
  switch ((int)op) {
  case BINARY_EQ:
    return ir_binary(&s->b, is_float ? IR_feq : IR_eq, IRT_BOOL, x, y);
  case BINARY_NE:
    if (!is_float)
      return ir_binary(&s->b, IR_ne, IRT_BOOL, x, y);
    return ir_binary(&s->b, IR_xor, IRT_BOOL, ir_binary(&s->b, IR_feq, IRT_BOOL, x, y),
                     ir_const(&s->b, IRT_BOOL, 1));
  case BINARY_LT: return ir_binary(&s->b, less, IRT_BOOL, x, y);
  case BINARY_LE: return ir_binary(&s->b, at_most, IRT_BOOL, x, y);
  case BINARY_GT: return ir_binary(&s->b, less, IRT_BOOL, y, x);
  default:        return ir_binary(&s->b, at_most, IRT_BOOL, y, x);
  }
}

static IrOp arithmetic_op(BinaryOp op, bool is_float, bool is_signed)
{
  switch ((int)op) {
  case BINARY_ADD: return is_float ? IR_fadd : IR_add;
  case BINARY_SUB: return is_float ? IR_fsub : IR_sub;
  case BINARY_MUL: return is_float ? IR_fmul : IR_mul;
  case BINARY_DIV: return is_float ? IR_fdiv : is_signed ? IR_sdiv : IR_udiv;
  case BINARY_REM: return is_signed ? IR_srem : IR_urem;
  case BINARY_SHL: return IR_shl;
  case BINARY_SHR: return is_signed ? IR_ashr : IR_lshr;
  case BINARY_AND: return IR_and;
  case BINARY_OR:  return IR_or;
  case BINARY_XOR: return IR_xor;
  default: ICE("operator %s at run time", binary_op_spelling(op));
  }
}

static IrValue emit_binary(Sema *s, BinaryOp op, PoolId type, IrValue x, IrValue y)
{
  IrOp ir_op = arithmetic_op(op, type_is_float(s->pool, type), is_signed_type(s, type));
  IrValue v = ir_binary(&s->b, ir_op, type_ir(s->pool, type), x, y);
  bool can_leave = op != BINARY_AND && op != BINARY_OR && op != BINARY_XOR && op != BINARY_REM &&
                   op != BINARY_SHR;
  return can_leave ? emit_normalise(s, v, type) : v;
}

/* ---- typing --------------------------------------------------------------------------------- */

static bool is_equality(BinaryOp op) { return op == BINARY_EQ || op == BINARY_NE; }

/* Does the operator apply to the type? */
static bool has_operator(Sema *s, BinaryOp op, PoolId type)
{
  if (type_is_int(s->pool, type))
    return true;
  PoolKey k = pool_key(s->pool, type);
  if (type_is_float(s->pool, type))
    return op <= BINARY_SUB ? op != BINARY_REM : binary_op_is_comparison(op);
  if (pool_eq(type, POOL(BOOL)))
    return is_equality(op) || op == BINARY_AND || op == BINARY_OR || op == BINARY_XOR;
  if (!is_equality(op))
    return false;
  return k.kind == PK_ENUM_TYPE || k.kind == PK_POINTER_TYPE || type_is_id(type) ||
         type_is_dsr(type) || pool_eq(type, POOL(DIRECTION)) || pool_eq(type, POOL(TYPE)) ||
         pool_eq(type, POOL(COMPTIME_STRING)) || pool_eq(type, POOL(XDSR)) ||
         pool_eq(type, POOL(SR)) || pool_eq(type, POOL(VOID));
}

static bool is_enum_and_number(const Sema *s, PoolId a, PoolId b)
{
  return pool_kind(s->pool, a) == PK_ENUM_TYPE && type_is_numeric(s->pool, b);
}

static Operand bad_operands(Sema *s, BinaryOp op, Operand a, Operand b, Span span)
{
  if (pool_eq(a.type, b.type))
    diag_bad_operand_type(s->diags, span, binary_op_spelling(op), a.type);
  else
    diag_operand_mismatch(s->diags, span, binary_op_spelling(op), a.type,
                          b.type);
  if (pool_kind(s->pool, a.type) == PK_POINTER_TYPE && op <= BINARY_SUB)
    diag_pointer_arithmetic(s->diags, span);
  if (type_is_dsd(a.type) || type_is_dsd(b.type) ||
      pool_kind(s->pool, a.type) == PK_ARRAY_TYPE || pool_kind(s->pool, b.type) == PK_ARRAY_TYPE) {
    if (binary_op_is_comparison(op))
      diag_vector_comparison(s->diags, span);
    else
      diag_dsd_arithmetic(s->diags, span);
  }
  if (pool_eq(a.type, POOL(COMPTIME_STRING)) && op == BINARY_ADD)
    diag_syntax_help(s->diags, span, "join strings with @strcat");
  sema_note_declared(s, &a);
  if (!str_eq(a.name, b.name))
    sema_note_declared(s, &b);
  bool are_numbers = type_is_numeric(s->pool, a.type) && type_is_numeric(s->pool, b.type);
  bool has_float = type_is_float(s->pool, a.type) || type_is_float(s->pool, b.type);
  if (are_numbers && op == BINARY_REM && has_float)
    diag_syntax_help(s->diags, span, "'%' is for integers; of floats the remainder is "
                                     "'A - B * floor(A / B)', with 'floor' of <math>");
  else if (are_numbers && op == BINARY_XOR && !sema_is_integral(s, a.type))
    diag_syntax_help(s->diags, span, "'^' is exclusive or; a power is 'pow' of <math>");
  else if (are_numbers && !pool_eq(a.type, b.type))
    diag_use_as(s->diags, span);
  else if (is_enum_and_number(s, a.type, b.type) || is_enum_and_number(s, b.type, a.type))
    diag_enum_number(s->diags, span);
  return operand_poison();
}

/* ---- shifts --------------------------------------------------------------------------------- */

enum { AMOUNT_BITS = 16, AMOUNT_MAX = UINT16_MAX };   /* of the amount that the IR's shifts take */
_Static_assert((int)TYPE_WIDE_MAX_BITS < (int)AMOUNT_MAX, "AMOUNT_MAX shifts everything out");

static bool known_amount(Sema *s, Operand b, uint32_t *amount)
{
  int64_t v;
  if (b.kind != OPR_COMPTIME || sema_is_symbolic(s, b.value))
    return false;
  bool fits = pool_int_value(s->pool, b.value, &v) && v < AMOUNT_MAX;
  *amount = fits ? (uint32_t)v : AMOUNT_MAX;
  return true;
}

/* The low word of an amount; all ones if something is above it. */
static IrValue saturate_amount(Sema *s, IrValue low, IrType type, IrValue above)
{
  IrValue is_above = ir_binary(&s->b, IR_ne, IRT_BOOL, above, ir_const(&s->b, type, 0));
  IrValue ones = ir_binary(&s->b, IR_sub, IRT_I16, ir_const(&s->b, IRT_I16, 0),
                           ir_unary(&s->b, IR_zext, IRT_I16, is_above));
  return ir_binary(&s->b, IR_or, IRT_I16, low, ones);
}

/* An amount that does not fit a word becomes AMOUNT_MAX: cutting it off would make it small. */
static IrValue emit_amount(Sema *s, Operand b)
{
  uint32_t known;
  if (known_amount(s, b, &known))
    return ir_const(&s->b, IRT_I16, known);
  if (type_is_wide(s->pool, b.type)) {
    IrValue low = sema_ir(s, wide_convert(s, b, POOL(U16), b.span));
    return saturate_amount(s, low, IRT_I64, wide_above(s, b, AMOUNT_BITS));
  }
  IrType type = type_ir(s->pool, b.type);
  IrValue v = sema_ir(s, b);
  if (type == IRT_I16)
    return v;
  if (type == IRT_I8)
    return ir_unary(&s->b, IR_zext, IRT_I16, v);
  IrValue above = ir_binary(&s->b, IR_lshr, type, v, ir_const(&s->b, IRT_I16, AMOUNT_BITS));
  return saturate_amount(s, ir_unary(&s->b, IR_trunc, IRT_I16, v), type, above);
}

static Operand emit_shift(Sema *s, BinaryOp op, Operand a, Operand b)
{
  uint32_t known;
  if (type_is_wide(s->pool, a.type))
    return known_amount(s, b, &known) ? wide_shift_known(s, op, a, known)
                                      : wide_shift(s, op, a, emit_amount(s, b));
  IrValue x = sema_ir(s, a);
  return operand_runtime(emit_binary(s, op, a.type, x, emit_amount(s, b)), a.type);
}

static bool is_negative(Sema *s, Operand b)
{
  int64_t v;
  return b.kind == OPR_COMPTIME && !sema_is_symbolic(s, b.value) &&
         pool_int_value(s->pool, b.value, &v) && v < 0;
}

/* A shift to the left is mostly of half of a wider number, which is not made wider before it. */
static void check_amount(Sema *s, BinaryOp op, Operand a, Operand b, Span span)
{
  enum { LEAST_WIDER = 16 };
  uint32_t amount, wider = LEAST_WIDER;
  PoolKey type = pool_key(s->pool, a.type);
  if (!known_amount(s, b, &amount) || amount < type.u.int_type.bits)
    return;
  diag_shifts_all_out(s->diags, span, b.value, a.type);
  while (wider <= amount)
    wider *= 2;
  if (op == BINARY_SHL && wider <= TYPE_WIDE_MAX_BITS)
    diag_widen_first(s->diags, span,
                     arena_printf(s->arena, "%c%u", type.u.int_type.is_signed ? 'i' : 'u', wider));
  else
    diag_amounts_that_leave(s->diags, span, type.u.int_type.bits - 1);
}

/* The right operand may have another width. */
static Operand shift_operand(Sema *s, BinaryOp op, Operand a, Operand b, Span span)
{
  if (!type_is_int(s->pool, a.type) || !type_is_int(s->pool, b.type))
    return bad_operands(s, op, a, b, span);
  PoolKey bk = pool_key(s->pool, b.type);
  if (is_negative(s, b)) {
    diag_bad_shift(s->diags, span, b.value, a.type);
    return operand_poison();
  }
  if (b.kind != OPR_COMPTIME && bk.u.int_type.is_signed) {
    diag_signed_shift(s->diags, b.span.off ? b.span : span, b.type);
    return operand_poison();
  }
  if (a.kind == OPR_COMPTIME && b.kind == OPR_COMPTIME) {
    if (sema_is_symbolic(s, a.value) || sema_is_symbolic(s, b.value))
      return operand_value(s, make_symbolic(s, SYM_BINARY, op, a.type, a.value, b.value));
    return operand_value(s, fold_binary(s, op, a.type, a.value, b.value, span));
  }
  if (pool_eq(a.type, POOL(COMPTIME_INT))) {
    diag_untyped_operand(s->diags, span, binary_op_spelling(op));
    return operand_poison();
  }
  if (!sema_check_run_time(s, a.type, span))
    return operand_poison();
  if (!sema_emits(s)) {
    operands_report_run_time(s, &a, &b, span);
    return operand_poison();
  }
  check_amount(s, op, a, b, span);
  return emit_shift(s, op, a, b);
}

/* Warns of x / 0 and x % 0, which the machine computes. */
static void check_divisor(Sema *s, BinaryOp op, Operand b, PoolId type, Span span)
{
  int64_t divisor;
  if ((op == BINARY_DIV || op == BINARY_REM) && type_is_int(s->pool, type) &&
      b.kind == OPR_COMPTIME && !sema_is_symbolic(s, b.value) &&
      pool_int_value(s->pool, b.value, &divisor) && divisor == 0)
    diag_divides_by_zero(s->diags, span, op == BINARY_DIV ? "0" : "the dividend");
}

/* The comparison with its sides changed. */
static BinaryOp mirrored_comparison(BinaryOp op)
{
  switch ((int)op) {
  case BINARY_LT: return BINARY_GT;
  case BINARY_LE: return BINARY_GE;
  case BINARY_GT: return BINARY_LT;
  case BINARY_GE: return BINARY_LE;
  default: return op;
  }
}

/* The largest number of the type, or 0 if 63 bits do not hold it. */
static uint64_t largest_number(const Sema *s, PoolId type)
{
  PoolKey key = pool_key(s->pool, type);
  unsigned bits = key.u.int_type.bits - key.u.int_type.is_signed;
  return bits < 63 ? (UINT64_C(1) << bits) - 1 : 0;
}

/* A comparison by order, `variable op number`; turned if the number stands on the left. */
typedef struct { BinaryOp op; PoolId type; uint64_t number; } Bound;

static bool read_bound(Sema *s, const NodeBinary *n, Bound *bound)
{
  bool is_left = node_kind(n->left) == ND_INT;
  const Node *number = is_left ? n->left : n->right, *name = is_left ? n->right : n->left;
  BinaryOp op = is_left ? mirrored_comparison(n->op) : n->op;
  bool has_order = op == BINARY_LE || op == BINARY_GE || op == BINARY_LT || op == BINARY_GT;
  if (node_kind(number) != ND_INT || !str_is_none(node_int(number)->big) ||
      node_kind(name) != ND_IDENT || !has_order)
    return false;
  const Local *local = scope_find(s, node_ident(name)->name);
  if (!local || !local->type || node_kind(local->type) != ND_IDENT ||
      !pool_eq(scope_predeclared_type(s, node_ident(local->type)->name), local->o.type) ||
      pool_kind(s->pool, local->o.type) != PK_INT_TYPE)
    return false;
  *bound = (Bound){op, local->o.type, node_int(number)->value};
  return true;
}

void sema_check_condition(Sema *s, const Node *condition)
{
  Bound b;
  if (node_kind(condition) != ND_BINARY || !read_bound(s, node_binary(condition), &b))
    return;
  Span at = node_binary(condition)->op_span;
  bool truth = b.op == BINARY_LE || b.op == BINARY_GE;
  bool is_upper = b.op == BINARY_LE || b.op == BINARY_GT;
  uint64_t largest = largest_number(s, b.type);
  bool is_unsigned = !pool_key(s->pool, b.type).u.int_type.is_signed;
  if (is_upper ? b.number != largest || !largest : b.number != 0 || !is_unsigned)
    return;
  char digits[24];
  snprintf(digits, sizeof digits, "%llu", (unsigned long long)b.number);
  diag_comparison_decided(s->diags, at, truth ? "true" : "false", b.type,
                          is_upper ? "greater" : "less", digits);
  if (!is_upper)
    diag_counts_below_zero(s->diags, at);
}

Operand sema_binary(Sema *s, BinaryOp op, Operand a, Operand b, Span span)
{
  a = sema_load(s, a);
  b = sema_load(s, b);
  if (operand_is_poison(a) || operand_is_poison(b))
    return operand_poison();
  if (op == BINARY_SHL || op == BINARY_SHR)
    return shift_operand(s, op, a, b, span);
  if (a.kind == OPR_COMPTIME && b.kind == OPR_COMPTIME && pool_eq(a.type, b.type) &&
      type_is_int(s->pool, a.type) && !sema_is_symbolic(s, a.value) &&
      !sema_is_symbolic(s, b.value))
    return operand_value(s, fold_binary(s, op, a.type, a.value, b.value, span));
  PoolId type = sema_peer_type(s, a, b);
  if (pool_is_none(type) || !has_operator(s, op, type)) {
    /* Comparing what can never be equal (a type with a value) still has an answer in tests. */
    return bad_operands(s, op, a, b, span);
  }
  a = sema_coerce(s, a, type, a.span.off ? a.span : span);
  b = sema_coerce(s, b, type, b.span.off ? b.span : span);
  if (operand_is_poison(a) || operand_is_poison(b))
    return operand_poison();
  if (pool_eq(type, POOL(TYPE)))
    release_sign_here(s, SIGN_TYPES_COMPARED, span);
  bool is_bool = binary_op_is_comparison(op);
  if (a.kind == OPR_COMPTIME && b.kind == OPR_COMPTIME) {
    if (sema_is_symbolic(s, a.value) || sema_is_symbolic(s, b.value))
      return operand_value(
          s, make_symbolic(s, SYM_BINARY, op, is_bool ? POOL(BOOL) : type, a.value, b.value));
    return operand_value(s, fold_binary(s, op, type, a.value, b.value, span));
  }
  if (!sema_check_run_time(s, type, span))
    return operand_poison();
  if (!sema_emits(s)) {
    operands_report_run_time(s, &a, &b, span);
    return operand_poison();
  }
  check_divisor(s, op, b, type, span);
  if (type_is_wide(s->pool, type))
    return wide_binary(s, op, type, a, b);
  IrValue x = sema_ir(s, a), y = sema_ir(s, b);
  if (is_bool) {
    s->own->compared = (Comparison){emit_compare(s, op, type, x, y), x, y, type};
    return operand_runtime(s->own->compared.result, POOL(BOOL));
  }
  return operand_runtime(emit_binary(s, op, type, x, y), type);
}

static bool unary_applies(Sema *s, UnaryOp op, PoolId type)
{
  if (op == UNARY_NOT)
    return pool_eq(type, POOL(BOOL));
  if (op == UNARY_NEGATE)
    return type_is_numeric(s->pool, type);
  return pool_kind(s->pool, type) == PK_INT_TYPE;
}

Operand sema_unary(Sema *s, UnaryOp op, Operand a, Span span)
{
  a = sema_load(s, a);
  if (operand_is_poison(a))
    return a;
  if (!unary_applies(s, op, a.type)) {
    diag_bad_unary_type(s->diags, span, unary_op_spelling(op), a.type);
    if (op == UNARY_NOT && type_is_int(s->pool, a.type))
      diag_syntax_help(s->diags, span, "'!' is for bools: 'VALUE == 0' asks for zero, and '~' "
                                       "inverts the bits of a number");
    return operand_poison();
  }
  if (a.kind == OPR_COMPTIME) {
    if (sema_is_symbolic(s, a.value))
      return operand_value(s, make_symbolic(s, SYM_UNARY, op, a.type, a.value, POOL(NONE)));
    return operand_value(s, fold_unary(s, op, a.type, a.value, span));
  }
  if (!sema_check_run_time(s, a.type, span))
    return operand_poison();
  if (!sema_emits(s)) {
    operands_report_run_time(s, &a, &a, span);
    return operand_poison();
  }
  if (type_is_wide(s->pool, a.type))
    return wide_unary(s, op, a);
  IrType ir_type = type_ir(s->pool, a.type);
  IrValue v = sema_ir(s, a);
  if (op == UNARY_NOT)
    v = ir_binary(&s->b, IR_xor, IRT_BOOL, v, ir_const(&s->b, IRT_BOOL, 1));
  else if (type_is_float(s->pool, a.type))
    v = ir_unary(&s->b, IR_fneg, ir_type, v);
  else if (op == UNARY_NEGATE)
    v = ir_binary(&s->b, IR_sub, ir_type, ir_const(&s->b, ir_type, 0), v);
  else
    v = ir_binary(&s->b, IR_xor, ir_type, v,
                  ir_const(&s->b, ir_type, ~(uint64_t)0 >> (64 - ir_type_bits(ir_type))));
  return operand_runtime(emit_normalise(s, v, a.type), a.type);
}

/* ---- without a walk ------------------------------------------------------------------------- */

/* Layouts ask a million times for what follows by operators from integers at hand: known locals,
 * literals, and what has been kept of earlier walks. */

/* An integer of at most 64 bits. */
typedef struct { PoolId type; int64_t value; } SmallInt;

enum { DEPTH_MOST = 8 };        /* of operators in each other that are looked through */

static bool operate_at_hand(Sema *s, const NodeBinary *n, PoolId want, unsigned depth,
                            SmallInt *out);

/* False: none is at hand; likewise below. */
static bool int_at_hand(Sema *s, const Node *n, PoolId want, unsigned depth, SmallInt *out)
{
  if (n->kind == ND_INT) {
    const NodeInt *literal = node_int(n);
    *out = (SmallInt){POOL(COMPTIME_INT), (int64_t)literal->value};
    return s->session->listener == NULL && str_is_none(literal->big) &&
           literal->value <= INT64_MAX;
  }
  PoolId value = value_at_hand(s, n, want, s->now.comptime);
  if (pool_is_none(value))
    return n->kind == ND_BINARY && depth < DEPTH_MOST &&
           operate_at_hand(s, node_binary(n), want, depth + 1, out);
  if (!pool_int_value(s->pool, value, &out->value))
    return false;
  out->type = pool_type_of(s->pool, value);
  return type_is_int(s->pool, out->type);
}

/* Both operands of an operator, and the type in which it computes.  Mistakes are left to the
 * walk. */
static bool ints_at_hand(Sema *s, const NodeBinary *n, PoolId want, unsigned depth, SmallInt *a,
                         SmallInt *b, PoolId *type)
{
  if (!int_at_hand(s, n->left, want, depth, a))
    return false;
  bool has_type = !pool_eq(a->type, POOL(COMPTIME_INT));
  if (!int_at_hand(s, n->right, has_type ? a->type : want, depth, b))
    return false;
  bool takes_other = !has_type && !pool_eq(b->type, a->type);
  *type = takes_other ? b->type : a->type;
  return value_small_fits(s->pool, *type, takes_other ? a->value : b->value) &&
         (takes_other || pool_eq(a->type, b->type) || pool_eq(b->type, POOL(COMPTIME_INT)));
}

static bool operate_at_hand(Sema *s, const NodeBinary *n, PoolId want, unsigned depth,
                            SmallInt *out)
{
  SmallInt a, b;
  bool is_logical = n->op == BINARY_LOGICAL_AND || n->op == BINARY_LOGICAL_OR;
  return !is_logical && !binary_op_is_comparison(n->op) && n->op != BINARY_SHL &&
         n->op != BINARY_SHR && ints_at_hand(s, n, want, depth, &a, &b, &out->type) &&
         operate_on_small(n->op, a.value, b.value, &out->value) &&
         value_small_fits(s->pool, out->type, out->value);
}

static PoolId known_bool(Sema *s, const Node *n, unsigned depth)
{
  SmallInt a, b;
  PoolId type;
  int64_t outcome;
  if (n->kind != ND_BINARY || s->session->listener != NULL)
    return POOL(NONE);
  const NodeBinary *binary = node_binary(n);
  if (binary_op_is_comparison(binary->op))
    return ints_at_hand(s, binary, POOL(NONE), depth, &a, &b, &type) &&
                   operate_on_small(binary->op, a.value, b.value, &outcome)
               ? pool_bool(outcome) : POOL(NONE);
  bool is_and = binary->op == BINARY_LOGICAL_AND;
  if ((!is_and && binary->op != BINARY_LOGICAL_OR) || depth == DEPTH_MOST)
    return POOL(NONE);
  PoolId left = known_bool(s, binary->left, depth + 1);
  return pool_is_none(left) || value_is_true(left) != is_and
             ? left : known_bool(s, binary->right, depth + 1);
}

PoolId bool_at_hand(Sema *s, const Node *n)
{
  ReplayMark before = sema_replay_mark(s);
  PoolId known = known_bool(s, n, 0);
  replay_decide(s, n, before, known);
  return known;
}

PoolId fold_at_hand(Sema *s, const NodeBinary *n, PoolId want)
{
  SmallInt value;
  return operate_at_hand(s, n, want, 0, &value) ? pool_int(s->pool, value.type, value.value)
                                                : POOL(NONE);
}
