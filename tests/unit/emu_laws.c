/* The published laws of the fabric, at the cycle: chain reduce and broadcast over a row of tiles,
 * and that the order in which tiles are visited changes nothing. */
#include "emu_asm.h"

enum { COLOR_A = 1, COLOR_B = 2, QUEUE = 2, DATA = 0x100 };

static float value_of(unsigned x, unsigned i)
{
  return (float)(x + i);
}

static void fill(AsmClass *c, unsigned x, unsigned length)
{
  for (unsigned i = 0; i < length; i++) {
    float v = value_of(x, i);
    asm_bytes(c, (uint16_t)(DATA + 4 * i), &v, 4);
  }
}

/* One vector instruction as the whole program of the tiles x0..x1. */
static void program(AsmClass *c, Insn vec)
{
  c->image.start_entry = asm_here(c);
  asm_emit(c, vec);
  asm_emit(c, in0(OP_endtask));
}

/* Tile P-1 sends its vector west; each tile adds its own and passes on; tile 0 keeps the sum.
 * Neighbouring links use two colors in turn. */
static Asm *chain(unsigned tiles, unsigned length)
{
  Asm *a = asm_new(ARCH_WSE2, (uint16_t)tiles, 1);
  AsmClass *parity[2] = {NULL, NULL};
  AsmClass *first = asm_class(a, 0, 0, 0, 0), *last = asm_class(a, tiles - 1, 0, tiles - 1, 0);
  fill(first, 1, length);
  fill(last, 1, length);
  for (unsigned k = 0; k < 2 && tiles > 2; k++) {
    parity[k] = asm_class(a, 1, 0, 0, 0);
    fill(parity[k], 1, length);
  }
  for (unsigned x = 0; x < tiles; x++) {
    unsigned in = x % 2 ? COLOR_A : COLOR_B, out = x % 2 ? COLOR_B : COLOR_A;
    if (x > 0 && x + 1 < tiles)
      a->tile_class[x] = x % 2 ? 3 : 2;
    if (x + 1 < tiles)
      asm_route(a, x, 0, in, M_E, M_R);
    if (x > 0)
      asm_route(a, x, 0, out, M_R, M_W);
    AsmClass *c = x == 0 ? first : x + 1 == tiles ? last : parity[x % 2];
    if (c->words)
      continue;
    uint16_t n = (uint16_t)length;
    VecOperand memory = asm_dsr(c, DSR_SRC1, 1, de_mem(DATA, n, 1));
    VecOperand from = asm_dsr(c, DSR_SRC0, 0, de_in(QUEUE, in, n));
    VecOperand to = asm_dsr(c, DSR_DEST, 0, x ? de_out(QUEUE, out, n) : de_mem(DATA, n, 1));
    asm_input(c, QUEUE, in);
    program(c, x + 1 == tiles ? in_vec(VEC_fmovs, to, op_none(), memory)
                              : in_vec(VEC_fadds, to, from, memory));
  }
  return a;
}

/* The root, tile P-1, sends its vector west along one color; every other tile stores it. */
static Asm *broadcast(unsigned tiles, unsigned length)
{
  Asm *a = asm_new(ARCH_WSE2, (uint16_t)tiles, 1);
  AsmClass *others = asm_class(a, 0, 0, tiles - 2, 0);
  AsmClass *root = asm_class(a, tiles - 1, 0, tiles - 1, 0);
  uint16_t n = (uint16_t)length;
  fill(root, 7, length);
  asm_input(others, QUEUE, COLOR_A);
  program(others, in_vec(VEC_fmovs, asm_dsr(others, DSR_DEST, 0, de_mem(DATA, n, 1)), op_none(),
                         asm_dsr(others, DSR_SRC1, 0, de_in(QUEUE, COLOR_A, n))));
  program(root, in_vec(VEC_fmovs, asm_dsr(root, DSR_DEST, 0, de_out(QUEUE, COLOR_A, n)), op_none(),
                       asm_dsr(root, DSR_SRC1, 0, de_mem(DATA, n, 1))));
  for (unsigned x = 0; x < tiles; x++)
    asm_route(a, x, 0, COLOR_A, x + 1 == tiles ? M_R : M_E,
              (PortMask)(x + 1 == tiles ? M_W : x ? M_R | M_W : M_R));
  return a;
}

static uint64_t measure(Asm *a)
{
  asm_run_quiet(a, 0);
  const EngineStats *stats = a->ops->stats(a->engine);
  return stats->last_event - stats->first_event + 1;
}

static const unsigned tile_counts[] = {2, 4, 16, 64};
static const unsigned lengths[] = {1, 16, 256};

