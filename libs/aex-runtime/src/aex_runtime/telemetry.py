"""Trace context (W3C): what ties a request, its events and what they cause together. Logs are in `logs.py`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from aex_runtime.tracing import PropagatingTracer

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor

TraceContext = Callable[[str | None, str | None, str], AbstractContextManager[Any]]
"""Continues a trace: traceparent, tracestate, the name of the work."""

_PROPAGATOR = TraceContextTextMapPropagator()
_UNRECORDED = PropagatingTracer()


def current_trace() -> dict[str, str]:
    """The W3C trace context of the running work: `traceparent`, and `tracestate` where there is one."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    return carrier


@contextmanager
def continue_trace(
    traceparent: str | None, tracestate: str | None, name: str, provider: trace.TracerProvider | None = None
) -> Iterator[trace.Span]:
    """Run the block in a span called `name` under the given context; in a new trace where that is absent or bad."""
    parent = Context()
    if traceparent:
        carrier = {"traceparent": traceparent, "tracestate": tracestate or ""}
        parent = _PROPAGATOR.extract(carrier, parent)
    tracer = _UNRECORDED if provider is None else provider.get_tracer("aex")
    span = tracer.start_span(name, parent, trace.SpanKind.CONSUMER)
    # Messages of exceptions may quote evaluation data: they are not recorded.
    with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        yield span


def recording_tracers(service: str, processors: Sequence["SpanProcessor"]) -> trace.TracerProvider:
    """Tracers that record spans and hand them to `processors` (exporters).

    A service without exporters needs none: its spans carry their context on, unrecorded.
    """
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 80 ms that a service without exporters saves
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415

    provider = TracerProvider(resource=Resource({"service.name": f"aex-{service}"}), shutdown_on_exit=False)
    for processor in processors:
        provider.add_span_processor(processor)
    return provider
