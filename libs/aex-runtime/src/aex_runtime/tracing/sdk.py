"""Recording tracers, and the export of their spans in batches by a thread.

Import this module only to record spans: the SDK takes 80 ms. The SDK's own batch exporter can wait 30 s for its
exporter at the end, longer than a service may take to stop.

Only names, times, links and the attributes listed here leave the process. FastAPI's spans contain paths, queries and
hosts of callers, and callers' trace states may have kilobytes. These are removed.
"""

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import Sampler
from opentelemetry.trace import Link, SpanContext, SpanKind, Status

from aex_runtime.logs import describe_failure
from aex_runtime.tracing.spans import EXTRACTION_S

EXPORTED_ATTRIBUTES = frozenset(
    {
        "aex.attempt_id",
        "aex.contract_id",
        "aex.delivery_attempt",
        "aex.disposition",
        "aex.hold_id",
        "aex.timer.kind",
        "aex.verdict",
        "aex.work_id",
        "error.type",
        "http.request.method",
        "http.response.status_code",
        "http.route",
        "messaging.consumer.group.name",
        "messaging.destination.name",
        "messaging.message.id",
        "messaging.operation.name",
        "messaging.operation.type",
        "messaging.system",
        "network.protocol.version",
        "server.address",
        "server.port",
        "url.scheme",
        "url.template",
    }
)
_CALL_ATTRIBUTES = frozenset({"server.address", "server.port"})
"""Attributes of calls to services. In the span of a request they would be the caller's `Host`."""
_LIMITS = SpanLimits(max_span_attributes=32, max_attribute_length=256, max_links=32, max_events=0)
"""Callers write some of the values. Events are not recorded, because they would quote exceptions."""
_log = structlog.get_logger(__name__)


def remove_private_span_data(span: ReadableSpan) -> ReadableSpan:
    """Return the span without the attributes, events and trace states that must not leave the process."""
    names = EXPORTED_ATTRIBUTES - _CALL_ATTRIBUTES if span.kind is SpanKind.SERVER else EXPORTED_ATTRIBUTES
    attributes = {
        name: value for name, value in (span.attributes or {}).items() if name in names or name.startswith(EXTRACTION_S)
    }
    own = span.get_span_context()
    return ReadableSpan(
        name=span.name,
        context=own and _stateless(own),
        parent=span.parent,
        resource=span.resource,
        attributes=attributes,
        links=[Link(_stateless(link.context), link.attributes) for link in span.links],
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _stateless(context: SpanContext) -> SpanContext:
    if not context.trace_state:
        return context
    return SpanContext(context.trace_id, context.span_id, context.is_remote, context.trace_flags)


@dataclass(frozen=True, slots=True)
class BatchPolicy:
    """Limits and intervals of a `BatchExporter`."""

    batch: int = 512
    every_s: float = 1.0
    """The longest wait of a span while the exporter keeps up. A killed process loses the waiting spans."""
    max_waiting: int = 10_000
    """The most waiting spans; further ones are dropped, and their number is logged."""
    stop_s: float = 3.0
    """The longest wait for the exporter when the process stops."""


class BatchExporter(SpanProcessor):
    """A span processor that exports ended spans in batches, on a thread that the first span starts."""

    def __init__(self, exporter: SpanExporter, policy: BatchPolicy | None = None) -> None:
        self._exporter = exporter
        self._policy = policy or BatchPolicy()
        self._waiting: deque[ReadableSpan] = deque()
        self._dropped = 0
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._starting = threading.Lock()
        self._exporting = threading.Lock()
        self._thread: threading.Thread | None = None

    def on_end(self, span: ReadableSpan) -> None:
        """Add a span to those that wait, or drop it if there are too many. Never blocks."""
        if self._stopping.is_set() or len(self._waiting) >= self._policy.max_waiting:
            self._dropped += 1
            return
        self._waiting.append(span)
        if self._thread is None:
            self._start()
        if len(self._waiting) >= self._policy.batch:
            self._wake.set()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002 the exporter's own deadline bounds it
        """Export the waiting spans now, and return True; failures are only logged."""
        self._export()
        return True

    def shutdown(self) -> None:
        """Export the waiting spans for at most `stop_s`, drop those that are left, and close the exporter."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(self._policy.stop_s)
        self._exporter.shutdown()  # ends its retries

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="spans", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.wait(self._policy.every_s)
            self._wake.clear()
            self._export()
        self._export()

    def _export(self) -> None:
        with self._exporting:
            for _ in range(1 + len(self._waiting) // self._policy.batch):
                size = min(len(self._waiting), self._policy.batch)
                if batch := [remove_private_span_data(self._waiting.popleft()) for _ in range(size)]:
                    self._export_batch(batch)
        dropped, self._dropped = self._dropped, 0
        if dropped:
            _log.warning("spans_lost", spans=dropped, reason="more than can wait")

    def _export_batch(self, batch: list[ReadableSpan]) -> None:
        try:
            result = self._exporter.export(batch)
        except Exception as error:  # noqa: BLE001 whatever it is, the next spans must be exported
            _log.warning("spans_lost", spans=len(batch), reason=describe_failure(error))
        else:
            if result is not SpanExportResult.SUCCESS:
                _log.warning("spans_lost", spans=len(batch), reason="the exporter failed")


def create_recording_tracers(
    service: str,
    processors: Sequence[SpanProcessor],
    sampler: Sampler | None = None,
    attributes: Mapping[str, str] | None = None,
) -> TracerProvider:
    """Return tracers that record spans and pass them to `processors`.

    `attributes` are added to the resource that describes the service.
    """
    resource = Resource({"service.name": f"aex-{service}", **(attributes or {})})
    provider = TracerProvider(sampler, resource, shutdown_on_exit=False, span_limits=_LIMITS)
    for processor in processors:
        provider.add_span_processor(processor)
    return provider
