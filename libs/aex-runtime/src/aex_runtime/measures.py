"""What is counted and timed: declared where it happens, told through a port, shown by `http/metrics.py`.

What happens with a transaction is told with it (`Unit.measures`): once, however often the transaction runs, and not at
all where it does not commit.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

SHORT_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Bounds of buckets for what a processor or a neighbour does while somebody waits."""
LONG_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1_800.0, 7_200.0, 86_400.0)
"""For what may lie in a queue: from a hundredth of a second to a day."""
Labels = Mapping[str, tuple[str, ...]]
"""A label's name, and the values that it can have: any other is told as `other`. Never ids. No values at all: those of
the code that tells of it, as few."""


@dataclass(frozen=True, slots=True)
class CounterSpec:
    """Something that happens again and again. `name` ends in `_total`."""

    name: str
    help: str
    labels: Labels = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HistogramSpec:
    """Something that takes its time. `name` ends in `_seconds`; `buckets`: upper bounds, in seconds."""

    name: str
    help: str
    labels: Labels = field(default_factory=dict)
    buckets: tuple[float, ...] = SHORT_S


Spec = CounterSpec | HistogramSpec


class Measures(Protocol):
    """Takes what is measured. Never raises, never waits; called on the event loop."""

    def count(self, counter: CounterSpec, *labels: str) -> None:
        """It happened once more. `labels`: a value for each label, in the order of the spec."""
        ...

    def observe(self, histogram: HistogramSpec, seconds: float, *labels: str) -> None:
        """It took so long. Less than nothing, as between two clocks that differ, is nothing."""
        ...


class Unmeasured:
    """Takes everything, and tells nobody."""

    def count(self, counter: CounterSpec, *labels: str) -> None: ...

    def observe(self, histogram: HistogramSpec, seconds: float, *labels: str) -> None: ...


UNMEASURED = Unmeasured()


class Kept:
    """Keeps what is measured until it is certain that it happened."""

    def __init__(self) -> None:
        self._told: list[Callable[[Measures], None]] = []

    def count(self, counter: CounterSpec, *labels: str) -> None:
        self._told.append(partial(_count, counter, labels))

    def observe(self, histogram: HistogramSpec, seconds: float, *labels: str) -> None:
        self._told.append(partial(_observe, histogram, seconds, labels))

    def tell(self, measures: Measures) -> None:
        """Hand all of it on."""
        for told in self._told:
            told(measures)


def _count(counter: CounterSpec, labels: tuple[str, ...], measures: Measures) -> None:
    measures.count(counter, *labels)


def _observe(histogram: HistogramSpec, seconds: float, labels: tuple[str, ...], measures: Measures) -> None:
    measures.observe(histogram, seconds, *labels)
