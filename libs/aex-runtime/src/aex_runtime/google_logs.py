"""Log lines in the form of Google Cloud: the fields of Cloud Logging and of Error Reporting.

The field `event` stays in the payload, so that filters on it are equal in every form.
"""

import re
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

from opentelemetry import trace
from structlog.typing import Processor

Event = MutableMapping[str, Any]

_SEVERITIES = {"debug": "DEBUG", "info": "INFO", "warning": "WARNING", "error": "ERROR", "critical": "CRITICAL"}
_ERROR_SEVERITIES = frozenset({"ERROR", "CRITICAL"})
_LABELS = ("service", "contract_id", "work_id")
"""Fields that Cloud Logging indexes as labels, outside of the payload."""
_REQUEST = ("method", "route", "status", "duration_ms")
_FRAME = re.compile(r"(.+):(\d+) (.+)", re.DOTALL)
_REPORTED_ERROR = "type.googleapis.com/google.devtools.clouderrorreporting.v1beta1.ReportedErrorEvent"
_CAUSE_SEPARATOR = "\n\nThe above exception was the direct cause of the following exception:\n\n"


def google_log_processor(project: str | None, version: str) -> Processor:
    """Return the structlog processor that gives log lines the fields of Google Cloud.

    It is the last before the encoder, after redaction. `project` is the Google Cloud project of the traces; if it is
    None, a line has only the trace's id. `version` is reported with errors.
    """

    def entry(_logger: Any, _method: str, event: Event) -> Event:
        severity = _SEVERITIES.get(str(event.pop("level", "")), "DEFAULT")
        fields = {"severity": severity, "message": event.get("event"), "time": event.pop("timestamp", None)}
        if event.get("event") == "request" and all(name in event for name in _REQUEST):
            fields |= _request({name: event.pop(name) for name in _REQUEST})
        if project is not None:
            fields |= _trace(project)
            event.pop("trace_id", None)
        labels = {name: str(event.pop(name)) for name in _LABELS if name in event}
        if severity in _ERROR_SEVERITIES:
            fields |= _error(event.pop("traceback", None), labels.get("service", "unknown"), version)
        return {**event, **fields, "logging.googleapis.com/labels": labels}

    return entry


def _request(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request. Its URL is the route's template, because paths contain ids."""
    method, route, status = event["method"], event["route"], event["status"]
    request = {"requestMethod": method, "requestUrl": route, "status": status}
    latency = f"{event['duration_ms'] / 1_000:.6f}s"
    return {"message": f"{method} {route} {status}", "httpRequest": {**request, "latency": latency}}


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
    """Return the fields of Error Reporting, which groups errors by stack, or else by message."""
    context = {"serviceContext": {"service": f"aex-{service}", "version": version}}
    if isinstance(traceback, Sequence) and not isinstance(traceback, str) and traceback:
        return {**context, "stack_trace": format_stack_trace(traceback)}
    return {**context, "@type": _REPORTED_ERROR}


def format_stack_trace(chain: Sequence[Mapping[str, Any]]) -> str:
    """Return the result of `exception_chain` as Python prints a traceback, without messages."""
    return _CAUSE_SEPARATOR.join(_format_link(link) for link in reversed(chain))


def _format_link(link: Mapping[str, Any]) -> str:
    frames = [_FRAME.fullmatch(frame) for frame in link["frames"]]
    lines = [f'  File "{found[1]}", line {found[2]}, in {found[3]}' for found in frames if found]
    kind = str(link["type"]).removeprefix("builtins.")
    return "\n".join(["Traceback (most recent call last):", *lines, kind])
