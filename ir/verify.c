/* The rules that every module keeps; one function per group, the first fault as a sentence.
 *
 * A fault found here is a bug in the code that made the module, so the texts name ids rather than
 * source places. */
#include "ir/opt/opt.h"

#include <inttypes.h>
#include <string.h>

#include <stb_ds.h>

typedef struct {
  const IrModule *m;
  Arena *arena;
  const IrFunc *f;
  Cfg cfg;
  uint32_t *block_of, *place;   /* by value: where it is defined; IR_NO_ID nowhere */
  uint32_t block, at;           /* being checked */
  const char *fault;
} Verifier;

#define FAULT(v, ...) ((v)->fault = (v)->fault ? (v)->fault : arena_printf((v)->arena, __VA_ARGS__))
#define CHECK(v, condition, ...)                                                                \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      FAULT(v, __VA_ARGS__);                                                                    \
      return;                                                                                   \
    }                                                                                           \
  } while (0)

/* ---- module ------------------------------------------------------------------------ */

static bool is_power_of_two(uint32_t n)
{
  return n != 0 && (n & (n - 1)) == 0;
}

static void check_desc(Verifier *v, const IrDesc *d, const char *where)
{
  CHECK(v, d->desc.kind < DESC_KIND_COUNT, "%s: descriptor of unknown kind %d", where,
        (int)d->desc.kind);
  CHECK(v, ir_global_is_none(d->global) || d->global.raw < v->m->n_globals,
        "%s: descriptor of global %" PRIu32 ", which does not exist", where, d->global.raw);
}

static void check_global(Verifier *v, uint32_t id)
{
  const IrGlobal *g = &v->m->globals[id];
  CHECK(v, g->name, "global %" PRIu32 " has no name", id);
  CHECK(v, is_power_of_two(g->align), "global %s: alignment %" PRIu32, g->name, g->align);
  CHECK(v, g->loc.raw < v->m->n_locs, "global %s: no location %" PRIu32, g->name, g->loc.raw);
  for (uint32_t i = 0; i < g->n_relocs; i++) {
    const IrReloc *r = &g->relocs[i];
    CHECK(v, r->target < (r->is_func ? v->m->n_funcs : v->m->n_globals),
          "global %s: relocation %" PRIu32 " names nothing", g->name, i);
    CHECK(v, (uint64_t)r->offset + ir_type_bytes(IRT_PTR) <= g->bytes,
          "global %s: relocation at %" PRIu32 " is outside", g->name, r->offset);
  }
}

static void check_tile_slots(Verifier *v)
{
  const IrModule *m = v->m;
  for (uint32_t i = 0; i < m->n_tile_params; i++)
    CHECK(v, ir_type_bits(m->tile_params[i]), "tile parameter %" PRIu32 " has type %s", i,
          ir_type_name(m->tile_params[i]));
  for (uint32_t i = 0; i < m->n_tile_slots; i++) {
    const IrTileSlot *s = &m->tile_slots[i];
    CHECK(v, s->index < (s->is_param ? m->n_tile_params : m->n_globals),
          "tile slot %" PRIu32 " names nothing", i);
    uint64_t end = s->is_param ? ir_type_bytes(m->tile_params[s->index])
                               : m->globals[s->index].bytes;
    CHECK(v, (uint64_t)s->offset + s->bytes <= end, "tile slot %" PRIu32 " is outside", i);
  }
}

static void check_setup(Verifier *v)
{
  const IrModule *m = v->m;
  for (uint32_t i = 0; i < m->n_tasks; i++) {
    const IrTask *t = &m->tasks[i];
    CHECK(v, t->func.raw < m->n_funcs && m->funcs[t->func.raw].is_task,
          "task %" PRIu32 " is bound to no task function", i);
    CHECK(v, t->id < MAX_TASK_IDS, "task %" PRIu32 " has id %u", i, t->id);
  }
  for (uint32_t i = 0; i < m->n_bindings; i++)
    CHECK(v, m->bindings[i].target < (m->bindings[i].is_func ? m->n_funcs : m->n_globals),
          "binding %" PRIu32 " names nothing", i);
  for (uint32_t i = 0; i < m->n_dsrs; i++) {
    CHECK(v, m->dsrs[i].file < DSR_FILE_COUNT && m->dsrs[i].number < MAX_DSRS,
          "initial DSR %" PRIu32 " does not exist", i);
    check_desc(v, &m->dsrs[i].desc, "initial DSR");
  }
  for (unsigned c = 0; c < MAX_COLORS; c++)
    CHECK(v, m->teardown_handler[c] == IR_NO_ID || m->teardown_handler[c] < m->n_funcs,
          "teardown handler of color %u is no function", c);
  for (unsigned q = 0; q < 2 * MAX_QUEUES; q++) {
    uint32_t handler = m->empty_handler[q / MAX_QUEUES][q % MAX_QUEUES];
    CHECK(v, handler == IR_NO_ID || handler < m->n_funcs,
          "handler of empty %s queue %u is no function", q < MAX_QUEUES ? "input" : "output",
          q % MAX_QUEUES);
  }
}

