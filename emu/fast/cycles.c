/* Fast engine: sets of cycles, a bit each. */
#include "emu/fast/step.h"

/* Not all processors that a build is for have an instruction for that. */
static HOT unsigned bits_count(uint64_t bits)
{
  bits -= bits >> 1 & UINT64_C(0x5555555555555555);
  bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
  bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
  return (unsigned)(bits * UINT64_C(0x0101010101010101) >> 56);
}

static HOT unsigned issues_count_all(const uint64_t *issues)
{
  unsigned count = 0;
  for (unsigned word = 0; word < SCALAR_WORDS; word++)
    if (issues[word])
      count += bits_count(issues[word]);
  return count;
}

/* Those from `first` on. */
static inline unsigned issues_count(const uint64_t *issues, uint64_t first)
{
  unsigned count = 0;
  for (unsigned word = (unsigned)(first / WORD_BITS); word < SCALAR_WORDS; word++) {
    uint64_t bits = issues[word];
    if (word == first / WORD_BITS)
      bits &= ~UINT64_C(0) << first % WORD_BITS;
    count += bits_count(bits);
  }
  return count;
}

/* The last one before `end`; -1: none. */
static inline int issues_last(const uint64_t *issues, uint64_t end)
{
  for (unsigned word = SCALAR_WORDS; word-- > 0;) {
    uint64_t bits = end <= word * WORD_BITS ? 0 : issues[word];
    if (end - word * WORD_BITS < WORD_BITS)
      bits &= (UINT64_C(1) << end % WORD_BITS) - 1;
    if (bits)
      return (int)(word * WORD_BITS + (WORD_BITS - 1) - (unsigned)__builtin_clzll(bits));
  }
  return -1;
}

/* The last one; there is one. */
static HOT unsigned issues_last_of_all(const uint64_t *issues)
{
  unsigned word = SCALAR_WORDS - 1;
  while (!issues[word])
    word--;
  return word * WORD_BITS + (WORD_BITS - 1) - (unsigned)__builtin_clzll(issues[word]);
}

/* The first one; there is one. */
static inline unsigned issues_first(const uint64_t *issues)
{
  unsigned word = 0;
  while (!issues[word])
    word++;
  return word * WORD_BITS + (unsigned)__builtin_ctzll(issues[word]);
}

/* The first one from `first` on, or `end` if none is before it. */
static inline uint64_t issues_next(const uint64_t *issues, uint64_t first, uint64_t end)
{
  for (; first < end; first = (first / WORD_BITS + 1) * WORD_BITS) {
    uint64_t bits = issues[first / WORD_BITS] >> first % WORD_BITS;
    if (bits) {
      uint64_t at = first + (unsigned)__builtin_ctzll(bits);
      return at < end ? at : end;
    }
  }
  return end;
}

/* The first one from `first` on that is not in the set. */
static inline uint64_t issues_next_free(const uint64_t *issues, uint64_t first)
{
  for (; first < SCALAR_CYCLES; first = (first / WORD_BITS + 1) * WORD_BITS) {
    uint64_t bits = ~issues[first / WORD_BITS] >> first % WORD_BITS;
    if (bits)
      return first + (unsigned)__builtin_ctzll(bits);
  }
  return first;
}

/* Puts those from `first` on a cycle later. */
static inline void issues_delay(uint64_t *issues, unsigned first)
{
  unsigned at = first / WORD_BITS;
  uint64_t before = issues[at] & ((UINT64_C(1) << first % WORD_BITS) - 1);
  for (unsigned word = SCALAR_WORDS; --word > at;)
    issues[word] = issues[word] << 1 | issues[word - 1] >> (WORD_BITS - 1);
  issues[at] = (issues[at] - before) << 1 | before;
}

static inline bool issues_has(const uint64_t *issues, uint64_t at)
{
  return issues[at / WORD_BITS] >> at % WORD_BITS & 1;
}
