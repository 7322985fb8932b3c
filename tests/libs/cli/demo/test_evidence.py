from pathlib import Path

import pytest

from aex_cli.demo.evidence import evidence, log_ends
from aex_cli.suite.child import Launch
from aex_cli.suite.service_spec import ServiceSpec

SPEC = ServiceSpec("settlement", "aex_settlement", 8084)


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    return Launch({}, tmp_path)


def info(number: int) -> str:
    return f'{{"event":"request {number}","level":"info"}}\n'


def test_warnings_and_errors_of_this_run_are_shown_and_nothing_else(launch: Launch) -> None:
    log = launch.log_of(SPEC)
    log.write_text('{"event":"long ago","level":"error"}\n')
    ends = log_ends([SPEC], launch)
    failed = '{"event":"event_failed","level":"warning"}'
    with log.open("a") as more:
        more.write(info(1) + failed + "\n" + info(2))
    assert evidence(ends) == f"{log}:\n{failed}"


def test_without_any_the_last_lines_are_shown(launch: Launch) -> None:
    ends = log_ends([SPEC], launch)
    log = launch.log_of(SPEC)
    log.write_text("".join(info(number) for number in range(9)))
    assert evidence(ends).splitlines() == [f"{log}:", *(info(number).strip() for number in range(4, 9))]


def test_a_service_that_never_logged_is_left_out(launch: Launch) -> None:
    assert evidence(log_ends([SPEC], launch)) == ""
