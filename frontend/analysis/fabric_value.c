/* Values in code that are the same in every run: constants, variables that nothing writes, and what
 * calls make of those, such as the payload that a function of <control> puts together. This file
 * runs the code, for a bounded number of instructions, with scalar variables. */
#include "frontend/analysis/analysis_internal.h"

#include <string.h>

enum { VALUE_STEPS = 2000, VALUE_DEPTH = 8 };

typedef struct {
  const IrModule *m;
  const bool *unwritten;   /* as fabric_ways takes it */
  Arena *arena;
  unsigned steps;
} Evaluator;

/* What one run of a function has computed, by value. */
typedef struct {
  const IrFunc *f;
  uint64_t *bits;          /* of an alloca: what is stored there */
  bool *is_known;
} BlockRun;

static bool call_value(Evaluator *e, uint32_t func, const uint64_t *args, unsigned depth,
                       uint64_t *result);

static bool args_known(const BlockRun *r, const IrInsn *insn, uint64_t *args)
{
  for (uint32_t i = 0; i < insn->n_args; i++) {
    if (!r->is_known[insn->args[i].raw])
      return false;
    args[i] = r->bits[insn->args[i].raw];
  }
  return true;
}

static bool is_variable(const BlockRun *r, IrValue address, IrType type)
{
  const IrInsn *insn = &r->f->insns[address.raw];
  return insn->op == IR_alloca && insn->imm == ir_type_bytes(type);
}

/* What a global that nothing writes holds. */
static bool unwritten_value(const Evaluator *e, const IrFunc *f, const IrInsn *load, uint64_t *bits)
{
  const IrInsn *address = &f->insns[load->args[0].raw];
  if (address->op != IR_global_addr || !e->unwritten || !e->unwritten[address->u.global.raw])
    return false;
  const IrGlobal *g = &e->m->globals[address->u.global.raw];
  unsigned bytes = ir_type_bytes(load->type);
  if (bytes == 0 || bytes != g->bytes || ir_type_is_dsd(load->type))
    return false;
  *bits = 0;
  for (unsigned i = 0; i < bytes && g->init; i++)
    *bits |= (uint64_t)g->init[i] << (8 * i);
  return true;
}

enum { MOST_ARGS = 8 };

/* Runs one instruction that is no terminator; false: its effect is not known here. */
static bool run_insn(Evaluator *e, BlockRun *r, uint32_t at, unsigned depth)
{
  const IrInsn *insn = &r->f->insns[at];
  uint64_t args[MOST_ARGS];
  if (insn->n_args > MOST_ARGS)
    return false;
  if (insn->op == IR_const) {
    r->bits[at] = insn->imm;
  } else if (insn->op == IR_alloca) {
    return true;
  } else if (insn->op == IR_store) {
    uint32_t address = insn->args[0].raw, value = insn->args[1].raw;
    if (!r->is_known[value] ||
        !is_variable(r, insn->args[0], r->f->insns[value].type))
      return false;
    r->bits[address] = r->bits[value];
    return r->is_known[address] = true;
  } else if (insn->op == IR_load && r->f->insns[insn->args[0].raw].op == IR_global_addr) {
    if (!unwritten_value(e, r->f, insn, &r->bits[at]))
      return false;
  } else if (insn->op == IR_load) {
    if (!is_variable(r, insn->args[0], insn->type) || !r->is_known[insn->args[0].raw])
      return false;
    r->bits[at] = r->bits[insn->args[0].raw];
  } else if (insn->op == IR_call) {
    if (!args_known(r, insn, args) ||
        !call_value(e, insn->u.func.raw, args, depth + 1, &r->bits[at]))
      return false;
  } else if (insn->op == IR_global_addr) {
    return true;
  } else if (!ir_op_is_pure(insn->op) || insn->n_args == 0 || !args_known(r, insn, args) ||
             !ir_fold(e->m, insn->op, insn->type, r->f->insns[insn->args[0].raw].type, args,
                      insn->n_args, &r->bits[at])) {
    return false;
  }
  return r->is_known[at] = true;
}

