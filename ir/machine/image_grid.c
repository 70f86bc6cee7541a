/* A value for each tile, packed.
 *
 * Neighbouring tiles, and tiles of neighbouring rows, mostly have equal values.  So a grid is
 * a byte with the width of a value (1, 2, 4 or 8 bytes) and tokens: LEB128 number count * 2 + copy.
 * A literal token is followed by `count` values; a copy token by a LEB128 distance: `count`
 * values, each equal to the one `distance` before it.  Distance 1 is a run, the length of a row
 * repeats the row above, twice that a chequered pattern. */
#include "ir/machine/image_format.h"

#include "stb_ds.h"

/* ---- writing ----------------------------------------------------------------------------- */

enum { SHORTEST_COPY = 3, LEB_BITS = 7, LEB_MORE = 1 << LEB_BITS };

static void put_number(Codec *c, uint64_t value)
{
  for (; value >= LEB_MORE; value >>= LEB_BITS)
    arrput(c->out, (uint8_t)(value | LEB_MORE));
  arrput(c->out, (uint8_t)value);
}

static unsigned width_of(const uint64_t *values, size_t count)
{
  uint64_t all = 0;
  for (size_t i = 0; i < count; i++)
    all |= values[i];
  return all <= UINT8_MAX ? 1 : all <= UINT16_MAX ? 2 : all <= UINT32_MAX ? 4 : 8;
}

/* Longest copy that starts at `at`; *distance is set if there is one. */
static size_t best_copy(const uint64_t *values, size_t count, size_t at, size_t row,
                        size_t *distance)
{
  const size_t distances[] = {1, 2, row, 2 * row};
  size_t best = 0;
  for (size_t i = 0; i < ARRAY_COUNT(distances); i++) {
    size_t length = 0, back = distances[i];
    if (back == 0 || back > at)
      continue;
    while (at + length < count && values[at + length] == values[at + length - back])
      length++;
    if (length > best) {
      best = length;
      *distance = back;
    }
  }
  return best;
}

static void put_literals(Codec *c, const uint64_t *values, size_t count, unsigned width)
{
  if (count == 0)
    return;
  put_number(c, (uint64_t)count * 2);
  for (size_t i = 0; i < count; i++)
    store_le(arraddnptr(c->out, width), values[i], width);
}

void grid_write(Codec *c, const uint64_t *values, size_t count, size_t row)
{
  unsigned width = width_of(values, count);
  size_t literals = 0, distance = 0;
  arrput(c->out, (uint8_t)width);
  for (size_t at = 0; at < count;) {
    size_t length = best_copy(values, count, at, row, &distance);
    if (length < SHORTEST_COPY) {
      literals++;
      at++;
      continue;
    }
    put_literals(c, values + at - literals, literals, width);
    literals = 0;
    put_number(c, (uint64_t)length * 2 + 1);
    put_number(c, distance);
    at += length;
  }
  put_literals(c, values + count - literals, literals, width);
}

/* ---- reading ----------------------------------------------------------------------------- */

static uint64_t get_number(Codec *c)
{
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && c->at < c->end; shift += LEB_BITS) {
    uint8_t byte = *c->at++;
    value |= (uint64_t)(byte & (LEB_MORE - 1)) << shift;
    if (byte < LEB_MORE)
      return value;
  }
  codec_fail(c, "is cut off: it ends inside a number, or a number is too large");
  return 0;
}

static void get_literals(Codec *c, uint64_t *values, size_t count, unsigned width)
{
  if (count > (size_t)(c->end - c->at) / width) {
    codec_fail(c, "is cut off: %zu tiles are announced, %zu bytes follow", count,
               (size_t)(c->end - c->at));
    return;
  }
  for (size_t i = 0; i < count; i++, c->at += width)
    values[i] = load_le(c->at, width);
}

static void get_copy(Codec *c, uint64_t *values, size_t count, size_t done)
{
  uint64_t distance = get_number(c);
  if (c->reason)
    return;
  if (distance == 0 || distance > done) {
    codec_fail(c, "is wrong: a copy starts before the first tile");
    return;
  }
  const uint64_t *from = values - distance;
  for (size_t i = 0; i < count; i++)
    values[i] = from[i];
}

bool grid_read(Codec *c, uint64_t *values, size_t count)
{
  uint8_t width = 0;
  code_u8(c, &width);
  if (!c->reason && width != 1 && width != 2 && width != 4 && width != 8)
    codec_fail(c, "is wrong: %u is no width of a value", width);
  for (size_t done = 0; done < count && !c->reason;) {
    uint64_t token = get_number(c), length = token >> 1;
    if (c->reason)
      break;
    if (length == 0 || length > count - done)
      codec_fail(c, "is wrong: it describes more or fewer tiles than the rectangle has");
    else if (token & 1)
      get_copy(c, values + done, (size_t)length, done);
    else
      get_literals(c, values + done, (size_t)length, width);
    done += (size_t)length;
  }
  codec_finish(c);
  return c->reason == NULL;
}
