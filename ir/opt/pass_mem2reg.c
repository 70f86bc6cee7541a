/* mem2reg: turns allocas into values where every use is a load or a store of one type at the
 * alloca's start (or a clear of the whole).
 *
 * A block with several predecessors gets a parameter for each variable that is live where it
 * starts; copyprop removes those that turn out to be one value.  Reading a variable before any
 * write gives 0. */
#include "ir/opt/opt.h"

#include <string.h>

typedef struct {
  IrModule *m;
  IrFunc *f;
  IrFuncId func;
  Arena *arena;
  Cfg cfg;
  uint32_t n_vars;
  uint32_t *var_of;          /* by value: variable of a promoted alloca, else IR_NO_ID */
  IrValue *alloca_of;        /* by variable */
  IrType *type;
  IrValue *undefined;        /* by variable, made when needed */
  bool *live, *gen, *kill;   /* [block * n_vars + variable] */
  IrValue *exit;             /* likewise: value when the block ends; raw 0: none */
  bool *has_param;           /* likewise */
  IrValue *stored;           /* by variable: what is written last in the text */
  uint32_t *n_stores;        /* by variable */
  IrValue *map;
  uint32_t cap_map;
} Promoter;

/* ---- which ------------------------------------------------------------------------- */

/* Is the use of an alloca as operand `index` one that we can do away with?  Its type, or VOID
 * for a clear. */
static bool use_is_plain(const IrFunc *f, const IrInsn *insn, uint32_t index, IrType *type)
{
  *type = IRT_VOID;
  if (index != 0)
    return false;
  if (insn->op == IR_load)
    *type = insn->type;
  else if (insn->op == IR_store)
    *type = opt_insn(f, insn->args[1])->type;
  else
    return insn->op == IR_zero;
  return true;
}

static void judge_use(const IrFunc *f, const IrInsn *insn, uint32_t index, IrType *types,
                      bool *bad)
{
  uint32_t raw = insn->args[index].raw;
  const IrInsn *a = &f->insns[raw];
  IrType type;
  if (a->op != IR_alloca)
    return;
  if (!use_is_plain(f, insn, index, &type)) {
    bad[raw] = true;
  } else if (type == IRT_VOID) {
    bad[raw] |= insn->imm != a->imm;
  } else {
    bad[raw] |= (types[raw] != IRT_VOID && types[raw] != type) || ir_type_bytes(type) > a->imm;
    types[raw] = type;
  }
}

static void judge_targets(const IrInsn *insn, bool *bad)
{
  uint32_t n = insn->op == IR_br ? 1 : insn->op == IR_cond_br ? 2 : 0;
  for (uint32_t t = 0; t < n; t++)
    for (uint32_t i = 0; i < insn->u.targets[t].n_args; i++)
      bad[insn->u.targets[t].args[i].raw] = true;
}

/* A clear is the number 0; descriptors have none, and bytes beyond the type must not matter. */
static bool is_promotable(const IrInsn *a, IrType type, bool is_bad, bool is_cleared)
{
  if (is_bad || type == IRT_VOID)
    return false;
  return !is_cleared || (ir_type_bits(type) && ir_type_bytes(type) == a->imm);
}

static void find_variables(Promoter *p)
{
  IrFunc *f = p->f;
  IrType *types = arena_many(p->arena, IrType, f->n_insns);
  bool *bad = arena_many(p->arena, bool, f->n_insns);
  bool *cleared = arena_many(p->arena, bool, f->n_insns);
  p->var_of = arena_many(p->arena, uint32_t, f->n_insns);
  memset(p->var_of, 0xff, sizeof(uint32_t) * f->n_insns);
  for (uint32_t b = 0; b < f->n_blocks; b++)
    for (uint32_t i = 0; i < f->blocks[b].n_insns; i++) {
      const IrInsn *insn = opt_insn(f, f->blocks[b].insns[i]);
      for (uint32_t a = 0; a < insn->n_args; a++)
        judge_use(f, insn, a, types, bad);
      judge_targets(insn, bad);
      if (insn->op == IR_zero)
        cleared[insn->args[0].raw] = true;
    }
  const IrBlock *entry = &f->blocks[0];
  p->alloca_of = arena_many(p->arena, IrValue, entry->n_insns);
  p->type = arena_many(p->arena, IrType, entry->n_insns);
  for (uint32_t i = 0; i < entry->n_insns; i++) {
    IrValue v = entry->insns[i];
    if (opt_insn(f, v)->op != IR_alloca ||
        !is_promotable(opt_insn(f, v), types[v.raw], bad[v.raw], cleared[v.raw]))
      continue;
    p->var_of[v.raw] = p->n_vars;
    p->alloca_of[p->n_vars] = v;
    p->type[p->n_vars++] = types[v.raw];
  }
}

