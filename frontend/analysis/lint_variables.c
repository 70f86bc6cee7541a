/* Variables that nothing writes: the warnings take what they hold for known, DSDs and what
 * conditions ask for.
 *
 * A variable counts if all that its program does with its address is to load from there.  A store,
 * or an address that goes anywhere else, may change it. */
#include "frontend/analysis/analysis_internal.h"

#include <stb_ds.h>

/* ---- globals --------------------------------------------------------------------------------- */

static void note_uses(const IrFunc *f, const IrValue *args, uint32_t n, uint8_t use, uint8_t *uses)
{
  for (uint32_t i = 0; i < n; i++) {
    const IrInsn *value = &f->insns[args[i].raw];
    if (value->op == IR_global_addr)
      uses[value->u.global.raw] |= use;
  }
}

static void note_function(const IrFunc *f, uint8_t *uses)
{
  for (uint32_t i = 1; i < f->n_insns; i++) {
    const IrInsn *insn = &f->insns[i];
    if (insn->dead)
      continue;
    uint8_t use = insn->op == IR_load ? GLOBAL_LOADED : GLOBAL_USED_OTHERWISE;
    if (insn->op == IR_dsd_const && !ir_global_is_none(insn->u.desc->global))
      uses[insn->u.desc->global.raw] |= GLOBAL_USED_OTHERWISE;
    note_uses(f, insn->args, insn->n_args, use, uses);
    for (uint32_t t = 0; t < ir_target_count(insn); t++)
      note_uses(f, insn->u.targets[t].args, insn->u.targets[t].n_args, GLOBAL_USED_OTHERWISE,
                uses);
  }
}

const uint8_t *lint_uses_of_globals(const Sema *s)
{
  const IrModule *ir = s->ir;
  uint8_t *uses = arena_many(s->arena, uint8_t, ir->n_globals + 1);
  for (uint32_t f = 0; f < ir->n_funcs; f++)
    note_function(&ir->funcs[f], uses);
  for (uint32_t g = 0; g < ir->n_globals; g++)
    for (uint32_t r = 0; r < ir->globals[g].n_relocs; r++)
      if (!ir->globals[g].relocs[r].is_func)
        uses[ir->globals[g].relocs[r].target] |= GLOBAL_USED_OTHERWISE;
  return uses;
}

const bool *lint_unwritten_globals(const Sema *s)
{
  const IrModule *ir = s->ir;
  const uint8_t *uses = lint_uses_of_globals(s);
  bool *unwritten = arena_many(s->arena, bool, ir->n_globals + 1);
  for (uint32_t g = 0; g < ir->n_globals; g++)
    unwritten[g] = uses[g] == GLOBAL_LOADED && !ir->globals[g].keep && ir->globals[g].n_relocs == 0;
  for (uint32_t i = 0; i < ir->n_dsrs; i++)
    if (!ir_global_is_none(ir->dsrs[i].desc.global))
      unwritten[ir->dsrs[i].desc.global.raw] = false;
  for (uint32_t i = 0; i < ir->n_tile_slots; i++)
    if (!ir->tile_slots[i].is_param)
      unwritten[ir->tile_slots[i].index] = false;
  return unwritten;
}

bool lint_is_exported(const Sema *s, uint32_t global)
{
  for (size_t i = 0; i < arrlenu(s->setup->exports); i++)
    if (!s->setup->exports[i].is_func && s->setup->exports[i].target == global)
      return true;
  return false;
}

/* ---- locals ---------------------------------------------------------------------------------- */

/* What a function stores to its variables, by the value that is the variable's place; no value: it
 * stores several, or does something else with the place than to load from there. */
typedef struct { const IrFunc *f; IrValue *stored; bool *is_lost; } Stores;

static void note_place(Stores *stores, const IrInsn *insn, uint32_t arg)
{
  uint32_t place = insn->args[arg].raw;
  if (stores->f->insns[place].op != IR_alloca || insn->op == IR_load)
    return;
  bool is_first = insn->op == IR_store && arg == 0 && ir_value_is_none(stores->stored[place]);
  stores->is_lost[place] |= !is_first;
  stores->stored[place] = stores->is_lost[place] ? IR_NO_VALUE : insn->args[1];
}

