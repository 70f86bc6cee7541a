/* What writers of other languages write out of habit: words and forms that this language does not
 * have, and the help that says what it has instead. */
#include "frontend/syntax/parse_internal.h"
#include "parse.h"

#include <string.h>

/* ---- words --------------------------------------------------------------------------------- */

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
#define FUNCTION_HAS_NAME \
  "a function has a name and stands outside of all blocks: " \
  "'fn NAME(PARAMETER: TYPE, ...) RESULT { ... }'"
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
  {"__global__", "functions start with 'fn'; the host calls those of '@export_symbol'",
   WORD_PREFIX},
  {"__device__", "functions start with 'fn'", WORD_PREFIX},
  {"__shared__", "variables at the top of a file are one tile's own, seen by all its functions",
   WORD_PREFIX},
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
  {"from", "import with 'const m = @import_module(\"file.csl\");'", WORD_PREFIX},
  {"class", "a type is a constant: 'const NAME = struct { NAME: TYPE, ... };'", WORD_PREFIX},
  {"lambda", FUNCTION_HAS_NAME, WORD_PREFIX},
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

bool habit_note_word(Parser *p, const Token *t)
{
  const Foreign *foreign = find_foreign(p, t);
  int before = t > p->tokens ? t[-1].kind : ';';
  bool is_start = before == ';' || before == '{' || before == '}';
  if (foreign == NULL || foreign->use == WORD_INFIX || (foreign->use == WORD_TYPE && !is_start))
    return false;
  diag_syntax_help(p->diags, t->span, foreign->help);
  return true;
}

