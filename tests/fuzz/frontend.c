/* Fuzz target of the whole compiler: any bytes are a program of one file, which is parsed, laid
 * out, analysed, optimised and written as an image; what is written must be readable.
 *
 * The options come from the first line, so that an input says all about its run: `//XY`, where the
 * bits of the character X choose the architecture, the optimisation level and so on (`enum`) and
 * Y, if it is a letter of `emit_kinds`, another form of output.
 *
 * Bytes changed at random rarely get beyond the parser, so most mutations work on tokens: one is
 * left out, doubled, swapped with another, or replaced by one of the same file or of the
 * language's tables; declarations and blocks move within a file and from one file to another. */
#include "frontend/driver/driver.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *other,
                                 size_t other_size, uint8_t *out, size_t max_size, unsigned seed);

/* ---- one run ------------------------------------------------------------------------------ */

/* What the option character means; its other bits are ignored. */
enum { WSE3_BIT = 1, LEVEL_SHIFT = 1, LEVEL_MASK = 3, BF16_BIT = 8, MEMCPY_BIT = 16, SDK2_BIT = 32 };
/* No input may run long: what a real program gets, these get less of. */
enum { STEPS = 20000, CALL_DEPTH = 64, ITERATIONS = 100 };

static char folder[] = "/tmp/fuzz-frontend-XXXXXX";
static char source_path_text[64], image_path[64];

static void remove_files(void)
{
  unlink(source_path_text);
  unlink(image_path);
  rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
  (void)argc, (void)argv;
  if (!mkdtemp(folder))
    ICE("cannot make a folder in /tmp");
  snprintf(source_path_text, sizeof source_path_text, "%s/program.csl", folder);
  snprintf(image_path, sizeof image_path, "%s/program.bin", folder);
  atexit(remove_files);
  return 0;
}

static unsigned option_bits(const uint8_t *data, size_t size)
{
  return size >= 3 && data[0] == '/' && data[1] == '/' ? data[2] : 0;
}

/* By Y, from 'a' on. */
static const EmitKind emit_kinds[] = {
  EMIT_TOKENS, EMIT_AST, EMIT_TREE, EMIT_IR, EMIT_ASM, EMIT_LAYOUT, EMIT_MAP};

static EmitKind emit_kind(const uint8_t *data, size_t size)
{
  unsigned letter = size >= 4 && data[0] == '/' && data[1] == '/' ? data[3] - 'a' : UINT8_MAX;
  return letter < ARRAY_COUNT(emit_kinds) ? emit_kinds[letter] : EMIT_NONE;
}

static Options options_of(unsigned bits)
{
  unsigned level = bits >> LEVEL_SHIFT & LEVEL_MASK;
  return (Options){
    .input = source_path_text,
    .output = image_path,
    .arch = bits & WSE3_BIT ? ARCH_WSE3 : ARCH_WSE2,
    .fp16 = bits & BF16_BIT ? FP16_BF16 : FP16_F16,
    .opt_level = level == LEVEL_MASK ? 1 : (int)level,
    .diag_format = DIAG_FORMAT_TEXT,
    .memcpy = (bits & MEMCPY_BIT) != 0,
    .channels = 1,
    .max_inlined_iterations = ITERATIONS,
    .comptime_depth_limit = CALL_DEPTH,
    .comptime_step_limit = STEPS,
    .sdk = bits & SDK2_BIT ? 20 : 14,
  };
}

static void check_image(void)
{
  size_t length;
  char *bytes = file_read_all(image_path, &length);
  if (!bytes)
    ICE("the compiler reported success and wrote no image");
  Arena *arena = arena_create("fuzz");
  const char *reason;
  if (!image_read((const uint8_t *)bytes, length, arena, &reason))
    ICE("the image that was written is refused: %s", reason);
  arena_destroy(arena);
  free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (!file_write_all(source_path_text, data, size))
    ICE("cannot write %s", source_path_text);
  Options options = options_of(option_bits(data, size));
  SourceMap *sources = source_map_create();
  options.emit = emit_kind(data, size);
  unlink(image_path);
  if (driver_run(&options, sources, WSE_SOURCE_STDLIB) == EXIT_SUCCESS && !options.emit)
    check_image();
  source_map_destroy(sources);
  return 0;
}