static void check_constant(int64_t *low, int64_t *high, int64_t constant)
{
  if (constant < *low)
    *low = constant;
  if (constant > *high)
    *high = constant;
}

static void chain_reduce_law(void **state)
{
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(tile_counts); i++) {
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (size_t k = 0; k < ARRAY_COUNT(lengths); k++) {
      unsigned p = tile_counts[i], b = lengths[k];
      Asm *a = chain(p, b);
      int64_t law = 2 * (int64_t)(p - 1) * (a->timing.ramp_up + 1) + b;
      check_constant(&low, &high, (int64_t)measure(a) - law);
      for (unsigned e = 0; e < b; e++)
        assert_true(asm_float(a, 0, 0, (uint16_t)(DATA + 4 * e)) == (float)p * value_of(1, e));
      asm_free(a);
    }
    assert_true(high - low <= 4);
    assert_in_range(low, 0, 8);     /* one instruction around the law: issue and end */
  }
}

static void broadcast_law(void **state)
{
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(tile_counts); i++) {
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (size_t k = 0; k < ARRAY_COUNT(lengths); k++) {
      unsigned p = tile_counts[i], b = lengths[k];
      Asm *a = broadcast(p, b);
      int64_t law = 2 * (int64_t)a->timing.ramp_up + p + b;
      check_constant(&low, &high, (int64_t)measure(a) - law);
      for (unsigned x = 0; x < p; x++)
        for (unsigned e = 0; e < b; e++)
          assert_true(asm_float(a, x, 0, (uint16_t)(DATA + 4 * e)) == value_of(7, e));
      asm_free(a);
    }
    assert_true(high - low <= 4);
    assert_in_range(low, 0, 8);
  }
}

/* First element out of one tile to first element consumed by its neighbour: 6 cycles. */
static void neighbours_are_six_cycles_apart(void **state)
{
  (void)state;
  Asm *a = chain(3, 4);
  asm_run_quiet(a, ALL_EVENTS);
  uint64_t at2 = asm_find(a, EV_GROUP, 2, 0, 0)->cycle;
  uint64_t at1 = asm_find(a, EV_GROUP, 1, 0, 0)->cycle;
  uint64_t at0 = asm_find(a, EV_GROUP, 0, 0, 0)->cycle;
  assert_int_equal(at1 - at2, 6);
  assert_int_equal(at0 - at1, 6);
  assert_int_equal(asm_find(a, EV_GROUP, 0, 0, 3)->cycle - at0, 3);   /* full rate */
  asm_free(a);
}

static void compare_runs(Asm *a, Asm *b)
{
  asm_run_quiet(a, ALL_EVENTS);
  asm_run_quiet(b, ALL_EVENTS);
  asm_expect_same_events(a, b);
  assert_memory_equal(a->ops->stats(a->engine), b->ops->stats(b->engine), sizeof(EngineStats));
}

static void visiting_order_does_not_matter(void **state)
{
  (void)state;
  for (uint32_t seed = 1; seed < 6; seed++) {
    Asm *a = chain(16, 16), *b = chain(16, 16);
    b->options.shuffle = seed * 7919;
    compare_runs(a, b);
    asm_free(a);
    asm_free(b);
  }
}

static void events_are_sorted(void **state)
{
  (void)state;
  Asm *a = broadcast(16, 16);
  a->options.shuffle = 12345;
  asm_run_quiet(a, ALL_EVENTS);
  for (size_t i = 1; i < arrlenu(a->events); i++) {
    const TraceEvent *x = &a->events[i - 1], *y = &a->events[i];
    assert_true(x->cycle < y->cycle || (x->cycle == y->cycle && x->tile <= y->tile));
  }
  asm_free(a);
}

/* Hops, wavelets and active tile cycles of a broadcast can be counted by hand. */
static void statistics_count_what_they_say(void **state)
{
  (void)state;
  enum { P = 8, B = 5 };
  Asm *a = broadcast(P, B);
  asm_run_quiet(a, 0);
  const EngineStats *s = a->ops->stats(a->engine);
  assert_int_equal(s->wavelets, B);
  assert_int_equal(engine_stats_hops(s), B * (P - 1));
  assert_int_equal(s->instructions, 2 * P);
  assert_int_equal(s->elements, B * P);
  asm_free(a);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(neighbours_are_six_cycles_apart),
    cmocka_unit_test(chain_reduce_law),
    cmocka_unit_test(broadcast_law),
    cmocka_unit_test(visiting_order_does_not_matter),
    cmocka_unit_test(events_are_sorted),
    cmocka_unit_test(statistics_count_what_they_say),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
