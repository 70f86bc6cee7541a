/* Where variables are, for debuggers: a table beside the code that follows registers and frame
 * slots through allocation.  The code is the same without it. */
#include "ir/codegen/codegen.h"

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

static void mark_block(MFunc *mf, const FlowBlock *block, Arena *arena)
{
  uint64_t *live = block->live_out;
  size_t n_words = (arrlenu(mf->homes) + 63) / 64;
  for (uint32_t i = block->end; i-- > block->first;) {
    MOperand ops[MOST_OPERANDS];
    unsigned n = mi_operands(&mf->code[i], ops);
    for (unsigned use = 0; use < 2; use++)
      for (unsigned k = 0; k < n; k++) {
        Reg r = mf->code[i].r[ops[k].slot];
        if (!reg_is_virtual(r))
          continue;
        if (use && ops[k].use)
          bit_set(live, reg_id(r) - FIRST_VREG);
        else if (!use && ops[k].def)
          bit_clear(live, reg_id(r) - FIRST_VREG);
      }
    uint64_t *marks = arena_many(arena, uint64_t, n_words);
    for (size_t h = 0; h < arrlenu(mf->homes); h++)
      if (is_marked(&mf->homes[h]) && bit_get(live, reg_id(mf->homes[h].reg) - FIRST_VREG))
        bit_set(marks, (uint32_t)h);
    mf->code[i].live = marks;
  }
}

void variables_mark(MFunc *mf, Arena *arena)
{
  bool any = false;
  for (size_t h = 0; h < arrlenu(mf->homes); h++)
    any |= is_marked(&mf->homes[h]);
  if (!any)
    return;
  Flow flow;
  Arena *scratch = arena_create("variables");
  flow_build(&flow, mf, scratch);
  for (uint32_t b = 0; b < flow.n_blocks; b++)
    mark_block(mf, &flow.blocks[b], arena);
  arena_destroy(scratch);
}

void variables_rename(MFunc *mf, Reg (*rename)(void *context, Reg reg), void *context)
{
  for (size_t h = 0; h < arrlenu(mf->homes); h++)
    if (is_marked(&mf->homes[h]))
      mf->homes[h].reg = rename(context, mf->homes[h].reg);
}

/* ---- in the image ---------------------------------------------------------------------------- */

typedef struct {
  const MFunc *mf;
  size_t number;               /* of the home */
  DebugRange *ranges;          /* stb_ds */
} RangeList;

static bool is_held(const RangeList *l, const MInsn *mi)
{
  const VariableHome *home = &l->mf->homes[l->number];
  bool in_frame = home->kind == HOME_SLOT;
  if (in_frame && l->mf->frame_bytes && (mi->op == OP_ret || mi == &l->mf->code[1]))
    return false;              /* the frame is not there yet, or no longer */
  if (home->kind == HOME_REGISTER || home->spilled)
    return mi->live && bit_get(mi->live, (uint32_t)l->number);
  return true;
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

/* Neighbouring instructions make one range. */
static DebugRange *find_ranges(const MFunc *mf, size_t number)
{
  RangeList l = {mf, number, NULL};
  DebugRange range = {0};
  uint32_t pc = mf->address;
  if (!home_place(mf, &mf->homes[number], &range))
    return NULL;
  for (size_t i = 0; i < arrlenu(mf->code); i++) {
    const MInsn *mi = &mf->code[i];
    if (mi->op == MI_LABEL)
      continue;
    uint32_t end = pc + 2 * insn_words((Opcode)mi->op);
    bool follows = arrlenu(l.ranges) && arrlast(l.ranges).end == pc;
    if (is_held(&l, mi) && follows) {
      arrlast(l.ranges).end = (uint16_t)end;
    } else if (is_held(&l, mi)) {
      range.first = (uint16_t)pc;
      range.end = (uint16_t)end;
      arrput(l.ranges, range);
    }
    pc = end;
  }
  return l.ranges;
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
                       uint32_t home, DebugLocal *out)
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
  if (home == NO_HOME)
    return true;
  DebugRange *found = find_ranges(mf, home);
  DebugRange *ranges = arena_many(e->cg->arena, DebugRange, arrlenu(found));
  for (size_t i = 0; i < arrlenu(found); i++)
    ranges[i] = found[i];
  out->n_ranges = (uint32_t)arrlenu(found);
  out->ranges = ranges;
  arrfree(found);
  return true;
}

static void emit_locals(const VariableEmitter *e, const MFunc *mf, DebugFunction *out)
{
  DebugLocal *locals = arena_many(e->cg->arena, DebugLocal, mf->ir->n_locals);
  uint32_t *homes = find_homes(e->cg, mf);
  forget_repeated(e, mf, homes);
  for (uint32_t i = 0; i < mf->ir->n_locals; i++)
    out->n_locals += emit_local(e, mf, &mf->ir->locals[i], homes[i], &locals[out->n_locals]);
  out->locals = locals;
}

static void emit_held(const VariableEmitter *e, const MFunc *mf, DebugFunction *out)
{
  uint32_t *held = arena_many(e->cg->arena, uint32_t, mf->ir->n_held);
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
  DebugFunction *functions = arena_many(cg->arena, DebugFunction, n);
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
