import json
import traceback
from typing import Any

import pytest

from aex_runtime.google_logs import format_stack_trace, google_log_processor
from aex_runtime.logs import exception_chain
from tests.libs.runtime.telemetry.test_logs import logged

PROJECT = "acme-prod"
SPAN = (
    "from aex_runtime.telemetry import continue_trace\n"
    f"with continue_trace('00-{'a' * 32}-{'b' * 16}-01', None, 'x'):\n"
)
REPORTED = "type.googleapis.com/google.devtools.clouderrorreporting.v1beta1.ReportedErrorEvent"


def records(code: str, project: str | None = PROJECT) -> list[dict[str, Any]]:
    reconfigure = f"configure_logging('settlement', 'info', 'google', {project!r})\n"
    return [json.loads(line) for line in logged(reconfigure + code, form="google")]


def test_line_has_severity_message_time_and_labels() -> None:
    (entry,) = records(
        "structlog.contextvars.bind_contextvars(contract_id='ctr_1', work_id='work_1', request_id='req_1')\n"
        "structlog.get_logger().warning('event_retried', attempt=3)\n"
    )
    assert (entry["severity"], entry["message"], entry["event"]) == ("WARNING", "event_retried", "event_retried")
    assert entry["time"].endswith("Z")
    labels = {"service": "settlement", "contract_id": "ctr_1", "work_id": "work_1"}
    assert entry["logging.googleapis.com/labels"] == labels
    assert (entry["attempt"], entry["request_id"]) == (3, "req_1")
    absent = {"level", "timestamp", "service", "contract_id", "serviceContext", "@type", "stack_trace"}
    assert not absent & set(entry)


def test_line_names_project_span_and_sampling_of_its_trace() -> None:
    inside, outside = records(SPAN + "    structlog.get_logger().info('in')\nstructlog.get_logger().info('out')\n")
    assert inside["logging.googleapis.com/trace"] == f"projects/{PROJECT}/traces/{'a' * 32}"
    assert len(inside["logging.googleapis.com/spanId"]) == 16
    assert inside["logging.googleapis.com/trace_sampled"] is True
    assert "trace_id" not in inside
    assert not [name for name in outside if name.startswith("logging.googleapis.com/") and "labels" not in name]
    (entry,) = records(SPAN + "    structlog.get_logger().info('in')\n", project=None)
    assert entry["trace_id"] == "a" * 32
    assert "logging.googleapis.com/trace" not in entry


def test_request_has_googles_http_field() -> None:
    (entry,) = records(
        "answer = {'method': 'GET', 'route': '/v1/work/{work_id}', 'status': 200, 'duration_ms': 12.5}\n"
        "structlog.get_logger().info('request', **answer)\n"
    )
    request = {"requestMethod": "GET", "requestUrl": "/v1/work/{work_id}", "status": 200, "latency": "0.012500s"}
    assert entry["httpRequest"] == request
    assert entry["message"] == "GET /v1/work/{work_id} 200"


@pytest.mark.parametrize("level", ["error", "critical"])
def test_error_without_a_stack_has_a_type(level: str) -> None:
    (entry,) = records(f"structlog.get_logger().{level}('journal_broken', alarm=True)\n")
    assert (entry["severity"], entry["@type"], entry["alarm"]) == (level.upper(), REPORTED, True)
    assert entry["serviceContext"]["service"] == "aex-settlement"
    assert entry["serviceContext"]["version"]
    assert "stack_trace" not in entry


def test_exception_has_a_stack_without_its_message() -> None:
    (entry,) = records(
        "def fails():\n    raise ValueError('CANARY')\n"
        "try:\n    try:\n        fails()\n    except ValueError as e:\n        raise KeyError('CANARY2') from e\n"
        "except KeyError:\n    structlog.get_logger().exception('unexpected_error')\n"
    )
    assert "CANARY" not in json.dumps(entry)
    stack = entry["stack_trace"]
    first, second = stack.split("\n\nThe above exception was the direct cause of the following exception:\n\n")
    assert first.startswith("Traceback (most recent call last):\n  File ")
    assert first.endswith(", in fails\nValueError")
    assert second.endswith(", in <module>\nKeyError")
    assert "@type" not in entry
    assert "traceback" not in entry


def test_stack_equals_pythons_without_source_and_message() -> None:
    def fails() -> None:
        raise LookupError("CANARY")

    with pytest.raises(LookupError) as raised:
        fails()
    stack, printed = format_stack_trace(exception_chain(raised.value)), traceback.format_exception(raised.value)
    expected = [line for text in printed for line in text.splitlines() if not line.startswith("    ")]
    assert stack.splitlines() == [*expected[:-1], "LookupError"]


def test_google_form_redacts_secrets_of_all_loggers() -> None:
    first, second = records(
        "structlog.get_logger().info('x', authorization='CANARY', detail='Bearer CANARY')\n"
        "logging.getLogger('a_library.module').error('port %d', 5)\n"
    )
    assert "CANARY" not in json.dumps(first)
    assert (second["severity"], second["message"]) == ("ERROR", "port 5")
    assert second["logging.googleapis.com/labels"] == {"service": "settlement"}


def test_log_fields_cannot_forge_googles() -> None:
    forged = {"event": "x", "level": "info", "timestamp": "t", "severity": "EMERGENCY", "message": "forged"}
    entry = google_log_processor(PROJECT, "1")(None, "info", forged)
    assert isinstance(entry, dict)
    assert (entry["severity"], entry["message"]) == ("INFO", "x")
