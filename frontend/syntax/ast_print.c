/* The tree as canonical CSL: one spelling for each tree, parentheses only where the grammar
 * needs them.  Follows parse.y; parsing the result gives the same tree. */
#include "frontend/syntax/syntax.h"

#include <string.h>

typedef struct {
  const Ast *ast;
  FILE *out;
  int indent;
} AstPrinter;

/* How tightly a node holds together, by the nonterminals of the grammar.  Between ANY and
 * PREFIX are the levels of the binary operators (nodes.def). */
enum {
  HOLDS_ANY = 0,            /* expr: blocks, if, switch, tensor accesses */
  HOLDS_BINARY = 1,         /* binary, lowest level */
  HOLDS_PREFIX = 8,         /* unary operators */
  HOLDS_LITERAL = 9,        /* T{...} and what is appended to it */
  HOLDS_TYPE = 10,          /* prefix types */
  HOLDS_SUFFIX = 11
};

static void print_expr(AstPrinter *p, const Node *n, int least);
static void print_stmt(AstPrinter *p, const Node *n);

/* ---- text ---------------------------------------------------------------------------------- */

static void put_text(AstPrinter *p, const char *text)
{
  fputs(text, p->out);
}

static void put_str(AstPrinter *p, StrId text)
{
  put_text(p, str_text(p->ast->names, text));
}

static void put_newline(AstPrinter *p)
{
  fprintf(p->out, "\n%*s", 2 * p->indent, "");
}

static void put_escaped(AstPrinter *p, unsigned char c, char quote)
{
  switch (c) {
  case '\n': put_text(p, "\\n"); return;
  case '\r': put_text(p, "\\r"); return;
  case '\t': put_text(p, "\\t"); return;
  case '\\': put_text(p, "\\\\"); return;
  default: break;
  }
  if (c == (unsigned char)quote)
    fprintf(p->out, "\\%c", c);
  else if (c < ' ' || c >= 0x7f)
    fprintf(p->out, "\\x%02x", c);
  else
    fputc(c, p->out);
}

static void put_string(AstPrinter *p, StrId bytes)
{
  const char *text = str_text(p->ast->names, bytes);
  size_t length = str_length(p->ast->names, bytes);
  fputc('"', p->out);
  for (size_t i = 0; i < length; i++)
    put_escaped(p, (unsigned char)text[i], '"');
  fputc('"', p->out);
}

/* Values up to 255 are written as a byte, others can only be a character. */
static void put_char(AstPrinter *p, uint32_t value)
{
  fputc('\'', p->out);
  if (value < 0x100) {
    put_escaped(p, (unsigned char)value, '\'');
  } else {
    int more = value < 0x800 ? 1 : value < 0x10000 ? 2 : 3;
    static const unsigned lead[] = {0, 0xc0, 0xe0, 0xf0};
    fputc((int)(lead[more] | value >> (6 * more)), p->out);
    while (more-- > 0)
      fputc((int)(0x80 | (value >> (6 * more) & 0x3f)), p->out);
  }
  fputc('\'', p->out);
}

static void put_int(AstPrinter *p, const NodeInt *n)
{
  put_text(p, n->base == 16 ? "0x" : n->base == 8 ? "0o" : n->base == 2 ? "0b" : "");
  if (n->big.raw) {
    put_str(p, n->big);
    return;
  }
  char digits[65];
  size_t at = sizeof digits - 1;
  uint64_t value = n->value;
  digits[at] = 0;
  do {
    digits[--at] = "0123456789abcdef"[value % n->base];
    value /= n->base;
  } while (value);
  put_text(p, digits + at);
}

/* ---- how a node holds together --------------------------------------------------------------- */

/* Constructs that end in a block, with or without comptime before them. */
static bool is_blocklike(const Node *n)
{
  return n->kind == ND_BLOCK || n->kind == ND_IF || n->kind == ND_SWITCH;
}

static int hold_of(const Node *n);

/* `base` with something appended: like `base`, or like (base). */
static int holds_appended(const Node *base)
{
  return hold_of(base) == HOLDS_LITERAL ? HOLDS_LITERAL : HOLDS_SUFFIX;
}

