/* Tokens in the user's words: what stands at the place of a syntax error, and what the grammar
 * expects there. */
#include "frontend/syntax/parse_internal.h"
#include "parse.h"

#include <string.h>

enum { MAX_CANDIDATES = 5, MAX_TOKEN_TEXT = 30 };

/* ---- what was found ------------------------------------------------------------------------ */

const char *token_spelling(Parser *p, const Token *t)
{
  uint32_t at = t->span.off - source_base(p->sources, p->ast->file);
  size_t length = 0;
  const char *text = source_text(p->sources, p->ast->file, &length) + at;
  bool cut = t->span.len > MAX_TOKEN_TEXT;
  return arena_printf(p->ast->arena, "%.*s%s", cut ? (int)MAX_TOKEN_TEXT : (int)t->span.len, text,
                      cut ? "..." : "");
}

static const char *token_text(Parser *p, const Token *t, const char *what)
{
  return arena_printf(p->ast->arena, "%s%s'%s'", what, *what ? " " : "", token_spelling(p, t));
}

const char *token_found(Parser *p, const Token *t)
{
  if (t->kind == TK_END)
    return "the end of the file";
  if (t->is_inserted)
    return t->kind == '{' ? "'{'" : "'}'";
  if (t->kind == TK_STRING)
    return "a string";
  if (t->kind == TK_INT || t->kind == TK_FLOAT)
    return token_text(p, t, "number");
  return token_text(p, t, t->kind == TK_IDENT ? "name" : "");
}

/* Where a name has to stand, a word of the language looks like one. */
static const char *found_for_name(Parser *p, const Token *t)
{
  char first = token_spelling(p, t)[0];
  bool is_keyword = t->kind != TK_IDENT && first >= 'a' && first <= 'z';
  return is_keyword ? token_text(p, t, "the keyword") : token_found(p, t);
}

static const char *expected_text(Parser *p, int kind)
{
  switch (kind) {
  case TK_END: return "the end of the file";
  case TK_IDENT: return "a name";
  case TK_BUILTIN: return "a builtin";
  case TK_STRING: return "a string";
  case TK_INT: return "an integer";
  case TK_FLOAT: return "a number";
  case TK_CHAR: return "a character";
  default: break;
  }
  const char *name = token_name(kind);
  if (name[0] == '\'')
    return name;
  return arena_printf(p->ast->arena, "'%s'", name);
}

/* ---- what was expected --------------------------------------------------------------------- */

bool is_expected(int kind, const int *expected, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (expected[i] == kind)
      return true;
  return false;
}

typedef struct { bool has[KIND_LIMIT]; } KindSet;

static bool has_all(const KindSet *set, const int *kinds)
{
  for (; *kinds >= 0; kinds++)
    if (!set->has[*kinds])
      return false;
  return true;
}

static void remove_all(KindSet *set, const int *kinds)
{
  for (; *kinds >= 0; kinds++)
    set->has[*kinds] = false;
}

static bool is_empty(const KindSet *set)
{
  for (int i = 0; i < KIND_LIMIT; i++)
    if (set->has[i])
      return false;
  return true;
}

/* One word for many tokens: if all of `sign` are expected, all of `members` stand for `words`. */
typedef struct { const char *words; const int *sign, *members; bool if_alone; } WordGroup;

#define KINDS(...) ((const int[]){__VA_ARGS__, -1})
#define EXPR_STARTS                                                                             \
  TK_IDENT, TK_INT, TK_FLOAT, TK_CHAR, TK_STRING, TK_TRUE, TK_FALSE, TK_BUILTIN, TK_ANYOPAQUE,  \
    TK_IF, TK_SWITCH, TK_COMPTIME, TK_FN, TK_TASK, TK_STRUCT, TK_UNION, TK_ENUM, TK_EXTERN,     \
    TK_PACKED, TK_ASM, '(', '.', '[', '*', '-', '!', '~', '&', '|', '{'

/* In order: a statement can start with an expression.  if_alone: said only when nothing else is
 * expected, for what could follow nearly anywhere. */
