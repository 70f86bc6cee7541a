/* Vector operations: the capture of operands at issue, the walk of streams through memory, the
 * result of one element. Shared by both engines; no queues and no time here, except the group
 * widths of timing.def. */
#include "emu/tile/tile_internal.h"

#include <string.h>

enum { BITS16 = 16, SIGN16 = 0x8000 };
#define SIGN32 0x80000000u

/* ---- DSRs ------------------------------------------------------------------------------------ */

static bool desc_in_memory(const Descriptor *desc)
{
  return desc->kind == DESC_MEM1D || desc->kind == DESC_MEM4D || desc->kind == DESC_CIRC;
}

static bool desc_on_fabric(const Descriptor *desc)
{
  return desc->kind == DESC_FABIN || desc->kind == DESC_FABOUT;
}

static bool set_memory_field(DsrState *dsr, DsrField field, uint16_t value)
{
  Descriptor *desc = &dsr->desc;
  if (field == DSRF_BASE || field == DSRF_BASE_ADD) {
    if (!desc_in_memory(desc) && desc->kind != DESC_FIFO)
      return false;
    desc->base = field == DSRF_BASE ? value : (uint16_t)(desc->base + value);
    return true;
  }
  if (desc->kind != DESC_MEM1D && desc->kind != DESC_CIRC)
    return false;
  desc->stride = (int16_t)value;
  return true;
}

static bool is_loop_field(DsrField field)
{
  return field >= DSRF_LENGTH0 && field <= DSRF_STRIDE3;
}

/* Length or stride of one loop of a mem4d descriptor. */
static bool set_loop_field(DsrState *dsr, DsrField field, uint16_t value)
{
  Descriptor *desc = &dsr->desc;
  unsigned part = (unsigned)field - DSRF_LENGTH0;
  if (desc->kind != DESC_MEM4D)
    return false;
  if (part % 2)
    desc->strides[part / 2] = (int16_t)value;
  else
    desc->lengths[part / 2] = value;
  dsr->remaining = dsr_length(desc);
  return true;
}

static bool get_loop_field(const Descriptor *desc, DsrField field, uint16_t *value)
{
  unsigned part = (unsigned)field - DSRF_LENGTH0;
  *value = part % 2 ? (uint16_t)desc->strides[part / 2] : desc->lengths[part / 2];
  return desc->kind == DESC_MEM4D;
}

bool dsr_set_field(DsrState *dsr, DsrField field, uint16_t value)
{
  Descriptor *desc = &dsr->desc;
  if (is_loop_field(field))
    return set_loop_field(dsr, field, value);
  switch ((int)field) {
  case DSRF_BASE: case DSRF_BASE_ADD: case DSRF_STRIDE:
    return set_memory_field(dsr, field, value);
  case DSRF_LENGTH:
    if (desc->kind == DESC_MEM4D || desc->kind == DESC_NONE)
      return false;
    desc->length = value;
    dsr->remaining = value;
    return true;
  case DSRF_DONE:
    return desc_on_fabric(desc) && action_decode(value, &desc->done);
  case DSRF_CONTROL:
    return desc_on_fabric(desc) && action_decode(value, &desc->on_control);
  case DSRF_FLAGS:
    if (desc->kind == DESC_NONE)
      return false;
    desc->flags |= value;
    return true;
  case DSRF_REMAINING: case DSRF_COUNT: default:
    return false;
  }
}

bool dsr_get_field(const DsrState *dsr, DsrField field, uint16_t *value)
{
  const Descriptor *desc = &dsr->desc;
  if (desc->kind == DESC_NONE)
    return false;
  if (is_loop_field(field))
    return get_loop_field(desc, field, value);
  switch ((int)field) {
  case DSRF_BASE: *value = desc->base; return true;
  case DSRF_LENGTH: *value = (uint16_t)dsr_length(desc); return true;
  case DSRF_STRIDE: *value = (uint16_t)desc->stride; return true;
  case DSRF_DONE: *value = action_encode(desc->done); return true;
  case DSRF_CONTROL: *value = action_encode(desc->on_control); return true;
  case DSRF_FLAGS: *value = desc->flags; return true;
  case DSRF_REMAINING:
    *value = (uint16_t)(dsr->remaining > LOW16 ? LOW16 : dsr->remaining);
    return true;
  case DSRF_BASE_ADD: case DSRF_COUNT: default:
    return false;
  }
}

/* ---- state blocks of FIFOs ------------------------------------------------------------------- */

/* Words of the state block, see FIFO_STATE_WORDS in machine.h. */
enum {
  FIFO_FIRST, FIFO_CAPACITY, FIFO_READ, FIFO_WRITE, FIFO_HELD = FIFO_W_HELD, FIFO_FLAGS,
  FIFO_ELEMENT, FIFO_PUSH_ACTION = FIFO_W_PUSH_ACTION, FIFO_POP_ACTION = FIFO_W_POP_ACTION,
  FIFO_FOUND_EMPTY = 1, FIFO_FOUND_FULL = 2,
};

