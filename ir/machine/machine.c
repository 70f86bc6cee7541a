/* The machine's tables as data, and the few functions that read single facts out of them. */
#include "ir/machine/machine.h"

#include <string.h>

/* ---- architectures -------------------------------------------------------------------- */

#define VALUES(...) {__VA_ARGS__}

static const Machine machines[ARCH_COUNT] = {
  [ARCH_WSE2] = {
    .name = "wse2",
#define MACHINE(field, wse2, wse3, source) .field = wse2,
#define MACHINE_LIST(field, count, wse2, wse3, source) .field = VALUES wse2,
#define MACHINE_MASK(field, wse2, wse3, source) .field = wse2,
#include "ir/machine/machine.def"
  },
  [ARCH_WSE3] = {
    .name = "wse3",
#define MACHINE(field, wse2, wse3, source) .field = wse3,
#define MACHINE_LIST(field, count, wse2, wse3, source) .field = VALUES wse3,
#define MACHINE_MASK(field, wse2, wse3, source) .field = wse3,
#include "ir/machine/machine.def"
  },
};

/* The table's cells as constants, so that array sizes can be checked against them. */
enum {
#define MACHINE(field, wse2, wse3, source) WSE2_##field = wse2, WSE3_##field = wse3,
#define MACHINE_LIST(field, count, wse2, wse3, source) COUNT_##field = count,
#define MACHINE_MASK(field, wse2, wse3, source)
#include "ir/machine/machine.def"
};

