"""Log lines: one JSON object each, with what identifies the work, and without secrets or quoted content."""

import json
import subprocess
import sys
from typing import Any

import pytest

PROLOGUE = "import logging, structlog\nfrom aex_runtime.logs import configure_logging\n"


def logged(code: str, level: str = "info", form: str = "json") -> list[str]:
    """What a process with this code writes to stderr."""
    start = f"configure_logging('settlement', {level!r}, {form!r})\n"
    run = subprocess.run([sys.executable, "-c", PROLOGUE + start + code], capture_output=True, text=True, check=True)
    assert run.stdout == ""
    return run.stderr.splitlines()


def records(code: str, **options: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in logged(code, **options)]


def test_a_line_is_json_with_time_level_service_and_context() -> None:
    (record,) = records(
        "structlog.contextvars.bind_contextvars(contract_id='ctr_1')\n"
        "structlog.get_logger('x').info('settled', amount_micros=5, at=object)\n"
    )
    assert (record["event"], record["level"], record["service"]) == ("settled", "info", "settlement")
    assert (record["contract_id"], record["amount_micros"]) == ("ctr_1", 5)
    assert record["timestamp"].endswith("Z")


def test_the_trace_is_named() -> None:
    code = (
        "from aex_runtime.telemetry import continue_trace\n"
        f"with continue_trace('00-{'a' * 32}-{'b' * 16}-01', None, 'x'):\n    structlog.get_logger().info('in')\n"
        "structlog.get_logger().info('out')\n"
    )
    inside, outside = records(code)
    assert inside["trace_id"] == "a" * 32
    assert "trace_id" not in outside


def test_lines_of_libraries_look_alike() -> None:
    code = "logging.getLogger('uvicorn.error').warning('port %d', 5, extra={'token': 'CANARY'})\nlogging.debug('no')"
    (record,) = records(code)
    assert (record["event"], record["level"], record["service"]) == ("port 5", "warning", "settlement")
    assert "CANARY" not in json.dumps(record)


def test_the_level_is_a_floor() -> None:
    code = "log = structlog.get_logger()\nlog.info('a')\nlog.warning('b')\nlogging.getLogger('y').info('c')\n"
    assert [record["event"] for record in records(code, level="warning")] == ["b"]


@pytest.mark.parametrize("form", ["json", "console"])
def test_an_exception_shows_types_and_frames_and_no_message(form: str) -> None:
    code = (
        "def fails():\n    raise ValueError('CANARY')\n"
        "try:\n    try:\n        fails()\n    except ValueError as e:\n        raise KeyError('CANARY2') from e\n"
        "except KeyError as e:\n"
        "    structlog.get_logger().exception('one')\n"
        "    structlog.get_logger().error('two', exc_info=e)\n"
        "    logging.getLogger('x').exception('three')\n"
    )
    text = "\n".join(logged(code, form=form))
    assert "CANARY" not in text
    assert text.count("builtins.KeyError") == 3
    assert text.count("builtins.ValueError") == 3
    assert "fails" in text


def test_a_full_disk_behind_the_log_fails_nobody() -> None:
    code = "import structlog; from aex_runtime.logs import configure_logging; configure_logging('test'); "
    code += "structlog.get_logger().warning('lost'); print('went on')"
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123 a device
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=full, check=False)
    assert done.stdout.strip() == b"went on"
