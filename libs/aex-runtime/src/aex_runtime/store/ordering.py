"""The order of index values, equal to Firestore's: null, booleans, integers, text by code point."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass

from aex_runtime.store.port import Bound, Scalar

Rank = tuple[int, int | str]
"""Sort key of an index value: a number for its type, then the value."""
SMALLEST_INTEGER = -(2**63)


def index_sort_key(value: Scalar) -> Rank:
    """Return the sort key of an index value. Booleans sort before integers, so that `True` differs from 1."""
    if value is None:
        return (0, 0)
    if isinstance(value, bool):
        return (1, int(value))
    return (2, value) if isinstance(value, int) else (3, value)


_HOLDS = {"==": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def is_within_bound(value: Scalar, bound: Bound) -> bool:
    """Return whether a value is within a bound. A value of another type than the bound's never is."""
    left, right = index_sort_key(value), index_sort_key(bound.value)
    if left[0] != right[0]:
        return False
    return bool(_HOLDS[bound.comparison](left, right))


_SMALLEST: tuple[Rank, ...] = ((0, 0), (1, 0), (2, SMALLEST_INTEGER), (3, ""), (4, 0))
"""The smallest sort key of each type, then one above all sort keys."""


@dataclass(frozen=True, slots=True)
class Edge:
    """The lower or upper end of a range of index values."""

    value: Rank
    inclusive: bool

    def lower_sort_key(self) -> tuple[Rank, bool]:
        """Return a sort key for lower ends: the end with the greatest key excludes the most."""
        return (self.value, not self.inclusive)

    def upper_sort_key(self) -> tuple[Rank, bool]:
        """Return a sort key for upper ends: the end with the smallest key excludes the most."""
        return (self.value, self.inclusive)


def tightest_edges(bounds: Sequence[Bound]) -> tuple[Edge | None, Edge | None]:
    """Return the lower and the upper end that together satisfy all bounds; each None if `bounds` is empty.

    A bound also excludes values of other types than that of its `value`.
    """
    lows, highs = [], []
    for bound in bounds:
        value = index_sort_key(bound.value)
        lows.append(Edge(_SMALLEST[value[0]], inclusive=True))
        highs.append(Edge(_SMALLEST[value[0] + 1], inclusive=False))
        if bound.comparison in {">", ">=", "=="}:
            lows.append(Edge(value, bound.comparison != ">"))
        if bound.comparison in {"<", "<=", "=="}:
            highs.append(Edge(value, bound.comparison != "<"))
    return max(lows, key=Edge.lower_sort_key, default=None), min(highs, key=Edge.upper_sort_key, default=None)
