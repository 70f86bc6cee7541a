/* Syntax errors in the user's words: what the grammar expects, what it found instead, and the most
 * likely place of the mistake. */
#include "frontend/syntax/parse_internal.h"
#include "parse.h"

#include <string.h>

enum { MAX_CANDIDATES = 5, MAX_TOKEN_TEXT = 30 };

/* ---- tokens in words ----------------------------------------------------------------------- */

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

static const char *found_text(Parser *p, const Token *t)
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
  return is_keyword ? token_text(p, t, "the keyword") : found_text(p, t);
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

/* A set of token numbers; those of the grammar are below this. */
enum { KIND_LIMIT = 512 };
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

/* "an expression", "';' or ')'", ...; NULL if there is nothing to say. */
static const char *describe_expected(Parser *p, const int *expected, size_t n)
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

/* ---- reports ------------------------------------------------------------------------------- */

static bool is_expected(int kind, const int *expected, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (expected[i] == kind)
      return true;
  return false;
}

/* The bracket that is open at token `i` and has no partner before it; UINT32_MAX: none.  Nothing
 * but braces stays open over the end of a statement. */
static uint32_t open_bracket(const Parser *p, uint32_t i)
{
  int depth = 0;
  bool is_older = false;     /* than the statement of `i` */
  while (i-- > 0) {
    const Token *t = &p->tokens[i];
    is_older |= t->kind == ';';
    if (t->kind == '}' && t->partner < i)
      i = t->partner;
    else if (t->kind == ')' || t->kind == ']')
      depth++;
    else if (t->kind == '{')
      return i;
    else if ((t->kind == '(' || t->kind == '[') && depth-- <= 0 && !is_older)
      return i;
  }
  return UINT32_MAX;
}

/* If a closing bracket is what is missing, and its partner stands on another line. */
static bool note_open_bracket(Parser *p, uint32_t found, const int *expected, size_t n)
{
  static const char *const names[] = {"(", "[", "{"};
  static const int kinds[] = {'(', '[', '{'}, closers[] = {')', ']', '}'};
  uint32_t opener = open_bracket(p, found);
  if (opener == UINT32_MAX || p->tokens[opener].line == p->tokens[found].line)
    return false;
  for (size_t k = 0; k < ARRAY_COUNT(kinds); k++)
    if (p->tokens[opener].kind == kinds[k] && is_expected(closers[k], expected, n)) {
      diag_opened_here(p->diags, p->tokens[opener].span, names[k]);
      return true;
    }
  return false;
}

