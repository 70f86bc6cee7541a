/* Fast engine: operations between variables that a stretch (ahead.c) carries out as a whole, from
 * the descriptors as they are: with few elements, the state of a running operation would cost more
 * than what it computes. */
#include "emu/fast/step.h"

enum { NO_REGISTER = 0xff };

/* A vector instruction, made ready: code.c.  By stream: place of its descriptor or NO_DSR; register
 * or NO_REGISTER; its variable, if the compiler knows it (`named`, a bit each). */
typedef struct FastVector {
  bool may;                     /* the kinds of its operands and elements allow it */
  bool overlaps;                /* the thread goes on beside it */
  bool has_scalar;
  uint8_t kind, operation, bytes, width;    /* as in FastPlain */
  uint8_t scalar_reg, scalar_bytes, code_bytes, named;
  uint8_t place[PLAIN_STREAMS], reg[PLAIN_STREAMS];
  Bounds object[PLAIN_STREAMS];
} FastVector;

/* One that has begun; nothing has been computed. */
typedef struct {
  const FastVector *code;
  const Insn *insn;
  FastPlain plain;
  uint16_t pc;
  uint8_t saves;                /* streams whose descriptors keep their places, a bit each */
  bool runs;                    /* it is the main thread's running one */
  uint64_t issued, ready;       /* cycles of its issue and of its first group */
  uint64_t groups;              /* cycles with one, a bit each, from `ready` on */
  uint64_t last;                /* of the last group; */
  unsigned extra, waits;        /* how long it waits for a bank, and all of them */
} FastWhole;

static HOT const DsrState *whole_dsr(const FastTile *t, const FastVector *c, unsigned k)
{
  Dsrs dsrs = t->core.dsrs;
  return &(dsrs.own ? dsrs.own : dsrs.map->start)[c->place[k]];
}

static HOT uint32_t whole_register(const Registers *regs, unsigned reg, unsigned bytes)
{
  return bytes == sizeof(uint32_t) ? reg_pair32(regs, reg) : regs->r[reg];
}

/* The descriptor is one of memory in one dimension that does nothing special. */
static HOT bool is_whole_dsr(const Descriptor *desc)
{
  return (desc->kind == DESC_MEM1D || desc->kind == DESC_CIRC) &&
         !(desc->flags & ~(unsigned)DESC_F_SAVE);
}

/* The elements that the stride lets a group have. */
static HOT unsigned whole_width(const Timing *timing, int16_t stride, unsigned width)
{
  unsigned limit = stride == 0 || stride == 1 ? 0 : timing->stride_limit[(unsigned)stride & 7];
  return limit && limit < width ? limit : width;
}

static HOT const FastVector *vector_of(const FastEngine *e, const FastTile *t,
                                       const ScalarCode *code)
{
  return &e->vectors[t->core.cls->index][code->target];
}

/* The instruction may begin such an operation: its results go to memory. */
static HOT bool may_be_whole(const Visit *v, const ScalarCode *code)
{
  const FastVector *c = vector_of(v->engine, v->tile, code);
  return c->may && is_whole_dsr(&whole_dsr(v->tile, c, PLAIN_DEST)->desc);
}

/* What the instruction does with its descriptors as they are, but for the addresses.  False: it is
 * left to others. */
