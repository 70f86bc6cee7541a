/* DSR numbers.
 *
 * Explicit DSRs (a number in the module) keep their number in the whole class. Virtual ones get a
 * number that is free in the functions that name them and in their callees, or if there are not as
 * many, one that is free as long as they are in use. The temporaries of
 * operations share a few numbers; within a basic block, code reuses a temporary that still holds
 * the wanted descriptor. The rest hold constant descriptors: start-up code loads them once, before
 * any task, and operations that use one load nothing (docs/codegen.md). */
#include "ir/codegen/codegen.h"

#include <string.h>

#include <stb_ds.h>

typedef struct VirtualDsr {
  DsrFile file;
  uint32_t number;
  uint8_t given;
  bool has_number;
  uint32_t *homes;         /* stb_ds: functions that name it */
} VirtualDsr;

/* ---- the numbers that functions use --------------------------------------------------------- */

static void use_explicit(Cg *cg, DsrFile file, uint32_t number, uint32_t func)
{
  if (number < MAX_DSRS) {
    cg->dsr_reserved[file] |= (uint16_t)(1u << number);
    return;
  }
  VirtualDsr *v = NULL;
  for (size_t i = 0; i < arrlenu(cg->virtual_dsrs); i++)
    if (cg->virtual_dsrs[i].file == file && cg->virtual_dsrs[i].number == number)
      v = &cg->virtual_dsrs[i];
  if (!v) {
    arrput(cg->virtual_dsrs, ((VirtualDsr){.file = file, .number = number}));
    v = &arrlast(cg->virtual_dsrs);
  }
  if (arrlenu(v->homes) == 0 || arrlast(v->homes) != func)
    arrput(v->homes, func);
}

static bool value_is_async(const IrFunc *f, IrValue v)
{
  const IrInsn *d = &f->insns[v.raw];
  if (d->op == IR_dsd_const)
    return d->u.desc->desc.flags & DESC_F_ASYNC;
  if (d->op != IR_dsd_set)
    return false;
  const IrInsn *value = &f->insns[d->args[1].raw];
  if (d->field == DSRF_FLAGS && (value->op != IR_const || (value->imm & DESC_F_ASYNC)))
    return true;
  return value_is_async(f, d->args[0]);
}

static void scan_insn(Cg *cg, const IrFunc *f, uint32_t func, const IrInsn *insn)
{
  if (insn->op == IR_dsr_load || insn->op == IR_dsr_set || insn->op == IR_dsr_get) {
    DsrFile file = (DsrFile)(insn->aux >> 16);
    uint32_t number = insn->aux & 0xffff;
    use_explicit(cg, file, number, func);
    if (insn->op == IR_dsr_load && number < MAX_DSRS && value_is_async(f, insn->args[0]))
      cg->dsr_async[file] |= (uint16_t)(1u << number);
  }
  if (insn->op != IR_vec)
    return;
  const IrVecOperand *operands[] = {&insn->u.vec->dest, &insn->u.vec->src0, &insn->u.vec->src1};
  for (unsigned i = 0; i < ARRAY_COUNT(operands); i++)
    if (operands[i]->kind == IRV_DSR)
      use_explicit(cg, operands[i]->file, operands[i]->number, func);
}

void dsr_plan(Cg *cg)
{
  const IrModule *m = cg->given;
  for (uint32_t i = 0; i < m->n_dsrs; i++) {
    use_explicit(cg, m->dsrs[i].file, m->dsrs[i].number, 0);
    if (m->dsrs[i].desc.desc.flags & DESC_F_ASYNC)
      cg->dsr_async[m->dsrs[i].file] |= (uint16_t)(1u << m->dsrs[i].number);
  }
  for (uint32_t fi = 0; fi < m->n_funcs; fi++) {
    const IrFunc *f = &m->funcs[fi];
    for (uint32_t b = 0; b < f->n_blocks; b++)
      for (uint32_t i = 0; i < f->blocks[b].n_insns; i++) {
        const IrInsn *insn = &f->insns[f->blocks[b].insns[i].raw];
        if (!insn->dead)
          scan_insn(cg, f, fi, insn);
      }
  }
}