static void note_passed(Stores *stores, const IrTarget *target)
{
  for (uint32_t i = 0; i < target->n_args; i++) {
    stores->is_lost[target->args[i].raw] = true;
    stores->stored[target->args[i].raw] = IR_NO_VALUE;
  }
}

static IrValue *find_stores(const IrFunc *f, Arena *arena)
{
  Stores stores = {f, arena_many(arena, IrValue, f->n_insns), arena_many(arena, bool, f->n_insns)};
  for (uint32_t i = 1; i < f->n_insns; i++) {
    const IrInsn *insn = &f->insns[i];
    for (uint32_t a = 0; a < insn->n_args && !insn->dead; a++)
      note_place(&stores, insn, a);
    for (uint32_t t = 0; t < ir_target_count(insn) && !insn->dead; t++)
      note_passed(&stores, &insn->u.targets[t]);
  }
  return stores.stored;
}

/* Found once per function: the checks ask for each operation. */
static IrValue only_store(const Sema *s, const IrFunc *f, IrValue place)
{
  MachineSetup *setup = s->setup;
  if (!setup->only_stores)
    setup->only_stores = arena_many(s->arena, const IrValue *, s->ir->n_funcs);
  const IrValue **stores = &setup->only_stores[f - s->ir->funcs];
  if (!*stores)
    *stores = find_stores(f, s->arena);
  return (*stores)[place.raw];
}

IrValue lint_held_value(const Sema *s, const IrFunc *f, IrValue v)
{
  const IrInsn *load = &f->insns[v.raw];
  if (load->op != IR_load || !ir_type_is_dsd(load->type) ||
      f->insns[load->args[0].raw].op != IR_alloca)
    return v;
  IrValue stored = only_store(s, f, load->args[0]);
  return ir_value_is_none(stored) ? v : stored;
}

bool lint_is_kept(const Sema *s, const IrFunc *f, const IrInsn *store)
{
  return ir_type_is_dsd(f->insns[store->args[1].raw].type) &&
         f->insns[store->args[0].raw].op == IR_alloca &&
         ir_value_eq(only_store(s, f, store->args[0]), store->args[1]);
}

/* ---- descriptors that functions take and hand back ------------------------------------------- */

/* A function may hand back what it gets from itself.  Walks through calls are less deep. */
enum { MOST_CALLS = 64 };

bool lint_takes_dsds(const IrFunc *f)
{
  for (uint32_t i = 0; i < f->n_params; i++)
    if (ir_type_is_dsd(f->params[i]))
      return true;
  return false;
}

bool lint_hands_back(const IrFunc *f, IrValue *v)
{
  uint32_t b = 0;
  for (uint32_t n = 0; n < f->n_blocks; n++) {
    const IrInsn *end = ir_last_insn(f, b);
    if (end && end->op == IR_ret && end->n_args == 1) {
      *v = end->args[0];
      return ir_type_is_dsd(f->insns[v->raw].type);
    }
    if (!end || end->op != IR_br)
      return false;
    b = end->u.targets[0].block.raw;
  }
  return false;
}

static const SoleCall *find_sole_calls(const IrModule *m, Arena *arena)
{
  SoleCall *calls = arena_many(arena, SoleCall, m->n_funcs + 1);
  for (uint32_t n = 0; n < m->n_funcs; n++) {
    const IrFunc *f = &m->funcs[n];
    calls[n].calls += f->address_taken;
    for (uint32_t i = 1; i < f->n_insns; i++) {
      const IrInsn *insn = &f->insns[i];
      if (insn->dead || insn->op != IR_call)
        continue;
      SoleCall *sole = &calls[insn->u.func.raw];
      *sole = (SoleCall){sole->calls + 1, f, insn};
    }
  }
  return calls;
}