static FaultKind fifo_word(const TileMem *mem, uint16_t state, unsigned word, uint32_t *value)
{
  return mem_load(mem, state + word * 2u, 2, value);
}

static FaultKind fifo_set_word(TileMem *mem, uint16_t state, unsigned word, uint32_t value)
{
  return mem_store(mem, state + word * 2u, 2, value);
}

static unsigned fifo_length_word(bool push)
{
  return push ? FIFO_W_WRITE_LENGTH : FIFO_W_READ_LENGTH;
}

/* ---- capture at issue ------------------------------------------------------------------------ */

typedef struct {
  VecRun *run;
  const VecOperands *vec;
  const Program *program;
  const ImageClass *cls;
  uint8_t shared_inputs;
  const Registers *regs;
  Dsrs dsrs;
  const TileMem *mem;
  const TileRegisters *registers;
  uint32_t *fault_value;
  const DsrState *operand[3];   /* src0, src1, dest: NULL if not a DSR */
} Capture;

static bool stream_on_fabric(const VecStream *s)
{
  return s->kind == VS_FABIN || s->kind == VS_FABOUT;
}

static void capture_memory(const Capture *c, VecStream *s, const DsrState *dsr)
{
  const Descriptor *desc = &dsr->desc;
  s->kind = VS_MEMORY;
  s->address = desc->base;
  if (desc->flags & DESC_F_INDEX)
    s->address = (uint16_t)(s->address + c->run->index * c->program->machine->word_bytes);
  s->dimensions = 1;
  s->lengths[0] = desc->length;
  s->strides[0] = desc->stride;
  if (desc->kind == DESC_MEM4D) {
    for (uint8_t i = 0; i < ARRAY_COUNT(desc->lengths); i++) {
      s->lengths[i] = desc->lengths[i];
      s->strides[i] = desc->strides[i];
      if (desc->lengths[i] > 1)
        s->dimensions = (uint8_t)(i + 1);
    }
  }
  if (desc->flags & DESC_F_STEP)
    memcpy(s->index, dsr->index, sizeof s->index);
  if (desc->kind == DESC_CIRC) {
    s->circular = true;
    s->wrap_base = desc->wrap_base;
    s->wrap_bytes = (uint32_t)desc->wrap_length * s->element_bytes;
  }
}

/* Fabric SIMD modes (SDK docs, DSDs): 32: a wavelet carries two 16-bit elements; 64: pairs of
 * wavelets move together; 32_or_64: one or two.  Without a mode nothing was packed up to 1.4, and
 * since 2 as much as the machine can (SDK release notes). */
static SimdMode simd_mode(const Capture *c, const Descriptor *desc)
{
  if (desc->simd != SIMD_DEFAULT)
    return desc->simd;
  if (c->program->image->sdk < SDK_PACKS)
    return SIMD_OFF;
  return c->program->image->arch == ARCH_WSE3 ? SIMD_32_OR_64 : SIMD_32;
}

/* Elements are packed by the operation: one fabric operand without SIMD makes all of them move one
 * element per wavelet.  Inferred: published programs combine the two and rely on it. */
static void capture_packing(Capture *c)
{
  VecStream *streams[] = {&c->run->src[0], &c->run->src[1], &c->run->dest};
  bool off = false;
  if (!stream_on_fabric(streams[0]) && !stream_on_fabric(streams[1]) &&
      !stream_on_fabric(streams[2]))
    return;
  for (unsigned i = 0; i < ARRAY_COUNT(streams); i++)
    off |= stream_on_fabric(streams[i]) && simd_mode(c, &c->operand[i]->desc) == SIMD_OFF;
  for (unsigned i = 0; i < ARRAY_COUNT(streams); i++) {
    VecStream *s = streams[i];
    if (!stream_on_fabric(s))
      continue;
    SimdMode mode = off ? SIMD_OFF : simd_mode(c, &c->operand[i]->desc);
    bool one_each = s->element_bytes > 2 || (s->flags & (DESC_F_INDEX | DESC_F_CONTROL));
    s->per_wavelet = mode == SIMD_OFF || one_each ? 1 : 2;
    s->min_wavelets = mode == SIMD_64 ? 2 : 1;
    s->max_wavelets = mode == SIMD_64 || mode == SIMD_32_OR_64 ? 2 : 1;
  }
}

/* A DSD that names the color that its queue started with means the queue's, which a program can
 * rebind. */
