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

/* ---- around allocation ----------------------------------------------------------------------- */

static bool is_marked(const VariableHome *home)
{
  return home->kind == HOME_REGISTER && reg_is_virtual(home->reg);
}

/* Which homes hold their variables at the instruction at hand, as the walk goes up. */
typedef struct {
  MFunc *mf;
  Arena *arena;
  uint32_t *first_home, *next_home;   /* those of a virtual register, by index + 1 */
  size_t n_words;
  uint64_t *marks;
  bool changed;              /* since the last instruction was marked */
} HomeMarks;

static void mark_register(HomeMarks *m, Reg r, bool is_live)
{
  if (!reg_is_virtual(r))
    return;
  for (uint32_t h = m->first_home[reg_id(r) - FIRST_VREG]; h; h = m->next_home[h - 1]) {
    if (bit_get(m->marks, h - 1) == is_live)
      continue;
    m->changed = true;
    if (is_live)
      bit_set(m->marks, h - 1);
    else
      bit_clear(m->marks, h - 1);
  }
}

static void mark_block(HomeMarks *m, const FlowBlock *block)
{
  MFunc *mf = m->mf;
  uint64_t *kept = NULL;
  memset(m->marks, 0, m->n_words * sizeof *m->marks);
  for (uint32_t i = 0; i < block->n_live_out; i++)
    mark_register(m, (Reg)(FIRST_VREG + block->live_out[i]), true);
  m->changed = true;
  for (uint32_t i = block->end; i-- > block->first;) {
    MOperand ops[MOST_OPERANDS];
    unsigned n = mi_operands(&mf->code[i], ops);
    for (unsigned k = 0; k < n; k++)
      if (ops[k].def)
        mark_register(m, mf->code[i].r[ops[k].slot], false);
    for (unsigned k = 0; k < n; k++)
      if (ops[k].use)
        mark_register(m, mf->code[i].r[ops[k].slot], true);
    if (m->changed) {
      kept = arena_many(m->arena, uint64_t, m->n_words);
      memcpy(kept, m->marks, m->n_words * sizeof *kept);
    }
    mf->code[i].live = kept;
    m->changed = false;
  }
}