/* The one call of a function; NULL: there are none or several, or a pointer leads to it. */
static const SoleCall *sole_call(const Sema *s, const IrFunc *f)
{
  MachineSetup *setup = s->setup;
  if (!setup->sole_calls)
    setup->sole_calls = find_sole_calls(s->ir, s->arena);
  const SoleCall *sole = &setup->sole_calls[f - s->ir->funcs];
  return sole->calls == 1 && sole->call ? sole : NULL;
}

/* From a parameter to what the call gives, or the one call of its function. */
static bool step_to_caller(const Sema *s, DsdSource *from)
{
  const SoleCall *sole = from->at ? NULL : sole_call(s, from->f);
  const IrFunc *caller = from->at ? from->at->caller : sole ? sole->caller : NULL;
  const IrInsn *call = from->at ? from->at->call : sole ? sole->call : NULL;
  for (uint32_t i = 0; call && i < from->f->n_params; i++) {
    if (!ir_value_eq(from->f->blocks[0].params[i], from->v))
      continue;
    from->v = call->args[i];
    from->f = caller;
    from->at = from->at ? from->at->outer : NULL;
    return true;
  }
  return false;
}

/* From a call to what the function hands back. */
static bool step_into_call(const Sema *s, DsdSource *from)
{
  const IrInsn *insn = &from->f->insns[from->v.raw];
  const IrFunc *called = insn->op == IR_call ? &s->ir->funcs[insn->u.func.raw] : NULL;
  IrValue returned;
  if (!called || !lint_hands_back(called, &returned))
    return false;
  CallWay *place = arena_new(s->arena, CallWay);
  *place = (CallWay){from->at, from->f, insn};
  from->f = called;
  from->v = returned;
  from->at = place;
  return true;
}

bool lint_trace_dsd(const Sema *s, DsdSource *from)
{
  for (bool is_variable = false;; from->calls++) {
    IrValue held = lint_held_value(s, from->f, from->v);
    is_variable |= !ir_value_eq(held, from->v);
    from->v = held;
    if (from->calls >= MOST_CALLS || (!step_into_call(s, from) && !step_to_caller(s, from)))
      return is_variable;
  }
}

/* ---- what the checks get --------------------------------------------------------------------- */

const IrDesc *lint_constant_dsd(const Sema *s, const IrFunc *f, IrValue v)
{
  const IrInsn *insn = &f->insns[v.raw];
  if (insn->op == IR_dsd_const)
    return insn->u.desc;
  if (insn->op != IR_load || !ir_type_is_dsd(insn->type))
    return NULL;
  const IrInsn *place = &f->insns[insn->args[0].raw];
  return place->op == IR_global_addr ? s->setup->constant_dsds[place->u.global.raw] : NULL;
}

const IrDesc *lint_first_dsd(const Sema *s, const IrFunc *f, IrValue v)
{
  const IrDesc *known = lint_constant_dsd(s, f, v);
  const IrInsn *insn = &f->insns[v.raw];
  const IrInsn *place = insn->op == IR_load ? &f->insns[insn->args[0].raw] : insn;
  if (known || !ir_type_is_dsd(insn->type) || place->op != IR_global_addr)
    return known;
  return s->setup->moving_dsds[place->u.global.raw];
}

static bool is_written(const Sema *s, const uint8_t *uses, const DsdVariable *v)
{
  if (v->is_local)
    return ir_value_is_none(only_store(s, &s->ir->funcs[v->func.raw], v->place));
  return uses[s->globals[v->global].ir.raw] & GLOBAL_USED_OTHERWISE ||
         lint_is_exported(s, v->global);
}

/* ---- writes that keep the elements ----------------------------------------------------------- */

static bool is_place(const Sema *s, const IrFunc *f, IrValue v, const DsdVariable *of)
{
  const IrInsn *insn = &f->insns[v.raw];
  if (of->is_local)
    return f == &s->ir->funcs[of->func.raw] && ir_value_eq(v, of->place);
  return insn->op == IR_global_addr && ir_global_eq(insn->u.global, s->globals[of->global].ir);
}

