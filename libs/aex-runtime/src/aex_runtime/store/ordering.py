"""The order of index values, as Firestore's: null, booleans, integers, text by code point."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass

from aex_runtime.store.port import Bound, Scalar

Rank = tuple[int, int | str]
"""Type and value, by which index values are compared."""
SMALLEST_INTEGER = -(2**63)


def rank(value: Scalar) -> Rank:
    """Return the value's rank among all values. `True` is not 1."""
    if value is None:
        return (0, 0)
    if isinstance(value, bool):
        return (1, int(value))
    return (2, value) if isinstance(value, int) else (3, value)


_HOLDS = {"==": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def satisfies(value: Scalar, bound: Bound) -> bool:
    """Return whether a value satisfies a bound, which only values of the same type can."""
    left, right = rank(value), rank(bound.value)
    if left[0] != right[0]:
        return False
    return bool(_HOLDS[bound.comparison](left, right))


_SMALLEST: tuple[Rank, ...] = ((0, 0), (1, 0), (2, SMALLEST_INTEGER), (3, ""), (4, 0))
"""The smallest rank of each type, then one above all ranks."""


@dataclass(frozen=True, slots=True)
class Edge:
    """An end of a range of ordered values."""

    value: Rank
    inclusive: bool

    def as_low(self) -> tuple[Rank, bool]:
        """Return the sort key of a lower end: the greater, the tighter."""
        return (self.value, not self.inclusive)

    def as_high(self) -> tuple[Rank, bool]:
        """Return the sort key of an upper end: the smaller, the tighter."""
        return (self.value, self.inclusive)


def edges_of(bounds: Sequence[Bound]) -> tuple[Edge | None, Edge | None]:
    """Return the tightest lower and upper end; a bound also limits values to its own type."""
    lows, highs = [], []
    for bound in bounds:
        value = rank(bound.value)
        lows.append(Edge(_SMALLEST[value[0]], inclusive=True))
        highs.append(Edge(_SMALLEST[value[0] + 1], inclusive=False))
        if bound.comparison in {">", ">=", "=="}:
            lows.append(Edge(value, bound.comparison != ">"))
        if bound.comparison in {"<", "<=", "=="}:
            highs.append(Edge(value, bound.comparison != "<"))
    return max(lows, key=Edge.as_low, default=None), min(highs, key=Edge.as_high, default=None)