static void check_names(Verifier *v)
{
  struct { char *key; int value; } *seen = NULL;
  for (uint32_t i = 0; i < v->m->n_funcs && !v->fault; i++) {
    const char *name = v->m->funcs[i].name;
    if (!name)
      FAULT(v, "function %" PRIu32 " has no name", i);
    else if (shgeti(seen, name) >= 0)
      FAULT(v, "two functions are named %s", name);
    else
      shput(seen, (char *)name, 1);
  }
  shfree(seen);
}

/* ---- shape of a function ----------------------------------------------------------- */

static const IrInsn *insn_of(const Verifier *v, IrValue value)
{
  return value.raw && value.raw < v->f->n_insns ? &v->f->insns[value.raw] : NULL;
}

static void define_value(Verifier *v, IrValue value, uint32_t block, uint32_t place)
{
  const IrInsn *insn = insn_of(v, value);
  CHECK(v, insn, "block %" PRIu32 " holds value %" PRIu32 ", which does not exist", block,
        value.raw);
  CHECK(v, !insn->dead, "block %" PRIu32 " holds value %" PRIu32 ", which was removed", block,
        value.raw);
  CHECK(v, v->block_of[value.raw] == IR_NO_ID, "value %" PRIu32 " is defined twice", value.raw);
  CHECK(v, insn->loc.raw < v->m->n_locs, "value %" PRIu32 " has no location %" PRIu32, value.raw,
        insn->loc.raw);
  v->block_of[value.raw] = block;
  v->place[value.raw] = place;
}

static void check_params(Verifier *v, uint32_t block)
{
  const IrBlock *b = &v->f->blocks[block];
  for (uint32_t i = 0; i < b->n_params && !v->fault; i++) {
    define_value(v, b->params[i], block, 0);
    if (v->fault)
      return;
    const IrInsn *p = insn_of(v, b->params[i]);
    CHECK(v, p->op == IR_PARAM && p->u.param.block.raw == block && p->u.param.index == i,
          "parameter %" PRIu32 " of block %" PRIu32 " is value %" PRIu32
          ", which does not know it", i, block, b->params[i].raw);
    CHECK(v, p->type > IRT_VOID && p->type < IRT_COUNT,
          "parameter %" PRIu32 " of block %" PRIu32 " has no type", i, block);
  }
}

static void check_targets_exist(Verifier *v, uint32_t block)
{
  uint32_t n;
  const IrTarget *targets = cfg_targets(v->f, block, &n);
  for (uint32_t t = 0; t < n; t++) {
    uint32_t to = targets[t].block.raw;
    CHECK(v, to < v->f->n_blocks, "block %" PRIu32 " branches to block %" PRIu32
          ", which does not exist", block, to);
    CHECK(v, to != 0, "block %" PRIu32 " branches to the entry", block);
    CHECK(v, v->f->blocks[to].n_insns, "block %" PRIu32 " branches to block %" PRIu32
          ", which was removed or has no end", block, to);
  }
}

static void check_block_shape(Verifier *v, uint32_t block)
{
  const IrBlock *b = &v->f->blocks[block];
  check_params(v, block);
  for (uint32_t i = 0; i < b->n_insns && !v->fault; i++) {
    define_value(v, b->insns[i], block, i + 1);
    if (v->fault)
      return;
    const IrInsn *insn = insn_of(v, b->insns[i]);
    bool last = i + 1 == b->n_insns;
    CHECK(v, insn->op < IR_OP_COUNT, "value %" PRIu32 " has no operation", b->insns[i].raw);
    CHECK(v, ir_op_is(insn->op, IRE_TERM) == last,
          last ? "block %" PRIu32 " ends with %s" : "block %" PRIu32 " goes on after %s", block,
          ir_ops[insn->op].name);
    CHECK(v, insn->op != IR_alloca || block == 0, "block %" PRIu32 " has an alloca", block);
  }
  if (!v->fault)
    check_targets_exist(v, block);
}