/* ---- where values are live --------------------------------------------------------- */

/* The variable that an instruction loads, stores or clears, or IR_NO_ID. */
static uint32_t accessed_var(const Promoter *p, const IrInsn *insn)
{
  bool is_access = insn->op == IR_load || insn->op == IR_store || insn->op == IR_zero;
  return is_access ? p->var_of[insn->args[0].raw] : IR_NO_ID;
}

static void summarise_block(Promoter *p, uint32_t block)
{
  const IrBlock *b = &p->f->blocks[block];
  size_t base = (size_t)block * p->n_vars;
  for (uint32_t i = 0; i < b->n_insns; i++) {
    const IrInsn *insn = opt_insn(p->f, b->insns[i]);
    uint32_t var = accessed_var(p, insn);
    if (var == IR_NO_ID)
      continue;
    if (insn->op == IR_load)
      p->gen[base + var] |= !p->kill[base + var];
    else
      p->kill[base + var] = true;
  }
}

static bool update_live(Promoter *p, uint32_t block)
{
  uint32_t n;
  bool changed = false;
  const IrTarget *targets = cfg_targets(p->f, block, &n);
  size_t base = (size_t)block * p->n_vars;
  for (uint32_t v = 0; v < p->n_vars; v++) {
    bool live = p->gen[base + v];
    for (uint32_t t = 0; t < n && !live && !p->kill[base + v]; t++)
      live = p->live[(size_t)targets[t].block.raw * p->n_vars + v];
    changed |= live != p->live[base + v];
    p->live[base + v] = live;
  }
  return changed;
}

static void find_live(Promoter *p)
{
  size_t n = (size_t)p->f->n_blocks * p->n_vars;
  p->live = arena_many(p->arena, bool, n);
  p->gen = arena_many(p->arena, bool, n);
  p->kill = arena_many(p->arena, bool, n);
  for (uint32_t i = 0; i < p->cfg.n_rpo; i++)
    summarise_block(p, p->cfg.rpo[i]);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = p->cfg.n_rpo; i-- > 0;)
      changed |= update_live(p, p->cfg.rpo[i]);
  }
}

/* ---- rewriting --------------------------------------------------------------------- */

static uint32_t first_after_allocas(const IrFunc *f)
{
  const IrBlock *entry = &f->blocks[0];
  uint32_t at = 0;
  while (opt_insn(f, entry->insns[at])->op == IR_alloca)
    at++;
  return at;
}

static IrValue undefined_value(Promoter *p, uint32_t var)
{
  if (p->undefined[var].raw)
    return p->undefined[var];
  IrInsn insn = opt_make_const(p->type[var], 0, IR_NO_LOC);
  if (!ir_type_bits(p->type[var])) {
    insn.op = IR_dsd_const;
    insn.u.desc = arena_new(p->m->arena, IrDesc);
    insn.u.desc->global.raw = IR_NO_ID;
    insn.u.desc->desc.kind = p->type[var] == IRT_DSD4 ? DESC_MEM4D : DESC_NONE;
  }
  p->undefined[var] = opt_add(p->m, p->f, &insn);
  opt_insert(p->m, &p->f->blocks[0], first_after_allocas(p->f), p->undefined[var]);
  return p->undefined[var];
}

/* Values made by us are never replaced: they may lie beyond the map. */
static IrValue resolve_value(Promoter *p, IrValue v)
{
  return v.raw < p->cap_map ? opt_resolve(p->map, v) : v;
}

static void rewrite_block(Promoter *p, uint32_t block)
{
  IrValue *now = &p->exit[(size_t)block * p->n_vars];
  for (uint32_t i = 0; i < p->f->blocks[block].n_insns; i++) {
    IrValue v = p->f->blocks[block].insns[i];
    uint32_t n_insns = p->f->blocks[block].n_insns;
    uint32_t var = accessed_var(p, opt_insn(p->f, v));
    if (var == IR_NO_ID)
      continue;
    if (opt_insn(p->f, v)->op == IR_load) {
      if (!now[var].raw)
        now[var] = undefined_value(p, var);
      p->map[v.raw] = now[var];
      opt_insn(p->f, v)->dead = true;
    } else if (opt_insn(p->f, v)->op == IR_store) {
      now[var] = p->stored[var] = resolve_value(p, opt_insn(p->f, v)->args[1]);
      p->n_stores[var]++;
      opt_insn(p->f, v)->dead = true;
    } else {
      *opt_insn(p->f, v) = opt_make_const(p->type[var], 0, opt_insn(p->f, v)->loc);
      now[var] = p->stored[var] = v;
      p->n_stores[var]++;
    }
    i += p->f->blocks[block].n_insns - n_insns;   /* the entry may have got an undefined value */
  }
}

