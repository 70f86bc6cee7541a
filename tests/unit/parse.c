/* The syntax tree as later stages rely on it: dense indices, places, heights, texts. */
#include "frontend/syntax/syntax.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
  SourceMap *sources;
  StrTable *names;
  Diags *diags;
  FileId file;
  Ast *ast;
} Parsed;

static Parsed parse(const char *text)
{
  Parsed p = {.sources = source_map_create(), .names = strtable_create()};
  p.diags = diags_create(p.sources);
  p.file = source_add(p.sources, "t.csl", text, strlen(text));
  p.ast = ast_parse(p.sources, p.names, p.diags, p.file);
  return p;
}

static void release(Parsed *p)
{
  ast_destroy(p->ast);
  diags_destroy(p->diags);
  strtable_destroy(p->names);
  source_map_destroy(p->sources);
}

/* The text that a span covers. */
static const char *covered(const Parsed *p, Span span)
{
  static char text[200];
  size_t length = 0;
  const char *file = source_text(p->sources, p->file, &length);
  assert_true(span.len < sizeof text);
  memcpy(text, file + (span.off - source_base(p->sources, p->file)), span.len);
  text[span.len] = 0;
  return text;
}

#define assert_covers(p, span, wanted) assert_string_equal(covered(p, span), wanted)

/* ---- indices and heights ---------------------------------------------------------------------- */

typedef struct { const Ast *ast; bool *seen; } Census;

static void count_node(void *context, Node *n)
{
  Census *census = context;
  assert_true(n->index < census->ast->node_count);
  assert_false(census->seen[n->index]);
  census->seen[n->index] = true;
  node_visit_children(n, count_node, context);
}

static void indices_are_dense(void **state)
{
  (void)state;
  Parsed p = parse("const a = .{ .x = 1, .y = f(2, b[3]) };\n"
                   "fn f(a: i16) void { if (a > 1) return; else { a = 2; } }\n");
  assert_false(p.ast->has_errors);
  Census census = {p.ast, calloc(p.ast->node_count, sizeof(bool))};
  for (uint32_t i = 0; i < p.ast->decls.count; i++)
    count_node(&census, p.ast->decls.at[i]);
  for (uint32_t i = 0; i < p.ast->node_count; i++)
    assert_true(census.seen[i]);
  free(census.seen);
  release(&p);
}

static void height_is_bounded(void **state)
{
  (void)state;
  char text[3 * AST_MAX_HEIGHT + 100];
  for (int over = -1; over <= 1; over++) {
    /* the declaration and the operand are one level each */
    int minus = AST_MAX_HEIGHT - 2 + over;
    static const char head[] = "const a = ";
    size_t start = sizeof head - 1;
    memcpy(text, head, start);
    memset(text + start, '-', (size_t)minus);
    memcpy(text + start + (size_t)minus, "1;", sizeof "1;");
    Parsed p = parse(text);
    assert_int_equal(p.ast->has_errors, over > 0);
    assert_int_equal(p.ast->is_too_deep, over > 0);
    release(&p);
  }
}

/* ---- places ------------------------------------------------------------------------------------ */

static void spans_cover_the_construct(void **state)
{
  (void)state;
  Parsed p = parse("  const  sum : u16 =  aa  +  b.cc[1] ;\n");
  const NodeVarDecl *decl = node_var_decl(p.ast->decls.at[0]);
  assert_covers(&p, decl->head.span, "const  sum : u16 =  aa  +  b.cc[1] ;");
  assert_covers(&p, decl->name.span, "sum");
  assert_covers(&p, decl->type->span, "u16");
  const NodeBinary *add = node_binary(decl->init);
  assert_covers(&p, add->head.span, "aa  +  b.cc[1]");
  assert_covers(&p, add->op_span, "+");
  assert_covers(&p, add->left->span, "aa");
  const NodeIndex *index = node_index(add->right);
  assert_covers(&p, index->head.span, "b.cc[1]");
  assert_covers(&p, node_member(index->base_expr)->name.span, "cc");
  release(&p);
}

static void empty_parts_widen_nothing(void **state)
{
  (void)state;
  Parsed p = parse("const z = 1;\n\n   fn f(a: i16, comptime b: u16) void linkname(\"g\") {}\n");
  const NodeFnDecl *fn = node_fn_decl(p.ast->decls.at[1]);
  assert_covers(&p, fn->head.span,
                "fn f(a: i16, comptime b: u16) void linkname(\"g\") {}");
  assert_covers(&p, fn->header, "fn f(a: i16, comptime b: u16) void");
  assert_covers(&p, fn->params.at[1]->span, "comptime b: u16");
  assert_covers(&p, fn->result->span, "void");
  assert_covers(&p, fn->linkname->span, "\"g\"");
  release(&p);
}

