"""Ranges of ordered values: what a query's bounds and the end of the page before leave to read."""

from collections.abc import Sequence
from dataclasses import dataclass

from aex_runtime.store.order import SMALLEST_INTEGER, Rank, rank
from aex_runtime.store.port import Bound

_SMALLEST: tuple[Rank, ...] = ((0, 0), (1, 0), (2, SMALLEST_INTEGER), (3, ""), (4, 0))
"""The first value of each type, in the order of types; the last stands above them all."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One end of a range of ordered values."""

    value: Rank
    inclusive: bool

    def as_low(self) -> tuple[Rank, bool]:
        """Greater is tighter."""
        return (self.value, not self.inclusive)

    def as_high(self) -> tuple[Rank, bool]:
        """Smaller is tighter."""
        return (self.value, self.inclusive)


def edges_of(bounds: Sequence[Bound]) -> tuple[Edge | None, Edge | None]:
    """The tightest ends; a bound also confines to values of its own type."""
    lows, highs = [], []
    for bound in bounds:
        here = rank(bound.value)
        lows.append(Edge(_SMALLEST[here[0]], inclusive=True))
        highs.append(Edge(_SMALLEST[here[0] + 1], inclusive=False))
        if bound.comparison in {">", ">=", "=="}:
            lows.append(Edge(here, bound.comparison != ">"))
        if bound.comparison in {"<", "<=", "=="}:
            highs.append(Edge(here, bound.comparison != "<"))
    return max(lows, key=Edge.as_low, default=None), min(highs, key=Edge.as_high, default=None)


def outside(point: Edge, low: Edge | None, high: Edge | None) -> bool:
    """Whether a point lies beyond one of the ends."""
    return (low is not None and point.as_low() < low.as_low()) or (
        high is not None and point.as_high() > high.as_high()
    )


def tighter_low(edge: Edge, low: Edge | None) -> Edge:
    """The greater of two lower ends."""
    return edge if low is None else max(edge, low, key=Edge.as_low)


def tighter_high(edge: Edge, high: Edge | None) -> Edge:
    """The smaller of two upper ends."""
    return edge if high is None else min(edge, high, key=Edge.as_high)
