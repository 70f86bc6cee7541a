/* One layout for each program: csl-fmt changes white space and nothing else.
 *
 * The author decides where lines end; this file decides how far they are indented, where spaces
 * stand within them, and in which column comments follow code. The tree says what a token alone
 * does not: whether a '*' multiplies, whether a '(' belongs to a call. Comments stand in no tree;
 * they come from the text between the tokens. */
#include "frontend/syntax/parse_internal.h"
#include "parse.h"

#include <stb_ds.h>

/* Deeper or wider than this, nothing is aligned, so that the output stays linear. */
enum { INDENT = 2, WIDEST_INDENT = 200, WIDEST_ALIGNED = 100 };

/* What the tree knows about a token. */
enum {
  MARK_BINARY = 1 << 0,    /* an operator with two operands */
  MARK_TIGHT = 1 << 1,     /* a bracket that follows its operand: f(, a[, T{ */
  MARK_BLOCK = 1 << 2,     /* '{' of statements, prongs, fields, members */
  MARK_ITEM = 1 << 3,      /* the first of a statement or declaration */
  MARK_BODY = 1 << 4,      /* the first of a body without braces */
  MARK_TENSOR = 1 << 5,    /* '{' of a tensor access, and its '}' */
  MARK_PIPE_OPEN = 1 << 6,
  MARK_PIPE_CLOSE = 1 << 7
};

typedef struct {
  uint8_t marks;
  uint32_t partner;        /* of a bracket: the other one */
  uint32_t parent;         /* of `else` and of MARK_BODY: the first token of the statement */
  uint32_t end;            /* of MARK_BODY: its last token */
  int line_indent;         /* of the line in which the token stands */
  int column;              /* of the token itself */
} TokenLayout;

/* A bracket, or a body without braces, that is open. */
typedef struct {
  uint32_t end;            /* the last token inside, or the closing bracket */
  int line_indent;         /* of the line that opened it */
  int item_indent;         /* of what it contains; -1: the column of the next token */
  int item_line;           /* the indentation of the line where the current item started */
  int more;                /* indentation of the further lines of an item */
} FormatFrame;

typedef struct {
  char *code;              /* stb_ds, with its indentation; no NUL */
  const char *comment;     /* behind the code, or NULL; `comment_length` bytes */
  size_t comment_length;
  uint32_t comment_column; /* in the source, in characters */
  int width;               /* of the code, in characters */
  bool blank_before;
} FormatLine;

typedef struct {
  const char *text;        /* the file */
  uint32_t base;
  const Token *tokens;
  uint32_t count;          /* without the end of the file */
  TokenLayout *layout;     /* by token */
  FormatFrame *frames;     /* stb_ds */
  FormatLine *lines;       /* stb_ds */
} Formatter;

/* ---- what the tree says -------------------------------------------------------------------- */

