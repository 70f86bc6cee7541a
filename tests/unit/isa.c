/* Instructions: decode(encode(x)) == x for every opcode, every word pattern that decodes
 * encodes to itself, and what must be refused is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/machine/machine.h"

static uint32_t random_state = 12345;

static uint32_t random_below(uint32_t limit)
{
  random_state = random_state * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)random_state * limit >> 32);
}

static uint8_t random_register(Opcode op, unsigned operand)
{
  unsigned mask = insn_is_pair(op, operand) ? 14 : 15;
  return (uint8_t)(random_below(GPR_COUNT) & mask);
}

static VecOperand random_operand(const VecOperands *vec, VecSlot slot)
{
  bool is_register = random_below(2);
  VecOperand operand = {.kind = is_register ? VOPND_REG : VOPND_DSR};
  operand.number = (uint8_t)random_below(MAX_DSRS);
  if (!is_register)
    operand.file = (DsrFile)(random_below(2) + (slot == VSLOT_DEST ? DSR_DEST : DSR_SRC0));
  (void)vec;
  return operand;
}

static void even_if_pair(const VecOperands *vec, VecSlot slot, VecOperand *operand)
{
  if (operand->kind == VOPND_REG && vec_operand_bytes(vec, slot) == 4)
    operand->number &= 14;
}

static void random_vec(VecOperands *vec, VecOp op)
{
  *vec = (VecOperands){.op = op};
  if (vecops[op].kind != VK_DFILT)
    vec->dest = random_operand(vec, VSLOT_DEST);
  if (vecops[op].sources == 2)
    vec->src0 = random_operand(vec, VSLOT_SRC0);
  vec->src1 = random_operand(vec, VSLOT_SRC1);
  even_if_pair(vec, VSLOT_DEST, &vec->dest);
  even_if_pair(vec, VSLOT_SRC0, &vec->src0);
  even_if_pair(vec, VSLOT_SRC1, &vec->src1);
  vec->has_scalar = vecops[op].scalar;
  if (vec->has_scalar)
    vec->scalar = (uint8_t)(random_below(GPR_COUNT) &
                            (vec_operand_bytes(vec, VSLOT_SCALAR) == 4 ? 14 : 15));
  vec->has_index = random_below(2);
  if (vec->has_index)
    vec->index = (uint8_t)random_below(GPR_COUNT);
  vec->priority = (uint8_t)random_below(1 + PRIO_COUNT);
}

static void random_dsr(Insn *insn)
{
  insn->a = (uint8_t)random_below(MAX_DSRS);
  insn->file = (DsrFile)random_below(DSR_FILE_COUNT);
}

static DsrField random_field(DsrField except)
{
  DsrField field;
  do
    field = (DsrField)random_below(DSRF_COUNT);
  while (field == except);
  return field;
}

static void random_immediate(Insn *insn)
{
  insn->imm = random_below(0x10000);
  if (insn->op == OP_blki || insn->op == OP_unblki) {
    insn->a = (uint8_t)random_below(ID_KIND_COUNT);
    insn->imm = random_below(id_kind_limit((IdKind)insn->a));
  } else if (insn->op == OP_blk || insn->op == OP_unblk) {
    insn->imm = random_below(ID_KIND_COUNT);
  } else if (insn->op == OP_acti) {
    insn->imm = random_below(MAX_TASK_IDS);
  } else if (insn->op == OP_qflush) {
    insn->imm = random_below(2);
  }
}

static Insn random_insn(Opcode op)
{
  Insn insn = {.op = op};
  InsnFormat format = insn_info[op].format;
  if (format == FMT_DSRLD) {
    random_dsr(&insn);
    insn.absolute = random_below(2);
    insn.b = insn.absolute ? 0 : (uint8_t)random_below(GPR_COUNT);
    insn.imm = random_below(0x10000);
    insn.xdsr = (uint8_t)random_below(MAX_XDSRS);
  } else if (format == FMT_DSRSET) {
    random_dsr(&insn);
    insn.field = random_field(DSRF_REMAINING);
    insn.absolute = random_below(2);
    insn.b = insn.absolute ? 0 : (uint8_t)random_below(GPR_COUNT);
    insn.imm = insn.absolute ? random_below(0x10000) : 0;
  } else if (format == FMT_DSRGET) {
    random_dsr(&insn);
    insn.field = random_field(DSRF_BASE_ADD);
    insn.b = (uint8_t)random_below(GPR_COUNT);
  } else if (format == FMT_CTR || format == FMT_CTRA) {
    insn.a = (uint8_t)random_below(COUNTER_WORDS);
    if (format == FMT_CTR)
      insn.b = (uint8_t)random_below(GPR_COUNT);
    insn.imm = random_below(0x10000);
  } else if (format == FMT_VEC) {
    random_vec(&insn.vec, (VecOp)random_below(VEC_COUNT));
  } else {
    bool has_a = format != FMT_NONE && format != FMT_I && format != FMT_J;
    bool has_b = format == FMT_RR || format == FMT_RRR || format == FMT_RRI || format == FMT_LD ||
                 format == FMT_ST || format == FMT_RRJ;
    insn.a = has_a ? random_register(op, 0) : 0;
    insn.b = has_b ? random_register(op, 1) : 0;
    insn.c = format == FMT_RRR ? random_register(op, 2) : 0;
    if (insn_words(op) > 1 && format != FMT_RRR)
      random_immediate(&insn);
    if (format == FMT_J || format == FMT_RJ || format == FMT_RRJ)
      insn.imm &= 0xfffe;
    if (format == FMT_RI32)
      insn.imm |= random_below(0x10000) << 16;
    if (format == FMT_RIJ)
      insn.target = random_below(0x10000) & 0xfffe;
  }
  return insn;
}

static void every_opcode_survives_the_round_trip(void **state)
{
  (void)state;
  for (unsigned op = 0; op < OP_COUNT; op++) {
    for (unsigned turn = 0; turn < 2000; turn++) {
      Insn insn = random_insn((Opcode)op), back;
      uint16_t words[3];
      const char *reason = NULL;
      unsigned length = insn_encode(&insn, words);
      assert_int_equal(length, insn_words((Opcode)op));
      assert_int_equal(insn_decode(words, length, &back, &reason), length);
      assert_true(insn_equal(&insn, &back));
      assert_int_equal(insn_decode(words, length - 1, &back, &reason), 0);
      assert_non_null(reason);
    }
  }
}

static void what_decodes_encodes_to_the_same_words(void **state)
{
  (void)state;
  unsigned decoded[OP_COUNT] = {0};
  for (uint32_t turn = 0; turn < 4000000; turn++) {
    uint16_t words[3], again[3];
    words[0] = (uint16_t)(turn & 0xffff);   /* every first word, many times */
    for (unsigned i = 1; i < 3; i++)   /* sparse words reach the strict formats more often */
      words[i] = (uint16_t)(random_below(0x10000) & (random_below(2) ? random_below(0x10000) : ~0u));
    Insn insn;
    const char *reason = NULL;
    unsigned length = insn_decode(words, 3, &insn, &reason);
    if (length == 0) {
      assert_non_null(reason);
      continue;
    }
    decoded[insn.op]++;
    assert_int_equal(insn_encode(&insn, again), length);
    assert_memory_equal(words, again, length * sizeof *words);
  }
  for (unsigned op = 0; op < OP_COUNT; op++)
    if (decoded[op] == 0)
      fail_msg("no random words decoded to %s", insn_info[op].name);
}

