/* Registers that a loop needs: for passes that keep more values in it.
 *
 * An estimate in words, by block: values that live at one place, as if each stood in registers from
 * its definition to its last use.  Constants and addresses of objects are made again where they are
 * needed and do not count. Descriptors stand in memory and do not count either. */
#include "ir/opt/opt.h"

/* Words of registers that a call does not preserve, and what an instruction with a constant wants
 * beside its operands. */
enum { CALL_WORDS = REGISTER_WORDS - SAVED_REGISTERS, SPARE_WORDS = 3 };

typedef struct { uint32_t value, block, place; } ValueUse;

/* A place is in front of an instruction, and one more is behind each block. What a value adds to
 * the words of the places where it lives stands where it begins and where it ends: so the work
 * grows with the blocks in which values live, not with blocks times values. */
typedef struct {
  const IrFunc *f;
  const Cfg *cfg;
  uint32_t *first_place;     /* by block */
  uint32_t *block_of, *born;     /* by value: its block, the first place where it can live */
  ValueUse *uses;            /* value by value, each in the order of the places */
  uint32_t *uses_at;         /* by value: its uses begin here */
  int32_t *change;           /* by place: words more than at the place before */
  uint32_t *lives_in, *lives_out;     /* by block: the last value known to live at its begin, end */
  uint32_t *work;            /* blocks at whose begin the value lives */
  uint32_t n_work;
} Lives;

unsigned opt_register_words(IrType type)
{
  return ir_type_is_dsd(type) ? 0 : (ir_type_bits(type) + 15) / 16;
}

static unsigned words_of(const IrFunc *f, IrValue v)
{
  const IrInsn *insn = opt_insn(f, v);
  switch ((int)insn->op) {
  case IR_const:
  case IR_global_addr:
  case IR_func_addr:
  case IR_alloca: return 0;
  default: return opt_register_words(insn->type);
  }
}

bool opt_is_call(const IrFunc *f, const IrInsn *insn)
{
  switch ((int)insn->op) {
  case IR_call:
  case IR_call_ptr: return true;
  case IR_mul:
  case IR_sdiv:
  case IR_udiv:
  case IR_srem:
  case IR_urem:
  case IR_fptosi:
  case IR_fptoui: return insn->type == IRT_I64;
  case IR_sitofp:
  case IR_uitofp: return opt_insn(f, insn->args[0])->type == IRT_I64;
  default: return false;
  }
}

/* ---- uses -------------------------------------------------------------------------- */

static void count_use(IrValue *operand, void *context)
{
  ((Lives *)context)->uses_at[operand->raw + 1]++;
}

typedef struct { Lives *l; uint32_t block, place; } UsePlace;

static void note_use(IrValue *operand, void *context)
{
  const UsePlace *at = context;
  at->l->uses[at->l->uses_at[operand->raw]++] = (ValueUse){operand->raw, at->block, at->place};
}

static void visit_operands(Lives *l, OperandVisit *visit)
{
  for (uint32_t i = 0; i < l->cfg->n_rpo; i++) {
    UsePlace at = {l, l->cfg->rpo[i], l->first_place[l->cfg->rpo[i]]};
    const IrBlock *b = &l->f->blocks[at.block];
    for (uint32_t k = 0; k < b->n_insns; k++, at.place++)
      opt_each_operand(opt_insn(l->f, b->insns[k]), visit, visit == count_use ? (void *)l : &at);
  }
}

/* Sorts the uses by value: counts, where each value's begin, then the uses. */
static void list_uses(Lives *l, Arena *arena)
{
  uint32_t n = l->f->n_insns;
  l->uses_at = arena_many(arena, uint32_t, n + 1);
  visit_operands(l, count_use);
  for (uint32_t v = 0; v < n; v++)
    l->uses_at[v + 1] += l->uses_at[v];
  l->uses = arena_many(arena, ValueUse, l->uses_at[n]);
  visit_operands(l, note_use);
  for (uint32_t v = n; v-- > 0;)              /* each has moved to where the next one begins */
    l->uses_at[v + 1] = l->uses_at[v];
  l->uses_at[0] = 0;
}

static bool is_used(const Lives *l, uint32_t v) { return l->uses_at[v] < l->uses_at[v + 1]; }

/* ---- lives ------------------------------------------------------------------------- */

static uint32_t place_of_end(const Lives *l, uint32_t block)
{
  return l->first_place[block] + l->f->blocks[block].n_insns - 1;
}

static void live_between(Lives *l, uint32_t first, uint32_t last, unsigned words)
{
  l->change[first] += (int32_t)words;
  l->change[last + 1] -= (int32_t)words;
}

static void enter_block(Lives *l, uint32_t v, uint32_t block)
{
  if (block == l->block_of[v] || l->lives_in[block] == v)
    return;
  l->lives_in[block] = v;
  l->work[l->n_work++] = block;
}

