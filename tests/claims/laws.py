#!/usr/bin/python3
"""Broadcast and chain reduce obey the published performance model.

For each P and B the emulated cycles minus the model (T_R = 2) lie in [20, 64] and vary by at
most 4 over B; results are right.  Model: 2(P-1)(T_R+1) + B for the chain, 2 T_R + P + B for the
broadcast (ETH thesis on collectives for the wafer-scale engine).

Short form: test_claims.py::test_a_quick_claim_holds.
"""
from claims import Claims, harness

T_R = 2
TILES = (4, 32, 128, 512)
LENGTHS = (1, 16, 256, 1024, 4096)
OVERHEAD = (20, 64)
SPREAD = 4


def chain_model(tiles, length):
    return 2 * (tiles - 1) * (T_R + 1) + length


def broadcast_model(tiles, length):
    return 2 * T_R + tiles + length


def chain_is_right(image, scratch, tiles, length):
    harness.emu(image, f"--d2h=sum@0,0,1,1={scratch}/v.npy", f"--stats={scratch}/s.json",
                timeout=600)
    total = harness.load_npy(scratch / "v.npy").ravel()
    # Tile p starts with p + i; whole numbers below 2^24 add exactly in any order.
    expected = [tiles * (tiles - 1) // 2 + tiles * i for i in range(length)]
    return list(total) == expected


def broadcast_is_right(image, scratch, tiles, length):
    harness.emu(image, f"--d2h=v@0,0,{tiles},1={scratch}/v.npy", f"--stats={scratch}/s.json",
                timeout=600)
    got = harness.load_npy(scratch / "v.npy").reshape(tiles, length)
    return bool((got == range(1, length + 1)).all())


def main():
    claims = Claims()
    for sample, model, right in (("reduce-chain", chain_model, chain_is_right),
                                 ("broadcast-1d", broadcast_model, broadcast_is_right)):
        for tiles in TILES:
            overheads = []
            for length in LENGTHS:
                image = claims.scratch / "p.bin"
                harness.compile(f"samples/{sample}/layout.csl", image, "-O1",
                                params={"P": tiles, "B": length})
                claims.equals(f"{sample} P={tiles} B={length} result is right",
                              right(image, claims.scratch, tiles, length), True)
                cycles = harness.stats(claims.scratch / "s.json")["cycles"]
                overheads.append(cycles - model(tiles, length))
                claims.within(f"{sample} P={tiles} B={length} cycles - model", overheads[-1],
                              *OVERHEAD)
            claims.at_most(f"{sample} P={tiles} spread over B", max(overheads) - min(overheads),
                           SPREAD)
    claims.finish()


main()
