/* Writes a program image; docs/image.md describes the format.  Everything is written in the
 * order of the Image's lists, so equal images give equal bytes. */
#include "ir/machine/image_format.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "stb_ds.h"
#include "uthash.h"

/* ---- the hash of the tables -------------------------------------------------------------- */

static uint64_t tables_hash;
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void hash_tables(void)
{
  static const char *const rows[] = {
#define MACHINE(...) "MACHINE " #__VA_ARGS__,
#define MACHINE_LIST(...) "MACHINE_LIST " #__VA_ARGS__,
#define MACHINE_MASK(...) "MACHINE_MASK " #__VA_ARGS__,
#include "ir/machine/machine.def"
#define INSN(...) "INSN " #__VA_ARGS__,
#include "ir/machine/isa.def"
#define VECOP(...) "VECOP " #__VA_ARGS__,
#include "ir/machine/vecops.def"
#define CONFIG_REG(...) "CONFIG_REG " #__VA_ARGS__,
#include "ir/machine/config_regs.def"
  };
  uint64_t hash = 0xcbf29ce484222325u;   /* FNV-1a, 64 bits */
  for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
    for (const char *at = rows[i];; at++) {
      hash = (hash ^ (uint8_t)*at) * 0x100000001b3u;
      if (*at == 0)
        break;
    }
  tables_hash = hash;
}

uint64_t image_tables_hash(void)
{
  pthread_once(&tables_once, hash_tables);
  return tables_hash;
}

/* ---- code blocks ------------------------------------------------------------------------- */

typedef struct {
  uint8_t *bytes;        /* address and words: the key */
  uint32_t block;
  UT_hash_handle hh;
} KnownBlock;

/* Classes with equal code at the same address share a block. */
static uint32_t block_of_class(const ImageClass *class, KnownBlock **known, CodeBlock **blocks)
{
  size_t length = sizeof class->code_address + class->code_words * sizeof *class->code;
  uint8_t *key = base_malloc(length);
  memcpy(key, &class->code_address, sizeof class->code_address);
  if (class->code_words)
    memcpy(key + sizeof class->code_address, class->code, class->code_words * sizeof *class->code);
  KnownBlock *found;
  HASH_FIND(hh, *known, key, length, found);
  if (found) {
    free(key);
    return found->block;
  }
  found = base_malloc(sizeof *found);
  *found = (KnownBlock){.bytes = key, .block = (uint32_t)arrlenu(*blocks)};
  HASH_ADD_KEYPTR(hh, *known, found->bytes, length, found);
  arrput(*blocks, ((CodeBlock){class->code_address, class->code_words, class->code}));
  return found->block;
}

static CodeBlock *find_blocks(const Image *image, uint32_t *class_block)
{
  KnownBlock *known = NULL, *block, *next;
  CodeBlock *blocks = NULL;
  for (uint32_t i = 0; i < image->n_classes; i++)
    class_block[i] = block_of_class(&image->classes[i], &known, &blocks);
  HASH_ITER(hh, known, block, next) {
    HASH_DEL(known, block);
    free(block->bytes);
    free(block);
  }
  return blocks;
}

/* ---- grids ------------------------------------------------------------------------------- */

static void write_class_grid(Codec *c, const Image *image, uint64_t *values)
{
  size_t n_tiles = (size_t)image->width * image->height;
  for (size_t i = 0; i < n_tiles; i++)
    values[i] = image->tile_class[i] == IMAGE_NO_CLASS ? 0 : (uint64_t)image->tile_class[i] + 1;
  grid_write(c, values, n_tiles, image->width);
}

static void write_color_grid(Codec *c, const Image *image, uint64_t *values)
{
  size_t n_tiles = (size_t)image->width * image->height;
  for (size_t i = 0; i < n_tiles; i++)
    values[i] = image->tile_colors[i];
  grid_write(c, values, n_tiles, image->width);
}

/* Blobs that follow each other in tile order, the usual case, cost nothing. */
static void write_blob_grid(Codec *c, const Image *image, uint64_t *values)
{
  size_t n_tiles = (size_t)image->width * image->height;
  uint64_t end = 0;
  for (size_t i = 0; i < n_tiles; i++) {
    uint32_t class = image->tile_class[i];
    uint64_t bytes = class < image->n_classes ? image->classes[class].tile_blob_bytes : 0;
    values[i] = 0;
    if (bytes == 0)
      continue;
    uint64_t at = image->tile_blob_at[i];
    if (at != end)
      values[i] = at + 1;
    if (at + bytes > end)
      end = at + bytes;
  }
  grid_write(c, values, n_tiles, image->width);
}

/* ---- the file ---------------------------------------------------------------------------- */

typedef struct { uint8_t *bytes[SECTION_COUNT]; } Sections;   /* stb_ds arrays */

