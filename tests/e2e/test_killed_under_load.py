"""SIGKILL of each service in turn under a small load: after the restart all that was accepted is settled once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aex_cli.suite.service_spec import MODULES
from tests.e2e.accounts import check_attempts, check_books
from tests.e2e.backend import Backend
from tests.e2e.counts import until_published
from tests.e2e.killing import kill
from tests.e2e.live import Live, live_suite
from tests.e2e.load import Load, say, table

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]
CONTRACTS = 12
KILLED_AFTER = 4
"""Contracts accepted: by then all services are at work on some of them."""
WORKERS = "workers"
"""Verification's confined workers, all of them; the service itself goes on."""


def kill_workers(live: Live) -> None:
    for process in live.process("verification").children():
        process.kill()


def test_all_that_was_accepted_is_settled_once_after_each_service_was_killed_in_turn(
    tmp_path: Path, backend: Backend, capsys: pytest.CaptureFixture[str]
) -> None:
    loads: dict[str, Load] = {}
    with live_suite(tmp_path / ".aex", backend) as live, ThreadPoolExecutor(10) as pool:
        for victim in (*MODULES, WORKERS):
            load = loads[victim] = Load(live)
            work = load.start(pool, CONTRACTS)
            load.until_accepted(KILLED_AFTER)
            if victim == WORKERS:
                kill_workers(live)
            else:
                kill(live, victim)
            for each in work:
                each.result()
            if victim in MODULES:
                live.running.told(f"{victim} is ready again")
        for load in loads.values():
            load.until_at_rest()
        until_published(live)

        say(capsys, table([(victim, load.found()) for victim, load in loads.items()]))
        for load in loads.values():
            assert len(load.accepted) == CONTRACTS
            check_books(load)
            check_attempts(load)
        assert live.breakdowns() == []
