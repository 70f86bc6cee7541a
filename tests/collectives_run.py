"""Three collectives in a row on emulated tiles against the same in numpy, for
test_collectives.py and the claims.

A configuration is a dictionary of the parameters of tests/stdlib/lines/layout.csl, or of
tests/stdlib/allreduces/layout.csl: ring, butterfly, exchange, and reduce and broadcast in one
program.
"""
import functools

import numpy

import harness

PROGRAM = harness.ROOT / "tests" / "stdlib" / "lines" / "layout.csl"
ALLREDUCES = harness.ROOT / "tests" / "stdlib" / "allreduces" / "layout.csl"

TYPES = [numpy.float32, numpy.float16, numpy.int16, numpy.uint16, numpy.int32, numpy.uint32]
TYPE_NAMES = ["f32", "f16", "i16", "u16", "i32", "u32"]
ADD, MAX, MIN, MUL = range(4)
OPERATION_NAMES = ["add", "max", "min", "mul"]
FUNCTIONS = [numpy.add, numpy.maximum, numpy.minimum, numpy.multiply]
PATTERN_NAMES = ["star", "chain", "tree", "two_phase", "optimal", "auto"]
ROW, COLUMN, SNAKE, RECTANGLE = range(4)
REDUCE, ALLREDUCE, MIXED = range(3)

DEFAULTS = {"width": 4, "height": 1, "shape": ROW, "what": REDUCE, "pattern_a": 1, "pattern_b": 1,
            "step": 0, "root_a": 0, "root_b": 0, "shared": 0, "in_place": 1, "with_task": 0,
            "element": 0, "operation": ADD, "skew": 0, "first": 4, "second": 4, "third": 4}

RING, BUTTERFLY, EXCHANGE, NAIVE, PLANNED, CHOSEN = range(6)
KIND_NAMES = ["ring", "butterfly", "exchange", "reduce and broadcast", "plan", "choice"]
KINDS = ("kind_a", "kind_b", "kind_c")
ALLREDUCE_DEFAULTS = {
    "width": 4, "height": 1, "shape": ROW, "kind_a": RING, "kind_b": RING, "kind_c": RING,
    "group": 2, "pattern": 1, "root": 0, "shared": 0, "in_place": 1, "with_task": 0, "element": 0,
    "operation": ADD, "skew": 0, "first": 4, "second": 4, "third": 4}


def values(random, config, shape):
    """Numbers for which every order of the operations gives the same result."""
    dtype = TYPES[config["element"]]
    operation = config["operation"]
    if numpy.issubdtype(dtype, numpy.integer):
        info = numpy.iinfo(dtype)
        return random.integers(info.min, info.max, shape, dtype, endpoint=True)
    if operation == ADD:
        most = 1000 if dtype == numpy.float32 else 2048 // (shape[0] * shape[1])
        return random.integers(-most, most, shape, endpoint=True).astype(dtype)
    if operation == MUL:
        signs = random.choice([-1.0, 1.0], shape)
        twos = random.random(shape) < min(0.5, 4 / (shape[0] * shape[1]))
        return numpy.where(twos, 2 * signs, signs).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def line_order(config):
    """(x, y) of the tiles of a line in its order."""
    width, height = config["width"], config["height"]
    tiles = []
    for y in range(height):
        row = [(x, y) for x in range(width)]
        tiles += row if config["shape"] != SNAKE or y % 2 == 0 else row[::-1]
    return tiles


def root_of(config, call):
    """(x, y) of the root of a call."""
    if config["shape"] == RECTANGLE:
        return config["root_a"], config["root_b"]
    second = config["what"] != MIXED and call == 1 or config["what"] == MIXED and call != 0
    return line_order(config)[config["root_b" if second else "root_a"]]


def slices(config):
    """Where the vectors of the calls lie in `data`; a guard element follows each."""
    first, second, third = config["first"], config["second"], config["third"]
    begins = 0, first + 1, first + second + 2
    return [slice(b, b + n) for b, n in zip(begins, (first, second, third))]


def combined(config, data):
    """(height, width, n) to (n)."""
    function = FUNCTIONS[config["operation"]]
    flat = data.reshape(data.shape[0] * data.shape[1], data.shape[2])
    with numpy.errstate(over="ignore"):
        return functools.reduce(function, flat)