/* Words of other languages, and what one writes here. */
typedef enum {
  WORD_PREFIX,             /* before what it is about */
  WORD_INFIX,              /* between two operands */
  WORD_TYPE                /* of a declaration that starts with its type */
} WordUse;
typedef struct {
  const char *word, *help;
  WordUse use;
} Foreign;
static const Foreign foreign_words[] = {
  {"let", "declare with 'const' or 'var'", WORD_PREFIX},
  {"auto", "declare with 'const' or 'var'; the type may be left out", WORD_PREFIX},
  {"int", "integer types are i8 to u64, and the type follows the name: 'var x: i32;'", WORD_TYPE},
  {"long", "integer types are i8 to u64, and the type follows the name: 'var x: i32;'", WORD_TYPE},
  {"short", "integer types are i8 to u64, and the type follows the name: 'var x: i16;'", WORD_TYPE},
  {"char", "integer types are i8 to u64, and the type follows the name: 'var x: u8;'", WORD_TYPE},
  {"unsigned",
   "unsigned integer types are u8 to u64, and the type follows the name: 'var x: u32;'", WORD_TYPE},
  {"float", "float types are f16 and f32, and the type follows the name: 'var x: f32;'", WORD_TYPE},
  {"double",
   "float types are f16 and f32, and the type follows the name: 'var x: f32;'", WORD_TYPE},
  {"def", "functions start with 'fn'", WORD_PREFIX},
  {"func", "functions start with 'fn'", WORD_PREFIX},
  {"function", "functions start with 'fn'", WORD_PREFIX},
  {"do", "loops are 'while (condition) { ... }' and 'for (array) |item| { ... }'", WORD_PREFIX},
  {"elif", "write 'else if (condition)'", WORD_PREFIX},
  {"elseif", "write 'else if (condition)'", WORD_PREFIX},
  {"then", "an if is written 'if (CONDITION) { ... } else { ... }'", WORD_PREFIX},
  {"case", "prongs of a switch are 'value => body,'", WORD_PREFIX},
  {"default", "the prong for all other values is 'else => body,'", WORD_PREFIX},
  {"match", "write 'switch (VALUE) { LABEL => BODY, else => BODY }'", WORD_PREFIX},
  {"goto", "functions, loops and tasks are the only ways to go on elsewhere", WORD_PREFIX},
  {"pub", "everything at the top of a file is visible to its importers", WORD_PREFIX},
  {"static", "variables at the top of a file live as long as the program", WORD_PREFIX},
  {"not", "the opposite of a bool is '!VALUE'", WORD_PREFIX},
  {"new", "all memory is that of variables: 'var NAME: TYPE;'", WORD_PREFIX},
  {"try", "functions return no errors: call the function without it", WORD_PREFIX},
  {"catch", "functions return no errors, so nothing is there to catch", WORD_INFIX},
  {"orelse", "every value is there: an 'if' chooses between two", WORD_INFIX},
  {"defer", "nothing is put off: write it where the block ends", WORD_PREFIX},
  {"errdefer", "functions return no errors: write it where the block ends", WORD_PREFIX},
  {"as", "a value is converted by '@as(TYPE, VALUE)'", WORD_INFIX},
  {"is", "values are compared with '=='", WORD_INFIX},
  {"void", "a function is written 'fn NAME(PARAMETER: TYPE, ...) RESULT { ... }'", WORD_TYPE},
  {"bool", "the type follows the name: 'var x: bool;'", WORD_TYPE},
  {"i16", "the type follows the name: 'var x: i16;'", WORD_TYPE},
  {"i32", "the type follows the name: 'var x: i32;'", WORD_TYPE},
  {"u16", "the type follows the name: 'var x: u16;'", WORD_TYPE},
  {"u32", "the type follows the name: 'var x: u32;'", WORD_TYPE},
  {"f16", "the type follows the name: 'var x: f16;'", WORD_TYPE},
  {"f32", "the type follows the name: 'var x: f32;'", WORD_TYPE},
  {"typedef", "a type is a constant: 'const NAME = TYPE;'", WORD_PREFIX},
  {"import", "import with 'const m = @import_module(\"file.csl\");'", WORD_PREFIX},
};

static const Foreign *find_foreign(const Parser *p, const Token *t)
{
  if (t == NULL || t->kind != TK_IDENT)
    return NULL;
  const char *word = str_text(p->names, t->as.text);
  for (size_t i = 0; i < ARRAY_COUNT(foreign_words); i++)
    if (strcmp(word, foreign_words[i].word) == 0)
      return &foreign_words[i];
  return NULL;
}

bool parser_note_foreign(Parser *p, const Token *t)
{
  const Foreign *foreign = find_foreign(p, t);
  int before = t > p->tokens ? t[-1].kind : ';';
  bool is_start = before == ';' || before == '{' || before == '}';
  if (foreign == NULL || foreign->use == WORD_INFIX || (foreign->use == WORD_TYPE && !is_start))
    return false;
  diag_syntax_help(p->diags, t->span, foreign->help);
  return true;
}

static bool note_word(Parser *p, const Token *t)
{
  if (parser_note_foreign(p, t))
    return true;
  const char *word = str_text(p->names, t->as.text);
  const char *keywords[KIND_LIMIT];
  size_t n = 0;
  for (int k = token_keyword_first(); k <= token_keyword_last() && n < KIND_LIMIT; k++)
    keywords[n++] = token_name(k);
  const char *near = base_nearest(word, keywords, n);
  if (near) {
    diag_did_you_mean(p->diags, t->span, near);
    diags_fix(p->diags, t->span, near);
  }
  return near != NULL;
}