static int hold_of(const Node *n)
{
  switch ((int)n->kind) {
  case ND_BLOCK: case ND_IF: case ND_SWITCH: case ND_TENSOR_ACCESS: case ND_ASSIGN:
    return HOLDS_ANY;
  case ND_COMPTIME:
    return is_blocklike(node_comptime(n)->operand) ? HOLDS_ANY : HOLDS_PREFIX;
  case ND_BINARY:
    return binary_op_level(node_binary(n)->op);
  case ND_UNARY:
    return HOLDS_PREFIX;
  case ND_STRUCT_INIT:
    return node_struct_init(n)->type ? HOLDS_LITERAL : HOLDS_SUFFIX;
  case ND_LIST_INIT:
    return node_list_init(n)->type ? HOLDS_LITERAL : HOLDS_SUFFIX;
  case ND_ARRAY_TYPE: case ND_POINTER_TYPE: case ND_FN_TYPE:
    return HOLDS_TYPE;
  case ND_CALL:
    return holds_appended(node_call(n)->callee);
  case ND_INDEX:
    return holds_appended(node_index(n)->base_expr);
  case ND_MEMBER:
    return holds_appended(node_member(n)->base_expr);
  case ND_DEREF:
    return holds_appended(node_deref(n)->pointer);
  default:
    return HOLDS_SUFFIX;
  }
}

/* Whether an `else` right behind `n` would be taken by an `if` in it. */
static bool ends_in_open_if(const Node *n)
{
  if (n->kind == ND_COMPTIME)
    return ends_in_open_if(node_comptime(n)->operand);
  if (n->kind != ND_IF)
    return false;
  const NodeIf *self = node_if(n);
  return self->else_part == NULL || ends_in_open_if(self->else_part);
}

/* ---- parts --------------------------------------------------------------------------------- */

static void print_list(AstPrinter *p, const NodeList *list)
{
  for (uint32_t i = 0; i < list->count; i++) {
    put_text(p, i ? ", " : "");
    print_expr(p, list->at[i], HOLDS_ANY);
  }
}

static void print_args(AstPrinter *p, const NodeList *args)
{
  put_text(p, "(");
  print_list(p, args);
  put_text(p, ")");
}

/* Types in declarations: anything but a plain block. */
static void print_type(AstPrinter *p, const Node *n)
{
  bool bare = n->kind == ND_IF || n->kind == ND_SWITCH;
  print_expr(p, n, bare ? HOLDS_ANY : HOLDS_BINARY);
}

static void print_paren(AstPrinter *p, const Node *n)
{
  put_text(p, "(");
  print_expr(p, n, HOLDS_ANY);
  put_text(p, ")");
}

/* What something is appended to.  A number would swallow a '.'. */
static void print_base(AstPrinter *p, const Node *n)
{
  int h = hold_of(n);
  if (h < HOLDS_LITERAL || h == HOLDS_TYPE || n->kind == ND_INT || n->kind == ND_FLOAT)
    print_paren(p, n);
  else
    print_expr(p, n, HOLDS_LITERAL);
}

static void print_label(AstPrinter *p, Name label)
{
  if (name_is_given(label)) {
    put_str(p, label.text);
    put_text(p, ": ");
  }
}

static void print_attribute(AstPrinter *p, const char *name, const Node *value)
{
  if (value == NULL)
    return;
  fprintf(p->out, " %s", name);
  print_paren(p, value);
}

static void print_storage(AstPrinter *p, Storage storage)
{
  put_text(p, storage == STORAGE_EXPORT ? "export " : storage == STORAGE_EXTERN ? "extern " : "");
}

static void print_params(AstPrinter *p, const NodeList *params)
{
  put_text(p, "(");
  for (uint32_t i = 0; i < params->count; i++) {
    put_text(p, i ? ", " : "");
    print_expr(p, params->at[i], HOLDS_ANY);
  }
  put_text(p, ")");
}

