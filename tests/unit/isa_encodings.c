/* Encodings and texts, one of each instruction: a change here changes what images mean, and needs
 * a reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/machine/machine.h"

static const struct {
  uint16_t words[3];
  Opcode op;
  const char *text;
} known[] = {
  {{0x0000, 0x0000, 0x0000}, OP_nop, "nop"},
  {{0x0137, 0x0000, 0x0000}, OP_mov, "mov r3, r7"},
  {{0x0224, 0x0000, 0x0000}, OP_mov32, "mov32 d2, d4"},
  {{0x0330, 0xfffe, 0x0000}, OP_li, "li r3, -2"},
  {{0x0420, 0x0001, 0x3f80}, OP_li32, "li32 d2, 0x3f800001"},
  {{0x0537, 0x0009, 0x0000}, OP_add, "add r3, r7, r9"},
  {{0x0637, 0xfffe, 0x0000}, OP_addi, "addi r3, r7, -2"},
  {{0x0737, 0x0009, 0x0000}, OP_addc, "addc r3, r7, r9"},
  {{0x0837, 0x0009, 0x0000}, OP_sub, "sub r3, r7, r9"},
  {{0x0937, 0x0009, 0x0000}, OP_subc, "subc r3, r7, r9"},
  {{0x0a37, 0xfffe, 0x0000}, OP_rsubi, "rsubi r3, r7, -2"},
  {{0x0b37, 0x0009, 0x0000}, OP_and, "and r3, r7, r9"},
  {{0x0c37, 0xfffe, 0x0000}, OP_andi, "andi r3, r7, -2"},
  {{0x0d37, 0x0009, 0x0000}, OP_or, "or r3, r7, r9"},
  {{0x0e37, 0xfffe, 0x0000}, OP_ori, "ori r3, r7, -2"},
  {{0x0f37, 0x0009, 0x0000}, OP_xor, "xor r3, r7, r9"},
  {{0x1037, 0xfffe, 0x0000}, OP_xori, "xori r3, r7, -2"},
  {{0x1137, 0x0009, 0x0000}, OP_sll, "sll r3, r7, r9"},
  {{0x1237, 0xfffe, 0x0000}, OP_slli, "slli r3, r7, -2"},
  {{0x1337, 0x0009, 0x0000}, OP_slr, "slr r3, r7, r9"},
  {{0x1437, 0xfffe, 0x0000}, OP_slri, "slri r3, r7, -2"},
  {{0x1537, 0x0009, 0x0000}, OP_sar, "sar r3, r7, r9"},
  {{0x1637, 0xfffe, 0x0000}, OP_sari, "sari r3, r7, -2"},
  {{0x1737, 0x0009, 0x0000}, OP_mul, "mul r3, r7, r9"},
  {{0x1837, 0xfffe, 0x0000}, OP_muli, "muli r3, r7, -2"},
  {{0x1927, 0x0009, 0x0000}, OP_mulwu, "mulwu d2, r7, r9"},
  {{0x1a27, 0x0009, 0x0000}, OP_mulws, "mulws d2, r7, r9"},
  {{0x1b37, 0x0009, 0x0000}, OP_divs, "divs r3, r7, r9"},
  {{0x1c37, 0x0009, 0x0000}, OP_divu, "divu r3, r7, r9"},
  {{0x1d37, 0x0009, 0x0000}, OP_rems, "rems r3, r7, r9"},
  {{0x1e37, 0x0009, 0x0000}, OP_remu, "remu r3, r7, r9"},
  {{0x1f37, 0x0000, 0x0000}, OP_sext8, "sext8 r3, r7"},
  {{0x2037, 0x0000, 0x0000}, OP_zext8, "zext8 r3, r7"},
  {{0x2137, 0x0000, 0x0000}, OP_clz, "clz r3, r7"},
  {{0x2237, 0x0000, 0x0000}, OP_ctz, "ctz r3, r7"},
  {{0x2337, 0x0000, 0x0000}, OP_popcnt, "popcnt r3, r7"},
  {{0x2424, 0x0008, 0x0000}, OP_add32, "add32 d2, d4, d8"},
  {{0x2524, 0xfffe, 0x0000}, OP_addi32, "addi32 d2, d4, -2"},
  {{0x2624, 0x0008, 0x0000}, OP_addc32, "addc32 d2, d4, d8"},
  {{0x2724, 0x0008, 0x0000}, OP_sub32, "sub32 d2, d4, d8"},
  {{0x2824, 0x0008, 0x0000}, OP_subc32, "subc32 d2, d4, d8"},
  {{0x2924, 0x0008, 0x0000}, OP_and32, "and32 d2, d4, d8"},
  {{0x2a24, 0x0008, 0x0000}, OP_or32, "or32 d2, d4, d8"},
  {{0x2b24, 0x0008, 0x0000}, OP_xor32, "xor32 d2, d4, d8"},
  {{0x2c24, 0x0009, 0x0000}, OP_sll32, "sll32 d2, d4, r9"},
  {{0x2d24, 0xfffe, 0x0000}, OP_slli32, "slli32 d2, d4, -2"},
  {{0x2e24, 0x0009, 0x0000}, OP_slr32, "slr32 d2, d4, r9"},
  {{0x2f24, 0xfffe, 0x0000}, OP_slri32, "slri32 d2, d4, -2"},
  {{0x3024, 0x0009, 0x0000}, OP_sar32, "sar32 d2, d4, r9"},
  {{0x3124, 0xfffe, 0x0000}, OP_sari32, "sari32 d2, d4, -2"},
  {{0x3224, 0x0008, 0x0000}, OP_mul32, "mul32 d2, d4, d8"},
  {{0x3324, 0x0008, 0x0000}, OP_divs32, "divs32 d2, d4, d8"},
  {{0x3424, 0x0008, 0x0000}, OP_divu32, "divu32 d2, d4, d8"},
  {{0x3524, 0x0008, 0x0000}, OP_rems32, "rems32 d2, d4, d8"},
  {{0x3624, 0x0008, 0x0000}, OP_remu32, "remu32 d2, d4, d8"},
  {{0x3727, 0x0000, 0x0000}, OP_sext16, "sext16 d2, r7"},
  {{0x3827, 0x0000, 0x0000}, OP_zext16, "zext16 d2, r7"},
  {{0x3937, 0x0009, 0x0000}, OP_seq, "seq r3, r7, r9"},
  {{0x3a37, 0x0009, 0x0000}, OP_sne, "sne r3, r7, r9"},
  {{0x3b37, 0x0009, 0x0000}, OP_slts, "slts r3, r7, r9"},
  {{0x3c37, 0x0009, 0x0000}, OP_sltu, "sltu r3, r7, r9"},
  {{0x3d37, 0x0009, 0x0000}, OP_sles, "sles r3, r7, r9"},
  {{0x3e37, 0x0009, 0x0000}, OP_sleu, "sleu r3, r7, r9"},
  {{0x3f34, 0x0008, 0x0000}, OP_seq32, "seq32 r3, d4, d8"},
  {{0x4034, 0x0008, 0x0000}, OP_sne32, "sne32 r3, d4, d8"},
  {{0x4134, 0x0008, 0x0000}, OP_slts32, "slts32 r3, d4, d8"},
  {{0x4234, 0x0008, 0x0000}, OP_sltu32, "sltu32 r3, d4, d8"},
  {{0x4334, 0x0008, 0x0000}, OP_sles32, "sles32 r3, d4, d8"},
  {{0x4434, 0x0008, 0x0000}, OP_sleu32, "sleu32 r3, d4, d8"},
  {{0x4537, 0x0009, 0x0000}, OP_faddh, "faddh r3, r7, r9"},
  {{0x4637, 0x0009, 0x0000}, OP_fsubh, "fsubh r3, r7, r9"},
  {{0x4737, 0x0009, 0x0000}, OP_fmulh, "fmulh r3, r7, r9"},
  {{0x4837, 0x0009, 0x0000}, OP_fdivh, "fdivh r3, r7, r9"},
  {{0x4924, 0x0008, 0x0000}, OP_fadds, "fadds d2, d4, d8"},
  {{0x4a24, 0x0008, 0x0000}, OP_fsubs, "fsubs d2, d4, d8"},
  {{0x4b24, 0x0008, 0x0000}, OP_fmuls, "fmuls d2, d4, d8"},
  {{0x4c24, 0x0008, 0x0000}, OP_fdivs, "fdivs d2, d4, d8"},
  {{0x4d37, 0x0000, 0x0000}, OP_fnegh, "fnegh r3, r7"},
  {{0x4e24, 0x0000, 0x0000}, OP_fnegs, "fnegs d2, d4"},
  {{0x4f37, 0x0009, 0x0000}, OP_fscaleh, "fscaleh r3, r7, r9"},
  {{0x5024, 0x0009, 0x0000}, OP_fscales, "fscales d2, d4, r9"},
  {{0x5137, 0x0009, 0x0000}, OP_feqh, "feqh r3, r7, r9"},
  {{0x5237, 0x0009, 0x0000}, OP_flth, "flth r3, r7, r9"},
  {{0x5337, 0x0009, 0x0000}, OP_fleh, "fleh r3, r7, r9"},
  {{0x5434, 0x0008, 0x0000}, OP_feqs, "feqs r3, d4, d8"},
  {{0x5534, 0x0008, 0x0000}, OP_flts, "flts r3, d4, d8"},
  {{0x5634, 0x0008, 0x0000}, OP_fles, "fles r3, d4, d8"},
  {{0x5727, 0x0000, 0x0000}, OP_h2s, "h2s d2, r7"},
  {{0x5834, 0x0000, 0x0000}, OP_s2h, "s2h r3, d4"},
  {{0x5937, 0x0000, 0x0000}, OP_i2h, "i2h r3, r7"},
  {{0x5a37, 0x0000, 0x0000}, OP_u2h, "u2h r3, r7"},
  {{0x5b27, 0x0000, 0x0000}, OP_i2s, "i2s d2, r7"},
  {{0x5c27, 0x0000, 0x0000}, OP_u2s, "u2s d2, r7"},
  {{0x5d34, 0x0000, 0x0000}, OP_l2h, "l2h r3, d4"},
  {{0x5e34, 0x0000, 0x0000}, OP_ul2h, "ul2h r3, d4"},
  {{0x5f24, 0x0000, 0x0000}, OP_l2s, "l2s d2, d4"},
  {{0x6024, 0x0000, 0x0000}, OP_ul2s, "ul2s d2, d4"},
  {{0x6137, 0x0000, 0x0000}, OP_h2i, "h2i r3, r7"},
  {{0x6237, 0x0000, 0x0000}, OP_h2u, "h2u r3, r7"},
  {{0x6334, 0x0000, 0x0000}, OP_s2i, "s2i r3, d4"},
  {{0x6434, 0x0000, 0x0000}, OP_s2u, "s2u r3, d4"},
  {{0x6527, 0x0000, 0x0000}, OP_h2l, "h2l d2, r7"},
  {{0x6627, 0x0000, 0x0000}, OP_h2ul, "h2ul d2, r7"},
  {{0x6724, 0x0000, 0x0000}, OP_s2l, "s2l d2, d4"},
  {{0x6824, 0x0000, 0x0000}, OP_s2ul, "s2ul d2, d4"},
  {{0x6937, 0x0006, 0x0000}, OP_ld8u, "ld8u r3, [r7 + 6]"},
  {{0x6a37, 0x0006, 0x0000}, OP_ld8s, "ld8s r3, [r7 + 6]"},
  {{0x6b37, 0x0006, 0x0000}, OP_ld16, "ld16 r3, [r7 + 6]"},
  {{0x6c27, 0x0006, 0x0000}, OP_ld32, "ld32 d2, [r7 + 6]"},
  {{0x6d30, 0x1234, 0x0000}, OP_ld8ua, "ld8ua r3, [0x1234]"},
  {{0x6e30, 0x1234, 0x0000}, OP_ld8sa, "ld8sa r3, [0x1234]"},
  {{0x6f30, 0x1234, 0x0000}, OP_ld16a, "ld16a r3, [0x1234]"},
  {{0x7020, 0x1234, 0x0000}, OP_ld32a, "ld32a d2, [0x1234]"},
  {{0x7137, 0x0006, 0x0000}, OP_st8, "st8 [r7 + 6], r3"},
  {{0x7237, 0x0006, 0x0000}, OP_st16, "st16 [r7 + 6], r3"},
  {{0x7327, 0x0006, 0x0000}, OP_st32, "st32 [r7 + 6], d2"},
  {{0x7430, 0x1234, 0x0000}, OP_st8a, "st8a [0x1234], r3"},
  {{0x7530, 0x1234, 0x0000}, OP_st16a, "st16a [0x1234], r3"},
  {{0x7620, 0x1234, 0x0000}, OP_st32a, "st32a [0x1234], d2"},
  {{0x7700, 0x0120, 0x0000}, OP_jmp, "jmp 0x0120"},
  {{0x7830, 0x0120, 0x0000}, OP_bz, "bz r3, 0x0120"},
  {{0x7930, 0x0120, 0x0000}, OP_bnz, "bnz r3, 0x0120"},
  {{0x7a37, 0x0120, 0x0000}, OP_beq, "beq r3, r7, 0x0120"},
  {{0x7b37, 0x0120, 0x0000}, OP_bne, "bne r3, r7, 0x0120"},
  {{0x7c37, 0x0120, 0x0000}, OP_blts, "blts r3, r7, 0x0120"},
  {{0x7d37, 0x0120, 0x0000}, OP_bltu, "bltu r3, r7, 0x0120"},
  {{0x7e37, 0x0120, 0x0000}, OP_bges, "bges r3, r7, 0x0120"},
  {{0x7f37, 0x0120, 0x0000}, OP_bgeu, "bgeu r3, r7, 0x0120"},
  {{0x8030, 0xffff, 0x0120}, OP_beqi, "beqi r3, -1, 0x0120"},
  {{0x8130, 0xffff, 0x0120}, OP_bnei, "bnei r3, -1, 0x0120"},
  {{0x8230, 0xffff, 0x0120}, OP_bltsi, "bltsi r3, -1, 0x0120"},
  {{0x8330, 0xffff, 0x0120}, OP_bltui, "bltui r3, -1, 0x0120"},
  {{0x8430, 0xffff, 0x0120}, OP_bgesi, "bgesi r3, -1, 0x0120"},
  {{0x8530, 0xffff, 0x0120}, OP_bgeui, "bgeui r3, -1, 0x0120"},
  {{0x8600, 0x0120, 0x0000}, OP_call, "call 0x0120"},
  {{0x8730, 0x0000, 0x0000}, OP_callr, "callr r3"},
  {{0x8800, 0x0000, 0x0000}, OP_ret, "ret"},
  {{0x8900, 0x0000, 0x0000}, OP_endtask, "endtask"},
  {{0x8a00, 0x0011, 0x0000}, OP_trap, "trap 17"},
  {{0x8b30, 0x0000, 0x0000}, OP_assert, "assert r3"},
  {{0x8c57, 0x0006, 0x0022}, OP_ldsr, "ldsr src1[5], [r7 + 6], xdsr 2"},
  {{0x8d57, 0x0031, 0x0000}, OP_dsrset, "dsrset src0[5].stride, r7"},
  {{0x8e57, 0x0020, 0x0000}, OP_dsrget, "dsrget r7, dest[5].length"},
  {{0x8fda, 0x4321, 0x90fa}, OP_vec,
   "vec.fmacs dest[1], src0[2], src1[3], d4, index r9, priority high"},
  {{0x9030, 0x0000, 0x0000}, OP_vstat, "vstat r3"},
  {{0x9130, 0x0000, 0x0000}, OP_act, "act r3"},
  {{0x9200, 0x0011, 0x0000}, OP_acti, "acti 17"},
  {{0x9330, 0x0002, 0x0000}, OP_blk, "blk r3, microthread"},
  {{0x9410, 0x0005, 0x0000}, OP_blki, "blki input_queue 5"},
  {{0x9530, 0x0002, 0x0000}, OP_unblk, "unblk r3, microthread"},
  {{0x9610, 0x0005, 0x0000}, OP_unblki, "unblki input_queue 5"},
  {{0x9737, 0x0000, 0x0000}, OP_ldcfg, "ldcfg r3, r7"},
  {{0x9830, 0x7e10, 0x0000}, OP_ldcfgi, "ldcfgi r3, 0x7e10"},
  {{0x9937, 0x0000, 0x0000}, OP_stcfg, "stcfg r3, r7"},
  {{0x9a30, 0x7e10, 0x0000}, OP_stcfgi, "stcfgi r3, 0x7e10"},
  {{0x9b30, 0x0001, 0x0000}, OP_qflush, "qflush r3, 0x0001"},
  {{0x9c30, 0x0000, 0x0000}, OP_rnd, "rnd r3"},
  {{0x9d30, 0x0000, 0x0000}, OP_prng, "prng r3"},
  {{0x9e57, 0x0006, 0x0000}, OP_stctr, "stctr 5, [r7 + 6]"},
  {{0x9f50, 0x0206, 0x0000}, OP_stctra, "stctra 5, [0x0206]"},
};

static void words_mean_what_they_always_meant(void **state)
{
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(known); i++) {
    Insn insn;
    const char *reason = NULL;
    char text[80];
    uint16_t words[3] = {0};
    unsigned length = insn_decode(known[i].words, 3, &insn, &reason);
    if (length == 0)
      fail_msg("%s: %s", known[i].text, reason);
    insn_print(&insn, text, sizeof text);
    assert_string_equal(text, known[i].text);
    assert_int_equal(insn.op, known[i].op);
    assert_int_equal(insn_encode(&insn, words), length);
    assert_memory_equal(words, known[i].words, sizeof words);
  }
}

static void every_instruction_is_known(void **state)
{
  (void)state;
  bool seen[OP_COUNT] = {false};
  for (size_t i = 0; i < ARRAY_COUNT(known); i++)
    seen[known[i].op] = true;
  for (unsigned op = 0; op < OP_COUNT; op++)
    if (!seen[op])
      fail_msg("no encoding of '%s' is known", insn_info[op].name);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(words_mean_what_they_always_meant),
    cmocka_unit_test(every_instruction_is_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