static uint8_t color_of_queue(const Capture *c, VecStream *s, const Descriptor *desc, bool out)
{
  const ImageQueue *loaded = out ? &c->cls->output[desc->queue] : &c->cls->input[desc->queue];
  uint8_t bound = registers_queue_color(c->registers, c->cls, out, desc->queue);
  bool is_own = desc->color != COLOR_OF_QUEUE && loaded->used && loaded->color != desc->color;
  uint8_t color = bound < MAX_COLORS && is_own ? desc->color : bound;
  s->remaps = color != bound && c->program->image->arch == ARCH_WSE3;
  return color;
}

static FaultKind capture_fabric(const Capture *c, VecStream *s, const Descriptor *desc)
{
  const Machine *m = c->program->machine;
  bool out = desc->kind == DESC_FABOUT;
  bool has_color = !out || c->program->image->arch == ARCH_WSE3 ||
                   registers_sends_rebound(c->registers, desc->queue);
  *c->fault_value = fault_queue(out, desc->queue);
  if (desc->queue >= (out ? m->output_queues : m->input_queues))
    return FAULT_QUEUE;
  s->kind = out ? VS_FABOUT : VS_FABIN;
  s->queue = desc->queue;
  s->color = has_color ? color_of_queue(c, s, desc, out) : desc->color;
  s->picks = !out && (c->shared_inputs >> s->queue & 1);
  return s->color < MAX_COLORS ? FAULT_COUNT : FAULT_QUEUE;
}

uint32_t vec_register(const Registers *regs, unsigned number, unsigned bytes)
{
  return bytes == 4 ? reg_pair32(regs, number) : regs->r[number];
}

/* The length of a FIFO is the descriptor's, else the one its state block has for the direction. */
static FaultKind capture_fifo_length(const Capture *c, VecStream *s, bool push, uint16_t length)
{
  uint32_t own = length;
  FaultKind fault = own ? FAULT_COUNT : fifo_word(c->mem, s->address, fifo_length_word(push), &own);
  s->lengths[0] = (uint16_t)own;
  return fault;
}

static FaultKind capture_dsr(Capture *c, VecStream *s, VecSlot slot, const VecOperand *operand)
{
  const DsrState *dsr = dsr_at(c->dsrs, operand->file, operand->number);
  const Descriptor *desc = &dsr->desc;
  bool is_dest = slot == VSLOT_DEST;
  *c->fault_value = fault_dsr(operand->file, operand->number);
  s->from_dsr = true;
  s->file = operand->file;
  s->number = operand->number;
  s->flags = desc->flags;
  if (slot == VSLOT_SRC0 && (desc->flags & DESC_F_SCALAR))    /* an accumulator, as the result is */
    s->element_bytes = (uint8_t)vec_operand_bytes(c->vec, VSLOT_DEST);
  c->operand[is_dest ? 2 : slot == VSLOT_SRC0 ? 0 : 1] = dsr;
  switch (desc->kind) {
  case DESC_MEM1D: case DESC_MEM4D: case DESC_CIRC:
    capture_memory(c, s, dsr);
    return FAULT_COUNT;
  case DESC_FABIN:
    return is_dest ? FAULT_DSR_EMPTY : capture_fabric(c, s, desc);
  case DESC_FABOUT:
    return is_dest ? capture_fabric(c, s, desc) : FAULT_DSR_EMPTY;
  case DESC_FIFO:
    s->kind = VS_FIFO;
    s->address = desc->base;
    return capture_fifo_length(c, s, is_dest, desc->length);
  case DESC_NONE: case DESC_KIND_COUNT: default:
    return FAULT_DSR_EMPTY;
  }
}

static FaultKind capture_operand(Capture *c, VecStream *s, VecSlot slot, const VecOperand *operand)
{
  s->kind = VS_NONE;
  if (operand->kind == VOPND_NONE)
    return FAULT_COUNT;
  s->element_bytes = (uint8_t)vec_operand_bytes(c->vec, slot);
  if (operand->kind == VOPND_DSR)
    return capture_dsr(c, s, slot, operand);
  s->kind = slot == VSLOT_DEST ? VS_REGISTER : VS_VALUE;
  s->reg = operand->number;
  s->value = vec_register(c->regs, operand->number, s->element_bytes);
  return FAULT_COUNT;
}

/* The first operand, in the order src0, src1, dest, whose descriptor says a length decides, 0
 * included.  One number's place says none, and a FIFO of length 0 neither (csl-examples,
 * benchmark-libs/allreduce, comment). */
static void capture_length(Capture *c)
{
  VecRun *run = c->run;
  const VecStream *streams[] = {&run->src[0], &run->src[1], &run->dest};
  bool stepping = false, exhausted = false, decided = false;
  run->remaining = 1;
  for (unsigned i = 0; i < ARRAY_COUNT(c->operand); i++) {
    if (!c->operand[i])
      continue;
    const Descriptor *desc = &c->operand[i]->desc;
    if (desc->flags & DESC_F_STEP) {
      stepping = true;
      exhausted |= c->operand[i]->remaining == 0;
    }
    bool is_fifo = desc->kind == DESC_FIFO;
    uint32_t length = is_fifo ? streams[i]->lengths[0] : dsr_length(desc);
    if (decided || (is_fifo && length == 0) || (desc->flags & DESC_F_SCALAR))
      continue;
    decided = true;
    run->remaining = length;
    run->unbounded = desc->kind != DESC_MEM4D &&
                     length == c->program->machine->unbounded_length;
  }
  if (stepping) {
    run->remaining = exhausted ? 0 : 1;
    run->unbounded = false;
  }
  run->length = run->remaining;
}