static const char *reason_for(uint16_t w0, uint16_t w1, uint16_t w2)
{
  uint16_t words[3] = {w0, w1, w2};
  Insn insn;
  const char *reason = NULL;
  assert_int_equal(insn_decode(words, 3, &insn, &reason), 0);
  return reason;
}

static uint16_t head(Opcode op, unsigned a, unsigned b)
{
  return (uint16_t)((unsigned)op << 8 | a << 4 | b);
}

static void wrong_words_are_refused_with_a_reason(void **state)
{
  (void)state;
  assert_string_equal(reason_for(0xff00, 0, 0), "there is no such opcode");
  assert_string_equal(reason_for(head(OP_nop, 1, 0), 0, 0),
                      "a bit that the instruction does not use is set");
  assert_string_equal(reason_for(head(OP_add, 1, 2), 0x13, 0),
                      "a bit that the instruction does not use is set");
  assert_string_equal(reason_for(head(OP_add32, 1, 2), 4, 0),
                      "a 32-bit operand starts at an odd register");
  assert_string_equal(reason_for(head(OP_jmp, 0, 0), 0x101, 0), "a jump goes to an odd address");
  assert_string_equal(reason_for(head(OP_acti, 0, 0), MAX_TASK_IDS, 0),
                      "there is no task with the activated id");
  assert_string_equal(reason_for(head(OP_blki, ID_KIND_COUNT, 0), 0, 0),
                      "block or unblock of an unknown kind of id");
  assert_string_equal(reason_for(head(OP_blki, ID_INPUT_QUEUE, 0), MAX_QUEUES, 0),
                      "the id is too large for its kind");
  assert_string_equal(reason_for(head(OP_qflush, 0, 0), 2, 0),
                      "a queue to flush is neither input nor output");
  assert_string_equal(reason_for(head(OP_ldsr, 0, 0), 0, DSR_FILE_COUNT),
                      "there is no such DSR file");
  assert_string_equal(reason_for(head(OP_ldsr, 0, 3), 0, 4),
                      "an absolute descriptor address has a base register");
  assert_string_equal(reason_for(head(OP_ldsr, 0, 0), 0, MAX_XDSRS << 4),
                      "there is no such extended DSR");
  assert_string_equal(reason_for(head(OP_dsrset, 0, 0), DSRF_REMAINING << 4, 0),
                      "the field 'remaining' of a DSR can only be read");
  assert_string_equal(reason_for(head(OP_dsrget, 0, 0), DSRF_BASE_ADD << 4, 0),
                      "the field 'base_add' of a DSR can only be written");
  assert_string_equal(reason_for(head(OP_dsrget, 0, 0), DSRF_COUNT << 4, 0),
                      "a DSR has no such field");
  assert_string_equal(reason_for(head(OP_stctr, COUNTER_WORDS, 0), 0, 0),
                      "the counters have no such word");
  assert_string_equal(reason_for((uint16_t)(OP_vec << 8 | VEC_COUNT), 0, 0),
                      "there is no such vector operation");
  assert_string_equal(reason_for((uint16_t)(OP_vec << 8 | VEC_fadds), 0, 2 << 2 | 2 << 4),
                      "a vector operand is missing");
  assert_string_equal(reason_for((uint16_t)(OP_vec << 8 | VEC_fmovs), 0, 2 | 2 << 2 | 2 << 4),
                      "a vector operand is one too many");
  assert_string_equal(reason_for((uint16_t)(OP_vec << 8 | VEC_fmacs), 0, 2 | 2 << 2 | 2 << 4),
                      "the scalar factor of a vector operation is missing or one too many");
  assert_string_equal(reason_for((uint16_t)(OP_vec << 8 | VEC_fmovs), 1, 1 | 2 << 4),
                      "a 32-bit vector operand starts at an odd register");
}

