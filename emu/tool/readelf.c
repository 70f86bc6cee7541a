/* cs_readelf: what a program image holds, for people.
 *
 *   cs_readelf [-h] [-S] [-s] [--tile=X,Y] PROG...
 *
 * It has the name and the options of the vendor's program for ELF files, which scripts and habits
 * know (SDK appendix, memory layout); an image has the program of all tiles, so each part is shown
 * by tile class. Without an option it shows all that image_print knows. */
#include "ir/machine/image_format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SHOW_HEADER = 1, SHOW_SECTIONS = 2, SHOW_SYMBOLS = 4, SHOW_HELP = 8, SHOW_VERSION = 16 };

typedef struct {
  unsigned show;
  bool has_tile;
  unsigned x, y;
} Choice;

typedef struct {
  const uint8_t *bytes;
  size_t length;
  const Image *image;
  Choice choice;               /* with the tile that the name of the file stands for */
} Shown;

static const char usage[] =
    "usage: cs_readelf [options] PROG...\n"
    "PROG is a program image, an output folder of cslc, or bin/out_X_Y.elf in one: tile (X, Y).\n\n"
    "  -h, --file-header  machine, rectangle, parameters\n"
    "  -S, --sections     sections of the file; data, code and stack of each tile class\n"
    "  -s, --sym          symbols with address, bytes, memory banks and type;\n"
    "                     also --syms, --symbols\n"
    "  --tile=X,Y         of the class of this tile only\n"
    "  --version          prints the version\n"
    "  --help             prints this text\n\n"
    "Without -h, -S and -s: all of an image, with tasks, queues, functions and their variables.\n";

/* ---- parts ----------------------------------------------------------------------------------- */

static void print_header(const Shown *s)
{
  const Image *image = s->image;
  printf("format %d of %zu bytes, tables %016" PRIx64 "\n", IMAGE_VERSION, s->length,
         image_tables_hash());
  printf("machine %s, %s, rectangle %u x %u at (%u, %u) of a fabric of %u x %u\n",
         machine_get(image->arch)->name, fp16_name(image->fp16), image->width, image->height,
         image->offset_x, image->offset_y, image->fabric_width, image->fabric_height);
  if (image->memcpy)
    printf("memcpy with %u channel%s\n", image->channels, image->channels == 1 ? "" : "s");
  for (uint32_t i = 0; i < image->n_params; i++)
    printf("param %s = %s\n", image->param_names[i], image->param_values[i]);
}

static uint64_t entry_field(const Shown *s, unsigned section, unsigned field)
{
  const uint8_t *at = s->bytes + IMAGE_AT_TABLE + section * IMAGE_ENTRY_BYTES + field;
  uint64_t value = 0;
  for (unsigned i = 0; i < sizeof value; i++)
    value |= (uint64_t)at[i] << 8 * i;
  return value;
}

static void print_file_sections(const Shown *s)
{
  printf("%-14s %10s %10s\n", "section", "offset", "bytes");
  for (unsigned i = 0; i < SECTION_COUNT; i++)
    printf("%-14s %10" PRIu64 " %10" PRIu64 "\n", section_name((SectionKind)i),
           entry_field(s, i, IMAGE_ENTRY_OFFSET), entry_field(s, i, IMAGE_ENTRY_LENGTH));
}

/* "3" or "3-4": the parts of the memory that the bytes lie in. */
static void banks_text(const Image *image, uint32_t address, uint32_t bytes, char text[16])
{
  const Machine *machine = machine_get(image->arch);
  unsigned each = machine->pe_mem_bytes / machine->mem_banks;
  unsigned first = address / each, last = (address + (bytes ? bytes - 1 : 0)) / each;
  snprintf(text, 16, first == last ? "%u" : "%u-%u", first, last);
}

static void print_memory(const Image *image, const char *name, uint32_t address, uint32_t bytes)
{
  char banks[16];
  banks_text(image, address, bytes, banks);
  printf("  0x%04" PRIx32 " %6" PRIu32 " %6s  %s\n", address, bytes, bytes ? banks : "-", name);
}

