/* Registers that a loop needs: for passes that keep more values in it.
 *
 * An estimate in words, by block: values that live at one place, as if each stood in registers from
 * its definition to its last use.  Constants and addresses of objects are made again where they are
 * needed and do not count. Descriptors stand in memory and do not count either. */
#include "ir/opt/opt.h"

#include <string.h>

/* Words of registers but the stack pointer; of those that a call does not preserve; and what an
 * instruction with a constant wants beside its operands. */
enum { REGISTER_WORDS = 15, CALL_WORDS = 10, SPARE_WORDS = 3 };

typedef struct {
  const IrFunc *f;
  const Cfg *cfg;
  uint32_t n_words;          /* of a set of values */
  uint64_t **live_in;        /* by block */
  uint64_t *now;             /* during a walk */
} Liveness;

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

static void end_life(Liveness *l, IrValue v)
{
  l->now[v.raw / 64] &= ~(UINT64_C(1) << (v.raw % 64));
}

static void begin_life(IrValue *v, void *context)
{
  Liveness *l = context;
  if (v->raw)
    l->now[v->raw / 64] |= UINT64_C(1) << (v->raw % 64);
}

static unsigned count_words(const Liveness *l)
{
  unsigned sum = 0;
  for (uint32_t w = 0; w < l->n_words; w++)
    for (uint64_t bits = l->now[w]; bits; bits &= bits - 1)
      sum += words_of(l->f, (IrValue){w * 64 + (uint32_t)__builtin_ctzll(bits)});
  return sum;
}

/* Walks a block from its end; `now` is then what lives at its beginning.  The most words at one
 * place if `measure`, else 0. */
static unsigned walk_block(Liveness *l, uint32_t block, bool measure)
{
  const IrBlock *b = &l->f->blocks[block];
  unsigned most = 0;
  uint32_t n;
  const IrTarget *targets = cfg_targets(l->f, block, &n);
  memset(l->now, 0, sizeof *l->now * l->n_words);
  for (uint32_t t = 0; t < n; t++)
    for (uint32_t w = 0; w < l->n_words; w++)
      l->now[w] |= l->live_in[targets[t].block.raw][w];
  for (uint32_t i = b->n_insns; i-- > 0;) {
    IrInsn *insn = opt_insn(l->f, b->insns[i]);
    end_life(l, b->insns[i]);
    unsigned across = measure && opt_is_call(l->f, insn) ? count_words(l) + CALL_WORDS : 0;
    opt_each_operand(insn, begin_life, l);
    unsigned words = measure ? count_words(l) : 0;
    most = words > most ? words : most;
    most = across > most ? across : most;
  }
  for (uint32_t i = 0; i < b->n_params; i++)
    end_life(l, b->params[i]);
  return most;
}

static void find_lives(Liveness *l)
{
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = l->cfg->n_rpo; i-- > 0;) {
      uint64_t *in = l->live_in[l->cfg->rpo[i]];
      walk_block(l, l->cfg->rpo[i], false);
      changed |= memcmp(in, l->now, sizeof *in * l->n_words) != 0;
      memcpy(in, l->now, sizeof *in * l->n_words);
    }
  }
}

static void measure_pressure(Pressure *p, const IrFunc *f, const Cfg *cfg, Arena *arena)
{
  Liveness l = {.f = f, .cfg = cfg, .n_words = (f->n_insns + 63) / 64};
  l.now = arena_many(arena, uint64_t, l.n_words);
  l.live_in = arena_many(arena, uint64_t *, f->n_blocks);
  for (uint32_t b = 0; b < f->n_blocks; b++)
    l.live_in[b] = arena_many(arena, uint64_t, l.n_words);
  find_lives(&l);
  *p = (Pressure){.n_blocks = f->n_blocks, .words = arena_many(arena, uint32_t, f->n_blocks)};
  for (uint32_t i = 0; i < cfg->n_rpo; i++)
    p->words[cfg->rpo[i]] = walk_block(&l, cfg->rpo[i], true);
}

bool opt_has_room(Opt *opt, Pressure *p, const IrFunc *f, const Cfg *cfg, uint32_t head,
                  unsigned words)
{
  if (!p->words)
    measure_pressure(p, f, cfg, opt->arena);
  for (uint32_t b = 0; b < p->n_blocks; b++)
    if (cfg_loop_contains(cfg, head, b) && p->words[b] + words > REGISTER_WORDS - SPARE_WORDS)
      return false;
  return true;
}

void opt_take_room(Pressure *p, const Cfg *cfg, uint32_t head, unsigned words)
{
  for (uint32_t b = 0; b < p->n_blocks; b++)   /* none: a later measurement sees the values */
    if (cfg_loop_contains(cfg, head, b))
      p->words[b] += words;
}
