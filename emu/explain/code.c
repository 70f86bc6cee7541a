/* What the code of a class can come to, as its instructions and constants say. */
#include "emu/explain/explain_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- descriptors ----------------------------------------------------------------------------- */

/* The words at an address as the class starts with them: zeros where no segment has others. */
static void initial_words(const ImageClass *image, uint32_t address, uint16_t *words, unsigned n)
{
  memset(words, 0, n * sizeof *words);
  for (uint32_t i = 0; i < image->n_segments; i++) {
    const ImageSegment *s = &image->segments[i];
    for (uint32_t at = 0; at < 2 * n; at++)
      if (address + at >= s->address && address + at < (uint32_t)s->address + s->bytes)
        words[at / 2] |= (uint16_t)(s->data[address + at - s->address] << at % 2 * 8);
  }
}

static bool loads_dsr(const Insn *insn, const VecOperand *dsr)
{
  return insn->op == OP_ldsr && insn->file == dsr->file && insn->a == dsr->number;
}

/* The constant descriptor that the instruction loads into the DSR. */
static bool loaded_descriptor(const ClassCode *cls, const Insn *load, const VecOperand *dsr,
                              Descriptor *desc, bool *is_load)
{
  uint16_t words[ARRAY_COUNT(((ImageDsr *)0)->words)];
  unsigned n = descriptor_words(DESC_FABIN);
  *is_load = loads_dsr(load, dsr);
  if (!*is_load || !load->absolute)
    return false;
  initial_words(cls->image, load->imm, words, n);
  return descriptor_decode(words, n, desc);
}

bool code_descriptor(const ClassCode *cls, uint32_t insn, const VecOperand *dsr, Descriptor *desc)
{
  bool is_load = false, found = false;
  for (uint32_t i = insn; !is_load && i-- > 0;)
    found = loaded_descriptor(cls, &cls->insns[i], dsr, desc, &is_load);
  for (uint32_t i = cls->n_insns; !is_load && i-- > insn;)
    found = loaded_descriptor(cls, &cls->insns[i], dsr, desc, &is_load);
  if (is_load)
    return found;
  for (uint32_t i = 0; i < cls->image->n_dsrs; i++) {
    const ImageDsr *preset = &cls->image->dsrs[i];
    if (preset->file == dsr->file && preset->number == dsr->number)
      return descriptor_decode(preset->words, ARRAY_COUNT(preset->words), desc);
  }
  return false;
}

/* The DSR is loaded in the same function before the instruction of that index. */
static bool is_loaded_here(const ClassCode *cls, uint32_t insn, const VecOperand *dsr)
{
  for (uint32_t i = insn; i-- > 0 && cls->insns[i].op != OP_endtask && cls->insns[i].op != OP_ret;)
    if (loads_dsr(&cls->insns[i], dsr))
      return true;
  return false;
}

/* What the DSR holds comes from one place: programs that load DSRs by number share them. */
static bool is_loaded_once(const ClassCode *cls, const VecOperand *dsr)
{
  unsigned n = 0;
  for (uint32_t i = 0; i < cls->n_insns; i++)
    n += loads_dsr(&cls->insns[i], dsr);
  for (uint32_t i = 0; i < cls->image->n_dsrs; i++)
    n += cls->image->dsrs[i].file == dsr->file && cls->image->dsrs[i].number == dsr->number;
  return n == 1;
}

/* The descriptor of a vector instruction's operand; false: it has none, or one that no constant
 * gives for sure, and then *unknown is set. */
static bool operand_descriptor(const ClassCode *cls, const Insn *insn, const VecOperand *operand,
                               Descriptor *desc, bool *unknown)
{
  if (insn->op != OP_vec || operand->kind != VOPND_DSR)
    return false;
  uint32_t at = (uint32_t)(insn - cls->insns);
  bool is_known = (is_loaded_here(cls, at, operand) || is_loaded_once(cls, operand)) &&
                  code_descriptor(cls, at, operand, desc);
  *unknown |= !is_known;
  return is_known;
}

/* ---- questions about an instruction ---------------------------------------------------------- */

bool insn_unblocks_stream(const ClassCode *cls, const Insn *insn, unsigned of)
{
  (void)cls;
  (void)of;
  return insn->op == OP_stcfgi && insn->imm == CFG_CMD_STREAM;
}

bool insn_may_unblock(const ClassCode *cls, const Insn *insn, unsigned id)
{
  (void)cls;
  return (insn->op == OP_unblk && insn->imm == ID_TASK) ||
         (insn->op == OP_unblki && insn->a == ID_TASK && insn->imm == id);
}

bool insn_activates(const ClassCode *cls, const Insn *insn, unsigned id)
{
  (void)cls;
  return insn->op == OP_acti && insn->imm == id;
}