static PoolId element_of_global(const Sema *s, IrGlobalId global)
{
  for (size_t i = 0; i < arrlenu(s->globals); i++)
    if (ir_global_eq(s->globals[i].ir, global) &&
        pool_kind(s->pool, s->globals[i].type) == PK_ARRAY_TYPE)
      return pool_key(s->pool, s->globals[i].type).u.array.element;
  return POOL(NONE);
}

/* The type of the elements below the DSD that the declaration gives the variable. */
static PoolId first_element(const Sema *s, const DsdVariable *v)
{
  PoolId value = v->is_local ? POOL(NONE) : s->globals[v->global].init;
  for (size_t i = 0; i < arrlenu(s->local_dsds) && v->is_local; i++)
    if (ir_func_eq(s->local_dsds[i].func, v->func) &&
        ir_value_eq(s->local_dsds[i].place, v->place))
      value = s->local_dsds[i].value;
  return (PoolId){pool_key(s->pool, value).u.dsd.element};
}

/* Does the DSD lie over elements of the type, if the variable's does so far? */
static bool is_over(const Sema *s, const IrFunc *f, IrValue dsd, const DsdVariable *v,
                    PoolId element)
{
  const IrInsn *insn = &f->insns[lint_held_value(s, f, dsd).raw];
  for (; insn->op == IR_dsd_set; insn = &f->insns[lint_held_value(s, f, insn->args[0]).raw]) {
    const IrInsn *base = &f->insns[insn->args[1].raw];
    if (insn->field == DSRF_BASE)
      return base->op == IR_global_addr &&
             pool_eq(element_of_global(s, base->u.global), element);
  }
  if (insn->op == IR_dsd_const)
    return pool_eq(element_of_global(s, insn->u.desc->global), element);
  return insn->op == IR_load && is_place(s, f, insn->args[0], v);
}

/* The use of the variable as operand `a` is a load, or a store that keeps the type. */
static bool use_keeps_elements(const Sema *s, const IrFunc *f, const IrInsn *insn, uint32_t a,
                               const DsdVariable *v, PoolId element)
{
  return a == 0 && (insn->op == IR_load ||
                    (insn->op == IR_store && is_over(s, f, insn->args[1], v, element)));
}

/* Every store to the variable keeps the type of the elements, and nothing else has its address. */
static bool keeps_elements_in(const Sema *s, const IrFunc *f, const DsdVariable *v, PoolId element)
{
  for (uint32_t i = 1; i < f->n_insns; i++) {
    const IrInsn *insn = &f->insns[i];
    for (uint32_t a = 0; a < insn->n_args && !insn->dead; a++)
      if (is_place(s, f, insn->args[a], v) && !use_keeps_elements(s, f, insn, a, v, element))
        return false;
    for (uint32_t t = 0; t < ir_target_count(insn) && !insn->dead; t++)
      for (uint32_t a = 0; a < insn->u.targets[t].n_args; a++)
        if (is_place(s, f, insn->u.targets[t].args[a], v))
          return false;
  }
  return true;
}

static bool names_global(const IrFunc *f, IrGlobalId global)
{
  for (uint32_t i = 1; i < f->n_insns; i++)
    if (f->insns[i].op == IR_global_addr && ir_global_eq(f->insns[i].u.global, global))
      return true;
  return false;
}

static bool is_pointed_to(const IrModule *ir, IrGlobalId global)
{
  for (uint32_t g = 0; g < ir->n_globals; g++)
    for (uint32_t r = 0; r < ir->globals[g].n_relocs; r++)
      if (!ir->globals[g].relocs[r].is_func && ir->globals[g].relocs[r].target == global.raw)
        return true;
  return false;
}