static void print_block(AstPrinter *p, const NodeBlock *block)
{
  print_label(p, block->label);
  put_text(p, "{");
  p->indent++;
  for (uint32_t i = 0; i < block->stmts.count; i++) {
    put_newline(p);
    print_stmt(p, block->stmts.at[i]);
  }
  p->indent--;
  if (block->stmts.count)
    put_newline(p);
  put_text(p, "}");
}

static void print_switch(AstPrinter *p, const NodeSwitch *n)
{
  put_text(p, "switch ");
  print_paren(p, n->subject);
  put_text(p, " {");
  p->indent++;
  for (uint32_t i = 0; i < n->prongs.count; i++) {
    put_newline(p);
    print_expr(p, n->prongs.at[i], HOLDS_ANY);
    put_text(p, ",");
  }
  p->indent--;
  put_newline(p);
  put_text(p, "}");
}

static void print_prong(AstPrinter *p, const NodeProng *n)
{
  if (n->is_else)
    put_text(p, "else");
  print_list(p, &n->labels);
  put_text(p, " => ");
  print_expr(p, n->body, HOLDS_ANY);
}

static void print_if_expr(AstPrinter *p, const NodeIf *n)
{
  put_text(p, "if ");
  print_paren(p, n->cond);
  put_text(p, " ");
  if (n->else_part && ends_in_open_if(n->then_part))
    print_paren(p, n->then_part);
  else
    print_expr(p, n->then_part, HOLDS_ANY);
  if (n->else_part) {
    put_text(p, " else ");
    print_expr(p, n->else_part, HOLDS_ANY);
  }
}

static void print_assign(AstPrinter *p, const NodeAssign *n)
{
  print_expr(p, n->target, HOLDS_BINARY);
  const char *op = n->op == ASSIGN_PLAIN ? "" : binary_op_spelling((BinaryOp)n->op);
  fprintf(p->out, " %s= ", op);
  print_expr(p, n->value, HOLDS_ANY);
}

static void print_unary(AstPrinter *p, const NodeUnary *n)
{
  put_text(p, unary_op_spelling(n->op));
  const Node *x = n->operand;
  bool same = x->kind == ND_UNARY && node_unary(x)->op == UNARY_ADDRESS_OF;
  if (n->op == UNARY_ADDRESS_OF && same)
    print_paren(p, x);      /* "&&" would be read as one operator */
  else
    print_expr(p, x, HOLDS_PREFIX);
}

static void print_binary(AstPrinter *p, const NodeBinary *n)
{
  int level = binary_op_level(n->op);
  print_expr(p, n->left, binary_op_is_comparison(n->op) ? level + 1 : level);
  fprintf(p->out, " %s ", binary_op_spelling(n->op));
  print_expr(p, n->right, level + 1);
}

static void print_init(AstPrinter *p, const Node *type, const NodeList *items)
{
  if (type)
    print_expr(p, type, HOLDS_TYPE);
  else
    put_text(p, ".");
  put_text(p, items->count ? "{ " : "{");
  print_list(p, items);
  put_text(p, items->count ? " }" : "}");
}

static void print_tensor_access(AstPrinter *p, const NodeTensorAccess *n)
{
  put_text(p, "|");
  for (uint32_t i = 0; i < n->vars.count; i++) {
    put_text(p, i ? ", " : "");
    put_str(p, n->vars.at[i].text);
  }
  put_text(p, "|{ ");
  print_list(p, &n->extents);
  put_text(p, " } -> ");
  print_expr(p, n->target, HOLDS_SUFFIX);
  put_text(p, "[");
  print_list(p, &n->indices);
  put_text(p, "]");
}

static void print_asm(AstPrinter *p, const NodeAsm *n)
{
  put_text(p, n->is_volatile ? "asm volatile (" : "asm (");
  print_expr(p, n->text, HOLDS_ANY);
  const NodeList *parts[] = {&n->outputs, &n->inputs, &n->clobbers};
  size_t used = ARRAY_COUNT(parts);
  while (used > 0 && parts[used - 1]->count == 0)
    used--;
  for (size_t i = 0; i < used; i++) {
    put_text(p, " : ");
    print_list(p, parts[i]);
  }
  put_text(p, ")");
}

