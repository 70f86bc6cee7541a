/* Fast engine: operations between variables that a stretch (ahead.c) carries out as a whole, from
 * the descriptors as they are: with few elements, the state of a running operation would cost more
 * than what it computes. */
#include "emu/fast/step.h"

#include <string.h>

/* One that has begun; nothing has been computed. */
typedef struct {
  const FastVector *code;
  const Insn *insn;
  const ScalarCode *behind;     /* the thread's next instruction, while it goes on beside it */
  FastPlain plain;
  uint16_t pc;
  uint16_t base[PLAIN_STREAMS]; /* addresses of the first elements */
  uint8_t saves;                /* streams whose descriptors keep their places, a bit each */
  bool runs;                    /* it is the main thread's running one */
  bool alike;                   /* all its groups wait for a bank or none does */
  bool is_row_fma;
  uint8_t elements;
  Bounds writes;                /* where its results may be */
  uint64_t issued, ready;       /* cycles of its issue and of its first group */
  /* in memory: where elements may lie without another look, end 0: nowhere */
  Bounds room[PLAIN_STREAMS];
  uint64_t groups;              /* cycles with one, a bit each, from `ready` on; 0: not found yet */
  uint64_t last;                /* of the last group; */
  unsigned extra, waits;        /* how long it waits for a bank, and all of them */
  unsigned count, span;         /* of groups; cycles from the first to the last */
} FastWhole;

/* The descriptor is one of memory in one dimension that does nothing special. */
static HOT bool is_whole_dsr(const Descriptor *desc)
{
  return (desc->kind == DESC_MEM1D || desc->kind == DESC_CIRC) &&
         !(desc->flags & ~(unsigned)DESC_F_SAVE);
}

/* The instruction may begin such an operation: its results go to memory. */
static HOT bool may_be_whole(const Visit *v, const FastVector *c)
{
  return c->may && is_whole_dsr(&vector_dsr(v->tile, c, PLAIN_DEST)->desc);
}

/* What the instruction does with its descriptors as they are, but for the addresses.  False: it is
 * left to others. */
static HOT bool find_whole(const Visit *v, const ScalarCode *code, FastWhole *op)
{
  const FastEngine *e = v->engine;
  const FastTile *t = v->tile;
  const FastVector *c = vector_of(e, t, code);
  static const uint8_t order[] = {PLAIN_SRC0, PLAIN_SRC1, PLAIN_DEST};
  if (!may_be_whole(v, c) || t->core.regs.traps || t->core.mem.tracked || !t->core.mem.bytes ||
      (v->turn.checks & (CHECKS_TASKS | CHECKS_LENGTHS)))
    return false;
  unsigned width = c->width, memory = 0, saves = 0, length = 0;
  for (unsigned i = 0; i < PLAIN_STREAMS; i++) {
    unsigned k = order[i];
    if (c->place[k] == NO_DSR)
      continue;
    const Descriptor *desc = &vector_dsr(t, c, k)->desc;
    if (!is_whole_dsr(desc))
      return false;
    width = vec_stride_width(e->timing, desc->stride, width);
    length = memory ? length : desc->length;
    saves |= desc->flags & DESC_F_SAVE ? 1u << k : 0;
    memory |= 1u << k;
  }
  *op = (FastWhole){
    .code = c, .insn = code->insn, .saves = (uint8_t)saves, .elements = (uint8_t)length,
    .plain = {.op = c->kind, .operation = c->operation, .bytes = c->bytes, .remaining = length,
              .width = (uint16_t)width, .input = NO_QUEUE, .output = NO_QUEUE,
              .memory = (uint16_t)memory,
              .both_memory = (memory & 3) == 3}};
  return length && length <= AHEAD_ELEMENTS;
}

/* Where the elements of a stream lie. */
typedef struct { int low, end; } WholeSpan;

static HOT WholeSpan whole_span(const Descriptor *desc, unsigned bytes, unsigned n)
{
  int first = desc->base, last = first + ((int)n - 1) * desc->stride * (int)bytes;
  return first < last ? (WholeSpan){first, last + (int)bytes}
                      : (WholeSpan){last, first + (int)bytes};
}

/* It does not go round its buffer. */
static HOT bool is_inside_buffer(const Descriptor *desc, unsigned bytes, WholeSpan span)
{
  return desc->kind != DESC_CIRC ||
         (desc->stride >= 0 && span.low >= desc->wrap_base &&
          span.end <= desc->wrap_base + desc->wrap_length * (int)bytes);
}

