/* What an instruction does that is more than arithmetic: counters, configuration registers,
 * descriptors, tasks; and the issue of one instruction. */
#include "emu/tile/tile_internal.h"

#include "stb_ds.h"

#include <string.h>

enum { TSC_RUN_BIT = 1, TSC_WORDS = 3, STREAM_READY = 1, DESC_KIND_MASK = 0xf };
#define COUNTER_MASK UINT64_C(0xffffffffffff)

static void insn_fault(Turn *turn, FaultKind kind, uint32_t value)
{
  turn_tile_fault(turn, turn->tile->pc, kind, value);
}

/* ---- counters -------------------------------------------------------------------------------- */

static bool time_stamp_runs(const Tile *t)
{
  return t->counters && t->counters->running;
}

static uint64_t time_stamp(const Turn *turn)
{
  const Counters *c = turn->tile->counters;
  return c ? (c->value + (c->running ? turn->cycle - c->start : 0)) & COUNTER_MASK : 0;
}

/* Reading a counter's low word latches all of it, so that three reads in a row fit together.
 * Ours: performance counter 0 counts issues, counter 1 wavelets received. */
static uint16_t counter_word(const Turn *turn, unsigned word)
{
  Tile *t = turn->tile;
  Counters *c = tile_counters(t);
  unsigned counter = word / TSC_WORDS, part = word % TSC_WORDS;
  uint64_t *latch = counter == 0 ? &c->latch : &c->performance_latch[counter - 1];
  if (part == 0)
    *latch = counter == 0 ? time_stamp(turn) : counter == 1 ? t->issues : t->wavelets_seen;
  return (uint16_t)(*latch >> HALF_BITS * part);
}

/* The counter goes on from here. */
static void set_time_stamp(Turn *turn, uint64_t value, bool runs)
{
  Counters *c = tile_counters(turn->tile);
  c->value = value;
  c->start = turn->cycle;
  c->running = runs;
}

/* ---- configuration registers ----------------------------------------------------------------- */

static uint16_t queue_status(const Turn *turn, bool output)
{
  const Machine *m = turn->program->machine;
  uint8_t counts[MAX_QUEUES];
  for (unsigned q = 0; q < MAX_QUEUES; q++)
    counts[q] = (uint8_t)turn->port->count(turn, output, q);
  return registers_queue_status(counts, output ? m->output_queue_depth : m->input_queue_depth,
                                output ? m->output_queues : m->input_queues);
}

/* The operation of a microthread; NULL: none runs. */
static VecRun *thread_run(const Tile *t, unsigned microthread)
{
  return t->threads[1 + microthread].run;
}

static void set_thread(Tile *t, unsigned microthread, uint16_t word)
{
  VecRun *run = thread_run(t, microthread);
  if (!run)
    return;
  registers_set_thread(run, word);
  thread_set_level(t, 1 + microthread);
}

static bool read_config(const Turn *turn, uint16_t address, uint16_t *value)
{
  Tile *t = turn->tile;
  const Image *image = turn->program->image;
  const ConfigRegInfo *reg = config_reg_at(address);
  uint32_t x = program_x(turn->program, t->index), y = program_y(turn->program, t->index);
  if (!reg || !(reg->access & CONFIG_READ))
    return false;
  unsigned part = address - reg->address;
  switch ((int)reg->address) {
  case CFG_PE_COORD_X: *value = (uint16_t)x; return true;
  case CFG_PE_COORD_Y: *value = (uint16_t)y; return true;
  case CFG_FABRIC_COORD_X: *value = (uint16_t)(image->offset_x + x); return true;
  case CFG_FABRIC_COORD_Y: *value = (uint16_t)(image->offset_y + y); return true;
  case CFG_TSC_CONTROL: *value = time_stamp_runs(t) ? TSC_RUN_BIT : 0; return true;
  case CFG_TSC_COUNTER: *value = counter_word(turn, part); return true;
  case CFG_PERF_COUNTER: *value = counter_word(turn, TSC_WORDS + part); return true;
  case CFG_TASK_PRIORITY: *value = (uint16_t)(t->high >> HALF_BITS * part); return true;
  case CFG_TASK_ACTIVE: *value = (uint16_t)(t->active >> HALF_BITS * part); return true;
  case CFG_TASK_BLOCKED: *value = (uint16_t)(t->blocked >> HALF_BITS * part); return true;
  case CFG_TEARDOWN_PENDING:
    *value = (uint16_t)(t->torn_down >> HALF_BITS * part);
    t->torn_down &= ~((uint32_t)*value << HALF_BITS * part);
    return true;
  case CFG_QUEUE_STATUS: *value = queue_status(turn, part); return true;
  case CFG_MICROTHREAD: *value = registers_thread_word(thread_run(t, part)); return true;
  default: return registers_read(&t->registers, t->mem.cls->image, reg, part, value);
  }
}