/* Microthread number (SDK docs, microthreads): wse2 the output queue, else the first input
 * queue; wse3 the first number given in the order dest, src0, src1, else the queue of the first
 * fabric operand in that order. */
static FaultKind capture_thread(Capture *c)
{
  const DsrState *order[3] = {c->operand[2], c->operand[0], c->operand[1]};
  bool wse3 = c->program->image->arch == ARCH_WSE3, found = false, given = false;
  VecRun *run = c->run;
  for (unsigned i = 0; i < ARRAY_COUNT(order); i++) {
    const Descriptor *desc = order[i] ? &order[i]->desc : NULL;
    if (!desc || !desc_on_fabric(desc))
      continue;
    if (!found)
      run->microthread = desc->queue;   /* dest comes first: a fabout wins on wse2 too */
    found = true;
    if (wse3 && desc->ut_given && !given) {
      run->microthread = desc->ut;
      given = true;
    }
  }
  return found ? FAULT_COUNT : FAULT_UNSUPPORTED;
}

static void capture_settings(Capture *c)
{
  const DsrState *order[3] = {c->operand[2], c->operand[0], c->operand[1]};
  VecRun *run = c->run;
  bool priority_given = c->vec->priority != 0;
  if (priority_given)
    run->priority = (Priority)(c->vec->priority - 1);
  for (unsigned i = 0; i < ARRAY_COUNT(order); i++) {
    const Descriptor *desc = order[i] ? &order[i]->desc : NULL;
    if (!desc)
      continue;
    run->async |= (desc->flags & DESC_F_ASYNC) != 0;
    if (!desc_on_fabric(desc))
      continue;
    if (run->done.kind == ACT_NONE)
      run->done = desc->done;
    if (desc->kind == DESC_FABIN && run->on_control.kind == ACT_NONE)
      run->on_control = desc->on_control;
    if (desc->priority_given && !priority_given) {
      run->priority = desc->priority;
      priority_given = true;
    }
    if (desc->kind == DESC_FABOUT) {
      run->zero_first = (desc->flags & DESC_F_ZERO0) != 0;
      run->zero_second = (desc->flags & DESC_F_ZERO1) != 0;
    }
  }
}

static unsigned stream_width(const VecStream *s, const Timing *timing, unsigned width)
{
  if (s->kind == VS_FABIN || s->kind == VS_FABOUT) {
    unsigned most = (unsigned)s->per_wavelet * s->max_wavelets;
    return most < width ? most : width;
  }
  return s->kind == VS_MEMORY ? vec_stride_width(timing, s->strides[0], width) : width;
}

FaultKind vec_begin(VecRun *run, const Insn *insn, uint16_t pc, const Program *program,
                    const ClassCode *cls, const Registers *regs,
                    Dsrs dsrs, const TileMem *mem,
                    const TileRegisters *registers, uint32_t *fault_value)
{
  const VecOperands *vec = &insn->vec;
  Capture c = {.run = run, .vec = vec, .program = program, .cls = cls->image,
               .shared_inputs = cls->shared_inputs, .regs = regs,
               .dsrs = dsrs, .mem = mem, .registers = registers, .fault_value = fault_value};
  *run = (VecRun){.op = vec->op, .pc = pc, .insn_words = (uint16_t)insn_words(insn->op),
                  .carry = regs->vector_carry, .traps = regs->traps};
  *fault_value = 0;
  if (vec->has_index)
    run->index = regs->r[vec->index];
  if (vec->has_scalar)
    run->scalar = vec_register(regs, vec->scalar, vec_operand_bytes(vec, VSLOT_SCALAR));
  FaultKind fault = capture_operand(&c, &run->dest, VSLOT_DEST, &vec->dest);
  if (fault == FAULT_COUNT)
    fault = capture_operand(&c, &run->src[0], VSLOT_SRC0, &vec->src0);
  if (fault == FAULT_COUNT)
    fault = capture_operand(&c, &run->src[1], VSLOT_SRC1, &vec->src1);
  if (fault != FAULT_COUNT)
    return fault;
  if (vecops[vec->op].kind == VK_DFILT) {
    if (run->src[1].kind != VS_FABIN)
      return FAULT_DSR_EMPTY;
    run->src[1].flags |= DESC_F_TRANSFORM;     /* it takes control wavelets too */
  }
  if (run->src[0].kind == VS_FABIN && run->src[1].kind == VS_FABIN &&
      run->src[0].queue == run->src[1].queue) {
    *fault_value = run->src[0].queue;
    return FAULT_QUEUE_TWICE;
  }
  run->fold = vec->dest.kind == VOPND_REG && vec->src0.kind == VOPND_REG &&
              vec->dest.number == vec->src0.number;
  capture_packing(&c);
  capture_settings(&c);
  capture_length(&c);
  unsigned width = program->timing.simd[run->op];
  width = stream_width(&run->dest, &program->timing, width);
  width = stream_width(&run->src[0], &program->timing, width);
  run->width = (uint8_t)stream_width(&run->src[1], &program->timing, width);
  if (!run->async)
    return FAULT_COUNT;
  *fault_value = 0;
  return run->dest.kind == VS_REGISTER ? FAULT_UNSUPPORTED : capture_thread(&c);
}

