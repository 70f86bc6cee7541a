/* Fast engine: the steps of a stretch (ahead.c): which instructions may be one, the groups of the
 * main thread's operation, what goes on beside it, and operations that send one wavelet or load one
 * element. */
#include "emu/fast/step.h"

#include "stb_ds.h"

/* ---- vector instructions ------------------------------------------------------------------- */

enum { NO_REGISTER = 0xff };

/* A vector instruction, made ready: code.c.  By stream: place of its descriptor or NO_DSR; register
 * or NO_REGISTER; its variable, if the compiler knows it (`named`, a bit each). */
typedef struct FastVector {
  bool may;                     /* the kinds of its operands and elements allow it */
  bool overlaps;                /* the thread goes on beside it */
  bool repeats;                 /* it is like the vector instruction before it in the code */
  bool feeds_next;              /* beside it is only a load; the next one repeats it */
  bool has_scalar, has_index;
  bool may_send;                /* its operation allows what is said of one wavelet below, */
  bool may_load;                /* or of one element of memory */
  uint8_t kind, operation, bytes, width;    /* as in FastPlain */
  uint8_t scalar_reg, scalar_bytes, code_bytes, named;
  uint8_t place[PLAIN_STREAMS], reg[PLAIN_STREAMS];
  Bounds object[PLAIN_STREAMS];
} FastVector;

static HOT const DsrState *vector_dsr(const FastTile *t, const FastVector *c, unsigned k)
{
  Dsrs dsrs = t->core.dsrs;
  return &(dsrs.own ? dsrs.own : dsrs.map->start)[c->place[k]];
}

static HOT uint32_t vector_register(const Registers *regs, unsigned reg, unsigned bytes)
{
  return bytes == sizeof(uint32_t) ? reg_pair32(regs, reg) : regs->r[reg];
}

static HOT const FastVector *vector_of(const FastEngine *e, const FastTile *t,
                                       const ScalarCode *code)
{
  return &e->vectors[t->core.mem.cls->index][code->target];
}

/* Tiles load the same descriptors again and again: what a worker has decoded last, by the
 * words: the same address has others in other tiles.  DESC_NONE: no descriptor. */
enum { DECODED_BITS = 7, DECODED = 1 << DECODED_BITS, DECODED_BYTES = 16 };
typedef struct FastDecoded { uint64_t words[DECODED_BYTES / 8]; DsrState loaded; } FastDecoded;

/* ---- what may be a step -------------------------------------------------------------------- */

/* The operation before has written to the same place, and what was there has been kept then. */
static HOT bool has_kept_results(const FastAhead *ahead, const FastPlain *p)
{
  const FastOverwritten *whole = &ahead->overwritten;
  return ahead->is.kept ||
         (ahead->kept == p->remaining && ahead->kept_bytes == p->bytes &&
          whole->kept_address == p->address[PLAIN_DEST] && whole->kept_step == p->step[PLAIN_DEST]);
}

/* Keeps what the operation overwrites.  False: no room. */
static RARE bool keep_new_results(FastTile *t, const FastPlain *p)
{
  FastAhead *ahead = t->ahead;
  FastOverwritten *whole = &ahead->overwritten;
  if (p->remaining > AHEAD_ELEMENTS || p->remaining > block_room(&whole->stores, p->bytes))
    return false;
  keep_values(&t->core.mem, p, p->remaining, &whole->stores);
  ahead->kept = (uint8_t)p->remaining;
  ahead->kept_bytes = p->bytes;
  whole->kept_address = p->address[PLAIN_DEST];
  whole->kept_step = p->step[PLAIN_DEST];
  return true;
}

/* All that the operation overwrites has been kept, or is now.  False: no room. */
static HOT bool keep_results(FastTile *t, const FastPlain *p)
{
  return t->ahead->is.kept = has_kept_results(t->ahead, p) || keep_new_results(t, p);
}