static bool write_registers(Turn *turn, const ConfigRegInfo *reg, unsigned part, uint16_t value)
{
  Tile *t = turn->tile;
  bool written = registers_write(&t->registers, t->mem.cls->image, reg, part, value);
  turn->rebinds = true;
  t->regs.traps = registers_traps(&t->registers);
  return written;
}

static void put_print(Turn *turn, PrintKind kind, uint32_t value, unsigned bits)
{
  if (turn->prints)
    arrput(turn->log->prints,
           ((TilePrint){turn->cycle, turn->tile->index, value, (uint8_t)kind, (uint8_t)bits}));
}

/* The word is the lower half if an upper half has been written, else the whole number. */
static void print_number(Turn *turn, unsigned kind, uint16_t low)
{
  Tile *t = turn->tile;
  uint32_t high = t->print_wide ? (uint32_t)t->print_high << HALF_BITS : 0;
  put_print(turn, (PrintKind)kind, high | low, t->print_wide ? 2 * HALF_BITS : HALF_BITS);
  t->print_wide = false;
}

static uint64_t with_word(uint64_t whole, unsigned part, uint16_t value)
{
  unsigned shift = HALF_BITS * part;
  return (whole & ~((uint64_t)LOW16 << shift)) | (uint64_t)value << shift;
}

static bool write_config(Turn *turn, uint16_t address, uint16_t value)
{
  Tile *t = turn->tile;
  const ConfigRegInfo *reg = config_reg_at(address);
  if (!reg || !(reg->access & CONFIG_WRITE))
    return false;
  unsigned part = (unsigned)(address - reg->address);
  switch ((int)reg->address) {
  case CFG_TSC_CONTROL:
    set_time_stamp(turn, time_stamp(turn), value & TSC_RUN_BIT);
    return true;
  case CFG_TSC_COUNTER:
    set_time_stamp(turn, with_word(time_stamp(turn), part, value), time_stamp_runs(t));
    return true;
  case CFG_MAIN_PRIORITY: case CFG_TASK_PRIORITY:
    tile_priority_later(turn, address, value);
    return true;
  case CFG_MICROTHREAD: set_thread(t, part, value); return true;
  case CFG_CMD_STREAM: t->unblocks += value == STREAM_READY; return true;
  case CFG_SIM_PRINT: put_print(turn, PRINT_BYTE, (uint8_t)value, 0); return true;
  case CFG_SIM_NUMBER_HIGH:
    t->print_wide = true;
    t->print_high = value;
    return true;
  case CFG_SIM_NUMBER: print_number(turn, part, value); return true;
  default: return write_registers(turn, reg, part, value);
  }
}

/* The router's registers change behind everything else of the cycle: the engine does that. */
static bool access_router(Turn *turn, uint16_t address, bool store, uint16_t *word)
{
  if (!store)
    return turn->port->router_read(turn, address, word);
  uint16_t ignored;
  if (!turn->port->router_read(turn, address, &ignored))
    return false;
  turn->router_register = address;
  turn->router_value = *word;
  return true;
}

