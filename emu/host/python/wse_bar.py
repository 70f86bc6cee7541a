"""Bars that show how far a long run is: tqdm's, where there is a terminal."""
import sys

__all__ = ["NoTqdm", "bar_of"]


class NoTqdm(Exception):
    """A bar was asked for, and tqdm is not installed."""


class _NoBar:
    """Where there is no terminal, or no tqdm."""

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        pass

    def update(self, count):
        pass


def bar_of(total, progress, unit="piece"):
    """A bar on stderr for so many units: as the caller wants it, or, if the caller does not say
    (None), on a terminal if the work takes longer than a second."""
    if progress is None and not sys.stderr.isatty() or progress is False:
        return _NoBar()
    try:
        from tqdm import tqdm
    except ImportError:
        if progress:
            raise NoTqdm("progress=True needs tqdm: install it (Debian: apt-get install "
                         "python3-tqdm), or leave the option away") from None
        return _NoBar()
    return tqdm(total=total, unit=unit, file=sys.stderr, delay=0 if progress else 1)
