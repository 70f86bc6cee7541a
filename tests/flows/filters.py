"""Filters: what a router lets through to its own tile."""
from dataclasses import dataclass, field


@dataclass
class CounterFilter:
    """Of each `limit` + 1 wavelets that it counts it passes those up to count `most`, and control
    wavelets that it does not count where it would pass an element."""
    limit: int
    most: int
    first: int
    counts_words: bool
    at: int = field(init=False)

    def __post_init__(self):
        self.at = self.first

    def passes(self, wavelet):
        is_passed = self.at <= self.most
        if not wavelet.word or self.counts_words:
            self.at = 0 if self.at == self.limit else self.at + 1
        return is_passed

    def is_at_start(self):
        return self.at == self.first

    def config(self):
        counts = f".count_data = true, .count_control = {'true' if self.counts_words else 'false'}"
        return (f".{{ .kind = .{{ .counter = true }}, {counts}, .init_counter = {self.first}, "
                f".limit1 = {self.limit}, .max_counter = {self.most} }}")


@dataclass
class RangeFilter:
    """Passes elements by their index, and all control wavelets."""
    low: int
    high: int

    def passes(self, wavelet):
        return bool(wavelet.word) or self.low <= wavelet.index <= self.high

    @staticmethod
    def is_at_start():
        return True

    def config(self):
        return (f".{{ .kind = .{{ .range = true }}, .min_idx = {self.low}, "
                f".max_idx = {self.high} }}")