static bool is_comparison(int kind)
{
  return kind == TK_EQ || kind == TK_NE || kind == '<' || kind == '>' || kind == TK_LE
         || kind == TK_GE;
}

static bool is_operator_before_operand(int kind)
{
  return kind == '+' || kind == '-' || kind == '*' || kind == '/' || kind == '%' || kind == '&'
         || kind == '^' || kind == '!' || kind == '~' || kind == TK_SHL || kind == TK_SHR
         || kind == TK_AND || kind == TK_OR || is_comparison(kind);
}

/* Is the bracket around `found` the head of an if or while? */
static bool is_condition(const Parser *p, const Token *found)
{
  uint32_t open = open_bracket(p, (uint32_t)(found - p->tokens));
  return open != UINT32_MAX && open > 0 && p->tokens[open].kind == '('
         && (p->tokens[open - 1].kind == TK_IF || p->tokens[open - 1].kind == TK_WHILE);
}

/* `= { WEST }` and `= { 1, 2 }`: a block where a value was meant. */
static bool is_brace_value(const Parser *p, const Token *found)
{
  uint32_t open = open_bracket(p, (uint32_t)(found - p->tokens));
  if (open == UINT32_MAX || open == 0 || p->tokens[open].kind != '{'
      || (found->kind != ',' && found->kind != '}'))
    return false;
  int before = p->tokens[open - 1].kind;
  if (p->tokens[open].line != found->line)
    return false;
  return before == '=' || before == ',' || before == '(';
}

static bool starts_value(int kind)
{
  return kind == '=' || kind == '(' || kind == ',' || kind == TK_RETURN
         || is_operator_before_operand(kind);
}

/* `(i16)x` */
static bool is_cast(const Parser *p, const Token *before, const Token *found)
{
  return before && before - p->tokens >= 3 && before->kind == ')' && before[-1].kind == TK_IDENT
         && before[-2].kind == '(' && starts_value(before[-3].kind)
         && (found->kind == TK_IDENT || found->kind == TK_INT || found->kind == TK_FLOAT);
}

/* A block that stands by itself, outside of functions. */
static bool is_block_at_top(const Parser *p, const Token *before, const Token *found)
{
  return found->kind == '{' && (!before || before->kind == '}' || before->kind == ';')
         && open_bracket(p, (uint32_t)(found - p->tokens)) == UINT32_MAX;
}

/* `@bind_local_task(...);` outside of a block. */
static bool is_call_at_top(const Parser *p, const Token *found)
{
  const Token *before = found > p->tokens ? found - 1 : NULL;
  return found->kind == TK_BUILTIN && (!before || before->kind == '}' || before->kind == ';') &&
         open_bracket(p, (uint32_t)(found - p->tokens)) == UINT32_MAX;
}

/* `|i|{N} -> a.b` without an index. */
static bool is_tensor_target(const Parser *p, const Token *before)
{
  const Token *t = before;
  while (t > p->tokens && (t->kind == TK_IDENT || t->kind == '.'))
    t--;
  return t != before && t > p->tokens && t->kind == TK_ARROW && t[-1].kind == '}';
}

static bool is_next_to(const Token *a, const Token *b)
{
  return a->span.off + a->span.len == b->span.off;
}

/* Is `paren`, a ')', the end of the parameters of a function? */
static bool ends_parameters(const Parser *p, const Token *paren)
{
  uint32_t open = open_bracket(p, (uint32_t)(paren - p->tokens));
  return open != UINT32_MAX && open > 1 && p->tokens[open].kind == '('
         && p->tokens[open - 1].kind == TK_IDENT
         && (p->tokens[open - 2].kind == TK_FN || p->tokens[open - 2].kind == TK_TASK);
}

