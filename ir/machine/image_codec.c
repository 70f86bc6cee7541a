/* Values of an image, written or read: little-endian, fixed width, no alignment. */
#include "ir/machine/image_format.h"

#include <stdarg.h>
#include <string.h>

#include "stb_ds.h"

const char image_magic[IMAGE_MAGIC_BYTES] = {'W', 'S', 'E', 'P', 'R', 'O', 'G', '\n'};

static const uint32_t no_string = 0xffffffff;

const char *section_name(SectionKind kind)
{
  static const char *const names[SECTION_COUNT] = {
#define SECTION(id, name, what) name,
    IMAGE_SECTIONS(SECTION)
#undef SECTION
  };
  return (unsigned)kind < SECTION_COUNT ? names[kind] : "?";
}

/* The common sizes are written out, so that each is one load. */
uint64_t load_le(const uint8_t *at, unsigned bytes)
{
  uint64_t value = 0;
  switch (bytes) {
  case 1: return at[0];
  case 2: return (uint64_t)at[0] | (uint64_t)at[1] << 8;
  case 4: return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 |
                 (uint64_t)at[3] << 24;
  default:
    for (unsigned i = 0; i < bytes; i++)
      value |= (uint64_t)at[i] << (8 * i);
    return value;
  }
}

void store_le(uint8_t *at, uint64_t value, unsigned bytes)
{
  for (unsigned i = 0; i < bytes; i++)
    at[i] = (uint8_t)(value >> (8 * i));
}

void codec_fail(Codec *c, const char *format, ...)
{
  char text[400];
  va_list args;
  if (c->reason)
    return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  c->reason = arena_printf(c->arena, "section '%s' %s", section_name(c->section), text);
  c->at = c->end;
}

static size_t bytes_left(const Codec *c)
{
  return (size_t)(c->end - c->at);
}

static uint64_t read_le(Codec *c, unsigned bytes)
{
  if (c->reason)
    return 0;
  if (bytes_left(c) < bytes) {
    codec_fail(c, "is cut off: it ends inside a number");
    return 0;
  }
  uint64_t value = load_le(c->at, bytes);
  c->at += bytes;
  return value;
}

/* Writes or counts `value`, or returns what is read. */
static uint64_t code_le(Codec *c, uint64_t value, unsigned bytes)
{
  switch (c->mode) {
  case CODEC_READ:
    return read_le(c, bytes);
  case CODEC_WRITE:
    store_le(arraddnptr(c->out, bytes), value, bytes);
    return value;
  case CODEC_MEASURE: default:
    c->measured += bytes;
    return value;
  }
}

/* A struct that is written may be constant: it is stored to only when reading. */
void code_u8(Codec *c, uint8_t *value)
{
  uint64_t v = code_le(c, *value, 1);
  if (c->mode == CODEC_READ)
    *value = (uint8_t)v;
}

void code_u16(Codec *c, uint16_t *value)
{
  uint64_t v = code_le(c, *value, 2);
  if (c->mode == CODEC_READ)
    *value = (uint16_t)v;
}

void code_u32(Codec *c, uint32_t *value)
{
  uint64_t v = code_le(c, *value, 4);
  if (c->mode == CODEC_READ)
    *value = (uint32_t)v;
}

void code_u64(Codec *c, uint64_t *value)
{
  uint64_t v = code_le(c, *value, 8);
  if (c->mode == CODEC_READ)
    *value = v;
}

void code_enum(Codec *c, uint32_t *value, uint32_t limit, const char *what)
{
  uint64_t v = code_le(c, *value, 1);
  if (c->mode != CODEC_READ)
    return;
  if (v >= limit) {
    codec_fail(c, "is wrong: %u is no %s", (unsigned)v, what);
    v = 0;
  }
  *value = (uint32_t)v;
}

void code_bool(Codec *c, bool *value, const char *what)
{
  uint32_t v = *value;
  code_enum(c, &v, 2, what);
  if (c->mode == CODEC_READ)
    *value = v;
}

void code_count(Codec *c, uint32_t *count, size_t least, const char *what)
{
  code_u32(c, count);
  if (c->mode != CODEC_READ || c->reason)
    return;
  if (*count > bytes_left(c) / (least ? least : 1))
    codec_fail(c, "is cut off: it announces %u %s, but only %zu bytes follow", *count, what,
               bytes_left(c));
  if (c->reason)
    *count = 0;
}

void code_bytes(Codec *c, const uint8_t **bytes, uint32_t count, const char *what)
{
  if (c->mode == CODEC_MEASURE || c->reason || count == 0)
    return;
  if (c->mode == CODEC_WRITE) {
    memcpy(arraddnptr(c->out, count), *bytes, count);
    return;
  }
  if (bytes_left(c) < count) {
    codec_fail(c, "is cut off: %u bytes of %s are announced, %zu follow", count, what,
               bytes_left(c));
    return;
  }
  uint8_t *copy = arena_many(c->arena, uint8_t, count);
  memcpy(copy, c->at, count);
  c->at += count;
  *bytes = copy;
}

/* ---- strings -------------------------------------------------------------------------------- */

static uint32_t string_offset(StringWriter *writer, const char *text)
{
  ptrdiff_t known = shgeti(writer->offsets, text);
  if (known >= 0)
    return writer->offsets[known].value;
  size_t length = strlen(text) + 1;
  uint32_t offset = (uint32_t)arrlenu(writer->bytes);
  memcpy(arraddnptr(writer->bytes, length), text, length);
  shput(writer->offsets, text, offset);
  return offset;
}

/* The section ends with a zero byte, which the reader has checked. */
static const char *string_at(Codec *c, uint32_t offset)
{
  if (offset >= c->string_bytes || (offset && c->strings[offset - 1])) {
    codec_fail(c, "is wrong: no text starts at offset %u of the strings", offset);
    return "";
  }
  return c->strings + offset;
}

void code_optional_string(Codec *c, const char **text)
{
  uint32_t offset = no_string;
  if (c->mode == CODEC_WRITE && *text)
    offset = string_offset(c->string_writer, *text);
  code_u32(c, &offset);
  if (c->mode != CODEC_READ)
    return;
  *text = c->reason || offset == no_string ? NULL : string_at(c, offset);
}

void code_string(Codec *c, const char **text)
{
  const char *given = c->mode == CODEC_WRITE && *text == NULL ? "" : *text;
  code_optional_string(c, &given);
  if (c->mode != CODEC_READ)
    return;
  if (!given)
    codec_fail(c, "is wrong: a text is missing");
  *text = given ? given : "";
}

void codec_finish(Codec *c)
{
  if (c->mode == CODEC_READ && !c->reason && bytes_left(c))
    codec_fail(c, "is wrong: %zu bytes follow its contents", bytes_left(c));
}
