"""What the host does: it starts each round with arguments, and copies arrays in between."""
from dataclasses import dataclass, field

import numpy

from flows.code import DTYPES, FLOATS, WIDTHS

MOST_PARAMS = 4


@dataclass
class Launch:
    """A launch, the copies to the tiles before it, and those from the tiles behind it."""
    arguments: list               # (name of the global, kind, value)
    given: dict                   # by name of the array, by tile: its new values
    read: list                    # arrays
    seen: dict = field(default_factory=dict)          # by name, by tile: what it holds then

    def begin(self, envs):
        """By place, before the launch."""
        for env, place in ((env, place) for place, env in envs.items()):
            env.values.update((name, value) for name, _, value in self.arguments)
            for name, by_place in self.given.items():
                env.arrays[name] = by_place[place].copy()

    def end(self, envs):
        for array in self.read:
            self.seen[array.name] = {p: env.arrays[array.name].copy() for p, env in envs.items()}

    def text(self):
        return f"begin({', '.join(number_text(k, v) for _, k, v in self.arguments)})"


def make_launches(rng, arrays, places, rounds):
    """(parameters, launches)."""
    kinds = [rng.choice((*WIDTHS, *FLOATS)) for _ in range(rng.randrange(MOST_PARAMS + 1))]
    params = [(f"given_{i}", kind) for i, kind in enumerate(kinds)]
    launches = []
    for _ in range(rounds):
        given = {a.name: {p: random_values(rng, a.kind, a.size) for p in places}
                 for a in rng.sample(arrays, rng.randrange(3))}
        launches.append(Launch([(n, k, random_values(rng, k, 1)[0]) for n, k in params], given,
                               rng.sample(arrays, rng.randrange(3))))
    for launch in launches:
        launch.arguments = [(n, k, v if k in FLOATS else int(v)) for n, k, v in launch.arguments]
    return params, launches


def random_values(rng, kind, count):
    if kind in FLOATS:
        return numpy.array([rng.randrange(-24, 25) / 8 for _ in range(count)], DTYPES[kind])
    width = WIDTHS[kind]
    low = 0 if kind[0] == "u" else -(1 << width - 1)
    return numpy.array([low + rng.getrandbits(rng.choice((4, width))) for _ in range(count)],
                       DTYPES[kind])


def number_text(kind, value):
    return repr(float(value)) if kind in FLOATS else str(value)
