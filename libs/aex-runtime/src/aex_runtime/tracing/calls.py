"""Spans of calls to other services, and what such a call brings beside its body."""

from contextlib import AbstractContextManager
from urllib.parse import urlsplit

from opentelemetry.trace import Span, SpanKind

from aex_runtime.telemetry import Attributes, describe_span, failed, step

CONTRACT_TRACE = "ce-traceparent"
"""The header in which an award that is read through has its trace: as an event has it, in CloudEvents over HTTP."""
_FIRST_ERROR = 400


def calling(method: str, url: str, template: str, about: Attributes) -> AbstractContextManager[Span]:
    """Call `template` of the service at `url` in the block; its ids are in `about`, and not in the span's name."""
    parts = urlsplit(url)
    attributes: dict[str, str | int | float | bool] = {
        "http.request.method": method,
        "url.template": template,
        "server.address": parts.hostname or "",
        "server.port": parts.port or (443 if parts.scheme == "https" else 80),
        **about,
    }
    return step(f"{method} {template}", attributes, SpanKind.CLIENT)


def on_answer(status: int) -> None:
    """Within the block: what came back."""
    describe_span({"http.response.status_code": status})
    if status >= _FIRST_ERROR:
        failed(str(status))
