/* The container of a page's data; page_internal.h describes it. */
#include "emu/observe/page_internal.h"

#include "stb_ds.h"

#include <stdlib.h>
#include <zlib.h>

enum { VARINT_BITS = 7, MOST_VARINT = 10, LINE_BYTES = 57 * 64, SPEED_LEVEL = 3 };

typedef struct {
  const char *name;
  size_t at, bytes, count;
} PackedArray;

struct Pack {
  uint8_t *bytes;      /* stb_ds */
  PackedArray *arrays; /* stb_ds */
  size_t most_bytes;
};

Pack *pack_create(size_t most_bytes)
{
  Pack *p = base_malloc(sizeof *p);
  *p = (Pack){.most_bytes = most_bytes};
  return p;
}

void pack_destroy(Pack *p)
{
  for (size_t i = 0; i < arrlenu(p->arrays); i++)
    free((char *)p->arrays[i].name);
  arrfree(p->arrays);
  arrfree(p->bytes);
  free(p);
}

/* From malloc. */
static uint8_t *deflate_bytes(const uint8_t *from, size_t bytes, size_t *packed)
{
  uLongf length = compressBound(bytes);
  uint8_t *to = base_malloc(length);
  if (compress2(to, &length, from, bytes, SPEED_LEVEL) != Z_OK)
    base_out_of_memory(0, "the data of a page");
  *packed = length;
  return to;
}

static size_t write_varints(const uint64_t *numbers, size_t count, uint8_t *to)
{
  uint8_t *at = to;
  for (size_t i = 0; i < count; i++) {
    uint64_t n = numbers[i];
    for (; n >> VARINT_BITS; n >>= VARINT_BITS)
      *at++ = (uint8_t)(n | 1u << VARINT_BITS);
    *at++ = (uint8_t)n;
  }
  return (size_t)(at - to);
}

bool pack_numbers(Pack *p, const char *name, const uint64_t *numbers, size_t count)
{
  uint8_t *raw = base_malloc(count * MOST_VARINT + 1);
  size_t bytes, packed, at = arrlenu(p->bytes);
  bytes = write_varints(numbers, count, raw);
  uint8_t *data = deflate_bytes(raw, bytes, &packed);
  free(raw);
  bool fits = packed <= p->most_bytes && at <= p->most_bytes - packed;
  if (fits) {
    memcpy(arraddnptr(p->bytes, packed), data, packed);
    char *copy = base_malloc(strlen(name) + 1);
    memcpy(copy, name, strlen(name) + 1);
    arrput(p->arrays, ((PackedArray){copy, at, packed, count}));
  }
  free(data);
  return fits;
}

size_t pack_bytes(const Pack *p)
{
  return arrlenu(p->bytes);
}

void pack_shrink(Pack *p, size_t bytes)
{
  while (arrlenu(p->arrays) && arrlast(p->arrays).at >= bytes)
    free((char *)arrpop(p->arrays).name);
  if (p->bytes)
    arrsetlen(p->bytes, bytes);
}

/* ---- writing --------------------------------------------------------------------------------- */

static json_t *list_arrays(const Pack *p)
{
  json_t *list = json_object();
  for (size_t i = 0; i < arrlenu(p->arrays); i++) {
    const PackedArray *a = &p->arrays[i];
    json_object_set_new(list, a->name,
                        json_pack("{s:I, s:I, s:I}", "at", (json_int_t)a->at, "bytes",
                                  (json_int_t)a->bytes, "count", (json_int_t)a->count));
  }
  return list;
}

static void write_base64(const uint8_t *bytes, size_t count, FILE *out)
{
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < count; i += 3) {
    size_t left = count - i;
    uint32_t three = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                     (left > 2 ? bytes[i + 2] : 0u);
    char four[4] = {digits[three >> 18 & 63], digits[three >> 12 & 63],
                    left > 1 ? digits[three >> 6 & 63] : '=', left > 2 ? digits[three & 63] : '='};
    fwrite(four, 1, sizeof four, out);
    if ((i + 3) % LINE_BYTES == 0)
      fputc('\n', out);
  }
}

void pack_write(Pack *p, json_t *top, bool base64, FILE *out)
{
  uint8_t *all = NULL; /* stb_ds */
  json_object_set_new(top, "arrays", list_arrays(p));
  char *text = json_dumps(top, JSON_COMPACT);
  if (!text)
    base_out_of_memory(0, "the data of a page");
  size_t packed;
  uint8_t *json = deflate_bytes((const uint8_t *)text, strlen(text), &packed);
  free(text);
  memcpy(arraddnptr(all, 8), "WSEVIEW1", 8);
  for (unsigned i = 0; i < 4; i++)
    arrput(all, (uint8_t)(packed >> 8 * i));
  memcpy(arraddnptr(all, packed), json, packed);
  free(json);
  if (arrlenu(p->bytes))
    memcpy(arraddnptr(all, arrlenu(p->bytes)), p->bytes, arrlenu(p->bytes));
  if (base64)
    write_base64(all, arrlenu(all), out);
  else
    fwrite(all, 1, arrlenu(all), out);
  arrfree(all);
}