static HOT bool find_whole(const Visit *v, const ScalarCode *code, FastWhole *op)
{
  const FastEngine *e = v->engine;
  const FastTile *t = v->tile;
  const FastVector *c = vector_of(e, t, code);
  static const uint8_t order[] = {PLAIN_SRC0, PLAIN_SRC1, PLAIN_DEST};
  if (!may_be_whole(v, code) || t->core.regs.traps || t->core.mem.tracked || !t->core.mem.bytes ||
      (v->turn.checks & (CHECKS_TASKS | CHECKS_LENGTHS)))
    return false;
  unsigned width = c->width, memory = 0, saves = 0, length = 0;
  for (unsigned i = 0; i < PLAIN_STREAMS; i++) {
    unsigned k = order[i];
    if (c->place[k] == NO_DSR)
      continue;
    const Descriptor *desc = &whole_dsr(t, c, k)->desc;
    if (!is_whole_dsr(desc))
      return false;
    width = whole_width(e->timing, desc->stride, width);
    length = memory ? length : desc->length;
    saves |= desc->flags & DESC_F_SAVE ? 1u << k : 0;
    memory |= 1u << k;
  }
  *op = (FastWhole){
    .code = c, .insn = code->insn, .saves = (uint8_t)saves,
    .plain = {.op = c->kind, .operation = c->operation, .bytes = c->bytes, .remaining = length,
              .width = (uint16_t)width, .input = NO_QUEUE, .output = NO_QUEUE,
              .memory = (uint16_t)memory,
              .both_memory = (memory & 3) == 3}};
  return length && length <= AHEAD_ELEMENTS;
}

/* All of the stream's elements lie in static data, in their variable, and out of the way of what
 * runs beside. */
static HOT bool is_whole_place(const Visit *v, const FastVector *c, const Descriptor *desc,
                               unsigned k, unsigned n)
{
  const FastTile *t = v->tile;
  const ImageClass *image = t->core.cls->image;
  const MemoryFacts *facts = v->turn.program->memory_facts;
  int first = desc->base, last = first + ((int)n - 1) * desc->stride * c->bytes;
  int low = first < last ? first : last, end = (first < last ? last : first) + c->bytes;
  if (first & 1 || low < 0 || end > (int)image->static_bytes ||
      (end > (int)image->code_address && low < (int)t->core.cls->code_end))
    return false;
  if (desc->kind == DESC_CIRC &&
      (desc->stride < 0 || low < desc->wrap_base ||
       end > desc->wrap_base + desc->wrap_length * c->bytes))
    return false;
  if (v->beside && scalar_is_fenced(&v->beside->fences, (uint32_t)low, (uint32_t)end,
                                    k == PLAIN_DEST))
    return false;
  if (!facts)
    return true;
  Bounds object = c->named >> k & 1 ? c->object[k]
                                    : check_variable(&facts[t->core.cls->index], (uint32_t)first);
  return !object.end || (low >= object.start && end <= object.end);
}

/* Where its elements are, and what is in registers.  False: it is left to others. */
static HOT bool place_whole(const Visit *v, FastWhole *op)
{
  const FastTile *t = v->tile;
  const FastVector *c = op->code;
  FastPlain *p = &op->plain;
  for (unsigned k = PLAIN_STREAMS; k-- > 0;) {
    if (c->place[k] == NO_DSR) {
      p->value[k] = c->reg[k] == NO_REGISTER ? 0
                                             : whole_register(&t->core.regs, c->reg[k], c->bytes);
      continue;
    }
    const Descriptor *desc = &whole_dsr(t, c, k)->desc;
    bool is_dest_too = k != PLAIN_DEST && c->place[k] == c->place[PLAIN_DEST] &&
                       !(c->named & (1u << k | 1u << PLAIN_DEST));
    if (!is_dest_too && !is_whole_place(v, c, desc, k, p->remaining))
      return false;
    p->address[k] = desc->base;
    p->step[k] = (int16_t)(desc->stride * (int)c->bytes);
  }
  p->scalar = c->has_scalar ? whole_register(&t->core.regs, c->scalar_reg, c->scalar_bytes) : 0;
  return p->step[PLAIN_DEST] != 0 &&
         !(p->operation == VEC_fmacs && p->step[PLAIN_DEST] % (8 * (int)c->bytes) == 0);
}