void dsr_free(Cg *cg)
{
  for (size_t i = 0; i < arrlenu(cg->virtual_dsrs); i++)
    arrfree(cg->virtual_dsrs[i].homes);
  arrfree(cg->virtual_dsrs);
  arrfree(cg->presets);
}

/* ---- virtual DSRs --------------------------------------------------------------------------- */

/* Functions that may run while `func` does, marked in `reached`. */
static void mark_called(const Cg *cg, uint32_t func, bool *reached)
{
  const IrModule *m = cg->given;
  if (func >= m->n_funcs || reached[func])
    return;
  reached[func] = true;
  const IrFunc *f = &m->funcs[func];
  for (uint32_t i = 1; i < f->n_insns; i++) {
    const IrInsn *insn = &f->insns[i];
    if (insn->dead)
      continue;
    if (insn->op == IR_call)
      mark_called(cg, insn->u.func.raw, reached);
    for (uint32_t k = 0; insn->op == IR_call_ptr && k < m->n_funcs; k++)
      if (m->funcs[k].address_taken)
        mark_called(cg, k, reached);
  }
}

static bool *reached_from(const Cg *cg, const VirtualDsr *v, Arena *arena)
{
  bool *reached = arena_many(arena, bool, cg->given->n_funcs + 1);
  for (size_t i = 0; i < arrlenu(v->homes); i++)
    mark_called(cg, v->homes[i], reached);
  return reached;
}

/* Which virtual DSRs hold a descriptor at the same time, in the functions that name both. */
typedef struct {
  const Cg *cg;
  const IrFunc *f;
  Arena *arena;
  size_t n, n_words;
  uint64_t *live;            /* by block, a bit per DSR: where the block starts */
  uint64_t *overlap;         /* by DSR, a bit per DSR */
} DsrLiveness;

/* Place of a DSR among the virtual ones; their number: it is none of them. */
static uint32_t virtual_place(const Cg *cg, DsrFile file, uint32_t number)
{
  uint32_t n = (uint32_t)arrlenu(cg->virtual_dsrs);
  for (uint32_t i = 0; number >= MAX_DSRS && i < n; i++)
    if (cg->virtual_dsrs[i].file == file && cg->virtual_dsrs[i].number == number)
      return i;
  return n;
}

static void note_use(const DsrLiveness *l, DsrFile file, uint32_t number, uint64_t *live)
{
  uint32_t place = virtual_place(l->cg, file, number);
  if (place < l->n)
    bit_set(live, place);
}

static void note_overlap(DsrLiveness *l, uint32_t place, const uint64_t *live)
{
  for (uint32_t other = 0; other < l->n; other++)
    if (bit_get(live, other)) {
      bit_set(&l->overlap[place * l->n_words], other);
      bit_set(&l->overlap[other * l->n_words], place);
    }
}

/* From behind an instruction to before it. */
static void step_up(DsrLiveness *l, const IrInsn *insn, uint64_t *live, bool notes)
{
  DsrFile file = (DsrFile)(insn->aux >> 16);
  if (insn->op == IR_dsr_set || insn->op == IR_dsr_get)
    note_use(l, file, insn->aux & 0xffff, live);
  if (insn->op == IR_vec) {
    const IrVecOperand *operands[] = {&insn->u.vec->dest, &insn->u.vec->src0, &insn->u.vec->src1};
    for (unsigned i = 0; i < ARRAY_COUNT(operands); i++)
      if (operands[i]->kind == IRV_DSR)
        note_use(l, operands[i]->file, operands[i]->number, live);
  }
  if (insn->op != IR_dsr_load)
    return;
  uint32_t place = virtual_place(l->cg, file, insn->aux & 0xffff);
  if (place == l->n)
    return;
  if (notes)
    note_overlap(l, place, live);
  bit_clear(live, place);
}

