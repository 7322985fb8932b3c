"""Tracers that record: which traces, with what said of their service, and handed to whom.

Imported where spans are recorded alone: the SDK takes 80 ms that other services save.
"""

from collections.abc import Mapping, Sequence

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ParentBased, Sampler, TraceIdRatioBased

_LIMITS = SpanLimits(max_span_attributes=32, max_attribute_length=256, max_links=32, max_events=0)
"""Callers write some of the values: nobody makes a span long. Events are none of ours: they would quote exceptions."""


def recording_tracers(
    service: str,
    processors: Sequence[SpanProcessor],
    sampler: Sampler | None = None,
    described: Mapping[str, str] | None = None,
) -> TracerProvider:
    """Tracers that record spans and hand them to `processors`. `described`: further attributes of the resource.

    A service without exporters needs none: its spans carry their context on, unrecorded.
    """
    resource = Resource({"service.name": f"aex-{service}", **(described or {})})
    provider = TracerProvider(sampler, resource, shutdown_on_exit=False, span_limits=_LIMITS)
    for processor in processors:
        provider.add_span_processor(processor)
    return provider


def sampler_of(ratio: float, *, joined: bool) -> Sampler:
    """This share of new traces; of traces that callers began those that they record, where they are joined.

    Else a trace's id alone decides, so that every service with the same ratio decides alike.
    """
    by_id = TraceIdRatioBased(ratio)
    return ParentBased(by_id) if joined else by_id
