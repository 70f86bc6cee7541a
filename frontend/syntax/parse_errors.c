/* Syntax errors: which message there is for a token that does not fit, at the most likely place of
 * the mistake. */
#include "frontend/syntax/parse_internal.h"
#include "parse.h"

#include <string.h>

/* If a closing bracket is what is missing, and its partner stands on another line. */
static bool note_open_bracket(Parser *p, uint32_t found, const int *expected, size_t n)
{
  static const char *const names[] = {"(", "[", "{"};
  static const int kinds[] = {'(', '[', '{'}, closers[] = {')', ']', '}'};
  uint32_t opener = parser_open_bracket(p, found);
  if (opener == UINT32_MAX || p->tokens[opener].line == p->tokens[found].line)
    return false;
  for (size_t k = 0; k < ARRAY_COUNT(kinds); k++)
    if (p->tokens[opener].kind == kinds[k] && is_expected(closers[k], expected, n)) {
      diag_opened_here(p->diags, p->tokens[opener].span, names[k]);
      return true;
    }
  return false;
}

/* The notes that go with an error at `found`, which follows `before` (or NULL). */
static void add_notes(Parser *p, const Token *before, const Token *found, const int *expected,
                      size_t n)
{
  const char *help = habit_help(p, before, found);
  bool noted = help != NULL;
  if (help)
    diag_syntax_help(p->diags, found->span, help);
  uint32_t at = (uint32_t)(found - p->tokens);
  noted |= note_open_bracket(p, at, expected, n);
  const Token *first = before && before > p->tokens ? before - 1 : NULL;
  if (before && before->kind == TK_IDENT && found->kind == TK_IDENT)
    noted |= habit_note_name(p, before);
  else if (first && before->kind == TK_IDENT && first->kind == TK_IDENT)
    noted |= habit_note_name(p, first);
  else if (before && before->kind == TK_IDENT)
    noted |= habit_note_word(p, before);
  if (!noted)
    parser_note_form(p, before, found, parser_open_bracket(p, at), is_expected('+', expected, n));
}

static Span place_behind(const Token *t)
{
  return (Span){t->span.off + t->span.len, 0};
}

/* Of `.{ ... }`, `TYPE{ ... }` and `struct { ... }`: no statement ends with that '}' alone. */
static bool ends_literal(const Parser *p, const Token *brace)
{
  if (brace->kind != '}' || brace->partner == UINT32_MAX || brace->partner == 0)
    return false;
  const Token *open = &p->tokens[brace->partner];
  int head = open[-1].kind;
  return open->role == BRACE_PLAIN && (head == '.' || head == TK_IDENT || head == TK_STRUCT
                                       || head == TK_UNION || head == TK_ENUM);
}

/* Whether the mistake is rather behind `before` than at `found`: a statement goes on at the next
 * line only if its last line was not complete. */
static bool blame_before(const Parser *p, const Token *before, const Token *found)
{
  if (before == NULL || before->is_inserted)
    return false;
  if (before->kind == ';' || before->kind == '{' ||
      (before->kind == '}' && !ends_literal(p, before)))
    return false;
  return found->line != before->line || found->is_inserted || found->kind == TK_END;
}

/* Whether the '(' at `paren` follows the word of a statement, or the name of a function. */
static bool is_head_paren(const Parser *p, uint32_t paren)
{
  if (paren == UINT32_MAX || paren == 0 || p->tokens[paren].kind != '(')
    return false;
  int word = p->tokens[paren - 1].kind;
  if (word == TK_IDENT && paren > 1)
    return p->tokens[paren - 2].kind == TK_FN || p->tokens[paren - 2].kind == TK_TASK;
  return word == TK_IF || word == TK_WHILE || word == TK_FOR || word == TK_SWITCH;
}

/* `if (a == b {` reads `b {` as a literal, and fails somewhere in the block.  If the bracket open
 * at `found` is such a brace, at the end of its line and in an unclosed head, the ')' before it
 * is what is missing: returns the brace. */
static const Token *unclosed_head(const Parser *p, const Token *found)
{
  uint32_t brace = parser_open_bracket(p, (uint32_t)(found - p->tokens));
  if (brace == UINT32_MAX || brace == 0 || p->tokens[brace].kind != '{'
      || !p->tokens[brace + 1].is_first || p->tokens[brace].role != BRACE_PLAIN
      || p->tokens[brace - 1].kind == '.')
    return NULL;
  return is_head_paren(p, parser_open_bracket(p, brace)) ? &p->tokens[brace] : NULL;
}

/* The ':' of `name := value`, which other languages have; `found` is its ':' or its '='. */
static const Token *find_walrus(const Parser *p, const Token *found)
{
  const Token *colon = found->kind == '=' && found > p->tokens ? found - 1 : found;
  bool is_walrus = colon->kind == ':' && colon[1].kind == '=' && tokens_touch(colon, colon + 1);
  return is_walrus ? colon : NULL;
}

