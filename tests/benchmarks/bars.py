"""Comparisons with the ratio that each has to reach: the rows of the speed table."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from tests.benchmarks.sides import Comparison


class Unit(Enum):
    """What the two figures of a row are."""

    OPERATIONS = "operations a second, told as the time of one"
    RATE = "operations a second"
    SECONDS = "seconds"

    @property
    def more_is_better(self) -> bool:
        """Whether ours has to be the larger one."""
        return self is not Unit.SECONDS


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured of ours and of what it was measured against, medians, and the ratio that is to be reached.

    `bar`: the least that ours may be of theirs, or, of seconds, the most; None: told, and held to nothing.
    """

    name: str
    against: str
    ours: float
    theirs: float
    bar: float | None
    unit: Unit = Unit.OPERATIONS

    @classmethod
    def of(cls, measured: Comparison, against: str, bar: float | None) -> "Row":
        """Of rates that were measured in turns: how many times as fast ours is."""
        return cls(measured.name, against, measured.ours, measured.raw, bar)

    @property
    def ratio(self) -> float:
        """Ours as a multiple of theirs."""
        return self.ours / self.theirs

    @property
    def met(self) -> bool | None:
        """Whether the bar is reached; None where there is none."""
        if self.bar is None:
            return None
        return self.ratio >= self.bar if self.unit.more_is_better else self.ratio <= self.bar

    def cells(self) -> tuple[str, ...]:
        """What the table says."""
        figures = _figure(self.ours, self.unit), _figure(self.theirs, self.unit), _times(self.ratio)
        return (self.name, self.against, *figures, _bar(self.bar, self.unit), _MET[self.met])


@dataclass(frozen=True, slots=True)
class Finding:
    """What is so or is not, and what was found."""

    name: str
    against: str
    found: str
    met: bool

    def cells(self) -> tuple[str, ...]:
        """What the table says."""
        return (self.name, self.against, self.found, "", "", "", _MET[self.met])


Line = Row | Finding
_HEAD = ("", "against", "ours", "theirs", "ratio", "bar", "met")
_LEFT = {0, 1, 6}
"""The columns with words; figures stand on the right."""
_MET = {None: "", True: "yes", False: "NO"}


def table(rows: Sequence[Line]) -> str:
    """What was measured, a line each."""
    cells = [_HEAD, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(_aligned(cell, place, widths[place]) for place, cell in enumerate(line)) for line in cells]
    return "\n".join(line.rstrip() for line in lines)


def _aligned(cell: str, place: int, width: int) -> str:
    return f"{cell:<{width}}" if place in _LEFT else f"{cell:>{width}}"


def _bar(bar: float | None, unit: Unit) -> str:
    return "" if bar is None else f"{'≥' if unit.more_is_better else '≤'} {bar:g}x"


def _times(ratio: float) -> str:
    return f"{ratio:.0f}x" if ratio >= 100 else f"{ratio:.1f}x" if ratio >= 10 else f"{ratio:.2f}x"


def _figure(value: float, unit: Unit) -> str:
    if unit is Unit.RATE:
        return f"{value:,.0f}/s"
    seconds = value if unit is Unit.SECONDS else 1 / value
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} us"
