"""The port of counters and histograms, which `http/metrics.py` exposes.

A transaction records into `Unit.measures`. These measures count once, at its commit, however often it runs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

SHORT_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Buckets, in seconds, for operations for which a caller waits."""
LONG_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1_800.0, 7_200.0, 86_400.0)
"""Buckets, in seconds, for waits in a queue."""
Labels = Mapping[str, tuple[str, ...]]
"""The declared values of each label; others become `other`. Ids are no labels. An empty tuple allows any value."""


@dataclass(frozen=True, slots=True)
class CounterSpec:
    """A counter, whose `name` ends in `_total`."""

    name: str
    help: str
    labels: Labels = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HistogramSpec:
    """A histogram of durations, whose `name` ends in `_seconds`; `buckets` are upper bounds in seconds."""

    name: str
    help: str
    labels: Labels = field(default_factory=dict)
    buckets: tuple[float, ...] = SHORT_S


Spec = CounterSpec | HistogramSpec


class Measures(Protocol):
    """A recorder of counts and durations, called on the event loop. It never raises and never waits."""

    def count(self, counter: CounterSpec, *labels: str) -> None:
        """Increment a counter by one. `labels` are a value for each label, in the order of the spec."""

    def observe(self, histogram: HistogramSpec, seconds: float, *labels: str) -> None:
        """Record a duration. A negative one, as between two clocks, counts as 0."""


class Unmeasured:
    """A recorder that discards everything."""

    def count(self, counter: CounterSpec, *labels: str) -> None: ...

    def observe(self, histogram: HistogramSpec, seconds: float, *labels: str) -> None: ...


UNMEASURED = Unmeasured()


class BufferedMeasures:
    """A recorder that keeps measures until their transaction is committed."""

    def __init__(self) -> None:
        self._records: list[Callable[[Measures], None]] = []

    def count(self, counter: CounterSpec, *labels: str) -> None:
        self._records.append(lambda measures: measures.count(counter, *labels))

    def observe(self, histogram: HistogramSpec, seconds: float, *labels: str) -> None:
        self._records.append(lambda measures: measures.observe(histogram, seconds, *labels))

    def flush(self, recorder: Measures) -> None:
        """Pass all kept measures on to another recorder."""
        for record in self._records:
            record(recorder)
