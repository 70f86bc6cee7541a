/* The note under a plain syntax error: the likely mistake around the two tokens that do not fit, or
 * the form of the construct around them. */
#include "frontend/syntax/parse_internal.h"
#include "parse.h"

/* ---- kinds of tokens ------------------------------------------------------------------------ */

static bool is_binary_operator(int kind)
{
  switch (kind) {
  case '+': case '-': case '*': case '/': case '%': case '&': case '^': case '<': case '>':
  case TK_SHL: case TK_SHR: case TK_EQ: case TK_NE: case TK_LE: case TK_GE: case TK_AND:
  case TK_OR: case '=': case TK_ADD_ASSIGN: case TK_SUB_ASSIGN: case TK_MUL_ASSIGN:
  case TK_DIV_ASSIGN: case TK_REM_ASSIGN: case TK_SHL_ASSIGN: case TK_SHR_ASSIGN:
  case TK_AND_ASSIGN: case TK_OR_ASSIGN: case TK_XOR_ASSIGN:
    return true;
  default:
    return false;
  }
}

static bool is_literal_or_name(int kind)
{
  return kind == TK_IDENT || kind == TK_INT || kind == TK_FLOAT || kind == TK_CHAR
         || kind == TK_STRING || kind == TK_TRUE || kind == TK_FALSE;
}

static bool ends_operand(int kind)
{
  return is_literal_or_name(kind) || kind == ')' || kind == ']' || kind == TK_DEREF;
}

static bool starts_operand(int kind)
{
  return is_literal_or_name(kind) || kind == TK_BUILTIN;
}

static int opener_of(int closer)
{
  return closer == ')' ? '(' : closer == ']' ? '[' : '{';
}

static bool is_closer(int kind)
{
  return kind == ')' || kind == ']' || kind == '}';
}

/* ---- two tokens that do not go together ----------------------------------------------------- */

/* The statement ends, or its body starts, and a bracket is still open. */
static bool note_still_open(Parser *p, const Token *found, uint32_t open)
{
  bool ends = found->kind == ';' || found->kind == '=' || found->kind == '{'
              || found->kind == TK_END;
  if (!ends || open == UINT32_MAX || p->tokens[open].kind == '{')
    return false;
  diag_opened_here(p->diags, p->tokens[open].span, token_spelling(p, &p->tokens[open]));
  return true;
}

static bool note_closer(Parser *p, const Token *found, uint32_t open)
{
  if (!is_closer(found->kind))
    return false;
  if (open != UINT32_MAX && p->tokens[open].kind == opener_of(found->kind))
    return false;
  bool in_bracket = open != UINT32_MAX
                    && (p->tokens[open].kind != '{' || p->tokens[open].role == BRACE_PLAIN);
  if (in_bracket)
    diag_opened_here(p->diags, p->tokens[open].span, token_spelling(p, &p->tokens[open]));
  else
    diag_closes_nothing(p->diags, found->span, token_spelling(p, found),
                        opener_of(found->kind) == '(' ? "(" : "[");
  return true;
}

/* Two '-' without a gap are a sign of a sign where a value follows. */
static bool is_decrement(const Parser *p, const Token *last)
{
  return last > p->tokens && last->kind == '-' && last[-1].kind == '-' &&
         last[-1].span.off + last[-1].span.len == last->span.off;
}

static bool note_pair(Parser *p, const Token *before, const Token *found, bool wants_operator)
{
  if (before == NULL)
    return false;
  if (is_decrement(p, before)) {
    diag_no_decrement(p->diags, span_join(before[-1].span, before->span));
    return true;
  }
  if (is_binary_operator(before->kind) && !ends_operand(found->kind)) {
    diag_needs_right_side(p->diags, before->span, token_spelling(p, before));
    return true;
  }
  if (before->kind == ',' && (found->kind == ',' || found->kind == ';')) {
    diag_empty_item(p->diags, before->span);
    return true;
  }
  bool is_one_line = before->line == found->line;
  if (wants_operator && is_one_line && ends_operand(before->kind) && starts_operand(found->kind)) {
    diag_missing_between(p->diags, before->span, token_spelling(p, before),
                         token_spelling(p, found));
    return true;
  }
  return false;
}

/* ---- the construct around them -------------------------------------------------------------- */

typedef struct { int kind; const char *what, *form; } Form;

