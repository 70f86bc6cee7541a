/* From text to the array of tokens: decoding of numbers, strings and characters, and the
 * lookup of keywords.  lex.l has the form of each token. */
#include "frontend/syntax/parse_internal.h"
#include "parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

/* Longer pieces of the source are cut when a message quotes them. */
enum { MAX_QUOTED = 40, MAX_FILE_BYTES = 64 << 20 };

static Span span_at(const Scan *scan, size_t at, size_t length)
{
  return (Span){scan->base + (uint32_t)at, (uint32_t)length};
}

static const char *quote_text(Scan *scan, size_t at, size_t length)
{
  if (length <= MAX_QUOTED)
    return arena_copy_text(scan->arena, scan->text + at, length);
  return arena_printf(scan->arena, "%.*s...", MAX_QUOTED, scan->text + at);
}

static Token *push_token(Scan *scan, int kind, size_t length)
{
  Token token = {
    .kind = (uint16_t)kind,
    .is_first = !scan->line_has_token,
    .line = scan->line,
    .column = scan->pos - scan->line_start,
    .partner = UINT32_MAX,
    .span = span_at(scan, scan->pos, length),
  };
  scan->line_has_token = true;
  scan->pos += (uint32_t)length;
  arrput(scan->tokens, token);
  return &scan->tokens[arrlen(scan->tokens) - 1];
}

void scan_token(Scan *scan, int kind, size_t length)
{
  push_token(scan, kind, length);
}

void scan_newline(Scan *scan)
{
  scan->pos++;
  scan->line++;
  scan->line_start = scan->pos;
  scan->line_has_token = false;
}

/* ---- words --------------------------------------------------------------------------------- */

/* Names are numbered as they appear, so the keywords of the first file get the lowest numbers
 * and the table stays small. */
static void keywords_fill(Scan *scan)
{
  for (int t = token_keyword_first(); t <= token_keyword_last(); t++) {
    StrId word = str_intern_z(scan->names, token_name(t));
    while ((uint32_t)arrlen(scan->keyword_of) <= word.raw)
      arrput(scan->keyword_of, 0);
    scan->keyword_of[word.raw] = (uint16_t)t;
  }
}

void scan_word(Scan *scan, size_t length)
{
  StrId text = str_intern(scan->names, scan->text + scan->pos, length);
  bool is_old = text.raw < (uint32_t)arrlen(scan->keyword_of);
  int keyword = is_old ? scan->keyword_of[text.raw] : 0;
  push_token(scan, keyword ? keyword : TK_IDENT, length)->as.text = text;
}

