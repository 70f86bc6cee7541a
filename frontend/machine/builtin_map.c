/* @map: a loop that fetches one element of each DSD input, calls the function and stores its
 * result.
 *
 * Every DSD becomes a single-step DSR (one of the virtual ones, which the back end numbers), so
 * that an element access is a vector operation of length one that moves the descriptor on.  A
 * descriptor with nothing left ends the loop at once. */
#include "frontend/machine/machine.h"
#include "frontend/sema/builtins.h"
#include "frontend/machine/dsd.h"

enum { MAX_MAP = 16 };

typedef struct {
  bool is_vector;          /* a DSD or DSR: one element per turn */
  DsrFile file;
  uint32_t number;
  PoolId element;
  PoolId over;             /* the type of what the DSD lies over; none: not known */
  DsdVariables from;       /*   where that is only known from variables */
  int32_t length;          /* of a memory DSD; -1: not known */
  Operand value;           /* else: passed as it is */
  const Node *node;
  const char *name;
} MapPart;

typedef struct {
  uint32_t n_inputs;
  MapPart inputs[MAX_MAP];
  bool has_output;
  MapPart output;
  Operand callee;
  PoolId result;
  Span at;
} Map;

/* ---- operands ---------------------------------------------------------------------------- */

static uint32_t new_virtual_dsr(Sema *s)
{
  return IR_VIRTUAL_DSR + s->setup->n_virtual_dsrs++;
}

static bool is_element_type(Sema *s, PoolId type)
{
  uint32_t bytes = type_ir(s->pool, type) == IRT_VOID ? 0 : type_bytes(s->pool, type);
  return (bytes == 2 || bytes == 4) && type_is_numeric(s->pool, type);
}

/* A DSD with the flag that makes each access take one element. */
static Operand single_step(Sema *s, Operand dsd)
{
  OpSettings set = {.ok = true, .is_given = true, .flags = DESC_F_STEP};
  return op_settings_apply(s, &set, dsd, false, false);
}

static bool map_error(Sema *s, const Node *n, const char *why)
{
  diag_map_operand(s->diags, n->span, why);
  return false;
}

/* A DSD has no type of its own: its elements are what the function declares. */
static bool element_error(Sema *s, const Node *n, PoolId declared, const Node *function)
{
  if (pool_eq(declared, POOL(ANYTYPE)))
    return map_error(s, function,
                     "the type of the elements is that of the function's parameter or result, and "
                     "a generic function has none; take one with types, such as sqrt_f32");
  return map_error(s, n, "elements are i16, u16, i32, u32, f32 or the 16-bit float");
}

static void warn_of_constant(Sema *s, const Node *n, Operand dsd)
{
  DsdVariables from = {0};
  size_t mark = diags_mark(s->diags);
  if (dsd_lies_in_constant(s, dsd_presume(s, dsd, &from)))
    diag_writes_constant(s->diags, n->span, "map");
  if (from.n > 0)
    dsd_hold_messages(s, mark, &from, REST_ON_VALUES);
}

static bool explicit_dsr(Sema *s, MapPart *part, Operand o, bool is_output)
{
  PoolId value = sema_comptime_value(s, o, part->node->span);
  if (pool_eq(value, POOL(POISON)))
    return false;
  PoolKey key = pool_key(s->pool, value);
  if (!is_output && key.u.dsr.file != DSR_SRC1)
    return map_error(s, part->node, "a DSR that is read must be a dsr_src1");
  if (is_output && key.u.dsr.file != DSR_DEST)
    return map_error(s, part->node, "a DSR that is written must be a dsr_dest");
  part->is_vector = true;
  part->file = key.u.dsr.file;
  part->number = key.u.dsr.number;
  return true;
}

static bool read_part(Sema *s, const Node *n, bool is_output, MapPart *part)
{
  *part = (MapPart){.node = n, .over = POOL(NONE), .length = -1};
  Operand o = sema_expr(s, n, POOL(NONE));
  StrId name = o.name;
  o = sema_load(s, o);
  if (operand_is_poison(o))
    return false;
  if (name.raw)
    part->name = sema_text(s, name);
  part->value = o;
  DescKind kind;
  if (operand_is_comptime(o) && pool_kind(s->pool, o.value) == PK_FIFO)
    return map_error(s, n, "a FIFO cannot be mapped");
  if (type_is_dsr(o.type))
    return explicit_dsr(s, part, o, is_output);
  if (!dsd_kind_of(o.type, &kind)) {
    if (pool_kind(s->pool, o.type) != PK_ARRAY_TYPE)
      return true;
    map_error(s, n, "an operand is a DSD, a DSR or a single value, not an array");
    diag_make_dsd(s->diags, n->span);
    return false;
  }
  if (is_output && kind == DESC_FABIN)
    return map_error(s, n, "a fabin_dsd can only be read");
  if (!is_output && kind == DESC_FABOUT)
    return map_error(s, n, "a fabout_dsd can only be written");
  Operand dsd = single_step(s, o);
  if (operand_is_poison(dsd))
    return false;
  part->over = dsd_element(s, dsd_presume(s, o, &part->from));
  if (is_output)
    warn_of_constant(s, n, o);
  if (dsd_is_comptime(s, o) && kind == DESC_MEM1D)
    part->length = pool_key(s->pool, o.value).u.dsd.desc.desc.length;
  part->is_vector = true;
  part->file = is_output ? DSR_DEST : DSR_SRC1;
  part->number = new_virtual_dsr(s);
  ir_dsr_load(&s->b, part->file, part->number, sema_ir(s, dsd));
  return true;
}

