"""Seeded miscompiles: wrong rules of the optimiser, to show that a test would find such a mistake.

The optimiser knows nothing of them.  A row quotes a place of it with the right expression and the
wrong one: `@{right @or wrong}@`.  build() compiles a copy of the sources in which the environment
variable WSE_MISCOMPILE names the row whose wrong expression counts.  tests/test_seeded_miscompiles.py
holds the quotes against the sources.
"""
import re
import shutil
import subprocess
from typing import NamedTuple

import harness

FOLDER = harness.ROOT / "build" / "miscompile"
SOURCES = ("ir", "frontend", "emu", "stdlib", "cmake")


class Miscompile(NamedTuple):
    name: str
    what: str
    file: str
    quote: str


SIMPLIFY, MEMORY = "ir/opt/pass_simplify.c", "ir/opt/pass_memory.c"
ROWS = [Miscompile(*row) for row in (
    ("reassociate", "(x op c) op d loses d", SIMPLIFY,
     "emit_const(s, insn->type, @{sum @or c}@, insn->loc)"),
    ("sub_const", "x - c becomes x + c", SIMPLIFY,
     "emit_const(s, insn.type, @{0 - c @or c}@, insn.loc)"),
    ("mul_shift", "a product by 2^k shifts by k + 1", SIMPLIFY,
     "IR_shl, x, emit_const(s, IRT_I16, @{(uint64_t)log2_of(c) @or (uint64_t)log2_of(c) + 1}@"),
    ("and_ones", "x & all ones becomes all ones", SIMPLIFY,
     "case IR_and: return c == 0 ? insn.args[1] : c == ones ? @{x @or insn.args[1]}@"),
    ("sdiv_bias", "signed division by 2^k rounds down", SIMPLIFY,
     "rewrite_as(s, v, IR_ashr, @{sum @or x}@, emit_const"),
    ("urem_mask", "unsigned x % 2^k keeps one bit too many", SIMPLIFY,
     "IR_and, insn.args[0], emit_const(s, insn.type, @{c - 1 @or 2 * c - 1}@, insn.loc)"),
    ("reciprocal", "the reciprocal of a 16-bit divisor is one too small", SIMPLIFY,
     "loc, wide, emit_const(s, IRT_I32, @{m @or m - 1}@, loc)"),
    ("sdiv_sign", "signed division by a product forgets to add 1 to negative quotients", SIMPLIFY,
     "if (@{is_signed @or false}@) { IrValue sign ="),
    ("negate_order", "the negation of an order keeps its operands in place", SIMPLIFY,
     "*swap = @{rows[i].swap @or false}@;"),
    ("compare_itself", "x <= x is false", SIMPLIFY,
     "holds = insn->op == IR_eq || "
     "@{insn->op == IR_sle || insn->op == IR_ule @or false}@;"),
    ("shift_twice", "of two shifts the second is lost", SIMPLIFY,
     "c >= width ? width : c + @{d @or 0}@"),
    ("trunc_mask", "a mask under a truncation is always dropped", SIMPLIFY,
     "!const_of(s, inner->args[1], &c) || @{(c & low) != low @or false}@) return false; "
     "rewrite_as(s, v, IR_trunc"),
    ("sext_of_zext", "a sign extension of a zero extension extends the sign", SIMPLIFY,
     "rewrite_as(s, v, @{inner->op @or insn->op}@, inner->args[0], IR_NO_VALUE);"),
    ("fdiv_inexact", "division becomes a product by an inexact reciprocal", SIMPLIFY,
     "if (@{is_exact @or true}@) rewrite_as(s, v, IR_fmul"),
    ("branch_negated", "a branch on a negation keeps its targets in place", SIMPLIFY,
     "insn->u.targets[0] = @{insn->u.targets[1] @or yes}@; "
     "insn->u.targets[1] = @{yes @or insn->u.targets[1]}@;"),
    ("forward_offset", "a load takes what was stored elsewhere in the object", MEMORY,
     "a.base == b.base && a.object == b.object && @{a.offset == b.offset @or true}@;"),
    ("alias_unknown", "unknown pointers are taken to point nowhere else", "ir/opt/memory.c",
     "return @{is_exposed(a, exposed) && is_exposed(b, exposed) @or false}@;"),
    ("cse_dominance", "a value computed on another path is used", "ir/opt/pass_cse.c",
     "if (!@{cfg_dominates(&t->cfg, t->block_of[v], block) @or true}@) { *link = t->next[v];"),
    ("licm_written", "loads leave loops that write what they read", "ir/opt/pass_licm.c",
     "for (uint32_t i = 0; i < @{h->n_writes @or 0}@; i++) if (opt_may_write("),
    ("copyprop_merge", "a block parameter takes the constant of one way in",
     "ir/opt/pass_copyprop.c", "x->type == y->type && @{x->imm == y->imm @or true}@;"),
    ("fill_order", "fills of one loop follow each other although they overlap", "ir/opt/pass_fill.c",
     "if (@{fill->word != x->fills[i].word && !are_apart @or false}@) return false;"),
    ("unroll_twice", "a loop takes what another unrolled loop leaves a turn too late",
     "ir/opt/pass_unroll.c",
     "@{u->loop.block_of[operand->raw] == u->loop.head @or true}@) *operand = u->now"),
    ("dsd_recursion", "a loop keeps descriptors in DSRs that a call in it loads again",
     "ir/opt/pass_dsd.c", "return @{seen[k->f - k->m->funcs] @or false}@;"),
)]
NAMES = [row.name for row in ROWS]