/* Is the bracket around `found` that of an index? */
static bool is_index(const Parser *p, const Token *found)
{
  uint32_t open = open_bracket(p, (uint32_t)(found - p->tokens));
  return open != UINT32_MAX && open > 0 && p->tokens[open].kind == '['
         && (p->tokens[open - 1].kind == TK_IDENT || p->tokens[open - 1].kind == ']');
}

/* `= [1, 2, 3];`, at the ';'. */
static bool is_list(const Parser *p, const Token *before, const Token *found)
{
  if (found->kind != ';' || !before || before->kind != ']')
    return false;
  uint32_t open = open_bracket(p, (uint32_t)(before - p->tokens));
  return open != UINT32_MAX && open > 0 && p->tokens[open].kind == '['
         && (p->tokens[open - 1].kind == '=' || p->tokens[open - 1].kind == '(');
}

/* `1 if a else 2`, at the 'if'. */
static bool is_choice_behind(const Token *before, const Token *found)
{
  return found->kind == TK_IF && before && before->line == found->line
         && (before->kind == TK_INT || before->kind == TK_FLOAT || before->kind == TK_IDENT);
}

static bool is_in_prongs(const Parser *p, const Token *found)
{
  uint32_t open = open_bracket(p, (uint32_t)(found - p->tokens));
  return open != UINT32_MAX && p->tokens[open].kind == '{' && p->tokens[open].role == BRACE_PRONGS;
}

/* `a..b`, the range of other languages, at its second point. */
static bool is_range(const Token *before, const Token *found)
{
  return found->kind == '.' && before && before->kind == '.' && is_next_to(before, found);
}

/* A range `a...b` as the label of a switch, at its second point. */
static bool is_label_range(const Token *found)
{
  const Token *t = found;
  while (t->kind == '.' || t->kind == TK_INT || t->kind == TK_IDENT)
    t++;
  return t->kind == TK_FAT_ARROW;
}

/* `.a = x` and, on the next line, `.b = y` without a comma between them, at the second '='. */
static bool is_field_after_no_comma(const Parser *p, const Token *before, const Token *found)
{
  return found->kind == '=' && before && before->kind == TK_IDENT && before > p->tokens + 1
         && before[-1].kind == '.' && before[-1].is_first && before[-2].kind != '{'
         && before[-2].kind != ',';
}

/* `f(a, name = b)` and `f(name: b)`, as other languages name arguments, at the '=' or behind the
 * ':'. */
static bool is_named_argument(const Parser *p, const Token *before, const Token *found)
{
  const Token *sign = before && before->kind == ':' ? before : found;
  if ((sign->kind != '=' && sign->kind != ':') || sign - p->tokens < 2
      || sign[-1].kind != TK_IDENT || sign[-2].kind == '.')
    return false;
  uint32_t paren = open_bracket(p, (uint32_t)(sign - p->tokens));
  if (paren == UINT32_MAX || paren == 0 || p->tokens[paren].kind != '(')
    return false;
  int called = p->tokens[paren - 1].kind;
  bool is_declared = paren > 1 && (p->tokens[paren - 2].kind == TK_FN
                                   || p->tokens[paren - 2].kind == TK_TASK);
  return called == TK_BUILTIN || (called == TK_IDENT && !is_declared);
}

/* `fn f(i16 x)`, as C declares parameters, at the name. */
static bool is_type_before_name(const Parser *p, const Token *before, const Token *found)
{
  if (found->kind != TK_IDENT || !before || before == p->tokens || before->kind != TK_IDENT
      || before[-1].kind == ':')
    return false;
  uint32_t paren = open_bracket(p, (uint32_t)(found - p->tokens));
  return paren != UINT32_MAX && paren > 1 && p->tokens[paren].kind == '('
         && p->tokens[paren - 1].kind == TK_IDENT
         && (p->tokens[paren - 2].kind == TK_FN || p->tokens[paren - 2].kind == TK_TASK);
}