def check_call(config, call, data, after):
    part = slices(config)[call]
    x, y = root_of(config, call)
    label = f"call {call} of {config}"
    if config["what"] == MIXED and call == 1:
        want = numpy.broadcast_to(data[y, x, part], after[..., part].shape)
        numpy.testing.assert_array_equal(after[..., part], want, err_msg=label)
        return
    want = combined(config, data[..., part])
    if config["what"] == ALLREDUCE:
        want = numpy.broadcast_to(want, after[..., part].shape)
        numpy.testing.assert_array_equal(after[..., part], want, err_msg=label)
    else:
        numpy.testing.assert_array_equal(after[y, x, part], want, err_msg=label)


def check_guards(config, data, after):
    ends = [part.stop for part in slices(config)]
    numpy.testing.assert_array_equal(after[..., ends], data[..., ends],
                                     err_msg=f"written behind a vector: {config}")


def emulate(folder, program, config, data, *args, engine, arch, level):
    """What `data` and `out` (or `data`, in place) hold at the end, and the statistics."""
    folder.mkdir(exist_ok=True)
    image = folder / "lines.bin"
    harness.compile(program, image, level, f"--arch={arch}", params=config)
    source = harness.save_npy(folder / "data.npy", data)
    result = folder / "after.npy"
    kept = folder / "kept.npy"
    name = "data" if config["in_place"] else "out"
    harness.emu(image, f"--engine={engine}", f"--h2d=data={source}", "--run",
                f"--d2h={name}={result}", f"--d2h=data={kept}",
                f"--d2h=stamps={folder / 'stamps.npy'}", f"--stats={folder / 's.json'}", *args,
                timeout=900)
    return (harness.load_npy(kept).reshape(data.shape),
            harness.load_npy(result).reshape(data.shape), harness.stats(folder / "s.json"))


def start_values(config, seed):
    words = config["first"] + config["second"] + config["third"] + 3
    return values(numpy.random.default_rng(seed), config,
                  (config["height"], config["width"], words))


def run(folder, settings, *args, seed=0, engine="fast", arch="wse2", level="-O1"):
    """Compiles and runs a configuration and compares all results; gives the statistics."""
    config = {**DEFAULTS, **settings}
    data = start_values(config, seed)
    before, after, stats = emulate(folder, PROGRAM, config, data, *args, engine=engine, arch=arch,
                                   level=level)
    if not config["in_place"]:
        mixed = config["what"] == MIXED
        for call, part in enumerate(slices(config)):
            if not (mixed and call == 1):
                numpy.testing.assert_array_equal(before[..., part], data[..., part])
            else:
                after[..., part] = before[..., part]
    for call in range(3):
        check_call(config, call, data, after)
    if config["in_place"]:
        check_guards(config, data, after)
    return stats


def run_allreduces(folder, settings, *args, seed=0, engine="fast", arch="wse2", level="-O1"):
    """The same for allreduces by ring, butterfly, exchange, and reduce and broadcast."""
    config = {**ALLREDUCE_DEFAULTS, **settings}
    data = start_values(config, seed)
    before, after, stats = emulate(folder, ALLREDUCES, config, data, *args, engine=engine,
                                   arch=arch, level=level)
    for call, part in enumerate(slices(config)):
        want = numpy.broadcast_to(combined(config, data[..., part]), after[..., part].shape)
        numpy.testing.assert_array_equal(after[..., part], want, err_msg=f"call {call} of {config}")
        if not config["in_place"]:
            numpy.testing.assert_array_equal(before[..., part], data[..., part])
    if config["in_place"]:
        check_guards(config, data, after)
    return stats


def log_uniform(random, low, high):
    return int(round(2 ** random.uniform(numpy.log2(low), numpy.log2(high))))