static void print_asm_operand(AstPrinter *p, const NodeAsmOperand *n)
{
  put_text(p, "[");
  put_str(p, n->name.text);
  put_text(p, "] ");
  put_string(p, n->constraint);
  print_paren(p, n->value);
}

static void print_param(AstPrinter *p, const NodeParam *n)
{
  put_text(p, n->is_comptime ? "comptime " : "");
  if (name_is_given(n->name)) {
    put_str(p, n->name.text);
    put_text(p, ": ");
  }
  print_type(p, n->type);
}

static void print_struct_type(AstPrinter *p, const NodeStructType *n)
{
  put_text(p, n->layout == LAYOUT_EXTERN ? "extern " : n->layout == LAYOUT_PACKED ? "packed " : "");
  put_text(p, n->is_union ? "union {" : "struct {");
  put_text(p, n->fields.count ? " " : "");
  print_list(p, &n->fields);
  put_text(p, n->fields.count ? " }" : "}");
}

static void print_enum_type(AstPrinter *p, const NodeEnumType *n)
{
  put_text(p, "enum ");
  if (n->tag_type) {
    put_text(p, "(");
    print_type(p, n->tag_type);
    put_text(p, ") ");
  }
  put_text(p, n->members.count ? "{ " : "{");
  print_list(p, &n->members);
  put_text(p, n->members.count ? " }" : "}");
}

static void print_pointer_type(AstPrinter *p, const NodePointerType *n)
{
  put_text(p, n->is_many ? "[*]" : "*");
  put_text(p, n->is_const ? "const " : "");
  print_expr(p, n->pointee, HOLDS_TYPE);
}

/* ---- declarations -------------------------------------------------------------------------- */

static void print_var_decl(AstPrinter *p, const NodeVarDecl *n)
{
  static const char *const words[] = {"const ", "var ", "param "};
  put_text(p, n->is_comptime ? "comptime " : "");
  print_storage(p, n->storage);
  put_text(p, words[n->var_kind]);
  put_str(p, n->name.text);
  if (n->type) {
    put_text(p, ": ");
    print_type(p, n->type);
  }
  print_attribute(p, "align", n->align);
  print_attribute(p, "linksection", n->linksection);
  print_attribute(p, "linkname", n->linkname);
  if (n->init) {
    put_text(p, " = ");
    print_expr(p, n->init, HOLDS_ANY);
  }
  put_text(p, ";");
}

static void print_fn_decl(AstPrinter *p, const NodeFnDecl *n)
{
  static const char *const inlining[] = {"", "inline ", "noinline "};
  print_storage(p, n->storage);
  put_text(p, inlining[n->inlining]);
  put_text(p, n->is_task ? "task " : "fn ");
  put_str(p, n->name.text);
  print_params(p, &n->params);
  put_text(p, " ");
  print_expr(p, n->result, HOLDS_TYPE);
  print_attribute(p, "align", n->align);
  print_attribute(p, "linksection", n->linksection);
  print_attribute(p, "linkname", n->linkname);
  if (n->body == NULL) {
    put_text(p, ";");
    return;
  }
  put_text(p, " ");
  print_expr(p, n->body, HOLDS_ANY);
}

/* ---- nodes --------------------------------------------------------------------------------- */