/* `1.` and `.5`, as other languages write numbers; NULL: it is neither. */
static const char *number_help(Parser *p, const Token *before, const Token *found)
{
  const char *form = "a number has digits on both sides of its point: '%s.%s'";
  if (!before || before == p->tokens || before->kind != '.' || found->kind == '.')
    return NULL;
  if (before[-1].kind == TK_INT && is_next_to(before - 1, before))
    return arena_printf(p->ast->arena, form, token_spelling(p, before - 1), "0");
  if (found->kind == TK_INT && is_next_to(before, found)
      && (starts_value(before[-1].kind) || before[-1].kind == '{'))
    return arena_printf(p->ast->arena, form, "0", token_spelling(p, found));
  return NULL;
}

/* `while (a) : (i += 1, j += 1)` and `: ({ i += 1; j += 1; })`, at the ',' or the '{'. */
static bool is_second_step(const Parser *p, const Token *found)
{
  uint32_t paren = open_bracket(p, (uint32_t)(found - p->tokens));
  return (found->kind == ',' || found->kind == '{') && paren != UINT32_MAX && paren > 1
         && p->tokens[paren].kind == '(' && p->tokens[paren - 1].kind == ':'
         && p->tokens[paren - 2].kind == ')';
}

static const char *help_for(Parser *p, const Token *before, const Token *found)
{
  const char *help = number_help(p, before, found);
  if (help)
    return help;
  if (is_index(p, found) && (is_range(before, found) || found->kind == ':'))
    return "there are no slices; a DSD describes a part of an array: "
           "'|i|{LENGTH} -> ARRAY[START + i]'";
  if (is_range(before, found) && is_label_range(found))
    return "a switch has no ranges: name each value, 'A, B, C => ...', or use 'if'";
  if (is_range(before, found))
    return "a range is written '@range(TYPE, STOP)' or '@range(TYPE, START, STOP, STEP)'";
  if (found->kind == '*' && before && before->kind == '|' && before > p->tokens &&
      before[-1].kind == ')')
    return "the item of a for loop is a copy; write to an element by its index: 'ARRAY[INDEX] = "
           "VALUE'";
  if (found->kind == '!' && before && before->kind == ')' && ends_parameters(p, before))
    return "functions return no errors: the type of the result stands alone, 'fn f(x: i16) void'";
  if (found->kind == '>' && before && before->kind == '<' && is_next_to(before, found))
    return "whether two values differ is asked with '!='";
  if (found->kind == '[' && before && before > p->tokens && before->kind == TK_IDENT
      && (before[-1].kind == TK_VAR || before[-1].kind == TK_CONST))
    return "the length is a part of the type: 'var NAME: [LENGTH]TYPE'";
  if (is_list(p, before, found))
    return "the values of an array follow its type: '[3]i16{ 1, 2, 3 }'";
  if (found->kind == ';' && is_in_prongs(p, found))
    return "a prong of a switch ends in ',': 'LABEL => BODY,'";
  if (is_choice_behind(before, found))
    return "a choice between two values is written 'if (CONDITION) VALUE else VALUE'";
  if (found->kind == TK_ARROW && before && before->kind == ')')
    return "the type of the result follows the parameters directly: 'fn f(x: i16) i16 { ... }'";
  if (found->kind == TK_ARROW)
    return "members of what a pointer points to are written 'p.*.member'";
  if (before && is_tensor_target(p, before))
    return "a tensor access has an index for each dimension: '|i|{SIZE} -> ARRAY[i]'";
  if (is_field_after_no_comma(p, before, found))
    return "is a ',' missing at the end of the line before '.NAME = VALUE'?";
  if (is_named_argument(p, before, found))
    return "arguments have no names; settings are a struct: '.{ .NAME = VALUE, ... }'";
  if (is_type_before_name(p, before, found))
    return "the type of a parameter follows its name: 'fn f(x: i16) i16 { ... }'";
  if (found->kind == '=' && before && is_condition(p, found))
    return "values are compared with '=='";
  if (found->kind == '<' && before && before->kind == '(' && before > p->tokens
      && before[-1].kind == TK_BUILTIN)
    return "the name of a library is a string: '@import_module(\"<NAME>\")'";
  if (found->kind == TK_IDENT && before && before->kind == '.' && found[1].kind == '=')
    return "'.NAME = VALUE' is a field of a struct value, '.{ .NAME = VALUE, ... }', where all "
           "fields have names";
  if (found->kind == TK_IDENT && before && before->kind == '.')
    return "a member of an enum is written with its type, 'TYPE.MEMBER', and a struct '.{ ... }'";
  if (is_brace_value(p, found))
    return "a struct or a list of values starts with a dot: '.{ ... }'";
  if (is_cast(p, before, found))
    return "a value is converted by '@as(TYPE, VALUE)'";
  if (found->kind == TK_STRUCT || found->kind == TK_UNION || found->kind == TK_ENUM)
    return "a type is a constant: 'const NAME = struct { NAME: TYPE, ... };'";
  if (found->kind == TK_STRING && before && before->kind == TK_STRING)
    return "join strings with @strcat";
  if (before && (found->kind == TK_IF || found->kind == TK_SWITCH || found->kind == '{'))
    return "put parentheses around an 'if', 'switch' or block that is an operand";
  return NULL;
}