static void access_config(Turn *turn, uint16_t address, bool store, unsigned r)
{
  uint16_t *word = &turn->tile->regs.r[r];
  const ConfigRegInfo *reg = config_reg_at(address);
  if (reg && router_config_is(reg->address)) {
    if (!access_router(turn, address, store, word))
      turn_fault(turn, (Fault){.kind = FAULT_COLOR_REGISTER, .pc = turn->tile->pc,
                               .color = (uint8_t)(address - reg->address)});
    return;
  }
  if (!(store ? write_config(turn, address, *word) : read_config(turn, address, word)))
    insn_fault(turn, FAULT_CONFIG_ADDRESS, address);
}

static void exec_config(Turn *turn, const Insn *insn)
{
  bool immediate = insn->op == OP_ldcfgi || insn->op == OP_stcfgi;
  bool store = insn->op == OP_stcfg || insn->op == OP_stcfgi;
  uint16_t address = immediate ? (uint16_t)insn->imm : turn->tile->regs.r[insn->b];
  access_config(turn, address, store, insn->a);
}

/* ---- DSRs ------------------------------------------------------------------------------------ */

typedef struct { uint16_t at[sizeof(((ImageDsr *)0)->words) / sizeof(uint16_t)]; } DescriptorWords;

static unsigned words_of_kind(unsigned first)
{
  return descriptor_words((DescKind)(first & DESC_KIND_MASK));
}

/* If they lie in one place; else false. */
static bool copy_words(const TileMem *mem, uint32_t address, DescriptorWords *words)
{
  const uint8_t *data = address % 2 ? NULL : mem_data(mem, address, sizeof words->at[0]);
  unsigned bytes = data ? words_of_kind(data[0]) * (unsigned)sizeof words->at[0] : 0;
  data = data ? mem_data(mem, address, bytes) : NULL;
  if (data)
    memcpy(words->at, data, bytes);
  return data;
}

static FaultKind load_words(const TileMem *mem, uint32_t address, DescriptorWords *words)
{
  unsigned count = 1;
  for (unsigned i = 0; i < count; i++) {
    uint32_t word = 0;
    FaultKind fault = mem_load(mem, address + i * 2, 2, &word);
    if (fault != FAULT_COUNT)
      return fault;
    words->at[i] = (uint16_t)word;
    count = i ? count : words_of_kind(word);
  }
  return FAULT_COUNT;
}

static FaultKind load_descriptor(const TileMem *mem, uint32_t address, Descriptor *desc)
{
  DescriptorWords words = {{0}};
  FaultKind fault = copy_words(mem, address, &words) ? FAULT_COUNT
                                                     : load_words(mem, address, &words);
  if (fault == FAULT_COUNT && !descriptor_decode(words.at, ARRAY_COUNT(words.at), desc))
    fault = FAULT_DESCRIPTOR;
  return fault;
}

/* To be changed. */
static DsrState *insn_dsr(Turn *turn, const Insn *insn)
{
  return &tile_own_dsrs(turn)[turn->tile->dsrs.map->place[insn->file][insn->a]];
}

static void set_dsr(Turn *turn, const Insn *insn, const Descriptor *desc)
{
  Tile *t = turn->tile;
  unsigned place = t->dsrs.map->place[insn->file][insn->a];
  bool shares = !t->dsrs.own || t->shares_dsrs;
  DsrState *shared = shares ? turn->port->dsrs_load(turn, place, desc) : NULL;
  if (!shared) {
    dsr_set(&tile_own_dsrs(turn)[place], desc);
    return;
  }
  t->dsrs.own = shared;
  t->shares_dsrs = true;
}

static unsigned exec_ldsr(Turn *turn, const Insn *insn)
{
  const Tile *t = turn->tile;
  uint32_t address = insn->absolute ? insn->imm : (t->regs.r[insn->b] + insn->imm) & LOW16;
  Descriptor desc;
  FaultKind fault = load_descriptor(&t->mem, address, &desc);
  if (fault != FAULT_COUNT) {
    insn_fault(turn, fault, address);
    return 0;
  }
  set_dsr(turn, insn, &desc);
  bool extended = desc.kind == DESC_MEM4D || desc.kind == DESC_CIRC || desc.kind == DESC_FIFO;
  return turn_pay(turn, extended ? TIMING_xdsr_load : TIMING_dsr_load);
}

