/* Tensor access expressions: |i, j|{n, m} -> a[e, f] with e, f affine in i, j.
 *
 * Flattening a[e, f] by rows gives an offset and a weight for each variable.  The value is the
 * struct that a program could write by hand: `extent` outermost first, `stride` innermost first,
 * where a stride is what the address moves when that loop steps, after the loops inside it have
 * wrapped. */
#include "frontend/machine/dsd.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_VARS = 4 };
typedef struct { int64_t constant, weight[MAX_VARS]; } Affine;

typedef struct { const NodeTensorAccess *access; bool found; } VarSearch;

static int var_index(const NodeTensorAccess *access, const Node *n)
{
  if (node_kind(n) != ND_IDENT)
    return -1;
  for (uint32_t i = 0; i < access->vars.count; i++)
    if (str_eq(access->vars.at[i].text, node_ident(n)->name))
      return (int)i;
  return -1;
}

static void search_vars(void *context, Node *child)
{
  VarSearch *search = context;
  if (var_index(search->access, child) >= 0)
    search->found = true;
  if (!search->found)
    node_visit_children(child, search_vars, search);
}

static bool mentions_vars(const NodeTensorAccess *access, Node *n)
{
  VarSearch search = {access, false};
  search_vars(&search, n);
  return search.found;
}

static bool comptime_int(Sema *s, const Node *n, int64_t *out)
{
  size_t errors = diags_error_count(s->diags);
  PoolId value = sema_comptime(s, n, POOL(NONE));
  if (pool_eq(value, POOL(POISON)) && diags_error_count(s->diags) > errors)
    diag_tensor_run_time(s->diags, n->span);
  return !pool_eq(value, POOL(POISON)) &&
         sema_number_in(s, operand_value(s, value), INT32_MIN, INT32_MAX, "a part of an index",
                        n->span, out);
}

/* More elements than any tile has: larger numbers in an index are refused, so that what is
 * computed from them fits. */
enum { MOST = 1 << 24 };

/* sum + a * b; false if it is too large. */
static bool add_product(int64_t sum, int64_t a, int64_t b, int64_t *out)
{
  if (a != 0 && llabs(b) > MOST / llabs(a))
    return false;
  *out = sum + a * b;
  return llabs(*out) <= MOST;
}

/* a + b * factor, part by part. */
static bool affine_add(Sema *s, Affine a, Affine b, int64_t factor, Span span, Affine *out)
{
  bool fits = add_product(a.constant, b.constant, factor, &out->constant);
  for (int i = 0; i < MAX_VARS; i++)
    fits = add_product(a.weight[i], b.weight[i], factor, &out->weight[i]) && fits;
  if (!fits)
    diag_index_too_large(s->diags, span);
  return fits;
}

static bool affine_of(Sema *s, const NodeTensorAccess *access, Node *n, Affine *out);

static bool affine_binary(Sema *s, const NodeTensorAccess *access, const NodeBinary *n, Affine *out)
{
  Affine a = {0}, b = {0};
  if (!affine_of(s, access, n->left, &a) || !affine_of(s, access, n->right, &b))
    return false;
  bool is_product = n->op == BINARY_MUL;
  bool left_varies = mentions_vars(access, n->left);
  if (is_product && left_varies && mentions_vars(access, n->right)) {
    diag_not_affine(s->diags, n->head.span);
    return false;
  }
  if (!is_product)
    return affine_add(s, a, b, n->op == BINARY_SUB ? -1 : 1, n->head.span, out);
  return left_varies ? affine_add(s, (Affine){0}, a, b.constant, n->head.span, out)
                     : affine_add(s, (Affine){0}, b, a.constant, n->head.span, out);
}