/* Memory that can be read and written as it is. */
static HOT bool is_plain_place(const FastTile *t, WholeSpan span)
{
  const ClassCode *cls = t->core.mem.cls;
  return span.low >= 0 && span.end <= (int)cls->image->static_bytes &&
         (span.end <= (int)cls->image->code_address || span.low >= (int)cls->code_end);
}

/* Something beside is in the way. */
static HOT bool is_span_fenced(const Visit *v, WholeSpan span, bool store)
{
  return v->beside && scalar_is_fenced(&v->beside->fences, (uint32_t)span.low, (uint32_t)span.end,
                                       store);
}

static HOT bool is_in_room(WholeSpan span, Bounds room)
{
  return span.low >= room.start && span.end <= room.end;
}

/* The part of the variable, around the span, in which nothing beside is in the way; the span is
 * free. */
static HOT Bounds find_room(const Visit *v, Bounds room, WholeSpan span, bool store)
{
  for (unsigned i = 0; v->beside && i < v->beside->fences.n; i++) {
    Bounds at = v->beside->fences.of[i].at;
    if (!store && !v->beside->fences.of[i].written)
      continue;
    if (at.end <= span.low && at.end > room.start)
      room.start = at.end;
    else if (at.start >= span.end && at.start < room.end)
      room.end = at.start;
  }
  return room;
}

/* All of the stream's elements lie in free data and in their variable.  *room, unless NULL: where
 * that is known to hold for elements of this stream of an operation, before and after. */
static HOT bool is_whole_place(const Visit *v, const FastVector *c, const Descriptor *desc,
                               unsigned k, unsigned n, Bounds *room)
{
  const MemoryFacts *all = v->turn.program->memory_facts;
  WholeSpan span = whole_span(desc, c->bytes, n);
  bool is_named = c->named >> k & 1, store = k == PLAIN_DEST;
  if (desc->base & 1 || !is_inside_buffer(desc, c->bytes, span))
    return false;
  if (room && !is_named && is_in_room(span, *room))
    return true;
  if (room)
    *room = (Bounds){0};
  if (!is_plain_place(v->tile, span) || is_span_fenced(v, span, store))
    return false;
  if (!all)
    return true;
  const MemoryFacts *facts = &all[v->tile->core.mem.cls->index];
  Bounds object = is_named ? c->object[k] : check_variable(facts, desc->base);
  if (!object.end)
    return true;
  if (room && facts->are_apart && !is_named &&
      is_plain_place(v->tile, (WholeSpan){object.start, object.end}))
    *room = find_room(v, object, span, store);
  return span.low >= object.start && span.end <= object.end;
}

/* Where the operation can still write. */
static HOT Bounds whole_writes(const FastTile *t, const FastWhole *op)
{
  const Descriptor *desc = &vector_dsr(t, op->code, PLAIN_DEST)->desc;
  if (desc->kind == DESC_CIRC)      /* the buffer that it goes round, as overlap_issues says */
    return (Bounds){desc->wrap_base,
                    (uint16_t)(desc->wrap_base + (desc->wrap_length + 1) * op->code->bytes)};
  return plain_bounds(&op->plain, PLAIN_DEST, op->plain.remaining);
}

/* The value of a source that is no memory. */
static HOT void set_whole_value(const FastTile *t, FastWhole *op, unsigned k)
{
  const FastVector *c = op->code;
  if (k < PLAIN_DEST)
    op->plain.value[k] = c->reg[k] == NO_REGISTER
                           ? 0 : vector_register(&t->core.regs, c->reg[k], c->bytes);
}

static HOT void set_whole_scalar(const FastTile *t, FastWhole *op)
{
  const FastVector *c = op->code;
  op->plain.scalar =
      c->has_scalar ? vector_register(&t->core.regs, c->scalar_reg, c->scalar_bytes) : 0;
}

/* From group to group both sources go by as many banks: either all groups wait for one or none.  No
 * group rests. */
static HOT bool go_alike(const FastEngine *e, const FastPlain *p)
{
  if (e->timing->groups_per_rest)
    return false;
  if (!p->both_memory)
    return true;
  unsigned a = p->width * (unsigned)p->step[PLAIN_SRC0];
  unsigned b = p->width * (unsigned)p->step[PLAIN_SRC1];
  unsigned in_bank = (e->bank_mask & -e->bank_mask) - 1u;
  return !((a ^ b) & e->bank_mask) && !((a | b) & in_bank);
}