/* The main thread's operation, from its next group on.  False: it is left to others. */
static HOT bool lift_whole(const Visit *v, FastWhole *op)
{
  const FastTile *t = v->tile;
  const Thread *th = &t->core.threads[MAIN_THREAD];
  const FastPlain *p = thread_plain(th);
  if (!th->plain || p->input != NO_QUEUE || p->output != NO_QUEUE || p->unbounded ||
      p->one_bank || p->remaining > AHEAD_ELEMENTS || !p->step[PLAIN_DEST] ||
      !(p->memory & 1u << PLAIN_DEST))
    return false;
  const ImageClass *image = t->core.cls->image;
  const ScalarCode *code =
      &v->engine->code[t->core.cls->index][(th->run->pc - image->code_address) / 2u];
  const FastVector *c = vector_of(v->engine, t, code);
  *op = (FastWhole){.code = c, .insn = code->insn, .plain = *p, .runs = true, .ready = th->ready};
  for (unsigned k = 0; k < PLAIN_STREAMS; k++) {
    if (c->place[k] == NO_DSR)
      continue;
    const Descriptor *desc = &whole_dsr(t, c, k)->desc;
    if (!is_whole_dsr(desc) ||
        (v->beside && scalar_is_fenced(&v->beside->fences, plain_bounds(p, k, p->remaining).start,
                                       plain_bounds(p, k, p->remaining).end, k == PLAIN_DEST)))
      return false;
    op->saves |= desc->flags & DESC_F_SAVE ? (uint8_t)(1u << k) : (uint8_t)0;
  }
  return c->may;
}

/* The cycles of its groups, from op->ready on.  False: they are too far apart. */
static HOT bool find_whole_groups(const FastEngine *e, FastWhole *op)
{
  const FastPlain *p = &op->plain;
  unsigned rests = e->timing->groups_per_rest, n = (p->remaining - 1) / p->width + 1;
  op->extra = op->waits = 0;
  if (LIKELY(!p->both_memory && !rests)) {
    op->last = op->ready + n - 1;
    op->groups = n < WORD_BITS ? (UINT64_C(1) << n) - 1 : ~UINT64_C(0);
    return true;
  }
  unsigned at = 0, a = p->address[PLAIN_SRC0], b = p->address[PLAIN_SRC1];
  uint32_t left = p->remaining;
  for (op->groups = 0;; left -= p->width) {
    if (at >= WORD_BITS)
      return false;
    op->groups |= UINT64_C(1) << at;
    op->extra = p->both_memory && !((a ^ b) & e->bank_mask) ? e->timing->bank_conflict : 0;
    op->waits += op->extra;
    if (left <= p->width)
      break;
    at += 1 + op->extra + vec_rest(e->timing, true, left - p->width, p->width, op->extra);
    a = (uint16_t)(a + p->width * (unsigned)p->step[PLAIN_SRC0]);
    b = (uint16_t)(b + p->width * (unsigned)p->step[PLAIN_SRC1]);
  }
  op->last = op->ready + at;
  return true;
}

/* The operation can still write there. */
static HOT bool whole_touches(const FastTile *t, const FastWhole *op, MemoryAccess access)
{
  const Descriptor *desc = &whole_dsr(t, op->code, PLAIN_DEST)->desc;
  Bounds at = plain_bounds(&op->plain, PLAIN_DEST, op->plain.remaining);
  if (desc->kind == DESC_CIRC)      /* the buffer that it goes round, as overlap_issues says */
    at = (Bounds){desc->wrap_base,
                  (uint16_t)(desc->wrap_base + (desc->wrap_length + 1) * op->code->bytes)};
  return access.address < at.end && access.address + access.bytes > at.start;
}

/* The descriptors that keep their places do. */
static HOT void save_whole(Visit *v, const FastWhole *op)
{
  const FastVector *c = op->code;
  if (!op->saves)
    return;
  DsrState *own = tile_own_dsrs(&v->turn);
  for (unsigned k = 0; k < PLAIN_STREAMS; k++) {
    if (!(op->saves >> k & 1))
      continue;
    Descriptor *desc = &own[c->place[k]].desc;
    VecStream s = {.circular = desc->kind == DESC_CIRC, .wrap_base = desc->wrap_base,
                   .wrap_bytes = (uint32_t)desc->wrap_length * c->bytes};
    vec_stream_place(&s, op->plain.address[k]);
    desc->base = s.address;
  }
}