/* The first token that starts at `off` or behind it. */
static uint32_t token_from(const Formatter *f, uint32_t off)
{
  uint32_t low = 0, high = f->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (f->tokens[middle].span.off < off)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static uint32_t first_token(const Formatter *f, const Node *n)
{
  return token_from(f, n->span.off);
}

static uint32_t last_token(const Formatter *f, const Node *n)
{
  uint32_t behind = token_from(f, n->span.off + n->span.len);
  return behind ? behind - 1 : 0;
}

static void mark_token(Formatter *f, uint32_t token, unsigned mark)
{
  if (token < f->count)
    f->layout[token].marks |= (uint8_t)mark;
}

/* The bracket that is closed by the last token of the node. */
static void mark_last_bracket(Formatter *f, const Node *n, unsigned mark)
{
  uint32_t last = last_token(f, n);
  if (last < f->count && f->layout[last].partner < last)
    mark_token(f, f->layout[last].partner, mark);
}

static void mark_items(Formatter *f, const NodeList *list)
{
  for (uint32_t i = 0; i < list->count; i++)
    mark_token(f, first_token(f, list->at[i]), MARK_ITEM);
}

static void mark_body(Formatter *f, const Node *body, const Node *parent)
{
  uint32_t token = first_token(f, body);
  if (body->kind == ND_BLOCK || token >= f->count)
    return;
  TokenLayout *layout = &f->layout[token];
  layout->marks |= MARK_BODY;
  layout->parent = first_token(f, parent);
  layout->end = last_token(f, body);
}

static void mark_else(Formatter *f, const NodeIf *n)
{
  if (!n->else_part)
    return;
  uint32_t token = last_token(f, n->then_part) + 1, end = first_token(f, n->else_part);
  while (token < end && f->tokens[token].kind != TK_ELSE)
    token++;
  if (token < end)
    f->layout[token].parent = first_token(f, &n->head);
  mark_body(f, n->else_part, &n->head);
}

/* |i, j|{ extents } -> a[...]: the first '{' and the last '['. */
static void mark_tensor_access(Formatter *f, const Node *n)
{
  uint32_t token = first_token(f, n), last = last_token(f, n);
  while (token < last && f->tokens[token].kind != '{')
    token++;
  mark_token(f, token, MARK_TENSOR);
  mark_token(f, f->layout[token].partner, MARK_TENSOR);
  mark_last_bracket(f, n, MARK_TIGHT);
}

static void mark_node(void *context, Node *n)
{
  Formatter *f = context;
  switch ((int)n->kind) {
  case ND_BINARY: mark_token(f, token_from(f, node_binary(n)->op_span.off), MARK_BINARY); break;
  case ND_CALL: case ND_INDEX: mark_last_bracket(f, n, MARK_TIGHT); break;
  case ND_STRUCT_INIT: case ND_LIST_INIT: mark_last_bracket(f, n, MARK_TIGHT); break;
  case ND_TENSOR_ACCESS: mark_tensor_access(f, n); break;
  case ND_BLOCK:
    mark_last_bracket(f, n, MARK_BLOCK);
    mark_items(f, &node_block(n)->stmts);
    break;
  case ND_SWITCH: case ND_STRUCT_TYPE: case ND_ENUM_TYPE:
    mark_last_bracket(f, n, MARK_BLOCK);
    break;
  case ND_IF:
    mark_body(f, node_if(n)->then_part, n);
    mark_else(f, node_if(n));
    break;
  case ND_FOR: mark_body(f, node_for(n)->body, n); break;
  case ND_WHILE: mark_body(f, node_while(n)->body, n); break;
  default: break;
  }
  node_visit_children(n, mark_node, f);
}

/* What no node needs: pairs of brackets, and of the bars around captures. */
static void pair_tokens(Formatter *f)
{
  uint32_t *open = NULL;   /* stb_ds */
  for (uint32_t i = 0; i < f->count; i++) {
    int kind = f->tokens[i].kind;
    f->layout[i].partner = f->layout[i].parent = UINT32_MAX;
    if (kind == '(' || kind == '[' || kind == '{') {
      arrput(open, i);
    } else if ((kind == ')' || kind == ']' || kind == '}') && arrlen(open) > 0) {
      uint32_t other = arrpop(open);
      f->layout[i].partner = other;
      f->layout[other].partner = i;
    }
  }
  arrfree(open);
}

static void pair_bars(Formatter *f)
{
  bool is_open = false;
  for (uint32_t i = 0; i < f->count; i++)
    if (f->tokens[i].kind == '|' && !(f->layout[i].marks & MARK_BINARY)) {
      mark_token(f, i, is_open ? MARK_PIPE_CLOSE : MARK_PIPE_OPEN);
      is_open = !is_open;
    }
}

static void read_tree(Formatter *f, const Ast *ast)
{
  pair_tokens(f);
  mark_items(f, &ast->decls);
  for (uint32_t i = 0; i < ast->decls.count; i++)
    mark_node(f, ast->decls.at[i]);
  pair_bars(f);
}

/* ---- spaces -------------------------------------------------------------------------------- */

static bool is_prefix(const Formatter *f, uint32_t i)
{
  int kind = f->tokens[i].kind;
  return kind == '!' || kind == '~' ||
         ((kind == '-' || kind == '&' || kind == '*') && !(f->layout[i].marks & MARK_BINARY));
}

/* After the ']' of an array type, its element follows at once; what may not start a type, and
 * operators, stand apart. */
static bool is_element(const Formatter *f, uint32_t i)
{
  switch (f->tokens[i].kind) {
  case TK_IDENT: case TK_BUILTIN: case TK_CONST: case TK_FN: case TK_TASK: case TK_STRUCT:
  case TK_PACKED: case TK_EXTERN: case TK_ENUM: case TK_UNION: case TK_ANYOPAQUE: case '(':
  case '[':
    return true;
  default:
    return is_prefix(f, i);
  }
}

static bool paren_follows_at_once(const Formatter *f, uint32_t before)
{
  switch (f->tokens[before].kind) {
  case TK_IDENT: case TK_BUILTIN: case TK_STRING: case TK_FN: case TK_TASK: case TK_ENUM:
  case TK_ALIGN: case TK_LINKSECTION: case TK_LINKNAME:
    return true;
  default:
    return false;
  }
}

static bool is_label_jump(const Formatter *f, uint32_t colon)
{
  int before = colon > 0 ? f->tokens[colon - 1].kind : 0;
  return before == TK_BREAK || before == TK_CONTINUE;
}

/* Does a space stand in front of token `i`, because of the token itself? */
static bool wants_space_before(const Formatter *f, uint32_t i)
{
  unsigned marks = f->layout[i].marks;
  const Token *before = &f->tokens[i - 1];
  switch (f->tokens[i].kind) {
  case ',': case ';': case ')': case ']': case TK_DEREF: return false;
  case '}': return before->kind != '{' && !(marks & MARK_TENSOR);
  case ':': return before->kind != TK_IDENT;
  case '(': return !(marks & MARK_TIGHT) && !paren_follows_at_once(f, i - 1);
  case '[': return !(marks & MARK_TIGHT);
  case '{': return !(marks & (MARK_TIGHT | MARK_TENSOR)) || before->kind == '{';
  case '|': return !(marks & MARK_PIPE_CLOSE);
  case '.':
    return f->tokens[i + 1].kind == '{' || before->kind == '{' || before->kind == ',';
  default: return true;
  }
}

/* The scanner takes "&&" for an operator of C. */
static bool would_join(const Formatter *f, uint32_t i)
{
  return f->tokens[i - 1].kind == '&' && f->tokens[i].kind == '&';
}

/* Does one stand behind the token before `i`? */
static bool allows_space_behind(const Formatter *f, uint32_t i)
{
  uint32_t before = i - 1;
  switch (f->tokens[before].kind) {
  case '(': case '[': case '.': return false;
  case '{': return !(f->layout[before].marks & MARK_TENSOR);
  case ']': return !is_element(f, i);
  case ':': return !is_label_jump(f, before);
  case '|': return !(f->layout[before].marks & MARK_PIPE_OPEN);
  default: return !is_prefix(f, before) || would_join(f, i);
  }
}

/* ---- lines --------------------------------------------------------------------------------- */

static FormatLine *current_line(Formatter *f)
{
  return &f->lines[arrlen(f->lines) - 1];
}

static void put_bytes(FormatLine *line, const char *text, size_t length)
{
  memcpy(arraddnptr(line->code, length), text, length);
  for (size_t i = 0; i < length; i++)
    line->width += ((unsigned char)text[i] & 0xc0) != 0x80;
}

/* Is its comment in the column of the comments around it? */
static bool is_in_group(const FormatLine *line)
{
  return line->comment && line->width < WIDEST_ALIGNED;
}

static void start_line(Formatter *f, int indent, bool blank_before)
{
  FormatLine line = {.blank_before = blank_before && arrlen(f->lines) > 0};
  if (indent > WIDEST_INDENT)
    indent = WIDEST_INDENT;
  for (int i = 0; i < indent; i++)
    put_bytes(&line, " ", 1);
  arrput(f->lines, line);
}

static FormatFrame *current_frame(Formatter *f)
{
  return &f->frames[arrlen(f->frames) - 1];
}

static void leave_bodies(Formatter *f, uint32_t token)
{
  while (arrlen(f->frames) > 1 && current_frame(f)->end < token)
    arrpop(f->frames);
}

static bool is_closing(int kind)
{
  return kind == ')' || kind == ']' || kind == '}';
}

/* Does an item of the frame start with this token? */
static bool starts_item(const Formatter *f, uint32_t i)
{
  if (i == 0 || (f->layout[i].marks & MARK_ITEM))
    return true;
  int before = f->tokens[i - 1].kind;
  return before == '(' || before == '[' || before == '{' || before == ',' || before == ';';
}

/* An `else` stands under its `if`: under the line of a statement, under the word of an expression.
 * In a chain, the first `if` counts. */
static int else_indent(const Formatter *f, uint32_t token)
{
  const TokenLayout *layout = &f->layout[token];
  while ((layout->marks & MARK_BODY) && token > 0 && f->tokens[token - 1].kind == TK_ELSE) {
    token = layout->parent;
    layout = &f->layout[token];
  }
  bool is_statement = layout->marks & (MARK_BODY | MARK_ITEM);
  return is_statement || layout->column > WIDEST_ALIGNED ? layout->line_indent : layout->column;
}

/* The indentation of a line that starts with token `i`; opens the frame of a body. */
static int indent_of(Formatter *f, uint32_t i)
{
  leave_bodies(f, i);
  const TokenLayout *layout = &f->layout[i];
  int kind = f->tokens[i].kind;
  if (kind == TK_ELSE && layout->parent != UINT32_MAX)
    return else_indent(f, layout->parent);
  if ((layout->marks & MARK_BODY) && f->tokens[i - 1].kind != '(') {
    int indent = else_indent(f, layout->parent) + INDENT;
    FormatFrame body = {.end = layout->end, .line_indent = indent, .item_indent = indent,
                        .item_line = indent, .more = INDENT};
    arrput(f->frames, body);
    return indent;
  }
  const FormatFrame *frame = current_frame(f);
  if (is_closing(kind))
    return frame->line_indent;
  return frame->item_indent + (starts_item(f, i) ? 0 : frame->more);
}

/* A comment on lines of its own stands like what follows it; before a closing bracket, like what is
 * inside. */
static int comment_indent(Formatter *f, uint32_t next)
{
  leave_bodies(f, next);
  const FormatFrame *frame = current_frame(f);
  if (next >= f->count || is_closing(f->tokens[next].kind) || starts_item(f, next))
    return frame->item_indent;
  if (f->tokens[next].kind == TK_ELSE && f->layout[next].parent != UINT32_MAX)
    return else_indent(f, f->layout[next].parent);
  return frame->item_indent + frame->more;
}

/* The column of a token in the source, in characters; tabs count as one. */
static uint32_t source_column(const Formatter *f, uint32_t i)
{
  const Token *t = &f->tokens[i];
  const char *token = f->text + (t->span.off - f->base);
  uint32_t column = 0;
  for (uint32_t back = t->column < 4 * WIDEST_ALIGNED ? t->column : 0; back > 0; back--)
    column += (token[-(ptrdiff_t)back] & 0xc0) != 0x80;
  return column;
}

/* Did the author align the lines inside the bracket with its first token, or indent them? The first
 * line shows it; brackets inside have their own. */
static bool is_aligned(const Formatter *f, uint32_t open)
{
  for (uint32_t i = open + 1; i < f->layout[open].partner; i++) {
    if (f->tokens[i].is_first)
      return source_column(f, i) == source_column(f, open + 1);
    if (f->layout[i].partner > i && f->layout[i].partner != UINT32_MAX)
      i = f->layout[i].partner;
  }
  return true;
}

static bool is_control(int kind)
{
  return kind == TK_IF || kind == TK_WHILE || kind == TK_FOR || kind == TK_SWITCH;
}

/* A bracket that ends its line, or holds statements, indents by a step; in another one the author
 * chooses between that and the column of the first token. A block belongs to its whole statement,
 * however many lines that has in front of it. */
static void open_frame(Formatter *f, uint32_t i, bool ends_line)
{
  int kind = f->tokens[i].kind;
  unsigned marks = f->layout[i].marks;
  bool is_group = kind == '(' && !(marks & MARK_TIGHT) && !paren_follows_at_once(f, i - 1);
  bool is_condition = is_group && is_control(f->tokens[i - 1].kind);
  FormatFrame frame = {.end = f->layout[i].partner, .line_indent = f->layout[i].line_indent,
                       .item_indent = -1};
  if (marks & MARK_BLOCK)
    frame.line_indent = current_frame(f)->item_line;
  bool may_align = current_line(f)->width < WIDEST_ALIGNED && (is_condition || is_aligned(f, i));
  if (ends_line || (marks & MARK_BLOCK) || !may_align) {
    frame.item_indent = frame.line_indent + INDENT;
    frame.more = is_group ? 0 : INDENT;
  }
  arrput(f->frames, frame);
}

/* ---- the walk ------------------------------------------------------------------------------ */

/* What stands between two tokens. */
typedef struct {
  const char *at, *end;
  bool ends_line;          /* a newline or comment is there */
} Gap;

static Gap gap_before(const Formatter *f, uint32_t i, size_t length)
{
  size_t from = 0, to = length;
  if (i > 0)
    from = f->tokens[i - 1].span.off + f->tokens[i - 1].span.len - f->base;
  else if (length >= 3 && memcmp(f->text, "\xef\xbb\xbf", 3) == 0)
    from = 3;              /* the mark of UTF-8 */
  if (i < f->count)
    to = f->tokens[i].span.off - f->base;
  Gap gap = {.at = f->text + from, .end = f->text + to};
  gap.ends_line = memchr(gap.at, '\n', to - from) != NULL || memchr(gap.at, '/', to - from) != NULL;
  return gap;
}

/* The column of a comment in the source, in characters. */
static uint32_t comment_source_column(const Formatter *f, const char *comment)
{
  uint32_t column = 0;
  for (const char *c = comment; c > f->text && c[-1] != '\n'; c--)
    column += (c[-1] & 0xc0) != 0x80;
  return column;
}

/* A comment behind code, or the continuation of one in the same column of the next line. */
static bool is_comment_behind(const Formatter *f, uint32_t column, unsigned newlines)
{
  if (newlines == 0 || arrlen(f->lines) == 0)
    return newlines == 0;
  const FormatLine *line = &f->lines[arrlen(f->lines) - 1];
  return newlines == 1 && is_in_group(line) && line->comment_column == column;
}

static void put_comment(Formatter *f, const char *text, size_t length, uint32_t next,
                        unsigned newlines, bool blank)
{
  uint32_t column = comment_source_column(f, text);
  while (length > 0 && strchr(" \t\r\f\v", text[length - 1]))
    length--;
  if (next > 0 && is_comment_behind(f, column, newlines)) {
    if (newlines == 1)
      start_line(f, 0, false);
    FormatLine *line = current_line(f);
    line->comment = text;
    line->comment_length = length;
    line->comment_column = column;
  } else {
    start_line(f, comment_indent(f, next), blank);
    put_bytes(current_line(f), text, length);
  }
}

/* Writes the comments of the gap before token `next`; true if a blank line is to follow. */
static bool put_gap(Formatter *f, Gap gap, uint32_t next)
{
  unsigned newlines = 0;
  bool is_first = true;
  int before = next > 0 ? f->tokens[next - 1].kind : '{';
  for (const char *c = gap.at; c < gap.end;) {
    if (*c != '/') {
      newlines += *c++ == '\n';
      continue;
    }
    const char *end = memchr(c, '\n', (size_t)(gap.end - c));
    if (!end)
      end = gap.end;
    put_comment(f, c, (size_t)(end - c), next, newlines,
                newlines > 1 && !(is_first && before == '{'));
    newlines = 0;
    is_first = false;
    c = end;
  }
  bool is_at_edge = (is_first && before == '{') || next >= f->count ||
                    is_closing(f->tokens[next].kind);
  return newlines > 1 && !is_at_edge;
}

static void put_token(Formatter *f, uint32_t i, Gap gap)
{
  const Token *t = &f->tokens[i];
  if (gap.ends_line || i == 0) {
    bool blank = put_gap(f, gap, i);
    start_line(f, indent_of(f, i), blank);
  } else {
    leave_bodies(f, i);
    if (wants_space_before(f, i) && allows_space_behind(f, i))
      put_bytes(current_line(f), " ", 1);
  }
  FormatFrame *frame = current_frame(f);
  if (frame->item_indent < 0)
    frame->item_indent = current_line(f)->width;
  int indent = gap.ends_line || i == 0 ? current_line(f)->width : f->layout[i - 1].line_indent;
  f->layout[i].line_indent = indent;
  f->layout[i].column = current_line(f)->width;
  if (starts_item(f, i) && !is_closing(t->kind))
    frame->item_line = indent;
  put_bytes(current_line(f), f->text + (t->span.off - f->base), t->span.len);
  if (is_closing(t->kind) && arrlen(f->frames) > 1)
    arrpop(f->frames);
}

static void put_tokens(Formatter *f, size_t length)
{
  FormatFrame file = {.end = UINT32_MAX, .more = INDENT};
  arrput(f->frames, file);
  Gap gap = gap_before(f, 0, length);
  for (uint32_t i = 0; i < f->count; i++) {
    put_token(f, i, gap);
    gap = gap_before(f, i + 1, length);
    int kind = f->tokens[i].kind;
    if (kind == '(' || kind == '[' || kind == '{')
      open_frame(f, i, gap.ends_line);
  }
  put_gap(f, gap, f->count);
}

/* ---- output -------------------------------------------------------------------------------- */

/* The column behind the code of the lines from `from` on that follow each other, each with a
 * comment behind code. */
static int comment_column(const FormatLine *lines, size_t count, size_t from)
{
  int widest = 0;
  for (size_t i = from; i < count && is_in_group(&lines[i]); i++) {
    if (i > from && lines[i].blank_before)
      break;
    if (lines[i].width > widest)
      widest = lines[i].width;
  }
  return widest;
}

static char *lines_join(const FormatLine *lines, size_t *length)
{
  char *text = NULL;
  size_t count = arrlenu(lines);
  FILE *out = base_text_open(&text, length);
  int column = 0;
  for (size_t i = 0; i < count; i++) {
    const FormatLine *line = &lines[i];
    if (line->blank_before)
      fputc('\n', out);
    if (line->comment && (i == 0 || !is_in_group(&lines[i - 1]) || line->blank_before))
      column = comment_column(lines, count, i);
    if (line->code)
      fwrite(line->code, 1, arrlenu(line->code), out);
    if (line->comment) {
      int pad = column > line->width ? column - line->width : 0;
      fprintf(out, "%*s", pad + 2, "");
      fwrite(line->comment, 1, line->comment_length, out);
    }
    fputc('\n', out);
  }
  base_text_close(out, &text);
  return text;
}

char *source_format(const Ast *ast, const SourceMap *sources, StrTable *names, size_t *length)
{
  Diags *quiet = diags_create(sources);   /* the tree has no errors, so its tokens have none */
  Arena *arena = arena_create("formatter");
  Token *tokens = tokens_of(sources, names, quiet, ast->file, arena);
  size_t text_length = 0;
  Formatter f = {.text = source_text(sources, ast->file, &text_length), .tokens = tokens};
  f.base = source_base(sources, ast->file);
  f.count = (uint32_t)arrlen(tokens) - 1;
  f.layout = arena_many(arena, TokenLayout, f.count + 1);
  read_tree(&f, ast);
  put_tokens(&f, text_length);
  char *text = lines_join(f.lines, length);
  for (size_t i = 0; i < arrlenu(f.lines); i++)
    arrfree(f.lines[i].code);
  arrfree(f.lines);
  arrfree(f.frames);
  arrfree(tokens);
  arena_destroy(arena);
  diags_destroy(quiet);
  return text;
}
