"""`aex up` over the real services: how it starts, how it stops, and what it leaves behind."""

import signal
import socket
from dataclasses import fields, replace
from pathlib import Path

import pytest

from tests.e2e.conftest import StartSuite
from tests.e2e.jobs import GOOD, contract, deliver, until_settled
from tests.e2e.live import Live, live_suite
from tests.e2e.parties import Parties, parties_of

pytestmark = pytest.mark.e2e
SERVICES_AND_WORKERS = 4 + 2
"""Four services, and verification's confined workers."""


def on(live: Live, parties: Parties) -> Parties:
    """The same principals, on another start of the suite."""
    return Parties(**{each.name: replace(getattr(parties, each.name), live=live) for each in fields(parties)})


def test_suite_continues_after_a_kill_and_ctrl_c_leaves_no_process(tmp_path: Path, start_suite: StartSuite) -> None:
    live = start_suite()
    live.running.wait_for_processes(SERVICES_AND_WORKERS)
    first = parties_of(live)
    contract_id = contract(first)
    live.running.process.kill()
    live.running.wait()
    assert live.running.has_ended()

    live = start_suite()
    live.running.wait_for_processes(SERVICES_AND_WORKERS)
    parties = on(live, first)
    assert deliver(parties, contract_id, GOOD)["verdict"] == "passed"
    assert until_settled(parties.finance, contract_id)["cost"]["total"] == "0.85"
    with live_suite(live.data_dir, waited_for=False) as second:
        assert second.running.wait() == 2
        assert second.running.wait_for_error(f"a suite is already running on {live.data_dir}, held by process")
        assert second.running.wait_for_error(str(live.running.process.pid))
        assert second.running.out == []
    check_ports_taken(tmp_path, live.running.port, {"work-publisher": 0, "settlement": 3})
    assert live.http.get(live.url("settlement", "/readyz")).is_success, "the first suite continues"
    live.running.process.send_signal(signal.SIGINT)
    assert live.running.wait() == 0
    assert live.running.has_ended()


def check_ports_taken(folder: Path, port: int, taken: dict[str, int]) -> None:
    """Assert that `aex up` on these ports starts nothing, and names the services whose ports are taken."""
    with live_suite(folder / "other", port=port, waited_for=False) as second:
        assert second.running.wait() == 2
        line = second.running.wait_for_error("taken")
        assert all(f"{port + offset} ({service})" in line for service, offset in taken.items())
        assert not list((folder / "other" / "logs").iterdir())


def test_one_busy_port_is_named_and_nothing_is_started(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        check_ports_taken(tmp_path, taken.getsockname()[1] - 2, {"governance": 2})
