/* Fast engine: the code of each class, made ready for rows of instructions (ahead.c). */
#include "emu/fast/step.h"

#include "stb_ds.h"

#include <stdlib.h>
#include <string.h>

static bool goes_ahead(CostClass cost)
{
  switch (cost) {
  case COST_ALU16: case COST_ALU32: case COST_CMP32: case COST_ORDER32: case COST_MOVE32:
  case COST_MUL32: case COST_IDIV: case COST_FP: case COST_FDIV: case COST_FCONV:
  case COST_LOAD: case COST_STORE: case COST_JUMP: case COST_BRANCH: case COST_CALL:
  case COST_RETURN:
    return true;
  case COST_ENDTASK: case COST_DSR_LOAD: case COST_DSR_UPDATE: case COST_VECTOR: case COST_CONFIG:
  case COST_COUNTER: case COST_RANDOM: case COST_COUNT: default:
    return false;
  }
}

/* ---- vector instructions --------------------------------------------------------------------- */

static const VecOperand *operand_of(const VecOperands *vec, unsigned k)
{
  return k == PLAIN_DEST ? &vec->dest : k == PLAIN_SRC0 ? &vec->src0 : &vec->src1;
}

static VecSlot slot_of(unsigned k)
{
  return k == PLAIN_DEST ? VSLOT_DEST : k == PLAIN_SRC0 ? VSLOT_SRC0 : VSLOT_SRC1;
}

/* The main thread goes on beside it if its operands are in memory or values. */
static bool may_overlap(const FastEngine *e, const ClassCode *cls, const Insn *insn, uint16_t pc)
{
  VecRun run = {.op = insn->vec.op, .pc = pc, .insn_words = (uint16_t)insn_words(insn->op)};
  VecStream *streams[PLAIN_STREAMS] = {&run.src[0], &run.src[1], &run.dest};
  for (unsigned k = 0; k < PLAIN_STREAMS; k++) {
    const VecOperand *operand = operand_of(&insn->vec, k);
    streams[k]->from_dsr = operand->kind == VOPND_DSR;
    streams[k]->kind = streams[k]->from_dsr ? VS_MEMORY : VS_NONE;
    streams[k]->file = operand->file;
    streams[k]->number = operand->number;
  }
  return overlap_allows(&run, cls, e->timing);
}

/* The variables of operands that the compiler knows. */
static void find_objects(const MemoryFacts *facts, uint16_t pc, FastVector *c)
{
  for (unsigned k = 0; k < PLAIN_STREAMS; k++)
    for (uint32_t i = check_operands_from(facts, pc);
         i < facts->n_operands && facts->operands[i].pc == pc; i++)
      if (facts->operands[i].slot == slot_of(k)) {
        c->object[k] = facts->operands[i].object;
        c->named |= (uint8_t)(1u << k);
      }
}

static FastVector vector_code(const FastEngine *e, const ClassCode *cls, const Insn *insn,
                              uint16_t pc)
{
  const VecOperands *vec = &insn->vec;
  const VecOpInfo *info = &vecops[vec->op];
  FastVector c = {
    .kind = (uint8_t)info->kind, .operation = (uint8_t)vec->op,
    .bytes = (uint8_t)vec_elem_bytes(info->dst), .width = e->timing->simd[vec->op],
    .code_bytes = (uint8_t)(insn_words(insn->op) * 2),
    .has_scalar = vec->has_scalar, .has_index = vec->has_index, .scalar_reg = vec->scalar,
    .scalar_bytes = (uint8_t)vec_operand_bytes(vec, VSLOT_SCALAR),
    .may = is_plain_operation(info) && info->kind != VK_DFILT && vec->dest.kind == VOPND_DSR &&
           !vec->has_index,
    .may_send = is_plain_operation(info) && info->kind != VK_DFILT && vec->dest.kind == VOPND_DSR,
    .may_load = is_plain_operation(info) && info->kind == VK_MOV && !vec->has_index &&
                vec->dest.kind == VOPND_REG && vec->src0.kind == VOPND_NONE &&
                vec->src1.kind == VOPND_DSR,
    .overlaps = may_overlap(e, cls, insn, pc),
  };
  for (unsigned k = 0; k < PLAIN_STREAMS; k++) {
    const VecOperand *operand = operand_of(vec, k);
    bool in_register = operand->kind == VOPND_REG;
    c.place[k] = operand->kind == VOPND_DSR ? cls->dsrs.place[operand->file][operand->number]
                                            : (uint8_t)NO_DSR;
    c.reg[k] = in_register ? operand->number : (uint8_t)NO_REGISTER;
    c.may &= operand->kind == VOPND_NONE || vec_operand_bytes(vec, slot_of(k)) == c.bytes;
  }
  if (e->base.program->memory_facts)
    find_objects(&e->base.program->memory_facts[cls->index], pc, &c);
  return c;
}

/* Operands and operation are the same; those with operands that the compiler knows are left out. */
static bool is_alike(const FastVector *a, const FastVector *b)
{
  FastVector same = *b;
  same.overlaps = a->overlaps;
  same.repeats = a->repeats;
  same.feeds_next = a->feeds_next;
  return !a->named && memcmp(a, &same, sizeof same) == 0;
}