static bool affine_of(Sema *s, const NodeTensorAccess *access, Node *n, Affine *out)
{
  *out = (Affine){0};
  int var = var_index(access, n);
  if (var >= 0) {
    out->weight[var] = 1;
    return true;
  }
  if (!mentions_vars(access, n))
    return comptime_int(s, n, &out->constant);
  if (node_kind(n) == ND_UNARY && node_unary(n)->op == UNARY_NEGATE) {
    Affine a;
    if (!affine_of(s, access, node_unary(n)->operand, &a))
      return false;
    out->constant = -a.constant;
    for (int i = 0; i < MAX_VARS; i++)
      out->weight[i] = -a.weight[i];
    return true;
  }
  if (node_kind(n) == ND_BINARY) {
    BinaryOp op = node_binary(n)->op;
    if (op == BINARY_ADD || op == BINARY_SUB || op == BINARY_MUL)
      return affine_binary(s, access, node_binary(n), out);
  }
  diag_not_affine(s->diags, n->span);
  return false;
}

/* The array that is accessed: its address, which may be one of run time, and its type. */
static bool access_target(Sema *s, const Node *n, Operand *base, PoolId *array)
{
  Operand o = sema_expr(s, n, POOL(NONE));
  if (operand_is_poison(o))
    return false;
  o = sema_pointer_of(s, o, n->span);
  if (operand_is_poison(o))
    return false;
  *array = pool_key(s->pool, o.type).u.pointer_type.pointee;
  if (pool_kind(s->pool, *array) != PK_ARRAY_TYPE) {
    diag_tensor_target(s->diags, n->span, o.type);
    return false;
  }
  *base = o;
  return true;
}

/* Each variable has a name of its own, except '_', which no index means. */
static bool check_names(Sema *s, const NodeTensorAccess *n)
{
  for (uint32_t i = 0; i < n->vars.count; i++) {
    Name var = n->vars.at[i];
    const char *text = sema_text(s, var.text);
    for (uint32_t before = 0; before < i; before++)
      if (str_eq(n->vars.at[before].text, var.text) && strcmp(text, "_") != 0) {
        diag_redeclared(s->diags, var.span, text);
        diag_declared_here(s->diags, n->vars.at[before].span, text);
        return false;
      }
  }
  return true;
}

static bool check_shape(Sema *s, const NodeTensorAccess *n, uint32_t rank)
{
  Diags *diags = s->diags;
  uint32_t vars = n->vars.count;
  if (vars == 0 || vars > MAX_VARS) {
    diag_dimension_count(diags, n->head.span, vars);
    return false;
  }
  if (n->extents.count != vars) {
    diag_dimensions_differ(diags, n->head.span, vars, n->extents.count);
    return false;
  }
  if (n->indices.count != rank) {
    diag_tensor_index_count(diags, n->head.span, rank, n->indices.count);
    diag_index_form(diags, n->head.span, rank == 1 ? "a[i]" : "a[i, 0]");
    return false;
  }
  return check_names(s, n);
}

typedef struct { int64_t first, last; } IndexReach;

/* The smallest and the largest value of an index. */
static IndexReach reach_of(const Affine *index, const int64_t *extents, uint32_t vars)
{
  IndexReach reach = {index->constant, index->constant};
  for (uint32_t i = 0; i < vars; i++) {
    int64_t way = index->weight[i] * (extents[i] - 1);
    *(way < 0 ? &reach.first : &reach.last) += way;
  }
  return reach;
}

/* An index that always lies outside its dimension leads to another row.  One that begins inside may
 * be meant to go through several rows. */
typedef struct { const Node *index; IndexReach reach; uint32_t size; } OutsideRow;

/* Offset and weights in elements of the flattened array; `outside`: as above, its index NULL if
 * there is none. */
static bool flatten_indices(Sema *s, const NodeTensorAccess *n, PoolId array,
                            const int64_t *extents, Affine *flat, OutsideRow *outside)
{
  *flat = (Affine){0};
  *outside = (OutsideRow){0};
  int64_t row = 1;
  for (uint32_t d = n->indices.count; d-- > 0;) {
    Affine index;
    if (!affine_of(s, n, n->indices.at[d], &index))
      return false;
    if (!affine_add(s, *flat, index, row, n->indices.at[d]->span, flat))
      return false;
    uint32_t size = pool_key(s->pool, array).u.array.dims[d];
    IndexReach reach = reach_of(&index, extents, n->vars.count);
    if (reach.first >= size || reach.last < 0)
      *outside = (OutsideRow){n->indices.at[d], reach, size};
    row *= size;
  }
  return true;
}

