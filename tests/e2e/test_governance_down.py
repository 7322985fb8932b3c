"""Outage of governance under traffic: outcomes wait for it and are settled afterwards."""

import os
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from aex_cli.suite.service_spec import MODULES
from tests.e2e.accounts import check_attempts, check_books
from tests.e2e.conftest import StartSuite
from tests.e2e.counts import until_published
from tests.e2e.jobs import eventually
from tests.e2e.live import Live
from tests.e2e.load import Kind, Load, say, table

OUTAGE_S = float(os.environ.get("GOVERNANCE_OUTAGE_S", "6"))
"""Seconds: short by default; `GOVERNANCE_OUTAGE_S=60` for a minute."""
EVERY_S = 3.0
AT_A_TIME = 10
CLIENTS = 10
pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(400 + 4 * OUTAGE_S)]


@contextmanager
def silent(live: Live) -> Iterator[None]:
    """Stop governance's process, so that its callers wait."""
    process = live.process("governance")
    process.suspend()
    try:
        yield
    finally:
        process.resume()


def closing(load: Load) -> list[str]:
    """Return the contracts that wait for governance's decision."""
    return [contract_id for contract_id, kind in load.accepted.items() if kind is not Kind.OPEN]


def check_all_wait(load: Load) -> None:
    """Check that nothing is final: candidates are judged, attempts wait, and no outcome exists."""
    operator = load.parties.operator

    def look() -> bool | None:
        return True if all(latest_status(load, each) == "waiting" for each in closing(load)) else None

    eventually(look, what="every attempt in waiting")
    for contract_id in closing(load):
        assert operator.read("verification", f"/v1/contracts/{contract_id}")["status"] == "verifying"
        assert operator.get("verification", f"/v1/outcomes/{contract_id}").status_code == 404
        assert load.parties.finance.get("settlement", f"/v1/settlements/{contract_id}").status_code == 404


def latest_status(load: Load, contract_id: str) -> str:
    items = load.parties.operator.read("verification", f"/v1/contracts/{contract_id}/attempts")["items"]
    return str(items[-1]["status"]) if items else "none"


def dead_letters(live: Live) -> Counter[str]:
    return Counter({service: int(live.metric(service, "aex_dead_letters")) for service in MODULES})


def test_outcomes_wait_for_governance_and_are_all_settled_once_it_is_back(
    start_suite: StartSuite, capsys: pytest.CaptureFixture[str]
) -> None:
    live = start_suite()
    with ThreadPoolExecutor(CLIENTS) as pool:
        load, work = Load(live), list[Future[None]]()
        with silent(live):
            stopped_at = time.monotonic()
            while time.monotonic() < stopped_at + OUTAGE_S:
                work += load.start(pool, AT_A_TIME)
                time.sleep(EVERY_S)
            for each in work:
                each.result()
            check_all_wait(load)
            down_s = time.monotonic() - stopped_at
        back_at = time.monotonic()
        load.until_at_rest()
        settled_s = time.monotonic() - back_at
        until_published(live)
        rows = table([(live.backend.name, load.found())], "governance down")
        say(capsys, f"{rows}\ndown {down_s:.0f} s, at rest {settled_s:.0f} s after")
        assert len(load.accepted) == len(work)
        check_books(load)
        check_attempts(load, untroubled=True)
        assert dead_letters(live).total() == 0
        unanswered = [line for line in live.log("verification") if line["event"] == "governance_unreachable"]
        assert {line["contract_id"] for line in unanswered} == set(closing(load))
