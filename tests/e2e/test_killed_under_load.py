"""SIGKILL of each service in turn, and of all together, under load: all contracts are settled once."""

from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from aex_cli.suite.service_spec import MODULES
from tests.e2e.accounts import check_attempts, check_books, check_records
from tests.e2e.backend import Backend
from tests.e2e.conftest import StartSuite
from tests.e2e.counts import until_published
from tests.e2e.killing import kill, kill_all, kill_workers
from tests.e2e.load import Load, say, table

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
CONTRACTS = 10
KILLED_AFTER = 4
"""Accepted contracts of a load before the kill: all services are then busy with some of them."""
CLIENTS = 10
WORKERS = "confined workers"
"""Verification's, all of them; the service itself goes on."""
ALL_SERVICES = "complete suite"
"""Supervisor, services and workers; the test restarts them with the same data and ports."""


def test_all_that_was_accepted_is_settled_once_after_each_service_and_then_all_at_once_were_killed(
    backend: Backend, start_suite: StartSuite, capsys: pytest.CaptureFixture[str]
) -> None:
    loads, work = dict[str, Load](), list[Future[None]]()
    with ThreadPoolExecutor(CLIENTS) as pool:

        def under_load(victim: str) -> None:
            load = loads[victim] = Load(live)
            work.extend(load.start(pool, CONTRACTS))
            load.until_accepted(KILLED_AFTER)

        live = start_suite(backend)
        for service in MODULES:
            under_load(service)
            kill(live, service)
        for service in MODULES:
            live.running.wait_for_error(f"{service} is ready again")
        under_load(WORKERS)
        kill_workers(live)
        under_load(ALL_SERVICES)
        kill_all(live)
        live = start_suite(backend, port=live.running.port)
        for each in work:
            each.result()
        for load in loads.values():
            load.until_at_rest()
        until_published(live)

    say(capsys, table([(f"{name}, {backend.name}", load.found()) for name, load in loads.items()]))
    assert [len(load.accepted) for load in loads.values()] == [CONTRACTS] * len(loads)
    check_books(*loads.values())
    for load in loads.values():
        check_attempts(load)
    check_records(*loads.values())
