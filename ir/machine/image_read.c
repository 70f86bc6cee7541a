/* Reads a program image.  Nothing in the file is trusted: here the header, the section table,
 * the checksums and each field on its own; image_check.c then looks at what fields mean
 * together.  A reason is a sentence for the user of the file. */
#include "ir/machine/image_format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

typedef struct { const uint8_t *bytes; size_t length; } Part;
typedef struct {
  Arena *arena;
  const uint8_t *bytes;
  size_t length;
  Part parts[SECTION_COUNT];
} ImageFile;

/* ---- header and section table ------------------------------------------------------------ */

static const char *const other_cslc = "it was written by another version of cslc: recompile with "
                                      "this cslc";

/* How many bytes an image has, as its first ones say; these alone if they begin none. */
static uint64_t announced_bytes(const void *context, const char *start, size_t length)
{
  (void)context;
  bool begins = length >= IMAGE_AT_TABLE && memcmp(start, image_magic, IMAGE_MAGIC_BYTES) == 0;
  return begins ? load_le((const uint8_t *)start + IMAGE_AT_LENGTH, 8) : length;
}

char *image_file_read(const char *path, size_t *length)
{
  return file_read_bounded(path, announced_bytes, NULL, length);
}

/* The header's, which holds those of all sections. */
uint32_t image_checksum(const uint8_t *bytes)
{
  return (uint32_t)load_le(bytes + IMAGE_AT_CRC, 4);
}

static const char *check_start(const ImageFile *file)
{
  size_t known = file->length < IMAGE_MAGIC_BYTES ? file->length : IMAGE_MAGIC_BYTES;
  if (file->length == 0)
    return "the file is empty";
  if (memcmp(file->bytes, image_magic, known) != 0)
    return "this is no program image: it does not start with the mark of one";
  if (file->length < IMAGE_AT_TABLE)
    return arena_printf(file->arena, "the file is cut off in its header: it has %zu bytes",
                        file->length);
  uint64_t version = load_le(file->bytes + IMAGE_AT_VERSION, 4);
  if (version != IMAGE_VERSION)
    return arena_printf(file->arena, "the image has format %" PRIu64 ", this program reads %d; %s",
                        version, IMAGE_VERSION, other_cslc);
  if (load_le(file->bytes + IMAGE_AT_HASH, 8) != image_tables_hash())
    return arena_printf(file->arena, "the image was made for other machine tables; %s",
                        other_cslc);
  return NULL;
}

static uint32_t header_crc(const uint8_t *bytes)
{
  uint8_t header[IMAGE_HEADER_BYTES];
  memcpy(header, bytes, sizeof header);
  store_le(header + IMAGE_AT_CRC, 0, 4);
  return (uint32_t)crc32_z(crc32_z(0, NULL, 0), header, sizeof header);
}

static const char *check_header(const ImageFile *file)
{
  const char *reason = check_start(file);
  if (reason)
    return reason;
  uint64_t announced = load_le(file->bytes + IMAGE_AT_LENGTH, 8);
  if (announced > file->length)
    return arena_printf(file->arena, "the file is cut off: %zu of its %" PRIu64 " bytes are there",
                        file->length, announced);
  if (announced < file->length)
    return arena_printf(file->arena, "bytes follow the image's %" PRIu64, announced);
  if (load_le(file->bytes + IMAGE_AT_COUNT, 4) != SECTION_COUNT ||
      file->length < IMAGE_HEADER_BYTES)
    return "the header is damaged: it has another number of sections";
  if (header_crc(file->bytes) != load_le(file->bytes + IMAGE_AT_CRC, 4) ||
      load_le(file->bytes + IMAGE_AT_ZERO, 4) != 0)
    return "the header is damaged: its checksum does not match";
  return NULL;
}

/* Sections stand in order of their kinds, without gaps, to the end of the file. */
static const char *find_sections(ImageFile *file)
{
  uint64_t expected = IMAGE_HEADER_BYTES;
  for (unsigned i = 0; i < SECTION_COUNT; i++) {
    const uint8_t *entry = file->bytes + IMAGE_AT_TABLE + i * IMAGE_ENTRY_BYTES;
    const char *name = section_name((SectionKind)i);
    uint64_t offset = load_le(entry + IMAGE_ENTRY_OFFSET, 8);
    uint64_t length = load_le(entry + IMAGE_ENTRY_LENGTH, 8);
    if (load_le(entry, 4) != i)
      return arena_printf(file->arena, "the section table is wrong: row %u is not '%s'", i, name);
    if (offset != expected || length > file->length - expected)
      return arena_printf(file->arena, "the section table is wrong: '%s' lies outside the file or "
                          "over another section", name);
    file->parts[i] = (Part){file->bytes + offset, (size_t)length};
    expected += length;
    uLong crc = crc32_z(crc32_z(0, NULL, 0), file->parts[i].bytes, file->parts[i].length);
    if (crc != load_le(entry + IMAGE_ENTRY_CRC, 4))
      return arena_printf(file->arena, "section '%s' is damaged: its checksum does not match",
                          name);
  }
  return expected == file->length ? NULL : "the section table is wrong: it leaves bytes over";
}