/* What is live where the block starts, from what the blocks behind it say. */
static void walk_block(DsrLiveness *l, uint32_t block, uint64_t *live, bool notes)
{
  const IrBlock *b = &l->f->blocks[block];
  const IrInsn *last = ir_last_insn(l->f, block);
  memset(live, 0, l->n_words * sizeof *live);
  for (uint32_t t = 0; last && t < ir_target_count(last); t++)
    for (size_t w = 0; w < l->n_words; w++)
      live[w] |= l->live[last->u.targets[t].block.raw * l->n_words + w];
  for (uint32_t i = b->n_insns; i-- > 0;)
    if (!l->f->insns[b->insns[i].raw].dead)
      step_up(l, &l->f->insns[b->insns[i].raw], live, notes);
}

static void find_overlaps(DsrLiveness *l, const IrFunc *f)
{
  size_t bytes = l->n_words * sizeof *l->live;
  uint64_t *live = arena_many(l->arena, uint64_t, l->n_words);
  l->f = f;
  l->live = arena_many(l->arena, uint64_t, f->n_blocks * l->n_words);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t b = f->n_blocks; b-- > 0;) {
      walk_block(l, b, live, false);
      changed |= memcmp(live, &l->live[b * l->n_words], bytes) != 0;
      memcpy(&l->live[b * l->n_words], live, bytes);
    }
  }
  for (uint32_t b = 0; b < f->n_blocks; b++)
    walk_block(l, b, live, true);
  for (uint32_t place = 0; f->n_blocks && place < l->n; place++)
    if (bit_get(l->live, place))            /* used without a load before it */
      note_overlap(l, place, l->live);
}

/* Can a call in the function come back to it, while its DSRs are in use? */
static bool is_recursive(const Cg *cg, uint32_t func, Arena *arena)
{
  const IrFunc *f = &cg->given->funcs[func];
  bool *reached = arena_many(arena, bool, cg->given->n_funcs + 1);
  for (uint32_t i = 1; i < f->n_insns; i++) {
    if (f->insns[i].dead)
      continue;
    if (f->insns[i].op == IR_call_ptr)
      return true;
    if (f->insns[i].op == IR_call)
      mark_called(cg, f->insns[i].u.func.raw, reached);
  }
  return reached[func];
}

/* May both hold a descriptor at the same time?  Where one of them is used in a function and the
 * other one in what that calls, they may; in one function `overlap` decides, or NULL: they may. */
static bool is_meeting(const Cg *cg, size_t a, const bool *a_reaches, size_t b,
                       const bool *b_reaches, const DsrLiveness *overlap, const bool *recursive)
{
  const VirtualDsr *x = &cg->virtual_dsrs[a], *y = &cg->virtual_dsrs[b];
  for (size_t i = 0; i < arrlenu(y->homes); i++)
    for (size_t k = 0; a_reaches[y->homes[i]] && k < arrlenu(x->homes); k++)
      if (!overlap || x->homes[k] != y->homes[i] || recursive[y->homes[i]])
        return true;
  for (size_t i = 0; i < arrlenu(x->homes); i++)
    for (size_t k = 0; b_reaches[x->homes[i]] && k < arrlenu(y->homes); k++)
      if (!overlap || y->homes[k] != x->homes[i])
        return true;
  return overlap && bit_get(&overlap->overlap[a * overlap->n_words], (uint32_t)b);
}

/* False: the DSRs of a file do not suffice for `*failed`. */
static bool try_numbers(Cg *cg, bool **reaches, const DsrLiveness *overlap, const bool *recursive,
                        const VirtualDsr **failed)
{
  size_t n = arrlenu(cg->virtual_dsrs);
  for (size_t i = 0; i < n; i++)
    cg->virtual_dsrs[i].has_number = false;
  for (size_t i = 0; i < n; i++) {
    VirtualDsr *v = &cg->virtual_dsrs[i];
    uint16_t taken = cg->dsr_reserved[v->file];
    for (size_t k = 0; k < i; k++) {
      const VirtualDsr *w = &cg->virtual_dsrs[k];
      if (w->file == v->file && is_meeting(cg, i, reaches[i], k, reaches[k], overlap, recursive))
        taken |= (uint16_t)(1u << w->given);
    }
    for (unsigned number = cg->machine->dsrs_per_file; number-- > 0 && !v->has_number;)
      if (!(taken >> number & 1)) {
        v->given = (uint8_t)number;
        v->has_number = true;
      }
    *failed = v;
    if (!v->has_number)
      return false;
  }
  return true;
}