/* By the instruction `act`, a register has the id. */
bool insn_may_activate(const ClassCode *cls, const Insn *insn, unsigned id)
{
  return insn->op == OP_act || insn_activates(cls, insn, id);
}

static bool is_activation(Action action, unsigned id)
{
  return action.kind == ACT_ACTIVATE && action.id_kind == ID_TASK && action.id == id;
}

/* A push to the FIFO, or a pop, activates the task. */
static bool fifo_activates(const ClassCode *cls, const Descriptor *desc, unsigned id)
{
  uint16_t words[FIFO_STATE_WORDS];
  Action push, pop;
  initial_words(cls->image, desc->base, words, ARRAY_COUNT(words));
  return action_decode(words[FIFO_W_PUSH_ACTION], &push) &&
         action_decode(words[FIFO_W_POP_ACTION], &pop) &&
         (is_activation(push, id) || is_activation(pop, id));
}

/* The operation activates the task, when it is over for instance. */
static bool vec_activates(const ClassCode *cls, const Insn *insn, unsigned id, bool *unknown)
{
  const VecOperand *operands[] = {&insn->vec.dest, &insn->vec.src0, &insn->vec.src1};
  Descriptor desc;
  for (unsigned i = 0; i < ARRAY_COUNT(operands); i++)
    if (operand_descriptor(cls, insn, operands[i], &desc, unknown) &&
        (is_activation(desc.done, id) || is_activation(desc.on_control, id) ||
         (desc.kind == DESC_FIFO && fifo_activates(cls, &desc, id))))
      return true;
  return false;
}

bool insn_activates_at_end(const ClassCode *cls, const Insn *insn, unsigned id)
{
  const VecOperand *operands[] = {&insn->vec.dest, &insn->vec.src0, &insn->vec.src1};
  Descriptor desc;
  bool unknown = false;
  for (unsigned i = 0; i < ARRAY_COUNT(operands); i++)
    if (operand_descriptor(cls, insn, operands[i], &desc, &unknown) &&
        is_activation(desc.done, id))
      return true;
  return false;
}

static bool sets_action(const Insn *insn)
{
  return insn->op == OP_dsrset && (insn->field == DSRF_DONE || insn->field == DSRF_CONTROL);
}

bool insn_starts(const ClassCode *cls, const Insn *insn, unsigned id)
{
  Action action;
  bool unknown = false;
  if (sets_action(insn) && insn->absolute)
    return action_decode((uint16_t)insn->imm, &action) && is_activation(action, id);
  return insn_activates(cls, insn, id) || vec_activates(cls, insn, id, &unknown);
}

bool insn_may_start(const ClassCode *cls, const Insn *insn, unsigned id)
{
  bool unknown = insn->op == OP_act || insn->op == OP_callr ||
                 (sets_action(insn) && !insn->absolute);
  return vec_activates(cls, insn, id, &unknown) || unknown || insn_starts(cls, insn, id);
}

bool insn_fills_fifo(const ClassCode *cls, const Insn *insn, unsigned of)
{
  (void)of;
  Descriptor desc;
  bool unknown = false;
  return operand_descriptor(cls, insn, &insn->vec.dest, &desc, &unknown) &&
         desc.kind == DESC_FIFO && !(desc.flags & DESC_F_ASYNC);
}

static bool insn_empties_fifo(const ClassCode *cls, const Insn *insn)
{
  const VecOperand *operands[] = {&insn->vec.src0, &insn->vec.src1, &insn->vec.dest};
  bool takes = false, unknown = false;
  Descriptor desc;
  for (unsigned i = 0; i < ARRAY_COUNT(operands); i++) {
    if (!operand_descriptor(cls, insn, operands[i], &desc, &unknown))
      continue;
    if (desc.flags & DESC_F_ASYNC)
      return false;
    takes |= operands[i] != &insn->vec.dest && desc.kind == DESC_FIFO;
  }
  return takes;
}

bool insn_is_asked(const ClassCode *cls, const Insn *operation)
{
  const Insn *end = cls->insns + cls->n_insns;
  for (const Insn *i = operation + 1; i < end && i->op != OP_vec; i++)
    if (i->op == OP_vstat)
      return true;
  return false;
}

/* Whatever the program asks after takes from a FIFO, unless it fills one: a descriptor that the run
 * chooses may be one of a FIFO. */
unsigned code_ignored_takes(const ClassCode *cls, uint16_t *last_pc)
{
  unsigned takes = 0;
  for (uint32_t i = 0; i < cls->n_insns; i++) {
    const Insn *insn = &cls->insns[i];
    if (insn->op != OP_vec || insn_fills_fifo(cls, insn, 0))
      continue;
    if (insn_is_asked(cls, insn))
      return 0;
    if (!insn_empties_fifo(cls, insn))
      continue;
    takes++;
    *last_pc = cls->pc_of[i];
  }
  return takes;
}

