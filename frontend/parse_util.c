/* What stands behind the grammar: lists, syntax errors in the user's words, and the choice of
 * the place where parsing goes on after one. */
#include "frontend/parse_internal.h"
#include "parse.h"

#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

/* Printing stops at 20 errors; more than that many reports are not even made. */
enum { MAX_SYNTAX_ERRORS = 100, MAX_CANDIDATES = 5, MAX_TOKEN_TEXT = 30 };

/* ---- lists --------------------------------------------------------------------------------- */

NodeSeq *seq_add(Parser *p, NodeSeq *before, Node *node)
{
  if (node == NULL)
    return before;
  NodeSeq *seq = arena_new(p->ast->arena, NodeSeq);
  *seq = (NodeSeq){node, before, before ? before->count + 1 : 1};
  return seq;
}

NodeList seq_list(Parser *p, const NodeSeq *seq)
{
  if (seq == NULL)
    return (NodeList){NULL, 0};
  NodeList list = {arena_many(p->ast->arena, Node *, seq->count), seq->count};
  for (; seq; seq = seq->before)
    list.at[seq->count - 1] = seq->node;
  return list;
}

NameSeq *names_add(Parser *p, NameSeq *before, Name name)
{
  NameSeq *seq = arena_new(p->ast->arena, NameSeq);
  *seq = (NameSeq){name, before, before ? before->count + 1 : 1};
  return seq;
}

NameList names_list(Parser *p, const NameSeq *seq)
{
  NameList list = {arena_many(p->ast->arena, Name, seq->count), seq->count};
  for (; seq; seq = seq->before)
    list.at[seq->count - 1] = seq->name;
  return list;
}

/* ---- parts of nodes ------------------------------------------------------------------------ */

static Node *attribute_join(Parser *p, Node *old, Node *new, const char *name)
{
  if (old && new) {
    diag_duplicate_attribute(p->diags, new->span, name);
    diag_first_given_here(p->diags, old->span);
  }
  return old ? old : new;
}

Attributes attributes_join(Parser *p, Attributes a, Attributes b)
{
  return (Attributes){
    .align = attribute_join(p, a.align, b.align, "align"),
    .linksection = attribute_join(p, a.linksection, b.linksection, "linksection"),
    .linkname = attribute_join(p, a.linkname, b.linkname, "linkname"),
  };
}

Node *body_or_empty(Parser *p, Node *stmt, Span span)
{
  if (stmt)
    return stmt;
  const NodeBlock empty = {.head = {0}};
  return ast_add(p->ast, p->diags, ND_BLOCK, span, &empty.head, sizeof empty);
}

Node *color_decl(Parser *p, Span span, Name type, Name name)
{
  if (strcmp(str_text(p->names, type.text), "color") == 0) {
    const NodeColorDecl decl = {.name = name};
    return ast_add(p->ast, p->diags, ND_COLOR_DECL, span, &decl.head, sizeof decl);
  }
  const NodeBad bad = {.head = {0}};
  diag_not_a_declaration(p->diags, type.span, str_text(p->names, type.text));
  return ast_add(p->ast, p->diags, ND_BAD, span, &bad.head, sizeof bad);
}

/* ---- tokens in words ----------------------------------------------------------------------- */

