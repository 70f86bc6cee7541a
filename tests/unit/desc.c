/* Descriptors in memory and completion actions: round trips and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/machine/machine.h"

static uint32_t random_state = 4711;

static uint32_t random_below(uint32_t limit)
{
  random_state = random_state * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)random_state * limit >> 32);
}

static uint16_t random_word(void)
{
  return (uint16_t)random_below(0x10000);
}

static Action random_action(void)
{
  switch (random_below(4)) {
  case 0: return (Action){.kind = ACT_NONE};
  case 1: return (Action){ACT_ACTIVATE, ID_TASK, (uint8_t)random_below(MAX_TASK_IDS)};
  case 2: return (Action){.kind = ACT_TERMINATE};
  default: {
    IdKind kind = (IdKind)random_below(ID_KIND_COUNT);
    return (Action){ACT_UNBLOCK, kind, (uint8_t)random_below(id_kind_limit(kind))};
  }
  }
}

static Descriptor random_descriptor(DescKind kind)
{
  Descriptor d = {.kind = kind, .flags = (uint16_t)(random_below(DESC_F_SCALAR << 1) & 0xfff0)};
  switch (kind) {
  case DESC_MEM1D:
    d.base = random_word(), d.length = random_word(), d.stride = (int16_t)random_word();
    break;
  case DESC_MEM4D:
    d.base = random_word();
    for (unsigned i = 0; i < 4; i++)
      d.lengths[i] = random_word(), d.strides[i] = (int16_t)random_word();
    break;
  case DESC_CIRC:
    d.base = random_word(), d.length = random_word(), d.stride = (int16_t)random_word();
    d.wrap_base = random_word(), d.wrap_length = random_word();
    break;
  case DESC_FABIN: case DESC_FABOUT:
    d.queue = (uint8_t)random_below(MAX_QUEUES), d.color = (uint8_t)random_below(MAX_COLORS);
    d.length = random_word(), d.done = random_action(), d.on_control = random_action();
    d.priority_given = random_below(2);
    d.priority = d.priority_given ? (Priority)random_below(PRIO_COUNT) : PRIO_LOW;
    d.simd = (SimdMode)random_below(4);
    d.ut_given = random_below(2);
    d.ut = d.ut_given ? (uint8_t)random_below(MAX_MICROTHREADS) : 0;
    break;
  case DESC_FIFO:
    d.base = random_word(), d.length = random_word();
    break;
  case DESC_NONE: case DESC_KIND_COUNT: default:
    fail();
  }
  return d;
}

static void every_kind_survives_the_round_trip(void **state)
{
  (void)state;
  for (unsigned kind = DESC_MEM1D; kind < DESC_KIND_COUNT; kind++) {
    for (unsigned turn = 0; turn < 20000; turn++) {
      Descriptor desc = random_descriptor((DescKind)kind), back;
      uint16_t words[12];
      unsigned count = descriptor_encode(&desc, words);
      assert_int_equal(count, kind == DESC_MEM4D ? 12 : 8);
      assert_true(descriptor_decode(words, count, &back));
      assert_true(descriptor_equal(&desc, &back));
      assert_false(descriptor_decode(words, count - 1, &back));
    }
  }
}

static void what_decodes_encodes_to_the_same_words(void **state)
{
  (void)state;
  unsigned decoded[DESC_KIND_COUNT] = {0};
  for (unsigned turn = 0; turn < 1000000; turn++) {
    uint16_t words[12], again[12];
    Descriptor desc = random_descriptor((DescKind)(1 + random_below(DESC_KIND_COUNT - 1)));
    unsigned count = descriptor_encode(&desc, words);
    words[random_below(count)] ^= (uint16_t)(1u << random_below(16));
    if (!descriptor_decode(words, count, &desc))
      continue;
    decoded[desc.kind]++;
    assert_int_equal(descriptor_encode(&desc, again), descriptor_words(desc.kind));
    assert_memory_equal(words, again, descriptor_words(desc.kind) * sizeof *words);
  }
  for (unsigned kind = DESC_MEM1D; kind < DESC_KIND_COUNT; kind++)
    assert_true(decoded[kind] > 0);
}

static void every_action_word_is_exact(void **state)
{
  (void)state;
  unsigned valid = 0;
  for (uint32_t word = 0; word <= 0xffff; word++) {
    Action action;
    if (action_decode((uint16_t)word, &action)) {
      valid++;
      assert_int_equal(action_encode(action), word);
    }
  }
  /* none, terminate, activate of each task, unblock of each task, queue and microthread */
  assert_int_equal(valid, 2 + 2 * MAX_TASK_IDS + MAX_QUEUES + MAX_MICROTHREADS);
}

