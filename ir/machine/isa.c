/* The instruction set: tables, encoder, decoder and disassembler.
 *
 * An instruction is described twice here and nowhere else: pack() writes its fields into words,
 * unpack() reads them back. The encoder packs, decodes what it packed and compares, and so finds at
 * once an operand that does not fit or a field that is not in the format. */
#include "ir/machine/machine.h"

#include <pthread.h>
#include <stdarg.h>
#include <string.h>

/* ---- tables -------------------------------------------------------------------------------- */

const InsnInfo insn_info[OP_COUNT] = {
#define INSN(name, format, cost, semantics) \
  [OP_##name] = {#name, FMT_##format, COST_##cost, semantics},
#include "ir/machine/isa.def"
};
_Static_assert(OP_COUNT <= 256, "the opcode is a byte");

const VecOpInfo vecops[VEC_COUNT] = {
#define VECOP(name, kind, dst, src, sources, scalar) \
  [VEC_##name] = {#name, kind, dst, src, sources, scalar},
#include "ir/machine/vecops.def"
};

typedef struct {
  const char *name;
  uint8_t words;
} FormatInfo;
static const FormatInfo formats[FMT_COUNT] = {
  [FMT_NONE] = {"NONE", 1},     [FMT_R] = {"R", 1},           [FMT_RR] = {"RR", 1},
  [FMT_RRR] = {"RRR", 2},       [FMT_RRI] = {"RRI", 2},       [FMT_RI] = {"RI", 2},
  [FMT_RI32] = {"RI32", 3},     [FMT_I] = {"I", 2},           [FMT_LD] = {"LD", 2},
  [FMT_LDA] = {"LDA", 2},       [FMT_ST] = {"ST", 2},         [FMT_STA] = {"STA", 2},
  [FMT_J] = {"J", 2},           [FMT_RJ] = {"RJ", 2},         [FMT_RRJ] = {"RRJ", 2},
  [FMT_RIJ] = {"RIJ", 3},       [FMT_DSRLD] = {"DSRLD", 3},   [FMT_DSRSET] = {"DSRSET", 3},
  [FMT_DSRGET] = {"DSRGET", 2}, [FMT_CTR] = {"CTR", 2},       [FMT_CTRA] = {"CTRA", 2},
  [FMT_VEC] = {"VEC", 3},
};

static const char *const cost_names[COST_COUNT] = {
  [COST_ALU16] = "ALU16",           [COST_ALU32] = "ALU32",     [COST_IDIV] = "IDIV",
  [COST_CMP32] = "CMP32",           [COST_MOVE32] = "MOVE32",   [COST_COUNTER] = "COUNTER",
  [COST_ORDER32] = "ORDER32",       [COST_MUL32] = "MUL32",     [COST_FCONV] = "FCONV",
  [COST_FP] = "FP",                 [COST_FDIV] = "FDIV",       [COST_LOAD] = "LOAD",
  [COST_STORE] = "STORE",           [COST_JUMP] = "JUMP",       [COST_BRANCH] = "BRANCH",
  [COST_CALL] = "CALL",             [COST_RETURN] = "RETURN",   [COST_ENDTASK] = "ENDTASK",
  [COST_DSR_LOAD] = "DSR_LOAD",     [COST_DSR_UPDATE] = "DSR_UPDATE",
  [COST_VECTOR] = "VECTOR",         [COST_CONFIG] = "CONFIG",   [COST_RANDOM] = "RANDOM",
};

static const char *const field_names[DSRF_COUNT] = {
  [DSRF_BASE] = "base",       [DSRF_BASE_ADD] = "base_add", [DSRF_LENGTH] = "length",
  [DSRF_STRIDE] = "stride",   [DSRF_DONE] = "done",         [DSRF_CONTROL] = "control",
  [DSRF_FLAGS] = "flags",     [DSRF_REMAINING] = "remaining",
  [DSRF_LENGTH0] = "length0", [DSRF_STRIDE0] = "stride0",   [DSRF_LENGTH1] = "length1",
  [DSRF_STRIDE1] = "stride1", [DSRF_LENGTH2] = "length2",   [DSRF_STRIDE2] = "stride2",
  [DSRF_LENGTH3] = "length3", [DSRF_STRIDE3] = "stride3",
};

static const char *const file_names[DSR_FILE_COUNT] = {"dest", "src0", "src1"};
static const char *const id_kind_names[ID_KIND_COUNT] = {"task", "input_queue", "microthread"};

const char *insn_format_name(InsnFormat format)
{
  return (unsigned)format < FMT_COUNT ? formats[format].name : "?";
}

const char *cost_class_name(CostClass cost)
{
  return (unsigned)cost < COST_COUNT ? cost_names[cost] : "?";
}

const char *dsr_field_name(DsrField field)
{
  return (unsigned)field < DSRF_COUNT ? field_names[field] : "?";
}

const char *dsr_file_name(DsrFile file)
{
  return (unsigned)file < DSR_FILE_COUNT ? file_names[file] : "?";
}

const char *id_kind_name(IdKind kind)
{
  return (unsigned)kind < ID_KIND_COUNT ? id_kind_names[kind] : "?";
}

unsigned id_kind_limit(IdKind kind)
{
  static const uint8_t limits[ID_KIND_COUNT] = {
    [ID_TASK] = MAX_TASK_IDS, [ID_INPUT_QUEUE] = MAX_QUEUES, [ID_MICROTHREAD] = MAX_MICROTHREADS,
  };
  return (unsigned)kind < ID_KIND_COUNT ? limits[kind] : 0;
}

bool vecop_from_name(const char *name, VecOp *op)
{
  for (unsigned i = 0; i < VEC_COUNT; i++) {
    if (strcmp(name, vecops[i].name) == 0) {
      *op = (VecOp)i;
      return true;
    }
  }
  return false;
}

unsigned insn_words(Opcode op)
{
  if ((unsigned)op >= OP_COUNT)
    ICE("no opcode %d", (int)op);
  return formats[insn_info[op].format].words;
}

/* ---- what the semantics column says -------------------------------------------------------- */

/* Only this column says which operands are pairs, for it names each register operand by its width,
 * ra or da; and which instructions define operand a or the carry.  Read once: the code generator
 * asks for each instruction, often. */
enum { SAYS_PAIR_A = 1, SAYS_DEFINES_A = 8, SAYS_DEFINES_CARRY = 16 };     /* pairs b and c: 2, 4 */
static uint8_t said[OP_COUNT];
static pthread_once_t said_once = PTHREAD_ONCE_INIT;

static bool is_word_char(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool names_word(const char *text, const char *word)
{
  size_t length = strlen(word);
  for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
    if ((at == text || !is_word_char(at[-1])) && !is_word_char(at[length]))
      return true;
  }
  return false;
}

static bool has_start(const char *text, const char *start)
{
  return strncmp(text, start, strlen(start)) == 0;
}

static void read_semantics(void)
{
  static const char *const pair_names[] = {"da", "db", "dc"};
  for (unsigned op = 0; op < OP_COUNT; op++) {
    const char *text = insn_info[op].semantics;
    for (unsigned i = 0; i < ARRAY_COUNT(pair_names); i++)
      if (names_word(text, pair_names[i]))
        said[op] |= (uint8_t)(SAYS_PAIR_A << i);
    if (has_start(text, "ra =") || has_start(text, "da ="))
      said[op] |= SAYS_DEFINES_A;
    if (strstr(text, "; carry"))
      said[op] |= SAYS_DEFINES_CARRY;
  }
}

static unsigned said_of(Opcode op)
{
  if ((unsigned)op >= OP_COUNT)
    ICE("no opcode %d", (int)op);
  pthread_once(&said_once, read_semantics);
  return said[op];
}

bool insn_is_pair(Opcode op, unsigned operand)
{
  return said_of(op) >> operand & SAYS_PAIR_A;
}

bool insn_defines_a(Opcode op)
{
  return (said_of(op) & SAYS_DEFINES_A) != 0;
}

bool insn_defines_carry(Opcode op)
{
  return (said_of(op) & SAYS_DEFINES_CARRY) != 0;
}

unsigned insn_access_bytes(Opcode op)
{
  switch ((int)op) {
  case OP_ld8u: case OP_ld8s: case OP_ld8ua: case OP_ld8sa: case OP_st8: case OP_st8a: return 1;
  case OP_ld16: case OP_ld16a: case OP_st16: case OP_st16a: return 2;
  case OP_ld32: case OP_ld32a: case OP_st32: case OP_st32a: return 4;
  default: return 0;
  }
}

unsigned vec_operand_bytes(const VecOperands *vec, VecSlot slot)
{
  const VecOpInfo *info = &vecops[vec->op];
  unsigned src = vec_elem_bytes(info->src), dst = vec_elem_bytes(info->dst);
  bool fold = vec->dest.kind == VOPND_REG && vec->src0.kind == VOPND_REG;
  switch (slot) {
  case VSLOT_DEST:
    return dst;
  case VSLOT_SRC0:   /* f32 accumulator of the mixed operations */
    return info->kind == VK_FMACHS || (info->kind == VK_FADDHS && fold) ? dst : src;
  case VSLOT_SRC1:
    return src;
  case VSLOT_SCALAR: /* factor as wide as a source; exponent of fscale is an i16 */
    return info->kind == VK_FSCALE ? 2 : src;
  default:
    ICE("no vector operand slot %d", (int)slot);
  }
}

/* ---- encoding ------------------------------------------------------------------------------ */

enum {
  DSR_ABSOLUTE_BIT = 1 << 2, DSR_FIELD_SHIFT = 4, DSR_FILE_MASK = 3,
  VEC_OP_MASK = 0x3f, VEC_SCALAR_BIT = 1 << 6, VEC_INDEX_BIT = 1 << 7, VEC_INDEX_SHIFT = 12,
  VEC_PRIORITY_SHIFT = 6, VEC_PRIORITY_MASK = 3, VEC_UNUSED = 0x0f00,
};
_Static_assert(VEC_COUNT <= VEC_OP_MASK + 1, "the vector operation has six bits");

/* Two bits of a vector operand: 0 none, 1 register, 2 and 3 the files that the slot may name. */
static unsigned operand_code(const VecOperand *operand, DsrFile first_file)
{
  switch (operand->kind) {
  case VOPND_NONE: return 0;
  case VOPND_REG: return 1;
  case VOPND_DSR: return operand->file == first_file ? 2 : 3;
  default: ICE("no vector operand kind %d", (int)operand->kind);
  }
}

static void pack_vec(const VecOperands *vec, uint16_t words[3])
{
  words[0] |= (uint16_t)((unsigned)vec->op & VEC_OP_MASK);
  words[0] |= vec->has_scalar ? VEC_SCALAR_BIT : 0;
  words[0] |= vec->has_index ? VEC_INDEX_BIT : 0;
  words[1] = (uint16_t)((vec->dest.number & 15) | (vec->src0.number & 15) << 4 |
                        (vec->src1.number & 15) << 8 | (vec->scalar & 15) << 12);
  words[2] = (uint16_t)(operand_code(&vec->dest, DSR_DEST) |
                        operand_code(&vec->src0, DSR_SRC0) << 2 |
                        operand_code(&vec->src1, DSR_SRC0) << 4 |
                        (unsigned)(vec->priority & VEC_PRIORITY_MASK) << VEC_PRIORITY_SHIFT |
                        (unsigned)(vec->index & 15) << VEC_INDEX_SHIFT);
}

static void pack_words(const Insn *insn, uint16_t words[3])
{
  uint16_t imm = (uint16_t)insn->imm;
  words[0] = (uint16_t)(insn->op << 8 | (insn->a & 15) << 4 | (insn->b & 15));
  words[1] = words[2] = 0;
  switch (insn_info[insn->op].format) {
  case FMT_NONE: case FMT_R: case FMT_RR:
    break;
  case FMT_RRR:
    words[1] = insn->c;
    break;
  case FMT_RRI: case FMT_RI: case FMT_I: case FMT_LD: case FMT_LDA: case FMT_ST: case FMT_STA:
  case FMT_J: case FMT_RJ: case FMT_RRJ: case FMT_CTR: case FMT_CTRA:
    words[1] = imm;
    break;
  case FMT_RI32:
    words[1] = imm;
    words[2] = (uint16_t)(insn->imm >> 16);
    break;
  case FMT_RIJ:
    words[1] = imm;
    words[2] = (uint16_t)insn->target;
    break;
  case FMT_DSRLD:
    words[1] = imm;
    words[2] = (uint16_t)((insn->file & DSR_FILE_MASK) | (insn->absolute ? DSR_ABSOLUTE_BIT : 0) |
                          (unsigned)insn->xdsr << DSR_FIELD_SHIFT);
    break;
  case FMT_DSRSET:
    words[1] = (uint16_t)((insn->file & DSR_FILE_MASK) | (insn->absolute ? DSR_ABSOLUTE_BIT : 0) |
                          (unsigned)insn->field << DSR_FIELD_SHIFT);
    words[2] = imm;
    break;
  case FMT_DSRGET:
    words[1] = (uint16_t)((insn->file & DSR_FILE_MASK) | (unsigned)insn->field << DSR_FIELD_SHIFT);
    break;
  case FMT_VEC:
    pack_vec(&insn->vec, words);
    break;
  case FMT_COUNT: default:
    ICE("no format %d", (int)insn_info[insn->op].format);
  }
}

static bool operand_equal(const VecOperand *a, const VecOperand *b)
{
  return a->kind == b->kind && a->file == b->file && a->number == b->number;
}

bool insn_equal(const Insn *x, const Insn *y)
{
  const VecOperands *v = &x->vec, *w = &y->vec;
  return x->op == y->op && x->a == y->a && x->b == y->b && x->c == y->c && x->file == y->file &&
         x->field == y->field && x->absolute == y->absolute && x->xdsr == y->xdsr &&
         x->imm == y->imm && x->target == y->target && v->op == w->op &&
         operand_equal(&v->dest, &w->dest) && operand_equal(&v->src0, &w->src0) &&
         operand_equal(&v->src1, &w->src1) && v->has_scalar == w->has_scalar &&
         v->has_index == w->has_index && v->scalar == w->scalar && v->index == w->index &&
         v->priority == w->priority;
}

unsigned insn_encode(const Insn *insn, uint16_t words[3])
{
  unsigned length = insn_words(insn->op);
  const char *reason;
  Insn back;
  pack_words(insn, words);
  if (insn_decode(words, length, &back, &reason) == 0 || !insn_equal(insn, &back)) {
    char text[120];
    insn_print(insn, text, sizeof text);
    ICE("cannot encode '%s': %s", text,
        reason ? reason : "a field is too large, or not part of the format and not zero");
  }
  return length;
}

/* ---- decoding ------------------------------------------------------------------------------ */

typedef const char *Reason;   /* NULL: fine */

static Reason check_zero(unsigned bits)
{
  return bits ? "a bit that the instruction does not use is set" : NULL;
}

static Reason check_register(Opcode op, unsigned operand, unsigned number)
{
  return insn_is_pair(op, operand) && number % 2 ? "a 32-bit operand starts at an odd register"
                                                 : NULL;
}

static Reason check_registers(const Insn *insn)
{
  Reason reason = check_register(insn->op, 0, insn->a);
  if (!reason)
    reason = check_register(insn->op, 1, insn->b);
  return reason ? reason : check_register(insn->op, 2, insn->c);
}

static Reason check_target(uint32_t target)
{
  return target % 2 ? "a jump goes to an odd address" : NULL;
}

static Reason check_id(unsigned kind, unsigned id)
{
  if (kind >= ID_KIND_COUNT)
    return "block or unblock of an unknown kind of id";
  return id >= id_kind_limit((IdKind)kind) ? "the id is too large for its kind" : NULL;
}

/* Limits on immediates that only some opcodes of a format have. */
static Reason check_immediate(const Insn *insn)
{
  if (insn->op == OP_blki || insn->op == OP_unblki)
    return check_id(insn->a, insn->imm);
  if (insn->op == OP_blk || insn->op == OP_unblk)
    return insn->imm >= ID_KIND_COUNT ? "block or unblock of an unknown kind of id" : NULL;
  if (insn->op == OP_acti)
    return insn->imm >= MAX_TASK_IDS ? "there is no task with the activated id" : NULL;
  if (insn->op == OP_qflush)
    return insn->imm > 1 ? "a queue to flush is neither input nor output" : NULL;
  return NULL;
}

static Reason unpack_dsr(Insn *insn, unsigned selector)
{
  unsigned file = selector & DSR_FILE_MASK;
  if (file >= DSR_FILE_COUNT)
    return "there is no such DSR file";
  insn->file = (DsrFile)file;
  return NULL;
}

static Reason unpack_dsrld(const uint16_t *words, Insn *insn)
{
  Reason reason = unpack_dsr(insn, words[2]);
  insn->imm = words[1];
  insn->absolute = words[2] & DSR_ABSOLUTE_BIT;
  insn->xdsr = words[2] >> DSR_FIELD_SHIFT & 15;
  if (reason)
    return reason;
  if (insn->xdsr >= MAX_XDSRS)
    return "there is no such extended DSR";
  if (insn->absolute && insn->b)
    return "an absolute descriptor address has a base register";
  return check_zero(words[2] & 0xff08);
}

static Reason unpack_dsr_field(unsigned word, Insn *insn)
{
  unsigned field = word >> DSR_FIELD_SHIFT;
  Reason reason = unpack_dsr(insn, word);
  if (reason)
    return reason;
  if (field >= DSRF_COUNT)
    return "a DSR has no such field";
  insn->field = (DsrField)field;
  return NULL;
}

static Reason unpack_dsrset(const uint16_t *words, Insn *insn)
{
  Reason reason = unpack_dsr_field(words[1], insn);
  insn->absolute = words[1] & DSR_ABSOLUTE_BIT;
  insn->imm = words[2];
  if (reason)
    return reason;
  if (insn->field == DSRF_REMAINING)
    return "the field 'remaining' of a DSR can only be read";
  return check_zero((words[1] & 8u) | (insn->absolute ? insn->b : insn->imm));
}

static Reason unpack_dsrget(const uint16_t *words, Insn *insn)
{
  Reason reason = unpack_dsr_field(words[1], insn);
  if (reason)
    return reason;
  if (insn->field == DSRF_BASE_ADD)
    return "the field 'base_add' of a DSR can only be written";
  return check_zero(words[1] & 0xcu);
}

static VecOperand unpack_operand(unsigned code, unsigned number, DsrFile first, DsrFile second)
{
  switch (code & 3) {
  case 0: return (VecOperand){.kind = VOPND_NONE, .number = (uint8_t)number};
  case 1: return (VecOperand){.kind = VOPND_REG, .number = (uint8_t)number};
  case 2: return (VecOperand){VOPND_DSR, first, (uint8_t)number};
  default: return (VecOperand){VOPND_DSR, second, (uint8_t)number};
  }
}

static Reason check_operand(const VecOperands *vec, VecSlot slot, const VecOperand *operand,
                            bool wanted)
{
  if ((operand->kind != VOPND_NONE) != wanted)
    return wanted ? "a vector operand is missing" : "a vector operand is one too many";
  if (operand->kind == VOPND_NONE)
    return check_zero(operand->number);
  if (operand->kind == VOPND_REG && vec_operand_bytes(vec, slot) == 4 && operand->number % 2)
    return "a 32-bit vector operand starts at an odd register";
  return NULL;
}

static Reason check_vec(const VecOperands *vec)
{
  const VecOpInfo *info = &vecops[vec->op];
  Reason reason = check_operand(vec, VSLOT_DEST, &vec->dest, info->kind != VK_DFILT);
  if (!reason)
    reason = check_operand(vec, VSLOT_SRC0, &vec->src0, info->sources == 2);
  if (!reason)
    reason = check_operand(vec, VSLOT_SRC1, &vec->src1, true);
  if (reason)
    return reason;
  if (vec->has_scalar != info->scalar)
    return "the scalar factor of a vector operation is missing or one too many";
  if (vec->has_scalar && vec_operand_bytes(vec, VSLOT_SCALAR) == 4 && vec->scalar % 2)
    return "a 32-bit vector operand starts at an odd register";
  return check_zero((vec->has_scalar ? 0u : vec->scalar) | (vec->has_index ? 0u : vec->index));
}

static Reason unpack_vec(const uint16_t *words, Insn *insn)
{
  VecOperands *vec = &insn->vec;
  unsigned op = words[0] & VEC_OP_MASK, kinds = words[2];
  if (op >= VEC_COUNT)
    return "there is no such vector operation";
  insn->a = insn->b = 0;
  vec->op = (VecOp)op;
  vec->has_scalar = words[0] & VEC_SCALAR_BIT;
  vec->has_index = words[0] & VEC_INDEX_BIT;
  vec->dest = unpack_operand(kinds, words[1] & 15, DSR_DEST, DSR_SRC0);
  vec->src0 = unpack_operand(kinds >> 2, words[1] >> 4 & 15, DSR_SRC0, DSR_SRC1);
  vec->src1 = unpack_operand(kinds >> 4, words[1] >> 8 & 15, DSR_SRC0, DSR_SRC1);
  vec->scalar = words[1] >> 12;
  vec->index = (uint8_t)(kinds >> VEC_INDEX_SHIFT);
  vec->priority = kinds >> VEC_PRIORITY_SHIFT & VEC_PRIORITY_MASK;
  Reason reason = check_zero(kinds & VEC_UNUSED);
  return reason ? reason : check_vec(vec);
}

static Reason unpack_words(const uint16_t *words, Insn *insn)
{
  switch (insn_info[insn->op].format) {
  case FMT_NONE: case FMT_J:
    insn->imm = insn_words(insn->op) > 1 ? words[1] : 0;
    return insn->a | insn->b ? check_zero(1) : check_target(insn->imm);
  case FMT_R:
    return check_zero(insn->b);
  case FMT_RR:
    return NULL;
  case FMT_RRR:
    insn->c = words[1] & 15;
    return check_zero(words[1] & 0xfff0);
  case FMT_RRI: case FMT_LD: case FMT_ST:
    insn->imm = words[1];
    return NULL;
  case FMT_RI: case FMT_LDA: case FMT_STA:
    insn->imm = words[1];
    return check_zero(insn->b);
  case FMT_RI32:
    insn->imm = words[1] | (uint32_t)words[2] << 16;
    return check_zero(insn->b);
  case FMT_I:
    insn->imm = words[1];
    return check_zero(insn->a | insn->b);
  case FMT_RJ:
    insn->imm = words[1];
    return insn->b ? check_zero(1) : check_target(insn->imm);
  case FMT_RRJ:
    insn->imm = words[1];
    return check_target(insn->imm);
  case FMT_RIJ:
    insn->imm = words[1];
    insn->target = words[2];
    return insn->b ? check_zero(1) : check_target(insn->target);
  case FMT_DSRLD: return unpack_dsrld(words, insn);
  case FMT_DSRSET: return unpack_dsrset(words, insn);
  case FMT_DSRGET: return unpack_dsrget(words, insn);
  case FMT_CTR: case FMT_CTRA:
    insn->imm = words[1];
    if (insn_info[insn->op].format == FMT_CTRA && insn->b)
      return check_zero(insn->b);
    return insn->a >= COUNTER_WORDS ? "the counters have no such word" : NULL;
  case FMT_VEC: return unpack_vec(words, insn);
  case FMT_COUNT: default: ICE("no format %d", (int)insn_info[insn->op].format);
  }
}

unsigned insn_decode(const uint16_t *words, size_t available, Insn *insn, const char **reason)
{
  *insn = (Insn){0};
  *reason = "the code ends here";
  if (available == 0)
    return 0;
  unsigned op = words[0] >> 8;
  *reason = "there is no such opcode";
  if (op >= OP_COUNT)
    return 0;
  insn->op = (Opcode)op;
  insn->a = words[0] >> 4 & 15;
  insn->b = words[0] & 15;
  unsigned length = insn_words(insn->op);
  *reason = "the code ends inside an instruction";
  if (length > available)
    return 0;
  Reason wrong = unpack_words(words, insn);
  if (!wrong)
    wrong = check_registers(insn);
  if (!wrong)
    wrong = check_immediate(insn);
  *reason = wrong;
  return wrong ? 0 : length;
}

bool insn_has_target(Opcode op)
{
  switch (insn_info[op].format) {
  case FMT_J: case FMT_RJ: case FMT_RRJ: case FMT_RIJ:
    return true;
  case FMT_NONE: case FMT_R: case FMT_RR: case FMT_RRR: case FMT_RRI: case FMT_RI: case FMT_RI32:
  case FMT_I: case FMT_LD: case FMT_LDA: case FMT_ST: case FMT_STA: case FMT_DSRLD:
  case FMT_DSRSET: case FMT_DSRGET: case FMT_CTR: case FMT_CTRA: case FMT_VEC:
  case FMT_COUNT: default:
    return false;
  }
}

bool insn_target(const Insn *insn, uint32_t *target)
{
  if (!insn_has_target(insn->op))
    return false;
  *target = insn_info[insn->op].format == FMT_RIJ ? insn->target : insn->imm;
  return true;
}

/* ---- disassembly ----------------------------------------------------------------------------- */

/* Bounded text: what does not fit is dropped. */
typedef struct { char *at; size_t left; } Text;

static void add_text(Text *text, const char *format, ...) BASE_PRINTF(2, 3);
static void add_text(Text *text, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  int want = vsnprintf(text->at, text->left, format, args);
  va_end(args);
  size_t used = want < 0 ? 0 : (size_t)want;
  if (used >= text->left)
    used = text->left ? text->left - 1 : 0;
  text->at += used;
  text->left -= used;
}

static void add_register(Text *text, const Insn *insn, unsigned operand, unsigned number)
{
  add_text(text, "%c%u", insn_is_pair(insn->op, operand) ? 'd' : 'r', number);
}

static void add_address(Text *text, const Insn *insn)
{
  int offset = (int16_t)insn->imm;
  if (offset == 0)
    add_text(text, "[r%u]", insn->b);
  else
    add_text(text, "[r%u %c %d]", insn->b, offset < 0 ? '-' : '+', offset < 0 ? -offset : offset);
}

static void add_vec_operand(Text *text, const VecOperands *vec, VecSlot slot,
                            const VecOperand *operand)
{
  if (operand->kind == VOPND_DSR)
    add_text(text, "%s[%u]", dsr_file_name(operand->file), operand->number);
  else if (operand->kind == VOPND_REG)
    add_text(text, "%c%u", vec_operand_bytes(vec, slot) == 4 ? 'd' : 'r', operand->number);
  else
    add_text(text, "none");
}

static void add_vec(Text *text, const VecOperands *vec)
{
  if ((unsigned)vec->op >= VEC_COUNT) {
    add_text(text, "?");
    return;
  }
  add_text(text, "%s ", vecops[vec->op].name);
  add_vec_operand(text, vec, VSLOT_DEST, &vec->dest);
  if (vec->src0.kind != VOPND_NONE) {
    add_text(text, ", ");
    add_vec_operand(text, vec, VSLOT_SRC0, &vec->src0);
  }
  add_text(text, ", ");
  add_vec_operand(text, vec, VSLOT_SRC1, &vec->src1);
  if (vec->has_scalar)
    add_text(text, ", %c%u", vec_operand_bytes(vec, VSLOT_SCALAR) == 4 ? 'd' : 'r', vec->scalar);
  if (vec->has_index)
    add_text(text, ", index r%u", vec->index);
  if (vec->priority)
    add_text(text, ", priority %s", priority_name((Priority)(vec->priority - 1)));
}

static void add_dsr(Text *text, const Insn *insn)
{
  add_text(text, "%s[%u]", dsr_file_name(insn->file), insn->a);
}

static void add_register_immediate(Text *text, const Insn *insn)
{
  if (insn->op == OP_blki || insn->op == OP_unblki) {
    add_text(text, "%s %u", id_kind_name((IdKind)insn->a), insn->imm);
    return;
  }
  add_register(text, insn, 0, insn->a);
  if (insn->op == OP_blk || insn->op == OP_unblk)
    add_text(text, ", %s", id_kind_name((IdKind)insn->imm));
  else if (insn_info[insn->op].cost == COST_CONFIG)
    add_text(text, ", 0x%04x", insn->imm);
  else
    add_text(text, ", %d", (int16_t)insn->imm);
}

static void add_operands(Text *text, const Insn *insn)
{
  InsnFormat format = insn_info[insn->op].format;
  switch (format) {
  case FMT_NONE:
    break;
  case FMT_R:
    add_register(text, insn, 0, insn->a);
    break;
  case FMT_RR: case FMT_RRR: case FMT_RRI: case FMT_RRJ:
    add_register(text, insn, 0, insn->a);
    add_text(text, ", ");
    add_register(text, insn, 1, insn->b);
    if (format == FMT_RRI)
      add_text(text, ", %d", (int16_t)insn->imm);
    if (format == FMT_RRJ)
      add_text(text, ", 0x%04x", insn->imm);
    if (format == FMT_RRR) {
      add_text(text, ", ");
      add_register(text, insn, 2, insn->c);
    }
    break;
  case FMT_RI:
    add_register_immediate(text, insn);
    break;
  case FMT_RI32:
    add_text(text, "d%u, 0x%08x", insn->a, insn->imm);
    break;
  case FMT_I:
    add_text(text, "%u", insn->imm);
    break;
  case FMT_LD: case FMT_LDA:
    add_register(text, insn, 0, insn->a);
    add_text(text, ", ");
    if (format == FMT_LD)
      add_address(text, insn);
    else
      add_text(text, "[0x%04x]", insn->imm);
    break;
  case FMT_ST: case FMT_STA:
    if (format == FMT_ST)
      add_address(text, insn);
    else
      add_text(text, "[0x%04x]", insn->imm);
    add_text(text, ", ");
    add_register(text, insn, 0, insn->a);
    break;
  case FMT_J:
    add_text(text, "0x%04x", insn->imm);
    break;
  case FMT_RJ:
    add_register(text, insn, 0, insn->a);
    add_text(text, ", 0x%04x", insn->imm);
    break;
  case FMT_RIJ:
    add_register(text, insn, 0, insn->a);
    add_text(text, ", %d, 0x%04x", (int16_t)insn->imm, insn->target);
    break;
  case FMT_DSRLD:
    add_dsr(text, insn);
    add_text(text, ", ");
    if (insn->absolute)
      add_text(text, "[0x%04x]", insn->imm);
    else
      add_address(text, insn);
    if (insn->xdsr)
      add_text(text, ", xdsr %u", insn->xdsr);
    break;
  case FMT_DSRSET:
    add_dsr(text, insn);
    add_text(text, ".%s, ", dsr_field_name(insn->field));
    if (insn->absolute)
      add_text(text, "%d", (int16_t)insn->imm);
    else
      add_text(text, "r%u", insn->b);
    break;
  case FMT_DSRGET:
    add_text(text, "r%u, ", insn->b);
    add_dsr(text, insn);
    add_text(text, ".%s", dsr_field_name(insn->field));
    break;
  case FMT_CTR:
    add_text(text, "%u, ", insn->a);
    add_address(text, insn);
    break;
  case FMT_CTRA:
    add_text(text, "%u, [0x%04x]", insn->a, insn->imm);
    break;
  case FMT_VEC:
    add_vec(text, &insn->vec);
    break;
  case FMT_COUNT: default:
    break;
  }
}

void insn_print(const Insn *insn, char *text, size_t size)
{
  Text out = {text, size};
  if (size)
    text[0] = 0;
  if ((unsigned)insn->op >= OP_COUNT) {
    add_text(&out, "?");
    return;
  }
  add_text(&out, "%s", insn_info[insn->op].name);
  if (insn_info[insn->op].format != FMT_NONE)
    add_text(&out, insn_info[insn->op].format == FMT_VEC ? "." : " ");
  add_operands(&out, insn);
}
