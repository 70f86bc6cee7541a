/* The tables themselves: no duplicates, no overlaps, every row complete and printable; and the
 * control payload helpers against payloads that public programs show. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/machine/machine.h"

static bool is_name(const char *text)
{
  if (!isalpha((unsigned char)*text))
    return false;
  for (; *text; text++)
    if (!isalnum((unsigned char)*text) && *text != '_')
      return false;
  return true;
}

static void expect_distinct(const char *const *names, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    assert_true(is_name(names[i]));
    for (size_t k = 0; k < i; k++)
      if (strcmp(names[i], names[k]) == 0)
        fail_msg("the name '%s' stands twice in its table", names[i]);
  }
}

static void names_are_distinct(void **state)
{
  (void)state;
  static const char *const machine_fields[] = {
#define MACHINE(field, wse2, wse3, source) #field,
#define MACHINE_LIST(field, count, wse2, wse3, source) #field,
#define MACHINE_MASK(field, wse2, wse3, source) #field,
#include "ir/machine/machine.def"
  };
  const char *opcodes[OP_COUNT], *vectors[VEC_COUNT], *regs[64];
  for (unsigned i = 0; i < OP_COUNT; i++)
    opcodes[i] = insn_info[i].name;
  for (unsigned i = 0; i < VEC_COUNT; i++)
    vectors[i] = vecops[i].name;
  assert_true(config_reg_count <= ARRAY_COUNT(regs));
  for (size_t i = 0; i < config_reg_count; i++)
    regs[i] = config_regs[i].name;
  expect_distinct(machine_fields, ARRAY_COUNT(machine_fields));
  expect_distinct(opcodes, OP_COUNT);
  expect_distinct(vectors, VEC_COUNT);
  expect_distinct(regs, config_reg_count);
}

static void every_machine_row_has_a_source(void **state)
{
  (void)state;
  static const char *const sources[] = {
#define MACHINE(field, wse2, wse3, source) source,
#define MACHINE_LIST(field, count, wse2, wse3, source) source,
#define MACHINE_MASK(field, wse2, wse3, source) source,
#include "ir/machine/machine.def"
#define CONFIG_REG(name, address, count, access, source) source,
#include "ir/machine/config_regs.def"
  };
  for (size_t i = 0; i < ARRAY_COUNT(sources); i++)
    assert_true(strlen(sources[i]) >= 4);
}

static void machines_are_found_by_name(void **state)
{
  (void)state;
  Arch arch;
  for (unsigned i = 0; i < ARCH_COUNT; i++) {
    assert_true(arch_from_name(machine_get((Arch)i)->name, &arch));
    assert_int_equal(arch, i);
  }
  assert_false(arch_from_name("wse4", &arch));
}

static void machine_rows_agree_with_each_other(void **state)
{
  (void)state;
  for (unsigned i = 0; i < ARCH_COUNT; i++) {
    const Machine *m = machine_get((Arch)i);
    assert_true(m->local_task_first <= m->local_task_last);
    assert_true(m->local_task_last < m->task_ids);
    assert_true(m->control_task_ids <= m->task_ids);
    assert_true(m->data_task_ids <= m->colors);
    assert_true(m->memcpy_command_color < m->colors && m->memcpy_result_color < m->colors);
    assert_int_equal(m->switchable_colors >> m->colors, 0);
    assert_int_equal(m->pe_mem_bytes % (m->mem_banks * m->word_bytes), 0);
    for (unsigned q = 0; q < m->input_queues; q++)
      assert_true(m->input_queue_depth[q] > 0);
    for (unsigned q = 0; q < MAX_QUEUES; q++)
      assert_int_equal(m->output_queue_depth[q] > 0, q < m->output_queues);
  }
}

static void config_registers_do_not_overlap(void **state)
{
  (void)state;
  for (size_t i = 0; i < config_reg_count; i++) {
    const ConfigRegInfo *reg = &config_regs[i];
    assert_true(reg->count > 0 && reg->address + reg->count <= 0x10000);
    assert_true(reg->access & (CONFIG_READ | CONFIG_WRITE));
    for (unsigned word = 0; word < reg->count; word++)
      assert_ptr_equal(config_reg_at((uint16_t)(reg->address + word)), reg);
  }
  assert_null(config_reg_at(0));
  assert_null(config_reg_at(0xffff));
}

/* Registers that each format has, as letters of the operands in the semantics column. */
static bool format_has(InsnFormat format, char operand)
{
  static const char *const letters[FMT_COUNT] = {
    [FMT_NONE] = "",    [FMT_R] = "a",    [FMT_RR] = "ab",   [FMT_RRR] = "abc", [FMT_RRI] = "ab",
    [FMT_RI] = "a",     [FMT_RI32] = "a", [FMT_I] = "a",     [FMT_LD] = "ab",   [FMT_LDA] = "a",
    [FMT_ST] = "ab",    [FMT_STA] = "a",  [FMT_J] = "",      [FMT_RJ] = "a",    [FMT_RRJ] = "ab",
    [FMT_RIJ] = "a",    [FMT_DSRLD] = "", [FMT_DSRSET] = "a", [FMT_DSRGET] = "a", [FMT_CTR] = "b",
    [FMT_VEC] = "",
  };
  return strchr(letters[format], operand) != NULL;
}