/* The program may give its output queues other colors than those of its descriptors. */
static bool binds_output_queues(const ClassCode *cls)
{
  for (uint32_t i = 0; i < cls->n_insns; i++) {
    const Insn *insn = &cls->insns[i];
    if (insn->op == OP_stcfg || (insn->op == OP_stcfgi && insn->imm >= CFG_OUTPUT_QUEUE &&
                                 insn->imm < CFG_OUTPUT_QUEUE + MAX_QUEUES))
      return true;
  }
  return false;
}

static bool vec_sends(const ClassCode *cls, const Insn *insn, unsigned color, bool *unknown)
{
  Descriptor desc;
  if (!operand_descriptor(cls, insn, &insn->vec.dest, &desc, unknown) ||
      desc.kind != DESC_FABOUT)
    return false;
  *unknown |= binds_output_queues(cls);
  return desc.color == color;
}

bool insn_sends(const ClassCode *cls, const Insn *insn, unsigned color)
{
  bool unknown = false;
  return vec_sends(cls, insn, color, &unknown);
}

bool insn_may_send(const ClassCode *cls, const Insn *insn, unsigned color)
{
  bool unknown = insn->op == OP_callr;
  return vec_sends(cls, insn, color, &unknown) || unknown;
}

static bool vec_reads(const ClassCode *cls, const Insn *insn, unsigned queue, bool *unknown)
{
  const VecOperand *sources[] = {&insn->vec.src0, &insn->vec.src1};
  Descriptor desc;
  for (unsigned i = 0; i < ARRAY_COUNT(sources); i++)
    if (operand_descriptor(cls, insn, sources[i], &desc, unknown) && desc.kind == DESC_FABIN &&
        desc.queue == queue)
      return true;
  return false;
}

bool insn_reads(const ClassCode *cls, const Insn *insn, unsigned queue)
{
  bool unknown = false;
  return vec_reads(cls, insn, queue, &unknown);
}

bool insn_may_read(const ClassCode *cls, const Insn *insn, unsigned queue)
{
  bool unknown = insn->op == OP_callr;
  return vec_reads(cls, insn, queue, &unknown) || unknown;
}

bool insn_flushes(const ClassCode *cls, const Insn *insn, unsigned of)
{
  (void)cls;
  (void)of;
  return insn->op == OP_qflush;
}

bool insn_may_flush(const ClassCode *cls, const Insn *insn, unsigned of)
{
  return insn->op == OP_callr || insn_flushes(cls, insn, of);
}

/* ---- what can be reached --------------------------------------------------------------------- */

/* An instruction that can be reached, and the call in the first function that leads there; or the
 * instruction itself, if that is where it is. */
typedef struct { uint32_t pc, site; } Reached;
typedef struct {
  const ClassCode *cls;
  bool *seen;                   /* by instruction */
  Reached *list;                /* as many */
  size_t n;
} Reach;

static void reach_insn(Reach *r, uint32_t pc, uint32_t site)
{
  const Insn *insn = class_insn(r->cls, pc);
  if (!insn || r->seen[insn - r->cls->insns])
    return;
  r->seen[insn - r->cls->insns] = true;
  r->list[r->n++] = (Reached){pc, site};
}

static void reach_from(Reach *r, Reached at)
{
  const Insn *insn = class_insn(r->cls, at.pc);
  uint32_t target;
  bool inside = at.site != PC_RETURN, calls = insn->op == OP_call;
  bool leaves = insn->op == OP_jmp || insn->op == OP_ret || insn->op == OP_endtask;
  if (calls)
    reach_insn(r, insn->imm, inside ? at.site : at.pc);
  else if (insn_target(insn, &target))
    reach_insn(r, target, at.site);
  if (!leaves)
    reach_insn(r, at.pc + insn_words(insn->op) * 2u, at.site);
}

uint16_t code_reaches(const ClassCode *cls, uint16_t entry, InsnQuestion *question, unsigned of)
{
  Reach r = {.cls = cls, .seen = base_zeroed(cls->n_insns + 1u, sizeof *r.seen),
             .list = base_malloc(sizeof *r.list * (cls->n_insns + 1u))};
  uint32_t found = PC_RETURN;
  reach_insn(&r, entry, PC_RETURN);
  for (size_t i = 0; i < r.n && found == PC_RETURN; i++) {
    Reached at = r.list[i];
    reach_from(&r, at);
    if (question(cls, class_insn(cls, at.pc), of))
      found = at.site == PC_RETURN ? at.pc : at.site;
  }
  free(r.seen);
  free(r.list);
  return (uint16_t)found;
}
