"""`aex up` over the real services: how it starts, how it stops, and what it leaves behind."""

import signal
import socket
import time
from dataclasses import fields, replace
from pathlib import Path

import pytest

from tests.e2e.jobs import GOOD, contract, deliver, until_settled
from tests.e2e.live import Live, live_suite
from tests.e2e.parties import Parties, parties_of

pytestmark = pytest.mark.e2e
SERVICES_AND_WORKERS = 4 + 2
"""Four services, and verification's confined workers."""
READY_S = 60.0
"""Far above the seconds that it takes: the machine may be busy."""


def on(live: Live, parties: Parties) -> Parties:
    """The same principals, on another start of the suite."""
    return Parties(**{each.name: replace(getattr(parties, each.name), live=live) for each in fields(parties)})


def test_ctrl_c_leaves_no_process_and_the_next_start_goes_on_with_the_data(tmp_path: Path) -> None:
    data = tmp_path / ".aex"
    with live_suite(data) as live:
        live.running.grown_to(SERVICES_AND_WORKERS)
        first = parties_of(live)
        contract_id = contract(first)
        live.running.process.send_signal(signal.SIGINT)
        assert live.running.wait() == 0
        assert live.running.gone()
    with live_suite(data) as live:
        parties = on(live, first)
        assert deliver(parties, contract_id, GOOD)["verdict"] == "passed"
        assert until_settled(parties.finance, contract_id)["cost"]["total"] == "0.85"
        with live_suite(data, waited_for=False) as second:
            assert second.running.wait() == 2
            assert second.running.told(f"a suite is already running on {data}, held by process")
            assert second.running.told(str(live.running.process.pid))
            assert second.running.out == []
        with live_suite(tmp_path / "other", port=live.running.port, waited_for=False) as second:
            assert second.running.wait() == 2
            told = second.running.told("4 ports are taken")
            assert f"{live.running.port} (work-publisher)" in told
            assert f"{live.running.port + 3} (settlement)" in told
        assert live.http.get(live.url("settlement", "/readyz")).is_success, "the first suite goes on"
        live.running.process.terminate()
        assert live.running.wait() == 0
        assert live.running.gone()
        assert live.breakdowns() == []


def test_one_busy_port_is_named_and_nothing_is_started(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with live_suite(tmp_path / ".aex", port=port - 2, waited_for=False) as live:
            assert live.running.wait() == 2
            assert f"{port} (governance)" in live.running.told("taken")
            assert not list((tmp_path / ".aex" / "logs").iterdir())


def test_a_killed_parent_leaves_no_process_and_the_next_start_is_soon(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / ".aex"
    with live_suite(data) as live:
        live.running.grown_to(SERVICES_AND_WORKERS)
        first = parties_of(live)
        contract_id = contract(first)
        live.running.process.kill()
        live.running.wait()
        assert live.running.gone()
    begin = time.monotonic()
    with live_suite(data) as live:
        ready_s = time.monotonic() - begin
        with capsys.disabled():
            print(f"\naex up: ready in {ready_s:.1f} s")  # noqa: T201 a figure to read, not to test
        assert ready_s < READY_S
        parties = on(live, first)
        assert deliver(parties, contract_id, GOOD)["verdict"] == "passed"