/* The parameters of the function give the types of the elements. */
static bool read_signature(Sema *s, const NodeBuiltinCall *call, Map *map)
{
  uint32_t n_given = call->args.count - 1;
  PoolKey type = pool_key(s->pool, map->callee.type);
  if (type.kind == PK_POINTER_TYPE)
    type = pool_key(s->pool, type.u.pointer_type.pointee);
  if (type.kind != PK_FN_TYPE || type.u.fn_type.is_task) {
    diag_map_callback(s->diags, call->args.at[0]->span, map->callee.type);
    return false;
  }
  map->result = type.u.fn_type.result;
  map->has_output = !pool_eq(map->result, POOL(VOID));
  map->n_inputs = type.u.fn_type.n;
  if (map->n_inputs + map->has_output != n_given || map->n_inputs > MAX_MAP) {
    diag_map_arguments(s->diags, map->at, map->n_inputs,
                       map->has_output ? "and one for the result" : "and none for a result",
                       n_given);
    const Node *last = call->args.at[n_given];
    if (n_given > 0 && last->kind == ND_STRUCT_INIT)
      diag_syntax_help(s->diags, last->span,
                       "@map takes no settings: it has ended when the next statement starts");
    return false;
  }
  for (uint32_t i = 0; i < map->n_inputs; i++)
    map->inputs[i].element = type.u.fn_type.params[i];
  return true;
}

static bool is_of_other_float(const Sema *s, const MapPart *part)
{
  return part->is_vector && dsd_is_over_floats(s, part->over) &&
         !pool_eq(part->over, part->element);
}

/* The elements are what the function declares, whatever the array has.  Integers are left alone:
 * buffers of integers hold anything. */
static void warn_of_element(Sema *s, const MapPart *part)
{
  if (!is_of_other_float(s, part))
    return;
  size_t mark = diags_mark(s->diags);
  diag_map_element(s->diags, part->node->span, part->element, part->over);
  diag_map_element_help(s->diags, part->node->span);
  if (part->from.n > 0)
    dsd_hold_messages(s, mark, &part->from, REST_ON_ELEMENTS);
}

static const MapPart *map_part(const Map *map, uint32_t i)
{
  return i < map->n_inputs ? &map->inputs[i] : &map->output;
}

/* The loop ends with the shortest operand.  A result may have more room than it needs, as that of
 * other operations. */
static void warn_of_lengths(Sema *s, const Map *map)
{
  const MapPart *first = NULL;
  for (uint32_t i = 0; i < map->n_inputs + map->has_output; i++) {
    const MapPart *part = map_part(map, i);
    if (part->length < 0)
      continue;
    bool is_enough = part == &map->output && first && part->length > first->length;
    if (first && part->length != first->length && !is_enough) {
      diag_map_lengths(s->diags, part->node->span, (unsigned)part->length,
                       (unsigned)first->length);
      return;
    }
    first = first ? first : part;
  }
}

/* Integers of another width than the array's, as far as they leave it. */
static void warn_of_reach(Sema *s, const Map *map)
{
  uint32_t n = map->n_inputs + map->has_output;
  MovedElements moved = {.may_be_fewer = true};
  for (uint32_t i = 0; i < n; i++) {
    int64_t length = map_part(map, i)->length;
    if (length >= 0 && (moved.count == 0 || length < moved.count))
      moved.count = (uint32_t)length;
  }
  for (uint32_t i = 0; i < n; i++) {
    const MapPart *part = map_part(map, i);
    if (part->is_vector && part->length > 0 && !is_of_other_float(s, part))
      dsd_warn_of_reach(s, part->value, "map", type_bytes(s->pool, part->element), moved,
                        part->node->span);
  }
}