/* ---- in a stretch -------------------------------------------------------------------------- */

/* Its descriptors that keep their places have been kept.  False: no room, or an operation beside
 * the stretch keeps its place in one. */
static HOT bool keep_whole(const Visit *v, const FastWhole *op)
{
  const VecOperands *vec = &op->insn->vec;
  const VecOperand *operands[PLAIN_STREAMS] = {&vec->src0, &vec->src1, &vec->dest};
  for (unsigned k = 0; k < PLAIN_STREAMS; k++) {
    if (v->beside && op->code->place[k] != NO_DSR &&
        is_kept_beside(v, operands[k]->file, operands[k]->number))
      return false;
    if ((op->saves >> k & 1) && !keep_dsr(v->tile, operands[k]->file, operands[k]->number))
      return false;
  }
  return true;
}

/* It has issued in cycle `issued`, and its first group is in cycle `ready`. */
static HOT void begin_whole(Visit *v, FastWhole *op, uint64_t issued, uint64_t ready)
{
  FastTile *t = v->tile;
  op->pc = t->core.pc;
  op->issued = issued;
  op->ready = ready;
  t->core.pc = (uint16_t)(op->pc + op->code->code_bytes);
  t->core.ready = issued + 1;
  t->core.overlaps = op->code->overlaps;
  t->core.waits = false;
  t->ahead->began = (uint8_t)(issued - t->ahead->from);
  t->ahead->is.kept = false;
}

static void put_register(Registers *regs, unsigned reg, unsigned bytes, uint32_t value)
{
  if (bytes == sizeof(uint32_t))
    set_reg32(regs, reg, value);
  else
    regs->r[reg] = (uint16_t)value;
}

/* The registers as they were when the operation issued, as far as it has read them. */
static Registers registers_at_issue(const Tile *core, const FastWhole *op)
{
  const FastVector *c = op->code;
  Registers regs = core->regs;
  for (unsigned k = 0; k < PLAIN_DEST; k++)
    if (c->reg[k] != NO_REGISTER)
      put_register(&regs, c->reg[k], c->bytes, op->plain.value[k]);
  if (c->has_scalar)
    put_register(&regs, c->scalar_reg, c->scalar_bytes, op->plain.scalar);
  return regs;
}

/* The operation becomes the main thread's running one, of which no group has been done. */
static RARE void run_whole(Visit *v, const FastWhole *op)
{
  if (op->runs)
    return;
  Tile *core = &v->tile->core;
  const Program *program = v->turn.program;
  Registers regs = registers_at_issue(core, op);
  VecRun *run = v->turn.port->run_alloc(&v->turn);
  uint32_t value;
  if (vec_begin(run, op->insn, op->pc, program, core->cls, &regs, core->dsrs, &core->mem,
                &core->registers, &value) != FAULT_COUNT)
    ICE("an operation that has begun cannot begin");
  if (program->memory_facts)
    check_begin(run, &program->memory_facts[core->cls->index], (BusyMemory){0}, op->issued);
  core->threads[MAIN_THREAD] = (Thread){.run = run, .ready = op->ready};
  core->vectors |= 1u << MAIN_THREAD;
  v->turn.port->started(&v->turn, MAIN_THREAD);
}

/* The instruction beside the operation does not depend on it, and is no mistake. */
static HOT bool steps_beside_whole(Visit *v, const FastWhole *op, const ScalarCode *code)
{
  MemoryAccess access;
  switch ((int)insn_info[code->insn->op].cost) {
  case COST_LOAD:
    scalar_access(code->insn, &v->tile->core.regs, &access);
    return !(code->odd & SCALAR_MOVES_STACK) && !whole_touches(v->tile, op, access) &&
           is_load_plain(v, code);
  case COST_DSR_UPDATE: return is_update_plain(v, code->insn);
  default: return !(code->odd & SCALAR_MOVES_STACK);
  }
}