/* Where its elements are, and what is in registers.  False: it is left to others. */
static HOT bool place_whole(const Visit *v, FastWhole *op)
{
  const FastTile *t = v->tile;
  const FastVector *c = op->code;
  FastPlain *p = &op->plain;
  for (unsigned k = PLAIN_STREAMS; k-- > 0;) {
    if (c->place[k] == NO_DSR) {
      set_whole_value(t, op, k);
      continue;
    }
    const Descriptor *desc = &vector_dsr(t, c, k)->desc;
    bool is_dest_too = k != PLAIN_DEST && c->place[k] == c->place[PLAIN_DEST] &&
                       !(c->named & (1u << k | 1u << PLAIN_DEST));
    if (!is_dest_too && !is_whole_place(v, c, desc, k, p->remaining,
                                        c->overlaps ? &op->room[k] : NULL))
      return false;
    p->address[k] = op->base[k] = desc->base;
    p->step[k] = (int16_t)(desc->stride * (int)c->bytes);
  }
  set_whole_scalar(t, op);
  own_results(v->tile, p);
  if (c->overlaps)              /* else nothing is beside it or like it */
    op->writes = whole_writes(t, op);
  op->alike = go_alike(v->engine, p);
  op->is_row_fma = is_row_fma(p);
  return p->step[PLAIN_DEST] != 0 &&
         !(p->operation == VEC_fmacs &&
           vec_stays_in_bank(vector_dsr(t, c, PLAIN_DEST)->desc.stride));
}

/* The stream goes on where its descriptor has kept its place.  False: its elements are to be looked
 * at. */
static HOT bool goes_on_in_room(const FastTile *t, FastWhole *op, unsigned k)
{
  const Descriptor *desc = &vector_dsr(t, op->code, k)->desc;
  WholeSpan span = whole_span(desc, op->code->bytes, op->elements);
  op->plain.address[k] = desc->base;
  return is_inside_buffer(desc, op->code->bytes, span) && is_in_room(span, op->room[k]);
}

/* The instruction is like that of the operation, which is over: it begins with descriptors that
 * have at most kept their places, as nothing beside an operation changes its descriptors.  False:
 * it is to be looked at as any other. */
static HOT bool repeat_whole(const Visit *v, FastWhole *op)
{
  const FastTile *t = v->tile;
  const FastVector *c = op->code;
  for (unsigned k = 0; k < PLAIN_STREAMS; k++) {
    if (c->place[k] == NO_DSR)
      set_whole_value(t, op, k);
    else if (!(op->saves >> k & 1))
      op->plain.address[k] = op->base[k];
    else if (!goes_on_in_room(t, op, k))
      return false;
  }
  op->plain.remaining = op->elements;
  set_whole_scalar(t, op);
  if (UNLIKELY(op->saves >> PLAIN_DEST & 1))
    op->writes = whole_writes(t, op);
  return true;
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
  const ImageClass *image = t->core.mem.cls->image;
  const ScalarCode *code =
      &v->engine->code[t->core.mem.cls->index][(th->run->pc - image->code_address) / 2u];
  const FastVector *c = vector_of(v->engine, t, code);
  *op = (FastWhole){.code = c, .insn = code->insn, .plain = *p, .runs = true, .ready = th->ready,
                    .elements = (uint8_t)p->remaining};
  for (unsigned k = 0; k < PLAIN_STREAMS; k++) {
    if (c->place[k] == NO_DSR)
      continue;
    const Descriptor *desc = &vector_dsr(t, c, k)->desc;
    if (!is_whole_dsr(desc) ||
        (v->beside && scalar_is_fenced(&v->beside->fences, plain_bounds(p, k, p->remaining).start,
                                       plain_bounds(p, k, p->remaining).end, k == PLAIN_DEST)))
      return false;
    op->saves |= desc->flags & DESC_F_SAVE ? (uint8_t)(1u << k) : (uint8_t)0;
  }
  op->writes = whole_writes(t, op);
  op->alike = go_alike(v->engine, p);
  op->is_row_fma = is_row_fma(p);
  op->behind = code_now(v->engine, &t->core);
  return c->may;
}

/* A bit for each of `n` groups, one every cycle or every second one. */
static HOT uint64_t groups_apart(unsigned n, unsigned step)
{
  enum { EVERY_SECOND = 0x55 };
  uint64_t all = (uint64_t)EVERY_SECOND * (UINT64_MAX / UINT8_MAX);
  unsigned bits = n * step;
  uint64_t end = bits < WORD_BITS ? (UINT64_C(1) << bits) - 1 : ~UINT64_C(0);
  return (step == 1 ? ~UINT64_C(0) : all) & end;
}

