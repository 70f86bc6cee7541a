/* promote: a number in a global that a loop reads and writes stays in a value while the loop runs.
 *
 * The pass takes globals that are not exposed, so that no vector operation or pointer touches them,
 * in loops without calls; and only places that the loop only loads and stores, always with one
 * type. The place gets an alloca: loaded in front of the loop, used within, stored back on every
 * way out. mem2reg makes a value of the alloca. Other tasks run after this one: no code sees the
 * global in between.
 *
 * A loop may run one turn: a place is worth it if each turn stores it, and loads it or never does.
 * There must be a register: a value that goes to the stack costs more than the global.  And the
 * ways out lead to blocks that nothing else reaches: else the store may cost a jump. */
#include "ir/opt/opt.h"

enum { MOST_PLACES = 8 };

typedef struct {
  uint32_t global;
  int64_t offset;
  IrType type;
  bool is_loaded, is_bad;
  bool in_each_turn[2];      /* loads, stores */
  IrValue alloca;
} PromotedPlace;

typedef struct {
  Opt *opt;
  IrModule *m;
  IrFunc *f;
  IrFuncId func;
  Cfg cfg;
  Exposed exposed;
  uint32_t head;
  PromotedPlace places[MOST_PLACES];
  unsigned n_places;
  uint32_t *bad_in;          /* by global: the last loop that accesses it in a way that does not
                              * fit; by its head, which is never block 0 */
  bool in_each_turn;         /* is the block being looked at */
  Pressure pressure;
} GlobalPromoter;

/* ---- which ------------------------------------------------------------------------- */

static PromotedPlace *place_of(GlobalPromoter *p, Address a, IrType type)
{
  for (unsigned i = 0; i < p->n_places; i++) {
    PromotedPlace *place = &p->places[i];
    bool same = place->global == a.object && place->offset == a.offset && place->type == type;
    bool apart = place->global != a.object ||
                 a.offset >= place->offset + (int64_t)ir_type_bytes(place->type) ||
                 place->offset >= a.offset + (int64_t)ir_type_bytes(type);
    if (same)
      return place;
    if (!apart)
      return NULL;
  }
  if (p->n_places == MOST_PLACES)
    return NULL;
  p->places[p->n_places] = (PromotedPlace){.global = a.object, .offset = a.offset, .type = type};
  return &p->places[p->n_places++];
}

static bool is_inside(const GlobalPromoter *p, Address a, IrType type)
{
  return a.offset >= 0 &&
         (uint64_t)a.offset + ir_type_bytes(type) <= p->m->globals[a.object].bytes;
}

static bool ends_turn(const GlobalPromoter *p, uint32_t block)
{
  uint32_t n;
  const IrTarget *targets = cfg_targets(p->f, block, &n);
  for (uint32_t t = 0; t < n; t++)
    if (targets[t].block.raw == p->head ||
        !cfg_loop_contains(&p->cfg, p->head, targets[t].block.raw))
      return true;
  return false;
}

/* The last block through which each way around the loop or out of it goes. */
static uint32_t last_of_each_turn(const GlobalPromoter *p)
{
  uint32_t last = IR_NO_ID;
  for (uint32_t i = p->cfg.together_index[p->head]; i < p->cfg.loop_end[p->head]; i++) {
    uint32_t b = p->cfg.together[i];
    if (!ends_turn(p, b))
      continue;
    last = last == IR_NO_ID ? b : last;
    while (!cfg_dominates(&p->cfg, last, b))
      last = p->cfg.idom[last];
  }
  return last;
}

static void note_access(GlobalPromoter *p, const IrInsn *insn, IrType type, bool is_store)
{
  Address a = opt_address(p->f, insn->args[0]);
  if (a.base != BASE_GLOBAL || p->exposed.globals[a.object])
    return;
  /* A descriptor is loaded into a DSR from where it stands: a copy would be in memory too. */
  bool fits = a.offset_known && is_inside(p, a, type) && ir_type_bits(type);
  PromotedPlace *place = fits ? place_of(p, a, type) : NULL;
  if (!place) {
    p->bad_in[a.object] = p->head;
    return;
  }
  place->is_loaded |= !is_store;
  place->in_each_turn[is_store] |= p->in_each_turn;
}