/* It concerns registers, or loads one. */
static HOT void issue_beside_whole(Visit *v, const ScalarCode *code)
{
  Tile *core = &v->tile->core;
  CostClass cost = insn_info[code->insn->op].cost;
  if (cost == COST_DSR_UPDATE) {
    issue_beside(v);
    return;
  }
  ScalarResult result = scalar_exec(code->insn, core->pc, v->turn.program->image->fp16,
                                    &core->regs, &core->mem);
  if (result.outcome != SCALAR_NEXT)
    ICE("an instruction beside an operation does more than change registers");
  unsigned pay = turn_pay(&v->turn, timing_scalar_row(cost, STEP_NEXT));
  v->tile->ahead->doubled++;
  v->last_beside = core->ready;
  core->pc = (uint16_t)(core->pc + insn_words(code->insn->op) * 2);
  core->ready += pay ? pay : 1;
}

/* The instructions beside the operation, up to its last group; *next: the operation that waits for
 * it, or NULL.  False: one of them cannot issue, or microthreads could delay one behind it. */
static HOT bool step_beside_whole(Visit *v, const FastWhole *op, const ScalarCode **next)
{
  Tile *core = &v->tile->core;
  while (core->overlaps && core->ready <= op->last) {
    const ScalarCode *code = code_now(v->engine, core);
    if (!code || !code->insn)
      return false;
    if (code->insn->op == OP_vec) {
      core->waits = true;
      *next = code;
      return true;
    }
    if ((v->beside && core->ready == op->last) || !steps_beside_whole(v, op, code))
      return false;
    issue_beside_whole(v, code);
  }
  return !v->beside || !core->overlaps;
}

static HOT void mark_groups(FastAhead *ahead, const FastWhole *op)
{
  unsigned at = (unsigned)(op->ready - ahead->from), word = at / WORD_BITS, by = at % WORD_BITS;
  uint64_t low = op->groups << by, high = by ? op->groups >> (WORD_BITS - by) : 0;
  ahead->issues[word] |= low;
  if (high)
    ahead->issues[word + 1] |= high;
  if (LIKELY(!ahead->is.with_turns))
    return;
  ahead->overwritten.turns.groups[word] |= low;
  if (high)
    ahead->overwritten.turns.groups[word + 1] |= high;
}

/* The main thread's operation, if it has one, is gone. */
static void drop_operation(Visit *v)
{
  FastTile *t = v->tile;
  Thread *th = &t->core.threads[MAIN_THREAD];
  if (!(t->core.vectors & 1u << MAIN_THREAD))
    return;
  v->turn.port->run_free(&v->turn, th->run);
  th->run = NULL;
  t->core.vectors &= (uint16_t)~(1u << MAIN_THREAD);
}

/* All groups of the operation, and its end. */
static HOT void do_whole(Visit *v, FastWhole *op)
{
  FastTile *t = v->tile;
  EngineStats *stats = &v->worker->log.stats;
  unsigned elements = op->plain.remaining;
  mark_groups(t->ahead, op);
  plain_elements_all(v, &op->plain, elements);
  save_whole(v, op);
  stats->groups += bits_count(op->groups);
  stats->elements += elements;
  stats->stalls[STALL_BANK] += op->waits;
  t->core.regs.vstat = true;
  t->core.threads[MAIN_THREAD].ready = op->last + 1 + op->extra;
  if (!(t->core.vectors & ~(1u << MAIN_THREAD)))
    t->core.busy = (BusyMemory){0};
}