static void check_shape(Verifier *v)
{
  const IrFunc *f = v->f;
  CHECK(v, f->n_blocks && f->blocks[0].n_insns, "it has no body");
  CHECK(v, f->blocks[0].n_params == f->n_params,
        "it has %" PRIu32 " parameters, its entry %" PRIu32, f->n_params, f->blocks[0].n_params);
  for (uint32_t b = 0; b < f->n_blocks && !v->fault; b++)
    if (f->blocks[b].n_insns)
      check_block_shape(v, b);
  for (uint32_t i = 0; i < f->n_params && !v->fault; i++)
    CHECK(v, f->insns[f->blocks[0].params[i].raw].type == f->params[i],
          "parameter %" PRIu32 " differs in type from the entry's", i);
  CHECK(v, !f->is_task || f->result == IRT_VOID, "it is a task with a result");
  CHECK(v, f->loc.raw < v->m->n_locs, "it has no location %" PRIu32, f->loc.raw);
}

/* ---- operands ---------------------------------------------------------------------- */

static IrType type_of(const Verifier *v, IrValue value)
{
  return v->f->insns[value.raw].type;
}

static void check_use(Verifier *v, IrValue value)
{
  const IrInsn *insn = insn_of(v, value);
  CHECK(v, insn, "uses value %" PRIu32 ", which does not exist", value.raw);
  CHECK(v, !insn->dead && v->block_of[value.raw] != IR_NO_ID,
        "uses value %" PRIu32 ", which was removed or stands in no block", value.raw);
  CHECK(v, insn->type != IRT_VOID, "uses value %" PRIu32 ", which is nothing", value.raw);
  if (!cfg_is_reachable(&v->cfg, v->block))
    return;
  uint32_t from = v->block_of[value.raw];
  bool before = from == v->block ? v->place[value.raw] < v->at
                                 : cfg_is_reachable(&v->cfg, from) &&
                                     cfg_dominates(&v->cfg, from, v->block);
  CHECK(v, before, "uses value %" PRIu32 " where it is not defined on every path", value.raw);
}

static void check_target_args(Verifier *v, const IrTarget *t)
{
  const IrBlock *to = &v->f->blocks[t->block.raw];
  CHECK(v, t->n_args == to->n_params, "passes %" PRIu32 " values to block %" PRIu32
        ", which takes %" PRIu32, t->n_args, t->block.raw, to->n_params);
  for (uint32_t i = 0; i < t->n_args && !v->fault; i++) {
    check_use(v, t->args[i]);
    if (!v->fault)
      CHECK(v, type_of(v, t->args[i]) == type_of(v, to->params[i]),
            "passes %s for parameter %" PRIu32 " of block %" PRIu32 ", which is %s",
            ir_type_name(type_of(v, t->args[i])), i, t->block.raw,
            ir_type_name(type_of(v, to->params[i])));
  }
}

/* ---- types, one case per rule ------------------------------------------------------ */

/* Number of arguments that the rule asks for; IR_NO_ID: the rule's own check looks. */
static uint32_t rule_arity(IrOperandRule rule)
{
  switch (rule) {
  case IROPND_NONE:
  case IROPND_BR: return 0;
  case IROPND_WORD1:
  case IROPND_FLOAT1S:
  case IROPND_TRUNC:
  case IROPND_EXTEND:
  case IROPND_ZEXTEND:
  case IROPND_TOINT:
  case IROPND_TOFLOAT:
  case IROPND_FWIDEN:
  case IROPND_FNARROW:
  case IROPND_BITCAST:
  case IROPND_PTR1:
  case IROPND_DSD1:
  case IROPND_I16_1:
  case IROPND_BOOL1:
  case IROPND_COND_BR: return 1;
  case IROPND_INT2:
  case IROPND_SHIFT:
  case IROPND_FLOAT2:
  case IROPND_FSCALE:
  case IROPND_EQUAL:
  case IROPND_ORDER:
  case IROPND_FCOMPARE:
  case IROPND_PTR_I16:
  case IROPND_PTR_ANY:
  case IROPND_PTR_PTR:
  case IROPND_DSD_SET:
  case IROPND_I16_2: return 2;
  case IROPND_SELECT: return 3;
  case IROPND_CALL:
  case IROPND_CALL_PTR:
  case IROPND_VEC:
  case IROPND_RET:
  case IROPND_COUNT: return IR_NO_ID;
  }
  return IR_NO_ID;
}