/* The cycles of its groups one by one, from op->ready on.  False: they are too far apart. */
static bool find_each_group(const FastEngine *e, FastWhole *op)
{
  FastPlain at = op->plain;
  unsigned cycle = 0;
  op->waits = op->count = 0;
  for (op->groups = 0;; at.remaining -= at.width) {
    if (cycle >= WORD_BITS)
      return false;
    op->groups |= UINT64_C(1) << cycle;
    op->count++;
    op->extra = plain_conflict(e, &at);
    op->waits += op->extra;
    if (at.remaining <= at.width)
      break;
    cycle += 1 + op->extra +
             vec_rest(e->timing, true, at.remaining - at.width, at.width, op->extra);
    plain_advance(&at, at.width);
  }
  op->span = cycle;
  op->last = op->ready + cycle;
  return true;
}

/* The same for groups that go alike. */
static HOT bool find_groups_alike(const FastEngine *e, FastWhole *op, unsigned extra)
{
  unsigned n = (op->plain.remaining - 1) / op->plain.width + 1, step = 1 + extra;
  if (step > 2 || n * step > WORD_BITS)
    return find_each_group(e, op);
  op->extra = extra;
  op->count = n;
  op->waits = n * extra;
  op->groups = groups_apart(n, step);
  op->span = (n - 1) * step;
  op->last = op->ready + op->span;
  return true;
}

/* The same, as those of the operation before where that is known. */
static HOT bool find_whole_groups(const FastEngine *e, FastWhole *op)
{
  unsigned extra = plain_conflict(e, &op->plain);
  if (UNLIKELY(!op->alike))
    return find_each_group(e, op);
  if (!op->groups || extra != op->extra)
    return find_groups_alike(e, op, extra);
  op->last = op->ready + op->span;
  return true;
}

/* Where the descriptor, whose buffer the operation has gone to the end of, goes on. */
static uint16_t place_in_buffer(const Descriptor *desc, unsigned bytes)
{
  VecStream s = {.circular = true, .wrap_base = desc->wrap_base,
                 .wrap_bytes = (uint32_t)desc->wrap_length * bytes};
  vec_stream_place(&s, desc->base);
  return s.address;
}