static void spoil_global(GlobalPromoter *p, IrValue address)
{
  Address a = opt_address(p->f, address);
  if (a.base == BASE_GLOBAL)
    p->bad_in[a.object] = p->head;
}

/* False: the loop calls a function, which may use any global. */
static bool note_insn(GlobalPromoter *p, const IrInsn *insn)
{
  switch ((int)insn->op) {
  case IR_call:
  case IR_call_ptr: return false;
  case IR_load: note_access(p, insn, insn->type, false); return true;
  case IR_store:
    note_access(p, insn, opt_insn(p->f, insn->args[1])->type, true);
    return true;
  case IR_copy: spoil_global(p, insn->args[1]); /* fall through */
  case IR_zero: spoil_global(p, insn->args[0]); return true;
  default: return true;
  }
}

static bool is_worth_it(GlobalPromoter *p, const PromotedPlace *place)
{
  return place->in_each_turn[true] && (place->in_each_turn[false] || !place->is_loaded) &&
         opt_has_room(p->opt, &p->pressure, p->f, &p->cfg, p->head,
                      opt_register_words(place->type));
}

static bool has_ways_out_of_its_own(const GlobalPromoter *p)
{
  for (uint32_t i = p->cfg.together_index[p->head]; i < p->cfg.loop_end[p->head]; i++) {
    uint32_t n;
    const IrTarget *targets = cfg_targets(p->f, p->cfg.together[i], &n);
    for (uint32_t t = 0; t < n; t++)
      if (!cfg_loop_contains(&p->cfg, p->head, targets[t].block.raw) &&
          cfg_pred_count(&p->cfg, targets[t].block.raw) > 1)
        return false;
  }
  return true;
}

static bool find_places(GlobalPromoter *p)
{
  bool any = false;
  if (!has_ways_out_of_its_own(p))
    return false;
  uint32_t last = last_of_each_turn(p);
  p->n_places = 0;
  for (uint32_t i = p->cfg.together_index[p->head]; i < p->cfg.loop_end[p->head]; i++) {
    uint32_t b = p->cfg.together[i];
    p->in_each_turn = cfg_dominates(&p->cfg, b, last);
    for (uint32_t k = 0; k < p->f->blocks[b].n_insns; k++)
      if (!note_insn(p, opt_insn(p->f, p->f->blocks[b].insns[k])))
        return false;
  }
  for (unsigned i = 0; i < p->n_places; i++) {
    PromotedPlace *place = &p->places[i];
    place->is_bad = !is_worth_it(p, place) || p->bad_in[place->global] == p->head;
    if (!place->is_bad)
      opt_take_room(&p->pressure, &p->cfg, p->head, opt_register_words(place->type));
    any |= !place->is_bad;
  }
  return any;
}

/* ---- rewriting --------------------------------------------------------------------- */

static IrValue global_address(IrBuilder *b, const PromotedPlace *place)
{
  return ir_global_addr(b, (IrGlobalId){place->global}, place->offset);
}

static void use_alloca(GlobalPromoter *p, const PromotedPlace *place)
{
  for (uint32_t i = p->cfg.together_index[p->head]; i < p->cfg.loop_end[p->head]; i++) {
    uint32_t b = p->cfg.together[i];
    for (uint32_t k = 0; k < p->f->blocks[b].n_insns; k++) {
      IrInsn *insn = opt_insn(p->f, p->f->blocks[b].insns[k]);
      if (insn->op != IR_load && insn->op != IR_store)
        continue;
      Address a = opt_address(p->f, insn->args[0]);
      if (a.base == BASE_GLOBAL && a.object == place->global && a.offset == place->offset)
        insn->args[0] = place->alloca;
    }
  }
}