/* A statement outside of functions: what could be meant by one that starts with `name`. */
static void note_statement_at_top(Parser *p, const Token *name)
{
  const char *help = name[1].kind == '=' ? "'const NAME = VALUE;' or 'var NAME = VALUE;' declares; "
                                           "assignments stand in functions and tasks"
                   : name[1].kind == TK_IDENT ? NULL : "statements stand in functions and tasks";
  if (help)
    diag_syntax_help(p->diags, name->span, help);
}

/* The error that is reported instead of "expected ..., found ...", if there is a better one. */
static bool report_special(Parser *p, const Token *before, const Token *found,
                           const int *expected, size_t n)
{
  const Token *head = unclosed_head(p, found);
  const Token *colon = find_walrus(p, found);
  const char *help = NULL;
  const Token *word = habit_word(p, before, found, &help);
  bool is_declaration = n == 1 && (expected[0] == TK_IDENT || expected[0] == ';');
  if (head) {
    diag_unexpected_token(p->diags, head->span, "')'", "'{'");
  } else if (colon) {
    diag_foreign_operator(p->diags, span_join(colon->span, colon[1].span), ":=",
                          "declare with 'const name = value;' or 'var name = value;'");
  } else if (token_is_comparison(found->kind) && is_expected(TK_AND, expected, n)) {
    diag_chained_comparison(p->diags, found->span);
  } else if (word && !is_declaration) {
    diag_foreign_word(p->diags, word->span, str_text(p->names, word->as.text), help);
  } else if (is_declaration && before && before->kind == TK_IDENT) {
    /* `color` aside, no name starts a declaration: WORD found, or WORD NAME found. */
    word = expected[0] == ';' && before > p->tokens ? before - 1 : before;
    if (word->kind != TK_IDENT || strcmp(str_text(p->names, word->as.text), "color") == 0)
      return false;
    diag_not_a_declaration(p->diags, word->span, str_text(p->names, word->as.text));
    if (!habit_note_name(p, word))
      note_statement_at_top(p, word);
  } else {
    return false;
  }
  return true;
}

/* After a name that could be a label, ':' is possible nearly everywhere and meant nearly nowhere:
 * the parser proposes it only where parameters are declared. */
static size_t without_label_colon(const Parser *p, const Token *found, const int *expected,
                                  size_t n, int *kept)
{
  uint32_t paren = parser_open_bracket(p, (uint32_t)(found - p->tokens));
  bool is_label = is_expected('+', expected, n);
  if (paren != UINT32_MAX && p->tokens[paren].kind == '(' && paren > 1)
    is_label = is_label && p->tokens[paren - 1].kind != TK_FN
               && p->tokens[paren - 2].kind != TK_FN && p->tokens[paren - 2].kind != TK_TASK;
  size_t count = 0;
  for (size_t i = 0; i < n; i++)
    if (!is_label || expected[i] != ':')
      kept[count++] = expected[i];
  return count;
}

/* The scanner or braces_check have already said what is wrong here. */
static bool is_reported(const Token *before, const Token *found)
{
  if (found->kind != TK_END && found[1].is_inserted)
    return true;
  return found->is_bad || found->is_inserted || (before && (before->is_bad || before->is_inserted));
}

static void report_plain(Parser *p, const Token *before, const Token *found, const int *all,
                         size_t n_all)
{
  int expected[KIND_LIMIT];
  size_t n = without_label_colon(p, found, all, n_all, expected);
  const char *words = expected_words(p, expected, n);
  if (words == NULL)
    words = "something else";
  bool behind = blame_before(p, before, found);
  bool wants_semicolon = is_expected(';', expected, n)
                         && (is_expected('+', expected, n) || (before && ends_literal(p, before)));
  p->is_complete = wants_semicolon && behind;
  if (before && wants_semicolon && (behind || found->kind == '}')) {
    diag_missing_semicolon(p->diags, place_behind(before), token_found(p, before));
    diags_fix(p->diags, place_behind(before), ";");
  } else if (behind)
    diag_missing_after(p->diags, place_behind(before), words, token_found(p, before));
  else
    diag_unexpected_token(p->diags, found->span, words, token_found_for(p, found, words));
  add_notes(p, before, found, expected, n);
}

void parser_report(Parser *p, const int *expected, size_t n)
{
  const Token *found = &p->tokens[p->fed];
  const Token *before = p->fed > 0 ? found - 1 : NULL;
  bool is_next_call = p->reported > 0 && habit_is_call_at_top(p, found) &&
                      habit_is_call_at_top(p, &p->tokens[p->failed]);
  p->failed = p->fed;
  p->is_complete = false;
  if (p->reported++ >= MAX_SYNTAX_ERRORS || is_reported(before, found) || is_next_call)
    return;
  if (!report_special(p, before, found, expected, n))
    report_plain(p, before, found, expected, n);
}

void parser_report_depth(Parser *p, Span span)
{
  diag_nested_too_deep(p->diags, span, AST_MAX_HEIGHT);
}