static bool read_operands(Sema *s, const NodeBuiltinCall *call, Map *map)
{
  bool ok = true, any = false;
  for (uint32_t i = 0; i < map->n_inputs; i++) {
    PoolId element = map->inputs[i].element;
    const Node *n = call->args.at[1 + i];
    if (!read_part(s, n, false, &map->inputs[i])) {
      ok = false;
      continue;
    }
    map->inputs[i].element = element;
    any |= map->inputs[i].is_vector;
    if (map->inputs[i].is_vector && !is_element_type(s, element))
      ok = element_error(s, n, element, call->args.at[0]);
    if (!map->inputs[i].is_vector)
      map->inputs[i].value = sema_coerce(s, map->inputs[i].value, element, n->span);
    ok &= !operand_is_poison(map->inputs[i].value);
  }
  if (map->has_output) {
    const Node *n = call->args.at[1 + map->n_inputs];
    if (!read_part(s, n, true, &map->output))
      return false;
    map->output.element = map->result;
    any |= map->output.is_vector;
    if (map->output.is_vector && !is_element_type(s, map->result))
      ok = element_error(s, n, map->result, call->args.at[0]);
    if (!map->output.is_vector &&
        pool_kind(s->pool, map->output.value.type) != PK_POINTER_TYPE)
      ok = map_error(s, n, "the result goes to a DSD, a dsr_dest or a pointer");
  }
  if (ok && any) {
    for (uint32_t i = 0; i < map->n_inputs; i++)
      warn_of_element(s, &map->inputs[i]);
    if (map->has_output)
      warn_of_element(s, &map->output);
    warn_of_lengths(s, map);
    warn_of_reach(s, map);
  }
  if (ok && !any)
    return map_error(s, call->args.at[0], "at least one operand must be a DSD");
  return ok;
}

/* ---- the loop ---------------------------------------------------------------------------- */

/* Goes on in a new block if the descriptor has elements left, else leaves the loop. */
static void leave_if_empty(Sema *s, const MapPart *part, IrBlockId done)
{
  IrValue left = ir_dsr_get(&s->b, part->file, part->number, DSRF_REMAINING);
  IrValue more = ir_binary(&s->b, IR_ne, IRT_BOOL, left, ir_const(&s->b, IRT_I16, 0));
  IrBlockId next = ir_block_add(s->ir, s->b.func);
  ir_cond_br(&s->b, more, next, NULL, 0, done, NULL, 0);
  s->b.block = next;
}

static VecOp move_of(Sema *s, PoolId element)
{
  IrType type = type_ir(s->pool, element);
  if (type == IRT_F32)
    return VEC_fmovs;
  if (type == IRT_F16)
    return VEC_fmovh;
  return ir_type_bytes(type) == 4 ? VEC_mov32 : VEC_mov16;
}

static Operand fetch_argument(Sema *s, const MapPart *part)
{
  IrType type = type_ir(s->pool, part->element);
  IrValue slot = ir_alloca(&s->b, ir_type_bytes(type), ir_type_align(type));
  IrVec vec = {.op = move_of(s, part->element), .scalar = IR_NO_ID, .index = IR_NO_ID};
  vec.dest = (IrVecOperand){.kind = IRV_POINTER, .arg = 0};
  vec.src1 = (IrVecOperand){.kind = IRV_DSR, .file = part->file, .number = part->number,
                            .name = part->name};
  ir_vec(&s->b, &vec, &slot, 1);
  return operand_runtime(ir_load(&s->b, type, slot), part->element);
}

static void put_result(Sema *s, const Map *map, Operand value)
{
  if (!map->output.is_vector) {
    Operand target = sema_deref(s, map->output.value, map->output.node->span);
    if (!operand_is_poison(target))
      sema_store(s, target, value, map->at);
    return;
  }
  IrValue scalar = sema_ir(s, value);
  IrVec vec = {.op = move_of(s, map->result), .scalar = IR_NO_ID, .index = IR_NO_ID};
  vec.dest = (IrVecOperand){.kind = IRV_DSR, .file = map->output.file,
                            .number = map->output.number, .name = map->output.name};
  vec.src1 = (IrVecOperand){.kind = IRV_SCALAR, .arg = 0};
  ir_vec(&s->b, &vec, &scalar, 1);
}

static void emit_turn(Sema *s, const Map *map, IrBlockId done)
{
  Operand args[MAX_MAP];
  for (uint32_t i = 0; i < map->n_inputs; i++) {
    args[i] = map->inputs[i].value;
    if (!map->inputs[i].is_vector)
      continue;
    leave_if_empty(s, &map->inputs[i], done);
    args[i] = fetch_argument(s, &map->inputs[i]);
  }
  if (map->has_output && map->output.is_vector)
    leave_if_empty(s, &map->output, done);
  Operand result = sema_call_values(s, map->callee, args, map->n_inputs, map->at, POOL(NONE));
  if (map->has_output && !operand_is_poison(result))
    put_result(s, map, sema_coerce(s, result, map->result, map->at));
}

Operand builtin_map(Sema *s, const NodeBuiltinCall *call, Span at, PoolId want)
{
  (void)want;
  Map map = {.at = at};
  map.callee = sema_rvalue(s, call->args.at[0], POOL(NONE));
  if (operand_is_poison(map.callee) || !read_signature(s, call, &map) ||
      !read_operands(s, call, &map))
    return operand_poison();
  IrBlockId head = ir_block_add(s->ir, s->b.func), done = ir_block_add(s->ir, s->b.func);
  ir_br(&s->b, head, NULL, 0);
  s->b.block = head;
  s->now.run_time_depth++;
  emit_turn(s, &map, done);
  s->now.run_time_depth--;
  ir_br(&s->b, head, NULL, 0);
  s->b.block = done;
  return operand_void();
}