static void exec_dsrset(Turn *turn, const Insn *insn)
{
  uint16_t value = insn->absolute ? (uint16_t)insn->imm : turn->tile->regs.r[insn->b];
  if (!dsr_set_field(insn_dsr(turn, insn), insn->field, value))
    insn_fault(turn, FAULT_DSR_FIELD, insn->a);
}

static void exec_dsrget(Turn *turn, const Insn *insn)
{
  uint16_t value = 0;
  const DsrState *dsr = dsr_at(turn->tile->dsrs, insn->file, insn->a);
  if (!dsr_get_field(dsr, insn->field, &value))
    insn_fault(turn, FAULT_DSR_FIELD, insn->a);
  turn->tile->regs.r[insn->b] = value;
}

/* ---- the other instructions that are no arithmetic ------------------------------------------- */

static void exec_block(Turn *turn, unsigned kind, unsigned id, bool blocked)
{
  if (kind >= ID_KIND_COUNT || id >= id_kind_limit((IdKind)kind))
    insn_fault(turn, FAULT_ID_RANGE, id);
  else
    tile_set_blocked(turn, (IdKind)kind, id, blocked);
}

static void exec_qflush(Turn *turn, unsigned queue, bool output)
{
  if (queue >= id_kind_limit(ID_INPUT_QUEUE)) {
    insn_fault(turn, FAULT_ID_RANGE, queue);
    return;
  }
  registers_flush(&turn->tile->registers, output, queue);
  tile_watch_flush(turn->tile);
}

static void exec_stctr(Turn *turn, const Insn *insn)
{
  Tile *t = turn->tile;
  uint32_t base = insn->op == OP_stctr ? t->regs.r[insn->b] : 0;
  uint32_t address = (base + insn->imm) & LOW16;
  FaultKind fault = mem_store(&t->mem, address, 2, counter_word(turn, insn->a));
  if (fault != FAULT_COUNT)
    insn_fault(turn, fault, address);
}

/* Returns the cycles to the next issue. */
static unsigned exec_tile(Turn *turn, const Insn *insn)
{
  Tile *t = turn->tile;
  uint16_t *r = t->regs.r;
  TileRegisters *registers = &t->registers;
  if (insn->op == OP_ldsr)
    return exec_ldsr(turn, insn);
  switch ((int)insn->op) {
  case OP_dsrset: exec_dsrset(turn, insn); break;
  case OP_dsrget: exec_dsrget(turn, insn); break;
  case OP_act: tile_activate(turn, r[insn->a], t->pc, false); break;
  case OP_acti: tile_activate(turn, insn->imm, t->pc, false); break;
  case OP_blk: exec_block(turn, insn->imm, r[insn->a], true); break;
  case OP_blki: exec_block(turn, insn->a, insn->imm, true); break;
  case OP_unblk: exec_block(turn, insn->imm, r[insn->a], false); break;
  case OP_unblki: exec_block(turn, insn->a, insn->imm, false); break;
  case OP_ldcfg: case OP_ldcfgi: case OP_stcfg: case OP_stcfgi: exec_config(turn, insn); break;
  case OP_rnd: r[insn->a] = scalar_random(&registers->random[registers->generator]); break;
  case OP_prng:
    registers->generator = (uint8_t)(r[insn->a] % turn->program->machine->generators);
    break;
  case OP_stctr: case OP_stctra: exec_stctr(turn, insn); break;
  case OP_qflush: exec_qflush(turn, r[insn->a], insn->imm); break;
  default: insn_fault(turn, FAULT_UNSUPPORTED, 0); break;
  }
  return turn_pay(turn, timing_scalar_row(insn_info[insn->op].cost, STEP_NEXT));
}

/* ---- one scalar or vector instruction -------------------------------------------------------- */

static void find_access(Turn *turn, FaultKind kind, uint32_t address, uint32_t other)
{
  turn_fault(turn, (Fault){.kind = kind, .color = NO_COLOR, .pc = turn->tile->pc,
                           .value = address, .value2 = other});
}