/* The DSRs of a function have numbers of their own, if there are as many; otherwise those that are
 * never in use at the same time share one. */
static void number_virtual(Cg *cg)
{
  Arena *arena = arena_create("virtual DSRs");
  size_t n = arrlenu(cg->virtual_dsrs);
  bool **reaches = arena_many(arena, bool *, n);
  const VirtualDsr *failed = NULL;
  for (size_t i = 0; i < n; i++)
    reaches[i] = reached_from(cg, &cg->virtual_dsrs[i], arena);
  if (!try_numbers(cg, reaches, NULL, NULL, &failed)) {
    DsrLiveness l = {.cg = cg, .arena = arena, .n = n, .n_words = (n + 63) / 64};
    bool *recursive = arena_many(arena, bool, cg->given->n_funcs);
    l.overlap = arena_many(arena, uint64_t, n * l.n_words);
    for (uint32_t f = 0; f < cg->given->n_funcs; f++) {
      find_overlaps(&l, &cg->given->funcs[f]);
      recursive[f] = is_recursive(cg, f, arena);
    }
    if (!try_numbers(cg, reaches, &l, recursive, &failed) && !cg->failed) {
      const IrFunc *f = &cg->given->funcs[failed->homes[0]];
      diag_ir_too_many_dsrs(cg->diags, cg_func_span(cg, f), dsr_file_name(failed->file), f->name);
      cg->failed = true;
    }
  }
  arena_destroy(arena);
}

static uint32_t real_number(const Cg *cg, DsrFile file, uint32_t number)
{
  for (size_t i = 0; number >= MAX_DSRS && i < arrlenu(cg->virtual_dsrs); i++)
    if (cg->virtual_dsrs[i].file == file && cg->virtual_dsrs[i].number == number)
      return cg->virtual_dsrs[i].given;
  return number;
}

/* Numbers of a file that the temporaries of a function may not take. */
static uint16_t forbidden_numbers(const Cg *cg, DsrFile file, uint32_t func)
{
  uint16_t mask = cg->dsr_reserved[file];
  Arena *arena = arena_create("virtual DSRs");
  for (size_t i = 0; i < arrlenu(cg->virtual_dsrs); i++) {
    const VirtualDsr *v = &cg->virtual_dsrs[i];
    if (v->file != file || !v->has_number)
      continue;
    bool *reached = reached_from(cg, v, arena);
    if (func >= cg->given->n_funcs || reached[func])
      mask |= (uint16_t)(1u << v->given);
  }
  arena_destroy(arena);
  return mask;
}

/* ---- extended DSRs -------------------------------------------------------------------------- */

enum { TEMP_XDSRS = 3 };   /* one operation uses at most as many */

/* The XDSR that belongs to an explicit DSR or to one of `@map` until the program ends.  `at` is the
 * place that asks for it, unknown for a DSR that is loaded before the program starts. */
unsigned dsr_xdsr(Cg *cg, DsrFile file, unsigned number, bool is_map, Span at)
{
  uint8_t *given = &cg->xdsr_of[file][number];
  unsigned most = cg->machine->xdsrs - TEMP_XDSRS;
  if (*given == 0 && cg->n_xdsrs < most) {
    *given = (uint8_t)(TEMP_XDSRS + ++cg->n_xdsrs);
    cg->n_map_xdsrs += is_map;
  }
  if (*given == 0 && !cg->failed) {
    const char *who = is_map ? "'@map' reads or writes" : "an explicit DSR holds";
    diag_ir_too_many_xdsrs(cg->diags, at, who, most);
    diag_ir_xdsrs_held(cg->diags, at, cg->n_xdsrs - cg->n_map_xdsrs, cg->n_map_xdsrs);
    cg->failed = true;
  }
  return *given ? *given - 1u : 0;
}