/* The parameters of a block become what the branch gives it, all at once. */
static bool enter_block(BlockRun *r, const IrTarget *target)
{
  const IrBlock *block = &r->f->blocks[target->block.raw];
  uint64_t given[MOST_ARGS];
  if (target->n_args > MOST_ARGS)
    return false;
  for (uint32_t i = 0; i < target->n_args; i++) {
    if (!r->is_known[target->args[i].raw])
      return false;
    given[i] = r->bits[target->args[i].raw];
  }
  for (uint32_t i = 0; i < target->n_args; i++) {
    r->bits[block->params[i].raw] = given[i];
    r->is_known[block->params[i].raw] = true;
  }
  return true;
}

static bool run_blocks(Evaluator *e, BlockRun *r, unsigned depth, uint64_t *result)
{
  for (uint32_t b = 0;;) {
    const IrBlock *block = &r->f->blocks[b];
    for (uint32_t i = 0; i + 1 < block->n_insns; i++)
      if (++e->steps > VALUE_STEPS ||
          (!r->f->insns[block->insns[i].raw].dead && !run_insn(e, r, block->insns[i].raw, depth)))
        return false;
    const IrInsn *end = ir_last_insn(r->f, b);
    if (!end || ++e->steps > VALUE_STEPS)
      return false;
    if (end->op == IR_ret) {
      if (end->n_args == 1)
        *result = r->bits[end->args[0].raw];
      return end->n_args == 1 && r->is_known[end->args[0].raw];
    }
    if (end->op != IR_br && (end->op != IR_cond_br || !r->is_known[end->args[0].raw]))
      return false;
    const IrTarget *target = &end->u.targets[end->op == IR_cond_br && !r->bits[end->args[0].raw]];
    if (!enter_block(r, target))
      return false;
    b = target->block.raw;
  }
}

static bool call_value(Evaluator *e, uint32_t func, const uint64_t *args, unsigned depth,
                       uint64_t *result)
{
  const IrFunc *f = &e->m->funcs[func];
  if (depth > VALUE_DEPTH || f->n_blocks == 0)
    return false;
  BlockRun r = {f, arena_many(e->arena, uint64_t, f->n_insns + 1),
                arena_many(e->arena, bool, f->n_insns + 1)};
  for (uint32_t i = 0; i < f->n_params; i++) {
    uint32_t at = f->blocks[0].params[i].raw;
    r.bits[at] = args[i];
    r.is_known[at] = true;
  }
  return run_blocks(e, &r, depth, result);
}

/* A value of straight code: what it is computed from is computed first. */
static bool value_of(Evaluator *e, BlockRun *r, IrValue v, unsigned depth)
{
  const IrInsn *insn = &r->f->insns[v.raw];
  if (r->is_known[v.raw])
    return true;
  if (depth > VALUE_DEPTH || ++e->steps > VALUE_STEPS)
    return false;
  if (insn->op == IR_load)
    return r->is_known[v.raw] = unwritten_value(e, r->f, insn, &r->bits[v.raw]);
  if (insn->op != IR_const && insn->op != IR_call && !ir_op_is_pure(insn->op))
    return false;
  for (uint32_t i = 0; i < insn->n_args; i++)
    if (!value_of(e, r, insn->args[i], depth + 1))
      return false;
  return run_insn(e, r, v.raw, 0);
}

bool fabric_known_value(const IrModule *m, const IrFunc *f, IrValue v, Arena *arena, uint64_t *bits)
{
  Evaluator e = {.m = m, .arena = arena};
  BlockRun r = {f, arena_many(arena, uint64_t, f->n_insns + 1),
                arena_many(arena, bool, f->n_insns + 1)};
  bool is_known = value_of(&e, &r, v, 0);
  *bits = r.bits[v.raw];
  return is_known;
}

/* ---- ways through a function ----------------------------------------------------------------- */

typedef enum { PARAM_UNSEEN, PARAM_KNOWN, PARAM_VARIES } ParamState;

/* A search goes through the blocks, those in front of a block before it, and again if a way back
 * then leads to one that no other way had led to. A parameter is known if all branches to its block
 * give it one value and none of them leads back: what those give is not known in time. */
