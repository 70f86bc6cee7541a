"""Filters: what a router lets through to its own tile."""
from dataclasses import dataclass, field


@dataclass
class CounterFilter:
    """Of each `limit` + 1 wavelets that it counts it passes those up to count `most`, and those
    that it does not count where it would pass one.  passes_words: it passes control wavelets only,
    and these only at count `most`."""
    limit: int
    most: int
    first: int
    counts_words: bool
    counts_data: bool = True
    passes_words: bool = False
    at: int = field(init=False)

    KIND = "counter"

    def __post_init__(self):
        self.begin()

    def begin(self):
        self.at = self.first

    def passes(self, wavelet):
        is_passed = self.at <= self.most
        if self.passes_words:
            is_passed = bool(wavelet.word) and self.at == self.most
        if self.counts_words if wavelet.word else self.counts_data:
            self.count()
        return is_passed

    def count(self):
        self.at = 0 if self.at == self.limit else self.at + 1

    def is_at_start(self):
        return self.at == self.first

    def config(self):
        return f".{{ .kind = .{{ .{self.KIND} = true }}, {', '.join(self.settings())} }}"

    def settings(self):
        counts = f".count_data = {truth(self.counts_data)}"
        if self.counts_words or not self.counts_data:
            counts += f", .count_control = {truth(self.counts_words)}"
        found = [counts, f".init_counter = {self.first}", f".limit1 = {self.limit}",
                 f".max_counter = {self.most}"]
        return found + ([".filter_control = true"] if self.passes_words else [])


@dataclass
class SparseFilter(CounterFilter):
    """A counter filter for one period, or two of other lengths; then it passes everything."""
    second: int = None            # the limit of the second period
    is_second: bool = False
    is_off: bool = False

    KIND = "sparse_counter"

    def begin(self):
        super().begin()
        self.is_second = self.is_off = False

    def passes(self, wavelet):
        return self.is_off or super().passes(wavelet)

    def count(self):
        if self.at < (self.second if self.is_second else self.limit):
            self.at += 1
            return
        self.at = 0
        self.is_off = self.is_second or self.second is None
        self.is_second = True

    def is_at_start(self):
        return super().is_at_start() and not self.is_second

    def settings(self):
        more = [] if self.second is None else [f".limit2 = {self.second}"]
        return super().settings() + more


@dataclass
class RangeFilter:
    """Passes elements by their index, and all control wavelets."""
    low: int
    high: int

    def begin(self):
        pass

    def passes(self, wavelet):
        return bool(wavelet.word) or self.low <= wavelet.index <= self.high

    @staticmethod
    def is_at_start():
        return True

    def config(self):
        return (f".{{ .kind = .{{ .range = true }}, .min_idx = {self.low}, "
                f".max_idx = {self.high} }}")


def truth(value):
    return "true" if value else "false"


def random_counter(rng):
    """Of any kind, which need not begin each step alike."""
    limit = rng.randrange(8)
    counts_words, passes_words = rng.random() < 0.5, rng.random() < 0.2
    most = rng.randrange(limit + 1)
    if rng.random() < 0.3:
        return CounterFilter(limit, most, rng.randrange(limit + 1), counts_words,
                             not counts_words or rng.random() < 0.8, passes_words)
    second = rng.choice((None, rng.randrange(8)))
    return SparseFilter(limit, most, rng.randrange(limit + 1), counts_words,
                        not counts_words or rng.random() < 0.8, passes_words, second)
