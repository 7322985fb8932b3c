"""The choice of tracers and span exporters by the settings."""

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aex_runtime.settings import RuntimeSettings, as_bad_configuration

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

_ACCEPTED = "file:///relative/path, file:////absolute/path, http://host[:port]/path or https://host[:port]/path"
_GOOGLE = "telemetry.googleapis.com"


def open_tracers(settings: RuntimeSettings, service: str) -> "TracerProvider | None":
    """Return tracers whose spans are exported to `AEX_TRACES_URL`; None if it is not set.

    Nothing is opened before the first span ends. Their `shutdown` exports the waiting spans and blocks meanwhile.
    Raises `BadConfiguration`.
    """
    if settings.traces_url is None:
        return None
    from opentelemetry.sdk.trace import sampling  # noqa: PLC0415 the SDK is loaded only where spans are recorded

    from aex_runtime.tracing import sdk  # noqa: PLC0415 the SDK is loaded only where spans are recorded

    project = settings.effective_google_project()
    with as_bad_configuration("AEX_TRACES_URL", ValueError):
        exporter = open_exporter(settings.traces_url, project)
    described = {"service.namespace": "aex", "service.version": version("aex-runtime")}
    if settings.instance is not None:
        described["service.instance.id"] = settings.instance
    if project is not None:
        described["gcp.project_id"] = project  # where Google's endpoint files the spans
    by_id = sampling.TraceIdRatioBased(settings.traces_ratio)  # the same traces in all services
    sampler = sampling.ParentBased(by_id) if settings.traces_callers == "joined" else by_id
    return sdk.create_recording_tracers(service, [sdk.BatchExporter(exporter)], sampler, described)


def open_exporter(url: str, project: str | None = None) -> "SpanExporter":
    """Return the span exporter that a URL names: a file, an OTLP collector, or Google Cloud.

    The path of a file follows the third slash: `file:///relative`, `file:////absolute`. `project` is billed by Google.
    Raises `ValueError` for any other URL, and if the libraries are not installed.
    """
    parts = urlsplit(url)
    if parts.scheme == "file":
        path = url.removeprefix("file:///")
        if path in {url, ""}:
            raise ValueError(f"a file of spans needs a path: {_ACCEPTED}")
        from aex_runtime.tracing.file_exporter import FileExporter  # noqa: PLC0415 see above

        return FileExporter(Path(path))
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0:  # one that is none raises
        raise ValueError(f"spans go to {_ACCEPTED}")
    if parts.username is not None:
        raise ValueError("credentials go into OTEL_EXPORTER_OTLP_HEADERS, not into the URL")
    try:
        from aex_runtime.tracing import google_otlp  # noqa: PLC0415 its libraries are an extra
    except ImportError as error:
        raise ValueError("spans over HTTP need aex-runtime[tracing]") from error
    return (
        google_otlp.google_cloud_exporter(url, project)
        if parts.hostname == _GOOGLE
        else google_otlp.collector_exporter(url)
    )