/* The notes that go with an error at `found`, which follows `before` (or NULL). */
static void add_notes(Parser *p, const Token *before, const Token *found, const int *expected,
                      size_t n)
{
  bool is_operand = (found->kind == TK_IF || found->kind == TK_SWITCH || found->kind == '{')
                    && !is_choice_behind(before, found);
  const char *help = help_for(p, before, found);
  bool noted = help && (!is_operand || is_operator_before_operand(before->kind));
  if (is_block_at_top(p, before, found)) {
    help = "a block outside of functions is written 'comptime { ... }' or 'layout { ... }'";
    noted = true;
  }
  if (is_call_at_top(p, found)) {
    help = "calls outside of functions stand in 'comptime { ... }', those that make the rectangle, "
           "its tiles and their routes in 'layout { ... }'";
    noted = true;
  }
  if (is_second_step(p, found)) {
    help = "behind ':' stands one assignment, 'while (CONDITION) : (i += 1) { ... }'; others are "
           "the last statements of the body";
    noted = true;
  }
  if (noted)
    diag_syntax_help(p->diags, found->span, help);
  uint32_t at = (uint32_t)(found - p->tokens);
  noted |= note_open_bracket(p, at, expected, n);
  const Token *first = before && before > p->tokens ? before - 1 : NULL;
  if (before && before->kind == TK_IDENT && found->kind == TK_IDENT)
    noted |= note_word(p, before);
  else if (first && before->kind == TK_IDENT && first->kind == TK_IDENT)
    noted |= note_word(p, first);
  else if (before && before->kind == TK_IDENT)
    noted |= parser_note_foreign(p, before);
  if (!noted)
    parser_note_form(p, before, found, open_bracket(p, at), is_expected('+', expected, n));
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
  uint32_t brace = open_bracket(p, (uint32_t)(found - p->tokens));
  if (brace == UINT32_MAX || brace == 0 || p->tokens[brace].kind != '{'
      || !p->tokens[brace + 1].is_first || p->tokens[brace].role != BRACE_PLAIN
      || p->tokens[brace - 1].kind == '.')
    return NULL;
  return is_head_paren(p, open_bracket(p, brace)) ? &p->tokens[brace] : NULL;
}

/* The ':' of `name := value`, which other languages have; `found` is its ':' or its '='. */
static const Token *find_walrus(const Parser *p, const Token *found)
{
  const Token *colon = found->kind == '=' && found > p->tokens ? found - 1 : found;
  return colon->kind == ':' && colon[1].kind == '=' && is_next_to(colon, colon + 1) ? colon : NULL;
}

/* `do {` and `elif (a == b) {` read as a literal or a call, and fail somewhere in the braces: the
 * word before the plain brace that is open at `found`; NULL: it is no word of another language. */
