/* timing.def as data. */
#include "emu/machine/program.h"

#include <stdlib.h>
#include <string.h>

enum { NOT_LISTED = 1 };   /* group of an operation that the table does not name */

#define TIMING(row, wse2, wse3, status, source)
#define SIMD(op, wse2, wse3) COUNTED_##op,
#define STRIDE(residue, elements)
#define MODE(mode, row, cycles)
enum {
#include "emu/machine/timing.def"
  SIMD_ROWS
};
_Static_assert((int)SIMD_ROWS == (int)VEC_COUNT, "one SIMD row for each vector operation");

static const Timing timings[ARCH_COUNT] = {
  [ARCH_WSE2] = {
#define TIMING(row, wse2, wse3, status, source) .row = wse2,
#define SIMD(op, wse2, wse3) .simd[VEC_##op] = wse2,
#define STRIDE(residue, elements) .stride_limit[residue] = elements,
#define MODE(mode, row, cycles)
#include "emu/machine/timing.def"
  },
  [ARCH_WSE3] = {
#define TIMING(row, wse2, wse3, status, source) .row = wse3,
#define SIMD(op, wse2, wse3) .simd[VEC_##op] = wse3,
#define STRIDE(residue, elements) .stride_limit[residue] = elements,
#define MODE(mode, row, cycles)
#include "emu/machine/timing.def"
  },
};

const TimingRow timing_rows[] = {
#define STATUS_D 'D'
#define STATUS_I 'I'
#define STATUS_G 'G'
#define TIMING(row, wse2, wse3, status, source) \
  {#row, offsetof(Timing, row), {wse2, wse3}, STATUS_##status, source},
#define SIMD(op, wse2, wse3)
#define STRIDE(residue, elements)
#define MODE(mode, row, cycles)
#include "emu/machine/timing.def"
};
_Static_assert(offsetof(Timing, simd) == TIMING_ROWS * sizeof(uint16_t),
               "row after row, as timing_cycles reads them");
const size_t timing_row_count = ARRAY_COUNT(timing_rows);

const Timing *timing_get(Arch arch)
{
  if ((unsigned)arch >= ARCH_COUNT)
    ICE("no architecture %d", (int)arch);
  return &timings[arch];
}

bool timing_set(Timing *timing, const char *name, uint16_t cycles)
{
  for (size_t i = 0; i < timing_row_count; i++) {
    if (strcmp(timing_rows[i].name, name) == 0) {
      memcpy((char *)timing + timing_rows[i].offset, &cycles, sizeof cycles);
      return true;
    }
  }
  return false;
}

/* What the engines have room for: the stages of a ramp hold a wavelet each. */
static unsigned most_cycles(const char *row)
{
  return strncmp(row, "ramp_", strlen("ramp_")) == 0 ? TIMING_MOST_RAMP : TIMING_MOST;
}

/* Sets the rows of a mode, which describes a wafer. */
static bool set_mode(Timing *timing, Arch arch, const char *name)
{
  static const struct { const char *mode, *row; uint16_t cycles; } rows[] = {
#define TIMING(row, wse2, wse3, status, source)
#define SIMD(op, wse2, wse3)
#define STRIDE(residue, elements)
#define MODE(mode, row, cycles) {#mode, #row, cycles},
#include "emu/machine/timing.def"
  };
  bool found = false;
  for (size_t i = 0; i < ARRAY_COUNT(rows) && arch == ARCH_WSE2; i++)
    if (strcmp(rows[i].mode, name) == 0)
      found = timing_set(timing, rows[i].row, rows[i].cycles);
  return found;
}

static bool set_word(Timing *timing, Arch arch, char *word)
{
  char *colon = strchr(word, ':'), *end;
  if (!colon)
    return set_mode(timing, arch, word);
  if (colon[1] < '0' || colon[1] > '9')
    return false;
  unsigned long cycles = strtoul(colon + 1, &end, 10);
  *colon = 0;
  bool done = !*end && cycles >= 1 && cycles <= most_cycles(word) &&
              timing_set(timing, word, (uint16_t)cycles);
  *colon = ':';
  return done;
}

const char *timing_set_words(Timing *timing, Arch arch, const char *words, Arena *scratch)
{
  for (;; words++) {
    size_t length = strcspn(words, ",");
    char *word = arena_copy_text(scratch, words, length);
    if (!set_word(timing, arch, word))
      return word;
    words += length;
    if (!*words)
      return NULL;
  }
}

bool timing_set_all(Timing *timing, const Timing *others)
{
  Timing all = *timing;
  for (size_t i = 0; i < timing_row_count; i++) {
    const TimingRow *row = &timing_rows[i];
    uint16_t own, cycles;
    memcpy(&own, (const char *)timing + row->offset, sizeof own);
    memcpy(&cycles, (const char *)others + row->offset, sizeof cycles);
    if (cycles != own && (cycles < 1 || cycles > most_cycles(row->name)))
      return false;
    timing_set(&all, row->name, cycles);
  }
  *timing = all;
  return true;
}

const char *timing_trust_name(TimingTrust trust)
{
  static const char *const names[] = {"documented", "fitted", "assumed"};
  _Static_assert(ARRAY_COUNT(names) == TRUST_COUNT, "a name each");
  return names[trust];
}

TimingRowId timing_scalar_row(CostClass cost, ScalarStep step)
{
  switch (cost) {
  case COST_ALU16: return TIMING_alu16;
  case COST_ALU32: return TIMING_alu32;
  case COST_CMP32: return TIMING_cmp32;
  case COST_ORDER32: return TIMING_order32;
  case COST_MOVE32: return TIMING_move32;
  case COST_COUNTER: return TIMING_counter;
  case COST_MUL32: return TIMING_mul32;
  case COST_IDIV: return TIMING_idiv;
  case COST_FP: return TIMING_fp;
  case COST_FDIV: return TIMING_fdiv;
  case COST_FCONV: return TIMING_fconv;
  case COST_LOAD: return TIMING_load;
  case COST_STORE: return TIMING_store;
  case COST_JUMP: return step == STEP_BACK ? TIMING_loop_back : TIMING_jump;
  case COST_BRANCH:
    return step == STEP_BACK      ? TIMING_loop_back
           : step == STEP_FORWARD ? TIMING_branch_taken
                                  : TIMING_branch_not_taken;
  case COST_CALL: return TIMING_call;
  case COST_RETURN: return TIMING_ret;
  case COST_ENDTASK: return TIMING_task_end_to_pick;
  case COST_DSR_LOAD: return TIMING_dsr_load;
  case COST_DSR_UPDATE: return TIMING_dsr_update;
  case COST_VECTOR: return TIMING_vector_start;
  case COST_CONFIG: return TIMING_config;
  case COST_RANDOM: return TIMING_random;
  case COST_COUNT: default: ICE("no cost class %d", (int)cost);
  }
}

unsigned timing_scalar(const Timing *timing, CostClass cost, ScalarStep step)
{
  return timing_cycles(timing, timing_scalar_row(cost, step));
}