static void wrong_descriptors_are_refused(void **state)
{
  (void)state;
  Descriptor desc;
  uint16_t words[12] = {0};
  assert_false(descriptor_decode(words, 12, &desc));        /* DESC_NONE */
  words[0] = DESC_KIND_COUNT;
  assert_false(descriptor_decode(words, 12, &desc));
  words[0] = DESC_MEM1D | DESC_F_SCALAR << 1;                           /* unknown flag */
  assert_false(descriptor_decode(words, 12, &desc));
  words[0] = DESC_MEM1D;
  assert_true(descriptor_decode(words, 12, &desc));
  words[7] = 1;                                             /* unused word */
  assert_false(descriptor_decode(words, 12, &desc));
  words[7] = 0;
  words[0] = DESC_FABIN;
  words[DESC_W_QUEUE] = MAX_QUEUES;
  assert_false(descriptor_decode(words, 12, &desc));
  words[DESC_W_QUEUE] = MAX_COLORS << DESC_COLOR_SHIFT;
  assert_false(descriptor_decode(words, 12, &desc));
  words[DESC_W_QUEUE] = 0;
  words[DESC_W_MODES] = 1;                                  /* a priority, but not given */
  assert_false(descriptor_decode(words, 12, &desc));
  assert_int_equal(desc.kind, DESC_NONE);
}

static void text_names_what_is_set(void **state)
{
  (void)state;
  char text[160];
  descriptor_print(&(Descriptor){.kind = DESC_MEM1D, .base = 0x40, .length = 16, .stride = -2},
                   NULL, text, sizeof text);
  assert_string_equal(text, "mem1d base=0x0040 length=16 stride=-2");
  const Descriptor inside = {.kind = DESC_CIRC, .base = 6, .length = 8, .stride = 1,
                             .wrap_length = 4};
  descriptor_print(&inside, "a", text, sizeof text);
  assert_string_equal(text, "circular base=a+6 length=8 stride=1 wrap=a wrap_length=4");
  descriptor_print(&inside, "", text, sizeof text);
  assert_string_equal(text, "circular length=8 stride=1 wrap_length=4");
  descriptor_print(&(Descriptor){.kind = DESC_FABIN, .flags = DESC_F_ASYNC, .queue = 2, .color = 7,
                                 .length = 4, .done = {ACT_ACTIVATE, ID_TASK, 9},
                                 .on_control = {.kind = ACT_TERMINATE}, .simd = SIMD_32,
                                 .ut_given = true, .ut = 3}, NULL, text, sizeof text);
  assert_string_equal(text, "fabin queue=2 color=7 length=4 done=activate:task:9 "
                            "on_control=terminate simd=32 ut=3 async");
  descriptor_print(&(Descriptor){.kind = DESC_FIFO, .base = 0x10}, NULL, text, 8);
  assert_string_equal(text, "fifo st");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_kind_survives_the_round_trip),
    cmocka_unit_test(what_decodes_encodes_to_the_same_words),
    cmocka_unit_test(every_action_word_is_exact),
    cmocka_unit_test(wrong_descriptors_are_refused),
    cmocka_unit_test(text_names_what_is_set),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