/* The thread goes on behind the operation, which is over. */
static HOT void go_behind_whole(Visit *v, const FastWhole *op)
{
  Tile *core = &v->tile->core;
  const ScalarCode *code = code_now(v->engine, core);
  MemoryAccess access = {0};
  bool waits = !core->overlaps || !code || !code->insn || code->insn->op == OP_vec ||
               (scalar_access(code->insn, &core->regs, &access) &&
                access.address + access.bytes > PE_MEM_BYTES);
  uint64_t ready = core->overlaps ? core->ready : 0, next = op->last + 1;
  core->overlaps = false;
  if (waits) {
    uint64_t end = op->last + op->extra + turn_pay(&v->turn, TIMING_vector_end);
    ready = ready > end ? ready : end;
  }
  core->ready = ready > next ? ready : next;
}

/* The next operation starts with the last group of this one, but not as a whole.  False: it is a
 * mistake. */
static RARE bool start_behind_whole(Visit *v, const FastWhole *op, const ScalarCode *code)
{
  FastTile *t = v->tile;
  set_now(v, op->last);
  t->ahead->doubled++;
  t->ahead->is.kept = false;
  t->ahead->began = (uint8_t)(op->last - t->ahead->from);
  t->core.overlaps = false;
  vector_start(&v->turn, code->insn);
  if (t->core.vectors & 1u << MAIN_THREAD)
    t->core.threads[MAIN_THREAD].ready = op->last + op->extra +
                                         turn_pay(&v->turn, TIMING_vector_next);
  leave_cycle(v);
  return !is_mistaken(v);
}

/* The operation that has begun, in cycles before `end`, and those that follow without a gap.
 * False: not all of that. */
static HOT bool step_wholes(Visit *v, FastWhole *op, uint64_t end, uint64_t last)
{
  FastTile *t = v->tile;
  for (;;) {
    const ScalarCode *next = NULL;
    FastWhole then;
    bool starts = false, is_whole = false;
    bool done = find_whole_groups(v->engine, op) && op->last < end &&
                keep_results(t, &op->plain) && step_beside_whole(v, op, &next);
    if (done && next) {
      is_whole = find_whole(v, next, &then) && keep_whole(v, &then);
      starts = is_whole || overlap_follows(&next->insn->vec, t->core.dsrs);
      done = is_whole || !starts || starts_ahead(v, &next->insn->vec, last);
    }
    if (!done) {
      run_whole(v, op);
      return step_groups(v, end, last);
    }
    if (op->runs)
      drop_operation(v);
    do_whole(v, op);
    if (!starts) {
      go_behind_whole(v, op);
      return true;
    }
    if (!is_whole || !place_whole(v, &then))
      return start_behind_whole(v, op, next) && step_groups(v, end, last);
    turn_pay(&v->turn, TIMING_vector_start);
    t->ahead->doubled++;
    uint64_t ready = op->last + op->extra + turn_pay(&v->turn, TIMING_vector_next);
    begin_whole(v, &then, op->last, ready > op->last ? ready : op->last + 1);
    *op = then;
  }
}

/* For a stretch that has begun in an operation, or goes on in one when it is repeated. */
static RARE bool go_on_in_operation(Visit *v, uint64_t end, uint64_t last)
{
  FastWhole op;
  return lift_whole(v, &op) ? step_wholes(v, &op, end, last) : step_groups(v, end, last);
}

/* The instruction begins an operation that is carried out as a whole.  False: nothing has been
 * done; else *goes_on: the thread is free behind it. */
static RARE bool step_whole(Visit *v, const ScalarCode *code, uint64_t end, uint64_t last,
                            bool *goes_on)
{
  FastTile *t = v->tile;
  uint64_t cycle = t->core.ready;
  FastWhole op;
  if (!find_whole(v, code, &op) || !keep_whole(v, &op) || !place_whole(v, &op))
    return false;
  mark_issue(t->ahead, cycle);
  uint64_t ready = cycle + turn_pay(&v->turn, TIMING_vector_start);
  begin_whole(v, &op, cycle, ready > cycle ? ready : cycle + 1);
  *goes_on = step_wholes(v, &op, end, last);
  return true;
}