static void start_block(Promoter *p, uint32_t block)
{
  size_t base = (size_t)block * p->n_vars;
  uint32_t n_preds = cfg_pred_count(&p->cfg, block);
  for (uint32_t v = 0; v < p->n_vars; v++) {
    if (!p->live[base + v] || block == 0)
      continue;
    if (n_preds == 1) {
      p->exit[base + v] = p->exit[(size_t)p->cfg.preds[p->cfg.pred_at[block]] * p->n_vars + v];
    } else {
      p->exit[base + v] = ir_block_param(p->m, p->func, (IrBlockId){block}, p->type[v]);
      p->has_param[base + v] = true;
    }
  }
}

static void pass_values_on(Promoter *p, uint32_t block)
{
  uint32_t n;
  IrTarget *targets = cfg_targets(p->f, block, &n);
  for (uint32_t t = 0; t < n; t++)
    for (uint32_t v = 0; v < p->n_vars; v++) {
      if (!p->has_param[(size_t)targets[t].block.raw * p->n_vars + v])
        continue;
      IrValue value = p->exit[(size_t)block * p->n_vars + v];
      /* Making a value may move the instructions, but not the targets. */
      opt_append_target_arg(p->m, &targets[t], value.raw ? value : undefined_value(p, v));
    }
}

/* Operands still name the old loads; those the map knows, new values lie beyond it. */
static void replace_known(IrValue *operand, void *context)
{
  *operand = resolve_value(context, *operand);
}

/* A variable that is written once is the value written; of others it is not known which value they
 * are where. */
static void place_locals(Promoter *p)
{
  for (uint32_t i = 0; i < p->f->n_locals; i++) {
    IrLocal *local = &p->f->locals[i];
    uint32_t var = local->value.raw < p->cap_map ? p->var_of[local->value.raw] : IR_NO_ID;
    if (var != IR_NO_ID && local->in_memory) {
      local->in_memory = false;
      local->value = p->n_stores[var] == 1 ? p->stored[var] : IR_NO_VALUE;
    }
    replace_known(&local->value, p);
  }
}

static void promote_vars(Promoter *p)
{
  size_t n = (size_t)p->f->n_blocks * p->n_vars;
  p->exit = arena_many(p->arena, IrValue, n);
  p->has_param = arena_many(p->arena, bool, n);
  p->undefined = arena_many(p->arena, IrValue, p->n_vars);
  p->stored = arena_many(p->arena, IrValue, p->n_vars);
  p->n_stores = arena_many(p->arena, uint32_t, p->n_vars);
  find_live(p);
  /* Values that we make are followed by map lookups too: leave room for all of them. */
  p->cap_map = p->f->n_insns + (uint32_t)n + p->n_vars;
  p->map = arena_many(p->arena, IrValue, p->cap_map);
  uint32_t *var_of = arena_many(p->arena, uint32_t, p->cap_map);
  memset(var_of, 0xff, sizeof(uint32_t) * p->cap_map);
  memcpy(var_of, p->var_of, sizeof(uint32_t) * p->f->n_insns);
  p->var_of = var_of;
  for (uint32_t i = 0; i < p->cfg.n_rpo; i++) {
    start_block(p, p->cfg.rpo[i]);
    rewrite_block(p, p->cfg.rpo[i]);
  }
  for (uint32_t i = 0; i < p->cfg.n_rpo; i++)
    pass_values_on(p, p->cfg.rpo[i]);
  for (uint32_t v = 0; v < p->n_vars; v++)
    opt_insn(p->f, p->alloca_of[v])->dead = true;
  opt_sweep(p->f);
  for (uint32_t b = 0; b < p->f->n_blocks; b++)
    for (uint32_t i = 0; i < p->f->blocks[b].n_insns; i++)
      opt_each_operand(opt_insn(p->f, p->f->blocks[b].insns[i]), replace_known, p);
  place_locals(p);
}

bool pass_mem2reg(Opt *opt, IrFunc *f)
{
  Promoter p = {.m = opt->m, .f = f, .func = {(uint32_t)(f - opt->m->funcs)}, .arena = opt->arena};
  opt_find_unreachable(f, opt->arena);
  find_variables(&p);
  if (!p.n_vars)
    return false;
  cfg_order(&p.cfg, f, opt->arena);
  promote_vars(&p);
  return true;
}