/* ---- walking --------------------------------------------------------------------------------- */

void vec_stream_place(VecStream *stream, int32_t address)
{
  if (stream->circular && stream->wrap_bytes) {
    int32_t offset = (address - stream->wrap_base) % (int32_t)stream->wrap_bytes;
    address = stream->wrap_base + (offset < 0 ? offset + (int32_t)stream->wrap_bytes : offset);
  }
  stream->address = (uint16_t)address;
}

/* The outermost dimension has no end here: the operation's length decides when to stop, and
 * save_address continues behind the last element. */
void vec_stream_advance(VecStream *stream)
{
  if (stream->kind != VS_MEMORY)
    return;
  unsigned k = 0;
  while (k + 1u < stream->dimensions && ++stream->index[k] >= stream->lengths[k])
    stream->index[k++] = 0;
  vec_stream_place(stream, stream->address + stream->strides[k] * (int32_t)stream->element_bytes);
}

unsigned vec_wavelets(const VecStream *stream, unsigned elements)
{
  return (stream->phase + elements + stream->per_wavelet - 1u) / stream->per_wavelet;
}

static bool reads_queue(const VecRun *run, unsigned queue)
{
  return (run->src[0].kind == VS_FABIN && run->src[0].queue == queue) ||
         (run->src[1].kind == VS_FABIN && run->src[1].queue == queue);
}

uint8_t vec_fabric_color(const VecRun *run)
{
  const VecStream *streams[] = {&run->dest, &run->src[0], &run->src[1]};
  for (unsigned i = 0; i < ARRAY_COUNT(streams); i++)
    if (streams[i]->kind == VS_FABIN || streams[i]->kind == VS_FABOUT)
      return streams[i]->color;
  return NO_COLOR;
}

const VecStream *vec_shared_stream(const VecRun *run, const VecRun *other)
{
  if (run->dest.kind == VS_FABOUT && other->dest.kind == VS_FABOUT &&
      run->dest.queue == other->dest.queue)
    return &run->dest;
  for (unsigned k = 0; k < ARRAY_COUNT(run->src); k++)
    if (run->src[k].kind == VS_FABIN && reads_queue(other, run->src[k].queue))
      return &run->src[k];
  return NULL;
}

const VecStream *vec_contested_stream(const VecRun *run, const ClassCode *cls, Arch arch,
                                      uint64_t blocked)
{
  for (unsigned k = 0; k < ARRAY_COUNT(run->src); k++) {
    const VecStream *s = &run->src[k];
    unsigned id = arch == ARCH_WSE2 ? s->color : s->queue;
    if (s->kind == VS_FABIN && cls->data_task[id] && !(blocked >> id & 1))
      return s;
  }
  return NULL;
}

const VecStream *vec_obstructed_stream(const VecRun *run, const ClassCode *cls, uint64_t blocked,
                                       const uint8_t heads[MAX_QUEUES])
{
  for (unsigned k = 0; k < ARRAY_COUNT(run->src); k++) {
    const VecStream *s = &run->src[k];
    uint8_t head = s->kind == VS_FABIN && s->picks ? heads[s->queue] : (uint8_t)NO_COLOR;
    if (head >= MAX_COLORS || head == s->color)
      continue;
    if (!cls->data_task[head] || (blocked >> head & 1))
      return s;
  }
  return NULL;
}

Fault vec_obstructed_fault(const VecRun *run, const VecStream *stream, uint8_t head, QueueUse last,
                           uint64_t cycle, uint32_t tile)
{
  uint32_t other = queue_use_is_any(last) ? last.pc : (uint32_t)PC_RETURN;
  return (Fault){.kind = FAULT_QUEUE_MIXED, .cycle = cycle, .tile = tile, .color = stream->color,
                 .pc = run->pc, .value = fault_queue(false, stream->queue) | fault_head(head),
                 .value2 = other};
}

