/* No elements at a time. */
#include "ir/base/platform.h"

bool lanes_fma_f16(const uint16_t *a, uint16_t b, uint16_t *c, size_t n)
{
  (void)a, (void)b, (void)c, (void)n;
  return false;
}

bool lanes_fma_rows_f16(const uint16_t *a, size_t step, const uint16_t *b, size_t rows,
                        uint16_t *c, size_t n)
{
  (void)a, (void)step, (void)b, (void)rows, (void)c, (void)n;
  return false;
}

bool lanes_fma_f32(const uint32_t *a, uint32_t b, uint32_t *c, size_t n)
{
  (void)a, (void)b, (void)c, (void)n;
  return false;
}
