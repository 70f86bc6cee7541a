/* The tree's tables and generic walks, made from nodes.def. */
#include "frontend/syntax/parse_internal.h"

#include <string.h>

const char *node_kind_name(NodeKind kind)
{
  static const char *const names[] = {
#define NODE(KIND, Struct, accessor, text, fields) [ND_##KIND] = text,
#include "frontend/syntax/nodes.def"
  };
  return names[kind];
}

typedef struct { const char *spelling; int level; } BinaryOpRow;

static const BinaryOpRow binary_ops[] = {
#define BINARY_OP(name, spelling, level) [BINARY_##name] = {spelling, level},
#include "frontend/syntax/nodes.def"
};

static const char *const unary_ops[] = {
#define UNARY_OP(name, spelling) [UNARY_##name] = spelling,
#include "frontend/syntax/nodes.def"
};

const char *binary_op_spelling(BinaryOp op)
{
  return binary_ops[op].spelling;
}

int binary_op_level(BinaryOp op)
{
  return binary_ops[op].level;
}

const char *unary_op_spelling(UnaryOp op)
{
  return unary_ops[op];
}

static void visit_list(const NodeList *list, NodeVisit *visit, void *context)
{
  for (uint32_t i = 0; i < list->count; i++)
    visit(context, list->at[i]);
}

void node_visit_children(const Node *n, NodeVisit *visit, void *context)
{
  switch (node_kind(n)) {
#define FIELD_NODE(name) visit(context, self->name);
#define FIELD_OPT(name) if (self->name) visit(context, self->name);
#define FIELD_LIST(name) visit_list(&self->name, visit, context);
#define FIELD_NAME(name)
#define FIELD_NAMES(name)
#define FIELD_STR(name)
#define FIELD_NUM(type, name)
#define FIELD_FLOAT(name)
#define FIELD_SPAN(name)
#define NODE(KIND, Struct, accessor, text, fields) \
  case ND_##KIND: { \
    const Node##Struct *self = node_##accessor(n); \
    (void)self; \
    fields \
    break; \
  }
#include "frontend/syntax/nodes.def"
  case ND_COUNT:
    break;
  }
}

static void raise_height(void *context, Node *child)
{
  uint16_t *height = context;
  if (child->height > *height)
    *height = child->height;
}

Node *ast_add(Ast *ast, Diags *diags, NodeKind kind, Span span, const Node *draft, size_t size)
{
  Node *node = arena_alloc(ast->arena, size, _Alignof(max_align_t));
  memcpy(node, draft, size);
  node->kind = (uint16_t)kind;
  node->span = span;
  uint16_t height = 0;
  node_visit_children(node, raise_height, &height);
  if (height >= AST_MAX_HEIGHT) {
    if (!ast->is_too_deep)
      diag_nested_too_deep(diags, span, AST_MAX_HEIGHT);
    ast->is_too_deep = true;
    return ast_add(ast, diags, ND_BAD, span, &(NodeBad){.head = {0}}.head, sizeof(NodeBad));
  }
  node->height = (uint16_t)(height + 1);
  node->index = ast->node_count++;
  return node;
}

/* ---- structural dump ----------------------------------------------------------------------- */

typedef struct {
  const Ast *ast;
  FILE *out;
  int depth;
} Dump;

static void dump_bytes(Dump *d, const char *field, StrId text)
{
  fprintf(d->out, " %s=\"", field);
  const char *bytes = str_text(d->ast->names, text);
  for (size_t i = 0; i < str_length(d->ast->names, text); i++) {
    unsigned char c = (unsigned char)bytes[i];
    if (c > ' ' && c < 0x7f && c != '"' && c != '\\')
      fputc(c, d->out);
    else
      fprintf(d->out, "\\x%02x", c);
  }
  fputc('"', d->out);
}

static void dump_names(Dump *d, const char *field, const NameList *names)
{
  for (uint32_t i = 0; i < names->count; i++)
    dump_bytes(d, field, names->at[i].text);
}

static void dump_node(Dump *d, const Node *n);

/* A missing child and an empty list leave their line, so that children cannot change places. */
static void dump_child(Dump *d, const char *field, const Node *child)
{
  fprintf(d->out, "\n%*s%s:", 2 * d->depth, "", field);
  if (child)
    dump_node(d, child);
}

static void dump_list(Dump *d, const char *field, const NodeList *list)
{
  fprintf(d->out, "\n%*s%s[%u]:", 2 * d->depth, "", field, list->count);
  for (uint32_t i = 0; i < list->count; i++)
    dump_child(d, "-", list->at[i]);
}

static void dump_node(Dump *d, const Node *n)
{
  fprintf(d->out, " %s", node_kind_name(node_kind(n)));
  d->depth++;
  switch (node_kind(n)) {
#define FIELD_NODE(name) dump_child(d, #name, self->name);
#define FIELD_OPT(name) dump_child(d, #name, self->name);
#define FIELD_LIST(name) dump_list(d, #name, &self->name);
#define FIELD_NAME(name) dump_bytes(d, #name, self->name.text);
#define FIELD_NAMES(name) dump_names(d, #name, &self->name);
#define FIELD_STR(name) dump_bytes(d, #name, self->name);
#define FIELD_NUM(type, name) fprintf(d->out, " " #name "=%lld", (long long)self->name);
#define FIELD_FLOAT(name)
#define FIELD_SPAN(name)
#define NODE(KIND, Struct, accessor, text, fields) \
  case ND_##KIND: { \
    const Node##Struct *self = node_##accessor(n); \
    (void)self; \
    fields \
    break; \
  }
#include "frontend/syntax/nodes.def"
  case ND_COUNT:
    break;
  }
  d->depth--;
}

void ast_dump(const Ast *ast, FILE *out)
{
  Dump dump = {.ast = ast, .out = out};
  dump_list(&dump, "file", &ast->decls);
  fputc('\n', out);
}
