/* Where variables are, for debuggers: a table beside the code that follows registers and frame
 * slots through allocation.  The code is the same without it. */
#include "ir/codegen/codegen.h"

#include <string.h>

#include <stb_ds.h>

/* ---- after selection ------------------------------------------------------------------------- */

/* A value of more than a pair of registers is in two of them, or in memory. */
static bool fits_register(IrType type)
{
  return type != IRT_VOID && type != IRT_I64 && !ir_type_is_dsd(type);
}

static bool find_home(const Sel *s, const IrLocal *local, VariableHome *home)
{
  const IrInsn *def = sel_def(s, local->value);
  if (local->in_memory && def->op == IR_alloca) {
    home->kind = HOME_SLOT;
    home->slot = s->frame_slot[local->value.raw] - 1;
    return s->frame_slot[local->value.raw] != 0;
  }
  if (!local->in_memory && def->op == IR_const) {
    home->kind = HOME_CONSTANT;
    home->bits = def->imm;
    return true;
  }
  home->kind = HOME_REGISTER;
  home->is_address = local->in_memory;
  home->reg = s->vreg[local->value.raw];
  return fits_register(def->type) && home->reg != 0;
}

void variables_find(Sel *s)
{
  for (uint32_t i = 0; i < s->f->n_locals; i++) {
    const IrLocal *local = &s->f->locals[i];
    VariableHome home = {.local = i, .kind = HOME_CONSTANT, .bits = local->bits};
    if (local->is_known || (local->value.raw && find_home(s, local, &home)))
      arrput(s->mf->homes, home);
  }
}

/* ---- sets of homes --------------------------------------------------------------------------- */

/* The set that differs from that one in the home. */
static uint32_t toggle_home(MarkSet **sets, uint32_t set, uint32_t home)
{
  arrput(*sets, ((MarkSet){set, home}));
  return (uint32_t)arrlenu(*sets) - 1;
}

/* A walk along the code. */
typedef struct {
  const MarkSet *sets;
  uint32_t at;               /* the set at hand, */
  uint64_t *has;             /* its homes, */
  uint32_t *changed;         /* and those that may have come or gone; stb_ds, some several times */
} MarkWalk;

static void walk_home(MarkWalk *w, uint32_t set)
{
  w->has[w->sets[set].home / 64] ^= UINT64_C(1) << (w->sets[set].home % 64);
  arrput(w->changed, w->sets[set].home);
}

/* A parent stands before its sets, so the way meets where both are the same. */
static void walk_marks(MarkWalk *w, uint32_t to)
{
  for (uint32_t from = w->at, other = to; from != other;) {
    uint32_t *later = from > other ? &from : &other;
    walk_home(w, *later);
    *later = w->sets[*later].parent;
  }
  w->at = to;
}

/* ---- before allocation ----------------------------------------------------------------------- */

static bool is_marked(const VariableHome *home)
{
  return home->kind == HOME_REGISTER && reg_is_virtual(home->reg);
}

/* Which homes hold their variables at the instruction at hand, as the walk goes up. */
typedef struct {
  MFunc *mf;
  uint32_t *first_home, *next_home;   /* those of a virtual register, by index + 1 */
  uint64_t *has;
  uint32_t set;                       /* the same */
} HomeMarks;

static void mark_register(HomeMarks *m, Reg r, bool is_live)
{
  if (!reg_is_virtual(r))
    return;
  for (uint32_t h = m->first_home[reg_id(r) - FIRST_VREG]; h; h = m->next_home[h - 1]) {
    if (bit_get(m->has, h - 1) == is_live)
      continue;
    m->set = toggle_home(&m->mf->mark_sets, m->set, h - 1);
    if (is_live)
      bit_set(m->has, h - 1);
    else
      bit_clear(m->has, h - 1);
  }
}