/* By the word that a construct starts with. */
static const Form forms[] = {
  {TK_CONST, "a constant", "'const NAME: TYPE = VALUE;', where the type may be left out"},
  {TK_VAR, "a variable", "'var NAME: TYPE = VALUE;', where the type or the value may be left out"},
  {TK_PARAM, "a parameter",
   "'param NAME: TYPE = DEFAULT;', where type and default may be left out"},
  {TK_FN, "a function", "'fn NAME(PARAMETER: TYPE, ...) RESULT { ... }'; RESULT is void if the "
                         "function returns nothing"},
  {TK_TASK, "a task", "'task NAME(PARAMETER: TYPE, ...) void { ... }'"},
  {TK_IF, "an if", "'if (CONDITION) { ... } else { ... }'"},
  {TK_WHILE, "a while loop", "'while (CONDITION) { ... }' or 'while (CONDITION) : (STEP) { ... }'"},
  {TK_FOR, "a for loop",
   "'for (ITEMS) |ITEM| { ... }' or 'for (ITEMS) |ITEM, INDEX| { ... }'; "
   "'@range(TYPE, STOP)' counts"},
  {TK_SWITCH, "a switch", "'switch (VALUE) { LABEL, LABEL => BODY, else => BODY }'"},
  {TK_RETURN, "a return", "'return;' or 'return VALUE;'"},
  {TK_BREAK, "a break", "'break;', 'break :LABEL;' or 'break :LABEL VALUE;'"},
  {TK_CONTINUE, "a continue", "'continue;' or 'continue :LABEL;'"},
  {TK_COMPTIME, "compile-time code", "'comptime { ... }' or 'comptime EXPRESSION'"},
  {TK_LAYOUT, "the layout", "'layout { ... }'"},
  {TK_STRUCT, "a struct type", "'struct { NAME: TYPE, ... }'"},
  {TK_UNION, "a union type", "'union { NAME: TYPE, ... }'"},
  {TK_ENUM, "an enum type", "'enum(TYPE) { NAME, NAME = VALUE, ... }'"},
  {'|', "a tensor access", "'|i, j|{EXTENT, EXTENT} -> ARRAY[i, j]'"},
  {TK_ALIGN, "an attribute", "'align(BYTES)' behind the type"},
};

static bool note_form(Parser *p, const Token *word)
{
  for (size_t i = 0; i < ARRAY_COUNT(forms); i++)
    if (forms[i].kind == word->kind) {
      diag_is_written(p->diags, word->span, forms[i].what, forms[i].form);
      return true;
    }
  return false;
}

static bool note_written(Parser *p, const Token *at, const char *what, const char *form)
{
  diag_is_written(p->diags, at->span, what, form);
  return true;
}

static bool note_parenthesis(Parser *p, uint32_t open)
{
  if (open == 0)
    return false;
  const Token *word = &p->tokens[open - 1], *first = open > 1 ? word - 1 : word;
  if (word->kind == TK_BUILTIN || (word->kind == TK_IDENT && first->kind != TK_FN
                                   && first->kind != TK_TASK)) {
    diag_in_arguments(p->diags, word->span, token_spelling(p, word));
    return true;
  }
  if (word->kind == TK_IDENT)
    return note_written(p, first, "a list of parameters", "'(NAME: TYPE, NAME: TYPE, ...)'");
  if (note_form(p, word))
    return true;
  diag_opened_here(p->diags, p->tokens[open].span, "(");
  return true;
}

static bool note_square_bracket(Parser *p, uint32_t open)
{
  const Token *bracket = &p->tokens[open];
  if (open > 0 && ends_operand(bracket[-1].kind))
    return note_written(p, bracket, "an index", "'ARRAY[INDEX, ...]', one index a dimension");
  return note_written(p, bracket, "an array type", "'[SIZE, ...]TYPE', and a pointer '[*]TYPE'");
}

static bool note_literal(Parser *p, uint32_t open)
{
  const Token *brace = &p->tokens[open], *word = open > 0 ? brace - 1 : brace;
  if (word->kind == TK_STRUCT || word->kind == TK_UNION || word->kind == TK_ENUM
      || word->kind == '|')
    return note_form(p, word);
  if (word->kind == ')')       /* enum(T) { */
    return note_written(p, brace, "the body of this", "'{ NAME, NAME = VALUE, ... }'");
  if (word->kind == '.')
    return note_written(p, word, "a struct value",
                        "'.{ .NAME = VALUE, ... }' or '.{ VALUE, ... }'");
  return note_written(p, brace, "a value of a type",
                      "'TYPE{ VALUE, ... }' or 'TYPE{ .NAME = VALUE, ... }'");
}

