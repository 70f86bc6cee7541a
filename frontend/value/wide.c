/* Words of 64 bits in and out of GMP's numbers. GMP itself takes and gives longs, whose size
 * differs between systems, and so does that of its limbs. */
#include "frontend/value/value.h"

enum { WORD_BITS = 64 };

void wide_set_u64(mpz_t number, uint64_t value)
{
  mpz_import(number, 1, -1, sizeof value, 0, 0, &value);
}

void wide_set_i64(mpz_t number, int64_t value)
{
  wide_set_u64(number, value < 0 ? -(uint64_t)value : (uint64_t)value);
  if (value < 0)
    mpz_neg(number, number);
}

uint64_t wide_low_bits(const mpz_t number)
{
  uint64_t bits = 0;
  mpz_t low;
  mpz_init(low);
  mpz_fdiv_r_2exp(low, number, WORD_BITS);
  mpz_export(&bits, NULL, -1, sizeof bits, 0, 0, low);
  mpz_clear(low);
  return bits;
}

bool wide_is_small(const mpz_t number)
{
  if (mpz_sizeinbase(number, 2) < WORD_BITS)
    return true;
  int64_t low = (int64_t)wide_low_bits(number);
  mpz_t again;
  mpz_init(again);
  wide_set_i64(again, low);
  bool is_equal = mpz_cmp(again, number) == 0;
  mpz_clear(again);
  return is_equal;
}
