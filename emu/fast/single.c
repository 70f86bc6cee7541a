/* Fast engine: an operation that sends one wavelet.  A stretch (ahead.c) does it in one go: nothing
 * of its tile can begin before it is over, so that no operation ever runs.  One that has to be
 * recorded, checked or kept beyond that is left to the general way. */
#include "emu/fast/step.h"

typedef struct {
  uint32_t value[2];            /* of the sources */
  uint16_t address[2];          /* of those in memory: */
  uint8_t memory;               /* a bit each */
  uint8_t bytes;                /* of an element */
  uint8_t queue, color;
  uint16_t flags;               /* of what is sent: DESC_F_* */
} SingleSend;

/* The element lies in the static data, and in the variable that it is meant for. */
static inline bool is_single_plain(const Visit *v, VecSlot slot, uint16_t address, unsigned bytes)
{
  const Tile *core = &v->tile->core;
  const ClassCode *cls = core->cls;
  const MemoryFacts *facts = v->turn.program->memory_facts;
  uint32_t end = (uint32_t)address + bytes;
  return !(address & 1) && !core->mem.tracked && end <= cls->image->static_bytes &&
         (end <= cls->image->code_address || address >= cls->code_end) &&
         (!facts || !is_outside(check_operand(&facts[cls->index], core->pc, slot, address), address,
                                bytes));
}

/* The value of the source in memory.  False: it is not just one element there. */
static inline bool reads_single(const Visit *v, VecSlot slot, const Descriptor *desc,
                                SingleSend *send)
{
  unsigned k = slot == VSLOT_SRC0 ? 0 : 1;
  if (desc->kind != DESC_MEM1D || (desc->flags & ~(unsigned)DESC_F_SCALAR) ||
      !is_single_plain(v, slot, desc->base, send->bytes))
    return false;
  memcpy(&send->value[k], v->tile->core.mem.bytes + desc->base, send->bytes);
  send->address[k] = desc->base;
  send->memory |= (uint8_t)(1u << k);
  return true;
}

static inline uint32_t single_register(const Registers *regs, unsigned number, unsigned bytes)
{
  return bytes == sizeof(uint32_t) ? reg_pair32(regs, number) : regs->r[number];
}

/* `*decided`: a descriptor has said the length. */
static inline bool finds_source(const Visit *v, VecSlot slot, const VecOperand *operand,
                                SingleSend *send, bool *decided)
{
  const Tile *core = &v->tile->core;
  if (operand->kind == VOPND_NONE)
    return true;
  if (operand->kind == VOPND_REG) {
    send->value[slot == VSLOT_SRC0 ? 0 : 1] = single_register(&core->regs, operand->number,
                                                              send->bytes);
    return true;
  }
  const Descriptor *desc = &dsr_at(core->dsrs, operand->file, operand->number)->desc;
  bool says = !(desc->flags & DESC_F_SCALAR);
  if (!*decided && says && desc->length != 1)
    return false;
  *decided |= says;
  return reads_single(v, slot, desc, send);
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
  send->color = registers_queue_color(&core->registers, core->cls->image, true, desc->queue);
  return send->color < MAX_COLORS &&
         (desc->color == COLOR_OF_QUEUE || desc->color == send->color);
}

/* The operation sends. */
static inline bool is_sender(const Tile *core, const VecOperands *vec)
{
  return vec->dest.kind == VOPND_DSR &&
         dsr_at(core->dsrs, vec->dest.file, vec->dest.number)->desc.kind == DESC_FABOUT;
}

enum { SINGLE_FLAGS = DESC_F_INDEX | DESC_F_CONTROL | DESC_F_ADVANCE };

/* Whether the instruction, which sends, is such an operation, now that no other one runs. */
static inline bool finds_single(const Visit *v, const Insn *insn, SingleSend *send)
{
  const VecOperands *vec = &insn->vec;
  const Tile *core = &v->tile->core;
  const VecOpInfo *info = &vecops[vec->op];
  const Descriptor *desc = &dsr_at(core->dsrs, vec->dest.file, vec->dest.number)->desc;
  if ((desc->flags & ~(unsigned)SINGLE_FLAGS) || desc->length != 1 ||
      desc->done.kind != ACT_NONE || desc->on_control.kind != ACT_NONE || core->regs.traps ||
      (v->turn.checks & (CHECKS_TASKS | CHECKS_LENGTHS)) || !is_plain_operation(info) ||
      info->kind == VK_DFILT)
    return false;
  bool decided = false;
  *send = (SingleSend){.bytes = (uint8_t)vec_elem_bytes(info->dst), .flags = desc->flags};
  return finds_queue(v, desc, send) &&
         finds_source(v, VSLOT_SRC0, &vec->src0, send, &decided) &&
         finds_source(v, VSLOT_SRC1, &vec->src1, send, &decided);
}

static inline uint32_t single_payload(const Visit *v, const VecOperands *vec,
                                      const SingleSend *send)
{
  const Registers *regs = &v->tile->core.regs;
  bool carry = false;           /* no plain operation has one */
  uint32_t scalar = 0, value = send->value[1];
  if (vec->has_scalar)
    scalar = single_register(regs, vec->scalar, vec_operand_bytes(vec, VSLOT_SCALAR));
  if (vecops[vec->op].kind != VK_MOV)
    value = vec_element(vec->op, fp16_of(v), send->value[0], send->value[1], scalar, &carry);
  if (send->bytes != sizeof value)
    value &= LOW16;
  if (send->flags & DESC_F_INDEX)
    value = (value & LOW16) | (uint32_t)(vec->has_index ? regs->r[vec->index] : 0) << HALF_BITS;
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
static inline void do_single(Visit *v, const Insn *insn, const SingleSend *send)
{
  Tile *core = &v->tile->core;
  EngineStats *stats = &v->worker->log.stats;
  unsigned extra = single_conflict(v->engine, send);
  uint32_t flags = (send->flags & DESC_F_CONTROL ? META_CONTROL : 0u) |
                   (send->flags & DESC_F_ADVANCE ? META_ADVANCE : 0u);
  queue_note(&v->tile->queues[send->queue].output,
             (QueueUse){core->pc, 1, send->color, send->flags & DESC_F_CONTROL});
  output_put(v, send->queue,
             (FastWavelet){single_payload(v, &insn->vec, send),
                           wavelet_meta(v->output_visible, send->color, flags)});
  stats->groups++;
  stats->elements++;
  stats->stalls[STALL_BANK] += extra;
  turn_pay(&v->turn, TIMING_vector_start);
  core->pc = (uint16_t)(core->pc + insn_words(insn->op) * 2);
  core->regs.vstat = true;
  core->ready = v->turn.cycle + extra + turn_pay(&v->turn, TIMING_vector_end);
}