static bool keeps_elements(const Sema *s, const DsdVariable *v)
{
  const IrModule *ir = s->ir;
  PoolId element = first_element(s, v);
  if (v->is_local)
    return keeps_elements_in(s, &ir->funcs[v->func.raw], v, element);
  IrGlobalId global = s->globals[v->global].ir;
  if (is_pointed_to(ir, global) || lint_is_exported(s, v->global))
    return false;
  for (uint32_t f = 0; f < ir->n_funcs; f++)
    if (names_global(&ir->funcs[f], global) && !keeps_elements_in(s, &ir->funcs[f], v, element))
      return false;
  return true;
}

/* Several operations use one variable: what is known of each. */
typedef struct { DsdVariable variable; bool keeps; } KnownVariable;

static bool is_same_variable(const DsdVariable *a, const DsdVariable *b)
{
  if (a->is_local != b->is_local)
    return false;
  return a->is_local ? ir_func_eq(a->func, b->func) && ir_value_eq(a->place, b->place)
                     : a->global == b->global;
}

static bool find_whether_kept(const Sema *s, const DsdVariable *v, KnownVariable **known)
{
  for (size_t i = 0; i < arrlenu(*known); i++)
    if (is_same_variable(&(*known)[i].variable, v))
      return (*known)[i].keeps;
  bool keeps = keeps_elements(s, v);
  arrput(*known, ((KnownVariable){*v, keeps}));
  return keeps;
}

/* ---- messages that waited -------------------------------------------------------------------- */

static bool is_reached(const Sema *s, const HeldMessages *held)
{
  if (ir_func_is_none(held->func))
    return true;
  const IrFunc *f = &s->ir->funcs[held->func.raw];
  return held->block.raw >= f->n_blocks || lint_ways(s, f)[held->block.raw];
}

void lint_held_after_errors(Sema *s)
{
  for (size_t i = 0; i < arrlenu(s->setup->held) && !s->setup->held_are_told; i++)
    if (s->setup->held[i].n == 0)
      diags_put_back(s->diags, s->setup->held[i].taken);
  s->setup->held_are_told = true;
}

static void report_held(Sema *s, const uint8_t *uses)
{
  KnownVariable *known = NULL;
  for (size_t i = 0; i < arrlenu(s->setup->held); i++) {
    const HeldMessages *held = &s->setup->held[i];
    const DsdVariable *v = held->variables;
    uint32_t n_kept = 0;
    while (n_kept < held->n && (!is_written(s, uses, &v[n_kept]) ||
                                (held->on_elements && find_whether_kept(s, &v[n_kept], &known))))
      n_kept++;
    if (n_kept == held->n && is_reached(s, held))
      diags_put_back(s->diags, held->taken);
  }
  arrfree(known);
}

/* The descriptor that the declaration gives a variable; NULL: it holds none, or one that is not
 * known. */
static const IrDesc *declared_dsd(Sema *s, const Global *g)
{
  if (pool_is_none(g->init) || pool_kind(s->pool, g->init) != PK_DSD || ir_global_is_none(g->ir))
    return NULL;
  IrDesc *desc = arena_new(s->arena, IrDesc);
  *desc = setup_resolve(s, pool_key(s->pool, g->init).u.dsd.desc);
  if (!ir_global_is_none(desc->global))
    desc->global = s->globals[desc->global.raw].ir;
  return desc;
}

void lint_variables(Sema *s)
{
  const uint8_t *uses = lint_uses_of_globals(s);
  const IrDesc **constant = arena_many(s->arena, const IrDesc *, s->ir->n_globals + 1);
  const IrDesc **moving = arena_many(s->arena, const IrDesc *, s->ir->n_globals + 1);
  report_held(s, uses);
  s->setup->held_are_told = true;
  for (uint32_t i = 0; i < arrlenu(s->globals); i++) {
    DsdVariable variable = {.global = i};
    const IrDesc *desc = declared_dsd(s, &s->globals[i]);
    if (desc && !is_written(s, uses, &variable))
      constant[s->globals[i].ir.raw] = desc;
    else if (desc && keeps_elements(s, &variable))
      moving[s->globals[i].ir.raw] = desc;
  }
  s->setup->constant_dsds = constant;
  s->setup->moving_dsds = moving;
}