static void mark_issue(FastAhead *ahead, uint64_t cycle)
{
  uint64_t at = cycle - ahead->from;
  ahead->issues[at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
}

static void mark_group(FastAhead *ahead, uint64_t cycle)
{
  uint64_t at = cycle - ahead->from;
  mark_issue(ahead, cycle);
  if (ahead->is.with_turns)
    ahead->overwritten.turns.groups[at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
}

/* The code at the next instruction, or NULL. */
static const ScalarCode *code_now(const FastEngine *e, const Tile *core)
{
  const ImageClass *image = core->mem.cls->image;
  uint32_t offset = (uint32_t)core->pc - image->code_address;
  return offset < image->code_words * 2u && offset % 2 == 0
           ? &e->code[core->mem.cls->index][offset / 2] : NULL;
}

/* The cycles from the start of an operation for a queue to its last group, at most. */
static uint64_t sending_cycles(const Timing *timing, uint64_t elements)
{
  return timing_cycles(timing, TIMING_vector_start) + elements * (1u + timing->bank_conflict);
}

/* The descriptor sends at once, from the queue that it has already, without any notice. */
static bool is_plain_sender(const Visit *v, const Descriptor *desc)
{
  const Tile *core = &v->tile->core;
  bool own = desc->color == COLOR_OF_QUEUE || v->turn.program->image->arch != ARCH_WSE3 ||
             desc->color == registers_queue_color(&core->registers, core->mem.cls->image, true,
                                                  desc->queue);
  return own && desc->done.kind == ACT_NONE && desc->on_control.kind == ACT_NONE;
}

/* So many results in cycles before `end` have room in the output queue, and the stretch sends to no
 * other one; what it was before the first result has been kept then. */
static HOT bool keep_queue(Visit *v, unsigned queue, uint32_t elements, uint64_t end)
{
  const FastEngine *e = v->engine;
  FastTile *t = v->tile;
  const FastQueue *q = &t->queues[queue].output;
  bool is_shared = v->beside && v->beside->outputs >> queue & 1;
  bool is_other = t->ahead->is.in_operation ||
                  (t->ahead->queue != NO_QUEUE && t->ahead->queue != queue);
  if (is_shared || is_other || q->count + elements > e->output_capacity[queue] ||
      t->core.ready + sending_cycles(e->timing, elements) >= end)
    return false;
  if (t->ahead->queue == queue)
    return true;
  t->ahead->queue = (uint8_t)queue;
  t->ahead->sent = (uint8_t)q->count;       /* so far */
  t->ahead->use = queue_use(q);
  return true;
}

/* An operation beside the stretch keeps its place in the descriptor at that place. */
static HOT bool is_place_beside(const Visit *v, unsigned place)
{
  const FastBeside *beside = v->beside;
  for (unsigned i = 0; beside && i < beside->n_dsrs; i++)
    if (beside->dsrs[i] == place)
      return true;
  return false;
}

static bool is_kept_beside(const Visit *v, DsrFile file, unsigned number)
{
  return is_place_beside(v, v->tile->core.dsrs.map->place[file][number]);
}

/* Whether the operation concerns memory and values only, but for results that have room. */
static HOT bool starts_ahead(Visit *v, const VecOperands *vec, uint64_t end)
{
  const VecOperand *operands[] = {&vec->src0, &vec->src1, &vec->dest};
  unsigned queue = NO_QUEUE;
  uint32_t longest = 1;
  for (unsigned i = 0; i < ARRAY_COUNT(operands); i++) {
    const VecOperand *operand = operands[i];
    if (operand->kind != VOPND_DSR)
      continue;
    const Descriptor *desc = &dsr_at(v->tile->core.dsrs, operand->file, operand->number)->desc;
    uint32_t length = dsr_length(desc);
    if (desc->flags & DESC_F_ASYNC || is_kept_beside(v, operand->file, operand->number))
      return false;
    if (desc->kind == DESC_FABOUT && operand == &vec->dest && is_plain_sender(v, desc))
      queue = desc->queue;
    else if (desc->kind != DESC_MEM1D && desc->kind != DESC_MEM4D && desc->kind != DESC_CIRC)
      return false;
    if ((desc->flags & (DESC_F_SAVE | DESC_F_STEP)) &&
        !keep_dsr(v->tile, operand->file, operand->number))
      return false;
    longest = length > longest ? length : longest;
  }
  return queue == NO_QUEUE || keep_queue(v, queue, longest, end);
}

/* The descriptor that the instruction loads is written beside it. */
static bool is_load_fenced(const Visit *v, const Insn *insn)
{
  uint32_t base = insn->absolute ? 0 : v->tile->core.regs.r[insn->b];
  uint32_t address = (base + insn->imm) & LOW16;
  return v->beside && scalar_is_fenced(&v->beside->fences, address,
                                       address + sizeof(((ImageDsr *)0)->words), false);
}

/* All halves of the words together, mixed: descriptors mostly differ in one or two of them. */
static HOT unsigned decoded_place(const uint64_t words[2])
{
  uint64_t all = words[0] ^ words[1];
  all ^= all >> 2 * HALF_BITS;
  all ^= all >> HALF_BITS;
  return (unsigned)(all ^ (all & LOW16) >> DECODED_BITS) % DECODED;
}

/* What the words say, as it has been decoded before or is now.  NULL: no descriptor of so many
 * words. */
static HOT const DsrState *decode_words(FastWorker *w, const uint64_t words[2])
{
  if (UNLIKELY(!w->decoded))
    w->decoded = fast_alloc(w, DECODED * sizeof *w->decoded, _Alignof(FastDecoded));
  FastDecoded *known = &w->decoded[decoded_place(words)];
  if (UNLIKELY(known->words[0] != words[0] || known->words[1] != words[1])) {
    uint16_t halves[DECODED_BYTES / sizeof(uint16_t)];
    Descriptor desc;
    memcpy(halves, words, sizeof halves);
    descriptor_decode(halves, ARRAY_COUNT(halves), &desc);
    dsr_set(&known->loaded, &desc);
    memcpy(known->words, words, sizeof known->words);
  }
  return known->loaded.desc.kind == DESC_NONE ? NULL : &known->loaded;
}

/* What the instruction loads.  NULL: that is no short descriptor in static data. */
static HOT const DsrState *find_loaded(const Visit *v, const Insn *insn)
{
  const TileMem *mem = &v->tile->core.mem;
  const ImageClass *image = mem->cls->image;
  uint32_t base = insn->absolute ? 0 : v->tile->core.regs.r[insn->b];
  uint32_t address = (base + insn->imm) & LOW16, end = address + DECODED_BYTES;
  uint64_t words[DECODED_BYTES / sizeof(uint64_t)];
  if (!mem->bytes || mem->tracked || (address & 1) || end > image->static_bytes ||
      (end > image->code_address && address < mem->cls->code_end) || is_load_fenced(v, insn))
    return NULL;
  memcpy(words, mem_static(mem) + address, sizeof words);
  return decode_words(v->worker, words);
}

/* It takes longer to load. */
static HOT bool is_extended(DescKind kind) { return kind == DESC_CIRC || kind == DESC_FIFO; }

/* As step_descriptor says, but for time.  False: nothing has been done. */
static HOT bool change_descriptor(Visit *v, const ScalarCode *code, DsrState *dsr, bool *longer)
{
  FastTile *t = v->tile;
  const Insn *insn = code->insn;
  uint16_t *r = t->core.regs.r;
  if (code->op == OP_dsrget)
    return dsr_get_field(dsr, insn->field, &r[insn->b]);
  if (code->op == OP_ldsr) {
    const DsrState *loaded = find_loaded(v, insn);
    if (!loaded || !keep_place(t, code->reg))
      return false;
    *longer = is_extended(loaded->desc.kind);
    *dsr = *loaded;
    return true;
  }
  DsrState changed = *dsr;
  uint16_t value = insn->absolute ? (uint16_t)insn->imm : r[insn->b];
  if (!dsr_set_field(&changed, insn->field, value) || !keep_place(t, code->reg))
    return false;
  *dsr = changed;
  return true;
}

/* Loads, changes or reads one of the tile's own descriptors, as such an instruction mostly does; it
 * pays with the rows.
 * NULL: nothing has been done; else the next instruction. */
static HOT const ScalarCode *step_descriptor(Visit *v, ScalarRun *rows, const ScalarCode *code)
{
  Tile *core = &v->tile->core;
  uint64_t cycle = core->ready;
  bool longer = false;
  if (!core->dsrs.own || core->shares_dsrs || is_place_beside(v, code->reg) ||
      !change_descriptor(v, code, &core->dsrs.own[code->reg], &longer))
    return NULL;
  mark_issue(v->tile->ahead, cycle);
  core->pc = (uint16_t)(core->pc + code->words * 2);
  core->ready = cycle + (code->pay[longer] & SCALAR_PAY_MASK);
  rows->paid += code->pay[longer];
  return code + code->words;
}

/* Before the descriptors are looked at: the operation may concern memory and values only, but for
 * results. */
static HOT bool may_start_ahead(const FastTile *t, const FastVector *c)
{
  for (unsigned k = 0; k < PLAIN_STREAMS; k++) {
    if (c->place[k] == NO_DSR)
      continue;
    const Descriptor *desc = &vector_dsr(t, c, k)->desc;
    bool sends = desc->kind == DESC_FABOUT && k == PLAIN_DEST;
    bool is_memory = desc->kind == DESC_MEM1D || desc->kind == DESC_MEM4D ||
                     desc->kind == DESC_CIRC;
    if (desc->flags & DESC_F_ASYNC || (!sends && !is_memory))
      return false;
  }
  return true;
}

/* The instruction concerns tasks or reads a descriptor, although its cost is that of arithmetic.
 * It may be a step. */
static bool is_step_of_tile(Opcode op)
{
  switch ((int)op) {
  case OP_dsrget: case OP_act: case OP_acti: case OP_blk: case OP_blki: case OP_unblk:
  case OP_unblki:
    return true;
  default:
    return false;
  }
}

/* A wavelet may come to the tile that starts this task. */
static bool is_channel(const Visit *v, unsigned id)
{
  const FastTile *t = v->tile;
  if (v->turn.program->image->arch != ARCH_WSE2)
    return id < MAX_QUEUES;
  return id < MAX_COLORS && (t->core.registers.queues || t->data_queue[id] < MAX_QUEUES);
}

/* As steps_ahead says, of one that concerns tasks. */
static bool steps_on_tasks(const Visit *v, const Insn *insn)
{
  const Tile *core = &v->tile->core;
  ScalarStores *stores = &v->tile->ahead->overwritten.stores;
  bool is_immediate = insn->op == OP_acti || insn->op == OP_blki || insn->op == OP_unblki;
  unsigned id = is_immediate ? (unsigned)insn->imm : core->regs.r[insn->a];
  if (v->beside)
    return false;
  if (insn->op == OP_act || insn->op == OP_acti)
    return id != v->turn.program->machine->teardown_task && keep_activation(core, stores, id);
  unsigned kind = is_immediate ? insn->a : (unsigned)insn->imm;
  return kind == ID_TASK && !is_channel(v, id) && keep_block(core, stores, id);
}

/* Whether the instruction, which is none for a row, may be a step in a cycle before `end`; what it
 * changes has been kept then. */
static bool steps_ahead(Visit *v, const Insn *insn, uint64_t end)
{
  switch (insn_info[insn->op].cost) {
  case COST_DSR_LOAD:
    return !is_load_fenced(v, insn) && !is_kept_beside(v, insn->file, insn->a) &&
           keep_dsr(v->tile, insn->file, insn->a);
  case COST_DSR_UPDATE:
    return !is_kept_beside(v, insn->file, insn->a) && keep_dsr(v->tile, insn->file, insn->a);
  case COST_VECTOR:
    return starts_ahead(v, &insn->vec, end);
  case COST_ALU16:
    return insn->op == OP_dsrget ? !is_kept_beside(v, insn->file, insn->a)
                                 : is_step_of_tile(insn->op) && steps_on_tasks(v, insn);
  case COST_ALU32: case COST_CMP32: case COST_ORDER32: case COST_MOVE32:
  case COST_MUL32: case COST_IDIV: case COST_FP: case COST_FDIV: case COST_FCONV: case COST_COUNTER:
  case COST_LOAD: case COST_STORE: case COST_JUMP: case COST_BRANCH: case COST_CALL:
  case COST_RETURN: case COST_CONFIG: case COST_RANDOM: case COST_ENDTASK: case COST_COUNT:
  default:
    return false;               /* take_steps does what it can of the end of a task */
  }
}

/* The rows of a stretch, in cycles before `end`: end_rows counts what they pay, and what
 * instructions about descriptors pay between them. */
static HOT ScalarRun begin_rows(const Visit *v, uint64_t end)
{
  FastTile *t = v->tile;
  FastAhead *ahead = t->ahead;
  return (ScalarRun){.code = v->engine->code[t->core.mem.cls->index],
                     .fp16 = v->turn.program->image->fp16, .regs = &t->core.regs,
                     .mem = &t->core.mem, .stores = &ahead->overwritten.stores,
                     .fences = v->beside ? &v->beside->fences : NULL,
                     .issues = ahead->issues, .end = (unsigned)(end - ahead->from)};
}

static HOT void end_rows(const Visit *v, const ScalarRun *run)
{
  scalar_pay(run->paid, v->worker->log.stats.paid);
}

/* Instructions in a row from `*at` on.  False: none. */
static HOT bool step_row(Visit *v, ScalarRun *run, const ScalarCode **at)
{
  FastTile *t = v->tile;
  unsigned first = (unsigned)(t->core.ready - t->ahead->from);
  run->at = *at;
  run->first = first;
  scalar_run(run);
  if (run->first == first)
    return false;
  *at = run->at;
  t->core.pc = (uint16_t)(t->core.mem.cls->image->code_address + (run->at - run->code) * 2);
  t->core.ready = t->ahead->from + run->first;
  return true;
}

/* What the thread does next is in a later cycle than the step in this one, which may be free of
 * charge. */
static void leave_cycle(const Visit *v)
{
  Tile *core = &v->tile->core;
  uint64_t next = v->turn.cycle + 1;
  Thread *th = &core->threads[MAIN_THREAD];
  if (core->ready < next)
    core->ready = next;
  if ((core->vectors & 1u << MAIN_THREAD) && th->ready < next)
    th->ready = next;
}

/* All that the operation reads and writes lies in variables, no result on another one, and its next
 * group is not the last, which ends it. */
static bool is_between_variables(const FastPlain *p)
{
  return p->input == NO_QUEUE && p->output == NO_QUEUE && !p->unbounded &&
         p->remaining > p->width && (p->memory & 1u << PLAIN_DEST) && p->step[PLAIN_DEST];
}

/* The cycles of the groups from `*next` on, before `end`, with `elements` at most and but the last;
 * a bit each from `ahead->from` on.  Returns how many groups; *next: the cycle of the one after
 * them; *waits: the cycles that they wait for banks. */
static unsigned find_groups(const FastEngine *e, const FastPlain *p, FastAhead *ahead, uint64_t end,
                            unsigned elements, uint64_t *next, uint64_t *waits)
{
  FastPlain at = *p;
  unsigned most = elements / p->width, left = (p->remaining - 1) / p->width, n = 0;
  unsigned rests = e->timing->groups_per_rest;
  uint64_t cycle = *next - ahead->from;
  end -= ahead->from;
  *waits = 0;
  for (most = most < left ? most : left; n < most && cycle < end; n++) {
    mark_group(ahead, ahead->from + cycle);
    unsigned extra = plain_conflict(e, &at);
    *waits += extra;
    cycle += 1 + extra;
    at.address[PLAIN_SRC0] = (uint16_t)(at.address[PLAIN_SRC0] + p->width * p->step[PLAIN_SRC0]);
    at.address[PLAIN_SRC1] = (uint16_t)(at.address[PLAIN_SRC1] + p->width * p->step[PLAIN_SRC1]);
    at.remaining -= p->width;
    if (UNLIKELY(rests))
      cycle += vec_rest(e->timing, true, at.remaining, p->width, extra);
  }
  *next = ahead->from + cycle;
  return n;
}

/* Computes so many groups, with so many elements, of the main thread's operation between
 * variables.  `next`: cycle of the group after them. */
static void do_groups(Visit *v, unsigned groups, unsigned elements, uint64_t next, uint64_t waits)
{
  EngineStats *stats = &v->worker->log.stats;
  Thread *th = &v->tile->core.threads[MAIN_THREAD];
  FastPlain *p = thread_plain(th);
  plain_elements_all(v, p, elements);
  p->remaining -= elements;
  th->ready = next;
  stats->groups += groups;
  stats->elements += elements;
  stats->stalls[STALL_BANK] += waits;
}

/* A step of the stretch is a finding. */
static bool is_mistaken(const Visit *v)
{
  return UNLIKELY(arrlenu(v->worker->log.faults) > v->findings);
}

/* The operation is over with the group of this cycle, and the next one may have begun: since then
 * so many instructions have been counted.  False: that one is a mistake. */
static bool step_behind(Visit *v, uint64_t instructions)
{
  FastAhead *ahead = v->tile->ahead;
  ahead->is.kept = false;
  ahead->doubled = (uint8_t)(ahead->doubled + v->worker->log.stats.instructions - instructions);
  ahead->began = (uint8_t)(v->turn.cycle - ahead->from);
  leave_cycle(v);
  return !is_mistaken(v);
}

/* A group of an operation beside which the thread goes on. */
static RARE bool step_overlapping(Visit *v)
{
  const FastPlain *p = thread_plain(&v->tile->core.threads[MAIN_THREAD]);
  bool ends = plain_elements(p) == p->remaining;
  uint64_t instructions = v->worker->log.stats.instructions;
  plain_group_any(v, MAIN_THREAD);
  return !ends || step_behind(v, instructions);
}

/* The next group.  False: it is a mistake. */
static HOT bool step_group(Visit *v)
{
  FastTile *t = v->tile;
  uint64_t cycle = t->core.threads[MAIN_THREAD].ready;
  set_step(v, cycle);
  mark_group(t->ahead, cycle);
  if (UNLIKELY(t->core.overlaps))
    return step_overlapping(v);
  plain_group(v, MAIN_THREAD);
  leave_cycle(v);
  return true;
}

/* So many groups up to the last one, in cycle `last`, of the operation between variables. */
static bool step_to_end(Visit *v, unsigned groups, uint64_t last, uint64_t waits)
{
  Thread *th = &v->tile->core.threads[MAIN_THREAD];
  FastPlain *p = thread_plain(th), at = *p;
  uint64_t instructions = v->worker->log.stats.instructions;
  unsigned before = (groups - 1) * p->width;
  for (unsigned k = 0; k < PLAIN_DEST; k++)
    at.address[k] = (uint16_t)(at.address[k] + (int)before * at.step[k]);
  unsigned extra = plain_conflict(v->engine, &at);
  set_step(v, last);
  mark_group(v->tile->ahead, last);
  do_groups(v, groups, p->remaining, last + 1 + extra, waits + extra);
  plain_finish(v, MAIN_THREAD, extra);
  return step_behind(v, instructions);
}

/* The groups of the operation between variables in cycles before `end`.  False: it is not over
 * then, or the next one is a mistake. */
static bool step_variables(Visit *v, uint64_t end)
{
  FastTile *t = v->tile;
  const Thread *th = &t->core.threads[MAIN_THREAD];
  const FastPlain *p = thread_plain(th);
  uint64_t next = th->ready, waits;
  unsigned groups = find_groups(v->engine, p, t->ahead, end, p->remaining, &next, &waits);
  if (next < end && p->remaining - groups * p->width <= p->width)
    return step_to_end(v, groups + 1, next, waits);
  if (groups)
    do_groups(v, groups, groups * p->width, next, waits);
  return false;
}

/* ---- registers ------------------------------------------------------------------------------ */

/* The next access of the list: a new one, or one that the stretch has made before.  NULL: there can
 * be none. */
static FastAccess *next_access(Visit *v, const Insn *insn)
{
  FastTile *t = v->tile;
  FastAccessKind kind;
  uint16_t address = config_address(t, insn);
  FastAccesses *there = accesses_there(t);
  if (there && there->n < there->known)
    return &there->of[there->n++];
  if (v->beside || v->turn.router_register ||
      !find_access(v->engine, t, address, is_config_store(insn), &kind))
    return NULL;
  FastAccesses *a = accesses_of(v);
  if (a->n == ACCESSES)
    return NULL;
  FastAccess *access = &a->of[a->n];
  *access = (FastAccess){.address = address, .value = t->core.regs.r[insn->a],
                         .at = (uint8_t)(t->core.ready - a->from), .kind = (uint8_t)kind};
  set_step(v, t->core.ready);
  make_access(v, a, access);
  a->n++;
  return access;
}

/* The instruction, which issues now.  False: it cannot be a step. */
static bool step_access(Visit *v, const Insn *insn)
{
  FastTile *t = v->tile;
  uint64_t cycle = t->core.ready;
  const FastAccess *access = next_access(v, insn);
  if (!access)
    return false;
  set_step(v, cycle);
  mark_issue(t->ahead, cycle);
  if (!is_config_store(insn))
    t->core.regs.r[insn->a] = access->value;
  t->core.pc = (uint16_t)(t->core.pc + insn_words(insn->op) * 2);
  t->core.ready = cycle + turn_pay(&v->turn, timing_scalar_row(COST_CONFIG, STEP_NEXT));
  leave_cycle(v);
  return true;
}

/* ---- operations that overlap --------------------------------------------------------------- */

/* The cycle of the operation's last group, or one that is not before `end`. */
static uint64_t find_last(const FastEngine *e, const FastPlain *p, uint64_t ready, uint64_t end)
{
  FastPlain at = *p;
  unsigned rests = e->timing->groups_per_rest;
  if (!p->both_memory && !rests)
    return ready + (p->remaining - 1) / p->width;
  while (at.remaining > at.width && ready < end) {
    unsigned extra = plain_conflict(e, &at);
    ready += 1 + extra;
    at.address[PLAIN_SRC0] = (uint16_t)(at.address[PLAIN_SRC0] + p->width * p->step[PLAIN_SRC0]);
    at.address[PLAIN_SRC1] = (uint16_t)(at.address[PLAIN_SRC1] + p->width * p->step[PLAIN_SRC1]);
    at.remaining -= p->width;
    ready += rests ? vec_rest(e->timing, true, at.remaining, p->width, extra) : 0;
  }
  return ready;
}

/* The load finds its value, which no operation beside it writes. */
static bool is_load_plain(const Visit *v, const ScalarCode *code)
{
  const Tile *core = &v->tile->core;
  MemoryAccess access;
  uint32_t value;
  scalar_access(code->insn, &core->regs, &access);
  uint32_t end = access.address + access.bytes;
  return !core->mem.tracked &&
         !(v->beside && scalar_is_fenced(&v->beside->fences, access.address, end, false)) &&
         !(code->bytes && is_outside(code->object, access.address, access.bytes)) &&
         mem_load(&core->mem, access.address, access.bytes, &value) == FAULT_COUNT;
}

/* What it changes has been kept then. */
static bool is_update_plain(Visit *v, const Insn *insn)
{
  DsrState changed = *dsr_at(v->tile->core.dsrs, insn->file, insn->a);
  return dsr_set_field(&changed, insn->field, 0) && !is_kept_beside(v, insn->file, insn->a) &&
         keep_dsr(v->tile, insn->file, insn->a);
}

/* The instruction can issue beside the main thread's operation and is no mistake. */
static bool steps_beside(Visit *v, const ScalarCode *code)
{
  const Tile *core = &v->tile->core;
  const Insn *insn = code->insn;
  CostClass cost = insn_info[insn->op].cost;
  return !(code->odd & SCALAR_MOVES_STACK) &&
         overlap_issues(core->threads[MAIN_THREAD].run, insn, &core->regs) &&
         (cost != COST_LOAD || is_load_plain(v, code)) &&
         (cost != COST_DSR_UPDATE || is_update_plain(v, insn));
}

static void issue_beside(Visit *v)
{
  Tile *core = &v->tile->core;
  uint64_t cycle = core->ready;
  set_step(v, cycle);
  v->tile->ahead->doubled++;
  v->last_beside = cycle;
  tile_issue(&v->turn);
  core->ready = core->ready > cycle ? core->ready : cycle + 1;
}

/* The instructions beside the main thread's operation, in cycles before `end`.  Returns the cycle
 * up to which its groups may be done.  Where microthreads run, the next operation waits for this
 * one: so their turns delay the groups alone. */
static RARE uint64_t step_beside(Visit *v, uint64_t end, uint64_t last)
{
  FastTile *t = v->tile;
  Tile *core = &t->core;
  Thread *th = &core->threads[MAIN_THREAD];
  const FastPlain *p = thread_plain(th);
  uint64_t last_group = find_last(v->engine, p, th->ready, end);
  plain_sync(th);
  while (core->ready <= last_group && core->ready < end) {
    const ScalarCode *code = code_now(v->engine, core);
    if (code && code->insn && code->insn->op == OP_vec) {
      core->waits = true;
      bool starts = last_group < end && overlap_follows(code->insn, core->dsrs);
      return starts && !starts_ahead(v, &code->insn->vec, last) ? last_group : end;
    }
    if (!code || !code->insn || !steps_beside(v, code))
      return core->ready;
    if (v->beside && core->ready == last_group)
      return last_group;        /* the next operation will not wait */
    issue_beside(v);
  }
  return v->beside && last_group < end && core->ready > last_group ? last_group : end;
}

/* ---- groups -------------------------------------------------------------------------------- */

/* The groups of the operation in cycles before `end`, with what goes on beside it and the
 * operations that follow without a gap.  False: one is not over then. */
static HOT bool step_groups(Visit *v, uint64_t end, uint64_t last)
{
  FastTile *t = v->tile;
  Thread *th = &t->core.threads[MAIN_THREAD];
  while (t->core.vectors & 1u << MAIN_THREAD) {
    const FastPlain *p = thread_plain(th);
    bool stores = p->memory & 1u << PLAIN_DEST;
    if (!th->plain || (v->beside && !is_unfenced(v->beside, p, p->remaining)) ||
        (stores && !keep_results(t, p)))
      return false;
    uint64_t until = UNLIKELY(t->core.overlaps) ? step_beside(v, end, last) : end;
    bool goes_on = is_between_variables(p) ? step_variables(v, until)
                   : th->ready < until && plain_waits(v, p) == STALL_NONE && step_group(v);
    if (!goes_on)
      return false;
  }
  return true;
}

/* ---- an operation that sends one wavelet ---------------------------------------------------- */

/* A stretch does it in one go: nothing of its tile can begin before it is over, so that no
 * operation ever runs.  One that has to be recorded, checked or kept beyond that is left to the
 * general way. */
typedef struct {
  uint32_t value[2];            /* of the sources */
  uint16_t address[2];          /* of those in memory: */
  uint8_t memory;               /* a bit each */
  uint8_t queue, color;
  uint16_t flags;               /* of what is sent: DESC_F_* */
} SingleSend;

/* The element lies in the static data, and in the variable that it is meant for. */
static inline bool is_single_plain(const Visit *v, const FastVector *c, unsigned k,
                                   uint16_t address)
{
  const Tile *core = &v->tile->core;
  const ClassCode *cls = core->mem.cls;
  const MemoryFacts *facts = v->turn.program->memory_facts;
  uint32_t end = (uint32_t)address + c->bytes;
  if (address & 1 || core->mem.tracked || end > cls->image->static_bytes ||
      (end > cls->image->code_address && address < cls->code_end))
    return false;
  Bounds object = c->named >> k & 1 ? c->object[k]
                  : facts ? check_variable(&facts[cls->index], address) : (Bounds){0};
  return !is_outside(object, address, c->bytes);
}

/* `*decided`: a descriptor has said the length.  False: it is not just one element in memory. */
static inline bool finds_source(const Visit *v, const FastVector *c, unsigned k, SingleSend *send,
                                bool *decided)
{
  const FastTile *t = v->tile;
  if (c->place[k] == NO_DSR) {
    if (c->reg[k] != NO_REGISTER)
      send->value[k] = vector_register(&t->core.regs, c->reg[k], c->bytes);
    return true;
  }
  const Descriptor *desc = &vector_dsr(t, c, k)->desc;
  bool says = !(desc->flags & DESC_F_SCALAR);
  if ((!*decided && says && desc->length != 1) || desc->kind != DESC_MEM1D ||
      (desc->flags & ~(unsigned)DESC_F_SCALAR) || !is_single_plain(v, c, k, desc->base))
    return false;
  *decided |= says;
  memcpy(&send->value[k], mem_static(&t->core.mem) + desc->base, c->bytes);
  send->address[k] = desc->base;
  send->memory |= (uint8_t)(1u << k);
  return true;
}

/* The queue has its color, which stays. */
static inline bool finds_queue(const Visit *v, const Descriptor *desc, SingleSend *send)
{
  const Program *program = v->turn.program;
  const Tile *core = &v->tile->core;
  send->queue = desc->queue;
  if (desc->queue >= program->machine->output_queues)
    return false;
  if (program->image->arch != ARCH_WSE3) {
    send->color = desc->color;
    return !core->registers.queues && desc->color < MAX_COLORS;
  }
  send->color = registers_queue_color(&core->registers, core->mem.cls->image, true, desc->queue);
  return send->color < MAX_COLORS &&
         (desc->color == COLOR_OF_QUEUE || desc->color == send->color);
}

/* The operation sends, and may be such a one. */
static inline bool is_sender(const FastTile *t, const FastVector *c)
{
  return c->may_send && vector_dsr(t, c, PLAIN_DEST)->desc.kind == DESC_FABOUT;
}

enum { SINGLE_FLAGS = DESC_F_INDEX | DESC_F_CONTROL | DESC_F_ADVANCE };

/* Whether the instruction, which sends, is such an operation, now that no other one runs. */
static inline bool finds_single(const Visit *v, const FastVector *c, SingleSend *send)
{
  const FastTile *t = v->tile;
  const Descriptor *desc = &vector_dsr(t, c, PLAIN_DEST)->desc;
  if ((desc->flags & ~(unsigned)SINGLE_FLAGS) || desc->length != 1 ||
      desc->done.kind != ACT_NONE || desc->on_control.kind != ACT_NONE || t->core.regs.traps ||
      (v->turn.checks & (CHECKS_TASKS | CHECKS_LENGTHS)))
    return false;
  bool decided = false;
  *send = (SingleSend){.flags = desc->flags};
  return finds_queue(v, desc, send) && finds_source(v, c, PLAIN_SRC0, send, &decided) &&
         finds_source(v, c, PLAIN_SRC1, send, &decided);
}

static inline uint32_t single_payload(const Visit *v, const FastVector *c, const Insn *insn,
                                      const SingleSend *send)
{
  const Registers *regs = &v->tile->core.regs;
  bool carry = false;           /* no plain operation has one */
  uint32_t scalar = 0, value = send->value[1];
  if (c->has_scalar)
    scalar = vector_register(regs, c->scalar_reg, c->scalar_bytes);
  if (c->kind != VK_MOV)
    value = vec_element((VecOp)c->operation, fp16_of(v), send->value[0], send->value[1], scalar,
                        &carry);
  if (c->bytes != sizeof value)
    value &= LOW16;
  if (send->flags & DESC_F_INDEX)
    value = (value & LOW16) | (uint32_t)(c->has_index ? regs->r[insn->vec.index] : 0) << HALF_BITS;
  return value;
}

/* Cycles that its group waits for a bank. */
static inline unsigned single_conflict(const FastEngine *e, const SingleSend *send)
{
  bool both = send->memory == (1u << PLAIN_SRC0 | 1u << PLAIN_SRC1);
  return both && !((send->address[0] ^ send->address[1]) & e->bank_mask)
           ? e->timing->bank_conflict : 0;
}

/* Carries it out: its group is in this cycle. */
static inline void do_single(Visit *v, const FastVector *c, const Insn *insn,
                             const SingleSend *send)
{
  Tile *core = &v->tile->core;
  EngineStats *stats = &v->worker->log.stats;
  unsigned extra = single_conflict(v->engine, send);
  uint32_t flags = (send->flags & DESC_F_CONTROL ? META_CONTROL : 0u) |
                   (send->flags & DESC_F_ADVANCE ? META_ADVANCE : 0u);
  queue_note(&v->tile->queues[send->queue].output,
             (QueueUse){.pc = core->pc, .elements = 1, .color = send->color,
                        .control = send->flags & DESC_F_CONTROL});
  output_put(v, send->queue,
             (FastWavelet){single_payload(v, c, insn, send),
                           wavelet_meta(v->output_visible, send->color, flags)});
  stats->groups++;
  stats->elements++;
  stats->stalls[STALL_BANK] += extra;
  turn_pay(&v->turn, TIMING_vector_start);
  core->pc = (uint16_t)(core->pc + c->code_bytes);
  core->regs.vstat = true;
  core->ready = v->turn.cycle + extra + turn_pay_behind(&v->turn, TIMING_vector_end, 1);
}

/* The cycle of the group of an operation that issues now and has only one. */
static inline uint64_t single_group(const Visit *v)
{
  uint64_t start = v->engine->timing->vector_start;
  return v->tile->core.ready + (start ? start : 1);
}

/* ---- an operation that loads one element into a register ------------------------------------ */

/* By the length of its descriptor, or the next one of a descriptor that goes on step by step.  Like
 * the one that sends a wavelet, it never runs. */
static inline bool is_single_load(const Visit *v, const FastVector *c)
{
  const FastTile *t = v->tile;
  const DsrState *dsr = vector_dsr(t, c, PLAIN_SRC1);
  const Descriptor *desc = &dsr->desc;
  bool is_one = desc->flags & DESC_F_STEP ? dsr->remaining != 0 : desc->length == 1;
  return is_one && desc->kind == DESC_MEM1D &&
         !(desc->flags & ~(unsigned)(DESC_F_STEP | DESC_F_SAVE)) && !t->core.regs.traps &&
         !(v->turn.checks & (CHECKS_TASKS | CHECKS_LENGTHS)) &&
         is_single_plain(v, c, PLAIN_SRC1, desc->base);
}

/* What the descriptor keeps has been kept then.  False: no room for that. */
static inline bool keep_load(FastTile *t, const FastVector *c, const VecOperand *source)
{
  unsigned flags = vector_dsr(t, c, PLAIN_SRC1)->desc.flags;
  return !(flags & (DESC_F_STEP | DESC_F_SAVE)) || keep_dsr(t, source->file, source->number);
}

/* The descriptor is behind the element, if it keeps its place. */
static inline void pass_element(Visit *v, const FastVector *c)
{
  unsigned flags = vector_dsr(v->tile, c, PLAIN_SRC1)->desc.flags;
  if (!(flags & (DESC_F_STEP | DESC_F_SAVE)))
    return;
  DsrState *dsr = &tile_own_dsrs(&v->turn)[c->place[PLAIN_SRC1]];
  dsr->desc.base = (uint16_t)(dsr->desc.base + dsr->desc.stride * (int)c->bytes);
  if (flags & DESC_F_STEP && dsr->remaining != UINT32_MAX)
    dsr->remaining--;
}

/* Carries it out: its group is in this cycle. */
static inline void do_load(Visit *v, const FastVector *c)
{
  Tile *core = &v->tile->core;
  EngineStats *stats = &v->worker->log.stats;
  uint32_t value = 0;
  memcpy(&value, mem_static(&core->mem) + vector_dsr(v->tile, c, PLAIN_SRC1)->desc.base,
         c->bytes);
  pass_element(v, c);
  if (c->bytes == sizeof value)
    set_reg32(&core->regs, c->reg[PLAIN_DEST], value);
  else
    core->regs.r[c->reg[PLAIN_DEST]] = (uint16_t)value;
  stats->groups++;
  stats->elements++;
  turn_pay(&v->turn, TIMING_vector_start);
  core->pc = (uint16_t)(core->pc + c->code_bytes);
  core->regs.vstat = true;
  core->ready = v->turn.cycle + turn_pay_behind(&v->turn, TIMING_vector_end, 1);
}