/* ---- random choices ------------------------------------------------------------------------ */

static uint64_t random_state;

static uint32_t random_below(size_t limit)
{
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((random_state >> 32) * (limit ? limit : 1) >> 32);
}

/* Tokens to put in, from the language's own tables where it has them. */
static const char *const words[] = {
#define T(name, text) text,
  WELL_KNOWN_TYPES(T)
#undef T
#define BUILTIN(name, least, most, where, archs, handler) "@" #name,
#include "frontend/builtins.def"
#define DSD_OP(name, shape, least, most, pointer) "@" #name,
#include "frontend/dsd_ops.def"
  "const", "var", "param", "comptime", "fn", "task", "layout", "inline", "noinline", "return", "break",
  "continue", "if", "else", "switch", "while", "for", "and", "or", "struct", "union", "enum",
  "packed", "extern", "export", "linkname", "linksection", "align", "asm", "volatile", "anytype",
  "true", "false", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "i7", "u1", "u999",
  "NORTH", "SOUTH", "EAST", "WEST", "RAMP", "+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^",
  "~", "!", "==", "!=", "<", "<=", ">", ">=", "=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=",
  "&=", "|=", "^=", ".*", ".{", "->", "=>", "(", ")", "[", "]", "{", "}", ";", ",", ":", ".",
  "0", "1", "-1", "2", "3", "7", "15", "16", "31", "32", "63", "127", "255", "256", "32767",
  "-32768", "65535", "65536", "2147483648", "9223372036854775807", "18446744073709551616",
  "0xffffffffffffffffffffffff", "0.0", "1.5", "-2.0", "1e38", "1e-45", "65504.0", "'a'", "\"s\"",
  "\"<math>\"", "\"<memcpy/memcpy>\"", "\"<memcpy/get_params>\"", "\"<time>\"", "\"<control>\"",
  "\"wse3\"", ".async", ".activate", ".unblock", ".index", ".on_control", ".priority", ".ut_id",
  ".extent", ".stride", ".offset", ".base_address", ".tensor_access", ".fabric_color",
  ".input_queue", ".output_queue", ".control", ".advance_switch", ".save_address", ".routes",
  ".switches", ".pos1", ".rx", ".tx", ".pop_mode", ".teardown", ".color", "*const", "[*]", "[2]",
  "[2,3]", "[0]", "return;", "break;", "comptime {", "inline for", "inline while", "as", "_",
};

/* ---- tokens ---------------------------------------------------------------------------------- */

typedef struct { size_t at, length; } Piece;

static bool is_word(int c)
{
  return isalnum(c) || c == '_';
}

static size_t token_length(const uint8_t *data, size_t size, size_t at)
{
  size_t end = at + 1;
  if (is_word(data[at]) || data[at] == '@') {
    while (end < size && (is_word(data[end]) || (data[end] == '.' && isdigit(data[at]))))
      end++;
  } else if (data[at] == '"') {
    while (end < size && data[end] != '"' && data[end] != '\n')
      end++;
    end += end < size;
  } else if (data[at] == '/' && end < size && data[end] == '/') {
    while (end < size && data[end] != '\n')
      end++;
  } else if (end < size && (data[end] == '=' || data[end] == data[at])) {
    end++;
  }
  return end - at;
}

static size_t skip_blanks(const uint8_t *data, size_t size, size_t at)
{
  while (at < size && isspace(data[at]))
    at++;
  return at;
}

/* Some token; its length is 0 if there is none. */
static Piece random_token(const uint8_t *data, size_t size)
{
  size_t wanted = random_below(size), at = skip_blanks(data, size, 0);
  Piece found = {size, 0};
  while (at < size) {
    found = (Piece){at, token_length(data, size, at)};
    at += found.length;
    if (at > wanted)
      break;
    at = skip_blanks(data, size, at);
  }
  return found;
}

/* From some token to the end of its statement, declaration or bracket. */
static Piece random_passage(const uint8_t *data, size_t size)
{
  Piece start = random_token(data, size);
  int depth = 0;
  size_t at = start.at;
  while (at < size) {
    uint8_t c = data[at];
    size_t length = token_length(data, size, at);
    if (strchr("([{", c))
      depth++;
    if (strchr(")]}", c) && --depth < 0)
      break;
    at += length;
    if (depth <= 0 && (c == ';' || c == '}' || (c == ',' && random_below(2))))
      break;
    at = skip_blanks(data, size, at);
  }
  return (Piece){start.at, (at > size ? size : at) - start.at};
}