typedef struct {
  Evaluator e;
  BlockRun r;
  const uint32_t *order;   /* of the blocks; how many, and by block its place there */
  uint32_t n_blocks, *place;
  uint8_t *params;         /* by value */
  const uint8_t *varying;  /* the same at the start */
  uint8_t *ways;           /* by block */
  bool again;
} WaySearch;

static void find_params_of_loops(WaySearch *w, uint8_t *varying)
{
  const IrFunc *f = w->r.f;
  for (uint32_t n = 0; n < w->n_blocks; n++) {
    const IrInsn *end = ir_last_insn(f, w->order[n]);
    for (uint32_t t = 0; end && t < ir_target_count(end); t++) {
      const IrTarget *target = &end->u.targets[t];
      for (uint32_t i = 0; w->place[target->block.raw] <= n && i < target->n_args; i++)
        varying[f->blocks[target->block.raw].params[i].raw] = PARAM_VARIES;
    }
  }
}

static void give_params(WaySearch *w, const IrTarget *target)
{
  const IrBlock *block = &w->r.f->blocks[target->block.raw];
  for (uint32_t i = 0; i < target->n_args; i++) {
    uint32_t param = block->params[i].raw, arg = target->args[i].raw;
    if (w->params[param] == PARAM_VARIES)
      continue;
    bool is_known = value_of(&w->e, &w->r, target->args[i], 0);
    if (!is_known || (w->params[param] == PARAM_KNOWN && w->r.bits[param] != w->r.bits[arg])) {
      w->params[param] = PARAM_VARIES;
    } else {
      w->params[param] = PARAM_KNOWN;
      w->r.bits[param] = w->r.bits[arg];
    }
  }
}

static void leave_block(WaySearch *w, uint32_t b)
{
  const IrFunc *f = w->r.f;
  const IrBlock *block = &f->blocks[b];
  if (block->n_insns == 0)
    return;
  for (uint32_t i = 0; i < block->n_params; i++)
    w->r.is_known[block->params[i].raw] = w->params[block->params[i].raw] == PARAM_KNOWN;
  const IrInsn *end = ir_last_insn(f, b);
  uint8_t taken = (uint8_t)((1u << ir_target_count(end)) - 1);
  if (end->op == IR_cond_br && value_of(&w->e, &w->r, end->args[0], 0))
    taken = w->r.bits[end->args[0].raw] ? 1 : 2;
  w->ways[b] |= taken;
  for (uint32_t t = 0; t < ir_target_count(end); t++)
    if (taken >> t & 1) {
      uint32_t to = end->u.targets[t].block.raw;
      w->again |= !w->ways[to] && w->place[to] <= w->place[b];
      w->ways[to] |= WAYS_REACHED;
      give_params(w, &end->u.targets[t]);
    }
}

const uint8_t *fabric_ways(const IrModule *m, const bool *unwritten, const IrFunc *f, Arena *arena)
{
  uint8_t *varying = arena_many(arena, uint8_t, f->n_insns + 1);
  WaySearch w = {.e = {.m = m, .unwritten = unwritten, .arena = arena},
                 .r = {f, arena_many(arena, uint64_t, f->n_insns + 1),
                       arena_many(arena, bool, f->n_insns + 1)},
                 .place = arena_many(arena, uint32_t, f->n_blocks),
                 .params = arena_many(arena, uint8_t, f->n_insns + 1), .varying = varying,
                 .ways = arena_many(arena, uint8_t, f->n_blocks), .again = true};
  w.order = ir_order_blocks(f, &w.n_blocks, arena);
  for (uint32_t i = 0; i < w.n_blocks; i++)
    w.place[w.order[i]] = i;
  find_params_of_loops(&w, varying);
  w.ways[0] = WAYS_REACHED;
  while (w.again) {
    w.again = false;
    w.e.steps = 0;
    memset(w.r.is_known, 0, sizeof *w.r.is_known * (f->n_insns + 1));
    memcpy(w.params, w.varying, f->n_insns + 1);
    for (uint32_t i = 0; i < w.n_blocks; i++)
      if (w.ways[w.order[i]])
        leave_block(&w, w.order[i]);
  }
  return w.ways;
}
