/* Parser of the text form: tokens, and the small pieces of grammar that all statements use. */
#include "ir/read_internal.h"

/* ---- tokens ------------------------------------------------------------------------ */

typedef struct {
  IrReader *r;
  const char *text;
  size_t length, at;
  uint32_t base;
  bool first;
} Scanner;

static int peek_char(const Scanner *s, size_t ahead)
{
  return s->at + ahead < s->length ? (unsigned char)s->text[s->at + ahead] : -1;
}

static bool is_letter(int c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

static Span span_from(const Scanner *s, size_t start)
{
  return (Span){s->base + (uint32_t)start, (uint32_t)(s->at - start)};
}

static void skip_blank(Scanner *s)
{
  for (;;) {
    int c = peek_char(s, 0);
    if (c == ';' || (c == '/' && peek_char(s, 1) == '/')) {
      while (s->at < s->length && s->text[s->at] != '\n')
        s->at++;
    } else if (c == '\n') {
      s->first = true;
      s->at++;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      s->at++;
    } else {
      return;
    }
  }
}

static uint64_t scan_number(Scanner *s)
{
  size_t start = s->at;
  uint64_t n = 0, base = 10;
  bool big = false;
  if (peek_char(s, 0) == '0' && peek_char(s, 1) == 'x' && rd_hex_digit(peek_char(s, 2)) >= 0) {
    base = 16;
    s->at += 2;
  }
  for (int d; (d = rd_hex_digit(peek_char(s, 0))) >= 0 && (uint64_t)d < base; s->at++) {
    big |= n > (UINT64_MAX - (uint64_t)d) / base;
    n = n * base + (uint64_t)d;
  }
  if (big)
    diag_ir_big_number(s->r->diags, span_from(s, start));
  return n;
}

static void scan_escape(Scanner *s, char **text)
{
  size_t start = s->at++;
  int c = peek_char(s, 0);
  if (c == '\\' || c == '"') {
    arrput(*text, (char)c);
    s->at++;
    return;
  }
  int high = rd_hex_digit(peek_char(s, 1)), low = high < 0 ? -1 : rd_hex_digit(peek_char(s, 2));
  if (c == 'x' && low >= 0 && (high || low)) {
    arrput(*text, (char)(high << 4 | low));
    s->at += 3;
    return;
  }
  char shown[2] = {c > 0x20 && c < 0x7f ? (char)c : '?', 0};
  diag_ir_bad_escape(s->r->diags, span_from(s, start), shown);
}

static const char *scan_quoted(Scanner *s)
{
  char *text = NULL;
  size_t start = s->at++;
  for (;;) {
    int c = peek_char(s, 0);
    if (c < 0 || c == '\n') {
      diag_ir_open_text(s->r->diags, span_from(s, start));
      break;
    }
    if (c == '\\') {
      scan_escape(s, &text);
      continue;
    }
    s->at++;
    if (c == '"')
      break;
    if (c)
      arrput(text, (char)c);
  }
  const char *copy = arena_copy_text(s->r->arena, text ? text : "", arrlenu(text));
  arrfree(text);
  return copy;
}

static const char *scan_word(Scanner *s)
{
  size_t start = s->at;
  while (is_letter(peek_char(s, 0)) || rd_is_digit(peek_char(s, 0)))
    s->at++;
  return arena_copy_text(s->r->arena, s->text + start, s->at - start);
}

static const char *scan_name(Scanner *s)
{
  s->at++;
  return peek_char(s, 0) == '"' ? scan_quoted(s) : scan_word(s);
}

static bool is_punct(int c)
{
  return c > 0 && strchr("(){}[],=:+-", c);
}

static void bad_character(Scanner *s)
{
  unsigned char c = (unsigned char)s->text[s->at++];
  const char *shown = c > 0x20 && c < 0x7f ? arena_printf(diags_scratch(s->r->diags), "'%c'", c)
                                           : arena_printf(diags_scratch(s->r->diags),
                                                          "byte 0x%02x", c);
  diag_ir_bad_character(s->r->diags, span_from(s, s->at - 1), shown);
}

/* One token, or none after a bad character. */
static bool scan_token(Scanner *s, IrToken *t)
{
  size_t start = s->at;
  int c = peek_char(s, 0);
  *t = (IrToken){.first = s->first, .text = ""};
  if (c < 0) {
    t->kind = T_END;
    t->first = true;
  } else if (is_letter(c)) {
    t->kind = T_WORD;
    t->text = scan_word(s);
  } else if (rd_is_digit(c)) {
    t->kind = T_NUMBER;
    t->number = scan_number(s);
  } else if (c == '"') {
    t->kind = T_TEXT;
    t->text = scan_quoted(s);
  } else if ((c == '%' || c == '!') && rd_is_digit(peek_char(s, 1))) {
    t->kind = c == '%' ? T_VALUE : T_LOC;
    s->at++;
    t->number = scan_number(s);
  } else if (c == '$' || c == '@') {
    t->kind = c == '$' ? T_GLOBAL : T_FUNC;
    t->text = scan_name(s);
  } else if (is_punct(c)) {
    t->kind = T_PUNCT;
    t->text = arena_copy_text(s->r->arena, s->text + s->at++, 1);
  } else {
    bad_character(s);
    return false;
  }
  t->span = span_from(s, start);
  s->first = false;
  return true;
}

void rd_scan_all(IrReader *r, const char *text, size_t length, uint32_t base)
{
  Scanner s = {.r = r, .text = text, .length = length, .base = base, .first = true};
  IrToken t;
  do {
    skip_blank(&s);
    if (scan_token(&s, &t))
      arrput(r->tokens, t);
    else
      t.kind = T_PUNCT;
  } while (t.kind != T_END);
}

/* ---- small pieces of grammar ------------------------------------------------------- */

const IrToken *rd_peek(const IrReader *r)
{
  return &r->tokens[r->at];
}

const IrToken *rd_next(IrReader *r)
{
  const IrToken *t = &r->tokens[r->at];
  if (t->kind != T_END)
    r->at++;
  return t;
}

bool rd_at_line_end(const IrReader *r)
{
  const IrToken *t = rd_peek(r);
  return t->first || (t->kind == T_PUNCT && *t->text == '}');
}

void rd_recover(IrReader *r, size_t start)
{
  while (r->at == start || !rd_peek(r)->first)
    if (rd_next(r)->kind == T_END)
      return;
}

const char *rd_token_text(IrReader *r, const IrToken *t)
{
  Arena *scratch = diags_scratch(r->diags);
  switch (t->kind) {
  case T_WORD:
  case T_PUNCT: return arena_printf(scratch, "'%s'", t->text);
  case T_NUMBER: return arena_printf(scratch, "%" PRIu64, t->number);
  case T_TEXT: return "a text";
  case T_VALUE: return arena_printf(scratch, "%%%" PRIu64, t->number);
  case T_GLOBAL: return arena_printf(scratch, "$%s", t->text);
  case T_FUNC: return arena_printf(scratch, "@%s", t->text);
  case T_LOC: return arena_printf(scratch, "!%" PRIu64, t->number);
  case T_END: return "the end of the file";
  }
  return "";
}

bool rd_expected(IrReader *r, const char *want)
{
  const IrToken *t = rd_peek(r);
  const char *found = t->first && t->kind != T_END ? "the end of the line" : rd_token_text(r, t);
  Span span = t->span;
  if (t->first && r->at > 0 && t->kind != T_END)
    span = (Span){r->tokens[r->at - 1].span.off + r->tokens[r->at - 1].span.len, 1};
  diag_ir_expected(r->diags, span, want, found);
  return false;
}

bool rd_accept_punct(IrReader *r, char c)
{
  const IrToken *t = rd_peek(r);
  if (t->first || t->kind != T_PUNCT || *t->text != c)
    return false;
  rd_next(r);
  return true;
}

bool rd_expect_punct(IrReader *r, char c)
{
  char want[] = {'\'', c, '\'', 0};
  return rd_accept_punct(r, c) || rd_expected(r, want);
}

bool rd_accept_word(IrReader *r, const char *word)
{
  const IrToken *t = rd_peek(r);
  if (t->first || t->kind != T_WORD || strcmp(t->text, word) != 0)
    return false;
  rd_next(r);
  return true;
}

bool rd_expect_word(IrReader *r, const char *word)
{
  return rd_accept_word(r, word) || rd_expected(r, word);
}

const IrToken *rd_accept(IrReader *r, TokenKind kind)
{
  const IrToken *t = rd_peek(r);
  return !t->first && t->kind == kind ? rd_next(r) : NULL;
}

bool rd_expect_number(IrReader *r, const char *what, uint64_t most, uint64_t *number)
{
  const IrToken *t = rd_accept(r, T_NUMBER);
  if (!t)
    return rd_expected(r, what);
  *number = t->number;
  if (t->number <= most)
    return true;
  diag_ir_out_of_range(r->diags, t->span, what, t->number, most);
  return false;
}

bool rd_expect_u32(IrReader *r, const char *what, uint64_t most, uint32_t *number)
{
  uint64_t n = 0;
  if (!rd_expect_number(r, what, most, &n))
    return false;
  *number = (uint32_t)n;
  return true;
}

bool rd_expect_u16(IrReader *r, const char *what, uint64_t most, uint16_t *number)
{
  uint32_t n = 0;
  if (!rd_expect_u32(r, what, most, &n))
    return false;
  *number = (uint16_t)n;
  return true;
}

bool rd_expect_u8(IrReader *r, const char *what, uint64_t most, uint8_t *number)
{
  uint32_t n = 0;
  if (!rd_expect_u32(r, what, most, &n))
    return false;
  *number = (uint8_t)n;
  return true;
}

bool rd_expect_i16(IrReader *r, const char *what, int16_t *number)
{
  uint64_t n = 0;
  bool negative = rd_accept_punct(r, '-');
  if (!rd_expect_number(r, what, negative ? (uint64_t)INT16_MAX + 1 : INT16_MAX, &n))
    return false;
  *number = (int16_t)(negative ? -(int32_t)n : (int32_t)n);
  return true;
}

void rd_unknown_word(IrReader *r, Span span, const char *kind, const char *name,
                         const char *const *candidates, size_t n)
{
  diag_ir_unknown_word(r->diags, span, kind, name);
  const char *near = base_nearest(name, candidates, n);
  if (near)
    diag_ir_did_you_mean(r->diags, span, near);
}

bool rd_expect_listed(IrReader *r, IrWordList list, const char *kind, unsigned *number)
{
  const IrToken *t = rd_accept(r, T_WORD);
  if (!t)
    return rd_expected(r, kind);
  if (ir_word_number(list, t->text, number))
    return true;
  rd_unknown_word(r, t->span, kind, t->text, NULL, 0);
  return false;
}

bool rd_type_named(IrReader *r, const char *name, Span span, IrType *type)
{
  const char *names[IRT_COUNT];
  if (ir_type_from_name(name, type))
    return true;
  for (int i = 0; i < IRT_COUNT; i++)
    names[i] = ir_type_name((IrType)i);
  rd_unknown_word(r, span, "type", name, names, IRT_COUNT);
  return false;
}

bool rd_expect_type(IrReader *r, IrType *type)
{
  const IrToken *t = rd_accept(r, T_WORD);
  return t ? rd_type_named(r, t->text, t->span, type) : rd_expected(r, "a type");
}

static bool symbol_id(IrReader *r, const IrToken *t, uint32_t *id)
{
  NameMap **map = t->kind == T_FUNC ? &r->funcs : &r->globals;
  ptrdiff_t i = shgeti(*map, t->text);
  if (i < 0) {
    diag_ir_undefined(r->diags, t->span, t->kind == T_FUNC ? "function" : "global", t->text);
    return false;
  }
  *id = (*map)[i].value;
  return true;
}

bool rd_expect_symbol(IrReader *r, TokenKind kind, uint32_t *id)
{
  const IrToken *t = rd_accept(r, kind);
  return t ? symbol_id(r, t, id)
           : rd_expected(r, kind == T_FUNC ? "a function" : "a global");
}

/* A function or a global. */
bool rd_expect_either(IrReader *r, bool *is_func, uint32_t *id)
{
  *is_func = rd_peek(r)->kind == T_FUNC;
  return rd_expect_symbol(r, *is_func ? T_FUNC : T_GLOBAL, id);
}

/* An optional + N or - N, at most that far. */
bool rd_accept_offset(IrReader *r, int64_t most, int64_t *offset)
{
  uint64_t n = 0;
  bool negative = rd_accept_punct(r, '-');
  *offset = 0;
  if (!negative && !rd_accept_punct(r, '+'))
    return true;
  if (!rd_expect_number(r, "an offset in bytes", (uint64_t)most, &n))
    return false;
  *offset = negative ? -(int64_t)n : (int64_t)n;
  return true;
}

bool rd_accept_loc(IrReader *r, IrLocId *loc)
{
  const IrToken *t = rd_accept(r, T_LOC);
  if (!t)
    return true;
  if (t->number >= r->m->n_locs) {
    const char *name = arena_printf(diags_scratch(r->diags), "!%" PRIu64, t->number);
    diag_ir_undefined(r->diags, t->span, "location", name);
    return false;
  }
  loc->raw = (uint32_t)t->number;
  return true;
}

bool rd_finish_line(IrReader *r)
{
  return rd_at_line_end(r) || rd_expected(r, "the end of the line");
}

/* At the start of a line: goes past a '}'. */
static bool accept_close(IrReader *r)
{
  const IrToken *t = rd_peek(r);
  if (t->kind != T_PUNCT || *t->text != '}')
    return false;
  rd_next(r);
  return true;
}

bool rd_expect_close(IrReader *r)
{
  return accept_close(r) || (diag_ir_expected(r->diags, rd_peek(r)->span, "'}'",
                                              rd_token_text(r, rd_peek(r))), false);
}

bool rd_claim(IrReader *r, bool *done, const char *kind, const IrToken *t)
{
  if (*done) {
    diag_ir_defined_twice(r->diags, t->span, kind, t->text);
    return false;
  }
  return *done = true;
}
