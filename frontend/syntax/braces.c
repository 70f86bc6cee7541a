/* Pairs the braces of a file, and where they do not pair up says where one is missing.
 *
 * A missing brace is otherwise noticed at the end of the file, far from the mistake.  People
 * indent blocks, so in a file whose braces do not pair up the indentation shows where the author
 * wanted a block to begin or to end: a '}' at the start of its line is in the column of the
 * statement that opens the block. A file whose braces pair up is never judged by its
 * indentation. */
#include "frontend/syntax/parse_internal.h"
#include "parse.h"

#include <stdlib.h>

#include <stb_ds.h>

/* An opening bracket that has not been closed yet. */
typedef struct {
  uint32_t token;
  uint32_t indent;       /* column of the line where its statement starts */
  bool is_body;          /* of a function or a task */
} Open;

typedef enum { EDIT_INSERT_OPEN, EDIT_INSERT_CLOSE, EDIT_DROP } EditKind;

typedef struct {
  uint32_t token;        /* inserted before it, or dropped */
  uint32_t order;        /* among edits of one token */
  EditKind kind;
} Edit;

/* Searches are bounded, so that hostile files take linear time: that many errors, then braces
 * are paired without looking for the best place; that many levels of nesting. */
enum { MAX_ERRORS = 20, MAX_SEARCH = 1000 };

typedef struct {
  const Token *tokens;
  uint32_t count;
  Diags *diags;
  unsigned errors;
  bool has_excess;       /* there are more '}' than '{' */
  uint32_t *line_indent; /* stb_ds: column of the first token of each token's line */
  Open *open;            /* stb_ds stack */
  Edit *edits;           /* stb_ds */
} Braces;

static bool is_opener(int kind)
{
  return kind == '{' || kind == '(' || kind == '[';
}

/* How the braces alone, without the text between them, pair up. */
typedef enum {
  PAIRS_WELL,
  PAIRS_BADLY,
  PAIRS_WITH_EXCESS      /* there are more '}' than '{' */
} Pairing;

static Pairing braces_pair_up(const Token *tokens)
{
  ptrdiff_t depth = 0, least = 0;
  for (ptrdiff_t i = 0; i < arrlen(tokens); i++) {
    depth += tokens[i].kind == '{';
    depth -= tokens[i].kind == '}';
    if (depth < least)
      least = depth;
  }
  if (depth < 0)
    return PAIRS_WITH_EXCESS;
  return depth == 0 && least == 0 ? PAIRS_WELL : PAIRS_BADLY;
}

static void set_partners(Token *tokens)
{
  uint32_t *open = NULL;
  for (ptrdiff_t i = 0; i < arrlen(tokens); i++) {
    if (tokens[i].kind == '{') {
      arrput(open, (uint32_t)i);
    } else if (tokens[i].kind == '}') {
      uint32_t opener = arrpop(open);
      tokens[i].partner = opener;
      tokens[opener].partner = (uint32_t)i;
    }
  }
  arrfree(open);
}

static void fill_line_indent(Braces *b)
{
  arrsetlen(b->line_indent, b->count);
  for (uint32_t i = 0; i < b->count; i++)
    b->line_indent[i] = i > 0 && !b->tokens[i].is_first ? b->line_indent[i - 1]
                                                        : b->tokens[i].column;
}

static void add_edit(Braces *b, EditKind kind, uint32_t token)
{
  Edit e = {.token = token, .order = (uint32_t)arrlen(b->edits), .kind = kind};
  arrput(b->edits, e);
}

/* The place just behind the token before `i`. */
static Span place_before(const Braces *b, uint32_t i)
{
  if (i == 0)
    return (Span){b->tokens[0].span.off, 0};
  Span before = b->tokens[i - 1].span;
  return (Span){before.off + (before.len ? before.len - 1 : 0), before.len ? 1 : 0};
}

/* A brace after '.' belongs to a literal: no ';' can stand in it. */
static bool is_literal_brace(const Braces *b, uint32_t i)
{
  return i > 0 && b->tokens[i - 1].kind == '.';
}

/* A brace that ends its line after what can head a block. */
static bool is_block_brace(const Braces *b, Open o)
{
  if (o.token == 0 || !b->tokens[o.token + 1].is_first)
    return false;
  int before = b->tokens[o.token - 1].kind;
  return o.is_body || before == ')' || before == '|' || before == TK_ELSE || before == TK_COMPTIME
         || before == TK_LAYOUT || before == TK_FAT_ARROW;
}