/* ---- values ------------------------------------------------------------------------------------- */

static const Node *first_init(const Parsed *p)
{
  return node_var_decl(p->ast->decls.at[0])->init;
}

static void literals_are_decoded(void **state)
{
  (void)state;
  Parsed p = parse("const a = .{ 0xffff_ffff_ffff_ffff, 0x1_0000_0000_0000_0000, 0o17, 1.5e1, "
                   "'\\x41', 'é', \"a\\x00b\" };");
  const NodeList *items = &node_list_init(first_init(&p))->items;
  assert_true(node_int(items->at[0])->value == UINT64_MAX);
  assert_int_equal(node_int(items->at[0])->big.raw, 0);
  assert_string_equal(str_text(p.names, node_int(items->at[1])->big), "10000000000000000");
  assert_int_equal(node_int(items->at[1])->base, 16);
  assert_int_equal(node_int(items->at[2])->value, 15);
  assert_true(node_float(items->at[3])->value == 15.0);
  assert_int_equal(node_char(items->at[4])->value, 0x41);
  assert_int_equal(node_char(items->at[5])->value, 0xe9);
  assert_int_equal(str_length(p.names, node_string(items->at[6])->bytes), 3);
  assert_memory_equal(str_text(p.names, node_string(items->at[6])->bytes), "a\0b", 3);
  release(&p);
}

/* ---- errors --------------------------------------------------------------------------------------- */

static void statements_around_an_error_survive(void **state)
{
  (void)state;
  Parsed p = parse("fn f() void {\n  a = 1;\n  b = ;\n  c = 3;\n  switch (x) { 1 => , 2 => d() }\n"
                   "  e = 5\n  g = 6;\n}\nconst h = 1;\n");
  assert_true(p.ast->has_errors);
  assert_int_equal(diags_error_count(p.diags), 3);
  assert_int_equal(p.ast->decls.count, 2);
  const NodeList *stmts = &node_block(node_fn_decl(p.ast->decls.at[0])->body)->stmts;
  static const NodeKind wanted[] = {ND_ASSIGN, ND_BAD, ND_ASSIGN, ND_SWITCH, ND_BAD, ND_ASSIGN};
  assert_int_equal(stmts->count, ARRAY_COUNT(wanted));
  for (size_t i = 0; i < ARRAY_COUNT(wanted); i++)
    assert_int_equal(stmts->at[i]->kind, wanted[i]);
  assert_int_equal(node_switch(stmts->at[3])->prongs.count, 2);
  release(&p);
}

static void tables_are_complete(void **state)
{
  (void)state;
  for (int k = 0; k < ND_COUNT; k++)
    assert_non_null(node_kind_name((NodeKind)k));
  for (int op = 0; op < BINARY_COUNT; op++) {
    assert_non_null(binary_op_spelling((BinaryOp)op));
    assert_in_range(binary_op_level((BinaryOp)op), 1, 7);
  }
  for (int op = 0; op < UNARY_COUNT; op++)
    assert_non_null(unary_op_spelling((UnaryOp)op));
}

/* The grammar's precedences are those of nodes.def. */
static void levels_agree_with_the_grammar(void **state)
{
  (void)state;
  for (int a = 0; a < BINARY_COUNT; a++) {
    for (int b = 0; b < BINARY_COUNT; b++) {
      int la = binary_op_level((BinaryOp)a), lb = binary_op_level((BinaryOp)b);
      char text[80];
      snprintf(text, sizeof text, "const x = p %s q %s r;", binary_op_spelling((BinaryOp)a),
               binary_op_spelling((BinaryOp)b));
      Parsed p = parse(text);
      bool chains = la == lb && binary_op_is_comparison((BinaryOp)a);
      assert_int_equal(p.ast->has_errors, chains);
      if (!chains)
        assert_int_equal(node_binary(first_init(&p))->op, la >= lb ? b : a);
      release(&p);
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(indices_are_dense),
    cmocka_unit_test(height_is_bounded),
    cmocka_unit_test(spans_cover_the_construct),
    cmocka_unit_test(empty_parts_widen_nothing),
    cmocka_unit_test(literals_are_decoded),
    cmocka_unit_test(statements_around_an_error_survive),
    cmocka_unit_test(tables_are_complete),
    cmocka_unit_test(levels_agree_with_the_grammar),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