/* ---- temporaries ---------------------------------------------------------------------------- */

static bool set_equal(const DsrSet *a, const DsrSet *b)
{
  return a->field == b->field && a->reg == b->reg && a->imm == b->imm && a->sym == b->sym &&
         a->sym_index == b->sym_index;
}

bool dsr_temp_equal(const DsrTemp *a, const DsrTemp *b)
{
  if (a->base != b->base || a->imm != b->imm || a->sym != b->sym || a->sym_index != b->sym_index ||
      a->n_sets != b->n_sets)
    return false;
  for (uint32_t i = 0; i < a->n_sets; i++)
    if (!set_equal(&a->sets[i], &b->sets[i]))
      return false;
  return true;
}

typedef struct {
  uint32_t held[DSR_FILE_COUNT][MAX_DSRS];   /* temporary whose descriptor it holds; 0 none */
  uint32_t used[DSR_FILE_COUNT][MAX_DSRS];   /* when */
} Held;

typedef struct {
  Cg *cg;
  MFunc *mf;
  uint16_t forbidden[DSR_FILE_COUNT];
  Held held;
  uint32_t clock, op_start;   /* DSRs used since op_start belong to the operation at hand */
  DsrFile *file;           /* by temporary */
  uint8_t *number;
  bool *present;           /* by temporary: no load needed */
  unsigned n_xdsrs;
} Temps;

static unsigned allowed_files(const DsrTemp *t, DsrFile files[DSR_FILE_COUNT])
{
  unsigned n = 0;
  if (t->is_dest && t->is_source) {
    files[n++] = DSR_SRC0;
  } else if (t->is_dest) {
    /* memory may be written through src0 too, where a later source finds it */
    if (t->is_memory)
      files[n++] = DSR_SRC0;
    files[n++] = DSR_DEST;
  } else {
    files[n++] = DSR_SRC1;
    files[n++] = DSR_SRC0;
  }
  return n;
}

static bool find_held(Temps *x, uint32_t temp, const DsrFile *files, unsigned n_files)
{
  const DsrTemp *t = &x->mf->temps[temp];
  for (unsigned i = 0; i < n_files && t->keeps; i++)
    for (unsigned r = 0; r < MAX_DSRS; r++) {
      uint32_t other = x->held.held[files[i]][r];
      if (other == 0 || !dsr_temp_equal(&x->mf->temps[other], t))
        continue;
      x->file[temp] = files[i];
      x->number[temp] = (uint8_t)r;
      return true;
    }
  return false;
}

/* The DSR of a file that was used longest ago. */
static bool take_dsr(Temps *x, uint32_t temp, DsrFile file)
{
  int best = -1;
  for (int r = 0; r < (int)x->cg->machine->dsrs_per_file; r++)
    if (!(x->forbidden[file] >> r & 1) && x->held.used[file][r] <= x->op_start &&
        (best < 0 || x->held.used[file][r] < x->held.used[file][best]))
      best = r;
  if (best < 0)
    return false;
  x->file[temp] = file;
  x->number[temp] = (uint8_t)best;
  return true;
}

/* May a DSR hold the descriptor for the whole run?  It must be constant, and no operation may
 * change it there; on wse2 an operation in the background owns its DSRs. */
static bool is_constant(const Temps *x, const DsrTemp *t)
{
  if (x->cg->options->level == 0 || t->sym != SYM_DESC || t->base != REG_NONE || t->imm ||
      t->n_sets || !t->keeps || (t->in_background && !x->cg->machine->background_presets))
    return false;
  const uint16_t *words = x->cg->pool[t->sym_index].words;
  unsigned kind = words[0] & DESC_KIND_BITS;
  return !(words[0] & DESC_F_STEP) &&
         (kind == DESC_MEM1D || kind == DESC_FABIN || kind == DESC_FABOUT);
}

