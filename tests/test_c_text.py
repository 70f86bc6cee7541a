"""What tests/c_text.py reads from C code."""
import c_text

CODE = """/* int old(void) { } */
#define TWICE(x) { (x) + (x) }
typedef int (*Handler)(int a, int b);
static inline bool is_odd(unsigned n) { return n % 2; }
char *name_of(const Thing *t,
              unsigned n)
{
  if (n) {
    return "{";   // }
  }
  return is_odd(n) ? t->name : NULL;
}
int later(void);
"""


def test_functions_are_found():
    assert [(f.name, f.is_static) for f in c_text.functions(CODE)] == [
        ("is_odd", True), ("name_of", False)]
    assert c_text.functions(CODE)[1].body.endswith("NULL;\n}")
    assert c_text.defined(CODE) == {"name_of"}
    assert c_text.declared(CODE) == {"later"}


def test_comments_are_no_code():
    assert c_text.code_lines("/* a\n b */\nint x;   /* c */\n\n// d\n") == 1


def test_operators_are_one_token():
    assert c_text.tokens("a->b <<= c++") == ["a", "->", "b", "<<=", "c", "++"]


def test_fields_are_counted():
    code = """typedef struct {
  int a, b[2], *c;
  enum { ONE, TWO } d;
  union { int e; struct { int f, g; } h; } i;
  void (*call)(int x, int y);
  unsigned j : 3;
} Big;
struct Small { int a; };
"""
    assert c_text.struct_fields(code) == [("Big", 9), ("Small", 1)]


def test_calls_are_arrows_between_files():
    sources = {"a": "int one_thing(void)\n{\n  return 1;\n}\n",
               "b": "int two_things(void)\n{\n  return one_thing() + 1;   /* other() */\n}\n"}
    assert dict(c_text.calls(sources)) == {("b", "a"): {"one_thing"}}


def test_a_circle_would_be_seen():
    arrows = [(1, 2), (2, 3), (3, 1), (3, 4)]
    assert c_text.largest_circle([1, 2, 3, 4], arrows) == [1, 2, 3]