static void mark_block(HomeMarks *m, const FlowBlock *block)
{
  MFunc *mf = m->mf;
  for (uint32_t set = m->set; set; set = mf->mark_sets[set].parent)
    bit_clear(m->has, mf->mark_sets[set].home);
  m->set = 0;
  for (uint32_t i = 0; i < block->n_live_out; i++)
    mark_register(m, (Reg)(FIRST_VREG + block->live_out[i]), true);
  for (uint32_t i = block->end; i-- > block->first;) {
    MOperand ops[MOST_OPERANDS];
    unsigned n = mi_operands(&mf->code[i], ops);
    for (unsigned k = 0; k < n; k++)
      if (ops[k].def)
        mark_register(m, mf->code[i].r[ops[k].slot], false);
    for (unsigned k = 0; k < n; k++)
      if (ops[k].use)
        mark_register(m, mf->code[i].r[ops[k].slot], true);
    mf->code[i].marks = m->set;
  }
}

void variables_mark(MFunc *mf)
{
  Arena *scratch = arena_create("variables");
  size_t n_homes = arrlenu(mf->homes);
  HomeMarks m = {.mf = mf};
  bool any = false;
  m.first_home = arena_many(scratch, uint32_t, arrlenu(mf->vregs));
  m.next_home = arena_many(scratch, uint32_t, n_homes);
  m.has = arena_many(scratch, uint64_t, (n_homes + 63) / 64);
  for (size_t h = 0; h < n_homes; h++) {
    if (!is_marked(&mf->homes[h]))
      continue;
    uint32_t *first = &m.first_home[reg_id(mf->homes[h].reg) - FIRST_VREG];
    m.next_home[h] = *first;
    *first = (uint32_t)h + 1;
    any = true;
  }
  if (any) {
    Flow flow;
    flow_build(&flow, mf, scratch);
    toggle_home(&mf->mark_sets, 0, 0);
    for (uint32_t b = 0; b < flow.n_blocks; b++)
      mark_block(&m, &flow.blocks[b]);
  }
  arena_destroy(scratch);
}

void variables_rename(MFunc *mf, Reg (*rename)(void *context, Reg reg), void *context)
{
  for (size_t h = 0; h < arrlenu(mf->homes); h++)
    if (is_marked(&mf->homes[h]))
      mf->homes[h].reg = rename(context, mf->homes[h].reg);
}

/* ---- after allocation ------------------------------------------------------------------------ */

/* The walk down the code that keeps parameters. */
typedef struct {
  const MFunc *mf;
  MarkWalk walk;             /* over the marks as they were */
  uint64_t *kept;            /* homes of parameters that still hold them */
  uint32_t *kept_in[GPR_COUNT];   /* stb_ds: those in the register, or once in it */
  uint64_t *has;             /* the marks as they become: of the last set made, */
  uint32_t set;              /* which is this one of */
  MarkSet *sets;
} ParameterWalk;

static bool is_parameter(const MFunc *mf, uint32_t h)
{
  const VariableHome *home = &mf->homes[h];
  return home->kind == HOME_REGISTER && home->reg != REG_NONE && !reg_is_virtual(home->reg) &&
         mf->ir->locals[home->local].is_param;
}

static void keep_home(ParameterWalk *p, uint32_t h)
{
  bit_set(p->kept, h);
  for (unsigned r = 0; r < GPR_COUNT; r++)
    if (reg_mask(p->mf->homes[h].reg) >> r & 1)
      arrput(p->kept_in[r], h);
}

/* Nothing is kept in these registers any more. */
static void lose_registers(ParameterWalk *p, uint16_t registers)
{
  for (unsigned r = 0; r < GPR_COUNT; r++)
    while (registers >> r & 1 && arrlenu(p->kept_in[r])) {
      uint32_t h = arrpop(p->kept_in[r]);
      if (bit_get(p->kept, h))
        arrput(p->walk.changed, h);
      bit_clear(p->kept, h);
    }
}

/* Keeps what the instruction finds in a register.  Parameters change where the walk's set does, or
 * where they were lost. */
static void take_parameters(ParameterWalk *p)
{
  for (size_t i = 0; i < arrlenu(p->walk.changed); i++) {
    uint32_t h = p->walk.changed[i];
    if (bit_get(p->walk.has, h) && !bit_get(p->kept, h) && is_parameter(p->mf, h))
      keep_home(p, h);
  }
}