bool habit_note_name(Parser *p, const Token *t)
{
  if (habit_note_word(p, t))
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

/* The bracket that is open at the token, if it is of this kind and `n` tokens stand before it; else
 * NULL. */
static const Token *bracket_around(const Parser *p, const Token *t, int kind, uint32_t n)
{
  uint32_t open = parser_open_bracket(p, (uint32_t)(t - p->tokens));
  return open != UINT32_MAX && open >= n && p->tokens[open].kind == kind ? &p->tokens[open] : NULL;
}

/* `do {` and `elif (a == b) {` read as a literal or a call, and fail somewhere in the braces: the
 * word before the plain brace that is open at `found`; NULL: it is no word of another language. */
static const Token *word_of_block(const Parser *p, const Token *found)
{
  const Token *brace = bracket_around(p, found, '{', 1);
  if (!brace || brace->role != BRACE_PLAIN)
    return NULL;
  const Token *word = brace - 1;
  if (word->kind == ')') {
    uint32_t paren = parser_open_bracket(p, (uint32_t)(word - p->tokens));
    word = paren == UINT32_MAX || paren == 0 ? NULL : &p->tokens[paren - 1];
  }
  const Foreign *foreign = find_foreign(p, word);
  return foreign && foreign->use == WORD_PREFIX ? word : NULL;
}

const Token *habit_word(const Parser *p, const Token *before, const Token *found,
                        const char **help)
{
  const Foreign *at = find_foreign(p, found), *prior = find_foreign(p, before);
  bool starts = found->kind == TK_IDENT || found->kind == TK_BUILTIN || found->kind == TK_INT;
  const Token *word = NULL;
  if (at && at->use == WORD_INFIX)
    word = found;
  else if (prior && prior->use == WORD_PREFIX && starts && found->line == before->line)
    word = before;
  else
    word = word_of_block(p, found);
  if (word)
    *help = find_foreign(p, word)->help;
  return word;
}

/* ---- forms: what stands around two tokens ---------------------------------------------------- */

bool token_is_comparison(int kind)
{
  return kind == TK_EQ || kind == TK_NE || kind == '<' || kind == '>' || kind == TK_LE
         || kind == TK_GE;
}

static bool is_operator_before_operand(int kind)
{
  return kind == '+' || kind == '-' || kind == '*' || kind == '/' || kind == '%' || kind == '&'
         || kind == '^' || kind == '!' || kind == '~' || kind == TK_SHL || kind == TK_SHR
         || kind == TK_AND || kind == TK_OR || token_is_comparison(kind);
}

static bool starts_value(int kind)
{
  return kind == '=' || kind == '(' || kind == ',' || kind == TK_RETURN
         || is_operator_before_operand(kind);
}

static bool is_function_word(int kind)
{
  return kind == TK_FN || kind == TK_TASK;
}

bool tokens_touch(const Token *a, const Token *b)
{
  return a->span.off + a->span.len == b->span.off;
}

/* Outside of all brackets, at the start of what would be a declaration. */
static bool is_at_top(const Parser *p, const Token *before, const Token *found)
{
  return (!before || before->kind == '}' || before->kind == ';')
         && parser_open_bracket(p, (uint32_t)(found - p->tokens)) == UINT32_MAX;
}

/* `a..b`, the range of other languages, at its second point. */
static bool is_range(const Parser *p, const Token *before, const Token *found)
{
  (void)p;
  return found->kind == '.' && before && before->kind == '.' && tokens_touch(before, found);
}

/* `1 if a else 2`, at the 'if'. */
static bool is_choice_behind(const Parser *p, const Token *before, const Token *found)
{
  (void)p;
  return found->kind == TK_IF && before && before->line == found->line
         && (before->kind == TK_INT || before->kind == TK_FLOAT || before->kind == TK_IDENT);
}

/* ---- forms: what each help is for ------------------------------------------------------------ */

/* `while (a) { ... } else { ... }`, at the 'else'. */
static bool is_else_of_loop(const Parser *p, const Token *before, const Token *found)
{
  if (found->kind != TK_ELSE || !before || before->kind != '}')
    return false;
  const Token *open = bracket_around(p, before, '{', 1);
  if (open && open[-1].kind == '|')          /* for (items) |item, index| { */
    while (--open > p->tokens && open[-1].kind != ')')
      continue;
  if (!open || open[-1].kind != ')')
    return false;
  const Token *paren = bracket_around(p, open - 1, '(', 1);
  return paren && (paren[-1].kind == TK_WHILE || paren[-1].kind == TK_FOR);
}

/* `fn g() void {}` inside a function, at the name. */
static bool is_inner_function(const Parser *p, const Token *before, const Token *found)
{
  const Token *open = bracket_around(p, found, '{', 1);
  return found->kind == TK_IDENT && before && is_function_word(before->kind) && open;
}

/* `param x: i16;` inside a function. */
static bool is_inner_param(const Parser *p, const Token *before, const Token *found)
{
  (void)before;
  return found->kind == TK_PARAM && bracket_around(p, found, '{', 1);
}

/* `fn f() i16, i16 {`, at the ','. */
static bool is_second_result(const Parser *p, const Token *before, const Token *found)
{
  if (found->kind != ',' || !before || before->kind != TK_IDENT || before[-1].kind != ')')
    return false;
  const Token *open = bracket_around(p, before - 1, '(', 2);
  return open && open[-1].kind == TK_IDENT && is_function_word(open[-2].kind);
}

/* A block that stands by itself, outside of functions. */
static bool is_block_at_top(const Parser *p, const Token *before, const Token *found)
{
  return found->kind == '{' && is_at_top(p, before, found);
}

/* `@bind_local_task(...);` outside of a block. */
static bool is_call_at_top(const Parser *p, const Token *before, const Token *found)
{
  return found->kind == TK_BUILTIN && is_at_top(p, before, found);
}

/* `while (a) : (i += 1, j += 1)` and `: ({ i += 1; j += 1; })`, at the ',' or the '{'. */
static bool is_second_step(const Parser *p, const Token *before, const Token *found)
{
  (void)before;
  if (found->kind != ',' && found->kind != '{')
    return false;
  const Token *paren = bracket_around(p, found, '(', 2);
  return paren && paren[-1].kind == ':' && paren[-2].kind == ')';
}

/* `a[1..3]` and `a[1:3]`, at the second point or the ':'. */
static bool is_slice(const Parser *p, const Token *before, const Token *found)
{
  const Token *open = bracket_around(p, found, '[', 1);
  return open && (open[-1].kind == TK_IDENT || open[-1].kind == ']')
         && (is_range(p, before, found) || found->kind == ':');
}

/* A range `a...b` as the label of a switch, at its second point. */
static bool is_label_range(const Parser *p, const Token *before, const Token *found)
{
  const Token *t = found;
  while (t->kind == '.' || t->kind == '-' || t->kind == TK_INT || t->kind == TK_IDENT)
    t++;
  return is_range(p, before, found) && t->kind == TK_FAT_ARROW;
}

/* `for (array) |*item|`, at the '*'. */
static bool is_item_by_pointer(const Parser *p, const Token *before, const Token *found)
{
  return found->kind == '*' && before && before->kind == '|' && before > p->tokens
         && before[-1].kind == ')';
}

/* `fn f(x: i16) !void`, at the '!'. */
static bool is_error_result(const Parser *p, const Token *before, const Token *found)
{
  if (found->kind != '!' || !before || before->kind != ')')
    return false;
  const Token *open = bracket_around(p, before, '(', 2);
  return open && open[-1].kind == TK_IDENT && is_function_word(open[-2].kind);
}

/* `a <> b`, at the '>'. */
static bool is_angle_unequal(const Parser *p, const Token *before, const Token *found)
{
  (void)p;
  return found->kind == '>' && before && before->kind == '<' && tokens_touch(before, found);
}

/* `var a[4]: i16`, at the '['. */
static bool is_length_at_name(const Parser *p, const Token *before, const Token *found)
{
  return found->kind == '[' && before && before > p->tokens && before->kind == TK_IDENT
         && (before[-1].kind == TK_VAR || before[-1].kind == TK_CONST);
}

/* `= [1, 2, 3];`, at the ';'. */
static bool is_list(const Parser *p, const Token *before, const Token *found)
{
  if (found->kind != ';' || !before || before->kind != ']')
    return false;
  const Token *open = bracket_around(p, before, '[', 1);
  return open && (open[-1].kind == '=' || open[-1].kind == '(');
}

/* `break label value`, at the value. */
static bool is_label_without_colon(const Parser *p, const Token *before, const Token *found)
{
  bool is_value = found->kind == TK_IDENT || found->kind == TK_BUILTIN || found->kind == TK_INT
                  || found->kind == TK_FLOAT;
  return is_value && before && before > p->tokens && before->kind == TK_IDENT
         && before[-1].kind == TK_BREAK && before->line == found->line;
}

static bool is_semicolon_in_prongs(const Parser *p, const Token *before, const Token *found)
{
  (void)before;
  const Token *open = bracket_around(p, found, '{', 0);
  return found->kind == ';' && open && open->role == BRACE_PRONGS;
}

/* `fn f(x: i16) -> i16`, at the '->'. */
static bool is_result_arrow(const Parser *p, const Token *before, const Token *found)
{
  (void)p;
  return found->kind == TK_ARROW && before && before->kind == ')';
}

/* `p->member`, at the '->'. */
static bool is_member_arrow(const Parser *p, const Token *before, const Token *found)
{
  (void)p;
  (void)before;
  return found->kind == TK_ARROW;
}

/* `|i|{N} -> a.b` without an index. */
static bool is_tensor_target(const Parser *p, const Token *before, const Token *found)
{
  (void)found;
  const Token *t = before;
  while (t && t > p->tokens && (t->kind == TK_IDENT || t->kind == '.'))
    t--;
  return t != before && t > p->tokens && t->kind == TK_ARROW && t[-1].kind == '}';
}

/* Is this the ']' of a tensor access? */
static bool ends_tensor_access(const Parser *p, const Token *bracket)
{
  if (bracket == NULL || bracket->kind != ']')
    return false;
  const Token *t = bracket;
  for (int depth = 0; t > p->tokens; t--) {
    depth += (t->kind == ']') - (t->kind == '[');
    if (depth == 0)
      break;
  }
  return t > p->tokens && is_tensor_target(p, t - 1, t);
}

/* `|i|{N} -> a[1].b[i]`, an array in an element, at the second '.'. */
static bool is_array_in_element(const Parser *p, const Token *before, const Token *found)
{
  return found->kind == '.' && ends_tensor_access(p, before);
}

/* `|i, j|{M, N} -> a[i][j]`. */
static bool is_second_index(const Parser *p, const Token *before, const Token *found)
{
  return found->kind == '[' && ends_tensor_access(p, before);
}

/* `.a = x` and, on the next line, `.b = y` without a comma between them, at the second '='. */
static bool is_field_after_no_comma(const Parser *p, const Token *before, const Token *found)
{
  return found->kind == '=' && before && before->kind == TK_IDENT && before > p->tokens + 1
         && before[-1].kind == '.' && before[-1].is_first && before[-2].kind != '{'
         && before[-2].kind != ',';
}

/* The same on one line, `.a = x .b = y`. */
static bool is_field_behind_value(const Parser *p, const Token *before, const Token *found)
{
  const Token *open = bracket_around(p, found, '{', 1);
  return found->kind == '=' && open && open->role == BRACE_PLAIN && before - open > 2
         && before->kind == TK_IDENT && before[-1].kind == '.' && before[-2].kind != ',';
}

/* `f(a, name = b)` and `f(name: b)`, as other languages name arguments, at the '=' or behind the
 * ':'. */
static bool is_named_argument(const Parser *p, const Token *before, const Token *found)
{
  const Token *sign = before && before->kind == ':' ? before : found;
  if ((sign->kind != '=' && sign->kind != ':') || sign - p->tokens < 2
      || sign[-1].kind != TK_IDENT || sign[-2].kind == '.')
    return false;
  const Token *paren = bracket_around(p, sign, '(', 1);
  if (!paren)
    return false;
  bool is_declared = paren - p->tokens > 1 && is_function_word(paren[-2].kind);
  return paren[-1].kind == TK_BUILTIN || (paren[-1].kind == TK_IDENT && !is_declared);
}

/* `fn f(i16 x)`, as C declares parameters, at the name. */
static bool is_type_before_name(const Parser *p, const Token *before, const Token *found)
{
  if (found->kind != TK_IDENT || !before || before == p->tokens || before->kind != TK_IDENT
      || before[-1].kind == ':')
    return false;
  const Token *paren = bracket_around(p, found, '(', 2);
  return paren && paren[-1].kind == TK_IDENT && is_function_word(paren[-2].kind);
}

/* `if (a = b)`, at the '='. */
static bool is_assigned_condition(const Parser *p, const Token *before, const Token *found)
{
  if (found->kind != '=' || !before)
    return false;
  const Token *open = bracket_around(p, found, '(', 1);
  return open && (open[-1].kind == TK_IF || open[-1].kind == TK_WHILE);
}

static bool is_assignment(int kind)
{
  return kind == '=' || kind == TK_ADD_ASSIGN || kind == TK_SUB_ASSIGN || kind == TK_MUL_ASSIGN
         || kind == TK_DIV_ASSIGN || kind == TK_REM_ASSIGN || kind == TK_AND_ASSIGN
         || kind == TK_OR_ASSIGN || kind == TK_XOR_ASSIGN || kind == TK_SHL_ASSIGN
         || kind == TK_SHR_ASSIGN;
}

/* `(a = b) != c` and `a = b = c`, at the assignment that stands in an expression. */
static bool is_assigned_operand(const Parser *p, const Token *before, const Token *found)
{
  if (!is_assignment(found->kind) || !before)
    return false;
  const Token *open = bracket_around(p, found, '(', 1), *t = before;
  if (open)
    return starts_value(open[-1].kind);
  while (t > p->tokens && t->kind != ';' && t->kind != ',' && t->kind != '{' && t->kind != '}'
         && !is_assignment(t->kind))
    t--;
  return is_assignment(t->kind);
}

/* `fn f(x: i16 = 3)`, at the '='. */
static bool is_default_of_parameter(const Parser *p, const Token *before, const Token *found)
{
  (void)before;
  const Token *open = bracket_around(p, found, '(', 2);
  return found->kind == '=' && open && open[-1].kind == TK_IDENT
         && is_function_word(open[-2].kind);
}

/* `= fn(x: i16) i16 { return x; }`, inside the braces. */
static bool is_nameless_function(const Parser *p, const Token *before, const Token *found)
{
  (void)before;
  const Token *open = bracket_around(p, found, '{', 1), *t = open;
  if (!open)
    return false;
  while (t > p->tokens && t->line == open->line && t->kind != ';' && t->kind != TK_FN)
    t--;
  return t->kind == TK_FN && t[1].kind == '(' && t > p->tokens && starts_value(t[-1].kind);
}

/* `@map(|x| x * x, ...)`, behind the second '|'. */
static bool is_function_of_bars(const Parser *p, const Token *before, const Token *found)
{
  const Token *open = bracket_around(p, found, '(', 1);
  return found->kind != '{' && before && before->kind == '|' && before - p->tokens > 2
         && before[-1].kind == TK_IDENT && before[-2].kind == '|' && open
         && open[-1].kind == TK_BUILTIN;
}

/* `@import_module(<library>)`, at the '<'. */
static bool is_bare_library(const Parser *p, const Token *before, const Token *found)
{
  return found->kind == '<' && before && before->kind == '(' && before > p->tokens
         && before[-1].kind == TK_BUILTIN;
}

/* `.NAME = VALUE` where no fields have names, at the name. */
static bool is_lone_field(const Parser *p, const Token *before, const Token *found)
{
  (void)p;
  return found->kind == TK_IDENT && before && before->kind == '.' && found[1].kind == '=';
}

/* `.MEMBER`, at the name. */
static bool is_bare_member(const Parser *p, const Token *before, const Token *found)
{
  (void)p;
  return found->kind == TK_IDENT && before && before->kind == '.';
}

/* `= { WEST }` and `= { 1, 2 }`: a block where a value was meant. */
static bool is_brace_value(const Parser *p, const Token *before, const Token *found)
{
  (void)before;
  if (found->kind != ',' && found->kind != '}')
    return false;
  const Token *open = bracket_around(p, found, '{', 1);
  return open && open->line == found->line
         && (open[-1].kind == '=' || open[-1].kind == ',' || open[-1].kind == '(');
}

/* `(i16)x` */
static bool is_cast(const Parser *p, const Token *before, const Token *found)
{
  return before && before - p->tokens >= 3 && before->kind == ')' && before[-1].kind == TK_IDENT
         && before[-2].kind == '(' && starts_value(before[-3].kind)
         && (found->kind == TK_IDENT || found->kind == TK_INT || found->kind == TK_FLOAT);
}

/* `struct Name { ... }`, `union Name { ... }` and `enum Name { ... }` as declarations. */
static bool is_struct_word(const Parser *p, const Token *before, const Token *found)
{
  (void)p;
  (void)before;
  return found->kind == TK_STRUCT;
}

static bool is_union_word(const Parser *p, const Token *before, const Token *found)
{
  (void)p;
  (void)before;
  return found->kind == TK_UNION;
}

static bool is_enum_word(const Parser *p, const Token *before, const Token *found)
{
  (void)p;
  (void)before;
  return found->kind == TK_ENUM;
}

/* `"a" "b"`, which C joins. */
static bool is_second_string(const Parser *p, const Token *before, const Token *found)
{
  (void)p;
  return found->kind == TK_STRING && before && before->kind == TK_STRING;
}

/* An 'if', 'switch' or block where an operand has to stand. */
static bool is_bare_operand(const Parser *p, const Token *before, const Token *found)
{
  (void)p;
  return before && (found->kind == TK_IF || found->kind == TK_SWITCH || found->kind == '{');
}

/* `1.` and `.5`, as other languages write numbers; NULL: it is neither. */
static const char *number_help(Parser *p, const Token *before, const Token *found)
{
  const char *form = "a number has digits on both sides of its point: '%s.%s'";
  if (!before || before == p->tokens || before->kind != '.' || found->kind == '.')
    return NULL;
  if (before[-1].kind == TK_INT && tokens_touch(before - 1, before))
    return arena_printf(p->ast->arena, form, token_spelling(p, before - 1), "0");
  if (found->kind == TK_INT && tokens_touch(before, found)
      && (starts_value(before[-1].kind) || before[-1].kind == '{'))
    return arena_printf(p->ast->arena, form, "0", token_spelling(p, found));
  return NULL;
}

/* ---- helps --------------------------------------------------------------------------------- */

/* Is this what was meant at `found`, which follows `before` (or NULL)? */
typedef bool HabitTest(const Parser *p, const Token *before, const Token *found);
typedef struct { HabitTest *is_meant; const char *help; } Habit;

/* The help of the first habit in a table that is meant; NULL: none is. */
static const char *first_help(const Habit *habits, size_t n, const Parser *p, const Token *before,
                              const Token *found)
{
  for (size_t i = 0; i < n; i++)
    if (habits[i].is_meant(p, before, found))
      return habits[i].help;
  return NULL;
}

/* `k // 2;` and the next line: the rest of the statement is a comment. */
static bool is_floor_division(const Parser *p, const Token *before, const Token *found)
{
  size_t length;
  const char *text = source_text(p->sources, p->ast->file, &length);
  if (!before || before->line == found->line)
    return false;
  size_t at = before->span.off + before->span.len - source_base(p->sources, p->ast->file);
  while (at < length && (text[at] == ' ' || text[at] == '\t'))
    at++;
  size_t end = at;
  while (end < length && text[end] != '\n' && text[end] != '\r')
    end++;
  return end - at > 3 && text[at] == '/' && text[at + 1] == '/' && text[end - 1] == ';';
}

/* What stands outside of functions, the step of a loop, and what a comment hides. */
static const Habit outer_habits[] = {
  {is_floor_division, "'//' starts a comment; integers are divided by '/', which gives a whole "
                      "quotient"},
  {is_second_step, "behind ':' stands one assignment, 'while (CONDITION) : (i += 1) { ... }'; "
                   "others are the last statements of the body"},
  {is_call_at_top, "calls outside of functions stand in 'comptime { ... }', those that make the "
                   "rectangle, its tiles and their routes in 'layout { ... }'"},
  {is_else_of_loop, "a loop has no 'else': what follows it stands behind it"},
  {is_inner_function, "functions stand beside one another, outside of all blocks"},
  {is_inner_param, "'param' stands outside of functions and declares what the layout or an import "
                   "gives; a function's own parameters stand in its parentheses"},
  {is_second_result, "a function has one result; a struct or a tuple, '.{ A, B }', holds several "
                     "values"},
  {is_block_at_top,
   "a block outside of functions is written 'comptime { ... }' or 'layout { ... }'"},
};

static const Habit habits[] = {
  {is_slice, "there are no slices; a DSD describes a part of an array: "
             "'|i|{LENGTH} -> ARRAY[START + i]'"},
  {is_label_range,
   "a switch has no ranges: name each value, 'A, B, C => ...', or use 'if'"},
  {is_range, "a range is written '@range(TYPE, STOP)' or '@range(TYPE, START, STOP, STEP)'"},
  {is_item_by_pointer, "the item of a for loop is a copy; write to an element by its index: "
                       "'ARRAY[INDEX] = VALUE'"},
  {is_error_result,
   "functions return no errors: the type of the result stands alone, 'fn f(x: i16) void'"},
  {is_angle_unequal, "whether two values differ is asked with '!='"},
  {is_length_at_name, "the length is a part of the type: 'var NAME: [LENGTH]TYPE'"},
  {is_list, "the values of an array follow its type: '[3]i16{ 1, 2, 3 }'"},
  {is_label_without_colon, "a label is named with a colon: 'break :LABEL VALUE;'"},
  {is_semicolon_in_prongs, "a prong of a switch ends in ',': 'LABEL => BODY,'"},
  {is_choice_behind,
   "a choice between two values is written 'if (CONDITION) VALUE else VALUE'"},
  {is_result_arrow,
   "the type of the result follows the parameters directly: 'fn f(x: i16) i16 { ... }'"},
  {is_member_arrow, "members of what a pointer points to are written 'p.*.member'"},
  {is_tensor_target,
   "a tensor access has an index for each dimension: '|i|{SIZE} -> ARRAY[i]'"},
  {is_array_in_element,
   "a tensor access names an array or a field: a pointer leads to an array in an element, "
   "'const p = &ARRAY[1].FIELD;' and '|i|{SIZE} -> p[i]'"},
  {is_second_index,
   "the indices of all dimensions stand in one pair of brackets: '|i, j|{M, N} -> ARRAY[i, j]'"},
  {is_field_after_no_comma,
   "is a ',' missing at the end of the line before '.NAME = VALUE'?"},
  {is_field_behind_value, "is a ',' missing before '.NAME = VALUE'?"},
  {is_named_argument,
   "arguments have no names; settings are a struct: '.{ .NAME = VALUE, ... }'"},
  {is_type_before_name,
   "the type of a parameter follows its name: 'fn f(x: i16) i16 { ... }'"},
  {is_assigned_condition, "values are compared with '=='"},
  {is_assigned_operand, "an assignment is a statement and has no value: 'PLACE = VALUE;' stands "
                        "alone, and '==' compares"},
  {is_default_of_parameter, "a call has a value for each parameter of a function: only a 'param' "
                            "has a default"},
  {is_nameless_function, FUNCTION_HAS_NAME},
  {is_function_of_bars, "'@map(FUNCTION, ...)' takes the name of a function, and "
                        "'|i|{SIZE} -> ARRAY[i]' is an access of a DSD"},
  {is_bare_library, "the name of a library is a string: '@import_module(\"<NAME>\")'"},
  {is_lone_field, "'.NAME = VALUE' is a field of a struct value, '.{ .NAME = VALUE, ... }', where "
                  "all fields have names"},
  {is_bare_member,
   "a member of an enum is written with its type, 'TYPE.MEMBER', and a struct '.{ ... }'"},
  {is_brace_value, "a struct or a list of values starts with a dot: '.{ ... }'"},
  {is_cast, "a value is converted by '@as(TYPE, VALUE)'"},
  {is_struct_word, "a type is a constant: 'const NAME = struct { NAME: TYPE, ... };'"},
  {is_union_word, "a type is a constant: 'const NAME = union { NAME: TYPE, ... };'"},
  {is_enum_word, "a type is a constant: 'const NAME = enum(TYPE) { NAME, ... };'"},
  {is_second_string, "join strings with @strcat"},
  {is_bare_operand,
   "put parentheses around an 'if', 'switch' or block that is an operand"},
};

/* An 'if', 'switch' or block that follows no operator is the next statement rather than an operand,
 * and says nothing about what was meant. */
static bool starts_statement(const Parser *p, const Token *before, const Token *found)
{
  return (found->kind == TK_IF || found->kind == TK_SWITCH || found->kind == '{')
         && !is_choice_behind(p, before, found)
         && !(before && is_operator_before_operand(before->kind));
}

const char *habit_help(Parser *p, const Token *before, const Token *found)
{
  const char *help = first_help(outer_habits, ARRAY_COUNT(outer_habits), p, before, found);
  if (help || starts_statement(p, before, found))
    return help;
  help = number_help(p, before, found);
  return help ? help : first_help(habits, ARRAY_COUNT(habits), p, before, found);
}

bool habit_is_call_at_top(const Parser *p, const Token *found)
{
  return is_call_at_top(p, found > p->tokens ? found - 1 : NULL, found);
}