static const Token *word_of_block(const Parser *p, const Token *found)
{
  uint32_t brace = open_bracket(p, (uint32_t)(found - p->tokens));
  if (brace == UINT32_MAX || brace == 0 || p->tokens[brace].kind != '{'
      || p->tokens[brace].role != BRACE_PLAIN)
    return NULL;
  const Token *word = &p->tokens[brace - 1];
  if (word->kind == ')') {
    uint32_t paren = open_bracket(p, brace - 1);
    word = paren == UINT32_MAX || paren == 0 ? NULL : &p->tokens[paren - 1];
  }
  const Foreign *foreign = find_foreign(p, word);
  return foreign && foreign->use == WORD_PREFIX ? word : NULL;
}

/* The word of another language that does not fit at `found`; NULL: none. */
static const Token *foreign_word(const Parser *p, const Token *before, const Token *found)
{
  const Foreign *at = find_foreign(p, found), *prior = find_foreign(p, before);
  bool starts = found->kind == TK_IDENT || found->kind == TK_BUILTIN || found->kind == TK_INT;
  if (at && at->use == WORD_INFIX)
    return found;
  if (prior && prior->use == WORD_PREFIX && starts && found->line == before->line)
    return before;
  return word_of_block(p, found);
}

/* The error that is reported instead of "expected ..., found ...", if there is a better one. */
static bool report_special(Parser *p, const Token *before, const Token *found,
                           const int *expected, size_t n)
{
  const Token *head = unclosed_head(p, found);
  const Token *colon = find_walrus(p, found);
  const Token *word = foreign_word(p, before, found);
  bool is_declaration = n == 1 && (expected[0] == TK_IDENT || expected[0] == ';');
  if (head) {
    diag_unexpected_token(p->diags, head->span, "')'", "'{'");
  } else if (colon) {
    diag_foreign_operator(p->diags, span_join(colon->span, colon[1].span), ":=",
                          "declare with 'const name = value;' or 'var name = value;'");
  } else if (is_comparison(found->kind) && is_expected(TK_AND, expected, n)) {
    diag_chained_comparison(p->diags, found->span);
  } else if (word && !is_declaration) {
    diag_foreign_word(p->diags, word->span, str_text(p->names, word->as.text),
                      find_foreign(p, word)->help);
  } else if (is_declaration && before && before->kind == TK_IDENT) {
    /* `color` aside, no name starts a declaration: WORD found, or WORD NAME found. */
    word = expected[0] == ';' && before > p->tokens ? before - 1 : before;
    if (word->kind != TK_IDENT || strcmp(str_text(p->names, word->as.text), "color") == 0)
      return false;
    diag_not_a_declaration(p->diags, word->span, str_text(p->names, word->as.text));
    note_word(p, word);
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
  uint32_t paren = open_bracket(p, (uint32_t)(found - p->tokens));
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
  const char *words = describe_expected(p, expected, n);
  if (words == NULL)
    words = "something else";
  bool behind = blame_before(p, before, found);
  bool wants_semicolon = is_expected(';', expected, n)
                         && (is_expected('+', expected, n) || (before && ends_literal(p, before)));
  p->is_complete = wants_semicolon && behind;
  if (before && wants_semicolon && (behind || found->kind == '}')) {
    diag_missing_semicolon(p->diags, place_behind(before), found_text(p, before));
    diags_fix(p->diags, place_behind(before), ";");
  } else if (behind)
    diag_missing_after(p->diags, place_behind(before), words, found_text(p, before));
  else
    diag_unexpected_token(p->diags, found->span, words,
                          strcmp(words, expected_text(p, TK_IDENT)) == 0
                            ? found_for_name(p, found) : found_text(p, found));
  add_notes(p, before, found, expected, n);
}

void parser_report(Parser *p, const int *expected, size_t n)
{
  const Token *found = &p->tokens[p->fed];
  const Token *before = p->fed > 0 ? found - 1 : NULL;
  bool is_next_call = p->reported > 0 && is_call_at_top(p, found) &&
                      is_call_at_top(p, &p->tokens[p->failed]);
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