static uint32_t set_with_parameters(ParameterWalk *p)
{
  for (size_t i = 0; i < arrlenu(p->walk.changed); i++) {
    uint32_t h = p->walk.changed[i];
    bool holds = bit_get(p->walk.has, h) || bit_get(p->kept, h);
    if (holds == bit_get(p->has, h))
      continue;
    p->has[h / 64] ^= UINT64_C(1) << (h % 64);
    p->set = toggle_home(&p->sets, p->set, h);
  }
  arrsetlen(p->walk.changed, 0);
  return p->set;
}

void variables_keep_parameters(MFunc *mf)
{
  if (!mf->mark_sets)
    return;
  Arena *scratch = arena_create("parameters");
  size_t n_words = (arrlenu(mf->homes) + 63) / 64;
  ParameterWalk p = {.mf = mf, .kept = arena_many(scratch, uint64_t, n_words),
                     .walk = {mf->mark_sets, 0, arena_many(scratch, uint64_t, n_words), NULL},
                     .has = arena_many(scratch, uint64_t, n_words)};
  toggle_home(&p.sets, 0, 0);
  for (size_t i = 0; i < arrlenu(mf->code); i++) {
    MInsn *mi = &mf->code[i];
    if (mi->op == MI_LABEL)
      lose_registers(&p, UINT16_MAX);
    walk_marks(&p.walk, mi->marks);
    take_parameters(&p);
    if (mi->op == MI_LABEL || mi->dead)
      continue;
    mi->marks = set_with_parameters(&p);
    lose_registers(&p, mi_ends_flow(mi) ? UINT16_MAX : mi_writes(mi));
  }
  arrfree(mf->mark_sets);
  mf->mark_sets = p.sets;
  for (unsigned r = 0; r < GPR_COUNT; r++)
    arrfree(p.kept_in[r]);
  arrfree(p.walk.changed);
  arena_destroy(scratch);
}

/* ---- in the image ---------------------------------------------------------------------------- */

/* Code from one word to before another. */
typedef struct { uint16_t first, end; } CodeRange;

/* Where homes hold their variables, as stb_ds arrays of ranges. */
typedef struct {
  CodeRange *everywhere;
  CodeRange *in_frame;       /* while the frame is there */
  CodeRange **marked;        /* by home: as the marks say */
} HomeRanges;

/* Neighbouring instructions make one range. */
static void add_range(CodeRange **list, uint32_t first, uint32_t end)
{
  if (arrlenu(*list) && arrlast(*list).end == first)
    arrlast(*list).end = (uint16_t)end;
  else
    arrput(*list, ((CodeRange){(uint16_t)first, (uint16_t)end}));
}

/* The walk down the code: which homes hold their variables, and since where. */
typedef struct {
  const MFunc *mf;
  HomeRanges *ranges;
  MarkWalk walk;
  bool has_frame;
  uint16_t unmarked;         /* registers */
  uint64_t *held;            /* what the marks say, and is there */
  uint32_t *since;           /* by home */
} RangeWalk;

/* Without the frame, what is spilled holds nothing, whatever the marks say. */
static bool holds_variable(const RangeWalk *w, uint32_t h)
{
  const VariableHome *home = &w->mf->homes[h];
  if (!bit_get(w->walk.has, h) || (!w->has_frame && home->kind == HOME_SLOT && home->spilled))
    return false;
  return !w->unmarked || home->kind != HOME_REGISTER || home->reg == REG_NONE ||
         !(reg_mask(home->reg) & w->unmarked);
}

static void settle_home(RangeWalk *w, uint32_t h, uint32_t pc)
{
  if (holds_variable(w, h) == bit_get(w->held, h))
    return;
  if (bit_get(w->held, h))
    add_range(&w->ranges->marked[h], w->since[h], pc);
  w->since[h] = pc;
  w->held[h / 64] ^= UINT64_C(1) << (h % 64);
}

/* From `pc` on, what the set says. */
static void take_marks(RangeWalk *w, uint32_t set, bool has_frame, uint16_t unmarked, uint32_t pc)
{
  bool hides_others = w->has_frame != has_frame || w->unmarked != unmarked;
  w->has_frame = has_frame;
  w->unmarked = unmarked;
  walk_marks(&w->walk, set);
  for (size_t i = 0; i < arrlenu(w->walk.changed); i++)
    settle_home(w, w->walk.changed[i], pc);
  arrsetlen(w->walk.changed, 0);
  for (size_t word = 0; word < (arrlenu(w->mf->homes) + 63) / 64 && hides_others; word++)
    for (uint64_t bits = w->walk.has[word]; bits; bits &= bits - 1)
      settle_home(w, (uint32_t)word * 64 + (uint32_t)__builtin_ctzll(bits), pc);
}

