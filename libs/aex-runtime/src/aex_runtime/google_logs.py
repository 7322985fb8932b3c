"""A log line as Google Cloud takes it from a container: Cloud Logging's own fields, and what Error Reporting reads.

`event` stays in the payload, as in every other form: filters on it are the same everywhere.
"""

import re
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

from opentelemetry import trace
from structlog.typing import Processor

Event = MutableMapping[str, Any]

_SEVERITIES = {"debug": "DEBUG", "info": "INFO", "warning": "WARNING", "error": "ERROR", "critical": "CRITICAL"}
_LOUD = frozenset({"ERROR", "CRITICAL"})
_LABELS = ("service", "contract_id", "work_id")
"""What lines are looked up by: indexed there, in the place of the payload."""
_REQUEST = ("method", "route", "status", "duration_ms")
_FRAME = re.compile(r"(.+):(\d+) (.+)", re.DOTALL)
_REPORTED = "type.googleapis.com/google.devtools.clouderrorreporting.v1beta1.ReportedErrorEvent"
_CAUSED = "\n\nThe above exception was the direct cause of the following exception:\n\n"


def google_entry(project: str | None, version: str) -> Processor:
    """Gives a line the form; the last processor but the encoder, after whatever must not get out is out.

    `project`: what traces belong to; without one a line names the trace's id alone. `version`: told with errors.
    """

    def entry(_logger: Any, _method: str, event: Event) -> Event:
        severity = _SEVERITIES.get(str(event.pop("level", "")), "DEFAULT")
        special = {"severity": severity, "message": event.get("event"), "time": event.pop("timestamp", None)}
        if event.get("event") == "request" and all(name in event for name in _REQUEST):
            special |= _request({name: event.pop(name) for name in _REQUEST})
        if project is not None:
            special |= _trace(project)
            event.pop("trace_id", None)
        labels = {name: str(event.pop(name)) for name in _LABELS if name in event}
        if severity in _LOUD:
            special |= _error(event.pop("traceback", None), labels.get("service", "unknown"), version)
        return {**event, **special, "logging.googleapis.com/labels": labels}

    return entry


def _request(told: Mapping[str, Any]) -> dict[str, Any]:
    """The route's template stands for the URL: paths hold ids, and whatever anybody makes up."""
    request = {"requestMethod": told["method"], "requestUrl": told["route"], "status": told["status"]}
    latency = f"{told['duration_ms'] / 1_000:.6f}s"
    message = f"{told['method']} {told['route']} {told['status']}"
    return {"message": message, "httpRequest": {**request, "latency": latency}}


def _trace(project: str) -> dict[str, Any]:
    found = trace.get_current_span().get_span_context()
    if not found.is_valid:
        return {}
    return {
        "logging.googleapis.com/trace": f"projects/{project}/traces/{trace.format_trace_id(found.trace_id)}",
        "logging.googleapis.com/spanId": trace.format_span_id(found.span_id),
        "logging.googleapis.com/trace_sampled": found.trace_flags.sampled,
    }


def _error(traceback: Any, service: str, version: str) -> dict[str, Any]:
    """Error Reporting groups by the stack; a line without one is reported by its type, and grouped by its message."""
    context = {"serviceContext": {"service": f"aex-{service}", "version": version}}
    if isinstance(traceback, Sequence) and not isinstance(traceback, str) and traceback:
        return {**context, "stack_trace": stack_trace(traceback)}
    return {**context, "@type": _REPORTED}


def stack_trace(chain: Sequence[Mapping[str, Any]]) -> str:
    """What `redaction.describe` tells of an exception, as Python prints one, but for the messages: they stay out."""
    return _CAUSED.join(_printed(link) for link in reversed(chain))


def _printed(link: Mapping[str, Any]) -> str:
    frames = [_FRAME.fullmatch(frame) for frame in link["frames"]]
    lines = [f'  File "{found[1]}", line {found[2]}, in {found[3]}' for found in frames if found]
    kind = str(link["type"]).removeprefix("builtins.")
    return "\n".join(["Traceback (most recent call last):", *lines, kind])
