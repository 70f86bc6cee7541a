"""A short run of the oracle (tests/oracle); the long one is claims/oracle.py."""
import random

import pytest

import harness
from oracle import check, formats, reduce
from oracle.expressions import Binary, Literal, Name
from oracle.statements import Assign, ForRange, Function
from oracle.types import I16, Struct


@pytest.mark.long
def test_the_oracle_agrees_with_every_level_on_both_machines():
    for seed in (7, random.SystemRandom().getrandbits(32)):
        total = check.run(check.BATCH, seed, jobs=1)
        assert not total.failures, f"seed {seed}: {total.failures[0]}"
        assert not total.differences, f"seed {seed}: " + "\n".join(map(str, total.differences))
        assert total.functions >= 80 and total.known > 0


def test_compile_time_computes_a_fifth_of_the_calls():
    """The share varies too much from batch to batch (18 to 35 %) for a bound on each of them."""
    total = check.Outcome()
    for seed in random.SystemRandom().sample(range(1 << 32), 8):
        total.count(check.make(seed, check.BATCH)[0])
    assert total.known > 0.2 * total.calls


def test_a_program_that_is_too_large_is_made_smaller():
    """Also if the compiler has more warnings than the report of the failure shows."""
    warnings = "p-0.csl:9:9: warning: this gives the variable the value that it has\n" * 999
    message = harness.shown_messages(
        "error: the program does not fit [ir_too_large]\n"
        f"/p-0.csl:1:4: note: 'drive6' takes 2924 bytes\n{warnings}")
    programs, _ = check.make(7, 20)
    functions = len(programs[0].arguments)
    assert check.TOO_LARGE.search(message) and check.halve_too_large(programs, message)
    assert len(programs[0].arguments) == functions // 2


def test_no_field_of_a_union_shows_padding():
    """Padding has no value, so that the oracle could not say what such a field holds."""
    structs = 0
    for seed in range(300):
        for union in check.choose.Types(random.Random(seed), "f16").unions:
            for _, kind in union.fields:
                structs += isinstance(kind, Struct) and kind.kind == "extern"
                ones = kind.encode(kind.decode((1 << union.width) - 1))
                assert ones == (1 << union.width) - 1, f"seed {seed}: {kind} in {union}"
    assert structs > 20


def test_functions_of_short_loops_read_what_another_loop_moved():
    """In straight code of such loops an optimiser mistook a variable for its next value."""
    rng, found = random.Random(7), 0
    for _ in range(200):
        types = check.choose.Types(rng, "f16")
        maker = check.TurnMaker(rng, "fun0", types, [])
        loops = [s for s in maker.function().body if isinstance(s, ForRange)]
        moved = [{a.to.text() for a in nodes(loop, Assign)} for loop in loops]
        read = [{n.name for a in nodes(loop, Assign) for n in nodes(a.value, Name)}
                for loop in loops]
        names = {n.name for n in maker.carried}
        found += any(names & moved[i] & read[j] - moved[j]
                     for j in range(len(loops)) for i in range(j))
    assert found > 40, found


def nodes(node, kind):
    """Those of a kind in a tree, the root included."""
    below = [n for _, _, child in node.children() if not isinstance(child, Function)
             for n in nodes(child, kind)]
    return [node] * isinstance(node, kind) + below


def test_the_formats_round_once():
    f16, f32 = formats.FORMATS["f16"], formats.FORMATS["f32"]
    assert formats.rounded(f16, 2049.0) == formats.rounded(f16, 2048.0) == 0x6800   # ties to even
    assert formats.rounded(f16, 65520.0) == f16.infinity and formats.rounded(f16, 65519.0) == 0x7bff
    assert formats.rounded(f32, formats.Fraction(1, 3)) == 0x3eaaaaab
    assert formats.rounded(formats.FORMATS["cb16"], 6.0) == 0x5900
    assert formats.number(f16, 1) == 2.0 ** -24 and formats.rounded(f16, 2.0 ** -25) == 0


def test_the_reducer_keeps_only_what_differs(tmp_path):
    """Here whatever still has a division differs."""
    p, q = Name(I16, "p0"), Name(I16, "p1")
    result = Binary(I16, "+", Binary(I16, "*", p, q), Binary(I16, "/", p, Literal(I16, 3, True)))
    function = Function("fun0", [("p0", I16), ("p1", I16)], I16, [], result)

    def differs(program):
        return True if "/" in program.functions[0].text() else None

    found = reduce.Reducer(check.choose.Types(random.Random(1), "f16"), [function], function,
                           [[5, 6], [7, 8]], differs).run()
    assert function.result.text() == "(@as(i16, 0) / 3)"
    assert len(found[0].driven[0].calls) == 1