#define LARGEST(field) \
  ((int)WSE2_##field > (int)WSE3_##field ? (int)WSE2_##field : (int)WSE3_##field)
#define ASSERT_SIZE(constant, field) \
  _Static_assert((int)(constant) == LARGEST(field), #constant " is not the largest " #field)

ASSERT_SIZE(MAX_COLORS, colors);
ASSERT_SIZE(MAX_QUEUES, input_queues);
ASSERT_SIZE(MAX_QUEUES, output_queues);
ASSERT_SIZE(MAX_TASK_IDS, task_ids);
ASSERT_SIZE(MAX_SWITCH_POSITIONS, switch_positions);
ASSERT_SIZE(MAX_SWITCH_COMMANDS, switch_commands);
ASSERT_SIZE(MAX_FILTERS, filters);
ASSERT_SIZE(MAX_DSRS, dsrs_per_file);
ASSERT_SIZE(MAX_XDSRS, xdsrs);
ASSERT_SIZE(MAX_MICROTHREADS, microthreads);
ASSERT_SIZE(MAX_GENERATORS, generators);
ASSERT_SIZE(GPR_COUNT, gpr_count);
ASSERT_SIZE(PE_MEM_BYTES, pe_mem_bytes);
_Static_assert((int)COUNT_input_queue_depth == (int)MAX_QUEUES, "one depth for each queue");
_Static_assert((int)COUNT_output_queue_depth == (int)MAX_QUEUES, "one depth for each queue");
_Static_assert((int)WSE2_word_bytes == 2 && (int)WSE3_word_bytes == 2, "code is uint16_t");

const Machine *machine_get(Arch arch)
{
  if ((unsigned)arch >= ARCH_COUNT)
    ICE("no architecture %d", (int)arch);
  return &machines[arch];
}

bool arch_from_name(const char *name, Arch *arch)
{
  for (unsigned i = 0; i < ARCH_COUNT; i++) {
    if (strcmp(name, machines[i].name) == 0) {
      *arch = (Arch)i;
      return true;
    }
  }
  return false;
}

const char *machine_id_range(const Machine *m, const char *type, size_t length, uint32_t *least,
                             uint32_t *most)
{
  const struct { const char *type; uint32_t least, most; } rows[] = {
    /* Before SDK 1.0 colors number tasks, too. */
    {"color", 0, m->control_task_ids - 1},
    {"input_queue", 0, m->input_queues - 1},
    {"output_queue", 0, m->output_queues - 1},
    {"data_task_id", 0, m->data_task_ids - 1},
    {"local_task_id", m->local_task_first, m->local_task_last},
    {"control_task_id", 0, m->control_task_ids - 1},
    {"ut_id", 0, m->microthreads - 1},
  };
  for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
    if (strlen(rows[i].type) == length && memcmp(rows[i].type, type, length) == 0) {
      *least = rows[i].least;
      *most = rows[i].most;
      return rows[i].type;
    }
  return NULL;
}

const char *port_name(Port port)
{
  static const char *const names[PORT_COUNT] = {"NORTH", "SOUTH", "EAST", "WEST", "RAMP"};
  return (unsigned)port < PORT_COUNT ? names[port] : "?";
}

const char *task_kind_name(TaskKind kind)
{
  static const char *const names[] = {"none", "data", "local", "control"};
  return (unsigned)kind < ARRAY_COUNT(names) ? names[kind] : "?";
}

/* ---- configuration registers ------------------------------------------------------------ */

enum {
  ACCESS_R = CONFIG_READ,
  ACCESS_W = CONFIG_WRITE,
  ACCESS_RW = CONFIG_READ | CONFIG_WRITE,
  ACCESS_RW0 = ACCESS_RW | CONFIG_STARTS_AT_0
};

const ConfigRegInfo config_regs[] = {
#define CONFIG_REG(name, address, count, access, source) \
  {#name, address, count, ACCESS_##access, source},
#include "ir/machine/config_regs.def"
};
const size_t config_reg_count = ARRAY_COUNT(config_regs);

enum {
#define CONFIG_REG(name, address, count, access, source) REG_WORDS_##name = count,
#include "ir/machine/config_regs.def"
};
_Static_assert((int)COUNTER_WORDS == (int)REG_WORDS_TSC_COUNTER + (int)REG_WORDS_PERF_COUNTER,
               "stctr reaches each word of the counters");

enum {
#define CONFIG_REG(name, address, count, access, source) REG_ROW_##name,
#include "ir/machine/config_regs.def"
};
enum { CONFIG_START = CFG_PE_COORD_X, CONFIG_END = 0x8000, NO_ROW = 0 };

/* By word address from CONFIG_START on: the row, counted from 1.  Programs that rewrite routes go
 * through it often. */
static const uint8_t row_at[CONFIG_END - CONFIG_START] = {
#define CONFIG_REG(name, address, count, access, source) \
  [address - CONFIG_START ... address - CONFIG_START + (count) - 1] = REG_ROW_##name + 1,
#include "ir/machine/config_regs.def"
};

const ConfigRegInfo *config_reg_at(uint16_t address)
{
  unsigned row = address >= CONFIG_START && address < CONFIG_END ? row_at[address - CONFIG_START]
                                                                 : (unsigned)NO_ROW;
  return row == NO_ROW ? NULL : &config_regs[row - 1];
}

/* ---- control payloads --------------------------------------------------------------------- */

enum { ENTRY_SHIFT = 16, ENTRY_MASK = 0x3f, COMMAND_MASK = 3 };

/* Where a slot's command and its ce-ignore bit stand in the payload: slots 0 and 1 above the
 * entry point, slot 2 split over both ends, the others from the low end. */
typedef struct { uint8_t command, ignore; } SlotBits;
static const SlotBits slot_bits[MAX_SWITCH_COMMANDS] = {
  {22, 24}, {25, 27}, {28, 0}, {1, 3}, {4, 6}, {7, 9}, {10, 12}, {13, 15},
};

ControlCommand control_command(uint32_t payload, unsigned slot)
{
  if (slot >= MAX_SWITCH_COMMANDS)
    ICE("no command slot %u", slot);
  SlotBits bits = slot_bits[slot];
  return (ControlCommand){
    .command = (SwitchCommand)(payload >> bits.command & COMMAND_MASK),
    .ce_ignore = payload >> bits.ignore & 1,
  };
}

uint32_t control_with_command(uint32_t payload, unsigned slot, ControlCommand command)
{
  if (slot >= MAX_SWITCH_COMMANDS || (unsigned)command.command > CMD_TEARDOWN)
    ICE("no command slot %u or command %d", slot, (int)command.command);
  SlotBits bits = slot_bits[slot];
  payload &= ~((uint32_t)COMMAND_MASK << bits.command | 1u << bits.ignore);
  return payload | (uint32_t)command.command << bits.command |
         (uint32_t)command.ce_ignore << bits.ignore;
}

unsigned control_entry(uint32_t payload)
{
  return payload >> ENTRY_SHIFT & ENTRY_MASK;
}

uint32_t control_with_entry(uint32_t payload, unsigned entry)
{
  if (entry > ENTRY_MASK)
    ICE("no control entry %u", entry);
  return (payload & ~((uint32_t)ENTRY_MASK << ENTRY_SHIFT)) | (uint32_t)entry << ENTRY_SHIFT;
}

uint32_t control_pop(uint32_t payload)
{
  uint32_t popped = payload;
  for (unsigned slot = 0; slot + 1 < MAX_SWITCH_COMMANDS; slot++)
    popped = control_with_command(popped, slot, control_command(payload, slot + 1));
  ControlCommand last = {.command = CMD_NOP, .ce_ignore = true};
  return control_with_command(popped, MAX_SWITCH_COMMANDS - 1, last);
}