/* ".{ .EAST }": the element of a list, written as if a dot belonged to its name. */
static bool note_dotted(Parser *p, const Token *before, const Token *found, const Token *brace)
{
  bool in_literal = brace != NULL && brace->kind == '{' && brace->role == BRACE_PLAIN;
  bool ends = found->kind == '}' || found->kind == ',';
  if (!in_literal || !ends || before->kind != TK_IDENT || before[-1].kind != '.')
    return false;
  diag_syntax_help(p->diags, before[-1].span,
                   "an element of a list has no dot: '.{ EAST, RAMP }'; '.NAME' is a field and has "
                   "a value: '.{ .rx = EAST }'");
  return true;
}

/* The first token of the statement or declaration that goes on at `i`, whose enclosing brace is
 * `open`. */
static uint32_t start_of(const Parser *p, uint32_t i, uint32_t open)
{
  uint32_t first = open == UINT32_MAX ? 0 : open + 1, start = i;
  int depth = 0;
  while (start > first) {
    const Token *t = &p->tokens[start - 1];
    if (t->kind == ')' || t->kind == ']')
      depth++;
    else if (t->kind == '(' || t->kind == '[')
      depth--;
    if (depth <= 0 && (t->kind == ';' || t->kind == '{'))
      break;
    if (t->kind == '}') {
      bool is_value = t->partner < start && p->tokens[t->partner].role == BRACE_PLAIN;
      if (t->is_first || t[1].is_first || !is_value)
        break;
      start = t->partner;
    } else {
      start--;
    }
  }
  return start;
}

static bool note_statement(Parser *p, uint32_t found, uint32_t open)
{
  uint32_t start = start_of(p, found, open);
  if (start >= found)
    return false;
  const Token *word = &p->tokens[start];
  bool is_declared = p->tokens[found].kind == TK_VAR || p->tokens[found].kind == TK_CONST;
  if (open == UINT32_MAX && word->kind == TK_COMPTIME && is_declared) {
    diag_syntax_help(p->diags, word->span, "outside of functions every 'const' is known at compile"
                                           " time; a comptime variable is local to a block");
    return true;
  }
  while (word < &p->tokens[found] && (word->kind == TK_EXPORT || word->kind == TK_EXTERN
                                      || word->kind == TK_INLINE
                                      || word->kind == TK_NOINLINE || word->kind == TK_ELSE
                                      || (word->kind == TK_COMPTIME
                                          && (word[1].kind == TK_CONST || word[1].kind == TK_VAR))))
    word++;
  if (word < &p->tokens[found] && note_form(p, word))
    return true;
  if (word->kind == TK_IDENT && habit_note_word(p, word))
    return true;
  if (p->tokens[start].kind != TK_IDENT && p->tokens[start].kind != TK_BUILTIN)
    return false;
  return note_written(p, &p->tokens[start], "a statement that starts so",
                      "'PLACE = VALUE;', 'PLACE += VALUE;' or 'FUNCTION(ARGUMENT, ...);'");
}

void parser_note_form(Parser *p, const Token *before, const Token *found, uint32_t open,
                      bool wants_operator)
{
  /* The heads of loops of other languages are lists of words. */
  if (open != UINT32_MAX && open > 0 && p->tokens[open - 1].kind == TK_FOR)
    wants_operator = false;
  const Token *bracket = open == UINT32_MAX ? NULL : &p->tokens[open];
  if (before != NULL && note_dotted(p, before, found, bracket))
    return;
  if (note_closer(p, found, open) || note_pair(p, before, found, wants_operator)
      || note_still_open(p, found, open))
    return;
  if (bracket == NULL || (bracket->kind == '{' && bracket->role == BRACE_BLOCK))
    note_statement(p, (uint32_t)(found - p->tokens), open);
  else if (bracket->kind == '(')
    note_parenthesis(p, open);
  else if (bracket->kind == '[')
    note_square_bracket(p, open);
  else if (bracket->role == BRACE_PRONGS)
    note_written(p, bracket, "a prong of a switch", "'LABEL, LABEL => BODY,' or 'else => BODY,'");
  else
    note_literal(p, open);
}