static void spread_value(Lives *l, uint32_t v)
{
  unsigned words = words_of(l->f, (IrValue){v});
  l->n_work = 0;
  for (uint32_t i = l->uses_at[v]; i < l->uses_at[v + 1]; i++)
    enter_block(l, v, l->uses[i].block);
  for (uint32_t i = 0; i < l->n_work; i++) {
    uint32_t block = l->work[i];
    for (uint32_t k = l->cfg->pred_at[block]; k < l->cfg->pred_at[block + 1]; k++) {
      l->lives_out[l->cfg->preds[k]] = v;
      enter_block(l, v, l->cfg->preds[k]);
    }
  }
  if (l->lives_out[l->block_of[v]] == v)
    live_between(l, l->born[v], place_of_end(l, l->block_of[v]), words);
  for (uint32_t i = 0; i < l->n_work; i++)
    if (l->lives_out[l->work[i]] == v)
      live_between(l, l->first_place[l->work[i]], place_of_end(l, l->work[i]), words);
  for (uint32_t i = l->uses_at[v]; i < l->uses_at[v + 1]; i++) {
    uint32_t block = l->uses[i].block;
    bool is_last = i + 1 == l->uses_at[v + 1] || l->uses[i + 1].block != block;
    if (is_last && l->lives_out[block] != v)
      live_between(l, block == l->block_of[v] ? l->born[v] : l->first_place[block],
                   l->uses[i].place, words);
  }
}

static void number_places(Lives *l, Arena *arena)
{
  uint32_t place = 0;
  l->first_place = arena_many(arena, uint32_t, l->f->n_blocks);
  l->block_of = opt_blocks_of_values(l->f, arena);
  l->born = arena_many(arena, uint32_t, l->f->n_insns);
  for (uint32_t i = 0; i < l->cfg->n_rpo; i++) {
    const IrBlock *b = &l->f->blocks[l->cfg->rpo[i]];
    l->first_place[l->cfg->rpo[i]] = place;
    for (uint32_t k = 0; k < b->n_params; k++)
      l->born[b->params[k].raw] = place;
    for (uint32_t k = 0; k < b->n_insns; k++)
      l->born[b->insns[k].raw] = ++place;
    place++;
  }
  l->change = arena_many(arena, int32_t, place + 1);
}

/* ---- pressure ---------------------------------------------------------------------- */

/* The most words at one place of the block; *now are those at its first one. */
static uint32_t most_words(const Lives *l, uint32_t block, int32_t *now)
{
  const IrBlock *b = &l->f->blocks[block];
  uint32_t place = l->first_place[block];
  int32_t most = 0;
  for (uint32_t i = 0; i < b->n_insns; i++) {
    *now += l->change[place++];
    most = *now > most ? *now : most;
    const IrInsn *insn = opt_insn(l->f, b->insns[i]);
    if (!opt_is_call(l->f, insn))
      continue;
    unsigned result = is_used(l, b->insns[i].raw) ? words_of(l->f, b->insns[i]) : 0;
    int32_t across = *now + l->change[place] - (int32_t)result + CALL_WORDS;
    most = across > most ? across : most;
  }
  *now += l->change[place];
  return (uint32_t)most;
}

static void measure_pressure(Pressure *p, const IrFunc *f, const Cfg *cfg, Arena *arena)
{
  Lives l = {.f = f, .cfg = cfg};
  number_places(&l, arena);
  list_uses(&l, arena);
  l.lives_in = arena_many(arena, uint32_t, f->n_blocks);
  l.lives_out = arena_many(arena, uint32_t, f->n_blocks);
  l.work = arena_many(arena, uint32_t, f->n_blocks);
  for (uint32_t v = 1; v < f->n_insns; v++)
    if (is_used(&l, v) && words_of(f, (IrValue){v}))
      spread_value(&l, v);
  *p = (Pressure){.words = arena_many(arena, uint32_t, f->n_blocks)};
  int32_t now = 0;
  for (uint32_t i = 0; i < cfg->n_rpo; i++)
    p->words[cfg->rpo[i]] = most_words(&l, cfg->rpo[i], &now);
}

bool opt_has_room(Opt *opt, Pressure *p, const IrFunc *f, const Cfg *cfg, uint32_t head,
                  unsigned words)
{
  if (!p->words)
    measure_pressure(p, f, cfg, opt->arena);
  for (uint32_t i = cfg->together_index[head]; i < cfg->loop_end[head]; i++)
    if (p->words[cfg->together[i]] + words > REGISTER_WORDS - SPARE_WORDS)
      return false;
  return true;
}

void opt_take_room(Pressure *p, const Cfg *cfg, uint32_t head, unsigned words)
{
  if (!p->words)
    return;                  /* a later measurement sees the values */
  for (uint32_t i = cfg->together_index[head]; i < cfg->loop_end[head]; i++)
    p->words[cfg->together[i]] += words;
}