static const char *token_text(Parser *p, const Token *t, const char *what)
{
  uint32_t at = t->span.off - source_base(p->sources, p->ast->file);
  size_t length = 0;
  const char *text = source_text(p->sources, p->ast->file, &length) + at;
  const char *dots = t->span.len > MAX_TOKEN_TEXT ? "..." : "";
  int shown = t->span.len > MAX_TOKEN_TEXT ? MAX_TOKEN_TEXT : (int)t->span.len;
  return arena_printf(p->ast->arena, "%s%s'%.*s%s'", what, *what ? " " : "", shown, text, dots);
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
typedef struct { const char *words; const int *sign, *members; bool if_alone; } Group;

#define KINDS(...) ((const int[]){__VA_ARGS__, -1})
#define EXPR_STARTS                                                                             \
  TK_IDENT, TK_INT, TK_FLOAT, TK_CHAR, TK_STRING, TK_TRUE, TK_FALSE, TK_BUILTIN, TK_ANYOPAQUE,  \
    TK_IF, TK_SWITCH, TK_COMPTIME, TK_FN, TK_TASK, TK_STRUCT, TK_UNION, TK_ENUM, TK_EXTERN,     \
    TK_PACKED, TK_ASM, '(', '.', '[', '*', '-', '!', '~', '&', '|', '{'

/* In order: a statement can start with an expression.  if_alone: said only when nothing else is
 * expected, for what could follow nearly anywhere. */
static const Group groups[] = {
  {"a declaration", KINDS(TK_CONST, TK_LAYOUT, TK_PARAM),
   KINDS(TK_CONST, TK_VAR, TK_PARAM, TK_FN, TK_TASK, TK_LAYOUT, TK_COMPTIME, TK_EXPORT,
         TK_EXTERN, TK_INLINE, TK_IDENT, ';', TK_END), false},
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
  {"an operator", KINDS('.', TK_DEREF), KINDS('(', '[', '{', '.', TK_DEREF), true},
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
static const char *describe(Parser *p, const int *expected, size_t n)
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

/* The bracket that is open at token `i` and has no partner before it; UINT32_MAX: none. */
static uint32_t open_bracket(const Parser *p, uint32_t i)
{
  int depth = 0;
  while (i-- > 0) {
    const Token *t = &p->tokens[i];
    if (t->kind == '}' && t->partner < i)
      i = t->partner;
    else if (t->kind == ')' || t->kind == ']')
      depth++;
    else if (t->kind == '{')
      return i;
    else if ((t->kind == '(' || t->kind == '[') && depth-- == 0)
      return i;
  }
  return UINT32_MAX;
}

/* If a closing bracket is what is missing, and its partner stands on another line. */
static void note_open_bracket(Parser *p, uint32_t found, const int *expected, size_t n)
{
  static const char *const names[] = {"(", "[", "{"};
  static const int kinds[] = {'(', '[', '{'}, closers[] = {')', ']', '}'};
  uint32_t opener = open_bracket(p, found);
  if (opener == UINT32_MAX || p->tokens[opener].line == p->tokens[found].line)
    return;
  for (size_t k = 0; k < ARRAY_COUNT(kinds); k++)
    if (p->tokens[opener].kind == kinds[k] && is_expected(closers[k], expected, n))
      diag_opened_here(p->diags, p->tokens[opener].span, names[k]);
}

/* Words of other languages, and what one writes here. */
typedef struct { const char *word, *help; } Foreign;
static const Foreign foreign_words[] = {
  {"let", "declare with 'const' or 'var'"},
  {"int", "integer types are i8 to u64, and the type follows the name: 'var x: i32;'"},
  {"float", "float types are f16 and f32, and the type follows the name: 'var x: f32;'"},
  {"def", "functions start with 'fn'"},
  {"func", "functions start with 'fn'"},
  {"function", "functions start with 'fn'"},
  {"do", "loops are 'while (condition) { ... }' and 'for (array) |item| { ... }'"},
  {"elif", "write 'else if (condition)'"},
  {"case", "prongs of a switch are 'value => body,'"},
  {"default", "the prong for all other values is 'else => body,'"},
  {"pub", "everything at the top of a file is visible to its importers"},
  {"static", "variables at the top of a file live as long as the program"},
  {"import", "import with 'const m = @import_module(\"file.csl\");'"},
};

static void note_word(Parser *p, const Token *t)
{
  const char *word = str_text(p->names, t->as.text);
  for (size_t i = 0; i < ARRAY_COUNT(foreign_words); i++) {
    if (strcmp(word, foreign_words[i].word) == 0) {
      diag_syntax_help(p->diags, t->span, foreign_words[i].help);
      return;
    }
  }
  const char *keywords[KIND_LIMIT];
  size_t n = 0;
  for (int k = token_keyword_first(); k <= token_keyword_last() && n < KIND_LIMIT; k++)
    keywords[n++] = token_name(k);
  const char *near = base_nearest(word, keywords, n);
  if (near)
    diag_did_you_mean(p->diags, t->span, near);
}

static bool is_comparison(int kind)
{
  return kind == TK_EQ || kind == TK_NE || kind == '<' || kind == '>' || kind == TK_LE
         || kind == TK_GE;
}

static const char *help_for(const Token *before, const Token *found)
{
  if (found->kind == TK_ARROW)
    return "members of what a pointer points to are written 'p.*.member'";
  if (found->kind == '=' && before && before->kind == ':')
    return "a constant is declared with 'const name = value;'";
  if (found->kind == TK_STRING && before && before->kind == TK_STRING)
    return "join strings with @strcat";
  if (before && (found->kind == TK_IF || found->kind == TK_SWITCH || found->kind == '{'))
    return "put parentheses around an 'if', 'switch' or block that is an operand";
  return NULL;
}

static bool is_operator_before_operand(int kind)
{
  return kind == '+' || kind == '-' || kind == '*' || kind == '/' || kind == '%' || kind == '&'
         || kind == '^' || kind == '!' || kind == '~' || kind == TK_SHL || kind == TK_SHR
         || kind == TK_AND || kind == TK_OR || is_comparison(kind);
}

/* The notes that go with an error at `found`, which follows `before` (or NULL). */
static void add_notes(Parser *p, const Token *before, const Token *found, const int *expected,
                      size_t n)
{
  bool is_operand = found->kind == TK_IF || found->kind == TK_SWITCH || found->kind == '{';
  const char *help = help_for(before, found);
  if (help && (!is_operand || is_operator_before_operand(before->kind)))
    diag_syntax_help(p->diags, found->span, help);
  note_open_bracket(p, (uint32_t)(found - p->tokens), expected, n);
  const Token *first = before && before > p->tokens ? before - 1 : NULL;
  if (before && before->kind == TK_IDENT && found->kind == TK_IDENT)
    note_word(p, before);
  else if (first && before->kind == TK_IDENT && first->kind == TK_IDENT)
    note_word(p, first);
}

/* Whether the mistake is rather behind `before` than at `found`: a statement goes on at the next
 * line only if its last line was not complete. */
static bool blame_before(const Token *before, const Token *found)
{
  if (before == NULL || before->is_inserted)
    return false;
  if (before->kind == ';' || before->kind == '{' || before->kind == '}')
    return false;
  return found->line != before->line || found->is_inserted || found->kind == TK_END;
}

void parser_report(Parser *p, const int *expected, size_t n)
{
  uint32_t at = p->fed;
  const Token *found = &p->tokens[at];
  const Token *before = at > 0 ? &p->tokens[at - 1] : NULL;
  p->failed = at;
  p->ast->has_errors = true;
  if (p->reported++ >= MAX_SYNTAX_ERRORS || found->kind == TK_FOREIGN
      || (found->is_inserted && n == 0))
    return;
  const char *words = describe(p, expected, n);
  if (is_comparison(found->kind) && is_expected(TK_AND, expected, n)) {
    diag_chained_comparison(p->diags, found->span);
    return;
  }
  bool behind = blame_before(before, found);
  Span end = before ? (Span){before->span.off + before->span.len, 0} : found->span;
  bool wants_semicolon = is_expected(';', expected, n) && is_expected('+', expected, n);
  if (wants_semicolon && (behind || (before && found->kind == '}')))
    diag_missing_semicolon(p->diags, end, found_text(p, before));
  else if (behind && words)
    diag_missing_after(p->diags, end, words, found_text(p, before));
  else if (words)
    diag_unexpected_token(p->diags, found->span, words, found_text(p, found));
  else
    diag_unexpected_only(p->diags, found->span, found_text(p, found));
  add_notes(p, before, found, expected, n);
}

void parser_report_depth(Parser *p, Span span)
{
  p->ast->has_errors = true;
  diag_nested_too_deep(p->diags, span, AST_MAX_HEIGHT);
}

/* ---- recovery ------------------------------------------------------------------------------ */

void parser_mark_brace(Parser *p, Span span, BraceRole role)
{
  /* The brace is the token fed last, or the one before if the parser has looked ahead. */
  for (uint32_t i = p->fed + 1; i > 0 && i + 1 > p->fed; i--) {
    Token *t = &p->tokens[i - 1];
    if (t->kind == '{' && t->span.off == span.off && t->span.len == span.len) {
      t->role = role;
      return;
    }
  }
}

/* The brace that the parser recovers in: the innermost one around token `i` of a block or a
 * switch.  *from becomes the place behind the plain braces in between. */
static uint32_t recovery_brace(const Parser *p, uint32_t i, uint32_t *from)
{
  *from = i;
  for (uint32_t k = i; k-- > 0;) {
    const Token *t = &p->tokens[k];
    if (t->kind == '}' && t->partner < k) {
      k = t->partner;
    } else if (t->kind == '{') {
      if (t->role != BRACE_PLAIN)
        return k;
      if (t->partner > *from && t->partner != UINT32_MAX)
        *from = t->partner + 1;
    }
  }
  return UINT32_MAX;
}

static bool starts_declaration(int kind)
{
  return kind == TK_CONST || kind == TK_VAR || kind == TK_PARAM || kind == TK_FN
         || kind == TK_TASK || kind == TK_LAYOUT || kind == TK_EXPORT || kind == TK_EXTERN
         || kind == TK_COMPTIME;
}

static bool starts_statement(int kind)
{
  return kind == TK_CONST || kind == TK_VAR || kind == TK_FOR || kind == TK_WHILE
         || kind == TK_RETURN || kind == TK_BREAK || kind == TK_CONTINUE || kind == TK_IF
         || kind == TK_SWITCH;
}

/* After the group that ends at token `close`, does the statement go on? */
static bool group_goes_on(const Parser *p, uint32_t close)
{
  const Token *next = &p->tokens[close + 1];
  return !next->is_first || next->kind == TK_ELSE || next->kind == ')' || next->kind == ']'
         || next->kind == ',' || next->kind == ';' || next->kind == '.';
}

/* The first token from `i` on, in braces of role `role` (BRACE_PLAIN: in none), with which
 * parsing can go on. */
static uint32_t sync_point(const Parser *p, uint32_t i, BraceRole role)
{
  for (;; i++) {
    const Token *t = &p->tokens[i];
    if (t->kind == TK_END || (t->kind == '}' && role != BRACE_PLAIN))
      return i;
    if (role == BRACE_PRONGS && t->kind == ',')
      return i;
    if (role != BRACE_PRONGS && t->kind == ';')
      return i + 1;
    bool starts = role == BRACE_BLOCK ? starts_statement(t->kind) : starts_declaration(t->kind);
    if (role != BRACE_PRONGS && t->is_first && i > 0 && starts)
      return i;
    if (t->kind == '{') {
      i = t->partner;
      if (role != BRACE_PRONGS && !group_goes_on(p, i))
        return i + 1;
    }
  }
}

bool parser_resync(Parser *p)
{
  uint32_t from = 0;
  if (p->reported >= MAX_SYNTAX_ERRORS)
    return false;
  uint32_t brace = recovery_brace(p, p->failed, &from);
  BraceRole role = brace == UINT32_MAX ? BRACE_PLAIN : (BraceRole)p->tokens[brace].role;
  uint32_t to = sync_point(p, from, role);
  /* Going on twice at one place would never end. */
  if (p->synced != UINT32_MAX && to <= p->synced) {
    if (p->tokens[to].kind == TK_END)
      return false;
    to = sync_point(p, p->synced + 1, role);
  }
  p->synced = to;
  p->next = to;
  return true;
}

/* ---- entry --------------------------------------------------------------------------------- */

static Token *tokens_of(const SourceMap *sources, StrTable *names, Diags *diags, FileId file,
                        Arena *arena)
{
  Scan scan = {.sources = sources, .names = names, .diags = diags, .arena = arena, .file = file};
  scan_file(&scan);
  return scan.tokens;
}

Ast *ast_parse(const SourceMap *sources, StrTable *names, Diags *diags, FileId file)
{
  Arena *arena = arena_create("syntax tree");
  Ast *ast = arena_new(arena, Ast);
  *ast = (Ast){.arena = arena, .file = file, .names = names};
  size_t errors = diags_error_count(diags);
  Token *tokens = tokens_of(sources, names, diags, file, arena);
  Parser parser = {
    .ast = ast,
    .diags = diags,
    .names = names,
    .sources = sources,
    .tokens = braces_check(tokens, diags),
    .synced = UINT32_MAX,
  };
  parse_run(&parser);
  arrfree(parser.tokens);
  ast->has_errors = diags_error_count(diags) > errors;
  return ast;
}

void ast_destroy(Ast *ast)
{
  if (ast)
    arena_destroy(ast->arena);
}

void tokens_print(const SourceMap *sources, StrTable *names, Diags *diags, FileId file, FILE *out)
{
  Arena *arena = arena_create("tokens");
  Token *tokens = tokens_of(sources, names, diags, file, arena);
  uint32_t base = source_base(sources, file);
  size_t length = 0;
  const char *text = source_text(sources, file, &length);
  for (ptrdiff_t i = 0; i < arrlen(tokens); i++) {
    const Token *t = &tokens[i];
    fprintf(out, "%u:%u %s", t->line, t->column + 1, token_name(t->kind));
    if (t->kind == TK_IDENT || t->kind == TK_BUILTIN || t->kind == TK_STRING || t->kind == TK_INT
        || t->kind == TK_FLOAT || t->kind == TK_CHAR)
      fprintf(out, " %.*s", (int)t->span.len, text + (t->span.off - base));
    fputc('\n', out);
  }
  arrfree(tokens);
  arena_destroy(arena);
}