/* Warns of elements that the array does not have.  Indices by a variable into an array of one are
 * left alone: programs declare such arrays to give a DSD a shape and set its base address later. */
static void check_bounds(Sema *s, const NodeTensorAccess *n, PoolId array, const Affine *flat,
                         const int64_t *extents, const OutsideRow *outside)
{
  int64_t count = (int64_t)type_element_count(s->pool, array);
  for (uint32_t i = 0; i < n->vars.count; i++)
    if (extents[i] <= 0 || (count == 1 && flat->weight[i] != 0))
      return;
  IndexReach reach = reach_of(flat, extents, n->vars.count);
  if (reach.first < 0 || reach.last >= count)
    dsd_warn_bounds(s, n->head.span, reach.first, reach.last, count);
  else if (outside->index)
    diag_tensor_row(s->diags, outside->index->span,
                    dsd_range_text(s, outside->reach.first, outside->reach.last), outside->size);
}

/* Operations step by their own elements, of 16 or 32 bits, whatever the array's are; warns of a
 * variable that is meant to step over larger or smaller ones, such as structs. */
static void check_steps(Sema *s, const NodeTensorAccess *n, PoolId array, const Affine *flat,
                        const int64_t *extents)
{
  PoolId element = pool_key(s->pool, array).u.array.element;
  uint32_t bytes = type_bytes(s->pool, element);
  if (dsd_has_elements_of(bytes) || type_element_count(s->pool, array) == 1)
    return;
  for (uint32_t i = 0; i < n->vars.count; i++)
    if (flat->weight[i] != 0 && extents[i] > 1) {
      diag_tensor_steps(s->diags, n->head.span, element, bytes);
      diag_tensor_steps_help(s->diags, n->head.span);
      return;
    }
}

bool tensor_parts(Sema *s, const NodeTensorAccess *n, TensorParts *parts)
{
  PoolId array;
  if (!access_target(s, n->target, &parts->base, &array) ||
      !check_shape(s, n, pool_key(s->pool, array).u.array.rank))
    return false;
  uint32_t vars = n->vars.count;
  int64_t extents[MAX_VARS];
  PoolId extent_values[MAX_VARS], stride_values[MAX_VARS];
  for (uint32_t i = 0; i < vars; i++) {
    if (!comptime_int(s, n->extents.at[i], &extents[i]))
      return false;
    extent_values[i] = pool_int(s->pool, POOL(COMPTIME_INT), extents[i]);
  }
  Affine flat;
  OutsideRow outside;
  if (!flatten_indices(s, n, array, extents, &flat, &outside))
    return false;
  check_bounds(s, n, array, &flat, extents, &outside);
  check_steps(s, n, array, &flat, extents);
  int64_t inner_span = 0;
  for (uint32_t k = 0; k < vars; k++) {
    uint32_t var = vars - 1 - k;
    stride_values[k] = pool_int(s->pool, POOL(COMPTIME_INT), flat.weight[var] - inner_span);
    inner_span += flat.weight[var] * (extents[var] - 1);
  }
  parts->offset = pool_int(s->pool, POOL(COMPTIME_INT), flat.constant);
  parts->stride = sema_make_tuple(s, stride_values, vars);
  parts->extent = sema_make_tuple(s, extent_values, vars);
  return true;
}

Operand sema_tensor_access(Sema *s, const NodeTensorAccess *n, PoolId want)
{
  (void)want;
  TensorParts parts;
  if (!tensor_parts(s, n, &parts))
    return operand_poison();
  PoolId base = sema_comptime_value(s, parts.base, n->target->span);
  if (pool_eq(base, POOL(POISON)))
    return operand_poison();
  static const char *const names[] = {"base_address", "offset", "stride", "extent"};
  PoolId values[] = {base, parts.offset, parts.stride, parts.extent};
  return operand_value(s, sema_make_struct(s, names, values, ARRAY_COUNT(names)));
}