/* The descriptors that keep their places do, before anything is computed. */
static HOT void save_whole(Visit *v, const FastWhole *op)
{
  const FastVector *c = op->code;
  if (!op->saves)
    return;
  DsrState *own = tile_own_dsrs(&v->turn);
  for (unsigned bits = op->saves; bits; bits &= bits - 1) {
    unsigned k = (unsigned)__builtin_ctz(bits);
    Descriptor *desc = &own[c->place[k]].desc;
    desc->base = (uint16_t)(op->plain.address[k] + (int)op->plain.remaining * op->plain.step[k]);
    if (UNLIKELY(desc->kind == DESC_CIRC))
      desc->base = place_in_buffer(desc, c->bytes);
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

/* The thread has begun the operation, and goes on behind its instruction. */
static HOT void go_on_behind(FastTile *t, const FastWhole *op)
{
  t->core.pc = (uint16_t)(op->pc + op->code->code_bytes);
  t->core.ready = op->issued + 1;
  t->core.overlaps = op->code->overlaps;
  t->core.waits = false;
  t->ahead->began = (uint8_t)(op->issued - t->ahead->from);
  t->ahead->is.kept = false;
}

/* The instruction has issued in cycle `issued`, and its first group is in cycle `ready`. */
static HOT void begin_whole(Visit *v, FastWhole *op, const ScalarCode *code, uint64_t issued,
                            uint64_t ready)
{
  FastTile *t = v->tile;
  op->behind = code + code->words;
  op->pc = t->core.pc;
  op->issued = issued;
  op->ready = ready;
  go_on_behind(t, op);
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
  if (vec_begin(run, op->insn, op->pc, program, core->mem.cls, &regs, core->dsrs, &core->mem,
                &core->registers, &value) != FAULT_COUNT)
    ICE("an operation that has begun cannot begin");
  if (program->memory_facts) {
    check_objects(run, &program->memory_facts[core->mem.cls->index]);
    check_begin(run, &(BusyMemory){0}, op->issued);
  }
  core->threads[MAIN_THREAD] = (Thread){.run = run, .ready = op->ready};
  core->vectors |= 1u << MAIN_THREAD;
  v->turn.port->started(&v->turn, MAIN_THREAD);
}

/* Neither the operation nor others beside it write there. */
static HOT bool is_free_to_load(const Visit *v, const FastWhole *op, uint32_t start, uint32_t end)
{
  return !(start < op->writes.end && end > op->writes.start) &&
         !(v->beside && scalar_is_fenced(&v->beside->fences, start, end, false));
}

/* The load reads nothing that is written meanwhile, and is no mistake as far as its address
 * shows. */
static HOT bool loads_beside_whole(const Visit *v, const FastWhole *op, const ScalarCode *code)
{
  MemoryAccess access;
  scalar_access(code->insn, &v->tile->core.regs, &access);
  uint32_t end = access.address + access.bytes;
  return is_free_to_load(v, op, access.address, end) &&
         !(code->bytes && is_outside(code->object, access.address, access.bytes));
}

/* The thread is behind the instruction. */
static HOT void go_on_beside(Visit *v, const ScalarCode *code)
{
  Tile *core = &v->tile->core;
  v->tile->ahead->doubled++;
  v->last_beside = core->ready;
  core->pc = (uint16_t)(core->pc + code->words * 2);
  core->ready += scalar_pay(code->pay[0], v->worker->log.stats.paid);
}

/* A factor of a product, mostly.  False: it is written meanwhile. */
static HOT bool issue_load_beside(Visit *v, const FastWhole *op, const ScalarCode *code)
{
  Tile *core = &v->tile->core;
  uint32_t address = code->target;
  if (!is_free_to_load(v, op, address, address + sizeof(uint16_t)))
    return false;
  memcpy(&core->regs.r[code->reg], mem_static(&core->mem) + address, sizeof(uint16_t));
  go_on_beside(v, code);
  return true;
}

/* An instruction that concerns registers, or loads one.  False: it cannot issue. */
static HOT bool issue_scalar_beside(Visit *v, const ScalarCode *code)
{
  Tile *core = &v->tile->core;
  if (scalar_exec(code->insn, core->pc, v->turn.program->image->fp16, &core->regs,
                  &core->mem).outcome != SCALAR_NEXT)
    return false;
  go_on_beside(v, code);
  return true;
}

/* The instruction beside the operation, unless that has to wait for it or is a mistake. */
static RARE bool issue_beside_whole(Visit *v, const FastWhole *op, const ScalarCode *code)
{
  CostClass cost = insn_info[code->insn->op].cost;
  if (cost == COST_DSR_UPDATE) {
    if (!is_update_plain(v, code->insn))
      return false;
    issue_beside(v);
    return true;
  }
  return !(code->odd & (SCALAR_MOVES_STACK | SCALAR_STOPS)) &&
         (cost != COST_LOAD || loads_beside_whole(v, op, code)) && issue_scalar_beside(v, code);
}

/* The instructions beside the operation, up to its last group; *next: the operation that waits for
 * it, or NULL.  False: one of them cannot issue, or microthreads could delay one behind it. */
static HOT bool step_beside_whole(Visit *v, FastWhole *op, const ScalarCode **next)
{
  Tile *core = &v->tile->core;
  while (core->overlaps && core->ready <= op->last) {
    const ScalarCode *code = op->behind;
    if (!code || !code->insn)
      return false;
    if (code->op == OP_vec) {
      core->waits = true;
      *next = code;
      return true;
    }
    if (v->beside && core->ready == op->last)
      return false;
    if (!(LIKELY(code->odd & SCALAR_LOADS_DATA) ? issue_load_beside(v, op, code)
                                                 : issue_beside_whole(v, op, code)))
      return false;
    op->behind += code->words;
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

/* All its elements: where each of them was is not needed any more. */
static HOT void compute_whole(Visit *v, FastWhole *op)
{
  FastPlain *p = &op->plain;
  if (LIKELY(op->is_row_fma) && is_in_place(p, p->remaining))
    plain_fma_in_place(v, p, p->remaining);
  else
    plain_elements_all(v, p, p->remaining);
}

/* The last group has been in that cycle. */
static HOT void end_whole(FastTile *t, const FastWhole *op, uint64_t last)
{
  t->core.regs.vstat = true;
  t->core.threads[MAIN_THREAD].ready = last + 1 + op->extra;
  if (!(t->core.vectors & ~(1u << MAIN_THREAD)))
    t->core.busy = (BusyMemory){0};
}

/* All groups of the operation, and its end. */
static HOT void do_whole(Visit *v, FastWhole *op)
{
  FastTile *t = v->tile;
  EngineStats *stats = &v->worker->log.stats;
  mark_groups(t->ahead, op);
  save_whole(v, op);
  compute_whole(v, op);
  stats->groups += op->count;
  stats->elements += op->plain.remaining;
  stats->stalls[STALL_BANK] += op->waits;
  end_whole(t, op, op->last);
}

/* The thread goes on behind the operation, which is over. */
static HOT void go_behind_whole(Visit *v, const FastWhole *op)
{
  Tile *core = &v->tile->core;
  const ScalarCode *code = code_now(v->engine, core);
  MemoryAccess access = {0};
  bool is_late = core->ready > op->last;        /* for an operation that follows without a gap */
  bool waits = !core->overlaps || !code || !code->insn ||
               (code->insn->op == OP_vec &&
                !(is_late && overlap_follows(code->insn, core->dsrs))) ||
               (scalar_access(code->insn, &core->regs, &access) &&
                access.address + access.bytes > PE_MEM_BYTES);
  uint64_t ready = core->overlaps ? core->ready : 0, next = op->last + 1;
  core->overlaps = false;
  if (waits) {
    uint64_t end = op->last + op->extra + turn_pay_behind(&v->turn, TIMING_vector_end, 1);
    ready = ready > end ? ready : end;
  }
  core->ready = ready > next ? ready : next;
}

/* The next operation starts with the last group of this one, but not as a whole.  False: it is a
 * mistake. */
static RARE bool start_behind_whole(Visit *v, const FastWhole *op, const ScalarCode *code)
{
  FastTile *t = v->tile;
  set_step(v, op->last);
  t->ahead->doubled++;
  t->ahead->is.kept = false;
  t->ahead->began = (uint8_t)(op->last - t->ahead->from);
  t->core.overlaps = false;
  vector_start_behind(&v->turn, code->insn, op->last + op->extra);
  leave_cycle(v);
  return !is_mistaken(v);
}

/* What follows an operation. */
typedef struct {
  const ScalarCode *code;       /* the one that waits for its last group, or NULL; then: */
  bool starts, is_whole, repeats;
  FastWhole op;                 /* is_whole, unless it repeats the one before */
} WholeNext;

/* The operation that waits starts with the last group.  False: it may not. */
static HOT bool find_next_whole(Visit *v, const FastWhole *op, uint64_t last, WholeNext *next)
{
  const FastVector *c = vector_of(v->engine, v->tile, next->code);
  next->repeats = c == op->code + 1 && c->repeats && !op->runs;
  if (next->repeats)
    return next->starts = next->is_whole = true;
  next->is_whole = find_whole(v, next->code, &next->op) && keep_whole(v, &next->op);
  next->starts = next->is_whole || overlap_follows(next->code->insn, v->tile->core.dsrs);
  return next->is_whole || !next->starts || starts_ahead(v, &next->code->insn->vec, last);
}

/* It has issued with the last group of the one before it, which is in `op`.  False: it is none as a
 * whole. */
static HOT bool begin_next_whole(Visit *v, FastWhole *op, WholeNext *next)
{
  uint64_t issued = op->last, ready = op->last + op->extra;
  if (next->repeats && repeat_whole(v, op)) {
    op->code++;
    op->insn = next->code->insn;
  } else {
    if (next->repeats && !find_whole(v, next->code, &next->op))
      return false;
    memcpy(next->op.room, op->room, sizeof op->room);
    if (!next->is_whole || !place_whole(v, &next->op))
      return false;
    *op = next->op;
  }
  v->tile->ahead->doubled++;
  ready += turn_pay_behind(&v->turn, TIMING_vector_next, 1);
  begin_whole(v, op, next->code, issued, ready > issued ? ready : issued + 1);
  return true;
}

/* ---- rows of multiply-adds ------------------------------------------------------------------- */

/* Products of matrices have rows of multiply-adds of 16-bit elements: beside each operation the
 * thread loads the factor of the next one, which repeats it, reads the elements behind those of the
 * one before, or the same ones, and adds to the same place.  The engine first finds how many follow
 * each other and their factors, and then does the arithmetic of all of them at once. */
enum { ROW_MOST = SCALAR_CYCLES / 2 };  /* each takes two cycles at least, in which it issues */
typedef struct {
  const ScalarCode *load;       /* beside the first operation; */
  unsigned words;               /* of it and the operation behind it */
  unsigned n, period;           /* operations; cycles from one to the next */
  uint64_t load_last;           /* issue of the last load */
  uint16_t factors[ROW_MOST + 1];       /* the last: of the operation behind them */
  unsigned n_fences;            /* memory that is written meanwhile */
  Bounds fences[SCALAR_FENCES + 1];
} FmaRow;

static HOT bool is_in_row_of_fmas(const FastTile *t, const FastWhole *op)
{
  return op->is_row_fma && op->alike && op->groups && !op->runs && op->code->feeds_next &&
         op->plain.bytes == sizeof(uint16_t) && op->code->scalar_bytes == sizeof(uint16_t) &&
         !(op->saves & ~(1u << PLAIN_SRC1)) && has_kept_results(t->ahead, &op->plain);
}

/* Where the source leaves its room, or goes back to the start of its buffer. */
static HOT int end_of_source(const FastTile *t, const FastWhole *op)
{
  const Descriptor *desc = &vector_dsr(t, op->code, PLAIN_SRC1)->desc;
  int room = op->room[PLAIN_SRC1].end;
  int buffer = desc->wrap_base + desc->wrap_length * (int)op->plain.bytes;
  return desc->kind == DESC_CIRC && buffer < room ? buffer : room;
}

/* Operations that may follow each other before the source meets the sums or comes to its end. */
static HOT unsigned most_of_row(const FastTile *t, const FastWhole *op)
{
  const FastPlain *p = &op->plain;
  int a = p->address[PLAIN_SRC1], c = p->address[PLAIN_DEST];
  int bytes = op->elements * (int)sizeof(uint16_t);
  bool is_below = a + bytes <= c;
  if (p->address[PLAIN_SRC0] != c || ((a | c) & 1) || (!is_below && a < c + bytes))
    return 0;
  if (!op->saves)
    return ROW_MOST;
  int room = end_of_source(t, op) - (a + bytes), apart = is_below ? c - a : room;
  int most = (room < apart ? room : apart) / bytes;
  return most < 0 || a < op->room[PLAIN_SRC1].start ? 0 : most < ROW_MOST ? (unsigned)most
                                                                         : ROW_MOST;
}

/* What a factor must not be read from. */
static HOT void fence_row(const Visit *v, const FastWhole *op, FmaRow *row)
{
  row->fences[0] = op->writes;
  row->n_fences = 1;
  for (unsigned i = 0; v->beside && i < v->beside->fences.n; i++)
    if (v->beside->fences.of[i].written)
      row->fences[row->n_fences++] = v->beside->fences.of[i].at;
}

static HOT bool is_free_in_row(const FmaRow *row, uint32_t factor)
{
  bool meets = false;
  for (unsigned i = 0; i < row->n_fences; i++)
    meets |= factor < row->fences[i].end && factor + sizeof(uint16_t) > row->fences[i].start;
  return !meets;
}

/* The groups of the operation whose source is there wait for a bank as those of the first one. */
static HOT bool waits_alike(const FastEngine *e, const FastWhole *op, unsigned source)
{
  unsigned apart = op->plain.address[PLAIN_SRC0] ^ source;
  unsigned waits = op->plain.one_bank ? op->plain.one_bank : !(apart & e->bank_mask);
  return waits * e->timing->bank_conflict == op->extra;
}

/* The operations from the one that has begun on whose groups are in cycles before `end`, up to the
 * first one that has to be looked at, or whose load has; the first load issues in cycle `ready`. */
static HOT void find_row(Visit *v, const FastWhole *op, uint64_t ready, uint64_t end, FmaRow *row)
{
  Tile *core = &v->tile->core;
  const FastVector *c = op->code;
  const ScalarCode *load = op->behind;
  unsigned most = most_of_row(v->tile, op), next = op->extra + v->engine->timing->vector_next;
  unsigned pay = load->pay[0] & SCALAR_PAY_MASK;
  unsigned source = op->plain.address[PLAIN_SRC1];
  unsigned further = op->saves ? op->elements * (unsigned)sizeof(uint16_t) : 0;
  uint64_t last = op->ready + op->span;
  row->load = load;
  row->words = load->words + load[load->words].words;
  row->period = op->span + (next ? next : 1);
  row->factors[0] = (uint16_t)op->plain.scalar;
  row->n = 0;
  fence_row(v, op, row);
  while (row->n < most && c->feeds_next && last < end && pay && ready + pay <= last &&
         load->pay[0] == row->load->pay[0] && waits_alike(v->engine, op, source) &&
         is_free_in_row(row, load->target)) {
    memcpy(&core->regs.r[load->reg], mem_static(&core->mem) + load->target, sizeof(uint16_t));
    row->factors[++row->n] = core->regs.r[c->scalar_reg];
    row->load_last = ready;
    ready = last + 1;
    last += row->period;
    source += further;
    load += row->words;
    c++;
  }
}

static HOT void mark_row(FastAhead *ahead, const FastWhole *op, const FmaRow *row)
{
  FastWhole at = {.groups = op->groups, .ready = op->ready};
  for (unsigned left = row->n; left;) {
    /* as many as a word of bits has room for, at once */
    unsigned some = 1;
    for (; some < left && (some + 1) * row->period <= WORD_BITS; some++)
      at.groups |= op->groups << some * row->period;
    mark_groups(ahead, &at);
    at.groups = op->groups;
    at.ready += some * row->period;
    left -= some;
  }
}

/* What has been done by the operations of a row, and the loads beside them. */
static HOT void count_row(Visit *v, const FastWhole *op, const FmaRow *row)
{
  EngineStats *stats = &v->worker->log.stats;
  unsigned n = row->n;
  stats->groups += n * op->count;
  stats->elements += n * op->elements;
  stats->stalls[STALL_BANK] += n * op->waits;
  turn_pay_behind(&v->turn, TIMING_vector_next, n);
  scalar_pay_often(row->load->pay[0], n, stats->paid);
  v->tile->ahead->doubled = (uint8_t)(v->tile->ahead->doubled + 2 * n);
}

/* Computes the operations of the row, and begins the one behind them. */
static HOT void do_row(Visit *v, FastWhole *op, const FmaRow *row)
{
  FastTile *t = v->tile;
  FastPlain *p = &op->plain;
  unsigned n = row->n, words = n * row->words, step = op->saves ? op->elements : 0;
  uint8_t *bytes = t->core.mem.bytes;
  mark_row(t->ahead, op, row);
  fp16_fma_rows(fp16_of(v), (const void *)(bytes + p->address[PLAIN_SRC1]), step, row->factors, n,
                (void *)(bytes + p->address[PLAIN_DEST]), op->elements);
  count_row(v, op, row);
  v->last_beside = row->load_last;
  p->address[PLAIN_SRC1] = (uint16_t)(p->address[PLAIN_SRC1] + n * step * sizeof(uint16_t));
  if (op->saves)
    tile_own_dsrs(&v->turn)[op->code->place[PLAIN_SRC1]].desc.base = p->address[PLAIN_SRC1];
  p->scalar = row->factors[n];
  op->pc = (uint16_t)(op->pc + words * sizeof(uint16_t));
  op->code += n;
  op->behind += words;
  op->insn = (op->behind - op->code->code_bytes / sizeof(uint16_t))->insn;
  op->ready += n * row->period;
  op->issued = op->ready - (row->period - op->span);
  end_whole(t, op, op->issued);
  go_on_behind(t, op);
}

/* The operation that has begun, and those that follow in its row, but for the last one in cycles
 * before `end`: that one has begun then. */
static HOT void step_row_of_fmas(Visit *v, FastWhole *op, uint64_t end)
{
  FmaRow row;
  if (!is_in_row_of_fmas(v->tile, op))
    return;
  find_row(v, op, v->tile->core.ready, end, &row);
  if (row.n)
    do_row(v, op, &row);
}

/* The operation that has begun, in cycles before `end`, and those that follow without a gap.
 * False: not all of that. */
static HOT bool step_wholes(Visit *v, FastWhole *op, uint64_t end, uint64_t last)
{
  WholeNext next;
  for (;;) {
    step_row_of_fmas(v, op, end);
    next.code = NULL;
    bool done = find_whole_groups(v->engine, op) && op->last < end &&
                keep_results(v->tile, &op->plain) && step_beside_whole(v, op, &next.code);
    if (!done || (next.code && !find_next_whole(v, op, last, &next))) {
      run_whole(v, op);
      return step_groups(v, end, last);
    }
    if (op->runs)
      drop_operation(v);
    do_whole(v, op);
    if (!next.code || !next.starts) {
      go_behind_whole(v, op);
      return true;
    }
    if (!begin_next_whole(v, op, &next))
      return start_behind_whole(v, op, next.code) && step_groups(v, end, last);
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
  begin_whole(v, &op, code, cycle, ready > cycle ? ready : cycle + 1);
  *goes_on = step_wholes(v, &op, end, last);
  return true;
}