/* In the first instruction and in a return the frame is not there yet, or no longer. */
static HomeRanges find_ranges(const MFunc *mf, Arena *arena)
{
  HomeRanges ranges = {0};
  size_t n_homes = arrlenu(mf->homes), n_words = (n_homes + 63) / 64;
  RangeWalk w = {mf, &ranges, {mf->mark_sets, 0, arena_many(arena, uint64_t, n_words), NULL}, true,
                 0, arena_many(arena, uint64_t, n_words), arena_many(arena, uint32_t, n_homes)};
  ranges.marked = arena_many(arena, CodeRange *, n_homes);
  uint32_t pc = mf->address;
  for (size_t i = 0; i < arrlenu(mf->code); i++) {
    const MInsn *mi = &mf->code[i];
    if (mi->op == MI_LABEL)
      continue;
    uint32_t end = pc + 2 * insn_words((Opcode)mi->op);
    bool has_frame = !mf->frame_bytes || (mi->op != OP_ret && i != 1);
    take_marks(&w, mi->marks, has_frame, mi->unmarked, pc);
    add_range(&ranges.everywhere, pc, end);
    if (has_frame)
      add_range(&ranges.in_frame, pc, end);
    pc = end;
  }
  take_marks(&w, 0, true, 0, pc);
  arrfree(w.walk.changed);
  return ranges;
}

static void free_ranges(HomeRanges *ranges, size_t n_homes)
{
  arrfree(ranges->everywhere);
  arrfree(ranges->in_frame);
  for (size_t h = 0; h < n_homes; h++)
    arrfree(ranges->marked[h]);
}

static const CodeRange *ranges_of_home(const HomeRanges *ranges, const MFunc *mf, uint32_t number)
{
  const VariableHome *home = &mf->homes[number];
  if (home->kind == HOME_REGISTER || home->spilled)
    return ranges->marked[number];
  return home->kind == HOME_SLOT ? ranges->in_frame : ranges->everywhere;
}

static bool home_place(const MFunc *mf, const VariableHome *home, DebugRange *range)
{
  switch (home->kind) {
  case HOME_CONSTANT:
    range->place = PLACE_CONSTANT;
    range->value = home->bits;
    return true;
  case HOME_REGISTER:
    range->place = home->is_address ? PLACE_AT_REGISTER : PLACE_REGISTER;
    range->value = home->reg < PAIR_BASE ? home->reg : home->reg - PAIR_BASE;
    return home->reg != REG_NONE;
  case HOME_SLOT: default:
    if (home->slot == IR_NO_ID || !mf->slots[home->slot].used)
      return false;
    range->place = home->is_address ? PLACE_AT_FRAME : PLACE_FRAME;
    range->value = mf->slots[home->slot].offset;
    return true;
  }
}

typedef struct {
  const Cg *cg;
  InlinedBy *inlined;
  void *context;
} VariableEmitter;

enum { NO_HOME = UINT32_MAX };

/* The home of each local variable of the function. */
static uint32_t *find_homes(const Cg *cg, const MFunc *mf)
{
  uint32_t *homes = arena_many(cg->arena, uint32_t, mf->ir->n_locals);
  for (uint32_t i = 0; i < mf->ir->n_locals; i++)
    homes[i] = NO_HOME;
  for (size_t h = 0; h < arrlenu(mf->homes); h++)
    homes[mf->homes[h].local] = (uint32_t)h;
  return homes;
}

/* What the text declares once and the code has several times, as the turns of a loop that has
 * become straight code, has no place: it would not be known which one is meant where. */