static const WordGroup groups[] = {
  {"a declaration", KINDS(TK_CONST, TK_LAYOUT, TK_PARAM),
   KINDS(TK_CONST, TK_VAR, TK_PARAM, TK_FN, TK_TASK, TK_LAYOUT, TK_COMPTIME, TK_EXPORT,
         TK_EXTERN, TK_INLINE, TK_NOINLINE, TK_IDENT, ';', TK_END), false},
  {"a statement", KINDS(TK_RETURN, TK_CONST, TK_WHILE, TK_IDENT),
   KINDS(EXPR_STARTS, TK_CONST, TK_VAR, TK_FOR, TK_WHILE, TK_INLINE, TK_RETURN, TK_BREAK,
         TK_CONTINUE, ';'), false},
  {"a type", KINDS(TK_ANYTYPE, TK_IDENT), KINDS(EXPR_STARTS, TK_ANYTYPE), false},
  {"an expression", KINDS(TK_IDENT, TK_INT, '(', '-'), KINDS(EXPR_STARTS, TK_ANYTYPE), false},
  {"a type", KINDS(TK_IDENT, TK_INT, '(', '*'), KINDS(EXPR_STARTS), false},
  {"an assignment", KINDS(TK_ADD_ASSIGN),
   KINDS('=', TK_ADD_ASSIGN, TK_SUB_ASSIGN, TK_MUL_ASSIGN, TK_DIV_ASSIGN, TK_REM_ASSIGN,
         TK_SHL_ASSIGN, TK_SHR_ASSIGN, TK_AND_ASSIGN, TK_OR_ASSIGN, TK_XOR_ASSIGN), true},
  {"an operator", KINDS('+'),
   KINDS('+', '-', '*', '/', '%', '&', '|', '^', '<', '>', TK_SHL, TK_SHR, TK_EQ, TK_NE, TK_LE,
         TK_GE, TK_AND, TK_OR, '(', '[', '{', '.', TK_DEREF), true},
  {"an operator", KINDS('(', '.', TK_DEREF), KINDS('(', '[', '{', '.', TK_DEREF), true},
  {"an attribute", KINDS(TK_ALIGN, TK_LINKNAME),
   KINDS(TK_ALIGN, TK_LINKSECTION, TK_LINKNAME), true},
};

/* Closing tokens first: they are the likeliest mistakes. */
static const int by_likelihood[] = {';', ')', ']', '}', ',', ':', '=', TK_FAT_ARROW, TK_ARROW};

typedef struct { const char *words[MAX_CANDIDATES]; size_t count; } Candidates;

static void add_candidate(Candidates *c, const char *words)
{
  for (size_t i = 0; i < c->count; i++)
    if (strcmp(c->words[i], words) == 0)
      return;
  if (c->count < MAX_CANDIDATES)
    c->words[c->count++] = words;
}

static void add_groups(Candidates *c, KindSet *set, bool if_alone)
{
  for (size_t g = 0; g < ARRAY_COUNT(groups); g++) {
    if (groups[g].if_alone != if_alone || !has_all(set, groups[g].sign))
      continue;
    remove_all(set, groups[g].members);
    if (!if_alone || (c->count == 0 && is_empty(set)))
      add_candidate(c, groups[g].words);
  }
}

const char *expected_words(Parser *p, const int *expected, size_t n)
{
  KindSet set = {{false}};
  Candidates c = {{NULL}, 0};
  for (size_t i = 0; i < n; i++)
    set.has[expected[i]] = true;
  add_groups(&c, &set, false);
  add_groups(&c, &set, true);
  for (size_t i = 0; i < ARRAY_COUNT(by_likelihood); i++) {
    if (set.has[by_likelihood[i]])
      add_candidate(&c, expected_text(p, by_likelihood[i]));
    set.has[by_likelihood[i]] = false;
  }
  for (int k = 0; k < KIND_LIMIT; k++)
    if (set.has[k])
      add_candidate(&c, expected_text(p, k));
  const char *text = NULL;
  for (size_t i = 0; i < c.count; i++)
    text = i == 0 ? c.words[0]
                  : arena_printf(p->ast->arena, "%s%s%s", text, i + 1 == c.count ? " or " : ", ",
                                 c.words[i]);
  return text;
}

const char *token_found_for(Parser *p, const Token *t, const char *expected)
{
  bool is_name = strcmp(expected, expected_text(p, TK_IDENT)) == 0;
  return is_name ? found_for_name(p, t) : token_found(p, t);
}