static bool is_number(IrType t)
{
  return ir_type_is_int(t) && t != IRT_BOOL;
}

static bool is_logical(IrOp op)
{
  return op == IR_and || op == IR_or || op == IR_xor;
}

static bool is_dsd(IrType t)
{
  return t == IRT_DSD || t == IRT_DSD4;
}

static bool bitcast_fits(IrType to, IrType from)
{
  return to != IRT_BOOL && from != IRT_BOOL && ir_type_bits(to) &&
         ir_type_bits(to) == ir_type_bits(from);
}

/* Do result type r and argument types a, b, c keep the rule? */
static bool types_fit(const IrInsn *insn, IrType r, IrType a, IrType b, IrType c)
{
  switch (ir_ops[insn->op].operand_rule) {
  case IROPND_INT2:
    return a == r && b == r && (is_number(r) || (r == IRT_BOOL && is_logical(insn->op)));
  case IROPND_SHIFT: return is_number(r) && a == r && b == IRT_I16;
  case IROPND_WORD1: return r == IRT_I16 && a == IRT_I16;
  case IROPND_FLOAT2: return ir_type_is_float(r) && a == r && b == r;
  case IROPND_FLOAT1S: return ir_type_is_float(r) && a == r;
  case IROPND_FSCALE: return ir_type_is_float(r) && a == r && b == IRT_I16;
  case IROPND_EQUAL: return a == b && (ir_type_is_int(a) || a == IRT_PTR);
  case IROPND_ORDER: return a == b && is_number(a);
  case IROPND_FCOMPARE: return a == b && ir_type_is_float(a);
  case IROPND_SELECT: return a == IRT_BOOL && b == r && c == r;
  case IROPND_TRUNC: return is_number(r) && is_number(a) && ir_type_bits(a) > ir_type_bits(r);
  case IROPND_EXTEND: return is_number(r) && is_number(a) && ir_type_bits(a) < ir_type_bits(r);
  case IROPND_ZEXTEND:
    return is_number(r) && ir_type_is_int(a) && ir_type_bits(a) < ir_type_bits(r);
  case IROPND_TOINT: return is_number(r) && ir_type_is_float(a);
  case IROPND_TOFLOAT: return ir_type_is_float(r) && is_number(a);
  case IROPND_FWIDEN: return r == IRT_F32 && a == IRT_F16;
  case IROPND_FNARROW: return r == IRT_F16 && a == IRT_F32;
  case IROPND_BITCAST: return bitcast_fits(r, a);
  case IROPND_PTR_I16: return a == IRT_PTR && b == IRT_I16;
  case IROPND_PTR1:
  case IROPND_PTR_ANY: return a == IRT_PTR;
  case IROPND_PTR_PTR: return a == IRT_PTR && b == IRT_PTR;
  case IROPND_DSD_SET:
    return is_dsd(a) && (b == IRT_I16 || (b == IRT_PTR && insn->field == DSRF_BASE));
  case IROPND_DSD1: return is_dsd(a);
  case IROPND_I16_1: return a == IRT_I16;
  case IROPND_I16_2: return a == IRT_I16 && b == IRT_I16;
  case IROPND_BOOL1:
  case IROPND_COND_BR: return a == IRT_BOOL;
  case IROPND_NONE:
  case IROPND_CALL:
  case IROPND_CALL_PTR:
  case IROPND_VEC:
  case IROPND_BR:
  case IROPND_RET:
  case IROPND_COUNT: return true;
  }
  return false;
}

static bool result_fits(const IrInsn *insn, IrType a)
{
  bool is_call = insn->op == IR_call || insn->op == IR_call_ptr;
  switch (ir_ops[insn->op].result_rule) {
  case IRRES_EXPLICIT: return insn->type < IRT_COUNT && (is_call || insn->type != IRT_VOID);
  case IRRES_VOID: return insn->type == IRT_VOID;
  case IRRES_BOOL: return insn->type == IRT_BOOL;
  case IRRES_PTR: return insn->type == IRT_PTR;
  case IRRES_DSD: return insn->type == a;
  }
  return false;
}