/* ---- sections ---------------------------------------------------------------------------- */

/* What reading the sections needs besides the image itself. */
typedef struct {
  ImageFile *file;
  Image *image;
  const char *strings;
  size_t string_bytes;
  CodeBlock *blocks;
  uint32_t n_blocks;
  uint32_t *class_block;
  uint64_t *values;            /* one for each tile, for the grids */
  const char *reason;
} Reading;

static Codec codec_for(const Reading *r, SectionKind kind)
{
  Part part = r->file->parts[kind];
  return (Codec){.mode = CODEC_READ, .section = kind, .at = part.bytes,
                 .end = part.bytes + part.length, .strings = r->strings,
                 .string_bytes = r->string_bytes, .arena = r->file->arena, .blocks = r->blocks,
                 .n_blocks = r->n_blocks};
}

static void read_strings(Reading *r)
{
  Part part = r->file->parts[SECTION_STRINGS];
  if (part.length == 0 || part.bytes[part.length - 1] != 0) {
    r->reason = "section 'strings' is cut off: its last text does not end";
    return;
  }
  char *copy = arena_many(r->file->arena, char, part.length);
  memcpy(copy, part.bytes, part.length);
  r->strings = copy;
  r->string_bytes = part.length;
}

static void read_fields(Reading *r, SectionKind kind, void (*code)(Codec *, Image *))
{
  if (r->reason)
    return;
  Codec c = codec_for(r, kind);
  code(&c, r->image);
  codec_finish(&c);
  r->reason = c.reason;
  if (kind == SECTION_CLASSES)
    r->class_block = c.class_block;
}

static void read_blocks(Reading *r)
{
  if (r->reason)
    return;
  Codec c = codec_for(r, SECTION_CODE);
  code_blocks(&c, &r->blocks, &r->n_blocks);
  codec_finish(&c);
  r->reason = c.reason;
}

/* The rectangle decides how much memory the grids take, so it is checked before they are read. */
static void check_rectangle(Reading *r)
{
  const Image *image = r->image;
  if (r->reason)
    return;
  const Machine *machine = machine_get(image->arch);
  if (image->width == 0 || image->height == 0)
    r->reason = "section 'program' is wrong: the rectangle is empty";
  else if (image->fabric_width > machine->max_fabric_width ||
           image->fabric_height > machine->max_fabric_height)
    r->reason = arena_printf(r->file->arena, "section 'program' is wrong: a fabric of %u x %u is "
                             "larger than the %s (%u x %u)", image->fabric_width,
                             image->fabric_height, machine->name, machine->max_fabric_width,
                             machine->max_fabric_height);
  else if (image->offset_x + image->width > image->fabric_width ||
           image->offset_y + image->height > image->fabric_height)
    r->reason = "section 'program' is wrong: the rectangle does not fit into the fabric";
}

static size_t n_tiles(const Image *image)
{
  return (size_t)image->width * image->height;
}

static bool read_grid(Reading *r, SectionKind kind)
{
  if (r->reason)
    return false;
  Codec c = codec_for(r, kind);
  bool done = grid_read(&c, r->values, n_tiles(r->image));
  r->reason = c.reason;
  return done;
}

static void read_class_grid(Reading *r)
{
  if (!read_grid(r, SECTION_CLASS_GRID))
    return;
  uint32_t *classes = arena_many(r->file->arena, uint32_t, n_tiles(r->image));
  r->image->tile_class = classes;
  for (size_t i = 0; i < n_tiles(r->image); i++) {
    if (r->values[i] > r->image->n_classes) {
      r->reason = arena_printf(r->file->arena, "section 'class grid' is wrong: tile %zu has class "
                               "%" PRIu64 " of %u", i, r->values[i] - 1, r->image->n_classes);
      return;
    }
    classes[i] = (uint32_t)r->values[i] - 1;   /* 0 becomes IMAGE_NO_CLASS */
  }
}