/* Copies the place's number one way or the other at the cursor. */
static void transfer_value(IrBuilder *b, const PromotedPlace *place, bool to_alloca)
{
  IrValue global = global_address(b, place);
  IrValue v = ir_load(b, place->type, to_alloca ? global : place->alloca);
  ir_store(b, to_alloca ? place->alloca : global, v);
}

static void transfer_all(GlobalPromoter *p, IrBuilder *b, bool to_alloca)
{
  for (unsigned i = 0; i < p->n_places; i++)
    if (!p->places[i].is_bad)
      transfer_value(b, &p->places[i], to_alloca);
}

/* Puts a block on the way from the loop to the target. */
static void leave_through_block(GlobalPromoter *p, uint32_t from, uint32_t which)
{
  uint32_t n;
  IrTarget *t = &cfg_targets(p->f, from, &n)[which];
  IrTarget on = *t;
  IrBuilder b = {.module = p->m, .func = p->func, .loc = opt_terminator(p->f, from)->loc};
  b.block = ir_block_add(p->m, p->func);
  *t = (IrTarget){.block = b.block};
  transfer_all(p, &b, false);
  ir_br(&b, on.block, on.args, on.n_args);
}

/* New instructions at the end of the front, before its jump. */
static void enter_with_loads(GlobalPromoter *p, uint32_t front)
{
  IrBlock *block = &p->f->blocks[front];
  IrValue jump = block->insns[--block->n_insns];
  IrBuilder b = {.module = p->m, .func = p->func, .block = {front},
                 .loc = opt_insn(p->f, jump)->loc};
  transfer_all(p, &b, true);
  block = &p->f->blocks[front];
  opt_insert(p->m, block, block->n_insns, jump);
}

static void rewrite_loop(GlobalPromoter *p)
{
  uint32_t front = opt_loop_front(p->f, &p->cfg, p->head), n;
  IrBuilder b = {.module = p->m, .func = p->func, .block = {front}};
  for (unsigned i = 0; i < p->n_places; i++)
    if (!p->places[i].is_bad) {
      IrType type = p->places[i].type;
      p->places[i].alloca = ir_alloca(&b, ir_type_bytes(type), ir_type_align(type));
      use_alloca(p, &p->places[i]);
      ir_held_add(p->m, p->f, p->places[i].global);
    }
  enter_with_loads(p, front);
  for (uint32_t i = p->cfg.together_index[p->head]; i < p->cfg.loop_end[p->head]; i++) {
    uint32_t block = p->cfg.together[i];
    cfg_targets(p->f, block, &n);
    for (uint32_t t = 0; t < n; t++)
      if (!cfg_loop_contains(&p->cfg, p->head, cfg_targets(p->f, block, &n)[t].block.raw))
        leave_through_block(p, block, t);
  }
}

/* Loops from the outside in.  Those within a loop that has changed wait for the next round: their
 * ways out may lead through blocks that the shape does not know. */
static bool promote_round(Opt *opt, IrFunc *f)
{
  GlobalPromoter p = {.opt = opt, .m = opt->m, .f = f, .func = {(uint32_t)(f - opt->m->funcs)}};
  bool changed = false;
  cfg_build(&p.cfg, f, opt->arena);
  opt_make_fronts(opt, f, &p.cfg);
  p.exposed = opt_exposed(opt, f);
  p.bad_in = arena_many(opt->arena, uint32_t, opt->m->n_globals);
  for (uint32_t i = 0, next; i < p.cfg.n_rpo; i = next) {
    next = i + 1;
    p.head = p.cfg.together[i];
    if (p.cfg.loop_head[p.head] != p.head || opt_loop_front(f, &p.cfg, p.head) == IR_NO_ID ||
        !find_places(&p))
      continue;
    rewrite_loop(&p);
    next = p.cfg.loop_end[p.head];
    changed = true;
  }
  return changed;
}

bool pass_promote(Opt *opt, IrFunc *f)
{
  bool changed = opt_find_unreachable(f, opt->arena);
  while (promote_round(opt, f))
    changed = true;
  return changed;
}
