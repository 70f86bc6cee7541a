/* Helpers of the grammar: lists and parts of nodes, the place where parsing continues after an
 * error, and the entry. */
#include "frontend/syntax/parse_internal.h"
#include "parse.h"

#include <string.h>

#include <stb_ds.h>

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

InlineMark noinline_mark(Parser *p, Span at, const char *other)
{
  Span *sign = &p->ast->signs[SIGN_NOINLINE];
  if (sign->off == 0)
    *sign = at;
  return (InlineMark){INLINING_NEVER, at, other};
}

Inlining function_inlining(Parser *p, Storage storage, InlineMark mark)
{
  static const char *const classes[] = {NULL, "export", "extern"};
  const char *other = mark.other ? mark.other : classes[storage];
  if (mark.inlining == INLINING_NEVER && other)
    diag_noinline_with(p->diags, mark.noinline_at, other);
  return mark.inlining;
}

Node *function_section(Parser *p, bool is_task, Node *section)
{
  if (is_task && section)
    diag_task_section(p->diags, section->span);
  return section;
}

/* A parameter without a name: what is meant by `f(void)` and `f(i16 *p)`. */
static void report_nameless(Parser *p, const NodeParam *param, Name function)
{
  const char *of = str_text(p->names, function.text);
  const Node *type = param->type;
  diag_nameless_parameter(p->diags, param->head.span, of);
  if (node_kind(type) == ND_IDENT &&
      strcmp(str_text(p->names, node_ident(type)->name), "void") == 0)
    diag_no_parameters_form(p->diags, function.span, of);
  if (node_kind(type) != ND_BINARY || node_binary(type)->op != BINARY_MUL ||
      node_kind(node_binary(type)->left) != ND_IDENT ||
      node_kind(node_binary(type)->right) != ND_IDENT)
    return;
  diag_pointer_parameter_form(p->diags, param->head.span,
                              str_text(p->names, node_ident(node_binary(type)->right)->name),
                              str_text(p->names, node_ident(node_binary(type)->left)->name));
}

const NodeSeq *function_parameters(Parser *p, const NodeSeq *params, Name function,
                                   const Node *body)
{
  if (!params || !body)
    return params;
  (void)function_parameters(p, params->before, function, body);
  const NodeParam *param = node_param(params->node);
  if (str_is_none(param->name.text))
    report_nameless(p, param, function);
  return params;
}

Node *body_or_empty(Parser *p, Node *stmt, Span span)
{
  if (stmt)
    return stmt;
  const NodeBlock empty = {.head = {0}};
  return ast_add(p->ast, p->diags, ND_BLOCK, span, &empty.head, sizeof empty);
}

/* Without parentheses, the left operand starts where the whole does. */
Node *parser_look_at_bits(Parser *p, Node *n)
{
  if (node_kind(n) != ND_BINARY)
    return n;
  const NodeBinary *outer = node_binary(n);
  if (node_kind(outer->left) != ND_BINARY || outer->left->span.off != n->span.off)
    return n;
  BinaryOp left = node_binary(outer->left)->op;
  bool is_later_in_c = left == BINARY_OR || (left == BINARY_XOR && outer->op == BINARY_AND);
  if (is_later_in_c) {
    diag_bits_mixed(p->diags, outer->op_span, binary_op_spelling(outer->op),
                    binary_op_spelling(left));
    diag_bits_mixed_help(p->diags, outer->op_span, binary_op_spelling(left),
                         binary_op_spelling(outer->op), binary_op_spelling(left),
                         binary_op_spelling(outer->op));
  }
  return n;
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

/* ---- brackets ------------------------------------------------------------------------------ */

uint32_t parser_open_bracket(const Parser *p, uint32_t i)
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
 * switch.  *from becomes the place behind the plain braces in between, of which token `i` may be
 * the last. */
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
      if (t->partner >= *from && t->partner != UINT32_MAX)
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

/* If the last error is in the head of a for loop: behind that head, whose ';' end no statement. */
static uint32_t behind_for_head(const Parser *p)
{
  uint32_t i = p->failed;
  while (i > 0 && p->tokens[i - 1].kind != '(' && p->tokens[i - 1].kind != ';'
         && p->tokens[i - 1].kind != '{' && p->tokens[i - 1].kind != '}')
    i--;
  if (i < 2 || p->tokens[i - 1].kind != '(' || p->tokens[i - 2].kind != TK_FOR)
    return p->failed;
  int depth = 1;
  for (; p->tokens[i].kind != TK_END && p->tokens[i].kind != '{' && depth > 0; i++)
    depth += (p->tokens[i].kind == '(') - (p->tokens[i].kind == ')');
  return i > p->failed && depth == 0 ? i : p->failed;
}

bool parser_resync(Parser *p)
{
  uint32_t from = 0;
  if (p->reported >= MAX_SYNTAX_ERRORS)
    return false;
  uint32_t brace = recovery_brace(p, behind_for_head(p), &from);
  BraceRole role = brace == UINT32_MAX ? BRACE_PLAIN : (BraceRole)p->tokens[brace].role;
  bool is_at_start = p->is_complete || (from > p->failed && !group_goes_on(p, from - 1));
  uint32_t to = is_at_start && role != BRACE_PRONGS ? from : sync_point(p, from, role);
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

Token *tokens_of(const SourceMap *sources, StrTable *names, Diags *diags, FileId file, Arena *arena)
{
  Scan scan = {.sources = sources, .names = names, .diags = diags, .arena = arena, .file = file};
  scan_file(&scan);
  return scan.tokens;
}

static bool is_word(const Token *token)
{
  return token->kind == TK_IDENT || token->kind == TK_BUILTIN ||
         (token->kind >= token_keyword_first() && token->kind <= token_keyword_last());
}

/* The name or builtin ("@name") that is the sign; NULL: none is. */
static const char *release_word(SignId sign)
{
  static const char *const words[SIGN_COUNT] = {
#define SIGN(id, release, word, what) word,
#include "frontend/release.def"
  };
  return words[sign];
}

/* Notes where the first word stands that is a sign of a release.  Nearly no word is one, which the
 * low bits of its number mostly show. */
static void note_signs(Ast *ast, StrTable *names, const Token *tokens)
{
  enum { LOW_BITS = 1023 };
  StrId words[SIGN_COUNT] = {{0}};
  bool is_builtin[SIGN_COUNT] = {false}, can_be_sign[LOW_BITS + 1] = {false};
  for (unsigned i = 0; i < SIGN_COUNT; i++) {
    const char *word = release_word((SignId)i);
    is_builtin[i] = word && *word == '@';
    if (word)
      words[i] = str_intern_z(names, word + is_builtin[i]);
    can_be_sign[words[i].raw & LOW_BITS] = true;
  }
  for (ptrdiff_t t = 0; t < arrlen(tokens); t++)
    for (unsigned i = 0; is_word(&tokens[t]) && can_be_sign[tokens[t].as.text.raw & LOW_BITS] &&
                         i < SIGN_COUNT; i++)
      if (words[i].raw && str_eq(tokens[t].as.text, words[i]) && ast->signs[i].off == 0 &&
          (tokens[t].kind == TK_BUILTIN) == is_builtin[i])
        ast->signs[i] = tokens[t].span;
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
  note_signs(ast, names, parser.tokens);
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
