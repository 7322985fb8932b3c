import json
import logging
from contextlib import redirect_stderr, suppress
from contextvars import copy_context
from io import StringIO
from typing import Any, Literal, TextIO

import pytest
import structlog

from aex_runtime.logs import Form, configure_logging, log_context


def logged(
    code: str, level: Literal["info", "warning"] = "info", form: Form = "json", stderr: TextIO | None = None
) -> list[str]:
    written, root, before = StringIO(), logging.getLogger(), structlog.get_config()
    handlers, root_level, root.handlers = root.handlers, root.level, []
    names = {"logging": logging, "structlog": structlog, "configure_logging": configure_logging}
    try:
        with redirect_stderr(stderr or written):
            configure_logging("settlement", level, form)
            copy_context().run(exec, code, names)
    finally:
        structlog.configure(**before)
        root.handlers, root.level = handlers, root_level
    return written.getvalue().splitlines()


def records(code: str, **options: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in logged(code, **options)]


def test_line_is_json_with_time_level_service_and_context() -> None:
    (record,) = records(
        "structlog.contextvars.bind_contextvars(contract_id='ctr_1')\n"
        "structlog.get_logger('x').info('settled', amount_micros=5, at=object)\n"
    )
    assert (record["event"], record["level"], record["service"]) == ("settled", "info", "settlement")
    assert (record["contract_id"], record["amount_micros"]) == ("ctr_1", 5)
    assert record["timestamp"].endswith("Z")


def test_line_names_its_trace() -> None:
    code = (
        "from aex_runtime.telemetry import continue_trace\n"
        f"with continue_trace('00-{'a' * 32}-{'b' * 16}-01', None, 'x'):\n    structlog.get_logger().info('in')\n"
        "structlog.get_logger().info('out')\n"
    )
    inside, outside = records(code)
    assert inside["trace_id"] == "a" * 32
    assert "trace_id" not in outside


def test_library_logs_have_the_same_form_and_level() -> None:
    code = "logging.getLogger('a_library.module').warning('port %d', 5, extra={'token': 'CANARY'})\n"
    code += "structlog.get_logger().info('low')\nlogging.getLogger('y').info('low')\n"
    (record,) = records(code, level="warning")
    assert (record["event"], record["level"], record["service"]) == ("port 5", "warning", "settlement")
    assert "CANARY" not in json.dumps(record)


@pytest.mark.parametrize("form", ["json", "console"])
def test_exception_is_logged_without_its_message(form: Form) -> None:
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


def test_full_disk_does_not_fail_logging() -> None:
    with suppress(OSError), open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123 a device
        logged("structlog.get_logger().warning('lost')\nlogging.getLogger('x').warning('lost')\n", stderr=full)


def test_log_context_has_the_ids_of_subject_and_data() -> None:
    assert log_context("ctr_1", {"attempt_id": "att_1"}) == {"contract_id": "ctr_1", "attempt_id": "att_1"}
    assert log_context("att_1", {"contract_id": "ctr_1"}) == {"contract_id": "ctr_1", "attempt_id": "att_1"}
    assert log_context("work_1") == {"work_id": "work_1"}
    nested = {"outcome": {"contract_id": "ctr_1", "work_id": "work_1", "agent_id": "bot"}}
    assert log_context("ctr_1", nested) == {"contract_id": "ctr_1", "work_id": "work_1"}


def test_log_context_leaves_out_invalid_ids() -> None:
    for subject in ("", "ctr_", "ctr_a b", "ctr_" + "x" * 10_000, "ctr_1\n", "canary"):
        assert log_context(subject, {"contract_id": 5, "attempt_id": ["att_1"]}) == {}