/* ---- mutations ---------------------------------------------------------------------------------- */

typedef struct { uint8_t *data; size_t size, max_size; } Text;

/* Puts `length` bytes, with blanks around them, in the place of `old`. */
static void replace(Text *t, Piece old, const void *bytes, size_t length)
{
  size_t rest = t->size - old.at - old.length, size = old.at + length + 2 + rest;
  if (size > t->max_size)
    return;
  uint8_t *copy = base_malloc(length + 1);
  memcpy(copy, bytes, length);
  memmove(t->data + old.at + length + 2, t->data + old.at + old.length, rest);
  t->data[old.at] = ' ';
  memcpy(t->data + old.at + 1, copy, length);
  t->data[old.at + 1 + length] = ' ';
  t->size = size;
  free(copy);
}

static void insert(Text *t, size_t at, Piece what)
{
  replace(t, (Piece){at, 0}, t->data + what.at, what.length);
}

static void leave_out(Text *t, Piece p)
{
  memmove(t->data + p.at, t->data + p.at + p.length, t->size - p.at - p.length);
  t->size -= p.length;
}

/* The shorter of the two goes where the longer was, and the other way round. */
static void swap_tokens(Text *t)
{
  Piece a = random_token(t->data, t->size), b = random_token(t->data, t->size);
  if (a.at > b.at) {
    Piece other = a;
    a = b;
    b = other;
  }
  if (a.at == b.at || a.at + a.length > b.at)
    return;
  uint8_t *first = base_malloc(a.length + 1);
  memcpy(first, t->data + a.at, a.length);
  uint8_t *second = base_malloc(b.length + 1);
  memcpy(second, t->data + b.at, b.length);
  replace(t, b, first, a.length);
  replace(t, a, second, b.length);
  free(first);
  free(second);
}

static void mutate_tokens(Text *t)
{
  Piece token = random_token(t->data, t->size), other = random_token(t->data, t->size);
  switch (random_below(10)) {
  case 0: leave_out(t, token); break;
  case 1: insert(t, token.at + token.length, token); break;
  case 2: swap_tokens(t); break;
  case 3: case 4: replace(t, token, t->data + other.at, other.length); break;
  case 5: case 6: {
    const char *word = words[random_below(ARRAY_COUNT(words))];
    if (random_below(4) == 0)
      token.length = 0;
    replace(t, token, word, strlen(word));
    break;
  }
  case 7: leave_out(t, random_passage(t->data, t->size)); break;
  case 8: insert(t, token.at, random_passage(t->data, t->size)); break;
  default: {
    Piece old = random_passage(t->data, t->size), new = random_passage(t->data, t->size);
    replace(t, old, t->data + new.at, new.length);
    break;
  }
  }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
  random_state = seed * 2654435761u + 1;
  random_below(2);
  Text t = {data, size, max_size};
  if (random_below(16) == 0 && size >= 3 && data[0] == '/' && data[1] == '/') {
    data[2] = (uint8_t)(64 + random_below(64));   /* other options; 64: printable */
    if (size >= 4 && data[3] != '\n')
      data[3] = (uint8_t)('a' + random_below(4 * ARRAY_COUNT(emit_kinds)));
    return size;
  }
  if (random_below(20) == 0)
    return LLVMFuzzerMutate(data, size, max_size);
  for (unsigned n = 1 + random_below(3); n > 0; n--)
    mutate_tokens(&t);
  return t.size;
}

/* A passage of one program at a token of the other. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *other,
                                 size_t other_size, uint8_t *out, size_t max_size, unsigned seed)
{
  random_state = seed * 2654435761u + 7;
  random_below(2);
  Piece passage = random_passage(other, other_size);
  if (size > max_size)
    return 0;
  memcpy(out, data, size);
  Text t = {out, size, max_size};
  Piece place = random_token(out, size);
  if (random_below(2))
    place = random_passage(out, size);
  else
    place.length = 0;
  replace(&t, place, other + passage.at, passage.length);
  return t.size;
}