void variables_mark(MFunc *mf, Arena *arena)
{
  Arena *scratch = arena_create("variables");
  size_t n_homes = arrlenu(mf->homes);
  HomeMarks m = {.mf = mf, .arena = arena, .n_words = (n_homes + 63) / 64};
  bool any = false;
  m.first_home = arena_many(scratch, uint32_t, arrlenu(mf->vregs));
  m.next_home = arena_many(scratch, uint32_t, n_homes);
  m.marks = arena_many(scratch, uint64_t, m.n_words);
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

/* Before the instruction, the homes in `kept` hold their variables, too. */
static void add_marks(MInsn *mi, const uint64_t *kept, size_t n_words, Arena *arena)
{
  bool is_more = false;
  for (size_t w = 0; w < n_words; w++)
    is_more = is_more || (kept[w] & ~(mi->live ? mi->live[w] : 0)) != 0;
  if (!is_more)
    return;
  uint64_t *marks = arena_many(arena, uint64_t, n_words);
  for (size_t w = 0; w < n_words; w++)
    marks[w] = kept[w] | (mi->live ? mi->live[w] : 0);
  mi->live = marks;
}

void variables_keep_parameters(MFunc *mf, Arena *arena)
{
  Arena *scratch = arena_create("parameters");
  size_t n_words = (arrlenu(mf->homes) + 63) / 64;
  uint64_t *kept = arena_many(scratch, uint64_t, n_words);
  uint64_t *params = arena_many(scratch, uint64_t, n_words);
  uint64_t *of_register = arena_many(scratch, uint64_t, n_words * GPR_COUNT);
  for (uint32_t h = 0; h < arrlenu(mf->homes); h++) {
    const VariableHome *home = &mf->homes[h];
    if (home->kind != HOME_REGISTER || home->reg == REG_NONE || reg_is_virtual(home->reg) ||
        !mf->ir->locals[home->local].is_param)
      continue;
    bit_set(params, h);
    for (unsigned r = 0; r < GPR_COUNT; r++)
      if (reg_mask(home->reg) >> r & 1)
        bit_set(&of_register[r * n_words], h);
  }
  for (size_t i = 0; i < arrlenu(mf->code); i++) {
    MInsn *mi = &mf->code[i];
    if (mi->op == MI_LABEL)
      memset(kept, 0, n_words * sizeof *kept);
    for (size_t w = 0; w < n_words && mi->live; w++)
      kept[w] |= mi->live[w] & params[w];
    if (mi->op == MI_LABEL || mi->dead)
      continue;
    add_marks(mi, kept, n_words, arena);
    uint16_t written = mi_ends_flow(mi) ? UINT16_MAX : mi_writes(mi);
    for (unsigned r = 0; r < GPR_COUNT; r++)
      for (size_t w = 0; w < n_words && written >> r & 1; w++)
        kept[w] &= ~of_register[r * n_words + w];
  }
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
  HomeRanges *ranges;
  size_t n_words;
  uint64_t *held;
  uint64_t *need_frame;      /* spilled: they hold nothing without the frame, whatever the marks */
  uint32_t *since;           /* by home */
} RangeWalk;

/* From `pc` on, what `marks` says; NULL: nothing is marked. */
static void take_marks(RangeWalk *w, const uint64_t *marks, bool has_frame, uint32_t pc)
{
  for (size_t word = 0; word < w->n_words; word++) {
    uint64_t now = marks ? marks[word] : 0;
    if (!has_frame)
      now &= ~w->need_frame[word];
    for (uint64_t bits = now ^ w->held[word]; bits; bits &= bits - 1) {
      uint32_t h = (uint32_t)word * 64 + (uint32_t)__builtin_ctzll(bits);
      if (bit_get(w->held, h))
        add_range(&w->ranges->marked[h], w->since[h], pc);
      w->since[h] = pc;
    }
    w->held[word] = now;
  }
}

static RangeWalk begin_walk(const MFunc *mf, HomeRanges *ranges, Arena *arena)
{
  size_t n_homes = arrlenu(mf->homes), n_words = (n_homes + 63) / 64;
  RangeWalk w = {ranges, n_words, arena_many(arena, uint64_t, n_words),
                 arena_many(arena, uint64_t, n_words), arena_many(arena, uint32_t, n_homes)};
  ranges->marked = arena_many(arena, CodeRange *, n_homes);
  for (size_t h = 0; h < n_homes; h++)
    if (mf->homes[h].kind == HOME_SLOT && mf->homes[h].spilled)
      bit_set(w.need_frame, (uint32_t)h);
  return w;
}

/* In the first instruction and in a return the frame is not there yet, or no longer. */
static HomeRanges find_ranges(const MFunc *mf, Arena *arena)
{
  HomeRanges ranges = {0};
  RangeWalk w = begin_walk(mf, &ranges, arena);
  const uint64_t *marks = NULL;
  bool had_frame = true;
  uint32_t pc = mf->address;
  for (size_t i = 0; i < arrlenu(mf->code); i++) {
    const MInsn *mi = &mf->code[i];
    if (mi->op == MI_LABEL)
      continue;
    uint32_t end = pc + 2 * insn_words((Opcode)mi->op);
    bool has_frame = !mf->frame_bytes || (mi->op != OP_ret && i != 1);
    if (mi->live != marks || has_frame != had_frame)
      take_marks(&w, mi->live, has_frame, pc);
    marks = mi->live;
    had_frame = has_frame;
    add_range(&ranges.everywhere, pc, end);
    if (has_frame)
      add_range(&ranges.in_frame, pc, end);
    pc = end;
  }
  take_marks(&w, NULL, true, pc);
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
    if (!e->inlined(e->context, loc, &inlined))
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