static void check_types(Verifier *v, const IrInsn *insn)
{
  IrType t[3] = {IRT_VOID, IRT_VOID, IRT_VOID};
  for (uint32_t i = 0; i < insn->n_args && i < ARRAY_COUNT(t); i++)
    t[i] = type_of(v, insn->args[i]);
  uint32_t arity = rule_arity(ir_ops[insn->op].operand_rule);
  CHECK(v, arity == IR_NO_ID || insn->n_args == arity, "has %" PRIu32 " operands", insn->n_args);
  CHECK(v, result_fits(insn, t[0]), "has result type %s", ir_type_name(insn->type));
  CHECK(v, types_fit(insn, insn->type, t[0], t[1], t[2]), "has operand types %s %s%s%s",
        ir_type_name(t[0]), insn->n_args > 1 ? ir_type_name(t[1]) : "",
        insn->n_args > 2 ? " " : "", insn->n_args > 2 ? ir_type_name(t[2]) : "");
}

static void check_call(Verifier *v, const IrInsn *insn)
{
  CHECK(v, insn->u.func.raw < v->m->n_funcs, "calls function %" PRIu32
        ", which does not exist", insn->u.func.raw);
  const IrFunc *callee = &v->m->funcs[insn->u.func.raw];
  CHECK(v, !callee->is_task, "calls the task %s", callee->name);
  CHECK(v, insn->type == callee->result, "takes %s from %s, which gives %s",
        ir_type_name(insn->type), callee->name, ir_type_name(callee->result));
  CHECK(v, insn->n_args == callee->n_params, "passes %" PRIu32 " values to %s, which takes %"
        PRIu32, insn->n_args, callee->name, callee->n_params);
  for (uint32_t i = 0; i < insn->n_args; i++)
    CHECK(v, type_of(v, insn->args[i]) == callee->params[i],
          "passes %s for parameter %" PRIu32 " of %s, which is %s",
          ir_type_name(type_of(v, insn->args[i])), i, callee->name,
          ir_type_name(callee->params[i]));
}

static void check_ret(Verifier *v, const IrInsn *insn)
{
  uint32_t wanted = v->f->result == IRT_VOID ? 0 : 1;
  CHECK(v, insn->n_args == wanted, "returns %" PRIu32 " values", insn->n_args);
  CHECK(v, !wanted || type_of(v, insn->args[0]) == v->f->result, "returns %s, not %s",
        ir_type_name(type_of(v, insn->args[0])), ir_type_name(v->f->result));
}

/* ---- vector operations ------------------------------------------------------------- */

static bool is_scalar_of(VecElem elem, IrType t)
{
  switch (elem) {
  case VE_I16: return t == IRT_I16;
  case VE_B16: return t == IRT_I16 || t == IRT_F16;
  case VE_F16: return t == IRT_F16;
  case VE_F32: return t == IRT_F32;
  case VE_B32: return t == IRT_I32 || t == IRT_F32;
  }
  return false;
}

/* A mixed sum or product-sum takes one wide source beside the narrow one. */
static bool may_be_wide(VecKind kind)
{
  return kind == VK_FADDHS || kind == VK_FMACHS;
}

static void check_dsr(Verifier *v, DsrFile file, uint32_t number)
{
  CHECK(v, file < DSR_FILE_COUNT, "names DSR file %d", (int)file);
  CHECK(v, number < MAX_DSRS || (number >= IR_VIRTUAL_DSR && number <= UINT16_MAX),
        "names DSR %" PRIu32, number);
}

static void check_vec_source(Verifier *v, const IrInsn *insn, const IrVecOperand *o,
                             const char *role)
{
  const VecOpInfo *info = &vecops[insn->u.vec->op];
  CHECK(v, o->kind == IRV_DSD || o->kind == IRV_DSR || o->kind == IRV_SCALAR,
        "%s is no source of %s", role, info->name);
  if (o->kind == IRV_DSR) {
    check_dsr(v, o->file, o->number);
    CHECK(v, o->file != DSR_DEST, "%s of %s is in the file of destinations", role, info->name);
    return;
  }
  CHECK(v, o->arg < insn->n_args, "%s of %s is operand %" PRIu32, role, info->name, o->arg);
  IrType t = type_of(v, insn->args[o->arg]);
  if (o->kind == IRV_DSD)
    CHECK(v, is_dsd(t), "%s of %s is %s, not a descriptor", role, info->name, ir_type_name(t));
  else
    CHECK(v, is_scalar_of(info->src, t) || (t == IRT_F32 && may_be_wide(info->kind)),
          "%s of %s is a scalar of type %s", role, info->name, ir_type_name(t));
}

