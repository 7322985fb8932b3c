"""A recorder of measures, for tests to read."""

from collections import Counter

from aex_runtime.measures import CounterSpec, HistogramSpec


class RecordedMeasures:
    """Measures that are kept in memory, by metric name and label values."""

    def __init__(self) -> None:
        self.counted: Counter[tuple[str, ...]] = Counter()
        self.observed: dict[tuple[str, ...], list[float]] = {}

    def count(self, counter: CounterSpec, *labels: str) -> None:
        self.counted[counter.name, *map(str, labels)] += 1

    def observe(self, histogram: HistogramSpec, seconds: float, *labels: str) -> None:
        self.observed.setdefault((histogram.name, *map(str, labels)), []).append(seconds)