static void forget_repeated(const VariableEmitter *e, const MFunc *mf, uint32_t *homes)
{
  struct { uint64_t key; uint32_t value; } *seen = NULL;
  for (uint32_t i = 0; i < mf->ir->n_locals; i++) {
    uint32_t inlined, loc = mf->ir->locals[i].loc.raw;
    if (mf->ir->locals[i].is_asserted || !e->inlined(e->context, loc, &inlined))
      continue;
    uint64_t key = (uint64_t)e->cg->work->locs[loc].span.off << 32 | inlined;
    ptrdiff_t at = hmgeti(seen, key);
    if (at < 0)
      hmput(seen, key, i);
    else
      homes[i] = homes[seen[at].value] = NO_HOME;
  }
  hmfree(seen);
}

static uint16_t short_column(uint32_t column)
{
  return column < UINT16_MAX ? (uint16_t)column : UINT16_MAX;
}

/* False: no code of it is left. */
static bool emit_local(const VariableEmitter *e, const MFunc *mf, const IrLocal *local,
                       const HomeRanges *held, uint32_t home, DebugLocal *out)
{
  Span seen = e->cg->work->locs[local->loc.raw].span;
  FilePlace place = file_place(e->cg, seen);
  *out = (DebugLocal){.name = local->name, .type = local->type, .is_param = local->is_param,
                      .file = place.file, .line = place.line,
                      .column = short_column(place.column)};
  if (seen.len) {
    FilePlace end = file_place(e->cg, (Span){seen.off + seen.len, 0});
    out->last_line = end.line;
    out->last_column = short_column(end.column);
  }
  if (!e->inlined(e->context, local->loc.raw, &out->inlined))
    return false;
  DebugRange where = {0};
  if (home == NO_HOME || !home_place(mf, &mf->homes[home], &where))
    return true;
  const CodeRange *found = ranges_of_home(held, mf, home);
  DebugRange *ranges = arena_many(e->cg->kept, DebugRange, arrlenu(found));
  for (size_t i = 0; i < arrlenu(found); i++) {
    ranges[i] = where;
    ranges[i].first = found[i].first;
    ranges[i].end = found[i].end;
  }
  out->n_ranges = (uint32_t)arrlenu(found);
  out->ranges = ranges;
  return true;
}

static void emit_locals(const VariableEmitter *e, const MFunc *mf, DebugFunction *out)
{
  Arena *scratch = arena_create("variables");
  DebugLocal *locals = arena_many(e->cg->kept, DebugLocal, mf->ir->n_locals);
  uint32_t *homes = find_homes(e->cg, mf);
  HomeRanges held = find_ranges(mf, scratch);
  forget_repeated(e, mf, homes);
  for (uint32_t i = 0; i < mf->ir->n_locals; i++)
    if (!mf->ir->locals[i].is_asserted)
      out->n_locals +=
          emit_local(e, mf, &mf->ir->locals[i], &held, homes[i], &locals[out->n_locals]);
  out->locals = locals;
  free_ranges(&held, arrlenu(mf->homes));
  arena_destroy(scratch);
}

static void emit_held(const VariableEmitter *e, const MFunc *mf, DebugFunction *out)
{
  uint32_t *held = arena_many(e->cg->kept, uint32_t, mf->ir->n_held);
  for (uint32_t i = 0; i < mf->ir->n_held; i++)
    if (e->cg->globals[mf->ir->held[i]].needed)
      held[out->n_held++] = cg_symbol_of(e->cg, mf->ir->held[i]);
  out->held = held;
}

/* Functions are the last symbols, in their order. */
void variables_emit(const Cg *cg, InlinedBy *inlined, void *context, ImageClass *image)
{
  VariableEmitter e = {cg, inlined, context};
  uint32_t n = (uint32_t)arrlenu(cg->funcs);
  DebugFunction *functions = arena_many(cg->kept, DebugFunction, n);
  for (uint32_t i = 0; i < n; i++) {
    const MFunc *mf = cg->funcs[i];
    functions[i] = (DebugFunction){.symbol = image->n_symbols - n + i,
                                   .frame_bytes = (uint16_t)mf->frame_bytes,
                                   .is_task = mf->ir->is_task, .saved = mf->saved,
                                   .line = file_place(cg, cg_func_span(cg, mf->ir)).line};
    emit_locals(&e, mf, &functions[i]);
    emit_held(&e, mf, &functions[i]);
  }
  image->n_functions = n;
  image->functions = functions;
}
