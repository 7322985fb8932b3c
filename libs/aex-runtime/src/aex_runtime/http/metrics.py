"""Prometheus metrics of one application: counters, histograms and gauges in a registry of its own.

Every series has the label `service`. Counters and histograms cover this process, so that their sum covers all replicas.
Some gauges cover the shared store and are equal in every replica; `deploy/dashboards/README.md` lists them.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

from aex_runtime.measures import CounterSpec, HistogramSpec, Spec

Reading = Callable[[], Awaitable[float]]
REQUESTS = CounterSpec(
    "aex_http_requests_total", "Requests that were answered", {"method": (), "route": (), "status": ()}
)
REQUEST_SECONDS = HistogramSpec(
    "aex_http_request_seconds",
    "Time to answer a request",
    {"method": (), "route": ()},
    (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
)
_OTHER = "other"
_READ_DEADLINE_S = 3.0
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class GaugeSpec:
    """A gauge, such as `aex_dead_letters`, whose value `read` returns at each scrape."""

    name: str
    help: str
    read: Reading


class Metrics:
    """The metrics of one application; an implementation of `Measures`."""

    def __init__(self, service: str) -> None:
        # They would add a series with the start time to each counter and histogram, and each series costs money.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._service = service
        self._counters: dict[str, Counter] = {}
        self._histograms: dict[str, Histogram] = {}
        self._gauges: list[tuple[Gauge, GaugeSpec]] = []
        self.declare((REQUESTS, REQUEST_SECONDS))

    def declare(self, specs: Iterable[Spec]) -> None:
        """Create the series of these metrics, with the value 0 for every combination of declared labels.

        A rate would miss the first count of a series that is created later.
        """
        for spec in specs:
            family = self._counter(spec) if isinstance(spec, CounterSpec) else self._histogram(spec)
            for values in product(*spec.labels.values()):
                family.labels(self._service, *values)

    def add_gauge(self, spec: GaugeSpec) -> None:
        """Add a gauge, which is read at each scrape."""
        self._gauges.append((Gauge(spec.name, spec.help, ("service",), registry=self.registry), spec))

    def count(self, counter: CounterSpec, *labels: str) -> None:
        self._counter(counter).labels(self._service, *_label_values(counter, labels)).inc()

    def observe(self, histogram: HistogramSpec, seconds: float, *labels: str) -> None:
        self._histogram(histogram).labels(self._service, *_label_values(histogram, labels)).observe(max(seconds, 0.0))

    async def render(self) -> bytes:
        """Read the gauges and return all metrics in Prometheus' text format.

        A gauge that fails or takes too long is NaN.
        """
        await asyncio.gather(*(self._read(gauge, spec) for gauge, spec in self._gauges))
        return generate_latest(self.registry)

    async def _read(self, gauge: Gauge, spec: GaugeSpec) -> None:
        try:
            async with asyncio.timeout(_READ_DEADLINE_S):
                value = await spec.read()
        except Exception as error:  # noqa: BLE001 one broken gauge must not hide the others
            _log.warning("gauge_unreadable", gauge=spec.name, error=type(error).__name__)
            value = math.nan
        gauge.labels(self._service).set(value)

    def _counter(self, spec: CounterSpec) -> Counter:
        if spec.name not in self._counters:
            names = ("service", *spec.labels)
            self._counters[spec.name] = Counter(spec.name, spec.help, names, registry=self.registry)
        return self._counters[spec.name]

    def _histogram(self, spec: HistogramSpec) -> Histogram:
        if spec.name not in self._histograms:
            names = ("service", *spec.labels)
            histogram = Histogram(spec.name, spec.help, names, buckets=spec.buckets, registry=self.registry)
            self._histograms[spec.name] = histogram
        return self._histograms[spec.name]


def _label_values(spec: Spec, labels: Sequence[str]) -> list[str]:
    """Return the label values, with `other` for undeclared ones, so that the number of series is limited."""
    declared = spec.labels.values()
    return [value if not known or value in known else _OTHER for value, known in zip(labels, declared, strict=True)]
