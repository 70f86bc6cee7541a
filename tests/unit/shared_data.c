/* Tiles of a class share its static data until one of them writes to its own, or scalar code looks
 * at them: each kind of access, and what the host and a snapshot see.  Only the fast engine shares.
 */
#include "emu_asm.h"

enum { TILES = 3, WORDS = 4, DATA = 0x40, OTHER = 0x80, OUT_QUEUE = 3, LOOP = 4 };

static uint16_t value_of(unsigned word) { return (uint16_t)(0x1234 + 7 * word); }

/* Its code comes behind. */
static AsmClass *class_of_all(Asm *a)
{
  AsmClass *c = asm_class(a, 0, 0, TILES - 1, 0);
  for (unsigned i = 0; i < WORDS; i++) {
    uint16_t value = value_of(i);
    asm_bytes(c, (uint16_t)(DATA + 2 * i), &value, sizeof value);
  }
  asm_bytes(c, OTHER, &(uint16_t){0}, sizeof(uint16_t));
  asm_output(c, OUT_QUEUE, LOOP);
  for (unsigned x = 0; x < TILES; x++)
    asm_route(a, x, 0, LOOP, M_R, M_R);
  c->image.start_entry = ASM_CODE;
  return c;
}

static Asm *new_program(void)
{
  Asm *a = asm_new(ARCH_WSE2, TILES, 1);
  a->ops = &engine_fast;
  return a;
}

static bool shares(const Asm *a, unsigned x)
{
  return a->ops->tile(a->engine, x, false)->mem.shared;
}

static void check_data(Asm *a, unsigned x, uint16_t other)
{
  for (unsigned i = 0; i < WORDS; i++)
    assert_int_equal(asm_word(a, x, 0, (uint16_t)(DATA + 2 * i)), value_of(i));
  assert_int_equal(asm_word(a, x, 0, OTHER), other);
}

/* ---- what a program does --------------------------------------------------------------------- */

static void send(AsmClass *c)
{
  VecOperand to = asm_dsr(c, DSR_DEST, 0, de_async(de_out(OUT_QUEUE, LOOP, 2), ACT_NONE, 0));
  asm_emit(c, in_vec(VEC_mov32, to, op_none(), asm_dsr(c, DSR_SRC1, 0, de_mem(DATA, 2, 1))));
}

static void call(AsmClass *c)
{
  uint16_t at = asm_emit(c, in_i(OP_call, 0));
  uint16_t over = asm_emit(c, in_i(OP_jmp, 0));
  asm_patch(c, at, asm_emit(c, in0(OP_ret)));
  asm_patch(c, over, asm_here(c));
}

static void load(AsmClass *c) { asm_emit(c, in_ri(OP_ld16a, 4, DATA)); }

static void store(AsmClass *c)
{
  asm_emit(c, in_ri(OP_li, 4, value_of(2)));
  asm_emit(c, in_ri(OP_st16a, 4, OTHER));
}

static void load_and_store(AsmClass *c)
{
  asm_emit(c, in_ri(OP_ld16a, 4, DATA + 4));
  asm_emit(c, in_ri(OP_st16a, 4, OTHER));
}

static void move(AsmClass *c)
{
  asm_emit(c, in_vec(VEC_mov16, asm_dsr(c, DSR_DEST, 0, de_mem(OTHER, 1, 1)), op_none(),
                     asm_dsr(c, DSR_SRC1, 0, de_mem(DATA + 4, 1, 1))));
}

/* In four dimensions, which the general code carries out. */
static void move_far(AsmClass *c)
{
  Descriptor to = {.kind = DESC_MEM4D, .base = OTHER, .lengths = {1, 1, 1, 1}};
  asm_emit(c, in_vec(VEC_mov16, asm_dsr(c, DSR_DEST, 0, to), op_none(),
                     asm_dsr(c, DSR_SRC1, 0, de_mem(DATA + 4, 1, 1))));
}

static void store_beyond_static_data(AsmClass *c)
{
  enum { BEYOND = 0x6000 };
  asm_emit(c, in_ri(OP_st16a, 4, BEYOND));
}

/* What it leaves at OTHER; whether the tiles share afterwards. */
static const struct { void (*code)(AsmClass *c); uint16_t word; bool shares; } accesses[] = {
  {send, 0, true}, {call, 0, true}, {load, 0, false}, {store, 2, false},
  {load_and_store, 2, false}, {move, 2, false}, {move_far, 2, false},
  {store_beyond_static_data, 0, false},
};

static void each_access_finds_its_data(void **state)
{
  (void)state;
  for (unsigned i = 0; i < ARRAY_COUNT(accesses); i++) {
    Asm *a = new_program();
    AsmClass *c = class_of_all(a);
    accesses[i].code(c);
    asm_emit(c, in0(OP_endtask));
    asm_run_quiet(a, 0);
    for (unsigned x = 0; x < TILES; x++) {
      check_data(a, x, accesses[i].word ? value_of(accesses[i].word) : 0);
      assert_int_equal(shares(a, x), accesses[i].shares);
    }
    asm_free(a);
  }
}

/* ---- beside the program ---------------------------------------------------------------------- */

/* All tiles send, and the host has written a word to one of them before. */
static Asm *run_with_a_written_word(unsigned x, uint16_t value)
{
  Asm *a = new_program();
  AsmClass *c = class_of_all(a);
  send(c);
  asm_emit(c, in0(OP_endtask));
  asm_load(a, 0);
  assert_true(a->ops->mem_write(a->engine, x, OTHER, &value, sizeof value));
  asm_run_quiet(a, 0);
  return a;
}

static void the_host_writes_to_one_tile(void **state)
{
  (void)state;
  uint16_t value = 99;
  Asm *a = run_with_a_written_word(1, value);
  for (unsigned x = 0; x < TILES; x++) {
    check_data(a, x, x == 1 ? value : 0);
    assert_int_equal(shares(a, x), x != 1);
  }
  asm_free(a);
}

/* Of tiles that share and of one that does not. */
static void a_snapshot_has_the_data(void **state)
{
  (void)state;
  uint16_t before = 7, after = 5;
  Asm *a = run_with_a_written_word(2, before);
  Snapshot *snapshot = snapshot_take(a->engine, NULL);
  a->ops->destroy(a->engine);
  asm_engine(a);
  snapshot_restore(snapshot, a->engine);
  assert_true(a->ops->mem_write(a->engine, 0, OTHER, &after, sizeof after));
  check_data(a, 0, after);
  check_data(a, 1, 0);
  check_data(a, 2, before);
  snapshot_free(snapshot);
  asm_free(a);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_access_finds_its_data),
    cmocka_unit_test(the_host_writes_to_one_tile),
    cmocka_unit_test(a_snapshot_has_the_data),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
