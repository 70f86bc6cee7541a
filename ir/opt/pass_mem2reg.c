/* mem2reg: turns allocas into values where every use is a load or a store of one type at the
 * alloca's start (or a clear of the whole).
 *
 * A block with several predecessors gets a parameter for each variable that is live where it
 * starts; copyprop removes those that turn out to be one value.  Reading a variable before any
 * write gives 0. */
#include "ir/opt/opt.h"

#include <string.h>

#include <stb_ds.h>

/* The variables that are live where a block starts, in their order: n of `live_vars`, from `first`
 * on.  Few are live in most blocks, so these are lists and no table of blocks and variables. */
typedef struct { uint32_t first, n; } LiveList;

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
  LiveList *live;            /* by block; of the entry none */
  uint32_t *live_vars;
  IrValue *entering;         /* like live_vars: the value that the block starts with; raw 0: none */
  IrValue *now;              /* by variable: its value in the block `now_in` - 1; raw 0: none */
  uint32_t *now_in;
  IrValue *(*passed)[2];     /* by block and target: what `now` was for each variable that is live
                              * there, when the block ended */
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
  uint32_t n = ir_target_count(insn);
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

/* Blocks that read a variable before they write it, and those that write it. */
typedef struct { uint32_t var, block; } VarBlock;
typedef struct {
  VarBlock *reads, *writes;  /* stb_ds */
  uint32_t *reads_at, *writes_at;   /* by variable, once sorted: its part; the last one ends it */
} Accesses;

static void summarise_block(const Promoter *p, uint32_t block, uint32_t *written, Accesses *all)
{
  const IrBlock *b = &p->f->blocks[block];
  for (uint32_t i = 0; i < b->n_insns; i++) {
    const IrInsn *insn = opt_insn(p->f, b->insns[i]);
    uint32_t var = accessed_var(p, insn);
    VarBlock access = {var, block};
    if (var == IR_NO_ID || written[var] == block + 1)
      continue;
    if (insn->op == IR_load) {
      arrput(all->reads, access);
    } else {
      arrput(all->writes, access);
      written[var] = block + 1;
    }
  }
}

/* Sorts by variable; the order of blocks stays.  Returns where each variable's part begins. */
static uint32_t *sort_by_var(const Promoter *p, VarBlock *list)
{
  size_t n = arrlenu(list);
  uint32_t *at = arena_many(p->arena, uint32_t, p->n_vars + 2);
  VarBlock *sorted = arena_many(p->arena, VarBlock, n);
  for (size_t i = 0; i < n; i++)
    at[list[i].var + 2]++;
  for (uint32_t v = 2; v < p->n_vars + 2; v++)
    at[v] += at[v - 1];
  for (size_t i = 0; i < n; i++)
    sorted[at[list[i].var + 1]++] = list[i];
  if (n)
    memcpy(list, sorted, sizeof *list * n);
  return at;
}

/* By block: the variable + 1 that the search has found live there, or written there. */
typedef struct { uint32_t *live, *written, *work; } LiveSearch;

/* Appends the blocks where the variable is live to `found`: from the reads back to the writes. */
static void search_live(const Promoter *p, const Accesses *all, uint32_t var, LiveSearch *search,
                        VarBlock **found)
{
  uint32_t n = 0;
  for (uint32_t i = all->writes_at[var]; i < all->writes_at[var + 1]; i++)
    search->written[all->writes[i].block] = var + 1;
  for (uint32_t i = all->reads_at[var]; i < all->reads_at[var + 1]; i++)
    if (search->live[all->reads[i].block] != var + 1) {
      search->live[all->reads[i].block] = var + 1;
      search->work[n++] = all->reads[i].block;
    }
  while (n) {
    uint32_t block = search->work[--n];
    VarBlock live = {var, block};
    arrput(*found, live);
    for (uint32_t i = p->cfg.pred_at[block]; i < p->cfg.pred_at[block + 1]; i++) {
      uint32_t pred = p->cfg.preds[i];
      if (search->live[pred] == var + 1 || search->written[pred] == var + 1)
        continue;
      search->live[pred] = var + 1;
      search->work[n++] = pred;
    }
  }
}

/* The lists of the blocks from pairs whose variables ascend. */
static void list_live(Promoter *p, const VarBlock *found)
{
  uint32_t n_blocks = p->f->n_blocks, at = 0;
  p->live = arena_many(p->arena, LiveList, n_blocks);
  p->live_vars = arena_many(p->arena, uint32_t, arrlenu(found));
  p->entering = arena_many(p->arena, IrValue, arrlenu(found));
  for (size_t i = 0; i < arrlenu(found); i++)
    p->live[found[i].block].n += found[i].block != 0;
  for (uint32_t b = 0; b < n_blocks; b++) {
    p->live[b].first = at;
    at += p->live[b].n;
    p->live[b].n = 0;
  }
  for (size_t i = 0; i < arrlenu(found); i++) {
    LiveList *list = &p->live[found[i].block];
    if (found[i].block != 0)
      p->live_vars[list->first + list->n++] = found[i].var;
  }
}

