"""The tracers that the settings name."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from opentelemetry.trace import TracerProvider

from aex_runtime.settings import RuntimeSettings, blaming

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

_ACCEPTED = "file:///relative/path, file:////absolute/path, http://host[:port]/path or https://host[:port]/path"
_GOOGLE = "telemetry.googleapis.com"


@dataclass(frozen=True, slots=True)
class OpenTracers:
    """Tracers with an exporter behind them."""

    provider: TracerProvider
    close: Callable[[], None]
    """Exports what waits, within seconds, and ends. Blocks."""


def open_tracers(settings: RuntimeSettings, service: str) -> OpenTracers | None:
    """Tracers that export where `AEX_TRACES_URL` says; None where it says nothing. Raises `BadConfiguration`.

    Nothing is touched before the first span has ended.
    """
    if settings.traces_url is None:
        return None
    from aex_runtime.tracing.batches import Batches  # noqa: PLC0415 the SDK is loaded where spans are recorded alone
    from aex_runtime.tracing.recording import recording_tracers, sampler_of  # noqa: PLC0415

    project = settings.google_project_of()
    with blaming("AEX_TRACES_URL", ValueError):
        exporter = open_exporter(settings.traces_url, project)
    described = {"service.namespace": "aex", "service.version": version("aex-runtime")}
    if settings.instance is not None:
        described["service.instance.id"] = settings.instance
    if project is not None:
        described["gcp.project_id"] = project  # where Google's endpoint files the spans
    sampler = sampler_of(settings.traces_ratio, joined=settings.traces_callers == "joined")
    provider = recording_tracers(service, [Batches(exporter)], sampler, described)
    return OpenTracers(provider, provider.shutdown)


def open_exporter(url: str, project: str | None = None) -> "SpanExporter":
    """The exporter behind a URL. Raises `ValueError` for other URLs, and where what it needs is not installed.

    Paths are written as in a store's URL: what follows the third slash, so that an absolute path has four.
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
        return _over_http(url, parts.hostname, project)
    except ImportError as error:
        raise ValueError("spans over HTTP need aex-runtime[tracing]") from error


def _over_http(url: str, host: str, project: str | None) -> "SpanExporter":
    if host == _GOOGLE:
        from aex_runtime.tracing.google_otlp import google_cloud  # noqa: PLC0415 its libraries are an extra

        return google_cloud(url, project)
    from aex_runtime.tracing.otlp import collector  # noqa: PLC0415 its libraries are an extra

    return collector(url)
