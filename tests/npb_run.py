"""The kernels of samples/npb and what the specification of the benchmarks says of their results, for
test_npb.py and the claim npb."""
import numpy

import harness

IS_KEYS, IS_MOST = 1 << 16, 1 << 11
IS_TESTED = (48427, 17148, 23627, 62548, 4431)      # places of the tested keys, class S
IS_RANKS = (0, 18, 346, 64917, 65463)               # their ranks before the first iteration


def is_keys():
    """The keys, by the generator in integers of any size."""
    x, factor, keys = 314159265, 5 ** 13, []
    for _ in range(IS_KEYS):
        total = 0
        for _ in range(4):
            x = x * factor % (1 << 46)
            total += x
        keys.append(total * (IS_MOST // 4) >> 46)
    return numpy.array(keys)


def is_wanted(iterations):
    """Ranks by the specification: the first three keys' grow by one each time, the others' fall."""
    return [[rank + i if k < 3 else rank - i for k, rank in enumerate(IS_RANKS)]
            for i in range(1, iterations + 1)]


def cycles_between(words):
    first, last = (sum(int(words[3 * i + k]) << 16 * k for k in range(3)) for i in (0, 1))
    return last - first


def run_is(folder, tiles, iterations, arch="wse2"):
    """Runs and verifies IS; gives the cycles of the slowest tile."""
    image = folder / "is.bin"
    harness.compile("samples/npb/is/layout.csl", image, f"--arch={arch}",
                    params={"tiles": tiles, "iterations": iterations})
    names = ("ranks", "range", "counts", "stamps")
    harness.emu(image, *(f"--d2h={name}={folder / name}.npy" for name in names), timeout=900)
    ranks, limits, counts, stamps = (
        harness.load_npy(folder / f"{name}.npy").reshape(tiles, -1) for name in names)
    got = ranks.max(axis=0).reshape(-1, len(IS_TESTED))[:iterations]
    assert got.tolist() == is_wanted(iterations)
    keys = is_keys()
    keys[iterations], keys[iterations + 10] = iterations, IS_MOST - iterations
    for i in range(1, iterations):
        keys[i], keys[i + 10] = i, IS_MOST - i
    want = numpy.bincount(keys, minlength=IS_MOST)
    found = numpy.zeros(IS_MOST, int)
    for tile in range(tiles):
        first, end = limits[tile]
        assert not counts[tile, :first].any() and not counts[tile, end:].any()
        found += counts[tile]
    numpy.testing.assert_array_equal(found, want)
    return max(cycles_between(words) for words in stamps)
