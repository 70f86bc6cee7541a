/* What the files of the program image share; private to ir/machine.
 *
 * The fields of an image are listed once, in image_fields.c, by functions that work in both
 * directions: a Codec either writes the fields of a struct or reads into it. */
#ifndef IMAGE_FORMAT_H
#define IMAGE_FORMAT_H

#include "ir/machine/machine.h"

enum {
  IMAGE_MAGIC_BYTES = 8,
  IMAGE_VERSION = 14,
  /* magic, version u32, section count u32, tables hash u64, file length u64, header CRC u32 over
   * all header bytes but itself, zero u32; then the section table */
  IMAGE_AT_VERSION = 8, IMAGE_AT_COUNT = 12, IMAGE_AT_HASH = 16, IMAGE_AT_LENGTH = 24,
  IMAGE_AT_CRC = 32, IMAGE_AT_ZERO = 36, IMAGE_AT_TABLE = 40,
  /* kind u32, CRC u32, offset u64, length u64 */
  IMAGE_ENTRY_BYTES = 24, IMAGE_ENTRY_CRC = 4, IMAGE_ENTRY_OFFSET = 8, IMAGE_ENTRY_LENGTH = 16,
};
extern const char image_magic[IMAGE_MAGIC_BYTES];

/* Sections, in file order, one each.
 *   SECTION(id, name, what it holds) */
#define IMAGE_SECTIONS(SECTION)                                                              \
  SECTION(STRINGS, "strings", "texts, each ended by a zero byte; others refer by offset")    \
  SECTION(PROGRAM, "program", "architecture, rectangle, parameters, source files")           \
  SECTION(CODE, "code", "distinct code blocks: address, words")                              \
  SECTION(CLASSES, "classes", "tile classes")                                                \
  SECTION(CLASS_GRID, "class grid", "grid: class of each tile, 0 none, else 1 + index")      \
  SECTION(COLOR_CONFIGS, "color configs", "distinct color configurations")                   \
  SECTION(COLOR_SETS, "color sets", "lists of (color, configuration)")                       \
  SECTION(COLOR_GRID, "color grid", "grid: color set of each tile")                          \
  SECTION(BLOB_GRID, "blob grid", "grid: own data of each tile, 0 follows, else 1 + offset") \
  SECTION(BLOBS, "blobs", "own data of tiles")                                               \
  SECTION(EXPORTS, "exports", "names the host can use")                                      \
  SECTION(DEBUG, "debug", "types, and those of the variables; nothing with -g0")

typedef enum {
#define SECTION(id, name, what) SECTION_##id,
  IMAGE_SECTIONS(SECTION)
#undef SECTION
  SECTION_COUNT
} SectionKind;
const char *section_name(SectionKind kind);
enum { IMAGE_HEADER_BYTES = IMAGE_AT_TABLE + SECTION_COUNT * IMAGE_ENTRY_BYTES };

/* Code of one or more classes. */
typedef struct {
  uint16_t address;
  uint32_t n_words;
  const uint16_t *words;
} CodeBlock;

typedef struct { char *key; uint32_t value; } StringOffset;   /* stb_ds string map */

/* Text of the strings section while writing. */
typedef struct {
  char *bytes;                 /* stb_ds array */
  StringOffset *offsets;       /* stb_ds map */
} StringWriter;

typedef enum { CODEC_MEASURE, CODEC_WRITE, CODEC_READ } CodecMode;
typedef struct {
  CodecMode mode;
  SectionKind section;
  /* MEASURE: bytes that an empty element takes */
  size_t measured;
  /* WRITE */
  uint8_t *out;                /* stb_ds array */
  StringWriter *string_writer;
  /* READ: the rest of the section; results and reasons live in the arena */
  const uint8_t *at, *end;
  const char *strings;
  size_t string_bytes;
  Arena *arena;
  const char *reason;          /* set by the first fault; afterwards everything reads as zero */
  /* classes: blocks by number, and the block of each class */
  const CodeBlock *blocks;
  uint32_t n_blocks;
  uint32_t *class_block;
  uint32_t class_number;
} Codec;

/* image_codec.c: one value, in the codec's direction */
void codec_fail(Codec *c, const char *format, ...) BASE_PRINTF(2, 3);
void code_u8(Codec *c, uint8_t *value);
void code_u16(Codec *c, uint16_t *value);
void code_u32(Codec *c, uint32_t *value);
void code_u64(Codec *c, uint64_t *value);
void code_bool(Codec *c, bool *value, const char *what);
/* Values below `limit`. */
void code_enum(Codec *c, uint32_t *value, uint32_t limit, const char *what);
void code_string(Codec *c, const char **text);            /* never NULL */
void code_optional_string(Codec *c, const char **text);
void code_bytes(Codec *c, const uint8_t **bytes, uint32_t count, const char *what);
/* A count of elements that take at least `least` bytes each: refused if they cannot fit. */
void code_count(Codec *c, uint32_t *count, size_t least, const char *what);
void codec_finish(Codec *c);   /* READ: nothing may be left */
uint64_t load_le(const uint8_t *at, unsigned bytes);
void store_le(uint8_t *at, uint64_t value, unsigned bytes);

/* For lists of fields. */
/* Bytes that an element with empty lists takes. */
#define LEAST_BYTES(least, T, code)            \
  do {                                         \
    Codec measure_ = {.mode = CODEC_MEASURE};  \
    T empty_ = {0};                            \
    code(&measure_, &empty_);                  \
    (least) = measure_.measured;               \
  } while (0)

/* A counted list of T: count, then the elements by `code`. */
#define CODE_LIST(c, T, list, count, code, what)                                \
  do {                                                                          \
    size_t least_;                                                              \
    LEAST_BYTES(least_, T, code);                                               \
    code_count((c), &(count), least_, (what));                                  \
    T *elements_ = (T *)(list);                                                 \
    if ((c)->mode == CODEC_READ)                                                \
      (list) = elements_ = (count) ? arena_many((c)->arena, T, (count)) : NULL; \
    for (uint32_t i_ = 0; i_ < (count) && !(c)->reason; i_++)                   \
      code((c), &elements_[i_]);                                                \
  } while (0)

#define CODE_ENUM(c, field, limit, what)      \
  do {                                        \
    uint32_t value_ = (uint32_t)(field);      \
    code_enum((c), &value_, (limit), (what)); \
    if ((c)->mode == CODEC_READ)              \
      (field) = value_;                       \
  } while (0)

/* image_fields.c: the sections that are lists of structs */
void code_program(Codec *c, Image *image);
void code_blocks(Codec *c, CodeBlock **blocks, uint32_t *n_blocks);
void code_classes(Codec *c, Image *image);
void code_color_configs(Codec *c, Image *image);
void code_color_sets(Codec *c, Image *image);
void code_exports(Codec *c, Image *image);

/* image_debug.c: what debuggers know of the variables, and its conditions: the reason, or NULL */
void code_debug(Codec *c, Image *image);
const char *image_check_debug(const Image *image, Arena *arena);

/* image_grid.c: a value for each tile, packed */
void grid_write(Codec *c, const uint64_t *values, size_t count, size_t row);
/* False with codec_fail() called on any fault. */
bool grid_read(Codec *c, uint64_t *values, size_t count);

/* image_check.c: everything that is more than one field; NULL or the reason, in `arena`.
 * class_block: number of the code block of each class. */
const char *image_check(const Image *image, const CodeBlock *blocks, uint32_t n_blocks,
                        const uint32_t *class_block, Arena *arena);

#endif