static void check_vec_dest(Verifier *v, const IrInsn *insn, const IrVecOperand *o)
{
  const VecOpInfo *info = &vecops[insn->u.vec->op];
  if (info->kind == VK_DFILT) {
    CHECK(v, o->kind == IRV_NONE, "%s takes no destination", info->name);
    return;
  }
  CHECK(v, o->kind == IRV_DSD || o->kind == IRV_DSR || o->kind == IRV_POINTER,
        "%s has no destination", info->name);
  if (o->kind == IRV_DSR) {
    check_dsr(v, o->file, o->number);
    CHECK(v, o->file != DSR_SRC1, "destination of %s is in file src1", info->name);
    return;
  }
  CHECK(v, o->arg < insn->n_args, "destination of %s is operand %" PRIu32, info->name, o->arg);
  IrType t = type_of(v, insn->args[o->arg]);
  CHECK(v, o->kind == IRV_DSD ? is_dsd(t) : t == IRT_PTR, "destination of %s has type %s",
        info->name, ir_type_name(t));
}

static void check_vec_extra(Verifier *v, const IrInsn *insn)
{
  const IrVec *vec = insn->u.vec;
  const VecOpInfo *info = &vecops[vec->op];
  CHECK(v, (vec->scalar != IR_NO_ID) == info->scalar, "%s %s a factor", info->name,
        info->scalar ? "lacks" : "takes no");
  if (info->scalar) {
    CHECK(v, vec->scalar < insn->n_args, "factor of %s is operand %" PRIu32, info->name,
          vec->scalar);
    IrType t = type_of(v, insn->args[vec->scalar]);
    bool fits = info->kind == VK_FSCALE ? t == IRT_I16 : is_scalar_of(info->src, t);
    CHECK(v, fits, "factor of %s has type %s", info->name, ir_type_name(t));
  }
  if (vec->index != IR_NO_ID)
    CHECK(v, vec->index < insn->n_args && type_of(v, insn->args[vec->index]) == IRT_I16,
          "index of %s is no i16", info->name);
}

static void check_vec(Verifier *v, const IrInsn *insn)
{
  const IrVec *vec = insn->u.vec;
  CHECK(v, vec && vec->op < VEC_COUNT, "is no vector operation");
  const VecOpInfo *info = &vecops[vec->op];
  check_vec_dest(v, insn, &vec->dest);
  if (info->sources > 1)
    check_vec_source(v, insn, &vec->src0, "src0");
  else if (vec->src0.kind != IRV_NONE)
    FAULT(v, "%s has one source, which is src1", info->name);
  if (info->sources > 0)
    check_vec_source(v, insn, &vec->src1, "src1");
  check_vec_extra(v, insn);
}

/* ---- instructions ------------------------------------------------------------------ */

