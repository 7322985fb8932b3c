"""Spans that carry trace context on without being recorded: what runs where no exporter is configured.

The SDK costs 80 ms to import and time for each span; a service without an exporter needs neither.
"""

from random import Random
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags


class PropagatingTracer(trace.Tracer):
    """Makes spans with ids of their own, in the trace and with the sampling decision of their parent."""

    def __init__(self) -> None:
        self._random = Random()  # noqa: S311 ids are unique, not secret; the system's own cost two calls a request

    def start_span(self, name: str, context: Context | None = None, *_: Any, **__: Any) -> trace.Span:  # noqa: ARG002 OpenTelemetry's signature
        parent = trace.get_current_span(context).get_span_context()
        known = parent.is_valid
        return NonRecordingSpan(
            SpanContext(
                parent.trace_id if known else self._random.getrandbits(128) or 1,
                self._random.getrandbits(64) or 1,
                is_remote=False,
                trace_flags=TraceFlags(parent.trace_flags if known else 0),
                trace_state=parent.trace_state,
            )
        )

    def start_as_current_span(self, name: str, context: Context | None = None, *_: Any, **__: Any) -> Any:
        return trace.use_span(self.start_span(name, context), record_exception=False)