static void print_bare(AstPrinter *p, const Node *n)
{
  switch (node_kind(n)) {
  case ND_BAD: put_text(p, "<error>"); break;
  case ND_VAR_DECL: print_var_decl(p, node_var_decl(n)); break;
  case ND_FN_DECL: print_fn_decl(p, node_fn_decl(n)); break;
  case ND_PARAM: print_param(p, node_param(n)); break;
  case ND_LAYOUT:
    put_text(p, "layout ");
    print_expr(p, node_layout(n)->body, HOLDS_ANY);
    break;
  case ND_COLOR_DECL:
    put_text(p, "color ");
    put_str(p, node_color_decl(n)->name.text);
    put_text(p, ";");
    break;
  case ND_BLOCK: print_block(p, node_block(n)); break;
  case ND_ASSIGN: print_assign(p, node_assign(n)); break;
  case ND_IF: print_if_expr(p, node_if(n)); break;
  case ND_SWITCH: print_switch(p, node_switch(n)); break;
  case ND_PRONG: print_prong(p, node_prong(n)); break;
  case ND_FOR: case ND_WHILE: case ND_RETURN: case ND_BREAK: case ND_CONTINUE:
    print_stmt(p, n);
    break;
  case ND_INT: put_int(p, node_int(n)); break;
  case ND_FLOAT: put_str(p, node_float(n)->text); break;
  case ND_CHAR: put_char(p, node_char(n)->value); break;
  case ND_STRING: put_string(p, node_string(n)->bytes); break;
  case ND_BOOL: put_text(p, node_bool(n)->value ? "true" : "false"); break;
  case ND_STRUCT_INIT:
    print_init(p, node_struct_init(n)->type, &node_struct_init(n)->fields);
    break;
  case ND_FIELD_INIT:
    put_text(p, ".");
    put_str(p, node_field_init(n)->name.text);
    put_text(p, " = ");
    print_expr(p, node_field_init(n)->value, HOLDS_ANY);
    break;
  case ND_LIST_INIT: print_init(p, node_list_init(n)->type, &node_list_init(n)->items); break;
  case ND_IDENT: put_str(p, node_ident(n)->name); break;
  case ND_CALL:
    print_base(p, node_call(n)->callee);
    print_args(p, &node_call(n)->args);
    break;
  case ND_BUILTIN_CALL:
    put_text(p, "@");
    put_str(p, node_builtin_call(n)->name.text);
    print_args(p, &node_builtin_call(n)->args);
    break;
  case ND_INDEX:
    print_base(p, node_index(n)->base_expr);
    put_text(p, "[");
    print_list(p, &node_index(n)->indices);
    put_text(p, "]");
    break;
  case ND_MEMBER:
    print_base(p, node_member(n)->base_expr);
    put_text(p, ".");
    put_str(p, node_member(n)->name.text);
    break;
  case ND_DEREF:
    print_base(p, node_deref(n)->pointer);
    put_text(p, ".*");
    break;
  case ND_UNARY: print_unary(p, node_unary(n)); break;
  case ND_BINARY: print_binary(p, node_binary(n)); break;
  case ND_COMPTIME:
    put_text(p, "comptime ");
    print_expr(p, node_comptime(n)->operand,
               is_blocklike(node_comptime(n)->operand) ? HOLDS_ANY : HOLDS_PREFIX);
    break;
  case ND_TENSOR_ACCESS: print_tensor_access(p, node_tensor_access(n)); break;
  case ND_ASM: print_asm(p, node_asm(n)); break;
  case ND_ASM_OPERAND: print_asm_operand(p, node_asm_operand(n)); break;
  case ND_ARRAY_TYPE:
    put_text(p, "[");
    print_list(p, &node_array_type(n)->dims);
    put_text(p, "]");
    print_expr(p, node_array_type(n)->element, HOLDS_TYPE);
    break;
  case ND_POINTER_TYPE: print_pointer_type(p, node_pointer_type(n)); break;
  case ND_FN_TYPE:
    put_text(p, node_fn_type(n)->is_task ? "task" : "fn");
    print_params(p, &node_fn_type(n)->params);
    put_text(p, " ");
    print_expr(p, node_fn_type(n)->result, HOLDS_TYPE);
    break;
  case ND_STRUCT_TYPE: print_struct_type(p, node_struct_type(n)); break;
  case ND_FIELD_DECL:
    put_str(p, node_field_decl(n)->name.text);
    put_text(p, ": ");
    print_type(p, node_field_decl(n)->type);
    break;
  case ND_ENUM_TYPE: print_enum_type(p, node_enum_type(n)); break;
  case ND_ENUM_MEMBER:
    put_str(p, node_enum_member(n)->name.text);
    if (node_enum_member(n)->value) {
      put_text(p, " = ");
      print_expr(p, node_enum_member(n)->value, HOLDS_ANY);
    }
    break;
  case ND_ANYTYPE: put_text(p, "anytype"); break;
  case ND_COUNT: break;
  }
}

