"""What an application counts and times, in a registry of its own, and gauges of its parts, in Prometheus' text format.

Every series has the label `service`. Counters and histograms are of this process: replicas add up. Gauges say of what
they are in `deploy/dashboards/README.md`: some are of the store, and the same from every replica.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import structlog
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

from aex_runtime.measures import CounterSpec, HistogramSpec, Spec

Reading = Callable[[], Awaitable[float]]
REQUESTS = CounterSpec("aex_http_requests_total", "Requests answered", {"method": (), "route": (), "status": ()})
REQUEST_SECONDS = HistogramSpec(
    "aex_http_request_seconds",
    "Time to answer a request",
    {"method": (), "route": ()},
    (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
)
_OTHER = "other"
_READING_DEADLINE_S = 3.0
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class GaugeSpec:
    """A value that is read when metrics are asked for: `aex_dead_letters`, say."""

    name: str
    help: str
    read: Reading


class Metrics:
    """One application's metrics: a `Measures` that can be read."""

    def __init__(self, service: str, gauges: Sequence[GaugeSpec] = ()) -> None:
        # A second series for each counter and bucket set, with when it began: nobody asks, and each is paid for.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._service = service
        self._counters: dict[str, Counter] = {}
        self._histograms: dict[str, Histogram] = {}
        self._gauges: list[tuple[Gauge, GaugeSpec]] = []
        self.declare((REQUESTS, REQUEST_SECONDS))
        for spec in gauges:
            self.add_gauge(spec)

    def declare(self, specs: Iterable[Spec]) -> None:
        """Show them from the start, at 0 for each value of each label: a rate misses the first of what begins late."""
        for spec in specs:
            family = self._counter(spec) if isinstance(spec, CounterSpec) else self._histogram(spec)
            for values in product(*spec.labels.values()):
                family.labels(self._service, *values)

    def add_gauge(self, spec: GaugeSpec) -> None:
        """Read one more value each time."""
        gauge = Gauge(spec.name, spec.help, ("service",), registry=self.registry)
        self._gauges.append((gauge, spec))

    def count(self, counter: CounterSpec, *labels: str) -> None:
        """See `Measures`."""
        self._counter(counter).labels(self._service, *_bounded(counter, labels)).inc()

    def observe(self, histogram: HistogramSpec, seconds: float, *labels: str) -> None:
        """See `Measures`."""
        self._histogram(histogram).labels(self._service, *_bounded(histogram, labels)).observe(max(seconds, 0.0))

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        self.count(REQUESTS, method, route, str(status))
        self.observe(REQUEST_SECONDS, seconds, method, route)

    async def exposition(self) -> bytes:
        """Everything in Prometheus' text format. A gauge that cannot be read is NaN."""
        await asyncio.gather(*(self._read(gauge, spec) for gauge, spec in self._gauges))
        return generate_latest(self.registry)

    async def _read(self, gauge: Gauge, spec: GaugeSpec) -> None:
        try:
            async with asyncio.timeout(_READING_DEADLINE_S):
                value = await spec.read()
        except Exception as error:  # noqa: BLE001 one broken gauge must not hide the others
            _log.warning("gauge_unreadable", gauge=spec.name, error=type(error).__name__)
            value = math.nan
        gauge.labels(self._service).set(value)

    def _counter(self, spec: CounterSpec) -> Counter:
        found = self._counters.get(spec.name)
        if found is None:
            found = Counter(spec.name, spec.help, ("service", *spec.labels), registry=self.registry)
            self._counters[spec.name] = found
        return found

    def _histogram(self, spec: HistogramSpec) -> Histogram:
        found = self._histograms.get(spec.name)
        if found is None:
            names = ("service", *spec.labels)
            found = Histogram(spec.name, spec.help, names, buckets=spec.buckets, registry=self.registry)
            self._histograms[spec.name] = found
        return found


def _bounded(spec: Spec, labels: Sequence[str]) -> list[str]:
    """A value that nobody declared would be a new series, and then another: all of them are one."""
    known = spec.labels.values()
    return [value if not of or value in of else _OTHER for value, of in zip(labels, known, strict=True)]