unsigned vec_group_size(const VecRun *run)
{
  const VecStream *streams[3] = {&run->dest, &run->src[0], &run->src[1]};
  unsigned size = run->width;
  if (!run->unbounded && run->remaining < size)
    size = run->remaining;
  for (unsigned i = 0; i < ARRAY_COUNT(streams); i++) {
    const VecStream *s = streams[i];
    if (s->kind != VS_FABIN && s->kind != VS_FABOUT)
      continue;
    unsigned most = (unsigned)s->per_wavelet * s->max_wavelets - s->phase;
    if (most < size)
      size = most;
  }
  return size;
}

static bool stays_in_a_bank(const VecStream *s)
{
  return s->kind == VS_MEMORY && vec_stays_in_bank(s->strides[0]);
}

static bool in_one_bank(const VecStream *a, const VecStream *b, const Machine *machine,
                        unsigned banks)
{
  return a->address / machine->bank_bytes % banks == b->address / machine->bank_bytes % banks;
}

/* An f32 multiply-add down a column whose stride is a multiple of 8 elements: each write and the
 * next element's read of the destination are in one bank, which takes one access per cycle.  A
 * second source in that bank is a third access (public stencils with rows of 24 elements; SpMM). */
unsigned vec_one_bank_waits(const VecRun *run, const Machine *machine)
{
  const VecStream *dest = &run->dest, *a = &run->src[0], *b = &run->src[1];
  if (run->op != VEC_fmacs || !stays_in_a_bank(dest))
    return 0;
  return stays_in_a_bank(a) && stays_in_a_bank(b) &&
         in_one_bank(dest, a, machine, machine->mem_banks) &&
         in_one_bank(dest, b, machine, machine->mem_banks) ? 2 : 1;
}

unsigned vec_bank_waits(const VecRun *run, const Machine *machine)
{
  const VecStream *a = &run->src[0], *b = &run->src[1];
  if (a->kind != VS_MEMORY || b->kind != VS_MEMORY)
    return 0;
  unsigned waits = vec_one_bank_waits(run, machine);
  return waits ? waits : in_one_bank(a, b, machine, machine->read_banks);
}

static bool is_queue(const VecStream *s) { return s->kind == VS_FABIN || s->kind == VS_FABOUT; }

bool vec_in_memory(const VecRun *run)
{
  return !run->unbounded && !is_queue(&run->dest) && !is_queue(&run->src[0]) &&
         !is_queue(&run->src[1]);
}

static bool stream_keeps(const VecStream *s)
{
  return s->from_dsr && (s->flags & (DESC_F_SAVE | DESC_F_STEP));
}

bool vec_keeps(const VecRun *run)
{
  return !run->remaining &&   /* stopped early: nothing was consumed as a whole */
         (stream_keeps(&run->src[0]) || stream_keeps(&run->src[1]) || stream_keeps(&run->dest));
}

static void end_stream(const VecStream *s, DsrState *own, const DsrMap *map)
{
  if (!stream_keeps(s))
    return;
  DsrState *dsr = &own[map->place[s->file][s->number]];
  if (s->kind == VS_MEMORY)
    dsr->desc.base = s->address;
  if (s->flags & DESC_F_STEP) {
    memcpy(dsr->index, s->index, sizeof dsr->index);
    if (dsr->remaining && dsr->remaining != UINT32_MAX)
      dsr->remaining--;
  }
}

void vec_end(const VecRun *run, DsrState *own, const DsrMap *map)
{
  end_stream(&run->src[0], own, map);
  end_stream(&run->src[1], own, map);
  bool shared = run->dest.from_dsr && run->src[0].from_dsr &&
                run->dest.file == run->src[0].file && run->dest.number == run->src[0].number;
  if (!shared)
    end_stream(&run->dest, own, map);
}

/* ---- one element ----------------------------------------------------------------------------- */

static uint32_t integer_element(VecKind kind, uint32_t a, uint32_t b, bool *carry)
{
  uint32_t sum;
  switch ((int)kind) {
  case VK_ADD: case VK_ADDC:
    sum = a + b + (kind == VK_ADDC && *carry);
    *carry = sum >> BITS16 & 1;
    return sum & LOW16;
  case VK_SUB: return (a - b) & LOW16;
  case VK_AND: return a & b;
  case VK_OR: return a | b;
  case VK_XOR: return a ^ b;
  case VK_SLL: return b < BITS16 ? (a << b) & LOW16 : 0;
  case VK_SLR: return b < BITS16 ? a >> b : 0;
  case VK_SAR: return (uint32_t)((int16_t)a >> (b < BITS16 ? b : BITS16 - 1)) & LOW16;
  case VK_CLZ: return b ? (uint32_t)__builtin_clz(b) - BITS16 : BITS16;
  case VK_CTZ: return b ? (uint32_t)__builtin_ctz(b) : BITS16;
  case VK_POPCNT: return (uint32_t)__builtin_popcount(b);
  default: ICE("vector kind %d is not integer", (int)kind);
  }
}