static void check_payload(Verifier *v, const IrInsn *insn)
{
  const IrModule *m = v->m;
  uint64_t imm = insn->imm;
  uint32_t aux = insn->aux;
  switch ((int)insn->op) {
  case IR_const: {
    unsigned bits = ir_type_bits(insn->type);
    CHECK(v, bits, "has type %s", ir_type_name(insn->type));
    CHECK(v, (imm & ~opt_mask(insn->type)) == 0, "has bits beyond its type");
    break;
  }
  case IR_global_addr:
    CHECK(v, insn->u.global.raw < m->n_globals, "names no global");
    break;
  case IR_func_addr: CHECK(v, insn->u.func.raw < m->n_funcs, "names no function"); break;
  case IR_tile_param:
    CHECK(v, imm < m->n_tile_params && m->tile_params[imm] == insn->type,
          "is no tile parameter of this type");
    break;
  case IR_dsd_const:
    CHECK(v, insn->u.desc, "has no descriptor");
    check_desc(v, insn->u.desc, "dsd_const");
    CHECK(v, is_dsd(insn->type) &&
            (insn->type == IRT_DSD4) == (insn->u.desc->desc.kind == DESC_MEM4D),
          "has type %s", ir_type_name(insn->type));
    break;
  case IR_alloca:
    CHECK(v, is_power_of_two(aux), "has alignment %" PRIu32, aux);
    /* More than a tile has is a mistake of the program, which the code generator reports. */
    CHECK(v, imm <= UINT32_MAX, "has %" PRIu64 " bytes", imm);
    break;
  case IR_load:
    CHECK(v, insn->type != IRT_VOID, "loads nothing");
    break;
  case IR_dsd_set:
  case IR_dsr_set:
    CHECK(v, insn->field < DSRF_REMAINING, "sets field %u", insn->field);
    if (insn->op == IR_dsr_set)
      check_dsr(v, (DsrFile)(aux >> 16), aux & 0xffff);
    break;
  case IR_dsd_get:
  case IR_dsr_get:
    CHECK(v, insn->field < DSRF_COUNT && insn->field != DSRF_BASE_ADD, "gets field %u",
          insn->field);
    CHECK(v, insn->type == IRT_I16, "has type %s", ir_type_name(insn->type));
    if (insn->op == IR_dsr_get)
      check_dsr(v, (DsrFile)(aux >> 16), aux & 0xffff);
    break;
  case IR_dsr_load: check_dsr(v, (DsrFile)(aux >> 16), aux & 0xffff); break;
  case IR_block:
  case IR_unblock: CHECK(v, aux < ID_KIND_COUNT, "names id kind %" PRIu32, aux); break;
  case IR_queue_flush: CHECK(v, aux < 2, "names direction %" PRIu32, aux); break;
  case IR_get_config:
  case IR_random16:
    CHECK(v, insn->type == IRT_I16, "has type %s", ir_type_name(insn->type));
    break;
  case IR_counter: CHECK(v, imm < COUNTER_WORDS, "names counter word %" PRIu64, imm); break;
  case IR_call: check_call(v, insn); break;
  case IR_call_ptr:
    CHECK(v, insn->n_args && type_of(v, insn->args[0]) == IRT_PTR, "has no address");
    break;
  case IR_vec: check_vec(v, insn); break;
  case IR_ret: check_ret(v, insn); break;
  default: break;
  }
}

static void check_insn(Verifier *v, IrValue value)
{
  const IrInsn *insn = insn_of(v, value);
  for (uint32_t i = 0; i < insn->n_args && !v->fault; i++)
    check_use(v, insn->args[i]);
  if (!v->fault)
    check_types(v, insn);
  if (!v->fault)
    check_payload(v, insn);
  uint32_t n = ir_target_count(insn);
  for (uint32_t t = 0; t < n && !v->fault; t++)
    check_target_args(v, &insn->u.targets[t]);
  if (v->fault)
    v->fault = arena_printf(v->arena, "block %" PRIu32 ", value %" PRIu32 ": %s %s", v->block,
                            value.raw, ir_ops[insn->op].name, v->fault);
}

static void check_function(Verifier *v, uint32_t id)
{
  const IrFunc *f = &v->m->funcs[id];
  Arena *scratch = arena_create("verify");
  v->f = f;
  v->block_of = arena_many(scratch, uint32_t, f->n_insns);
  v->place = arena_many(scratch, uint32_t, f->n_insns);
  memset(v->block_of, 0xff, sizeof(uint32_t) * f->n_insns);
  check_shape(v);
  if (!v->fault)
    cfg_build(&v->cfg, f, scratch);
  for (v->block = 0; v->block < f->n_blocks && !v->fault; v->block++) {
    const IrBlock *b = &f->blocks[v->block];
    for (uint32_t i = 0; i < b->n_insns && !v->fault; i++) {
      v->at = i + 1;
      check_insn(v, b->insns[i]);
    }
    if (v->fault)
      break;
  }
  arena_destroy(scratch);
  if (v->fault)
    v->fault = arena_printf(v->arena, "function %s: %s", f->name, v->fault);
}

const char *ir_verify(const IrModule *m, Arena *arena)
{
  Verifier v = {.m = m, .arena = arena};
  for (uint32_t i = 0; i < m->n_globals && !v.fault; i++)
    check_global(&v, i);
  if (!v.fault)
    check_tile_slots(&v);
  if (!v.fault)
    check_setup(&v);
  if (!v.fault)
    check_names(&v);
  for (uint32_t i = 0; i < m->n_funcs && !v.fault; i++)
    check_function(&v, i);
  return v.fault;
}