static bool find_preset(Temps *x, uint32_t temp, const DsrFile *files, unsigned n_files)
{
  for (unsigned i = 0; i < n_files; i++)
    for (size_t k = 0; k < arrlenu(x->cg->presets); k++) {
      const PresetDsr *p = &x->cg->presets[k];
      if (p->file != files[i] || p->desc != x->mf->temps[temp].sym_index)
        continue;
      x->file[temp] = p->file;
      x->number[temp] = p->number;
      return true;
    }
  return false;
}

/* Gives a constant descriptor a DSR of its own. */
static bool add_preset(Temps *x, uint32_t temp, const DsrFile *files, unsigned n_files)
{
  Cg *cg = x->cg;
  for (unsigned i = 0; i < n_files; i++)
    for (unsigned number = 0; number < cg->machine->dsrs_per_file; number++) {
      if (!(cg->dsr_for_presets[files[i]] >> number & 1))
        continue;
      uint32_t desc = x->mf->temps[temp].sym_index;
      cg->dsr_for_presets[files[i]] &= (uint16_t)~(1u << number);
      arrput(cg->presets, ((PresetDsr){files[i], (uint8_t)number, desc}));
      return find_preset(x, temp, files, n_files);
    }
  return false;
}

/* Chooses the DSR of a temporary where its load stands. */
static void place_temp(Temps *x, uint32_t temp)
{
  const DsrTemp *t = &x->mf->temps[temp];
  DsrFile files[DSR_FILE_COUNT];
  unsigned n = allowed_files(t, files);
  if (is_constant(x, t) && (find_preset(x, temp, files, n) || add_preset(x, temp, files, n))) {
    x->present[temp] = true;
    return;
  }
  x->present[temp] = find_held(x, temp, files, n);
  bool placed = x->present[temp];
  for (unsigned i = 0; i < n && !placed; i++)
    placed = take_dsr(x, temp, files[i]);
  if (!placed) {
    if (!x->cg->failed)
      diag_ir_too_many_dsrs(x->cg->diags, cg_func_span(x->cg, x->mf->ir), dsr_file_name(files[0]),
                            x->mf->name);
    x->cg->failed = true;
    return;
  }
  x->held.held[x->file[temp]][x->number[temp]] = t->keeps ? temp : 0;
  x->held.used[x->file[temp]][x->number[temp]] = ++x->clock;
}

static void forget_held(Temps *x, bool only_mutable)
{
  for (unsigned f = 0; f < DSR_FILE_COUNT; f++)
    for (unsigned r = 0; r < MAX_DSRS; r++)
      if (!only_mutable || x->mf->temps[x->held.held[f][r]].is_mutable)
        x->held.held[f][r] = 0;
}

/* Does the descriptor that is held stand in the global that is stored to? */
static void forget_written(Temps *x, const MInsn *mi)
{
  bool known = mi->sym == SYM_GLOBAL || mi->sym == SYM_FRAME;
  for (unsigned f = 0; f < DSR_FILE_COUNT; f++)
    for (unsigned r = 0; r < MAX_DSRS; r++) {
      const DsrTemp *t = &x->mf->temps[x->held.held[f][r]];
      bool apart = known && (t->sym == SYM_GLOBAL || t->sym == SYM_FRAME) &&
                   ((SymKind)mi->sym != t->sym || mi->sym_index != t->sym_index);
      if (!apart && (t->is_mutable || t->sym == SYM_FRAME))
        x->held.held[f][r] = 0;
    }
}

/* A register that is written again ends what was described with it. */
static void forget_register(Temps *x, Reg r)
{
  for (unsigned f = 0; f < DSR_FILE_COUNT; f++)
    for (unsigned n = 0; n < MAX_DSRS; n++) {
      const DsrTemp *t = &x->mf->temps[x->held.held[f][n]];
      bool named = x->held.held[f][n] && reg_id(t->base) == reg_id(r);
      for (uint32_t i = 0; i < t->n_sets; i++)
        named |= reg_id(t->sets[i].reg) == reg_id(r);
      if (named)
        x->held.held[f][n] = 0;
    }
}

