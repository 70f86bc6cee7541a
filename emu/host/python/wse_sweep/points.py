"""Points of a sweep: dictionaries of numbers and texts."""
import itertools

__all__ = ["SweepError", "check_point", "grid"]


class SweepError(ValueError):
    """A mistake in a sweep, not in one of its points."""


def check_point(point, place):
    """Only what a file and a table can hold may stand in a point."""
    if not isinstance(point, dict) or not point:
        raise SweepError(f"{place}: a point is a dictionary with one name at least, such as "
                         f"{{\"P\": 4}}; not {point!r}")
    for name, value in point.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise SweepError(f"{place}: the name {name!r} is not made of letters, digits and _")
        if not isinstance(value, (bool, int, float, str)):
            raise SweepError(f"{place}: {name} is {value!r}; numbers and texts can stand in a "
                             "point")
    return point


def grid(**lists):
    """All combinations of the values of each name; the last name changes fastest."""
    for name, values in lists.items():
        if not isinstance(values, (list, tuple, range)) or not values:
            raise SweepError(f"{name}: a list of at least one value has to stand here, not "
                             f"{values!r}")
    return [check_point(dict(zip(lists, values)), f"point {number}")
            for number, values in enumerate(itertools.product(*lists.values()))]