CHOICE = re.compile(r"@\{(.*?) @or (.*?)\}@")
SEEDED = """#include <stdlib.h>
#include <string.h>
static int is_seeded(const char *name)
{
  const char *chosen = getenv("WSE_MISCOMPILE");
  return chosen && strcmp(chosen, name) == 0;
}
"""


def place_of(row):
    """What finds the place in the sources, however its lines are broken: right expressions are
    groups."""
    parts = CHOICE.split(row.quote)      # text, right, wrong, text, right, wrong, text
    parts[1::3] = (f"\0{right}\1" for right in parts[1::3])
    parts[2::3] = [""] * len(parts[2::3])
    return re.compile(spaced("".join(parts)).replace("\0", "(").replace("\1", ")"))


def spaced(text):
    return r"\s+".join(re.escape(word) for word in text.split(" "))


def seeded(row, text):
    """The file's text with both expressions; exactly one place has to be there."""
    place, wrong = place_of(row), iter(CHOICE.findall(row.quote))
    found = place.findall(text)
    assert len(found) == 1, f"{row.name}: {len(found)} places in {row.file}"
    match, out, end = place.search(text), [], 0
    for i in range(1, place.groups + 1):
        out += [text[end:match.start(i)],
                f'(is_seeded("{row.name}") ? ({next(wrong)[1]}) : ({match.group(i)}))']
        end = match.end(i)
    return "".join(out) + text[end:]


def write_sources(folder, rows):
    shutil.rmtree(folder, ignore_errors=True)
    for name in SOURCES:
        shutil.copytree(harness.ROOT / name, folder / name, dirs_exist_ok=True)
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "tests" / "CMakeLists.txt").write_text("")
    shutil.copy2(harness.ROOT / "CMakeLists.txt", folder)
    for file in sorted({row.file for row in rows}):
        text = (harness.ROOT / file).read_text()
        for row in rows:
            if row.file == file:
                text = seeded(row, text)
        (folder / file).write_text(SEEDED + text)


def build(rows=ROWS, folder=FOLDER):
    """The folder with the programs."""
    write_sources(folder / "source", rows)
    for command in (["cmake", "-S", folder / "source", "-B", folder, "-G", "Ninja",
                     "-DCMAKE_BUILD_TYPE=Release"],
                    ["cmake", "--build", folder, "--target", "cslc", "wse-emu"]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return folder / "bin"