static void write_sections(const Image *image, Sections *sections)
{
  StringWriter strings = {0};
  sh_new_strdup(strings.offsets);
  arrput(strings.bytes, 0);   /* the empty text; the section always ends with a zero byte */
  shput(strings.offsets, "", 0);

  uint32_t *class_block = base_malloc(image->n_classes * sizeof *class_block);
  CodeBlock *blocks = find_blocks(image, class_block);
  uint32_t n_blocks = (uint32_t)arrlenu(blocks);
  uint64_t *values = base_malloc((size_t)image->width * image->height * sizeof *values);
  Image *fields = (Image *)image;   /* a writing codec stores nothing */

  for (unsigned kind = SECTION_STRINGS + 1; kind < SECTION_COUNT; kind++) {
    Codec c = {.mode = CODEC_WRITE, .section = (SectionKind)kind, .string_writer = &strings,
               .class_block = class_block};
    switch ((SectionKind)kind) {
    case SECTION_PROGRAM: code_program(&c, fields); break;
    case SECTION_CODE: code_blocks(&c, &blocks, &n_blocks); break;
    case SECTION_CLASSES: code_classes(&c, fields); break;
    case SECTION_CLASS_GRID: write_class_grid(&c, image, values); break;
    case SECTION_COLOR_CONFIGS: code_color_configs(&c, fields); break;
    case SECTION_COLOR_SETS: code_color_sets(&c, fields); break;
    case SECTION_COLOR_GRID: write_color_grid(&c, image, values); break;
    case SECTION_BLOB_GRID: write_blob_grid(&c, image, values); break;
    case SECTION_BLOBS:
      if (image->tile_blob_bytes)
        memcpy(arraddnptr(c.out, image->tile_blob_bytes), image->tile_blobs,
               image->tile_blob_bytes);
      break;
    case SECTION_EXPORTS: code_exports(&c, fields); break;
    case SECTION_DEBUG: code_debug(&c, fields); break;
    case SECTION_STRINGS: case SECTION_COUNT: default: break;
    }
    sections->bytes[kind] = c.out;
  }
  uint8_t *text = NULL;
  memcpy(arraddnptr(text, arrlenu(strings.bytes)), strings.bytes, arrlenu(strings.bytes));
  sections->bytes[SECTION_STRINGS] = text;
  arrfree(strings.bytes);
  shfree(strings.offsets);
  arrfree(blocks);
  free(class_block);
  free(values);
}

/* zlib takes lengths of 32 bits. */
static uint32_t crc_of(const uint8_t *bytes, size_t length)
{
  uLong crc = crc32_z(0, NULL, 0);
  return (uint32_t)crc32_z(crc, bytes, length);
}

static void write_header(uint8_t *header, const Sections *sections, size_t length)
{
  memset(header, 0, IMAGE_HEADER_BYTES);
  memcpy(header, image_magic, IMAGE_MAGIC_BYTES);
  store_le(header + IMAGE_AT_VERSION, IMAGE_VERSION, 4);
  store_le(header + IMAGE_AT_COUNT, SECTION_COUNT, 4);
  store_le(header + IMAGE_AT_HASH, image_tables_hash(), 8);
  store_le(header + IMAGE_AT_LENGTH, length, 8);
  uint64_t offset = IMAGE_HEADER_BYTES;
  for (unsigned i = 0; i < SECTION_COUNT; i++) {
    uint8_t *entry = header + IMAGE_AT_TABLE + i * IMAGE_ENTRY_BYTES;
    size_t bytes = arrlenu(sections->bytes[i]);
    store_le(entry, i, 4);
    store_le(entry + IMAGE_ENTRY_CRC, crc_of(sections->bytes[i], bytes), 4);
    store_le(entry + IMAGE_ENTRY_OFFSET, offset, 8);
    store_le(entry + IMAGE_ENTRY_LENGTH, bytes, 8);
    offset += bytes;
  }
  store_le(header + IMAGE_AT_CRC, crc_of(header, IMAGE_HEADER_BYTES), 4);
}

uint8_t *image_write(const Image *image, size_t *length)
{
  Sections sections = {{0}};
  write_sections(image, &sections);
  size_t total = IMAGE_HEADER_BYTES;
  for (unsigned i = 0; i < SECTION_COUNT; i++)
    total += arrlenu(sections.bytes[i]);
  uint8_t *file = base_malloc(total), *at = file + IMAGE_HEADER_BYTES;
  write_header(file, &sections, total);
  for (unsigned i = 0; i < SECTION_COUNT; i++) {
    size_t bytes = arrlenu(sections.bytes[i]);
    if (bytes)
      memcpy(at, sections.bytes[i], bytes);
    at += bytes;
    arrfree(sections.bytes[i]);
  }
  *length = total;
  return file;
}