static void give_number(Temps *x, MInsn *mi)
{
  if (mi->temp) {
    if (mi->op == OP_ldsr)
      place_temp(x, mi->temp);
    mi->dead = x->present[mi->temp];
    mi->file = (uint8_t)x->file[mi->temp];
    mi->number = x->number[mi->temp];
    if (mi->wants_xdsr)
      mi->xdsr = (uint8_t)(x->n_xdsrs++ % TEMP_XDSRS);
    return;
  }
  bool is_map = mi->number >= MAX_DSRS;
  mi->number = real_number(x->cg, (DsrFile)mi->file, mi->number);
  if (mi->wants_xdsr) {
    Span at = mi->loc.raw ? x->cg->work->locs[mi->loc.raw].span : cg_func_span(x->cg, x->mf->ir);
    mi->xdsr = (uint8_t)dsr_xdsr(x->cg, (DsrFile)mi->file, mi->number, is_map, at);
  }
}

static void give_operand(Temps *x, MVecOperand *o)
{
  if (o->kind != VOPND_DSR)
    return;
  if (o->temp) {
    o->file = x->file[o->temp];
    o->number = x->number[o->temp];
  } else {
    o->number = real_number(x->cg, o->file, o->number);
  }
}

static void step_insn(Temps *x, MInsn *mi)
{
  if (mi->op == MI_LABEL) {
    if (mi->starts_block)
      forget_held(x, false);
    return;
  }
  if (mi->op == OP_ldsr || mi->op == OP_dsrset || mi->op == OP_dsrget)
    give_number(x, mi);
  if (mi->op == OP_vec) {
    give_operand(x, &mi->vec->dest);
    give_operand(x, &mi->vec->src0);
    give_operand(x, &mi->vec->src1);
    x->op_start = x->clock;
  }
  if (mi->op == OP_call || mi->op == OP_callr)
    forget_held(x, false);
  if (mi->writes_dsd)
    forget_written(x, mi);
  MOperand ops[MOST_OPERANDS];
  unsigned n = mi_operands(mi, ops);
  for (unsigned k = 0; k < n; k++)
    if (ops[k].def && reg_is_virtual(mi->r[ops[k].slot]))
      forget_register(x, mi->r[ops[k].slot]);
}

/* Splits what nothing has asked for by number between temporaries and constant descriptors.
 * Every function's temporaries keep off the latter. */
static void divide_free(Cg *cg)
{
  for (unsigned file = 0; file < DSR_FILE_COUNT && cg->options->level > 0; file++) {
    uint16_t taken = cg->dsr_reserved[file];
    unsigned n_free = 0;
    for (size_t i = 0; i < arrlenu(cg->virtual_dsrs); i++)
      if (cg->virtual_dsrs[i].file == (DsrFile)file && cg->virtual_dsrs[i].has_number)
        taken |= (uint16_t)(1u << cg->virtual_dsrs[i].given);
    for (unsigned number = 0; number < cg->machine->dsrs_per_file; number++)
      if (!(taken >> number & 1) && n_free++ >= DSRS_FOR_TEMPORARIES)
        cg->dsr_for_presets[file] |= (uint16_t)(1u << number);
    cg->dsr_kept_for_presets[file] = cg->dsr_for_presets[file];
  }
}

/* Once, before the first function: numbers for all that the module names. */
static void give_numbers(Cg *cg)
{
  if (cg->has_dsr_numbers || cg->failed)
    return;
  cg->has_dsr_numbers = true;
  number_virtual(cg);
  divide_free(cg);
}

void dsr_assign(Cg *cg, MFunc *mf)
{
  give_numbers(cg);
  Arena *arena = arena_create("DSRs");
  size_t n = arrlenu(mf->temps);
  Temps x = {.cg = cg, .mf = mf, .file = arena_many(arena, DsrFile, n),
             .number = arena_many(arena, uint8_t, n), .present = arena_many(arena, bool, n)};
  for (unsigned f = 0; f < DSR_FILE_COUNT; f++)
    x.forbidden[f] = forbidden_numbers(cg, (DsrFile)f, mf->id) | cg->dsr_kept_for_presets[f];
  for (size_t i = 0; i < arrlenu(mf->code); i++)
    step_insn(&x, &mf->code[i]);
  arena_destroy(arena);
}
