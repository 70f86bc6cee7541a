"""csl-fmt: its layout by example; it changes white space only, and nothing the second time."""
import re

import pytest

import harness

OURS = sorted(p for folder in ("samples", "stdlib", "tests/golden")
              for p in (harness.ROOT / folder).rglob("*.csl"))
OTHERS = sorted(p for folder in ("parse", "lang", "mistakes")
                for p in (harness.ROOT / "tests" / folder).rglob("*.csl"))

UGLY = """\
// A file without care.


param  size :u16 ;   // elements
param rate:f32=-1.5;     // of change
                         // per step
const  m=@import_module( "<math>" , .{.a=1,.b = .{} } );

const t =[2][*]const  u16{ &a ,&b };
const d = @get_dsd(mem1d_dsd, .{.tensor_access=|i , j|{ size,2 }->x[i*2+ j]});
fn f(a:u16,
     b: [ 3 ]*u16) *u16 {

\tvar x=a*-b[ 1 ].*+ ( 2 -1 );
\tif (x==1 and
\tx>0) return &x;
  else if (!done)
  x+=1;
  else {x-=1;}
  outer:while(x<3):(x+=1) {
      for(list)|item,k| {
          if(k==2) break  :outer;   // enough
      }
  // not reached
  }
  switch(x){
  1=>g( x,
     y),
  else=>h(
  x, .{
  .a = 1, }
  )
  }
  return  if (x < 0) a
  else b ;

}
comptime{ @export_name("f",fn( u16 )void); }
"""

NEAT = """\
// A file without care.

param size: u16;         // elements
param rate: f32 = -1.5;  // of change
                         // per step
const m = @import_module("<math>", .{ .a = 1, .b = .{} });

const t = [2][*]const u16{ &a, &b };
const d = @get_dsd(mem1d_dsd, .{ .tensor_access = |i, j|{size, 2} -> x[i * 2 + j] });
fn f(a: u16,
     b: [3]*u16) *u16 {
  var x = a * -b[1].* + (2 - 1);
  if (x == 1 and
      x > 0) return &x;
  else if (!done)
    x += 1;
  else { x -= 1; }
  outer: while (x < 3) : (x += 1) {
    for (list) |item, k| {
      if (k == 2) break :outer;  // enough
    }
    // not reached
  }
  switch (x) {
    1 => g(x,
      y),
    else => h(
      x, .{
        .a = 1, }
    )
  }
  return if (x < 0) a
         else b;
}
comptime { @export_name("f", fn(u16) void); }
"""


def fmt(*args, **options):
    return harness.run([harness.tool("csl-fmt"), *args], **options)


def formatted(tmp_path, text):
    path = tmp_path / "in.csl"
    path.write_text(text)
    return fmt(path).out


def tokens_of(path):
    """Kinds and texts, without places."""
    ran = harness.cslc("--emit=tokens", path)
    return [line.split(" ", 1)[1] for line in ran.out.splitlines()]


def comments_of(text):
    """Those that stand in no string; a string of the language ends on its line."""
    return [c.rstrip() for c in re.findall(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(//.*)',
                                           text) if c]


def test_layout(tmp_path):
    assert formatted(tmp_path, UGLY) == NEAT


def test_the_library_and_the_samples_are_in_this_layout():
    ours = [path for path in OURS if "golden" not in path.parts]
    assert len(ours) > 200 and fmt("--check", *ours).out == ""


def test_nothing_changes_the_second_time(tmp_path):
    assert formatted(tmp_path, NEAT) == NEAT


@pytest.mark.parametrize("text,want", [
    ("", ""), ("\n\n", ""), ("// only\n\n\n// comments", "// only\n\n// comments\n"),
    ("\ufeffvar x:u16;\r\n", "var x: u16;\n"),
    ("const s = \"// no  comment\"  ; //  a comment  \n", "const s = \"// no  comment\";  //  a comment\n"),
    ("var a = \"\u00e9\"; // x\nvar bcd = 1; // y\n",
     "var a = \"\u00e9\";  // x\nvar bcd = 1;  // y\n"),
    ("const a = &  & b;\n", "const a = & &b;\n"), ("const a = b & & c;\n", "const a = b & &c;\n"),
    ("const a = - - ! ~ & b;\n", "const a = --!~&b;\n")])
def test_edges(tmp_path, text, want):
    assert formatted(tmp_path, text) == want


@pytest.mark.parametrize("path", OURS + OTHERS, ids=lambda p: str(p.relative_to(harness.ROOT)))
def test_tokens_and_comments_stay(path, tmp_path):
    ran = fmt(path, expect=None)
    if ran.code == 1 and "tests/golden" in str(path):
        assert "error" in ran.err and ran.out == ""
        return
    out = tmp_path / "out.csl"
    out.write_text(ran.out)
    assert ran.code == 0
    assert tokens_of(out) == tokens_of(path)
    assert comments_of(ran.out) == comments_of(path.read_text())
    assert fmt(out).out == ran.out


def test_standard_input(tmp_path):
    import subprocess
    for args in ([], ["-"]):
        done = subprocess.run([harness.tool("csl-fmt"), *args], input=UGLY, capture_output=True,
                              text=True, timeout=60)
        assert (done.returncode, done.stdout) == (0, NEAT)


def test_check_and_in_place(tmp_path):
    good, bad = tmp_path / "good.csl", tmp_path / "bad.csl"
    good.write_text(NEAT)
    bad.write_text(UGLY)
    ran = fmt("--check", good, bad, expect=1)
    assert ran.out == f"{bad}\n" and bad.read_text() == UGLY
    assert fmt("-i", good, bad).out == "" and bad.read_text() == NEAT
    assert fmt("--check", good, bad).out == ""


def test_mistakes(tmp_path):
    path = tmp_path / "bad.csl"
    path.write_text("var x u16;\n")
    ran = fmt("-i", path, expect=1)
    assert f"{path}:1:7: error" in ran.err and path.read_text() == "var x u16;\n"
    assert "cannot read" in fmt(tmp_path / "none.csl", expect=1).err
    assert "exclude each other" in fmt("-i", "--check", path, expect=2).err
    fmt("--nonsense", expect=2)