static void read_color_grid(Reading *r)
{
  if (!read_grid(r, SECTION_COLOR_GRID))
    return;
  uint32_t *colors = arena_many(r->file->arena, uint32_t, n_tiles(r->image));
  r->image->tile_colors = colors;
  for (size_t i = 0; i < n_tiles(r->image); i++) {
    if (r->values[i] >= r->image->n_color_sets) {
      r->reason = arena_printf(r->file->arena, "section 'color grid' is wrong: tile %zu has color "
                               "set %" PRIu64 " of %u", i, r->values[i], r->image->n_color_sets);
      return;
    }
    colors[i] = (uint32_t)r->values[i];
  }
}

/* Where the own data of tile `index` starts; false if that is not inside the blobs. */
static bool place_blob(const Image *image, uint64_t bytes, uint64_t value, uint64_t *at,
                       uint64_t *end)
{
  *at = value ? value - 1 : *end;
  if (*at > image->tile_blob_bytes || bytes > image->tile_blob_bytes - *at)
    return false;
  if (*at + bytes > *end)
    *end = *at + bytes;
  return true;
}

static void read_blob_grid(Reading *r)
{
  Image *image = r->image;
  image->tile_blob_bytes = r->file->parts[SECTION_BLOBS].length;
  if (!read_grid(r, SECTION_BLOB_GRID))
    return;
  uint64_t *places = arena_many(r->file->arena, uint64_t, n_tiles(image)), end = 0;
  image->tile_blob_at = places;
  for (size_t i = 0; i < n_tiles(image); i++) {
    uint32_t class = image->tile_class[i];
    uint64_t bytes = class == IMAGE_NO_CLASS ? 0 : image->classes[class].tile_blob_bytes;
    bool fits = bytes ? place_blob(image, bytes, r->values[i], &places[i], &end)
                      : r->values[i] == 0;
    if (!fits) {
      r->reason = arena_printf(r->file->arena, "section 'blob grid' is wrong: the data of tile "
                               "%zu lies outside section 'blobs'", i);
      return;
    }
  }
}

static void read_blobs(Reading *r)
{
  Part part = r->file->parts[SECTION_BLOBS];
  if (r->reason || part.length == 0)
    return;
  r->image->tile_blobs = part.bytes;
}

static void read_sections(Reading *r)
{
  read_strings(r);
  read_fields(r, SECTION_PROGRAM, code_program);
  check_rectangle(r);
  read_blocks(r);
  read_fields(r, SECTION_CLASSES, code_classes);
  read_fields(r, SECTION_COLOR_CONFIGS, code_color_configs);
  read_fields(r, SECTION_COLOR_SETS, code_color_sets);
  read_fields(r, SECTION_EXPORTS, code_exports);
  read_fields(r, SECTION_DEBUG, code_debug);
  if (r->reason)
    return;
  r->values = base_malloc(n_tiles(r->image) * sizeof *r->values);
  read_class_grid(r);
  read_color_grid(r);
  read_blob_grid(r);
  free(r->values);
  read_blobs(r);
}

Image *image_read(const uint8_t *bytes, size_t length, Arena *arena, const char **reason)
{
  ImageFile file = {.arena = arena, .bytes = bytes, .length = length};
  *reason = check_header(&file);
  if (!*reason)
    *reason = find_sections(&file);
  if (*reason)
    return NULL;
  Image *image = arena_new(arena, Image);
  image->arena = arena;
  Reading r = {.file = &file, .image = image};
  read_sections(&r);
  if (!r.reason)
    r.reason = image_check(image, r.blocks, r.n_blocks, r.class_block, arena);
  *reason = r.reason;
  return r.reason ? NULL : image;
}

uint32_t image_launch_words(const ImageExport *function)
{
  uint32_t words = 0;
  for (unsigned i = 0; i < function->n_params; i++)
    words += function->param_bytes[i] > LAUNCH_WORD_BYTES ? 2 : 1;
  return words;
}

const ImageLine *image_line_at(const ImageClass *cls, uint16_t pc)
{
  uint32_t low = 0, high = cls->n_lines;
  if (pc < cls->code_address || (uint32_t)(pc - cls->code_address) >= 2 * cls->code_words)
    return NULL;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (cls->lines[middle].pc <= pc)
      low = middle + 1;
    else
      high = middle;
  }
  return low && cls->lines[low - 1].line ? &cls->lines[low - 1] : NULL;
}