/* Whether the access meets what an operation still does. */
static bool check_insn_race(Turn *turn, const MemoryAccess *access)
{
  const Tile *t = turn->tile;
  Bounds busy = access->store ? t->busy.used : t->busy.written;
  if (access->address >= busy.end || access->address + access->bytes <= busy.start)
    return false;
  Checked earlier = vector_running_before(turn, NULL);
  const VecRun *other = check_race(&earlier, access);
  if (other)
    find_access(turn, access->store ? FAULT_WRITE_RACE : FAULT_READ_RACE, access->address,
                other->pc);
  return other != NULL;
}

static void check_insn_memory(Turn *turn, const Insn *insn)
{
  const Tile *t = turn->tile;
  MemoryAccess access;
  if (!check_finds_access(turn->program, t->mem.cls, insn, t->pc, &t->regs, &access))
    return;
  if (is_outside(access.object, access.address, access.bytes)) {
    find_access(turn, FAULT_OUT_OF_BOUNDS, access.address, access.object.start);
    return;
  }
  if (check_insn_race(turn, &access))
    return;
  const VecRun *other = turn->checks & CHECKS_ORDER ? order_disturbed(t, &access) : NULL;
  if (other)
    find_access(turn, access.store ? FAULT_WRITE_UNWAITED : FAULT_READ_UNWAITED, access.address,
                other->pc);
}

/* It is no arithmetic and touches no memory but descriptors. */
static bool is_of_tile(Opcode op)
{
  switch ((int)op) {
  case OP_ldsr: case OP_dsrset: case OP_dsrget: case OP_act: case OP_acti: case OP_blk:
  case OP_blki: case OP_unblk: case OP_unblki:
    return true;
  default:
    return false;
  }
}

static void issue_scalar(Turn *turn, const Insn *insn)
{
  Tile *t = turn->tile;
  CostClass cost = insn_info[insn->op].cost;
  uint16_t next = (uint16_t)(t->pc + insn_words(insn->op) * 2);
  if (is_of_tile(insn->op)) {
    t->ready = turn->cycle + exec_tile(turn, insn);
    t->pc = next;
    return;
  }
  if (turn->program->memory_facts)
    check_insn_memory(turn, insn);
  ScalarResult result = scalar_exec(insn, t->pc, turn->program->image->fp16, &t->regs, &t->mem);
  switch (result.outcome) {
  case SCALAR_FAULT:
    insn_fault(turn, result.fault, result.value);
    t->running = false;
    return;
  case SCALAR_CONFIG:
    access_config(turn, (uint16_t)result.value, result.store, insn->a);
    t->ready = turn->cycle + turn_pay(turn, timing_scalar_row(cost, STEP_NEXT));
    t->pc = next;
    return;
  case SCALAR_JUMP: {
    ScalarStep step = step_to(t->pc, result.pc);
    t->pc = result.pc;
    if (result.pc == PC_RETURN)
      tile_end_main(turn);
    else
      t->ready = turn->cycle + turn_pay(turn, timing_scalar_row(cost, step));
    return;
  }
  case SCALAR_ENGINE:
    t->ready = turn->cycle + exec_tile(turn, insn);
    t->pc = next;
    return;
  case SCALAR_NEXT: default:
    t->ready = turn->cycle + turn_pay(turn, timing_scalar_row(cost, STEP_NEXT));
    t->pc = next;
    return;
  }
}

void tile_carry_out(Turn *turn, const Insn *insn)
{
  turn->log->stats.instructions++;
  if (insn->op == OP_vec)
    vector_start(turn, insn);
  else if (insn->op == OP_endtask)
    tile_end_main(turn);
  else
    issue_scalar(turn, insn);
}

void tile_issue(Turn *turn)
{
  Tile *t = turn->tile;
  const Insn *insn = class_insn(t->mem.cls, t->pc);
  if (!insn) {
    insn_fault(turn, FAULT_PC, t->pc);
    t->running = false;
    return;
  }
  turn_event(turn, .kind = EV_INST, .pc = t->pc);
  tile_carry_out(turn, insn);
}