/* The widths are read from the semantics: a misspelt operand there must not go unseen. */
static void semantics_name_the_operands_of_the_format(void **state)
{
  (void)state;
  for (unsigned op = 0; op < OP_COUNT; op++) {
    const InsnInfo *info = &insn_info[op];
    assert_true(info->format < FMT_COUNT && info->cost < COST_COUNT);
    assert_true(insn_words((Opcode)op) >= 1 && insn_words((Opcode)op) <= 3);
    for (const char *at = info->semantics; *at; at++) {
      bool starts = at == info->semantics || !isalnum((unsigned char)at[-1]);
      bool ends = at[0] && at[1] && !isalnum((unsigned char)at[2]);
      if (starts && ends && (*at == 'r' || *at == 'd') && at[1] >= 'a' && at[1] <= 'c')
        if (!format_has(info->format, at[1]))
          fail_msg("%s: its format has no operand %c%c", info->name, at[0], at[1]);
    }
    for (unsigned i = 0; i < 3; i++)
      if (insn_is_pair((Opcode)op, i))
        assert_true(format_has(info->format, (char)('a' + i)));
  }
  assert_true(insn_is_pair(OP_add32, 0) && insn_is_pair(OP_add32, 1) && insn_is_pair(OP_add32, 2));
  assert_true(insn_is_pair(OP_sll32, 1) && !insn_is_pair(OP_sll32, 2));
  assert_true(insn_is_pair(OP_li32, 0) && insn_is_pair(OP_st32a, 0) && !insn_is_pair(OP_ld16, 0));
}

static void every_row_prints(void **state)
{
  (void)state;
  char text[80];
  for (unsigned op = 0; op < OP_COUNT; op++) {
    Insn insn = {.op = (Opcode)op};
    insn_print(&insn, text, sizeof text);
    assert_int_equal(strncmp(text, insn_info[op].name, strlen(insn_info[op].name)), 0);
    assert_null(strchr(text, '?'));
  }
  for (unsigned i = 0; i < VEC_COUNT; i++) {
    Insn insn = {.op = OP_vec, .vec = {.op = (VecOp)i}};
    insn_print(&insn, text, sizeof text);
    assert_non_null(strstr(text, vecops[i].name));
    VecOp found;
    assert_true(vecop_from_name(vecops[i].name, &found));
    assert_int_equal(found, i);
    assert_true(vecops[i].sources == 1 || vecops[i].sources == 2);
  }
  for (unsigned i = 0; i < FMT_COUNT; i++)
    assert_true(is_name(insn_format_name((InsnFormat)i)));
  for (unsigned i = 0; i < COST_COUNT; i++)
    assert_true(is_name(cost_class_name((CostClass)i)));
  for (unsigned i = 0; i < DSRF_COUNT; i++)
    assert_true(is_name(dsr_field_name((DsrField)i)));
  for (unsigned i = 0; i < PORT_COUNT; i++)
    assert_true(is_name(port_name((Port)i)));
  for (unsigned i = 0; i < ID_KIND_COUNT; i++)
    assert_true(is_name(id_kind_name((IdKind)i)) && id_kind_limit((IdKind)i) > 0);
  VecOp op;
  assert_false(vecop_from_name("fdivs", &op));
}

static void expect_commands(uint32_t payload, const char *expected)
{
  /* one letter per slot: n, a, r, t; capital: the compute engine ignores it */
  for (unsigned slot = 0; slot < MAX_SWITCH_COMMANDS; slot++) {
    ControlCommand c = control_command(payload, slot);
    assert_int_equal("nart"[c.command], tolower((unsigned char)expected[slot]));
    assert_int_equal(c.ce_ignore, isupper((unsigned char)expected[slot]) != 0);
  }
}

static void control_payloads_of_public_programs(void **state)
{
  (void)state;
  expect_commands(5u << 22 | 4u << 25, "ANnnnnnn");
  expect_commands(0x8b009249, "NANNNNNN");
  expect_commands(0x09df9249, "TNNNNNNN");
  assert_int_equal(control_entry(0x09df9249), machine_get(ARCH_WSE2)->control_entry_none);
  assert_int_equal(control_pop(0x09df9249), 0x091f9249);
  expect_commands(control_pop(0x8b009249), "ANNNNNNN");
  assert_int_equal(control_with_entry(0x09c09249, 31), 0x09df9249);
}

static void control_payloads_are_written_slot_by_slot(void **state)
{
  (void)state;
  uint32_t payload = 0;
  for (unsigned slot = 0; slot < MAX_SWITCH_COMMANDS; slot++)
    payload = control_with_command(payload, slot, (ControlCommand){CMD_NOP, true});
  payload = control_with_entry(control_with_command(payload, 0,
                                                    (ControlCommand){CMD_TEARDOWN, true}), 31);
  assert_int_equal(payload, 0x09df9249);
  for (uint32_t seed = 1, i = 0; i < 100000; i++) {
    seed = seed * 1664525u + 1013904223u;
    uint32_t again = 0, popped = control_pop(seed);
    for (unsigned slot = 0; slot < MAX_SWITCH_COMMANDS; slot++)
      again = control_with_command(again, slot, control_command(seed, slot));
    again = control_with_entry(again, control_entry(seed));
    assert_int_equal(again, seed & 0x3fffffff);          /* the top two bits are no command */
    assert_int_equal(popped >> 30, seed >> 30);
    assert_int_equal(control_entry(popped), control_entry(seed));
    for (unsigned slot = 0; slot + 1 < MAX_SWITCH_COMMANDS; slot++)
      assert_memory_equal(&(uint32_t){control_command(popped, slot).command},
                          &(uint32_t){control_command(seed, slot + 1).command}, 4);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(names_are_distinct),
    cmocka_unit_test(every_machine_row_has_a_source),
    cmocka_unit_test(machines_are_found_by_name),
    cmocka_unit_test(machine_rows_agree_with_each_other),
    cmocka_unit_test(config_registers_do_not_overlap),
    cmocka_unit_test(semantics_name_the_operands_of_the_format),
    cmocka_unit_test(every_row_prints),
    cmocka_unit_test(control_payloads_of_public_programs),
    cmocka_unit_test(control_payloads_are_written_slot_by_slot),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