static void mixed_folds_accumulate_in_a_pair(void **state)
{
  (void)state;
  VecOperands fold = {.op = VEC_faddhs, .dest = {.kind = VOPND_REG}, .src0 = {.kind = VOPND_REG}};
  assert_int_equal(vec_operand_bytes(&fold, VSLOT_SRC0), 4);
  fold.dest.kind = VOPND_DSR;
  assert_int_equal(vec_operand_bytes(&fold, VSLOT_SRC0), 2);
  fold.op = VEC_fmachs;
  assert_int_equal(vec_operand_bytes(&fold, VSLOT_SRC0), 4);
  assert_int_equal(vec_operand_bytes(&fold, VSLOT_SCALAR), 2);
  fold.op = VEC_fmacs;
  assert_int_equal(vec_operand_bytes(&fold, VSLOT_SCALAR), 4);
  fold.op = VEC_fscales;
  assert_int_equal(vec_operand_bytes(&fold, VSLOT_SCALAR), 2);
}

static void expect_text(const Insn *insn, const char *expected)
{
  char text[80], exact[80], cut[6];
  insn_print(insn, text, sizeof text);
  assert_string_equal(text, expected);
  insn_print(insn, exact, strlen(expected) + 1);
  assert_string_equal(exact, expected);
  insn_print(insn, cut, sizeof cut);
  assert_int_equal(strncmp(cut, expected, sizeof cut - 1), 0);
}