/* ---- a '}' is missing ---------------------------------------------------------------------- */

static void insert_close(Braces *b, Open o, uint32_t at, bool by_indent)
{
  add_edit(b, EDIT_INSERT_CLOSE, at);
  if (b->errors++ >= MAX_ERRORS)
    return;
  if (by_indent)
    diag_missing_close_brace(b->diags, place_before(b, at));
  else
    diag_missing_close_brace_plain(b->diags, place_before(b, at));
  diag_opened_here(b->diags, b->tokens[o.token].span, "{");
}

/* The block opened at `o` has no '}' before token `limit`: it was meant to end before the first
 * line that is indented no further than the statement that opened it. */
static void close_missing(Braces *b, Open o, uint32_t limit)
{
  uint32_t at = b->errors < MAX_ERRORS ? o.token + 1 : limit;
  while (at < limit && !(b->tokens[at].is_first && b->tokens[at].column <= o.indent))
    at++;
  insert_close(b, o, at, at < limit);
}

/* ---- a '{' is missing ---------------------------------------------------------------------- */

static bool can_head_block(int kind)
{
  return kind == ')' || kind == '|' || kind == TK_ELSE || kind == TK_COMPTIME
         || kind == TK_LAYOUT || kind == TK_FAT_ARROW || kind == TK_IDENT || kind == '='
         || kind == ':' || kind == '.' || kind == TK_STRUCT || kind == TK_ENUM || kind == TK_UNION;
}

/* The '}' at `i` stands further right than the innermost open block, or none is open.  If the
 * nearest line above in its column could head a block, is followed by deeper lines and has no
 * '{', that is what is missing. */
static bool open_missing(Braces *b, uint32_t i)
{
  uint32_t column = b->tokens[i].column;
  uint32_t j = i;
  while (j > 0) {
    j--;
    if (b->tokens[j].is_first && b->tokens[j].column <= column)
      break;
  }
  if (j == i || b->tokens[j].column != column)
    return false;
  uint32_t next = j + 1;
  while (next < i && !b->tokens[next].is_first)
    next++;
  if (next == i || !can_head_block(b->tokens[next - 1].kind))
    return false;
  if (b->errors++ < MAX_ERRORS)
    diag_missing_open_brace(b->diags, place_before(b, next));
  add_edit(b, EDIT_INSERT_OPEN, next);
  return true;
}

static void drop_brace(Braces *b, uint32_t i)
{
  if (b->errors++ < MAX_ERRORS)
    diag_unmatched_close_brace(b->diags, b->tokens[i].span);
  add_edit(b, EDIT_DROP, i);
}

/* ---- the walk ------------------------------------------------------------------------------ */

static int top_kind(const Braces *b)
{
  return arrlen(b->open) ? b->tokens[arrlast(b->open).token].kind : 0;
}

/* The innermost open '{' whose indentation is `column`; -1: none. */
static ptrdiff_t find_indent(const Braces *b, uint32_t column)
{
  ptrdiff_t top = arrlen(b->open) - 1;
  for (ptrdiff_t k = top; k >= 0 && top - k < MAX_SEARCH; k--)
    if (b->tokens[b->open[k].token].kind == '{' && b->open[k].indent == column)
      return k;
  return -1;
}

/* ')' or ']': braces opened since its partner have no '}'. */
static void close_bracket(Braces *b, uint32_t i)
{
  int opener = b->tokens[i].kind == ')' ? '(' : '[';
  ptrdiff_t top = arrlen(b->open) - 1, k = top;
  while (k >= 0 && b->tokens[b->open[k].token].kind != opener) {
    Open o = b->open[k];
    bool is_block = b->tokens[o.token].kind == '{' && !is_literal_brace(b, o.token);
    if (is_block || top - k >= MAX_SEARCH)
      return;          /* this bracket is the stray one */
    k--;
  }
  if (k < 0)
    return;
  while (arrlen(b->open) > k + 1) {
    Open o = arrpop(b->open);
    if (b->tokens[o.token].kind == '{')
      close_missing(b, o, i);
  }
  (void)arrpop(b->open);
}