def random_config(random, pattern, shape, most_tiles, most_elements, most_work):
    """A configuration whose first plan has the pattern; the second has any."""
    config = dict(DEFAULTS, shape=shape, pattern_a=pattern)
    while True:
        if shape in (ROW, COLUMN):
            tiles = log_uniform(random, 2, most_tiles)
            config["width"], config["height"] = (tiles, 1) if shape == ROW else (1, tiles)
        else:
            side = min(64, most_tiles)
            config["width"] = log_uniform(random, 1, side)
            config["height"] = log_uniform(random, 2, side)
        tiles = config["width"] * config["height"]
        lengths = sorted((log_uniform(random, 1, most_elements) for _ in range(3)), reverse=True)
        random.shuffle(lengths)
        config["first"], config["second"], config["third"] = lengths
        config["pattern_b"] = int(random.integers(0, 6))
        config["element"] = int(random.integers(0, 6))
        if fits(config) and tiles * sum(lengths) * weight(config) <= most_work:
            break
    config["operation"] = int(random.integers(0, 4))
    config["what"] = int(random.integers(0, 3))
    config["in_place"] = int(random.integers(0, 2))
    config["shared"] = int(random.integers(0, 2))
    config["with_task"] = int(random.random() < 0.3 and config["what"] != MIXED)
    limits = (config["width"], config["height"]) if shape == RECTANGLE else (tiles, tiles)
    config["root_a"] = int(random.integers(0, limits[0])) if random.random() < 0.6 else 0
    config["root_b"] = int(random.integers(0, limits[1])) if random.random() < 0.6 else 0
    config["skew"] = int(random.choice([0, 0, 20, 300]))
    config["step"] = int(random.integers(0, 9)) if random.random() < 0.3 else 0
    return config


def random_allreduces(random, kind, shape, most_tiles, most_elements, most_work):
    """A configuration whose first call has the kind; the others may have any, on the same colors or
    on colors of their own."""
    config = dict(ALLREDUCE_DEFAULTS, shape=shape, kind_a=kind)
    while True:
        if kind == EXCHANGE:
            sides = [(2, 1), (1, 2), (2, 1), (1, 2)][shape]
        elif shape in (ROW, COLUMN):
            few = kind == PLANNED and random.random() < 0.5      # where plans differ
            tiles = log_uniform(random, 2, 8 if few else most_tiles)
            sides = (tiles, 1) if shape == ROW else (1, tiles)
        else:
            side = min(22, most_tiles)
            sides = log_uniform(random, 1, side), log_uniform(random, 2, side)
        config["width"], config["height"] = sides
        tiles = sides[0] * sides[1]
        lengths = sorted((log_uniform(random, 1, most_elements) for _ in range(3)), reverse=True)
        random.shuffle(lengths)
        config["first"], config["second"], config["third"] = lengths
        config["element"] = int(random.integers(0, 6))
        config["group"] = min(log_uniform(random, 2, 16), max(tiles, 2))
        words = sum(lengths) + 3
        bytes_each = TYPES[config["element"]]().itemsize
        fits_a_tile = (2 * words + max(lengths)) * bytes_each < 36000
        slow = 1 + 4 * (config["element"] >= 2)
        if fits_a_tile and tiles * sum(lengths) * slow * config["group"] <= most_work:
            break
    shared = int(random.integers(0, 2))
    others = [RING, BUTTERFLY, NAIVE] + [EXCHANGE] * (tiles == 2) + [PLANNED] * shared
    mixes = random.random() < 0.6 and (kind != PLANNED or shared)
    config["kind_b"] = int(random.choice(others)) if mixes else kind
    config["kind_c"] = int(random.choice(others)) if mixes else kind
    config["operation"] = int(random.integers(0, 4))
    config["pattern"] = int(random.integers(0, 6))
    config["root"] = int(random.integers(0, tiles))
    config["shared"] = shared
    config["in_place"] = int(random.integers(0, 2))
    config["with_task"] = int(random.integers(0, 2))
    config["skew"] = int(random.choice([0, 0, 20, 300]))
    return config


def weight(config):
    """Work of an element, roughly: patterns whose root takes every vector cost most."""
    stars = (config["pattern_a"] == 0) + (config["pattern_b"] == 0)
    slow = config["element"] >= 2
    return (1 + 4 * stars) * (1 + 4 * slow)


def fits(config):
    """Tiles of trees at most as the library says; vectors of a tile in 40 KB."""
    tiles = config["width"] * config["height"]
    words = config["first"] + config["second"] + config["third"] + 3
    bytes_each = TYPES[config["element"]]().itemsize
    is_line = config["shape"] != RECTANGLE
    return words * bytes_each * 2 < 38000 and (not is_line or tiles <= 1024)
