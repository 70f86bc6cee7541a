/* Fast engine: what is put aside of memory that is overwritten ahead of its cycle (ahead.c). */
#include "emu/fast/step.h"

/* The values of an operation are a block among the stores: they themselves, and behind them a store
 * of 0 bytes that says where they have been. */
typedef struct { uint8_t n, bytes; int16_t step; } KeptBlock;
enum { STORE_BYTES = sizeof(((ScalarStores *)0)->at[0]) };
_Static_assert(sizeof(KeptBlock) == sizeof(((ScalarStores *)0)->at[0].before), "it is kept there");

static inline unsigned block_stores(unsigned elements, unsigned bytes)
{
  return (elements * bytes + STORE_BYTES - 1) / STORE_BYTES;
}

/* Elements that a block has room for. */
static inline unsigned block_room(const ScalarStores *stores, unsigned bytes)
{
  unsigned left = stores->most - stores->n;
  return left ? (left - 1) * STORE_BYTES / bytes : 0;
}

static HOT void copy_values(uint8_t *to, int to_step, const uint8_t *from, int from_step,
                            unsigned n, size_t bytes)
{
  for (unsigned i = 0; i < n; i++)
    memcpy(to + (int)i * to_step, from + (int)i * from_step, bytes);
}

/* Keeps what the next elements overwrite: there is room for them. */
static inline void keep_values(const TileMem *mem, const FastPlain *p, unsigned elements,
                               ScalarStores *stores)
{
  int step = p->step[PLAIN_DEST];
  uint8_t *to = (uint8_t *)&stores->at[stores->n];
  const uint8_t *from = mem->bytes + p->address[PLAIN_DEST];
  if (p->bytes == sizeof(uint32_t))
    copy_values(to, sizeof(uint32_t), from, step, elements, sizeof(uint32_t));
  else
    copy_values(to, sizeof(uint16_t), from, step, elements, sizeof(uint16_t));
  unsigned end = stores->n + block_stores(elements, p->bytes);
  KeptBlock block = {(uint8_t)elements, p->bytes, (int16_t)step};
  memcpy(&stores->at[end].before, &block, sizeof block);
  stores->at[end].address = p->address[PLAIN_DEST];
  stores->at[end].bytes = 0;
  stores->n = (uint16_t)(end + 1);
}

/* Puts the memory back. */
static inline void undo_stores(const ScalarStores *stores, TileMem *mem)
{
  for (unsigned i = stores->n; i-- > 0;) {
    if (stores->at[i].bytes) {
      mem_store(mem, stores->at[i].address, stores->at[i].bytes, stores->at[i].before);
      continue;
    }
    KeptBlock block;
    memcpy(&block, &stores->at[i].before, sizeof block);
    uint8_t *to = mem->bytes + stores->at[i].address;
    i -= block_stores(block.n, block.bytes);
    copy_values(to, block.step, (const uint8_t *)&stores->at[i], block.bytes, block.n, block.bytes);
  }
}