static void close_brace(Braces *b, uint32_t i)
{
  const Token *t = &b->tokens[i];
  while (top_kind(b) == '(' || top_kind(b) == '[')
    (void)arrpop(b->open);     /* the parser reports those */
  if (arrlen(b->open) == 0) {
    if (!t->is_first || !open_missing(b, i))
      drop_brace(b, i);
    return;
  }
  Open o = arrlast(b->open);
  if (!t->is_first) {
    /* `a = 1; }` cannot end a block whose '{' ends its line: blocks close on their own line. */
    if (is_block_brace(b, o) && b->tokens[o.token].line < t->line)
      drop_brace(b, i);
    else
      (void)arrpop(b->open);
    return;
  }
  if (o.indent > t->column) {
    ptrdiff_t k = find_indent(b, t->column);
    while (k >= 0 && arrlen(b->open) > k + 1) {
      o = arrpop(b->open);
      if (b->tokens[o.token].kind == '{')
        close_missing(b, o, i);
    }
  } else if (o.indent < t->column) {
    if (open_missing(b, i))
      return;
    if (b->has_excess && o.is_body) {
      drop_brace(b, i);
      return;
    }
  }
  (void)arrpop(b->open);
}

/* Does the statement that starts at `i` declare a function or a task? */
static bool starts_function(const Braces *b, uint32_t i)
{
  while (b->tokens[i].kind == TK_EXPORT || b->tokens[i].kind == TK_INLINE
         || b->tokens[i].kind == TK_NOINLINE)
    i++;
  return b->tokens[i].kind == TK_FN || b->tokens[i].kind == TK_TASK;
}

static void find_edits(Braces *b)
{
  uint32_t start = 0;          /* where the current statement starts */
  for (uint32_t i = 0; i < b->count; i++) {
    int kind = b->tokens[i].kind;
    if (kind == ';' && top_kind(b) == '{' && is_literal_brace(b, arrlast(b->open).token)) {
      Open o = arrpop(b->open);
      insert_close(b, o, i, false);
    }
    if (is_opener(kind)) {
      Open o = {.token = i, .indent = b->line_indent[start],
                .is_body = kind == '{' && starts_function(b, start)};
      arrput(b->open, o);
    } else if (kind == ')' || kind == ']') {
      close_bracket(b, i);
    } else if (kind == '}') {
      close_brace(b, i);
    }
    bool in_braces = arrlen(b->open) == 0 || top_kind(b) == '{';
    if (kind == '{' || kind == '}' || kind == ';' || (kind == ',' && in_braces))
      start = i + 1;
  }
  while (arrlen(b->open)) {
    Open o = arrpop(b->open);
    if (b->tokens[o.token].kind == '{')
      close_missing(b, o, b->count - 1);
  }
}

/* ---- the repair ---------------------------------------------------------------------------- */

static int compare_edits(const void *a, const void *b)
{
  const Edit *x = a, *y = b;
  if (x->token != y->token)
    return x->token < y->token ? -1 : 1;
  return (x->order > y->order) - (x->order < y->order);
}

static Token *apply_edits(const Braces *b, Token *tokens)
{
  Token *repaired = NULL;
  ptrdiff_t next = 0;
  qsort(b->edits, (size_t)arrlen(b->edits), sizeof *b->edits, compare_edits);
  for (uint32_t i = 0; i < b->count; i++) {
    bool keep = true;
    for (; next < arrlen(b->edits) && b->edits[next].token == i; next++) {
      if (b->edits[next].kind == EDIT_DROP) {
        keep = false;
        continue;
      }
      Token brace = {
        .kind = b->edits[next].kind == EDIT_INSERT_OPEN ? '{' : '}',
        .is_inserted = true,
        .line = i ? tokens[i - 1].line : 1,
        .span = {i ? tokens[i - 1].span.off + tokens[i - 1].span.len : tokens[i].span.off, 0},
      };
      arrput(repaired, brace);
    }
    if (keep)
      arrput(repaired, tokens[i]);
  }
  arrfree(tokens);
  return repaired;
}

Token *braces_check(Token *tokens, Diags *diags)
{
  Pairing pairing = braces_pair_up(tokens);
  if (pairing != PAIRS_WELL) {
    Braces b = {.tokens = tokens, .count = (uint32_t)arrlen(tokens), .diags = diags,
                .has_excess = pairing == PAIRS_WITH_EXCESS};
    fill_line_indent(&b);
    find_edits(&b);
    tokens = apply_edits(&b, tokens);
    arrfree(b.edits);
    arrfree(b.open);
    arrfree(b.line_indent);
  }
  set_partners(tokens);
  return tokens;
}