static void print_class_sections(const Image *image, const ImageClass *c)
{
  uint32_t initial = 0;
  for (uint32_t i = 0; i < c->n_segments; i++)
    initial += c->segments[i].bytes;
  printf("  address  bytes  banks  section\n");
  print_memory(image, "data", 0, c->static_bytes);
  print_memory(image, "code", c->code_address, 2 * c->code_words);
  print_memory(image, "stack", (uint32_t)c->stack_top - c->stack_bytes, c->stack_bytes);
  printf("  %" PRIu32 " bytes of the data are not zero at the start; %" PRIu32 " more differ from "
         "tile to tile\n", initial, c->tile_blob_bytes);
}

static int compare_addresses(const void *a, const void *b)
{
  const ImageSymbol *x = *(const ImageSymbol *const *)a, *y = *(const ImageSymbol *const *)b;
  if (x->address != y->address)
    return x->address < y->address ? -1 : 1;
  return strcmp(x->name, y->name);
}

static void print_symbols(const Image *image, const ImageClass *c)
{
  const ImageSymbol **sorted = base_malloc(sizeof *sorted * (c->n_symbols + (size_t)1));
  for (uint32_t i = 0; i < c->n_symbols; i++)
    sorted[i] = &c->symbols[i];
  qsort(sorted, c->n_symbols, sizeof *sorted, compare_addresses);
  printf("  address  bytes  banks  kind  symbol\n");
  for (uint32_t i = 0; i < c->n_symbols; i++) {
    char banks[16];
    banks_text(image, sorted[i]->address, sorted[i]->bytes, banks);
    printf("  0x%04x %8" PRIu32 " %6s  %s  %s%s%s\n", sorted[i]->address, sorted[i]->bytes, banks,
           sorted[i]->is_code ? "func" : "data", sorted[i]->name, *sorted[i]->type ? ": " : "",
           sorted[i]->type);
  }
  free(sorted);
}

/* ---- classes --------------------------------------------------------------------------------- */

static void print_class(const Shown *s, uint32_t class)
{
  const Image *image = s->image;
  size_t tiles = 0, first = 0;
  for (size_t t = (size_t)image->width * image->height; t-- > 0;)
    if (image->tile_class[t] == class) {
      tiles++;
      first = t;
    }
  printf("class %" PRIu32 ": %s, %zu tile%s, the first at P%zu.%zu\n", class,
         image->classes[class].source, tiles, tiles == 1 ? "" : "s", first % image->width,
         first / image->width);
  if (s->choice.show & SHOW_SECTIONS)
    print_class_sections(image, &image->classes[class]);
  if (s->choice.show & SHOW_SYMBOLS)
    print_symbols(image, &image->classes[class]);
}

static bool print_tile(const Shown *s)
{
  const Image *image = s->image;
  const Choice *c = &s->choice;
  if (c->x >= image->width || c->y >= image->height) {
    fprintf(stderr, "cs_readelf: error: tile (%u, %u) lies outside the rectangle of %u x %u "
            "tiles\n", c->x, c->y, image->width, image->height);
    return false;
  }
  uint32_t class = image->tile_class[(size_t)c->y * image->width + c->x];
  if (class == IMAGE_NO_CLASS)
    printf("tile (%u, %u) has no code\n", c->x, c->y);
  else
    print_class(s, class);
  return true;
}