/* Beside the operation there is only a load of data before one that repeats it. */
static bool feeds_next(const FastVector *vectors, const ScalarCode *code)
{
  const ScalarCode *load = code + code->words, *next = load + load->words;
  return vectors[code->target].overlaps && load->odd & SCALAR_LOADS_DATA && next->insn &&
         next->op == OP_vec && next->target == code->target + 1 &&
         vectors[next->target].repeats;
}

/* The vector instructions of the class; the code of each says which one it is. */
static FastVector *class_vectors(const FastEngine *e, const ClassCode *cls, ScalarCode *code)
{
  const ImageClass *image = cls->image;
  FastVector *vectors = NULL;
  for (uint32_t i = 0; i < image->code_words; i++) {
    if (!code[i].insn || code[i].insn->op != OP_vec)
      continue;
    code[i].target = (uint32_t)arrlenu(vectors);
    uint16_t pc = (uint16_t)(image->code_address + i * 2);
    arrput(vectors, vector_code(e, cls, code[i].insn, pc));
  }
  for (size_t i = 1; i < arrlenu(vectors); i++)
    vectors[i].repeats = is_alike(&vectors[i - 1], &vectors[i]);
  for (uint32_t i = 0; i < image->code_words; i++)
    if (code[i].insn && code[i].insn->op == OP_vec)
      vectors[code[i].target].feeds_next = feeds_next(vectors, &code[i]);
  return vectors;
}

/* Nothing can be wrong with the load, which reads the tile's memory as it is. */
static bool loads_data(const ClassCode *cls, const ScalarCode *code)
{
  uint32_t address = code->insn->imm, end = address + sizeof(uint16_t);
  return code->insn->op == OP_ld16a && !(address & 1) && end <= cls->image->static_bytes &&
         (end <= cls->image->code_address || address >= cls->code_end) && !code->bytes &&
         !(code->odd & SCALAR_MOVES_STACK);
}

/* A row of such loads does not look at the instruction. */
static void make_data_load(ScalarCode *code)
{
  code->odd |= SCALAR_LOADS_DATA;
  code->target = code->insn->imm;
  code->reg = code->insn->a;
}

/* Makes an instruction about a descriptor ready for step_descriptor. */
static void make_descriptor(const Timing *timing, const ClassCode *cls, ScalarCode *code)
{
  const Insn *insn = code->insn;
  bool loads = insn->op == OP_ldsr;
  TimingRowId row = loads ? TIMING_dsr_load
                          : timing_scalar_row(insn_info[insn->op].cost, STEP_NEXT);
  TimingRowId longer = loads ? TIMING_xdsr_load : row;
  if (timing_cycles(timing, row) > SCALAR_MOST_CYCLES ||
      timing_cycles(timing, longer) > SCALAR_MOST_CYCLES)
    return;
  code->odd |= SCALAR_DESCRIPTOR;
  code->pay[0] = scalar_row_pay(timing, row);
  code->pay[1] = scalar_row_pay(timing, longer);
  code->reg = cls->dsrs.place[insn->file][insn->a];
}

/* ---- all ------------------------------------------------------------------------------------- */

static ScalarCode *class_code(const FastEngine *e, const ClassCode *cls)
{
  uint32_t words = cls->image->code_words;
  const MemoryFacts *facts = e->base.program->memory_facts;
  ScalarCode *code = base_malloc((words + 1) * sizeof *code);
  for (uint32_t i = 0; i <= words; i++) {
    bool none = i == words || cls->insn_at[i] == NO_INSN;
    const Insn *insn = none ? NULL : &cls->insns[cls->insn_at[i]];
    CostClass cost = insn ? insn_info[insn->op].cost : COST_COUNT;
    code[i] = (ScalarCode){.odd = SCALAR_STOPS, .insn = insn,
                           .words = insn ? (uint8_t)insn_words(insn->op) : (uint8_t)0,
                           .op = insn ? (uint8_t)insn->op : (uint8_t)0};
    if (goes_ahead(cost) && !is_step_of_tile(insn->op) &&
        timing_scalar(e->timing, cost, STEP_FORWARD) <= SCALAR_MOST_CYCLES &&
        timing_scalar(e->timing, cost, STEP_BACK) <= SCALAR_MOST_CYCLES)
      code[i] = scalar_code(insn, i, facts ? facts[cls->index].accesses[i] : (Bounds){0}, e->timing,
                            cls->image);
    if (!(code[i].odd & SCALAR_STOPS) && loads_data(cls, &code[i]))
      make_data_load(&code[i]);
    if (insn && (insn->op == OP_ldsr || insn->op == OP_dsrset || insn->op == OP_dsrget))
      make_descriptor(e->timing, cls, &code[i]);
  }
  return code;
}

void fast_code_create(FastEngine *e)
{
  uint32_t n = e->base.program->image->n_classes;
  e->code = base_malloc((n + 1) * sizeof(ScalarCode *));
  e->vectors = base_malloc((n + 1) * sizeof(FastVector *));
  for (uint32_t i = 0; i < n; i++) {
    e->code[i] = class_code(e, &e->base.program->classes[i]);
    e->vectors[i] = class_vectors(e, &e->base.program->classes[i], e->code[i]);
  }
}

void fast_code_destroy(FastEngine *e)
{
  for (uint32_t i = 0; i < e->base.program->image->n_classes; i++) {
    free(e->code[i]);
    arrfree(e->vectors[i]);
  }
  free(e->code);
  free(e->vectors);
}