/* The value with exponent 0, sign kept: in [1, 2) for every finite number but zero.  ASSUMED:
 * the public pages say "normalise" and no more. */
static double normalise_value(double value)
{
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint64_t exponent = bits >> 52 & 0x7ff;
  if (exponent == 0 || exponent == 0x7ff)
    return value;
  bits = (bits & ~(UINT64_C(0x7ff) << 52)) | UINT64_C(1023) << 52;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t half_element(VecKind kind, Fp16Format f, uint16_t a, uint16_t b, uint16_t s)
{
  switch ((int)kind) {
  case VK_FADD: return fp16_binary(f, FP_ADD, a, b);
  case VK_FSUB: return fp16_binary(f, FP_SUB, a, b);
  case VK_FMUL: return fp16_binary(f, FP_MUL, a, b);
  case VK_FMAX: return fp16_binary(f, FP_MAX, a, b);
  case VK_FMAC: return fp16_fma(f, b, s, a);
  case VK_FNEG: return b ^ SIGN16;
  case VK_FABS: return b & (uint32_t)~SIGN16 & LOW16;
  case VK_FNORM: return fp16_from_double(f, normalise_value(fp16_to_double(f, b)));
  case VK_FSCALE: return fp16_scale(f, b, (int16_t)s);
  default: ICE("vector kind %d has no 16-bit form", (int)kind);
  }
}

static uint32_t single_element(VecKind kind, uint32_t a, uint32_t b, uint32_t s)
{
  switch ((int)kind) {
  case VK_FADD: return fp32_binary(FP_ADD, a, b);
  case VK_FSUB: return fp32_binary(FP_SUB, a, b);
  case VK_FMUL: return fp32_binary(FP_MUL, a, b);
  case VK_FMAX: return fp32_binary(FP_MAX, a, b);
  case VK_FMAC: return fp32_fma(b, s, a);
  case VK_FNEG: return b ^ SIGN32;
  case VK_FABS: return b & ~SIGN32;
  case VK_FNORM: return fp32_from_double(normalise_value(fp32_to_double(b)));
  case VK_FSCALE: return fp32_scale(b, (int16_t)s);
  default: ICE("vector kind %d has no 32-bit form", (int)kind);
  }
}

static double source_value(VecElem elem, Fp16Format f, uint32_t bits)
{
  return elem == VE_F32 ? fp32_to_double(bits) : fp16_to_double(f, (uint16_t)bits);
}

uint32_t vec_element(VecOp op, Fp16Format fp16, uint32_t a, uint32_t b, uint32_t s, bool *carry)
{
  const VecOpInfo *info = &vecops[op];
  int64_t integer;
  switch (info->kind) {
  case VK_MOV: case VK_DFILT:
    return b;
  case VK_ADD: case VK_ADDC: case VK_SUB: case VK_AND: case VK_OR: case VK_XOR: case VK_SLL:
  case VK_SLR: case VK_SAR: case VK_CLZ: case VK_CTZ: case VK_POPCNT:
    return integer_element(info->kind, a, b, carry);
  case VK_FADDHS:
    return fp32_binary(FP_ADD, a, fp16_to_fp32(fp16, (uint16_t)b));
  case VK_FMACHS:
    return fp16_mixed_fma(fp16, (uint16_t)b, (uint16_t)s, a);
  case VK_S2H:
    return fp16_from_fp32(fp16, b);
  case VK_H2S:
    return fp16_to_fp32(fp16, (uint16_t)b);
  case VK_F2I:
    return (uint32_t)fp_to_int(source_value(info->src, fp16, b), BITS16, true) & LOW16;
  case VK_I2F:
    integer = (int16_t)b;
    return info->dst == VE_F32 ? fp32_from_i64(integer) : fp16_from_i64(fp16, integer);
  case VK_FADD: case VK_FSUB: case VK_FMUL: case VK_FMAX: case VK_FMAC: case VK_FNEG:
  case VK_FABS: case VK_FNORM: case VK_FSCALE:
    if (info->dst == VE_F32)
      return single_element(info->kind, a, b, s);
    return half_element(info->kind, fp16, (uint16_t)a, (uint16_t)b, (uint16_t)s);
  default:
    ICE("vector operation %s computes nothing", info->name);
  }
}

uint32_t vec_operate(VecRun *run, Fp16Format fp16, uint32_t a, uint32_t b)
{
  bool narrow = vecops[run->op].kind == VK_FADDHS && run->src[0].element_bytes == 2;
  uint32_t first = narrow ? fp16_to_fp32(fp16, (uint16_t)a) : a;
  uint32_t result = vec_element(run->op, fp16, first, b, run->scalar, &run->carry);
  if (run->traps)
    run->raised |= vec_raised(run->op, fp16, first, b, run->scalar, result) & run->traps;
  return result;
}

/* ---- FIFOs ----------------------------------------------------------------------------------- */

FaultKind fifo_available(const TileMem *mem, uint16_t state, bool push, unsigned *elements)
{
  uint32_t held = 0, capacity = 0;
  FaultKind fault = fifo_word(mem, state, FIFO_HELD, &held);
  if (fault == FAULT_COUNT)
    fault = fifo_word(mem, state, FIFO_CAPACITY, &capacity);
  *elements = push ? (held < capacity ? capacity - held : 0) : held;
  return fault;
}

FaultKind fifo_mark(TileMem *mem, uint16_t state, bool push)
{
  uint32_t flags = 0;
  FaultKind fault = fifo_word(mem, state, FIFO_FLAGS, &flags);
  if (fault != FAULT_COUNT)
    return fault;
  return fifo_set_word(mem, state, FIFO_FLAGS, flags | (push ? FIFO_FOUND_FULL : FIFO_FOUND_EMPTY));
}

void fifo_keep_length(TileMem *mem, uint16_t state, bool push, uint32_t remaining)
{
  uint32_t own = 0;
  unsigned word = fifo_length_word(push);
  if (fifo_word(mem, state, word, &own) == FAULT_COUNT && own)
    fifo_set_word(mem, state, word, remaining);
}

static FaultKind fifo_element(TileMem *mem, uint16_t state, bool push, unsigned bytes,
                              uint32_t *value)
{
  uint32_t first = 0, capacity = 0, at = 0, held = 0;
  unsigned position = push ? FIFO_WRITE : FIFO_READ;
  FaultKind fault = fifo_word(mem, state, FIFO_FIRST, &first);
  if (fault == FAULT_COUNT)
    fault = fifo_word(mem, state, FIFO_CAPACITY, &capacity);
  if (fault == FAULT_COUNT)
    fault = fifo_word(mem, state, position, &at);
  if (fault == FAULT_COUNT)
    fault = fifo_word(mem, state, FIFO_HELD, &held);
  if (fault == FAULT_COUNT)
    fault = push ? mem_store(mem, first + at * bytes, bytes, *value)
                 : mem_load(mem, first + at * bytes, bytes, value);
  if (fault == FAULT_COUNT)
    fault = fifo_set_word(mem, state, position, at + 1 < capacity ? at + 1 : 0);
  if (fault == FAULT_COUNT)
    fault = fifo_set_word(mem, state, FIFO_HELD, push ? held + 1 : held - 1);
  if (fault == FAULT_COUNT && push)
    fault = fifo_set_word(mem, state, FIFO_ELEMENT, bytes);
  return fault;
}

FifoAction fifo_action(const TileMem *mem, const VecRun *run)
{
  const VecStream *streams[3] = {&run->src[0], &run->src[1], &run->dest};
  for (unsigned i = 0; i < ARRAY_COUNT(streams); i++) {
    bool push = i == 2;
    unsigned available = 0;
    uint32_t flags = 0;
    if (streams[i]->kind != VS_FIFO ||
        fifo_available(mem, streams[i]->address, push, &available) != FAULT_COUNT || available ||
        fifo_word(mem, streams[i]->address, FIFO_FLAGS, &flags) != FAULT_COUNT)
      continue;
    unsigned shift = push ? FIFO_FULL_SHIFT : FIFO_EMPTY_SHIFT;
    FifoAction action = (FifoAction)(flags >> shift & FIFO_ACTION_MASK);
    return action == FIFO_TEST && run->async ? FIFO_SUSPEND : action;
  }
  return FIFO_TEST;
}

/* The push action fires when an earlier pop had found the FIFO empty, the pop action when an
 * earlier push had found it full (SDK docs, DSDs: only after such an event). */
FaultKind fifo_move(TileMem *mem, uint16_t state, bool push, unsigned bytes, uint32_t *value,
                    Action *fire)
{
  uint32_t flags = 0, action = 0;
  unsigned other = push ? FIFO_FOUND_EMPTY : FIFO_FOUND_FULL;
  fire->kind = ACT_NONE;
  FaultKind fault = fifo_element(mem, state, push, bytes, value);
  if (fault == FAULT_COUNT)
    fault = fifo_word(mem, state, FIFO_FLAGS, &flags);
  if (fault == FAULT_COUNT && (flags & other)) {
    fault = fifo_word(mem, state, push ? FIFO_PUSH_ACTION : FIFO_POP_ACTION, &action);
    if (fault == FAULT_COUNT && !action_decode((uint16_t)action, fire))
      fault = FAULT_DESCRIPTOR;
  }
  if (fault == FAULT_COUNT)
    fault = fifo_set_word(mem, state, FIFO_FLAGS,
                          flags & ~(uint32_t)(FIFO_FOUND_EMPTY | FIFO_FOUND_FULL));
  return fault;
}