static bool print_shown(Shown *s)
{
  Choice *c = &s->choice;
  if (!c->show && !c->has_tile) {
    image_print(s->image, stdout);
    return true;
  }
  if (!c->show)
    c->show = SHOW_SECTIONS | SHOW_SYMBOLS;
  if (c->show & SHOW_HEADER)
    print_header(s);
  if (c->show & SHOW_SECTIONS && !c->has_tile)
    print_file_sections(s);
  if (!(c->show & (SHOW_SECTIONS | SHOW_SYMBOLS)))
    return true;
  if (c->has_tile)
    return print_tile(s);
  for (uint32_t i = 0; i < s->image->n_classes; i++)
    print_class(s, i);
  return true;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The image that a name stands for; a name of an ELF file chooses its tile, too. */
static const char *image_path(Arena *arena, const char *name, Choice *choice)
{
  struct stat info;
  if (stat(name, &info) == 0 && S_ISDIR(info.st_mode))
    return arena_printf(arena, "%s/prog.bin", name);
  const char *file = strrchr(name, '/');
  unsigned x, y;
  int length = 0;
  file = file ? file + 1 : name;
  if (sscanf(file, "out_%5u_%5u.elf%n", &x, &y, &length) < 2 || length == 0 || file[length])
    return name;
  if (!choice->has_tile)
    *choice = (Choice){.show = choice->show, .has_tile = true, .x = x, .y = y};
  return arena_printf(arena, "%.*s../prog.bin", (int)(file - name), name);
}

static bool show_file(const char *name, Choice choice)
{
  Arena *arena = arena_create("program image");
  const char *reason = NULL, *path = image_path(arena, name, &choice);
  Shown shown = {.choice = choice};
  char *bytes = image_file_read(path, &shown.length);
  if (!bytes)
    reason = strerror(errno);
  shown.bytes = (const uint8_t *)bytes;
  if (bytes)
    shown.image = image_read(shown.bytes, shown.length, arena, &reason);
  bool done = shown.image && print_shown(&shown);
  if (!shown.image)
    fprintf(stderr, "cs_readelf: error: cannot read program image '%s': %s\n", path,
            reason ? reason : "not an image");
  free(bytes);
  arena_destroy(arena);
  return done;
}

/* ---- command line ---------------------------------------------------------------------------- */

static const struct { const char *name; unsigned show; } parts[] = {
  {"-h", SHOW_HEADER}, {"--file-header", SHOW_HEADER}, {"-S", SHOW_SECTIONS},
  {"--sections", SHOW_SECTIONS}, {"-s", SHOW_SYMBOLS}, {"--sym", SHOW_SYMBOLS},
  {"--syms", SHOW_SYMBOLS}, {"--symbols", SHOW_SYMBOLS}, {"--help", SHOW_HELP},
  {"--version", SHOW_VERSION},
};

static unsigned part_of(const char *word)
{
  for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
    if (strcmp(parts[i].name, word) == 0)
      return parts[i].show;
  return 0;
}

static void report_unknown(const char *word)
{
  const char *names[ARRAY_COUNT(parts) + 1] = {"tile"};
  size_t n = 1;
  for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
    if (parts[i].name[1] == '-')
      names[n++] = parts[i].name + 2;
  command_line_report_unknown("cs_readelf", word, names, n);
}

static bool read_option(const char *word, Choice *choice)
{
  int length = 0;
  unsigned part = part_of(word);
  choice->show |= part;
  if (part)
    return true;
  if (strncmp(word, "--tile=", strlen("--tile=")) != 0) {
    report_unknown(word);
    return false;
  }
  unsigned x, y;
  if (sscanf(word, "--tile=%5u,%5u%n", &x, &y, &length) == 2 && !word[length]) {
    if (choice->has_tile && (x != choice->x || y != choice->y)) {
      fprintf(stderr, "cs_readelf: --tile is given twice, as '%u,%u' and as '%u,%u'; one is shown"
                      "\n", choice->x, choice->y, x, y);
      return false;
    }
    choice->x = x;
    choice->y = y;
    return choice->has_tile = true;
  }
  fprintf(stderr, "cs_readelf: --tile takes two numbers, as in '--tile=3,1', not '%s'\n",
          word + strlen("--tile="));
  return false;
}

int main(int argc, char **argv)
{
  Choice choice = {0};
  int n_files = 0;
  bool good = true;
  for (int i = 1; i < argc; i++)
    if (argv[i][0] != '-')
      n_files++;
    else if (!read_option(argv[i], &choice))
      return EXIT_FAILURE;
  if (choice.show & SHOW_VERSION) {
    printf("cs_readelf %s\n", WSE_VERSION);
    return command_line_end("cs_readelf", EXIT_SUCCESS);
  }
  if (choice.show & SHOW_HELP || n_files == 0) {
    fputs(usage, choice.show & SHOW_HELP ? stdout : stderr);
    return command_line_end("cs_readelf", choice.show & SHOW_HELP ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] == '-')
      continue;
    if (n_files > 1)
      printf("%s:\n", argv[i]);
    good &= show_file(argv[i], choice);
  }
  return command_line_end("cs_readelf", good ? EXIT_SUCCESS : EXIT_FAILURE);
}