static void find_live(Promoter *p)
{
  uint32_t n_blocks = p->f->n_blocks;
  Accesses all = {0};
  uint32_t *written = arena_many(p->arena, uint32_t, p->n_vars);
  for (uint32_t i = 0; i < p->cfg.n_rpo; i++)
    summarise_block(p, p->cfg.rpo[i], written, &all);
  all.reads_at = sort_by_var(p, all.reads);
  all.writes_at = sort_by_var(p, all.writes);
  LiveSearch search = {arena_many(p->arena, uint32_t, n_blocks),
                       arena_many(p->arena, uint32_t, n_blocks),
                       arena_many(p->arena, uint32_t, n_blocks)};
  VarBlock *found = NULL;
  for (uint32_t v = 0; v < p->n_vars; v++)
    search_live(p, &all, v, &search, &found);
  list_live(p, found);
  arrfree(found);
  arrfree(all.reads);
  arrfree(all.writes);
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

static IrValue value_now(const Promoter *p, uint32_t block, uint32_t var)
{
  return p->now_in[var] == block + 1 ? p->now[var] : IR_NO_VALUE;
}

static void set_now(Promoter *p, uint32_t block, uint32_t var, IrValue value)
{
  p->now[var] = value;
  p->now_in[var] = block + 1;
}

static void rewrite_block(Promoter *p, uint32_t block)
{
  for (uint32_t i = 0; i < p->f->blocks[block].n_insns; i++) {
    IrValue v = p->f->blocks[block].insns[i];
    uint32_t n_insns = p->f->blocks[block].n_insns;
    uint32_t var = accessed_var(p, opt_insn(p->f, v));
    if (var == IR_NO_ID)
      continue;
    if (opt_insn(p->f, v)->op == IR_load) {
      if (!value_now(p, block, var).raw)
        set_now(p, block, var, undefined_value(p, var));
      p->map[v.raw] = value_now(p, block, var);
      opt_insn(p->f, v)->dead = true;
    } else if (opt_insn(p->f, v)->op == IR_store) {
      p->stored[var] = resolve_value(p, opt_insn(p->f, v)->args[1]);
      set_now(p, block, var, p->stored[var]);
      p->n_stores[var]++;
      opt_insn(p->f, v)->dead = true;
    } else {
      *opt_insn(p->f, v) = opt_make_const(p->type[var], 0, opt_insn(p->f, v)->loc);
      p->stored[var] = v;
      set_now(p, block, var, v);
      p->n_stores[var]++;
    }
    i += p->f->blocks[block].n_insns - n_insns;   /* the entry may have got an undefined value */
  }
}

/* Does the block take the values of its variables as parameters?  Else its only predecessor has
 * them. */
static bool has_params(const Promoter *p, uint32_t block)
{
  return block != 0 && cfg_pred_count(&p->cfg, block) != 1;
}

static void start_block(Promoter *p, uint32_t block)
{
  LiveList live = p->live[block];
  for (uint32_t i = live.first; i < live.first + live.n; i++) {
    uint32_t v = p->live_vars[i];
    set_now(p, block, v, has_params(p, block)
                             ? ir_block_param(p->m, p->func, (IrBlockId){block}, p->type[v])
                             : p->entering[i]);
  }
}

/* Leaves what the block ends with to the blocks behind it. */
static void end_block(Promoter *p, uint32_t block)
{
  uint32_t n;
  const IrTarget *targets = cfg_targets(p->f, block, &n);
  for (uint32_t t = 0; t < n; t++) {
    uint32_t to = targets[t].block.raw;
    LiveList live = p->live[to];
    IrValue *values = &p->entering[live.first];
    if (has_params(p, to))
      values = p->passed[block][t] = arena_many(p->arena, IrValue, live.n);
    for (uint32_t i = 0; i < live.n; i++)
      values[i] = value_now(p, block, p->live_vars[live.first + i]);
  }
}

static void pass_values_on(Promoter *p, uint32_t block)
{
  uint32_t n;
  IrTarget *targets = cfg_targets(p->f, block, &n);
  for (uint32_t t = 0; t < n; t++) {
    LiveList live = p->live[targets[t].block.raw];
    const IrValue *values = p->passed[block][t];
    if (!values || !live.n)
      continue;
    IrValue *args = arena_many(p->m->arena, IrValue, targets[t].n_args + live.n);
    if (targets[t].n_args)
      memcpy(args, targets[t].args, sizeof *args * targets[t].n_args);
    /* Making a value may move the instructions, but not the targets. */
    for (uint32_t i = 0; i < live.n; i++)
      args[targets[t].n_args++] = values[i].raw
                                      ? values[i]
                                      : undefined_value(p, p->live_vars[live.first + i]);
    targets[t].args = args;
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

static uint32_t count_params(const Promoter *p)
{
  uint32_t n = 0;
  for (uint32_t b = 0; b < p->f->n_blocks; b++)
    if (has_params(p, b))
      n += p->live[b].n;
  return n;
}

static void promote_vars(Promoter *p)
{
  p->now = arena_many(p->arena, IrValue, p->n_vars);
  p->now_in = arena_many(p->arena, uint32_t, p->n_vars);
  p->passed = (IrValue *(*)[2])arena_many(p->arena, IrValue *, 2 * (size_t)p->f->n_blocks);
  p->undefined = arena_many(p->arena, IrValue, p->n_vars);
  p->stored = arena_many(p->arena, IrValue, p->n_vars);
  p->n_stores = arena_many(p->arena, uint32_t, p->n_vars);
  find_live(p);
  /* Values that we make are followed by map lookups too: leave room for all of them. */
  p->cap_map = p->f->n_insns + count_params(p) + p->n_vars;
  p->map = arena_many(p->arena, IrValue, p->cap_map);
  uint32_t *var_of = arena_many(p->arena, uint32_t, p->cap_map);
  memset(var_of, 0xff, sizeof(uint32_t) * p->cap_map);
  memcpy(var_of, p->var_of, sizeof(uint32_t) * p->f->n_insns);
  p->var_of = var_of;
  for (uint32_t i = 0; i < p->cfg.n_rpo; i++) {
    start_block(p, p->cfg.rpo[i]);
    rewrite_block(p, p->cfg.rpo[i]);
    end_block(p, p->cfg.rpo[i]);
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
