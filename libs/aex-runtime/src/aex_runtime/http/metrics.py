"""What an application counts, in a registry of its own: requests by route and status, and gauges of its parts."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

Reading = Callable[[], Awaitable[float]]
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_READING_DEADLINE_S = 3.0
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class GaugeSpec:
    """A value that is read when metrics are asked for: `aex_dead_letters`, say."""

    name: str
    help: str
    read: Reading


class Metrics:
    """One application's metrics."""

    def __init__(self, service: str, gauges: Sequence[GaugeSpec] = ()) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "aex_http_requests", "Requests answered", ("service", "method", "route", "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "aex_http_request_seconds",
            "Time to answer a request",
            ("service", "method", "route"),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._service = service
        self._gauges: list[tuple[Gauge, GaugeSpec]] = []
        for spec in gauges:
            self.add_gauge(spec)

    def add_gauge(self, spec: GaugeSpec) -> None:
        """Read one more value each time."""
        gauge = Gauge(spec.name, spec.help, ("service",), registry=self.registry)
        self._gauges.append((gauge, spec))

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        self._requests.labels(self._service, method, route, status).inc()
        self._seconds.labels(self._service, method, route).observe(seconds)

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
