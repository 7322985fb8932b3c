"""Spans to a collector, by OTLP over HTTP."""

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

TIMEOUT_S = 10.0
"""For one batch, with the exporter's own retries, which back off with jitter."""


def collector(url: str) -> OTLPSpanExporter:
    """To any collector. Headers, compression and certificates by OpenTelemetry's own variables (`OTEL_EXPORTER_…`)."""
    return OTLPSpanExporter(endpoint=url, timeout=TIMEOUT_S)