static void assembly_text_names_every_operand(void **state)
{
  (void)state;
  expect_text(&(Insn){.op = OP_ret}, "ret");
  expect_text(&(Insn){.op = OP_mul32, .a = 2, .b = 4, .c = 8}, "mul32 d2, d4, d8");
  expect_text(&(Insn){.op = OP_sll32, .a = 2, .b = 4, .c = 7}, "sll32 d2, d4, r7");
  expect_text(&(Insn){.op = OP_li, .a = 3, .imm = 0xffff}, "li r3, -1");
  expect_text(&(Insn){.op = OP_li32, .a = 2, .imm = 0x3f800000}, "li32 d2, 0x3f800000");
  expect_text(&(Insn){.op = OP_ld32, .a = 2, .b = 7, .imm = 0xfffc}, "ld32 d2, [r7 - 4]");
  expect_text(&(Insn){.op = OP_st16, .a = 1, .b = 7}, "st16 [r7], r1");
  expect_text(&(Insn){.op = OP_st16a, .a = 1, .imm = 0x20}, "st16a [0x0020], r1");
  expect_text(&(Insn){.op = OP_bltsi, .a = 1, .imm = 10, .target = 0x120}, "bltsi r1, 10, 0x0120");
  expect_text(&(Insn){.op = OP_blki, .a = ID_INPUT_QUEUE, .imm = 3}, "blki input_queue 3");
  expect_text(&(Insn){.op = OP_unblk, .a = 4, .imm = ID_TASK}, "unblk r4, task");
  expect_text(&(Insn){.op = OP_ldcfgi, .a = 4, .imm = CFG_PE_COORD_X}, "ldcfgi r4, 0x7e00");
  expect_text(&(Insn){.op = OP_ldsr, .a = 3, .file = DSR_SRC1, .absolute = true, .imm = 0x40,
                      .xdsr = 2}, "ldsr src1[3], [0x0040], xdsr 2");
  expect_text(&(Insn){.op = OP_dsrset, .a = 3, .b = 5, .field = DSRF_LENGTH},
              "dsrset dest[3].length, r5");
  expect_text(&(Insn){.op = OP_dsrget, .a = 3, .b = 5, .field = DSRF_REMAINING},
              "dsrget r5, dest[3].remaining");
  expect_text(&(Insn){.op = OP_stctr, .a = 8, .b = 5, .imm = 2}, "stctr 8, [r5 + 2]");
  expect_text(&(Insn){.op = OP_stctra, .a = 2, .imm = 0x120}, "stctra 2, [0x0120]");
  expect_text(&(Insn){.op = OP_vec,
                      .vec = {.op = VEC_fmacs, .dest = {VOPND_DSR, DSR_DEST, 1},
                              .src0 = {VOPND_DSR, DSR_SRC0, 2}, .src1 = {VOPND_DSR, DSR_SRC1, 3},
                              .has_scalar = true, .scalar = 4, .has_index = true, .index = 9,
                              .priority = 1 + PRIO_MEDIUM}},
              "vec.fmacs dest[1], src0[2], src1[3], d4, index r9, priority medium");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_opcode_survives_the_round_trip),
    cmocka_unit_test(what_decodes_encodes_to_the_same_words),
    cmocka_unit_test(wrong_words_are_refused_with_a_reason),
    cmocka_unit_test(mixed_folds_accumulate_in_a_pair),
    cmocka_unit_test(assembly_text_names_every_operand),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
