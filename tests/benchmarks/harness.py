"""The harness of all benchmarks: sides in alternation, medians, one table."""

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from itertools import cycle
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
Side = Callable[[], Awaitable[int]]
"""A round of work that returns its number of operations."""


class FigureUnit(Enum):
    """FigureUnit of a row's two figures."""

    OPERATIONS = "operations per second, printed as the time of one"
    RATE = "operations per second"
    SECONDS = "seconds"


@dataclass(frozen=True, slots=True)
class BenchSize:
    """Rounds per side, seconds per round, settlements in the large ledger, folder of kept data."""

    rounds: int = 5
    seconds: float = 3.0
    settlements: int = 1_000_000
    keep: Path | None = None


@dataclass(frozen=True, slots=True)
class BenchRow:
    """Medians of both sides and the bar of their ratio.

    The bar is a minimum for rates and a maximum for seconds; without a bar the row is informative.
    """

    name: str
    against: str
    own: float
    baseline: float
    bar: float | None
    unit: FigureUnit = FigureUnit.OPERATIONS

    @property
    def ratio(self) -> float:
        return self.own / self.baseline

    @property
    def is_met(self) -> bool | None:
        if self.bar is None:
            return None
        return self.ratio <= self.bar if self.unit is FigureUnit.SECONDS else self.ratio >= self.bar

    def cells(self) -> tuple[str, ...]:
        sign = "≤" if self.unit is FigureUnit.SECONDS else "≥"
        ratio = f"{self.ratio:.0f}x" if self.ratio >= 100 else f"{self.ratio:.2f}x"
        bar = "" if self.bar is None else f"{sign} {self.bar:g}x"
        return (self.name, self.against, self._figure(self.own), self._figure(self.baseline), ratio, bar)

    def _figure(self, value: float) -> str:
        if self.unit is FigureUnit.RATE:
            return f"{value:,.0f}/s"
        seconds = value if self.unit is FigureUnit.SECONDS else 1 / value
        if seconds >= 1:
            return f"{seconds:.2f} s"
        return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} us"


@dataclass(frozen=True, slots=True)
class Fact:
    """A row without figures: a property that holds or does not."""

    name: str
    against: str
    text: str
    is_met: bool

    def cells(self) -> tuple[str, ...]:
        return (self.name, self.against, self.text, "", "", "")


TableRow = BenchRow | Fact
_HEAD = ("", "against", "own", "baseline", "ratio", "bar", "met")
_TEXT_COLUMNS = (0, 1, 6)
_MET = {None: "", True: "yes", False: "NO"}


def format_table(rows: Sequence[TableRow]) -> str:
    """Return a head and one line per row."""
    lines = [_HEAD, *((*row.cells(), _MET[row.is_met]) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            f"{cell:<{width}}" if column in _TEXT_COLUMNS else f"{cell:>{width}}"
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def print_line(text: str) -> None:
    """Write a line to stdout without delay."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def print_progress(text: str) -> None:
    """Write a line to stderr."""
    sys.stderr.write(f"{text}\n")


async def alternate(sides: Sequence[Callable[[], Awaitable[T]]], rounds: int) -> list[list[T]]:
    """Run the sides in alternation and return the results of each, after one uncounted round.

    The side that begins changes every round.
    """
    results: list[list[T]] = [[] for _ in sides]
    for number in range(rounds + 1):
        for index in range(len(sides)) if number % 2 else reversed(range(len(sides))):
            result = await sides[index]()
            if number:
                results[index].append(result)
    return results


def with_rate(side: Side) -> Callable[[], Awaitable[float]]:
    """Wrap a side: it returns operations per second."""

    async def run() -> float:
        begin = time.perf_counter()
        operations = await side()
        return operations / (time.perf_counter() - begin)

    return run


def repeat_call(call: Callable[[T], Awaitable[object]], arguments: Iterable[T], times: int) -> Side:
    """Return a side that calls so many times per round, with the arguments in turn."""
    left = cycle(arguments)

    async def run() -> int:
        for _ in range(times):
            await call(next(left))
        return times

    return run


async def compare(own: Side, baseline: Side, rounds: int) -> tuple[float, float]:
    """Return the median operations per second of both sides."""
    first, second = await alternate([with_rate(own), with_rate(baseline)], rounds)
    return statistics.median(first), statistics.median(second)


def p95(values: Sequence[float]) -> float:
    """Return the 95th percentile of at least two values."""
    return statistics.quantiles(values, n=20)[-1]


@contextmanager
def data_folder(keep: Path | None) -> Iterator[Path]:
    """Open the folder of kept data, or a temporary one."""
    with tempfile.TemporaryDirectory(prefix="aex-bench-") as temporary:
        yield (keep or Path(temporary)).absolute()


def make_once(folder: Path, make: Callable[[], None]) -> None:
    """Make the data of a folder, unless a former run finished it."""
    finished = folder / "finished"
    if finished.exists():
        print_line(f"{folder.name}: reused from {folder.parent}")
        return
    shutil.rmtree(folder, ignore_errors=True)
    begin = time.perf_counter()
    make()
    finished.touch()
    print_line(f"{folder.name}: made in {time.perf_counter() - begin:,.0f} s")