/* In parentheses unless it holds together at least as well as `least`. */
static void print_expr(AstPrinter *p, const Node *n, int least)
{
  if (hold_of(n) < least)
    print_paren(p, n);
  else
    print_bare(p, n);
}

/* ---- statements ---------------------------------------------------------------------------- */

static void print_if_stmt(AstPrinter *p, const NodeIf *n)
{
  put_text(p, "if ");
  print_paren(p, n->cond);
  put_text(p, " ");
  if (n->else_part && ends_in_open_if(n->then_part)) {
    print_paren(p, n->then_part);
    put_text(p, ";");
  } else {
    print_stmt(p, n->then_part);
  }
  if (n->else_part) {
    put_text(p, " else ");
    print_stmt(p, n->else_part);
  }
}

static void print_for(AstPrinter *p, const NodeFor *n)
{
  print_label(p, n->label);
  put_text(p, n->is_inline ? "inline for " : "for ");
  print_paren(p, n->iterable);
  put_text(p, " |");
  put_str(p, n->item.text);
  if (name_is_given(n->index)) {
    put_text(p, ", ");
    put_str(p, n->index.text);
  }
  put_text(p, "| ");
  print_stmt(p, n->body);
}

static void print_while(AstPrinter *p, const NodeWhile *n)
{
  print_label(p, n->label);
  put_text(p, n->is_inline ? "inline while " : "while ");
  print_paren(p, n->cond);
  if (n->step) {
    put_text(p, " : ");
    print_paren(p, n->step);
  }
  put_text(p, " ");
  print_stmt(p, n->body);
}

static void print_jump(AstPrinter *p, const char *word, Name label, const Node *value)
{
  put_text(p, word);
  if (name_is_given(label)) {
    put_text(p, " :");
    put_str(p, label.text);
  }
  if (value) {
    put_text(p, " ");
    print_expr(p, value, HOLDS_ANY);
  }
  put_text(p, ";");
}

static void print_stmt(AstPrinter *p, const Node *n)
{
  switch ((int)n->kind) {
  case ND_BLOCK: case ND_SWITCH: case ND_VAR_DECL: case ND_FN_DECL: case ND_LAYOUT:
  case ND_COLOR_DECL: case ND_BAD:
    print_bare(p, n);
    return;
  case ND_IF:
    print_if_stmt(p, node_if(n));
    return;
  case ND_FOR:
    print_for(p, node_for(n));
    return;
  case ND_WHILE:
    print_while(p, node_while(n));
    return;
  case ND_RETURN:
    print_jump(p, "return", (Name){{0}, {0, 0}}, node_return(n)->value);
    return;
  case ND_BREAK:
    print_jump(p, "break", node_break(n)->label, node_break(n)->value);
    return;
  case ND_CONTINUE:
    print_jump(p, "continue", node_continue(n)->label, NULL);
    return;
  case ND_COMPTIME: {
    const Node *operand = node_comptime(n)->operand;
    if (operand->kind == ND_BLOCK && !name_is_given(node_block(operand)->label)) {
      print_bare(p, n);
      return;
    }
    break;
  }
  case ND_ASSIGN:
    print_assign(p, node_assign(n));
    put_text(p, ";");
    return;
  default:
    break;
  }
  print_expr(p, n, HOLDS_BINARY);
  put_text(p, ";");
}

/* ---- entry --------------------------------------------------------------------------------- */

static bool has_body(const Node *n)
{
  return n->kind == ND_FN_DECL || n->kind == ND_LAYOUT || n->kind == ND_COMPTIME;
}

void ast_print(const Ast *ast, FILE *out)
{
  AstPrinter p = {.ast = ast, .out = out};
  for (uint32_t i = 0; i < ast->decls.count; i++) {
    const Node *n = ast->decls.at[i];
    if (i > 0 && (has_body(n) || has_body(ast->decls.at[i - 1])))
      fputc('\n', out);
    print_stmt(&p, n);
    fputc('\n', out);
  }
}