void scan_builtin(Scan *scan, size_t length)
{
  StrId text = str_intern(scan->names, scan->text + scan->pos + 1, length - 1);
  push_token(scan, TK_BUILTIN, length)->as.text = text;
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* The digits without separators. */
static char *without_separators(Scan *scan, const char *text, size_t length)
{
  char *clean = arena_alloc(scan->arena, length + 1, 1);
  size_t n = 0;
  for (size_t i = 0; i < length; i++)
    if (text[i] != '_')
      clean[n++] = text[i];
  clean[n] = 0;
  return clean;
}

/* "1e", which ends where the digits of its exponent should be. */
static bool is_exponent_cut_off(const char *text, size_t length)
{
  size_t digits = strspn(text, "0123456789_");
  return digits + 1 == length && (text[digits] == 'e' || text[digits] == 'E');
}

/* "1.0f", "3u": a number of C. */
static bool has_suffix(const char *text, size_t length)
{
  size_t number = strspn(text, "0123456789._"), i = number;
  while (i < length && strchr("fFhHuUlLdD", text[i]))
    i++;
  return i == length && number < length;
}

void scan_bad_number(Scan *scan, size_t length)
{
  const char *text = scan->text + scan->pos;
  const char *why = "a name cannot start with a digit";
  if (text[0] == '0' && length > 1 && strchr("xXoObB", text[1]))
    why = "0x, 0o and 0b must be followed by digits of that base, and by nothing else";
  else if (has_suffix(text, length))
    why = "numbers have no suffix; their type is that of their use, or '@as(TYPE, NUMBER)'";
  else if (memchr(text, '.', length) || is_exponent_cut_off(text, length))
    why = "a fraction or exponent must consist of digits";
  diag_bad_number(scan->diags, span_at(scan, scan->pos, length),
                  quote_text(scan, scan->pos, length), why);
  IntLiteral *literal = arena_new(scan->arena, IntLiteral);
  literal->base = 10;
  Token *token = push_token(scan, TK_INT, length);
  token->is_bad = true;
  token->as.integer = literal;
}

void scan_int(Scan *scan, size_t length, unsigned base)
{
  const char *text = scan->text + scan->pos;
  size_t prefix = base == 10 ? 0 : 2;
  const char *digits = without_separators(scan, text + prefix, length - prefix);
  if (digits[0] == 0 || text[length - 1] == '_') {
    scan_bad_number(scan, length);
    return;
  }
  IntLiteral *literal = arena_new(scan->arena, IntLiteral);
  literal->base = base;
  errno = 0;
  literal->value = strtoull(digits, NULL, (int)base);
  if (errno == ERANGE) {
    literal->value = 0;
    while (digits[0] == '0')
      digits++;
    literal->big = str_intern_z(scan->names, digits);
  }
  push_token(scan, TK_INT, length)->as.integer = literal;
}

void scan_float(Scan *scan, size_t length)
{
  const char *clean = without_separators(scan, scan->text + scan->pos, length);
  FloatLiteral *literal = arena_new(scan->arena, FloatLiteral);
  char *end = NULL;
  errno = 0;
  literal->value = strtod(clean, &end);
  literal->text = str_intern_z(scan->names, clean);
  if (*end != 0) {
    scan_bad_number(scan, length);
    return;
  }
  if (errno == ERANGE && literal->value > 1.0)
    diag_float_too_large(scan->diags, span_at(scan, scan->pos, length),
                         quote_text(scan, scan->pos, length));
  push_token(scan, TK_FLOAT, length)->as.real = literal;
}

/* ---- strings and characters ------------------------------------------------------------------ */

static int hex_digit(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

/* Decodes the escape at text[i] (the backslash), of which `end` is the limit; returns its length
 * and the byte.  After an error the byte is what follows the backslash. */
static size_t decode_escape(Scan *scan, const char *text, size_t i, size_t end, char *byte)
{
  static const char letters[] = "nrt\\'\"";
  static const char meant[] = "\n\r\t\\'\"";
  size_t at = (size_t)(text - scan->text) + i;
  char c = i + 1 < end ? text[i + 1] : 0;
  const char *known = c ? strchr(letters, c) : NULL;
  *byte = c;
  if (known) {
    *byte = meant[known - letters];
    return 2;
  }
  if (c != 'x') {
    size_t n = i + 1 < end ? 2 : 1;
    while (i + n < end && ((unsigned char)text[i + n] & 0xc0) == 0x80)
      n++;    /* the whole of a UTF-8 character */
    diag_bad_escape(scan->diags, span_at(scan, at, n), quote_text(scan, at, n));
    return 2;
  }
  int high = i + 2 < end ? hex_digit(text[i + 2]) : -1;
  int low = i + 3 < end ? hex_digit(text[i + 3]) : -1;
  if (high < 0 || low < 0) {
    diag_bad_hex_escape(scan->diags, span_at(scan, at, 2));
    return high < 0 ? 2 : 3;
  }
  *byte = (char)(high * 16 + low);
  return 4;
}

/* Decodes `length` bytes of the inside of a literal at `at`; returns the decoded length. */
static size_t decode_literal(Scan *scan, size_t at, size_t length, char *out)
{
  const char *text = scan->text + at;
  size_t n = 0;
  for (size_t i = 0; i < length;) {
    if (text[i] == '\\') {
      i += decode_escape(scan, text, i, length, &out[n++]);
    } else {
      out[n++] = text[i++];
    }
  }
  return n;
}

void scan_string(Scan *scan, size_t length, bool is_closed)
{
  size_t inside = length - (is_closed ? 2 : 1);
  char *bytes = arena_alloc(scan->arena, inside + 1, 1);
  size_t n = decode_literal(scan, scan->pos + 1, inside, bytes);
  if (!is_closed)
    diag_unterminated_string(scan->diags, span_at(scan, scan->pos, length));
  Token *token = push_token(scan, TK_STRING, length);
  token->is_bad = !is_closed;
  token->as.text = str_intern(scan->names, bytes, n);
}

/* Length of the valid UTF-8 character at `text`, 0 if there is none. */
static size_t utf8_decode(const unsigned char *text, size_t length, uint32_t *code)
{
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  size_t n = text[0] < 0x80 ? 1 : (text[0] & 0xe0) == 0xc0 ? 2 : (text[0] & 0xf0) == 0xe0 ? 3
             : (text[0] & 0xf8) == 0xf0 ? 4 : 0;
  if (n == 0 || n > length)
    return 0;
  uint32_t value = n == 1 ? text[0] : text[0] & (0x7fu >> n);
  for (size_t i = 1; i < n; i++) {
    if ((text[i] & 0xc0) != 0x80)
      return 0;
    value = value << 6 | (text[i] & 0x3f);
  }
  if (value < least[n] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
    return 0;
  *code = value;
  return n;
}

void scan_char(Scan *scan, size_t length, bool is_closed)
{
  size_t inside = length - (is_closed ? 2 : 1);
  const char *text = scan->text + scan->pos + 1;
  bool is_escape = inside > 0 && text[0] == '\\';
  unsigned char *bytes = arena_alloc(scan->arena, inside + 1, 1);
  size_t n = decode_literal(scan, scan->pos + 1, inside, (char *)bytes);
  uint32_t code = n > 0 ? bytes[0] : 0;
  size_t used = is_escape || n == 0 ? 1 : utf8_decode(bytes, n, &code);
  Span at = span_at(scan, scan->pos, length);
  if (!is_closed)
    diag_unterminated_char(scan->diags, at);
  else if (n == 0)
    diag_empty_char(scan->diags, at);
  else if (used == 0)
    diag_bad_utf8(scan->diags, at);
  else if (used < n)
    diag_long_char(scan->diags, at);
  Token *token = push_token(scan, TK_CHAR, length);
  token->is_bad = !is_closed;
  token->as.character = code;
}

/* ---- what is no token -----------------------------------------------------------------------*/

void scan_comment_block(Scan *scan, size_t length, bool is_closed)
{
  size_t at = scan->pos;
  if (is_closed)
    diag_block_comment(scan->diags, span_at(scan, at, 2));
  else
    diag_unterminated_comment(scan->diags, span_at(scan, at, 2));
  for (size_t i = 0; i < length; i++) {
    if (scan->text[at + i] == '\n')
      scan_newline(scan);
    else
      scan->pos++;
  }
}

void scan_foreign(Scan *scan, size_t length, int kind, const char *help)
{
  diag_foreign_operator(scan->diags, span_at(scan, scan->pos, length),
                        quote_text(scan, scan->pos, length), help);
  push_token(scan, kind, length)->is_bad = kind == TK_FOREIGN;
}

/* `x: ?u16`, an optional type, and `a ? b : c`. */
void scan_question(Scan *scan)
{
  int before = arrlen(scan->tokens) ? arrlast(scan->tokens).kind : ';';
  bool is_type = before == ':' || before == '(' || before == ',' || before == '=';
  scan_foreign(scan, 1, TK_FOREIGN, is_type ? "a value is always there: write the type alone"
                                            : "write 'if (condition) a else b'");
}

/* `#include` and its like: the line is skipped. */
void scan_preprocessor(Scan *scan, size_t length)
{
  diag_no_preprocessor(scan->diags, span_at(scan, scan->pos, length));
  scan->pos += (uint32_t)length;
}

/* `# text`, a comment of other languages: the line is skipped. */
bool scan_hash_comment(Scan *scan, size_t length)
{
  int before = arrlen(scan->tokens) ? arrlast(scan->tokens).kind : ';';
  if (scan->line_has_token && before != ';' && before != '{' && before != '}' && before != ',')
    return false;
  diag_hash_comment(scan->diags, span_at(scan, scan->pos, length));
  scan->pos += (uint32_t)length;
  return true;
}

/* The scanner skips bytes that start no token, and reports the first of several. */
void scan_bad_bytes(Scan *scan, size_t length)
{
  unsigned char byte = (unsigned char)scan->text[scan->pos];
  Span at = span_at(scan, scan->pos, length);
  if (byte == '@')
    diag_lone_at(scan->diags, at);
  else if (byte > ' ' && byte < 0x7f)
    diag_bad_character(scan->diags, at, arena_printf(scan->arena, "'%c'", byte));
  else
    diag_bad_character(scan->diags, at, arena_printf(scan->arena, "0x%02x", byte));
  scan->pos += (uint32_t)length;
}

/* Characters that texts and web pages have in place of those of the language. */
static const struct { uint32_t code; const char *meant; } look_alikes[] = {
  {0x00a0, " "}, {0x2007, " "}, {0x202f, " "}, {0x3000, " "},
  {0x2018, "'"}, {0x2019, "'"}, {0x201c, "\""}, {0x201d, "\""}, {0x201e, "\""},
  {0x2010, "-"}, {0x2011, "-"}, {0x2013, "-"}, {0x2014, "-"}, {0x2212, "-"},
  {0x00d7, "*"}, {0x22c5, "*"}, {0x00f7, "/"}, {0x2264, "<="}, {0x2265, ">="}, {0x2260, "!="},
  {0xff08, "("}, {0xff09, ")"}, {0xff0c, ","}, {0xff1a, ":"}, {0xff1b, ";"}};

/* What is meant by the character at `at`, which is outside ASCII. */
static void note_meant(Scan *scan, uint32_t code, Span at)
{
  for (size_t i = 0; i < ARRAY_COUNT(look_alikes); i++)
    if (look_alikes[i].code == code) {
      bool is_blank = *look_alikes[i].meant == ' ';
      diag_character_meant(scan->diags, at, is_blank ? "a plain blank"
                             : arena_printf(scan->arena, "'%s'", look_alikes[i].meant));
      diags_fix(scan->diags, at, look_alikes[i].meant);
      return;
    }
  diag_name_characters(scan->diags, at);
}

/* A word with characters outside ASCII: the first of them is reported, and the word taken for a
 * name. */
void scan_bad_word(Scan *scan, size_t length)
{
  const unsigned char *text = (const unsigned char *)scan->text + scan->pos;
  size_t i = 0;
  uint32_t code = 0;
  while (text[i] < 0x80)
    i++;
  size_t n = utf8_decode(text + i, length - i, &code);
  if (n > 0) {
    Span at = span_at(scan, scan->pos + i, n);
    diag_bad_character(scan->diags, at, arena_printf(scan->arena, "'%.*s' (U+%04X)", (int)n,
                                                     (const char *)text + i, code));
    note_meant(scan, code, at);
  } else
    diag_bad_utf8(scan->diags, span_at(scan, scan->pos + i, 1));
  Token *token = push_token(scan, TK_IDENT, length);
  token->is_bad = true;
  token->as.text = str_intern_z(scan->names, "_");
}

/* A byte order mark is not part of the text. */
static size_t skip_mark(const char *text, size_t length)
{
  return length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

void scan_file(Scan *scan)
{
  size_t length = 0;
  scan->text = source_text(scan->sources, scan->file, &length);
  scan->base = source_base(scan->sources, scan->file);
  scan->line = 1;
  scan->pos = scan->line_start = (uint32_t)skip_mark(scan->text, length);
  keywords_fill(scan);
  if (length > MAX_FILE_BYTES)
    diag_file_too_large(scan->diags, (Span){scan->base, 0});
  else
    lex_run(scan, scan->text + scan->pos, length - scan->pos);
  push_token(scan, TK_END, 0);
  arrfree(scan->keyword_of);
}
